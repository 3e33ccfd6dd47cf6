package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/say/wording"
	"leakdiff/cmd/leakdiff/capture"
)

type runCommand struct {
	Command []string      `arg:"" passthrough:"" name:"command" help:"The program and its arguments, after --."`
	Pprof   string        `help:"Where the program serves /debug/pprof; else its TCP ports are asked, one after the other." placeholder:"URL"`
	Every   time.Duration `help:"Time to the second round of captures; it grows by half with each, up to 10 minutes." default:"10s"`
	Output  string        `short:"o" help:"Keep the captures in this archive." placeholder:"FILE"`
}

// Help stands below the flags in the help of the command.
func (*runCommand) Help() string {
	return `Starts a program, captures it until it ends, and prints what leaked as report does, on standard error. Standard input and output are the program's own, signals go to it as well. Exit status: that of the program.

Example:
  leakdiff run -- ./server --port 8080`
}

// mostRun bounds the bytes of captures that are kept beside each other.
const mostRun = 1 << 30

func (c *runCommand) Run(ctx context.Context, m *Main) error {
	if len(c.Command) > 0 && c.Command[0] == "--" {
		c.Command = c.Command[1:]
	}
	if len(c.Command) == 0 || c.Every <= 0 {
		return badCollect("no program was named, or --every is not above 0", "leakdiff run -- ./server --port 8080")
	}
	dir, err := os.MkdirTemp("", "leakdiff-run-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	rounds, err := openRing(filepath.Join(dir, "rounds"))
	if err != nil {
		return err
	}
	program := exec.Command(c.Command[0], c.Command[1:]...)
	program.Stdin, program.Stdout, program.Stderr = os.Stdin, m.Stdout, m.Stderr
	if err := program.Start(); err != nil {
		return &analysis.Fault{Code: "not_found", What: "the program cannot be started", Where: c.Command[0], Why: err.Error(), Hint: "name a program of the PATH, or a file that may be run"}
	}
	ended, done := context.WithCancel(ctx)
	// The terminal sends its signals to both; one that was sent to this program alone is passed on.
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)
	go func() {
		for s := range signals {
			program.Process.Signal(s)
		}
	}()
	var status error
	go func() {
		status = program.Wait()
		done()
	}()
	lost := c.watch(ended, m, rounds, program.Process.Pid)
	<-ended.Done()
	if ctx.Err() != nil {
		program.Process.Kill()
	}
	if err := c.told(context.WithoutCancel(ctx), m, rounds, lost); err != nil {
		m.say("warning: " + err.Error())
	}
	var exit *exec.ExitError
	if errors.As(status, &exit) {
		return &statusError{status: max(exit.ExitCode(), 1)}
	}
	return status
}

// watch captures rounds of a process until ctx ends, and returns what could not be captured.
func (c *runCommand) watch(ctx context.Context, m *Main, rounds *ring, pid int) (lost []string) {
	cfg := capture.Config{Budget: 10 * time.Second, MaxGoroutines: 100_000, NoLsof: true, Proc: "/proc", Tool: "leakdiff run " + version, Say: func(string) {}}
	target := capture.Target{PID: pid, Pprof: c.Pprof}
	interval := c.Every
	var session *capture.Session
	for next := time.Now().Add(interval); sleepUntil(ctx, next); next = next.Add(interval) {
		found := target.Pprof
		if found == "" {
			found, _ = capture.ProfilesOf(ctx, cfg, pid)
		}
		if session == nil || found != target.Pprof { // a session numbers its rounds
			target.Pprof = found
			cfg.Targets = []capture.Target{target}
			var err error
			if session, err = capture.Open(cfg); err != nil {
				return append(lost, err.Error())
			}
		}
		sum, err := rounds.add(ctx, session, time.Now())
		if err == nil {
			_, err = rounds.thin(mostRounds, mostRun)
		}
		if err != nil {
			return append(lost, err.Error())
		}
		lost = sum.Lost
		if len(rounds.captures) > 1 {
			interval = nextInterval(interval, c.Every)
		}
	}
	return lost
}

// told prints the report over the captures.
func (c *runCommand) told(ctx context.Context, m *Main, rounds *ring, lost []string) error {
	if len(rounds.captures) == 0 {
		m.say("nothing was captured: the program ended before the first round, or it may not be read; --every sets the time to the first one")
		for _, why := range lost {
			m.say("warning: " + why)
		}
		return nil
	}
	name := c.Output
	if name == "" {
		name = rounds.dir + ".tar.gz"
		defer os.Remove(name)
	}
	taken := len(rounds.captures)
	size, err := rounds.save(name)
	if err != nil {
		return diskFault(name, err)
	}
	for _, why := range lost {
		m.say("warning: " + why)
	}
	if c.Output != "" {
		m.say(fmt.Sprintf("%s: %d bytes, %s; read it with: leakdiff report %s", name, size, wording.Plural(taken, "round", "rounds"), name))
	}
	beside := *m
	beside.Stdout = m.Stderr
	return reported(ctx, &beside, name)
}
