package ingest

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/read/goroutine"
)

// Bounds of the arguments that are kept to show who was given a lock: members of one stack,
// frames of one goroutine, and all of a dump.
const (
	passedMembers   = 64
	passedFrames    = 24
	mostPassed      = 50_000
	mostBelowLock   = 4096
	passedPerFamily = 256
)

// passed is an address among the arguments of a goroutine's frame.
type passed struct {
	place   namingPlace
	address uint64
	id      int64
}

// notePassed keeps the addresses among all arguments of a goroutine outside sync and the
// runtime.
func (t *textDump) notePassed(c *goroutines, g *goroutine.Goroutine) {
	if c.passed >= passedMembers || len(t.passed) >= mostPassed {
		return
	}
	c.passed++
	frame := 0
	for line := range bytes.Lines(g.Body) {
		line = bytes.TrimSpace(line)
		if frame == min(passedFrames, len(g.Stack.Frames)) || bytes.HasPrefix(line, []byte("created by ")) {
			return
		}
		if !bytes.HasSuffix(line, []byte(")")) {
			continue
		}
		if name := g.Stack.Frames[frame].Func; !strings.HasPrefix(name, "sync.") && !strings.HasPrefix(name, "internal/") && !strings.HasPrefix(name, "runtime") {
			for _, address := range addresses(line) {
				t.passed = append(t.passed, passed{namingPlace{c.index, int32(frame)}, address, g.ID})
			}
		}
		frame++
	}
}

// addresses are the arguments of a call that may be pointers, without those that may be stale.
//
//	"main.move(0xc000012345, 0xc000012350?, 0x1)" = 0xc000012345
func addresses(line []byte) (out []uint64) {
	at := bytes.LastIndexByte(line, '(')
	for field := range bytes.SplitAfterSeq(line[at+1:], []byte(",")) {
		if digits, hex := bytes.CutPrefix(bytes.TrimLeft(field, " {"), []byte("0x")); hex {
			if address, ok := pointer(digits); ok {
				out = append(out, address)
			}
		}
	}
	return out
}

// addPassed adds the noted arguments that may be objects with a lock that somebody waits for.
func (b *builder) addPassed(t *textDump, found map[string][]analysis.Object) {
	var locks []uint64
	for _, objects := range found {
		for _, o := range objects {
			if o.Lock {
				locks = append(locks, o.Address)
			}
		}
	}
	slices.Sort(locks)
	slices.SortFunc(t.passed, func(x, y passed) int {
		return cmp.Or(cmp.Compare(x.place.stack, y.place.stack), cmp.Compare(x.place.frame, y.place.frame), cmp.Compare(x.address, y.address), cmp.Compare(x.id, y.id))
	})
	count := map[string]int{}
	for i, p := range t.passed {
		if i > 0 && p == t.passed[i-1] {
			continue
		}
		next, _ := slices.BinarySearch(locks, p.address)
		if next == len(locks) || locks[next]-p.address > mostBelowLock {
			continue
		}
		stack := t.order[p.place.stack]
		family, function := b.familyOf(t, stack).Fingerprint, stack.Frames[p.place.frame].Func
		if n := len(found[family]); n > 0 {
			if last := &found[family][n-1]; last.Passed && last.Func == function && last.Address == p.address {
				if last.Count++; len(last.Members) < objectMembers {
					last.Members = append(last.Members, p.id)
				}
				continue
			}
		}
		if count[family]++; count[family] <= passedPerFamily {
			found[family] = append(found[family], analysis.Object{Address: p.address, Func: function, Passed: true, Count: 1, Members: []int64{p.id}})
		}
	}
}
