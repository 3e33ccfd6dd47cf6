package store

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"leakdiff/analysis"
)

// ownWords is a capture whose families, functions and files no other one has, but for one
// function that all have, in files of their own.
func ownWords(own string, families int) analysis.Snapshot {
	snap := kubelet("w", instant, 0)
	snap.ID, snap.Groups = snapshotID(own), nil
	for k := range families {
		name := fmt.Sprintf("example.org/%s.part%03d.run", own, k)
		snap.Groups = append(snap.Groups, analysis.Group{
			Family: &analysis.Family{Fingerprint: fmt.Sprintf("g1:%s-%03d", own, k), Kind: analysis.KindGoroutine, Title: name, Loose: []string{name, "runtime.gopark"}},
			Count:  1, OldestWait: -1,
			Variants: []analysis.Variant{{Fingerprint: "e1:" + own, Count: 1, Stack: &analysis.Stack{Frames: []analysis.Frame{
				{Func: name, File: "/home/" + own + "/main.go", Line: k}, {Func: "runtime.gopark", File: "/home/" + own + "/go/proc.go", Line: 1},
			}}}},
			Members: analysis.Members{Columns: &analysis.Columns{ID: []int64{int64(k)}}},
		})
	}
	return snap
}

func (f *fixture) withOwnWords(own string, families int) Case {
	f.t.Helper()
	c := f.newCase(own)
	f.filled(c.ID, own, Result{Snapshots: []analysis.Snapshot{ownWords(own, families)}})
	return c
}

func TestNothingOfDeletedWordsStaysForGood(t *testing.T) {
	f := open(t)
	gone, kept := f.withOwnWords("alice", 3*reapFamilies), f.withOwnWords("bob", 5)
	f.ok(f.DeleteCase(f.ctx, gone.ID, WithdrawPermalinks))
	if found := must[SearchResult](t)(f.SearchFunctions(f.ctx, "alice", nil, 10, 0)); len(found.Families) > 0 {
		t.Errorf("%d families of a deleted case are found", len(found.Families))
	}
	f.wantSound()
	batches := 0
	for more := true; more; batches++ {
		// What is known of frames that no stack uses goes with the process.
		if batches%3 == 0 {
			f.crash()
		}
		var err error
		more, err = f.Reap(f.ctx)
		f.ok(err)
		f.wantSound()
		if batches > 100 {
			t.Fatal("it never ends")
		}
	}
	f.reap()
	if batches < 5 {
		t.Errorf("only %d batches", batches)
	}
	if files := grep(t, f.dir, "alice"); len(files) > 0 {
		t.Errorf("the name still stands in %v", files)
	}
	wantEqual(t, []analysis.Snapshot{ownWords("bob", 5)}, must[[]analysis.Snapshot](t)(f.full(kept.ID)))
	f.wantSound()
}

func TestWordsOfResultsThatAreBeingWrittenAreKept(t *testing.T) {
	f := open(t)
	c := f.withOwnWords("alice", 3)
	again := f.newCase("again")
	_, job := f.upload(again.ID, "half")
	_, _, err := f.ClaimJob(f.ctx)
	f.ok(err)
	f.ok(f.addSnapshot(job.ID, ownWords("alice", 4)))
	f.ok(f.DeleteCase(f.ctx, c.ID, WithdrawPermalinks))
	f.ok(f.reapAll(f.ctx))
	if n := f.rows("family"); n != 4 {
		t.Errorf("%d families are left of 4 that are being written", n)
	}
	f.ok(f.FinishJob(f.ctx, job.ID, Result{Snapshots: []analysis.Snapshot{ownWords("alice", 4)}}))
	f.reap()
	wantEqual(t, []analysis.Snapshot{ownWords("alice", 4)}, must[[]analysis.Snapshot](t)(f.full(again.ID)))
	f.wantSound()
}

// Cases come and go while the reaper runs: no result loses a word, and in the end nothing
// of those that went is left.
func TestResultsAreWrittenWhileTheReaperRuns(t *testing.T) {
	f := open(t)
	stop := make(chan struct{})
	var reaping sync.WaitGroup
	reaping.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				if _, err := f.Reap(f.ctx); err != nil {
					t.Error(err)
					return
				}
			}
		}
	})
	var last Case
	for i := range 12 {
		own := []string{"alice", "bob", "carol"}[i%3]
		c := f.withOwnWords(own, 8)
		wantEqual(t, []analysis.Snapshot{ownWords(own, 8)}, must[[]analysis.Snapshot](t)(f.full(c.ID)))
		if i > 0 {
			f.ok(f.DeleteCase(f.ctx, last.ID, WithdrawPermalinks))
		}
		last = c
	}
	close(stop)
	reaping.Wait()
	f.reap()
	if n := f.rows("family"); n != 8 {
		t.Errorf("%d families are left, want the 8 of the last case", n)
	}
	for _, own := range []string{"alice", "bob"} {
		if files := grep(t, f.dir, own); len(files) > 0 {
			t.Errorf("%s still stands in %v", own, files)
		}
	}
	f.wantSound()
}

func TestAMarkingSeesStacksThatWereAddedSince(t *testing.T) {
	f := open(t)
	gone := f.withOwnWords("alice", 5)
	f.ok(f.DeleteCase(f.ctx, gone.ID, WithdrawPermalinks))
	for f.reaper.marking == nil || !f.reaper.marking.done {
		must[bool](t)(f.Reap(f.ctx))
	}
	c := f.withOwnWords("alice", 5) // with the frames that are about to be forgotten
	f.reap()
	wantEqual(t, []analysis.Snapshot{ownWords("alice", 5)}, must[[]analysis.Snapshot](t)(f.full(c.ID)))
	f.wantSound()
}

// diverse is a store of so many cases with words of their own.
func diverse(b *testing.B, n int) (f *fixture, cases []Case) {
	f = open(b)
	for i := range n {
		cases = append(cases, f.withOwnWords("own"+strings.Repeat("x", i%3)+fmt.Sprint(i), 30))
	}
	f.reap()
	return f, cases
}

// BenchmarkDelete deletes one of 3,000 cases with words of their own, and says how long
// another write waits meanwhile and while the reaper runs after it.
func BenchmarkDelete(b *testing.B) {
	f, cases := diverse(b, 3000)
	usual := f.slowestWrite(b, nil)
	var inRows, waited time.Duration
	n := 0
	for b.Loop() {
		c := cases[n]
		n++
		waited = max(waited, f.slowestWrite(b, func() {
			begun := time.Now()
			f.ok(f.deleteRows(f.ctx, c.ID, WithdrawPermalinks))
			inRows += time.Since(begun)
			f.ok(f.reclaim(f.ctx))
			f.ok(f.reapAll(f.ctx))
		}))
	}
	b.ReportMetric(float64(inRows.Microseconds())/1000/float64(n), "ms/transaction")
	b.ReportMetric(float64(usual.Microseconds())/1000, "ms/slowest-write-alone")
	b.ReportMetric(float64(waited.Microseconds())/1000, "ms/slowest-write-beside")
}

// slowestWrite writes again and again while something is done, at least 50 times.
func (f *fixture) slowestWrite(b *testing.B, during func()) (slowest time.Duration) {
	done := make(chan struct{})
	if during == nil {
		close(done)
	} else {
		go func() { defer close(done); during() }()
	}
	for n := 0; ; n++ {
		begun := time.Now()
		if err := f.SetSetting(f.ctx, "n", fmt.Sprint(n)); err != nil {
			b.Error(err)
		}
		slowest = max(slowest, time.Since(begun))
		select {
		case <-done:
			if n >= 50 {
				return slowest
			}
		default:
		}
	}
}

// BenchmarkFleet asks for families and processes of 10,000 cases of one kubelet each.
func BenchmarkFleet(b *testing.B) {
	f := open(b)
	for i := range 10_000 {
		c := f.newCase(fmt.Sprint("node ", i))
		snap := capture(0)
		snap.Groups = snap.Groups[:6]
		snap.ID = snapshotID(fmt.Sprintf("%06d", i))
		snap.CapturedAt = snap.CapturedAt.Add(time.Duration(i) * time.Minute)
		snap.Process.Host.Value = fmt.Sprintf("node-%05d", i)
		f.filled(c.ID, fmt.Sprint(i), Result{Snapshots: []analysis.Snapshot{snap}})
	}
	fingerprint := capture(0).Groups[0].Family.Fingerprint
	for name, ask := range map[string]func() error{
		"search":  func() error { _, err := f.SearchFunctions(f.ctx, "part03", nil, 100, 0); return err },
		"process": func() error { _, err := f.SearchFunctions(f.ctx, "node-04711", nil, 100, 0); return err },
		"sightings": func() error {
			_, err := f.FamilySightings(f.ctx, fingerprint, 100)
			return err
		},
		"sightings 2000": func() error {
			_, err := f.FamilySightings(f.ctx, fingerprint, 2000)
			return err
		},
		"one sighting": func() error { _, err := f.FamilySightings(f.ctx, fingerprint, 1); return err },
		"cases":        func() error { _, err := f.FamilyCases(f.ctx, fingerprint); return err },
		"host": func() error {
			_, _, err := f.Cases(f.ctx, CaseQuery{Host: "node-04711", Limit: 50})
			return err
		},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if err := ask(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
