package view

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"leakdiff/analysis"
	"leakdiff/web/chart"
)

// twinNames are the suffixes of a page's twins and what they are called.
var twinNames = [...]struct{ suffix, name string }{
	{".md", "Markdown"}, {".jira", "Jira"}, {".txt", "Plain text"}, {".html", "HTML file"}, {".csv", "CSV"}, {".json", "JSON"},
	{".folded", "Folded stacks"}, {".pb.gz", "pprof profile"},
}

// copied bounds the names that can be copied: those that a ticket takes.
const copied = 3

// Offer names the twins of a page: base is its address without suffix, query what
// follows it, empty or with its question mark. Stacks says that it has stacks, which
// other tools read.
func (s *Shell) Offer(base, query string, stacks Stacks) {
	names := twinNames[:]
	if !stacks {
		names = names[:len(names)-2]
	}
	s.Twins = nil
	for _, t := range names {
		s.Twins = append(s.Twins, Link{Text: t.name, URL: base + t.suffix + query})
	}
	s.Copies, s.Tickets = s.Twins[:copied:copied], nil
	if s.Seal == nil {
		s.Copies = redactedFirst(s.Copies)
	}
	s.Pictures = base + ".svg" + query
}

// OfferTicket lets one key copy the answer in the lines of a comment instead of the page.
func (s *Shell) OfferTicket(base, query string) {
	s.Tickets = []Link{{Text: "Ticket", URL: base + ".ticket.md" + query}, {Text: "Jira ticket", URL: base + ".ticket.jira" + query}}
	if s.Seal == nil {
		s.Tickets = redactedFirst(s.Tickets)
	}
}

// RedactParameter in the query of a twin asks for its redacted form.
const RedactParameter = "redact"

// redactedFirst offers the redacted form of each twin, then the twins with all names.
func redactedFirst(twins []Link) (out []Link) {
	for _, t := range twins {
		sign := "?"
		if strings.Contains(t.URL, "?") {
			sign = "&"
		}
		out = append(out, Link{Text: t.Text + ", redacted", URL: t.URL + sign + RedactParameter + "=1"})
	}
	for _, t := range twins {
		out = append(out, Link{Text: t.Text + ", all names", URL: t.URL})
	}
	return out
}

// Copied returns what one key copies: the ticket of a page that has one, else the page.
func (s Shell) Copied() Link {
	if len(s.Tickets) > 0 {
		return s.Tickets[0]
	}
	return s.Copies[0]
}

// CopyWord is the text of the button that copies. What is frozen keeps its words.
func (s Shell) CopyWord() string {
	if len(s.Tickets) > 0 && s.Seal == nil {
		return "Copy for ticket, redacted"
	}
	return "Copy"
}

// Freezes is the page that a ticket is frozen from, "" for what is frozen or has no ticket.
func (s Shell) Freezes() string {
	if len(s.Tickets) == 0 || s.Seal != nil {
		return ""
	}
	page, _, _ := strings.Cut(s.Tickets[0].URL, ".ticket.md")
	return page
}

// Copying are the forms that can be chosen for copying.
func (s Shell) Copying() []Link {
	if s.Seal != nil {
		return s.Copies
	}
	return slices.Concat(s.Tickets, s.Copies)
}

// LongKey is the key that copies a form, which is that of the whole page if another key
// copies a part of it.
func (s Shell) LongKey(form Link) string {
	if len(s.Tickets) > 0 && form == s.Copies[0] {
		return "L"
	}
	return ""
}

// Stacks says whether a page is of members with stacks.
type Stacks bool

// ChartFile is a chart of a page as an SVG file; style is that of drawings. An
// empty name is the first chart. Where there is none of the name it lists those that
// there are.
func ChartFile(p Page, name string, style string) (file []byte, names []string) {
	all := p.charts()
	found, ok := chart.Find(all, name)
	if !ok {
		return nil, chart.Names(all)
	}
	return chart.File(found, style), nil
}

// CardOf is the picture of a page for chats: what they show of it in words, and its lanes. Without
// named the lanes show figures alone.
func CardOf(p Page, title, text string, named bool) chart.Card {
	c := chart.Card{Title: Visible(title), Text: Visible(text)}
	if title == text {
		c.Title = ""
	}
	for _, drawn := range p.charts() {
		if l, ok := drawn.(chart.LanesData); ok {
			if !named {
				l = l.Bare()
			}
			c.Lanes = &l
			break
		}
	}
	return c
}

// sameView is the query of a page for its twins, so that they are of what it shows:
// its filter, order and open rows, and its case.
func sameView(query url.Values, caseID string) string {
	q := maps.Clone(query)
	if q == nil {
		q = url.Values{}
	}
	q.Set("case", caseID)
	q.Del("chart")
	return q.Encode()
}

// hasStacks reports whether each snapshot has members with stacks.
func hasStacks(all ...*analysis.Snapshot) bool {
	for _, s := range all {
		if s.Totals.Goroutines == nil && s.Totals.Threads == nil {
			return false
		}
	}
	return true
}

// WithoutStacks is a page of none.
const WithoutStacks Stacks = false
