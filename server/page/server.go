package page

import (
	"bufio"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"leakdiff/analysis/say/wording"
	"leakdiff/server/access"
	"leakdiff/server/response"
	"leakdiff/store"
	"leakdiff/web/page"
	"leakdiff/web/view"
)

// auditPage is the number of entries of the audit log on one page, auditBatch the number that are
// read at once for the lines.
const (
	auditPage  = 100
	auditBatch = 500
)

// Server is GET /server?case=&action=&text=&before=. It shows what policies of retention would
// drop now, of all cases or of one; to admins also the API tokens and the audit log, of which
// the other parameters choose entries.
func (s *Service) Server(w http.ResponseWriter, r *http.Request) {
	in := view.ServerInput{}
	err := s.retained(r, &in.Retention)
	if err == nil && access.Of(r.Context()).Role == access.Admin {
		err = s.admitted(r, &in)
	}
	if err != nil {
		s.respond.Fail(w, r, err)
		return
	}
	v := view.NewServer(in)
	v.Shell.Engine = s.respond.Engine()
	w.Header().Set("Cache-Control", "no-store")
	s.respond.Page(w, r, http.StatusOK, page.HTML(v))
}

// retained plans what policies would drop.
func (s *Service) retained(r *http.Request, in *view.RetentionInput) error {
	in.CaseID = r.URL.Query().Get("case")
	cases, err := s.store.PlanRetention(r.Context(), s.cfg.Keep, in.CaseID)
	for _, c := range cases {
		if c.CaseID == in.CaseID {
			in.CaseTitle = c.Title
		}
		in.Cases = append(in.Cases, view.RetainedCase{
			ID: c.CaseID, Title: c.Title, KeepMembers: c.Keep.Members, KeepUploads: c.Keep.Uploads,
			Snapshots: c.Snapshots, MemberBytes: c.MemberBytes, Bundles: c.Bundles, UploadBytes: c.UploadBytes,
		})
	}
	return err
}

// admitted reads the tokens, and a page of the audit log.
func (s *Service) admitted(r *http.Request, in *view.ServerInput) error {
	tokens, err := s.cfg.Accounts.Tokens(r.Context())
	if err != nil {
		return err
	}
	for _, t := range tokens {
		in.Tokens = append(in.Tokens, view.TokenRow{Name: t.Name, Role: t.Role, Made: t.Created, State: wording.TokenState(t.Expires, t.Revoked, s.cfg.Now())})
	}
	q, err := chosenEntries(r)
	if err != nil {
		return err
	}
	// One entry more than a page shows that there is another page.
	q.Limit = auditPage + 1
	found, err := s.cfg.Accounts.AuditLog(r.Context(), q)
	if err != nil {
		return err
	}
	in.Audit = &view.AuditInput{Action: q.Action, Text: q.Text, Actions: access.Actions(), Newest: q.Before == 0}
	if len(found) > auditPage {
		found = found[:auditPage]
		in.Audit.Older = found[auditPage-1].Number
	}
	for _, e := range found {
		in.Audit.Rows = append(in.Audit.Rows, view.AuditRow{At: e.At, Account: e.Account, Role: e.Role, Action: e.Action, Subject: e.Subject, Route: e.Route, Status: e.Status, Address: e.Sender})
	}
	return nil
}

// ToServer leads the addresses of earlier pages, /retention and /audit, to the page of the server.
func (s *Service) ToServer(section string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		to := url.URL{Path: "/server", RawQuery: r.URL.RawQuery, Fragment: section}
		s.respond.Redirect(w, r, to.String())
	}
}

// chosenEntries reads which entries are asked for.
func chosenEntries(r *http.Request) (q store.AuditQuery, err error) {
	values := r.URL.Query()
	q.Action, q.Text = values.Get("action"), values.Get("text")
	for name, to := range map[string]*int64{"before": &q.Before, "after": &q.After} {
		if !values.Has(name) {
			continue
		}
		if *to, err = strconv.ParseInt(values.Get(name), 10, 64); err != nil || *to < 0 {
			return q, response.Refuse("bad_request", "the "+name+" was not understood", values.Get(name), "it is the number of an entry", "leave it out for all")
		}
	}
	return q, nil
}

// entryJSON is one line of the audit log.
type entryJSON struct {
	Number  int64     `json:"number"`
	At      time.Time `json:"at"`
	Account string    `json:"account"`
	Role    string    `json:"role"`
	Action  string    `json:"action"`
	Subject string    `json:"subject"`
	Route   string    `json:"route"`
	Status  int       `json:"status"`
	Sender  string    `json:"sender"`
	Request string    `json:"request"`
}

// AuditLines writes the audit log as JSON lines, the oldest entry first. ?after= continues
// after the last number that was read.
func (s *Service) AuditLines(w http.ResponseWriter, r *http.Request) {
	q, err := chosenEntries(r)
	if err != nil {
		s.respond.Fail(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "application/jsonl; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	out := bufio.NewWriter(w)
	lines := json.NewEncoder(out)
	for q.Oldest, q.Limit = true, auditBatch; ; {
		found, err := s.cfg.Accounts.AuditLog(r.Context(), q)
		if err != nil {
			panic(http.ErrAbortHandler) // an answer that only ends early would look complete
		}
		for _, e := range found {
			if err := lines.Encode(entryJSON(e)); err != nil {
				return
			}
			q.After = e.Number
		}
		if len(found) < auditBatch {
			break
		}
	}
	out.Flush()
}
