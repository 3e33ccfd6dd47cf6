package view

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/say/wording"
)

func snapshotsBelow(all []analysis.Snapshot, indices []int) string {
	if len(indices) == 0 {
		return ""
	}
	if len(indices) == 1 {
		s := all[indices[0]]
		return strings.Join(nonEmpty(processWords(s), totalsWords(s.Totals)), "; ")
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
			names = append(names, snapshotProcess(s))
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

func processWords(s analysis.Snapshot) string {
	text := snapshotProcess(s)
	if s.Process.PID.Known() {
		text += ", pid " + Visible(s.Process.PID.Value)
	}
	return text
}

// snapshotProcess is the process of a snapshot; a table of sockets may name none.
func snapshotProcess(s analysis.Snapshot) string {
	if !s.Process.Name.Known() && !s.Process.PID.Known() && s.Totals.Sockets != nil {
		return "owner not known"
	}
	return processName(s.Process)
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
			parts = append(parts, wording.Number(int64(*n))+hardSpace+kindWord(t.Counted(k), *n))
		}
	}
	return strings.Join(parts, ", ")
}

func nonEmpty(parts ...string) []string {
	return slices.DeleteFunc(parts, func(s string) bool { return s == "" })
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

// startWords: "169797" gives "169 797 ticks after boot"; times stay as they are.
func startWords(value string) string {
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		return value
	}
	return wording.Exact(n) + " ticks after boot"
}
