package trend

import (
	"cmp"
	"maps"
	"math"
	"slices"
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
