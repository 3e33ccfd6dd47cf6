package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/say/wording"
	"leakdiff/cmd/leakdiff/capture"
	"leakdiff/samples"
	"leakdiff/server"
	"leakdiff/server/alert"
	"leakdiff/server/memory"
	"leakdiff/store"
)

type serveCommand struct {
	Listen      string `help:"Address to listen on." default:"127.0.0.1:8080"`
	Data        string `help:"Directory for the database and the uploads; made if it does not exist." default:"leakdiff-data" type:"path"`
	Database    string `help:"PostgreSQL database in place of a file in the data directory: postgres://user@host/name. PGPASSWORD or ~/.pgpass may have the password. One server at a time has it open and keeps the uploads in its data directory; with --blobs several share it, each with a data directory of its own." placeholder:"URL"`
	Blobs       string `help:"Bucket for the uploads in place of the data directory: s3://bucket/prefix?endpoint=https://host&region=R&style=path. AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, ~/.aws or a role of the machine have the credentials." placeholder:"URL"`
	accessFlags `group:"Access:"`
	Knowledge   string   `help:"Directory with own knowledge files, *.json; by default knowledge in the data directory." type:"path"`
	Source      []string `help:"A module cache or a checkout: pages show of its Go files the lines that start goroutines. Repeatable. Whoever can upload can read lines of any Go file below it." placeholder:"DIR"`
	Host        []string `help:"Further host names that requests may ask for."`
	BaseURL     string   `help:"Address under which people reach the server; its host name is allowed." name:"base-url"`
	AlertURL    string   `help:"Webhook that is told when a family leaks on more than --alert-hosts hosts, and when that ends. It may hold a secret: better given as LEAKDIFF_ALERT_URL." name:"alert-url" placeholder:"URL"`
	AlertTmpl   string   `help:"File of text/template that writes the body of a delivery from its usual fields: for chats, tickets and pagers, see docs/monitoring." name:"alert-template" type:"path" placeholder:"FILE"`
	AlertHosts  int      `help:"More hosts than these with a leak of one family are an alert; it ends at half of them." default:"1" placeholder:"N"`
	keepFlags
	UploadLimit string `help:"Size of one upload." default:"2GB"`
	Memory      string `help:"Memory that the server stays within. More of it reads more bundles at once." default:"256MiB"`
	NewDatabase bool   `help:"Begin with an empty database beside uploads whose database is lost; they are kept. Give it once, not always." name:"new-database"`
	NoSamples   bool   `help:"Do not load the sample cases."`
	NoObjects   bool   `help:"Do not join goroutines to objects: a dump of a million takes a third less memory."`
	Verbose     bool   `help:"Log every request." short:"v"`
}

// Help stands below the flags in the help of the command.
func (*serveCommand) Help() string {
	return `Examples:
  leakdiff serve --listen 127.0.0.1:8080 --data /var/lib/leakdiff
  leakdiff serve --listen :8443 --access password --password-file passwords --tls-cert cert.pem --tls-key key.pem --host leaks.example.org
  leakdiff serve --access proxy --trusted-proxy 127.0.0.1 --role alice=admin --base-url https://leaks.example.org
  leakdiff serve --listen :8080 --access open --host leaks.example.org
  leakdiff serve --blobs 's3://leakdiff/uploads?endpoint=https://minio.example.org&style=path'
  leakdiff serve --source ~/go/pkg/mod --source ~/src/app`
}

// servePercent is by how much the heap may grow before it is collected. With the program's
// own pages the process stays under 64 MiB while it reads a dump of a million goroutines.
const servePercent = 25

func (c *serveCommand) Run(ctx context.Context, m *Main) error {
	// Only serve ends in order. A report that waits for a pipe is killed.
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	limit, err := bytesOf(c.UploadLimit)
	if err != nil {
		return err
	}
	most, err := bytesOf(c.Memory)
	if err != nil {
		return err
	}
	collectAt(servePercent)
	limitMemory(most)
	gate := memory.New(most)
	level := slog.LevelInfo
	if c.Verbose {
		level = slog.LevelDebug
	}
	log := slog.New(server.NewOutages(slog.NewTextHandler(m.Stderr, &slog.HandlerOptions{Level: level})))
	keep, err := c.retention()
	if err != nil {
		return err
	}
	template, err := c.template()
	if err != nil {
		return err
	}
	webhook, err := c.webhook()
	if err != nil {
		return err
	}
	policy, err := c.policy(m, c.Listen, c.BaseURL, log)
	if err != nil {
		return err
	}
	st, err := openPatiently(ctx, log, store.Config{Dir: c.Data, Log: log, NewDatabase: c.NewDatabase, Database: c.Database, Blobs: c.Blobs})
	if err != nil {
		return err
	}
	defer st.Close()
	spool := filepath.Join(c.Data, "spool")
	if err := emptyDir(spool); err != nil {
		return err
	}
	roots, err := openSources(c.Source)
	if err != nil {
		return err
	}
	defer roots.close()
	listener, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return &analysis.Fault{Code: "busy", What: "cannot listen", Where: c.Listen, Why: err.Error(), Hint: "stop the other program or choose another address with --listen", Err: err}
	}
	address := listener.Addr().String()
	if listener, err = c.https(listener, log); err != nil {
		return err
	}
	hosts := c.Host
	if c.BaseURL != "" {
		hosts = append(hosts, c.BaseURL)
	}
	cfg := server.Config{
		Store: st, Blobs: st.Blobs(), Log: log, Version: version, Program: program, Listen: address, Hosts: hosts, BaseURL: c.BaseURL, Access: policy, TLS: c.TLSCert != "",
		TempDir: spool, UploadLimit: limit, Memory: gate, Readers: min(runtime.GOMAXPROCS(0), gate.Readings()), NoObjects: c.NoObjects, Script: capture.Script(),
		KnowledgeDir: c.Knowledge, Source: roots.tree(),
		Alert: alert.Config{URL: webhook, Template: template, Hosts: c.AlertHosts}, Keep: keep,
	}
	if c.Database != "" {
		cfg.Outgoing = append(cfg.Outgoing, wording.ItsDatabase)
	}
	if bucket := st.Blobs().Bucket(); bucket != nil {
		cfg.Bucket, cfg.Outgoing = bucket, append(cfg.Outgoing, wording.ItsBucket)
	}
	if cfg.KnowledgeDir == "" {
		cfg.KnowledgeDir = filepath.Join(c.Data, "knowledge")
	}
	cfg.Knowledge = os.DirFS(cfg.KnowledgeDir)
	if !c.NoSamples {
		if cfg.Samples, err = loadSamples(); err != nil {
			return err
		}
	}
	return c.serve(ctx, m, listener, server.New(cfg))
}

// lockPatience is the time that a server waits for a data directory in use: check and retention have
// it for some seconds, and a server before it while it ends.
const lockPatience = 10 * time.Second

// openPatiently opens the store of a server.
func openPatiently(ctx context.Context, log *slog.Logger, cfg store.Config) (*store.Store, error) {
	for began := time.Now(); ; {
		st, err := store.Open(ctx, cfg)
		var f *analysis.Fault
		if !errors.As(err, &f) || f.Code != "locked" || time.Since(began) > lockPatience {
			return st, err
		}
		log.Warn("the data directory is in use, waiting for it", "why", f.Why, "at_most", lockPatience)
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(time.Second):
		}
	}
}

// webhook is nil without alerts.
func (c *serveCommand) webhook() (*url.URL, error) {
	if c.AlertHosts < 0 {
		return nil, &analysis.Fault{Code: "usage", What: "a number of hosts is not negative", Where: "--alert-hosts", Hint: "give 0 to be told of the first host"}
	}
	if c.AlertURL == "" {
		return nil, nil
	}
	return alert.Address(c.AlertURL)
}

// template is nil for the usual deliveries.
func (c *serveCommand) template() (*alert.Template, error) {
	switch {
	case c.AlertTmpl == "":
		return nil, nil
	case c.AlertURL == "":
		return nil, &analysis.Fault{Code: "usage", What: "a template of alerts needs a webhook", Where: "--alert-template", Hint: "give --alert-url, or LEAKDIFF_ALERT_URL"}
	}
	return alert.ReadTemplate(c.AlertTmpl)
}

// uploadGrace is how long uploads may arrive after a signal to stop.
const uploadGrace = 5 * time.Second

func (c *serveCommand) serve(ctx context.Context, m *Main, listener net.Listener, s *server.Server) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := s.LoadSamples(ctx); err != nil {
		return err
	}
	s.Start(ctx)
	go program() // hash the program before the first page needs it
	address := listener.Addr().String()
	fmt.Fprintf(m.Stdout, "leakdiff %s listens on %s://%s/\n", version, s.Scheme(), address)
	if m.Ready != nil {
		m.Ready(address)
	}
	h := &http.Server{Handler: s.Handler(), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10}
	failed := make(chan error, 1)
	go func() { failed <- h.Serve(listener) }()
	select {
	case err := <-failed:
		if !errors.Is(err, http.ErrServerClosed) {
			return err
		}
	case <-ctx.Done():
		// Streams of progress end with their requests. Uploads get a moment to arrive, and
		// those that have not arrived then another one to be answered.
		grace, stop := context.WithTimeout(context.WithoutCancel(ctx), 2*uploadGrace)
		defer stop()
		end := time.AfterFunc(uploadGrace, s.EndUploads)
		defer end.Stop()
		if err := h.Shutdown(grace); err != nil {
			h.Close()
		}
	}
	cancel()
	s.Wait()
	return nil
}

func loadSamples() ([]server.Sample, error) {
	all, err := samples.All()
	if err != nil {
		return nil, err
	}
	var out []server.Sample
	for _, s := range all {
		out = append(out, server.Sample{Name: s.Name, Title: s.Found.Title, Text: s.Found.Text, Data: s.Archive})
	}
	return out, nil
}

// limitMemory has the collector work harder near the limit. The rest is for what it does not
// count: the program itself and the pages of files that the kernel maps.
func limitMemory(most int64) {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(most - most/6)
	}
}

// emptyDir makes a directory for spooled archives, or empties it after a crash. It does
// not remove the directory, which could not be made again on a full volume.
func emptyDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	left, err := os.ReadDir(dir)
	for _, e := range left {
		err = errors.Join(err, os.RemoveAll(filepath.Join(dir, e.Name())))
	}
	return err
}

// bytesOf reads "2GiB", "500 MB" or a plain number of bytes.
func bytesOf(text string) (int64, error) {
	units := []struct {
		word string
		n    int64
	}{{"KIB", 1 << 10}, {"MIB", 1 << 20}, {"GIB", 1 << 30}, {"TIB", 1 << 40}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"B", 1}, {"", 1}}
	upper := strings.ToUpper(strings.ReplaceAll(text, " ", ""))
	for _, u := range units {
		digits, ok := strings.CutSuffix(upper, u.word)
		if !ok {
			continue
		}
		var n int64
		if _, err := fmt.Sscanf(digits+"|", "%d|", &n); err == nil && n > 0 && n <= (1<<62)/u.n {
			return n * u.n, nil
		}
	}
	return 0, &analysis.Fault{Code: "bad_request", What: "the size was not understood", Where: text, Hint: "write it like 2GiB or 500MB"}
}
