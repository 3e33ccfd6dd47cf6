package envelope

import "bytes"

// enclosure is the part of a ticket that the lines stand in when all parts are wanted:
// a code block, an indented one or a quotation.
type enclosure struct {
	block block
	// prose is true if the line before is neither blank nor enclosed: indentation below
	// it is no code (CommonMark 0.31, section 4.4).
	prose bool
}

// enclosed takes a line of a ticket whose code blocks are wanted.
func (s *source) enclosed(b []byte, at place) {
	e := &s.enclosure
	text, form := unquote(b)
	t := trim(text)
	if e.block.see(t) {
		s.close()
		e.prose = false
		return
	}
	if e.block.fence != "" {
		form = "code block"
	} else if code, ok := unindent(text); ok && !e.prose {
		text, form = code, FormIndented
	}
	switch {
	case len(t) == 0:
		e.prose = false
		if s.open != nil {
			s.open.blankLine()
		}
		return
	case form == "":
		s.close()
		e.prose = true
		return
	}
	if s.open != nil && s.open.Form != form {
		s.close()
	}
	if s.open == nil {
		s.begins(KindBlock, at).Form = form
	}
	e.prose = form == "quotation"
	s.open.Headers++
	s.open.mark(place{line: at.line, off: at.skip(len(b) - len(text)).text})
	s.open.write(text, true)
}

// unquote takes the signs of a quotation off a line (CommonMark 0.31, section 5.1).
//
//	"> > text" -> "text", "quotation"
func unquote(b []byte) (text []byte, form string) {
	for {
		rest, ok := bytes.CutPrefix(bytes.TrimLeft(b, " "), []byte(">"))
		if !ok {
			return b, form
		}
		b, form = bytes.TrimPrefix(rest, []byte(" ")), "quotation"
	}
}

// unindent takes the indentation of a code block off a line.
func unindent(b []byte) (text []byte, ok bool) {
	for _, indent := range []string{"    ", "\t"} {
		if text, ok = bytes.CutPrefix(b, []byte(indent)); ok {
			return text, true
		}
	}
	return b, false
}

// FormIndented is Section.Form of an indented block.
const FormIndented = "indented"
