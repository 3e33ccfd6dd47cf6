package response

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strconv"
	"strings"

	"leakdiff/analysis/say/report"
)

// ReportOf is a report as JSON.
func ReportOf(r report.Report) (Content, error) {
	var b bytes.Buffer
	err := report.JSON(&b, r)
	return Content{Kind: JSONType, Body: b.Bytes()}, err
}

// JsonOf is a JSON twin.
func JsonOf(v any) (Content, error) {
	body, err := json.MarshalIndent(v, "", " ")
	return Content{Kind: JSONType, Body: append(body, '\n')}, err
}

// ReadJSON reads the body of a request into v. It refuses members that v does not have.
// The example is a valid body.
func ReadJSON(w http.ResponseWriter, r *http.Request, v any, example string) error {
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, MaxForm))
	d.DisallowUnknownFields()
	return decoded(d.Decode(v), example)
}

// ReadForeignJSON is ReadJSON of a body that another program defines: members that v does not
// have are left out. It reads at most limit bytes.
func ReadForeignJSON(w http.ResponseWriter, r *http.Request, v any, limit int64, example string) error {
	return decoded(json.NewDecoder(http.MaxBytesReader(w, r.Body, limit)).Decode(v), example)
}

// decoded explains why a body cannot be read.
func decoded(err error, example string) error {
	if tooLarge := (*http.MaxBytesError)(nil); err == nil || errors.As(err, &tooLarge) {
		return err
	}
	return Refuse("bad_request", "the body is not the expected JSON", "", wrongJSON(err), "send "+example)
}

// wrongJSON explains in terms of JSON why a body cannot be read.
//
//	[]                 ->  "it is an array, and an object is expected"
//	{"keep": 7}        ->  "keep is a number, and a string is expected"
//	{"colour": "red"}  ->  "there is no member \"colour\""
func wrongJSON(err error) string {
	var kind *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	member, unknown := strings.CutPrefix(err.Error(), "json: unknown field ")
	switch {
	case err == io.EOF:
		return "it is empty"
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "it breaks off before its end"
	case errors.As(err, &syntax):
		return fmt.Sprintf("byte %d is not what JSON may have there", syntax.Offset)
	case unknown:
		return "there is no member " + member
	case errors.As(err, &kind):
		got, _, _ := strings.Cut(kind.Value, " ")
		wanted, what := wantedKind(kind.Type.Kind()), "it"
		if wanted != "an object" {
			what = "a value"
		}
		return fmt.Sprintf("%s is %s, and %s is expected", cmp.Or(kind.Field, what), jsonWords[got], wanted)
	}
	return "a value does not have the form that it needs"
}

// jsonWords names the types of JSON values.
var jsonWords = map[string]string{"array": "an array", "object": "an object", "string": "a string", "number": "a number", "bool": "true or false"}

// wantedKind names the JSON type that a Go type is read from.
func wantedKind(k reflect.Kind) string {
	switch k {
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Slice, reflect.Array:
		return "an array"
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	}
	return "a number"
}

// WriteJSON answers with a value as JSON.
func WriteJSON(w http.ResponseWriter, status int, v any) {
	body, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		http.Error(w, "encoding failed", http.StatusInternalServerError)
		return
	}
	WriteJSONBytes(w, status, append(body, '\n'))
}

// WriteJSONBytes answers with encoded JSON.
func WriteJSONBytes(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	w.Write(body)
}
