package wording

import "time"

// TokenState says whether a token admits anybody at a time. The zero time is never.
func TokenState(expires, revoked, now time.Time) string {
	switch {
	case !revoked.IsZero():
		return "revoked on " + Day(revoked)
	case expires.IsZero():
		return "does not expire"
	case !expires.After(now):
		return "expired on " + Day(expires)
	}
	return "expires on " + Day(expires)
}
