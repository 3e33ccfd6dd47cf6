package store

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"net/netip"
	"reflect"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"leakdiff/analysis"
)

// drawGroups makes groups of any figures, with the rows that they refer to.
func drawGroups(t *rapid.T) (groups []analysis.Group, words []groupWords, members []int) {
	number := rapid.OneOf(rapid.IntRange(-1, 3), rapid.IntRange(0, 2000), rapid.Int())
	row := rapid.OneOf(rapid.Int64Range(1, 300), rapid.Int64Range(1, 1<<40))
	for range rapid.IntRange(0, 30).Draw(t, "groups") {
		g := analysis.Group{Count: number.Draw(t, "count"), OldestWait: number.Draw(t, "oldest")}
		if rapid.Bool().Draw(t, "leaked") {
			g.Leaked = number.Draw(t, "leaked")
		}
		switch rapid.IntRange(0, 3).Draw(t, "waits") {
		case 0:
			g.Waits[min(max(g.OldestWait, 0), len(g.Waits)-1)] = g.Count
		case 1:
			g.Waits[rapid.IntRange(0, len(g.Waits)-1).Draw(t, "bucket")] = g.Count
		case 2:
			for i := range g.Waits {
				g.Waits[i] = number.Draw(t, "waits")
			}
		}
		states := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"select", "IO wait", "", "chan receive", "日本"}), 0, 4, rapid.ID).Draw(t, "states")
		for _, state := range states {
			if g.States == nil {
				g.States = map[string]int{}
			}
			g.States[state] = rapid.OneOf(rapid.Just(g.Count), number).Draw(t, "in state")
		}
		w := groupWords{family: row.Draw(t, "family")}
		for range rapid.IntRange(0, 3).Draw(t, "variants") {
			w.variants = append(w.variants, row.Draw(t, "stack"), int64(rapid.OneOf(rapid.Just(max(g.Count, 0)), rapid.IntRange(0, math.MaxInt)).Draw(t, "in variant")))
		}
		groups, words = append(groups, g), append(words, w)
		members = append(members, rapid.OneOf(rapid.Just(min(max(g.Count, 0), maxMembers)), rapid.IntRange(0, maxMembers)).Draw(t, "members"))
	}
	return groups, words, members
}

func TestAnyFactsComeBackAsTheyWere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		groups, words, members := drawGroups(t)
		var p packer
		defer p.close()
		blob, err := packFacts(&p, groups, words, members)
		if err != nil {
			t.Fatal(err)
		}
		var r factReader
		i := 0
		for g := range r.read(&p, blob) {
			got := analysis.Group{Count: g.count, Leaked: g.leaked, OldestWait: g.oldest, Waits: g.waits}
			for k := 0; k < len(g.states); k += 2 {
				if got.States == nil {
					got.States = map[string]int{}
				}
				got.States[r.names[g.states[k]]] = int(g.states[k+1])
			}
			if diff := cmp.Diff(groups[i], got); diff != "" || g.family != words[i].family || g.members != members[i] {
				t.Fatalf("family %d, want %d, members %d, want %d: %s", g.family, words[i].family, g.members, members[i], diff)
			}
			if diff := cmp.Diff(words[i].variants, g.stacks, cmpopts.EquateEmpty()); diff != "" {
				t.Fatal(diff)
			}
			i++
		}
		if i != len(groups) || r.done() != nil {
			t.Fatalf("%d groups of %d: %v", i, len(groups), r.done())
		}
	})
}

// sealedAgain has the checksum that fits, so that damage reaches the values.
func sealedAgain(blob []byte) []byte {
	out := append([]byte(nil), blob...)
	if len(out) >= sealedHeader {
		binary.LittleEndian.PutUint32(out[1:], checksum(out[sealedHeader:]))
	}
	return out
}

func readAllFacts(blob []byte) (n int, err error) {
	var p packer
	defer p.close()
	var r factReader
	for range r.read(&p, blob) {
		n++
	}
	return n, r.done()
}

func factsOf(t testing.TB, snap analysis.Snapshot) []byte {
	t.Helper()
	var words []groupWords
	var members []int
	for i := range snap.Groups {
		w := groupWords{family: int64(100 + i)}
		for k, v := range snap.Groups[i].Variants {
			w.variants = append(w.variants, int64(900+7*i+k), int64(v.Count))
		}
		words, members = append(words, w), append(members, snap.Groups[i].Members.Len())
	}
	var p packer
	defer p.close()
	blob, err := packFacts(&p, snap.Groups, words, members)
	if err != nil {
		t.Fatal(err)
	}
	return blob
}

func TestDamagedFactsAreAnError(t *testing.T) {
	for name, snap := range map[string]analysis.Snapshot{"plain": kubelet("2", instant, 5), "zstd": capture(3)} {
		good := factsOf(t, snap)
		if n, err := readAllFacts(good); n != len(snap.Groups) || err != nil {
			t.Fatalf("%s: %d groups, %v", name, n, err)
		}
		for i := range good {
			bad := append([]byte(nil), good...)
			bad[i] ^= 0x10
			if _, err := readAllFacts(bad); err == nil {
				t.Errorf("%s, byte %d flipped: no error", name, i)
			}
			for _, cut := range [][]byte{good[:i], sealedAgain(good[:i])} {
				if _, err := readAllFacts(cut); err == nil {
					t.Errorf("%s, cut after %d bytes: no error", name, i)
				}
			}
		}
	}
}

func FuzzFacts(f *testing.F) {
	for _, snap := range []analysis.Snapshot{kubelet("2", instant, 5), capture(1), {}} {
		f.Add(factsOf(f, snap))
	}
	f.Fuzz(func(t *testing.T, blob []byte) {
		readAllFacts(blob)
		if n, err := readAllFacts(sealedAgain(blob)); err == nil && n > maxGroups {
			t.Fatal("more groups than are possible")
		}
	})
}

func packedHead(t testing.TB, snap *analysis.Snapshot) []byte {
	t.Helper()
	var p packer
	defer p.close()
	return must[[]byte](t)(packHead(&p, snap))
}

// fillIn sets every field below v to something that is not zero.
func fillIn(v reflect.Value, depth int) {
	switch v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(instant.Add(time.Duration(depth) * time.Hour)))
		return
	case analysis.Members, *analysis.Objects: // stand beside the head
		return
	case *analysis.Sockets:
		end := netip.MustParseAddrPort("[2001:db8::1]:443")
		v.Set(reflect.ValueOf(analysis.NewSockets([]analysis.Connection{{Protocol: "tcp", Local: end, Remote: end, State: "CLOSE_WAIT", Inode: 1 << 50}, {Protocol: "udp", Local: end, Foreign: true}})))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(fmt.Sprint("text ", depth))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(-77 - depth))
	case reflect.Uint64:
		v.SetUint(1 << 63)
	case reflect.Float64:
		v.SetFloat(0.5 + float64(depth))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fillIn(v.Elem(), depth+1)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range 2 {
			fillIn(v.Index(i), depth+i)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fillIn(key, depth)
		fillIn(value, depth+1)
		v.SetMapIndex(key, value)
	case reflect.Struct:
		for i := range v.NumField() {
			fillIn(v.Field(i), depth+i)
		}
	}
}

func TestEveryFieldOfAHeadComesBack(t *testing.T) {
	var full analysis.Snapshot
	fillIn(reflect.ValueOf(&full).Elem(), 1)
	full.Groups, full.Pairs = nil, nil // stand beside the head
	full.Upload = ""                   // in the row of the bundle
	full.Thinned = time.Time{}         // in the row of the snapshot
	for i := range full.Problems {     // one below zero does not apply
		full.Problems[i].Line, full.Problems[i].Offset = int64(7+i), int64(99-i)
	}
	full.Artifacts[1].SHA256 = "00ff" + fmt.Sprintf("%060x", 99)
	other := kubelet("2", instant, 5)
	other.Groups = nil
	other.Times = map[analysis.Kind]time.Time{analysis.KindThread: instant.Add(time.Nanosecond)}
	other.Figures = map[string]float64{"a": math.Inf(-1), "b": math.NaN(), "c": math.Copysign(0, -1), "d": 1 << 60, "e": -3, "f": 0.5}
	other.Objects = map[string][]analysis.Object{"g1:a": {{Members: []int64{}}}, "g1:b": nil}
	for name, want := range map[string]analysis.Snapshot{"full": full, "another": other, "empty": {}, "no objects": {Objects: map[string][]analysis.Object{}},
		"monitors without connections": {Monitors: &analysis.Monitors{More: 2, List: []analysis.Monitor{{Class: "a.Pool", Waiters: 3, Waiting: []string{"w"}, Holder: &analysis.MonitorHolder{Name: "h", ID: -1}}}}}} {
		var p packer
		filled := want
		filled.Groups = make([]analysis.Group, 2)
		got, families, err := unpackHead(&p, want.ID, want.Label, packedHead(t, &filled))
		p.close()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if families != 2 {
			t.Errorf("%s: %d families, want 2", name, families)
		}
		if diff := cmp.Diff(&want, got, cmpopts.EquateNaNs(), cmp.AllowUnexported(analysis.Sockets{})); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func FuzzHead(f *testing.F) {
	var full analysis.Snapshot
	fillIn(reflect.ValueOf(&full).Elem(), 1)
	one := capture(1)
	f.Add(packedHead(f, &full))
	f.Add(packedHead(f, &one))
	f.Fuzz(func(t *testing.T, blob []byte) {
		var p packer
		defer p.close()
		unpackHead(&p, "s", "", blob)
		head, _, err := unpackHead(&p, "s", "", sealedAgain(blob))
		if err != nil {
			return
		}
		again := packedHead(t, head)
		back, _, err := unpackHead(&p, "s", "", again)
		if err != nil {
			t.Fatal(err)
		}
		// Texts that are no UTF-8 are put right when they are written.
		if !bytes.Equal(packedHead(t, back), again) {
			t.Fatalf("%+v comes back as %+v", head, back)
		}
	})
}

func packedSet(t testing.TB, groups ...analysis.Members) []byte {
	t.Helper()
	var p packer
	defer p.close()
	w := memberWriter{p: &p}
	for i := range groups {
		if err := w.add(&groups[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.flush(); err != nil {
		t.Fatal(err)
	}
	return w.out
}

func openedSet(value []byte, counts []int) (out []analysis.Members, err error) {
	var p packer
	defer p.close()
	r := memberReader{p: &p, value: value}
	for _, n := range counts {
		m, err := r.next(n)
		if err != nil {
			return nil, err
		}
		m.Unpack()
		if m.Len() != n {
			return nil, fmt.Errorf("fewer values than %d members", n)
		}
		out = append(out, m)
	}
	return out, r.done()
}

func countsOf(groups []analysis.Members) (out []int) {
	for i := range groups {
		out = append(out, groups[i].Len())
	}
	return out
}

func TestAnySetOfMembersComesBackAsItWas(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var groups, want []analysis.Members
		for range rapid.IntRange(0, 6).Draw(rt, "groups") {
			m := drawMembers(rt)
			if m.Identified() && rapid.Bool().Draw(rt, "packed") {
				goroutines := leakedMembers(min(m.Len(), 1+rapid.IntRange(0, 2000).Draw(rt, "n")))
				m = packedOf(&goroutines)
			}
			groups = append(groups, m)
			m.Unpack()
			want = append(want, m)
		}
		got, err := openedSet(packedSet(t, groups...), countsOf(groups))
		if err != nil {
			rt.Fatal(err)
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			rt.Fatal(diff)
		}
	})
}

// mixedMembers are small and large families, packed and in columns.
func mixedMembers() (groups []analysis.Members) {
	for i, n := range []int{3, 0, 1025, 40, 1024, 1029, 1} {
		m := leakedMembers(n)
		if n > 0 && i%2 == 0 {
			m = packedOf(&m)
		}
		groups = append(groups, m)
	}
	return groups
}

func TestADamagedSetOfMembersIsAnError(t *testing.T) {
	groups := mixedMembers()
	counts := countsOf(groups)
	good := packedSet(t, groups...)
	if _, err := openedSet(good, counts); err != nil {
		t.Fatal(err)
	}
	for i := range good {
		bad := append([]byte(nil), good...)
		bad[i] ^= 0x10
		if _, err := openedSet(bad, counts); err == nil {
			t.Errorf("byte %d flipped: no error", i)
		}
		if _, err := openedSet(good[:i], counts); err == nil {
			t.Errorf("cut after %d bytes: no error", i)
		}
	}
	for i := range counts {
		counts[i]++
		if _, err := openedSet(good, counts); err == nil {
			t.Errorf("one more member of group %d: no error", i)
		}
		counts[i]--
	}
	if _, err := openedSet(good, counts[1:]); err == nil {
		t.Error("a group less: no error")
	}
}

func TestMembersOfManyFamiliesAreInSeveralFrames(t *testing.T) {
	var groups, want []analysis.Members
	for i := range 300 {
		m := leakedMembers(1000)
		for k := range m.ID {
			m.Detail = append(m.Detail, strconv.Itoa(i*k*k))
		}
		groups, want = append(groups, m), append(want, m)
	}
	var many analysis.Members
	for i := range 1 << 16 {
		many.States = append(many.States, fmt.Sprint("state ", i))
	}
	one := &analysis.Packed{}
	one.Append(analysis.PackedMember{ID: 5, State: 1<<16 - 1})
	many.Packed = []analysis.Packing{{Packed: one}}
	for range 2 {
		m := many
		groups = append(groups, m)
		m.Unpack()
		want = append(want, m)
	}
	value := packedSet(t, groups...)
	frames := 0
	for rest := value; len(rest) > 0; frames++ {
		size, n := binary.Uvarint(rest)
		rest = rest[n:][size:]
	}
	if frames < 3 {
		t.Errorf("%d frames", frames)
	}
	got, err := openedSet(value, countsOf(groups))
	if err != nil {
		t.Fatal(err)
	}
	for i := range want {
		if !reflect.DeepEqual(want[i], got[i]) {
			t.Fatalf("group %d is another", i)
		}
	}
}

func FuzzMemberSet(f *testing.F) {
	groups := mixedMembers()
	f.Add(packedSet(f, groups...), 3, 40)
	f.Add(packedSet(f, groups[0], groups[3]), 3, 40)
	f.Fuzz(func(t *testing.T, value []byte, a, b int) {
		if a < 0 || b < 0 || a > 1<<12 || b > 1<<12 {
			return
		}
		openedSet(value, []int{a, b})
		// A frame with the right checksum.
		blob := sealedAgain(value)
		openedSet(append(binary.AppendUvarint(nil, uint64(len(blob))), blob...), []int{a, b})
	})
}
