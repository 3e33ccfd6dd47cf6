package document

import (
	"strings"
)

// Document is what a page says without its look, for tickets and mails: headings,
// sentences, lists, tables and code. It is written as Markdown, as Jira markup and as
// plain text; nothing of a bundle reaches any of them but as text, so that a hostile
// name can neither leave its cell nor become a link.
type Document struct{ blocks []block }

// A part says what a block is.
type part int

const (
	headingPart part = iota
	paragraphPart
	itemPart
	tablePart
	codePart
	gapPart
)

// block is one piece of a document; the fields that its part has no use for are zero.
type block struct {
	part  part
	level int
	text  string
	// numeric is the first column of figures.
	numeric int
	head    []string
	rows    [][]string
	lines   []string
}

func (d *Document) add(b block) { d.blocks = append(d.blocks, b) }

func (d *Document) Heading(level int, text string) {
	d.add(block{part: headingPart, level: level, text: text})
}

func (d *Document) Paragraph(text string) {
	if text != "" {
		d.add(block{part: paragraphPart, text: text})
	}
}

func (d *Document) Item(text string) { d.add(block{part: itemPart, text: text}) }

// gap ends a list.
func (d *Document) Gap() { d.add(block{part: gapPart}) }

// table adds a table whose columns from numeric on are right-aligned.
func (d *Document) Table(numeric int, head []string, rows [][]string) {
	d.add(block{part: tablePart, numeric: numeric, head: head, rows: rows})
}

// fence adds lines that are shown as they are: a stack, raw text.
func (d *Document) Fence(lines []string) { d.add(block{part: codePart, lines: lines}) }

// Note adds a sentence of the caller at the end.
func (d *Document) Note(text string) { d.Paragraph(text) }

// Markdown writes the document as Markdown of the common kind, with the tables of
// GitHub and GitLab.
func (d Document) Markdown() string {
	var b strings.Builder
	for _, x := range d.blocks {
		switch x.part {
		case headingPart:
			b.WriteString(strings.Repeat("#", x.level) + " " + MarkdownText(x.text) + "\n\n")
		case paragraphPart:
			b.WriteString(MarkdownText(x.text) + "\n\n")
		case itemPart:
			b.WriteString("- " + MarkdownText(x.text) + "\n")
		case tablePart:
			markdownTable(&b, x)
		case codePart:
			MarkdownFence(&b, x.lines)
		case gapPart:
			b.WriteString("\n")
		}
	}
	return strings.TrimRight(blankRuns(b.String()), "\n") + "\n"
}

func markdownTable(b *strings.Builder, x block) {
	markdownRow(b, x.head)
	b.WriteString("|")
	for i := range x.head {
		if i >= x.numeric {
			b.WriteString(" ---: |")
		} else {
			b.WriteString(" --- |")
		}
	}
	b.WriteString("\n")
	for _, r := range x.rows {
		markdownRow(b, r)
	}
	b.WriteString("\n")
}

func markdownRow(b *strings.Builder, cells []string) {
	b.WriteString("|")
	for _, c := range cells {
		b.WriteString(" " + MarkdownText(c) + " |")
	}
	b.WriteString("\n")
}
