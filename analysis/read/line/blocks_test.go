package line_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"leakdiff/analysis/read/line"
)

// cut collects the lines of Blocks, and what they say of the end of the stream.
func cut(r io.Reader) (all []line.Line, offset int64, failure error) {
	in := line.NewBlocks(r)
	for l := range in.All() {
		all = append(all, l)
	}
	return all, in.Offset(), in.Failure("x.txt")
}

// TestBlocksGiveTheLinesOfReader compares both over texts with lines around the
// length that is kept, read in pieces of any size, whole and broken off.
func TestBlocksGiveTheLinesOfReader(t *testing.T) {
	broken := errors.New("disk on fire")
	rapid.Check(t, func(t *rapid.T) {
		piece := rapid.Custom(func(t *rapid.T) string {
			switch rapid.IntRange(0, 9).Draw(t, "sort") {
			case 0:
				return strings.Repeat("x", line.MaxText-3+rapid.IntRange(0, 6).Draw(t, "length"))
			case 1:
				return strings.Repeat("ab\n", rapid.IntRange(1, 40_000).Draw(t, "lines"))
			}
			return rapid.StringMatching(`[a-c \r]{0,5}(\r?\n)?`).Draw(t, "line")
		})
		text := strings.Join(rapid.SliceOfN(piece, 0, 12).Draw(t, "text"), "")
		source := func() io.Reader { return strings.NewReader(text) }
		if rapid.Bool().Draw(t, "broken") {
			source = func() io.Reader { return io.MultiReader(strings.NewReader(text), iotest.ErrReader(broken)) }
		}
		read := source()
		switch rapid.IntRange(0, 3).Draw(t, "pieces") {
		case 1:
			read = iotest.HalfReader(read)
		case 2:
			read = iotest.DataErrReader(read)
		case 3:
			read = io.MultiReader(io.LimitReader(read, line.MaxText), read)
		}
		var want []line.Line
		in := line.NewReader(source())
		for l := range in.All() {
			want = append(want, l)
		}
		got, offset, failure := cut(read)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("(-want +got):\n%.2000s", diff)
		}
		if offset != in.Offset() || errors.Is(failure, broken) != errors.Is(in.Failure("x.txt"), broken) {
			t.Fatalf("offset %d, want %d; failure %v", offset, in.Offset(), failure)
		}
	})
}

func TestBlocksGiveUpOnAReaderThatGivesNothing(t *testing.T) {
	got, _, failure := cut(idle{})
	if len(got) != 0 || !errors.Is(failure, io.ErrNoProgress) {
		t.Errorf("got %d lines, %v", len(got), failure)
	}
}

type idle struct{}

func (idle) Read([]byte) (int, error) { return 0, nil }
