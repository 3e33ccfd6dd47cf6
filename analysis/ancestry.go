package analysis

// Ancestry is who started Count goroutines of a family, who started those, and so on, as a
// program with GODEBUG=tracebackancestors=N prints it. An execution trace shows the nearest of
// them alone.
type Ancestry struct {
	// Stacks are those of the ancestors when each started the next one, the nearest first.
	Stacks []Stack `json:"stacks"`
	Count  int     `json:"count"`
	// Of is how many goroutines of the family have any.
	Of int `json:"of"`
}

// MostAncestries bounds the ancestries of one family, of which the most frequent are kept.
const MostAncestries = 5
