package view

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/identity"
	"leakdiff/analysis/say/report"
	"leakdiff/analysis/say/wording"
)

// events lists what people say happened, each with its place among the snapshots.
func (m *identityMaker) events() EventForm {
	f := EventForm{
		About: "An event inside the time in which a growth began is named with it.", Kinds: identity.EventKinds(),
		Hint: "In UTC, or with an offset such as +01:00.",
	}
	if zone := m.in.Said.Zone; zone.String() != "UTC" {
		f.Hint = "Of the zone " + Visible(zone.String()) + " unless UTC or an offset stands behind it."
	}
	for _, e := range m.in.Said.Events {
		f.Rows = append(f.Rows, SaidRow{Number: e.Edit, Text: wording.Time(e.At) + " " + Visible(e.Kind+" "+e.Text), Aside: m.place(e.At)})
	}
	if r := m.in.Refused; r != nil && r.Edit.Kind == identity.Happened {
		at, kind, text := identity.SplitEvent(r.Edit.Value)
		f.At, f.Kind, f.Text = Visible(at), Visible(kind), Visible(text)
		f.Error, f.Wrong = m.beside(r, "text")
	}
	return f
}

// beside gives the words of a refused form and the part of its value that they
// are about; usual is where a fault of the whole value is shown.
func (m *identityMaker) beside(r *RefusedEdit, usual string) (words, part string) {
	field, part, _ := strings.Cut(r.Fault.Where, ".")
	if field != "value" {
		return "", ""
	}
	if part == "" {
		part = usual
	}
	m.placed = true
	return faultWords(r.Fault), part
}

// place says between which snapshots a time lies: "between t1 and t2 of kubelet",
// empty where no snapshot has a time. The longest series with times tells.
func (m *identityMaker) place(at time.Time) string {
	for _, series := range m.in.Series {
		var before, after *analysis.Snapshot
		for _, s := range series.Snapshots {
			switch {
			case s.CapturedAt.IsZero():
			case s.CapturedAt.Before(at):
				before = s
			case after == nil:
				after = s
			}
		}
		of := " of " + seriesWords(series.Snapshots[0].Process)
		switch {
		case before != nil && after != nil:
			return "between " + m.labels[before.ID] + " and " + m.labels[after.ID] + of
		case before != nil:
			return "after " + m.labels[before.ID] + of
		case after != nil:
			return "before " + m.labels[after.ID] + of
		}
	}
	return ""
}

// loads lists the demands on a series.
func (m *identityMaker) loads(series report.JudgedSeries) LoadForm {
	f := LoadForm{About: "Load", Hint: m.numbersHint(series)}
	for _, e := range m.in.Edits {
		if e.Kind == identity.Load && m.holdsFor(e, series) {
			name, _ := identity.SplitLoad(e.Value)
			f.Rows = append(f.Rows, SaidRow{Number: e.ID, Text: Visible(name) + ":", Aside: m.asked(name, series)})
		}
	}
	if n := int64(len(f.Rows)); n > 0 {
		f.About += " (" + wording.PagePlural(n, "load", "loads") + ")"
	}
	r := m.in.Refused
	if r == nil || r.Edit.Kind != identity.Load || m.placed {
		return f
	}
	if _, id := cutTarget(r.Edit.Target); slices.ContainsFunc(series.Snapshots, func(s *analysis.Snapshot) bool { return s.ID == id }) {
		name, numbers := identity.SplitLoad(r.Edit.Value)
		f.Name, f.Numbers = Visible(name), Visible(strings.Join(strings.Fields(numbers), " "))
		f.Error, f.Wrong = m.beside(r, "numbers")
	}
	return f
}

// holdsFor reports whether an edit in force says something of a series.
func (m *identityMaker) holdsFor(e identity.Edit, series report.JudgedSeries) bool {
	effect, inForce := m.in.Said.Effects[e.ID]
	return inForce && !e.Undone && slices.ContainsFunc(series.Snapshots, func(s *analysis.Snapshot) bool {
		return slices.Contains(effect.Snapshots, s.ID)
	})
}

// asked are the numbers of a load in the order of a series: "12 12 14 –".
func (m *identityMaker) asked(name string, series report.JudgedSeries) string {
	var out []string
	for _, s := range series.Snapshots {
		number := "–"
		if v, ok := m.in.Said.Loads[name][s.ID]; ok {
			number = strconv.FormatFloat(v, 'f', -1, 64)
		}
		out = append(out, number)
	}
	return shortened(out)
}

// numbersHint: "One for each of t0 t1 t2, in this order, a dash where it is not
// known; or pairs such as t0=12."
func (m *identityMaker) numbersHint(series report.JudgedSeries) string {
	var labels []string
	for _, s := range series.Snapshots {
		labels = append(labels, m.labels[s.ID])
	}
	if len(labels) == 1 {
		return "One number for each snapshot. This process has one; a load says something from two on."
	}
	return "One number for each of " + shortened(labels) + ", in this order, a dash where it is not known; or pairs such as " + labels[0] + "=12."
}

// shortened joins words, the first and the last few of many.
func shortened(words []string) string {
	const many, head = 24, 20
	if len(words) > many {
		words = slices.Concat(words[:head], []string{"…"}, words[len(words)-2:])
	}
	return strings.Join(words, " ")
}

// eventWords: "2026-11-21 03:12:00 deploy, kubelet 1.31 on all nodes".
func eventWords(value string) string {
	at, kind, text := identity.SplitEvent(value)
	return timeText(at) + " " + Visible(kind) + ", " + Visible(text)
}

// loadWords: "sessions: 12 12 14 –".
func loadWords(value string) string {
	name, _ := identity.SplitLoad(value)
	numbers := identity.LoadNumbers(value)
	for i, n := range numbers {
		if n == "-" {
			numbers[i] = "–"
		}
	}
	return Visible(name) + ": " + Visible(shortened(numbers))
}

// about ends the sentence on an edit: the snapshots that it holds for, where an
// event lies, what a load has made of the verdicts.
func (m *identityMaker) about(e identity.Edit, effect identity.Effect) string {
	switch e.Kind {
	case identity.Happened:
		for _, happened := range m.in.Said.Events {
			if happened.Edit == e.ID {
				return "; it lies " + m.place(happened.At)
			}
		}
	case identity.Load:
		for _, series := range m.in.Series {
			if m.holdsFor(e, series) {
				return ". Of " + seriesWords(series.Snapshots[0].Process) + " " + verdictWords(series) + " now"
			}
		}
	}
	if len(effect.Snapshots) == 0 {
		return ""
	}
	return " (" + m.snapshotWords(effect.Snapshots) + ")"
}

// verdictWords: "4 families are scaling, 1 suspicious and none leaking".
func verdictWords(series report.JudgedSeries) string {
	count := map[analysis.Verdict]int64{}
	for _, j := range series.Judged {
		count[j.Verdict]++
	}
	words := func(v analysis.Verdict) string {
		if count[v] == 0 {
			return "none " + string(v)
		}
		return wording.Exact(count[v]) + " " + string(v)
	}
	scaling := "no family is scaling"
	if n := count[analysis.Scaling]; n > 0 {
		scaling = wording.PagePlural(n, "family", "families") + " " + isAre(n) + " scaling"
	}
	return scaling + ", " + words(analysis.Suspicious) + " and " + words(analysis.Leaking)
}
