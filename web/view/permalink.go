package view

import (
	"net/url"
	"strings"
	"time"

	"leakdiff/analysis/say/document"
	"leakdiff/analysis/say/wording"
)

// Share is the form that freezes a result.
type Share struct {
	Shell     Shell
	Case      string
	View      string
	Title     string
	Freezes   []string
	Redaction []RedactionRule
	Previews  []Preview
	Keep      []KeepOption
	// Look is the page as its readers would see it, Markdown its twin.
	Look, Markdown string
	// NeedsKey says that freezing without redaction asks for the owner key.
	NeedsKey bool
	// Accounts offers the choice to share with accounts alone.
	Accounts bool
}

// RedactionRule is one rule in words: what is taken out, what stands there
// instead, how often that happens ("67 in 25 files", may be empty), and where each
// value stands first in the evidence, as far as that is known.
type RedactionRule struct {
	// Found is set for a rule that took something out.
	Found             bool
	Name, Text, Count string
	First             []string
}

// Preview is what a chat shows of a link before anyone opens it.
type Preview struct {
	// Value is counts, full or none.
	Value, Name, Title, Text, Note string
	Checked                        bool
}

// KeepOption is a time after which the permalink ends.
type KeepOption struct {
	Value, Text string
	Selected    bool
}

// ShareInput is the input of the form. View is the path and query of the
// page that is frozen. Freezes says in words what becomes part of the copy.
// Counts and Full are the sentences of the previews, CountsTitle is the title beside Counts.
type ShareInput struct {
	Case, CaseTitle, View, Title string
	Freezes                      []string
	Rules                        []RedactionRule
	CountsTitle, Counts, Full    string
	// Markdown is the twin for tickets, as it would be frozen.
	Markdown string
	Now      time.Time
	NeedsKey bool
	// Accounts says that people need an account to read this server.
	Accounts bool
}

// NewShare makes the form with the defaults: redacted, counts only, 90 days. The
// caller adds the shell's engine line.
func NewShare(in ShareInput) Share {
	title, full := Visible(in.Title), Visible(in.Full)
	if full == title {
		full = "" // one sentence is not said twice
	}
	return Share{
		Shell: Shell{
			Title: "Share " + Visible(in.CaseTitle), Section: "cases",
			Crumbs: []Link{{"Cases", "/"}, {in.CaseTitle, "/cases/" + url.PathEscape(in.Case)}}, Here: "Share",
		},
		Case: in.Case, View: in.View, NeedsKey: in.NeedsKey, Accounts: in.Accounts, Title: title, Freezes: in.Freezes, Redaction: in.Rules,
		Previews: []Preview{
			{Value: "counts", Name: "Counts only", Title: Visible(in.CountsTitle), Text: Visible(in.Counts), Note: "No host, no function, no path.", Checked: true},
			{Value: "full", Name: "Full", Title: title, Text: full, Note: "The sentence, after redaction."},
			{Value: "none", Name: "None", Note: "The address alone."},
		},
		Keep: keepOptions(in.Now), Markdown: visibleLines(in.Markdown), Look: "/share?" + url.Values{"view": {in.View}, "look": {"1"}}.Encode(),
	}
}

func keepOptions(now time.Time) []KeepOption {
	until := func(days int) string { return ", until " + wording.Day(now.AddDate(0, 0, days)) }
	return []KeepOption{
		{"7d", "7 days" + until(7), false},
		{"30d", "30 days" + until(30), false},
		{"90d", "90 days" + until(90), true},
		{"365d", "1 year" + until(365), false},
		{"keep", "until it is withdrawn", false},
	}
}

// Shared is shown once, after freezing: it alone holds the owner key.
type Shared struct {
	Shell    Shell
	URL      string
	OwnerKey string
	Expires  string
	Twins    []Link
	Receipt  []RedactionRule
}

// NewShared makes the page after freezing; a zero expires means kept until
// withdrawn. The caller adds the shell's engine line.
func NewShared(caseID, caseTitle, address, ownerKey string, expires time.Time, receipt []RedactionRule) Shared {
	var file Shell
	file.Offer(address, "", WithoutStacks)
	s := Shared{
		Shell: Shell{
			Title: "The result is frozen", Section: "cases",
			Crumbs: []Link{{"Cases", "/"}, {caseTitle, "/cases/" + url.PathEscape(caseID)}}, Here: "Shared",
		},
		URL: address, OwnerKey: ownerKey, Receipt: receipt,
		Expires: "It stays until it is withdrawn.",
		Twins:   file.Twins,
	}
	if !expires.IsZero() {
		s.Expires = "It ends on " + wording.Day(expires) + "; the key extends it."
	}
	return s
}

// Countdown says how long a frozen page stays; a text of it keeps the day alone, since
// nobody knows when it is read.
func (s *Seal) Countdown(expires, now time.Time) {
	if expires.IsZero() {
		return
	}
	const day = 24 * time.Hour
	left := "within an hour"
	switch rest := expires.Sub(now); {
	case rest > day:
		left = "in " + wording.PagePlural(int64((rest+day-1)/day), "day", "days")
	case rest > time.Hour:
		left = "in " + wording.PagePlural(int64((rest+time.Hour-1)/time.Hour), "hour", "hours")
	}
	s.Expires = "expires " + left + ", on " + wording.Day(expires)
}

// Owns says that whoever reads a frozen page may change it: this browser has its key.
func (s *Seal) Owns(address string, now time.Time) {
	s.Owned, s.Keep, s.NeedsKey = address, keepOptions(now), false
}

// Gone is the page of a permalink that ended (status 410), or that never was
// (404), when Title is empty.
type Gone struct {
	Shell    Shell
	Sentence string
	// Showed says what was there: counts and dates.
	Showed  string
	Reasons []string
	Ask     string
}

// GoneInput is what remains of an ended permalink. Counts is in words: "9
// snapshots of 2 processes, verdict leaking, 4 findings".
type GoneInput struct {
	Title, Counts string
	Made, Ended   time.Time
	Withdrawn     bool
	// Ask is whom to ask, empty for whoever wrote the ticket.
	Ask string
}

// NewGone makes the page of an ended permalink; the caller adds the engine line.
func NewGone(in GoneInput) Gone {
	g := Gone{Shell: Shell{Title: "This result is gone", Description: ""}}
	verb := "expired"
	if in.Withdrawn {
		verb = "was withdrawn"
	}
	g.Sentence = "This result " + verb + " on " + wording.Day(in.Ended) + "."
	if in.Title != "" {
		g.Showed = "“" + wording.Clause(Visible(in.Title)) + "”: "
	}
	g.Showed += wording.Clause(Visible(in.Counts)) + ". Made on " + wording.Day(in.Made) + "."
	over, withdrew, deleted := "Its time was over: 90 days unless its owner chose another.", "Its owner withdrew it.", "The case it was made of was deleted together with its permalinks."
	g.Reasons = []string{over, withdrew, deleted}
	if in.Withdrawn {
		g.Reasons = []string{withdrew, deleted, over}
	}
	g.Ask = in.Ask
	if g.Ask == "" {
		g.Ask = "Ask whoever put the link into the ticket: from the bundle the result can be made again, under a new address."
	}
	return g
}

// Document is the page, in every form.
func (g Gone) Document() document.Document {
	var d document.Document
	d.Title(g.Sentence)
	d.Say("lead", g.Showed)
	reasons := document.List{Look: "reasons", Ordered: true}
	for _, r := range g.Reasons {
		reasons.Items = append(reasons.Items, document.Item{Blocks: document.Blocks{document.Words(r)}})
	}
	d.Add(
		document.NewSection("why", "Likely reasons", "", reasons),
		document.Group{Look: "box", Blocks: document.Blocks{
			document.Heading{Level: 2, Text: document.Words("Whom to ask")},
			document.Paragraph{Text: document.Words(g.Ask)},
		}},
	)
	return d
}

// Page is the page in its frame.
func (g Gone) Page() Page { return Page{Shell: g.Shell, Body: g.Document()} }

// NewNoSuchPermalink makes the page of an address that no permalink ever had.
func NewNoSuchPermalink() Gone {
	return Gone{
		Shell:    Shell{Title: "No such result"},
		Sentence: "There is no frozen result at this address.",
		Reasons: []string{
			"The address was cut: it has 32 characters after /p/.",
			"It belongs to another leakdiff server.",
			"It never was: addresses are not guessable and are never given twice.",
		},
		Ask: "Ask whoever put the link into the ticket for the whole address.",
	}
}

// visibleLines is Visible for a text of several lines.
func visibleLines(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = Visible(lines[i])
	}
	return strings.Join(lines, "\n")
}
