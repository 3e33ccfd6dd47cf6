//go:build linux

package store

import (
	"bytes"
	"crypto/rand"
	"errors"
	mathrand "math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"leakdiff/analysis"

	"leakdiff/samples/corpus"
)

// openSmall is a fixture on a volume of so many MiB.
func openSmall(t *testing.T, size string) *fixture {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		corpus.LeaveOut(t, "no small volume can be mounted here, so that none can be filled: %v", err)
	}
	f := &fixture{t: t, ctx: t.Context(), dir: dir, clock: &clock{time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)}}
	f.reopen()
	t.Cleanup(func() {
		if f.Store != nil {
			f.release()
		}
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	return f
}

func (f *fixture) filler() string { return filepath.Join(f.dir, "filler") }

// fillUp takes all that is free on the volume, to its last byte.
func (f *fixture) fillUp() {
	f.t.Helper()
	file, err := os.OpenFile(f.filler(), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	f.ok(err)
	defer file.Close()
	chunk := make([]byte, 1<<20)
	for len(chunk) > 0 {
		if _, err := file.Write(chunk); errors.Is(err, syscall.ENOSPC) {
			chunk = chunk[:len(chunk)/2]
		} else {
			f.ok(err)
		}
	}
}

// bulky is content of so many bytes that does not compress.
func (f *fixture) bulky(size int) File {
	f.t.Helper()
	noise := make([]byte, size)
	rand.Read(noise)
	ref, err := f.Blobs().Put(f.ctx, bytes.NewReader(append([]byte("\x1f\x8b"), noise...)), 0)
	f.ok(err)
	return File{Name: "x.gz", SHA256: ref.SHA256, Size: ref.Size}
}

// large is a result whose rows take some MB for each million members.
func large(members int) Result {
	r := kubeletResult("2")
	var m analysis.Members
	for range members {
		m.Fill().ID = append(m.Fill().ID, mathrand.Int64())
	}
	r.Snapshots[0].Groups[0].Members = m
	return r
}

func (f *fixture) held() int64 {
	info, err := os.Stat(filepath.Join(f.dir, reserveFile))
	if err != nil {
		return 0
	}
	return info.Size()
}

func TestEndsOfJobsAndDeletionsHaveRoomOnAFullVolume(t *testing.T) {
	for name, end := range map[string]func(f *fixture, c Case, b Bundle, job Job){
		"postponing": func(f *fixture, _ Case, b Bundle, job Job) {
			f.ok(f.PostponeJob(f.ctx, job.ID, &analysis.Fault{Code: "disk_full", What: "full"}))
			got := must[Bundle](f.t)(f.Bundle(f.ctx, b.ID))
			if got.Status != Queued || got.Error == nil || got.Error.Code != "disk_full" {
				f.t.Errorf("the bundle is %s, %v", got.Status, got.Error)
			}
		},
		"failing": func(f *fixture, _ Case, b Bundle, job Job) {
			f.ok(f.FailJob(f.ctx, job.ID, &analysis.Fault{Code: "unreadable", What: "no"}))
			if got := must[Bundle](f.t)(f.Bundle(f.ctx, b.ID)); got.Status != Failed {
				f.t.Errorf("the bundle is %s", got.Status)
			}
		},
		"cancelling": func(f *fixture, _ Case, b Bundle, job Job) {
			f.ok(f.CancelJob(f.ctx, job.ID))
			if got := must[Bundle](f.t)(f.Bundle(f.ctx, b.ID)); got.Status != Cancelled {
				f.t.Errorf("the bundle is %s", got.Status)
			}
		},
		"finishing": func(f *fixture, _ Case, b Bundle, job Job) {
			wantCode(f.t, f.FinishJob(f.ctx, job.ID, large(300_000)), "disk_full")
			f.ok(f.PostponeJob(f.ctx, job.ID, &analysis.Fault{Code: "disk_full", What: "full"}))
			f.ingest(large(300_000))
			if got := must[Bundle](f.t)(f.Bundle(f.ctx, b.ID)); got.Status != Done || got.Error != nil {
				f.t.Errorf("the bundle is %s, %v", got.Status, got.Error)
			}
			if held := f.held(); held != reserveForDeleting {
				f.t.Errorf("saving a result left %d bytes for deleting, want %d", held, reserveForDeleting)
			}
		},
		"removing a bundle": func(f *fixture, _ Case, b Bundle, _ Job) { f.ok(f.RemoveBundle(f.ctx, b.ID)) },
		"deleting a case":   func(f *fixture, c Case, _ Bundle, _ Job) { f.ok(f.DeleteCase(f.ctx, c.ID, WithdrawPermalinks)) },
		"starting": func(f *fixture, _ Case, b Bundle, _ Job) {
			f.crash()
			if got := must[Bundle](f.t)(f.Bundle(f.ctx, b.ID)); got.Status != Queued {
				f.t.Errorf("the bundle is %s", got.Status)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := openSmall(t, "90m")
			if f.held() != reserveSize {
				t.Fatalf("%d bytes are reserved", f.held())
			}
			c := f.newCase("a")
			b, _ := f.upload(c.ID, "x")
			job, _, err := f.ClaimJob(f.ctx)
			f.ok(err)
			f.ok(stepAll(f.ctx, f.writer, `PRAGMA wal_checkpoint(TRUNCATE)`)) // no room is left in the log
			f.fillUp()
			if err := f.SetSetting(f.ctx, "a", "b"); !IsFull(f.orFull(err)) {
				t.Fatalf("the volume is not full: %v", err)
			}
			end(f, c, b, job)
			f.ok(os.Remove(f.filler()))
			f.ok(f.Sweep(f.ctx))
			if f.held() != reserveSize {
				t.Errorf("with room again %d bytes are reserved", f.held())
			}
			f.wantSound()
		})
	}
}

// The rows of such a case do not fit into the reserve, and into what is left of it after
// other deletions even less.
func TestACaseLargerThanTheReserveIsDeletedOnAFullVolume(t *testing.T) {
	f := openSmall(t, "200m")
	c, other := f.newCase("a"), f.newCase("b")
	shared := f.bulky(1 << 20)
	_, _, err := f.AddBundle(f.ctx, other.ID, "shared", []File{shared})
	f.ok(err)
	f.ingest(kubeletResult("3"))
	_, _, err = f.AddBundle(f.ctx, c.ID, "large", []File{f.bulky(60 << 20), shared})
	f.ok(err)
	f.ingest(large(3_000_000))
	f.ok(stepAll(f.ctx, f.writer, `PRAGMA wal_checkpoint(TRUNCATE)`))
	f.reserve.shrink(1 << 20)
	f.fillUp()
	f.ok(f.DeleteCase(f.ctx, c.ID, WithdrawPermalinks))
	if list := must[[]string](t)(blobNames(f)); len(list) != 1 || list[0] != shared.SHA256 {
		t.Errorf("after it there are %v, want %s", list, shared.SHA256)
	}
	f.ok(f.Blobs().Verify(f.ctx, shared.SHA256))
	f.wantSound()
}

func TestADeletionThatACrashCutShortIsFinishedAtTheNextStart(t *testing.T) {
	for name, fate := range map[string]PermalinkFate{"withdrawing": WithdrawPermalinks, "keeping": KeepPermalinks} {
		t.Run(name, func(t *testing.T) {
			f := open(t)
			c := f.newCase("a")
			f.filled(c.ID, "x", kubeletResult("2"))
			link, _, err := f.CreatePermalink(f.ctx, Permalink{CaseID: c.ID, Record: []byte(`{}`)})
			f.ok(err)
			begun := must[string](t)(f.beginDeleting(f.ctx, c.ID, fate))
			f.ok(f.deleteOwnBlobs(f.ctx, begun))
			f.crash()
			_, err = f.Case(f.ctx, c.ID)
			wantCode(t, err, "not_found")
			f.wantEmpty("blob", "bundle_file", "snapshot")
			var gone *Gone
			if _, err := f.Permalink(f.ctx, link.ID); errors.As(err, &gone) != (fate == WithdrawPermalinks) {
				t.Errorf("its permalink: %v", err)
			}
		})
	}
}

func TestASmallVolumeHasAReserveThatManyDeletionsDoNotUseUp(t *testing.T) {
	f := openSmall(t, "60m")
	if held := f.held(); held < 8<<20 || held > 20<<20 {
		t.Errorf("%d bytes are reserved", held)
	}
	var cases []Case
	for i := range 20 {
		c := f.newCase(strconv.Itoa(i))
		f.filled(c.ID, c.ID, kubeletResult("2"))
		cases = append(cases, c)
	}
	f.ok(stepAll(f.ctx, f.writer, `PRAGMA wal_checkpoint(TRUNCATE)`))
	for _, c := range cases {
		f.fillUp()
		f.ok(f.DeleteCase(f.ctx, c.ID, WithdrawPermalinks))
	}
	if n := f.rows("cases"); n != 0 {
		t.Errorf("%d cases are left", n)
	}
	f.fillUp()
	f.crash()
	f.wantSound()
	f.ok(os.Remove(f.filler()))
	f.ok(f.Sweep(f.ctx))
	if held := f.held(); held < 8<<20 {
		t.Errorf("with room again %d bytes are reserved", held)
	}
}

func TestAFullVolumeWithoutAReserveGivesHintsThatCanBeFollowed(t *testing.T) {
	f := openSmall(t, "60m")
	c := f.newCase("a")
	f.filled(c.ID, "x", kubeletResult("2"))
	f.ok(stepAll(f.ctx, f.writer, `PRAGMA wal_checkpoint(TRUNCATE)`))
	f.reserve.shrink(0)
	f.fillUp()
	hint := func(what string, err error) {
		t.Helper()
		var fault *analysis.Fault
		if !IsFull(err) || !errors.As(err, &fault) || !strings.HasPrefix(fault.Hint, "Free ") {
			t.Errorf("%s: %+v", what, err)
		}
	}
	hint("deleting", f.DeleteCase(f.ctx, c.ID, WithdrawPermalinks))
	f.release()
	f.Store = nil
	f.fillUp()
	s, err := Open(f.ctx, Config{Dir: f.dir})
	if err == nil {
		f.Store = s
	}
	hint("starting", err)
	f.ok(os.Remove(f.filler()))
	if f.Store == nil {
		f.reopen()
	}
	text := f.logged()
	f.Store.log = f.log
	f.reserve.shrink(0)
	f.fillUp()
	f.restoreReserve(f.ctx)
	if !strings.Contains(text.String(), "no space is reserved") {
		t.Errorf("nothing is said of it: %s", text)
	}
}

// Its bytes are another case's as well, so that nothing comes free before its rows go.
func TestACaseWhoseDeletionWasBegunIsGoneForEverybodyAndDeletedWhenThereIsRoom(t *testing.T) {
	for name, fate := range map[string]PermalinkFate{"withdrawing": WithdrawPermalinks, "keeping": KeepPermalinks} {
		t.Run(name, func(t *testing.T) {
			f := openSmall(t, "200m")
			c, other := f.newCase("a name that is told"), f.newCase("b")
			shared := f.bulky(1 << 20)
			_, _, err := f.AddBundle(f.ctx, other.ID, "shared", []File{shared})
			f.ok(err)
			f.ingest(kubeletResult("3"))
			b, _, err := f.AddBundle(f.ctx, c.ID, "large", []File{shared})
			f.ok(err)
			f.ingest(large(3_000_000))
			link, _, err := f.CreatePermalink(f.ctx, Permalink{CaseID: c.ID, Record: []byte(`{}`), Raw: []byte("line")})
			f.ok(err)
			again, err := f.Requeue(f.ctx, b.ID)
			f.ok(err)
			snaps := must[[]analysis.Snapshot](t)(f.Snapshots(f.ctx, c.ID))
			f.ok(stepAll(f.ctx, f.writer, `PRAGMA wal_checkpoint(TRUNCATE)`))
			f.reserve.shrink(1 << 20)
			f.fillUp()
			f.ok(f.DeleteCase(f.ctx, c.ID, fate))
			if f.rows("cases") != 2 {
				t.Fatal("all of it had room: the test proves nothing")
			}

			gone := func() {
				t.Helper()
				_, err := f.Case(f.ctx, c.ID)
				wantCode(t, err, "not_found")
				_, err = f.Bundle(f.ctx, b.ID)
				wantCode(t, err, "not_found")
				_, err = f.Requeue(f.ctx, b.ID)
				wantCode(t, err, "not_found")
				_, err = f.Job(f.ctx, again.ID)
				wantCode(t, err, "not_found")
				wantCode(t, f.DeleteCase(f.ctx, c.ID, fate), "not_found")
				list, total, err := f.Cases(f.ctx, CaseQuery{Everything: true, Limit: 9})
				if err != nil || total != 1 || len(list) != 1 || list[0].ID != other.ID {
					t.Errorf("the list: %d of %d, %v", len(list), total, err)
				}
				if found, err := f.FindSnapshot(f.ctx, snaps[0].ID); err != nil || len(found) > 1 || len(found) == 1 && found[0] != other.ID {
					t.Errorf("its snapshot is found in %v, %v", found, err)
				}
				var ended *Gone
				p, err := f.Permalink(f.ctx, link.ID)
				if errors.As(err, &ended) != (fate == WithdrawPermalinks) || p.Raw != nil || p.CaseID != "" {
					t.Errorf("its permalink: %+v, %v", p, err)
				}
			}
			gone()
			f.crash() // on the volume that is still full
			gone()
			f.ok(os.Remove(f.filler()))
			_, _, err = f.AddBundle(f.ctx, c.ID, "more", []File{f.file("more", "more")})
			wantCode(t, err, "not_found")
			_, _, err = f.CreatePermalink(f.ctx, Permalink{CaseID: c.ID, Record: []byte(`{}`)})
			wantCode(t, err, "not_found")
			gone()
			f.ok(f.Sweep(f.ctx))
			gone()
			if n := f.rows("cases"); n != 1 {
				t.Errorf("%d cases are left in the database", n)
			}
			f.ok(f.Blobs().Verify(f.ctx, shared.SHA256))
			f.wantSound()
		})
	}
}

func TestAPostponedJobWaitsBehindTheOthersAndIsNoFailedAttempt(t *testing.T) {
	f := open(t)
	c := f.newCase("a")
	first, _ := f.upload(c.ID, "1")
	second, _ := f.upload(c.ID, "2")
	for range maxAttempts + 2 {
		for _, want := range []Bundle{first, second} {
			job, claimed, err := f.ClaimJob(f.ctx)
			f.ok(err)
			if !claimed || job.BundleID != want.ID || job.Attempts != 1 {
				t.Fatalf("claimed %v: %+v, want %s", claimed, job, want.ID)
			}
			f.ok(f.addSnapshot(job.ID, kubelet("2", instant, 5)))
			f.ok(f.PostponeJob(f.ctx, job.ID, &analysis.Fault{Code: "disk_full", What: "full"}))
		}
	}
	f.reap()
	f.wantEmpty("snapshot", "family")
	f.ingest(kubeletResult("2"))
	if got := must[Bundle](t)(f.Bundle(f.ctx, first.ID)); got.Status != Done || got.Error != nil {
		t.Errorf("got %s, %v", got.Status, got.Error)
	}
	wantCode(t, f.PostponeJob(f.ctx, "jnone", nil), "not_found")
	f.wantSound()
}

func TestPostponingKeepsTheOlderResult(t *testing.T) {
	f := open(t)
	c := f.newCase("a")
	b := f.filled(c.ID, "1", kubeletResult("2"))
	_, err := f.Requeue(f.ctx, b.ID)
	f.ok(err)
	job, _, err := f.ClaimJob(f.ctx)
	f.ok(err)
	f.ok(f.PostponeJob(f.ctx, job.ID, &analysis.Fault{Code: "disk_full", What: "full"}))
	if snaps := must[[]analysis.Snapshot](t)(f.Snapshots(f.ctx, c.ID)); len(snaps) != 1 {
		t.Errorf("%d snapshots are visible, want that of the older result", len(snaps))
	}
}
