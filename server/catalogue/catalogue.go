// Package catalogue holds what is known of leaks on this server: what came with the
// program, and the files that people put beside it. It knows no case.
package catalogue

import (
	"fmt"
	"io/fs"
	"log/slog"
	"strings"
	"sync"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/knowledge"
)

// Config says where own knowledge is.
type Config struct {
	Log *slog.Logger
	// Files holds own files of the catalogue, *.json, nil for none; Dir is where people
	// put them, and where entries are kept that are made on pages.
	Files fs.FS
	Dir   string
}

// Catalogue is what is known, with the own files of this server, read again when one
// of them changes.
type Catalogue struct {
	log   *slog.Logger
	files fs.FS
	// dir is where own entries are kept, empty for nowhere.
	dir string

	mu       sync.Mutex
	state    string
	known    *knowledge.Catalogue
	problems []analysis.Problem

	// remembering is held while own knowledge is written.
	remembering sync.Mutex
}

// New makes a catalogue.
func New(cfg Config) *Catalogue {
	return &Catalogue{log: cfg.Log, files: cfg.Files, dir: cfg.Dir}
}

// Current is the catalogue as its files are now, with what was not understood.
func (k *Catalogue) Current() (*knowledge.Catalogue, []analysis.Problem) {
	k.mu.Lock()
	defer k.mu.Unlock()
	state := k.stamp()
	if k.known != nil && k.state == state {
		return k.known, k.problems
	}
	k.state = state
	k.known, k.problems = knowledge.Builtin(), nil
	if k.files == nil {
		return k.known, nil
	}
	files, problems := knowledge.Overlays(k.files)
	if len(files) > 0 {
		var more []analysis.Problem
		k.known, more = knowledge.New(files...)
		problems = append(problems, more...)
	}
	k.problems = problems
	for _, p := range problems {
		k.log.Warn("a knowledge file was not understood", "file", p.Path, "line", p.Line, "what", p.What, "why", p.Why)
	}
	return k.known, k.problems
}

// stamp names the own files with what changes when they do.
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

// Version changes with the catalogue: pages and reports are made with it.
func (k *Catalogue) Version() string {
	c, _ := k.Current()
	return c.Version()
}
