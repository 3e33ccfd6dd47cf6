package server

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/say/report"
	"leakdiff/samples/corpus"
	"leakdiff/server/intake"
	"leakdiff/store"
)

// dense uploads captures of a growing program, so many minutes apart, and the last one at least
// a day after the first.
func (s *site) dense(n, minutes int) (intake.Uploaded, []string) {
	s.t.Helper()
	files := map[string]string{}
	for i := range n {
		dir := fmt.Sprintf("node-1/app/t%02d/", i)
		at := minutes * i
		if i == n-1 {
			at = max(at, 24*60)
		}
		files[dir+"goroutines.txt"] = nodeDump(3+15*i, false)
		files[dir+"captured_at"] = time.Date(2026, 11, 20, 8, at, 0, 0, time.UTC).Format(time.RFC3339) + "\n"
		files[dir+"hostname"] = "node-1\n"
	}
	body, kind := form(s.t, files, nil)
	up := decode[intake.Uploaded](s.t, s.do("POST", "/api/v1/bundles?wait=1", body, "Content-Type", kind).body)
	s.waitForReport(up.Case)
	var ids []string
	for _, snap := range up.Snapshots {
		ids = append(ids, snap.ID)
	}
	return up, ids
}

// answers are what is said of a case: its first sentence, and the verdict and figures of each
// family and finding.
func answers(t *testing.T, body string) (string, [][]report.Family) {
	t.Helper()
	r := decode[report.Report](t, body)
	var families [][]report.Family
	for _, s := range r.Series {
		families = append(families, s.Families)
	}
	return r.Diagnosis.Sentence, families
}

func TestWhatAPolicyDroppedIsSaidWhereItIsMissing(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	st, err := store.Open(t.Context(), store.Config{Dir: t.TempDir(), Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	s := startSite(t, st, Config{Now: func() time.Time { return now }})
	up, ids := s.dense(40, 10)
	before := s.get("/api/v1/cases/" + up.Case).body
	family := decode[report.Report](t, before).Series[0].Findings[0].Families[0]
	escaped := url.PathEscape(family)
	if r := s.get("/families/" + escaped + "?case=" + up.Case); r.status != 200 || strings.Contains(r.body, "policy of retention") {
		t.Errorf("before the policy the page of a family is %d: %s", r.status, r.body)
	}
	b, err := st.Bundle(t.Context(), up.ID)
	if err != nil {
		t.Fatal(err)
	}
	keep := store.Retention{Members: 30, Uploads: 60}
	now = now.AddDate(0, 0, 61)
	s.put("later.txt", []byte(tinyDump)) // the clock is right
	s.s.cfg.Keep = keep
	dropped, err := st.Retain(t.Context(), keep) // as another server would: this one is not told
	if done := store.TotalOf(dropped); err != nil || done.Snapshots != 16 || done.Bundles != 1 {
		t.Fatalf("%+v was dropped, %v", done, err)
	}
	if after := s.get("/api/v1/cases/" + up.Case).body; after != before {
		t.Error("the report changed without a new reading")
	}
	const day = "2027-01-21"
	thinned := slices.DeleteFunc(s.evidence(up.Case), func(s analysis.Snapshot) bool { return s.Thinned.IsZero() })
	thin, both := thinned[0].ID, thinned[0].ID+".."+thinned[1].ID
	s.run(t, []scenario{
		{name: "a snapshot says it", path: "/snapshots/" + thin + "?case=" + up.Case, status: 200, want: []string{"dropped the members of this capture on " + day}},
		{name: "its neighbour that was kept does not", path: "/snapshots/" + ids[0] + "?case=" + up.Case, status: 200, never: []string{"policy of retention"}},
		{name: "a comparison says it", path: "/diff/" + thin + ".." + ids[39] + "?case=" + up.Case, status: 200, want: []string{"cannot be said. A policy of retention dropped the members of A on " + day}, never: []string{"members of A and B"}},
		{name: "of B as well", path: "/diff/" + ids[39] + ".." + thin + "?case=" + up.Case, status: 200, want: []string{"dropped the members of B on " + day}, never: []string{"members of A"}},
		{name: "and of both", path: "/diff/" + both + "?case=" + up.Case, status: 200, want: []string{"cannot be said. A policy of retention dropped the members of A and B on " + day}, never: []string{"has none"}},
		{name: "as text", path: "/diff/" + both + ".txt?case=" + up.Case, status: 200, want: []string{"the members of A and B on " + day}},
		{name: "as Markdown", path: "/diff/" + both + ".md?case=" + up.Case, status: 200, want: []string{"A policy of retention dropped the members of A and B on " + day}},
		{name: "as data", path: "/diff/" + both + ".json?case=" + up.Case, status: 200, want: []string{"A policy of retention dropped the members of A and B on " + day}},
		{name: "nothing of it without a gap", path: "/diff/" + ids[0] + ".." + ids[39] + ".json?case=" + up.Case, status: 200, never: []string{"policy of retention"}},
		{name: "a comparison of kept ones follows", path: "/diff/" + ids[0] + ".." + ids[39] + "?case=" + up.Case, status: 200, never: []string{"policy of retention"}},
		{name: "the lines of a family say it", path: "/families/" + escaped + "?case=" + up.Case, status: 200, want: []string{"members of 16 of 40 captures"}},
		{name: "and the list of its members", path: "/families/" + escaped + "?case=" + up.Case + "&at=" + thin, status: 200, want: []string{"dropped the members of this capture"}},
		{name: "and as data", path: "/families/" + escaped + ".json?case=" + up.Case + "&at=" + thin, status: 200, want: []string{`"members_dropped_at": "2027-01-21T12:00:00Z"`, `"members": []`}},
		{name: "the page of the bundle says it", path: "/bundles/" + up.ID, status: 200, want: []string{"dropped the bytes on " + day, b.Files[0].SHA256}, never: []string{"Read again", "another one", "?as=", "/files/" + b.Files[0].SHA256}},
		{name: "the download is gone", path: "/bundles/" + up.ID + "/files/" + b.Files[0].SHA256, status: 410, want: []string{"the uploaded bytes of this bundle were dropped", day}},
		{name: "raw lines are gone", path: "/raw/" + up.ID + "?path=x&offset=0&length=9", status: 410, want: []string{"upload the same file into a new case"}},
		{name: "it is not read again", method: "POST", path: "/bundles/" + up.ID + "/read", status: 410, want: []string{"were dropped"}},
		{name: "nor as another kind", method: "PUT", path: "/api/v1/bundles/" + up.ID + "/kinds", body: `{"path": "x", "kind": "lsof"}`, header: []string{"Content-Type", "application/json"}, status: 410},
		{name: "the list of bundles has it", path: "/api/v1/cases/" + up.Case + "/bundles", status: 200, want: []string{`"dropped_at": "2027-01-21T12:00:00Z"`}},
	})
	// A mark makes the report anew, now from less.
	process := decode[report.Report](t, before).Series[0].Process
	if r := s.do("PUT", "/api/v1/cases/"+up.Case+"/triage", strings.NewReader(`{"process": "`+process+`", "fingerprint": "`+family+`", "state": "reviewed"}`), "Content-Type", "application/json"); r.status != 200 {
		t.Fatalf("marking gave %d: %s", r.status, r.body)
	}
	sentence, _ := answers(t, before)
	again := s.get("/api/v1/cases/" + up.Case).body
	if now, _ := answers(t, again); now != sentence {
		t.Errorf("the sentence was %q and is %q", sentence, now)
	}
	if !strings.Contains(again, "what identity proves rests on the other 24") {
		t.Error("the report does not say that it was made from less")
	}
}

func TestAPolicyIsShownBeforeItDropsAndACaseMayHaveItsOwn(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	st, err := store.Open(t.Context(), store.Config{Dir: t.TempDir(), Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	s := startSite(t, st, Config{Now: func() time.Time { return now }, Keep: store.Retention{Members: 30}})
	up, _ := s.dense(26, 10)
	now = now.AddDate(0, 0, 31)
	patch := func(body string) reply {
		return s.do("PATCH", "/api/v1/cases/"+up.Case, strings.NewReader(body), "Content-Type", "application/json", "Authorization", "Bearer "+up.OwnerKey)
	}
	s.run(t, []scenario{
		{name: "the start page says how long", path: "/", status: 200, want: []string{"Members kept", "for 30 days; then", "Uploads are kept until the case is deleted, or as long as their case says;"}},
		{name: "the plan counts", path: "/api/v1/retention", status: 200, want: []string{`"snapshots": 2`, up.Case, `"members": 30`}},
		{name: "so does that of the case", path: "/api/v1/retention?case=" + up.Case, status: 200, want: []string{`"snapshots": 2`}},
		{name: "a case that there is not", path: "/api/v1/retention?case=c0", status: 404},
		{name: "as a page", path: "/server?case=" + up.Case, status: 200, want: []string{"would drop the members of 2 captures (", "30 days", "/cases/" + up.Case}},
		{name: "as a page of all cases", path: "/server", status: 200, want: []string{"would drop the members of 2 captures (", "30 days"}},
		{name: "as a page of a case that there is not", path: "/server?case=c0", status: 404},
		{name: "the case links it", path: up.Link, status: 200, want: []string{"/server?case=" + up.Case, "Days to keep members", "Days to keep uploads",
			`placeholder="30 days, by the server"`, `placeholder="for ever, by the server"`}},
	})
	for body, status := range map[string]int{`{"keep_members": "-1"}`: 400, `{"keep_uploads": "soon"}`: 400, `{"keep_uploads": "36501"}`: 400, `{"keep_uploads": "+5"}`: 400, `{"keep_members": "03"}`: 400, `{"keep_members": "-0"}`: 400, `{"keep_members": "0", "keep_uploads": "7"}`: 200} {
		if r := patch(body); r.status != status {
			t.Errorf("%s gave %d: %s", body, r.status, r.body)
		}
	}
	s.run(t, []scenario{
		{name: "its own policy counts", path: "/api/v1/retention", status: 200, want: []string{`"snapshots": 0`, `"bundles": 1`, `"uploads": 7`}},
	})
}

func TestAServerDropsByItself(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	dir := t.TempDir()
	opened := func() *store.Store {
		st, err := store.Open(t.Context(), store.Config{Dir: dir, Now: func() time.Time { return now }})
		if err != nil {
			t.Fatal(err)
		}
		return st
	}
	var up intake.Uploaded
	t.Run("nothing without a policy", func(t *testing.T) {
		s := startSite(t, opened(), Config{})
		up, _ = s.dense(26, 10)
	})
	now = now.AddDate(1, 0, 0)
	t.Run("an upload shows that the clock is right", func(t *testing.T) {
		startSite(t, opened(), Config{}).put("later.txt", []byte(tinyDump))
	})
	st := opened()
	startSite(t, st, Config{Keep: store.Retention{Uploads: 300}})
	eventually(t, func() bool {
		b, err := st.Bundle(t.Context(), up.ID)
		return err == nil && b.Dropped.Equal(now)
	}, "the upload")
}

// TestAnswersAreTheSameAfterThinning has series judged anew after a policy dropped what it can:
// half of a long one, and nothing of short ones.
func TestAnswersAreTheSameAfterThinning(t *testing.T) {
	corpus.Heavy(t)
	now := time.Now()
	st, err := store.Open(t.Context(), store.Config{Dir: t.TempDir(), Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	s := startSite(t, st, Config{})
	want := map[string]string{}
	for _, name := range []string{"inotify-leak", "kubelet-probe-leak"} {
		up := s.put(name+".tar.gz", sample(t, name).Archive)
		want[up.Case] = s.get("/api/v1/cases/" + up.Case).body
	}
	long, _ := s.dense(75, 25)
	want[long.Case] = s.get("/api/v1/cases/" + long.Case).body
	now = now.AddDate(0, 0, 2)
	dropped, err := st.Retain(t.Context(), store.Retention{Members: 1})
	if done := store.TotalOf(dropped); err != nil || done.Snapshots < 30 || done.Snapshots > 45 {
		t.Fatalf("%+v was dropped, %v", done, err)
	}
	for id, before := range want {
		body, reads := s.restarted("/api/v1/cases/"+id, anew)
		if reads == 0 {
			t.Error("the report was not made anew")
		}
		wantSentence, wantFamilies := answers(t, before)
		sentence, families := answers(t, body)
		if sentence != wantSentence {
			t.Errorf("the sentence was %q and is %q", wantSentence, sentence)
		}
		for i := range wantFamilies {
			for k, f := range wantFamilies[i] {
				if got := families[i][k]; got.Fingerprint != f.Fingerprint || got.Verdict != f.Verdict {
					t.Errorf("%s was %s, %s is %s", f.Title, f.Verdict, got.Title, got.Verdict)
				}
			}
		}
		if said := strings.Contains(body, "A policy of retention dropped the members of"); said != (id == long.Case) {
			t.Errorf("that the answer rests on less is said: %t", said)
		}
	}
}
