package api

import (
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/go-chi/httprate"

	"leakdiff/server/response"
)

// apiRate is how many requests one address may send to the API in a minute.
const apiRate = 6000

// LimitRate bounds what one address asks of the API and says in headers how much of it
// is left.
func (s *Service) LimitRate() func(http.Handler) http.Handler {
	return httprate.LimitBy(apiRate, time.Minute, peer, httprate.WithLimitHandler(func(w http.ResponseWriter, r *http.Request) {
		s.respond.FailAPI(w, r, response.Refuse("too_many", "this address asks too much", "", fmt.Sprintf("one address may send %d requests a minute", apiRate), "wait as long as Retry-After says, in seconds"))
	}))
}

// peer is the address that a connection comes from; behind a proxy it is the proxy's,
// and the bound holds for all that come through it.
func peer(r *http.Request) (string, error) {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	return host, err
}
