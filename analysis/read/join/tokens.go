// Package join finds the objects of one goroutine dump: goroutines that show the same
// address, or that one goroutine created, belong to one thing of the program if the
// rules of this package prove it. It takes goroutines with their words one after
// the other and returns kinds of objects. It knows neither families nor other dumps, and
// no address leaves it.
package join

import (
	"encoding/binary"
	"math"

	"leakdiff/analysis"
	"leakdiff/analysis/read/goroutine"
)

const (
	// mostTokens bounds what is kept of a dump: 32 MB.
	mostTokens = 2_000_000
	// goroutineTokens is the number of tokens that one goroutine may have.
	goroutineTokens = 32
	// slabTokens fill 64 KiB.
	slabTokens = 4 << 10
	// fewTokens is the size of the first slab: most dumps are small.
	fewTokens = 64
)

// token says that a goroutine shows an address at a place. It holds no pointer.
type token struct {
	address uint64
	// goroutine is the number among those of its shape, and later among all.
	goroutine uint32
	place     uint32
}

// Tokens collects the addresses of a dump. The zero value is ready. MaxTokens may be set
// before the first goroutine; 0 means two million.
type Tokens struct {
	MaxTokens int

	full  bool
	n     int
	slabs [][]token
	// pruneAt is the number of tokens at which those are dropped that join nothing.
	pruneAt int
	shapes  []shape
	// byStack and byNumber find the shape of a stack.
	byStack  map[*analysis.Stack]int32
	byNumber []int32
	places   []place
	// least and largest are those of the ids.
	least, largest int64
	types          names // receiver types
	roles          names
	creators       names
	sites          []site
	siteAt         map[siteName]int32
	seen           []seenAddress
}

// shape is one stack with its goroutines.
type shape struct {
	stack   *analysis.Stack
	role    int32
	creator int32 // -1 without
	count   uint32
	last    int64
	members []byte // id and parent of each, as differences
	words   []shapeWord
}

// shapeWord is the place of a word of a stack.
type shapeWord struct {
	frame    uint16
	position uint8
	pair     bool
	place    int32 // -1 if the word is never used
}

func (w shapeWord) before(o shapeWord) bool {
	if w.frame != o.frame {
		return w.frame < o.frame
	}
	if w.position != o.position {
		return w.position < o.position
	}
	return !w.pair && o.pair
}

// place is where goroutines of one shape show an address.
type place struct {
	shape int32
	site  int32
	typ   int32 // the type of a receiver, -1 for other words
	frame uint16
	pair  bool // the second word of an interface value
	// dead is true for a place whose words are known to join nothing.
	dead bool
	// same is the address that the first until goroutines of the shape show here, which
	// have no token for it: of what is there once, most goroutines show it.
	same  uint64
	until uint32
	ended bool
}

// wide reports whether one token stands for the goroutines that show the same address.
func (p *place) wide() bool { return p.until > fewSame }

// shows reports whether the place goes on showing one address.
func (p *place) shows(address uint64, ordinal uint32) bool {
	if p.ended || p.until != ordinal || p.until > 0 && p.same != address {
		p.ended = true
		return false
	}
	p.same, p.until = address, ordinal+1
	return true
}

// siteName is a function and the number of its argument.
type siteName struct {
	function string
	position uint8
	pair     bool
}

// site is the same argument of a function in all stacks.
type site struct {
	siteName
	// blocks are those of the first words of interface values: a first word in the heap
	// is no type.
	blocks []uint64
	// values are the words in the heap that are no interface values, of which known are
	// receivers of a type.
	values int
	known  map[int32]int
	// trusted is the type whose receivers the words are, -1 if there is none.
	trusted int32
}

// mostBlocks bounds site.blocks; the types of a program lie in few blocks.
const mostBlocks = 8

// seenAddress is an address that the present goroutine has shown.
type seenAddress struct {
	address uint64
	typ     int32
}

// names numbers texts from 0.
type names struct {
	all []string
	at  map[string]int32
}

func (n *names) number(text string) int32 {
	i, known := n.at[text]
	if !known {
		if n.at == nil {
			n.at = map[string]int32{}
		}
		i = int32(len(n.all))
		n.all = append(n.all, text)
		n.at[text] = i
	}
	return i
}

// Add takes a goroutine. Those of the runtime and those without a stack are left out.
func (t *Tokens) Add(g *goroutine.Goroutine) {
	if t.full || g.System || g.ID <= 0 || g.ID == goroutine.HugeID || g.Stack == nil || len(g.Stack.Frames) == 0 {
		return
	}
	number := t.shapeOf(g)
	if number < 0 {
		return
	}
	s := &t.shapes[number]
	ordinal := s.count
	s.count++
	s.members = binary.AppendVarint(s.members, g.ID-s.last)
	s.members = binary.AppendVarint(s.members, g.ID-g.Parent)
	s.last = g.ID
	if t.largest == 0 {
		t.least = g.ID
	}
	t.least, t.largest = min(t.least, g.ID), max(t.largest, g.ID)
	t.seen = t.seen[:0]
	if len(g.Words) == 0 {
		return
	}
	// Receivers come first, from the entry on: they name objects. Other words of an
	// address that was shown as receiver add nothing but a count.
	var places [goroutineWords]int32
	words := g.Words[:min(len(g.Words), goroutineWords)]
	t.placesOf(number, words, places[:])
	for i := len(words) - 1; i >= 0 && !t.full; i-- {
		if places[i] >= 0 && t.places[places[i]].typ >= 0 {
			t.add(&words[i], places[i], ordinal)
		}
	}
	for i := 0; i < len(words) && !t.full; i++ {
		if places[i] >= 0 && t.places[places[i]].pair {
			t.add(&words[i], places[i], ordinal)
		}
	}
	for i := 0; i < len(words) && !t.full; i++ {
		if p := places[i]; p >= 0 && t.places[p].typ < 0 && !t.places[p].pair {
			t.add(&words[i], p, ordinal)
		}
	}
}

// goroutineWords is how many words of one goroutine are looked at.
const goroutineWords = 256

// add keeps a word unless the goroutine has shown its address as that type before.
func (t *Tokens) add(w *goroutine.Word, at int32, ordinal uint32) {
	p := &t.places[at]
	if p.dead {
		return
	}
	if p.pair {
		t.sites[p.site].firstWord(w.Type)
	}
	for _, seen := range t.seen {
		if seen.address != w.Address {
			continue
		}
		if p.typ < 0 {
			if seen.typ >= 0 && !p.pair {
				t.sites[p.site].show([]int32{seen.typ}, 1)
			}
			return
		}
		if seen.typ == p.typ {
			return
		}
	}
	if len(t.seen) == goroutineTokens {
		return
	}
	t.seen = append(t.seen, seenAddress{w.Address, p.typ})
	if p.shows(w.Address, ordinal) {
		return
	}
	t.keep(token{w.Address, ordinal, uint32(at)})
}

func (s *site) firstWord(word uint64) {
	block := word >> smallShift
	for _, known := range s.blocks {
		if known == block {
			return
		}
	}
	if len(s.blocks) <= mostBlocks {
		s.blocks = append(s.blocks, block)
	}
}

// show counts words whose address is a receiver of types.
func (s *site) show(types []int32, n int) {
	s.values += n
	if len(types) > 0 && s.known == nil {
		s.known = map[int32]int{}
	}
	for _, typ := range types {
		s.known[typ] += n
	}
}

func (t *Tokens) keep(k token) {
	if t.n >= min(max(t.pruneAt, firstPrune), t.most()) {
		t.prune()
		if 8*t.n >= 7*t.most() {
			*t = Tokens{MaxTokens: t.MaxTokens, full: true}
			return
		}
	}
	t.put(k)
}

// put appends a token.
func (t *Tokens) put(k token) {
	last := len(t.slabs) - 1
	if last < 0 || len(t.slabs[last]) == cap(t.slabs[last]) {
		size := fewTokens
		if last >= 0 {
			size = min(2*cap(t.slabs[last]), slabTokens)
		}
		t.slabs = append(t.slabs, make([]token, 0, size))
		last++
	}
	t.slabs[last] = append(t.slabs[last], k)
	t.n++
}

func (t *Tokens) most() int {
	if t.MaxTokens > 0 {
		return t.MaxTokens
	}
	return mostTokens
}

// mostShapes is above what a parser keeps of one dump. mostPlaces is what some thousand
// stacks have; words of further ones join nothing.
const mostShapes, mostPlaces = 1 << 16, 1 << 17

// shapeOf is the number of the shape of a goroutine, none beyond mostShapes.
func (t *Tokens) shapeOf(g *goroutine.Goroutine) int32 {
	for len(t.byNumber) <= g.StackNumber && g.StackNumber < math.MaxUint16 {
		t.byNumber = append(t.byNumber, -1)
	}
	if g.StackNumber < len(t.byNumber) {
		if at := t.byNumber[g.StackNumber]; at >= 0 && t.shapes[at].stack == g.Stack {
			return at
		}
	}
	at, known := t.byStack[g.Stack]
	if !known {
		if len(t.shapes) == mostShapes {
			return none
		}
		at = t.addShape(g.Stack)
	}
	if g.StackNumber < len(t.byNumber) {
		t.byNumber[g.StackNumber] = at
	}
	return at
}

func (t *Tokens) addShape(stack *analysis.Stack) int32 {
	if t.byStack == nil {
		t.byStack = map[*analysis.Stack]int32{}
	}
	at := int32(len(t.shapes))
	s := shape{stack: stack, role: t.roles.number(RoleOf(stack)), creator: -1}
	if stack.CreatedBy.Func != "" {
		s.creator = t.creators.number(cutVendor(stack.CreatedBy.Func))
	}
	t.shapes = append(t.shapes, s)
	t.byStack[stack] = at
	return at
}

// placesOf finds the places of words, whose order is that of the stack.
func (t *Tokens) placesOf(number int32, words []goroutine.Word, places []int32) {
	known := t.shapes[number].words
	next := 0
	for i := range words {
		w := shapeWord{frame: words[i].Frame, position: words[i].Position, pair: words[i].Type > 0}
		for next < len(known) && known[next].before(w) {
			next++
		}
		if next == len(known) || w.before(known[next]) {
			w.place = t.addPlace(number, w)
			known = append(known, w)
			copy(known[next+1:], known[next:])
			known[next] = w
			t.shapes[number].words = known
		}
		places[i] = known[next].place
	}
}

// addPlace makes a place; -1 is one whose words are never used.
func (t *Tokens) addPlace(number int32, w shapeWord) int32 {
	frames := t.shapes[number].stack.Frames
	if int(w.frame) >= len(frames) || len(t.places) == mostPlaces {
		return none
	}
	function := cutVendor(frames[w.frame].Func)
	p := place{shape: number, site: -1, typ: -1, frame: w.frame, pair: w.pair}
	if w.position == 0 && !w.pair {
		if typ := receiver(function); typ != "" {
			if leftOut(typ) {
				return -1
			}
			p.typ = t.types.number(typ)
		}
	}
	if p.typ < 0 {
		p.site = t.siteOf(siteName{function, w.position, w.pair})
	}
	t.places = append(t.places, p)
	return int32(len(t.places) - 1)
}

func (t *Tokens) siteOf(name siteName) int32 {
	at, known := t.siteAt[name]
	if !known {
		if t.siteAt == nil {
			t.siteAt = map[siteName]int32{}
		}
		at = int32(len(t.sites))
		t.sites = append(t.sites, site{siteName: name, trusted: -1})
		t.siteAt[name] = at
	}
	return at
}
