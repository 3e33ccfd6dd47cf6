package page

import (
	"net/http"
	"strings"

	"leakdiff/analysis/judge/knowledge"
	"leakdiff/server/response"
	"leakdiff/web/page"
	"leakdiff/web/view"
)

// KnowledgePage lists classes, known leaks and normal stacks.
func (s *Service) KnowledgePage(w http.ResponseWriter, r *http.Request) {
	c, problems := s.catalogue.Current()
	v := view.NewKnowledge(view.KnowledgeInput{Catalogue: c, Problems: problems, Query: strings.TrimSpace(r.URL.Query().Get("q")), Engine: s.respond.Engine(), Dir: s.cfg.KnowledgeDir, Remembered: s.catalogue.OwnFile()})
	s.respond.Page(w, r, http.StatusOK, page.HTML(v.Page()))
}

// KnowledgeJSON exports the catalogue in the format of own files. With own=1 it has only
// the entries of own files.
func (s *Service) KnowledgeJSON(w http.ResponseWriter, r *http.Request) {
	c, _ := s.catalogue.Current()
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

// KnowledgeSchema is the JSON schema of knowledge files.
func (s *Service) KnowledgeSchema(w http.ResponseWriter, _ *http.Request) {
	response.WriteJSONBytes(w, http.StatusOK, knowledge.SchemaText())
}
