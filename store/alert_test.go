package store

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"leakdiff/analysis"
)

// told is an alert as the tests write it into the body of its delivery.
type told struct {
	Started     bool
	Fingerprint string
	Title       string
	Hosts       int
	Named       []string
}

// judge judges alerts and takes their deliveries.
func (f *fixture) judge(rule AlertRule) (out []told) {
	f.t.Helper()
	changed, err := f.JudgeAlerts(f.ctx, rule, func(a Alert) ([]byte, error) {
		return json.Marshal(told{a.Started, a.Fingerprint, a.Title, a.Hosts, a.Named})
	})
	f.ok(err)
	for range changed {
		d, claimed, _, err := f.ClaimDelivery(f.ctx, func(int) time.Duration { return time.Minute })
		f.ok(err)
		if !claimed {
			f.t.Fatalf("%d alerts changed, %d can be delivered", changed, len(out))
		}
		var one told
		f.ok(json.Unmarshal(d.Body, &one))
		out = append(out, one)
		f.ok(f.Delivered(f.ctx, d.ID))
	}
	return out
}

// leaks is a case of a host whose probers grow to n over enough captures to decide, judged by a
// verdict.
func (f *fixture) leaks(host string, day, n int, verdict string) Case {
	f.t.Helper()
	return f.leaksOver(host, day, n, verdict, decisiveCaptures)
}

// leaksOver is leaks over two captures or more in an hour.
func (f *fixture) leaksOver(host string, day, n int, verdict string, captures int) Case {
	f.t.Helper()
	c := f.newCase(host)
	r := Result{Snapshots: []analysis.Snapshot{on(host, c.ID[1:12]+"a", november(day), 1)}}
	for i := range captures - 2 {
		at := november(day).Add(time.Duration(i+1) * time.Minute)
		r.Snapshots = append(r.Snapshots, on(host, fmt.Sprintf("%s%d", c.ID[1:12], i), at, 1))
	}
	r.Snapshots = append(r.Snapshots, on(host, c.ID[1:12]+"b", november(day).Add(time.Hour), n))
	f.filled(c.ID, c.ID, r)
	f.ends(c, verdict)
	return c
}

func (f *fixture) ends(c Case, verdict string) {
	f.t.Helper()
	sum := Summary{}
	if verdict != "" {
		sum.Endings = []Ending{{Process: "kubelet", Fingerprint: prober, Verdict: verdict, Snapshot: snapshotID(c.ID[1:12] + "b")}}
	}
	f.ok(f.SetCaseSummary(f.ctx, c.ID, sum))
}

func TestAnAlertBeginsAboveTheNumberOfHostsAndEndsAtHalfOfIt(t *testing.T) {
	for _, c := range []struct {
		hosts int
		// leaking is the number of hosts at each judging, want what is told then.
		leaking []int
		want    []string
	}{
		{0, []int{0, 1, 2, 1, 0, 1}, []string{"", "begins", "", "", "ends", "begins"}},
		{1, []int{1, 2, 1, 2, 0, 1}, []string{"", "begins", "", "", "ends", ""}},
		{3, []int{3, 4, 3, 2, 4, 1, 3, 4}, []string{"", "begins", "", "", "", "ends", "", "begins"}},
		{4, []int{5, 3, 5, 2, 4, 5}, []string{"begins", "", "", "ends", "", "begins"}},
	} {
		t.Run(fmt.Sprintf("more than %d hosts", c.hosts), func(t *testing.T) {
			f := open(t)
			var cases []Case
			for i := range 5 {
				cases = append(cases, f.leaks(fmt.Sprintf("node-%d", i), 20, 9, ""))
			}
			var got []string
			for _, n := range c.leaking {
				for i, x := range cases {
					f.ends(x, map[bool]string{true: "leaking", false: "suspicious"}[i < n])
				}
				said := ""
				for _, a := range f.judge(AlertRule{Hosts: c.hosts, Since: november(1)}) {
					if said = map[bool]string{true: "begins", false: "ends"}[a.Started]; a.Hosts != n || a.Fingerprint != prober {
						t.Errorf("%d hosts leak, %+v is told", n, a)
					}
				}
				got = append(got, said)
				if again := f.judge(AlertRule{Hosts: c.hosts, Since: november(1)}); len(again) > 0 {
					t.Errorf("at %d hosts a second judging tells %+v", n, again)
				}
			}
			wantEqual(t, c.want, got)
		})
	}
}

func TestAnAlertNamesTheFamilyAndTheHostsThatGrewMost(t *testing.T) {
	f := open(t)
	for i := range 12 {
		f.leaks(fmt.Sprintf("node-%02d", i), 20, 10+i, "leaking")
	}
	want := told{Started: true, Fingerprint: prober, Title: "prober.(*worker).run", Hosts: 12}
	for i := 11; i > 1; i-- {
		want.Named = append(want.Named, fmt.Sprintf("node-%02d", i))
	}
	wantEqual(t, []told{want}, f.judge(AlertRule{Hosts: 3, Since: november(1)}))
}

func TestAHostLeaksAsItsLatestSeriesSays(t *testing.T) {
	rule := AlertRule{Hosts: 0, Since: november(1)}
	for name, c := range map[string]struct {
		change func(*fixture, Case)
		leaks  bool
	}{
		"nothing came later":                           {func(*fixture, Case) {}, true},
		"a later case leaks too":                       {func(f *fixture, _ Case) { f.leaks("node-a", 22, 9, "leaking") }, true},
		"a later case was judged stable":               {func(f *fixture, _ Case) { f.leaks("node-a", 22, 1, "") }, false},
		"an earlier case was judged stable":            {func(f *fixture, _ Case) { f.leaks("node-a", 10, 1, "") }, true},
		"a later case of another host is stable":       {func(f *fixture, _ Case) { f.leaks("node-b", 22, 1, "") }, true},
		"a later case of four captures proves nothing": {func(f *fixture, _ Case) { f.leaksOver("node-a", 22, 1, "", decisiveCaptures-1) }, true},
		"a case of each later day has begun": {func(f *fixture, _ Case) {
			f.leaksOver("node-a", 21, 2, "", 2)
			f.leaksOver("node-a", 22, 2, "", 3)
		}, true},
		"a later case still grows":               {func(f *fixture, _ Case) { f.leaks("node-a", 22, 4, "grew") }, true},
		"a later case may leak":                  {func(f *fixture, _ Case) { f.leaks("node-a", 22, 4, "suspicious") }, true},
		"a later case follows its load":          {func(f *fixture, _ Case) { f.leaks("node-a", 22, 4, "scaling") }, false},
		"a later case has no such family":        {func(f *fixture, _ Case) { f.filledWithout(decisiveCaptures) }, false},
		"a later case begins without the family": {func(f *fixture, _ Case) { f.filledWithout(2) }, true},
		"a later case is not summed up yet": {func(f *fixture, _ Case) {
			f.filled(f.newCase("later").ID, "later", Result{Snapshots: []analysis.Snapshot{on("node-a", "lat1", november(22), 1), on("node-a", "lat2", november(23), 1)}})
		}, true},
		"a later single capture proves nothing": {func(f *fixture, _ Case) {
			later := f.newCase("later")
			f.filled(later.ID, "later", Result{Snapshots: []analysis.Snapshot{on("node-a", "later", november(22), 1)}})
			f.ends(later, "")
		}, true},
		"somebody called it benign": {func(f *fixture, c Case) {
			_, err := f.SetMark(f.ctx, c.ID, Mark{Process: "kubelet", Fingerprint: prober, Triage: analysis.Triage{State: analysis.Benign, Note: "one per pod"}})
			f.ok(err)
		}, false},
		"its case has the program on two hosts": {func(f *fixture, c Case) {
			f.filled(c.ID, "twin", Result{Snapshots: []analysis.Snapshot{on("node-b", "twin", november(20), 1)}})
		}, true},
		"it recovered within its captures": {func(f *fixture, c Case) { f.recovers(c) }, false},
		"a later case recovered":           {func(f *fixture, _ Case) { f.recovers(f.leaks("node-a", 22, 9, "leaking")) }, false},
		"its case was deleted":             {func(f *fixture, c Case) { f.ok(f.DeleteCase(f.ctx, c.ID, WithdrawPermalinks)) }, false},
		"it was not seen for too long":     {func(*fixture, Case) { rule.Since = november(21) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			f := open(t)
			rule.Since = november(1)
			c.change(f, f.leaks("node-a", 20, 9, "leaking"))
			var got []string
			for _, a := range f.judge(rule) {
				got = append(got, a.Named...)
			}
			if leaks := len(got) > 0 && got[0] == "node-a"; leaks != c.leaks {
				t.Errorf("an alert names %q", got)
			}
		})
	}
}

// filledWithout is a later case of node-a whose captures show no prober.
func (f *fixture) filledWithout(captures int) {
	f.t.Helper()
	var r Result
	for i := range captures {
		snap := on("node-a", fmt.Sprintf("later%d", i), november(22).Add(time.Duration(i)*time.Hour), 1)
		snap.Groups = snap.Groups[1:]
		r.Snapshots = append(r.Snapshots, snap)
	}
	c := f.newCase("later")
	f.filled(c.ID, "later", r)
	f.ends(c, "")
}

// recovers judges that the leak of a case ended within its captures.
func (f *fixture) recovers(c Case) {
	f.t.Helper()
	f.ok(f.SetCaseSummary(f.ctx, c.ID, Summary{Endings: []Ending{{Process: "kubelet", Fingerprint: prober, Verdict: "leaking", Recovered: true, Snapshot: snapshotID(c.ID[1:12] + "b")}}}))
}

// isSample makes a sample of a case.
func (f *fixture) isSample(c Case) {
	f.t.Helper()
	_, err := f.writer.ExecContext(f.ctx, `UPDATE cases SET sample = 'kubelet' WHERE id = ?`, c.ID)
	f.ok(err)
}

func TestASampleNeitherBeginsAnAlertNorEndsOne(t *testing.T) {
	f := open(t)
	rule := AlertRule{Since: november(1)}
	f.isSample(f.leaks("node-a", 20, 9, "leaking"))
	if got := f.judge(rule); len(got) != 0 {
		t.Errorf("a sample begins %+v", got)
	}
	f.leaks("node-a", 20, 9, "leaking")
	if got := f.judge(rule); len(got) != 1 || !got[0].Started || got[0].Hosts != 1 {
		t.Errorf("a case of the same host begins %+v", got)
	}
	f.isSample(f.leaks("node-a", 22, 9, "grew"))
	if got := f.judge(rule); len(got) != 0 {
		t.Errorf("a later sample ends it: %+v", got)
	}
}

func TestAnAlertOfADeletedFamilyEndsWithoutItsName(t *testing.T) {
	f := open(t)
	c := f.leaks("node-a", 20, 9, "leaking")
	f.judge(AlertRule{Since: november(1)})
	f.ok(f.DeleteCase(f.ctx, c.ID, WithdrawPermalinks))
	f.ok(f.reapAll(f.ctx))
	wantEqual(t, []told{{Fingerprint: prober}}, f.judge(AlertRule{Since: november(1)}))
}

func TestADeliveryIsRepeatedUntilItIsDoneOrADayOld(t *testing.T) {
	f := open(t)
	c := f.leaks("node-a", 20, 9, "leaking")
	rule := AlertRule{Since: november(1)}
	queue := func(want int) {
		t.Helper()
		n, err := f.JudgeAlerts(f.ctx, rule, func(a Alert) ([]byte, error) { return fmt.Appendf(nil, "%v", a.Started), nil })
		f.ok(err)
		wantEqual(t, want, n)
	}
	claim := func() (Delivery, bool, time.Duration) {
		t.Helper()
		d, claimed, wait, err := f.ClaimDelivery(f.ctx, func(attempt int) time.Duration { return time.Duration(attempt) * time.Minute })
		f.ok(err)
		return d, claimed, wait
	}
	_, claimed, wait := claim()
	wantEqual(t, []any{false, time.Hour}, []any{claimed, wait})
	queue(1)
	queue(0)
	f.ends(c, "stable")
	queue(1)
	begin, _, _ := claim()
	wantEqual(t, []any{"true", 1}, []any{string(begin.Body), begin.Attempt})
	_, claimed, wait = claim()
	wantEqual(t, []any{false, time.Minute}, []any{claimed, wait}) // its end waits for it
	f.crash()
	f.clock.advance(time.Minute)
	again, _, _ := claim()
	wantEqual(t, []any{begin.ID, 2}, []any{again.ID, again.Attempt})
	f.ok(f.Delivered(f.ctx, again.ID))
	end, claimed, _ := claim()
	wantEqual(t, []any{true, "false", 1}, []any{claimed, string(end.Body), end.Attempt})
	state, err := f.State(f.ctx)
	f.ok(err)
	if state.OldestDelivery.IsZero() {
		t.Error("nobody is told that a delivery waits")
	}
	f.clock.advance(deliveryTime - 2*time.Minute)
	f.ok(f.Sweep(f.ctx))
	late, claimed, _ := claim()
	wantEqual(t, []any{true, end.ID}, []any{claimed, late.ID})
	f.clock.advance(3 * time.Minute)
	f.ok(f.Sweep(f.ctx))
	_, claimed, wait = claim()
	wantEqual(t, []any{false, time.Hour}, []any{claimed, wait})
}
