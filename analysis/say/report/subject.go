package report

import (
	"cmp"
	"slices"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/read/family"
	"leakdiff/analysis/say/noun"
	"leakdiff/analysis/say/wording"
)

// subject is the thing that a diagnosis is about, in words and figures.
type subject struct {
	// one and many name it, and place says where: "goroutines" and " in main.run". began and
	// ended are participles: started and stopped.
	one, many, place, began, ended string
	// remedy is what ends them, "" if nothing general is known.
	remedy string
	// connection reports ends of connections, which are opened at a rate; accepted those that
	// a peer dialled.
	connection, accepted bool
	// peerClosed reports connections that the peer has closed and the process has not.
	peerClosed bool
	// each is what one of them keeps, "" for nothing beside itself.
	each string
	// counts are per snapshot. came and went are followed since the first snapshot; they are
	// valid if followed is set.
	counts     analysis.Counts
	came, went int
	followed   bool
	// moved of those that came were there at the first capture, in another state. away left for
	// another state.
	moved, away int
	// until is the last capture that shows who is still there, if they are followed.
	until int
	// identity says by what they are followed: "goroutine id", "inode". reused reports that a
	// later one may have the same.
	identity string
	reused   bool
}

// sure is how sure it is that each is the same as before, and why.
func (s *subject) sure() (word, reason string) {
	if s.reused {
		return likely, "every " + s.identity
	}
	return certain, "every " + s.identity
}

// words are a number of them, "58 informer factories"; all names them, "informer factories".
func (s *subject) words(n int) string { return wording.Plural(n, s.one, s.many) + s.place }
func (s *subject) all() string        { return s.many + s.place }

// subjectOf is the subject of a finding: its objects, else the first of its families.
func (s *Series) subjectOf(nouns noun.List, f *Finding) subject {
	lead := s.lead(f)
	if f.Key != nil {
		return s.subjectOfKey(nouns, f)
	}
	if lead.isCommand() && s.waitsFor(lead) {
		nouns = nil // it is said of commands that nobody waits for
	}
	if o := s.objectOf(f, lead); o != nil && !(lead != nil && lead.Counts.ClimbsAfter(o.Counts.LastAt())) {
		return s.subjectOfObject(nouns, f, o, lead)
	}
	if lead == nil {
		return subject{one: f.Title, many: f.Title, began: "started", ended: "ended", counts: f.Counts}
	}
	out := s.nameOf(nouns, lead, f)
	out.counts = lead.Counts
	out.lives(lead.Life)
	out.follow(lead.Kind.Worded(lead.Attributes), lead.Evidence)
	return out
}

// lives sets who came and left, if identities show it.
func (s *subject) lives(l *analysis.Life) {
	if l != nil {
		s.came, s.moved, s.went, s.away, s.followed, s.until = l.Born, l.Moved, l.Gone, l.Away, true, l.End
	}
}

// follow sets how members of a kind are followed, as evidence shows it.
func (s *subject) follow(kind analysis.Kind, evidence []Evidence) {
	s.identity = identities[kind]
	if slices.ContainsFunc(evidence, func(e Evidence) bool { return e.Identity == analysis.Ends }) {
		s.identity, s.reused = ownEnds, true
	}
}

// ownEnds is how a socket of a table without inodes is followed.
const ownEnds = "one tracked by its addresses and ports"

// identities are how members of a kind are followed.
var identities = map[analysis.Kind]string{
	analysis.KindGoroutine: "goroutine tracked by id", analysis.KindThread: "thread tracked by id",
	analysis.KindDescriptor: "descriptor tracked by inode or number", analysis.KindWatch: "watch tracked by its descriptor or handle",
	analysis.KindChild: "child process tracked by pid",
}

// identity is how objects are followed: by that of their first part, which goroutines and
// threads keep, and by inode where a connection makes them one.
func (o *Object) identity() string {
	if len(o.Each) == 0 {
		return identities[analysis.KindGoroutine]
	}
	switch o.Level {
	case analysis.ByInode, analysis.ByEndpoint:
		return "one tracked by inode"
	case analysis.ByEnds:
		return ownEnds
	}
	return identities[o.Each[0].Kind]
}

// objectOf is the kind of objects that a finding is about: the one that it names, else one
// that rose and consists of families of the finding, of the kind of the first of them.
func (s *Series) objectOf(f *Finding, lead *Family) *Object {
	if f.Key != nil {
		return nil
	}
	if o := s.object(f.Object); o != nil {
		return o
	}
	if lead == nil {
		return nil
	}
	for i := range s.Objects {
		o := &s.Objects[i]
		if !o.Verdict.Rose() || o.Orphaned || len(o.Each) == 0 || o.Each[0].Kind != lead.Kind || !o.covers(lead) {
			continue
		}
		if o.Level == analysis.ByGoroutine && slices.ContainsFunc(o.Families, func(print string) bool { return !slices.Contains(f.Families, print) }) {
			continue // others have the rest of them, and start it elsewhere
		}
		for _, print := range f.Families {
			for _, own := range o.Families {
				if own == print {
					return o
				}
			}
		}
	}
	return nil
}

func (s *Series) subjectOfObject(nouns noun.List, f *Finding, o *Object, lead *Family) subject {
	var names []string
	for _, h := range o.Holders {
		if h.Role == analysis.CreatedBy {
			names = append(names, h.Type)
		}
	}
	names = append(names, o.Type, o.Name)
	if o.Parts() == 1 && o.Level != analysis.ByGoroutine && len(o.Each[0].Roles) == 1 && strings.HasPrefix(o.Each[0].Roles[0].Role, o.Type+".") {
		names = append(names, o.Each[0].Roles[0].Role) // a method of it is all that runs
	}
	name := strings.TrimPrefix(o.Name, "*")
	out := subject{one: name + " object", many: name + " objects", began: "created", ended: "ended"}
	if !strings.ContainsAny(o.Name, ".*") { // it is in words
		out = subject{one: o.Name, many: o.Name + "s", began: "opened", ended: "closed"}
		if first, rest, of := strings.Cut(o.Name, " of "); of {
			out.many = first + "s of " + rest
		}
	}
	parts := 0
	for _, p := range o.Each {
		parts += p.N
	}
	switch n := nouns.Of(names...); {
	case n != nil:
		out.one, out.many, out.began, out.ended, out.remedy = n.One, n.Many, n.Began, n.Ended, n.Remedy
	case strings.HasSuffix(o.Type, " connection"):
		if f, itself := s.ends(o); f != nil {
			out = connections(f, itself)
		}
	case strings.HasSuffix(o.Type, " thread pools"):
		out.one, out.many, out.ended = o.Name+" thread pool", o.Name+" thread pools", "shut down"
	case lead != nil && (o.Level == analysis.ByGoroutine || parts == 1 && family.OfStandardLibrary(o.Type)):
		out = s.nameOf(nouns, lead, f) // the type of a library names nobody's code
	}
	out.counts = o.Counts
	came, followed := inEpoch(o.Born, o.Counts)
	went, _ := inEpoch(o.Ended, o.Counts)
	out.until = o.Counts.LastAt()
	out.came, out.went, out.followed = came, went, followed
	if !followed && lead != nil && slices.Equal(lead.Counts, o.Counts) {
		out.lives(lead.Life) // one part each can be followed
	}
	out.identity, out.reused = o.identity(), o.Level == analysis.ByEnds
	if (parts > 1 || len(o.InStep) > 0) && !out.connection {
		out.each = o.keeps(s, out.one, f.Families)
	}
	return out
}

// keeps words what one object keeps, one kind at a time: "12 goroutines and 1 connection".
// What the object itself is, one goroutine, is not told. families are those of its finding: goroutines of
// own code among them come with it.
func (o *Object) keeps(s *Series, itself string, families []string) string {
	counts := map[string]int{}
	var order []string
	add := func(one, many string, n int) {
		if _, have := counts[one+"/"+many]; !have {
			order = append(order, one+"/"+many)
		}
		counts[one+"/"+many] += n
	}
	for _, p := range o.Each {
		if string(p.Kind) == itself && p.N == 1 {
			continue
		}
		add(string(p.Kind), wording.Kinds(p.Kind), p.N)
	}
	for _, x := range o.InStep {
		n := int(x.Ratio)
		f := s.family(x.Fingerprint)
		if float64(n) != x.Ratio || n == 0 || f == nil || x.Kind == analysis.KindThread || f.Attributes["role"] == "server" || x.Kind == analysis.KindGoroutine && (library(f) || !slices.Contains(families, x.Fingerprint)) {
			continue // equal numbers alone do not make it a part
		}
		one, many := string(x.Kind), wording.Kinds(x.Kind)
		if f.Attributes["protocol"] != "" && f.Attributes["remote"] != "" {
			if slices.ContainsFunc(o.Each, func(p ObjectParts) bool { return p.Kind == analysis.KindDescriptor }) {
				continue // its own one is told, and the other end of it rises as well
			}
			if !strings.HasSuffix(itself, "connection") { // which keeps its descriptor, not one of itself
				one, many = "connection", "connections"
			}
		}
		add(one, many, n)
	}
	var words []string
	for _, key := range order {
		one, many, _ := strings.Cut(key, "/")
		words = append(words, wording.Plural(counts[key], one, many))
	}
	if len(words) == 1 && (words[0] == "1 goroutine" || words[0] == "1 thread") {
		return "" // it is that one
	}
	return wording.List(words, len(words))
}

func (s *Series) family(fingerprint string) *Family {
	for i := range s.Families {
		if s.Families[i].Fingerprint == fingerprint {
			return &s.Families[i]
		}
	}
	return nil
}

// connections names connections by their ends, as one of them shows them. itself reports that
// both ends are of the process.
//
//	client to 127.0.0.1:42635                  connections to 127.0.0.1:42635
//	server on 127.0.0.1:80 for 127.0.0.1       connections from 127.0.0.1 to 127.0.0.1:80
//	both ends in this process                  connections to itself (127.0.0.1:80)
func connections(f *Family, itself bool) subject {
	out := subject{one: "connection", many: "connections", began: "opened", ended: "closed", connection: true}
	local, remote := f.Attributes["local"], f.Attributes["remote"]
	switch {
	case itself:
		out.place = " to itself (" + cmp.Or(local, remote) + ")"
	case f.Attributes["role"] == "server" && remote != "":
		out.accepted, out.place = true, " from "+remote+" to "+local
	case f.Attributes["role"] == "server":
		out.accepted, out.place = true, " to "+local
	case remote != "":
		out.place = " to " + remote
	default:
		out.place = " (" + f.Title + ")"
		return out
	}
	if state := f.Attributes["state"]; state != "" && state != "ESTABLISHED" {
		out.place += " in " + state
		out.peerClosed = state == "CLOSE_WAIT"
	}
	return out
}

// ends are the family that shows the ends of a connection, the client's before the server's, and
// whether both ends are of the process. The family is nil where none shows them.
func (s *Series) ends(o *Object) (f *Family, itself bool) {
	roles := map[string]bool{}
	for _, print := range o.Families {
		x := s.family(print)
		if x == nil || x.Attributes["protocol"] == "" {
			continue
		}
		if roles[x.Attributes["role"]] = true; f == nil || x.Attributes["role"] == "client" {
			f = x
		}
	}
	return f, roles["client"] && roles["server"]
}

// nameOf is the subject that a family gives: by the noun of the call that it is in, of what
// created it or of its first function, by own code, or by its function.
func (s *Series) nameOf(nouns noun.List, f *Family, finding *Finding) subject {
	out := subject{began: "started", ended: "ended"}
	switch {
	case f.isTotal() && f.Attributes["state"] != "":
		out = connections(f, false)
		out.place = " in " + f.Attributes["state"]
		out.peerClosed = f.Attributes["state"] == "CLOSE_WAIT"
		return out
	case f.isTotal() && f.Kind == analysis.KindCount:
		out.one, out.many = "a count", "a count"
		return out
	case f.isTotal():
		if out.one, out.many = string(f.Kind), wording.Kinds(f.Kind); analysis.IsInFunction(f.Attributes) {
			out.place = " in " + shortRole(f.Title)
		}
		return out
	}
	title, creator := cmp.Or(f.Name, f.Title), f.Starter
	if n := nounOf(nouns, f, title); n != nil {
		out.one, out.many, out.began, out.ended, out.remedy = n.One, n.Many, n.Began, n.Ended, n.Remedy
		if f.Executors >= fewestExecutors && f.Executors == f.Counts.Last() {
			out.one, out.many, out.began, out.ended = "thread in a pool of its own", "threads in pools of 1 each", "started", "ended"
		} else if f.OneExecutor {
			out.one, out.many, out.remedy = "thread of one executor without a name", "threads of one executor without a name", boundExecutor
		}
		if n.Within && f.Kind == analysis.KindGoroutine {
			if where := where(finding, title); !strings.HasSuffix(f.entry(), where) {
				out.place = " in " + where
			}
		}
		return out
	}
	switch f.Kind {
	case analysis.KindGoroutine:
		where := where(finding, title)
		if where == title && ofLibrary(f) && creator != "" {
			out.one, out.many, out.place = "goroutine", "goroutines", " started by "+creator
			return out
		}
		out.one, out.many, out.place = "goroutine", "goroutines", " in "+where
		if without, ok := strings.CutPrefix(where, "goroutine "); ok {
			out.place = " " + without // "without frames"
		}
	case analysis.KindThread:
		out.one, out.many, out.place = "thread", "threads", " “"+f.Title+"”"
		if f.Attributes["sort"] == string(analysis.VirtualThread) {
			out.one, out.many = "virtual thread", "virtual threads"
			if _, frame, shown := strings.Cut(f.Title, " · "); shown && f.Attributes["name"] == "" {
				out.place = " in " + frame
			}
		}
	case analysis.KindDescriptor:
		if f.Attributes["protocol"] != "" {
			return connections(f, false)
		}
		if f.unnamed() {
			one := f.Title
			return subject{one: one, many: strings.Replace(one, "descriptor", "descriptors", 1), began: "opened", ended: "closed"}
		}
		out = subject{one: "descriptor", many: "descriptors", place: " “" + f.Title + "”", began: "opened", ended: "closed"}
	case analysis.KindWatch:
		out = subject{one: "inotify watch", many: "inotify watches", place: " " + cmp.Or(f.Name, f.Title), began: "added", ended: "removed"}
		switch {
		case f.isChildProcess():
			out = subject{one: "child process", many: "child processes", began: "started", ended: "ended", remedy: endChild}
		case f.Attributes["handle"] != "": // of Node
			out.one, out.many, out.place = "watch of a file", "watches of files", ""
		}
	}
	return out
}

// unnamed reports descriptors of which fdinfo shows the flags and no listing the names.
func (f *Family) unnamed() bool {
	return f.Kind == analysis.KindDescriptor && f.Attributes["access"] != ""
}

// nounOf is the noun of a family, or nil. Connections are named by their ends.
func nounOf(nouns noun.List, f *Family, title string) *noun.Noun {
	if f.Kind == analysis.KindDescriptor && f.Attributes["protocol"] != "" {
		return nil
	}
	if n := nouns.Call(f.Frames); n != nil {
		return n
	}
	return nouns.Of(f.CreatedBy, f.entry(), title)
}

// entry is the function that a goroutine or thread began with.
func (f *Family) entry() string {
	if len(f.Frames) == 0 {
		return ""
	}
	return f.Frames[len(f.Frames)-1]
}

// where is the function that members of a family are in: the first of own code that has a name, else
// the place of a literal of own code, else the function of its title.
func where(finding *Finding, title string) string {
	if finding == nil {
		return title
	}
	place := ""
	for i := range finding.Stack {
		frame := &finding.Stack[i]
		switch {
		case !frame.Own || frame.CreatedBy:
		case !ofInit(frame.Function):
			return shortRole(frame.Function)
		case place == "":
			place = frame.place()
		}
	}
	return cmp.Or(place, title)
}

// ofInit reports a function literal of the initialisation of a package, whose name tells a reader
// nothing.
//
//	main.init.1.func11.every.init.1.func11.1.2, main.init.func3, main.glob..func1
func ofInit(function string) bool {
	_, name, _ := strings.Cut(shortRole(function), ".")
	return strings.HasPrefix(name, "init.") || strings.HasPrefix(name, "glob..")
}

// ofLibrary reports a family whose frames are of the standard library alone: its function is
// a helper and names nothing.
func ofLibrary(f *Family) bool {
	for _, frame := range f.Frames {
		first, _, _ := strings.Cut(frame, "/")
		if strings.Contains(first, ".") && strings.Contains(frame, "/") || strings.HasPrefix(frame, "main.") {
			return false
		}
	}
	return len(f.Frames) > 0
}

// inEpoch adds up what is known of the start of the process at which the count was highest:
// who came before a restart is not there after it. Values are nil where a start begins.
func inEpoch(values, counts analysis.Counts) (n int, known bool) {
	peak := counts.LastAt()
	if top := counts.HighestAt(); top >= 0 && counts[top].N > counts[peak].N {
		peak = top
	}
	for i, v := range values {
		switch {
		case v.Known():
			n, known = n+v.N, true
		case counts[i].Known() && i > peak:
			return n, known
		case counts[i].Known():
			n = 0
		}
	}
	return n, known
}
