package procfs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"leakdiff/analysis"
	"leakdiff/analysis/read/line"
	"leakdiff/samples/corpus"
)

func sample(t testing.TB, name string) []byte {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// wantClean fails where a parser complained about real data.
func wantClean(t *testing.T, problems []analysis.Problem, err error) {
	t.Helper()
	if err != nil || len(problems) > 0 {
		t.Fatalf("error %v, problems %+v", err, problems)
	}
}

func TestEveryDescriptorTypeOfTheZooIsRead(t *testing.T) {
	all, problems, err := ParseAnnotated(bytes.NewReader(sample(t, "zoo-annotated.txt")), "annotated.txt")
	wantClean(t, problems, err)
	if len(all) != 82 {
		t.Fatalf("got %d descriptors, want 82", len(all))
	}
	byFD := map[int]Annotated{}
	types := map[string]int{}
	watches, marks, targets, locks := 0, 0, 0, 0
	for _, a := range all {
		byFD[a.FD] = a
		types[a.Type]++
		watches += len(a.Watches)
		if a.Rare != nil {
			marks += len(a.Rare.Marks)
			targets += len(a.Rare.Targets)
			locks += len(a.Rare.Locks)
		}
	}
	// Counted in the file with grep.
	if got, want := []int{watches, marks, targets, locks}, []int{30, 4, 3, 5}; !cmp.Equal(got, want) {
		t.Errorf("watches, marks, targets, locks: got %v, want %v", got, want)
	}
	want := map[string]int{
		"eventfd": 2, "timerfd": 1, "signalfd": 1, "epoll": 1, "inotify": 1, "fanotify": 2, "userfaultfd": 1, "io_uring": 2,
		"pidfd": 2, "bpf-map": 1, "bpf-prog": 2, "bpf-link": 1, "tun": 1, "ptmx": 1, "unix": 4,
	}
	want[""] = 82 - 23
	if diff := cmp.Diff(want, types); diff != "" {
		t.Errorf("types (-want +got):\n%s", diff)
	}

	t.Run("a target with a line feed is whole", func(t *testing.T) {
		if got, want := byFD[9].Target, "/srv/leak-lab/fd/exp/zoodir/name with  spaces\nand newline\t(deleted)"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
	t.Run("wd, inode and device of a watch are hex", func(t *testing.T) {
		got := byFD[26].Watches[0]
		got.Place = analysis.Place{}
		want := analysis.Watch{
			FD: 26, WD: 0x1e, Inode: 1, Device: 0x16, Mask: 0x20, HandleType: 0x81, Handle: "010000000000000001000000",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if got, want := byFD[26].Watches[2].Inode, uint64(0x2e1); got != want {
			t.Errorf("inode: got %d, want %d", got, want)
		}
	})
	t.Run("the inode at the top is decimal", func(t *testing.T) {
		if got := byFD[26]; got.Inode != 1038 || !got.HasInode {
			t.Errorf("got %d %v, want 1038 true", got.Inode, got.HasInode)
		}
	})
	t.Run("flags are octal", func(t *testing.T) {
		if got := byFD[25].Flags; got != 0o2004000 {
			t.Errorf("got %o, want 2004000", got)
		}
	})
	t.Run("fanotify prints the mount id in hex", func(t *testing.T) {
		got := byFD[27].Rare.Marks
		for i := range got {
			got[i].Place = analysis.Place{}
		}
		want := []Mark{
			{Device: 0x1b, Mask: 0x20},
			{MountID: 0x1e, Mask: 0x1000},
			{Inode: 0xa8a9aa, Device: 0xfe00000, Flags: 0x40, Mask: 0x38, IgnoredMask: 0x20, HandleType: 1, Handle: "aaa9a800716a9763"},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
	t.Run("epoll prints the descriptor in decimal and the rest in hex", func(t *testing.T) {
		want := []Target{
			{FD: 16, Events: 0x19, Data: 0xffffffff00000016, Inode: 0x1a2f4, Device: 0xf},
			{FD: 22, Events: 0x19, Data: 0xffffffff00000016, Inode: 0x40e, Device: 0x10},
			{FD: 20, Events: 0x80000019, Data: 0xffffffffffffffff, Inode: 0x40e, Device: 0x10},
		}
		if diff := cmp.Diff(want, byFD[24].Rare.Targets); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
	t.Run("a dead pidfd and descriptors in flight are seen", func(t *testing.T) {
		if byFD[32].Rare.DeadPid || !byFD[33].Rare.DeadPid {
			t.Errorf("dead: got %v, %v, want false, true", byFD[32].Rare.DeadPid, byFD[33].Rare.DeadPid)
		}
		if got := byFD[43].Rare.SCMFds; got != 3 {
			t.Errorf("in flight: got %d, want 3", got)
		}
	})
	t.Run("unknown keys, keys with a blank and indented lines are kept", func(t *testing.T) {
		if got := byFD[22].Rare.Extra["settime flags"]; got != "00" {
			t.Errorf("settime flags: got %q", got)
		}
		if got, want := byFD[30].Rare.Extra["UserFiles"], "2\n0: /srv/leak-lab/fd/exp/zoodir/plain.txt"; got != want {
			t.Errorf("UserFiles: got %q, want %q", got, want)
		}
		if got, ok := byFD[30].Rare.Extra["PollList"]; got != "" || !ok {
			t.Errorf("PollList: got %q, %v, want an empty value", got, ok)
		}
		if got, want := byFD[5].Rare.Locks, []string{
			"1: POSIX  ADVISORY  WRITE 21630 fe:00:11053485 0 9", "2: POSIX  ADVISORY  READ 21630 fe:00:11053485 20 EOF",
		}; !cmp.Equal(got, want) {
			t.Errorf("locks: got %q", got)
		}
	})
	t.Run("access comes from the flags", func(t *testing.T) {
		for fd, want := range map[int]string{0: "r", 1: "w", 3: "u", 14: "", 77: ""} {
			if got := byFD[fd].access(); got != want {
				t.Errorf("%d: got %q, want %q", fd, got, want)
			}
		}
	})
}

func TestAPlaceCutsTheWatchOutOfItsFile(t *testing.T) {
	raw := sample(t, "inotify-fdinfo-many-filesystems-before.txt")
	info, problems, err := ParseFDInfo(bytes.NewReader(raw), "25", 25)
	wantClean(t, problems, err)
	if len(info.Watches) != 26 {
		t.Fatalf("got %d watches, want 26", len(info.Watches))
	}
	for _, w := range info.Watches {
		got := string(raw[w.Place.Offset : w.Place.Offset+w.Place.Length])
		prefix := fmt.Sprintf("inotify wd:%x ino:%x sdev:%x mask:%x ", w.WD, w.Inode, w.Device, w.Mask)
		if !strings.HasPrefix(got, prefix) || !strings.HasSuffix(got, "f_handle:"+w.Handle) {
			t.Errorf("line %d: place holds %q, want %q ... %q", w.Place.Line, got, prefix, w.Handle)
		}
		if want := int64(1 + bytes.Count(raw[:w.Place.Offset], []byte("\n"))); w.Place.Line != want {
			t.Errorf("line: got %d, want %d", w.Place.Line, want)
		}
	}
}

func TestFilesOfOldKernelsAndExcerptsAreRead(t *testing.T) {
	const indented = "      pos: 0\n      flags:    00\n      mnt_id:   11\n" +
		"      inotify wd:a ino:7ef82a sdev:800001 mask:800afff ignored_mask:0 fhandle-bytes:8 fhandle-type:1 f_handle:2af87e00220ffd73\n"
	tests := map[string]struct {
		in       string
		watches  []analysis.Watch
		bodies   int
		hasInode bool
		problems int
	}{
		"an indented excerpt without inode": {
			in: indented, bodies: 1,
			watches: []analysis.Watch{{FD: 7, WD: 10, Inode: 0x7ef82a, Device: 0x800001, Mask: 0x800afff, HandleType: 1, Handle: "2af87e00220ffd73"}},
		},
		"a line without a file handle": {
			in:      "pos:\t0\ninotify wd:3 ino:9e7e sdev:800013 mask:800afce ignored_mask:0 \n",
			bodies:  1,
			watches: []analysis.Watch{{FD: 7, WD: 3, Inode: 0x9e7e, Device: 0x800013, Mask: 0x800afce}},
		},
		"inotify lines alone": {
			in:      "inotify wd:1 ino:2 sdev:3 mask:4 ignored_mask:0 fhandle-bytes:1 fhandle-type:5 f_handle:0a\r\n",
			watches: []analysis.Watch{{FD: 7, WD: 1, Inode: 2, Device: 3, Mask: 4, HandleType: 5, Handle: "0a"}},
		},
		"two bodies in one file": {
			in: "pos:\t-1\nflags:\t00\nmnt_id:\t17\nino:\t5\ninotify wd:1 ino:1 sdev:16 mask:20 ignored_mask:0\n" +
				"pos:\t0\nflags:\t00\nmnt_id:\t18\nino:\t6\ninotify wd:2 ino:1 sdev:16 mask:20 ignored_mask:0\n",
			bodies: 2, hasInode: true, problems: 1,
			watches: []analysis.Watch{{FD: 7, WD: 1, Inode: 1, Device: 0x16, Mask: 0x20}, {FD: 7, WD: 2, Inode: 1, Device: 0x16, Mask: 0x20}},
		},
		"a broken line costs itself only": {
			in:     "pos:\tnone\ngarbage\ninotify wd:xyz\ninotify wd:2 ino:1 sdev:16 mask:20 ignored_mask:0\n",
			bodies: 1, problems: 3,
			watches: []analysis.Watch{{FD: 7}, {FD: 7, WD: 2, Inode: 1, Device: 0x16, Mask: 0x20}},
		},
		"a last line that was cut inside a number is no watch": {
			in:       "inotify wd:2 ino:1 sdev:16 mask:20 ignored_mask:0\ninotify wd:1 ino:1 sdev:1",
			problems: 1,
			watches:  []analysis.Watch{{FD: 7, WD: 2, Inode: 1, Device: 0x16, Mask: 0x20}},
		},
		"a last line that was cut inside the handle is no watch": {
			in:       "inotify wd:2 ino:1 sdev:16 mask:20 ignored_mask:0 fhandle-bytes:c fhandle-type:81 f_handle:0100",
			problems: 1,
		},
		"a line longer than anything is passed over": {
			in:       strings.Repeat("x", 300<<10) + "\ninotify wd:2 ino:1 sdev:16 mask:20 ignored_mask:0\n",
			problems: 1,
			watches:  []analysis.Watch{{FD: 7, WD: 2, Inode: 1, Device: 0x16, Mask: 0x20}},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			info, problems, err := ParseFDInfo(strings.NewReader(tt.in), "7", 7)
			if err != nil {
				t.Fatal(err)
			}
			for i := range info.Watches {
				info.Watches[i].Place = analysis.Place{}
			}
			if diff := cmp.Diff(tt.watches, info.Watches); diff != "" {
				t.Errorf("watches (-want +got):\n%s", diff)
			}
			if info.Bodies != tt.bodies || info.HasInode != tt.hasInode || len(problems) != tt.problems {
				t.Errorf("got %d bodies, inode %v, problems %+v", info.Bodies, info.HasInode, problems)
			}
		})
	}
}

func TestAnEmptyFileIsNotAFileWithoutWatches(t *testing.T) {
	empty, _, _ := ParseFDInfo(strings.NewReader(""), "25", 25)
	if !empty.Empty {
		t.Error("a file of 0 bytes: want Empty")
	}
	none, _, _ := ParseFDInfo(strings.NewReader("pos:\t0\nflags:\t00\n"), "25", 25)
	if none.Empty || none.FD != 25 {
		t.Errorf("a file without watches: got %+v", none)
	}
}

func TestGrepOverFdinfoGivesDescriptorsOfEachProcessAndTime(t *testing.T) {
	const w = "inotify wd:1 ino:1 sdev:16 mask:20 ignored_mask:0 fhandle-bytes:1 fhandle-type:1 f_handle:0a"
	w2 := strings.Replace(w, "wd:1", "wd:2", 1)
	// Each descriptor is "part pid fd watches".
	tests := map[string]struct {
		in   string
		want []string
	}{
		"file names":              {"/proc/2706/fdinfo/25:" + w2 + "\n/proc/2706/fdinfo/25:" + w + "\n/proc/2706/fdinfo/9:" + w + "\n", []string{"0 2706 25 2", "0 2706 9 1"}},
		"line numbers":            {"/proc/2706/fdinfo/25:5:" + w + "\n", []string{"0 2706 25 1"}},
		"counts":                  {"/proc/2706/fdinfo/25:48\n/proc/2706/fdinfo/3:0\n", []string{"0 2706 25 48", "0 2706 3 0"}},
		"relative names":          {"25:pos:\t0\n25:" + w + "\n", []string{"0 0 25 1"}},
		"a bundle's directory":    {"t0/2706/fdinfo/25:" + w + "\n", []string{"0 2706 25 1"}},
		"several processes":       {"/proc/1/fdinfo/5:" + w + "\n/proc/2/fdinfo/5:" + w + "\n", []string{"0 1 5 1", "0 2 5 1"}},
		"a task's own directory":  {"/proc/2706/task/2710/fdinfo/25:" + w + "\n", []string{"0 2706 25 1"}},
		"threads repeat it":       {"/proc/7/task/7/fdinfo/25:" + w + "\n/proc/7/task/8/fdinfo/25:" + w + "\n/proc/7/fdinfo/25:" + w + "\n", []string{"0 7 25 1"}},
		"the same file again":     {"/proc/7/fdinfo/5:2\n/proc/7/fdinfo/6:1\n/proc/7/fdinfo/5:3\n/proc/7/fdinfo/6:1\n", []string{"0 7 5 2", "0 7 6 1", "1 7 5 3", "1 7 6 1"}},
		"dates between":           {"03:00:00\n/proc/7/fdinfo/5:2\n03:01:00\n/proc/7/fdinfo/5:2\n/proc/8/fdinfo/5:4\n", []string{"0 7 5 2", "1 7 5 2", "1 8 5 4"}},
		"headings of tail":        {"==> /proc/7/fdinfo/5 <==\npos:\t0\nflags:\t00\n" + w + "\n\n==> /proc/8/fdinfo/5 <==\npos:\t0\nflags:\t00\n" + w2 + "\n" + w + "\n", []string{"0 7 5 1", "0 8 5 2"}},
		"the only file again":     {"/proc/7/fdinfo/5:2\n/proc/7/fdinfo/5:3\n", []string{"0 7 5 2", "1 7 5 3"}},
		"the only watch again":    {"/proc/7/fdinfo/5:" + w + "\n/proc/7/fdinfo/5:" + w + "\n", []string{"0 7 5 1", "1 7 5 1"}},
		"a loop without names":    {"$ while sleep 5; do grep -c inotify /proc/7/fdinfo/5; done\n2\n3\n", []string{"0 7 5 2", "1 7 5 3"}},
		"one file that cat shows": {"$ cat /proc/7/fdinfo/5\npos:\t0\nflags:\t00\n" + w2 + "\n" + w + "\n", []string{"0 7 5 2"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			captures, begins, problems, err := ParseGrep(strings.NewReader(tt.in), "grep.txt")
			wantClean(t, problems, err)
			var got []string
			for _, c := range captures {
				for _, i := range c.Infos {
					got = append(got, fmt.Sprintf("%d %d %d %d", c.Part, c.PID, i.FD, i.Watched()))
					for _, w := range i.Watches {
						if w.FD != i.FD {
							t.Errorf("watch of %d says %d", i.FD, w.FD)
						}
					}
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" || len(begins) != captures[len(captures)-1].Part+1 {
				t.Errorf("%d points (-want +got):\n%s", len(begins), diff)
			}
		})
	}
	t.Run("what grep could not read is a problem", func(t *testing.T) {
		_, _, problems, _ := ParseGrep(strings.NewReader("grep: /proc/1/fdinfo/3: Permission denied\n"), "grep.txt")
		if len(problems) != 1 {
			t.Errorf("got %+v", problems)
		}
	})
}

func TestTailOverFdinfoIsRead(t *testing.T) {
	const in = "==> /proc/2706/fdinfo/9 <==\npos:\t0\nflags:\t00\n\n==> /proc/2706/fdinfo/25 <==\npos:\t0\n" +
		"inotify wd:1 ino:1 sdev:16 mask:20 ignored_mask:0\n"
	all, problems, err := ParseAnnotated(strings.NewReader(in), "tail.txt")
	wantClean(t, problems, err)
	if len(all) != 2 || all[0].FD != 9 || all[1].FD != 25 || all[1].PID != 2706 || len(all[1].Watches) != 1 {
		t.Errorf("got %+v", all)
	}
}

func TestASectionWhoseHeadingSomethingCutIntoIsSaid(t *testing.T) {
	const in = "== 20 -> pipe:[7]\npos:\t0\n== 21 2026/11/21 03:00:00 slow-> pipe:[8]\npos:\t0\n"
	all, problems, err := ParseAnnotated(strings.NewReader(in), "annotated.txt")
	if err != nil || len(all) != 1 || len(problems) != 1 || problems[0].Severity != analysis.Warning || problems[0].Line != 3 {
		t.Errorf("got %+v, %+v, %v", all, problems, err)
	}
}

func TestMountinfoIsRead(t *testing.T) {
	mounts, problems, err := ParseMountinfo(bytes.NewReader(sample(t, "kubelet-mountinfo")), "mountinfo")
	wantClean(t, problems, err)
	if len(mounts) != 26 {
		t.Fatalf("got %d mounts, want 26", len(mounts))
	}
	want := analysis.Mount{
		ID: 70, Parent: 46, Major: 254, Root: "/srv/leak-lab/kubelet/run/fake/kernel_keys_root_maxbytes",
		Point: "/proc/sys/kernel/keys/root_maxbytes", FSType: "ext4", Source: "/dev/vda",
	}
	if diff := cmp.Diff(want, mounts[25]); diff != "" {
		t.Errorf("last mount (-want +got):\n%s", diff)
	}
}

func TestMountLinesWithOddFields(t *testing.T) {
	tests := map[string]struct {
		in   string
		want analysis.Mount
		bad  bool
	}{
		"no optional field": {in: "1 2 0:25 / /a rw - tmpfs tmpfs rw", want: analysis.Mount{ID: 1, Parent: 2, Minor: 25, Root: "/", Point: "/a", FSType: "tmpfs", Source: "tmpfs"}},
		"two optional fields and escapes": {
			in:   `1 2 8:1 /r\134 /a\040b\011c\012d rw shared:1 master:2 - fuse.x a\040b rw`,
			want: analysis.Mount{ID: 1, Parent: 2, Major: 8, Minor: 1, Root: `/r\`, Point: "/a b\tc\nd", FSType: "fuse.x", Source: "a b"},
		},
		"no separator":    {in: "1 2 0:25 / /a rw shared:1 tmpfs tmpfs rw", bad: true},
		"no device":       {in: "1 2 025 / /a rw - tmpfs tmpfs rw", bad: true},
		"a negative id":   {in: "x 2 0:25 / /a rw - tmpfs tmpfs rw", bad: true},
		"a line of words": {in: "tmpfs on /run type tmpfs", bad: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			mounts, problems, _ := ParseMountinfo(strings.NewReader(tt.in+"\n"), "mountinfo")
			if tt.bad {
				if len(mounts) != 0 || len(problems) != 1 {
					t.Errorf("got %+v, %+v", mounts, problems)
				}
				return
			}
			if diff := cmp.Diff([]analysis.Mount{tt.want}, mounts); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestLimitsAreRead(t *testing.T) {
	limits, problems, err := ParseLimits(bytes.NewReader(sample(t, "leaker-limits")), "limits")
	wantClean(t, problems, err)
	if soft, ok := limits.OpenFiles(); soft != 20000 || !ok {
		t.Errorf("open files: got %d, %v, want 20000, true", soft, ok)
	}
	if len(limits) != 16 {
		t.Errorf("got %d rows, want 16", len(limits))
	}
	for name, want := range map[string]Limit{
		"Max stack size":        {8388608, unlimited, "bytes"},
		"Max realtime timeout":  {unlimited, unlimited, "us"},
		"Max realtime priority": {0, 0, ""},
	} {
		if got := limits[name]; got != want {
			t.Errorf("%s: got %+v, want %+v", name, got, want)
		}
	}
	if _, ok := (Limits)(nil).OpenFiles(); ok {
		t.Error("no limits: want not ok")
	}
}

func TestStatusIsRead(t *testing.T) {
	tests := map[string]Status{
		"leaker-status":  {Name: "leaker", PID: 12115, PPID: 12074, UID: 65001, FDSize: 256, Threads: 4, VmRSSBytes: 2904 << 10, NSpid: []int{12115}},
		"kubelet-status": {Name: "kubelet", PID: 2706, PPID: 1, FDSize: 256, Threads: 11, VmRSSBytes: 82816 << 10, NSpid: []int{2706}},
	}
	for name, want := range tests {
		got, problems, err := ParseStatus(bytes.NewReader(sample(t, name)), "status")
		wantClean(t, problems, err)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	got, problems, _ := ParseStatus(strings.NewReader("hello\nworld: 1\n"), "status")
	if got.UID != -1 || len(problems) != 1 {
		t.Errorf("no status at all: got %+v, %+v", got, problems)
	}
}

func TestStatIsSplitAfterTheLastParenthesis(t *testing.T) {
	got, problems, err := ParseStat(bytes.NewReader(sample(t, "kubelet-stat")), "stat")
	wantClean(t, problems, err)
	if diff := cmp.Diff(Stat{PID: 2706, Comm: "kubelet", PPID: 1, StartTicks: 169797, Threads: 11}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	rest := strings.TrimPrefix(string(sample(t, "kubelet-stat")), "2706 (kubelet)")
	for _, comm := range []string{"zoo (a b) c", "a) S 1 2", "two\nlines", "()", ""} {
		got, problems, err := ParseStat(strings.NewReader("9 ("+comm+")"+rest), "stat")
		wantClean(t, problems, err)
		if got.Comm != comm || got.StartTicks != 169797 || got.PID != 9 {
			t.Errorf("%q: got %+v", comm, got)
		}
	}
	if _, problems, _ := ParseStat(strings.NewReader("9 (x) S 1"), "stat"); len(problems) != 1 {
		t.Errorf("a cut stat: got %+v", problems)
	}
}

func TestCmdlineIsSplit(t *testing.T) {
	for in, want := range map[string][]string{
		"kubelet\x00--v=2\x00":         {"kubelet", "--v=2"},
		"a b\x00\x00c\x00":             {"a b", "", "c"},
		"./leaker /a /b ":              {"./leaker", "/a", "/b"},
		"nginx: master process\x00":    {"nginx: master process"},
		"":                             nil,
		"\x00\x00":                     nil,
		"kubelet\x00--root=/srv\x00\n": {"kubelet", "--root=/srv"},
	} {
		got, problems, err := ParseCmdline(strings.NewReader(in), "cmdline")
		wantClean(t, problems, err)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", in, diff)
		}
	}
	got, _, _ := ParseCmdline(bytes.NewReader(sample(t, "kubelet-cmdline")), "cmdline")
	if len(got) != 6 || got[5] != "--v=2" {
		t.Errorf("kubelet: got %q", got)
	}
}

func TestSysctlsAreReadInEveryForm(t *testing.T) {
	inotify := map[string]int64{
		"fs.inotify.max_queued_events": 16384, "fs.inotify.max_user_instances": 128, "fs.inotify.max_user_watches": 192536,
	}
	fileNr := map[string]int64{"fs.file-nr.allocated": 1440, "fs.file-nr.unused": 0, "fs.file-nr.max": 2466177}
	tests := map[string]struct {
		in, path string
		want     map[string]int64
	}{
		"grep":               {string(sample(t, "leaker-inotify-sysctls.txt")), "inotify-sysctls.txt", inotify},
		"file-nr":            {string(sample(t, "leaker-file-nr.txt")), "t1/leaker/file-nr.txt", fileNr},
		"sysctl":             {"fs.inotify.max_user_instances = 128\nfs.file-nr = 1440\t0\t2466177\nkernel.hostname = vm\nnet.ipv4.tcp_mem = 1 2 3\n", "sysctl_-a", map[string]int64{"fs.inotify.max_user_instances": 128, "fs.file-nr.allocated": 1440, "fs.file-nr.unused": 0, "fs.file-nr.max": 2466177}},
		"the file itself":    {"128\n", "host/proc/sys/fs/inotify/max_user_instances", map[string]int64{"fs.inotify.max_user_instances": 128}},
		"a copy of the file": {"128\n", "host/max_user_instances", map[string]int64{"fs.inotify.max_user_instances": 128}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, problems, err := ParseSysctls(strings.NewReader(tt.in), tt.path)
			wantClean(t, problems, err)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestLinkTargetsAreClassified(t *testing.T) {
	tests := map[string]analysis.Descriptor{
		"socket:[60463]":                      {Type: "socket", Inode: 60463},
		"pipe:[314757]":                       {Type: "pipe", Inode: 314757},
		"net:[4026531833]":                    {Type: "namespace", Inode: 4026531833},
		"pid_for_children:[4026531836]":       {Type: "namespace", Inode: 4026531836},
		"anon_inode:[eventpoll]":              {Type: "anon"},
		"anon_inode:inotify":                  {Type: "anon"},
		"inotify":                             {Type: "anon"},
		"/tmp/#9977945 (deleted)":             {Type: "regular", Deleted: true},
		"/memfd:my memfd (deleted)":           {Type: "memfd", Deleted: true},
		"/srv/x\t(deleted)":                   {Type: "regular"},
		"/dev/null":                           {Type: "char"},
		"/dev/shm/zooshm (deleted)":           {Type: "regular", Deleted: true},
		"/dev/sda":                            {Type: "block"},
		"/dev/loop-control":                   {Type: "char"},
		"/proc/14406/fd":                      {Type: "directory"},
		"/":                                   {Type: "directory"},
		"/srv/a:[1]":                          {Type: "regular"},
		"":                                    {},
		"socket:[]":                           {},
		"socket:[18446744073709551616]":       {},
		"/sys/fs/cgroup/cpu/cpu.cfs_quota_us": {Type: "regular"},
	}
	for target, want := range tests {
		want.FD, want.Name = 3, target
		if diff := cmp.Diff(want, Link(3, target)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", target, diff)
		}
	}
}

func TestAReadErrorKeepsWhatCameBefore(t *testing.T) {
	raw := sample(t, "inotify-fdinfo-many-filesystems-before.txt")
	broken := errors.New("disk on fire")
	info, _, err := ParseFDInfo(io.MultiReader(bytes.NewReader(raw), iotest.ErrReader(broken)), "25", 25)
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), "25") || len(info.Watches) != 26 {
		t.Errorf("got %d watches and %v", len(info.Watches), err)
	}
}

func TestProblemsAreBounded(t *testing.T) {
	in := strings.Repeat("no key at all\n", 5000)
	_, problems, _ := ParseFDInfo(strings.NewReader(in), "25", 25)
	if len(problems) != line.MaxProblems+1 {
		t.Fatalf("got %d problems, want %d", len(problems), line.MaxProblems+1)
	}
	if got := problems[line.MaxProblems].What; !strings.Contains(got, "4900") {
		t.Errorf("summary: got %q, want 4900 more", got)
	}
	if p := problems[2]; p.Line != 3 || p.Offset != 28 || p.Why == "" || p.Hint == "" || p.Path != "25" {
		t.Errorf("third problem: got %+v", p)
	}
}

// TestAPrefixOfAFileGivesAPrefixOfItsWatches cuts a real file anywhere.
func TestAPrefixOfAFileGivesAPrefixOfItsWatches(t *testing.T) {
	raw := sample(t, "inotify-fdinfo-many-filesystems-before.txt")
	whole, _, _ := ParseFDInfo(bytes.NewReader(raw), "25", 25)
	rapid.Check(t, func(t *rapid.T) {
		cut := rapid.IntRange(0, len(raw)).Draw(t, "cut")
		part, _, err := ParseFDInfo(bytes.NewReader(raw[:cut]), "25", 25)
		if err != nil {
			t.Fatal(err)
		}
		complete := bytes.Count(raw[:cut], []byte("\ninotify ")) // the last of them may be cut
		if n := len(part.Watches); n > complete || n < complete-1 {
			t.Fatalf("%d lines begun, %d watches read", complete, n)
		}
		for i, w := range part.Watches {
			if w.WD != whole.Watches[i].WD || w.Inode != whole.Watches[i].Inode || w.Device != whole.Watches[i].Device || w.Mask != whole.Watches[i].Mask {
				t.Fatalf("watch %d: got %+v, want %+v", i, w, whole.Watches[i])
			}
		}
	})
}

// TestMountsOfAConcatenationAreThoseOfItsParts cuts a real file at line ends.
func TestMountsOfAConcatenationAreThoseOfItsParts(t *testing.T) {
	lines := bytes.SplitAfter(sample(t, "leaker-mountinfo"), []byte("\n"))
	rapid.Check(t, func(t *rapid.T) {
		cut := rapid.IntRange(0, len(lines)).Draw(t, "cut")
		a, _, _ := ParseMountinfo(bytes.NewReader(bytes.Join(lines[:cut], nil)), "a")
		b, _, _ := ParseMountinfo(bytes.NewReader(bytes.Join(lines[cut:], nil)), "b")
		if len(a)+len(b) != 32 { // wc -l
			t.Fatalf("got %d + %d mounts, want 32", len(a), len(b))
		}
	})
}

func TestSeriesOfTheCorpusGiveTheExpectedWatches(t *testing.T) {
	root := corpus.Path(t)
	for series, process := range map[string]string{
		"inotify-leak/expected.json":               "leaker",
		"kubelet-probe-leak/expected.kubelet.json": "kubelet", "kubelet-probe-leak/expected.containerd.json": "containerd",
		"prometheus-hanging-targets/expected.json": "prometheus",
	} {
		raw, err := os.ReadFile(filepath.Join(root, "series", series))
		if err != nil {
			t.Fatal(err)
		}
		var truth struct {
			Snapshots []string
			Totals    struct{ Watches []int }
		}
		if err := json.Unmarshal(raw, &truth); err != nil {
			t.Fatal(err)
		}
		var got []int
		for _, snapshot := range truth.Snapshots {
			got = append(got, len(directoryWatches(t, filepath.Join(root, "series", filepath.Dir(series), snapshot, process, "fdinfo"))))
		}
		if diff := cmp.Diff(truth.Totals.Watches, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", series, diff)
		}
	}
}

// directoryWatches reads every file of an fdinfo directory, without a complaint.
func directoryWatches(t *testing.T, dir string) []analysis.Watch {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []analysis.Watch
	for _, f := range files {
		raw, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		fd, err := strconv.Atoi(f.Name())
		if err != nil {
			t.Fatal(err)
		}
		info, problems, err := ParseFDInfo(bytes.NewReader(raw), f.Name(), fd)
		wantClean(t, problems, err)
		if !info.HasInode || info.Bodies != 1 {
			t.Errorf("%s: got %+v", filepath.Join(dir, f.Name()), info)
		}
		out = append(out, info.Watches...)
	}
	return out
}

func TestWatchesWithoutAMountGrowInTheInotifyLeak(t *testing.T) {
	root := corpus.Path(t)
	var orphans, roots []int
	for _, snapshot := range []string{"t0", "t1", "t2", "t3"} {
		dir := filepath.Join(root, "series", "inotify-leak", snapshot, "leaker")
		raw, err := os.ReadFile(filepath.Join(dir, "mountinfo"))
		if err != nil {
			t.Fatal(err)
		}
		mounts, problems, err := ParseMountinfo(bytes.NewReader(raw), "mountinfo")
		wantClean(t, problems, err)
		mounted := map[uint32]bool{}
		for _, m := range mounts {
			mounted[m.Major<<20|m.Minor] = true
		}
		orphan, first := 0, 0
		for _, w := range directoryWatches(t, filepath.Join(dir, "fdinfo")) {
			if !mounted[w.Device] {
				orphan++
			}
			if w.Inode == 1 {
				first++
			}
		}
		orphans, roots = append(orphans, orphan), append(roots, first)
	}
	if want := []int{0, 8, 22, 43}; !cmp.Equal(orphans, want) {
		t.Errorf("without a mount: got %v, want %v", orphans, want)
	}
	if want := []int{12, 20, 36, 56}; !cmp.Equal(roots, want) {
		t.Errorf("ino:1: got %v, want %v", roots, want)
	}
}

func TestPublicExcerptsOfFdinfoAreRead(t *testing.T) {
	root := corpus.Path(t)
	for name, want := range map[string]int{
		"realworld/18-procfs-fixture-fdinfo-0.txt": 3, "realworld/19-manpage-fdinfo-old-mask.txt": 2,
		"zoo/inotify-fdinfo-many-filesystems-before.txt": 26, "zoo/inotify-fdinfo-many-filesystems-after-deletes.txt": 21,
	} {
		if !corpus.Has(t, "descriptors", name) {
			continue
		}
		raw, err := os.ReadFile(filepath.Join(root, "descriptors", name))
		if err != nil {
			t.Fatal(err)
		}
		info, problems, err := ParseFDInfo(bytes.NewReader(raw), name, -1)
		wantClean(t, problems, err)
		if len(info.Watches) != want || info.Bodies != 1 || info.Type != "inotify" {
			t.Errorf("%s: got %d watches, want %d: %+v", name, len(info.Watches), want, info)
		}
	}
}

func TestEveryProcessFileOfTheCorpusIsReadWithoutComplaint(t *testing.T) {
	root := corpus.Path(t)
	read := map[string]int{}
	for _, pattern := range []string{"mountinfo", "limits", "proc-limits.txt", "status", "proc-status.txt", "stat", "inotify-sysctls.txt", "file-nr.txt"} {
		files, err := filepath.Glob(filepath.Join(root, "series", "*", "t*", "*", pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			n, problems, err := readAny(pattern, raw, file)
			wantClean(t, problems, err)
			if n == 0 {
				t.Errorf("%s: nothing was read", file)
			}
			read[pattern]++
		}
	}
	// Counted with find.
	if read["mountinfo"] != 37 || read["limits"] != 47 || read["status"] != 43 || read["stat"] != 33 {
		t.Errorf("files read: %v", read)
	}
}

// readAny reads a file by its name and counts what it gave.
func readAny(name string, raw []byte, path string) (int, []analysis.Problem, error) {
	r := bytes.NewReader(raw)
	switch name {
	case "mountinfo":
		v, p, err := ParseMountinfo(r, path)
		return len(v), p, err
	case "limits", "proc-limits.txt":
		v, p, err := ParseLimits(r, path)
		soft, _ := v.OpenFiles()
		return int(soft), p, err
	case "status", "proc-status.txt":
		v, p, err := ParseStatus(r, path)
		return v.PID * len(v.NSpid) * v.Threads, p, err
	case "stat":
		v, p, err := ParseStat(r, path)
		return int(v.StartTicks), p, err
	}
	v, p, err := ParseSysctls(r, path)
	return len(v), p, err
}
