package document

import (
	"slices"
	"strings"
	"unicode/utf8"

	"leakdiff/analysis/say/wording"
)

// Widths of plain text in columns: of running text, and of a table at most.
const (
	textWidth  = 78
	tableWidth = 100
	// narrowest is how far a column of words is narrowed before a table is split.
	narrowest = 22
)

// Text writes the document as plain text for a terminal or a mail: aligned columns,
// wrapped sentences, no markup. Stacks are indented and never wrapped.
func (d Document) Text() string {
	var b strings.Builder
	for i, x := range d.pieces() {
		switch x.part {
		case headingPart:
			textHeading(&b, x, i > 0)
		case paragraphPart:
			textLines(&b, "", "", wrapWords(wording.Printable(x.text), textWidth))
			b.WriteString("\n")
		case itemPart:
			textLines(&b, "  • ", "    ", wrapWords(wording.Printable(x.text), textWidth-4))
		case tablePart:
			textTable(&b, x)
		case codePart:
			for _, l := range x.lines {
				b.WriteString(strings.TrimRight("    "+wording.Printable(oneLine(l)), " ") + "\n")
			}
			b.WriteString("\n")
		case gapPart:
			b.WriteString("\n")
		}
	}
	return strings.TrimRight(blankRuns(b.String()), "\n") + "\n"
}

// blankRuns leaves at most one empty line between others.
func blankRuns(s string) string {
	for strings.Contains(s, "\n\n\n") {
		s = strings.ReplaceAll(s, "\n\n\n", "\n\n")
	}
	return s
}

// textHeading underlines the two upper levels.
func textHeading(b *strings.Builder, x piece, apart bool) {
	if apart {
		b.WriteString("\n")
	}
	lines := wrapWords(wording.Printable(x.text), textWidth)
	textLines(b, "", "", lines)
	longest := 0
	for _, l := range lines {
		longest = max(longest, utf8.RuneCountInString(l))
	}
	switch x.level {
	case 1:
		b.WriteString(strings.Repeat("=", longest) + "\n")
	case 2:
		b.WriteString(strings.Repeat("-", longest) + "\n")
	}
	b.WriteString("\n")
}

// textLines writes lines, the first behind one indent and the others behind another.
func textLines(b *strings.Builder, first, other string, lines []string) {
	indent := first
	for _, l := range lines {
		b.WriteString(strings.TrimRight(indent+l, " ") + "\n")
		indent = other
	}
}

// wrapWords breaks text at spaces, and a word longer than a line behind one of its
// own marks or anywhere.
func wrapWords(s string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Split(s, " ") {
		if word == "" {
			continue
		}
		if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) <= width {
			line += " " + word
			continue
		}
		if line != "" {
			lines = append(lines, line)
		}
		for utf8.RuneCountInString(word) > width {
			at := breakAt(word, width)
			lines = append(lines, word[:at])
			word = word[at:]
		}
		line = word
	}
	if line != "" || len(lines) == 0 {
		lines = append(lines, line)
	}
	return lines
}

// breakAt is the byte at which a long word is broken: behind the last slash, dot or
// comma that fits and is not near its begin, else where the line is full.
func breakAt(word string, width int) int {
	full, best, column := len(word), 0, 0
	for i, r := range word {
		if column == width {
			full = i
			break
		}
		column++
		if strings.ContainsRune("/.,;|)", r) && column > width/3 {
			best = i + utf8.RuneLen(r)
		}
	}
	if best > 0 && best <= full {
		return best
	}
	return full
}

// textTable writes aligned columns; columns of words are narrowed and wrapped where
// the table is too wide, and what still does not fit follows in a table of its own
// under the same first column.
func textTable(b *strings.Builder, x piece) {
	cells := slices.Concat([][]string{x.head}, x.rows)
	widths := make([]int, len(x.head))
	for _, row := range cells {
		for i, c := range row {
			if i < len(widths) {
				widths[i] = max(widths[i], utf8.RuneCountInString(wording.Printable(oneLine(c))))
			}
		}
	}
	for _, columns := range fitColumns(widths, x.numeric) {
		for _, row := range cells {
			textRow(b, row, columns, widths, x.numeric)
		}
		b.WriteString("\n")
	}
}

// fitColumns narrows columns of words in widths and splits the columns of figures
// into as many tables as they need.
func fitColumns(widths []int, numeric int) [][]int {
	total := -2
	for _, w := range widths {
		total += w + 2
	}
	for total > tableWidth {
		widest := -1
		for i := range min(numeric, len(widths)) {
			if widths[i] > narrowest && (widest < 0 || widths[i] > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			break
		}
		widths[widest]--
		total--
	}
	lead := 0
	var first []int
	for i := range min(numeric, len(widths)) {
		first = append(first, i)
		lead += widths[i] + 2
	}
	var out [][]int
	now, used := slices.Clone(first), lead
	for i := len(first); i < len(widths); i++ {
		if used+widths[i] > tableWidth && len(now) > len(first) {
			out = append(out, now)
			now, used = slices.Clone(first), lead
		}
		now = append(now, i)
		used += widths[i] + 2
	}
	return append(out, now)
}

// textRow writes the chosen columns of a row, as many lines as its longest cell needs.
func textRow(b *strings.Builder, row []string, columns, widths []int, numeric int) {
	parts := make([][]string, len(columns))
	height := 1
	for k, i := range columns {
		text := ""
		if i < len(row) {
			text = wording.Printable(oneLine(row[i]))
		}
		if i < numeric {
			parts[k] = wrapWords(text, widths[i])
		} else {
			parts[k] = []string{text}
		}
		height = max(height, len(parts[k]))
	}
	for l := range height {
		var line strings.Builder
		for k, i := range columns {
			text := ""
			if l < len(parts[k]) {
				text = parts[k][l]
			}
			space := strings.Repeat(" ", max(0, widths[i]-utf8.RuneCountInString(text)))
			if k > 0 {
				line.WriteString("  ")
			}
			if i < numeric {
				line.WriteString(text + space)
			} else {
				line.WriteString(space + text)
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
}
