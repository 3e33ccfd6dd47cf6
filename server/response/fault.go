package response

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"leakdiff/analysis"
	"leakdiff/analysis/say/wording"
	"leakdiff/store/blob"
)

// ErrorID is a random id for the log and the answer.
func ErrorID() string {
	b := make([]byte, 6)
	rand.Read(b)
	return hex.EncodeToString(b)
}

// IsNotFound reports whether an error is a refusal because something does not exist.
func IsNotFound(err error) bool {
	var f *analysis.Fault
	return errors.As(err, &f) && f.Code == "not_found"
}

// statuses are the HTTP statuses of refusals by code. Any other code is an internal error.
var statuses = map[string]int{
	"misdirected":     http.StatusMisdirectedRequest,
	"cross_origin":    http.StatusForbidden,
	"unauthorized":    http.StatusUnauthorized,
	"forbidden":       http.StatusForbidden,
	"not_found":       http.StatusNotFound,
	"gone":            http.StatusGone,
	"too_large":       http.StatusRequestEntityTooLarge,
	"disk_full":       http.StatusInsufficientStorage,
	"bad_request":     http.StatusBadRequest,
	"empty":           http.StatusBadRequest,
	"unreadable":      http.StatusUnprocessableEntity,
	"conflict":        http.StatusConflict,
	"busy":            http.StatusServiceUnavailable,
	"stopping":        http.StatusServiceUnavailable,
	"answered":        http.StatusServiceUnavailable,
	"missing_blob":    http.StatusServiceUnavailable,
	"still_reading":   http.StatusConflict,
	"interrupted":     http.StatusBadRequest,
	"slow":            http.StatusRequestTimeout,
	"method":          http.StatusMethodNotAllowed,
	"too_many":        http.StatusTooManyRequests,
	"invalid":         http.StatusBadRequest,
	"cancelled":       http.StatusConflict,
	"mismatched_body": http.StatusUnprocessableEntity,
	blob.Damaged:      http.StatusInternalServerError,
	blob.Unreachable:  http.StatusServiceUnavailable,
	blob.Away:         http.StatusServiceUnavailable,
}

// Fault makes a refusal of any error. An error that is none is internal: it is logged
// under an id, and only the id is shown.
func (s *Responder) Fault(err error) (*analysis.Fault, int) {
	var f *analysis.Fault
	if errors.As(err, &f) {
		if status, ok := statuses[f.Code]; ok {
			return f, status
		}
	}
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return Refuse("too_large", "the request is too large", "", fmt.Sprintf("the limit is %d bytes", tooLarge.Limit), "send less at once"), http.StatusRequestEntityTooLarge
	}
	if errors.Is(err, context.Canceled) {
		// The sender left or the server ends: nobody reads this, and nothing is wrong.
		return Refuse("interrupted", "the request stopped before its end", "", "the connection was closed", "send it again"), statuses["interrupted"]
	}
	id := ErrorID()
	s.log.Error("request failed", "id", id, "error", err)
	return &analysis.Fault{Code: "internal", What: "something went wrong inside leakdiff", Where: "error " + id, Hint: "the log of the server names it under this id; nothing that was uploaded is lost"}, http.StatusInternalServerError
}

// Refuse makes a refusal. Every refusal has these parts.
func Refuse(code, what, where, why, hint string) *analysis.Fault {
	return &analysis.Fault{Code: code, What: what, Where: where, Why: why, Hint: hint}
}

// KnownVerdict refuses a word that is no verdict, nor one of also. The empty word chooses all.
func KnownVerdict(word string, also ...string) error {
	if word == "" || slices.Contains(analysis.Verdicts(), analysis.Verdict(word)) || slices.Contains(also, word) {
		return nil
	}
	return Refuse("bad_request", "there is no such verdict", word, "the verdicts are "+VerdictWords(also...), "use one of these, or leave it out")
}

// VerdictWords lists all verdicts, and also.
func VerdictWords(also ...string) string {
	var words []string
	for _, v := range analysis.Verdicts() {
		words = append(words, string(v))
	}
	words = append(words, also...)
	return wording.Commas(words, len(words))
}
