package view

import (
	"net/url"

	"leakdiff/analysis/judge/knowledge"
)

// EntryURL returns where an entry that was made on this server is changed.
func EntryURL(id string) string { return "/knowledge/own/" + url.PathEscape(id) }

// Entry are the words of an entry that people write.
type Entry struct {
	Title, Status, Affected, Fixed, Trigger, Remedy, URL string
	// Bound is in how many minutes a backlog ends, as it was written.
	Bound string
}

// EntryForm is the form of an entry: a new one of a family, or one that is changed.
type EntryForm struct {
	Action, Case string
	Entry
	NeedsKey bool
	Statuses []Choice
	// Kept says that the entry exists: it can be forgotten as well.
	Kept bool
}

// EntryInput is the input of the page of an entry.
type EntryInput struct {
	// Name is that of the entry, or of the family that it is to be made of.
	Name, Action, Case string
	Entry              Entry
	// Wrong is what was refused, in a sentence.
	Wrong          string
	NeedsKey, Kept bool
	Engine         string
}

// EntryPage is the page that makes or changes an entry.
type EntryPage struct {
	Shell       Shell
	Name, Wrong string
	Form        EntryForm
}

// NewEntryPage makes it.
func NewEntryPage(in EntryInput) EntryPage {
	here := "Remember a family"
	if in.Kept {
		here = "Change an entry"
	}
	return EntryPage{
		Shell: Shell{Title: here, Section: "knowledge", Engine: in.Engine, Crumbs: []Link{{"Knowledge", "/knowledge"}}, Here: here},
		Name:  Visible(in.Name), Wrong: Visible(in.Wrong),
		Form: EntryForm{Action: in.Action, Case: in.Case, Entry: in.Entry, NeedsKey: in.NeedsKey, Statuses: entryStatuses(), Kept: in.Kept},
	}
}

// entryStatuses returns what an entry can say of a family.
func entryStatuses() []Choice {
	return []Choice{
		{Value: string(knowledge.Leak), Text: "a leak"}, {Value: string(knowledge.FalseAlarm), Text: "a false alarm"},
		{Value: string(knowledge.BoundedBacklog), Text: "a backlog that ends by itself"}, {Value: string(knowledge.StuckNotLeak), Text: "stuck, not a leak"},
	}
}
