package simulation

import (
	"fmt"
	"math"
)

// bound is what one class must keep at 5, 10 and 20 captures: the least share called
// leaking of a leak, the largest of a benign class, and the largest at least suspicious.
type bound struct {
	leaking, suspicious [3]float64
}

// Broken names what of its bound a class breaks. Runs scatter: a bound is broken where it
// lies outside the 95 % interval of so many runs.
func (s Score) Broken() []string {
	at := -1
	for k, n := range Sizes() {
		if n == s.Captures {
			at = k
		}
	}
	b, known := bounds[s.Class.Name]
	switch {
	case at < 0:
		return nil
	case !known:
		return []string{s.Class.Name + " has no bound"}
	}
	var out []string
	say := func(what, relation string, got, want float64) {
		out = append(out, fmt.Sprintf("%s at %d captures: %s in %.2f of %d runs, want at %s %.2f", s.Class.Name, s.Captures, what, got, s.Runs, relation, want))
	}
	if got, want := s.Share(Leaking), b.leaking[at]; s.Class.Leak && got < want-s.scatter(want) {
		say("leaking", "least", got, want)
	} else if !s.Class.Leak && got > want+s.scatter(want) {
		say("leaking", "most", got, want)
	}
	if got, want := s.Share(Suspicious), b.suspicious[at]; !s.Class.Leak && got > want+s.scatter(want) {
		say("at least suspicious", "most", got, want)
	}
	if s.Misread > 0 {
		out = append(out, fmt.Sprintf("%s at %d captures: %d of %d runs are not read as one series", s.Class.Name, s.Captures, s.Misread, s.Runs))
	}
	return out
}

// scatter is half of the 95 % interval of a share; none and all scatter as half a hit.
func (s Score) scatter(share float64) float64 {
	n := float64(s.Runs)
	p := (share*n + 0.5) / (n + 1)
	return 1.96 * math.Sqrt(p*(1-p)/n)
}
