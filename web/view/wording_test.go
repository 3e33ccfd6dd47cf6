package view

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/diff"
)

func TestARisingRowOfAFallingSeriesSaysWhenItEnded(t *testing.T) {
	tests := []struct {
		name    string
		a, b    int
		verdict analysis.Verdict
		counts  analysis.Counts
		want    string
	}{
		{"gone at the end", 0, 5, analysis.Gone, analysis.CountsOf(0, 5, 5, 0), "gone by t3"},
		{"gone before the end", 0, 5, analysis.Gone, analysis.CountsOf(0, 5, 0, 0), "gone by t2"},
		{"not captured in between", 0, 5, analysis.Gone, analysis.CountsOf(0, 5, -1, 0), "gone by t3"},
		{"shrunk", 2, 5, analysis.Shrinking, analysis.CountsOf(2, 5, 4, 1), "shrunk by t3"},
		{"a row that falls keeps its verdict", 5, 2, analysis.Shrinking, analysis.CountsOf(5, 2, 2, 1), ""},
		{"a leak keeps its verdict", 0, 5, analysis.Leaking, analysis.CountsOf(0, 5, 6, 7), ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m := diffMaker{in: DiffInput{
				Labels: []string{"t0", "t1", "t2", "t3"}, AIndex: 0, BIndex: 1,
				Counts:   only("f", test.counts),
				Verdicts: map[string]analysis.Judgement{"f": {Verdict: test.verdict}},
			}}
			got := m.fate(diff.Row{Family: &analysis.Family{Fingerprint: "f"}, A: test.a, B: test.b})
			if got != test.want {
				t.Errorf("fate is %q, want %q", got, test.want)
			}
		})
	}
}

func TestNamesOfResourcesLeaveTheMaskToTheAttributes(t *testing.T) {
	tests := []struct {
		name, title, mask string
		want              Func
	}{
		{"a watch", "inotify watch inside cgroup /sys/fs/cgroup/pids, IN_CREATE|IN_DELETE", "IN_CREATE|IN_DELETE (0x300)",
			Func{"inotify watch inside cgroup /sys/fs/cgroup/", "pids", "inotify watch inside cgroup /sys/fs/cgroup/pids, IN_CREATE|IN_DELETE"}},
		{"a socket", "TCP listener on 127.0.0.1:80", "", Func{"", "TCP listener on 127.0.0.1:80", "TCP listener on 127.0.0.1:80"}},
		{"a root ends with its slash", "inotify watch inside ext4 /", "", Func{"", "inotify watch inside ext4 /", "inotify watch inside ext4 /"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, _ := resourceName(test.title, test.mask)
			if d := cmp.Diff(test.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestSlopesAreWrittenAsInTheEvidence(t *testing.T) {
	tests := []struct {
		name, unit string
		value      float64
		want       string
	}{
		{"per hour, rounded", "per hour", 765.6, "+766/h"},
		{"per snapshot", "per snapshot", 2.5, "+2.5 per snapshot"},
		{"falling", "per hour", -0.04, "−0.04/h"},
		{"without a unit", "", 3, "+3 per snapshot"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := slope(test.value, test.unit); got != test.want {
				t.Errorf("slope is %q, want %q", got, test.want)
			}
		})
	}
}

func TestNotesAreNotShownAsProblems(t *testing.T) {
	tests := []struct {
		name            string
		problems, notes int
		words, status   string
	}{
		{"only notes", 2, 2, "2\u00a0notes", "note"},
		{"only problems", 1, 0, "1\u00a0problem", "problem"},
		{"both", 3, 2, "1\u00a0problem, 2\u00a0notes", "problem"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			n := TreeNode{problems: test.problems, notes: test.notes}
			if got := n.problemWords(); got != test.words {
				t.Errorf("words are %q, want %q", got, test.words)
			}
			if got := n.problemStatus("read"); got != test.status {
				t.Errorf("status is %q, want %q", got, test.status)
			}
		})
	}
}

func TestASearchHitSeparatesTheFunctionFromItsCreator(t *testing.T) {
	got := NewFunctionHit("manager.(*T).tick <- manager.(*T).Start", "", "", "")
	if d := cmp.Diff(Hit{Path: "manager.", Name: "(*T).tick", Aside: "← manager.(*T).Start"}, got); d != "" {
		t.Error(d)
	}
}

// only gives the counts of one family.
func only(fingerprint string, counts analysis.Counts) func(string) analysis.Counts {
	return func(asked string) analysis.Counts {
		if asked == fingerprint {
			return counts
		}
		return nil
	}
}
