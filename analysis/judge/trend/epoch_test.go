package trend

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"leakdiff/analysis"
)

func TestEpochs(t *testing.T) {
	fact := func(v string) analysis.Fact { return analysis.Fact{Value: v} }
	tests := []struct {
		name   string
		in     scenario
		change func([]*analysis.Snapshot)
		want   []int
	}{
		{
			name: "one process is one epoch",
			in:   only(piling("3 42 82")),
			want: []int{0, 0, 0},
		},
		{
			name: "another pid is another epoch",
			in:   scenario{families: map[string]string{onlyFamily: "1-9 1-9 1-9"}, pids: "7 7 8"},
			want: []int{0, 0, 1},
		},
		{
			name: "another start time of the same pid is another epoch",
			in:   only(piling("3 3 3")),
			change: func(s []*analysis.Snapshot) {
				s[0].Process.Start, s[1].Process.Start, s[2].Process.Start = fact("100"), fact("100"), fact("200")
			},
			want: []int{0, 0, 1},
		},
		{
			name: "ticks are not compared with a date",
			in:   only(piling("3 3")),
			change: func(s []*analysis.Snapshot) {
				s[0].Process.Start, s[1].Process.Start = fact("100"), fact("2026-11-21T02:58:10Z")
			},
			want: []int{0, 0},
		},
		{
			name: "an unknown pid in between does not hide a restart",
			in:   only(piling("3 3 3")),
			change: func(s []*analysis.Snapshot) {
				s[0].Process.PID, s[2].Process.PID = fact("7"), fact("8")
			},
			want: []int{0, 0, 1},
		},
		{
			name: "dumps of one file after a crash are of another process",
			in:   only(piling("3 3 3")),
			change: func(s []*analysis.Snapshot) {
				for i := range s {
					s[i].Artifacts = []analysis.Artifact{{Path: "app.log"}}
				}
				s[1].Statements = []analysis.Statement{{Key: analysis.CrashStatement, Path: "app.log"}}
			},
			want: []int{0, 0, 1},
		},
		{
			name: "two dumps that a signal ended are of two processes",
			in:   only(piling("3 3 3")),
			change: func(s []*analysis.Snapshot) {
				s[1].Signal, s[2].Signal = "SIGABRT", "SIGABRT"
			},
			want: []int{0, 0, 1},
		},
		{
			name: "a dump of another file than the crash may be older",
			in:   only(piling("3 3")),
			change: func(s []*analysis.Snapshot) {
				s[0].Artifacts, s[1].Artifacts = []analysis.Artifact{{Path: "app.log"}}, []analysis.Artifact{{Path: "t1.txt"}}
				s[0].Statements = []analysis.Statement{{Key: analysis.CrashStatement, Path: "app.log"}}
			},
			want: []int{0, 0},
		},
		{
			name: "another thread of the virtual machine is another process",
			in:   only(piling("3 3 3 3")),
			change: func(s []*analysis.Snapshot) {
				for i, native := range []int64{0x5324, 0, 0x5324, 0x6d7c} {
					vm := analysis.Group{Family: &analysis.Family{Kind: analysis.KindThread, Attributes: map[string]string{"name": "VM Thread", "sort": "vm"}}, Count: 1}
					vm.Members.Fill().ID = []int64{native}
					s[i].Groups = append(s[i].Groups, vm)
				}
			},
			want: []int{0, 0, 0, 1},
		},
		{
			name: "ids that start again are another process",
			in:   scenario{families: map[string]string{onlyFamily: "1-200 1-90,120-300 1-40"}},
			want: []int{0, 0, 1},
		},
		{
			name: "most may end at once without a restart where one has waited through",
			in:   scenario{families: map[string]string{onlyFamily: "1-200 1-290 1-40"}}.at("0 3600 7200"),
			change: func(s []*analysis.Snapshot) {
				for i := range s {
					s[i].TimeFact.Confidence = analysis.High
					s[i].Groups[0].OldestWait = 90 + 60*i
				}
			},
			want: []int{0, 0, 0},
		},
		{
			name: "nobody has waited longer than since the snapshot before: a restart",
			in:   scenario{families: map[string]string{onlyFamily: "1-200 1-290 1-40"}}.at("0 3600 7200"),
			change: func(s []*analysis.Snapshot) {
				for i := range s {
					s[i].TimeFact.Confidence = analysis.High
					s[i].Groups[0].OldestWait = 50
				}
			},
			want: []int{0, 0, 1},
		},
		{
			name: "times of files, which copying changes, prove no wait",
			in:   scenario{families: map[string]string{onlyFamily: "1-200 1-290 1-40"}}.at("0 36 72"),
			change: func(s []*analysis.Snapshot) {
				for i := range s {
					s[i].TimeFact.Confidence = analysis.Low
					s[i].Groups[0].OldestWait = 90
				}
			},
			want: []int{0, 0, 1},
		},
		{
			name: "most may end at once while the process listens at its socket",
			in:   scenario{families: map[string]string{onlyFamily: "1-200 1-290 1-40"}},
			change: func(s []*analysis.Snapshot) {
				for i := range s {
					s[i].Listener = analysis.Listener{Goroutine: 1, Address: 0x7f346f0d2000}
				}
			},
			want: []int{0, 0, 0},
		},
		{
			name: "one goroutine that listens at another socket is of another process, though the ids go on",
			in:   scenario{families: map[string]string{onlyFamily: "1-200 1-290"}},
			change: func(s []*analysis.Snapshot) {
				s[0].Listener, s[1].Listener = analysis.Listener{Goroutine: 1, Address: 0x7f346f0d2000}, analysis.Listener{Goroutine: 1, Address: 0x7f5556a4c000}
			},
			want: []int{0, 1},
		},
		{
			name: "another goroutine may listen at another socket of the process",
			in:   scenario{families: map[string]string{onlyFamily: "1-200 1-290"}},
			change: func(s []*analysis.Snapshot) {
				s[0].Listener, s[1].Listener = analysis.Listener{Goroutine: 1, Address: 0x7f346f0d2000}, analysis.Listener{Goroutine: 7, Address: 0x7f346f0d3000}
			},
			want: []int{0, 0},
		},
		{
			name: "the newest goroutine may end without a restart",
			in:   scenario{families: map[string]string{onlyFamily: "1-200 1-199"}},
			want: []int{0, 0},
		},
		{
			name: "a recovery keeps few of the members and is no restart while ids go on",
			in:   scenario{families: map[string]string{onlyFamily: "1-747 1-20,800-844"}},
			want: []int{0, 0},
		},
		{
			name: "ids without any in common are another process",
			in:   scenario{families: map[string]string{onlyFamily: "1-20 500-560"}},
			want: []int{0, 1},
		},
		{
			name: "equal start times without a pid leave it to the ids",
			in:   scenario{families: map[string]string{onlyFamily: "1-20 500-560"}},
			change: func(s []*analysis.Snapshot) {
				s[0].Process.Start, s[1].Process.Start = fact("100"), fact("100")
			},
			want: []int{0, 1},
		},
		{
			name: "equal start times with one pid known leave it to the ids",
			in:   scenario{families: map[string]string{onlyFamily: "1-20 500-560 1-20"}},
			change: func(s []*analysis.Snapshot) {
				for _, snap := range s {
					snap.Process.Start = fact("100")
				}
				s[1].Process.PID = fact("7")
			},
			want: []int{0, 1, 2},
		},
		{
			name: "a start that only the second snapshot tells is no restart",
			in:   only(piling("3 3")),
			change: func(s []*analysis.Snapshot) {
				s[1].Figures = map[string]float64{startFigure: 1e9}
			},
			want: []int{0, 0},
		},
		{
			name: "others that have waited for long, and nobody of before: a restart",
			in:   scenario{families: map[string]string{onlyFamily: "100-300 1-40"}}.at("0 3600"),
			change: func(s []*analysis.Snapshot) {
				for i := range s {
					s[i].TimeFact.Confidence = analysis.High
					s[i].Groups[0].OldestWait = 90
				}
			},
			want: []int{0, 1},
		},
		{
			name: "a cut dump may lack all ids that the next one has",
			in:   scenario{families: map[string]string{onlyFamily: "1-20 500-560"}},
			change: func(s []*analysis.Snapshot) {
				s[0].Truncated = true
			},
			want: []int{0, 0},
		},
		{
			name: "equal pid and start time settle it whatever the ids do",
			in:   scenario{families: map[string]string{onlyFamily: "1-200 300-310 5-9"}, pids: "7 7 7"},
			change: func(s []*analysis.Snapshot) {
				for _, snap := range s {
					snap.Process.Start = fact("16042")
				}
			},
			want: []int{0, 0, 0},
		},
		{
			name: "a pid alone does not: containers use 1 again",
			in:   scenario{families: map[string]string{onlyFamily: "2-200 300-310"}, pids: "1 1"},
			want: []int{0, 1},
		},
		{
			name:   "a cut dump proves nothing by what it lacks",
			in:     scenario{families: map[string]string{onlyFamily: "1-200 3-9 1-210"}},
			change: func(s []*analysis.Snapshot) { s[1].Truncated, s[1].LowerBound = true, true },
			want:   []int{0, 0, 0},
		},
		{
			name: "a snapshot without goroutines stays where it is and the next is compared past it",
			in:   scenario{families: map[string]string{onlyFamily: "1-200 - 1-40 2-41"}},
			want: []int{0, 0, 1, 1},
		},
		{
			name: "counts without ids stay in one epoch",
			in:   scenario{families: map[string]string{onlyFamily: "#200 #10 #200"}},
			want: []int{0, 0, 0},
		},
		{
			name: "no snapshots have no epochs",
			in:   scenario{},
			want: []int{},
		},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			snaps := tc.in.snapshots(t)
			if tc.change != nil {
				tc.change(snaps)
			}
			if diff := cmp.Diff(tc.want, Epochs(snaps)); diff != "" {
				t.Errorf("epochs (-want +got):\n%s", diff)
			}
		})
	}
}

// The largest ids and the common ids are those of corpus/series/restart.
func TestEpochsOfTheRestartSeries(t *testing.T) {
	sc := scenario{
		families: map[string]string{onlyFamily: strings.Join([]string{
			"1-27,51-72", "1-27,60-70,475-514", "1-27,60-70,475-514,918-957",
			"1-27,60-70,475-514,918-957,1361-1400", "1-27,60-70,475-514,918-957,1361-1400,1808-1847", "1-28,195-218",
		}, " ")},
		newest: "72 514 957 1400 1847 218",
	}
	if diff := cmp.Diff([]int{0, 0, 0, 0, 0, 1}, Epochs(sc.snapshots(t))); diff != "" {
		t.Errorf("epochs (-want +got):\n%s", diff)
	}
}
