// Package analysis holds the words of leakdiff: what a bundle contains and what
// may be said about it. It takes nothing and does nothing; parsers fill these
// types, analyses read them, and the package knows neither formats nor storage.
// It imports the standard library only.
package analysis

import (
	"slices"
	"time"
)

// Kind says what the members of a family are.
type Kind string

// The kinds of families.
const (
	KindGoroutine  Kind = "goroutine"
	KindThread     Kind = "thread"
	KindDescriptor Kind = "descriptor"
	KindWatch      Kind = "watch"
)

// Kinds lists every kind in the order in which pages show them.
func Kinds() []Kind { return []Kind{KindGoroutine, KindThread, KindDescriptor, KindWatch} }

// Confidence says how far a derived value can be believed.
type Confidence string

// High comes from inside the data, Medium from siblings and manifests, Low from
// file times, archive names and order (bundles.md section 4).
const (
	Low    Confidence = "low"
	Medium Confidence = "medium"
	High   Confidence = "high"
)

// Fact is a derived value with its source in words, empty where nothing is known.
type Fact struct {
	Value      string     `json:"value"`
	Source     string     `json:"source,omitempty"`
	Confidence Confidence `json:"confidence,omitempty"`
}

// Known reports whether the fact has a value.
func (f Fact) Known() bool { return f.Value != "" }

// Process is whose evidence a snapshot holds, as far as that is known.
type Process struct {
	Host Fact `json:"host"`
	Name Fact `json:"name"`
	// PID is decimal.
	PID Fact `json:"pid"`
	// Start is the start time in ticks since boot (/proc/PID/stat field 22), or
	// an RFC 3339 time; it is only ever compared for equality.
	Start Fact `json:"start"`
	// Version is a hint for people, never part of a key.
	Version Fact `json:"version"`
}

// Key identifies the series that a snapshot of p belongs to: host and program.
func (p Process) Key() string { return p.Host.Value + "\x00" + p.Name.Value }

// Frame is one line pair of a stack, with the function name exactly as printed
// except for arguments and offsets. Line is 0 where unknown.
type Frame struct {
	Func string `json:"func"`
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
}

// TooManyStacks is Unavailable of the stack that stands for all those that a parser did
// not keep.
const TooManyStacks = "too many distinct stacks"

// Stack is a goroutine's or thread's stack, leaf first.
type Stack struct {
	Frames []Frame `json:"frames"`
	// CreatedBy is the zero Frame where no creator was printed.
	CreatedBy Frame `json:"created_by,omitzero"`
	// Elided counts the frames that the runtime left out ("...51 frames
	// elided..."); -1 when it left out an unknown number.
	Elided int `json:"elided,omitempty"`
	// Unavailable is the text printed instead of frames ("goroutine running on
	// other thread; stack unavailable"), empty otherwise.
	Unavailable string `json:"unavailable,omitempty"`
}

// Place says where in an artifact something was read. Line counts from 1 and is
// 0 in binary data; Offset and Length are in bytes of the unpacked artifact.
type Place struct {
	// Artifact indexes Snapshot.Artifacts.
	Artifact int   `json:"artifact"`
	Line     int64 `json:"line"`
	Offset   int64 `json:"offset"`
	Length   int64 `json:"length"`
}

// Severity grades problems.
type Severity string

// Note costs nothing, Warning costs some evidence, Error costs the artifact.
const (
	Note    Severity = "note"
	Warning Severity = "warning"
	Error   Severity = "error"
)

// Problem is something not understood or not believed: where, what, why and
// what to do. Line is 0 and Offset -1 where they do not apply.
type Problem struct {
	Path     string   `json:"path"`
	Line     int64    `json:"line"`
	Offset   int64    `json:"offset"`
	Severity Severity `json:"severity"`
	What     string   `json:"what"`
	Why      string   `json:"why"`
	Hint     string   `json:"hint"`
}

// Status says what became of an artifact.
type Status string

// The reading statuses.
const (
	Read    Status = "read"
	Ignored Status = "ignored"
	Empty   Status = "empty"
	Failed  Status = "failed"
)

// Artifact is one file of a bundle after unpacking, or all files of one fdinfo/
// or fd/ directory together (Path then ends with a slash).
type Artifact struct {
	// Path is the display path inside the bundle: slashes, "!/" after the name of
	// a nested archive, never absolute, never with "..".
	Path string `json:"path"`
	Kind string `json:"kind"`
	// Reason is a sentence about the content that explains Kind.
	Reason     string     `json:"reason"`
	Confidence Confidence `json:"confidence"`
	Status     Status     `json:"status"`
	// Outcome says in words what was read ("115 goroutines").
	Outcome string `json:"outcome,omitempty"`
	// Size is in bytes after unpacking.
	Size int64 `json:"size"`
	// Files is how many files the artifact stands for, at least 1.
	Files int `json:"files"`
	// Members is the number of goroutines, threads, descriptors or watches read.
	Members int `json:"members"`
	// Watches is the number of inotify watches of an fdinfo artifact.
	Watches int `json:"watches,omitempty"`
	// Rows counts listing rows that are no descriptor (cwd, txt, mem, ...).
	Rows int `json:"rows,omitempty"`
	// Problems is how many problems name this artifact.
	Problems int `json:"problems"`
	// SHA256 is of the unpacked content, lower-case hex; of the sorted member
	// names and contents for a directory artifact.
	SHA256 string `json:"sha256,omitempty"`
	// Modified is the member's time inside its archive, zero where implausible.
	Modified time.Time `json:"modified,omitzero"`
	// Truncated says that the content stops before its end.
	Truncated bool `json:"truncated,omitempty"`
}

// Totals are the best complete figures of a snapshot; nil where that kind was
// not captured.
type Totals struct {
	Goroutines  *int `json:"goroutines"`
	Threads     *int `json:"threads"`
	Descriptors *int `json:"descriptors"`
	Watches     *int `json:"watches"`
}

// Of returns the total of a kind, nil where it was not captured.
func (t Totals) Of(k Kind) *int {
	switch k {
	case KindGoroutine:
		return t.Goroutines
	case KindThread:
		return t.Threads
	case KindDescriptor:
		return t.Descriptors
	case KindWatch:
		return t.Watches
	}
	return nil
}

// Snapshot is all evidence about one process at one time.
type Snapshot struct {
	// ID is "s" and 26 lower-case base32 characters of a SHA-256 over the process
	// key and the sorted hashes of the artifacts.
	ID      string  `json:"id"`
	Label   string  `json:"label"`
	Process Process `json:"process"`
	// CapturedAt is zero where only an order is known; TimeFact says why it is
	// believed.
	CapturedAt time.Time `json:"captured_at,omitzero"`
	TimeFact   Fact      `json:"time"`
	// Zoneless says that CapturedAt, and with it Times, were read without a zone and
	// taken as UTC; the case may say which zone they are of.
	Zoneless bool `json:"zoneless,omitempty"`
	// Times holds the time of each kind of evidence where it is known to differ
	// from CapturedAt.
	Times map[Kind]time.Time `json:"times,omitempty"`
	// Order is the natural place among the snapshots of its bundle.
	Order     int  `json:"order"`
	Truncated bool `json:"truncated"`
	// LowerBound says that the goroutine or thread figures are what was read of a cut
	// dump, or of one with Refused members, without a complete twin.
	LowerBound bool `json:"lower_bound,omitempty"`
	// Refused counts what begins like a goroutine record or thread of that dump and was
	// not understood.
	Refused int `json:"refused,omitempty"`
	// Incomplete names kinds whose families cannot be compared with those of other
	// snapshots, because a part of their evidence was cut off.
	Incomplete []Kind `json:"incomplete,omitempty"`
	// Forms says how much a kind's evidence shows, where snapshots that show more
	// cannot be compared with those that show less: see the Form constants.
	Forms     map[Kind]string `json:"forms,omitempty"`
	Totals    Totals          `json:"totals"`
	Artifacts []Artifact      `json:"artifacts"`
	// Groups are the families present, by fingerprint; kinds not captured have
	// none, see Totals.
	Groups []Group `json:"groups,omitempty"`
	// MaxGoroutineID is 0 where no dump with ids was read.
	MaxGoroutineID int64 `json:"max_goroutine_id,omitempty"`
	// Figures are named numbers of context: metrics, limits and sysctls
	// ("process_open_fds", "limit_open_files", "inotify_max_user_instances").
	Figures map[string]float64 `json:"figures,omitempty"`
	// Objects are the addresses that frames of waiting goroutines and of those inside
	// the same objects name, by fingerprint; nil where a dump prints no arguments or
	// nobody waits for a lock.
	Objects map[string][]Object `json:"objects,omitempty"`
	// Users are the names of users that a listing gives; nothing is made of them, but
	// shared results must not tell them.
	Users []string `json:"users,omitempty"`
	// Watched says of each family of watches, by fingerprint, what its watches are on.
	Watched map[string][]Target `json:"watched,omitempty"`
	// Statements are what the evidence itself says in so many words: a deadlock, a
	// saturated client.
	Statements []Statement `json:"statements,omitempty"`
	// Problems name artifacts of this snapshot.
	Problems []Problem `json:"problems,omitempty"`
}

// Object is an address that one frame of some members of a family names, in one
// dump: its first argument. Arguments that the runtime marks with a question mark
// are not kept: they may be stale.
type Object struct {
	Address uint64 `json:"address"`
	// Func is the frame's function as printed.
	Func string `json:"func"`
	// Lock says that the members wait for the lock at Address: Func is
	// sync.(*Mutex).lockSlow, sync.(*RWMutex).Lock, RLock or rlockSlow, or the same
	// in internal/sync, among the first three frames.
	Lock bool `json:"lock,omitempty"`
	// Count is the number of members, Members are the ids of at most 32 of them,
	// smallest first.
	Count   int     `json:"count"`
	Members []int64 `json:"members"`
}

// Target is what some watches of one family are on.
type Target struct {
	// What is a path, where one is known, or says in words what is: "inode 5 of /run".
	What string `json:"what"`
	// FSType is that of the file system, "" where nothing tells.
	FSType string      `json:"fstype,omitempty"`
	State  TargetState `json:"state"`
	// Why is the reason for State in words, "" for what is there.
	Why string `json:"why,omitempty"`
	// PodUID and Container are read out of What; Pod is "namespace/name", where the
	// capture names the pod.
	PodUID    string `json:"pod_uid,omitempty"`
	Pod       string `json:"pod,omitempty"`
	Container string `json:"container,omitempty"`
	// Count is the number of watches.
	Count int `json:"count"`
}

// TargetState says whether what is watched still exists.
type TargetState string

// The states of targets, those that are gone first.
const (
	TargetRemoved   TargetState = "removed"   // a cgroup that is gone
	TargetUnmounted TargetState = "unmounted" // the file system is in no mount of the process
	TargetDeleted   TargetState = "deleted"   // the file is gone, but held open
	TargetUnknown   TargetState = "unknown"
	TargetThere     TargetState = "there"
)

// Statement is a fact that one snapshot proves alone, without a series.
type Statement struct {
	// Key is equal where several snapshots state the same with other figures.
	Key   string `json:"key"`
	Title string `json:"title"`
	Text  string `json:"text"`
	// Path names the artifact that says so.
	Path string `json:"path"`
}

// What the evidence of a kind shows.
const (
	// FormEnds lists where sockets lead; FormBare has sockets of which only the
	// inode is known.
	FormEnds = "ends"
	FormBare = "bare"
	// FormFull lists the threads of the virtual machine too, FormJava does not,
	// FormCapped cuts every stack after a few frames, FormVirtual lists virtual
	// threads, which no other form does.
	FormFull    = "full"
	FormJava    = "java"
	FormCapped  = "capped"
	FormVirtual = "virtual"
)

// Bounded reports whether the counts of a kind's families are lower bounds or
// otherwise not comparable: those of a cut dump, or of one that was not understood to
// its last member, without a complete twin, or of evidence that was cut off.
func (s *Snapshot) Bounded(k Kind) bool {
	return s.LowerBound && (k == KindGoroutine || k == KindThread) || slices.Contains(s.Incomplete, k)
}

// Family is what its members have in common, in every snapshot and bundle.
type Family struct {
	// Fingerprint is the kind's letter, the rules' version and 32 hex digits:
	// "g1:6b0f…". For goroutines it is the loose fingerprint.
	Fingerprint string `json:"fingerprint"`
	Kind        Kind   `json:"kind"`
	// Title of a family outside any dump; a series may lengthen it to tell two
	// families apart.
	Title string `json:"title"`
	// Loose are the normalised function names, leaf first; nil unless the kind
	// has stacks. LooseCreator is the normalised creator.
	Loose        []string `json:"loose,omitempty"`
	LooseCreator string   `json:"loose_creator,omitempty"`
	// Entry is the roll-up key: creator and outermost telling function.
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
	// Count is the best complete figure; Members may hold fewer when the dump was
	// cut and its twin gave the count.
	Count int `json:"count"`
	// States counts members by raw state without flags.
	States map[string]int `json:"states,omitempty"`
	// Waits is the histogram over WaitBuckets of the header minutes.
	Waits [9]int `json:"waits"`
	// OldestWait is in minutes; -1 where no member shows any or the kind has none.
	OldestWait int `json:"oldest_wait"`
	// Leaked counts members that the runtime marked "(leaked)".
	Leaked   int       `json:"leaked,omitempty"`
	Variants []Variant `json:"variants,omitempty"`
	Members  Members   `json:"-"`
}
