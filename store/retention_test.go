package store

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"leakdiff/analysis"
)

// every is a series of captures at these minutes, with goroutine totals. All are old.
func every(minutes []int, totals ...int) []thinnable {
	var out []thinnable
	for i, m := range minutes {
		x := thinnable{seq: int64(i), at: november(1).Add(time.Duration(m) * time.Minute).UnixMicro(), old: true, totals: captureTotals{-1, -1, -1, -1}}
		if i < len(totals) {
			x.totals[0] = totals[i]
		}
		out = append(out, x)
	}
	return out
}

func TestAPolicyKeepsTheFirstTheLastPeaksAndOneOfEachHour(t *testing.T) {
	tens := []int{0, 10, 20, 30, 40, 50, 60, 70, 80}
	for name, c := range map[string]struct {
		list []thinnable
		// dropped are positions in the list.
		dropped []int64
	}{
		"no capture":                       {nil, nil},
		"one capture is first and last":    {every([]int{5}), nil},
		"two of one hour":                  {every([]int{5, 6}), nil},
		"three of one time":                {every([]int{5, 5, 5}), []int64{1}},
		"one of each hour stays":           {every(tens), []int64{1, 2, 3, 4, 5, 7}},
		"hours are those of the clock":     {every([]int{50, 59, 60, 61, 119, 200}), []int64{1, 3, 4}},
		"the highest total stays":          {every(tens, 1, 1, 1, 9, 1, 1, 1, 1, 1), []int64{1, 2, 4, 5, 7}},
		"of equal peaks the first one":     {every(tens, 1, 1, 1, 9, 9, 9, 1, 1, 1), []int64{1, 2, 4, 5, 7}},
		"a capture a day is never dropped": {every([]int{0, 1440, 2880, 4320}), nil},
		"each kind has its peak": {func() []thinnable {
			list := every(tens)
			for k, i := range []int{1, 3, 5, 7} {
				list[i].totals[k] = 3
			}
			return list
		}(), []int64{2, 4}},
		"what is not old stays and counts": {func() []thinnable {
			list := every(tens, 1, 5, 1, 1, 1, 1, 1, 1, 9)
			for i := 4; i < len(list); i++ {
				list[i].old = false
			}
			return list
		}(), []int64{1, 2, 3}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []int64
			for _, x := range replaceable(c.list) {
				got = append(got, x.seq)
			}
			wantEqual(t, c.dropped, got)
		})
	}
}

func TestAPolicyLeavesEnoughOfEverySeriesToProveWhatWasProven(t *testing.T) {
	minutes := func(n int) (out []int) {
		for i := range n {
			out = append(out, i)
		}
		return out
	}
	for n, want := range map[int]int{3: 0, 24: 0, 25: 1, 60: 36} {
		if got := surplus(every(minutes(n))); len(got) != want {
			t.Errorf("of %d captures in an hour %d are dropped, want %d", n, len(got), want)
		}
	}
	long := surplus(every(minutes(30 * 60)))
	if len(long) != 30*60-31 {
		t.Errorf("of 30 hours of captures a minute apart %d are dropped", len(long))
	}
	gone := map[int64]bool{}
	for _, x := range surplus(every(minutes(60))) {
		gone[x.seq] = true
	}
	for last, i := int64(0), int64(1); i < 60; i++ {
		if !gone[i] {
			if i-last > 4 {
				t.Errorf("between %d and %d nothing is left", last, i)
			}
			last = i
		}
	}
}

func TestAPolicyThatIsAppliedTwiceDropsNothingMore(t *testing.T) {
	random := rand.New(rand.NewPCG(24, 6))
	dropped := 0
	for range 2000 {
		var list []thinnable
		at := november(1).UnixMicro()
		for i := range random.IntN(80) {
			at += random.Int64N(20) * 60 * 1_000_000
			x := thinnable{seq: int64(i), at: at, old: random.IntN(4) > 0}
			for k := range x.totals {
				x.totals[k] = random.IntN(9) - 1
			}
			list = append(list, x)
		}
		gone := surplus(list)
		dropped += len(gone)
		left := slices.DeleteFunc(slices.Clone(list), func(x thinnable) bool { return slices.Contains(gone, x) })
		if again := surplus(left); len(again) > 0 {
			t.Fatalf("of %v first %v and then %v is dropped", list, gone, again)
		}
	}
	if dropped < 1000 {
		t.Errorf("%d were dropped: the property was hardly tried", dropped)
	}
}

// crowded has n captures of a host, ten minutes apart, of which the third one has the most
// goroutines, the last one a day after the first.
func crowded(host, seed string, n int) Result {
	var r Result
	for i := range n {
		at := november(20).Add(time.Duration(i) * 10 * time.Minute)
		if i == n-1 {
			at = november(21)
		}
		snap := on(host, fmt.Sprintf("%s%02d", seed, i), at, 4+i)
		total := 20
		if i == 2 {
			total = 90
		}
		snap.Totals.Goroutines = &total
		r.Snapshots = append(r.Snapshots, snap)
	}
	return r
}

// thinnedOf returns the labels of the snapshots of a case that have their members, and of those
// that lost them.
func (f *fixture) thinnedOf(caseID string) (whole, thinned []string) {
	f.t.Helper()
	for _, snap := range must[[]analysis.Snapshot](f.t)(f.full(caseID)) {
		n := 0
		for _, g := range snap.Groups {
			n += g.Members.Len()
		}
		switch {
		case n > 0 && snap.Thinned.IsZero():
			whole = append(whole, snap.Label)
		case n == 0 && snap.Thinned.Equal(f.time()):
			thinned = append(thinned, snap.Label)
		default:
			f.t.Errorf("%s has %d members and lost them at %v", snap.Label, n, snap.Thinned)
		}
	}
	return whole, thinned
}

func (f *fixture) retain(keep Retention) Retained {
	f.t.Helper()
	planned := TotalOf(must[[]CaseRetained](f.t)(f.PlanRetention(f.ctx, keep, "")))
	done := TotalOf(must[[]CaseRetained](f.t)(f.Retain(f.ctx, keep)))
	if done != planned {
		f.t.Errorf("planned was %+v, dropped %+v", planned, done)
	}
	return done
}

func TestMembersAreDroppedAfterSomeDaysAndNothingElse(t *testing.T) {
	f := open(t)
	c := f.newCase("node-a")
	f.filled(c.ID, "one", crowded("node-a", "a", 40))
	other := f.newCase("node-b")
	f.filled(other.ID, "two", crowded("node-b", "b", 40))
	_, err := f.SetField(f.ctx, other.ID, KeepMembersField, "0")
	f.ok(err)
	before := must[[]analysis.Snapshot](t)(f.Snapshots(f.ctx, c.ID))
	f.keepReport(c.ID, "a report")
	link, _, err := f.CreatePermalink(f.ctx, Permalink{CaseID: c.ID, Record: []byte(`{"a":1}`), Raw: []byte(`["b"]`)})
	f.ok(err)
	f.ok(f.SetCaseSummary(f.ctx, c.ID, Summary{Headline: "it leaks", Knowledge: "v1"}))
	f.ok(f.SetCaseSummary(f.ctx, other.ID, Summary{Headline: "it leaks", Knowledge: "v1"}))
	first, second := must[Case](t)(f.Case(f.ctx, c.ID)), must[Case](t)(f.Case(f.ctx, other.ID))

	wantEqual(t, Retained{}, f.retain(Retention{}))
	wantEqual(t, Retained{}, f.retain(Retention{Members: 1}))
	f.clock.advance(25 * time.Hour)
	done := f.retain(Retention{Members: 1})
	if done.Snapshots != 16 || done.MemberBytes == 0 || done.Bundles != 0 {
		t.Errorf("%+v was dropped", done)
	}
	whole, thinned := f.thinnedOf(c.ID)
	wantEqual(t, []int{24, 16}, []int{len(whole), len(thinned)})
	for _, label := range []string{"ta00", "ta02", "ta06", "ta12", "ta39"} {
		if !slices.Contains(whole, label) {
			t.Errorf("%s lost its members", label)
		}
	}
	whole, thinned = f.thinnedOf(other.ID)
	wantEqual(t, []int{40, 0}, []int{len(whole), len(thinned)})

	wantEqual(t, before, must[[]analysis.Snapshot](t)(f.Snapshots(f.ctx, c.ID)))
	f.wantReport(c.ID, "a report")
	after := must[Case](t)(f.Case(f.ctx, c.ID))
	if after.Revision == first.Revision {
		t.Error("servers that have the case in memory are not told")
	}
	after.Revision = first.Revision
	wantEqual(t, []Case{first, second}, []Case{after, must[Case](t)(f.Case(f.ctx, other.ID))})
	if again := must[[]string](t)(f.CasesToSummarise(f.ctx, "v1")); len(again) > 0 {
		t.Errorf("%v is judged again", again)
	}
	kept, err := f.Permalink(f.ctx, link.ID)
	f.ok(err)
	wantEqual(t, []string{`{"a":1}`, `["b"]`}, []string{string(kept.Record), string(kept.Raw)})
	f.wantSound()
	wantEqual(t, Retained{}, f.retain(Retention{Members: 1}))
	if f.database == "" {
		f.close()
		if found := f.check(); !found.Sound() {
			t.Errorf("%+v", found.Findings)
		}
		f.reopen()
	}

	// A later reading brings the members back, until the policy is applied again.
	b := must[[]Bundle](t)(f.Bundles(f.ctx, c.ID))[0]
	_, err = f.Requeue(f.ctx, b.ID)
	f.ok(err)
	f.ingest(crowded("node-a", "a", 40))
	whole, _ = f.thinnedOf(c.ID)
	wantEqual(t, 40, len(whole))
	wantEqual(t, 16, f.retain(Retention{Members: 1}).Snapshots)
	f.wantSound()
}

func TestAMissingMemberIsDamageWhereNoPolicyDroppedIt(t *testing.T) {
	f := open(t)
	c := f.newCase("node-a")
	f.filled(c.ID, "one", crowded("node-a", "a", 25))
	f.clock.advance(48 * time.Hour)
	wantEqual(t, 1, f.retain(Retention{Members: 1}).Snapshots)
	f.exec(`DELETE FROM snapshot_members WHERE snapshot_seq = (SELECT min(snapshot_seq) FROM snapshot_members)`)
	if _, err := f.full(c.ID); err == nil {
		t.Error("lost members are not noticed")
	}
}

func TestAnInterruptedThinningGoesOn(t *testing.T) {
	f := open(t)
	var ids []string
	for _, host := range []string{"node-a", "node-b"} {
		c := f.newCase(host)
		f.filled(c.ID, host, crowded(host, host[5:], 27))
		ids = append(ids, c.ID)
	}
	f.clock.advance(48 * time.Hour)
	keep, stop := Retention{Members: 1}, errors.New("stop")
	cases := must[[]retainedCase](t)(f.casesToRetain(f.ctx, keep, ""))
	err := f.surplusOfCase(f.ctx, cases[0], func(_ Retained, seqs []int64) error {
		f.ok(f.thin(f.ctx, cases[0].seq, seqs[:1]))
		return stop
	})
	if !errors.Is(err, stop) {
		t.Fatal(err)
	}
	f.crash()
	_, thinned := f.thinnedOf(ids[0])
	wantEqual(t, 1, len(thinned))
	wantEqual(t, 5, f.retain(keep).Snapshots)
	for _, id := range ids {
		_, thinned := f.thinnedOf(id)
		wantEqual(t, 3, len(thinned))
	}
	f.wantSound()
}

func TestUploadsAreDroppedAfterSomeDaysAndTheirHashesStay(t *testing.T) {
	f := open(t)
	c := f.newCase("node-a")
	b := f.filled(c.ID, "own bytes", crowded("node-a", "a", 2))
	both := f.filled(c.ID, "bytes of two cases", kubeletResult("3"))
	f.clock.advance(48 * time.Hour)
	again := f.filled(f.newCase("again").ID, "bytes of two cases", kubeletResult("3"))
	waits, _ := f.upload(f.newCase("waits").ID, "waits")
	f.clock.advance(12 * time.Hour)
	f.exec(`UPDATE bundle SET created_at = 0 WHERE id = ?`, waits.ID) // it is old, but nobody has read it

	done := f.retain(Retention{Uploads: 1})
	wantEqual(t, Retained{Bundles: 2, UploadBytes: b.Size + both.Size}, done)
	for _, old := range []Bundle{b, both} {
		now := must[Bundle](t)(f.Bundle(f.ctx, old.ID))
		if !now.Dropped.Equal(f.time()) {
			t.Errorf("it was dropped at %v", now.Dropped)
		}
		now.Dropped = time.Time{}
		wantEqual(t, old, now)
		_, err := f.Requeue(f.ctx, old.ID)
		wantCode(t, err, "gone")
	}
	wantEqual(t, []bool{false, true, true}, []bool{f.has(b), f.has(again), f.has(waits)})
	if again := must[Bundle](t)(f.Bundle(f.ctx, again.ID)); !again.Dropped.IsZero() {
		t.Error("the other case lost its upload")
	}
	f.wantSound()
	wantEqual(t, Retained{}, f.retain(Retention{Uploads: 1}))
	if f.database == "" {
		f.close()
		if found := f.check(); !found.Sound() || len(found.Findings) > 0 {
			t.Errorf("%+v", found.Findings)
		}
		f.reopen()
	}
	f.ok(f.DeleteCase(f.ctx, c.ID, WithdrawPermalinks))
	var left int
	f.ok(f.reader.QueryRowContext(f.ctx, `SELECT count(*) FROM dropped_file`).Scan(&left))
	wantEqual(t, []any{0, true}, []any{left, f.has(again)})
}

func TestDaysBeyondAllTimeDropNothing(t *testing.T) {
	f := open(t)
	f.filled(f.newCase("fresh").ID, "bytes", kubeletResult("0"))
	for _, days := range []int{-1, MostDays, MostDays + 1, 160_000_000, 99_999_999_999, math.MaxInt, math.MinInt} {
		keep := Retention{Members: days, Uploads: days}
		if planned := must[[]CaseRetained](t)(f.PlanRetention(f.ctx, keep, "")); len(planned) != 0 {
			t.Errorf("%d days would drop %+v", days, planned)
		}
		if valid := keep.Valid(); valid != (days == MostDays) {
			t.Errorf("%d days are valid: %t", days, valid)
		}
	}
}

func TestALogSaysOfDroppedUploadsThatNothingRefersToThem(t *testing.T) {
	f := openFile(t)
	f.close()
	var said strings.Builder
	f.log = slog.New(slog.NewTextHandler(&said, nil))
	f.reopen()
	f.filled(f.newCase("kept").ID, "bytes", kubeletResult("0"))
	f.clock.advance(48 * time.Hour)
	wantEqual(t, 1, f.retain(Retention{Uploads: 1}).Bundles)
	if log := said.String(); !strings.Contains(log, `"uploads removed that nothing refers to any more" files=1`) {
		t.Errorf("the log is %s", log)
	}
}

func TestACaseMayKeepShorterOrLongerThanTheOthers(t *testing.T) {
	f := open(t)
	var ids []string
	for i, days := range []string{"", "3", "0"} {
		c := f.newCase(fmt.Sprint(i))
		f.filled(c.ID, fmt.Sprint("bytes ", i), kubeletResult(fmt.Sprint(i)))
		_, err := f.SetField(f.ctx, c.ID, KeepUploadsField, days)
		f.ok(err)
		ids = append(ids, c.ID)
	}
	f.clock.advance(4 * 24 * time.Hour)
	planned := must[[]CaseRetained](t)(f.PlanRetention(f.ctx, Retention{Uploads: 30}, ""))
	if len(planned) != 1 || planned[0].CaseID != ids[1] || planned[0].Keep != (Retention{Uploads: 3}) {
		t.Errorf("planned is %+v", planned)
	}
	for i, want := range []Retention{{Uploads: 30}, {Uploads: 3}, {}} {
		one := must[[]CaseRetained](t)(f.PlanRetention(f.ctx, Retention{Uploads: 30}, ids[i]))
		if len(one) != 1 || one[0].Keep != want {
			t.Errorf("case %d: %+v, want %+v", i, one, want)
		}
	}
	_, err := f.PlanRetention(f.ctx, Retention{}, "c0")
	wantCode(t, err, "not_found")
	f.clock.advance(27 * 24 * time.Hour)
	wantEqual(t, 2, f.retain(Retention{Uploads: 30}).Bundles)
}
