package analysis

// Ancestry is what made Count members of a family. Of goroutines it is who started them, who
// started those, and so on, as a program with GODEBUG=tracebackancestors=N prints it; an
// execution trace shows the nearest of them alone. Of descriptors it is the call that opened
// them, as a tracer saw it.
type Ancestry struct {
	// Stacks are those of the ancestors when each started the next one, the nearest first, or the
	// one stack that opened the descriptors.
	Stacks []Stack `json:"stacks"`
	Count  int     `json:"count"`
	// Of is how many goroutines of the family have any.
	Of int `json:"of"`
	// Opened and Left count the descriptors, of any family, that its one stack opened while it was
	// traced, and those that were open at the end.
	Opened int `json:"opened,omitempty"`
	Left   int `json:"left,omitempty"`
}

// MostAncestries bounds the ancestries of one family, of which the most frequent are kept.
const MostAncestries = 5
