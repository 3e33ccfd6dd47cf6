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

	Figures    []Figure
	Tabs       []Tab
	Tree       []*TreeNode
	Nothing    string
	ProblemSum string
	Problems   []Problem
	TimesNote  string
	Times      []TimeRow
	Identity   []IdentityGroup
	Files      []FileRow
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

// TreeNode is a directory or an artifact. A directory has Children and an Open
// state, an artifact a kind with its reason.
type TreeNode struct {
	Name       string
	Directory  bool
	Open       bool
	Depth      int
	Size       string
	Kind       string
	Confidence string
	Reason     string
	// Status is read, ignored, empty or failed, problem where there is any, or
	// note where the problems are notes only.
	Status  string
	Outcome string
	// URL is the address of the artifact's raw lines, empty where there are none; As
	// opens the form that has it read as another kind.
	URL, As  string
	Children []*TreeNode

	bytes int64
	// notes are those of the problems that cost nothing.
	problems, notes int
	path            string
}

// TimeRow is a time that was resolved, with the processes that it holds for.
type TimeRow struct {
	Label, Time, Source, Confidence, Note string
	Snapshots                             []Link
}

// IdentityGroup is what is believed about one process.
type IdentityGroup struct {
	Name string
	Rows []IdentityRow
}

// IdentityRow is one believed value.
type IdentityRow struct {
	Field, Value, Source, Confidence string
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

// BundleInput is what the page of a bundle is made of. Status is received,
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
	Files                       []UploadedFile
	Artifacts                   []analysis.Artifact
	Problems                    []analysis.Problem
	Snapshots                   []analysis.Snapshot
	Show                        string
	// Kinds are those that a file can be read as, Chosen what people chose, by path; As
	// is the artifact whose form is open, counted from 1, 0 for none.
	Kinds    []string
	Chosen   map[string]string
	As       int
	NeedsKey bool
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
		Title: "Bundle " + b.Name, Section: "cases",
		Crumbs: []Link{{"Cases", "/"}}, Here: in.Name,
		Actions: []Link{{"JSON", "/bundles/" + url.PathEscape(in.ID) + ".json"}},
	}
	if in.CaseID != "" {
		b.Shell.Crumbs = append(b.Shell.Crumbs, Link{in.CaseTitle, "/cases/" + url.PathEscape(in.CaseID)})
	}
	b.Files, b.FilesNote = fileRows(in), filesNote(in.Files)
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
	b.Tree = tree(in)
	b.Nothing = nothing(in, b.Tree)
	link := func(p analysis.Problem) string { return problemURL(in, p) }
	b.Problems = newProblems(in.Problems, link)
	b.ProblemSum = problemSum(len(in.Problems), len(b.Problems))
	b.Times, b.TimesNote = times(in)
	b.Identity = identityGroups(in.Snapshots)
	return b
}

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

// member is what a bundle is read for, by the kinds of its artifacts: stacks
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

// shown reports whether an artifact belongs to a tab.
func shown(a analysis.Artifact, show string) bool {
	switch show {
	case "read":
		return a.Status == analysis.Read
	case "ignored":
		return a.Status == analysis.Ignored || a.Status == analysis.Empty
	case "problems":
		return a.Problems > 0 || a.Status == analysis.Failed
	}
	return true
}

func tabs(in BundleInput) []Tab {
	var out []Tab
	current := normalShow(in.Show)
	for _, t := range []struct{ show, name string }{{"all", "All"}, {"read", "Read"}, {"ignored", "Ignored or empty"}, {"problems", "With problems"}} {
		n := int64(0)
		for _, a := range in.Artifacts {
			if shown(a, t.show) {
				n += files(a)
			}
		}
		address := "/bundles/" + url.PathEscape(in.ID)
		if t.show != "all" {
			address += "?show=" + t.show
		}
		out = append(out, Tab{Name: t.name, Count: wording.Exact(n), URL: address + "#files", Current: t.show == current})
	}
	return out
}

func normalShow(show string) string {
	if slices.Contains([]string{"read", "ignored", "problems"}, show) {
		return show
	}
	return "all"
}

func nothing(in BundleInput, tree []*TreeNode) string {
	switch {
	case len(tree) > 0:
		return ""
	case len(in.Artifacts) == 0:
		return "No file was found in this bundle."
	case in.Show == "read":
		return "No file of this bundle was read; “all” says why for each."
	case in.Show == "ignored":
		return "No file was ignored and none is empty."
	}
	return "No file has a problem."
}

// openAll is how many rows a tree may have to be shown unfolded.
const openAll = 60

// tree files the shown artifacts into directories. The first two levels are
// open; a short tree is open everywhere.
func tree(in BundleInput) []*TreeNode {
	root := &TreeNode{Directory: true, Depth: -1}
	directories := map[string]*TreeNode{"": root}
	notes := map[string]int{}
	for _, p := range in.Problems {
		if p.Severity == analysis.Note {
			notes[p.Path]++
		}
	}
	shownCount := 0
	for at, a := range in.Artifacts {
		if !shown(a, in.Show) {
			continue
		}
		shownCount++
		dir, name := splitPath(a.Path)
		parent := directory(directories, dir)
		parent.Children = append(parent.Children, artifactNode(in, at, name, parent.Depth+1, notes[a.Path]))
	}
	root.finish(shownCount <= openAll)
	describe(directories, in.Snapshots)
	return root.Children
}

// splitPath: "a/b/fdinfo/" gives "a/b/" and "fdinfo/".
func splitPath(path string) (dir, name string) {
	i := strings.LastIndexByte(strings.TrimSuffix(path, "/"), '/') + 1
	return path[:i], path[i:]
}

// directory finds or makes the node of a path that ends with a slash.
func directory(known map[string]*TreeNode, path string) *TreeNode {
	if node, ok := known[path]; ok {
		return node
	}
	dir, name := splitPath(path)
	parent := directory(known, dir)
	node := &TreeNode{Name: Visible(name), Directory: true, Depth: parent.Depth + 1, path: path}
	parent.Children = append(parent.Children, node)
	known[path] = node
	return node
}

func artifactNode(in BundleInput, at int, name string, depth, notes int) *TreeNode {
	a := in.Artifacts[at]
	node := &TreeNode{
		Name: Visible(name), Depth: depth, Size: wording.Exact(a.Size), Kind: a.Kind, Confidence: string(a.Confidence),
		Reason: Visible(a.Reason), Status: string(a.Status), Outcome: Visible(a.Outcome),
		bytes: a.Size, problems: a.Problems, notes: min(notes, a.Problems), path: a.Path,
	}
	if node.Outcome == "" {
		node.Outcome = node.Status
	}
	if a.Problems > 0 {
		node.Outcome += ", " + node.problemWords()
		node.Status = node.problemStatus(node.Status)
	}
	if a.Size > 0 && !strings.HasSuffix(a.Path, "/") {
		node.URL = RawURL(in.ID, a.Path, 0, MaxExcerpt)
	}
	if a.SHA256 != "" && !strings.HasSuffix(a.Path, "/") {
		node.As = "?as=" + strconv.Itoa(at+1) + "#as"
	}
	return node
}

// problemWords: "2 problems", "1 note", "1 problem, 3 notes".
func (n *TreeNode) problemWords() string {
	var parts []string
	if costly := n.problems - n.notes; costly > 0 {
		parts = append(parts, wording.PagePlural(int64(costly), "problem", "problems"))
	}
	if n.notes > 0 {
		parts = append(parts, wording.PagePlural(int64(n.notes), "note", "notes"))
	}
	return strings.Join(parts, ", ")
}

// problemStatus keeps the mark of a problem for what is more than a note.
func (n *TreeNode) problemStatus(status string) string {
	switch {
	case n.problems > n.notes:
		return "problem"
	case status == string(analysis.Failed):
		return status
	}
	return "note"
}

// finish sorts, adds up and opens the directories from the leaves upwards.
func (n *TreeNode) finish(openAll bool) {
	if !n.Directory {
		return
	}
	slices.SortStableFunc(n.Children, func(a, b *TreeNode) int { return naturalCompare(a.Name, b.Name) })
	used := false
	for _, c := range n.Children {
		c.finish(openAll)
		n.bytes += c.bytes
		n.problems += c.problems
		n.notes += c.notes
		used = used || c.Status == string(analysis.Read)
	}
	n.Open = openAll || n.Depth < 2
	n.Size = wording.Exact(n.bytes)
	n.Status, n.Outcome = "read", "complete"
	switch {
	case n.problems > 0:
		n.Status, n.Outcome = n.problemStatus(n.Status), n.problemWords()
	case !used:
		n.Status, n.Outcome = "ignored", "nothing used"
	}
}

// describe says beside each directory which snapshots came from below it.
func describe(directories map[string]*TreeNode, snapshots []analysis.Snapshot) {
	below := map[string][]int{}
	for i, s := range snapshots {
		for _, a := range s.Artifacts {
			for dir, _ := splitPath(a.Path); dir != ""; dir, _ = splitPath(dir) {
				if list := below[dir]; len(list) == 0 || list[len(list)-1] != i {
					below[dir] = append(list, i)
				}
			}
		}
	}
	for path, node := range directories {
		node.Reason = snapshotsBelow(snapshots, below[path])
	}
}

func snapshotsBelow(all []analysis.Snapshot, indices []int) string {
	if len(indices) == 0 {
		return ""
	}
	if len(indices) == 1 {
		s := all[indices[0]]
		return strings.Join(nonEmpty(processWords(s.Process), totalsWords(s.Totals)), "; ")
	}
	first := all[indices[0]]
	processes := map[string]bool{}
	var names []string
	oneTime := true
	for _, i := range indices {
		s := all[i]
		oneTime = oneTime && s.CapturedAt.Equal(first.CapturedAt) && s.Label == first.Label
		if !processes[s.Process.Key()] {
			processes[s.Process.Key()] = true
			names = append(names, processName(s.Process))
		}
	}
	if oneTime {
		return strings.Join(nonEmpty(timeWords(first), wording.List(names, 3)), "; ")
	}
	return wording.PagePlural(int64(len(indices)), "snapshot", "snapshots") + " of " + wording.List(names, 3)
}

func timeWords(s analysis.Snapshot) string {
	if s.CapturedAt.IsZero() {
		return ""
	}
	text := wording.Clock(s.CapturedAt)
	if s.TimeFact.Source != "" {
		text += " from " + Visible(s.TimeFact.Source)
	}
	return text
}

func processWords(p analysis.Process) string {
	text := processName(p)
	if p.PID.Known() {
		text += ", pid " + Visible(p.PID.Value)
	}
	return text
}

func processName(p analysis.Process) string {
	if p.Name.Known() {
		return Visible(p.Name.Value)
	}
	return "unnamed process"
}

func totalsWords(t analysis.Totals) string {
	var parts []string
	for _, k := range analysis.Kinds() {
		if n := t.Of(k); n != nil {
			parts = append(parts, wording.Number(int64(*n))+hardSpace+kindWord(k, *n))
		}
	}
	return strings.Join(parts, ", ")
}

func nonEmpty(parts ...string) []string {
	return slices.DeleteFunc(parts, func(s string) bool { return s == "" })
}

// naturalCompare orders "t2" before "t10".
func naturalCompare(a, b string) int {
	for a != "" && b != "" {
		na, nb := leadingDigits(a), leadingDigits(b)
		if na > 0 && nb > 0 {
			x, y := strings.TrimLeft(a[:na], "0"), strings.TrimLeft(b[:nb], "0")
			if len(x) != len(y) {
				return len(x) - len(y)
			}
			if c := strings.Compare(x, y); c != 0 {
				return c
			}
			a, b = a[na:], b[nb:]
			continue
		}
		if a[0] != b[0] {
			return int(a[0]) - int(b[0])
		}
		a, b = a[1:], b[1:]
	}
	return len(a) - len(b)
}

func leadingDigits(s string) int {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return i
		}
	}
	return len(s)
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

// times merges snapshots of one label and one time into a row.
func times(in BundleInput) ([]TimeRow, string) {
	day, oneDay := commonDay(in.Snapshots)
	index := map[string]int{}
	var rows []TimeRow
	for _, s := range in.Snapshots {
		row := TimeRow{Label: Visible(s.Label), Source: Visible(s.TimeFact.Source), Confidence: string(s.TimeFact.Confidence)}
		switch {
		case s.CapturedAt.IsZero():
			row.Time = "not known"
		case oneDay:
			row.Time = wording.Clock(s.CapturedAt)
		default:
			row.Time = wording.Time(s.CapturedAt)
		}
		row.Note = laterWords(s)
		key := row.Label + "\x00" + row.Time + "\x00" + row.Source + "\x00" + row.Note
		i, seen := index[key]
		if !seen {
			i = len(rows)
			index[key] = i
			rows = append(rows, row)
		}
		rows[i].Snapshots = append(rows[i].Snapshots, Link{processName(s.Process), "/snapshots/" + url.PathEscape(s.ID) + "?case=" + query(in.CaseID)})
	}
	note := "Times in UTC."
	if oneDay && !day.IsZero() {
		note = "All on " + wording.Day(day) + ", UTC."
	}
	return rows, note
}

func commonDay(snapshots []analysis.Snapshot) (day time.Time, one bool) {
	one = true
	for _, s := range snapshots {
		switch t := s.CapturedAt; {
		case t.IsZero():
		case day.IsZero():
			day = t
		case wording.Day(t) != wording.Day(day):
			one = false
		}
	}
	return day, one
}

// laterWords says which kinds of evidence are of another time: "descriptors at
// 03:02:14".
func laterWords(s analysis.Snapshot) string {
	var parts []string
	for _, k := range analysis.Kinds() {
		if t, ok := s.Times[k]; ok && !t.IsZero() && t.Sub(s.CapturedAt).Abs() >= time.Second {
			parts = append(parts, kindWords(k)+" at "+wording.Clock(t))
		}
	}
	return strings.Join(parts, ", ")
}

// identityGroups says for each process what is believed and from where.
func identityGroups(snapshots []analysis.Snapshot) []IdentityGroup {
	var keys []string
	byKey := map[string][]analysis.Process{}
	for _, s := range snapshots {
		key := s.Process.Key()
		if byKey[key] == nil {
			keys = append(keys, key)
		}
		byKey[key] = append(byKey[key], s.Process)
	}
	var groups []IdentityGroup
	for _, key := range keys {
		processes := byKey[key]
		groups = append(groups, IdentityGroup{Name: processName(processes[0]), Rows: []IdentityRow{
			identityRow("Host", processes, func(p analysis.Process) analysis.Fact { return p.Host }),
			identityRow("Program", processes, func(p analysis.Process) analysis.Fact { return p.Name }),
			identityRow("Pid", processes, func(p analysis.Process) analysis.Fact { return p.PID }),
			identityRow("Start time", processes, func(p analysis.Process) analysis.Fact { return p.Start }),
			identityRow("Version", processes, func(p analysis.Process) analysis.Fact { return p.Version }),
		}})
	}
	return groups
}

// identityRow lists the different values of a fact and the sources of the
// first, with the least confidence of all.
func identityRow(field string, processes []analysis.Process, of func(analysis.Process) analysis.Fact) IdentityRow {
	row := IdentityRow{Field: field}
	var values []string
	for _, p := range processes {
		fact := of(p)
		if !fact.Known() {
			continue
		}
		if v := Visible(fact.Value); !slices.Contains(values, v) {
			values = append(values, v)
		}
		if row.Source == "" {
			row.Source = Visible(fact.Source)
		}
		if row.Confidence == "" || confidenceRank(string(fact.Confidence)) < confidenceRank(row.Confidence) {
			row.Confidence = string(fact.Confidence)
		}
	}
	switch {
	case len(values) == 0:
		row.Value, row.Source = "not known", "nothing in the bundle says it"
	case len(values) > 1:
		row.Value = wording.List(values, 3)
		row.Source += differWords(field)
	default:
		row.Value = values[0]
	}
	if field == "Start time" && len(values) == 1 {
		row.Value = startWords(values[0])
	}
	return row
}

// differWords says what several values of one fact mean.
func differWords(field string) string {
	if field == "Pid" || field == "Start time" {
		return "; it changes: the process was restarted"
	}
	return "; not the same in all snapshots"
}

// startWords: "169797" gives "169 797 ticks after boot"; times stay as they are.
func startWords(value string) string {
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		return value
	}
	return wording.Exact(n) + " ticks after boot"
}

func confidenceRank(c string) int {
	return slices.Index([]string{"low", "medium", "high"}, c)
}

func fileRows(in BundleInput) []FileRow {
	var rows []FileRow
	for _, f := range in.Files {
		rows = append(rows, FileRow{
			Name: Visible(f.Name), SHA256: f.SHA256, Size: wording.Bytes(f.Size),
			URL: "/bundles/" + url.PathEscape(in.ID) + "/files/" + url.PathEscape(f.SHA256), Damage: Visible(f.Damage),
		})
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
	if in.As == 0 {
		return nil
	}
	a := in.Artifacts[in.As-1]
	return &ReadAs{Path: url.QueryEscape(a.Path), Name: Visible(a.Path), Recognised: Visible(a.Reason), Kind: in.Chosen[a.Path], Kinds: in.Kinds}
}
