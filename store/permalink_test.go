package store

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func (f *fixture) permalink(p Permalink) (Permalink, string) {
	f.t.Helper()
	if p.Record == nil {
		p.Record = []byte(`{"schema":"leakdiff.report/1"}`)
	}
	out, key, err := f.CreatePermalink(f.ctx, p)
	f.ok(err)
	return out, key
}

func TestAPermalinkComesBackAsFrozen(t *testing.T) {
	f := open(t)
	c := f.newCase("a")
	want, _ := f.permalink(Permalink{
		CaseID: c.ID, View: "/diff/a..b?v=1&sort=rise", Title: "+412 prober", Expires: f.clock.now.Add(90 * 24 * time.Hour),
		Engine: 3, Fingerprint: 1, Record: []byte(`{"x":"` + strings.Repeat("goroutine ", 1000) + `"}`), Raw: []byte(`["goroutine 1 [select]:"]`),
		Preview: "counts", Counts: "88 to 500 in 3 h", Redacted: true,
	})
	f.close()
	f.reopen()
	got, err := f.Permalink(f.ctx, want.ID)
	f.ok(err)
	wantEqual(t, want, got)
	_, err = f.Permalink(f.ctx, "none")
	wantCode(t, err, "not_found")
	_, _, err = f.CreatePermalink(f.ctx, Permalink{CaseID: "cnone", Record: []byte(`{}`)})
	wantCode(t, err, "not_found")
}

// wantGone checks what an ended link still says, and that nothing else is left.
func (f *fixture) wantGone(id string, want Gone) {
	f.t.Helper()
	_, err := f.Permalink(f.ctx, id)
	var gone *Gone
	if !errors.As(err, &gone) {
		f.t.Fatalf("got %v, want *Gone", err)
	}
	wantEqual(f.t, want, *gone)
	wantCode(f.t, err, "gone")
}

func TestAPermalinkExpiresOnTime(t *testing.T) {
	f := open(t)
	until := f.clock.now.Add(time.Hour)
	p, key := f.permalink(Permalink{Title: "t", Counts: "88 to 500", Expires: until, Record: []byte(`"frozen text"`)})
	kept, _ := f.permalink(Permalink{Title: "kept"})
	f.clock.advance(time.Hour - time.Microsecond)
	if _, err := f.Permalink(f.ctx, p.ID); err != nil {
		t.Errorf("expired too early: %v", err)
	}
	f.clock.advance(time.Microsecond)
	want := Gone{Title: "t", Counts: "88 to 500", Created: p.Created, Ended: until, Audience: ForLink}
	f.wantGone(p.ID, want)
	var gone *Gone
	if err := f.ExtendPermalink(f.ctx, p.ID, key, time.Time{}); !errors.As(err, &gone) {
		t.Errorf("extending an expired link: %v", err)
	}
	f.ok(f.Sweep(f.ctx))
	f.wantGone(p.ID, want)
	var records int
	f.ok(f.reader.QueryRowContext(f.ctx, `SELECT count(record) FROM permalink`).Scan(&records))
	if records != 1 {
		t.Errorf("%d records are left, want that of the link that is kept", records)
	}
	f.clock.advance(10 * 365 * 24 * time.Hour)
	f.ok(f.Sweep(f.ctx))
	if _, err := f.Permalink(f.ctx, kept.ID); err != nil {
		t.Errorf("a link without expiry: %v", err)
	}
}

func TestTheOwnerExtendsAPermalink(t *testing.T) {
	f := open(t)
	p, key := f.permalink(Permalink{Expires: f.clock.now.Add(time.Hour)})
	_, otherKey := f.permalink(Permalink{})
	later := f.clock.now.Add(48 * time.Hour)
	wantCode(t, f.ExtendPermalink(f.ctx, p.ID, otherKey, later), "forbidden")
	wantCode(t, f.ExtendPermalink(f.ctx, p.ID, "", later), "forbidden")
	wantCode(t, f.ExtendPermalink(f.ctx, "none", key, later), "not_found")
	wantCode(t, f.ExtendPermalink(f.ctx, p.ID, key, f.clock.now), "invalid")
	f.ok(f.ExtendPermalink(f.ctx, p.ID, key, later))
	if got, err := f.Permalink(f.ctx, p.ID); err != nil || !got.Expires.Equal(later) {
		t.Errorf("got %v, %v", got.Expires, err)
	}
	f.ok(f.ExtendPermalink(f.ctx, p.ID, key, time.Time{}))
	if got, err := f.Permalink(f.ctx, p.ID); err != nil || !got.Expires.IsZero() {
		t.Errorf("got %v, %v", got.Expires, err)
	}
}

func TestAWithdrawnPermalinkIsGoneFromTheDisk(t *testing.T) {
	f := open(t)
	p, key := f.permalink(Permalink{Title: "t", Counts: "n", Record: []byte(`"frozen text"`), Raw: []byte(`"raw lines"`)})
	wantCode(t, f.WithdrawPermalink(f.ctx, p.ID, "wrong"), "forbidden")
	f.clock.advance(time.Hour)
	f.ok(f.WithdrawPermalink(f.ctx, p.ID, key))
	want := Gone{Title: "t", Counts: "n", Created: p.Created, Ended: f.clock.now, Withdrawn: true, Audience: ForLink}
	f.wantGone(p.ID, want)
	var gone *Gone
	if err := f.WithdrawPermalink(f.ctx, p.ID, key); !errors.As(err, &gone) {
		t.Errorf("withdrawing twice: %v", err)
	}
	for _, text := range []string{"frozen text", "raw lines"} {
		if files := grep(t, f.dir, text); len(files) > 0 {
			t.Errorf("%q still stands in %v", text, files)
		}
	}
}

func TestDeletingACaseWithdrawsItsPermalinks(t *testing.T) {
	f := open(t)
	c, other := f.newCase("a"), f.newCase("b")
	p, key := f.permalink(Permalink{CaseID: c.ID, View: "/families/x?host=alice-7", Title: "t", Counts: "n", Redacted: true, Record: []byte(`"frozen text"`)})
	bare, _ := f.permalink(Permalink{CaseID: c.ID, Title: "what alice-7 shows", Counts: "n", Record: []byte(`"frozen text"`)})
	early, earlyKey := f.permalink(Permalink{CaseID: c.ID})
	unrelated, _ := f.permalink(Permalink{CaseID: other.ID})
	f.ok(f.WithdrawPermalink(f.ctx, early.ID, earlyKey))
	earlyEnd := f.clock.now
	f.clock.advance(time.Hour)
	f.ok(f.DeleteCase(f.ctx, c.ID, WithdrawPermalinks))
	f.wantGone(p.ID, Gone{Title: "t", Counts: "n", Created: p.Created, Ended: f.clock.now, Withdrawn: true, Audience: ForLink})
	f.wantGone(bare.ID, Gone{Counts: "n", Created: bare.Created, Ended: f.clock.now, Withdrawn: true, Audience: ForLink})
	if files := grep(t, f.dir, "alice-7"); len(files) > 0 {
		t.Errorf("a name still stands in %v", files)
	}
	f.wantGone(early.ID, Gone{Created: early.Created, Ended: earlyEnd, Withdrawn: true, Audience: ForLink})
	if _, err := f.Permalink(f.ctx, unrelated.ID); err != nil {
		t.Errorf("another case's link: %v", err)
	}
	var gone *Gone
	if err := f.ExtendPermalink(f.ctx, p.ID, key, time.Time{}); !errors.As(err, &gone) {
		t.Errorf("extending it: %v", err)
	}
	if files := grep(t, f.dir, "frozen text"); len(files) > 0 {
		t.Errorf("the record still stands in %v", files)
	}
}

func TestAKeptPermalinkLosesItsRawLinesWithTheCase(t *testing.T) {
	f := open(t)
	c := f.newCase("a")
	p, key := f.permalink(Permalink{CaseID: c.ID, Title: "t", Raw: []byte(`"raw lines"`)})
	f.ok(f.DeleteCase(f.ctx, c.ID, KeepPermalinks))
	got, err := f.Permalink(f.ctx, p.ID)
	f.ok(err)
	want := p
	want.CaseID, want.Raw = "", nil
	wantEqual(t, want, got)
	if files := grep(t, f.dir, "raw lines"); len(files) > 0 {
		t.Errorf("the raw lines still stand in %v", files)
	}
	f.ok(f.WithdrawPermalink(f.ctx, p.ID, key))
}

func TestAnEndedLinkSaysWhenAndWhomToAsk(t *testing.T) {
	ended := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	for _, tc := range []struct {
		gone Gone
		want string
	}{
		{Gone{Ended: ended}, "expired on 2026-11-21"},
		{Gone{Ended: ended, Withdrawn: true}, "withdrawn on 2026-11-21"},
	} {
		if got := tc.gone.Error(); !strings.Contains(got, tc.want) || !strings.Contains(got, "Ask") {
			t.Errorf("got %q, want it to say %q", got, tc.want)
		}
	}
}
