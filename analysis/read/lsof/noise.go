package lsof

import (
	"strings"

	"leakdiff/analysis/read/line"
)

// noise files a line of a table that is no row. An unexplained line is a problem only
// among rows.
func (t *tableReader) noise(l line.Line, text string) {
	if isLsfdHeader(text) {
		t.lsfdTable(l)
		return
	}
	kind := noiseKind(text)
	switch kind {
	case "command line":
		if t.Command == "" {
			t.Command = text[:min(len(text), maxExample)]
		}
	case "pid":
		if t.Form == "" {
			t.Form = formPIDs
		}
	case "other":
		if !l.Ended && t.open {
			t.skip(l, kind)
			t.cut(l)
			return
		}
	}
	t.refuse(l, kind, "has no descriptor below FD")
}

// The kinds of lsof's own messages, and a file set without a process.
const (
	noiseOrphan  = "file without a process"
	noiseWarning = "warning"
	noiseAvoided = "call avoided"
	noiseMessage = "message of lsof"
)

// noiseKind names the kind of a line that is no row.
//
//	"lsof: WARNING: can't stat() tmpfs file system /x"    "warning"
//	"Output information may be incomplete."               "warning, second line"
//	"$ sudo lsof -p 1"                                    "command line"
//	"Sat Nov 21 03:00:00 UTC 2026"                        "date"
func noiseKind(text string) string {
	message, isMessage := strings.CutPrefix(text, "lsof: ")
	switch {
	case isMessage && strings.HasPrefix(message, "WARNING"):
		return noiseWarning
	case isMessage && strings.HasPrefix(message, "avoiding "):
		return noiseAvoided
	case isMessage && strings.HasPrefix(message, "no pwd entry"):
		return "user without a name"
	case isMessage:
		return noiseMessage
	case strings.HasPrefix(text, "Output information may be incomplete"):
		return "warning, second line"
	case strings.HasPrefix(text, "Password:"), strings.HasPrefix(text, "[sudo] password"):
		return "password prompt"
	case line.IsCommand(text):
		return "command line"
	case line.IsDate(text): // in a frame too
		return "date"
	case isHeading(text), line.IsFence(text):
		return "heading"
	case isPlainNumber(text):
		return "pid"
	case strings.HasPrefix(text, "```"), strings.HasPrefix(text, "~~~"), strings.HasPrefix(text, "{code"), strings.HasPrefix(text, "{noformat"):
		return "code fence"
	case strings.Trim(text, ".…") == "":
		return "ellipsis"
	}
	return "other"
}

// isHeading reports a line that a loop prints above the output of each command.
func isHeading(text string) bool {
	c, ok := line.ReadCommand(text)
	return ok && c.Heading || line.IsHeading(text)
}
