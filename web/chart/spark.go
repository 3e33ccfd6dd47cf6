package chart

import (
	"slices"
	"strconv"

	"leakdiff/analysis"
)

// SparkData is a small line of one family's counts, one step per snapshot.
type SparkData struct {
	// ID is unique in the page.
	ID     string
	Labels []string
	Values analysis.Counts
	// A and B are columns, or -1.
	A, B int
	// Large selects the size for a finding.
	Large bool
	// Epochs are the columns at which a restart begins a new epoch.
	Epochs []int
	// Lower reports for each value whether it is a lower bound.
	Lower []bool
	// Calm draws a rise that accuses nobody like a level.
	Calm bool `json:",omitempty"`
}

func (s SparkData) draw() drawing { return s.drawIn(nil) }

// drawIn draws with marks in a buffer of the caller.
func (s SparkData) drawIn(room []mark) drawing {
	w, h := 92.0, 26.0
	if s.Large {
		w, h = 132, 34
	}
	d := drawing{id: s.ID, title: s.say(), desc: inWords(s.Labels, s.Values, s.Lower), class: "spark", w: w, h: h, marks: room}
	s = s.thinned()
	base := h - 3
	d.line("c-axis", 4, base+.5, w-4, base+.5)
	n := len(s.Values)
	if n == 0 {
		return d
	}
	top := s.Values.Highest()
	at := func(i int) point {
		p := point{w / 2, base}
		if n > 1 {
			p.x = 4 + (w-8)*float64(i)/float64(n-1)
		}
		if v := s.Values[i]; v.Known() && top > 0 {
			p.y = base - (base-4)*float64(v.N)/float64(top)
		}
		return p
	}
	inside := func(i int) bool { return i >= 0 && i < n && s.Values[i].Known() }
	if inside(s.A) && inside(s.B) {
		from, to := at(min(s.A, s.B)).x, at(max(s.A, s.B)).x
		d.rect("c-abw", from, 0, to-from, base)
	}
	class := lineClass(whole(s.Values, s.Lower))
	if s.Calm {
		class = "flat"
	}
	runs(s.Values, s.Epochs, s.Lower, at, func(run []point) {
		if len(run) > 1 {
			d.path("c-line "+class, thinned(run))
		} else {
			d.circle("c-dot full "+class, run[0].x, run[0].y, 1.5)
		}
	})
	for i, v := range s.Values {
		if v.Known() && isLower(s.Lower, i) {
			d.triangle("c-dot "+class, at(i).x, at(i).y, 3)
		}
	}
	if inside(s.A) {
		d.circle("c-abd", at(s.A).x, at(s.A).y, 3)
	}
	if inside(s.B) {
		d.circle("c-abd b", at(s.B).x, at(s.B).y, 3)
	}
	return d
}

// mostSaid is the number of values the title of a small line lists. A table has a line in
// every row, with all figures beside it.
const mostSaid = 24

// say lists the values. Of a long series it lists the first, the highest, those of A
// and B, and the last.
func (s SparkData) say() string {
	n := len(s.Values)
	if n <= mostSaid {
		return say(s.Labels, s.Values, s.Lower)
	}
	first, last := s.Values.FirstAt(), s.Values.LastAt()
	top := s.Values.HighestAt()
	var labels []string
	var values analysis.Counts
	var lower []bool
	for i := range s.Values {
		if (i == first || i == last || i == top || i == s.A || i == s.B) && i < len(s.Labels) {
			labels, values, lower = append(labels, s.Labels[i]), append(values, s.Values[i]), append(lower, isLower(s.Lower, i))
		}
	}
	return say(labels, values, lower) + ", of " + strconv.Itoa(n) + " snapshots"
}

// thinned drops points of a line that lie within half a pixel of the one before. Of
// such points the first, the lowest, the highest and the last stay.
func thinned(run []point) []point {
	const near = 0.5
	if len(run) < 3 || run[len(run)-1].x-run[0].x >= near*float64(len(run)-1) {
		return run
	}
	var out []point
	for from := 0; from < len(run); {
		to, low, high := from+1, from, from
		for to < len(run) && run[to].x-run[from].x < near {
			if run[to].y < run[high].y {
				high = to
			}
			if run[to].y > run[low].y {
				low = to
			}
			to++
		}
		kept := []int{from, min(low, high), max(low, high), to - 1}
		for i, at := range kept {
			if i == 0 || at > kept[i-1] {
				out = append(out, run[at])
			}
		}
		from = to
	}
	return out
}

// runs returns the stretches of captured neighbours of one epoch. A lower bound neither
// belongs to a stretch nor ends it.
func runs(values analysis.Counts, epochs []int, lower []bool, at func(int) point, draw func([]point)) {
	var run []point
	for i, v := range values {
		if slices.Contains(epochs, i) && len(run) > 0 {
			draw(run)
			run = nil
		}
		if v.Known() && isLower(lower, i) {
			continue
		}
		if v.Known() {
			run = append(run, at(i))
			continue
		}
		if len(run) > 0 {
			draw(run)
		}
		run = nil
	}
	if len(run) > 0 {
		draw(run)
	}
}
