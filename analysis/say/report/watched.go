package report

import (
	"fmt"
	"slices"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/say/wording"
)

// lastWith is the last snapshot that has a family, nil if none does.
func (j *JudgedSeries) lastWith(fingerprint string) *analysis.Snapshot {
	groups := j.Trend.Groups(fingerprint)
	for i := len(groups) - 1; i >= 0; i-- {
		if groups[i] != nil {
			return j.Snapshots[i]
		}
	}
	return nil
}

// dead states which watches of the last snapshot have a target that is gone, without
// those that a finding already accuses. Their existence is a proof by itself, even if
// their number does not grow.
func (j *JudgedSeries) dead(told []Finding, byPrint map[string]*Family) []Finding {
	at := len(j.Snapshots) - 1
	for at >= 0 && j.Snapshots[at].Totals.Watches == nil {
		at--
	}
	if at < 0 {
		return nil
	}
	gone, others := 0, 0
	f := Finding{Kind: FactFinding}
	var members []*Family
	for k := range j.Snapshots[at].Groups {
		g := &j.Snapshots[at].Groups[k]
		if family := byPrint[g.Family.Fingerprint]; family == nil || !family.onWhatIsGone() {
			continue
		} else if slices.ContainsFunc(told, func(x Finding) bool {
			return x.Kind != FactFinding && accusing(x.Verdict) && slices.Contains(x.Families, family.Fingerprint)
		}) {
			others += g.Count
		} else {
			gone += g.Count
			members = append(members, family)
			f.Families = append(f.Families, family.Fingerprint)
		}
	}
	if gone == 0 {
		return nil
	}
	f.Title = fmt.Sprintf("%d of %s on what is gone", gone, wording.Plural(*j.Snapshots[at].Totals.Watches, "watch is", "watches are"))
	f.Text = fmt.Sprintf("%s, %s: file systems or cgroups that are no longer there are still watched.", plainProcess(j), j.Snapshots[at].Label)
	if others > 0 {
		f.Text += fmt.Sprintf(" %d more such watches grow, see above.", others)
	}
	f.Text += " The program did not remove these watches with what they were on, and each counts against the limit until it is removed or its instance is closed. That is proven; nothing here shows that their number grows." + j.remains(members)
	j.learn(&f, byPrint)
	return []Finding{f}
}

// onWhatIsGone reports watches on a device that no line of mountinfo has, or on cgroups
// that were removed.
func (f *Family) onWhatIsGone() bool {
	return f.Kind == analysis.KindWatch && (f.Attributes["status"] == "not in mountinfo" || f.Attributes["status"] == "removed cgroup")
}

// fewPods is how many pods a sentence names.
const fewPods = 4

// remains words how many targets of watches are gone, and which pods they belonged to.
// It is "" if nothing is gone or no pod is known.
//
//	" 43 watches are on what is gone; 41 of them belonged to 12 pods: shop/cart-7d9f (gone since t3), … and 8 others."
func (j *JudgedSeries) remains(families []*Family) string {
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
			if since := j.goneSince(t.PodUID); since != "" {
				name += " (gone since " + since + ")"
			}
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
		named += fmt.Sprintf(" and %s", wording.Plural(more, "other", "others"))
	}
	whose := "they"
	if known < gone {
		whose = fmt.Sprintf("%d of them", known)
	}
	return fmt.Sprintf(" %s on what is gone; %s belonged to %s: %s.", wording.Plural(gone, "watch is", "watches are"), whose, wording.Plural(len(pods), "pod", "pods"), named)
}

// goneSince is the label of the first snapshot in which nothing is there of what was there of a
// pod in the one before, "" if it was never seen there.
func (j *JudgedSeries) goneSince(uid string) string {
	since := ""
	for i := len(j.Snapshots) - 1; i >= 0; i-- {
		s := j.Snapshots[i]
		if s.Totals.Watches == nil {
			continue
		}
		for _, targets := range s.Watched {
			if slices.ContainsFunc(targets, func(t analysis.Target) bool {
				return t.PodUID == uid && (t.State == analysis.TargetThere || t.State == analysis.TargetUnknown)
			}) {
				return since
			}
		}
		since = s.Label
	}
	return ""
}

func podName(t analysis.Target) string {
	if t.Pod != "" {
		return t.Pod
	}
	return t.PodUID
}
