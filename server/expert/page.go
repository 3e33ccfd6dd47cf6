package expert

import (
	"bytes"
	"cmp"
	"io"
	"net/http"
	"slices"
	"strings"

	pprof "github.com/google/pprof/profile"

	"leakdiff/analysis/say/profile"
	"leakdiff/server/casepage"
	"leakdiff/server/response"
	"leakdiff/web/page"
	"leakdiff/web/view"
)

// views are the handlers of pprof that are reachable.
var views = [...]string{"flamegraph", "top", "peek", "download"}

// ViewPolicy lets the scripts of pprof run in an origin of their own, without any access.
const ViewPolicy = "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"

// framePolicy is the policy of the page with the frame.
const framePolicy = response.Policy + "; frame-src 'self'"

// View serves pprof's own pages inside the frame. Only the views on the list exist.
func (s *Service) View(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", ViewPolicy)
	h.Set("Cache-Control", "no-store")
	name := response.PathValue(r, "view")
	var handler http.Handler
	if slices.Contains(views[:], name) {
		handler = s.mounts.handler(response.PathValue(r, "token"), name)
	}
	if handler == nil {
		h.Set("Content-Type", "text/plain; charset=utf-8")
		w.WriteHeader(http.StatusNotFound)
		io.WriteString(w, "There is no such view here: the address has ended (reload the page around it), or this view of pprof is switched off, since it would need files or programs of the server.\n")
		return
	}
	// The answer is buffered until the lock is free. A slow reader would block all
	// mounting, and with it every other reader.
	made := &answer{header: h}
	s.mounts.pprof.RLock()
	handler.ServeHTTP(made, r)
	s.mounts.pprof.RUnlock()
	w.WriteHeader(cmp.Or(made.status, http.StatusOK))
	w.Write(made.body.Bytes())
}

// answer is the buffered answer of a handler.
type answer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (a *answer) Header() http.Header { return a.header }

func (a *answer) Write(b []byte) (int, error) { return a.body.Write(b) }

func (a *answer) WriteHeader(status int) { a.status = cmp.Or(a.status, status) }

// SnapshotPage frames pprof over one snapshot.
func (s *Service) SnapshotPage(w http.ResponseWriter, r *http.Request) {
	x, err := s.pages.SnapshotStacks(r, response.PathValue(r, "id"))
	if err != nil {
		s.respond.Fail(w, r, err)
		return
	}
	s.framed(w, r, x)
}

// DiffPage frames pprof over the difference B − A.
func (s *Service) DiffPage(w http.ResponseWriter, r *http.Request) {
	x, err := s.pages.PairStacks(r, response.PathValue(r, "pair"))
	if err != nil {
		s.respond.Fail(w, r, err)
		return
	}
	s.framed(w, r, x)
}

// framed mounts the profile of one snapshot or of a pair and shows it.
func (s *Service) framed(w http.ResponseWriter, r *http.Request, x casepage.StackView) {
	q := r.URL.Query()
	kind, err := response.StackKind(q.Get("kind"), x.Snapshots)
	if err != nil {
		s.respond.Fail(w, r, err)
		return
	}
	selected := "flamegraph"
	if slices.Contains(views[:], q.Get("view")) && q.Get("view") != "download" {
		selected = q.Get("view")
	}
	last := x.Snapshots[len(x.Snapshots)-1]
	token, err := s.mounts.open(strings.Join([]string{x.State, x.Base, string(kind)}, "\x00"), func() *pprof.Profile {
		if len(x.Snapshots) == 1 {
			return profile.New(last, kind)
		}
		return profile.NewPair(x.Snapshots[0], last, kind)
	})
	if err != nil {
		s.respond.Fail(w, r, err)
		return
	}
	w.Header().Set("Content-Security-Policy", framePolicy)
	w.Header().Set("Cache-Control", "no-store")
	s.respond.Page(w, r, http.StatusOK, page.Expert(view.NewExpert(view.ExpertInput{
		Shell: x.Shell, Base: x.Base, CaseID: x.CaseID, OtherID: x.OtherID, Kind: kind, Shown: selected, Views: views[:len(views)-1],
		Frame: "/x/" + token + "/" + selected, Pair: len(x.Snapshots) == 2,
	})))
}
