package view

import (
	"bytes"
	"net/url"
	"strconv"
	"strings"

	"leakdiff/analysis/say/wording"
)

// MaxExcerpt is the number of bytes of an artifact one page shows.
const MaxExcerpt = 64 << 10

// Raw is an excerpt of an artifact, exactly as it was uploaded but for what
// cannot be printed.
type Raw struct {
	Shell Shell
	Path  string
	// Sentence says which part it is: "Lines 1 121 to 1 139, bytes 90 112 to 91 400 of 127 441".
	Sentence string
	// Label is what the numbers at the edge count: "Line" or "Byte".
	Label string
	Lines []RawLine
	// Cut says why the excerpt ends where it does, empty at the end of the data.
	Cut string
	// Before and After are the neighbouring excerpts, empty at the ends.
	Before, After string
	// Download is the address of the whole artifact.
	Download string
}

// RawLine is one line of an excerpt; Marked ones were asked for.
type RawLine struct {
	Number string
	ID     string
	Text   string
	Marked bool
}

// RawInput is an excerpt as it was read. Offset is where Excerpt begins in the
// artifact of Size bytes, FirstLine the number of its first line, 0 where that
// is not known. MarkOffset and MarkLength are in bytes of the artifact.
type RawInput struct {
	Bundle, BundleName, Path string
	Excerpt                  []byte
	Offset, FirstLine, Size  int64
	MarkOffset, MarkLength   int64
	Download                 string
}

// NewRaw cuts the excerpt into lines; the caller adds the shell's engine line.
// More than MaxExcerpt bytes are cut off.
func NewRaw(in RawInput) Raw {
	text := in.Excerpt[:min(len(in.Excerpt), MaxExcerpt)]
	r := Raw{Path: Visible(in.Path), Download: in.Download, Label: "Line"}
	if in.FirstLine <= 0 {
		r.Label = "Byte"
	}
	r.Lines = rawLines(in, text)
	end := in.Offset + int64(len(text))
	r.Sentence = excerptSentence(in, len(r.Lines), end)
	if end < in.Size {
		r.Cut = "The excerpt ends here; the file goes on for " + wording.Bytes(in.Size-end) + "."
		r.After = RawURL(in.Bundle, in.Path, end, MaxExcerpt)
	}
	if in.Offset > 0 {
		from := max(0, in.Offset-MaxExcerpt)
		r.Before = RawURL(in.Bundle, in.Path, from, in.Offset-from)
	}
	r.Shell = Shell{
		Title: "Lines of " + r.Path, Section: "cases",
		Crumbs: []Link{{"Cases", "/"}, {in.BundleName, "/bundles/" + url.PathEscape(in.Bundle)}},
		Here:   in.Path[strings.LastIndexByte(strings.TrimSuffix(in.Path, "/"), '/')+1:],
	}
	return r
}

// RawURL is the address of an excerpt page.
func RawURL(bundle, path string, offset, length int64) string {
	return "/raw/" + url.PathEscape(bundle) + "?path=" + query(path) +
		"&offset=" + strconv.FormatInt(offset, 10) + "&length=" + strconv.FormatInt(length, 10)
}

func rawLines(in RawInput, text []byte) []RawLine {
	var lines []RawLine
	at := in.Offset
	for len(text) > 0 {
		line, rest, _ := bytes.Cut(text, []byte("\n"))
		length := int64(len(text) - len(rest))
		n := at
		if in.FirstLine > 0 {
			n = in.FirstLine + int64(len(lines))
		}
		lines = append(lines, RawLine{
			Number: wording.Exact(n), ID: "L" + strconv.FormatInt(n, 10),
			Text:   Visible(string(bytes.TrimSuffix(line, []byte("\r")))),
			Marked: in.MarkLength > 0 && at < in.MarkOffset+in.MarkLength && at+length > in.MarkOffset,
		})
		at += length
		text = rest
	}
	return lines
}

func excerptSentence(in RawInput, lines int, end int64) string {
	if lines == 0 {
		return "There are no bytes here: the file has " + wording.Exact(in.Size) + "."
	}
	text := "Bytes " + wording.Exact(in.Offset) + " to " + wording.Exact(end) + " of " + wording.Exact(in.Size)
	if in.FirstLine > 0 {
		text = "Lines " + wording.Exact(in.FirstLine) + " to " + wording.Exact(in.FirstLine+int64(lines)-1) + ", bytes " + wording.Exact(in.Offset) + " to " + wording.Exact(end) + " of " + wording.Exact(in.Size)
	}
	return text
}
