package view

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/say/document"
	"leakdiff/analysis/say/wording"
	"leakdiff/web/chart"
)

// Home is the start page.
type Home struct {
	Shell  Shell
	Upload Upload
	// Base is the server's own address for lines to paste into a shell.
	Base   string
	Limits []Limit
	// UploadsKept says how long.
	UploadsKept string
	Cases       []CaseRow
	// Choice is what is shown in the form above the cases, Shown says what the list
	// holds; Newer and Older are the neighbouring pages, empty for none.
	Choice       CaseChoice
	Shown        string
	Newer, Older string
	// Whole says that every case is on the page: a script sorts and filters there.
	Whole bool
	// Archived says that there are cases, all of them put away.
	Archived bool
	// Command takes a capture of a process and uploads it.
	Command string
	Samples []Sample
}

// Limit is one line of the limits table: "Files in a bundle", "200 000".
type Limit struct {
	Name, Value string
}

// CaseRow is a case in the table of recent cases.
type CaseRow struct {
	URL, Title, Sentence string
	// Below stands under the sentence: the title, or that nothing was read yet under the
	// title.
	Below string
	// About is the process and the host: "containerd, kubelet on node-1".
	About string
	// Name, Rank, Made and Active are what the list is sorted by: text, the rank of the
	// verdict, and seconds.
	Name         string
	Rank         int
	Made, Active int64
	// Points are the totals of the series that rose most, one per snapshot.
	Points []int
	// Lower says which of them are lower bounds, empty where none is.
	Lower []bool
	// Range is "87 → 263", empty without points.
	Range     string
	Snapshots string
	// Verdict is "no evidence" where nothing was found to judge; Triage is "benign" where
	// all that grows was set aside. State is what the page of the case calls it.
	Verdict, Triage, State string
	// Ticket, day of the upload and whether it is put away.
	Ticket, Day string
	Archived    bool
}

// Spark draws the totals; the labels are places in the series.
func (r CaseRow) Spark(id string) chart.SparkData {
	s := sparkOf(id, r.Points, r.Lower)
	s.Calm = r.State != "" && stateChip(r.State).calm()
	return s
}

// judged is the state as the page of the case shows it, or that there is none.
func (r *CaseRow) judged() document.Text {
	switch {
	case r.Triage != "":
		return document.Text{document.Marked(document.Mark, r.Triage)}
	case r.Verdict == "":
		return document.Text{document.Marked(document.Muted, "not judged")}
	case r.State == "":
		return document.Text{document.Marked(document.Verdict, r.Verdict)}
	}
	return document.Text{stateChip(r.State).span()}
}

// CaseChoice is which cases are asked for, as it stands in the address.
type CaseChoice struct {
	Find, Text, Process, Host, Verdict, Since, Until string
	// Sort is empty for the newest first, else a value of Sorts.
	Sort string
	// Archived is empty, "yes" or "all".
	Archived string
	Page     int
	// Wrong says what of it was not understood.
	Wrong string
}

// Narrow reports whether a part of the cases is asked for.
func (c CaseChoice) Narrow() bool {
	c.Page, c.Sort = 0, ""
	return c != CaseChoice{}
}

// Open reports whether the further fields of the form are unfolded.
func (c CaseChoice) Open() bool {
	c.Find, c.Verdict, c.Wrong = "", "", ""
	return c.Narrow()
}

// Sorts are the orders of the list.
func (CaseChoice) Sorts() []Pair {
	return []Pair{{Name: "newest", Value: ""}, {Name: "name", Value: "name"}, {Name: "verdict", Value: "verdict"}, {Name: "last activity", Value: "activity"}}
}

// Verdicts returns those that may be asked for.
func (c CaseChoice) Verdicts() []Pair {
	var out []Pair
	for _, v := range analysis.Verdicts() {
		out = append(out, Pair{Name: cmp.Or(statesOf[v], string(v)), Value: string(v)})
	}
	return out
}

// address is the list at another page.
func (c CaseChoice) address(page int) string {
	q := url.Values{}
	for name, value := range map[string]string{"find": c.Find, "sort": c.Sort, "text": c.Text, "process": c.Process, "host": c.Host, "verdict": c.Verdict, "since": c.Since, "until": c.Until, "archived": c.Archived} {
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
	ID, Title, Sentence, Verdict, State string
	Process, Host                       string
	Points                              []int
	Lower                               []bool
	// Aside is how many families grow and were called benign, where no other grows.
	Aside     int
	Snapshots int
	Ticket    string
	Archived  bool
	// Updated is when something was added or changed last.
	Created, Updated time.Time
}

// HomeInput is the input of the start page. Total is the number of all cases that
// are asked for, of which Cases are one page.
type HomeInput struct {
	Base   string
	Upload UploadInput
	Limits []Limit
	// KeepUploads is for how many days uploads are kept, 0 for ever.
	KeepUploads int
	Cases       []CaseSummary
	Total       int
	Choice      CaseChoice
	Samples     []Sample
	// Archived says that there are cases, all of them put away.
	Archived bool
}

// NewHome makes the start page; the caller adds the shell's engine line.
func NewHome(in HomeInput) Home {
	h := Home{
		Shell:   Shell{Title: "What is leaking?", Section: "cases", Sheet: "home"},
		Whole:   in.Total == len(in.Cases) && !in.Choice.Narrow(),
		Command: "leakdiff collect --pid 4711 --every 30s --count 5 -o capture.tar.gz && leakdiff push --server " + in.Base + " capture.tar.gz",
		Upload:  newUpload(in.Upload),
		Base:    in.Base,
		Limits:  in.Limits, Archived: in.Archived, UploadsKept: wording.UploadsKept(in.KeepUploads),
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
	for _, text := range []*string{&h.Choice.Find, &h.Choice.Text, &h.Choice.Process, &h.Choice.Host, &h.Choice.Since, &h.Choice.Until, &h.Choice.Wrong} {
		*text = Visible(*text)
	}
	first := (max(in.Choice.Page, 1) - 1) * perPage
	switch {
	case in.Total == 0 && in.Choice.Narrow():
		h.Shown = "No case fits."
	case in.Total > len(in.Cases) && len(in.Cases) > 0:
		h.Shown = fmt.Sprintf("%s to %s of %s.", wording.Exact(int64(first+1)), wording.Exact(int64(first+len(in.Cases))), wording.PagePlural(int64(in.Total), "case", "cases"))
	case in.Choice.Narrow():
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
		row.Day, row.Made = wording.Day(c.Created), c.Created.Unix()
	}
	if row.Active = row.Made; !c.Updated.IsZero() {
		row.Active = c.Updated.Unix()
	}
	if row.About = Visible(c.Process); row.About != "" && c.Host != "" {
		row.About += " on " + Visible(c.Host)
	} else if c.Host != "" {
		row.About = Visible(c.Host)
	}
	row.Name = strings.ToLower(row.About + " " + row.Title)
	row.Rank = len(analysis.Verdicts())
	if at := slices.Index(analysis.Verdicts(), analysis.Verdict(c.Verdict)); at >= 0 {
		row.Rank = at
	}
	if row.Title == "" {
		row.Title = "untitled case"
	}
	row.Below = row.Title
	if row.Sentence == "" {
		row.Sentence, row.Below = row.Title, "Nothing has been read yet."
	}
	row.State = c.State
	if c.Aside > 0 {
		row.Verdict, row.Triage = "", "benign"
	}
	if c.Snapshots == 0 && c.Verdict != "" {
		row.Verdict, row.State = "no evidence", ""
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
