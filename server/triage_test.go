package server

import (
	"bytes"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"testing"

	"leakdiff/analysis"
	"leakdiff/analysis/say/report"
	"leakdiff/server/share"
)

func TestFindingsRespectWhatPeopleDecided(t *testing.T) {
	s := newSite(t)
	up := s.untimed(t, 3, 13, 23, 33)
	other := s.untimed(t, 4, 14, 24, 34)
	doc := decode[report.Report](t, s.get("/api/v1/cases/"+up.Case).body)
	series := doc.Series[0]
	if len(series.Findings) == 0 {
		t.Fatal("nothing grows")
	}
	leak := series.Findings[0].Families[0]
	family := "/families/" + url.PathEscape(leak) + "?case="
	mark := func(caseID, state, note, seen string) reply {
		return s.do("POST", "/cases/"+caseID+"/triage", strings.NewReader(postForm("process", url.QueryEscape(series.Process), "series", url.QueryEscape("/"+series.Process),
			"fingerprint", leak, "state", state, "note", note, "outcome", "not a leak", "seen", seen)), "Content-Type", formType)
	}

	if r := mark(up.Case, "benign", "", "0"); r.status != 400 || !strings.Contains(r.body, "benign for a reason") {
		t.Errorf("benign without a reason: %d %.300s", r.status, r.body)
	}
	if r := mark(up.Case, "benign", "a pool that fills", "0"); r.status != 303 || strings.Contains(r.header.Get("Location"), "over=") {
		t.Errorf("benign: %d to %s", r.status, r.header.Get("Location"))
	}
	s.s.worker.CatchUp(t.Context())
	s.run(t, []scenario{
		{name: "the finding is set aside with its reason", path: up.Link, status: 200, want: []string{"marked benign", "a pool that fills"}},
		{name: "and stands in the JSON", path: up.Link + ".json", status: 200, want: []string{`"set_aside"`, `"state":"benign"`}},
		{name: "the list of cases does not call it leaking any more", path: "/", status: 200, want: []string{"Nothing else grows", "hidden by a person", "</i> benign</span>"}, never: []string{"no growing family was found", "family is leaking", `class="v leaking"`, `class="v stable"`}},
		{name: "the family says who decided what", path: family + up.Case, status: 200, want: []string{"a pool that fills", "not a leak", `id="triage"`}},
		{name: "another case of the process remembers it", path: "/cases/" + other.Case, status: 200, want: []string{"marked benign", "in another case"}},
		{name: "and its family page shows where", path: family + other.Case, status: 200, want: []string{"Seen in 1\u00a0other case: once not a leak", "a pool that fills"}},
		{name: "the API lists it", path: "/api/v1/cases/" + other.Case + "/triage", status: 200, want: []string{`"remembered": true`}},
	})

	t.Run("the last one to save wins and learns whom they replaced", func(t *testing.T) {
		if r := mark(up.Case, "suspicious", "it never shrinks", "0"); !strings.Contains(r.header.Get("Location"), "over=triage") {
			t.Errorf("leads to %s", r.header.Get("Location"))
		} else if page := s.get(strings.Split(r.header.Get("Location"), "#")[0]); !strings.Contains(page.body, "a pool that fills") || !strings.Contains(page.body, "What you saved replaced it") {
			t.Errorf("the page does not say what was replaced: %.2000s", page.body)
		}
		s.run(t, []scenario{
			{name: "the finding is told again", path: up.Link, status: 200, want: []string{"marked suspicious", "it never shrinks"}, never: []string{"marked benign"}},
			{name: "the other case forgets that it was benign", path: "/cases/" + other.Case, status: 200, never: []string{"marked benign"}},
		})
	})
	t.Run("a frozen result keeps the mark and no word of other cases", func(t *testing.T) {
		mark(other.Case, "reviewed", "secret of the other case", "0")
		r := s.do("POST", "/api/v1/permalinks", strings.NewReader(`{"case":"`+up.Case+`","view":"`+family+up.Case+`"}`))
		link := decode[share.Result](t, r.body).Link
		link = link[strings.Index(link, "/p/"):]
		page := s.get(link)
		if !strings.Contains(page.body, "it never shrinks") || strings.Contains(page.body, "secret of the other case") || strings.Contains(page.body, "other case") || strings.Contains(page.body, "<form class=\"triage") {
			t.Errorf("the frozen page: %.3000s", page.body)
		}
	})
	t.Run("the API refuses what is not there", func(t *testing.T) {
		body := func(process, print string) string {
			b, _ := json.Marshal(map[string]string{"process": process, "fingerprint": print, "state": "reviewed"})
			return string(b)
		}
		api := "/api/v1/cases/" + up.Case + "/triage"
		s.run(t, []scenario{
			{name: "a family of nobody", method: "PUT", path: api, body: body(series.Process, "g1:00"), status: 404, want: []string{"no such family"}},
			{name: "another process", method: "PUT", path: api, body: body("nginx", leak), status: 404},
			{name: "an unknown member", method: "PUT", path: api, body: `{"what": 1}`, status: 400, want: []string{"there is no member", "what"}},
			{name: "another case", method: "PUT", path: "/api/v1/cases/cnone/triage", body: body(series.Process, leak), status: 404},
			{name: "a mark", method: "PUT", path: api, body: body(series.Process, leak), status: 200, want: []string{`"replaced": "suspicious: it never shrinks; outcome: not a leak"`}},
		})
	})
}

func TestWhatWasSetAsideIsSaidToGrow(t *testing.T) {
	s := newSite(t)
	up := s.untimed(t, 3, 13, 23, 33)
	series := decode[report.Report](t, s.get("/api/v1/cases/"+up.Case).body).Series[0]
	growing := 0
	for _, f := range series.Families {
		if f.Verdict != analysis.Leaking && f.Verdict != analysis.Suspicious {
			continue
		}
		growing++
		mark, _ := json.Marshal(map[string]string{"process": series.Process, "fingerprint": f.Fingerprint, "state": "benign", "note": "a pool that fills"})
		if r := s.do("PUT", "/api/v1/cases/"+up.Case+"/triage", bytes.NewReader(mark), "Content-Type", "application/json"); r.status != 200 {
			t.Fatal(r.body)
		}
	}
	if growing == 0 {
		t.Fatal("nothing grows")
	}
	s.s.worker.CatchUp(t.Context())
	a, b := up.Snapshots[0].ID, up.Snapshots[3].ID
	leak := series.Findings[0].Families[0]
	q := "?case=" + up.Case
	chip := `</i> benign</span>`
	never := []string{"0 of ", "there is no series to judge yet", "No leak seen"}
	wordy := []string{"marked benign by a person", "“a pool that fills”", "Nothing else grows. In 4 snapshots", " would have been seen"}
	s.run(t, []scenario{
		{name: "the case page", path: up.Link, status: 200, want: append([]string{"1 group that grows was hidden by a person.", chip}, wordy...), never: never},
		{name: "its Markdown", path: up.Link + ".md", status: 200, want: append([]string{"## Findings", "1\u00a0finding marked benign"}, wordy...), never: never},
		{name: "its text", path: up.Link + ".txt", status: 200, want: []string{"Findings", "Nothing else grows"}, never: never},
		{name: "the list of cases", path: "/", status: 200, want: []string{"Nothing else grows", "hidden by a person", chip}, never: append([]string{`class="v stable"`}, never[2:]...)},
		{name: "the search", path: "/search?q=more", status: 200, want: []string{"hidden by a person"}, never: []string{`class="v stable"`}},
		{name: "the comparison", path: "/diff/" + a + ".." + b + q, status: 200, want: []string{chip}},
		{name: "an open row of it", path: "/diff/" + a + ".." + b + q + "&open=" + url.QueryEscape(leak), status: 200, want: []string{chip, "Triage: benign on", "a pool that fills"}},
		{name: "its Markdown", path: "/diff/" + a + ".." + b + ".md" + q, status: 200, want: []string{", triage: benign |"}},
		{name: "its JSON", path: "/diff/" + a + ".." + b + ".json" + q, status: 200, want: []string{`"state": "benign"`, "a pool that fills"}},
		{name: "all side by side", path: "/compare" + q, status: 200, want: []string{chip}},
		{name: "their Markdown", path: "/compare.md" + q, status: 200, want: []string{", triage: benign |"}},
		{name: "their JSON", path: "/compare.json" + q, status: 200, want: []string{`"state": "benign"`}},
		{name: "a snapshot", path: "/snapshots/" + b + q, status: 200, want: []string{chip}},
		{name: "its Markdown", path: "/snapshots/" + b + ".md" + q, status: 200, want: []string{"(triage: benign)"}},
	})
	snap := decode[report.Report](t, s.get("/snapshots/"+b+".json"+q).body).Snapshots[0]
	if i := slices.IndexFunc(snap.Families, func(f report.SnapshotFamily) bool { return f.Fingerprint == leak }); i < 0 || snap.Families[i].Triage == nil {
		t.Errorf("the JSON of a snapshot does not tell the mark: %+v", snap.Families)
	}
	page := s.get(up.Link).body
	table := page[strings.Index(page, `id="h-all"`):]
	if got := strings.Count(table, chip); got < growing {
		t.Errorf("the table of families has %d marks, want %d", got, growing)
	}
}

func TestTwoPeopleEditOneCaseFieldByField(t *testing.T) {
	s := newSite(t)
	up := s.untimed(t, 3, 13)
	save := func(fields ...string) string {
		t.Helper()
		r := s.do("POST", "/cases/"+up.Case+"/fields", strings.NewReader(postForm(fields...)), "Content-Type", formType)
		if r.status != 303 {
			t.Fatalf("%v: %d %.300s", fields, r.status, r.body)
		}
		return r.header.Get("Location")
	}
	page := s.get(up.Link).body
	was := between(page, `name="was-title" value="`, `"`)
	// Both opened the page before anything was saved.
	if to := save("was-title", was, "title", was, "was-ticket", "", "ticket", "INC-1", "was-modules", "", "modules", ""); strings.Contains(to, "over") {
		t.Errorf("the first to save is told of a conflict: %s", to)
	}
	if to := save("was-title", was, "title", "Node down", "was-ticket", "", "ticket", "", "was-modules", "", "modules", ""); strings.Contains(to, "over") {
		t.Errorf("another field is no conflict: %s", to)
	}
	s.run(t, []scenario{{name: "both edits hold", path: up.Link, status: 200, want: []string{"INC-1", "Node down"}}})
	to := save("was-title", was, "title", was, "was-ticket", "", "ticket", "https://tickets.example/7", "was-modules", "", "modules", "")
	if !strings.Contains(to, "over=ticket") {
		t.Errorf("the second to save the ticket is not told: %s", to)
	}
	s.run(t, []scenario{
		{name: "the page says whose value was replaced", path: strings.Split(to, "#")[0], status: 200, want: []string{"Ticket was changed to “INC-1” by somebody else", `href="https://tickets.example/7"`}},
		{name: "a ticket is searched for", path: "/search?q=tickets.example", status: 200, want: []string{"Node down"}},
		{name: "a script is no address", method: "PATCH", path: "/api/v1/cases/" + up.Case, body: `{"ticket":"javascript:alert(1)"}`, status: 200, want: []string{`"ticket": "https://tickets.example/7"`}},
		{name: "and is printed as text", path: up.Link, status: 200, want: []string{"javascript:alert(1)"}, never: []string{`href="javascript`}},
		{name: "an unknown field is refused", method: "PATCH", path: "/api/v1/cases/" + up.Case, body: `{"colour":"red"}`, status: 400, want: []string{"no such field"}},
		{name: "a title is never empty", method: "PATCH", path: "/api/v1/cases/" + up.Case, body: `{"title":" "}`, status: 400},
		{name: "archiving", method: "PATCH", path: "/api/v1/cases/" + up.Case, body: `{"archived":"yes"}`, status: 200},
		{name: "takes it off the list", path: "/", status: 200, never: []string{"Node down"}},
		{name: "but not out of the archive", path: "/?archived=yes", status: 200, want: []string{"Node down", "archived"}},
		{name: "a day that is none is refused", path: "/?since=yesterday", status: 400, want: []string{"2026-11-21"}},
	})
}

// between returns the text between two others.
func between(s, from, to string) string {
	_, s, _ = strings.Cut(s, from)
	s, _, _ = strings.Cut(s, to)
	return s
}

func TestAFindingSaysWhatOtherCasesKnowOfIt(t *testing.T) {
	s := newSite(t)
	first, second := s.untimed(t, 3, 13, 23, 33), s.untimed(t, 4, 14, 24, 34)
	series := decode[report.Report](t, s.get("/api/v1/cases/"+first.Case).body).Series[0]
	leak := series.Findings[0].Families[0]
	text := func(path string) string { return strings.ReplaceAll(s.get(path).body, "\u00a0", " ") }
	for _, path := range []string{second.Link, second.Link + ".md"} {
		if got := text(path); !strings.Contains(got, "Seen in 1 other case.") {
			t.Errorf("%s does not say where else it was seen", path)
		}
	}
	for _, caseID := range []string{first.Case, s.untimed(t, 5, 15, 25, 35).Case} {
		if r := s.do("POST", "/cases/"+caseID+"/triage", strings.NewReader(postForm("process", url.QueryEscape(series.Process), "series", url.QueryEscape("/"+series.Process),
			"fingerprint", leak, "state", "reviewed", "note", "", "outcome", "fixed by upgrading", "seen", "0")), "Content-Type", formType); r.status != 303 {
			t.Fatalf("%d: %.300s", r.status, r.body)
		}
	}
	for _, path := range []string{second.Link, second.Link + ".md"} {
		if got := text(path); !strings.Contains(got, "Seen in 2 other cases: twice fixed by upgrading.") {
			t.Errorf("%s does not say what it turned out to be", path)
		}
	}
	r := s.do("POST", "/api/v1/permalinks", strings.NewReader(`{"case":"`+second.Case+`","view":"`+second.Link+`"}`))
	link := decode[share.Result](t, r.body).Link
	if page := text(link[strings.Index(link, "/p/"):]); strings.Contains(page, "other case") || !strings.Contains(page, "Findings") {
		t.Error("the frozen page speaks of other cases")
	}
}
