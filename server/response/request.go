package response

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/go-chi/chi/v5"
)

// RequestIDHeader carries the id of the request in the log.
const RequestIDHeader = "X-Request-Id"

type requestIDKey struct{}

// WithRequestID sets the id of a request in the log.
func WithRequestID(r *http.Request, id string) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), requestIDKey{}, id))
}

// RequestID is the id of the request in the log.
func RequestID(r *http.Request) string {
	id, _ := r.Context().Value(requestIDKey{}).(string)
	return id
}

// RouteOf is the first element of the path: enough for a log, without names.
func RouteOf(r *http.Request) string {
	first, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	return "/" + first
}

// MaxForm bounds the bodies of forms and of JSON requests.
const MaxForm = 64 << 10

// FormFault words why a form could not be read.
func FormFault(err error) error {
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return err
	}
	why := "it is no form such as browsers send"
	if escape := url.EscapeError(""); errors.As(err, &escape) {
		why = "it holds the escape " + string(escape)
	}
	return Refuse("bad_request", "the form was not understood", "", why, "go back and try again")
}

// PathValue is the value of a parameter in the route.
func PathValue(r *http.Request, name string) string { return chi.URLParam(r, name) }
