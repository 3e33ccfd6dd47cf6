package detect

import (
	"bytes"
	"slices"

	"leakdiff/analysis/read/envelope"
	"leakdiff/analysis/read/line"
)

// outputs are the kinds of what commands print about the descriptors of a process, dumps those
// of its goroutines and threads.
var (
	outputs = []Kind{FDListing, FDInfoGrep, LsofTable, LsofFields, LsofJSON, Lsfd, SocketTable, NetTable, InotifyTable, ThreadTable}
	dumps   = []Kind{GoroutineDebug2, GoroutineCrash, GoroutineDebug1, ThreadDump, ThreadJSON, Javacore, HotThreads, Wrapped}
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
	sections, _, _, _ := envelope.Unwrap(bytes.NewReader(v.text), envelope.Config{Commands: true})
	for i := range sections {
		text, err := content(&sections[i])
		if err != nil {
			return no()
		}
		if r := Sniff(Head{Bytes: text, Whole: true, Size: int64(len(text)), Block: true, Below: true}); slices.Contains(kinds, r.Kind) {
			r.Kind, r.Reason = CommandOutput, "below a command or heading: "+r.Reason
			return r, true
		}
	}
	return no()
}
