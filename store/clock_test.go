package store

import (
	"errors"
	"testing"
	"time"
)

func TestNothingIsDroppedByAClockThatMayBeAhead(t *testing.T) {
	f := open(t)
	right := f.clock.now
	p, _ := f.permalink(Permalink{Title: "t", Expires: right.Add(30 * 24 * time.Hour), Record: []byte(`"text"`)})
	records := func() (n int) {
		t.Helper()
		f.ok(f.reader.QueryRowContext(f.ctx, `SELECT count(record) FROM permalink`).Scan(&n))
		return n
	}
	f.clock.now = right.Add(mostQuiet + time.Microsecond)
	f.ok(f.Sweep(f.ctx))
	if n := records(); n != 1 {
		t.Errorf("%d records are left of a clock that is ahead", n)
	}
	_, err := f.Retain(f.ctx, Retention{Members: 30, Uploads: 30})
	wantCode(t, err, ClockAhead)
	// It is over while the clock says so, and comes back with the right one.
	var gone *Gone
	if _, err := f.Permalink(f.ctx, p.ID); !errors.As(err, &gone) {
		t.Errorf("an expired result gives %v", err)
	}
	f.clock.now = right
	if _, err := f.Permalink(f.ctx, p.ID); err != nil {
		t.Errorf("with the right clock it gives %v", err)
	}
	f.clock.now = right.Add(mostQuiet)
	if _, err := f.Retain(f.ctx, Retention{Members: 30, Uploads: 30}); err != nil {
		t.Errorf("a server that was quiet for 60 days does not drop: %v", err)
	}
	f.ok(f.Sweep(f.ctx))
	if n := records(); n != 0 {
		t.Errorf("%d records are left after 60 days", n)
	}
	f.clock.now = right
	f.wantGone(p.ID, Gone{Title: "t", Created: p.Created, Ended: right, Audience: ForLink})
}
