package report

import (
	"cmp"
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"slices"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/identity"
	"leakdiff/analysis/judge/trend"
	"leakdiff/analysis/say/wording"
)

// Change joins the snapshots from before a change, such as a fix, with those from after it.
// Where they state no versions that tell the two apart, "before" and "after" are their
// versions.
func Change(before, after []analysis.Snapshot) []analysis.Snapshot {
	all := slices.Concat(before, after)
	taken := map[string]bool{}
	for i := range all {
		s := &all[i]
		if taken[s.ID] && i >= len(before) { // two process starts may show the same bytes
			sum := sha256.Sum256([]byte(s.ID + "\x00" + trend.After + "\x00" + s.Label))
			s.ID = s.ID[:1] + strings.ToLower(base32.StdEncoding.EncodeToString(sum[:]))[:max(1, len(s.ID)-1)]
		}
		taken[s.ID] = true
	}
	identity.NameVersions(all)
	sides := [2][]analysis.Snapshot{all[:len(before)], all[len(before):]}
	var releases [2]map[string]bool
	for i, side := range sides {
		releases[i] = map[string]bool{}
		for k := range side {
			releases[i][side[k].Process.Release()] = true
		}
	}
	told := !releases[0][""] && !releases[1][""] && len(releases[0]) == 1 && len(releases[1]) == 1
	for release := range releases[0] {
		for other := range releases[1] {
			told = told && trend.Older(release, other)
		}
	}
	if told {
		return all
	}
	for i, side := range sides {
		word := []string{trend.Before, trend.After}[i]
		for k := range side {
			p := &side[k].Process
			found := analysis.Fact{Value: word, Source: "the captures " + word + " the change", Confidence: analysis.Low}
			if p.Version.Known() {
				found.Source += " (" + p.Version.Value + ": " + p.Version.Source + ")"
			}
			p.Version = found
		}
	}
	return all
}

// Tested is the answer about the version under test of a bisection.
type Tested struct {
	// Verdict is good or bad, or unknown where the captures are too short to tell.
	Verdict trend.VersionVerdict
	// Text is the reason in a sentence without a full stop.
	Text string
	// NoLeak reports that the captures from before the change show no leak: nothing can be
	// compared, whatever is tested.
	NoLeak bool
}

// Good and Bad report the verdict.
func (t Tested) Good() bool { return t.Verdict == trend.Good }
func (t Tested) Bad() bool  { return t.Verdict == trend.Bad }

// TestedAgainst answers whether the leak of the captures from before, whose snapshots are the
// first n of those that Change joined, is in the captures after it too. accused are the
// verdicts that count as bad.
func (c *Case) TestedAgainst(before []analysis.Snapshot, accused []analysis.Verdict, o Options) Tested {
	old := map[string]bool{}
	for i := range before {
		old[before[i].Process.Release()] = true
	}
	f, from := c.leakOf(old)
	if f == nil {
		return Tested{Verdict: trend.Unknown, NoLeak: true, Text: "the captures of --before show no leak to compare with"}
	}
	out := Tested{Verdict: trend.Good}
	tested := false
	for i := range f.Versions.Rows {
		r := &f.Versions.Rows[i]
		if old[r.Version] {
			continue
		}
		tested = true
		if answer := r.tested(from, accused); answer.worse(out.Verdict) || out.Text == "" {
			out = answer
		}
	}
	if !tested {
		return Tested{Verdict: trend.Unknown, Text: "the tested captures show no process that can be compared, or their dumps have no times"}
	}
	if out.Good() {
		if other := c.elsewhere(old, f.Families[0], accused, o); other != "" {
			out = Tested{Verdict: trend.Unknown, Text: other}
		}
	}
	for i := range c.Report.Series {
		if x := c.Report.Series[i].family(f.Families[0]); x != nil {
			out.Text = x.Title + ": " + out.Text
			break
		}
	}
	return out
}

// elsewhere words what else leaks or rose in the versions under test, empty for nothing: the
// leak that is looked for may have another name there. What leaked under its own name in the
// old versions too is no other name of it.
func (c *Case) elsewhere(old map[string]bool, lead string, accused []analysis.Verdict, o Options) string {
	counts := func(e *trend.Exposure) bool {
		return e.Leaks && (e.Proven || slices.Contains(accused, analysis.Suspicious))
	}
	known := map[string]bool{lead: true}
	rows := make([]map[string][]trend.Exposure, len(c.Series))
	for i := range c.Series {
		rows[i] = map[string][]trend.Exposure{}
		for _, f := range c.Series[i].Trend.Families {
			rows[i][f.Fingerprint] = c.Series[i].Trend.Exposures(f)
			for _, e := range rows[i][f.Fingerprint] {
				known[f.Fingerprint] = known[f.Fingerprint] || old[e.Version] && e.Leaks
			}
		}
	}
	for i := range c.Series {
		s := &c.Report.Series[i]
		title, rate := "", 0.0
		for _, f := range c.Series[i].Trend.Families {
			if x := s.family(f.Fingerprint); x == nil || x.SetAside != nil || known[f.Fingerprint] {
				continue
			}
			for _, e := range rows[i][f.Fingerprint] {
				if !old[e.Version] && counts(&e) && (title == "" || e.Rate > rate) {
					title, rate = s.family(f.Fingerprint).Title, e.Rate
				}
			}
		}
		if title != "" {
			return renamed(&trend.Instead{Title: title, Rate: rate})
		}
	}
	return c.risen(old, known, accused, o)
}

// risen words a key, another finding or a total that rose in the versions under test, judged by
// themselves: beside the old ones a growth after a restart may be none.
func (c *Case) risen(old, known map[string]bool, accused []analysis.Verdict, o Options) string {
	var tested []analysis.Snapshot
	for i := range c.Series {
		for _, s := range c.Series[i].Snapshots {
			if !old[s.Process.Release()] {
				tested = append(tested, *s)
			}
		}
	}
	if len(tested) < 2 {
		return ""
	}
	alone := Build(tested, nil, o)
	for i := range alone.Report.Series {
		s := &alone.Report.Series[i]
		for k := range s.Findings {
			f := &s.Findings[k]
			if f.Key == nil && (!slices.Contains(accused, f.Verdict) || slices.ContainsFunc(f.Families, func(print string) bool { return known[print] })) {
				continue
			}
			if f.Verdict.Rose() {
				return "that leak is gone, but " + f.Title + " rose: renamed?"
			}
		}
		if len(s.TotalsRisen) > 0 {
			t := s.TotalsRisen[0]
			return fmt.Sprintf("that leak is gone, but the %s rose from %d to %d: renamed?", wording.Kinds(t.Kind), t.From, t.To)
		}
	}
	return ""
}

// worse reports an answer that outweighs a verdict.
func (t Tested) worse(v trend.VersionVerdict) bool {
	rank := map[trend.VersionVerdict]int{trend.Bad: 0, trend.Unknown: 1, trend.Good: 2}
	return rank[t.Verdict] < rank[v]
}

// leakOf is the finding that is about a leak of old versions, that of the diagnosis first, with
// the row of the worst of them.
func (c *Case) leakOf(old map[string]bool) (*Finding, *VersionRow) {
	var all []*Finding
	d := &c.Report.Diagnosis
	for i := range c.Report.Series {
		s := &c.Report.Series[i]
		for k := range s.Findings {
			f := &s.Findings[k]
			if f.Versions == nil {
				continue
			}
			if d.Series != nil && *d.Series == i && d.Finding == f.Rank {
				all = append([]*Finding{f}, all...)
			} else {
				all = append(all, f)
			}
		}
	}
	for _, f := range all {
		for i := range f.Versions.Rows {
			if r := &f.Versions.Rows[i]; old[r.Version] && r.Verdict == trend.Bad {
				return f, r
			}
		}
	}
	return nil, nil
}

// tested words the answer of a row beside a bad one.
func (r *VersionRow) tested(from *VersionRow, accused []analysis.Verdict) Tested {
	seen := fmt.Sprintf("%d in %s", r.Rise, wording.Lasting(r.Hours))
	known := fmt.Sprintf("%d in %s before", from.Rise, wording.Lasting(from.Hours))
	switch {
	case r.Verdict == trend.Bad && (r.Proven || slices.Contains(accused, analysis.Suspicious)):
		return Tested{Verdict: trend.Bad, Text: "it grows here too: " + seen + ", " + known}
	case r.Verdict == trend.Bad:
		return Tested{Verdict: trend.Unknown, Text: "it may grow here too: " + seen + ", " + known + "; more captures would prove it"}
	case r.Verdict == trend.Good:
		return Tested{Verdict: trend.Good, Text: seen + ", " + known + "; a leak of " + pace(*r.Below) + " would have been seen"}
	case r.Hours == 0:
		return Tested{Verdict: trend.Unknown, Text: wording.Plural(r.Snapshots, "dump shows", "dumps show") + " no growth; two with times are needed"}
	case r.Instead != "":
		return Tested{Verdict: trend.Unknown, Text: r.Why}
	case r.Why != "":
		return Tested{Verdict: trend.Unknown, Text: seen + " does not tell: " + r.Why}
	case r.More != nil && *r.More > 0 && r.LoadName != "" && r.less(from):
		return Tested{Verdict: trend.Unknown, Text: fmt.Sprintf("%s at less load (%s, %s before: %s) is too short to tell; capture %s at this load", seen, wording.Decimal(*r.Load), wording.Decimal(*from.Load), r.LoadName, wording.AtLeast(*r.More+r.Hours))}
	case r.More != nil && *r.More > 0:
		return Tested{Verdict: trend.Unknown, Text: seen + " is too short to tell; capture " + wording.AtLeast(*r.More+r.Hours) + " at this load"}
	}
	return Tested{Verdict: trend.Unknown, Text: seen + " does not tell"}
}

// less reports a load of the same name below that of another version.
func (r *VersionRow) less(from *VersionRow) bool {
	return r.LoadName == from.LoadName && r.Load != nil && from.Load != nil && *r.Load < *from.Load
}

// TestedAt answers whether something of the case leaks at a pace per hour or more. reached
// reports that a verdict counts as bad.
func (c *Case) TestedAt(perHour float64, reached bool) Tested {
	if reached {
		return Tested{Verdict: trend.Bad, Text: sentenceOnly(c.Report.Diagnosis.Sentence)}
	}
	missing, hours, open := 0.0, 0.0, ""
	for i := range c.Series {
		j, s := &c.Series[i], &c.Report.Series[i]
		if i > 0 && len(j.Snapshots) < 2 {
			continue // a process beside the one under test
		}
		for k := range s.Findings {
			if f := &s.Findings[k]; f.Key != nil && f.Verdict.Rose() {
				open = cmp.Or(open, f.Title)
			}
		}
		for _, t := range s.TotalsRisen {
			open = cmp.Or(open, sentenceOnly(t.text()))
		}
		families := slices.Clone(j.Trend.Families)
		if len(families) == 0 {
			families = append(families, &analysis.Family{Kind: analysis.KindGoroutine})
		}
		for _, f := range families {
			row := j.Trend.Watched(f)
			if row.Hours == 0 && i > 0 {
				continue
			}
			hours = max(hours, row.Hours)
			if !row.Clears(perHour) {
				missing = max(missing, row.Needed(perHour))
				if row.Rise > 0 && row.Below > perHour/10 && row.Hours > 0 {
					open = cmp.Or(open, fmt.Sprintf("%s rose by %d", j.Titles[f.Fingerprint], row.Rise))
				}
			}
		}
	}
	seen := wording.Lasting(hours) + " were seen"
	switch {
	case hours == 0:
		return Tested{Verdict: trend.Unknown, Text: "two dumps of one process with their times are needed; capture " + wording.AtLeast(missing)}
	case open != "":
		return Tested{Verdict: trend.Unknown, Text: fmt.Sprintf("%s, which proves nothing yet; %s, capture %s", open, seen, wording.AtLeast(hours+max(missing, hours)))}
	case missing > 0:
		return Tested{Verdict: trend.Unknown, Text: fmt.Sprintf("%s, too short to see a leak of %s; capture %s", seen, pace(perHour), wording.AtLeast(hours+missing))}
	}
	return Tested{Verdict: trend.Good, Text: fmt.Sprintf("a leak of %s would have been seen in %s", pace(perHour), wording.Lasting(hours))}
}

// sentenceOnly is a sentence without its full stop.
func sentenceOnly(text string) string {
	if n := len(text); n > 0 && text[n-1] == '.' {
		return text[:n-1]
	}
	return text
}
