package ingest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/read/goroutine"
	"leakdiff/analysis/read/join"
	"leakdiff/analysis/read/line"
	"leakdiff/analysis/read/lsof"
	"leakdiff/analysis/read/procfs"
	"leakdiff/analysis/read/thread"
	"leakdiff/analysis/say/wording"
)

// A part is the evidence of one artifact about one process at one time. A listing of
// all processes becomes one part for each of them; all files of one fdinfo/ directory
// together become one part.
type part struct {
	artifact int
	path     string
	// within is the path that a heading in the file gives to the text of the part, "" without.
	within string
	// dir is the capture directory, without a trailing fdinfo/ or fd/; stem is the
	// file's name without extensions and without words for the kind of evidence:
	// "p1-t4" for p1-t4.debug1.txt, "" for lsof.txt.
	dir, stem string
	form      string
	// ordinal numbers the dumps and listings of one file; section is true if the file
	// is a log or holds several.
	ordinal int
	section bool
	pid     int
	name    string
	host    string
	// container is that of the pod that host names, "" if it is not known.
	container string
	// modified is the time of the file, the latest one of a directory's; fileTimes are
	// others that its files have.
	modified  time.Time
	fileTimes []time.Time
	// inner is the time in the content itself; zoneless is true if it names no zone and
	// is taken as UTC.
	inner    time.Time
	zoneless bool
	// dayless is true if inner was a clock without a date.
	dayless bool
	// outcome replaces the artifact's own if the part is one of several.
	outcome string
	placing placing
	// refused counts rows of a listing that were not understood.
	refused int
	// stops reports a listing that ends within a row, or with its archive.
	stops bool
	// leftRows counts rows of a socket table that belong to processes that are not kept.
	leftRows int
	// source names the wrapping that the part was freed of, "" for a plain file.
	source string

	text    *textDump
	window  *window // of an execution trace
	profile *profileDump
	fdinfo  *fdinfoSet
	links   []analysis.Descriptor
	listing *listing
	// trace is what a tracer saw of the process.
	trace   *callTrace
	threads *threadDump
	node    *nodeReport
	sockets []analysis.Socket
	// asked is what the tables with the sockets were asked for.
	asked   []string
	clients *thread.Clients
	counts  *inotifyCounts
	inodes  *procfs.Inodes
	handles []analysis.Handle
	pairs   []analysis.Pair
	// contention has mutex and block profiles that are not empty.
	contention []analysis.Contention
	// heap is what the heap holds, nil for other parts.
	heap    *analysis.Heap
	capture *captureManifest
	mounts  []analysis.Mount
	limits  *procfs.Limits
	status  *procfs.Status
	stat    *procfs.Stat
	cmdline []string
	sysctls map[string]int64
	figures map[string]float64
	// sole reports ended children in a listing of the children of this process alone.
	sole    bool
	version string
	// packages are versions of a list.
	packages []analysis.Package
	// logged is what a log says.
	logged []analysis.LogFact
	// nodes is how many nodes a listing of pods has, 0 for other parts.
	nodes int
	// namespaces are those of the pods of a node.
	namespaces map[string]bool
	// alone is set for a status and a summary of clients where no file of the upload lists
	// anything.
	alone    bool
	captured time.Time
	// ran is when the collector ran, by its own word.
	ran time.Time
}

// textDump is a debug=2 or crash text, its goroutines packed per stack. Where
// several follow one another in a file, dump has the counts of this one alone.
type textDump struct {
	dump goroutine.Dump
	// crash is true for a dump within a text that began otherwise.
	crash bool
	// failure is why the process died, nil for a dump of one that lives.
	failure *failure
	// signal is what ended the process with this dump, "" for nothing that was sent.
	signal analysis.Signal
	// groups, objects and given are the result of form, program is the name that the stacks
	// give to the process.
	groups         packedGroups
	objects, given map[string][]analysis.Object
	joined         *analysis.Objects
	listener       analysis.Listener
	program        string
	// labels are those of each family, by fingerprint.
	labels map[string][]analysis.LabelCount
	// ancestries are those of each family, by fingerprint.
	ancestries map[string][]analysis.Ancestry

	// The rest is what form needs.

	stacks map[*analysis.Stack]*goroutines
	order  []*analysis.Stack
	states []string
	state  map[string]uint16
	// labelled are the indexes of states with labels, as the dump prints them.
	labelled map[labelledState]uint16
	// unlabelled counts goroutines whose labels were not kept: there are too many sets.
	unlabelled int
	// descents counts the goroutines with equal ancestors.
	descents map[descent]int
	// near has goroutines of stacks that came before, by the last bits of their numbers:
	// the look into stacks takes five times as long, once for every goroutine.
	near []nearStack
	// word is the last state: programs start goroutines in bursts.
	word      string
	wordIndex uint16
	// border sees the next dump begin.
	border line.Border
	// notes are the addresses that goroutines name at places, until it is known which of
	// them matter.
	notes  notes
	places []namingPlace
	// passed are arguments of all frames of those who wait for a lock, and of others.
	passed, passedOthers []passed
	// tokens are the addresses that may join goroutines.
	tokens join.Tokens
}

type labelledState struct{ state, labels string }

type nearStack struct {
	stack *analysis.Stack
	of    *goroutines
}

// mostNear bounds textDump.near, whose length is a power of two.
const mostNear = 1 << 10

// goroutines are those of one exact stack, with states as indexes of
// textDump.states.
type goroutines struct {
	*analysis.Packed // which outlives the rest
	leaked           int
	// counts of each of Packed.States, and waits by analysis.WaitBuckets, are those
	// of all: reading them back costs more than counting.
	counts    []int
	waits     [len(analysis.WaitBuckets)]int
	oldest    int   // wait in minutes, -1 if none was printed
	index     int32 // of textDump.order
	arguments *arguments
	noted     bool             // no more addresses are wanted
	passed    int              // members whose arguments are kept
	family    *analysis.Family // nil until familyOf
}

// profileDump is a debug=1 text or a proto: counts by stack, no identities.
type profileDump struct {
	profile goroutine.Profile
	stacks  []*analysis.Stack
	counts  []int
	offsets []goroutine.Record
	// labels are those of the records that have any, by index. sets has each set once.
	labels map[int]analysis.Labels
	sets   map[analysis.Labels]analysis.Labels
	// unlabelled counts goroutines whose labels were not kept: there are too many sets.
	unlabelled int
	// functions are those of a profile without stacks.
	functions []goroutine.FunctionCount
}

// leaked reports whether the part is a profile of the leaked goroutines alone.
func (p *part) leaked() bool {
	return p.profile != nil && p.profile.profile.Sample == goroutine.SampleGoroutineLeak
}

// fdinfoSet is one fdinfo/ directory.
type fdinfoSet struct {
	infos []procfs.FDInfo
	// kept is the number of watches that they have one by one.
	kept int
	// empty counts files without a byte: the trace of tar on /proc.
	empty int
	// cut reports that an archive or one of its files stops within it.
	cut bool
}

// listing holds the rows of lsof for one process.
type listing struct {
	command string
	// users are those whose descriptors it lists.
	users []string
	rows  *rows
	other int
	// run reports that the file that the process runs was listed: the first that is mapped.
	run bool
	// sockets is true if the rows are the sockets of the process and no numbers of
	// descriptors are known.
	sockets bool
	// deleted are the sizes of files without a name that the process holds open.
	deleted map[fileID]int64
}

// fileID is a file, however many descriptors refer to it.
type fileID struct {
	device string
	inode  uint64
}

// mostDeleted bounds the deleted files of one process.
const mostDeleted = 1 << 16

// hold notes a deleted file with its size. Those in memory (/memfd:, /dev/shm) take no space
// of a disk, and an offset is no size.
func (l *listing) hold(row *lsof.Row) {
	d := &row.Descriptor
	size, err := strconv.ParseInt(row.Size, 10, 64)
	if !d.Deleted || d.Type != "regular" || err != nil || d.Inode == 0 || len(l.deleted) >= mostDeleted {
		return
	}
	for _, memory := range []string{"/memfd:", "/dev/shm/", "/dev/zero", "/SYSV", "/run/", "/[aio]", "/i915"} {
		if strings.HasPrefix(d.Name, memory) {
			return
		}
	}
	if l.deleted == nil {
		l.deleted = map[fileID]int64{}
	}
	l.deleted[fileID{strings.Clone(d.Device), d.Inode}] = size
}

// mostUsers bounds the users of one process: it runs as one or two.
const mostUsers = 8

func (l *listing) user(name string) {
	if name != "" && len(l.users) < mostUsers && !slices.Contains(l.users, name) {
		l.users = append(l.users, strings.Clone(name))
	}
}

// evidence reports whether the part counts something; the rest is context.
func (p *part) evidence() bool {
	return p.text != nil || p.profile != nil || p.fdinfo != nil || p.links != nil || p.listing != nil || p.trace != nil || p.threads != nil || p.node != nil || p.counts != nil || p.heap != nil || p.countsOnly()
}

// own is how many members of its file are the part's own, and whether the file
// holds others beside them.
func (p *part) own() (int, bool) {
	switch {
	case p.outcome == "":
		return 0, false
	case p.listing != nil && p.listing.sockets:
		return 0, true
	case p.listing != nil:
		return p.listing.rows.len(), true
	case p.trace != nil:
		return len(p.trace.left), true
	case p.links != nil:
		return len(p.links), true
	case p.fdinfo != nil:
		return len(p.fdinfo.infos), true
	case p.text != nil:
		return p.text.dump.Headers, true
	case p.threads != nil:
		return p.threads.count, true
	case p.profile != nil:
		return p.profile.profile.Sum, true
	case p.counts != nil, p.heap != nil:
		return 0, true
	}
	return 0, false
}

// kind is what the part counts.
func (p *part) kind() analysis.Kind {
	switch {
	case p.text != nil || p.profile != nil:
		return analysis.KindGoroutine
	case p.threads != nil:
		return analysis.KindThread
	}
	return analysis.KindDescriptor
}

// another is a part for one of several dumps or processes of p's file.
func (p *part) another(ordinal int) *part {
	return &part{path: p.path, form: p.form, ordinal: ordinal, pid: p.pid, name: p.name, host: p.host, modified: p.modified, fileTimes: p.fileTimes,
		inner: p.inner, zoneless: p.zoneless, section: p.section, artifact: -1}
}

func newTextDump() *textDump {
	return &textDump{stacks: map[*analysis.Stack]*goroutines{}, state: map[string]uint16{}}
}

// release forgets what only the forming of families needs.
func (t *textDump) release() {
	*t = textDump{dump: t.dump, crash: t.crash, failure: t.failure, signal: t.signal, groups: t.groups, objects: t.objects, given: t.given, joined: t.joined, listener: t.listener, program: t.program, labels: t.labels, ancestries: t.ancestries}
}

// writes reports whether g begins another dump in the same text because it writes one.
func (t *textDump) writes(g *goroutine.Goroutine) bool {
	return g.ID > 0 && len(t.order) > 0 && g.Dumper && t.dump.Headers > 0
}

// again reports whether g begins another dump in the same text because it is one of the
// goroutines with which this one began.
func (t *textDump) again(g *goroutine.Goroutine) bool {
	return g.ID > 0 && g.ID != goroutine.HugeID && len(t.order) > 0 && t.border.Again(g.ID)
}

// add counts a goroutine. Those that are in no family are not kept: goroutine 0, the
// runtime's own, and the one that wrote the dump. Others that happen to share their
// stack are.
func (t *textDump) add(g *goroutine.Goroutine) {
	c := t.of(g)
	t.count(g)
	t.fails(g)
	if g.System || g.Dumper || g.ID == 0 {
		return
	}
	if !c.noted {
		t.note(c, g)
	}
	if t.listener.Goroutine == 0 || g.ID < t.listener.Goroutine {
		t.listen(g)
	}
	if g.Leaked {
		c.leaked++
	}
	if len(g.Ancestors) > 0 {
		t.descend(c, g.Ancestors)
	}
	c.add(analysis.PackedMember{
		ID: g.ID, Parent: g.Parent, State: t.stateOf(g), Wait: int32(g.Wait),
		Line: g.Line, Offset: g.Offset, Length: int32(min(g.Length, 1<<31-1)),
	})
}

func (c *goroutines) add(m analysis.PackedMember) {
	at := c.Append(m)
	if at == len(c.counts) {
		c.counts = append(c.counts, 0)
	}
	c.counts[at]++
	c.waits[waitBucket(int(m.Wait))]++
	c.oldest = max(c.oldest, int(m.Wait))
}

// of are the goroutines with the stack of g.
func (t *textDump) of(g *goroutine.Goroutine) *goroutines {
	if len(t.near) <= len(t.order) && len(t.near) < mostNear {
		t.near = make([]nearStack, max(8, 2*len(t.near)))
	}
	near := &t.near[g.StackNumber&(len(t.near)-1)]
	if near.stack != g.Stack {
		*near = nearStack{g.Stack, t.anyOf(g)}
	}
	return near.of
}

func (t *textDump) anyOf(g *goroutine.Goroutine) *goroutines {
	c := t.stacks[g.Stack]
	if c == nil {
		c = &goroutines{Packed: new(analysis.Packed), oldest: -1, index: int32(len(t.order))}
		t.stacks[g.Stack] = c
		t.order = append(t.order, g.Stack)
	}
	return c
}

// maxStates is more words than the runtime knows, maxLabelled how many of them with labels are
// told apart: a program with a label for each request has more, and none of those explains much.
const (
	maxStates   = 1000
	maxLabelled = 4096
)

// stateOf is the index of the state and labels of g.
func (t *textDump) stateOf(g *goroutine.Goroutine) uint16 {
	if g.Labels == "" {
		return t.stateIndex(g.State)
	}
	key := labelledState{g.State, g.Labels}
	at, known := t.labelled[key]
	if known {
		return at
	}
	if len(t.labelled) >= maxLabelled {
		t.unlabelled++
		return t.stateIndex(g.State)
	}
	if t.labelled == nil {
		t.labelled = map[labelledState]uint16{}
	}
	entry := analysis.Labelled(g.State, analysis.LabelsOf(goroutine.ParseLabels(g.Labels)))
	at, known = t.state[entry]
	if !known {
		at = uint16(len(t.states))
		t.states = append(t.states, entry)
		t.state[entry] = at
	}
	t.labelled[key] = at
	return at
}

// countLabels counts the labels of each family of a dump that was read.
func (t *textDump) countLabels() {
	if len(t.labelled) == 0 {
		return
	}
	sets := labelSets{}
	for _, c := range t.stacks {
		for i, state := range c.States() {
			if _, labels := analysis.CutLabels(t.states[state]); labels != "" {
				sets.add(c.family, labels, c.counts[i])
			}
		}
	}
	t.labels = sets.counts()
}

// labelSets are the numbers of goroutines with each label set, by the fingerprint of their family.
type labelSets map[string]map[analysis.Labels]int

func (s labelSets) add(family *analysis.Family, labels analysis.Labels, n int) {
	of := s[family.Fingerprint]
	if of == nil {
		of = map[analysis.Labels]int{}
		s[family.Fingerprint] = of
	}
	of[labels] += n
}

// counts is for analysis.Snapshot.
func (s labelSets) counts() map[string][]analysis.LabelCount {
	out := make(map[string][]analysis.LabelCount, len(s))
	for print, sets := range s {
		out[print] = analysis.LabelCounts(sets)
	}
	return out
}

// tooManyLabels says of how many goroutines the labels were not kept.
func (r *reader) tooManyLabels(path string, n int) {
	if n == 0 {
		return
	}
	r.problem(analysis.Problem{
		Path: path, Offset: -1, Severity: analysis.Note, What: "the labels of " + wording.Plural(n, "goroutine", "goroutines") + " were not kept",
		Why: fmt.Sprintf("%d sets of labels and states of one dump are told apart, and it has more", maxLabelled), Hint: "nothing: the goroutines are counted; labels with few values split a growth",
	})
}

func (t *textDump) stateIndex(word string) uint16 {
	if word != t.word || len(t.states) == 0 {
		t.word, t.wordIndex = word, t.indexOf(word)
	}
	return t.wordIndex
}

func (t *textDump) indexOf(word string) uint16 {
	state, known := t.state[word]
	if known {
		return state
	}
	if len(t.states)-len(t.labelled) >= maxStates {
		word = "" // which is known from now on
		if state, known = t.state[word]; known {
			return state
		}
	}
	state = uint16(len(t.states))
	t.states = append(t.states, word)
	t.state[word] = state
	return state
}

func (t *textDump) count(g *goroutine.Goroutine) {
	d := &t.dump
	d.Headers++
	d.Refused += g.Refused
	d.MaxID = max(d.MaxID, g.ID)
	switch {
	case g.ID <= 0:
		d.Zero++
		return
	case g.System:
		d.System++
	default:
		d.Goroutines++
	}
	t.border.Add(g.ID)
}
