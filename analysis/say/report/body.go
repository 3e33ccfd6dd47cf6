package report

import "strings"

const (
	// connReader reads the responses of one connection of an HTTP client. In a select it has given one
	// to its caller and waits until the body is read to its end or closed (net/http/transport.go). Before
	// a response, and between two, it waits for the network.
	connReader = "net/http.(*persistConn).readLoop"
	// closeBodies is what to do about bodies that nobody closes.
	closeBodies = "Close the body of each response: defer resp.Body.Close() behind the check of the error, and read it to its end where the connection shall serve again."
)

// bodiesOpen reports a finding on connections of HTTP clients, and nothing else, of whose last responses
// nobody has read or closed the body.
func (s *Series) bodiesOpen(f *Finding) (open bool) {
	for _, print := range f.Families {
		x := s.family(print)
		if x == nil || len(x.Frames) == 0 || !strings.HasPrefix(x.Frames[len(x.Frames)-1], "net/http.(*persistConn).") {
			return false
		}
		if x.Frames[0] == connReader {
			state, n, _ := s.stateOfMost([]string{print})
			open = state == "select" && 2*n > x.Counts.Last()
		}
	}
	return open
}
