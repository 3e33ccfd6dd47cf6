package detect

import (
	"bytes"
	"slices"
	"strings"

	"leakdiff/analysis/read/envelope"
	"leakdiff/analysis/read/line"
)

// outputs are the kinds of what commands print about the descriptors of a process, dumps those
// of its goroutines and threads.
var (
	outputs = []Kind{FDListing, FDInfoGrep, LsofTable, LsofFields, LsofJSON, Lsfd, SocketTable, NetTable, InotifyTable, ThreadTable}
	dumps   = []Kind{GoroutineDebug2, GoroutineCrash, GoroutineDebug1, ThreadDump, ThreadJSON, Javacore, HotThreads, ClassHistogram, Wrapped}
)

// commands finds listings below commands or headings that say of which process they are.
func (v *view) commands() (Result, bool) { return v.below(v.lines, outputs) }

// dumpCommands finds dumps below them: most dumps have none, and one that has begins with it.
func (v *view) dumpCommands() (Result, bool) { return v.below(v.lines[:min(len(v.lines), 20)], dumps) }

func (v *view) below(lines []string, kinds []Kind) (Result, bool) {
	names := func(text string) bool {
		c, ok := line.ReadCommand(text)
		return ok && c.Owner != line.Owner{}
	}
	if v.Below || !slices.ContainsFunc(lines, names) {
		return no()
	}
	r, ok := v.section(envelope.Config{Commands: true}, kinds)
	r.Kind, r.Reason = CommandOutput, "below a command or heading: "+r.Reason
	return r, ok
}

// section finds the first part of a text that is of one of some kinds.
func (v *view) section(cfg envelope.Config, kinds []Kind) (Result, bool) {
	sections, _, _, _ := envelope.Unwrap(bytes.NewReader(v.text), cfg)
	for i := range sections {
		text, err := content(&sections[i])
		if err != nil {
			return no()
		}
		if r := Sniff(Head{Bytes: text, Whole: true, Size: int64(len(text)), Block: true, Below: cfg.Commands}); slices.Contains(kinds, r.Kind) {
			return r, true
		}
	}
	return no()
}

// quoted finds listings, and lists of threads without a header, behind the signs of a quotation, as
// in a mail.
func (v *view) quoted() (Result, bool) {
	if v.Block || !slices.ContainsFunc(v.lines, func(l string) bool { return strings.HasPrefix(l, ">") }) {
		return no()
	}
	r, ok := v.section(envelope.Config{Blocks: true}, append([]Kind{CommandOutput, ThreadDump}, outputs...))
	r.Kind, r.Reason = ListingBlocks, "in a quotation: "+r.Reason
	return r, ok
}
