package view

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/say/document"
	"leakdiff/web/chart"
)

// twinNames are the suffixes of a page's twins and what they are called.
var twinNames = [...]struct{ suffix, name string }{
	{".md", "Markdown"}, {".jira", "Jira"}, {".txt", "Plain text"}, {".html", "HTML file"}, {".csv", "CSV"}, {".json", "JSON"},
	{".folded", "Folded stacks"}, {".pb.gz", "pprof profile"},
}

// copied is how many of the names can be copied: those that a ticket takes.
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

// Copied is what one key copies: the ticket of a page that has one, else the page.
func (s Shell) Copied() Link {
	if len(s.Tickets) > 0 {
		return s.Tickets[0]
	}
	return s.Copies[0]
}

// CopyWord is the text of the button that copies. What is frozen keeps its words.
func (s Shell) CopyWord() string {
	if len(s.Tickets) > 0 && s.Seal == nil {
		return "Copy for ticket"
	}
	return "Copy"
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

// Page is a page that has twins.
type Page interface {
	Document() document.Document
	Charts() []chart.Chart
}

// ChartFile is a chart of a page as an SVG file; style is that of drawings. An
// empty name is the first chart. Where there is none of the name it lists those that
// there are.
func ChartFile(p Page, name string, style string) (file []byte, names []string) {
	all := p.Charts()
	found, ok := chart.Find(all, name)
	if !ok {
		return nil, chart.Names(all)
	}
	return chart.File(found, style), nil
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

// Picture is the address of a chart as a file, empty where there is none.
func (s Shell) Picture(chartID string) string {
	if s.Pictures == "" || chartID == "" {
		return ""
	}
	separator := "?"
	for _, c := range s.Pictures {
		if c == '?' {
			separator = "&"
		}
	}
	return s.Pictures + separator + "chart=" + chartID
}

// Charts are the charts of the page, the one to show first in front.
func (c Case) Charts() []chart.Chart {
	out := []chart.Chart{c.Timeline}
	for _, f := range c.Findings {
		if f.Spark != nil {
			out = append(out, *f.Spark)
		}
		for _, held := range f.Behind {
			if held.Spark != nil {
				out = append(out, *held.Spark)
			}
		}
	}
	for _, minis := range [][]CaseMini{c.Minis, c.MoreMinis} {
		for _, m := range minis {
			out = append(out, m.Chart)
		}
	}
	for _, l := range c.Limits {
		out = append(out, l.Chart)
	}
	for _, g := range c.Objects {
		for _, rows := range [][]CaseObject{g.Rows, g.MoreRows} {
			for _, o := range rows {
				if o.Spark != nil {
					out = append(out, *o.Spark)
				}
			}
		}
	}
	if c.Further != nil {
		for _, p := range c.Further.Processes {
			for _, x := range p.Stacks {
				out = append(out, x.Chart)
			}
			for _, x := range p.Births {
				out = append(out, x.Chart)
			}
		}
	}
	return out
}

// Charts are the charts of the page, the one to show first in front.
func (d Diff) Charts() []chart.Chart {
	var out []chart.Chart
	if d.Summary != nil {
		out = append(out, *d.Summary)
	}
	for _, s := range d.Sections {
		for _, r := range s.all() {
			out = append(out, r.Spark)
			if r.Detail == nil {
				continue
			}
			if r.Detail.Waits != nil {
				out = append(out, *r.Detail.Waits)
			}
			for _, bar := range []*chart.StatesData{r.Detail.BarA, r.Detail.BarB} {
				if bar != nil {
					out = append(out, *bar)
				}
			}
		}
	}
	return out
}

// Charts are the charts of the page, the one to show first in front.
func (f Family) Charts() []chart.Chart {
	out := []chart.Chart{f.Members}
	if f.Lifelines != nil {
		out = append(out, *f.Lifelines)
	}
	for _, b := range []*chart.BarsData{f.Births, f.HourBars, f.Ages, f.Waits} {
		if b != nil {
			out = append(out, *b)
		}
	}
	if f.StatesBar != nil {
		out = append(out, *f.StatesBar)
	}
	if f.StatesOver != nil {
		out = append(out, *f.StatesOver)
	}
	return out
}

// Charts are the charts of the page, the one to show first in front.
func (s Snapshot) Charts() []chart.Chart {
	var out []chart.Chart
	if s.StatesBar != nil {
		out = append(out, *s.StatesBar)
	}
	if s.Waits != nil {
		out = append(out, *s.Waits)
	}
	if s.Locks != nil {
		for _, shape := range s.Locks.Shapes {
			out = append(out, shape)
		}
	}
	for _, families := range [][]SnapshotFamily{s.Families, s.Single} {
		for _, f := range families {
			if f.Bar != nil {
				out = append(out, *f.Bar)
			}
		}
	}
	return out
}

// shares lists families with what is said of each.
func writeShares(d *document.Document, rows []CaseShare) {
	for _, r := range rows {
		d.Item(strings.TrimSpace(r.Name.Text() + ": " + r.Facts + ". " + r.Reason))
	}
	d.Gap()
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
