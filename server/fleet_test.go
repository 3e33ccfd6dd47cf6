package server

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"leakdiff/server/intake"
	"leakdiff/store"
)

// nodeDump is a dump with n workers, and with a fresh goroutine from the third capture on.
func nodeDump(workers int, fresh bool) string {
	var b strings.Builder
	b.WriteString("goroutine 1 [select]:\nmain.main()\n\t/src/main.go:7 +0x1\n\n")
	for k := range workers {
		fmt.Fprintf(&b, "goroutine %d [chan receive]:\nexample.org/pool.(*Pool).work(0xc%09x)\n\t/src/pool.go:10 +0x1d\ncreated by main.main in goroutine 1\n\t/src/main.go:9 +0x1d\n\n", 10+k, 0x1000+k*64)
	}
	if fresh {
		b.WriteString("goroutine 9000 [chan receive]:\nexample.org/fresh.Run()\n\t/src/fresh.go:10 +0x1d\ncreated by main.main in goroutine 1\n\t/src/main.go:11 +0x1d\n\n")
	}
	return b.String()
}

// node uploads three captures of one program of a node as a case of its own.
func (s *site) node(name string, workers ...int) intake.Uploaded {
	s.t.Helper()
	var dumps []string
	for _, n := range workers {
		dumps = append(dumps, nodeDump(n, n > 40))
	}
	return s.captures(name, dumps)
}

// captures uploads three dumps of one program of a node as a case of its own.
func (s *site) captures(name string, dumps []string) intake.Uploaded {
	s.t.Helper()
	files := map[string]string{}
	for i, dump := range dumps {
		dir := fmt.Sprintf("%s/app/t%d/", name, i)
		at := []string{"2026-11-20T08:00:00Z", "2026-11-20T09:00:00Z", "2026-11-21T08:00:00Z"}[i]
		files[dir+"goroutines.txt"] = dump
		files[dir+"captured_at"] = at + "\n"
		files[dir+"hostname"] = name + "\n"
	}
	body, kind := form(s.t, files, nil)
	up := decode[intake.Uploaded](s.t, s.do("POST", "/api/v1/bundles?wait=1", body, "Content-Type", kind).body)
	if len(up.Snapshots) != len(dumps) {
		s.t.Fatalf("%d snapshots of %d captures", len(up.Snapshots), len(dumps))
	}
	s.waitForReport(up.Case)
	s.waitForSummary(up.Case)
	return up
}

func (s *site) waitForSummary(caseID string) {
	s.t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		c, err := s.s.cfg.Store.Case(s.t.Context(), caseID)
		if err != nil {
			s.t.Fatal(err)
		}
		if c.Verdict != "" {
			return
		}
		if time.Now().After(deadline) {
			s.t.Fatal("the case is not summed up")
		}
	}
}

// fleetAnswer is the list, as far as the tests need it.
type fleetAnswer struct {
	Sentence string
	Total    int
	New      int
	Families []struct {
		Fingerprint, Title    string
		Growth, Hosts, Series int
		New                   bool
	}
}

func TestTheFleetRanksFamiliesOverAllHosts(t *testing.T) {
	st, err := store.Open(t.Context(), store.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	s := startSite(t, st, Config{Now: func() time.Time { return time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC) }})
	s.run(t, []scenario{{name: "nothing yet", path: "/fleet", status: 200, want: []string{"Nothing was captured in the last 30 days", "by its own time", "Show all days"}}})
	for i := range 4 {
		s.node(fmt.Sprintf("node-%d", i+1), 3, 3, 3)
	}
	grown := s.node("node-5", 3, 20, 43)
	list := decode[fleetAnswer](t, s.get("/api/v1/fleet").body)
	if len(list.Families) != 3 || list.Total != 3 || list.New != 1 {
		t.Fatalf("want main, the workers and the fresh one, of which that alone is new: %+v", list)
	}
	worker := list.Families[0]
	if worker.Growth != 40 || worker.Hosts != 5 || worker.Series != 5 || worker.New {
		t.Errorf("the workers grew by 40 on 5 hosts: %+v", worker)
	}
	print := worker.Fingerprint
	s.run(t, []scenario{
		{name: "the page says what grew most", path: "/fleet", status: 200, want: []string{"grew most: +40 on 5 hosts", "Goroutines in pool.(*Pool).work grew most", "1 group is new since yesterday", "/fleet/" + print, "3", "Hosts by day", "20 Nov", "21 Nov", "node-5", `<td class="num heat-4">+17</td><td class="num heat-4">+23</td>`}, never: []string{"node-1", grown.Case}},
		{name: "by hosts another sentence", path: "/fleet?sort=hosts", status: 200, want: []string{"are on most hosts: 5"}},
		{name: "new ones alone", path: "/fleet?new=1", status: 200, want: []string{"fresh"}, never: []string{print}},
		{name: "words alone", path: "/fleet?q=fresh", status: 200, want: []string{"Run"}, never: []string{print}},
		{name: "what is searched for is escaped", path: "/fleet?q=%3Cscript%3Ealert", status: 200, want: []string{"No group fits"}, never: []string{"<script>alert"}},
		{name: "words that nothing has, in all days", path: "/fleet?q=nowhere", status: 200, want: []string{"Show all days", "days=3650"}},
		{name: "another kind has none", path: "/fleet?kind=thread", status: 200, want: []string{"No group fits"}, never: []string{print}},
		{name: "a kind that there is not", path: "/fleet?kind=socket", status: 400, want: []string{"there is no such kind"}},
		{name: "an order that there is not", path: "/api/v1/fleet?sort=name", status: 400, want: []string{"by growth or by hosts"}},
		{name: "days that are none", path: "/fleet/" + print + "?days=0", status: 400, want: []string{"a number from 1 to 3650"}},
		{name: "one family names the host that differs", path: "/fleet/" + print, status: 200, want: []string{"grew by 40 on 5 hosts", "node-5 differs:", "node-1", grown.Case, "Hosts by growth", "No capture says which version"}},
		{name: "and as data", path: "/api/v1/fleet/" + print, status: 200, want: []string{`"growth": 40`, `node-5 differs:`, `"host": "node-5"`, `"versions": []`}},
		{name: "a family on one host has no odd one", path: "/api/v1/fleet/" + list.Families[2].Fingerprint, status: 200, want: []string{`"odd": null`}},
		{name: "the list as words", path: "/fleet.md", status: 200, want: []string{"grew most: +40 on 5 hosts", "+40", "Groups over all hosts"}, never: []string{"<", "checkbox"}},
		{name: "and as figures", path: "/fleet.csv?new=1", status: 200, want: []string{"kind,family,fingerprint,growth,hosts,", "goroutine,", ",0,1,0,1,2026-11-21T08:00:00Z,2026-11-21T08:00:00Z,true"}, never: []string{print}},
		{name: "one family as words", path: "/fleet/" + print + ".txt", status: 200, want: []string{"grew by 40 on 5 hosts", "node-5"}},
		{name: "and as figures", path: "/fleet/" + print + ".csv", status: 200, want: []string{"host,process,growth,hours,", "node-5,,40,24,43,"}},
		{name: "a host and its process stand apart", path: "/fleet/" + print + ".md", status: 200, want: []string{"| node-5 unnamed process |"}},
		{name: "the list is not redacted, so it is refused", path: "/fleet.md?redact=1", status: 400, want: []string{"the fleet is not redacted", "/fleet.md", "leave redact=1 out"}, never: []string{"grew most"}},
		{name: "nor are the hosts of a family", path: "/fleet/" + print + ".csv?redact=1", status: 400, want: []string{"the fleet is not redacted"}, never: []string{"node-5"}},
		{name: "a twin that there is not", path: "/fleet/" + print + ".svg", status: 404, want: []string{"this page has no twin .svg", ".csv"}},
		{name: "a family of nobody", path: "/fleet/g1:none", status: 404, want: []string{"no host shows this family"}},
	})
	if r := s.do("DELETE", "/api/v1/cases/"+grown.Case, nil); r.status != 204 {
		t.Fatalf("deleting gave %d", r.status)
	}
	s.run(t, []scenario{
		{name: "a deleted case counts no more", path: "/api/v1/fleet", status: 200, want: []string{`"growth": 0`, `"hosts": 4`, `"new": 0`}, never: []string{"fresh", `"growth": 40`, `"hosts": 5`}},
		{name: "nor is its host named", path: "/fleet/" + print, status: 200, want: []string{"node-1"}, never: []string{"node-5", grown.Case}},
	})
}

// sessionDump is a dump with n sessions of two goroutines each.
func sessionDump(n int) string {
	var b strings.Builder
	b.WriteString("goroutine 1 [select]:\nmain.main()\n\t/src/main.go:7 +0x1\n\n")
	for k := range n {
		for i, method := range []string{"read", "write"} {
			fmt.Fprintf(&b, "goroutine %d [chan receive]:\nexample.org/pool.(*Session).%s(0xc%09x)\n\t/src/session.go:%d +0x1d\ncreated by example.org/pool.Open in goroutine 1\n\t/src/session.go:9 +0x1d\n\n", 10+2*k+i, method, 0x1000+k*64, 20+10*i)
		}
	}
	return b.String()
}

func TestTheFleetRanksTypesOfObjectsApartFromFamilies(t *testing.T) {
	st, err := store.Open(t.Context(), store.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	s := startSite(t, st, Config{Now: func() time.Time { return time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC) }})
	for i := range 4 {
		s.captures(fmt.Sprintf("node-%d", i+1), []string{sessionDump(3), sessionDump(3), sessionDump(3)})
	}
	grown := s.captures("node-5", []string{sessionDump(3), sessionDump(20), sessionDump(43)})
	list := decode[fleetAnswer](t, s.get("/api/v1/fleet?kind=object").body)
	if len(list.Families) != 1 || list.Total != 1 || list.Families[0].Growth != 40 || list.Families[0].Hosts != 5 || list.Families[0].Title != "*pool.Session" {
		t.Fatalf("want the sessions, which grew by 40 on 5 hosts: %+v", list)
	}
	print := list.Families[0].Fingerprint
	objects := "/objects/" + print + "?case=" + grown.Case + "&series=node-5%2F"
	s.run(t, []scenario{
		{name: "families alone without the kind", path: "/fleet", status: 200, want: []string{"pool.(*Session).read", "object types"}, never: []string{print}},
		{name: "the page says what grew most", path: "/fleet?kind=object", status: 200, want: []string{"pool.Session objects grew most: +40 on 5 hosts", "No object type is new since yesterday", "Object types over all hosts", "objects of example.org/pool.(*Session)", "/fleet/" + print}},
		{name: "words", path: "/fleet?kind=object&q=example.org", status: 200, want: []string{print}},
		{name: "words of nothing", path: "/fleet?kind=object&q=nowhere", status: 200, want: []string{"No object type fits", "shows such object types"}},
		{name: "as figures", path: "/fleet.csv?kind=object", status: 200, want: []string{"object,", "*pool.Session," + print + ",40,5,"}},
		{name: "as data", path: "/api/v1/fleet?kind=object", status: 200, want: []string{`"kind": "object"`, `"type": "example.org/pool.(*Session)"`}},
		{name: "a family has no type", path: "/api/v1/fleet", status: 200, want: []string{`"type": null`}, never: []string{`"kind": "object"`}},
		{name: "one type names the host that differs and leads to its objects", path: "/fleet/" + print, status: 200, want: []string{"grew by 40 on 5 hosts", "node-5 differs: suspicious there, stable on the other 4 hosts", "In full example.org/pool.(*Session).", strings.ReplaceAll(objects, "&", "&amp;"), "One object type"}},
		{name: "and as data", path: "/api/v1/fleet/" + print, status: 200, want: []string{`"kind": "object"`, `"type": "example.org/pool.(*Session)"`, `"verdict": "suspicious"`, `"verdict": "stable"`}},
		{name: "without a case they lead nowhere", path: "/objects/" + print, status: 400, want: []string{"the address names no case"}},
		{name: "a search finds families alone", path: "/search?q=pool.Session", status: 200, never: []string{print}},
		{name: "its page as a family is none", path: "/families/" + print, status: 404},
	})
	for from, to := range map[string]string{
		objects: "/objects/o1?case=" + grown.Case + "&series=node-5%2F",
		"/objects/" + print + "?case=" + grown.Case + "&series=renamed%2F": "/objects/o1?case=" + grown.Case + "&series=node-5%2F",
		"/objects/o1:none?case=" + grown.Case:                              "/cases/" + grown.Case,
	} {
		if r := s.do("GET", from, nil); r.status != 303 || r.header.Get("Location") != to {
			t.Errorf("%s leads with %d to %q", from, r.status, r.header.Get("Location"))
		}
	}
	if r := s.do("DELETE", "/api/v1/cases/"+grown.Case, nil); r.status != 204 {
		t.Fatalf("deleting gave %d", r.status)
	}
	s.run(t, []scenario{{name: "a deleted case counts no more", path: "/api/v1/fleet?kind=object", status: 200, want: []string{`"growth": 0`, `"hosts": 4`}}})
}
