package trend

import (
	"slices"
	"testing"
	"time"

	"leakdiff/analysis"
)

// moving are watches by family in each of three snapshots: ids of 1, 2, 3 …
func moving(rounds ...map[string][]int64) *Series {
	return movingOf(analysis.KindWatch, "", func(id int64) analysis.Identity {
		return analysis.Identity{ID: 4, Sub: id, Hash: uint64(1000 + id)}
	}, rounds...)
}

func movingOf(kind analysis.Kind, protocol string, identity func(id int64) analysis.Identity, rounds ...map[string][]int64) *Series {
	return movingWith(kind, map[string]string{"protocol": protocol}, identity, rounds...)
}

func movingWith(kind analysis.Kind, attributes map[string]string, identity func(id int64) analysis.Identity, rounds ...map[string][]int64) *Series {
	var snaps []*analysis.Snapshot
	for i, round := range rounds {
		snap := &analysis.Snapshot{Label: "t" + itoa(i), Order: i, CapturedAt: testEpoch.Add(time.Duration(i) * time.Minute)}
		total := 0
		for print, ids := range round {
			family := &analysis.Family{Fingerprint: print, Kind: kind, Title: print, Attributes: attributes}
			g := analysis.Group{Family: family, Count: len(ids), OldestWait: -1}
			for _, id := range ids {
				x := identity(id)
				g.Members.Fill().ID, g.Members.Fill().Sub, g.Members.Fill().Hash = append(g.Members.Fill().ID, x.ID), append(g.Members.Fill().Sub, x.Sub), append(g.Members.Fill().Hash, x.Hash)
			}
			snap.Groups = append(snap.Groups, g)
			total += len(ids)
		}
		setTotal(snap, kind, total)
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

// A socket whose peer closes it is in the family of another state. It is followed there by its
// inode or its ends, and not by its number, which another one may have.
func TestASocketThatChangesItsStateIsNeitherBornNorEnded(t *testing.T) {
	byInode := func(id int64) analysis.Identity { return analysis.Identity{ID: id, Sub: 1000 + id} }
	byEnds := func(id int64) analysis.Identity { return analysis.Identity{ID: -1, Hash: uint64(1000 + id)} }
	byNumber := func(id int64) analysis.Identity { return analysis.Identity{ID: id} }
	all := []int64{1, 2, 3, 4, 5, 6}
	for name, c := range map[string]struct {
		protocol string
		identity func(int64) analysis.Identity
		same     bool
		kind     analysis.IdentityKind
	}{
		"by inode":         {"TCP", byInode, true, analysis.Inode},
		"by its ends":      {"TCP", byEnds, true, analysis.Ends},
		"by number":        {"TCP", byNumber, false, analysis.Number},
		"a pipe, by inode": {"", byInode, false, analysis.Inode},
	} {
		s := movingOf(analysis.KindDescriptor, c.protocol, c.identity,
			map[string][]int64{"d1:open": all}, map[string][]int64{"d1:open": all}, map[string][]int64{"d1:closed": all})
		opened, closed := s.JudgeAll()["d1:open"], s.JudgeAll()["d1:closed"]
		if same := opened.Verdict == analysis.Stable && closed.Verdict == analysis.Stable; same != c.same {
			t.Errorf("%s: %s and %s", name, opened.Verdict, closed.Verdict)
		}
		if !c.same && (opened.Verdict != analysis.Gone || closed.Verdict != analysis.New) {
			t.Errorf("%s: %s and %s, want gone and new", name, opened.Verdict, closed.Verdict)
		}
		if got := s.parts["d1:open"].identity(); got != c.kind {
			t.Errorf("%s: followed by %s, want %s", name, got, c.kind)
		}
	}
}

// A file that is deleted while it is open is in the family of deleted files. The descriptor and
// the inode are the same.
func TestAFileThatIsDeletedIsNeitherBornNorEnded(t *testing.T) {
	all := []int64{1, 2, 3, 4, 5, 6}
	identity := func(id int64) analysis.Identity { return analysis.Identity{ID: id, Sub: 1000 + id} }
	for name, c := range map[string]struct {
		identity func(int64) analysis.Identity
		later    []int64
		want     analysis.Verdict
	}{
		"the same numbers and inodes": {identity, all, analysis.Stable},
		"other inodes":                {identity, []int64{11, 12, 13, 14, 15, 16}, analysis.New},
		"numbers without inodes":      {func(id int64) analysis.Identity { return analysis.Identity{ID: id} }, all, analysis.New},
	} {
		s := movingWith(analysis.KindDescriptor, map[string]string{"type": "file"}, c.identity,
			map[string][]int64{"d1:there": all}, map[string][]int64{"d1:there": all}, map[string][]int64{"d1:deleted": c.later})
		if got := s.JudgeAll()["d1:deleted"].Verdict; got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
