package store

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"leakdiff/analysis"
)

var prober = proberGroup(1).Family.Fingerprint

// on is a capture of a kubelet on a host with n probers.
func on(host, seed string, at time.Time, n int, more ...analysis.Group) analysis.Snapshot {
	snap := kubelet(seed, at, n)
	snap.Process.Host.Value = host
	snap.Process.Version.Value = "v1.34." + seed[:1] + ", go1.26.8"
	snap.Groups = append(snap.Groups, more...)
	return snap
}

func november(day int) time.Time { return time.Date(2026, 11, day, 8, 0, 0, 0, time.UTC) }

// smallFleet has probers on node-a (5 to 25 in one case, 4 in another one), on node-b (10 to
// 7) and on an unnamed host (1 to 3), and on node-b a family since this morning.
func smallFleet(f *fixture) (grown Case, cut Bundle) {
	grown = f.newCase("node-a")
	f.filled(grown.ID, "a1", Result{Snapshots: []analysis.Snapshot{on("node-a", "1", november(11), 5)}})
	cut = f.filled(grown.ID, "a2", Result{Snapshots: []analysis.Snapshot{on("node-a", "2", november(20), 25), on("node-a", "3", november(15), 90)}})
	fresh := analysis.Group{Family: &analysis.Family{Fingerprint: "g1:fresh", Kind: analysis.KindGoroutine, Title: "fresh.Run", Loose: []string{"fresh.Run"}}, Count: 6, OldestWait: -1}
	b := f.newCase("node-b")
	f.filled(b.ID, "b", Result{Snapshots: []analysis.Snapshot{on("node-b", "4", november(20), 10), on("node-b", "5", november(21), 7, fresh)}})
	f.filled(f.newCase("node-a again").ID, "c", Result{Snapshots: []analysis.Snapshot{on("node-a", "6", november(21), 4)}})
	f.filled(f.newCase("unnamed").ID, "d", Result{Snapshots: []analysis.Snapshot{on("", "7", november(20), 1), on("", "8", november(21), 3), on("", "9", time.Time{}, 700)}})
	f.wantSums()
	return grown, cut
}

func (f *fixture) fleet(change func(*FleetQuery)) Fleet {
	f.t.Helper()
	q := FleetQuery{Since: november(1), NewSince: november(20).Add(time.Hour), Limit: 100}
	if change != nil {
		change(&q)
	}
	got, err := f.Fleet(f.ctx, q)
	f.ok(err)
	return got
}

// row is what is said of a family, without its words.
func (x Fleet) row(fingerprint string) FleetFamily {
	for _, r := range x.Families {
		if r.Family.Fingerprint == fingerprint {
			r.Family = analysis.Family{}
			return r
		}
	}
	return FleetFamily{}
}

func TestAFamilyIsCountedOverAllHosts(t *testing.T) {
	f := open(t)
	grown, cut := smallFleet(f)
	want := FleetFamily{Hosts: 2, Unnamed: 1, Series: 4, Growth: 20 - 3 + 0 + 2, First: november(11), Last: november(21)}
	got := f.fleet(nil)
	wantEqual(t, want, got.row(prober))
	wantEqual(t, FleetFamily{Hosts: 1, Series: 1, First: november(21), Last: november(21), New: true}, got.row("g1:fresh"))
	// Probers, the sockets and the unprinted family of each capture, and the fresh one.
	wantEqual(t, [2]int{4, 1}, [2]int{got.Total, got.New})
	if title := got.Families[0].Family.Title; title != "prober.(*worker).run" {
		t.Errorf("%q grew most", title)
	}
	t.Run("a series that was not seen since then is left out", func(t *testing.T) {
		got := f.fleet(func(q *FleetQuery) { q.Since = november(20).Add(time.Minute) })
		wantEqual(t, FleetFamily{Hosts: 2, Unnamed: 1, Series: 3, Growth: -3 + 0 + 2, First: november(20), Last: november(21)}, got.row(prober))
	})
	t.Run("a case that is being deleted counts no more", func(t *testing.T) {
		f.exec(`UPDATE cases SET deleting = 'x' WHERE id = ?`, grown.ID)
		defer f.exec(`UPDATE cases SET deleting = '' WHERE id = ?`, grown.ID)
		wantEqual(t, FleetFamily{Hosts: 2, Unnamed: 1, Series: 3, Growth: -3 + 0 + 2, First: november(20), Last: november(21)}, f.fleet(nil).row(prober))
	})
	t.Run("the last sight goes with its bundle", func(t *testing.T) {
		f.ok(f.RemoveBundle(f.ctx, cut.ID))
		f.wantSums()
		wantEqual(t, FleetFamily{Hosts: 2, Unnamed: 1, Series: 4, Growth: 0 - 3 + 0 + 2, First: november(11), Last: november(21)}, f.fleet(nil).row(prober))
	})
	f.ok(f.DeleteCase(f.ctx, grown.ID, WithdrawPermalinks))
	f.wantSums()
	wantEqual(t, FleetFamily{Hosts: 2, Unnamed: 1, Series: 3, Growth: -3 + 0 + 2, First: november(20), Last: november(21)}, f.fleet(nil).row(prober))
}

func TestAFamilyGrewByWhatItsReportSaysWhereARestartHidesIt(t *testing.T) {
	f := open(t)
	grown, _ := smallFleet(f)
	rises := func(n int) {
		f.ok(f.SetCaseSummary(f.ctx, grown.ID, Summary{Endings: []Ending{{Process: "kubelet", Fingerprint: prober, Verdict: "leaking", Rise: n, Snapshot: snapshotID("2")}}}))
	}
	for _, c := range []struct{ rise, want int }{
		{500, 500}, // 5 to 25 at its ends
		{60, 60},
		{12, 20}, // less than the counts show: of a part of the captures
		{0, 20},
	} {
		rises(c.rise)
		wantEqual(t, c.want-3+0+2, f.fleet(nil).row(prober).Growth)
		_, series, _, err := f.FleetSeries(f.ctx, prober, november(1))
		f.ok(err)
		wantEqual(t, []int{2, c.want, 0, -3}, []int{series[0].Growth, series[1].Growth, series[2].Growth, series[3].Growth})
	}
	rises(500)
	f.ok(f.SetCaseSummary(f.ctx, grown.ID, Summary{}))
	wantEqual(t, 20-3+0+2, f.fleet(nil).row(prober).Growth)
}

func TestTheFleetIsChosenAndSorted(t *testing.T) {
	f := open(t)
	smallFleet(f)
	socket := socketGroup(1).Family.Fingerprint
	for _, c := range []struct {
		name   string
		change func(*FleetQuery)
		want   []string
		total  int
		// first is the first one of all pages.
		first string
	}{
		{"new ones alone", func(q *FleetQuery) { q.New = true }, []string{"g1:fresh"}, 1, "g1:fresh"},
		{"new ones beyond those that an older capture shows", func(q *FleetQuery) { q.New, q.NewSince = true, november(10) }, []string{prober, socket, unprintedGroup().Family.Fingerprint, "g1:fresh"}, 4, prober},
		{"what was seen before the window is not new", func(q *FleetQuery) { q.New, q.Since, q.NewSince = true, november(21), november(20) }, []string{"g1:fresh"}, 1, "g1:fresh"},
		{"one kind", func(q *FleetQuery) { q.Kind = analysis.KindDescriptor }, []string{socket}, 1, socket},
		{"words", func(q *FleetQuery) { q.Text = "fresh run" }, []string{"g1:fresh"}, 1, "g1:fresh"},
		{"words of nothing", func(q *FleetQuery) { q.Text = "nowhere" }, nil, 0, ""},
		{"a page", func(q *FleetQuery) { q.Limit = 1 }, []string{prober}, 4, prober},
		{"the last page", func(q *FleetQuery) { q.ByHosts, q.Limit, q.Offset = true, 1, 3 }, []string{"g1:fresh"}, 4, prober},
		{"a page after the last one", func(q *FleetQuery) { q.Offset = 100 }, nil, 4, prober},
		{"nothing is that recent", func(q *FleetQuery) { q.Since = november(22) }, nil, 0, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := f.fleet(c.change)
			if first := got.First; c.total > 0 && (first == nil || first.Family.Fingerprint != c.first) {
				t.Errorf("the first of all pages is %+v, want %s", first, c.first)
			}
			var prints []string
			for _, x := range got.Families {
				prints = append(prints, x.Family.Fingerprint)
			}
			// The order of equal ones is that of the fingerprints, which is no claim here.
			slices.Sort(prints)
			slices.Sort(c.want)
			wantEqual(t, c.want, prints)
			wantEqual(t, c.total, got.Total)
		})
	}
	days := must[[]FleetDay](t)(f.FleetDays(f.ctx, []string{prober, "g1:none"}, november(1)))
	midnight := func(day int) time.Time { return november(day).Truncate(24 * time.Hour) }
	// 5, 90 and 25 on three days; 1 and 3 on two.
	wantEqual(t, []FleetDay{{prober, "node-a", midnight(15), 85}, {prober, "", midnight(21), 2}}, days)
	f.exec(`UPDATE cases SET sample = 'x' WHERE title = 'node-a'`)
	wantEqual(t, FleetFamily{Hosts: 2, Unnamed: 1, Series: 3, Growth: -3 + 0 + 2, First: november(20), Last: november(21)}, f.fleet(nil).row(prober))
	wantEqual(t, 1, len(must[[]FleetDay](t)(f.FleetDays(f.ctx, []string{prober}, november(1)))))
	_, series, _, err := f.FleetSeries(f.ctx, prober, november(1))
	f.ok(err)
	wantEqual(t, 3, len(series))
}

func TestEachCapturedDayOfASeriesCountsItsOwnGrowth(t *testing.T) {
	f := open(t)
	for host, counts := range map[string][]int{"node-c": {10, 40, 70, 100}, "node-d": {3, 9}} {
		var all []analysis.Snapshot
		for i, n := range counts { // the first two on one day
			all = append(all, on(host, fmt.Sprint(len(counts))+fmt.Sprint(i), november(18+max(i-1, 0)).Add(time.Duration(i)*time.Minute), n))
		}
		f.filled(f.newCase(host).ID, host[5:], Result{Snapshots: all})
	}
	midnight := func(day int) time.Time { return november(day).Truncate(24 * time.Hour) }
	got := must[[]FleetDay](t)(f.FleetDays(f.ctx, []string{prober}, november(1)))
	wantEqual(t, []FleetDay{{prober, "node-c", midnight(18), 30}, {prober, "node-c", midnight(19), 30}, {prober, "node-c", midnight(20), 30}, {prober, "node-d", midnight(18), 6}}, got)
	wantEqual(t, 2, len(must[[]FleetDay](t)(f.FleetDays(f.ctx, []string{prober}, november(19)))))
}

func TestAFamilyIsReadOverItsSeries(t *testing.T) {
	f := open(t)
	grown, _ := smallFleet(f)
	f.ok(f.SetCaseSummary(f.ctx, grown.ID, Summary{Endings: []Ending{{Process: "kubelet", Fingerprint: prober, Verdict: "leaking", Recovered: true, Snapshot: snapshotID("2")}}}))
	family, got, _, err := f.FleetSeries(f.ctx, prober, november(1))
	f.ok(err)
	wantEqual(t, "prober.(*worker).run", family.Title)
	for i := range got {
		if got[i].CaseID == grown.ID {
			got[i].CaseID = "grown"
		} else {
			got[i].CaseID = ""
		}
	}
	wantEqual(t, []FleetSeries{
		{Process: "kubelet", First: november(20), Last: november(21), Growth: 2, LastCount: 3, Version: "v1.34.8"},
		{Host: "node-a", Process: "kubelet", CaseID: "grown", First: november(11), Last: november(20), Growth: 20, LastCount: 25, Version: "v1.34.2", Verdict: "leaking", Recovered: true},
		{Host: "node-a", Process: "kubelet", First: november(21), Last: november(21), LastCount: 4, Version: "v1.34.6"},
		{Host: "node-b", Process: "kubelet", First: november(20), Last: november(21), Growth: -3, LastCount: 7, Version: "v1.34.5"},
	}, got)
	t.Run("what was judged and did not grow is stable", func(t *testing.T) {
		f.exec(`UPDATE cases SET summarised = 1 WHERE title = 'node-b'`)
		_, got, _, err := f.FleetSeries(f.ctx, prober, november(1))
		f.ok(err)
		var verdicts []string
		for _, x := range got {
			verdicts = append(verdicts, x.Verdict)
		}
		wantEqual(t, []string{"", "leaking", "", "stable"}, verdicts)
	})
	t.Run("a case with the process on two hosts tells which one leaks", func(t *testing.T) {
		f.filled(grown.ID, "a3", Result{Snapshots: []analysis.Snapshot{on("node-z", "10", november(21), 1)}})
		f.ok(f.SetCaseSummary(f.ctx, grown.ID, Summary{Endings: []Ending{{Process: "kubelet", Fingerprint: prober, Verdict: "leaking", Snapshot: snapshotID("2")}}}))
		_, got, _, err := f.FleetSeries(f.ctx, prober, november(1))
		f.ok(err)
		verdicts := map[string]string{}
		for _, x := range got {
			if x.CaseID == grown.ID {
				verdicts[x.Host] = x.Verdict
			}
		}
		wantEqual(t, map[string]string{"node-a": "leaking", "node-z": ""}, verdicts)
	})
	f.ok(f.DeleteCase(f.ctx, grown.ID, WithdrawPermalinks))
	_, got, _, err = f.FleetSeries(f.ctx, prober, november(1))
	f.ok(err)
	if len(got) != 3 {
		t.Errorf("%d series are left, want 3", len(got))
	}
	_, got, _, err = f.FleetSeries(f.ctx, "g1:none", november(1))
	f.ok(err)
	wantEqual(t, 0, len(got))
}

// spanRow is a row of family_span without its numbers.
type spanRow struct{ First, Last, FirstCount, LastCount int64 }

// wantSpans compares family_span with the facts of the snapshots that are visible.
func (f *fixture) wantSpans() {
	f.t.Helper()
	type key struct {
		fingerprint string
		series      int64
	}
	prints := map[int64]string{}
	rows, err := f.writer.QueryContext(f.ctx, `SELECT seq, fingerprint FROM family`)
	f.ok(err)
	for rows.Next() {
		var seq int64
		var print string
		f.ok(rows.Scan(&seq, &print))
		prints[seq] = print
	}
	f.ok(rows.Close())
	want, got := map[key]spanRow{}, map[key]spanRow{}
	rows, err = f.writer.QueryContext(f.ctx, `
		SELECT s.series_seq, s.captured_at, s.facts
		FROM snapshot s JOIN bundle b ON b.seq = s.bundle_seq AND b.generation = s.generation
		WHERE s.captured_at IS NOT NULL`)
	f.ok(err)
	var p packer
	defer p.close()
	for rows.Next() {
		var series, at int64
		var blob []byte
		f.ok(rows.Scan(&series, &at, &blob))
		var r factReader
		for g := range r.read(&p, blob) {
			k, n := key{prints[g.family], series}, int64(g.count)
			row, known := want[k]
			if !known {
				row = spanRow{at, at, n, n}
			}
			if at < row.First || at == row.First && n > row.FirstCount {
				row.First, row.FirstCount = at, n
			}
			if at > row.Last || at == row.Last && n > row.LastCount {
				row.Last, row.LastCount = at, n
			}
			want[k] = row
		}
		f.ok(r.done())
	}
	f.ok(rows.Close())
	rows, err = f.writer.QueryContext(f.ctx, `
		SELECT p.fingerprint, p.series_seq, p.first, p.last, p.first_count, p.last_count
		FROM family_span p
		JOIN series r ON r.seq = p.series_seq AND r.host = p.host AND r.case_seq = p.case_seq
		JOIN family f ON f.seq = p.family_seq AND f.fingerprint = p.fingerprint AND f.kind <> 'object'`)
	f.ok(err)
	for rows.Next() {
		var k key
		var r spanRow
		f.ok(rows.Scan(&k.fingerprint, &k.series, &r.First, &r.Last, &r.FirstCount, &r.LastCount))
		got[k] = r
	}
	f.ok(rows.Close())
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(key{})); diff != "" {
		f.t.Errorf("family_span differs from the facts (-want +got)\n%s", diff)
	}
	var n int
	f.ok(f.writer.QueryRowContext(f.ctx, `SELECT count(*) FROM family_span WHERE fingerprint NOT LIKE 'o%'`).Scan(&n))
	if n != len(got) {
		f.t.Errorf("%d rows in family_span, %d of series and families that are there", n, len(got))
	}
}

// manyFamilies adds families with short digests, by which statements find them.
func (f *fixture) manyFamilies(families int) {
	f.captured(1, true)
	for k := range families {
		f.exec(`INSERT INTO family (fingerprint, digest, kind, title, entry, loose, attributes, words)
			SELECT ?1, ?2, kind, title, entry, loose, attributes, words FROM family WHERE seq = 1`, fmt.Sprintf("g1:%032x", 1_000_003*(k+1)), fmt.Append(nil, k))
	}
}

// generatedFleet is what a series of 30 days on each host leaves, each with 20 families and
// about seven captures a day: 210 snapshots. One in seven families rises. The statements are
// those of both engines.
func generatedFleet(b *testing.B, series int) *fixture {
	f := open(b)
	const days, families = 30, 20
	f.manyFamilies(families)
	number := func(n int) string {
		return fmt.Sprintf(`WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < %d)`, n-1)
	}
	f.exec(`
		INSERT INTO cases (id, title, sample, owner_hash, created_at, updated_at)
		` + number(series) + ` SELECT 'fleet-' || i, 'node', '', owner_hash, 0, 0 FROM n CROSS JOIN cases`)
	f.exec(`INSERT INTO series (case_seq, process, host)
		SELECT seq, 'kubelet', 'node-' || seq || '.example' FROM cases WHERE id LIKE 'fleet-%'`)
	today := f.time().UnixMicro() / microsOfDay
	f.exec(`
		INSERT INTO family_seen (family_seq, series_seq, day, case_seq, snapshots, first, last, low, high)
		`+number(days)+`
		SELECT k.seq, r.seq, d.day, r.case_seq, 7, d.day * d.micros, d.day * d.micros + d.micros / 2,
			10 + CASE r.seq % 7 WHEN 0 THEN i ELSE 0 END, 12 + CASE r.seq % 7 WHEN 0 THEN i ELSE 0 END
		FROM family k CROSS JOIN series r CROSS JOIN (SELECT i, CAST(?1 AS BIGINT) - 29 + i AS day, CAST(?2 AS BIGINT) AS micros FROM n) d
		WHERE r.host LIKE '%.example' AND length(k.digest) <= 2`, today, int64(microsOfDay))
	f.exec(`
		INSERT INTO family_span (fingerprint, host, series_seq, case_seq, family_seq, first, last, first_count, last_count, version)
		SELECT f.fingerprint, r.host, r.seq, r.case_seq, f.seq, min(s.first), max(s.last), min(s.low), max(s.high), 'v1.34.' || r.seq % 3
		FROM family_seen s CROSS JOIN family f ON f.seq = s.family_seq CROSS JOIN series r ON r.seq = s.series_seq
		WHERE r.host LIKE '%.example'
		GROUP BY f.fingerprint, r.host, r.seq, r.case_seq, f.seq`)
	f.exec(`
		INSERT INTO series_ending (fingerprint, series_seq, verdict, recovered)
		SELECT fingerprint, series_seq, CASE series_seq % 7 WHEN 0 THEN 'leaking' ELSE 'suspicious' END, 0
		FROM family_span WHERE host LIKE '%.example'`)
	if _, err := f.writer.ExecContext(f.ctx, `ANALYZE`); err != nil {
		b.Fatal(err)
	}
	b.Logf("%d rows in family_seen, %d in family_span", f.rows("family_seen"), f.rows("family_span"))
	return f
}

// dailyFleet is what 30 days leave on each host where each day is a case, each with six families
// and five captures. One family leaks in every case but those of today.
func dailyFleet(b *testing.B, hosts int) *fixture {
	f := open(b)
	const days, families = 30, 6
	f.manyFamilies(families)
	numbers := fmt.Sprintf(`WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < %d)`, hosts*days-1)
	f.exec(`
		INSERT INTO cases (id, title, sample, owner_hash, created_at, updated_at)
		` + numbers + ` SELECT 'daily-' || i, 'node', '', owner_hash, 0, 0 FROM n CROSS JOIN cases`)
	// The number of a case tells its host and its day.
	f.exec(`
		INSERT INTO series (case_seq, process, host)
		SELECT seq, 'kubelet', 'node-' || (seq % ?1) || '.example' FROM cases WHERE id LIKE 'daily-%'`, hosts)
	f.exec(`
		INSERT INTO bundle (id, case_seq, name, created_at, status, size, content_hash)
		SELECT 'b' || id, seq, '', 0, 'done', 0, owner_hash FROM cases WHERE id LIKE 'daily-%'`)
	begin := f.time().UnixMicro() - days*microsOfDay
	f.exec(`
		INSERT INTO snapshot (bundle_seq, generation, id, place, host, process, label, captured_at, head, facts, series_seq)
		`+strings.ReplaceAll(numbers, fmt.Sprint(hosts*days-1), "4")+`
		SELECT b.seq, b.generation, 's' || i || b.id, i, r.host, r.process, '', ?1 + (b.case_seq / ?2) * ?3 + i * 1000000, b.content_hash, b.content_hash, r.seq
		FROM n CROSS JOIN bundle b JOIN series r ON r.case_seq = b.case_seq WHERE b.id LIKE 'bdaily-%'`, begin, hosts, int64(microsOfDay))
	f.exec(`
		INSERT INTO family_span (fingerprint, host, series_seq, case_seq, family_seq, first, last, first_count, last_count, version)
		SELECT k.fingerprint, r.host, r.seq, r.case_seq, k.seq, ?1 + (r.case_seq / ?2) * ?3, ?1 + (r.case_seq / ?2) * ?3 + 4000000, 10, 10 + r.seq % 7, 'v1'
		FROM series r CROSS JOIN family k WHERE r.host LIKE '%.example' AND length(k.digest) <= 2`, begin, hosts, int64(microsOfDay))
	f.exec(`
		INSERT INTO series_ending (fingerprint, series_seq, verdict, recovered)
		SELECT fingerprint, series_seq, CASE WHEN case_seq / ?1 < ?2 THEN 'leaking' ELSE 'grew' END, 0
		FROM family_span WHERE host LIKE '%.example' AND fingerprint = ?3`, hosts, days-1, fmt.Sprintf("g1:%032x", 1_000_003))
	if _, err := f.writer.ExecContext(f.ctx, `ANALYZE`); err != nil {
		b.Fatal(err)
	}
	b.Logf("%d rows of series, %d of snapshot, %d of family_span", f.rows("series"), f.rows("snapshot"), f.rows("family_span"))
	return f
}

// BenchmarkGeneratedFleet ranks the families of generated fleets of ten thousand, a hundred
// thousand and a million snapshots, and reads one of them.
func BenchmarkGeneratedFleet(b *testing.B) {
	for _, hosts := range []int{50, 500, 5_000} {
		b.Run(fmt.Sprintf("%d snapshots", 210*hosts), func(b *testing.B) { benchmarkFleet(b, generatedFleet(b, hosts), hosts) })
	}
}

// BenchmarkDailyFleet asks the same of fleets in which each day of a host is a case.
func BenchmarkDailyFleet(b *testing.B) {
	for _, hosts := range []int{500, 5_000} {
		b.Run(fmt.Sprintf("%d hosts", hosts), func(b *testing.B) { benchmarkFleet(b, dailyFleet(b, hosts), hosts) })
	}
}

func benchmarkFleet(b *testing.B, f *fixture, hosts int) {
	since := f.time().AddDate(0, 0, -30)
	q := FleetQuery{Since: since, NewSince: f.time().AddDate(0, 0, -1), Limit: 100}
	byHosts, byKind, byText := q, q, q
	byHosts.ByHosts, byKind.Kind, byText.Text = true, analysis.KindGoroutine, "part03"
	for name, ask := range map[string]func() (int, error){
		"growth": func() (int, error) { got, err := f.Fleet(f.ctx, q); return len(got.Families), err },
		"hosts":  func() (int, error) { got, err := f.Fleet(f.ctx, byHosts); return len(got.Families), err },
		"kind":   func() (int, error) { got, err := f.Fleet(f.ctx, byKind); return len(got.Families), err },
		"text":   func() (int, error) { got, err := f.Fleet(f.ctx, byText); return len(got.Families), err },
		"one family": func() (int, error) {
			_, got, _, err := f.FleetSeries(f.ctx, fmt.Sprintf("g1:%032x", 1_000_003), since)
			return len(got), err
		},
		"alerts": func() (int, error) {
			got, err := f.changedAlerts(f.ctx, AlertRule{Hosts: 2 * hosts / 5, Since: since})
			return len(got), err
		},
	} {
		b.Run(name, func(b *testing.B) {
			n := 0
			for b.Loop() {
				var err error
				if n, err = ask(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(n), "rows")
		})
	}
}

// The rows name no series, which SQLite allows where a test switches foreign keys off.
func TestAFamilyOnTooManySeriesIsCutAtTheOldest(t *testing.T) {
	f := openFile(t)
	smallFleet(f)
	fill := func(n int) {
		f.exec(`
			WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
			INSERT INTO family_span (fingerprint, host, series_seq, case_seq, family_seq, first, last, first_count, last_count, version)
			SELECT ?2, 'node-' || i, 1, 1, 1, ?1 - i, ?1 - i, 1, 1, '' FROM n`, n, prober)
	}
	for _, tc := range []struct {
		series, want int
		cut          bool
	}{{20_000, 20_000, false}, {20_001, 20_000, true}} {
		f.exec(`DELETE FROM family_span`)
		fill(tc.series)
		_, got, cut, err := f.FleetSeries(f.ctx, prober, time.UnixMicro(0))
		f.ok(err)
		oldest := slices.ContainsFunc(got, func(x FleetSeries) bool { return x.First.UnixMicro() == 0 })
		if len(got) != tc.want || cut != tc.cut || oldest == tc.cut {
			t.Errorf("of %d series %d are there, cut %t, with the oldest %t", tc.series, len(got), cut, oldest)
		}
	}
}
