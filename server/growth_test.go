package server

import (
	"context"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"leakdiff/analysis/say/report"
	"leakdiff/samples/corpus"
	"leakdiff/server/intake"
	"leakdiff/store"
)

// TestWorkGrowsNoFasterThanWhatItIsAbout does each thing twice, the second time with ten times
// as much there before. The measure is bytes allocated, which a busy machine does not
// change. Work on a series may grow with its length, work on a case of a store may not grow
// with the store. `make bench-growth` measures processor time at full size.
func TestWorkGrowsNoFasterThanWhatItIsAbout(t *testing.T) {
	corpus.Heavy(t)
	for _, c := range []struct {
		name    string
		measure func(t *testing.T, n int) float64
		few     int
		most    float64
	}{
		{"a push into a series", pushWork, 20, 4},
		{"the page of a series", viewWork(func(c grownCase) string { return c.link }), 20, 4},
		{"the JSON of a series", viewWork(func(c grownCase) string { return c.link + ".json" }), 20, 9},
		{"a filter", viewWork(func(c grownCase) string { return c.link + "?q=func:Pool" }), 20, 4},
		{"a comparison", viewWork(func(c grownCase) string { return "/diff/" + c.first + ".." + c.last + "?case=" + c.id }), 20, 9},
		{"a snapshot", viewWork(func(c grownCase) string { return "/snapshots/" + c.last + "?case=" + c.id }), 20, 9},
		{"a family", viewWork(func(c grownCase) string { return "/families/" + c.family + "?case=" + c.id }), 20, 9},
		// Its members are followed through every capture: ten times the captures, ten times
		// the work, and what does not grow with them is less than the scatter.
		{"an object", viewWork(func(c grownCase) string { return "/objects/" + c.object + "?case=" + c.id }), 20, 11},
		{"an archive of captures of many programs", archiveWork, 10, 11},
		{"the deletion of one case of many", storeWork(func(s *site, id string) {
			if err := s.s.cfg.Store.(*store.Store).DeleteCase(s.t.Context(), id, store.WithdrawPermalinks); err != nil {
				s.t.Fatal(err)
			}
		}), 5, 2},
		{"the list of cases by host", storeWork(func(s *site, _ string) { s.ok("/?host=node-1") }), 5, 2},
		{"a search", storeWork(func(s *site, _ string) { s.ok("/search?q=serve1") }), 5, 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			few, many := c.measure(t, c.few), c.measure(t, 10*c.few)
			t.Logf("%.0f kB at %d, %.0f kB at %d: %.1f times", few/1e3, c.few, many/1e3, 10*c.few, many/few)
			if many > c.most*few {
				t.Errorf("at most %.0f times are allowed", c.most)
			}
		})
	}
}

// allocated returns the bytes that work allocates.
func allocated(work func()) float64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	work()
	runtime.ReadMemStats(&after)
	return float64(after.TotalAlloc - before.TotalAlloc)
}

func (s *site) ok(path string) {
	s.t.Helper()
	if r := s.get(path); r.status != http.StatusOK {
		s.t.Fatalf("%s: %d: %.300s", path, r.status, r.body)
	}
}

// grownCase is a case with one series.
type grownCase struct{ id, link, first, last, family, object string }

// growing uploads n captures of one program as one bundle and waits for their report.
func (s *site) growing(n int) grownCase {
	s.t.Helper()
	files := map[string]string{}
	for i := range n {
		files[fmt.Sprintf("t%03d.txt", i)] = poolDump(i)
	}
	body, kind := form(s.t, files, nil)
	up := decode[intake.Uploaded](s.t, s.do("POST", "/api/v1/bundles?wait=1", body, "Content-Type", kind).body)
	if len(up.Snapshots) != n {
		s.t.Fatalf("%d snapshots of %d captures", len(up.Snapshots), n)
	}
	s.waitForReport(up.Case)
	series := decode[report.Report](s.t, s.get("/api/v1/cases/"+up.Case).body).Series[0]
	if len(series.Objects) == 0 {
		s.t.Fatal("the captures show no object")
	}
	return grownCase{up.Case, up.Link, series.Snapshots[0], series.Snapshots[len(series.Snapshots)-1], series.Families[0].Fingerprint, series.Objects[0].ID}
}

// poolDump is a dump of twelve pools, of which one has one worker more in each capture.
func poolDump(round int) string {
	var b strings.Builder
	b.WriteString("goroutine 1 [select]:\nmain.main()\n\t/src/main.go:7 +0x1\n\n")
	worker := func(id, pool int) {
		fmt.Fprintf(&b, "goroutine %d [select, %d minutes]:\nmain.(*Pool%d).run(0xc%09x, 0x1)\n\t/src/pool.go:%d +0x1d\ncreated by main.start in goroutine 1\n\t/src/main.go:%d +0x1d\n\n",
			id, 1+round, pool, 0x1000+id*64, 10+pool, 100+pool)
	}
	for pool := range 12 {
		for k := range 8 {
			worker(10+pool*8+k, pool)
		}
	}
	for k := range 3 + round%50 {
		worker(1000+k, 12)
	}
	return b.String()
}

func pushWork(t *testing.T, n int) float64 {
	s := newSite(t)
	c := s.growing(n)
	return allocated(func() {
		r := s.do("PUT", fmt.Sprintf("/api/v1/bundles/t%03d.txt?wait=1&case=%s", n, c.id), strings.NewReader(poolDump(n)))
		if r.status != http.StatusCreated {
			t.Fatalf("%d: %s", r.status, r.body)
		}
		s.waitForReport(c.id)
	})
}

// viewWork requests a page from a server that was just started.
func viewWork(path func(grownCase) string) func(*testing.T, int) float64 {
	return func(t *testing.T, n int) float64 {
		s := newSite(t)
		c := s.growing(n)
		address := path(c)
		s.restarted("/help", nil)
		return allocated(func() { s.restarted(address, nil) })
	}
}

func archiveWork(t *testing.T, n int) float64 {
	s := newSite(t)
	files := map[string]string{}
	for i := range n {
		files[fmt.Sprintf("host%d/app%d/goroutines.txt", i, i)] = strings.ReplaceAll(poolDump(3), "Pool12", fmt.Sprintf("Own%d", i))
	}
	body, kind := form(t, files, nil)
	return allocated(func() {
		up := decode[intake.Uploaded](t, s.do("POST", "/api/v1/bundles?wait=1", body, "Content-Type", kind).body)
		if len(up.Snapshots) != n {
			t.Fatalf("%d snapshots of %d captures", len(up.Snapshots), n)
		}
		s.ok(up.Link)
		s.waitForReport(up.Case)
	})
}

// storeWork does something in a store of n cases of different words.
func storeWork(work func(s *site, caseID string)) func(*testing.T, int) float64 {
	return func(t *testing.T, n int) float64 {
		s := newSite(t)
		var last string
		for i := range n {
			dump := strings.ReplaceAll(poolDump(3), "main.start", fmt.Sprintf("example.org/own%d.start", i))
			files := map[string]string{fmt.Sprintf("node-%d/app/goroutines.txt", i): dump}
			body, kind := form(t, files, nil)
			last = decode[intake.Uploaded](t, s.do("POST", "/api/v1/bundles?wait=1", body, "Content-Type", kind).body).Case
		}
		for more := true; more; {
			var err error
			if more, err = s.s.cfg.Store.Reap(context.Background()); err != nil {
				t.Fatal(err)
			}
		}
		return allocated(func() { work(s, last) })
	}
}
