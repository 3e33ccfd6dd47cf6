package family

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/expression"
)

var (
	// podPath is the uid of a pod in the path of a cgroup or volume, in the forms of
	// both cgroup drivers; static pods have 32 hex digits.
	podPath = expression.Lazy(`(?:/pods/|/(?:kubepods-)?(?:[a-z]+-)?pod)([0-9a-f]{8}[-_][0-9a-f]{4}[-_][0-9a-f]{4}[-_][0-9a-f]{4}[-_][0-9a-f]{12}|[0-9a-f]{32})(?:\.slice)?(?:/|$)`)
	// containerPath is the id of a container or of a pod's sandbox.
	containerPath = expression.Lazy(`(?:^|[/-])([0-9a-f]{64})(?:\.scope)?(?:/|$)`)
)

// podLogs is the directory of a pod's logs, which has its namespace, name and uid.
var podLogs = expression.Lazy(`/pods/([a-z0-9][a-z0-9-]*)_([a-z0-9][a-z0-9.-]*)_([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{32})(?:/|$)`)

// PodOfLogs reads the pod, "namespace/name", and its uid out of the path of its logs.
//
//	"/var/log/pods/shop_cart-7d9f_1b2c3d4e-…/app/0.log"   "shop/cart-7d9f", "1b2c3d4e-…"
func PodOfLogs(path string) (name, uid string, ok bool) {
	m := podLogs.FindStringSubmatch(path)
	if m == nil {
		return "", "", false
	}
	return m[1] + "/" + m[2], m[3], true
}

// podOf reads the uid of a pod and the id of a container out of a path on a node.
//
//	"/var/lib/kubelet/pods/1b2c3d4e-…/volumes/…"            the uid
//	"/kubepods.slice/kubepods-besteffort-pod1b2c3d4e_….slice/cri-containerd-64hex.scope"   both
func podOf(path string) (pod, container string) {
	if found := podPath.FindStringSubmatch(path); found != nil {
		pod = strings.ReplaceAll(found[1], "_", "-")
	}
	if found := containerPath.FindAllStringSubmatch(path, -1); found != nil {
		container = found[len(found)-1][1]
	}
	return pod, container
}

const (
	// maxTargets is how many rows of one family are kept.
	maxTargets = 200
	// fewPaths is the largest number of paths of one mount and pod that are listed one
	// by one.
	fewPaths = 20
)

// Targets lists the targets of one family's watches, which are members of all. Those
// that are gone come first. Cgroups are listed by their path in all hierarchies
// together, files by their path, or by their mount if it has many paths. names are
// "namespace/name" by pod uid.
func Targets(all []analysis.Watch, named []WatchTarget, members []int, names map[string]string) []analysis.Target {
	type place struct {
		where, pod string
		state      analysis.TargetState
	}
	rows := make([]analysis.Target, len(members))
	placeOf := func(i int) place {
		where := named[members[i]].Mount
		if named[members[i]].cgroup() {
			where = "cgroup"
		}
		return place{where, rows[i].PodUID, rows[i].State}
	}
	paths := map[place]map[string]bool{}
	for i, at := range members {
		rows[i] = target(&all[at], &named[at], names)
		at := placeOf(i)
		if at.where == "" {
			continue
		}
		if paths[at] == nil {
			paths[at] = map[string]bool{}
		}
		paths[at][rows[i].What] = true
	}
	distinct := targetRows{rows: rows, first: map[analysis.Target]int{}}
	for i := range rows {
		at := placeOf(i)
		if n := len(paths[at]); n > fewPaths {
			rows[i].What, rows[i].Container = fmt.Sprintf("%d files and directories in %s", n, at.where), ""
			if at.where == "cgroup" {
				rows[i].What = fmt.Sprintf("%d cgroups", n)
			}
		}
		distinct.count(i)
	}
	return distinct.foremost()
}

// targetRows counts equal rows, each in the first of its kind. A node has tens of
// thousands of them, nearly all different: they stay where they are.
type targetRows struct {
	rows []analysis.Target
	// firsts are the first of each kind; first is the index of a row's kind in it.
	firsts []int
	first  map[analysis.Target]int
}

func (t *targetRows) count(i int) {
	at, known := t.first[t.rows[i]]
	if !known {
		at = i
		t.first[t.rows[i]] = i
		t.firsts = append(t.firsts, i)
	}
	t.rows[at].Count++
}

// foremost sorts the rows and puts those that are too many into one.
func (t *targetRows) foremost() []analysis.Target {
	less := func(i, j int) int {
		a, b := &t.rows[i], &t.rows[j]
		if a.State != b.State {
			return order(a.State) - order(b.State)
		}
		return cmp.Or(b.Count-a.Count, strings.Compare(a.What, b.What), i-j)
	}
	keep := maxTargets
	if len(t.firsts) > maxTargets {
		keep--
	}
	// Of tens of thousands only the first are wanted, so nothing else is sorted.
	var best []int
	for _, i := range t.firsts {
		if len(best) == keep {
			if less(i, best[keep-1]) > 0 {
				continue
			}
			best = best[:keep-1]
		}
		at, _ := slices.BinarySearchFunc(best, i, less)
		best = slices.Insert(best, at, i)
	}
	var out []analysis.Target
	listed := 0
	for _, i := range best {
		out = append(out, t.rows[i])
		listed += t.rows[i].Count
	}
	if more := len(t.firsts) - len(best); more > 0 {
		out = append(out, analysis.Target{What: fmt.Sprintf("%d other targets", more), State: analysis.TargetUnknown,
			Why: "too many to be listed here; the members tell each", Count: len(t.rows) - listed})
	}
	return out
}

var orderOfStates = []analysis.TargetState{analysis.TargetRemoved, analysis.TargetUnmounted, analysis.TargetDeleted, analysis.TargetUnknown, analysis.TargetThere}

func order(s analysis.TargetState) int { return slices.Index(orderOfStates, s) }

func (t WatchTarget) cgroup() bool { return t.FSType == "cgroup" || t.FSType == "cgroup2" }

// target is the row of one watch.
func target(w *analysis.Watch, t *WatchTarget, names map[string]string) analysis.Target {
	out := analysis.Target{What: what(w, t), FSType: t.FSType, State: state(w, t), Why: t.Why}
	if out.FSType == statusUnknown {
		out.FSType = ""
	}
	if t.Unlisted {
		// One cgroup has another inode in every hierarchy.
		out.Why = "the list of all cgroups does not hold it"
	}
	switch {
	case out.State != analysis.TargetUnknown || out.Why != "":
	case !t.cgroup():
		out.Why = "a file keeps its watches when it is deleted and held open, and nothing names this one"
	default:
		out.Why = "a cgroup keeps its watches when it is removed, and no list of cgroups names this one"
	}
	if t.Former != "" {
		out.Why += "; it was there at " + t.Former
	}
	path := t.Path
	if path == "" {
		path = t.Mount
	}
	if path != "" {
		out.PodUID, out.Container = podOf(path)
		out.Pod = names[out.PodUID]
		if name, uid, ok := PodOfLogs(path); ok {
			out.Pod, out.PodUID = name, uid
		}
	}
	return out
}

// what names the target as well as it is known. The path of a cgroup is the same in
// every hierarchy.
//
//	"/sys/fs/cgroup/cpu/kubepods/pod1b2c…"  "/kubepods/pod1b2c…"
func what(w *analysis.Watch, t *WatchTarget) string {
	switch {
	case t.Path != "" && t.cgroup():
		if below, ok := strings.CutPrefix(t.Path, t.Mount); ok && t.Mount != "" {
			return cmp.Or(below, "/")
		}
		return t.Path
	case t.Path != "":
		return t.Path
	case t.Mount != "" && w.Inode == rootInode(t.FSType) && t.Status != statusRemoved:
		return t.Mount
	case t.Status == statusRemoved:
		return fmt.Sprintf("a cgroup, inode %d", w.Inode)
	case t.Mount != "":
		return fmt.Sprintf("inode %d of %s", w.Inode, t.Mount)
	case w.Inode == rootInode(t.FSType):
		return fmt.Sprintf("the root of device %d:%d", w.Device>>20, w.Device&0xfffff)
	}
	return fmt.Sprintf("inode %d of device %d:%d", w.Inode, w.Device>>20, w.Device&0xfffff)
}

func state(w *analysis.Watch, t *WatchTarget) analysis.TargetState {
	switch {
	case t.Status == statusRemoved:
		return analysis.TargetRemoved
	case t.Status == statusUnmounted:
		return analysis.TargetUnmounted
	case t.Deleted:
		return analysis.TargetDeleted
	case t.Status != statusMounted || t.Why != "":
		return analysis.TargetUnknown
	case w.Inode == rootInode(t.FSType):
		return analysis.TargetThere // the root of a mount cannot be removed
	case t.Path != "":
		return analysis.TargetThere
	}
	return analysis.TargetUnknown
}

// Gone reports whether the target of a watch has no name any more, so that an older
// capture of the same watch may have it.
func (t WatchTarget) Gone() bool { return t.Strong() && t.Path == "" }

// Recall completes a target that is gone from another capture of the same watch, at the
// instant of label.
func (t *WatchTarget) Recall(known WatchTarget, label string) {
	t.Path, t.Mount, t.Former = known.Path, known.Mount, label
	if t.FSType == statusUnknown {
		t.FSType = known.FSType
	}
}
