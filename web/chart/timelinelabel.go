package chart

import (
	"leakdiff/analysis"
)

// nameBoxes are the boxes of the name of lane i inside its drawing.
func (f *timelineFrame) nameBoxes(i int, lane Lane) []box {
	if lane.Name == "" {
		return nil
	}
	if !f.narrow {
		y := f.roof(i) + 4
		return []box{{0, y - 12, f.width(clip(lane.Name, sideLength)), y + 3}}
	}
	y := f.y(i, 0) - f.laneH + 8
	x := f.nameX(lane.Name)
	return []box{{x, y - 10, x + textWidth(clip(lane.Name, nameLength)), y + 2}}
}

// wordBoxes are the boxes of the words of onset and limit of lane i.
func (f *timelineFrame) wordBoxes(i int) []box {
	var out []box
	low, high := f.y(i, 0)-f.laneH, f.y(i, 0)
	for _, m := range f.d.marks {
		if m.shape != text || m.y < low || m.y > high || m.class != "c-t limit" && m.text != onsetWords {
			continue
		}
		from := m.x
		if m.anchor == "middle" {
			from -= textWidth(m.text) / 2
		}
		out = append(out, box{from, m.y - 10, from + textWidth(m.text), m.y + 2})
	}
	return out
}

// nameLength bounds the name of a lane on narrow pages.
const nameLength = 30

// nameX is the left edge of the name of a lane on narrow pages. It lies to the right of
// the verticals of A and B, which would strike the name through.
func (f *timelineFrame) nameX(name string) float64 {
	x, width := f.left, textWidth(clip(name, nameLength))
	for range 2 {
		for _, at := range []int{f.t.A, f.t.B} {
			if at >= 0 && at < len(f.a.x) && f.a.x[at] > x-4 && f.a.x[at] < x+width && f.a.x[at]+8+width < f.right {
				x = f.a.x[at] + 8
			}
		}
	}
	return x
}

// blocked is the cost of a position with another text. It exceeds any cost of strokes.
const blocked = 1000

// place tries the positions around a point, the usual one first, and returns the one
// with the least cost. zero is the axis, which no label may cross.
func (f *timelineFrame) place(p point, half, zero float64, line []segment, taken []box) (best box, hits int) {
	const ascent = 9.0
	hits = -1
	for _, c := range []point{{0, -labelGap}, {-half - 7, -5}, {half + 7, -5}, {half + 7, 14}, {-half - 7, 14}, {0, 18}} {
		b := box{p.x + c.x - half, p.y + c.y - ascent, p.x + c.x + half, p.y + c.y + 1}
		n := f.strokesIn(b, line)
		for _, t := range taken {
			if b.x0 < t.x1+3 && b.x1+3 > t.x0 && b.y0 < t.y1 && b.y1 > t.y0 {
				n += blocked
			}
		}
		if b.x0 < 0 || b.x1 > f.d.w || b.y1 > zero {
			n += blocked
		}
		if hits < 0 || n < hits {
			best, hits = b, n
		}
		if hits == 0 {
			break
		}
	}
	return best, hits
}

// box is the rectangle of a text, segment a straight stroke.
type (
	box     struct{ x0, y0, x1, y1 float64 }
	segment struct{ from, to point }
)

// meets reports whether the stroke runs through the box. It clips the stroke to each
// pair of edges (Liang and Barsky).
func (s segment) meets(b box) bool {
	dx, dy := s.to.x-s.from.x, s.to.y-s.from.y
	enter, leave := 0.0, 1.0
	for _, e := range [...]struct{ p, q float64 }{{-dx, s.from.x - b.x0}, {dx, b.x1 - s.from.x}, {-dy, s.from.y - b.y0}, {dy, b.y1 - s.from.y}} {
		switch {
		case e.p == 0 && e.q < 0:
			return false
		case e.p < 0:
			enter = max(enter, e.q/e.p)
		case e.p > 0:
			leave = min(leave, e.q/e.p)
		}
	}
	return enter < leave
}

// needed is the number of columns at the head of important that have a label even on a
// stroke.
func (f *timelineFrame) needed(values analysis.Counts) int {
	top := values.HighestAt()
	first, last := values.FirstAt(), values.LastAt()
	seen := map[int]bool{}
	for _, at := range []int{f.t.A, f.t.B, top, last, first} {
		if at >= 0 && at < len(values) && values[at].Known() {
			seen[at] = true
		}
	}
	return len(seen)
}

// important orders the captured columns: first those that a reader looks for, then the
// lower bounds, which are in all too.
func (f *timelineFrame) important(values, all analysis.Counts) []int {
	top := values.HighestAt()
	first, last := values.FirstAt(), values.LastAt()
	var out []int
	seen := map[int]bool{}
	add := func(at int) {
		if at >= 0 && at < len(all) && all[at].Known() && !seen[at] {
			seen[at] = true
			out = append(out, at)
		}
	}
	for _, at := range []int{f.t.A, f.t.B, top, last, first} {
		if at >= 0 && at < len(values) && values[at].Known() {
			add(at)
		}
	}
	for at := range all {
		if !values[at].Known() {
			add(at)
		}
	}
	if f.narrow && len(values) > 6 {
		return out
	}
	for at := range values {
		add(at)
	}
	return out
}

// labels names the columns below the last lane.
func (f *timelineFrame) labels() {
	y := f.bottom - laneGap
	var room spread
	order := []int{f.t.A, f.t.B, 0, len(f.t.Labels) - 1}
	for i := range f.t.Labels {
		order = append(order, i)
	}
	seen := map[int]bool{}
	names := columnNames(f.t.Labels, 16)
	for _, i := range order {
		if i < 0 || i >= len(f.t.Labels) || seen[i] {
			continue
		}
		seen[i] = true
		x := f.a.x[i]
		f.d.line("c-axis", x, y, x, y+4)
		s := names[i]
		half := textWidth(s)/2 + 3
		place := min(max(x, half), f.d.w-half)
		if !room.free(place-half, place+half) {
			continue
		}
		class := "s"
		if i == f.t.A || i == f.t.B {
			class = "ab"
		}
		f.d.label(class, "middle", place, y+17, s)
	}
}

// picks draws A and B as verticals that a bar joins.
func (f *timelineFrame) picks() {
	disc := f.top - 18
	ok := func(i int) bool { return i >= 0 && i < len(f.a.x) }
	if ok(f.t.A) && ok(f.t.B) && f.t.A != f.t.B {
		from, to := min(f.a.x[f.t.A], f.a.x[f.t.B]), max(f.a.x[f.t.A], f.a.x[f.t.B])
		for _, piece := range around(from, to, f.gapText()) {
			f.d.rect("c-abspan", piece.x, disc-1, piece.y-piece.x, 2)
		}
	}
	for _, p := range []struct {
		at                     int
		class, letter, onClass string
	}{{f.t.A, "c-abd", "A", "ab"}, {f.t.B, "c-abd b", "B", "abb"}} {
		if !ok(p.at) {
			continue
		}
		x := f.a.x[p.at]
		f.d.line("c-ab", x, disc+9, x, f.bottom-laneGap)
		f.d.circle(p.class, x, disc, 9)
		f.d.label(p.onClass, "middle", x, disc+4.3, p.letter)
	}
}

// gapText returns the stretches of the line of discs that the words of gaps cover, as
// pairs in points.
func (f *timelineFrame) gapText() []point {
	if f.narrow {
		return nil
	}
	var out []point
	for _, m := range f.d.marks {
		if m.shape == text && m.class == "c-t gaptext" {
			half := f.width(m.text)/2 + 2
			out = append(out, point{m.x - half, m.x + half})
		}
	}
	return out
}

// around returns from..to without the covered stretches.
func around(from, to float64, covered []point) []point {
	pieces := []point{{from, to}}
	for _, c := range covered {
		var next []point
		for _, p := range pieces {
			if c.y <= p.x || c.x >= p.y {
				next = append(next, p)
				continue
			}
			if c.x > p.x {
				next = append(next, point{p.x, c.x})
			}
			if c.y < p.y {
				next = append(next, point{c.y, p.y})
			}
		}
		pieces = next
	}
	return pieces
}
