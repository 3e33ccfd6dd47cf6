package store

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"leakdiff/analysis"
)

func TestObjectsAreStoredWithTheirSnapshot(t *testing.T) {
	f := open(t)
	c := f.newCase("a")
	result := kubeletResult("1")
	watch := analysis.ObjectKind{
		Name: "*watch.Watcher", Type: "example.org/watch.(*Watcher)", Level: analysis.ByParent, Parts: 2,
		Each:    []analysis.ObjectRole{{Role: "watch.run", N: 1, Level: analysis.ByAddress}, {Role: "watch.read < io.Copy", N: 1, Level: analysis.ByParent}},
		Holders: []analysis.ObjectHolder{{Type: "example.org/watch.(*Server)", Role: analysis.CreatedBy, N: 2}},
	}
	watch.Append(analysis.ObjectRow{Root: 7, Parts: []int64{7, 9}})
	watch.Append(analysis.ObjectRow{Root: 1 << 40, Parts: []int64{3, 1 << 40}})
	single := analysis.ObjectKind{Name: "main.wait", Type: "main.wait", Level: analysis.ByGoroutine, Parts: 1, Each: []analysis.ObjectRole{{Role: "main.wait", N: 1, Level: analysis.ByGoroutine}}}
	single.Append(analysis.ObjectRow{Root: 12, Parts: []int64{12}})
	want := &analysis.Objects{Threads: true, Kinds: []analysis.ObjectKind{watch, single}}
	result.Snapshots[0].Joined = want
	pairs := []analysis.Pair{{Goroutine: 7, FD: 12}, {Goroutine: 9, FD: 3}, {Goroutine: 1 << 40, FD: 0}}
	result.Snapshots[0].Pairs = pairs
	f.filled(c.ID, "one", result)
	f.filled(c.ID, "two", kubeletResult("2"))
	check := func(got *analysis.Objects) {
		t.Helper()
		if got == nil || !got.Threads || len(got.Kinds) != len(want.Kinds) {
			t.Fatalf("got %+v", got)
		}
		for i := range want.Kinds {
			if d := cmp.Diff(objectRows(&want.Kinds[i]), objectRows(&got.Kinds[i])); d != "" {
				t.Error(d)
			}
			a, b := want.Kinds[i], got.Kinds[i]
			a.SetData(a.Count, nil)
			b.SetData(b.Count, nil)
			if d := cmp.Diff(a, b, cmp.AllowUnexported(analysis.ObjectKind{}), cmp.FilterPath(func(p cmp.Path) bool { return p.String() == "last" }, cmp.Ignore())); d != "" {
				t.Error(d)
			}
		}
	}
	all, err := f.full(c.ID)
	if f.ok(err); len(all) != 2 || all[1].Joined != nil {
		t.Fatalf("%d snapshots", len(all))
	}
	check(all[0].Joined)
	rows, heads, err := f.SnapshotHeads(f.ctx, c.ID)
	f.ok(err)
	f.ok(f.FillSnapshots(f.ctx, rows[:1], []*analysis.Snapshot{&heads[0]}))
	check(heads[0].Joined)
	if d := cmp.Diff(pairs, heads[0].Pairs); d != "" {
		t.Error(d)
	}
	f.wantSound()
}

func objectRows(k *analysis.ObjectKind) (out []analysis.ObjectRow) {
	for r := range k.Rows() {
		r.Parts = append([]int64{}, r.Parts...)
		out = append(out, r)
	}
	return out
}
