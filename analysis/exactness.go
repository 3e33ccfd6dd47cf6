package analysis

// Exactness says what the counts of a kind in a snapshot are worth. Whoever reads the
// evidence decides it, and a judge may lower it.
type Exactness string

const (
	// Exact counts are compared with those of other snapshots.
	Exact Exactness = ""
	// AtLeast counts are lower bounds: the evidence was cut or not fully understood.
	AtLeast Exactness = "lower_bound"
	// NotComparable counts come from evidence that shows less than that of other snapshots.
	NotComparable Exactness = "not_comparable"
)

// Inexact has the kinds of a snapshot whose counts are not exact.
type Inexact map[Kind]Exactness

// With returns a copy in which a kind has an exactness, unless it had a lower one.
func (x Inexact) With(k Kind, e Exactness) Inexact {
	out := make(Inexact, len(x)+1)
	for kind, had := range x {
		out[kind] = had
	}
	if out[k] != NotComparable && e != Exact {
		out[k] = e
	}
	return out
}

// Exactness is that of a kind. A cut dump makes lower bounds of its goroutines or threads.
func (s *Snapshot) Exactness(k Kind) Exactness {
	if e := s.Inexact[k]; e != Exact {
		return e
	}
	if s.LowerBound && (k == KindGoroutine || k == KindThread) {
		return AtLeast
	}
	return Exact
}

// Exactnesses are those of all kinds that are not exact, nil if all are.
func (s *Snapshot) Exactnesses() Inexact {
	var out Inexact
	for _, k := range Kinds() {
		if e := s.Exactness(k); e != Exact && s.Totals.Of(k) != nil {
			out = out.With(k, e)
		}
	}
	return out
}

// Bounded reports a kind whose counts are not exact: there are at least so many, and nothing
// is compared with them.
func (s *Snapshot) Bounded(k Kind) bool { return s.Exactness(k) != Exact }
