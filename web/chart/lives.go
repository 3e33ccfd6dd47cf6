package chart

import (
	"fmt"
	"strings"
)

// LivesData are the members of a family by their first and last column, oldest first.
type LivesData struct {
	ID, Title string
	Labels    []string
	Runs      []Run
	// At are the places of the columns among all captures, where not each is a column.
	At []int `json:",omitempty"`
	// RecoveredAt is the column at which the cause went away, or -1.
	RecoveredAt int
}

// Run counts the members that were seen from one column to another.
type Run struct{ First, Last, N int }

// mostLifeLines bounds the lines of one drawing.
const mostLifeLines = 40

func (l LivesData) members() int {
	n := 0
	for _, r := range l.Runs {
		n += r.N
	}
	return n
}

// PerLine is about how many members a line is for.
func (l LivesData) PerLine() int {
	return max(1, (l.members()+mostLifeLines-1)/mostLifeLines)
}

// describe is the drawing in words.
func (l LivesData) describe() string {
	var words []string
	for _, r := range l.Runs {
		if r.First < len(l.Labels) && r.Last < len(l.Labels) {
			words = append(words, fmt.Sprintf("%d from %s to %s", r.N, l.Labels[r.First], l.Labels[r.Last]))
		}
	}
	return strings.Join(words, ", ")
}

// placed is the place of column i of n, from 0 to 1, where each capture takes an equal step. at
// are the places of the columns among all captures, nil if each is a column.
func placed(i, n int, at []int) float64 {
	if len(at) == n && at[n-1] > 0 {
		return float64(at[i]) / float64(at[n-1])
	}
	return float64(i) / float64(n-1)
}

// lines returns how many lines each run has: one at least.
func (l LivesData) lines() (of []int, all int) {
	per := l.PerLine()
	for _, r := range l.Runs {
		n := max(1, (r.N+per/2)/per)
		of, all = append(of, n), all+n
	}
	return of, all
}

// draw places the captures at equal steps: on true time a gap would squeeze the births.
func (l LivesData) draw(w, h float64) drawing {
	d := drawing{id: fmt.Sprintf("%s-%g", l.ID, w), title: l.Title, desc: l.describe(), class: "small", w: w, h: h}
	if len(l.Labels) < 2 || len(l.Runs) == 0 {
		return d
	}
	left, right, top, floor := 34.0, w-14, 18.0, h-20
	for i, r := range l.Runs {
		if i == 0 || r.First != l.Runs[i-1].First {
			left = max(left, textWidth("+"+figure(r.N))+10)
		}
	}
	x := func(i int) float64 {
		return left + (right-left)*placed(clamp(i, len(l.Labels)), len(l.Labels), l.At)
	}
	for i, label := range l.Labels {
		d.columns = append(d.columns, column{label, x(i)})
	}
	if r := l.RecoveredAt; r >= 0 && r < len(l.Labels) {
		d.recovery(x(r)-6, top-6, 14, floor-top+6)
	}
	of, all := l.lines()
	cohorts := 0
	for i, r := range l.Runs {
		if i == 0 || r.First != l.Runs[i-1].First {
			cohorts++
		}
	}
	gap := min(6, .4*(floor-top)/float64(cohorts))
	step := min(7, (floor-top-gap*float64(cohorts))/float64(all))
	var names, counts, births spread
	for i, label := range l.Labels {
		d.line("c-grid", x(i), top, x(i), floor)
		text, alive := clip(label, 10), 0
		for _, r := range l.Runs {
			if r.First <= i && i <= r.Last {
				alive += r.N
			}
		}
		half := textWidth(text)/2 + 2
		at := min(x(i), w-half)
		if names.free(at-half, at+half) {
			d.label("", "middle", at, h-5, text)
		}
		text = figure(alive)
		half = textWidth(text)/2 + 2
		at = min(x(i), w-half)
		if counts.free(at-half, at+half) {
			d.label("s", "middle", at, 11, text)
		}
	}
	y := top
	for i := 0; i < len(l.Runs); {
		first, born, from := l.Runs[i].First, 0, y+step/2
		for ; i < len(l.Runs) && l.Runs[i].First == first; i++ {
			born += l.Runs[i].N
			for range of[i] {
				y += step
				if to := x(l.Runs[i].Last); to > x(first) {
					d.line("lf thin", x(first), y-step/2, to, y-step/2)
				}
			}
		}
		d.line("lf", x(first), from-1, x(first), y-step/2+1)
		text, middle := "+"+figure(born), (from+y-step/2)/2
		if births.free(middle-6, middle+6) {
			d.label("", "end", x(first)-6, middle+4, text)
		}
		y += gap
	}
	return d
}
