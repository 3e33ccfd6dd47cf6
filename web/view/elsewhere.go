package view

// Elsewhere is the page that finds a snapshot of another case to compare with.
type Elsewhere struct {
	Shell          Shell
	Headline, Lead string
	CaseID         string
	// Find is the text that was looked for; Hidden are the other parts of the address.
	Find   string
	Hidden []Pair
	// Series and Back go with a baseline that is chosen here.
	Series, Back string
	// NeedsKey says that choosing asks for the owner key.
	NeedsKey    bool
	Cases       []ElsewhereCase
	Empty, More string
}

// ElsewhereCase is another case with its snapshots.
type ElsewhereCase struct {
	Title, About string
	Snapshots    []ElsewhereSnapshot
	More         string
}

// ElsewhereSnapshot is one snapshot: URL compares with it, Value names it as a
// baseline.
type ElsewhereSnapshot struct {
	Text, URL, Value string
}
