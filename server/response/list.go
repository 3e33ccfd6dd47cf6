package response

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
)

// Bounds of a page of a list, and of its number.
const (
	usualLimit = 100
	maxLimit   = 500
	maxPage    = 1_000_000
)

// wholeNumber reads a parameter, which is a whole number from 1 to most.
func wholeNumber(query url.Values, name string, usual, most int) (int, error) {
	if !query.Has(name) {
		return usual, nil
	}
	n, err := strconv.Atoi(query.Get(name))
	if err != nil || n < 1 || n > most {
		return 0, Refuse("bad_request", "the "+name+" was not understood", query.Get(name), fmt.Sprintf("it is a number from 1 to %d", most), fmt.Sprintf("leave it out for %d", usual))
	}
	return n, nil
}

// PageOfList is the number of a page.
func PageOfList(query url.Values) (int, error) { return wholeNumber(query, "page", 1, maxPage) }

// LimitOf is how many entries a page has.
func LimitOf(query url.Values) (int, error) { return wholeNumber(query, "limit", usualLimit, maxLimit) }

// NextPage names the page behind this one, in the body and as Link, below the path of
// the proxy.
func (s *Responder) NextPage(w http.ResponseWriter, r *http.Request, page int) string {
	next := r.URL.Query()
	next.Set("page", strconv.Itoa(page+1))
	address := s.Path() + r.URL.Path + "?" + next.Encode()
	w.Header().Set("Link", "<"+address+`>; rel="next"`)
	return address
}

// ListJSON answers what may change at any time, with the ETag of what it is now.
func (s *Responder) ListJSON(w http.ResponseWriter, r *http.Request, v any) {
	made, err := JsonOf(v)
	if err != nil {
		s.FailAPI(w, r, err)
		return
	}
	made.Tagged(w, r)
}
