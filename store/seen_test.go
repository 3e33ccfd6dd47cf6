package store

import (
	"database/sql"
	"testing"

	"github.com/google/go-cmp/cmp"

	"leakdiff/analysis"
)

type seenRow struct {
	Case, Snapshots, Low, High int64
	First, Last                sql.NullInt64
}

// wantSums compares family_seen with the facts of the snapshots that are visible, and looks
// whether the words that may be in no use are noted.
func (f *fixture) wantSums() {
	f.t.Helper()
	want, got := map[seenKey]seenRow{}, map[seenKey]seenRow{}
	rows, err := f.writer.QueryContext(f.ctx, `
		SELECT s.series_seq, b.case_seq, s.captured_at, s.facts
		FROM snapshot s JOIN bundle b ON b.seq = s.bundle_seq AND b.generation = s.generation`)
	f.ok(err)
	var p packer
	defer p.close()
	for rows.Next() {
		var k seenKey
		var inCase int64
		var captured sql.NullInt64
		var blob []byte
		f.ok(rows.Scan(&k.series, &inCase, &captured, &blob))
		k.day = dayOf(captured)
		var r factReader
		for g := range r.read(&p, blob) {
			k.family = g.family
			n := int64(g.count)
			row, known := want[k]
			if !known {
				row = seenRow{Case: inCase, Low: n, High: n, First: captured, Last: captured}
			}
			row.Snapshots++
			row.Low, row.High = min(row.Low, n), max(row.High, n)
			row.First.Int64, row.Last.Int64 = min(row.First.Int64, captured.Int64), max(row.Last.Int64, captured.Int64)
			want[k] = row
		}
		f.ok(r.done())
	}
	f.ok(rows.Close())
	rows, err = f.writer.QueryContext(f.ctx, `
		SELECT family_seq, series_seq, day, case_seq, snapshots, low, high, first, last FROM family_seen`)
	f.ok(err)
	for rows.Next() {
		var k seenKey
		var r seenRow
		f.ok(rows.Scan(&k.family, &k.series, &k.day, &r.Case, &r.Snapshots, &r.Low, &r.High, &r.First, &r.Last))
		got[k] = r
	}
	f.ok(rows.Close())
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(seenKey{})); diff != "" {
		f.t.Errorf("family_seen has not the sums of the facts (-want +got)\n%s", diff)
	}
	f.wantSpans()
	for what, query := range map[string]string{
		"snapshots of another series": `
			SELECT count(*) FROM snapshot s JOIN bundle b ON b.seq = s.bundle_seq LEFT JOIN series r ON r.seq = s.series_seq
			WHERE r.seq IS NULL OR r.case_seq <> b.case_seq OR r.process <> s.process OR r.host <> s.host`,
		"series without a snapshot": `SELECT count(*) FROM series WHERE seq NOT IN (SELECT series_seq FROM snapshot)`,
		"families that nothing shows and nobody will look at": `
			SELECT count(*) FROM family WHERE seq NOT IN (SELECT family_seq FROM family_seen) AND seq NOT IN (SELECT family_seq FROM family_to_forget)
				AND seq NOT IN (SELECT family_seq FROM family_span WHERE fingerprint LIKE 'o%')`,
		"functions of no family that nobody will look at": `
			SELECT count(*) FROM function WHERE seq NOT IN (SELECT function_seq FROM function_family) AND seq NOT IN (SELECT function_seq FROM function_to_forget)`,
	} {
		var n int
		f.ok(f.writer.QueryRowContext(f.ctx, query).Scan(&n))
		if n > 0 {
			f.t.Errorf("%d %s", n, what)
		}
	}
}

// reap forgets all that is in no use.
func (f *fixture) reap() {
	f.t.Helper()
	f.ok(f.reapAll(f.ctx))
	f.wantEmpty("family_to_forget", "frame_to_forget", "function_to_forget")
	f.wantWordsInUse()
}

// wantWordsInUse compares the words with what the rows that use them say.
func (f *fixture) wantWordsInUse() {
	f.t.Helper()
	used := map[int64]bool{}
	rows, err := f.writer.QueryContext(f.ctx, `SELECT frames, creator FROM stack`)
	f.ok(err)
	for rows.Next() {
		var frames []byte
		var creator int64
		f.ok(rows.Scan(&frames, &creator))
		used[creator] = true
		for _, frame := range must[[]int64](f.t)(readSeqs(frames)) {
			used[frame] = true
		}
	}
	f.ok(rows.Close())
	rows, err = f.writer.QueryContext(f.ctx, `SELECT seq, file FROM frame`)
	f.ok(err)
	for rows.Next() {
		var frame int64
		var file string
		f.ok(rows.Scan(&frame, &file))
		if !used[frame] {
			f.t.Errorf("the frame in %s is in no use", file)
		}
	}
	f.ok(rows.Close())
	for what, query := range map[string]string{
		"families": `SELECT count(*) FROM family WHERE seq NOT IN (SELECT family_seq FROM family_seen) AND kind <> 'object'`,
		"types of objects": `
			SELECT count(*) FROM family WHERE kind = 'object' AND fingerprint NOT IN (SELECT fingerprint FROM family_span)`,
		"functions": `SELECT count(*) FROM function WHERE seq NOT IN (SELECT function_seq FROM function_family)
			AND seq NOT IN (SELECT function_seq FROM frame)`,
		"links": `SELECT count(*) FROM function_family WHERE family_seq NOT IN (SELECT seq FROM family)`,
	} {
		var n int
		f.ok(f.writer.QueryRowContext(f.ctx, query).Scan(&n))
		if n > 0 {
			f.t.Errorf("%d %s are in no use", n, what)
		}
	}
}

func TestWhatIsSeenOfFamiliesFollowsEveryChange(t *testing.T) {
	f := open(t)
	a, b := f.newCase("a"), f.newCase("b")
	first := f.filled(a.ID, "1", kubeletResult("2", "3"))
	f.wantSound()
	// The same day, the same snapshot again, another process and host, no time.
	second := f.filled(a.ID, "2", kubeletResult("3", "4"))
	other := kubelet("5", instant.AddDate(0, 0, 3), 40)
	other.Process.Host.Value, other.Process.Name.Value = "node-b", "containerd"
	untimed := kubelet("6", instant, 7)
	untimed.CapturedAt = untimed.CapturedAt.AddDate(-9000, 0, 0)
	early := kubelet("7", instant.AddDate(-80, 0, 0), 3)
	third := f.filled(b.ID, "3", Result{Snapshots: []analysis.Snapshot{other, untimed, early}})
	f.wantSound()
	if n := f.rows("series"); n != 3 {
		t.Errorf("%d series", n)
	}
	// Read again, with another result.
	must[Job](t)(f.Requeue(f.ctx, second.ID))
	f.ingest(kubeletResult("8", "9"))
	f.wantSound()
	// A reading that fails half way, is postponed, is killed.
	for _, end := range []func(Job){
		func(j Job) { f.ok(f.FailJob(f.ctx, j.ID, &analysis.Fault{What: "w"})) },
		func(j Job) {
			f.ok(f.PostponeJob(f.ctx, j.ID, &analysis.Fault{What: "w"}))
			f.ok(f.CancelOpenJob(f.ctx, third.ID))
		},
		func(Job) { f.crash(); f.ok(f.CancelOpenJob(f.ctx, third.ID)) },
	} {
		must[Job](t)(f.Requeue(f.ctx, third.ID))
		job, _, err := f.ClaimJob(f.ctx)
		f.ok(err)
		half := kubelet("x", instant, 5)
		half.Process.Name.Value = "half"
		half.Groups[0].Family.Title = "half of a result"
		f.ok(f.addSnapshot(job.ID, half))
		f.wantSound()
		end(job)
		f.wantSound()
	}
	f.ok(f.RemoveBundle(f.ctx, first.ID))
	f.wantSound()
	f.ok(f.DeleteCase(f.ctx, b.ID, WithdrawPermalinks))
	f.wantSound()
	f.reap()
	f.ok(f.RemoveBundle(f.ctx, second.ID))
	f.wantSound()
	f.wantEmpty("series", "family_seen")
	f.reap()
	f.wantEmpty("family", "stack", "frame", "function", "function_family")
	f.wantSound()
}

func TestDaysAreThoseOfUTCBeforeAndAfter1970(t *testing.T) {
	for micros, want := range map[int64]int64{0: 0, 1: 0, microsOfDay - 1: 0, microsOfDay: 1, -1: -1, -microsOfDay: -1, -microsOfDay - 1: -2} {
		got := dayOf(sql.NullInt64{Int64: micros, Valid: true})
		from, to := seriesDay{day: got}.bounds()
		if got != want || micros < from.Int64 || micros >= to.Int64 {
			t.Errorf("%d is on day %d, from %d to %d, want day %d", micros, got, from.Int64, to.Int64, want)
		}
	}
}
