package wording

import (
	"testing"
	"time"
)

func TestAComparisonSaysWhoseMembersWereDropped(t *testing.T) {
	first, second := time.Date(2027, 1, 21, 12, 0, 0, 0, time.UTC), time.Date(2027, 1, 22, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		a, b time.Time
		want string
	}{
		{time.Time{}, time.Time{}, ""},
		{first, time.Time{}, "A policy of retention dropped the members of A on 2027-01-21; families and counts stay."},
		{time.Time{}, first, "A policy of retention dropped the members of B on 2027-01-21; families and counts stay."},
		{first, first.Add(time.Hour), "A policy of retention dropped the members of A and B on 2027-01-21; families and counts stay."},
		{first, second, "A policy of retention dropped the members of A on 2027-01-21 and of B on 2027-01-22; families and counts stay."},
	} {
		if got := PairDropped(c.a, c.b); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
