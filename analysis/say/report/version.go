package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/trend"
	"leakdiff/analysis/say/evidence"
	"leakdiff/analysis/say/wording"
)

// Bisect compares the versions that the series of one program ran, on any host. It has
// no rows if no version is known.
func Bisect(judged []JudgedSeries, program string, family *analysis.Family) trend.Bisection {
	var all []trend.Exposure
	for i := range judged {
		if judged[i].Trend != nil && judged[i].Snapshots[0].Process.Name.Value == program {
			all = append(all, judged[i].Trend.Exposures(family)...)
		}
	}
	if len(all) == 0 {
		return trend.Bisection{}
	}
	several := slices.ContainsFunc(all, func(e trend.Exposure) bool { return e.Version != all[0].Version })
	if !several || !slices.ContainsFunc(all, func(e trend.Exposure) bool { return e.Leaks }) {
		return trend.Bisect(all)
	}
	others := map[string][]trend.Exposure{}
	for i := range judged {
		if judged[i].Trend == nil || judged[i].Snapshots[0].Process.Name.Value != program {
			continue
		}
		for _, f := range judged[i].Trend.Families {
			if f.Kind == family.Kind && f.Fingerprint != family.Fingerprint && varies(judged[i].Trend.Counts(f.Fingerprint)) {
				others[judged[i].Titles[f.Fingerprint]] = append(others[judged[i].Titles[f.Fingerprint]], judged[i].Trend.Exposures(f)...)
			}
		}
	}
	return trend.Bisect(all, trend.Replaced(all, others)...)
}

// varies reports counts of which one is above another: no other family can leak.
func varies(counts analysis.Counts) bool {
	known := counts.Known()
	return len(known) < len(counts) || len(slices.Compact(known)) > 1
}

// others are the exposures of the families of a program beside that of a growth, of the same
// kind, by their titles.
func others(series []SeriesJudgement, program string, lead Growth) map[string][]trend.Exposure {
	out := map[string][]trend.Exposure{}
	for n := range series {
		if series[n].Series.Process != program {
			continue
		}
		for i := range series[n].Series.Families {
			if f := &series[n].Series.Families[i]; f.Kind == lead.Kind && f.Fingerprint != lead.Lead && f.SetAside == nil {
				out[f.Title] = append(out[f.Title], series[n].Exposures[f.Fingerprint]...)
			}
		}
	}
	return out
}

// versions adds to each growth the version that brought it, if the case has several
// versions.
func versions(series []SeriesJudgement) {
	for i := range series {
		for k := range series[i].Growths {
			lead := series[i].Growths[k]
			if lead.Lead == "" || len(series[i].Absent) == 0 || series[i].Series.Findings[k].Key != nil {
				continue // none of the families of a key grows by itself
			}
			var all []trend.Exposure
			for n := range series {
				if series[n].Series.Process == series[i].Series.Process {
					all = append(all, series[n].exposures(lead)...)
				}
			}
			f := &series[i].Series.Findings[k]
			b := trend.Bisect(all, trend.Replaced(all, others(series, series[i].Series.Process, lead))...)
			if len(b.Rows) < 2 {
				continue
			}
			f.Versions = bisected(&b)
			said := []Evidence{saidHere("versions", evidence.Bisection(b))}
			if f.Versions.Fix != nil {
				said = append(said, saidHere("fix", f.Versions.Fix.Text))
			}
			for _, e := range said {
				f.Text += " " + sentence(e.Text)
			}
			f.Evidence = append(said, f.Evidence...)
		}
	}
}

// Versions are the programs that ran in more than one version, for Options.
func Versions(groups []JudgedSeries) map[string]bool {
	several, first := map[string]bool{}, map[string]string{}
	for i := range groups {
		for _, s := range groups[i].Snapshots {
			program, version := s.Process.Name.Value, cmp.Or(s.Process.Release(), s.Process.Version.Value)
			if version == "" {
				continue
			}
			if first[program] == "" {
				first[program] = version
			}
			several[program] = several[program] || version != first[program]
		}
	}
	return several
}

// Bisected is which version brought a growth, and which ended it.
type Bisected struct {
	// Text is the answer in a sentence.
	Text string       `json:"text"`
	Rows []VersionRow `json:"rows"`
	// FirstBad is empty where the first bad version is between LastGood and EarliestBad.
	FirstBad    string `json:"first_bad,omitempty"`
	LastGood    string `json:"last_good,omitempty"`
	EarliestBad string `json:"earliest_bad,omitempty"`
	// Fixed is the version that ended it.
	Fixed string `json:"fixed_in,omitempty"`
	// Next is the version to test next, nil where nothing is open.
	Next *NextVersion `json:"next,omitempty"`
	// Fix compares the last bad version with a newer one, nil without one.
	Fix *Fix `json:"fix,omitempty"`
}

// VersionRow is one version. Figures that are not known are nil.
type VersionRow struct {
	Version string `json:"version"`
	// Verdict is good, bad or unknown.
	Verdict trend.VersionVerdict `json:"verdict"`
	PerHour *float64             `json:"per_hour"`
	Rise    int                  `json:"rise"`
	Hours   float64              `json:"hours"`
	// Starts are the process starts, Snapshots those of all of them.
	Starts    int `json:"starts"`
	Snapshots int `json:"snapshots"`
	// Below is the smallest rate per hour that would have been seen.
	Below *float64 `json:"below_per_hour,omitempty"`
	// Proven reports a growth that is proven, not only suspected.
	Proven bool `json:"proven,omitempty"`
	// More are the hours that are missing to tell.
	More *float64 `json:"more_hours,omitempty"`
	// Load is the mean of the load of that name.
	Load     *float64 `json:"load,omitempty"`
	LoadName string   `json:"load_name,omitempty"`
	// Why is the reason of an unknown verdict that no time by itself ends.
	Why string `json:"why,omitempty"`
	// Instead is the title of a family that leaks in place of this one.
	Instead string `json:"instead,omitempty"`
}

// NextVersion is a version to test and for how long at least.
type NextVersion struct {
	Version string  `json:"version"`
	Hours   float64 `json:"hours"`
}

// Fix is the proof that a growth ended.
type Fix struct {
	Before string `json:"before"`
	After  string `json:"after"`
	// Text is the proof in a sentence.
	Text   string `json:"text"`
	Proven bool   `json:"proven"`
	// More are the hours that are missing to prove it.
	More float64 `json:"more_hours,omitempty"`
}

// fix is the proof that a later version is without what grew, nil without one.
func (f *Finding) fix() *Fix {
	if v := f.Versions; v != nil && v.Fixed != "" && v.Fix != nil && v.Fix.Proven {
		return v.Fix
	}
	return nil
}

// byChange is what fixed a growth where neither side of the change has a version.
const byChange = "fixed by the change"

// fixed is "fixed in v1.5.6", or byChange.
func (f *Finding) fixed() string {
	if f.fix().After == trend.After {
		return byChange
	}
	return "fixed in " + f.fix().After
}

// rollOut is the step that a proven fix leaves to do.
func (f *Finding) rollOut() string {
	if f.fixed() == byChange {
		return "Keep the change: the captures after it are without the growth."
	}
	return fmt.Sprintf("Run %s where %s runs: it is without the growth.", f.fix().After, f.fix().Before)
}

func bisected(b *trend.Bisection) *Bisected {
	out := &Bisected{Text: evidence.Bisection(*b), FirstBad: b.FirstBad, LastGood: b.LastGood, EarliestBad: b.EarliestBad, Fixed: b.Fixed}
	for i := range b.Rows {
		r := &b.Rows[i]
		row := VersionRow{
			Version: r.Version, Verdict: r.Verdict, PerHour: finite(r.Rate), Rise: r.Rise, Hours: r.Hours, Starts: r.Epochs, Snapshots: r.Snapshots,
			Below: finite(r.Below), Proven: r.Proven, LoadName: r.Load,
		}
		if r.Load != "" {
			row.Load = finite(r.Mean)
		}
		if r.Verdict == trend.Unknown && r.Expected > 0 {
			row.More = finite(max(0, r.Needed(r.Expected)))
		}
		switch {
		case r.Verdict != trend.Unknown || b.Rate <= 0:
		case r.Instead != nil:
			row.Why, row.Instead, row.More = renamed(r.Instead), r.Instead.Title, nil
		case r.Stays():
			row.Why = fmt.Sprintf("%d came and none ended", r.Stay)
		case r.Expected == 0 && r.Hours > 0:
			row.Why = "there was no load"
		}
		out.Rows = append(out.Rows, row)
	}
	if b.Next != "" {
		out.Next = &NextVersion{Version: b.Next, Hours: b.NextHours}
	}
	if b.Fix != nil {
		out.Fix = &Fix{Before: b.Fix.Before.Version, After: b.Fix.After.Version, Text: fixText(b.Fix), Proven: b.Fix.Proven}
		if more := finite(b.Fix.More); more != nil {
			out.Fix.More = *more
		}
	}
	return out
}

// renamed words a family that leaks where the one that is looked for does not.
func renamed(i *trend.Instead) string {
	return "that leak is gone, but " + evidence.Instead(i) + ": renamed?"
}

// finite is nil for what is not known.
func finite(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

// fixText is the proof of a fix in a sentence without a full stop: "before: 24 in 5 min;
// after: 0 in 30 min; a leak of 6 an hour would have been seen".
func fixText(f *trend.Fix) string {
	side := func(word string, r *trend.VersionRow) string {
		switch {
		case f.Unordered:
			word = r.Version
		case r.Version != word:
			word += " (" + r.Version + ")"
		}
		rise := fmt.Sprint(r.Rise)
		if r.Rise < 0 {
			rise = fmt.Sprintf("%d fewer", -r.Rise)
		}
		return word + ": " + rise + " in " + wording.Lasting(r.Hours)
	}
	text := side(trend.Before, &f.Before) + "; " + side(trend.After, &f.After)
	if finite(f.After.Below) != nil && !f.Idle && f.After.Instead == nil && !f.After.Stays() {
		text += "; a leak of " + pace(f.After.Below) + " would have been seen"
	}
	if f.Ratio > 0 || f.Idle {
		loads := fmt.Sprintf("%s and %s %s", wording.Decimal(f.Before.Mean), wording.Decimal(f.After.Mean), f.Before.Load)
		switch {
		case f.Compares():
			text += "; loads compare: " + loads
		case f.Idle:
			text += "; after ran without load (" + loads + "): this proves nothing"
		case f.Ratio < 1:
			text += "; after ran at " + wording.Share(f.Ratio) + " of the load (" + loads + "): this proves less"
		default:
			text += "; after ran at " + wording.Ratio(f.Ratio) + " times the load (" + loads + ")"
		}
	}
	switch {
	case f.Proven:
	case f.After.Instead != nil:
		text += "; not proven: " + evidence.Instead(f.After.Instead) + " now, perhaps the same by another name"
	case f.After.Stays():
		text += fmt.Sprintf("; not proven: %d came and none ended", f.After.Stay)
	case f.Idle:
		text += "; not proven"
	case f.More > 0:
		text += "; not proven yet: " + wording.AtLeast(f.More) + " more at this load"
	default:
		text += "; not proven"
	}
	return text
}

// pace is a rate in words: "6 an hour".
func pace(perHour float64) string {
	figure, unit := wording.Pace(perHour)
	return figure + " " + unit
}

// VersionHead are the columns of Cells.
func VersionHead() []string { return []string{"Version", "Growth", "Seen for", "Verdict"} }

// table is the rows in aligned columns below their heads. It has at most so many rows, those
// around the growth, and a line for the others.
func (v *Bisected) table(most int) []string {
	from, to := 0, len(v.Rows)
	if to > most {
		bad := slices.IndexFunc(v.Rows, func(r VersionRow) bool { return r.Verdict == trend.Bad })
		from = min(max(0, bad-most/2), to-most)
		to = from + most
	}
	rows := [][]string{VersionHead()}
	for i := range rows[0] {
		rows[0][i] = wording.Lower(rows[0][i])
	}
	for i := from; i < to; i++ {
		rows = append(rows, v.Rows[i].Cells())
	}
	wide := make([]int, len(rows[0]))
	for _, r := range rows {
		for i, cell := range r {
			wide[i] = max(wide[i], utf8.RuneCountInString(wording.Printable(cell)))
		}
	}
	var out []string
	for _, r := range rows {
		line := ""
		for i, cell := range r {
			cell = wording.Printable(cell)
			line += cell + strings.Repeat(" ", wide[i]-utf8.RuneCountInString(cell)+2)
		}
		out = append(out, strings.TrimRight(line, " "))
	}
	if hidden := len(v.Rows) - (to - from); hidden > 0 {
		out = append(out, wording.Plural(hidden, "more version", "more versions"))
	}
	return out
}

// Cells are the words of a row: version, growth, for how long it was seen, and the verdict.
func (r *VersionRow) Cells() []string {
	growth := "not known"
	switch {
	case r.PerHour == nil:
	case *r.PerHour > 0:
		growth = "+" + pace(*r.PerHour)
	case *r.PerHour < 0:
		growth = "−" + pace(-*r.PerHour)
	default:
		growth = "0"
	}
	seen := wording.Plural(r.Snapshots, "dump", "dumps")
	if r.Hours > 0 {
		seen = wording.Lasting(r.Hours)
		if r.Starts > 1 {
			seen += " in " + wording.Plural(r.Starts, "process start", "process starts")
		}
	}
	verdict := string(r.Verdict)
	switch {
	case r.Verdict == trend.Good && r.Below != nil:
		verdict += ", below " + pace(*r.Below)
	case r.Verdict == trend.Unknown && r.Instead != "":
		verdict += ", renamed?"
	case r.Verdict == trend.Unknown && r.Why != "":
		verdict += ", " + r.Why
	case r.Verdict == trend.Unknown && r.More != nil && *r.More > 0:
		verdict += ", " + wording.AtLeast(*r.More) + " more would tell"
	}
	return []string{r.Version, growth, seen, verdict}
}
