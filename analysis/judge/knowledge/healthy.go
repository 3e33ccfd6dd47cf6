package knowledge

import "leakdiff/analysis"

// Healthy is the reason why a family may be normal.
type Healthy struct {
	Normal *Normal
	// Expected is the number that its units allow. Known reports that the units were
	// counted. decides reports that the unit is a demand from outside. Connections do
	// not decide: they can leak themselves.
	Expected int
	Known    bool
	decides  bool
	// Within reports that the count does not exceed Expected by the effect gate.
	Within bool
	// Reason is the evidence: the library and its expected number, and what was counted.
	Reason analysis.Evidence
}

// The effect gate: what exceeds an expected count must exceed it by this number and by
// this share.
const (
	leastExcess = 10
	leastShare  = 0.15
)

// healthy returns the first normal stack whose states fit.
func (m *Matcher) healthy(t *traits, s Seen) *Healthy {
	for _, at := range t.normals {
		in := &m.c.index.normals[at]
		if !inStates(in.states, s) {
			continue
		}
		h := &Healthy{Normal: in.normal}
		h.Expected, h.Known = in.normal.Expected.in(s.Units)
		h.decides = h.Known && in.normal.Expected.demanded()
		excess := s.Count - h.Expected
		h.Within = !h.Known || float64(excess) < leastShare*float64(h.Expected) || excess < leastExcess
		h.Reason = h.reason(s)
		return h
	}
	return nil
}

// demanded reports whether a leak of the program cannot raise the unit.
func (e Expected) demanded() bool { return e.Per == "process" || e.Per == "pod" || e.Per == "listener" }

// in is the number of goroutines that units allow.
func (e Expected) in(u Units) (int, bool) {
	if e.Each == 0 || e.Per == "" {
		return 0, false
	}
	if e.Per == "process" {
		return e.Each, true
	}
	n, ok := u[e.Per]
	return e.Each * n, ok
}

// reason names the library and how many it expects, then the unit on which the number depends.
// N is the count if it is above the number that the units allow.
func (h *Healthy) reason(s Seen) analysis.Evidence {
	expected := h.Normal.Expected
	e := analysis.Evidence{Rule: RuleNormal, Names: []string{h.Normal.Library, expected.Text}}
	switch {
	case !h.Known && expected.Per != "" && expected.Each > 0:
		e.Names = append(e.Names, expected.Per)
	case h.Known && expected.Per != "process":
		e.Names = append(e.Names, expected.Per)
	}
	if h.Known {
		e.Figures = map[analysis.Figure]float64{"expected": float64(h.Expected)}
	}
	if h.Known && !h.Within {
		e.N = s.Count
	}
	return e
}
