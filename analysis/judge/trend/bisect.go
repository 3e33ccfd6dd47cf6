package trend

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/demand"
)

// Exposure is what one epoch of one program showed of a family: one row of a bisection.
// Epochs of different hosts and bundles are compared. Families are matched by the loose
// fingerprint, because states and lines change with the version.
type Exposure struct {
	Version string
	// Released orders versions. If it is zero, the versions' own order applies.
	Released time.Time
	// Hours is the time from the first to the last usable snapshot of the epoch.
	// Snapshots is their number.
	Hours     float64
	Snapshots int
	// Rise is last minus first, Rate per hour (Theil and Sen).
	Rise int
	Rate float64
	// PerUnit is the rate per unit of the load named Load. Load is empty without a load.
	PerUnit float64
	Load    string
	// Where names the host or node pool. It is used to find confounds.
	Where string
	// Leaks reports that the epoch alone shows the growth, Proven that it is proven.
	Leaks, Proven bool
	// Began is the time of the first snapshot. Seen is how many may have come for good: a
	// growth that is smaller would not have been noticed. Where members can be followed these
	// are those that came and stayed, else the largest rise from one snapshot to a later one.
	Began time.Time
	Seen  int
	// Mean is the mean of the load named Load. Loads are all that are known, that one first.
	Mean  float64
	Loads []Demand `json:",omitempty"`
	// Stay are the members that came, if none of them ended. Present reports a member in some
	// snapshot.
	Stay    int  `json:",omitempty"`
	Present bool `json:",omitempty"`
}

// Demand is the mean of a load.
type Demand struct {
	Name string
	Mean float64
}

// demands are the loads that are known, in the order of their weight.
func (e *Exposure) demands() []Demand {
	if len(e.Loads) == 0 && e.Load != "" {
		return []Demand{{e.Load, e.Mean}}
	}
	return e.Loads
}

// Instead is a family that leaks in a version that lacks the one that is compared.
type Instead struct {
	Version, Title string
	// Rate is its growth per hour.
	Rate float64
}

// VersionVerdict is the verdict on one version.
type VersionVerdict string

// The verdicts on a version. Unknown means too little exposure.
const (
	Good    VersionVerdict = "good"
	Bad     VersionVerdict = "bad"
	Unknown VersionVerdict = "unknown"
)

// VersionRow is one row of the version table.
type VersionRow struct {
	Version string
	Verdict VersionVerdict
	Epochs  int
	// Snapshots and Rise are sums over all epochs. Proven reports that one of them proves
	// the growth.
	Snapshots, Rise int
	Proven          bool
	// Began is the time of the first snapshot of the version.
	Began time.Time
	// Load names the load that is known of the version, empty for none or several. Mean is
	// its mean.
	Load string
	Mean float64
	// Hours is the sum over all epochs of the version. Rate is the median per hour, NaN
	// if no epoch has two snapshots. PerUnit is the median per unit of load, NaN
	// without a load.
	Hours, Rate, PerUnit float64
	// Below is the smallest rate that these hours exclude at 95 %: 3 divided by the hours
	// where the counts stood still, more where they varied. It is NaN for bad versions.
	Below float64
	// Mass is the posterior probability that this is the first bad version.
	Mass float64
	// Expected is the growth per hour that the bad versions would have shown under its load, 0
	// without one. Loads are those that are known of all its epochs.
	Expected float64
	Loads    []Demand
	// Stay are members that came and of which none ended.
	Stay int
	// Instead is another family that leaks here, nil where the one that is compared is there.
	Instead *Instead
}

// Bisection is the search for the version that brought a growth.
type Bisection struct {
	// Rows are in order of version, those of commits in order of capture.
	Rows []VersionRow
	// Rate is the median rate of the bad versions per hour, 0 without one that rises.
	Rate float64
	// Unordered reports versions whose names tell no order: hashes of commits. Then no
	// version is first.
	Unordered bool
	// FirstBad is set only if every older version is good, none can lie between them, and
	// every newer one up to LastBad is bad. Otherwise the first bad version is after
	// LastGood, up to EarliestBad.
	FirstBad                       string
	LastGood, EarliestBad, LastBad string
	// Fixed is the first version after LastBad, if it is good and no newer one is bad.
	Fixed string
	// Fix compares the last bad version with one after it, nil without one.
	Fix *Fix
	// Set is the smallest set of versions with 95 % of the probability.
	Set []string
	// Next is the version to test for NextHours hours under the same load, with a
	// snapshot every fifth of that time. It may be one that no snapshot shows, between
	// LastGood and EarliestBad. It is empty if nothing is open.
	Next      string
	NextHours float64
	// Confounds are other differences between good and bad versions.
	Confounds []string
}

// Fix is the proof that a growth ended with a version: the last bad one beside a newer one.
type Fix struct {
	Before, After VersionRow
	// Unordered reports commits, of which none need be later.
	Unordered bool
	// Ratio is the load after, divided by the load before; 0 if one is not known or they are
	// of different names. Idle reports that there was none after.
	Ratio float64
	Idle  bool
	// Proven reports that the version after was watched so long that a growth of a tenth of
	// the pace would have been seen, less load counting less. More are the hours that are
	// missing.
	Proven bool
	More   float64
}

// Exposures are the epochs of this series in which a family can be counted, with the
// version of their snapshots. Epochs without a version are left out. An epoch whose
// version changes is cut there. A series without any member of the family counts 0
// throughout: a good version shows exactly that.
func (s *Series) Exposures(family *analysis.Family) []Exposure {
	return s.exposures(family, s.versions())
}

// Watched is what all epochs of the series showed of a family, as one version.
func (s *Series) Watched(family *analysis.Family) VersionRow {
	versions := make([]string, len(s.Snapshots))
	for i := range versions {
		versions[i] = After
	}
	rows, _ := versionRows(s.exposures(family, versions))
	if len(rows) == 0 {
		return VersionRow{Below: math.Inf(1), Rate: math.NaN(), PerUnit: math.NaN()}
	}
	return rows[0]
}

// exposures takes the version of each snapshot.
func (s *Series) exposures(family *analysis.Family, versions []string) []Exposure {
	whole := s.parts[family.Fingerprint]
	if whole == nil {
		whole = s.without(family)
	}
	if j := s.judgements().byFingerprint[family.Fingerprint]; j != nil && j.recovery() != nil {
		whole, _ = j.judgedPart()
	}
	var out []Exposure
	for _, run := range whole.runs {
		for from := 0; from < len(run); {
			version := versions[run[from].index]
			to := from + 1
			for to < len(run) && versions[run[to].index] == version {
				to++
			}
			switch {
			case version == "" || !whole.dated:
			case to-from >= 2:
				out = append(out, whole.exposure(run[from:to], version))
			default:
				// One snapshot shows nothing about its version except that it ran.
				out = append(out, Exposure{Version: version, Snapshots: 1, Where: s.Snapshots[run[from].index].Process.Host.Value, Began: s.Snapshots[run[from].index].CapturedAt})
			}
			from = to
		}
	}
	return out
}

// without is the part of a family that the series never shows.
func (s *Series) without(family *analysis.Family) *part {
	g := s.newGrid(family.Kind)
	return &part{
		series: s, family: family, dated: g.dated, first: g.first, runs: g.runs,
		tracking: &tracking{members: make([][]int32, len(s.Snapshots)), complete: slices.Clone(g.usable)},
	}
}

// versions returns the version of each snapshot. A process keeps its version until it
// restarts, so a version known for some snapshots of an epoch applies to the others.
func (s *Series) versions() []string {
	out := make([]string, len(s.Snapshots))
	// The program's own version counts. Where none is known, that of its runtime may explain.
	own := slices.ContainsFunc(s.Snapshots, func(snap *analysis.Snapshot) bool { return snap.Process.Release() != "" })
	for from := 0; from < len(out); {
		to, known, several := from, "", false
		for ; to < len(out) && s.Epochs[to] == s.Epochs[from]; to++ {
			if out[to] = s.Snapshots[to].Process.Version.Value; own {
				out[to] = s.Snapshots[to].Process.Release()
			}
			several = several || known != "" && out[to] != "" && out[to] != known
			known = cmp.Or(known, out[to])
		}
		for i := from; i < to && !several; i++ {
			out[i] = known
		}
		from = to
	}
	return out
}

func (p *part) exposure(run []point, version string) Exposure {
	own := *p
	own.runs = [][]point{run}
	e := Exposure{
		Version: version, Hours: spanOf(run), Snapshots: len(run), Rise: run[len(run)-1].count - run[0].count,
		Where: p.series.Snapshots[run[0].index].Process.Host.Value, Began: p.series.Snapshots[run[0].index].CapturedAt,
		Seen: largestRise(run),
	}
	e.Present = slices.ContainsFunc(run, func(pt point) bool { return pt.count > 0 })
	if !slices.ContainsFunc(run, func(pt point) bool { return !p.tracking.complete[pt.index] }) {
		came, ended, stayed := p.tracking.came(run)
		if ended == 0 {
			e.Stay = came
		}
		if len(run) >= fewestFollowed {
			e.Seen = stayed
		}
	}
	if p.series.groups[p.family.Fingerprint] != nil {
		buf := new(buffers)
		signals := own.measure(buf)
		signals.fit.fill(own.comparable(), buf)
		e.Rate = signals.fit.slope
		e.Proven = signals.verdict == analysis.Leaking
		e.Leaks = e.Proven || signals.verdict == analysis.Suspicious && signals.fit.n >= 3
	}
	e.Loads = p.series.demands(run)
	if len(e.Loads) > 0 {
		e.Load, e.Mean = e.Loads[0].Name, e.Loads[0].Mean
	}
	if e.Mean > 0 {
		e.PerUnit = e.Rate / e.Mean
	}
	return e
}

// fewestFollowed is how many snapshots tell those that stay from those that are there for a
// moment.
const fewestFollowed = 4

// Replaced finds the versions that lack a family where another leaks that does not leak in the
// versions where the family does: it may have another name there. others are the exposures of
// other families of its kind by their titles. The fastest of each version counts.
func Replaced(family []Exposure, others map[string][]Exposure) []Instead {
	leaks, present, seen := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, e := range family {
		seen[e.Version] = true
		leaks[e.Version] = leaks[e.Version] || e.Leaks
		present[e.Version] = present[e.Version] || e.Present || e.Rise != 0
	}
	found := map[string]Instead{}
	for _, title := range slices.Sorted(maps.Keys(others)) {
		list := others[title]
		if slices.ContainsFunc(list, func(e Exposure) bool { return e.Leaks && leaks[e.Version] }) {
			continue
		}
		for _, e := range list {
			if e.Leaks && seen[e.Version] && !present[e.Version] && (found[e.Version].Title == "" || e.Rate > found[e.Version].Rate) {
				found[e.Version] = Instead{e.Version, title, e.Rate}
			}
		}
	}
	var out []Instead
	for _, version := range slices.Sorted(maps.Keys(found)) {
		out = append(out, found[version])
	}
	return out
}

// came counts the members that came after the first point of a run, those of them that are
// gone at its last, and those that are there and were before.
func (t *tracking) came(run []point) (came, ended, stayed int) {
	seen := map[int32]bool{}
	for _, pt := range run {
		for _, number := range t.members[pt.index] {
			seen[number] = true
		}
	}
	for _, number := range t.members[run[0].index] {
		delete(seen, number)
	}
	came, ended = len(seen), len(seen)
	before := map[int32]bool{}
	for _, number := range t.members[run[len(run)-2].index] {
		before[number] = seen[number]
	}
	for _, number := range t.members[run[len(run)-1].index] {
		if !seen[number] {
			continue
		}
		if ended--; before[number] {
			stayed++
		}
	}
	return came, ended, stayed
}

// demands are the means of all loads that a run knows, those above 0 first. Of a counter it is
// the increase per second from its first to its last snapshot with it.
func (s *Series) demands(run []point) []Demand {
	var out, idle []Demand
	add := func(name string, mean float64) {
		if mean > 0 {
			out = append(out, Demand{name, mean})
		} else {
			idle = append(idle, Demand{name, 0})
		}
	}
	for k := range s.loads {
		l := &s.loads[k]
		none := 0
		for _, pt := range run {
			if l.values[pt.index] == 0 {
				none++
			}
		}
		if mean := l.mean(run); mean > 0 || 2*none >= len(run) {
			add(l.name, mean)
		}
	}
	names := map[string]bool{}
	for _, pt := range run {
		for name := range s.Snapshots[pt.index].Figures {
			names[name] = true
		}
	}
	for _, c := range demand.Counters(slices.Sorted(maps.Keys(names))) {
		if _, given := s.in.Loads[c.Name]; given {
			continue
		}
		requests, seconds := 0.0, 0.0
		for k := 1; k < len(run); k++ {
			r := s.increase(c.Name, run[k-1].index, run[k].index)
			requests, seconds = requests+r.requests, seconds+r.seconds
		}
		if 2*seconds >= spanOf(run)*3600 && seconds > 0 {
			add(c.Name+" per second", requests/seconds)
		}
	}
	return append(out, idle...)
}

// largestRise is that from one point of a run to a later one.
func largestRise(run []point) int {
	rise, low := 0, run[0].count
	for _, pt := range run {
		low = min(low, pt.count)
		rise = max(rise, pt.count-low)
	}
	return rise
}

// mean is the mean over the snapshots of a run, 0 if most of them do not show the load.
func (l *load) mean(run []point) float64 {
	sum, n := 0.0, 0
	for _, pt := range run {
		if v := l.values[pt.index]; !math.IsNaN(v) {
			sum, n = sum+v, n+1
		}
	}
	if 2*n < len(run) || n == 0 {
		return 0
	}
	return sum / float64(n)
}

// Bisect tables the versions and finds the one that brought the growth. A version is
// bad if one of its epochs leaks. It is good if no epoch leaks and its hours would have
// shown a tenth of the rate r of the bad versions: no growth in T excludes 3/T at 95 %, so
// that 30/r hours do. Counts that vary hide more and need longer, and less load than that of
// the bad versions leaves less to be seen. Members that came and stay, and another family that
// leaks instead, are never good. The first bad version has a uniform prior over those that may
// be it. The likelihood of each row is that of its rise, Poisson with overdispersion 2. Versions
// after the last bad one tell whether it was fixed, and nothing about which was first.
func Bisect(exposures []Exposure, instead ...Instead) Bisection {
	exposures = slices.Clone(exposures)
	slices.SortStableFunc(exposures, func(a, b Exposure) int { // the order of uploads does not count
		return cmp.Or(a.Began.Compare(b.Began), cmp.Compare(a.Where, b.Where), cmp.Compare(a.Hours, b.Hours), cmp.Compare(a.Rise, b.Rise), cmp.Compare(a.Rate, b.Rate))
	})
	rows, unordered := versionRows(exposures)
	for k := range rows {
		r := &rows[k]
		r.Expected = r.expected(rows)
		if r.Verdict == Bad {
			r.Below = math.NaN()
			continue
		}
		for i := range instead {
			if instead[i].Version == r.Version {
				r.Instead = &instead[i]
			}
		}
		if r.Clears(r.Expected) {
			r.Verdict = Good
		}
	}
	b := Bisection{Rows: rows, Rate: badRate(rows), Unordered: unordered}
	b.bracket()
	b.fix()
	if !unordered {
		b.spread(exposures)
		b.advise(b.Rate)
	}
	b.Confounds = confounds(exposures, rows)
	return b
}

// expected is the median rate of the bad versions, each at the load of this one if that is
// less.
func (r *VersionRow) expected(rows []VersionRow) float64 {
	var rates []float64
	for k := range rows {
		bad := &rows[k]
		if bad.Verdict != Bad || bad.Rate <= 0 || math.IsNaN(bad.Rate) {
			continue
		}
		less := 1.0
		if was, is, known := bad.besides(r); known && is.Mean*sameLoad < was.Mean {
			less = is.Mean / was.Mean
		}
		rates = append(rates, bad.Rate*less)
	}
	return median(rates)
}

// besides are the loads of one name of a version and another, the first that both know.
func (r *VersionRow) besides(other *VersionRow) (was, is Demand, known bool) {
	for _, was := range r.Loads {
		for _, is := range other.Loads {
			if is.Name == was.Name && was.Mean > 0 {
				return was, is, true
			}
		}
	}
	return Demand{}, Demand{}, false
}

// The effect that counts: a tenth of the rate must be excluded. leastStay is how many members
// that came and stay are no chance.
const (
	effect    = 10
	leastStay = 3
)

// Stays reports members that came, of which none ended: no exposure calls that good.
func (r *VersionRow) Stays() bool { return r.Stay >= leastStay }

// Clears reports whether a tenth of a rate per hour would have been seen.
func (r *VersionRow) Clears(rate float64) bool {
	return rate > 0 && !r.Stays() && r.Instead == nil && r.Hours >= hoursNeeded(rate) && r.Below <= rate/effect*(1+1e-9)
}

// Needed is how many more hours like those seen would clear a version at a rate.
func (r *VersionRow) Needed(rate float64) float64 {
	needed := hoursNeeded(rate)
	if r.Hours > 0 && !math.IsNaN(r.Below) {
		needed = max(needed, r.Hours*r.Below*effect/rate) // what varies needs longer
	}
	return needed - r.Hours
}

// excluded is the mean number of events that a count excludes at 95 %: 3 for 0, else by the
// approximation of Wilson and Hilferty.
func excluded(seen int) float64 {
	if seen <= 0 {
		return 3
	}
	n := float64(seen + 1)
	return n * math.Pow(1-1/(9*n)+1.645/(3*math.Sqrt(n)), 3)
}

// hoursNeeded is the exposure without growth that clears a version: 3/r for one member
// at 95 %, times ten for the effect that counts.
func hoursNeeded(rate float64) float64 { return effect * 3 / rate }

// versionRows are the rows in order. unordered reports versions that have none of their own.
func versionRows(exposures []Exposure) (rows []VersionRow, unordered bool) {
	by := make(map[string][]Exposure)
	released := make(map[string]time.Time)
	for _, e := range exposures {
		by[e.Version] = append(by[e.Version], e)
		if !e.Released.IsZero() {
			released[e.Version] = e.Released
		}
	}
	for version, list := range by {
		unordered = unordered || commit(version)
		r := VersionRow{Version: version, Epochs: len(list), Verdict: Unknown, PerUnit: math.NaN()}
		var rates, units []float64
		seen := 0
		for _, e := range list {
			r.Hours += e.Hours
			r.Snapshots += e.Snapshots
			r.Rise += e.Rise
			r.Proven = r.Proven || e.Proven
			seen += max(e.Seen, e.Rise)
			if r.Began.IsZero() || !e.Began.IsZero() && e.Began.Before(r.Began) {
				r.Began = e.Began
			}
			r.Stay += e.Stay
			if e.Snapshots > 1 {
				rates = append(rates, e.Rate)
			}
			if e.Load != "" {
				units = append(units, e.PerUnit)
			}
			if e.Leaks {
				r.Verdict = Bad
			}
		}
		r.Rate = math.NaN()
		if len(rates) > 0 {
			r.Rate = median(rates)
		}
		if len(units) > 0 {
			r.PerUnit = median(units)
		}
		if r.Loads = demandsOf(list); len(r.Loads) > 0 {
			r.Load, r.Mean = r.Loads[0].Name, r.Loads[0].Mean
		}
		r.Below = excluded(seen) / r.Hours
		rows = append(rows, r)
	}
	slices.SortFunc(rows, func(a, b VersionRow) int {
		if unordered {
			return cmp.Or(a.Began.Compare(b.Began), strings.Compare(a.Version, b.Version))
		}
		if x, y := released[a.Version], released[b.Version]; !x.IsZero() && !y.IsZero() && !x.Equal(y) {
			return x.Compare(y)
		}
		return compareVersions(a.Version, b.Version)
	})
	return rows, unordered
}

// demandsOf are the loads that all epochs of a version know, with the mean over their hours.
func demandsOf(list []Exposure) []Demand {
	var out []Demand
	hours := 0.0
	for _, e := range list {
		if e.Snapshots < 2 {
			continue
		}
		own := e.demands()
		if hours == 0 {
			out = slices.Clone(own)
		}
		kept := out[:0]
		for _, d := range out {
			if at := slices.IndexFunc(own, func(o Demand) bool { return o.Name == d.Name }); at >= 0 {
				if all := hours + e.Hours; all > 0 {
					d.Mean = (d.Mean*hours + own[at].Mean*e.Hours) / all
				}
				kept = append(kept, d)
			}
		}
		out, hours = kept, hours+e.Hours
	}
	return out
}

// badRate is the median rate of the bad versions, 0 if none rises.
func badRate(rows []VersionRow) float64 {
	var rates []float64
	for _, r := range rows {
		if r.Verdict == Bad && r.Rate > 0 {
			rates = append(rates, r.Rate)
		}
	}
	return median(rates)
}

// bracket finds the last good and the earliest bad version. It sets the first bad
// version if no version between them is open.
func (b *Bisection) bracket() {
	first := slices.IndexFunc(b.Rows, func(r VersionRow) bool { return r.Verdict == Bad })
	if first < 0 {
		return
	}
	last := b.lastBad()
	b.EarliestBad, b.LastBad = b.Rows[first].Version, b.Rows[last].Version
	if b.Unordered {
		return
	}
	clear := true
	for k, r := range b.Rows[:last] {
		switch {
		case k < first && r.Verdict == Good:
			b.LastGood = r.Version
		case k < first, k > first && r.Verdict != Bad:
			clear = false
		}
	}
	if clear && first > 0 && halfway(b.LastGood, b.EarliestBad) == "" {
		b.FirstBad = b.EarliestBad
	}
	if last+1 < len(b.Rows) && b.Rows[last+1].Verdict == Good {
		b.Fixed = b.Rows[last+1].Version
	}
}

// lastBad is the index of the newest bad row, or -1.
func (b *Bisection) lastBad() int {
	for k := len(b.Rows) - 1; k >= 0; k-- {
		if b.Rows[k].Verdict == Bad {
			return k
		}
	}
	return -1
}

// fix compares the last bad version with the first good one after it, or with the one after
// it that was watched longest.
func (b *Bisection) fix() {
	last := b.lastBad()
	if last < 0 || last+1 == len(b.Rows) {
		return
	}
	after := b.Rows[last+1]
	for _, r := range b.Rows[last+1:] {
		if after.Verdict != Good && (r.Verdict == Good || r.Hours > after.Hours) {
			after = r
		}
	}
	f := &Fix{Before: b.Rows[last], After: after, Unordered: b.Unordered, Proven: after.Verdict == Good}
	if was, is, known := f.Before.besides(&after); known {
		f.Before.Load, f.Before.Mean, f.After.Load, f.After.Mean = was.Name, was.Mean, is.Name, is.Mean
		f.Ratio, f.Idle = is.Mean/was.Mean, is.Mean == 0
	}
	if after.Expected > 0 && after.Instead == nil {
		f.More = max(0, after.Needed(after.Expected))
	}
	b.Fix = f
}

// sameLoad is the factor within which two loads compare.
const sameLoad = 1.5

// Compares reports loads that compare.
func (f *Fix) Compares() bool { return f.Ratio <= sameLoad && f.Ratio >= 1/sameLoad }

// spread computes for every version after the last good one, up to the earliest bad, the
// probability of being the first bad one: this version and all newer ones grow at the bad
// rate, all older ones do not.
func (b *Bisection) spread(exposures []Exposure) {
	if b.EarliestBad == "" || b.Rate <= 0 {
		return
	}
	from, to := 0, 0
	for k, r := range b.Rows {
		if r.Version == b.LastGood {
			from = k + 1
		}
		if r.Version == b.EarliestBad {
			to = k + 1
		}
	}
	rows := b.Rows[:b.lastBad()+1]
	logs := make([]float64, len(rows))
	best := math.Inf(-1)
	for first := from; first < to; first++ {
		for k, row := range rows {
			for _, e := range exposures {
				if e.Version == row.Version {
					logs[first] += e.likelihood(row.Expected, k >= first)
				}
			}
		}
		best = max(best, logs[first])
	}
	total := 0.0
	for k := from; k < to; k++ {
		rows[k].Mass = math.Exp(logs[k] - best)
		total += rows[k].Mass
	}
	order := make([]int, len(rows))
	for k := range rows {
		rows[k].Mass /= total
		order[k] = k
	}
	slices.SortStableFunc(order, func(x, y int) int { return cmp.Compare(b.Rows[y].Mass, b.Rows[x].Mass) })
	mass, taken := 0.0, 0
	for mass < 0.95 && taken < len(order) {
		mass += b.Rows[order[taken]].Mass
		taken++
	}
	chosen := order[:taken]
	slices.Sort(chosen)
	for _, k := range chosen {
		b.Set = append(b.Set, b.Rows[k].Version)
	}
}

// likelihood is the log probability of the rise with or without the leak. The rise is
// normal, with the variance of a Poisson count of overdispersion 2 and the scatter of
// two counts at the gate. Rates differ between hosts, so the rate of the leak is known
// only to a factor of two.
func (e Exposure) likelihood(rate float64, leaks bool) float64 {
	mean, spread := 0.0, 0.0
	if leaks {
		mean = rate * e.Hours
		spread = mean / 2
	}
	variance := 2*mean + 25 + spread*spread
	off := float64(e.Rise) - mean
	return -off*off/(2*variance) - 0.5*math.Log(variance)
}

// advise names the version whose test halves the open probability. It does not halve
// the list. A version in which another family leaks needs no test but somebody who knows
// whether it was renamed.
func (b *Bisection) advise(rate float64) {
	last := b.lastBad()
	if rate <= 0 || b.FirstBad != "" || last < 0 {
		return
	}
	below, best := 0.0, math.Inf(1)
	for _, r := range b.Rows[:last] {
		below += r.Mass
		// A test of r shows whether the first bad version is r or older, or newer.
		if off := math.Abs(below - 0.5); r.Verdict == Unknown && r.Instead == nil && off < best {
			best, b.Next = off, r.Version
		}
	}
	if b.Next == "" && b.LastGood != "" {
		b.Next = halfway(b.LastGood, b.EarliestBad)
	}
	if b.Next != "" {
		b.NextHours = hoursNeeded(rate)
	}
}

// confounds lists properties that correlate with the verdict as much as the version
// does.
func confounds(exposures []Exposure, rows []VersionRow) []string {
	verdict := make(map[string]VersionVerdict)
	for _, r := range rows {
		verdict[r.Version] = r.Verdict
	}
	where := make(map[VersionVerdict]map[string]bool)
	load := make(map[VersionVerdict]map[string]bool)
	for _, e := range exposures {
		v := verdict[e.Version]
		if where[v] == nil {
			where[v], load[v] = make(map[string]bool), make(map[string]bool)
		}
		where[v][e.Where] = true
		load[v][e.Load] = true
	}
	var out []string
	if len(where[Good]) > 0 && len(where[Bad]) > 0 && disjointKeys(where[Good], where[Bad]) {
		out = append(out, "good and bad versions ran on different hosts")
	}
	if len(load[Good]) > 0 && len(load[Bad]) > 0 && disjointKeys(load[Good], load[Bad]) {
		out = append(out, "the load is known of one side only")
	}
	return out
}

func disjointKeys(a, b map[string]bool) bool {
	for k := range a {
		if b[k] {
			return false
		}
	}
	return true
}
