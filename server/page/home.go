package page

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/read/bundle"
	"leakdiff/analysis/say/report"
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
		in.Cases = append(in.Cases, view.CaseSummary{ID: c.ID, Title: casepage.SampleTitle(c.Case), Sentence: c.Headline, Process: c.Process, Host: c.Host, Verdict: c.Verdict, State: c.State, Points: c.Spark, Lower: c.Lower, Aside: c.Aside, Snapshots: c.Snapshots, Ticket: c.Ticket, Archived: c.Archived, Created: c.Created, Updated: c.Updated})
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

// Search finds answers, groups, processes and hosts on the whole server.
func (s *Service) Search(w http.ResponseWriter, r *http.Request) {
	query := strings.TrimSpace(r.URL.Query().Get("q"))
	var families, cases, processes []view.Hit
	known := ""
	if query != "" {
		catalogue, _ := s.catalogue.Current()
		entries := view.NewKnowledge(view.KnowledgeInput{Catalogue: catalogue, Query: query})
		known = entries.Counts()
		found, err := s.store.SearchFunctions(r.Context(), query, s.Aliases, 100, 0)
		if err != nil {
			s.respond.Fail(w, r, err)
			return
		}
		families = s.groupHits(found.Families)
		for _, c := range found.Cases {
			hit := view.NewHit(cmp.Or(c.Headline, ticketTitle(c.Case)), "", "/cases/"+c.ID, listedVerdict(c))
			if hit.Verdict == c.Verdict {
				hit.State = c.State
			}
			if hit.Points, hit.Lower = c.Spark, c.Lower; c.Headline != "" {
				hit.Text = view.Visible(ticketTitle(c.Case))
			}
			cases = append(cases, hit)
		}
		for _, p := range found.Processes {
			processes = append(processes, processHit(p))
		}
	}
	v := view.NewSearch(query, known, families, cases, processes)
	v.Shell.Engine = s.respond.Engine()
	s.respond.Page(w, r, http.StatusOK, page.HTML(v))
}

// Aliases are the functions and types that people call by words with a word in it.
func (s *Service) Aliases(word string) []string { return report.AliasesOf(s.Nouns(), word) }

// Nouns are what people call things.
func (s *Service) Nouns() report.Nouns {
	known, _ := s.catalogue.Current()
	list, _ := report.NounsOf(known)
	return list
}

func (s *Service) groupHits(found []store.FamilyHit) []view.Hit {
	var out []view.Hit
	nouns := s.Nouns()
	slices.SortStableFunc(found, func(a, b store.FamilyHit) int {
		return analysis.Verdict(cmp.Or(a.Verdict, string(analysis.Stable))).Rank() - analysis.Verdict(cmp.Or(b.Verdict, string(analysis.Stable))).Rank()
	})
	for _, f := range found {
		seen := "at most " + wording.PagePlural(int64(f.Highest), string(f.Family.Kind), wording.Kinds(f.Family.Kind)) + " in a capture, " + wording.PagePlural(int64(f.Cases), "case", "cases")
		if !f.LastSeen.IsZero() {
			seen += ", last seen " + wording.Minute(f.LastSeen)
		}
		address := "/families/" + f.Family.Fingerprint
		if f.Family.Loose == nil { // it is named by no function
			out = append(out, view.NewHit(f.Family.Title, seen, address, f.Verdict))
			continue
		}
		hit := view.NewFunctionHit(f.Family.Title, seen, address, f.Verdict)
		if things, called := report.ThingsFirst(nouns, &f.Family); called {
			hit.Things = view.Visible(things)
		}
		out = append(out, hit)
	}
	return out
}

// processHit leads to the cases of a process and says what the newest one about it says.
func processHit(p store.ProcessHit) view.Hit {
	name, where := p.Name, url.Values{"process": {p.Name}, "archived": {"all"}}
	if name == "" {
		name = "name not known" // a dump without it, or sockets without an owner
	}
	if p.Host != "" {
		name += " on " + p.Host
		where.Set("host", p.Host)
	}
	seen := wording.PagePlural(int64(p.Snapshots), "capture", "captures") + " in " + wording.PagePlural(int64(p.Cases), "case", "cases")
	if p.Latest.Headline != "" {
		seen += ". The newest: " + p.Latest.Headline
	}
	hit := view.NewHit(name, seen, "/?"+where.Encode()+"#recent", "")
	if hit.Points, hit.Lower = p.Latest.Spark, p.Latest.Lower; p.Latest.Aside == 0 {
		hit.Verdict, hit.State = p.Latest.Verdict, p.Latest.State
	}
	return hit
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
