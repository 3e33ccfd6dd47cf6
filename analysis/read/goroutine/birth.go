package goroutine

import (
	"bytes"
	"strings"
	"time"

	"golang.org/x/exp/trace"

	"leakdiff/analysis"
)

// An Origin is what goroutines have in common that began with the same function and were
// started by the same one.
type Origin struct {
	// Entry is the function that they began with. Creator is the function with their go
	// statement, "" of those that started before a trace.
	Entry, Creator string
}

// OriginOf is the origin of a goroutine with a stack of a dump. Entry is "" if the outermost
// frames are left out.
func OriginOf(s *analysis.Stack) Origin {
	return Origin{EntryOf(s), plainName(s.CreatedBy.Func)}
}

// EntryOf is the function that a goroutine with this stack began with, "" if the outermost
// frames are left out. The compiler's wrapper of a go statement is none: a trace leaves it out
// of the start, and only some stacks show it.
func EntryOf(s *analysis.Stack) string {
	if s.Elided < 0 || s.Unavailable != "" || len(s.Frames) >= mostTracedFrames {
		return ""
	}
	for i := len(s.Frames) - 1; i >= 0; i-- {
		name := s.Frames[i].Func
		if strings.HasPrefix(name, "runtime.goexit") || i > 0 && isWrapper(name) {
			continue
		}
		return plainName(name)
	}
	return ""
}

// mostTracedFrames is how many frames of a stack the runtime records in a trace.
const mostTracedFrames = 128

// isWrapper recognises the compiler's wrapper of a go statement: main.run.gowrap1.
func isWrapper(name string) bool {
	_, rest, ok := strings.Cut(name, ".gowrap")
	return ok && strings.Trim(rest, "0123456789") == ""
}

// plainName is a name of a function as a dump prints it, without type arguments: a trace has
// those of the implementation.
//
//	"main.g[go.shape.int].func1" = "main.g[...].func1"
func plainName(name string) string {
	from, to := strings.IndexByte(name, '['), strings.LastIndexByte(name, ']')
	if from < 0 || to < from {
		return name
	}
	return name[:from] + "[...]" + name[to+1:]
}

// CreatorOf is the function with the go statement of Goroutine.Ancestors of a trace, "" if it
// is not known.
func CreatorOf(ancestors string) string {
	stacks := ParseAncestors([]byte(ancestors))
	if len(stacks) == 0 || len(stacks[0].Frames) == 0 {
		return ""
	}
	return plainName(stacks[0].Frames[0].Func)
}

const (
	// mostCreations bounds the different stacks of go statements of a trace, of which a
	// program has about as many as it has go statements and ways to them.
	mostCreations = 2000
	// mostOrigins bounds the origins of a trace.
	mostOrigins = 4096
)

// A creation is the stack of a go statement.
type creation struct {
	// ancestors are for ParseAncestors, empty if the stack is not known.
	ancestors []byte
	creator   string
}

// unknownCreation is that of goroutines that started in the window and whose go statement is
// not known.
var unknownCreation creation

// births are the starts and ends in the window of a trace.
type births struct {
	all       map[Origin]analysis.Births
	creations map[string]*creation
	// creationOf has those of the present generation, whose handles end with it.
	creationOf map[trace.Stack]*creation
}

func newBirths() births {
	return births{all: map[Origin]analysis.Births{}, creations: map[string]*creation{}, creationOf: map[trace.Stack]*creation{}}
}

// creationOf is the stack of a go statement by its handle.
func (p *traceParser) creationOf(handle trace.Stack) *creation {
	b := &p.births
	if known := b.creationOf[handle]; known != nil {
		return known
	}
	p.key = append(p.key[:0], markAncestor, '\n')
	p.appendFrames(handle, maxAncestors)
	found := b.creations[string(p.key)]
	switch {
	case found != nil:
	case len(p.key) == 2:
		found = &unknownCreation
	default:
		found = &creation{creator: CreatorOf(string(p.key))}
		if len(b.creations) < mostCreations {
			found.ancestors = bytes.Clone(p.key)
			b.creations[string(p.key)] = found
		}
	}
	b.creationOf[handle] = found
	return found
}

func (b *births) start(g *traced) {
	b.count(Origin{g.entry, g.creation.creator}, analysis.Births{Started: 1})
}

func (b *births) end(g *traced) {
	origin := Origin{Entry: g.entry}
	if g.creation != nil {
		origin.Creator = g.creation.creator
	}
	b.count(origin, analysis.Births{Ended: 1})
}

// count adds to an origin. One without a function, or beyond the bound, is not known.
func (b *births) count(o Origin, n analysis.Births) {
	before, known := b.all[o]
	if o.Entry == "" || !known && len(b.all) >= mostOrigins {
		o = Origin{}
		before = b.all[o]
	}
	b.all[o] = analysis.Births{Started: before.Started + n.Started, Ended: before.Ended + n.Ended}
}

// of gives all the window that they were counted in.
func (b *births) of(window time.Duration) map[Origin]analysis.Births {
	for o, n := range b.all {
		n.Window = window
		b.all[o] = n
	}
	return b.all
}
