package analysis

// Descriptor is one open descriptor of a process, from any listing.
type Descriptor struct {
	// FD is the number, -1 if the listing lost it (lsof's "*614u").
	FD int
	// Type is the canonical type: regular, directory, char, block, fifo, pipe,
	// socket, unix, tcp, tcp6, udp, udp6, netlink, packet, raw, anon, namespace,
	// memfd, kqueue, or the listing's own word in lower case.
	Type string
	// Access is r, w, u or empty.
	Access string
	// Inode is 0 if it identifies nothing (plain anon_inode files).
	Inode uint64
	// Device is "major:minor" in decimal, if known.
	Device string
	// Name is the link target or the listing's NAME as printed: a path,
	// "socket:[1]", "anon_inode:[eventpoll]".
	Name string
	// Protocol is TCP, UDP, ... in capitals; Local and Remote are host:port.
	Protocol, Local, Remote string
	// State is the canonical socket state, ESTABLISHED, CLOSE_WAIT, ...
	State   string
	Deleted bool
	// Idle reports that the program holds the socket in a pool without waiting for it:
	// a libuv handle whose is_referenced is false. Unread reports that it does not read what comes:
	// one that is readable and not is_active.
	Idle, Unread bool
	Place        Place
}

// Unread is the state of connections in Group.States that are open and that their program does not read.
const Unread = "ESTABLISHED, unread"

// Socket is one row of a socket table (ss, netstat, /proc/PID/net): a socket of a
// network namespace, with its owner only if the table names it.
type Socket struct {
	// Protocol is tcp, tcp6, udp, udp6, unix, netlink, packet, raw or the table's
	// own word in lower case.
	Protocol string
	// Local and Remote are host:port with numeric hosts if the table has numbers,
	// "*:port" for a wildcard, a path or "@name" for unix sockets.
	Local, Remote string
	// State is the canonical socket state, as in Descriptor.
	State string
	// Inode is 0 if the table has none (netstat) or the socket has none any more
	// (TIME_WAIT). Such a row is no descriptor.
	Inode uint64
	// Owners are the descriptors that the table names for the socket.
	Owners []Owner
	Place  Place
}

// Owner is a descriptor that refers to a socket. PID is 0 and FD -1 if the table leaves
// them out.
type Owner struct {
	Program string
	PID, FD int
}

// ThreadSort is the origin of a thread.
type ThreadSort string

// Java threads run Java code. VM threads belong to the virtual machine (GC, compiler)
// and appear in some forms of a dump only. Virtual threads have no thread of the
// operating system.
const (
	JavaThread    ThreadSort = "java"
	VMThread      ThreadSort = "vm"
	VirtualThread ThreadSort = "virtual"
)

// Thread is one thread of a JVM as a dump shows it.
type Thread struct {
	// Name is as printed, with newlines; it may be empty.
	Name string
	Sort ThreadSort
	// ID is HotSpot's #N, which is Id= and id= of the management forms and tid of
	// dump_to_file. It is -1 if none was printed.
	ID int64
	// Native is nid, the id of the operating system's thread, 0 if unknown.
	Native int64
	// Address is tid of HotSpot, which is the thread's for its life and no other's; 0 if unknown.
	Address uint64
	Daemon  bool
	// State is the java.lang.Thread.State word (RUNNABLE, BLOCKED, WAITING,
	// TIMED_WAITING, NEW, TERMINATED). If none was printed, it is the native condition
	// as printed ("waiting on condition").
	State string
	// Carrying is the id of the virtual thread on this carrier thread, or -1.
	Carrying int64
	// Carrier is the id of the thread that carries this virtual one, or 0. Container names what it
	// was started in, as dump_to_file prints it, "" in other forms.
	Carrier   int64
	Container string
	// Elapsed is the age and CPU the processor time, both in seconds, -1 if the form
	// does not print them.
	Elapsed, CPU float64
	Stack        *Stack
	// Capped reports that the form leaves out frames below a fixed number ("\t..."
	// after eight).
	Capped bool
	Locks  []Lock
	// Line, Offset and Length are the thread's block in the artifact.
	Line, Offset, Length int64
}

// Lock is a line of a thread's stack that names an object.
type Lock struct {
	// How is locked, waiting to lock, waiting on, parking to wait for, owns
	// (ownable synchronizer), eliminated.
	How string
	// Object is the address or identity hash as printed ("0x00000000e0a1", "1b2c3d"),
	// empty if it was not available. It is comparable only inside one dump.
	Object string
	// Class is the object's class.
	Class string
	// Frame indexes the stack's frames, -1 for locks below the stack.
	Frame int
	// Owner is the name of the thread that holds it, if the form prints it. OwnerID is its ID
	// where a form prints that alone, else 0.
	Owner   string
	OwnerID int64
}

// Watch is one inotify watch in fdinfo.
type Watch struct {
	// FD is the inotify instance, -1 if the file's name did not contain it.
	FD int
	// WD is the watch descriptor (printed in hex).
	WD    int64
	Inode uint64
	// Device is the superblock's number as printed in sdev: major = Device >> 20,
	// minor = Device & 0xfffff.
	Device     uint32
	Mask       uint32
	HandleType uint32
	// Handle is the file handle in hex, empty if it was not printed.
	Handle string
	Place  Place
}

// Handle is the target of a watched file handle while its process was alive. Only a
// collector on the host can resolve it, with open_by_handle_at(2).
type Handle struct {
	// Device, Inode, Type and Handle are those of the Watch.
	Device uint32
	Inode  uint64
	Type   uint32
	Handle string
	State  HandleState
	// Path is the path of the target in the process's view. Mount and FSType are the
	// file system in which it was searched.
	Path, Mount, FSType string
	// Elsewhere names the process in whose mount namespace the file system is mounted,
	// if that of the watching process does not have it.
	Elsewhere string
	Place     Place
}

// HandleState is the fate of the target of a handle.
type HandleState string

// A linked target has a path. A deleted one is held open without one. A stale handle
// has no target any more. An unmounted one is on a file system that no mount namespace
// of the host has.
const (
	HandleLinked    HandleState = "linked"
	HandleDeleted   HandleState = "deleted"
	HandleStale     HandleState = "stale"
	HandleUnmounted HandleState = "unmounted"
	HandleUnknown   HandleState = "unknown"
)

// Mount is one line of mountinfo.
type Mount struct {
	ID, Parent   int
	Major, Minor uint32
	Root, Point  string
	FSType       string
	Source       string
}
