package ingest

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"leakdiff/analysis"
)

func TestPairsJoinTheSnapshotOfTheirCapture(t *testing.T) {
	pair := func(goroutine int64, fd int) analysis.Pair { return analysis.Pair{Goroutine: goroutine, FD: fd} }
	const oneListing = "COMMAND PID USER FD TYPE DEVICE SIZE/OFF NODE NAME\nprober 4382 root 3u IPv4 339779 0t0 TCP 127.0.0.1:38847->127.0.0.1:58290 (ESTABLISHED)\n"
	for _, c := range []struct {
		name  string
		files map[string]string
		// want are the pairs of each snapshot. problem is a part of the only problem.
		want    [][]analysis.Pair
		problem string
	}{
		{"beside a dump and a listing", map[string]string{
			"t0/x/goroutine.debug2.txt": dump(5, 6), "t0/x/fdinfo/3": fdinfo, "t0/x/fdinfo/4": fdinfo, "t0/x/goroutine-fds.txt": "6 3\n5 4\n",
		}, [][]analysis.Pair{{pair(5, 4), pair(6, 3)}}, ""},
		{"a reader and a writer of one connection", map[string]string{
			"t0/x/goroutine.debug2.txt": dump(5, 6), "t0/x/fdinfo/3": fdinfo, "t0/x/goroutine-fds.txt": "5 3\n6 3\n",
		}, [][]analysis.Pair{{pair(5, 3), pair(6, 3)}}, ""},
		{"each round has its own", map[string]string{
			"t0/x/goroutine.debug2.txt": dump(5), "t0/x/fdinfo/3": fdinfo, "t0/x/goroutine-fds.txt": "5 3\n",
			"t1/x/goroutine.debug2.txt": dump(5, 6), "t1/x/fdinfo/3": fdinfo,
			"t2/x/goroutine.debug2.txt": dump(5, 6), "t2/x/fdinfo/4": fdinfo, "t2/x/goroutine-fds.txt": "6 4\n",
		}, [][]analysis.Pair{{pair(5, 3)}, nil, {pair(6, 4)}}, ""},
		{"a goroutine that is not in the dump", map[string]string{
			"t0/x/goroutine.debug2.txt": dump(5, 6), "t0/x/fdinfo/3": fdinfo, "t0/x/goroutine-fds.txt": "5 3\n7 3\n",
		}, [][]analysis.Pair{{pair(5, 3)}}, "1 of 2 pairs of goroutine and descriptor were left out"},
		{"descriptors that are not in the listing", map[string]string{
			"t0/x/goroutine.debug2.txt": dump(5, 6, 7), "t0/x/fdinfo/3": fdinfo, "t0/x/goroutine-fds.txt": "5 3\n6 8\n7 9\n",
		}, [][]analysis.Pair{{pair(5, 3)}}, "2 of 3 pairs of goroutine and descriptor were left out"},
		{"a capture without a listing", map[string]string{
			"t0/x/goroutine.debug2.txt": dump(5), "t0/x/goroutine-fds.txt": "5 3\n",
		}, [][]analysis.Pair{nil}, "1 of 1 pair of goroutine and descriptor was left out"},
		{"a capture without a dump", map[string]string{
			"t0/x/fdinfo/3": fdinfo, "t0/x/goroutine-fds.txt": "5 3\n",
		}, [][]analysis.Pair{nil}, ""},
		{"dumps of several instants in one directory, of which one has pairs", map[string]string{
			"x/t1.goroutines.txt": dump(5), "x/t2.goroutines.txt": dump(5, 6), "x/t2.goroutine-fds.txt": "5 3\n",
			"x/t1.lsof.txt": oneListing, "x/t2.lsof.txt": oneListing,
		}, [][]analysis.Pair{nil, {pair(5, 3)}}, ""},
		{"two dumps that could be meant", map[string]string{
			"x/t1.goroutines.txt": dump(5), "x/t2.goroutines.txt": dump(5, 6), "x/goroutine-fds.txt": "5 3\n",
		}, [][]analysis.Pair{nil, nil}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := run(t, c.files)
			var got [][]analysis.Pair
			for _, s := range r.Snapshots {
				got = append(got, s.Pairs)
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
			var said []string
			for _, p := range r.Problems {
				if strings.Contains(p.Path, "goroutine-fds") {
					said = append(said, p.What)
				}
			}
			if c.problem == "" && len(said) > 0 || c.problem != "" && (len(said) != 1 || !strings.Contains(said[0], c.problem)) {
				t.Errorf("problems %q, want %q", said, c.problem)
			}
			for _, a := range r.Artifacts {
				if strings.HasSuffix(a.Path, "goroutine-fds.txt") && (a.Kind != "goroutine-fds" || a.Status != analysis.Read) {
					t.Errorf("%+v", a)
				}
			}
		})
	}
}

func TestPairsAreNotPrinted(t *testing.T) {
	text, err := json.Marshal(analysis.Snapshot{Pairs: []analysis.Pair{{Goroutine: 4711, FD: 12}}})
	if err != nil || strings.Contains(string(text), "4711") {
		t.Errorf("%s, %v", text, err)
	}
}
