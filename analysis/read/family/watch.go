package family

import (
	"fmt"
	"iter"
	"path"
	"strings"

	"leakdiff/analysis"
)

// Mounts knows the devices that are mounted in the mount namespace of a process.
// A nil *Mounts knows nothing, and watches then have the status unknown.
type Mounts struct {
	byDevice map[uint32]analysis.Mount
	// byPoint are all of them by mount point; of several at one point the last one
	// hides the others.
	byPoint map[string]analysis.Mount
}

// NewMounts indexes the lines of one mountinfo. Without any line nothing is
// known, nil: an empty mountinfo is a file that its collector failed to read.
func NewMounts(m []analysis.Mount) *Mounts {
	if len(m) == 0 {
		return nil
	}
	out := &Mounts{byDevice: make(map[uint32]analysis.Mount, len(m)), byPoint: make(map[string]analysis.Mount, len(m))}
	for _, mount := range m {
		out.byPoint[mount.Point] = mount
		device := mount.Major<<20 | mount.Minor
		have, ok := out.byDevice[device]
		if !ok || nearer(mount, have) {
			out.byDevice[device] = mount
		}
	}
	return out
}

// nearer orders the mounts of one device: the shortest path names it best.
func nearer(a, b analysis.Mount) bool {
	if len(a.Point) != len(b.Point) {
		return len(a.Point) < len(b.Point)
	}
	return a.Point < b.Point
}

// Of is the mount of a device, zero if there is none.
func (m *Mounts) Of(device uint32) WatchTarget {
	if m == nil {
		return WatchTarget{}
	}
	found := m.byDevice[device]
	return WatchTarget{Mount: found.Point, FSType: found.FSType}
}

// The statuses of what a watch is on.
const (
	statusUnknown   = "unknown"
	statusMounted   = "mounted"
	statusUnmounted = "not in mountinfo"
	statusRemoved   = "removed cgroup"
)

// WatchTarget is what is known of the file or directory that a watch is on.
type WatchTarget struct {
	// Path is its path if an inode list names it, "" otherwise.
	Path string
	// Mount is the mount point of its file system, FSType its type; "" and "unknown"
	// if the device is in no mountinfo.
	Mount, FSType string
	// Status is "mounted", "not in mountinfo" (strong: the file system is gone or in
	// another mount namespace), "removed cgroup" (strong: its tree was listed and
	// does not hold it), or "unknown" without any mountinfo.
	Status string
	// Why is the reason for Status in words, "" for mounted.
	Why string
	// Unlisted reports that Status is "removed cgroup" because the list of its hierarchy
	// lacks the inode.
	Unlisted bool
	// Deleted is true if the file has no path any more but is held open.
	Deleted bool
	// Former is the label of another capture of the same watch, the source of Path and
	// Mount; "" if they are from this one.
	Former string
}

// Strong reports whether the status alone shows a watch on what is gone.
func (t WatchTarget) Strong() bool { return t.Status == statusUnmounted || t.Status == statusRemoved }

// InodeList are inode numbers with their paths on the watching host, as find -printf
// '%i %p\n' lists them. Partial is true if some may be missing.
type InodeList struct {
	Entries iter.Seq2[uint64, string]
	Partial bool
}

// trees know the paths of watched inodes, by the device of the mount that each path
// is on.
type trees struct {
	names map[inodeKey]string
	// listed are the devices whose tree was listed from the root of the file system;
	// files are those of them with files in the list, not only directories.
	listed, files map[uint32]bool
}

type inodeKey struct {
	device uint32
	inode  uint64
}

// newTrees files inode lists under the mounts of the same instant: a path belongs to
// the mount with the longest mount point before it. Lists may be long: only what a
// watch may be on is kept.
func newTrees(watches []analysis.Watch, m *Mounts, lists []InodeList) trees {
	t := trees{names: map[inodeKey]string{}, listed: map[uint32]bool{}, files: map[uint32]bool{}}
	watched := make(map[inodeKey]bool, len(watches))
	for _, w := range watches {
		watched[inodeKey{w.Device, w.Inode}] = true
	}
	for _, list := range lists {
		for inode, name := range list.Entries {
			mount, ok := m.of(name)
			if !ok {
				continue
			}
			device := mount.Major<<20 | mount.Minor
			if key := (inodeKey{device, inode}); watched[key] {
				t.names[key] = name
			}
			switch {
			case name == mount.Point && mount.Root == "/" && !list.Partial:
				t.listed[device] = true
			case path.Base(name) == "cgroup.procs":
				t.files[device] = true
			}
		}
	}
	return t
}

// of finds the mount that a path is on.
//
//	"/sys/fs/cgroup/cpu/kubepods" with mounts / and /sys/fs/cgroup/cpu = the latter
func (m *Mounts) of(name string) (analysis.Mount, bool) {
	for at := path.Clean(name); strings.HasPrefix(at, "/"); at = path.Dir(at) {
		if mount, ok := m.byPoint[at]; ok {
			return mount, true
		}
		if at == "/" {
			break
		}
	}
	return analysis.Mount{}, false
}

// Scene is what one instant knows of the files that are watched.
type Scene struct {
	// Mounts may be nil.
	Mounts *Mounts
	Lists  []InodeList
	// Handles are what the handles of watches led to on the host.
	Handles []analysis.Handle
}

// handleKey identifies a target on one host.
type handleKey struct {
	device uint32
	inode  uint64
	kind   uint32
	handle string
}

// Name returns the target of each watch, in their order, by the mounts and inode lists
// of the same instant. A cgroup keeps its watches when it is removed (the kernel sends
// no IN_IGNORED), so an inode that is missing from the whole listed tree of its
// hierarchy is a removed one. A list of directories alone proves this for watches on
// directories only, which ask for IN_CREATE or IN_DELETE. Other file systems drop the
// watches of deleted files. A handle that was opened on the host proves more than a
// list: it leads to the file, or to nothing any more.
func (s Scene) Name(watches []analysis.Watch) []WatchTarget {
	var t trees
	if s.Mounts != nil {
		t = newTrees(watches, s.Mounts, s.Lists)
	}
	handles := make(map[handleKey]analysis.Handle, len(s.Handles))
	for _, h := range s.Handles {
		handles[handleKey{h.Device, h.Inode, h.Type, h.Handle}] = h
	}
	out := make([]WatchTarget, len(watches))
	for i, w := range watches {
		out[i] = s.Mounts.target(w, t)
		if h, ok := handles[handleKey{w.Device, w.Inode, w.HandleType, w.Handle}]; ok {
			out[i].led(h)
		}
	}
	return out
}

// led takes in the target of the watch's handle.
func (t *WatchTarget) led(h analysis.Handle) {
	if t.Path == "" && h.Path != "" {
		t.Path = h.Path
	}
	cgroup := h.FSType == "cgroup" || h.FSType == "cgroup2"
	switch {
	case t.Status == statusUnmounted && h.State == analysis.HandleUnmounted:
		t.Why += ", and no mount namespace of the host shows it"
	case t.Status == statusUnmounted && h.Elsewhere != "":
		t.Why += "; only the mount namespace of " + h.Elsewhere + " still has it, at " + h.Mount
	case h.State == analysis.HandleStale && cgroup && t.Status != statusUnmounted:
		t.Path, t.Status, t.Unlisted, t.Why = "", statusRemoved, false, "its file handle leads to no cgroup any more"
	case h.State == analysis.HandleStale:
		t.Unlisted, t.Why = false, "its file handle leads to no file any more"
	case h.State == analysis.HandleDeleted:
		t.Deleted, t.Unlisted, t.Why = true, false, "the file has no name any more, but is held open"
	}
}

// Unmounted is the target of a watch on a device that is in no line of mountinfo.
func Unmounted(w analysis.Watch) WatchTarget {
	return WatchTarget{
		FSType: "unknown", Status: statusUnmounted,
		Why: fmt.Sprintf("device %d:%d is in no line of mountinfo", w.Device>>20, w.Device&0xfffff),
	}
}

func (m *Mounts) target(w analysis.Watch, t trees) WatchTarget {
	if m == nil {
		return WatchTarget{FSType: "unknown", Status: statusUnknown, Why: "no mountinfo was captured"}
	}
	found, ok := m.byDevice[w.Device]
	if !ok {
		return Unmounted(w)
	}
	target := WatchTarget{Path: t.names[inodeKey{w.Device, w.Inode}], FSType: found.FSType, Mount: found.Point, Status: statusMounted}
	if target.Path == "" && t.lack(w, found.FSType) {
		target.Status, target.Unlisted = statusRemoved, true
		target.Why = fmt.Sprintf("inode %d is not in the listed tree of %s", w.Inode, found.Point)
	}
	return target
}

// lack reports whether the list of a cgroup hierarchy is complete enough to hold a
// watch's inode if its cgroup were still there.
func (t trees) lack(w analysis.Watch, fstype string) bool {
	const directory = 0x300 // IN_CREATE, IN_DELETE
	if fstype != "cgroup" && fstype != "cgroup2" || !t.listed[w.Device] {
		return false
	}
	return t.files[w.Device] || w.Mask&directory != 0
}

// OfWatch returns the family of an inotify watch. The key is the file system type, the
// pattern of the mount point, whether it watches the root of a file system, the mask's
// 12 event bits (old kernels leak others), and whether its device is mounted.
func (m *Mounts) OfWatch(w analysis.Watch) *analysis.Family { return OfTarget(w, m.target(w, trees{})) }

// OfTarget is OfWatch for a watch that Scene.Name has named: watches on removed
// cgroups are a family of their own. A path is no part of the key; it differs from
// watch to watch.
func OfTarget(w analysis.Watch, t WatchTarget) *analysis.Family {
	mount := PathPattern(t.Mount)
	inode := "other"
	if w.Inode == rootInode(t.FSType) {
		inode = "root"
	}
	// Other bits are no events: old kernels print internal ones (800afff), new ones
	// IN_ONESHOT (80000c06).
	mask := maskNames(w.Mask & 0xfff)
	attributes := map[string]string{
		"fstype": t.FSType, "inode": inode, "status": t.Status,
		"mask": fmt.Sprintf("%s (0x%x)", mask, w.Mask&0xfff),
	}
	if mount != "" {
		attributes["mount"] = mount
	}
	return &analysis.Family{
		Fingerprint: digest("w", key("w", t.FSType, mount, inode, fmt.Sprintf("%x", w.Mask&0xfff), t.Status)),
		Kind:        analysis.KindWatch,
		Title:       watchTitle(t.FSType, mount, inode, t.Status, mask),
		Entry:       watchTitle(t.FSType, mount, inode, t.Status, ""),
		Attributes:  attributes,
	}
}

// OfHandle returns the family of the watches of a Node process, which its reports list as handles
// of libuv: "fs_event" by fs.watch, "fs_poll" by fs.watchFile, and
// analysis.ChildHandle. Their files are no
// part of the key.
func OfHandle(handle string) *analysis.Family {
	title := map[string]string{"fs_event": "fs.watch of a file", "fs_poll": "fs.watchFile of a file", analysis.ChildHandle: "child process"}[handle]
	return &analysis.Family{
		Fingerprint: digest("w", key("w", "libuv", handle)), Kind: analysis.KindWatch, Title: title, Entry: title,
		Attributes: map[string]string{"handle": handle},
	}
}

// rootInode is the inode of a file system's root directory; 1 for those that
// the kernel makes up, which is also the best guess for an unknown one.
func rootInode(fstype string) uint64 {
	switch fstype {
	case "ext2", "ext3", "ext4":
		return 2
	case "xfs":
		return 128
	case "btrfs":
		return 256
	}
	return 1
}

// watchTitle puts a watch in words.
//
//	"inotify watch on the root of tmpfs /dev/shm, IN_CREATE|IN_DELETE"
//	"inotify watch on the root of a file system not in mountinfo, IN_CREATE"
func watchTitle(fstype, mount, inode, status, mask string) string {
	title := "inotify watch " + watchPlace(fstype, mount, inode, status)
	if mask != "" {
		title += ", " + mask
	}
	return title
}

// watchPlace says where a watch is: "on the root of tmpfs /dev/shm".
func watchPlace(fstype, mount, inode, status string) string {
	var b strings.Builder
	switch {
	case status == statusRemoved:
		b.WriteString("on a removed cgroup of ")
	case inode == "root":
		b.WriteString("on the root of ")
	default:
		b.WriteString("inside ")
	}
	switch status {
	case statusMounted, statusRemoved:
		b.WriteString(fstype + " " + mount)
	case statusUnknown:
		b.WriteString("an unknown file system")
	default:
		b.WriteString("a file system " + status)
	}
	return b.String()
}

// maskNames names the events of a mask (include/uapi/linux/inotify.h).
//
//	0x300 = "IN_CREATE|IN_DELETE"
func maskNames(mask uint32) string {
	var names []string
	for bit, name := range []string{
		"IN_ACCESS", "IN_MODIFY", "IN_ATTRIB", "IN_CLOSE_WRITE", "IN_CLOSE_NOWRITE", "IN_OPEN",
		"IN_MOVED_FROM", "IN_MOVED_TO", "IN_CREATE", "IN_DELETE", "IN_DELETE_SELF", "IN_MOVE_SELF",
	} {
		if mask&(1<<bit) != 0 {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return "no events"
	}
	return strings.Join(names, "|")
}

// key is the canonical text of a family without a stack.
func key(letter string, parts ...string) string {
	return prefix(letter) + strings.Join(parts, "\n") + "\n"
}
