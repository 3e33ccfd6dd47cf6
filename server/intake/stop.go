package intake

import (
	"context"
	"io"
	"net/http"
	"sync"
	"time"

	"leakdiff/analysis"
)

// Stop ends the uploads in flight when the server stops, so that each gets an answer. The
// zero value is ready.
type Stop struct {
	mu      sync.Mutex
	stopped bool
	flights map[*flight]bool
}

// A flight is one upload while it is handled.
type flight struct {
	stop *Stop
	io.ReadCloser
	control *http.ResponseController
	// leave ends the wait for a slot, or for the result.
	leave context.CancelCauseFunc
	// arrived is true once the body was read to its end; the mutex of stop guards it.
	arrived bool
}

// stopping is the refusal of an upload that the end of the server interrupts.
func stopping() error {
	return &analysis.Fault{Code: "stopping", What: "the upload stopped before its end", Why: "the server is being stopped", Hint: "Send it again in a moment; nothing was kept."}
}

type stopKey struct{}

// Uploads passes an upload to its handler. One that begins after the end is refused by its
// first read.
func (s *Stop) Uploads(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		leaving, leave := context.WithCancelCause(context.Background())
		defer leave(nil)
		f := &flight{stop: s, ReadCloser: r.Body, control: http.NewResponseController(w), leave: leave}
		s.mu.Lock()
		if s.flights == nil {
			s.flights = map[*flight]bool{}
		}
		s.flights[f] = true
		if s.stopped {
			leave(stopping())
		}
		s.mu.Unlock()
		defer func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			delete(s.flights, f)
		}()
		r = r.WithContext(context.WithValue(r.Context(), stopKey{}, leaving))
		r.Body = f
		next(w, r)
	}
}

// End refuses what has not arrived by now. Uploads that have arrived are recorded and
// answered.
func (s *Stop) End() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopped = true
	for f := range s.flights {
		f.leave(stopping())
		if !f.arrived {
			// A read that waits ends; later ones see that it is over. After the end of the body
			// net/http would take the deadline for a sender who left.
			_ = f.control.SetReadDeadline(time.Now())
		}
	}
}

func (s *Stop) over() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stopped
}

func (f *flight) Read(p []byte) (int, error) {
	if f.stop.over() {
		return 0, stopping()
	}
	n, err := f.ReadCloser.Read(p)
	if err == io.EOF {
		f.stop.mu.Lock()
		f.arrived = true
		f.stop.mu.Unlock()
	}
	if err != nil && err != io.EOF && f.stop.over() {
		return n, stopping()
	}
	return n, err
}

// untilStop ends a context also when the server stops. The cause is then that of the stop.
func untilStop(ctx context.Context) (context.Context, context.CancelFunc) {
	leaving, _ := ctx.Value(stopKey{}).(context.Context)
	if leaving == nil {
		return ctx, func() {}
	}
	both, cancel := context.WithCancelCause(ctx)
	undo := context.AfterFunc(leaving, func() { cancel(context.Cause(leaving)) })
	return both, func() { undo(); cancel(nil) }
}

// isStopping reports whether a context ended because the server stops.
func isStopping(ctx context.Context) bool {
	leaving, _ := ctx.Value(stopKey{}).(context.Context)
	return leaving != nil && leaving.Err() != nil
}
