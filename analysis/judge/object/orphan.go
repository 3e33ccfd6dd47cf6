package object

import (
	"slices"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/trend"
)

// Orphans are the open descriptors of one sort that no goroutine waits for and that belong to
// no object that is known, where captures have pairs of goroutines and descriptors. A
// descriptor without a goroutine is no fault by itself: a connection between two requests has
// none either. One sort that grows is opened and never closed.
type Orphans struct {
	Sort Sort
	// Counts, Born and Ended have an entry for each snapshot, nil where the snapshot does not
	// show which goroutine waits for which descriptor.
	Counts, Born, Ended analysis.Counts
	// All are the descriptors of the sort in each snapshot, those with a goroutine included.
	All analysis.Counts
	// Families are the families of descriptors of which most are orphans in the last snapshot
	// that has orphans, by fingerprint.
	Families []string
	// Judgement is the verdict on the number of orphans.
	Judgement analysis.Judgement
}

// Sort is a sort of descriptors that a goroutine can wait for, in words: one and several.
type Sort struct{ One, Many string }

// The sorts. Those of files are left out: nobody waits for a file.
var (
	fifo       = Sort{"FIFO", "FIFOs"}
	pipe       = Sort{"end of a pipe", "ends of pipes"}
	listener   = Sort{"listener", "listeners"}
	unixSocket = Sort{"unix socket", "unix sockets"}
	socket     = Sort{"socket", "sockets"}
	inotify    = Sort{"inotify instance", "inotify instances"}
)

// sortOf is the sort of a family's descriptors. waited is false for those that no goroutine
// can wait for.
func sortOf(f *analysis.Family) (s Sort, waited bool) {
	switch kind := f.Attributes["type"]; kind {
	case "FIFO":
		return fifo, true
	case "pipe":
		return pipe, true
	case "listener":
		return listener, true
	case "unix":
		return unixSocket, true
	case "socket", "netlink", "packet", "raw":
		return socket, true
	case "anon_inode":
		return inotify, f.Attributes["name"] == "inotify"
	}
	switch protocol := strings.ToUpper(f.Attributes["protocol"]); protocol {
	case "":
		return Sort{}, false
	case "TCP":
		return Sort{"TCP connection", "TCP connections"}, true
	default:
		return Sort{protocol + " socket", protocol + " sockets"}, true
	}
}

// FindOrphans finds the orphans of snapshots in time order that grow. epochs are those of
// trend.Series. It returns nothing without pairs.
func FindOrphans(snapshots []*analysis.Snapshot, epochs []int) (out []Orphans) {
	f := orphanFinder{snapshots: snapshots, epochs: epochs, bySort: map[Sort]*orphans{}, shown: make([]bool, len(snapshots))}
	for i, s := range snapshots {
		if paired(s) {
			f.snapshot(i)
		}
	}
	f.judge()
	for _, sort := range f.order {
		if o := f.bySort[sort]; o.Judgement.Verdict.Rose() && !f.inSystemCalls(o) {
			f.follow(o)
			out = append(out, o.Orphans)
		}
	}
	return out
}

type orphans struct {
	Orphans
	family *analysis.Family
	// members are the orphans of each snapshot.
	members [][]analysis.Identity
}

type orphanFinder struct {
	snapshots []*analysis.Snapshot
	epochs    []int
	bySort    map[Sort]*orphans
	order     []Sort
	// shown are the snapshots that say who waits for what.
	shown []bool
}

// mostUnpaired is the share of the goroutines that wait for a descriptor whose descriptor may
// be unknown, in percent. The connection that fetched the dump is always one.
const mostUnpaired = 5

// paired reports a snapshot that shows the descriptors of nearly all goroutines that wait for
// one: of a capture that stopped half way nothing is known of the others.
func paired(s *analysis.Snapshot) bool {
	if len(s.Pairs) == 0 || s.LowerBound || s.Bounded(analysis.KindDescriptor) {
		return false
	}
	waiting := stateCount(s, "IO wait")
	known := map[int64]bool{}
	for _, p := range s.Pairs {
		known[p.Goroutine] = true
	}
	missing := waiting - len(known)
	return missing <= max(2, mostUnpaired*waiting/100)
}

func stateCount(s *analysis.Snapshot, state string) (n int) {
	for i := range s.Groups {
		if s.Groups[i].Family.Kind == analysis.KindGoroutine {
			n += s.Groups[i].States[state]
		}
	}
	return n
}

// held are the descriptors of a snapshot that goroutines wait for, and the inodes of these:
// the other end of a pipe belongs to who reads the first one.
func held(s *analysis.Snapshot) (fds, inodes map[int64]bool) {
	fds, inodes = map[int64]bool{}, map[int64]bool{}
	for _, p := range s.Pairs {
		fds[int64(p.FD)] = true
	}
	for i := range s.Groups {
		g := &s.Groups[i]
		if g.Family.Kind != analysis.KindDescriptor || !g.Members.Identified() {
			continue
		}
		if _, waited := sortOf(g.Family); !waited {
			continue
		}
		for id := range g.Members.Identities() {
			if fds[id.ID] && id.Sub != 0 {
				inodes[id.Sub] = true
			}
		}
	}
	return fds, inodes
}

// standardError is the last of the descriptors that a process inherits.
const standardError = 2

// snapshot adds the orphans of one snapshot.
func (f *orphanFinder) snapshot(i int) {
	s := f.snapshots[i]
	fds, inodes := held(s)
	f.shown[i] = true
	families := map[Sort][]string{}
	for k := range s.Groups {
		g := &s.Groups[k]
		sort, waited := sortOf(g.Family)
		if g.Family.Kind != analysis.KindDescriptor || !waited || !g.Members.Identified() {
			continue
		}
		o, inside := f.of(sort), 0
		for id := range g.Members.Identities() {
			if id.ID <= standardError {
				continue // who started the process has opened it
			}
			o.All.Add(i, 1)
			if !fds[id.ID] && (id.Sub == 0 || !inodes[id.Sub]) {
				o.members[i] = append(o.members[i], id)
				inside++
			}
		}
		if 2*inside > g.Members.Len() {
			families[sort] = append(families[sort], g.Family.Fingerprint)
		}
	}
	for sort, prints := range families {
		f.bySort[sort].Families = prints
	}
}

func (f *orphanFinder) of(sort Sort) *orphans {
	o := f.bySort[sort]
	if o == nil {
		n := len(f.snapshots)
		o = &orphans{members: make([][]analysis.Identity, n)}
		o.Sort, o.Counts, o.Born, o.Ended, o.All = sort, make(analysis.Counts, n), make(analysis.Counts, n), make(analysis.Counts, n), make(analysis.Counts, n)
		o.family = &analysis.Family{Fingerprint: "o1:" + sort.One, Kind: analysis.KindDescriptor, Title: sort.One}
		f.bySort[sort] = o
		f.order = append(f.order, sort)
	}
	return o
}

// judge judges the orphans of each sort as the members of a family are.
func (f *orphanFinder) judge() {
	for i := range f.snapshots {
		for _, o := range f.bySort {
			if f.shown[i] {
				o.Counts.Add(i, len(o.members[i]))
				o.All.Add(i, 0)
			}
		}
	}
	var moved []*orphans
	for _, sort := range f.order {
		o := f.bySort[sort]
		o.Judgement = analysis.Judgement{Verdict: analysis.TooFewPoints, RecoveredAt: -1, Survivors: -1}
		if moves(o.Counts) >= leastMove {
			moved = append(moved, o)
		}
	}
	if len(moved) == 0 {
		return
	}
	in := trend.Input{Epochs: f.epochs}
	for i, s := range f.snapshots {
		only := bare(s)
		for _, o := range moved {
			o.addTo(only, i)
		}
		slices.SortFunc(only.Groups, func(a, b analysis.Group) int {
			return strings.Compare(a.Family.Fingerprint, b.Family.Fingerprint)
		})
		in.Snapshots = append(in.Snapshots, only)
	}
	judged := trend.NewSeries(in).JudgeAll()
	for _, o := range moved {
		o.Judgement = judged[o.family.Fingerprint]
	}
}

// addTo adds the orphans of snapshot i to one that has orphans in place of descriptors.
func (o *orphans) addTo(only *analysis.Snapshot, i int) {
	if !o.Counts[i].Known() {
		return
	}
	if only.Totals.Descriptors == nil {
		only.Totals.Descriptors = new(int)
	}
	*only.Totals.Descriptors += o.Counts[i].N
	if o.Counts[i].N == 0 {
		return
	}
	var members analysis.Members
	c := members.Fill()
	for _, id := range o.members[i] {
		c.ID, c.Sub = append(c.ID, id.ID), append(c.Sub, id.Sub)
	}
	only.Groups = append(only.Groups, analysis.Group{Family: o.family, Count: len(o.members[i]), OldestWait: -1, Members: members})
}

// inSystemCalls reports orphans that goroutines in a system call can hold: their number rises
// by at least half as much. Such a goroutine waits without the poller, and has no pair.
func (f *orphanFinder) inSystemCalls(o *orphans) bool {
	first, last := -1, -1
	for i := range f.snapshots {
		if f.shown[i] {
			if first < 0 {
				first = i
			}
			last = i
		}
	}
	calls := stateCount(f.snapshots[last], "syscall") - stateCount(f.snapshots[first], "syscall")
	return calls > 0 && 2*calls >= o.Counts[last].N-o.Counts[first].N
}

// follow counts the descriptors that became orphans and that were closed or taken by a
// goroutine.
func (f *orphanFinder) follow(o *orphans) {
	before := -1
	for i := range f.snapshots {
		if !f.shown[i] {
			continue
		}
		if before >= 0 && f.epochs[before] == f.epochs[i] {
			was := map[analysis.Identity]bool{}
			for _, id := range o.members[before] {
				was[id] = true
			}
			stayed := 0
			for _, id := range o.members[i] {
				if was[id] {
					stayed++
				}
			}
			o.Born.Add(i, len(o.members[i])-stayed)
			o.Ended.Add(i, len(o.members[before])-stayed)
		}
		before = i
	}
}
