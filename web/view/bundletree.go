package view

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/say/wording"
)

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

// openAll bounds the rows of a tree that is shown unfolded.
const openAll = 60

// tree files the shown artifacts into directories. The first two levels are
// open; a short tree is open everywhere. Of too many files those that were read or have
// problems come first; left counts the others.
func tree(in BundleInput) (nodes []*TreeNode, left int) {
	root := &TreeNode{Directory: true, Depth: -1}
	directories := map[string]*TreeNode{"": root}
	notes := map[string]int{}
	for _, p := range in.Problems {
		if p.Severity == analysis.Note {
			notes[p.Path]++
		}
	}
	shownCount := 0
	var chosen []int
	for at, a := range in.Artifacts {
		if shown(a, in.Show) {
			chosen = append(chosen, at)
		}
	}
	if len(chosen) > mostNodes {
		slices.SortStableFunc(chosen, func(i, j int) int { return interest(in.Artifacts[j]) - interest(in.Artifacts[i]) })
	}
	for n, at := range chosen {
		a := in.Artifacts[at]
		if shownCount+len(directories) >= mostNodes {
			left = len(chosen) - n
			break
		}
		shownCount++
		dir, name := splitPath(a.Path)
		parent := directory(directories, dir)
		parent.Children = append(parent.Children, artifactNode(in, at, name, parent.Depth+1, notes[a.Path]))
	}
	root.finish(shownCount <= openAll)
	describe(directories, in.Snapshots)
	return root.Children, left
}

// interest orders files of which not all are shown.
func interest(a analysis.Artifact) int {
	switch {
	case a.Status == analysis.Read:
		return 2
	case a.Problems > 0 || a.Status == analysis.Failed:
		return 1
	}
	return 0
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
	if a.SHA256 != "" && in.Dropped.IsZero() && !strings.HasSuffix(a.Path, "/") {
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
