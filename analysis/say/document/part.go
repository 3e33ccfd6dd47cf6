package document

import (
	"slices"
	"strings"

	"leakdiff/analysis/say/wording"
)

// A part is a piece of a text form. All text forms are written from the same parts.
type part int

const (
	headingPart part = iota
	paragraphPart
	itemPart
	tablePart
	codePart
	gapPart
)

// piece is one part; the fields that its part has no use for are zero.
type piece struct {
	part  part
	level int
	text  string
	// numeric is the first column of figures.
	numeric int
	head    []string
	rows    [][]string
	lines   []string
}

// A text has what a page says, but for these: navigation, controls and forms (whose tables it
// has); what paper leaves out; drawings, but for the figures of the main
// one; rows beyond mostRows of a table that is not of a drawing, which it counts; and a heading
// with nothing below it.

// mostRows is how many rows of a table a text has. Tickets are short.
const mostRows = 60

// tabled is a chart whose figures a text shows as a table, bounded by itself.
type tabled interface {
	Cells() (head []string, rows [][]string)
}

// pieces are the blocks as the text forms have them.
func (b Blocks) pieces() []piece {
	all := b.everyPiece()
	out := make([]piece, 0, len(all))
	var below *piece
	for i := range slices.Backward(all) {
		p := &all[i]
		if p.part == headingPart && p.level > 1 && (below == nil || below.part == headingPart && below.level <= p.level) {
			continue
		}
		if p.part == itemPart && below != nil && below.part != itemPart && out[len(out)-1].part != gapPart {
			out = append(out, piece{part: gapPart})
		}
		out = append(out, *p)
		if p.part != gapPart {
			below = p
		}
	}
	slices.Reverse(out)
	return out
}

// everyPiece also has headings with nothing below them.
func (b Blocks) everyPiece() []piece {
	var out []piece
	for _, x := range b {
		more := blockPieces(x)
		// What a fold hides goes on with the list before it.
		if f, ok := x.(Fold); ok && f.Rest && len(out) > 0 && len(more) > 0 && out[len(out)-1].part == gapPart && more[0].part == itemPart {
			out = out[:len(out)-1]
		}
		out = append(out, more...)
	}
	return out
}

func blockPieces(x Block) []piece {
	switch x := x.(type) {
	case Heading:
		return worded(headingPart, x.Level, x.Text.String())
	case Paragraph:
		if x.Unseen || x.Silent || x.Look.unprinted() {
			return nil
		}
		return paragraph(x.Text.String())
	case Text:
		return paragraph(x.String())
	case Notice:
		return paragraph(x.Word + ": " + x.Text.String())
	case Gap:
		return []piece{{part: gapPart}}
	case List:
		return x.pieces()
	case Terms:
		var out []piece
		for i := range x.Rows {
			if !x.Rows[i].PageOnly {
				out = append(out, worded(itemPart, 0, named(x.Rows[i].Name.String(), x.Rows[i].words()))...)
			}
		}
		return append(out, piece{part: gapPart})
	case Figures:
		var out []piece
		for _, f := range x.Rows {
			out = append(out, worded(itemPart, 0, f.Text+": "+f.Value+f.Change.plain())...)
		}
		return append(out, piece{part: gapPart})
	case Problems:
		var out []piece
		for i := range x.List {
			out = append(out, worded(itemPart, 0, x.List[i].line())...)
		}
		return append(out, piece{part: gapPart})
	case Table:
		return x.pieces()
	case Code:
		return []piece{{part: codePart, lines: x.Lines}}
	case Stack:
		return x.pieces()
	case Section:
		return x.pieces()
	case Fold:
		return x.pieces()
	case Group:
		return x.pieces()
	case Label:
		return x.everyPiece()
	case TextOnly:
		return x.everyPiece()
	case Form:
		var out []piece
		for _, inner := range x.Blocks {
			if t, ok := inner.(Table); ok {
				out = append(out, t.pieces()...)
			}
		}
		return out
	case Drawing:
		if t, ok := x.Chart.(tabled); ok && x.Main {
			head, rows := t.Cells()
			return append([]piece{{part: tablePart, numeric: 1, head: head, rows: rows}}, paragraph(x.Text)...)
		}
		return paragraph(x.Text)
	}
	return nil
}

// unprinted are the words of looks that paper leaves out, as the style sheet for print does.
var unprinted = [...]string{"noprint", "tools", "act", "btn", "compare", "skip"}

// unprinted reports the look of what paper leaves out.
func (l Look) unprinted() bool {
	return slices.ContainsFunc(strings.Fields(string(l)), func(word string) bool { return slices.Contains(unprinted[:], word) })
}

func paragraph(text string) []piece { return worded(paragraphPart, 0, text) }

// worded is a piece of words, none without words.
func worded(is part, level int, text string) []piece {
	if text = tidy(text); text == "" {
		return nil
	}
	return []piece{{part: is, level: level, text: text}}
}

// tidy leaves single spaces and marks where spans without words stood.
func tidy(text string) string {
	text = strings.ReplaceAll(text, " ; ", "; ")
	text = strings.Trim(strings.TrimPrefix(strings.TrimSuffix(text, "; "), "; "), " ")
	for strings.Contains(text, "  ") {
		text = strings.ReplaceAll(text, "  ", " ")
	}
	return text
}

func named(name, text string) string {
	switch {
	case name == "":
		return text
	case text == "":
		return name
	}
	return name + ": " + text
}

// pieces are the entries in a line each. A numbered entry, and one that has code or a table,
// stands below its heading.
func (l *List) pieces() []piece {
	if l.Look.unprinted() {
		return nil
	}
	var out []piece
	for i := range l.Items {
		inner, number := l.Items[i].everyPiece(), l.Items[i].number()
		switch at := slices.IndexFunc(inner, func(p piece) bool { return p.part == headingPart }); {
		case number != "" && at >= 0:
			inner[at].text = number + ". " + inner[at].text
			out = append(out, inner...)
		case slices.ContainsFunc(inner, func(p piece) bool { return p.part == codePart || p.part == tablePart }):
			out = append(out, inner...)
		default:
			out = append(out, worded(itemPart, 0, l.Items[i].words())...)
		}
	}
	if !l.Open {
		out = append(out, piece{part: gapPart})
	}
	return out
}

// number is that of a numbered entry, which its heading gets in texts.
func (i *Item) number() string {
	if len(i.Blocks) > 0 {
		if t, ok := i.Blocks[0].(Text); ok && len(t) == 1 && t[0].Look == Number {
			return t[0].Text
		}
	}
	return ""
}

// pieces leave out a section whose blocks say nothing in a text, with its heading.
func (s *Section) pieces() []piece {
	inner := s.everyPiece()
	if s.Look.unprinted() || len(s.Blocks) > 0 && len(inner) == 0 {
		return nil
	}
	out := worded(headingPart, 2, s.Title.String())
	return slices.Concat(out, paragraph(s.Note.String()), inner)
}

// pieces are what a fold hides. One of sentences is an entry of a list.
func (f *Fold) pieces() []piece {
	inner := f.everyPiece()
	switch {
	case f.Look.unprinted() || len(inner) == 0:
		return nil
	case f.Rest:
		return inner
	case !slices.ContainsFunc(f.Blocks, func(b Block) bool { return !isSentence(b) }):
		return worded(itemPart, 0, named(f.Summary.String(), f.words()))
	}
	return append(paragraph(f.Summary.String()), inner...)
}

func isSentence(b Block) bool {
	switch b.(type) {
	case Paragraph, Text, Notice, Terms:
		return true
	}
	return false
}

// pieces are those of the group. A heading stands in front of what is above it in a header, and
// in one line with the sentence below it in a box that is labelled by it. A figure is a drawing
// with its caption.
func (g *Group) pieces() []piece {
	if g.Look.unprinted() || g.Role == "navigation" || g.Role == "figure" {
		return nil
	}
	out := g.everyPiece()
	if g.LabelledBy != "" && len(out) > 1 && out[0].part == headingPart && out[1].part == paragraphPart {
		out[1].text = named(out[0].text, out[1].text)
		return out[1:]
	}
	if g.Role == "header" {
		slices.SortStableFunc(out, func(a, b piece) int { return int(min(a.part, paragraphPart)) - int(min(b.part, paragraphPart)) })
	}
	return out
}

// words are blocks in one line, for an entry of a list. What has a place of its own names what
// follows it; entries of a list are set apart.
func (b Blocks) words() string {
	out := ""
	for i, x := range b {
		join := " "
		if i > 0 {
			switch b[i-1].(type) {
			case Heading, Group:
				join = ": "
			case Paragraph:
				if _, again := x.(Paragraph); again {
					join = "; "
				}
			}
		}
		for _, p := range blockPieces(x) {
			switch ended := strings.HasSuffix(out, ".") || strings.HasSuffix(out, ":"); {
			case p.text == "":
				continue
			case out == "":
			case p.part == itemPart && !ended:
				out += "; "
			case ended:
				out += " "
			default:
				out += join
			}
			out, join = out+p.text, " "
		}
	}
	return out
}

// pieces are the table; below it the number of rows left out, and what its rows open to.
func (t *Table) pieces() []piece {
	if len(t.Head) == 0 {
		return t.bare()
	}
	p := piece{part: tablePart, numeric: t.Numeric}
	var figured []bool
	for i := range t.Head {
		h := &t.Head[i]
		// The word of a head over several columns belongs to the last, which has the words.
		for range max(h.Span, 1) - 1 {
			p.head, figured = append(p.head, ""), append(figured, false)
		}
		p.head, figured = append(p.head, h.words()), append(figured, h.Look == Figured || strings.HasPrefix(string(h.Look), "num "))
	}
	var opened []piece
	for _, part := range t.Parts {
		for i := range part.Rows {
			r := &part.Rows[i]
			if r.Look.unprinted() {
				continue
			}
			if len(r.Cells) == 1 && len(r.Cells[0].Blocks) > 0 && len(p.head) > 1 && len(p.rows) > 0 {
				opened = append(opened, piece{part: headingPart, level: 3, text: firstWord(p.rows[len(p.rows)-1])})
				opened = append(opened, r.Cells[0].Blocks.everyPiece()...)
				continue
			}
			p.rows = append(p.rows, r.words(len(p.head)))
		}
	}
	if p.numeric == 0 {
		p.numeric = figuresFrom(figured)
	}
	p.leaveEmpty()
	return append(limited(p), opened...)
}

// limited is a table without the rows that are too many, and their number.
func limited(p piece) []piece {
	more := len(p.rows) - mostRows
	if more <= 0 {
		if len(p.rows) == 0 {
			return nil
		}
		return []piece{p}
	}
	p.rows = p.rows[:mostRows]
	return append([]piece{p}, paragraph(wording.PagePlural(int64(more), "more row is", "more rows are")+" left out here.")...)
}

// figuresFrom is the first column of figures, or that after the last column of words where
// the first column is one of figures.
func figuresFrom(figured []bool) int {
	if len(figured) > 0 && !figured[0] {
		if at := slices.Index(figured, true); at > 0 {
			return at
		}
		return len(figured)
	}
	at := len(figured)
	for at > 0 && figured[at-1] {
		at--
	}
	return at
}

// leaveEmpty leaves out columns that only pages fill, with drawings or controls.
func (p *piece) leaveEmpty() {
	for i := range slices.Backward(p.head) {
		if slices.ContainsFunc(p.rows, func(row []string) bool { return row[i] != "" }) {
			continue
		}
		p.head = slices.Delete(p.head, i, i+1)
		for k := range p.rows {
			p.rows[k] = slices.Delete(p.rows[k], i, i+1)
		}
		if i < p.numeric {
			p.numeric--
		}
	}
}

// bare is a table without a head: lines of code where the last cells are literal, else an entry
// for each row.
func (t *Table) bare() []piece {
	var out []piece
	code := piece{part: codePart}
	for _, part := range t.Parts {
		for i := range part.Rows {
			cells := part.Rows[i].Cells
			if last := cells[len(cells)-1].Text; len(last) == 1 && last[0].Look == Literal {
				code.lines = append(code.lines, last[0].Text)
				continue
			}
			words := part.Rows[i].words(len(cells))
			out = append(out, worded(itemPart, 0, named(words[0], strings.Join(words[1:], " ")))...)
		}
	}
	if code.lines != nil {
		return append(out, code)
	}
	return append(out, piece{part: gapPart})
}

// words are the cells in columns; a cell over several has its words in the first.
func (r *Row) words(columns int) []string {
	out := make([]string, 0, columns)
	for i := range r.Cells {
		out = append(out, r.Cells[i].words())
		for range max(r.Cells[i].Span, 1) - 1 {
			out = append(out, "")
		}
	}
	for len(out) < columns {
		out = append(out, "")
	}
	return out[:columns]
}

func (c *Cell) words() string {
	switch {
	case c.Plain != "":
		return tidy(c.Plain)
	case c.Blocks != nil:
		return tidy(c.Blocks.words())
	}
	return tidy(c.Words + c.Text.String())
}

func firstWord(cells []string) string {
	for _, c := range cells {
		if c != "" {
			return c
		}
	}
	return ""
}

// line is a group of problems in one line.
func (p *Problem) line() string {
	places := make([]string, len(p.Where))
	for i := range p.Where {
		places[i] = p.Where[i].Text
	}
	s := p.What + ": " + strings.Join(places, "; ")
	for _, part := range []string{p.More, p.Why, p.Hint} {
		if part != "" {
			s += "; " + part
		}
	}
	return s
}
