package wording

import (
	"path"
	"strings"

	"leakdiff/analysis"
)

// Problem words a problem for a sentence, with the name of its file.
//
//	t/x.txt, NoDump, this file holds no …  ->  x.txt holds no dump
//	t/a.txt, EmptyFile                     ->  a.txt is empty
//	t/a.txt, EmptyFiles, 14 files were …   ->  14 files were empty
//	t/a.txt, the dump is cut               ->  a.txt: the dump is cut
func Problem(p analysis.Problem) string {
	name := path.Base(p.Path)
	switch {
	case p.Path == "" || p.What == "" || p.Code == analysis.EmptyFiles || p.Code == analysis.NoDumps:
		return p.What
	case p.Code == analysis.NoDump:
		return name + strings.TrimPrefix(p.What, "this file")
	case p.Code == analysis.EmptyFile:
		return name + " is empty"
	}
	return name + ": " + p.What
}

// Problems counts problems and notes and words the first of each: "1 problem: a.txt: the dump
// is cut; 3 notes: b.txt is empty, and 2 more". It is empty if there are none.
func Problems(list []analysis.Problem) string {
	var lost, notes []analysis.Problem
	for _, p := range list {
		if Lost(p) {
			lost = append(lost, p)
		} else {
			notes = append(notes, p)
		}
	}
	var parts []string
	add := func(of []analysis.Problem, one, many string) {
		if len(of) == 0 {
			return
		}
		text := Plural(len(of), one, many) + ": " + Problem(of[0])
		if rest := len(of) - 1; rest > 0 {
			text += ", and " + Plural(rest, "more", "more")
		}
		parts = append(parts, text)
	}
	add(lost, "problem", "problems")
	add(notes, "note", "notes")
	return strings.Join(parts, "; ")
}

// ProblemCounts counts problems and notes on a page: "1 problem, 3 notes", "no problems".
func ProblemCounts(list []analysis.Problem) string {
	lost := 0
	for _, p := range list {
		if Lost(p) {
			lost++
		}
	}
	text := "no problems"
	if lost > 0 {
		text = PagePlural(int64(lost), "problem", "problems")
	}
	if notes := len(list) - lost; notes > 0 {
		text += ", " + PagePlural(int64(notes), "note", "notes")
	}
	return text
}

// Lost reports whether a problem lost evidence. Notes lose none.
func Lost(p analysis.Problem) bool { return p.Severity != analysis.Note && p.Severity != "" }

// NothingRead is the sentence about an upload without any dump: what is wrong with the first
// file that says so.
func NothingRead(problems []analysis.Problem) string {
	for _, p := range problems {
		if p.Severity == analysis.Error && p.What != "" {
			text := Problem(p)
			if p.Path == "" || p.Path == "standard input" || p.Code == analysis.NoDumps {
				text = Capital(text)
			}
			return text + "."
		}
	}
	return "No dump was found in these files."
}

// DumpsRead is what was read of an upload: "18 dumps read, 1 note: 14 files were empty."
func DumpsRead(dumps int, problems []analysis.Problem) string {
	if text := Problems(problems); text != "" {
		return Plural(dumps, "dump", "dumps") + " read, " + text + "."
	}
	return Plural(dumps, "dump", "dumps") + " read."
}

// FilesRead says on a page how many of the files of an upload were read, and what was lost.
func FilesRead(read, total int64, problems []analysis.Problem) string {
	text := PagePlural(total, "file", "files") + " read"
	switch {
	case read == 0 && len(problems) > 0:
		text = strings.TrimSuffix(NothingRead(problems), ".")
		if len(problems) == 1 {
			return text + ". Nothing else was lost."
		}
	case total == 0:
		return "There is no file in it."
	case read == 0:
		return "None of its files holds a dump."
	case read < total:
		text = Exact(read) + " of " + text
	}
	if words := Problems(problems); words != "" && read > 0 {
		text += ", " + words
	}
	return text + "."
}
