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
