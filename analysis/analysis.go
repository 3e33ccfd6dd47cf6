// Package analysis defines the words of leakdiff: the contents of a bundle and the
// results about them. Parsers fill these types, and analyses read them. The package
// knows neither formats nor storage. It imports only the standard library.
package analysis

import (
	"cmp"
	"strconv"
	"strings"
	"time"
)

// Confidence is how far a derived value can be believed.
type Confidence string

// High comes from inside the data, Medium from siblings and manifests, Low from file
// times, archive names and order.
const (
	Low    Confidence = "low"
	Medium Confidence = "medium"
	High   Confidence = "high"
)

// Fact is a derived value with its source in words. It is empty if nothing is known.
type Fact struct {
	Value      string     `json:"value"`
	Source     string     `json:"source,omitempty"`
	Confidence Confidence `json:"confidence,omitempty"`
}

// Known reports whether the fact has a value.
func (f Fact) Known() bool { return f.Value != "" }

// Process identifies the process of a snapshot, as far as it is known.
type Process struct {
	Host Fact `json:"host"`
	Name Fact `json:"name"`
	// PID is decimal.
	PID Fact `json:"pid"`
	// Start is the start time in ticks since boot (/proc/PID/stat field 22), or an RFC
	// 3339 time. It is only compared for equality.
	Start Fact `json:"start"`
	// Version is a hint for people, never part of a key.
	Version Fact `json:"version"`
	// Called is the main class or jar of a JVM and the script of Node.js, by which a person
	// knows the process. It is never part of a key: some captures of a process show it.
	Called Fact `json:"called,omitzero"`
	// Ours is set where a person says that the program is their own, whose code they can change.
	Ours bool `json:"ours,omitempty"`
}

// Release is the version of the program itself, without that of its runtime:
//
//	"v1.34.4, go1.26.8" = "v1.34.4", "go1.26.8" = "", "(devel), go1.26.8" = ""
func (p Process) Release() string {
	first, _, _ := strings.Cut(p.Version.Value, ", ")
	if first == "(devel)" || first == "devel" || first == "unknown" || strings.HasPrefix(first, "go1.") || strings.HasPrefix(first, "Node.js ") {
		return ""
	}
	return first
}

// Key identifies the series of a snapshot of p: host and program.
func (p Process) Key() string { return p.Host.Value + "\x00" + p.Name.Value }

// Frame is one line pair of a stack. The function name is as printed, without arguments
// and offsets. Line is 0 if unknown.
type Frame struct {
	Func string `json:"func"`
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
}

// TooManyStacks is the Unavailable text of the stack that represents all stacks that a
// parser did not keep.
const TooManyStacks = "too many distinct stacks"

// Stack is a goroutine's or thread's stack, leaf first.
type Stack struct {
	Frames []Frame `json:"frames"`
	// CreatedBy is the zero Frame if no creator was printed.
	CreatedBy Frame `json:"created_by,omitzero"`
	// Elided counts the frames that the runtime left out ("...51 frames elided..."). It
	// is -1 for an unknown number.
	Elided int `json:"elided,omitempty"`
	// Unavailable is the text printed instead of frames ("goroutine running on other
	// thread; stack unavailable"), or empty.
	Unavailable string `json:"unavailable,omitempty"`
}

// Place is a position in an artifact. Line counts from 1 and is 0 in binary data.
// Offset and Length are in bytes of the unpacked artifact.
type Place struct {
	// Artifact indexes Snapshot.Artifacts.
	Artifact int   `json:"artifact"`
	Line     int64 `json:"line"`
	Offset   int64 `json:"offset"`
	Length   int64 `json:"length"`
}

// Severity grades problems.
type Severity string

// A Note costs nothing, a Warning some evidence, an Error the artifact.
const (
	Note    Severity = "note"
	Warning Severity = "warning"
	Error   Severity = "error"
)

// Problem is something not understood or not believed: where, what, why and what to do.
// Line is 0 and Offset -1 if they do not apply.
type Problem struct {
	Path     string   `json:"path"`
	Line     int64    `json:"line"`
	Offset   int64    `json:"offset"`
	Severity Severity `json:"severity"`
	// Code names the kinds of problems that later stages look for, "" for all others.
	Code ProblemCode `json:"code,omitempty"`
	What string      `json:"what"`
	Why  string      `json:"why"`
	Hint string      `json:"hint"`
}

// ProblemCode is a kind of problem in snake case.
type ProblemCode string

// The codes of problems. All but NoDumps and EmptyFiles are about the file at Path alone.
const (
	EmptyFile ProblemCode = "empty_file"
	// EmptyFiles sums up several empty files. Path is the first of them.
	EmptyFiles ProblemCode = "empty_files"
	NoDump     ProblemCode = "no_dump"
	// NoDumps is about an upload of several files, or of none.
	NoDumps ProblemCode = "no_dumps"
	// CutFile is a packed file or an archive whose end is missing.
	CutFile ProblemCode = "cut_file"
	// CutDump is a dump of goroutines whose end is missing.
	CutDump ProblemCode = "cut_dump"
	// CrashOnly is a crash that shows the failing goroutine and not the others.
	CrashOnly ProblemCode = "crash_only"
	// UnreadableProcesses are those of which a listing does not show what they hold.
	UnreadableProcesses ProblemCode = "unreadable_processes"
)

// Status is the outcome of reading an artifact.
type Status string

// The reading statuses.
const (
	Read    Status = "read"
	Ignored Status = "ignored"
	Empty   Status = "empty"
	Failed  Status = "failed"
)

// Artifact is one file of a bundle after unpacking, or all files of one fdinfo/ or fd/
// directory together. The Path of a directory ends with a slash.
type Artifact struct {
	// Path is the display path inside the bundle: with slashes, "!/" after the name of
	// a nested archive, never absolute, never with "..".
	Path string `json:"path"`
	Kind string `json:"kind"`
	// Reason explains Kind by the content, in a sentence.
	Reason     string     `json:"reason"`
	Confidence Confidence `json:"confidence"`
	Status     Status     `json:"status"`
	// Outcome words what was read ("115 goroutines").
	Outcome string `json:"outcome,omitempty"`
	// Size is in bytes after unpacking.
	Size int64 `json:"size"`
	// Files is the number of files of the artifact, at least 1.
	Files int `json:"files"`
	// Members is the number of goroutines, threads, descriptors or watches read.
	Members int `json:"members"`
	// Watches is the number of inotify watches of an fdinfo artifact.
	Watches int `json:"watches,omitempty"`
	// Rows counts listing rows that are no descriptors (cwd, txt, mem, ...).
	Rows int `json:"rows,omitempty"`
	// Problems is the number of problems that name this artifact.
	Problems int `json:"problems"`
	// SHA256 is the hash of the unpacked content in lower-case hex. For a directory it
	// covers the sorted member names and contents.
	SHA256 string `json:"sha256,omitempty"`
	// Modified is the member's time inside its archive, zero if implausible.
	Modified time.Time `json:"modified,omitzero"`
	// Truncated reports that the content stops before its end.
	Truncated bool `json:"truncated,omitempty"`
}

// Totals are the best complete figures of a snapshot. A figure is nil if that kind was
// not captured.
type Totals struct {
	Goroutines  *int `json:"goroutines"`
	Threads     *int `json:"threads"`
	Descriptors *int `json:"descriptors"`
	Watches     *int `json:"watches"`
	// Sockets is the number of sockets if socket tables alone show the descriptors of
	// the process (netstat -p): Descriptors is nil then.
	Sockets *int `json:"sockets,omitempty"`
	// Handles is the number of sockets, pipes and terminals if a diagnostic report of Node.js
	// alone shows the descriptors of the process: Descriptors is the same number then.
	Handles *int `json:"handles,omitempty"`
	// Children is the number of child processes if the process watches nothing else: Watches is
	// the same number then.
	Children *int `json:"children,omitempty"`
	// Numbers is a count of which nothing says what it is of.
	Numbers *int `json:"numbers,omitempty"`
}

// Of returns the total of a kind, or nil. That of descriptors is of sockets if nothing else was
// captured.
func (t Totals) Of(k Kind) *int {
	switch k {
	case KindGoroutine:
		return t.Goroutines
	case KindThread:
		return t.Threads
	case KindDescriptor:
		return cmp.Or(t.Descriptors, t.Sockets)
	case KindWatch:
		return t.Watches
	case KindCount:
		return t.Numbers
	}
	return nil
}

// Counted is the kind as the total of it is worded: KindSocket if only the sockets among
// the descriptors were captured, KindHandle if only the handles, KindChild if all watches are
// child processes.
func (t Totals) Counted(k Kind) Kind {
	switch {
	case k == KindWatch && t.Children != nil:
		return KindChild
	case k != KindDescriptor:
	case t.Handles != nil:
		return KindHandle
	case t.Descriptors == nil && t.Sockets != nil:
		return KindSocket
	}
	return k
}

// Snapshot is all evidence about one process at one time.
type Snapshot struct {
	// ID is "s" and 26 lower-case base32 characters of a SHA-256 over the process key
	// and the sorted hashes of the artifacts.
	ID      string  `json:"id"`
	Label   string  `json:"label"`
	Process Process `json:"process"`
	// CapturedAt is zero if only an order is known. TimeFact is its source.
	CapturedAt time.Time `json:"captured_at,omitzero"`
	TimeFact   Fact      `json:"time"`
	// Zoneless reports that CapturedAt and Times were read without a zone and taken as
	// UTC. The case may set their zone.
	Zoneless bool `json:"zoneless,omitempty"`
	// Times holds the time of each kind of evidence that differs from CapturedAt.
	Times map[Kind]time.Time `json:"times,omitempty"`
	// Order is the natural position among the snapshots of its bundle.
	Order     int  `json:"order"`
	Truncated bool `json:"truncated"`
	// LowerBound reports that the goroutine or thread figures are those of a cut dump,
	// or of one with Refused members, without a complete twin.
	LowerBound bool `json:"lower_bound,omitempty"`
	// Refused counts blocks of that dump that begin like a goroutine record or thread
	// and were not understood.
	Refused int `json:"refused,omitempty"`
	// Inexact has the kinds of which a part of the evidence is missing, apart from those of
	// a cut dump. See Exactness.
	Inexact Inexact `json:"inexact,omitempty"`
	// Forms is the form of a kind's evidence, if snapshots with more detail cannot be
	// compared with those with less. See the Form constants.
	Forms     map[Kind]string `json:"forms,omitempty"`
	Totals    Totals          `json:"totals"`
	Artifacts []Artifact      `json:"artifacts"`
	// Upload is the name of the file or directory that the paths of Artifacts are below,
	// empty if they begin with it.
	Upload string `json:"-"`
	// Thinned is when a policy of retention dropped the members of all groups. It is zero if
	// none did, or if nobody asked for members.
	Thinned time.Time `json:"-"`
	// Groups are the families present, by fingerprint. Kinds that were not captured
	// have none. See Totals.
	Groups []Group `json:"groups,omitempty"`
	// MaxGoroutineID is 0 without a dump with ids.
	MaxGoroutineID int64 `json:"max_goroutine_id,omitempty"`
	// Signal is the signal that ended the process with its dump: "SIGQUIT", "SIGABRT". It is empty for
	// one that lives, or that failed.
	Signal Signal `json:"signal,omitempty"`
	// Listener tells processes apart. It is zero without a dump that shows one.
	Listener Listener `json:"listener,omitzero"`
	// CPU are the processor times of the threads of each family in milliseconds, by fingerprint
	// and in the order of Group.Members, -1 for one that prints none. It is nil if none does.
	CPU map[string][]int64 `json:"cpu,omitempty"`
	// Figures are named numbers of context: metrics, limits and sysctls
	// ("process_open_fds", "limit_open_files", "inotify_max_user_instances").
	Figures map[string]float64 `json:"figures,omitempty"`
	// Objects are the addresses in frames of waiting goroutines and of those inside the
	// same objects, by fingerprint. It is nil if a dump prints no arguments or nobody
	// waits for a lock.
	Objects map[string][]Object `json:"objects,omitempty"`
	// Passed are the addresses among all arguments of some goroutines' frames that are at most
	// 4096 bytes below a lock which somebody waits for, by fingerprint. Of goroutines that wait
	// for no lock they may be stale. It is nil where Objects is.
	Passed map[string][]Object `json:"passed,omitempty"`
	// Joined are the objects of the goroutine dump, nil without one or if nobody asked for
	// them.
	Joined *Objects `json:"-"`
	// Sockets are the connections of the process, nil if no evidence shows any.
	Sockets *Sockets `json:"-"`
	// Monitors are the locks for which threads of a JVM wait, nil without any.
	Monitors *Monitors `json:"-"`
	// Contention has the mutex and block profiles, at most one of each, nil without any.
	Contention []Contention `json:"-"`
	// Heap is what its heap holds, nil where no evidence shows it.
	Heap *Heap `json:"-"`
	// Pairs are the descriptors that goroutines wait for, by goroutine. It is nil if the
	// capture did not look them up.
	Pairs []Pair `json:"-"`
	// Users are the names of users in a listing. They are not analysed, but shared
	// results must hide them.
	Users []string `json:"users,omitempty"`
	// Watched are the targets of the watches of each family, by fingerprint.
	Watched map[string][]Target `json:"watched,omitempty"`
	// Labels are the pprof labels of the goroutines of each family that has any, by
	// fingerprint.
	Labels map[string][]LabelCount `json:"labels,omitempty"`
	// Ancestries are those of the goroutines or descriptors of each family that has any, by
	// fingerprint, the most frequent first.
	Ancestries map[string][]Ancestry `json:"ancestries,omitempty"`
	// Births are those of the families that an execution trace shows whole, by fingerprint.
	Births map[string]Births `json:"births,omitempty"`
	// Statements are conclusions that the evidence itself states: a deadlock, a
	// saturated client.
	Statements []Statement `json:"statements,omitempty"`
	// Logged is what logs of the process say.
	Logged []LogFact `json:"logged,omitempty"`
	// Packages are versions of lists of packages beside the process.
	Packages []Package `json:"packages,omitempty"`
	// Problems name artifacts of this snapshot.
	Problems []Problem `json:"problems,omitempty"`
}

// NetworkNamespace is the figure with the inode of the network namespace of a process.
const NetworkNamespace = "network_namespace"

// DeclaredGoroutines is the figure with the number of goroutines that a profile declares whose
// records hold fewer.
const DeclaredGoroutines = "declared_goroutines"

// UndeclaredRecords is the figure with the number of records of a profile that declares no
// number of goroutines.
const UndeclaredRecords = "undeclared_records"

// DeletedFiles and DeletedBytes are the figures with the number and the sizes of files without a
// name that a process holds open.
const (
	DeletedFiles = "deleted_files"
	DeletedBytes = "deleted_bytes"
)

// TraceSeconds is the figure with the time for which a tracer watched the process, TraceOpened
// that with the descriptors that it opened in that time, closed or not, and TraceEnded 1 if it
// ended then.
const (
	TraceSeconds = "trace_seconds"
	TraceOpened  = "trace_opened"
	TraceEnded   = "trace_ended"
)

// ExternalBytes is the figure with the memory of buffers outside of the heap of Node.js, in bytes.
const ExternalBytes = "node_external_bytes"

// UserID is the figure with the real user id of a process, for which the kernel counts the
// limits of a user.
const UserID = "uid"

// Owner identifies the user of the process, empty where the evidence does not tell it: the
// only name in the listing of its descriptors, else the id of its status.
func (s *Snapshot) Owner() string {
	if len(s.Users) == 1 {
		return s.Users[0]
	}
	if id, known := s.Figures[UserID]; known && len(s.Users) == 0 {
		return "uid " + strconv.FormatFloat(id, 'f', 0, 64)
	}
	return ""
}

// Object is an address in one frame of some members of a family in one dump: its first
// argument. Arguments with a question mark are not kept, because they may be stale.
type Object struct {
	Address uint64 `json:"address"`
	// Func is the frame's function as printed.
	Func string `json:"func"`
	// Lock reports that the members wait for the lock at Address: Stack.WaitsForLock is true of Func.
	Lock bool `json:"lock,omitempty"`
	// Count is the number of members. Members are the ids of at most 32 of them,
	// smallest first.
	Count   int     `json:"count"`
	Members []int64 `json:"members"`
}

// Pair is a goroutine and the descriptor that it waits for: to read, to write or to accept.
// Two goroutines may wait for one descriptor.
type Pair struct {
	Goroutine int64
	FD        int
}

// Target is the target of some watches of one family.
type Target struct {
	// What is a known path, or words: "inode 5 of /run".
	What string `json:"what"`
	// FSType is the type of the file system, "" if unknown.
	FSType string      `json:"fstype,omitempty"`
	State  TargetState `json:"state"`
	// Why is the reason for State in words, "" for a target that exists.
	Why string `json:"why,omitempty"`
	// PodUID and Container are parsed from What. Pod is "namespace/name", if the
	// capture names the pod.
	PodUID    string `json:"pod_uid,omitempty"`
	Pod       string `json:"pod,omitempty"`
	Container string `json:"container,omitempty"`
	// Count is the number of watches.
	Count int `json:"count"`
}

// TargetState is whether a watched target still exists.
type TargetState string

// The states of targets. Those that are gone come first.
const (
	TargetRemoved   TargetState = "removed"   // a cgroup that is gone
	TargetUnmounted TargetState = "unmounted" // the file system is in no mount of the process
	TargetDeleted   TargetState = "deleted"   // the file is gone, but held open
	TargetUnknown   TargetState = "unknown"
	TargetThere     TargetState = "there"
)

// Statement is a fact that one snapshot proves alone, without a series.
type Statement struct {
	// Key is equal for snapshots that state the same with other figures.
	Key   string `json:"key"`
	Title string `json:"title"`
	Text  string `json:"text"`
	// Threads are the names of those that it is about: who waits and who holds.
	Threads []string `json:"threads,omitempty"`
	// Goroutine is the id of the one that it is about, 0 where none is, and Stack where it stands: no group
	// shows one of the runtime itself, or that of a crash that prints it alone.
	Goroutine int64  `json:"goroutine,omitempty"`
	Stack     *Stack `json:"stack,omitempty"`
	// Pool is the pool that is full, "" where it is about something else.
	Pool string `json:"pool,omitempty"`
	// Path names the artifact with the statement.
	Path string `json:"path"`
}

// Package is a version of a list: "npm:undici" 5.21.0. Path names the list.
type Package struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Path    string `json:"path"`
}

// LogFact is something that a log says, without a quantity to follow: a limit that was met,
// something that was not closed.
type LogFact struct {
	// Kind is one of read/gauge/log.txt, Detail an address, a name or a number of the line.
	Kind   string `json:"kind"`
	Detail string `json:"detail,omitempty"`
	// N lines say so, the first at At and the last at Until, which are zero where not known.
	N     int       `json:"n"`
	At    time.Time `json:"at,omitzero"`
	Until time.Time `json:"until,omitzero"`
	// Path and Line are those of the first.
	Path string `json:"path"`
	Line int64  `json:"line"`
}

// The keys of the statements of a dump that a dying process wrote: why it crashed, that the
// scheduler found a deadlock, or that its tests ran too long. Text says what to do.
const (
	CrashStatement     = "crash"
	AsleepStatement    = "all goroutines are asleep"
	TestLimitStatement = "test timed out"
)

// KubernetesClient is the pool of calls of a Kubernetes client (judge/trend/pool.txt).
const KubernetesClient = "kubernetes_client"

// The forms of evidence.
const (
	// FormEnds lists the ends of sockets. FormBare has sockets with only an inode.
	// FormSockets lists sockets and no other descriptor, FormInstances inotify instances,
	// FormHandles the handles of an event loop, which are no files.
	FormEnds      = "ends"
	FormBare      = "bare"
	FormSockets   = "sockets"
	FormInstances = "instances"
	FormHandles   = "handles"
	// FormOpened has the descriptors that were opened while a tracer ran and not closed.
	// FormOpenEvents has the last one opened under each number, closed or not.
	FormOpened     = "opened"
	FormOpenEvents = "open_events"
	// FormFull lists the threads of the virtual machine too, FormJava does not.
	// FormCapped cuts every stack after a few frames. FormVirtual lists virtual
	// threads, which no other form does.
	FormFull    = "full"
	FormJava    = "java"
	FormCapped  = "capped"
	FormVirtual = "virtual"
	// FormCounted is the number of threads alone.
	FormCounted = "counted"
)

// Family is what its members have in common, in every snapshot and bundle.
type Family struct {
	// Fingerprint is the kind's letter, the version of the rules and 32 hex digits:
	// "g1:6b0f…". For goroutines it is the loose fingerprint.
	Fingerprint string `json:"fingerprint"`
	Kind        Kind   `json:"kind"`
	// Title is the title of the family outside any dump. A series may lengthen it to
	// distinguish two families.
	Title string `json:"title"`
	// Loose are the normalised function names, leaf first, nil for kinds without
	// stacks. LooseCreator is the normalised creator.
	Loose        []string `json:"loose,omitempty"`
	LooseCreator string   `json:"loose_creator,omitempty"`
	// Entry is the roll-up key: the creator and the outermost informative function.
	Entry string `json:"entry,omitempty"`
	// Attributes identify a descriptor, watch or thread family: protocol, role,
	// remote, local, state, path, type, mount, fstype, mask, name, pool.
	Attributes map[string]string `json:"attributes,omitempty"`
}

// Variant is one exact stack within a family, with its number of members.
type Variant struct {
	// Fingerprint is "e1:" and 32 hex digits over names, file bases and lines.
	Fingerprint string `json:"fingerprint"`
	Stack       *Stack `json:"stack"`
	Count       int    `json:"count"`
}

// WaitBuckets are the lower bounds in minutes of the wait histogram's buckets:
// 0, 1-2, 3-5, 6-10, 11-30, 31-60, 1-4 h, 4-24 h, over 24 h.
var WaitBuckets = [9]int{0, 1, 3, 6, 11, 31, 61, 241, 1441}

// Group is a family as one snapshot shows it.
type Group struct {
	Family *Family `json:"family"`
	// Count is the best complete figure. Members may hold fewer if the dump was cut and
	// its twin had the count.
	Count int `json:"count"`
	// States counts members by raw state without flags.
	States map[string]int `json:"states,omitempty"`
	// Waits is the histogram over WaitBuckets of the header minutes.
	Waits [9]int `json:"waits"`
	// OldestWait is in minutes, -1 if the kind has no waits or no member shows one.
	OldestWait int `json:"oldest_wait"`
	// Leaked counts members that the runtime marked "(leaked)".
	Leaked   int       `json:"leaked,omitempty"`
	Variants []Variant `json:"variants,omitempty"`
	Members  Members   `json:"-"`
}
