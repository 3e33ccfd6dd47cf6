package server

import (
	"io"
	"net/http"
	"time"
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
	control := http.NewResponseController(w)
	// The answer may take longer, and the connection goes on to the next request.
	defer control.SetReadDeadline(time.Time{})
	r.Body = &attendedBody{r.Body, control, s.quiet}
	return receive()
}

// attendedBody is a body of which something must arrive within so long.
type attendedBody struct {
	io.ReadCloser
	control *http.ResponseController
	quiet   time.Duration
}

func (b *attendedBody) Read(p []byte) (int, error) {
	b.control.SetReadDeadline(time.Now().Add(b.quiet)) // in tests without a connection there is none
	return b.ReadCloser.Read(p)
}
