package knowledge

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"leakdiff/analysis"
)

// File is a catalogue file that the caller has read.
type File struct {
	Name string
	Text []byte
}

// New joins the built-in catalogue with overlay files in their order. An item with the
// id of an earlier one replaces it. Items that are not understood are left out and
// reported as problems. The other items of their file stay. A file of nouns is kept as it is.
func New(overlays ...File) (*Catalogue, []analysis.Problem) {
	var problems []analysis.Problem
	j := joined{doc: shipped()}
	var nouns []byte
	for _, f := range overlays {
		if f.Name == NounFile {
			nouns = f.Text
			continue
		}
		problems = append(problems, j.add(f, f.Name)...)
	}
	j.doc.Schema = Schema
	j.doc.Catalogue = versionOf(j.doc)
	if nouns != nil {
		sum := sha256.Sum256(nouns)
		j.doc.Catalogue += "-" + hex.EncodeToString(sum[:3])
	}
	return &Catalogue{doc: j.doc, index: newIndex(&j.doc), nouns: nouns}, problems
}

// The limits of overlays.
const (
	mostFiles    = 200
	mostBytes    = 4 << 20
	mostProblems = 100
)

func unreadable(name string, err error) analysis.Problem {
	return analysis.Problem{Path: name, Offset: -1, Severity: analysis.Error, What: "the knowledge file cannot be read", Why: err.Error(), Hint: "check that the file is there and may be read"}
}

// Overlays reads the regular files *.json at the top of a directory by name, and those
// that links lead to. A missing directory holds none.
func Overlays(dir fs.FS) ([]File, []analysis.Problem) {
	entries, err := fs.ReadDir(dir, ".")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, []analysis.Problem{{Offset: -1, Severity: analysis.Error, What: "the directory of knowledge files cannot be read", Why: err.Error(), Hint: "check that it is a directory that this program may read; what comes with the program holds without it"}}
	}
	entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool {
		return e.IsDir() || !strings.HasSuffix(e.Name(), ".json") || strings.HasPrefix(e.Name(), ".")
	})
	var files []File
	var problems []analysis.Problem
	for _, e := range entries[:min(len(entries), mostFiles)] {
		text, problem := overlay(dir, e.Name())
		if problem != nil {
			problems = append(problems, *problem)
			continue
		}
		files = append(files, File{Name: e.Name(), Text: text})
	}
	if more := len(entries) - mostFiles; more > 0 {
		problems = append(problems, analysis.Problem{Path: entries[mostFiles].Name(), Offset: -1, Severity: analysis.Warning,
			What: fmt.Sprintf("%d knowledge files are left out, this one and those behind it", more), Why: fmt.Sprintf("at most %d are read", mostFiles), Hint: "join them into fewer files"})
	}
	return files, problems
}

// overlay reads one file. It must be a regular one: reading a pipe would not end.
func overlay(dir fs.FS, name string) ([]byte, *analysis.Problem) {
	refused := func(err error) ([]byte, *analysis.Problem) {
		p := unreadable(name, err)
		return nil, &p
	}
	info, err := fs.Stat(dir, name)
	if err != nil {
		return refused(err)
	}
	if !info.Mode().IsRegular() {
		return refused(fmt.Errorf("it is no regular file (%s)", info.Mode()))
	}
	if info.Size() > mostBytes {
		p := tooLarge(name, info.Size())
		return nil, &p
	}
	f, err := dir.Open(name)
	if err != nil {
		return refused(err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, mostBytes+1)) // Parse refuses a file that has grown since
	if err != nil {
		return refused(err)
	}
	return text, nil
}

func tooLarge(name string, size int64) analysis.Problem {
	return analysis.Problem{Path: name, Offset: -1, Severity: analysis.Error, What: "the knowledge file is too large",
		Why: fmt.Sprintf("%d bytes, at most %d are read", size, mostBytes), Hint: "split it into several files"}
}

// joined is a catalogue under construction.
type joined struct{ doc Document }

// add adds the valid items of a file.
func (j *joined) add(f File, origin string) []analysis.Problem {
	doc, problems := Parse(f)
	if doc == nil {
		return problems
	}
	for i := range doc.Components {
		doc.Components[i].Origin = origin
	}
	j.doc.Components = replaceBy(j.doc.Components, doc.Components, func(c Component) string { return c.Name })
	keep := func(found []analysis.Problem) bool {
		// A note costs a part of an item, any other problem the whole item.
		left := slices.ContainsFunc(found, func(p analysis.Problem) bool { return p.Severity != analysis.Note })
		for _, p := range found {
			if left {
				p.What = ignored + p.What
			}
			problems = append(problems, p)
		}
		return !left
	}
	var classes []Class
	for _, c := range doc.Classes {
		c.Origin = origin
		if keep(checkClass(f.Name, c)) {
			classes = append(classes, c)
		}
	}
	problems = append(problems, replaced(f.Name, "class", j.doc.Classes, classes, func(c Class) (string, string) { return c.Key, c.Origin })...)
	j.doc.Classes = replaceBy(j.doc.Classes, classes, func(c Class) string { return c.Key })
	var known []Entry
	for _, e := range doc.Known {
		e.Origin = origin
		if keep(j.checkEntry(f.Name, e)) {
			known = append(known, e)
		}
	}
	problems = append(problems, replaced(f.Name, "known leak", j.doc.Known, known, func(e Entry) (string, string) { return e.ID, e.Origin })...)
	j.doc.Known = replaceBy(j.doc.Known, known, func(e Entry) string { return e.ID })
	var normal []Normal
	for _, n := range doc.Normal {
		n.Origin = origin
		if keep(checkNormal(f.Name, n)) {
			normal = append(normal, n)
		}
	}
	problems = append(problems, replaced(f.Name, "normal stack", j.doc.Normal, normal, func(n Normal) (string, string) { return n.ID, n.Origin })...)
	j.doc.Normal = replaceBy(j.doc.Normal, normal, func(n Normal) string { return n.ID })
	for _, t := range doc.Thresholds {
		t.Origin = origin
		j.doc.Thresholds = append(j.doc.Thresholds, t)
	}
	for _, x := range doc.Ours {
		x.Origin = origin
		j.doc.Ours = append(j.doc.Ours, x)
	}
	for _, x := range doc.Loads {
		x.Origin = origin
		j.doc.Loads = append(j.doc.Loads, x)
	}
	for _, x := range doc.Corrections {
		x.Origin = origin
		j.doc.Corrections = append(j.doc.Corrections, x)
	}
	if doc.ThresholdNote != "" {
		j.doc.ThresholdNote = doc.ThresholdNote
	}
	return problems
}

// replaced reports items of a file that replace those of another file of the same
// directory. Replacing items of the built-in catalogue is intended.
func replaced[T any](file, what string, have, more []T, of func(T) (id, origin string)) []analysis.Problem {
	from := map[string]string{}
	for _, x := range have {
		if id, origin := of(x); origin != "" {
			from[id] = origin
		}
	}
	var out []analysis.Problem
	for _, x := range more {
		if id, _ := of(x); from[id] != "" {
			out = append(out, analysis.Problem{Path: file, Offset: -1, Severity: analysis.Warning, What: what + " " + id + " takes the place of that of " + from[id],
				Why: "two files hold an item with this id, and the last file by name wins", Hint: "give one of them another id, or delete it"})
		}
	}
	return out
}

// replaceBy appends items. An item whose id exists replaces the earlier one.
func replaceBy[T any](have, more []T, id func(T) string) []T {
	at := make(map[string]int, len(have))
	for i, x := range have {
		at[id(x)] = i
	}
	for _, x := range more {
		if i, ok := at[id(x)]; ok {
			have[i] = x
			continue
		}
		at[id(x)] = len(have)
		have = append(have, x)
	}
	return have
}
