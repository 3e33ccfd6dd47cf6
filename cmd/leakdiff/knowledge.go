package main

import (
	"os"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/knowledge"
)

// knowledgeIn is the catalogue with the files of a directory, nil for the one that
// comes with the program. A directory that was named must be there.
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
	return c, append(problems, more...), nil
}
