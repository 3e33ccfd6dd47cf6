// Package catalogue holds the known leaks and stacks of this server: those that come with
// the program, and own files. It knows no case.
package catalogue

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"strings"
	"sync"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/knowledge"
	"leakdiff/analysis/say/report"
)

// Config names the own files.
type Config struct {
	Log *slog.Logger
	// Files holds own files of the catalogue, *.json, nil for none. Dir is their
	// directory, in which entries made on pages are stored, too.
	Files fs.FS
	Dir   string
	// Rows are where entries made on pages are stored in place of Dir, for all servers of one
	// database; nil for one server.
	Rows Rows
}

// Rows are settings in the database.
type Rows interface {
	Setting(ctx context.Context, name string) (value string, set bool, err error)
	ChangeSetting(ctx context.Context, name string, change func(value string) (string, error)) error
}

// Catalogue is the catalogue with the own files of this server. It is read again when one
// of them changes.
type Catalogue struct {
	log   *slog.Logger
	files fs.FS
	// dir is where own entries are stored, "" for nowhere.
	dir  string
	rows Rows

	mu sync.Mutex
	// entered are the entries in rows, as they were at a time.
	entered  string
	asked    time.Time
	state    string
	known    *knowledge.Catalogue
	problems []analysis.Problem

	// remembering is locked while own entries are written.
	remembering sync.Mutex
}

func New(cfg Config) *Catalogue {
	return &Catalogue{log: cfg.Log, files: cfg.Files, dir: cfg.Dir, rows: cfg.Rows}
}

// Current returns the catalogue of the files as they are now, with problems in them.
func (k *Catalogue) Current() (*knowledge.Catalogue, []analysis.Problem) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.ask()
	state := k.stamp() + k.entered
	if k.known != nil && k.state == state {
		return k.known, k.problems
	}
	k.state = state
	k.known, k.problems = knowledge.Builtin(), nil
	var files []knowledge.File
	var problems []analysis.Problem
	if k.files != nil {
		files, problems = knowledge.Overlays(k.files)
	}
	if k.entered != "" {
		files = append(files, knowledge.File{Name: InRows, Text: []byte(k.entered)})
	}
	if len(files) > 0 {
		var more []analysis.Problem
		k.known, more = knowledge.New(files...)
		problems = append(problems, more...)
	}
	_, wrong := report.NounsOf(k.known)
	problems = append(problems, wrong...)
	k.problems = problems
	for _, p := range problems {
		k.log.Warn("a knowledge file was not understood", "file", p.Path, "line", p.Line, "what", p.What, "why", p.Why)
	}
	return k.known, k.problems
}

const (
	// askEvery is how long entries that were made on another server may not be seen.
	askEvery = 2 * time.Second
	// askTime bounds the question for them; without an answer they count as they were.
	askTime = 5 * time.Second
)

// ask reads the entries in rows. k.mu is locked.
func (k *Catalogue) ask() {
	if k.rows == nil || time.Since(k.asked) < askEvery {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), askTime)
	defer cancel()
	entered, _, err := k.rows.Setting(ctx, InRows)
	k.asked = time.Now()
	if err != nil {
		k.log.Warn("what is known of leaks was not read from the database", "error", err)
		return
	}
	k.entered = entered
}

// stamp changes when an own file changes.
func (k *Catalogue) stamp() string {
	if k.files == nil {
		return ""
	}
	entries, err := fs.ReadDir(k.files, ".")
	var b strings.Builder
	if err != nil {
		fmt.Fprintln(&b, err)
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			fmt.Fprintf(&b, "%s %d %d\n", e.Name(), info.Size(), info.ModTime().UnixNano())
		} else {
			fmt.Fprintf(&b, "%s: %s\n", e.Name(), err)
		}
	}
	return b.String()
}

// Version changes with the catalogue. Pages and reports depend on it.
func (k *Catalogue) Version() string {
	c, _ := k.Current()
	return c.Version()
}
