package view

import (
	"cmp"
	"net/url"
	"slices"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/diff"
	"leakdiff/analysis/say/filter"
	"leakdiff/analysis/say/report"
)

// tools are the controls above the tables.
func (m *diffMaker) tools(d *Diff) {
	d.Figures = m.columns.words(&m.in.Baseline)
	d.Stacks = m.in.Query.Get("stacks")
	if d.Stacks != "split" && d.Stacks != "unified" {
		d.Stacks = ""
	}
	if m.in.Frozen {
		return
	}
	in := &m.in
	d.Swap = m.swap()
	choices, more := fewChoices(in.Snapshots, d.A.ID, d.B.ID)
	d.Choices, d.MoreChoices = groupChoices(choices), more
	d.Split, d.Unified = m.here.with("stacks", "split"), m.here.with("stacks", "unified")
	d.Box.Hidden = m.here.hidden("q", "open")
	d.Shows = m.here.shows(m.columns.show)
	both := func(l *Load) bool { return l.Values[in.Result.A.ID] > 0 && l.Values[in.Result.B.ID] > 0 }
	if slices.ContainsFunc(in.Loads, func(l Load) bool { return both(&l) }) {
		d.Pers = m.here.pers(in.Loads, m.columns.load, both)
	}
	d.Baseline = m.baseline()
	d.Several = "/compare?" + url.Values{"case": {in.CaseID}, "series": {m.key}}.Encode()
	d.Elsewhere = "/diff-other?" + url.Values{"case": {in.CaseID}, "b": {in.Result.B.ID}}.Encode()
}

// applied says what was chosen of the page: "Filter func:prober: 3 of 77 families
// pass. Sorted by New, descending."
func (m *diffMaker) applied(box *FilterBox) string {
	var words []string
	if box.Text != "" && box.Error == "" {
		words = append(words, "Filter "+box.Text+": "+box.Note)
	}
	if m.kind != "" {
		words = append(words, "Only "+kindWord(m.kind, 2)+".")
	}
	if by, down := m.sorting(); by != "" {
		order := "ascending"
		if down {
			order = "descending"
		}
		words = append(words, "Sorted by "+sortWord(by)+", "+order+".")
	}
	if figures := m.columns.words(&m.in.Baseline); figures != "" {
		words = append(words, "A and B: "+figures+"; Δ in members.")
	}
	return strings.Join(words, " ")
}

// rows returns those that pass the filter, sorted within their sections.
func (m *diffMaker) rows(box *FilterBox) []diff.Row {
	out := make([]diff.Row, 0, len(m.in.Result.Rows))
	of := 0
	for _, r := range m.in.Result.Rows {
		if r.Family == nil || m.kind != "" && r.Family.Kind != m.kind {
			continue
		}
		of++
		if m.asked.Empty() || m.asked.Match(m.facts(&r)) {
			out = append(out, r)
		}
	}
	box.unknown(m.asked, "the time between A and B is not known, or nobody can be followed", m.unknownFields()...)
	box.passed(len(out), of)
	by, down := m.sorting()
	if by == "" {
		return out
	}
	slices.SortStableFunc(out, func(x, y diff.Row) int {
		n := m.compare(x, y, by)
		if down {
			n = -n
		}
		return n
	})
	return out
}

func (m *diffMaker) unknownFields() []filter.Field {
	if m.hours(m.mainKind()) > 0 {
		return nil
	}
	return []filter.Field{filter.Growth}
}

// hours is the time from A to B in which a kind may have grown, 0 where it is not
// known.
func (m *diffMaker) hours(k analysis.Kind) float64 {
	a, b := m.in.Result.A, m.in.Result.B
	from, to := a.CapturedAt, b.CapturedAt
	if at, ok := a.Times[k]; ok {
		from = at
	}
	if at, ok := b.Times[k]; ok {
		to = at
	}
	if from.IsZero() || to.IsZero() || !m.in.Result.Followed {
		return 0
	}
	return max(0, to.Sub(from).Hours())
}

// facts returns what the page knows of a family, for filters.
func (m *diffMaker) facts(r *diff.Row) *filter.Facts {
	f := r.Family
	facts := &filter.Facts{
		Title: m.title(f), Kind: f.Kind, Frames: f.Loose, Creator: f.LooseCreator, Attributes: f.Attributes, States: r.StatesB,
		Verdict: m.in.Verdicts[f.Fingerprint].Verdict, Rules: rulesOf(m.in.Verdicts[f.Fingerprint].Evidence),
		Process: m.in.Result.B.Process.Name.Value, Count: filter.Known(float64(r.B)),
	}
	if facts.States == nil {
		facts.States = r.StatesA
	}
	if len(m.cut(f.Kind)) == 0 {
		facts.Delta = filter.Known(float64(r.Delta))
		if hours := m.hours(f.Kind); hours > 0 {
			facts.Growth = filter.Known(float64(r.Delta) / hours)
		}
	}
	if r.OldestWait >= 0 {
		facts.Wait = filter.Known(float64(r.OldestWait))
	} else if m.wait(*r) != "n/a" {
		facts.Wait = filter.Known(0)
	}
	if known := m.families[f.Fingerprint]; known != nil {
		in := report.FactsOf(known)
		facts.Classes, facts.Unit, facts.Triage, facts.Marked = in.Classes, in.Unit, in.Triage, in.Marked
	}
	if m.asked.Uses(filter.Label) {
		for i, n := range m.counts(f.Fingerprint) {
			if n.Any() && i < len(m.in.Labels) {
				facts.Labels = append(facts.Labels, m.in.Labels[i])
			}
		}
	}
	if m.asked.Uses(filter.FD) || m.asked.Uses(filter.Inode) {
		if g := cmp.Or(m.groupOfB(f.Fingerprint), report.GroupOf(m.in.Result.A, f.Fingerprint)); g != nil {
			facts.Members = &g.Members
		}
	}
	return facts
}

func (m *diffMaker) title(f *analysis.Family) string {
	if t := m.in.Titles[f.Fingerprint]; t != "" {
		return t
	}
	return f.Title
}

// sortWord is an order that an address may ask for, in words; "" for any other.
func sortWord(by string) string {
	switch by {
	case "name", "new", "gone":
		return by
	case "a", "b":
		return strings.ToUpper(by)
	case "delta":
		return "Δ"
	case "wait":
		return "oldest wait"
	}
	return ""
}

func (m *diffMaker) sorting() (by string, down bool) {
	by = m.in.Query.Get("sort")
	if sortWord(by) == "" {
		return "", false
	}
	if dir := m.in.Query.Get("dir"); dir != "" {
		return by, dir == "desc"
	}
	return by, by != "name"
}

func (m *diffMaker) compare(x, y diff.Row, by string) int {
	switch by {
	case "a":
		return cmp.Compare(x.A, y.A)
	case "b":
		return cmp.Compare(x.B, y.B)
	case "new":
		return cmp.Compare(x.New, y.New)
	case "gone":
		return cmp.Compare(x.Gone, y.Gone)
	case "wait":
		return cmp.Compare(x.OldestWait, y.OldestWait)
	case "name":
		return cmp.Compare(m.title(x.Family), m.title(y.Family))
	}
	return cmp.Compare(x.Delta, y.Delta)
}

func (m *diffMaker) heads() []DiffHead {
	by, down := m.sorting()
	head := func(text, key, mark string) DiffHead {
		h := m.here.order(text, key, by, down, "delta")
		h.Mark = mark
		return h
	}
	return []DiffHead{
		head("Family", "name", ""), {Text: m.spreadName()}, head("A", "a", "a"), head("B", "b", "b"), head("Δ", "delta", ""),
		{Text: "%", Numeric: true}, head("New", "new", ""), head("Gone", "gone", ""), {Text: "Surv.", Numeric: true}, head("Oldest wait", "wait", ""), {Text: "Verdict"},
	}
}

func (m *diffMaker) spreadName() string {
	if len(m.in.Labels) < 2 {
		return "Over time"
	}
	s := Visible(m.in.Labels[0]) + " to " + Visible(m.in.Labels[len(m.in.Labels)-1])
	if len([]rune(s)) > 13 { // the column is no wider
		return "Over time"
	}
	return s
}

// DiffFilter returns what the filter of a comparison's address lets pass; a Fault with
// Code "bad_request" where it is not understood.
func DiffFilter(in DiffInput) (func(diff.Row) bool, error) {
	m := diffMaker{in: in, kind: analysis.Kind(in.Query.Get("kind"))}
	asked, err := filter.Parse(in.Query.Get("q"))
	if err != nil {
		return nil, filterFault(err)
	}
	m.asked = asked
	if !slices.Contains(analysis.Kinds(), m.kind) {
		m.kind = ""
	}
	m.prepare()
	return func(r diff.Row) bool {
		return (m.kind == "" || r.Family.Kind == m.kind) && (asked.Empty() || asked.Match(m.facts(&r)))
	}, nil
}

// rulesOf are the rules of evidence.
func rulesOf(all []analysis.Evidence) (rules []string) {
	for _, e := range all {
		rules = append(rules, e.Rule)
	}
	return rules
}
