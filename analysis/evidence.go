package analysis

// Descriptor is one open descriptor of a process, whatever listed it.
type Descriptor struct {
	// FD is the number; -1 where the listing lost it (lsof's "*614u").
	FD int
	// Type is the canonical type: regular, directory, char, block, fifo, pipe,
	// socket, unix, tcp, tcp6, udp, udp6, netlink, packet, raw, anon, namespace,
	// memfd, kqueue, or the listing's own word in lower case.
	Type string
	// Access is r, w, u or empty.
	Access string
	// Inode is 0 where it identifies nothing (plain anon_inode files).
	Inode uint64
	// Device is "major:minor" decimal where known.
	Device string
	// Name is the link target or the listing's NAME as printed: a path,
	// "socket:[1]", "anon_inode:[eventpoll]".
	Name string
	// Protocol is TCP, UDP, ... in capitals; Local and Remote are host:port.
	Protocol, Local, Remote string
	// State is the canonical socket state, ESTABLISHED, CLOSE_WAIT, ...
	State   string
	Deleted bool
	Place   Place
}

// Watch is one inotify watch as fdinfo shows it.
type Watch struct {
	// FD is the inotify instance, -1 where the file's name did not say.
	FD int
	// WD is the watch descriptor (printed in hex).
	WD    int64
	Inode uint64
	// Device is the superblock's number as printed in sdev: major = Device >> 20,
	// minor = Device & 0xfffff.
	Device     uint32
	Mask       uint32
	HandleType uint32
	// Handle is the file handle in hex, empty where it was not printed.
	Handle string
	Place  Place
}

// Mount is one line of mountinfo.
type Mount struct {
	ID, Parent   int
	Major, Minor uint32
	Root, Point  string
	FSType       string
	Source       string
}
