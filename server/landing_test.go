package server

import (
	"context"
	"strings"
	"testing"
)

// upload sends a form as a browser without scripts does, and returns the page that it lands on.
func (s *site) upload(t *testing.T, address string, files map[string]string) (landed, page string) {
	t.Helper()
	body, kind := form(t, files, nil)
	r := s.do("POST", address, body, "Content-Type", kind)
	if landed = r.header.Get("Location"); r.status != 303 || !strings.HasPrefix(landed, "/cases/") {
		t.Fatalf("%d, to %q: %.300s", r.status, landed, r.body)
	}
	return landed, s.get(landed).body
}

func TestAFormLandsOnTheAnswerOfItsCase(t *testing.T) {
	s := newSite(t)
	for _, tc := range []struct {
		name        string
		files       map[string]string
		want, never []string
	}{
		{"dumps", map[string]string{"t0.txt": dumpOf(20), "t1.txt": dumpOf(60)}, []string{"none ended", `class="part p-files"`}, []string{`id="progress"`, "http-equiv=\"refresh\"", "warn lost"}},
		{"a dump beside a file without any", map[string]string{"t0.txt": dumpOf(20), "t1.txt": dumpOf(60), "hello.txt": "hello\n"}, []string{"none ended"}, []string{"warn lost"}},
		{"a dump that is cut", map[string]string{"t0.txt": dumpOf(20), "t1.txt": cutDump()}, []string{`class="warn lost">1 problem: t1.txt: `, `?show=problems#files">Files</a>`}, nil},
		{"nothing", map[string]string{"hello.txt": "hello\n"}, []string{">hello.txt holds no dump.</h1>", "text that is no known form", "upload a goroutine dump", "/help#formats", `type="file" name="file"`}, []string{"evidence", `class="part`, `id="progress"`}},
		{"nothing in several files", map[string]string{"a.txt": "a\n", "b.txt": "b\n"}, []string{">None of the 2 files holds a dump.</h1>"}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, page := s.upload(t, "/upload", tc.files)
			for _, w := range tc.want {
				if !strings.Contains(page, w) {
					t.Errorf("no %q in the page: %s", w, between(page, "<main", "</main>"))
				}
			}
			for _, n := range tc.never {
				if strings.Contains(between(page, "<main", "</main>"), n) {
					t.Errorf("%q is in the page", n)
				}
			}
		})
	}
	t.Run("more files land on the same case", func(t *testing.T) {
		first, _ := s.upload(t, "/upload", map[string]string{"t0.txt": dumpOf(21)})
		if again, page := s.upload(t, "/upload?case="+strings.TrimPrefix(first, "/cases/"), map[string]string{"t1.txt": dumpOf(70)}); again != first || !strings.Contains(page, "none ended") {
			t.Errorf("landed on %s, not on %s", again, first)
		}
	})
}

func TestACaseThatIsBeingReadRefreshesUntilItIsDone(t *testing.T) {
	s := newSite(t)
	s.stop() // nobody reads
	s.s.Wait()
	landed, page := s.upload(t, "/upload", map[string]string{"t0.txt": dumpOf(20)})
	for _, w := range []string{`<noscript><meta http-equiv="refresh" content="3"></noscript>`, `data-events="/bundles/b`, "t0.txt is being read.", "received, waiting for its turn", `/cancel"`} {
		if !strings.Contains(page, w) {
			t.Errorf("no %q in the page", w)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { s.s.worker.Run(ctx); close(ended) }()
	id := between(page, `data-events="/bundles/`, `/events"`)
	if _, err := s.s.worker.Settled(ctx, id); err != nil {
		t.Fatal(err)
	}
	if page := s.get(landed).body; strings.Contains(page, "http-equiv=\"refresh\"") || !strings.Contains(page, "21 goroutines") {
		t.Errorf("the page of what was read: %s", between(page, "<main", "</main>"))
	}
	cancel()
	<-ended
}

// cutDump is a dump whose last goroutine breaks off.
func cutDump() string {
	whole := dumpOf(60)
	return whole[:len(whole)-len("\n")-20]
}
