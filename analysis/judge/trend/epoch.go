package trend

import (
	"slices"
	"strings"

	"leakdiff/analysis"
)

// Epochs numbers the process starts of snapshots in time order, from 0: one number per
// snapshot. A new epoch begins if pid, start time or the version that names of captures
// state differ from what was known before.
// If they are unknown, the listener decides, or else the goroutine ids: a new epoch begins if the largest id
// fell, fewer than half of the earlier ids are left and no goroutine waited through, or
// if the two sets of ids have nothing in common. What a cut dump lacks proves nothing.
// A snapshot without goroutine ids belongs to the epoch before it.
// Of dumps in one file, such as a log, those after one that shows its process fail are of another
// process, and those in which the thread of the virtual machine itself has another id. Two dumps with
// each of which a signal ended the process are of two, whatever file they are in.
func Epochs(snaps []*analysis.Snapshot) []int {
	epochs := make([]int, len(snaps))
	var current start
	epoch := 0
	for i, snap := range snaps {
		if i > 0 && current.endedBy(snap) {
			epoch++
			current = start{}
		}
		current.learn(snap)
		epochs[i] = epoch
	}
	return epochs
}

// start is what is known of one process start.
type start struct {
	pid, began, release string
	// at is the start of the process in seconds since 1970, from its metrics or from
	// the age of its main thread. It is 0 if neither is known.
	at float64
	// machine is the native id of the thread of the virtual machine, 0 if unknown.
	machine int64
	// failed is the file in which the latest snapshot shows its process fail, "" if it lives.
	failed string
	// signalled reports that a signal ended the process with the latest snapshot.
	signalled bool
	// reference is the latest snapshot with goroutine ids. Complete dumps are preferred
	// to cut ones.
	reference *analysis.Snapshot
}

func (s *start) learn(snap *analysis.Snapshot) {
	if snap.Process.PID.Known() {
		s.pid = snap.Process.PID.Value
	}
	if snap.Process.Start.Known() {
		s.began = snap.Process.Start.Value
	}
	if release := named(snap); release != "" {
		s.release = release
	}
	if at := snap.Figures[startFigure]; at > 0 {
		s.at = at
	}
	if id := machineThread(snap); id > 0 {
		s.machine = id
	}
	s.failed, s.signalled = failedIn(snap), snap.Signal != ""
	if highest(snap) > 0 && (!cut(snap) || s.reference == nil) {
		s.reference = snap
	}
}

// startFigure is when a process began. Two figures of one process differ by the
// rounding of clocks, at most by sameStart seconds.
const (
	startFigure = "process_start_time_seconds"
	sameStart   = 10
)

// named is the version that the name of a capture states: such captures were made of
// different process starts. Contents that state a version state the start as well.
func named(snap *analysis.Snapshot) string {
	if snap.Process.Version.Confidence != analysis.Low {
		return ""
	}
	return snap.Process.Release()
}

func (s *start) endedBy(snap *analysis.Snapshot) bool {
	ended, certain := s.statedEnd(snap)
	return ended || !certain && s.idsDeny(snap)
}

// statedEnd is endedBy without a look at members. certain reports that they change nothing.
func (s *start) statedEnd(snap *analysis.Snapshot) (ended, certain bool) {
	pid, began := snap.Process.PID.Value, snap.Process.Start.Value
	if differ(s.pid, pid) {
		return true, true
	}
	if sameNotation(s.began, began) {
		// Equal start times of one pid are decisive.
		if s.began != began {
			return true, true
		}
		if s.pid != "" && pid != "" {
			return false, true
		}
	}
	if differ(s.release, named(snap)) {
		return true, true
	}
	if id := machineThread(snap); id > 0 && s.machine > 0 && id != s.machine {
		return true, true
	}
	if s.signalled && snap.Signal != "" {
		return true, true // each ended its process
	}
	if s.failed != "" && slices.ContainsFunc(snap.Artifacts, func(a analysis.Artifact) bool { return a.Path == s.failed }) {
		return true, true
	}
	at := snap.Figures[startFigure]
	return s.at > 0 && at > s.at+sameStart, false
}

// machineThread is the native id of "VM Thread" of HotSpot, which lives as long as its process, 0
// without one that is printed.
func machineThread(snap *analysis.Snapshot) int64 {
	for i := range snap.Groups {
		g := &snap.Groups[i]
		if g.Family.Kind != analysis.KindThread || g.Family.Attributes["sort"] != string(analysis.VMThread) || g.Family.Attributes["name"] != "VM Thread" || g.Count != 1 {
			continue
		}
		for id := range g.Members.IDs() {
			return id
		}
	}
	return 0
}

// failedIn is the file in which a snapshot shows why its process ended, "" if it shows no end.
func failedIn(snap *analysis.Snapshot) string {
	for i := range snap.Statements {
		switch x := &snap.Statements[i]; x.Key {
		case analysis.CrashStatement, analysis.AsleepStatement, analysis.TestLimitStatement:
			return x.Path
		}
	}
	return ""
}

// idsDeny reports whether the listener or the goroutine ids of snap prove another process than
// the reference. The largest id alone does not suffice: it falls by a few whenever the
// newest goroutine ends.
func (s *start) idsDeny(snap *analysis.Snapshot) bool {
	if s.reference == nil || highest(snap) == 0 {
		return false
	}
	if same, known := s.reference.Listener.SameProcess(snap.Listener); known {
		return !same
	}
	if cut(snap) {
		return false
	}
	if highest(snap) < highest(s.reference) {
		kept, all := stillThere(s.reference, snap)
		return 2*kept < all && !(kept > 0 && waitedThrough(s.reference, snap))
	}
	return !cut(s.reference) && disjoint(s.reference, snap)
}

// waitedThrough reports that a goroutine of later has waited since before earlier was
// taken, according to the capture times. The process was then already running. Most of
// its goroutines may have ended at once, when the cause of a leak went away.
func waitedThrough(earlier, later *analysis.Snapshot) bool {
	for _, s := range []*analysis.Snapshot{earlier, later} {
		if s.CapturedAt.IsZero() || s.TimeFact.Confidence != analysis.High {
			return false
		}
	}
	// Waits are in whole minutes, the times of two captures in seconds.
	since := later.CapturedAt.Sub(earlier.CapturedAt).Minutes() + 1
	for i := range later.Groups {
		if g := &later.Groups[i]; g.Family.Kind == analysis.KindGoroutine && since > 1 && float64(g.OldestWait) > since {
			return true
		}
	}
	return false
}

// stillThere counts the goroutine ids of earlier, and those of them in later.
func stillThere(earlier, later *analysis.Snapshot) (kept, all int) {
	present := make(map[int64]struct{})
	for id := range goroutineIDs(later) {
		present[id] = struct{}{}
	}
	for id := range goroutineIDs(earlier) {
		all++
		if _, ok := present[id]; ok {
			kept++
		}
	}
	return kept, all
}

// disjoint reports whether two dumps with ids share none. Goroutine 1 nearly always
// decides before a set is built.
func disjoint(a, b *analysis.Snapshot) bool {
	if sharesSome(a, b) {
		return false
	}
	lowestA, lowestB := lowest(a), lowest(b)
	if lowestA == 0 || lowestB == 0 || lowestA == lowestB {
		return false
	}
	kept, _ := stillThere(a, b)
	return kept == 0
}

// sharesSome reports that a small family has a goroutine in both dumps, which one of the
// first families mostly does. It answers without a look at all ids.
func sharesSome(a, b *analysis.Snapshot) bool {
	const few = 32
	k := 0
	for i := range a.Groups {
		g := &a.Groups[i]
		for k < len(b.Groups) && b.Groups[k].Family.Fingerprint < g.Family.Fingerprint {
			k++
		}
		if k == len(b.Groups) {
			return false
		}
		h := &b.Groups[k]
		if g.Family.Kind != analysis.KindGoroutine || h.Family.Fingerprint != g.Family.Fingerprint || g.Members.Len() > few || h.Members.Len() > few {
			continue
		}
		for id := range g.Members.IDs() {
			for other := range h.Members.IDs() {
				if id == other {
					return true
				}
			}
		}
	}
	return false
}

// highest is the largest goroutine id, 0 without ids.
func highest(snap *analysis.Snapshot) int64 {
	if snap.MaxGoroutineID > 0 {
		return snap.MaxGoroutineID
	}
	var high int64
	for id := range goroutineIDs(snap) {
		high = max(high, id)
	}
	return high
}

// lowest is the smallest goroutine id, 0 without ids.
func lowest(snap *analysis.Snapshot) int64 {
	var low int64
	for id := range goroutineIDs(snap) {
		if low == 0 || id < low {
			low = id
		}
		if low == 1 {
			break // the id of main
		}
	}
	return low
}

func goroutineIDs(snap *analysis.Snapshot) func(yield func(int64) bool) {
	return func(yield func(int64) bool) {
		for i := range snap.Groups {
			if snap.Groups[i].Family.Kind != analysis.KindGoroutine {
				continue
			}
			for id := range snap.Groups[i].Members.IDs() {
				if !yield(id) {
					return
				}
			}
		}
	}
}

func cut(snap *analysis.Snapshot) bool { return snap.Truncated || snap.LowerBound }

func differ(a, b string) bool { return a != "" && b != "" && a != b }

// sameNotation reports whether two start times are known and in one notation: ticks
// ("16042") are never compared with a date ("2026-11-21T02:58:10Z").
func sameNotation(a, b string) bool {
	return a != "" && b != "" && ticks(a) == ticks(b)
}

func ticks(start string) bool { return strings.Trim(start, "0123456789") == "" }
