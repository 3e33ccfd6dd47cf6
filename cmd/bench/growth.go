package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// growthSizes are how much is there before.
type growthSizes struct {
	// pushed are the captures of the cases into which one more is pushed, reported those
	// of the series that are reported.
	pushed, reported []int
	// viewed are the captures of the series whose pages are asked for, many the series of
	// the wide case, packed the captures of one archive.
	viewed, many, packed int
}

var (
	fullGrowth  = growthSizes{[]int{10, 1_000, 10_000}, []int{1_000, 4_000}, 2_000, 500, 20_000}
	shortGrowth = growthSizes{[]int{10, 100, 1_000}, []int{100, 400}, 200, 50, 2_000}
)

// measureGrowthOfCases says how the work grows with what was there before, in processor time of
// the server.
func measureGrowthOfCases(s *suite) error {
	sizes := fullGrowth
	if s.size.name != full.name {
		sizes = shortGrowth
	}
	dir, err := os.MkdirTemp("", "growth")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	binary, err := program(dir)
	if err != nil {
		return err
	}
	for _, measure := range []func(*suite, growthSizes, string, string) error{measurePushes, measureReports, measureViews, measurePacked} {
		if err := measure(s, sizes, binary, dir); err != nil {
			return err
		}
	}
	return nil
}

// pushesMeasured is how many pushes one figure is the mean of: the kernel counts in
// hundredths of a second.
const pushesMeasured = 10

// measurePushes pushes captures one by one into cases of different size.
func measurePushes(s *suite, sizes growthSizes, binary, dir string) error {
	limits := []float64{0, 3, 4}
	var base time.Duration
	for i, n := range sizes.pushed {
		each, err := pushInto(binary, filepath.Join(dir, fmt.Sprint("push", n)), n)
		if err != nil {
			return err
		}
		if i == 0 {
			base = each
			s.add(row{what: fmt.Sprintf("one push into a case of %d captures", n), ours: rounded(each)})
			continue
		}
		s.add(row{what: fmt.Sprintf("one push into a case of %d captures", n), ours: rounded(each), peer: rounded(base)}.judged(float64(each)/float64(base), atMost(limits[i])))
	}
	return nil
}

func pushInto(binary, data string, n int) (time.Duration, error) {
	srv, err := serve(binary, data)
	if err != nil {
		return 0, err
	}
	defer srv.stop()
	p := newProcess("kubelet", kubeletFamilies, n+pushesMeasured, time.Minute, 1)
	packed := newArchive()
	for range n {
		packed.add(p)
	}
	body, err := packed.bytes()
	if err != nil {
		return 0, err
	}
	up, err := srv.put("captures.tar.gz", "", bytes.NewReader(body), int64(len(body)))
	if err != nil {
		return 0, err
	}
	if len(up.Snapshots) != n {
		return 0, fmt.Errorf("%d snapshots of %d captures", len(up.Snapshots), n)
	}
	before, err := srv.rest()
	if err != nil {
		return 0, err
	}
	for k := range pushesMeasured {
		one := newArchive()
		one.add(p)
		body, err := one.bytes()
		if err != nil {
			return 0, err
		}
		if _, err := srv.put(fmt.Sprintf("capture-%d.tar.gz", k), up.Case, bytes.NewReader(body), int64(len(body))); err != nil {
			return 0, err
		}
	}
	after, err := srv.rest()
	return (after - before) / pushesMeasured, err
}

// rest waits until the server has nothing to do and returns its processor time.
func (s *serving) rest() (time.Duration, error) {
	var last time.Duration
	for still := 0; still < 5; {
		time.Sleep(100 * time.Millisecond)
		now, err := s.busy()
		if err != nil {
			return 0, err
		}
		if still++; now != last {
			still = 0
		}
		last = now
	}
	return last, nil
}

// measureReports reports a series on the command line.
func measureReports(s *suite, sizes growthSizes, binary, dir string) error {
	var times []time.Duration
	for _, n := range sizes.reported {
		path := filepath.Join(dir, fmt.Sprintf("series-%d.tar.gz", n))
		p, packed := newProcess("kubelet", kubeletFamilies, n, time.Minute, 1), newArchive()
		for range n {
			packed.add(p)
		}
		body, err := packed.bytes()
		if err != nil {
			return err
		}
		if err := os.WriteFile(path, body, 0o600); err != nil {
			return err
		}
		cmd := exec.Command(binary, "report", "--format", "json", path)
		if out, err := cmd.Output(); err != nil {
			return fmt.Errorf("%s: %w: %.500s", cmd, err, out)
		}
		times = append(times, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
	}
	last := len(times) - 1
	s.add(row{
		what: fmt.Sprintf("report of %d snapshots of one series", sizes.reported[last]), ours: rounded(times[last]),
		peer: rounded(times[0]), bound: fmt.Sprint(sizes.reported[0], " snapshots"),
	}.judged(float64(times[last])/float64(times[0]), atMost(5)))
	return nil
}

// measureViews asks for pages of a long and of a wide case, each for the first time.
func measureViews(s *suite, sizes growthSizes, binary, dir string) error {
	srv, err := serve(binary, filepath.Join(dir, "views"))
	if err != nil {
		return err
	}
	defer srv.stop()
	long := newArchive()
	p := newProcess("kubelet", kubeletFamilies, sizes.viewed, time.Minute, 1)
	for range sizes.viewed {
		long.add(p)
	}
	if err := s.viewCase(srv, fmt.Sprintf("a series of %d", sizes.viewed), long); err != nil {
		return err
	}
	wide := newArchive()
	for k := range sizes.many {
		p := newProcess("worker-"+letters(k), smallFamilies, 4, time.Hour, uint64(k))
		for range 4 {
			wide.add(p)
		}
	}
	return s.viewCase(srv, fmt.Sprintf("%d series × 4", sizes.many), wide)
}

func letters(k int) string {
	return string([]byte{byte('a' + k/676%26), byte('a' + k/26%26), byte('a' + k%26)})
}

func (s *suite) viewCase(srv *serving, what string, packed *archive) error {
	body, err := packed.bytes()
	if err != nil {
		return err
	}
	up, err := srv.put("captures.tar.gz", "", bytes.NewReader(body), int64(len(body)))
	if err != nil {
		return err
	}
	return s.viewPages(srv, what, up)
}

func (s *suite) viewPages(srv *serving, what string, up uploaded) error {
	addresses, err := addressesOf(srv, up)
	if err != nil {
		return err
	}
	if _, err := srv.rest(); err != nil {
		return err
	}
	for _, a := range addresses {
		before, err := srv.busy()
		if err != nil {
			return err
		}
		began := time.Now()
		_, body, err := srv.get(a.path)
		if err != nil {
			return err
		}
		took := time.Since(began)
		after, err := srv.busy()
		if err != nil {
			return err
		}
		s.add(row2(fmt.Sprintf("%s: %s (%.1f kB), processor %s", what, a.name, float64(len(body))/1e3, rounded(after-before)), rounded(took), took.Seconds()*1e3, below(300, " ms")))
	}
	return nil
}

type viewed struct{ name, path string }

// addressesOf are a page of each sort.
func addressesOf(srv *serving, up uploaded) ([]viewed, error) {
	_, body, err := srv.get("/api/v1/cases/" + up.Case)
	if err != nil {
		return nil, err
	}
	var report struct {
		Series []struct {
			Snapshots []string
			Families  []struct{ Fingerprint, Verdict string }
		}
	}
	if err := json.Unmarshal(body, &report); err != nil {
		return nil, err
	}
	first := report.Series[0]
	slices.SortStableFunc(first.Families, func(a, b struct{ Fingerprint, Verdict string }) int {
		return strings.Compare(a.Verdict, b.Verdict)
	})
	from, to := first.Snapshots[0], first.Snapshots[len(first.Snapshots)-1]
	family := first.Families[0].Fingerprint
	return []viewed{
		{"its page", up.Link}, {"with a filter", up.Link + "?q=main"}, {"its Markdown", up.Link + ".md"}, {"its JSON", up.Link + ".json"},
		{"a diff", "/diff/" + from + ".." + to + "?case=" + up.Case}, {"a family", "/families/" + family + "?case=" + up.Case},
		{"a snapshot", "/snapshots/" + to + "?case=" + up.Case}, {"its identities", up.Link + "/identity"}, {"the list of cases", "/"},
	}, nil
}

// measurePacked uploads many captures in one archive.
func measurePacked(s *suite, sizes growthSizes, binary, dir string) error {
	srv, err := serve(binary, filepath.Join(dir, "packed"))
	if err != nil {
		return err
	}
	defer srv.stop()
	packed := newArchive()
	for k := range 200 {
		p := newProcess("worker-"+letters(k), smallFamilies, sizes.packed/200, time.Hour, uint64(k))
		for range sizes.packed / 200 {
			packed.add(p)
		}
	}
	body, err := packed.bytes()
	if err != nil {
		return err
	}
	began := time.Now()
	up, err := srv.put("captures.tar.gz", "", bytes.NewReader(body), int64(len(body)))
	if err != nil {
		return err
	}
	took := time.Since(began)
	if len(up.Snapshots) != sizes.packed {
		return fmt.Errorf("%d snapshots of %d captures", len(up.Snapshots), sizes.packed)
	}
	peak, err := srv.peak()
	if err != nil {
		return err
	}
	what := fmt.Sprintf("%d captures in one archive", sizes.packed)
	s.add(row2(what, rounded(took), took.Seconds(), below(12, " s")))
	s.add(row2(what+", peak memory without the program's file", fmt.Sprintf("%d MiB", peak>>20), float64(peak>>20), below(200, " MiB")))
	return s.viewPages(srv, what, up)
}
