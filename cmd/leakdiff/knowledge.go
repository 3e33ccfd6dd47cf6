package main

import (
	"os"
	"slices"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/knowledge"
	"leakdiff/analysis/say/report"
)

// knowledgeIn returns the catalogue with the files of a directory. Without a directory it
// returns nil, which means the built-in catalogue. A named directory must exist.
func knowledgeIn(dir string) (*knowledge.Catalogue, []analysis.Problem, error) {
	if dir == "" {
		return nil, nil, nil
	}
	info, err := os.Stat(dir)
	if err != nil || !info.IsDir() {
		return nil, nil, &analysis.Fault{Code: "not_found", What: "this is no directory", Where: dir, Hint: "name the directory that holds the knowledge files", Err: err}
	}
	files, problems := knowledge.Overlays(os.DirFS(dir))
	c, more := knowledge.New(files...)
	_, wrong := report.NounsOf(c)
	return c, slices.Concat(problems, more, wrong), nil
}
