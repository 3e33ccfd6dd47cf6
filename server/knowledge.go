package server

import (
	"fmt"
	"io/fs"
	"net/http"
	"strings"
	"sync"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/knowledge"
	"leakdiff/server/response"
	"leakdiff/web/page"
	"leakdiff/web/view"
)

// catalogue is what is known, with the own files of this server, read again when one
// of them changes.
type catalogue struct {
	dir fs.FS

	mu       sync.Mutex
	state    string
	known    *knowledge.Catalogue
	problems []analysis.Problem
}

// knowledge is the catalogue as its files are now, with what was not understood.
func (s *Server) knowledge() (*knowledge.Catalogue, []analysis.Problem) {
	k := &s.catalogue
	k.mu.Lock()
	defer k.mu.Unlock()
	state := k.files()
	if k.known != nil && k.state == state {
		return k.known, k.problems
	}
	k.state = state
	k.known, k.problems = knowledge.Builtin(), nil
	if k.dir == nil {
		return k.known, nil
	}
	files, problems := knowledge.Overlays(k.dir)
	if len(files) > 0 {
		var more []analysis.Problem
		k.known, more = knowledge.New(files...)
		problems = append(problems, more...)
	}
	k.problems = problems
	for _, p := range problems {
		s.log.Warn("a knowledge file was not understood", "file", p.Path, "line", p.Line, "what", p.What, "why", p.Why)
	}
	return k.known, k.problems
}

// files names the own files with what changes when they do.
func (k *catalogue) files() string {
	if k.dir == nil {
		return ""
	}
	entries, err := fs.ReadDir(k.dir, ".")
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

// knownVersion changes with the catalogue: pages and reports are made with it.
func (s *Server) knownVersion() string {
	c, _ := s.knowledge()
	return c.Version()
}

// knowledgePage lists classes, known leaks and normal stacks.
func (s *Server) knowledgePage(w http.ResponseWriter, r *http.Request) {
	c, problems := s.knowledge()
	v := view.NewKnowledge(view.KnowledgeInput{Catalogue: c, Problems: problems, Query: strings.TrimSpace(r.URL.Query().Get("q")), Engine: s.respond.Engine(), Dir: s.cfg.KnowledgeDir, Remembered: s.rememberedFile()})
	s.respond.Page(w, r, http.StatusOK, page.Knowledge(v))
}

// knowledgeJSON exports the catalogue in the form that own files have; own=1 only
// what own files added.
func (s *Server) knowledgeJSON(w http.ResponseWriter, r *http.Request) {
	c, _ := s.knowledge()
	export := c.Export
	if r.URL.Query().Get("own") == "1" {
		export = c.ExportOwn
	}
	body, err := export()
	if err != nil {
		s.respond.Fail(w, r, err)
		return
	}
	response.WriteJSONBytes(w, http.StatusOK, body)
}

// knowledgeSchema is the JSON schema of knowledge files.
func (s *Server) knowledgeSchema(w http.ResponseWriter, _ *http.Request) {
	response.WriteJSONBytes(w, http.StatusOK, knowledge.SchemaText())
}
