package store

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"leakdiff/analysis"
	"leakdiff/migrations"
	"leakdiff/samples/corpus"
)

// unpackFacts undoes the migrations that brought facts: a row for each family of each
// snapshot, with its members, and heads as JSON.
func (f *fixture) unpackFacts() {
	f.t.Helper()
	_, err := f.writer.ExecContext(f.ctx, withoutReports+`
		BEGIN;
		CREATE TABLE snapshot_family (
			seq INTEGER PRIMARY KEY, snapshot_seq INTEGER NOT NULL REFERENCES snapshot (seq) ON DELETE CASCADE,
			family_seq INTEGER NOT NULL REFERENCES family (seq), place INTEGER NOT NULL, count INTEGER NOT NULL, states TEXT NOT NULL,
			waits TEXT NOT NULL, oldest INTEGER NOT NULL, leaked INTEGER NOT NULL, variants BLOB NOT NULL,
			member_count INTEGER NOT NULL, members BLOB NOT NULL, UNIQUE (snapshot_seq, family_seq)
		) STRICT;
		CREATE INDEX snapshot_family_by_family ON snapshot_family (family_seq);`)
	f.ok(err)
	type row struct {
		seq                   int64
		id, label             string
		head, facts, membersV []byte
	}
	var all []row
	rows, err := f.writer.QueryContext(f.ctx, `
		SELECT s.seq, s.id, s.label, s.head, s.facts, coalesce(m.members, x'')
		FROM snapshot s LEFT JOIN snapshot_members m ON m.snapshot_seq = s.seq`)
	f.ok(err)
	for rows.Next() {
		var r row
		f.ok(rows.Scan(&r.seq, &r.id, &r.label, &r.head, &r.facts, &r.membersV))
		all = append(all, r)
	}
	f.ok(rows.Close())
	var p packer
	defer p.close()
	for _, r := range all {
		head, err := unpackHead(&p, &textTable{}, r.id, r.label, r.head)
		f.ok(err)
		_, err = f.writer.ExecContext(f.ctx, `UPDATE snapshot SET head = ? WHERE seq = ?`, oldHeadOf(f.t, head), r.seq)
		f.ok(err)
		facts, _, err := openFacts(&p, &textTable{}, r.facts, nil)
		f.ok(err)
		set, err := openMemberSet(&p, &textTable{}, r.membersV)
		f.ok(err)
		var g groupFacts
		for place := 0; facts.next(&g); place++ {
			states := map[string]int{}
			for i := 0; i < len(g.states); i += 2 {
				states[facts.states[g.states[i]]] = int(g.states[i+1])
			}
			statesText, waitsText := must[[]byte](f.t)(json.Marshal(states)), must[[]byte](f.t)(json.Marshal(g.waits))
			m, err := set.next(g.members)
			f.ok(err)
			blob, err := encodeMembers(&p, &m)
			f.ok(err)
			_, err = f.writer.ExecContext(f.ctx, `INSERT INTO snapshot_family VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
				r.seq, g.family, place, g.count, string(statesText), string(waitsText), g.oldest, g.leaked,
				appendSeqs(appendSeqs(nil, int64(len(g.stacks)/2)), g.stacks...), g.members, append([]byte{}, blob...))
			f.ok(err)
		}
		f.ok(facts.done())
		f.ok(set.done())
	}
	_, err = f.writer.ExecContext(f.ctx, `
		DROP TABLE snapshot_members; ALTER TABLE snapshot DROP COLUMN facts;
		DROP TRIGGER family_lost; DROP INDEX snapshot_by_series; ALTER TABLE snapshot DROP COLUMN series_seq;
		DROP TABLE family_seen; DROP TABLE series;
		DROP TABLE family_to_forget; DROP TABLE frame_to_forget; DROP TABLE function_to_forget;
		CREATE INDEX snapshot_by_name ON snapshot (process, host, bundle_seq, generation, id);
		CREATE TABLE family_bundle (
			family_seq INTEGER NOT NULL REFERENCES family (seq) ON DELETE CASCADE, bundle_seq INTEGER NOT NULL REFERENCES bundle (seq) ON DELETE CASCADE,
			generation INTEGER NOT NULL, snapshots INTEGER NOT NULL, highest INTEGER NOT NULL, last_seen INTEGER,
			PRIMARY KEY (family_seq, bundle_seq, generation)
		) STRICT, WITHOUT ROWID;
		CREATE INDEX family_bundle_by_bundle ON family_bundle (bundle_seq, generation);
		INSERT INTO family_bundle
		SELECT sf.family_seq, s.bundle_seq, s.generation, count(*), max(sf.count), max(s.captured_at)
		FROM snapshot_family sf JOIN snapshot s ON s.seq = sf.snapshot_seq GROUP BY sf.family_seq, s.bundle_seq, s.generation;
		CREATE TRIGGER family_bundle_delete AFTER DELETE ON snapshot BEGIN
			DELETE FROM family_bundle WHERE bundle_seq = old.bundle_seq AND generation = old.generation;
		END;
		PRAGMA user_version = 14; COMMIT`)
	f.ok(err)
}

func (f oldFigure) MarshalText() ([]byte, error) {
	return strconv.AppendFloat(nil, float64(f), 'g', -1, 64), nil
}

func oldHeadOf(t testing.TB, snap *analysis.Snapshot) []byte {
	t.Helper()
	head := oldHead{Snapshot: *snap}
	head.Groups, head.Snapshot.Figures = nil, nil
	for name, v := range maps.All(snap.Figures) {
		if head.Figures == nil {
			head.Figures = map[string]oldFigure{}
		}
		head.Figures[name] = oldFigure(v)
	}
	var p packer
	defer p.close()
	return must[[]byte](t)(p.packJSON(head))
}

// anOlderStore is a store with cases of every shape, before facts, closed.
func anOlderStore(t *testing.T) (f *fixture, cases map[string][]analysis.Snapshot) {
	f = openFile(t)
	cases = map[string][]analysis.Snapshot{}
	c := f.newCase("kubelets")
	f.filled(c.ID, "one", kubeletResult("2", "3"))
	again := f.filled(c.ID, "two", kubeletResult("3", "4"))
	large := kubelet("5", instant, 9)
	goroutines := leakedMembers(3000)
	large.Groups[0].Members = packedOf(&goroutines)
	descriptors := &large.Groups[1].Members
	for i := range 1500 {
		descriptors.ID, descriptors.Sub = append(descriptors.ID, int64(100+i)), append(descriptors.Sub, int64(i*i))
		descriptors.Detail = append(descriptors.Detail, fmt.Sprint("tcp ", i))
	}
	f.filled(c.ID, "large", Result{Snapshots: []analysis.Snapshot{large}})
	_, err := f.Requeue(f.ctx, again.ID)
	f.ok(err)
	f.ingest(kubeletResult("3", "6"))
	many := f.captured(90, false)
	empty := f.newCase("nothing")
	f.filled(empty.ID, "empty", Result{Snapshots: []analysis.Snapshot{{ID: snapshotID("7")}}})
	f.wantSound()
	for _, id := range []string{c.ID, many.ID, empty.ID} {
		cases[id] = must[[]analysis.Snapshot](t)(f.full(id))
	}
	f.unpackFacts()
	f.ok(f.release())
	f.Store = nil
	return f, cases
}

func (f *fixture) wantCases(cases map[string][]analysis.Snapshot) {
	f.t.Helper()
	for id, want := range cases {
		wantEqual(f.t, want, must[[]analysis.Snapshot](f.t)(f.full(id)))
	}
	f.wantSound()
}

func TestAnOlderDatabaseIsPacked(t *testing.T) {
	corpus.Heavy(t)
	f, cases := anOlderStore(t)
	f.reopen()
	f.wantCases(cases)
	var free int
	f.ok(f.writer.QueryRowContext(f.ctx, `PRAGMA freelist_count`).Scan(&free))
	if free > 8 {
		t.Errorf("%d pages are free", free)
	}
	if _, set, err := f.Setting(f.ctx, "packed_snapshots"); set || err != nil {
		t.Errorf("how far packing came is still kept: %v, %v", set, err)
	}
}

// batches packs some batches of an older database and lets go of it as a killed process
// does; it returns how many there were.
func (f *fixture) batches(most int) (n int) {
	f.t.Helper()
	db, err := connect(filepath.Join(f.dir, databaseFile), 1, ofWriter)
	f.ok(err)
	defer db.Close()
	all := must[[]migrations.Migration](f.t)(migrations.All())
	silent := slog.New(slog.DiscardHandler)
	f.ok(migrate(f.ctx, db, all[:factsVersion-1], silent))
	for ; n < most; n++ {
		packed, err := repackBatch(f.ctx, db, silent)
		f.ok(err)
		if packed == 0 {
			break
		}
	}
	return n
}

func TestPackingAnOlderDatabaseIsResumedAfterEachBatch(t *testing.T) {
	corpus.Heavy(t)
	f, cases := anOlderStore(t)
	total := f.batchesOfACopy(99, nil)
	if total < 3 {
		t.Errorf("only %d batches: the test proves little", total)
	}
	for n := range total + 1 {
		f.batchesOfACopy(n, cases)
	}
	// Every batch by another process.
	n := 0
	for f.batches(1) == 1 {
		n++
	}
	if n != total {
		t.Errorf("%d batches one by one, %d at once", n, total)
	}
	f.reopen()
	f.wantCases(cases)
}

// batchesOfACopy packs some batches, then the rest in another process.
func (f *fixture) batchesOfACopy(n int, want map[string][]analysis.Snapshot) int {
	f.t.Helper()
	copied := &fixture{t: f.t, ctx: f.ctx, dir: f.t.TempDir(), clock: f.clock}
	f.ok(os.CopyFS(copied.dir, os.DirFS(f.dir)))
	done := copied.batches(n)
	if want != nil {
		copied.reopen()
		copied.wantCases(want)
		copied.close()
	}
	return done
}

func TestPackingEndsWithItsContextAndGoesOn(t *testing.T) {
	corpus.Heavy(t)
	f, cases := anOlderStore(t)
	ctx, cancel := context.WithCancel(f.ctx)
	cancel()
	if _, err := Open(ctx, Config{Dir: f.dir}); err == nil {
		t.Fatal("opened")
	}
	f.reopen()
	f.wantCases(cases)
}

func TestADamagedSnapshotOfAnOlderDatabaseCostsItsCaseAlone(t *testing.T) {
	for name, damage := range map[string]string{
		"members":  `UPDATE snapshot_family SET members = x'0102030405060708' WHERE snapshot_seq = 1`,
		"states":   `UPDATE snapshot_family SET states = '{' WHERE snapshot_seq = 1`,
		"waits":    `UPDATE snapshot_family SET waits = '{}' WHERE snapshot_seq = 1`,
		"variants": `UPDATE snapshot_family SET variants = x'05' WHERE snapshot_seq = 1`,
		"place":    `UPDATE snapshot_family SET place = place + 1 WHERE snapshot_seq = 1`,
		"head":     `UPDATE snapshot SET head = x'01ffff' WHERE seq = 1`,
	} {
		t.Run(name, func(t *testing.T) {
			f := openFile(t)
			damaged, whole := f.newCase("a"), f.newCase("b")
			b := f.filled(damaged.ID, "1", kubeletResult("2"))
			f.filled(whole.ID, "2", kubeletResult("3"))
			f.unpackFacts()
			_, err := f.writer.ExecContext(f.ctx, damage)
			f.ok(err)
			var said bytes.Buffer
			f.log = slog.New(slog.NewTextHandler(&said, nil))
			f.crash()
			if !strings.Contains(said.String(), snapshotID("2")) {
				t.Errorf("the log says %q", said.String())
			}
			if _, err := f.full(damaged.ID); err == nil {
				t.Error("no error")
			}
			wantEqual(t, kubeletResult("3").Snapshots, must[[]analysis.Snapshot](t)(f.full(whole.ID)))
			must[Job](t)(f.Requeue(f.ctx, b.ID))
			f.ingest(kubeletResult("2"))
			wantEqual(t, kubeletResult("2").Snapshots, must[[]analysis.Snapshot](t)(f.full(damaged.ID)))
			f.wantSound()
		})
	}
}

func TestPackingSaysHowFarItIs(t *testing.T) {
	f, _ := anOlderStore(t)
	f.batches(0)
	db, err := connect(filepath.Join(f.dir, databaseFile), 1, ofWriter)
	f.ok(err)
	defer db.Close()
	var said bytes.Buffer
	f.ok(repack(f.ctx, db, slog.New(slog.NewTextHandler(&said, nil)), 0))
	lines := strings.Split(strings.TrimSpace(said.String()), "\n")
	if len(lines) < 4 || !strings.Contains(lines[0], "of=96") || !strings.Contains(lines[len(lines)-2], "done=96 of=96") {
		t.Errorf("it says\n%s", said.String())
	}
}

// packJSON packs v as JSON.
func (p *packer) packJSON(v any) ([]byte, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return p.pack(text)
}
