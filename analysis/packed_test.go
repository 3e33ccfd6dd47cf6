package analysis_test

import (
	"bytes"
	"math"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"leakdiff/analysis"
)

func pack(members []analysis.PackedMember) *analysis.Packed {
	p := &analysis.Packed{}
	for _, m := range members {
		p.Append(m)
	}
	return p
}

// drawGoroutine draws any row, mixed with rows as dumps have them.
func drawGoroutine(t *rapid.T, before analysis.PackedMember) analysis.PackedMember {
	if rapid.IntRange(0, 9).Draw(t, "hostile") == 0 {
		return analysis.PackedMember{
			ID: rapid.Int64().Draw(t, "id"), Parent: rapid.Int64().Draw(t, "parent"), State: rapid.Uint16().Draw(t, "state"),
			Wait: rapid.Int32().Draw(t, "wait"), Line: rapid.Int64().Draw(t, "line"), Offset: rapid.Int64().Draw(t, "offset"), Length: rapid.Int32().Draw(t, "length"),
		}
	}
	m := analysis.PackedMember{
		ID: before.ID + rapid.Int64Range(-3, 40).Draw(t, "step"), Parent: before.Parent, State: rapid.Uint16Range(0, 2).Draw(t, "state"),
		Wait: rapid.Int32Range(-1, 20).Draw(t, "wait"), Length: rapid.Int32Range(100, 105).Draw(t, "length"),
	}
	if rapid.Bool().Draw(t, "own creator") {
		m.Parent = m.ID - 1
	}
	between := rapid.Int64Range(0, 3).Draw(t, "between")
	m.Offset = before.Offset + int64(before.Length) + 1 + 500*between
	m.Line = before.Line + 8 + 11*between
	return m
}

func TestAnyGoroutinesComeBackAsTheyWerePacked(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var want []analysis.PackedMember
		var before analysis.PackedMember
		for range rapid.IntRange(0, 200).Draw(t, "n") {
			before = drawGoroutine(t, before)
			want = append(want, before)
		}
		p := pack(want)
		if diff := cmp.Diff(want, slices.Collect(p.All())); diff != "" {
			t.Fatal(diff)
		}
		sets, values := p.Data()
		again := analysis.NewPacked(p.States(), sets, values)
		if diff := cmp.Diff(want, slices.Collect(again.All())); diff != "" {
			t.Fatalf("from its data: %s", diff)
		}
	})
}

func ids(p *analysis.Packed) []int64 {
	var out []int64
	for m := range p.All() {
		out = append(out, m.ID)
	}
	return out
}

func TestIDsAreThoseOfTheGoroutinesAlsoWhereDataIsDamaged(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var members []analysis.PackedMember
		var before analysis.PackedMember
		for range rapid.IntRange(0, 100).Draw(t, "n") {
			before = drawGoroutine(t, before)
			members = append(members, before)
		}
		p := pack(members)
		if diff := cmp.Diff(ids(p), slices.Collect(p.IDs())); diff != "" {
			t.Fatal(diff)
		}
		sets, values := p.Data()
		damaged := bytes.Clone(values[:rapid.IntRange(0, len(values)).Draw(t, "cut")])
		if len(damaged) > 0 {
			damaged[rapid.IntRange(0, len(damaged)-1).Draw(t, "at")] = rapid.Byte().Draw(t, "byte")
		}
		p = analysis.NewPacked(p.States(), sets, damaged)
		want := ids(p)
		if got := slices.Collect(p.IDs()); len(got) < len(want) || !slices.Equal(got[:len(want)], want) {
			t.Fatalf("got %v, want at least %v", got, want)
		}
	})
}

// leaked returns n successive goroutines of one stack.
func leaked(n int) []analysis.PackedMember {
	var out []analysis.PackedMember
	line, offset := int64(1), int64(0)
	for i := range n {
		m := analysis.PackedMember{ID: int64(1000 + 3*i), Parent: 1, Wait: int32(n-i) / 50, Line: line, Offset: offset, Length: 700}
		m.Length += int32(len("x")) * int32(i/300)
		out = append(out, m)
		line, offset = line+12, offset+int64(m.Length)+1
	}
	return out
}

func TestGoroutinesThatFollowOneAnotherTakeLittleMoreThanTwoBytesEach(t *testing.T) {
	const n = 1000
	sets, values := pack(leaked(n)).Data()
	if got := len(sets) + len(values); got > 2*n+n/5 {
		t.Errorf("%d goroutines take %d bytes", n, got)
	}
}

// TestALengthThatFollowsFromTheNumbersTakesNoRoom uses numbers of every width, the
// smallest and the largest: a block is longer by their digits. Stored data depends on
// that.
func TestALengthThatFollowsFromTheNumbersTakesNoRoom(t *testing.T) {
	const header, minutes, body, length = "goroutine ", ",  minutes", 100, 1 << 3
	numbers := []int64{1, 9, math.MaxInt64}
	power := int64(1)
	for range 18 {
		power *= 10
		numbers = append(numbers, power-1, power, power+1)
	}
	members := []analysis.PackedMember{{ID: 1, Wait: -1, Length: int32(len(header) + len("1") + body)}}
	for _, n := range numbers {
		for _, m := range []analysis.PackedMember{{ID: n, Wait: -1}, {ID: n, Parent: n, Wait: int32(min(n, math.MaxInt32))}} {
			m.Length = int32(len(header) + len(strconv.FormatInt(m.ID, 10)) + body)
			if m.Parent > 0 {
				m.Length += int32(len(strconv.FormatInt(m.Parent, 10)))
			}
			if m.Wait > 0 {
				m.Length += int32(len(minutes) + len(strconv.Itoa(int(m.Wait))))
			}
			members = append(members, m)
		}
	}
	sets, _ := pack(members).Data()
	for i, set := range sets[1:] {
		if set&length != 0 {
			t.Errorf("the length of %+v is kept", members[i+1])
		}
	}
}

func TestColumnsOfPackedGoroutinesAreThoseOfEachVariantInTurn(t *testing.T) {
	first := pack([]analysis.PackedMember{{ID: 7, Parent: 1, State: 4, Wait: -1, Line: 1, Offset: 0, Length: 90}, {ID: 9, State: 2, Wait: 3, Line: 20, Offset: 800, Length: 95}})
	second := pack([]analysis.PackedMember{{ID: 8, Parent: 2, State: 2, Wait: 5, Line: 10, Offset: 400, Length: 99}})
	m := analysis.Members{
		States: []string{"running", "idle", "select", "sleep", "IO wait"},
		Packed: []analysis.Packing{{Packed: first, Variant: 1, Artifact: 6}, {Packed: second, Variant: 0, Artifact: 6}},
	}
	if !m.Identified() || m.Len() != 3 {
		t.Errorf("identified %t, %d members, want true and 3", m.Identified(), m.Len())
	}
	appended := m.AppendIDs([]int64{5})
	ids, waits, parents, all := slices.Collect(m.IDs()), slices.Collect(m.Waits()), slices.Collect(m.Parents()), slices.Collect(m.All())
	m.Unpack()
	if diff := cmp.Diff([]any{m.ID, m.Wait, m.Parent}, []any{ids, waits, parents}); diff != "" {
		t.Errorf("packed: %s", diff)
	}
	if diff := cmp.Diff(slices.Collect(m.All()), all); diff != "" {
		t.Errorf("packed: %s", diff)
	}
	if diff := cmp.Diff([][]int64{{5, 7, 9, 8}, {5, 7, 9, 8}}, [][]int64{appended, m.AppendIDs([]int64{5})}); diff != "" {
		t.Errorf("appended, packed and of columns: %s", diff)
	}
	want := analysis.Members{
		States: []string{"IO wait", "select"},
		Columns: &analysis.Columns{
			ID: []int64{7, 9, 8}, Parent: []int64{1, 0, 2}, State: []uint16{0, 1, 1}, Wait: []int32{-1, 3, 5},
			Variant: []int32{1, 1, 0}, Artifact: []int32{6, 6, 6}, Line: []int64{1, 20, 10}, Offset: []int64{0, 800, 400}, Length: []int32{90, 95, 99},
		},
	}
	if diff := cmp.Diff(want, m); diff != "" {
		t.Error(diff)
	}
}

func TestDamagedDataEndsBeforeTheLastGoroutine(t *testing.T) {
	p := pack(leaked(20))
	sets, values := p.Data()
	for name, bad := range map[string]*analysis.Packed{
		"values that are cut":           analysis.NewPacked(p.States(), sets, values[:len(values)-1]),
		"more values than sets":         analysis.NewPacked(p.States(), sets[:19], values),
		"fewer values than sets":        analysis.NewPacked(p.States(), append(sets, 0), values),
		"a state that is unknown":       analysis.NewPacked(nil, sets, values),
		"a field that is unknown":       analysis.NewPacked(p.States(), append([]byte{1 << 7}, sets[1:]...), values),
		"a varint that does not end":    analysis.NewPacked(p.States(), sets, bytes.Repeat([]byte{0xff}, 40)),
		"a length that is out of range": analysis.NewPacked(p.States(), []byte{1 << 3}, []byte{0, 0xff, 0xff, 0xff, 0xff, 0x7f}),
	} {
		if got := len(slices.Collect(bad.All())); got >= bad.Len() {
			t.Errorf("%s: %d goroutines of %d", name, got, bad.Len())
		}
	}
}

func FuzzPacked(f *testing.F) {
	sets, values := pack(leaked(20)).Data()
	f.Add(sets, values)
	f.Add([]byte{0x3f}, []byte{1, 1, 1, 1, 1, 1, 1})
	f.Fuzz(func(t *testing.T, sets, values []byte) {
		all := slices.Collect(analysis.NewPacked([]uint16{0, 1, 2}, sets, values).All())
		if len(all) > len(sets) {
			t.Fatalf("%d goroutines of %d", len(all), len(sets))
		}
		if diff := cmp.Diff(all, slices.Collect(pack(all).All())); diff != "" {
			t.Fatal(diff)
		}
	})
}
