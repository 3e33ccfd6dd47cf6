package server

import (
	"archive/tar"
	"bytes"
	"fmt"
	"testing"
	"time"

	"leakdiff/server/intake"
)

// followed uploads four captures of a process: goroutine 7, which goroutine 1 started, comes at t1, moves at
// t2 and starts goroutine 8 there, and is gone at t3.
func (s *site) followed(t *testing.T) intake.Uploaded {
	t.Helper()
	const one = "goroutine 1 [chan receive]:\nmain.main()\n\t/src/app/main.go:10 +0x1d\n"
	const eight = "\ngoroutine 8 [sleep]:\nmain.tick()\n\t/src/app/tick.go:9 +0x1d\ncreated by main.(*Job).send in goroutine 7\n\t/src/app/job.go:70 +0x5a\n"
	seven := func(state, function string, line int) string {
		return fmt.Sprintf("\ngoroutine 7 [%s]:\nmain.(*Job).%s(0xc000200000)\n\t/src/app/job.go:%d +0x1d\ncreated by main.start in goroutine 1\n\t/src/app/job.go:22 +0x5a\n", state, function, line)
	}
	var archive bytes.Buffer
	tw := tar.NewWriter(&archive)
	add := func(name, text string) {
		if err := tw.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(text)), ModTime: time.Unix(0, 0)}); err != nil {
			t.Fatal(err)
		}
		tw.Write([]byte(text))
	}
	for i, more := range []string{"", seven("select", "run", 51), seven("chan send, 5 minutes", "send", 77) + eight, eight} {
		add(fmt.Sprintf("t%d/captured_at", i), fmt.Sprintf("2026-05-21T03:%02d:00Z\n", 10*i))
		add(fmt.Sprintf("t%d/app/goroutine-debug2.txt", i), one+more)
	}
	tw.Close()
	return s.put("followed.tar", archive.Bytes())
}

func TestAMemberHasAPageThroughItsCaptures(t *testing.T) {
	s := newSite(t)
	up := s.followed(t)
	in := "?case=" + up.Case
	s.run(t, []scenario{
		{name: "the page", path: "/members/goroutine:7" + in, status: 200, want: []string{
			"goroutine 7 of app", "There in 2 of 4 captures, the last one t2.", "job.go:51", "job.go:77", "chan send", "not there", "/snapshots/" + up.Snapshots[0].ID,
			"Who started it", "main.start job.go:22", "/members/goroutine:1?case=" + up.Case, "It started", "/members/goroutine:8?case=" + up.Case, "/families/g1:",
		}},
		{name: "a number alone", path: "/members/7" + in, status: 200, want: []string{"goroutine 7 of app"}},
		{name: "of a series", path: "/members/goroutine:7" + in + "&series=%2Fapp", status: 200, want: []string{"There in 2 of 4 captures"}},
		{name: "its parent's page", path: "/members/goroutine:1" + in, status: 200, want: []string{"There in 4 of 4 captures.", "It started", "/members/goroutine:7?"}, never: []string{"Who started it"}},
		{name: "its Markdown", path: "/members/goroutine:7.md" + in, status: 200, want: []string{"goroutine 7 of app", "Job).send job.go:77 | chan send"}, never: []string{"/families/"}},
		{name: "its text", path: "/members/goroutine:7.txt" + in, status: 200, want: []string{"main.(*Job).run job.go:51", "goroutine 8"}},
		{name: "its JSON", path: "/members/goroutine:7.json" + in, status: 200, want: []string{`"schema": "leakdiff.follow/1"`, `"started_total": 1`, `"wait_minutes": 5`}},
		{name: "its CSV", path: "/members/goroutine:7.csv" + in, status: 200, want: []string{"app,goroutine,7,t2,2026-05-21T03:20:00Z,true,main.(*Job).send job.go:77,"}},
		{name: "its file", path: "/members/goroutine:7.html" + in, status: 200, want: []string{"goroutine 7 of app"}, never: []string{`href="/members`, `href="/families`, `href="/snapshots`}},
		{name: "a number that nobody has", path: "/members/goroutine:9" + in, status: 404, want: []string{"no capture of the case has such a member"}},
		{name: "no thread has it", path: "/members/thread:7" + in, status: 404},
		{name: "no member", path: "/members/somebody" + in, status: 400, want: []string{"the address names no member", "goroutine:42"}},
		{name: "an unknown series", path: "/members/goroutine:7" + in + "&series=%2Fother", status: 404},
		{name: "an unknown case", path: "/members/goroutine:7?case=cnone", status: 404},
		{name: "no case", path: "/members/goroutine:7", status: 400, want: []string{"the address names no case"}},
	})
}
