package view

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"leakdiff/analysis"
	"leakdiff/analysis/say/report"
)

// drawnLocks are the boxes of each drawn lock, the topmost first.
func drawnLocks(l *report.Locks) (out []string) {
	for _, s := range lockShapes(l) {
		var boxes []string
		for _, b := range s.Holders {
			boxes = append(boxes, b.Count+" "+b.Name)
		}
		boxes = append(boxes, s.Object.Count+" "+s.Object.Name)
		for _, b := range s.Parts {
			boxes = append(boxes, b.Count+" "+b.Name)
		}
		out = append(out, strings.ReplaceAll(strings.Join(boxes, " | "), "\u00a0", " "))
	}
	return out
}

func TestADrawnLockHasItsChainOfHoldersAbove(t *testing.T) {
	in := func(n int) []report.LockSite {
		return []report.LockSite{{Function: "example.org/pool.(*Pool).Get", Count: n}}
	}
	got := drawnLocks(&report.Locks{Kind: analysis.KindGoroutine, List: []report.Lock{
		{ID: "lock 1", Waiters: 4, In: in(4), Holders: []report.LockHolder{{Certainty: "likely", ID: 7, At: "example.org/pool.(*Log).Write", Lock: "lock 2"}}},
		{ID: "lock 2", Waiters: 1, In: in(1), Holders: []report.LockHolder{{Certainty: "possible", ID: 8, At: "main.wait", Children: []report.LockSite{{Function: "main.call", Count: 3}}}}},
		{ID: "lock 3", Waiters: 2, In: in(2)},
	}})
	want := []string{
		"waits for 3 × main.call | possible goroutine 8 in main.wait | likely goroutine 7 in pool.(*Log).Write | 4 goroutines for lock 1 | 4 × pool.(*Pool).Get",
		"2 goroutines for lock 3 | 2 × pool.(*Pool).Get",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestADeadlockIsDrawnOnce(t *testing.T) {
	got := drawnLocks(&report.Locks{Kind: analysis.KindThread, List: []report.Lock{
		{ID: "lock 1", Waiters: 1, Holders: []report.LockHolder{{Certainty: "proven", Name: "b", At: "a.B.run", Lock: "lock 2"}}},
		{ID: "lock 2", Waiters: 1, Holders: []report.LockHolder{{Certainty: "proven", Name: "a", Lock: "lock 1"}}},
	}})
	want := []string{`waits for lock 1 deadlock | held by thread "a" | held by thread "b" in B.run | 1 thread for lock 1`}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}
