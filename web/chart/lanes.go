package chart

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/say/wording"
)

// LanesData is a chain of things on one axis of time: a lane for each, the cause first, with a line
// for each member from where it was first seen to where it was last seen. Totals stand below as thin
// lines.
type LanesData struct {
	ID, Title string
	// Labels and Times are those of the columns. Taken are the times of all captures where not each
	// is a column, nil otherwise.
	Labels []string
	Times  []time.Time
	Taken  []time.Time `json:",omitempty"`
	Lanes  []LifeLane
	Totals []LaneTotal `json:",omitempty"`
	// Alike are lanes none of which hangs on the one above it.
	Alike bool `json:",omitempty"`
	// From and To are the labels of a part that is shaded, empty for none.
	From, To string `json:",omitempty"`
}

// LifeLane is one thing: its name, and its members by columns. It has Runs where members have
// identities, else Values, or neither where nothing was counted.
type LifeLane struct {
	// Role stands above the Figure and the Noun, Notes below. URL leads to what is said of it.
	Role, Figure, Noun string
	Notes              []string `json:",omitempty"`
	URL                string   `json:",omitempty"`
	// Cause marks what the others hang on.
	Cause  bool            `json:",omitempty"`
	Runs   []Run           `json:",omitempty"`
	Values analysis.Counts `json:",omitempty"`
	// EndedAt is the column at which they had ended, -1 without an end. GoneAt is the column from
	// which on the process was not captured any more, -1 if it was to the end.
	EndedAt, GoneAt int
}

// Run counts the members that were seen from one column to another. Some are those that have a
// link where their lines begin.
type Run struct {
	First, Last, N int
	Some           []Birth `json:",omitempty"`
}

// Birth is one member: "goroutine 7", and the address of its page.
type Birth struct{ Name, URL string }

// LaneTotal is a total of the case. Course are its first, highest and last value.
type LaneTotal struct {
	Name, Course string
	Values       analysis.Counts
	Lower        []bool `json:",omitempty"`
}

// The measures of lanes in pixels.
const (
	mostLifeLines = 60 // of one lane
	lanesWide     = 800
	lanesNarrow   = 358
	laneLabel     = 176 // the column of names
	laneRow       = 16  // of a line of text
	laneLeast     = 34  // the least height of what is drawn
	laneMost      = 112
	laneArea      = 64 // of counts without identities
	laneTotal     = 34
	boldWidth     = 1.15 // how much wider names are than other text
)

// thinned is the drawing with the columns that it has room for.
func (l LanesData) thinned(most int) LanesData {
	var values []analysis.Counts
	for i := range l.Lanes {
		values = append(values, l.Lanes[i].alive(len(l.Labels)))
	}
	for _, t := range l.Totals {
		values = append(values, t.Values)
	}
	t := thin(len(l.Labels), most, nil, values...)
	if t == nil {
		return l
	}
	if l.Taken == nil {
		l.Taken = l.Times
	}
	l.Labels, l.Times = drawn(t, l.Labels), drawn(t, l.Times)
	l.Lanes, l.Totals = slices.Clone(l.Lanes), slices.Clone(l.Totals)
	for i := range l.Lanes {
		lane := &l.Lanes[i]
		lane.Values, lane.EndedAt, lane.GoneAt = drawn(t, lane.Values), t.column(lane.EndedAt), t.column(lane.GoneAt)
		var runs []Run
		for _, r := range lane.Runs {
			r.First, r.Last = t.column(r.First), t.column(r.Last)
			if k := len(runs) - 1; k >= 0 && runs[k].First == r.First && runs[k].Last == r.Last {
				runs[k].N += r.N
				runs[k].Some = slices.Concat(runs[k].Some, r.Some)
				continue
			}
			runs = append(runs, r)
		}
		lane.Runs = runs
	}
	for i := range l.Totals {
		l.Totals[i].Values, l.Totals[i].Lower = drawn(t, l.Totals[i].Values), drawn(t, l.Totals[i].Lower)
	}
	return l
}

// describe is the drawing in words.
func (l LanesData) describe() string {
	var lanes []string
	for i := range l.Lanes {
		lane := &l.Lanes[i]
		text := lane.name()
		if lane.Role != "" {
			text = lane.Role + ": " + text
		}
		if values := lane.alive(len(l.Labels)); values.FirstAt() >= 0 {
			if len(l.Labels) > mostSmallDots {
				text += ": " + strings.TrimSuffix(inWords(l.Labels, values, nil), ".")
			} else {
				text += ": " + say(l.Labels, values, nil)
			}
		}
		lanes = append(lanes, text)
	}
	for _, t := range l.Totals {
		lanes = append(lanes, t.Name+": "+t.Course)
	}
	return strings.Join(lanes, ". ")
}

// lanesFrame is where lanes are drawn.
type lanesFrame struct {
	LanesData
	d           *drawing
	narrow      bool
	left, right float64
	x           []float64
}

func (l LanesData) draw(w float64) drawing {
	most := mostColumns
	if w < 600 {
		most = mostSmallColumns
	}
	l = l.thinned(most)
	d := drawing{id: fmt.Sprintf("%s-%g", l.ID, w), title: l.Title, desc: l.describe(), class: "lanes", w: w}
	f := lanesFrame{LanesData: l, d: &d, narrow: w < 600, left: laneLabel, right: w - 14}
	if f.narrow {
		f.left = 8
	}
	f.x = newAxis(len(l.Labels), l.Times, l.Taken, f.left+6, f.right).x
	d.at(l.Labels, f.x)
	y := 4.0
	for i := range l.Lanes {
		if f.arrows(i, y); i > 0 {
			y += f.above(i)
		}
		h := f.height(&l.Lanes[i])
		d.open("lane" + strconv.Itoa(i))
		d.rect("ln-hit", 0, y, w, h)
		f.lane(&l.Lanes[i], y, h)
		d.end()
		y += h
	}
	for _, t := range l.Totals {
		f.total(&t, y)
		y += laneTotal
	}
	f.axis(y + 4)
	d.h = y + 38
	if a, b := slices.Index(l.Labels, l.From), slices.Index(l.Labels, l.To); l.From != "" && a >= 0 && b > a {
		d.rect("c-range", f.x[a], 0, f.x[b]-f.x[a], d.h)
		last := len(d.marks) - 1
		d.marks = append([]mark{d.marks[last]}, d.marks[:last]...) // below all others
	}
	return d
}

// above is the room between a lane and the one above it, in which arrows stand.
func (f *lanesFrame) above(i int) float64 {
	switch {
	case i == 0:
		return 0
	case len(f.together(i)) > 0:
		return 26
	}
	return 12
}

// together are the columns in which members of a lane came with members of the one above it.
func (f *lanesFrame) together(i int) (out []int) {
	if i == 0 || f.narrow || f.Alike {
		return nil
	}
	above, here := f.Lanes[i-1].born(len(f.x)), f.Lanes[i].born(len(f.x))
	for k := 1; k < len(here); k++ {
		if above[k] > 0 && here[k] > 0 {
			out = append(out, k)
		}
	}
	return out
}

// counted reports a lane with anything to draw.
func (l *LifeLane) counted() bool { return len(l.Runs) > 0 || l.Values.FirstAt() >= 0 || l.GoneAt > 0 }

// texts are the lines of the name of a lane.
func (f *lanesFrame) texts(l *LifeLane) (role, name, notes []string) {
	room := 24
	if f.narrow {
		room = 46
	}
	if l.Role != "" {
		role = wrapped(l.Role, room, 2)
	}
	name = wrapped(l.name(), room-2, 3)
	for _, n := range l.Notes {
		notes = append(notes, wrapped(n, room+2, 2)...)
	}
	return role, name, notes
}

func (f *lanesFrame) height(l *LifeLane) float64 {
	role, name, notes := f.texts(l)
	if !l.counted() && !f.narrow {
		return laneRow + 6
	}
	named := laneRow * float64(len(role)+len(name)+len(notes))
	drawn := 0.0
	switch {
	case len(l.Runs) > 0:
		_, lines := l.lines()
		drawn = 16 + min(laneMost, max(laneLeast, 2.5*float64(lines)+3*float64(l.cohorts())))
	case l.Values.FirstAt() >= 0:
		drawn = 16 + laneArea
	case l.GoneAt > 0:
		drawn = 16 + laneLeast
	}
	if f.narrow {
		return named + 4 + drawn
	}
	return max(named+4, drawn)
}

// gaps hatches where nothing was captured.
func (f *lanesFrame) gaps(top, floor float64) {
	for _, g := range Gaps(f.Times, f.Taken) {
		inset := (f.x[g.At] - f.x[g.At-1]) * .15
		f.d.hatchedRect(f.x[g.At-1]+inset, top, f.x[g.At]-f.x[g.At-1]-2*inset, floor-top)
	}
}

// arrows say that members of the lane above brought those of this one.
func (f *lanesFrame) arrows(i int, y float64) {
	var room spread
	for _, k := range f.together(i) {
		x, text := f.x[k], "+"+figure(f.Lanes[i].born(len(f.x))[k])
		f.d.line("ln-arrow", x, y+3, x, y+20)
		f.d.area("ln-tip", []point{{x - 3, y + 18}, {x + 3, y + 18}, {x, y + 23}})
		if from, to := x+5, x+9+textWidth(text); to < f.right+12 && room.free(from, to) {
			f.d.label("", "start", from, y+16, text)
		}
	}
}

// lane draws a lane in a height below y.
func (f *lanesFrame) lane(l *LifeLane, y, h float64) {
	role, name, notes := f.texts(l)
	roleClass := "ln-role"
	if l.Cause {
		roleClass = "ln-role cause"
	}
	put := func(class string, x, y float64, text string) {
		f.d.label(class, "start", x, y, text)
		if class == "ln-n" && l.URL != "" {
			f.d.marks[len(f.d.marks)-1].frame, f.d.linked = &frame{href: l.URL}, true
		}
	}
	if !l.counted() && !f.narrow {
		x := 0.0
		for _, part := range []struct {
			class, text string
		}{{roleClass, l.Role}, {"ln-n", l.name()}, {"", strings.Join(l.Notes, ", ")}} {
			if text := clip(part.text, 70); text != "" {
				put(part.class, x, y+14, text)
				x += boldWidth*textWidth(text) + 10
			}
		}
		return
	}
	at := y + 12
	write := func(class string, lines []string) {
		for _, text := range lines {
			put(class, 0, at, text)
			at += laneRow
		}
	}
	write(roleClass, role)
	write("ln-n", name)
	write("", notes)
	if f.narrow {
		h -= at - 12 - y
		y = at - 12
	}
	if h < laneLeast {
		return
	}
	top, floor := y+14, y+h-2
	f.gaps(top-8, floor+2)
	if e := l.EndedAt; e >= 0 && e < len(f.x) {
		f.d.recovery(f.x[e]-6, top-8, 14, floor-top+8)
	}
	if len(l.Runs) > 0 {
		f.lives(l, top, floor)
	} else {
		f.course(l, top, floor)
	}
	if g := l.GoneAt; g > 0 && g < len(f.x) {
		x, middle := (f.x[g-1]+f.x[g])/2, (top+floor)/2
		if !slices.ContainsFunc(l.Values, analysis.Count.Known) && len(l.Runs) == 0 {
			f.d.line("lf soft", f.x[0], middle, x, middle)
		}
		f.d.line("ln-gone", x, top-6, x, floor)
		f.d.label("k", "start", x+5, middle+4, "ended")
	}
	f.d.line("c-grid", f.left, floor+2, f.right+6, floor+2)
}

// figures writes the counts of columns above a lane.
func (f *lanesFrame) figures(values analysis.Counts, y float64) {
	var room spread
	write := func(i int) {
		text := figure(values[i].N)
		half := textWidth(text)/2 + 2
		if x := min(f.x[i], f.right+12-half); room.free(x-half, x+half) {
			f.d.label("s", "middle", x, y, text)
		}
	}
	first, top, last := values.FirstAt(), values.HighestAt(), values.LastAt()
	if first < 0 {
		return
	}
	for _, i := range []int{top, last, first} {
		write(i)
	}
	for i := range min(len(values), len(f.x)) {
		if values[i].Known() && i != first && i != top && i != last {
			write(i)
		}
	}
}

// lives draws a line for each member or for several, the oldest at the bottom.
func (f *lanesFrame) lives(l *LifeLane, top, floor float64) {
	f.figures(l.alive(len(f.x)), top-4)
	runs := l.Runs
	of, all := l.lines()
	gap := min(4, .4*(floor-top)/float64(l.cohorts()))
	step := min(5, (floor-top-gap*float64(l.cohorts()))/float64(max(1, all)))
	y := floor
	for i := 0; i < len(runs); {
		first, from := runs[i].First, y
		born := len(f.d.marks)
		for ; i < len(runs) && runs[i].First == first; i++ {
			for k := range of[i] {
				y -= step
				if to := f.place(runs[i].Last); to > f.place(first) {
					f.d.line(f.class(l, "lf thin"), f.place(first), y+step/2, to, y+step/2)
				}
				f.birth(&runs[i], k*len(runs[i].Some)/of[i], y, step)
			}
		}
		f.d.line(f.class(l, "lf"), f.place(first), from-step/2+1, f.place(first), y+step/2-1)
		f.d.skipButFirst(born)
		y -= gap
	}
}

// birth is the link where a line begins.
func (f *lanesFrame) birth(r *Run, k int, y, h float64) {
	if k >= len(r.Some) || r.Some[k].URL == "" {
		return
	}
	const reach = 7
	b := r.Some[k]
	f.d.marks = append(f.d.marks, mark{shape: framed, class: "ln-b", x: f.place(r.First) - reach, y: y, w: 2 * reach, h: h, full: b.Name + ", first seen at " + f.Labels[clamp(r.First, len(f.Labels))], frame: &frame{href: b.URL}})
	f.d.linked = true
}

// class colours what is the cause or the thing itself, and leaves the others grey.
func (f *lanesFrame) class(l *LifeLane, class string) string {
	if l != f.growing() && !f.Alike {
		class += " soft"
	}
	return class
}

// growing is the lane that the answer is about: the first with members.
func (f *lanesFrame) growing() *LifeLane {
	for i := range f.Lanes {
		if l := &f.Lanes[i]; len(l.Runs) > 0 || l.Values.FirstAt() >= 0 {
			return l
		}
	}
	return nil
}

func (f *lanesFrame) place(i int) float64 { return f.x[clamp(i, len(f.x))] }

// course draws counts as an area.
func (f *lanesFrame) course(l *LifeLane, top, floor float64) {
	values := l.Values[:min(len(l.Values), len(f.x))]
	highest := max(1, values.Highest())
	var line []point
	for i, v := range values {
		if v.Known() {
			line = append(line, point{f.x[i], floor - (floor-top)*float64(v.N)/float64(highest)})
		}
	}
	if len(line) == 0 {
		return
	}
	f.figures(values, top-4)
	f.d.area("ln-area"+strings.TrimPrefix(f.class(l, "x"), "x"), append(slices.Clone(line), point{line[len(line)-1].x, floor}, point{line[0].x, floor}))
	f.d.path("c-line "+map[bool]string{true: "up", false: "flat"}[l == f.growing() || f.Alike], line)
}

// total draws a thin line below y.
func (f *lanesFrame) total(t *LaneTotal, y float64) {
	top, floor := y+8, y+laneTotal-4
	if f.narrow {
		f.d.label("", "start", 0, y+13, clip(t.Name, 30))
		f.d.label("s", "end", f.right+6, y+13, t.Course)
		top = y + 18
	} else {
		name := clip(t.Name, 26)
		if f.d.label("", "start", 0, y+15, name); name != t.Name {
			f.d.explain(t.Name)
		}
		f.d.label("s", "start", 0, y+29, clip(t.Course, 28))
	}
	f.gaps(top-2, floor+2)
	values := whole(t.Values[:min(len(t.Values), len(f.x))], t.Lower)
	highest := max(1, values.Highest())
	var line []point
	for i, v := range values {
		if v.Known() {
			line = append(line, point{f.x[i], floor - (floor-top)*float64(v.N)/float64(highest)})
		}
	}
	if len(line) > 1 {
		f.d.path("c-line thin", line)
	}
}

// axis names the columns, and says when the first and the last one were.
func (f *lanesFrame) axis(y float64) {
	f.d.line("c-axis", f.left, y, f.right+6, y)
	var room spread
	names := columnNames(f.Labels, 12)
	name := func(i int) {
		text := names[i]
		half := textWidth(text)/2 + 3
		if x := min(max(f.x[i], f.left+half-8), f.right+12-half); room.free(x-half, x+half) {
			f.d.line("c-axis", f.x[i], y, f.x[i], y+4)
			f.d.label("", "middle", x, y+17, text)
		}
	}
	last := len(f.Labels) - 1
	for _, i := range []int{0, last} {
		name(i)
		if i >= 0 && i < len(f.Times) && !f.Times[i].IsZero() {
			anchor, x := "start", f.left
			if i == last {
				anchor, x = "end", f.right+12
			}
			f.d.label("", anchor, x, y+31, wording.Clock(f.Times[i]))
		}
	}
	for i := 1; i < last; i++ {
		name(i)
	}
}

// wrapped breaks text at spaces into at most most lines of about n characters. What has no room is
// cut.
func wrapped(text string, n, most int) []string {
	var out, words []string
	for _, word := range strings.Fields(text) {
		for runes := []rune(word); len(runes) > n; runes = []rune(word) { // long names break before a dot
			at := strings.LastIndexAny(string(runes[:n]), "./")
			if at <= 0 {
				break
			}
			words, word = append(words, word[:at]), word[at:]
		}
		words = append(words, word)
	}
	for _, word := range words {
		last := len(out) - 1
		switch {
		case last >= 0 && len([]rune(out[last]))+1+len([]rune(word)) <= n:
			out[last] += " " + word
		case len(out) == most:
			out[last] = clip(out[last]+" "+word, n)
			return out
		default:
			out = append(out, word)
		}
	}
	for i := range out {
		out[i] = clip(out[i], n)
	}
	return out
}
