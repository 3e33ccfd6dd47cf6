package store

import (
	"testing"
	"time"

	"leakdiff/analysis"
)

func TestLeaksAreThoseOfProcessesOfCases(t *testing.T) {
	f := open(t)
	a, b := f.leaks("node-a", 20, 9, "leaking"), f.leaks("node-b", 22, 5, "leaking")
	f.leaks("node-c", 21, 3, "grew")
	ofA := Leak{CaseID: a.ID, Title: "node-a", Process: "kubelet", Host: "node-a", Families: 1, First: november(20), Last: november(20).Add(time.Hour)}
	ofB := Leak{CaseID: b.ID, Title: "node-b", Process: "kubelet", Host: "node-b", Families: 1, First: november(22), Last: november(22).Add(time.Hour)}
	leaks := func(since, until, limit int) ([]Leak, int) {
		t.Helper()
		got, total, err := f.Leaks(f.ctx, LeakQuery{Since: november(since), Until: november(until), Limit: limit})
		f.ok(err)
		return got, total
	}
	for name, c := range map[string]struct {
		since, until, limit int
		want                []Leak
		total               int
	}{
		"all":                         {1, 30, 10, []Leak{ofB, ofA}, 2},
		"the latest":                  {1, 30, 1, []Leak{ofB}, 2},
		"captured since":              {21, 30, 10, []Leak{ofB}, 1},
		"begun before":                {1, 21, 10, []Leak{ofA}, 1},
		"captured at the very moment": {1, 20, 10, []Leak{ofA}, 1},
		"none":                        {23, 30, 10, nil, 0},
	} {
		got, total := leaks(c.since, c.until, c.limit)
		wantEqual(t, c.want, got)
		if total != c.total {
			t.Errorf("%s: %d in all, want %d", name, total, c.total)
		}
	}

	f.filled(a.ID, "twin", Result{Snapshots: []analysis.Snapshot{on("node-d", "twin", november(19), 1)}})
	if got, _ := leaks(1, 30, 10); len(got) != 2 {
		t.Errorf("a second host of the case is said to leak: %+v", got)
	}
	_, err := f.SetField(f.ctx, b.ID, "archived", "yes")
	f.ok(err)
	if got, _ := leaks(1, 30, 10); len(got) != 1 || got[0].CaseID != a.ID {
		t.Errorf("an archived case is listed: %+v", got)
	}
	_, err = f.SetMark(f.ctx, a.ID, Mark{Process: "kubelet", Fingerprint: prober, Triage: analysis.Triage{State: analysis.Benign, Note: "one per pod"}})
	f.ok(err)
	if got, _ := leaks(1, 30, 10); len(got) != 0 {
		t.Errorf("a benign family is said to leak: %+v", got)
	}
	sample := f.leaks("node-s", 24, 9, "leaking")
	f.isSample(sample)
	if got, total := leaks(1, 30, 10); len(got) != 0 || total != 0 {
		t.Errorf("a sample is said to leak: %+v", got)
	}
	c := f.leaks("node-e", 24, 9, "leaking")
	f.ok(f.DeleteCase(f.ctx, c.ID, WithdrawPermalinks))
	if got, total := leaks(1, 30, 10); len(got) != 0 || total != 0 {
		t.Errorf("a deleted case is listed: %+v", got)
	}
}

func TestALeakThatRecoveredWithinItsCapturesIsChosenOnlyOnRequest(t *testing.T) {
	f := open(t)
	c := f.leaks("node-a", 20, 9, "leaking")
	lasting := Ending{Process: "kubelet", Fingerprint: prober, Verdict: "leaking", Snapshot: snapshotID(c.ID[1:12] + "b")}
	recovered, grew := lasting, lasting
	recovered.Recovered, grew.Verdict = true, "grew"
	for name, step := range map[string]struct {
		endings      []Ending
		still, leaks int
	}{
		"one that lasts":                     {[]Ending{lasting}, 1, 1},
		"one that recovered":                 {[]Ending{recovered}, 0, 1},
		"two processes, the first recovered": {[]Ending{recovered, lasting}, 1, 1},
		"two, the second recovered":          {[]Ending{lasting, recovered}, 1, 1},
		"two, the second grew":               {[]Ending{recovered, grew}, 0, 1},
		"two, the first grew":                {[]Ending{grew, recovered}, 0, 1},
		"none leaks":                         {[]Ending{grew}, 0, 0},
	} {
		f.ok(f.SetCaseSummary(f.ctx, c.ID, Summary{Endings: step.endings}))
		still, total, err := f.Leaks(f.ctx, LeakQuery{Since: november(1), Until: november(30), Limit: 10})
		f.ok(err)
		leaks, _, err := f.Leaks(f.ctx, LeakQuery{Since: november(1), Until: november(30), Recovered: true, Limit: 10})
		f.ok(err)
		if len(still) != step.still || total != step.still || len(leaks) != step.leaks {
			t.Errorf("%s: %d still leak, %d in all, and %d with those that recovered", name, len(still), total, len(leaks))
		}
	}
	f.ok(f.SetCaseSummary(f.ctx, c.ID, Summary{Objects: []ObjectCount{{
		Name: "Session", Type: "shop.Session", First: ObjectSight{snapshotID(c.ID[1:12] + "a"), 2}, Last: ObjectSight{snapshotID(c.ID[1:12] + "b"), 9}, Verdict: "leaking", Recovered: true,
	}}}))
	if still, _, err := f.Leaks(f.ctx, LeakQuery{Since: november(1), Until: november(30), Limit: 10}); err != nil || len(still) != 0 {
		t.Errorf("objects that recovered leak: %+v, %v", still, err)
	}
}
