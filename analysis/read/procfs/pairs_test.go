package procfs_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"leakdiff/analysis"
	"leakdiff/analysis/read/procfs"
)

func TestPairsAreReadAsTheCollectorWroteThem(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []analysis.Pair
		problems   []string
	}{
		{"pairs", "1 3\n4711 12\n", []analysis.Pair{{Goroutine: 1, FD: 3}, {Goroutine: 4711, FD: 12}}, nil},
		{"a reader and a writer of one connection", "7 3\n8 3\n", []analysis.Pair{{Goroutine: 7, FD: 3}, {Goroutine: 8, FD: 3}}, nil},
		{"the descriptor 0", "7 0\n", []analysis.Pair{{Goroutine: 7}}, nil},
		{"an empty line", "7 3\n\n8 4\n", []analysis.Pair{{Goroutine: 7, FD: 3}, {Goroutine: 8, FD: 4}}, nil},
		{"line ends of Windows", "7 3\r\n", []analysis.Pair{{Goroutine: 7, FD: 3}}, nil},
		{"a file without a pair", "", nil, nil},
		{"a line that is cut", "7 3\n8 12", []analysis.Pair{{Goroutine: 7, FD: 3}}, []string{"2: the last pair is cut off"}},
		{"a goroutine twice", "7 3\n7 4\n", []analysis.Pair{{Goroutine: 7, FD: 3}}, []string{"2: a goroutine is listed twice"}},
		{"bad lines", "x 3\n7\n7 \n0 3\n-7 3\n7 -3\n7 3 4\n7  3\n7 99999999999\n99999999999999999999 3\n8 5\n", []analysis.Pair{{Goroutine: 8, FD: 5}}, []string{
			"1: a pair is not understood", "2: a pair is not understood", "3: a pair is not understood", "4: a pair is not understood", "5: a pair is not understood",
			"6: a pair is not understood", "7: a pair is not understood", "8: a pair is not understood", "9: a pair is not understood", "10: a pair is not understood",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, problems, err := procfs.ParsePairs(strings.NewReader(c.text), "goroutine-fds.txt")
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
			var said []string
			for _, p := range problems {
				said = append(said, fmt.Sprintf("%d: %s", p.Line, p.What))
			}
			if d := cmp.Diff(c.problems, said); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestPairsOfOneFileAreBounded(t *testing.T) {
	var text strings.Builder
	for i := range 200_002 {
		fmt.Fprintf(&text, "%d 3\n", i+1)
	}
	got, problems, err := procfs.ParsePairs(strings.NewReader(text.String()), "x")
	if err != nil || len(got) != 200_000 || len(problems) != 1 || problems[0].What != "too many pairs" {
		t.Errorf("%d pairs, %+v, %v", len(got), problems, err)
	}
}

func FuzzPairs(f *testing.F) {
	f.Add("1 3\n4711 12\n")
	f.Add("1 3\n1 4\n-1 7\nx\n5 5")
	f.Fuzz(func(t *testing.T, text string) {
		got, problems, err := procfs.ParsePairs(strings.NewReader(text), "x")
		if err != nil {
			t.Fatal(err)
		}
		if len(got) > strings.Count(text, "\n") || len(problems) > 200 {
			t.Errorf("%d pairs and %d problems of %d bytes", len(got), len(problems), len(text))
		}
		seen := map[int64]bool{}
		for _, p := range got {
			if p.Goroutine <= 0 || p.FD < 0 || seen[p.Goroutine] {
				t.Errorf("%+v", p)
			}
			seen[p.Goroutine] = true
		}
	})
}
