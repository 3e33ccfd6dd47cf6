// Package view holds what the pages show: strings ready to print and numbers
// ready to draw, one model per page. It takes reports, diffs and snapshots, and
// knows neither HTML nor storage.
package view

import "slices"

// Link is a named address inside leakdiff.
type Link struct {
	Text, URL string
}

// Shell is what every page has around its own content.
type Shell struct {
	// Title is the document's title without " · leakdiff"; Description is for
	// previews and may be empty.
	Title, Description string
	// Crumbs lead from the start page to the parent of this page; Here is the
	// last, unlinked one.
	Crumbs []Link
	Here   string
	// Actions stand right of the crumbs, for example the Markdown twin.
	Actions []Link
	// Section is the navigation entry that is current: cases, search, help.
	Section string
	// Engine is the footer's line ("leakdiff 1.0, engine 1, fingerprint g1").
	Engine string
	// Query is the text in the search box.
	Query string
	// Seal is set on frozen pages only: they link to no live page, so layout
	// drops navigation, crumbs, search and actions and prints the seal instead.
	Seal *Seal
	// Refresh is a number of seconds after which a page without scripts loads
	// itself again, 0 for never.
	Refresh int
	// Styles are the style sheets that only some pages need.
	Styles []string
}

// Styled is the shell with another style sheet.
func (s Shell) Styled(name string) Shell {
	s.Styles = append(slices.Clip(s.Styles), name)
	return s
}

// Seal says what a frozen page is.
type Seal struct {
	Made, Engine, Expires, Redaction string
	// Twins are the same result as Markdown, text and JSON.
	Twins []Link
}
