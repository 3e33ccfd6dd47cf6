package report

import "leakdiff/analysis"

// Death is why a process ended, as its runtime printed it before the stacks.
type Death struct {
	// Deadlock reports that the scheduler found all goroutines asleep.
	Deadlock bool `json:"deadlock,omitempty"`
	// Reason is "nil pointer dereference in connections.(*service).dial". Do says what to do.
	Reason string `json:"reason"`
	Do     string `json:"do"`
	// Stacks has the stack of the goroutine that failed, none if the dump shows it alone.
	Stacks []MemberStack `json:"stacks,omitempty"`
}

// deathOf is what a snapshot states of the end of its process, nil for one that lives.
func (j *JudgedSeries) deathOf(s *analysis.Snapshot) *Death {
	for i := range s.Statements {
		x := &s.Statements[i]
		if x.Key == analysis.CrashStatement || x.Key == analysis.AsleepStatement {
			return &Death{Deadlock: x.Key == analysis.AsleepStatement, Reason: x.Title, Do: x.Text, Stacks: j.firstStack(s, x.Path)}
		}
	}
	return nil
}

// firstStack is the stack of the first goroutine of a file: the runtime prints the one that
// failed before all others (runtime/panic.go, dopanic_m).
func (j *JudgedSeries) firstStack(s *analysis.Snapshot, path string) []MemberStack {
	var first analysis.Member
	var stack *analysis.Stack
	for i := range s.Groups {
		g := &s.Groups[i]
		if g.Family.Kind != analysis.KindGoroutine {
			continue
		}
		for m := range g.Members.All() {
			if at := m.Place.Artifact; m.Variant < 0 || at < 0 || at >= len(s.Artifacts) || s.Artifacts[at].Path != path {
				continue
			}
			if stack == nil || m.Place.Offset < first.Place.Offset {
				first, stack = m, g.Variants[m.Variant].Stack
			}
		}
	}
	if stack == nil || len(stack.Frames) == 0 {
		return nil
	}
	own := j.OwnCode()
	who := LockHolder{ID: first.Identity.ID}
	return []MemberStack{{Who: who.Who(analysis.KindGoroutine), Stack: markedFrames(own, stack, marksOf(own, analysis.KindGoroutine, stack))}}
}

// ended words why a process ended: "syncthing crashed: nil pointer dereference in
// connections.(*service).dial", "Deadlock in app: all goroutines are asleep".
func (s *Series) ended() string {
	if s.Died.Deadlock {
		return "Deadlock" + s.place("in") + ": " + s.Died.Reason
	}
	return s.actor() + " crashed: " + s.Died.Reason
}

// dead is the first process with a single dump that shows it dying, or -1. What its dump shows
// besides is not why it ended.
func (d *diagnosing) dead() int {
	for _, i := range d.r.seriesInOrder() {
		if s := &d.r.Series[i]; s.Died != nil && len(s.Snapshots) == 1 {
			return i
		}
	}
	return -1
}

// fitting is the first of several wordings of one sentence that fits into n characters, else
// the last one shortened.
func fitting(words []string, n int) string {
	for _, text := range words {
		if len([]rune(text)) <= n {
			return text
		}
	}
	return shortened(words[len(words)-1], n)
}
