package capture

import (
	"context"
	"errors"
)

// Session captures the same targets in rounds that its caller begins, without a last one.
// A Go process is therefore never asked for its stacks by SIGQUIT.
type Session struct {
	c    *collector
	next int
}

// Open prepares a session. Count and Every of the configuration are not used.
func Open(cfg Config) (*Session, error) {
	c, err := newCollector(cfg, nil)
	if err != nil {
		return nil, err
	}
	c.cfg.Count, c.cfg.Every = 0, 0
	c.begin()
	return &Session{c: c}, nil
}

// Round captures the targets once. The summary is of this round alone: without Captures no
// target was there, and if one has ended since the round before, the archive says so. The
// caller closes the archive.
func (s *Session) Round(ctx context.Context, a *Archive) (Summary, error) {
	c := s.c
	c.archive, c.summary = a, Summary{}
	visits, err := c.round(ctx, s.next)
	c.summary.Interrupted = ctx.Err() != nil
	if err := errors.Join(err, a.flush()); err != nil {
		return c.summary, err
	}
	s.next++
	for _, v := range visits {
		c.say(v.line())
	}
	if s.next == 1 && len(visits) == 0 {
		return c.summary, c.nothingToCapture()
	}
	return c.summary, nil
}
