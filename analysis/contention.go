package analysis

import "time"

// ContentionProfile is which profile counted waits.
type ContentionProfile string

// A mutex profile has the stacks that held a lock and let it go, with the waits of others for
// them. A block profile has the stacks that waited.
const (
	MutexProfile ContentionProfile = "mutex"
	BlockProfile ContentionProfile = "block"
)

// Contention is a mutex or block profile of a Go process. Its figures grow from the start of
// the process, so those of two snapshots are not of the time between them.
type Contention struct {
	Profile ContentionProfile
	// Count and Delay are the waits of all stacks, and their summed time. Each saturates.
	Count int64
	Delay time.Duration
	// Stacks are those with most delay, most first. More counts those left out.
	Stacks []Contended
	More   int
	// Window is set for a profile that was taken over some time instead of from the start.
	Window time.Duration
	// LowerBound reports that a part of the profile was not understood or is missing.
	LowerBound bool
}

// Contended is one stack with its waits and their summed time. The runtime samples waits and
// scales them up to all. Frames are leaf first, nil for all stacks beyond those that a parser
// keeps. Elided counts those left out.
type Contended struct {
	Frames []Frame
	Elided int
	Count  int64
	Delay  time.Duration
}
