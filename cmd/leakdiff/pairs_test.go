package main

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"leakdiff/analysis"
	"leakdiff/analysis/read/bundle"
	"leakdiff/analysis/read/ingest"
	"leakdiff/analysis/say/report"
	"leakdiff/samples"
	"leakdiff/samples/corpus"
)

// windows returns every run of n neighbouring snapshots of a result, in the order of the
// truth's labels.
func windows(all []analysis.Snapshot, labels []string, n int) map[int][]analysis.Snapshot {
	out := map[int][]analysis.Snapshot{}
	for from := 0; from+n <= len(labels); from++ {
		var window []analysis.Snapshot
		for _, s := range all {
			if slices.Contains(labels[from:from+n], s.Label) {
				window = append(window, s)
			}
		}
		out[from] = window
	}
	return out
}

// Of 287 pairs of counts that rise by three and more, identities prove all but two.
// Triples prove all.
func TestPairsAndTriplesOfTheCorpusNeverCallAGrowthStable(t *testing.T) {
	dirs, err := os.ReadDir(corpus.Path(t, "series"))
	if err != nil {
		t.Fatal(err)
	}
	for n, most := range map[int]int{2: 2, 3: 0} {
		t.Run(fmt.Sprintf("%d neighbours", n), func(t *testing.T) {
			rose, denied := 0, []string{}
			for _, d := range dirs {
				dir := corpus.Path(t, "series", d.Name())
				result, err := ingest.Run(t.Context(), ingest.Config{Bundle: bundle.Config{TempDir: t.TempDir()}}, ofDirectory(t, dir))
				if err != nil {
					t.Fatal(err)
				}
				for _, truth := range truthsOf(t, dir) {
					for from, window := range windows(result.Snapshots, truth.Snapshots, n) {
						r := report.Build(window, nil, report.Options{}).Report
						neverDenies(t, d.Name(), r)
						if truth.Verdict != "leak" {
							continue
						}
						more, missed := truth.deniedIn(t, r, from, n)
						rose, denied = rose+more, append(denied, missed...)
					}
				}
			}
			t.Logf("%d counts rose by three and more", rose)
			if rose == 0 || len(denied) > most {
				t.Errorf("of %d, %d are denied, at most %d may be:\n%s", rose, len(denied), most, strings.Join(denied, "\n"))
			}
		})
	}
}

// deniedIn counts the rows of the truth that rise in a window. It names those whose
// families are all reported as not rising.
func (w truth) deniedIn(t *testing.T, r report.Report, from, n int) (rose int, denied []string) {
	t.Helper()
	var s *report.Series
	for i := range r.Series {
		if strings.Contains(r.Series[i].Process, w.Process) && len(r.Series[i].Snapshots) == n {
			s = &r.Series[i]
		}
	}
	if s == nil || restarted(r, s) {
		return 0, nil
	}
	for _, row := range familyRows(w.Growing) {
		if len(row.Counts) < from+n {
			continue
		}
		counts := row.Counts[from : from+n]
		if counts[n-1]-counts[0] < 3 {
			continue
		}
		told, large := false, false
		for _, f := range s.Families {
			if !rowOf(f, row) {
				continue
			}
			of := countsOf(f.Counts)
			told, large = told || f.Verdict.Rose(), large || of[n-1]-of[0] >= 3
		}
		if !large {
			continue // a row of several families, each with a smaller rise
		}
		rose++
		if !told {
			denied = append(denied, fmt.Sprintf("%s: %v by %q: %v", w.Series, row.Contains, row.CreatedBy, counts))
		}
	}
	return rose, denied
}

func restarted(r report.Report, s *report.Series) bool {
	for _, snap := range r.Snapshots {
		if slices.Contains(s.Snapshots, snap.ID) && snap.Epoch > 0 {
			return true
		}
	}
	return false
}

// neverDenies checks by arithmetic alone that no sentence denies growth while a total rose
// by ten, by 15 % and by more than chance.
func neverDenies(t *testing.T, name string, r report.Report) {
	t.Helper()
	for i := range r.Series {
		s := &r.Series[i]
		said := s.Quiet
		if len(r.Series) == 1 {
			said += " " + r.Diagnosis.Sentence
		}
		if !strings.Contains(said, "No leak seen") || restarted(r, s) {
			continue
		}
		for _, kind := range []analysis.Kind{analysis.KindGoroutine, analysis.KindThread, analysis.KindDescriptor} {
			var counts []int
			for _, id := range s.Snapshots {
				for _, snap := range r.Snapshots {
					if n := snap.Totals.Of(kind); snap.ID == id && n != nil && !snap.LowerBound {
						counts = append(counts, *n)
					}
				}
			}
			if len(counts) < 2 {
				continue
			}
			first, last := float64(counts[0]), float64(counts[len(counts)-1])
			if rise := last - first; rise >= max(10, 0.15*first) && rise/math.Sqrt(2*(first+last)) >= 2.33 {
				t.Errorf("%s, %s: %q beside %d to %d %s", name, s.Process, said, counts[0], counts[len(counts)-1], kind)
			}
		}
	}
}

func TestTwoDumpsSayWhoCameAndWhoLeft(t *testing.T) {
	_, file := sampleReport(t, "two-dumps")
	for format, wants := range map[string][]string{
		"text": {"Goroutines in main.(*worker).wait of leaky grew from 212 to 253 in 20 s: 41 new, none ended.", "1. What the answer rests on", "2 minutes decide: if more come and none ends, it is a leak."},
		"md":   {"main.(\\*worker).wait of leaky grew from 212 to 253 in 20 s: 41 new, none ended"},
		"json": {`"verdict": "grew"`, `"counts": [ 212, 253 ]`, `"text": "41 new, 0 gone, 212 of 212 still there"`},
	} {
		for failOn, status := range map[string]int{"grew": exitVerdict, "suspicious": exitDone} {
			var out bytes.Buffer
			m := &Main{Stdout: &out, Stderr: &out}
			if got := m.Run(t.Context(), []string{"report", "--verbose", "--format", format, "--fail-on", failOn, file}); got != status {
				t.Errorf("--fail-on %s ends with %d, want %d", failOn, got, status)
			}
			text := strings.Join(strings.Fields(out.String()), " ")
			for _, want := range wants {
				if !strings.Contains(text, want) {
					t.Errorf("%s lacks %q:\n%s", format, want, text)
				}
			}
			for _, never := range []string{"o growing family", "stable\"", "within noise", "0 of "} {
				if strings.Contains(text, never) && format == "text" {
					t.Errorf("%s has %q:\n%s", format, never, text)
				}
			}
		}
	}
}

func TestPairsAndTriplesOfTheSamplesNeverDenyAGrowth(t *testing.T) {
	all, err := samples.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, sample := range all {
		result, err := ingest.Run(t.Context(), ingest.Config{Bundle: bundle.Config{TempDir: t.TempDir()}}, ofBytes(sample.Name+".tar.gz", sample.Archive))
		if err != nil {
			t.Fatal(err)
		}
		var labels []string
		for _, s := range result.Snapshots {
			if !slices.Contains(labels, s.Label) {
				labels = append(labels, s.Label)
			}
		}
		slices.Sort(labels)
		for n := 2; n <= 3; n++ {
			for _, window := range windows(result.Snapshots, labels, n) {
				neverDenies(t, sample.Name, report.Build(window, nil, report.Options{}).Report)
			}
		}
	}
}
