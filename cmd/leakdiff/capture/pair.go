package capture

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// layout is where a poll.FD has its lock and its descriptor, counted in bytes from its
// begin.
type layout struct {
	order binary.ByteOrder
	// offset is that of Sysfd, size its width. The state of the lock is the first word.
	offset, size int
}

// layoutOf returns the layout of a program's poll.FD: fdmu{state uint64; rsema, wsema
// uint32}, then Sysfd int. This was read in the sources of the versions named. Only fields
// behind Sysfd moved between them.
func layoutOf(version string, wide bool, order binary.ByteOrder) (layout, error) {
	minor, known := goMinor(version)
	switch {
	case !known:
		return layout{}, noPairs("the Go version of the program is not known")
	case minor != 19 && (minor < 21 || minor > 27):
		return layout{}, noPairs(fmt.Sprintf("its memory is known in Go 1.19 and 1.21 to 1.27, not in 1.%d", minor))
	case wide:
		return layout{order: order, offset: 16, size: 8}, nil
	}
	return layout{order: order, offset: 16, size: 4}, nil
}

// goMinor reads the minor version of a released toolchain.
//
//	"go1.22.3", "go1.21rc2", "go1.25.1 X:boringcrypto"   22, 21, 25
//	"devel go1.28-abc", "unknown"                        no
func goMinor(version string) (int, bool) {
	rest, ok := strings.CutPrefix(version, "go1.")
	digits := rest[:len(rest)-len(strings.TrimLeft(rest, "0123456789"))]
	minor, err := strconv.Atoi(digits)
	return minor, ok && err == nil
}

// length is the number of bytes that are read.
func (l layout) length() int { return l.offset + l.size }

// word reads the state of the lock and the descriptor.
func (l layout) word(b []byte) (state uint64, fd int64) {
	if l.size == 4 {
		return l.order.Uint64(b), int64(int32(l.order.Uint32(b[l.offset:])))
	}
	return l.order.Uint64(b), int64(l.order.Uint64(b[l.offset:]))
}

// locked reports whether the state of a lock is that of a descriptor in use (fdMutex in
// internal/poll/fd_mutex.go): not closed, locked for that use, with a reference.
func (u use) locked(state uint64) bool {
	const closed, read, write = 1 << 0, 1 << 1, 1 << 2
	lock := uint64(read)
	if u == writes || u == writesMessage {
		lock = write
	}
	references := state >> 3 & 0xfffff
	return state&closed == 0 && state&lock != 0 && references >= 1
}

// target is what a descriptor refers to, as far as a check asks for it.
type target struct {
	// link is that of /proc/PID/fd, "socket:[4711]".
	link string
	// fifo is a named pipe. listening and datagram are of the tables of sockets, where
	// unix sockets count as datagram.
	fifo, listening, datagram bool
}

// fits reports whether a goroutine can wait for such a use of the target.
func (u use) fits(t target) bool {
	socket := strings.HasPrefix(t.link, "socket:[")
	switch u {
	case accepts:
		return socket && t.listening
	case readsMessage, writesMessage:
		return socket && t.datagram
	}
	return socket || t.fifo || strings.HasPrefix(t.link, "pipe:[") || t.link == "anon_inode:inotify" || terminal(t.link)
}

// terminal reports whether a link leads to a terminal. /dev/null is none: no goroutine
// waits for it.
func terminal(link string) bool {
	return strings.HasPrefix(link, "/dev/pts/") || strings.HasPrefix(link, "/dev/tty") || link == "/dev/console"
}

// checkedFrame is a frame with the outcome of its checks.
type checkedFrame struct {
	pollFrame
	// fd is the descriptor, -1 if a check failed.
	fd int
}

// pair is a goroutine and the descriptor that it waits for.
type pair struct {
	goroutine int64
	fd        int
}

// decide returns the pairs of a run, or why there are none. A wrong layout reads the same
// number everywhere, often 0, which is a descriptor of every process. So a run is dropped
// as a whole if more than 5 % of its frames fail a check, or if two addresses have one
// descriptor.
func decide(frames []checkedFrame) ([]pair, error) {
	failed := 0
	addresses, fds := map[uint64]bool{}, map[int]bool{}
	var pairs []pair
	for _, f := range frames {
		if f.fd < 0 {
			failed++
			continue
		}
		addresses[f.address], fds[f.fd] = true, true
		pairs = append(pairs, pair{f.goroutine, f.fd})
	}
	switch {
	case failed*20 > len(frames):
		return nil, noPairs(fmt.Sprintf("%d of %d waiting goroutines did not pass the checks", failed, len(frames)))
	case len(fds) < len(addresses):
		return nil, noPairs("different connections gave the same descriptor")
	}
	slices.SortFunc(pairs, func(a, b pair) int { return cmp.Compare(a.goroutine, b.goroutine) })
	return pairs, nil
}

// writePairs writes a line "GOROUTINE FD" for each pair.
func writePairs(w io.Writer, pairs []pair) error {
	var text []byte
	for _, p := range pairs {
		text = strconv.AppendInt(text, p.goroutine, 10)
		text = append(text, ' ')
		text = strconv.AppendInt(text, int64(p.fd), 10)
		text = append(text, '\n')
	}
	_, err := w.Write(text)
	return err
}

// noPairsError is why a capture has no pairs. It costs nothing else.
type noPairsError struct{ why string }

func (e *noPairsError) Error() string { return "none (" + e.why + ")" }

func noPairs(why string) error { return &noPairsError{why} }

// isNoPairs reports whether a step has no pairs for a known reason.
func isNoPairs(err error) bool {
	var of *noPairsError
	return errors.As(err, &of)
}
