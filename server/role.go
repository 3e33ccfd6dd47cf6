package server

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/httprate"

	"leakdiff/analysis"
	"leakdiff/server/access"
	"leakdiff/server/response"
)

// rule is what a route asks of its sender, and how the audit log names what it does, "" for
// nothing.
type rule struct {
	role   access.Role
	action string
}

// public routes need no role. Those of frozen results decide themselves: by the audience of
// the result, and by its owner key.
const public = access.Nobody

// rules names the role that each route needs. A route that is missing here is refused. Roles
// are not all: changing a case needs its owner as well, see access.Edit.
var rules = map[string]rule{
	"GET /healthz":                       {public, ""},
	"GET /readyz":                        {public, ""},
	"GET /assets/*":                      {public, ""},
	"GET /login":                         {public, ""},
	"POST /login":                        {public, access.Login},
	"POST /logout":                       {public, access.Logout},
	"GET /p/{id}":                        {public, ""},
	"GET /p/{id}/{tail}":                 {public, ""},
	"GET /api/v1/permalinks/{id}":        {public, ""},
	"POST /p/{id}/withdraw":              {public, access.Withdraw},
	"DELETE /api/v1/permalinks/{id}":     {public, access.Withdraw},
	"POST /p/{id}/extend":                {public, access.Extend},
	"PATCH /api/v1/permalinks/{id}":      {public, access.Extend},
	"GET /":                              {access.Reader, ""},
	"GET /search":                        {access.Reader, ""},
	"GET /fleet":                         {access.Reader, ""},
	"GET /retention":                     {access.Reader, ""},
	"GET /server":                        {access.Reader, ""}, // admins see more
	"GET /fleet.md":                      {access.Reader, ""},
	"GET /fleet.txt":                     {access.Reader, ""},
	"GET /fleet.jira":                    {access.Reader, ""},
	"GET /fleet.csv":                     {access.Reader, ""},
	"GET /fleet/{fingerprint}":           {access.Reader, ""},
	"GET /help":                          {access.Reader, ""},
	"GET /api":                           {access.Reader, ""},
	"GET /knowledge":                     {access.Reader, ""},
	"GET /knowledge.json":                {access.Reader, ""},
	"GET /knowledge/schema.json":         {access.Reader, ""},
	"GET /knowledge/own/{id}":            {access.Reader, ""},
	"GET /cases/{id}":                    {access.Reader, ""},
	"GET /cases/{id}/identity":           {access.Reader, ""},
	"GET /cases/{id}/identity.json":      {access.Reader, ""},
	"GET /bundles/{id}":                  {access.Reader, ""},
	"GET /bundles/{id}/events":           {access.Reader, ""},
	"GET /bundles/{id}/files/{sha}":      {access.Reader, ""},
	"GET /snapshots/{id}":                {access.Reader, ""},
	"GET /snapshots/{id}/pprof":          {access.Reader, ""},
	"GET /snapshots/{id}/{page}":         {access.Reader, ""},
	"GET /diff-pick":                     {access.Reader, ""},
	"GET /diff-other":                    {access.Reader, ""},
	"GET /diff/{pair}":                   {access.Reader, ""},
	"GET /diff/{pair}/pprof":             {access.Reader, ""},
	"GET /diff/{pair}/{page}":            {access.Reader, ""},
	"GET /compare":                       {access.Reader, ""},
	"GET /compare.json":                  {access.Reader, ""},
	"GET /compare.md":                    {access.Reader, ""},
	"GET /compare.txt":                   {access.Reader, ""},
	"GET /compare.jira":                  {access.Reader, ""},
	"GET /compare.csv":                   {access.Reader, ""},
	"GET /compare.html":                  {access.Reader, ""},
	"GET /families/{fingerprint}":        {access.Reader, ""},
	"GET /members/{id}":                  {access.Reader, ""},
	"GET /objects/{id}":                  {access.Reader, ""},
	"GET /raw/{bundle}":                  {access.Reader, ""},
	"GET /raw/{bundle}/download":         {access.Reader, ""},
	"GET /collect.sh":                    {access.Reader, ""},
	"GET /metrics":                       {access.Reader, ""},
	"GET /api/v1/openapi.json":           {access.Reader, ""},
	"GET /api/v1/bundles/{id}":           {access.Reader, ""},
	"GET /api/v1/bundles/{id}/inventory": {access.Reader, ""},
	"GET /api/v1/cases":                  {access.Reader, ""},
	"GET /api/v1/cases/{id}":             {access.Reader, ""},
	"GET /api/v1/cases/{id}/bundles":     {access.Reader, ""},
	"GET /api/v1/cases/{id}/triage":      {access.Reader, ""},
	"GET /api/v1/cases/{id}/edits":       {access.Reader, ""},
	"GET /api/v1/families/{fingerprint}": {access.Reader, ""},
	"GET /api/v1/search":                 {access.Reader, ""},
	"GET /api/v1/retention":              {access.Reader, ""},
	"GET /api/v1/annotations":            {access.Reader, ""},
	"GET /api/v1/fleet":                  {access.Reader, ""},
	"GET /api/v1/fleet/{fingerprint}":    {access.Reader, ""},
	"GET /api/v1/snapshots/{id}":         {access.Reader, ""},
	"GET /api/v1/diffs/{id}":             {access.Reader, ""},
	"GET /api/v1/compare":                {access.Reader, ""},
	"POST /mcp":                          {access.Reader, ""}, // tools change nothing

	"POST /upload":                             {access.Uploader, access.Upload},
	"POST /samples/{name}":                     {access.Uploader, access.Upload},
	"PUT /api/v1/bundles":                      {access.Uploader, access.Upload},
	"PUT /api/v1/bundles/*":                    {access.Uploader, access.Upload},
	"POST /api/v1/bundles":                     {access.Uploader, access.Upload},
	"POST /bundles/{id}/cancel":                {access.Uploader, access.Edit},
	"POST /bundles/{id}/read":                  {access.Uploader, access.Edit},
	"POST /bundles/{id}/kind":                  {access.Uploader, access.Edit},
	"PUT /api/v1/bundles/{id}/kinds":           {access.Uploader, access.Edit},
	"POST /bundles/{id}/remove":                {access.Uploader, access.Delete},
	"DELETE /api/v1/bundles/{id}":              {access.Uploader, access.Delete},
	"POST /cases/{id}/identity":                {access.Uploader, access.Edit},
	"POST /cases/{id}/identity/undo":           {access.Uploader, access.Edit},
	"POST /cases/{id}/baseline":                {access.Uploader, access.Edit},
	"POST /cases/{id}/fields":                  {access.Uploader, access.Edit},
	"POST /cases/{id}/triage":                  {access.Uploader, access.Edit},
	"PATCH /api/v1/cases/{id}":                 {access.Uploader, access.Edit},
	"PUT /api/v1/cases/{id}/triage":            {access.Uploader, access.Edit},
	"POST /api/v1/cases/{id}/edits":            {access.Uploader, access.Edit},
	"DELETE /api/v1/cases/{id}/edits/{number}": {access.Uploader, access.Edit},
	"POST /api/v1/alertmanager":                {access.Uploader, access.Edit},
	"POST /families/{fingerprint}/remember":    {access.Uploader, access.Edit},
	"POST /knowledge/own/{id}":                 {access.Uploader, access.Edit},
	"POST /cases/{id}/delete":                  {access.Uploader, access.Delete},
	"DELETE /api/v1/cases/{id}":                {access.Uploader, access.Delete},
	"GET /share":                               {access.Uploader, ""},
	"POST /share":                              {access.Uploader, access.Share},
	"POST /api/v1/permalinks":                  {access.Uploader, access.Share},
	"POST /p/{id}/again":                       {access.Uploader, access.Share},

	"GET /audit":       {access.Admin, ""},
	"GET /audit.jsonl": {access.Admin, ""},
}

// check admits a request to its route. It is the only place that does: every route of the
// server lies behind it.
func (s *Server) check(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		route := r.Method + " " + chi.RouteContext(r.Context()).RoutePattern()
		need, known := rules[route]
		if !known {
			s.respond.Fail(w, r, response.Refuse("forbidden", "nobody may use this address", "", "it is not known who may", "tell the maintainers of leakdiff"))
			return
		}
		r = access.Watched(r)
		who, err := s.access.Identify(r)
		r = access.As(r, who)
		if who.Role < need.role || err != nil && need.role != public {
			s.refuse(w, r, who, need.role, err, route)
			return
		}
		if need.action == "" {
			next.ServeHTTP(w, r)
			return
		}
		answered := &loggedWriter{ResponseWriter: w, began: time.Now()}
		aboutRoute(r)
		next.ServeHTTP(answered, r)
		s.access.Audit(r, need.action, route, answered.status)
	})
}

// aboutRoute tells the audit log what the address of a request names. Ids of the catalogue
// hold words of people.
func aboutRoute(r *http.Request) {
	path := r.URL.Path
	switch id := response.PathValue(r, "id"); {
	case strings.HasPrefix(path, "/p/"), strings.HasPrefix(path, "/api/v1/permalinks/"):
		access.AboutResult(r, id)
	case strings.HasPrefix(path, "/bundles/"), strings.HasPrefix(path, "/api/v1/bundles/") && id != "":
		access.About(r, "bundle", id)
	case strings.HasPrefix(path, "/cases/"), strings.HasPrefix(path, "/api/v1/cases/"):
		access.About(r, "case", id)
	case strings.HasPrefix(path, "/families/"):
		access.About(r, "family", response.PathValue(r, "fingerprint"))
	}
}

// refuse answers a request that its route does not admit. The answer is the same whether
// what it asks for exists or not.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, who access.Identity, need access.Role, err error, route string) {
	status := http.StatusUnauthorized
	var f *analysis.Fault
	switch {
	case err != nil && (!errors.As(err, &f) || f.Code != "unauthorized"):
		s.respond.Fail(w, r, err)
		return
	case err != nil:
	case who.Role == access.Nobody && who.Account == "":
		if s.access.Mode() == access.ByPassword && response.WantsPage(r) {
			s.respond.Redirect(w, r, loginAddress(r))
			return
		}
		err = response.Refuse("unauthorized", "this server asks for an account", "", "the request has none", s.admission())
	default:
		status = http.StatusForbidden
		err = response.Refuse("forbidden", "this needs the role "+need.String(), "", cmp.Or(who.Name(), "everybody without an account")+" has "+roleWords(who.Role), "ask the operator of this server for the role")
	}
	if status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	s.access.Audit(r, access.Refuse, route, status)
	s.respond.Fail(w, r, err)
}

// signIn answers somebody who needs an account for a page that some may read without.
func (s *Server) signIn(w http.ResponseWriter, r *http.Request) {
	s.refuse(w, r, access.Identity{}, access.Reader, nil, r.Method+" "+chi.RouteContext(r.Context()).RoutePattern())
}

// roleWords says what somebody has.
func roleWords(r access.Role) string {
	if r == access.Nobody {
		return "no role"
	}
	return "the role " + r.String()
}

// admission says how a program is admitted, and people where they have no login page.
func (s *Server) admission() string {
	if s.access.Mode() == access.ByProxy {
		return "open the address of the proxy, which signs you in; scripts send an API token as Authorization: Bearer"
	}
	return "sign in at /login; scripts send an API token as Authorization: Bearer"
}

// loginAddress is that of the login page, with the way back.
func loginAddress(r *http.Request) string {
	if r.Method != http.MethodGet || r.URL.Path == "/" && r.URL.RawQuery == "" {
		return "/login"
	}
	return "/login?" + url.Values{"next": {r.URL.RequestURI()}}.Encode()
}

// loginRate bounds the passwords that one sender may try for one name in a minute: people behind
// one address do not lock each other out. addressRate bounds those for all names.
const loginRate, addressRate = 10, 60

// limitLogins limits the passwords that one sender tries.
func (s *Server) limitLogins() func(http.Handler) http.Handler {
	refuse := httprate.WithLimitHandler(func(w http.ResponseWriter, r *http.Request) {
		s.respond.Fail(w, r, response.Refuse("too_many", "this address tries too many passwords", "", "one address may try ten for a name in a minute, and sixty for all", "wait as long as Retry-After says, in seconds"))
	})
	ofName := func(r *http.Request) (string, error) {
		r.Body = http.MaxBytesReader(nil, r.Body, response.MaxForm)
		sender, err := s.access.SenderKey(r)
		return sender + "\x00" + r.PostFormValue("user"), err
	}
	names := httprate.LimitBy(loginRate, time.Minute, ofName, refuse)
	addresses := httprate.LimitBy(addressRate, time.Minute, s.access.SenderKey, refuse)
	return func(next http.Handler) http.Handler { return addresses(names(next)) }
}

// unchecked returns the routes of a router that no rule names, for tests.
func unchecked(routes chi.Routes) (missing []string, err error) {
	err = chi.Walk(routes, func(method, route string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		if _, known := rules[method+" "+route]; !known {
			missing = append(missing, method+" "+route)
		}
		return nil
	})
	slices.Sort(missing)
	return missing, err
}
