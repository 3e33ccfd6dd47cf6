package store

import (
	"strings"
	"testing"

	"leakdiff/analysis"
)

func pageOf(state, body string) CasePage {
	return CasePage{Form: "html", State: state, Recalls: []string{"g1:aa", "g1:bb"}, Slot: "s", Body: []byte(body)}
}

func (f *fixture) wantPage(caseID string, want CasePage) {
	f.t.Helper()
	got, found, err := f.CasePage(f.ctx, caseID, want.Form, want.State)
	f.ok(err)
	if !found {
		f.t.Fatalf("there is no page of state %q", want.State)
	}
	wantEqual(f.t, want, got)
}

func (f *fixture) wantNoPage(caseID, state string) {
	f.t.Helper()
	if _, found, err := f.CasePage(f.ctx, caseID, "html", state); found || err != nil {
		f.t.Errorf("state %q: found %v, %v", state, found, err)
	}
}

func TestThePageOfACaseIsKeptForItsStateAlone(t *testing.T) {
	f := open(t)
	c, other := f.newCase("a"), f.newCase("b")
	first, second := pageOf("one", strings.Repeat("<p>first</p>", 1000)), pageOf("two", "")
	second.Elsewhere, second.Recalls = true, []string{}
	f.ok(f.KeepCasePage(f.ctx, c.ID, first))
	f.wantPage(c.ID, first)
	f.wantNoPage(c.ID, "two")
	f.wantNoPage(other.ID, "one")
	twin := pageOf("one", "{}")
	twin.Form = "json"
	f.ok(f.KeepCasePage(f.ctx, c.ID, twin))
	f.ok(f.KeepCasePage(f.ctx, c.ID, second))
	f.wantPage(c.ID, second)
	f.wantPage(c.ID, twin)
	f.wantNoPage(c.ID, "one")
	f.ok(f.ForgetCasePage(f.ctx, c.ID, "one"))
	f.crash()
	f.wantPage(c.ID, second)
	f.ok(f.ForgetCasePage(f.ctx, c.ID, "two"))
	f.wantNoPage(c.ID, "two")
	f.ok(f.KeepCasePage(f.ctx, "cnone", first))
	f.wantSound()
}

func TestADeletionTakesThePagesThatMayTellOfIt(t *testing.T) {
	for name, remove := range map[string]func(f *fixture, c Case, b Bundle) error{
		"a case":   func(f *fixture, c Case, _ Bundle) error { return f.DeleteCase(f.ctx, c.ID, WithdrawPermalinks) },
		"a bundle": func(f *fixture, _ Case, b Bundle) error { return f.RemoveBundle(f.ctx, b.ID) },
	} {
		t.Run(name, func(t *testing.T) {
			f := open(t)
			gone, quoting, other := f.newCase("a"), f.newCase("b"), f.newCase("c")
			bundle := f.filled(gone.ID, "x", kubeletResult("1"))
			f.ok(f.KeepCasePage(f.ctx, gone.ID, pageOf("one", "secret of its own")))
			quote := pageOf("one", "secret of another case")
			quote.Elsewhere = true
			f.ok(f.KeepCasePage(f.ctx, quoting.ID, quote))
			f.ok(f.KeepCasePage(f.ctx, other.ID, pageOf("one", "nothing of it")))
			f.ok(remove(f, gone, bundle))
			f.wantNoPage(gone.ID, "one")
			f.wantNoPage(quoting.ID, "one")
			f.wantPage(other.ID, pageOf("one", "nothing of it"))
			if files := grep(t, f.dir, "secret of"); len(files) > 0 {
				t.Errorf("it still stands in %v", files)
			}
			f.wantSound()
		})
	}
}

// withoutPages undoes the migration that brought pages of cases, and those after it.
const withoutPages = `
	DROP TRIGGER revision_of_new_bundle; DROP TRIGGER revision_of_bundle; DROP TRIGGER revision_of_gone_bundle;
	DROP TRIGGER page_of_touched_case; DROP TRIGGER pages_of_changed_benign; DROP TRIGGER pages_of_gone_benign;
	DROP TABLE case_page; ALTER TABLE cases DROP COLUMN revision;
	CREATE TRIGGER family_bundle_insert AFTER INSERT ON snapshot_family BEGIN
		INSERT INTO family_bundle
		SELECT new.family_seq, s.bundle_seq, s.generation, 1, new.count, s.captured_at FROM snapshot s WHERE s.seq = new.snapshot_seq
		ON CONFLICT (family_seq, bundle_seq, generation) DO UPDATE SET
			snapshots = snapshots + 1, highest = max(highest, excluded.highest),
			last_seen = coalesce(max(last_seen, excluded.last_seen), last_seen, excluded.last_seen);
	END;` + withoutBlobs

// withoutBlobs undoes the migration that brought rows about uploads.
const withoutBlobs = `
	CREATE TABLE old_file (
		bundle_seq INTEGER NOT NULL REFERENCES bundle (seq) ON DELETE CASCADE, place INTEGER NOT NULL,
		name TEXT NOT NULL, sha256 TEXT NOT NULL, size INTEGER NOT NULL, PRIMARY KEY (bundle_seq, place)
	) STRICT, WITHOUT ROWID;
	INSERT INTO old_file SELECT * FROM bundle_file; DROP TABLE bundle_file; ALTER TABLE old_file RENAME TO bundle_file;
	CREATE INDEX bundle_file_by_hash ON bundle_file (sha256);
	DROP TABLE blob; DROP INDEX cases_to_delete; ALTER TABLE cases DROP COLUMN deleting;`

func TestADatabaseWithoutPagesTakesThem(t *testing.T) {
	f := open(t)
	c := f.newCase("a")
	f.filled(c.ID, "x", kubeletResult("2"))
	f.unpackFacts()
	_, err := f.writer.ExecContext(f.ctx, withoutPages+`PRAGMA user_version = 11`)
	f.ok(err)
	f.crash()
	f.wantNoPage(c.ID, "one")
	f.ok(f.KeepCasePage(f.ctx, c.ID, pageOf("one", "page")))
	f.wantPage(c.ID, pageOf("one", "page"))
	f.wantSound()
}

func TestNoStateOfACaseComesBackWhenABundleComesAndGoes(t *testing.T) {
	f := open(t)
	c := f.newCase("a")
	f.filled(c.ID, "x", kubeletResult("2"))
	seen := map[int64]bool{}
	for range 3 {
		revision := must[Case](t)(f.Case(f.ctx, c.ID)).Revision
		if seen[revision] {
			t.Errorf("revision %d came back", revision)
		}
		seen[revision] = true
		b := f.filled(c.ID, "y", kubeletResult("3"))
		f.ok(f.RemoveBundle(f.ctx, b.ID))
	}
}

func TestAPageGoesWithWhatAPersonTookBack(t *testing.T) {
	for name, change := range map[string]func(f *fixture, c Case){
		"a title": func(f *fixture, c Case) { f.ok(f.RenameCase(f.ctx, c.ID, "another")) },
		"a mark": func(f *fixture, c Case) {
			_, err := f.SetMark(f.ctx, c.ID, Mark{Process: "kubelet", Fingerprint: "g1:1", Triage: analysis.Triage{State: "reviewed", Note: "secret note"}})
			f.ok(err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := open(t)
			c, quoting, other := f.newCase("a"), f.newCase("b"), f.newCase("c")
			elsewhere := pageOf("one", "quotes a")
			elsewhere.Elsewhere = true
			f.ok(f.KeepCasePage(f.ctx, c.ID, pageOf("one", "of a")))
			f.ok(f.KeepCasePage(f.ctx, quoting.ID, elsewhere))
			f.ok(f.KeepCasePage(f.ctx, other.ID, pageOf("one", "of c")))
			change(f, c)
			f.wantNoPage(c.ID, "one")
			f.wantNoPage(quoting.ID, "one")
			f.wantPage(other.ID, pageOf("one", "of c"))
		})
	}
}
