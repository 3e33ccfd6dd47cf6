package view

import (
	"strconv"
	"strings"

	"leakdiff/analysis/say/report"
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

func (d *Document) heading(level int, text string) {
	d.add(block{part: headingPart, level: level, text: text})
}

func (d *Document) paragraph(text string) {
	if text != "" {
		d.add(block{part: paragraphPart, text: text})
	}
}

func (d *Document) item(text string) { d.add(block{part: itemPart, text: text}) }

// gap ends a list.
func (d *Document) gap() { d.add(block{part: gapPart}) }

// table adds a table whose columns from numeric on are right-aligned.
func (d *Document) table(numeric int, head []string, rows [][]string) {
	d.add(block{part: tablePart, numeric: numeric, head: head, rows: rows})
}

// fence adds lines that are shown as they are: a stack, raw text.
func (d *Document) fence(lines []string) { d.add(block{part: codePart, lines: lines}) }

// shares lists families with what is said of each.
func (d *Document) shares(rows []CaseShare) {
	for _, r := range rows {
		d.item(strings.TrimSpace(r.Name.Text() + ": " + r.Facts + ". " + r.Reason))
	}
	d.gap()
}

// Note adds a sentence of the caller at the end.
func (d *Document) Note(text string) { d.paragraph(text) }

// Markdown writes the document as Markdown of the common kind, with the tables of
// GitHub and GitLab.
func (d Document) Markdown() string {
	var b strings.Builder
	for _, x := range d.blocks {
		switch x.part {
		case headingPart:
			b.WriteString(strings.Repeat("#", x.level) + " " + report.MarkdownText(x.text) + "\n\n")
		case paragraphPart:
			b.WriteString(report.MarkdownText(x.text) + "\n\n")
		case itemPart:
			b.WriteString("- " + report.MarkdownText(x.text) + "\n")
		case tablePart:
			markdownTable(&b, x)
		case codePart:
			report.MarkdownFence(&b, x.lines)
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
		b.WriteString(" " + report.MarkdownText(c) + " |")
	}
	b.WriteString("\n")
}

// oneLine keeps a line of code one line.
func oneLine(s string) string { return strings.NewReplacer("\n", " ", "\r", " ").Replace(s) }

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

// problemLine is a group of problems in one line.
func problemLine(p Problem) string {
	places := make([]string, len(p.Where))
	for i, w := range p.Where {
		places[i] = w.Text
	}
	s := p.What + ": " + strings.Join(places, "; ")
	for _, part := range []string{p.More, p.Why, p.Hint} {
		if part != "" {
			s += "; " + part
		}
	}
	return s
}

// Markdown is the case as Markdown.
func (c Case) Markdown() string { return c.Document().Markdown() }

// Jira is the case as Jira markup.
func (c Case) Jira() string { return c.Document().Jira() }

// Markdown is the comparison as Markdown.
func (d Diff) Markdown() string { return d.Document().Markdown() }

// Markdown is the family as Markdown.
func (f Family) Markdown() string { return f.Document().Markdown() }

// Markdown is the snapshot as Markdown.
func (s Snapshot) Markdown() string { return s.Document().Markdown() }
