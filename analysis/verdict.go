package analysis

// Verdict is the verdict on a family of a series.
type Verdict string

// The verdicts, in rank order.
const (
	Leaking Verdict = "leaking"
	// Saturated is a pool or dispatcher that is full while others wait for it. It is no leak.
	Saturated  Verdict = "saturated"
	Suspicious Verdict = "suspicious"
	Scaling    Verdict = "scaling"
	// Stopped grew and has ended, and the new members stay. Grew has more members than
	// before, which is a fact and no accusation.
	Stopped      Verdict = "stopped"
	Grew         Verdict = "grew"
	New          Verdict = "new"
	Shrinking    Verdict = "shrinking"
	Gone         Verdict = "gone"
	Stable       Verdict = "stable"
	TooFewPoints Verdict = "too_few_points"
)

// Verdicts returns all verdicts in rank order.
func Verdicts() []Verdict {
	return []Verdict{Leaking, Saturated, Suspicious, Scaling, Stopped, Grew, New, Shrinking, Gone, Stable, TooFewPoints}
}

// Rank orders verdicts from the worst, 0, to the least informative.
func (v Verdict) Rank() int {
	for i, other := range Verdicts() {
		if v == other {
			return i
		}
	}
	return len(Verdicts()) - 1
}

// Rose reports a verdict on a family that has more members than before: one that
// accuses, explains or states the growth. If a family of a series has such a verdict,
// no text may claim that nothing grew.
func (v Verdict) Rose() bool {
	switch v {
	case Leaking, Suspicious, Scaling, Stopped, Grew, New:
		return true
	}
	return false
}

// Grows reports a verdict on a family that still grows: one that accuses or explains.
func (v Verdict) Grows() bool { return v == Leaking || v == Suspicious || v == Scaling }

// Evidence is one reason for a verdict as it was measured. It has no words: analysis/say makes
// the sentence from the rule and its form.
type Evidence struct {
	// Rule is series, rose_once, cohort, survivors, ages, leaked_mark, recovery,
	// missing, span, ...
	Rule string `json:"rule"`
	// Form is which of the rule's forms holds, "" for a rule with one form.
	Form Form `json:"form,omitempty"`
	// N is the number that the rule counts, Of the number that it is a part of.
	N  int `json:"n,omitempty"`
	Of int `json:"of,omitempty"`
	// From, To and At are indexes of the snapshots of the series, nil for none.
	From *int `json:"from,omitempty"`
	To   *int `json:"to,omitempty"`
	At   *int `json:"at,omitempty"`
	// Unit is what rates and lengths of time are measured in.
	Unit TimeUnit `json:"unit,omitempty"`
	// Identity is what the members were followed by, "" where the rule follows none.
	Identity IdentityKind `json:"identity,omitempty"`
	// Kind is the kind that a rule on what was captured is about.
	Kind Kind `json:"kind,omitempty"`
	// Verdict is what other figures alone would say.
	Verdict Verdict `json:"verdict,omitempty"`
	// Figures are the other numbers by name: slope, low, high, p, expected, ...
	Figures map[Figure]float64 `json:"figures,omitempty"`
	// Points are counts at snapshots.
	Points []Point `json:"points,omitempty"`
	// Courses are how the counts went in each epoch.
	Courses []Course `json:"courses,omitempty"`
	// Holders may hold the lock that is waited for.
	Holders []LockHolder `json:"holders,omitempty"`
	// Names are from the input: loads, versions, entries of the catalogue.
	Names []string `json:"names,omitempty"`
}

// Form is a form of a rule: stands, one_step, ...
type Form string

// Figure is the name of a number.
type Figure string

// TimeUnit is the unit of the time in rates and lengths.
type TimeUnit string

// Without capture times the unit is the interval between two snapshots.
const (
	PerHour     TimeUnit = "hour"
	PerSnapshot TimeUnit = "snapshot"
)

// IdentityKind is what the members of a family are followed by.
type IdentityKind string

// The kinds of identity.
const (
	GoroutineID  IdentityKind = "goroutine_id"
	ThreadNumber IdentityKind = "thread_number"
	Inode        IdentityKind = "inode"
	Number       IdentityKind = "descriptor"
	WatchNumber  IdentityKind = "watch"
	// Ends are protocol, local and remote end of a socket. A later connection may have the same.
	Ends IdentityKind = "ends"
)

// Point is a count at a snapshot, by its index. A rule that names snapshots alone counts 0.
type Point struct {
	At int `json:"at"`
	N  int `json:"n"`
}

// Course is how a count went in one epoch.
type Course struct {
	// From and To are the first and the last snapshot that counted, Counts how many did.
	From   int `json:"from"`
	To     int `json:"to"`
	Counts int `json:"counts"`
	// First and Last are the counts there, Lowest and Highest those of all.
	First   int `json:"first"`
	Last    int `json:"last"`
	Lowest  int `json:"lowest"`
	Highest int `json:"highest"`
}

// LockHolder is a goroutine that may hold a lock.
type LockHolder struct {
	Goroutine int64 `json:"goroutine"`
	// In is the function that it is in, Of the method of the lock's object that called it.
	In string `json:"in"`
	Of string `json:"of"`
	// State is "" if the dump has none.
	State string `json:"state,omitempty"`
	// Children is how many goroutines it started. Waits reports that it waits for another lock.
	Children int  `json:"children,omitempty"`
	Waits    bool `json:"waits,omitempty"`
}

// Judgement is the verdict on one family of one series.
type Judgement struct {
	Verdict Verdict `json:"verdict"`
	// RecoveredAt is the index in the series at which the cause went away, or -1.
	RecoveredAt int        `json:"recovered_at"`
	Evidence    []Evidence `json:"evidence"`
	// Survivors is how many members of the last snapshot of the judged part were
	// present when the family first grew, -1 without identities.
	Survivors int `json:"survivors"`
	// Slope is per hour if times are known, else per snapshot. Rise is the sum of last
	// minus first over the epochs.
	Slope     float64 `json:"slope"`
	SlopeUnit string  `json:"slope_unit"`
	Rise      int     `json:"rise"`
	// Life is what identities show of the judged part, nil without them.
	Life *Life `json:"life,omitempty"`
	// DecidesIn is how many hours after the last snapshot more of them decide, 0 where nothing
	// is open.
	DecidesIn float64 `json:"decides_in_hours,omitempty"`
}

// Life counts members by identity.
type Life struct {
	// Born came after the first snapshot. Gone of these and of those that were there have ended.
	// Moved of those that came were there at the first snapshot, in another family. Away left for
	// another family and have not ended.
	Born  int `json:"born"`
	Moved int `json:"moved,omitempty"`
	Gone  int `json:"gone"`
	Away  int `json:"away,omitempty"`
	// Stayed of the Followed are still there at the end: of those that two snapshots or more
	// could show, or of those that were there at first.
	Followed int `json:"followed"`
	Stayed   int `json:"stayed"`
	// FromFirst reports that they are those of the first snapshot.
	FromFirst bool `json:"from_first,omitempty"`
	// End is the last snapshot that shows who is still there.
	End int `json:"end"`
	// Kept of the Had are still there at the end: of those that the first snapshot since the
	// last start of the process shows. Both are 0 where it cannot be followed.
	Had  int `json:"had"`
	Kept int `json:"kept"`
	// RenewedAt is the last snapshot of which, as of all before it, no member is left: none
	// is older. It is nil where some stay.
	RenewedAt *int `json:"renewed_at,omitempty"`
	// StandsSince is the first snapshot since which nobody came or left, of members that were
	// replaced before. It is nil where they still are, or never were.
	StandsSince *int `json:"stands_since,omitempty"`
}
