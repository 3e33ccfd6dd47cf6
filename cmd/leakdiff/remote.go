package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"

	"leakdiff/analysis"
	"leakdiff/cmd/leakdiff/capture"
)

// remote is a server that this program asks.
type remote struct{ address, key, token string }

// serverAddress refuses what is no address of a server. It takes off the last slash.
func serverAddress(address string) (string, error) {
	base, err := url.Parse(address)
	if err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Host == "" {
		return "", &analysis.Fault{Code: "invalid", What: "this is no address of a server", Where: capture.Shown(address), Why: "it does not begin with http:// or https:// and a host", Hint: "use for example --server http://127.0.0.1:8080"}
	}
	return strings.TrimSuffix(address, "/"), nil
}

// call sends JSON and reads JSON.
func (r remote) call(ctx context.Context, method, path string, body, into any) error {
	var content io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return err
		}
		content = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, method, r.address+path, content)
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	return r.send(req, into)
}

// send demands success. A refusal is reported in the server's own words.
func (r remote) send(req *http.Request, into any) error {
	switch {
	case r.token != "":
		req.Header.Set("Authorization", "Bearer "+r.token)
		if r.key != "" {
			req.Header.Set("X-Owner-Key", r.key)
		}
	case r.key != "":
		req.Header.Set("Authorization", "Bearer "+r.key)
	}
	req.Header.Set("Accept", "application/json")
	// The upload and the key go to the given address and to no other.
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Do(req)
	if err != nil {
		var fault *analysis.Fault
		if errors.As(err, &fault) {
			return fault
		}
		return &analysis.Fault{Code: "unreachable", What: "the server does not answer", Where: capture.Shown(r.address), Why: reason(err), Hint: "check the address, and that leakdiff serve runs there", Err: err}
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, 64<<20))
	if err != nil {
		return &analysis.Fault{Code: "unreachable", What: "the server's answer broke off", Where: capture.Shown(r.address), Why: err.Error(), Hint: "send again: the same bytes are stored once", Err: err}
	}
	if to, err := res.Location(); err == nil && res.StatusCode < 400 && res.StatusCode >= 300 {
		return moved(capture.Shown(r.address), capture.Shown(to.String()), req.URL.EscapedPath())
	}
	if res.StatusCode >= 300 {
		return refused(capture.Shown(r.address), res, text)
	}
	if into == nil || len(text) == 0 {
		return nil
	}
	if err := json.Unmarshal(text, into); err != nil {
		return &analysis.Fault{Code: "unreachable", What: "this is not a leakdiff server", Where: capture.Shown(r.address), Why: "its answer is no JSON: " + err.Error(), Hint: "check the address, with the path of a proxy", Err: err}
	}
	return nil
}

// moved explains a redirect. If the new address ends with the path of the request, it
// names the server without that path.
func moved(server, to, path string) error {
	if i := strings.Index(path, "/api/"); i >= 0 {
		to = strings.TrimSuffix(to, path[i:])
	}
	return &analysis.Fault{Code: "refused", What: "the server sends elsewhere", Where: server, Why: "the server is at " + to + ": nothing was sent there", Hint: "give that with --server, if you trust it"}
}

// reason is the innermost message of a transport error, without the address and method
// that the fault names already.
func reason(err error) string {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	return err.Error()
}

// httpStatus is the status of an answer that was a refusal.
type httpStatus int

func (s httpStatus) Error() string { return http.StatusText(int(s)) }

// refused reads problem+json. The page of another program is reported by its status.
func refused(server string, res *http.Response, body []byte) error {
	status := httpStatus(res.StatusCode)
	var p struct{ Title, Detail, Code, Where, Hint string }
	if err := json.Unmarshal(body, &p); err != nil || p.Title == "" {
		return &analysis.Fault{Code: "refused", What: "the server refused the request", Where: server, Why: "status " + res.Status, Hint: "check the address, with the path of a proxy", Err: status}
	}
	where := server
	if p.Where != "" {
		where += ": " + p.Where
	}
	return &analysis.Fault{Code: p.Code, What: p.Title, Where: where, Why: p.Detail, Hint: p.Hint, Err: status}
}

// refusedForGood reports whether the same request will be refused again until a person changes
// something.
func refusedForGood(err error) bool {
	var status httpStatus
	var fault *analysis.Fault
	if !errors.As(err, &status) || !errors.As(err, &fault) || status < 400 || status >= 500 {
		return false
	}
	switch status {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly, http.StatusTooManyRequests:
		return false
	}
	return fault.Code != "interrupted" && fault.Code != "mismatched_body"
}
