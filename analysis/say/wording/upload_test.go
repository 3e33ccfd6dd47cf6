package wording

import (
	"testing"

	"leakdiff/analysis"
)

func TestAnUploadIsToldByWhatItLost(t *testing.T) {
	note := analysis.Problem{Path: "b/t0.txt", Severity: analysis.Note, Code: analysis.EmptyFiles, What: "14 files were empty"}
	empty := analysis.Problem{Path: "b/metrics.txt", Severity: analysis.Note, Code: analysis.EmptyFile, What: "this file is empty"}
	cut := analysis.Problem{Path: "b/t3.txt", Severity: analysis.Warning, What: "the dump is cut"}
	unread := analysis.Problem{Path: "t/erl_crash.dump", Severity: analysis.Error, Code: analysis.NoDump, What: "this file holds a crash dump of Erlang, which is not read"}
	noDump := analysis.Problem{Path: "hello.txt", Severity: analysis.Error, Code: analysis.NoDump, What: "this file holds no dump"}
	locked := analysis.Problem{Path: "aes.zip", Severity: analysis.Error, What: "d.txt in it is encrypted"}
	noneOf := analysis.Problem{Path: "a.txt", Severity: analysis.Error, Code: analysis.NoDumps, What: "none of the 3 files holds a dump"}
	type problems = []analysis.Problem
	for _, tt := range []struct{ name, got, want string }{
		{"dumps alone", DumpsRead(18, nil), "18 dumps read."},
		{"one dump", DumpsRead(1, nil), "1 dump read."},
		{"a note names what it is about", DumpsRead(18, problems{note}), "18 dumps read, 1 note: 14 files were empty."},
		{"of several the first", DumpsRead(2, problems{empty, empty, empty}), "2 dumps read, 3 notes: metrics.txt is empty, and 2 more."},
		{"problems before notes", DumpsRead(2, problems{note, cut}), "2 dumps read, 1 problem: t3.txt: the dump is cut; 1 note: 14 files were empty."},
		{"all files", plainSpaces(FilesRead(2, 2, nil)), "2 files read."},
		{"one file", plainSpaces(FilesRead(1, 1, nil)), "1 file read."},
		{"a part", plainSpaces(FilesRead(1411, 1470, problems{note})), "1 411 of 1 470 files read, 1 note: 14 files were empty."},
		{"no dump in one file", FilesRead(0, 1, problems{noDump}), "hello.txt holds no dump. Nothing else was lost."},
		{"no dump in an archive that is locked", FilesRead(0, 0, problems{locked, noDump}), "aes.zip: d.txt in it is encrypted."},
		{"no dump in several", FilesRead(0, 3, problems{noneOf}), "None of the 3 files holds a dump. Nothing else was lost."},
		{"an empty archive", FilesRead(0, 0, nil), "There is no file in it."},
		{"counts", plainSpaces(ProblemCounts(problems{note, cut, note})), "1 problem, 2 notes"},
		{"notes alone", plainSpaces(ProblemCounts(problems{note})), "no problems, 1 note"},
		{"the sentence of a dump that is not read", NothingRead(problems{unread}), "erl_crash.dump holds a crash dump of Erlang, which is not read."},
		{"the sentence of a case without dumps", NothingRead(problems{note, noDump}), "hello.txt holds no dump."},
		{"without any problem", NothingRead(problems{note}), "No dump was found in these files."},
	} {
		if tt.got != tt.want {
			t.Errorf("%s:\ngot  %s\nwant %s", tt.name, tt.got, tt.want)
		}
	}
}
