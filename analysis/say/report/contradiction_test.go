package report_test

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"leakdiff/analysis/read/bundle"
	"leakdiff/analysis/say/report"
	"leakdiff/samples/corpus"
)

// loops is a dump of readers by id, all started by one function.
func loops(ids ...[2]int) map[string]string {
	text := "goroutine 1 [chan receive, 200 minutes]:\nmain.main()\n\t/src/app/main.go:44 +0x1d\n\n"
	for _, r := range ids {
		for id := r[0]; id < r[1]; id++ {
			text += fmt.Sprintf("goroutine %d [chan receive, 5 minutes]:\nfeed.(*Reader).loop(0xc%06x)\n\t/src/app/reader.go:41 +0x1d\ncreated by feed.Open in goroutine 1\n\t/src/app/open.go:17 +0x2c\n\n", id, id)
		}
	}
	return map[string]string{"goroutine.txt": text}
}

// TestNoFigureOfASentenceIsRuledOut has courses of one group by the ids that are there.
func TestNoFigureOfASentenceIsRuledOut(t *testing.T) {
	for name, tt := range map[string]struct {
		captures []map[string]string
		sentence string
		do       string
	}{
		"a peak of few captures is told": {
			[]map[string]string{loops([2]int{10, 70}), loops([2]int{10, 170}), loops([2]int{10, 270}), loops([2]int{10, 15})},
			"No leak seen: goroutines rose from 61 to 261 at t2, 260 of them goroutines started by feed.Open, and fell to 6 at t3.", "",
		},
		"a burst that is gone is no growth": {
			[]map[string]string{loops([2]int{10, 20}), loops([2]int{10, 180}), loops([2]int{10, 40}), loops([2]int{10, 20})},
			"No leak seen: goroutines rose from 11 to 171 at t1, 170 of them goroutines started by feed.Open, and were back at 11 at t3.", "",
		},
		"a burst that stands for two captures": {
			[]map[string]string{loops([2]int{10, 20}), loops([2]int{10, 60}), loops([2]int{10, 62}), loops([2]int{10, 20})},
			"No leak seen: goroutines rose from 11 to 53 at t2, 52 of them goroutines started by feed.Open, and were back at 11 at t3.", "",
		},
		"more at the last capture is no stop": {
			[]map[string]string{loops([2]int{10, 15}), loops([2]int{10, 35}), loops([2]int{10, 55}), loops([2]int{10, 75}), loops([2]int{10, 75}), loops([2]int{10, 75}), loops([2]int{10, 76})},
			"feed.Reader objects grew from 5 to 66 in 6 h: 61 new, none ended.", "if more come and none ends",
		},
		"who ended may have been there at first": {
			[]map[string]string{loops([2]int{10, 30}), loops([2]int{20, 50}), loops([2]int{30, 70}), loops([2]int{40, 90}), loops([2]int{50, 110}), loops([2]int{60, 130})},
			"feed.Reader objects grew from 20 to 70: 100 came, 50 ended.", "Each is started at open.go:17",
		},
	} {
		got := every(t, tt.captures).Diagnosis
		if got.Sentence != tt.sentence || (got.Next == nil) != (tt.do == "") || tt.do != "" && !strings.Contains(got.Next.Text, tt.do) {
			t.Errorf("%s: %q, %v, want %q and to %q", name, got.Sentence, got.Next, tt.sentence, tt.do)
		}
	}
}

func TestARestartThatEndedAGrowthCuredIt(t *testing.T) {
	before := []map[string]string{loops([2]int{1000, 1010}), loops([2]int{1000, 1030}), loops([2]int{1000, 1050}), loops([2]int{1000, 1070})}
	again := func(n int) map[string]string {
		d := loops([2]int{20, 20 + n})
		d["goroutine.txt"] = strings.Replace(d["goroutine.txt"], "200 minutes", "2 minutes", 1)
		return d
	}
	flat := every(t, append(before, again(6), again(6), again(6), again(6))).Diagnosis
	if want := "Cured by the restart so far: 3 h at the earlier pace would have shown 66."; flat.Next == nil || !strings.HasPrefix(flat.Next.Text, want) {
		t.Errorf("flat: %q, %v, want %q", flat.Sentence, flat.Next, want)
	}
	climbs := every(t, append(before, again(6), again(26), again(46), again(66))).Diagnosis
	if climbs.Next == nil || strings.HasPrefix(climbs.Next.Text, "Cured") {
		t.Errorf("it climbs again: %q, %v", climbs.Sentence, climbs.Next)
	}
}

// TestTwoDumpsLeadWithTheThingThatHasCode reads pairs of the corpus, of which the truth of the
// whole series is known.
func TestTwoDumpsLeadWithTheThingThatHasCode(t *testing.T) {
	for _, tt := range []struct{ series, a, b, state, sentence string }{
		{"okhttp-leak", "t1", "t3", "may leak", "OkHttpLeak created 37 OkHttp clients and closed none so far."},
		{"okhttp-leak", "t3", "t4", "may leak", "OkHttpLeak created 45 OkHttp clients and closed none so far."},
		{"prometheus-hanging-targets", "t6", "t7-targets-removed", "grew", "38 scrape loops of prometheus went on with fewer goroutines than before."}, // 747 goroutines, then 65
	} {
		got := windowOf(t, tt.series, "", tt.a, tt.b).Diagnosis
		if got.State != tt.state || !strings.HasPrefix(got.Sentence, tt.sentence) {
			t.Errorf("%s %s, %s: %s: %q, want %s: %q", tt.series, tt.a, tt.b, got.State, got.Sentence, tt.state, tt.sentence)
		}
	}
}

// windowOf reads some captures of a series of the corpus, of one directory in each, "" for all.
func windowOf(t *testing.T, series, only string, captures ...string) report.Report {
	t.Helper()
	var inputs []bundle.Input
	for _, at := range captures {
		root := corpus.Path(t, "series", series, at)
		if err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			name := filepath.ToSlash(strings.TrimPrefix(path, root))
			if err == nil && !d.IsDir() && (strings.HasPrefix(name, "/"+only) || name == "/captured_at") {
				inputs = append(inputs, bundle.Input{Name: at + name, Size: -1, Open: func() (io.ReadCloser, error) { return os.Open(path) }})
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	return built(t, inputs).Report
}

// TestAllWereStartedByTheCreatorOfTheirGroup: two goroutines of the kubelet run the function that
// starts containers, 60 and 4 of the 64.
func TestAllWereStartedByTheCreatorOfTheirGroup(t *testing.T) {
	got := windowOf(t, "kubelet-probe-leak", "kubelet", "t5", "t6", "t7").Diagnosis
	if got.Cause == nil || got.Cause.Reason != "started by manager.(*containerData).Start, called in manager.(*manager).watchForNewContainers.func1 (60 of 64)" {
		t.Errorf("%q: %v", got.Sentence, got.Cause)
	}
}
