package trend

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/say/wording"
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
	// Leaks reports that the epoch alone shows the growth.
	Leaks bool
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
	// Hours is the sum over all epochs of the version. Rate is the median per hour, NaN
	// if no epoch has two snapshots. PerUnit is the median per unit of load, NaN
	// without a load.
	Hours, Rate, PerUnit float64
	// Below is the smallest rate that these hours without growth exclude at 95 %: 3
	// divided by the hours. It is NaN for bad versions.
	Below float64
	// Mass is the posterior probability that this is the first bad version.
	Mass float64
}

// Bisection is the search for the version that brought a growth.
type Bisection struct {
	// Rows are in order of version.
	Rows []VersionRow
	// FirstBad is set only if every older version is good and every newer one bad.
	// Otherwise the first bad version is after LastGood, up to EarliestBad.
	FirstBad              string
	LastGood, EarliestBad string
	// Set is the smallest set of versions with 95 % of the probability.
	Set []string
	// Next is the version to test for NextHours hours under the same load, with a
	// snapshot every fifth of that time. It is empty if nothing is open.
	Next      string
	NextHours float64
	// Confounds are other differences between good and bad versions.
	Confounds []string
}

// Text is the answer in a sentence.
func (b Bisection) Text() string {
	var text string
	switch {
	case b.FirstBad != "":
		text = "first bad version: " + b.FirstBad
	case b.EarliestBad == "":
		return "no version is known to be bad"
	case b.LastGood == "":
		text = "bad from " + b.EarliestBad + " at the latest; no older version is known to be good"
	default:
		text = fmt.Sprintf("after %s, at the latest in %s", b.LastGood, b.EarliestBad)
	}
	if len(b.Set) > 1 {
		text += "; 95 % of the probability: " + wording.Commas(b.Set, 6)
	}
	if b.Next != "" {
		text += fmt.Sprintf("; test %s next, for %s with a snapshot every %s, under the same load", b.Next,
			wording.Duration(hoursLong(b.NextHours)), wording.Duration(hoursLong(b.NextHours/5)))
	}
	if len(b.Confounds) > 0 {
		text += "; also different: " + wording.Commas(b.Confounds, 4)
	}
	return text
}

// Exposures are the epochs of this series in which a family can be counted, with the
// version of their snapshots. Epochs without a version are left out. An epoch whose
// version changes is cut there. A series without any member of the family counts 0
// throughout: a good version shows exactly that.
func (s *Series) Exposures(family *analysis.Family) []Exposure {
	whole := s.parts[family.Fingerprint]
	if whole == nil {
		whole = s.without(family)
	}
	if j := s.judgements().byFingerprint[family.Fingerprint]; j != nil {
		whole, _ = j.judgedPart()
	}
	versions := s.versions()
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
				out = append(out, Exposure{Version: version, Snapshots: 1, Where: s.Snapshots[run[from].index].Process.Host.Value})
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
	for from := 0; from < len(out); {
		to, known, several := from, "", false
		for ; to < len(out) && s.Epochs[to] == s.Epochs[from]; to++ {
			out[to] = s.Snapshots[to].Process.Version.Value
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
		Where: p.series.Snapshots[run[0].index].Process.Host.Value,
	}
	if p.series.groups[p.family.Fingerprint] != nil {
		buf := new(buffers)
		signals := own.measure(buf)
		signals.fit.fill(own.comparable(), buf)
		e.Rate = signals.fit.slope
		e.Leaks = signals.proven() || signals.verdict == analysis.Suspicious && signals.fit.n >= 3
	}
	for _, l := range p.series.loads {
		if own.hasLoad(&l) {
			sum := 0.0
			for _, pt := range run {
				sum += l.values[pt.index]
			}
			if mean := sum / float64(len(run)); mean > 0 {
				e.Load, e.PerUnit = l.name, e.Rate/mean
				break
			}
		}
	}
	return e
}

// Bisect tables the versions and finds the one that brought the growth. A version is
// bad if one of its epochs leaks. It is good if no epoch leaks and its hours would have
// shown the rate r of the bad versions: 3/r hours exclude one member at 95 %, and ten
// times as many exclude ten members, the effect that counts. The first bad version has
// a uniform prior. The likelihood of each row is that of its rise, Poisson with
// overdispersion 2.
func Bisect(exposures []Exposure) Bisection {
	rows := versionRows(exposures)
	rate := badRate(rows)
	for k := range rows {
		r := &rows[k]
		if r.Verdict == Bad {
			r.Below = math.NaN()
			continue
		}
		r.Below = 3 / r.Hours
		if rate > 0 && r.Hours >= hoursNeeded(rate) {
			r.Verdict = Good
		}
	}
	b := Bisection{Rows: rows}
	b.bracket()
	b.spread(exposures, rate)
	b.advise(rate)
	b.Confounds = confounds(exposures, rows)
	return b
}

// hoursNeeded is the exposure without growth that clears a version: 3/r for one member
// at 95 %, times ten for the effect that counts.
func hoursNeeded(rate float64) float64 { return 10 * 3 / rate }

func versionRows(exposures []Exposure) []VersionRow {
	by := make(map[string][]Exposure)
	released := make(map[string]time.Time)
	for _, e := range exposures {
		by[e.Version] = append(by[e.Version], e)
		if !e.Released.IsZero() {
			released[e.Version] = e.Released
		}
	}
	var rows []VersionRow
	for version, list := range by {
		r := VersionRow{Version: version, Epochs: len(list), Verdict: Unknown, PerUnit: math.NaN()}
		var rates, units []float64
		for _, e := range list {
			r.Hours += e.Hours
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
		rows = append(rows, r)
	}
	slices.SortFunc(rows, func(a, b VersionRow) int {
		if x, y := released[a.Version], released[b.Version]; !x.IsZero() && !y.IsZero() && !x.Equal(y) {
			return x.Compare(y)
		}
		return compareVersions(a.Version, b.Version)
	})
	return rows
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
	b.EarliestBad = b.Rows[first].Version
	clear := true
	for k, r := range b.Rows {
		switch {
		case k < first && r.Verdict == Good:
			b.LastGood = r.Version
		case k < first, k > first && r.Verdict != Bad:
			clear = false
		}
	}
	if clear && first > 0 {
		b.FirstBad = b.EarliestBad
	}
}

// spread computes for every version the probability of being the first bad one: this
// version and all newer ones grow at the bad rate, all older ones do not.
func (b *Bisection) spread(exposures []Exposure, rate float64) {
	if b.EarliestBad == "" || rate <= 0 {
		return
	}
	logs := make([]float64, len(b.Rows))
	best := math.Inf(-1)
	for first := range b.Rows {
		for k, row := range b.Rows {
			for _, e := range exposures {
				if e.Version == row.Version {
					logs[first] += e.likelihood(rate, k >= first)
				}
			}
		}
		best = max(best, logs[first])
	}
	total := 0.0
	for k := range b.Rows {
		b.Rows[k].Mass = math.Exp(logs[k] - best)
		total += b.Rows[k].Mass
	}
	order := make([]int, len(b.Rows))
	for k := range b.Rows {
		b.Rows[k].Mass /= total
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
// the list.
func (b *Bisection) advise(rate float64) {
	if rate <= 0 || b.FirstBad != "" {
		return
	}
	below, best := 0.0, math.Inf(1)
	for _, r := range b.Rows {
		below += r.Mass
		// A test of r shows whether the first bad version is r or older, or newer.
		if off := math.Abs(below - 0.5); r.Verdict == Unknown && off < best {
			best, b.Next = off, r.Version
		}
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

// compareVersions compares numbers as numbers: v1.9 is before v1.10, and a pre-release
// before its release.
func compareVersions(a, b string) int {
	x, y := versionParts(a), versionParts(b)
	for k := 0; k < len(x) && k < len(y); k++ {
		if c := comparePart(x[k], y[k]); c != 0 {
			return c
		}
	}
	switch {
	case len(x) < len(y):
		return -prerelease(y[len(x)])
	case len(x) > len(y):
		return prerelease(x[len(y)])
	}
	return strings.Compare(a, b)
}

// prerelease is -1 for a word after the numbers ("rc"), because it makes a version
// older. It is 1 for one more number.
func prerelease(part string) int {
	if part[0] < '0' || part[0] > '9' {
		return -1
	}
	return 1
}

// versionParts splits into runs of digits and of letters: "v1.10-rc1" is 1 10 rc 1.
func versionParts(v string) []string {
	var parts []string
	class := func(c byte) int {
		switch {
		case c >= '0' && c <= '9':
			return 1
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z':
			return 2
		}
		return 0
	}
	v = strings.TrimPrefix(v, "v")
	for i := 0; i < len(v); {
		c, j := class(v[i]), i
		for j < len(v) && class(v[j]) == c {
			j++
		}
		if c != 0 {
			parts = append(parts, v[i:j])
		}
		i = j
	}
	return parts
}

func comparePart(a, b string) int {
	numberA, numberB := a[0] >= '0' && a[0] <= '9', b[0] >= '0' && b[0] <= '9'
	switch {
	case numberA && numberB:
		a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
		return cmp.Or(len(a)-len(b), strings.Compare(a, b))
	case numberA:
		return 1
	case numberB:
		return -1
	}
	return strings.Compare(a, b)
}
