package server

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"leakdiff/analysis"
	"leakdiff/analysis/report"
)

// aged is a dump whose goroutines were born evenly over two days: their ages alone
// are evidence.
func aged(marked string) []byte {
	var out bytes.Buffer
	for i := range 120 {
		fmt.Fprintf(&out, "goroutine %d [chan receive%s, %d minutes]:\nmain.leak()\n\t/src/main.go:5 +0x1d\ncreated by main.serve in goroutine 1\n\t/src/main.go:9 +0x1d\n\n", 1000+i, marked, 24*(121-i))
	}
	fmt.Fprintf(&out, "goroutine 1 [select, 2900 minutes]:\nmain.main()\n\t/src/main.go:2 +0x1d\n\n")
	return out.Bytes()
}

func TestTheReportWithoutMembersSaysOfALoneSnapshotWhatTheOtherSays(t *testing.T) {
	site := newSite(t)
	for name, tt := range map[string]struct {
		dump []byte
		want analysis.Verdict
	}{
		"ages":  {aged(""), analysis.Suspicious},
		"marks": {aged(" (leaked)"), analysis.Leaking},
		"none":  {[]byte("goroutine 1 [running]:\nmain.main()\n\t/src/main.go:5 +0x1d\n"), analysis.TooFewPoints},
	} {
		up := site.put(name+".txt", tt.dump)
		full, err := site.s.load(t.Context(), up.Case)
		if err != nil {
			t.Fatal(err)
		}
		brief, err := site.s.briefly(t.Context(), up.Case, true)
		if err != nil {
			t.Fatal(err)
		}
		want := report.Summary(full.built)
		if diff := cmp.Diff(want, report.Summary(brief)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if want.Verdict != tt.want {
			t.Errorf("%s: the verdict is %s, want %s", name, want.Verdict, tt.want)
		}
		if diff := cmp.Diff(full.built.Report.Snapshots, up.Snapshots); diff != "" {
			t.Errorf("%s: the answer lists other snapshots: %s", name, diff)
		}
	}
}
