package expert

import (
	"bytes"
	"container/list"
	"crypto/rand"
	"encoding/base32"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/google/pprof/driver"
	pprof "github.com/google/pprof/profile"
)

// Bounds of the mounted profiles: their number, their size, and how long an address lasts
// after the page with the frame was opened.
const (
	maxMounts     = 8
	maxMountBytes = 16 << 20
	MountedFor    = 15 * time.Minute
)

// mounts are the mounted profiles, the last used in front.
type mounts struct {
	log *slog.Logger
	now func() time.Time

	mu    sync.Mutex
	order *list.List // of *mount
	size  int

	// pprof keeps its settings in variables of its package. Mounting writes them, its
	// pages read them.
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

// open returns the token of a profile. A profile already mounted under the key is not made
// again: it gets more time.
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
			x.ends = m.now().Add(MountedFor)
			m.order.MoveToFront(e)
			return x.token
		}
	}
	return ""
}

// sweep removes expired mounts.
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

// handler returns a view of a mounted profile, or nil.
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

// mounted mounts a profile in pprof and returns its handlers.
func (m *mounts) mounted(key string, p *pprof.Profile) (*mount, error) {
	var b bytes.Buffer
	if err := p.WriteUncompressed(&b); err != nil {
		return nil, err
	}
	out := &mount{token: newToken(), key: key, ends: m.now().Add(MountedFor), size: 2 * b.Len(), handlers: map[string]http.Handler{}}
	quiet := logOnly{m.log}
	m.pprof.Lock()
	defer m.pprof.Unlock()
	err := driver.PProf(&driver.Options{
		Flagset: newArguments("-http=localhost:1", "-no_browser", "-symbolize=none", "memory"),
		Fetch:   inMemory{p}, Sym: noSymbols{}, Obj: noObjects{}, UI: quiet, Writer: noFiles{}, HTTPTransport: noNetwork{},
		HTTPServer: func(args *driver.HTTPServerArgs) error {
			for _, name := range views {
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
