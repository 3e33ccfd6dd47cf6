package store

import (
	"bufio"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"leakdiff/analysis"
	"leakdiff/samples/corpus"
)

// encodeMembers encodes the members of a snapshot with one group.
func encodeMembers(p *packer, m *analysis.Members) ([]byte, error) {
	w := memberWriter{p: p}
	if err := w.add(m); err != nil {
		return nil, err
	}
	err := w.flush()
	return w.out, err
}

func encode(t testing.TB, m *analysis.Members) []byte {
	t.Helper()
	var p packer
	defer p.close()
	blob, err := encodeMembers(&p, m)
	if err != nil {
		t.Fatal(err)
	}
	return blob
}

// decodeMembers undoes encodeMembers and unpacks all members.
func decodeMembers(p *packer, blob []byte, want int) (analysis.Members, error) {
	r := memberReader{p: p, value: blob}
	m, err := r.next(want)
	if err = errors.Join(err, r.done()); err != nil {
		return analysis.Members{}, err
	}
	m.Unpack()
	if m.Len() != want {
		return analysis.Members{}, errors.New("members: fewer values than members")
	}
	return m, nil
}

func decode(t testing.TB, blob []byte, want int) analysis.Members {
	t.Helper()
	var p packer
	defer p.close()
	m, err := decodeMembers(&p, blob, want)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestMembersComeBackAsTheyWere(t *testing.T) {
	for name, m := range map[string]analysis.Members{
		"none": {},
		"a single goroutine": {
			States: []string{"running"},
			Columns: &analysis.Columns{
				ID: []int64{1}, Parent: []int64{0}, State: []uint16{0}, Wait: []int32{-1},
				Variant: []int32{0}, Artifact: []int32{0}, Line: []int64{1}, Offset: []int64{0}, Length: []int32{120},
			},
		},
		"places without identities (debug=1)": {Columns: &analysis.Columns{Offset: []int64{700, 10}, Line: []int64{9, 2}}},
		"identities without places":           {Columns: &analysis.Columns{ID: []int64{5, 3, 9}}},
		"states that nobody is in":            {Columns: &analysis.Columns{ID: []int64{5}}, States: []string{"select", ""}},
		"extreme numbers": {
			Columns: &analysis.Columns{
				ID:     []int64{-1 << 63, 1<<63 - 1, 0, -1},
				Sub:    []int64{1<<63 - 1, -1 << 63, 7, 7},
				Hash:   []uint64{1<<64 - 1, 0, 1 << 63, 12345},
				Wait:   []int32{-1 << 31, 1<<31 - 1, 0, 0},
				Offset: []int64{1<<63 - 1, -1 << 63, 0, 1},
				Length: []int32{1<<31 - 1, -1 << 31, 0, 5},
			},
		},
		"details that are not UTF-8": {Columns: &analysis.Columns{ID: []int64{1, 2}, Detail: []string{"\xff\x00", ""}}},
	} {
		t.Run(name, func(t *testing.T) {
			got := decode(t, encode(t, &m), m.Len())
			if diff := cmp.Diff(m, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestEncodingRefusesColumnsThatContradictEachOther(t *testing.T) {
	for name, m := range map[string]analysis.Members{
		"a column that is too short":        {Columns: &analysis.Columns{ID: []int64{1, 2}, Wait: []int32{1}}},
		"a column without members":          {Columns: &analysis.Columns{Wait: []int32{1}}},
		"a state that has no name":          {Columns: &analysis.Columns{ID: []int64{1}, State: []uint16{1}}, States: []string{"select"}},
		"a detail longer than can be kept":  {Columns: &analysis.Columns{ID: []int64{1}, Detail: []string{strings.Repeat("x", maxText+1)}}},
		"more states than an index reaches": {Columns: &analysis.Columns{ID: []int64{1}}, States: make([]string, 1<<16+1)},
	} {
		t.Run(name, func(t *testing.T) {
			var p packer
			if _, err := encodeMembers(&p, &m); err == nil {
				t.Error("no error")
			}
		})
	}
}

// drawMembers makes columns of every shape: constant, regular, in runs, random.
func drawMembers(t *rapid.T) analysis.Members {
	n := rapid.OneOf(rapid.IntRange(0, 40), rapid.IntRange(1023, 1026)).Draw(t, "n")
	if n == 0 {
		return analysis.Members{}
	}
	numbers := func(name string) []int64 {
		return drawColumn(t, name, n, rapid.Int64())
	}
	m := analysis.Members{Columns: &analysis.Columns{ID: numbers("id")}}
	if rapid.Bool().Draw(t, "no identities") {
		m.ID = nil
	}
	optional := func(name string) bool { return rapid.Bool().Draw(t, "has "+name) }
	if m.ID == nil || optional("offset") {
		m.Offset = numbers("offset")
	}
	if optional("sub") {
		m.Sub = numbers("sub")
	}
	if optional("hash") {
		m.Hash = drawColumn(t, "hash", n, rapid.Uint64())
	}
	if optional("parent") {
		m.Parent = numbers("parent")
	}
	if optional("state") {
		m.States = rapid.SliceOfN(rapid.String(), 1, 3).Draw(t, "states")
		m.State = drawColumn(t, "state", n, rapid.Uint16Range(0, uint16(len(m.States)-1)))
	}
	if optional("wait") {
		m.Wait = drawColumn(t, "wait", n, rapid.Int32())
	}
	if optional("age") {
		m.Age = drawColumn(t, "age", n, rapid.Int32Range(-1, 1<<30))
	}
	if optional("variant") {
		m.Variant = drawColumn(t, "variant", n, rapid.Int32Range(-1, 4))
	}
	if optional("artifact") {
		m.Artifact = drawColumn(t, "artifact", n, rapid.Int32Range(0, 4))
	}
	if optional("line") {
		m.Line = numbers("line")
	}
	if optional("length") {
		m.Length = drawColumn(t, "length", n, rapid.Int32())
	}
	if optional("detail") {
		m.Detail = drawColumn(t, "detail", n, rapid.String())
	}
	return m
}

// drawColumn repeats a few drawn values, so that n may be large.
func drawColumn[T any](t *rapid.T, name string, n int, of *rapid.Generator[T]) []T {
	values := rapid.SliceOfN(of, 1, 8).Draw(t, name)
	run := rapid.IntRange(1, 20).Draw(t, name+" run")
	out := make([]T, n)
	for i := range out {
		out[i] = values[i/run%len(values)]
	}
	return out
}

func TestAnyMembersComeBackAsTheyWere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawMembers(t)
		var p packer
		defer p.close()
		blob, err := encodeMembers(&p, &m)
		if err != nil {
			t.Fatal(err)
		}
		got, err := decodeMembers(&p, blob, m.Len())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(m, got); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestDamagedMembersAreAnError(t *testing.T) {
	few, many := leakedMembers(50), leakedMembers(1025)
	packedFew, packedMany := packedOf(&few), packedOf(&many)
	for name, m := range map[string]*analysis.Members{
		"columns": &few, "many in columns": &many, "packed": &packedFew, "many packed": &packedMany,
	} {
		t.Run(name, func(t *testing.T) {
			n := m.Len()
			good := encode(t, m)
			var p packer
			defer p.close()
			for i := range good {
				bad := append([]byte(nil), good...)
				bad[i] ^= 0x10
				if _, err := decodeMembers(&p, bad, n); err == nil {
					t.Errorf("byte %d flipped: no error", i)
				}
				cut := append([]byte(nil), good[:i]...)
				if _, err := decodeMembers(&p, cut, n); err == nil {
					t.Errorf("cut after %d bytes: no error", i)
				}
				// With a length and a checksum that fit.
				if _, err := decodeMembers(&p, framed(cut), n); err == nil {
					t.Errorf("cut after %d bytes and sealed: no error", i)
				}
			}
			if _, err := decodeMembers(&p, good, n+1); err == nil {
				t.Error("another number than the row has: no error")
			}
		})
	}
}

// framed is a value with the frame that value begins with, which gets the length and the
// checksum that fit.
func framed(value []byte) []byte {
	_, n := binary.Uvarint(value)
	frame := sealedAgain(value[max(n, 0):])
	return append(binary.AppendUvarint(nil, uint64(len(frame))), frame...)
}

// leakedMembers are goroutines as a leak leaves them: ids in steps of a request's
// goroutines, a few headers of different width, other families in between.
func leakedMembers(n int) analysis.Members {
	random := rand.New(rand.NewPCG(1, 2))
	m := analysis.Members{States: []string{"select", "chan receive", "IO wait"}}
	id, line, offset := int64(1000), int64(1), int64(0)
	for i := range n {
		id += 3 + random.Int64N(9)
		length := int32(690 + len(strconv.FormatInt(id, 10)) + random.IntN(3))
		m.Fill().ID = append(m.Fill().ID, id)
		m.Fill().Parent = append(m.Fill().Parent, id-1-random.Int64N(3))
		m.Fill().State = append(m.Fill().State, uint16(random.IntN(100)/98))
		m.Fill().Wait = append(m.Fill().Wait, int32((n-i)/500))
		m.Fill().Variant = append(m.Fill().Variant, int32(random.IntN(100)/95))
		m.Fill().Artifact = append(m.Fill().Artifact, 0)
		m.Fill().Line = append(m.Fill().Line, line)
		m.Fill().Offset = append(m.Fill().Offset, offset)
		m.Fill().Length = append(m.Fill().Length, length)
		line += 12
		offset += int64(length) + 1
		if random.IntN(4) == 0 {
			line += 18
			offset += 1100 + random.Int64N(40)
		}
	}
	return m
}

func TestMembersTakeUnderOnePercentOfTheDump(t *testing.T) {
	const n = 100_000
	m := leakedMembers(n)
	raw := m.Offset[n-1] + int64(m.Length[n-1])
	blob := encode(t, &m)
	percent := 100 * float64(len(blob)) / float64(raw)
	t.Logf("%d members: %d of %d bytes, %.2f %%, %.2f bytes each", n, len(blob), raw, percent, float64(len(blob))/n)
	if percent >= 1 {
		t.Errorf("%.2f %% of the dump, want under 1 %%", percent)
	}
}

// packedOf are the goroutines of m as a dump gives them: packed, each variant by
// itself, with states of which the family has not all.
func packedOf(m *analysis.Members) analysis.Members {
	out := analysis.Members{States: append([]string{"a state of another family"}, m.States...)}
	variants := map[int32]*analysis.Packed{}
	for i := range m.ID {
		p := variants[m.Variant[i]]
		if p == nil {
			p = &analysis.Packed{}
			variants[m.Variant[i]] = p
			out.Packed = append(out.Packed, analysis.Packing{Packed: p, Variant: m.Variant[i], Artifact: m.Artifact[i]})
		}
		p.Append(analysis.PackedMember{ID: m.ID[i], Parent: m.Parent[i], State: m.State[i] + 1, Wait: m.Wait[i], Line: m.Line[i], Offset: m.Offset[i], Length: m.Length[i]})
	}
	return out
}

func TestPackedGoroutinesComeBackAsColumns(t *testing.T) {
	for _, n := range []int{1, 2, 50, 1025, 20_000} {
		m := leakedMembers(n)
		packed := packedOf(&m)
		got := decode(t, encode(t, &packed), n)
		packed.Unpack()
		if diff := cmp.Diff(packed, got); diff != "" {
			t.Errorf("%d goroutines: %s", n, diff)
		}
	}
}

func TestEncodingRefusesPackedGoroutinesThatContradictTheRest(t *testing.T) {
	m := leakedMembers(3)
	for name, damage := range map[string]func(*analysis.Members){
		"columns beside them":  func(p *analysis.Members) { p.Fill().ID = []int64{1} },
		"a state without name": func(p *analysis.Members) { p.States = nil },
		"a variant below zero": func(p *analysis.Members) { p.Packed[0].Variant = -1 },
	} {
		packed := packedOf(&m)
		damage(&packed)
		var p packer
		if _, err := encodeMembers(&p, &packed); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// A real dump of 100,305 goroutines: header lines only are looked at here, grouped
// by the first function of the stack.
func TestMembersOfARealDumpTakeUnderOnePercent(t *testing.T) {
	corpus.Heavy(t)
	file, err := os.Open(corpus.Path(t, "large/grpc-100k-runtimeStack-full.txt.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	families, raw := scanDump(t, unzipped)
	total, stored := 0, 0
	for _, m := range families {
		blob := encode(t, m)
		if diff := cmp.Diff(*m, decode(t, blob, m.Len())); diff != "" {
			t.Fatal(diff)
		}
		total += m.Len()
		stored += len(blob)
	}
	if total != 100305 {
		t.Errorf("%d goroutines, want 100305", total)
	}
	percent := 100 * float64(stored) / float64(raw)
	t.Logf("%d members in %d families: %d of %d bytes, %.2f %%, %.2f bytes each",
		total, len(families), stored, raw, percent, float64(stored)/float64(total))
	if percent >= 1 {
		t.Errorf("%.2f %% of the dump, want under 1 %%", percent)
	}
}

func scanDump(t testing.TB, r interface{ Read([]byte) (int, error) }) (families map[string]*analysis.Members, raw int64) {
	header := regexp.MustCompile(`^goroutine (\d+) \[([^,\]]+)(?:, (\d+) minutes)?[^\]]*\]:$`)
	creator := regexp.MustCompile(`^created by .* in goroutine (\d+)$`)
	families = map[string]*analysis.Members{}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	var offset, line int64
	var open struct {
		id, parent, wait, line, offset int64
		state, function                string
	}
	finish := func() {
		if open.id == 0 {
			return
		}
		m := families[open.function]
		if m == nil {
			m = &analysis.Members{}
			families[open.function] = m
		}
		state := -1
		for i, s := range m.States {
			if s == open.state {
				state = i
			}
		}
		if state < 0 {
			state = len(m.States)
			m.States = append(m.States, open.state)
		}
		m.Fill().ID = append(m.Fill().ID, open.id)
		m.Fill().Parent = append(m.Fill().Parent, open.parent)
		m.Fill().State = append(m.Fill().State, uint16(state))
		m.Fill().Wait = append(m.Fill().Wait, int32(open.wait))
		m.Fill().Variant = append(m.Fill().Variant, 0)
		m.Fill().Artifact = append(m.Fill().Artifact, 0)
		m.Fill().Line = append(m.Fill().Line, open.line)
		m.Fill().Offset = append(m.Fill().Offset, open.offset)
		m.Fill().Length = append(m.Fill().Length, int32(offset-open.offset))
		open.id = 0
	}
	for lines.Scan() {
		text := lines.Text()
		line++
		if match := submatch(header, "goroutine ", text); match != nil {
			finish()
			open.id, _ = strconv.ParseInt(match[1], 10, 64)
			open.state, open.function, open.parent, open.wait = match[2], "", 0, -1
			if match[3] != "" {
				open.wait, _ = strconv.ParseInt(match[3], 10, 64)
			}
			open.line, open.offset = line, offset
		} else if open.function == "" {
			open.function, _, _ = strings.Cut(text, "(")
		} else if match := submatch(creator, "created by ", text); match != nil {
			open.parent, _ = strconv.ParseInt(match[1], 10, 64)
		}
		offset += int64(len(text)) + 1
	}
	finish()
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return families, offset
}

// submatch spares the expression the lines that cannot match.
func submatch(re *regexp.Regexp, prefix, text string) []string {
	if !strings.HasPrefix(text, prefix) {
		return nil
	}
	return re.FindStringSubmatch(text)
}

func FuzzDecodeMembers(f *testing.F) {
	var p packer
	small, large := leakedMembers(3), leakedMembers(300)
	descriptors := analysis.Members{Columns: &analysis.Columns{ID: []int64{7}, Sub: []int64{99}, Hash: []uint64{1 << 60}, Detail: []string{"7u TCP a->b"}}}
	streamed := leakedMembers(1025)
	packedSmall, packedLarge, packedStreamed := packedOf(&small), packedOf(&large), packedOf(&streamed)
	for _, m := range []*analysis.Members{&small, &large, &descriptors, &packedSmall, &packedLarge, &packedStreamed} {
		blob, err := encodeMembers(&p, m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(blob, m.Len())
	}
	f.Fuzz(func(t *testing.T, blob []byte, want int) {
		if want < 0 || want > 1<<12 {
			return
		}
		var p packer
		defer p.close()
		if _, err := decodeMembers(&p, blob, want); err == nil && want > 0 && len(blob) < sealedHeader {
			t.Fatal("members out of nothing")
		}
		// With the right checksum the fuzzer reaches the columns.
		m, err := decodeMembers(&p, framed(blob), want)
		if err != nil {
			return
		}
		again, err := encodeMembers(&p, &m)
		if err != nil {
			t.Fatalf("decoded members cannot be encoded: %v", err)
		}
		back, err := decodeMembers(&p, again, want)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(m, back); diff != "" {
			t.Fatal(diff)
		}
	})
}

func BenchmarkEncodeMembers(b *testing.B) {
	m := leakedMembers(100_000)
	var p packer
	b.ReportAllocs()
	for b.Loop() {
		if _, err := encodeMembers(&p, &m); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecodeMembers(b *testing.B) {
	m := leakedMembers(100_000)
	blob := encode(b, &m)
	var p packer
	b.ReportAllocs()
	for b.Loop() {
		if _, err := decodeMembers(&p, blob, m.Len()); err != nil {
			b.Fatal(err)
		}
	}
}

func TestSmallFamiliesAreReadIntoNoMoreRoomThanTheyTake(t *testing.T) {
	packed := &analysis.Packed{}
	packed.Append(analysis.PackedMember{ID: 17, Wait: 3, Line: 40, Offset: 900, Length: 200})
	m := analysis.Members{States: []string{"select"}, Packed: []analysis.Packing{{Packed: packed}}}
	var p packer
	defer p.close()
	blob, err := encodeMembers(&p, &m)
	if err != nil {
		t.Fatal(err)
	}
	r := memberReader{p: &p, value: blob}
	got, err := r.next(1)
	if err != nil {
		t.Fatal(err)
	}
	// A case has tens of thousands of them in memory at once.
	sets, values := got.Packed[0].Data()
	if room := cap(sets) + cap(values); room > 64 {
		t.Errorf("%d bytes of a goroutine take %d", len(sets)+len(values), room)
	}
}
