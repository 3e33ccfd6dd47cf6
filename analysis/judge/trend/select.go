package trend

import (
	"cmp"
	"math/bits"
	"time"

	"leakdiff/analysis"
)

// newestJudged captures of a series are all judged. newestMarks restarts and events keep the
// captures on both sides.
const (
	newestJudged = 64
	newestMarks  = 8
)

// Select returns the indexes of the captures of a series that are judged, in ascending order:
// the cost of a judgement then grows with the logarithm of the length of its series.
//
//  1. The newest 64 stay, and so does the first.
//  2. An older one stays while its index is divisible by 2^k. k is 2 below an age of 128
//     captures and grows by one whenever the age doubles: each doubling keeps 16.
//  3. The last capture before and the first after a restart, a change of version or an event
//     stay. Of these the newest 8 stay, and older ones by their number as in rule 2, each
//     doubling keeps 2: a program that restarts at every capture would keep everything.
//
// What left never returns: k only grows, and indexes and numbers do not change when a capture
// is appended. A restart that goroutine ids alone prove is no mark, since a choice must not
// need members. Of 100,000 captures at most 313 are judged, of 64 all.
func Select(snaps []*analysis.Snapshot, events []Event) []int {
	chosen := make([]bool, len(snaps))
	for i := range snaps {
		chosen[i] = i == 0 || isChosen(i, len(snaps), newestJudged)
	}
	marked := marks(snaps, events)
	for k, i := range marked {
		if isChosen(k, len(marked), newestMarks) {
			chosen[i-1], chosen[i] = true, true
		}
	}
	var out []int
	for i := range snaps {
		if chosen[i] {
			out = append(out, i)
		}
	}
	return out
}

// isChosen reports whether entry i of n is chosen, if the newest ones all are.
func isChosen(i, n, newest int) bool {
	k := bits.Len(uint((n - 1 - i) / newest))
	return k == 0 || i%(1<<(k+1)) == 0
}

// marks are the first captures after a restart, a change of version or an event, in ascending
// order.
func marks(snaps []*analysis.Snapshot, events []Event) (out []int) {
	var current start
	version, before := "", time.Time{}
	for i, snap := range snaps {
		marked := differ(version, snap.Process.Version.Value)
		if ended, _ := current.statedEnd(snap); ended {
			marked, current = true, start{}
		}
		current.learn(snap)
		version = cmp.Or(snap.Process.Version.Value, version)
		if at := snap.CapturedAt; !at.IsZero() {
			for _, e := range events {
				marked = marked || e.At.After(before) && !e.At.After(at)
			}
			before = at
		}
		if marked && i > 0 {
			out = append(out, i)
		}
	}
	return out
}
