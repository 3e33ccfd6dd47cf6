package store

import (
	"strings"
	"testing"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/identity"
)

func (f *fixture) revision(caseID string) int64 {
	f.t.Helper()
	return must[Case](f.t)(f.Case(f.ctx, caseID)).Revision
}

func (f *fixture) keepReport(caseID, text string) {
	f.t.Helper()
	f.ok(f.KeepCaseReport(f.ctx, caseID, f.revision(caseID), "v1", []byte(text), StoredJudgements{}))
}

func (f *fixture) wantReport(caseID, want string) {
	f.t.Helper()
	got, found, err := f.CaseReport(f.ctx, caseID, f.revision(caseID), "v1")
	if f.ok(err); !found || string(got) != want {
		f.t.Errorf("found %v, %q, want %q", found, got, want)
	}
}

func (f *fixture) wantNoReport(caseID string) {
	f.t.Helper()
	if _, found, err := f.CaseReport(f.ctx, caseID, f.revision(caseID), "v1"); found || err != nil {
		f.t.Errorf("found %v, %v", found, err)
	}
}

func TestAReportIsOfItsRevisionAndItsVersionsAlone(t *testing.T) {
	f := open(t)
	c, other := f.newCase("a"), f.newCase("b")
	long := strings.Repeat("what grows, since when; ", 1000)
	f.keepReport(c.ID, long)
	f.wantReport(c.ID, long)
	f.wantNoReport(other.ID)
	if _, found, err := f.CaseReport(f.ctx, c.ID, f.revision(c.ID), "v2"); found || err != nil {
		t.Errorf("another version's report is found: %v, %v", found, err)
	}
	f.keepReport(c.ID, "newer")
	f.crash()
	f.wantReport(c.ID, "newer")
	f.ok(f.KeepCaseReport(f.ctx, c.ID, f.revision(c.ID)-1, "v1", []byte("late"), StoredJudgements{}))
	f.wantReport(c.ID, "newer")
	f.ok(f.KeepCaseReport(f.ctx, "cnone", 1, "v1", []byte("of nothing"), StoredJudgements{}))
	f.wantSound()
}

func TestWhateverMayChangeWhatIsSaidTakesTheReport(t *testing.T) {
	process := kubeletResult("1").Snapshots[0].Process.Name.Value
	print := kubeletResult("1").Snapshots[0].Groups[0].Family.Fingerprint
	benign := Mark{Process: process, Fingerprint: print, Triage: analysis.Triage{State: analysis.Benign, Note: "by design"}}
	for name, change := range map[string]func(f *fixture, c Case, b Bundle){
		"another upload":     func(f *fixture, c Case, _ Bundle) { f.upload(c.ID, "more") },
		"a result":           func(f *fixture, c Case, _ Bundle) { f.filled(c.ID, "more", kubeletResult("2")) },
		"reading again":      func(f *fixture, _ Case, b Bundle) { must[Job](f.t)(f.Requeue(f.ctx, b.ID)) },
		"a bundle that goes": func(f *fixture, _ Case, b Bundle) { f.ok(f.RemoveBundle(f.ctx, b.ID)) },
		"an edit":            func(f *fixture, c Case, _ Bundle) { f.edit(c.ID, identity.Host, "series:|kubelet", "node-1") },
		"a mark":             func(f *fixture, c Case, _ Bundle) { f.mark(c.ID, benign) },
		"a mark somewhere else": func(f *fixture, _ Case, _ Bundle) {
			other := f.newCase("other")
			f.filled(other.ID, "x", kubeletResult("3"))
			f.mark(other.ID, benign)
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := open(t)
			c := f.newCase("a")
			b := f.filled(c.ID, "x", kubeletResult("1"))
			f.keepReport(c.ID, "what is said of it")
			before := f.revision(c.ID)
			change(f, c, b)
			if f.revision(c.ID) == before {
				t.Error("the revision is the same")
			}
			f.wantNoReport(c.ID)
			if n := f.rows("case_report"); n != 0 {
				t.Errorf("%d rows are left", n)
			}
			f.wantSound()
		})
	}
}

func TestTakingAnEditBackTakesTheReport(t *testing.T) {
	f := open(t)
	c := f.newCase("a")
	f.filled(c.ID, "x", kubeletResult("1"))
	number := f.edit(c.ID, identity.Host, "series:|kubelet", "node-1").ID
	f.keepReport(c.ID, "edited")
	f.ok(f.UndoEdit(f.ctx, c.ID, number))
	f.wantNoReport(c.ID)
}

func TestADeletedCaseLeavesNothingOfItsReport(t *testing.T) {
	f := open(t)
	c := f.newCase("a")
	f.filled(c.ID, "x", kubeletResult("1"))
	f.keepReport(c.ID, "secret of its own")
	f.ok(f.DeleteCase(f.ctx, c.ID, WithdrawPermalinks))
	if files := grep(t, f.dir, "secret of its own"); len(files) > 0 {
		t.Errorf("it still stands in %v", files)
	}
	f.wantSound()
}

func (f *fixture) mark(caseID string, m Mark) {
	f.t.Helper()
	_, err := f.SetMark(f.ctx, caseID, m)
	f.ok(err)
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

func TestJudgementsOfSeriesAreKeptWhileTheyHold(t *testing.T) {
	f := open(t)
	c := f.newCase("a")
	b := f.filled(c.ID, "one", kubeletResult("1"))
	keep := func(all []string, made map[string][]byte) {
		t.Helper()
		f.ok(f.KeepCaseReport(f.ctx, c.ID, f.revision(c.ID), "v1", []byte("report"), StoredJudgements{All: all, New: made}))
	}
	want := func(wants map[string]string) {
		t.Helper()
		for key, want := range wants {
			got, found, err := f.SeriesJudgement(f.ctx, c.ID, key)
			if f.ok(err); found != (want != "") || string(got) != want {
				t.Errorf("%s: found %v, %q, want %q", key, found, got, want)
			}
		}
	}
	keep([]string{"a", "b"}, map[string][]byte{"a": []byte("of a"), "b": []byte("of b")})
	want(map[string]string{"a": "of a", "b": "of b", "c": ""})
	f.upload(c.ID, "more")
	want(map[string]string{"a": "of a", "b": "of b"})
	keep([]string{"b", "c"}, map[string][]byte{"c": []byte("of c")})
	want(map[string]string{"a": "", "b": "of b", "c": "of c"})
	f.ok(f.KeepCaseReport(f.ctx, c.ID, f.revision(c.ID)-1, "v1", []byte("late"), StoredJudgements{All: []string{"d"}, New: map[string][]byte{"d": []byte("of d")}}))
	want(map[string]string{"b": "of b", "c": "of c", "d": ""})
	f.ok(f.RemoveBundle(f.ctx, b.ID))
	want(map[string]string{"b": "", "c": ""})
	f.wantSound()
}
