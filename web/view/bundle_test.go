package view

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"leakdiff/analysis"
)

func TestTheBundleSaysWhatWasReadAndWhatItCost(t *testing.T) {
	read := func(path, kind string, files int) analysis.Artifact {
		return analysis.Artifact{Path: path, Kind: kind, Status: analysis.Read, Files: files, Size: 10}
	}
	ignored := analysis.Artifact{Path: "app.log", Kind: "text", Status: analysis.Ignored, Files: 1}
	problem := func(path string, s analysis.Severity) analysis.Problem {
		return analysis.Problem{Path: path, Severity: s, What: "w", Offset: -1}
	}
	tests := map[string]struct {
		artifacts []analysis.Artifact
		problems  []analysis.Problem
		want      string
	}{
		"all files and no problem": {
			[]analysis.Artifact{read("a", "goroutine-debug2", 1), read("fdinfo/", "fdinfo", 24)}, nil,
			"25 files read.",
		},
		"a directory counts as its files": {
			[]analysis.Artifact{read("fdinfo/", "fdinfo", 1410), read("a", "goroutine-debug2", 1), ignored}, nil,
			"1 411 of 1 412 files read.",
		},
		"notes cost nothing": {
			[]analysis.Artifact{read("a", "goroutine-debug2", 1)}, []analysis.Problem{problem("a", analysis.Note), problem("a", analysis.Note)},
			"1 file read, 2 notes: a: w, and 1 more.",
		},
		"an unread metrics page costs no goroutine": {
			[]analysis.Artifact{read("a", "goroutine-debug2", 1), read("m", "prometheus", 1)}, []analysis.Problem{problem("m", analysis.Warning)},
			"2 files read, 1 problem: m: w. No goroutine was lost.",
		},
		"a cut dump costs evidence": {
			[]analysis.Artifact{read("a", "goroutine-debug2", 1), ignored}, []analysis.Problem{problem("a", analysis.Warning), problem("m", analysis.Note)},
			"1 of 2 files read, 1 problem: a: w; 1 note: m: w.",
		},
		"a problem of the whole bundle counts as costly": {
			[]analysis.Artifact{ignored}, []analysis.Problem{problem("", analysis.Error)},
			"W. Nothing else was lost.",
		},
		"an empty archive": {nil, nil, "There is no file in it."},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			b := NewBundle(BundleInput{ID: "b", Status: "done", Artifacts: tt.artifacts, Problems: tt.problems})
			if diff := cmp.Diff(tt.want, plainSpaces(b.Sentence)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestARunningBundleShowsStagesAndNoInventory(t *testing.T) {
	b := NewBundle(BundleInput{
		ID: "b", Name: "x.tgz", Status: "running", Stage: "grouping", Text: "1470 files unpacked, forming families", Size: 876000,
		Files: []UploadedFile{{Name: "x.tgz", Size: 876000}},
	})
	var got []string
	for _, s := range b.Stages {
		got = append(got, s.State+": "+plainSpaces(s.Text))
	}
	want := []string{"done: 876 kB in 1 file", "done: ", "now: 1470 files unpacked, forming families", "waiting: "}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if !b.Running || b.Shell.Refresh == 0 || len(b.Tabs) != 0 {
		t.Errorf("running %v, refresh %d, tabs %d: want a page that asks again and has no inventory", b.Running, b.Shell.Refresh, len(b.Tabs))
	}
}

func TestAWaitingBundleSaysSo(t *testing.T) {
	b := NewBundle(BundleInput{ID: "b", Name: "x.tgz", Status: "queued", Stage: "received"})
	for _, s := range b.Stages[1:] {
		if s.State != "waiting" {
			t.Errorf("stage %s is %s, want waiting", s.Key, s.State)
		}
	}
}

func TestTheTreeFoldsBelowTwoLevels(t *testing.T) {
	var artifacts []analysis.Artifact
	for _, dir := range []string{"case/t10/kubelet/", "case/t2/kubelet/", "case/t2/containerd/"} {
		for i := range 30 {
			artifacts = append(artifacts, analysis.Artifact{Path: dir + string(rune('a'+i%26)) + strings.Repeat("x", i/26), Kind: "text", Status: analysis.Read, Files: 1, Size: 100})
		}
	}
	artifacts[0].Problems = 2
	b := NewBundle(BundleInput{ID: "b", Status: "done", Artifacts: artifacts})
	var lines []string
	var walk func([]*TreeNode)
	walk = func(nodes []*TreeNode) {
		for _, n := range nodes {
			if n.Directory {
				open := "folded"
				if n.Open {
					open = "open"
				}
				lines = append(lines, strings.Repeat(" ", n.Depth)+n.Name+" "+open+" "+plainSpaces(n.Size)+" "+plainSpaces(n.Outcome))
			}
			walk(n.Children)
		}
	}
	walk(b.Tree)
	want := []string{
		"case/ open 9 000 2 problems",
		" t2/ open 6 000 complete",
		"  containerd/ folded 3 000 complete",
		"  kubelet/ folded 3 000 complete",
		" t10/ open 3 000 2 problems",
		"  kubelet/ folded 3 000 2 problems",
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestATabShowsItsFilesAlone(t *testing.T) {
	artifacts := []analysis.Artifact{
		{Path: "a", Status: analysis.Read, Files: 1}, {Path: "b", Status: analysis.Ignored, Files: 1},
		{Path: "c", Status: analysis.Empty, Files: 3}, {Path: "d", Status: analysis.Read, Files: 1, Problems: 1},
		{Path: "e", Status: analysis.Failed, Files: 1},
	}
	for show, want := range map[string]string{"": "abcde", "all": "abcde", "read": "ad", "ignored": "bc", "problems": "de", "nonsense": "abcde"} {
		t.Run("show="+show, func(t *testing.T) {
			b := NewBundle(BundleInput{ID: "b", Status: "done", Artifacts: artifacts, Show: show})
			got := ""
			for _, n := range b.Tree {
				got += n.Name
			}
			if got != want {
				t.Errorf("got %q, want %q", got, want)
			}
			counts := ""
			for _, tab := range b.Tabs {
				counts += tab.Count + " "
			}
			if counts != "7 2 4 2 " {
				t.Errorf("counts are %q, want 7 2 4 2: a tab counts files", counts)
			}
		})
	}
}

func TestProblemsAreGroupedByWhatAndHint(t *testing.T) {
	var in []analysis.Problem
	for i := range 5 {
		in = append(in, analysis.Problem{Path: "m" + string(rune('0'+i)), Line: int64(1000 * i), Offset: 0, Severity: analysis.Note, What: "empty", Hint: "leave it out"})
	}
	in = append(in, analysis.Problem{Path: "g", Line: 18234, Offset: 532101, Severity: analysis.Error, What: "header not understood", Hint: "report it"})
	got := unlinkedProblems(in)
	want := []Problem{
		{Severity: "error", What: "header not understood", Hint: "report it", Count: 1, Where: []Place{{Text: "g, line 18 234, byte 532 101"}}},
		{Severity: "note", What: "empty", Hint: "leave it out", Count: 5, More: "and 2 more places",
			Where: []Place{{Text: "m0"}, {Text: "m1, line 1 000, byte 0"}, {Text: "m2, line 2 000, byte 0"}}},
	}
	for i := range got {
		got[i].More = plainSpaces(got[i].More)
		for j := range got[i].Where {
			got[i].Where[j].Text = plainSpaces(got[i].Where[j].Text)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestEvidenceOfAnotherTimeIsSaid(t *testing.T) {
	in := identityOf(recognised(2, func(i int, s *analysis.Snapshot) {
		if i == 1 {
			s.Times = map[analysis.Kind]time.Time{analysis.KindDescriptor: s.CapturedAt.Add(3 * time.Minute)}
		}
	}))
	b := NewBundle(BundleInput{ID: "b", CaseID: "c1", Status: "done", Processes: &in})
	var later []string
	for _, r := range b.Processes.Series[0].Rows {
		later = append(later, r.Later)
	}
	if want := []string{"", "Descriptors at 03:04:00."}; !slices.Equal(later, want) {
		t.Errorf("the rows say %q, want %q", later, want)
	}
}

func TestAnExcerptMarksWhatWasAskedFor(t *testing.T) {
	text := "goroutine 1 [running]:\nmain.main()\r\n\x1b[0m\u202eend"
	r := NewRaw(RawInput{Bundle: "b", Path: "t0/d.txt", Excerpt: []byte(text), Offset: 100, FirstLine: 9, Size: 500, MarkOffset: 123, MarkLength: 5})
	want := []RawLine{
		{Number: "9", ID: "L9", Text: "goroutine 1 [running]:"},
		{Number: "10", ID: "L10", Text: "main.main()", Marked: true},
		{Number: "11", ID: "L11", Text: `\x1b[0m\xe2\x80\xaeend`},
	}
	if diff := cmp.Diff(want, r.Lines); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if r.Before != "/raw/b?path=t0%2Fd.txt&offset=0&length=100" || r.After == "" || r.Cut == "" {
		t.Errorf("before %q, after %q, cut %q", r.Before, r.After, r.Cut)
	}
}

func TestAnExcerptIsAtMost64KiB(t *testing.T) {
	r := NewRaw(RawInput{Path: "d", Excerpt: []byte(strings.Repeat("x\n", 100_000)), Size: 200_000})
	if len(r.Lines) != MaxExcerpt/2 {
		t.Errorf("%d lines, want %d", len(r.Lines), MaxExcerpt/2)
	}
	if r.After != "/raw/?path=d&offset=65536&length=65536" {
		t.Errorf("after is %q", r.After)
	}
}

func TestAFullDiskRefusesInWords(t *testing.T) {
	u := newUpload(UploadInput{Free: 300_000_000, Reserved: 1_000_000_000})
	if !strings.Contains(plainSpaces(u.Refusal), "300 MB free") || u.FreeBytes != 0 {
		t.Errorf("refusal %q with %d bytes", u.Refusal, u.FreeBytes)
	}
	if u := newUpload(UploadInput{Free: 48_000_000_000, Reserved: 1_000_000_000}); u.Refusal != "" || u.FreeBytes != 47_000_000_000 || plainSpaces(u.Free) != "48 GB free" {
		t.Errorf("got %+v, want an offer", u)
	}
	if u := newUpload(UploadInput{Free: -1, Reserved: 1}); u.Refusal != "" || u.Free != "" {
		t.Errorf("unknown room: got %+v, want an offer that says nothing of it", u)
	}
}
