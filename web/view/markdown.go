package view

import (
	"leakdiff/analysis/report"
	"strconv"
	"strings"
)

// markdown writes the plain-text twin of a page. Everything that came from a
// bundle passes through cell, line or fence, so that a hostile name can neither
// leave its table cell nor become a link.
type markdown struct{ b strings.Builder }

func (m *markdown) String() string { return strings.TrimRight(m.b.String(), "\n") + "\n" }

func (m *markdown) heading(level int, text string) {
	m.b.WriteString(strings.Repeat("#", level) + " " + inline(text) + "\n\n")
}

func (m *markdown) paragraph(text string) {
	if text != "" {
		m.b.WriteString(inline(text) + "\n\n")
	}
}

func (m *markdown) item(text string) { m.b.WriteString("- " + inline(text) + "\n") }

func (m *markdown) gap() { m.b.WriteString("\n") }

// table writes a table whose columns from numeric on are right-aligned.
func (m *markdown) table(numeric int, head []string, rows [][]string) {
	m.row(head)
	m.b.WriteString("|")
	for i := range head {
		if i >= numeric {
			m.b.WriteString(" ---: |")
		} else {
			m.b.WriteString(" --- |")
		}
	}
	m.b.WriteString("\n")
	for _, r := range rows {
		m.row(r)
	}
	m.gap()
}

func (m *markdown) row(cells []string) {
	m.b.WriteString("|")
	for _, c := range cells {
		m.b.WriteString(" " + inline(c) + " |")
	}
	m.b.WriteString("\n")
}

// fence writes text as a code block whose fence is longer than any run of
// backticks inside.
func (m *markdown) fence(lines []string) {
	longest, run := 2, 0
	for _, l := range lines {
		run = 0
		for _, c := range l {
			if c != '`' {
				run = 0
				continue
			}
			run++
			longest = max(longest, run)
		}
	}
	fence := strings.Repeat("`", longest+1)
	m.b.WriteString(fence + "\n")
	for _, l := range lines {
		m.b.WriteString(strings.NewReplacer("\n", " ", "\r", " ").Replace(l) + "\n")
	}
	m.b.WriteString(fence + "\n\n")
}

// inline writes text that Markdown reads as nothing but text.
func inline(s string) string { return report.MarkdownText(s) }

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

// shares lists families with what is said of each.
func (m *markdown) shares(rows []CaseShare) {
	for _, r := range rows {
		m.item(strings.TrimSpace(r.Name.Text() + ": " + r.Facts + ". " + r.Reason))
	}
	m.gap()
}
