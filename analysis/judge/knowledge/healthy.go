package knowledge

import (
	"fmt"
)

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
	// Text is the reason in words.
	Text string
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
		h.Text = h.reason(s)
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

func (h *Healthy) reason(s Seen) string {
	text := fmt.Sprintf("a normal stack of %s: %s", h.Normal.Library, h.Normal.Expected.Text)
	switch {
	case !h.Known && h.Normal.Expected.Per != "" && h.Normal.Expected.Each > 0:
		text += ", their number is not known"
	case h.Known && h.Normal.Expected.Per != "process":
		text += fmt.Sprintf(", that is %d by the number of %ss in the same snapshot", h.Expected, h.Normal.Expected.Per)
	}
	if h.Known && !h.Within {
		text += fmt.Sprintf("; %d are above that", s.Count)
	}
	return text
}
