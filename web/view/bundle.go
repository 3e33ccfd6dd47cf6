package view

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/say/wording"
)

// Bundle is the page of one upload: its stages while it is being read, its
// inventory afterwards.
type Bundle struct {
	Shell              Shell
	ID, CaseID         string
	CaseTitle, Name    string
	Running, Cancelled bool
	// ReadAs is the form that has a file read as another kind, nil where none is asked
	// for.
	ReadAs *ReadAs
	// NeedsKey says that what changes the bundle asks for the owner key.
	NeedsKey bool
	// Dropped says that the uploaded files are not kept any more.
	Dropped bool
	// FilesNote says how the uploaded files are kept.
	FilesNote string
	// Unread says that reading ended before any file was known: there is no
	// inventory to show.
	Unread bool
	// Sentence is the headline.
	Sentence string
	// Lead is why a bundle failed or what a running one is doing.
	Lead   string
	Stages []Stage
	// Taken of Size bytes of the upload are read, Taken is 0 where that is not known.
	Taken, Size int64

	Figures []Figure
	Tabs    []Tab
	Tree    []*TreeNode
	// FilesLeft is how many files the tree leaves out.
	FilesLeft  int
	Nothing    string
	ProblemSum string
	Problems   []Problem
	// Processes are those of the case, nil where the case shows none.
	Processes *Identity
	Files     []FileRow
}

// Stage is one step of reading a bundle. State is done, now, waiting, or stopped.
type Stage struct {
	Key, Name, State, Text string
}

// Figure is one figure of the summary strip.
type Figure struct {
	Value, Text string
}

// Tab is one filter above the tree.
type Tab struct {
	Name, Count, URL string
	Current          bool
}

// FileRow is a file as it was uploaded.
type FileRow struct {
	Name, SHA256, Size, URL, Damage string
}

// UploadedFile is a file as it was uploaded; SHA256 is lower-case hex. Damage says what is
// wrong with its stored bytes, empty for nothing.
type UploadedFile struct {
	Name, SHA256 string
	Size         int64
	Damage       string
}

// BundleInput is the input of the page of a bundle. Status is received,
// queued, running or reading while work is under way, then done (or read),
// failed or cancelled. Stage is received, unpacking, grouping, saving or done.
// Text is the progress in words. Show is all, read, ignored or problems.
type BundleInput struct {
	ID, CaseID, CaseTitle, Name string
	Status, Stage, Text         string
	Taken                       int64
	Error                       string
	Size, Unpacked              int64
	Created                     time.Time
	// Dropped is when a policy of retention dropped the bytes of Files, zero if none did.
	Dropped   time.Time
	Files     []UploadedFile
	Artifacts []analysis.Artifact
	Problems  []analysis.Problem
	Snapshots []analysis.Snapshot
	Show      string
	// Kinds are those that a file can be read as, Chosen what people chose, by path; As
	// is the artifact whose form is open, counted from 1, 0 for none.
	Kinds    []string
	Chosen   map[string]string
	As       int
	NeedsKey bool
	// Processes is what was recognised in the case, nil to show nothing of it.
	Processes *IdentityInput
}

// refreshSeconds is how often a page without scripts asks for news.
const refreshSeconds = 3

// NewBundle makes the page; the caller adds the shell's engine line.
func NewBundle(in BundleInput) Bundle {
	b := Bundle{
		ID: in.ID, NeedsKey: in.NeedsKey, CaseID: in.CaseID, CaseTitle: Visible(in.CaseTitle), Name: Visible(in.Name),
		Running: running(in.Status), Cancelled: in.Status == "cancelled", Taken: in.Taken, Size: in.Size,
	}
	b.Sentence, b.Lead = bundleSentence(in)
	b.Shell = Shell{
		Sheet: "inventory",
		Title: "Files and processes, " + b.Name, Section: "cases",
		Crumbs: []Link{{"Cases", "/"}}, Here: in.Name,
		Twins: []Link{{"JSON", "/bundles/" + url.PathEscape(in.ID) + ".json"}},
	}
	if in.CaseID != "" {
		b.Shell.Crumbs = append(b.Shell.Crumbs, Link{in.CaseTitle, "/cases/" + url.PathEscape(in.CaseID)})
	}
	b.Files, b.FilesNote = fileRows(in), filesNote(in.Files)
	if b.Dropped = !in.Dropped.IsZero(); b.Dropped {
		b.FilesNote = wording.UploadDropped(in.Dropped)
	}
	if b.Running || in.Status == "failed" || b.Cancelled {
		b.Stages = stages(in)
	}
	if b.Running {
		b.Shell.Refresh = refreshSeconds
		return b
	}
	if len(b.Stages) > 0 && len(in.Artifacts) == 0 && len(in.Problems) == 0 {
		b.Unread = true
		return b
	}
	b.Figures = figures(in)
	b.Tabs = tabs(in)
	b.ReadAs = readAs(in)
	b.Tree, b.FilesLeft = tree(in)
	b.Nothing = nothing(in, b.Tree)
	link := func(p analysis.Problem) string { return problemURL(in, p) }
	b.Problems = newProblems(in.Problems, link)
	b.ProblemSum = problemSum(len(in.Problems), len(b.Problems))
	if in.Processes != nil {
		in.Processes.Bundle = in.ID
		processes := NewIdentity(*in.Processes)
		b.Processes = &processes
		b.Shell.Twins = append(b.Shell.Twins, Link{"Edits as JSON", caseURL(in.CaseID) + "/identity.json"})
	}
	return b
}

// mostNodes is the number of files and directories that a page lists.
const mostNodes = 2500

// URL is an address below the bundle's: URL("remove") is /bundles/{id}/remove.
func (b Bundle) URL(below string) string {
	return "/bundles/" + url.PathEscape(b.ID) + below
}

func running(status string) bool {
	return slices.Contains([]string{"received", "queued", "running", "reading"}, status)
}

func bundleSentence(in BundleInput) (sentence, lead string) {
	name := Visible(in.Name)
	switch {
	case in.Status == "queued" || in.Status == "received":
		return name + " waits to be read", Visible(in.Error)
	case running(in.Status):
		return "Reading " + name, ""
	case in.Status == "cancelled":
		return "Reading " + name + " was cancelled", "The file is kept. Read it again, or remove it."
	case in.Status == "failed":
		return name + " could not be read", Visible(in.Error)
	}
	if in.Error != "" {
		lead = "It was read again, and that failed: the earlier result stays. " + Visible(in.Error)
	}
	return readSentence(in), lead
}

// readSentence: "1 411 of 1 470 files read, 1 note: 14 files were empty." It says what no
// problem cost where that is known: problems of artifacts without stacks cost no goroutine.
func readSentence(in BundleInput) string {
	total, read := int64(0), int64(0)
	kinds := map[string]string{}
	for _, a := range in.Artifacts {
		kinds[a.Path] = a.Kind
		total += files(a)
		if a.Status == analysis.Read {
			read += files(a)
		}
	}
	text := Visible(wording.FilesRead(read, total, in.Problems))
	lost, stacks := 0, 0
	for _, p := range in.Problems {
		if !wording.Lost(p) {
			continue
		}
		lost++
		if kind := kinds[p.Path]; kind == "" || strings.Contains(kind, "goroutine") || strings.Contains(kind, "thread") {
			stacks++
		}
	}
	if what := member(kinds); lost > 0 && stacks == 0 && read > 0 && what != "" {
		text += " No " + what + " was lost."
	}
	return text
}

// member returns what a bundle is read for, by the kinds of its artifacts: stacks
// before descriptors and watches; nothing where it holds none of them.
func member(kinds map[string]string) string {
	for _, m := range []struct{ word, kinds string }{{"goroutine", "goroutine"}, {"thread", "thread"}, {"handle", "node-report"}, {"descriptor", "fd lsof ss-"}} {
		for _, kind := range kinds {
			for _, part := range strings.Fields(m.kinds) {
				if strings.Contains(kind, part) {
					return m.word
				}
			}
		}
	}
	return ""
}

func files(a analysis.Artifact) int64 { return int64(max(a.Files, 1)) }

// stages lists what is done, what is under way and what waits. Unpacking,
// recognising and reading are one pass over the bytes, so they are one stage.
func stages(in BundleInput) []Stage {
	size := wording.Bytes(in.Size) + " in " + wording.PagePlural(int64(len(in.Files)), "file", "files")
	list := []Stage{
		{Key: "received", Name: "Received and kept", Text: size},
		{Key: "unpacking", Name: "Unpack, recognise and read every file"},
		{Key: "grouping", Name: "Form groups and dumps"},
		{Key: "saving", Name: "Save the result"},
	}
	at := 1
	for i, s := range list {
		if s.Key == in.Stage {
			at = max(i, 1)
		}
	}
	if in.Stage == "done" {
		at = len(list)
	}
	now := "now"
	switch {
	case in.Status == "queued" || in.Status == "received":
		now = "waiting"
	case !running(in.Status):
		now = "stopped"
	}
	for i := range list {
		switch {
		case i < at:
			list[i].State = "done"
		case i == at:
			list[i].State, list[i].Text = now, Visible(in.Text)
		default:
			list[i].State = "waiting"
		}
	}
	return list
}

// figures is the summary strip.
func figures(in BundleInput) []Figure {
	out := []Figure{{wording.Bytes(in.Size), "as uploaded"}}
	if in.Unpacked > 0 {
		text := "unpacked"
		if in.Size > 0 && in.Unpacked > in.Size {
			text += ", " + strconv.FormatFloat(float64(in.Unpacked)/float64(in.Size), 'f', 1, 64) + " : 1"
		}
		out = append(out, Figure{wording.Bytes(in.Unpacked), text})
	}
	out = append(out, snapshotFigure(in.Snapshots))
	for _, k := range analysis.Kinds() {
		if sum, seen := total(in.Snapshots, k); seen {
			out = append(out, Figure{wording.Exact(sum), kindWords(k)})
		}
	}
	counts := countFiles(in.Artifacts)
	if ignored, empty := counts[analysis.Ignored], counts[analysis.Empty]; ignored+empty > 0 {
		text := "ignored"
		if empty > 0 {
			text += ", " + wording.Exact(empty) + " more empty"
		}
		out = append(out, Figure{wording.Exact(ignored), text})
	}
	if failed := counts[analysis.Failed]; failed > 0 {
		out = append(out, Figure{wording.Exact(failed), "not readable"})
	}
	return out
}

// snapshotFigure is "9 × 2" where every process has as many snapshots as the
// others, otherwise their number.
func snapshotFigure(snapshots []analysis.Snapshot) Figure {
	per := map[string]int{}
	for _, s := range snapshots {
		per[s.Process.Key()]++
	}
	even := 0
	for _, n := range per {
		if even != 0 && n != even {
			even = -1
			break
		}
		even = n
	}
	if len(per) > 1 && even > 0 {
		return Figure{fmt.Sprintf("%d × %d", even, len(per)), "snapshots × processes"}
	}
	n := len(snapshots)
	noun := "snapshots"
	if n == 1 {
		noun = "snapshot"
	}
	if len(per) > 1 {
		noun += " of " + wording.PagePlural(int64(len(per)), "process", "processes")
	}
	return Figure{wording.Exact(int64(n)), noun}
}

func total(snapshots []analysis.Snapshot, k analysis.Kind) (sum int64, seen bool) {
	for _, s := range snapshots {
		if n := s.Totals.Of(k); n != nil {
			sum += int64(*n)
			seen = true
		}
	}
	return sum, seen
}

func kindWords(k analysis.Kind) string {
	if k == analysis.KindWatch {
		return "inotify watches"
	}
	return string(k) + "s"
}

func countFiles(artifacts []analysis.Artifact) map[analysis.Status]int64 {
	counts := map[analysis.Status]int64{}
	for _, a := range artifacts {
		counts[a.Status] += files(a)
	}
	return counts
}

func problemSum(problems, groups int) string {
	if problems == groups {
		return wording.PagePlural(int64(problems), "problem", "problems")
	}
	return wording.Exact(int64(problems)) + ", in " + wording.PagePlural(int64(groups), "group", "groups")
}

// problemURL is the excerpt around a problem's line.
func problemURL(in BundleInput, p analysis.Problem) string {
	if p.Path == "" || p.Offset < 0 || strings.HasSuffix(p.Path, "/") {
		return ""
	}
	known := slices.ContainsFunc(in.Artifacts, func(a analysis.Artifact) bool { return a.Path == p.Path && a.Size > 0 })
	if !known {
		return ""
	}
	return RawURL(in.ID, p.Path, p.Offset, 1)
}

func fileRows(in BundleInput) []FileRow {
	var rows []FileRow
	for _, f := range in.Files {
		row := FileRow{
			Name: Visible(f.Name), SHA256: f.SHA256, Size: wording.Bytes(f.Size),
			URL: "/bundles/" + url.PathEscape(in.ID) + "/files/" + url.PathEscape(f.SHA256), Damage: Visible(f.Damage),
		}
		if !in.Dropped.IsZero() {
			row.URL = ""
		}
		rows = append(rows, row)
	}
	return rows
}

// filesNote says how the files are kept: those that are damaged by their names.
func filesNote(files []UploadedFile) string {
	var damaged []string
	for _, f := range files {
		if f.Damage != "" {
			damaged = append(damaged, Visible(f.Name))
		}
	}
	const named = 3
	switch n := len(damaged); {
	case n == 0:
		return "Kept byte for byte."
	case n > named:
		return wording.Exact(int64(n)) + " files are damaged on the disk of this server: " + strings.Join(damaged[:named], ", ") + " and others."
	case n > 1:
		return wording.Exact(int64(n)) + " files are damaged on the disk of this server: " + strings.Join(damaged, ", ") + "."
	}
	return damaged[0] + " is damaged on the disk of this server."
}

// ReadAs is the form that has a file read as another kind. Path is escaped as in a
// query.
type ReadAs struct {
	Path, Name, Recognised, Kind string
	Kinds                        []string
}

func readAs(in BundleInput) *ReadAs {
	if in.As == 0 || !in.Dropped.IsZero() {
		return nil
	}
	a := in.Artifacts[in.As-1]
	return &ReadAs{Path: url.QueryEscape(a.Path), Name: Visible(a.Path), Recognised: Visible(a.Reason), Kind: in.Chosen[a.Path], Kinds: in.Kinds}
}
