package report

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"leakdiff/analysis/say/document"
	"leakdiff/analysis/say/wording"
)

// Ticket is the answer of a case in at most 12 lines of a comment in an issue, in a fixed
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

const (
	// mostTicketLines counts all lines, with those that fence the stack.
	mostTicketLines  = 12
	mostTicketFrames = 4
	// mostFailFrames are those of a stack on its own.
	mostFailFrames = 6
	// mostTicketAlso is how many other findings a ticket names.
	mostTicketAlso = 2
	// mostFactText bounds a line in characters.
	mostFactText = 240
)

// NewTicket makes the ticket of a report from its facts.
func NewTicket(r *Report) Ticket {
	d := &r.Diagnosis
	t := Ticket{Sentence: d.Sentence, State: wording.Capital(d.State + ".")}
	if d.Stated {
		t.State = ""
	}
	when, until, also := -1, "", 0
	for _, x := range r.Facts() {
		switch x.Name {
		case growingFact:
			t.Sure = x.Name + ": " + x.Text + "."
			continue
		case untilFact:
			until = "; ended by " + x.Text
			continue
		case sinceFact:
			when = len(t.Facts)
		case paceFact:
			if when >= 0 {
				t.Facts[when].Text += "; " + x.Text
				continue
			}
			when = len(t.Facts)
		case alsoFact:
			if also++; also > mostTicketAlso {
				continue
			}
		}
		t.add(x)
	}
	if when >= 0 {
		t.Facts[when].Text += until
	}
	t.add(Fact{Name: seenFact, Text: r.taken()})
	if f := r.lead(); f != nil {
		t.Stack = ticketStack(f.Stack, mostTicketFrames)
		if len(t.Stack) == 0 {
			t.add(Fact{Name: "No stack", Text: "a listing has none; a goroutine or thread dump beside it would show the code"})
		}
	}
	return t
}

// add adds a line.
func (t *Ticket) add(f Fact) {
	f.Text = short(wording.Clause(f.Text))
	t.Facts = append(t.Facts, f)
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

// likeness is the first known leak that growth speaks for, or nil.
func likeness(f *Finding) *KnownLeak {
	if f == nil {
		return nil
	}
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

// StackLines is a stack in a few lines, as in a ticket.
func StackLines(frames []StackFrame) []string { return ticketStack(frames, mostFailFrames) }

// ticketStack is the stack in at most so many lines, in the order of the dump, with a mark for each gap.
func ticketStack(frames []StackFrame, most int) []string {
	if len(frames) == 0 {
		return nil
	}
	var names, places []string
	width, next := 0, 0
	for _, i := range pickFrames(frames, most) {
		f := &frames[i]
		name := shortRole(f.Function)
		switch {
		case f.CreatedBy:
			name = "created by " + name
		case i > next && len(names) > 0:
			name = "… " + name
		}
		next = i + 1
		place := ""
		if f.File != "" {
			place = path.Base(strings.ReplaceAll(f.File, `\`, "/"))
			if f.Line > 0 {
				place += fmt.Sprintf(":%d", f.Line)
			}
		}
		names, places = append(names, name), append(places, place)
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

// markup is how a tracker writes the parts of a ticket: formats of one text each.
type markup struct {
	strong, item, command, url, full string
	text, code                       func(string) string
	fence                            func(*strings.Builder, []string)
}

// Markdown writes the ticket for GitHub and GitLab. Link is the address of the case, "" for
// none.
func (t Ticket) Markdown(link string) string {
	return t.written(link, markup{
		strong: "**%s**", item: "- %s: %s", command: ": %s", url: ": %s", full: "Full report: %s",
		text: document.MarkdownText, code: document.MarkdownCode, fence: document.MarkdownFence,
	})
}

// Jira writes the ticket in the markup of Jira.
func (t Ticket) Jira(link string) string {
	return t.written(link, markup{
		strong: "*%s*", item: "* %s: %s", command: ": {{%s}}", url: ": [%s]", full: "[Full report|%s]",
		text: document.JiraText, code: document.JiraText, fence: document.JiraFence,
	})
}

func (t Ticket) written(address string, m markup) string {
	var b strings.Builder
	line := func(parts ...string) { b.WriteString(strings.TrimSpace(strings.Join(parts, " ")) + "\n") }
	line(fmt.Sprintf(m.strong, m.text(t.Sentence)), m.text(t.State))
	facts, frames := t.fitted()
	for _, f := range facts {
		text := fmt.Sprintf(m.item, f.Name, m.text(f.Text))
		if f.Command != "" {
			text = strings.TrimSuffix(text, ":") + fmt.Sprintf(m.command, m.code(f.Command))
		}
		if f.URL != "" {
			text += fmt.Sprintf(m.url, f.URL)
		}
		line(text)
	}
	var stack strings.Builder
	if len(frames) > 0 {
		m.fence(&stack, frames)
	}
	b.WriteString(strings.TrimRight(stack.String(), "\n") + "\n")
	full := ""
	if linkable(address) {
		full = fmt.Sprintf(m.full, address)
	}
	line(m.text(t.Sure), full)
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// dispensable are the facts that a ticket can do without, the first first. Its page has them. Frames
// of the stack beyond the last two go after those that stand before nil.
var dispensable = []func(f Fact) bool{
	func(f Fact) bool { return f.Name == alsoFact },
	func(f Fact) bool { return f.Name == besideFact },
	func(f Fact) bool { return f.Name == chainFact },
	nil,
	func(f Fact) bool { return f.Name == limitFact && strings.HasPrefix(f.Text, "none") },
	func(f Fact) bool { return f.Name == seenFact },
	func(f Fact) bool { return f.Name == versionFact },
	isStep,
}

func isStep(f Fact) bool { return f.Name == doFact }

// fitted are the facts and the stack that leave the ticket within its lines. The first step stays,
// and of the stack what stands nearest to its start.
func (t Ticket) fitted() ([]Fact, []string) {
	facts, stack := slices.Clone(t.Facts), t.Stack
	over := func() bool { // sentence, facts, fenced stack or an empty line, last line
		return 1+len(facts)+max(1, len(stack)+2*min(len(stack), 1))+1 > mostTicketLines
	}
	for _, goes := range dispensable {
		for goes == nil && len(stack) > 2 && over() {
			stack = stack[1:]
		}
		for i := len(facts) - 1; goes != nil && i >= 0 && over(); i-- {
			if goes(facts[i]) && (!isStep(facts[i]) || slices.ContainsFunc(facts[:i], isStep)) {
				facts = slices.Delete(facts, i, i+1)
			}
		}
	}
	for len(stack) > 1 && over() {
		stack = stack[1:]
	}
	return facts, stack
}

// linkable reports an address of a case that trackers link.
func linkable(address string) bool {
	return (strings.HasPrefix(address, "http://") || link(address) != "") && !strings.ContainsAny(address, " <>()[]|\"\n")
}
