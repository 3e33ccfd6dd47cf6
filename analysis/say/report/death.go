package report

import "leakdiff/analysis"

// Death is why a process ended, as its runtime printed it before the stacks.
type Death struct {
	// Deadlock reports that the scheduler found all goroutines asleep.
	Deadlock bool `json:"deadlock,omitempty"`
	// Reason is "nil pointer dereference in connections.(*service).dial". Do says what to do.
	Reason string `json:"reason"`
	Do     string `json:"do"`
}

// deathOf is what a snapshot states of the end of its process, nil for one that lives.
func deathOf(s *analysis.Snapshot) *Death {
	for i := range s.Statements {
		switch x := &s.Statements[i]; x.Key {
		case analysis.CrashStatement:
			return &Death{Reason: x.Title, Do: x.Text}
		case analysis.AsleepStatement:
			return &Death{Deadlock: true, Reason: x.Title, Do: x.Text}
		}
	}
	return nil
}

// ended words why a process ended: "syncthing crashed: nil pointer dereference in
// connections.(*service).dial", "Deadlock in app: all goroutines are asleep".
func (s *Series) ended() string {
	if s.Died.Deadlock {
		return "Deadlock" + s.place("in") + ": " + s.Died.Reason
	}
	return s.actor() + " crashed: " + s.Died.Reason
}

// dead is the first process with a single dump that shows it dying, or -1. What its dump shows
// besides is not why it ended.
func (d *diagnosing) dead() int {
	for _, i := range d.r.seriesInOrder() {
		if s := &d.r.Series[i]; s.Died != nil && len(s.Snapshots) == 1 {
			return i
		}
	}
	return -1
}

// fitting is the first of several wordings of one sentence that fits into n characters, else
// the last one shortened.
func fitting(words []string, n int) string {
	for _, text := range words {
		if len([]rune(text)) <= n {
			return text
		}
	}
	return shortened(words[len(words)-1], n)
}
