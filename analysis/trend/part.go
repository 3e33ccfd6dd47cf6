package trend

import (
	"time"

	"leakdiff/analysis"
)

// point is one usable count of a family.
type point struct {
	// index is the place in Series.Snapshots.
	index int
	count int
	// at is in hours since the family's first dated point, or in snapshots where
	// the part is not dated. placed is false for an undated point among dated
	// ones: it is left out of slopes, not out of counts or cohorts.
	at     float64
	placed bool
}

// part is what is judged of one family: its usable counts, in runs of one epoch
// each.
type part struct {
	series *Series
	family *analysis.Family
	runs   [][]point
	dated  bool
	crowd  *crowd
	// until is the snapshot before which the part ends, 0 for the whole series.
	until int
}

// newPart collects the usable counts and the members of a family.
func (s *Series) newPart(family *analysis.Family) *part {
	p := s.countsOf(family)
	p.crowd = s.newCrowd(family)
	return p
}

// countsOf is a part that cannot follow members.
func (s *Series) countsOf(family *analysis.Family) *part {
	p := &part{series: s, family: family}
	row := s.groups[family.Fingerprint]
	epoch := -1
	for i, group := range row {
		if !s.Usable(i, family.Kind) {
			continue
		}
		if s.Epochs[i] != epoch {
			epoch = s.Epochs[i]
			p.runs = append(p.runs, nil)
		}
		count := 0
		if group != nil {
			count = group.Count
		}
		last := len(p.runs) - 1
		p.runs[last] = append(p.runs[last], point{index: i, count: count})
	}
	p.place()
	return p
}

// place gives every point its time, or its order where no epoch has two dates.
func (p *part) place() {
	var zero time.Time
	for _, run := range p.runs {
		var first time.Time
		for _, pt := range run {
			at := p.series.takenAt(pt.index, p.family.Kind)
			if at.IsZero() {
				continue
			}
			if zero.IsZero() {
				zero = at
			}
			if first.IsZero() {
				first = at
			}
			p.dated = p.dated || !at.Equal(first)
		}
	}
	for _, run := range p.runs {
		for k := range run {
			at := p.series.takenAt(run[k].index, p.family.Kind)
			switch {
			case !p.dated:
				run[k].at, run[k].placed = float64(run[k].index), true
			case !at.IsZero():
				run[k].at, run[k].placed = at.Sub(zero).Hours(), true
			}
		}
	}
}

// before is the part as if the series ended just before snapshot index.
func (p *part) before(index int) *part {
	shorter := *p
	shorter.runs, shorter.until = nil, index
	for _, run := range p.runs {
		end := len(run)
		for end > 0 && run[end-1].index >= index {
			end--
		}
		if end > 0 {
			shorter.runs = append(shorter.runs, run[:end])
		}
	}
	return &shorter
}

// usable is the number of counts.
func (p *part) usable() int {
	n := 0
	for _, run := range p.runs {
		n += len(run)
	}
	return n
}

// comparable are the runs in which something can be compared.
func (p *part) comparable() [][]point {
	var runs [][]point
	for _, run := range p.runs {
		if len(run) >= 2 {
			runs = append(runs, run)
		}
	}
	return runs
}

func (p *part) lastRun() []point {
	if len(p.runs) == 0 {
		return nil
	}
	return p.runs[len(p.runs)-1]
}

func (p *part) label(pt point) string { return p.series.label(pt.index) }

func (p *part) slopeUnit() string {
	if p.dated {
		return "per hour"
	}
	return "per snapshot"
}

// spanOf is the length of a run in the part's unit, 0 with fewer than two placed
// points.
func spanOf(run []point) float64 {
	placed := placedOf(run)
	if len(placed) < 2 {
		return 0
	}
	return placed[len(placed)-1].at - placed[0].at
}

// longestSpan is the largest span of all runs.
func longestSpan(runs [][]point) float64 {
	longest := 0.0
	for _, run := range runs {
		longest = max(longest, spanOf(run))
	}
	return longest
}

func placedOf(run []point) []point {
	all := true
	for _, pt := range run {
		all = all && pt.placed
	}
	if all {
		return run
	}
	var placed []point
	for _, pt := range run {
		if pt.placed {
			placed = append(placed, pt)
		}
	}
	return placed
}

// lengths are the lengths of the intervals between neighbouring points: hours
// where all are dated, else one for each.
func lengths(run []point) []float64 {
	even := len(placedOf(run)) != len(run)
	out := make([]float64, 0, len(run))
	for k := 1; k < len(run); k++ {
		if even {
			out = append(out, 1)
			continue
		}
		out = append(out, max(0, run[k].at-run[k-1].at))
	}
	return out
}

func flatten(runs [][]point) []point {
	var all []point
	for _, run := range runs {
		all = append(all, run...)
	}
	return all
}
