package report_test

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"leakdiff/analysis/read/bundle"
	"leakdiff/analysis/say/report"
)

// sessions are dumps of a program with connections of three goroutines. At the last two
// moments the first ended ones are gone, and those behind them, up to stay, have lost so many
// of their goroutines.
func sessions(opened []int, ended, stay, lost int, others bool) (out []bundle.Input) {
	for i, n := range opened {
		var dump strings.Builder
		fmt.Fprintf(&dump, "goroutine 1 [chan receive]:\nmain.main()\n\t/src/main.go:7 +0x1\n\ngoroutine %d [running]:\nmain.tick()\n\t/src/main.go:9 +0x1\n\n", 9000+i)
		goroutine := func(id, object int, typ, method string) {
			fmt.Fprintf(&dump, "goroutine %d [select]:\nexample.org/app/wire.(*%s).%s(0xc0000%05x)\n\t/src/app/wire/%s.go:41 +0x1\ncreated by main.dial in goroutine 1\n\t/src/main.go:20 +0x1\n\n", id, typ, method, 32*object, method)
		}
		late := i >= len(opened)-2
		for k := range n {
			parts := []string{"read", "write", "stream"}
			switch {
			case late && k < ended, late && k >= ended+stay:
				parts = nil
			case late:
				parts = parts[:3-lost]
			}
			for p, method := range parts {
				goroutine(100+3*k+p, k, "Conn", method)
			}
			if others {
				goroutine(5000+2*k, 1000+k, "Session", "serve")
				goroutine(5001+2*k, 1000+k, "Session", "watch")
			}
		}
		file := func(name, text string) {
			out = append(out, bundle.Input{Name: name, Size: int64(len(text)), Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }})
		}
		file(fmt.Sprintf("t%d/captured_at", i), time.Date(2026, 11, 21, 3, 10*i, 0, 0, time.UTC).Format(time.RFC3339)+"\n")
		file(fmt.Sprintf("t%d/app/goroutine-debug2.txt", i), dump.String())
	}
	return out
}

func TestWhatStaysAtARecoveryIsAFindingOfItsOwn(t *testing.T) {
	opened := []int{4, 48, 96, 144, 192, 240, 240, 240}
	for _, tt := range []struct {
		name              string
		ended, stay, lost int
		others            bool
		// title is that of the second finding, text is in both.
		title, text string
	}{
		{"nothing stays", 236, 4, 0, false, "", ""},
		{"some stay as they were", 200, 40, 0, false, "40 *wire.Conn are still there after t6, where 200 ended", "200 *wire.Conn ended at t6; 40 are still there."},
		{"some stay without a goroutine", 200, 40, 1, false, "40 *wire.Conn are still there after t6, where 200 ended", "200 *wire.Conn ended at t6; 40 are still there, with fewer goroutines than before."},
		{"some stay with one of three", 200, 40, 2, false, "40 *wire.Conn are still there after t6, where 200 ended", "200 *wire.Conn ended at t6; 40 *wire.Conn are still there, with fewer goroutines than before."},
		{"another kind stays", 236, 4, 0, true, "wire.Session objects ", "236 *wire.Conn ended at t6; 240 *wire.Session are still there."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := built(t, sessions(opened, tt.ended, tt.stay, tt.lost, tt.others)).Report.Series[0]
			var said []string
			for _, f := range s.Findings {
				if strings.Contains(f.Text, " ended at t6; ") {
					said = append(said, f.Title)
					if tt.text == "" || !strings.Contains(f.Text, tt.text) {
						t.Errorf("%s: %s", f.Title, f.Text)
					}
				}
			}
			switch {
			case tt.text == "":
				if len(said) > 0 {
					t.Errorf("got %q", said)
				}
			case len(said) != 2 || !slices.ContainsFunc(said, func(title string) bool { return strings.HasPrefix(title, tt.title) }):
				t.Errorf("got %q, want two, one of them %q", said, tt.title)
				for _, f := range s.Findings {
					t.Logf("%s: %s: %s", f.Verdict, f.Title, f.Text)
				}
				for _, o := range s.Objects {
					t.Logf("%s rest %v %s %v: %+v", o.Name, o.Rest, o.Verdict, report.Rises(o.Counts, nil), o.Evidence)
				}
			}
		})
	}
}
