package trend

import (
	"slices"
	"time"

	"leakdiff/analysis"
)

// point is one usable count of a family.
type point struct {
	// index is the index in Series.Snapshots.
	index int
	count int
	// at is in hours since the kind's first dated point, or in snapshots if the part
	// has no dates. timed is false for a point without a date among dated ones. Such a
	// point is left out of slopes, not out of counts or cohorts.
	at    float64
	timed bool
}

// grid holds the times of the usable snapshots of one kind, in runs of one epoch each.
// Counts are 0.
type grid struct {
	runs  [][]point
	dated bool
	// usable reports for each snapshot whether its counts may be tested.
	usable []bool
	// first is the origin of at, zero if nothing is dated.
	first time.Time
}

func (s *Series) newGrid(kind analysis.Kind) *grid {
	g := &grid{usable: make([]bool, len(s.Snapshots))}
	epoch := -1
	for i := range s.Snapshots {
		if g.usable[i] = s.usable(i, kind); !g.usable[i] {
			continue
		}
		if s.Epochs[i] != epoch {
			epoch = s.Epochs[i]
			g.runs = append(g.runs, nil)
		}
		last := len(g.runs) - 1
		g.runs[last] = append(g.runs[last], point{index: i})
	}
	g.setTimes(func(i int) time.Time { return s.takenAt(i, kind) })
	return g
}

// setTimes sets the time of every point, or its order if no epoch has two dates.
func (g *grid) setTimes(takenAt func(int) time.Time) {
	for _, run := range g.runs {
		var first time.Time
		for _, pt := range run {
			at := takenAt(pt.index)
			if at.IsZero() {
				continue
			}
			if g.first.IsZero() {
				g.first = at
			}
			if first.IsZero() {
				first = at
			}
			g.dated = g.dated || !at.Equal(first)
		}
	}
	for _, run := range g.runs {
		for k := range run {
			at := takenAt(run[k].index)
			switch {
			case !g.dated:
				run[k].at, run[k].timed = float64(run[k].index), true
			case !at.IsZero():
				run[k].at, run[k].timed = at.Sub(g.first).Hours(), true
			}
		}
	}
}

// part is the judged part of one family: its usable counts, in runs of one epoch each.
type part struct {
	series   *Series
	family   *analysis.Family
	runs     [][]point
	dated    bool
	first    time.Time
	tracking *tracking
	// respawns reports members that start their own successors.
	respawns bool
	// marks are the snapshots that mark members as leaked, including cut dumps.
	marks []mark
	// until is the snapshot before which the part ends, 0 for the whole series.
	until int
}

// mark is the number of members that the runtime marked in a snapshot.
type mark struct{ index, members int }

// newPart collects the usable counts and the members of a family.
func (s *Series) newPart(family *analysis.Family, g *grid) *part {
	usable := g.usable
	if s.in.NotShown[family.Fingerprint] != nil {
		usable = slices.Clone(usable)
		for i := range usable {
			usable[i] = usable[i] && !s.in.notShown(family.Fingerprint, i)
		}
	}
	p := &part{series: s, family: family, dated: g.dated, first: g.first, respawns: s.respawns(family)}
	p.tracking = s.newTracking(family, usable, p.respawns)
	row := s.groups[family.Fingerprint]
	for i, group := range row {
		if group != nil && group.Leaked > 0 {
			p.marks = append(p.marks, mark{i, group.Leaked})
		}
	}
	for _, run := range g.runs {
		own := make([]point, 0, len(run))
		for _, pt := range run {
			if !usable[pt.index] {
				continue
			}
			if group := row[pt.index]; group != nil {
				pt.count = group.Count
			}
			own = append(own, pt)
		}
		if len(own) > 0 {
			p.runs = append(p.runs, own)
		}
	}
	return p
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

// comparable are the runs with at least two points.
func (p *part) comparable() [][]point {
	short := 0
	for _, run := range p.runs {
		if len(run) < 2 {
			short++
		}
	}
	if short == 0 {
		return p.runs
	}
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

func (p *part) slopeUnit() string {
	if p.dated {
		return "per hour"
	}
	return "per snapshot"
}

// spanOf is the length of a run in the part's unit, 0 with fewer than two timed points.
func spanOf(run []point) float64 {
	first, last := 0, len(run)-1
	for first <= last && !run[first].timed {
		first++
	}
	for last > first && !run[last].timed {
		last--
	}
	if last <= first {
		return 0
	}
	return run[last].at - run[first].at
}

// length is that of the longest run between its snapshots. Snapshot times are
// used because the evidence of two kinds may be seconds apart: a text with two lengths
// of one series would be read as two series.
func (p *part) length(runs [][]point) float64 {
	var longest []point
	for _, run := range runs {
		if longest == nil || spanOf(run) > spanOf(longest) {
			longest = run
		}
	}
	if timed := timedOf(longest); p.dated && len(timed) > 1 {
		first, last := p.series.Snapshots[timed[0].index].CapturedAt, p.series.Snapshots[timed[len(timed)-1].index].CapturedAt
		if !first.IsZero() && last.After(first) {
			return last.Sub(first).Hours()
		}
	}
	return spanOf(longest)
}

// longestSpan is the largest span of all runs.
func longestSpan(runs [][]point) float64 {
	longest := 0.0
	for _, run := range runs {
		longest = max(longest, spanOf(run))
	}
	return longest
}

func timedOf(run []point) []point {
	all := true
	for k := range run {
		if all = run[k].timed; !all {
			break
		}
	}
	if all {
		return run
	}
	var timed []point
	for _, pt := range run {
		if pt.timed {
			timed = append(timed, pt)
		}
	}
	return timed
}

// lengths are the lengths of the intervals between neighbouring points, in hours if all
// points are dated, else 1 each.
func lengths(run []point) []float64 {
	even := len(timedOf(run)) != len(run)
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
