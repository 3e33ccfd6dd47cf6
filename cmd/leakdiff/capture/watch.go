package capture

import (
	"bufio"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"leakdiff/analysis/read/procfs"
)

// watch is an inotify line of fdinfo, as far as it identifies what is watched.
type watch struct {
	device uint32
	// mask are the events of the watch.
	mask       uint64
	handleType int32
	handle     string
	// raw are sdev, ino, fhandle-type as printed.
	raw [3]string
}

// watchesOf reads the inotify lines of fdinfo files (fs/notify/fdinfo.c). All numbers are
// hexadecimal.
//
//	"inotify wd:1e ino:1 sdev:16 mask:20 ignored_mask:0 fhandle-bytes:c fhandle-type:81 f_handle:01.."
func watchesOf(infos []entry) []watch {
	var out []watch
	for _, info := range infos {
		for line := range strings.Lines(string(info.text)) {
			rest, ok := strings.CutPrefix(strings.TrimSpace(line), "inotify ")
			if !ok {
				continue
			}
			var w watch
			for _, field := range strings.Fields(rest) {
				key, value, _ := strings.Cut(field, ":")
				n, _ := strconv.ParseUint(value, 16, 64)
				switch key {
				case "sdev":
					w.device, w.raw[0] = uint32(n), value
				case "ino":
					w.raw[1] = value
				case "mask":
					w.mask = n
				case "fhandle-type":
					w.handleType, w.raw[2] = int32(n), value
				case "f_handle":
					w.handle = value
				}
			}
			out = append(out, w)
		}
	}
	return out
}

// mount is a line of mountinfo.
type mount struct {
	device              uint32
	root, point, fstype string
}

// readMounts reads a mountinfo and skips lines that it cannot parse.
func readMounts(name string) ([]mount, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	all, _, err := procfs.ParseMountinfo(f, name)
	var out []mount
	for _, m := range all {
		out = append(out, mount{m.Major<<20 | m.Minor, m.Root, m.Point, m.FSType})
	}
	return out, err
}

// maxInodes bounds the list of cgroups.
const maxInodes = 500_000

// listCgroups lists the inodes of every cgroup hierarchy that the process sees, with the
// paths that it sees: "INODE PATH". Files are listed only in hierarchies in which a watch
// may be on a file.
func listCgroups(ctx context.Context, root string, mounts []mount, watches []watch, out io.Writer) error {
	w := bufio.NewWriter(out)
	defer w.Flush()
	const directory = 0x300 // IN_CREATE, IN_DELETE: only directories report these
	watched, onFiles := map[uint32]bool{}, map[uint32]bool{}
	for _, x := range watches {
		watched[x.device] = true
		if x.mask&directory == 0 {
			onFiles[x.device] = true
		}
	}
	n := 0
	done := map[uint32]bool{}
	for _, m := range mounts {
		if m.fstype != "cgroup" && m.fstype != "cgroup2" || !watched[m.device] || done[m.device] || m.root != "/" {
			continue
		}
		done[m.device] = true
		if err := listTree(ctx, root, m.point, onFiles[m.device], &n, w); err != nil {
			return err
		}
	}
	return nil
}

func listTree(ctx context.Context, root, point string, files bool, n *int, w io.Writer) error {
	top := filepath.Join(root, point)
	return filepath.WalkDir(top, func(name string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && name == top:
			return withoutPath(err)
		case err != nil:
			return nil // removed since its directory was read
		case !d.IsDir() && !files:
			return nil
		}
		info, err := os.Lstat(name)
		if err != nil {
			return nil
		}
		if *n++; *n > maxInodes {
			return fmt.Errorf("more than %d entries", maxInodes)
		}
		_, err = fmt.Fprintf(w, "%d %s\n", inodeOf(info), path.Join(point, strings.TrimPrefix(name, top)))
		return err
	})
}

// maxTargets bounds the handles that are opened in one round.
const maxTargets = 200_000

// resolve writes what each watched file handle leads to, each once.
func (c *collector) resolve(ctx context.Context, pid int, mounts []mount, watches []watch, out io.Writer) error {
	w := bufio.NewWriter(out)
	defer w.Flush()
	lines := json.NewEncoder(w)
	lines.SetEscapeHTML(false)
	r := newResolver(c, pid, mounts)
	defer r.close()
	written := map[[4]string]bool{}
	for _, x := range watches {
		key := [4]string{x.raw[0], x.raw[1], x.raw[2], x.handle}
		if written[key] {
			continue
		}
		if written[key] = true; len(written) > maxTargets {
			return fmt.Errorf("more than %d different targets", maxTargets)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := lines.Encode(r.target(x)); err != nil {
			return err
		}
	}
	return r.denied
}

// errDenied means that no handle can be opened at all.
var errDenied = errors.New("file handles cannot be opened without CAP_DAC_READ_SEARCH: run as root to have the watches named that no list names")

// resolver opens file handles on the mounts of a process.
type resolver struct {
	c      *collector
	pid    int
	mounts []mount
	// open has one open mount for each device.
	open map[uint32]*opened
	// others are the mounts of other mount namespaces, read on first use.
	others   map[uint32]foreign
	searched bool
	// denied is set if no handle can be opened at all.
	denied error
}

// opened is a mount on which handles can be opened.
type opened struct {
	mount
	file *os.File
	// elsewhere names the process in whose mount namespace it is, "" for the own one.
	elsewhere string
}

// foreign is a mount of another mount namespace.
type foreign struct {
	mount
	pid  int
	name string
}

func newResolver(c *collector, pid int, mounts []mount) *resolver {
	return &resolver{c: c, pid: pid, mounts: mounts, open: map[uint32]*opened{}}
}

func (r *resolver) close() {
	for _, o := range r.open {
		if o != nil && o.file != nil {
			o.file.Close()
		}
	}
}

// withoutHandles are file systems whose handles cannot be opened although their files exist
// (measured on Linux 6.18).
var withoutHandles = map[string]bool{"overlay": true, "proc": true, "sysfs": true, "devpts": true}

func (r *resolver) target(x watch) WatchTarget {
	t := WatchTarget{Schema: targetsSchema, Device: x.raw[0], Inode: x.raw[1], Type: x.raw[2], Handle: x.handle, State: Unknown}
	on := r.on(x.device)
	if on == nil {
		t.State = Unmounted
		return t
	}
	t.Mount, t.FSType, t.Elsewhere = on.point, on.fstype, on.elsewhere
	handle, err := hex.DecodeString(x.handle)
	switch {
	case err != nil || len(handle) == 0:
		t.Error = "fdinfo shows no file handle"
		return t
	case on.file == nil:
		t.Error = "the mount cannot be opened"
		return t
	case r.denied != nil:
		return t
	}
	name, links, err := openHandle(on.file, x.handleType, handle)
	switch {
	case err == nil && links == 0:
		t.State, t.Path = Deleted, strings.TrimSuffix(name, " (deleted)")
	case err == nil:
		t.State, t.Path = Linked, name
	case isStale(err) && !withoutHandles[on.fstype]:
		t.State = Stale
	case isDenied(err):
		r.denied = errDenied
	default:
		t.Error = err.Error()
	}
	return t
}

// on opens a mount of a device: one of the process that shows the whole file system, then
// any of its own, then those of other mount namespaces.
func (r *resolver) on(device uint32) *opened {
	if o, ok := r.open[device]; ok {
		return o
	}
	var own []mount
	for _, m := range r.mounts {
		if m.device == device {
			own = append(own, m)
		}
	}
	slices.SortStableFunc(own, func(a, b mount) int {
		if whole := btoi(b.root == "/") - btoi(a.root == "/"); whole != 0 {
			return whole
		}
		return len(a.point) - len(b.point)
	})
	var found *opened
	for _, m := range own {
		if found == nil {
			found = &opened{mount: m}
		}
		if f := openMount(r.c.proc(r.pid, "root"), m); f != nil {
			found = &opened{mount: m, file: f}
			break
		}
	}
	if found == nil {
		if m, ok := r.elsewhere()[device]; ok {
			found = &opened{mount: m.mount, elsewhere: m.name, file: openMount(r.c.proc(m.pid, "root"), m.mount)}
		}
	}
	r.open[device] = found
	return found
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// maxNamespaces bounds the mount namespaces that are searched.
const maxNamespaces = 500

// elsewhere reads the mounts of every mount namespace of the host, once.
func (r *resolver) elsewhere() map[uint32]foreign {
	if r.searched {
		return r.others
	}
	r.searched, r.others = true, map[uint32]foreign{}
	seen := map[string]bool{}
	if own, err := os.Readlink(r.c.proc(r.pid, "ns/mnt")); err == nil {
		seen[own] = true
	}
	pids, _ := numbered(r.c.cfg.Proc)
	for _, pid := range pids {
		namespace, err := os.Readlink(r.c.proc(pid, "ns/mnt"))
		if err != nil || seen[namespace] || len(seen) > maxNamespaces {
			continue
		}
		seen[namespace] = true
		mounts, _ := readMounts(r.c.proc(pid, "mountinfo"))
		name := firstLine(r.c.proc(pid, "comm"))
		for _, m := range mounts {
			if _, known := r.others[m.device]; !known {
				r.others[m.device] = foreign{m, pid, fmt.Sprintf("pid %d, %s", pid, name)}
			}
		}
	}
	return r.others
}

// openMount opens a mount below the root of a process if it is the one in mountinfo:
// another mount may hide it.
func openMount(root string, m mount) *os.File {
	if m.fstype == "autofs" {
		return nil // opening it would mount
	}
	f, err := openDirectory(filepath.Join(root, m.point))
	if err != nil {
		return nil
	}
	info, err := f.Stat()
	if err != nil || deviceOf(info) != m.device && m.fstype != "btrfs" {
		f.Close()
		return nil
	}
	return f
}
