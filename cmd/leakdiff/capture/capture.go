// Package capture makes a bundle of a running process on its own node, over several
// rounds: evidence from the kernel, from its endpoints and from tools, with a manifest for
// each round. It takes pids or names and addresses and returns one tar.gz. It does not
// interpret what it copies, and no step takes longer than its budget.
//
// # The archive
//
//	leakdiff-HOST-20261121T030405Z/t0/kubelet-4711/     a round, a process
//	    stat status cmdline cgroup limits mountinfo     as the kernel prints them, cmdline without secrets
//	    proc_net_tcp …                                  tables of the process' network namespace
//	    fdinfo/N fd/N                                   read one by one; fd/N are links whose targets are data;
//	                                                    of many descriptors fdinfo.txt, fd.txt (manyFiles)
//	    inotify-sysctls.txt                             "/proc/sys/fs/inotify/NAME:VALUE", and file-nr
//	    cgroup-inodes.txt                               "INODE PATH" of the cgroups, as the process sees them
//	    watches.jsonl                                   what each watched file handle leads to: WatchTarget
//	    goroutine.debug1.txt goroutine.pb goroutine.debug2.txt
//	    goroutine-fds.txt                               "GOROUTINE FD": what the goroutines of debug=2 wait for
//	    pods.txt containers.txt                         of the node of a kubelet or container runtime
//	    metrics.txt lsof.txt thread-dump.txt node-report.json sigquit.txt
//	    manifest.json                                   Manifest, written last
//
// A manifest belongs to its directory: one round of one process. It holds the identity of
// the process, the time at which each file was begun, the steps that failed and why, and
// the hash of every file. The script collect.sh writes part of it: fdinfo.txt, fd.txt, other
// files of /proc and goroutine dumps.
package capture

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// MicrosecondsPerGoroutine is about how long debug=2 stops the world for each goroutine.
const MicrosecondsPerGoroutine = 10

// defaultMaxGoroutines is the number above which debug=2 is not requested. It would stop
// the world for a second, and again whenever runtime/pprof doubles its buffer. The buffer
// ends at 64 MiB, so more goroutines do not fit into the text anyway.
const defaultMaxGoroutines = 100_000

// maxFile bounds one file of the archive.
const maxFile = 256 << 20

// Target is a process to capture.
type Target struct {
	// PID is the process, or 0 for all with the name Name. Both may be empty if there is
	// only an endpoint.
	PID  int
	Name string
	// Pprof and Metrics are addresses of its endpoints, "" for none.
	Pprof, Metrics string
}

// Config configures a capture. Zero values mean the defaults.
type Config struct {
	Targets []Target
	// Count is the number of rounds, default 1. Every is the time between them, default 30
	// s.
	Count int
	Every time.Duration
	// Budget bounds one step, default 10 s.
	Budget time.Duration
	// MaxGoroutines is the number above which debug=2 is not requested. A negative number
	// means no limit.
	MaxGoroutines int
	// HeaderFile holds header lines for the endpoints, CAFile the certificates to trust.
	HeaderFile, CAFile string
	// Insecure accepts any certificate.
	Insecure bool
	// SIGQUIT sends that signal: to a Go process in the last round, since it ends the
	// process, to a JVM in all rounds.
	SIGQUIT bool
	// NodeReport sends SIGUSR2 even without a sign that Node handles it.
	NodeReport bool
	NoLsof     bool
	NoJVM      bool
	// Pair is whether the descriptors are looked up that goroutines wait for. PairTime is
	// how long after the dump memory may be read, default 2 s.
	Pair     Pairing
	PairTime time.Duration
	// Proc is where procfs is mounted, default "/proc".
	Proc string
	// Host overrides the name of the host.
	Host string
	// Tool is the name and version in the manifest.
	Tool string
	// Say receives lines for people. It may be nil.
	Say func(string)
	// Now is the clock, default time.Now.
	Now func() time.Time
}

// Summary is what was captured.
type Summary struct {
	// Rounds were begun. Captures are processes times rounds.
	Rounds, Captures int
	// Files were written, without manifests; a directory counts as one.
	Files int
	// Lost describes the steps that failed or are partial, each once.
	Lost        []string
	Interrupted bool
}

type collector struct {
	cfg     Config
	archive *Archive
	top     string
	header  http.Header
	tls     *tls.Config
	kernel  string
	bootID  string
	// known are the processes by pid and start, until their end was reported.
	known map[string]*process

	// late is the delay of the round, 0 if it is small.
	late time.Duration

	mu      sync.Mutex
	summary Summary
}

// Run captures until all rounds are done, all processes have ended or ctx ends. The
// archive then holds what was captured, and the caller closes it. Run fails only if
// nothing can be captured at all.
func Run(ctx context.Context, cfg Config, a *Archive) (Summary, error) {
	c, err := newCollector(cfg, a)
	if err != nil {
		return Summary{}, err
	}
	start := c.begin()
	for n := range c.cfg.Count {
		due := start.Add(time.Duration(n) * c.cfg.Every)
		if !c.sleep(ctx, due) {
			break
		}
		c.late = tooLate(c.cfg.Now().Sub(due), c.cfg.Every)
		if c.late > 0 {
			c.say(fmt.Sprintf("warning: t%d begins %.0f s late: a round takes longer than --every %s", n, c.late.Seconds(), c.cfg.Every))
		}
		visits, err := c.round(ctx, n)
		if err := errors.Join(err, a.flush()); err != nil {
			return c.summary, err
		}
		// What was reported of a round must be readable if the program is killed now.
		for _, v := range visits {
			c.say(v.line())
		}
		if len(visits) == 0 && n > 0 {
			c.say("no process is left to capture")
			break
		}
		if len(visits) == 0 {
			return c.summary, c.nothingToCapture()
		}
	}
	c.summary.Interrupted = ctx.Err() != nil
	return c.summary, nil
}

func newCollector(cfg Config, a *Archive) (*collector, error) {
	if cfg.Count <= 0 {
		cfg.Count = 1
	}
	if cfg.Every <= 0 {
		cfg.Every = 30 * time.Second
	}
	if cfg.Budget <= 0 {
		cfg.Budget = 10 * time.Second
	}
	if cfg.MaxGoroutines == 0 {
		cfg.MaxGoroutines = defaultMaxGoroutines
	}
	if cfg.PairTime <= 0 {
		cfg.PairTime = pairTime
	}
	if cfg.Proc == "" {
		cfg.Proc = "/proc"
	}
	if cfg.Host == "" {
		cfg.Host, _ = os.Hostname()
	}
	if cfg.Tool == "" {
		cfg.Tool = "leakdiff collect"
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	c := &collector{cfg: cfg, archive: a, known: map[string]*process{}}
	var err error
	if c.header, err = headers(cfg.HeaderFile); err != nil {
		return nil, err
	}
	if c.tls, err = trust(cfg); err != nil {
		return nil, err
	}
	if err := c.withoutProcfs(); err != nil {
		return nil, err
	}
	c.kernel = firstLine(filepath.Join(cfg.Proc, "sys/kernel/osrelease"))
	c.bootID = firstLine(filepath.Join(cfg.Proc, "sys/kernel/random/boot_id"))
	return c, nil
}

// ErrNoProcfs is the error of a target without an address where there is no procfs, as on macOS.
var ErrNoProcfs = errors.New("this system has no procfs, so a process cannot be read by its number or name")

// withoutProcfs captures targets by their addresses alone where there is no procfs, and says what
// that leaves out.
func (c *collector) withoutProcfs() error {
	if _, err := os.Stat(c.cfg.Proc); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	c.cfg.Targets = slices.Clone(c.cfg.Targets)
	for i := range c.cfg.Targets {
		t := &c.cfg.Targets[i]
		if t.Pprof == "" && t.Metrics == "" {
			return fmt.Errorf("%s: %w", c.cfg.Proc, ErrNoProcfs)
		}
		t.PID, t.Name = 0, ""
	}
	c.say("warning: this system has no procfs: what the addresses serve is captured, and no descriptors, watches, limits or threads; lsof -p PID > lsof-1.txt, again a minute later, has the descriptors")
	return nil
}

// begin names the directory of the rounds by the present time, which it returns.
func (c *collector) begin() time.Time {
	now := c.cfg.Now()
	c.top = "leakdiff-" + FileName(c.cfg.Host) + "-" + now.UTC().Format("20060102T150405Z")
	return now
}

func firstLine(name string) string {
	text, _ := os.ReadFile(name)
	line, _, _ := strings.Cut(string(text), "\n")
	return strings.TrimSpace(line)
}

func (c *collector) say(text string) {
	if c.cfg.Say != nil {
		c.cfg.Say(text)
	}
}

// tooLate is a delay worth reporting, to the tenth of a second, else 0.
func tooLate(by, every time.Duration) time.Duration {
	if by < 2*time.Second || by < every/10 {
		return 0
	}
	return by.Round(100 * time.Millisecond)
}

// sleep waits until a round begins. It reports false if ctx ended first.
func (c *collector) sleep(ctx context.Context, until time.Time) bool {
	wait := until.Sub(c.cfg.Now())
	if wait <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// nothingToCapture explains why there was nothing to capture.
func (c *collector) nothingToCapture() error {
	var who []string
	for _, t := range c.cfg.Targets {
		if t.PID != 0 {
			who = append(who, "pid "+strconv.Itoa(t.PID))
		} else {
			who = append(who, "process named "+strconv.Quote(t.Name))
		}
	}
	return fmt.Errorf("there is no %s below %s", strings.Join(who, " and no "), c.cfg.Proc)
}

// round captures all processes at the same time.
func (c *collector) round(ctx context.Context, n int) (visits []*visit, err error) {
	visits = c.visits(n)
	ending := c.left(n, visits)
	if len(visits) == 0 && len(ending) == 0 {
		return nil, nil
	}
	c.summary.Rounds = n + 1
	var wait sync.WaitGroup
	errs := make([]error, len(visits))
	for i, v := range visits {
		wait.Go(func() { errs[i] = v.run(ctx) })
	}
	wait.Wait()
	for _, v := range ending {
		errs = append(errs, v.finish(false))
	}
	c.summary.Captures += len(visits)
	return visits, errors.Join(errs...)
}

// visits returns a visit for each process that exists now. A process that several targets
// name has the addresses of all of them.
func (c *collector) visits(n int) []*visit {
	var out []*visit
	for _, t := range c.cfg.Targets {
		found := c.present(t)
		for _, p := range found {
			i := slices.IndexFunc(out, func(v *visit) bool { return v.p == p })
			if i < 0 {
				i = len(out)
				out = append(out, c.visit(n, p))
			}
			out[i].pprof = out[i].pprof.or(t.Pprof, len(found))
			out[i].metrics = out[i].metrics.or(t.Metrics, len(found))
		}
	}
	return out
}

// address is the address of an endpoint, and the number of processes that it was given
// for. Its process is unknown if that is more than one.
type address struct {
	text string
	of   int
}

// or returns the address, unless the other one is for fewer processes.
func (a address) or(text string, of int) address {
	if text != "" && (a.text == "" || of < a.of) {
		return address{text, of}
	}
	return a
}

// ambiguous returns an error if the address is for more than one process.
func (a address) ambiguous(name string) error {
	if a.of < 2 {
		return nil
	}
	return fmt.Errorf("%d processes are called %s: say whose address it is with PID=URL", a.of, name)
}

// present returns the processes of a target that exist now.
func (c *collector) present(t Target) []*process {
	if t.PID == 0 && t.Name == "" {
		return []*process{c.remember(&process{target: t, dir: "endpoint-" + FileName(Shown(t.Pprof)+Shown(t.Metrics)), identity: Identity{}})}
	}
	pids := []int{t.PID}
	if t.PID == 0 {
		pids = c.named(t.Name)
	}
	var out []*process
	for _, pid := range pids {
		p, err := c.open(t, pid)
		if err == nil {
			out = append(out, c.remember(p))
		}
	}
	return out
}

// remember returns the process opened in an earlier round, unless its pid is another
// process now.
func (c *collector) remember(p *process) *process {
	key := p.key()
	if c.known[key] == nil {
		c.known[key] = p
	}
	return c.known[key]
}

func (p *process) key() string {
	return p.dir + "/" + strconv.FormatUint(p.identity.StartTicks, 10)
}

// left returns visits to processes that have ended since the last round. Their manifest
// records the end, once.
func (c *collector) left(n int, now []*visit) []*visit {
	var out []*visit
	keys := make([]string, 0, len(c.known))
	for key := range c.known {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		if slices.ContainsFunc(now, func(v *visit) bool { return v.p.key() == key }) {
			continue
		}
		p := c.known[key]
		delete(c.known, key)
		v := c.visit(n, p)
		v.dir = path.Join(c.top, "t"+strconv.Itoa(n), p.dir+"-ended")
		v.skip("process", Failed, errGone)
		c.say(fmt.Sprintf("%s: %s (%d) has ended", v.label(), p.identity.Name, p.identity.PID))
		out = append(out, v)
	}
	return out
}

// addLoss adds a failed step to the summary.
func (c *collector) addLoss(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !slices.Contains(c.summary.Lost, text) {
		c.summary.Lost = append(c.summary.Lost, text)
	}
}

// addFiles counts the files of the steps of a visit.
func (c *collector) addFiles(steps []Step) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range steps {
		if s.File != "" {
			c.summary.Files++
		}
	}
}
