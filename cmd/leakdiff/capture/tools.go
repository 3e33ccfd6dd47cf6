//go:build unix

package capture

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// tools captures what other programs know of the process, and what it writes itself after
// a signal.
func (v *visit) tools(ctx context.Context) {
	if !v.c.cfg.NoLsof {
		v.lsof(ctx)
	}
	if v.p.java && !v.c.cfg.NoJVM && v.p.attached {
		v.threads(ctx)
	}
	v.p.attached = true
	if servesPods[v.p.identity.Name] {
		v.listPods(ctx)
	}
	if v.p.node {
		v.nodeReport(ctx)
	}
	if v.c.cfg.SIGQUIT {
		v.sigquit(ctx)
	}
}

// attach asks a JVM for its threads for the first time. The JVM then opens a socket and
// keeps it. This comes before its descriptors are read, so that the first round has the
// socket like all later ones.
func (v *visit) attach(ctx context.Context) {
	if v.p.java && !v.c.cfg.NoJVM && !v.p.attached {
		v.threads(ctx)
	}
}

func (v *visit) lsof(ctx context.Context) {
	program, err := exec.LookPath("lsof")
	if err != nil {
		v.skip("lsof", Skipped, errors.New("lsof is not installed; fd/, fdinfo/ and proc_net_* say the same"))
		return
	}
	v.take(ctx, "lsof", "lsof.txt", func(ctx context.Context, w io.Writer) error {
		written := int64(0)
		err := output(ctx, &counter{w, &written}, nil, program, "-nP", "-p", strconv.Itoa(v.p.identity.PID))
		var status *exec.ExitError
		if written > 0 && ctx.Err() == nil && errors.As(err, &status) {
			return nil // lsof ends with 1 if it could not read one of many things
		}
		return err
	})
}

// servesPods are the processes whose demand is the pods and containers of their node.
var servesPods = map[string]bool{"kubelet": true, "containerd": true, "crio": true, "cri-dockerd": true}

// listPods lists the pods and containers of the node, by crictl or else by kubectl. A program that does
// not answer costs its own step only.
func (v *visit) listPods(ctx context.Context) {
	list := func(file, program string, args ...string) bool {
		found, err := exec.LookPath(program)
		if err != nil {
			return false
		}
		v.take(ctx, program, file, func(ctx context.Context, w io.Writer) error { return output(ctx, w, nil, found, args...) })
		return true
	}
	if list("pods.txt", "crictl", "pods") {
		list("containers.txt", "crictl", "ps", "-a")
		return
	}
	list("pods.txt", "kubectl", "get", "pods", "-A", "-o", "wide", "--field-selector", "spec.nodeName="+v.c.cfg.Host, "--request-timeout=10s")
}

// output runs a program to its end. If ctx ends first, the program is killed with all
// that it started. A status other than 0 is an error with the first line of stderr.
func output(ctx context.Context, w io.Writer, as *syscall.Credential, program string, args ...string) error {
	var stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Stdout, cmd.Stderr = w, &stderr
	if as != nil {
		cmd.Dir = "/" // another user may not enter the present directory
	}
	ownGroup(cmd, as)
	cmd.Cancel = func() error { return killGroup(cmd.Process.Pid) }
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("%s: %w: %s", filepath.Base(program), err, complaint(stderr.String()))
	}
	return nil
}

// complaint is the first line that describes the error.
//
//	"Picked up JAVA_TOOL_OPTIONS: -Xmx1g\nError: no such process\n"   "Error: no such process"
func complaint(output string) string {
	for line := range strings.Lines(output) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "Picked up ") {
			return line
		}
	}
	return ""
}

// threads asks a JVM for its threads: by jcmd, else jstack, with the options of newer and
// older releases. The first dump that succeeds is used. If none does, the error and the
// output of the first one are used.
func (v *visit) threads(ctx context.Context) {
	pid := strconv.Itoa(v.p.identity.PID)
	as, own := v.attachAs()
	var tries [][]string
	for _, try := range [][]string{{"jcmd", pid, "Thread.print", "-l", "-e"}, {"jstack", "-l", "-e", pid}, {"jstack", "-l", pid}} {
		if program := v.findTool(try[0], own); program != "" {
			tries = append(tries, append([]string{program}, try[1:]...))
		}
	}
	if len(tries) == 0 {
		v.skip("threads", Skipped, errors.New("neither jcmd nor jstack is installed here where only root could have changed it: run the script inside the container, or use --sigquit"))
		return
	}
	v.take(ctx, "threads", "thread-dump.txt", func(ctx context.Context, w io.Writer) error {
		var first error
		var firstDump []byte
		for _, try := range tries {
			var dump bytes.Buffer
			err := output(ctx, &bounded{w: &dump, left: maxFile}, as, try[0], try[1:]...)
			if err == nil {
				_, err = w.Write(dump.Bytes())
				return err
			}
			if first == nil {
				first, firstDump = err, dump.Bytes()
			}
			if ctx.Err() != nil {
				break
			}
		}
		if bytes.Count(firstDump, []byte("\n")) > 1 { // the first line of jcmd is the pid
			w.Write(firstDump)
		}
		return first
	})
}

// attachAs returns the user that the attach protocol needs, that of the process, or nil if
// it is ours. own is true if that user is not root: a program that the process chose then
// gains no rights.
func (v *visit) attachAs() (as *syscall.Credential, own bool) {
	status, _ := os.ReadFile(v.c.proc(v.p.identity.PID, "status"))
	uid, gid := effective(string(status), "Uid"), effective(string(status), "Gid")
	if os.Geteuid() == 0 && uid > 0 && gid >= 0 {
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, true
	}
	return nil, uid > 0 && uid == os.Geteuid()
}

// effective is the second number of a line of /proc/PID/status, -1 if it is missing.
//
//	"Uid:\t1000\t1001\t1000\t1000\n"   1001
func effective(status, name string) int {
	_, rest, _ := strings.Cut(status, "\n"+name+":")
	line, _, _ := strings.Cut(rest, "\n")
	if fields := strings.Fields(line); len(fields) > 1 {
		if id, err := strconv.Atoi(fields[1]); err == nil {
			return id
		}
	}
	return -1
}

// findTool finds a program in the process' own installation, else in PATH, and returns ""
// if there is none. The process chose its installation: unless the program runs as the
// user of the process, only root may be able to change it.
func (v *visit) findTool(name string, own bool) string {
	if home := filepath.Dir(v.p.identity.Executable); filepath.IsAbs(home) {
		program, err := filepath.EvalSymlinks(filepath.Join(home, name))
		if err == nil && (own || onlyRoots(program)) {
			return program
		}
	}
	program, err := exec.LookPath(name)
	if err != nil {
		return ""
	}
	return program
}

// onlyRoots reports whether a file and all directories above it belong to root, and nobody
// else can write them or, in a sticky directory, replace root's files.
func onlyRoots(name string) bool {
	for {
		info, err := os.Lstat(name)
		if err != nil {
			return false
		}
		sticky := info.IsDir() && info.Mode()&os.ModeSticky != 0
		if uid, _ := ownerOf(info); uid != 0 || info.Mode().Perm()&0o022 != 0 && !sticky {
			return false
		}
		above := filepath.Dir(name)
		if above == name {
			return true
		}
		name = above
	}
}

// nodeReport has Node write a diagnostic report, by the signal that it was started to
// handle. SIGUSR2 kills any other process. So the process must have a handler, and
// --report-on-signal in its command line unless the report was asked for.
func (v *visit) nodeReport(ctx context.Context) {
	const step = "node report"
	pid := v.p.identity.PID
	options := v.nodeOptions()
	signal := syscall.SIGUSR2
	if name := options.value("--report-signal"); name != "" {
		if signal = signalNamed(name); signal == 0 {
			v.skip(step, Skipped, fmt.Errorf("its signal %s is not known here", name))
			return
		}
	}
	switch {
	case !options.has("--report-on-signal") && !v.c.cfg.NodeReport:
		v.skip(step, Skipped, errors.New("node was not started with --report-on-signal; --node-report sends SIGUSR2 all the same, if something in it catches that"))
		return
	case !v.catches(signal):
		v.skip(step, Skipped, fmt.Errorf("the process does not catch signal %d, which would end it", signal))
		return
	}
	if err := v.maySignal(ctx); err != nil {
		v.skip(step, Skipped, err)
		return
	}
	dir := filepath.Join(v.c.proc(pid, "root"), v.reportDirectory(options))
	v.take(ctx, step, "node-report.json", func(ctx context.Context, w io.Writer) error {
		before := reports(dir, options)
		if err := v.signal(ctx, signal); err != nil {
			return err
		}
		return newReport(ctx, dir, options, before, w)
	})
}

// maySignal returns an error if the process must not get a signal: the capture was ended, or the
// pid is another process now.
func (v *visit) maySignal(ctx context.Context) error {
	if ctx.Err() != nil {
		return errors.New("the capture was ended before the signal was sent")
	}
	if err := v.c.same(v.p); err != nil {
		return err
	}
	// kill uses our own pid namespace. The procfs of a host may use another.
	ours, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(v.p.identity.PID), "stat"))
	if found, ok := readStat(string(ours)); v.c.cfg.Proc != "/proc" && (!ok || found.ticks != v.p.identity.StartTicks) {
		return fmt.Errorf("pid %d of %s is not that process here: no signal can be sent to it", v.p.identity.PID, v.c.cfg.Proc)
	}
	return nil
}

// signal signals the process that was opened, and no other.
func (v *visit) signal(ctx context.Context, signal syscall.Signal) error {
	// On Linux this is a pidfd: it stays with the process even if the pid is reused.
	p, err := os.FindProcess(v.p.identity.PID)
	if err != nil {
		return err
	}
	defer p.Release()
	if err := v.maySignal(ctx); err != nil {
		return err
	}
	err = p.Signal(signal)
	v.quit = v.quit || err == nil && signal == syscall.SIGQUIT
	return err
}

// words are the options of a program.
type words []string

func (o words) has(name string) bool { return slices.Contains(o, name) }

func (o words) value(name string) string {
	for i, word := range o {
		if value, ok := strings.CutPrefix(word, name+"="); ok {
			return value
		}
		if word == name && i+1 < len(o) {
			return o[i+1]
		}
	}
	return ""
}

// nodeOptions returns the options in the command line and in NODE_OPTIONS, the only
// variable of the environment that is read.
func (v *visit) nodeOptions() words {
	cmdline, _ := os.ReadFile(v.c.proc(v.p.identity.PID, "cmdline"))
	out := words(strings.Split(string(cmdline), "\x00"))
	environ, _ := os.ReadFile(v.c.proc(v.p.identity.PID, "environ"))
	for _, variable := range strings.Split(string(environ), "\x00") {
		if value, ok := strings.CutPrefix(variable, "NODE_OPTIONS="); ok {
			out = append(out, strings.Fields(value)...)
		}
	}
	return out
}

func (v *visit) reportDirectory(options words) string {
	dir := options.value("--report-directory")
	if dir == "" {
		dir = options.value("--report-dir")
	}
	if dir == "" {
		dir = options.value("--diagnostic-dir")
	}
	if filepath.IsAbs(dir) {
		return dir
	}
	cwd, _ := os.Readlink(v.c.proc(v.p.identity.PID, "cwd"))
	return filepath.Join(cwd, dir)
}

// catches reports whether the process has a handler for a signal (SigCgt of status).
func (v *visit) catches(signal syscall.Signal) bool {
	status, _ := os.ReadFile(v.c.proc(v.p.identity.PID, "status"))
	_, rest, _ := strings.Cut(string(status), "\nSigCgt:")
	line, _, _ := strings.Cut(rest, "\n")
	caught, err := strconv.ParseUint(strings.TrimSpace(line), 16, 64)
	return err == nil && caught&(1<<(signal-1)) != 0
}

// reports returns the files that may be reports, with their times.
func reports(dir string, options words) map[string]time.Time {
	pattern := options.value("--report-filename")
	if pattern == "" {
		pattern = "report.*.json"
	}
	out := map[string]time.Time{}
	names, _ := filepath.Glob(filepath.Join(dir, pattern))
	for _, name := range names {
		if info, err := os.Stat(name); err == nil {
			out[name] = info.ModTime()
		}
	}
	return out
}

// newReport waits until a report is complete, copies and removes it: a capture leaves no
// files.
func newReport(ctx context.Context, dir string, options words, before map[string]time.Time, w io.Writer) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		for name, at := range reports(dir, options) {
			if was, known := before[name]; known && was.Equal(at) {
				continue
			}
			if text, err := os.ReadFile(name); err == nil && json.Valid(text) {
				os.Remove(name)
				if text, err = withoutSecrets(text); err != nil {
					return err
				}
				_, err := w.Write(text)
				return err
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// sigquit has the process write its stacks. A Go program ends with that, so it gets the
// signal in the last round only. A JVM goes on. Stacks in a file are copied; for others
// the manifest records where they went.
func (v *visit) sigquit(ctx context.Context) {
	const step = "sigquit"
	pid := v.p.identity.PID
	if !v.p.java && v.round != v.c.cfg.Count-1 {
		return
	}
	if err := v.maySignal(ctx); err != nil {
		v.skip(step, Skipped, err)
		return
	}
	output := v.c.proc(pid, "fd/2")
	if v.p.java {
		output = v.c.proc(pid, "fd/1")
	}
	info, err := os.Stat(output)
	target, _ := os.Readlink(output)
	if err != nil || !info.Mode().IsRegular() {
		if err := v.signal(ctx, syscall.SIGQUIT); err != nil {
			v.skip(step, Failed, err)
			return
		}
		v.skip(step, Skipped, fmt.Errorf("SIGQUIT was sent; the stacks went to %s, which is no file: save them from there (journalctl _PID=%d, kubectl logs)", target, pid))
		return
	}
	v.take(ctx, step, "sigquit.txt", func(ctx context.Context, w io.Writer) error {
		// The file is opened before the signal: the process and its links may be gone
		// after it.
		f, err := os.Open(output)
		if err != nil {
			return withoutPath(err)
		}
		defer f.Close()
		if _, err := f.Seek(0, io.SeekEnd); err != nil {
			return withoutPath(err)
		}
		if err := v.signal(ctx, syscall.SIGQUIT); err != nil {
			return err
		}
		return v.copyAppended(ctx, f, w)
	})
}

// copyAppended copies what is appended to a file, until the process is gone or nothing was
// appended for a second.
func (v *visit) copyAppended(ctx context.Context, f *os.File, w io.Writer) error {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	total, quiet := int64(0), 0
	for {
		left := v.c.same(v.p) != nil
		n, err := io.Copy(w, f)
		if total += n; err != nil {
			return withoutPath(err)
		}
		if quiet++; n > 0 {
			quiet = 0
		}
		if left || total > 0 && quiet >= 10 {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}
