package simulation

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// member is one goroutine, thread, descriptor or watch. Times are hours since the begin
// of the captured window; what is older has a negative birth.
type member struct {
	stack      *stack
	born, ends float64
	// subject members are those that the class is about.
	subject bool
	// turns are the stacks between which it moves, nil if it stays in one.
	turns []*stack
	// wakes reports that it works now and then, so that its wait says nothing.
	wakes  bool
	epoch  int
	id     int64
	object uint64
}

// world is one program over the time in which it is captured.
type world struct {
	r     *rand.Rand
	span  float64
	times []float64
	// starts are those of the process, the first before the window.
	starts  []float64
	members []member
	// load is a demand from outside by metric name; counters are summed over time.
	loads    map[string]func(float64) float64
	counters map[string]bool
	versions []string
	marks    []string
	apart    [2][]string
	// ended are marks of families that leaked and ended: neither subject nor innocent.
	ended   []string
	used    map[string]bool
	module  string
	program string
	objects uint64
	// descriptors are the numbers of members in listings.
	descriptors map[*member]int
}

func newWorld(r *rand.Rand, g regime, n int) *world {
	w := &world{r: r, span: g.low * math.Pow(g.high/g.low, r.Float64()), used: map[string]bool{},
		loads: map[string]func(float64) float64{}, counters: map[string]bool{}, objects: 0xc000400000}
	w.program = pick(r, programs)
	w.module = "github.com/" + pick(r, owners) + "/" + w.program
	w.starts = []float64{-w.span * 0.1 * math.Pow(30, r.Float64())}
	w.times = moments(r, n, w.span)
	return w
}

// moments are n times: half of the series are taken at an even pace with some delay, the
// others when somebody looked.
func moments(r *rand.Rand, n int, span float64) []float64 {
	times := make([]float64, n)
	if n == 1 {
		return times
	}
	if even := r.IntN(2) == 0; even {
		step := span / float64(n-1)
		for i := range times {
			times[i] = float64(i)*step + 0.1*step*r.Float64()
		}
		return times
	}
	times[0], times[n-1] = 0.1*r.Float64()*span, (0.9+0.1*r.Float64())*span
	for i := 1; i < n-1; i++ {
		times[i] = times[0] + r.Float64()*(times[n-1]-times[0])
	}
	slices.Sort(times)
	// No two within the time that a capture takes, and all within the window, after which nothing
	// is born.
	gap := min(0.004, 0.1/float64(n)) * span
	for i := 1; i < n; i++ {
		times[i] = max(times[i], times[i-1]+gap)
	}
	return times
}

func (w *world) between(low, high float64) float64 { return low + (high-low)*w.r.Float64() }

// about is log-uniform: small and large sizes are equally likely.
func (w *world) about(low, high float64) float64 {
	return low * math.Pow(high/low, w.r.Float64())
}

func (w *world) whole(low, high int) int { return low + w.r.IntN(high-low+1) }

// never is the end of what stays.
var never = math.Inf(1)

// add makes a member of the subject.
func (w *world) add(s *stack, born, ends float64) *member {
	w.objects += 0x1c0
	w.members = append(w.members, member{stack: s, born: born, ends: ends, subject: true, object: w.objects})
	return &w.members[len(w.members)-1]
}

// evenly adds members that are born evenly between two times and stay.
func (w *world) evenly(s *stack, size int, from, to float64) {
	for range size {
		w.add(s, w.between(from, to), never)
	}
}

// standing adds members that have been there since the process started.
func (w *world) standing(s *stack, size int) {
	for range size {
		w.add(s, w.starts[0]+1e-6*w.span, never)
	}
}

// churn adds members that come and go: level are there at a time in the mean, each lives
// for an exponential time. What ends between two captures is not simulated where it
// would be too much.
func (w *world) churn(s *stack, level func(float64) float64, life float64) {
	top := 0.0
	for k := range 101 {
		top = max(top, level(float64(k)/100*w.span))
	}
	if total := top * w.span / life; total < 4000 {
		for range poisson(w.r, top) {
			if w.r.Float64()*top < level(0) {
				w.add(s, max(w.starts[0], -life*w.r.ExpFloat64()), life*w.r.ExpFloat64())
			}
		}
		for range poisson(w.r, total) {
			if born := w.r.Float64() * w.span; w.r.Float64()*top < level(born) {
				w.add(s, born, born+life*w.r.ExpFloat64())
			}
		}
		return
	}
	before := w.starts[0]
	for _, at := range w.times {
		seen := 1 - math.Exp(-(at-before)/life)
		for range poisson(w.r, level(at)*seen) {
			age := -life * math.Log(1-w.r.Float64()*seen)
			w.add(s, at-age, at+life*w.r.ExpFloat64())
		}
		before = at
	}
}

func flat(level float64) func(float64) float64 { return func(float64) float64 { return level } }

// restart starts the process anew.
func (w *world) restart(at float64) { w.starts = append(w.starts, at) }

// subjects counts the members of the subject at a time.
func (w *world) subjects(at float64) int {
	n := 0
	for k := range w.members {
		if m := &w.members[k]; m.subject && m.there(at) {
			n++
		}
	}
	return n
}

// stackAt is where a member is found at a time.
func (m *member) stackAt(at float64) *stack {
	if m.turns == nil {
		return m.stack
	}
	return m.turns[hash(fmt.Sprint(m.id, at))%uint64(len(m.turns))]
}

func (m *member) there(at float64) bool { return m.born <= at && at < m.ends }

// settle ends members with their process and numbers all in the order of birth, with
// gaps for those that nobody saw.
func (w *world) settle() {
	slices.Sort(w.starts)
	for k := range w.members {
		m := &w.members[k]
		for epoch, start := range w.starts {
			if start <= m.born {
				m.epoch = epoch
			} else {
				m.ends = min(m.ends, start)
				break
			}
		}
	}
	slices.SortStableFunc(w.members, func(a, b member) int {
		return cmp.Or(cmp.Compare(a.epoch, b.epoch), cmp.Compare(a.born, b.born))
	})
	id, epoch, before := int64(20), 0, w.starts[0]
	for k := range w.members {
		m := &w.members[k]
		if m.epoch != epoch {
			id, epoch, before = 20, m.epoch, w.starts[m.epoch]
		}
		id += 1 + int64(max(0, m.born-before)/w.span*3000)
		m.id, before = id, m.born
	}
}

// startOf is the start of the process at a time, and its number.
func (w *world) startOf(at float64) (start float64, epoch int) {
	for k, s := range w.starts {
		if s <= at {
			start, epoch = s, k
		}
	}
	return start, epoch
}

func poisson(r *rand.Rand, mean float64) int {
	if mean > 50 {
		return max(0, int(math.Round(mean+math.Sqrt(mean)*r.NormFloat64())))
	}
	limit, product, n := math.Exp(-mean), r.Float64(), 0
	for product > limit {
		product *= r.Float64()
		n++
	}
	return n
}
