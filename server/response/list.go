package response

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
)

// Bounds of the entries on a page of a list, and of its number.
const (
	usualLimit = 100
	maxLimit   = 500
	maxPage    = 1_000_000
)

// wholeNumber reads a parameter from 1 to most.
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

// PageOfList is the number of the page.
func PageOfList(query url.Values) (int, error) { return wholeNumber(query, "page", 1, maxPage) }

// LimitOf is the number of entries on a page.
func LimitOf(query url.Values) (int, error) { return wholeNumber(query, "limit", usualLimit, maxLimit) }

// NextPage sets the Link header to the next page and returns its address, below the path
// of the proxy.
func (s *Responder) NextPage(w http.ResponseWriter, r *http.Request, page int) string {
	next := r.URL.Query()
	next.Set("page", strconv.Itoa(page+1))
	address := s.Path() + r.URL.Path + "?" + next.Encode()
	w.Header().Set("Link", "<"+address+`>; rel="next"`)
	return address
}

// ListJSON answers with a value that may change at any time, with an ETag.
func (s *Responder) ListJSON(w http.ResponseWriter, r *http.Request, v any) {
	made, err := JsonOf(v)
	if err != nil {
		s.FailAPI(w, r, err)
		return
	}
	made.Tagged(w, r)
}
