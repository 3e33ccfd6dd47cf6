package server

import (
	"strings"
	"testing"

	"leakdiff/server/intake"
)

func TestTheListOfCasesSaysWhatItsFiguresAre(t *testing.T) {
	s := newSite(t)
	cut := func(n int) string { // in the middle of a frame
		whole := dumpOf(n)
		return whole[:strings.LastIndex(whole, "main.leak")+4]
	}
	one := s.put("one.txt", []byte(cut(60)))
	body, kind := form(t, map[string]string{"t0.txt": dumpOf(20), "t1.txt": dumpOf(90), "t2.txt": cut(10)}, nil)
	three := decode[intake.Uploaded](t, s.do("POST", "/api/v1/bundles?wait=1", body, "Content-Type", kind).body)
	nothing := s.put("notes.txt", []byte("The node was slow this morning.\n"))
	s.s.worker.CatchUp(t.Context())
	list := s.get("/").body
	row := func(up intake.Uploaded) string {
		_, rest, found := strings.Cut(list, `href="/cases/`+up.Case+`"`)
		if !found {
			t.Fatalf("%s is not listed", up.Case)
		}
		return between("<>"+rest, "<>", "</tr>")
	}
	for _, tc := range []struct {
		name        string
		up          intake.Uploaded
		want, never []string
	}{
		{"one dump that is cut", one, []string{"at least 61 goroutines", "≥\u00a061</td>"}, []string{"61 → 61", ": 61 goroutines"}},
		{"the last of three", three, []string{"≥\u00a011 → 91", "#3 at least 11"}, []string{">11 →"}},
		{"no evidence", nothing, []string{"holds no dump.", "</i>no evidence</span>"}, []string{"too few points"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := row(tc.up)
			for _, w := range tc.want {
				if !strings.Contains(got, w) {
					t.Errorf("no %q in %s", w, got)
				}
			}
			for _, n := range tc.never {
				if strings.Contains(got, n) {
					t.Errorf("%q in %s", n, got)
				}
			}
		})
	}
	page := s.get(three.Link).body
	if !strings.Contains(page, "≥") {
		t.Fatal("the dump of the test is not cut")
	}
}
