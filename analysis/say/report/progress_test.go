package report_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/progress"
	"leakdiff/analysis/say/report"
)

// The captures are three dumps of jcmd Thread.print -l of an own program on JDK 17, a machine with
// two cores that others used as well. By their cpu= and elapsed= the two threads pricing-1 and
// pricing-2 used 9.12 s in the first 18.38 s, just below half a core, and 9.16 s in the 16.78 s after
// that. Three readers wait for an answer, four tasks of a pool for a latch, five threads for a
// lock, for the 35.16 s of all three. An acceptor, a selector, two pools without work, an own loop
// over a queue, the sleeping holder of the lock and main wait as well.
func TestThreadsThatBurnAndThatStandStillAreSaidBesideTheVerdict(t *testing.T) {
	r := reportOf(t, "testdata/progress")
	s := &r.Series[0]
	if len(s.Busy) != 1 {
		t.Fatalf("busy: %+v", s.Busy)
	}
	b := s.Busy[0]
	if b.Name != "pricing-N" || b.Threads != 2 || b.From != 1 || b.To != 2 || math.Round(100*b.CPUSeconds) != 916 || math.Round(100*b.WallSeconds) != 1678 {
		t.Errorf("busy: %+v", b)
	}
	var still []string
	for _, x := range s.Still {
		if x.From != 0 || x.To != 2 || math.Round(100*x.WallSeconds) != 3516 {
			t.Errorf("still: %+v", x)
		}
		still = append(still, string(x.WaitsFor)+" "+x.Title)
	}
	if want := []string{string(progress.ForLock) + " settler-N · Orders.settle", string(progress.ForAnother) + " pool-N-thread-N · Orders.handle", string(progress.ForSocket) + " reply-reader-N · Orders.readReply"}; !slices.Equal(still, want) {
		t.Errorf("still: %q", still)
	}
	if want := "No leak seen in Orders: no threads grew in 35 s, but 2 threads “pricing-N” used 9.2 s of CPU in 17 s and 5 threads “settler-N · Orders.settle” stand still."; r.Diagnosis.Sentence != want {
		t.Errorf("the sentence is %q", r.Diagnosis.Sentence)
	}
	facts := map[string]report.Finding{}
	for _, f := range s.Findings {
		if f.Kind == report.FactFinding {
			facts[f.Title] = f
		}
		if f.Verdict != "" {
			t.Errorf("%s accuses: %s", f.Title, f.Verdict)
		}
	}
	f := facts["2 threads “pricing-N” used 9.2 s of CPU in 17 s"]
	if !strings.HasPrefix(f.Text, "That is 0.55 cores, from capture 2 to capture 3. “pricing-1” used most of it.") {
		t.Errorf("the text is %q", f.Text)
	}
	if f := facts["3 threads “reply-reader-N · Orders.readReply” stand still: in 3 dumps over 35 s they wait for data on a socket and use no CPU"]; !strings.HasPrefix(f.Text, "Their frames are the same from capture 1 to capture 3. ") || len(f.Families) != 1 {
		t.Errorf("the text is %q", f.Text)
	}
	if all := s.FactsOf(s.Still[2].Family); len(all) != 1 || !strings.HasPrefix(all[0].Title, "3 threads “reply-reader-N") {
		t.Errorf("the facts of its family are %+v", all)
	}
	for _, f := range s.Families {
		if f.Verdict == analysis.Leaking || f.Verdict == analysis.Suspicious {
			t.Errorf("%s is %s", f.Title, f.Verdict)
		}
	}
}
