package envelope

import (
	"errors"
	"io"
)

var errStreamed = errors.New("the text of this dump was given to Config.Stream")

// stream passes the text of a dump to its reader, which parses one block while the next
// is unwrapped. The text is neither compressed nor held.
type stream struct {
	read  func(io.Reader)
	given int // dumps given so far
	// to is the channel to the reader, nil while no dump is being read.
	to *io.PipeWriter
	// done is closed when the reader has returned; panicked is what it panicked with.
	done     chan struct{}
	panicked any
}

// begin starts the reader of a dump. There is one at a time.
func (s *stream) begin() {
	from, to := io.Pipe()
	s.to, s.given, s.done = to, s.given+1, make(chan struct{})
	go func() {
		defer close(s.done)
		defer from.Close() // a reader that has returned gets no more
		// A parser that panics must not take the program with it: the panic is handed to
		// the goroutine that can recover.
		defer func() { s.panicked = recover() }()
		s.read(from)
	}()
}

// end ends the text, and waits for its reader.
func (s *stream) end() {
	s.to.Close()
	s.to = nil
	<-s.done
	if s.panicked != nil {
		panic(s.panicked)
	}
}

// abandon ends the reader of a dump that will not be unwrapped further.
func (s *stream) abandon() {
	if s.to != nil {
		s.end()
	}
}
