package report

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"leakdiff/analysis"
)

// Markdown writes the report so that it can be pasted into a ticket: sentence,
// totals, findings, families that move, problems.
func Markdown(w io.Writer, c Case) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n", MarkdownText(Headline(c)))
	listed := c.Listed()
	if listed.Filter != nil {
		fmt.Fprintf(&b, "\n%s\n", MarkdownText(listed.Filter.Said()))
	}
	for i := range listed.Series {
		markdownSeries(&b, &c.Report, &c.Lines[i], &listed.Series[i], listed.Filter != nil)
	}
	if groups := GroupProblems(c.Report.Problems); len(groups) > 0 {
		b.WriteString("\n## Problems\n\n")
		for _, g := range groups {
			fmt.Fprintf(&b, "- %s: %s: %s", g.First.Severity, MarkdownCode(place(g.First)), MarkdownText(g.First.What))
			if g.Count > 1 {
				fmt.Fprintf(&b, " (and %d more)", g.Count-1)
			}
			if g.First.Hint != "" {
				fmt.Fprintf(&b, ". Do: %s", MarkdownText(g.First.Hint))
			}
			b.WriteString("\n")
		}
	}
	fmt.Fprintf(&b, "\nleakdiff %s, fingerprint g%d\n", MarkdownText(c.Report.Engine.Version), c.Report.Engine.Fingerprint)
	_, err := io.WriteString(w, b.String())
	return err
}

func markdownSeries(b *strings.Builder, r *Report, l *Line, s *Series, asked bool) {
	fmt.Fprintf(b, "\n## %s\n\n", MarkdownText(plainProcess(l)))
	b.WriteString("| |")
	for _, x := range l.Snapshots {
		fmt.Fprintf(b, " %s |", MarkdownText(x.Label))
	}
	b.WriteString("\n|---|" + strings.Repeat("---:|", len(l.Snapshots)) + "\n")
	for _, k := range analysis.Kinds() {
		row, known := fmt.Sprintf("| %s |", kindWord(k)), false
		for _, x := range l.Snapshots {
			cell := "–"
			if n := x.Totals.Of(k); n != nil {
				known, cell = true, fmt.Sprint(*n)
			}
			row += " " + cell + " |"
		}
		if known {
			b.WriteString(row + "\n")
		}
	}
	if s.Quiet != "" {
		fmt.Fprintf(b, "\n%s\n", MarkdownText(s.Quiet))
	}
	if len(s.Findings) > 0 {
		b.WriteString("\n")
	}
	for _, f := range s.Findings {
		fmt.Fprintf(b, "%d. **%s** %s. %s\n", f.Rank, f.Mark(), MarkdownText(f.Title), MarkdownText(f.Text))
		for _, a := range r.Advice(&f) {
			fmt.Fprintf(b, "   - **%s:** %s\n", MarkdownText(a.Label), MarkdownText(a.Text))
		}
	}
	for _, f := range s.SetAside {
		fmt.Fprintf(b, "\nMarked benign: %s\n", MarkdownText(f.Title))
	}
	if len(s.Limits) > 0 {
		fmt.Fprintf(b, "\nWhat these verdicts cannot exclude: %s\n", MarkdownText(strings.Join(s.Limits, " ")))
	}
	if text := ThresholdText(s.Thresholds); text != "" {
		fmt.Fprintf(b, "\n%s\n", MarkdownText(text))
	}
	if s.Healthy != nil {
		fmt.Fprintf(b, "\n%s\n", MarkdownText(s.Healthy.Text))
	}
	moved := false
	for _, f := range s.Families {
		if !asked && (f.Verdict == analysis.Stable || f.Verdict == analysis.TooFewPoints) {
			continue
		}
		if !moved {
			b.WriteString("\n| family | kind | counts | verdict |\n|---|---|---|---|\n")
			moved = true
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", MarkdownText(f.Title), f.Kind, l.inWords(f.Counts, f.Kind), f.Verdict)
	}
}

// MarkdownText escapes what Markdown would read as more than text: table bars,
// line ends, emphasis, code, HTML and links; a break after "://" and "www." keeps
// renderers from linking by themselves.
//
//	"a|b <script> http://x" → "a\|b &lt;script&gt; http:\//x"
func MarkdownText(s string) string {
	s = Printable(strings.NewReplacer("\r\n", " ", "\n", " ", "\r", " ").Replace(s))
	var b strings.Builder
	for _, r := range s {
		switch r {
		case '\\', '|', '`', '*', '_', '[', ']', '~':
			b.WriteByte('\\')
			b.WriteRune(r)
		case '<':
			b.WriteString("&lt;")
		case '>':
			b.WriteString("&gt;")
		case '&':
			b.WriteString("&amp;")
		default:
			b.WriteRune(r)
		}
	}
	out := strings.ReplaceAll(b.String(), "://", `:\//`)
	out = strings.ReplaceAll(out, "www.", `www\.`)
	return strings.ReplaceAll(out, "@", "&#64;")
}

// MarkdownCode sets text in a code span whose fence is longer than any run of
// backticks inside.
func MarkdownCode(s string) string {
	s = strings.ReplaceAll(Printable(s), "|", "¦")
	longest, run := 0, 0
	for _, r := range s {
		if r == '`' {
			run++
			longest = max(longest, run)
		} else {
			run = 0
		}
	}
	fence := strings.Repeat("`", longest+1)
	if longest > 0 || utf8.RuneCountInString(s) == 0 {
		return fence + " " + s + " " + fence
	}
	return fence + s + fence
}
