package view

import (
	"cmp"
	"slices"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/say/report"
)

// sameInstant is how far apart the captures of one directory may lie: a hung
// endpoint can put minutes between the processes of one capture.
const sameInstant = 15 * time.Minute

// align gives every snapshot a column. Snapshots of different series with the
// same label and about the same time share one.
func (m *caseMaker) align() {
	m.place = map[string]int{}
	type entry struct {
		column
		order float64
		ids   []string
		// series is the last one with a snapshot there: a series has one in a column.
		series int
	}
	var entries []entry
	// Entries by label, and those of a label by time: thousands may have the same label.
	labelled := map[string][]int{}
	timed := map[instant][]int{}
	for _, series := range m.aligned() {
		s := &m.in.Report.Series[series]
		before := -1.0
		for i, id := range s.Snapshots {
			snap := m.snapshots[id]
			if snap == nil {
				continue
			}
			at := timeOf(snap)
			found := -1
			for _, list := range candidates(labelled, timed, snap.Label, at) {
				for _, k := range list {
					if entries[k].series != series && near(entries[k].at, at) && (found < 0 || k < found) {
						found = k
					}
				}
			}
			if found < 0 {
				entries = append(entries, entry{column: column{label: snap.Label, at: at}, order: orderOf(at, before, i), series: -1})
				found = len(entries) - 1
				labelled[snap.Label] = append(labelled[snap.Label], found)
				timed[instantOf(snap.Label, at)] = append(timed[instantOf(snap.Label, at)], found)
			}
			e := &entries[found]
			if !at.IsZero() && (e.at.IsZero() || at.Before(e.at)) {
				if before, now := instantOf(snap.Label, e.at), instantOf(snap.Label, at); before != now {
					timed[now] = append(timed[now], found)
				}
				e.at = at
			}
			e.ids = append(e.ids, id)
			e.series = series
			before = e.order
		}
	}
	slices.SortStableFunc(entries, func(a, b entry) int { return cmp.Compare(a.order, b.order) })
	for k, e := range entries {
		m.columns = append(m.columns, e.column)
		for _, id := range e.ids {
			m.place[id] = k
		}
	}
}

// instant is a label with the stretch of time, as long as sameInstant, in which its
// snapshot lies; 0 for an unknown time.
type instant struct {
	label string
	part  int64
}

func instantOf(label string, at time.Time) instant {
	if at.IsZero() {
		return instant{label: label}
	}
	return instant{label, at.Unix()/int64(sameInstant/time.Second) + 1}
}

// candidates are the entries that may be of the instant of a snapshot.
func candidates(labelled map[string][]int, timed map[instant][]int, label string, at time.Time) [][]int {
	if at.IsZero() {
		return [][]int{labelled[label]}
	}
	own := instantOf(label, at)
	before, after := instant{label, own.part - 1}, instant{label, own.part + 1}
	return [][]int{timed[before], timed[own], timed[after], timed[instant{label: label}]}
}

// orderOf sorts by time; an untimed snapshot stays just behind the one before.
func orderOf(at time.Time, before float64, index int) float64 {
	if !at.IsZero() {
		return float64(at.UnixMilli()) / 1000
	}
	if before >= 0 {
		return before + 1e-4
	}
	return float64(index) * 1e-4
}

func near(a, b time.Time) bool {
	return a.IsZero() || b.IsZero() || a.Sub(b).Abs() <= sameInstant
}

func timeOf(s *report.Snapshot) time.Time {
	if s.CapturedAt == nil {
		return time.Time{}
	}
	return *s.CapturedAt
}

// aligned are the series whose snapshots have columns: those of the page, and where a
// filter looks into all those of the families that pass.
func (m *caseMaker) aligned() []int {
	out := slices.Clone(m.page)
	have := make([]bool, len(m.in.Report.Series))
	for _, i := range out {
		have[i] = true
	}
	for _, p := range m.passing {
		if !have[p.series] {
			have[p.series], out = true, append(out, p.series)
		}
	}
	return out
}

// spreadOut puts one value per snapshot of a series into the case's columns.
func (m *caseMaker) spreadOut(s *report.Series, values analysis.Counts) analysis.Counts {
	out := make(analysis.Counts, len(m.columns))
	for i, id := range s.Snapshots {
		if k, ok := m.place[id]; ok && i < len(values) {
			out[k] = values[i]
		}
	}
	return out
}

// spreadLower does the same for what is said of the values.
func (m *caseMaker) spreadLower(s *report.Series, lower []bool) []bool {
	if lower == nil {
		return nil
	}
	out := make([]bool, len(m.columns))
	for i, id := range s.Snapshots {
		if k, ok := m.place[id]; ok {
			out[k] = isLower(lower, i)
		}
	}
	return out
}

func (m *caseMaker) totals(s *report.Series, k analysis.Kind) analysis.Counts {
	out := make(analysis.Counts, len(s.Snapshots))
	for i, snap := range m.known(s).snapshots {
		if snap != nil {
			out[i] = analysis.CountOf(snap.Totals.Of(k))
		}
	}
	return out
}

// allCaptures is a series with all its captures in place of those that are judged, for what is
// drawn of heads alone.
func (m *caseMaker) allCaptures(s *report.Series) *report.Series {
	if s.Captures == nil {
		return s
	}
	return &report.Series{Snapshots: s.Captures}
}

// complete are the totals that are no lower bounds.
func (m *caseMaker) complete(s *report.Series, k analysis.Kind) analysis.Counts {
	return whole(m.totals(s, k), m.lower(s, k))
}

func (m *caseMaker) label(s *report.Series, i int) string {
	if i < 0 || i >= len(s.Snapshots) {
		return ""
	}
	return m.known(s).labels[i]
}
