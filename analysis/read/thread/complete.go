package thread

import (
	"strconv"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/read/line"
	"leakdiff/analysis/say/wording"
)

// refusal reports that threads of the dump are missing; again says how to take it once more.
func (p *problems) refusal(d *Dump, refused refusals, again string) {
	why := "a line begins like a thread, and no header that is known goes on like it: "
	if d.Refused > 1 {
		why = strconv.Itoa(d.Refused) + " lines begin like a thread, and no header that is known goes on like them; the first: "
	}
	p.add(analysis.Warning, refused.first, wording.Plural(d.Refused, "thread was", "threads were")+" not understood: the dump has at least "+wording.Plural(d.Threads, "thread", "threads"),
		why+line.Quote(refused.first.Text), "look at the raw lines, where something may have cut in; "+again)
}

// foreign reports the lines inside a dump that are none of its own.
func (p *problems) foreign(count int, first line.Line) {
	if count > 0 {
		p.add(analysis.Note, first, wording.Plural(count, "line inside the dump belongs", "lines inside the dump belong")+" to no thread",
			"something else was printed into it, the first is "+line.Quote(first.Text), "nothing is lost unless a thread's own lines are damaged")
	}
}

// periodicTasks ends the dumps of releases that print no list of their Java threads, before
// a line about JNI since JDK 6. Releases with a list print other threads behind it, and
// always that line.
const periodicTasks = "VM Periodic Task Thread"

// truncated judges the end of a dump.
func (p *textParser) truncated() (bool, string) {
	d := p.dump
	hotSpot := d.Form == FormHotSpot || d.Form == FormHPUX
	// Excerpts and other programs need no end. HP-UX prints no version.
	judged := d.Version != "" || d.Form == FormHPUX && p.state.announced
	switch {
	case p.state.cut:
		return true, "the text ends inside a line"
	case hotSpot && d.Declared > 0 && p.state.numbered+d.Refused < d.Declared && (p.state.numbered > 0 || d.Threads == 0):
		return true, p.listed()
	case hotSpot && judged && !p.state.ended && d.Declared > 0:
		return true, "the line about JNI does not follow, which ends every dump"
	case hotSpot && judged && !p.state.ended && !p.state.ticks:
		return true, "neither the thread \"" + periodicTasks + "\" nor the line about JNI follows, one of which ends every dump"
	}
	return false, ""
}

// endDump closes the dump being read and judges whether it is whole.
func (p *textParser) endDump() error {
	p.giveUp()
	if err := p.deliver(); err != nil {
		return err
	}
	p.open = false
	if p.dump == nil {
		return nil
	}
	d := p.dump
	if d.Threads == len(p.deadlocked) {
		if err := p.threadsOfDeadlocks(); err != nil {
			return err
		}
	}
	for i := range d.Deadlocks {
		d.Deadlocks[i].Threads = closed(d.Deadlocks[i].Threads)
	}
	d.Refused = p.state.refused.count
	if len(d.Deadlocks) == 0 {
		d.Deadlocks = p.owners.cycles()
	}
	d.Truncated, d.TruncatedWhy = p.truncated()
	if d.Truncated {
		p.problems.add(analysis.Warning, at(d.Line, d.Offset), "the thread dump is not whole", d.TruncatedWhy,
			"the figures are lower bounds; take the dump again with jcmd PID Thread.print -l > FILE")
	}
	if hotSpot := d.Form == FormHotSpot || d.Form == FormHPUX; hotSpot && d.Declared > 0 && p.state.numbered > d.Declared {
		p.problems.add(analysis.Warning, at(d.Line, d.Offset), "the dump has more threads than the JVM lists", p.listed(),
			"lines of another dump may stand in it; take the dump again with jcmd PID Thread.print -l > FILE")
	}
	if d.Refused > 0 {
		p.problems.refusal(d, p.state.refused, "take the dump again with jcmd PID Thread.print -l > FILE, or remove what is no part of it")
	}
	p.problems.foreign(p.state.strange, p.state.strangeAt)
	p.lacks(d)
	p.dump, p.section = nil, after
	return nil
}

// listed compares the JVM's own list of Java threads with those that were read.
func (p *textParser) listed() string {
	return "the JVM lists " + strconv.Itoa(p.dump.Declared) + " Java threads, " + strconv.Itoa(p.state.numbered) + " are in the text"
}

// lacks reports what the form of a dump does not print.
func (p *textParser) lacks(d *Dump) {
	l := at(d.Line, d.Offset)
	switch {
	case d.Threads == 0:
	case d.Form == FormJstackF:
		p.problems.once(l, "jstack -F prints no names and no states", "it reads the process from outside",
			"threads can be counted by stack only; use jstack -l or jcmd PID Thread.print -l while the JVM answers")
	case d.Form == FormStackTraces && p.state.numbered == 0:
		p.problems.once(l, "this form prints no thread ids", "Thread.toString has none before JDK 19",
			"threads can be counted and not followed from dump to dump; use jcmd PID Thread.print -l")
	case (d.Form == FormHotSpot || d.Form == FormHPUX) && p.state.numbered == 0:
		p.problems.once(l, "the threads have no number", "JDK 7 and older, and some exports, print none",
			"threads can be counted and not surely followed from dump to dump: addresses and native ids are reused")
	}
}

// complete reports whether a line of a thread that the file ends with is whole.
func complete(s string) bool {
	if strings.HasPrefix(s, "at ") || strings.Contains(s, "(a ") {
		return strings.Contains(s, ")")
	}
	return strings.Count(s, "<") == strings.Count(s, ">")
}

// half reports whether the last line of a file, which is not understood and has no line
// end, may be the beginning of a line of a dump.
func half(s string) bool {
	for _, word := range [...]string{"at ", "- ", "java.lang.Thread.State: ", "Locked ownable synchronizers:"} {
		if strings.HasPrefix(s, word) || strings.HasPrefix(word, s) {
			return true
		}
	}
	return joinable(s)
}
