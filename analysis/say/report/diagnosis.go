package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/edge"
	"leakdiff/analysis/judge/knowledge"
	"leakdiff/analysis/judge/trend"
	"leakdiff/analysis/read/family"
	"leakdiff/analysis/say/evidence"
	"leakdiff/analysis/say/noun"
	"leakdiff/analysis/say/wording"
)

// Diagnosis is the answer of a case. Its sentence is the first line of every page, list, text
// and file. Everything but Sentence, Verdict and State is empty where nothing grew.
type Diagnosis struct {
	// Sentence has at most 160 characters.
	Sentence string `json:"sentence"`
	// Verdict is the worst that no person set aside.
	Verdict analysis.Verdict `json:"verdict"`
	// State is the answer in a word or two: "leaking", "leaking until t7", "no leak". Stated
	// reports that the sentence begins with it.
	State  string `json:"state"`
	Stated bool   `json:"stated,omitempty"`
	// Series is the index of the series that it is about, Finding the rank of the finding
	// there, Object the id of its objects.
	Series  *int   `json:"series,omitempty"`
	Finding int    `json:"finding,omitempty"`
	Object  string `json:"object,omitempty"`
	// Holder names what started them or holds them.
	Holder string `json:"holder,omitempty"`
	// Chain is the cause and what hangs on it, the cause first.
	Chain []Link `json:"chain,omitempty"`
	// Proof, Since, Until, Rate and Limit are words for one line each. Proved is what Proof
	// begins with where it is "58 of 58".
	Proof  string     `json:"proof,omitempty"`
	Proved string     `json:"proved,omitempty"`
	Since  string     `json:"since,omitempty"`
	Until  string     `json:"until,omitempty"`
	Rate   string     `json:"rate,omitempty"`
	Limit  string     `json:"limit,omitempty"`
	Growth *Certainty `json:"growth_certainty,omitempty"`
	Cause  *Certainty `json:"cause_certainty,omitempty"`
	Next   *Action    `json:"next,omitempty"`
	// Also are the other findings that rose, in words of a line each. More counts those that
	// are not listed.
	Also []string `json:"also,omitempty"`
	More int      `json:"more,omitempty"`
	// Claims are the figures that Sentence, Proof and Since are made of, LimitClaim those of
	// Limit. Compared are the kinds that two captures have, where nothing grew.
	Claims     *Claims         `json:"claims,omitempty"`
	LimitClaim *LimitClaim     `json:"limit_claim,omitempty"`
	Compared   []analysis.Kind `json:"compared,omitempty"`
}

// End is the snapshot, by its index in a series, at which what the answer is about had ended; at
// is -1 without an end.
func (d *Diagnosis) End() (series, at int) {
	switch c := d.Claims; {
	case c == nil:
	case c.EndedAt > 0:
		return *d.Series, c.EndedAt
	case c.gone():
		return c.Serves.Series, c.Serves.At
	}
	return 0, -1
}

// Link is one cell of the chain: a figure, a noun and a line about it.
type Link struct {
	Figure string `json:"figure"`
	Noun   string `json:"noun"`
	// Process is set where the cell is about another process than the first one.
	Process string `json:"process,omitempty"`
	Text    string `json:"text,omitempty"`
	// Course are its counts, which Text words, nil where Text says something else.
	Course *Rise `json:"course,omitempty"`
	// Series and Finding lead to what it is about.
	Series  int `json:"series"`
	Finding int `json:"finding,omitempty"`
}

// Certainty is how sure something is, with the reason.
type Certainty struct {
	// Word is certain, likely, possible, open, or unknown where the captures cannot show it.
	Word   string `json:"word"`
	Reason string `json:"reason"`
}

// The words of Certainty.
const (
	certain  = "certain"
	likely   = "likely"
	possible = "possible"
	open     = "open"
	unknown  = "unknown"
)

// Action is the next step: what to do, and a command to copy where there is one.
type Action struct {
	Text    string `json:"text"`
	Command string `json:"command,omitempty"`
	// Captures reports a step that is nothing but its command.
	Captures bool `json:"captures,omitempty"`
}

// takeCaptures is the step whose command takes the captures that decide.
const takeCaptures = "Take five captures over two minutes:"

// takeOwners is the step whose command names the owners of sockets.
const takeOwners = "Take the table as root, with the owners:"

// longest is the bound of a sentence in characters.
const longest = 160

// Diagnose makes the diagnosis of a report whose findings, order and edges are made.
func (r *Report) Diagnose(nouns noun.List) Diagnosis {
	d := r.diagnosing(nouns)
	leads := d.leads()
	if i := d.dead(); len(leads) == 0 || i >= 0 && i == leads[0].series {
		return d.unaccused()
	}
	l := leads[0]
	out := Diagnosis{Verdict: r.worst(), State: d.state(l), Series: &l.series, Finding: l.finding.Rank, Holder: d.holder(l), Sentence: d.sentence(l, leads[1:]), Claims: &l.claims}
	s := &r.Series[l.series]
	if o := s.objectOf(l.finding, s.lead(l.finding)); o != nil && l.queue == nil {
		out.Object = o.ID
	}
	out.Proved, out.Proof = d.proof(l)
	out.Rate = d.rate(l)
	out.Since, out.Until = d.since(l)
	out.LimitClaim = s.nearest()
	out.Limit = out.LimitClaim.text()
	out.Growth, out.Cause = d.growth(l), d.cause(l)
	out.Chain = d.chain(l, leads[1:])
	out.Next = d.doThere(l, d.next(l))
	out.Also, out.More = d.also(l, leads[1:])
	out.Stated = begins(out.Sentence, out.State)
	return out
}

// begins reports a sentence that begins with the state: it need not be told again.
func begins(sentence, state string) bool {
	return strings.HasPrefix(strings.ToLower(sentence), state)
}

type diagnosing struct {
	headline
	r     *Report
	nouns noun.List
	// placed reports sentences that stand under the name of their process.
	placed bool
}

func (r *Report) diagnosing(nouns noun.List) *diagnosing {
	h := headline{snapshots: make(map[string]*Snapshot, len(r.Snapshots))}
	for i := range r.Snapshots {
		h.snapshots[r.Snapshots[i].ID] = &r.Snapshots[i]
	}
	return &diagnosing{headline: h, r: r, nouns: nouns}
}

// answer is a finding that rose, with its series.
type answer struct {
	series  int
	finding *Finding
	subject subject
	// queue is the lock that they wait for, if its holder can be named.
	queue *Lock
	// life is what identities show of the first family, nil without them.
	life *analysis.Life
	// claims are what is said of it.
	claims Claims
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
		switch {
		case l.finding.Behind:
			return 2
		case rising(l.finding.Verdict) && l.queue != nil:
			return -1
		case rising(l.finding.Verdict):
			return 0
		}
		return 1
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
			better = s.keeps(b, a, 1) && b.finding.Verdict.Rose()
		case b.queue != nil || a.queue != nil:
			better = b.queue != nil && a.queue == nil
		default:
			better = s.keeps(b, a, 1) || a.subject.remedy == "" && b.subject.remedy != "" && sameSteps(a.subject.counts, b.subject.counts, stepsAlike) == 1 ||
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
		if n := sameSteps(lead.subject.counts, own[k].subject.counts, stepsAlike); s.keeps(lead, &own[k], stepsAlike) && n >= 1 && lead.subject.each == "" {
			lead.subject.each = wording.Plural(n, own[k].subject.one, own[k].subject.many) + own[k].subject.place
		}
	}
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

// state is what became of the subject: "leaking", "leaking until t7".
func (d *diagnosing) state(l answer) string {
	at := l.claims.EndedAt - 1
	if l.claims.gone() {
		at = l.claims.Last
	}
	if at >= 0 && l.claims.State != NoLeak {
		return string(l.claims.State) + " until " + d.label(&d.r.Series[l.series], at)
	}
	return string(l.claims.State)
}

// sentence is the first wording that fits, from the fullest to the shortest. Of the same
// program on other hosts it says on how many it does the same.
func (d *diagnosing) sentence(l answer, others []answer) string {
	tail := d.r.Series[l.series].owner()
	if n := d.hostsLike(l, others); n > 0 {
		tail += "; the same on " + wording.Plural(n, "more host", "more hosts")
	}
	all := d.wordings(l)
	for _, text := range all {
		if len([]rune(text+tail)) < longest {
			return text + tail + "."
		}
	}
	text := []rune(all[len(all)-1])
	return string(text[:min(len(text), longest-2)]) + "…"
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

// lost reports a finding on objects that were there before and have lost goroutines since.
func (s *Series) lost(f *Finding, x *subject) bool {
	o := s.objectOf(f, s.lead(f))
	return o != nil && o.Rest && x.followed && x.came == 0
}

// capital begins a sentence. Names like cAdvisor keep their letter.
func capital(text string) string {
	if len(text) > 1 && text[1] >= 'A' && text[1] <= 'Z' {
		return text
	}
	if word, _, _ := strings.Cut(text, " "); strings.ContainsAny(word, "._(*/") {
		return text // a name of the program
	}
	return wording.Capital(text)
}

// kindOf is that of what a finding is about.
func (s *Series) kindOf(f *Finding) analysis.Kind {
	if lead := s.lead(f); lead != nil {
		return lead.Kind
	}
	return analysis.KindGoroutine
}

// bounds reports that a snapshot of a subject shows a lower bound: there may be more.
func (d *diagnosing) bounds(l answer) bool {
	s := &d.r.Series[l.series]
	kind := s.kindOf(l.finding)
	for i, n := range l.subject.counts {
		if n.Known() && d.snapshot(s, i).Bounded(kind) {
			return true
		}
	}
	return false
}

// perHour is the pace of counts from their last low to their peak, 0 where it has no time. Of
// what only grew it is that of the whole span that the sentence names.
func (d *diagnosing) perHour(s *Series, counts analysis.Counts, whole bool) float64 {
	first, top := counts.FirstAt(), counts.HighestAt()
	if first < 0 || top <= first {
		return 0
	}
	for first < top && d.epoch(s, first) != d.epoch(s, top) {
		first++
	}
	if !counts[first].Known() {
		return 0
	}
	for i := first + 1; i < top && !whole; i++ { // the growth begins at the last low
		if counts[i].Known() && counts[i].N <= counts[first].N {
			first = i
		}
	}
	a, b := d.snapshot(s, first).CapturedAt, d.snapshot(s, top).CapturedAt
	rise := float64(counts[top].N - counts[first].N)
	if a == nil || b == nil || !b.After(*a) || rise <= 0 {
		return 0
	}
	return rise * float64(time.Hour) / float64(b.Sub(*a))
}

// rate is how fast the subject grows: "+15 a second".
func (d *diagnosing) rate(l answer) string {
	if l.claims.PerHour > 0 {
		figure, unit := wording.Pace(l.claims.PerHour)
		return "+" + figure + " " + unit
	}
	first, top := l.subject.counts.FirstAt(), l.subject.counts.HighestAt()
	if first < 0 || top <= first || d.r.Series[l.series].lost(l.finding, &l.subject) {
		return ""
	}
	return fmt.Sprintf("+%d in %s without times", l.subject.counts[top].N-l.subject.counts[first].N, wording.Plural(top-first, "interval", "intervals"))
}

// proof is the one line that proves it, "n of n" where identities are known: what it begins
// with, and the whole line.
func (d *diagnosing) proof(l answer) (proved, text string) {
	s, x, c := &d.r.Series[l.series], &l.subject, &l.claims
	if c.First < 0 {
		return "", ""
	}
	first, last := c.First, c.Last
	if c.EndedAt > 0 {
		last = c.EndedAt - 1
	}
	if c.RestartedAt > 0 {
		last = c.RestartedAt - 1
	}
	switch { // later captures may count them and not show which they are
	case c.Followed && x.followed:
		last = max(first, min(last, x.until))
	case l.life != nil && l.life.Followed > 0:
		last = max(first, min(last, l.life.End))
	}
	if s.lost(l.finding, x) {
		return "", "None of them is new."
	}
	for i := last; i > first; i-- {
		if d.epoch(s, i) != d.epoch(s, i-1) {
			first = i
		}
	}
	from, at := d.label(s, first), d.label(s, last)
	switch {
	case len(s.Snapshots) == 1:
		for _, e := range l.finding.Evidence {
			if e.Rule == "leaked_mark" || e.Rule == "ages" {
				return "", capital(e.Text) + "."
			}
		}
		return "", ""
	case l.finding.marked():
		return "", "The runtime marked them as leaked: nothing that can still run can wake them."
	case !c.Followed && l.life != nil && l.life.Followed > 0:
		return d.followed(s, l.life, last)
	case !c.Followed:
		return "", fmt.Sprintf("The counts alone: %s. Who came and who left is not known.", Rises(x.counts, nil))
	case c.State == Replaced:
		return "", fmt.Sprintf("None of those of %s is there at %s.", d.label(s, *l.life.RenewedAt), at)
	case c.State == Grew || c.State == IsNew:
		return d.proofOfGrowth(l, from, at)
	case c.Came == 0:
		return nOfN(max(0, c.From-c.Ended), c.From, "of "+from+" are still there at "+at)
	}
	still := "are"
	if c.EndedAt > 0 || c.RestartedAt > 0 || c.gone() {
		still = "were"
	}
	rest := fmt.Sprintf("%s since %s %s still there at %s", x.began, from, still, at)
	switch {
	case c.RestartedAt > 0:
		rest += ", before the restart"
	case c.Ended == 0:
	case l.life != nil && l.life.Followed > 0 && l.finding.Object == "":
		return d.followed(s, l.life, last)
	default:
		rest += fmt.Sprintf(", %d ended", c.Ended)
	}
	return nOfN(max(0, c.Came-c.Ended), c.Came, rest)
}

// followed says how many of those that could be followed are there at the last capture that
// shows identities, which may be an earlier one than the last.
func (d *diagnosing) followed(s *Series, life *analysis.Life, last int) (proved, text string) {
	still := "are"
	if last < len(s.Snapshots)-1 {
		still = "were"
	}
	who := "seen in two dumps or more"
	if life.FromFirst {
		who = "of the first dump"
	}
	return nOfN(life.Stayed, life.Followed, fmt.Sprintf("%s %s still there at %s", who, still, d.label(s, last)))
}

// nOfN is "58 of 58", and the line that it begins.
func nOfN(n, of int, rest string) (proved, text string) {
	proved = fmt.Sprintf("%d of %d", n, of)
	return proved, proved + " " + rest + "."
}

// proofOfGrowth says of a growth that is no accusation who of the first capture is still there.
// Who ended may have come later: only identities tell.
func (d *diagnosing) proofOfGrowth(l answer, from, at string) (proved, text string) {
	c := &l.claims
	was := l.subject.counts[c.First].N
	switch {
	case was == 0:
		return "", fmt.Sprintf("None was there at %s; %d came until %s.", from, c.Came, at)
	case c.Ended == 0:
		return nOfN(was, was, fmt.Sprintf("that were there at %s still are at %s; %d are new", from, at, c.Came))
	case l.life == nil || l.life.Had != was:
		return "", fmt.Sprintf("%d came since %s, %d ended until %s.", c.Came, from, c.Ended, at)
	}
	return nOfN(l.life.Kept, was, fmt.Sprintf("that were there at %s still are at %s; %d are new", from, at, max(0, c.Left-l.life.Kept)))
}

// life is what identities show of a finding, of all families of its key or of its first one.
func (s *Series) life(f *Finding) *analysis.Life {
	if f.Key != nil {
		return f.Key.Life
	}
	if lead := s.lead(f); lead != nil {
		return lead.Life
	}
	return nil
}

// since is when it began, and when it ended.
func (d *diagnosing) since(l answer) (since, until string) {
	s, c := &d.r.Series[l.series], &l.claims
	if c.EndedAt > 0 {
		until = d.dated(s, c.EndedAt)
	}
	if c.gone() {
		until = d.dated(&d.r.Series[c.Serves.Series], c.Serves.At)
	}
	switch {
	case c.Since < 0 && len(s.Snapshots) == 2 && c.From > 0:
		return "between " + d.label(s, 0) + " and " + d.label(s, 1) + ", or before", until
	case c.Since < 0 && len(s.Snapshots) == 2:
		return "between " + d.label(s, 0) + " and " + d.label(s, 1), until
	case c.Since < 0:
		return "", until
	case c.Before:
		return "before the first dump, " + d.dated(s, 0), until
	}
	at := d.snapshot(s, c.Since).CapturedAt
	if onset := d.onset(s, l.finding); onset != nil && !onset.Before && onset.From != nil && onset.To != nil && !(c.Since > c.First && d.reaches(s, c.Since+1, *onset.To)) {
		return fmt.Sprintf("%s, at most %s earlier", wording.Clock(*onset.To), wording.Duration(onset.To.Sub(*onset.From))), until
	}
	if c.Since == 0 || at == nil || d.snapshot(s, c.Since-1).CapturedAt == nil {
		return d.dated(s, c.Since) + ", or since the capture before it", until
	}
	return fmt.Sprintf("%s, at most %s earlier", wording.Clock(*at), wording.Duration(at.Sub(*d.snapshot(s, c.Since-1).CapturedAt))), until
}

// reaches reports a time at or behind that of snapshot i, if there is one.
func (d *diagnosing) reaches(s *Series, i int, at time.Time) bool {
	if i >= len(s.Snapshots) {
		return false
	}
	taken := d.snapshot(s, i).CapturedAt
	return taken != nil && !at.Before(*taken)
}

// dated is the label of a capture with its time: "t8, 03:07:16".
func (d *diagnosing) dated(s *Series, i int) string {
	if at := d.snapshot(s, i).CapturedAt; at != nil {
		return d.label(s, i) + ", " + wording.Clock(*at)
	}
	return d.label(s, i)
}

func (d *diagnosing) onset(s *Series, f *Finding) *Onset {
	for i := range s.Units {
		if s.Units[i].ID == f.Unit && f.Unit != "" && s.Units[i].Onset != nil {
			return s.Units[i].Onset
		}
	}
	if x := s.lead(f); x != nil {
		return x.Onset
	}
	return nil
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

// marked reports that the runtime itself called the members leaked.
func (f *Finding) marked() bool {
	return slices.ContainsFunc(f.Evidence, func(e Evidence) bool { return e.Rule == "leaked_mark" })
}

// perLoad is how many there are for each unit of the load that the finding follows, after a
// colon, "" where no load is told that way.
//
//	": 3 goroutines for each request per second (http_requests_total)"
func (s *Series) perLoad(f *Finding) string {
	words := evidence.Words{One: string(analysis.KindGoroutine), Many: wording.Kinds(analysis.KindGoroutine)}
	if lead := s.lead(f); lead != nil {
		words.One, words.Many = string(lead.Kind), wording.Kinds(lead.Kind)
	}
	for _, e := range f.Evidence {
		if text := words.PerLoad(e.Evidence); text != "" {
			return ": " + text
		}
	}
	return ""
}

// fewDumps is up to how many dumps are too few to tell a leak from a queue by themselves.
const fewDumps = 3

// growth is how sure the growth is, by the rule that decided.
func (d *diagnosing) growth(l answer) *Certainty {
	s, x, c := &d.r.Series[l.series], &l.subject, &l.claims
	switch {
	case l.finding.marked():
		return &Certainty{certain, "marked by the runtime"}
	case c.State == Leaks && c.Followed:
		word, reason := x.sure()
		return &Certainty{word, reason}
	case c.State == Leaks && l.life != nil && l.life.Followed > 0:
		return &Certainty{likely, "by those that could be followed"}
	case c.State == Leaks:
		return &Certainty{likely, "by counts alone"}
	case c.State == NoLeak && c.EndedAt > 0:
		return &Certainty{certain, "it rises and falls with the load" + s.perLoad(l.finding)}
	case c.State == NoLeak:
		return &Certainty{certain, "it rises with the load" + s.perLoad(l.finding)}
	case c.State == GrewOnce && c.Followed:
		word, reason := x.sure()
		return &Certainty{word, reason + ", and no more came"}
	case c.State == MayLeak:
		return &Certainty{possible, d.undecided(s, l.finding)}
	case c.State == Replaced:
		return &Certainty{open, d.older(s, l.life, c.Last) + ": load, or slower answers"}
	case len(s.Snapshots) > 2 && c.Followed:
		return &Certainty{open, "it grew, and no rule proves that it goes on"}
	case c.Followed:
		return &Certainty{open, "two ends show that it grew, not that it goes on"}
	case len(s.Snapshots) > fewDumps:
		return &Certainty{open, "by counts alone"}
	}
	return &Certainty{open, "by counts alone, and over too few captures"}
}

// undecided is why a suspicion is no more: a known queue, too few dumps, or a short time.
func (d *diagnosing) undecided(s *Series, f *Finding) string {
	for _, e := range f.Evidence {
		if e.Rule == knowledge.RuleKnown {
			return e.Text
		}
	}
	if b := s.nearest(); b != nil && b.State == LimitReached && !b.Peak && bounded[b.What] == s.kindOf(f) {
		return "no more can come: it is at its limit"
	}
	if n := len(s.Snapshots); n <= fewDumps {
		return wording.Plural(n, "dump is", "dumps are") + " too few to tell"
	}
	for _, e := range f.Evidence {
		if e.Rule == "span" {
			return "the time is short: one more capture in 30 minutes tells a leak from a queue"
		}
	}
	return "one more capture decides"
}

// holder names what started most of the objects, or the process that holds them.
func (d *diagnosing) holder(l answer) string {
	s := &d.r.Series[l.series]
	if l.queue != nil {
		h := &l.queue.Holders[0]
		return wording.Lower(strings.TrimSpace(h.Name + " " + shortRole(h.At)))
	}
	if l.finding.Key != nil && l.finding.Key.By != trend.ByCreator {
		return ""
	}
	if o := s.objectOf(l.finding, s.lead(l.finding)); o != nil {
		for _, h := range o.Holders {
			if name := strings.TrimPrefix(h.Type, "*"); !family.OfStandardLibrary(name) {
				return shortRole(h.Type)
			}
		}
		if len(o.Holders) > 0 {
			return ""
		}
	}
	if x := s.lead(l.finding); x != nil && x.CreatedBy != "" && !family.OfStandardLibrary(x.CreatedBy) {
		return shortRole(x.CreatedBy)
	}
	return ""
}

// started reports that what holds the objects of an answer created them.
func (d *diagnosing) started(l answer, holder string) bool {
	s := &d.r.Series[l.series]
	o := s.objectOf(l.finding, s.lead(l.finding))
	return o != nil && slices.ContainsFunc(o.Holders, func(h HolderOf) bool { return h.Role == analysis.CreatedBy && shortRole(h.Type) == holder })
}

// cause is how sure the cause is.
func (d *diagnosing) cause(l answer) *Certainty {
	s := &d.r.Series[l.series]
	if l.queue != nil {
		word := likely
		if l.queue.Holders[0].Certainty == Proven {
			word = certain
		}
		if why := l.queue.Holders[0].Why; why != "" {
			return &Certainty{word, why}
		}
		return &Certainty{word, "the holder is inside the locked object"}
	}
	if o, _ := d.r.orderOf(l.series, l.finding); o != nil {
		word := certain
		if o.Level == edge.ByEndpoint || o.Level == edge.ByStreams || o.shared() {
			word = likely
		}
		if o.Rule == edge.ByEnd && o.shared() {
			return &Certainty{word, fmt.Sprintf("%d in %s ended in the interval in which %s ended", o.N, wording.Ands(o.Held), d.processOf(l.series))}
		}
		return &Certainty{word, d.processOf(l.series) + " holds what grew in " + wording.Ands(o.Held)}
	}
	if p := l.claims.Opener; p != nil {
		return &Certainty{likely, fmt.Sprintf("%s, with %s to %s, ended in the interval in which they ended", p.Process, wording.Plural(p.Connections, "connection", "connections"), s.self())}
	}
	if l.finding.Key != nil && l.finding.Key.By != trend.ByCreator {
		if s.lead(l.finding) == nil || !hasStack(s.lead(l.finding)) {
			return &Certainty{unknown, "the listing shows no code"}
		}
		return &Certainty{open, "many functions started them"}
	}
	if o := s.objectOf(l.finding, s.lead(l.finding)); o != nil {
		for _, h := range o.Holders {
			if h.Role == analysis.CreatedBy && h.N > 0 && !family.OfStandardLibrary(h.Type) {
				lead := s.lead(l.finding) // a group has one creator; of the holders the small ones are left out
				if n, all := o.startedBy(h.Type), o.Counts.Last(); all > n && 2*n >= all && (lead == nil || lead.CreatedBy != h.Type) {
					return &Certainty{likely, fmt.Sprintf("%d of %d were started by %s", n, all, shortRole(h.Type))}
				}
				return &Certainty{likely, "started by " + shortRole(h.Type)}
			}
		}
	}
	if len(l.finding.Stack) == 0 {
		return &Certainty{unknown, "the listing shows no code"}
	}
	if last := l.finding.Stack[len(l.finding.Stack)-1]; last.CreatedBy && !family.OfStandardLibrary(last.Function) {
		return &Certainty{likely, "started by " + shortRole(last.Function)}
	}
	return &Certainty{open, "the stack shows where they wait, not who should end them"}
}

// chain is the cause first: what starts them, how many, what each keeps; then what grew in
// other processes.
func (d *diagnosing) chain(l answer, others []answer) []Link {
	var out []Link
	s, x := &d.r.Series[l.series], &l.subject
	if p := l.claims.Opener; p != nil {
		out = append(out, Link{Figure: wording.Number(int64(p.Connections)), Noun: wording.Fit(p.Connections, "connection", "connections"), Process: p.Process, Text: "gone by " + d.label(s, p.At), Series: p.Series})
	}
	if l.queue != nil {
		out = append(out, d.queueLinks(l)...)
	} else if holder := d.holder(l); holder != "" {
		out = append(out, Link{Figure: "1", Noun: holder, Text: "starts them", Series: l.series, Finding: l.finding.Rank})
		if !slices.ContainsFunc(l.finding.Stack, func(f StackFrame) bool { return f.CreatedBy && shortRole(f.Function) == holder }) && !d.started(l, holder) {
			out[len(out)-1].Text = "holds them"
		}
	}
	n, own := x.counts.Highest(), d.courseOf(s, x)
	out = append(out, Link{Figure: wording.Number(int64(n)), Noun: x.noun(n), Text: own.Text(), Course: &own, Series: l.series, Finding: l.finding.Rank})
	if x.each != "" {
		out = append(out, Link{Figure: "each", Noun: x.each, Series: l.series, Finding: l.finding.Rank})
	}
	told := map[int]bool{l.series: true}
	for _, o := range others {
		if told[o.series] || len(out) == mostLinks || !d.r.heldBy(o.finding, l) {
			continue // processes that merely rise together stand in no chain
		}
		told[o.series] = true
		n, course := o.subject.counts.Highest(), d.courseOf(&d.r.Series[o.series], &o.subject)
		out = append(out, Link{Figure: wording.Number(int64(n)), Noun: o.subject.noun(n), Process: d.processOf(o.series), Text: course.Text(), Course: &course, Series: o.series, Finding: o.finding.Rank})
	}
	if len(out) < 2 {
		return nil
	}
	return out
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

// mostLinks is how many cells a chain has.
const mostLinks = 4

func (s *subject) noun(n int) string { return wording.Fit(n, s.one, s.many) + s.place }

func (d *diagnosing) courseOf(s *Series, x *subject) Rise {
	epochs := make([]int, len(s.Snapshots))
	for i := range epochs {
		epochs[i] = d.epoch(s, i)
	}
	return RiseOf(x.counts, epochs)
}

// unless says of what grew and stopped when it needs a look again.
func (d *diagnosing) unless(l answer) string {
	c, level := &l.claims, "At most"
	if c.Left == c.N {
		level = "Stable at"
	}
	if b := d.full(l); b != nil {
		return fmt.Sprintf("It stopped at its limit: %s. Find who keeps the %s; a higher limit gains time only.", b.use(), l.subject.all())
	}
	if l.subject.peerClosed {
		return closeEach
	}
	return fmt.Sprintf("%s %d since %s. Nothing to do unless it passes %d.", level, c.N, d.label(&d.r.Series[l.series], c.Top), c.N)
}

// full is the limit that bounds what an answer is about and is reached now, nil without one: no
// later capture can show more.
func (d *diagnosing) full(l answer) *LimitClaim {
	s := &d.r.Series[l.series]
	if b := s.nearest(); b != nil && b.State == LimitReached && !b.Peak && bounded[b.What] == s.kindOf(l.finding) {
		return b
	}
	return nil
}

// fewestFlat is how many captures since a restart show that the growth has not come back.
const fewestFlat = 3

// cured says of a growth that a restart ended that it has not come back, "" where it may have:
// what the captures since would have shown at the pace before it.
func (d *diagnosing) cured(l answer) string {
	s, c := &d.r.Series[l.series], &l.claims
	if c.RestartedAt <= 0 || c.Last-c.RestartedAt < fewestFlat-1 || c.PerHour == 0 {
		return ""
	}
	since := l.subject.counts[c.RestartedAt:]
	from, to := d.snapshot(s, c.RestartedAt).CapturedAt, d.snapshot(s, c.Last).CapturedAt
	if !since[0].Known() || since.Highest() > since[0].N || from == nil || to == nil {
		return ""
	}
	expected := since[0].N + int(c.PerHour*to.Sub(*from).Hours())
	if expected < 2*max(1, since[0].N) {
		return "" // too short a time to tell
	}
	shown := fmt.Sprintf("%s at the earlier pace would have shown %d.", wording.Duration(to.Sub(*from)), expected)
	if v := l.finding.Versions; v != nil && v.Fix != nil {
		return fmt.Sprintf("Cured by %s so far: %s", v.Fix.After, shown)
	}
	return "Cured by the restart so far: " + shown + " What began it was outside, or has not come back."
}

// next is one action, with a command where one can be copied.
func (d *diagnosing) next(l answer) *Action {
	s := &d.r.Series[l.series]
	if l.finding.Kind == ObserverFinding {
		return &Action{Text: fmt.Sprintf("Look at what %s waits for: one that holds its own lock, or waits for itself, never ends. Scrape less until then.", strings.TrimPrefix(strings.TrimSpace(l.subject.place), "in "))}
	}
	if s.Unowned && l.finding.Verdict != analysis.Scaling {
		return &Action{Text: takeOwners, Command: "ss -tunap", Captures: true}
	}
	out := &Action{Text: l.finding.Next}
	switch v := l.finding.Verdict; {
	case v == analysis.Scaling:
		out.Text = "Nothing to mend: it follows its load."
	case l.claims.Opener != nil:
		out.Text = fmt.Sprintf("%s ended %s and held them: look at what it opens to %s and never closes.", l.claims.Opener.Process, d.within(s, l.claims.EndedAt), s.self())
	case l.awaits():
		out.Text = d.lookAtCalls(l)
	case l.tied(s):
		return s.untie()
	case l.queue != nil && len(l.queue.recursive()) == 0:
		out.Text = d.lookAtHolder(l)
	case l.claims.Released:
		n := l.claims.N - l.claims.Left
		out.Text = fmt.Sprintf("Something released %s %s: check what restarted or was deleted.", wording.Fit(n, "it", fmt.Sprintf("all %d", n)), d.within(s, l.claims.EndedAt))
	case s.lost(l.finding, &l.subject):
		out.Text = "" // nothing came: one more capture shows whether they go on
	case l.claims.State == GrewOnce:
		out.Text = d.unless(l)
	case d.cured(l) != "":
		out.Text = d.cured(l)
	case l.claims.State == Replaced:
		out.Text = wording.Capital(d.decisive(l)) + ": if any of those that are there now stay, and more come, it is a leak."
	case l.claims.State == MayLeak && d.full(l) != nil:
		out.Text = d.unless(l)
	case l.claims.State == Grew || l.claims.State == IsNew:
		out.Text = wording.Capital(d.decisive(l)) + ": if more come and none ends, it is a leak."
	case l.subject.remedy != "" && s.recoveredAt(l.finding) < 0:
		out.Text = l.subject.remedy
	}
	if out.Text == "" && !s.lost(l.finding, &l.subject) {
		out.Text = d.otherwise(l)
	}
	if v := l.finding.Verdict; v == analysis.Grew || v == analysis.New || v == analysis.Suspicious {
		out.Command = d.collect(s, d.decidesIn(l))
	}
	switch {
	case out.Text == "" && out.Command == "" && (len(s.Snapshots) == 1 || l.claims.Serves != nil):
		return nil
	case out.Text == "":
		out.Command = d.collect(s, d.decidesIn(l))
		out.Text, out.Captures = "Take five more captures, "+d.decisive(l)+":", true
	}
	return out
}

// startedAt says where the goroutines of a stack are started, "" where the dump does not tell
// or a library starts them.
func startedAt(stack []StackFrame) string {
	if len(stack) == 0 {
		return ""
	}
	creator := &stack[len(stack)-1]
	place := creator.place()
	if !creator.CreatedBy || place == "" || !creator.Own && !strings.HasPrefix(creator.Function, "main.") {
		return ""
	}
	return fmt.Sprintf("Each is started at %s, in %s: give it a way to end there, or start fewer.", place, shortRole(creator.Function))
}

// within is the interval before a snapshot, "between 03:06:33 and 03:07:16".
func (d *diagnosing) within(s *Series, at int) string {
	from, to := d.snapshot(s, at-1).CapturedAt, d.snapshot(s, at).CapturedAt
	if from == nil || to == nil {
		return fmt.Sprintf("between %s and %s", d.label(s, at-1), d.label(s, at))
	}
	return fmt.Sprintf("between %s and %s", wording.Clock(*from), wording.Clock(*to))
}

// crash is the note that the only file of a process shows the goroutine of a crash alone, nil
// without one.
func (d *diagnosing) crash(s *Series) *analysis.Problem {
	for _, a := range d.snapshot(s, 0).Artifacts {
		for i := range d.r.Problems {
			if p := &d.r.Problems[i]; p.Path == a.Path && p.Code == analysis.CrashOnly {
				return p
			}
		}
	}
	return nil
}

// decidesIn is how long captures take that decide about a growth, at its pace.
func (d *diagnosing) decidesIn(l answer) time.Duration {
	hours := 0.0
	if s := &d.r.Series[l.series]; l.finding.Key != nil {
		hours = l.finding.Key.DecidesIn
	} else if lead := s.lead(l.finding); lead != nil {
		hours = lead.DecidesIn
	}
	took := max(2*time.Minute, time.Duration(hours*float64(time.Hour)))
	if took > time.Hour {
		return took.Round(30 * time.Minute)
	}
	return took.Round(time.Minute)
}

// decisive words it: "2 minutes decide".
func (d *diagnosing) decisive(l answer) string {
	took := d.decidesIn(l)
	if took < 2*time.Hour {
		return wording.Plural(int(took.Round(time.Minute).Minutes()), "minute decides", "minutes decide")
	}
	if took < 48*time.Hour {
		return wording.Plural(int(took.Round(time.Hour).Hours()), "hour decides", "hours decide")
	}
	return wording.Plural(int(took.Round(24*time.Hour).Hours()/24), "day decides", "days decide")
}

// collect is the command for five captures in a time, at least two minutes.
func (d *diagnosing) collect(s *Series, took time.Duration) string {
	every := max(30*time.Second, (took / 4).Round(time.Second))
	if every > time.Minute {
		every = every.Round(time.Minute)
	}
	pid := "PID"
	if p := d.snapshot(s, len(s.Snapshots)-1).PID; p != nil {
		pid = fmt.Sprint(*p)
	}
	name := strings.Map(func(c rune) rune {
		if c == '-' || c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' {
			return c
		}
		return -1
	}, s.Process)
	if name == "" {
		name = "captures"
	}
	return fmt.Sprintf("leakdiff collect --pid %s --every %s --count 5 -o %s.tar.gz", pid, flagDuration(every), name)
}

// flagDuration writes a duration as a flag takes it: 30s, 7m, 1h30m.
func flagDuration(d time.Duration) string {
	hours, minutes := int(d.Hours()), int(d.Minutes())%60
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case hours == 0:
		return fmt.Sprintf("%dm", minutes)
	case minutes == 0:
		return fmt.Sprintf("%dh", hours)
	}
	return fmt.Sprintf("%dh%dm", hours, minutes)
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
	if x := s.lead(o.finding); o.series == first.series && text == first.subject.all() && x != nil && x.CreatedBy != "" {
		text += " started by " + shortRole(x.CreatedBy)
	}
	text += " " + d.courseOf(s, &o.subject).Text()
	if len(d.r.Series) > 1 {
		text = d.processOf(o.series) + ": " + text
	}
	return text
}

// processOf names the process of a series, with its host where others have the name.
func (d *diagnosing) processOf(series int) string {
	return processNames(len(d.r.Series), func(i int) *Series { return &d.r.Series[i] })[series]
}

// shortened is text without a full stop in at most n characters: without its last clause if
// that is enough, or up to a word.
func shortened(text string, n int) string {
	runes := []rune(text)
	if len(runes) <= n {
		return text
	}
	if i := strings.LastIndex(text, "; "); i > 0 && len([]rune(text[:i])) <= n {
		return text[:i]
	}
	cut := string(runes[:n-1])
	if i := strings.LastIndexByte(cut, ' '); i > 0 {
		cut = cut[:i]
	}
	return cut + "…"
}
