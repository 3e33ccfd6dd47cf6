package goroutine

import (
	"bytes"
	"hash/maphash"
	"math"
	"strings"
	"unicode/utf8"

	"leakdiff/analysis"
)

// A key holds what makes two stacks equal, and nothing else, in the order of the
// dump: for each frame a line with the name and a line with file:line. Lines
// with other content begin with one of these marks; no name does.
//
//	main.leak.func1
//	/src/main.go:12
//	\x02 51
//	\x01 main.leak
//	/src/main.go:14
const (
	markCreator     = '\x01' // name of the creator; its file:line follows
	markElided      = '\x02' // number of elided frames, -1 if it is unknown
	markUnavailable = '\x03' // text in place of frames
)

const (
	// maxKey is after how much of one stack no more frames are kept. The runtime
	// prints at most 100 frames, in practice 20 KiB.
	maxKey = 1 << 20
	// maxStackBytes bounds all kept stacks of one parse together, names included. Some
	// thousand stacks of a hundred frames take half of it.
	maxStackBytes = 24 << 20
	// stackBytes, frameBytes and nameBytes are the approximate costs of a stack, of a
	// frame and of a new name beside their text.
	stackBytes, frameBytes, nameBytes = 300, 40, 50
)

// Stacks returns the same stack for equal keys. Dumps of one program have nearly the same
// stacks, so those of one bundle share a value. A key is looked up by 128 bits of hash
// with seeds that are random for each value, so nobody can construct two stacks that
// merge. The zero value is ready. Only one parse at a time may use it.
type Stacks struct {
	seeds [2]maphash.Seed
	kept  map[[2]uint64]*sharedStack
	names map[string]*sharedName
	// bytes is the approximate cost of all stacks. From maxStackBytes on, a parse keeps
	// its further stacks to itself.
	bytes int
	// parses counts the parses that began, among them the present one, and builds the
	// stacks that were built.
	parses, builds int

	slots   arena[sharedStack]
	stacks  arena[analysis.Stack]
	frames  arena[analysis.Frame]
	entries arena[sharedName]
	lists   arena[*sharedName]
	texts   textArena
}

// sharedStack is a stack with the traits of its functions and the names in it.
type sharedStack struct {
	stack *analysis.Stack
	names []*sharedName
	traits
}

// sharedName is a name of functions or files. parse is the last parse that counted it,
// build the last stack that lists it.
type sharedName struct {
	text         string
	parse, build int
}

// begin prepares for a parse.
func (s *Stacks) begin() {
	s.parses++
	if s.kept == nil {
		s.seeds = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}
		s.kept, s.names = map[[2]uint64]*sharedStack{}, map[string]*sharedName{}
	}
}

// stackTable has the stacks of one parse. What it keeps does not depend on the stacks of
// other parses.
type stackTable struct {
	shared *Stacks
	// own has the stacks that shared has no room for.
	own    Stacks
	kept   map[[2]uint64]*keptStack
	max    int
	bytes  int // approximate cost of the stacks of this parse
	others int // goroutines that came with a new stack after the table was full
	full   keptStack

	slots arena[keptStack]
	// list are the names of the stack that is built.
	list []*sharedName
}

// keptStack is a stack of one parse with the traits of its functions.
type keptStack struct {
	stack  *analysis.Stack
	number int // of those kept, from 0
	traits
	seen   int // goroutines that were looked up
	taught int // blocks that knownBlocks learned
}

func newStackTable(cfg Config) *stackTable {
	t := &stackTable{
		shared: cfg.Stacks,
		kept:   map[[2]uint64]*keptStack{},
		max:    cfg.MaxStacks,
		full:   keptStack{stack: &analysis.Stack{Unavailable: analysis.TooManyStacks}},
	}
	if t.shared == nil {
		t.shared = new(Stacks)
	}
	t.shared.begin()
	return t
}

// get returns the stack of a key. It allocates for new stacks only.
func (t *stackTable) get(key []byte) *keptStack {
	sum := [2]uint64{maphash.Bytes(t.shared.seeds[0], key), maphash.Bytes(t.shared.seeds[1], key)}
	if found := t.kept[sum]; found != nil {
		found.seen++
		return found
	}
	if len(t.kept) >= t.max || t.bytes >= maxStackBytes {
		t.others++
		t.full.traits = traitsOf(key)
		return &t.full
	}
	known := t.shared.kept[sum]
	if known == nil {
		known = t.build(sum, key)
	}
	added := t.slots.one()
	*added = keptStack{stack: known.stack, number: len(t.kept), traits: known.traits, seen: 1}
	t.bytes += stackBytes + frameBytes*len(known.stack.Frames)
	for _, name := range known.names {
		if name.parse != t.shared.parses {
			name.parse = t.shared.parses
			t.bytes += len(name.text) + nameBytes
		}
	}
	t.kept[sum] = added
	return added
}

// build makes the stack that a key describes.
func (t *stackTable) build(sum [2]uint64, key []byte) *sharedStack {
	to := t.shared
	if to.bytes >= maxStackBytes {
		to = &t.own
		to.begin()
	}
	t.list = t.list[:0]
	t.shared.builds++
	built := to.slots.one()
	*built = sharedStack{stack: t.parse(to, key), traits: traitsOf(key)}
	built.names = to.lists.keep(t.list)
	to.bytes += stackBytes + frameBytes*len(built.stack.Frames)
	if to == t.shared {
		to.kept[sum] = built
	}
	return built
}

// parse reads a stack from a key.
func (t *stackTable) parse(to *Stacks, key []byte) *analysis.Stack {
	stack := to.stacks.one()
	stack.Frames = to.frames.take(bytes.Count(key, []byte{'\n'}) / 2)[:0]
	for len(key) > 0 {
		var line []byte
		line, key = cutLine(key)
		switch {
		case len(line) > 0 && line[0] == markElided:
			stack.Elided = elided(line[1:])
		case len(line) > 0 && line[0] == markUnavailable:
			stack.Unavailable = t.name(to, line[1:])
		case len(line) > 0 && line[0] == markCreator:
			stack.CreatedBy, key = t.frame(to, line[1:], key)
		default:
			var frame analysis.Frame
			frame, key = t.frame(to, line, key)
			stack.Frames = append(stack.Frames, frame)
		}
	}
	return stack
}

func (t *stackTable) frame(to *Stacks, name, key []byte) (analysis.Frame, []byte) {
	place, key := cutLine(key)
	file, line := cutPlace(place)
	return analysis.Frame{Func: t.name(to, unescape(name)), File: t.name(to, file), Line: line}, key
}

// name interns b and lists it for the stack that is built.
func (t *stackTable) name(to *Stacks, b []byte) string {
	name := t.shared.names[string(b)]
	if name == nil {
		name = to.names[string(b)]
	}
	if name == nil {
		name = to.entries.one()
		printed := ""
		if utf8.Valid(b) {
			name.text = to.texts.keep(b)
			printed = name.text
		} else {
			name.text, printed = validText(b), string(b)
		}
		to.names[printed] = name
		to.bytes += len(name.text) + nameBytes
	}
	if name.build != t.shared.builds {
		name.build = t.shared.builds
		t.list = append(t.list, name)
	}
	return name.text
}

// hasCreator reports whether frames are the innermost frames of a kept stack that
// has a creator.
func (t *stackTable) hasCreator(frames []analysis.Frame) bool {
	for _, other := range t.kept {
		s := other.stack
		if s.CreatedBy.Func == "" || len(s.Frames) < len(frames) {
			continue
		}
		same := true
		for i := 0; i < len(frames) && same; i++ {
			same = s.Frames[i] == frames[i]
		}
		if same {
			return true
		}
	}
	return false
}

// cutLine takes the first line off a key.
func cutLine(key []byte) (line, rest []byte) {
	if i := bytes.IndexByte(key, '\n'); i >= 0 {
		return key[:i], key[i+1:]
	}
	return key, nil
}

// cutPlace splits a file from its line, which is 0 if it is unknown. The
// colon of a drive stays.
//
//	"C:/src/main.go:12" -> "C:/src/main.go", 12
//	"??:?"              -> "??", 0
func cutPlace(b []byte) (file []byte, line int) {
	i := bytes.LastIndexByte(b, ':')
	if i < 0 {
		return b, 0
	}
	n, rest, ok := cutNumber(b[i+1:])
	if ok && len(rest) == 0 && n >= 0 {
		return b[:i], int(min(n, math.MaxInt32))
	}
	if string(b[i+1:]) == "?" {
		return b[:i], 0
	}
	return b, 0
}

// unescape undoes the linker's escapes (cmd/internal/objabi.PathToPrefix). Only
// import paths have any.
//
//	"gopkg.in/yaml%2ev2.(*D).Parse" -> "gopkg.in/yaml.v2.(*D).Parse"
func unescape(name []byte) []byte {
	i := bytes.IndexByte(name, '%')
	if i < 0 {
		return name
	}
	out := append([]byte(nil), name[:i]...)
	for ; i < len(name); i++ {
		if name[i] == '%' && i+2 < len(name) {
			high, low := hexDigit(name[i+1]), hexDigit(name[i+2])
			if high >= 2 && low >= 0 && high<<4|low != 0x7f {
				out = append(out, byte(high<<4|low))
				i += 2
				continue
			}
		}
		out = append(out, name[i])
	}
	return out
}

// hexDigit is the value of a lower-case hexadecimal digit, -1 of anything else.
func hexDigit(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c && c <= 'f':
		return int(c-'a') + 10
	}
	return -1
}

func elided(b []byte) int {
	n, _, _ := cutNumber(b)
	return int(max(-1, min(n, math.MaxInt32)))
}

// validText is b as a string in which bytes that are no UTF-8 are replaced, so
// that it reads the same after JSON.
func validText(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	return strings.ToValidUTF8(string(b), "\uFFFD")
}

// traits are facts about a goroutine that the functions of its stack prove.
type traits struct {
	// system is the result of runtime.isSystemGoroutine, if the stack shows it.
	system bool
	// dumping is true if a debug=2 writer is on the stack.
	dumping bool
}

// traitsOf reads them off a key, so that goroutines whose stack is not kept have
// them too.
func traitsOf(key []byte) (out traits) {
	var outermost, creator []byte
	own, unknown := false, false // frames outside the runtime; outermost frame not printed
	for len(key) > 0 {
		var line []byte
		line, key = cutLine(key)
		if len(line) > 0 && line[0] == markElided {
			unknown = elided(line[1:]) < 0
			continue
		}
		if len(line) > 0 && line[0] == markUnavailable {
			continue
		}
		_, key = cutLine(key)
		if len(line) > 0 && line[0] == markCreator {
			creator = line[1:]
			continue
		}
		switch string(line) {
		case "runtime/pprof.writeGoroutineStacks", "runtime_1pprof.writeGoroutineStacks":
			out.dumping = true
		case "runtime.goexit", "runtime.goexit1", "runtime.goexit0":
			continue // alone on the stack of a goroutine that ends
		}
		outermost = line
		own = own || !inRuntime(line) && !bytes.HasPrefix(line, []byte("internal/"))
	}
	if outermost == nil {
		outermost, own = creator, false
	}
	out.system = !unknown && inRuntime(outermost) && !startsUserCode(string(outermost), own)
	return out
}

func inRuntime(name []byte) bool { return bytes.HasPrefix(name, []byte("runtime.")) }

// startsUserCode is the list of exceptions in runtime.isSystemGoroutine, with
// the names that releases since 1.18 gave them. Finalizers and cleanups count
// if they call into code outside the runtime.
func startsUserCode(outermost string, own bool) bool {
	switch outermost {
	case "runtime.main", "runtime.corostart", "runtime.handleAsyncEvent", "runtime.handleEvent",
		"runtime.cgocallback", "runtime.cgocallback_gofunc", "runtime.cgocallbackg":
		return true
	case "runtime.runfinq", "runtime.runFinalizers", "runtime.runCleanups":
		return own
	}
	return false
}
