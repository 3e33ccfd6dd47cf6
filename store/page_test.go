package store

import (
	"strings"
	"testing"
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

func TestADatabaseWithoutPagesTakesThem(t *testing.T) {
	f := open(t)
	c := f.newCase("a")
	f.filled(c.ID, "x", kubeletResult("2"))
	_, err := f.writer.ExecContext(f.ctx, `DROP TABLE case_page; PRAGMA user_version = 10`)
	f.ok(err)
	f.crash()
	f.wantNoPage(c.ID, "one")
	f.ok(f.KeepCasePage(f.ctx, c.ID, pageOf("one", "page")))
	f.wantPage(c.ID, pageOf("one", "page"))
	f.wantSound()
}
