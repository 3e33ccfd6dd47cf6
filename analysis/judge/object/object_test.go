package object_test

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
	"leakdiff/analysis/judge/object"
	"leakdiff/analysis/judge/trend"
	"leakdiff/analysis/read/bundle"
	"leakdiff/analysis/read/ingest"
	"leakdiff/samples/corpus"
)

// row is a row of objects-expected.tsv that goroutines prove.
type row struct {
	series, process, object string
	counts, born, ended     []int
}

func rows(t *testing.T) (out []row) {
	t.Helper()
	data, err := os.ReadFile(corpus.Path(t, "objects-expected.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	numbers := func(text string) (out []int) {
		for _, field := range strings.Split(text, ",") {
			if n, err := strconv.Atoi(field); err == nil {
				out = append(out, n)
			}
		}
		return out
	}
	for _, line := range strings.Split(strings.TrimSpace(string(data)), "\n")[1:] {
		if f := strings.Split(line, "\t"); f[3] == "goroutine" {
			out = append(out, row{f[0], f[1], f[2], numbers(f[7]), numbers(f[8]), numbers(f[9])})
		}
	}
	return out
}

// names are how the program calls what a row counts, a role of it, and the tolerance.
var names = map[string]struct {
	name, role string
	parts      int
	tolerance  int
	verdict    analysis.Verdict
}{
	"informer factory":              {"*cache.sharedIndexInformer", "", 12, 0, analysis.Leaking},
	"scrape":                        {"*scrape.scrapeLoop", "readLoop", 3, 1, ""},
	"shim log reader":               {"*fifo.fifo", "v2.(*binary).Start.func3", 1, 0, analysis.Leaking},
	"shim connection":               {"*ttrpc.Client", "", 1, 0, analysis.Leaking},
	"ttrpc server connection":       {"*ttrpc.serverConn", "", 1, 0, analysis.Leaking},
	"container housekeeping":        {"*manager.containerData", "", 1, 0, analysis.Leaking},
	"metrics request":               {"*http.conn", "", 6, 0, ""},
	"pod sync that waits in a call": {"*grpc.clientStream", "UpdatePod", 1, 0, analysis.Leaking},
	"probe":                         {"main.prober", "", 1, 0, analysis.Leaking},
}

// seriesOf reads the snapshots of one process of a series of the corpus.
func seriesOf(t *testing.T, dir, process string) []*analysis.Snapshot {
	t.Helper()
	root := corpus.Path(t, "series", dir)
	var inputs []bundle.Input
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		inputs = append(inputs, bundle.Input{Name: strings.TrimPrefix(path, root+"/"), Size: info.Size(), ModTime: info.ModTime(), Open: func() (io.ReadCloser, error) { return os.Open(path) }})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	result, err := ingest.Run(t.Context(), ingest.Config{Bundle: bundle.Config{TempDir: t.TempDir()}, Objects: true}, inputs)
	if err != nil {
		t.Fatal(err)
	}
	var out []*analysis.Snapshot
	for i := range result.Snapshots {
		if s := &result.Snapshots[i]; s.Process.Name.Value == process {
			out = append(out, s)
		}
	}
	return out
}

func TestTheObjectsOfASeriesAreFollowed(t *testing.T) {
	for _, r := range rows(t) {
		t.Run(filepath.Join(r.series, r.process, r.object), func(t *testing.T) {
			want, ok := names[r.object]
			if !ok {
				t.Fatal("no name for this object")
			}
			process, _, second := strings.Cut(r.process, " (second process)")
			snapshots := seriesOf(t, r.series, process)
			epochs := trend.Epochs(snapshots)
			kinds := object.Follow(snapshots, epochs)
			at := slices.IndexFunc(kinds, func(k object.Kind) bool {
				return k.Name == want.name && k.Counts != nil && !k.Rest && hasRole(k, want.role)
			})
			if at < 0 {
				t.Fatal("no such kind")
			}
			k := kinds[at]
			if k.Parts != want.parts {
				t.Errorf("each has %d goroutines, want %d", k.Parts, want.parts)
			}
			if second { // the last snapshots, of which nothing may be matched with those before
				from := len(snapshots) - len(r.counts)
				near(t, "count", from, k.Counts[from], r.counts[0], want.tolerance)
				if k.Born[from].Known() || k.Ended[from].Known() {
					t.Errorf("born %s and ended %s over a restart", text(k.Born), text(k.Ended))
				}
				return
			}
			for i := range r.counts {
				near(t, "count", i, k.Counts[i], r.counts[i], want.tolerance)
				if i > 0 && i <= len(r.born) {
					near(t, "born", i, k.Born[i], r.born[i-1], want.tolerance)
				}
				if i > 0 && i <= len(r.ended) {
					near(t, "ended", i, k.Ended[i], r.ended[i-1], want.tolerance)
				}
			}
			if want.verdict != "" && k.Judgement.Verdict != want.verdict {
				t.Errorf("verdict %s, want %s", k.Judgement.Verdict, want.verdict)
			}
			if len(k.Families) == 0 {
				t.Error("no family")
			}
			if t.Failed() {
				for _, k := range kinds {
					t.Logf("%s of %d, rest %v: %s, born %s, ended %s, %s", k.Name, k.Parts, k.Rest, text(k.Counts), text(k.Born), text(k.Ended), k.Judgement.Verdict)
				}
			}
		})
	}
}

func hasRole(k object.Kind, role string) bool {
	return slices.ContainsFunc(k.Each, func(r analysis.ObjectRole) bool { return strings.Contains(r.Role, role) })
}

func near(t *testing.T, what string, i int, got analysis.Count, want, tolerance int) {
	t.Helper()
	if !got.Known() || max(got.N-want, want-got.N) > tolerance {
		t.Errorf("%s of snapshot %d: %s, want %d", what, i, text(analysis.Counts{got}), want)
	}
}

func text(counts analysis.Counts) string {
	var out []string
	for _, n := range counts {
		if !n.Known() {
			out = append(out, "-")
		} else {
			out = append(out, strconv.Itoa(n.N))
		}
	}
	return strings.Join(out, ",")
}

func TestObjectsThatOneDumpJoinsAndOthersLeaveApartStayApart(t *testing.T) {
	snapshots := seriesOf(t, "kubelet-probe-leak", "kubelet")
	kinds := object.Follow(snapshots, trend.Epochs(snapshots))
	at := slices.IndexFunc(kinds, func(k object.Kind) bool { return k.Name == "*prober.worker" && k.Counts[7].N == 40 })
	if at < 0 {
		t.Fatal("no such kind")
	}
	// expected.kubelet.json counts 0,8,15,23,31,36,42,48,0 workers, of which 8 wait in a call.
	if got, want := text(kinds[at].Counts), "0,0,7,15,23,28,34,40,0"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for _, k := range kinds {
		came, went := 0, 0
		for i, n := range k.Counts {
			if i > 0 && n.Known() && k.Born[i].Known() {
				came, went = came+k.Born[i].N, went+k.Ended[i].N
			}
		}
		if first, last := k.Counts[0].N, k.Counts[8].N; first+came-went != last {
			t.Errorf("%s of %d: %s, born %s, ended %s", k.Name, k.Parts, text(k.Counts), text(k.Born), text(k.Ended))
		}
	}
}

func TestTheObjectsOfAJVMAreCountedAndNotFollowed(t *testing.T) {
	snapshots := seriesOf(t, "okhttp-leak", "java")
	kinds := object.Follow(snapshots, trend.Epochs(snapshots))
	if len(kinds) != 1 {
		t.Fatalf("got %d kinds, want 1", len(kinds))
	}
	k := &kinds[0]
	if k.Type != "okhttp3.ConnectionPool" || !k.Threads || k.Parts != 1 || text(k.Counts) != "3,8,20,45,90" {
		t.Errorf("got %s of %d threads: %s", k.Type, k.Parts, text(k.Counts))
	}
	if text(k.Born) != "-,-,-,-,-" || text(k.Ended) != "-,-,-,-,-" || len(k.Objects) > 0 {
		t.Errorf("born %s, ended %s, %d lifelines: a JVM moves its objects", text(k.Born), text(k.Ended), len(k.Objects))
	}
	if len(k.Families) != 1 || k.RootFamily != k.Families[0] {
		t.Errorf("got families %v, root %q", k.Families, k.RootFamily)
	}
}

func TestOneDumpIsListedAsItWasJoined(t *testing.T) {
	// Most goroutines of the role are alone: in a series they would be left apart.
	role := analysis.ObjectRole{Role: "ex.org/a.work", N: 1, Level: analysis.ByParent}
	alone := analysis.ObjectKind{Name: "a.work", Type: "ex.org/a.work", Each: []analysis.ObjectRole{role}, Level: analysis.ByGoroutine, Parts: 1}
	pair := analysis.ObjectKind{Name: "a.serve", Type: "ex.org/a.serve", Each: []analysis.ObjectRole{role, {Role: "ex.org/a.serve", N: 1, Level: analysis.ByParent}}, Level: analysis.ByParent, Parts: 2}
	for id := int64(1); id <= 3; id++ {
		alone.Append(analysis.ObjectRow{Root: id, Parts: []int64{id}})
	}
	for id := int64(11); id <= 14; id += 2 {
		pair.Append(analysis.ObjectRow{Root: id, Parts: []int64{id, id + 1}})
	}
	family := &analysis.Family{Fingerprint: "g1:1", Kind: analysis.KindGoroutine}
	snapshot := &analysis.Snapshot{
		Joined: &analysis.Objects{Kinds: []analysis.ObjectKind{alone, pair}},
		Groups: []analysis.Group{{Family: family, Count: 3, Members: analysis.Members{Columns: &analysis.Columns{ID: []int64{1, 2, 3}}}}},
	}
	var got []string
	for _, k := range object.Follow([]*analysis.Snapshot{snapshot}, []int{0}) {
		got = append(got, text(k.Counts)+" "+k.Name)
	}
	if want := []string{"3 a.work", "2 a.serve"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestOneDumpThatJoinsAndLeavesApartIsFollowed has roles that stand alone more often than they
// are joined by a creator.
func TestOneDumpThatJoinsAndLeavesApartIsFollowed(t *testing.T) {
	path := corpus.Path(t, "goroutine", "public", "stackgazer-crdb-stacks-2.txt")
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	inputs := []bundle.Input{{Name: "stacks.txt", Size: info.Size(), Open: func() (io.ReadCloser, error) { return os.Open(path) }}}
	result, err := ingest.Run(t.Context(), ingest.Config{Bundle: bundle.Config{TempDir: t.TempDir()}, Objects: true}, inputs)
	if err != nil {
		t.Fatal(err)
	}
	for i := range result.Snapshots {
		if s := &result.Snapshots[i]; len(object.Follow([]*analysis.Snapshot{s}, []int{0})) == 0 && s.Joined != nil {
			t.Error("the dump shows no objects")
		}
	}
}
