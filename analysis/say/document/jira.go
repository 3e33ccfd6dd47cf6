package document

import (
	"strconv"
	"strings"
)

// Jira writes the document in the wiki markup of Jira and Confluence: stacks stand
// in {noformat}, tables have heads.
func (d Document) Jira() string {
	var b strings.Builder
	for _, x := range d.pieces() {
		switch x.part {
		case headingPart:
			b.WriteString("h" + strconv.Itoa(x.level) + ". " + JiraText(x.text) + "\n\n")
		case paragraphPart:
			b.WriteString(JiraText(x.text) + "\n\n")
		case itemPart:
			b.WriteString("* " + JiraText(x.text) + "\n")
		case tablePart:
			jiraRow(&b, "||", x.head)
			for _, r := range x.rows {
				jiraRow(&b, "|", r)
			}
			b.WriteString("\n")
		case codePart:
			JiraFence(&b, x.lines)
		case gapPart:
			b.WriteString("\n")
		}
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// jiraRow writes a row; a cell without a character would make a head of the next bar.
func jiraRow(b *strings.Builder, bar string, cells []string) {
	for _, c := range cells {
		text := JiraText(c)
		if text == "" {
			text = " "
		}
		b.WriteString(bar + text)
	}
	b.WriteString(bar + "\n")
}
