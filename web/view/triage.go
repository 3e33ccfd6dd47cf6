package view

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"

	"leakdiff/analysis"
	"leakdiff/analysis/say/report"
	"leakdiff/analysis/say/wording"
)

// TriageInput is what people said of a family: in this case, and elsewhere.
type TriageInput struct {
	analysis.Triage
	// Replaced is the mark before it, in words; Over says that the last save
	// replaced one that its author had not seen.
	Replaced string
	Over     bool
	Memories []TriageMemory
	// OtherCases is how many other cases show the family.
	OtherCases int
	NeedsKey   bool
	// Remembers says that the server keeps knowledge of its own; Kept are the entries of
	// this family in it.
	Remembers bool
	Kept      []Link
}

// TriageMemory is what was said of the family in another case; without a case it is
// what remained of a deleted one.
type TriageMemory struct {
	Process, CaseTitle, URL string
	analysis.Triage
}

// FamilyTriage is what people said of a family, with the form that changes it.
type FamilyTriage struct {
	// State is the chip, empty for unreviewed.
	State string
	// Text is the mark in a sentence.
	Text, Replaced, Over string
	// Memory sums up the other cases, Memories are what was said there.
	Memory   string
	Memories []Sighting
	// Form is nil on frozen pages.
	Form *TriageForm
}

// TriageForm is the form that marks a family.
type TriageForm struct {
	// Process and Series are escaped as in a query.
	Case, Process, Series, Fingerprint string
	State, Note, Outcome               string
	// Seen is the time of the mark that the form shows, in microseconds.
	Seen     string
	NeedsKey bool
	States   []Choice
	Outcomes []string
	// Remember says that the server keeps knowledge of its own; Entry makes an entry of it.
	Remember bool
	Entry    EntryForm
	// Kept are the entries that were made of this family before.
	Kept []Link
}

// triageOutcomes are offered; any other text may be entered.
var triageOutcomes = []string{"fixed by upgrading", "fixed by a change of configuration", "fixed in our code", "worked around", "reported upstream", "not a leak"}

func (m *familyMaker) triage(f *Family) {
	in := m.in.Triage
	out := FamilyTriage{State: string(in.State), Replaced: Visible(in.Replaced)}
	if !in.Empty() {
		out.Text = Visible(capital(triageSentence(in.Triage)))
	}
	if m.in.Frozen {
		if out.Text != "" {
			out.Replaced = ""
			f.Triage = &out
		}
		return
	}
	if in.Over && out.Replaced != "" {
		out.Over = "While you had this page open somebody else had marked the family: " + out.Replaced + ". What you saved replaced it."
	}
	out.Memory = memorySentence(in.OtherCases, in.Memories)
	for _, x := range in.Memories {
		title := x.CaseTitle
		if title == "" {
			title = "a case that was deleted"
		}
		out.Memories = append(out.Memories, Sighting{CaseTitle: Visible(title), URL: x.URL, Counts: printable(x.Process) + ": " + Visible(triageSentence(x.Triage))})
	}
	form := &TriageForm{
		Case: m.in.CaseID, Process: url.QueryEscape(m.in.Process), Series: url.QueryEscape(m.in.SeriesKey), Fingerprint: Visible(m.in.Family.Fingerprint),
		State: string(in.State), Note: Visible(in.Note), Outcome: Visible(in.Outcome), NeedsKey: in.NeedsKey, Outcomes: triageOutcomes,
		Seen: "0",
	}
	if !in.At.IsZero() {
		form.Seen = strconv.FormatInt(in.At.UnixMicro(), 10)
	}
	form.States = []Choice{{Value: "", Text: "Unreviewed"}, {Value: "reviewed", Text: "Reviewed"}, {Value: "benign", Text: "Benign"}, {Value: "suspicious", Text: "Suspicious"}}
	form.Remember, form.Kept = in.Remembers, in.Kept
	form.Entry = EntryForm{Action: "/families/" + url.PathEscape(m.in.Family.Fingerprint) + "/remember", Case: m.in.CaseID, NeedsKey: in.NeedsKey, Statuses: entryStatuses()}
	out.Form = form
	f.Triage = &out
}

// triageSentence: "benign since 2026-07-01: one per pod. It turned out: not a leak."
func triageSentence(t analysis.Triage) string {
	word := string(t.State)
	switch t.State {
	case analysis.Unreviewed:
		word = "noted"
	case analysis.MarkedSuspect:
		word = "marked suspicious"
	}
	text := word + " on " + wording.Day(t.At)
	if t.Remembered {
		text += " in another case"
	}
	if t.Note != "" {
		text += ": " + t.Note
	}
	if t.Outcome != "" {
		text += " (outcome: " + t.Outcome + ")"
	}
	return text + "."
}

// memorySentence: "Seen in 3 other cases: 2 times fixed by upgrading, once benign."
func memorySentence(cases int, said []TriageMemory) string {
	text := "Seen in no other case on this server"
	if cases > 0 {
		text = "Seen in " + wording.PagePlural(int64(cases), "other case", "other cases")
	}
	count := map[string]int{}
	var order []string
	for _, x := range said {
		word := x.Outcome
		if word == "" && x.State != analysis.Unreviewed && x.State != analysis.Reviewed {
			word = string(x.State)
		}
		if word == "" {
			continue
		}
		if count[word]++; count[word] == 1 {
			order = append(order, word)
		}
	}
	slices.SortStableFunc(order, func(a, b string) int { return count[b] - count[a] })
	for i, word := range order {
		sep := ", "
		if i == 0 {
			sep = ": "
		}
		text += sep + oftenWord(count[word]) + " " + Visible(word)
	}
	return text + "."
}

// oftenWord returns how often something was so.
func oftenWord(n int) string {
	switch n {
	case 1:
		return "once"
	case 2:
		return "twice"
	}
	return fmt.Sprintf("%d times", n)
}

// markOf returns what a person decided about a family, empty for nothing.
func markOf(t *analysis.Triage) string {
	if t == nil {
		return ""
	}
	return string(t.State)
}

// unitMark returns what a person decided about all families of a unit alike.
func unitMark(s *report.Series, u *report.Unit) string {
	mark, first := "", true
	for i := range s.Families {
		if _, of := u.Ratio[s.Families[i].Fingerprint]; !of {
			continue
		}
		own := markOf(s.Families[i].Triage)
		if !first && own != mark {
			return ""
		}
		mark, first = own, false
	}
	return mark
}

// triageWord is it in words.
func triageWord(state string) string {
	if state == string(analysis.MarkedSuspect) {
		return "marked suspicious"
	}
	return state
}

// marked puts what a person decided behind a verdict: "leaking, benign by triage".
func marked(verdict, state string) string {
	if state == "" {
		return verdict
	}
	return verdict + " (triage: " + triageWord(state) + ")"
}

// triaged are the marks on the families of a finding, worst first.
func triaged(marks []*analysis.Triage) (state, text string) {
	rank := map[analysis.TriageState]int{analysis.MarkedSuspect: 3, analysis.Benign: 2, analysis.Reviewed: 1}
	var told *analysis.Triage
	for _, t := range marks {
		if t != nil && (told == nil || rank[t.State] > rank[told.State]) {
			told = t
		}
	}
	if told == nil {
		return "", ""
	}
	return string(told.State), capital(triageSentence(*told))
}
