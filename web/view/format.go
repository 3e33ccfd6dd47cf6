package view

import (
	"slices"
	"strconv"
	"strings"

	"leakdiff/analysis"
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

// funcName splits a function into the package path, which is printed quietly,
// and the name.
//
//	k8s.io/kubernetes/pkg/kubelet.(*podWorkers).UpdatePod
//	→ "k8s.io/kubernetes/pkg/kubelet." and "(*podWorkers).UpdatePod"
func funcName(full string) (path, name string) {
	// The last slash in front of any receiver, type parameter or anonymous
	// function ends the directories; the first dot after it ends the package.
	head, slash := 0, 0
	for head < len(full) && full[head] != '(' && full[head] != '[' && full[head] != ' ' {
		if head++; full[head-1] == '/' {
			slash = head
		}
	}
	dot := strings.IndexByte(full[slash:], '.')
	if dot < 0 {
		return "", full
	}
	if slash == 0 {
		if full[0] >= 'A' && full[0] <= 'Z' {
			return "", full // a Java class without a package; Go has no such names
		}
		dot = max(dot, javaPackage(full[:head]))
	}
	return full[:slash+dot+1], full[slash+dot+1:]
}

// javaPackage is the dot that ends the package of a Java method, before the first
// part that begins with a capital: 9 for "java.lang.Thread.run", -1 for
// "main.run".
func javaPackage(name string) int {
	for i := 0; i+1 < len(name); i++ {
		if name[i] == '.' && name[i+1] >= 'A' && name[i+1] <= 'Z' {
			return i
		}
	}
	return -1
}

// ShortFunc is the function with the last element of its package path only:
// "kubelet.(*podWorkers).UpdatePod".
func ShortFunc(full string) string {
	path, _ := funcName(full)
	return full[strings.LastIndexByte(path, '/')+1:]
}

// Visible writes text that came from an uploaded file so that it can neither
// drive a page nor turn a line around; see wording.Printable.
func Visible(s string) string { return wording.Printable(s) }

func itoa(n int64) string { return strconv.FormatInt(n, 10) }
