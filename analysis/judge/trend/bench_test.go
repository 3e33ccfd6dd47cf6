package trend

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"leakdiff/analysis"
)

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

const (
	benchFamilies  = 400
	benchSnapshots = 500
)

// benchSeries is 400 families in 500 snapshots: each has 20 members that stay and
// five that come and go, and every fortieth leaks.
func benchSeries() []*analysis.Snapshot {
	kinds := make([]*analysis.Family, benchFamilies)
	for f := range kinds {
		kinds[f] = &analysis.Family{Fingerprint: "g1:" + strconv.Itoa(f), Kind: analysis.KindGoroutine}
	}
	r := rand.New(rand.NewPCG(1, 2))
	snaps := make([]*analysis.Snapshot, benchSnapshots)
	fresh := int64(10_000_000)
	for i := range snaps {
		total := 0
		snap := &analysis.Snapshot{Label: strconv.Itoa(i), CapturedAt: testEpoch.Add(time.Duration(i) * time.Minute), MaxGoroutineID: fresh * 2}
		for f, family := range kinds {
			group := analysis.Group{Family: family, OldestWait: i}
			stay := 20
			if f%40 == 0 {
				stay += i / 4
			}
			for m := range stay {
				group.Members.Fill().ID = append(group.Members.Fill().ID, int64(f*10_000+m))
				group.Members.Fill().Wait = append(group.Members.Fill().Wait, int32(i-max(0, m-20)*4))
			}
			for range poisson(r, 5) {
				fresh++
				group.Members.Fill().ID = append(group.Members.Fill().ID, fresh)
				group.Members.Fill().Wait = append(group.Members.Fill().Wait, -1)
			}
			group.Count = len(group.Members.Fill().ID)
			total += group.Count
			snap.Groups = append(snap.Groups, group)
		}
		snap.Totals.Goroutines = &total
		snaps[i] = snap
	}
	return snaps
}

// BenchmarkLoad500SnapshotsOf400Families numbers the members and collects the counts:
// the cost of a series before any judgement.
func BenchmarkLoad500SnapshotsOf400Families(b *testing.B) {
	snaps := benchSeries()
	b.ReportAllocs()
	for b.Loop() {
		seriesOf(snaps)
	}
}

// BenchmarkVerdicts500SnapshotsOf400Families judges all families of a loaded series and
// forms the units.
func BenchmarkVerdicts500SnapshotsOf400Families(b *testing.B) {
	s := seriesOf(benchSeries())
	b.ReportAllocs()
	for b.Loop() {
		leaking := 0
		for _, j := range s.judgeFamilies().all {
			if j.verdict() == analysis.Leaking {
				leaking++
			}
		}
		if leaking != benchFamilies/40 {
			b.Fatalf("%d families leak, want %d", leaking, benchFamilies/40)
		}
	}
}

// BenchmarkJudgeAll500SnapshotsOf400Families also words all evidence.
func BenchmarkJudgeAll500SnapshotsOf400Families(b *testing.B) {
	s := seriesOf(benchSeries())
	b.ReportAllocs()
	for b.Loop() {
		s.judged = s.judgeFamilies()
		for _, j := range s.judged.all {
			j.result()
		}
	}
}
