package report

import (
	"slices"

	"leakdiff/analysis"
	"leakdiff/analysis/say/wording"
)

// answer is a finding that rose, with its series.
type answer struct {
	series  int
	finding *Finding
	subject subject
	// queue is the lock that they wait for, if its holder can be named.
	queue *Lock
	// pool is the exhausted pool at which they wait for a connection, nil without one.
	pool *PoolWait
	// life is what identities show of the first family, nil without them.
	life *analysis.Life
	// children are the ended children of its process that it comes with, nil without any.
	children analysis.Counts
	// claims are what is said of it.
	claims Claims
	// sharers are the findings of all processes that it is about, where their use of a limit is
	// counted together. subject and claims are then sums.
	sharers []FindingRef
}

// leads are the findings that rose and that no person called benign: accused processes
// first, a holder before what it holds, one of each series before the second of any. Where
// none rose, requests for metrics that hang, and what waits for them, are the answer.
func (d *diagnosing) leads() []answer {
	out := d.leadsOf(func(f *Finding) bool { return f.Kind == "" })
	if len(out) > 0 {
		return out
	}
	return d.leadsOf(func(f *Finding) bool { return f.Kind == ObserverFinding || f.Kind == FollowFinding })
}

func (d *diagnosing) leadsOf(wanted func(*Finding) bool) []answer {
	var first, rest []answer
	for _, i := range d.r.seriesInOrder() {
		s := &d.r.Series[i]
		var own []answer
		for _, behind := range []bool{false, true} {
			for k := range s.Findings {
				f := &s.Findings[k]
				if wanted(f) && f.Behind == behind && f.Verdict.Rose() && !s.benign(f) {
					own = append(own, d.answerOf(i, f))
				}
			}
		}
		if len(own) == 0 {
			continue
		}
		d.leadFirst(s, own)
		first, rest = append(first, own[0]), append(rest, own[1:]...)
	}
	accused := func(l answer) int {
		lead := d.r.Series[l.series].lead(l.finding)
		switch {
		case l.finding.Behind:
			return 3
		case rising(l.finding.Verdict) && l.queue != nil:
			return -1
		case l.finding.Verdict == analysis.Suspicious && lead.isTotal():
			return 1 // a count proves less than what dumps show
		case rising(l.finding.Verdict):
			return 0
		}
		return 2
	}
	slices.SortStableFunc(first, func(a, b answer) int { return accused(a) - accused(b) })
	slices.SortStableFunc(rest, func(a, b answer) int { return a.finding.Verdict.Rank() - b.finding.Verdict.Rank() })
	return append(first, rest...)
}

// leadFirst moves the answer that explains most of a series to the front, of those with the
// verdict of the first one: what the runtime marked most of; a queue whose holder is known;
// code that keeps the descriptors which rise with it; of two that rise alike the one with a
// remedy.
func (d *diagnosing) leadFirst(s *Series, own []answer) {
	for k := 1; k < len(own); k++ {
		a, b := &own[0], &own[k]
		better := false
		switch {
		case len(s.Snapshots) == 1:
			better = b.finding.markedOf() > a.finding.markedOf()
		case b.finding.Behind != a.finding.Behind:
		case b.finding.Verdict.Rank() != a.finding.Verdict.Rank():
			better = (s.keeps(b, a, 1) || s.keepsPipes(b, a)) && b.finding.Verdict.Rose()
		case b.queue != nil || a.queue != nil:
			better = b.queue != nil && a.queue == nil
		default:
			better = s.keeps(b, a, 1) || s.keepsPipes(b, a) || a.subject.remedy == "" && b.subject.remedy != "" && sameSteps(a.subject.counts, b.subject.counts, stepsAlike) == 1 ||
				len(s.Snapshots) == 2 && a.subject.connection && b.subject.remedy != "" && sameSteps(b.subject.counts, a.subject.counts, 1) > 0
		}
		if better {
			led := *b
			copy(own[1:k+1], own[:k])
			own[0] = led
		}
	}
	lead := &own[0]
	for k := 1; k < len(own); k++ {
		if n := sameSteps(lead.subject.counts, own[k].subject.counts, stepsAlike); s.keeps(lead, &own[k], stepsAlike) && d.tied(s, lead, &own[k]) && n >= 1 && lead.subject.each == "" {
			lead.subject.each = wording.Plural(n, own[k].subject.one, own[k].subject.many) + own[k].subject.place
		}
	}
	if children := s.lead(lead.finding); lead.subject.each == "" && children.isChildProcess() {
		lead.subject.each = s.pipesEach(children)
	}
}

// tied reports that more than an equal pace says that what answer a is about keeps what b is about.
func (d *diagnosing) tied(s *Series, a, b *answer) bool {
	return tied(s.lead(a.finding).Frames, a.subject.counts, s.lead(b.finding), d.hours(s))
}

// stepsAlike is in how many intervals two things must rise alike before one is said to keep the
// other. Which of them leads is decided by a single one where two dumps show no more: the one
// with code.
const stepsAlike = 2

// keeps reports that what answer a is about has a stack and a creator, and that b is
// descriptors or watches without one that rise in the same steps: a keeps them.
func (s *Series) keeps(a, b *answer, least int) bool {
	code, held := s.lead(a.finding), s.lead(b.finding)
	if code == nil || held == nil || len(code.Frames) == 0 || code.CreatedBy == "" || held.Kind != analysis.KindDescriptor && held.Kind != analysis.KindWatch {
		return false
	}
	if len(s.Snapshots) > 2 {
		least = stepsAlike
	}
	return sameSteps(a.subject.counts, b.subject.counts, least) > 0
}

// sameSteps is how many of b come with each of a, at least 1, where both rise in the same
// intervals by that ratio, least of them; 0 where they do not.
func sameSteps(a, b analysis.Counts, least int) int {
	ratio, beforeA, beforeB, steps := 0, -1, -1, 0
	for i := range a {
		if i >= len(b) || !a[i].Known() || !b[i].Known() {
			continue
		}
		if beforeA >= 0 {
			da, db := a[i].N-beforeA, b[i].N-beforeB
			switch {
			case da == 0 && db == 0:
			case da <= 0 || db <= 0 || db%da != 0 || ratio != 0 && db/da != ratio:
				return 0
			default:
				ratio, steps = db/da, steps+1
			}
		}
		beforeA, beforeB = a[i].N, b[i].N
	}
	if steps < least {
		return 0
	}
	return ratio
}

// benign reports a finding whose families a person called benign, all of them.
func (s *Series) benign(f *Finding) bool {
	for _, print := range f.Families {
		if x := s.family(print); x != nil && !x.Benign() {
			return false
		}
	}
	return len(f.Families) > 0
}

// recoveredAt is the index of the snapshot at which the cause of a finding was gone, or -1.
func (s *Series) recoveredAt(f *Finding) int {
	x := s.lead(f)
	if x == nil || x.RecoveredAt == nil {
		return -1
	}
	return slices.Index(s.Snapshots, *x.RecoveredAt)
}

// restartedAt is the index of the snapshot that follows a restart after the growth, or -1.
func (d *diagnosing) restartedAt(s *Series, counts analysis.Counts) int {
	top := counts.HighestAt()
	last := counts.LastAt()
	if top < 0 || d.epoch(s, top) == d.epoch(s, last) {
		return -1
	}
	for i := top; i <= last; i++ {
		if d.epoch(s, i) != d.epoch(s, top) {
			return i
		}
	}
	return -1
}

// hostsLike counts the other hosts on which the program of an answer rose too, 0 where another
// program did.
func (d *diagnosing) hostsLike(l answer, others []answer) int {
	var beside []int
	for _, o := range others {
		if o.series != l.series && rising(o.finding.Verdict) == rising(l.finding.Verdict) && !slices.Contains(beside, o.series) {
			beside = append(beside, o.series)
		}
	}
	for _, i := range beside {
		if d.r.Series[i].Process != d.r.Series[l.series].Process || d.r.Series[i].Host == nil || slices.ContainsFunc(others, func(o answer) bool { return o.series == i && o.finding.Behind }) {
			return 0
		}
	}
	return len(beside)
}

// replicas is how many processes of the program of a series there are, one on each host; it is 0 if
// there are processes of others.
func (d *diagnosing) replicas(series int) int {
	hosts := map[string]bool{}
	for i := range d.r.Series {
		s := &d.r.Series[i]
		if s.Process == "" || s.Process != d.r.Series[series].Process || s.Host == nil || *s.Host == "" || hosts[*s.Host] {
			return 0
		}
		hosts[*s.Host] = true
	}
	return len(hosts)
}

// lost reports a finding on objects that were there before and have lost goroutines since.
func (s *Series) lost(f *Finding, x *subject) bool {
	o := s.objectOf(f, s.lead(f))
	return o != nil && o.Rest && x.followed && x.came == 0
}

// kindOf is that of what a finding is about.
func (s *Series) kindOf(f *Finding) analysis.Kind {
	if lead := s.lead(f); lead != nil {
		return lead.Kind
	}
	return analysis.KindGoroutine
}

// markedOf is how many members the runtime marked, 0 without a mark.
func (f *Finding) markedOf() (n int) {
	for _, e := range f.Evidence {
		if e.Rule == "leaked_mark" {
			n = e.N
		}
	}
	return n
}

// Marked reports that the runtime itself called the members leaked.
func (f *Finding) Marked() bool {
	return slices.ContainsFunc(f.Evidence, func(e Evidence) bool { return e.Rule == "leaked_mark" })
}

// heldBy reports that a finding stands behind the one of an answer, or behind another finding of
// its process, by connections between the processes.
func (r *Report) heldBy(f *Finding, l answer) bool {
	if f.BehindOf == nil {
		return false
	}
	head := r.head(f)
	return head != nil && head.Series == l.series
}

// mostAlso is how many other findings are told.
const mostAlso = 6

// also words the other findings that rose. Those that stand in the chain are told there.
func (d *diagnosing) also(l answer, others []answer) (words []string, more int) {
	for _, o := range others {
		text := d.alsoText(o, &l)
		switch {
		case d.r.heldBy(o.finding, l) && o.series != l.series || slices.Contains(words, text):
		case len(words) == mostAlso:
			more++
		default:
			words = append(words, text)
		}
	}
	return words, more
}

// alsoText is a thing with the course of its counts. A namesake of the first one is told by who
// started it.
func (d *diagnosing) alsoText(o answer, first *answer) string {
	s, text := &d.r.Series[o.series], o.subject.all()
	if o.pool != nil {
		text = o.subject.many
	}
	if x := s.lead(o.finding); o.series == first.series && text == first.subject.all() && x != nil && x.CreatedBy != "" {
		text += " started by " + shortRole(x.CreatedBy)
	}
	text += " " + d.courseOf(s, &o.subject).Text()
	if opened := s.lead(o.finding).openedText(); opened != "" {
		text += ", " + opened
	}
	if len(d.r.Series) > 1 {
		text = d.processOf(o.series) + ": " + text
	}
	return text
}
