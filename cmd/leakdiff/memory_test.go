package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/say/report"
	"leakdiff/internal/test/hostile"
	"leakdiff/samples/corpus"
)

// memoryLimit bounds the memory of the server's process, in KiB.
const memoryLimit = 64 << 10

var peakLine = regexp.MustCompile(`(?m)^VmHWM:\s+(\d+) kB$`)

// peak is the highest memory of the process since forgetPeak, in KiB.
func (s *serving) peak() int {
	s.t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		s.t.Fatal(err)
	}
	m := peakLine.FindSubmatch(status)
	if m == nil {
		s.t.Fatalf("no VmHWM in %s", status)
	}
	n, err := strconv.Atoi(string(m[1]))
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}

// forgetPeak resets the peak to the present use (proc(5), clear_refs).
func (s *serving) forgetPeak() {
	s.t.Helper()
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", s.cmd.Process.Pid), []byte("5"), 0); err != nil {
		s.t.Fatal(err)
	}
}

// within fails if the peak of a step is over the limit.
func (s *serving) within(step string) {
	s.t.Helper()
	n := s.peak()
	s.t.Logf("%-60s peak %.1f MiB", step, float64(n)/1024)
	if n >= memoryLimit {
		s.t.Errorf("%s: the process held %.1f MiB, the limit is %d MiB", step, float64(n)/1024, memoryLimit>>10)
	}
	s.forgetPeak()
}

func needProc(t *testing.T) {
	t.Helper()
	if _, err := os.Stat("/proc/self/clear_refs"); err != nil {
		corpus.LeaveOut(t, "the peak of a process is read from /proc: %v", err)
	}
}

// body is an upload: one raw body, or a form of several files.
type body struct {
	kind string
	open io.Reader
}

func fileBody(t *testing.T, path string) body {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return body{open: f}
}

func formBody(t *testing.T, paths ...string) body {
	t.Helper()
	var b bytes.Buffer
	form := multipart.NewWriter(&b)
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		part, err := form.CreateFormFile("files", filepath.Base(path))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := part.Write(content); err != nil {
			t.Fatal(err)
		}
	}
	if err := form.Close(); err != nil {
		t.Fatal(err)
	}
	return body{kind: form.FormDataContentType(), open: &b}
}

// post uploads as a script does and waits for the result.
func (s *serving) post(b body) upload {
	s.t.Helper()
	a, err := s.request(http.MethodPost, "/api/v1/bundles?wait=1", b.open, "Content-Type", b.kind)
	if err != nil || a.status != http.StatusCreated {
		s.t.Fatalf("uploading: %v, status %d: %s\n%s", err, a.status, a.body, s.stderr)
	}
	return decode[upload](s.t, a.body)
}

func onlySnapshot(t *testing.T, up upload) report.Snapshot {
	t.Helper()
	if up.Status != "done" || len(up.Snapshots) != 1 {
		t.Fatalf("the upload is %s with %d snapshots, want done with 1: %s", up.Status, len(up.Snapshots), up.Error)
	}
	if up.Snapshots[0].Totals.Goroutines == nil {
		t.Fatal("the snapshot has no goroutines")
	}
	return up.Snapshots[0]
}

func TestMemoryStaysFlatOverDumpsOfHundredThousandGoroutines(t *testing.T) {
	corpus.Heavy(t)
	needProc(t)
	large := corpus.Path(t, "large")
	cut := filepath.Join(large, "grpc-100k-pprof-debug2-TRUNCATED-64MiB.txt.gz")
	twin := filepath.Join(large, "grpc-100k-debug1.txt")
	tests := []struct {
		name       string
		body       body
		goroutines int
		truncated  bool
		lower      bool
	}{
		{"a complete dump of 100 MB", fileBody(t, filepath.Join(large, "grpc-100k-runtimeStack-full.txt.gz")), 100305, false, false},
		{"a dump cut at 64 MiB", fileBody(t, cut), 68103, true, true},
		{"a cut dump with its debug=1 twin", formBody(t, cut, twin), 100305, true, false},
		// 100,311 headers, without goroutine 0 and seven that the runtime created.
		{"a SIGQUIT log of 165 MB", fileBody(t, filepath.Join(large, "grpc-100k-SIGQUIT.log.gz")), 100303, false, false},
	}
	// One process reads them all: memory that one leaves counts for the next.
	s := serve(t, t.TempDir(), "--no-samples")
	s.within("start")
	var cases []string
	for _, tt := range tests {
		snap := onlySnapshot(t, s.post(tt.body))
		s.within(tt.name)
		if got := *snap.Totals.Goroutines; got != tt.goroutines {
			t.Errorf("%s: %d goroutines, want %d", tt.name, got, tt.goroutines)
		}
		if snap.Truncated != tt.truncated || snap.LowerBound != tt.lower {
			t.Errorf("%s: truncated %t, lower bound %t, want %t, %t", tt.name, snap.Truncated, snap.LowerBound, tt.truncated, tt.lower)
		}
		cases = append(cases, snap.ID)
	}
	for i, id := range cases {
		s.get("/snapshots/" + id)
		s.within("the page of " + tests[i].name)
	}
}

func TestMemoryStaysFlatOverAGeneratedDump(t *testing.T) {
	corpus.Heavy(t)
	needProc(t)
	const goroutines = 60_000
	s := serve(t, t.TempDir(), "--no-samples")
	bodyReader, bodyWriter := io.Pipe()
	size := make(chan int64, 1)
	go func() {
		c := &counting{w: bodyWriter}
		bodyWriter.CloseWithError(generatedDump(c, 100, goroutines, 32))
		size <- c.n
	}()
	snap := onlySnapshot(t, s.put("generated.txt", bodyReader))
	n := <-size
	s.within(fmt.Sprintf("a generated dump of %d goroutines in %d MB", goroutines, n/1e6))
	if n < 38e6 {
		t.Errorf("the dump has %d bytes, too few to prove anything", n)
	}
	if got := *snap.Totals.Goroutines; got != goroutines+1 {
		t.Errorf("%d goroutines, want %d", got, goroutines+1)
	}
	s.get("/snapshots/" + snap.ID)
	s.within("its page")
}

// TestMemoryStaysFlatOverASeries uploads six dumps, which the verdict needs at the same
// time.
func TestMemoryStaysFlatOverASeries(t *testing.T) {
	corpus.Heavy(t)
	needProc(t)
	s := serve(t, t.TempDir(), "--no-samples")
	var packed bytes.Buffer
	form := multipart.NewWriter(&packed)
	var want []int
	for i := range 6 {
		n := 12_000 + 2000*i
		want = append(want, n+1)
		at := time.Date(2026, 11, 21, 3, i, 0, 0, time.UTC)
		part, err := form.CreateFormFile("files", "app-"+at.Format("20060102T150405Z")+"-goroutine.txt.gz")
		if err != nil {
			t.Fatal(err)
		}
		z := gzip.NewWriter(part)
		if err := generatedDump(z, 100, n, 32); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := form.Close(); err != nil {
		t.Fatal(err)
	}
	up := s.post(body{kind: form.FormDataContentType(), open: &packed})
	s.within("six dumps of 12,000 to 22,000 goroutines")
	var got []int
	for _, snap := range up.Snapshots {
		got = append(got, countsOf(analysis.Counts{analysis.CountOf(snap.Totals.Goroutines)})...)
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("totals %v, want %v", got, want)
	}
	s.get(up.Link)
	s.within("the page of the case")
	s.get("/diff/" + up.Snapshots[0].ID + ".." + up.Snapshots[5].ID)
	s.within("the page of the difference")
}

// bigListing writes the output of lsof on a node: processes with 114 files each, most of
// them connections.
func bigListing(w io.Writer, rows, each int) error {
	out := bufio.NewWriter(w)
	fmt.Fprintln(out, "COMMAND   PID USER   FD      TYPE DEVICE SIZE/OFF     NODE NAME")
	for i := range rows {
		pid, fd := 10_000+i/each, i%each
		switch {
		case fd%10 == 0:
			fmt.Fprintf(out, "sock    %5d root %4dr      REG   0,29        0 %8d /sys/fs/cgroup/cpu/cpu.cfs_quota_us\n", pid, fd, 11)
		case fd%10 == 1:
			fmt.Fprintf(out, "sock    %5d root %4du  a_inode   0,14        0     1060 [eventpoll:%d]\n", pid, fd, fd)
		default:
			fmt.Fprintf(out, "sock    %5d root %4du     IPv4 %6d      0t0      TCP 10.1.%d.%d:%d->10.0.0.%d:443 (ESTABLISHED)\n", pid, fd, 340_000+i, pid%250, fd%256, 33_000+fd, fd%7)
		}
	}
	return out.Flush()
}

// outputAndPeak runs a program and returns the highest memory of its process in KiB.
// Maxrss of an ended child is at least the peak of its parent, this process
// (setmax_mm_hiwater_rss in the kernel's exec_mmap). So VmHWM is read as long as the
// program runs.
func outputAndPeak(t *testing.T, cmd *exec.Cmd) (out []byte, peak int64) {
	t.Helper()
	var stdout bytes.Buffer
	cmd.Stdout = &stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case err := <-ended:
			if err != nil || peak == 0 {
				t.Fatalf("%v, peak %d", err, peak)
			}
			return stdout.Bytes(), peak
		case <-tick.C:
		}
		// An ending process may have no memory, and no such line.
		status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid))
		if line := peakLine.FindSubmatch(status); line != nil {
			kib, err := strconv.ParseInt(string(line[1]), 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			peak = max(peak, kib)
		}
	}
}

// TestAReportOfABigListingIsSmall measures the process of one report. Rows cost little;
// each process is a series of its own with a verdict for each of its families.
func TestAReportOfABigListingIsSmall(t *testing.T) {
	corpus.Heavy(t)
	needProc(t)
	const rows = 600_000
	for name, tt := range map[string]struct {
		each  int // rows of a process
		limit int64
	}{
		"of few large processes":  {2000, 150 << 10},
		"of many small processes": {114, 450 << 10},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "lsof.txt")
			f, err := os.Create(path)
			if err == nil {
				err = errors.Join(bigListing(f, rows, tt.each), f.Close())
			}
			if err != nil {
				t.Fatal(err)
			}
			var all report.Report
			var peak int64
			for range 3 { // a busy machine delays the collector, which only adds to a peak
				cmd := exec.Command(binary(t), "report", "--format", "json", path)
				cmd.Env = environment()
				var out []byte
				if out, peak = outputAndPeak(t, cmd); peak < tt.limit {
					all = decode[report.Report](t, string(out))
					break
				}
			}
			descriptors := 0
			for _, s := range all.Snapshots {
				descriptors += analysis.CountOf(s.Totals.Descriptors).N
			}
			processes := (rows + tt.each - 1) / tt.each
			if len(all.Snapshots) != processes || len(all.Series) != processes || descriptors != rows {
				t.Errorf("%d snapshots in %d series with %d descriptors, want %d processes with %d", len(all.Snapshots), len(all.Series), descriptors, processes, rows)
			}
			t.Logf("%d rows: peak %.1f MiB", rows, float64(peak)/1024)
			if peak >= tt.limit {
				t.Errorf("the process held %.1f MiB, the limit is %d MiB", float64(peak)/1024, tt.limit>>10)
			}
		})
	}
}

// TestHostileUploadsStayWithinTheMemoryOfTheServer sends each to a server of its own and opens
// the pages of the result.
func TestHostileUploadsStayWithinTheMemoryOfTheServer(t *testing.T) {
	corpus.Heavy(t)
	needProc(t)
	const limit = 256 << 10
	sizes := map[string]int{
		"threads without anything in common": 20_000, "threads with deep stacks": 500, "rows of lsof of one process": 25_000,
		"rows of lsof of as many processes": 25_000, "listings of lsof one after the other": 5_000, "sockets of ss": 20_000,
		"empty files in a tar": 200_000, "stacks of debug=1": 30_000, "watches of inotify in a tar": 1_000_000,
	}
	for _, in := range hostile.All() {
		n := sizes[in.Name]
		if n == 0 {
			continue
		}
		t.Run(in.Name, func(t *testing.T) {
			s := serve(t, t.TempDir(), "--no-samples")
			out, w := io.Pipe()
			go func() { w.CloseWithError(in.Write(w, n)) }()
			a, err := s.request(http.MethodPut, "/api/v1/bundles/"+in.File+"?wait=1", out)
			if err != nil || a.status != http.StatusCreated && a.status != http.StatusAccepted {
				t.Fatalf("%v, %d: %.300s", err, a.status, a.body)
			}
			up := decode[upload](t, a.body)
			pages := []string{"", up.Link, "/bundles/" + up.ID}
			if len(up.Snapshots) > 0 {
				pages = append(pages, "/snapshots/"+up.Snapshots[0].ID)
			}
			for _, page := range pages {
				if page != "" {
					s.get(page)
				}
				if n := s.peak(); n >= limit {
					t.Errorf("after %q the process held %.1f MiB, the limit is %d MiB", page, float64(n)/1024, limit>>10)
				}
			}
			t.Logf("peak %.1f MiB", float64(s.peak())/1024)
		})
	}
}

type counting struct {
	w io.Writer
	n int64
}

func (c *counting) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}
