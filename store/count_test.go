package store

import (
	"testing"
	"time"
)

func TestOnlyReadablePermalinksOfTheCaseAreCounted(t *testing.T) {
	f := open(t)
	c, other := f.newCase("a"), f.newCase("b")
	f.permalink(Permalink{CaseID: c.ID})
	f.permalink(Permalink{CaseID: other.ID})
	f.permalink(Permalink{})
	f.permalink(Permalink{CaseID: c.ID, Expires: f.clock.now.Add(time.Hour)})
	withdrawn, key := f.permalink(Permalink{CaseID: c.ID})
	f.ok(f.WithdrawPermalink(f.ctx, withdrawn.ID, key))
	for _, want := range []int{2, 1} {
		if got, err := f.PermalinkCount(f.ctx, c.ID); got != want || err != nil {
			t.Errorf("got %d, %v, want %d", got, err, want)
		}
		f.clock.advance(time.Hour)
	}
}
