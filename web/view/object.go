package view

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/say/document"
	"leakdiff/analysis/say/report"
	"leakdiff/analysis/say/wording"
	"leakdiff/web/chart"
)

// ObjectInput is the input of the page of a kind of objects. IDs, Times and Epochs
// have an entry for each snapshot of the series.
type ObjectInput struct {
	CaseID, CaseTitle string
	// SeriesKey names the series in addresses.
	SeriesKey string
	Objects   report.ObjectMembership
	IDs       []string
	Times     []time.Time
	// Taken is as of FamilyInput.
	Taken []time.Time
	// Places are those of the snapshots among all captures, nil where all are judged.
	Places []int
	Epochs []int
	// SnapshotIndex is the snapshot that the members are of.
	SnapshotIndex int
	// Families are those of the series.
	Families []report.Family
	// Code is the stack of the first role.
	Code CodeInput
	// RawURL is the address of a goroutine's lines in its dump, empty for none.
	RawURL func(*report.ObjectPart) string
	Engine string
	Frozen bool
}

// ObjectURL is the address of a kind of objects of a series.
func ObjectURL(id, caseID, series string) string {
	return "/objects/" + url.PathEscape(id) + familyQuery(caseID, series)
}

const (
	maxObjectRows  = 100
	maxObjectParts = 24
	// maxShapeHolders is how many holders the diagram shows.
	maxShapeHolders = 2
)

type objectMaker struct {
	in     ObjectInput
	o      *report.ObjectMembership
	labels []string
	at     string
}

// NewObject makes the page of a kind of objects.
func NewObject(in ObjectInput) Page {
	m := objectMaker{in: in, o: &in.Objects, at: Visible(in.Objects.At)}
	for _, l := range m.o.Snapshots {
		m.labels = append(m.labels, Visible(l))
	}
	title := Visible(m.o.Title(m.in.Epochs))
	name := objectName(&m.o.Object)
	out := Page{Shell: m.shell(name, title)}
	if n := len(m.in.Times); n > 0 {
		out.Shell.Captured = capturedFrom(wording.Time(m.in.Times[0]), wording.Time(m.in.Times[n-1]))
	}
	b := &out.Body
	path, _ := document.FunctionName(m.o.Type)
	sentence := printable(m.o.Process) + strings.TrimPrefix(title, Visible(m.o.Name)) + "."
	b.Add(thingHead(Visible(strings.TrimSuffix(path, ".")), brokenName(name), chipText(string(m.o.Verdict), "", []string{printable(m.o.Process), "objects"}), document.Words(sentence)))
	b.Add(keyFigures(m.figures())...)
	b.Add(m.code()...)
	b.Add(m.shape(), m.why())
	var holders []string
	for i := range m.o.Holders {
		holders = append(holders, Visible(m.o.Holders[i].Text()))
	}
	if len(holders) > 0 {
		b.Add(document.NewSection("h-hold", "Held by", "", seenList(slices.Compact(holders))))
	}
	families, inStep := m.families()
	b.Add(kinSection("h-fams", "Its families", "", families)...)
	b.Add(kinSection("h-step", "In step", "Equal numbers alone: no identity shows that these belong to the objects.", inStep)...)
	b.Add(m.folds())
	return out
}

func (m *objectMaker) shell(name Func, headline string) Shell {
	s := Shell{Title: name.Path + name.Name + ", " + printable(m.o.Process), Description: headline, Section: "cases", Engine: m.in.Engine}
	s.Crumbs = []Link{{"Cases", "/"}, {Visible(m.in.CaseTitle), caseURL(m.in.CaseID)}}
	s.Here = printable(m.o.Process) + ", objects"
	if !m.in.Frozen {
		q := url.Values{"case": {m.in.CaseID}}
		if m.in.SeriesKey != "" {
			q.Set("series", m.in.SeriesKey)
		}
		if at := m.in.SnapshotIndex; at >= 0 && at < len(m.in.IDs) {
			q.Set("at", m.in.IDs[at])
		}
		s.Offer("/objects/"+url.PathEscape(m.o.ID), "?"+q.Encode(), WithoutStacks)
	}
	return s
}

func (m *objectMaker) figures() (out []KeyFigure) {
	at := m.in.SnapshotIndex
	if at >= 0 && at < len(m.o.Counts) && m.o.Counts[at].Known() {
		out = append(out, KeyFigure{Value: wording.Number(int64(m.o.Counts[at].N)), Text: "objects at " + m.at})
		first := at
		for i := at; i >= 0; i-- {
			if m.o.Counts[i].Known() && m.sameEpoch(i, at) {
				first = i
			}
		}
		if first != at {
			out = append(out, KeyFigure{IsChange: true, Delta: m.o.Counts[at].N - m.o.Counts[first].N, Text: "since " + m.labels[first]})
		}
	}
	for _, p := range m.o.Each {
		out = append(out, KeyFigure{Value: wording.Number(int64(p.N)), Text: kindWord(p.Kind, p.N) + " each"})
	}
	if born, known := m.o.BornTotal(); known {
		ended, _ := m.o.EndedTotal()
		out = append(out, KeyFigure{Value: wording.Number(int64(born)), Text: "born"}, KeyFigure{Value: wording.Number(int64(ended)), Text: "ended"})
	}
	for _, f := range []struct {
		n    int
		text string
	}{{m.o.PartsLost, "went on with fewer goroutines"}, {m.o.PartsReplaced, "replaced goroutines"}} {
		if f.n > 0 {
			out = append(out, KeyFigure{Value: wording.Number(int64(f.n)), Text: f.text})
		}
	}
	return out
}

// code is the stack of the first role. A text has it among the stacks of the parts.
func (m *objectMaker) code() document.Blocks {
	c := newCode(m.in.Code, m.at)
	if c == nil {
		return nil
	}
	if first := m.o.FirstStack(); first != nil {
		c.Stack.Caption = eachOf(first.N) + " " + Visible(first.Tail()) + ": " + strings.Replace(c.Stack.Caption, "Stack", "stack", 1)
		if more := len(m.o.Stacks) - 1; more > 0 {
			c.Stack.Note = strings.TrimSpace(c.Stack.Note + " " + wording.PagePlural(int64(more), "more part has its stack", "more parts have theirs") + " below, in Stacks of its parts.")
		}
	}
	if len(m.o.Stacks) > 0 {
		return document.Blocks{document.PageOnly{Blocks: c.blocks()}}
	}
	return c.blocks()
}

func (m *objectMaker) sameEpoch(i, j int) bool {
	return max(i, j) >= len(m.in.Epochs) || m.in.Epochs[i] == m.in.Epochs[j]
}

func (m *objectMaker) restarts() (out []int) {
	for i := 1; i < len(m.in.Epochs); i++ {
		if !m.sameEpoch(i-1, i) {
			out = append(out, i)
		}
	}
	return out
}

// shape draws one object: its holders above, its parts below; and the life of all.
func (m *objectMaker) shape() document.Section {
	d := chart.ShapeData{ID: "shape", Title: "One object and its parts"}
	var seen []string
	for i := range m.o.Holders {
		h := &m.o.Holders[i]
		text := Visible(h.Text())
		if slices.Contains(seen, text) || len(seen) == maxShapeHolders {
			continue
		}
		seen = append(seen, text)
		count, name, _ := strings.Cut(text, " ")
		words, function := name[:strings.LastIndexByte(name, ' ')+1], name[strings.LastIndexByte(name, ' ')+1:]
		d.Holders = append(d.Holders, chart.ShapeBox{Count: count, Name: name, Bare: words + bareName(function), Told: Visible(h.Type)})
	}
	d.Object = chart.ShapeBox{Name: Visible(m.o.Name), Bare: bareName(Visible(m.o.Name)), Told: Visible(m.o.Type)}
	if len(m.o.Each) > 0 {
		d.Object.Count = many(m.o.Each[0].Kind, m.o.Each[0].N)
	}
	for _, p := range m.o.Each {
		for i := range p.Roles {
			r := &p.Roles[i]
			name := Visible(r.Tail())
			d.Parts = append(d.Parts, chart.ShapeBox{Count: eachOf(r.N), Name: name, Bare: bareName(name), Told: Visible(r.Short()), Known: r.Proof()})
		}
	}
	for _, s := range m.o.InStep {
		name := kindWord(s.Kind, 1)
		if f := m.family(s.Fingerprint); f != nil {
			name = Visible(arrow(f.Title))
		}
		full := name
		if word := kindWord(s.Kind, 1); !strings.HasPrefix(name, word) {
			full = word + " " + name
		}
		d.Parts = append(d.Parts, chart.ShapeBox{Count: ratio(s.Ratio) + " ×", Name: name, Bare: name, Told: full, Known: "equal numbers", Step: true})
	}
	note := "What one object is made of"
	if len(d.Holders) > 0 {
		note += "; above, what holds them"
	}
	if len(m.o.InStep) > 0 {
		note += "; dashed: rises in step, by equal numbers alone"
	}
	lead := "One object is all goroutines that belong to one thing of the program: " + m.o.Proof() + "."
	if m.o.Parts() == 0 {
		lead = "One object is one thing of the process with all that belongs to it, " + m.o.Proof() + "."
	}
	parts := document.Table{Head: heads("Each", "Part", "Known by"), Parts: []document.Part{{}}}
	for _, p := range d.Parts {
		parts.Parts[0].Rows = append(parts.Parts[0].Rows, document.Row{Cells: []document.Cell{{Words: p.Count}, {Words: p.Told}, {Words: p.Known}}})
	}
	return document.NewSection("h-shape", "One object", lead,
		document.Group{Look: "cols2", Blocks: document.Blocks{drawn("Shape", note+".", d, d.ID), m.lifelines()}},
		document.TextOnly{Blocks: document.Blocks{parts}}) // a page draws them
}

func eachOf(n int) string { return wording.Number(int64(n)) + " ×" }

// bareName is a short function or type without its package.
func bareName(name string) string {
	_, bare := document.FunctionName(name)
	return bare
}

func (m *objectMaker) family(fingerprint string) *report.Family {
	for i := range m.in.Families {
		if m.in.Families[i].Fingerprint == fingerprint {
			return &m.in.Families[i]
		}
	}
	return nil
}

// lifelines are births and ends, or why none are drawn.
func (m *objectMaker) lifelines() document.Block {
	switch {
	case len(m.labels) < 2:
		return lifelines(nil, "One snapshot has no lifelines: a second one shows which objects stay.")
	case m.o.Threads():
		return lifelines(nil, "A JVM moves its objects, so none can be followed: the pages of their families have the lifelines of the threads.")
	case len(m.o.Lifelines) == 0:
		return lifelines(nil, "No goroutine shows these objects: the pages of their families have the lifelines.")
	}
	life := &chart.LifelinesData{ID: "life", Title: "Objects from birth to last sight", Labels: m.labels, At: m.in.Places, Values: m.o.Counts, RecoveredAt: m.o.RecoveredAt(), What: "objects"}
	for _, l := range m.o.Lifelines {
		life.Lives = append(life.Lives, chart.Life{Name: itoa(l.Root), First: l.First, Last: l.Last})
	}
	note := "One line per object, from birth to last sight; the first of each cohort is named by its first goroutine."
	if more := m.o.LifelinesTotal - len(m.o.Lifelines); more > 0 {
		note += " " + wording.PagePlural(int64(more), "more object is", "more objects are") + " not drawn."
	}
	return lifelines(life, note)
}

// dashAt is a count, a dash where there is none.
func dashAt(counts analysis.Counts, i int) string {
	if i >= len(counts) {
		return orDash(analysis.Count{})
	}
	return orDash(counts[i])
}

// why is the evidence, which is with the families if there is none here, and how objects came
// and went.
func (m *objectMaker) why() document.Section {
	evidence, cannot, decides := reasonsOf(m.o.Evidence)
	out := document.NewSection("h-why", "Over time", "")
	if len(m.o.Evidence) > 0 {
		out.Title = document.Words("Why " + verdictWord(string(m.o.Verdict)))
	}
	if len(evidence) > 0 {
		out.Add(evidenceTerms(evidence))
	}
	out.Add(saidTerms(nil, cannot, decides)...)
	flow := document.Table{
		Look: "data", Label: "Born and ended, by snapshot", Caption: "Objects of each snapshot, those born and ended since the one before",
		Head: heads("Snapshot", "Objects*", "Born*", "Ended*"), Parts: []document.Part{{}},
	}
	for i, label := range m.labels {
		cells := []document.Cell{{Header: true, Text: document.Words(label)}}
		for _, counts := range []analysis.Counts{m.o.Counts, m.o.Born, m.o.Ended} {
			cells = append(cells, document.Cell{Look: "num", Text: document.Words(dashAt(counts, i))})
		}
		flow.Parts[0].Rows = append(flow.Parts[0].Rows, document.Row{Cells: cells})
	}
	counts := chart.MembersData{ID: "objects", Title: "Objects per snapshot", Labels: m.labels, Times: m.in.Times, Taken: m.in.Taken, Values: m.o.Counts, RecoveredAt: m.o.RecoveredAt(), A: -1, B: -1, Epochs: m.restarts(), What: "objects"}
	note := "True time scale"
	for _, mark := range []struct {
		words string
		shown bool
	}{{"dotted: no evidence", len(chart.Gaps(m.in.Times, m.in.Taken)) > 0}, {"blue band: recovery", counts.RecoveredAt >= 0}, {"dashed: restart", len(counts.Epochs) > 0}} {
		if mark.shown {
			note += "; " + mark.words
		}
	}
	// The table beside the chart has its figures for texts.
	over := panel("Objects over time", document.Paragraph{Text: document.Words(note + ".")}, document.Drawing{Chart: counts, Main: true}, pictureLink(counts.ID, "Objects over time"))
	born := panel("Born and ended", document.Paragraph{Text: document.Words("A dash says that nothing came before it, or that it was not captured.")}, flow)
	out.Add(document.Group{Look: "cols2", Blocks: document.Blocks{document.PageOnly{Blocks: document.Blocks{over}}, born}})
	return out
}

// folds are the stacks of the parts, and the objects of the snapshot.
func (m *objectMaker) folds() document.Group {
	var all []AnswerFold
	roles := m.roles()
	if len(m.o.Stacks) > 0 {
		all = append(all, AnswerFold{Key: FoldStacks, Title: "Stacks of its parts", Inside: wording.PagePlural(int64(len(roles.Blocks)), "role", "roles") + ", each with its most frequent stack"})
	}
	list, n := m.list()
	all = append(all, AnswerFold{Key: FoldMembers, Title: "Objects", Inside: wording.PagePlural(int64(n), "row", "rows") + " at " + m.at + ", with their goroutines"})
	return folded(all, func(key string) document.Blocks {
		if key == FoldStacks {
			return document.Blocks{roles}
		}
		return document.Blocks{document.PageOnly{Blocks: document.Blocks{list}}} // ids by the hundred
	})
}

// roles are the parts of each object with their stacks.
func (m *objectMaker) roles() document.Section {
	stacks := map[string]*report.RoleStack{}
	for i := range m.o.Stacks {
		stacks[m.o.Stacks[i].Role] = &m.o.Stacks[i]
	}
	out := document.NewSection("h-roles", "Stacks of its parts", "Each role once, with its most frequent stack at "+m.at+".")
	for _, p := range m.o.Each {
		for i := range p.Roles {
			r := &p.Roles[i]
			name := document.Text{document.Plain(eachOf(r.N) + " "), document.Marked(document.Breakable, Visible(arrow(r.Short())))}
			s := stacks[r.Role]
			if s == nil {
				out.Add(document.Paragraph{Look: "note", Text: name})
				continue
			}
			name[1].Look = document.Mono
			fold := document.Fold{Look: "fold", Open: len(out.Blocks) == 0, Summary: name}
			fold.Say("note", fmt.Sprintf("Stack of %s of %s at %s; %s.", wording.Number(int64(s.Members)), many(p.Kind, s.Of), m.at, r.Proof()))
			fold.Add(roleStack(s, m.in.Code.Version))
			out.Add(fold)
		}
	}
	return out
}

// roleStack is the stack of a role as pages print stacks.
func roleStack(s *report.RoleStack, version string) document.Stack {
	var frames []document.Frame
	for _, f := range s.Stack {
		frame := f.Frame()
		line := linkedFrame(&frame, version)
		line.Creator = f.CreatedBy
		frames = append(frames, line)
	}
	return copiedStack(s.Variant, frames)
}

// families are those of the goroutines, and those that rise by equal numbers.
func (m *objectMaker) families() (own, inStep []CaseShare) {
	var names together
	for _, print := range m.o.Families {
		if f := m.family(print); f != nil {
			own = append(own, CaseShare{Name: m.name(f), Facts: m.facts(f)})
		}
	}
	for _, s := range m.o.InStep {
		if f := m.family(s.Fingerprint); f != nil {
			inStep = append(inStep, CaseShare{Name: m.name(f), Facts: ratio(s.Ratio) + " " + kindWord(s.Kind, int(s.Ratio)) + " each; " + m.facts(f)})
		}
	}
	for i := range own {
		names.add(&own[i].Name, m.o.Families[i])
	}
	names.tellApart()
	return own, inStep
}

func (m *objectMaker) name(f *report.Family) FamilyName {
	n := newFamilyName(f.Title, f.Kind, f.Frames, f.CreatedBy, f.Attributes)
	if !m.in.Frozen {
		n.URL = familyURL(f.Fingerprint, m.in.CaseID, m.in.SeriesKey)
	}
	return n
}

// facts are the numbers of a family and its verdict.
func (m *objectMaker) facts(f *report.Family) string {
	return report.Rises(f.Counts, m.in.Epochs) + " " + kindWord(f.Kind, 2) + ", " + verdictWord(string(f.Verdict))
}

// list are the objects of the snapshot with their goroutines, and their number.
func (m *objectMaker) list() (document.Section, int) {
	table := document.Table{
		Look: "data members", Label: "Goroutines of the objects at " + m.at, Caption: "Objects at " + m.at + " with their goroutines",
		Head: heads("First goroutine*", "First seen", "Last seen", "Goroutines*", "Their ids"), Parts: []document.Part{{}},
	}
	shown := m.o.Members[:min(len(m.o.Members), maxObjectRows)]
	labelled := slices.ContainsFunc(shown, func(o report.ObjectMember) bool { return partLabels(o.Parts) != "" })
	if labelled {
		table.Head = append(table.Head, heads("Labels")...)
	}
	for i := range shown {
		o := &shown[i]
		var ids document.Text
		parts := o.Parts[:min(len(o.Parts), maxObjectParts)]
		for k := range parts {
			id := document.Plain(itoa(parts[k].ID))
			if !m.in.Frozen && m.in.RawURL != nil {
				id.URL = m.in.RawURL(&parts[k])
			}
			ids = append(ids, id, document.Plain(" "))
		}
		more := ""
		if n := o.Goroutines - len(parts); n > 0 {
			more = "and " + wording.Number(int64(n)) + " more"
		}
		cells := []document.Cell{
			{Header: true, Look: "num", Text: document.Words(itoa(o.Root))}, {Text: document.Words(Visible(o.FirstSeen))}, {Text: document.Words(Visible(o.LastSeen))},
			{Look: "num", Text: document.Words(wording.Number(int64(o.Goroutines)))}, {Look: "wrap", Text: append(ids, document.Plain(more))},
		}
		if labelled {
			cells = append(cells, document.Cell{Look: "wrap", Text: document.Text{document.Marked(document.Literal, partLabels(o.Parts))}})
		}
		table.Parts[0].Rows = append(table.Parts[0].Rows, document.Row{Cells: cells})
	}
	out := document.NewSection("h-mem", "Objects at "+m.at, m.listNote(len(shown)))
	if len(shown) > 0 {
		out.Add(table)
	}
	return out, len(shown)
}

func (m *objectMaker) listNote(shown int) string {
	note := ""
	switch total := max(m.o.MembersTotal, shown); {
	case shown == 0 && total > 0:
		note = "The pages of their families list them."
	case shown == 0:
		note = "No object is here at " + m.at + "."
	case total > shown:
		note = fmt.Sprintf("The oldest %d of %s.", shown, wording.Number(int64(total)))
	default:
		note = fmt.Sprintf("All %s, the oldest first.", wording.Number(int64(total)))
	}
	if shown > 0 && !m.in.Frozen && m.in.RawURL != nil {
		note += " Each goroutine leads to its lines in the dump."
	}
	return note
}
