package envelope

import (
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
