package trend

import (
	"maps"
	"math"
	"slices"

	"leakdiff/analysis"
	"leakdiff/analysis/demand"
)

// load is one demand over the series, NaN at snapshots without it.
type load struct {
	name   string
	values []float64
	// asked is set where the load is the rate of a counter.
	asked *asked
}

// names are the name of the load, and what it counts if it is the rate of a counter.
func (l *load) names() []string {
	if l.asked == nil {
		return []string{l.name}
	}
	return []string{l.name, l.asked.unit}
}

// Load is one demand from outside over the snapshots, NaN at snapshots without it.
type Load struct {
	Name   string
	Values []float64
}

// Loads returns the demands that some snapshot has. Those that people entered come
// first.
func (s *Series) Loads() []Load {
	out := make([]Load, len(s.loads))
	for i, l := range s.loads {
		out[i] = Load{l.name, slices.Clone(l.values)}
	}
	return out
}

// Uptimes are the hours that the process had run at each snapshot, NaN if its start is
// unknown.
func (s *Series) Uptimes() []float64 {
	out := unknown(len(s.Snapshots))
	for i, snap := range s.Snapshots {
		if began, ok := s.began(i); ok && snap.CapturedAt.After(began) {
			out[i] = snap.CapturedAt.Sub(began).Hours()
		}
	}
	return out
}

// newFollowable collects the gauges of the program that may be loads. Those that people entered
// are loads.
func (s *Series) newFollowable() []load {
	names := map[string]bool{}
	for _, snap := range s.Snapshots {
		for figure := range snap.Figures {
			name, gauge := demand.GaugeOf(figure)
			if gauge && !slices.ContainsFunc(s.loads, func(l load) bool { return l.name == name }) {
				names[name] = true
			}
		}
	}
	var out []load
	for _, name := range slices.Sorted(maps.Keys(names)) {
		out = append(out, load{name: name, values: s.figures(name)})
	}
	return out
}

// figures are those of a name at each snapshot, NaN where it has none.
func (s *Series) figures(name string) []float64 {
	out := unknown(len(s.Snapshots))
	for i, snap := range s.Snapshots {
		if value, ok := demand.Captured(snap.Figures, name); ok {
			out[i] = value
		}
	}
	return out
}

// newLoads collects the demands that some snapshot has. Those that people entered come
// first.
func (s *Series) newLoads() []load {
	var loads []load
	for _, name := range slices.Sorted(maps.Keys(s.in.Loads)) {
		values := unknown(len(s.Snapshots))
		copy(values, s.in.Loads[name])
		loads = append(loads, load{name: name, values: values})
	}
	for _, name := range slices.Concat(s.in.LoadMetrics, demand.Gauges()) {
		values := s.figures(name)
		given := slices.ContainsFunc(loads, func(l load) bool { return l.name == name })
		if !given && slices.ContainsFunc(values, func(v float64) bool { return !math.IsNaN(v) }) {
			loads = append(loads, load{name: name, values: values})
		}
	}
	return loads
}

func unknown(n int) []float64 {
	values := make([]float64, n)
	for i := range values {
		values[i] = math.NaN()
	}
	return values
}

// loadFit is the relation between a family and a load.
type loadFit struct {
	load *load
	// factor is members per unit of load, if the family scales.
	factor float64
	// first and last are the load at the ends of the part.
	first, last float64
	scales      bool
	// perUnit is evidence SL: the fit of count / load, multiplied by the typical load
	// so that its figures are members.
	perUnit fit
	tested  bool
	// stay reports that members stay, which no rate explains.
	stay bool
}

// measureLoad compares a family with every load that is known at all points of the
// part. It measures whether the family scales with one, and the trend of its counts per
// load.
func (p *part) measureLoad(s *signals, buf *buffers) {
	accused := s.risen >= levelSuspicious || s.cohorts || s.ages.holds
	if !accused && !(s.grew && s.fit.n >= fewestCohortPoints) {
		return // two or three captures are in proportion to too much
	}
	for k := range p.series.loads {
		l := &p.series.loads[k]
		if !p.hasLoad(l) {
			continue
		}
		f := loadFit{load: l}
		points := flatten(p.runs)
		f.first, f.last = l.values[points[0].index], l.values[points[len(points)-1].index]
		if f.factor, f.scales = p.scalesWith(l, 0); !f.scales {
			f.perUnit, f.tested = p.normalised(l, buf)
			if f.tested && math.Abs(f.perUnit.growth) < f.perUnit.gate/2 {
				f.factor, f.scales = p.scalesWith(l, loadNoise) // some come and go beside those that stay
			}
		}
		if f.scales || s.loadFit.load == nil {
			s.loadFit = f
		}
		if f.scales {
			return
		}
	}
	p.measureRates(s, buf)
	if !s.loadFit.scales && accused {
		s.follows = p.follows()
	}
	if !accused && !s.loadFit.scales {
		s.loadFit = loadFit{} // what is not accused needs no load that does not explain it
	}
}

func (p *part) hasLoad(l *load) bool {
	n := 0
	for _, run := range p.runs {
		for _, pt := range run {
			if math.IsNaN(l.values[pt.index]) {
				return false
			}
			n++
		}
	}
	return n > 0
}

// loadNoise is how many times the root of a count may miss what its load explains, where the
// counts for each unit of the load do not grow.
const loadNoise = 2

// scalesWith returns members per unit of load if the family follows that load: through
// the origin, within 15 % in every snapshot, or within noise times the root of the count. A load that varies by only 10 to 20 % may
// also explain a family, but then the match must be proportionally closer.
func (p *part) scalesWith(l *load, noise float64) (factor float64, ok bool) {
	var ratios, used []float64
	for _, run := range p.runs {
		for _, pt := range run {
			if load := l.values[pt.index]; load > 0 {
				used = append(used, load)
				ratios = append(ratios, float64(pt.count)/load)
			}
		}
	}
	if len(used) == 0 {
		return 0, false
	}
	varies := slices.Max(used)/slices.Min(used) - 1
	if varies < 0.1 {
		return 0, false
	}
	if varies < 0.4 {
		noise = 0 // too little to tell it from chance
	}
	allowed := 0.15 * min(1, varies*varies/0.04)
	factor = median(ratios)
	for _, run := range p.runs {
		for _, pt := range run {
			want := factor * l.values[pt.index]
			if math.Abs(float64(pt.count)-want) > max(2, allowed*want, noise*math.Sqrt(want)) {
				return 0, false
			}
		}
	}
	return factor, true
}

// The thresholds of a gauge that a family follows (statistics.md R17): the family is in proportion
// to it within followsShare at no fewer than followsPoints snapshots, between which it varies by
// followsVaries.
const (
	followsShare  = 0.1
	followsPoints = 4
	followsVaries = 0.2
)

// following is a gauge of the program to which a family is in proportion: if it is right, it is the
// load of the family.
type following struct {
	name   string
	factor float64
	points int
}

// follows finds the gauge that a family follows, nil without one.
func (p *part) follows() *following {
	points := flatten(p.runs)
	if len(points) < followsPoints {
		return nil
	}
	for k := range p.series.followable {
		l := &p.series.followable[k]
		low, high, ratios := math.Inf(1), 0.0, []float64(nil)
		for _, pt := range points {
			v := l.values[pt.index] // NaN is neither
			if low, high = min(low, v), max(high, v); v > 0 {
				ratios = append(ratios, float64(pt.count)/v)
			}
		}
		if !(low >= 0 && high >= (1+followsVaries)*low) || len(ratios) == 0 {
			continue
		}
		f := following{l.name, median(ratios), len(points)}
		if f.factor > 0 && !slices.ContainsFunc(points, func(pt point) bool {
			want := f.factor * l.values[pt.index]
			return math.Abs(float64(pt.count)-want) > max(1, followsShare*want)
		}) {
			return &f
		}
	}
	return nil
}

// normalised is evidence SL: the fit of the counts normalised to the typical load. ok
// is false if some load is 0.
func (p *part) normalised(l *load, buf *buffers) (of fit, ok bool) {
	var loads []float64
	for _, pt := range flatten(p.runs) {
		if l.values[pt.index] <= 0 {
			return fit{}, false
		}
		loads = append(loads, l.values[pt.index])
	}
	typical := median(loads)
	var runs [][]point
	for _, run := range p.comparable() {
		own := slices.Clone(run)
		for k := range own {
			own[k].count = int(math.Round(float64(own[k].count) * typical / l.values[own[k].index]))
		}
		runs = append(runs, own)
	}
	of = fitCounts(runs, buf)
	of.fill(runs, buf)
	return of, true
}

func loadEvidence(p *part, s *signals) []analysis.Evidence {
	if s.follows != nil {
		return one(analysis.Evidence{Rule: ruleLoad, Form: "follows", Names: []string{s.follows.name}, N: s.follows.points, Figures: map[analysis.Figure]float64{"factor": s.follows.factor}})
	}
	f := s.loadFit
	if f.load == nil {
		return nil
	}
	e := analysis.Evidence{Rule: ruleLoad, Form: "other", Names: f.load.names(), Figures: map[analysis.Figure]float64{"first": f.first, "last": f.last}}
	switch {
	case f.scales:
		e.Form = "explains"
		e.Figures["factor"] = f.factor
	case f.load.asked != nil && f.stay:
		e.Form = "other_and_stay"
	case f.load.asked == nil && f.tested:
		e.Unit = p.unit()
		e.Figures["slope"] = f.perUnit.slope
		switch f.perUnit.rising() {
		case levelNone:
			e.Form = "other_but_level"
		case levelSuspicious:
			e.Form = "other_may_grow"
		case levelLeaking:
			e.Form = "other_and_grows"
		}
	}
	return one(e)
}
