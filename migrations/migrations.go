// Package migrations holds the database's schema as numbered SQL files, each the
// way from one version to the next. It gives them in order and refuses to know
// how they are run.
package migrations

import (
	"embed"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
)

//go:embed *.sql postgres/*.sql
var files embed.FS

// Migration leads from version Version-1 to Version.
type Migration struct {
	Version int
	// Name is the file's name without number and ending, for logs.
	Name string
	SQL  string
}

// All returns every migration, the first with Version 1, without gaps.
func All() ([]Migration, error) { return read(files) }

// Postgres returns the migrations of a PostgreSQL database, which begins with the schema that
// SQLite had then.
func Postgres() ([]Migration, error) {
	of, err := fs.Sub(files, "postgres")
	if err != nil {
		return nil, err
	}
	return read(of)
}

func read(fsys fs.FS) ([]Migration, error) {
	// Glob returns names in lexical order; numbers are four digits wide.
	names, err := fs.Glob(fsys, "*.sql")
	if err != nil {
		return nil, err
	}
	var out []Migration
	for _, name := range names {
		version, title, err := parseName(name)
		if err != nil {
			return nil, err
		}
		if version != len(out)+1 {
			return nil, fmt.Errorf("migration %s: number %d expected", name, len(out)+1)
		}
		sql, err := fs.ReadFile(fsys, name)
		if err != nil {
			return nil, err
		}
		out = append(out, Migration{Version: version, Name: title, SQL: string(sql)})
	}
	return out, nil
}

// parseName takes a file name apart.
//
//	"0001_cases_and_results.sql"  ->  1, "cases and results"
func parseName(name string) (version int, title string, err error) {
	number, rest, ok := strings.Cut(strings.TrimSuffix(name, ".sql"), "_")
	version, err = strconv.Atoi(number)
	if !ok || err != nil || len(number) != 4 || version < 1 {
		return 0, "", fmt.Errorf("migration %s: the name must be four digits, an underscore and words", name)
	}
	return version, strings.ReplaceAll(rest, "_", " "), nil
}
