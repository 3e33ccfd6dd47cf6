package view

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"leakdiff/analysis"
	"leakdiff/analysis/say/report"
)

func TestAFamilyOfWatchesSaysWhatItWatches(t *testing.T) {
	count := 5
	f := NewFamily(FamilyInput{
		Process: "kubelet", Family: report.Family{Fingerprint: "w1:0", Kind: analysis.KindWatch, Title: "inotify watch on a removed cgroup of cgroup2 /sys/fs/cgroup"},
		Labels: []string{"t0"}, Counts: analysis.Counts{analysis.Counted(count)},
		Watched: []analysis.Target{
			{What: "/kubepods/pod1", FSType: "cgroup2", State: analysis.TargetRemoved, Why: "its file handle leads to no cgroup any more; it was there at t0", PodUID: "1b2c", Pod: "shop/cart", Container: "0123456789abcdef", Count: 3},
			{What: "/etc/x", FSType: "ext4", State: analysis.TargetThere, Count: 1},
			{What: "inode 7 of /sys/fs/cgroup", State: analysis.TargetUnknown, Why: "nothing names it", PodUID: "9f8e", Count: 1},
		},
	})
	want := []WatchedRow{
		{Watches: "3", What: "/kubepods/pod1", FSType: "cgroup2", Still: "no, the cgroup was removed: its file handle leads to no cgroup any more; it was there at t0", Pod: "shop/cart, container 0123456789ab"},
		{Watches: "1", What: "/etc/x", FSType: "ext4", Still: "yes", Pod: "none known"},
		{Watches: "1", What: "inode 7 of /sys/fs/cgroup", Still: "not known: nothing names it", Pod: "uid 9f8e"},
	}
	if d := cmp.Diff(want, f.Watched); d != "" {
		t.Error(d)
	}
	if f.WatchedNote != "3 of 5"+hardSpace+"watches are on what is gone; of 1 nothing tells." {
		t.Errorf("note %q", f.WatchedNote)
	}
	if text := f.Page().Body.Markdown(); !strings.Contains(text, "What they watch at t0") || !strings.Contains(text, "shop/cart") {
		t.Errorf("the Markdown does not tell it:\n%s", text)
	}
}
