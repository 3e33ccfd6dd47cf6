package analysis

import "time"

// Births are how many goroutines of a family an execution trace saw start and end in Window,
// none of which it misses. Untold are those that ended there and may be of the family: what they
// were started with is not known.
type Births struct {
	Window  time.Duration `json:"window_ns"`
	Started int           `json:"started"`
	Ended   int           `json:"ended"`
	Untold  int           `json:"ended_of_unknown_family,omitempty"`
}
