package trend

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"leakdiff/analysis"
)

// The bench of statistics.md 8: seven days, irregular snapshots, a base of
// permanent members and of transient ones that live 0.2 h. It guards the rules
// against regressions; it is no measure of precision in the field.
const (
	benchWindow = 7 * 24.0 // hours
	benchLife   = 0.2      // hours
)

// life is one simulated member, in hours of the window.
type life struct{ born, ends float64 }

// simulated is one series before it is seen: members that last, and the expected
// number of transient ones at a time.
type simulated struct {
	lives     []life
	transient func(at float64) float64
	restarts  []float64
}

type class func(r *rand.Rand, base, permanent float64) simulated

func steady(base, permanent float64) simulated {
	s := simulated{transient: func(float64) float64 { return base * (1 - permanent) }}
	for range int(math.Round(base * permanent)) {
		s.lives = append(s.lives, life{-1, math.Inf(1)})
	}
	return s
}

func noise(_ *rand.Rand, base, permanent float64) simulated { return steady(base, permanent) }

func leakSize(r *rand.Rand, base float64) int { return int((0.4+4*r.Float64())*base) + 15 }

func leakLinear(r *rand.Rand, base, permanent float64) simulated {
	s := steady(base, permanent)
	for range leakSize(r, base) {
		s.lives = append(s.lives, life{r.Float64() * benchWindow, math.Inf(1)})
	}
	return s
}

func leakStairs(r *rand.Rand, base, permanent float64) simulated {
	s := steady(base, permanent)
	var batches [12]float64
	for i := range batches {
		batches[i] = r.Float64() * benchWindow
	}
	for range leakSize(r, base) {
		s.lives = append(s.lives, life{batches[r.IntN(len(batches))], math.Inf(1)})
	}
	return s
}

func leakRestarts(r *rand.Rand, base, permanent float64) simulated {
	s := leakLinear(r, base, permanent)
	for range 1 + r.IntN(3) {
		s.restarts = append(s.restarts, r.Float64()*benchWindow)
	}
	slices.Sort(s.restarts)
	return s
}

func stepUp(r *rand.Rand, base, permanent float64) simulated {
	s := steady(base, permanent)
	at := r.Float64() * benchWindow
	for range leakSize(r, base) {
		s.lives = append(s.lives, life{at, math.Inf(1)})
	}
	return s
}

// sessions is an M/M/inf queue with the given mean life in hours.
func sessions(mean float64) class {
	return func(r *rand.Rand, base, permanent float64) simulated {
		s := simulated{transient: func(float64) float64 { return base * (1 - permanent) }}
		for range poisson(r, base*permanent) {
			s.lives = append(s.lives, life{-1, r.ExpFloat64() * mean})
		}
		for range poisson(r, base*permanent*benchWindow/mean) {
			born := r.Float64() * benchWindow
			s.lives = append(s.lives, life{born, born + r.ExpFloat64()*mean})
		}
		return s
	}
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

// seen lists what n snapshots of a simulated series show.
func (s simulated) seen(r *rand.Rand, n int) []*analysis.Snapshot {
	times := make([]float64, n)
	times[0] = 0.15 * r.Float64() * benchWindow
	times[n-1] = (0.85 + 0.15*r.Float64()) * benchWindow
	for i := 1; i < n-1; i++ {
		times[i] = times[0] + r.Float64()*(times[n-1]-times[0])
	}
	slices.Sort(times)
	family := &analysis.Family{Fingerprint: onlyFamily, Kind: analysis.KindGoroutine}
	snaps := make([]*analysis.Snapshot, n)
	fresh := int64(1_000_000)
	for i, at := range times {
		start, epoch := math.Inf(-1), 0
		for _, restart := range s.restarts {
			if restart <= at {
				start, epoch = restart, epoch+1
			}
		}
		group := analysis.Group{Family: family, OldestWait: -1}
		for m, member := range s.lives {
			permanent := member.born < 0
			if member.born <= at && at < member.ends && (permanent || member.born >= start) {
				group.Members.ID = append(group.Members.ID, int64(m+1))
			}
		}
		for range poisson(r, s.transient(at)) {
			fresh++
			group.Members.ID = append(group.Members.ID, fresh)
		}
		group.Count = len(group.Members.ID)
		total := group.Count
		snap := &analysis.Snapshot{Label: "t" + strconv.Itoa(i), CapturedAt: testEpoch.Add(time.Duration(at * float64(time.Hour))), MaxGoroutineID: fresh + 1}
		snap.Process.PID.Value = strconv.Itoa(100 + epoch)
		snap.Process.Start.Value = strconv.Itoa(epoch)
		snap.Totals.Goroutines = &total
		snap.Groups = []analysis.Group{group}
		snaps[i] = snap
	}
	return snaps
}

// share is the part of the simulated series of a class that is called leaking.
func share(of class, n, series int, counts analysisOf) float64 {
	r := rand.New(rand.NewPCG(uint64(n), 20261121))
	leaking := 0
	for range series {
		base := 5 * math.Pow(60, r.Float64())
		snaps := of(r, base, 0.3+0.6*r.Float64()).seen(r, n)
		if counts == countsAlone {
			for _, snap := range snaps {
				for g := range snap.Groups {
					snap.Groups[g].Members = analysis.Members{}
				}
			}
		}
		if NewSeries(snaps).Judge(onlyFamily).Verdict == analysis.Leaking {
			leaking++
		}
	}
	return float64(leaking) / float64(series)
}

type analysisOf int

const (
	countsAlone analysisOf = iota
	withIdentities
)

func TestTheRulesKeepTheirFiguresOnTheSimulationBench(t *testing.T) {
	tests := []struct {
		name        string
		of          class
		n           int
		from        analysisOf
		least, most float64
	}{
		{"noise is no leak at 5 snapshots", noise, 5, countsAlone, 0, 0.01},
		{"noise is no leak at 10 snapshots", noise, 10, countsAlone, 0, 0.01},
		{"noise is no leak at 20 snapshots", noise, 20, countsAlone, 0, 0.01},
		{"a step is no leak at 5 snapshots", stepUp, 5, countsAlone, 0, 0.03},
		{"a step is no leak at 10 snapshots", stepUp, 10, countsAlone, 0, 0.01},
		{"a step is no leak at 20 snapshots", stepUp, 20, countsAlone, 0, 0.01},
		{"even births are a leak at 5 snapshots", leakLinear, 5, countsAlone, 0.70, 1},
		{"even births are a leak at 10 snapshots", leakLinear, 10, countsAlone, 0.92, 1},
		{"even births are a leak at 20 snapshots", leakLinear, 20, countsAlone, 0.95, 1},
		{"three counts are never a leak", leakLinear, 3, countsAlone, 0, 0},
		{"identities keep even births at 10 snapshots", leakLinear, 10, withIdentities, 0.92, 1},
		{"identities keep batches at 10 snapshots", leakStairs, 10, withIdentities, 0.75, 1},
		{"restarts cost recall at 5 snapshots", leakRestarts, 5, withIdentities, 0.05, 0.25},
		{"restarts cost less at 10 snapshots", leakRestarts, 10, withIdentities, 0.55, 1},
		{"identities clear a step", stepUp, 10, withIdentities, 0, 0},
		{"identities clear sessions of 12 hours", sessions(12), 20, withIdentities, 0, 0.01},
		{"identities clear sessions of 3 days", sessions(72), 10, withIdentities, 0, 0.02},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			got := share(tc.of, tc.n, 250, tc.from)
			t.Logf("%.3f", got)
			if got < tc.least || got > tc.most {
				t.Errorf("%.3f of the series are called leaking, want %.2f to %.2f", got, tc.least, tc.most)
			}
		})
	}
}

func BenchmarkJudgeAll500SnapshotsOf400Families(b *testing.B) {
	const families, snapshots = 400, 500
	kinds := make([]*analysis.Family, families)
	for f := range kinds {
		kinds[f] = &analysis.Family{Fingerprint: "g1:" + strconv.Itoa(f), Kind: analysis.KindGoroutine}
	}
	r := rand.New(rand.NewPCG(1, 2))
	snaps := make([]*analysis.Snapshot, snapshots)
	fresh := int64(10_000_000)
	for i := range snaps {
		total := 0
		snap := &analysis.Snapshot{Label: strconv.Itoa(i), CapturedAt: testEpoch.Add(time.Duration(i) * time.Minute), MaxGoroutineID: fresh * 2}
		for f, family := range kinds {
			group := analysis.Group{Family: family}
			stay := 20
			if f%40 == 0 {
				stay += i / 4
			}
			for m := range stay {
				group.Members.ID = append(group.Members.ID, int64(f*10_000+m))
			}
			for range poisson(r, 5) {
				fresh++
				group.Members.ID = append(group.Members.ID, fresh)
			}
			group.Count = len(group.Members.ID)
			total += group.Count
			snap.Groups = append(snap.Groups, group)
		}
		snap.Totals.Goroutines = &total
		snaps[i] = snap
	}
	b.ReportAllocs()
	for b.Loop() {
		series := NewSeries(snaps)
		leaking := 0
		for _, j := range series.JudgeAll() {
			if j.Verdict == analysis.Leaking {
				leaking++
			}
		}
		if leaking != families/40 {
			b.Fatalf("%d families leak, want %d", leaking, families/40)
		}
	}
}
