package view

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/say/report"
	"leakdiff/analysis/say/wording"
	"leakdiff/web/chart"
)

// What the table of figures shows at most: more columns and rows are no table any
// more. The rest stands in the lists below it and in lines of their own.
const (
	maxColumns = 24
	maxGroups  = 12
)

// figures fills the table below the timeline, which is also the picker.
func (m *caseMaker) figures(c *Case) {
	columns := make([]CaseColumn, len(m.columns))
	for _, i := range m.page {
		s := &m.in.Report.Series[i]
		for _, at := range m.restarts(s) {
			if k := m.column(s.Snapshots[at]); k >= 0 {
				columns[k].Restart = strings.TrimPrefix(columns[k].Restart+", "+named(s), ", ")
			}
		}
	}
	c.A, c.B = m.defaultPick()
	m.shown = m.worthAColumn(columns, c.A, c.B)
	for _, i := range m.shown {
		k, column := m.columns[i], columns[i]
		column.Label, column.Clock, column.Full = Visible(k.label), "–", wording.Time(k.at)
		if !k.at.IsZero() {
			column.Clock = wording.Clock(k.at)
		}
		c.Columns = append(c.Columns, column)
	}
	m.days(c.Columns)
	if len(c.Columns) < len(columns) {
		c.ColumnNote = fmt.Sprintf("%d of %d snapshots have a column; the lists below hold all of them.", len(c.Columns), len(columns))
		if m.in.Frozen {
			c.ColumnNote = fmt.Sprintf("%d of %d snapshots have a column; the JSON of this result has the figures of all.", len(c.Columns), len(columns))
		}
	}
	rows := m.worthRows()
	var choices []Choice
	var places []placedSnapshot
	for _, i := range m.page {
		s := &m.in.Report.Series[i]
		if !rows[i] {
			c.Others = append(c.Others, m.other(s))
			continue
		}
		g := m.group(s, c.A, c.B)
		c.Pickers = c.Pickers || len(g.Picks) > 0
		c.Groups = append(c.Groups, g)
		for k, id := range s.Snapshots {
			if m.snapshots[id] != nil {
				choices = append(choices, Choice{Value: id, Group: named(s)})
				places = append(places, placedSnapshot{s, k})
			}
		}
	}
	texts := map[string]placedSnapshot{}
	for i, p := range places {
		texts[choices[i].Value] = p
	}
	choices, c.MoreChoices = fewChoices(choices, c.A, c.B)
	for i := range choices {
		p := texts[choices[i].Value]
		choices[i].Text = m.choice(p.s, p.index)
	}
	c.Choices = groupChoices(choices)
	c.MoreChoices = c.MoreChoices || c.Paging != nil
}

// placedSnapshot is the snapshot of a series with its place there.
type placedSnapshot struct {
	s     *report.Series
	index int
}

// days names the day of the first of the shown columns and of each where it changes.
func (m *caseMaker) days(shown []CaseColumn) {
	if !m.dated {
		return
	}
	before := ""
	for i := range shown {
		at := m.columns[m.shown[i]].at
		if at.IsZero() || wording.Day(at) == before {
			continue
		}
		before = wording.Day(at)
		shown[i].Day = ShortDay(at)
	}
}

// worthAColumn chooses the columns of the table, in order: the ends, what is
// proposed as A and B, restarts, and others evenly spread between.
func (m *caseMaker) worthAColumn(all []CaseColumn, a, b string) []int {
	var out []int
	add := func(k int) {
		if k >= 0 && k < len(all) && len(out) < maxColumns && !slices.Contains(out, k) {
			out = append(out, k)
		}
	}
	if len(all) > maxColumns {
		for _, k := range []int{0, len(all) - 1, m.column(a), m.column(b)} {
			add(k)
		}
		for k := range all {
			if all[k].Restart != "" && len(out) < maxColumns/2 {
				add(k)
			}
		}
		for n := maxColumns - len(out); len(out) < maxColumns; n++ {
			for k := range n {
				add(k * (len(all) - 1) / max(n-1, 1))
			}
		}
	} else {
		for k := range all {
			add(k)
		}
	}
	slices.Sort(out)
	return out
}

// worthRows says which series have rows in the table: those that grow, and the
// first of the others.
func (m *caseMaker) worthRows() []bool {
	out := make([]bool, len(m.in.Report.Series))
	n := 0
	for _, growing := range []bool{true, false} {
		for _, i := range m.page {
			if !out[i] && n < maxGroups && (!growing || topFamily(&m.in.Report.Series[i]) != nil) {
				out[i], n = true, n+1
			}
		}
	}
	return out
}

func (m *caseMaker) other(s *report.Series) CaseOther {
	out := CaseOther{Process: named(s), About: strings.TrimPrefix(m.about(s)+", "+wording.PagePlural(int64(len(s.Snapshots)), "snapshot", "snapshots"), ", ")}
	for _, k := range analysis.Kinds() {
		if values := m.complete(s, k); values.LastAt() >= 0 {
			out.Course = kindWord(k, 2) + " " + course(values, m.restarts(s))
			break
		}
	}
	if last := len(s.Snapshots) - 1; last > 0 {
		out.URL = m.live("/diff/" + s.Snapshots[0] + ".." + s.Snapshots[last] + "?case=" + m.in.ID)
	} else {
		out.URL = m.live(snapshotURL(s.Snapshots[0], m.in.ID))
	}
	return out
}

// choice describes a snapshot: "t1, 02:58:36, 115 goroutines", with the date where
// the case spans several days.
func (m *caseMaker) choice(s *report.Series, i int) string {
	snap := m.snapshots[s.Snapshots[i]]
	parts := []string{Visible(snap.Label)}
	if at := timeOf(snap); !at.IsZero() {
		clock := wording.Clock(at)
		if m.dated {
			clock = ShortDay(at) + " " + clock
		}
		parts = append(parts, clock)
	}
	for _, k := range analysis.Kinds() {
		if v := snap.Totals.Of(k); v != nil {
			parts = append(parts, atLeast(many(snap.Totals.Counted(k), *v), snap.Bounded(k)))
			break
		}
	}
	return strings.Join(parts, ", ")
}

// defaultPick proposes A and B: the first snapshot and the peak of the first
// series that grows, else its ends; a cut one only where no two others are there.
func (m *caseMaker) defaultPick() (a, b string) {
	for _, want := range []bool{true, false} {
		for _, i := range m.page {
			s := &m.in.Report.Series[i]
			f := topFamily(s)
			if len(s.Snapshots) < 2 || want && f == nil {
				continue
			}
			a, b = m.endsOf(s)
			if f != nil {
				if first, top := whole(f.Counts, m.lower(s, f.Kind)).FirstAt(), whole(f.Counts, m.lower(s, f.Kind)).HighestAt(); first >= 0 && top > first && top < len(s.Snapshots) {
					a, b = s.Snapshots[first], s.Snapshots[top]
				}
			}
			if base, chosen := m.in.Baselines[seriesKeyOf(s)]; chosen && base.CaseID == "" && base.Snapshot.ID != b {
				a = base.Snapshot.ID
			}
			return a, b
		}
	}
	return "", ""
}

// endsOf are the first and the last snapshot that are not cut, or of all.
func (m *caseMaker) endsOf(s *report.Series) (a, b string) {
	var complete []string
	lower := m.lower(s, analysis.KindGoroutine, analysis.KindThread)
	for i, id := range s.Snapshots {
		if !isLower(lower, i) {
			complete = append(complete, id)
		}
	}
	if len(complete) < 2 {
		complete = s.Snapshots
	}
	return complete[0], complete[len(complete)-1]
}

// mostGauges is how many gauges of a process stand below what was counted of it.
const mostGauges = 6

// totalTitle names the total of a kind: watches that are all child processes are called so.
func (m *caseMaker) totalTitle(s *report.Series, k analysis.Kind) string {
	if last := m.snapshots[s.Snapshots[len(s.Snapshots)-1]]; last != nil && k == analysis.KindWatch {
		k = last.Totals.Counted(k)
	}
	return kindTitle(k)
}

func (m *caseMaker) group(s *report.Series, a, b string) CaseGroup {
	g := CaseGroup{Process: named(s), About: m.about(s)}
	if b, chosen := m.in.Baselines[seriesKeyOf(s)]; chosen {
		g.Baseline = b.words()
	}
	for _, k := range analysis.Kinds() {
		values := m.totals(s, k)
		if first := values.FirstAt(); first < 0 {
			continue
		}
		row := CaseFigures{Name: m.totalTitle(s, k), Strong: len(g.Rows) == 0}
		row.Cells = m.shownCells(s, values, m.lower(s, k))
		g.Rows = append(g.Rows, row)
	}
	for i := range s.Gauges[:min(len(s.Gauges), mostGauges)] {
		x := &s.Gauges[i]
		g.Rows = append(g.Rows, CaseFigures{Name: x.Word(), Cells: m.shownCells(s, x.Counts(), nil)})
	}
	g.Links = make([]Link, len(m.shown))
	for _, x := range m.shownOf(s) {
		g.Links[x.place] = Link{Text: m.label(s, x.snapshot), URL: m.live(snapshotURL(s.Snapshots[x.snapshot], m.in.ID))}
	}
	if len(s.Snapshots) < 2 || m.in.Frozen {
		return g
	}
	g.Picks = make([]CasePick, len(m.shown))
	for _, x := range m.shownOf(s) {
		id := s.Snapshots[x.snapshot]
		g.Picks[x.place] = CasePick{Value: id, Text: named(s) + " " + m.label(s, x.snapshot), A: id == a, B: id == b}
	}
	return g
}

// about says host, pid and restarts in a few words.
func (m *caseMaker) about(s *report.Series) string {
	var parts []string
	pids := map[int]bool{}
	epochs := map[int]bool{}
	for _, id := range s.Snapshots {
		if snap := m.snapshots[id]; snap != nil {
			epochs[snap.Epoch] = true
			if snap.PID != nil {
				pids[*snap.PID] = true
				if len(pids) == 1 && len(parts) == 0 {
					parts = append(parts, "pid "+itoa(int64(*snap.PID)))
				}
			}
		}
	}
	switch {
	case len(pids) > 1:
		parts = []string{itoa(int64(len(pids))) + " pids"}
	case s.PID != nil:
		parts = nil // the name has it
	}
	if s.Host != nil && *s.Host != "" {
		parts = append(parts, "on "+Visible(*s.Host))
	}
	if len(epochs) > 1 {
		parts = append(parts, wording.PagePlural(int64(len(epochs)-1), "restart", "restarts"))
	}
	return strings.Join(parts, ", ")
}

// timeline draws the kind of the worst finding, or goroutines first, for every
// series with at least two snapshots.
func (m *caseMaker) timeline(c *Case) {
	t := chart.TimelineData{ID: "tl", Title: "Totals of each process over time", A: -1, B: -1, TableBelow: true}
	for _, k := range m.columns {
		t.Labels = append(t.Labels, Visible(k.label))
		t.Times = append(t.Times, k.at)
	}
	if a, ok := m.place[c.A]; ok {
		t.A = a
	}
	if b, ok := m.place[c.B]; ok {
		t.B = b
	}
	const most = 8
	for _, i := range m.page {
		if len(t.Lanes) == most {
			break
		}
		if lane, ok := m.lane(&m.in.Report.Series[i], i, t.Times); ok {
			t.Lanes = append(t.Lanes, lane)
		}
	}
	for _, i := range m.page {
		if taken := m.taken(&m.in.Report.Series[i]); len(taken) > len(t.Taken) {
			t.Taken = taken
		}
	}
	if len(m.columns) > 1 {
		c.Timeline, c.Legend = t, legend(t)
	}
	c.About = m.span(len(t.Lanes))
}

// legend explains the marks that the timeline has, and no others.
func legend(t chart.TimelineData) []LegendItem {
	if len(t.Lanes) == 0 {
		return nil
	}
	out := []LegendItem{{"base", "first snapshot"}}
	has := func(f func(chart.Lane) bool) bool { return slices.ContainsFunc(t.Lanes, f) }
	if has(func(l chart.Lane) bool { return l.Onset != nil }) {
		out = append(out, LegendItem{"ons", "growth began"})
	}
	if has(func(l chart.Lane) bool { return l.RecoveredAt >= 0 }) {
		out = append(out, LegendItem{"rec", "recovery"})
	}
	if has(func(l chart.Lane) bool { return slices.Contains(l.Lower, true) }) {
		out = append(out, LegendItem{"", "△ ≥ a cut dump: at least as many, off the line"})
	}
	return out
}

func (m *caseMaker) lane(s *report.Series, series int, times []time.Time) (chart.Lane, bool) {
	kind := analysis.Kind("")
	if f := topFamily(s); f != nil {
		kind = f.Kind
	}
	for _, k := range analysis.Kinds() {
		if first := m.totals(s, k).FirstAt(); kind == "" && first >= 0 {
			kind = k
		}
	}
	if kind == "" || len(s.Snapshots) < 2 {
		return chart.Lane{}, false
	}
	lane := chart.Lane{Name: named(s), Unit: strings.ToLower(kindTitle(kind)), Values: m.spreadOut(s, m.totals(s, kind)), RecoveredAt: -1}
	lane.Lower = m.spreadLower(s, m.lower(s, kind))
	if f := topFamily(s); f != nil && f.RecoveredAt != nil {
		if at, ok := m.place[*f.RecoveredAt]; ok {
			lane.RecoveredAt = at
		}
	}
	if f := topFamily(s); f != nil {
		lane.Onset = spanOf(f.Onset, m.column)
		if f.Unit != nil {
			if u := unitOf(s, *f.Unit); u != nil {
				lane.Onset = spanOf(u.Onset, m.column)
			}
		}
	}
	lane.Events = m.columnEvents(s, m.more(series).Events, times)
	for _, b := range s.Bounds {
		if b.AtLeast {
			continue // a line far above a part of the use says nothing
		}
		if b.What == "open files" && kind == analysis.KindDescriptor || b.What == "threads" && kind == analysis.KindThread || b.What == "inotify watches" && kind == analysis.KindWatch {
			lane.Limit = int(b.Bound)
		}
	}
	for i, id := range s.Snapshots {
		if i > 0 && m.snapshots[id] != nil && m.snapshots[s.Snapshots[i-1]] != nil && m.snapshots[id].Epoch != m.snapshots[s.Snapshots[i-1]].Epoch {
			lane.Epochs = append(lane.Epochs, m.place[id])
		}
	}
	return lane, true
}

// column is the place of a snapshot, -1 for none.
func (m *caseMaker) column(id string) int {
	if at, ok := m.place[id]; ok {
		return at
	}
	return -1
}

// span says when the evidence was taken.
func (m *caseMaker) span(lanes int) string {
	var first, last time.Time
	untimed := 0
	for _, k := range m.columns {
		switch {
		case k.at.IsZero():
			untimed++
		case first.IsZero():
			first, last = k.at, k.at
		default:
			last = k.at
		}
	}
	if first.IsZero() {
		return "No time is known for these snapshots; they stand in the order of their names."
	}
	text := wording.Day(first)
	if wording.Day(last) != wording.Day(first) {
		text += " to " + wording.Day(last)
	}
	text += ", " + m.counted()
	if d := last.Sub(first); d > 0 {
		text += " over " + wording.PageDuration(d)
	}
	text += "."
	if lanes > 1 {
		text += " All processes on one scale; dotted: no evidence in between."
	}
	if untimed > 0 {
		text += fmt.Sprintf(" %s without a time placed by order.", wording.PagePlural(int64(untimed), "snapshot", "snapshots"))
	}
	return text
}

// counted: "9 snapshots", or "18 snapshots of 2 processes at 9 instants".
func (m *caseMaker) counted() string {
	snapshots, instants := m.placed()
	text := wording.PagePlural(snapshots, "snapshot", "snapshots")
	if n := len(m.page); n > 1 {
		text += " of " + wording.PagePlural(int64(n), "process", "processes")
	}
	if snapshots == instants {
		return text
	}
	return text + " at " + wording.PagePlural(instants, "instant", "instants")
}

// placed counts the snapshots of the page and their columns.
func (m *caseMaker) placed() (snapshots, instants int64) {
	columns := make([]bool, len(m.columns))
	for _, i := range m.page {
		for _, id := range m.in.Report.Series[i].Snapshots {
			if at, ok := m.place[id]; ok {
				snapshots++
				if !columns[at] {
					columns[at] = true
					instants++
				}
			}
		}
	}
	return snapshots, instants
}

// named is the process of a series as sentences name it.
func named(s *report.Series) string { return Visible(s.Named()) }
