package api

import (
	"fmt"
	"net/http"
	"time"

	"github.com/go-chi/httprate"

	"leakdiff/server/response"
)

// apiRate is how many API requests one address may send in a minute.
const apiRate = 6000

// LimitRate limits the API requests of one address. Headers show how many are left.
func (s *Service) LimitRate() func(http.Handler) http.Handler {
	return httprate.LimitBy(apiRate, time.Minute, s.cfg.Sender, httprate.WithLimitHandler(func(w http.ResponseWriter, r *http.Request) {
		s.respond.FailAPI(w, r, response.Refuse("too_many", "this address asks too much", "", fmt.Sprintf("one address may send %d requests a minute", apiRate), "wait as long as Retry-After says, in seconds"))
	}))
}
