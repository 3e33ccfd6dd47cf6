package server

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"leakdiff/analysis/say/report"
)

// localLink is an address of this server in a page.
var localLink = regexp.MustCompile(`<a [^>]*href="(/[^"#]*)`)

// Every address on a comparison of two cases names both.
func TestNoLinkOfAComparisonOfTwoCasesLeadsNowhere(t *testing.T) {
	s := newSite(t)
	here, there := s.untimed(t, 3, 13), s.put("other.txt", []byte(strings.ReplaceAll(stacks(4), "basket", "pool")))
	pair := "/diff/" + there.Snapshots[0].ID + ".." + here.Snapshots[1].ID
	cases := "?case=" + here.Case + "&acase=" + there.Case
	for _, address := range []string{
		pair + cases, pair + "/flame" + cases,
		"/compare?case=" + here.Case + "&s=" + url.QueryEscape(there.Case+"/"+there.Snapshots[0].ID) + "&s=" + here.Snapshots[1].ID,
	} {
		page := s.get(address)
		if page.status != 200 {
			t.Fatalf("%s: %d", address, page.status)
		}
		found := localLink.FindAllStringSubmatch(page.body, -1)
		if len(found) < 12 {
			t.Errorf("%s has %d links, too few to be the page", address, len(found))
		}
		seen := map[string]bool{}
		for _, m := range found {
			to := html.UnescapeString(m[1])
			if seen[to] {
				continue
			}
			seen[to] = true
			if r := s.get(to); r.status != 200 {
				t.Errorf("%s leads to %s: %d", address, to, r.status)
			}
		}
	}
}

func TestACaseWithoutSnapshotsIsComparedWithNothing(t *testing.T) {
	s := newSite(t)
	empty, other := s.put("notes.txt", []byte("nothing to see here\n")), s.untimed(t, 3)
	s.run(t, []scenario{
		{name: "to a snapshot of another case", path: "/compare?case=" + empty.Case + "&s=" + url.QueryEscape(other.Case+"/"+other.Snapshots[0].ID), status: 404, want: []string{"no snapshot to compare"}},
		{name: "to itself", path: "/compare?case=" + empty.Case, status: 404, want: []string{"no snapshot to compare"}},
	})
}

// A snapshot of the case itself may be named in the form for other cases.
func TestAnOwnSnapshotNamedLikeAForeignOneIsOwn(t *testing.T) {
	s := newSite(t)
	up := s.untimed(t, 3, 13)
	address := "/compare.json?case=" + up.Case
	plain := s.get(address + "&s=" + up.Snapshots[0].ID + "&s=" + up.Snapshots[1].ID)
	named := s.get(address + "&s=" + url.QueryEscape(up.Case+"/"+up.Snapshots[0].ID) + "&s=" + url.QueryEscape(up.Case+"/"+up.Snapshots[1].ID))
	if plain.status != 200 || plain.body != named.body {
		t.Errorf("%d: %.500s\nand by its case %d: %.500s", plain.status, plain.body, named.status, named.body)
	}
}

// A mark that is set again has a new time and replaces another one.
func TestAMarkThatReturnsIsShownWithItsNewTime(t *testing.T) {
	s := newSite(t)
	up := s.untimed(t, 3, 13, 23, 33)
	fp := decode[report.Report](t, s.get("/api/v1/cases/"+up.Case).body).Series[0].Families[0].Fingerprint
	page := "/families/" + url.PathEscape(fp) + "?case=" + up.Case
	mark := func(state, note string) {
		r := s.do("PUT", "/api/v1/cases/"+up.Case+"/triage", strings.NewReader(fmt.Sprintf(`{"process":%q,"fingerprint":%q,"state":%q,"note":%q}`, up.Snapshots[0].Process, fp, state, note)))
		if r.status != 200 {
			t.Fatalf("%d: %s", r.status, r.body)
		}
	}
	mark("reviewed", "one")
	before := s.get(page).body
	mark("suspicious", "two")
	s.get(page)
	mark("reviewed", "one")
	if after := s.get(page).body; after == before || !strings.Contains(after, "suspicious: two") {
		t.Error("the page is the one from before")
	}
}

func TestAddingToACaseNeedsItsKeyByEveryWay(t *testing.T) {
	s := startSite(t, openStore(t), Config{Listen: "0.0.0.0:8080"})
	body, kind := form(t, map[string]string{"t0.txt": tinyDump}, nil)
	first := s.do("POST", "/upload", body, "Content-Type", kind)
	key := between(first.body, `id="kept-key" readonly value="`, `"`)
	if first.status != 200 || len(key) < 20 || first.header.Get("Cache-Control") != "no-store" {
		t.Fatalf("%d: the key of the new case is not shown: %.1000s", first.status, first.body)
	}
	id := between(first.body, `id="kept-open" href="/cases/`, `"`)
	if page := s.get("/cases/" + id); page.status != 200 {
		t.Fatalf("the way to the answer has status %d", page.status)
	}
	for _, tc := range []struct {
		name, key string
		want      int
	}{{"without a key", "", http.StatusForbidden}, {"with a wrong one", "guess", http.StatusForbidden}, {"with its own", key, http.StatusSeeOther}} {
		fields := map[string]string{}
		if tc.key != "" {
			fields["key"] = tc.key
		}
		body, kind := form(t, map[string]string{"t1.txt": tinyDump + "\n"}, fields)
		if r := s.do("POST", "/upload?case="+id, body, "Content-Type", kind); r.status != tc.want {
			t.Errorf("%s: %d, want %d: %.300s", tc.name, r.status, tc.want, r.body)
		}
	}
	s.run(t, []scenario{
		{name: "the case asks for it", path: "/cases/" + id, status: 200, want: []string{`id="key-add"`}, never: []string{key}},
		{name: "the start page has a place for a new one", path: "/", status: 200, want: []string{`id="kept"`}},
	})
}
