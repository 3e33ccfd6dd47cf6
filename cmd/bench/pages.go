package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/trend"
)

// measurePages asks a server for its pages over a connection that stays open, one
// request after the other.
func measurePages(s *suite) error {
	measureTrend(s)
	dir, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	binary, err := program(dir)
	if err != nil {
		return err
	}
	srv, err := serve(binary, filepath.Join(dir, "data"))
	if err != nil {
		return err
	}
	err = askFor(s, srv, dir)
	if stopped := srv.stop(); err == nil {
		err = stopped
	}
	return err
}

func askFor(s *suite, srv *serving, dir string) error {
	diff, err := twoSnapshots(srv)
	if err != nil {
		return err
	}
	if err := measureDiff(s, srv, diff); err != nil {
		return err
	}
	wide, err := wideCases(s, srv)
	if err != nil {
		return err
	}
	what := fmt.Sprintf("case page, %d series × %d snapshots, kept when its last dump was read", s.size.lines, s.size.points)
	if err := measurePage(s, srv, what, wide, 50); err != nil {
		return err
	}
	if err := measureMadeAnew(s, srv, wide); err != nil {
		return err
	}
	what = fmt.Sprintf("search over %d snapshots", 2*s.size.lines*s.size.points)
	if err := measurePage(s, srv, what, "/search?q=kubelet", 50); err != nil {
		return err
	}
	s.note("While two dumps of %d goroutines are read, these are asked for in turn: the comparison and the case page of the rows above, both made before, the start page and the search for kubelet, made each time. No page of a large case is made anew meanwhile.", s.size.loaded)
	return measureUnderLoad(s, srv, dir, []string{diff, wide, "/", "/search?q=kubelet"})
}

// diffFamilies is at least how many families the two compared snapshots have.
const diffFamilies = 400

// twoSnapshots uploads two dumps into one case and returns the address of their
// comparison.
func twoSnapshots(srv *serving) (string, error) {
	var ids []string
	var caseID string
	for i := range 2 {
		c := dumpConfig{Goroutines: 20_000 + 2_000*i, Stacks: 500, Seed: uint64(10 + i)}
		text, err := printed(c)
		if err != nil {
			return "", err
		}
		up, err := srv.put(fmt.Sprintf("app-t%d.txt", i), caseID, bytes.NewReader(text), int64(len(text)))
		if err != nil {
			return "", err
		}
		if len(up.Snapshots) != 1 || up.Snapshots[0].goroutines() != c.Goroutines {
			return "", fmt.Errorf("upload %d did not become one snapshot of %d goroutines: %+v", i, c.Goroutines, up)
		}
		caseID = up.Case
		ids = append(ids, up.Snapshots[0].ID)
	}
	return "/diff/" + ids[0] + ".." + ids[1] + "?case=" + caseID, nil
}

var familyLink = regexp.MustCompile(`/families/(g1(?::|%3[aA])[0-9a-f]{32})`)

func measureDiff(s *suite, srv *serving, address string) error {
	began := time.Now()
	res, body, err := srv.get(address)
	if err != nil {
		return err
	}
	first := time.Since(began)
	named := map[string]bool{}
	for _, m := range familyLink.FindAllSubmatch(body, -1) {
		named[string(m[1])] = true
	}
	made, arrived, err := askAnew(srv, address, s.size.requests)
	if err != nil {
		return err
	}
	figure := fmt.Sprintf("%s, p99 %s", rounded(made.median()), rounded(made.quantile(0.99)))
	s.add(row2("diff page of two snapshots, at least 400 families, made anew", figure, made.median().Seconds()*1e3, below(5, " ms")))
	s.note("Times of the diff page are the server's own (Server-Timing). It names %d families in %d kB, which arrive over loopback after %s; the first view took %s.",
		len(named), len(body)/1000, rounded(arrived.median()), rounded(first))
	_, twin, err := srv.get(regexp.MustCompile(`\?`).ReplaceAllString(address, ".json?"))
	if err != nil {
		return err
	}
	if n := bytes.Count(twin, []byte(`"fingerprint"`)); n < diffFamilies {
		return fmt.Errorf("the comparison has %d families, at least %d were meant", n, diffFamilies)
	}
	return measureRepeated(s, srv, address, res.Header.Get("ETag"), made)
}

// askAnew requests a page under addresses that were never asked for: the server
// makes it each time. arrived is when all of it was read.
func askAnew(srv *serving, address string, count int) (made, arrived series, err error) {
	for begun := time.Now(); len(made) < count && (len(made) < 10 || time.Since(begun) < askLimit); {
		began := time.Now()
		res, _, err := srv.get(fmt.Sprintf("%s&try=%d", address, len(made)))
		if err != nil {
			return nil, nil, err
		}
		arrived = append(arrived, time.Since(began))
		took, err := serverTime(res)
		if err != nil {
			return nil, nil, err
		}
		made = append(made, took)
	}
	return made, arrived, nil
}

// serverTime is how long the server says that it made an answer.
func serverTime(res *http.Response) (time.Duration, error) {
	var ms float64
	if _, err := fmt.Sscanf(res.Header.Get("Server-Timing"), "made;dur=%f", &ms); err != nil {
		return 0, fmt.Errorf("%s: Server-Timing %q: %w", res.Request.URL.Path, res.Header.Get("Server-Timing"), err)
	}
	return time.Duration(ms * float64(time.Millisecond)), nil
}

// measureRepeated compares views of an unchanged page, by somebody who has it and by
// somebody who has not, with making it.
func measureRepeated(s *suite, srv *serving, address, tag string, made series) error {
	if tag == "" {
		return fmt.Errorf("%s has no ETag", address)
	}
	for _, view := range []struct {
		what   string
		header []string
	}{{"  viewed again", nil}, {"  viewed again with its ETag", []string{"If-None-Match", tag}}} {
		var times series
		for begun := time.Now(); len(times) < s.size.requests && (len(times) < 10 || time.Since(begun) < askLimit); {
			res, _, err := srv.get(address, view.header...)
			if err != nil {
				return err
			}
			took, err := serverTime(res)
			if err != nil {
				return err
			}
			times = append(times, took)
			if view.header != nil && res.StatusCode != http.StatusNotModified {
				return fmt.Errorf("%s with its own ETag: %s", address, res.Status)
			}
		}
		s.add(row{what: view.what, ours: rounded(times.median()), bound: "made anew " + rounded(made.median())}.judged(float64(made.median())/float64(times.median()), atLeast(10)))
	}
	return nil
}

// measurePage states the median of many requests against a bound in milliseconds.
func measurePage(s *suite, srv *serving, what, address string, limit float64) error {
	began := time.Now()
	if _, _, err := srv.get(address); err != nil {
		return err
	}
	first := time.Since(began)
	times, err := ask(srv, address, s.size.requests)
	if err != nil {
		return err
	}
	s.note("%s: the first view took %s.", what, rounded(first))
	ms := times.median().Seconds() * 1e3
	figure := fmt.Sprintf("%s, p99 %s", rounded(times.median()), rounded(times.quantile(0.99)))
	s.add(row2(what, figure, ms, below(limit, " ms")))
	return nil
}

// anewViews is how often a page that takes long is asked for; no more are after
// anewLimit.
const (
	anewViews = 3
	anewLimit = 5 * time.Second
)

// measureMadeAnew states what pages of a case cost that are not its kept one: the server
// reads the whole case for them. The first one is told apart, since it keeps a small case
// in memory.
func measureMadeAnew(s *suite, srv *serving, address string) error {
	// A try that nobody asked for before is not in memory.
	for _, page := range []struct{ what, address string }{
		{"  filtered by ?q=func:worker, made anew", address + "?q=func:worker&try=%d"},
		{"  as .md, made anew", address + ".md?try=%d"},
	} {
		var times series
		for begun := time.Now(); len(times) < anewViews && time.Since(begun) < anewLimit; {
			began := time.Now()
			if _, _, err := srv.get(fmt.Sprintf(page.address, len(times))); err != nil {
				return err
			}
			times = append(times, time.Since(began))
		}
		figure := fmt.Sprintf("%s first, median %s of %d", rounded(times[0]), rounded(times.median()), len(times))
		s.add(row2(page.what, figure, times.median().Seconds()*1e3, target{unit: " ms"}))
	}
	s.note("Of a case, its page without a query is kept in the database soon after its last dump was read. The first view comes from there, the others, of which the time of its row is, from memory. What else is asked for, with a filter or as a file, is made anew the first time, and so is the page itself for whoever comes before it is kept: the whole case is read for that.")
	return nil
}

// askLimit ends the requests for one slow page.
const askLimit = 10 * time.Second

// ask requests an address, first once unmeasured.
func ask(srv *serving, address string, count int) (series, error) {
	if _, _, err := srv.get(address); err != nil {
		return nil, err
	}
	var times series
	for begun := time.Now(); len(times) < count && (len(times) < 10 || time.Since(begun) < askLimit); {
		began := time.Now()
		if _, _, err := srv.get(address); err != nil {
			return nil, err
		}
		times = append(times, time.Since(began))
	}
	return times, nil
}

// wideCases uploads two cases of many processes with many captures each, and returns
// the address of one.
func wideCases(s *suite, srv *serving) (address string, err error) {
	for seed := range 2 {
		archive, err := captures(s.size.lines, s.size.points, uint64(seed))
		if err != nil {
			return "", err
		}
		began := time.Now()
		up, err := srv.put(fmt.Sprintf("fleet-%d.tar.gz", seed), "", bytes.NewReader(archive), int64(len(archive)))
		if err != nil {
			return "", err
		}
		if len(up.Snapshots) != s.size.lines*s.size.points {
			return "", fmt.Errorf("%d snapshots of %d captures", len(up.Snapshots), s.size.lines*s.size.points)
		}
		if err := countSeries(srv, up.Case, s.size.lines); err != nil {
			return "", err
		}
		s.note("Reading an archive of %d captures took %s.", len(up.Snapshots), rounded(time.Since(began)))
		address = up.Link
	}
	return address, nil
}

func countSeries(srv *serving, caseID string, want int) error {
	_, body, err := srv.get("/api/v1/cases/" + caseID)
	if err != nil {
		return err
	}
	var report struct {
		Series []struct{ Snapshots []string }
	}
	if err := json.Unmarshal(body, &report); err != nil {
		return err
	}
	if len(report.Series) != want {
		return fmt.Errorf("%d series of %d processes", len(report.Series), want)
	}
	return nil
}

// captures packs a dump of 20 goroutines for each point of each line.
func captures(lines, points int, seed uint64) ([]byte, error) {
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	archive := tar.NewWriter(zip)
	start := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	for p := range points {
		at := start.Add(time.Duration(p) * time.Hour)
		for l := range lines {
			text, err := printed(dumpConfig{Goroutines: 20 + p/10, Stacks: 10, Seed: seed<<32 | uint64(p*lines+l)})
			if err != nil {
				return nil, err
			}
			name := fmt.Sprintf("capture/%s/worker-%c%c/goroutine-debug2.txt", at.Format("20060102T150405Z"), 'a'+l/26, 'a'+l%26)
			err = archive.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(text)), ModTime: at})
			if err != nil {
				return nil, err
			}
			if _, err := archive.Write(text); err != nil {
				return nil, err
			}
		}
	}
	if err := archive.Close(); err != nil {
		return nil, err
	}
	if err := zip.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// maxWaiting is how many requests may be unanswered at once.
const maxWaiting = 16

// askSteadily requests addresses in turn, twenty times a second whether or not the
// requests before were answered: a slow answer must not keep others from being
// counted. Only a server that falls behind by many is given time.
func askSteadily(srv *serving, addresses []string, more func() bool) (times series, err error) {
	var group sync.WaitGroup
	var mu sync.Mutex
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	waiting := make(chan struct{}, maxWaiting)
	for n := 0; more(); n++ {
		<-tick.C
		began := time.Now()
		waiting <- struct{}{}
		group.Go(func() {
			defer func() { <-waiting }()
			_, _, failed := srv.get(addresses[n%len(addresses)])
			mu.Lock()
			defer mu.Unlock()
			times = append(times, time.Since(began))
			if failed != nil {
				err = failed
			}
		})
	}
	group.Wait()
	return times, err
}

// Two large dumps are read at once until enoughPages were asked for meanwhile, which a
// quantile needs, mostLoads times at most.
const (
	enoughPages = 120
	mostLoads   = 12
)

// measureUnderLoad asks for pages while the server reads two large dumps.
func measureUnderLoad(s *suite, srv *serving, dir string, addresses []string) error {
	var times series
	for load := 0; load < mostLoads && len(times) < enoughPages; load++ {
		asked, err := underLoad(s, srv, dir, addresses, uint64(100+2*load))
		if err != nil {
			return err
		}
		times = append(times, asked...)
	}
	if len(times) < 20 {
		return fmt.Errorf("only %d pages were asked for while the ingests ran", len(times))
	}
	p99 := times.quantile(0.99)
	peak, err := srv.peak()
	if err != nil {
		return err
	}
	s.add(row2("start, search, kept diff and case page while two dumps are read: p99", fmt.Sprintf("%s, median %s of %d", rounded(p99), rounded(times.median()), len(times)), p99.Seconds()*1e3, below(50, " ms")))
	mib := float64(peak) / mebi
	s.add(row2("  peak memory of the server after all of this, without its program's file", fmt.Sprintf("%.1f MiB", mib), mib, target{unit: " MiB"}))
	return nil
}

// underLoad asks for pages while two dumps are read that no other load had.
func underLoad(s *suite, srv *serving, dir string, addresses []string, seed uint64) (series, error) {
	var group sync.WaitGroup
	var running atomic.Int32
	failed := make(chan error, 2)
	running.Store(2)
	for i := range uint64(2) {
		path := filepath.Join(dir, fmt.Sprintf("load%d.txt", seed+i))
		if _, err := printFile(path, dumpConfig{Goroutines: s.size.loaded, Stacks: fewStacks, Seed: seed + i}); err != nil {
			return nil, err
		}
		group.Go(func() {
			defer running.Add(-1)
			if _, err := srv.putFile(path); err != nil {
				failed <- err
			}
		})
	}
	times, err := askSteadily(srv, addresses, func() bool { return running.Load() > 0 })
	group.Wait()
	if err != nil {
		return nil, err
	}
	select {
	case err := <-failed:
		return nil, err
	default:
		return times, nil
	}
}

const (
	trendFamilies  = 400
	trendSnapshots = 500
)

// measureTrend decides on every family of a long series, in process.
func measureTrend(s *suite) {
	snaps := longSeries()
	var load, judge series
	var verdicts map[string]analysis.Verdict
	for range s.size.rounds {
		var loaded *trend.Series
		load.time(func() { loaded = trend.NewSeries(trend.Input{Snapshots: snaps}) })
		// As testing.B does before it measures: else the collector, which loading has set
		// going, is measured as well, in every other round.
		runtime.GC()
		judge.time(func() { verdicts = loaded.Verdicts() })
	}
	leaking := 0
	for _, v := range verdicts {
		if v == analysis.Leaking {
			leaking++
		}
	}
	s.add(row2("trend over 500 snapshots × 400 families: all verdicts", rounded(judge.median()), judge.median().Seconds()*1e3, below(5, " ms")))
	s.add(row2("  and before that, once: its 5 million members numbered", rounded(load.median()), load.median().Seconds()*1e3, target{unit: " ms"}))
	s.note("Of the 400 families of the trend 10 are made to leak; %d are found.", leaking)
}

// longSeries is 400 families in 500 snapshots: each has 20 members that stay and
// some that come and go; every fortieth grows by one in four snapshots.
func longSeries() []*analysis.Snapshot {
	r := rand.New(rand.NewPCG(1, 2))
	kinds := make([]*analysis.Family, trendFamilies)
	for f := range kinds {
		kinds[f] = &analysis.Family{Fingerprint: "g1:" + strconv.Itoa(f), Kind: analysis.KindGoroutine}
	}
	snaps := make([]*analysis.Snapshot, trendSnapshots)
	fresh := int64(10_000_000)
	start := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	for i := range snaps {
		total := 0
		snap := &analysis.Snapshot{Label: strconv.Itoa(i), CapturedAt: start.Add(time.Duration(i) * time.Minute), MaxGoroutineID: fresh * 2}
		for f, family := range kinds {
			g := analysis.Group{Family: family, OldestWait: i}
			stay := 20
			if f%40 == 0 {
				stay += i / 4
			}
			for m := range stay {
				g.Members.Fill().ID = append(g.Members.Fill().ID, int64(f*10_000+m))
				g.Members.Fill().Wait = append(g.Members.Fill().Wait, int32(i-max(0, m-20)*4))
			}
			for range r.IntN(10) {
				fresh++
				g.Members.Fill().ID = append(g.Members.Fill().ID, fresh)
				g.Members.Fill().Wait = append(g.Members.Fill().Wait, -1)
			}
			g.Count = len(g.Members.ID)
			total += g.Count
			snap.Groups = append(snap.Groups, g)
		}
		snap.Totals.Goroutines = &total
		snaps[i] = snap
	}
	return snaps
}
