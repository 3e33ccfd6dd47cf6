package detect

import (
	"bytes"
	"slices"

	"leakdiff/analysis/read/envelope"
	"leakdiff/analysis/read/line"
)

// outputs are the kinds of what commands print about the descriptors of a process.
var outputs = []Kind{FDListing, FDInfoGrep, LsofTable, LsofFields, LsofJSON, Lsfd, SocketTable, InotifyTable}

// commands finds listings below commands or headings that say of which process they are.
func (v *view) commands() (Result, bool) {
	names := func(text string) bool {
		c, ok := line.ReadCommand(text)
		return ok && c.Owner != line.Owner{}
	}
	if v.Below || !slices.ContainsFunc(v.lines, names) {
		return no()
	}
	sections, _, _, _ := envelope.Unwrap(bytes.NewReader(v.text), envelope.Config{Commands: true})
	for i := range sections {
		text, err := content(&sections[i])
		if err != nil {
			return no()
		}
		if r := Sniff(Head{Bytes: text, Whole: true, Size: int64(len(text)), Block: true, Below: true}); slices.Contains(outputs, r.Kind) {
			r.Kind, r.Reason = CommandOutput, "below a command or heading: "+r.Reason
			return r, true
		}
	}
	return no()
}
