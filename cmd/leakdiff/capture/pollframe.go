package capture

import (
	"bytes"
	"strconv"
	"strings"
	"time"
)

// use is what a goroutine does with a descriptor, as far as the checks of its poll.FD
// differ.
type use int

// The uses of descriptors. Read and write need a stream or a pipe, accept a socket that
// listens, a message a datagram or unix socket.
const (
	reads use = iota
	writes
	accepts
	readsMessage
	writesMessage
)

// pollFrame is a goroutine that is parked in the poller, and the address of its poll.FD.
// The address never leaves the collector.
type pollFrame struct {
	goroutine int64
	use       use
	address   uint64
}

// mostFrames bounds the frames of one dump.
const mostFrames = 200_000

// pollFrames takes the text of debug=2 as it arrives and keeps one frame of each goroutine
// that waits in the poller. It keeps nothing else of the text.
type pollFrames struct {
	frames []pollFrame
	// dropped counts the frames above mostFrames.
	dropped int
	// begun is when the first byte came. The stacks are from just before.
	begun time.Time

	// goroutine is the one whose frame is wanted, 0 for none.
	goroutine int64
	// line is the begin of a line whose end did not arrive yet.
	line []byte
}

// Write takes the next part of the text. It never fails.
func (p *pollFrames) Write(text []byte) (int, error) {
	if p.begun.IsZero() {
		p.begun = time.Now()
	}
	n := len(text)
	for {
		line, rest, ended := bytes.Cut(text, []byte("\n"))
		if !ended {
			p.keep(line)
			return n, nil
		}
		if len(p.line) > 0 {
			p.keep(line)
			line = p.line
		}
		p.take(line)
		p.line = p.line[:0]
		text = rest
	}
}

// keep stores the begin of a line. The words that count stand in its first bytes.
func (p *pollFrames) keep(part []byte) {
	const most = 256
	p.line = append(p.line, part[:min(len(part), most-len(p.line))]...)
}

// take reads a whole line.
func (p *pollFrames) take(line []byte) {
	if rest, ok := bytes.CutPrefix(line, []byte("goroutine ")); ok {
		p.goroutine = parkedInPoller(rest)
		return
	}
	if p.goroutine == 0 {
		return
	}
	use, address, ok := pollMethod(line)
	if !ok {
		return
	}
	if len(p.frames) >= mostFrames {
		p.dropped++
	} else {
		p.frames = append(p.frames, pollFrame{p.goroutine, use, address})
	}
	p.goroutine = 0
}

// parkedInPoller returns the id in the rest of a header, 0 for a goroutine in another state.
//
//	"34 [IO wait, 2 minutes]:"              34
//	"34 gp=0xc000002380 m=nil [IO wait]:"   34
//	"34 [select]:"                          0
func parkedInPoller(header []byte) int64 {
	digits, _, _ := bytes.Cut(header, []byte(" "))
	_, state, _ := bytes.Cut(header, []byte("["))
	rest, ok := bytes.CutPrefix(state, []byte("IO wait"))
	id, err := strconv.ParseInt(string(digits), 10, 64)
	if !ok || err != nil || id <= 0 || len(rest) == 0 || bytes.IndexByte([]byte(",] "), rest[0]) < 0 {
		return 0
	}
	return id
}

// pollMethod reads the line of a function. The receiver is its first word, unless the word
// is marked as possibly stale or the function is inlined. The first field of a net.netFD is
// the poll.FD, so both have one address; that of an os.File is a pointer.
//
//	"internal/poll.(*FD).Read(0xc000128000, {0xc0001a6000, 0x1000, 0x1000})"   reads, 0xc000128000
//	"net.(*netFD).accept(0xc000128000)"                                        accepts, 0xc000128000
//	"internal/poll.(*FD).Accept(0xc000128000?)", "internal/poll.(*FD).Read(...)"   no
func pollMethod(line []byte) (use, uint64, bool) {
	rest, ok := bytes.CutPrefix(line, []byte("internal/poll.(*FD)."))
	if !ok {
		rest, ok = bytes.CutPrefix(line, []byte("net.(*netFD)."))
	}
	method, arguments, called := bytes.Cut(rest, []byte("(0x"))
	if !ok || !called {
		return 0, 0, false
	}
	end := bytes.IndexAny(arguments, ",)")
	if end < 0 {
		return 0, 0, false
	}
	address, err := strconv.ParseUint(string(arguments[:end]), 16, 64)
	use, known := useOf(string(method))
	return use, address, known && err == nil && address != 0
}

// useOf names the use by the method of a poll.FD, or of a net.netFD in small letters. Other
// methods, such as WaitWrite, do not lock the descriptor while they wait.
func useOf(method string) (use, bool) {
	name := strings.ToLower(method)
	switch {
	case name == "accept":
		return accepts, true
	case strings.HasPrefix(name, "readfrom"), strings.HasPrefix(name, "readmsg"):
		return readsMessage, true
	case strings.HasPrefix(name, "writeto"), strings.HasPrefix(name, "writemsg"):
		return writesMessage, true
	case name == "read", name == "rawread":
		return reads, true
	case name == "write", name == "rawwrite":
		return writes, true
	}
	return 0, false
}
