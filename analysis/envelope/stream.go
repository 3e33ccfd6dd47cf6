package envelope

import (
	"errors"
	"io"
	"iter"
)

// stream gives the text of a dump to its reader while the dump is unwrapped, a
// block at a time: the reader runs as a coroutine, whose Read goes back to the
// scanner for the next block. Neither compresses what would be decompressed at
// once, and none runs beside the other.
type stream struct {
	read  func(text io.Reader)
	given int // dumps given so far
	open  bool

	block []byte
	ended bool
	next  func() (struct{}, bool)
	stop  func()
}

var errStreamed = errors.New("the text of this dump was given to Config.Stream")

// begin starts the reader of a dump. There is one at a time.
func (s *stream) begin() {
	s.open, s.ended, s.given = true, false, s.given+1
	s.next, s.stop = iter.Pull(func(yield func(struct{}) bool) {
		s.read(&blocks{s, yield})
	})
}

// give returns when the reader has taken all of the block, or wants no more.
func (s *stream) give(block []byte) {
	s.block = block
	s.next()
}

// end tells the reader that the text ends, and waits for it.
func (s *stream) end() {
	s.open, s.ended = false, true
	s.next()
	s.stop()
}

// abandon ends the reader of a dump that will not be unwrapped further.
func (s *stream) abandon() {
	if s.open {
		s.end()
	}
}

// blocks is the side of the reader.
type blocks struct {
	from  *stream
	yield func(struct{}) bool
}

func (b *blocks) Read(p []byte) (int, error) {
	s := b.from
	for len(s.block) == 0 {
		if s.ended || !b.yield(struct{}{}) {
			return 0, io.EOF
		}
	}
	n := copy(p, s.block)
	s.block = s.block[n:]
	return n, nil
}
