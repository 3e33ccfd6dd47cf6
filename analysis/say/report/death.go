package report

import (
	"cmp"
	"fmt"
	"slices"

	"leakdiff/analysis"
	"leakdiff/analysis/read/family"
	"leakdiff/analysis/say/wording"
)

// Death is why a process ended, as its runtime printed it before the stacks.
type Death struct {
	// Deadlock reports that the scheduler found all goroutines asleep.
	Deadlock bool `json:"deadlock,omitempty"`
	// TestLimit reports a test binary that ran into its time limit.
	TestLimit bool `json:"test_limit,omitempty"`
	// Times is how many runs of the process ended so, if more than one did, and Alike that the reason
	// was the same each time.
	Times int  `json:"times,omitempty"`
	Alike bool `json:"alike,omitempty"`
	// Reason is "nil pointer dereference in connections.(*service).dial". Do says what to do.
	Reason string `json:"reason"`
	Do     string `json:"do"`
	// Stacks has the stack of the goroutine that failed, and in a deadlock one of the largest group
	// that waits beside it.
	Stacks []MemberStack `json:"stacks,omitempty"`
}

// deathOf is what a snapshot states of the end of its process, nil for one that lives.
func (j *JudgedSeries) deathOf(s *analysis.Snapshot) *Death {
	for i := range s.Statements {
		x := &s.Statements[i]
		if x.Key != analysis.CrashStatement && x.Key != analysis.AsleepStatement && x.Key != analysis.TestLimitStatement {
			continue
		}
		out := &Death{Deadlock: x.Key == analysis.AsleepStatement, TestLimit: x.Key == analysis.TestLimitStatement, Reason: x.Title, Do: x.Text}
		out.add(j, &LockHolder{ID: x.Goroutine}, x.Stack)
		if out.Deadlock {
			out.asleep(j, s, failing(s, x))
		}
		return out
	}
	return nil
}

// died is how the last run of a process ended, nil for one that lives, with how many of its runs did.
func (j *JudgedSeries) died() *Death {
	out := j.deathOf(j.Snapshots[len(j.Snapshots)-1])
	if out == nil {
		return nil
	}
	times, alike, shown := 0, true, out
	for _, s := range j.Snapshots {
		if was := j.deathOf(s); was != nil {
			times, alike = times+1, alike && was.Reason == out.Reason
			if out.TestLimit && !out.whole() && was.TestLimit && was.whole() {
				shown = was
			}
		}
	}
	out = shown
	if times > 1 {
		out.Times, out.Alike = times, alike
	}
	return out
}

// whole reports that the stack of the goroutine that failed is not cut: it shows who started it.
func (d *Death) whole() bool {
	if len(d.Stacks) == 0 {
		return false
	}
	stack := d.Stacks[0].Stack
	return len(stack) > 0 && stack[len(stack)-1].CreatedBy
}

// failing is the group of the goroutine that a statement is about, nil if the dump has none.
func failing(s *analysis.Snapshot, x *analysis.Statement) *analysis.Group {
	for i := range s.Groups {
		g := &s.Groups[i]
		if g.Family.Kind != analysis.KindGoroutine {
			continue
		}
		for m := range g.Members.All() {
			if at := m.Place.Artifact; m.Identity.ID == x.Goroutine && at >= 0 && at < len(s.Artifacts) && s.Artifacts[at].Path == x.Path {
				return g
			}
		}
	}
	return nil
}

// add keeps a stack with its marks.
func (d *Death) add(j *JudgedSeries, who *LockHolder, stack *analysis.Stack) {
	if stack == nil || len(stack.Frames) == 0 {
		return
	}
	own := j.OwnCode()
	d.Stacks = append(d.Stacks, MemberStack{Who: who.Who(analysis.KindGoroutine), Stack: markedFrames(own, stack, marksOf(own, analysis.KindGoroutine, stack))})
}

// asleep adds to a deadlock the largest group of those that wait beside the goroutine that the
// runtime prints first: main mostly waits for the others to end, and they show why they do not.
func (d *Death) asleep(j *JudgedSeries, s *analysis.Snapshot, first *analysis.Group) {
	var most *analysis.Group
	for i := range s.Groups {
		g := &s.Groups[i]
		if g.Family.Kind == analysis.KindGoroutine && g != first && len(g.Variants) > 0 && (most == nil || g.Count > most.Count) {
			most = g
		}
	}
	if most == nil || len(most.States) != 1 {
		return
	}
	shown := len(d.Stacks)
	for m := range most.Members.All() {
		if m.Variant >= 0 {
			d.add(j, &LockHolder{ID: m.Identity.ID}, most.Variants[m.Variant].Stack)
			break
		}
	}
	if len(d.Stacks) == shown {
		return
	}
	stack := d.Stacks[shown].Stack
	for raw := range most.States {
		state := family.BareState(raw)
		blocked := wording.Blocked(state)
		if blocked == "" {
			return
		}
		d.Reason += fmt.Sprintf(", %s %s %s in %s", wording.Members(analysis.KindGoroutine, most.Count), wording.Fit(most.Count, "is", "are"), blocked, shortRole(ownFunction(stack)))
		d.Do = cmp.Or(waitedIn(state, stack, false), d.Do)
	}
}

// ownFunction is the first function of the reader's own code, else the one that waits.
func ownFunction(stack []StackFrame) string {
	if at := slices.IndexFunc(stack, func(f StackFrame) bool { return f.Own && !f.CreatedBy }); at >= 0 {
		return stack[at].Function
	}
	return waitsIn(stack)
}

// ended words why a process ended: "syncthing crashed: nil pointer dereference in
// connections.(*service).dial", "Deadlock in app: all goroutines are asleep".
func (s *Series) ended() string {
	if s.Died.Deadlock {
		return "Deadlock" + s.place("in") + ": " + s.Died.Reason
	}
	if s.Died.TestLimit && s.Died.Times > 1 {
		return fmt.Sprintf("%d test binaries timed out: %s", s.Died.Times, s.Died.Reason)
	}
	if s.Died.TestLimit {
		return wording.Capital(s.Died.Reason)
	}
	switch {
	case s.Died.Alike:
		return fmt.Sprintf("%s crashed %d times: %s", s.actor(), s.Died.Times, s.Died.Reason)
	case s.Died.Times > 1:
		return fmt.Sprintf("%s crashed %d times, the last time: %s", s.actor(), s.Died.Times, s.Died.Reason)
	}
	return s.actor() + " crashed: " + s.Died.Reason
}

// dead is the first process each of whose dumps shows it dying, or -1. What they show besides is not
// why it ended.
func (d *diagnosing) dead() int {
	for _, i := range d.r.seriesInOrder() {
		if s := &d.r.Series[i]; s.Died != nil && len(s.Snapshots) == max(1, s.Died.Times) {
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
