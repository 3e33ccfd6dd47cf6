// Package chart draws evidence as SVG. It takes labels, times and counts, computes the
// geometry in Go and hands marks to one templ component. Colours come from classes, so
// the same drawing serves light, dark, print and forced colours. It knows neither
// domain types nor addresses nor the meaning of a figure.
//
// Every chart is drawn twice, for wide and for narrow pages, and style sheets show one
// of the two. No chart is scaled down until its ticks are unreadable. Each chart has a
// twin, a table of the same figures.
package chart

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/say/wording"
)

// Table is the twin of a chart: the same figures in rows.
type Table struct {
	Caption string
	Head    []string
	Rows    [][]string
	// URLs are the links of the first cells, one for each row, or nil without links.
	URLs []string
}

// drawing is one finished SVG. A user unit is one CSS pixel.
type drawing struct {
	id, title, desc, class string
	w, h                   float64
	// hatch adds the pattern that fills gaps.
	hatch bool
	// stretch lets a drawing without text or circles fill any width.
	stretch bool
	// linked reports that marks are links. Assistive technology finds no links inside
	// an image, so such a drawing is a group.
	linked bool
	// patterns are the fills of the marks.
	patterns []pattern
	marks    []mark
	// columns are where the snapshots stand, by their labels, for the script that shows one
	// instant in all charts.
	columns []column
}

// column is the place of a snapshot in a drawing.
type column struct {
	label string
	x     float64
}

// mostPlaced bounds the snapshots whose places a small drawing says: a page has many such drawings.
const mostPlaced = 24

func (d drawing) small() drawing {
	if len(d.columns) > mostPlaced {
		d.columns = nil
	}
	return d
}

// at says where the snapshots stand.
func (d *drawing) at(labels []string, x []float64) {
	for i := range min(len(labels), len(x)) {
		d.columns = append(d.columns, column{labels[i], x[i]})
	}
}

// A shape is the SVG element of a mark.
type shape int

const (
	rect shape = iota
	line
	polyline
	polygon
	circle
	text
	framed
	// opening and closing are the ends of a group of marks.
	opening
	closing
)

// mark is one SVG element. Fields that its shape does not use are zero.
type mark struct {
	shape        shape
	class        string
	x, y, x2, y2 float64
	w, h, r      float64
	points       []point
	anchor       string
	text         string
	dashed       bool
	hatched      bool
	// full is shown when the reader points at the mark. It holds what the label has no
	// room for.
	full string
	// fill is the pattern of the mark. Without one, the mark has the colour of its
	// class.
	fill pattern
	// frame is set for framed marks alone. Its fields stand apart because tables hold
	// hundreds of drawings with other shapes.
	frame *frame
}

// A frame surrounds the text of a mark, has a figure at its right edge and links to
// href. skipped says that the Tab key passes over it.
type frame struct {
	href, figure string
	skipped      bool
}

// A pattern is a fill that distinguishes areas without colour.
type pattern uint8

const (
	none pattern = iota
	// rising and falling are hatched against each other.
	rising
	falling
	// even has level lines, rest has dots.
	even
	rest
	// grown is the hatch of the band in which a growth began, better that of the band
	// in which its cause went away.
	grown
	better
)

// String names the pattern in ids and classes.
func (p pattern) String() string {
	return [...]string{"", "up", "down", "even", "rest", "grown", "better"}[p]
}

func (d *drawing) rect(class string, x, y, w, h float64) {
	d.marks = append(d.marks, mark{shape: rect, class: class, x: x, y: y, w: max(w, 0), h: max(h, 0)})
}

// onset is the band in which a growth began, recovery the band in which its cause went
// away. Each has a tint, and a hatch for paper and for readers who see no colours.
func (d *drawing) onset(x, y, w, h float64) { d.band("c-onset", grown, x, y, w, h) }

func (d *drawing) recovery(x, y, w, h float64) { d.band("c-rec", better, x, y, w, h) }

func (d *drawing) band(class string, p pattern, x, y, w, h float64) {
	d.rect(class, x, y, w, h)
	d.rect("c-hatch", x, y, w, h)
	d.fillWith(p)
}

func (d *drawing) hatchedRect(x, y, w, h float64) {
	d.hatch = true
	d.marks = append(d.marks, mark{shape: rect, x: x, y: y, w: max(w, 0), h: max(h, 0), hatched: true})
}

// fillWith fills the last mark with a pattern.
func (d *drawing) fillWith(p pattern) {
	if p == none {
		return
	}
	d.marks[len(d.marks)-1].fill = p
	if !slices.Contains(d.patterns, p) {
		d.patterns = append(d.patterns, p)
	}
}

func (d *drawing) area(class string, points []point) {
	d.marks = append(d.marks, mark{shape: polygon, class: class, points: points})
}

func (d *drawing) line(class string, x, y, x2, y2 float64) {
	d.marks = append(d.marks, mark{shape: line, class: class, x: x, y: y, x2: x2, y2: y2})
}

func (d *drawing) path(class string, points []point) {
	d.marks = append(d.marks, mark{shape: polyline, class: class, points: points})
}

func (d *drawing) dashedPath(class string, points []point) {
	d.marks = append(d.marks, mark{shape: polyline, class: class, points: points, dashed: true})
}

func (d *drawing) circle(class string, x, y, r float64) {
	d.marks = append(d.marks, mark{shape: circle, class: class, x: x, y: y, r: r})
}

// triangle is the open mark of a lower bound. It points towards the values that are
// possible.
func (d *drawing) triangle(class string, x, y, r float64) {
	d.marks = append(d.marks, mark{shape: polygon, class: class, points: []point{{x - r, y + r*.8}, {x, y - r}, {x + r, y + r*.8}}})
}

// open begins a group of marks with a class, end ends it.
func (d *drawing) open(class string) {
	d.marks = append(d.marks, mark{shape: opening, class: class})
}

func (d *drawing) end() { d.marks = append(d.marks, mark{shape: closing}) }

// skipButFirst has the Tab key pass over the links of the marks from the index on, but for the first.
func (d *drawing) skipButFirst(from int) {
	found := false
	for i := range d.marks[from:] {
		if f := d.marks[from+i].frame; f != nil {
			f.skipped, found = found, true
		}
	}
}

// explain sets the text of the last mark that its label has no room for.
func (d *drawing) explain(full string) { d.marks[len(d.marks)-1].full = full }

// label writes text with its baseline at y. anchor is start, middle or end.
func (d *drawing) label(class, anchor string, x, y float64, s string) {
	d.marks = append(d.marks, mark{shape: text, class: "c-t " + class, anchor: anchor, x: x, y: y, text: s})
}

type point struct{ x, y float64 }

// num writes a coordinate: "12.3" for 12.345, "12" for 12.
func num(f float64) string { return string(appendNum(nil, f)) }

// appendNum appends a coordinate to b. Whole numbers are written many times faster than
// fractions, and a table of small lines has thousands.
func appendNum(b []byte, f float64) []byte {
	tenths := math.Round(f * 10)
	if !(math.Abs(tenths) < 1<<53) {
		return strconv.AppendFloat(b, tenths/10, 'f', -1, 64)
	}
	n := int64(tenths)
	if n < 0 {
		b, n = append(b, '-'), -n
	}
	b = strconv.AppendInt(b, n/10, 10)
	if n%10 > 0 {
		b = append(b, '.', byte('0'+n%10))
	}
	return b
}

// figure writes a count with a thin space from 10 000 on.
func figure(n int) string { return wording.Number(int64(n)) }

// cell writes a count for a table, or that nothing was captured.
func cell(n analysis.Count, lower bool) string {
	if !n.Known() {
		return "not captured"
	}
	return atLeast(n.N, lower)
}

// atLeast writes a count, with a sign if it is a lower bound: "≥ 175".
func atLeast(n int, lower bool) string {
	if lower {
		return "≥\u00a0" + figure(n)
	}
	return figure(n)
}

// isLower reports whether value i is a lower bound.
func isLower(lower []bool, i int) bool { return i >= 0 && i < len(lower) && lower[i] }

// whole are the values without lower bounds. Only these may be joined by a line.
func whole(values analysis.Counts, lower []bool) analysis.Counts {
	if !slices.Contains(lower, true) {
		return values
	}
	return values.Only(func(i int) bool { return !isLower(lower, i) })
}

// textWidth estimates the width of 12 px text. It is exact enough for collisions only.
func textWidth(s string) float64 { return 6.9 * float64(len([]rune(s))) }

// ticks returns at most n round values above 0 that cover top: 200 and 400 for 403 and
// 3.
func ticks(top, n int) []int {
	if top <= 0 || n <= 0 {
		return nil
	}
	step := niceStep(float64(top) / float64(n))
	var out []int
	for v := step; v <= top; v += step {
		out = append(out, v)
	}
	if len(out) == 0 {
		out = []int{top}
	}
	return out
}

// niceStep is the smallest of 1, 2, 5, 10, 20, 50, ... that is at least raw.
func niceStep(raw float64) int {
	step := 1
	for {
		for _, m := range []int{1, 2, 5} {
			if float64(step*m) >= raw {
				return step * m
			}
		}
		if step > math.MaxInt/100 {
			return step
		}
		step *= 10
	}
}

// say lists captured values: "t0 87, t1 115, t2 at least 40".
func say(labels []string, values analysis.Counts, lower []bool) string {
	var b strings.Builder
	b.Grow(16 * len(values))
	for i, v := range values {
		if !v.Known() || i >= len(labels) {
			continue
		}
		if b.Len() > 0 {
			b.WriteString(", ")
		}
		b.WriteString(labels[i])
		if isLower(lower, i) {
			b.WriteString(" at least")
		}
		b.WriteByte(' ')
		b.WriteString(figure(v.N))
	}
	if b.Len() == 0 {
		return "not captured"
	}
	return b.String()
}

// inWords describes the course of captured values for readers who do not see the line:
// "Rises from 87 at t0 to 263 at t8, highest 357 at t6."
func inWords(labels []string, values analysis.Counts, lower []bool) string {
	values = values[:min(len(values), len(labels))]
	first, last := values.FirstAt(), values.LastAt()
	if first < 0 {
		return "Nothing was captured."
	}
	b := make([]byte, 0, 128)
	say := func(word string, i int) {
		b = append(b, word...)
		if isLower(lower, i) {
			b = append(b, "at least "...)
		}
		b = append(append(append(b, figure(values[i].N)...), " at "...), labels[i]...)
	}
	if first == last {
		say("One value, ", first)
		return string(append(b, '.'))
	}
	top := values.HighestAt()
	bottom := first
	for i, v := range values {
		if v.Known() && v.N < values[bottom].N {
			bottom = i
		}
	}
	from, to := values[first].N, values[last].N
	s := "Runs"
	switch {
	case slices.Contains(lower, true): // a lower bound is neither a rise nor a fall
	case values[top].N == values[bottom].N:
		s = "Stays level"
	case to > from:
		s = "Rises"
	case to < from:
		s = "Falls"
	}
	b = append(b, s...)
	say(" from ", first)
	say(" to ", last)
	if values[top].N > max(from, to) {
		say(", highest ", top)
	}
	if values[bottom].N < min(from, to) {
		say(", lowest ", bottom)
	}
	return string(append(b, '.'))
}

// lineClass distinguishes a line that ever rises above its first value from one that
// does not.
func lineClass(values analysis.Counts) string {
	first := values.FirstAt()
	top := values.Highest()
	if first >= 0 && top > values[first].N {
		return "up"
	}
	return "flat"
}

// A Gap is an interval without evidence that is much longer than the others. It lies
// between columns At-1 and At.
type Gap struct {
	At       int
	Duration time.Duration
}

// Gaps finds the gaps between columns at times. taken are the times of all captures where not
// each is a column, nil otherwise: between two columns there is a gap only if there is one
// between two captures, and it is as long as that.
func Gaps(times, taken []time.Time) []Gap {
	if taken == nil {
		return gaps(times)
	}
	var out []Gap
	of := gaps(taken)
	for i := 1; i < len(times); i++ {
		longest := time.Duration(0)
		for _, g := range of {
			if !taken[g.At-1].Before(times[i-1]) && !taken[g.At].After(times[i]) {
				longest = max(longest, g.Duration)
			}
		}
		if longest > 0 {
			out = append(out, Gap{At: i, Duration: longest})
		}
	}
	return out
}

// gaps finds the intervals longer than three times the median. Fewer than three known
// intervals have no usual length, so none of them is a gap.
func gaps(times []time.Time) []Gap {
	var lengths []time.Duration
	for i := 1; i < len(times); i++ {
		if d, ok := interval(times, i); ok {
			lengths = append(lengths, d)
		}
	}
	if len(lengths) < 3 {
		return nil
	}
	slices.Sort(lengths)
	median := lengths[len(lengths)/2]
	if len(lengths)%2 == 0 {
		median = (median + lengths[len(lengths)/2-1]) / 2
	}
	var out []Gap
	for i := 1; i < len(times); i++ {
		if d, ok := interval(times, i); ok && d > 3*median {
			out = append(out, Gap{At: i, Duration: d})
		}
	}
	return out
}

func interval(times []time.Time, i int) (time.Duration, bool) {
	if times[i].IsZero() || times[i-1].IsZero() {
		return 0, false
	}
	return times[i].Sub(times[i-1]), true
}

// axis places n columns between x0 and x1.
type axis struct {
	x []float64
	// cut reports that a gap was shortened to leave room for the evidence.
	cut bool
}

// gapShare is the largest share of the width for one gap.
const gapShare = 0.5

// newAxis scales by time if at least two columns have one. Columns without a time stand
// evenly between their neighbours. With fewer than two times, all columns stand evenly.
// A gap takes at most half of the width.
func newAxis(n int, times, taken []time.Time, x0, x1 float64) axis {
	weights, cut := spacing(n, times, taken)
	total := 0.0
	for _, w := range weights {
		total += w
	}
	a := axis{x: make([]float64, n), cut: cut}
	at := 0.0
	for i := range a.x {
		if i > 0 {
			at += weights[i]
		}
		switch {
		case n == 1:
			a.x[i] = (x0 + x1) / 2
		case total == 0:
			a.x[i] = x0 + (x1-x0)*float64(i)/float64(n-1)
		default:
			a.x[i] = x0 + (x1-x0)*at/total
		}
	}
	return a
}

// spacing returns the weight of the interval before each column.
func spacing(n int, times, taken []time.Time) ([]float64, bool) {
	weights := make([]float64, n)
	filled := fill(n, times)
	if filled == nil {
		for i := 1; i < n; i++ {
			weights[i] = 1
		}
		return weights, false
	}
	total := 0.0
	for i := 1; i < n; i++ {
		weights[i] = max(filled[i]-filled[i-1], 0)
		total += weights[i]
	}
	cut := false
	for _, g := range Gaps(times, taken) {
		rest := total - weights[g.At]
		if weights[g.At] > rest*gapShare/(1-gapShare) && rest > 0 {
			if weights[g.At] > 2*rest*gapShare/(1-gapShare) {
				total -= weights[g.At] - rest*gapShare/(1-gapShare)
				weights[g.At] = rest * gapShare / (1 - gapShare)
				cut = true
			}
		}
	}
	return weights, cut
}

// fill returns seconds since the first known time for every column, with untimed
// columns evenly between their neighbours. It returns nil if fewer than two times are
// known or times run backwards.
func fill(n int, times []time.Time) []float64 {
	var known []int
	for i := 0; i < n && i < len(times); i++ {
		if times[i].IsZero() {
			continue
		}
		if len(known) > 0 && times[i].Before(times[known[len(known)-1]]) {
			return nil
		}
		known = append(known, i)
	}
	if len(known) < 2 {
		return nil
	}
	start := times[known[0]]
	mean := times[known[len(known)-1]].Sub(start).Seconds() / float64(known[len(known)-1]-known[0])
	out := make([]float64, n)
	for i := range out {
		after, _ := slices.BinarySearch(known, i)
		switch {
		case after < len(known) && known[after] == i:
			out[i] = times[i].Sub(start).Seconds()
		case after == 0:
			out[i] = -mean * float64(known[0]-i)
		case after == len(known):
			last := known[after-1]
			out[i] = times[last].Sub(start).Seconds() + mean*float64(i-last)
		default:
			lo, hi := known[after-1], known[after]
			from, to := times[lo].Sub(start).Seconds(), times[hi].Sub(start).Seconds()
			out[i] = from + (to-from)*float64(i-lo)/float64(hi-lo)
		}
	}
	return out
}

// spread keeps labels apart. It takes positions along one line, with their widths, in
// order of importance, and reports which labels may be written.
type spread struct{ taken []struct{ from, to float64 } }

func (s *spread) free(from, to float64) bool {
	for _, t := range s.taken {
		if from < t.to && to > t.from {
			return false
		}
	}
	s.taken = append(s.taken, struct{ from, to float64 }{from, to})
	return true
}

// role is the role of the drawing for assistive technology.
func (d drawing) role() string {
	if d.linked {
		return "group"
	}
	return "img"
}
