package server

import (
	"errors"
	"io"
	"net/http"
	"os"
	"time"

	"leakdiff/analysis/say/wording"
)

const (
	// mostUploads is how many uploads are stored at once, each with some 2 MB of memory.
	// Who comes later sends when one has ended.
	mostUploads = 32
	// mostQuiet is how long a sender may send nothing.
	mostQuiet = 2 * time.Minute
)

// inTurn receives an upload when it is its turn, and gives it up where nothing arrives.
func (s *Server) inTurn(w http.ResponseWriter, r *http.Request, receive func() (received, error)) (received, error) {
	select {
	case s.turns <- struct{}{}:
		defer func() { <-s.turns }()
	case <-r.Context().Done():
		return received{}, s.interrupted(r, r.Context().Err())
	}
	body := &attendedBody{ReadCloser: r.Body, control: http.NewResponseController(w), quiet: s.quiet}
	body.attend()
	r.Body = body
	up, err := receive()
	switch {
	case err != nil && body.silent:
		err = refuse("interrupted", "the upload stopped before its end", "", "nothing arrived for "+wording.PageDuration(s.quiet), "check the connection and send it again; nothing was kept")
	case err == nil:
		// The answer may take longer. Where there was an error, net/http reads what is left
		// of a short body before it answers, and must not wait for it without end.
		body.control.SetReadDeadline(time.Time{})
	}
	return up, err
}

// attendedBody is a body of which something must arrive within so long.
type attendedBody struct {
	io.ReadCloser
	control *http.ResponseController
	quiet   time.Duration
	// silent says that nothing did.
	silent bool
}

func (b *attendedBody) Read(p []byte) (int, error) {
	b.attend()
	n, err := b.ReadCloser.Read(p)
	b.silent = b.silent || errors.Is(err, os.ErrDeadlineExceeded)
	return n, err
}

// attend has the connection wait so long from now on; without a connection nothing does.
func (b *attendedBody) attend() { b.control.SetReadDeadline(time.Now().Add(b.quiet)) }
