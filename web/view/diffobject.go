package view

import (
	"cmp"
	"slices"

	"leakdiff/analysis"
	"leakdiff/analysis/say/report"
	"leakdiff/analysis/say/wording"
)

// DiffObject is a kind of objects of which A and B have different numbers.
type DiffObject struct {
	Name Func
	// URL is the page of the kind, empty on frozen pages.
	URL        string
	Each, A, B string
	Delta      int
	// Born and Ended are between A and B, a dash where they are not known.
	Born, Ended string
}

// maxDiffObjects is the number of kinds of objects a comparison lists.
const maxDiffObjects = 12

// objects lists the kinds of objects that changed from A to B, most goroutines first. Both
// must be of one series, and no filter may be asked for: it would be one of families.
func (m *diffMaker) objects(d *Diff) {
	a, b := m.in.AIndex, m.in.BIndex
	if a < 0 || b < 0 || !m.asked.Empty() || m.kind != "" && m.kind != analysis.KindGoroutine {
		return
	}
	type changed struct {
		object *report.Object
		delta  int
	}
	var all []changed
	for i := range m.in.Series.Objects {
		o := &m.in.Series.Objects[i]
		if o.Matters() && max(a, b) < len(o.Counts) && o.Counts[a].Known() && o.Counts[b].Known() && o.Counts[a].N != o.Counts[b].N {
			all = append(all, changed{o, o.Counts[b].N - o.Counts[a].N})
		}
	}
	slices.SortStableFunc(all, func(x, y changed) int {
		return cmp.Compare(y.delta*y.object.Parts(), x.delta*x.object.Parts())
	})
	for _, x := range all[:min(len(all), maxDiffObjects)] {
		o := x.object
		row := DiffObject{
			Name: objectName(o), URL: m.live(ObjectURL(o.ID, m.in.CaseID, m.key)), Each: Visible(o.Shape()),
			A: orDash(o.Counts[a]), B: orDash(o.Counts[b]), Delta: x.delta, Born: between(o.Born, a, b), Ended: between(o.Ended, a, b),
		}
		d.Objects = append(d.Objects, row)
	}
	if more := len(all) - len(d.Objects); more > 0 {
		d.ObjectsNote = wording.PagePlural(int64(more), "more kind", "more kinds") + " changed less."
	}
}

// between sums what is known of every snapshot after a up to b, else it is a dash.
func between(counts analysis.Counts, a, b int) string {
	sum := 0
	for i := a + 1; i <= b && i < len(counts); i++ {
		if !counts[i].Known() {
			return "–"
		}
		sum += counts[i].N
	}
	if a > b {
		return "–"
	}
	return wording.Number(int64(sum))
}
