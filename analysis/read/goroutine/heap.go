package goroutine

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"leakdiff/analysis"
)

// Heap is what a heap profile says, with how much of it was understood.
type Heap struct {
	analysis.Heap
	// Records counts the records, Refused those that were seen and not understood.
	Records, Refused int
	// Truncated is true if the text stops before its end.
	Truncated bool
	// Time and Executable are known from a proto only.
	Time       time.Time
	Executable string
}

const (
	// mostHeapStacks bounds the stacks that are kept of a profile: those with most memory.
	// mostHeapFrames bounds the frames of each, from the one that allocates.
	mostHeapStacks = 100
	mostHeapFrames = 32
)

// heapSums adds up the memory of each stack.
type heapSums struct {
	stacks *stackTable
	rows   map[*analysis.Stack]*analysis.HeapRow
}

func newHeapSums(cfg Config) heapSums {
	return heapSums{stacks: newStackTable(cfg), rows: map[*analysis.Stack]*analysis.HeapRow{}}
}

// add counts what a record has in use, below 0 as 0. One that is freed whole is no row.
func (s *heapSums) add(key []byte, objects, size int64) {
	if objects <= 0 && size <= 0 {
		return
	}
	stack := s.stacks.get(key).stack
	row := s.rows[stack]
	if row == nil {
		row = &analysis.HeapRow{Frames: stack.Frames, Elided: stack.Elided}
		s.rows[stack] = row
	}
	row.Objects, row.Bytes = addWaits(row.Objects, max(0, objects)), addWaits(row.Bytes, max(0, size))
}

// fill sums up all rows for h, and gives it those with most memory.
func (s *heapSums) fill(h *Heap) {
	all := make([]analysis.HeapRow, 0, len(s.rows))
	for _, row := range s.rows {
		all = append(all, *row)
		h.Bytes, h.Objects = addWaits(h.Bytes, row.Bytes), addWaits(h.Objects, row.Objects)
	}
	slices.SortFunc(all, func(a, b analysis.HeapRow) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(b.Objects, a.Objects), compareFrames(a.Frames, b.Frames))
	})
	h.By, h.Rows = analysis.HeapByStack, slices.Clone(all[:min(len(all), mostHeapStacks)])
	h.More = len(all) - len(h.Rows)
	for i := range h.Rows {
		r := &h.Rows[i]
		kept := min(len(r.Frames), mostHeapFrames)
		r.Frames, r.Elided = slices.Clone(r.Frames[:kept]), max(0, r.Elided)+len(r.Frames)-kept
	}
	h.LowerBound = h.Refused > 0 || h.Truncated
}

// told reports stacks that are not told apart.
func (s *heapSums) told(to *problems) {
	if s.stacks.others == 0 {
		return
	}
	to.always(analysis.Problem{
		Offset: -1, Severity: analysis.Warning,
		What: fmt.Sprintf("the stacks of %d records of the heap profile are not told apart", s.stacks.others),
		Why:  "there are more different stacks than are kept",
		Hint: "nothing: their memory counts, as that of one stack",
	})
}

// ParseHeapProto reads the protobuf form of a heap or allocs profile, compressed by gzip or not:
// what is in use. The runtime has scaled its samples up to all. Errors are as in ParseProto; a
// profile that counts allocations alone is "other_profile".
func ParseHeapProto(r io.Reader, cfg Config) (Heap, []analysis.Problem, error) {
	cfg = cfg.withDefaults()
	data, err := unpack(r, cfg.MaxProtoBytes)
	if err != nil {
		return Heap{}, nil, err
	}
	decoded, err := decode(data, cfg.MaxProtoBytes)
	if err != nil {
		return Heap{}, nil, err
	}
	objects, size := valueOf(decoded, "inuse_objects", "count"), valueOf(decoded, "inuse_space", "bytes")
	if size < 0 {
		return Heap{}, nil, noHeap("it counts no bytes in use (inuse_space)")
	}
	if decoded.DurationNanos > 0 {
		return Heap{}, nil, &analysis.Fault{
			Code: "other_profile",
			What: "the heap profile is a difference over " + time.Duration(decoded.DurationNanos).Round(time.Second).String(),
			Why:  "how much memory is in use is not in it",
			Hint: "fetch /debug/pprof/heap twice, some minutes apart and without seconds=, and upload both",
		}
	}
	p := &protoParser{problems: problems{path: cfg.Path, max: cfg.MaxProblems}}
	sums := newHeapSums(cfg)
	var h Heap
	if decoded.TimeNanos > 0 {
		h.Time = time.Unix(0, decoded.TimeNanos).UTC()
	}
	if len(decoded.Mapping) > 0 {
		h.Executable = decoded.Mapping[0].File
	}
	for i, sample := range decoded.Sample {
		n := int64(0)
		if objects >= 0 {
			n = sample.Value[objects]
		}
		if n < 0 || sample.Value[size] < 0 {
			p.negative(i)
		}
		h.Records++
		sums.add(p.keyOf(sample), n, sample.Value[size])
	}
	sums.fill(&h)
	sums.told(&p.problems)
	return h, p.problems.all(), nil
}

func noHeap(why string) error {
	return &analysis.Fault{
		Code: "other_profile",
		What: "the file is no heap profile that says what is in use",
		Why:  why,
		Hint: "fetch /debug/pprof/heap",
	}
}

// ParseHeapText reads the text of a heap or allocs profile (debug=1, runtime/pprof.writeHeapInternal),
// whose samples it scales up to all as pprof does. Of several in a file the last one counts. The
// error is that of r, or an *analysis.Fault with the code "other_profile" for a text without any.
func ParseHeapText(r io.Reader, cfg Config) (Heap, []analysis.Problem, error) {
	cfg = cfg.withDefaults()
	p := &heapParser{cfg: cfg, lines: newLineReader(r), problems: problems{path: cfg.Path, max: cfg.MaxProblems}}
	defer p.lines.close()
	for {
		text, ok := p.lines.next()
		if !ok {
			break
		}
		if p.lines.dropped > 0 {
			p.problems.add(longLine(p.lines))
		}
		p.line(bytes.TrimSpace(bytes.TrimPrefix(text, []byte(byteOrderMark))))
	}
	p.deliver()
	if err := p.lines.failed(); err != nil {
		return Heap{}, p.problems.all(), err
	}
	if p.begun == 0 {
		return Heap{}, p.problems.all(), noHeap(`no line reads "heap profile: N: BYTES [N: BYTES] @ heap/RATE"`)
	}
	p.end()
	return p.heap, p.problems.all(), nil
}

// heapParser reads the records of a debug=1 text, one line at a time.
type heapParser struct {
	cfg      Config
	lines    *lineReader
	problems problems
	heap     Heap
	sums     heapSums
	// begun counts the profiles of the file.
	begun int
	// rate is the mean number of bytes between two samples. ended is set behind the last record, where
	// the statistics of the runtime stand.
	rate  int64
	ended bool
	// declared are the bytes in use of all records by the first line, seen those of the records read.
	declared, seen int64
	refused        refusedLine

	// The record being read: what it has in use, and its frames.
	open          bool
	objects, size int64
	key           []byte
}

func (p *heapParser) line(b []byte) {
	if len(b) == 0 {
		p.deliver()
		return
	}
	if size, rate, ok := cutHeapHeader(b); ok {
		p.deliver()
		if p.begun++; p.begun == 2 {
			p.problems.add(analysis.Problem{
				Line: p.lines.num, Offset: p.lines.off, Severity: analysis.Warning,
				What: "the file holds several heap profiles; the last one is read",
				Why:  "such a profile states no time that would tell them apart",
				Hint: "put each into a file of its own",
			})
		}
		p.heap, p.sums, p.ended, p.seen = Heap{}, newHeapSums(p.cfg), false, 0
		p.declared, p.rate = size, rate
		return
	}
	switch {
	case p.begun == 0 || p.ended:
	case bytes.HasPrefix(b, []byte("# runtime.MemStats")):
		p.deliver()
		p.ended = true
	case b[0] == '#':
		if name, place, ok := cutFrame(bytes.TrimSpace(b[1:])); ok && p.open && len(p.key) <= maxKey {
			p.key = appendFrame(p.key, name, place)
		}
	default:
		p.deliver()
		if _, _, other := cutTotal(b); other { // a profile of another kind
			p.ended = true
			return
		}
		objects, size, ok := cutHeapRecord(b)
		if !ok {
			if p.heap.Refused == 0 {
				p.refused = p.lines.here(b)
			}
			p.heap.Refused++
			return
		}
		p.open, p.objects, p.size, p.key = true, objects, size, p.key[:0]
	}
}

// cutHeapHeader reads the first line of a profile: the bytes in use of its records, and the mean
// number of bytes between two samples. It states twice the rate, or none if all were sampled.
//
//	"heap profile: 29: 1753568 [30: 1775328] @ heap/1048576" -> 1753568, 524288
func cutHeapHeader(b []byte) (size, rate int64, ok bool) {
	rest, ok := bytes.CutPrefix(b, []byte("heap profile: "))
	if !ok {
		return 0, 0, false
	}
	record, kind, ok := bytes.Cut(rest, []byte(" @ heap"))
	if !ok {
		return 0, 0, false
	}
	if _, size, ok = cutHeapCounts(record); !ok {
		return 0, 0, false
	}
	if number, ok := bytes.CutPrefix(kind, []byte("/")); ok {
		rate, _, _ = cutNumber(number)
	}
	return size, rate / 2, true
}

// cutHeapRecord reads the first line of a record.
//
//	"2: 524288 [16: 4194304] @ 0x423605 0x5ea685" -> 2, 524288
func cutHeapRecord(b []byte) (objects, size int64, ok bool) {
	record, _, ok := bytes.Cut(b, []byte("] @"))
	if !ok {
		return 0, 0, false
	}
	return cutHeapCounts(append(slices.Clip(record), ']'))
}

// cutHeapCounts reads what is in use, before what was allocated.
//
//	"2: 524288 [16: 4194304]" -> 2, 524288
func cutHeapCounts(b []byte) (objects, size int64, ok bool) {
	var allocated [2]int64
	for i, to := range []*int64{&objects, &size, &allocated[0], &allocated[1]} {
		*to, b, ok = cutNumber(b)
		if !ok {
			return 0, 0, false
		}
		if b, ok = bytes.CutPrefix(b, []byte([]string{": ", " [", ": ", "]"}[i])); !ok {
			return 0, 0, false
		}
	}
	return max(0, objects), max(0, size), len(b) == 0
}

// deliver counts the record being read, if any.
func (p *heapParser) deliver() {
	if !p.open {
		return
	}
	p.open = false
	p.heap.Records++
	p.seen = addWaits(p.seen, p.size)
	objects, size := unsampled(p.objects, p.size, p.rate)
	p.sums.add(p.key, objects, size)
}

// unsampled scales the objects of one stack and their bytes up by the chance of an object of their
// mean size to be sampled, as pprof does (profile/legacy_profile.go, runtime/pprof/protomem.go).
func unsampled(objects, size, rate int64) (int64, int64) {
	if objects == 0 || size == 0 || rate <= 1 {
		return objects, size
	}
	scale := 1 / (1 - math.Exp(-float64(size)/float64(objects)/float64(rate)))
	return int64(min(float64(objects)*scale, 1<<62)), int64(min(float64(size)*scale, 1<<62))
}

// end completes the profile.
func (p *heapParser) end() {
	h := &p.heap
	if h.Truncated = !p.ended && p.seen != p.declared; h.Truncated {
		p.problems.always(analysis.Problem{
			Line: p.lines.num, Offset: p.lines.pos(), Severity: analysis.Warning,
			What: "the heap profile is not complete",
			Why:  fmt.Sprintf("its first line declares samples of %d bytes, and those of %d were read", p.declared, p.seen),
			Hint: "fetch the profile again; what was read of it counts",
		})
	}
	p.sums.fill(h)
	p.sums.told(&p.problems)
	if h.Refused > 0 {
		p.problems.add(analysis.Problem{
			Line: p.refused.line, Offset: p.refused.offset, Severity: analysis.Warning,
			What: fmt.Sprintf("%d of %d records of the heap profile were not understood", h.Refused, h.Refused+h.Records),
			Why:  fmt.Sprintf("the first line that begins like a record and goes on otherwise is %q", strings.TrimSpace(p.refused.text)),
			Hint: "look at the raw lines, where something may have cut in, and fetch the profile again",
		})
	}
}
