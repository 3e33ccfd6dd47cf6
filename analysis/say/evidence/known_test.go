package evidence

import (
	"testing"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/knowledge"
)

func TestAMatchSaysWhatItMeans(t *testing.T) {
	leak := &knowledge.Entry{Status: knowledge.Leak}
	own := &knowledge.Entry{Status: knowledge.Leak, Origin: "own.json"}
	backlog := &knowledge.Entry{Status: knowledge.BoundedBacklog, BoundMinutes: 10}
	told := &knowledge.Entry{Project: "kubernetes", Trigger: "a restart"}
	told.Signature.Frames = []string{"k8s.io/utils/inotify.(*Watcher).readEvents"}
	told.Versions.Component, told.Versions.Fixed = "kubelet", []string{"1.16.6"}
	for _, tt := range []struct {
		meaning analysis.Form
		entry   *knowledge.Entry
		basis   knowledge.Basis
		oldest  int
		want    string
	}{
		{"unseen", leak, knowledge.Possible, -1, "Possible: the stack fits what the fix changed, and no published dump shows it yet."},
		{"no_states", leak, knowledge.Possible, -1, "Possible: healthy programs have this stack as well, and this form of dump shows no states; a dump with debug=2 decides."},
		{"no_stack", told, knowledge.Possible, -1, "Possible: there is no stack to compare; it needs a dump with k8s.io/utils/inotify.(*Watcher).readEvents, and kubernetes in the program, and a version of kubelet before 1.16.6, and its trigger."},
		{"no_stack", leak, knowledge.Possible, -1, "Possible: there is no stack to compare; it needs the stack or the code that made it."},
		{"grows_with_fix", leak, knowledge.Looks, -1, "Same signature and growth, but the version that was seen has the fix: no accusation."},
		{"grows_before", leak, knowledge.Looks, -1, "Same signature and growth, but the version that was seen is older than the leak: no accusation."},
		{"has_fix", leak, knowledge.Looks, -1, "Same signature, but the version that was seen has the fix: no accusation."},
		{"is_older", leak, knowledge.Looks, -1, "Same signature, but the version that was seen is older than the leak: no accusation."},
		{"similar", leak, knowledge.Looks, -1, "Similar only: every program that uses these functions can show this stack; it needs the stack or the code that made it."},
		{"looks", leak, knowledge.Looks, -1, "Same signature, and nothing shows that it grows or is above what is expected: no accusation."},
		{"same_stack_and_state", own, knowledge.Growth, -1, "Same stack and state as this entry of your own, and it grows."},
		{"same_stack", leak, knowledge.Excess, -1, "Same stack as this published leak, and there are more than expected."},
		{"same_group", leak, knowledge.Growth, -1, "Same group as this published leak, and it grows."},
		{"by_status", &knowledge.Entry{Status: knowledge.LimitNotLeak}, knowledge.Growth, -1, "A limit that is used up, no leak: raise it, or need less."},
		{"by_status", &knowledge.Entry{Status: knowledge.NormalPerContainer}, knowledge.Growth, -1, "Looks like this report, where one for each container was normal: compare with the number of containers."},
		{"by_status", &knowledge.Entry{Status: knowledge.NormalPerRequest}, knowledge.Growth, -1, "Looks like this report, where one for each open request was normal: compare with the number of requests."},
		{"backlog_beyond", backlog, knowledge.Growth, 12, "Such a queue is worked off within 10 minutes; its oldest has waited for at least 12."},
		{"backlog_waits", backlog, knowledge.Growth, 8, "A queue that is worked off within 10 minutes; its oldest waits at least 8."},
		{"backlog_waits", backlog, knowledge.Growth, 0, "A queue that is worked off within 10 minutes; its oldest waits less than a minute."},
		{"backlog_within", backlog, knowledge.Growth, -1, "A queue that is worked off within 10 minutes; none was seen for longer."},
		{"backlog_unknown", backlog, knowledge.Growth, -1, "A queue that is worked off within 10 minutes; these dumps show no waits to tell."},
	} {
		if got := Meaning(knowledge.Match{Entry: tt.entry, Basis: tt.basis, Meaning: tt.meaning, Oldest: tt.oldest}); got != tt.want {
			t.Errorf("%s:\n%s, want\n%s", tt.meaning, got, tt.want)
		}
	}
}
