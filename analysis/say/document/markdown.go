package document

import "strings"

// Markdown writes the document as Markdown of the common kind, with the tables of
// GitHub and GitLab.
func (d Document) Markdown() string {
	var b strings.Builder
	for _, x := range d.pieces() {
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

func markdownTable(b *strings.Builder, x piece) {
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
