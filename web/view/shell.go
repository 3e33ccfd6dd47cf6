// Package view holds what the pages show: strings ready to print and numbers
// ready to draw, one model per page. It takes reports, diffs and snapshots, and
// knows neither HTML nor storage.
package view

import (
	"time"

	"leakdiff/analysis/say/wording"
)

// Link is a named address inside leakdiff.
type Link struct {
	Text, URL string
}

// Sharing is the action that freezes a page.
const Sharing = "Share…"

// Shell is what every page has around its own content.
type Shell struct {
	// Title is the document's title without " · leakdiff"; Description is for
	// previews and may be empty.
	Title, Description string
	// Picture is the address of the picture that a chat shows of the page, empty for none.
	Picture string `json:",omitempty"`
	// Crumbs lead from the section, "Cases" or "Fleet", to the parent of this page; Here is the
	// last, unlinked one.
	Crumbs []Link
	Here   string
	// Actions stand right of the crumbs, for example the Markdown twin.
	Actions []Link
	// Section is the navigation entry that is current: cases, fleet, knowledge, search, help, server, or
	// error. Pages without one have no link to the fleet: stored ones are from before it.
	Section string
	// Sheet is the style sheet of the page: home, inventory, or empty for the one that
	// results have.
	Sheet string
	// Captured says when what the page shows was captured, for paper; pages that can be
	// frozen take it from their own figures.
	Captured string `json:",omitempty"`
	// Engine is the footer's line ("leakdiff 1.0, engine 1, fingerprint g1").
	Engine string
	// Query is the text in the search box.
	Query string
	// Seal is set on frozen pages only: they link to no live page, so layout
	// drops navigation, crumbs, search and actions and prints the seal instead.
	Seal *Seal
	// Copies are the twins that one key copies, Twins all of them, as files. Pictures is
	// the address of the charts as files, see Picture.
	Copies, Twins []Link
	// Tickets are the answer of the page for GitHub and for Jira, empty where there is none.
	Tickets  []Link `json:",omitempty"`
	Pictures string
	// Standalone says that the page is one file without scripts: its style is inside.
	Standalone bool
	// Bare is a page for people who are not signed in: it leads to no other.
	Bare bool `json:",omitempty"`
	// Scripts are what the page needs besides those of every page.
	Scripts []string `json:",omitempty"`
	// Refresh is a number of seconds after which a page without scripts loads
	// itself again, 0 for never.
	Refresh int
}

// Seal says what a frozen page is.
type Seal struct {
	Made, Engine, Expires, Redaction string
	// Preview says that nothing is frozen yet: the page shows how it would look.
	Preview bool
	// Newer says that an older engine computed the page; Again is where it is computed
	// anew, under an address of its own.
	Newer, Again string
	// NeedsKey says that this asks for the owner key of the case.
	NeedsKey bool
	// Name is what the page is instead of a frozen result.
	Name string
	// Owned is the address of a result whose owner key this browser has, and Keep the
	// times that it can be kept for.
	Owned string
	Keep  []KeepOption
}

// capturedFrom writes the first and the last of the times that are known.
func capturedFrom(first, last string) string {
	unknown := wording.Time(time.Time{})
	switch {
	case first == "" || first == unknown || first == last:
		first = last
	case last != "" && last != unknown:
		first += " to " + last
	}
	if first == "" || first == unknown {
		return ""
	}
	return first + " UTC"
}

// Captured returns when A and B were captured.
func (d Diff) Captured() string { return capturedFrom(d.A.Full, d.B.Full) }

// Captured returns when the first and the last snapshot of the case were.
func (c Case) Captured() string {
	if len(c.Columns) == 0 {
		return ""
	}
	return capturedFrom(c.Columns[0].Full, c.Columns[len(c.Columns)-1].Full)
}

// Captured returns when the first and the last snapshot of the series were.
func (f Family) Captured() string {
	if len(f.Members.Times) == 0 {
		return ""
	}
	return capturedFrom(wording.Time(f.Members.Times[0]), wording.Time(f.Members.Times[len(f.Members.Times)-1]))
}
