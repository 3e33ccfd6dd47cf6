package envelope

import (
	"errors"
	"io"

	"leakdiff/analysis"
)

// streamBlocks is how many blocks of a dump are on their way to its reader.
const streamBlocks = 3

// maxAlike is how many goroutines that are alike a block holds: of those that are left
// out it holds little else.
const maxAlike = 1 << 11

// maxUnasked is how many goroutines that are alike wait to be asked for: more than a
// parser's buffer holds.
const maxUnasked = 1 << 14

var errStreamed = errors.New("the text of this dump was given to Config.Stream")

// stream gives the text of a dump, block by block, to its reader, which parses one
// block while the next is unwrapped. Nothing is compressed to be decompressed at
// once, and only the blocks on their way are held.
type stream struct {
	read  func(Text)
	given int // dumps given so far
	open  bool

	full, free chan block
	// granted are classes that the reader knows well enough, since they were last taken.
	granted []grant
	// done is closed when the reader has returned; panicked is what it panicked with.
	done     chan struct{}
	panicked any
}

// begin starts the reader of a dump. There is one at a time.
func (s *stream) begin() {
	s.open, s.given = true, s.given+1
	s.full, s.free = make(chan block, streamBlocks), make(chan block, streamBlocks)
	s.done = make(chan struct{})
	for range streamBlocks - 1 { // one is with the writer
		s.free <- block{}
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
func (s *stream) give(b block) block {
	select {
	case <-s.done:
		return b.emptied()
	case s.full <- b:
	}
	select {
	case <-s.done:
		return block{}
	case b := <-s.free:
		s.granted = append(s.granted, b.granted...)
		return b.emptied()
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

// block is a part of the text of a dump.
type block struct {
	plain []byte
	// alike are those goroutines that end here of which the class is known.
	alike []alike
	// granted come back with it.
	granted []grant
}

func (b block) emptied() block { return block{b.plain[:0], b.alike[:0], b.granted[:0]} }

// grant says of a class that its goroutines may be left out for the rest of a run.
type grant struct {
	class int
	run   uint32
}

// alike is an analysis.Alike that stands at an offset of the text.
type alike struct {
	at int64
	analysis.Alike
}

// Text is the text of a dump.
type Text interface {
	io.Reader
	// Alike tells which goroutines are alike: what stands below a header, by its offset
	// in the text. It is false where that is not known. Offsets have to rise.
	Alike(offset int64) (analysis.Alike, bool)
	// LeaveOut allows to leave out further goroutines that are alike and of the same run:
	// Alike tells the rest. Some may be given all the same.
	LeaveOut(analysis.Alike)
}

// blocks is the side of the reader.
type blocks struct {
	full, free chan block
	now        block
	held       bool // now is to be given back
	unread     []byte
	// known are those of what was read, of which the first ones were asked for.
	known []alike
	asked int

	granted []grant // since a block was given back
	grants  int     // in all
}

func (b *blocks) Read(p []byte) (int, error) {
	for len(b.unread) == 0 {
		if b.held {
			b.now.granted, b.granted = b.granted, b.now.granted
			b.free <- b.now
			b.held = false
		}
		next, more := <-b.full
		if !more {
			return 0, io.EOF
		}
		b.now, b.held, b.unread = next, true, next.plain
		b.known = append(b.known[:copy(b.known, b.known[b.asked:])], next.alike...)
		if b.asked = 0; len(b.known) > maxUnasked && b.grants == 0 {
			b.known = b.known[:0] // nobody asks
		}
	}
	n := copy(p, b.unread)
	b.unread = b.unread[n:]
	return n, nil
}

// Alike implements Text.
func (b *blocks) Alike(offset int64) (analysis.Alike, bool) {
	for b.asked < len(b.known) {
		k := &b.known[b.asked]
		if k.at > offset {
			break
		}
		b.asked++
		if k.at == offset {
			return k.Alike, true
		}
	}
	return analysis.Alike{}, false
}

// LeaveOut implements Text.
func (b *blocks) LeaveOut(a analysis.Alike) {
	b.granted = append(b.granted, grant{a.Class, a.Run})
	b.grants++
}
