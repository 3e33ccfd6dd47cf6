package wording

import (
	"strings"
	"time"
)

// MembersDropped says of one capture that it has no members any more.
func MembersDropped(at time.Time) string {
	return "A policy of retention dropped the members of this capture on " + day(at) + "; its families and counts stay."
}

// PairDropped says which of two captures that are compared, A and B, have no members any more.
// The times are when these were dropped, zero for a capture that has its members. It is empty
// if both have.
func PairDropped(a, b time.Time) string {
	var which string
	switch {
	case a.IsZero() && b.IsZero():
		return ""
	case b.IsZero():
		which = "A on " + day(a)
	case a.IsZero():
		which = "B on " + day(b)
	case day(a) == day(b):
		which = "A and B on " + day(a)
	default:
		which = "A on " + day(a) + " and of B on " + day(b)
	}
	return "A policy of retention dropped the members of " + which + "; families and counts stay."
}

// SeriesThinned says that n of the captures of a series have no members any more, the last of
// which were dropped at a time.
func SeriesThinned(n, total int, at time.Time) string {
	return "A policy of retention dropped the members of " + Number(int64(n)) + " of " + Plain(total, "capture", "captures") + ", the last ones on " + day(at) +
		": what identity proves rests on the other " + Number(int64(total-n)) + "."
}

// JudgedOf says that only some captures of a process are judged. JudgedRule says which, and
// JudgedHint what to do.
func JudgedOf(judged, all int, process string) string {
	return Number(int64(judged)) + " of " + Plain(all, "capture", "captures") + " of " + process + " are judged; totals are drawn of all"
}

// Judged says beside the number of captures how many are judged.
func Judged(n int) string { return Number(int64(n)) + " judged" }

const (
	JudgedRule = "the newest 64 are judged, of older ones 16 in each doubling of their age, the first, and those on both sides of a restart, a change of version or an event"
	JudgedHint = "make a case of fewer captures where a span between two judged ones matters"
)

// UploadDropped says of a bundle that its bytes are not kept any more.
func UploadDropped(at time.Time) string {
	return "A policy of retention dropped the bytes on " + day(at) + ". Names, sizes and hashes stay, and what was read of them."
}

// MembersKept says how long members are kept, for 0 days for ever.
func MembersKept(days int) string {
	if days == 0 {
		return "until the case is deleted"
	}
	return "for " + Plain(days, "day", "days") + "; then those of the first, the last and the largest capture and of one each hour, 24 of a series at least"
}

// UploadsKept says how long uploads are kept, for 0 days for ever.
func UploadsKept(days int) string {
	if days == 0 {
		return "until the case is deleted"
	}
	return "for " + Plain(days, "day", "days")
}

// KeptByServer says in a field of days that is empty what counts.
func KeptByServer(days int) string {
	return KeptDays(days) + ", by the server"
}

// KeptDays is how long something is kept, for 0 days for ever.
func KeptDays(days int) string {
	if days == 0 {
		return "for ever"
	}
	return Plain(days, "day", "days")
}

// Droppable says what policies would drop now.
func Droppable(captures int, memberBytes int64, bundles int, uploadBytes int64) string {
	if captures == 0 && bundles == 0 {
		return "The policies of retention would drop nothing now."
	}
	return "The policies of retention would drop " + droppable(captures, memberBytes, bundles, uploadBytes) + " now."
}

// RetentionKeeps says what no policy drops.
const RetentionKeeps = "Families, counts, verdicts and frozen results stay, and so do the members of the first, the last and the largest capture of a series and of one each hour, 24 of a series at least. The server drops once an hour."

func droppable(captures int, memberBytes int64, bundles int, uploadBytes int64) string {
	var what []string
	if captures > 0 {
		what = append(what, "the members of "+Plain(captures, "capture", "captures")+" ("+Size(memberBytes)+" packed)")
	}
	if bundles > 0 {
		what = append(what, Plain(bundles, "upload", "uploads")+" ("+Size(uploadBytes)+")")
	}
	return strings.Join(what, " and ")
}

// Retained says what policies drop, or have dropped, which is something.
func Retained(captures int, memberBytes int64, bundles int, uploadBytes int64, done bool) string {
	what := droppable(captures, memberBytes, bundles, uploadBytes)
	if done {
		return "Dropped: " + what + "."
	}
	return "Would drop " + what + ". Nothing is changed without --apply."
}

func day(t time.Time) string { return t.UTC().Format(time.DateOnly) }
