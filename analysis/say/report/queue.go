package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/wait"
	"leakdiff/analysis/read/family"
	"leakdiff/analysis/say/noun"
	"leakdiff/analysis/say/wording"
)

// leastQueue is how many must wait for one lock for a diagnosis to name it.
const leastQueue = 3

// lastGrown is the snapshot whose locks explain the series: the last one, or the last before
// the cause of the first finding went away.
func (s *Series) lastGrown() int {
	for i := range s.Findings {
		if f := &s.Findings[i]; f.Kind == "" && f.Verdict.Rose() {
			if at := s.recoveredAt(f); at > 0 {
				return at - 1
			}
			break
		}
	}
	return len(s.Snapshots) - 1
}

// answerOf makes the answer that a finding gives.
func (d *diagnosing) answerOf(series int, f *Finding) answer {
	s := &d.r.Series[series]
	out := answer{series: series, finding: f, subject: s.subjectOf(d.nouns, f), queue: s.queueOf(f)}
	if lead := s.lead(f); out.queue != nil {
		named := s.nameOf(d.nouns, lead, f)
		named.ofRequests()
		named.counts = lead.Counts
		named.follow(lead.Kind, lead.Evidence)
		named.lives(lead.Life)
		out.subject = named
	}
	if s.bodiesOpen(f) {
		out.subject.remedy = closeBodies
	}
	out.life = s.life(f)
	d.atPool(&out)
	out.claims = d.claim(&out)
	if out.claims.State == Leaks || out.claims.State == MayLeak {
		out.children = s.children(&out)
	}
	d.callStreams(&out)
	return out
}

// queueOf is the lock that most members of the first family of a finding wait for, if a
// holder of it is proven or likely.
func (s *Series) queueOf(f *Finding) *Lock {
	lead := s.lead(f)
	if f.Key != nil || lead == nil || s.Locks == nil || lead.Kind != s.Locks.Kind {
		return nil
	}
	at := slices.Index(s.Snapshots, s.Locks.Snapshot)
	for i := range s.Locks.List {
		x := &s.Locks.List[i]
		if len(x.In) == 0 || x.In[0].Count < leastQueue || len(x.Holders) == 0 || x.Holders[0].Certainty == wait.Possible {
			continue
		}
		if n := lead.Counts[at]; n.Known() && 2*x.In[0].Count >= n.N && slices.Contains(lead.Frames, x.In[0].Function) {
			return x
		}
	}
	return nil
}

// queued words those of one dump that wait for a lock with a holder that can be named: ", 29
// of them wait for one lock; its likely holder waits for 8 shim calls". It is "" without such
// a lock.
func (d *diagnosing) queued(s *Series) string {
	x := s.Locks.longest()
	if x == nil {
		return ""
	}
	return fmt.Sprintf(", %d of them %s", x.Waiters, d.waitForLock(s, x))
}

// waitForLock words whom those wait for that wait for a lock: "wait for one lock; its holder is in main.(*cache).get".
func (d *diagnosing) waitForLock(s *Series, x *Lock) string {
	text := "wait for one lock"
	holder := "its " + string(x.Holders[0].Certainty) + " holder"
	if x.Holders[0].Certainty == Proven {
		holder = "its holder"
	}
	if on := holderWaitsOn(d.nouns, &x.Holders[0]); on != "" {
		return text + "; " + holder + " waits " + on + x.Holders[0].waitsIn(s.Locks.Kind)
	}
	return text + "; " + holder + " is in " + ShortFunction(s.Locks.Kind, x.Holders[0].At)
}

// longest is the lock that most wait for, if a holder can be named and does not just accept connections,
// nil without such a lock.
func (l *Locks) longest() *Lock {
	if l == nil || len(l.List) == 0 {
		return nil
	}
	if x := &l.List[0]; x.Waiters >= leastQueue && len(x.Holders) > 0 && x.Holders[0].Certainty != wait.Possible && x.Holders[0].IO != acceptIO {
		return x
	}
	return nil
}

// withRoot are a text that queued ends, with who holds the lock that the holder waits for, at the end of the
// chain, the fullest first: "…; its holder waits for another lock, which "exec-315" holds in Loader.find".
func (s *Series) withRoot(text string) []string {
	h, steps := &s.Locks.List[0].Holders[0], 0
	for ; steps < len(s.Locks.List); steps++ { // a deadlock has no end
		at := slices.IndexFunc(s.Locks.List, func(x Lock) bool {
			return h.Lock != "" && x.ID == h.Lock && len(x.Holders) > 0 && x.Holders[0].Certainty != wait.Possible
		})
		if at < 0 {
			break
		}
		h = &s.Locks.List[at].Holders[0]
	}
	if steps == 0 || h.Lock != "" {
		return []string{text}
	}
	holds := " holds"
	if h.Certainty != Proven {
		holds = " " + string(h.Certainty) + " holds"
	}
	root := text + ", which " + strings.TrimPrefix(h.Who(s.Locks.Kind), "thread ") + holds
	if steps > 1 {
		root = text + "; at the end of the chain is " + h.Who(s.Locks.Kind)
	}
	return []string{root + " in " + ShortFunction(s.Locks.Kind, h.At), root, text}
}

// deadlock words the deadlocks of the last snapshot, "" without any. One that no dump proves
// is possible.
func (s *Series) deadlock() string {
	if words := s.deadlocks(); len(words) > 0 {
		return words[0]
	}
	return ""
}

// deadlocks are the wordings of the deadlock, the fullest first.
func (s *Series) deadlocks() []string {
	if s.Locks == nil {
		return nil
	}
	if len(s.Locks.Cycles) == 0 {
		if x := s.stuckLock(); x != nil {
			return s.recursion(x, s.place("in"), "")
		}
		return nil
	}
	first := &s.Locks.Cycles[0]
	text := "Deadlock"
	if first.Certainty != Proven {
		text = "Possible deadlock"
	}
	who := wording.Members(s.Locks.Kind, len(first.Locks))
	if names := s.Locks.names(first); len(names) == len(first.Locks) && len(names) <= mostNamed && utf8.RuneCountInString(strings.Join(names, "")) <= mostNames {
		who = wording.Kinds(s.Locks.Kind) + " " + wording.List(names, mostNamed)
		if distinct := slices.Compact(slices.Clone(names)); len(distinct) == 1 && len(names) > 1 {
			who = wording.Members(s.Locks.Kind, len(names)) + " named " + distinct[0]
		}
	}
	text += fmt.Sprintf("%s: %s wait for each other", s.place("in"), who)
	if more := len(s.Locks.Cycles) - 1; more > 0 {
		text += ", and " + wording.Plural(more, "more deadlock", "more deadlocks")
	}
	return []string{text}
}

// mostNamed is how many threads of a deadlock are named in a sentence, mostNames how long their names may be.
const mostNamed, mostNames = 3, 125

// names name those who hold the locks of a deadlock.
func (l *Locks) names(cycle *LockCycle) (names []string) {
	for _, h := range l.holders(cycle) {
		switch {
		case h.Name != "":
			names = append(names, "“"+h.Name+"”")
		case h.ID != 0:
			names = append(names, fmt.Sprint(h.ID))
		}
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b)) })
	return names
}

// holders are those of the locks of a deadlock who wait for the next of its locks.
func (l *Locks) holders(cycle *LockCycle) (out []*LockHolder) {
	for k, id := range cycle.Locks {
		next := cycle.Locks[(k+1)%len(cycle.Locks)]
		at := slices.IndexFunc(l.List, func(x Lock) bool { return x.ID == id })
		if at < 0 {
			continue
		}
		if h := slices.IndexFunc(l.List[at].Holders, func(h LockHolder) bool { return h.Lock == next }); h >= 0 {
			out = append(out, &l.List[at].Holders[h])
		}
	}
	return out
}

// behind counts those that wait for the locks of a deadlock and are not in it.
func (l *Locks) behind(cycle *LockCycle) (n int) {
	for i := range l.List {
		if slices.Contains(cycle.Locks, l.List[i].ID) {
			n += l.List[i].Waiters
		}
	}
	return max(0, n-len(cycle.Locks))
}

// untie says what ends a deadlock, nil without one.
func (s *Series) untie() *Action {
	if s.deadlock() == "" {
		return nil
	}
	if len(s.Locks.Cycles) == 0 {
		return s.stuckLock().unlock()
	}
	cycle := &s.Locks.Cycles[0]
	if action := cycle.offEventThread(); action != nil {
		return action
	}
	if name := s.Locks.product(cycle); name != "" || s.Project != "" {
		return &Action{Text: fmt.Sprintf("Restart it: a deadlock does not end by itself. Then update %s; if it comes back with the newest release, report it with these stacks.", cmp.Or(name, s.Process))}
	}
	var places []string
	library, restart := true, ""
	if cycle.Certainty == wait.Proven {
		restart = " Only a restart ends this deadlock."
	}
	for _, h := range s.Locks.holders(cycle) {
		library = library && family.OfStandardLibrary(h.At)
		if at := shortRole(h.At); at != "" && !slices.Contains(places, at) {
			places = append(places, at)
		}
	}
	if through := cycle.callers(); library && len(through) > 0 {
		return &Action{Text: "The library takes these locks in two orders: do not call it from " + wording.List(through, mostNamed) + " while another thread is in it." + restart}
	}
	if len(places) == 0 {
		return &Action{Text: "Let all of them take these locks in the same order." + restart}
	}
	return &Action{Text: "Take these locks in the same order in " + wording.List(places, mostNamed) + "." + restart}
}

// products are Java programs and libraries that their users do not change, by their packages.
var products = []struct{ in, name string }{
	{"hudson.", "Jenkins"}, {"jenkins.", "Jenkins"}, {"org.jenkinsci.", "Jenkins"}, {"org.hornetq.", "HornetQ"},
	{"org.springframework.", "Spring"}, {"org.hibernate.", "Hibernate"}, {"org.eclipse.jetty.", "Jetty"}, {"io.netty.", "Netty"}, {"com.hazelcast.", "Hazelcast"}, {"com.zaxxer.hikari.", "HikariCP"},
}

// product is that of the code that takes the locks of a deadlock, "" where another frame may be the reader's own.
func (l *Locks) product(cycle *LockCycle) (name string) {
	var frames []string
	for _, h := range l.holders(cycle) {
		frames = append(frames, h.At, h.Caller)
	}
	for _, m := range cycle.Stacks {
		frames = append(frames, functions(m.Stack)...)
	}
	for _, frame := range frames {
		at := slices.IndexFunc(products, func(p struct{ in, name string }) bool { return strings.HasPrefix(frame, p.in) })
		switch {
		case at >= 0:
			name = cmp.Or(name, products[at].name)
		case frame != "" && !family.OfStandardLibrary(frame):
			return ""
		}
	}
	return name
}

// callers are the functions that call the library in the stacks of a deadlock.
func (c *LockCycle) callers() (out []string) {
	for _, m := range c.Stacks {
		at := slices.IndexFunc(m.Stack, func(f StackFrame) bool { return !f.CreatedBy && !family.OfStandardLibrary(f.Function) })
		if at < 0 {
			continue
		}
		if name := shortRole(m.Stack[at].Function); !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// waiting words a queue: what its holder waits for and who waits behind it, "8 shim calls that
// never returned blocked 24 pod starts in containerd, until t8", or who waits and who holds.
func (d *diagnosing) waiting(l answer) []string {
	s, n := &d.r.Series[l.series], l.queue.In[0].Count
	waits, holds, until := wording.Fit(n, "waits", "wait"), "waits", ""
	if l.claims.EndedAt > 0 {
		waits, holds, until = "waited", "waited", ", until "+d.label(s, l.claims.EndedAt)
	}
	in := s.place("in")
	if d.placed {
		in = ""
	}
	if len(l.queue.stuck()) > 0 {
		return s.recursion(l.queue, in, until)
	}
	if l.tied(s) {
		text, tail := s.deadlock(), l.subject.words(n)
		if c := &l.claims; c.From < n && until == "" {
			tail = fmt.Sprintf("%d to %s", c.From, tail)
		}
		all := s.Locks.behind(&s.Locks.Cycles[0])
		short := fmt.Sprintf("%s; %s %s behind them%s", text, wording.Members(s.Locks.Kind, all), wording.Fit(all, "waits", "wait"), until)
		if all != n {
			return []string{short, text}
		}
		return []string{fmt.Sprintf("%s; %s %s behind them%s", text, tail, waits, until), short, text}
	}
	h := &l.queue.Holders[0]
	text := fmt.Sprintf("%s%s %s for one lock%s", l.subject.words(n), in, waits, until)
	if calls := holderCalls(d.nouns, h); calls != "" {
		verb := "block"
		if until != "" {
			verb = "blocked"
		} else if h.Children[0].Count == 1 {
			verb = "blocks"
		}
		return []string{fmt.Sprintf("%s that never returned %s %s%s%s", calls, verb, l.subject.words(n), in, until), text}
	}
	holder := "its " + string(h.Certainty) + " holder"
	if h.Certainty == Proven {
		holder = "its holder"
	}
	if on := holderWaitsOn(d.nouns, h); on != "" {
		text := text + "; " + holder + " " + holds + " " + on
		return []string{text + h.waitsIn(s.Locks.Kind), text}
	}
	return []string{text + "; " + holder + " is in " + ShortFunction(s.Locks.Kind, h.At), text}
}

// tied reports a queue for a lock of a deadlock, or for one whose holder waits for such a lock: no
// call and no time ends it.
func (l *answer) tied(s *Series) bool {
	if l.queue == nil || s.Locks == nil || len(s.Locks.Cycles) == 0 {
		return false
	}
	inside := func(lock string) bool { return slices.Contains(s.Locks.Cycles[0].Locks, lock) }
	return inside(l.queue.ID) || len(l.queue.Holders) > 0 && inside(l.queue.Holders[0].Lock)
}

// tellsOf reports a finding that tells what an answer about the first deadlock of a process tells: who is
// in it, or who may hold a lock.
func (f *Finding) tellsOf(l *Locks) bool {
	if l == nil || len(l.Cycles) == 0 || f.Kind != FactFinding {
		return l != nil && len(l.Cycles) > 0 && f.Kind == HolderFinding
	}
	return strings.HasPrefix(f.Stated, "deadlock ") && !slices.ContainsFunc(l.holders(&l.Cycles[0]), func(h *LockHolder) bool { return !slices.Contains(f.Threads, h.Name) })
}

// tellsQueue reports a fact about a lock of which the answer or the rows of locks tell.
func (s *screen) tellsQueue(series int, f *Finding) bool {
	x := &s.r.Series[series]
	if f.Kind != FactFinding || x.Locks == nil || s.lead == nil && series != s.r.seriesInOrder()[0] || s.lead != nil && series != *s.Series {
		return false
	}
	told := x.Locks.List
	if s.lead != nil {
		told = nil
		if lock := x.queueOf(s.lead); lock != nil {
			told = []Lock{*lock}
		}
	}
	return slices.ContainsFunc(told, func(l Lock) bool {
		return f.Stated == "contended "+l.Class && len(f.Threads) > 0 && slices.Contains(l.Waiting, f.Threads[0])
	})
}

// deadlocked reports a process that stands in a deadlock while what rose does not wait behind it: a proven
// one comes before any growth, a possible one before a growth that is no proven leak.
func (d *diagnosing) deadlocked(leads []answer) bool {
	if len(leads) > 0 && leads[0].tied(&d.r.Series[leads[0].series]) {
		return false // the growth is told as its consequence
	}
	return slices.ContainsFunc(d.r.Series, func(s Series) bool {
		return s.Locks != nil && len(s.Locks.Cycles) > 0 && s.Died == nil && (s.Locks.Cycles[0].Certainty == Proven || len(leads) > 0 && leads[0].finding.Verdict != analysis.Leaking)
	})
}

// lookAtHolder says where to look in a queue whose holder is known.
func (d *diagnosing) lookAtHolder(l answer) string {
	return d.lookAt(&d.r.Series[l.series], &l.queue.Holders[0])
}

func (d *diagnosing) lookAt(s *Series, h *LockHolder) string {
	if s.Project == "" && h.WaitsFor == wait.ForIO && h.Place != "" && h.IO != acceptIO {
		return h.withoutLock(s.Locks.Kind)
	}
	text := fmt.Sprintf("Look at %s in %s: it holds the lock", h.Who(s.Locks.Kind), ShortFunction(s.Locks.Kind, h.At))
	if h.Certainty != Proven {
		text = strings.Replace(text, "it holds", "it "+string(h.Certainty)+" holds", 1)
	}
	if on := holderWaitsOn(d.nouns, h); on != "" {
		text += " and waits " + on
	}
	return text + "."
}

// ioWords is the I/O that a holder waits for.
func (h *LockHolder) ioWords() string {
	switch {
	case h.IO == "":
		return "the network or a pipe"
	case h.Untimed:
		return withArticle(h.IO) + " without a timeout"
	}
	return withArticle(h.IO)
}

// withoutLock is what to do about a holder that waits for I/O.
//
//	Set a deadline for the I/O at main.go:25 in main.(*Ledger).Post, and do no I/O under the lock: goroutine 47 likely holds it.
func (h *LockHolder) withoutLock(kind analysis.Kind) string {
	bound, io, sure := "deadline", cmp.Or(h.IO, "I/O"), ""
	if kind == analysis.KindThread || h.IO != "" {
		bound = "timeout"
	}
	if h.IO == "socket read" {
		bound += " (setSoTimeout)"
	}
	if h.Certainty != Proven {
		sure = string(h.Certainty) + " "
	}
	return fmt.Sprintf("Set a %s for the %s at %s in %s, and do no I/O under the lock: %s %sholds it.", bound, io, h.Place, ShortFunction(kind, h.Caller), h.Who(kind), sure)
}

// holderCalls words the calls that a holder waits for, which it started itself, "" without any.
func holderCalls(nouns noun.List, h *LockHolder) string {
	if h.WaitsFor != wait.ForWaitGroup || len(h.Children) == 0 {
		return ""
	}
	c := h.Children[0]
	if n := nouns.Of(c.Function); n != nil {
		return n.Words(c.Count)
	}
	return ""
}

// lookAtCalls says where a queue ends: at what does not answer the calls of its holder.
func (d *diagnosing) lookAtCalls(l answer) string {
	s, c := &d.r.Series[l.series], l.queue.Holders[0].Children[0]
	calls := wording.Plural(c.Count, "goroutine", "goroutines") + " in " + shortRole(c.Function)
	look := "Find what they wait for"
	if n := d.nouns.Of(c.Function); n != nil {
		calls = n.Words(c.Count)
		if n.Remedy != "" {
			look = strings.TrimSuffix(n.Remedy, ".")
		}
	}
	if at := l.claims.EndedAt; at > 0 {
		return fmt.Sprintf("%s: %s had no answer until %s.", look, calls, d.label(s, at))
	}
	return fmt.Sprintf("%s: %s %s no answer.", look, calls, wording.Fit(c.Count, "has", "have"))
}

// holderWaits words what a holder waits for, "" if that is not known.
func holderWaits(nouns noun.List, h *LockHolder) string {
	switch {
	case h.WaitsFor == wait.ForWaitGroup && len(h.Children) > 0:
		if calls := holderCalls(nouns, h); calls != "" {
			return calls
		}
		c := h.Children[0]
		return wording.Plural(c.Count, "goroutine", "goroutines") + " in " + shortRole(c.Function)
	case h.Recursive:
		return ""
	case h.Lock != "" || h.WaitsFor == wait.ForLock:
		return "another lock"
	case h.WaitsFor == wait.ForIO:
		return h.ioWords()
	case h.WaitsFor == wait.ForSyscall:
		return "a system call"
	}
	return ""
}

// holderWaitsOn is "for the network or a pipe" or "at a channel", "" if what a holder waits for is not known.
func holderWaitsOn(nouns noun.List, h *LockHolder) string {
	if h.WaitsFor == wait.ForChannel && !h.Recursive {
		return "at a channel"
	}
	if on := holderWaits(nouns, h); on != "" {
		return "for " + on
	}
	return ""
}

// waitsIn is " in pool.(*Pool).fetch" where a holder waits for no lock and for none that it started.
func (h *LockHolder) waitsIn(kind analysis.Kind) string {
	if h.At == "" || !slices.Contains([]wait.Reason{wait.ForIO, wait.ForSyscall, wait.ForChannel}, h.WaitsFor) {
		return ""
	}
	return " in " + ShortFunction(kind, h.At)
}

// queueLinks are the cells of a queue: what the holder waits for, the holder, those that wait.
func (d *diagnosing) queueLinks(l answer) []Link {
	var out []Link
	h := &l.queue.Holders[0]
	if s := &d.r.Series[l.series]; l.tied(s) {
		cycle := &s.Locks.Cycles[0]
		return append(out, Link{Figure: fmt.Sprint(len(cycle.Locks)), Noun: wording.Kinds(s.Locks.Kind), Text: "wait for each other: " + wording.List(s.Locks.names(cycle), mostNamed), Series: l.series, Finding: l.finding.Rank})
	}
	if on := holderWaits(d.nouns, h); on != "" && h.WaitsFor == wait.ForWaitGroup && len(h.Children) > 0 {
		figure, noun, _ := strings.Cut(on, " ")
		out = append(out, Link{Figure: figure, Noun: noun, Text: "without an answer", Series: l.series, Finding: l.finding.Rank})
	}
	text := "in " + shortRole(h.At)
	if kind := d.r.Series[l.series].Locks.Kind; h.ID != 0 || h.Name != "" {
		text += ", " + h.Who(kind)
	}
	if h.Recursive {
		text += ", waits for it itself"
	}
	return append(out, Link{Figure: "1", Noun: h.role(), Text: text, Series: l.series, Finding: l.finding.Rank})
}
