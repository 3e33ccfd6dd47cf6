// Package lab measures the verdicts of analysis/judge/trend on series whose truth is
// known: it takes a seed and a number of runs, simulates leaks and their innocent
// doubles (statistics.md 8), and gives recall, false-positive rate and precision
// for each class and number of snapshots, beside those of the naive rule "the last
// count is greater than the first". It refuses to know how a verdict comes about,
// and its figures are no measure of precision in the field: generator and rules
// come from one house.
package lab

import (
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/trend"
)

// Score is what became of the runs of one class at one number of snapshots.
type Score struct {
	Class     string
	Leak      bool
	Snapshots int
	Runs      int
	// Leaking and Suspicious count the runs with these verdicts; Naive those whose
	// last count is greater than the first.
	Leaking, Suspicious, Naive int
}

// Rate is the share of runs called leaking.
func (s Score) Rate() float64 { return float64(s.Leaking) / float64(s.Runs) }

// Sizes are the numbers of snapshots that Run measures.
func Sizes() []int { return []int{2, 3, 4, 5, 10, 20, 50} }

// measure runs every class at one number of snapshots. Equal seeds give equal
// scores, whatever the machine.
func measure(seed uint64, runs, snapshots int) []Score {
	classes := Classes()
	scores := make([]Score, len(classes))
	var wait sync.WaitGroup
	free := make(chan struct{}, runtime.GOMAXPROCS(0))
	for k, class := range classes {
		wait.Go(func() {
			free <- struct{}{}
			defer func() { <-free }()
			scores[k] = class.measure(rand.New(rand.NewPCG(seed, uint64(1000*snapshots+k))), runs, snapshots)
		})
	}
	wait.Wait()
	return scores
}

func (c Class) measure(r *rand.Rand, runs, snapshots int) Score {
	score := Score{Class: c.Name, Leak: c.Leak, Snapshots: snapshots, Runs: runs}
	for range runs {
		in := c.Series(r, snapshots)
		switch trend.NewSeries(in).Verdicts()[Fingerprint] {
		case analysis.Leaking:
			score.Leaking++
		case analysis.Suspicious:
			score.Suspicious++
		}
		first, last := in.Snapshots[0].Totals.Goroutines, in.Snapshots[snapshots-1].Totals.Goroutines
		if *last > *first {
			score.Naive++
		}
	}
	return score
}

// Summary is the mean over the classes, each counting alike.
type Summary struct {
	Snapshots int
	// Recall is the mean share of leak classes called leaking, False that of benign
	// ones.
	Recall, False float64
	// Seen and Alarm are the same for "at least suspicious".
	Seen, Alarm             float64
	NaiveRecall, NaiveFalse float64
}

// Precision is the share of true leaks among what is called leaking, where
// prevalence is the share of families that leak.
func Precision(recall, false_ float64, prevalence float64) float64 {
	hits, misses := recall*prevalence, false_*(1-prevalence)
	if hits+misses == 0 {
		return 0
	}
	return hits / (hits + misses)
}

// Summarise means the scores of one number of snapshots.
func Summarise(scores []Score) Summary {
	var sum Summary
	leaks, benign := 0.0, 0.0
	for _, s := range scores {
		sum.Snapshots = s.Snapshots
		seen := float64(s.Leaking+s.Suspicious) / float64(s.Runs)
		naive := float64(s.Naive) / float64(s.Runs)
		if s.Leak {
			leaks++
			sum.Recall, sum.Seen, sum.NaiveRecall = sum.Recall+s.Rate(), sum.Seen+seen, sum.NaiveRecall+naive
			continue
		}
		benign++
		sum.False, sum.Alarm, sum.NaiveFalse = sum.False+s.Rate(), sum.Alarm+seen, sum.NaiveFalse+naive
	}
	sum.Recall, sum.Seen, sum.NaiveRecall = sum.Recall/leaks, sum.Seen/leaks, sum.NaiveRecall/leaks
	sum.False, sum.Alarm, sum.NaiveFalse = sum.False/benign, sum.Alarm/benign, sum.NaiveFalse/benign
	return sum
}

// Run prints the laboratory's tables: the means per number of snapshots, for us
// and for the naive rule, and the share called leaking per class. Runs are those
// of each class at each number of snapshots.
func Run(w io.Writer, seed uint64, runs int) error {
	if runs < 1 {
		return fmt.Errorf("lab: %d runs measure nothing; give at least 1", runs)
	}
	var columns [][]Score
	for _, n := range Sizes() {
		columns = append(columns, measure(seed, runs, n))
	}
	_, err := io.WriteString(w, table(seed, runs, columns))
	return err
}

func table(seed uint64, runs int, columns [][]Score) string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d, %d runs of each class; mean over the classes\n\n", seed, runs)
	fmt.Fprintf(&b, "%-22s", "snapshots")
	for _, column := range columns {
		fmt.Fprintf(&b, "%9d", column[0].Snapshots)
	}
	b.WriteByte('\n')
	row := func(name string, value func(Summary) float64) {
		fmt.Fprintf(&b, "%-22s", name)
		for _, column := range columns {
			fmt.Fprintf(&b, "%9.3f", value(Summarise(column)))
		}
		b.WriteByte('\n')
	}
	row("recall", func(s Summary) float64 { return s.Recall })
	row("false positives", func(s Summary) float64 { return s.False })
	row("precision 1:1", func(s Summary) float64 { return Precision(s.Recall, s.False, 0.5) })
	row("precision at 5 %", func(s Summary) float64 { return Precision(s.Recall, s.False, 0.05) })
	row("suspicious: recall", func(s Summary) float64 { return s.Seen })
	row("suspicious: false", func(s Summary) float64 { return s.Alarm })
	row("naive: recall", func(s Summary) float64 { return s.NaiveRecall })
	row("naive: false", func(s Summary) float64 { return s.NaiveFalse })
	row("naive: precision 1:1", func(s Summary) float64 { return Precision(s.NaiveRecall, s.NaiveFalse, 0.5) })
	row("naive: at 5 %", func(s Summary) float64 { return Precision(s.NaiveRecall, s.NaiveFalse, 0.05) })
	for _, leak := range []bool{true, false} {
		if leak {
			b.WriteString("\nleaks called leaking (recall)\n")
		} else {
			b.WriteString("\nbenign called leaking (false positives)\n")
		}
		for k := range columns[0] {
			if columns[0][k].Leak != leak {
				continue
			}
			fmt.Fprintf(&b, "%-22s", columns[0][k].Class)
			for _, column := range columns {
				fmt.Fprintf(&b, "%9.3f", column[k].Rate())
			}
			b.WriteByte('\n')
		}
	}
	// Precision of a class: against all benign classes, as many leaks as benign.
	b.WriteString("\nprecision 1:1 of a leak class against the mean of the benign ones\n")
	for k := range columns[0] {
		if !columns[0][k].Leak {
			continue
		}
		fmt.Fprintf(&b, "%-22s", columns[0][k].Class)
		for _, column := range columns {
			fmt.Fprintf(&b, "%9.3f", Precision(column[k].Rate(), Summarise(column).False, 0.5))
		}
		b.WriteByte('\n')
	}
	return b.String()
}
