package ingest

import (
	"slices"
	"strings"
	"time"

	"leakdiff/analysis"
)

// shareHost names the one host that the bundle knows for every process in it, but for
// those that may run on another host of a cluster.
func shareHost(snapshots []analysis.Snapshot, all []*group) {
	var host analysis.Fact
	for i, s := range snapshots {
		h := s.Process.Host
		if !h.Known() || slices.ContainsFunc(all[i].parts, (*part).printed) {
			continue // a command runs where it says, and the next one elsewhere
		}
		if host.Known() && host.Value != h.Value {
			return
		}
		host = h
	}
	for i := range snapshots {
		elsewhere := slices.ContainsFunc(all[i].parts, func(p *part) bool { return p.placing.anywhere })
		if host.Known() && !snapshots[i].Process.Host.Known() && !elsewhere {
			snapshots[i].Process.Host = analysis.Fact{Value: host.Value, Confidence: analysis.Medium, Source: "another process of the same bundle"}
		}
	}
}

// hostsByDirectory separates hosts that only their directories name: captures of one
// program in two directories that were taken over the same time, or have the same
// labels, are not one process after the other.
func hostsByDirectory(snapshots []analysis.Snapshot, all []*group) {
	type place struct{ key, where string }
	at := map[place][]int{}
	wheres := map[string][]string{}
	for i, s := range snapshots {
		where := whereOf(all[i].dir, s.Process.Name.Value)
		if s.Process.Host.Known() || s.Process.PID.Known() || where == "" {
			continue
		}
		p := place{s.Process.Key(), where}
		if len(at[p]) == 0 {
			wheres[p.key] = append(wheres[p.key], where)
		}
		at[p] = append(at[p], i)
	}
	for key, list := range wheres {
		apart := false
		for i, a := range list {
			for _, b := range list[i+1:] {
				apart = apart || sideBySide(snapshots, at[place{key, a}], at[place{key, b}])
			}
		}
		if !apart {
			continue
		}
		for _, where := range list {
			for _, i := range at[place{key, where}] {
				snapshots[i].Process.Host = analysis.Fact{Value: where, Source: "directory name", Confidence: analysis.Low}
			}
		}
	}
}

// whereOf returns a directory's path without its parts about time and program.
func whereOf(dir, process string) string {
	var words []string
	for _, word := range strings.Split(strings.ReplaceAll(dir, "!", ""), "/") {
		said := strings.Trim(formWord.ReplaceAllString(word, ""), "._- ")
		if word != "" && word != process && !token.MatchString(word) && said != "" && !ordinal(strings.ToLower(said)) {
			words = append(words, word)
		}
	}
	return strings.Join(words, "/")
}

// sideBySide reports whether two lists of snapshots overlap in time or, without
// times, in their labels; two single ones must have the same label and time.
func sideBySide(snapshots []analysis.Snapshot, a, b []int) bool {
	if len(a) == 1 && len(b) == 1 {
		x, y := &snapshots[a[0]], &snapshots[b[0]]
		return x.Label != "" && x.Label == y.Label && x.CapturedAt.Equal(y.CapturedAt)
	}
	if len(a) < 2 || len(b) < 2 {
		return false
	}
	labels := map[string]bool{}
	for _, i := range a {
		labels[snapshots[i].Label] = true
	}
	shared := 0
	for _, i := range b {
		if labels[snapshots[i].Label] {
			shared++
		}
	}
	firstA, lastA := span(snapshots, a)
	firstB, lastB := span(snapshots, b)
	if firstA.IsZero() || firstB.IsZero() {
		return shared >= 2
	}
	return firstA.Before(lastB) && firstB.Before(lastA)
}

func span(snapshots []analysis.Snapshot, list []int) (first, last time.Time) {
	for _, i := range list {
		at := snapshots[i].CapturedAt
		if at.IsZero() {
			continue
		}
		if first.IsZero() || at.Before(first) {
			first = at
		}
		if at.After(last) {
			last = at
		}
	}
	return first, last
}
