package trend

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"leakdiff/analysis"
)

// drawn is an arbitrary series of one family: counts that climb, jump or fall,
// members that stay, change or are unknown, with an occasional restart.
func drawn(t *rapid.T) scenario {
	counts := rapid.SliceOfN(rapid.IntRange(0, 60), 1, 11).Draw(t, "counts")
	if rapid.Bool().Draw(t, "climbing") {
		slices.Sort(counts)
	}
	words := make([]string, len(counts))
	for i, count := range counts {
		words[i] = strconv.Itoa(count)
	}
	write := rapid.SampledFrom([]func(string) string{piling, churning, unidentified}).Draw(t, "members")
	sc := only(write(strings.Join(words, " ")))
	pids := make([]string, len(counts))
	pid := 1
	for i := range pids {
		if rapid.IntRange(0, 7).Draw(t, "restart") == 0 {
			pid++
		}
		pids[i] = strconv.Itoa(pid)
	}
	sc.pids = strings.Join(pids, " ")
	return sc
}

func TestAConstantNumberOfMoreMembersNeverMakesALeakOfStable(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		sc := drawn(rt)
		before := sc.series(t).JudgeAll()[onlyFamily]
		more := rapid.IntRange(1, 200).Draw(rt, "more")
		snaps := sc.snapshots(t)
		withConstant(snaps, more)
		after := seriesOf(snaps).JudgeAll()[onlyFamily]
		if before.Verdict == analysis.Stable && after.Verdict == analysis.Leaking {
			rt.Fatalf("%d more members of all snapshots: stable %v became leaking %v", more, before.Evidence, after.Evidence)
		}
	})
}

// withConstant adds members that are there from start to end.
func withConstant(snaps []*analysis.Snapshot, more int) {
	identified := false
	for _, snap := range snaps {
		for _, group := range snap.Groups {
			identified = identified || group.Family.Fingerprint == onlyFamily && group.Members.Identified()
		}
	}
	for _, snap := range snaps {
		k := slices.IndexFunc(snap.Groups, func(g analysis.Group) bool { return g.Family.Fingerprint == onlyFamily })
		if k < 0 {
			family := &analysis.Family{Fingerprint: onlyFamily, Kind: analysis.KindGoroutine}
			snap.Groups = append(snap.Groups, analysis.Group{Family: family})
			k = len(snap.Groups) - 1
		}
		group := &snap.Groups[k]
		group.Count += more
		for m := range more {
			if identified {
				group.Members.Fill().ID = append(group.Members.Fill().ID, int64(5_000_000+m))
			}
		}
	}
}

func TestTheOrderOfMembersChangesNothing(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		sc := drawn(rt)
		shuffled := sc.snapshots(t)
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 1))
		for _, snap := range shuffled {
			for g := range snap.Groups {
				ids := snap.Groups[g].Members.Fill().ID
				r.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
			}
			r.Shuffle(len(snap.Groups), func(i, j int) { snap.Groups[i], snap.Groups[j] = snap.Groups[j], snap.Groups[i] })
		}
		straight, mixed := sc.series(t), seriesOf(shuffled)
		if diff := cmp.Diff(straight.JudgeAll(), mixed.JudgeAll()); diff != "" {
			rt.Fatalf("judgements (-in order +shuffled):\n%s", diff)
		}
		if diff := cmp.Diff(straight.Lifelines(onlyFamily, -1), mixed.Lifelines(onlyFamily, -1)); diff != "" {
			rt.Fatalf("lifelines (-in order +shuffled):\n%s", diff)
		}
	})
}

func TestVerdictsWithoutWordsAreThoseOfTheJudgements(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		sc := drawn(rt)
		words := map[string]analysis.Verdict{}
		for f, j := range sc.series(t).JudgeAll() {
			words[f] = j.Verdict
		}
		if diff := cmp.Diff(words, sc.series(t).Verdicts()); diff != "" {
			rt.Fatalf("verdicts (-judged +alone):\n%s", diff)
		}
	})
}

func TestEveryVerdictSaysWhatWouldChangeIt(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		for f, j := range drawn(rt).series(t).JudgeAll() {
			if !slices.ContainsFunc(j.Evidence, func(e analysis.Evidence) bool { return e.Rule == ruleDecides }) {
				rt.Fatalf("%s is %s and nothing would change it: %v", f, j.Verdict, j.Evidence)
			}
		}
	})
}

func TestTheHourOfTheDayChangesNothing(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		sc := drawn(rt)
		later := sc.snapshots(t)
		for _, snap := range later {
			snap.CapturedAt = snap.CapturedAt.Add(31 * time.Hour)
		}
		if diff := cmp.Diff(sc.series(t).JudgeAll(), seriesOf(later).JudgeAll()); diff != "" {
			rt.Fatalf("judgements (-now +later):\n%s", diff)
		}
	})
}

func TestOneSnapshotAndTwoCountsNeverAccuse(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := drawn(rt).series(t)
		judged := s.JudgeAll()[onlyFamily]
		usable := 0
		for i := range s.Snapshots {
			if s.usable(i, analysis.KindGoroutine) {
				usable++
			}
		}
		if usable < 4 && judged.Verdict == analysis.Leaking {
			rt.Fatalf("%d snapshots: leaking %v", usable, judged.Evidence)
		}
	})
}
