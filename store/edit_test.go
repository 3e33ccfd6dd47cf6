package store

import (
	"bufio"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"leakdiff/analysis/judge/identity"
)

func (f *fixture) edit(caseID string, kind identity.Kind, target, value string) identity.Edit {
	f.t.Helper()
	e, err := f.AddEdit(f.ctx, caseID, identity.Edit{By: "owner", Kind: kind, Target: target, Value: value, Note: "said by the customer"})
	f.ok(err)
	f.clock.advance(time.Second)
	return e
}

func TestEditsComeBackInOrderWithTheirNumbers(t *testing.T) {
	f := open(t)
	c, other := f.newCase("a"), f.newCase("b")
	first := f.edit(c.ID, identity.Process, "e1..1.", "kubelet 'x' \" ; --")
	f.edit(other.ID, identity.Zone, identity.WholeCase, "Europe/Berlin")
	second := f.edit(c.ID, identity.LeaveOut, "e1..1.", "")
	if first.ID != 1 || second.ID != 2 {
		t.Errorf("numbers %d and %d, want 1 and 2: they count in each case", first.ID, second.ID)
	}
	f.close()
	f.reopen()
	got, err := f.Edits(f.ctx, c.ID)
	f.ok(err)
	wantEqual(t, []identity.Edit{first, second}, got)
	if got[0].At.Location() != time.UTC || !got[1].At.After(got[0].At) {
		t.Errorf("made at %v and %v", got[0].At, got[1].At)
	}
	none, err := f.Edits(f.ctx, "cnone")
	f.ok(err)
	wantEqual(t, []identity.Edit(nil), none)
}

func TestAnEventOfAnAlertIsAddedOnce(t *testing.T) {
	f := open(t)
	c, other := f.newCase("a"), f.newCase("b")
	event := identity.Edit{Kind: identity.Happened, Target: identity.WholeCase, Value: "2026-11-21T03:12:00Z; alert; high", Note: "alert 1"}
	first, added, err := f.AddAlertEvent(f.ctx, c.ID, event)
	f.ok(err)
	if !added || first.ID != 1 || first.Value != event.Value {
		t.Errorf("added %v, %+v", added, first)
	}
	f.ok(f.UndoEdit(f.ctx, c.ID, first.ID))
	event.Value = "2026-11-21T03:12:00Z; alert; higher"
	again, added, err := f.AddAlertEvent(f.ctx, c.ID, event)
	f.ok(err)
	if first.Undone = true; added {
		t.Error("it was added twice, and a person had undone it")
	}
	wantEqual(t, first, again)
	event.Note = "alert 2"
	if second, added, err := f.AddAlertEvent(f.ctx, c.ID, event); err != nil || !added || second.ID != 2 {
		t.Errorf("another note: added %v, %+v, %v", added, second, err)
	}
	if second, added, err := f.AddAlertEvent(f.ctx, other.ID, event); err != nil || !added || second.ID != 1 {
		t.Errorf("another case: added %v, %+v, %v", added, second, err)
	}
	_, _, err = f.AddAlertEvent(f.ctx, "cnone", event)
	wantCode(t, err, "not_found")
}

func TestTheNewestEventsOfAlertsStayAndTakeNobodysRoom(t *testing.T) {
	f := open(t)
	c := f.newCase("a")
	first := f.edit(c.ID, identity.Host, "e1..1.", "node-7")
	event := func(minute int) identity.Edit {
		at := time.Date(2026, 11, 21, 0, minute, 0, 0, time.UTC).Format(time.RFC3339Nano)
		return identity.Edit{Kind: identity.Happened, Target: identity.WholeCase, Value: identity.EventValue(at, "alert", "high"), Note: fmt.Sprintf("alert %d", minute)}
	}
	for i := range mostAlertEvents + 50 {
		if made, added, err := f.AddAlertEvent(f.ctx, c.ID, event(i)); err != nil || !added || made.ID != int64(i+2) || made.By != identity.Alertmanager {
			t.Fatalf("event %d: %+v, %v, %v", i, made, added, err)
		}
	}
	// Alertmanager repeats an old alert that fires on.
	_, _, err := f.AddAlertEvent(f.ctx, c.ID, event(3))
	wantCode(t, err, "too_many")
	got, err := f.Edits(f.ctx, c.ID)
	f.ok(err)
	if len(got) != mostAlertEvents+1 {
		t.Fatalf("%d edits, want %d", len(got), mostAlertEvents+1)
	}
	wantEqual(t, first, got[0])
	for i, e := range got[1:] {
		if want := event(i + 50); e.Note != want.Note || e.Value != want.Value {
			t.Errorf("place %d has %+v, want %+v", i, e, want)
		}
	}
	_, err = f.writer.ExecContext(f.ctx, `
WITH RECURSIVE n (i) AS (SELECT 1000 UNION ALL SELECT i + 1 FROM n WHERE i < 998 + ?1)
INSERT INTO edit (case_seq, number, made_at, made_by, kind, target, value, note)
SELECT c.seq, n.i, 0, '', 'host', '', '', '' FROM n, cases c`, maxEdits)
	f.ok(err)
	if _, err := f.AddEdit(f.ctx, c.ID, identity.Edit{Kind: identity.Host, Value: "x"}); err == nil {
		t.Error("people have more than their edits")
	}
	if _, added, err := f.AddAlertEvent(f.ctx, c.ID, event(1000)); err != nil || !added {
		t.Errorf("beside the edits of people an event of an alert was added %v, %v", added, err)
	}
}

func TestTheLastEditOfPeopleIsTakenBesideEventsOfAlerts(t *testing.T) {
	f := open(t)
	c := f.newCase("a")
	_, _, err := f.AddAlertEvent(f.ctx, c.ID, identity.Edit{Kind: identity.Happened, Target: identity.WholeCase, Value: "2026-11-21T03:12:00Z; alert; high", Note: "alert 1"})
	f.ok(err)
	_, err = f.writer.ExecContext(f.ctx, `
WITH RECURSIVE n (i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
INSERT INTO edit (case_seq, number, made_at, made_by, kind, target, value, note)
SELECT c.seq, n.i, 0, '', 'host', '', '', '' FROM n, cases c`, maxEdits)
	f.ok(err)
	if e, err := f.AddEdit(f.ctx, c.ID, identity.Edit{Kind: identity.Host, Value: "x"}); err != nil || e.ID != maxEdits+1 {
		t.Errorf("%+v, %v", e, err)
	}
}

func TestAnEditIsUndoneOnceAndStaysInTheList(t *testing.T) {
	f := open(t)
	c, other := f.newCase("a"), f.newCase("b")
	e := f.edit(c.ID, identity.Host, "e1..1.", "node-7")
	f.ok(f.UndoEdit(f.ctx, c.ID, e.ID))
	e.Undone = true
	got, err := f.Edits(f.ctx, c.ID)
	f.ok(err)
	wantEqual(t, []identity.Edit{e}, got)
	wantCode(t, f.UndoEdit(f.ctx, c.ID, e.ID), "not_found")
	wantCode(t, f.UndoEdit(f.ctx, c.ID, 2), "not_found")
	wantCode(t, f.UndoEdit(f.ctx, other.ID, 1), "not_found")
	wantCode(t, f.UndoEdit(f.ctx, "cnone", 1), "not_found")
	if next := f.edit(c.ID, identity.Host, "e1..1.", "node-8"); next.ID != 2 {
		t.Errorf("the next edit has number %d: an undone one keeps its own", next.ID)
	}
}

func TestEditingCountsAsAnUpdateOfTheCase(t *testing.T) {
	f := open(t)
	c := f.newCase("a")
	e := f.edit(c.ID, identity.Host, "e1..1.", "node-7")
	edited := must[Case](t)(f.Case(f.ctx, c.ID))
	f.clock.advance(time.Minute)
	f.ok(f.UndoEdit(f.ctx, c.ID, e.ID))
	undone := must[Case](t)(f.Case(f.ctx, c.ID))
	if !edited.Updated.Equal(e.At) || !undone.Updated.After(edited.Updated) {
		t.Errorf("updated at %v and %v, made at %v", edited.Updated, undone.Updated, e.At)
	}
}

func TestEditsOfNoCaseAreRefused(t *testing.T) {
	f := open(t)
	_, err := f.AddEdit(f.ctx, "cnone", identity.Edit{Kind: identity.Host, Value: "x"})
	wantCode(t, err, "not_found")
	f.wantEmpty("edit")
}

func TestACaseTakesOnlySoManyEdits(t *testing.T) {
	f := open(t)
	c := f.newCase("a")
	_, err := f.writer.ExecContext(f.ctx, `
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
INSERT INTO edit (case_seq, number, made_at, made_by, kind, target, value, note)
SELECT c.seq, n.i, 0, '', 'host', '', '', '' FROM n, cases c`, maxEdits)
	f.ok(err)
	_, err = f.AddEdit(f.ctx, c.ID, identity.Edit{Kind: identity.Host, Value: "x"})
	wantCode(t, err, "too_many")
	if n := f.rows("edit"); n != maxEdits {
		t.Errorf("%d edits, want %d", n, maxEdits)
	}
}

func TestDeletingACaseRemovesItsEditsAndNoOthers(t *testing.T) {
	f := open(t)
	c, other := f.newCase("a"), f.newCase("b")
	f.edit(c.ID, identity.Host, "e1..1.", "secret-host-of-a")
	kept := f.edit(other.ID, identity.Host, "e1..1.", "host-of-b")
	f.ok(f.DeleteCase(f.ctx, c.ID, WithdrawPermalinks))
	got, err := f.Edits(f.ctx, other.ID)
	f.ok(err)
	wantEqual(t, []identity.Edit{kept}, got)
	if files := grep(t, f.dir, "secret-host-of-a"); len(files) > 0 {
		t.Errorf("the host's name still stands in %v", files)
	}
	f.wantSound()
}

// editForever edits and undoes, and says what was acknowledged.
func editForever(ctx context.Context, s *Store, caseID string) error {
	for {
		e, err := s.AddEdit(ctx, caseID, identity.Edit{By: "owner", Kind: identity.Host, Target: "e1..1.", Value: "node"})
		if err != nil {
			return err
		}
		fmt.Println("added", e.ID)
		if e.ID%3 == 0 {
			if err := s.UndoEdit(ctx, caseID, e.ID); err != nil {
				return err
			}
			fmt.Println("undone", e.ID)
		}
	}
}

func TestNoAcknowledgedEditIsLostWhenTheProcessIsKilled(t *testing.T) {
	f := openFile(t)
	c := f.newCase("crash")
	f.ok(f.SetSetting(f.ctx, "case", c.ID))
	added, undone := map[int64]bool{}, map[int64]bool{}
	for round := range 3 {
		f.close()
		cmd := childCommand(t, f.dir, "edit")
		out, err := cmd.StdoutPipe()
		f.ok(err)
		f.ok(cmd.Start())
		stop := int64(4+3*round) + int64(len(added))
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			var n int64
			what, rest, _ := strings.Cut(lines.Text(), " ")
			if _, err := fmt.Sscan(rest, &n); err != nil {
				t.Fatalf("the child said %q", lines.Text())
			}
			if what == "added" {
				added[n] = true
			} else {
				undone[n] = true
			}
			if n == stop {
				f.ok(cmd.Process.Kill())
			}
		}
		if err := cmd.Wait(); err == nil {
			t.Error("the child ended by itself")
		}
		f.reopen()
		f.verifyEdits(c.ID, added, undone)
	}
	if len(added) < 12 || len(undone) < 3 {
		t.Errorf("only %d edits and %d undone: the test proves little", len(added), len(undone))
	}
}

func (f *fixture) verifyEdits(caseID string, added, undone map[int64]bool) {
	f.t.Helper()
	f.wantSound()
	got, err := f.Edits(f.ctx, caseID)
	f.ok(err)
	known := map[int64]bool{}
	for i, e := range got {
		if e.ID != int64(i+1) {
			f.t.Errorf("edit %d stands at place %d: there is a gap", e.ID, i+1)
		}
		known[e.ID] = true
		if undone[e.ID] && !e.Undone {
			f.t.Errorf("edit %d was undone and is in force again", e.ID)
		}
	}
	for id := range added {
		if !known[id] {
			f.t.Errorf("edit %d was acknowledged and is lost", id)
		}
	}
}
