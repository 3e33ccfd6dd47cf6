package capture

import (
	"bytes"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"leakdiff/analysis/expression"
)

// ticksPerSecond is USER_HZ, 100 on every architecture of Linux that Go runs on.
const ticksPerSecond = 100

// errGone means that the process ended, or that its pid is another process now.
var errGone = errors.New("the process has ended")

// process is a captured process, over all rounds.
type process struct {
	target Target
	// dir is its directory in every round: "kubelet-4711".
	dir      string
	identity Identity
	// javaHome holds bin/java of a JVM.
	java bool
	node bool
	// attached is true if the JVM was asked for its threads in an earlier round.
	attached bool
	// hasMemory says that stat stated a size when the process was opened. Kernel
	// threads have none.
	hasMemory bool
}

// proc is a file of the process below /proc.
func (c *collector) proc(pid int, name string) string {
	return filepath.Join(c.cfg.Proc, strconv.Itoa(pid), name)
}

// open identifies the process of a pid.
func (c *collector) open(t Target, pid int) (*process, error) {
	stat, err := os.ReadFile(c.proc(pid, "stat"))
	if err != nil {
		return nil, gone(err)
	}
	found, ok := readStat(string(stat))
	if !ok {
		return nil, fmt.Errorf("%s is not understood", c.proc(pid, "stat"))
	}
	p := &process{target: t, hasMemory: found.memory > 0}
	name := found.name
	id := Identity{Name: name, PID: pid, StartTicks: found.ticks}
	if boot := c.bootTime(); !boot.IsZero() {
		id.Started = &Time{boot.Add(time.Duration(found.ticks) * time.Second / ticksPerSecond)}
	}
	id.Executable, _ = os.Readlink(c.proc(pid, "exe"))
	id.Executable = strings.TrimSuffix(id.Executable, " (deleted)")
	const cut = 15
	if base := path.Base(id.Executable); len(name) == cut && len(base) > cut && strings.HasPrefix(base, name) {
		id.Name = base
	}
	p.java, p.node = path.Base(id.Executable) == "java", path.Base(id.Executable) == "node" || path.Base(id.Executable) == "nodejs"
	if built, err := buildinfo.ReadFile(c.proc(pid, "exe")); err == nil {
		id.Go = built.GoVersion
		id.Version = strings.TrimSpace(built.Main.Path + " " + built.Main.Version)
	}
	id.MountNamespace, _ = os.Readlink(c.proc(pid, "ns/mnt"))
	id.NetworkNamespace, _ = os.Readlink(c.proc(pid, "ns/net"))
	if status, err := os.ReadFile(c.proc(pid, "status")); err == nil {
		id.InnerPID = innerPID(string(status))
	}
	if groups, err := os.ReadFile(c.proc(pid, "cgroup")); err == nil {
		id.Container, id.PodUID = containerAndPod(string(groups))
	}
	p.identity = id
	p.dir = FileName(id.Name) + "-" + strconv.Itoa(pid)
	return p, nil
}

// same returns errGone if the pid is no longer the process that was opened.
func (c *collector) same(p *process) error {
	stat, err := os.ReadFile(c.proc(p.identity.PID, "stat"))
	if err != nil {
		return gone(err)
	}
	found, ok := readStat(string(stat))
	if !ok {
		return errGone // a zombie
	}
	if found.ticks != p.identity.StartTicks {
		return fmt.Errorf("%w, and pid %d is another process now", errGone, p.identity.PID)
	}
	// A process that ends gives up its memory before its files and before its state
	// changes: whoever sees its connections closed must see this (do_exit in
	// kernel/exit.c: exit_mm, exit_files, exit_notify).
	if p.hasMemory && found.memory == 0 {
		return errGone
	}
	return nil
}

// gone turns the errors of a missing process into errGone.
func gone(err error) error {
	if errors.Is(err, fs.ErrNotExist) || strings.Contains(err.Error(), "no such process") {
		return errGone
	}
	return err
}

// statFields are the fields of /proc/PID/stat that identify a process.
type statFields struct {
	name string
	// ticks is the start, in ticks since the boot.
	ticks uint64
	// memory is the size of the address space in bytes, 0 for a process that ends.
	memory uint64
}

// readStat reads /proc/PID/stat (proc_pid_stat(5)). The name in parentheses may hold
// anything, so it ends at the last one. Field 3 is the state, field 22 the start, field
// 23 the size of the address space. A process that is dead is not read.
func readStat(stat string) (statFields, bool) {
	open, end := strings.IndexByte(stat, '('), strings.LastIndexByte(stat, ')')
	if open < 0 || end < open {
		return statFields{}, false
	}
	const first, start, size = 3, 22, 23
	fields := strings.Fields(stat[end+1:])
	if len(fields) <= start-first || fields[0] == "Z" || fields[0] == "X" {
		return statFields{}, false
	}
	found := statFields{name: stat[open+1 : end]}
	var err error
	if found.ticks, err = strconv.ParseUint(fields[start-first], 10, 64); err != nil {
		return statFields{}, false
	}
	if len(fields) > size-first {
		found.memory, _ = strconv.ParseUint(fields[size-first], 10, 64)
	}
	return found, true
}

// bootTime is btime in /proc/stat.
func (c *collector) bootTime() time.Time {
	text, _ := os.ReadFile(filepath.Join(c.cfg.Proc, "stat"))
	_, rest, _ := strings.Cut(string(text), "\nbtime ")
	digits, _, _ := strings.Cut(rest, "\n")
	seconds, err := strconv.ParseInt(strings.TrimSpace(digits), 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.Unix(seconds, 0)
}

// innerPID is the last number of NSpid, 0 if it is the only one.
//
//	"NSpid:\t4711\t1\n"   1
func innerPID(status string) int {
	_, rest, _ := strings.Cut(status, "\nNSpid:")
	line, _, _ := strings.Cut(rest, "\n")
	if pids := strings.Fields(line); len(pids) > 1 {
		pid, _ := strconv.Atoi(pids[len(pids)-1])
		return pid
	}
	return 0
}

var (
	containerID = expression.Lazy(`[0-9a-f]{64}`)
	podID       = expression.Lazy(`pod([0-9a-f]{8}[-_][0-9a-f]{4}[-_][0-9a-f]{4}[-_][0-9a-f]{4}[-_][0-9a-f]{12}|[0-9a-f]{32})`)
)

// containerAndPod reads the ids from /proc/PID/cgroup, in the forms of both cgroup drivers
// of the kubelet and of docker.
//
//	"0::/kubepods.slice/kubepods-pod1b2c…_….slice/cri-containerd-64hex.scope"
func containerAndPod(groups string) (container, pod string) {
	if ids := containerID.FindAllString(groups, -1); len(ids) > 0 {
		container = ids[len(ids)-1]
	}
	if found := podID.FindStringSubmatch(groups); found != nil {
		pod = strings.ReplaceAll(found[1], "_", "-")
	}
	return container, pod
}

var unsafeBytes = expression.Lazy(`[^A-Za-z0-9_.-]+`)

// FileName makes a file name of a program's name, which may hold anything.
func FileName(name string) string {
	name = strings.Trim(unsafeBytes.ReplaceAllString(name, "_"), "._-")
	if name == "" {
		return "process"
	}
	return name[:min(len(name), 64)]
}

// named returns the pids of the processes with a name: that of the kernel or that of the
// executable. It leaves out threads and the collector itself.
func (c *collector) named(name string) []int {
	entries, _ := os.ReadDir(c.cfg.Proc)
	var pids []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		stat, err := os.ReadFile(c.proc(pid, "stat"))
		if err != nil {
			continue
		}
		found, ok := readStat(string(stat))
		if !ok {
			continue
		}
		if exe, _ := os.Readlink(c.proc(pid, "exe")); found.name == name || path.Base(strings.TrimSuffix(exe, " (deleted)")) == name {
			pids = append(pids, pid)
		}
	}
	slices.Sort(pids)
	return pids
}

// pods reads the directories that the kubelet makes for logs. They stay for a while after
// a pod has gone.
//
//	"/var/log/pods/kube-system_coredns-7d_1b2c3d4e-…"   kube-system, coredns-7d, 1b2c3d4e-…
func pods(root string) []Pod {
	const most = 5000
	entries, _ := os.ReadDir(filepath.Join(root, "var/log/pods"))
	var out []Pod
	for _, e := range entries {
		parts := strings.SplitN(e.Name(), "_", 3)
		if len(parts) != 3 || len(out) >= most {
			continue
		}
		out = append(out, Pod{UID: parts[2], Namespace: parts[0], Name: parts[1]})
	}
	return out
}

var (
	// secretOption is an option whose value must not leave the machine, unless it names a
	// file.
	secretOption = expression.Lazy(`(?i)^--?[a-z0-9_.-]*(token|password|passwd|passphrase|secret|(api|access)[-_.]?key|credential)[a-z0-9_.-]*$`)
	secretFile   = expression.Lazy(`(?i)(file|path|dir|name|ttl|mode|type|enabled?)$`)
	// userInfo ends at the last @: a password may hold one.
	userInfo = expression.Lazy(`(://)[^/\s]+@`)
)

// masked masks the secrets of a command line, whose words end with NUL.
func masked(cmdline []byte) []byte {
	return bytes.Join(maskedWords(bytes.Split(cmdline, []byte{0})), []byte{0})
}

// maskedWords masks the words in place.
func maskedWords(words [][]byte) [][]byte {
	for i := range words {
		words[i] = []byte(userInfo.ReplaceAllString(string(words[i]), "$1***@"))
		option, _, joined := bytes.Cut(words[i], []byte("="))
		if !secretOption.Match(option) || secretFile.Match(option) {
			continue
		}
		switch {
		case joined:
			words[i] = append(slices.Clone(option), "=***"...)
		case i+1 < len(words) && len(words[i+1]) > 0 && words[i+1][0] != '-':
			words[i+1] = []byte("***")
		}
	}
	return words
}
