package page

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"leakdiff/analysis/read/bundle"
	"leakdiff/analysis/say/wording"
	"leakdiff/server/casepage"
	"leakdiff/server/response"
	"leakdiff/store"
	"leakdiff/web/page"
	"leakdiff/web/view"
)

// recentCases is how many cases one page of the list shows.
const recentCases = 100

// orders are those of the list of cases. Another word is the newest first.
var orders = map[string]store.Order{"name": store.ByName, "verdict": store.ByVerdict, "activity": store.ByActivity}

// CaseChoice reads the filter of the list of cases. Days are in UTC, and the last one
// counts whole.
func CaseChoice(query url.Values) (c view.CaseChoice, q store.CaseQuery, err error) {
	c = view.CaseChoice{
		Find: query.Get("find"), Sort: query.Get("sort"), Text: query.Get("text"), Process: query.Get("process"), Host: query.Get("host"), Verdict: query.Get("verdict"),
		Since: query.Get("since"), Until: query.Get("until"), Archived: query.Get("archived"), Page: 1,
	}
	q = store.CaseQuery{Find: strings.TrimSpace(c.Find), Order: orders[c.Sort], Text: strings.TrimSpace(c.Text), Process: strings.TrimSpace(c.Process), Host: strings.TrimSpace(c.Host), Verdict: c.Verdict, Limit: recentCases}
	for _, d := range []struct {
		text string
		to   *time.Time
		days int
	}{{c.Since, &q.Since, 0}, {c.Until, &q.Until, 1}} {
		if d.text == "" {
			continue
		}
		day, err := time.Parse(time.DateOnly, d.text)
		if err != nil {
			return c, q, response.Refuse("bad_request", "this day was not understood", d.text, "days are written as 2026-11-21", "correct the day, or leave the field empty")
		}
		*d.to = day.AddDate(0, 0, d.days)
	}
	switch c.Archived {
	case "yes":
		q.Archived = true
	case "all":
		q.Everything = true
	default:
		c.Archived = ""
	}
	if c.Page, err = response.PageOfList(query); err != nil {
		return c, q, err
	}
	q.Offset = (c.Page - 1) * recentCases
	return c, q, nil
}

// Home is the start page: upload forms and the list of cases.
func (s *Service) Home(w http.ResponseWriter, r *http.Request) {
	choice, q, err := CaseChoice(r.URL.Query())
	if err != nil {
		s.respond.Fail(w, r, err)
		return
	}
	status := http.StatusOK
	if response.KnownVerdict(choice.Verdict) != nil {
		status, q.Verdict = http.StatusBadRequest, ""
		choice.Wrong = "There is no verdict “" + choice.Verdict + "”: they are " + response.VerdictWords() + ". The cases below are of every verdict."
	}
	cases, total, err := s.store.Cases(r.Context(), q)
	if err != nil {
		s.respond.Fail(w, r, err)
		return
	}
	free, err := s.cfg.Volume.Free()
	if err != nil {
		s.respond.Fail(w, r, err)
		return
	}
	in := view.HomeInput{
		Base: s.respond.Base(r), Limits: s.limits(), KeepUploads: s.cfg.Keep.Uploads, Total: total, Choice: choice, Samples: s.cfg.Samples,
		Upload: view.UploadInput{MaxBytes: s.cfg.UploadLimit, Free: free, Reserved: s.cfg.Reserved, Keyed: s.access.NeedsKey(r.Context(), "")},
	}
	if total == 0 && !choice.Narrow() {
		q.Everything = true
		_, all, err := s.store.Cases(r.Context(), q)
		if err != nil {
			s.respond.Fail(w, r, err)
			return
		}
		in.Archived = all > 0
	}
	for _, c := range cases {
		in.Cases = append(in.Cases, view.CaseSummary{ID: c.ID, Title: casepage.SampleTitle(c.Case), Sentence: c.Headline, Process: c.Process, Host: c.Host, Verdict: c.Verdict, Points: c.Spark, Lower: c.Lower, Aside: c.Aside, Snapshots: c.Snapshots, Ticket: c.Ticket, Archived: c.Archived, Created: c.Created, Updated: c.Updated})
	}
	v := view.NewHome(in)
	v.Shell.Engine = s.respond.Engine()
	s.respond.Page(w, r, status, page.HTML(v.Page()))
}

// limits writes the budget of one bundle.
func (s *Service) limits() []view.Limit {
	b := s.budget()
	out := []view.Limit{
		{Name: "One upload", Value: wording.Bytes(s.cfg.UploadLimit)},
		{Name: "Unpacked", Value: fmt.Sprintf("%s, at most %d : 1", wording.Binary(b.Bytes), b.Ratio)},
		{Name: "Files in a bundle", Value: wording.Number(int64(b.Entries))},
		{Name: "Archives in archives", Value: fmt.Sprintf("%d levels, %d in all", b.Depth, b.Archives)},
		{Name: "Reading time", Value: wording.PageDuration(b.Duration)},
	}
	if s.cfg.Keep != (store.Retention{}) {
		out = append(out, view.Limit{Name: "Members kept", Value: wording.MembersKept(s.cfg.Keep.Members)}, view.Limit{Name: "Uploads kept", Value: wording.UploadsKept(s.cfg.Keep.Uploads)})
	}
	return out
}

// budget is the budget of one upload, as configured or by default.
func (s *Service) budget() bundle.Budget {
	if s.cfg.Budget != (bundle.Budget{}) {
		return s.cfg.Budget
	}
	return bundle.DefaultBudget()
}

func (s *Service) Help(w http.ResponseWriter, r *http.Request) {
	v := view.NewHelp(s.respond.Base(r))
	v.Shell.Engine = s.respond.Engine()
	s.respond.Page(w, r, http.StatusOK, page.HTML(v))
}

// APIPage documents the API.
func (s *Service) APIPage(w http.ResponseWriter, r *http.Request) {
	v := view.NewAPI(s.respond.Base(r))
	v.Shell.Engine = s.respond.Engine()
	s.respond.Page(w, r, http.StatusOK, page.HTML(v))
}

// Search finds functions, processes and case titles on the whole server.
func (s *Service) Search(w http.ResponseWriter, r *http.Request) {
	query := strings.TrimSpace(r.URL.Query().Get("q"))
	var families, cases, processes []view.Hit
	if query != "" {
		found, err := s.store.SearchFunctions(r.Context(), query, 100, 0)
		if err != nil {
			s.respond.Fail(w, r, err)
			return
		}
		for _, f := range found.Families {
			seen := fmt.Sprintf("%s, at most %s in one snapshot, %s", f.Family.Kind, wording.Number(int64(f.Highest)), wording.PagePlural(int64(f.Cases), "case", "cases"))
			families = append(families, view.NewFunctionHit(f.Family.Title, seen, "/families/"+f.Family.Fingerprint, ""))
		}
		for _, c := range found.Cases {
			cases = append(cases, view.NewHit(ticketTitle(c.Case), c.Headline, "/cases/"+c.ID, listedVerdict(c)))
		}
		for _, p := range found.Processes {
			name, where := p.Name, url.Values{"process": {p.Name}, "archived": {"all"}}
			if name == "" {
				name = "name not known" // a dump without it, or sockets without an owner
			}
			if p.Host != "" {
				name += " on " + p.Host
				where.Set("host", p.Host)
			}
			seen := wording.PagePlural(int64(p.Snapshots), "snapshot", "snapshots") + " in " + wording.PagePlural(int64(p.Cases), "case", "cases")
			processes = append(processes, view.NewHit(name, seen, "/?"+where.Encode()+"#recent", ""))
		}
	}
	v := view.NewSearch(query, families, cases, processes)
	v.Shell.Engine = s.respond.Engine()
	s.respond.Page(w, r, http.StatusOK, page.HTML(v))
}

// listedVerdict is the verdict of a case in a list. It is empty if all growth was set
// aside as benign: the sentence of the case says so.
func listedVerdict(c store.CountedCase) string {
	switch {
	case c.Aside > 0:
		return ""
	case c.Snapshots == 0 && c.Verdict != "":
		return "no evidence"
	}
	return c.Verdict
}

// ticketTitle is the title with the ticket.
func ticketTitle(c store.Case) string {
	if c.Ticket == "" {
		return casepage.SampleTitle(c)
	}
	return casepage.SampleTitle(c) + ", " + c.Ticket
}
