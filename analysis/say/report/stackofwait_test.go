package report

import (
	"testing"

	"leakdiff/analysis"
)

// TestTheRemedyIsOfTheWaitThatTheStackShows: an object has a goroutine in a group and others that block.
func TestTheRemedyIsOfTheWaitThatTheStackShows(t *testing.T) {
	wait := Family{Fingerprint: "a", Kind: analysis.KindGoroutine, Title: "main.fanOut", Counts: numbers(5, 22), States: map[string]int{"sync.WaitGroup.Wait": 22}}
	quotes := Family{Fingerprint: "b", Kind: analysis.KindGoroutine, Title: "main.quote", Name: "main.quote", Counts: numbers(10, 44), States: map[string]int{"chan send": 44}}
	few, library, same := quotes, quotes, quotes
	few.States = map[string]int{"chan send": 9}
	library.Name = "net/http.(*persistConn).writeLoop"
	same.States = map[string]int{"sync.WaitGroup.Wait": 44}
	stack := []StackFrame{{Function: "sync.(*WaitGroup).Wait"}, {Function: "main.fanOut", File: "/src/leaks.go", Line: 107, Own: true}}
	const missing = "ot everyone calls Done for the Wait at leaks.go:107: defer it as the first statement of each."
	for name, tt := range map[string]struct {
		other Family
		want  string
	}{
		"most block in another function": {quotes, "Nobody receives from the channel at main.quote: buffer it, or select on ctx.Done()."},
		"few do":                         {few, "22 of 31 wait so: n" + missing},
		"most block in a library":        {library, ""},
		"most are in a group as well":    {same, "N" + missing},
	} {
		s := &Series{Families: []Family{wait, tt.other}}
		f := &Finding{Families: []string{"a", "b"}, Stack: stack, StackOf: &StackOf{Family: "a"}}
		if got := s.byState(f, false); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

func TestWhatFellIsToldWithWhatIsLeft(t *testing.T) {
	for name, tt := range map[string]struct {
		c    Claims
		want bool
	}{
		"fewer are left":                 {Claims{Top: 1, Last: 3, N: 33, Left: 5, EndedAt: -1, RestartedAt: -1}, true},
		"one is gone":                    {Claims{Top: 1, Last: 3, N: 33, Left: 32, EndedAt: -1, RestartedAt: -1}, true},
		"all are left":                   {Claims{Top: 1, Last: 3, N: 33, Left: 33, EndedAt: -1, RestartedAt: -1}, false},
		"the last capture has most":      {Claims{Top: 3, Last: 3, N: 33, Left: 33, EndedAt: -1, RestartedAt: -1}, false},
		"they are gone with their cause": {Claims{Top: 1, Last: 3, N: 33, Left: 5, EndedAt: 2, RestartedAt: -1}, false},
		"the process was started anew":   {Claims{Top: 1, Last: 3, N: 33, Left: 5, EndedAt: -1, RestartedAt: 2}, false},
	} {
		if got := tt.c.fell(); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
