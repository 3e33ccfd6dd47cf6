package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"leakdiff/analysis/say/report"
	"leakdiff/analysis/say/wording"
	"leakdiff/cmd/leakdiff/capture"
)

// exitNotReached is the status of collect --until that ended without its verdict.
const exitNotReached = 3

const (
	// longestInterval bounds the time between two rounds, unless --every is longer.
	longestInterval = 10 * time.Minute
	// mostRounds is how many rounds are kept: a report reads all of them.
	mostRounds = 60
)

// nextInterval is the time to the round after the next one: a fast leak is found by close
// rounds, a slow one needs distance.
func nextInterval(interval, every time.Duration) time.Duration {
	return min(interval*3/2, max(every, longestInterval))
}

// sleepUntil waits for a time. It reports false if ctx ended first.
func sleepUntil(ctx context.Context, until time.Time) bool {
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return ctx.Err() == nil
	}
}

// collectUntil captures rounds until the report over them has the verdict of --until, or
// --max has passed. Either way it writes the archive and prints the answer as a ticket.
func (c *collectCommand) collectUntil(ctx context.Context, m *Main, cfg capture.Config) error {
	bytes, err := bytesOf(c.MaxSize)
	if err != nil {
		return err
	}
	if c.now == nil {
		c.now, c.wait = time.Now, sleepUntil
	}
	cfg.Now = c.now
	session, err := capture.Open(cfg)
	if err != nil {
		return badCollect(err.Error(), exampleOfCollect)
	}
	rounds, locked, err := c.openRounds(cfg.Say)
	switch {
	case errors.Is(err, capture.ErrLocked):
		return badCollect(c.Output+".rounds: "+err.Error(), "end the other collect, or name another file with -o")
	case err != nil:
		return badCollect(err.Error(), "name a file in a directory that you may write to with -o")
	}
	defer locked.Close()
	collectAt(reportPercent)
	u := untilVerdict{collectCommand: c, cfg: cfg, rounds: rounds, bytes: bytes}
	u.goal, _ = goalOf(c.Until)
	why, err := u.run(ctx, session)
	if u.taken == 0 {
		os.Remove(rounds.dir)
		if err == nil {
			err = fmt.Errorf("it was ended before the first round")
		}
		return badCollect(err.Error(), "name a process that runs now with --pid or --name, or an endpoint with --pprof")
	}
	if err != nil {
		cfg.Say("warning: " + err.Error())
	}
	if u.said == nil { // a signal ends the rounds, not the reading of what they took
		if err := u.judge(context.WithoutCancel(ctx)); err != nil {
			return diskFault(rounds.dir, err)
		}
	}
	answer := m.Stdout
	if c.Output == "-" {
		answer = m.Stderr
		err = rounds.write(m.Stdout)
		os.Remove(rounds.dir)
	} else {
		var size int64
		if size, err = rounds.save(c.Output); err == nil {
			cfg.Say(fmt.Sprintf("%s: %d bytes; read it with: leakdiff report %s", c.Output, size, c.Output))
		}
	}
	if err != nil {
		return diskFault(c.Output, err)
	}
	if u.files == 0 {
		return c.nothingCaptured(u.taken)
	}
	if _, err := io.WriteString(answer, report.NewTicket(u.said).Markdown("")); err != nil {
		return err
	}
	after := wording.Plural(u.taken, "round", "rounds")
	if why == "" {
		cfg.Say(fmt.Sprintf("%s after %s", c.Until, after))
		return nil
	}
	if due := u.standing.Due; !due.IsZero() {
		cfg.Say(fmt.Sprintf("%s after %s, and too short to tell: it must stand until %s, as growth that ends is called so for a while: %s", c.Until, after, due.UTC().Format("15:04:05"), why))
	} else {
		cfg.Say(fmt.Sprintf("not %s after %s: %s", c.Until, after, why))
	}
	return &statusError{status: exitNotReached}
}

// openRounds makes the directory of rounds beside the archive, locked until the file is
// closed. Rounds that a collect left there which was killed, or had no room, get another name:
// they may be of other processes.
func (c *collectCommand) openRounds(say func(string)) (*ring, *os.File, error) {
	dir := c.Output + ".rounds"
	var err error
	if c.Output == "-" {
		if dir, err = os.MkdirTemp("", "leakdiff-rounds-"); err != nil {
			return nil, nil, err
		}
	}
	r, locked, err := openLocked(dir)
	if err != nil {
		return nil, nil, err
	}
	// Rounds move to FILE.partial at the end of a collect, which may be killed then as well.
	partial := c.Output + ".partial"
	if info, err := os.Stat(partial); err == nil && c.Output != "-" {
		kept := partial + "-" + info.ModTime().UTC().Format("20060102T150405")
		if err := os.Rename(partial, kept); err != nil {
			locked.Close()
			return nil, nil, err
		}
		say(fmt.Sprintf("an archive that an earlier collect did not end: kept as %s; read it with: leakdiff report %s", kept, kept))
	}
	if len(r.captures) == 0 {
		return r, locked, nil
	}
	defer locked.Close()
	first := r.captures[0].name
	kept := dir + "-" + first[:strings.IndexByte(first, '.')]
	if err := os.Rename(dir, kept); err != nil {
		return nil, nil, err
	}
	say(fmt.Sprintf("%s of an earlier collect that did not end in order: kept in %s; read them with: leakdiff report %s", wording.Plural(len(r.captures), "round", "rounds"), kept, kept))
	return openLocked(dir)
}

// openLocked opens a ring that no other process uses.
func openLocked(dir string) (*ring, *os.File, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, nil, err
	}
	locked, err := capture.LockDirectory(dir)
	if err != nil {
		return nil, nil, err
	}
	r, err := openRing(dir)
	if err != nil {
		locked.Close()
	}
	return r, locked, err
}

// untilVerdict is a run of collect --until.
type untilVerdict struct {
	*collectCommand
	cfg    capture.Config
	rounds *ring
	bytes  int64
	// taken counts the rounds, also those that were dropped.
	taken int
	// files counts the evidence of all rounds.
	files int
	// said is the report over all rounds, nil if it was not made.
	said     *report.Report
	goal     goal
	standing standing
}

// run captures until the verdict is reached, which it says by an empty reason, or returns why
// it ended without.
func (u *untilVerdict) run(ctx context.Context, session *capture.Session) (why string, err error) {
	end := u.now().Add(u.Max)
	interval := u.Every
	var lost []string
	for {
		begin := u.now()
		sum, err := u.rounds.add(ctx, session, begin)
		if err != nil {
			return "the rounds ended with an error", err
		}
		u.taken++
		u.files += sum.Files
		for _, text := range sum.Lost {
			if !slices.Contains(lost, text) && len(lost) < mostRounds {
				lost = append(lost, text)
				u.cfg.Say("warning: " + text)
			}
		}
		err = u.judge(ctx)
		switch {
		case ctx.Err() != nil:
			return "it was ended by a signal", nil
		case err != nil:
			return "the rounds could not be read", err
		case u.reached():
			return "", nil
		case sum.Captures == 0 && len(u.Name) == 0:
			return "no process is left to capture", nil
		case len(u.rounds.captures) == 2 && u.rounds.size() > u.bytes:
			return fmt.Sprintf("two rounds take %s, more than --max-size %s", wording.Size(u.rounds.size()), u.MaxSize), nil
		case !u.now().Before(end):
			return fmt.Sprintf("--max %s has passed", u.Max), nil
		}
		due := begin.Add(interval)
		if due.After(end) {
			due = end
		}
		if !u.wait(ctx, due) {
			return "it was ended by a signal", nil
		}
		interval = nextInterval(interval, u.Every)
	}
}

// reached reports whether the goal is reached and stands.
func (u *untilVerdict) reached() bool {
	taken := u.rounds.captures
	return u.standing.look(u.goal, u.said, taken[0].at, taken[len(taken)-1].at)
}

// judge drops what is too much, and makes the report over what is left.
func (u *untilVerdict) judge(ctx context.Context) error {
	u.said = nil
	dropped, err := u.rounds.thin(mostRounds, u.bytes)
	if err != nil {
		return err
	}
	if dropped > 0 {
		u.cfg.Say(fmt.Sprintf("%s between the first and the last dropped to stay within %s and %d rounds", wording.Plural(dropped, "round", "rounds"), u.MaxSize, mostRounds))
	}
	all, err := u.rounds.report(ctx, u.Output)
	if err != nil {
		return err
	}
	u.said = &all.Report
	return nil
}
