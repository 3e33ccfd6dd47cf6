package server

import (
	"net/url"
	"strings"
	"testing"

	"leakdiff/store"
)

func TestAFileIsReadAsAPersonSays(t *testing.T) {
	s := newSite(t)
	up := s.put("tiny.txt", []byte(tinyDump))
	page, api := "/bundles/"+up.ID, "/api/v1/bundles/"+up.ID+"/kinds"
	body := `{"path":"tiny.txt","kind":"ignore"}`
	// again waits until a change has been read.
	again := func(t *testing.T) store.Bundle {
		t.Helper()
		for {
			b, err := s.s.cfg.Store.Bundle(t.Context(), up.ID)
			if err != nil {
				t.Fatal(err)
			}
			if b.Status == store.Done {
				return b
			}
		}
	}
	form := func(kind string) reply {
		return s.do("POST", page+"/kind", strings.NewReader(postForm("path", url.QueryEscape("tiny.txt"), "kind", kind)), "Content-Type", formType)
	}
	s.run(t, []scenario{
		{name: "the inventory leads to the choice", path: page, status: 200, want: []string{`href="?as=1#as"`, "goroutine-debug2"}, never: []string{`id="as"`}},
		{name: "the choice lists kinds and says what was recognised", path: page + "?as=1", status: 200, want: []string{`id="as"`, `value="thread-dump"`, `value="ignore"`, "as it is recognised"}, never: []string{`value="manifest"`}},
		{name: "a file that is not there has none", path: page + "?as=2", status: 200, never: []string{`id="as"`}},
		{name: "an unknown kind", method: "PUT", path: api, body: `{"path":"tiny.txt","kind":"heap"}`, status: 400, want: []string{"heap", "goroutine-debug2", "ignore"}},
		{name: "an unknown file", method: "PUT", path: api, body: `{"path":"big.txt","kind":"ignore"}`, status: 404, want: []string{"big.txt"}},
		{name: "an unknown member", method: "PUT", path: api, body: `{"file":"tiny.txt"}`, status: 400, want: []string{"file"}},
		{name: "an unknown bundle", method: "PUT", path: "/api/v1/bundles/bnone/kinds", body: body, status: 404},
	})
	if again(t).Snapshots != 1 {
		t.Fatal("what was refused was done")
	}

	if r := s.do("PUT", api, strings.NewReader(body)); r.status != 202 || r.header.Get("Location") != "/api/v1/bundles/"+up.ID {
		t.Fatalf("%d to %q: %s", r.status, r.header.Get("Location"), r.body)
	}
	if n := again(t).Snapshots; n != 0 {
		t.Errorf("%d snapshots of a file that is to be ignored", n)
	}
	s.run(t, []scenario{
		{name: "the inventory says who chose and what it would be", path: page, status: 200, want: []string{"chosen by a person", "by its content it is goroutine-debug2"}},
		{name: "and the form holds the choice", path: page + "?as=1", status: 200, want: []string{`value="ignore" selected`}},
	})

	if r := form("lsof"); r.status != 303 || r.header.Get("Location") != page {
		t.Errorf("%d to %q", r.status, r.header.Get("Location"))
	}
	if b := again(t); b.Snapshots != 0 || b.Problems == 0 {
		t.Errorf("a dump read as lsof output gives %d snapshots and %d problems", b.Snapshots, b.Problems)
	}
	if r := form(""); r.status != 303 {
		t.Errorf("%d", r.status)
	}
	if n := again(t).Snapshots; n != 1 {
		t.Errorf("%d snapshots after the choice was taken back", n)
	}
	s.run(t, []scenario{{name: "nothing is left of the choice", path: page, status: 200, never: []string{"chosen by a person"}}})
}

func TestOnlyTheOwnerSaysAsWhatAFileIsRead(t *testing.T) {
	s := startSite(t, openStore(t), Config{Listen: "0.0.0.0:8080"})
	up := s.put("tiny.txt", []byte(tinyDump))
	for key, want := range map[string]int{"": 403, "wrong": 403, up.OwnerKey: 202} {
		r := s.do("PUT", "/api/v1/bundles/"+up.ID+"/kinds", strings.NewReader(`{"path":"tiny.txt","kind":"ignore"}`), "Authorization", "Bearer "+key)
		if r.status != want {
			t.Errorf("%q: %d, want %d: %s", key, r.status, want, r.body)
		}
	}
}
