package goroutine

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"
)

func TestPiecesOfASlabAreApart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var numbers arena[byte]
		var texts textArena
		var pieces [][]byte
		var kept []string
		lengths := rapid.SliceOfN(rapid.IntRange(0, 3*largestChunk/2), 0, 40).Draw(t, "lengths")
		for i, n := range lengths {
			want := bytes.Repeat([]byte{byte('a' + i)}, n)
			kept = append(kept, texts.keep(want))
			piece := numbers.keep(want)
			pieces = append(pieces, piece)
			_ = append(piece, 'x') // must reach no other piece
		}
		for i, n := range lengths {
			want := bytes.Repeat([]byte{byte('a' + i)}, n)
			if !bytes.Equal(pieces[i], want) || kept[i] != string(want) {
				t.Fatalf("piece %d of length %d was written over", i, n)
			}
		}
	})
}
