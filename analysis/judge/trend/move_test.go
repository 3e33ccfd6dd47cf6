package trend

import (
	"slices"
	"testing"
	"time"

	"leakdiff/analysis"
)

// moving are watches by family in each of three snapshots: ids of 1, 2, 3 …
func moving(rounds ...map[string][]int64) *Series {
	var snaps []*analysis.Snapshot
	for i, round := range rounds {
		snap := &analysis.Snapshot{Label: "t" + itoa(i), Order: i, CapturedAt: testEpoch.Add(time.Duration(i) * time.Minute)}
		total := 0
		for print, ids := range round {
			g := analysis.Group{Family: &analysis.Family{Fingerprint: print, Kind: analysis.KindWatch, Title: print}, Count: len(ids), OldestWait: -1}
			for _, id := range ids {
				g.Members.ID, g.Members.Sub, g.Members.Hash = append(g.Members.ID, 4), append(g.Members.Sub, id), append(g.Members.Hash, uint64(1000+id))
			}
			snap.Groups = append(snap.Groups, g)
			total += len(ids)
		}
		setTotal(snap, analysis.KindWatch, total)
		snaps = append(snaps, snap)
	}
	return seriesOf(snaps)
}

func TestAWatchWhoseMountGoesIsNeitherBornNorEnded(t *testing.T) {
	all := []int64{1, 2, 3, 4, 5, 6}
	s := moving(map[string][]int64{"w1:there": all}, map[string][]int64{"w1:there": all}, map[string][]int64{"w1:dead": all})
	for print, want := range map[string]string{"w1:dead": "from_elsewhere 6/6 from=t1 to=t2 new=0", "w1:there": "stayed 0/6 from=t0 to=t2 went_elsewhere=6"} {
		j := s.JudgeAll()[print]
		if all := everyEvidence(j, ruleSurvivors); j.Verdict != analysis.Stable || !slices.Contains(all, want) {
			t.Errorf("%s is %s: %q, want %s", print, j.Verdict, all, want)
		}
	}
	for _, line := range s.Lifelines("w1:dead", -1) {
		if line.First != 0 || line.Last != 2 || line.Seen != 3 {
			t.Errorf("%+v", line)
		}
	}
	// Watches that nobody saw before are new, those that nobody lists any more are gone.
	s = moving(map[string][]int64{"w1:there": all, "w1:kept": {9}}, map[string][]int64{"w1:there": all, "w1:kept": {9}}, map[string][]int64{"w1:dead": {11, 12, 13}, "w1:kept": {9}})
	if a, b := s.JudgeAll()["w1:dead"].Verdict, s.JudgeAll()["w1:there"].Verdict; a != analysis.New || b != analysis.Gone {
		t.Errorf("%s and %s", a, b)
	}
}
