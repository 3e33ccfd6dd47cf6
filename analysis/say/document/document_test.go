package document

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"leakdiff/analysis/say/wording"
)

func TestJiraReadsNamesAsText(t *testing.T) {
	for in, want := range map[string]string{
		"prober.(*worker).run":           `prober.(\*worker).run`,
		"goroutine 7 [select, 8 min]":    `goroutine 7 \[select, 8 min\]`,
		"a|b":                            `a\|b`,
		"{noformat} {color:red}":         `\{noformat\} \{color:red\}`,
		"inotify_add_watch":              "inotify_add_watch",
		"IN_CREATE|IN_DELETE":            `IN_CREATE\|IN_DELETE`,
		"+128 of 131":                    `\+128 of 131`,
		"a - b":                          "a - b",
		"t0 -- t8":                       `t0 \-\- t8`,
		"- no list":                      `\- no list`,
		"* no list":                      `\* no list`,
		"# no list":                      "&#35; no list",
		"h1. no heading":                 "&#104;1. no heading",
		"bq. no quotation":               "&#98;q. no quotation",
		"!image.png!":                    `\!image.png!`,
		"_emphasis_ *strong* ~sub~ ^up^": `\_emphasis_ \*strong* \~sub~ \^up^`,
		"[~admin] [link|http://evil]":    `\[\~admin\] \[link\|http:&#47;/evil\]`,
		`C:\temp`:                        "C:&#92;temp",
		"me@example.com":                 `me\@example.com`,
		"look (!) and (on)":              `look \(\!) and \(on)`,
		"at fault:)":                     `at fault:\)`,
		"&#42; &amp; a&b":                "&amp;#42; &amp;amp; a&b",
		"two\nlines":                     "two lines",
		"\u202ereversed":                 "&#92;xe2&#92;x80&#92;xaereversed",
	} {
		var d Document
		d.Paragraph(in)
		if got := strings.TrimSuffix(d.Jira(), "\n"); got != want {
			t.Errorf("%q is written as %q, want %q", in, got, want)
		}
	}
}

// sample has every part of a document, with text that would be markup.
func sample() Document {
	var d Document
	d.Heading(1, "kubelet grew by 132 goroutines, {from 131} to 263")
	d.Paragraph("Mind: " + strings.Repeat("one [sentence] that is longer than a line of a mail ", 3))
	d.Item("cohort: 40 born, none left")
	d.Item("strike: " + strings.Repeat("words ", 20))
	d.Gap()
	d.Table(1, []string{"Family", "A", "B", "Δ", "Verdict"}, [][]string{
		{"prober.(*worker).run", "0", "40", "+40", "leaking"},
		{"a.very/long.path/of/packages/that/goes/on/and/on/pkg.(*ManyWordsInOneName).functionWithALongName via handlers.serveTheRequestOfSomebody", "12", "12", "0", ""},
	})
	d.Heading(2, "Stack")
	d.Fence([]string{"sync.(*Mutex).Lock", "main.main  /src/main.go:12 {noformat}"})
	d.Heading(3, "Wide")
	head, row := []string{"Snapshot"}, []string{"kubelet, goroutines"}
	for range 30 {
		head, row = append(head, "t-label"), append(row, "12345")
	}
	d.Table(1, head, [][]string{row})
	return d
}

func TestJiraOfADocument(t *testing.T) {
	got := sample().Jira()
	for _, want := range []string{
		"h1. kubelet grew by 132 goroutines, \\{from 131\\} to 263\n\n",
		"* cohort: 40 born, none left\n",
		"||Family||A||B||Δ||Verdict||\n|prober.(\\*worker).run|0|40|\\+40|leaking|\n",
		"|12|12|0| |\n",
		"{noformat}\nsync.(*Mutex).Lock\nmain.main  /src/main.go:12 { noformat}\n{noformat}\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the markup lacks %q:\n%s", want, got)
		}
	}
	if n := strings.Count(got, "{noformat}"); n != 2 {
		t.Errorf("the markup has %d marks of code, want 2: the code was left early", n)
	}
}

func TestPlainTextIsAlignedAndHasNoMarkup(t *testing.T) {
	got := sample().Text()
	for _, want := range []string{
		"kubelet grew by 132 goroutines, {from 131} to 263\n=================================================\n",
		"  • cohort: 40 born, none left\n",
		"\n    words ",
		"\n    sync.(*Mutex).Lock\n",
		"Stack\n-----\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the text lacks %q:\n%s", want, got)
		}
	}
	for _, no := range []string{"#", "|", "`", `\`, "**", "\n\n\n"} {
		if strings.Contains(got, no) {
			t.Errorf("the text has %q:\n%s", no, got)
		}
	}
	// The figures of a column end at one place, whatever stands before them.
	var ends []int
	for _, l := range strings.Split(got, "\n") {
		if strings.HasPrefix(l, "Family ") || strings.HasPrefix(l, "prober.") {
			for _, cell := range []string{" A ", " 0 "} {
				if at := strings.Index(l, cell); at >= 0 {
					ends = append(ends, utf8.RuneCountInString(l[:at+2]))
				}
			}
		}
		if n := utf8.RuneCountInString(l); n > tableWidth {
			t.Errorf("a line has %d columns: %q", n, l)
		}
	}
	if d := cmp.Diff([]int{ends[0], ends[0]}, ends); d != "" {
		t.Errorf("the figures are not aligned:\n%s\n%s", d, got)
	}
}

func TestNoWordIsLostInPlainText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cell := rapid.StringMatching(`[a-z./]{0,60}( [a-z]{1,30}){0,4}`)
		rows := rapid.SliceOfN(rapid.SliceOfN(cell, 4, 4), 1, 4).Draw(t, "rows")
		numeric := rapid.IntRange(1, 3).Draw(t, "numeric")
		var d Document
		d.Table(numeric, []string{"h", "i", "j", "k"}, rows)
		got := strings.Map(letters, d.Text())
		want := 0
		for _, r := range rows {
			for _, c := range r {
				want += len(strings.Map(letters, c))
			}
		}
		// A table that is split repeats its first columns, so that more may be there.
		if len(got) < want {
			t.Fatalf("%d of %d characters are left", len(got), want)
		}
	})
}

func letters(r rune) rune {
	if r == ' ' || r == '\n' {
		return -1
	}
	return r
}

func TestMarkdownOfADumpIsOnlyText(t *testing.T) {
	for _, tc := range []struct{ in, want string }{
		{"a|b", `a\|b`}, {"<img src=x>", `&lt;img src=x&gt;`}, {"[x](http://evil)", `\[x\](http:\//evil)`},
		{"main.(*T).run", `main.(\*T).run`}, {"line\nbreak", `line break`}, {"@everyone", `&#64;everyone`}, {"\x1b[0m", `\\x1b\[0m`},
	} {
		if got := MarkdownText(tc.in); got != tc.want {
			t.Errorf("%q became %q, want %q", tc.in, got, tc.want)
		}
	}
}

// markdownSigns is what MarkdownText leaves of its escapes.
var markdownSigns = strings.NewReplacer(`\\`, `\`, `\|`, "|", "\\`", "`", `\*`, "*", `\_`, "_", `\[`, "[", `\]`, "]", `\~`, "~", `\/`, "/", `\.`, ".", "&lt;", "<", "&gt;", ">", "&amp;", "&", "&#64;", "@")

func FuzzMarkup(f *testing.F) {
	for _, seed := range []string{"a|b <img src=x> [x](http://evil) @everyone", "```\n````", "{noformat} {NoFormat}x {code}", "h1. x", "a\r\nb\x1b[0m\u202e", `\\|\www.x`, "(*) :) ;( &#33;"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		md := MarkdownText(s)
		if strings.ContainsAny(md, "<>\n\r\x1b") || strings.Contains(md, "://") || strings.Contains(md, "www.") || strings.Contains(md, "@") {
			t.Errorf("%q is more than text in Markdown: %q", s, md)
		}
		if got, want := markdownSigns.Replace(md), wording.Printable(strings.NewReplacer("\r\n", " ", "\n", " ", "\r", " ").Replace(s)); got != want {
			t.Errorf("Markdown shows %q, want %q", got, want)
		}
		if jira := JiraText(s); strings.ContainsAny(jira, "\n\r\x1b") || strings.Contains(jira, "://") {
			t.Errorf("%q is more than text in Jira: %q", s, jira)
		}
		var fence, noformat strings.Builder
		MarkdownFence(&fence, []string{s})
		if mark, rest, _ := strings.Cut(fence.String(), "\n"); strings.Count(rest, mark) != 1 {
			t.Errorf("%q ends its block early: %q", s, fence.String())
		}
		JiraFence(&noformat, []string{s})
		if strings.Contains(fence.String()+noformat.String(), "\x1b") {
			t.Errorf("%q reaches a terminal in a block: %q", s, fence.String())
		}
		if n := strings.Count(strings.ToLower(noformat.String()), "{noformat"); n != 2 {
			t.Errorf("%q ends its block early: %q", s, noformat.String())
		}
	})
}
