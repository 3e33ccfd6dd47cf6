package report_test

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"leakdiff/analysis"
	"leakdiff/analysis/read/bundle"
	"leakdiff/analysis/read/ingest"
	"leakdiff/analysis/say/report"
	"leakdiff/samples/corpus"
	"leakdiff/web/view"
)

// reportOf reads a directory of the corpus as the command line does.
func reportOf(t *testing.T, root string) report.Report {
	t.Helper()
	return caseOf(t, root).Report
}

func caseOf(t *testing.T, root string) report.Case {
	t.Helper()
	var inputs []bundle.Input
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		inputs = append(inputs, bundle.Input{Name: filepath.ToSlash(strings.TrimPrefix(path, filepath.Dir(root)+"/")), Size: info.Size(), ModTime: info.ModTime(), Open: func() (io.ReadCloser, error) { return os.Open(path) }})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	result, err := ingest.Run(t.Context(), ingest.Config{Bundle: bundle.Config{TempDir: t.TempDir()}, Objects: true}, inputs)
	if err != nil {
		t.Fatal(err)
	}
	return report.Build(result.Snapshots, result.Problems, report.Options{Version: "test"})
}

// TestObjectsOfSeriesAreThoseOfTheTruth holds every row of objects-expected.tsv against the
// report: one object of the process has the counts, and as many parts.
func TestObjectsOfSeriesAreThoseOfTheTruth(t *testing.T) {
	data, err := os.ReadFile(corpus.Path(t, "objects-expected.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	reports := map[string]report.Report{}
	rows := 0
	for _, line := range strings.Split(strings.TrimSpace(string(data)), "\n")[1:] {
		f := strings.Split(line, "\t")
		series, process, object, kind, members := f[0], f[1], f[2], f[3], f[4]
		switch {
		case kind == "holder", strings.Contains(process, "second"):
			continue
		case object == "connection of a scrape":
			// The truth is the table of the kernel's sockets; the report counts the rows of
			// lsof, which was taken at another moment.
			continue
		}
		if _, ok := reports[series]; !ok {
			reports[series] = reportOf(t, corpus.Path(t, "series", series))
		}
		rows++
		t.Run(series+"/"+process+"/"+object, func(t *testing.T) {
			r := reports[series]
			at := slices.IndexFunc(r.Series, func(s report.Series) bool { return s.Process == process })
			if at < 0 {
				t.Fatal("no such series")
			}
			var want []int
			for _, n := range strings.Split(f[7], ",") {
				count, err := strconv.Atoi(n)
				if err != nil {
					t.Fatal(err)
				}
				want = append(want, count)
			}
			lives := func(text string) (out []int) {
				for _, n := range strings.Split(text, ",") {
					if count, err := strconv.Atoi(n); err == nil {
						out = append(out, count)
					}
				}
				return out
			}
			born, ended := lives(f[8]), lives(f[9])
			if kind == "thread" || kind == "socket pair" {
				born, ended = nil, nil // they are counted by step
			}
			tolerance, _ := strconv.Atoi(strings.Fields(f[11])[0])
			parts, _ := strconv.Atoi(members)
			if !slices.ContainsFunc(r.Series[at].Objects, func(o report.Object) bool {
				n := 0
				for _, p := range o.Each {
					n += p.N
				}
				return off(o.Counts, want) <= tolerance && off(o.Born[1:], born) <= tolerance && off(o.Ended[1:], ended) <= tolerance && (kind != "goroutine" && kind != "thread" || n == parts)
			}) {
				t.Errorf("no object has %v of %d parts", want, parts)
			}
		})
	}
	if rows < 15 {
		t.Errorf("only %d rows were compared", rows)
	}
}

// off is how far the first counts are from those wanted, in sum.
func off(counts analysis.Counts, want []int) (sum int) {
	for i, n := range want {
		got := 0
		if i < len(counts) && counts[i].Known() {
			got = counts[i].N
		}
		sum += max(got-n, n-got)
	}
	return sum
}

func TestAFindingOnObjectsNamesThem(t *testing.T) {
	r := reportOf(t, corpus.Path(t, "series", "clientgo-informer-recreate"))
	f := r.Series[0].Findings[0]
	if want := "informer started 58 informer factories and stopped none: each keeps 12 goroutines and 1 connection"; f.Title != want || f.Object == "" {
		t.Errorf("got %q of %q, want %q", f.Title, f.Object, want)
	}
	if !strings.HasPrefix(f.Text, "58 of 58 started since t0 are still there at t6.") {
		t.Errorf("the text counts something else: %s", f.Text)
	}
	if !slices.ContainsFunc(f.Evidence, func(e report.Evidence) bool {
		return e.Rule == "cohort" && strings.Contains(e.Text, "58 objects came after t0 (")
	}) {
		t.Errorf("the evidence counts something else: %+v", f.Evidence)
	}
	for _, o := range r.Series[0].Objects {
		for _, e := range o.Evidence {
			if strings.Contains(e.Text, "member") {
				t.Errorf("%s: %s", o.Name, e.Text)
			}
		}
	}
}

func TestObjectsWithoutGoroutinesAreCountedWhereNoneIsListed(t *testing.T) {
	built := caseOf(t, corpus.Path(t, "series", "socket-leak"))
	for _, o := range built.Report.Series[0].Objects {
		last := len(o.Counts) - 1
		got := built.Series[0].ObjectMembership(o, last, 10)
		if got.MembersTotal != o.Counts[last].N || got.MembersTotal == 0 || len(got.Members) > 0 {
			t.Errorf("%s: %d objects, %d listed, want %d and none", o.Name, got.MembersTotal, len(got.Members), o.Counts[last].N)
		}
	}
}

func TestAPageListsConnectionsAndThreadPoolsAsObjects(t *testing.T) {
	for dir, want := range map[string][]string{
		"socket-leak":                {"| TCP connection to 127.0.0.1:38847 with both ends in this process | 2 descriptors | 2 to 40 | 38 | 0 | leaking |"},
		"okhttp-leak":                {"| okhttp3.ConnectionPool | 1 thread waits on it; in step 7 threads + 6 descriptors | 3 to 90 | – | – | leaking |", "| TCP connection to 127.0.0.1:43177 with both ends in this process | 2 descriptors | 9 to 270 | 261 | 0 | leaking |"},
		"clientgo-informer-recreate": {"| *cache.sharedIndexInformer | 12 goroutines + 1 descriptor | 2 to 60 | 58 | 0 | 60 started by informers.(*sharedInformerFactory).Start | leaking |"},
	} {
		v := view.NewCase(view.CaseInput{ID: "c", Report: caseOf(t, corpus.Path(t, "series", dir)).Report, Frozen: true})
		text := strings.ReplaceAll(v.Page().Body.Markdown(), `\`, "")
		for _, w := range want {
			if !strings.Contains(text, w) {
				t.Errorf("%s: no line %q in\n%s", dir, w, text)
			}
		}
	}
}
