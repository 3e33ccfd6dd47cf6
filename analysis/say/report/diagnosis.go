package report

import (
	"fmt"
	"slices"
	"strings"

	"leakdiff/analysis"
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
	// Together are the findings of all processes that it is about, where a limit counts them
	// together and none of them uses most of it. Claims are then sums.
	Together []FindingRef `json:"together,omitempty"`
	// Holder names what started them or holds them.
	Holder string `json:"holder,omitempty"`
	// Chain is the cause and what hangs on it, the cause first.
	Chain []Link `json:"chain,omitempty"`
	// Proof, Since, Until, Rate and Limit are words for one line each. Proved is what Proof
	// begins with where it is "58 of 58".
	Proof  string `json:"proof,omitempty"`
	Proved string `json:"proved,omitempty"`
	Since  string `json:"since,omitempty"`
	Until  string `json:"until,omitempty"`
	Rate   string `json:"rate,omitempty"`
	Limit  string `json:"limit,omitempty"`
	// Beside tells what else moved: signals above the threshold of a field report, memory.
	Beside string     `json:"beside,omitempty"`
	Growth *Certainty `json:"growth_certainty,omitempty"`
	Cause  *Certainty `json:"cause_certainty,omitempty"`
	// Steps are what to do, at most three. Next is the first one.
	Steps []Action `json:"steps,omitempty"`
	// Operated reports steps for those who run the program. Who writes it has others.
	Operated bool    `json:"operated,omitempty"`
	Next     *Action `json:"next,omitempty"`
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

// longest is the bound of a sentence in characters.
const longest = 160

// Diagnose makes the diagnosis of a report whose findings, order and edges are made.
func (r *Report) Diagnose(nouns noun.List) Diagnosis {
	d := r.diagnosing(nouns)
	leads := d.leads()
	full := d.saturated() >= 0 && (len(leads) == 0 || leads[0].finding.Verdict != analysis.Leaking)
	locked := d.deadlocked(leads)
	if i := d.dead(); len(leads) == 0 || full || locked || i >= 0 && i == leads[0].series {
		out := d.unaccused()
		if full || locked {
			out.Also, out.More = d.also(answer{series: -1, finding: &Finding{}}, leads)
		}
		return out
	}
	shared := d.together(leads)
	l := leads[0]
	out := Diagnosis{Verdict: r.worst(), State: d.state(l), Series: &l.series, Finding: l.finding.Rank, Together: shared, Holder: d.holder(l), Sentence: d.sentence(l, leads[1:]), Claims: &l.claims}
	s := &r.Series[l.series]
	if o := s.objectOf(l.finding, s.lead(l.finding)); o != nil && l.queue == nil {
		out.Object = o.ID
	}
	out.Proved, out.Proof = d.proof(l)
	out.Rate = d.rate(l)
	out.Since, out.Until = d.since(l)
	out.LimitClaim = s.nearest()
	out.Limit, out.Beside = d.limitOf(l, out.LimitClaim), d.besides(l.series)
	out.Growth, out.Cause = d.growth(l), d.cause(l)
	out.Chain = d.chain(l, leads[1:])
	next, ofCode := d.next(l)
	out.Operated = ofCode && s.Project != "" && accusing(l.finding.Verdict)
	if out.Steps = d.steps(l, d.doThere(l, next), ofCode); len(out.Steps) > 0 {
		out.Next = &out.Steps[0]
	}
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

// state is what became of the subject: "leaking", "leaking until t7".
func (d *diagnosing) state(l answer) string {
	s := &d.r.Series[l.series]
	if at := l.claims.until(); at >= 0 {
		return string(l.claims.State) + " until " + d.label(s, at)
	}
	if l.tied(s) && l.claims.RestartedAt <= 0 {
		return string(Deadlock) // of which the growth is a consequence
	}
	return string(l.claims.State)
}

// sentence is the first wording that fits, from the fullest to the shortest. Of the same
// program on other hosts it says on how many it does the same.
func (d *diagnosing) sentence(l answer, others []answer) string {
	tail := d.r.Series[l.series].owner()
	if n := d.hostsLike(l, others); n > 0 {
		tail += "; the same on " + wording.Plural(n, "more host", "more hosts")
	} else if n := d.replicas(l.series); n > 1 && !slices.ContainsFunc(others, func(o answer) bool { return o.series != l.series }) {
		tail += fmt.Sprintf(", on %s alone of %d replicas", wording.Printable(*d.r.Series[l.series].Host), n)
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
	} else if l.pool != nil && l.pool.Open > 0 {
		out = append(out, Link{Figure: wording.Number(int64(l.pool.Open)), Noun: wording.Fit(l.pool.Open, "open transaction", "open transactions"), Text: "keep its connections", Series: l.series, Finding: l.finding.Rank})
	} else if l.pool != nil {
		out = append(out, Link{Figure: "1", Noun: d.holder(l), Text: "all are taken", Series: l.series, Finding: l.finding.Rank})
	} else if a := l.finding.Ahead; a != nil {
		link := a.link()
		link.Series, link.Finding = l.series, l.finding.Rank
		out = append(out, link)
	} else if f, stopped := d.stoppedBefore(l); f != nil {
		out = append(out, Link{Figure: wording.Number(int64(f.Counts.Last())), Noun: stopped.noun(f.Counts.Last()), Text: "stand since " + d.label(s, *f.Life.StandsSince), Series: l.series, Finding: l.finding.Rank})
	} else if n := l.children.Last(); l.children != nil {
		out = append(out, Link{Figure: wording.Number(int64(n)), Noun: "zombies", Text: RiseOf(l.children, nil).Text(), Series: l.series, Finding: l.finding.Rank})
	} else if holder := d.holder(l); holder != "" {
		out = append(out, Link{Figure: "1", Noun: holder, Text: "starts them", Series: l.series, Finding: l.finding.Rank})
		if !slices.ContainsFunc(l.finding.Stack, func(f StackFrame) bool { return f.CreatedBy && shortRole(f.Function) == holder }) && !d.started(l, holder) {
			out[len(out)-1].Text = "holds them"
		}
	}
	n, own := x.counts.Highest(), d.courseOf(s, x)
	noun := x.noun(n)
	if l.pool != nil {
		noun, _, _ = strings.Cut(noun, " for ") // the pool stands above it
	}
	out = append(out, Link{Figure: wording.Number(int64(n)), Noun: noun, Text: own.Text(), Course: &own, Series: l.series, Finding: l.finding.Rank})
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
