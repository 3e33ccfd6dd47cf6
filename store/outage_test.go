package store

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"leakdiff/internal/test/outage"
	"leakdiff/samples/corpus"
)

// cuts is the number of power cuts: LEAKDIFF_FAULTS, or a few.
func cuts(few int) int {
	if n, err := strconv.Atoi(os.Getenv(everyFault)); err == nil {
		return n
	}
	return few
}

// onDisk is a store whose uploads lie on a disk that can fail.
func onDisk(t *testing.T) (*fixture, *outage.Disk) {
	t.Helper()
	f := &fixture{t: t, ctx: t.Context(), dir: t.TempDir(), clock: &clock{time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)}}
	disk := must[*outage.Disk](t)(outage.New(f.dir))
	f.Store = must[*Store](t)(Open(f.ctx, Config{Dir: f.dir, Now: f.clock.Now, Files: disk}))
	t.Cleanup(func() {
		if f.Store != nil {
			f.ok(f.release())
		}
	})
	return f, disk
}

// ledger is what senders know.
type ledger struct {
	mu sync.Mutex
	// kept are the hashes of acknowledged uploads by case; deleted cases are taken out
	// before the deletion begins.
	kept         map[string]string
	acknowledged int
}

// send uploads, and deletes every fourth case, until the disk fails.
func (l *ledger) send(f *fixture, client int) {
	for i := 0; ; i++ {
		// Every third upload is the same for all.
		content := fmt.Sprint("upload ", i)
		if i%3 > 0 {
			content = strings.Repeat(fmt.Sprint("of ", client, " ", i, "\n"), 1+i*7)
		}
		ref, err := f.Blobs().Put(f.ctx, strings.NewReader(content), 0)
		if err != nil {
			return
		}
		file := File{Name: "x", SHA256: ref.SHA256, Size: ref.Size}
		c, _, _, err := f.OpenCase(f.ctx, "a", "", "x", []File{file})
		if err != nil {
			return
		}
		l.mu.Lock()
		l.kept[c.ID] = ref.SHA256
		l.acknowledged++
		if i%4 == 3 {
			delete(l.kept, c.ID)
		}
		l.mu.Unlock()
		if i%4 == 3 && f.DeleteCase(f.ctx, c.ID, WithdrawPermalinks) != nil {
			return
		}
	}
}

// TestAPowerCutLosesNoAcknowledgedUpload loses what was not synced of the uploads. Of the
// database it takes what was committed: SQLite syncs each commit (synchronous=FULL).
func TestAPowerCutLosesNoAcknowledgedUpload(t *testing.T) {
	corpus.Heavy(t)
	rounds, acknowledged, lost := cuts(8), 0, 0
	for seed := range rounds {
		random := rand.New(rand.NewPCG(uint64(seed), 23))
		f, disk := onDisk(t)
		reached := disk.Reached(1 + random.IntN(150))
		l := &ledger{kept: map[string]string{}}
		var clients sync.WaitGroup
		for client := range 3 {
			clients.Go(func() { l.send(f, client) })
		}
		<-reached
		left := &fixture{t: t, ctx: f.ctx, dir: t.TempDir(), clock: f.clock}
		f.ok(disk.Cut(left.dir, random))
		clients.Wait()
		for _, name := range []string{databaseFile, databaseFile + "-wal"} {
			copyIfThere(t, filepath.Join(f.dir, name), filepath.Join(left.dir, name))
		}
		f.ok(f.release())
		f.Store = nil
		left.reopen()
		for id, sha := range l.kept {
			if _, err := left.Case(f.ctx, id); err != nil {
				lost++
				t.Errorf("seed %d: case %s: %v", seed, id, err)
			}
			if err := left.Blobs().Verify(f.ctx, sha); err != nil {
				lost++
				t.Errorf("seed %d: an acknowledged upload is lost: %v", seed, err)
			}
		}
		left.close()
		if got := left.check(); !got.Sound() {
			t.Errorf("seed %d: %+v", seed, got.Findings)
		}
		acknowledged += l.acknowledged
		f.ok(cmp.Or(os.RemoveAll(f.dir), os.RemoveAll(left.dir))) // thousands of rounds would fill the disk
	}
	t.Logf("power cuts: %d, uploads acknowledged: %d, lost: %d", rounds, acknowledged, lost)
	if acknowledged < rounds {
		t.Error("hardly an upload came in: the test proves nothing")
	}
}

// storeOne stores an upload in a case of its own.
func (f *fixture) storeOne(content string) (caseID string, err error) {
	ref, err := f.Blobs().Put(f.ctx, strings.NewReader(content), 0)
	if err != nil {
		return "", err
	}
	c, _, _, err := f.OpenCase(f.ctx, "a", "", "x", []File{{Name: "x", SHA256: ref.SHA256, Size: ref.Size}})
	return c.ID, err
}

func TestAFaultAtAnyOperationOfAnUploadOrADeletionLosesNothing(t *testing.T) {
	corpus.Heavy(t)
	faults, acknowledged := 0, 0
	for name, fault := range map[string]error{"no space": syscall.ENOSPC, "quota": syscall.EDQUOT, "I/O error": syscall.EIO, "short write": io.ErrShortWrite} {
		t.Run(name, func(t *testing.T) {
			f, disk := onDisk(t)
			kept := map[string]bool{}
			for n := 1; ; n++ {
				content := strings.Repeat(fmt.Sprint(name, n, "\n"), 9000) // several writes
				disk.FailAt(n, fault)
				id, err := f.storeOne(content)
				injected := disk.Ops() >= n
				disk.FailAt(0, nil)
				if err == nil {
					kept[id] = true
					acknowledged++
				}
				if !injected {
					break
				}
				faults++
				if again, err := f.storeOne(content); err != nil {
					t.Errorf("after a fault at operation %d the same upload fails: %v", n, err)
				} else {
					kept[again] = true
					acknowledged++
				}
			}
			for n, id := range slices.Sorted(maps.Keys(kept))[:len(kept)/2] {
				disk.FailAt(1+n%4, fault)
				err := f.DeleteCase(f.ctx, id, WithdrawPermalinks)
				if disk.Ops() > n%4 {
					faults++
				}
				disk.FailAt(0, nil)
				if _, gone := f.Case(f.ctx, id); err == nil && code(gone) != "not_found" {
					t.Errorf("a deletion that succeeded left the case: %v", gone)
				}
				delete(kept, id)
			}
			f.ok(f.Sweep(f.ctx))
			for id := range kept {
				b := must[[]Bundle](t)(f.Bundles(f.ctx, id))
				if len(b) != 1 || f.Blobs().Verify(f.ctx, b[0].Files[0].SHA256) != nil {
					t.Errorf("case %s is lost: %+v", id, b)
				}
			}
			f.close()
			f.reopen() // a start removes what faults left
			f.close()
			if got := f.check(); !got.Sound() || got.Cases != len(kept) {
				t.Errorf("%d cases are kept: %+v", len(kept), got)
			}
		})
	}
	t.Logf("faults injected: %d, uploads acknowledged: %d", faults, acknowledged)
}

func TestAnUploadIsNotAcknowledgedWhileTheDiskHangs(t *testing.T) {
	f, disk := onDisk(t)
	hanging, release := disk.HangSyncs()
	done := make(chan error, 1)
	go func() {
		_, err := f.storeOne("slow")
		done <- err
	}()
	<-hanging
	// Others are answered meanwhile.
	f.ok(f.Ping(f.ctx))
	state := must[State](t)(f.State(f.ctx))
	if _, n, err := f.Cases(f.ctx, CaseQuery{}); n != 0 || err != nil || state.Queued != 0 {
		t.Errorf("%d cases, %d queued, %v", n, state.Queued, err)
	}
	select {
	case err := <-done:
		t.Errorf("it was acknowledged before it was durable: %v", err)
	default:
	}
	release()
	f.ok(<-done)
}

func TestAClockThatGoesBackLosesNothing(t *testing.T) {
	f := openFile(t)
	back := func() { f.clock.advance(-40 * 24 * time.Hour) }
	c := f.newCase("a")
	first := f.filled(c.ID, "one", kubeletResult("2"))
	back()
	b, _ := f.upload(c.ID, "two")
	back()
	job, claimed, err := f.ClaimJob(f.ctx)
	f.ok(err)
	if !claimed {
		t.Fatal("what was uploaded before the clock went back is not read")
	}
	back()
	f.ok(f.FinishJob(f.ctx, job.ID, kubeletResult("3")))
	p, key, err := f.CreatePermalink(f.ctx, Permalink{CaseID: c.ID, Record: []byte(`{}`), Expires: f.clock.now.Add(time.Hour)})
	f.ok(err)
	back()
	if _, err := f.Permalink(f.ctx, p.ID); err != nil {
		t.Error(err)
	}
	f.ok(f.Sweep(f.ctx))
	if state := must[State](t)(f.State(f.ctx)); state.Queued+state.Running != 0 {
		t.Errorf("%+v", state)
	}
	f.ok(f.WithdrawPermalink(f.ctx, p.ID, key))
	f.ok(f.RemoveBundle(f.ctx, first.ID))
	if got := must[Bundle](t)(f.Bundle(f.ctx, b.ID)); got.Snapshots != 1 {
		t.Errorf("%+v", got)
	}
	f.wantSound()
	f.close()
	if got := f.check(); len(got.Findings) > 0 {
		t.Errorf("%+v", got)
	}
}
