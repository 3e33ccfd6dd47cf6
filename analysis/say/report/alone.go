package report

import (
	"fmt"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/say/wording"
)

// leastNamed is the share of a dump in percent from which its largest group is named.
const leastNamed = 10

// mostInExcerpt is up to how many members a dump is a part of one, as a ticket shows
// it. What is said of them is how long one has waited.
const mostInExcerpt = 2

// longestWait words the longest wait of the only dump of a process, empty if it shows
// none: "5774 minutes in chan receive".
func (s *Series) longestWait(kind analysis.Kind) string {
	var longest *Family
	for i := range s.Families {
		f := &s.Families[i]
		if f.Kind == kind && f.OldestWait != nil && *f.OldestWait > 0 && len(f.States) == 1 && (longest == nil || *f.OldestWait > *longest.OldestWait) {
			longest = f
		}
	}
	if longest == nil {
		return ""
	}
	for state := range longest.States {
		return wording.Plural(*longest.OldestWait, "minute", "minutes") + " in " + state
	}
	return ""
}

// alone words the only dump of a process: what is in it, and most of what.
func (d *diagnosing) alone(s *Series) string {
	text := fmt.Sprintf("One dump%s: %s", s.place("of"), d.inventory(s, 0))
	kind, totals := d.leading(s)
	if kind == "" && d.crash(s) != nil {
		return s.actor() + " crashed, and the file shows the goroutine that failed, not all of them"
	}
	if kind == "" || *totals[0] == 0 {
		return text
	}
	whole := text
	// What is named is of one kind: the others would stand between it and its number.
	text = fmt.Sprintf("One dump%s: %s", s.place("of"), wording.Members(d.worded(s, kind), *totals[0]))
	if d.snapshot(s, 0).Bounded(kind) {
		text = fmt.Sprintf("One dump%s: at least %s", s.place("of"), wording.Members(kind, *totals[0]))
	}
	if queue := d.queued(s); queue != "" {
		return text + queue
	}
	if *totals[0] <= mostInExcerpt {
		if wait := s.longestWait(kind); wait != "" {
			if *totals[0] > 1 {
				wait = "one " + wait
			}
			return text + ", " + wait
		}
	}
	for i := range s.Objects {
		o := &s.Objects[i]
		parts := o.Parts()
		if n := highest(o.Counts); kind == analysis.KindGoroutine && parts > 1 && 100*parts*n >= leastNamed**totals[0] {
			x := s.subjectOfObject(d.nouns, &Finding{}, o, nil)
			return fmt.Sprintf("%s, of these %s with %s each", text, x.words(n), x.each)
		}
	}
	var most *Family
	for i := range s.Families {
		if f := &s.Families[i]; f.Kind == kind && f.Counts[0] != nil && (most == nil || *f.Counts[0] > *most.Counts[0]) {
			most = f
		}
	}
	if most == nil || 100**most.Counts[0] < leastNamed**totals[0] || *most.Counts[0] < 2 {
		return whole
	}
	if most.Title == "unknown" {
		return whole // it would name nothing
	}
	x := s.nameOf(d.nouns, most, nil)
	place := strings.TrimSpace(x.place)
	if x.many != wording.Kinds(kind) || place == "" {
		place = strings.TrimSpace(x.all())
	}
	if *most.Counts[0] == *totals[0] {
		return text + ", all of them " + place
	}
	return fmt.Sprintf("%s, %d of them %s", text, *most.Counts[0], place)
}
