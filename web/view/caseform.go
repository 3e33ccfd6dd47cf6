package view

// CaseForm is what the forms that rename and delete a case show. Counts are in
// words, so that who deletes knows what goes.
type CaseForm struct {
	ID, Title string
	// Holds says what is deleted: "1 bundle, 18 snapshots".
	Holds string
	// Permalinks is how many frozen results were made of the case.
	Permalinks int
}

// NewCaseForm counts what a case holds.
func NewCaseForm(id, title string, bundles, snapshots, permalinks int) CaseForm {
	return CaseForm{
		ID: id, Title: Visible(title), Permalinks: permalinks,
		Holds: Plural(int64(bundles), "bundle", "bundles") + ", " + Plural(int64(snapshots), "snapshot", "snapshots"),
	}
}
