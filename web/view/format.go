package view

import (
	"slices"
	"strconv"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/say/document"
	"leakdiff/analysis/say/report"
	"leakdiff/analysis/say/wording"
)

const (
	hardSpace = "\u00a0"
	minus     = "\u2212"
)

// wakesOnTimer says in place of a wait that a family wakes on a timer: no dump ever shows
// a minute of it, however old it is.
const wakesOnTimer = "timer"

// shortWait is the oldest wait of a family of goroutines none of which shows a minute:
// "< 1 min", or "timer" where that tells nothing of their age. That is where they sleep,
// and where the catalogue knows that their own loop waits for a tick.
func shortWait(f *analysis.Family, states map[string]int, known *report.Family) string {
	if states["sleep"] > 0 || len(f.Loose) > 0 && strings.HasSuffix(f.Loose[0], "time.Sleep") {
		return wakesOnTimer
	}
	if known == nil || len(f.Loose) == 0 || !ticks(known.Classes) {
		return wording.Wait(0)
	}
	// Where the leaf is not the titled function they wait for somebody else.
	if main, _ := splitTitle(arrow(known.Title)); ShortFunc(f.Loose[0]) != main {
		return wording.Wait(0)
	}
	return wakesOnTimer
}

// ticks reports a class of the catalogue whose members wake on a timer.
func ticks(classes []string) bool {
	return slices.Contains(classes, "housekeeping") || slices.Contains(classes, "prober")
}

// ShortFunc is the function with the last element of its package path only:
// "kubelet.(*podWorkers).UpdatePod".
func ShortFunc(full string) string {
	path, _ := document.FunctionName(full)
	return full[strings.LastIndexByte(path, '/')+1:]
}

// Visible writes text that came from an uploaded file so that it can neither
// drive a page nor turn a line around; see wording.Printable.
func Visible(s string) string { return wording.Printable(s) }

func itoa(n int64) string { return strconv.FormatInt(n, 10) }
