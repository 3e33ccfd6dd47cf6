package envelope

import (
	"errors"
	"io"
)

// streamBlocks is how many blocks of a dump are on their way to its reader.
const streamBlocks = 3

var errStreamed = errors.New("the text of this dump was given to Config.Stream")

// stream gives the text of a dump, block by block, to its reader, which parses one
// block while the next is unwrapped. Nothing is compressed to be decompressed at
// once, and only the blocks on their way are held.
type stream struct {
	read  func(text io.Reader)
	given int // dumps given so far
	open  bool

	full, free chan []byte
	// done is closed when the reader has returned; panicked is what it panicked with.
	done     chan struct{}
	panicked any
}

// begin starts the reader of a dump. There is one at a time.
func (s *stream) begin() {
	s.open, s.given = true, s.given+1
	s.full, s.free = make(chan []byte, streamBlocks), make(chan []byte, streamBlocks)
	s.done = make(chan struct{})
	for range streamBlocks - 1 { // one is with the writer
		s.free <- nil
	}
	go func() {
		defer close(s.done)
		// A parser that panics must not take the program with it: the panic is handed to
		// the goroutine that can recover.
		defer func() { s.panicked = recover() }()
		s.read(&blocks{full: s.full, free: s.free})
	}()
}

// give hands a block over and returns another one to fill. A reader that has
// returned gets no more.
func (s *stream) give(block []byte) []byte {
	select {
	case <-s.done:
		return block[:0]
	case s.full <- block:
	}
	select {
	case <-s.done:
		return nil
	case b := <-s.free:
		return b[:0]
	}
}

// end tells the reader that the text ends, and waits for it.
func (s *stream) end() {
	s.open = false
	close(s.full)
	<-s.done
	if s.panicked != nil {
		panic(s.panicked)
	}
}

// abandon ends the reader of a dump that will not be unwrapped further.
func (s *stream) abandon() {
	if s.open {
		s.end()
	}
}

// blocks is the side of the reader.
type blocks struct {
	full, free  chan []byte
	now, unread []byte
}

func (b *blocks) Read(p []byte) (int, error) {
	for len(b.unread) == 0 {
		if b.now != nil {
			b.free <- b.now
			b.now = nil
		}
		next, more := <-b.full
		if !more {
			return 0, io.EOF
		}
		b.now, b.unread = next, next
	}
	n := copy(p, b.unread)
	b.unread = b.unread[n:]
	return n, nil
}
