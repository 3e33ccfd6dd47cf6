package store

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"leakdiff/analysis"
)

func TestABenignFamilyIsBenignInEveryCaseOfTheProcess(t *testing.T) {
	f := open(t)
	first, second := f.newCase("first"), f.newCase("second")
	f.filled(first.ID, "a", kubeletResult("1"))
	f.filled(second.ID, "b", kubeletResult("2"))
	process := kubeletResult("1").Snapshots[0].Process.Name.Value
	mark := func(caseID string, state analysis.TriageState, note string) Mark {
		t.Helper()
		f.clock.advance(time.Second)
		before, err := f.SetMark(f.ctx, caseID, Mark{Process: process, Fingerprint: "g1:aa", Triage: analysis.Triage{State: state, Note: note}})
		f.ok(err)
		return before
	}
	only := func(caseID string) Mark {
		t.Helper()
		marks, err := f.Marks(f.ctx, caseID)
		f.ok(err)
		if len(marks) != 1 {
			t.Fatalf("%d marks, want 1: %+v", len(marks), marks)
		}
		return marks[0]
	}
	mark(first.ID, analysis.Benign, "one per pod")
	if m := only(first.ID); m.State != analysis.Benign || m.Remembered {
		t.Errorf("in its own case: %+v", m)
	}
	if m := only(second.ID); m.State != analysis.Benign || m.Note != "one per pod" || !m.Remembered {
		t.Errorf("in the other case: %+v", m)
	}
	if before := mark(second.ID, analysis.MarkedSuspect, "grows with restarts"); before.Note != "one per pod" || !before.Remembered {
		t.Errorf("replaced %+v, want the remembered mark", before)
	}
	if m := only(first.ID); m.State != analysis.Benign {
		t.Errorf("the first case's own mark is %+v", m)
	}
	if few, total, err := f.Memories(f.ctx, "g1:aa", 1); err != nil || len(few) != 1 || few[0].CaseTitle != "second" || total != 2 {
		t.Errorf("%+v of %d (%v), want the newest of 2", few, total, err)
	}
	memories, _, err := f.Memories(f.ctx, "g1:aa", 10)
	f.ok(err)
	if len(memories) != 2 || memories[0].CaseTitle != "second" || memories[1].CaseTitle != "first" {
		t.Errorf("memories %+v, want both cases, the newest first", memories)
	}

	t.Run("and outlives the case that said so", func(t *testing.T) {
		mark(first.ID, analysis.Benign, "one per pod")
		f.ok(f.DeleteCase(f.ctx, first.ID, WithdrawPermalinks))
		memories, _, err := f.Memories(f.ctx, "g1:aa", 10)
		f.ok(err)
		if len(memories) != 2 || memories[0].CaseID != "" && memories[1].CaseID != "" {
			t.Errorf("memories %+v, want one without a case", memories)
		}
	})
	t.Run("but needs a reason", func(t *testing.T) {
		_, err := f.SetMark(f.ctx, second.ID, Mark{Process: process, Fingerprint: "g1:aa", Triage: analysis.Triage{State: analysis.Benign}})
		wantCode(t, err, "invalid")
		_, err = f.SetMark(f.ctx, second.ID, Mark{Process: process, Fingerprint: "g1:aa", Triage: analysis.Triage{State: "harmless"}})
		wantCode(t, err, "invalid")
		_, err = f.SetMark(f.ctx, "cnone", Mark{Process: process, Fingerprint: "g1:aa"})
		wantCode(t, err, "not_found")
	})
}

func TestAMarkThatNeverSaidBenignTakesNothingBack(t *testing.T) {
	f := open(t)
	process := kubeletResult("1").Snapshots[0].Process.Name.Value
	cases := map[string]string{}
	for i, name := range []string{"a", "b", "c"} {
		c := f.newCase(name)
		cases[name] = c.ID
		f.filled(c.ID, name, kubeletResult(fmt.Sprint(i+1)))
	}
	summed := func() {
		for _, id := range cases {
			f.ok(f.SetCaseSummary(f.ctx, id, Summary{Endings: []Ending{{Process: process, Fingerprint: "g1:aa", Verdict: "leaking"}}}))
		}
	}
	mark := func(name string, state analysis.TriageState, note string) {
		t.Helper()
		f.clock.advance(time.Second)
		_, err := f.SetMark(f.ctx, cases[name], Mark{Process: process, Fingerprint: "g1:aa", Triage: analysis.Triage{State: state, Note: note}})
		f.ok(err)
	}
	inherits := func(want bool) {
		t.Helper()
		marks, err := f.Marks(f.ctx, cases["b"])
		f.ok(err)
		if got := len(marks) == 1 && marks[0].State == analysis.Benign && marks[0].Remembered; got != want {
			t.Errorf("case b has %+v, want a remembered benign mark: %v", marks, want)
		}
	}
	stale := func(want ...string) {
		t.Helper()
		ids, err := f.CasesToSummarise(f.ctx, "")
		f.ok(err)
		var got []string
		for _, name := range []string{"a", "b", "c"} {
			if slices.Contains(ids, cases[name]) {
				got = append(got, name)
			}
		}
		wantEqual(t, want, got)
		summed()
	}
	summed()
	mark("c", analysis.Reviewed, "")
	stale("c")
	mark("a", analysis.Benign, "one per pod")
	stale("a", "b", "c")
	inherits(true)
	mark("c", analysis.Reviewed, "with a note")
	stale("c")
	inherits(true)
	mark("a", analysis.Benign, "one for each pod")
	stale("a")
	mark("a", analysis.MarkedSuspect, "it grows")
	stale("a", "b", "c")
	inherits(false)
}

func TestTheLastOneToWriteAFieldWinsAndLearnsWhatItReplaced(t *testing.T) {
	f := open(t)
	c := f.newCase("a")
	for _, tc := range []struct{ value, replaced string }{{"INC-1", ""}, {"INC-2", "INC-1"}, {"", "INC-2"}} {
		before, err := f.SetField(f.ctx, c.ID, "ticket", tc.value)
		f.ok(err)
		fields, err := f.Fields(f.ctx, c.ID)
		f.ok(err)
		if got := fields["ticket"]; before.Value != tc.replaced || got.Value != tc.value || got.Replaced != tc.replaced || got.Edited.IsZero() {
			t.Errorf("writing %q: replaced %+v, now %+v", tc.value, before, got)
		}
	}
	_, err := f.SetField(f.ctx, "cnone", "ticket", "x")
	wantCode(t, err, "not_found")
}

func TestACaseWhoseSummaryIsOlderThanItsResultsIsFoundAfterACrash(t *testing.T) {
	f := open(t)
	c := f.newCase("a")
	stale := func() int {
		t.Helper()
		ids, err := f.CasesToSummarise(f.ctx, "")
		f.ok(err)
		return len(ids)
	}
	if f.upload(c.ID, "a"); stale() != 0 {
		t.Error("a case without a result waits for a summary")
	}
	if f.ingest(kubeletResult("1")); stale() != 1 {
		t.Error("a case with a new result does not wait for its summary")
	}
	if f.crash(); stale() != 1 {
		t.Error("the crash took it")
	}
	if f.ok(f.SetCaseSummary(f.ctx, c.ID, Summary{})); stale() != 0 {
		t.Error("it still waits after it was written")
	}
	if _, err := f.SetField(f.ctx, c.ID, "ticket", "x"); err != nil || stale() != 1 {
		t.Errorf("an edit does not ask for a new one: %v", err)
	}
}
