package analysis

import "time"

// Births are how many goroutines of a family an execution trace saw start and end in Window,
// none of which it misses.
type Births struct {
	Window  time.Duration `json:"window_ns"`
	Started int           `json:"started"`
	Ended   int           `json:"ended"`
}
