package server

import (
	"bytes"
	"cmp"
	"container/list"
	"context"
	"crypto/rand"
	"encoding/base32"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/pprof/driver"
	pprof "github.com/google/pprof/profile"

	"leakdiff/analysis/say/profile"
	"leakdiff/server/casepage"
	"leakdiff/server/response"
	"leakdiff/web/page"
	"leakdiff/web/view"
)

// The expert view is the web interface of pprof itself, over a profile that is in
// memory. Its pages need inline scripts, so that they are framed in a sandbox with an
// origin of its own, under an address that ends soon. Of its handlers only those are
// reachable that read no file of a name that they are given, write none and start no program: /source reads
// any file that a profile names, /saveconfig writes into the home directory on GET,
// /graph starts graphviz.

// expertViews are the handlers of pprof that are reachable.
var expertViews = [...]string{"flamegraph", "top", "peek", "download"}

// expertPolicy lets the scripts of pprof run, in an origin of their own that reaches
// nothing.
const expertPolicy = "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"

// framePolicy is the policy of the page around it.
const framePolicy = policy + "; frame-src 'self'"

// Bounds of what is mounted at a time: profiles, their size, and how long an address
// lasts after the page that frames it was last opened.
const (
	maxMounts     = 8
	maxMountBytes = 16 << 20
	mountedFor    = 15 * time.Minute
)

// mounts are the profiles that can be looked at with pprof, the last used in front.
type mounts struct {
	log *slog.Logger
	now func() time.Time

	mu    sync.Mutex
	order *list.List // of *mount
	size  int

	// pprof keeps its settings in variables of its package: mounting writes them,
	// its pages read them.
	pprof sync.RWMutex
}

// mount is one profile under one address.
type mount struct {
	token, key string
	ends       time.Time
	size       int
	handlers   map[string]http.Handler
}

func newMounts(log *slog.Logger, now func() time.Time) *mounts {
	return &mounts{log: log, now: now, order: list.New()}
}

// open gives the token of a profile. One that is mounted under the same key is kept
// for longer instead of being made again.
func (m *mounts) open(key string, make func() *pprof.Profile) (string, error) {
	if token := m.known(key); token != "" {
		return token, nil
	}
	made, err := m.mounted(key, make())
	if err != nil {
		return "", err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sweep()
	m.order.PushFront(made)
	m.size += made.size
	for m.order.Len() > maxMounts || m.size > maxMountBytes && m.order.Len() > 1 {
		m.drop(m.order.Back())
	}
	return made.token, nil
}

func (m *mounts) known(key string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sweep()
	for e := m.order.Front(); e != nil; e = e.Next() {
		if x := e.Value.(*mount); x.key == key {
			x.ends = m.now().Add(mountedFor)
			m.order.MoveToFront(e)
			return x.token
		}
	}
	return ""
}

// sweep drops what has ended.
func (m *mounts) sweep() {
	for e := m.order.Front(); e != nil; {
		next := e.Next()
		if !m.now().Before(e.Value.(*mount).ends) {
			m.drop(e)
		}
		e = next
	}
}

func (m *mounts) drop(e *list.Element) {
	m.size -= e.Value.(*mount).size
	m.order.Remove(e)
}

// handler is a view of a mounted profile, nil where there is none.
func (m *mounts) handler(token, name string) http.Handler {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sweep()
	for e := m.order.Front(); e != nil; e = e.Next() {
		if x := e.Value.(*mount); x.token == token {
			m.order.MoveToFront(e)
			return x.handlers[name]
		}
	}
	return nil
}

// mounted gives a profile to pprof and takes its handlers.
func (m *mounts) mounted(key string, p *pprof.Profile) (*mount, error) {
	var b bytes.Buffer
	if err := p.WriteUncompressed(&b); err != nil {
		return nil, err
	}
	out := &mount{token: newToken(), key: key, ends: m.now().Add(mountedFor), size: 2 * b.Len(), handlers: map[string]http.Handler{}}
	quiet := silence{m.log}
	m.pprof.Lock()
	defer m.pprof.Unlock()
	err := driver.PProf(&driver.Options{
		Flagset: newArguments("-http=localhost:1", "-no_browser", "-symbolize=none", "memory"),
		Fetch:   inMemory{p}, Sym: noSymbols{}, Obj: noObjects{}, UI: quiet, Writer: noFiles{}, HTTPTransport: noNetwork{},
		HTTPServer: func(args *driver.HTTPServerArgs) error {
			for _, name := range expertViews {
				out.handlers[name] = args.Handlers["/"+name]
			}
			return nil
		},
	})
	return out, err
}

func newToken() string {
	random := make([]byte, 20)
	rand.Read(random)
	return strings.ToLower(base32.StdEncoding.EncodeToString(random))
}

// expert serves pprof's own pages inside of their frame. What is not on the list is not
// there, whatever pprof has under that name.
func (s *Server) expert(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", expertPolicy)
	h.Set("Cache-Control", "no-store")
	name := response.PathValue(r, "view")
	var handler http.Handler
	if slices.Contains(expertViews[:], name) {
		handler = s.mounts.handler(response.PathValue(r, "token"), name)
	}
	if handler == nil {
		h.Set("Content-Type", "text/plain; charset=utf-8")
		w.WriteHeader(http.StatusNotFound)
		io.WriteString(w, "There is no such view here: the address has ended (reload the page around it), or this view of pprof is switched off, since it would need files or programs of the server.\n")
		return
	}
	// What is written is kept until nobody else waits for the lock: a slow reader would
	// stop all mounting, and with it every other reader.
	made := &answer{header: h}
	s.mounts.pprof.RLock()
	handler.ServeHTTP(made, r)
	s.mounts.pprof.RUnlock()
	w.WriteHeader(cmp.Or(made.status, http.StatusOK))
	w.Write(made.body.Bytes())
}

// answer is what a handler wrote.
type answer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (a *answer) Header() http.Header         { return a.header }
func (a *answer) Write(b []byte) (int, error) { return a.body.Write(b) }
func (a *answer) WriteHeader(status int)      { a.status = cmp.Or(a.status, status) }

// snapshotExpert frames pprof over one snapshot.
func (s *Server) snapshotExpert(w http.ResponseWriter, r *http.Request) {
	x, err := s.cases.SnapshotStacks(r, response.PathValue(r, "id"))
	if err != nil {
		s.respond.Fail(w, r, err)
		return
	}
	s.expertPage(w, r, x)
}

// diffExpert frames pprof over B less A.
func (s *Server) diffExpert(w http.ResponseWriter, r *http.Request) {
	x, err := s.cases.PairStacks(r, response.PathValue(r, "pair"))
	if err != nil {
		s.respond.Fail(w, r, err)
		return
	}
	s.expertPage(w, r, x)
}

// expertPage mounts the profile of one snapshot or of a pair and shows it.
func (s *Server) expertPage(w http.ResponseWriter, r *http.Request, x casepage.StackView) {
	q := r.URL.Query()
	kind, err := response.StackKind(q.Get("kind"), x.Snapshots)
	if err != nil {
		s.respond.Fail(w, r, err)
		return
	}
	shown := "flamegraph"
	if slices.Contains(expertViews[:], q.Get("view")) && q.Get("view") != "download" {
		shown = q.Get("view")
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
		Shell: x.Shell, Base: x.Base, CaseID: x.CaseID, OtherID: x.OtherID, Kind: kind, Shown: shown, Views: expertViews[:len(expertViews)-1],
		Frame: "/x/" + token + "/" + shown, Pair: len(x.Snapshots) == 2,
	})))
}

// inMemory is the one profile that there is, whatever is asked for. It names no
// source, so that pprof keeps no copy in the home directory.
type inMemory struct{ p *pprof.Profile }

func (f inMemory) Fetch(string, time.Duration, time.Duration) (*pprof.Profile, string, error) {
	return f.p, "", nil
}

// noSymbols leaves the names as they are.
type noSymbols struct{}

func (noSymbols) Symbolize(string, driver.MappingSources, *pprof.Profile) error { return nil }

var errSwitchedOff = errors.New("switched off")

// noObjects opens no binary; without it pprof would bring its own.
type noObjects struct{}

func (noObjects) Open(string, uint64, uint64, uint64, string) (driver.ObjFile, error) {
	return nil, errSwitchedOff
}

func (noObjects) Disasm(string, uint64, uint64, bool) ([]driver.Inst, error) {
	return nil, errSwitchedOff
}

// noFiles writes nothing.
type noFiles struct{}

func (noFiles) Open(string) (io.WriteCloser, error) { return nil, errSwitchedOff }

// noNetwork asks nobody.
type noNetwork struct{}

func (noNetwork) RoundTrip(*http.Request) (*http.Response, error) { return nil, errSwitchedOff }

// silence takes what pprof has to say to a terminal.
type silence struct{ log *slog.Logger }

func (silence) ReadLine(string) (string, error)     { return "", io.EOF }
func (silence) Print(...any)                        {}
func (silence) IsTerminal() bool                    { return false }
func (silence) WantBrowser() bool                   { return false }
func (silence) SetAutoComplete(func(string) string) {}
func (s silence) PrintErr(args ...any) {
	if s.log.Enabled(context.Background(), slog.LevelDebug) {
		s.log.Debug("pprof", "said", fmt.Sprint(args...))
	}
}

// arguments are a command line that pprof reads instead of that of the server.
type arguments struct {
	*flag.FlagSet
	args []string
}

func newArguments(args ...string) *arguments {
	set := flag.NewFlagSet("pprof", flag.ContinueOnError)
	set.SetOutput(io.Discard)
	return &arguments{set, args}
}

// StringList defines a flag that may be given several times.
func (a *arguments) StringList(name, value, usage string) *[]*string {
	first := a.String(name, value, usage)
	return &[]*string{first}
}

func (a *arguments) ExtraUsage() string   { return "" }
func (a *arguments) AddExtraUsage(string) {}

func (a *arguments) Parse(usage func()) []string {
	if err := a.FlagSet.Parse(a.args); err != nil {
		return nil
	}
	return a.Args()
}
