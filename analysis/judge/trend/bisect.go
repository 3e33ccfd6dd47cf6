package trend

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"
)

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

// What clears a version (statistics.md R20): none came where dueUnseen were due at the pace of
// before, which has a chance of .001. Where some came, a pace of one effect-th of it must be
// excluded. leastStay is how many members that came and stay are no chance.
const (
	dueUnseen = 6.91
	effect    = 10
	leastStay = 3
)

// Stays reports members that came, of which none ended: no exposure calls that good.
func (r *VersionRow) Stays() bool { return r.Stay >= leastStay }

// Clears reports whether what was seen excludes a rate per hour.
func (r *VersionRow) Clears(rate float64) bool {
	return rate > 0 && !r.Stays() && r.Instead == nil && r.Hours >= r.enough(rate)*(1-1e-9)
}

// enough are the hours like those seen that exclude a rate, NaN if what was seen is not known.
func (r *VersionRow) enough(rate float64) float64 {
	if came := r.Hours * r.Below; !(came <= excluded(0)*(1+1e-9)) { // or is not known
		return effect * came / rate // what varies needs longer
	}
	return hoursNeeded(rate)
}

// Needed is how many more hours like those seen would clear a version at a rate.
func (r *VersionRow) Needed(rate float64) float64 {
	if r.Hours > 0 && !math.IsNaN(r.Below) {
		return r.enough(rate) - r.Hours
	}
	return hoursNeeded(rate)
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

// hoursNeeded is the exposure without growth that clears a version.
func hoursNeeded(rate float64) float64 { return dueUnseen / rate }

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
