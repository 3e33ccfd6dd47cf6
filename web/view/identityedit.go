package view

import (
	"slices"
	"strings"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/identity"
	"leakdiff/analysis/say/wording"
)

// leftOut lists what does not count; the next ones follow as those are taken back in.
func (m *identityMaker) leftOut(v *Identity) {
	for _, s := range m.in.Said.LeftOut {
		if len(v.LeftOut) == maxLeftOut {
			v.LeftOutNote = wording.PagePlural(int64(len(m.in.Said.LeftOut)-maxLeftOut), "more snapshot is", "more snapshots are") + " left out; the JSON lists all."
			break
		}
		text := []string{Visible(s.Label) + " of " + seriesWords(s.Process)}
		if !s.CapturedAt.IsZero() {
			text = append(text, wording.Time(s.CapturedAt))
		}
		v.LeftOut = append(v.LeftOut, LeftOutRow{ID: s.ID, Text: strings.Join(append(text, totalsWords(s.Totals)), ", ")})
	}
}

// history lists the edits, the latest first.
func (m *identityMaker) history(v *Identity) {
	for _, e := range slices.Backward(m.in.Edits) {
		if len(v.History) == maxEdits {
			v.HistoryNote = wording.PagePlural(int64(len(m.in.Edits)-maxEdits), "older edit is", "older edits are") + " in the JSON."
			break
		}
		effect := m.in.Said.Effects[e.ID]
		row := HistoryRow{
			Number: e.ID, What: m.what(e, effect), Note: Visible(e.Note), Made: wording.Time(e.At) + " by " + roleWords(e.By),
			Undone: e.Undone, Unused: Visible(effect.Why), Lost: effect.Why != "" && !effect.Harmless,
		}
		row.Applies = m.snapshotWords(effect.Snapshots)
		v.History = append(v.History, row)
	}
}

func roleWords(role string) string {
	switch role {
	case "owner":
		return "the owner"
	case identity.Alertmanager:
		return "Alertmanager"
	}
	return "somebody at this server"
}

// snapshotWords: "t0, t1 and 7 more of kubelet".
func (m *identityMaker) snapshotWords(ids []string) string {
	var labels []string
	for _, id := range ids {
		labels = append(labels, m.labels[id])
	}
	return wording.List(labels, 3)
}

// what says an edit in words: "program: kubelet → kubelet-7".
func (m *identityMaker) what(e identity.Edit, effect identity.Effect) string {
	value := Visible(e.Value)
	change := func(field, value string) string {
		switch {
		case len(effect.Snapshots) == 0:
			return field + ": " + value
		case effect.Was == "":
			return field + ": not known → " + value
		}
		return field + ": " + Visible(effect.Was) + " → " + value
	}
	switch e.Kind {
	case identity.Zone:
		return "times without a zone are of " + value
	case identity.LeaveOut:
		return "left out"
	case identity.Keep:
		return "taken back in"
	case identity.Order:
		scope, _ := cutTarget(e.Value)
		return "moved " + scope + " " + m.named(e.Value)
	case identity.Series:
		return change("series", m.intoWords(e.Value))
	case identity.Happened:
		return "event: " + eventWords(e.Value)
	case identity.Ours:
		return "it is our program"
	case identity.Counts:
		return "its numbers count " + value
	case identity.Load:
		return "load " + loadWords(e.Value)
	case identity.Time:
		effect.Was = timeText(effect.Was)
		return change("time", timeText(e.Value))
	}
	return change(e.Kind.Words(), value)
}

// timeText: "2026-11-21T02:58:10.25Z" gives "2026-11-21 02:58:10", "" "not known".
func timeText(rfc3339 string) string {
	at, err := time.Parse(time.RFC3339Nano, rfc3339)
	if err != nil {
		return "not known"
	}
	return wording.Time(at)
}

func (m *identityMaker) named(reference string) string {
	if id, ok := m.in.Said.Snapshot(reference); ok {
		return m.labels[id]
	}
	return "a snapshot that is no longer there"
}

func (m *identityMaker) intoWords(value string) string {
	if !strings.HasPrefix(value, "into:") {
		return strings.TrimPrefix(Visible(value), "/")
	}
	id, ok := m.in.Said.Snapshot(value)
	if ok {
		for _, series := range m.in.Series {
			if slices.ContainsFunc(series.Snapshots, func(s *analysis.Snapshot) bool { return s.ID == id }) {
				return seriesWords(series.Snapshots[0].Process)
			}
		}
	}
	return "another one"
}

// said words the outcome of the edit that led to the page.
func (m *identityMaker) said() (string, int64) {
	for _, e := range m.in.Edits {
		effect := m.in.Said.Effects[e.ID]
		switch {
		case e.ID == m.in.Done && !e.Undone && effect.Why != "":
			return "Kept, but it changes nothing: " + Visible(effect.Why) + ".", e.ID
		case e.ID == m.in.Done && !e.Undone:
			return "Done. " + capital(m.what(e, effect)) + m.about(e, effect) + ". Everything was worked out anew.", e.ID
		case e.ID == m.in.Undone && e.Undone:
			return "Undone. " + capital(m.what(e, effect)) + ". Everything was worked out anew.", 0
		}
	}
	return "", 0
}
