package ingest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"leakdiff/analysis"
)

// opened is a real file of testdata/opener: strace and lsof of a Go program whose main.leak opens
// a file each half second and keeps it.
func opened(t *testing.T, name string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", "opener", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// openersOf are the families of a snapshot whose openers are known: "/srv/a main.leak 12 of 13".
func openersOf(s *analysis.Snapshot) []string {
	var out []string
	for _, g := range s.Groups {
		for _, a := range s.Ancestries[g.Family.Fingerprint] {
			for _, f := range a.Stacks[0].Frames {
				if strings.HasPrefix(f.Func, "main.") {
					out = append(out, fmt.Sprintf("%s %s %d of %d", g.Family.Title, f.Func, a.Count, g.Count))
					break
				}
			}
		}
	}
	return out
}

func TestATraceJoinsTheListingsOfItsProcess(t *testing.T) {
	trace, t2, t5 := opened(t, "confd.strace"), opened(t, "t2.lsof.txt"), opened(t, "t5.lsof.txt")
	const tenants = "/srv/app/data/tenant-<n>.conf"
	row := "COMMAND PID USER FD TYPE DEVICE SIZE/OFF NODE NAME\nconfd %d root 5r REG 254,0 1 802834 %s\n"
	one := "%d 1795878472.813718 openat(AT_FDCWD</srv>, \"a\", O_RDONLY) = 5%s\n > /srv/confd(main.leak+0x92) [0xead12]\n%d 1795878473.813718 close(9) = 0\n"
	for _, c := range []struct {
		name  string
		files map[string]string
		// want are the openers of each snapshot, total its descriptors.
		want  [][]string
		total []int
	}{
		{"alone", map[string]string{"confd.strace": trace}, [][]string{{tenants + " main.leak 24 of 24"}}, []int{24}},
		// grep counts 7 files of tenants in the second listing and 21 in the last one.
		{"beside a listing of the time", map[string]string{"x/t2/lsof.txt": t2, "x/t2/captured_at": opened(t, "t2.captured_at"), "x/t5/lsof.txt": t5, "x/t5/captured_at": opened(t, "t5.captured_at"), "x/confd.strace": trace},
			[][]string{{tenants + " main.leak 7 of 7"}, {tenants + " main.leak 21 of 21"}}, []int{16, 30}},
		{"of another pid", map[string]string{"lsof.txt": fmt.Sprintf(row, 51, "/srv/a"), "a.strace": fmt.Sprintf("strace: Process 50 attached\n"+one, 50, "</srv/a>", 50)}, [][]string{nil, {"/srv/a main.leak 1 of 1"}}, []int{1, 1}},
		{"of the same pid", map[string]string{"lsof.txt": fmt.Sprintf(row, 50, "/srv/a"), "a.strace": fmt.Sprintf(one, 50, "</srv/a>", 50)}, [][]string{{"/srv/a main.leak 1 of 1"}}, []int{1}},
		{"another name under its number", map[string]string{"lsof.txt": fmt.Sprintf(row, 50, "/srv/b"), "a.strace": fmt.Sprintf(one, 50, "</srv/a>", 50)}, [][]string{nil}, []int{1}},
		{"a thread's id and a descriptor in common", map[string]string{"lsof.txt": fmt.Sprintf(row, 50, "/srv/a"), "a.strace": fmt.Sprintf(one, 52, "</srv/a>", 52)}, [][]string{{"/srv/a main.leak 1 of 1"}}, []int{1}},
		{"a listing from before the call", map[string]string{"lsof.txt": fmt.Sprintf(row, 50, "/srv/a"), "captured_at": "2026-11-28T15:07:49Z\n", "a.strace": fmt.Sprintf(one, 50, "</srv/a>", 50)}, [][]string{nil}, []int{1}},
		{"a listing from after it", map[string]string{"lsof.txt": fmt.Sprintf(row, 50, "/srv/a"), "captured_at": "2026-11-28T15:07:53Z\n", "a.strace": fmt.Sprintf(one, 50, "</srv/a>", 50)}, [][]string{{"/srv/a main.leak 1 of 1"}}, []int{1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := run(t, c.files)
			var got [][]string
			var total []int
			for i := range r.Snapshots {
				got = append(got, openersOf(&r.Snapshots[i]))
				total = append(total, *r.Snapshots[i].Totals.Descriptors)
			}
			if d := cmp.Diff(c.want, got) + cmp.Diff(c.total, total); d != "" {
				t.Error(d, r.Problems)
			}
		})
	}
}

func TestWhatATraceAloneIsWorth(t *testing.T) {
	for _, c := range []struct {
		name, text string
		exactness  analysis.Exactness
		form       string
		opened     float64
	}{
		{"strace", "open(\"/a\", O_RDONLY) = 3\nopen(\"/b\", O_RDONLY) = 4\nclose(3) = 0\n", analysis.AtLeast, analysis.FormOpened, 2},
		{"events that show no close", `{"fd":3,"fname":"/a","proc":{"comm":"x","pid":50}}` + "\n", analysis.NotComparable, analysis.FormOpenEvents, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := run(t, map[string]string{"a": c.text})
			s := &r.Snapshots[0]
			if e := s.Exactness(analysis.KindDescriptor); e != c.exactness || s.Forms[analysis.KindDescriptor] != c.form || s.Figures[analysis.TraceOpened] != c.opened || *s.Totals.Descriptors != 1 {
				t.Errorf("%q, %v, %v, %d descriptors", e, s.Forms, s.Figures, *s.Totals.Descriptors)
			}
		})
	}
}

func TestATraceOfOneTaskOfSeveralIsRefused(t *testing.T) {
	const text = "open(\"/a\", O_RDONLY) = 3\nopen(\"/b\", O_RDONLY) = 4\nclose(3) = 0\n"
	for _, c := range []struct {
		name, file, text string
		refused          bool
	}{
		{"a name with the id of the task", "st.3489", text, true},
		{"a name without it", "st.strace", text, false},
		{"ids in the lines", "st.2", strings.ReplaceAll(text, "open(", "50 open("), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := run(t, map[string]string{c.file: c.text})
			refused := slices.ContainsFunc(r.Problems, func(p analysis.Problem) bool {
				return strings.Contains(p.What, "one task alone") && strings.Contains(p.Hint, "strace-log-merge PREFIX")
			})
			if refused != c.refused || (len(r.Snapshots) == 0) != c.refused {
				t.Errorf("%d snapshots, problems %+v", len(r.Snapshots), r.Problems)
			}
		})
	}
}
