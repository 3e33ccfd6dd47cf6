package simulation

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"strings"
)

// Sizes are the numbers of captures with a bar.
func Sizes() [3]int { return [3]int{5, 10, 20} }

// The bars of the whole at 5, 10 and 20 captures.
var (
	barRecall      = [3]float64{0.40, 0.68, 0.76}
	barFalse       = [3]float64{0.02, 0.012, 0.006}
	barWorst       = [3]float64{0.20, 0.15, 0.06}
	barAlarm       = [3]float64{0.12, 0.06, 0.05}
	barNamed       = 0.90
	barCardinality = 0.90 // at 10
	barChurn       = 0.50 // at 20
	// Of prefixes after a proof, and of benign series at any prefix.
	barFlips, barEver = 0.02, 0.03
)

// Summary is the mean over the classes at one number of captures, each counting alike.
type Summary struct {
	Captures int
	// Recall and False are the shares called leaking, Seen and Alarm those at least
	// suspicious, of leaks and benign classes. Named is the share of rising leaks that are
	// named. Least and Worst name the extremes.
	Recall, False, Seen, Alarm, Named float64
	Worst, LeastNamed                 float64
	WorstClass, LeastNamedClass       string
	// Cardinality and Churn are the means over these classes, the least beside them.
	Cardinality, Churn           float64
	LeastCardinality, LeastChurn float64
	Background, Runs, Misread    int
	NaiveRecall, NaiveFalse      [naiveRules]float64
}

// Summarise means scores of one number of captures.
func Summarise(scores []Score) Summary {
	sum := Summary{LeastNamed: math.Inf(1), Worst: -1, LeastCardinality: 1, LeastChurn: 1}
	var leaks, benign, cardinality, churn float64
	for _, s := range scores {
		sum.Captures = s.Captures
		sum.Background, sum.Runs, sum.Misread = sum.Background+s.Background, sum.Runs+s.Runs, sum.Misread+s.Misread
		if s.Class.outside {
			continue
		}
		called, seen := s.Share(Leaking), s.Share(Suspicious)
		if !s.Class.Leak {
			benign++
			sum.False, sum.Alarm = sum.False+called, sum.Alarm+seen
			if called > sum.Worst {
				sum.Worst, sum.WorstClass = called, s.Class.Name
			}
			for k, n := range s.Naive {
				sum.NaiveFalse[k] += float64(n) / float64(s.Runs)
			}
			continue
		}
		leaks++
		sum.Recall, sum.Seen, sum.Named = sum.Recall+called, sum.Seen+seen, sum.Named+s.NamedShare()
		if s.NamedShare() < sum.LeastNamed {
			sum.LeastNamed, sum.LeastNamedClass = s.NamedShare(), s.Class.Name
		}
		if s.Class.cardinality {
			cardinality, sum.Cardinality, sum.LeastCardinality = cardinality+1, sum.Cardinality+called, min(sum.LeastCardinality, called)
		}
		if s.Class.churn {
			churn, sum.Churn, sum.LeastChurn = churn+1, sum.Churn+called, min(sum.LeastChurn, called)
		}
		for k, n := range s.Naive {
			sum.NaiveRecall[k] += float64(n) / float64(s.Runs)
		}
	}
	leaks, benign = max(1, leaks), max(1, benign)
	sum.Recall, sum.Seen, sum.Named = sum.Recall/leaks, sum.Seen/leaks, sum.Named/leaks
	sum.False, sum.Alarm = sum.False/benign, sum.Alarm/benign
	sum.Cardinality, sum.Churn = sum.Cardinality/max(1, cardinality), sum.Churn/max(1, churn)
	for k := range naiveRules {
		sum.NaiveRecall[k] /= leaks
		sum.NaiveFalse[k] /= benign
	}
	return sum
}

// Table prints definitions, the shares of each class and the means beside the bars. Columns
// are the scores of each number of captures, of the same classes.
func Table(w io.Writer, seed uint64, columns [][]Score, turns []Turns) {
	fmt.Fprintf(w, "seed %d, %d runs of each class at each number of captures\n\n", seed, columns[0][0].Runs)
	for _, s := range columns[0] {
		truth := "benign"
		if s.Class.Leak {
			truth = "leak"
		}
		fmt.Fprintf(w, "%-23s %-7s%s\n", s.Class.Name, truth, s.Class.Definition)
	}
	for _, leak := range []bool{true, false} {
		head := "benign: called leaking / at least suspicious"
		if leak {
			head = "leaks: called leaking / at least suspicious / named"
		}
		fmt.Fprintf(w, "\n%s\n%-23s", head, "captures")
		for _, column := range columns {
			fmt.Fprintf(w, "%17d", column[0].Captures)
		}
		fmt.Fprintf(w, "   naive at %d: rose, monotone, +20 %%\n", columns[len(columns)-1][0].Captures)
		for k := range columns[0] {
			if columns[0][k].Class.Leak == leak {
				classRow(w, columns, k)
			}
		}
	}
	means(w, columns)
	worth(w, columns)
	if turns != nil {
		turnTable(w, turns)
	}
}

func classRow(w io.Writer, columns [][]Score, k int) {
	fmt.Fprintf(w, "%-23s", columns[0][k].Class.Name)
	notes := ""
	for _, column := range columns {
		s := column[k]
		cell := fmt.Sprintf("%.2f / %.2f", s.Share(Leaking), s.Share(Suspicious))
		if s.Class.Leak {
			cell += fmt.Sprintf(" / %.2f", s.NamedShare())
		}
		fmt.Fprintf(w, "%20s", cell)
		for _, note := range []struct {
			n    int
			text string
		}{{s.Background, "innocents accused"}, {s.Merged, "causes merged"}, {s.Misread, "not one series"}, {s.Recovered, "called recovered"}} {
			if note.n > 0 {
				notes += fmt.Sprintf("; %d: %d %s", s.Captures, note.n, note.text)
			}
		}
		if len(s.Examples) > 0 {
			notes += ", such as " + s.Examples[0]
		}
	}
	last := columns[len(columns)-1][k]
	fmt.Fprintf(w, "   ")
	for _, n := range last.Naive {
		fmt.Fprintf(w, " %.2f", float64(n)/float64(last.Runs))
	}
	fmt.Fprintf(w, "%s\n", strings.Replace(notes, "; ", "   ", 1))
}

// means prints the means, the bar of each and whether it is reached.
func means(w io.Writer, columns [][]Score) {
	fmt.Fprintf(w, "\n%-40s", "mean over classes (bar)")
	for _, column := range columns {
		fmt.Fprintf(w, "%22d", column[0].Captures)
	}
	fmt.Fprintln(w)
	row := func(name string, value func(Summary) float64, bar func(k int) (float64, bool), least bool) {
		fmt.Fprintf(w, "%-40s", name)
		for k, column := range columns {
			v := value(Summarise(column))
			cell := fmt.Sprintf("%.3f", v)
			if b, has := bar(k); has {
				reached := "reached"
				if least && v < b || !least && v > b {
					reached = "missed"
				}
				cell += fmt.Sprintf(" (%.3f %s)", b, reached)
			}
			fmt.Fprintf(w, "%22s", cell)
		}
		fmt.Fprintln(w)
	}
	each := func(bars [3]float64) func(int) (float64, bool) {
		return func(k int) (float64, bool) { return bars[k], true }
	}
	only := func(at int, bar float64) func(int) (float64, bool) {
		return func(k int) (float64, bool) { return bar, k == at }
	}
	none := func(int) (float64, bool) { return 0, false }
	row("recall", func(s Summary) float64 { return s.Recall }, each(barRecall), true)
	row("false", func(s Summary) float64 { return s.False }, each(barFalse), false)
	row("false in the worst benign class", func(s Summary) float64 { return s.Worst }, each(barWorst), false)
	row("leaks at least suspicious", func(s Summary) float64 { return s.Seen }, none, true)
	row("benign at least suspicious", func(s Summary) float64 { return s.Alarm }, each(barAlarm), false)
	row("leaks named", func(s Summary) float64 { return s.Named }, each([3]float64{barNamed, barNamed, barNamed}), true)
	row("leaks named, least class", func(s Summary) float64 { return s.LeastNamed }, none, true)
	row("cardinality", func(s Summary) float64 { return s.Cardinality }, only(1, barCardinality), true)
	row("cardinality, least class", func(s Summary) float64 { return s.LeastCardinality }, only(1, barCardinality), true)
	row("churn", func(s Summary) float64 { return s.Churn }, only(2, barChurn), true)
	row("churn, least class", func(s Summary) float64 { return s.LeastChurn }, only(2, barChurn), true)
	for k, name := range [naiveRules]string{"rose", "monotone", "+20 %"} {
		row("naive, "+name+": recall", func(s Summary) float64 { return s.NaiveRecall[k] }, none, true)
		row("naive, "+name+": false", func(s Summary) float64 { return s.NaiveFalse[k] }, none, false)
	}
	for _, column := range columns {
		s := Summarise(column)
		fmt.Fprintf(w, "%d captures: worst benign class %s, least named %s; innocents accused in %d of %d runs, %d runs not read as one series\n",
			s.Captures, s.WorstClass, s.LeastNamedClass, s.Background, s.Runs, s.Misread)
	}
}

// words are the verdicts of a subject, from the one that accuses most.
var words = []string{"leaking", "suspicious", "stopped", "grew", "new", "scaling", ""}

// Worth is the share of leaks among the subjects with a verdict, where leaks are as frequent as what
// is benign and each class as every other. Given is the share of all subjects that have it.
func Worth(scores []Score, word string) (worth, given float64) {
	var share, classes [2]float64
	for _, s := range scores {
		if s.Class.outside {
			continue
		}
		k := 0
		if s.Class.Leak {
			k = 1
		}
		classes[k]++
		share[k] += float64(s.Words[word]) / float64(max(1, s.Runs))
	}
	benign, leaks := share[0]/max(1, classes[0]), share[1]/max(1, classes[1])
	return leaks / (leaks + benign), (leaks + benign) / 2
}

// worth prints what each verdict was worth.
func worth(w io.Writer, columns [][]Score) {
	fmt.Fprintf(w, "\n%-40s", "of 100 with the verdict, leaks (given to)")
	for _, column := range columns {
		fmt.Fprintf(w, "%22d", column[0].Captures)
	}
	fmt.Fprintln(w)
	for _, word := range words {
		fmt.Fprintf(w, "%-40s", cmp.Or(word, "none"))
		for _, column := range columns {
			share, given := Worth(column, word)
			cell := "-"
			if given > 0 {
				cell = fmt.Sprintf("%.0f (%.1f %%)", 100*share, 100*given)
			}
			fmt.Fprintf(w, "%22s", cell)
		}
		fmt.Fprintln(w)
	}
}

// turnTable prints what prefixes show, for the classes of leaks.
func turnTable(w io.Writer, turns []Turns) {
	fmt.Fprintf(w, "\nprefixes of series of %d captures: turns back / to suspicious without a word; named at 2 (%s), from 4 on (%.2f); flips among prefixes after the first \"leaking\"\n", prefixCaptures, "all", barNamed)
	var all, innocent Turns
	var accused []string
	for _, t := range turns {
		if !t.Class.Leak {
			if innocent.Runs, innocent.Ever, innocent.Told = innocent.Runs+t.Runs, innocent.Ever+t.Ever, innocent.Told+t.Told; t.Ever > 0 {
				accused = append(accused, fmt.Sprintf("%s %d", t.Class.Name, t.Ever))
			}
			continue
		}
		if t.Back+t.Softer+t.Flips > 0 || t.PairsNamed < t.Pairs || t.PrefixesNamed < t.Prefixes {
			mortal := ""
			if t.Class.mortal {
				mortal = "   its members may end"
			}
			fmt.Fprintf(w, "%-23s %2d / %2d of %2d; %3d of %3d, %4d of %4d; %3d of %3d%s\n", t.Class.Name, t.Back, t.Softer, t.Runs, t.PairsNamed, t.Pairs, t.PrefixesNamed, t.Prefixes, t.Flips, t.Later, mortal)
		}
		all.Back, all.Softer, all.Runs = all.Back+t.Back, all.Softer+t.Softer, all.Runs+t.Runs
		all.Pairs, all.PairsNamed = all.Pairs+t.Pairs, all.PairsNamed+t.PairsNamed
		all.Later, all.Flips = all.Later+t.Later, all.Flips+t.Flips
		all.Prefixes, all.PrefixesNamed = all.Prefixes+t.Prefixes, all.PrefixesNamed+t.PrefixesNamed
	}
	fmt.Fprintf(w, "%-23s %2d / %2d of %2d; %3d of %3d, %4d of %4d; %3d of %3d (at most %.2f)\n", "all", all.Back, all.Softer, all.Runs, all.PairsNamed, all.Pairs, all.PrefixesNamed, all.Prefixes, all.Flips, all.Later, barFlips)
	fmt.Fprintf(w, "benign series that are leaking at some prefix: %d of %d (at most %.2f), and stand: %d: %s\n", innocent.Ever, innocent.Runs, barEver, innocent.Told, strings.Join(accused, ", "))
}

// prefixCaptures is the length of the series whose prefixes are run.
const prefixCaptures = 10
