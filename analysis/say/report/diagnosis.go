package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/edge"
	"leakdiff/analysis/judge/trend"
	"leakdiff/analysis/read/family"
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
	// State is the answer in a word or two: "leaking", "leaking until t7", "no leak".
	State string `json:"state"`
	// Series is the index of the series that it is about, Finding the rank of the finding
	// there, Object the id of its objects.
	Series  *int   `json:"series,omitempty"`
	Finding int    `json:"finding,omitempty"`
	Object  string `json:"object,omitempty"`
	// Holder names what started them or holds them.
	Holder string `json:"holder,omitempty"`
	// Chain is the cause and what hangs on it, the cause first.
	Chain []Link `json:"chain,omitempty"`
	// Proof, Since, Until, Rate and Limit are words for one line each.
	Proof  string     `json:"proof,omitempty"`
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
}

// Link is one cell of the chain: a figure, a noun and a line about it.
type Link struct {
	Figure string `json:"figure"`
	Noun   string `json:"noun"`
	Text   string `json:"text,omitempty"`
	// Series and Finding lead to what it is about.
	Series  int `json:"series"`
	Finding int `json:"finding,omitempty"`
}

// Certainty is how sure something is, with the reason.
type Certainty struct {
	// Word is certain, likely, possible or open.
	Word   string `json:"word"`
	Reason string `json:"reason"`
}

// The words of Certainty.
const (
	certain  = "certain"
	likely   = "likely"
	possible = "possible"
	open     = "open"
)

// Action is the next step: what to do, and a command to copy where there is one.
type Action struct {
	Text    string `json:"text"`
	Command string `json:"command,omitempty"`
}

// longest is the bound of a sentence in characters.
const longest = 160

// Diagnose makes the diagnosis of a report whose findings, order and edges are made.
func (r *Report) Diagnose(nouns noun.List) Diagnosis {
	d := r.diagnosing(nouns)
	leads := d.leads()
	if len(leads) == 0 {
		return d.unaccused(Diagnosis{Sentence: d.quiet(), Verdict: r.worst(), State: d.quietState()})
	}
	l := leads[0]
	out := Diagnosis{Verdict: r.worst(), State: d.state(l), Series: &l.series, Finding: l.finding.Rank, Holder: d.holder(l), Sentence: d.sentence(l, leads[1:])}
	s := &r.Series[l.series]
	if o := s.objectOf(l.finding, s.lead(l.finding)); o != nil && l.queue == nil {
		out.Object = o.ID
	}
	out.Proof, out.Rate = d.proof(l), d.rate(l)
	out.Since, out.Until = d.since(l)
	out.Limit = d.limit(s)
	out.Growth, out.Cause = d.growth(l), d.cause(l)
	out.Chain = d.chain(l, leads[1:])
	out.Next = d.next(l)
	out.Also, out.More = d.also(leads[1:])
	return out
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
}

// leads are the findings that rose and that no person called benign: accused processes
// first, a holder before what it holds, one of each series before the second of any.
func (d *diagnosing) leads() []answer {
	var first, rest []answer
	for _, i := range d.r.seriesInOrder() {
		s := &d.r.Series[i]
		begun := false
		for _, behind := range []bool{false, true} {
			for k := range s.Findings {
				f := &s.Findings[k]
				if f.Kind != "" || f.Behind != behind || !f.Verdict.Rose() || s.benign(f) {
					continue
				}
				l := d.answerOf(i, f)
				switch {
				case begun && len(s.Snapshots) == 1 && f.markedOf() > first[len(first)-1].finding.markedOf():
					rest = append(rest, first[len(first)-1])
					first[len(first)-1] = l // the runtime marked most of these
				case !begun:
					first, begun = append(first, l), true
				case l.queue != nil && first[len(first)-1].queue == nil && first[len(first)-1].finding.Verdict == f.Verdict && !behind:
					// A queue with its holder explains more than what grew most.
					rest = append(rest, first[len(first)-1])
					first[len(first)-1] = l
				default:
					rest = append(rest, l)
				}
			}
		}
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
func (d *diagnosing) restartedAt(s *Series, counts []*int) int {
	_, top := ends(counts)
	last := lastKnown(counts)
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

// state is the verdict as a person says it.
func (d *diagnosing) state(l answer) string {
	s := &d.r.Series[l.series]
	word := map[analysis.Verdict]string{
		analysis.Leaking: "leaking", analysis.Suspicious: "may leak", analysis.Scaling: "no leak", analysis.Grew: "grew", analysis.Stopped: "grew and stopped", analysis.New: "new",
	}[l.finding.Verdict]
	if at := s.recoveredAt(l.finding); at > 0 && l.finding.Verdict != analysis.Scaling {
		return word + " until " + d.label(s, at-1)
	}
	return word
}

// nothingGrew is the state of several snapshots in which nothing rose.
const nothingGrew = "nothing grew"

// quietState is the answer where nothing rose.
func (d *diagnosing) quietState() string {
	several, comparable := false, false
	for i := range d.r.Series {
		s := &d.r.Series[i]
		if s.deadlock() != "" {
			return "deadlock"
		}
		if len(s.TotalsRisen) > 0 {
			return "grew"
		}
		several = several || len(s.Snapshots) > 1
		comparable = comparable || d.comparable(s)
	}
	switch {
	case len(d.r.Series) == 0:
		return "nothing read"
	case several && !comparable:
		return "cannot be compared"
	case several:
		return nothingGrew
	case len(d.r.Series) == 1:
		return "one dump"
	}
	return "one dump each"
}

// unaccused adds to an answer without a finding the limit of the first process, and for one
// dump the capture that decides.
func (d *diagnosing) unaccused(out Diagnosis) Diagnosis {
	if order := d.r.seriesInOrder(); len(order) > 0 {
		out.Limit = d.limit(&d.r.Series[order[0]])
	}
	out.Next = d.nextOfOne()
	return out
}

// sentence is the first wording that fits, from the fullest to the shortest, with a word
// about the other processes.
func (d *diagnosing) sentence(l answer, others []answer) string {
	var beside []int
	for _, o := range others {
		if o.series != l.series && rising(o.finding.Verdict) == rising(l.finding.Verdict) && !slices.Contains(beside, o.series) {
			beside = append(beside, o.series)
		}
	}
	tail := ""
	hosts := 0
	for _, i := range beside {
		if d.r.Series[i].Process == d.r.Series[l.series].Process && d.r.Series[i].Host != nil && !slices.ContainsFunc(others, func(o answer) bool { return o.series == i && o.finding.Behind }) {
			hosts++
		}
	}
	switch {
	case hosts == len(beside) && hosts > 0:
		tail = "; the same on " + wording.Plural(hosts, "more host", "more hosts")
	case len(beside) == 1:
		tail = "; " + d.r.Series[beside[0]].named() + " grew too"
	case len(beside) > 1:
		tail = fmt.Sprintf("; %d more processes grew too", len(beside))
	case len(d.r.Series) == 1 && rising(l.finding.Verdict) && l.finding.Verdict != analysis.Scaling && !l.finding.marked():
		more := 0
		for _, o := range others {
			if o.finding.Verdict == l.finding.Verdict && !o.finding.Behind {
				more++
			}
		}
		if more > 0 {
			tail = "; " + wording.Plural(more, "more thing grew too", "more things grew too")
		}
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

// wordings are sentences about a finding without a full stop, the fullest first.
func (d *diagnosing) wordings(l answer) []string {
	s, f, x := &d.r.Series[l.series], l.finding, &l.subject
	if l.queue != nil {
		return d.waiting(l)
	}
	process := s.named()
	first, top := ends(x.counts)
	if first < 0 {
		return []string{s.before(f.Title)}
	}
	from, high, end := *x.counts[first], *x.counts[top], *x.counts[lastKnown(x.counts)]
	each, kept := "", ""
	if x.each != "" {
		each, kept = ": each keeps "+x.each, ": each kept "+x.each
	}
	in, of := s.place("in"), s.place("of")
	if d.placed || len(d.r.Series) == 1 && s.Process != "" && strings.Contains(x.all(), process) {
		in, of = "", "" // it would stand there twice
	}
	course := fmt.Sprintf("%s%s grew from %d to %d", capital(x.all()), of, from, high)
	if d.bounds(s, x.counts) {
		course = strings.Replace(course, " to ", " to at least ", 1)
	}
	recovered, restart := s.recoveredAt(f), d.restartedAt(s, x.counts)
	switch {
	case s.lost(f, x):
		return []string{fmt.Sprintf("%s%s went on with fewer goroutines than before", x.words(high), of)}
	case len(s.Snapshots) == 1 && f.marked():
		return d.markedAlone(l, of)
	case len(s.Snapshots) == 1:
		return aged(f, x, of, high)
	case f.marked() && high <= from:
		n := f.markedOf()
		return []string{fmt.Sprintf("%s%s %s leaked: the runtime marked %s", x.words(n), of, wording.Fit(n, "is", "are"), wording.Fit(n, "it", "them"))}
	case f.Verdict == analysis.Scaling:
		return noLeak(of, x, high)
	case f.Verdict == analysis.Grew || f.Verdict == analysis.New:
		return grown(course, d.over(s, first, top), x)
	case f.Verdict == analysis.Stopped:
		return []string{course + ", and no more since " + d.label(s, top), course + ", then no more"}
	case recovered > 0 && x.followed && x.came > 0:
		text := fmt.Sprintf("%s %s %s%s and ended only at %s", x.words(x.came), wording.Fit(x.came, "was", "were"), x.began, in, d.label(s, recovered))
		return []string{text + kept, text}
	case recovered > 0:
		return []string{course + ", back at " + fmt.Sprint(end) + " at " + d.label(s, recovered), course}
	}
	yet := ""
	if f.Verdict == analysis.Suspicious {
		yet = " so far"
	}
	if restart > 0 {
		yet = " before the restart"
		each = fmt.Sprintf(", %d again since", end)
	}
	if x.connection && restart < 0 && x.followed && x.went == 0 {
		if rate := d.perUnit(s, x.counts); rate != "" {
			text := fmt.Sprintf("%s opens %s and closes none", s.actor(), strings.Replace(rate, "%", x.many, 1)+x.place)
			return []string{fmt.Sprintf("%s: %d are open", text, end), text}
		}
	}
	if !x.followed || x.came == 0 {
		return []string{course + each, course}
	}
	if x.went > x.came {
		return []string{course + each, course}
	}
	if x.went > 0 { // what lived between two captures was not seen
		return []string{fmt.Sprintf("%s: %d that came stay, %d ended", course, x.came-x.went, x.went), course}
	}
	atLeast := ""
	if d.bounds(s, x.counts) {
		atLeast = "At least "
	}
	text := atLeast + fmt.Sprintf("%s %s %s%s and %s", x.words(x.came), wording.Fit(x.came, "was", "were"), x.began, in, noneEnded(x, yet))
	return []string{text + each, text, course}
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

// bounds reports that a snapshot of a subject shows a lower bound: there may be more.
func (d *diagnosing) bounds(s *Series, counts []*int) bool {
	for i, n := range counts {
		if snap := d.snapshot(s, i); n != nil && snap.LowerBound {
			return true
		}
	}
	return false
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
		return []string{l.subject.words(n) + of + " can never go on: the runtime marked " + wording.Fit(n, "it", "them") + " as leaked"}
	}
	x := l.subject
	place := strings.TrimSpace(x.place)
	if x.many != "goroutines" || place == "" {
		place = strings.TrimSpace(x.all())
	}
	return []string{fmt.Sprintf("%s%s can never go on: the runtime marked %s as leaked, %d of them %s", wording.Members(analysis.KindGoroutine, all), of, them, n, place)}
}

// aged words members of one dump that their ages accuse.
func aged(f *Finding, x *subject, of string, n int) []string {
	text := x.words(n) + of
	ended := x.ended
	if ended != "ended" {
		ended = "was " + ended
	}
	return []string{text + " were " + x.began + " one after another, and none of them " + ended + ", by their ages"}
}

// noneEnded is "none was stopped so far", or "12 were".
func noneEnded(x *subject, yet string) string {
	switch {
	case x.went == 0 && x.ended == "ended":
		return "none ended" + yet
	case x.went == 0:
		return "none was " + x.ended + yet
	case x.ended == "ended":
		return fmt.Sprintf("%d ended%s", x.went, yet)
	}
	return fmt.Sprintf("%d %s %s%s", x.went, wording.Fit(x.went, "was", "were"), x.ended, yet)
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

func grown(course, over string, x *subject) []string {
	if !x.followed {
		return []string{course + over}
	}
	news := fmt.Sprintf("%d new, %s", x.came, wording.Fit(x.went, "1 ended", fmt.Sprintf("%d ended", x.went)))
	if x.went == 0 {
		news = fmt.Sprintf("%d new, none ended", x.came)
	}
	return []string{course + over + ": " + news, course + ": " + news}
}

// over is the time between two snapshots: " in 20 s".
func (d *diagnosing) over(s *Series, from, to int) string {
	a, b := d.snapshot(s, from).CapturedAt, d.snapshot(s, to).CapturedAt
	if a == nil || b == nil || !b.After(*a) {
		return ""
	}
	return " in " + wording.Duration(b.Sub(*a))
}

// perUnit is a rate in the unit that gives 1 to 100, with % for the noun: "15 % a second".
func (d *diagnosing) perUnit(s *Series, counts []*int) string {
	first, top := ends(counts)
	if first < 0 || top <= first {
		return ""
	}
	for first < top && d.epoch(s, first) != d.epoch(s, top) {
		first++
	}
	if counts[first] == nil {
		return ""
	}
	for i := first + 1; i < top; i++ { // the growth begins at the last low
		if counts[i] != nil && *counts[i] <= *counts[first] {
			first = i
		}
	}
	a, b := d.snapshot(s, first).CapturedAt, d.snapshot(s, top).CapturedAt
	rise := float64(*counts[top] - *counts[first])
	if a == nil || b == nil || !b.After(*a) || rise <= 0 {
		return ""
	}
	figure, unit := wording.Pace(rise * float64(time.Hour) / float64(b.Sub(*a)))
	return figure + " % " + unit
}

// rate is how fast the subject grows: "+15 a second".
func (d *diagnosing) rate(l answer) string {
	s := &d.r.Series[l.series]
	if rate := d.perUnit(s, l.subject.counts); rate != "" {
		return "+" + strings.Replace(rate, " %", "", 1)
	}
	first, top := ends(l.subject.counts)
	if first < 0 || top <= first {
		return ""
	}
	return fmt.Sprintf("+%d in %s without times", *l.subject.counts[top]-*l.subject.counts[first], wording.Plural(top-first, "interval", "intervals"))
}

// proof is the one line that proves it, "n of n" where identities are known.
func (d *diagnosing) proof(l answer) string {
	s, x := &d.r.Series[l.series], &l.subject
	first, _ := ends(x.counts)
	if first < 0 {
		return ""
	}
	recovered := s.recoveredAt(l.finding)
	last := lastKnown(x.counts)
	if recovered > 0 {
		last = recovered - 1
	}
	restart := d.restartedAt(s, x.counts)
	if restart > 0 {
		last = restart - 1
	}
	if s.lost(l.finding, x) {
		return "None of them is new."
	}
	for i := last; i > first; i-- {
		if d.epoch(s, i) != d.epoch(s, i-1) {
			first = i
		}
	}
	at := d.label(s, last)
	switch {
	case len(s.Snapshots) == 1:
		for _, e := range l.finding.Evidence {
			if e.Rule == "leaked_mark" || e.Rule == "ages" {
				return capital(e.Text) + "."
			}
		}
		return ""
	case l.finding.marked():
		return "The runtime marked them as leaked: nothing that can still run can wake them."
	case restart > 0 && x.followed && x.came > 0 && x.went == 0:
		return fmt.Sprintf("%d of %d %s since %s were still there at %s, before the restart.", x.came, x.came, x.began, d.label(s, first), at)
	case !x.followed || x.came == 0 && x.went == 0 && l.finding.Verdict != analysis.Grew && l.finding.Verdict != analysis.New:
		return fmt.Sprintf("The counts alone: %s. Who came and who left is not known.", Rises(x.counts, nil))
	case (l.finding.Verdict == analysis.Grew || l.finding.Verdict == analysis.New) && s.objectOf(l.finding, s.lead(l.finding)) != nil && l.queue == nil:
		if was := *x.counts[first]; was > 0 {
			return fmt.Sprintf("%d of %d that were there at %s still are at %s; %d are new.", max(0, was-x.went), was, d.label(s, first), at, x.came)
		}
		return fmt.Sprintf("None was there at %s; %d are new at %s.", d.label(s, first), x.came, at)
	case l.finding.Verdict == analysis.Grew || l.finding.Verdict == analysis.New:
		if lead := s.lead(l.finding); lead != nil && lead.Life != nil && lead.Life.Followed > 0 {
			return fmt.Sprintf("%d of %d that were there at %s still are at %s; %d are new.", lead.Life.Stayed, lead.Life.Followed, d.label(s, first), at, lead.Life.Born)
		}
	case recovered > 0:
		return fmt.Sprintf("%d of %d %s since %s were still there at %s.", x.came, x.came, x.began, d.label(s, first), at)
	}
	if life := s.life(l.finding); x.went > 0 && life != nil && life.Followed > 0 && l.finding.Object == "" {
		return fmt.Sprintf("%d of %d that could be followed are still there at %s.", life.Stayed, life.Followed, at)
	}
	if x.went == 0 && restart > 0 {
		return fmt.Sprintf("%d of %d %s since %s were still there at %s, before the restart.", x.came, x.came, x.began, d.label(s, first), at)
	}
	if x.went == 0 {
		return fmt.Sprintf("%d of %d %s since %s are still there at %s.", x.came, x.came, x.began, d.label(s, first), at)
	}
	return fmt.Sprintf("%d of %d %s since %s are still there at %s, %d ended.", max(0, x.came-x.went), x.came, x.began, d.label(s, first), at, x.went)
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
	s := &d.r.Series[l.series]
	if at := s.recoveredAt(l.finding); at > 0 {
		until = d.label(s, at)
		if t := d.snapshot(s, at).CapturedAt; t != nil {
			until += ", " + wording.Clock(*t)
		}
	}
	onset := d.onset(s, l.finding)
	first := d.label(s, 0)
	if onset == nil && len(s.Snapshots) == 2 {
		return "between " + first + " and " + d.label(s, 1) + ", or before", until
	}
	if onset == nil {
		return "", until
	}
	if t := d.snapshot(s, 0).CapturedAt; t != nil {
		first += ", " + wording.Clock(*t)
	}
	if onset.Before || onset.From == nil || onset.To == nil {
		return "before the first dump, " + first, until
	}
	return fmt.Sprintf("%s, at most %s earlier", wording.Clock(*onset.To), wording.Duration(onset.To.Sub(*onset.From))), until
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

// noLimit is the limit where the files tell none.
const noLimit = "none is known from these files"

// limit is the limit that is reached first, or that none is near.
func (d *diagnosing) limit(s *Series) string {
	var near, most *Bound
	for i := range s.Bounds {
		b := &s.Bounds[i]
		if b.HoursLeft != nil && b.HoursLeft[0] <= 7*24 && b.Used >= leastUsed*b.Bound && (near == nil || b.HoursLeft[0] < near.HoursLeft[0]) {
			near = b
		}
		if b.Bound > 0 && (most == nil || b.Used/b.Bound > most.Used/most.Bound) {
			most = b
		}
	}
	switch {
	case near != nil:
		return fmt.Sprintf("%s full in %s: %s of %s", near.What, wording.Span(near.HoursLeft[0]), wording.Number(int64(near.Used)), wording.Number(int64(near.Bound)))
	case most != nil:
		return fmt.Sprintf("none near: %s of %s %s", wording.Number(int64(most.Used)), wording.Number(int64(most.Bound)), most.What)
	}
	return noLimit
}

// markedOf is how many members the runtime marked, 0 without a mark.
func (f *Finding) markedOf() (n int) {
	for _, e := range f.Evidence {
		if e.Rule == "leaked_mark" {
			fmt.Sscanf(e.Text, "the runtime marked %d", &n)
		}
	}
	return n
}

// marked reports that the runtime itself called the members leaked.
func (f *Finding) marked() bool {
	return slices.ContainsFunc(f.Evidence, func(e analysis.Evidence) bool { return e.Rule == "leaked_mark" })
}

// perLoad is how many there are for each unit of the load that the finding follows, after a
// colon, "" where no load is told that way.
//
//	": 3 goroutines for each request per second (http_requests_total)"
func (f *Finding) perLoad() string {
	for _, e := range f.Evidence {
		if text, _, scales := strings.Cut(e.Text, ", which went from "); e.Rule == "load" && scales && strings.Contains(text, " per second (") {
			return ": " + text
		}
	}
	return ""
}

// growth is how sure the growth is.
func (d *diagnosing) growth(l answer) *Certainty {
	x := &l.subject
	switch v := l.finding.Verdict; {
	case l.finding.marked():
		return &Certainty{certain, "marked by the runtime"}
	case v == analysis.Leaking && x.followed:
		return &Certainty{certain, "each followed by " + x.identity}
	case v == analysis.Leaking:
		return &Certainty{likely, "by counts alone"}
	case v == analysis.Scaling:
		if d.r.Series[l.series].recoveredAt(l.finding) > 0 {
			return &Certainty{certain, "it rises and falls with the load" + l.finding.perLoad()}
		}
		return &Certainty{certain, "it rises with the load" + l.finding.perLoad()}
	case v == analysis.Stopped && x.followed:
		return &Certainty{certain, "each followed by " + x.identity + ", and no more came"}
	case v == analysis.Suspicious:
		for _, e := range l.finding.Evidence {
			switch e.Rule {
			case "missing":
				return &Certainty{possible, wording.Plural(len(d.r.Series[l.series].Snapshots), "dump is", "dumps are") + " too few to tell"}
			case "span":
				return &Certainty{possible, "the time is short: one more capture in 30 minutes tells a leak from a queue"}
			}
		}
		return &Certainty{possible, "one more capture decides"}
	case x.followed:
		return &Certainty{open, "two ends show that it grew, not that it goes on"}
	}
	return &Certainty{open, "by counts alone, and over too few captures"}
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
	names := processNames(len(d.r.Series), func(i int) *Series { return &d.r.Series[i] })
	for _, o := range d.r.Order {
		if o.First == names[l.series] {
			word := likely
			if o.Level != edge.ByEndpoint {
				word = certain
			}
			return &Certainty{word, names[l.series] + " holds what grew in " + wording.Ands(o.Held)}
		}
	}
	if l.finding.Key != nil && l.finding.Key.By != trend.ByCreator {
		return &Certainty{open, "many functions started them"}
	}
	if o := s.objectOf(l.finding, s.lead(l.finding)); o != nil {
		for _, h := range o.Holders {
			if h.Role == analysis.CreatedBy && h.N > 0 && !family.OfStandardLibrary(h.Type) {
				return &Certainty{likely, fmt.Sprintf("%d of %d were started by %s", h.N, max(h.N, highest(o.Counts)), shortRole(h.Type))}
			}
		}
	}
	if len(l.finding.Stack) == 0 {
		return &Certainty{open, "a listing has no stack"}
	}
	if last := l.finding.Stack[len(l.finding.Stack)-1]; last.CreatedBy && !family.OfStandardLibrary(last.Function) {
		return &Certainty{likely, "started by " + shortRole(last.Function)}
	}
	return &Certainty{open, "the stack shows where they wait, not who should end them"}
}

func highest(counts []*int) int {
	n := 0
	for _, c := range counts {
		if c != nil {
			n = max(n, *c)
		}
	}
	return n
}

// chain is the cause first: what starts them, how many, what each keeps; then what grew in
// other processes.
func (d *diagnosing) chain(l answer, others []answer) []Link {
	var out []Link
	s, x := &d.r.Series[l.series], &l.subject
	if l.queue != nil {
		out = d.queueLinks(l)
	} else if holder := d.holder(l); holder != "" {
		out = append(out, Link{Figure: "1", Noun: holder, Text: "starts them", Series: l.series, Finding: l.finding.Rank})
		if !slices.ContainsFunc(l.finding.Stack, func(f StackFrame) bool { return f.CreatedBy && shortRole(f.Function) == holder }) && !d.started(l, holder) {
			out[0].Text = "holds them"
		}
	}
	n := highest(x.counts)
	out = append(out, Link{Figure: wording.Number(int64(n)), Noun: x.noun(n), Text: d.courseOf(s, x), Series: l.series, Finding: l.finding.Rank})
	if x.each != "" {
		out = append(out, Link{Figure: "each", Noun: x.each, Series: l.series, Finding: l.finding.Rank})
	}
	told := map[int]bool{l.series: true}
	for _, o := range others {
		if told[o.series] || len(out) == mostLinks || !o.finding.Behind && d.r.Series[o.series].Process == s.Process {
			continue // the same program on another host is no victim
		}
		told[o.series] = true
		n := highest(o.subject.counts)
		out = append(out, Link{Figure: wording.Number(int64(n)), Noun: o.subject.noun(n), Text: "in " + d.processOf(o.series) + ", " + d.courseOf(&d.r.Series[o.series], &o.subject), Series: o.series, Finding: o.finding.Rank})
	}
	if len(out) < 2 {
		return nil
	}
	return out
}

// mostLinks is how many cells a chain has.
const mostLinks = 4

func (s *subject) noun(n int) string { return wording.Fit(n, s.one, s.many) + s.place }

func (d *diagnosing) courseOf(s *Series, x *subject) string {
	epochs := make([]int, len(s.Snapshots))
	for i := range epochs {
		epochs[i] = d.epoch(s, i)
	}
	return Rises(x.counts, epochs)
}

// next is one action, with a command where one can be copied.
func (d *diagnosing) next(l answer) *Action {
	s := &d.r.Series[l.series]
	out := &Action{Text: l.finding.Next}
	switch v := l.finding.Verdict; {
	case v == analysis.Scaling:
		out.Text = "Nothing to mend: it follows its load."
	case s.recoveredAt(l.finding) > 0:
		out.Text = d.lookBefore(s, s.recoveredAt(l.finding))
	case v == analysis.Stopped:
		out.Text = fmt.Sprintf("It stands. Look again when there are more than %d.", highest(l.subject.counts))
	case v == analysis.Grew || v == analysis.New:
		out.Text = wording.Capital(d.decisive(l)) + ": if more come and none ends, it is a leak."
	case l.subject.remedy != "" && s.recoveredAt(l.finding) < 0:
		out.Text = l.subject.remedy
	}
	if key := l.finding.Key; out.Text == "" && (key == nil || key.By == trend.ByCreator) {
		out.Text = startedAt(l.finding.Stack)
	}
	if v := l.finding.Verdict; v == analysis.Grew || v == analysis.New || v == analysis.Suspicious {
		out.Command = d.collect(s, d.decidesIn(l))
	}
	switch {
	case out.Text == "" && out.Command == "":
		return nil
	case out.Text == "":
		out.Text = "Five more captures: " + d.decisive(l) + ":"
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

// lookBefore says in which logs the end of what held a subject is found.
func (d *diagnosing) lookBefore(s *Series, at int) string {
	from, to := d.snapshot(s, at-1).CapturedAt, d.snapshot(s, at).CapturedAt
	if from == nil || to == nil {
		return fmt.Sprintf("Look in the logs between %s and %s: what ended there held them.", d.label(s, at-1), d.label(s, at))
	}
	return fmt.Sprintf("Look in the logs between %s and %s: what ended there held them.", wording.Clock(*from), wording.Clock(*to))
}

// nextOfOne is the capture that decides where each process has one dump, or nil.
func (d *diagnosing) nextOfOne() *Action {
	if state := d.quietState(); state == "deadlock" {
		for i := range d.r.Series {
			if next := d.r.Series[i].untie(); next != nil {
				return next
			}
		}
	} else if state != "one dump" && state != "one dump each" {
		return nil
	}
	s := &d.r.Series[d.r.seriesInOrder()[0]]
	if crash := d.crash(s); crash != nil {
		return &Action{Text: capital(crash.Hint) + "."}
	}
	return &Action{Text: "One dump cannot say what grows. Five in two minutes decide:", Command: d.collect(s, 0)}
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

func (d *diagnosing) also(others []answer) (words []string, more int) {
	for i, o := range others {
		if i == mostAlso {
			return words, len(others) - i
		}
		if text := d.alsoText(o); !slices.Contains(words, text) {
			words = append(words, text)
		}
	}
	return words, 0
}

func (d *diagnosing) alsoText(o answer) string {
	s := &d.r.Series[o.series]
	text := o.subject.all() + " " + d.courseOf(s, &o.subject)
	if len(d.r.Series) > 1 {
		text = d.processOf(o.series) + ": " + text
	}
	return text
}

// processOf names the process of a series, with its host where others have the name.
func (d *diagnosing) processOf(series int) string {
	return processNames(len(d.r.Series), func(i int) *Series { return &d.r.Series[i] })[series]
}

// quiet is the sentence where nothing rose: of the first process, with a word about the
// others.
func (d *diagnosing) quiet() string {
	var told [3][]string
	for _, i := range d.r.seriesInOrder() {
		s := &d.r.Series[i]
		if text, place := d.quietly(s); s.Process != "" || i == 0 || place != placeRest {
			told[place] = append(told[place], text)
		}
	}
	all := slices.Concat(told[placeRose], told[placeSeveral], told[placeRest])
	if len(all) == 0 {
		text := []rune(wording.NothingRead(d.r.Problems))
		return string(text[:min(len(text), longest)])
	}
	tail := ""
	if n := len(all) - 1; n > 0 {
		tail = "; " + wording.Plural(n, "more process was read", "more processes were read")
	}
	return shortened(all[0], longest-len(tail)-1) + tail + "."
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

// The positions of a process in the sentence of a case where nothing rose: a total rose,
// several snapshots or a queue in one, the rest.
const (
	placeRose = iota
	placeSeveral
	placeRest
)

// quietly words a series in which no finding rose, without a full stop.
func (d *diagnosing) quietly(s *Series) (text string, place int) {
	if text := s.deadlock(); text != "" {
		return text, placeRose
	}
	in, of := s.place("in"), s.place("of")
	if len(s.Snapshots) == 1 {
		if d.queued(s) != "" {
			return d.alone(s), placeSeveral // a process in which many wait comes before the others
		}
		return d.alone(s), placeRest
	}
	kind, totals := d.leading(s)
	switch aside, _ := s.setAside(); {
	case kind == "":
		return s.before(fmt.Sprintf("nothing can be counted in %d dumps", len(s.Snapshots))), placeRest
	case !d.comparable(s) || strings.HasPrefix(s.Quiet, "Nothing can be said"):
		return s.before(d.nothing(s, kind, totals)), placeRest
	case len(aside) > 0:
		return fmt.Sprintf("Nothing else grows%s: %s hidden by a person", in, wording.Plural(len(aside), "group that grows was", "groups that grow were")), placeSeveral
	}
	for _, t := range s.TotalsRisen {
		return fmt.Sprintf("%s%s grew from %d to %d: %s", wording.Capital(wording.Kinds(t.Kind)), of, t.From, t.To, strings.TrimSuffix(t.spread(), ".")), placeRose
	}
	course := d.course(s, kind, totals, "")
	if slices.ContainsFunc(s.Families, func(f Family) bool { return f.SetAside != nil && f.Verdict == analysis.Stable }) {
		return "No leak: what grows" + in + " is known and normal; " + course, placeSeveral
	}
	if first, top := ends(totals); first >= 0 && top == lastKnown(totals) && *totals[top] > *totals[first] {
		course += ", " + noise(*totals[first], *totals[top])
	}
	return "Nothing grew" + in + ": " + course, placeSeveral
}

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
	if d.snapshot(s, 0).bounded(kind) {
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
