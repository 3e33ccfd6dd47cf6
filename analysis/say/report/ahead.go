package report

import (
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/wait"
	"leakdiff/analysis/read/family"
	"leakdiff/analysis/say/wording"
)

// ahead are goroutines that went on where the members of a finding wait, with their stack.
type ahead struct {
	wait.Ahead
	stack []StackFrame
}

// ahead finds those that went on where the members of the stack of a finding wait.
func (j *JudgedSeries) ahead(f *Finding, at sighting) *ahead {
	if at.snapshot == 0 || at.group.Family.Kind != analysis.KindGoroutine {
		return nil
	}
	found := wait.AheadOf(j.Snapshots[at.snapshot-1], j.Snapshots[at.snapshot], at.group, f.Families, func(s *analysis.Stack) []bool { return j.own.Mark(s).Frames })
	if found == nil {
		return nil
	}
	out := &ahead{Ahead: *found}
	if l := j.LocatedStack(found.Fingerprint, at.snapshot); l != nil {
		out.stack = l.Stack
	}
	return out
}

// words are "3 goroutines in main.(*renderer).fetchFont".
func (a *ahead) words() string {
	return wording.Plural(a.Count, "goroutine", "goroutines") + " in " + shortRole(a.At)
}

// remedy says who is waited for, and what ends their own wait.
func (a *ahead) remedy() string {
	text := "They likely wait for " + a.words() + "."
	if end := ends(family.BareState(a.State), a.stack); end != "" {
		text += " " + end
	}
	return text
}

// link is the cell of a chain.
func (a *ahead) link() Link {
	figure, noun, _ := strings.Cut(a.words(), " ")
	return Link{Figure: figure, Noun: noun, Text: "further on in " + shortRole(a.Func)}
}
