package ingest

import (
	"bytes"
	"slices"

	"leakdiff/analysis"
	"leakdiff/analysis/read/goroutine"
)

const (
	pollWait   = "internal/poll.runtime_pollWait"
	acceptCall = "internal/poll.(*FD).Accept"
	// deepestAccept is how many frames below pollWait the call can stand: the runtime prints
	// those that the compiler inlined.
	deepestAccept = 4
)

// listen keeps a goroutine that waits for clients to connect.
func (t *textDump) listen(g *goroutine.Goroutine) {
	frames := g.Stack.Frames
	if g.ID <= 0 || len(frames) == 0 || frames[0].Func != pollWait {
		return
	}
	below := frames[1:min(len(frames), deepestAccept+1)]
	if !slices.ContainsFunc(below, func(f analysis.Frame) bool { return f.Func == acceptCall }) {
		return
	}
	for line := range bytes.Lines(g.Body) {
		line = bytes.TrimSpace(line)
		if !bytes.HasPrefix(line, []byte(pollWait)) {
			continue
		}
		if address, ok := firstArgument(line); ok {
			t.listener = analysis.Listener{Goroutine: g.ID, Address: address}
		}
		return
	}
}
