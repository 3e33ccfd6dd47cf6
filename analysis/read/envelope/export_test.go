package envelope

import (
	"bytes"
	"io"

	"leakdiff/analysis"
)

// UnwrapWalking is Unwrap without trotting.
func UnwrapWalking(r io.Reader, cfg Config) ([]Section, Info, []analysis.Problem, error) {
	s := newScanner(r, cfg.withDefaults())
	s.walking = true
	s.run()
	return s.result()
}

// Trotted is how many lines of a text are taken by trotting.
func Trotted(r io.Reader) int64 {
	s := newScanner(r, Config{}.withDefaults())
	s.run()
	return s.trotter.lines
}

// Galloped is how many of them are so because they came before.
func Galloped(r io.Reader) int64 {
	s := newScanner(r, Config{}.withDefaults())
	s.run()
	return s.trotter.galloped
}

// Marks are the encoded places of the goroutines of a section.
func (s *Section) Marks() []byte { return s.marks.data }

// WronglyRuledOut names the layers that a line has behind a prefix of which ruledOut
// says that none has them, and tells how many are ruled out.
func WronglyRuledOut(prefix, line string) (wrong []string, ruledOut int) {
	for _, kind := range prefixKinds {
		if !kind.ruledOut([]byte(prefix)) {
			continue
		}
		ruledOut++
		if l, _, ok := guessPrefix([]byte(line), []layerKind{kind}); ok {
			wrong = append(wrong, l.name())
		}
	}
	return wrong, ruledOut
}

// MayBeArray is mayBeArray.
func MayBeArray(text string) bool { return mayBeArray([]byte(text)) }

// MatchShape is how far a line has the shape of a text whose odd parts are stamps, by
// words, behind another line of it, and by bytes; -1 where it has not.
func MatchShape(parts []string, line string) (byWords, byBytes int) {
	var s shape
	for i, part := range parts {
		if i%2 == 0 {
			s.stamp([]byte(part))
		} else {
			s.fixed([]byte(part))
		}
	}
	s.ready()
	s.match(append(bytes.ReplaceAll(bytes.Clone(s.text), []byte("0"), []byte("7")), make([]byte, 128)...))
	found := func(n int, ok bool) int {
		if !ok {
			return -1
		}
		return n
	}
	return found(s.match([]byte(line))), found(s.slow([]byte(line)))
}

// ArePlainArgs is arePlainArgs for the last n bytes of a call.
func ArePlainArgs(call string, n int) bool { return arePlainArgs([]byte(call), n) }

// RepeatedIDs gives those of some ids that came before.
func RepeatedIDs(ids []int64) (repeated []int64) {
	var s idSet
	for _, id := range ids {
		if s.has(id) {
			repeated = append(repeated, id)
		}
		s.add(id)
	}
	return repeated
}

// InBlocksOf lets texts be streamed in blocks of so many bytes until the returned function
// is called.
func InBlocksOf(size int) (restore func()) {
	before := spoolBlock
	spoolBlock = size
	return func() { spoolBlock = before }
}
