package capture

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/read/procfs"
)

// pairing finds the descriptors that the goroutines of one dump wait for. It reads the
// first 24 bytes of each poll.FD that the dump names, through /proc/PID/mem: the process
// is not stopped and nothing is attached to it. That file is used and not
// process_vm_readv(2), because it stays that of the process that was opened, and because
// the pids below another procfs are not ours. Addresses and memory stay in here.
//
// The order is: openPairing lists the descriptors, the dump is written to frames, begin
// reads memory and looks at the descriptors again.
type pairing struct {
	// proc is the directory of the process below /proc.
	proc   string
	layout layout
	// limit is the limit of open descriptors.
	limit int64
	// within is how long after the dump memory is read.
	within time.Duration
	memory *os.File
	// before are the links of /proc/PID/fd before the dump.
	before map[int]string
	frames pollFrames

	// done is closed when pairs and err are set.
	done  chan struct{}
	pairs []pair
	err   error
}

// pairTime is how long after the dump memory is read, unless Config says otherwise.
const pairTime = 2 * time.Second

// openPairing opens the memory of a process. It fails with the reason for no pairs.
func openPairing(proc, version string, within time.Duration) (*pairing, error) {
	wide, order, err := wordsOf(filepath.Join(proc, "exe"))
	if err != nil {
		return nil, refusal(err)
	}
	at, err := layoutOf(version, wide, order)
	if err != nil {
		return nil, err
	}
	memory, err := os.Open(filepath.Join(proc, "mem"))
	if err != nil {
		return nil, refusal(err)
	}
	p := &pairing{proc: proc, layout: at, limit: openFileLimit(proc), within: within, memory: memory, before: map[int]string{}, done: make(chan struct{})}
	fds, err := numbered(filepath.Join(proc, "fd"))
	if err != nil {
		p.close()
		return nil, refusal(err)
	}
	for _, fd := range fds {
		if link, err := p.link(fd); err == nil {
			p.before[fd] = link
		}
	}
	return p, nil
}

func (p *pairing) close() { p.memory.Close() }

// refusal is an error of procfs as the reason for no pairs.
func refusal(err error) error {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return noPairs("permission")
	case gone(err) == errGone:
		return noPairs(errGone.Error())
	}
	return noPairs(withoutPath(err).Error())
}

// wordsOf reads the width and the order of a program's words in its ELF header (elf(5)).
func wordsOf(executable string) (wide bool, order binary.ByteOrder, err error) {
	f, err := os.Open(executable)
	if err != nil {
		return false, nil, err
	}
	defer f.Close()
	var head [6]byte
	if _, err := f.ReadAt(head[:], 0); err != nil {
		return false, nil, err
	}
	const class, data, class64, bigEndian = 4, 5, 2, 2
	if head[data] == bigEndian {
		return head[class] == class64, binary.BigEndian, nil
	}
	return head[class] == class64, binary.LittleEndian, nil
}

// openFileLimit is that of the process, or none.
func openFileLimit(proc string) int64 {
	name := filepath.Join(proc, "limits")
	f, err := os.Open(name)
	if err != nil {
		return math.MaxInt32
	}
	defer f.Close()
	limits, _, _ := procfs.ParseLimits(f, name)
	if soft, ok := limits.OpenFiles(); ok && soft >= 0 {
		return soft
	}
	return math.MaxInt32
}

func (p *pairing) link(fd int) (string, error) {
	return os.Readlink(filepath.Join(p.proc, "fd", strconv.Itoa(fd)))
}

// begin reads on its own: the archive may take longer to write the dump than the memory
// stays what it was.
func (p *pairing) begin() {
	go func() {
		defer close(p.done)
		p.pairs, p.err = p.find()
	}()
}

// fdWord is what was read of a poll.FD.
type fdWord struct {
	state uint64
	fd    int64
	// readable is false for an address that is not mapped any more.
	readable bool
}

// find returns the pairs. With an error that is no reason for none they are not all.
func (p *pairing) find() ([]pair, error) {
	words, stopped := p.words()
	var checked []checkedFrame
	for _, f := range p.frames.frames {
		if w, ok := words[f.address]; ok {
			checked = append(checked, checkedFrame{f, p.descriptor(f, w)})
		}
	}
	if len(checked) == 0 && stopped != nil {
		return nil, noPairs(fmt.Sprintf("late: the dump took longer than the %s in which memory may be read", p.within))
	}
	p.checkTargets(checked)
	pairs, err := decide(checked)
	if err != nil {
		return nil, err
	}
	return pairs, stopped
}

// words reads the poll.FD at each address. An error is why it stopped before the end.
func (p *pairing) words() (map[uint64]fdWord, error) {
	// A goroutine may let go of its lock for a moment, as the one does that reads from the
	// connection which asked for the dump.
	const tries, pause, most = 3, 10 * time.Millisecond, 200_000
	words := make(map[uint64]fdWord, len(p.frames.frames))
	reads, total := 0, 0
	raw := make([]byte, p.layout.length())
	for try := range tries {
		pending := p.pending(words)
		if len(pending) == 0 {
			break
		}
		if try == 0 {
			total = len(pending)
		} else {
			time.Sleep(pause)
		}
		for _, address := range pending {
			if time.Since(p.frames.begun) > p.within {
				return words, fmt.Errorf("stopped %s after the dump: %d of %d connections and files were read", p.within, len(words), total)
			}
			if reads++; reads > most {
				return words, fmt.Errorf("stopped after %d reads: %d of %d connections and files were read", most, len(words), total)
			}
			w := fdWord{}
			if _, err := p.memory.ReadAt(raw, int64(address)); err == nil {
				w.state, w.fd = p.layout.word(raw)
				w.readable = true
			}
			words[address] = w
		}
	}
	if p.frames.dropped > 0 {
		return words, fmt.Errorf("stopped after %d waiting goroutines: there are %d more", len(p.frames.frames), p.frames.dropped)
	}
	return words, nil
}

// pending returns the addresses that were not read yet, or not with the lock that their
// frame asks for, each once.
func (p *pairing) pending(words map[uint64]fdWord) []uint64 {
	var out []uint64
	listed := map[uint64]bool{}
	for _, f := range p.frames.frames {
		w, known := words[f.address]
		if known && f.use.locked(w.state) || listed[f.address] {
			continue
		}
		listed[f.address] = true
		out = append(out, f.address)
	}
	return out
}

// descriptor checks what was read, and that the descriptor leads to the same as before the
// dump. It returns -1 if not.
func (p *pairing) descriptor(f pollFrame, w fdWord) int {
	if !w.readable || !f.use.locked(w.state) || w.fd < 0 || w.fd >= p.limit {
		return -1
	}
	link, open := p.before[int(w.fd)]
	if now, err := p.link(int(w.fd)); !open || err != nil || now != link {
		return -1
	}
	return int(w.fd)
}

// checkTargets takes the descriptors that cannot be waited for in that way.
func (p *pairing) checkTargets(frames []checkedFrame) {
	sockets := p.sockets(frames)
	for i := range frames {
		f := &frames[i]
		if f.fd < 0 {
			continue
		}
		t := sockets[p.before[f.fd]]
		t.link = p.before[f.fd]
		if strings.HasPrefix(t.link, "/") && !terminal(t.link) {
			info, err := os.Stat(filepath.Join(p.proc, "fd", strconv.Itoa(f.fd)))
			t.fifo = err == nil && info.Mode()&fs.ModeNamedPipe != 0
		}
		if !f.use.fits(t) {
			f.fd = -1
		}
	}
}

// sockets looks up the sockets whose kind a check asks for, by their links.
func (p *pairing) sockets(frames []checkedFrame) map[string]target {
	found := map[string]target{}
	tables := map[string]bool{}
	for _, f := range frames {
		if f.fd < 0 {
			continue
		}
		switch f.use {
		case accepts:
			tables["tcp"], tables["unix"] = true, true
		case readsMessage, writesMessage:
			tables["udp"], tables["unix"] = true, true
		default:
			continue
		}
		found[p.before[f.fd]] = target{}
	}
	for kind, names := range map[string][]string{
		"tcp":  {"tcp", "tcp6"},
		"udp":  {"udp", "udp6", "udplite", "udplite6", "raw", "raw6", "icmp", "icmp6", "netlink", "packet"},
		"unix": {"unix"},
	} {
		for _, name := range names {
			if tables[kind] {
				p.table(name, kind != "tcp", found)
			}
		}
	}
	return found
}

// table looks for sockets in one table of the process' network namespace.
func (p *pairing) table(name string, datagram bool, found map[string]target) {
	path := filepath.Join(p.proc, "net", name)
	f, err := os.Open(path)
	if err != nil {
		return
	}
	defer f.Close()
	_, _, _ = procfs.ParseNet(f, path, func(_ int, s *analysis.Socket) error {
		link := "socket:[" + strconv.FormatUint(s.Inode, 10) + "]"
		if _, wanted := found[link]; wanted {
			found[link] = target{listening: s.State == "LISTEN", datagram: datagram}
		}
		return nil
	})
}
