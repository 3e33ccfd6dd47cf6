package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"leakdiff/analysis"
	"leakdiff/analysis/say/report"
	"leakdiff/analysis/say/wording"
	"leakdiff/web/chart"
)

// topFamily is the worst family that grows, one that a person called benign only where
// no other does; nil where none does.
func topFamily(s *report.Series) *report.Family {
	var out *report.Family
	for i := range s.Families {
		f := &s.Families[i]
		if !grows(f.Verdict) {
			continue
		}
		if out != nil && out.Benign() != f.Benign() {
			if out.Benign() {
				out = f
			}
			continue
		}
		if out == nil || f.Verdict.Rank() < out.Verdict.Rank() || f.Verdict.Rank() == out.Verdict.Rank() && kindRank(f.Kind) < kindRank(out.Kind) {
			out = f
		}
	}
	return out
}

func kindRank(k analysis.Kind) int { return slices.Index(analysis.Kinds(), k) }

// placedFinding is a finding with its series.
type placedFinding struct {
	series int
	f      *report.Finding
	rank   int
	// below are those that stand behind it.
	below []placedFinding
}

// The ranks of findings of all processes of a case: what grows, what the capture adds,
// and what is merely so.
const (
	causeRank = iota
	observerRank
	factRank
)

// answers is the place of a finding in the answer of the case: 0 of what it is about, then those
// of its chain, then all others.
func (m *caseMaker) answers(p placedFinding) int {
	d := &m.in.Report.Diagnosis
	if d.Series != nil && *d.Series == p.series && d.Finding == p.f.Rank {
		return 0
	}
	for i, l := range d.Chain {
		if l.Series == p.series && l.Finding == p.f.Rank {
			return i + 1
		}
	}
	return len(d.Chain) + 1
}

// ranked are the findings of series in the order in which they are told: the answer's first, those
// that another process was seen to hold behind the others of their rank. Else they keep the order
// of their process.
func (m *caseMaker) ranked(series []int) []placedFinding {
	var out []placedFinding
	for _, i := range series {
		s := &m.in.Report.Series[i]
		for k := range s.Findings {
			f := &s.Findings[k]
			rank := causeRank
			switch {
			case f.Kind == report.ObserverFinding:
				rank = observerRank
			case f.Kind == report.FactFinding || f.Kind == report.LimitFinding || f.Kind == report.SaturatedFinding || f.Kind == report.NoLeakFinding:
				rank = factRank
			}
			out = append(out, placedFinding{series: i, f: f, rank: rank})
		}
	}
	held := func(p placedFinding) int {
		if p.f.Behind {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(out, func(a, b placedFinding) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), m.answers(a)-m.answers(b), held(a)-held(b))
	})
	return m.folded(out)
}

func (m *caseMaker) findings(c *Case) {
	growing, rose, aged, aside, all := 0, 0, 0, 0, 0
	list := m.ranked(m.page)
	c.Before = m.before
	for _, r := range list[:min(len(list), maxFindings)] {
		number := m.before + len(c.Findings) + 1
		found := m.finding(&m.in.Report.Series[r.series], r.series, r.f, number)
		found.Behind, found.Answered = m.below(r.below, number), m.number < 2 && m.answers(r) == 0
		c.Findings = append(c.Findings, found)
	}
	m.listed(c, list[len(c.Findings):])
	found := 0
	for i := range m.in.Report.Series {
		found += len(m.in.Report.Series[i].Findings)
	}
	for _, i := range m.page {
		s := &m.in.Report.Series[i]
		if s.Quiet != "" {
			c.Quiet = append(c.Quiet, named(s)+": "+Visible(s.Quiet))
		}
		if len(s.Limits) > 0 {
			c.Doubts = append(c.Doubts, Pair{Name: named(s), Value: Visible(strings.Join(s.Limits, " "))})
		}
		for k := range s.SetAside {
			c.SetAside = append(c.SetAside, m.setAside(s, &s.SetAside[k]))
		}
	}
	for i := range m.in.Report.Series {
		s := &m.in.Report.Series[i]
		all += len(s.Families)
		for k := range s.Families {
			f := &s.Families[k]
			switch {
			case !f.Verdict.Rose():
			case f.Benign():
				aside++
			case len(s.Snapshots) < 2:
				aged++
			case f.Verdict.Rank() <= analysis.Scaling.Rank():
				growing++
			default:
				rose++
			}
		}
	}
	switch n := int64(found); {
	case n > 0 && m.number > 0:
		c.FindingsNote = fmt.Sprintf("%s, %s of them of the processes of this page, worst first.", wording.PagePlural(n, "finding", "findings"), wording.Exact(int64(len(list))))
	case n > 1 && growing > 0:
		c.FindingsNote = fmt.Sprintf("%d findings: what grows, worst first, then what may hold it and what follows.", n)
	case n > 0:
		c.FindingsNote = wording.PagePlural(n, "finding", "findings") + "."
	}
	c.Rising = risingWords(growing, rose, aged, aside, all, m.single())
}

// risingWords counts what grows, what rose without accusing anybody, and of processes with
// one snapshot, of which nothing can be seen to grow, what the ages of the members say
// instead. Those set aside are told apart.
func risingWords(growing, rose, aged, aside, all int, single bool) string {
	if all == 0 {
		return ""
	}
	if aside > 0 {
		return asideWords(growing+rose, aged, aside, all, single)
	}
	families := wording.PagePlural(int64(all), "family", "families")
	alike := fmt.Sprintf("%d of %s %s like a leak by the ages of %s members.", aged, families, plainPlural(aged, "looks", "look"), plainPlural(aged, "its", "their"))
	text := fmt.Sprintf("%d of %s grow", growing, families)
	switch {
	case single && aged == 0:
		return fmt.Sprintf("None of %s looks like a leak by the ages of its members.", families)
	case single:
		return alike
	case growing == 0 && rose == 0:
		text = fmt.Sprintf("None of %s grew", families)
	case growing == 0:
		text = fmt.Sprintf("%d of %s rose", rose, families)
	case rose > 0:
		text += fmt.Sprintf(", %d more rose", rose)
	}
	if aged > 0 {
		return text + ". " + alike
	}
	return text + "."
}

// asideWords is risingWords where a person called some of what grows benign.
func asideWords(growing, aged, aside, all int, single bool) string {
	grow := "grow"
	if single {
		grow = "look like a leak by the ages of their members"
	}
	text := fmt.Sprintf("%d of %s %s, ", growing+aged+aside, wording.PagePlural(int64(all), "family", "families"), grow)
	switch rest := growing + aged; {
	case rest > 0:
		return text + fmt.Sprintf("%d of them marked benign by a person.", aside)
	case aside == 1:
		return text + "which a person marked benign."
	}
	return text + "all of them marked benign by a person."
}

func (m *caseMaker) finding(s *report.Series, series int, f *report.Finding, number int) CaseFinding {
	out := CaseFinding{
		Number: itoa(int64(number)), Anchor: fmt.Sprintf("f-%d", number), Verdict: f.Mark(),
		Title: Visible(arrow(f.Title)), Text: Visible(arrow(f.Text)), Next: Visible(f.Next), Process: named(s),
	}
	byPrint := map[string]*report.Family{}
	for i := range s.Families {
		byPrint[s.Families[i].Fingerprint] = &s.Families[i]
	}
	for i, fp := range f.Families {
		family := byPrint[fp]
		if family == nil {
			continue
		}
		out.Families = append(out.Families, Link{Text: Visible(arrow(family.Title)), URL: m.live(m.familyURL(s, fp))})
		if i > 0 {
			continue
		}
		evidence, counts := f.Evidence, f.Counts
		if counts == nil {
			counts = family.Counts
		}
		if evidence == nil {
			evidence = family.Evidence
		}
		if f.Kind != report.HolderFinding && f.Kind != report.ObserverFinding {
			// What a holder's own counts show says nothing about what it holds, and those
			// of the capture's families are told together.
			m.evidence(&out, evidence)
		}
		if f.Unit == "" {
			out.Kind = kindWord(family.Kind.Worded(family.Attributes), 2)
		}
		if family.Unit != nil {
			out.Unit = Visible(*family.Unit)
		}
		if f.Kind != report.HolderFinding && counts != nil {
			lower := m.lower(s, kindsOf(s, func(fp string) bool { return slices.Contains(f.Families, fp) })...)
			out.spark(fmt.Sprintf("fs-%d-%d", series, number), m.labels(s), counts, lower, m.restarts(s))
		}
	}
	if f.Versions != nil {
		for i := range f.Versions.Rows {
			cells := f.Versions.Rows[i].Cells()
			for k := range cells {
				cells[k] = Visible(cells[k])
			}
			out.Versions = append(out.Versions, cells)
		}
	}
	out.Triage, out.TriageText = triaged(marksOf(f, byPrint))
	if len(f.Families) > 0 {
		known := m.in.Memories[f.Families[0]]
		out.Memory = known.Sentence()
	}
	for _, class := range f.Classes {
		out.Classes = append(out.Classes, Visible(class))
	}
	out.Stack = newStack(m.traces.Of(f, func(id string) string {
		if snap := m.snapshots[id]; snap != nil {
			return snap.Label
		}
		return id
	}), nil)
	m.advice(&out, s, f)
	if u := unitOf(s, f.Unit); u != nil {
		if out.Unit = Visible(u.ID); f.Object == "" { // else what one keeps stands in the title
			out.Each = each(u)
		}
	}
	m.shares(&out, s, series, f, byPrint)
	out.Object = m.objectLink(s, f)
	return out
}

func marksOf(f *report.Finding, byPrint map[string]*report.Family) []*analysis.Triage {
	var out []*analysis.Triage
	for _, print := range f.Families {
		if family := byPrint[print]; family != nil {
			out = append(out, family.Triage)
		}
	}
	return out
}

// setAside tells a finding that somebody called benign in a line.
func (m *caseMaker) setAside(s *report.Series, f *report.Finding) CaseAside {
	out := CaseAside{Title: Visible(arrow(f.Title)), Process: named(s), Verdict: f.Mark()}
	var marks []*analysis.Triage
	for i := range s.Families {
		if family := &s.Families[i]; slices.Contains(f.Families, family.Fingerprint) {
			marks = append(marks, family.Triage)
			out.Families = append(out.Families, Link{Text: Visible(arrow(family.Title)), URL: m.live(m.familyURL(s, family.Fingerprint))})
		}
	}
	_, out.Text = triaged(marks)
	out.Text = Visible(out.Text)
	return out
}

// evidence puts the first three reasons into cells, but those that the running text has.
func (m *caseMaker) evidence(out *CaseFinding, evidence []report.Evidence) {
	for _, e := range evidence {
		p := Pair{Name: ruleWord(e.Rule), Value: Visible(arrow(e.Text))}
		switch {
		case e.Told:
		case len(out.Evidence) < 3:
			out.Evidence = append(out.Evidence, p)
		default:
			out.MoreEvidence = append(out.MoreEvidence, p)
		}
	}
}

func capital(s string) string {
	if s == "" {
		return ""
	}
	first, size := utf8.DecodeRuneInString(s)
	if word, _, _ := strings.Cut(s, " "); first == utf8.RuneError || strings.ContainsAny(strings.TrimRight(word, ".,:;"), "_.(*/") {
		return s // a name of the program: with a capital it is another one
	}
	return string(unicode.ToUpper(first)) + s[size:]
}

// ruleWord is an evidence rule as a label: "rose_once" gives "Rose once".
func ruleWord(rule string) string { return capital(strings.ReplaceAll(Visible(rule), "_", " ")) }

// spark draws a finding's counts and tells their course: of those that are no lower
// bounds, and of two at least, as one alone has none.
func (f *CaseFinding) spark(id string, labels []string, all analysis.Counts, lower []bool, epochs []int) {
	counts := whole(all, lower)
	first, top := counts.FirstAt(), counts.HighestAt()
	if first < 0 || len(labels) < 2 {
		return
	}
	f.Spark = &chart.SparkData{ID: id, Labels: labels, Values: all, A: -1, B: -1, Large: true, Epochs: epochs, Lower: lower, Calm: unaccused(f.Verdict)}
	if len(epochs) > 0 {
		f.Course = course(counts, epochs)
	}
	f.From, f.Peak, f.To = wording.Number(int64(counts[first].N)), wording.Number(int64(counts[top].N)), wording.Number(int64(counts.Last()))
}
