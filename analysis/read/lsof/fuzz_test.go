package lsof

import (
	"bytes"
	"testing"

	"leakdiff/analysis"
	"leakdiff/analysis/read/line"
)

// seed adds real files, whole and cut in the middle.
func seed(f *testing.F, names ...string) {
	f.Helper()
	for _, name := range names {
		raw := sample(f, name)
		f.Add(raw)
		f.Add(raw[:len(raw)/2])
	}
}

// checkListing fails where figures contradict each other or places lie outside the
// input.
func checkListing(t *testing.T, in []byte, l Listing, problems []analysis.Problem, visited, descriptors int, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	sum := 0
	for _, p := range l.PerPart {
		sum += p.Descriptors
	}
	if l.Parts <= maxParts && sum != descriptors || l.Visited != visited || l.Rows < visited || l.Descriptors > descriptors {
		t.Fatalf("visited %d, descriptors %d: %+v", visited, descriptors, l)
	}
	if l.Bytes != int64(len(in)) || len(l.Skipped) > 20 || len(l.Columns) > 64 {
		t.Fatalf("%d bytes: %+v", len(in), l)
	}
	if len(problems) > line.MaxProblems+2 {
		t.Fatalf("%d problems", len(problems))
	}
	for _, p := range problems {
		if p.Offset > int64(len(in)) || p.What == "" || p.Why == "" || p.Hint == "" {
			t.Fatalf("problem %+v", p)
		}
	}
}

func checkPlace(t *testing.T, in []byte, p analysis.Place) {
	t.Helper()
	if p.Line < 1 || p.Offset < 0 || p.Length < 0 || p.Offset+p.Length > int64(len(in)) {
		t.Fatalf("%+v in %d bytes", p, len(in))
	}
}

func fuzzRows(f *testing.F, p parser) {
	f.Fuzz(func(t *testing.T, in []byte) {
		visited, descriptors := 0, 0
		l, problems, err := p(bytes.NewReader(in), "f", func(_ int, row *Row) error {
			visited++
			if row.IsDescriptor {
				descriptors++
			}
			if row.IsDescriptor == (row.FD < 0 && !row.Star) || row.FD != row.Descriptor.FD || row.Descriptor.Type == "" && row.Type != "" {
				t.Fatalf("row %+v", row)
			}
			checkPlace(t, in, row.Descriptor.Place)
			return nil
		})
		checkListing(t, in, l, problems, visited, descriptors, err)
	})
}

func FuzzTable(f *testing.F) {
	seed(f, "E.txt", "R_g.txt", "fg.txt", "K.txt", "L1.txt", "Tqs.txt", "unpriv_head.txt", "repeat.txt")
	f.Add([]byte("kube-prox 23746 root *614u  IPv4 42992070 0t0 TCP 10.132.0.1:34014->10.132.0.66:http (CLOSE_WAIT)\n"))
	fuzzRows(f, ParseTable)
}

func FuzzFields(f *testing.F) {
	seed(f, "F.txt", "F0.txt", "F_pcuftDsin.txt")
	fuzzRows(f, ParseFields)
}

func FuzzListing(f *testing.F) {
	seed(f, "ls_l_fd.txt", "ls_lQ_fd.txt", "ls_la_fulliso_fd.txt", "busybox_ls_l_fd.txt", "find_fd.txt")
	f.Fuzz(func(t *testing.T, in []byte) {
		visited := 0
		l, problems, err := ParseListing(bytes.NewReader(in), "f", func(_, _ int, d *analysis.Descriptor) error {
			visited++
			if d.FD < 0 {
				t.Fatalf("descriptor %+v", d)
			}
			checkPlace(t, in, d.Place)
			return nil
		})
		checkListing(t, in, l, problems, visited, visited, err)
	})
}
