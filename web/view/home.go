package view

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/say/wording"
)

// Home is the start page.
type Home struct {
	Shell  Shell
	Upload Upload
	// Base is the server's own address for lines to paste into a shell.
	Base   string
	Limits []Limit
	Cases  []CaseRow
	// Choice is what is shown in the form above the cases, Shown says what the list
	// holds; Newer and Older are the neighbouring pages, empty for none.
	Choice       CaseChoice
	Shown        string
	Newer, Older string
	Samples      []Sample
}

// Limit is one line of the limits table: "Files in a bundle", "200 000".
type Limit struct {
	Name, Value string
}

// CaseRow is a case in the table of recent cases.
type CaseRow struct {
	URL, Title, Sentence string
	// Points are the totals of the series that rose most, one per snapshot.
	Points []int
	// Lower says which of them are lower bounds, empty where none is.
	Lower []bool
	// Range is "87 → 263", empty without points.
	Range     string
	Snapshots string
	// Verdict is "no evidence" where nothing was found to judge; Triage is "benign" where
	// all that grows was set aside.
	Verdict, Triage string
	// Ticket, day of the upload and whether it is put away.
	Ticket, Day string
	Archived    bool
}

// CaseChoice is which cases are asked for, as it stands in the address.
type CaseChoice struct {
	Text, Process, Host, Verdict, Since, Until string
	// Archived is empty, "yes" or "all".
	Archived string
	Page     int
	// Wrong says what of it was not understood.
	Wrong string
}

// narrow reports whether anything but a page is asked for.
func (c CaseChoice) narrow() bool {
	c.Page = 0
	return c != CaseChoice{}
}

// Open reports whether the form is unfolded.
func (c CaseChoice) Open() bool { return c.narrow() }

// Verdicts are those that may be asked for.
func (c CaseChoice) Verdicts() []Pair {
	var out []Pair
	for _, v := range analysis.Verdicts() {
		out = append(out, Pair{Name: strings.ReplaceAll(string(v), "_", " "), Value: string(v)})
	}
	return out
}

// address is the list at another page.
func (c CaseChoice) address(page int) string {
	q := url.Values{}
	for name, value := range map[string]string{"text": c.Text, "process": c.Process, "host": c.Host, "verdict": c.Verdict, "since": c.Since, "until": c.Until, "archived": c.Archived} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if page > 1 {
		q.Set("page", strconv.Itoa(page))
	}
	return "/?" + q.Encode() + "#recent"
}

// Sample is a capture that comes with leakdiff.
type Sample struct {
	ID, Name, Text, Size string
	// Loaded says that one of the cases shown was made of it.
	Loaded bool
}

// CaseSummary is what the store knows about a case without opening it.
type CaseSummary struct {
	ID, Title, Sentence, Verdict string
	Points                       []int
	Lower                        []bool
	// Aside is how many families grow and were called benign, where no other grows.
	Aside     int
	Snapshots int
	Ticket    string
	Archived  bool
	Created   time.Time
}

// HomeInput is what the start page is made of. Total is the number of all cases that
// are asked for, of which Cases are one page.
type HomeInput struct {
	Base    string
	Upload  UploadInput
	Limits  []Limit
	Cases   []CaseSummary
	Total   int
	Choice  CaseChoice
	Samples []Sample
}

// NewHome makes the start page; the caller adds the shell's engine line.
func NewHome(in HomeInput) Home {
	h := Home{
		Shell:   Shell{Title: "What is leaking?", Section: "cases", Sheet: "home"},
		Upload:  newUpload(in.Upload),
		Base:    in.Base,
		Limits:  in.Limits,
		Samples: slices.Clone(in.Samples),
	}
	for i := range h.Samples {
		h.Samples[i].Loaded = slices.ContainsFunc(in.Cases, func(c CaseSummary) bool { return c.Title == h.Samples[i].Name+" (sample)" })
	}
	for _, c := range in.Cases {
		h.Cases = append(h.Cases, newCaseRow(c))
	}
	h.list(in)
	return h
}

// list says what the list of cases holds and where it goes on.
func (h *Home) list(in HomeInput) {
	const perPage = 100
	h.Choice = in.Choice
	for _, text := range []*string{&h.Choice.Text, &h.Choice.Process, &h.Choice.Host, &h.Choice.Since, &h.Choice.Until, &h.Choice.Wrong} {
		*text = Visible(*text)
	}
	first := (max(in.Choice.Page, 1) - 1) * perPage
	switch {
	case in.Total == 0 && in.Choice.narrow():
		h.Shown = "No case fits."
	case in.Total > len(in.Cases) && len(in.Cases) > 0:
		h.Shown = fmt.Sprintf("%s to %s of %s, the newest first.", wording.Exact(int64(first+1)), wording.Exact(int64(first+len(in.Cases))), wording.PagePlural(int64(in.Total), "case", "cases"))
	case in.Choice.narrow():
		h.Shown = plainPlural(in.Total, "1 case fits.", wording.Exact(int64(in.Total))+" cases fit.")
	}
	if in.Choice.Page > 1 {
		h.Newer = in.Choice.address(in.Choice.Page - 1)
	}
	if first+len(in.Cases) < in.Total {
		h.Older = in.Choice.address(max(in.Choice.Page, 1) + 1)
	}
}

func newCaseRow(c CaseSummary) CaseRow {
	row := CaseRow{
		URL: "/cases/" + url.PathEscape(c.ID), Title: Visible(c.Title), Sentence: Visible(c.Sentence),
		Points: c.Points, Lower: c.Lower, Range: rangeOf(c.Points, c.Lower), Snapshots: wording.Number(int64(c.Snapshots)), Verdict: c.Verdict,
		Ticket: Visible(c.Ticket), Archived: c.Archived,
	}
	if !c.Created.IsZero() {
		row.Day = wording.Day(c.Created)
	}
	if row.Title == "" {
		row.Title = "untitled case"
	}
	if row.Sentence == "" {
		row.Sentence = "Nothing has been read yet."
	}
	if c.Aside > 0 {
		row.Verdict, row.Triage = "", "benign"
	}
	if c.Snapshots == 0 && c.Verdict != "" {
		row.Verdict = "no evidence"
	}
	return row
}

// rangeOf is the lowest and the highest figure: "87 → 263", lower bounds as such.
func rangeOf(points []int, lower []bool) string {
	low, high := -1, -1
	for i, n := range points {
		whole := !isLower(lower, i)
		if low < 0 || n < points[low] || n == points[low] && whole {
			low = i
		}
		if high < 0 || n > points[high] || n == points[high] && whole {
			high = i
		}
	}
	if low < 0 {
		return ""
	}
	text := func(i int) string { return atLeast(wording.Number(int64(points[i])), isLower(lower, i)) }
	if points[low] == points[high] {
		return text(high)
	}
	return text(low) + " → " + text(high)
}

func query(s string) string { return url.QueryEscape(s) }
