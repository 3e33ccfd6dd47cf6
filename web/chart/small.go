package chart

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/say/wording"
)

// SmallData is one of several small charts on a common scale.
type SmallData struct {
	ID, Title string
	Labels    []string
	Times     []time.Time
	// Taken are the times of all captures where not each is a column, nil otherwise.
	Taken       []time.Time `json:",omitempty"`
	Values      analysis.Counts
	RecoveredAt int
	// Max is the top of the scale that all charts of the page share.
	Max int
	// Epochs, Onset, Events, Limit and Lower are those of a Lane.
	Epochs []int
	Lower  []bool
	Onset  *Span
	Events []Event
	Limit  int
}

// Top is the highest value, or the limit if its line is drawn.
func (s SmallData) Top() int {
	top := s.Values.Highest()
	return ceiling(s.Limit, top)
}

func (s SmallData) draw(w, h float64) drawing {
	words, said := inWords(s.Labels, s.Values, s.Lower), say(s.Labels, s.Values, s.Lower)
	if len(s.Labels) > mostSmallDots {
		said = SparkData{Labels: s.Labels, Values: s.Values, Lower: s.Lower, A: -1, B: -1}.say()
	}
	s = s.thinned()
	d := drawing{id: fmt.Sprintf("%s-%g", s.ID, w), title: s.Title + ": " + said + told(s.Labels, s.Onset, s.Epochs, s.Events), desc: words, class: "small", w: w, h: h}
	scale := max(s.Max, 1)
	right := w - max(30, textWidth(figure(scale))+7)
	base := h - 18
	a := newAxis(len(s.Labels), s.Times, s.Taken, 8, right-4)
	d.at(s.Labels, a.x)
	at := func(i int) point {
		return point{a.x[i], base - (base-16)*float64(s.Values[i].N)/float64(scale)}
	}
	if r := s.RecoveredAt; r >= 0 && r < len(a.x) {
		d.recovery(a.x[r]-6, 8, 14, base-8)
	}
	if s.Onset.inside(len(a.x)) {
		d.onset(a.x[s.Onset.From], 8, a.x[s.Onset.To]-a.x[s.Onset.From], base-8)
	}
	for _, g := range Gaps(s.Times, s.Taken) {
		inset := (a.x[g.At] - a.x[g.At-1]) * .15
		d.hatchedRect(a.x[g.At-1]+inset, 8, a.x[g.At]-a.x[g.At-1]-2*inset, base-8)
	}
	for _, e := range s.Epochs {
		if e > 0 && e < len(a.x) {
			x := (a.x[e-1] + a.x[e]) / 2
			d.line("c-epoch", x, 8, x, base)
		}
	}
	for _, e := range s.Events {
		if x, ok := a.between(e); ok {
			d.line("c-event", x, 8, x, base)
		}
	}
	d.line("c-axis", 0, base+.5, right, base+.5)
	for _, v := range append([]int{0}, ticks(scale, 2)...) {
		y := base - (base-16)*float64(v)/float64(scale)
		if v > 0 {
			d.line("c-grid", 0, y, right, y)
		}
		if s.Limit > 0 && v > 0 && v < s.Limit && float64(s.Limit-v)*(base-16) < 14*float64(scale) {
			continue // the limit's own figure stands there
		}
		d.label("", "start", right+5, y+4, figure(v))
	}
	if s.Limit > 0 && s.Limit <= scale {
		y := base - (base-16)*float64(s.Limit)/float64(scale)
		d.line("c-limit", 0, y, right, y)
		d.label("limit", "start", right+5, y+4, figure(s.Limit))
	}
	n := min(len(s.Values), len(a.x))
	values := whole(s.Values[:n], s.Lower)
	class := lineClass(values)
	for i, v := range s.Values[:n] {
		if v.Known() && isLower(s.Lower, i) {
			d.triangle("c-dot "+class, at(i).x, at(i).y, 3)
			d.explain(s.Labels[i] + ": " + atLeast(v.N, true) + ", the dump is cut")
		}
	}
	first, last := values.FirstAt(), values.LastAt()
	if first < 0 {
		return d
	}
	run := make([]point, 0, n)
	previous := -1
	gap := map[int]bool{}
	for _, g := range Gaps(s.Times, s.Taken) {
		gap[g.At] = true
	}
	flush := func() {
		if len(run) > 1 {
			d.path("c-line "+class, run)
		}
	}
	for i, v := range values {
		if !v.Known() {
			continue
		}
		p := at(i)
		if slices.Contains(s.Epochs, i) {
			flush()
			run, previous = run[:0:0], -1
		}
		if previous >= 0 && (i-previous > 1 || gap[i]) {
			flush()
			d.dashedPath("c-line "+class, []point{run[len(run)-1], p})
			run = run[:0:0]
		}
		run, previous = append(run, p), i
	}
	flush()
	for i := range values {
		if dotted(values, s.Epochs, i, mostSmallDots) {
			d.circle("c-dot full "+class, at(i).x, at(i).y, 2)
		}
	}
	top := values.HighestAt()
	mark := "k"
	if class == "up" {
		mark = "up"
	}
	p := at(top)
	s2 := figure(values[top].N)
	d.label(mark, "middle", min(max(p.x, textWidth(s2)/2), right-4), max(p.y-7, 10), s2)
	var room spread
	names := columnNames(s.Labels, 12)
	for _, i := range []int{first, last, top} {
		text := names[i]
		half := textWidth(text)/2 + 2
		x := min(max(a.x[i], half), w-half)
		if room.free(x-half, x+half) {
			d.label("s", "middle", x, h-4, text)
		}
	}
	return d
}

// MembersData is one family's counts over time, on a page of its own.
type MembersData struct {
	ID, Title string
	Labels    []string
	Times     []time.Time
	// Taken are the times of all captures where not each is a column, nil otherwise.
	Taken       []time.Time `json:",omitempty"`
	Values      analysis.Counts
	RecoveredAt int
	Epochs      []int
	A, B        int
	// Onset, Events and Lower are those of a Lane.
	Onset  *Span
	Events []Event
	Lower  []bool
	// What is counted, "members" if empty.
	What string `json:",omitempty"`
}

// Cells are the counts under their snapshots.
func (m MembersData) Cells() (head []string, rows [][]string) {
	head, row := []string{"Snapshot"}, []string{wording.Capital(cmp.Or(m.What, "members"))}
	for i, l := range m.Labels {
		if slices.Contains(m.Epochs, i) {
			l += " (restarted)"
		}
		head = append(head, l)
		n := "–"
		if i < len(m.Values) && m.Values[i].Known() {
			n = atLeast(m.Values[i].N, isLower(m.Lower, i))
		}
		row = append(row, n)
	}
	return head, [][]string{row}
}

func (m MembersData) draw(width float64) drawing {
	all, words := len(m.Labels), inWords(m.Labels, m.Values, m.Lower)
	m = m.thinned()
	lane := Lane{Name: "", Unit: cmp.Or(m.What, "members"), Values: m.Values, Epochs: m.Epochs, RecoveredAt: m.RecoveredAt, Onset: m.Onset, Events: m.Events, Lower: m.Lower}
	t := TimelineData{ID: m.ID, Title: m.Title, Labels: m.Labels, Times: m.Times, Taken: m.Taken, Lanes: []Lane{lane}, A: -1, B: -1}
	narrow := width < 600
	f := timelineFrame{t: t, narrow: narrow, left: 34, right: width - 16, top: 30, laneH: 170}
	if narrow {
		f.left, f.right, f.top, f.laneH = 8, width-4, 34, 140
	}
	f.max = m.Values.Highest()
	f.max = max(f.max, 1)
	if all := ticks(f.max, 4); !narrow && len(all) > 0 {
		f.left = max(f.left, 1.1*textWidth(figure(all[len(all)-1]))+12)
	}
	f.rows()
	d := drawing{id: fmt.Sprintf("%s-%g", m.ID, width), title: m.Title + ": " + say(m.Labels, m.Values, m.Lower) + partly(", ", len(m.Labels), all) + told(m.Labels, m.Onset, m.Epochs, m.Events), desc: words, class: "timeline", w: width, h: f.bottom + 4}
	f.d = &d
	f.scale()
	f.shade(0, lane)
	f.gaps()
	f.lane(0)
	f.labels()
	return d
}

func (m MembersData) table() Table {
	all := len(m.Labels)
	m = m.thinned()
	out := Table{Caption: m.Title + partly(", ", len(m.Labels), all), Head: []string{"Snapshot", capital(cmp.Or(m.What, "members"))}}
	for i, label := range m.Labels {
		if i < len(m.Values) {
			out.Rows = append(out.Rows, []string{marked(label, i, m.Epochs), cell(m.Values[i], isLower(m.Lower, i))})
		}
	}
	return out
}

// marked names the first column of an epoch: "t6 (restarted)".
func marked(label string, i int, epochs []int) string {
	if slices.Contains(epochs, i) {
		return label + " (restarted)"
	}
	return label
}

// Bar is one bar of a histogram.
type Bar struct {
	Label string
	Count int
}

// BarsData is a histogram. Growth reports that the bars count births.
type BarsData struct {
	ID, Title, What string
	Bars            []Bar
	Growth          bool
}

func (b BarsData) draw(w float64) drawing {
	b = b.thinned()
	h := 120.0
	d := drawing{id: fmt.Sprintf("%s-%g", b.ID, w), title: b.Title, class: "bars", w: w, h: h}
	top := 1
	for i, bar := range b.Bars {
		if i > 0 {
			d.desc += ", "
		}
		d.desc += bar.Label + ": " + strconv.Itoa(bar.Count)
		top = max(top, bar.Count)
	}
	d.line("c-axis", 0, 100.5, w, 100.5)
	if len(b.Bars) == 0 {
		return d
	}
	class := "c-bar flat"
	if b.Growth {
		class = "c-bar"
	}
	slot := w / float64(len(b.Bars))
	bar := min(slot*.6, 34)
	var names, counts spread
	for i, v := range b.Bars {
		x := slot * (float64(i) + .5)
		height := 80 * float64(v.Count) / float64(top)
		if v.Count > 0 {
			d.rect(class, x-bar/2, 100-height, bar, height)
			c := figure(v.Count)
			half := textWidth(c) / 2
			if counts.free(x-half, x+half) {
				d.label("k", "middle", x, 95-height, c)
			}
		}
		s := clip(v.Label, 12)
		half := textWidth(s)/2 + 1
		at := min(max(x, half), w-half)
		if names.free(at-half, at+half) {
			d.label("", "middle", at, 115, s)
		}
	}
	return d
}

func (b BarsData) table() Table {
	b = b.thinned()
	out := Table{Caption: b.Title, Head: []string{b.What, "Members"}}
	for _, bar := range b.Bars {
		out.Rows = append(out.Rows, []string{bar.Label, figure(bar.Count)})
	}
	return out
}

// StatesData are shares of one whole, largest first.
type StatesData struct {
	ID    string
	Parts []Bar
	Width int
}

func (s StatesData) draw() drawing {
	w := float64(max(s.Width, 1))
	d := drawing{id: s.ID, class: "statesbar", w: w, h: 12, stretch: true}
	total := 0
	for i, p := range s.Parts {
		if i > 0 {
			d.title += ", "
		}
		d.title += p.Label + " " + figure(p.Count)
		total += p.Count
	}
	if total == 0 {
		d.title, d.desc = "no states", "Nothing to share out."
		return d
	}
	d.desc = "Shares of " + figure(total) + ":"
	x := 0.0
	for i, p := range s.Parts {
		if i > 0 {
			d.desc += ","
		}
		d.desc += " " + p.Label + " " + wording.CountShare(p.Count, total)
		width := w * float64(p.Count) / float64(total)
		d.rect("sb"+strconv.Itoa(min(i, 4)+1), x, 0, max(width-1, .5), 12)
		x += width
	}
	return d
}

// SummaryData counts what became of the members between A and B.
type SummaryData struct {
	ID                    string
	Ended, Survived, Born int
}

func (s SummaryData) draw(w float64) drawing {
	d := drawing{
		id: fmt.Sprintf("%s-%g", s.ID, w), class: "summarybar", w: w, h: 14, stretch: true,
		title: fmt.Sprintf("%s ended, %s survived, %s born", figure(s.Ended), figure(s.Survived), figure(s.Born)),
	}
	before, after := s.Ended+s.Survived, s.Survived+s.Born
	d.desc = fmt.Sprintf("Of %s at first %s ended; of %s at last %s were born since.", figure(before), wording.CountShare(s.Ended, before), figure(after), wording.CountShare(s.Born, after))
	total := s.Ended + s.Survived + s.Born
	if total == 0 {
		return d
	}
	x := 0.0
	for _, p := range []struct {
		n     int
		class string
	}{{s.Ended, "c-ended"}, {s.Survived, "c-survived"}, {s.Born, "c-born"}} {
		if p.n == 0 {
			continue
		}
		width := w * float64(p.n) / float64(total)
		d.rect(p.class, x, 0, max(width-1, 1.5), 14)
		x += width
	}
	return d
}
