package view

import (
	"net/url"
	"strings"
	"time"

	"leakdiff/analysis/say/wording"
)

// CaseForm is what the forms show that change a case or delete it. Counts are in
// words, so that who deletes knows what goes.
type CaseForm struct {
	ID, Title string
	Ticket    string
	// TicketURL is set where the ticket is a web address.
	TicketURL string
	// Modules are the prefixes of functions that are one's own, separated by blanks.
	Modules  string
	Archived bool
	// KeepMembers and KeepUploads are days, empty for what the server keeps.
	KeepMembers, KeepUploads string
	// MembersKept and UploadsKept say what the server keeps.
	MembersKept, UploadsKept string
	// Over says which values of others the last save replaced.
	Over []string
	// Before says what stood in a field before, where that was changed.
	Before []Pair
	// NeedsKey says that changes need the owner key.
	NeedsKey bool
	// Holds says what is deleted: "1 bundle, 18 snapshots".
	Holds string
	// Permalinks is how many frozen results were made of the case.
	Permalinks int
}

// CaseField is what people keep about a case under a name.
type CaseField struct {
	Value, Replaced string
	Edited          time.Time
}

// caseFieldWords are the fields with their names on the page.
var caseFieldWords = []Pair{{"title", "Title"}, {"ticket", "Ticket"}, {"modules", "Own modules"}, {"archived", "Archived"}, {"keep_members", "Days to keep members"}, {"keep_uploads", "Days to keep uploads"}}

func (m *caseMaker) form() CaseForm {
	in := m.in
	f := CaseForm{
		ID: in.ID, Title: Visible(in.Title), Permalinks: in.Permalinks, NeedsKey: in.NeedsKey,
		Ticket: Visible(in.Fields["ticket"].Value), Modules: Visible(in.Fields["modules"].Value), Archived: in.Fields["archived"].Value != "",
		KeepMembers: Visible(in.Fields["keep_members"].Value), KeepUploads: Visible(in.Fields["keep_uploads"].Value),
		MembersKept: wording.KeptByServer(in.KeepMembers), UploadsKept: wording.KeptByServer(in.KeepUploads),
		Holds: wording.PagePlural(int64(len(in.Bundles)), "bundle", "bundles") + ", " + wording.PagePlural(int64(len(in.Report.Snapshots)), "snapshot", "snapshots"),
	}
	f.TicketURL = webAddress(in.Fields["ticket"].Value)
	for _, word := range caseFieldWords {
		field := in.Fields[word.Name]
		if field.Replaced == "" || word.Name == "archived" {
			continue
		}
		was := "“" + Visible(field.Replaced) + "”, until " + wording.Time(field.Edited) + " UTC"
		f.Before = append(f.Before, Pair{word.Value, was})
		for _, name := range in.Over {
			if name == word.Name {
				f.Over = append(f.Over, word.Value+" was changed to “"+Visible(field.Replaced)+"” by somebody else while you had this page open; what you saved replaced it.")
			}
		}
	}
	return f
}

// webAddress gives back what a person entered where it is the address of a web page.
func webAddress(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || strings.ContainsAny(text, " \t\"<>") {
		return ""
	}
	return u.String()
}
