package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/say/wording"
	"leakdiff/cmd/leakdiff/capture"
)

type collectCommand struct {
	PID     []int         `name:"pid" help:"Process to capture; may be repeated."`
	Name    []string      `help:"Capture every process of this name, also those that are started later; may be repeated."`
	Auto    bool          `help:"Find the processes of this host: Go, JVM and Node.js, and others with many descriptors and threads. Asks Go programs on their TCP ports for /debug/pprof."`
	Top     int           `help:"With --auto: the most processes, the largest first." default:"20"`
	Pprof   []string      `help:"Where the process serves /debug/pprof: a URL, host:port, or unix:/path. Of several processes PID=URL or NAME=URL." sep:"none"`
	Metrics []string      `help:"Where the process serves /metrics, written like --pprof." sep:"none"`
	Every   time.Duration `help:"Time between the begins of two rounds." default:"30s"`
	Count   int           `help:"Number of rounds; --until counts none." default:"10"`
	Output  string        `short:"o" help:"Archive to write, - for standard output. It is written as FILE.partial and renamed at the end." placeholder:"FILE" default:"leakdiff-capture.tar.gz"`

	Until   string        `help:"Capture until the report over the rounds has this verdict, as --fail-on of report (leaking, saturated, suspicious or grew), and has it still after a quarter more time (a full limit and what the runtime marks need none), or a process has more than this: 'rss>2GiB', 'goroutines>5000', also threads, descriptors, watches. --every is the time to the second round; it grows by half with each, up to 10 minutes." default:"" placeholder:"GOAL"`
	Max     time.Duration `help:"With --until: end after this time." default:"2h"`
	MaxSize string        `help:"With --until: the most that the rounds may take on the disk. Above it, and above 60 rounds, those between the first and the last are dropped evenly." default:"1GiB"`

	StepTimeout   time.Duration `help:"The most that one step may take: an endpoint that hangs costs its own step only." default:"10s"`
	HeaderFile    string        `help:"File with header lines for the endpoints (Authorization: Bearer ...), or with a bare token."`
	CAFile        string        `name:"ca-file" help:"Certificates that the endpoints are checked against."`
	Insecure      bool          `help:"Take any certificate, as a kubelet's own one."`
	MaxGoroutines int           `help:"Do not ask for debug=2 above so many goroutines, by the total of debug=1." default:"100000"`
	Force         bool          `help:"Ask for debug=2 however many goroutines there are."`
	Sigquit       bool          `help:"Send SIGQUIT: a Go program writes its stacks to its standard error AND ENDS, so that it is asked in the last round only; a JVM goes on."`
	NodeReport    bool          `help:"Send SIGUSR2 to Node.js also where --report-on-signal is not in its command line, if it catches the signal."`
	Lsof          bool          `help:"Run lsof where it is installed." default:"true" negatable:""`
	JVM           bool          `name:"jvm" help:"Ask a JVM for its threads, by jcmd or jstack." default:"true" negatable:""`
	Pair          *bool         `help:"Read 24 bytes of memory for each goroutine that waits for a connection or a pipe, and store its goroutine id and descriptor, nothing else. It needs root or the user of the process. On for root where --pprof is on this host, else off." negatable:""`
	Host          string        `name:"hostname" help:"Name of the host, where its own one says nothing."`
	Proc          string        `help:"Where procfs is mounted." default:"/proc"`

	Pod    string `help:"Print the kubectl line that captures in this pod (NAMESPACE/POD or NAMESPACE/POD/CONTAINER), and do nothing else." placeholder:"NAMESPACE/POD"`
	Node   string `help:"Print the kubectl line that captures on this node, and do nothing else."`
	Script bool   `help:"Print the POSIX shell script that takes files of /proc and goroutine dumps where the program may not be copied, and do nothing else; a server has it at /collect.sh."`

	// passing says that the archive goes away: its name is told nobody.
	passing bool
	// now and wait are the clock of --until, which tests set.
	now  func() time.Time
	wait func(ctx context.Context, until time.Time) bool
}

// Help is printed below the flags.
func (*collectCommand) Help() string {
	return fmt.Sprintf(`What it costs the process: reading /proc costs nothing worth naming. A goroutine dump stops the whole program
for about %d us per goroutine and copy of the buffer: 10,000 goroutines about 0.1 s, 100,000 about 1 s. debug=1 is asked
first, which is cheap, and debug=2 only below --max-goroutines; an endpoint that did not answer is not asked again in the
same round. lsof and jcmd run once a round. No environment is kept, and secrets in command lines are hidden.

Which goroutine waits for which descriptor stands in no file of the kernel. After debug=2 the program reads 24 bytes of
memory for each goroutine that waits for a connection or a pipe, at most 200,000 times and for at most 2 s. The process is
not stopped for it. Goroutine ids and descriptors are stored in goroutine-fds.txt; memory and addresses are not. Go 1.19 and
1.21 to 1.27 are known. Where it may not read, the manifest says "none (permission)". --no-pair switches it off.

The archive is whole whenever the capture ends: SIGINT, SIGTERM and SIGHUP finish it with what is there, with a warning and
status 0. Status 2 means that nothing was captured. Where every step failed, the archive holds manifests that say why.

With --until the rounds stand in FILE.rounds until the end. What a killed one left there, or in
FILE.partial, is kept as FILE.rounds-TIME and FILE.partial-TIME, and it says so. It prints the answer in a few lines. Exit status: 0 the verdict was
reached, 3 it was not (--max passed, the processes ended, a signal came), 2 nothing captured. The archive is written either way.

Examples:
  leakdiff collect --pid 4711 --pprof http://127.0.0.1:6060 -o capture.tar.gz
  leakdiff collect --name kubelet --every 1m --count 5
  leakdiff collect --auto --count 5
  leakdiff collect --pid 4711 --pprof 127.0.0.1:6060 --until leaking --max 2h && leakdiff push --server http://leaks:8080 leakdiff-capture.tar.gz`, capture.MicrosecondsPerGoroutine)
}

func (c *collectCommand) Run(ctx context.Context, m *Main) error {
	switch {
	case c.Script:
		_, err := m.Stdout.Write(capture.Script())
		return err
	case c.Pod != "" || c.Node != "":
		arguments, err := c.scriptArguments()
		if err != nil {
			return err
		}
		var files []string
		if c.HeaderFile != "" {
			files = append(files, c.HeaderFile)
		}
		lines, err := capture.Kubectl{Pod: c.Pod, Node: c.Node, Arguments: arguments, Files: files, Output: c.Output}.Lines()
		if err != nil {
			return badCollect(err.Error(), "leakdiff collect --pod kube-system/coredns-7d --name coredns")
		}
		_, err = fmt.Fprint(m.Stdout, lines)
		return err
	}
	ends := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // nohup ignores it
		ends = append(ends, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(ctx, ends...)
	defer stop()
	// A second signal ends the program at once.
	context.AfterFunc(ctx, stop)
	targets, err := c.targets()
	if c.Auto && err == nil {
		targets, err = c.discover(ctx, m)
	}
	if err != nil {
		return err
	}
	return c.collect(ctx, m, targets)
}

// discover finds the processes of --auto, and says what is taken and what is left out.
func (c *collectCommand) discover(ctx context.Context, m *Main) ([]capture.Target, error) {
	found, err := capture.Discover(ctx, c.config(nil, nil), c.Top)
	if err != nil {
		return nil, badCollect(err.Error(), "name the processes with --pid or --name")
	}
	var targets []capture.Target
	left := map[string][]string{}
	var reasons []string
	for _, f := range found {
		who := fmt.Sprintf("%s (%d)", f.Name, f.PID)
		if f.Left == "" {
			targets = append(targets, f.Target)
			m.say(who + ": " + f.Takes)
			continue
		}
		if left[f.Left] == nil {
			reasons = append(reasons, f.Left)
		}
		left[f.Left] = append(left[f.Left], who)
	}
	for _, why := range reasons {
		m.say(fmt.Sprintf("left out %s: %s", wording.Commas(left[why], mostLeftOut), why))
	}
	if len(targets) == 0 {
		return nil, badCollect("no process of this host can be captured", "run it as root, or name one with --pid")
	}
	return targets, nil
}

// mostLeftOut is how many processes are named that --auto leaves out for one reason.
const mostLeftOut = 5

func badCollect(why, hint string) error {
	return &analysis.Fault{Code: "bad_request", What: "cannot collect", Why: why, Hint: hint}
}

func (c *collectCommand) collect(ctx context.Context, m *Main, targets []capture.Target) error {
	say := m.say
	cfg := c.config(targets, say)
	if c.Until != "" {
		return c.collectUntil(ctx, m, cfg)
	}
	archive := capture.StreamArchive(m.Stdout)
	if c.Output != "-" {
		var err error
		if archive, err = capture.NewArchive(c.Output); err != nil {
			return badCollect(err.Error(), "name a file in a directory that you may write to with -o")
		}
	}
	sum, err := capture.Run(ctx, cfg, archive)
	if err != nil && sum.Captures == 0 {
		archive.Discard()
		hint := "name a process that runs now with --pid or --name, or an endpoint with --pprof"
		if errors.Is(err, capture.ErrNoProcfs) {
			hint = "of a Go program: leakdiff pprof URL; of a JVM: jcmd PID Thread.print > threads-1.txt; of descriptors: lsof -p PID > lsof-1.txt; each again a minute later"
		}
		return badCollect(err.Error(), hint)
	}
	if err := errors.Join(err, archive.Close()); err != nil {
		return &analysis.Fault{Code: "disk_full", What: "the archive could not be written", Where: c.Output, Why: err.Error(), Hint: "name a file on a disk with room with -o; FILE.partial holds what was written"}
	}
	for _, lost := range sum.Lost {
		say("warning: " + lost)
	}
	if sum.Interrupted {
		say(fmt.Sprintf("warning: ended by a signal in round %d of %d; the archive holds what was there", sum.Rounds, c.Count))
	}
	if sum.Files == 0 {
		return c.nothingCaptured(sum.Rounds)
	}
	if c.Output != "-" && !c.passing {
		say(fmt.Sprintf("%s: %d bytes, %s; read it with: leakdiff report %s", c.Output, archive.Size(), wording.Plural(sum.Rounds, "round", "rounds"), c.Output))
	}
	return nil
}

// nothingCaptured is the error of rounds without any evidence. The archive stays.
func (c *collectCommand) nothingCaptured(rounds int) error {
	return &analysis.Fault{Code: "nothing_captured", What: "nothing was captured", Where: c.Output,
		Why:  "no step of " + wording.Plural(rounds, "round", "rounds") + " got anything; the warnings and manifest.json in the archive say why",
		Hint: "check that the process runs and serves profiles at the address of --pprof, or name it with --pid or --name"}
}

// config is what the flags say of a capture.
func (c *collectCommand) config(targets []capture.Target, say func(string)) capture.Config {
	cfg := capture.Config{
		Targets: targets, Count: c.Count, Every: c.Every, Budget: c.StepTimeout, MaxGoroutines: c.MaxGoroutines,
		HeaderFile: c.HeaderFile, CAFile: c.CAFile, Insecure: c.Insecure, SIGQUIT: c.Sigquit, NodeReport: c.NodeReport,
		NoLsof: !c.Lsof, NoJVM: !c.JVM, Proc: c.Proc, Host: c.Host, Tool: "leakdiff collect " + version, Say: say,
	}
	if c.Pair != nil {
		cfg.Pair = capture.PairNever
		if *c.Pair {
			cfg.Pair = capture.PairAlways
		}
	}
	if c.Force {
		cfg.MaxGoroutines = -1
	}
	return cfg
}

const exampleOfCollect = "leakdiff collect --pid 4711 --pprof http://127.0.0.1:6060 -o capture.tar.gz"

// checkPositive refuses numbers and times that would capture nothing.
func (c *collectCommand) checkPositive() error {
	if c.Count < 1 || c.Every <= 0 || c.StepTimeout <= 0 || c.MaxGoroutines < 1 {
		return badCollect("--count, --every, --step-timeout and --max-goroutines must be above 0", exampleOfCollect)
	}
	if _, ok := goalOf(c.Until); c.Until != "" && !ok {
		return badCollect(fmt.Sprintf("--until %q was not understood", c.Until), goalExample)
	}
	if c.Until != "" && c.Max <= 0 || c.Auto && c.Top < 1 {
		return badCollect("--max and --top must be above 0", exampleOfCollect)
	}
	return nil
}

// targets pairs processes with endpoints.
func (c *collectCommand) targets() ([]capture.Target, error) {
	if err := c.checkPositive(); err != nil {
		return nil, err
	}
	var out []capture.Target
	for _, pid := range c.PID {
		if pid <= 0 {
			return nil, badCollect(fmt.Sprintf("%d is no pid", pid), exampleOfCollect)
		}
		out = append(out, capture.Target{PID: pid})
	}
	for _, name := range c.Name {
		out = append(out, capture.Target{Name: name})
	}
	if c.Auto {
		if len(out)+len(c.Pprof)+len(c.Metrics) > 0 {
			return nil, badCollect("--auto finds processes and addresses by itself", "leave --auto out, or --pid, --name, --pprof and --metrics")
		}
		return nil, nil
	}
	if len(out) == 0 {
		if len(c.Pprof)+len(c.Metrics) == 0 {
			return nil, badCollect("no process was named", exampleOfCollect+", or leakdiff collect --auto")
		}
		out = append(out, capture.Target{})
	}
	var err error
	if out, err = c.assign(out, "--pprof", c.Pprof, func(t *capture.Target) *string { return &t.Pprof }); err != nil {
		return nil, err
	}
	if out, err = c.assign(out, "--metrics", c.Metrics, func(t *capture.Target) *string { return &t.Metrics }); err != nil {
		return nil, err
	}
	// The address of a pid goes before that of a name.
	slices.SortStableFunc(out, func(a, b capture.Target) int { return min(b.PID, 1) - min(a.PID, 1) })
	return out, nil
}

// assign gives each address to its process. A pid that occurs only in an address is
// captured as if --pid named it, since it may have one of the names given.
//
//	"http://127.0.0.1:6060"         to the only one
//	"4711=127.0.0.1:6060", "kubelet=https://127.0.0.1:10250"
func (c *collectCommand) assign(targets []capture.Target, flag string, addresses []string, of func(*capture.Target) *string) ([]capture.Target, error) {
	named := len(targets)
	for _, address := range addresses {
		whose, rest, ok := strings.Cut(address, "=")
		if !ok || strings.ContainsAny(whose, ":/?") {
			if named > 1 {
				return nil, badCollect(fmt.Sprintf("%s %s does not say which of %d processes it is of", flag, capture.Shown(address), named), "write "+flag+" PID=URL or "+flag+" NAME=URL")
			}
			whose, rest = "", address
		}
		is := func(t capture.Target) bool {
			return t.PID != 0 && strconv.Itoa(t.PID) == whose || t.PID == 0 && t.Name == whose
		}
		i := slices.IndexFunc(targets, is)
		if whose == "" {
			i = 0
		}
		if i < 0 {
			pid, err := strconv.Atoi(whose)
			if err != nil || len(c.Name) == 0 || !c.running(pid) {
				return nil, badCollect(fmt.Sprintf("%s %s names a process that is not captured", flag, capture.Shown(address)), "name it with --pid or --name as well")
			}
			i = len(targets)
			targets = append(targets, capture.Target{PID: pid})
		}
		if *of(&targets[i]) != "" {
			return nil, badCollect(fmt.Sprintf("%s %s is a second address of the same process", flag, capture.Shown(address)), "give each process one")
		}
		if err := capture.CheckAddress(rest); err != nil {
			return nil, badCollect(flag+": "+err.Error(), exampleOfCollect)
		}
		*of(&targets[i]) = rest
	}
	return targets, nil
}

// running reports whether a process has that pid.
func (c *collectCommand) running(pid int) bool {
	_, err := os.Stat(filepath.Join(c.Proc, strconv.Itoa(pid), "stat"))
	return pid > 0 && err == nil
}

// scriptArguments translates the flags for the script. A flag that the script lacks is an
// error.
func (c *collectCommand) scriptArguments() ([]string, error) {
	const hint = "leakdiff collect --pod kube-system/coredns-7d --name coredns"
	if err := c.checkPositive(); err != nil {
		return nil, err
	}
	if c.Until != "" || c.Auto {
		return nil, badCollect("the script takes no --until and no --auto: it reads nothing of what it captures", "copy the program there, or leave them out")
	}
	if c.CAFile != "" {
		return nil, badCollect("the script takes no --ca-file", "copy the program there, or use --insecure")
	}
	if c.Pair != nil && *c.Pair {
		return nil, badCollect("the script takes no --pair: a shell cannot read memory", "copy the program there, or leave --pair out")
	}
	if len(c.Metrics) > 0 || c.Force || c.Sigquit || c.NodeReport {
		return nil, badCollect("the script takes no --metrics, --force, --sigquit and --node-report", "copy the program there, or leave them out")
	}
	if slices.ContainsFunc(c.Pprof, func(address string) bool { return strings.Contains(address, "unix:") }) {
		return nil, badCollect("the script takes no socket for --pprof", "copy the program there, or name a port")
	}
	if c.Every%time.Second != 0 || c.StepTimeout%time.Second != 0 {
		return nil, badCollect("the script counts whole seconds in --every and --step-timeout", hint)
	}
	var out []string
	option := func(name string, values ...string) {
		for _, value := range values {
			out = append(out, name, value)
		}
	}
	for _, pid := range c.PID {
		option("--pid", strconv.Itoa(pid))
	}
	option("--name", c.Name...)
	switch {
	case len(out) > 0:
	case c.Node != "": // the process of a node that leaks most often
		option("--name", "kubelet")
	default: // the first process of a container
		option("--pid", "1")
	}
	option("--pprof", c.Pprof...)
	if c.HeaderFile != "" {
		option("--header-file", c.HeaderFile)
	}
	if c.Insecure {
		out = append(out, "--insecure")
	}
	if c.Host != "" {
		option("--hostname", c.Host)
	}
	if c.Proc != "/proc" {
		option("--proc", c.Proc)
	}
	option("--every", seconds(c.Every))
	option("--count", strconv.Itoa(c.Count))
	option("--step-timeout", seconds(c.StepTimeout))
	option("--max-goroutines", strconv.Itoa(c.MaxGoroutines))
	return out, nil
}

// seconds is a duration as the script takes it.
func seconds(d time.Duration) string { return strconv.Itoa(int(d / time.Second)) }
