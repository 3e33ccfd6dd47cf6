package report

import (
	"fmt"
	"slices"
	"strings"

	"leakdiff/analysis"
)

// watched is what the watches of a family are on in the last snapshot that holds it.
func (l *Line) watched(fingerprint string) []analysis.Target {
	for i := len(l.Snapshots) - 1; i >= 0; i-- {
		if GroupOf(l.Snapshots[i], fingerprint) != nil {
			return l.Snapshots[i].Watched[fingerprint]
		}
	}
	return nil
}

// fewPods is how many pods are named in a sentence.
const fewPods = 4

// remains says of families of watches how many targets are gone, and which pods they
// belonged to; "" where nothing is gone or no pod is known.
//
//	" 43 watches are on what is gone; 41 of them belonged to 12 pods: shop/cart-7d9f, … and 8 others."
func remains(families []*Family) string {
	gone, known := 0, 0
	var pods []string
	for _, f := range families {
		for _, t := range f.Watched {
			if t.State == analysis.TargetThere || t.State == analysis.TargetUnknown {
				continue
			}
			gone += t.Count
			name := podName(t)
			if name == "" {
				continue
			}
			known += t.Count
			if !slices.Contains(pods, name) {
				pods = append(pods, name)
			}
		}
	}
	if gone == 0 || len(pods) == 0 {
		return ""
	}
	slices.Sort(pods)
	named := strings.Join(pods[:min(len(pods), fewPods)], ", ")
	if more := len(pods) - fewPods; more > 0 {
		named += fmt.Sprintf(" and %s", plural(more, "other", "others"))
	}
	whose := "they"
	if known < gone {
		whose = fmt.Sprintf("%d of them", known)
	}
	return fmt.Sprintf(" %s on what is gone; %s belonged to %s: %s.", pluralVerb(gone), whose, plural(len(pods), "pod", "pods"), named)
}

func pluralVerb(n int) string {
	if n == 1 {
		return "1 watch is"
	}
	return fmt.Sprintf("%d watches are", n)
}

func podName(t analysis.Target) string {
	if t.Pod != "" {
		return t.Pod
	}
	return t.PodUID
}
