package chart

import (
	"fmt"
	"unicode/utf8"
)

// FlameData is a tree of calls with its root on top, or below its callers. The width of a box
// is its share, and its callees hang below it. ID is unique in the page.
type FlameData struct {
	ID, Title, Desc string
	Root            FlameBox
	// Callers is nil or the root again, with its callers in place of its callees. They are
	// drawn above it.
	Callers *FlameBox `json:",omitempty"`
	// Twin holds the figures of the widest boxes.
	Twin Table
}

// FlameBox is one call. Its weight is at least that of all its children, with those
// that were left out.
type FlameBox struct {
	// Name is written into the box. Boxes with less room have its ends: Bare without
	// package, Last without receiver. Told is shown when the reader points at the box:
	// the whole name and all figures.
	Name, Bare, Last, Told string
	// Figure stands at the right edge. FigureFirst reports that it matters more than
	// the name if only one has room.
	Figure      string
	FigureFirst bool `json:",omitempty"`
	Weight      int
	// Look is f0 to f5 for a tint, up, down or same for a change.
	Look string
	// URL links to the drawing of this box alone. It may be empty.
	URL string `json:",omitempty"`
	// Found reports that the box matches the search of the reader.
	Found    bool       `json:",omitempty"`
	Children []FlameBox `json:",omitempty"`
	// Left is the number of children that were left out, LeftWeight their weight.
	Left, LeftWeight int `json:",omitempty"`
}

const (
	boxHeight = 24.0
	boxStep   = boxHeight + 1
	// boxLetter is the width of a letter of the monospace at 12 px.
	boxLetter = 7.23
	// A box narrower than this on a wide or narrow page is joined with its narrow
	// neighbours. On a phone that is the width of a fingertip.
	narrowestWide, narrowestNarrow = 4.0, 24.0
)

func (f FlameData) draw(w float64) drawing {
	d := drawing{id: fmt.Sprintf("%s-%g", f.ID, w), title: f.Title, desc: f.Desc, class: "flame", w: w, linked: f.Root.linked()}
	g := flameFrame{d: &d, least: narrowestWide}
	if w < 600 {
		g.least = narrowestNarrow
	}
	if f.Root.Weight > 0 {
		g.scale = w / float64(f.Root.Weight)
		if f.Callers != nil {
			g.children(f.Callers, 0, 0, -1)
		}
		g.box(&f.Root, 0, 0, 1)
	}
	for i := range d.marks {
		d.marks[i].y -= g.top
	}
	d.h = max(g.bottom-g.top, boxHeight) + 1
	return d
}

// linked reports whether any box is a link.
func (b *FlameBox) linked() bool {
	if b.URL != "" {
		return true
	}
	for i := range b.Children {
		if b.Children[i].linked() {
			return true
		}
	}
	return false
}

// flameFrame is the geometry of one drawing.
type flameFrame struct {
	d            *drawing
	scale, least float64
	top, bottom  float64
}

// row is the height of a row, which the drawing then reaches.
func (f *flameFrame) row(n int) float64 {
	y := boxStep * float64(n)
	f.top, f.bottom = min(f.top, y), max(f.bottom, y+boxHeight)
	return y
}

// box draws a call at x in a row, and what belongs to it in the next rows by step: its callees
// below it, or its callers above.
func (f *flameFrame) box(b *FlameBox, x float64, row, step int) {
	w := float64(b.Weight) * f.scale
	y := f.row(row)
	class := "fb " + b.Look
	if b.Found {
		class += " found"
	}
	m := mark{shape: framed, class: class, x: x, y: y, w: max(w-1, 1), h: boxHeight, full: b.Told, frame: &frame{href: b.URL}}
	m.text, m.frame.figure = b.words(w - 1 - 2*boxPad)
	f.d.marks = append(f.d.marks, m)
	f.d.fillWith(b.pattern())
	if m.text == "" && m.frame.figure == "" && row != 0 {
		return // what is below is no wider, so that nobody could read it: the box opens it
	}
	f.children(b, x, row, step)
}

func (f *flameFrame) children(b *FlameBox, x float64, row, step int) {
	left, leftWeight := b.Left, b.LeftWeight
	for i := range b.Children {
		c := &b.Children[i]
		if float64(c.Weight)*f.scale < f.least {
			left++
			leftWeight += c.Weight
			continue
		}
		f.box(c, x, row+step, step)
		x += float64(c.Weight) * f.scale
	}
	f.rest(b, left, float64(leftWeight)*f.scale, x, row, step)
}

// rest stands for the calls that have no box of their own.
func (f *flameFrame) rest(b *FlameBox, left int, w, x float64, row, step int) {
	if left == 0 || w < 2 {
		return
	}
	y, where := f.row(row+step), " more below "
	if step < 0 {
		where = " more above "
	}
	m := mark{shape: framed, class: "fb left", x: x, y: y, w: max(w-1, 1), h: boxHeight, frame: &frame{href: b.URL}}
	m.full = figure(left) + where + b.Name
	text := figure(left) + " more"
	if float64(len(text))*boxLetter <= w-1-2*boxPad {
		m.text = text
	}
	f.d.marks = append(f.d.marks, m)
}

func (b *FlameBox) pattern() pattern {
	switch b.Look {
	case "up":
		return rising
	case "down":
		return falling
	}
	return none
}

// words returns what fits into room pixels: the name, whole or cut, and the figure.
func (b *FlameBox) words(room float64) (name, fig string) {
	letters := int(room / boxLetter)
	figure := utf8.RuneCountInString(b.Figure)
	beside := letters - figure - 2
	telling := 8
	if b.FigureFirst {
		telling = 4
	}
	switch {
	case figure > 0 && beside >= min(utf8.RuneCountInString(b.Name), telling):
		return b.cut(beside), b.Figure
	case b.FigureFirst && figure > 0:
		if letters >= figure {
			return "", b.Figure
		}
		return "", ""
	}
	return b.cut(letters), ""
}

// cut returns the name in at most n letters: whole, without its package, without its
// receiver, or the beginning of that. Neighbours often share package and receiver, so
// these go first.
func (b *FlameBox) cut(n int) string {
	shortest := b.Name
	for _, name := range []string{b.Name, b.Bare, b.Last} {
		if name == "" {
			continue
		}
		if utf8.RuneCountInString(name) <= n {
			return name
		}
		shortest = name
	}
	if n < 3 {
		return ""
	}
	return clip(shortest, n)
}

// Cells are the figures of the widest boxes.
func (f FlameData) Cells() (head []string, rows [][]string) { return f.Twin.Head, f.Twin.Rows }
