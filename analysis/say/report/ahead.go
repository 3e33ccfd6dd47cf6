package report

import (
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/wait"
	"leakdiff/analysis/read/family"
	"leakdiff/analysis/say/wording"
)

// Ahead are goroutines of one family that went on where the members of a finding wait: they likely
// have the slots of a semaphore, or make the call that the others wait for.
type Ahead struct {
	Count  int    `json:"count"`
	Family string `json:"family"`
	// Function is the one in which both are, At the first own function of those ahead.
	Function string `json:"function"`
	At       string `json:"at"`
	State    string `json:"state,omitempty"`
	// WaitsFor is what they wait for: lock, wait group, condition, channel, io, syscall, timer or
	// other.
	WaitsFor wait.Reason `json:"waits_for"`
	// Ends is what ends their own wait, "" if that is not known.
	Ends string `json:"ends,omitempty"`
}

// ahead finds those that went on where the members of the stack of a finding wait.
func (j *JudgedSeries) ahead(f *Finding, at sighting) *Ahead {
	if at.snapshot == 0 || at.group.Family.Kind != analysis.KindGoroutine {
		return nil
	}
	found := wait.AheadOf(j.Snapshots[at.snapshot-1], j.Snapshots[at.snapshot], at.group, f.Families, func(s *analysis.Stack) []bool { return j.own.Mark(s).Frames })
	if found == nil {
		return nil
	}
	out := &Ahead{Count: found.Count, Family: found.Fingerprint, Function: found.Func, At: found.At, State: found.State, WaitsFor: found.For}
	if l := j.LocatedStack(found.Fingerprint, at.snapshot); l != nil {
		out.Ends = ends(family.BareState(found.State), l.Stack)
	}
	return out
}

// words are "3 goroutines in main.(*renderer).fetchFont".
func (a *Ahead) words() string {
	return wording.Plural(a.Count, "goroutine", "goroutines") + " in " + shortRole(a.At)
}

// remedy says who is waited for, and what ends their own wait.
func (a *Ahead) remedy() string {
	return strings.TrimSpace("They likely wait for " + a.words() + ". " + a.Ends)
}

// link is the cell of a chain.
func (a *Ahead) link() Link {
	figure, noun, _ := strings.Cut(a.words(), " ")
	return Link{Figure: figure, Noun: noun, Text: "further on in " + shortRole(a.Function)}
}
