package server

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"leakdiff/analysis/read/ingest"
	"leakdiff/server/share"
	"leakdiff/store"
)

func TestAnOlderEnginesResultOffersANewLinkAndStaysWhatItIs(t *testing.T) {
	s := newSite(t)
	up := s.untimed(t, 3, 13, 23)
	f, err := json.Marshal(share.Record{Kind: "snapshot", Page: json.RawMessage(`[["Heading",{"Level":1,"Text":[{"Text":"what engine 1 said"}]}]]`), Data: json.RawMessage(`{}`), Headline: "what engine 1 said", Redacted: true})
	if err != nil {
		t.Fatal(err)
	}
	st := s.s.cfg.Store.(*store.Store)
	old, _, err := st.CreatePermalink(t.Context(), store.Permalink{
		CaseID: up.Case, View: up.Link, Title: "old", Engine: ingest.Engine - 1, Fingerprint: 1, Record: f, Preview: "counts", Counts: "3 snapshots",
		Redacted: true, Expires: time.Now().Add(30 * 24 * time.Hour),
	})
	if err != nil {
		t.Fatal(err)
	}
	page := s.get("/p/" + old.ID)
	if !strings.Contains(page.body, fmt.Sprintf("Computed by engine %d", ingest.Engine-1)) || !strings.Contains(page.body, "compute again") {
		t.Fatalf("no banner: %.2000s", page.body)
	}
	again := s.do("POST", "/p/"+old.ID+"/again", strings.NewReader(""), "Content-Type", formType)
	if again.status != 200 || !strings.Contains(again.body, "The result is frozen") {
		t.Fatalf("computing again gave %d: %.600s", again.status, again.body)
	}
	link := "/p/" + between(again.body, "/p/", `"`)
	if fresh := s.get(link); strings.Contains(fresh.body, fmt.Sprintf("Computed by engine %d", ingest.Engine-1)) || strings.Contains(fresh.body, "what engine 1 said") || !strings.Contains(fresh.body, "redacted:") {
		t.Errorf("the new page: %.2000s", fresh.body)
	}
	if after := s.get("/p/" + old.ID); after.body != page.body {
		t.Error("the old page changed")
	}
	s.run(t, []scenario{
		{name: "a result that never was", method: "POST", path: "/p/" + strings.Repeat("a", 32) + "/again", status: 404},
		{name: "how it would look is shown before it is frozen", path: "/share?look=1&view=" + strings.ReplaceAll(up.Link, "/", "%2F"), status: 200, want: []string{"Preview, not frozen yet"}, never: []string{`action="/share"`, `href="/cases`}},
	})
}
