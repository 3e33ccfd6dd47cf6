package report

import (
	"fmt"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/say/wording"
)

// wordings are sentences about an answer without a full stop, the fullest first. They say what
// its claims are and nothing else.
func (d *diagnosing) wordings(l answer) []string {
	s, f, x, c := &d.r.Series[l.series], l.finding, &l.subject, &l.claims
	if l.queue != nil {
		return d.waiting(l)
	}
	if c.First < 0 {
		return []string{s.before(f.Title)}
	}
	if len(l.sharers) > 0 {
		return d.sharedWords(l)
	}
	of := s.place("of")
	if d.placed || len(d.r.Series) == 1 && s.Process != "" && strings.Contains(x.all(), s.Named()) {
		of = "" // it would stand there twice
	}
	each := ""
	if x.each != "" {
		each = ": each keeps " + x.each
	}
	course := d.grewFrom(l, of)
	if l.children != nil && c.steady() {
		return d.childrenWords(l, course)
	}
	switch {
	case s.lost(f, x):
		return []string{fmt.Sprintf("%s%s went on with fewer goroutines than before", x.words(c.N), of)}
	case len(s.Snapshots) == 1 && f.Marked():
		return d.markedAlone(l, of)
	case len(s.Snapshots) == 1:
		return aged(x, of, c.N)
	case f.Marked() && c.N <= c.From:
		n := f.markedOf()
		return []string{fmt.Sprintf("%s%s %s leaked: the runtime marked %s", x.words(n), of, wording.Fit(n, "is", "are"), wording.Fit(n, "it", "them"))}
	case c.Closed && c.State != NoLeak && x.began != "started":
		return d.closed(l, of)
	}
	switch c.State {
	case NoLeak:
		return noLeak(of, x, c.N)
	case Grew, IsNew, Replaced:
		return d.grown(l, course)
	case GrewOnce:
		if c.RestartedAt > 0 {
			text := course + " until the restart after " + d.label(s, c.RestartedAt-1)
			return []string{fmt.Sprintf("%s, which cured it so far: %d since", text, c.Left), text, course}
		}
		if l.level() {
			stayed := fmt.Sprintf("%s, and stayed at %d since %s", course, c.Left, d.label(s, l.stoodSince()))
			return []string{fmt.Sprintf("%s: %d came, %d ended", stayed, c.Came, c.Ended), stayed, course + ", then no more"}
		}
		return []string{course + ", and no more since " + d.label(s, l.stoodSince()), course + ", then no more"}
	}
	switch {
	case c.EndedAt > 0 && c.Followed && c.Came > 0 && !c.moved():
		return d.opened(l, " until "+d.label(s, c.EndedAt-1), strings.Replace(each, "keeps", "kept", 1))
	case c.EndedAt > 0:
		return []string{course + fmt.Sprintf(", back at %d at %s", c.Left, d.label(s, c.EndedAt)), course}
	case c.RestartedAt > 0 && c.Followed && c.Came > 0 && !c.moved() && c.Ended == 0:
		return d.opened(l, "", d.restarted(l))
	case c.State == Fixed:
		each = d.restarted(l)
	case c.RestartedAt > 0:
		each = fmt.Sprintf(", %d again since the restart", c.Left)
	}
	switch {
	case x.peerClosed && c.RestartedAt < 0 && (s.Unowned || s.lead(f).isTotal()): // of whom is not told
		return []string{course}
	case x.peerClosed && c.RestartedAt < 0:
		return []string{fmt.Sprintf("%s: the peers have closed them, %s has not", course, s.self()), course}
	}
	if x.connection && c.RestartedAt < 0 && c.Followed && c.Ended == 0 && !c.moved() && !x.accepted && !c.gone() {
		if c.PerHour > 0 {
			figure, unit := wording.Pace(c.PerHour)
			noun := x.many
			if figure == "1" {
				noun = x.one
			}
			rate := fmt.Sprintf("%s %s %s%s", figure, noun, unit, x.place)
			text := fmt.Sprintf("%s opens %s and closes none", s.actor(), rate)
			if s.Unowned {
				text = capital(rate) + of + " are opened and none is closed"
			}
			return []string{fmt.Sprintf("%s: %d are open", text, c.Left) + d.again(l), text}
		}
	}
	if l.pool != nil { // what each of them keeps comes of its wait
		each = ""
	}
	switch {
	case !c.Followed || c.Came == 0 || c.Ended > c.Came:
		return []string{course + each, course}
	case c.Ended > 0: // what lived between two captures was not seen
		return []string{fmt.Sprintf("%s: %d came, %d ended", course, c.Came, c.Ended), course}
	case 10*c.Away > c.Came:
		return []string{fmt.Sprintf("%s: %d came, none ended, %d went on in %s", course, c.Came, c.Away, s.elsewhere(f)), course}
	case c.moved() && c.Moved == c.Came:
		return []string{fmt.Sprintf("%s: %d came from %s, none left", course, c.Came, s.elsewhere(l.finding)) + each, course}
	case c.moved():
		return []string{fmt.Sprintf("%s: %d came, %d of them from %s, none left", course, c.Came, c.Moved, s.elsewhere(l.finding)) + each, course}
	}
	yet := ""
	if c.State == MayLeak {
		yet = " so far"
	}
	if l.pool != nil && c.steady() && !c.quiet(&l) {
		return append(d.keptWaiting(l, yet), course)
	}
	if c.quiet(&l) {
		each = ", and no more since " + d.label(s, l.stoodSince()) + each
	}
	return append(d.opened(l, yet, each+d.again(l)), course)
}

// restarted tells of a restart behind the growth, and how many the new process has.
func (d *diagnosing) restarted(l answer) string {
	s, c := &d.r.Series[l.series], &l.claims
	if c.State == Fixed {
		return "; " + l.finding.fixed()
	}
	again := fmt.Sprintf("%d again by %s", c.Left, d.label(s, c.Last))
	if c.RestartedAt < c.Last { // the new process was seen to grow
		again += ": the cause is inside"
	}
	if n := l.subject.counts[c.RestartedAt]; c.RestartedAt < c.Last && n.Known() && n.N >= c.Left {
		again = fmt.Sprintf("%d since", c.Left) // the new process does not grow
	}
	return fmt.Sprintf("; restarted after %s, %s", d.label(s, c.RestartedAt-1), again)
}

// again tells that the process was restarted before the growth of which the sentence is.
func (d *diagnosing) again(l answer) string {
	if !l.claims.Again {
		return ""
	}
	return "; restarted after " + d.label(&d.r.Series[l.series], l.claims.First-1)
}

// grewFrom is the course of a subject: "Connections to 10.0.0.1:443 of node grew from 5 to 90",
// of the process since its restart where the captures show one.
func (d *diagnosing) grewFrom(l answer, of string) string {
	to := "to "
	if d.bounds(l) {
		to = "to at least "
	}
	since := ""
	if l.claims.Again {
		since = " since the restart"
	}
	return fmt.Sprintf("%s%s grew from %d %s%d%s%s", capital(l.subject.all()), of, l.claims.From, to, l.claims.N, since, d.beside(l))
}

// beside tells of a demand that stays while a total grows, which a load would explain.
func (d *diagnosing) beside(l answer) string {
	lead := d.r.Series[l.series].lead(l.finding)
	if !lead.isTotal() {
		return ""
	}
	for _, e := range lead.Evidence {
		first, last := e.Figures["first"], e.Figures["last"]
		if e.Rule == "load" && len(e.Names) == 1 && first > 0 && last <= 1.1*first && first <= 1.1*last {
			return fmt.Sprintf(" while %s stay at %s", strings.ReplaceAll(e.Names[0], "_", " "), wording.Decimal(last))
		}
	}
	return ""
}

// isTotal reports a family, which may be nil, of all members of its kind, of which captures have the number alone.
func (f *Family) isTotal() bool { return f != nil && analysis.IsTotal(f.Attributes) }

// opened are the sentences about what came and did not end: active with the process as the one
// that opens, passive where it has no name or another one opens. yet bounds the time, each adds
// what one of them keeps.
func (d *diagnosing) opened(l answer, yet, each string) []string {
	s, x, c := &d.r.Series[l.series], &l.subject, &l.claims
	atLeast := ""
	if d.bounds(l) {
		atLeast = "at least "
	}
	text := ""
	if p := c.Opener; p != nil {
		yet = " until " + p.left()
	}
	lead := s.lead(l.finding)
	at := lead.openedThere()
	if s.Process != "" && !s.Unowned && !d.placed && x.opener() && c.Opener == nil {
		text = fmt.Sprintf("%s %s %s%s%s and %s", s.Named(), x.began, atLeast, x.words(c.began()), at, x.endedNone()+yet)
	} else {
		in := s.place("in")
		if d.placed {
			in = ""
		}
		text = fmt.Sprintf("%s %s %s%s%s and %s", capital(atLeast+x.words(c.began())), wording.Fit(c.began(), "was", "were"), x.began, in, at, noneEnded(x, yet))
	}
	if beside := s.openedBeside(lead); beside != "" && each == "" {
		each = beside
	}
	if p := c.Serves; p != nil && s.Process != "" && !d.placed {
		each = fmt.Sprintf("; %s serves them", p.Process)
		if c.gone() {
			each = fmt.Sprintf("; %s served them until %s was gone", p.Process, s.Named())
		}
	}
	if each == "" {
		return []string{text}
	}
	return []string{text + each, text}
}

// self names the process in a sentence that has named it, or may not need to.
func (s *Series) self() string {
	if s.Process == "" && s.Called == "" {
		return "this process"
	}
	return s.Named()
}

// opener reports a subject that the process itself opened: not ends of connections that peers
// dialled, nor calls that a peer began.
func (s *subject) opener() bool { return !s.accepted && s.began != "begun" }

// endedNone is "closed none", or "none ended" of what ends by itself.
func (s *subject) endedNone() string {
	if s.ended == "ended" {
		return "none ended"
	}
	return s.ended + " none"
}

// noneEnded is "none was stopped so far".
func noneEnded(x *subject, yet string) string {
	if x.ended == "ended" {
		return "none ended" + yet
	}
	return "none was " + x.ended + yet
}

// closed words members that the thing's own Close started: each was closed, and what Close
// started still waits.
func (d *diagnosing) closed(l answer, of string) []string {
	x, c := &l.subject, &l.claims
	closer := ""
	if lead := d.r.Series[l.series].lead(l.finding); lead != nil {
		closer = shortRole(lead.CreatedBy)
	}
	n := c.N - c.From
	if c.Followed && c.Ended == 0 {
		n = c.Came
	}
	waits := "has not ended"
	if c.EndedAt > 0 {
		waits = "had not ended until " + d.label(&d.r.Series[l.series], c.EndedAt)
	}
	text := fmt.Sprintf("%s%s %s closed, but what %s started %s", x.words(n), of, wording.Fit(n, "was", "were"), closer, waits)
	return []string{text, d.grewFrom(l, of)}
}

func noLeak(of string, x *subject, high int) []string {
	load := "its"
	if of == "" {
		load = "the"
	}
	text := fmt.Sprintf("No leak: the %s%s follow %s load", x.words(high), of, load)
	if x.each == "" {
		return []string{text}
	}
	return []string{text + ", each with " + x.each, text}
}

// grown words a growth that is no accusation: who came, who ended, or how old they are at most.
func (d *diagnosing) grown(l answer, course string) []string {
	s, c := &d.r.Series[l.series], &l.claims
	over, span := d.over(s, c.First, c.Top), ""
	switch {
	case c.State == Replaced:
		return []string{course + over + ", and " + d.older(s, l.life, c.Last), course}
	}
	switch {
	case c.quiet(&l):
		over = d.over(s, c.First, l.stoodSince()) + ", and no more since " + d.label(s, l.stoodSince())
	case c.fell():
		over, span = fmt.Sprintf(" until %s, and %s left at %s", d.label(s, c.Top), remaining(c.Left), d.label(s, c.Last)), ""
	case c.Top < c.Last && c.steady(): // who came and ended is of all captures
		over, span = "", d.over(s, c.First, c.Last)
	}
	if !c.Followed {
		return []string{course + over + span}
	}
	word := "new"
	if c.Moved > 0 {
		word = "came"
	}
	news := fmt.Sprintf("%d %s, %d ended", c.Came, word, c.Ended)
	if c.Ended == 0 {
		news = fmt.Sprintf("%d %s, none ended", c.Came, word)
	}
	if c.Away > 0 {
		news += fmt.Sprintf(", %d went on in %s", c.Away, s.elsewhere(l.finding))
	}
	if c.RestartedAt > 0 {
		news += d.restarted(l)
	}
	return []string{course + over + ": " + news + span, course + ": " + news}
}

// remaining is "13 are", "none is".
func remaining(n int) string {
	if n == 0 {
		return "none is"
	}
	return fmt.Sprintf("%d %s", n, wording.Fit(n, "is", "are"))
}

// markedAlone words what the runtime marked in one dump: all of it, and the group of which it
// marked most.
func (d *diagnosing) markedAlone(l answer, of string) []string {
	s, n := &d.r.Series[l.series], l.finding.markedOf()
	all := 0
	for i := range s.Findings {
		if f := &s.Findings[i]; f.Kind == "" && !s.benign(f) {
			all += f.markedOf()
		}
	}
	them := wording.Fit(max(all, n), "it", "them")
	if all <= n || d.placed {
		return []string{l.subject.words(n) + of + " can never continue: the runtime marked " + wording.Fit(n, "it", "them") + " as leaked"}
	}
	x := l.subject
	place := strings.TrimSpace(x.place)
	if x.many != "goroutines" || place == "" {
		place = strings.TrimSpace(x.all())
	}
	return []string{fmt.Sprintf("%s%s can never continue: the runtime marked %s as leaked, %d of them %s", wording.Members(analysis.KindGoroutine, all), of, them, n, place)}
}

// aged words members of one dump that their ages accuse.
func aged(x *subject, of string, n int) []string {
	ended := x.ended
	if ended != "ended" {
		ended = "was " + ended
	}
	return []string{x.words(n) + of + " were " + x.began + " one after another, and none of them " + ended + ", by their ages"}
}

// over is the time between two snapshots: " in 20 s".
func (d *diagnosing) over(s *Series, from, to int) string {
	a, b := d.snapshot(s, from).CapturedAt, d.snapshot(s, to).CapturedAt
	if a == nil || b == nil || !b.After(*a) {
		return ""
	}
	return " in " + wording.Duration(b.Sub(*a))
}
