package ingest

import (
	"hash/maphash"
	"slices"
)

// argument is an address that goroutines of a stack name in one of its frames.
type argument struct {
	place   int32 // index of textDump.places
	address uint64
}

// notes are arguments, each once, with the goroutines that name them. Of most there is
// one, and a dump has many thousands: with a map and a list of pointers 50,000 took 1.7
// times as long and twice the memory, which the collector looked at.
type notes struct {
	list []note
	// slots are indexes of list plus 1, at the hash of the argument or after it; 0 is
	// free, as at least half of them are.
	slots  []int32
	seed   maphash.Seed
	others []otherNamers
}

// note is an argument and the first that names it. It holds no pointer.
type note struct {
	argument
	first  int64
	others int32 // index of notes.others plus 1, 0 if first is alone
}

// namers are the goroutines that name an argument.
type namers struct {
	first  int64
	others *otherNamers
}

type otherNamers struct {
	count   int
	members []int64
}

// add notes that a goroutine names an argument.
func (n *notes) add(a argument, id int64) {
	if 2*len(n.list) >= len(n.slots) {
		n.grow()
	}
	slot := n.slot(a)
	if *slot == 0 {
		n.list = append(n.list, note{argument: a, first: id})
		*slot = int32(len(n.list))
		return
	}
	known := &n.list[*slot-1]
	if known.others == 0 {
		n.others = append(n.others, otherNamers{})
		known.others = int32(len(n.others))
	}
	o := &n.others[known.others-1]
	o.count++
	if len(o.members) < objectMembers-1 {
		o.members = append(o.members, id)
	}
}

// slot is that of an argument, or the free one where it belongs.
func (n *notes) slot(a argument) *int32 {
	for at := maphash.Comparable(n.seed, a); ; at++ {
		slot := &n.slots[at%uint64(len(n.slots))]
		if *slot == 0 || n.list[*slot-1].argument == a {
			return slot
		}
	}
}

// grow doubles the slots, whose number is a power of two, and the capacity of the list.
func (n *notes) grow() {
	if n.slots == nil {
		n.seed = maphash.MakeSeed()
	}
	n.slots = make([]int32, max(64, 2*len(n.slots)))
	n.list = slices.Grow(n.list, len(n.slots)/2-len(n.list))
	for i := range n.list {
		*n.slot(n.list[i].argument) = int32(i + 1)
	}
}

// mostSpareSlots bounds the slots of notes that are used again: all are cleared.
const mostSpareSlots = 1 << 10

// spare returns the notes without their content, for another dump.
func (n *notes) spare() notes {
	if len(n.slots) > mostSpareSlots {
		return notes{}
	}
	clear(n.slots)
	return notes{list: n.list[:0], slots: n.slots, seed: n.seed}
}

// namers are those of an argument.
func (n *notes) namers(known *note) namers {
	if known.others == 0 {
		return namers{first: known.first}
	}
	return namers{known.first, &n.others[known.others-1]}
}
