package join_test

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"leakdiff/analysis"
	"leakdiff/analysis/read/goroutine"
	"leakdiff/analysis/read/join"
	"leakdiff/samples/corpus"
)

// expected is a row of objects-expected.tsv.
type expected struct {
	series, process, object, kind string
	members                       int
	snapshots                     []string
	counts, born, ended           []int
	note                          string
}

func expectations(t *testing.T) []expected {
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
	var rows []expected
	for _, line := range strings.Split(strings.TrimSpace(string(data)), "\n")[1:] {
		f := strings.Split(line, "\t")
		members, _ := strconv.Atoi(f[4])
		rows = append(rows, expected{f[0], f[1], f[2], f[3], members, strings.Split(f[6], ","), numbers(f[7]), numbers(f[8]), numbers(f[9]), f[11]})
	}
	return rows
}

// recognised says which objects of a dump a row counts: those with a part of this role
// and, if name is set, of this name.
type recognised struct {
	role, name string
	tolerance  int
}

// rowsOfGoroutines are the rows that a dump alone proves, by process and object.
var rowsOfGoroutines = map[string]recognised{
	"informer/informer factory":             {role: "informers.(*sharedInformerFactory).Start.func1", name: "*cache.sharedIndexInformer"},
	"prometheus/scrape":                     {role: "net/http.(*persistConn).readLoop", name: "*scrape.scrapeLoop", tolerance: 1},
	"containerd/shim log reader":            {role: "v2.(*binary).Start.func3", name: "*fifo.fifo"},
	"containerd/shim connection":            {role: "ttrpc.(*Client).run", name: "*ttrpc.Client"},
	"containerd/ttrpc server connection":    {role: "ttrpc.(*serverConn).run", name: "*ttrpc.serverConn"},
	"kubelet/container housekeeping":        {role: "manager.(*containerData).housekeeping", name: "*manager.containerData"},
	"kubelet/metrics request":               {role: "net/http.(*conn).serve < ", name: "*http.conn"},
	"kubelet/pod sync that waits in a call": {role: "kubelet.(*podWorkers).UpdatePod.func1 < k8s.io/kubernetes/pkg/kubelet/kuberuntime.(*kubeGenericRuntimeManager).SyncPod", name: "*grpc.clientStream"},
	"prober/probe":                          {role: "main.prober", name: "main.prober"},
	"prober (second process)/probe":         {role: "main.prober", name: "main.prober"},
}

// matches reports whether the objects of a kind are those of the row.
func (r recognised) matches(k *analysis.ObjectKind) bool {
	return k.Name == r.name && slices.ContainsFunc(k.Each, func(role analysis.ObjectRole) bool {
		if strings.HasSuffix(r.role, " < ") {
			return strings.HasPrefix(role.Role, r.role)
		}
		return strings.HasSuffix(role.Role, r.role) || strings.Contains(role.Role, r.role+" < ")
	})
}

// dumpIn is the objects of the one dump below a directory of the series.
func dumpIn(t *testing.T, dir string) *analysis.Objects {
	t.Helper()
	for _, pattern := range []string{"goroutine-debug2.txt", "p[12]-t[0-9].txt"} {
		if found, _ := filepath.Glob(filepath.Join(dir, pattern)); len(found) == 1 {
			data, err := os.ReadFile(found[0])
			if err != nil {
				t.Fatal(err)
			}
			return objectsOf(t, string(data))
		}
	}
	t.Fatalf("no dump in %s", dir)
	return nil
}

// objectsOf joins a dump.
func objectsOf(t testing.TB, text string) *analysis.Objects {
	t.Helper()
	return objectsIn(text)
}

// objectsIn joins the goroutines of a text, which cannot fail to be read.
func objectsIn(text string) *analysis.Objects {
	var tokens join.Tokens
	_, _, err := goroutine.ParseText(strings.NewReader(text), goroutine.Config{Words: true}, func(g *goroutine.Goroutine) error {
		tokens.Add(g)
		return nil
	})
	if err != nil {
		panic(err)
	}
	return join.Objects(&tokens)
}

func TestEachDumpOfASeriesGivesTheExpectedObjects(t *testing.T) {
	checked := 0
	for _, row := range expectations(t) {
		found, mine := rowsOfGoroutines[row.process+"/"+row.object]
		if !mine {
			if row.kind == "goroutine" {
				t.Errorf("no rule recognises %s of %s", row.object, row.process)
			}
			continue
		}
		checked++
		t.Run(row.series+"/"+row.process+"/"+row.object, func(t *testing.T) {
			process, _, _ := strings.Cut(row.process, " (")
			var all []map[int64]bool
			var objects [][][]int64
			for i, snapshot := range row.snapshots {
				o := dumpIn(t, corpus.Path(t, "series", row.series, snapshot, process))
				ids, rows := map[int64]bool{}, [][]int64(nil)
				parts, whole := 0, 0
				for at := range o.Kinds {
					k := &o.Kinds[at]
					for object := range k.Rows() {
						for _, id := range object.Parts {
							ids[id] = true
						}
						if found.matches(k) {
							rows = append(rows, slices.Clone(object.Parts))
						}
					}
					if found.matches(k) {
						parts += k.Count
						if k.Parts == row.members {
							whole += k.Count
						}
					}
				}
				all, objects = append(all, ids), append(objects, rows)
				if d := max(len(rows)-row.counts[i], row.counts[i]-len(rows)); d > found.tolerance {
					t.Errorf("%s: got %d objects, want %d", snapshot, len(rows), row.counts[i])
				}
				if parts > 0 {
					t.Logf("%s: %d of %d objects have %d parts", snapshot, whole, parts, row.members)
				}
			}
			for i := 1; i < len(row.snapshots); i++ {
				if i <= len(row.born) {
					if got := unknown(objects[i], all[:i]); max(got-row.born[i-1], row.born[i-1]-got) > found.tolerance {
						t.Errorf("%s: got %d born, want %d", row.snapshots[i], got, row.born[i-1])
					}
				}
				if i <= len(row.ended) {
					if got := unknown(objects[i-1], all[i:]); max(got-row.ended[i-1], row.ended[i-1]-got) > found.tolerance {
						t.Errorf("%s: got %d ended, want %d", row.snapshots[i], got, row.ended[i-1])
					}
				}
			}
		})
	}
	if checked != len(rowsOfGoroutines) {
		t.Errorf("only %d of %d rows were compared", checked, len(rowsOfGoroutines))
	}
}

// unknown counts the objects of which no goroutine is in any of the dumps.
func unknown(objects [][]int64, dumps []map[int64]bool) (n int) {
	for _, parts := range objects {
		if !slices.ContainsFunc(parts, func(id int64) bool {
			return slices.ContainsFunc(dumps, func(ids map[int64]bool) bool { return ids[id] })
		}) {
			n++
		}
	}
	return n
}

func TestTheCollectorHoldsRequestsAndJoinsNone(t *testing.T) {
	dirs := corpus.Path(t, "series", "kubelet-probe-leak")
	for i, snapshot := range []string{"t0", "t1", "t2", "t3", "t4", "t5", "t6", "t7", "t8-shims-resumed"} {
		want := i >= 2 && i <= 7
		held := false
		for _, k := range dumpIn(t, filepath.Join(dirs, snapshot, "containerd")).Kinds {
			held = held || slices.ContainsFunc(k.Holders, func(h analysis.ObjectHolder) bool {
				return strings.HasSuffix(h.Type, "cgroups/v1.(*Collector)")
			})
			if k.Name == "*v1.Collector" {
				t.Errorf("%s: %d objects are named for the lock", snapshot, k.Count)
			}
		}
		if held != want {
			t.Errorf("%s: got holder %t, want %t", snapshot, held, want)
		}
	}
}
