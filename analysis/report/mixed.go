package report

import (
	"fmt"
	"slices"
	"strings"

	"leakdiff/analysis"
)

// level makes the snapshots of a series comparable where they were captured in
// forms that do not show the same (threads.md section 3, DESIGN.md section 9):
// threads of the virtual machine are dropped where other snapshots cannot have
// them, and what shows less than the others is left out of verdicts.
func (l *Line) level() {
	l.Mixed = nil
	threads := l.forms(analysis.KindThread)
	if len(threads[analysis.FormFull]) > 0 && len(threads[analysis.FormJava]) > 0 {
		for _, i := range threads[analysis.FormFull] {
			l.Snapshots[i] = withoutVM(l.Snapshots[i])
		}
		l.mixed(threads[analysis.FormFull], "list the threads of the virtual machine, which the other snapshots cannot; these are not counted")
	}
	if whole := len(threads[analysis.FormFull]) + len(threads[analysis.FormJava]); whole > 0 {
		l.leaveOut(threads[analysis.FormCapped], analysis.KindThread, "show a few frames of each stack only and are left out of verdicts on threads")
		l.leaveOut(threads[analysis.FormVirtual], analysis.KindThread, "list virtual threads, which the other snapshots cannot, and are left out of verdicts on threads")
	}
	sockets := l.forms(analysis.KindDescriptor)
	if len(sockets[analysis.FormEnds]) > 0 {
		l.leaveOut(sockets[analysis.FormBare], analysis.KindDescriptor, "do not show where their sockets lead and are left out of verdicts on descriptors")
	}
}

// forms are the snapshots of the series by what they show of a kind.
func (l *Line) forms(kind analysis.Kind) map[string][]int {
	out := map[string][]int{}
	for i, s := range l.Snapshots {
		if form := s.Forms[kind]; form != "" {
			out[form] = append(out[form], i)
		}
	}
	return out
}

func (l *Line) leaveOut(which []int, kind analysis.Kind, why string) {
	if len(which) == 0 {
		return
	}
	for _, i := range which {
		s := *l.Snapshots[i]
		s.Incomplete = append(slices.Clone(s.Incomplete), kind)
		l.Snapshots[i] = &s
	}
	l.mixed(which, why)
}

func (l *Line) mixed(which []int, why string) {
	if len(which) == 0 {
		return
	}
	labels := make([]string, len(which))
	for k, i := range which {
		labels[k] = l.Snapshots[i].Label
	}
	l.Mixed = append(l.Mixed, fmt.Sprintf("The snapshots were captured in several forms: those at %s %s.", strings.Join(labels, ", "), why))
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
