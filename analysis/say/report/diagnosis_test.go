package report_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"leakdiff/samples/corpus"
)

// TestTheSentenceNamesTheThingThatLeaks compares with what a person read in the captures and
// in the truth beside them.
func TestTheSentenceNamesTheThingThatLeaks(t *testing.T) {
	for series, want := range map[string]string{
		"clientgo-informer-recreate": "informer started 58 informer factories and stopped none: each keeps 12 goroutines and 1 connection.",
		"inotify-leak":               "leaker opened 86 inotify instances and closed none.",
		"kubelet-probe-leak":         "8 shim calls that never returned blocked 24 pod starts in containerd, until t8.",
		"node-agent-leak":            "watch-loop.mjs opens 15 connections a second to 127.0.0.1:42635 and closes none: 593 are open.",
		"okhttp-leak":                "OkHttpLeak created 87 OkHttp clients and closed none: each keeps 5 threads and 3 connections.",
		"prometheus-hanging-targets": "No leak: the 240 scrape loops of prometheus follow its load, each with 3 goroutines and 1 connection.",
		"restart":                    "prober started 159 goroutines in main.prober and none ended; restarted after t5, 16 again by t6.",
	} {
		t.Run(series, func(t *testing.T) {
			if got := reportOf(t, corpus.Path(t, "series", series)).Diagnosis; got.Sentence != want {
				t.Errorf("%q, want %q", got.Sentence, want)
			}
		})
	}
}

func TestADeadlockIsTheAnswer(t *testing.T) {
	got := reportOf(t, corpus.Path(t, "threads", "jdk-matrix", "jdk17", "jstack-l.txt")).Diagnosis
	if got.State != "deadlock" || !strings.HasPrefix(got.Sentence, "Deadlock in Scenario: ") || !strings.Contains(got.Sentence, "threads “Deadlock-monitor-1” and “Deadlock-monitor-2” wait for each other") || got.Next == nil || got.Next.Text != "Take these locks in the same order in Scenario$3.run and Scenario$2.run. Only a restart ends this deadlock." {
		t.Errorf("%s: %q", got.State, got.Sentence)
	}
}

func TestGoroutinesThatTheRuntimeMarkedAreLeakedInOneDump(t *testing.T) {
	got := reportOf(t, corpus.Path(t, "goroutine", "states", "goroutineleak-debug2.txt")).Diagnosis
	if want := "40 goroutines in main.leak.func1 of leakp can never continue: the runtime marked them as leaked."; got.Sentence != want {
		t.Errorf("%q, want %q", got.Sentence, want)
	}
}

// TestASentenceIsShortAndHasNoWordOfTheInside reads every series and many single dumps.
func TestASentenceIsShortAndHasNoWordOfTheInside(t *testing.T) {
	corpus.Heavy(t)
	var paths []string
	for _, pattern := range []string{"series/*", "goroutine/gen/*", "threads/*/*", "descriptors/*/*", "bundles/nomad", "bundles/promtool"} {
		found, err := filepath.Glob(filepath.Join(corpus.Path(t), pattern))
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, found...)
	}
	read := 0
	for _, path := range paths {
		if info, err := os.Stat(path); err != nil || info.Size() > 4<<20 {
			continue
		}
		d := reportOf(t, path).Diagnosis
		read++
		if n := len([]rune(d.Sentence)); n == 0 || n > 160 || !strings.HasSuffix(d.Sentence, ".") && !strings.HasSuffix(d.Sentence, "…") {
			t.Errorf("%s: %d characters: %q", path, n, d.Sentence)
		}
		for _, word := range []string{"members", "families", "family", "rise with it", "of these at", "cohort", "0x"} {
			if strings.Contains(d.Sentence+" "+d.Proof, word) {
				t.Errorf("%s says %q: %q, %q", path, word, d.Sentence, d.Proof)
			}
		}
	}
	if read < 50 {
		t.Errorf("%d files were read", read)
	}
}
