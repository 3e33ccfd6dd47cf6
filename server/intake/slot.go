package intake

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/say/wording"
	"leakdiff/server/response"
)

const (
	// beginnings is how many uploads are received up to beginningSize bytes at once, before
	// they need a slot. An upload that is smaller never needs one, so that senders of large
	// or slow ones cannot hold it up.
	beginnings    = 512
	beginningSize = 32 << 10
	// uploadSlots is how many uploads are stored at once, each with some 2 MB of memory. A
	// later sender waits until one ends.
	uploadSlots = 32
	// mostWaiting is how many uploads wait for a slot. It is less than beginnings: their
	// beginnings are kept meanwhile.
	mostWaiting = 128
	// IdleTimeout is how long a sender may send nothing.
	IdleTimeout = 2 * time.Minute
	// Grace is how long an upload may be slower than MinRate, in bytes per second, while
	// others wait.
	Grace   = 10 * time.Second
	MinRate = 1 << 10
)

// inSlot receives an upload: its beginning, and what is larger when a slot is free. It gives
// up if nothing arrives, or too little while others wait. wrong is why the upload is refused
// before it is read, or nil.
func (s *Service) inSlot(w http.ResponseWriter, r *http.Request, wrong error, receive func() (received, error)) (received, error) {
	body := &idleBody{ReadCloser: r.Body, control: http.NewResponseController(w), sender: s.access.Party(r)}
	// After a refusal net/http reads the rest of a short body before it answers, and must not
	// wait for it without end.
	body.extend()
	up, err := s.receive(r, body, wrong, receive)
	var fault *analysis.Fault
	switch {
	case errors.As(err, &fault) && fault.Code == "busy":
		w.Header().Set("Connection", "close") // the rest is not waited for at all
	case err != nil && body.slow.Load():
		err = response.Refuse("slow", "the upload is too slow", "", fmt.Sprintf("others waited, and less than %s a second arrived for %s", wording.Bytes(MinRate), wording.PageDuration(Grace)), "pack it, or send it over a faster connection; nothing was kept")
	case err != nil && body.idle && !isStopping(r.Context()):
		err = response.Refuse("interrupted", "the upload stopped before its end", "", "nothing arrived for "+wording.PageDuration(IdleTimeout), "check the connection and send it again; nothing was kept")
	case err == nil:
		// The answer may take longer.
		body.control.SetReadDeadline(time.Time{})
	}
	return up, err
}

func (s *Service) receive(r *http.Request, body *idleBody, wrong error, receive func() (received, error)) (received, error) {
	waiting, stop := untilStop(r.Context())
	defer stop()
	if err := errors.Join(wrong, s.full(r.Context(), body.sender), s.roomFor(r.ContentLength)); err != nil {
		return received{}, err
	}
	begun, err := s.beginnings.acquire(waiting, body)
	if err != nil {
		return received{}, s.interrupted(r, err)
	}
	defer begun()
	beginning, err := io.ReadAll(io.LimitReader(body, beginningSize))
	switch {
	case err != nil:
		// The reader of the upload meets the error where it stands.
		r.Body = &begunBody{io.MultiReader(bytes.NewReader(beginning), failing{err}), body}
	case len(beginning) < beginningSize:
		r.Body = &begunBody{bytes.NewReader(beginning), body}
	default:
		free, err := s.slots.acquire(waiting, body)
		if err != nil {
			return received{}, s.interrupted(r, err)
		}
		defer free()
		begun()
		r.Body = &begunBody{io.MultiReader(bytes.NewReader(beginning), body), body}
	}
	return receive()
}

// begunBody gives the beginning of a body, which was read already, and then the rest.
type begunBody struct {
	io.Reader
	io.Closer
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// slots are places for uploads. When none is free, those that are too slow are ended, and the
// sender with the fewest places is served first. One sender has three of four at most, so
// that others always find one.
type slots struct {
	size, mostWaiting int

	mu      sync.Mutex
	held    map[*idleBody]progress
	waiting []*waiter
}

// progress is how far an upload was at a time.
type progress struct {
	at   time.Time
	size int64
}

type waiter struct {
	body *idleBody
	// admitted is closed when it has a place.
	admitted chan struct{}
}

func newSlots(size, mostWaiting int) *slots {
	return &slots{size: size, mostWaiting: mostWaiting, held: map[*idleBody]progress{}}
}

// acquire waits for a place. free gives it back, once.
func (s *slots) acquire(ctx context.Context, body *idleBody) (free func(), err error) {
	w := &waiter{body, make(chan struct{})}
	s.mu.Lock()
	if len(s.waiting) >= s.mostWaiting {
		s.mu.Unlock()
		return nil, response.Refuse("busy", "too many uploads are being received", "", fmt.Sprintf("%d are, and %d wait", s.size, s.mostWaiting), "send it again in a moment; nothing was kept")
	}
	s.waiting = append(s.waiting, w)
	s.admit()
	s.mu.Unlock()
	free = sync.OnceFunc(func() { s.leave(w) })
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-w.admitted:
			return free, nil
		case <-ctx.Done():
			free()
			return nil, ctx.Err()
		case now := <-tick.C:
			s.endSlow(now)
		}
	}
}

// admit gives free places to those who wait. s.mu is locked.
func (s *slots) admit() {
	for len(s.held) < s.size {
		own := map[string]int{}
		for body := range s.held {
			own[body.sender]++
		}
		best := -1
		for i, w := range s.waiting {
			n := own[w.body.sender]
			if n < s.share() && (best < 0 || n < own[s.waiting[best].body.sender]) {
				best = i
			}
		}
		if best < 0 {
			return
		}
		w := s.waiting[best]
		s.waiting = append(s.waiting[:best], s.waiting[best+1:]...)
		s.held[w.body] = progress{time.Now(), w.body.size.Load()}
		close(w.admitted)
	}
}

// share returns how many places one sender has at most.
func (s *slots) share() int { return max(1, s.size-s.size/4) }

func (s *slots) leave(w *waiter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.held, w.body)
	for i := range s.waiting {
		if s.waiting[i] == w {
			s.waiting = append(s.waiting[:i], s.waiting[i+1:]...)
			break
		}
	}
	s.admit()
}

// endSlow ends the uploads that were slower than MinRate since they were looked at Grace ago.
func (s *slots) endSlow(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for body, before := range s.held {
		passed := now.Sub(before.at)
		if passed < Grace {
			continue
		}
		size := body.size.Load()
		if float64(size-before.size) < passed.Seconds()*MinRate && !body.ended.Load() {
			body.end()
		}
		s.held[body] = progress{now, size}
	}
}

// idleBody is a body that must deliver something within the idle timeout.
type idleBody struct {
	io.ReadCloser
	control *http.ResponseController
	sender  string
	// size is how much arrived.
	size atomic.Int64
	// idle is true if the timeout passed, slow if it was ended because others waited, ended
	// if the body was read to its end.
	idle        bool
	slow, ended atomic.Bool
}

func (b *idleBody) Read(p []byte) (int, error) {
	b.extend()
	n, err := b.ReadCloser.Read(p)
	b.size.Add(int64(n))
	b.idle = b.idle || errors.Is(err, os.ErrDeadlineExceeded)
	if err != nil {
		b.ended.Store(true)
	}
	return n, err
}

// extend moves the deadline of the connection to an idle timeout from now. Without a
// connection it does nothing.
func (b *idleBody) extend() {
	b.control.SetReadDeadline(time.Now().Add(IdleTimeout))
	if b.slow.Load() {
		b.control.SetReadDeadline(time.Now())
	}
}

// end lets the present and every later read fail.
func (b *idleBody) end() {
	b.slow.Store(true)
	b.control.SetReadDeadline(time.Now())
}
