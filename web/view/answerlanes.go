package view

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/say/document"
	"leakdiff/analysis/say/report"
	"leakdiff/analysis/say/wording"
	"leakdiff/web/chart"
)

// The totals below the lanes: of how many processes, and how many in all.
const (
	totalledProcesses = 2
	mostTotals        = 4
)

// laneAxis is the axis of the drawing of an answer: the columns of the case, or all captures of its
// only process. place is the column of a snapshot.
type laneAxis struct {
	labels []string
	times  []time.Time
	place  map[string]int
}

func (m *caseMaker) laneAxis(of []int) laneAxis {
	x := laneAxis{place: m.place}
	if s := &m.in.Report.Series[of[0]]; len(of) == 1 && s.Captures != nil {
		all := m.allCaptures(s)
		x.labels, x.times, x.place = m.labels(all), m.times(all), map[string]int{}
		for i, id := range all.Snapshots {
			x.place[id] = i
		}
		return x
	}
	for _, c := range m.columns {
		x.labels, x.times = append(x.labels, Visible(c.label)), append(x.times, c.at)
	}
	return x
}

// column is that of snapshot i of a series, -1 for none.
func (x *laneAxis) column(s *report.Series, i int) int {
	if i >= 0 && i < len(s.Snapshots) {
		if k, ok := x.place[s.Snapshots[i]]; ok {
			return k
		}
	}
	return -1
}

// spread puts one value for each snapshot of a series into the columns.
func (x *laneAxis) spread(s *report.Series, values analysis.Counts) analysis.Counts {
	out := make(analysis.Counts, len(x.labels))
	for i := range s.Snapshots {
		if k := x.column(s, i); k >= 0 && i < len(values) {
			out[k] = values[i]
		}
	}
	return out
}

// drawing is a drawing of some series without lanes, with their totals. It is nil where there is one
// capture.
func (m *caseMaker) drawing(x *laneAxis, of []int) *chart.LanesData {
	if len(x.labels) < 2 {
		return nil
	}
	d := &chart.LanesData{ID: "lanes", Title: "Who came and who stayed", Labels: x.labels, Times: x.times}
	of = of[:min(len(of), totalledProcesses)]
	var level []chart.LaneTotal
	for _, i := range of {
		all := m.totalled(&m.in.Report.Series[i], x)
		n := 0
		for k := range all {
			t := &all[k].LaneTotal
			if all[k].level {
				level = append(level, *t)
			} else if n < mostTotals/len(of) {
				if n++; len(of) > 1 {
					t.Name = named(&m.in.Report.Series[i]) + ", " + wording.Lower(t.Name)
				}
				d.Totals = append(d.Totals, *t)
			}
		}
	}
	if len(d.Totals) == 0 {
		d.Totals = level[:min(len(level), mostTotals)] // an axis alone would say nothing
	}
	return d
}

// drawnTotal is a total of a process. A level one never changed.
type drawnTotal struct {
	chart.LaneTotal
	level bool
}

// totalled are the totals of a process that were counted twice, and the gauges that moved by more
// than a quarter: memory of a process that leaks nothing moves by less.
func (m *caseMaker) totalled(series *report.Series, x *laneAxis) (out []drawnTotal) {
	add := func(s *report.Series, name string, values analysis.Counts, lower []bool) {
		known := values.Known()
		if len(known) < 2 || slices.Max(known) == 0 {
			return
		}
		t := drawnTotal{chart.LaneTotal{Name: name, Course: report.RiseOf(values, nil).Arrows(), Values: x.spread(s, values)}, slices.Max(known) == slices.Min(known)}
		if t.level {
			t.Course = wording.Number(int64(known[0]))
		}
		if slices.Contains(lower, true) {
			t.Lower = make([]bool, len(x.labels))
			for k := range s.Snapshots {
				if column := x.column(s, k); column >= 0 {
					t.Lower[column] = isLower(lower, k)
				}
			}
		}
		out = append(out, t)
	}
	s := m.allCaptures(series)
	for _, kind := range analysis.Kinds() {
		add(s, m.totalTitle(s, kind), m.totals(s, kind), m.lower(s, kind))
	}
	for i := range series.Gauges {
		g := &series.Gauges[i]
		if known := g.Counts().Known(); len(known) > 0 && 4*slices.Max(known) > 5*slices.Min(known) {
			add(series, g.Word(), g.Counts(), nil)
		}
	}
	return out
}

// chained adds a lane for each link of the chain of an answer, or for its thing alone.
func (m *caseMaker) chained(c *Case, a *Answer, d *report.Diagnosis, x *laneAxis) {
	anchors, several := m.anchors(c), len(m.in.Report.Series) > 1
	links := append(d.Chain[:len(d.Chain):len(d.Chain)], m.sharing(d)...)
	if len(links) == 0 && d.Claims != nil {
		noun := d.Claims.Many
		if d.Claims.N == 1 {
			noun = d.Claims.One
		}
		course := report.RiseOf(analysis.CountsOf(d.Claims.From, d.Claims.N, d.Claims.Left), nil)
		links = []report.Link{{Figure: wording.Number(int64(d.Claims.N)), Noun: noun, Course: &course, Series: *d.Series, Finding: d.Finding}}
	}
	for k := range links {
		l := &links[k]
		if l.Figure == "each" && k > 0 {
			above := &a.Lanes.Lanes[len(a.Lanes.Lanes)-1]
			above.Notes = append(above.Notes, "each keeps "+Visible(l.Noun))
			continue
		}
		lane, of := m.lifeLane(x, d, l), named(&m.in.Report.Series[l.Series])
		a.placed = append(a.placed, placedRank{l.Series, l.Finding})
		if anchor := anchors[placedRank{l.Series, l.Finding}]; anchor != "" {
			lane.URL = "#" + anchor
		}
		switch {
		case k == 0 && d.Holder != "" && len(d.Together) == 0:
			lane.Cause, lane.Role = true, Visible(l.Text)
			if d.Cause != nil && (d.Cause.Word == "certain" || d.Cause.Word == "likely") {
				lane.Role, lane.Notes = strings.TrimPrefix(d.Cause.Word+" cause", "certain "), append(lane.Notes, Visible(l.Text))
			}
			if several {
				lane.Role += ", " + of
			}
		default:
			if several && (k == 0 || links[k-1].Series != l.Series) {
				lane.Role = of
			}
			if l.Course != nil {
				lane.Notes = append(lane.Notes, l.Course.Arrows())
			} else if l.Text != "" {
				lane.Notes = append(lane.Notes, Visible(l.Text))
			}
		}
		a.Lanes.Lanes = append(a.Lanes.Lanes, lane)
	}
}

// mostSharing is how many processes that share a limit have a lane.
const mostSharing = 4

// sharing has a link for each process of an answer that is about several.
func (m *caseMaker) sharing(d *report.Diagnosis) (out []report.Link) {
	for _, ref := range d.Together[:min(len(d.Together), mostSharing)] {
		s := &m.in.Report.Series[ref.Series]
		i := slices.IndexFunc(s.Findings, func(f report.Finding) bool { return f.Rank == ref.Rank })
		course := report.RiseOf(s.Findings[i].Counts, nil)
		out = append(out, report.Link{Figure: wording.Number(int64(s.Findings[i].Counts.Highest())), Noun: d.Claims.Many, Course: &course, Series: ref.Series, Finding: ref.Rank})
	}
	return out
}

// lifeLane is one link of a chain: the text of its figures, and its members where they are known.
func (m *caseMaker) lifeLane(x *laneAxis, d *report.Diagnosis, l *report.Link) chart.LifeLane {
	s := &m.in.Report.Series[l.Series]
	out := chart.LifeLane{Figure: Visible(l.Figure), Noun: Visible(l.Noun), EndedAt: -1, GoneAt: -1}
	if d.Claims != nil && d.Claims.Opener != nil && d.Claims.Opener.Series == l.Series && l.Finding == 0 {
		out.GoneAt = x.column(&m.in.Report.Series[*d.Series], d.Claims.Opener.At)
	}
	at := slices.IndexFunc(s.Findings, func(f report.Finding) bool { return f.Rank == l.Finding })
	if at < 0 || l.Course == nil || len(l.Course.Counts) == 0 {
		return out
	}
	f, n := &s.Findings[at], slices.Max(l.Course.Counts)
	told := m.lived(s, l.Series, f, n)
	for _, t := range told {
		for _, r := range m.more(l.Series).Lives[t.Fingerprint] {
			run := chart.Run{First: x.column(s, r.First), Last: x.column(s, r.Last), N: r.N}
			for _, id := range r.Some {
				if url := m.live(MemberURL(t.Kind, id, m.in.ID, seriesKeyOf(s))); url != "" {
					run.Some = append(run.Some, chart.Birth{Name: string(t.Kind) + " " + report.NumberOf(t.Kind, id), URL: url})
				}
			}
			out.Runs = append(out.Runs, run)
		}
		if t.RecoveredAt != nil {
			out.EndedAt = x.column(s, slices.Index(s.Snapshots, *t.RecoveredAt))
		}
	}
	slices.SortStableFunc(out.Runs, func(a, b chart.Run) int { return cmp.Or(a.First-b.First, a.Last-b.Last) })
	out.Count(x.spread(s, m.coursed(s, f, n)))
	if series, end := d.End(); end >= 0 && series == l.Series {
		out.EndedAt = x.column(s, end)
	}
	return out
}

// coursed are the counts of a finding that have a peak of n: those of a family, of its unit or of its
// objects, else of all its members; nil where none has it.
func (m *caseMaker) coursed(s *report.Series, f *report.Finding, n int) analysis.Counts {
	var all []analysis.Counts
	for _, print := range f.Families {
		for i := range s.Families {
			if s.Families[i].Fingerprint == print {
				all = append(all, s.Families[i].Counts)
			}
		}
	}
	if u := unitOf(s, f.Unit); u != nil {
		all = append(all, u.Counts)
	}
	for i := range s.Objects {
		if s.Objects[i].ID == f.Object {
			all = append(all, s.Objects[i].Counts)
		}
	}
	for _, counts := range append(all, f.Counts) {
		if counts.Highest() == n {
			return counts
		}
	}
	return nil
}

// lived are the groups of a finding, with identities, that are the thing of n members at its peak: one
// of as many, else all of one kind that have as many together.
func (m *caseMaker) lived(s *report.Series, series int, f *report.Finding, n int) []*report.Family {
	prints := f.Families
	if f.StackOf != nil {
		prints = append([]string{f.StackOf.Family}, prints...)
	}
	together, sum := map[analysis.Kind][]*report.Family{}, map[analysis.Kind]analysis.Counts{}
	for _, print := range prints {
		i := slices.IndexFunc(s.Families, func(x report.Family) bool { return x.Fingerprint == print })
		if i < 0 || len(m.more(series).Lives[print]) == 0 {
			continue
		}
		x := &s.Families[i]
		if x.Counts.Highest() == n {
			return []*report.Family{x}
		}
		if !slices.Contains(together[x.Kind], x) {
			if together[x.Kind] = append(together[x.Kind], x); sum[x.Kind] == nil {
				sum[x.Kind] = make(analysis.Counts, len(x.Counts))
			}
			for k, count := range x.Counts {
				sum[x.Kind].Add(k, count.N)
			}
		}
	}
	for kind, of := range together {
		if sum[kind].Highest() == n {
			return of
		}
	}
	return nil
}

// laneLook marks what belongs to the lanes of a finding, so that pointing at one shows it: "of0 of2".
func (a *Answer) laneLook(of placedRank) document.Look {
	var out []string
	for i, p := range a.placed {
		if p == of {
			out = append(out, "of"+itoa(int64(i)))
		}
	}
	return document.Look(strings.Join(out, " "))
}

// marked marks the rows of the families of findings that have a lane.
func (m *caseMaker) marked(c *Case, a *Answer) {
	look := map[string]document.Look{}
	for _, p := range a.placed {
		s := &m.in.Report.Series[p.series]
		for k := range s.Findings {
			if f := &s.Findings[k]; f.Rank == p.rank {
				for _, print := range f.Families {
					look[seriesKeyOf(s)+" "+print] = a.laneLook(p)
				}
			}
		}
	}
	mark := func(rows []CaseFamily) {
		for i := range rows {
			rows[i].Lane = look[seriesKeyOf(rows[i].series)+" "+rows[i].fingerprint]
		}
	}
	mark(c.Families)
	for i := range c.Units {
		mark(c.Units[i].Families)
	}
}
