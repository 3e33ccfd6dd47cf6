package simulation

import (
	"fmt"
	"os"
	"runtime"
	"sync"
)

// Score is what became of the runs of one class at one number of captures.
type Score struct {
	Class    Class
	Captures int
	Runs     int
	// Levels count the runs by what is said of the subject.
	Levels [Leaking + 1]int
	// Words count them by the verdict, "" for none.
	Words map[string]int
	// Rising counts the runs of leaks whose families have at least 3 members more at the end,
	// RisingNamed those of them that are at least named. Recovered counts subjects
	// that are called leaking and said to have ended.
	Rising, RisingNamed, Recovered int
	// Background counts the runs in which an innocent is accused, Merged those in which two
	// causes are one.
	Background, Merged int
	Naive              [naiveRules]int
	// Misread are the runs whose captures are not one series.
	Misread int
	// Examples name some innocents that were accused.
	Examples []string
}

// The naive rules that are measured beside: the last count is above the first, no count
// is below the one before it, the last is 20 % above the first.
const (
	lastAboveFirst = iota
	monotone
	fifthMore
	naiveRules
)

func naive(counts []int) (holds [naiveRules]bool) {
	first, last := counts[0], counts[len(counts)-1]
	holds[lastAboveFirst] = last > first
	holds[monotone] = last > first
	for i := 1; i < len(counts); i++ {
		holds[monotone] = holds[monotone] && counts[i] >= counts[i-1]
	}
	holds[fifthMore] = last > first && 5*last >= 6*first
	return holds
}

// Share is the share of runs with at least this level. A subject that follows its load is
// not suspicious.
func (s Score) Share(least Level) float64 {
	n := 0
	for l := least; l <= Leaking; l++ {
		n += s.Levels[l]
	}
	return float64(n) / float64(max(1, s.Runs))
}

// NamedShare is the share of leaks that rose and are at least named.
func (s Score) NamedShare() float64 { return float64(s.RisingNamed) / float64(max(1, s.Rising)) }

// Lab runs classes through one binary.
type Lab struct {
	// Binary is the path of leakdiff, Temp a directory.
	Binary, Temp string
	Seed         uint64
}

// Measure runs every class so many times at one number of captures. Equal seeds give
// equal scores.
func (l Lab) Measure(classes []Class, runs, n int) ([]Score, error) {
	scores := make([]Score, len(classes))
	err := l.each(len(classes), func(k int, dir string) error {
		var err error
		scores[k], err = l.score(classes[k], runs, n, dir)
		return err
	})
	return scores, err
}

// each calls work for every index in as many goroutines as there are processors, each
// with a directory of its own.
func (l Lab) each(n int, work func(k int, dir string) error) error {
	var wait sync.WaitGroup
	var mu sync.Mutex
	var failed error
	next := 0
	for range runtime.GOMAXPROCS(0) {
		wait.Go(func() {
			dir, err := os.MkdirTemp(l.Temp, "lab")
			defer os.RemoveAll(dir)
			for {
				mu.Lock()
				if err != nil && failed == nil {
					failed = err
				}
				k := next
				next++
				stop := k >= n || failed != nil
				mu.Unlock()
				if stop {
					return
				}
				err = work(k, dir)
			}
		})
	}
	wait.Wait()
	return failed
}

func (l Lab) score(c Class, runs, n int, dir string) (Score, error) {
	score := Score{Class: c, Captures: n, Words: map[string]int{}}
	for run := range runs {
		s := c.Series(l.Seed, run, n)
		a, err := s.Run(l.Binary, dir, n)
		if err != nil {
			return score, fmt.Errorf("%s, run %d of %d captures: %w", c.Name, run, n, err)
		}
		score.add(s, a)
	}
	return score, nil
}

// rose reports that the subject has at least 3 members more in each of its families after k
// captures.
func (s *Series) rose(k int) bool { return s.Counts[k-1] >= s.Counts[0]+3*len(s.Marks) }

func (score *Score) add(s *Series, a Answer) {
	score.Runs++
	if a.Recovered {
		score.Recovered++
		if score.Class.Leak { // it goes on: this is no answer
			a.Level = Named
		}
	}
	score.Levels[a.Level]++
	word := a.Verdict
	if a.Level == Silent {
		word = ""
	}
	score.Words[word]++
	if score.Class.Leak && s.rose(len(s.Counts)) {
		score.Rising++
		if a.Level >= Named {
			score.RisingNamed++
		}
	}
	if len(a.Accused) > 0 {
		score.Background++
		score.Examples = append(score.Examples, a.Accused[0])
	}
	if a.Merged {
		score.Merged++
	}
	if a.Series != 1 {
		score.Misread++
	}
	for k, holds := range naive(s.Counts) {
		if holds {
			score.Naive[k]++
		}
	}
}

// Turns is what became of one class over all prefixes of its series.
type Turns struct {
	Class Class
	Runs  int
	// Back counts the runs in which a subject that was leaking is stable or just grew at a
	// later prefix, Softer those in which it is suspicious and nothing says that it leaked.
	Back, Softer int
	// Later counts the prefixes after the first at which the subject is leaking, Flips those of
	// them at which it is neither leaking nor stopped. Ever counts the runs with such a first, Told
	// those in which it stands for a quarter of the time longer that led to it, as --until asks.
	Later, Flips, Ever, Told int
	// Pairs counts the runs whose subject rose by 3 or more between the first two captures,
	// PairsNamed those of them that are named.
	Pairs, PairsNamed int
	// Prefixes and PrefixesNamed are the same over all prefixes of 4 captures or more.
	Prefixes, PrefixesNamed int
}

// Prefixes runs every prefix of so many series of prefixCaptures captures.
func (l Lab) Prefixes(classes []Class, runs int) ([]Turns, error) {
	turns := make([]Turns, len(classes))
	err := l.each(len(classes), func(k int, dir string) error {
		turns[k].Class = classes[k]
		for run := range runs {
			s := classes[k].Series(l.Seed+1, run, prefixCaptures)
			if err := turns[k].add(s, func(k int) (Answer, error) { return s.Run(l.Binary, dir, k) }); err != nil {
				return fmt.Errorf("%s, prefixes of run %d: %w", classes[k].Name, run, err)
			}
		}
		return nil
	})
	return turns, err
}

func (t *Turns) add(s *Series, answer func(k int) (Answer, error)) error {
	t.Runs++
	leaked, back, softer, told, due := false, false, false, false, 0.0
	for k := 2; k <= len(s.Counts); k++ {
		a, err := answer(k)
		if err != nil {
			return err
		}
		rose, named := s.rose(k), a.Level >= Named
		switch {
		case rose && k == 2:
			t.Pairs++
			if named {
				t.PairsNamed++
			}
		case rose && k >= 4:
			t.Prefixes++
			if named {
				t.PrefixesNamed++
			}
		}
		if fallen := a.Level < Leaking && a.Verdict != "stopped"; leaked {
			t.Later++
			if fallen {
				t.Flips++
			}
		}
		if at := s.at(k - 1); a.Level < Leaking {
			due = 0
		} else if due == 0 {
			due = at + (at-s.at(0))/4
		} else {
			told = told || at >= due
		}
		switch {
		case a.Level == Leaking:
			leaked = true
		case leaked && (a.Level == Silent || a.Level == Named && a.Verdict != "stopped"):
			back = true
		case leaked && a.Level == Suspicious && !a.WasLeaking:
			softer = true
		}
	}
	if back {
		t.Back++
	}
	if softer {
		t.Softer++
	}
	if leaked {
		t.Ever++
	}
	if told {
		t.Told++
	}
	return nil
}
