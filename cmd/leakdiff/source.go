package main

import (
	"io/fs"
	"os"

	"leakdiff/analysis"
	"leakdiff/analysis/say/source"
)

// sources are open directories of Go source. No path and no link leads out of them.
type sources []*os.Root

// openSources opens the directories of --source, each of which must exist.
func openSources(dirs []string) (sources, error) {
	var out sources
	for _, dir := range dirs {
		root, err := os.OpenRoot(dir)
		if err != nil {
			out.close()
			return nil, &analysis.Fault{Code: "not_found", What: "this is no directory of source that can be read", Where: dir, Hint: "name a module cache (go env GOMODCACHE) or a checkout", Err: err}
		}
		out = append(out, root)
	}
	return out, nil
}

// tree finds files below the directories, nil without any.
func (s sources) tree() *source.Tree {
	if len(s) == 0 {
		return nil
	}
	files := make([]fs.FS, len(s))
	for i, root := range s {
		files[i] = root.FS()
	}
	return source.NewTree(files...)
}

func (s sources) close() {
	for _, root := range s {
		root.Close()
	}
}
