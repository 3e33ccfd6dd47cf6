package mcp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-chi/chi/v5"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"leakdiff/analysis"
	"leakdiff/analysis/say/report"
	"leakdiff/server/api"
	"leakdiff/server/loader"
	"leakdiff/server/response"
	"leakdiff/web/view"
)

// Reports loads the reports of cases.
type Reports interface {
	Report(ctx context.Context, caseID string) (*loader.Report, error)
}

// ServedConfig is what an address of a server offers.
type ServedConfig struct {
	Reports Reports
	Respond *response.Responder
	// Pages answers a request for the data of a page. It admits its sender to each anew.
	Pages   http.Handler
	Version string
}

// Handler answers agents over streamable HTTP. It is for requests that were admitted, whose
// Host and origin were checked. It keeps no session, so that any of several servers behind one
// address answers each request, and writes nothing.
func Handler(cfg ServedConfig) http.Handler {
	s := &served{cfg}
	// Schemas take memory: servers that no agent asks have none.
	open := sync.OnceValue(func() http.Handler {
		server := New(Config{Cases: s, Version: cfg.Version, Frozen: s.frozen, Panicked: s.panicked})
		return sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, &sdk.StreamableHTTPOptions{
			Stateless: true, JSONResponse: true, PropagateRequestCancellation: true,
			// The server has its own check, which knows the names that a proxy passes on.
			DisableLocalhostProtection: true,
		})
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := oneMessage(w, r)
		if err != nil {
			cfg.Respond.FailAPI(w, r, err)
			return
		}
		r = r.WithContext(context.WithValue(r.Context(), requestKey{}, r))
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		open().ServeHTTP(w, r)
	})
}

// oneMessage reads the body of a request, which is bounded. It refuses several messages at once,
// which old versions of the protocol know: a request counts once for the rate of its sender.
func oneMessage(w http.ResponseWriter, r *http.Request) (json.RawMessage, error) {
	const example = `{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}`
	var body json.RawMessage
	if err := response.ReadJSON(w, r, &body, example); err != nil {
		return nil, err
	}
	if body[0] == '[' {
		return nil, response.Refuse("bad_request", "several messages came at once", "", "a request has one", "send each by itself")
	}
	return body, nil
}

// requestKey finds the request of an agent in the context of a tool.
type requestKey struct{}

// served are the cases of a server, as the pages of the sender of a request show them.
type served struct{ cfg ServedConfig }

// get requests the data of a page in the name of the agent. It returns the refusal of the page
// as an error.
func (s *served) get(ctx context.Context, path string, query url.Values) ([]byte, error) {
	of := ctx.Value(requestKey{}).(*http.Request)
	// The route of the agent's request is not that of the page.
	r := of.Clone(context.WithValue(ctx, chi.RouteCtxKey, nil))
	r.Method, r.Body, r.ContentLength = http.MethodGet, http.NoBody, 0
	for _, name := range []string{"Content-Type", "Content-Length", "If-None-Match", "If-Modified-Since", "Range"} {
		r.Header.Del(name)
	}
	r.Header.Set("Accept", "application/json")
	r.URL = &url.URL{Path: path, RawQuery: query.Encode()}
	var page answer
	s.cfg.Pages.ServeHTTP(&page, r)
	if page.status < 300 {
		return page.body.Bytes(), nil
	}
	var p response.ProblemJSON
	if err := json.Unmarshal(page.body.Bytes(), &p); err != nil || p.Title == "" {
		p = response.ProblemJSON{Title: http.StatusText(page.status), Code: "not_found"}
	}
	return nil, &analysis.Fault{Code: p.Code, What: p.Title, Where: p.Where, Why: p.Detail, Hint: p.Hint}
}

// answer is the answer of a page. It is a http.ResponseWriter.
type answer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (a *answer) Header() http.Header {
	if a.header == nil {
		a.header = http.Header{}
	}
	return a.header
}

func (a *answer) WriteHeader(status int) { a.status = cmp.Or(a.status, status) }

func (a *answer) Write(p []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	return a.body.Write(p)
}

func getAs[T any](ctx context.Context, s *served, path string, query url.Values) (out T, err error) {
	text, err := s.get(ctx, path, query)
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	return out, err
}

// List is GET /api/v1/cases.
func (s *served) List(ctx context.Context, q Query) ([]Listed, int, error) {
	found, err := getAs[struct {
		Cases []api.CaseListed
		Total int
	}](ctx, s, "/api/v1/cases", url.Values{"find": {q.Find}, "verdict": {q.Verdict}, "limit": {strconv.Itoa(q.Limit)}, "page": {strconv.Itoa(q.Page)}})
	if err != nil {
		return nil, 0, err
	}
	var out []Listed
	for _, c := range found.Cases {
		out = append(out, Listed{Case: c.ID, Title: c.Title, Sentence: c.Headline, Verdict: string(c.Verdict), Snapshots: c.Snapshots, Updated: c.UpdatedAt.UTC().Format(time.RFC3339), URL: c.URL})
	}
	return out, found.Total, nil
}

// Report is the report of the page of a case.
func (s *served) Report(ctx context.Context, id string) (Case, error) {
	c, err := s.cfg.Reports.Report(ctx, id)
	if err != nil {
		fault, _ := s.cfg.Respond.Fault(err)
		return Case{}, fault
	}
	return Case{ID: c.ID, Title: c.Title, URL: s.cfg.Respond.Base(ctx.Value(requestKey{}).(*http.Request)) + "/cases/" + c.ID, Report: &c.Said.Report}, nil
}

// of is the query of a page about a series of a case.
func of(c Case, series int) url.Values {
	x := &c.Report.Series[series]
	return url.Values{"case": {c.ID}, "series": {view.SeriesKey(*cmp.Or(x.Host, new(string)), x.Process)}}
}

// Family is GET /families/{fingerprint}.json.
func (s *served) Family(ctx context.Context, c Case, series int, fingerprint string) (report.Membership, error) {
	return getAs[report.Membership](ctx, s, "/families/"+fingerprint+".json", of(c, series))
}

// Object is GET /objects/{id}.json.
func (s *served) Object(ctx context.Context, c Case, series int, id string) (report.ObjectMembership, error) {
	return getAs[report.ObjectMembership](ctx, s, "/objects/"+id+".json", of(c, series))
}

// Compare is GET /diff/{a}..{b}.json.
func (s *served) Compare(ctx context.Context, c Case, a, b string) (report.Comparison, error) {
	return getAs[report.Comparison](ctx, s, "/diff/"+a+".."+b+".json", url.Values{"case": {c.ID}})
}

// frozen is GET /p/{id} as JSON or as text. name is the id of a frozen result with or without
// a suffix, or the address of the result on this server.
func (s *served) frozen(ctx context.Context, uri string) (kind string, body []byte, err error) {
	name, ok := strings.CutPrefix(uri, permalinkScheme)
	if !ok {
		base := s.cfg.Respond.Base(ctx.Value(requestKey{}).(*http.Request))
		if name, ok = strings.CutPrefix(uri, base+"/p/"); !ok {
			return "", nil, response.Refuse("not_found", "this is no frozen result of this server", uri, "", "ask for "+permalinkScheme+"ID")
		}
	}
	id, suffix := response.Twin(name)
	if id == "" || strings.ContainsAny(id, "/?#") || suffix != "" && suffix != ".json" && suffix != ".txt" {
		return "", nil, response.Refuse("not_found", "there is no such form of a frozen result", name, "", "ask for "+permalinkScheme+"ID as text, or with .json behind it")
	}
	if suffix == ".json" {
		body, err = s.get(ctx, "/p/"+id+".json", nil)
		if len(body) > mostFrozen {
			err = response.Refuse("too_large", "the result is too large as JSON", id, fmt.Sprintf("it has %d bytes, and %d are passed on", len(body), mostFrozen), "ask for it without .json, or open its address")
		}
		return "application/json", body, err
	}
	if body, err = s.get(ctx, "/p/"+id+".txt", nil); err != nil {
		_, err = s.get(ctx, "/p/"+id+".json", nil) // it has the reason in parts
	}
	return "text/plain", body, err
}

// panicked logs a panic in a tool, which is no goroutine of the request.
func (s *served) panicked(v any) error {
	fault, _ := s.cfg.Respond.Fault(fmt.Errorf("an answer to an agent panicked: %v\n%s", v, debug.Stack()))
	return fault
}
