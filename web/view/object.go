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
	Epochs    []int
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

// Object is the page of one kind of objects.
type Object struct {
	Shell    Shell
	Frozen   bool
	Headline string
	// First is the first screen.
	First FirstScreen
	// Sentence is the headline without the name, Path the import path of the type.
	Sentence string
	Name     Func
	Path     string
	Verdict  string
	Chips    []string
	Figures  []KeyFigure
	Why      string
	Lead     string
	Evidence []Pair
	// Cannot is what the verdict does not exclude, Decides what would change it.
	Cannot, Decides []string
	Shape           chart.ShapeData
	ShapeNote       string
	Counts          chart.MembersData
	CountsNote      string
	Lifelines       *chart.LifelinesData
	LifeNote        string
	// Flow has a row for each snapshot: label, count, born, ended.
	Flow    [][4]string
	At      string
	Roles   []ObjectRole
	Holders []string
	// Families are those of the goroutines, InStep those that rise by equal numbers.
	Families, InStep []CaseShare
	Rows             []ObjectRow
	RowsNote         string
}

// ObjectRole is a part of each object with its stack.
type ObjectRole struct {
	// Count is "2 ×", Text the role, Proof how it is known to belong.
	Count, Text, Proof string
	// Stack is nil where the snapshot shows none. Of says how many goroutines have it.
	Stack *FamilyVariant
	Of    string
}

// ObjectRow is one object of the chosen snapshot.
type ObjectRow struct {
	Root, First, Last, Size string
	// Parts are its goroutines with the addresses of their lines.
	Parts []Link
	More  string
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
}

// NewObject makes the page of a kind of objects.
func NewObject(in ObjectInput) Object {
	m := objectMaker{in: in, o: &in.Objects}
	for _, l := range m.o.Snapshots {
		m.labels = append(m.labels, Visible(l))
	}
	title := Visible(m.o.Title(m.in.Epochs))
	path, _ := funcName(m.o.Type)
	v := Object{
		Frozen: in.Frozen, Headline: title, Sentence: printable(m.o.Process) + strings.TrimPrefix(title, Visible(m.o.Name)) + ".",
		Name: objectName(&m.o.Object), Path: Visible(strings.TrimSuffix(path, ".")), Verdict: string(m.o.Verdict),
		Chips: []string{printable(m.o.Process), "objects"}, Why: "Why " + verdictWord(string(m.o.Verdict)),
		Lead: "One object is all goroutines that belong to one thing of the program: " + m.o.Proof() + ".",
		At:   Visible(m.o.At),
	}
	if m.o.Parts() == 0 {
		v.Lead = "One object is one thing of the process with all that belongs to it, " + m.o.Proof() + "."
	}
	v.Evidence, v.Cannot, v.Decides = reasonsOf(m.o.Evidence)
	if len(m.o.Evidence) == 0 {
		v.Why = "Over time" // the evidence stands with the families
	}
	m.figures(&v)
	m.shape(&v)
	m.charts(&v)
	m.roles(&v)
	m.families(&v)
	m.rows(&v)
	for i := range m.o.Holders {
		v.Holders = append(v.Holders, Visible(m.o.Holders[i].Text()))
	}
	v.Holders = slices.Compact(v.Holders)
	v.First = m.first(&v)
	v.Shell = m.shell(v)
	return v
}

func (m *objectMaker) shell(v Object) Shell {
	s := Shell{Title: v.Name.Path + v.Name.Name + ", " + printable(m.o.Process), Description: v.Headline, Section: "cases", Engine: m.in.Engine}
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

func (m *objectMaker) figures(v *Object) {
	at := m.in.SnapshotIndex
	if at >= 0 && at < len(m.o.Counts) && m.o.Counts[at].Known() {
		v.Figures = append(v.Figures, KeyFigure{Value: wording.Number(int64(m.o.Counts[at].N)), Text: "objects at " + v.At})
		first := at
		for i := at; i >= 0; i-- {
			if m.o.Counts[i].Known() && m.sameEpoch(i, at) {
				first = i
			}
		}
		if first != at {
			v.Figures = append(v.Figures, KeyFigure{IsChange: true, Delta: m.o.Counts[at].N - m.o.Counts[first].N, Text: "since " + m.labels[first]})
		}
	}
	for _, p := range m.o.Each {
		v.Figures = append(v.Figures, KeyFigure{Value: wording.Number(int64(p.N)), Text: kindWord(p.Kind, p.N) + " each"})
	}
	if born, known := m.o.BornTotal(); known {
		ended, _ := m.o.EndedTotal()
		v.Figures = append(v.Figures, KeyFigure{Value: wording.Number(int64(born)), Text: "born"}, KeyFigure{Value: wording.Number(int64(ended)), Text: "ended"})
	}
	for _, f := range []struct {
		n    int
		text string
	}{{m.o.PartsLost, "went on with fewer goroutines"}, {m.o.PartsReplaced, "replaced goroutines"}} {
		if f.n > 0 {
			v.Figures = append(v.Figures, KeyFigure{Value: wording.Number(int64(f.n)), Text: f.text})
		}
	}
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

// shape draws one object: its holders above, its parts below.
func (m *objectMaker) shape(v *Object) {
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
	v.Shape = d
	v.ShapeNote = "What one object is made of"
	if len(d.Holders) > 0 {
		v.ShapeNote += "; above, what holds them"
	}
	if len(m.o.InStep) > 0 {
		v.ShapeNote += "; dashed: rises in step, by equal numbers alone"
	}
	v.ShapeNote += "."
}

func eachOf(n int) string { return wording.Number(int64(n)) + " ×" }

// bareName is a short function or type without its package.
func bareName(name string) string {
	_, bare := funcName(name)
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

func (m *objectMaker) charts(v *Object) {
	v.Counts = chart.MembersData{ID: "objects", Title: "Objects per snapshot", Labels: m.labels, Times: m.in.Times, Values: m.o.Counts, RecoveredAt: m.o.RecoveredAt(), A: -1, B: -1, Epochs: m.restarts(), What: "objects"}
	v.CountsNote = "True time scale"
	for _, mark := range []struct {
		words string
		shown bool
	}{{"dotted: no evidence", len(chart.Gaps(m.in.Times)) > 0}, {"blue band: recovery", v.Counts.RecoveredAt >= 0}, {"dashed: restart", len(v.Counts.Epochs) > 0}} {
		if mark.shown {
			v.CountsNote += "; " + mark.words
		}
	}
	v.CountsNote += "."
	for i, label := range m.labels {
		v.Flow = append(v.Flow, [4]string{label, dashAt(m.o.Counts, i), dashAt(m.o.Born, i), dashAt(m.o.Ended, i)})
	}
	switch {
	case len(m.labels) < 2:
		v.LifeNote = "One snapshot has no lifelines: a second one shows which objects stay."
		return
	case m.o.Threads():
		v.LifeNote = "A JVM moves its objects, so none can be followed: the pages of their families have the lifelines of the threads."
		return
	case len(m.o.Lifelines) == 0:
		v.LifeNote = "No goroutine shows these objects: the pages of their families have the lifelines."
		return
	}
	life := &chart.LifelinesData{ID: "life", Title: "Objects from birth to last sight", Labels: m.labels, Values: m.o.Counts, RecoveredAt: m.o.RecoveredAt(), What: "objects"}
	for _, l := range m.o.Lifelines {
		life.Lives = append(life.Lives, chart.Life{Name: itoa(l.Root), First: l.First, Last: l.Last})
	}
	v.Lifelines = life
	v.LifeNote = "One line per object, from birth to last sight; the first of each cohort is named by its first goroutine."
	if more := m.o.LifelinesTotal - len(m.o.Lifelines); more > 0 {
		v.LifeNote += " " + wording.PagePlural(int64(more), "more object is", "more objects are") + " not drawn."
	}
}

// dashAt is a count, a dash where there is none.
func dashAt(counts analysis.Counts, i int) string {
	if i >= len(counts) {
		return orDash(analysis.Count{})
	}
	return orDash(counts[i])
}

func (m *objectMaker) roles(v *Object) {
	stacks := map[string]*report.RoleStack{}
	for i := range m.o.Stacks {
		stacks[m.o.Stacks[i].Role] = &m.o.Stacks[i]
	}
	for _, p := range m.o.Each {
		for i := range p.Roles {
			r := &p.Roles[i]
			out := ObjectRole{Count: eachOf(r.N), Text: Visible(arrow(r.Short())), Proof: r.Proof()}
			if s := stacks[r.Role]; s != nil {
				out.Stack = roleStack(p.Kind, s, m.in.Code.Version)
				out.Of = fmt.Sprintf("Stack of %s of %s at %s", wording.Number(int64(s.Members)), many(p.Kind, s.Of), v.At)
			}
			v.Roles = append(v.Roles, out)
		}
	}
}

// roleStack is the stack of a role as pages print stacks.
func roleStack(kind analysis.Kind, s *report.RoleStack, version string) *FamilyVariant {
	var frames []document.Frame
	for _, f := range s.Stack {
		frame := f.Frame()
		line := linkedFrame(&frame, version)
		line.Creator = f.CreatedBy
		frames = append(frames, line)
	}
	out := newVariant(many(kind, s.Members), s.Variant, frames)
	return &out
}

func (m *objectMaker) families(v *Object) {
	var names together
	for _, print := range m.o.Families {
		if f := m.family(print); f != nil {
			v.Families = append(v.Families, CaseShare{Name: m.name(f), Facts: m.facts(f)})
		}
	}
	for _, s := range m.o.InStep {
		if f := m.family(s.Fingerprint); f != nil {
			v.InStep = append(v.InStep, CaseShare{Name: m.name(f), Facts: ratio(s.Ratio) + " " + kindWord(s.Kind, int(s.Ratio)) + " each; " + m.facts(f)})
		}
	}
	for i := range v.Families {
		names.add(&v.Families[i].Name, m.o.Families[i])
	}
	names.tellApart()
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

func (m *objectMaker) rows(v *Object) {
	for i := range m.o.Members[:min(len(m.o.Members), maxObjectRows)] {
		o := &m.o.Members[i]
		row := ObjectRow{Root: itoa(o.Root), First: Visible(o.FirstSeen), Last: Visible(o.LastSeen), Size: wording.Number(int64(o.Goroutines))}
		for k := range o.Parts[:min(len(o.Parts), maxObjectParts)] {
			link := Link{Text: itoa(o.Parts[k].ID)}
			if !m.in.Frozen && m.in.RawURL != nil {
				link.URL = m.in.RawURL(&o.Parts[k])
			}
			row.Parts = append(row.Parts, link)
		}
		if more := o.Goroutines - len(row.Parts); more > 0 {
			row.More = "and " + wording.Number(int64(more)) + " more"
		}
		v.Rows = append(v.Rows, row)
	}
	switch total := max(m.o.MembersTotal, len(v.Rows)); {
	case len(v.Rows) == 0 && total > 0:
		v.RowsNote = "The pages of their families list them."
	case len(v.Rows) == 0:
		v.RowsNote = "No object is here at " + v.At + "."
	case total > len(v.Rows):
		v.RowsNote = fmt.Sprintf("The oldest %d of %s.", len(v.Rows), wording.Number(int64(total)))
	default:
		v.RowsNote = fmt.Sprintf("All %s, the oldest first.", wording.Number(int64(total)))
	}
	if len(v.Rows) > 0 && !m.in.Frozen && m.in.RawURL != nil {
		v.RowsNote += " Each goroutine leads to its lines in the dump."
	}
}

// Captured returns when the first and the last snapshot of the series were.
func (v Object) Captured() string {
	if len(v.Counts.Times) == 0 {
		return ""
	}
	return capturedFrom(wording.Time(v.Counts.Times[0]), wording.Time(v.Counts.Times[len(v.Counts.Times)-1]))
}

// Stacks reports that a part has a stack: descriptors have none.
func (v Object) Stacks() bool {
	return slices.ContainsFunc(v.Roles, func(r ObjectRole) bool { return r.Stack != nil })
}
