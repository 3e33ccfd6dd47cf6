package ingest

import (
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/goroutine"
	"leakdiff/analysis/procfs"
)

// A part is what one artifact says about one process at one time. A listing of
// all processes gives one part for each of them; all files of one fdinfo/
// directory give one part together.
type part struct {
	artifact int
	path     string
	// dir is the capture directory, without a trailing fdinfo/ or fd/; stem is
	// the file's name without extensions and without words that only say what
	// kind of evidence it is: "p1-t4" for p1-t4.debug1.txt, "" for lsof.txt.
	dir, stem string
	form      string
	// ordinal tells the listings of lsof's repeat mode apart.
	ordinal  int
	pid      int
	name     string
	modified time.Time
	// inner is the time that the content itself gives.
	inner time.Time

	text     *textDump
	profile  *profileDump
	fdinfo   *fdinfoSet
	links    []analysis.Descriptor
	listing  *listing
	mounts   []analysis.Mount
	limits   *procfs.Limits
	status   *procfs.Status
	stat     *procfs.Stat
	cmdline  []string
	sysctls  map[string]int64
	figures  map[string]float64
	version  string
	captured time.Time
}

// textDump is a debug=2 or crash text, its goroutines as columns per stack.
type textDump struct {
	dump   goroutine.Dump
	stacks map[*analysis.Stack]*columns
	order  []*analysis.Stack
	states []string
	state  map[string]uint16
}

// columns are the goroutines of one exact stack.
type columns struct {
	id, parent, line, offset []int64
	state                    []uint16
	wait, length             []int32
	leaked                   int
	// hidden members count in no family: goroutine 0, the runtime's own, and the
	// goroutine that wrote the dump.
	hidden bool
}

// profileDump is a debug=1 text or a proto: counts by stack, no identities.
type profileDump struct {
	profile goroutine.Profile
	stacks  []*analysis.Stack
	counts  []int
	offsets []goroutine.Record
}

// fdinfoSet is one fdinfo/ directory.
type fdinfoSet struct {
	infos []procfs.FDInfo
	// empty counts files without a byte: the trace of tar on /proc.
	empty int
}

// listing is what lsof says of one process.
type listing struct {
	command string
	rows    []analysis.Descriptor
	other   int
}

// evidence reports whether the part counts something; the rest is context.
func (p *part) evidence() bool {
	return p.text != nil || p.profile != nil || p.fdinfo != nil || p.links != nil || p.listing != nil
}

func newTextDump() *textDump {
	return &textDump{stacks: map[*analysis.Stack]*columns{}, state: map[string]uint16{}}
}

// key of a stack's columns: hidden goroutines are kept apart from others that
// happen to share their stack.
func (t *textDump) add(g *goroutine.Goroutine) {
	c := t.stacks[g.Stack]
	if c == nil {
		c = &columns{hidden: g.System || g.Dumper || g.ID == 0}
		t.stacks[g.Stack] = c
		t.order = append(t.order, g.Stack)
	}
	state, ok := t.state[g.State]
	if !ok {
		if len(t.states) >= 1000 {
			state = 999 // hostile: more words than the runtime knows
		} else {
			state = uint16(len(t.states))
			t.states = append(t.states, g.State)
			t.state[g.State] = state
		}
	}
	if g.Leaked {
		c.leaked++
	}
	c.id = append(c.id, g.ID)
	c.parent = append(c.parent, g.Parent)
	c.line = append(c.line, g.Line)
	c.offset = append(c.offset, g.Offset)
	c.length = append(c.length, int32(min(g.Length, 1<<31-1)))
	c.state = append(c.state, state)
	c.wait = append(c.wait, int32(g.Wait))
}
