package ingest

import (
	"fmt"
	"io"
	"slices"

	"leakdiff/analysis"
	"leakdiff/analysis/read/detect"
	"leakdiff/analysis/read/envelope"
	"leakdiff/analysis/read/goroutine"
	"leakdiff/analysis/read/histogram"
	"leakdiff/analysis/say/wording"
)

// readHeap reads a heap or allocs profile of Go.
func readHeap(parse func(io.Reader, goroutine.Config) (goroutine.Heap, []analysis.Problem, error)) formatReader {
	return func(r *reader, body io.Reader, p *part, a *analysis.Artifact) error {
		h, problems, err := parse(body, goroutine.Config{Path: p.path, Stacks: &r.dumped})
		r.problem(problems...)
		if err != nil {
			return err
		}
		p.inner, p.name, p.heap = h.Time, programName(h.Executable), &h.Heap
		a.Rows, a.Truncated = h.Records, h.Truncated
		a.Outcome = atLeast(heapWords(&h.Heap, "stack", "stacks"), h.Truncated, h.Refused)
		return nil
	}
}

// heapWords sums up a heap: "31 MB in use in 12 stacks".
func heapWords(h *analysis.Heap, one, many string) string {
	return wording.Bytes(h.Bytes) + " in use in " + wording.Plural(len(h.Rows)+h.More, one, many)
}

// readHistograms reads the class histograms of a text: a part for each.
func readHistograms(r *reader, body io.Reader, p *part, a *analysis.Artifact) error {
	dates := envelope.NewDates(r.written(p))
	found, problems, err := histogram.Parse(io.TeeReader(body, dates), p.path)
	r.problem(problems...)
	if err != nil {
		return err
	}
	begins := make([]int64, len(found))
	for i := range found {
		begins[i] = found[i].Begins
	}
	times := dates.Of(begins)
	for i := range found {
		h := &found[i]
		q := p
		if len(found) > 1 {
			q = p.another(i)
			q.section, q.outcome = true, heapWords(&h.Heap, "class", "classes")
			r.parts = append(r.parts, q)
		}
		q.heap = &h.Heap
		if h.PID > 0 {
			q.pid = h.PID
		}
		q.dated(times[i])
		a.Rows += len(h.Rows) + h.More
		a.Outcome = heapWords(&h.Heap, "class", "classes")
	}
	if n := len(found); n > 1 {
		a.Outcome = wording.Plural(n, "class histogram", "class histograms")
	}
	if last := &found[len(found)-1]; !last.Total {
		r.problem(analysis.Problem{Path: p.path, Offset: -1, Severity: analysis.Note,
			What: fmt.Sprintf("the class histogram has %s and no total", wording.Plural(len(last.Rows)+last.More, "class", "classes")),
			Why:  "its last line, which sums up all classes, is missing: what the heap holds is at least what the rows say",
			Hint: "keep the whole output of jcmd PID GC.class_histogram"})
	}
	return nil
}

// spaces is the heap of a report of Node.js by its spaces, nil where it names none.
func spaces(p *part) *analysis.Heap {
	if p.node == nil || len(p.node.report.HeapSpaces) == 0 {
		return nil
	}
	h := &analysis.Heap{By: analysis.HeapBySpace, Bytes: p.node.report.HeapUsed, LowerBound: p.node.report.Truncated}
	for _, s := range p.node.report.HeapSpaces {
		h.Rows = append(h.Rows, analysis.HeapRow{Name: s.Name, Bytes: s.Used})
	}
	slices.SortStableFunc(h.Rows, func(a, b analysis.HeapRow) int { return int(min(max(b.Bytes-a.Bytes, -1), 1)) })
	return h
}

// heap keeps what the heap holds: of several the first that is whole.
func (b *builder) heap() {
	for _, p := range append(append([]*part{}, b.g.parts...), b.g.context...) {
		h := p.heap
		if h == nil {
			h = spaces(p)
		}
		if h != nil && (b.s.Heap == nil || b.s.Heap.LowerBound && !h.LowerBound) {
			b.s.Heap = h
		}
	}
	if b.s.Heap != nil {
		b.figure(analysis.HeapBytes, float64(b.s.Heap.Bytes))
	}
}

// loneHeap reports that the heaps of a directory are of one moment and lie beside other evidence,
// which they describe. Heaps of several moments are captures of their own, which names or processes
// may join to others.
func loneHeap(parts []*part) bool {
	var first *part
	other := false
	for _, p := range parts {
		switch {
		case p.heap == nil:
			other = other || p.evidence() && p.form != detect.Counts
		case first == nil:
			first = p
		case p.token() != first.token() || p.ordinal != first.ordinal || apart(p.inner, first.inner):
			return false
		}
	}
	return first != nil && other
}

// lists reports a group with evidence beside what its heap holds.
func (g *group) lists() bool {
	return slices.ContainsFunc(g.parts, func(p *part) bool { return p.heap == nil })
}
