package chart

import (
	"context"
	"io"
	"slices"
	"sync"

	"github.com/a-h/templ"

	"leakdiff/web"
)

// svg writes a drawing in one piece, which takes a fifth of the time of a template for
// each mark: tables have a drawing in every row.
func svg(d drawing) templ.Component {
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		_, err := w.Write(d.addressed(ctx).markup(make([]byte, 0, 256+128*len(d.marks))))
		return err
	})
}

// addressed is the drawing with the URLs of its boxes as a browser requests them.
func (d drawing) addressed(ctx context.Context) drawing {
	if !slices.ContainsFunc(d.marks, func(m mark) bool { return m.frame != nil }) {
		return d
	}
	d.marks = slices.Clone(d.marks)
	for i := range d.marks {
		if f := d.marks[i].frame; f != nil && f.href != "" {
			d.marks[i].frame = &frame{href: string(web.Link(ctx, f.href)), figure: f.figure, skipped: f.skipped}
		}
	}
	return d
}

// rows writes the rows of a twin in one piece, like drawings: there may be hundreds.
func rows(t Table) templ.Component {
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		b := make([]byte, 0, 128*len(t.Rows))
		for k, row := range t.Rows {
			b = append(b, `<tr class="plain">`...)
			for i, c := range row {
				switch {
				case i > 0:
					b = append(AppendText(append(b, `<td class="num">`...), c), "</td>"...)
				case k < len(t.URLs) && t.URLs[k] != "":
					b = append(AppendText(append(b, `<th scope="row"><a href="`...), string(web.Link(ctx, t.URLs[k]))), `">`...)
					b = append(AppendText(b, c), "</a></th>"...)
				default:
					b = append(AppendText(append(b, `<th scope="row">`...), c), "</th>"...)
				}
			}
			b = append(b, "</tr>"...)
		}
		_, err := w.Write(b)
		return err
	})
}

// Append appends the small line to b, for rows that are written in one piece.
func (s SparkData) Append(b []byte) []byte {
	room := rooms.Get().(*[8]mark)
	defer rooms.Put(room)
	return s.drawIn(room[:0]).markup(b)
}

// rooms are reused buffers for the marks of small lines, which are written at once.
var rooms = sync.Pool{New: func() any { return new([8]mark) }}

// escapes are the special characters of HTML as html.EscapeString writes them. special
// holds the index into escapes for each byte.
var (
	escapes = [...]string{"", "&amp;", "&#39;", "&lt;", "&gt;", "&#34;"}
	special = [256]uint8{'&': 1, '\'': 2, '<': 3, '>': 4, '"': 5}
)

// AppendText appends text to b with the escapes of html.EscapeString, in one pass
// instead of five.
func AppendText(b []byte, s string) []byte {
	from := 0
	for i := range len(s) {
		if at := special[s[i]]; at > 0 {
			b = append(append(b, s[from:i]...), escapes[at]...)
			from = i + 1
		}
	}
	return append(b, s[from:]...)
}

// tag appends elements and their attributes.
type tag []byte

func (t tag) text(name, value string) tag {
	t = append(append(append(t, ' '), name...), `="`...)
	return append(AppendText(t, value), '"')
}

// word is text of this package, which needs no escapes.
func (t tag) word(name, value string) tag {
	return append(append(append(append(append(t, ' '), name...), `="`...), value...), '"')
}

func (t tag) number(name string, v float64) tag {
	t = append(append(append(t, ' '), name...), `="`...)
	return append(appendNum(t, v), '"')
}

// through appends the points of a line or an area.
func (t tag) through(points []point) tag {
	t = append(t, ` points="`...)
	for i, p := range points {
		if i > 0 {
			t = append(t, ' ')
		}
		t = appendNum(append(appendNum(t, p.x), ','), p.y)
	}
	return append(t, '"')
}

// markup appends the drawing as an svg element.
func (d drawing) markup(b []byte) []byte {
	t := append(tag(b), "<svg"...).word("class", d.class)
	t = append(appendNum(append(t, ` viewBox="0 0 `...), d.w), ' ')
	t = append(appendNum(t, d.h), '"')
	t = t.number("width", d.w).number("height", d.h).word("role", d.role())
	if d.stretch {
		t = t.word("preserveAspectRatio", "none")
	}
	if len(d.columns) > 0 {
		t = t.placed(d.columns)
	}
	t = append(AppendText(append(t, ` aria-labelledby="`...), d.id), "-t"...)
	if d.desc != "" {
		t = append(AppendText(append(t, ' '), d.id), "-d"...)
	}
	t = append(AppendText(append(t, `"><title id="`...), d.id), `-t">`...)
	t = append(AppendText(t, d.title), "</title>"...)
	if d.desc != "" {
		t = append(AppendText(append(t, `<desc id="`...), d.id), `-d">`...)
		t = append(AppendText(t, d.desc), "</desc>"...)
	}
	if d.hatch {
		t = append(t, "<defs><pattern"...).text("id", d.id+"-h")
		t = append(t, ` width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><line x1="0" y1="0" x2="0" y2="6" class="c-grid"></line></pattern></defs>`...)
	}
	t = d.fills(t)
	for i := range d.marks {
		t = d.marks[i].markup(t, d.id)
	}
	return append(t, "</svg>"...)
}

// placed appends the places of the snapshots and, a line each, their labels.
func (t tag) placed(columns []column) tag {
	t = append(t, ` data-x="`...)
	for i, c := range columns {
		if i > 0 {
			t = append(t, ' ')
		}
		t = appendNum(t, c.x)
	}
	t = append(t, `" data-l="`...)
	for i, c := range columns {
		if i > 0 {
			t = append(t, '\n')
		}
		t = AppendText(t, c.label)
	}
	return append(t, '"')
}

// fills appends the patterns of the marks.
func (d drawing) fills(t tag) tag {
	for _, p := range d.patterns {
		if p == grown || p == better {
			t = append(t, "<defs><pattern"...).text("id", d.id+"-"+p.String()).word("width", "5").word("height", "5")
			t = t.word("patternUnits", "userSpaceOnUse").word("patternTransform", p.turn())
			t = append(t, "><line"...).word("class", "c-"+p.String()).word("y2", "5")
			t = append(t, "></line></pattern></defs>"...)
			continue
		}
		t = append(t, "<defs><pattern"...).word("class", "pt "+p.String()).text("id", d.id+"-"+p.String()).word("width", "6").word("height", "6")
		t = t.word("patternUnits", "userSpaceOnUse").word("patternTransform", p.turn())
		t = append(t, `><rect width="6" height="6"></rect>`...)
		if p == rest {
			t = append(t, `<circle cx="3" cy="3" r="1"></circle>`...)
		} else {
			t = append(t, `<line x1="0" y1="0" x2="0" y2="6"></line>`...)
		}
		t = append(t, "</pattern></defs>"...)
	}
	return t
}

func (p pattern) turn() string {
	switch p {
	case rising:
		return "rotate(45)"
	case falling, grown:
		return "rotate(-45)"
	case even, better:
		return "rotate(90)"
	}
	return "rotate(0)"
}

// filled names the pattern of the mark.
func (t tag) filled(m *mark, id string) tag {
	if m.fill == none {
		return t
	}
	return t.text("fill", "url(#"+id+"-"+m.fill.String()+")")
}

// markup appends one element. id is that of its drawing.
func (m *mark) markup(t tag, id string) tag {
	switch m.shape {
	case rect:
		t = append(t, "<rect"...)
		if !m.hatched {
			t = t.word("class", m.class)
		}
		t = t.number("x", m.x).number("y", m.y).number("width", m.w).number("height", m.h)
		if m.hatched {
			t = t.text("fill", "url(#"+id+"-h)")
		}
		return append(m.pointedAt(append(t.filled(m, id), '>')), "</rect>"...)
	case line:
		t = append(t, "<line"...).word("class", m.class).number("x1", m.x).number("y1", m.y).number("x2", m.x2).number("y2", m.y2)
		return append(m.pointedAt(append(t, '>')), "</line>"...)
	case polyline:
		t = append(t, "<polyline"...).word("class", m.class).through(m.points)
		if m.dashed {
			t = t.word("stroke-dasharray", "2 5")
		}
		return append(t, "></polyline>"...)
	case polygon:
		t = append(t, "<polygon"...).word("class", m.class).through(m.points).filled(m, id)
		return append(m.pointedAt(append(t, '>')), "</polygon>"...)
	case circle:
		t = append(t, "<circle"...).word("class", m.class).number("cx", m.x).number("cy", m.y).number("r", m.r)
		return append(t, "></circle>"...)
	case framed:
		return m.boxed(t, id)
	case opening:
		return append(append(t, "<g"...).word("class", m.class), '>')
	case closing:
		return append(t, "</g>"...)
	default:
		end := "</text>"
		if m.frame != nil {
			t, end = append(append(t, "<a"...).text("href", m.frame.href), '>'), "</text></a>"
		}
		t = append(t, "<text"...).word("class", m.class).number("x", m.x).number("y", m.y).word("text-anchor", m.anchor)
		return append(AppendText(m.pointedAt(append(t, '>')), m.text), end...)
	}
}

// pointedAt appends the text that is shown when the reader points at the mark.
func (m *mark) pointedAt(t tag) tag {
	if m.full == "" {
		return t
	}
	return append(AppendText(append(t, "<title>"...), m.full), "</title>"...)
}

// boxed appends a rectangle with its text as one link.
func (m *mark) boxed(t tag, id string) tag {
	name := "a"
	if m.frame.href == "" {
		name = "g"
	}
	t = append(append(t, '<'), name...).word("class", m.class)
	if m.frame.href != "" {
		t = t.text("href", m.frame.href)
	}
	if m.frame.skipped {
		t = t.word("tabindex", "-1")
	}
	t = m.pointedAt(append(t, '>'))
	t = append(t, "<rect"...).number("x", m.x).number("y", m.y).number("width", m.w).number("height", m.h).filled(m, id)
	t = append(t, "></rect>"...)
	if m.text != "" {
		t = append(t, "<text"...).number("x", m.x+boxPad).number("y", m.y+boxLine)
		t = append(AppendText(append(t, '>'), m.text), "</text>"...)
	}
	if m.frame.figure != "" {
		t = append(t, "<text"...).word("class", "fig").number("x", m.x+m.w-boxPad).number("y", m.y+boxLine).word("text-anchor", "end")
		t = append(AppendText(append(t, '>'), m.frame.figure), "</text>"...)
	}
	return append(append(append(t, "</"...), name...), '>')
}

// The margins left and right of the text in a box of 24 px, and its baseline.
const (
	boxPad  = 5
	boxLine = 16.5
)
