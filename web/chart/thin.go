package chart

import (
	"slices"
	"strconv"

	"leakdiff/analysis"
)

// A drawing has about as many columns as it has room for. Of a longer series those stay
// that show its course. More columns would put many points on one pixel and make pages
// of megabytes.
const (
	mostColumns      = 240
	mostStackColumns = 48
	mostSmallColumns = 64
	mostRates        = 32
	// In longer ones the line has no dots.
	mostDots      = 120
	mostSmallDots = 48
	// mostSteps is how many restarts keep their own column.
	mostSteps = 24
)

// thinning is the columns of a chart that are drawn, or nil for all.
type thinning struct {
	kept []int
	// place maps each column to the drawn one that represents it, the next after it.
	place []int
}

// thin chooses about most of n columns: the ends, those of must, and the highest of
// each of the values. It divides the others into equal stretches and takes the column
// of each that differs most from its stretch.
func thin(n, most int, must []int, values ...analysis.Counts) *thinning {
	if n <= most {
		return nil
	}
	keep := make([]bool, n)
	keep[0], keep[n-1] = true, true
	for _, v := range values {
		must = append(must, v.HighestAt())
	}
	for _, i := range must {
		if i >= 0 && i < n {
			keep[i] = true
		}
	}
	for k := range most {
		from, to := k*n/most, (k+1)*n/most
		keep[strangest(from, to, values)] = true
	}
	t := &thinning{place: make([]int, n)}
	for i, k := range keep {
		t.place[i] = len(t.kept)
		if k {
			t.kept = append(t.kept, i)
		}
	}
	return t
}

// strangest is the column between from and to whose values differ most from the mean of
// its stretch.
func strangest(from, to int, values []analysis.Counts) int {
	out, best := from, -1.0
	means := make([]float64, len(values))
	for k, v := range values {
		sum, n := 0.0, 0
		for i := from; i < min(to, len(v)); i++ {
			if v[i].Known() {
				sum, n = sum+float64(v[i].N), n+1
			}
		}
		means[k] = sum / float64(max(n, 1))
	}
	for i := from; i < to; i++ {
		far := 0.0
		for k, v := range values {
			if i < len(v) && v[i].Known() {
				far += abs(float64(v[i].N) - means[k])
			}
		}
		if far > best {
			out, best = i, far
		}
	}
	return out
}

func abs(v float64) float64 { return max(v, -v) }

// drawn are the entries of the drawn columns.
func drawn[T any](t *thinning, all []T) []T {
	if t == nil || all == nil {
		return all
	}
	out := make([]T, 0, len(t.kept))
	for _, i := range t.kept {
		if i < len(all) {
			out = append(out, all[i])
		}
	}
	return out
}

// column is the place of a column among those that are drawn.
func (t *thinning) column(i int) int {
	if t == nil || i < 0 || i >= len(t.place) {
		return i
	}
	return t.place[i]
}

func (t *thinning) columns(all []int) []int {
	if t == nil {
		return all
	}
	var out []int
	for _, i := range all {
		if at := t.column(i); len(out) == 0 || out[len(out)-1] != at {
			out = append(out, at)
		}
	}
	return out
}

func (t *thinning) span(s *Span) *Span {
	if t == nil || s == nil {
		return s
	}
	return &Span{t.column(s.From), t.column(s.To)}
}

// events moves events to the drawn column before them and computes their share of the
// way to the next drawn column.
func (t *thinning) events(all []Event) []Event {
	if t == nil {
		return all
	}
	out := slices.Clone(all)
	for i, e := range out {
		if e.At < 0 || e.At >= len(t.place) {
			continue
		}
		at := t.place[e.At]
		if t.kept[at] != e.At {
			at-- // the column itself is not drawn
		}
		out[i].At = at
		if at+1 < len(t.kept) {
			out[i].Part = (float64(e.At-t.kept[at]) + e.Part) / float64(t.kept[at+1]-t.kept[at])
		}
	}
	return out
}

// dotted reports whether the value of a column has a dot. In a drawing of up to most
// columns each value has one. In a longer one only the ends, the highest, restarts and
// values that no line shows have one.
func dotted(values analysis.Counts, epochs []int, i, most int) bool {
	if !values[i].Known() {
		return false
	}
	alone := (i == 0 || !values[i-1].Known()) && (i+1 == len(values) || !values[i+1].Known())
	return len(values) <= most || alone || i == 0 || i+1 == len(values) || i == values.HighestAt() || slices.Contains(epochs, i)
}

// partly writes "8 of 40 snapshots" after the given words, or nothing if all are shown.
func partly(before string, shown, all int) string {
	if shown >= all {
		return ""
	}
	return before + strconv.Itoa(shown) + " of " + strconv.Itoa(all) + " snapshots"
}

// steps are the restarts that keep their column, with the column before each.
func steps(epochs []int) []int {
	var out []int
	for _, at := range epochs[:min(len(epochs), mostSteps)] {
		out = append(out, at-1, at)
	}
	return out
}

func (s *Span) ends() []int {
	if s == nil {
		return nil
	}
	return []int{s.From, s.To}
}

// thinned returns the chart with the columns that it has room for.
func (t TimelineData) thinned() TimelineData {
	must := []int{t.A, t.B}
	var values []analysis.Counts
	for _, l := range t.Lanes {
		values = append(values, l.Values)
		must = slices.Concat(must, steps(l.Epochs), l.Onset.ends(), []int{l.RecoveredAt})
	}
	kept := thin(len(t.Labels), mostColumns, must, values...)
	if kept == nil {
		return t
	}
	t.Labels, t.Times, t.A, t.B = drawn(kept, t.Labels), drawn(kept, t.Times), kept.column(t.A), kept.column(t.B)
	t.Lanes = slices.Clone(t.Lanes)
	for i := range t.Lanes {
		t.Lanes[i] = t.Lanes[i].thinned(kept)
	}
	return t
}

func (l Lane) thinned(kept *thinning) Lane {
	l.Values, l.Lower, l.Epochs = drawn(kept, l.Values), drawn(kept, l.Lower), kept.columns(l.Epochs)
	l.RecoveredAt, l.Onset, l.Events = kept.column(l.RecoveredAt), kept.span(l.Onset), kept.events(l.Events)
	return l
}

func (s SmallData) thinned() SmallData {
	must := slices.Concat(steps(s.Epochs), s.Onset.ends(), []int{s.RecoveredAt})
	kept := thin(len(s.Labels), mostSmallColumns, must, s.Values)
	if kept == nil {
		return s
	}
	s.Labels, s.Times, s.Values, s.Lower = drawn(kept, s.Labels), drawn(kept, s.Times), drawn(kept, s.Values), drawn(kept, s.Lower)
	s.Epochs, s.RecoveredAt, s.Onset, s.Events = kept.columns(s.Epochs), kept.column(s.RecoveredAt), kept.span(s.Onset), kept.events(s.Events)
	return s
}

// thinned keeps what the line shows. The title describes the whole series.
func (s SparkData) thinned() SparkData {
	kept := thin(len(s.Values), 2*mostSmallColumns, append(steps(s.Epochs), s.A, s.B), s.Values)
	if kept == nil {
		return s
	}
	s.Values, s.Lower, s.Epochs = drawn(kept, s.Values), drawn(kept, s.Lower), kept.columns(s.Epochs)
	s.A, s.B = kept.column(s.A), kept.column(s.B)
	return s
}

func (m MembersData) thinned() MembersData {
	must := slices.Concat(steps(m.Epochs), m.Onset.ends(), []int{m.RecoveredAt, m.A, m.B})
	kept := thin(len(m.Labels), mostColumns, must, m.Values)
	if kept == nil {
		return m
	}
	m.Labels, m.Times, m.Values, m.Lower = drawn(kept, m.Labels), drawn(kept, m.Times), drawn(kept, m.Values), drawn(kept, m.Lower)
	m.Epochs, m.RecoveredAt, m.Onset, m.Events = kept.columns(m.Epochs), kept.column(m.RecoveredAt), kept.span(m.Onset), kept.events(m.Events)
	m.A, m.B = kept.column(m.A), kept.column(m.B)
	return m
}

func (s StackData) thinned() StackData {
	values := []analysis.Counts{s.Totals}
	for _, l := range s.Layers {
		values = append(values, l.Values)
	}
	kept := thin(len(s.Labels), mostStackColumns, steps(s.Epochs), values...)
	if kept == nil {
		return s
	}
	s.Labels, s.Times, s.Totals, s.Lower = drawn(kept, s.Labels), drawn(kept, s.Times), drawn(kept, s.Totals), drawn(kept, s.Lower)
	s.Epochs, s.Layers = kept.columns(s.Epochs), slices.Clone(s.Layers)
	for i := range s.Layers {
		s.Layers[i].Values = drawn(kept, s.Layers[i].Values)
	}
	return s
}

// thinned joins neighbouring intervals until there are few enough. The steps of axis
// and labels stay.
func (r RatesData) thinned() RatesData {
	if len(r.Bars) <= mostRates {
		return r
	}
	each := (len(r.Bars) + mostRates - 1) / mostRates
	var out []Rate
	joined := 0
	for _, b := range r.Bars {
		if n := len(out); n > 0 && joined < each && out[n-1].To == b.From {
			out[n-1], joined = r.join(out[n-1], b, joined), joined+1
			continue
		}
		out, joined = append(out, b), 1
	}
	r.Bars = out
	return r
}

// join makes one interval of two that follow each other. The first already joins n
// intervals.
func (r RatesData) join(a, b Rate, n int) Rate {
	out := Rate{From: a.From, To: b.To, Born: a.Born + b.Born}
	long := func(x Rate) float64 {
		if x.To < len(r.Times) && r.Times[x.To].After(r.Times[x.From]) {
			return r.Times[x.To].Sub(r.Times[x.From]).Hours()
		}
		return 0
	}
	if la, lb := long(a), long(b); la > 0 && lb > 0 {
		out.Each = (a.Each*la + b.Each*lb) / (la + lb)
		return out
	}
	out.Each = (a.Each*float64(n) + b.Each) / float64(n+1)
	return out
}

// thinned keeps the columns at which a shown life begins or ends.
func (l LifelinesData) thinned(lives []Life) (LifelinesData, []Life) {
	must := []int{l.RecoveredAt}
	for _, life := range lives {
		must = append(must, life.First, life.Last)
	}
	kept := thin(len(l.Labels), mostSmallColumns, must, l.Values)
	if kept == nil {
		return l, lives
	}
	lives = slices.Clone(lives)
	for i := range lives {
		lives[i].First, lives[i].Last = kept.column(lives[i].First), kept.column(lives[i].Last)
	}
	l.At, l.Labels, l.Values, l.RecoveredAt = drawn(kept, l.At), drawn(kept, l.Labels), drawn(kept, l.Values), kept.column(l.RecoveredAt)
	return l, lives
}

// thinned joins neighbouring bars until there are few enough: "t3 to t9".
func (b BarsData) thinned() BarsData {
	if len(b.Bars) <= 2*mostSmallColumns {
		return b
	}
	each := (len(b.Bars) + mostSmallColumns - 1) / mostSmallColumns
	var out []Bar
	for group := range slices.Chunk(b.Bars, each) {
		joined := Bar{Label: group[0].Label}
		if len(group) > 1 {
			joined.Label += " to " + group[len(group)-1].Label
		}
		for _, bar := range group {
			joined.Count += bar.Count
		}
		out = append(out, joined)
	}
	b.Bars = out
	return b
}

// Fewer returns the columns of a table of figures, about as many as a drawing has, or
// nil if all have room.
func Fewer(columns int, must ...int) []int {
	if kept := thin(columns, mostSmallColumns, must); kept != nil {
		return kept.kept
	}
	return nil
}
