package lab

import (
	"bytes"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"leakdiff/samples/corpus"
)

// The seed of the checks is not the one with which the rules were looked at.
const (
	checkSeed = 20261121
	checkRuns = 120
)

// TestTheBoundsOfTheLaboratory holds recall and false positives to the bounds of
// the issue. What a few runs show scatters: a bound is broken where it lies outside
// the 95 % interval of the runs.
func TestTheBoundsOfTheLaboratory(t *testing.T) {
	corpus.Heavy(t)
	tests := []struct {
		snapshots     int
		recall, false float64
	}{
		{5, 0.70, 0.008},
		{10, 0.88, 0.006},
		{20, 0.92, 0.008},
		{50, 0.92, 0.008},
	}
	for _, tc := range tests {
		scores := measure(checkSeed, checkRuns, tc.snapshots)
		got := Summarise(scores)
		t.Logf("%d snapshots: recall %.3f, false positives %.4f; naive %.3f, %.3f", tc.snapshots, got.Recall, got.False, got.NaiveRecall, got.NaiveFalse)
		if scatter := 1.96 * deviation(scores, true); got.Recall < tc.recall-scatter {
			t.Errorf("%d snapshots: recall %.3f, want %.2f (interval of the runs %.3f)", tc.snapshots, got.Recall, tc.recall, scatter)
		}
		if scatter := 1.96 * deviation(scores, false); got.False > tc.false+scatter {
			t.Errorf("%d snapshots: false positives %.4f, want %.3f (interval of the runs %.4f)", tc.snapshots, got.False, tc.false, scatter)
		}
		if got.False >= got.NaiveFalse/10 {
			t.Errorf("%d snapshots: %.3f false positives are hardly better than the naive rule's %.3f", tc.snapshots, got.False, got.NaiveFalse)
		}
		for _, s := range scores {
			if s.Class == "leak-10pct-day" && s.Rate() < 0.94 {
				t.Errorf("%d snapshots: 10 %% a day on 500 goroutines is found in %.3f of the runs, want 0.94", tc.snapshots, s.Rate())
			}
		}
	}
}

// deviation is the standard deviation of the mean over the leak or the benign
// classes, each a binomial share; a class without a hit scatters as one with half
// a hit.
func deviation(scores []Score, leak bool) float64 {
	variance, classes := 0.0, 0.0
	for _, s := range scores {
		if s.Leak != leak {
			continue
		}
		classes++
		n := float64(s.Runs)
		p := (float64(s.Leaking) + 0.5) / (n + 1)
		variance += p * (1 - p) / n
	}
	return math.Sqrt(variance) / classes
}

func TestTwoAndThreeSnapshotsOfCountsAloneAccuseNobody(t *testing.T) {
	for _, n := range []int{2, 3} {
		for _, s := range measure(checkSeed, 20, n) {
			if !s.Leak && s.Class != "sawtooth" && s.Class != "restart-warmup" && s.Leaking > 0 {
				t.Errorf("%s at %d snapshots: %d of %d accused", s.Class, n, s.Leaking, s.Runs)
			}
		}
	}
}

func TestEqualSeedsGiveEqualScores(t *testing.T) {
	if diff := cmp.Diff(measure(3, 5, 6), measure(3, 5, 6)); diff != "" {
		t.Errorf("scores (-first +second):\n%s", diff)
	}
	if cmp.Equal(measure(3, 5, 6), measure(4, 5, 6)) {
		t.Error("another seed gives the same series")
	}
}

func TestPrecisionIsThatOfTheStatisticsPage(t *testing.T) {
	// Recall .87 at .008 false positives: .99 at 1:1, .85 at 5 % prevalence.
	if got := Precision(0.87, 0.008, 0.5); math.Abs(got-0.99) > 0.005 {
		t.Errorf("1:1: %.3f", got)
	}
	if got := Precision(0.87, 0.008, 0.05); math.Abs(got-0.85) > 0.005 {
		t.Errorf("5 %%: %.3f", got)
	}
	if got := Precision(0, 0, 0.5); got != 0 {
		t.Errorf("nothing found: %v", got)
	}
}

func TestRunPrintsEveryClassAndRefusesNoRuns(t *testing.T) {
	runs := 2
	if more := os.Getenv("LEAKDIFF_LAB"); more != "" { // make lab reads the table
		var err error
		if runs, err = strconv.Atoi(more); err != nil {
			t.Fatalf("LEAKDIFF_LAB is a number of runs: %v", err)
		}
	}
	var out bytes.Buffer
	if err := Run(&out, 20261121, runs); err != nil {
		t.Fatal(err)
	}
	t.Log("\n" + out.String())
	for _, c := range Classes() {
		if !strings.Contains(out.String(), "\n"+c.Name) {
			t.Errorf("no row for %s in\n%s", c.Name, out.String())
		}
	}
	for _, row := range []string{"recall", "false positives", "precision at 5 %", "naive: recall", "naive: false"} {
		if !strings.Contains(out.String(), "\n"+row) {
			t.Errorf("no row %q", row)
		}
	}
	if err := Run(&out, 1, 0); err == nil {
		t.Error("no runs were measured without an error")
	}
}
