package family

import (
	"fmt"
	"strings"

	"leakdiff/analysis"
)

// Mounts knows the devices that are mounted in the mount namespace of a process.
// A nil *Mounts knows nothing, and watches then have the status unknown.
type Mounts struct {
	byDevice map[uint32]analysis.Mount
}

// NewMounts indexes the lines of one mountinfo. Without any line nothing is
// known, nil: an empty mountinfo is a file that its collector failed to read.
func NewMounts(m []analysis.Mount) *Mounts {
	if len(m) == 0 {
		return nil
	}
	out := &Mounts{byDevice: make(map[uint32]analysis.Mount, len(m))}
	for _, mount := range m {
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

// OfWatch returns the family of an inotify watch: file system type, pattern of
// the mount point, whether it watches the root of a file system, the mask's 12
// event bits (old kernels leak others), and whether its device is mounted
// (procfs.md sections 1, 3 and 9).
func (m *Mounts) OfWatch(w analysis.Watch) *analysis.Family {
	fstype, mount, status := "unknown", "", "unknown"
	if m != nil {
		status = "not in mountinfo"
		if found, ok := m.byDevice[w.Device]; ok {
			fstype, mount, status = found.FSType, PathPattern(found.Point), "mounted"
		}
	}
	inode := "other"
	if w.Inode == rootInode(fstype) {
		inode = "root"
	}
	mask := maskNames(w.Mask & 0xfff)
	attributes := map[string]string{
		"fstype": fstype, "inode": inode, "status": status,
		"mask": fmt.Sprintf("%s (0x%x)", mask, w.Mask&0xfff),
	}
	if mount != "" {
		attributes["mount"] = mount
	}
	return &analysis.Family{
		Fingerprint: digest("w", key("w", fstype, mount, inode, fmt.Sprintf("%x", w.Mask&0xfff), status)),
		Kind:        analysis.KindWatch,
		Title:       watchTitle(fstype, mount, inode, status, mask),
		Entry:       watchTitle(fstype, mount, inode, status, ""),
		Attributes:  attributes,
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
	var b strings.Builder
	b.WriteString("inotify watch ")
	if inode == "root" {
		b.WriteString("on the root of ")
	} else {
		b.WriteString("inside ")
	}
	switch status {
	case "mounted":
		b.WriteString(fstype + " " + mount)
	case "unknown":
		b.WriteString("an unknown file system")
	default:
		b.WriteString("a file system " + status)
	}
	if mask != "" {
		b.WriteString(", " + mask)
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
