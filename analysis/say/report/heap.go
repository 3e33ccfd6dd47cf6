package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/read/family"
	"leakdiff/analysis/say/wording"
)

// Heap is what the heap of a process holds by function, class or space, at the first and the last
// capture of the last run that show it. It proves no leak and enters no verdict.
type Heap struct {
	By analysis.HeapOwner `json:"by"`
	// First is nil where one capture shows it.
	First *HeapTotal `json:"first,omitempty"`
	Last  HeapTotal  `json:"last"`
	// Grew reports that it rose by a fifth and 5 MB, and never fell by more than half of that between.
	Grew bool `json:"grew,omitempty"`
	// Level counts the last intervals, two at least, that brought next to nothing of the rise.
	Level int `json:"level_intervals,omitempty"`
	// Rows are those that grew most and then those with most bytes. More counts the others.
	Rows []HeapRow `json:"rows"`
	More int       `json:"more_rows,omitempty"`
}

// HeapTotal is what all rows of a snapshot have in use.
type HeapTotal struct {
	Snapshot string `json:"snapshot"`
	Bytes    int64  `json:"bytes"`
	// Objects is 0 where they are not counted.
	Objects    int64 `json:"objects,omitempty"`
	LowerBound bool  `json:"lower_bound,omitempty"`
}

// HeapRow is what one function allocated, or the objects of one class or space.
type HeapRow struct {
	Name string `json:"name"`
	// Place is the file and line of the function.
	Place string `json:"place,omitempty"`
	// Own is set for own code, and for classes outside the library of the JVM.
	Own bool `json:"own,omitempty"`
	// Bytes and Objects are those of the last capture, FirstBytes and FirstObjects of the first, nil
	// where it is not among the rows that were kept.
	Bytes        int64  `json:"bytes"`
	Objects      int64  `json:"objects,omitempty"`
	FirstBytes   *int64 `json:"first_bytes,omitempty"`
	FirstObjects *int64 `json:"first_objects,omitempty"`
	// Rise is by how many bytes it rose, at least.
	Rise int64 `json:"rise,omitempty"`
	// Grew reports a rise by a fifth that never fell by more than half of it between.
	Grew bool `json:"grew,omitempty"`
	// Stack is the one with most bytes, from the function that allocates.
	Stack []string `json:"stack,omitempty"`
}

const (
	// mostHeapRows bounds the rows of a report.
	mostHeapRows = 50
	// leastHeapShare is the part of the rise of a heap from which on what holds it is named.
	leastHeapShare = 0.1
	// leastObject is the least size of an object of a JVM in bytes.
	leastObject = 8
)

// heapCourse is what one row holds over the captures that show the heap. Where it is not among the
// rows that were kept, it is what it may be at most, and not known.
type heapCourse struct {
	HeapRow
	bytes, objects []int64
	known          []bool
	// most are the bytes of the stack that Stack and Place are of.
	most int64
}

// heap compares the heaps of the last run of a process, nil without any.
func (j *JudgedSeries) heap() *Heap {
	var shown []*analysis.Snapshot
	for i, s := range j.Snapshots {
		last := i >= len(j.Trend.Epochs) || j.Trend.Epochs[i] == j.Trend.Epochs[len(j.Trend.Epochs)-1]
		if s.Heap != nil && last {
			shown = append(shown, s)
		}
	}
	return j.heapOf(shown)
}

// HeapAt is what the heap of a snapshot holds, nil where it does not show it.
func (j *JudgedSeries) HeapAt(snapshot int) *Heap {
	if j.Snapshots[snapshot].Heap == nil {
		return nil
	}
	return j.heapOf(j.Snapshots[snapshot : snapshot+1])
}

// heapOf compares the heaps of snapshots that show one.
func (j *JudgedSeries) heapOf(shown []*analysis.Snapshot) *Heap {
	if len(shown) == 0 {
		return nil
	}
	end := shown[len(shown)-1]
	shown = slices.DeleteFunc(slices.Clone(shown), func(s *analysis.Snapshot) bool { return s.Heap.By != end.Heap.By })
	out := &Heap{By: end.Heap.By, Last: totalOf(end), Rows: []HeapRow{}}
	totals := make([]int64, len(shown))
	for i, s := range shown {
		totals[i] = s.Heap.Bytes
	}
	if n := len(shown); n > 1 {
		first := totalOf(shown[0])
		out.First, out.Grew = &first, rose(totals) && totals[n-1]-totals[0] >= leastMemory
		if out.Grew {
			out.Level = levelled(totals)
		}
	}
	courses := j.heapCourses(shown)
	for _, c := range courses {
		if c.finish(); c.Bytes > 0 || c.FirstBytes != nil && *c.FirstBytes > 0 {
			out.Rows = append(out.Rows, c.HeapRow)
		}
	}
	slices.SortFunc(out.Rows, func(a, b HeapRow) int {
		return cmp.Or(cmp.Compare(b.grown(), a.grown()), cmp.Compare(b.Bytes, a.Bytes), strings.Compare(a.Name, b.Name))
	})
	out.More = end.Heap.More + max(0, len(out.Rows)-mostHeapRows)
	out.Rows = out.Rows[:min(len(out.Rows), mostHeapRows)]
	return out
}

// grown is the rise of a row that grew, else 0.
func (r *HeapRow) grown() int64 {
	if !r.Grew {
		return 0
	}
	return r.Rise
}

func totalOf(s *analysis.Snapshot) HeapTotal {
	return HeapTotal{Snapshot: s.ID, Bytes: s.Heap.Bytes, Objects: s.Heap.Objects, LowerBound: s.Heap.LowerBound}
}

// rose reports a rise by a fifth that never fell by more than half of it between: what a collector
// frees from time to time is no growth.
func rose(values []int64) bool {
	first, last := values[0], values[len(values)-1]
	rise := last - first
	if rise <= 0 || float64(last) < leastMemoryShare*float64(first) {
		return false
	}
	highest := first
	for _, v := range values {
		highest = max(highest, v)
		if highest-v > rise/2 {
			return false
		}
	}
	return true
}

// A heap stands at what it grew to, as a cache does that is full, if at least leastLevel last intervals
// brought less than a quarter of what as many brought in the mean.
const leastLevel = 2

// levelled counts those intervals, 0 for fewer.
func levelled(values []int64) int {
	last := len(values) - 1
	for n := last - 1; n >= leastLevel; n-- {
		if 4*(values[last]-values[last-n])*int64(last) < (values[last]-values[0])*int64(n) {
			return n
		}
	}
	return 0
}

// heapCourses follows each row by its name over the snapshots.
func (j *JudgedSeries) heapCourses(shown []*analysis.Snapshot) map[string]*heapCourse {
	out := map[string]*heapCourse{}
	own := j.OwnCode()
	for i, s := range shown {
		h := s.Heap
		for k := range h.Rows {
			row := &h.Rows[k]
			frame, isOwn := ownerOf(own, row)
			c := out[frame.Func]
			if c == nil {
				c = &heapCourse{HeapRow: HeapRow{Name: frame.Func}, bytes: make([]int64, len(shown)), objects: make([]int64, len(shown)), known: make([]bool, len(shown))}
				out[frame.Func] = c
			}
			c.bytes[i], c.objects[i], c.known[i] = c.bytes[i]+row.Bytes, c.objects[i]+row.Objects, true
			if c.Own = c.Own || isOwn; i == len(shown)-1 && row.Bytes > c.most {
				c.most, c.Place, c.Stack = row.Bytes, StackFrame{File: frame.File, Line: frame.Line}.place(), nil
				for _, f := range row.Frames {
					c.Stack = append(c.Stack, strings.TrimSpace(f.Func+" "+StackFrame{File: f.File, Line: f.Line}.place()))
				}
			}
		}
		if len(h.Rows) == 0 || h.More == 0 && !h.LowerBound {
			continue
		}
		least := h.Rows[len(h.Rows)-1].Bytes
		for _, c := range out {
			if !c.known[i] {
				c.bytes[i], c.objects[i] = least, least/leastObject
			}
		}
	}
	// A row that a later snapshot brought may have been below those that earlier ones kept.
	for i, s := range shown[:len(shown)-1] {
		if h := s.Heap; len(h.Rows) > 0 && (h.More > 0 || h.LowerBound) {
			least := h.Rows[len(h.Rows)-1].Bytes
			for _, c := range out {
				if !c.known[i] {
					c.bytes[i], c.objects[i] = least, least/leastObject
				}
			}
		}
	}
	for i, s := range shown { // whole ones show that there was none
		for _, c := range out {
			c.known[i] = c.known[i] || s.Heap.More == 0 && !s.Heap.LowerBound
		}
	}
	return out
}

// finish takes the figures of both ends.
func (c *heapCourse) finish() {
	n := len(c.bytes)
	if c.known[n-1] {
		c.Bytes, c.Objects = c.bytes[n-1], c.objects[n-1]
	}
	if n == 1 {
		return
	}
	if c.known[0] {
		c.FirstBytes, c.FirstObjects = &c.bytes[0], &c.objects[0]
	}
	c.Rise = c.Bytes - c.bytes[0]
	c.Grew = c.known[n-1] && rose(c.bytes)
}

// ownerOf is what a row is told by: its class or space, or of a stack the first frame of own code,
// else the first outside the standard library, else the one that allocates.
func ownerOf(own *family.Own, row *analysis.HeapRow) (f analysis.Frame, isOwn bool) {
	if row.Name != "" {
		return analysis.Frame{Func: row.Name}, ownClass(row.Name)
	}
	if len(row.Frames) == 0 {
		return analysis.Frame{Func: "stacks that are not told apart"}, false
	}
	marks := own.Mark(&analysis.Stack{Frames: row.Frames})
	if at := slices.Index(marks.Frames, true); at >= 0 {
		return row.Frames[at], true
	}
	if at := slices.IndexFunc(row.Frames, func(f analysis.Frame) bool { return !family.OfStandardLibrary(f.Func) }); at >= 0 {
		return row.Frames[at], false
	}
	return row.Frames[0], false
}

// languages are libraries of languages of the JVM beside those of Java.
var languages = []string{"kotlin.", "scala.", "groovy.", "org.codehaus.groovy.", "clojure."}

// ownClass reports a class that neither the JVM nor the library of a language brings.
func ownClass(name string) bool {
	name = strings.TrimRight(name, "[]")
	switch name {
	case "boolean", "byte", "char", "double", "float", "int", "long", "short":
		return false
	}
	if strings.HasPrefix(name, "<") || strings.HasSuffix(name, "_space") {
		return false // of the JVM itself, or of Node
	}
	return !strings.Contains(name, ".") || !family.OfStandardLibrary(name) && !slices.ContainsFunc(languages, func(l string) bool { return strings.HasPrefix(name, l) })
}

// heapGrew reports a heap that rose so much that a reader must know it.
func (s *Series) heapGrew() bool { return s.Heap != nil && s.Heap.Grew }

// memoryRises words memory that rose, the fullest wording first and none without a rise: "memory grew
// from 41 to 66 MiB: 23 of the 25 MiB are held by what main.(*Cache).Put allocates (cache.go:41)". The
// last one leaves out what holds it.
func (s *Series) memoryRises() []string {
	switch {
	case s.Memory == nil && !s.heapGrew():
		return nil
	case s.Heap == nil || s.Heap.First == nil:
		return []string{s.memory()}
	case !s.heapGrew():
		return []string{s.memory() + fmt.Sprintf(", and the heap did not: %s to %s", mebibytes(s.Heap.First.Bytes), mebibytes(s.Heap.Last.Bytes)), s.memory()}
	}
	main := s.Heap.main()
	rise := whole(s.Heap.Last.Bytes) - whole(s.Heap.First.Bytes)
	text := fmt.Sprintf("the heap grew from %d to %s", whole(s.Heap.First.Bytes), mebibytes(s.Heap.Last.Bytes))
	if s.Memory != nil && main != nil && float64(main.Rise) <= s.Memory[1]-s.Memory[0] { // else a part of it was there before
		text, rise = s.memory(), whole(int64(s.Memory[1]))-whole(int64(s.Memory[0]))
	}
	if s.Heap.Level > 0 {
		text += fmt.Sprintf(", little of it in the last %d intervals", s.Heap.Level)
	}
	if main == nil {
		return []string{text}
	}
	part := fmt.Sprintf("%s: %d of the %d MiB are ", text, min(whole(main.Rise), rise), rise)
	return []string{part + s.Heap.holds(main, false), part + s.Heap.holds(main, true), text}
}

// memoryTold is what is said of memory where nothing else was captured: what rose, or what one heap
// holds, the fullest wording first. It is nil where no heap was captured.
func (s *Series) memoryTold() []string {
	if s.Heap == nil {
		return nil
	}
	if all := s.memoryRises(); len(all) > 0 {
		return all
	}
	text := s.gaugesText()
	if most := s.Heap.most(); s.Heap.First == nil && most != "" {
		return []string{text + ", " + most, text}
	}
	return []string{text}
}

// main is the row that grew most, nil where none has a tenth of the rise.
func (h *Heap) main() *HeapRow {
	if len(h.Rows) == 0 || !h.Rows[0].Grew || h.First == nil || float64(h.Rows[0].Rise) < leastHeapShare*float64(h.Last.Bytes-h.First.Bytes) {
		return nil
	}
	return &h.Rows[0]
}

// holds says what a row that grew is, and which own class grew with it. It is brief without places and
// packages.
func (h *Heap) holds(r *HeapRow, brief bool) string {
	switch h.By {
	case analysis.HeapByStack:
		return "held by what " + r.allocates(brief)
	case analysis.HeapBySpace:
		return "in " + r.Name
	}
	if r.Own {
		return r.objectsGrew(brief, ", which grew")
	}
	text := r.called(brief)
	if own := h.ownClass(); own != nil {
		text += "; " + own.objectsGrew(brief, " grew")
	}
	return text
}

// allocates is the function of a row with its place: "main.(*Cache).Put allocates (cache.go:41)".
func (r *HeapRow) allocates(brief bool) string {
	text := shortRole(r.Name) + " allocates"
	if r.Place != "" && !brief {
		text += " (" + r.Place + ")"
	}
	return text
}

// called is the class of a row, without its package if brief.
func (r *HeapRow) called(brief bool) string {
	if at := strings.LastIndexByte(strings.TrimRight(r.Name, "."), '.'); brief && at > 0 {
		return r.Name[at+1:]
	}
	return r.Name
}

// objectsGrew is "com.acme.Session grew from 1,200 to 96,000 objects".
func (r *HeapRow) objectsGrew(brief bool, grew string) string {
	from := ""
	if r.FirstObjects != nil {
		from = " from " + wording.Number(*r.FirstObjects)
	}
	return r.called(brief) + grew + from + " to " + wording.Number(r.Objects) + " objects"
}

// ownClass is the class outside the libraries whose objects grew most in bytes, nil without one.
func (h *Heap) ownClass() *HeapRow {
	for i := range h.Rows { // in the order of their growth
		if r := &h.Rows[i]; r.Own && r.Grew && (r.FirstObjects == nil || r.Objects-*r.FirstObjects >= leastRise) {
			return r
		}
	}
	return nil
}

// Unit is what a row is of: "Function", "Class", "Space".
func (h *Heap) Unit() string {
	switch h.By {
	case analysis.HeapByStack:
		return "Function"
	case analysis.HeapBySpace:
		return "Space"
	}
	return "Class"
}

// Head is the title of the table of a heap.
func (h *Heap) Head() string { return "What the heap holds" }

// Note says what the figures are.
func (h *Heap) Note() string {
	text := mebibytes(h.Last.Bytes) + " in use"
	if h.Last.LowerBound {
		text = "At least " + text
	}
	if h.First != nil {
		text += ", " + mebibytes(h.First.Bytes) + " in the first capture"
	}
	switch h.By {
	case analysis.HeapByStack:
		return text + ". A heap profile is an estimate from samples, and names who allocates, not who holds."
	case analysis.HeapByClass:
		return text + ". A class histogram counts the objects alone, without those that they refer to, and names no holder."
	}
	return text + ". A report names the spaces of the heap, not what they hold."
}

// most is the row that holds most in a case of one capture, worded: "the most of it, 26 MiB, by what
// main.(*Cache).Put allocates (cache.go:41)". It is "" where no row has a tenth.
func (h *Heap) most() string {
	if len(h.Rows) == 0 {
		return ""
	}
	r := slices.MaxFunc(h.Rows, func(a, b HeapRow) int { return cmp.Compare(a.Bytes, b.Bytes) })
	if float64(r.Bytes) < leastHeapShare*float64(h.Last.Bytes) || whole(r.Bytes) == 0 {
		return ""
	}
	switch h.By {
	case analysis.HeapByStack:
		return "the most of it, " + mebibytes(r.Bytes) + ", by what " + r.allocates(false)
	case analysis.HeapBySpace:
		return "the most of it, " + mebibytes(r.Bytes) + ", in " + r.Name
	}
	return "the most of it, " + mebibytes(r.Bytes) + ", " + r.Name
}

// whole is a size in whole MiB.
func whole(n int64) int64 { return int64(math.Round(float64(n) / mebibyte)) }

func mebibytes(n int64) string { return wording.Number(whole(n)) + " MiB" }

// HeapWords is a size of a row: "12.3 MiB", "less than 0.1 MiB".
func HeapWords(n int64) string {
	if n > 0 && n < mebibyte/20 {
		return "less than 0.1 MiB"
	}
	return wording.Decimal(math.Round(float64(n)/mebibyte*10)/10) + " MiB"
}

// leastExternal is the rise in MiB from which memory outside of the heap of Node.js is told.
const leastExternal = 16

// afterMemory is what to do about memory that rose.
func (s *Series) afterMemory() string {
	h := s.Heap
	before, external := s.courseOfGauge(analysis.ExternalBytes)
	switch {
	case h == nil:
		return whatMemoryHolds
	case h.First == nil:
		return "Add a later capture of what the heap holds: two of them say what grew."
	case !h.Grew && external-before >= leastExternal:
		return fmt.Sprintf("Find who keeps buffers (Buffer, ArrayBuffer): what they hold outside of the heap grew from %d to %d MiB.", before, external)
	case !h.Grew && h.By == analysis.HeapBySpace:
		return "Look outside of the heap, which did not grow: at buffers (process.memoryUsage().external and arrayBuffers) and at native modules."
	case !h.Grew:
		return "Look outside of the heap, which did not grow: at buffers of native code, mapped files and stacks of threads (JVM: jcmd PID VM.native_memory)."
	}
	if h.Level > 0 {
		return "Take more captures over a longer time: a cache that is full stays where it is, and a leak goes on."
	}
	switch h.By {
	case analysis.HeapByStack:
		what := "that memory"
		if r := h.main(); r != nil {
			what = "what " + r.allocates(false)
		}
		return "Find what keeps " + what + ", and let go of it or bound it: a heap profile names who allocates, not who holds."
	case analysis.HeapByClass:
		return "See who holds these objects in a heap dump (jcmd PID GC.heap_dump FILE, which stops the process meanwhile): a class histogram names no holder."
	}
	return "See what these objects are in a heap snapshot (v8.writeHeapSnapshot, which stops the process meanwhile)."
}
