package server

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"leakdiff/store"
	"leakdiff/store/blob"
)

// openings counts how often stored bytes are read.
type openings struct {
	Blobs
	n atomic.Int32
}

func (o *openings) Open(sha string) (io.ReadCloser, error) {
	o.n.Add(1)
	return o.Blobs.Open(sha)
}

// alone stores without a follower.
type alone struct{ Blobs }

func (a alone) PutFollowed(ctx context.Context, r io.Reader, limit int64, f *blob.Follower) (blob.Ref, error) {
	if f != nil {
		f.Leave()
	}
	return a.Put(ctx, r, limit)
}

func newCountedSite(t *testing.T, around func(Blobs) Blobs) (*site, *openings) {
	t.Helper()
	st, err := store.Open(t.Context(), store.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	o := &openings{Blobs: st.Blobs()}
	s := startSite(t, st, Config{Blobs: around(o)})
	s.idle()
	return s, o
}

// followed leaves storing as it is.
func followed(b Blobs) Blobs { return b }

// waiting is a dump of goroutines that wait, and the one that writes it.
func waiting(goroutines int) []byte {
	var b bytes.Buffer
	b.WriteString("goroutine 1 [running]:\nmain.main()\n\t/src/main.go:3 +0x1\n\n")
	for i := range goroutines {
		fmt.Fprintf(&b, "goroutine %d [select, %d minutes]:\nmain.(*worker).run(0xc%09x)\n\t/src/worker.go:40 +0x1d\ncreated by main.start in goroutine 1\n\t/src/worker.go:9 +0x2e\n\n", i+7, i%50, i*64)
	}
	return b.Bytes()
}

// said is what an answer says of an upload, without what is new in each.
func said(up uploaded) uploaded {
	up.ID, up.Link, up.URL, up.Case, up.OwnerKey = "", "", "", "", ""
	return up
}

// until waits for a state of the worker.
func (s *site) until(what string, reached func(w *worker) bool) {
	s.t.Helper()
	for range 6000 {
		w := s.s.worker
		w.mu.Lock()
		now := reached(w)
		w.mu.Unlock()
		if now {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	s.t.Fatalf("after a minute it is still not so that %s", what)
}

func (s *site) idle() {
	s.t.Helper()
	s.until("nothing is read", func(w *worker) bool { return w.ctx != nil && w.running == "" && w.ahead == nil })
}

func (s *site) reading() {
	s.t.Helper()
	s.until("an upload is read while it arrives", func(w *worker) bool { return w.ahead != nil })
}

func TestAnUploadIsReadWhileItArrives(t *testing.T) {
	dump := waiting(8_000) // fits into the pieces: a slow machine leaves nobody behind
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	z.Write(dump)
	z.Close()
	prose := []byte(strings.Repeat("nothing of interest happened\n", 50_000))
	for name, tc := range map[string]struct {
		file string
		body []byte
		// opened says that the bytes are read once more when they are stored.
		opened bool
	}{
		"text is read once":                 {"dump.txt", dump, false},
		"text without evidence, too":        {"notes.txt", prose, false},
		"one line":                          {"dump.txt", []byte("goroutine 1 [running]:\n"), false},
		"what is packed is read afterwards": {"dump.txt.gz", packed.Bytes(), true},
		// Whether it is one is seen by its beginning, which is then read twice.
		"a part of a file, by its name": {"dump.part1", dump, true},
	} {
		t.Run(name, func(t *testing.T) {
			s, opened := newCountedSite(t, followed)
			ahead := s.put(tc.file, tc.body)
			if got := opened.n.Load() > 0; got != tc.opened {
				t.Errorf("the stored bytes were read again: %v, want %v", got, tc.opened)
			}
			body, kind := form(t, map[string]string{tc.file: string(tc.body)}, nil)
			for way, upload := range map[string]func() reply{
				"a body of unknown length": func() reply {
					return s.do("PUT", "/api/v1/bundles/"+tc.file+"?wait=1", io.MultiReader(bytes.NewReader(tc.body)))
				},
				"a form": func() reply { return s.do("POST", "/api/v1/bundles?wait=1", body, "Content-Type", kind) },
			} {
				s.idle()
				if r := upload(); r.status != http.StatusCreated || opened.n.Load() > 0 != tc.opened {
					t.Errorf("%s: %d, the stored bytes were read again %d times", way, r.status, opened.n.Load())
				}
			}
			later, opened := newCountedSite(t, func(b Blobs) Blobs { return alone{b} })
			after := later.put(tc.file, tc.body)
			if opened.n.Load() == 0 {
				t.Fatal("the stored bytes were not read: the test proves nothing")
			}
			if d := cmp.Diff(said(after), said(ahead)); d != "" {
				t.Errorf("read while it arrived it says something else (-afterwards +ahead):\n%s", d)
			}
			var reports [2]string
			for i, r := range []reply{later.get(after.Link + ".json"), s.get(ahead.Link + ".json")} {
				reports[i] = r.body
				if !strings.Contains(reports[i], "problems") {
					t.Errorf("the case has no data: %.300s", reports[i])
				}
			}
			if d := cmp.Diff(reports[0], reports[1]); d != "" {
				t.Errorf("the case is another one (-afterwards +ahead):\n%s", d)
			}
		})
	}
}

// slow is a request whose body is sent piece by piece.
type slow struct {
	body   *io.PipeWriter
	cancel func()
	answer chan reply
}

func (s *site) slowly(name string, size int) *slow {
	r, w := io.Pipe()
	ctx, cancel := context.WithCancel(s.t.Context())
	req, err := http.NewRequestWithContext(ctx, "PUT", s.url+"/api/v1/bundles/"+name+"?wait=1", r)
	if err != nil {
		s.t.Fatal(err)
	}
	req.ContentLength = int64(size)
	up := &slow{body: w, answer: make(chan reply, 1)}
	up.cancel = func() {
		cancel()
		w.CloseWithError(context.Canceled)
	}
	go func() {
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			up.answer <- reply{body: err.Error()}
			return
		}
		defer res.Body.Close()
		text, _ := io.ReadAll(res.Body)
		up.answer <- reply{res.StatusCode, res.Header, string(text)}
	}()
	return up
}

// half sends the first half of an upload, of which then something is read.
func (s *site) half(name string, body []byte) *slow {
	s.t.Helper()
	up := s.slowly(name, len(body))
	up.body.Write(body[:len(body)/2])
	s.reading()
	return up
}

func TestARecordedJobComesBeforeWhatStillArrives(t *testing.T) {
	s, opened := newCountedSite(t, followed)
	dump := waiting(8_000)
	first := s.half("slow.txt", dump)
	second := s.put("quick.txt", waiting(3)) // would wait a minute for the first otherwise
	if len(second.Snapshots) != 1 || opened.n.Load() != 1 {
		t.Errorf("the second has %d snapshots, bytes were opened %d times", len(second.Snapshots), opened.n.Load())
	}
	first.body.Write(dump[len(dump)/2:])
	first.body.Close()
	r := <-first.answer
	if r.status != http.StatusCreated || *decode[uploaded](t, r.body).Snapshots[0].Totals.Goroutines != 8_001 || opened.n.Load() != 2 {
		t.Errorf("the first gave %d, bytes were opened %d times: %.300s", r.status, opened.n.Load(), r.body)
	}
}

func TestAFormWithSeveralFilesIsReadTogether(t *testing.T) {
	s, opened := newCountedSite(t, followed)
	body, kind := form(t, map[string]string{"t1/dump.txt": string(waiting(3)), "t2/dump.txt": string(waiting(9))}, nil)
	r := s.do("POST", "/api/v1/bundles?wait=1", body, "Content-Type", kind)
	if r.status != http.StatusCreated || len(decode[uploaded](t, r.body).Snapshots) != 2 || opened.n.Load() != 2 {
		t.Errorf("%d, the files were read %d times: %s", r.status, opened.n.Load(), r.body)
	}
	s.idle()
}

func TestAnUploadThatBreaksOffLeavesNothingBeingRead(t *testing.T) {
	s, _ := newCountedSite(t, followed)
	dump := waiting(8_000)
	up := s.half("broken.txt", dump)
	up.cancel()
	<-up.answer
	s.idle()
	if got := s.put("whole.txt", dump); len(got.Snapshots) != 1 {
		t.Errorf("the next upload has %d snapshots", len(got.Snapshots))
	}
}

// failing stores nothing durably, after all was received.
type failing struct{ Blobs }

func (f failing) PutFollowed(ctx context.Context, r io.Reader, limit int64, by *blob.Follower) (blob.Ref, error) {
	_, err := f.Blobs.PutFollowed(ctx, r, limit, by)
	return blob.Ref{}, errors.Join(err, errors.New("input/output error"))
}

func TestWhatWasReadOfBytesThatWereNotStoredIsNotUsed(t *testing.T) {
	s, _ := newCountedSite(t, func(b Blobs) Blobs { return failing{b} })
	if r := s.do("PUT", "/api/v1/bundles/dump.txt?wait=1", bytes.NewReader(waiting(5))); r.status != http.StatusInternalServerError {
		t.Errorf("the upload gave %d: %s", r.status, r.body)
	}
	s.idle()
	_, cases, err := s.s.store.Cases(t.Context(), store.CaseQuery{})
	if err != nil || cases > 0 {
		t.Errorf("there are %d cases (%v)", cases, err)
	}
}

func TestNothingIsReadOfAnUploadThatNoJobIsRecordedFor(t *testing.T) {
	s, _ := newCountedSite(t, followed)
	up := s.put("dump.txt", waiting(7))
	s.idle()
	auth := []string{"Authorization", "Bearer " + up.OwnerKey}
	for name, upload := range map[string]func() reply{
		"the same again into its case": func() reply {
			return s.do("PUT", "/api/v1/bundles/dump.txt?case="+up.Case, bytes.NewReader(waiting(7)), auth...)
		},
		"the same form again": func() reply {
			body, kind := form(t, map[string]string{"dump.txt": string(waiting(7))}, nil)
			return s.do("POST", "/api/v1/bundles?case="+up.Case, body, append(auth, "Content-Type", kind)...)
		},
		"an empty body": func() reply { return s.do("PUT", "/api/v1/bundles/empty.txt", strings.NewReader("")) },
		"an empty file": func() reply {
			body, kind := form(t, map[string]string{"empty.txt": ""}, nil)
			return s.do("POST", "/api/v1/bundles", body, "Content-Type", kind)
		},
		"another body for a key": func() reply {
			s.do("PUT", "/api/v1/bundles/a.txt?wait=1", bytes.NewReader(waiting(4)), "Idempotency-Key", "k")
			s.idle()
			return s.do("PUT", "/api/v1/bundles/a.txt", bytes.NewReader(waiting(5)), "Idempotency-Key", "k")
		},
	} {
		if r := upload(); r.status == http.StatusCreated {
			t.Errorf("%s: %d", name, r.status)
		}
		s.idle()
	}
}

func TestAServerThatEndsStopsWhatItReadsAhead(t *testing.T) {
	s, _ := newCountedSite(t, followed)
	dump := waiting(8_000)
	up := s.half("slow.txt", dump)
	s.s.worker.mu.Lock()
	a := s.s.worker.ahead
	s.s.worker.mu.Unlock()
	s.stop()
	s.s.Wait()
	select {
	case <-a.done:
	default:
		t.Error("the server has ended and still reads")
	}
	up.cancel()
	<-up.answer
}
