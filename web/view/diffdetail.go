package view

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/diff"
	"leakdiff/analysis/say/document"
	"leakdiff/analysis/say/evidence"
	"leakdiff/analysis/say/wording"
	"leakdiff/web/chart"
)

// toggle is this page with one row opened or closed, at the link that does so.
func (m *diffMaker) toggle(fingerprint, anchor string, isOpen bool) string {
	if m.in.Frozen {
		return ""
	}
	to := "#" + anchor + "-o"
	if isOpen {
		return "?" + m.query + m.opened(fingerprint) + to
	}
	return "?" + m.query + m.opens + "&open=" + url.QueryEscape(fingerprint) + to
}

// opened are the open rows but for one, as they stand in an address.
func (m *diffMaker) opened(without string) string {
	var text string
	for _, fp := range slices.Sorted(maps.Keys(m.open)) {
		if fp != without {
			text += "&open=" + url.QueryEscape(fp)
		}
	}
	return text
}

func (m *diffMaker) wait(r diff.Row) string {
	if r.OldestWait >= 0 {
		return wording.Wait(r.OldestWait)
	}
	if r.Family.Kind == analysis.KindGoroutine && r.B > 0 && (r.Identified || m.listed(r.Family.Fingerprint)) {
		return shortWait(r.Family, r.StatesB, m.families[r.Family.Fingerprint])
	}
	return "n/a"
}

// listed reports whether B lists the members of a family one by one: then the
// absence of a wait is known, even where nobody can be followed from A.
func (m *diffMaker) listed(fingerprint string) bool {
	g := m.groupOfB(fingerprint)
	return g != nil && g.Members.Identified()
}

func (m *diffMaker) detail(r diff.Row, row DiffRow) *DiffDetail {
	d := &DiffDetail{
		FamilyURL: row.Name.URL, LabelA: Visible(m.in.Result.A.Label), LabelB: Visible(m.in.Result.B.Label),
		HeadA: m.stackHead(r.Family.Kind, r.A, r.VariantA), HeadB: m.stackHead(r.Family.Kind, r.B, r.VariantB),
	}
	d.Lead = m.lead(r, row)
	if known := m.families[r.Family.Fingerprint]; known != nil && known.Triage != nil {
		d.Triage = "Triage: " + Visible(triageSentence(*known.Triage))
	}
	d.Why = m.whyURL(r.Family.Fingerprint)
	if r.A == 0 {
		r.VariantA = m.nearest(r.Family, d)
	}
	d.HasStacks = r.VariantA != nil || r.VariantB != nil
	d.HasWaits = d.HasStacks && r.Family.Kind == analysis.KindGoroutine
	if d.HasStacks {
		d.Stack = foldStack(diff.Align(r.VariantA, r.VariantB), r.VariantA, r.VariantB)
		d.Elided = elided(r.VariantA, r.VariantB)
	} else {
		d.Attributes = attributePairs(r.Family.Attributes)
	}
	d.StatesA, d.BarA = states(row.Anchor+"-sa", r.StatesA)
	d.StatesB, d.BarB = states(row.Anchor+"-sb", r.StatesB)
	if g := m.groupOfB(r.Family.Fingerprint); g != nil {
		d.Waits = waitBars(row.Anchor+"-w", g)
	}
	for _, e := range m.in.Evidence(r.Family) {
		d.Evidence = append(d.Evidence, Pair{ruleWord(e.Rule), Visible(arrow(e.Text))})
	}
	return d
}

// nearest sets what is most like the family at A beside it where A has none.
func (m *diffMaker) nearest(f *analysis.Family, d *DiffDetail) *analysis.Stack {
	g, why := diff.Nearest(m.in.Result.A, f)
	if g == nil {
		d.Lead += " Nothing near it either: " + Visible(evidence.Likeness(why)) + "."
		return nil
	}
	d.Lead += fmt.Sprintf(" Nearest at A: %s, %s.", many(f.Kind, g.Count), Visible(evidence.Likeness(why)))
	d.WhyNot = m.whyURL(f.Fingerprint, g.Family.Fingerprint)
	if len(g.Variants) == 0 {
		return nil
	}
	d.HeadA = m.stackHead(f.Kind, g.Count, g.Variants[0].Stack) + ", nearest"
	return g.Variants[0].Stack
}

func (m *diffMaker) stackHead(k analysis.Kind, n int, s *analysis.Stack) string {
	text := many(k, n)
	if s != nil {
		text += ", " + wording.PagePlural(int64(len(s.Frames)), "frame", "frames")
	}
	return text
}

// lead says in one sentence what the two sides have to do with each other.
func (m *diffMaker) lead(r diff.Row, row DiffRow) string {
	switch {
	case row.Unknown:
		return "A dump is cut: who is not in it may still have been there."
	case r.A == 0:
		return "No member of this family at A."
	case r.B == 0:
		return "No member of this family at B."
	case !m.in.Result.Followed && m.in.OtherID != "":
		return "The members are not followed: A and B are of two cases."
	case !m.in.Result.Followed:
		return "The members are not followed: the process was restarted between A and B."
	case !r.Identified && m.dropped() != "":
		return "The members cannot be followed. " + m.dropped()
	case !r.Identified:
		return "The members cannot be followed: this evidence names no ids."
	case r.Survived == 0:
		return fmt.Sprintf("Nobody of A is still there: %s are gone, %s are new.", row.Gone, row.New)
	case r.Gone == 0:
		return fmt.Sprintf("Nobody left: all %s of A are still there, %s are new.", row.Survived, row.New)
	}
	return fmt.Sprintf("%s of A are still there, %s are gone, %s are new.", row.Survived, row.Gone, row.New)
}

// foldStack turns aligned frames into runs and folds four or more frames in a
// row that are of one plumbing package and of one mark.
func foldStack(pairs []diff.Pair, a, b *analysis.Stack) []StackRun {
	const least = 4
	var runs []StackRun
	for i := 0; i < len(pairs); {
		j := i + 1
		pkg := plumbing(pairs[i])
		for pkg != "" && j < len(pairs) && plumbing(pairs[j]) == pkg && pairs[j].Mark == pairs[i].Mark {
			j++
		}
		var lines []StackLine
		for _, p := range pairs[i:j] {
			lines = append(lines, StackLine{Mark: markWord(p.Mark), A: frameLine(p.A), B: frameLine(p.B), Creator: isCreator(p, a, b)})
		}
		switch n := len(runs); {
		case j-i >= least:
			runs = append(runs, StackRun{Fold: fmt.Sprintf("%d frames of %s", j-i, pkg), Lines: lines})
		case n > 0 && runs[n-1].Fold == "":
			runs[n-1].Lines = append(runs[n-1].Lines, lines...)
		default:
			runs = append(runs, StackRun{Lines: lines})
		}
		i = j
	}
	return runs
}

// markWord is a mark of diff.Align as a class name.
func markWord(mark string) string {
	switch mark {
	case diff.OtherLine:
		return "chg"
	case diff.OnlyA:
		return "del"
	case diff.OnlyB:
		return "add"
	}
	return "same"
}

// isCreator tells the line of the creator, which Align puts under the frames.
func isCreator(p diff.Pair, a, b *analysis.Stack) bool {
	return a != nil && p.A == &a.CreatedBy || b != nil && p.B == &b.CreatedBy
}

// plumbingPackages say nothing about who leaks; runs of their frames fold.
var plumbingPackages = [...]string{
	"google.golang.org/grpc", "google.golang.org/protobuf", "golang.org/x/net", "github.com/containerd/ttrpc",
	"go.opentelemetry.io", "github.com/grpc-ecosystem", "github.com/emicklei/go-restful", "k8s.io/apiserver/pkg",
	"k8s.io/apimachinery/pkg/util", "net/http", "internal/poll", "crypto/tls", "runtime", "net",
}

// plumbing is the package that a pair belongs to, empty where it tells something.
func plumbing(p diff.Pair) string {
	f := p.A
	if f == nil {
		f = p.B
	}
	if f == nil {
		return ""
	}
	path, _ := document.FunctionName(f.Func)
	path = strings.TrimSuffix(path, ".")
	for _, pkg := range plumbingPackages {
		if path == pkg || strings.HasPrefix(path, pkg+"/") {
			return pkg
		}
	}
	return ""
}

func frameLine(f *analysis.Frame) *FrameLine {
	if f == nil {
		return nil
	}
	out := &FrameLine{Func: longFunc(f.Func)}
	if f.File != "" {
		out.Loc = Visible(f.File[strings.LastIndexByte(f.File, '/')+1:])
		if f.Line > 0 {
			out.Loc += ":" + itoa(int64(f.Line))
		}
	}
	return out
}

func elided(stacks ...*analysis.Stack) string {
	for _, s := range stacks {
		switch {
		case s == nil:
		case s.Elided > 0:
			return wording.PagePlural(int64(s.Elided), "frame was", "frames were") + " left out by the runtime."
		case s.Elided < 0:
			return "The runtime left out an unknown number of frames."
		case s.Unavailable != "":
			return Visible(s.Unavailable)
		}
	}
	return ""
}

// states orders a distribution, largest first, with its bar.
func states(id string, counts map[string]int) ([]State, *chart.StatesData) {
	names := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	if len(names) == 0 {
		return nil, nil
	}
	bar := &chart.StatesData{ID: id, Width: 160}
	var out []State
	for _, n := range names {
		name := Visible(n)
		if name == "" {
			name = "no state"
		}
		out = append(out, State{name, wording.Number(int64(counts[n]))})
		bar.Parts = append(bar.Parts, chart.Bar{Label: name, Count: counts[n]})
	}
	return out, bar
}

// waitBars is the histogram of header minutes, without the empty end.
func waitBars(id string, g *analysis.Group) *chart.BarsData {
	last, total := -1, 0
	for i, n := range g.Waits {
		if n > 0 {
			last = i
		}
		total += n
	}
	if total == 0 {
		return nil
	}
	names := [...]string{"<1", "1–2", "3–5", "6–10", "11–30", "31–60", "1–4 h", "4–24 h", ">24 h"}
	b := &chart.BarsData{ID: id, Title: "Waiting at least, minutes", What: "Minutes"}
	for i := range g.Waits[:max(last+1, 3)] {
		b.Bars = append(b.Bars, chart.Bar{Label: names[i], Count: g.Waits[i]})
	}
	return b
}
