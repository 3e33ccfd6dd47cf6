package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/say/wording"
)

// levelForms makes the snapshots of a series comparable if they were captured in forms
// that show different things. It drops threads of the virtual machine if other
// snapshots cannot have them. It leaves evidence that shows less than the others out of
// verdicts. notShown gets the snapshots that cannot show a family, by fingerprint.
func (j *JudgedSeries) levelForms(notShown map[string][]bool) {
	j.limits = nil
	threads := j.forms(analysis.KindThread)
	if len(threads[analysis.FormFull]) > 0 && len(threads[analysis.FormJava]) > 0 {
		for _, i := range threads[analysis.FormFull] {
			j.Snapshots[i] = withoutVM(j.Snapshots[i])
		}
		j.mixed(threads[analysis.FormFull], "list the threads of the virtual machine, which the other snapshots cannot; these are not counted")
	}
	if whole := len(threads[analysis.FormFull]) + len(threads[analysis.FormJava]); whole > 0 {
		j.leaveOut(threads[analysis.FormCapped], analysis.KindThread, "show a few frames of each stack only and are left out of verdicts on threads")
		j.leaveOut(threads[analysis.FormCounted], analysis.KindThread, "count threads, show none of them and are left out of verdicts on threads")
		j.leaveOut(threads[analysis.FormVirtual], analysis.KindThread, "list virtual threads, which the other snapshots cannot, and are left out of verdicts on threads")
	}
	sockets := j.forms(analysis.KindDescriptor)
	tables := sockets[analysis.FormSockets]
	switch {
	case len(sockets[analysis.FormBare]) > 0:
		j.leaveOut(tables, analysis.KindDescriptor, "list sockets and no other descriptor, and are left out of verdicts on descriptors")
	case len(sockets[analysis.FormEnds]) > 0:
		j.countTables(tables, notShown)
	}
	if slices.ContainsFunc(j.Snapshots, func(s *analysis.Snapshot) bool {
		return s.Totals.Descriptors != nil && s.Totals.Handles == nil && s.Forms[analysis.KindDescriptor] != analysis.FormInstances
	}) {
		j.leaveOut(sockets[analysis.FormInstances], analysis.KindDescriptor, "list inotify instances and no other descriptor, and are left out of verdicts on descriptors")
	}
	if slices.ContainsFunc(j.Snapshots, func(s *analysis.Snapshot) bool { return s.Totals.Descriptors != nil && s.Totals.Handles == nil }) {
		j.leaveOut(sockets[analysis.FormHandles], analysis.KindDescriptor, "list sockets and pipes and no file, and are left out of verdicts on descriptors")
	}
	if bare := sockets[analysis.FormBare]; len(bare) > 0 && len(sockets[analysis.FormEnds]) > 0 {
		for i := range j.Snapshots {
			j.Snapshots[i] = joinSockets(j.Snapshots[i])
		}
		j.mixed(bare, "do not show where their sockets lead; in all of them the sockets are compared as one family")
	}
	j.levelSockets(tables)
	j.thinned()
}

// levelSockets follows the sockets of tables by what all of them show: netstat and ss without
// -e have no inodes, netstat no numbers of descriptors.
func (j *JudgedSeries) levelSockets(tables []int) {
	rows, inodes, numbers := 0, 0, 0
	for _, i := range tables {
		for _, g := range j.Snapshots[i].Groups {
			for id := range g.Members.Identities() {
				if g.Family.Kind != analysis.KindDescriptor || id.Hash == 0 {
					continue
				}
				rows++
				if id.Sub != 0 {
					inodes++
				}
				if id.ID >= 0 {
					numbers++
				}
			}
		}
	}
	if (inodes == 0 || inodes == rows) && (numbers == 0 || numbers == rows) {
		return
	}
	for _, i := range tables {
		s := *j.Snapshots[i]
		s.Groups = slices.Clone(s.Groups)
		for k := range s.Groups {
			if g := &s.Groups[k]; g.Family.Kind == analysis.KindDescriptor && g.Members.Identified() {
				g.Members = byEnds(&g.Members, inodes == rows, numbers == rows)
			}
		}
		j.Snapshots[i] = &s
	}
}

// countTables counts the sockets of tables among those of listings. A table has no other
// descriptors and follows sockets by other identities.
func (j *JudgedSeries) countTables(tables []int, notShown map[string][]bool) {
	if len(tables) == 0 {
		return
	}
	for _, s := range j.Snapshots {
		for i := range s.Groups {
			f := s.Groups[i].Family
			if f.Kind != analysis.KindDescriptor || slices.Contains(internet, f.Attributes["protocol"]) {
				continue
			}
			if notShown[f.Fingerprint] == nil {
				notShown[f.Fingerprint] = make([]bool, len(j.Snapshots))
			}
			for _, table := range tables {
				notShown[f.Fingerprint][table] = true
			}
		}
	}
	for _, i := range tables {
		s := *j.Snapshots[i]
		s.Groups = slices.Clone(s.Groups)
		for k := range s.Groups {
			if g := &s.Groups[k]; g.Family.Kind == analysis.KindDescriptor {
				g.Members = analysis.Members{}
			}
		}
		j.Snapshots[i] = &s
	}
	j.mixed(tables, "list sockets and no other descriptor; these are counted there and not followed")
}

// byEnds are members without the inodes or the numbers that not all tables show.
func byEnds(m *analysis.Members, inodes, numbers bool) (out analysis.Members) {
	out.Join(m)
	for i, hash := range out.Hash {
		if hash == 0 {
			continue // without ends
		}
		if !inodes {
			out.Sub[i] = 0
		}
		if !numbers {
			out.ID[i] = -1
		}
	}
	return out
}

// thinned says how many snapshots lost their members to a policy.
func (j *JudgedSeries) thinned() {
	n, last := 0, time.Time{}
	for _, s := range j.Snapshots {
		if s.Thinned.IsZero() {
			continue
		}
		if n++; s.Thinned.After(last) {
			last = s.Thinned
		}
	}
	if n > 0 {
		j.limits = append(j.limits, wording.SeriesThinned(n, len(j.Snapshots), last))
	}
}

// forms groups the snapshots of the series by what they show of a kind.
func (j *JudgedSeries) forms(kind analysis.Kind) map[string][]int {
	out := map[string][]int{}
	for i, s := range j.Snapshots {
		if form := s.Forms[kind]; form != "" {
			out[form] = append(out[form], i)
		}
	}
	return out
}

func (j *JudgedSeries) leaveOut(which []int, kind analysis.Kind, why string) {
	if len(which) == 0 {
		return
	}
	for _, i := range which {
		s := *j.Snapshots[i]
		s.Inexact = s.Inexact.With(kind, analysis.NotComparable)
		j.Snapshots[i] = &s
	}
	j.mixed(which, why)
}

func (j *JudgedSeries) mixed(which []int, why string) {
	if len(which) == 0 {
		return
	}
	labels := make([]string, len(which))
	for k, i := range which {
		labels[k] = j.Snapshots[i].Label
	}
	j.limits = append(j.limits, fmt.Sprintf("The snapshots were captured in several forms: those at %s %s.", strings.Join(labels, ", "), why))
}

// anySocket is the family of all sockets, with or without known ends.
var anySocket = &analysis.Family{
	Fingerprint: "d1:736f636b6574732d6f662d616e792d31", Kind: analysis.KindDescriptor, Title: "socket, its ends not known in every snapshot",
	Entry: "socket", Attributes: map[string]string{"type": "socket"},
}

// internet are the protocols whose sockets a list of links alone cannot distinguish.
var internet = []string{"TCP", "UDP", "UDPLITE", "SCTP", "DCCP", "MPTCP", "IP"}

// joinSockets is a snapshot with one family of all sockets. Their inodes are the same
// in every form, so that each can still be followed.
func joinSockets(s *analysis.Snapshot) *analysis.Snapshot {
	out := *s
	out.Groups = nil
	all := analysis.Group{Family: anySocket, OldestWait: -1, States: map[string]int{}}
	for _, g := range s.Groups {
		a := g.Family.Attributes
		if g.Family.Kind != analysis.KindDescriptor || a["type"] != "socket" && !slices.Contains(internet, a["protocol"]) {
			out.Groups = append(out.Groups, g)
			continue
		}
		all.Count += g.Count
		all.Members.Join(&g.Members)
	}
	if all.Count > 0 {
		out.Groups = append(out.Groups, all)
	}
	return &out
}

// withoutVM is a snapshot without the threads of the virtual machine.
func withoutVM(s *analysis.Snapshot) *analysis.Snapshot {
	out := *s
	out.Groups = nil
	dropped := 0
	for _, g := range s.Groups {
		if g.Family.Kind == analysis.KindThread && g.Family.Attributes["sort"] == string(analysis.VMThread) {
			dropped += g.Count
			continue
		}
		out.Groups = append(out.Groups, g)
	}
	if s.Totals.Threads != nil {
		left := *s.Totals.Threads - dropped
		out.Totals.Threads = &left
	}
	return &out
}
