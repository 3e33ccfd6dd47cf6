package ingest

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"leakdiff/analysis"
	"leakdiff/analysis/read/bundle"
)

func TestPackedGroupsAreThoseThatWerePacked(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table := &groupTable{}
		var all []packedGroups
		var want [][]analysis.Group
		for range rapid.IntRange(1, 3).Draw(t, "snapshots") {
			var packed, whole []analysis.Group
			for i := range rapid.IntRange(0, 4).Draw(t, "groups") {
				packed = append(packed, goroutineGroup(t, i))
			}
			if rapid.Bool().Draw(t, "other kinds") {
				whole = append(whole, analysis.Group{Family: &analysis.Family{Kind: analysis.KindThread}, Count: 1, Members: analysis.Members{Columns: &analysis.Columns{ID: []int64{1}}}})
			}
			all = append(all, table.pack(append(whole[:len(whole):len(whole)], packed...)))
			want = append(want, unpacked(append(packed, whole...)))
		}
		for i := range all {
			if diff := cmp.Diff(want[i], unpacked(table.unpack(all[i]))); diff != "" {
				t.Fatalf("snapshot %d differs: %s", i, diff)
			}
		}
	})
}

// unpacked has the members in columns, which can be compared.
func unpacked(groups []analysis.Group) []analysis.Group {
	var out []analysis.Group
	for _, g := range groups {
		g.Members.Unpack()
		out = append(out, g)
	}
	return out
}

func goroutineGroup(t *rapid.T, number int) analysis.Group {
	stack := &analysis.Stack{Frames: []analysis.Frame{{Func: "main.run", Line: number}}}
	words := rapid.SliceOfN(rapid.SampledFrom([]string{"select", "IO wait", "", "\x00"}), 1, 4).Draw(t, "states")
	g := analysis.Group{
		Family:     &analysis.Family{Kind: analysis.KindGoroutine, Title: rapid.String().Draw(t, "title")},
		OldestWait: rapid.IntRange(-1, 1000).Draw(t, "oldest"),
		Leaked:     rapid.IntRange(0, 3).Draw(t, "leaked"),
		States:     map[string]int{},
		Members:    analysis.Members{States: words},
	}
	for i := range g.Waits {
		g.Waits[i] = rapid.IntRange(0, 2).Draw(t, "waits")
	}
	for variant := range rapid.IntRange(1, 3).Draw(t, "variants") {
		members := new(analysis.Packed)
		n := rapid.SampledFrom([]int{1, 2, fewMembers, fewMembers + 1}).Draw(t, "members")
		for i := range n {
			state := uint16(i % len(words))
			g.States[words[state]]++
			members.Append(analysis.PackedMember{ID: int64(7*i + 1), Parent: int64(variant), State: state, Wait: int32(i%3 - 1), Line: int64(i), Offset: int64(100 * i), Length: 50})
		}
		g.Count += n
		g.Variants = append(g.Variants, analysis.Variant{Fingerprint: rapid.String().Draw(t, "print"), Stack: stack, Count: n})
		g.Members.Packed = append(g.Members.Packed, analysis.Packing{Packed: members, Variant: int32(variant), Artifact: int32(number)})
	}
	return g
}

func TestDeferredGroupsAreThoseOfTheSnapshots(t *testing.T) {
	at := filepath.Join("..", "goroutine", "testdata", "debug2-go1.26.8.txt")
	dump, err := os.ReadFile(at)
	if err != nil {
		t.Fatal(err)
	}
	var inputs []bundle.Input
	for _, name := range []string{"t0/app/goroutines.txt", "t1/app/goroutines.txt", "t1/app/lsof.txt"} {
		content := dump
		if strings.HasSuffix(name, "lsof.txt") {
			content = []byte("COMMAND PID USER FD TYPE DEVICE SIZE/OFF NODE NAME\napp 7 root 3u IPv4 11 0t0 TCP 127.0.0.1:1->127.0.0.1:2 (ESTABLISHED)\n")
		}
		inputs = append(inputs, bundle.Input{Name: name, Size: int64(len(content)), Open: func() (io.ReadCloser, error) {
			return io.NopCloser(bytes.NewReader(content)), nil
		}})
	}
	whole, err := Run(t.Context(), Config{}, inputs)
	if err != nil {
		t.Fatal(err)
	}
	deferred, err := Run(t.Context(), Config{Deferred: true}, inputs)
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[analysis.Kind]bool{}
	for i := range deferred.Snapshots {
		if deferred.Snapshots[i].Groups != nil {
			t.Errorf("snapshot %d has groups already", i)
		}
		groups := unpacked(deferred.GroupsOf(i))
		if diff := cmp.Diff(whole.Snapshots[i].Groups, groups); diff != "" {
			t.Errorf("snapshot %d differs: %s", i, diff)
		}
		for _, g := range groups {
			kinds[g.Family.Kind] = true
		}
	}
	if len(deferred.Snapshots) < 2 || !kinds[analysis.KindGoroutine] || !kinds[analysis.KindDescriptor] {
		t.Errorf("got %d snapshots with %v", len(deferred.Snapshots), kinds)
	}
}
