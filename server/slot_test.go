package server

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"leakdiff/analysis/say/wording"
	"leakdiff/server/intake"
	"leakdiff/store"
)

// pipeListener makes connections inside the process, for testing/synctest: its time moves
// on only when every goroutine waits.
type pipeListener struct {
	conns  chan net.Conn
	closed context.Context
	close  func()
}

func newPipeListener() *pipeListener {
	closed, closeIt := context.WithCancel(context.Background())
	return &pipeListener{make(chan net.Conn), closed, closeIt}
}

func (l *pipeListener) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case l.conns <- local{server}:
		return client, nil
	case <-l.closed.Done():
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.conns:
		return conn, nil
	case <-l.closed.Done():
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error {
	l.close()
	return nil
}

func (l *pipeListener) Addr() net.Addr { return loopback }

var loopback = &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8080}

// local is a connection from this machine.
type local struct{ net.Conn }

func (local) RemoteAddr() net.Addr { return loopback }
func (local) LocalAddr() net.Addr  { return loopback }

// inStillTime tests a site in a bubble of testing/synctest.
func inStillTime(t *testing.T, test func(t *testing.T, s *site, pipes *pipeListener), change ...func(*store.Store, *Config)) {
	synctest.Test(t, func(t *testing.T) {
		st, err := store.Open(t.Context(), store.Config{Dir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		cfg := Config{}
		for _, c := range change {
			c(st, &cfg)
		}
		pipes := newPipeListener()
		test(t, startSiteOn(t, st, cfg, pipes), pipes)
	})
}

// oneSlot stores uploads one after the other.
func oneSlot(_ *store.Store, cfg *Config) { cfg.uploadSlots = 1 }

// inPieces sends the beginning of an upload. The test writes the rest to the pipe.
func (s *site) inPieces(path, beginning string, header ...string) (rest *io.PipeWriter, answer chan reply) {
	s.t.Helper()
	body, rest := io.Pipe()
	answer = make(chan reply, 1)
	go func() { answer <- s.do("PUT", path, body, header...) }()
	io.WriteString(rest, beginning)
	return rest, answer
}

// large is a dump behind more text than is received without a slot.
var large = strings.Repeat("a line of a log\n", 4000) + tinyDump

// parallel sends an upload and returns its answer later, none if the test ends before.
func (s *site) parallel(path string, body io.Reader) chan reply {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), "PUT", s.url+path, body)
	if err != nil {
		s.t.Fatal(err)
	}
	answer := make(chan reply, 1)
	go func() {
		resp, err := (&http.Client{Transport: s.transport}).Do(req)
		if err != nil {
			return
		}
		defer resp.Body.Close()
		text, _ := io.ReadAll(resp.Body)
		answer <- reply{resp.StatusCode, resp.Header, string(text)}
	}()
	return answer
}

func TestLargeUploadsWaitForAFreeSlotAndSmallOnesDoNot(t *testing.T) {
	inStillTime(t, func(t *testing.T, s *site, _ *pipeListener) {
		rest, first := s.inPieces("/api/v1/bundles/first.txt", large)
		defer rest.Close()
		synctest.Wait() // the first has the slot
		second := s.parallel("/api/v1/bundles/second.txt", strings.NewReader(large))
		for range 60 { // it is fast enough to keep it
			time.Sleep(time.Second)
			io.WriteString(rest, strings.Repeat("a line of a log\n", 4*intake.MinRate/16))
		}
		select {
		case r := <-second:
			t.Fatalf("the second was not held up: %d %s", r.status, r.body)
		default:
		}
		if page := s.do("GET", "/", nil); page.status != http.StatusOK {
			t.Errorf("the start page answers %d beside them", page.status)
		}
		small := s.parallel("/api/v1/bundles/small.txt", strings.NewReader(tinyDump))
		synctest.Wait()
		select {
		case r := <-small:
			if r.status != http.StatusCreated {
				t.Errorf("the small one: %d %s", r.status, r.body)
			}
		default:
			t.Fatal("the small one was held up")
		}
		rest.Close()
		for name, answer := range map[string]chan reply{"first": first, "second": second} {
			if r := <-answer; r.status != http.StatusCreated {
				t.Errorf("%s: %d %s", name, r.status, r.body)
			}
		}
		if r := s.do("PUT", "/api/v1/bundles/third.txt", strings.NewReader(large+"again")); r.status != http.StatusCreated {
			t.Errorf("a slot was not given back: %d %s", r.status, r.body)
		}
	}, oneSlot)
}

func TestASlowUploadIsEndedWhenAnotherWaits(t *testing.T) {
	inStillTime(t, func(t *testing.T, s *site, _ *pipeListener) {
		rest, slow := s.inPieces("/api/v1/bundles/slow.txt", large)
		defer rest.Close()
		synctest.Wait()
		time.Sleep(time.Minute) // nobody waits
		second := s.parallel("/api/v1/bundles/second.txt", strings.NewReader(large))
		time.Sleep(intake.Grace)
		synctest.Wait()
		select {
		case r := <-second:
			if r.status != http.StatusCreated {
				t.Errorf("the second: %d %s", r.status, r.body)
			}
		default:
			t.Fatal("the second was held up for longer than the grace")
		}
		r := <-slow
		for _, want := range []string{`"code": "slow"`, "kB a second arrived for", "nothing was kept"} {
			if !strings.Contains(r.body, want) {
				t.Errorf("no %q in %s", want, r.body)
			}
		}
		if r.status != http.StatusRequestTimeout {
			t.Errorf("the slow one: %d", r.status)
		}
	}, oneSlot)
}

func TestASmallUploadPassesManySlowOnes(t *testing.T) {
	inStillTime(t, func(t *testing.T, s *site, _ *pipeListener) {
		var writers sync.WaitGroup
		defer writers.Wait()
		for i := range 80 {
			beginning := "g"
			if i%2 == 0 {
				beginning = large
			}
			body, rest := io.Pipe()
			defer rest.Close()
			s.parallel("/api/v1/bundles/slow.txt", body)
			writers.Go(func() {
				for _, err := io.WriteString(rest, beginning); err == nil; _, err = io.WriteString(rest, "x") {
					time.Sleep(2 * time.Second)
				}
			})
		}
		time.Sleep(5 * time.Second)
		began := time.Now()
		up := s.put("small.txt", []byte(tinyDump))
		if took := time.Since(began); len(up.Snapshots) != 1 || took > 5*time.Second {
			t.Errorf("%d snapshots after %v", len(up.Snapshots), took)
		}
	})
}

func TestMoreUploadsThanMayWaitAreRefusedUntilLater(t *testing.T) {
	inStillTime(t, func(t *testing.T, s *site, _ *pipeListener) {
		refused := 0
		var answers []chan reply
		for range 200 {
			body, rest := io.Pipe()
			defer rest.Close()
			answers = append(answers, s.parallel("/api/v1/bundles/slow.txt", body))
			go io.WriteString(rest, large)
		}
		synctest.Wait()
		for _, answer := range answers {
			select {
			case r := <-answer:
				refused++
				if r.status != http.StatusServiceUnavailable || r.header.Get("Retry-After") == "" || !strings.Contains(r.body, "too many uploads are being received") {
					t.Fatalf("%d %v %s", r.status, r.header, r.body)
				}
			default:
			}
		}
		if refused != 200-1-128 {
			t.Errorf("%d were refused", refused)
		}
	}, oneSlot)
}

func TestASenderWhoSendsNothingIsGivenUp(t *testing.T) {
	for name, head := range map[string]string{
		"a short body":     "PUT /api/v1/bundles/x.txt HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n\r\ngoroutine 1",
		"a long body":      "PUT /api/v1/bundles/x.txt HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 10000000\r\n\r\ngoroutine 1",
		"no byte of it":    "POST /api/v1/bundles HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n\r\n",
		"a browser's form": "POST /upload HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: 10000000\r\n\r\n--b\r\nContent-Disposition: form-data; name=f; filename=x.txt\r\n\r\ngoroutine 1",
		"a short form":     "POST /upload HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: 1000\r\n\r\n--b\r\nContent-Disp",
		"no form at all":   "POST /upload HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: text/plain\r\nContent-Length: 1000\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			inStillTime(t, func(t *testing.T, s *site, pipes *pipeListener) {
				conn, err := pipes.dial(t.Context(), "", "")
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
				go io.WriteString(conn, head)
				began := time.Now()
				text, err := io.ReadAll(conn)
				wants := "nothing arrived for " + wording.PageDuration(intake.IdleTimeout)
				if name == "no form at all" {
					wants = "is no upload form"
				} else if after := time.Since(began); after < intake.IdleTimeout || after > intake.IdleTimeout+5*time.Second {
					t.Errorf("given up after %v, want %v", after, intake.IdleTimeout)
				}
				if err != nil || !strings.HasPrefix(string(text), "HTTP/1.1 400 ") || !strings.Contains(string(text), wants) {
					t.Errorf("%v, %s", err, text)
				}
				if r := s.do("PUT", "/api/v1/bundles/next.txt", strings.NewReader(tinyDump)); r.status != http.StatusCreated {
					t.Errorf("the slot was not given back: %d %s", r.status, r.body)
				}
			}, oneSlot)
		})
	}
	t.Run("a body of unknown length", func(t *testing.T) {
		inStillTime(t, func(t *testing.T, s *site, _ *pipeListener) {
			rest, answer := s.inPieces("/api/v1/bundles/quiet.txt", tinyDump)
			defer rest.Close()
			r := <-answer
			if r.status != http.StatusBadRequest || !strings.Contains(r.body, "nothing arrived for") || !strings.Contains(r.body, "nothing was kept") {
				t.Errorf("%d %s", r.status, r.body)
			}
		})
	})
}

func TestASlowSenderIsWaitedFor(t *testing.T) {
	inStillTime(t, func(t *testing.T, s *site, _ *pipeListener) {
		rest, answer := s.inPieces("/api/v1/bundles/slow.txt", "goroutine 1 [run")
		defer rest.Close()
		for _, part := range []string{"ning]:\n", "main.main()\n", "\t/src/main.go:2 +0x1d\n"} {
			time.Sleep(intake.IdleTimeout - time.Second)
			io.WriteString(rest, part)
		}
		rest.Close()
		if r := <-answer; r.status != http.StatusCreated {
			t.Errorf("%d %s", r.status, r.body)
		}
	})
}

// slowStore takes longer to record an upload than the idle timeout.
type slowStore struct{ *store.Store }

func (s slowStore) AddBundle(ctx context.Context, caseID, name string, files []store.File, receipts ...store.Receipt) (store.Bundle, store.Job, error) {
	time.Sleep(10 * intake.IdleTimeout)
	return s.Store.AddBundle(ctx, caseID, name, files, receipts...)
}

func TestAnAnswerMayTakeLongerThanASenderMayBeQuiet(t *testing.T) {
	inStillTime(t, func(t *testing.T, s *site, _ *pipeListener) {
		up := s.put("first.txt", []byte(tinyDump))
		began := time.Now()
		r := s.do("PUT", "/api/v1/bundles/second.txt?wait=1&case="+up.Case, bytes.NewReader(waiting(30)), "Authorization", "Bearer "+up.OwnerKey)
		if took := time.Since(began); r.status != http.StatusCreated || took < 10*intake.IdleTimeout {
			t.Errorf("%d %s after %v", r.status, r.body, took)
		}
	}, func(st *store.Store, cfg *Config) { cfg.Store = slowStore{st} })
}
