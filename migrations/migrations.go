// Package migrations holds the database's schema as numbered SQL files: the first creates it,
// each later one leads from the version before to the next. It returns them in order and does
// not know how they are run.
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

// Base is the version before the first file: 0001 makes version 102 of a database. Databases
// from before this schema have versions up to 101, and nothing reads them.
const Base = 101

// Migration leads from version Version-1 to Version.
type Migration struct {
	Version int
	// Name is the file's name without number and ending, for logs.
	Name string
	SQL  string
}

// All returns every migration, the first with Version Base+1, without gaps.
func All() ([]Migration, error) { return read(files) }

// Postgres returns the migrations of a PostgreSQL database.
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
		number, title, err := parseName(name)
		if err != nil {
			return nil, err
		}
		if number != len(out)+1 {
			return nil, fmt.Errorf("migration %s: number %d expected", name, len(out)+1)
		}
		sql, err := fs.ReadFile(fsys, name)
		if err != nil {
			return nil, err
		}
		out = append(out, Migration{Version: Base + number, Name: title, SQL: string(sql)})
	}
	return out, nil
}

// parseName takes a file name apart.
//
//	"0001_schema.sql"  ->  1, "schema"
func parseName(name string) (number int, title string, err error) {
	digits, rest, ok := strings.Cut(strings.TrimSuffix(name, ".sql"), "_")
	number, err = strconv.Atoi(digits)
	if !ok || err != nil || len(digits) != 4 || number < 1 {
		return 0, "", fmt.Errorf("migration %s: the name must be four digits, an underscore and words", name)
	}
	return number, strings.ReplaceAll(rest, "_", " "), nil
}
