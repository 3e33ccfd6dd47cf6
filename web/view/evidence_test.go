package view

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"leakdiff/analysis"
	"leakdiff/analysis/say/document"
	"leakdiff/analysis/say/report"
)

// oneSeries is a report of one process with goroutine totals; -1 is "not
// captured", and verdict that of its only family.
func oneSeries(process string, verdict analysis.Verdict, quiet string, totals ...int) report.Report {
	r := report.Report{Series: []report.Series{{Process: process, Quiet: quiet}}}
	start := time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)
	s := &r.Series[0]
	for i := range totals {
		at := start.Add(time.Duration(i) * time.Minute)
		snap := report.Snapshot{ID: "s" + process + string(rune('0'+i)), Label: "t" + string(rune('0'+i)), Process: process, CapturedAt: &at}
		if totals[i] >= 0 {
			snap.Totals.Goroutines = &totals[i]
		}
		r.Snapshots = append(r.Snapshots, snap)
		s.Snapshots = append(s.Snapshots, snap.ID)
	}
	counts := make(analysis.Counts, len(totals))
	for i := range totals {
		if totals[i] >= 0 {
			counts[i] = analysis.Counted(totals[i])
		}
	}
	s.Families = []report.Family{{Fingerprint: "g1:0", Kind: analysis.KindGoroutine, Title: "main.leak", Verdict: verdict, Counts: counts}}
	return r
}

func TestTheHeadlineOfACaseIsItsDiagnosisOrWhatIsMissing(t *testing.T) {
	said := oneSeries("app", analysis.Stable, "", 5, 5, 5)
	said.Diagnosis.Sentence = "No leak seen in app: no goroutines grew in 2 min."
	nothing := report.Report{}
	nothing.Diagnosis = nothing.Diagnose(nil)
	for _, tt := range []struct {
		name string
		in   CaseInput
		want string
	}{
		{"a series", CaseInput{Report: said}, "No leak seen in app: no goroutines grew in 2 min."},
		{"an empty case", CaseInput{}, "This case is empty: no file was added to it yet."},
		{"a bundle under way", CaseInput{Bundles: []BundleLine{{Name: "a.tgz", Status: "running"}}}, "a.tgz is being read."},
		{"nothing found", CaseInput{Report: nothing, Bundles: []BundleLine{{Name: "a.tgz", Status: "read"}}}, "No dump was found in these files."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if d := cmp.Diff(tt.want, NewCase(tt.in).Headline); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestSnapshotsOfOneInstantShareAColumn(t *testing.T) {
	a, b := oneSeries("kubelet", analysis.Stable, "", 1, 2), oneSeries("containerd", analysis.Stable, "", 3, 4, 5)
	a.Series, a.Snapshots = append(a.Series, b.Series...), append(a.Snapshots, b.Snapshots...)
	c := NewCase(CaseInput{Report: a})
	var got [][]string
	for _, g := range c.Groups {
		got = append(got, g.Rows[0].Cells)
	}
	if d := cmp.Diff([][]string{{"1", "2", "–"}, {"3", "4", "5"}}, got); d != "" {
		t.Error(d)
	}
}

func TestSnapshotsOfTwoDaysWithOneLabelDoNotShareAColumn(t *testing.T) {
	a, b := oneSeries("a", analysis.Stable, "", 1), oneSeries("b", analysis.Stable, "", 2)
	later := b.Snapshots[0].CapturedAt.Add(24 * time.Hour)
	b.Snapshots[0].CapturedAt = &later
	a.Series, a.Snapshots = append(a.Series, b.Series...), append(a.Snapshots, b.Snapshots...)
	if n := len(NewCase(CaseInput{Report: a}).Columns); n != 2 {
		t.Errorf("%d columns, want 2", n)
	}
}

func TestASnapshotWithoutTimeKeepsItsPlace(t *testing.T) {
	r := oneSeries("a", analysis.Stable, "", 1, 2, 3)
	r.Snapshots[1].CapturedAt = nil
	var got []string
	for _, k := range NewCase(CaseInput{Report: r}).Columns {
		got = append(got, k.Label+" "+k.Clock)
	}
	if d := cmp.Diff([]string{"t0 03:00:00", "t1 –", "t2 03:02:00"}, got); d != "" {
		t.Error(d)
	}
}

func TestTitlesAreSplitIntoFunctionAndAside(t *testing.T) {
	for title, want := range map[string][2]string{
		"prober.(*worker).run":                                               {"prober.(*worker).run", ""},
		"ttrpc.(*serverConn).run in ttrpc.readMessageHeader":                 {"ttrpc.(*serverConn).run", "in ttrpc.readMessageHeader"},
		"pkg.(*service).RunPodSandbox <- kubelet.(*podWorkers).UpdatePod":    {"pkg.(*service).RunPodSandbox", "<- kubelet.(*podWorkers).UpdatePod"},
		"pkg.(*service).list via server.(*metrics).Collect in http.HandlerX": {"pkg.(*service).list", "via server.(*metrics).Collect in http.HandlerX"},
	} {
		main, aside := splitTitle(title)
		if d := cmp.Diff(want, [2]string{main, aside}); d != "" {
			t.Error(d)
		}
	}
}

func TestTheCreatorIsNotPrintedTwice(t *testing.T) {
	frames := []string{"k8s.io/cri-client/pkg.(*service).list"}
	creator := "k8s.io/component-base/metrics.(*Base).Collect"
	n := newFamilyName("pkg.(*service).list <- metrics.(*Base).Collect via logs.(*log).Collect", analysis.KindGoroutine, frames, creator, nil)
	if d := cmp.Diff("via logs.(*log).Collect", n.Aside); d != "" {
		t.Error(d)
	}
	if n.Creator == nil || n.Creator.Full != creator || n.Package != "k8s.io/cri-client/pkg" {
		t.Errorf("name is %+v", n)
	}
	if d := cmp.Diff("pkg.(*service).list ← metrics.(*Base).Collect via logs.(*log).Collect", n.Text()); d != "" {
		t.Error(d)
	}
}

func TestTheNormalisationStrikesWhatIsNotCompared(t *testing.T) {
	got := pieces("a/vendor/b.(*T).Run.func1(0x1)", "b.(*T).Run")
	want := []NormPiece{{"a/vendor/", true}, {"b.(*T).Run", false}, {".func1(0x1)", true}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if got := pieces("runtime.gopark", ""); len(got) != 1 || !got[0].Cut {
		t.Errorf("a dropped frame gives %v", got)
	}
}

func TestMarkdownCannotBeLeftByHostileText(t *testing.T) {
	for in, want := range map[string]string{
		"a|b":             `a\|b`,
		"two\nlines":      "two lines",
		"<img src=x>":     "&lt;img src=x&gt;",
		"[x](http://e)":   `\[x\](http:\//e)`,
		"www.evil.com":    `www\.evil.com`,
		"me@example.com":  "me&#64;example.com",
		"`code` *b* _i_":  "\\`code\\` \\*b\\* \\_i\\_",
		"\u202ereversed":  `\\xe2\\x80\\xaereversed`,
		"&lt;already&gt;": "&amp;lt;already&amp;gt;",
	} {
		var m document.Document
		m.Paragraph(in)
		if got := strings.TrimSuffix(m.Markdown(), "\n"); got != want {
			t.Errorf("%q is written as %q, want %q", in, got, want)
		}
	}
	var m document.Document
	m.Fence([]string{"a ```` b", "`"})
	if got := m.Markdown(); !strings.HasPrefix(got, "`````\n") || !strings.HasSuffix(got, "\n`````\n") {
		t.Errorf("fence is %q", got)
	}
}
