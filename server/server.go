// Package server is the web application. It lists every URL, checks each request, and
// wires the rooms that answer. A room is a package below: intake takes uploads, casepage
// shows cases, share freezes results, page shows the rest, api lists
// for programs, mcp answers agents. Each room declares small interfaces for what it needs.
package server

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/read/bundle"
	"leakdiff/analysis/read/ingest"
	"leakdiff/analysis/say/source"
	"leakdiff/analysis/say/wording"
	"leakdiff/server/access"
	"leakdiff/server/account"
	"leakdiff/server/alert"
	"leakdiff/server/api"
	"leakdiff/server/casepage"
	"leakdiff/server/catalogue"
	"leakdiff/server/intake"
	"leakdiff/server/loader"
	"leakdiff/server/memory"
	pages "leakdiff/server/page"
	"leakdiff/server/response"
	"leakdiff/server/share"
	"leakdiff/store"
	"leakdiff/web/page"
	"leakdiff/web/view"
)

// Config configures a server. The zero value of a limit means its default.
type Config struct {
	Store Storage
	Blobs Blobs
	// Bucket is where Blobs are, nil for the data directory.
	Bucket Pinger
	Log    *slog.Logger
	Now    func() time.Time
	// Version is printed in the footer and in reports.
	Version string
	// Program identifies this build: a report that another build stored is not used. If
	// it is nil or returns "", no stored report is used.
	Program func() string
	// Listen is the address of the server. Hosts are further names that a request may ask
	// for.
	Listen string
	Hosts  []string
	// Access is who may use the server.
	Access access.Policy
	// TLS says that the server itself speaks https.
	TLS bool
	// BaseURL is the address of the server behind a proxy, for links to paste. If it is
	// empty, links use the host of the request.
	BaseURL string
	// TempDir holds spooled archives while they are read.
	TempDir string
	// UploadLimit is in bytes, default 2 GB.
	UploadLimit int64
	// NoObjects leaves the goroutines of dumps apart.
	NoObjects bool
	Budget    bundle.Budget
	Samples   []Sample
	// Knowledge holds own files of the catalogue, *.json, nil for none. KnowledgeDir is
	// their directory.
	Knowledge    fs.FS
	KnowledgeDir string
	// Source has the reader's source, of which live pages show what starts goroutines. It is
	// nil for none.
	Source *source.Tree
	// Script is the content of /collect.sh, which captures a process where no program may
	// be copied. Without it there is no such page.
	Script []byte
	// Outgoing are those to whom the store makes requests over the network, in words: "its
	// database".
	Outgoing []string
	// Alert has the webhook that is told when a family leaks on many hosts, its number of
	// hosts and its times. Without a URL there are no alerts.
	Alert alert.Config
	// Keep is for how many days members and uploads are kept, unless a case says otherwise.
	Keep store.Retention
	// Readers is how many bundles are read at once, besides a small one; 1 for 0.
	Readers int
	// Memory admits what is read and judged; the nil Gate does so always.
	Memory *memory.Gate
	// uploadSlots is how many uploads are stored at once, 0 for the default.
	uploadSlots int
}

// Blobs are the raw bytes of uploads.
type Blobs interface {
	intake.Blobs
	// Damaged is the number of uploads that were set aside as damaged and not put back.
	Damaged() (int, error)
	Answers() error
}

// Pinger reports whether a service answers.
type Pinger interface {
	Ping(ctx context.Context) error
}

// Sample is a bundle that comes with the program.
type Sample = intake.Sample

// DefaultUploadLimit is the size of one upload in bytes.
const DefaultUploadLimit = 2_000_000_000

type Server struct {
	cfg     Config
	counts  *counts
	handler http.Handler
	// known are the first parts of all paths.
	known   map[string]bool
	pending sync.WaitGroup

	// Shared by the rooms.
	respond   *response.Responder
	access    *access.Access
	catalogue *catalogue.Catalogue
	loader    *loader.Loader
	queue     *intake.Queue
	worker    *intake.Worker
	// alerts is nil without a webhook.
	alerts *alert.Alerts

	stop    intake.Stop
	intake  *intake.Service
	cases   *casepage.Service
	share   *share.Service
	pages   *pages.Service
	api     *api.Service
	account *account.Service
}

// New makes a server. Start begins to work off ingest jobs.
func New(cfg Config) *Server {
	if cfg.UploadLimit == 0 {
		cfg.UploadLimit = DefaultUploadLimit
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.TempDir == "" {
		cfg.TempDir = os.TempDir()
	}
	var rows catalogue.Rows
	if cfg.Store.Shared() {
		rows = cfg.Store
	}
	counts := newCounts()
	s := &Server{
		cfg:       cfg,
		counts:    counts,
		respond:   response.New(response.Config{Log: cfg.Log, Version: cfg.Version, BaseURL: cfg.BaseURL, TLS: cfg.TLS, Refused: counts.refused}),
		access:    access.New(access.Config{Policy: cfg.Access, Owners: cfg.Store, Accounts: cfg.Store.Accounts(), Listen: cfg.Listen, Now: cfg.Now, Log: cfg.Log}),
		catalogue: catalogue.New(catalogue.Config{Log: cfg.Log, Files: cfg.Knowledge, Dir: cfg.KnowledgeDir, Rows: rows}),
		queue:     intake.NewQueue(cfg.Store),
	}
	s.loader = loader.New(loader.Config{
		Store: cfg.Store, Knowledge: s.catalogue, Version: cfg.Version, Program: cfg.Program, Later: s.queue.Later, Log: cfg.Log, Gate: cfg.Memory,
	})
	if of := cfg.Alert; of.URL != nil {
		of.Store, of.Log, of.Now, of.BaseURL, of.Version, of.Sent = cfg.Store, cfg.Log, cfg.Now, cfg.BaseURL, cfg.Version, counts.alertSent
		s.alerts = alert.New(of)
	}
	s.openRooms()
	routes := s.routes()
	s.known = firstParts(routes)
	s.handler = s.underPath(s.guard(compressed(head(s.withAddress(routes)))))
	return s
}

func (s *Server) openRooms() {
	cfg := s.cfg
	watched := &observed{Storage: cfg.Store, counts: s.counts, now: cfg.Now, claimed: map[string]time.Time{}}
	raw := intake.RawBytes{Blobs: cfg.Blobs, Unpack: bundle.Config{Budget: cfg.Budget, TempDir: cfg.TempDir, Now: cfg.Now}}
	s.cases = casepage.New(casepage.Config{
		Store: cfg.Store, Log: cfg.Log, Now: cfg.Now, Respond: s.respond, Access: s.access, Catalogue: s.catalogue, Loader: s.loader,
		Queue: s.queue, Raw: raw, Source: cfg.Source, Keep: cfg.Keep, Changed: s.alerts.Notify,
	})
	s.worker = intake.NewWorker(intake.WorkerConfig{
		Queue: s.queue, Store: watched, Raw: raw, Log: cfg.Log, Respond: s.respond, Summaries: s.cases,
		Ingest: ingest.Config{Bundle: raw.Unpack, Now: cfg.Now, Packed: true, Objects: !cfg.NoObjects}, Readers: cfg.Readers, Gate: cfg.Memory,
	})
	s.intake = intake.New(intake.Config{
		Store: watched, Blobs: cfg.Blobs, Log: cfg.Log, Respond: s.respond, Access: s.access, Cases: s.loader, Processes: s.cases, Summaries: s.cases, Raw: raw,
		Queue: s.queue, Worker: s.worker, UploadLimit: cfg.UploadLimit, Slots: cfg.uploadSlots, Samples: cfg.Samples,
	})
	s.share = share.New(share.Config{
		Store: cfg.Store, Log: cfg.Log, Now: cfg.Now, Respond: s.respond, Access: s.access, Pages: s.cases, Queue: s.queue, SignIn: s.signIn, BaseURL: cfg.BaseURL,
	})
	s.pages = pages.New(pages.Config{
		Store: cfg.Store, Accounts: cfg.Store.Accounts(), Volume: cfg.Blobs, Respond: s.respond, Access: s.access, Catalogue: s.catalogue, UploadLimit: cfg.UploadLimit,
		Reserved: intake.Spare, Budget: cfg.Budget, Samples: sampleViews(cfg.Samples), KnowledgeDir: cfg.KnowledgeDir, Script: cfg.Script, Now: cfg.Now, Keep: cfg.Keep,
	})
	s.api = api.New(api.Config{Store: cfg.Store, Pages: s.pages, Keep: cfg.Keep, Respond: s.respond, Sender: s.access.SenderKey, BaseURL: cfg.BaseURL, Now: cfg.Now})
	s.account = account.New(account.Config{Respond: s.respond, Access: s.access})
}

// sampleViews returns the samples as the start page shows them.
func sampleViews(samples []Sample) []view.Sample {
	var out []view.Sample
	for _, x := range samples {
		out = append(out, view.Sample{ID: x.Name, Name: x.Title, Text: x.Text, Size: wording.Bytes(int64(len(x.Data)))})
	}
	return out
}

// Scheme is http, or https where the server itself speaks it.
func (s *Server) Scheme() string { return s.respond.Scheme() }

func (s *Server) Handler() http.Handler { return s.handler }

// Start works off ingest jobs until ctx ends. Jobs interrupted by a crash come first.
func (s *Server) Start(ctx context.Context) {
	s.pending.Go(func() { s.worker.Run(ctx) })
	s.pending.Go(func() { s.sweep(ctx) })
	s.pending.Go(func() { s.reapDeleted(ctx) })
	s.pending.Go(func() { s.retain(ctx) })
	if s.alerts != nil {
		s.pending.Go(func() { s.alerts.Run(ctx) })
	}
}

// reapPatience is how long a deletion waits for an idle worker, which deletes the words
// that only it used between uploads.
const reapPatience = 20 * time.Second

// reapDeleted deletes what a deletion left to the idle worker, if no worker is idle.
func (s *Server) reapDeleted(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.cfg.Store.Deleted():
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(reapPatience):
		}
		for more := true; more && ctx.Err() == nil; {
			if deleted, reaped := s.cfg.Store.Deletions(); deleted == reaped {
				break
			}
			var err error
			if more, err = s.cfg.Store.Reap(ctx); err != nil && ctx.Err() == nil {
				s.cfg.Log.Warn("forgetting what was deleted is put off", "error", err)
			}
		}
	}
}

// LoadSamples makes a case of each sample if the store never held them.
func (s *Server) LoadSamples(ctx context.Context) error { return s.intake.LoadSamples(ctx) }

// sweep deletes expired permalinks, stored answers and old entries of the audit log, every
// hour.
func (s *Server) sweep(ctx context.Context) {
	tick := time.NewTicker(time.Hour)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if err := errors.Join(s.cfg.Store.Sweep(ctx), s.cfg.Store.Accounts().TrimAudit(ctx)); err != nil && ctx.Err() == nil {
				s.cfg.Log.Error("sweeping failed", "error", err)
			}
		}
	}
}

// retain drops what policies of retention keep no longer, every hour.
func (s *Server) retain(ctx context.Context) {
	tick := time.NewTicker(time.Hour)
	defer tick.Stop()
	for {
		done, err := s.cfg.Store.Retain(ctx, s.cfg.Keep)
		var elsewhere *analysis.Fault
		if isElsewhere := errors.As(err, &elsewhere) && elsewhere.Code == store.RetainedElsewhere; err != nil && !isElsewhere && ctx.Err() == nil {
			s.cfg.Log.Error("dropping what is no longer kept is put off", "error", err)
		}
		if all := store.TotalOf(done); len(done) > 0 {
			s.cfg.Log.Info("dropped by the policy of retention", "snapshots", all.Snapshots, "member_bytes", all.MemberBytes, "bundles", all.Bundles, "upload_bytes", all.UploadBytes)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// EndUploads answers the uploads in flight: what has arrived is recorded, the rest refused.
func (s *Server) EndUploads() { s.stop.End() }

// Wait returns when the worker has stopped.
func (s *Server) Wait() { s.pending.Wait() }

// outgoing are those to whom the server makes requests of its own, in words.
func (s *Server) outgoing() []string {
	if s.alerts == nil {
		return s.cfg.Outgoing
	}
	return append(slices.Clip(s.cfg.Outgoing), wording.AlertsWebhook)
}

// withAddress passes pages their own address. The answer to a form has no address to return
// to.
func (s *Server) withAddress(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet || r.Method == http.MethodHead {
			r = r.WithContext(page.At(r.Context(), s.respond.Base(r)+r.URL.RequestURI()))
		}
		next.ServeHTTP(w, r)
	})
}
