package view

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

// Jira writes the document in the wiki markup of Jira and Confluence: stacks stand
// in {noformat}, tables have heads.
func (d Document) Jira() string {
	var b strings.Builder
	for _, x := range d.blocks {
		switch x.part {
		case headingPart:
			b.WriteString("h" + strconv.Itoa(x.level) + ". " + jiraText(x.text) + "\n\n")
		case paragraphPart:
			b.WriteString(jiraText(x.text) + "\n\n")
		case itemPart:
			b.WriteString("* " + jiraText(x.text) + "\n")
		case tablePart:
			jiraRow(&b, "||", x.head)
			for _, r := range x.rows {
				jiraRow(&b, "|", r)
			}
			b.WriteString("\n")
		case codePart:
			b.WriteString("{noformat}\n")
			for _, l := range x.lines {
				b.WriteString(noformatEnd.ReplaceAllString(oneLine(Visible(l)), "{ $1") + "\n")
			}
			b.WriteString("{noformat}\n\n")
		case gapPart:
			b.WriteString("\n")
		}
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// noformatEnd is what would end a block of code early.
var noformatEnd = regexp.MustCompile(`(?i)\{(noformat)`)

// jiraRow writes a row; a cell without a character would make a head of the next bar.
func jiraRow(b *strings.Builder, bar string, cells []string) {
	for _, c := range cells {
		text := jiraText(c)
		if text == "" {
			text = " "
		}
		b.WriteString(bar + text)
	}
	b.WriteString(bar + "\n")
}

// jiraBlock is what at the begin of a line is a heading, a quotation or a list.
var jiraBlock = regexp.MustCompile(`^(h[1-6]|bq)\. `)

// jiraEntity is what Jira prints as another character.
var jiraEntity = regexp.MustCompile(`^&#?\w+;`)

// emoticon is what Jira draws as a picture, from its parenthesis on: "(*)", "(on)".
var emoticon = regexp.MustCompile(`^\((?:y|n|i|/|x|!|\+|-|\?|on|off|\*[rgby]?|flag|flagoff)\)`)

// jiraText escapes what Jira reads as more than text. A mark inside of a word or
// before a space opens nothing there and stays as it is, so that names can be read in
// the source as well.
//
//	"prober.(*worker).run [select] a_b" → `prober.(\*worker).run \[select\] a_b`
func jiraText(s string) string {
	s = Visible(oneLine(s))
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
