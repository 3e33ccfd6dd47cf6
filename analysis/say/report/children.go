package report

import (
	"fmt"
	"slices"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/read/family"
	"leakdiff/analysis/say/wording"
)

// children are how many ended children of its process were not waited for, where they grow with the
// descriptors or commands of an answer: in the same intervals, one with one, two or three of them. Who
// is never waited for keeps its pipes. They are nil where there are none, or where other code is known.
func (s *Series) children(l *answer) analysis.Counts {
	lead := s.lead(l.finding)
	if lead == nil || lead.Kind != analysis.KindDescriptor && !lead.isCommand() || lead.isTotal() || l.queue != nil {
		return nil
	}
	if counts := s.unwaited(); counts != nil && inSteps(counts, knownBeside(counts, l.subject.counts)) && bothClimb(counts, l.subject.counts) {
		return counts
	}
	return nil
}

// knownBeside are the counts of captures in which others are known: a listing of the children of a
// process that has none does not say of which process it is.
func knownBeside(others, counts analysis.Counts) analysis.Counts {
	out := make(analysis.Counts, len(counts))
	for i, n := range counts {
		if n.Known() && others[i].Known() {
			out.Add(i, n.N)
		}
	}
	return out
}

// unwaited are how many ended children of a process nobody waited for, where they are many and rise
// from capture to capture; nil otherwise.
func (s *Series) unwaited() analysis.Counts {
	for i := range s.Gauges {
		if s.Gauges[i].Name != endedChildren {
			continue
		}
		if counts := s.Gauges[i].Counts(); counts.Last() >= manyEnded && bothClimb(counts, counts) {
			return counts
		}
	}
	return nil
}

// unwaitedText words them: "Ended children that runner did not wait for grew from 7 to 50".
func (s *Series) unwaitedText(counts analysis.Counts) string {
	return fmt.Sprintf("Ended children that %s did not wait for grew from %d to %d", s.self(), counts[counts.FirstAt()].N, counts.Last())
}

// bothClimb reports counts that rise in the same intervals, stepsAlike of them, and fall in none.
func bothClimb(a, b analysis.Counts) bool {
	before, steps := -1, 0
	for i := range a {
		if !a[i].Known() || !b[i].Known() {
			continue
		}
		if before >= 0 {
			da, db := a[i].N-a[before].N, b[i].N-b[before].N
			if da < 0 || db < 0 || (da == 0) != (db == 0) {
				return false
			}
			if da > 0 {
				steps++
			}
		}
		before = i
	}
	return steps >= stepsAlike
}

// childrenWords say of a process that it never waits for its children, and what they keep open.
func (d *diagnosing) childrenWords(l answer, course string) []string {
	s, x, c := &d.r.Series[l.series], &l.subject, &l.claims
	text := s.unwaitedText(l.children)
	if x.each != "" && s.lead(l.finding).isCommand() {
		return []string{text + ": each keeps " + x.each, text}
	}
	if c.Followed && c.Ended == 0 && c.Came > 0 && !c.moved() {
		return []string{fmt.Sprintf("%s; it also %s %s and %s", text, x.began, x.words(c.Came), x.endedNone()), text}
	}
	return []string{text + "; with them " + wording.Lower(course), text}
}

// wait is what to do about children that nobody waits for.
func (s *Series) wait() string {
	for i := range s.Families {
		if s.Families[i].Kind == analysis.KindGoroutine {
			return "Call Wait (cmd.Wait) for each command that is started: it lets the child go and closes its pipes."
		}
	}
	return "Wait for each child that is started (waitpid, Process.waitFor), and close its pipes then."
}

// watchCtx is the goroutine that os/exec keeps for a command with a context, from Start to the end of Wait.
const watchCtx = "os/exec.(*Cmd).watchCtx"

// watchesCommand reports the stack of such a goroutine.
func watchesCommand(frames []string) bool {
	return len(frames) > 0 && strings.HasPrefix(frames[len(frames)-1], watchCtx)
}

// isCommand reports a family, which may be nil, of started commands.
func (f *Family) isCommand() bool {
	return f != nil && f.Kind == analysis.KindGoroutine && watchesCommand(f.Frames)
}

// waitsFor reports that goroutines wait for the commands of a family, or for half of them.
func (s *Series) waitsFor(commands *Family) bool {
	n := 0
	for i := range s.Families {
		if x := &s.Families[i]; slices.Contains(x.Frames, "os/exec.(*Cmd).Wait") {
			n += x.Counts.Last()
		}
	}
	return 2*n >= commands.Counts.Last()
}

// afterStart is the remedy of commands with the code that starts them, which calls Start itself or by
// what it calls.
func (f *Family) afterStart(remedy string) string {
	if o := f.StartedIn; o != nil && o.Function != "" && !family.OfStandardLibrary(o.Function) {
		in := StackFrame{Function: o.Function, File: o.File, Line: o.Line}
		place := in.place()
		if place != "" {
			place = " (" + place + ")"
		}
		return fmt.Sprintf("%s in %s%s or below it.", strings.TrimSuffix(remedy, "."), shortRole(o.Function), place)
	}
	return remedy
}

// endChild is the remedy of child processes that do not end.
const endChild = "Give each child process a timeout, end it then and wait for its exit; bound how many run at once."

// isChildProcess reports a family, which may be nil, of child processes that have not ended.
func (f *Family) isChildProcess() bool {
	return f != nil && f.Kind.Worded(f.Attributes) == analysis.KindChild
}

// mostPipes is how many pipes a child process has: its input, its output, its errors, and one of Node.js.
const mostPipes = 4

// keepsPipe reports that a family of child processes of which none ended has the pipes or sockets of
// family p: up to four come with each.
func (f *Family) keepsPipe(p *Family) bool {
	n := sameSteps(f.Counts, p.Counts, 1)
	return (f.Life == nil || f.Life.Gone == 0) && p.isPipe() && n >= 1 && n <= mostPipes
}

// keepsPipes reports that answer a is about child processes and b about their pipes.
func (s *Series) keepsPipes(a, b *answer) bool {
	children, held := s.lead(a.finding), s.lead(b.finding)
	return children.isChildProcess() && held != nil && children.keepsPipe(held)
}

// pipesEach are the descriptors that come with each child process, "" where they do not rise alike.
func (s *Series) pipesEach(children *Family) string {
	n := 0
	for i := range s.Families {
		if p := &s.Families[i]; children.keepsPipe(p) {
			n += sameSteps(children.Counts, p.Counts, stepsAlike)
		}
	}
	if n == 0 {
		return ""
	}
	return wording.Plural(n, "descriptor", "descriptors")
}

// isPipe reports descriptors that may be pipes to a child process, for which Node.js takes sockets.
func (f *Family) isPipe() bool {
	return f.Kind == analysis.KindDescriptor && slices.Contains([]string{"pipe", "unix", "socket"}, f.Attributes["type"]) && f.Attributes["path"] == ""
}
