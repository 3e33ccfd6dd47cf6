package detect

import (
	"bytes"
	"io"
	"slices"

	"leakdiff/analysis/read/envelope"
)

// enclosed finds listings in the code blocks and quotations of a ticket, whose rest is
// prose. If a row stands outside of those, or all of the text is indented, it is a
// listing with other lines in it.
func (v *view) enclosed() (Result, bool) {
	if v.has("COMMAND ") || v.has("Recv-Q ") || slices.ContainsFunc(fences, v.has) && slices.ContainsFunc(v.lines, lsofRow.MatchString) {
		return v.blocks()
	}
	return no()
}

// fences are signs of a ticket in which every line is worth a look.
var fences = []string{"```", "~~~", "{noformat", "{code", "\n> "}

// blocks is enclosed for a text that is likely to hold a listing.
func (v *view) blocks() (Result, bool) {
	if v.Block {
		return no()
	}
	sections, _, _, _ := envelope.Unwrap(bytes.NewReader(v.text), envelope.Config{Blocks: true})
	var found Result
	rows, lines := 0, 0
	for i := range sections {
		text, err := content(&sections[i])
		if err != nil {
			return no()
		}
		r := Sniff(Head{Bytes: text, Whole: true, Size: int64(len(text)), Block: true})
		if n := listingRows(text); n > 0 && (r.Kind == LsofTable || r.Kind == Lsfd || r.Kind == SocketTable) {
			if rows += n; found.Kind == "" {
				found = r
			}
		}
		if sections[i].Form == envelope.FormIndented {
			lines += sections[i].Headers
		}
	}
	if found.Kind == "" || listingRows(v.text) > rows || lines == filled(v.text) {
		return no()
	}
	found.Kind, found.Reason = ListingBlocks, "in a block of a ticket: "+found.Reason
	return found, true
}

func content(s *envelope.Section) ([]byte, error) {
	body, err := s.Open()
	if err != nil {
		return nil, err
	}
	defer body.Close()
	return io.ReadAll(body)
}

// listingRows counts the lines that are rows or headers of lsof, ss or netstat, also
// behind the signs of a quotation.
func listingRows(text []byte) int {
	n := 0
	for l := range bytes.SplitSeq(text, []byte("\n")) {
		l = bytes.TrimLeft(l[:min(len(l), maxLine)], "> \t")
		if lsofRow.Match(l) || netstatRow.Match(l) || ssRow.Match(l) || lsofHeader.Match(l) || socketHeaders[0].pattern.Match(l) || socketHeaders[1].pattern.Match(l) {
			n++
		}
	}
	return n
}

// filled counts the lines that are not blank.
func filled(text []byte) int {
	n := 0
	for l := range bytes.SplitSeq(text, []byte("\n")) {
		if len(bytes.TrimSpace(l)) > 0 {
			n++
		}
	}
	return n
}
