package bundle_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/read/bundle"
	"leakdiff/samples/corpus"
)

// repeated is an endless file: n bytes of one value, without keeping them.
type repeated struct {
	n int64
	c byte
}

func (r *repeated) Read(p []byte) (int, error) {
	if r.n == 0 {
		return 0, io.EOF
	}
	n := int(min(int64(len(p)), r.n))
	for i := range p[:n] {
		p[i] = r.c
	}
	r.n -= int64(n)
	return n, nil
}

func gzipped(t testing.TB, r io.Reader) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	if _, err := io.Copy(z, r); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

type entry struct {
	name string
	body string
}

func tarred(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var out bytes.Buffer
	tw := tar.NewWriter(&out)
	for _, e := range entries {
		h := &tar.Header{Name: e.name, Mode: 0o644, Size: int64(len(e.body)), ModTime: testNow.Add(-time.Hour)}
		if err := tw.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		io.WriteString(tw, e.body)
	}
	if err := tw.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func zipped(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var out bytes.Buffer
	zw := zip.NewWriter(&out)
	for _, e := range entries {
		f, err := zw.Create(e.name)
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(f, e.body)
	}
	if err := zw.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestAGzipBombIsStoppedAndTheRestOfTheBundleIsRead(t *testing.T) {
	corpus.Heavy(t)
	bomb := gzipped(t, &repeated{n: 256 << 20})
	upload := tarred(t, entry{"before.txt", "a"}, entry{"bomb.gz", string(bomb)}, entry{"after.txt", "b"})
	w := walk(t, testConfig(t), memory("upload.tar", upload))
	if f := w.file(t, "bomb.gz"); !f.truncated || len(f.content) > 66<<20 {
		t.Errorf("the bomb gave %d bytes, truncated %v; want at most 66 MiB, truncated", len(f.content), f.truncated)
	}
	if string(w.file(t, "after.txt").content) != "b" || string(w.file(t, "before.txt").content) != "a" {
		t.Error("the bomb's neighbours were not read")
	}
	if !w.says("more than 200 times") || w.stats.Stopped != "" {
		t.Errorf("problems %v, stopped %q; want the ratio named and the walk finished", w.listing(), w.stats.Stopped)
	}
}

func TestAStreamThatIsParsedAsADumpMayPackAnyRatio(t *testing.T) {
	corpus.Heavy(t)
	packed := gzipped(t, &repeated{n: 96 << 20, c: 'g'})
	inputs := []bundle.Input{memory("d.tar.gz", gzipped(t, bytes.NewReader(tarred(t,
		entry{"dump.gz", string(packed)}, entry{"next.txt", "x"}))))}
	var sizes []int64
	_, problems, err := bundle.Walk(context.Background(), testConfig(t), inputs, func(m *bundle.Member) error {
		m.Parsing()
		n, err := io.Copy(io.Discard, m.Body)
		sizes = append(sizes, n)
		return err
	})
	if err != nil || len(problems) > 0 || len(sizes) != 2 || sizes[0] != 96<<20 || sizes[1] != 1 {
		t.Errorf("sizes %v, problems %v, err %v; want the whole dump and its neighbour", sizes, problems, err)
	}
}

func TestTheByteBudgetEndsTheWalkAndKeepsWhatWasRead(t *testing.T) {
	cfg := testConfig(t)
	cfg.Budget.Bytes = 1 << 20
	w := walk(t, cfg, memory("a.gz", gzipped(t, &repeated{n: 600 << 10})), memory("b.gz", gzipped(t, &repeated{n: 600 << 10})), memory("c.txt", []byte("c")))
	if w.err != nil || w.stats.Stopped != "bytes" || !w.says("unpacks to more than 1 MiB") {
		t.Fatalf("err %v, stopped %q, problems %v; want bytes", w.err, w.stats.Stopped, w.listing())
	}
	if a := w.file(t, "a.gz"); len(a.content) != 600<<10 || a.truncated {
		t.Errorf("a.gz has %d bytes, truncated %v; want all of it", len(a.content), a.truncated)
	}
	if b := w.file(t, "b.gz"); !b.truncated || len(b.content) < 300<<10 || len(b.content) > 480<<10 {
		t.Errorf("b.gz has %d bytes, truncated %v; want what was left of the budget", len(b.content), b.truncated)
	}
	if len(w.files) != 2 {
		t.Errorf("files %q were visited, want nothing after the stop", w.paths())
	}
}

func TestTheEntryBudgetStopsAMillionEmptyMembers(t *testing.T) {
	cfg := testConfig(t)
	cfg.Budget.Entries = 1000
	var many []entry
	for i := range 3000 {
		many = append(many, entry{fmt.Sprintf("f%06d", i), ""})
	}
	for name, upload := range map[string][]byte{"tar": tarred(t, many...), "zip": zipped(t, many...), "tar.gz": gzipped(t, bytes.NewReader(tarred(t, many...)))} {
		w := walk(t, cfg, memory("many."+name, upload))
		if w.stats.Stopped != "entries" || len(w.files) != 999 || !w.says("more than 1000 files") {
			t.Errorf("%s: stopped %q after %d files, problems %v; want entries after the input and 999", name, w.stats.Stopped, len(w.files), w.listing())
		}
	}
}

func TestTheTimeBudgetIsCheckedWhileReading(t *testing.T) {
	corpus.Heavy(t)
	cfg := testConfig(t)
	now := testNow
	cfg.Now = func() time.Time { now = now.Add(time.Millisecond); return now }
	cfg.Budget.Duration = time.Second
	w := walk(t, cfg, memory("long.gz", gzipped(t, &repeated{n: 60 << 20})))
	if w.stats.Stopped != "time" || !w.says("longer than 1s") {
		t.Fatalf("stopped %q, problems %v; want time", w.stats.Stopped, w.listing())
	}
	if f := w.files[0]; !f.truncated || len(f.content) == 0 || len(f.content) >= 60<<20 {
		t.Errorf("%d bytes, truncated %v; want a part", len(f.content), f.truncated)
	}
}

func TestEmptyGzipMembersThatGiveNothingStillCostTime(t *testing.T) {
	cfg := testConfig(t)
	now := testNow
	cfg.Now = func() time.Time { now = now.Add(time.Second); return now }
	cfg.Budget.Duration = 10 * time.Second
	empty := gzipped(t, strings.NewReader(""))
	w := walk(t, cfg, memory("nothing.gz", bytes.Repeat(empty, 200_000)))
	if w.stats.Stopped != "time" {
		t.Errorf("stopped %q, want time", w.stats.Stopped)
	}
}

func TestProblemsBeyondTheirBudgetAreCounted(t *testing.T) {
	cfg := testConfig(t)
	cfg.Budget.Problems = 10
	var broken []entry
	for i := range 50 {
		broken = append(broken, entry{fmt.Sprintf("b%02d.gz", i), "\x1f\x8b\x08cut"})
	}
	w := walk(t, cfg, memory("broken.tar", tarred(t, broken...)))
	if len(w.problems) != 11 || w.problems[10].What != "40 more problems are not listed" || len(w.files) != 50 {
		t.Errorf("%d problems, the last %q, %d files; want 10, a count of 40, 50", len(w.problems), w.problems[len(w.problems)-1].What, len(w.files))
	}
}

func TestArchivesDeeperThanTheBudgetAreListedUnopened(t *testing.T) {
	inner := []byte("deep")
	for i := range 6 {
		inner = tarred(t, entry{fmt.Sprintf("level%d.tar", i), string(inner)})
	}
	w := walk(t, testConfig(t), memory("top.tar", inner))
	if len(w.files) != 1 || w.files[0].Path != "level5.tar!/level4.tar!/level3.tar!/level2.tar" || !w.says("1 archive was not opened") {
		t.Errorf("files %q, problems %v; want the fifth archive listed", w.paths(), w.listing())
	}
}

func TestPackingsAroundEachOtherEnd(t *testing.T) {
	content := []byte("x")
	for range 7 {
		content = gzipped(t, bytes.NewReader(content))
	}
	w := walk(t, testConfig(t), memory("x.gz", content))
	if f := w.files[0]; len(f.Compressed) != 4 || !w.says("4 packings lie around each other") {
		t.Errorf("%q removed, problems %v; want 4 packings", f.Compressed, w.listing())
	}
}

// longHeader is a tar entry that describes the next one: L a GNU long name, x PAX
// records.
func longHeader(typeflag byte, body string) []byte {
	h := make([]byte, 512)
	copy(h, "././@LongLink")
	copy(h[100:], "0000644\x000000000\x000000000\x00")
	copy(h[124:], fmt.Sprintf("%011o\x00%011o\x00", len(body), 0))
	h[156] = typeflag
	copy(h[257:], "ustar\x0000")
	copy(h[148:], "        ")
	sum := 0
	for _, c := range h {
		sum += int(c)
	}
	copy(h[148:], fmt.Sprintf("%06o\x00 ", sum))
	return append(h, body+strings.Repeat("\x00", (512-len(body)%512)%512)...)
}

func TestHugeTarNamesStopTheArchiveAndKeepWhatCameBefore(t *testing.T) {
	huge := strings.Repeat("n", 2<<20)
	for name, header := range map[string][]byte{
		"GNU long name of 2 MiB":   longHeader('L', huge),
		"PAX record of 1.5 MiB":    longHeader('x', fmt.Sprintf("%d path=%s\n", 3<<19+15, huge[:3<<19])),
		"PAX records that are not": longHeader('x', "12 nonsense"),
	} {
		good := tarred(t, entry{"first.txt", "kept"})
		upload := append(good[:len(good)-1024:len(good)-1024], header...)
		upload = append(upload, tarred(t, entry{"last.txt", "x"})...)
		w := walk(t, testConfig(t), memory("names.tar", upload))
		if string(w.file(t, "first.txt").content) != "kept" || !w.says("tar archive is damaged", "1 entry before it is kept") {
			t.Errorf("%s: files %q, problems %v; want the first member and a message", name, w.paths(), w.listing())
		}
	}
}

func TestALineOf200MiBPassesThrough(t *testing.T) {
	corpus.Heavy(t)
	line := bundle.Input{Name: "line.txt", Size: -1, Open: func() (io.ReadCloser, error) { return io.NopCloser(&repeated{n: 200 << 20, c: 'x'}), nil }}
	var sizes []int64
	_, problems, err := bundle.Walk(context.Background(), testConfig(t), []bundle.Input{line, memory("rest.txt", []byte("rest"))}, func(m *bundle.Member) error {
		n, err := io.Copy(io.Discard, m.Body)
		sizes = append(sizes, n)
		return err
	})
	if err != nil || len(problems) != 0 || len(sizes) != 2 || sizes[0] != 200<<20 || sizes[1] != 4 {
		t.Errorf("sizes %v, problems %v, err %v", sizes, problems, err)
	}
}

func TestACancelledWalkReturnsTheContextsError(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	inputs := []bundle.Input{memory("a.gz", gzipped(t, &repeated{n: 1 << 20})), memory("b.txt", nil)}
	visits := 0
	_, _, err := bundle.Walk(ctx, testConfig(t), inputs, func(m *bundle.Member) error {
		visits++
		cancel()
		_, err := io.Copy(io.Discard, m.Body)
		if !errors.Is(m.Stop(err), context.Canceled) {
			t.Errorf("Stop(%v) = %v, want the context's error", err, m.Stop(err))
		}
		return nil
	})
	if !errors.Is(err, context.Canceled) || visits != 1 {
		t.Errorf("err %v after %d visits, want cancelled after 1", err, visits)
	}
}

func TestAVisitsErrorEndsTheWalk(t *testing.T) {
	visits := 0
	_, _, err := bundle.Walk(context.Background(), testConfig(t), []bundle.Input{memory("a", []byte("a")), memory("b", []byte("b"))}, func(m *bundle.Member) error {
		visits++
		return errVisit
	})
	if !errors.Is(err, errVisit) || visits != 1 {
		t.Errorf("err %v after %d visits, want the visit's after 1", err, visits)
	}
}

func TestOnlyAWalkThatOpensNothingFails(t *testing.T) {
	missing := bundle.Input{Name: "gone", Size: -1, Open: func() (io.ReadCloser, error) { return nil, os.ErrNotExist }}
	w := walk(t, testConfig(t), missing, memory("there", []byte("x")))
	if w.err != nil || len(w.files) != 1 || !w.says("could not be opened") {
		t.Errorf("err %v, files %q, problems %v; want one file and a problem", w.err, w.paths(), w.listing())
	}
	w = walk(t, testConfig(t), missing, missing)
	var fault *analysis.Fault
	if !errors.As(w.err, &fault) || fault.Code != "unreadable" || !errors.Is(w.err, os.ErrNotExist) {
		t.Errorf("err %v, want a Fault unreadable", w.err)
	}
}

// peakMemory in MiB is the most that a hostile upload may hold at once, the Go runtime
// included. Its bytes are read once at most, and who reads them allocates no more than
// mostAllocated MiB in all and mostAllocations for each file.
const (
	peakMemory      = 128
	mostAllocated   = 200
	mostAllocations = 40
)

// closer are tighter bounds for those that once took gigabytes elsewhere.
var closer = map[string]int{
	"dict1g.xz": 40, "zwin31.zst": 40, "nested8.zip": 60, "overlap.zip": 40, "sparse-pax.tar": 40, "sparse-gnu.tar": 40,
	"a bomb of 2 GB": 40, "a line of 200 MiB": 40,
}

// made are the hostile uploads that are too large to ship.
var made = map[string]func(t *testing.T, w io.Writer){
	"a bomb of 2 GB": func(t *testing.T, w io.Writer) {
		member := gzipped(t, &repeated{n: 20e6})
		for range 100 {
			w.Write(member)
		}
	},
	"1,000,000 empty members": func(t *testing.T, w io.Writer) {
		z, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
		if err != nil {
			t.Fatal(err)
		}
		tw := tar.NewWriter(z)
		for i := range 1_000_000 {
			if err := tw.WriteHeader(&tar.Header{Name: "empty/" + strconv.Itoa(i), Format: tar.FormatUSTAR}); err != nil {
				t.Fatal(err)
			}
		}
		tw.Close()
		z.Close()
	},
	"a PAX record of 1.5 MiB": func(t *testing.T, w io.Writer) {
		w.Write(longHeader('x', fmt.Sprintf("%d path=%s\n", 3<<19+15, strings.Repeat("n", 3<<19))))
		w.Write(tarred(t, entry{"last.txt", "x"}))
	},
	"a GNU name of 2 MiB": func(t *testing.T, w io.Writer) {
		w.Write(longHeader('L', strings.Repeat("n", 2<<20)))
		w.Write(tarred(t, entry{"last.txt", "x"}))
	},
	"a line of 200 MiB": func(t *testing.T, w io.Writer) { io.Copy(w, &repeated{n: 200 << 20, c: 'x'}) },
	"100 MiB of NULs":   func(t *testing.T, w io.Writer) { io.Copy(w, &repeated{n: 100 << 20}) },
	"100,000 zip entries of one name": func(t *testing.T, w io.Writer) {
		w.Write(zipped(t, slices.Repeat([]entry{{"same.txt", ""}}, 100_000)...))
	},
}

// TestMemoryAndWorkStayFlat walks every hostile upload in a child process and reads
// the most memory it ever held from /proc/self/status.
func TestMemoryAndWorkStayFlat(t *testing.T) {
	corpus.Heavy(t)
	if runtime.GOOS != "linux" {
		corpus.LeaveOut(t, "reads VmHWM, which only Linux has")
	}
	if name := os.Getenv("BUNDLE_PEAK_OF"); name != "" {
		peakChild(t, name)
		return
	}
	for name, write := range made {
		t.Run(name, func(t *testing.T) {
			f, err := os.Create(filepath.Join(t.TempDir(), "upload"))
			if err != nil {
				t.Fatal(err)
			}
			write(t, f)
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
			peak(t, f.Name(), cmp.Or(closer[name], peakMemory))
		})
	}
	table := corpus.Path(t, "bundles/hostile/EXPECTED.tsv")
	for _, name := range rows(t, table) {
		t.Run(name, func(t *testing.T) {
			peak(t, filepath.Join(filepath.Dir(table), name), cmp.Or(closer[name], peakMemory))
		})
	}
}

func peak(t *testing.T, path string, mib int) {
	t.Helper()
	child := exec.Command(os.Args[0], "-test.run=^TestMemoryAndWorkStayFlat$", "-test.v")
	child.Env = append(os.Environ(), "BUNDLE_PEAK_OF="+path)
	out, err := child.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	_, after, _ := strings.Cut(string(out), "VmHWM:")
	kib, err := strconv.Atoi(strings.Fields(after + " x")[0])
	if err != nil {
		t.Fatalf("no peak in %s", out)
	}
	if kib>>10 > mib {
		t.Errorf("peak %d MiB, want at most %d", kib>>10, mib)
	}
	_, work, _ := strings.Cut(string(out), "work: ")
	var size, read, allocated, allocations, files int64
	if _, err := fmt.Sscan(work, &size, &read, &allocated, &allocations, &files); err != nil {
		t.Fatalf("%v: no work in %s", err, out)
	}
	if read > size || allocated>>20 > mostAllocated || allocations > 4000+mostAllocations*files {
		t.Errorf("%d of %d bytes were read, with %d allocations of %d MiB for %d files and archives", read, size, allocations, allocated>>20, files)
	}
}

func peakChild(t *testing.T, path string) {
	debug.SetGCPercent(100) // whatever the tests themselves have
	stats, _, err := bundle.Walk(context.Background(), testConfig(t), []bundle.Input{onDisk(path)}, func(m *bundle.Member) error {
		_, err := io.Copy(io.Discard, m.Body)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	fmt.Println(string(status))
	fmt.Println("work:", info.Size(), stats.BytesIn, memory.TotalAlloc, memory.Mallocs, stats.Files+stats.Archives)
}
