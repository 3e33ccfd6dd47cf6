package server

import (
	"archive/tar"
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"leakdiff/analysis/say/report"
	"leakdiff/server/intake"
	"leakdiff/server/share"
)

// connDump prints a program with connections of two goroutines each, which show one
// address. Those from first to last are open.
func connDump(first, last int) string {
	var b strings.Builder
	b.WriteString("goroutine 1 [chan receive]:\nmain.main()\n\t/src/app/main.go:9 +0x1d\n\n")
	for i := first; i < last; i++ {
		for k, method := range []string{"read", "write"} {
			fmt.Fprintf(&b, "goroutine %d [select]:\nexample.org/app/wire.(*Conn).%s(0xc0000%d)\n\t/src/app/wire/conn.go:%d +0x1d\ncreated by main.dial in goroutine 1\n\t/src/app/main.go:%d +0x1d\n\n",
				100+2*i+k, method, 10000+32*i, 41+k, 20+k)
		}
	}
	return b.String()
}

// growing are the open connections of dumps that show a leak.
var growing = [][2]int{{0, 6}, {0, 12}, {1, 18}, {1, 24}}

// conns uploads dumps of a program with connections, ten minutes apart.
func (s *site) conns(t *testing.T, dumps [][2]int) intake.Uploaded {
	t.Helper()
	var archive bytes.Buffer
	tw := tar.NewWriter(&archive)
	add := func(name, text string) {
		if err := tw.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(text))}); err != nil {
			t.Fatal(err)
		}
		tw.Write([]byte(text))
	}
	for i, open := range dumps {
		add(fmt.Sprintf("t%d/captured_at", i), time.Date(2026, 11, 21, 3, 10*i, 0, 0, time.UTC).Format(time.RFC3339)+"\n")
		add(fmt.Sprintf("t%d/wired/goroutine-debug2.txt", i), connDump(open[0], open[1]))
	}
	tw.Close()
	return s.put("wired.tar", archive.Bytes())
}

func TestAKindOfObjectsHasAPage(t *testing.T) {
	s := newSite(t)
	up := s.conns(t, growing)
	in := "?case=" + up.Case
	const address = "0xc0000"
	s.run(t, []scenario{
		{name: "the case lists them", path: up.Link, status: 200, want: []string{`id="h-o"`, "2 goroutines", "/objects/o1?case=" + up.Case}, never: []string{address}},
		{name: "the page", path: "/objects/o1" + in, status: 200, want: []string{"*wire.", "6 to 23", "conn.go:41", "created by", "/raw/", "/families/g1:"}, never: []string{address}},
		{name: "of a series", path: "/objects/o1" + in + "&series=%2Fwired", status: 200, want: []string{"*wire."}},
		{name: "at a snapshot", path: "/objects/o1" + in + "&at=" + up.Snapshots[0].ID, status: 200, want: []string{"Objects at t0", "All 6,"}},
		{name: "its Markdown", path: "/objects/o1.md" + in, status: 200, want: []string{"| t3 | 23 | 6 | 0 |", "wire.(*Conn).read  conn.go:41"}, never: []string{address}},
		{name: "its text", path: "/objects/o1.txt" + in, status: 200, want: []string{"*wire.Conn"}, never: []string{address}},
		{name: "its Jira markup", path: "/objects/o1.jira" + in, status: 200, want: []string{"h1."}, never: []string{address}},
		{name: "its JSON", path: "/objects/o1.json" + in, status: 200, want: []string{`"members_total": 23`, `"root": `, `"lifelines_total": 24`}, never: []string{address, "anchor"}},
		{name: "its CSV", path: "/objects/o1.csv" + in, status: 200, want: []string{"*wire.Conn,t3,"}, never: []string{address}},
		{name: "its file", path: "/objects/o1.html" + in, status: 200, want: []string{"*wire."}, never: []string{address, `href="/families`, `href="/raw`}},
		{name: "its shape as a drawing", path: "/objects/o1.svg" + in + "&chart=shape", status: 200, want: []string{"<svg", "Conn"}},
		{name: "an unknown id", path: "/objects/o99" + in, status: 404, want: []string{"there are no such objects"}},
		{name: "at an unknown snapshot", path: "/objects/o1" + in + "&at=snone", status: 404, want: []string{"the case has no such snapshot", "snone", "leave “at” out of the address"}},
		{name: "its JSON at an unknown snapshot", path: "/objects/o1.json" + in + "&at=snone", status: 404, want: []string{"the case has no such snapshot"}},
		{name: "an unknown series", path: "/objects/o1" + in + "&series=%2Fother", status: 404},
		{name: "an unknown case", path: "/objects/o1?case=cnone", status: 404},
		{name: "no case", path: "/objects/o1", status: 400, want: []string{"the address names no case"}},
		{name: "no profile", path: "/objects/o1.folded" + in, status: 404},
	})
	m := decode[report.ObjectMembership](t, s.get("/objects/o1.json"+in).body)
	if len(m.Members) != 23 || len(m.Stacks) != 2 || m.Stacks[0].Of != 23 || len(m.Members[0].Parts) != 2 || m.Members[0].Parts[0].Line == 0 || m.Members[0].Parts[1].Role == "" {
		t.Errorf("%d members, stacks %+v, first %+v", len(m.Members), m.Stacks, m.Members[0])
	}
	last := 0
	for _, l := range m.Lifelines {
		if l.Last == 1 {
			last++
		}
	}
	if last != 1 {
		t.Errorf("%d objects were last seen at t1, want 1", last)
	}
}

func TestObjectsThatEndedAreShownBeforeTheirEnd(t *testing.T) {
	s := newSite(t)
	up := s.conns(t, [][2]int{{0, 4}, {0, 12}, {0, 20}, {0, 28}, {0, 36}, {0, 44}, {40, 44}})
	s.run(t, []scenario{
		{name: "by itself", path: "/objects/o1?case=" + up.Case, status: 200, want: []string{"Objects at t5", "blue band: recovery"}},
		{name: "asked for", path: "/objects/o1?case=" + up.Case + "&at=" + up.Snapshots[6].ID, status: 200, want: []string{"Objects at t6", "All 4,"}},
	})
	again := s.conns(t, [][2]int{{0, 4}, {0, 12}, {0, 20}, {0, 28}, {0, 36}, {0, 44}, {0, 4}})
	s.run(t, []scenario{
		{name: "a restart is no end", path: "/objects/o1?case=" + again.Case, status: 200, want: []string{"4 to 44, restarted with 4 objects", "dashed: restart"}, never: []string{"back to 4"}},
		{name: "nor on the case page", path: again.Link, status: 200, want: []string{"4 to 44, restarted with 4"}, never: []string{"back to 4"}},
	})
}

func TestObjectsAreFrozen(t *testing.T) {
	s := newSite(t)
	up := s.conns(t, growing)
	r := s.do("POST", "/api/v1/permalinks", strings.NewReader(fmt.Sprintf(`{"case":%q,"view":"/objects/o1?case=%s","preview":"counts"}`, up.Case, up.Case)))
	if r.status != 201 {
		t.Fatalf("freezing gave %d: %s", r.status, r.body)
	}
	made := decode[share.Result](t, r.body)
	live := decode[report.ObjectMembership](t, s.get("/objects/o1.json?case="+up.Case).body)
	s.do("DELETE", "/api/v1/cases/"+up.Case+"?permalinks=keep", nil)
	never := []string{"0xc0000", `href="/families`, `href="/raw`, `href="/objects`, `href="/cases`}
	s.run(t, []scenario{
		{name: "the page", path: made.Link, status: 200, want: []string{"*wire.", "6 to 23", "conn.go:41", "Frozen objects"}, never: never},
		{name: "its Markdown", path: made.Link + ".md", status: 200, want: []string{"wire.(*Conn).read  conn.go:41"}, never: never},
		{name: "its JSON", path: made.Link + ".json", status: 200, want: []string{fmt.Sprintf(`"members_total":%d`, live.MembersTotal), "wire.(*Conn)"}, never: never},
		{name: "its CSV", path: made.Link + ".csv", status: 200, want: []string{"*wire.Conn,t3,"}, never: never},
		{name: "its drawing", path: made.Link + ".svg", status: 200, want: []string{"<svg"}, never: never},
	})
}
