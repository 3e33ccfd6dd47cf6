package report

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"leakdiff/analysis/say/document"
	"leakdiff/analysis/say/noun"
	"leakdiff/analysis/say/wording"
)

// Ticket is the answer of a case in the 8 to 12 lines of a comment in an issue, in a fixed
// order: sentence, proof, since when and how fast, limit, cause, what to do, stack, how sure.
type Ticket struct {
	// Sentence and State begin it.
	Sentence, State string
	// Facts are a line each.
	Facts []Fact
	// Stack has at most mostTicketFrames lines.
	Stack []string
	// Sure ends it: how sure it is.
	Sure string
}

// Fact is a line of a ticket: a label, a text, and what is copied or opened from it.
type Fact struct {
	Label, Text string
	// Command is for a shell, URL for a browser.
	Command, URL string
}

const (
	mostTicketFrames = 6
	// mostTicketAlso is how many other findings a ticket names.
	mostTicketAlso = 2
	// mostFactText bounds a line in characters.
	mostFactText = 240
)

// NewTicket makes the ticket of a report from its diagnosis.
func NewTicket(r *Report) Ticket {
	d := &r.Diagnosis
	t := Ticket{Sentence: d.Sentence, State: wording.Capital(d.State + ".")}
	if d.Stated {
		t.State = ""
	}
	t.fact("Proof", d.Proof)
	since := "Since"
	if d.Since == "" {
		since = "Pace"
	}
	t.fact(since, sinceAndRate(d))
	t.fact("Limit", d.Limit)
	var f *Finding
	if d.Series != nil && *d.Series < len(r.Series) {
		f = r.Series[*d.Series].ranked(d.Finding)
	}
	if d.Cause != nil {
		t.fact("Cause", d.Cause.Word+": "+d.Cause.Reason)
	}
	chain := chainLine(d)
	t.fact("Chain", chain)
	if f != nil {
		if k := likeness(f); k != nil {
			t.Facts = append(t.Facts, Fact{Label: "Looks like", Text: short(k.Title), URL: link(k.Reference)})
		}
	}
	if f != nil && f.Versions != nil {
		t.fact("Versions", f.Versions.Text)
		if f.Versions.Fix != nil {
			t.fact("Fix", f.Versions.Fix.Text)
		}
	}
	if d.Next != nil {
		t.Facts = append(t.Facts, Fact{Label: "Do", Text: short(wording.Clause(d.Next.Text)), Command: d.Next.Command})
	}
	told := 0
	for _, also := range d.Also {
		if told == mostTicketAlso {
			break
		}
		t.fact("Also", also)
		told++
	}
	t.fact("Seen in", r.taken())
	if f != nil {
		t.Stack = ticketStack(f.Stack)
		if len(t.Stack) == 0 {
			t.fact("No stack", "a listing has none; a goroutine or thread dump beside it would show the code")
		}
	}
	t.Sure = sureness(d)
	return t
}

func (t *Ticket) fact(label, text string) {
	if text != "" {
		t.Facts = append(t.Facts, Fact{Label: label, Text: strings.TrimSuffix(short(text), ".")})
	}
}

func (s *Series) ranked(rank int) *Finding {
	for i := range s.Findings {
		if s.Findings[i].Rank == rank {
			return &s.Findings[i]
		}
	}
	return nil
}

// chainLine is the chain where it leads from one process to another, which no other line tells.
func chainLine(d *Diagnosis) string {
	cells := make([]string, len(d.Chain))
	several := false
	for i, c := range d.Chain {
		cells[i] = c.Figure + " " + c.Noun
		if c.Process != "" {
			cells[i], several = cells[i]+" in "+c.Process, true
		}
		if c.Text != "" {
			cells[i] += " (" + c.Text + ")"
		}
	}
	if !several {
		return ""
	}
	return strings.Join(cells, "; ")
}

// sinceAndRate joins since when, how fast and until when.
func sinceAndRate(d *Diagnosis) string {
	var parts []string
	for _, p := range []string{d.Since, d.Rate} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	if d.Until != "" {
		parts = append(parts, "ended by "+d.Until)
	}
	return strings.Join(parts, "; ")
}

// likeness is the first known leak that growth speaks for, or nil.
func likeness(f *Finding) *KnownLeak {
	for i := range f.Known {
		if k := &f.Known[i]; !k.RuledOut && k.Basis == "growth" {
			return k
		}
	}
	return nil
}

// link is an address that trackers link, "" for any other.
func link(address string) string {
	if !strings.HasPrefix(address, "https://") || strings.ContainsAny(address, " \t\r\n<>()[]{}|\"'`\\") || wording.Printable(address) != address {
		return ""
	}
	return address
}

// taken says how many dumps of which processes there are, and from when to when.
func (r *Report) taken() string {
	var names []string
	for i, name := range processNames(len(r.Series), func(i int) *Series { return &r.Series[i] }) {
		if r.Series[i].Process != "" {
			names = append(names, name)
		}
	}
	text := wording.Plural(len(r.Snapshots), "dump", "dumps")
	switch {
	case len(names) > 2:
		text += fmt.Sprintf(" of %d processes", len(names))
	case len(names) > 0:
		text += " of " + wording.Ands(names)
	}
	var first, last string
	for i := range r.Snapshots {
		at := r.Snapshots[i].CapturedAt
		if at == nil {
			continue
		}
		when := wording.Time(*at)
		if first == "" || when < first {
			first = when
		}
		last = max(last, when)
	}
	switch {
	case first == "":
	case first == last:
		text += ", " + first + " UTC"
	default:
		day, _, _ := strings.Cut(first, " ")
		text += ", " + first + " to " + strings.TrimPrefix(last, day+" ") + " UTC"
	}
	return text
}

// sureness is how sure the growth and the cause are.
func sureness(d *Diagnosis) string {
	var parts []string
	if d.Growth != nil {
		parts = append(parts, "growing "+d.Growth.Word+" ("+d.Growth.Reason+")")
	}
	if d.Cause != nil {
		parts = append(parts, "cause "+d.Cause.Word)
	}
	if len(parts) == 0 {
		return ""
	}
	return wording.Capital(strings.Join(parts, ", ")) + "."
}

// short bounds a line, at a space.
func short(text string) string {
	if utf8.RuneCountInString(text) <= mostFactText {
		return text
	}
	text = string([]rune(text)[:mostFactText-1])
	if at := strings.LastIndexByte(text, ' '); at > 0 {
		text = text[:at]
	}
	return text + "…"
}

// StackLines is a stack in the few lines of a ticket.
func StackLines(frames []StackFrame) []string { return ticketStack(frames) }

// ticketStack is the stack in a few lines: own code, the function where they wait and what
// started them before other frames, in the order of the dump, with a mark for each gap.
func ticketStack(frames []StackFrame) []string {
	take := make([]bool, len(frames))
	taken := 0
	pick := func(want func(int) bool) {
		for i := range frames {
			if taken < mostTicketFrames && !take[i] && want(i) {
				take[i], taken = true, taken+1
			}
		}
	}
	leaf := max(0, slices.IndexFunc(frames, func(f StackFrame) bool { return !strings.Contains(f.Function, "runtime") }))
	pick(func(i int) bool { return i == leaf || frames[i].CreatedBy })
	pick(func(i int) bool { return frames[i].Own })
	pick(func(i int) bool { return noun.Builtin().Call([]string{frames[i].Function}) != nil })
	pick(func(i int) bool { return module(frames[i].Function) })
	pick(func(i int) bool { return i > leaf })
	var names, places []string
	width, gap := 0, false
	for i, f := range frames {
		if !take[i] {
			gap = true
			continue
		}
		name := shortRole(f.Function)
		switch {
		case f.CreatedBy:
			name = "created by " + name
		case gap && len(names) > 0:
			name = "… " + name
		}
		gap = false
		names = append(names, name)
		place := ""
		if f.File != "" {
			place = path.Base(strings.ReplaceAll(f.File, `\`, "/"))
			if f.Line > 0 {
				place += fmt.Sprintf(":%d", f.Line)
			}
		}
		places = append(places, place)
		width = max(width, min(utf8.RuneCountInString(name), widestFrame))
	}
	for i, name := range names {
		pad := max(0, width-utf8.RuneCountInString(name))
		names[i] = strings.TrimRight(name+strings.Repeat(" ", pad)+"  "+places[i], " ")
	}
	return names
}

// widestFrame bounds the column of functions.
const widestFrame = 60

// module reports a function of a module, not of the standard library.
func module(function string) bool {
	first, _, more := strings.Cut(function, "/")
	return more && strings.Contains(first, ".") || strings.HasPrefix(function, "main.")
}

// Markdown writes the ticket for GitHub and GitLab. Link is the address of the case, "" for
// none.
func (t Ticket) Markdown(link string) string {
	var b strings.Builder
	b.WriteString("**" + document.MarkdownText(t.Sentence) + "**")
	if t.State != "" {
		b.WriteString(" " + document.MarkdownText(t.State))
	}
	b.WriteString("\n")
	for _, f := range t.Facts {
		b.WriteString("- " + f.Label + ": " + document.MarkdownText(f.Text))
		if f.Command != "" {
			b.WriteString(": " + document.MarkdownCode(f.Command))
		}
		if f.URL != "" {
			b.WriteString(": " + f.URL)
		}
		b.WriteString("\n")
	}
	if len(t.Stack) > 0 {
		document.MarkdownFence(&b, t.Stack)
	} else {
		b.WriteString("\n")
	}
	b.WriteString(strings.TrimSpace(document.MarkdownText(t.Sure)+" "+fullReport(link, "Full report: "+link)) + "\n")
	return strings.TrimRight(strings.ReplaceAll(b.String(), "```\n\n", "```\n"), "\n") + "\n"
}

// Jira writes the ticket in the markup of Jira.
func (t Ticket) Jira(link string) string {
	var b strings.Builder
	b.WriteString("*" + document.JiraText(t.Sentence) + "*")
	if t.State != "" {
		b.WriteString(" " + document.JiraText(t.State))
	}
	b.WriteString("\n")
	for _, f := range t.Facts {
		b.WriteString("* " + f.Label + ": " + document.JiraText(f.Text))
		if f.Command != "" {
			b.WriteString(": {{" + document.JiraText(f.Command) + "}}")
		}
		if f.URL != "" {
			b.WriteString(": [" + f.URL + "]")
		}
		b.WriteString("\n")
	}
	if len(t.Stack) > 0 {
		document.JiraFence(&b, t.Stack)
	}
	text := strings.ReplaceAll(b.String(), "{noformat}\n\n", "{noformat}\n")
	text += strings.TrimSpace(document.JiraText(t.Sure) + " " + fullReport(link, "[Full report|"+link+"]"))
	return strings.TrimRight(text, "\n") + "\n"
}

// fullReport is the last word of a ticket, empty without an address that can be linked.
func fullReport(address, text string) string {
	if !strings.HasPrefix(address, "http://") && link(address) == "" || strings.ContainsAny(address, " <>()[]|\"\n") {
		return ""
	}
	return text
}
