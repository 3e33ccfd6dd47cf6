package column

import (
	"bytes"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// table is a format with a column of each type.
type table struct {
	ids    []int64
	hashes []uint64
	states []uint16
	waits  []int32
	one    uint64
	signed int64
	text   string
	texts  []string
	bytes  []byte
}

const most = 1 << 12

func (t *table) code(c *Codec) {
	Numbers(c, most, &t.ids)
	Numbers(c, most, &t.hashes)
	Numbers(c, most, &t.states)
	Numbers(c, most, &t.waits)
	c.Uint(&t.one)
	c.Int(&t.signed)
	c.Text(&t.text)
	c.Texts(most, &t.texts)
	c.Bytes(&t.bytes)
}

func (t *table) equal(other *table) bool {
	return slices.Equal(t.ids, other.ids) && slices.Equal(t.hashes, other.hashes) && slices.Equal(t.states, other.states) &&
		slices.Equal(t.waits, other.waits) && t.one == other.one && t.signed == other.signed && t.text == other.text && slices.Equal(t.texts, other.texts) && bytes.Equal(t.bytes, other.bytes)
}

func written(t interface{ Fatal(...any) }, in *table) []byte {
	c := Writer(0)
	if in.code(c); c.End() != nil {
		t.Fatal(c.End())
	}
	return c.Data()
}

func TestNumbersAreWrittenAsDrawn(t *testing.T) {
	for name, x := range map[string]struct {
		values []int64
		want   []byte
	}{
		"none":              {nil, []byte{0}},
		"one":               {[]int64{3}, []byte{1, plain, 7}},
		"a constant":        {[]int64{9, 9, 9, 9, 9}, []byte{5, plain, 19, 0, 4}},
		"steps":             {[]int64{100, 102, 104, 106, 108, 110}, []byte{6, differences, 201, 1, 5, 0, 4}},
		"below zero":        {[]int64{-1}, []byte{1, plain, 2}},
		"the smallest":      {[]int64{math.MinInt64}, []byte{1, plain, 0, 0}},
		"three small alike": {[]int64{5, 5, 5}, []byte{3, plain, 11, 11, 11}},
	} {
		c := Writer(0)
		if Numbers(c, most, &x.values); !bytes.Equal(c.Data(), x.want) {
			t.Errorf("%s: % d, want % d", name, c.Data(), x.want)
		}
	}
}

func TestAnyColumnsComeBackAsTheyWere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.OneOf(rapid.Int64Range(-3, 3), rapid.SampledFrom([]int64{math.MinInt64, math.MaxInt64}), rapid.Int64())
		in := table{
			ids:    runsOf(t, "ids", number),
			hashes: runsOf(t, "hashes", rapid.Uint64()),
			states: runsOf(t, "states", rapid.Uint16()),
			waits:  runsOf(t, "waits", rapid.Int32()),
			one:    rapid.Uint64().Draw(t, "one"),
			signed: number.Draw(t, "signed"),
			text:   rapid.String().Draw(t, "text"),
			texts:  runsOf(t, "texts", rapid.StringN(0, 9, -1)),
			bytes:  rapid.SliceOf(rapid.Byte()).Draw(t, "bytes"),
		}
		data := written(t, &in)
		r := Reader(data)
		var out table
		if out.code(r); r.End() != nil || !out.equal(&in) {
			t.Fatalf("%+v, %v", out, r.End())
		}
		short := Reader(data[:rapid.IntRange(0, len(data)-1).Draw(t, "cut")])
		if out.code(short); short.End() == nil {
			t.Fatal("a cut table is no error")
		}
	})
}

func TestTextsAreReadInPlaceOfThoseThatStoodThere(t *testing.T) {
	data := written(t, &table{texts: []string{"A"}, bytes: []byte{0, 0}})
	out := table{texts: []string{"before", "more"}, bytes: []byte{7}}
	r := Reader(data)
	if out.code(r); r.End() != nil || !slices.Equal(out.texts, []string{"A"}) || !bytes.Equal(out.bytes, []byte{0, 0}) {
		t.Errorf("%q %v, %v", out.texts, out.bytes, r.End())
	}
}

// runsOf draws values that are repeated.
func runsOf[T any](t *rapid.T, name string, of *rapid.Generator[T]) (out []T) {
	for range rapid.IntRange(0, 6).Draw(t, name) {
		out = append(out, slices.Repeat([]T{of.Draw(t, name)}, rapid.IntRange(1, 5).Draw(t, name+" repeated"))...)
	}
	return out
}

func TestWrongColumnsAreAnError(t *testing.T) {
	for name, data := range map[string][]byte{
		"nothing":                    {},
		"more than are possible":     {0x81, 0x20, plain, 1, 0, 0xff, 0x1f},
		"an unknown form":            {1, 2, 7},
		"a run that is too long":     {3, plain, 7, 0, 3},
		"a repeat of nothing":        {3, plain, 0, 3},
		"bytes after the last":       {1, plain, 7, 7},
		"a value that is too large":  {1, plain, 0x81, 0x80, 0x08},
		"a sum that is too large":    {2, differences, 0xff, 0xff, 0x07, 0x81, 0x20},
		"a length that does not end": {0xff},
	} {
		var values []uint16
		r := Reader(data)
		if Numbers(r, most, &values); r.End() == nil {
			t.Errorf("%s: no error, but %d", name, values)
		}
	}
	long := make([]int32, most+1)
	c := Writer(0)
	if Numbers(c, most, &long); c.End() == nil {
		t.Error("a column that cannot be read is written")
	}
}

func FuzzRead(f *testing.F) {
	f.Add(written(f, &table{ids: []int64{1, 2, 3, 3, 3, 3}, states: []uint16{7}, texts: []string{"a", ""}, bytes: []byte{1}}))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		var in, out table
		if r := Reader(data); !in.readable(r) {
			return
		}
		r := Reader(written(t, &in))
		if out.code(r); r.End() != nil || !out.equal(&in) {
			t.Fatalf("%+v, %+v, %v", in, out, r.End())
		}
	})
}

func (t *table) readable(r *Codec) bool {
	t.code(r)
	return r.End() == nil
}
