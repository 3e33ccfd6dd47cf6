package view

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"leakdiff/analysis/say/report"
	"leakdiff/analysis/say/wording"
	"leakdiff/web/chart"
)

func (m *familyMaker) charts(f *Family) {
	labels := make([]string, len(m.in.Labels))
	for i := range labels {
		labels[i] = m.label(i)
	}
	f.Members = chart.MembersData{ID: "members", Title: "Members per snapshot", Labels: labels, Times: m.in.Times, Taken: m.in.Taken, Values: m.in.Counts, RecoveredAt: m.in.Judgement.RecoveredAt, A: -1, B: -1}
	f.Members.Epochs, f.Members.Lower = m.restarts(), m.in.Lower
	f.Members.Onset = spanOf(m.in.Family.Onset, func(id string) int { return slices.Index(m.in.IDs, id) })
	f.Members.Events = eventMarks(m.in.Events, m.in.Times)
	f.MembersNote = m.membersNote(f)
	m.statesOver(f)
	if len(labels) < 2 {
		f.LifeNote = "One snapshot has no lifelines: a second one shows who stays."
		return
	}
	if len(m.in.Lifelines) == 0 {
		f.LifeNote = "The members cannot be followed: this evidence names no ids."
		if dropped := m.thinned(); dropped != "" {
			f.LifeNote = dropped
		}
		return
	}
	life := &chart.LifelinesData{ID: "life", Title: "Members from birth to last sight", Labels: labels, At: m.in.Places, Values: m.in.Counts, RecoveredAt: m.in.Judgement.RecoveredAt}
	births := make([]int, len(labels))
	for _, l := range m.in.Lifelines {
		life.Lives = append(life.Lives, chart.Life{Name: report.NumberOf(m.in.Family.Kind, l.Identity), First: l.First, Last: l.Last})
		if l.First >= 0 && l.First < len(births) {
			births[l.First]++
		}
	}
	f.Lifelines = life
	f.LifeNote = "One line per " + kindWord(m.worded(), 1) + ", from birth to last sight; the first of each cohort is named."
	if dropped := m.thinned(); dropped != "" {
		f.LifeNote += " " + dropped
	}
	if len(labels) < 2 {
		return
	}
	bars := &chart.BarsData{ID: "births", Title: "Births per interval", What: "First seen at", Growth: true}
	known := m.firstSeen()
	for i := known + 1; i < len(births); i++ {
		if slices.Contains(f.Members.Epochs, i) {
			continue // a new process: all that it has were first seen here
		}
		bars.Bars = append(bars.Bars, chart.Bar{Label: labels[i], Count: births[i]})
	}
	f.Births = bars
	f.BirthNote = "First seen at this snapshot and not at the one before."
	if births[known] > 0 {
		f.BirthNote += fmt.Sprintf(" %d were there at %s already.", births[known], labels[known])
	}
	for _, at := range f.Members.Epochs {
		f.BirthNote += fmt.Sprintf(" %d are of the process that was started before %s and are not counted here.", births[at], labels[at])
	}
	if gaps := chart.Gaps(m.in.Times, m.in.Taken); len(gaps) > 0 {
		f.BirthNote += " The interval before " + labels[gaps[0].At] + " lasted " + wording.PageDuration(gaps[0].Duration) + "."
	}
}

// statesOver stacks the states of the members, where there are several of both.
func (m *familyMaker) statesOver(f *Family) {
	if len(m.in.Labels) < 2 {
		return
	}
	d := chart.StackData{ID: "states-over", Title: "States per snapshot", Unit: kindWord(m.worded(), 2), Labels: f.Members.Labels, Times: m.in.Times, Taken: m.in.Taken, Totals: m.in.Counts, Epochs: m.restarts(), Lower: m.in.Lower}
	states := make([]map[string]int, len(m.in.Groups))
	for i, g := range m.in.Groups {
		if g != nil {
			states[i] = g.States
		}
	}
	if stackStates(&d, states) {
		f.StatesOver, f.StatesOverNote = &d, stackNote(d, statesWords)
	}
}

// membersNote explains the marks that the chart of members has.
func (m *familyMaker) membersNote(f *Family) string {
	note := "True time scale"
	for _, mark := range []struct {
		words string
		shown bool
	}{
		{"dotted: no evidence", len(chart.Gaps(m.in.Times, m.in.Taken)) > 0},
		{"orange band: the growth began there", f.Members.Onset != nil},
		{"△: a cut dump, at least as many", slices.Contains(m.in.Lower, true)},
		{"blue band: recovery", f.Members.RecoveredAt >= 0},
		{"dashed: restart", len(f.Members.Epochs) > 0},
	} {
		if mark.shown {
			note += "; " + mark.words
		}
	}
	for _, e := range f.Members.Events {
		note += "; " + e.Text + " " + e.When(f.Members.Labels)
	}
	return note + "."
}

// firstSeen is the first snapshot that captured the kind at all.
func (m *familyMaker) firstSeen() int {
	first := m.in.Counts.FirstAt()
	return max(first, 0)
}

func (m *familyMaker) group(f *Family) {
	g := m.chosen()
	if g == nil {
		return
	}
	f.States, f.StatesBar = states("states", g.States)
	if f.StatesBar != nil {
		f.StatesBar.Width = 320
	}
	f.Waits, f.Ages = waitBars("waits", g), ageBars(g)
	if g.Leaked > 0 {
		f.StateNote = fmt.Sprintf("The runtime marked %d of them (leaked).", g.Leaked)
	}
	if n := g.Members.Len(); n > 0 && n < g.Count {
		f.StateNote = strings.TrimSpace(f.StateNote + fmt.Sprintf(" %d members could be read, %d were counted.", n, g.Count))
	}
}

// thinned says how many snapshots lost their members to a policy, empty for none.
func (m *familyMaker) thinned() string {
	n, last := 0, time.Time{}
	for _, at := range m.in.Thinned {
		if at.IsZero() {
			continue
		}
		if n++; at.After(last) {
			last = at
		}
	}
	if n == 0 {
		return ""
	}
	return wording.SeriesThinned(n, len(m.in.Thinned), last)
}
