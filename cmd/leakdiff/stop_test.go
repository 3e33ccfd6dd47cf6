package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"leakdiff/samples/corpus"
)

// answerOf reads the answer of an upload over a connection of its own; a cut connection is
// an error.
func answerOf(conn net.Conn) (answered, error) {
	if err := conn.SetReadDeadline(time.Now().Add(stopLimit)); err != nil {
		return answered{}, err
	}
	// The first line of 100 Continue was read by halfUpload.
	if _, err := io.ReadFull(conn, make([]byte, len("\r\n\r\n"))); err != nil {
		return answered{}, err
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return answered{}, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return answered{res.StatusCode, string(body)}, err
}

// TestAStopAnswersTheUploadsInFlight sends SIGTERM while one upload hangs in its middle,
// one arrives to its end afterwards, and one waits for its result.
func TestAStopAnswersTheUploadsInFlight(t *testing.T) {
	corpus.Heavy(t)
	dir := t.TempDir()
	s := serve(t, dir, "--no-samples")
	hanging := halfUpload(t, s)
	defer hanging.Close()
	late := halfUpload(t, s)
	defer late.Close()
	var dump bytes.Buffer
	if err := generatedDump(&dump, 7, 120_000, 6); err != nil {
		t.Fatal(err)
	}
	waits := make(chan answered, 1)
	go func() {
		a, err := s.request(http.MethodPut, "/api/v1/bundles/large.txt?wait=1", &dump)
		if err != nil {
			t.Errorf("the upload that waits for its result was cut: %v", err)
		}
		waits <- a
	}()
	waitFor(t, "the large upload to be read", func() bool { return strings.Contains(s.get("/metrics"), "\nleakdiff_ingest_running 1") })
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the server to take no more connections", func() bool {
		conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
		if err == nil {
			conn.Close()
		}
		return err != nil
	})
	half := bytes.Repeat([]byte("goroutine 9 [select]:\nmain.half()\n\t/src/half.go:1 +0x1\n\n"), 8000)
	if _, err := late.Write(half[len(half)/2:]); err != nil {
		t.Fatal(err)
	}
	acknowledged := map[string]string{}
	if a, err := answerOf(late); err != nil || a.status != http.StatusCreated {
		t.Errorf("the upload that arrived gave %d, %v: %s", a.status, err, a.body)
	} else {
		acknowledged[decode[upload](t, a.body).Case] = "half"
	}
	if a, err := answerOf(hanging); err != nil || a.status != http.StatusServiceUnavailable || !strings.Contains(a.body, "being stopped") {
		t.Errorf("the upload that hangs gave %d, %v: %s", a.status, err, a.body)
	}
	if a := <-waits; a.status != http.StatusAccepted && a.status != http.StatusCreated {
		t.Errorf("the upload that waits for its result gave %d: %s", a.status, a.body)
	} else {
		acknowledged[decode[upload](t, a.body).Case] = "large"
	}
	<-s.done
	if status := s.cmd.ProcessState.ExitCode(); status != exitDone {
		t.Errorf("status %d: %s", status, s.stderr)
	}
	s = serve(t, dir, "--no-samples")
	drain(t, s)
	for id, title := range acknowledged {
		if page := s.get("/cases/" + id + ".json"); !strings.Contains(page, `"snapshots"`) || strings.Contains(page, `"snapshots": []`) {
			t.Errorf("%s was acknowledged and is not read: %.300s", title, page)
		}
	}
	s.stop()
	checked(t, dir)
}

// TestTheLogHoldsNoSecret plants secrets wherever a sender can write, and searches the log
// of a server that logs every request.
func TestTheLogHoldsNoSecret(t *testing.T) {
	const secret = "hunter2-s3cr3t"
	dir := t.TempDir()
	s := serve(t, dir, "--no-samples", "--verbose")
	dump := fmt.Sprintf("goroutine 1 [running]:\nmain.%s()\n\t/home/%s/main.go:1 +0x1\n", strings.ReplaceAll(secret, "-", "_"), secret)
	header := []string{"User-Agent", secret, "Referer", "http://127.0.0.1/" + secret, "Idempotency-Key", secret, "Cookie", "a=" + secret, "Authorization", "Bearer " + secret}
	var cases []upload
	for _, body := range []string{dump, "\x1f\x8b" + secret, "PK\x03\x04" + secret, "{" + secret, strings.Repeat(secret+"\n", 2000)} {
		a, err := s.request(http.MethodPut, "/api/v1/bundles/"+secret+".txt?wait=1&token="+secret, strings.NewReader(body), append(header, "Idempotency-Key", secret+fmt.Sprint(len(body)))...)
		if err != nil || a.status != http.StatusCreated {
			t.Fatalf("%d, %v: %s", a.status, err, a.body)
		}
		cases = append(cases, decode[upload](t, a.body))
	}
	if a, err := s.request(http.MethodGet, "/search?q="+secret, nil, append(header, "X-Forwarded-For", secret)...); err != nil || a.status != http.StatusUnauthorized {
		t.Errorf("a request that a proxy passed on gave %d, %v", a.status, err)
	}
	for _, path := range []string{
		"/search?q=" + secret, "/cases/" + secret, "/p/" + secret, "/families/" + secret, "/bundles/" + secret + "/files/" + secret, "/diff/" + secret + ".." + secret,
		"/knowledge?q=" + secret, "/x/" + secret + "/top", "/raw/" + secret + "?path=" + secret, "/api/v1/search?q=" + secret, "/" + secret, "/cases/" + cases[0].Case + "?q=" + secret,
	} {
		if _, err := s.request(http.MethodGet, path, nil, header...); err != nil {
			t.Fatal(err)
		}
	}
	for _, form := range []struct{ method, path, body, kind string }{
		{http.MethodPost, "/cases/" + cases[0].Case + "/fields", "field=title&value=" + secret, "application/x-www-form-urlencoded"},
		{http.MethodPost, "/cases/" + cases[0].Case + "/triage", "note=" + secret + "&key=" + secret, "application/x-www-form-urlencoded"},
		{http.MethodPost, "/share", "case=" + secret + "&view=" + secret, "application/x-www-form-urlencoded"},
		{http.MethodPost, "/api/v1/permalinks", `{"case": "` + cases[0].Case + `", "view": "/cases/` + cases[0].Case + `?q=` + secret + `", "redact": true}`, "application/json"},
		{http.MethodPost, "/api/v1/permalinks", `{"` + secret, "application/json"},
		{http.MethodPatch, "/api/v1/cases/" + cases[0].Case, `{"title": "` + secret + `"}`, "application/json"},
		{http.MethodPost, "/upload?key=" + secret, secret, "multipart/form-data; boundary=" + secret},
		{http.MethodDelete, "/api/v1/cases/" + secret, "", ""},
	} {
		if _, err := s.request(form.method, form.path, strings.NewReader(form.body), append(header, "Content-Type", form.kind)...); err != nil {
			t.Fatal(err)
		}
	}
	if a, err := s.request(http.MethodDelete, "/api/v1/cases/"+cases[1].Case, nil, "User-Agent", secret); err != nil || a.status != http.StatusNoContent {
		t.Errorf("deleting gave %d, %v: %s", a.status, err, a.body)
	}
	s.stop()
	log := s.stderr.String() + s.stdout.String()
	for line := range strings.Lines(log) {
		if strings.Contains(line, secret) || strings.Contains(line, strings.ReplaceAll(secret, "-", "_")) {
			t.Errorf("the log says %s", line)
		}
	}
	if n := strings.Count(log, "msg=request"); n < 25 {
		t.Errorf("it logs %d requests: the search proves little", n)
	}
	for _, want := range []string{`msg="case deleted"`, "case=" + cases[1].Case, "remote=127.0.0.1:", "allowed_by="} {
		if !strings.Contains(log, want) {
			t.Errorf("the log lacks %s", want)
		}
	}
}
