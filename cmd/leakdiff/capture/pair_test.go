package capture

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFramesOfThePollerAreFoundInADump(t *testing.T) {
	one := func(header string, lines ...string) string {
		return header + "\n" + strings.Join(lines, "\n") + "\n\n"
	}
	const waits = "goroutine 34 [IO wait, 2 minutes]:"
	for _, c := range []struct {
		name, text string
		want       []pollFrame
	}{
		{"a read", one(waits, "internal/poll.runtime_pollWait(0x7f0a, 0x72)", "internal/poll.(*pollDesc).wait(0xc000128018?, 0x1, 0x0)", "internal/poll.(*FD).Read(0xc000128000, {0xc0001a6000, 0x1000, 0x1000})", "net.(*netFD).Read(0xc000128000, {0xc0001a6000?, 0x1?, 0x1?})"), []pollFrame{{34, reads, 0xc000128000}}},
		{"an accept on the heap of Go 1.26", one("goroutine 1 [IO wait]:", "internal/poll.(*FD).Accept(0x2baa86738240)"), []pollFrame{{1, accepts, 0x2baa86738240}}},
		{"a datagram", one(waits, "internal/poll.(*FD).ReadFromInet4(0xc0000b2080, {0xc0, 0x1, 0x1}, 0xc1)"), []pollFrame{{34, readsMessage, 0xc0000b2080}}},
		{"a message written", one(waits, "internal/poll.(*FD).WriteMsg(0xc0000b2080, {0x0, 0x0, 0x0})"), []pollFrame{{34, writesMessage, 0xc0000b2080}}},
		{"a write", one(waits, "internal/poll.(*FD).Write(0xc0000b2080, {0x0, 0x0, 0x0})"), []pollFrame{{34, writes, 0xc0000b2080}}},
		{"a receiver that may be stale, with that of the socket below it", one(waits, "internal/poll.(*FD).Accept(0xc000128000?)", "net.(*netFD).accept(0xc000128000)"), []pollFrame{{34, accepts, 0xc000128000}}},
		{"an inlined method, with that of the socket below it", one(waits, "internal/poll.(*FD).Read(...)", "net.(*netFD).Read(0xc000128000, {0x1, 0x2, 0x3})"), []pollFrame{{34, reads, 0xc000128000}}},
		{"a dump of a program with GOTRACEBACK=system", one("goroutine 34 gp=0xc000002380 m=nil [IO wait]:", "internal/poll.(*FD).Read(0xc000128000, {0x1, 0x2, 0x3})"), []pollFrame{{34, reads, 0xc000128000}}},
		{"a goroutine that a collection scans", one("goroutine 34 [IO wait (scan)]:", "internal/poll.(*FD).Read(0xc000128000, {0x1, 0x2, 0x3})"), []pollFrame{{34, reads, 0xc000128000}}},
		{"two goroutines of one connection", one(waits, "internal/poll.(*FD).Read(0xc000128000, {0x1})") + one("goroutine 35 [IO wait]:", "internal/poll.(*FD).Write(0xc000128000, {0x1})"), []pollFrame{{34, reads, 0xc000128000}, {35, writes, 0xc000128000}}},
		{"only receivers that may be stale", one(waits, "internal/poll.(*FD).Read(0xc000128000?, {0x1})", "net.(*netFD).Read(0xc000128000?, {0x1})"), nil},
		{"the file behind a pointer", one(waits, "internal/poll.(*FD).Read(...)", "os.(*File).Read(0xc000012028, {0x1})"), nil},
		{"a goroutine that runs", one("goroutine 34 [running]:", "internal/poll.(*FD).Read(0xc000128000, {0x1})"), nil},
		{"a read that blocks its thread", one("goroutine 34 [syscall]:", "internal/poll.(*FD).Read(0xc000128000, {0x1})"), nil},
		{"a reader that waits for another reader", one("goroutine 34 [semacquire]:", "internal/poll.(*FD).Read(0xc000128000, {0x1})"), nil},
		{"a connect, which does not lock", one(waits, "net.(*netFD).connect(0xc000128000, {0x1, 0x2}, {0x3, 0x4})"), nil},
		{"an argument that is no receiver", one(waits, "internal/poll.(*FD).Read({0xc000128000, 0x1})"), nil},
		{"a function with a similar name", one(waits, "main.internal/poll.(*FD).Read(0xc000128000)", "internal/poll.(*FD).Read.func1(0xc000128000)"), nil},
		{"a nil receiver", one(waits, "internal/poll.(*FD).Read(0x0, {0x1})"), nil},
		{"a header without an id", one("goroutine x [IO wait]:", "internal/poll.(*FD).Read(0xc000128000, {0x1})"), nil},
		{"a line that is cut", waits + "\ninternal/poll.(*FD).Read(0xc000128000, {0x1})", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, size := range []int{1, 7, len(c.text)} {
				var p pollFrames
				for rest := []byte(c.text); len(rest) > 0; {
					n := min(size, len(rest))
					if wrote, err := p.Write(rest[:n]); wrote != n || err != nil {
						t.Fatal(wrote, err)
					}
					rest = rest[n:]
				}
				if diff := cmp.Diff(c.want, p.frames, cmp.AllowUnexported(pollFrame{})); diff != "" {
					t.Errorf("in parts of %d bytes:\n%s", size, diff)
				}
			}
		})
	}
}

func TestFramesOfOneDumpAreBounded(t *testing.T) {
	var p pollFrames
	for i := range mostFrames + 3 {
		fmt.Fprintf(&p, "goroutine %d [IO wait]:\ninternal/poll.(*FD).Read(0xc000128000, {0x1})\n\n", i+1)
	}
	if len(p.frames) != mostFrames || p.dropped != 3 {
		t.Errorf("%d frames and %d dropped", len(p.frames), p.dropped)
	}
	p = pollFrames{}
	p.Write(bytes.Repeat([]byte("x"), 1<<20))
	if len(p.line) > 256 {
		t.Errorf("%d bytes of a line without an end", len(p.line))
	}
}

func TestTheLayoutIsKnownForReleasesThatWereRead(t *testing.T) {
	for _, c := range []struct {
		name, version string
		wide          bool
		size          int
		why           string
	}{
		{"a release", "go1.22.3", true, 8, ""},
		{"the oldest", "go1.19", true, 8, ""},
		{"the newest", "go1.27.1", true, 8, ""},
		{"a release candidate", "go1.21rc2", true, 8, ""},
		{"a build with an experiment", "go1.25.1 X:boringcrypto", true, 8, ""},
		{"32 bit", "go1.22.3", false, 4, ""},
		{"a release in between that was not read", "go1.20.14", true, 0, "none (its memory is known in Go 1.19 and 1.21 to 1.27, not in 1.20)"},
		{"an older one", "go1.18", true, 0, "not in 1.18)"},
		{"a newer one", "go1.28", true, 0, "not in 1.28)"},
		{"a development version", "devel go1.27-0123abcd", true, 0, "none (the Go version of the program is not known)"},
		{"no Go program", "", true, 0, "none (the Go version of the program is not known)"},
		{"another major version", "go2.21", true, 0, "is not known)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := layoutOf(c.version, c.wide, binary.LittleEndian)
			if c.why == "" && (err != nil || got.offset != 16 || got.size != c.size || got.length() > 24) {
				t.Errorf("%+v, %v", got, err)
			}
			if c.why != "" && (err == nil || !isNoPairs(err) || !strings.HasSuffix(err.Error(), c.why)) {
				t.Errorf("%v, want %s", err, c.why)
			}
		})
	}
}

func TestAWordIsReadInTheOrderOfTheProgram(t *testing.T) {
	const state = 0xa // a reader, one reference
	for _, c := range []struct {
		name   string
		layout layout
		bytes  []byte
		want   int64
	}{
		{"64 bit, little-endian", layout{binary.LittleEndian, 16, 8}, []byte{10, 23: 0, 16: 7}, 7},
		{"64 bit, big-endian", layout{binary.BigEndian, 16, 8}, []byte{7: 10, 23: 7}, 7},
		{"32 bit, little-endian", layout{binary.LittleEndian, 16, 4}, []byte{10, 16: 7, 20: 99, 23: 1}, 7},
		{"32 bit, big-endian", layout{binary.BigEndian, 16, 4}, []byte{7: 10, 19: 7, 23: 99}, 7},
		{"a closed file, 32 bit", layout{binary.LittleEndian, 16, 4}, []byte{10, 16: 255, 17: 255, 18: 255, 19: 255, 23: 0}, -1},
	} {
		t.Run(c.name, func(t *testing.T) {
			if gotState, got := c.layout.word(c.bytes); gotState != state || got != c.want {
				t.Errorf("state %#x, descriptor %d, want %d", gotState, got, c.want)
			}
		})
	}
}

func TestTheLockSaysWhetherADescriptorIsInUse(t *testing.T) {
	for _, c := range []struct {
		name  string
		use   use
		state uint64
		want  bool
	}{
		{"a reader holds the lock for reading", reads, 1<<3 | 2, true},
		{"so does who accepts", accepts, 1<<3 | 2, true},
		{"and who receives", readsMessage, 1<<3 | 2, true},
		{"a writer holds the one for writing", writes, 1<<3 | 4, true},
		{"and who sends", writesMessage, 1<<3 | 4, true},
		{"both may be held", reads, 2<<3 | 6, true},
		{"others may wait", reads, 1<<23 | 1<<43 | 1<<3 | 2, true},
		{"it is closed", reads, 1<<3 | 3, false},
		{"only a writer is there", reads, 1<<3 | 4, false},
		{"only a reader is there", writes, 1<<3 | 2, false},
		{"nobody refers to it", reads, 2, false},
		{"memory with nothing in it", reads, 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.use.locked(c.state); got != c.want {
				t.Errorf("%t, want %t", got, c.want)
			}
		})
	}
}

func TestATargetFitsWhatIsDoneWithIt(t *testing.T) {
	for _, c := range []struct {
		name   string
		use    use
		target target
		want   bool
	}{
		{"a socket that listens is accepted from", accepts, target{link: "socket:[7]", listening: true}, true},
		{"a connection is not", accepts, target{link: "socket:[7]"}, false},
		{"a datagram socket receives", readsMessage, target{link: "socket:[7]", datagram: true}, true},
		{"and sends", writesMessage, target{link: "socket:[7]", datagram: true}, true},
		{"a stream does not receive datagrams", readsMessage, target{link: "socket:[7]"}, false},
		{"a stream is read", reads, target{link: "socket:[7]"}, true},
		{"and written", writes, target{link: "socket:[7]"}, true},
		{"a pipe is read", reads, target{link: "pipe:[7]"}, true},
		{"a named pipe is read", reads, target{link: "/run/fifo", fifo: true}, true},
		{"inotify is read", reads, target{link: "anon_inode:inotify"}, true},
		{"a terminal is read", reads, target{link: "/dev/pts/3"}, true},
		{"nobody waits for a file", reads, target{link: "/var/log/messages"}, false},
		{"nor for /dev/null", reads, target{link: "/dev/null"}, false},
		{"nor for the poller itself", reads, target{link: "anon_inode:[eventpoll]"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.use.fits(c.target); got != c.want {
				t.Errorf("%t, want %t", got, c.want)
			}
		})
	}
}

func TestARunIsBelievedAsAWholeOrNotAtAll(t *testing.T) {
	// frames are n goroutines with a descriptor of their own each, of which some failed.
	frames := func(n, failed int) []checkedFrame {
		var out []checkedFrame
		for i := range n {
			f := checkedFrame{pollFrame{int64(n - i), reads, 0xc000000000 + uint64(i)*256}, 10 + i}
			if i < failed {
				f.fd = -1
			}
			out = append(out, f)
		}
		return out
	}
	same := frames(40, 0)
	same[7].fd = same[8].fd
	both := frames(3, 0)
	both[1].address, both[1].fd = both[0].address, both[0].fd
	null := frames(43, 0)
	for i := range null {
		null[i].fd = 0
	}
	for _, c := range []struct {
		name   string
		frames []checkedFrame
		want   int
		why    string
	}{
		{"all pass", frames(40, 0), 40, ""},
		{"nobody waits", nil, 0, ""},
		{"one in twenty fails", frames(40, 2), 38, ""},
		{"more than one in twenty fail", frames(40, 3), 0, "none (3 of 40 waiting goroutines did not pass the checks)"},
		{"a wrong layout reads 0 everywhere", null, 0, "none (different connections gave the same descriptor)"},
		{"two addresses have one descriptor", same, 0, "none (different connections gave the same descriptor)"},
		{"a reader and a writer have one connection", both, 3, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := decide(c.frames)
			if len(got) != c.want || c.why == "" && err != nil || c.why != "" && (err == nil || err.Error() != c.why) {
				t.Errorf("%d pairs, %v; want %d, %s", len(got), err, c.want, c.why)
			}
			for i := 1; i < len(got); i++ {
				if got[i-1].goroutine >= got[i].goroutine {
					t.Error("they are not in the order of the goroutines")
				}
			}
		})
	}
}

func TestPairsAreWrittenOneALine(t *testing.T) {
	var out strings.Builder
	if err := writePairs(&out, []pair{{1, 3}, {4711, 12}}); err != nil || out.String() != "1 3\n4711 12\n" {
		t.Errorf("%q, %v", out.String(), err)
	}
}
