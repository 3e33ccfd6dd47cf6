package family

import (
	"sort"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/expression"
)

// listener is the type of every socket that waits for connections: it is one per
// service and must not be counted among the connections of its protocol.
const listener = "listener"

// OfDescriptor returns the family of an open descriptor, whatever listed it. watches is
// the number of inotify watches that the descriptor holds, -1 if that is not known.
// Kernel object names that change at every run ("[eventpoll:16,20]") and ephemeral
// ports are not part of any key.
func (s *Sockets) OfDescriptor(d analysis.Descriptor, watches int) *analysis.Family {
	if hasEnds(&d) {
		if c, ok := connectionOf(d); ok {
			return s.ofConnection(c)
		}
	}
	return s.known.descriptor(&d, watches, ofNoConnection)
}

// ofNoConnection is the family of a descriptor that is no Internet socket with ends.
func ofNoConnection(p *analysis.Descriptor, watches int) *analysis.Family {
	d := *p
	name, deleted := cutDeleted(d)
	switch kind := strings.ToLower(d.Type); {
	case kind == "unix" || strings.HasPrefix(name, "type=") || unixName.MatchString(name):
		return ofUnix(d, name)
	case kind != "socket" && internetProtocol(d) != "" && inodeName.MatchString(name):
		return ofUnlistedSocket(d)
	case isAnonymous(kind, name):
		return ofAnonymous(d, name, watches)
	case isPipe(kind, name):
		return ofPipe(name)
	case kind == "namespace" || namespaceName.MatchString(name):
		space, _, _ := strings.Cut(name, ":")
		return plainFamily("namespace", space, space+" namespace")
	case kind == "memfd" || strings.HasPrefix(name, "/memfd:"):
		return plainFamily("memfd", PathPattern(strings.TrimPrefix(name, "/memfd:")), "memfd "+PathPattern(strings.TrimPrefix(name, "/memfd:")))
	case kind == "socket" || kind == "sock" || internetProtocol(d) != "" || strings.HasPrefix(name, "socket:["):
		return ofUnknownSocket(d, name)
	case strings.HasPrefix(name, "/") || kind == "fifo":
		return ofFile(kind, name, deleted)
	}
	return ofOther(d, name)
}

// cutDeleted splits the mark of an unlinked file from a name.
//
//	"/tmp/x (deleted)" = "/tmp/x", true
func cutDeleted(d analysis.Descriptor) (name string, deleted bool) {
	name, cut := strings.CutSuffix(strings.TrimSpace(d.Name), " (deleted)")
	return name, cut || d.Deleted
}

// plainFamily is a descriptor family whose key is its type and name.
func plainFamily(kind, name, title string) *analysis.Family {
	f := &analysis.Family{
		Fingerprint: digest("d", key("d", kind, name)),
		Kind:        analysis.KindDescriptor, Title: title, Entry: title,
		Attributes: map[string]string{"type": kind},
	}
	if name != "" {
		f.Attributes["name"] = name
	}
	return f
}

var (
	// lsof: "PATH type=STREAM ->INO=1 14406,zoo,43u (CONNECTED)", each part optional.
	unixName = expression.Lazy(`(^|\s)type=(STREAM|DGRAM|SEQPACKET)\b`)
	// The ends that lsof -E appends: pid, command, descriptor.
	peerList = expression.Lazy(`(?:\s+|^)(\d+),([^,]+),\d+[rwuRWU]?`)
	stateEnd = expression.Lazy(`\(([A-Z_-]+)\)\s*$`)

	// The name of a socket by its inode alone, of fd links and of lsfd.
	inodeName = expression.Lazy(`^(socket|[A-Z][A-Za-z0-9_-]*):\[\d+\]$`)

	namespaceName = expression.Lazy(`^(cgroup|ipc|mnt|net|pid|pid_for_children|time|time_for_children|user|uts):\[\d+\]$`)
)

// ofUnix keys a unix socket by its sort, path or peer, and state; a socket that
// listens is another thing than its connections.
func ofUnix(d analysis.Descriptor, name string) *analysis.Family {
	path, sort := name, unixSort(d.Protocol)
	state := socketState(d.State)
	if at := unixName.FindStringSubmatchIndex(name); at != nil {
		path, sort = name[:at[0]], strings.ToLower(name[at[4]:at[5]])
	}
	if m := stateEnd.FindStringSubmatch(name); m != nil && state == "" {
		state = socketState(m[1])
	}
	if state == "ESTABLISHED" {
		state = "CONNECTED"
	}
	if inodeName.MatchString(path) || path == "socket" || path == "*" {
		path = d.Local // of a socket table
	}
	path = PathPattern(strings.TrimSpace(path))
	peer := ""
	if path == "" {
		peer = peers(name)
	}
	kind, title := "unix", "unix "+strings.TrimSpace(sort+" socket")
	if state == "LISTEN" {
		kind, title = listener, "listener"
	}
	switch {
	case path != "":
		title += " at " + path
	case peer != "":
		title += " to " + peer
	default:
		title += " without a path"
	}
	f := plainFamily(kind, "", title)
	f.Fingerprint = digest("d", key("d", "unix", sort, path, peer, state))
	if state != "" && state != "LISTEN" {
		f.Title += ", " + state
	}
	for name, value := range map[string]string{"protocol": sort, "path": path, "peer": peer, "state": state} {
		if value != "" {
			f.Attributes[name] = value
		}
	}
	if state == "LISTEN" {
		f.Attributes["role"] = roleListen
	}
	return f
}

// unixSort is the socket type in lower case, whatever the listing calls it.
//
//	"u_str" = "stream"
func unixSort(protocol string) string {
	switch p := strings.ToLower(protocol); p {
	case "u_str", "stream":
		return "stream"
	case "u_dgr", "dgram":
		return "dgram"
	case "u_seq", "seqpacket":
		return "seqpacket"
	}
	return ""
}

// peers are the commands at the other ends, each once.
//
//	"pipe 14406,zoo,17w 14409,bash,16r" = "bash zoo"
func peers(name string) string {
	found := map[string]bool{}
	for _, m := range peerList.FindAllStringSubmatch(name, -1) {
		found[m[2]] = true
	}
	var out []string
	for command := range found {
		out = append(out, command)
	}
	sort.Strings(out)
	return strings.Join(out, " ")
}

// isAnonymous recognises the kernel's own files, which have no path.
func isAnonymous(kind, name string) bool {
	if kind == "anon" || kind == "a_inode" || strings.HasPrefix(name, "anon_inode:") {
		return true
	}
	return strings.HasPrefix(name, "[") && strings.HasSuffix(name, "]")
}

// ofAnonymous keys a kernel object by its bare type: what lsof puts into the
// brackets changes at every run.
func ofAnonymous(d analysis.Descriptor, name string, watches int) *analysis.Family {
	bare, detail := bareType(name)
	title := bare + " descriptor"
	var attribute, value string
	switch bare {
	case "inotify":
		attribute, value, title = "watches", watchClass(watches), "inotify instance"
		if value != "" {
			title += " with " + strings.Replace(value, "many", "several", 1)
		}
	case "pidfd":
		attribute, value, title = "status", pidfdStatus(d, detail), "pidfd"
		if value != "" {
			title += " of a process that is " + value
		}
	}
	f := plainFamily("anon_inode", bare, title)
	if value != "" {
		f.Fingerprint = digest("d", key("d", "anon_inode", bare, value))
		f.Attributes[attribute] = value
		f.Entry = bare
	}
	return f
}

// bareType is the kernel's name of an anonymous file and what a listing added.
//
//	"anon_inode:[eventpoll]" = "eventpoll", ""
//	"[pidfd:14409]"          = "pidfd", "14409"
//	"anon_inode:inotify"     = "inotify", ""
func bareType(name string) (bare, detail string) {
	name = strings.TrimPrefix(name, "anon_inode:")
	name = strings.TrimSuffix(strings.TrimPrefix(name, "["), "]")
	bare, detail, _ = strings.Cut(name, ":")
	if bare == "" {
		bare = "unknown"
	}
	return bare, detail
}

// watchClass sorts inotify instances. Growing empty ones are a sign of their own, and a
// program with one instance for all watches differs from one with many.
func watchClass(watches int) string {
	switch {
	case watches < 0:
		return ""
	case watches == 0:
		return "no watch"
	case watches == 1:
		return "one watch"
	}
	return "many watches"
}

// pidfdStatus is "dead" for the pidfd of a process that was waited for, of which fdinfo prints -1. The
// number of any other says nothing: one that ended keeps it until then.
func pidfdStatus(d analysis.Descriptor, detail string) string {
	if strings.EqualFold(d.State, "dead") || detail == "-1" {
		return "dead"
	}
	return ""
}

func isPipe(kind, name string) bool {
	return kind == "pipe" || name == "pipe" || strings.HasPrefix(name, "pipe:[") || kind == "fifo" && strings.HasPrefix(name, "pipe ")
}

// ofPipe keys an anonymous pipe by the commands at its ends, if they were
// listed.
func ofPipe(name string) *analysis.Family {
	peer := peers(name)
	if peer == "" {
		return plainFamily("pipe", "", "pipe")
	}
	f := plainFamily("pipe", "", "pipe with "+peer)
	f.Fingerprint = digest("d", key("d", "pipe", peer))
	f.Attributes["peer"] = peer
	return f
}

// ofFile keys everything that has a path by its pattern. Only FIFOs are separated from
// the rest, since links of /proc/PID/fd show no more than the path.
func ofFile(kind, name string, deleted bool) *analysis.Family {
	if kind == "fifo" {
		if at := peerList.FindStringIndex(name); at != nil {
			name = name[:at[0]]
		}
	}
	path := PathPattern(name)
	attributes := map[string]string{"type": "file", "path": path}
	title := path
	if kind == "fifo" {
		attributes["type"], title = "FIFO", "FIFO "+path
	}
	mark := ""
	if deleted {
		mark = "deleted"
		attributes["status"] = mark
		title += " (deleted)"
	}
	return &analysis.Family{
		Fingerprint: digest("d", key("d", attributes["type"], path, mark)),
		Kind:        analysis.KindDescriptor, Title: title, Entry: path, Attributes: attributes,
	}
}

// ofUnlistedSocket keys a socket whose protocol the listing knows and whose ends it
// leaves out. Nobody looked the ends up, which is no evidence about the socket.
//
//	tcp, "TCP:[314882]" = TCP socket whose ends were not listed
func ofUnlistedSocket(d analysis.Descriptor) *analysis.Family {
	protocol, state := internetProtocol(d), socketState(d.State)
	f := plainFamily(strings.ToLower(protocol), "", protocol+" socket whose ends were not listed")
	f.Fingerprint = digest("d", key("d", "unlisted socket", protocol, state))
	f.Attributes["protocol"] = protocol
	if state != "" {
		f.Attributes["state"] = state
		f.Title += ", " + state
	}
	return f
}

// ofUnknownSocket keys a socket that is in no table of the network namespace:
// unbound, closed, or of another namespace.
//
//	"protocol: MPTCP" = socket outside the net tables, MPTCP
func ofUnknownSocket(d analysis.Descriptor, name string) *analysis.Family {
	protocol := strings.ToUpper(d.Protocol)
	if p, ok := strings.CutPrefix(name, "protocol: "); ok {
		protocol = strings.ToUpper(strings.TrimSpace(p))
	}
	title := "socket whose ends are not known"
	if protocol != "" {
		title = protocol + " socket outside the net tables"
	}
	f := plainFamily("socket", "", title)
	f.Fingerprint = digest("d", key("d", "unknown socket", protocol))
	if protocol != "" {
		f.Attributes["protocol"] = protocol
	}
	return f
}

// ofOther keeps what no rule knows by its type: netlink, packet and raw sockets,
// kqueues, and whatever listings will show next.
func ofOther(d analysis.Descriptor, name string) *analysis.Family {
	kind := strings.ToLower(d.Type)
	switch kind {
	case "netlink", "packet", "raw":
		return plainFamily(kind, "", kind+" socket")
	case "kqueue":
		return plainFamily(kind, "", kind)
	case "":
		kind = "unknown"
	}
	if access := unnamedAccess(&d); access != "" {
		f := plainFamily(kind, "", openedFor[access])
		f.Fingerprint = digest("d", key("d", kind, "", access))
		f.Attributes["access"] = access
		return f
	}
	pattern := PathPattern(name)
	return plainFamily(kind, pattern, strings.TrimSpace(kind+" "+pattern))
}

// openedFor words what fdinfo alone says of a file: by its flags what it was opened for.
var openedFor = map[string]string{"r": "descriptor open for reading", "w": "descriptor open for writing", "u": "descriptor open for reading and writing"}

// unnamedAccess is how a descriptor was opened of which neither name nor type is known, "" for
// any other.
func unnamedAccess(d *analysis.Descriptor) string {
	if openedFor[d.Access] == "" || d.Name != "" || strings.ToLower(d.Type) != "unknown" {
		return ""
	}
	return d.Access
}
