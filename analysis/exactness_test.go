package analysis

import "testing"

func TestACutDumpBoundsItsKindAlone(t *testing.T) {
	s := Snapshot{LowerBound: true, Inexact: Inexact{}.With(KindWatch, AtLeast).With(KindDescriptor, NotComparable).With(KindDescriptor, AtLeast)}
	for k, want := range map[Kind]Exactness{KindGoroutine: AtLeast, KindThread: AtLeast, KindWatch: AtLeast, KindDescriptor: NotComparable} {
		if got := s.Exactness(k); got != want || !s.Bounded(k) {
			t.Errorf("%s is %q, want %q", k, got, want)
		}
	}
	s.LowerBound = false
	if s.Bounded(KindGoroutine) || s.Bounded(KindThread) {
		t.Error("goroutines of a whole dump are bounded")
	}
}
