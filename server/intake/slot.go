package intake

import (
	"errors"
	"io"
	"net/http"
	"os"
	"time"

	"leakdiff/analysis/say/wording"
	"leakdiff/server/response"
)

const (
	// uploadSlots is how many uploads are stored at once, each with some 2 MB of memory. A
	// later sender waits until one ends.
	uploadSlots = 32
	// IdleTimeout is how long a sender may send nothing.
	IdleTimeout = 2 * time.Minute
)

// inSlot receives an upload when a slot is free. It gives up if nothing arrives.
func (s *Service) inSlot(w http.ResponseWriter, r *http.Request, receive func() (received, error)) (received, error) {
	if err := s.slots.Acquire(r.Context(), 1); err != nil {
		return received{}, s.interrupted(r, err)
	}
	defer s.slots.Release(1)
	body := &idleBody{ReadCloser: r.Body, control: http.NewResponseController(w)}
	body.extend()
	r.Body = body
	up, err := receive()
	switch {
	case err != nil && body.idle:
		err = response.Refuse("interrupted", "the upload stopped before its end", "", "nothing arrived for "+wording.PageDuration(IdleTimeout), "check the connection and send it again; nothing was kept")
	case err == nil:
		// The answer may take longer. After an error net/http reads the rest of a short
		// body before it answers, and must not wait for it without end.
		body.control.SetReadDeadline(time.Time{})
	}
	return up, err
}

// idleBody is a body that must deliver something within the idle timeout.
type idleBody struct {
	io.ReadCloser
	control *http.ResponseController
	// idle is true if the timeout passed.
	idle bool
}

func (b *idleBody) Read(p []byte) (int, error) {
	b.extend()
	n, err := b.ReadCloser.Read(p)
	b.idle = b.idle || errors.Is(err, os.ErrDeadlineExceeded)
	return n, err
}

// extend moves the deadline of the connection to an idle timeout from now. Without a
// connection it does nothing.
func (b *idleBody) extend() { b.control.SetReadDeadline(time.Now().Add(IdleTimeout)) }
