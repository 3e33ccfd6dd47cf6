package view

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strconv"

	"leakdiff/analysis"
	"leakdiff/analysis/say/document"
	"leakdiff/analysis/say/report"
	"leakdiff/analysis/say/wording"
)

// What one page shows of a case at most. A listing of a whole host has hundreds of
// processes that were captured once, and little to say of each.
const (
	seriesPerPage = 20
	oncePerPage   = 100
	// maxFindings are told in full, maxListedFindings in a line.
	maxFindings       = 40
	maxListedFindings = 100
)

// Paging leads through a list that is longer than a page.
type Paging struct {
	// Text is the part that is shown: "Processes 21 to 40 of 500".
	Text string
	// Note says in which order they stand, and on kept pages where the others are.
	Note string
	// Previous and Next are addresses, empty at the ends and on kept pages.
	Previous, Next string
	// Pages are the first page, the last and the neighbours; the one without an address
	// is shown.
	Pages []Link
}

// CaseLine is a finding that is told on another page.
type CaseLine struct {
	Number, Verdict, Process, Title, URL string
}

// paged is which entries of a list the wanted page has; pages is 1 where all fit.
func paged(query url.Values, all, perPage int) (page, pages, from, to int) {
	pages = max((all+perPage-1)/perPage, 1)
	page, _ = strconv.Atoi(query.Get("page"))
	page = min(max(page, 1), pages)
	return page, pages, (page - 1) * perPage, min(page*perPage, all)
}

// newPaging words the place in a list of processes or snapshots. address gives the address
// of a page, empty for none.
func newPaging(what string, from, to, all, page, pages int, address func(page int) string) *Paging {
	out := &Paging{Text: fmt.Sprintf("%s %s to %s of %s", what, wording.Exact(int64(from+1)), wording.Exact(int64(to)), wording.Exact(int64(all)))}
	if address(page) == "" {
		return out
	}
	if page > 1 {
		out.Previous = address(page - 1)
	}
	if page < pages {
		out.Next = address(page + 1)
	}
	for n := 1; n <= pages; n++ {
		if n == 1 || n == pages || n >= page-2 && n <= page+2 {
			l := Link{Text: strconv.Itoa(n), URL: address(n)}
			if n == page {
				l.URL = ""
			}
			out.Pages = append(out.Pages, l)
		}
	}
	return out
}

// Blocks say which part of a list the page shows, and lead through the others; a kept page
// has no links.
func (p *Paging) Blocks(label string) document.Blocks {
	out := document.Blocks{document.Paragraph{Look: "note", Text: document.Text{document.Marked(document.Strong, p.Text+"."), document.Plain(" " + p.Note)}}}
	if len(p.Pages) == 0 {
		return out
	}
	nav := document.Group{Role: "navigation", Look: "act", Label: label}
	step := func(url, text, rel string) {
		if url != "" {
			nav.Add(document.Text{{URL: url, Text: text, Link: &document.Link{Look: "btn quiet", Rel: document.ID(rel)}}})
		}
	}
	step(p.Previous, "Previous", "prev")
	for i, l := range p.Pages {
		if i > 0 && p.gapBefore(i) {
			nav.Add(document.Text{document.Marked(document.Ellipsis, "…")})
		}
		if l.URL == "" {
			nav.Add(document.Text{document.Marked(document.Here, l.Text)})
		} else {
			nav.Add(document.Text{{URL: l.URL, Text: l.Text, Link: &document.Link{Look: "btn quiet", Label: "Page " + l.Text}}})
		}
	}
	step(p.Next, "Next", "next")
	return append(out, nav)
}

// gapBefore reports whether pages are left out before entry i.
func (p *Paging) gapBefore(i int) bool {
	before, _ := strconv.Atoi(p.Pages[i-1].Text)
	here, _ := strconv.Atoi(p.Pages[i].Text)
	return here > before+1
}

// largeColumns are more instants than most cases have.
const largeColumns = 48

// large reports whether a page shows so much of each process that it must choose.
func (m *caseMaker) large() bool { return m.order != nil || len(m.columns) > largeColumns }

// perPage returns how many of its processes a page of the case shows.
func (m *caseMaker) perPage() int {
	if m.single() {
		return oncePerPage
	}
	return seriesPerPage
}

// pageAddress is the address of a page of the case, with the filter.
func (m *caseMaker) pageAddress(page int) string {
	q := url.Values{}
	if page > 1 {
		q.Set("page", strconv.Itoa(page))
	}
	if text := m.in.Query.Get("q"); text != "" {
		q.Set("q", text)
	}
	address := caseURL(m.in.ID)
	if len(q) > 0 {
		address += "?" + q.Encode()
	}
	return m.live(address)
}

// paginate chooses the series of the page. A case that fits on one keeps their order, in a
// larger one the worst stand first.
func (m *caseMaker) paginate(c *Case) {
	all := m.in.Report.Series
	m.page = make([]int, len(all))
	for i := range m.page {
		m.page[i] = i
	}
	number, pages, from, to := paged(m.in.Query, len(all), m.perPage())
	if pages == 1 {
		return
	}
	c.Paging = newPaging("Processes", from, to, len(all), number, pages, m.pageAddress)
	c.Paging.Note = "The worst first, then by growth."
	if m.in.Frozen {
		c.Paging.Note += " The others are in the JSON and in the CSV of this result."
	}
	m.number, m.order = number, rankedSeries(all)
	m.page = m.order[from:to]
	for per, k := m.perPage(), 0; k < from; k += per {
		m.before += len(m.ranked(m.order[k:min(k+per, from)]))
	}
}

// rankedSeries are the numbers of series by the worst verdict of their families, then by
// how much those grew. What a person called benign does not count.
func rankedSeries(all []report.Series) []int {
	type ranked struct{ series, rank, rise int }
	list := make([]ranked, len(all))
	for i := range all {
		r := ranked{i, len(analysis.Verdicts()), 0}
		for k := range all[i].Families {
			f := &all[i].Families[k]
			if f.Benign() {
				continue
			}
			switch rank := f.Verdict.Rank(); {
			case rank < r.rank:
				r.rank, r.rise = rank, f.Rise
			case rank == r.rank:
				r.rise = max(r.rise, f.Rise)
			}
		}
		list[i] = r
	}
	slices.SortStableFunc(list, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(b.rise, a.rise))
	})
	out := make([]int, len(list))
	for i, r := range list {
		out[i] = r.series
	}
	return out
}

// listed adds the findings in a line that are not told in full: those of the page that are
// too many, and on the first page those of the other pages.
func (m *caseMaker) listed(c *Case, tooMany []placedFinding) {
	left := 0
	add := func(r placedFinding, number int, address string) {
		if len(c.Listed) == maxListedFindings {
			left++
			return
		}
		s := &m.in.Report.Series[r.series]
		c.Listed = append(c.Listed, CaseLine{
			Number: itoa(int64(number)), Verdict: r.f.Mark(), Process: named(s), Title: Visible(arrow(r.f.Title)), URL: address,
		})
	}
	number := m.before + len(c.Findings)
	for _, r := range tooMany {
		number++
		add(r, number, "")
	}
	if m.number == 1 {
		per := m.perPage()
		for from := per; from < len(m.order); from += per {
			for i, r := range m.ranked(m.order[from:min(from+per, len(m.order))]) {
				number++
				address := m.pageAddress(from/per + 1)
				if address != "" && i < maxFindings {
					address += "#f-" + strconv.Itoa(number)
				}
				add(r, number, address)
			}
		}
	}
	if left > 0 {
		c.ListedNote = wording.PagePlural(int64(left), "more finding stands", "more findings stand") + " on the pages of their processes and in the JSON."
		if m.number == 0 || m.in.Frozen {
			c.ListedNote = wording.PagePlural(int64(left), "more finding stands", "more findings stand") + " in the JSON."
		}
	}
}

// caseSeries is what many parts of a page ask of one series, worked out once.
type caseSeries struct {
	snapshots []*report.Snapshot
	restarts  []int
	labels    []string
	// kinds are the lower bounds of each kind.
	kinds map[analysis.Kind][]bool
	// shown are the snapshots with a column in the tables, and the places of those.
	shown []shownSnapshot
}

type shownSnapshot struct{ snapshot, place int }

func (m *caseMaker) known(s *report.Series) *caseSeries {
	if have := m.worked[s]; have != nil {
		return have
	}
	k := &caseSeries{snapshots: make([]*report.Snapshot, len(s.Snapshots)), labels: make([]string, len(s.Snapshots)), kinds: map[analysis.Kind][]bool{}}
	for i, id := range s.Snapshots {
		snap := m.snapshots[id]
		k.snapshots[i] = snap
		if snap == nil {
			continue
		}
		k.labels[i] = Visible(snap.Label)
		if i > 0 && k.snapshots[i-1] != nil && k.snapshots[i-1].Epoch != snap.Epoch {
			k.restarts = append(k.restarts, i)
		}
	}
	m.worked[s] = k
	return k
}

// shownCells writes the counts of a series for the columns that the tables show.
func (m *caseMaker) shownCells(s *report.Series, values analysis.Counts, lower []bool) []string {
	counts, bounds := make(analysis.Counts, len(m.shown)), make([]bool, len(m.shown))
	for _, x := range m.shownOf(s) {
		if x.snapshot < len(values) {
			counts[x.place] = values[x.snapshot]
		}
		bounds[x.place] = isLower(lower, x.snapshot)
	}
	return cells(counts, bounds)
}

// shownOf are the snapshots of a series that have a column in the tables.
func (m *caseMaker) shownOf(s *report.Series) []shownSnapshot {
	k := m.known(s)
	if k.shown == nil {
		at := map[int]int{}
		for place, column := range m.shown {
			at[column] = place
		}
		k.shown = []shownSnapshot{}
		for i, id := range s.Snapshots {
			if column, ok := m.place[id]; ok {
				if place, ok := at[column]; ok {
					k.shown = append(k.shown, shownSnapshot{i, place})
				}
			}
		}
	}
	return k.shown
}
