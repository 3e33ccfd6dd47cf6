package store

import (
	"testing"

	"leakdiff/analysis"
)

// session is a type of objects, from a count in one snapshot to one in another.
func session(first string, n int, last string, m int, verdict string) ObjectCount {
	return ObjectCount{
		Name: "*pool.Session", Type: "*example.org/pool.Session", Version: "v1.34." + last, Verdict: verdict,
		First: ObjectSight{snapshotID(first), n}, Last: ObjectSight{snapshotID(last), m},
	}
}

var sessions = analysis.ObjectFamily("", "*example.org/pool.Session").Fingerprint

// withSessions sums up the cases of node-a and node-b of smallFleet with sessions: 2 to 9 and leaking on
// node-a, 3 to 3 on node-b, of which it returns the case, with a watch as well.
func withSessions(f *fixture, grown Case) (b string) {
	f.ok(f.SetCaseSummary(f.ctx, grown.ID, Summary{Objects: []ObjectCount{session("1", 2, "2", 9, "leaking")}}))
	f.ok(f.reader.QueryRowContext(f.ctx, `SELECT id FROM cases WHERE title = 'node-b'`).Scan(&b))
	watch := session("4", 1, "4", 1, "")
	watch.Name, watch.Type = "*pool.Watch", "*example.org/pool.Watch"
	f.ok(f.SetCaseSummary(f.ctx, b, Summary{Objects: []ObjectCount{session("4", 3, "5", 3, ""), watch}}))
	f.wantSums()
	return b
}

func (f *fixture) objectTypes() Fleet {
	f.t.Helper()
	return f.fleet(func(q *FleetQuery) { q.Kind = analysis.KindObject })
}

func TestTypesOfObjectsAreCountedOverAllHosts(t *testing.T) {
	f := open(t)
	grown, cut := smallFleet(f)
	families := f.fleet(nil)
	b := withSessions(f, grown)
	got := f.objectTypes()
	wantEqual(t, [2]int{2, 0}, [2]int{got.Total, got.New})
	wantEqual(t, FleetFamily{Hosts: 2, Series: 2, Growth: 7, First: november(11), Last: november(21)}, got.row(sessions))
	wantEqual(t, "*pool.Session", got.Families[0].Family.Title)
	wantEqual(t, "*example.org/pool.Session", got.Families[0].Family.Attributes["type"])
	for _, text := range []string{"pool.session", "example.org/pool.Session", sessions, sessions[3:11]} {
		got := f.fleet(func(q *FleetQuery) { q.Kind, q.Text = analysis.KindObject, text })
		if len(got.Families) != 1 || got.Families[0].Family.Fingerprint != sessions {
			t.Errorf("%q finds %+v", text, got.Families)
		}
	}
	_, series, _, err := f.FleetSeries(f.ctx, sessions, november(1))
	f.ok(err)
	for i := range series {
		series[i].CaseID = ""
	}
	wantEqual(t, []FleetSeries{
		{Host: "node-a", Process: "kubelet", First: november(11), Last: november(20), Growth: 7, LastCount: 9, Version: "v1.34.2", Verdict: "leaking"},
		{Host: "node-b", Process: "kubelet", First: november(20), Last: november(21), LastCount: 3, Version: "v1.34.5", Verdict: "stable"},
	}, series)
	t.Run("and are no families", func(t *testing.T) {
		wantEqual(t, families, f.fleet(nil))
		found, err := f.SearchFunctions(f.ctx, "session", nil, 10, 0)
		f.ok(err)
		seen, err := f.FamilySightings(f.ctx, sessions, 10)
		f.ok(err)
		cases, err := f.FamilyCases(f.ctx, sessions)
		f.ok(err)
		wantEqual(t, [3]int{}, [3]int{len(found.Families), seen.Cases, cases})
	})
	t.Run("an alert counts their hosts", func(t *testing.T) {
		wantEqual(t, []told{{Started: true, Fingerprint: sessions, Title: "*pool.Session", Hosts: 1, Named: []string{"node-a"}}}, f.judge(AlertRule{Since: november(1)}))
	})
	t.Run("a result that is read again keeps them until its case is summed up", func(t *testing.T) {
		_, err := f.Requeue(f.ctx, cut.ID)
		f.ok(err)
		f.ingest(Result{Snapshots: []analysis.Snapshot{on("node-a", "2", november(20), 25), on("node-a", "3", november(15), 90)}})
		f.wantSums()
		wantEqual(t, 2, f.objectTypes().row(sessions).Hosts)
	})
	t.Run("a later summary replaces them", func(t *testing.T) {
		f.ok(f.SetCaseSummary(f.ctx, grown.ID, Summary{Objects: []ObjectCount{session("1", 2, "3", 5, "")}}))
		wantEqual(t, FleetFamily{Hosts: 2, Series: 2, Growth: 3, First: november(11), Last: november(21)}, f.objectTypes().row(sessions))
	})
	t.Run("a snapshot that is there no more shows none", func(t *testing.T) {
		lost := session("lost", 7, "lost", 7, "leaking")
		lost.Type = "*example.org/pool.Lost"
		f.ok(f.SetCaseSummary(f.ctx, grown.ID, Summary{Objects: []ObjectCount{session("1", 2, "3", 5, ""), lost}}))
		f.wantSums()
		wantEqual(t, 2, f.objectTypes().Total)
	})
	t.Run("they go with a bundle of their case", func(t *testing.T) {
		f.ok(f.RemoveBundle(f.ctx, cut.ID))
		f.wantSums()
		wantEqual(t, FleetFamily{Hosts: 1, Series: 1, First: november(20), Last: november(21)}, f.objectTypes().row(sessions))
	})
	t.Run("a type that no case shows is forgotten", func(t *testing.T) {
		f.reap()
		f.ok(f.SetCaseSummary(f.ctx, b, Summary{Objects: []ObjectCount{session("4", 3, "5", 3, "")}}))
		f.reap()
		var types int
		count := func() int {
			f.ok(f.reader.QueryRowContext(f.ctx, `SELECT count(*) FROM family WHERE kind = 'object'`).Scan(&types))
			return types
		}
		wantEqual(t, [2]int{1, 1}, [2]int{count(), f.objectTypes().Total})
		f.ok(f.DeleteCase(f.ctx, b, WithdrawPermalinks))
		f.reap()
		wantEqual(t, [2]int{}, [2]int{count(), f.objectTypes().Total})
	})
}

func TestACheckFindsNoFaultInTypesOfObjects(t *testing.T) {
	f := openFile(t)
	grown, _ := smallFleet(f)
	withSessions(f, grown)
	f.close()
	if got := f.check(); len(got.Findings) > 0 {
		t.Errorf("%+v", got.Findings)
	}
	f.reopen()
	f.exec(`UPDATE family_span SET last_count = 700 WHERE fingerprint LIKE 'g%'`)
	f.close()
	if _, err := Repair(f.ctx, f.dir, f.bucket, f.log); err != nil {
		t.Fatal(err)
	}
	f.reopen()
	f.reap()
	f.wantSums()
	wantEqual(t, FleetFamily{Hosts: 2, Series: 2, Growth: 7}, withoutTimes(f.objectTypes().row(sessions)))
}

func withoutTimes(x FleetFamily) FleetFamily {
	return FleetFamily{Hosts: x.Hosts, Unnamed: x.Unnamed, Series: x.Series, Growth: x.Growth}
}
