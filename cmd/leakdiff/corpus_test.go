package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"leakdiff/analysis"
	"leakdiff/analysis/read/bundle"
	"leakdiff/analysis/read/ingest"
	"leakdiff/analysis/say/report"
	"leakdiff/samples"
	"leakdiff/samples/corpus"
)

// reportOf reads inputs as `leakdiff report` does.
func reportOf(t testing.TB, inputs []bundle.Input) report.Report {
	t.Helper()
	result, err := ingest.Run(t.Context(), ingest.Config{Bundle: bundle.Config{TempDir: t.TempDir()}}, inputs)
	if err != nil {
		t.Fatal(err)
	}
	return report.Build(result.Snapshots, result.Problems, report.Options{Version: "test"}).Report
}

func ofBytes(name string, content []byte) []bundle.Input {
	return []bundle.Input{{Name: name, Size: int64(len(content)), Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil }}}
}

func ofFile(t testing.TB, path string) []bundle.Input {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return []bundle.Input{{Name: filepath.Base(path), Size: info.Size(), ModTime: info.ModTime(), Open: func() (io.ReadCloser, error) { return os.Open(path) }}}
}

// ofDirectory lists the files below a directory. Truth files are listed, but no parser
// reads them.
func ofDirectory(t testing.TB, dir string) []bundle.Input {
	t.Helper()
	inputs, err := bundle.FromFS(os.DirFS(dir), "")
	if err != nil {
		t.Fatal(err)
	}
	return inputs
}

// packTar packs a directory as `tar -czf x.tgz dir` does.
func packTar(t testing.TB, dir string) []byte {
	t.Helper()
	var out bytes.Buffer
	z, err := gzip.NewWriterLevel(&out, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	w := tar.NewWriter(z)
	eachFile(t, dir, func(name string, content []byte, modified time.Time) error {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(content)), ModTime: modified}); err != nil {
			return err
		}
		_, err := w.Write(content)
		return err
	})
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func packZip(t testing.TB, dir string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	eachFile(t, dir, func(name string, content []byte, modified time.Time) error {
		member, err := w.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: modified})
		if err != nil {
			return err
		}
		_, err = member.Write(content)
		return err
	})
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func eachFile(t testing.TB, dir string, pack func(name string, content []byte, modified time.Time) error) {
	t.Helper()
	base := filepath.Base(dir)
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		content, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		return pack(base+"/"+name, content, info.ModTime())
	})
	if err != nil {
		t.Fatal(err)
	}
}

// truth is the right analysis of a series, as the corpus states it.
type truth struct {
	Series    string           `json:"series"`
	Process   string           `json:"process"`
	Verdict   string           `json:"verdict"`
	Snapshots []string         `json:"snapshots"`
	Totals    map[string][]int `json:"totals"`
	Growing   []samples.Row    `json:"growing"`
	Negatives []samples.Row    `json:"must_not_be_called_leaking"`
}

func truthsOf(t *testing.T, dir string) []truth {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "expected*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no truth in %s: %v", dir, err)
	}
	var out []truth
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, decode[truth](t, string(content)))
	}
	return out
}

// derived are rows of the truth about one descriptor number or about mounts instead of a
// family. notInMountinfo has a test of its own.
var derived = regexp.MustCompile(`^(fd \d+| ino:1 |sdev (not )?in mountinfo)$`)

func familyRows(rows []samples.Row) []samples.Row {
	return slices.DeleteFunc(slices.Clone(rows), func(r samples.Row) bool { return slices.ContainsFunc(r.Contains, derived.MatchString) })
}

// listingWords are in the row of a listing, but not in a family.
var listingWords = []string{"a_inode", "inotify wd:", "type=stream (connected)"}

// rowOf reports whether a row is about a family: the family's title, frames, creator and
// attributes together hold every text, without regard to case, arrows and parentheses.
//
//	"->127.0.0.1:18091"  in  remote: "127.0.0.1:18091"
func rowOf(f report.Family, row samples.Row) bool {
	if string(f.Kind) != row.Kind {
		return false
	}
	parts := append([]string{f.Title, f.CreatedBy}, f.Frames...)
	for _, v := range f.Attributes {
		parts = append(parts, v)
	}
	text := plain(strings.Join(parts, "\n"))
	for _, want := range append([]string{row.CreatedBy}, row.Contains...) {
		if !slices.Contains(listingWords, strings.ToLower(want)) && !strings.Contains(text, plain(want)) {
			return false
		}
	}
	return true
}

func plain(text string) string {
	return strings.TrimSpace(strings.NewReplacer("->", "", "(", "", ")", "").Replace(strings.ToLower(text)))
}

// seriesOf returns the longest series of a process, and its snapshots.
func seriesOf(t *testing.T, r report.Report, process string) (report.Series, []report.Snapshot) {
	t.Helper()
	var found *report.Series
	var names []string
	for i, s := range r.Series {
		names = append(names, s.Process)
		if strings.Contains(s.Process, process) && (found == nil || len(s.Snapshots) > len(found.Snapshots)) {
			found = &r.Series[i]
		}
	}
	if found == nil {
		t.Fatalf("no series of %q, there are %q", process, names)
	}
	var snaps []report.Snapshot
	for _, id := range found.Snapshots {
		for _, s := range r.Snapshots {
			if s.ID == id {
				snaps = append(snaps, s)
			}
		}
	}
	return *found, snaps
}

func totalsOf(t *testing.T, snaps []report.Snapshot, kind string) []int {
	t.Helper()
	var all analysis.Counts
	for _, s := range snaps {
		switch kind {
		case "goroutines":
			all = append(all, analysis.CountOf(s.Totals.Goroutines))
		case "descriptors":
			all = append(all, analysis.CountOf(s.Totals.Descriptors))
		case "watches":
			all = append(all, analysis.CountOf(s.Totals.Watches))
		default:
			t.Fatalf("unknown kind %q in the truth", kind)
		}
	}
	return countsOf(all)
}

// sumOf adds up families. A missing count is 0.
func sumOf(families []report.Family, n int) []int {
	sum := make([]int, n)
	for _, f := range families {
		for i, c := range f.Counts {
			if c.Known() {
				sum[i] += c.N
			}
		}
	}
	return sum
}

// holds compares a series with its truth.
func (w truth) holds(t *testing.T, r report.Report) {
	t.Helper()
	s, snaps := seriesOf(t, r, w.Process)
	for kind, want := range w.Totals {
		if diff := cmp.Diff(want, totalsOf(t, snaps, kind)); diff != "" {
			t.Errorf("%s: %s (-truth +got):\n%s", w.Process, kind, diff)
		}
	}
	for _, row := range familyRows(w.Growing) {
		w.grows(t, s, row)
	}
	for _, row := range familyRows(w.Negatives) {
		w.acquits(t, s, row)
	}
	if w.Verdict == "scaling" || w.Verdict == "healthy" || w.Verdict == "churn" {
		for _, f := range s.Families {
			if f.Verdict == analysis.Leaking {
				t.Errorf("%s is %s, and %q is called leaking: %v", w.Process, w.Verdict, f.Title, countsOf(f.Counts))
			}
		}
	}
}

// grows demands the counts of a row from one family or from the sum of the matching
// families, and that a leak is not called stable.
func (w truth) grows(t *testing.T, s report.Series, row samples.Row) {
	t.Helper()
	var matching []report.Family
	for _, f := range s.Families {
		if rowOf(f, row) {
			matching = append(matching, f)
		}
	}
	meant := matching
	for _, f := range matching {
		if slices.Equal(countsOf(f.Counts), row.Counts) {
			meant = []report.Family{f}
		}
	}
	if got := sumOf(meant, len(row.Counts)); !slices.Equal(got, row.Counts) {
		t.Errorf("%s: %d families hold %q by %q with %v, want %v", w.Process, len(matching), row.Contains, row.CreatedBy, got, row.Counts)
		return
	}
	if w.Verdict != "leak" {
		return
	}
	moved := false
	for _, f := range meant {
		counts := countsOf(f.Counts)
		accused := f.Verdict == analysis.Leaking || f.Verdict == analysis.Suspicious
		if len(counts) < 4 { // too few to accuse, enough for growth
			accused = f.Verdict.Rose()
		}
		if !accused && slices.Max(counts)-counts[0] >= smallRise {
			t.Errorf("%s: %q grows %v and is called %s", w.Process, f.Title, counts, f.Verdict)
		}
		moved = moved || f.Verdict.Rose() || f.Verdict == analysis.Gone || f.Verdict == analysis.Shrinking
	}
	if !moved {
		t.Errorf("%s: %q grows %v and nothing of it is said to move", w.Process, row.Contains, row.Counts)
	}
}

// smallRise is the rise below which a family is within noise.
const smallRise = 10

func (w truth) acquits(t *testing.T, s report.Series, row samples.Row) {
	t.Helper()
	for _, f := range s.Families {
		if f.Verdict != analysis.Leaking || !rowOf(f, row) {
			continue
		}
		if !slices.ContainsFunc(w.Growing, func(g samples.Row) bool { return rowOf(f, g) }) {
			t.Errorf("%s: %q is called leaking: %v", w.Process, f.Title, countsOf(f.Counts))
		}
	}
}

var goSeries = []string{"kubelet-probe-leak", "inotify-leak", "socket-leak", "clientgo-informer-recreate", "prometheus-hanging-targets", "restart"}

func TestSeriesAgreeWithTheirTruthHoweverTheyArePacked(t *testing.T) {
	corpus.Heavy(t)
	root := filepath.Join(corpus.Path(t), "series")
	for _, name := range goSeries {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(root, name)
			truths := truthsOf(t, dir)
			packings := []struct {
				name   string
				inputs []bundle.Input
			}{
				{"directory", ofDirectory(t, dir)},
				{"tar.gz", ofBytes(name+".tar.gz", packTar(t, dir))},
				{"zip", ofBytes(name+".zip", packZip(t, dir))},
			}
			var first []string
			for _, p := range packings {
				r := reportOf(t, p.inputs)
				t.Run(p.name, func(t *testing.T) {
					for _, w := range truths {
						w.holds(t, r)
					}
					ids := idsOf(r)
					if first == nil {
						first = ids
					}
					if diff := cmp.Diff(first, ids); diff != "" {
						t.Errorf("snapshot ids differ from those of the directory:\n%s", diff)
					}
				})
			}
		})
	}
}

func idsOf(r report.Report) []string {
	var out []string
	for _, s := range r.Snapshots {
		out = append(out, s.Process+" "+s.Label+" "+s.ID)
	}
	slices.Sort(out)
	return out
}

func TestProbeWorkersOfTheKubeletAddUp(t *testing.T) {
	r := reportOf(t, ofDirectory(t, filepath.Join(corpus.Path(t), "series", "kubelet-probe-leak")))
	s, _ := seriesOf(t, r, "kubelet")
	var workers []report.Family
	for _, f := range s.Families {
		if slices.Contains(f.Frames, "k8s.io/kubernetes/pkg/kubelet/prober.(*worker).run") {
			workers = append(workers, f)
		}
	}
	want := []int{0, 8, 15, 23, 31, 36, 42, 48, 0}
	if diff := cmp.Diff(want, sumOf(workers, len(want))); diff != "" {
		t.Errorf("families with prober.(*worker).run (-truth +got):\n%s", diff)
	}
}

func TestWatchesOnUnmountedVolumesAddUp(t *testing.T) {
	r := reportOf(t, ofDirectory(t, filepath.Join(corpus.Path(t), "series", "inotify-leak")))
	s, _ := seriesOf(t, r, "leaker")
	var gone []report.Family
	for _, f := range s.Families {
		if f.Kind == analysis.KindWatch && f.Attributes["status"] == "not in mountinfo" {
			gone = append(gone, f)
		}
	}
	want := []int{0, 8, 22, 43}
	if diff := cmp.Diff(want, sumOf(gone, len(want))); diff != "" {
		t.Errorf("watches not in mountinfo (-truth +got):\n%s", diff)
	}
}

func TestRestartBeginsANewEpochAndIsNoRecovery(t *testing.T) {
	r := reportOf(t, ofDirectory(t, filepath.Join(corpus.Path(t), "series", "restart")))
	s, snaps := seriesOf(t, r, "prober")
	var epochs []int
	for _, snap := range snaps {
		epochs = append(epochs, snap.Epoch)
	}
	if diff := cmp.Diff([]int{0, 0, 0, 0, 0, 1}, epochs); diff != "" {
		t.Errorf("epochs (-truth +got):\n%s", diff)
	}
	for _, f := range s.Families {
		if f.Verdict == analysis.Leaking && f.RecoveredAt != nil {
			t.Errorf("%q is called recovered at %s: the process was replaced, its leak was not", f.Title, *f.RecoveredAt)
		}
		if strings.Contains(f.Title, "main.prober") && f.Verdict != analysis.Leaking {
			t.Errorf("%q is %s", f.Title, f.Verdict)
		}
	}
}

func TestSamplesAreFoundAsTheySay(t *testing.T) {
	all, err := samples.All()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) == 0 {
		t.Fatal("there are no samples")
	}
	for _, sample := range all {
		t.Run(sample.Name, func(t *testing.T) {
			t.Parallel()
			r := reportOf(t, ofBytes(sample.Name+".tar.gz", sample.Archive))
			for _, w := range sample.Found.Series {
				s, snaps := seriesOf(t, r, w.Process)
				if len(s.Snapshots) != w.Snapshots || len(snaps) != w.Snapshots {
					t.Errorf("%s: %d snapshots, want %d", w.Process, len(s.Snapshots), w.Snapshots)
				}
				truth{Process: w.Process, Verdict: "leak", Totals: w.Totals, Growing: w.Growing, Negatives: w.NotLeaking}.holds(t, r)
			}
		})
	}
}

// otherwise are files whose number in the table is not that of the numeric descriptors in
// all processes. These numbers are counted by eye.
var otherwise = map[string]int{
	// The table counts all ten rows. Six of them are cwd and txt.
	"descriptors/realworld/11-osqueryd-macos-lsof.txt": 4,
	// Five processes with 213, 22, 23, 33 and 82, as the notes state.
	"bundles/sosreport-vm-2026-11-21-yhywofr.tar.xz": 373,
}

// allRows counts the rows of listings that have more than descriptors, as the list beside
// them states.
var allRows = map[string]int{
	"descriptors/realworld/01-mina-lsof-noheader.txt":        13,
	"descriptors/realworld/11-osqueryd-macos-lsof.txt":       10,
	"descriptors/realworld/12-zephyr-macos-kqueue-pipe.txt":  10,
	"descriptors/realworld/13-pyro-warning-above-header.txt": 5,
	"descriptors/realworld/16-insights-tid-b-flag.txt":       9,
	"descriptors/realworld/17-insights-numeric-user.txt":     5,
}

func TestFilesHoldWhatTheTableSays(t *testing.T) {
	corpus.Heavy(t)
	root := corpus.Path(t)
	type tally struct{ read, expected int }
	var mu sync.Mutex
	tallies := map[string]tally{}
	checked := 0
	t.Run("rows", func(t *testing.T) {
		for _, row := range table(t, root) {
			want := numbersOf(row)
			if n, ok := otherwise[row["path"]]; ok {
				want["descriptors"] = []int{n}
			}
			if len(want) == 0 || !corpus.Has(t, row["path"]) {
				continue
			}
			checked++
			t.Run(row["path"], func(t *testing.T) {
				t.Parallel()
				r := reportOn(t, root, row["path"])
				for kind, n := range want {
					if got, ok := agrees(r, kind, n); !ok && !admits(row, r) {
						t.Errorf("%s %v, want %v (%s; %s)", kind, got, n, row["format"], row["notes"])
					}
				}
				if all, ok := allRows[row["path"]]; ok {
					if got := rowsOf(t, filepath.Join(root, row["path"])); got != all {
						t.Errorf("%d rows of all sorts, want %d", got, all)
					}
				}
				mu.Lock()
				defer mu.Unlock()
				sum := tallies[row["format"]]
				sum.expected++
				if !t.Failed() {
					sum.read++
				}
				tallies[row["format"]] = sum
			})
		}
	})
	least := 300
	if !corpus.Has(t, "bundles") {
		least = 250 // of our own
	}
	if checked < least {
		t.Errorf("%d rows of the table were checked; it has more than %d with numbers", checked, least)
	}
	for _, format := range slices.Sorted(maps.Keys(tallies)) {
		t.Logf("%-40s %3d of %3d", format, tallies[format].read, tallies[format].expected)
	}
}

// rowsOf counts all rows of a listing, of descriptors and others, of all processes.
func rowsOf(t *testing.T, file string) int {
	t.Helper()
	result, err := ingest.Run(t.Context(), ingest.Config{Bundle: bundle.Config{TempDir: t.TempDir()}}, ofFile(t, file))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, a := range result.Artifacts {
		n += a.Members + a.Rows
	}
	return n
}

// reportOn reads one file of the corpus.
func reportOn(t *testing.T, root, path string) report.Report {
	t.Helper()
	file := filepath.Join(root, path)
	if strings.HasPrefix(path, "large/") {
		// A process of its own: 165 MB are slow under the race detector.
		return decode[report.Report](t, execute(t, nil, "report", "--format", "json", absolute(t, file)).stdout)
	}
	return reportOf(t, ofFile(t, file))
}

func absolute(t *testing.T, path string) string {
	t.Helper()
	out, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// table reads EXPECTED.tsv, rows by column name.
func table(t *testing.T, root string) []map[string]string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root, "EXPECTED.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	var out []map[string]string
	lines := strings.Split(strings.TrimSpace(string(content)), "\n")
	header := strings.Split(lines[0], "\t")
	for _, line := range lines[1:] {
		row := map[string]string{}
		for i, cell := range strings.Split(line, "\t") {
			row[header[i]] = cell
		}
		out = append(out, row)
	}
	return out
}

// numbersOf returns the counts of a row. A file with several dumps has several.
//
//	goroutines "65 105"  ->  {"goroutines": [65 105]}
func numbersOf(row map[string]string) map[string][]int {
	out := map[string][]int{}
	for _, kind := range []string{"goroutines", "threads", "descriptors", "watches"} {
		var counts []int
		for _, word := range strings.Fields(row[kind]) {
			n, err := strconv.Atoi(word)
			if err != nil {
				counts = nil
				break
			}
			counts = append(counts, n)
		}
		if counts != nil {
			out[kind] = counts
		}
	}
	return out
}

// agrees compares the counts of a file with its report: one number with the members of its
// artifacts or the sum of the totals, several numbers with the totals of as many
// snapshots.
func agrees(r report.Report, kind string, want []int) (got []int, ok bool) {
	members := 0
	for _, s := range r.Snapshots {
		total := map[string]*int{"goroutines": s.Totals.Goroutines, "threads": s.Totals.Threads, "descriptors": s.Totals.Descriptors, "watches": s.Totals.Watches}[kind]
		if total != nil {
			got = append(got, *total)
		}
		for _, a := range s.Artifacts {
			members += a.Members
		}
	}
	if len(want) > 1 {
		slices.Sort(got)
		want = slices.Sorted(slices.Values(want))
		return got, slices.Equal(got, want)
	}
	sum := 0
	for _, n := range got {
		sum += n
	}
	return got, sum == want[0] || kind == "goroutines" && members == want[0]
}

// admits reports whether the table states a loss in the file and the report does, too.
func admits(row map[string]string, r report.Report) bool {
	return len(r.Problems) > 0 && slices.ContainsFunc([]string{"cut", "lost", "truncated", "incomplete", "excerpt"}, func(word string) bool {
		return strings.Contains(row["notes"], word)
	})
}

// socketInode is the inode of an internet socket in a row of lsof.
var socketInode = regexp.MustCompile(`(IPv[46]\s+)(\d+)(\s+0t0\s+TCP)`)

// The same capture with new socket inodes in every step is a program that opens as many
// connections as it closes: many, level, and none stays.
func TestChurningSocketsAreAPlateauAndNoLeak(t *testing.T) {
	listing, err := os.ReadFile(filepath.Join(corpus.Path(t), "series", "node-agent-leak", "t5", "node", "lsof-nP-p.txt"))
	if err != nil {
		t.Fatal(err)
	}
	var inputs []bundle.Input
	fresh := 1_000_000
	for step := range 6 {
		body := socketInode.ReplaceAllFunc(listing, func(row []byte) []byte {
			fresh++
			return socketInode.ReplaceAll(row, []byte("${1}"+strconv.Itoa(fresh)+"${3}"))
		})
		dir := fmt.Sprintf("t%d/node/", step)
		inputs = append(inputs, ofBytes(dir+"lsof.txt", body)...)
		inputs = append(inputs, ofBytes(dir+"captured_at", fmt.Appendf(nil, "2026-11-21T0%d:00:00Z\n", step))...)
	}
	s, _ := seriesOf(t, reportOf(t, inputs), "node")
	for _, f := range s.Families {
		if f.Attributes["remote"] != "127.0.0.1:42635" {
			continue
		}
		if d := cmp.Diff([]int{593, 593, 593, 593, 593, 593}, f.Counts.Known()); d != "" {
			t.Errorf("counts (-want +got):\n%s", d)
		}
		said := ""
		for _, e := range f.Evidence {
			said += e.Text + "\n"
		}
		if f.Verdict != analysis.Stable || !strings.Contains(said, "plateau at 593") {
			t.Errorf("%s, with %s", f.Verdict, said)
		}
		return
	}
	t.Error("no family of the connections to the server")
}
