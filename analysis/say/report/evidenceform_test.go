package report

import (
	"fmt"
	"testing"
	"time"

	"leakdiff/analysis"
)

// mixedSeries has one snapshot for each form, an hour apart, with the counts of one
// family of the kind; threads have three of the virtual machine where the form
// lists them.
func mixedSeries(kind analysis.Kind, forms []string, counts []int) []analysis.Snapshot {
	var out []analysis.Snapshot
	own := &analysis.Family{Fingerprint: "t1:00000000000000000000000000000001", Kind: kind, Title: "worker"}
	gc := &analysis.Family{Fingerprint: "t1:00000000000000000000000000000002", Kind: kind, Title: "GC Thread#N", Attributes: map[string]string{"sort": "vm"}}
	for i, form := range forms {
		s := analysis.Snapshot{ID: fmt.Sprint("s", i), Label: fmt.Sprint("t", i), CapturedAt: time.Date(2026, 11, 21, i, 0, 0, 0, time.UTC), Forms: map[analysis.Kind]string{kind: form}}
		total := counts[i]
		if kind == analysis.KindDescriptor {
			own = &analysis.Family{Fingerprint: "d1:00000000000000000000000000000001", Kind: kind, Title: "TCP client", Attributes: map[string]string{"protocol": "TCP"}}
			if form == analysis.FormBare {
				own = &analysis.Family{Fingerprint: "d1:00000000000000000000000000000002", Kind: kind, Title: "socket", Attributes: map[string]string{"type": "socket"}}
			}
		}
		if counts[i] > 0 {
			s.Groups = append(s.Groups, analysis.Group{Family: own, Count: counts[i]})
		}
		if form == analysis.FormFull {
			s.Groups = append(s.Groups, analysis.Group{Family: gc, Count: 3})
			total += 3
		}
		if kind == analysis.KindThread {
			s.Totals.Threads = &total
		} else {
			s.Totals.Descriptors = &total
		}
		out = append(out, s)
	}
	return out
}

func TestFormsThatShowLessAccuseAndAcquitNobody(t *testing.T) {
	for _, tc := range []struct {
		name   string
		kind   analysis.Kind
		forms  []string
		counts []int
		want   string
		totals string
	}{
		{"threads of the virtual machine are dropped where another form cannot have them", analysis.KindThread,
			[]string{analysis.FormFull, analysis.FormJava, analysis.FormFull}, []int{9, 9, 9}, "worker [9 9 9] stable; ", "9 9 9 "},
		{"equal forms keep them", analysis.KindThread, []string{analysis.FormFull, analysis.FormFull}, []int{9, 9}, "worker [9 9] stable; GC Thread#N [3 3] stable; ", "12 12 "},
		{"a list without ends does not say that a connection is new", analysis.KindDescriptor,
			[]string{analysis.FormBare, analysis.FormBare, analysis.FormEnds, analysis.FormEnds}, []int{380, 380, 380, 380}, "socket, its ends not known in every snapshot [380 380 380 380] stable; ", "380 380 380 380 "},
		{"capped stacks are not gone in full ones", analysis.KindThread,
			[]string{analysis.FormJava, analysis.FormCapped, analysis.FormJava}, []int{9, 0, 9}, "worker [9 n/a 9] stable; ", "9 0 9 "},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := Build(mixedSeries(tc.kind, tc.forms, tc.counts), nil, Options{}).Report
			got, totals := "", ""
			for _, f := range r.Series[0].Families {
				var counts []string
				for _, n := range f.Counts {
					if !n.Known() {
						counts = append(counts, "n/a")
					} else {
						counts = append(counts, fmt.Sprint(n.N))
					}
				}
				got += fmt.Sprintf("%s %v %s; ", f.Title, counts, f.Verdict)
			}
			for _, s := range r.Snapshots {
				totals += fmt.Sprint(*s.Totals.Of(tc.kind), " ")
			}
			if got != tc.want || totals != tc.totals {
				t.Errorf("got  %s(%s)\nwant %s(%s)", got, totals, tc.want, tc.totals)
			}
			mixed := map[string]bool{}
			for _, form := range tc.forms {
				mixed[form] = true
			}
			if said := len(r.Series[0].Limits) > 0; len(mixed) > 1 && !said {
				t.Error("nobody says that the forms differ")
			}
		})
	}
}
