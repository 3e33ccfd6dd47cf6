package document

import (
	"strconv"
	"strings"
	"unicode"

	"leakdiff/analysis/expression"
	"leakdiff/analysis/say/wording"
)

// MarkdownText escapes what Markdown would read as more than text: table bars,
// line ends, emphasis, code, HTML and links; a break after "://" and "www." keeps
// renderers from linking by themselves.
//
//	"a|b <script> http://x" → "a\|b &lt;script&gt; http:\//x"
func MarkdownText(s string) string {
	s = wording.Printable(strings.NewReplacer("\r\n", " ", "\n", " ", "\r", " ").Replace(s))
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

// MarkdownFence writes a code block whose fence is longer than any run of backticks
// inside.
func MarkdownFence(b *strings.Builder, lines []string) {
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
	b.WriteString(fence + "\n")
	for _, l := range lines {
		b.WriteString(oneLine(wording.Printable(l)) + "\n")
	}
	b.WriteString(fence + "\n\n")
}

// MarkdownCode is text as code within a line.
func MarkdownCode(text string) string {
	text = oneLine(wording.Printable(text))
	if strings.Contains(text, "`") {
		return MarkdownText(text)
	}
	return "`" + text + "`"
}

// oneLine keeps a line of code one line.
func oneLine(s string) string { return strings.NewReplacer("\n", " ", "\r", " ").Replace(s) }

// JiraFence writes a block of code.
func JiraFence(b *strings.Builder, lines []string) {
	b.WriteString("{noformat}\n")
	for _, l := range lines {
		b.WriteString(noformatEnd.ReplaceAllString(oneLine(wording.Printable(l)), "{ $1") + "\n")
	}
	b.WriteString("{noformat}\n\n")
}

// noformatEnd is what would end a block of code early.
var noformatEnd = expression.Lazy(`(?i)\{(noformat)`)

// jiraBlock is what at the begin of a line is a heading, a quotation or a list.
var jiraBlock = expression.Lazy(`^(h[1-6]|bq)\. `)

// jiraEntity is what Jira prints as another character.
var jiraEntity = expression.Lazy(`^&#?\w+;`)

// emoticon is what Jira draws as a picture, from its parenthesis on: "(*)", "(on)".
var emoticon = expression.Lazy(`^\((?:y|n|i|/|x|!|\+|-|\?|on|off|\*[rgby]?|flag|flagoff)\)`)

// JiraText escapes what Jira reads as more than text. A mark inside of a word or
// before a space opens nothing there and stays as it is, so that names can be read in
// the source as well.
//
//	"prober.(*worker).run [select] a_b" → `prober.(\*worker).run \[select\] a_b`
func JiraText(s string) string {
	s = wording.Printable(oneLine(s))
	var b strings.Builder
	if jiraBlock.MatchString(s) {
		b.WriteString("&#" + strconv.Itoa(int(s[0])) + ";")
		s = s[1:]
	}
	runes := []rune(s)
	for i, r := range runes {
		before, after := rune(0), rune(0)
		if i > 0 {
			before = runes[i-1]
		}
		if i+1 < len(runes) {
			after = runes[i+1]
		}
		switch r {
		case '\\':
			// A backslash before a mark escapes it; only the entity is always itself.
			b.WriteString("&#92;")
		case '{', '}', '[', ']', '|', '@':
			b.WriteRune('\\')
			b.WriteRune(r)
		case '*', '_', '^', '~', '+', '-', '?', '!':
			if opens(before, r, after) {
				b.WriteRune('\\')
			}
			b.WriteRune(r)
		case '#':
			if i == 0 {
				b.WriteString("&#35;")
				continue
			}
			b.WriteRune(r)
		case '(', ')':
			if before == ':' || before == ';' || r == '(' && emoticon.MatchString(string(runes[i:min(len(runes), i+10)])) {
				b.WriteRune('\\')
			}
			b.WriteRune(r)
		case '&':
			if jiraEntity.MatchString(string(runes[i:min(len(runes), i+12)])) {
				b.WriteString("&amp;")
				continue
			}
			b.WriteRune(r)
		case '/':
			if before == ':' && after == '/' {
				b.WriteString("&#47;") // no address becomes a link by itself
				continue
			}
			b.WriteRune(r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// opens reports whether a mark may begin emphasis, a list, an image or a dash.
func opens(before, mark, after rune) bool {
	if mark == '-' && (before == '-' || after == '-') {
		return true
	}
	if before == 0 && after == ' ' {
		return mark == '*' || mark == '-'
	}
	word := unicode.IsLetter(before) || unicode.IsDigit(before)
	return !word && after != 0 && !unicode.IsSpace(after)
}
