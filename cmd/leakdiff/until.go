package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
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
	rounds, err := c.openRounds()
	if err != nil {
		return badCollect(err.Error(), "name a file in a directory that you may write to with -o")
	}
	collectAt(reportPercent)
	u := untilVerdict{collectCommand: c, cfg: cfg, rounds: rounds, bytes: bytes}
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
	if _, err := io.WriteString(answer, report.NewTicket(u.said).Markdown("")); err != nil {
		return err
	}
	after := wording.Plural(u.taken, "round", "rounds")
	if reaches(c.Until, *u.said) {
		cfg.Say(fmt.Sprintf("%s after %s", c.Until, after))
		return nil
	}
	cfg.Say(fmt.Sprintf("not %s after %s: %s", c.Until, after, why))
	return &statusError{status: exitNotReached}
}

// openRounds makes the directory of rounds beside the archive. Rounds of a collect that was
// killed are replaced, as its FILE.partial is.
func (c *collectCommand) openRounds() (*ring, error) {
	if c.Output == "-" {
		dir, err := os.MkdirTemp("", "leakdiff-rounds-")
		if err != nil {
			return nil, err
		}
		return openRing(dir)
	}
	r, err := openRing(c.Output + ".rounds")
	for err == nil && len(r.captures) > 0 {
		err = r.remove(0)
	}
	return r, err
}

// untilVerdict is a run of collect --until.
type untilVerdict struct {
	*collectCommand
	cfg    capture.Config
	rounds *ring
	bytes  int64
	// taken counts the rounds, also those that were dropped.
	taken int
	// said is the report over all rounds, nil if it was not made.
	said *report.Report
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
		case reaches(u.Until, *u.said):
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
