package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/say/wording"
)

// The states of a case in which no finding rose.
const (
	Saturated   State = "saturated"
	AtItsLimit  State = "at its limit"
	CannotTell  State = "cannot tell"
	NotCompared State = "cannot be compared"
	// Logged is a case of logs alone.
	Logged State = "by its log"
	// Counted is a case of numbers of a process that say what it takes and not what it holds: memory.
	Counted State = "by its numbers"
	// NoProcess is a case of counts that are of no process: pods of a node.
	NoProcess   State = "no process"
	NoLeakSeen  State = "no leak seen"
	OneDump     State = "one dump"
	OneDumpEach State = "one dump each"
	Crashed     State = "crashed"
	Deadlock    State = "deadlock"
	NothingRead State = "nothing read"
)

// ofNoDump reports the answer of a case in which no capture shows what a process holds.
func (s State) ofNoDump() bool {
	return s == Saturated || s == Logged || s == Counted || s == NoProcess
}

// OfCounts reports an answer that needs no second capture: a pool, a log, a listing.
func (d *Diagnosis) OfCounts() bool {
	return State(d.State).ofNoDump() || State(d.State) == AtItsLimit && d.LimitClaim == nil
}

// resting is what is said of a process in which no finding rose.
type resting struct {
	series int
	state  State
	text   string
	// shorter are wordings of text that leave something out, the fullest first.
	shorter []string
	// shared are how many processes the text is about, 0 for one.
	shared int
	// rank orders the processes of a case: what is wrong, what rose, several captures, one.
	rank int
}

// manyEnded is how many ended children are no moment between two waits.
const manyEnded = 20

// whatMemoryHolds says what names what a process keeps in memory.
const whatMemoryHolds = "What the memory holds is named by a heap profile (Go: /debug/pprof/heap), a class histogram (JVM: jcmd PID GC.class_histogram, which makes a full collection first) or a heap snapshot (Node)."

// The ranks of resting processes.
const (
	restsBroken = iota
	restsSaturated
	restsFull
	restsRisen
	restsSeveral
	restsAlone
	restsUnowned
)

// unaccused is the diagnosis of a case in which no finding rose.
func (d *diagnosing) unaccused() Diagnosis {
	out := Diagnosis{Verdict: d.r.worst(), State: string(NothingRead)}
	all := d.resting()
	if len(all) == 0 {
		text := []rune(wording.NothingRead(d.r.Problems))
		out.Sentence = string(text[:min(len(text), longest)])
		return out
	}
	first := &all[0]
	tail, ended, nobody := "", "", 0
	if first.state == Counted {
		memory := func(r resting) float64 { return d.r.Series[r.series].lastOfGauge(processMemory) } // the most first
		slices.SortStableFunc(all, func(a, b resting) int { return cmp.Or(a.rank-b.rank, cmp.Compare(memory(b), memory(a))) })
		ended, nobody = d.endedChildren(all[1:])
	}
	if n := len(all) - max(1, first.shared) - nobody; n > 0 {
		tail = "; " + wording.Plural(n, "more process was read", "more processes were read")
		if first.state == NoProcess {
			tail = fmt.Sprintf("; %d more %s read", n, wording.Fit(n, "was", "were"))
		}
	}
	if ended != "" {
		tail = "; " + ended + tail
	}
	if side := d.r.replicas(); side != nil && first.rank == restsAlone && first.state == OneDump {
		first.shorter, tail = d.sideBySide(side), ""
		first.text = first.shorter[0]
	}
	tail = d.r.Series[first.series].owner() + tail
	out.Sentence, out.State = fitting(append([]string{first.text}, first.shorter...), longest-len(tail)-1)+tail+".", string(first.state)
	if first.state == OneDump && len(d.r.Series) > 1 {
		out.State = string(OneDumpEach)
	}
	s := &d.r.Series[first.series]
	out.LimitClaim, out.Compared = s.nearest(), d.compared(s)
	out.Limit, out.Beside = out.LimitClaim.text(), d.besides(first.series)
	if first.state.ofNoDump() || len(s.Families) == 0 && s.loggedLimit() {
		out.Limit = "" // the sentence tells it, or nothing has one
	}
	out.Next = d.nextOf(first)
	if out.Steps = actions(append(d.sender(s, first.state), d.lookInto(s, first.state)...), out.Next); len(out.Steps) > 0 {
		out.Next = &out.Steps[0]
	}
	out.Stated = begins(out.Sentence, out.State)
	switch {
	case first.state == Deadlock:
		out.Since = d.deadlockSince(s)
	case first.state == Saturated && s.saturatedPool() == nil:
		out.Proof = s.PoolWait.proof()
	case first.state == Saturated:
		p := s.saturatedPool()
		out.Proof, out.Limit = p.text(), "none is stated"
		if p.LimitStated {
			out.Limit = fmt.Sprintf("reached: %s of %s", wording.Ratio(lastOf(p.Running)), wording.Ratio(lastOf(p.Limit)))
		}
		if out.Since = d.clock(s, *p.Full); *p.Queues != *p.Full {
			out.Since += ", and others wait since " + d.clock(s, *p.Queues)
		}
	case first.state == Grew && s.unwaited() != nil:
		var counts []string
		for _, n := range s.unwaited().Known() {
			counts = append(counts, wording.Number(int64(n)))
		}
		out.Proof = "The listings of processes show " + wording.Commas(counts, mostCourse) + " of them."
	case s.Unowned && d.closeWait(s) != nil:
		out.Proof = "The peers have closed, the process has not."
	case first.state == OneDump && out.Capture() != nil && out.Capture().Command != "":
		out.Proof = oneDumpIsNoGrowth
		if now := d.condition(s); now != "" && d.r.replicas() == nil {
			out.Proof = now + " " + oneDumpIsNoGrowth
		}
	}
	return out
}

// endedChildren tells how many children have ended that nobody waited for, of processes that a
// sentence does not name, and how many of these are no process: a listing did not tell the parents.
func (d *diagnosing) endedChildren(all []resting) (text string, nobody int) {
	n := 0.0
	for i := range all {
		s := &d.r.Series[all[i].series]
		ended := s.lastOfGauge(endedChildren)
		if ended > 0 && s.lastOfGauge(processMemory) == 0 { // those of a process stand with it
			n, nobody = n+ended, nobody+1
		}
	}
	if n == 0 {
		return "", 0
	}
	w := wordsOfGauge(endedChildren)
	return wording.Plural(int(n), w.one, w.many), nobody
}

// resting are the processes of a case in which no finding rose, the first one to be told first.
func (d *diagnosing) resting() []resting {
	var out []resting
	order := d.r.seriesInOrder()
	for _, i := range order {
		r := d.rest(i)
		if x := &d.r.Series[i]; x.Process == "" && (i > 0 || x.Unowned && len(order) > 1) && r.rank > restsRisen {
			continue // of files without a process one is told
		}
		out = append(out, r)
	}
	slices.SortStableFunc(out, func(a, b resting) int { return a.rank - b.rank })
	return out
}

// rest says what is said of one process, without a full stop.
func (d *diagnosing) rest(series int) resting {
	s := &d.r.Series[series]
	out := resting{series: series, state: NoLeakSeen, rank: restsSeveral}
	if words := s.deadlocks(); len(words) > 0 && (s.Died == nil || s.Died.Deadlock) {
		out.state, out.text, out.shorter, out.rank = Deadlock, words[0], words[1:], restsBroken
		return out
	}
	if s.Died != nil {
		out.state, out.text, out.rank = Crashed, s.ended(), restsBroken
		if s.Died.Deadlock {
			out.state = Deadlock
		}
		return out
	}
	if w := s.PoolWait; w != nil && s.saturatedPool() == nil {
		out.state, out.rank, out.text = Saturated, restsSaturated, s.before(w.text())
		return out
	}
	if p := s.saturatedPool(); p != nil {
		out.state, out.rank = Saturated, restsSaturated
		out.shorter = []string{capital(p.named()) + s.place("of") + " " + p.use()}
		out.text = out.shorter[0] + " (" + courseOfValues(p.Queued) + ")"
		if !s.rises() {
			out.text += "; no leak is shown"
		}
		return out
	}
	if len(s.Snapshots) == 1 {
		out.state, out.rank = OneDump, restsAlone
	}
	if s.Unowned {
		out.rank = restsUnowned
	}
	if limit := s.nearest(); limit != nil && limit.State == LimitReached && !limit.Peak {
		out.state, out.text, out.rank, out.shared = AtItsLimit, d.atLimit(s, limit), restsFull, limit.Processes
		return out
	}
	if d.loggedLimitNow(s) {
		out.state, out.text, out.rank = AtItsLimit, s.loggedText(), restsFull
		if len(s.Snapshots) > 1 && !s.rises() {
			out.text += "; no leak is shown"
		}
		return out
	}
	if kind, _ := d.leading(s); kind == "" && len(s.Logged) > 0 && len(s.Families) == 0 && d.crash(s) == nil {
		out.state, out.text, out.rank = Logged, s.loggedText(), restsRisen
		if s.loggedLimit() {
			out.state, out.rank = AtItsLimit, restsFull
		}
		return out
	}
	if kind, _ := d.leading(s); kind == "" && s.gaugesText() == "" && s.packagesText() != "" && len(s.Families) == 0 && d.crash(s) == nil {
		out.state, out.text, out.rank = NoProcess, s.hosted()+": "+s.packagesText(), restsAlone
		return out
	}
	if kind, _ := d.leading(s); kind == "" && s.gaugesText() != "" && len(s.Families) == 0 && d.crash(s) == nil {
		out.state, out.rank = NoProcess, restsAlone
		out.text = s.hosted() + ": " + s.gaugesText() + "; nothing else was captured"
		if told := s.memoryTold(); len(told) > 0 {
			out.text = s.hosted() + ": " + told[0] + "; nothing else was captured"
			for _, text := range told {
				out.shorter = append(out.shorter, s.hosted()+": "+text)
			}
		}
		if slices.ContainsFunc(s.Gauges, func(g Gauge) bool { return g.words().bytes || g.Name == endedChildren }) {
			out.state = Counted // of a process, and not of a node or a machine
		}
		if s.Memory != nil || s.heapGrew() {
			out.rank = restsRisen
		} else if counts := s.unwaited(); counts != nil {
			out.state, out.text, out.shorter, out.rank = Grew, s.unwaitedText(counts), nil, restsRisen
		}
		return out
	}
	if len(s.Snapshots) == 1 {
		words := d.alone(s)
		out.text, out.shorter = words[0], words[1:]
		switch {
		case d.closeWait(s) != nil || d.onWhatIsGone(s) != "":
			out.rank = restsRisen
		case d.queued(s) != "" || d.atPoolAlone(s) != "":
			out.rank = restsSeveral // a process in which many wait comes before the others
		}
		return out
	}
	kind, totals := d.leading(s)
	aside, _ := s.setAside()
	in, of := s.place("in"), s.place("of")
	switch {
	case kind == "":
		out.state, out.text, out.rank = NotCompared, s.before(fmt.Sprintf("nothing can be counted in %d dumps", len(s.Snapshots))), restsAlone
	case !d.comparable(s):
		out.state, out.text, out.rank = NotCompared, s.before(d.nothing(s, kind, totals)), restsAlone
		if words := d.signalled(s, kind, totals); words != nil {
			out.text, out.shorter = words[0], words[1:]
		} else if queue := d.queued(s); queue != "" {
			words := s.withRoot(s.before(fmt.Sprintf("at the last of %d dumps %s", len(s.Snapshots), d.inventoryOf(s, kind, totals)) + queue))
			out.text, out.shorter = words[0], words[1:]
		}
	case len(aside) > 0:
		out.text = fmt.Sprintf("Nothing else grows%s: %s hidden by a person", in, wording.Plural(len(aside), "group that grows was", "groups that grow were"))
	case s.unwaited() != nil:
		out.state, out.text, out.rank = Grew, s.unwaitedText(s.unwaited()), restsRisen
	case len(s.TotalsRisen) > 0:
		t := &s.TotalsRisen[0]
		out.state, out.rank = Grew, restsRisen
		out.text = fmt.Sprintf("%s%s grew from %d to %d: %s", wording.Capital(wording.Kinds(t.Kind)), of, t.From, t.To, strings.TrimSuffix(t.spread(), "."))
	case d.renewed(s) != nil:
		out.state, out.text, out.rank = Replaced, d.replacedText(s, d.renewed(s)), restsRisen
	case d.peaked(s) != "":
		out.state, out.text, out.rank = Grew, d.peaked(s), restsRisen
	case d.doubt(s) != "":
		out.state, out.text, out.rank = CannotTell, d.doubt(s), restsRisen
	case slices.ContainsFunc(s.Families, func(f Family) bool { return f.SetAside != nil && f.Verdict == analysis.Stable }):
		out.text = "No leak: what grows" + in + " is known and normal; " + d.course(s, kind, totals, "")
	case d.closeWait(s) != nil:
		out.text, out.rank = "No leak seen"+in+", but "+s.leftOpen(d.closeWait(s)), restsRisen
	case d.onWhatIsGone(s) != "":
		out.text, out.rank = "No leak seen, but "+d.onWhatIsGone(s), restsRisen
	case len(d.dominated(s)) > 0:
		words := d.dominated(s)
		out.state, out.text, out.shorter, out.rank = CannotTell, words[0], words[1:], restsRisen
	default:
		still, _, over := d.still(s)
		memory := append(s.memoryRises(), "")
		out.text, out.shorter = d.withProgress(s, d.noneGrew(s, memory[0], true))
		if text := d.noneGrew(s, memory[0], false); text != out.text {
			out.shorter = append(out.shorter, text)
		}
		for i, text := range memory[:len(memory)-1] {
			switch {
			case i == len(memory)-2:
				out.shorter = append(out.shorter, d.noneGrew(s, text, false))
			case len(still) > 0:
				out.shorter = append(out.shorter, "No "+wording.Ors(still)+s.place("of")+" grew"+over+", but "+text)
			}
		}
	}
	return out
}

// compared are the kinds of which two captures of one process start have complete counts.
func (d *diagnosing) compared(s *Series) []analysis.Kind {
	var out []analysis.Kind
	for _, k := range analysis.Kinds() {
		if d.comparableKind(s, k) {
			out = append(out, k)
		}
	}
	return out
}

// noneGrew names the kinds that were compared and did not grow: "No leak seen in agent: no
// goroutines, descriptors or watches grew in 40 s". What rose within noise is told beside them, and
// memory that rose; what rose and fell again with the group that is most of it if named is set.
func (d *diagnosing) noneGrew(s *Series, memory string, named bool) string {
	still, rose, over := d.still(s)
	text := "No leak seen" + s.place("in")
	var words []string
	for _, k := range d.compared(s) {
		if back := d.cameBack(s, k); named && len(back) > 0 {
			words = append(words, back[0])
		} else if len(back) > 0 {
			words = append(words, back[len(back)-1])
		}
	}
	if len(still) > 0 {
		words, over = append(words, "no "+wording.Ors(still)+" grew"+over), ""
	}
	for _, course := range rose {
		words, over = append(words, course+over+", within noise"), ""
	}
	text += ": " + strings.Join(words, "; ")
	if memory != "" {
		text += ", but " + memory
	}
	return text
}

// still are the kinds that were compared and did not grow, the courses of those that rose within
// noise, and over what time they were; those that rose and fell again are not among them.
func (d *diagnosing) still(s *Series) (still, rose []string, over string) {
	for _, k := range d.compared(s) {
		c, fell := d.peak(s, k)
		if fell {
			continue
		}
		if c.more() > 0 {
			rose = append(rose, fmt.Sprintf("%d to %d %s", c.totals[c.first].N, c.totals[c.last].N, wording.Kinds(d.worded(s, k))))
			continue
		}
		still = append(still, wording.Kinds(d.worded(s, k)))
	}
	if over = d.over(s, 0, len(s.Snapshots)-1); over == "" {
		over = fmt.Sprintf(" in %d captures", len(s.Snapshots))
	}
	return still, rose, over
}

// The least rise of a total beside which nobody may say that nothing grew: at least leastRise
// and leastRiseShare, or in each of leastSteps intervals (answer.md 3).
const (
	leastRise      = 10
	leastRiseShare = 0.15
	leastSteps     = 3
	leastClimb     = 3
)

// doubt words a rise that is neither proved nor ruled out, "" without one: by how much it rose,
// why that proves nothing, and what decides.
func (d *diagnosing) doubt(s *Series) string {
	for _, k := range d.compared(s) {
		totals := d.whole(s, k, d.totals(s, k))
		first := totals.FirstAt()
		last := totals.LastAt()
		rise := totals[last].N - totals[first].N
		if d.epoch(s, first) != d.epoch(s, last) || !(rise >= leastRise && float64(rise) >= leastRiseShare*float64(totals[first].N) || rise >= leastClimb && climbs(totals)) {
			continue
		}
		why := "the counts alone do not prove a growth"
		if s.followed(k) {
			why = "those that came and ended may balance by chance"
		}
		return fmt.Sprintf("Cannot tell whether %s%s leak: %d to %d, and %s", wording.Kinds(d.worded(s, k)), s.place("of"), totals[first].N, totals[last].N, why)
	}
	return ""
}

// climbs reports counts that rise in each interval, at least leastSteps of them.
func climbs(counts analysis.Counts) bool {
	known := counts.Known()
	return len(known) > leastSteps && len(slices.Compact(slices.Clone(known))) == len(known) && slices.IsSorted(known)
}

// followed reports that some group of a kind is followed by identity.
func (s *Series) followed(k analysis.Kind) bool {
	return slices.ContainsFunc(s.Families, func(f Family) bool { return f.Kind == k && f.Life != nil })
}

// renewed is the largest group that was replaced as a whole while the total of its kind rose,
// nil without one.
func (d *diagnosing) renewed(s *Series) *Family {
	var out *Family
	for i := range s.Families {
		f := &s.Families[i]
		if f.Life == nil || f.Life.RenewedAt == nil || f.Verdict != analysis.Stable || f.Rise < leastClimb {
			continue
		}
		if out == nil || f.Counts.Last() > out.Counts.Last() {
			out = f
		}
	}
	return out
}

// replacedText words such a group: "41 connections to 10.0.0.1:443 of app at a time, all of them
// replaced: none is older than 1 h".
func (d *diagnosing) replacedText(s *Series, f *Family) string {
	x := s.nameOf(d.nouns, f, nil)
	last := f.Counts.LastAt()
	return fmt.Sprintf("No leak seen: %s%s at a time, all of them replaced, %s", x.words(f.Counts[last].N), s.place("of"), d.older(s, f.Life, last))
}

// older says how old the members of a thing that is replaced are at most: "none is older than
// 1 h".
func (d *diagnosing) older(s *Series, life *analysis.Life, last int) string {
	if age := d.over(s, *life.RenewedAt, last); age != "" {
		return "none is older than" + strings.TrimPrefix(age, " in")
	}
	return "none of those of " + d.label(s, *life.RenewedAt) + " is left"
}

// bounded are the kinds of members that limits count.
var bounded = map[string]analysis.Kind{"open files": analysis.KindDescriptor, "threads": analysis.KindThread, "inotify watches": analysis.KindWatch}

// atLimit words a process at a limit, with what holds most of it: "worker is at its limit: 61 of
// 60 open files, 44 of them to 10.0.0.9:5432".
func (d *diagnosing) atLimit(s *Series, l *LimitClaim) string {
	text := s.actor() + " is at its limit: " + l.use()
	if l.Processes > 1 {
		return fmt.Sprintf("%d processes are at the limit of their user: %s, %s", l.Processes, l.use(), d.sharesText(s.bound(l.What)))
	}
	most, last := s.largestOf(bounded[l.What])
	if most == nil || 10*last < int(l.Used) || analysis.IsWhole(most.Attributes) {
		return text
	}
	x := s.nameOf(d.nouns, most, nil)
	some := fmt.Sprintf("%d of them", last)
	if last >= int(l.Used) {
		some = "all of them"
	}
	return text + ", " + some + " " + strings.TrimSpace(x.all())
}

// sharesText lists what the processes of a shared bound use.
func (d *diagnosing) sharesText(b *Bound) string {
	var words []string
	for _, share := range b.Shares {
		words = append(words, fmt.Sprintf("%s %s", share.Process, wording.Number(int64(share.Used))))
	}
	return wording.List(words, 3)
}

// largestOf is the group of a kind with most members in the last capture that shows it.
func (s *Series) largestOf(kind analysis.Kind) (most *Family, n int) {
	for i := range s.Families {
		f := &s.Families[i]
		if at := f.Counts.LastAt(); f.Kind == kind && at >= 0 && f.Counts[at].N > n {
			most, n = f, f.Counts[at].N
		}
	}
	return most, n
}

// nextOf is what to do where no finding rose, nil for nothing: how to untie a deadlock, or the
// capture that decides.
func (d *diagnosing) nextOf(r *resting) *Action {
	s := &d.r.Series[r.series]
	if s.Unowned && (r.state != NoLeakSeen || d.closeWait(s) != nil) {
		return &Action{Text: takeOwners, Command: "ss -tunap", Captures: true}
	}
	switch r.state {
	case Crashed:
		return &Action{Text: s.Died.Do}
	case Deadlock:
		if action := s.untie(); action != nil {
			return action
		}
		return &Action{Text: s.Died.Do}
	case Saturated:
		return &Action{Text: s.unclog(s.saturatedPool())}
	case Logged:
		return d.afterLog(s)
	case AtItsLimit:
		if s.nearest() == nil {
			return d.afterLog(s)
		}
		limit, hold := s.nearest(), "Find what holds them."
		if bounded[limit.What] == analysis.KindDescriptor && d.closeWait(s) != nil {
			hold = closeEach
		}
		command := d.collect(s, 0)
		if limit.What == allOpenFiles {
			hold, command = "Find the process that holds most of them.", "lsof -nP | awk '{print $1, $2}' | sort | uniq -c | sort -rn | head"
		}
		return &Action{Text: hold + " " + raise(limit.What) + " to gain time only.", Command: command}
	case Counted:
		switch {
		case s.Memory != nil || s.heapGrew():
			return &Action{Text: s.afterMemory()}
		case s.lastOfGauge(endedChildren) >= manyEnded:
			return &Action{Text: "Let the parent wait for each child that ends, or start it again: its children go with it."}
		}
		return &Action{Captures: true, Text: takeCaptures, Command: d.collect(s, 0)}
	case NoProcess:
		if action := s.upgrade(); action != nil {
			return action
		}
		return &Action{Captures: true, Text: "Add captures of the process that may leak:", Command: "leakdiff collect --pid PID --every 30s --count 5 -o captures.tar.gz"}
	case NotCompared:
		if d.allSignalled(s) {
			return d.nextRun(s)
		}
	case CannotTell, Grew:
		if s.unwaited() != nil {
			return &Action{Text: s.wait()}
		}
		if f, _ := d.dominant(s); r.state == CannotTell && f != nil && d.doubt(s) == "" {
			return &Action{Text: takeHour, Command: d.collect(s, time.Hour)}
		}
		return &Action{Captures: true, Text: takeCaptures, Command: d.collect(s, 0)}
	case OneDump, NoLeakSeen:
		if d.closeWait(s) != nil {
			return &Action{Text: closeEach}
		}
		if d.onWhatIsGone(s) != "" {
			return &Action{Text: "Remove each watch before what it is on is unmounted or removed, or close its instance then."}
		}
		if r.state == NoLeakSeen && (s.Memory != nil || s.heapGrew()) {
			return &Action{Text: s.afterMemory()}
		}
		if r.state == NoLeakSeen {
			return nil
		}
		if crash := d.crash(s); crash != nil {
			return &Action{Text: capital(crash.Hint) + "."}
		}
		if r.state == OneDump && s.Alike != nil && s.Alike.Excerpt > 0 {
			return &Action{Text: "Upload the whole dump (debug=2): this excerpt does not show all that could end the wait of " + wording.PageDuration(time.Duration(s.Alike.Excerpt)*time.Minute) + "."}
		}
		if traced := d.snapshot(s, 0).Traced; r.state == OneDump && traced != nil {
			if look := d.look(s); look != nil {
				return look
			} else if traced.Ended {
				return &Action{Text: "What stays open tells more in a longer run:", Command: wording.TraceCommand + " -o open.strace COMMAND"}
			}
		}
		if action := d.listAsRoot(s); action != nil {
			return action
		}
		if d.snapshot(s, 0).ended() {
			return d.nextRun(s)
		}
		return &Action{Captures: true, Text: takeCaptures, Command: d.collect(s, 0)}
	}
	return nil
}
