package view

import (
	"slices"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/say/report"
	"leakdiff/analysis/say/wording"
)

// lower says of each snapshot of a series whether its figures of any of the kinds
// are lower bounds; nil where none is.
func (m *caseMaker) lower(s *report.Series, kinds ...analysis.Kind) []bool {
	var out []bool
	for _, k := range kinds {
		lower := m.lowerOf(s, k)
		if out == nil {
			out = lower
			continue
		}
		if lower != nil {
			out = slices.Clone(out)
			for i := range out {
				out[i] = out[i] || lower[i]
			}
		}
	}
	return out
}

// lowerOf is lower for one kind.
func (m *caseMaker) lowerOf(s *report.Series, k analysis.Kind) []bool {
	known := m.known(s)
	if lower, ok := known.kinds[k]; ok {
		return lower
	}
	lower := make([]bool, len(s.Snapshots))
	for i, snap := range known.snapshots {
		lower[i] = snap != nil && snap.Bounded(k)
	}
	if !slices.Contains(lower, true) {
		lower = nil
	}
	known.kinds[k] = lower
	return lower
}

// kindsOf are the kinds of some families of a series, by fingerprint.
func kindsOf(s *report.Series, fingerprints func(string) bool) []analysis.Kind {
	var out []analysis.Kind
	for i := range s.Families {
		if f := &s.Families[i]; fingerprints(f.Fingerprint) && !slices.Contains(out, f.Kind) {
			out = append(out, f.Kind)
		}
	}
	return out
}

// unitLower is lower for the counts of a unit.
func (m *caseMaker) unitLower(s *report.Series, u *report.Unit) []bool {
	return m.lower(s, kindsOf(s, func(fp string) bool { _, ok := u.Ratio[fp]; return ok })...)
}

// whole are the counts without lower bounds, which prove neither a rise nor a fall.
func whole(counts analysis.Counts, lower []bool) analysis.Counts {
	if !slices.Contains(lower, true) {
		return counts
	}
	return counts.Only(func(i int) bool { return !isLower(lower, i) })
}

// isLower reports whether entry i is a lower bound.
func isLower(lower []bool, i int) bool { return i >= 0 && i < len(lower) && lower[i] }

// atLeast writes "≥ " before the text of a lower bound.
func atLeast(text string, lower bool) string {
	if lower && text != "" && text != "–" {
		return "≥" + hardSpace + text
	}
	return text
}

// cells writes counts for a table, lower bounds as such.
func cells(counts analysis.Counts, lower []bool) []string {
	return withCells(make([]string, 0, len(counts)), counts, lower)
}

// withCells writes them behind other cells of their row.
func withCells(row []string, counts analysis.Counts, lower []bool) []string {
	row = slices.Grow(row, len(counts))
	for i, v := range counts {
		row = append(row, atLeast(orDash(v), isLower(lower, i)))
	}
	return row
}

// severalDays reports whether times are not all of one day.
func severalDays(times []time.Time) bool {
	day := ""
	for _, t := range times {
		if t.IsZero() {
			continue
		}
		if day != "" && wording.Day(t) != day {
			return true
		}
		day = wording.Day(t)
	}
	return false
}

// ShortDay writes a date beside a clock: "3 May".
func ShortDay(t time.Time) string { return t.UTC().Format("2" + hardSpace + "Jan") }
