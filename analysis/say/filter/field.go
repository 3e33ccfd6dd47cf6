package filter

import (
	"slices"
	"strings"

	"leakdiff/analysis"
)

// Field is something that a term can ask for by name.
type Field string

// The fields. Attributes of a family are fields under their own names. See Attributes.
const (
	Func    Field = "func"    // a function of the stack
	Pkg     Field = "pkg"     // the package of a function of the stack
	Created Field = "created" // the function that started the goroutine
	State   Field = "state"   // a state that a member is in
	Kind    Field = "kind"    // goroutine, thread, descriptor or watch
	Verdict Field = "verdict" // the verdict of the series on the family
	Triage  Field = "triage"  // the decision of a person on it
	Rule    Field = "rule"    // a rule in the evidence of the verdict
	Label   Field = "label"   // a snapshot in which it has members, or a pprof label
	Unit    Field = "unit"    // the unit that it rises with
	Class   Field = "class"   // a class of the catalogue
	Process Field = "process" // the program
	Path    Field = "path"    // the file of a descriptor or watch

	Wait   Field = "wait"   // minutes, a lower bound of the oldest wait
	Count  Field = "count"  // members
	Delta  Field = "delta"  // change of the members
	Growth Field = "growth" // change per hour
	FD     Field = "fd"     // the number of a descriptor
	Inode  Field = "inode"  // the inode of a descriptor
)

// Help is a field with an example and its meaning.
type Help struct {
	Field          Field
	Example, Means string
}

// Fields returns the fields by name, in the order of the help.
func Fields() []Help {
	return []Help{
		{Func, "func:prober", "a function of the stack"},
		{Pkg, "-pkg:net/http", "a package of the stack, or one below it"},
		{Created, "created:podWorkers", "who started the goroutine"},
		{State, "state:select", "a state that members are in"},
		{Wait, "wait>10m", "the oldest member waits longer; s, m, h and d"},
		{Count, "count>50", "members: of two snapshots those of the later, of a series the most"},
		{Delta, "delta>0", "change of the members"},
		{Growth, "growth>5/h", "change per hour; /m, /h and /d"},
		{Kind, "kind:goroutine", "goroutine, thread, descriptor or watch"},
		{Verdict, "verdict:leaking|suspicious", "what the series says of it"},
		{Triage, "-triage:benign", "what a person said of it: unreviewed, reviewed, benign, suspicious"},
		{Rule, "rule:cohort", "a rule that spoke for the verdict"},
		{FD, "fd:25", "a descriptor's number"},
		{Inode, "inode:48213", "a descriptor's inode"},
		{Path, "path:/var/lib/kubelet", "the file behind a descriptor or watch"},
		{Label, "label:t3", "a snapshot in which it has members, or a pprof label of them: label:tenant=a"},
		{Unit, "unit=u1", "the unit that it rises with"},
		{Class, "class:prober", "what it is known as"},
		{Process, "process=kubelet", "the program"},
	}
}

// Attributes returns the fields with the names of family attributes.
func Attributes() []Field {
	return []Field{"protocol", "role", "remote", "local", "peer", "type", "mount", "fstype", "mask", "name", "pool", "status", "sort"}
}

func (f Field) numeric() bool {
	switch f {
	case Wait, Count, Delta, Growth, FD, Inode:
		return true
	}
	return false
}

// listed are the only words that the field takes, nil if it takes any.
func (f Field) listed() []string {
	switch f {
	case Kind:
		var kinds []string
		for _, k := range analysis.Kinds() {
			kinds = append(kinds, string(k))
		}
		return kinds
	case Verdict:
		return []string{"leaking", "saturated", "suspicious", "scaling", "new", "shrinking", "gone", "stable", "too_few_points"}
	case Triage:
		return []string{"unreviewed", "reviewed", "benign", "suspicious"}
	}
	return nil
}

func known(name string) (Field, bool) {
	field := Field(strings.ToLower(name))
	for _, h := range Fields() {
		if h.Field == field {
			return field, true
		}
	}
	return field, slices.Contains(Attributes(), field)
}

// names lists all fields in words: "func, pkg, created, ...".
func names() string {
	var out []string
	for _, h := range Fields() {
		out = append(out, string(h.Field))
	}
	return strings.Join(out, ", ")
}

// nearest is the most similar field to a mistyped name, or "": "function" and "fnc"
// return "func".
func nearest(name string) Field {
	name = strings.ToLower(name)
	switch name {
	case "frame", "fn", "stack":
		return Func
	case "package", "module":
		return Pkg
	case "creator", "by":
		return Created
	case "oldest", "age":
		return Wait
	case "members", "n":
		return Count
	case "rise", "change", "diff":
		return Delta
	case "rate", "slope":
		return Growth
	case "file":
		return Path
	}
	best, least := Field(""), 3
	for _, h := range Fields() {
		candidate := string(h.Field)
		n := distance(name, candidate)
		if len(name) >= 3 && (strings.HasPrefix(candidate, name) || strings.HasPrefix(name, candidate)) {
			n = 1
		}
		if n < least && n < len(candidate) {
			best, least = h.Field, n
		}
	}
	return best
}

// distance is the number of letters to add, remove or change.
func distance(a, b string) int {
	if len(a) > 32 {
		return len(a)
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := before
			if a[i] != b[j] {
				cost++
			}
			before = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
