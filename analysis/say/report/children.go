package report

import (
	"fmt"

	"leakdiff/analysis"
	"leakdiff/analysis/say/wording"
)

// children are how many ended children of its process were not waited for, where they grow with the
// descriptors of an answer: in the same intervals, one with one, two or three of them. Who is never
// waited for keeps its pipes. They are nil where there are none, or where code is known.
func (s *Series) children(l *answer) analysis.Counts {
	lead := s.lead(l.finding)
	if lead == nil || lead.Kind != analysis.KindDescriptor || lead.isTotal() || l.queue != nil {
		return nil
	}
	if counts := s.unwaited(); counts != nil && inSteps(counts, l.subject.counts) && bothClimb(counts, l.subject.counts) {
		return counts
	}
	return nil
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
