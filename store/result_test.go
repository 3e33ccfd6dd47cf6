package store

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"leakdiff/analysis"
)

func TestSmallSnapshotsShareTransactionsAndLargeOnesHaveTheirOwn(t *testing.T) {
	of := func(groups ...int) (snaps []*analysis.Snapshot) {
		for _, n := range groups {
			snaps = append(snaps, &analysis.Snapshot{Groups: make([]analysis.Group, n)})
		}
		return snaps
	}
	for _, test := range []struct {
		groups []int
		want   int
	}{
		{[]int{1}, 1},
		{make([]int, 2*smallBatch), smallBatch},
		{[]int{smallBatch / 2, smallBatch / 4, smallBatch / 2}, 2},
		{[]int{10 * smallBatch, 1}, 1},
		{[]int{1, 10 * smallBatch}, 1},
	} {
		if got := together(of(test.groups...)); got != test.want {
			t.Errorf("of snapshots with %d groups each, beginning with %d, %d are written together, want %d", len(test.groups), test.groups[0], got, test.want)
		}
	}
}

func TestSnapshotsOfOneTransactionKeepTheirOrderAndAreFound(t *testing.T) {
	f := open(t)
	c := f.newCase("a")
	r := Result{}
	var want []string
	for i := range 40 {
		snap := kubelet(fmt.Sprint("s", i), instant, 2)
		for g := range snap.Groups {
			family := *snap.Groups[g].Family
			family.Fingerprint += fmt.Sprintf("%02d", i)
			family.Loose = append([]string{fmt.Sprintf("example.org/many.call%02dof%d", i, g)}, family.Loose...)
			snap.Groups[g].Family = &family
		}
		r.Snapshots = append(r.Snapshots, snap)
		want = append(want, snap.ID)
	}
	f.filled(c.ID, "x", r)
	var got []string
	for _, snap := range must[[]analysis.Snapshot](t)(f.Snapshots(f.ctx, c.ID)) {
		got = append(got, snap.ID)
	}
	wantEqual(t, want, got)
	for _, word := range []string{"many.call00of0", "call39of2"} {
		if found := must[SearchResult](t)(f.SearchFunctions(f.ctx, word, nil, 10, 0)); len(found.Families) != 1 {
			t.Errorf("%d families are found by %s, want 1", len(found.Families), word)
		}
	}
	f.wantSound()
}

func TestTheLogOfAResultIsCopiedByTheNextCommit(t *testing.T) {
	f := openFile(t)
	c := f.newCase("a")
	f.ok(f.reclaim(f.ctx)) // copies all of it
	size := func() int64 {
		info, err := os.Stat(filepath.Join(f.dir, databaseFile))
		f.ok(err)
		return info.Size()
	}
	before := size()
	snap := kubelet("2", instant, 5)
	var members analysis.Members // more than a commit leaves in the log
	for range 700_000 {
		members.Fill().ID = append(members.Fill().ID, rand.Int64())
	}
	snap.Groups[0].Members = members
	f.filled(c.ID, "1", Result{Snapshots: []analysis.Snapshot{snap}})
	if grown := size() - before; grown != 0 {
		t.Errorf("the database has grown by %d bytes while somebody waits for the result", grown)
	}
	f.ok(f.SetSetting(f.ctx, "a", "b"))
	if grown := size() - before; grown < 1<<20 {
		t.Errorf("the database has grown by %d bytes after the next commit", grown)
	}
}

func TestGroupsAreAskedForOnceAndFewAtATime(t *testing.T) {
	f := open(t)
	c := f.newCase("a")
	var whole, deferred Result
	var groups [][]analysis.Group
	asked, most := map[int]int{}, 0
	for i := range smallBatch {
		snap := kubelet(fmt.Sprint("s", i), instant.Add(time.Duration(i)*time.Minute), 2)
		whole.Snapshots = append(whole.Snapshots, snap)
		groups = append(groups, slices.Clone(snap.Groups))
		snap.Groups = nil
		deferred.Snapshots = append(deferred.Snapshots, snap)
	}
	deferred.Groups = func(place int) []analysis.Group {
		asked[place]++
		present := 0
		for i := range deferred.Snapshots {
			if deferred.Snapshots[i].Groups != nil {
				present++
			}
		}
		most = max(most, present)
		return groups[place]
	}
	want := withoutMembersOf(whole.Snapshots)
	f.filled(c.ID, "x", deferred)
	wantEqual(t, want, withoutMembersOf(must[[]analysis.Snapshot](t)(f.Snapshots(f.ctx, c.ID))))
	for i := range deferred.Snapshots {
		if asked[i] != 1 {
			t.Errorf("the groups of snapshot %d were asked for %d times", i, asked[i])
		}
	}
	if most == 0 || most > smallBatch/2 {
		t.Errorf("up to %d of %d snapshots had their groups", most, smallBatch)
	}
}
