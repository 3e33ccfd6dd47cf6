package evidence

import (
	"testing"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/diff"
)

func TestWarningsInWords(t *testing.T) {
	at := time.Date(2026, 11, 21, 2, 58, 36, 0, time.UTC)
	for _, tt := range []struct {
		w    diff.Warning
		want string
	}{
		{diff.Warning{Form: "other_case"}, "A is of another case. Verdicts and small lines are those of B's case."},
		{diff.Warning{Form: "same_snapshot"}, "A and B are the same snapshot."},
		{diff.Warning{Form: "programs", Was: "kubelet", Is: "containerd"}, "Two programs: kubelet at t1, containerd at t6. Members are not followed."},
		{diff.Warning{Form: "hosts", Was: "node-a", Is: "node-b"}, "Two hosts: node-a at t1, node-b at t6. Members are not followed."},
		{diff.Warning{Form: "processes", Was: "7", Is: "8"}, "Two processes: pid 7 at t1, 8 at t6. Members are not followed."},
		{diff.Warning{Form: "perhaps_other_process"}, "Nothing says that t1 and t6 are of one process. Members are not followed."},
		{diff.Warning{Form: "restarted"}, "The process was restarted between t1 and t6. Members are not followed, and counts start again."},
		{diff.Warning{Form: "versions", Was: "1.34.4", Is: "1.35.0"}, "Two versions: 1.34.4 at t1, 1.35.0 at t6. A family may be new only because a function was renamed."},
		{diff.Warning{Form: "not_understood", At: "t6"}, "A part of the dump of t6 was not understood: its counts are lower bounds and prove neither growth nor shrinking."},
		{diff.Warning{Form: "cut", At: "t6"}, "The dump of t6 is cut: its counts are lower bounds and prove neither growth nor shrinking."},
		{diff.Warning{Form: "cut_with_twin", At: "t1"}, "The dump of t1 is cut: counts are from its complete twin, members only from what was read."},
		{diff.Warning{Form: "not_whole", At: "t6", Kind: analysis.KindThread}, "The evidence of threads at t6 is not whole: its counts are lower bounds."},
		{diff.Warning{Form: "shows_less", At: "t6", Kind: analysis.KindGoroutine}, "The evidence of goroutines at t6 shows less than that of others: counts of its families are lower bounds."},
		{diff.Warning{Form: "captured_once", At: "t1", Kind: analysis.KindWatch}, "Watches were captured only at t1 and are not compared."},
		{diff.Warning{Form: "not_listed", At: "t1", Kind: analysis.KindDescriptor}, "Descriptors of t1 were counted and not listed: their families are not compared."},
		{diff.Warning{Form: "two_forms", Kind: analysis.KindDescriptor, Was: analysis.FormBare, Is: analysis.FormEnds},
			"Descriptors were captured in two forms: t1 knows sockets by their inodes alone, t6 says where sockets lead. A family may be new or gone only because of that."},
		{diff.Warning{Form: "untimed", At: "t1"}, "No capture time of t1: the length of the interval is unknown."},
		{diff.Warning{Form: "untimed"}, "No capture time of t1 and t6: the length of the interval is unknown."},
		{diff.Warning{Form: "zoneless", At: "t6"}, "The time of t6 was read without a zone and taken as UTC: the length of the interval may be off by hours."},
		{diff.Warning{Form: "reversed", Captured: [2]time.Time{at.Add(time.Minute), at}}, "B was captured before A, by 1 min 0 s."},
		{diff.Warning{Form: "other_span", Kind: analysis.KindDescriptor, From: at.Add(218 * time.Second), To: at.Add(440 * time.Second), Captured: [2]time.Time{at, at.Add(440 * time.Second)}},
			"Descriptors were read from 03:02:14 to 03:05:56, over 3 min 42 s and not over 7 min 20 s."},
		{diff.Warning{Form: "other_limit", Name: "limit_open_files", Was: "1024", Is: "65536"}, "Another limit: open files (RLIMIT_NOFILE) is 1024 at t1 and 65536 at t6."},
		{diff.Warning{Form: "other_limit", Name: "process_max_fds", Was: "1024", Is: "2048"}, "Another limit: open files (RLIMIT_NOFILE) is 1024 at t1 and 2048 at t6."},
		{diff.Warning{Form: "other_limit", Name: "inotify_max_user_watches", Was: "8192", Is: "1048576"}, "Another limit: fs.inotify.max_user_watches is 8192 at t1 and 1048576 at t6."},
	} {
		tt.w.A, tt.w.B = "t1", "t6"
		if got := Warnings([]diff.Warning{tt.w})[0]; got != tt.want {
			t.Errorf("%s:\n%s, want\n%s", tt.w.Form, got, tt.want)
		}
	}
}

func TestALikenessInWords(t *testing.T) {
	for _, tt := range []struct {
		l    diff.Likeness
		want string
	}{
		{diff.Likeness{Form: "creator", Outer: 2}, "the same creator, 2 outer frames in common, then another way"},
		{diff.Likeness{Form: "creator"}, "the same creator, no frame in common"},
		{diff.Likeness{Form: "no_creator", Outer: 1}, "also without a creator, 1 outer frame in common, then another way"},
		{diff.Likeness{Form: "no_frames", Kind: analysis.KindGoroutine, At: "t1"}, "no goroutine of t1 has its creator or its outer frames"},
		{diff.Likeness{Form: "no_attributes", Kind: analysis.KindDescriptor, At: "t1"}, "no descriptor of t1 shares half of its attributes"},
		{diff.Likeness{Form: "same_family"}, "the same family"},
		{diff.Likeness{Form: "attributes", Equal: []string{"protocol", "remote"}, Other: []string{"state"}}, "same protocol, remote; other state"},
		{diff.Likeness{Form: "attributes", Equal: []string{"protocol"}}, "same protocol"},
	} {
		if got := Likeness(tt.l); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}
