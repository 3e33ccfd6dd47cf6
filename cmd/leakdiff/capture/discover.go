package capture

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Found is a process that Discover chose or left out.
type Found struct {
	// Target is set of a chosen process: its pid, and where it serves profiles.
	Target Target
	PID    int
	Name   string
	// Takes says what a capture takes of it, Left why it is left out.
	Takes, Left string

	process *process
	// descriptors is -1 where they may not be read.
	descriptors, threads int
	denied               error
}

// Bounds of Discover.
const (
	// manyOfOther is how many descriptors and threads a process must have that runs neither
	// Go nor a JVM nor Node.js.
	manyOfOther = 100
	// mostPorts of one process are asked for profiles, each for probeTime.
	mostPorts = 8
	probeTime = time.Second
)

// Discover looks at all processes of the host that it can read: those of Go, JVM and Node.js
// first, then others with many descriptors and threads, of each the largest first. The first
// top of them are chosen. Of Go processes it asks the TCP ports on which they listen for
// goroutine profiles. What could be chosen and is not has a reason in Left.
func Discover(ctx context.Context, cfg Config, top int) ([]Found, error) {
	c, err := newCollector(cfg, nil)
	if err != nil {
		return nil, err
	}
	pids, err := numbered(c.cfg.Proc)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.cfg.Proc, err)
	}
	var found []Found
	for _, pid := range pids {
		if p, err := c.open(Target{PID: pid}, pid); err == nil && pid != os.Getpid() && p.hasMemory {
			found = append(found, c.sized(p))
		}
	}
	slices.SortStableFunc(found, func(a, b Found) int {
		return cmp.Or(cmp.Compare(b.order(), a.order()), cmp.Compare(b.descriptors+b.threads, a.descriptors+a.threads))
	})
	chosen := 0
	var wait sync.WaitGroup
	for i := range found {
		f := &found[i]
		switch {
		case f.denied != nil:
			f.Left = fmt.Sprintf("its descriptors may not be read (%v): run as root or as its user", f.denied)
		case f.order() == 0 && f.descriptors+f.threads < manyOfOther:
			f.Left = fmt.Sprintf("fewer than %d descriptors and threads", manyOfOther)
		case chosen == top:
			f.Left = fmt.Sprintf("%d larger ones are captured", top)
		default:
			chosen++
			f.Target.PID = f.PID
			wait.Go(func() { c.describe(ctx, f) })
		}
	}
	wait.Wait()
	return found, nil
}

// ProfilesOf finds the address at which a Go process serves its profiles, by asking the TCP ports on
// which it listens; "" with the reason where none does.
func ProfilesOf(ctx context.Context, cfg Config, pid int) (address, why string) {
	c, err := newCollector(cfg, nil)
	if err != nil {
		return "", err.Error()
	}
	return c.profiles(ctx, pid)
}

// sized counts the descriptors and threads of a process.
func (c *collector) sized(p *process) Found {
	f := Found{PID: p.identity.PID, Name: p.identity.Name, process: p}
	fds, err := numbered(c.proc(f.PID, "fd"))
	if err == nil && len(fds) > 0 { // of some processes the numbers are shown, and nothing else
		if _, e := os.Readlink(c.proc(f.PID, filepath.Join("fd", strconv.Itoa(fds[0])))); errors.Is(e, fs.ErrPermission) {
			err = e
		}
	}
	if f.descriptors = len(fds); err != nil {
		f.descriptors, f.denied = -1, err
		if errors.Is(err, fs.ErrPermission) {
			f.denied = errors.New("permission denied")
		}
	}
	tasks, _ := numbered(c.proc(f.PID, "task"))
	f.threads = len(tasks)
	return f
}

// order is 1 for a process of which more than descriptors and threads can be had.
func (f *Found) order() int {
	if f.process.identity.Go != "" || f.process.java || f.process.node {
		return 1
	}
	return 0
}

// describe says what is taken of a process, and finds the profiles of a Go program.
func (c *collector) describe(ctx context.Context, f *Found) {
	kernel := fmt.Sprintf("%d descriptors, %d threads", f.descriptors, f.threads)
	p := f.process
	switch {
	case p.identity.Go != "":
		address, why := c.profiles(ctx, f.PID)
		f.Target.Pprof = address
		if address == "" {
			f.Takes = fmt.Sprintf("%s: %s; no goroutines: %s", p.identity.Go, kernel, why)
		} else {
			f.Takes = fmt.Sprintf("%s: goroutines from %s, %s", p.identity.Go, address, kernel)
		}
	case p.java && !c.cfg.NoJVM:
		f.Takes = "JVM: threads by jcmd or jstack where they are installed, " + kernel
	case p.node:
		f.Takes = "Node.js: a report where it was started with --report-on-signal, " + kernel
	default:
		f.Takes = kernel
	}
}

// profiles returns the first address on which a process listens that answers with a goroutine
// profile, or why there is none.
func (c *collector) profiles(ctx context.Context, pid int) (address, why string) {
	listens := c.listens(pid)
	if len(listens) == 0 {
		return "", "it listens on no TCP port; name a socket with --pid and --pprof unix:/path"
	}
	refused := ""
	for _, to := range listens[:min(len(listens), mostPorts)] {
		for _, scheme := range []string{"http", "https"} {
			base := scheme + "://" + to.String()
			err := c.probe(ctx, pid, base)
			if err == nil {
				return base, ""
			}
			text := err.Error()
			if strings.Contains(text, "answered 401") || strings.Contains(text, "answered 403") {
				refused = fmt.Sprintf("%s wants a token: give --header-file", base)
			}
			if strings.Contains(text, "certificate") {
				refused = fmt.Sprintf("the certificate of %s is not known: give --ca-file or --insecure", base)
			}
			// What speaks TLS answers plain HTTP with 400, or ends the connection.
			if !strings.Contains(text, "answered 400") && !isCut(err) && !strings.Contains(text, "malformed HTTP") {
				break
			}
		}
	}
	if refused != "" {
		return "", refused
	}
	return "", fmt.Sprintf("none of its %d TCP ports serves /debug/pprof; import net/http/pprof there, or name it with --pprof", len(listens))
}

// probe asks for a goroutine profile with counts alone, the cheapest one.
func (c *collector) probe(ctx context.Context, pid int, base string) error {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	e, err := c.newEndpoint(base, "/debug/pprof", pid)
	if err != nil {
		return err
	}
	defer e.close()
	return e.get(ctx, "goroutine", "debug=1", countedText, io.Discard)
}

// listens returns the addresses on which a process accepts TCP connections, of its own network
// namespace. Any address becomes that of the loopback.
func (c *collector) listens(pid int) []netip.AddrPort {
	fds, _ := numbered(c.proc(pid, "fd"))
	own := map[string]bool{}
	for _, fd := range fds {
		target, _ := os.Readlink(c.proc(pid, filepath.Join("fd", strconv.Itoa(fd))))
		if inode, ok := strings.CutPrefix(target, "socket:["); ok {
			own[strings.TrimSuffix(inode, "]")] = true
		}
	}
	var out []netip.AddrPort
	for _, table := range []string{"net/tcp", "net/tcp6"} {
		text, _ := os.ReadFile(c.proc(pid, table))
		for line := range strings.Lines(string(text)) {
			// sl local_address rem_address st tx:rx tr:tm retrnsmt uid timeout inode
			const local, state, inode, listening = 1, 3, 9, "0A"
			fields := strings.Fields(line)
			if len(fields) <= inode || fields[state] != listening || !own[fields[inode]] {
				continue
			}
			if address, ok := tableAddress(fields[local]); ok && !slices.Contains(out, address) {
				out = append(out, address)
			}
		}
	}
	return out
}

// tableAddress reads an address as /proc/net/tcp prints it: words of four bytes in the order of
// the machine, then the port.
//
//	"0100007F:17AC"   127.0.0.1:6060 on a little-endian machine
func tableAddress(text string) (netip.AddrPort, bool) {
	words, number, _ := strings.Cut(text, ":")
	bytes, err := hex.DecodeString(words)
	port, errPort := strconv.ParseUint(number, 16, 16)
	if err != nil || errPort != nil || len(bytes)%4 != 0 {
		return netip.AddrPort{}, false
	}
	for i := 0; i < len(bytes); i += 4 {
		binary.NativeEndian.PutUint32(bytes[i:], binary.BigEndian.Uint32(bytes[i:]))
	}
	address, ok := netip.AddrFromSlice(bytes)
	if address = address.Unmap(); address.IsUnspecified() {
		address = netip.AddrFrom4([4]byte{127, 0, 0, 1})
	}
	return netip.AddrPortFrom(address, uint16(port)), ok
}
