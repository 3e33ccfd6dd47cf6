// Package lib keeps sessions alive.
package lib

// Session is a session that a goroutine keeps alive.
type Session struct{ stop chan struct{} }

// Dial opens a session, which Close ends.
func Dial() *Session {
	s := &Session{stop: make(chan struct{})}
	s.start()
	return s
}

func (s *Session) start() { go s.keepAlive() }

func (s *Session) keepAlive() { <-s.stop }

// Close ends the session.
func (s *Session) Close() { close(s.stop) }
