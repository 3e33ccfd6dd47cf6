package main

import (
	"archive/tar"
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/read/bundle"
	"leakdiff/analysis/say/wording"
	"leakdiff/cmd/leakdiff/capture"
)

type pushCommand struct {
	Server string   `required:"" help:"Address of the server, http://HOST:PORT, with its path where it has one."`
	Paths  []string `arg:"" name:"path" help:"Files, directories and archives; - reads standard input."`
	Case   string   `help:"Add to this case instead of making one."`
	Key    string   `help:"Owner key of the case; better given as LEAKDIFF_KEY."`
	Token  string   `help:"API token of a server with accounts; better given as LEAKDIFF_TOKEN."`
	Share  bool     `help:"Freeze the result, redacted and for 90 days, and print that link."`
	Title  string   `help:"Title of the case, for example the number of the ticket."`

	// attempt is the Idempotency-Key of the upload, "" for a new one.
	attempt string
}

// Help stands below the flags in the help of the command.
func (*pushCommand) Help() string {
	return `Exit status: 0 done, 2 error, or no evidence was found in what was sent.

Examples:
  leakdiff push --server http://127.0.0.1:8080 captures/
  LEAKDIFF_KEY=... leakdiff push --server http://127.0.0.1:8080 --case c123 later.tgz`
}

// pushed is the answer to an upload, as far as push needs it.
type pushed struct {
	ID        string `json:"id"`
	Link      string `json:"link"`
	Case      string `json:"case"`
	OwnerKey  string `json:"owner_key"`
	Status    string `json:"status"`
	Problems  int    `json:"problems"`
	Error     string `json:"error"`
	Snapshots []any  `json:"snapshots"`
}

func (c *pushCommand) Run(ctx context.Context, m *Main) error {
	var err error
	if c.Server, err = serverAddress(c.Server); err != nil {
		return err
	}
	inputs, err := inputsOf(m, c.Paths)
	if err != nil {
		return err
	}
	bar := m.progress("sending", "sent, the server reads it", inputs)
	up, err := c.upload(ctx, inputs)
	bar.end()
	if err != nil {
		return err
	}
	// The key comes only once, so print it before anything else can fail.
	if up.OwnerKey != "" {
		c.Key = up.OwnerKey
		fmt.Fprintln(m.Stderr, "owner key of the case, shown only now:", up.OwnerKey)
	}
	if up, err = c.settled(ctx, up); err != nil {
		return err
	}
	if up.Status != "done" {
		return &analysis.Fault{Code: "unreadable", What: "the upload is stored, but was not read to its end", Where: capture.Shown(c.Server) + up.Link, Why: strings.TrimSpace(up.Status + " " + up.Error), Hint: "open the link; the page says what happened to each file"}
	}
	read := c.inventory(ctx, up.ID)
	empty := len(up.Snapshots) == 0 && read.empty()
	if !empty {
		fmt.Fprintln(m.Stderr, wording.Printable(wording.DumpsRead(len(up.Snapshots), read.Problems)))
	}
	if c.Title != "" {
		if err := c.remote().call(ctx, http.MethodPatch, "/api/v1/cases/"+url.PathEscape(up.Case), map[string]any{"title": c.Title}, nil); err != nil {
			return err
		}
	}
	link := up.Link
	if c.Share {
		var frozen struct{ Link string }
		if err := c.remote().call(ctx, http.MethodPost, "/api/v1/permalinks", map[string]any{"case": up.Case, "view": up.Link, "redact": true, "keep": "90d", "preview": "counts"}, &frozen); err != nil {
			return err
		}
		link = frozen.Link
	}
	fmt.Fprintln(m.Stdout, capture.Shown(c.Server)+link)
	if empty {
		return nothingRead(wording.Printable(strings.TrimSuffix(wording.NothingRead(read.Problems), ".")), "the link says what each file is")
	}
	return nil
}

// inventory is what was made of an upload, as far as push needs it.
type inventory struct {
	Artifacts []struct{ Members, Watches int }
	Problems  []analysis.Problem
	known     bool
}

func (c *pushCommand) inventory(ctx context.Context, bundle string) (read inventory) {
	read.known = c.remote().call(ctx, http.MethodGet, "/api/v1/bundles/"+url.PathEscape(bundle)+"/inventory", nil, &read) == nil
	return read
}

// empty reports that no file holds evidence. Evidence that the case had already makes no
// snapshot of its own.
func (i inventory) empty() bool {
	for _, a := range i.Artifacts {
		if a.Members > 0 || a.Watches > 0 {
			return false
		}
	}
	return i.known
}

// upload sends a single file as it is, so that its bytes keep their hash. It sends
// everything else as a tar archive that is made on the way.
func (c *pushCommand) upload(ctx context.Context, inputs []bundle.Input) (pushed, error) {
	name, size := "upload.tar", int64(-1)
	var body io.ReadCloser
	query := url.Values{"wait": {"1"}}
	if len(inputs) == 1 && !directory(c.Paths[0]) {
		name, size = filepath.Base(inputs[0].Name), inputs[0].Size
		var err error
		if body, err = inputs[0].Open(); err != nil {
			return pushed{}, unreadable(inputs[0].Name, err)
		}
		if info, err := os.Stat(c.Paths[0]); err == nil {
			query.Set("modified", info.ModTime().UTC().Format(time.RFC3339Nano))
		}
		if size == 0 {
			size = -1 // files of /proc state 0 whatever they hold
		}
	} else {
		r, w := io.Pipe()
		go func() { w.CloseWithError(pack(w, inputs)) }()
		body = r
	}
	defer body.Close()
	if c.Case != "" {
		query.Set("case", c.Case)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, c.Server+"/api/v1/bundles/"+url.PathEscape(name)+"?"+query.Encode(), body)
	if err != nil {
		return pushed{}, err
	}
	req.ContentLength = size
	req.Header.Set("Content-Type", "application/octet-stream")
	req.Header.Set("Idempotency-Key", cmp.Or(c.attempt, rand.Text()))
	var out pushed
	err = c.remote().send(req, &out)
	return out, err
}

func directory(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// pack writes the inputs as a tar archive. It reads an input of size 0 first, which may be
// a file of /proc.
func pack(w io.Writer, inputs []bundle.Input) error {
	archive := tar.NewWriter(w)
	for _, in := range inputs {
		if err := packOne(archive, in); err != nil {
			return unreadable(in.Name, err)
		}
	}
	return archive.Close()
}

func packOne(archive *tar.Writer, in bundle.Input) error {
	body, err := in.Open()
	if err != nil {
		return err
	}
	defer body.Close()
	size, from := in.Size, io.Reader(body)
	if size <= 0 {
		spool, err := os.CreateTemp("", "leakdiff-push")
		if err != nil {
			return err
		}
		defer os.Remove(spool.Name())
		defer spool.Close()
		if size, err = io.Copy(spool, body); err != nil {
			return err
		}
		if _, err := spool.Seek(0, io.SeekStart); err != nil {
			return err
		}
		from = spool
	}
	modified := in.ModTime
	if modified.IsZero() {
		modified = time.Unix(0, 0)
	}
	if err := archive.WriteHeader(&tar.Header{Name: in.Name, Mode: 0o600, Size: size, ModTime: modified, Format: tar.FormatPAX}); err != nil {
		return err
	}
	// A file that grows meanwhile is sent up to the size that it had.
	n, err := io.Copy(archive, io.LimitReader(from, size))
	if err == nil && n < size {
		err = fmt.Errorf("it became shorter while it was read: %d of %d bytes", n, size)
	}
	return err
}

func unreadable(name string, err error) error {
	return &analysis.Fault{Code: "unreadable", What: "cannot be read", Where: name, Why: err.Error(), Hint: "check that you may read it and send again: nothing was kept", Err: err}
}

// settled polls until the bundle is no longer queued or being read.
func (c *pushCommand) settled(ctx context.Context, up pushed) (pushed, error) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for up.Status == "queued" || up.Status == "running" {
		select {
		case <-ctx.Done():
			return up, ctx.Err()
		case <-tick.C:
		}
		var next pushed
		if err := c.remote().call(ctx, http.MethodGet, "/api/v1/bundles/"+url.PathEscape(up.ID), nil, &next); err != nil {
			return up, err
		}
		up = next
	}
	return up, nil
}

func (c *pushCommand) remote() remote { return remote{c.Server, c.Key, c.Token} }
