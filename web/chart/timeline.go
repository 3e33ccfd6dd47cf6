package chart

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/say/wording"
)

// Lane is one series of a timeline. It has a count for every column, nil without
// evidence.
type Lane struct {
	Name, Unit string
	Values     analysis.Counts
	// Epochs are the columns at which a restart begins a new epoch.
	Epochs []int
	// RecoveredAt is the column at which the cause went away, or -1.
	RecoveredAt int
	// Onset are the columns between which the growth began, nil if unknown.
	Onset *Span
	// Events are other events of the program: a new version, a deploy.
	Events []Event
	// Limit bounds what the lane counts. 0 means no limit.
	Limit int
	// Lower reports for each value whether it is a lower bound. Such a point stands off
	// the line and proves neither a rise nor a fall.
	Lower []bool
}

// Span is the room between two columns.
type Span struct{ From, To int }

// Event is something that happened between the columns At and At+1. Part is its share
// of the way, 0 for the column itself.
type Event struct {
	At   int
	Part float64
	Text string
}

// When describes the position of an event among the snapshots: "at t5", "between t4 and
// t5", "after t9".
func (e Event) When(labels []string) string {
	if e.At < 0 || e.At >= len(labels) {
		return ""
	}
	last := e.At+1 >= len(labels)
	switch {
	case e.Part <= 0:
		return "at " + labels[e.At]
	case last:
		return "after " + labels[e.At]
	case e.Part >= 1:
		return "at " + labels[e.At+1]
	}
	return "between " + labels[e.At] + " and " + labels[e.At+1]
}

// limitRoom is the most that a chart may grow for the line of a limit, as a multiple of
// its highest value. The page states a limit that is further away in words.
const limitRoom = 3

// near reports whether the limit of values up to top is drawn.
func near(limit, top int) bool { return limit > 0 && top > 0 && limit <= limitRoom*top }

// ceiling is the top of a scale for values up to top with a limit.
func ceiling(limit, top int) int {
	if near(limit, top) {
		return max(limit, top)
	}
	return top
}

// TimelineData is the data of a timeline. ID is unique in the page.
type TimelineData struct {
	ID, Title string
	Labels    []string
	// Times are those of the columns, zero if only the order is known.
	Times []time.Time
	// Taken are as of SmallData.
	Taken []time.Time `json:",omitempty"`
	Lanes []Lane
	// A and B are columns, or -1.
	A, B int
	// TableBelow reports that the page shows every figure itself.
	TableBelow bool
}

// timelineFrame is the geometry of one timeline at one width.
type timelineFrame struct {
	t                  TimelineData
	d                  *drawing
	a                  axis
	narrow             bool
	left, right        float64
	top, laneH, bottom float64
	// head is the room above each lane for its rows of words: the onset, and the events
	// below it.
	head      float64
	eventRows int
	max       int
}

const (
	laneGap  = 26.0
	labelGap = 9.0
	wordRow  = 16.0
)

func (t TimelineData) draw(width float64) drawing {
	all := len(t.Labels)
	t = t.thinned()
	narrow := width < 600
	f := timelineFrame{t: t, narrow: narrow, left: 120, right: width - 34, top: 36, laneH: 128}
	if narrow {
		f.left, f.right, f.top, f.laneH = 8, width-4, 52, 112
	}
	for _, lane := range t.Lanes {
		top := lane.Values.Highest()
		f.max = max(f.max, ceiling(lane.Limit, top))
	}
	f.max = max(f.max, 1)
	f.rows()
	d := drawing{id: fmt.Sprintf("%s-%g", t.ID, width), title: t.Title, desc: t.describe() + partly(" Of a long series: ", len(t.Labels), all), class: "timeline", w: width, h: f.bottom + 26}
	f.d = &d
	f.scale()
	d.at(t.Labels, f.a.x)
	for i, lane := range t.Lanes {
		f.shade(i, lane)
	}
	f.gaps()
	for i := range t.Lanes {
		f.lane(i)
	}
	f.labels()
	f.picks()
	return d
}

// rows makes room for the words above the lanes. Each sort has a row of its own,
// because words in one row would overlap.
func (f *timelineFrame) rows() {
	began := 0
	for _, lane := range f.t.Lanes {
		if len(lane.Events) > 0 || len(lane.Epochs) > 0 {
			f.eventRows = 1
		}
		if lane.Onset.inside(len(f.t.Labels)) && !f.narrow {
			began = 1
		}
	}
	f.head = wordRow * float64(f.eventRows+began)
	f.bottom = f.top + float64(len(f.t.Lanes))*(f.head+f.laneH+laneGap)
}

// roof is the upper edge of lane i. Its words stand above.
func (f *timelineFrame) roof(i int) float64 { return f.y(i, 0) - f.laneH }

// width is the room for a text. Print has larger letters.
func (f *timelineFrame) width(s string) float64 {
	if f.narrow {
		return textWidth(s)
	}
	return 1.4 * textWidth(s)
}

// scale places the columns and leaves room for a figure at both ends.
func (f *timelineFrame) scale() {
	before, after := 14.0, 20.0
	for _, lane := range f.t.Lanes {
		first, last := lane.Values.FirstAt(), lane.Values.LastAt()
		if first == 0 {
			before = max(before, f.width(lane.figure(first))+10-f.margin())
		}
		if last >= 0 && last == len(f.t.Labels)-1 {
			after = max(after, f.width(lane.figure(last))+10-(f.d.w-f.right))
		}
	}
	f.a = newAxis(len(f.t.Labels), f.t.Times, f.t.Taken, f.left+before, f.right-after)
}

// figure writes value i as its label.
func (l Lane) figure(i int) string { return atLeast(l.Values[i].N, isLower(l.Lower, i)) }

// margin is the room to the left of the drawing that figures may use. On wide pages it
// holds the ticks.
func (f *timelineFrame) margin() float64 {
	if f.narrow {
		return f.left
	}
	return 0
}

func (t TimelineData) describe() string {
	parts := make([]string, 0, len(t.Lanes))
	for _, lane := range t.Lanes {
		parts = append(parts, lane.Name+", "+lane.Unit+": "+say(t.Labels, lane.Values, lane.Lower)+told(t.Labels, lane.Onset, lane.Epochs, lane.Events))
	}
	return strings.Join(parts, ". ") + "."
}

// told describes what a drawing shows beside its counts: "; growth began between t1 and
// t2; restart before t6; version 1.2 to 1.3 at t3".
func told(labels []string, onset *Span, epochs []int, events []Event) string {
	var b strings.Builder
	if onset.inside(len(labels)) {
		fmt.Fprintf(&b, "; growth began between %s and %s", labels[onset.From], labels[onset.To])
	}
	for _, at := range epochs {
		if at > 0 && at < len(labels) {
			b.WriteString("; restart before " + labels[at])
		}
	}
	for _, e := range events {
		if when := e.When(labels); when != "" {
			b.WriteString("; " + e.Text + " " + when)
		}
	}
	return b.String()
}

// inside reports whether both columns of a span exist.
func (s *Span) inside(columns int) bool {
	return s != nil && s.From >= 0 && s.To > s.From && s.To < columns
}

// gaps hatches the intervals without evidence and writes how long they last.
func (f *timelineFrame) gaps() {
	var room spread
	if !f.narrow {
		for _, at := range []int{f.t.A, f.t.B} {
			if at >= 0 && at < len(f.a.x) {
				room.free(f.a.x[at]-12, f.a.x[at]+12)
			}
		}
	}
	for _, g := range Gaps(f.t.Times, f.t.Taken) {
		x0, x1 := f.a.x[g.At-1], f.a.x[g.At]
		inset := min((x1-x0)*.1, 60)
		f.d.hatchedRect(x0+inset, f.top-8, x1-x0-2*inset, f.bottom-f.top-4)
		words := wording.PageDuration(g.Duration) + " without a snapshot"
		if f.narrow {
			words = "no snapshot for " + wording.PageDuration(g.Duration)
		}
		if f.a.cut {
			words += ", not to scale"
		}
		y := f.top - 14
		if f.narrow {
			y = 14
		}
		for _, s := range []string{words, wording.PageDuration(g.Duration)} {
			half := f.width(s)/2 + 4
			mid := min(max((x0+x1)/2, f.left+half-14), f.right-half)
			if half*2 < f.right-f.left && room.free(mid-half, mid+half) {
				f.d.label("gaptext", "middle", mid, y, s)
				break
			}
		}
	}
}

// y returns the height of a count in lane i.
func (f *timelineFrame) y(i, count int) float64 {
	zero := f.top + float64(i)*(f.head+f.laneH+laneGap) + f.head + f.laneH
	return zero - (f.laneH-18)*float64(count)/float64(f.max)
}

func (f *timelineFrame) lane(i int) {
	lane := f.t.Lanes[i]
	lane.Values = lane.Values[:min(len(lane.Values), len(f.a.x))]
	zero := f.y(i, 0)
	if at := lane.RecoveredAt; at >= 0 && at < len(f.a.x) {
		half := 14.0
		f.d.recovery(f.a.x[at]-half, zero-f.laneH, min(2*half, f.right-f.a.x[at]+half), f.laneH)
	}
	f.onset(i, lane)
	f.d.line("c-axis", f.left, zero, f.right, zero)
	for _, v := range ticks(f.max, 4) {
		f.d.line("c-grid", f.left, f.y(i, v), f.right, f.y(i, v))
		if !f.narrow {
			f.d.label("", "end", f.left-8, f.y(i, v)+4, figure(v))
		}
	}
	switch {
	case lane.Name == "": // a chart of one lane, named by its heading
	case f.narrow:
		f.d.label("k", "start", f.nameX(lane.Name), zero-f.laneH+8, clip(lane.Name, nameLength))
		f.d.explain(lane.Name)
	default:
		f.d.label("k", "start", 0, f.roof(i)+4, clip(lane.Name, sideLength))
		f.d.explain(lane.Name)
		f.d.label("", "start", 0, f.unitY(i, lane.Unit), lane.Unit)
	}
	f.limit(i, lane)
	f.lineOf(i, lane)
	f.happened(i, lane)
	f.points(i, lane)
}

// sideLength bounds the name of a lane that stands beside the plot.
const sideLength = 13

// tickBoxes are the boxes of the figures on the axis of lane i.
func (f *timelineFrame) tickBoxes(i int) []box {
	if f.narrow {
		return nil
	}
	var out []box
	for _, v := range ticks(f.max, 4) {
		y := f.y(i, v) + 4
		out = append(out, box{f.left - 8 - f.width(figure(v)), y - 11, f.left - 8, y + 3})
	}
	return out
}

// unitY is the baseline of the unit below the name. There it meets no figure of the
// axis.
func (f *timelineFrame) unitY(i int, unit string) float64 {
	wide := f.width(unit) + 4
	for y := f.roof(i) + 20; y < f.y(i, 0); y += 4 {
		met := false
		for _, t := range f.tickBoxes(i) {
			met = met || t.x0 < wide && y-11 < t.y1 && y+3 > t.y0
		}
		if !met {
			return y
		}
	}
	return f.y(i, 0) + 14
}

// shade marks the span in which the growth began. It lies below gaps and lines.
func (f *timelineFrame) shade(i int, lane Lane) {
	if lane.Onset.inside(len(f.a.x)) {
		x0, x1 := f.a.x[lane.Onset.From], f.a.x[lane.Onset.To]
		f.d.onset(x0, f.roof(i), x1-x0, f.laneH)
	}
}

// onset labels the shade if the words fit. On narrow pages the name of the lane stands
// there.
func (f *timelineFrame) onset(i int, lane Lane) {
	if !lane.Onset.inside(len(f.a.x)) {
		return
	}
	x0, x1 := f.a.x[lane.Onset.From], f.a.x[lane.Onset.To]
	if f.narrow {
		return
	}
	half := f.width(onsetWords)/2 + 4
	mid := min(max((x0+x1)/2, f.left+half), f.right-half)
	if y := f.roof(i) - 4 - wordRow*float64(f.eventRows); x0 < mid+half && mid-half < x1 && f.clear(mid-half, mid+half) {
		f.d.label("up", "middle", mid, y, onsetWords)
	}
}

const onsetWords = "growth began here"

// limit draws the bound of what the lane counts, with its figure.
func (f *timelineFrame) limit(i int, lane Lane) {
	top := lane.Values.Highest()
	if !near(lane.Limit, top) {
		return
	}
	y := f.y(i, lane.Limit)
	f.d.line("c-limit", f.left, y, f.right, y)
	f.d.label("limit", "middle", (f.left+f.right)/2, y+13, "limit "+figure(lane.Limit))
}

// clear reports whether a text above a lane meets neither vertical of A and B.
func (f *timelineFrame) clear(from, to float64) bool {
	for _, at := range []int{f.t.A, f.t.B} {
		if at >= 0 && at < len(f.a.x) && f.a.x[at] > from && f.a.x[at] < to {
			return false
		}
	}
	return true
}

// happened marks each restart and event with a line, and with a word if the row above
// the lane has room. The whole text is shown when the reader points at the line.
func (f *timelineFrame) happened(i int, lane Lane) {
	var room spread
	for _, at := range lane.Epochs {
		if at <= 0 || at >= len(f.a.x) {
			continue
		}
		x := (f.a.x[at-1] + f.a.x[at]) / 2
		f.d.line("c-epoch", x, f.roof(i)+2, x, f.y(i, 0))
		f.d.explain("restart before " + f.t.Labels[at])
		f.say(i, &room, x, "restart")
	}
	for _, e := range lane.Events {
		x, ok := f.a.between(e)
		if !ok {
			continue
		}
		f.d.line("c-event", x, f.roof(i)+2, x, f.y(i, 0))
		f.d.explain(e.Text + " " + e.When(f.t.Labels))
		f.say(i, &room, x, clip(e.Text, 28), clip(e.Text, 12))
	}
}

// say writes the first of the words that fits into the row above lane i: over x, or to
// its right or left.
func (f *timelineFrame) say(i int, room *spread, x float64, words ...string) {
	for _, s := range words {
		wide := f.width(s) + 4
		if wide > f.right-f.left {
			continue
		}
		mid := min(max(x, f.left+wide/2), f.right-wide/2)
		for _, place := range []struct {
			anchor   string
			x        float64
			from, to float64
		}{{"middle", mid, mid - wide/2, mid + wide/2}, {"start", x + 4, x + 1, x + 4 + wide}, {"end", x - 4, x - 4 - wide, x - 1}} {
			if place.from >= f.left && place.to <= f.right && f.clear(place.from, place.to) && room.free(place.from, place.to) {
				f.d.label("s", place.anchor, place.x, f.roof(i)-4, s)
				return
			}
		}
	}
}

// between is the position of an event among the columns.
func (a axis) between(e Event) (float64, bool) {
	if e.At < 0 || e.At >= len(a.x) {
		return 0, false
	}
	x := a.x[e.At]
	if e.At+1 < len(a.x) {
		x += (a.x[e.At+1] - x) * min(max(e.Part, 0), 1)
	}
	return x, true
}

// lineOf draws the line of the counts. It is solid between neighbours, and dotted over
// a gap and over columns without evidence or with a lower bound only. A restart
// interrupts it.
func (f *timelineFrame) lineOf(i int, lane Lane) {
	lane.Values = whole(lane.Values, lane.Lower)
	first := lane.Values.FirstAt()
	if first < 0 && slices.Contains(lane.Lower, true) {
		return
	}
	if first < 0 {
		f.d.label("", "start", f.left+14, f.y(i, 0)-8, "no "+lane.Unit+" captured")
		return
	}
	f.d.line("c-base", f.left, f.y(i, lane.Values[first].N), f.right, f.y(i, lane.Values[first].N))
	loose := map[int]bool{}
	for _, g := range Gaps(f.t.Times, f.t.Taken) {
		loose[g.At] = true
	}
	restart := map[int]bool{}
	for _, e := range lane.Epochs {
		restart[e] = true
	}
	class := "c-line " + lineClass(lane.Values)
	run := []point{{f.a.x[first], f.y(i, lane.Values[first].N)}}
	last := first
	for at := first + 1; at < len(lane.Values); at++ {
		if restart[at] {
			f.stroke(class, run)
			run, last = nil, -1
		}
		v := lane.Values[at]
		if !v.Known() {
			continue
		}
		p := point{f.a.x[at], f.y(i, v.N)}
		if last >= 0 && (at-last > 1 || loose[at]) {
			f.stroke(class, run)
			f.d.dashedPath(class, []point{run[len(run)-1], p})
			run = nil
		}
		run, last = append(run, p), at
	}
	f.stroke(class, run)
}

func (f *timelineFrame) stroke(class string, run []point) {
	if len(run) > 1 {
		f.d.path(class, run)
	}
}

// points draws the dots and as many labels as fit: A, B, peak, last and first before
// the others. A label must not meet the line or the verticals of A and B. Only the
// first five may, if there is no free position.
func (f *timelineFrame) points(i int, lane Lane) {
	complete := whole(lane.Values, lane.Lower)
	class := lineClass(complete)
	for at, v := range lane.Values {
		if !v.Known() || at >= len(f.a.x) {
			continue
		}
		x, y := f.a.x[at], f.y(i, v.N)
		switch {
		case isLower(lane.Lower, at):
			f.d.triangle("c-dot "+class, x, y, 4.5)
			f.d.explain(f.t.Labels[at] + ": " + lane.figure(at) + ", the dump is cut")
		case at == f.t.A:
			f.d.circle("c-abd", x, y, 4)
		case at == f.t.B:
			f.d.circle("c-abd b", x, y, 4)
		case dotted(lane.Values, lane.Epochs, at, mostDots):
			f.d.circle("c-dot full "+class, x, y, 2.75)
		}
	}
	line, taken := f.strokes(i, complete), slices.Concat(f.nameBoxes(i, lane), f.wordBoxes(i), f.tickBoxes(i))
	needed := f.needed(complete)
	for k, at := range f.important(complete, lane.Values) {
		s := lane.figure(at)
		place, hits := f.place(point{f.a.x[at], f.y(i, lane.Values[at].N)}, f.width(s)/2, f.y(i, 0), line, taken)
		if hits > 0 && k >= needed || hits >= blocked {
			continue
		}
		taken = append(taken, place)
		kind := "s"
		switch {
		case at == f.t.A || at == f.t.B:
			kind = "k"
		case at == lane.RecoveredAt:
			kind = "rec"
		}
		f.d.label(kind, "middle", (place.x0+place.x1)/2, place.y1-1, s)
	}
}

// strokes are the segments of the line of lane i, from left to right.
func (f *timelineFrame) strokes(i int, values analysis.Counts) []segment {
	var out []segment
	last := -1
	for at, v := range values {
		if !v.Known() {
			continue
		}
		if last >= 0 {
			out = append(out, segment{point{f.a.x[last], f.y(i, values[last].N)}, point{f.a.x[at], f.y(i, v.N)}})
		}
		last = at
	}
	return out
}

// strokesIn counts the strokes of the line, and the verticals of A and B, that meet a
// label. It skips strokes that are not near: a line may have thousands.
func (f *timelineFrame) strokesIn(b box, line []segment) (n int) {
	first, _ := slices.BinarySearchFunc(line, b.x0, func(s segment, x float64) int { return cmp.Compare(s.to.x, x) })
	for _, s := range line[first:] {
		if s.from.x > b.x1 {
			break
		}
		if s.meets(b) {
			n++
		}
	}
	for _, at := range []int{f.t.A, f.t.B} {
		if at >= 0 && at < len(f.a.x) && (segment{point{f.a.x[at], 0}, point{f.a.x[at], f.bottom}}).meets(b) {
			n++
		}
	}
	return n
}

func (t TimelineData) table() Table {
	all := len(t.Labels)
	t = t.thinned()
	out := Table{Caption: t.Title + partly(", ", len(t.Labels), all), Head: append([]string{"Series"}, t.Labels...)}
	for _, lane := range t.Lanes {
		row := []string{lane.Name + ", " + lane.Unit}
		for i, v := range lane.Values {
			row = append(row, cell(v, isLower(lane.Lower, i)))
		}
		out.Rows = append(out.Rows, row)
	}
	return out
}
