//go:build linux

package capture_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"leakdiff/analysis"
	"leakdiff/cmd/leakdiff/capture"

	"leakdiff/samples/corpus"
)

// watched is one watch of the program that leaks them, and the truth about it.
type watched struct {
	Path string `json:"path"`
	// Pod is the uid of the pod that it is of, "" for none.
	Pod   string               `json:"pod"`
	State analysis.TargetState `json:"state"`
	// Held says that another mount namespace still has the mount.
	Held bool `json:"held"`
}

// What every pod of the watcher has: a volume of its own on a tmpfs, and a cgroup.
const (
	ways      = 3 // how a pod ends: not at all, unmounted, unmounted but held elsewhere
	podsPer   = 2
	container = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
)

// watchThings runs in a mount namespace of its own, in the directory of its first
// argument and the cgroup of its second. It watches volumes and cgroups of pods; the
// command "end" takes some of the pods away and keeps the watches, as a leak does.
func watchThings() {
	base, group := os.Args[1], os.Args[2]
	check(unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""))
	check(unix.Mount("logs", "/var/log", "tmpfs", 0, ""))
	var all []watched
	var volumes, cgroups, endings []string
	for i := range ways * podsPer {
		uid := fmt.Sprintf("%08x-1111-2222-3333-444455556666", 0xabc000+i)
		check(os.MkdirAll(fmt.Sprintf("/var/log/pods/shop_cart-%d_%s", i, uid), 0o700))
		volume := filepath.Join(base, "pods", uid, "volumes/kubernetes.io~projected/kube-api-access-x"+fmt.Sprint(i))
		check(os.MkdirAll(volume, 0o700))
		check(unix.Mount("tmpfs", volume, "tmpfs", 0, "size=64k"))
		check(os.WriteFile(volume+"/token", nil, 0o600))
		cgroup := filepath.Join(group, "kubepods/burstable/pod"+uid, container)
		check(os.MkdirAll(cgroup, 0o700))
		volumes, cgroups = append(volumes, volume), append(cgroups, cgroup)
		endings = append(endings, uid)
	}
	// Its mount namespace keeps what is mounted when it is started.
	holder := exec.Command(os.Args[0])
	holder.Env = []string{roleVariable + "=holder"}
	pipe, err := holder.StdinPipe()
	check(err)
	defer pipe.Close()
	for i := range volumes {
		fd := instance()
		watch(fd, volumes[i])
		all = append(all, watched{Path: volumes[i], Pod: endings[i], State: analysis.TargetThere})
		watch(fd, filepath.Join(volumes[i], "token"))
		all = append(all, watched{Path: filepath.Join(volumes[i], "token"), Pod: endings[i], State: analysis.TargetThere})
		watch(fd, cgroups[i])
		all = append(all, watched{Path: strings.TrimPrefix(cgroups[i], os.Args[3]), Pod: endings[i], State: analysis.TargetThere})
	}
	var held []*os.File
	told := json.NewEncoder(os.Stdout)
	told.Encode(all)
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		if in.Text() == "end" {
			for n := range len(volumes) - podsPer {
				// Those that another namespace holds come last, when it is made.
				way := 1 + n/podsPer
				i := way + ways*(n%podsPer)
				if way == 1 {
					// Held by an open descriptor, as a process of the pod may.
					f, err := os.Open(volumes[i] + "/token")
					check(err)
					held = append(held, f)
				}
				if way == 2 && holder.Process == nil {
					holder.SysProcAttr = &unix.SysProcAttr{Cloneflags: unix.CLONE_NEWNS}
					check(holder.Start())
				}
				for j := range 3 {
					w := &all[3*i+j]
					w.State, w.Held = analysis.TargetUnmounted, way == 2
					if j == 2 {
						w.State, w.Held = analysis.TargetRemoved, false
					}
				}
				check(unix.Unmount(volumes[i], unix.MNT_DETACH))
				check(os.Remove(cgroups[i]))
				check(os.Remove(filepath.Dir(cgroups[i])))
			}
		}
		told.Encode(all)
	}
	for _, f := range held {
		f.Close()
	}
	if holder.Process != nil {
		holder.Process.Kill()
		holder.Wait()
	}
}

func instance() int {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	check(err)
	return fd
}

func watch(fd int, name string) {
	_, err := unix.InotifyAddWatch(fd, name, unix.IN_CREATE|unix.IN_DELETE|unix.IN_MODIFY)
	check(err)
}

// leakWatches starts the watcher in a mount namespace and cgroups of its own.
func leakWatches(t *testing.T) (*program, []watched) {
	t.Helper()
	if os.Getuid() != 0 {
		corpus.LeaveOut(t, "only root can mount and make cgroups")
	}
	hierarchy := cgroupHierarchy(t)
	group := filepath.Join(hierarchy, fmt.Sprintf("leakdiff-test-%d", os.Getpid()))
	if err := os.MkdirAll(group, 0o700); err != nil {
		t.Fatal(err) // cgroupHierarchy has just made one beside it
	}
	t.Cleanup(func() { removeCgroups(group) })
	cmd := exec.Command(os.Args[0], t.TempDir(), group, hierarchy)
	cmd.Env = append(os.Environ(), roleVariable+"=watcher")
	cmd.SysProcAttr = &unix.SysProcAttr{Cloneflags: unix.CLONE_NEWNS}
	p := start(t, cmd)
	// The watcher ends what it started when its input does.
	t.Cleanup(func() {
		p.in.Close()
		p.cmd.Wait()
	})
	var all []watched
	if err := json.Unmarshal([]byte(p.line()), &all); err != nil {
		t.Fatal(err)
	}
	return p, all
}

// cgroupHierarchy is one that groups can be made in by root.
func cgroupHierarchy(t *testing.T) string {
	t.Helper()
	for _, dir := range []string{"/sys/fs/cgroup/unified", "/sys/fs/cgroup/pids", "/sys/fs/cgroup"} {
		try := filepath.Join(dir, fmt.Sprintf("leakdiff-try-%d", os.Getpid()))
		if os.Mkdir(try, 0o700) == nil {
			_, err := os.Stat(filepath.Join(try, "cgroup.procs"))
			os.Remove(try)
			if err == nil {
				return dir
			}
		}
	}
	corpus.LeaveOut(t, "there is no cgroup hierarchy to write to")
	return ""
}

// removeCgroups removes the groups below, and the group itself: rmdir from the leaves.
func removeCgroups(group string) {
	entries, _ := os.ReadDir(group)
	for _, e := range entries {
		if e.IsDir() {
			removeCgroups(filepath.Join(group, e.Name()))
		}
	}
	os.Remove(group)
}

// targets are the rows of all families of watches in a snapshot.
func targets(s *analysis.Snapshot) map[string]analysis.Target {
	out := map[string]analysis.Target{}
	for _, rows := range s.Watched {
		for _, row := range rows {
			out[row.What] = row
		}
	}
	return out
}

func TestALeakOfWatchesIsExplainedTargetByTarget(t *testing.T) {
	for _, by := range takers(t) {
		t.Run(by.name, func(t *testing.T) {
			p, all := leakWatches(t)
			cfg := capture.Config{Targets: []capture.Target{{PID: p.pid()}}}
			first := by.take(t, cfg)
			before := slices.Clone(all)
			p.ask("end", &all)
			r := read(t, first, by.take(t, cfg))
			if lost := problems(r); len(lost) > 0 {
				t.Errorf("problems: %q", lost)
			}
			if len(r.Snapshots) != 2 {
				t.Fatalf("%d snapshots", len(r.Snapshots))
			}
			for i, want := range [][]watched{before, all} {
				s := &r.Snapshots[i]
				if got := *s.Totals.Watches; got != len(want) {
					t.Errorf("snapshot %d: %d watches, want %d", i, got, len(want))
				}
				if by.isScript() {
					continue // it names no targets
				}
				rows := targets(s)
				for _, w := range want {
					// Without handles, files of a volume that is mounted are known by their
					// mount and inode alone.
					row, ok := rows[w.Path]
					if !ok {
						row, ok = byMount(rows, w)
						if w.State == analysis.TargetThere {
							w.State = analysis.TargetUnknown // one that is held open looks the same
						}
					}
					if !ok {
						t.Errorf("snapshot %d: nothing is said of %s; there is %v", i, w.Path, keys(rows))
						continue
					}
					type truth struct {
						State analysis.TargetState
						Pod   string
						Name  string
					}
					name := "shop/cart-" + w.Pod[7:8]
					if d := cmp.Diff(truth{w.State, w.Pod, name}, truth{row.State, row.PodUID, row.Pod}); d != "" {
						t.Errorf("snapshot %d: %s: %s", i, w.Path, d)
					}
					if w.State != analysis.TargetThere && row.Why == "" {
						t.Errorf("snapshot %d: %s is gone, and nothing says why", i, w.Path)
					}
					if by.name == "leakdiff collect" && w.Held != strings.Contains(row.Why, "only the mount namespace of pid") {
						t.Errorf("snapshot %d: %s: held elsewhere is %v, and the reason %q", i, w.Path, w.Held, row.Why)
					}
				}
			}
		})
	}
}

// byMount is the row of a file that is known by its mount and inode only.
func byMount(rows map[string]analysis.Target, w watched) (analysis.Target, bool) {
	for what, row := range rows {
		if strings.HasPrefix(what, "inode ") && strings.HasSuffix(what, " of "+filepath.Dir(w.Path)) {
			return row, true
		}
	}
	return analysis.Target{}, false
}

func keys(rows map[string]analysis.Target) []string {
	var out []string
	for k := range rows {
		out = append(out, k)
	}
	return out
}

func TestWhatIsAlreadyGoneIsToldByItsHandle(t *testing.T) {
	p, all := leakWatches(t)
	p.ask("end", &all)
	r := read(t, runCollect(t, capture.Config{Targets: []capture.Target{{PID: p.pid()}}}))
	got, want := map[analysis.TargetState]int{}, map[analysis.TargetState]int{}
	for _, rows := range r.Snapshots[0].Watched {
		for _, row := range rows {
			got[row.State] += row.Count
		}
	}
	for _, w := range all {
		want[w.State]++
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// raiseLoopback brings up the loopback of a network namespace that was just made.
func raiseLoopback() {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	check(err)
	defer unix.Close(fd)
	lo, err := unix.NewIfreq("lo")
	check(err)
	lo.SetUint16(unix.IFF_UP)
	check(unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, lo))
}

func TestLoopbackMeansThatOfTheProcess(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleVariable+"=secluded")
	cmd.SysProcAttr = &unix.SysProcAttr{Cloneflags: unix.CLONE_NEWNET}
	if err := tryOnce(cmd); errors.Is(err, unix.EPERM) {
		corpus.LeaveOut(t, "a network namespace cannot be made here: %v", err)
	}
	p := start(t, cmd)
	var about served
	if err := json.Unmarshal([]byte(p.line()), &about); err != nil {
		t.Fatal(err)
	}
	p.ask("leak 12", &about)
	_, port, _ := strings.Cut(about.Address, ":")
	for _, by := range append(takers(t), fetchers(t)...) {
		for _, address := range []string{about.Address, "localhost:" + port, "http://localhost:" + port + "/debug/pprof/"} {
			t.Run(by.name+", "+address[:9], func(t *testing.T) {
				r := read(t, by.take(t, one(p.pid(), address)))
				if got := counted(&r.Snapshots[0], analysis.KindGoroutine, "(*profileServer).leak"); got != 12 {
					t.Errorf("%d leaked goroutines, want 12: %q", got, problems(r))
				}
				if got := r.Snapshots[0].Figures[analysis.NetworkNamespace]; got != namespaceOf(t, p.pid()) || got == namespaceOf(t, os.Getpid()) {
					t.Errorf("network namespace %.0f, want %.0f, not %.0f", got, namespaceOf(t, p.pid()), namespaceOf(t, os.Getpid()))
				}
			})
		}
	}
	t.Run("the script without nsenter", func(t *testing.T) {
		by := runScript(tool(t, "dash"), []string{pathWithout(t, "nsenter"), "TMPDIR=" + t.TempDir()})
		if r := read(t, by(t, one(p.pid(), "localhost:"+port))); !said(r, "nsenter is not installed") {
			t.Errorf("problems %q", problems(r))
		}
	})
}

// tryOnce says whether a command like this one can be started.
func tryOnce(like *exec.Cmd) error {
	cmd := exec.Command(like.Path)
	cmd.Env, cmd.SysProcAttr = append(os.Environ(), roleVariable+"=holder"), like.SysProcAttr
	if err := cmd.Start(); err != nil {
		return err
	}
	return cmd.Wait() // without input it ends at once
}

// namespaceOf is the inode of the network namespace of a process.
func namespaceOf(t *testing.T, pid int) float64 {
	t.Helper()
	info, err := os.Stat(fmt.Sprintf("/proc/%d/ns/net", pid))
	if err != nil {
		t.Fatal(err)
	}
	return float64(info.Sys().(*syscall.Stat_t).Ino)
}
