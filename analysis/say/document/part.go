package document

import "strings"

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

// pieces are the blocks as the text forms have them.
func (b Blocks) pieces() []piece {
	var out []piece
	add := func(p piece) { out = append(out, p) }
	items := func(list []Item) {
		for i := range list {
			add(piece{part: itemPart, text: list[i].words()})
		}
	}
	for _, x := range b {
		switch x := x.(type) {
		case Heading:
			add(piece{part: headingPart, level: x.Level, text: x.Text.String()})
		case Paragraph:
			add(piece{part: paragraphPart, text: x.Text.String()})
		case Text:
			add(piece{part: paragraphPart, text: x.String()})
		case Notice:
			add(piece{part: paragraphPart, text: x.Word + ": " + x.Text.String()})
		case Gap:
			add(piece{part: gapPart})
		case List:
			items(x.Items)
			if !x.Open {
				add(piece{part: gapPart})
			}
		case Terms:
			for i := range x.Rows {
				add(piece{part: itemPart, text: x.Rows[i].Name.String() + ": " + x.Rows[i].words()})
			}
			add(piece{part: gapPart})
		case Figures:
			for _, f := range x.Rows {
				add(piece{part: itemPart, text: f.Text + ": " + f.Value + f.Change.plain()})
			}
			add(piece{part: gapPart})
		case Problems:
			for i := range x.List {
				add(piece{part: itemPart, text: x.List[i].line()})
			}
			add(piece{part: gapPart})
		case Table:
			add(x.piece())
		case Code:
			add(piece{part: codePart, lines: x.Lines})
		case Section:
			add(piece{part: headingPart, level: 2, text: x.Title.String()})
			if note := x.Note.String(); note != "" {
				add(piece{part: paragraphPart, text: note})
			}
			out = append(out, x.pieces()...)
		case Fold:
			add(piece{part: paragraphPart, text: x.Summary.String()})
			out = append(out, x.pieces()...)
		case Group:
			out = append(out, x.pieces()...)
		case TextOnly:
			out = append(out, x.pieces()...)
		case Drawing:
			if x.Text != "" {
				add(piece{part: paragraphPart, text: x.Text})
			}
		}
	}
	return out
}

// words are blocks in one line, for an entry of a list.
func (b Blocks) words() string {
	if len(b) == 1 {
		if t, ok := b[0].(Text); ok {
			return t.String()
		}
	}
	var out []string
	for _, p := range b.pieces() {
		if p.text != "" {
			out = append(out, p.text)
		}
	}
	return strings.Join(out, " ")
}

func (t *Table) piece() piece {
	out := piece{part: tablePart, numeric: t.Numeric, head: wordsOf(t.Head)}
	for _, p := range t.Parts {
		for _, r := range p.Rows {
			out.rows = append(out.rows, wordsOf(r.Cells))
		}
	}
	return out
}

func wordsOf(cells []Cell) []string {
	out := make([]string, len(cells))
	for i := range cells {
		if out[i] = cells[i].Words + cells[i].Text.String(); cells[i].Blocks != nil {
			out[i] = cells[i].Blocks.words()
		}
	}
	return out
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
