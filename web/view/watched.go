package view

import (
	"fmt"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/say/wording"
)

// WatchedRow is what some watches of a family are on.
type WatchedRow struct {
	Watches, What, FSType string
	// Still says whether it exists, and how that is known.
	Still string
	Pod   string
}

func (m *familyMaker) watched(f *Family) {
	gone, unknown, all := 0, 0, 0
	for _, t := range m.in.Watched {
		all += t.Count
		row := WatchedRow{Watches: wording.Number(int64(t.Count)), What: Visible(t.What), FSType: Visible(t.FSType), Pod: watchedPod(t)}
		switch t.State {
		case analysis.TargetRemoved:
			row.Still = "no, the cgroup was removed"
		case analysis.TargetUnmounted:
			row.Still = "no, not mounted"
		case analysis.TargetDeleted:
			row.Still = "no, deleted"
		case analysis.TargetThere:
			row.Still = "yes"
		default:
			row.Still = "not known"
		}
		switch t.State {
		case analysis.TargetThere:
		case analysis.TargetUnknown:
			unknown += t.Count
		default:
			gone += t.Count
		}
		if t.Why != "" {
			row.Still += ": " + Visible(t.Why)
		}
		f.Watched = append(f.Watched, row)
	}
	if all == 0 {
		return
	}
	f.WatchedNote = fmt.Sprintf("%s of %s on what is gone", wording.Number(int64(gone)), wording.PagePlural(int64(all), "watch is", "watches are"))
	if unknown > 0 {
		f.WatchedNote += fmt.Sprintf("; of %s nothing tells", wording.Number(int64(unknown)))
	}
	f.WatchedNote += "."
}

// watchedPod names the pod that a target is or was of.
//
//	"shop/cart-7d9f, container 1b2c3d4e5f60"
func watchedPod(t analysis.Target) string {
	var parts []string
	switch {
	case t.Pod != "":
		parts = append(parts, Visible(t.Pod))
	case t.PodUID != "":
		parts = append(parts, "uid "+Visible(t.PodUID))
	}
	if t.Container != "" {
		const short = 12
		parts = append(parts, "container "+Visible(t.Container[:min(short, len(t.Container))]))
	}
	if len(parts) == 0 {
		return "none known"
	}
	return strings.Join(parts, ", ")
}
