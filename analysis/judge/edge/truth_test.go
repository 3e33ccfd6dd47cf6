package edge_test

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/edge"
	"leakdiff/analysis/read/bundle"
	"leakdiff/analysis/read/ingest"
	"leakdiff/samples/corpus"
)

// expected is a row of objects-expected.tsv that sockets prove.
type expected struct {
	series, process, object string
	counts, born, ended     []string
}

func rowsOf(t *testing.T) (out []expected) {
	t.Helper()
	data, err := os.ReadFile(corpus.Path(t, "objects-expected.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(strings.TrimSpace(string(data)), "\n")[1:] {
		if f := strings.Split(line, "\t"); strings.HasPrefix(f[3], "socket") {
			out = append(out, expected{f[0], f[1], f[2], strings.Split(f[7], ","), strings.Split(f[8], ","), strings.Split(f[9], ",")})
		}
	}
	return out
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
	result, err := ingest.Run(t.Context(), ingest.Config{Bundle: bundle.Config{TempDir: t.TempDir()}, Packed: true}, inputs)
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

func TestTheConnectionsOfASeriesAreCountedAndFollowed(t *testing.T) {
	// What each row of the truth is among the edges of its process.
	type kind struct {
		to      int
		matched bool
		state   edge.State
	}
	kinds := map[string]kind{
		"connection":                           {edge.Outside, false, edge.Established},
		"connection of a scrape":               {edge.Outside, false, edge.Established},
		"connection, both ends in the process": {0, true, edge.Established},
		"connection that the peer has closed":  {0, false, edge.CloseWait},
	}
	for _, r := range rowsOf(t) {
		t.Run(r.series+" "+r.object, func(t *testing.T) {
			want, ok := kinds[r.object]
			if !ok {
				t.Fatal("nobody says how this row is recognised")
			}
			snapshots := seriesOf(t, r.series, r.process)
			packed := edge.Pack(snapshots)
			course, err := packed.Unpack(len(snapshots))
			if err != nil {
				t.Fatal(err)
			}
			if each := (len(packed.Rows) + len(packed.Spans)) / len(course.Rows); each > 40 {
				t.Errorf("%d bytes for each of %d connections", each, len(course.Rows))
			}
			moments := make([]edge.Moment, len(snapshots))
			n := 0
			for _, e := range edge.Join([]edge.Process{{Moments: moments, Course: course}}).Edges() {
				if e.To != want.to || e.State != want.state {
					continue
				}
				n++
				if e.Direction != edge.Dialled {
					t.Errorf("the direction is %s", e.Direction)
				}
				matched := e.N
				if !want.matched {
					matched = make(analysis.Counts, len(e.N))
				}
				same(t, "counts", e.N, r.counts)
				same(t, "born", e.Born[1:], r.born)
				same(t, "ended", e.Ended[1:], r.ended)
				for i, m := range e.Matched {
					if w := matched[i]; !w.Known() && m.N != 0 || w.Known() && w.N != m.N {
						t.Errorf("snapshot %d: %d matched", i, m.N)
					}
				}
			}
			if n != 1 {
				t.Errorf("%d edges, want 1", n)
			}
		})
	}
}

func same(t *testing.T, what string, got analysis.Counts, want []string) {
	t.Helper()
	text := make([]string, len(got))
	for i, n := range got {
		text[i] = "unknown"
		if n.Known() {
			text[i] = strconv.Itoa(n.N)
		}
	}
	if strings.Join(text, ",") != strings.Join(want, ",") {
		t.Errorf("%s: got %s, want %s", what, text, want)
	}
}
