package capture

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// fakeProcess is a directory of procfs with memory and descriptors.
type fakeProcess struct {
	t   *testing.T
	dir string
	mem *os.File
}

func newFakeProcess(t *testing.T) *fakeProcess {
	t.Helper()
	f := &fakeProcess{t: t, dir: t.TempDir()}
	for _, sub := range []string{"fd", "net"} {
		if err := os.Mkdir(filepath.Join(f.dir, sub), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	f.write("exe", "\x7fELF\x02\x01")
	f.write("limits", "Max open files            1024                 4096                 files     \n")
	f.write("net/tcp", "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"+
		"   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 900 1 0000000000000000 100 0 0 10 0\n"+
		"   1: 0100007F:1F90 0100007F:9999 01 00000000:00000000 00:00000000 00000000     0        0 901 1 0000000000000000 100 0 0 10 0\n")
	f.write("net/udp", "   sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode ref pointer drops\n"+
		"  100: 0100007F:0035 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 902 2 0000000000000000 0\n")
	var err error
	if f.mem, err = os.Create(filepath.Join(f.dir, "mem")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.mem.Close() })
	return f
}

func (f *fakeProcess) write(name, text string) {
	f.t.Helper()
	if err := os.WriteFile(filepath.Join(f.dir, name), []byte(text), 0o600); err != nil {
		f.t.Fatal(err)
	}
}

// open sets what a descriptor leads to, "" for nothing.
func (f *fakeProcess) open(fd int, link string) {
	f.t.Helper()
	name := filepath.Join(f.dir, "fd", strconv.Itoa(fd))
	os.Remove(name)
	if link == "" {
		return
	}
	if err := os.Symlink(link, name); err != nil {
		f.t.Fatal(err)
	}
}

// put writes a poll.FD.
func (f *fakeProcess) put(address uint64, state uint64, fd int64) {
	f.t.Helper()
	var b [24]byte
	binary.LittleEndian.PutUint64(b[:], state)
	binary.LittleEndian.PutUint64(b[16:], uint64(fd))
	if _, err := f.mem.WriteAt(b[:], int64(address)); err != nil {
		f.t.Fatal(err)
	}
}

const reader, writer = 1<<3 | 2, 1<<3 | 4

// pairing opens the process with n readers of sockets of their own, which pass every check.
func (f *fakeProcess) pairing(n int) *pairing {
	f.t.Helper()
	for i := range n {
		f.open(100+i, "socket:["+strconv.Itoa(5000+i)+"]")
		f.put(uint64(4096+64*i), reader, int64(100+i))
	}
	p, err := openPairing(f.dir, "go1.26.8", time.Hour)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(p.close)
	p.frames.begun = time.Now()
	for i := range n {
		p.frames.frames = append(p.frames.frames, pollFrame{int64(1000 + i), reads, uint64(4096 + 64*i)})
	}
	return p
}

func TestAPairMustPassEveryCheck(t *testing.T) {
	const address, goroutine, others = 1024, 7, 40
	for _, c := range []struct {
		name   string
		use    use
		before func(f *fakeProcess)
		after  func(f *fakeProcess)
		want   int // the descriptor, -1 for no pair
	}{
		{"a reader of a socket", reads, func(f *fakeProcess) { f.put(address, reader, 3); f.open(3, "socket:[901]") }, nil, 3},
		{"a writer of a socket", writes, func(f *fakeProcess) { f.put(address, writer, 3); f.open(3, "socket:[901]") }, nil, 3},
		{"an acceptor of a socket that listens", accepts, func(f *fakeProcess) { f.put(address, reader, 3); f.open(3, "socket:[900]") }, nil, 3},
		{"an acceptor of a connection", accepts, func(f *fakeProcess) { f.put(address, reader, 3); f.open(3, "socket:[901]") }, nil, -1},
		{"an acceptor of a socket that no table has", accepts, func(f *fakeProcess) { f.put(address, reader, 3); f.open(3, "socket:[999]") }, nil, -1},
		{"a receiver of datagrams", readsMessage, func(f *fakeProcess) { f.put(address, reader, 3); f.open(3, "socket:[902]") }, nil, 3},
		{"a receiver of datagrams on a stream", readsMessage, func(f *fakeProcess) { f.put(address, reader, 3); f.open(3, "socket:[901]") }, nil, -1},
		{"a reader of a pipe", reads, func(f *fakeProcess) { f.put(address, reader, 0); f.open(0, "pipe:[1]") }, nil, 0},
		{"a reader of /dev/null", reads, func(f *fakeProcess) { f.put(address, reader, 0); f.open(0, "/dev/null") }, nil, -1},
		{"a closed one", reads, func(f *fakeProcess) { f.put(address, reader|1, 3); f.open(3, "socket:[901]") }, nil, -1},
		{"one that nobody reads", reads, func(f *fakeProcess) { f.put(address, writer, 3); f.open(3, "socket:[901]") }, nil, -1},
		{"a negative descriptor", reads, func(f *fakeProcess) { f.put(address, reader, -1) }, nil, -1},
		{"a descriptor above the limit", reads, func(f *fakeProcess) { f.put(address, reader, 1024); f.open(1024, "socket:[901]") }, nil, -1},
		{"a number that is no descriptor", reads, func(f *fakeProcess) { f.put(address, reader, 1<<40) }, nil, -1},
		{"one that was not open before the dump", reads, func(f *fakeProcess) { f.put(address, reader, 3) }, func(f *fakeProcess) { f.open(3, "socket:[901]") }, -1},
		{"one that is not open after it", reads, func(f *fakeProcess) { f.put(address, reader, 3); f.open(3, "socket:[901]") }, func(f *fakeProcess) { f.open(3, "") }, -1},
		{"one that leads elsewhere after it", reads, func(f *fakeProcess) { f.put(address, reader, 3); f.open(3, "socket:[901]") }, func(f *fakeProcess) { f.open(3, "socket:[902]") }, -1},
		{"an address without memory", reads, func(*fakeProcess) {}, func(f *fakeProcess) { f.mem.Truncate(4096 + 64*others) }, -1},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFakeProcess(t)
			c.before(f)
			p := f.pairing(others)
			at := uint64(address)
			if strings.Contains(c.name, "without memory") {
				at = 1 << 40
			}
			p.frames.frames = append(p.frames.frames, pollFrame{goroutine, c.use, at})
			if c.after != nil {
				c.after(f)
			}
			pairs, err := p.find()
			if err != nil {
				t.Fatal(err)
			}
			got := -1
			for _, x := range pairs {
				if x.goroutine == goroutine {
					got = x.fd
				}
			}
			if want := others + min(c.want+1, 1); got != c.want || len(pairs) != want {
				t.Errorf("descriptor %d of %d pairs, want %d of %d", got, len(pairs), c.want, want)
			}
		})
	}
}

func TestMemoryIsReadSoonAfterTheDumpOrNotAtAll(t *testing.T) {
	p := newFakeProcess(t).pairing(3)
	p.frames.begun, p.within = time.Now().Add(-time.Minute), 2*time.Second
	if pairs, err := p.find(); len(pairs) > 0 || !isNoPairs(err) || err.Error() != "none (late: the dump took longer than the 2s in which memory may be read)" {
		t.Errorf("%v, %v", pairs, err)
	}
}

func TestPairsThatAreNotAllSaySo(t *testing.T) {
	p := newFakeProcess(t).pairing(3)
	p.frames.dropped = 7
	if pairs, err := p.find(); len(pairs) != 3 || err == nil || isNoPairs(err) || err.Error() != "stopped after 3 waiting goroutines: there are 7 more" {
		t.Errorf("%v, %v", pairs, err)
	}
}

func TestALockThatIsFreeForAMomentIsReadAgain(t *testing.T) {
	f := newFakeProcess(t)
	p := f.pairing(3)
	f.put(4096, 0, 100)
	if pairs, err := p.find(); err == nil {
		t.Errorf("%v of a descriptor that nobody reads", pairs)
	}
	if words := map[uint64]fdWord{4096: {state: 0, readable: true}, 4160: {state: reader, readable: true}}; len(p.pending(words)) != 2 {
		t.Errorf("%d are read again, want the free one and the unread one", len(p.pending(words)))
	}
}

func TestAProcessThatCannotBeReadIsRefusedWithAReason(t *testing.T) {
	for _, c := range []struct {
		name, version, want string
		change              func(f *fakeProcess)
	}{
		{"it has ended", "go1.26.8", "none (the process has ended)", func(f *fakeProcess) { os.Remove(filepath.Join(f.dir, "exe")) }},
		{"its memory is gone", "go1.26.8", "none (the process has ended)", func(f *fakeProcess) { os.Remove(filepath.Join(f.dir, "mem")) }},
		{"its version is not known", "", "none (the Go version of the program is not known)", func(*fakeProcess) {}},
		{"its executable is empty", "go1.26.8", "none (EOF)", func(f *fakeProcess) { f.write("exe", "") }},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFakeProcess(t)
			c.change(f)
			if _, err := openPairing(f.dir, c.version, time.Hour); err == nil || err.Error() != c.want {
				t.Errorf("%v, want %s", err, c.want)
			}
		})
	}
}
