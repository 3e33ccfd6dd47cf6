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
	// uploadSlots is how many uploads are stored at once, each with some 2 MB of memory.
	// Who comes later sends when one has ended.
	uploadSlots = 32
	// IdleTimeout is how long a sender may send nothing.
	IdleTimeout = 2 * time.Minute
)

// inSlot receives an upload when a slot is free, and gives it up where nothing arrives.
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
		// The answer may take longer. Where there was an error, net/http reads what is left
		// of a short body before it answers, and must not wait for it without end.
		body.control.SetReadDeadline(time.Time{})
	}
	return up, err
}

// idleBody is a body of which something must arrive within the idle timeout.
type idleBody struct {
	io.ReadCloser
	control *http.ResponseController
	// idle says that nothing did.
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
