package chart

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/say/wording"
)

// Layer is one part of a whole over time. Values has one entry per column, nil if the
// parts are unknown there.
type Layer struct {
	// Name stands in the legend. Full is shown when the reader points at the layer.
	// Course describes the values in a few words.
	Name, Full, Course string
	Values             analysis.Counts
	// Grows draws the part in the colour of growth.
	Grows bool
	// Rest marks the layer of all other parts together.
	Rest bool
}

// StackData is a whole and its parts over time, the first layer below the second.
type StackData struct {
	ID, Title, Unit string
	Labels          []string
	// Times, Epochs and Lower are those of a Lane. Totals are the wholes of lower
	// bounds, which are drawn as marks.
	Times []time.Time
	// Taken are as of SmallData.
	Taken  []time.Time `json:",omitempty"`
	Layers []Layer
	Totals analysis.Counts
	Epochs []int
	Lower  []bool
}

// stackFrame is the geometry of one drawing.
type stackFrame struct {
	s                      StackData
	d                      *drawing
	a                      axis
	narrow                 bool
	left, right, top, base float64
	max                    int
}

func (s StackData) draw(w float64) drawing {
	s = s.thinned()
	f := stackFrame{s: s, narrow: w < 600, left: 44, right: w - 8, top: 24, base: 204}
	if f.narrow {
		f.left, f.top, f.base = 4, 30, 170
	}
	d := drawing{id: fmt.Sprintf("%s-%g", s.ID, w), title: s.Title, desc: s.describe(), class: "stack", w: w}
	f.d = &d
	f.max = 1
	for i := range s.Labels {
		f.max = max(f.max, s.whole(i))
		if i < len(s.Totals) && s.Totals[i].Known() && isLower(s.Lower, i) {
			f.max = max(f.max, s.Totals[i].N)
		}
	}
	if all := ticks(f.max, 4); !f.narrow && len(all) > 0 {
		f.left = max(f.left, 1.4*textWidth(figure(all[len(all)-1]))+12)
	}
	f.a = newAxis(len(s.Labels), s.Times, s.Taken, f.left+16, f.right-22)
	f.grid()
	runs := s.runs()
	if len(runs) == 0 {
		d.label("", "start", f.left+14, f.base-10, "no "+s.Unit+" captured whose parts are known")
	}
	for _, run := range runs {
		f.run(run)
	}
	f.numbers(runs)
	f.bounds()
	f.wholes(runs)
	f.columns()
	d.h = f.legend(f.base + 36)
	return d
}

// whole is the sum of the layers in a column, 0 if they are unknown.
func (s StackData) whole(i int) int {
	sum := 0
	for _, l := range s.Layers {
		if i < len(l.Values) {
			sum += l.Values[i].N
		}
	}
	return sum
}

// known reports whether every part of column i is known and exact.
func (s StackData) known(i int) bool {
	if len(s.Layers) == 0 || isLower(s.Lower, i) {
		return false
	}
	for _, l := range s.Layers {
		if i >= len(l.Values) || !l.Values[i].Known() {
			return false
		}
	}
	return true
}

// runs are the columns that an area may join: neighbours of one epoch without a gap
// or a column without evidence between them. A lower bound neither belongs to a run
// nor ends it.
func (s StackData) runs() [][]int {
	gap := map[int]bool{}
	for _, g := range Gaps(s.Times, s.Taken) {
		gap[g.At] = true
	}
	var out [][]int
	var run []int
	end := func() {
		if len(run) > 0 {
			out = append(out, run)
		}
		run = nil
	}
	for i := range s.Labels {
		if slices.Contains(s.Epochs, i) || gap[i] {
			end()
		}
		switch {
		case s.known(i):
			run = append(run, i)
		case !isLower(s.Lower, i):
			end()
		}
	}
	end()
	return out
}

func (f *stackFrame) y(count int) float64 {
	return f.base - (f.base-f.top-8)*float64(count)/float64(f.max)
}

func (f *stackFrame) grid() {
	var room spread
	for _, g := range Gaps(f.s.Times, f.s.Taken) {
		x0, x1 := f.a.x[g.At-1], f.a.x[g.At]
		inset := min((x1-x0)*.1, 60)
		f.d.hatchedRect(x0+inset, f.top-4, x1-x0-2*inset, f.base-f.top+4)
		for _, words := range []string{wording.PageDuration(g.Duration) + " without a snapshot", wording.PageDuration(g.Duration)} {
			half := 1.2*textWidth(words)/2 + 4
			mid := min(max((x0+x1)/2, f.left+half), f.right-half)
			if 2*half < f.right-f.left && room.free(mid-half, mid+half) {
				f.d.label("gaptext", "middle", mid, 12, words)
				break
			}
		}
	}
	f.d.line("c-axis", f.left, f.base+.5, f.right, f.base+.5)
	for _, v := range ticks(f.max, 4) {
		f.d.line("c-grid", f.left, f.y(v), f.right, f.y(v))
		if f.narrow {
			continue
		}
		f.d.label("", "end", f.left-8, f.y(v)+4, figure(v))
	}
	for _, e := range f.s.Epochs {
		if e <= 0 || e >= len(f.a.x) {
			continue
		}
		x := (f.a.x[e-1] + f.a.x[e]) / 2
		f.d.line("c-epoch", x, f.top-4, x, f.base)
		f.d.explain("restart before " + f.s.Labels[e])
		if half := 1.2 * textWidth("restart") / 2; room.free(x-half, x+half) {
			f.d.label("s", "middle", min(max(x, f.left+half), f.right-half), 12, "restart")
		}
	}
}

// run draws the layers of joined columns. A column alone is a bar.
func (f *stackFrame) run(columns []int) {
	const alone = 5.0
	below := make([]int, len(columns))
	for k, l := range f.s.Layers {
		var lower, upper []point
		for i, c := range columns {
			from := below[i]
			below[i] += l.Values[c].N
			for _, x := range f.width(columns, i, alone) {
				lower, upper = append(lower, point{x, f.y(from)}), append(upper, point{x, f.y(below[i])})
			}
		}
		edge := slices.Clone(upper)
		slices.Reverse(lower)
		f.d.area("ly "+f.s.look(k), append(upper, lower...))
		f.d.fillWith(f.s.fill(k))
		f.d.explain(strconv.Itoa(k+1) + " " + l.Full + ": " + l.Course)
		f.d.path("lye "+f.s.look(k), edge)
	}
}

// width returns the positions of a column: its own, or both sides of a bar.
func (f *stackFrame) width(columns []int, i int, alone float64) []float64 {
	x := f.a.x[columns[i]]
	if len(columns) == 1 {
		return []float64{x - alone, x + alone}
	}
	return []float64{x}
}

// look is the class of layer k.
func (s StackData) look(k int) string {
	switch {
	case s.Layers[k].Rest:
		return "rest"
	case s.Layers[k].Grows:
		return "up"
	}
	return "flat"
}

// fill alternates plain and hatched layers, so that neighbours of one colour differ.
func (s StackData) fill(k int) pattern {
	switch l := s.Layers[k]; {
	case l.Rest:
		return rest
	case k%2 == 0:
		return none
	case l.Grows:
		return rising
	}
	return even
}

// numbers writes the number of each layer at its thickest column.
func (f *stackFrame) numbers(runs [][]int) {
	for k := range f.s.Layers {
		best, at := 0.0, point{}
		for _, run := range runs {
			for i, c := range run {
				below := 0
				for _, l := range f.s.Layers[:k] {
					below += l.Values[c].N
				}
				top := f.y(below + f.s.Layers[k].Values[c].N)
				// The area is a point at the ends of a run, so the number stands
				// inside.
				x := f.a.x[c]
				if len(run) > 1 && i == 0 {
					x += 6
				} else if len(run) > 1 && i == len(run)-1 {
					x -= 6
				}
				if thick := f.y(below) - top; thick > best {
					best, at = thick, point{x, (f.y(below) + top) / 2}
				}
			}
		}
		if best >= 13 {
			f.d.label("lyn", "middle", at.x, at.y+4, strconv.Itoa(k+1))
		}
	}
}

// bounds draws the wholes of cut dumps as marks outside the area.
func (f *stackFrame) bounds() {
	for i, v := range f.s.Totals {
		if !v.Known() || i >= len(f.a.x) || !isLower(f.s.Lower, i) {
			continue
		}
		f.d.triangle("c-dot", f.a.x[i], f.y(v.N), 4.5)
		f.d.explain(f.s.Labels[i] + ": " + atLeast(v.N, true) + ", the dump is cut")
	}
}

// wholes writes the sum at the ends and at the peak.
func (f *stackFrame) wholes(runs [][]int) {
	if len(runs) == 0 {
		return
	}
	lastRun := runs[len(runs)-1]
	first, last, top := runs[0][0], lastRun[len(lastRun)-1], runs[0][0]
	for _, run := range runs {
		for _, c := range run {
			if f.s.whole(c) > f.s.whole(top) {
				top = c
			}
		}
	}
	var room spread
	for _, c := range []int{top, last, first} {
		words := figure(f.s.whole(c))
		half := 1.2*textWidth(words)/2 + 3
		x := min(max(f.a.x[c], f.left+half), f.d.w-half)
		if room.free(x-half, x+half) {
			f.d.label("k", "middle", x, max(f.y(f.s.whole(c))-6, 24), words)
		}
	}
}

// columns names the snapshots below the axis.
func (f *stackFrame) columns() {
	var room spread
	order := []int{0, len(f.s.Labels) - 1}
	for i := range f.s.Labels {
		order = append(order, i)
	}
	seen := map[int]bool{}
	names := columnNames(f.s.Labels, 14)
	for _, i := range order {
		if i < 0 || seen[i] {
			continue
		}
		seen[i] = true
		words := names[i]
		half := 1.1*textWidth(words)/2 + 5
		x := min(max(f.a.x[i], half), f.d.w-half)
		if room.free(x-half, x+half) {
			f.d.line("c-axis", f.a.x[i], f.base, f.a.x[i], f.base+4)
			f.d.label("s", "middle", x, f.base+17, words)
		}
	}
}

// legend names the layers below the drawing and returns the height at its end.
func (f *stackFrame) legend(y float64) float64 {
	columns, from := 2, f.left
	if f.narrow {
		columns, from = 1, 0
	}
	each := (f.d.w - from) / float64(columns)
	rows := (len(f.s.Layers) + columns - 1) / max(columns, 1)
	for k, l := range f.s.Layers {
		x, ly := from+each*float64(k/max(rows, 1)), y+float64(k%max(rows, 1))*20
		f.d.rect("ly "+f.s.look(k), x, ly, 18, 14)
		f.d.fillWith(f.s.fill(k))
		f.d.label("s", "end", x+36, ly+11, strconv.Itoa(k+1))
		room := int((each-42-12)/7.2) - len([]rune(l.Course)) - 2
		f.d.label("k", "start", x+42, ly+11, clip(l.Name, max(room, 8)))
		f.d.explain(l.Full)
		f.d.label("s", "end", x+each-12, ly+11, l.Course)
	}
	return y + float64(rows)*20 + 4
}

func (s StackData) describe() string {
	out := ""
	for k, l := range s.Layers {
		if k > 0 {
			out += "; "
		}
		out += strconv.Itoa(k+1) + " " + l.Full + ": " + l.Course
	}
	return out + told(s.Labels, nil, s.Epochs, nil) + "."
}

func (s StackData) table() Table {
	all := len(s.Labels)
	s = s.thinned()
	out := Table{Caption: s.Title + partly(", ", len(s.Labels), all), Head: []string{"Part"}}
	for i, label := range s.Labels {
		out.Head = append(out.Head, marked(label, i, s.Epochs))
	}
	for k, l := range s.Layers {
		row := []string{strconv.Itoa(k+1) + " " + l.Full}
		for i := range s.Labels {
			var v analysis.Count
			if i < len(l.Values) {
				v = l.Values[i]
			}
			row = append(row, cell(v, isLower(s.Lower, i)))
		}
		out.Rows = append(out.Rows, row)
	}
	return out
}

// Rate counts births between two columns.
type Rate struct {
	From, To, Born int
	// Each is Born per Unit of RatesData.
	Each float64
}

// RatesData are births over time, with a bar for each interval. A bar is as wide as its
// interval is long, so its area is the number of births.
type RatesData struct {
	// Unit is "per hour", or "per snapshot" if times are unknown.
	ID, Title, Unit string
	Labels          []string
	Times           []time.Time
	Bars            []Rate
	Epochs          []int
	// Max is the top of the scale that all charts of the page share.
	Max float64
}

func (r RatesData) draw(w, h float64) drawing {
	r = r.thinned()
	d := drawing{id: fmt.Sprintf("%s-%g", r.ID, w), title: r.Title + ", " + r.Unit, desc: r.describe(), class: "small", w: w, h: h}
	top := max(int(min(r.Max, 1e15)+.999), 1)
	right, base := w-max(30, textWidth(figure(top))+7), h-18
	a := newAxis(len(r.Labels), r.Times, nil, 8, right-4)
	y := func(v float64) float64 { return base - (base-16)*v/float64(top) }
	for _, v := range append([]int{0}, ticks(top, 2)...) {
		if v > 0 {
			d.line("c-grid", 0, y(float64(v)), right, y(float64(v)))
		}
		d.label("", "start", right+5, y(float64(v))+4, figure(v))
	}
	for _, e := range r.Epochs {
		if e > 0 && e < len(a.x) {
			x := (a.x[e-1] + a.x[e]) / 2
			d.line("c-epoch", x, 8, x, base)
			d.explain("restart before " + r.Labels[e])
		}
	}
	best := -1
	for i, b := range r.Bars {
		if b.From < 0 || b.To >= len(a.x) || b.From >= b.To {
			continue
		}
		x0, x1 := a.x[b.From], a.x[b.To]
		d.rect("c-bar", x0+.5, y(b.Each), max(x1-x0-1, 1), base-y(b.Each))
		d.explain(r.between(b) + ": " + figure(b.Born) + " born, " + wording.PageRate(b.Each) + " " + r.Unit)
		if best < 0 || b.Each > r.Bars[best].Each {
			best = i
		}
	}
	d.line("c-axis", 0, base+.5, right, base+.5)
	if best >= 0 && r.Bars[best].Born > 0 {
		b := r.Bars[best]
		words := wording.PageRate(b.Each)
		half := 1.2 * textWidth(words) / 2
		d.label("up", "middle", min(max((a.x[b.From]+a.x[b.To])/2, half), right-half), max(y(b.Each)-5, 10), words)
	}
	var room spread
	names := columnNames(r.Labels, 12)
	for _, i := range []int{0, len(r.Labels) - 1} {
		if i < 0 || len(r.Labels) == 0 {
			continue
		}
		words := names[i]
		half := 1.15*textWidth(words)/2 + 2
		x := min(max(a.x[i], half), w-half)
		if room.free(x-half, x+half) {
			d.label("s", "middle", x, h-4, words)
		}
	}
	return d
}

func (r RatesData) between(b Rate) string { return r.Labels[b.From] + " to " + r.Labels[b.To] }

func (r RatesData) describe() string {
	out := ""
	for i, b := range r.Bars {
		if b.To >= len(r.Labels) {
			continue
		}
		if i > 0 {
			out += ", "
		}
		out += r.between(b) + " " + figure(b.Born)
	}
	if out == "" {
		return "No interval can be followed."
	}
	return "Born: " + out + "."
}

func (r RatesData) table() Table {
	r = r.thinned()
	out := Table{Caption: r.Title, Head: []string{"Interval", "Born", capital(r.Unit)}}
	for _, b := range r.Bars {
		if b.To < len(r.Labels) {
			out.Rows = append(out.Rows, []string{r.between(b), figure(b.Born), wording.PageRate(b.Each)})
		}
	}
	return out
}

func capital(s string) string {
	if s == "" || s[0] < 'a' || s[0] > 'z' {
		return s
	}
	return string(s[0]-'a'+'A') + s[1:]
}
