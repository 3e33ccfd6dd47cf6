package server

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// inPieces sends the beginning of an upload; the rest follows where the pipe is written to.
func (s *site) inPieces(path, beginning string, header ...string) (rest *io.PipeWriter, answer chan reply) {
	s.t.Helper()
	body, rest := io.Pipe()
	answer = make(chan reply, 1)
	go func() { answer <- s.do("PUT", path, body, header...) }()
	io.WriteString(rest, beginning)
	return rest, answer
}

func TestUploadsBeyondTheMostWaitForTheirTurn(t *testing.T) {
	s := newSite(t)
	s.s.turns = make(chan struct{}, 1)
	rest, first := s.inPieces("/api/v1/bundles/first.txt", tinyDump)
	for len(s.s.turns) == 0 {
		time.Sleep(time.Millisecond)
	}
	second := make(chan reply, 1)
	go func() { second <- s.do("PUT", "/api/v1/bundles/second.txt", bytes.NewReader(waiting(30))) }()
	select {
	case r := <-second:
		t.Fatalf("the second was not held up: %d %s", r.status, r.body)
	case <-time.After(100 * time.Millisecond):
	}
	if page := s.do("GET", "/", nil); page.status != http.StatusOK {
		t.Errorf("the start page answers %d beside them", page.status)
	}
	rest.Close()
	for name, answer := range map[string]chan reply{"first": first, "second": second} {
		if r := <-answer; r.status != http.StatusCreated {
			t.Errorf("%s: %d %s", name, r.status, r.body)
		}
	}
	if len(s.s.turns) > 0 {
		t.Error("a turn was not given back")
	}
}

func TestASenderWhoSendsNothingIsGivenUp(t *testing.T) {
	s := newSite(t)
	s.s.turns, s.s.quiet = make(chan struct{}, 1), 50*time.Millisecond
	for name, head := range map[string]string{
		"a short body":     "PUT /api/v1/bundles/x.txt HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n\r\ngoroutine 1",
		"a long body":      "PUT /api/v1/bundles/x.txt HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 10000000\r\n\r\ngoroutine 1",
		"no byte of it":    "POST /api/v1/bundles HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n\r\n",
		"a browser's form": "POST /upload HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: 10000000\r\n\r\n--b\r\nContent-Disposition: form-data; name=f; filename=x.txt\r\n\r\ngoroutine 1",
		"a short form":     "POST /upload HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: 1000\r\n\r\n--b\r\nContent-Disp",
		"no form at all":   "POST /upload HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: text/plain\r\nContent-Length: 1000\r\n\r\n",
	} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		io.WriteString(conn, head)
		conn.SetReadDeadline(time.Now().Add(10 * time.Second))
		text, err := io.ReadAll(conn)
		if wants := map[bool]string{true: "is no upload form", false: "rrived for 50"}[name == "no form at all"]; err != nil || !strings.HasPrefix(string(text), "HTTP/1.1 400 ") || !strings.Contains(string(text), wants) {
			t.Errorf("%s: %v, %s", name, err, text)
		}
	}
	rest, answer := s.inPieces("/api/v1/bundles/quiet.txt", tinyDump)
	defer rest.Close()
	r := <-answer
	if r.status != http.StatusBadRequest || !strings.Contains(r.body, "nothing arrived for") || !strings.Contains(r.body, "nothing was kept") {
		t.Errorf("%d %s", r.status, r.body)
	}
	rest, answer = s.inPieces("/api/v1/bundles/slow.txt", "goroutine 1 [run")
	for _, part := range []string{"ning]:\n", "main.main()\n", "\t/src/main.go:2 +0x1d\n"} {
		time.Sleep(s.s.quiet / 3)
		io.WriteString(rest, part)
	}
	rest.Close()
	if r := <-answer; r.status != http.StatusCreated {
		t.Errorf("a slow sender: %d %s", r.status, r.body)
	}
}

func TestAnAnswerMayTakeLongerThanASenderMayBeQuiet(t *testing.T) {
	s := newSite(t)
	up := s.put("first.txt", []byte(tinyDump))
	s.s.quiet = 20 * time.Millisecond
	s.s.placing.Lock()
	answer := make(chan reply, 1)
	go func() {
		answer <- s.do("PUT", "/api/v1/bundles/second.txt?wait=1&case="+up.Case, bytes.NewReader(waiting(30)), "Authorization", "Bearer "+up.OwnerKey)
	}()
	time.Sleep(10 * s.s.quiet)
	s.s.placing.Unlock()
	if r := <-answer; r.status != http.StatusCreated {
		t.Errorf("%d %s", r.status, r.body)
	}
}
