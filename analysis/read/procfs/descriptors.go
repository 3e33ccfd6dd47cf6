package procfs

import (
	"strconv"

	"leakdiff/analysis"
)

// Descriptors makes descriptors of fdinfo files alone, in their order; their number and
// access are known. sockets are those of the tables of the same instant: they identify
// which descriptors are sockets, and a later join by inode adds their ends. The mount
// separates a socket from a file with the same inode number: all sockets are on the
// mount that most matches are on. The type is "unknown" if nothing proves it.
func Descriptors(infos []FDInfo, sockets []analysis.Socket) []analysis.Descriptor {
	inodes := make(map[uint64]bool, len(sockets))
	for i := range sockets {
		inodes[sockets[i].Inode] = sockets[i].Inode != 0
	}
	mount := socketMount(infos, inodes)
	out := make([]analysis.Descriptor, 0, len(infos))
	for i := range infos {
		info := &infos[i]
		if info.FD < 0 {
			continue
		}
		d := analysis.Descriptor{FD: info.FD, Type: "unknown", Access: info.access()}
		switch {
		case info.Type == "unix": // scm_fds
			d.Type, d.Inode = "unix", info.Inode
		case info.Type != "":
			d.Type, d.Name = extraType(info.Type)
		case mayBeSocket(info, inodes) && info.MountID == mount:
			d.Type, d.Inode, d.Name = "socket", info.Inode, "socket:["+strconv.FormatUint(info.Inode, 10)+"]"
		}
		if info.Rare != nil && info.Rare.DeadPid {
			d.State = "dead"
		}
		out = append(out, d)
	}
	return out
}

// extraType is the type and the link name that go with the extra lines of fdinfo.
//
//	"epoll" = anon, "anon_inode:[eventpoll]"   "tun" = char, "/dev/net/tun"
func extraType(sort string) (kind, name string) {
	switch sort {
	case "epoll":
		return "anon", "anon_inode:[eventpoll]"
	case "inotify", "bpf-map", "bpf-prog":
		return "anon", "anon_inode:" + sort
	case "bpf-link":
		return "anon", "anon_inode:bpf_link"
	case "tun":
		return "char", "/dev/net/tun"
	case "ptmx":
		return "char", "/dev/ptmx"
	}
	return "anon", "anon_inode:[" + sort + "]"
}

// mayBeSocket reports whether a file has the inode number of a socket and is open as
// all sockets are.
func mayBeSocket(info *FDInfo, inodes map[uint64]bool) bool {
	return len(inodes) > 0 && info.HasInode && inodes[info.Inode] && info.access() == "u" && (info.Type == "" || info.Type == "unix")
}

// socketMount is the mount id of the sockets, -1 if none was found.
func socketMount(infos []FDInfo, inodes map[uint64]bool) int {
	votes, best := map[int]int{}, -1
	for i := range infos {
		info := &infos[i]
		if !mayBeSocket(info, inodes) {
			continue
		}
		votes[info.MountID]++
		if n := votes[info.MountID]; best < 0 || n > votes[best] || n == votes[best] && info.MountID < best {
			best = info.MountID
		}
	}
	return best
}
