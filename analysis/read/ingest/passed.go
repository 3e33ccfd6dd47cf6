package ingest

import (
	"bytes"
	"cmp"
	"iter"
	"slices"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/read/goroutine"
)

// Bounds of the arguments that are kept to show who was given a lock: members of one stack,
// frames of one goroutine, and all of a dump. Those who wait for no lock have as many again:
// they only show that others were given it.
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

// passedOf is where the arguments of a stack are kept, and whether more of them are wanted.
func (t *textDump) passedOf(c *goroutines) (list *[]passed, wanted bool) {
	list = &t.passedOthers
	if c.arguments.lock >= 0 {
		list = &t.passed
	}
	return list, c.passed < passedMembers && len(*list) < mostPassed
}

// notePassed keeps the addresses among all arguments of a goroutine outside sync and the
// runtime. Of those who wait for a lock it leaves out what may be stale.
func (t *textDump) notePassed(c *goroutines, g *goroutine.Goroutine) {
	list, wanted := t.passedOf(c)
	if !wanted {
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
			for address, stale := range addresses(line) {
				if !stale || c.arguments.lock < 0 {
					*list = append(*list, passed{namingPlace{c.index, int32(frame)}, address, g.ID})
				}
			}
		}
		frame++
	}
}

// addresses are the arguments of a call that may be pointers, and whether each may be stale.
//
//	"main.move(0xc000012345, 0xc000012350?, 0x1)" = 0xc000012345 false, 0xc000012350 true
func addresses(line []byte) iter.Seq2[uint64, bool] {
	return func(yield func(uint64, bool) bool) {
		arguments := line[bytes.LastIndexByte(line, '(')+1:]
		for field := range bytes.SplitAfterSeq(arguments, []byte(",")) {
			digits, hex := bytes.CutPrefix(bytes.TrimLeft(field, " {"), []byte("0x"))
			if !hex {
				continue
			}
			if address, end := pointer(digits); end != 0 && !yield(address, end == '?') {
				return
			}
		}
	}
}

// passed are the noted arguments that may be objects with a lock that somebody waits for, by
// family.
func (b *builder) passed(t *textDump) map[string][]analysis.Object {
	if len(t.objects) == 0 {
		return nil
	}
	var locks []uint64
	for _, objects := range t.objects {
		for _, o := range objects {
			if o.Lock {
				locks = append(locks, o.Address)
			}
		}
	}
	slices.Sort(locks)
	all := slices.DeleteFunc(slices.Concat(t.passed, t.passedOthers), func(p passed) bool {
		next, _ := slices.BinarySearch(locks, p.address)
		return next == len(locks) || locks[next]-p.address > mostBelowLock
	})
	slices.SortFunc(all, func(x, y passed) int {
		return cmp.Or(cmp.Compare(x.place.stack, y.place.stack), cmp.Compare(x.place.frame, y.place.frame), cmp.Compare(x.address, y.address), cmp.Compare(x.id, y.id))
	})
	all = slices.Compact(all)
	var found map[string][]analysis.Object
	for i, p := range all {
		stack := t.order[p.place.stack]
		family := b.familyOf(t, stack).Fingerprint
		of := found[family]
		if i > 0 && len(of) > 0 && all[i-1].place == p.place && all[i-1].address == p.address {
			if last := &of[len(of)-1]; last.Address == p.address {
				if last.Count++; len(last.Members) < objectMembers {
					last.Members = append(last.Members, p.id)
				}
				continue
			}
		}
		if found == nil {
			found = map[string][]analysis.Object{}
		}
		if len(of) < passedPerFamily {
			found[family] = append(of, analysis.Object{Address: p.address, Func: stack.Frames[p.place.frame].Func, Count: 1, Members: []int64{p.id}})
		}
	}
	return found
}
