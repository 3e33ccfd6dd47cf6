package analysis

// Kind is the kind of a family's members.
type Kind string

// The kinds of families.
const (
	KindGoroutine  Kind = "goroutine"
	KindThread     Kind = "thread"
	KindDescriptor Kind = "descriptor"
	KindWatch      Kind = "watch"
)

// KindSocket words the descriptors of a process of which only the sockets were captured.
// No family has it.
const KindSocket Kind = "socket"

// KindHandle words the descriptors of a process of which only the handles of an event loop were
// captured: sockets, pipes and terminals, never files. No family has it.
const KindHandle Kind = "socket or pipe"

// KindChild words the watches of a process of which all are child processes: an event loop watches
// each for its end. The families of KindWatch with ChildHandle are theirs.
const KindChild Kind = "child process"

// ChildHandle is the attribute "handle" of the family of child processes.
const ChildHandle = "process"

// Worded is the kind as the members of a family with these attributes are worded.
func (k Kind) Worded(attributes map[string]string) Kind {
	if k == KindWatch && attributes["handle"] == ChildHandle {
		return KindChild
	}
	return k
}

// KindCount is that of numbers of which nothing says what they are of.
const KindCount Kind = "count"

// KindObject is that of the objects of one type, which are counted over all hosts as the
// members of a family are. No snapshot has a family of it.
const KindObject Kind = "object"

// Kinds lists every kind in the order in which pages show them.
func Kinds() []Kind { return []Kind{KindGoroutine, KindThread, KindDescriptor, KindWatch} }
