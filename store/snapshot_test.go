package store

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"leakdiff/analysis"
	"leakdiff/samples/corpus"
)

func TestSnapshotsComeBackAsWritten(t *testing.T) {
	f := open(t)
	c := f.newCase("a")
	want := kubeletResult("2", "3", "4").Snapshots
	untimed := kubelet("5", time.Time{}, 7)
	untimed.Times, untimed.Figures, untimed.Groups = nil, nil, nil
	want = append(want, untimed)
	f.filled(c.ID, "1", Result{Snapshots: want})

	full, err := f.full(c.ID)
	f.ok(err)
	wantEqual(t, want, full)
	slim, err := f.Snapshots(f.ctx, c.ID)
	f.ok(err)
	wantEqual(t, withoutMembersOf(want), slim)
	_, heads, err := f.SnapshotHeads(f.ctx, c.ID)
	f.ok(err)
	bundles, err := f.Bundles(f.ctx, c.ID)
	f.ok(err)
	for i := range slim {
		slim[i].Groups, slim[i].Upload = nil, bundles[0].Name
	}
	wantEqual(t, slim, heads)
	if full[0].Groups[0].Family != full[1].Groups[0].Family {
		t.Error("a family stands in memory once for each snapshot")
	}
}

func TestPackedSnapshotsHoldWhatWasWritten(t *testing.T) {
	f := open(t)
	c := f.newCase("a")
	snap := kubelet("2", instant, 5)
	members := leakedMembers(3000)
	snap.Groups[0].Members = packedOf(&members)
	f.filled(c.ID, "1", Result{Snapshots: []analysis.Snapshot{snap}})
	if n := len(snap.Groups[0].Members.Packed); n > 0 {
		t.Errorf("%d packings are held beside what was written of them", n)
	}

	full, err := f.full(c.ID)
	f.ok(err)
	packed, err := f.SnapshotsPacked(f.ctx, c.ID)
	f.ok(err)
	if m := &packed[0].Groups[0].Members; len(m.Packed) == 0 || m.Columns != nil {
		t.Errorf("%d packings, columns %v", len(m.Packed), m.Columns)
	}
	written := packedOf(&members)
	written.Unpack()
	wantEqual(t, written, full[0].Groups[0].Members)
}

func TestTimesAreUTCAndThoseThatCannotBeAreDropped(t *testing.T) {
	f := open(t)
	c := f.newCase("a")
	snap := kubelet("2", instant.In(time.FixedZone("CET", 3600)), 5)
	snap.Artifacts[0].Modified = time.Date(50000, 1, 1, 0, 0, 0, 0, time.UTC)
	f.filled(c.ID, "1", Result{Snapshots: []analysis.Snapshot{snap}})
	got, err := f.Snapshots(f.ctx, c.ID)
	f.ok(err)
	if got[0].CapturedAt != instant || !got[0].Artifacts[0].Modified.IsZero() {
		t.Errorf("captured at %v, modified at %v", got[0].CapturedAt, got[0].Artifacts[0].Modified)
	}
	if snap.Artifacts[0].Modified.IsZero() {
		t.Error("writing changed the caller's snapshot")
	}
}

func TestNamesFromHostileDumpsComeBackAsTheyWere(t *testing.T) {
	f := openFile(t)
	c := f.newCase("a")
	for i, name := range []string{"", "nul\x00inside", "bad utf-8 \xff\xfe", `quotes " ' %`, strings.Repeat("long.", 20000), "日本語.関数"} {
		snap := analysis.Snapshot{ID: fmt.Sprintf("s%d", i), Groups: []analysis.Group{{
			Family:   &analysis.Family{Fingerprint: fmt.Sprint("g1:", i), Kind: analysis.KindGoroutine, Title: name, Loose: []string{name, name}, LooseCreator: name},
			Variants: []analysis.Variant{{Fingerprint: "e1:x", Stack: &analysis.Stack{Frames: []analysis.Frame{{Func: name, File: name, Line: -1}}}, Count: 1}},
		}}}
		b := f.filled(c.ID, fmt.Sprint(i), Result{Snapshots: []analysis.Snapshot{snap}})
		got, err := f.Snapshots(f.ctx, c.ID)
		f.ok(err)
		wantEqual(t, []analysis.Snapshot{snap}, got)
		found, err := f.SearchFunctions(f.ctx, name, nil, 5, 0)
		if err != nil {
			t.Errorf("searching %.20q: %v", name, err)
		}
		if searchable := name != "" && utf8.ValidString(name); searchable && len(found.Families) != 1 {
			t.Errorf("searching %.20q finds %d families", name, len(found.Families))
		}
		f.ok(f.RemoveBundle(f.ctx, b.ID))
		f.reap()
		f.wantEmpty("function", "family", "stack", "frame")
		f.wantSound()
	}
}

func TestASnapshotInSeveralBundlesIsShownOnce(t *testing.T) {
	f := open(t)
	c := f.newCase("a")
	f.filled(c.ID, "1", kubeletResult("2", "3"))
	f.filled(c.ID, "2", kubeletResult("3", "4"))
	got, err := f.Snapshots(f.ctx, c.ID)
	f.ok(err)
	var ids []string
	for _, snap := range got {
		ids = append(ids, snap.ID)
	}
	wantEqual(t, []string{snapshotID("2"), snapshotID("3"), snapshotID("4")}, ids)
}

func TestASnapshotTwiceInOneBundleIsKeptOnceAndSaid(t *testing.T) {
	f := open(t)
	c := f.newCase("a")
	r := kubeletResult("2", "3")
	again := kubelet("2", instant, 5)
	again.Label = "copy"
	r.Snapshots = append(r.Snapshots, again)
	b := f.filled(c.ID, "1", r)
	got, err := f.Snapshots(f.ctx, c.ID)
	f.ok(err)
	if len(got) != 2 || got[0].Label != "t2" {
		t.Errorf("got %d snapshots, the first is %s", len(got), got[0].Label)
	}
	problems, err := f.Problems(f.ctx, b.ID)
	f.ok(err)
	if len(problems) != 2 || !strings.Contains(problems[1].What, "copy") || !strings.Contains(problems[1].Why, "t2") || b.Problems != 2 {
		t.Errorf("got %+v", problems)
	}
	if len(r.Problems) != 1 {
		t.Error("finishing changed the caller's result")
	}
}

func TestACaseWithoutSnapshotsHasNone(t *testing.T) {
	f := open(t)
	c := f.newCase("a")
	for _, id := range []string{c.ID, "cnone"} {
		if got, err := f.full(id); len(got) > 0 || err != nil {
			t.Errorf("got %d, %v", len(got), err)
		}
	}
}

func TestASnapshotIsFoundInItsCasesNewestFirst(t *testing.T) {
	f := open(t)
	older, newer, other := f.newCase("older"), f.newCase("newer"), f.newCase("other")
	f.filled(older.ID, "1", kubeletResult("2"))
	f.filled(newer.ID, "1", kubeletResult("2"))
	f.filled(newer.ID, "2", kubeletResult("2"))
	f.filled(other.ID, "3", kubeletResult("3"))
	got, err := f.FindSnapshot(f.ctx, snapshotID("2"))
	f.ok(err)
	wantEqual(t, []string{newer.ID, older.ID}, got)
	if got, err := f.FindSnapshot(f.ctx, "snone"); len(got) > 0 || err != nil {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestNoCaseShowsTheFilePathsOfAnother(t *testing.T) {
	f := open(t)
	a, b := f.newCase("a"), f.newCase("b")
	ra, rb := kubeletResult("2"), kubeletResult("3")
	ra.Snapshots[0].Groups[0].Variants[0].Stack.Frames[0].File = "/home/alice/go/transport.go"
	rb.Snapshots[0].Groups[0].Variants[0].Stack.Frames[0].File = "/home/bob/go/transport.go"
	rb.Snapshots[0].Groups[0].Family.Title = "another wording"
	f.filled(a.ID, "1", ra)
	f.filled(b.ID, "2", rb)
	for id, want := range map[string]Result{a.ID: ra, b.ID: rb} {
		got, err := f.full(id)
		f.ok(err)
		wantEqual(t, want.Snapshots, got)
	}
	if f.rows("function") != 3 {
		t.Errorf("%d function rows, want each of 3 names once", f.rows("function"))
	}
}

func TestResultsThatContradictThemselvesAreRefusedWhole(t *testing.T) {
	for name, spoil := range map[string]func(*analysis.Snapshot){
		"a family twice":            func(s *analysis.Snapshot) { s.Groups = append(s.Groups, s.Groups[0]) },
		"a group without family":    func(s *analysis.Snapshot) { s.Groups[1].Family = nil },
		"columns of unequal length": func(s *analysis.Snapshot) { s.Groups[1].Members.Fill().Wait = []int32{1} },
		"a variant counted below 0": func(s *analysis.Snapshot) { s.Groups[0].Variants[0].Count = -1 },
		"members that panic":        func(s *analysis.Snapshot) { s.Groups[1].Members = analysis.Members{Packed: []analysis.Packing{{}}} },
		"a family twice behind many others": func(s *analysis.Snapshot) {
			for i := range 2048 {
				g := socketGroup(3)
				g.Family.Fingerprint += strconv.Itoa(i)
				s.Groups = append(s.Groups, g)
			}
			s.Groups = append(s.Groups, s.Groups[0])
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := open(t)
			c := f.newCase("a")
			_, job := f.upload(c.ID, "1")
			_, _, err := f.ClaimJob(f.ctx)
			f.ok(err)
			r := kubeletResult("2")
			spoil(&r.Snapshots[0])
			if err := f.FinishJob(f.ctx, job.ID, r); err == nil || !strings.Contains(err.Error(), r.Snapshots[0].ID) {
				t.Errorf("got %v, want an error that names the snapshot", err)
			}
			f.wantEmpty("snapshot", "snapshot_members", "family", "function")
		})
	}
}

func TestADamagedRowIsAnErrorNotAWrongPage(t *testing.T) {
	for name, damage := range map[string]string{
		"members":              `UPDATE snapshot_members SET members = x'0102030405060708'`,
		"members empty":        `UPDATE snapshot_members SET members = x''`,
		"members gone":         `DELETE FROM snapshot_members`,
		"members cut":          `UPDATE snapshot_members SET members = substr(members, 1, length(members) - 1)`,
		"members longer":       `UPDATE snapshot_members SET members = CAST(members || members AS BLOB)`,
		"facts":                `UPDATE snapshot SET facts = x'0201020304'`,
		"facts missing":        `UPDATE snapshot SET facts = x''`,
		"facts form":           `UPDATE snapshot SET facts = CAST(x'09' || substr(facts, 2) AS BLOB)`,
		"facts cut":            `UPDATE snapshot SET facts = substr(facts, 1, length(facts) - 1)`,
		"facts longer":         `UPDATE snapshot SET facts = CAST(facts || x'00' AS BLOB)`,
		"facts of no families": `UPDATE snapshot SET facts = x'02eb90f8ec0000'`,
		"head":                 `UPDATE snapshot SET head = x'01ffff'`,
		"head missing":         `UPDATE snapshot SET head = x''`,
		"head form":            `UPDATE snapshot SET head = x'09'`,
		"head cut":             `UPDATE snapshot SET head = substr(head, 1, length(head) - 1)`,
		"frames":               `UPDATE stack SET frames = x'ff'`,
		"loose names":          `UPDATE family SET loose = x'ff'`,
		"attributes":           `UPDATE family SET attributes = '['`,
		"a stack's row":        `DELETE FROM stack`,
	} {
		t.Run(name, func(t *testing.T) {
			f := open(t)
			c := f.newCase("a")
			f.filled(c.ID, "1", kubeletResult("2"))
			if f.database != "" {
				damage = hexadecimal.ReplaceAllString(strings.ReplaceAll(damage, "AS BLOB", "AS BYTEA"), `'\x$1'::bytea`)
			}
			_, err := f.writer.ExecContext(f.ctx, damage)
			f.ok(err)
			if _, err := f.full(c.ID); err == nil {
				t.Error("no error")
			}
		})
	}
}

// hexadecimal is how SQLite writes bytes.
var hexadecimal = regexp.MustCompile(`\bx'([0-9a-f]*)'`)

// Readers on other connections see one state while a result is replaced again and
// again.
func TestReadersNeverSeeAMixtureOfTwoResults(t *testing.T) {
	f := open(t)
	c := f.newCase("a")
	b := f.filled(c.ID, "1", kubeletResult("2", "3"))
	const rounds = 12
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				snaps, err := f.Snapshots(f.ctx, c.ID)
				if err != nil {
					t.Error(err)
					return
				}
				var labels []string
				for _, snap := range snaps {
					labels = append(labels, snap.Label)
				}
				if got := strings.Join(labels, " "); got != "t2 t3" && got != "t4 t5 t6" {
					t.Errorf("saw %q", got)
					return
				}
			}
		})
	}
	for round := range rounds {
		_, err := f.Requeue(f.ctx, b.ID)
		f.ok(err)
		if round%2 == 0 {
			f.ingest(kubeletResult("4", "5", "6"))
		} else {
			f.ingest(kubeletResult("2", "3"))
		}
	}
	close(stop)
	readers.Wait()
}

// The write of a large snapshot is a few rows: goroutines are none.
func TestALargeSnapshotIsAFewRowsAndUnderOnePercentOfItsDump(t *testing.T) {
	corpus.Heavy(t)
	const n = 100_000
	f := openFile(t)
	c := f.newCase("a")
	snap := kubelet("2", instant, 5)
	snap.Groups[0].Members = leakedMembers(n)
	snap.Groups[0].Count = n
	before := f.pageBytes()
	f.filled(c.ID, "1", Result{Snapshots: []analysis.Snapshot{snap}})
	grown := f.pageBytes() - before
	raw := snap.Groups[0].Members.Fill().Offset[n-1]
	t.Logf("%d goroutines: %d rows, %d KiB in the database for %d MiB of dump (%.2f %%)",
		n, f.rows("snapshot_members"), grown>>10, raw>>20, 100*float64(grown)/float64(raw))
	if f.rows("snapshot_members") != 1 {
		t.Errorf("%d rows", f.rows("snapshot_members"))
	}
	if grown > raw/100 && n >= 100_000 {
		t.Errorf("%d bytes for a dump of %d", grown, raw)
	}
	full, err := f.full(c.ID)
	f.ok(err)
	wantEqual(t, snap.Groups[0].Members, full[0].Groups[0].Members)
}

func (f *fixture) pageBytes() int64 {
	f.t.Helper()
	var pages, size int64
	f.ok(f.writer.QueryRowContext(f.ctx, `PRAGMA page_count`).Scan(&pages))
	f.ok(f.writer.QueryRowContext(f.ctx, `PRAGMA page_size`).Scan(&size))
	return pages * size
}

func BenchmarkFinishJob(b *testing.B) {
	f := open(b)
	c := f.newCase("bench")
	r := kubeletResult("2")
	r.Snapshots[0].Groups[0].Members = leakedMembers(100_000)
	bundle, _ := f.upload(c.ID, "x")
	f.ingest(r)
	for b.Loop() {
		if _, err := f.Requeue(f.ctx, bundle.ID); err != nil {
			b.Fatal(err)
		}
		f.ingest(r)
	}
}

func TestAFullVolumeIsToldWhereverTheResultMeetsIt(t *testing.T) {
	for room := 1; room < 48; room += 15 {
		f := openFile(t)
		c := f.newCase("a")
		f.upload(c.ID, "x")
		job, _, err := f.ClaimJob(f.ctx)
		f.ok(err)
		var pages int
		f.ok(f.writer.QueryRowContext(f.ctx, `PRAGMA page_count`).Scan(&pages))
		_, err = f.writer.ExecContext(f.ctx, fmt.Sprintf(`PRAGMA max_page_count = %d`, pages+room))
		f.ok(err)
		r := kubeletResult("2")
		for i := range r.Snapshots[0].Groups {
			r.Snapshots[0].Groups[i].Family.Title += strings.Repeat("a long title ", 1000)
		}
		r.Snapshots[0].Groups[0].Members = leakedMembers(120_000)
		if err := f.FinishJob(f.ctx, job.ID, r); code(err) != "disk_full" {
			t.Errorf("with room for %d pages: %v", room, err)
		}
		f.wantSound()
	}
}
