package chart

import (
	"cmp"
	"fmt"
	"strings"

	"leakdiff/analysis"
)

// Life is one member: the columns from its birth to its last sighting.
type Life struct {
	Name        string
	First, Last int
}

// LifelinesData are the members of one family, oldest first.
type LifelinesData struct {
	ID, Title string
	Labels    []string
	Values    analysis.Counts
	// At are the places of the columns among all captures, where not each is a column.
	At    []int `json:",omitempty"`
	Lives []Life
	// RecoveredAt is the column at which the cause went away, or -1.
	RecoveredAt int
	// What the lines are, "members" if empty.
	What string `json:",omitempty"`
}

func (l LifelinesData) what() string { return cmp.Or(l.What, "members") }

// maxLifeName bounds the name of a member, "fd 25, wd 571".
const maxLifeName = 16

// maxLives bounds the lines of one chart. Further members are counted in words.
const maxLives = 60

func (l LifelinesData) more() int { return max(len(l.Lives)-maxLives, 0) }

// shown returns at most maxLives lines. Every cohort has its share, and at least one
// line while there is room, so that the newest is drawn as well.
func (l LifelinesData) shown() []Life {
	if l.more() == 0 {
		return l.Lives
	}
	var out []Life
	taken := 0
	for i, life := range l.Lives {
		first := i == 0 || life.First != l.Lives[i-1].First
		if due := (i + 1) * maxLives / len(l.Lives); (first || taken < due) && len(out) < maxLives {
			out = append(out, life)
			taken++
		}
	}
	return out
}

func (l LifelinesData) draw(w float64) drawing {
	lives := l.shown()
	step := 8.0
	if len(lives) > 30 {
		step = 5
	}
	cohorts := 0
	for i := range lives {
		if i == 0 || lives[i].First != lives[i-1].First {
			cohorts++
		}
	}
	h := 22 + float64(len(lives))*step + float64(cohorts)*9 + 26
	d := drawing{id: fmt.Sprintf("%s-%g", l.ID, w), title: l.Title, desc: l.describe(), class: "lifelines", w: w, h: h}
	l, lives = l.thinned(lives)
	left, right := 30.0, w-20
	for i, life := range lives {
		if i == 0 || life.First != lives[i-1].First {
			left = max(left, textWidth(clip(life.Name, maxLifeName))+14)
		}
	}
	x := func(i int) float64 {
		if len(l.Labels) < 2 {
			return left
		}
		return left + (right-left)*placed(i, len(l.Labels), l.At)
	}
	floor := h - 22
	if r := l.RecoveredAt; r >= 0 && r < len(l.Labels) {
		d.recovery(x(r)-9, 18, 18, floor-18)
	}
	var names, counts spread
	for i, s := range columnNames(l.Labels, 10) {
		d.line("c-grid", x(i), 18, x(i), floor)
		half := textWidth(s)/2 + 2
		at := min(x(i), w-half)
		if names.free(at-half, at+half) {
			d.label("", "middle", at, h-6, s)
		}
		if i < len(l.Values) && l.Values[i].Known() {
			c := figure(l.Values[i].N)
			half := textWidth(c)/2 + 2
			if counts.free(x(i)-half, x(i)+half) {
				d.label("s", "middle", x(i), 12, c)
			}
		}
	}
	y := 20.0
	for i, life := range lives {
		y += step
		if i > 0 && life.First != lives[i-1].First {
			y += 9
		}
		if i == 0 || life.First != lives[i-1].First {
			d.label("", "end", left-10, y+4, clip(life.Name, maxLifeName))
		}
		first, last := clamp(life.First, len(l.Labels)), clamp(life.Last, len(l.Labels))
		if last > first {
			d.line("lf", x(first), y, x(last), y)
		}
		d.circle("lfd", x(first), y, 2.5)
		if last > first {
			d.circle("lfd", x(last), y, 2.5)
		}
	}
	return d
}

// placed is the place of column i of n, from 0 to 1, where each capture takes an equal step. at
// are the places of the columns among all captures, nil if each is a column.
func placed(i, n int, at []int) float64 {
	if len(at) == n && at[n-1] > 0 {
		return float64(at[i]) / float64(at[n-1])
	}
	return float64(i) / float64(n-1)
}

func clamp(i, n int) int { return min(max(i, 0), max(n-1, 0)) }

func (l LifelinesData) describe() string {
	born := map[int]int{}
	for _, life := range l.Lives {
		born[life.First]++
	}
	s := figure(len(l.Lives)) + " " + l.what()
	if len(born) > mostSmallColumns {
		return s + ", first seen at " + figure(len(born)) + " snapshots."
	}
	for i, label := range l.Labels {
		if born[i] > 0 {
			s += ", " + figure(born[i]) + " first seen at " + label
		}
	}
	return s + "."
}

func (l LifelinesData) table() Table {
	out := Table{Caption: l.Title, Head: []string{capital(strings.TrimSuffix(l.what(), "s")), "First seen", "Last seen"}}
	for _, life := range l.shown() {
		if len(l.Labels) > 0 {
			out.Rows = append(out.Rows, []string{life.Name, l.Labels[clamp(life.First, len(l.Labels))], l.Labels[clamp(life.Last, len(l.Labels))]})
		}
	}
	return out
}
