package document

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text is a run of words, some of them marked.
type Text []Span

// Span is a piece of a text. Look says what it is; with a URL it is a link. A name is one span:
// no rule of redaction sees a secret whose parts stand apart.
type Span struct {
	Look Look
	Text string
	URL  string
	// Title is what a pointer resting on it shows.
	Title string
	// Sign is that of a change, Glyph stands in front of an outcome.
	Sign  int
	Glyph string
	// Inside are the pieces of a span that is made of some, in place of Text.
	Inside Text
	// Link is what else there is to say of the link, nil mostly.
	Link *Link
}

// Link is what a link has besides its address.
type Link struct {
	ID, Rel ID
	Look    Look
	// Label names it for assistive technology; Rel is its relation to the page.
	Label string
	// Key presses it, KeyLabel says what that does.
	Key      ID
	KeyLabel string
	// Expanded is the state of a link that opens a row: true or false, empty for others.
	Expanded string
	// Current says that it leads to what is shown, Download that its target is saved.
	Current, Download bool
}

// The looks of spans that are more than a name for a style.
const (
	Strong     Look = "strong"
	Muted      Look = "muted"
	Soft       Look = "soft"
	Figured    Look = "num"
	Literal    Look = "code"
	Keyed      Look = "kbd"
	Struck     Look = "struck"
	Wrong      Look = "wrong"
	Hidden     Look = "vh"
	Alert      Look = "alert"
	Chip       Look = "chip"
	Verdict    Look = "verdict"
	Judged     Look = "verdict strong"
	Confidence Look = "confidence"
	Function   Look = "function"
	Resource   Look = "resource"
	Mono       Look = "mono"
	Breakable  Look = "breakable"
	Change     Look = "change"
	Mark       Look = "mark"
	Glyph      Look = "glyph"
	Ellipsis   Look = "ellipsis"
	Here       Look = "here"
	Outcome    Look = "outcome"
	Unit       Look = "unit"
	Icon       Look = "icon"
	Number     Look = "no"
	OnlyA      Look = "k-del"
	OnlyB      Look = "k-add"
	Side       Look = "side"
	NewLine    Look = "line"
	// Picture leads to the chart with the name Text as a file. Title names the link.
	Picture Look = "picture"
	// Destination is where uploads go, which the server knows.
	Destination Look = "destination"
	Swatch      Look = "swatch"
	Box         Look = "box"
	// Named and Role are words for what follows them. State is one of several states with its
	// count, Word a remark among others, Whose what a verdict is about.
	Named Look = "named"
	Role  Look = "role"
	State Look = "stw"
	Word  Look = "word"
	Whose Look = "whose"
)

// Words is text without a mark.
func Words(text string) Text {
	if text == "" {
		return nil
	}
	return Text{{Text: text}}
}

// Plain is a span without a mark.
func Plain(text string) Span { return Span{Text: text} }

// Marked is a span with a look.
func Marked(look Look, text string) Span { return Span{Look: look, Text: text} }

// Made is a span that is made of others.
func Made(look Look, inside ...Span) Span { return Span{Look: look, Inside: inside} }

// LinkTo is a link, or plain words without an address.
func LinkTo(url, text string) Span { return Span{URL: url, Text: text} }

// LinkButton is a link that looks like a button.
func LinkButton(look Look, url, text string) Span {
	return Span{URL: url, Text: text, Link: &Link{Look: look}}
}

// String is the text without its marks. What stands apart on a page is set apart by commas.
func (t Text) String() string {
	if len(t) == 1 {
		return t[0].plain()
	}
	out, last := "", Look("")
	for i := range t {
		text := t[i].plain()
		if strings.Trim(text, " ") == "" {
			if !last.apart() {
				out += text
			}
			continue
		}
		out = joined(out, last, text, t[i].Look)
		last = t[i].Look
	}
	return out
}

// joined sets the words of a span behind those before it.
func joined(before string, was Look, text string, is Look) string {
	bare := strings.TrimRight(before, " ")
	switch {
	case bare == "":
		return before + text
	case was.apart() && is.apart(), is == Verdict && !strings.HasSuffix(bare, ".") && !strings.HasSuffix(bare, ":"), was == Verdict && begins(text):
		return bare + ", " + text
	case was.apart():
		return before + " " + text
	}
	return before + text
}

// begins reports a text that begins with a word.
func begins(text string) bool {
	first, _ := utf8.DecodeRuneInString(text)
	return unicode.IsLetter(first) || unicode.IsDigit(first)
}

// apart reports the look of a span that stands apart from its neighbours.
func (l Look) apart() bool {
	first, _, _ := strings.Cut(string(l), " ")
	switch Look(first) {
	case Chip, Verdict, Mark, State, Word, Whose:
		return true
	}
	return false
}

// plain is what a text form says of a span: nothing of a control.
func (s *Span) plain() string {
	if l := s.Link; s.Look.unprinted() || l != nil && (l.Expanded != "" || l.Look.unprinted()) {
		return ""
	}
	switch s.Look {
	case Confidence, Glyph, Swatch, Box, Hidden, Number, Picture, Destination, Icon, Ellipsis:
		return ""
	case NewLine:
		return "; "
	case Named, Role:
		if text := s.Text + s.Inside.String(); text != "" {
			return text + ":"
		}
	case Resource:
		if s.Title != "" {
			return s.Title // the page leaves words out, such as the mask of a watch
		}
	case Mark:
		return "triage: " + s.Text
	case Verdict, Judged:
		if s.Inside == nil {
			return strings.ReplaceAll(s.Text, "_", " ")
		}
	}
	if s.Inside != nil {
		return s.Inside.String()
	}
	return s.Text
}
