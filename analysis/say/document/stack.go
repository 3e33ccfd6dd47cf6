package document

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Stack is a stack with the innermost frame on top. Note is a remark below it.
type Stack struct {
	Caption string
	Frames  []Frame
	Note    string
	// ID is that of the text that a button copies, empty without a button.
	ID ID
	// Whole says that texts print folded frames too: nothing else of the page has them.
	Whole bool
}

// Frame is a frame, or several behind the words Fold. URL leads to the source line on a public
// host.
type Frame struct {
	Function, Place, URL string
	Own, Creator         bool
	Fold                 string
	Folded               []Frame
}

// stackWidth is how wide the lines of a stack are in texts, OwnMark precedes own code there.
const (
	stackWidth = 120
	OwnMark    = ">"
)

// Called is the function of a frame as texts print it.
func (f *Frame) Called() string {
	if f.Creator {
		return "created by " + f.Function
	}
	return f.Function + f.Fold
}

// Source is the file with its line, and a link where its source is public.
func (f *Frame) Source() Span {
	if f.URL == "" {
		return Plain(f.Place)
	}
	return Span{Text: f.Place, URL: f.URL, Link: &Link{Look: "quiet", Rel: "noreferrer noopener"}}
}

// Unfolded are all frames one by one.
func Unfolded(frames []Frame) []Frame {
	var out []Frame
	for i := range frames {
		if f := &frames[i]; f.Folded != nil {
			out = append(out, Unfolded(f.Folded)...)
		} else {
			out = append(out, *f)
		}
	}
	return out
}

// HasOwn reports that a frame is own code.
func (s *Stack) HasOwn() bool {
	for _, f := range Unfolded(s.Frames) {
		if f.Own {
			return true
		}
	}
	return false
}

// Head is the caption of texts, with the meaning of their mark.
func (s *Stack) Head() string {
	switch {
	case s.Caption == "":
		return ""
	case s.HasOwn():
		return s.Caption + " (" + OwnMark + " own code):"
	}
	return s.Caption + ":"
}

// Copied is the stack in lines as a button copies it.
func (s *Stack) Copied() string {
	var lines []string
	for _, f := range Unfolded(s.Frames) {
		lines = append(lines, strings.TrimSpace(f.Called()+"  "+f.Place))
	}
	return strings.Join(lines, "\n")
}

func (s *Stack) pieces() []piece {
	frames := s.Frames
	if s.Whole {
		frames = Unfolded(frames)
	}
	return slices.Concat(paragraph(s.Head()), []piece{{part: codePart, lines: StackLines(frames, stackWidth)}}, paragraph(s.Note))
}

// StackLines writes frames as text: the mark, the function, and the place in a column if the
// width allows it. A place that does not fit is on a line of its own.
func StackLines(frames []Frame, width int) []string {
	const edge = 2
	heads, column := make([]string, len(frames)), 0
	for i := range frames {
		heads[i] = frames[i].Called()
		if n := utf8.RuneCountInString(heads[i]); edge+n+2+utf8.RuneCountInString(frames[i].Place) <= width {
			column = max(column, n)
		}
	}
	var out []string
	for i := range frames {
		f, mark := &frames[i], "  "
		if f.Own {
			mark = OwnMark + " "
		}
		gap := max(column-utf8.RuneCountInString(heads[i]), 0) + 2
		switch place := utf8.RuneCountInString(f.Place); {
		case place == 0:
			out = append(out, mark+heads[i])
		case edge+utf8.RuneCountInString(heads[i])+gap+place <= width:
			out = append(out, mark+heads[i]+strings.Repeat(" ", gap)+f.Place)
		case edge+utf8.RuneCountInString(heads[i])+2+place <= width:
			out = append(out, mark+heads[i]+"  "+f.Place)
		default:
			out = append(out, mark+heads[i], "      "+f.Place)
		}
	}
	return out
}
