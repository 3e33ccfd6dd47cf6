package view

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/say/wording"
)

// TimeRow is a time that was resolved, with the processes that it holds for.
type TimeRow struct {
	Label, Time, Source, Confidence, Note string
	Snapshots                             []Link
}

// IdentityGroup is what is believed about one process.
type IdentityGroup struct {
	Name string
	Rows []IdentityRow
}

// IdentityRow is one believed value.
type IdentityRow struct {
	Field, Value, Source, Confidence string
}

func snapshotsBelow(all []analysis.Snapshot, indices []int) string {
	if len(indices) == 0 {
		return ""
	}
	if len(indices) == 1 {
		s := all[indices[0]]
		return strings.Join(nonEmpty(processWords(s), totalsWords(s.Totals)), "; ")
	}
	first := all[indices[0]]
	processes := map[string]bool{}
	var names []string
	oneTime := true
	for _, i := range indices {
		s := all[i]
		oneTime = oneTime && s.CapturedAt.Equal(first.CapturedAt) && s.Label == first.Label
		if !processes[s.Process.Key()] {
			processes[s.Process.Key()] = true
			names = append(names, snapshotProcess(s))
		}
	}
	if oneTime {
		return strings.Join(nonEmpty(timeWords(first), wording.List(names, 3)), "; ")
	}
	return wording.PagePlural(int64(len(indices)), "snapshot", "snapshots") + " of " + wording.List(names, 3)
}

func timeWords(s analysis.Snapshot) string {
	if s.CapturedAt.IsZero() {
		return ""
	}
	text := wording.Clock(s.CapturedAt)
	if s.TimeFact.Source != "" {
		text += " from " + Visible(s.TimeFact.Source)
	}
	return text
}

func processWords(s analysis.Snapshot) string {
	text := snapshotProcess(s)
	if s.Process.PID.Known() {
		text += ", pid " + Visible(s.Process.PID.Value)
	}
	return text
}

// snapshotProcess is the process of a snapshot; a table of sockets may name none.
func snapshotProcess(s analysis.Snapshot) string {
	if !s.Process.Name.Known() && !s.Process.PID.Known() && s.Totals.Sockets != nil {
		return "owner not known"
	}
	return processName(s.Process)
}

func processName(p analysis.Process) string {
	if p.Name.Known() {
		return Visible(p.Name.Value)
	}
	return "unnamed process"
}

func totalsWords(t analysis.Totals) string {
	var parts []string
	for _, k := range analysis.Kinds() {
		if n := t.Of(k); n != nil {
			parts = append(parts, wording.Number(int64(*n))+hardSpace+kindWord(t.Counted(k), *n))
		}
	}
	return strings.Join(parts, ", ")
}

func nonEmpty(parts ...string) []string {
	return slices.DeleteFunc(parts, func(s string) bool { return s == "" })
}

// times merges snapshots of one label and one time into a row.
func times(in BundleInput) ([]TimeRow, string) {
	day, oneDay := commonDay(in.Snapshots)
	index := map[string]int{}
	var rows []TimeRow
	for _, s := range in.Snapshots {
		row := TimeRow{Label: Visible(s.Label), Source: Visible(s.TimeFact.Source), Confidence: string(s.TimeFact.Confidence)}
		switch {
		case s.CapturedAt.IsZero():
			row.Time = "not known"
		case oneDay:
			row.Time = wording.Clock(s.CapturedAt)
		default:
			row.Time = wording.Time(s.CapturedAt)
		}
		row.Note = laterWords(s)
		key := row.Label + "\x00" + row.Time + "\x00" + row.Source + "\x00" + row.Note
		i, seen := index[key]
		if !seen {
			i = len(rows)
			index[key] = i
			rows = append(rows, row)
		}
		rows[i].Snapshots = append(rows[i].Snapshots, Link{snapshotProcess(s), "/snapshots/" + url.PathEscape(s.ID) + "?case=" + query(in.CaseID)})
	}
	note := "Times in UTC."
	if oneDay && !day.IsZero() {
		note = "All on " + wording.Day(day) + ", UTC."
	}
	return rows, note
}

func commonDay(snapshots []analysis.Snapshot) (day time.Time, one bool) {
	one = true
	for _, s := range snapshots {
		switch t := s.CapturedAt; {
		case t.IsZero():
		case day.IsZero():
			day = t
		case wording.Day(t) != wording.Day(day):
			one = false
		}
	}
	return day, one
}

// laterWords says which kinds of evidence are of another time: "descriptors at
// 03:02:14".
func laterWords(s analysis.Snapshot) string {
	var parts []string
	for _, k := range analysis.Kinds() {
		if t, ok := s.Times[k]; ok && !t.IsZero() && t.Sub(s.CapturedAt).Abs() >= time.Second {
			parts = append(parts, kindWords(k)+" at "+wording.Clock(t))
		}
	}
	return strings.Join(parts, ", ")
}

// identityGroups says for each process what is believed and from where.
func identityGroups(snapshots []analysis.Snapshot) []IdentityGroup {
	var keys []string
	byKey := map[string][]analysis.Process{}
	for _, s := range snapshots {
		key := s.Process.Key()
		if byKey[key] == nil {
			keys = append(keys, key)
		}
		byKey[key] = append(byKey[key], s.Process)
	}
	var groups []IdentityGroup
	for _, key := range keys {
		processes := byKey[key]
		groups = append(groups, IdentityGroup{Name: processName(processes[0]), Rows: []IdentityRow{
			identityRow("Host", processes, func(p analysis.Process) analysis.Fact { return p.Host }),
			identityRow("Program", processes, func(p analysis.Process) analysis.Fact { return p.Name }),
			identityRow("Pid", processes, func(p analysis.Process) analysis.Fact { return p.PID }),
			identityRow("Start time", processes, func(p analysis.Process) analysis.Fact { return p.Start }),
			identityRow("Version", processes, func(p analysis.Process) analysis.Fact { return p.Version }),
		}})
	}
	return groups
}

// identityRow lists the different values of a fact and the sources of the
// first, with the least confidence of all.
func identityRow(field string, processes []analysis.Process, of func(analysis.Process) analysis.Fact) IdentityRow {
	row := IdentityRow{Field: field}
	var values []string
	for _, p := range processes {
		fact := of(p)
		if !fact.Known() {
			continue
		}
		if v := Visible(fact.Value); !slices.Contains(values, v) {
			values = append(values, v)
		}
		if row.Source == "" {
			row.Source = Visible(fact.Source)
		}
		if row.Confidence == "" || confidenceRank(string(fact.Confidence)) < confidenceRank(row.Confidence) {
			row.Confidence = string(fact.Confidence)
		}
	}
	switch {
	case len(values) == 0:
		row.Value, row.Source = "not known", "nothing in the bundle says it"
	case len(values) > 1:
		row.Value = wording.List(values, 3)
		row.Source += differWords(field)
	default:
		row.Value = values[0]
	}
	if field == "Start time" && len(values) == 1 {
		row.Value = startWords(values[0])
	}
	return row
}

// differWords says what several values of one fact mean.
func differWords(field string) string {
	if field == "Pid" || field == "Start time" {
		return "; it changes: the process was restarted"
	}
	return "; not the same in all snapshots"
}

// startWords: "169797" gives "169 797 ticks after boot"; times stay as they are.
func startWords(value string) string {
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		return value
	}
	return wording.Exact(n) + " ticks after boot"
}

func confidenceRank(c string) int {
	return slices.Index([]string{"low", "medium", "high"}, c)
}
