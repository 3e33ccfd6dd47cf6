package server

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// outageEnd is the time without an error after which the next one of its kind begins another
// outage.
const outageEnd = 5 * time.Minute

// Outages is a log in which an error that repeats itself stands once: the first of an outage, and
// with the first of the next one how many were left out. Errors of one message with the same values
// are of a kind: another case or upload is another error. Those of a request are never left out:
// their ids are shown to people, who look for them.
type Outages struct {
	slog.Handler
	seen *outages
	// with are the values that every line has.
	with string
}

type outages struct {
	mu   sync.Mutex
	last map[string]*outage
}

type outage struct {
	at   time.Time
	left int
}

// mostOutages bounds the kinds of errors that are remembered.
const mostOutages = 1000

func NewOutages(h slog.Handler) *Outages {
	return &Outages{Handler: h, seen: &outages{last: map[string]*outage{}}}
}

func (o *Outages) Handle(ctx context.Context, r slog.Record) error {
	if r.Level < slog.LevelError {
		return o.Handler.Handle(ctx, r)
	}
	kind, ofRequest := r.Message+o.with, false
	r.Attrs(func(a slog.Attr) bool {
		kind += "\x00" + a.String()
		ofRequest = a.Key == "id" || a.Key == "request"
		return !ofRequest
	})
	if ofRequest {
		return o.Handler.Handle(ctx, r)
	}
	left, again := o.seen.note(kind, r.Time)
	if again {
		return nil
	}
	if left > 0 {
		r.Add("left_out_before", left)
	}
	return o.Handler.Handle(ctx, r)
}

// note counts an error, and reports whether it goes on with an outage. left is the number that the
// outage before left out.
func (o *outages) note(kind string, at time.Time) (left int, again bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	x := o.last[kind]
	if x == nil {
		if len(o.last) == mostOutages {
			clear(o.last)
		}
		x = &outage{}
		o.last[kind] = x
	} else if again = at.Sub(x.at) < outageEnd; !again {
		left, x.left = x.left, 0
	}
	if x.at = at; again {
		x.left++
	}
	return left, again
}

func (o *Outages) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &Outages{o.Handler.WithAttrs(attrs), o.seen, o.with + "\x00" + slog.GroupValue(attrs...).String()}
}

func (o *Outages) WithGroup(name string) slog.Handler {
	return &Outages{o.Handler.WithGroup(name), o.seen, o.with + "\x00" + name}
}
