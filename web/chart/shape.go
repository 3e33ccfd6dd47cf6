package chart

import (
	"fmt"
	"strings"
)

// ShapeData is what one object is made of: what holds it, the object, and its parts with
// their numbers. ID is unique in the page.
type ShapeData struct {
	ID, Title string
	// Head names the columns of the table, nil for those of an object.
	Head    []string `json:",omitempty"`
	Holders []ShapeBox
	Object  ShapeBox
	Parts   []ShapeBox
}

// ShapeBox is one box. Count stands in front of Name; boxes with less room have Bare, the
// name without its package. Told is shown when the reader points at the box.
type ShapeBox struct {
	Count            string
	Name, Bare, Told string
	// Known says how the part is known to belong, in words.
	Known string
	// Step reports that only equal numbers show that the part belongs.
	Step bool `json:",omitempty"`
}

const (
	shapeBox    = 26.0
	shapeStep   = shapeBox + 6
	shapeIndent = 22.0
	// shapeLine is the baseline of the text in a box.
	shapeLine = 17.0
)

func (s ShapeData) draw(w float64) drawing {
	d := drawing{id: fmt.Sprintf("%s-%g", s.ID, w), title: s.Title, desc: s.describe(), class: "shape", w: w}
	y, x := 0.5, 0.5
	for _, h := range s.Holders {
		d.shapeBox("sh", h, x, y, w)
		y += shapeStep
	}
	if len(s.Holders) > 0 {
		d.line("c-axis", x+10, y-6, x+10, y+shapeBox/2)
		d.line("c-axis", x+10, y+shapeBox/2, x+shapeIndent, y+shapeBox/2)
		x += shapeIndent
	}
	d.shapeBox("sh k", s.Object, x, y, w)
	top := y + shapeBox
	y += shapeStep
	for _, p := range s.Parts {
		d.line("c-axis", x+10, y+shapeBox/2, x+shapeIndent, y+shapeBox/2)
		class := "sh"
		if p.Step {
			class = "sh step"
		}
		d.shapeBox(class, p, x+shapeIndent, y, w)
		y += shapeStep
	}
	if len(s.Parts) > 0 {
		d.line("c-axis", x+10, top, x+10, y-shapeStep+shapeBox/2)
	}
	d.h = y - 6 + .5
	return d
}

// shapeBox draws a box from x to the right edge.
func (d *drawing) shapeBox(class string, b ShapeBox, x, y, right float64) {
	d.rect(class, x, y, right-x-.5, shapeBox)
	d.explain(b.Told)
	left := x + 8
	if b.Count != "" {
		d.label("k", "start", left, y+shapeLine, b.Count)
		left += 1.1*textWidth(b.Count) + 8
	}
	name := FlameBox{Name: b.Name, Bare: b.Bare, Last: b.Bare}
	d.label("mono", "start", left, y+shapeLine, name.cut(int((right-left-8)/boxLetter)))
	d.explain(b.Told)
}

func (s ShapeData) describe() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s", s.Object.Name, s.Object.Count)
	for i, p := range s.Parts {
		b.WriteString([]string{": ", ", "}[min(i, 1)] + strings.TrimSpace(p.Count+" "+p.Name))
	}
	b.WriteString(".")
	for _, h := range s.Holders {
		fmt.Fprintf(&b, " %s %s.", h.Count, h.Name)
	}
	return b.String()
}

func (s ShapeData) table() Table {
	out := Table{Caption: s.Title, Head: []string{"Part", "Each", "Known by"}}
	if s.Head != nil {
		out.Head = s.Head
	}
	for _, p := range s.Parts {
		out.Rows = append(out.Rows, []string{p.Told, p.Count, p.Known})
	}
	return out
}
