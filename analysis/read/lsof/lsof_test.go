package lsof

import (
	"archive/tar"
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/mikelolasagasti/xz"
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

type parser func(io.Reader, string, func(int, *Row) error) (Listing, []analysis.Problem, error)

// result is a listing with all its visited rows, by part.
type result struct {
	Listing
	rows     []Row
	parts    []int
	problems []analysis.Problem
}

func parse(t testing.TB, p parser, raw []byte) result {
	t.Helper()
	var out result
	var err error
	out.Listing, out.problems, err = p(bytes.NewReader(raw), "listing.txt", func(part int, row *Row) error {
		out.rows = append(out.rows, *row)
		out.parts = append(out.parts, part)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func (r result) clean(t *testing.T) result {
	t.Helper()
	if len(r.problems) > 0 {
		t.Fatalf("problems: %+v", r.problems)
	}
	return r
}

// trusted is clean but for what lsof warned of itself.
func (r result) trusted(t *testing.T) result {
	t.Helper()
	messages := slices.ContainsFunc(r.Skipped, func(s Skipped) bool {
		return s.Kind == noiseWarning || s.Kind == noiseAvoided || s.Kind == noiseMessage
	})
	warned := slices.DeleteFunc(slices.Clone(r.problems), func(p analysis.Problem) bool { return !strings.HasPrefix(p.What, "lsof warned") })
	if messages != (len(warned) == 1) || len(warned) != len(r.problems) {
		t.Fatalf("problems: %+v", r.problems)
	}
	return r
}

// byFD returns the descriptors without their places.
func (r result) byFD() map[int]analysis.Descriptor {
	out := map[int]analysis.Descriptor{}
	for _, row := range r.rows {
		if row.IsDescriptor {
			row.Descriptor.Place = analysis.Place{}
			out[row.FD] = row.Descriptor
		}
	}
	return out
}

func TestEveryTypeOfTheZooIsDescribed(t *testing.T) {
	got := parse(t, ParseTable, sample(t, "nP.txt")).clean(t)
	if got.Form != formTable || got.Rows != 88 || got.Descriptors != 82 || got.Parts != 1 {
		t.Errorf("got %+v", got.Listing)
	}
	fds := got.byFD()
	for fd, want := range map[int]analysis.Descriptor{
		3:  {Type: "regular", Access: "u", Inode: 11053483, Device: "254:0", Name: "/srv/leak-lab/fd/exp/zoodir/plain.txt"},
		8:  {Type: "regular", Access: "w", Inode: 11053495, Device: "254:0", Name: "/srv/leak-lab/fd/exp/zoodir/deleted.log (deleted)", Deleted: true},
		9:  {Type: "regular", Access: "u", Inode: 11053489, Device: "254:0", Name: `/srv/leak-lab/fd/exp/zoodir/name with  spaces\nand newline\t(deleted)`},
		13: {Type: "directory", Access: "r", Inode: 11053482, Device: "254:0", Name: "/srv/leak-lab/fd/exp/zoodir"},
		16: {Type: "pipe", Access: "r", Inode: 314757, Device: "0:15", Name: "pipe"},
		18: {Type: "fifo", Access: "u", Inode: 11053492, Device: "254:0", Name: "/srv/leak-lab/fd/exp/zoodir/named.fifo"},
		19: {Type: "char", Access: "u", Inode: 3, Device: "1:3", Name: "/dev/null"},
		20: {Type: "anon", Access: "u", Device: "0:16", Name: "[eventfd:1]"},
		24: {Type: "anon", Access: "u", Device: "0:16", Name: "[eventpoll:16,20,22]"},
		25: {Type: "anon", Access: "r", Device: "0:16", Name: "inotify"},
		29: {Type: "anon", Access: "r", Inode: 314759, Device: "0:16", Name: "[userfaultfd]"},
		32: {Type: "anon", Access: "u", Inode: 111688, Device: "0:5", Name: "[pidfd:14409]"},
		42: {Type: "unix", Access: "u", Inode: 314878, Protocol: "unix", State: "CONNECTED"},
		44: {Type: "unix", Access: "u", Inode: 314880, Protocol: "unix", State: "LISTEN", Name: "zoo.sock"},
		45: {Type: "unix", Access: "u", Inode: 314881, Protocol: "unix", State: "UNCONNECTED", Name: "@zoo-abstract"},
		46: {Type: "tcp", Access: "u", Inode: 314882, Protocol: "TCP", Local: "127.0.0.1:58461", State: "LISTEN", Name: "127.0.0.1:58461 (LISTEN)"},
		49: {Type: "tcp", Access: "u", Inode: 314885, Protocol: "TCP", Local: "127.0.0.1:45834", Remote: "127.0.0.1:58461", State: "CLOSE_WAIT", Name: "127.0.0.1:45834->127.0.0.1:58461 (CLOSE_WAIT)"},
		50: {Type: "socket", Access: "u", Inode: 314887, Device: "0:9", Protocol: "TCP", Name: "protocol: TCP"},
		53: {Type: "tcp6", Access: "u", Inode: 314890, Protocol: "TCP", Local: "*:46779", State: "LISTEN", Name: "*:46779 (LISTEN)"},
		54: {Type: "tcp6", Access: "u", Inode: 314891, Protocol: "TCP", Local: "[::1]:48024", Remote: "[::1]:46779", State: "ESTABLISHED", Name: "[::1]:48024->[::1]:46779 (ESTABLISHED)"},
		58: {Type: "udp", Access: "u", Inode: 314895, Protocol: "UDP", Local: "127.0.0.1:36140", Name: "127.0.0.1:36140"},
		60: {Type: "raw", Access: "u", Inode: 314897, Name: "00000000:0001->00000000:0000 st=07"},
		63: {Type: "packet", Access: "u", Inode: 314901, Protocol: "ALL", Name: "type=SOCK_RAW"},
		64: {Type: "socket", Access: "u", Inode: 314902, Device: "0:9", Protocol: "AF_VSOCK", Name: "protocol: AF_VSOCK"},
		66: {Type: "memfd", Access: "u", Inode: 1025, Device: "0:1", Name: "/memfd:my memfd (deleted)", Deleted: true},
		72: {Type: "namespace", Access: "r", Inode: 4026531833, Device: "0:4", Name: "net"},
	} {
		want.FD = fd
		if diff := cmp.Diff(want, fds[fd]); diff != "" {
			t.Errorf("descriptor %d (-want +got):\n%s", fd, diff)
		}
	}
	first := got.rows[0]
	if first.Command != "zoo (a" || first.PID != 14406 || first.User != "root" || first.FDText != "cwd" || first.FD != -1 || first.IsDescriptor {
		t.Errorf("first row: got %+v", first)
	}
	if deleted := got.rows[4]; deleted.FDText != "DEL" || deleted.Size != "" || deleted.Node != "11053535" || !deleted.Descriptor.Deleted {
		t.Errorf("a row with an empty cell: got %+v", deleted)
	}
	if locked := got.rows[10]; locked.FDText != "4uW" || locked.FD != 4 {
		t.Errorf("a locked file: got %+v", locked)
	}
}

// TestEveryFormOfTheSameProcessAgrees compares listings that lsof printed of one
// process in different shapes: none of them is derived from this package.
func TestEveryFormOfTheSameProcessAgrees(t *testing.T) {
	want := parse(t, ParseTable, sample(t, "nP.txt")).clean(t).byFD()
	if len(want) != 82 {
		t.Fatalf("got %d descriptors, want 82", len(want))
	}
	forms := map[string]parser{
		"R_g.txt": ParseTable, "fg.txt": ParseTable, "o.txt": ParseTable, "K.txt": ParseTable,
		"F.txt": ParseFields, "F0.txt": ParseFields,
	}
	for name, p := range forms {
		want := want
		if name[0] == 'F' {
			want = asFields(want)
		}
		if diff := cmp.Diff(want, parse(t, p, sample(t, name)).clean(t).byFD()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	t.Run("peers of -E change names only", func(t *testing.T) {
		got := parse(t, ParseTable, sample(t, "E.txt")).clean(t).byFD()
		for fd, w := range want {
			g := got[fd]
			if g.Name != w.Name && !strings.Contains(g.Name, "zoo (a b)") && !strings.Contains(g.Name, ",bash,") && !strings.Contains(g.Name, " 14409,zoo,") {
				t.Errorf("%d: name %q, want %q", fd, g.Name, w.Name)
			}
			g.Name = w.Name
			if diff := cmp.Diff(w, g); diff != "" {
				t.Errorf("%d (-want +got):\n%s", fd, diff)
			}
		}
	})
	t.Run("queue sizes of -T qs change names only", func(t *testing.T) {
		got := parse(t, ParseTable, sample(t, "Tqs.txt")).clean(t).byFD()
		if len(got) != 10 {
			t.Fatalf("got %d sockets, want 10", len(got))
		}
		for fd, g := range got {
			g.Name = want[fd].Name
			if diff := cmp.Diff(want[fd], g); diff != "" {
				t.Errorf("%d (-want +got):\n%s", fd, diff)
			}
		}
	})
	t.Run("without a header the same is read", func(t *testing.T) {
		_, rows, _ := bytes.Cut(sample(t, "nP.txt"), []byte("\n"))
		got := parse(t, ParseTable, rows).clean(t)
		if got.Form != Headerless || got.Rows != 88 {
			t.Errorf("got %+v", got.Listing)
		}
		if diff := cmp.Diff(want, got.byFD()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
	t.Run("indented and behind blanks the same is read", func(t *testing.T) {
		indented := strings.ReplaceAll("\n"+string(sample(t, "nP.txt")), "\n", "\n    ")
		if diff := cmp.Diff(want, parse(t, ParseTable, []byte(indented)).clean(t).byFD()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		pushed := strings.Repeat(" ", 330) + string(sample(t, "nP.txt"))
		if diff := cmp.Diff(want, parse(t, ParseTable, []byte(pushed)).clean(t).byFD()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
	t.Run("ls gives the same numbers and access", func(t *testing.T) {
		for _, name := range []string{"ls_l_fd.txt", "ls_lQ_fd.txt", "ls_la_fulliso_fd.txt", "busybox_ls_l_fd.txt"} {
			got := links(t, name)
			if len(got) != 82 {
				t.Errorf("%s: got %d descriptors, want 82", name, len(got))
			}
			for fd, w := range want {
				g, ok := got[fd]
				// lsof shows O_PATH descriptors as u, the link has no rights.
				if !ok || g.Access != w.Access && g.Access != "" {
					t.Errorf("%s: %d: got %+v, want access %s", name, fd, g, w.Access)
				}
				if w.Type == "regular" && fd != 9 && fd != 11 && // busybox prints ? for what it cannot
					strings.HasPrefix(w.Name, "/srv/") && g.Name != strings.ReplaceAll(w.Name, `\\`, `\`) {
					t.Errorf("%s: %d: got name %q, want %q", name, fd, g.Name, w.Name)
				}
				if strings.HasPrefix(g.Name, "socket:[") && g.Inode != w.Inode {
					t.Errorf("%s: %d: got inode %d, want %d", name, fd, g.Inode, w.Inode)
				}
			}
		}
	})
}

// asFields changes what lsof -F prints otherwise than the table: the state has a
// field of its own, and the device of a special file is that of the file system
// (st_dev), not its own (st_rdev). Here /dev is 0:6 and /dev/pts 0:26.
func asFields(table map[int]analysis.Descriptor) map[int]analysis.Descriptor {
	out := map[int]analysis.Descriptor{}
	for fd, d := range table {
		if d.Protocol == "TCP" && d.Local != "" {
			d.Name = strings.TrimSuffix(d.Name, " ("+d.State+")")
		}
		if d.Type == "char" {
			d.Device = "0:6"
		}
		if d.Name == "/dev/pts/0" {
			d.Device = "0:26"
		}
		out[fd] = d
	}
	return out
}

// links reads a listing of ls and returns its descriptors without their places.
func links(t *testing.T, name string) map[int]analysis.Descriptor {
	t.Helper()
	out := map[int]analysis.Descriptor{}
	listing, problems, err := ParseListing(bytes.NewReader(sample(t, name)), name, func(_, _ int, d *analysis.Descriptor) error {
		flat := *d
		flat.Place = analysis.Place{}
		out[d.FD] = flat
		return nil
	})
	if err != nil || len(problems) > 0 || listing.Form != formLinks || listing.Descriptors != len(out) {
		t.Fatalf("%s: %v, %+v, %+v", name, err, problems, listing)
	}
	return out
}

func TestLinksOfLsAreClassified(t *testing.T) {
	got := links(t, "ls_l_fd.txt")
	for fd, want := range map[int]analysis.Descriptor{
		8:  {Type: "regular", Access: "w", Name: "/srv/leak-lab/fd/exp/zoodir/deleted.log (deleted)", Deleted: true},
		9:  {Type: "regular", Access: "u", Name: "/srv/leak-lab/fd/exp/zoodir/name with  spaces\nand newline\t(deleted)"},
		12: {Type: "regular", Access: "u", Name: `/srv/leak-lab/fd/exp/zoodir/back\slash`},
		14: {Type: "regular", Name: "/etc/passwd"},
		16: {Type: "pipe", Access: "r", Inode: 314757, Name: "pipe:[314757]"},
		24: {Type: "anon", Access: "u", Name: "anon_inode:[eventpoll]"},
		25: {Type: "anon", Access: "r", Name: "anon_inode:inotify"},
		46: {Type: "socket", Access: "u", Inode: 314882, Name: "socket:[314882]"},
		66: {Type: "memfd", Access: "u", Name: "/memfd:my memfd (deleted)", Deleted: true},
		72: {Type: "namespace", Access: "r", Inode: 4026531833, Name: "net:[4026531833]"},
	} {
		want.FD = fd
		if diff := cmp.Diff(want, got[fd]); diff != "" {
			t.Errorf("descriptor %d (-want +got):\n%s", fd, diff)
		}
	}
	if quoted := links(t, "ls_lQ_fd.txt"); quoted[9].Name != got[9].Name || quoted[12].Name != got[12].Name {
		t.Errorf("quoted: got %q and %q", quoted[9].Name, quoted[12].Name)
	}
	listing, _, _ := ParseListing(bytes.NewReader(sample(t, "ls_la_fulliso_fd.txt")), "ls", func(int, int, *analysis.Descriptor) error { return nil })
	if listing.Size != 82 {
		t.Errorf("size of the directory: got %d, want 82", listing.Size)
	}
}

func TestListingsOfSeveralDirectoriesAreToldApart(t *testing.T) {
	const in = "$ ls -l /proc/7/fd /proc/8/fd\n/proc/7/fd:\ntotal 0\nlr-x------. 1 root root 64 Jun 20 12:56 0 -> /dev/null\n\n" +
		"/proc/8/fd:\ntotal 0\n\x1b[01;36mlrwx------\x1b[0m 1 root root 64 Jun 20 12:56 \x1b[01;36m0\x1b[0m -> socket:[5]\nlrwx------ 1 root root 64 Jun 20 12:56 1\n"
	var got []string
	listing, problems, err := ParseListing(strings.NewReader(in), "ls", func(part, pid int, d *analysis.Descriptor) error {
		got = append(got, fmt.Sprintf("%d %d %d %s", part, pid, d.FD, d.Name))
		return nil
	})
	if err != nil || len(problems) != 0 {
		t.Fatal(err, problems)
	}
	if diff := cmp.Diff([]string{"0 7 0 /dev/null", "0 8 0 socket:[5]", "0 8 1 "}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if listing.Parts != 1 || listing.Rows != 3 || listing.Descriptors != 3 || listing.Command != "$ ls -l /proc/7/fd /proc/8/fd" {
		t.Errorf("got %+v", listing)
	}
	again := in + "\n" + in
	if listing, problems, _ := ParseListing(strings.NewReader(again), "ls", func(int, int, *analysis.Descriptor) error { return nil }); listing.Parts != 2 || listing.Descriptors != 3 || len(problems) != 0 {
		t.Errorf("two listings of two directories: got %+v, %+v", listing, problems)
	}
}

func TestFindAndStatAreReadAsLinks(t *testing.T) {
	if got := links(t, "find_fd.txt"); len(got) != 82 || got[46].Inode != 314882 {
		t.Errorf("find: got %d descriptors, %+v", len(got), got[46])
	}
	stat := "  File: 4 -> /dev/null\n  Size: 64        \tBlocks: 0          IO Block: 1024   symbolic link\nDevice: 0,21\tInode: 314831      Links: 1\n" +
		"Access: (0500/lr-x------)  Uid: (    0/    root)   Gid: (    0/    root)\nAccess: 2026-11-21 03:02:07.332000602 +0000\n" +
		"Modify: 2026-11-21 03:02:06.560000566 +0000\nChange: 2026-11-21 03:02:06.560000566 +0000\n Birth: -\n"
	if n, problems, err := linksOf([]byte(stat + strings.Replace(stat, "4 -> ", "5 -> ", 1))); n != 2 || len(problems) != 0 || err != nil {
		t.Errorf("stat: got %d descriptors, %+v, %v", n, problems, err)
	}
}

func TestRowsThatThreadsRepeatComeOnce(t *testing.T) {
	const in = `COMMAND   PID   TID TASKCMD   USER   FD      TYPE DEVICE SIZE/OFF NODE NAME
exec    11409                 user  cwd       DIR  254,0     4096    2 /
exec    11409                 user  436u     IPv4 869981      0t0  TCP 10.0.0.1:1->10.0.0.2:2 (ESTABLISHED)
exec    11409                 user *614u  a_inode   0,13        0 9259 [eventfd]
exec    11409                 user *614u  a_inode   0,13        0 9259 [eventfd]
exec    11409 11410 worker    user  cwd       DIR  254,0     4096    2 /
exec    11409 11410 worker    user  436u     IPv4 869981      0t0  TCP 10.0.0.1:1->10.0.0.2:2 (ESTABLISHED)
exec    11409 11410 worker    user *614u  a_inode   0,13        0 9259 [eventfd]
exec    11409 11410 worker    user *614u  a_inode   0,13        0 9259 [eventfd]
exec    11409 11411 worker    user  436u     IPv4 869981      0t0  TCP 10.0.0.1:1->10.0.0.2:2 (ESTABLISHED)
exec    11409 11411 worker    user *614u  a_inode   0,13        0 9259 [eventfd]
exec    11409 11411 worker    user *614u  a_inode   0,13        0 9259 [eventfd]
exec    11409 11411 worker    user *614u  a_inode   0,13        0 9259 [eventfd]
other   11500                 user  436u     IPv4 869981      0t0  TCP 10.0.0.1:1->10.0.0.2:2 (ESTABLISHED)
`
	got := parse(t, ParseTable, []byte(in)).clean(t)
	var seen []string
	for _, row := range got.rows {
		seen = append(seen, fmt.Sprintf("%d/%d %s %d %v", row.PID, row.TID, row.FDText, row.FD, row.Star))
	}
	want := []string{
		"11409/0 cwd -1 false", "11409/0 436u 436 false", "11409/0 *614u -1 true", "11409/0 *614u -1 true",
		"11409/11410 cwd -1 false", "11409/11411 *614u -1 true", "11500/0 436u 436 false",
	}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got.Rows != 13 || got.Descriptors != 5 || got.Visited != 7 {
		t.Errorf("got %d rows, %d descriptors, %d visited", got.Rows, got.Descriptors, got.Visited)
	}
	if row := got.rows[5]; row.TaskCommand != "worker" || row.Command != "exec" || row.Descriptor.Type != "anon" {
		t.Errorf("a thread's row: got %+v", row)
	}
}

func TestRepeatModeIsSeveralListings(t *testing.T) {
	got := parse(t, ParseTable, sample(t, "repeat.txt")).clean(t)
	if got.Parts != 2 || got.Descriptors != 82 || got.Rows != 176 || len(got.PerPart) != 2 {
		t.Fatalf("got %+v", got.Listing)
	}
	perPart := map[int]int{}
	for i, row := range got.rows {
		if row.IsDescriptor {
			perPart[got.parts[i]]++
		}
	}
	if diff := cmp.Diff(map[int]int{0: 82, 1: 82}, perPart); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	raw := sample(t, "repeat.txt")
	if second := got.PerPart[1]; !bytes.HasPrefix(raw[second.Offset:], []byte("COMMAND ")) || second.Rows != 88 || second.Descriptors != 82 {
		t.Errorf("second part: got %+v", second)
	}
	fields := bytes.Join([][]byte{sample(t, "F.txt"), sample(t, "F.txt"), nil}, []byte("m=======\n"))
	if got := parse(t, ParseFields, fields).clean(t); got.Parts != 2 || got.Descriptors != 82 || got.Rows != 176 {
		t.Errorf("fields: got %+v", got.Listing)
	}
	twice := append(sample(t, "nP.txt"), sample(t, "nP.txt")...)
	if got := parse(t, ParseTable, twice).clean(t); got.Parts != 2 || got.Descriptors != 82 {
		t.Errorf("a second header: got %+v", got.Listing)
	}
}

func TestUnreadableProcessesAreNotEmpty(t *testing.T) {
	got := parse(t, ParseTable, sample(t, "unpriv_head.txt"))
	if got.Rows != 40 || got.Descriptors != 0 || !cmp.Equal(got.Unreadable, []int{1}) || len(got.problems) != 1 || got.problems[0].What != "1 process was not readable for lsof" {
		t.Errorf("got %+v, %+v", got.Listing, got.problems)
	}
	var many strings.Builder
	many.WriteString("COMMAND PID USER FD TYPE DEVICE SIZE/OFF NODE NAME\n")
	for pid := range 101 {
		fmt.Fprintf(&many, "systemd %d root NOFD    /proc/%[1]d/fd (opendir: Permission denied)\n", pid+1)
	}
	if got := parse(t, ParseTable, []byte(many.String())); len(got.problems) != 1 || got.problems[0].What != "101 processes were not readable for lsof" || got.problems[0].Line != 2 {
		t.Errorf("of 101 processes: got %+v", got.problems)
	}
	for _, row := range got.rows {
		if row.Unreadable != (row.FDText == "NOFD") || row.IsDescriptor || row.Command != "agentd" || row.PID != 1 {
			t.Errorf("got %+v", row)
		}
	}
	if row := got.rows[7]; row.TID != 59 || row.TaskCommand != "accept" || row.FDText != "NOFD" || row.User != "root" || row.Type != "" {
		t.Errorf("NOFD of a thread: got %+v", row)
	}
}

func TestDeletedFilesWithLinkCountsAreRead(t *testing.T) {
	got := parse(t, ParseTable, sample(t, "L1.txt")).clean(t)
	pids := map[int]int{}
	for _, row := range got.rows {
		pids[row.PID]++
		if !row.Descriptor.Deleted || row.Links != "0" {
			t.Errorf("got %+v", row)
		}
	}
	if diff := cmp.Diff(map[int]int{14406: 4, 14409: 2}, pids); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestColumnsOfEveryVariantAreKept(t *testing.T) {
	row := parse(t, ParseTable, sample(t, "R_g.txt")).clean(t).rows[0]
	if row.PPID != 1 || row.PGID != 14388 {
		t.Errorf("R_g: got %+v", row)
	}
	row = parse(t, ParseTable, sample(t, "fg.txt")).clean(t).rows[9]
	if row.Flags != "RW,LG" || row.FD != 3 || row.Size != "12" {
		t.Errorf("fg: got %+v", row)
	}
	row = parse(t, ParseTable, sample(t, "K.txt")).clean(t).rows[0]
	if row.TID != 14408 || row.TaskCommand != "iou-sqp-1" {
		t.Errorf("K: got %+v", row)
	}
	got := parse(t, ParseFields, sample(t, "F.txt")).clean(t)
	if want := []string{"p", "g", "R", "c", "u", "L", "f", "a", "l", "t", "D", "s", "i", "k", "n", "G", "o", "d", "T", "P"}; !cmp.Equal(want, got.Columns) {
		t.Errorf("letters: got %v", got.Columns)
	}
	row = got.rows[10]
	if row.Command != "zoo (a b) c" || row.PPID != 1 || row.PGID != 14388 || row.User != "root" || row.FDText != "4uW" || row.Flags != "0x8002;0x0" {
		t.Errorf("F: got %+v", row)
	}
	few := parse(t, ParseFields, sample(t, "F_pcuftDsin.txt")).clean(t)
	if d := few.byFD()[47]; few.Descriptors != 82 || d.Type != "ipv4" || d.Remote != "127.0.0.1:58461" || d.Inode != 0 {
		t.Errorf("few letters: got %d, %+v", few.Descriptors, d)
	}
}

func TestAPlaceCutsTheRowOutOfItsFile(t *testing.T) {
	for name, p := range map[string]parser{"nP.txt": ParseTable, "F.txt": ParseFields, "F0.txt": ParseFields} {
		raw := sample(t, name)
		got := parse(t, p, raw)
		if len(got.rows) != 88 {
			t.Fatalf("%s: got %d rows, want 88", name, len(got.rows))
		}
		for i, row := range got.rows {
			place := row.Descriptor.Place
			text := raw[place.Offset : place.Offset+place.Length]
			if want := int64(1 + bytes.Count(raw[:place.Offset], []byte("\n"))); place.Line != want {
				t.Errorf("%s: line %d, want %d", name, place.Line, want)
			}
			want := row.NameText
			if !bytes.Contains(text, []byte(want)) || !bytes.Contains(text, []byte(strings.TrimRight(row.FDText, "rwuWR"))) {
				t.Errorf("%s: row %d: place holds %q, want %q", name, i, text, want)
			}
			again := parse(t, p, append([]byte("p1\n"), append(bytes.Clone(text), '\n')...))
			if p := again.rows; len(p) != 1 || p[0].NameText != row.NameText || p[0].FD != row.FD {
				t.Errorf("%s: row %d alone reads as %+v", name, i, again.rows)
			}
		}
	}
}

func TestRowsAndNoiseOfExcerpts(t *testing.T) {
	type cells struct {
		Command, User, FD, Type, Device, Size, Node, Name string
		PID, TID                                          int
	}
	tests := map[string]struct {
		in   string
		want cells
	}{
		"a star":                {"kube-prox 23746                     root *614u  IPv4 42992070      0t0  TCP 10.132.0.1:34014->10.132.0.66:http (CLOSE_WAIT)", cells{"kube-prox", "root", "*614u", "IPv4", "42992070", "0t0", "TCP", "10.132.0.1:34014->10.132.0.66:http (CLOSE_WAIT)", 23746, 0}},
		"thread and its name":   {"container  5747 25760 container             root *040u  a_inode               0,13            0       9259 [eventfd]", cells{"container", "root", "*040u", "a_inode", "0,13", "0", "9259", "[eventfd]", 5747, 25760}},
		"a thread alone":        {"exec-iden 11409 11410            mikko  436u     IPv4             869981       0t0        TCP a:1->b:2 (ESTABLISHED)", cells{"exec-iden", "mikko", "436u", "IPv4", "869981", "0t0", "TCP", "a:1->b:2 (ESTABLISHED)", 11409, 11410}},
		"a numeric user":        {"rsyslogd 772018 1000 5w REG 253,6 151175680 1351 /var/log/messages (deleted)", cells{"rsyslogd", "1000", "5w", "REG", "253,6", "151175680", "1351", "/var/log/messages (deleted)", 772018, 0}},
		"a thread and a number": {"x 11409 11410 1000 436u IPv4 5 0t0 UDP *:53", cells{"x", "1000", "436u", "IPv4", "5", "0t0", "UDP", "*:53", 11409, 11410}},
		"no process directory":  {"process_a     1                   root NOFD                                    /proc/1/fd (opendir: Permission denied)", cells{"process_a", "root", "NOFD", "", "", "", "", "/proc/1/fd (opendir: Permission denied)", 1, 0}},
		"a kqueue of macOS":     {"zephyr  29460 trotter    3u  KQUEUE                                          count=0, state=0xa", cells{"zephyr", "trotter", "3u", "KQUEUE", "", "", "", "count=0, state=0xa", 29460, 0}},
		"a pipe of macOS":       {"zephyr  29460 trotter    4     PIPE 0x9dc6c98761018007      16384            ->0x9dc6c98761019687", cells{"zephyr", "trotter", "4", "PIPE", "0x9dc6c98761018007", "16384", "", "->0x9dc6c98761019687", 29460, 0}},
		"an unknown exe":        {"bioset      611                root  txt   unknown                                         /proc/611/exe", cells{"bioset", "root", "txt", "unknown", "", "", "", "/proc/611/exe", 611, 0}},
		"a deleted mapping":     {"zoo 14406 root  DEL       REG              254,0            11053535 /srv/mapdel", cells{"zoo", "root", "DEL", "REG", "254,0", "", "11053535", "/srv/mapdel", 14406, 0}},
		"a row that ends":       {"a 1 root 60u raw 0t0 314897 00000000:0001->00000000:0000 st=07", cells{"a", "root", "60u", "raw", "", "0t0", "314897", "00000000:0001->00000000:0000 st=07", 1, 0}},
		"a locked mapping":      {"java 2620 root  mem-W  REG 254,0 32768 326269 /tmp/x", cells{"java", "root", "mem-W", "REG", "254,0", "32768", "326269", "/tmp/x", 2620, 0}},
		"blanks in the command": {`zoo\x20(a 14406 root 3u REG 254,0 12 11053483 /srv/a b`, cells{"zoo (a", "root", "3u", "REG", "254,0", "12", "11053483", "/srv/a b", 14406, 0}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := parse(t, ParseTable, []byte("    "+tt.in+"\n"))
			if len(got.rows) != 1 || got.Form != Headerless {
				t.Fatalf("got %+v", got)
			}
			r := got.rows[0]
			have := cells{r.Command, r.User, r.FDText, r.Type, r.Device, r.Size, r.Node, r.NameText, r.PID, r.TID}
			if diff := cmp.Diff(tt.want, have); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	for name, line := range map[string]string{
		"ps -ef":        "root       18194     1  4 Nov21 ?        00:00:10 kubelet --config",
		"netstat":       "tcp        0      0 10.16.20.1:55591        10.16.20.35:80          CLOSE_WAIT  109038/kube-proxy",
		"ss":            `tcp    CLOSE-WAIT 0      0      127.0.0.1:33068              127.0.0.1:33000               users:(("java",pid=46695,fd=4494))`,
		"/proc/net":     "00000000aa: 00000003 00000000 00000000 0001 03 314878",
		"uniq -c":       "      5  6795 root     kubelet",
		"a bare number": "14409",
		"a goroutine":   "goroutine 1 [running]:",
		"a metric":      "process_open_fds 54",
	} {
		if got := parse(t, ParseTable, []byte(line+"\n")); len(got.rows) != 0 || len(got.Skipped) != 1 || len(got.problems) != 0 {
			t.Errorf("%s: got %+v", name, got)
		}
	}
}

func TestAnonymousTypesLoseTheirMembers(t *testing.T) {
	for in, want := range map[string]string{
		"[eventfd:1]": "[eventfd]", "[eventpoll:16,20,22]": "[eventpoll]", "[pidfd:14409]": "[pidfd]", "[pidfd]": "[pidfd]",
		"inotify": "inotify", "anon_inode:[eventpoll]": "[eventpoll]", "anon_inode:bpf-map": "bpf-map", "bpf_link": "bpf_link", "[timerfd] 14409,zoo,21u": "[timerfd]", "[eventpoll:5,6,...": "[eventpoll]",
	} {
		if got := anonType(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func TestNamesOfSocketsAreSplit(t *testing.T) {
	tests := map[string]struct {
		kind, node, name string
		want             analysis.Descriptor
	}{
		"a service name":             {"IPv4", "TCP", "10.132.0.1:34014->10.132.0.66:http (CLOSE_WAIT)", analysis.Descriptor{Type: "tcp", Protocol: "TCP", Local: "10.132.0.1:34014", Remote: "10.132.0.66:http", State: "CLOSE_WAIT"}},
		"a state of macOS":           {"IPv6", "TCP", "[fe80::1%lo0]:1->[fe80::2%lo0]:2 (FIN_WAIT_2)", analysis.Descriptor{Type: "tcp6", Protocol: "TCP", Local: "[fe80::1%lo0]:1", Remote: "[fe80::2%lo0]:2", State: "FIN_WAIT2"}},
		"no control block":           {"IPv4", "TCP", "no PCB, CANTSENDMORE", analysis.Descriptor{Type: "tcp", Protocol: "TCP"}},
		"queues without a state":     {"IPv4", "UDP", "127.0.0.1:36140 (QR=0 QS=0)", analysis.Descriptor{Type: "udp", Protocol: "UDP", Local: "127.0.0.1:36140"}},
		"a ping socket":              {"IPv4", "ICMP", "*:*", analysis.Descriptor{Type: "raw", Protocol: "ICMP", Local: "*:*"}},
		"unidentified":               {"sock", "5", "can't identify protocol", analysis.Descriptor{Type: "socket", Inode: 5}},
		"a path without a state":     {"unix", "5", "/run/systemd/journal/stdout type=STREAM", analysis.Descriptor{Type: "unix", Protocol: "unix", Inode: 5}},
		"an unnamed one of old lsof": {"unix", "5", "socket", analysis.Descriptor{Type: "unix", Protocol: "unix", Inode: 5}},
		"a peer":                     {"unix", "5", "type=STREAM ->INO=314879 14406,zoo (a b),43u (CONNECTED)", analysis.Descriptor{Type: "unix", Protocol: "unix", Inode: 5, State: "CONNECTED"}},
		"a path of macOS":            {"unix", "", "->0x9dc6c98761018007", analysis.Descriptor{Type: "unix", Protocol: "unix", Inode: 0xff}},
	}
	paths := map[string]string{"a path without a state": "/run/systemd/journal/stdout"}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := Row{Type: tt.kind, Node: tt.node, NameText: tt.name, FD: 3}
			if tt.kind == "unix" {
				r.Device = "0xff"
			}
			r.describe("", "")
			tt.want.FD, tt.want.Name = 3, tt.name
			if tt.kind == "unix" {
				tt.want.Name = paths[name]
			}
			if diff := cmp.Diff(tt.want, r.Descriptor); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestStatPackingIsNotSdevPacking(t *testing.T) {
	for dev, want := range map[uint64][2]uint64{0xfe00: {254, 0}, 0x1000e7: {0, 487}, 0x10: {0, 16}, 0x801: {8, 1}, 0xb6: {0, 182}} {
		major, minor := decodeStat(dev)
		if got := [2]uint64{major, minor}; got != want {
			t.Errorf("%x: got %v, want %v", dev, got, want)
		}
	}
}

func TestACutListingIsSaidToBeCut(t *testing.T) {
	raw := sample(t, "nP.txt")
	row := bytes.Index(raw, []byte("   46u"))
	line := bytes.LastIndexByte(raw[:row], '\n') + 1
	before := bytes.Count(raw[:line], []byte("\n")) - 1
	for cut, want := range map[int]int{row + 4: before, row + 12: before, row + 60: before} {
		got := parse(t, ParseTable, raw[:cut])
		if got.Rows != want || got.Truncated != (want == before) {
			t.Errorf("cut after %q: got %d rows, truncated %v, want %d", raw[line:cut], got.Rows, got.Truncated, want)
		}
	}
	fields := sample(t, "F.txt")
	cut := bytes.Index(fields, []byte("\nf46\n")) + len("\nf4")
	if got := parse(t, ParseFields, fields[:cut]); !got.Truncated || got.byFD()[45].Name != "@zoo-abstract" || len(got.problems) != 1 {
		t.Errorf("fields: got %+v", got.Listing)
	}
}

// TestAPrefixOfAListingGivesAPrefixOfItsRows cuts real listings anywhere.
func TestAPrefixOfAListingGivesAPrefixOfItsRows(t *testing.T) {
	for name, p := range map[string]parser{"R_g.txt": ParseTable, "F.txt": ParseFields, "F0.txt": ParseFields} {
		raw := sample(t, name)
		whole := parse(t, p, raw)
		rapid.Check(t, func(rt *rapid.T) {
			cut := rapid.IntRange(0, len(raw)).Draw(rt, "cut")
			part := parse(t, p, raw[:cut])
			if len(part.rows) > len(whole.rows) {
				rt.Fatalf("%d rows of %d", len(part.rows), len(whole.rows))
			}
			for i, row := range part.rows {
				if want := whole.rows[i]; row.PID != want.PID || row.FD != want.FD || row.FDText[:1] != want.FDText[:1] {
					rt.Fatalf("row %d: got %+v, want %+v", i, row, want)
				}
				if want := whole.rows[i]; i < len(part.rows)-1 && !cmp.Equal(row, want) {
					rt.Fatalf("row %d (-want +got):\n%s", i, cmp.Diff(want, row))
				}
			}
		})
	}
}

// TestAConcatenationOfRowsIsTheRowsOfItsParts splits a real listing at line ends.
func TestAConcatenationOfRowsIsTheRowsOfItsParts(t *testing.T) {
	head, rest, _ := bytes.Cut(sample(t, "nP.txt"), []byte("\n"))
	head = append(head, '\n')
	lines := bytes.SplitAfter(rest, []byte("\n"))
	whole := parse(t, ParseTable, sample(t, "nP.txt"))
	rapid.Check(t, func(rt *rapid.T) {
		cut := rapid.IntRange(0, len(lines)).Draw(rt, "cut")
		a := parse(t, ParseTable, append(bytes.Clone(head), bytes.Join(lines[:cut], nil)...))
		b := parse(t, ParseTable, append(bytes.Clone(head), bytes.Join(lines[cut:], nil)...))
		if a.Descriptors+b.Descriptors != whole.Descriptors || a.Rows+b.Rows != 88 {
			rt.Fatalf("%d + %d descriptors, want %d", a.Descriptors, b.Descriptors, whole.Descriptors)
		}
	})
}

func TestErrorsOfReaderAndVisitorComeBack(t *testing.T) {
	broken := errors.New("disk on fire")
	for name, p := range map[string]parser{"nP.txt": ParseTable, "F.txt": ParseFields} {
		raw := sample(t, name)
		listing, _, err := p(io.MultiReader(bytes.NewReader(raw), iotest.ErrReader(broken)), "x.txt", func(int, *Row) error { return nil })
		if !errors.Is(err, broken) || listing.Descriptors != 82 || !listing.Truncated || !strings.Contains(err.Error(), "x.txt") {
			t.Errorf("%s: got %d descriptors and %v", name, listing.Descriptors, err)
		}
		visited := 0
		_, _, err = p(bytes.NewReader(raw), "x.txt", func(int, *Row) error { visited++; return broken })
		if !errors.Is(err, broken) || visited != 1 {
			t.Errorf("%s: visited %d, %v", name, visited, err)
		}
	}
}

func TestProblemsAndNoiseAreBounded(t *testing.T) {
	in := string(sample(t, "nP.txt")) + strings.Repeat("what is this\n", 5000) + strings.Repeat("x", 1<<20) + "\n"
	got := parse(t, ParseTable, []byte(in))
	if len(got.problems) != line.MaxProblems+1 || len(got.Skipped) != 1 || got.Skipped[0].Count != 5001 || got.Descriptors != 82 {
		t.Errorf("got %d problems, %+v", len(got.problems), got.Skipped)
	}
	if p := got.problems[1]; p.Line != 91 || p.Why == "" || p.Hint == "" || p.Offset != int64(len(sample(t, "nP.txt")))+13 {
		t.Errorf("second problem: got %+v", p)
	}
}

// expected returns the descriptors column of EXPECTED.tsv for a directory.
func expected(t *testing.T, root, dir string) map[string][]string {
	t.Helper()
	file, err := os.Open(filepath.Join(root, "EXPECTED.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	out := map[string][]string{}
	for scan := bufio.NewScanner(file); scan.Scan(); {
		cells := strings.Split(scan.Text(), "\t")
		if len(cells) > 4 && strings.HasPrefix(cells[0], dir+"/") && cells[4] != "-" {
			out[cells[0]] = cells
		}
	}
	if len(out) < 10 {
		t.Fatalf("%d files of %s in EXPECTED.tsv", len(out), dir)
	}
	return out
}

func TestEveryListingOfTheCorpusMeetsItsExpectedCount(t *testing.T) {
	root := corpus.Path(t)
	for path, cells := range expected(t, root, "descriptors/lsof") {
		raw, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			t.Fatal(err)
		}
		listing := parseAs(t, cells[1], raw)
		var got []string
		for _, part := range listing.PerPart {
			got = append(got, strconv.Itoa(part.Descriptors))
		}
		if diff := cmp.Diff(cells[4], strings.Join(got, " ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
	}
}

// parseAs reads a file as what EXPECTED.tsv calls it.
func parseAs(t *testing.T, format string, raw []byte) Listing {
	t.Helper()
	switch {
	case strings.HasPrefix(format, "ls -l"):
		listing, problems, err := ParseListing(bytes.NewReader(raw), format, func(int, int, *analysis.Descriptor) error { return nil })
		if err != nil || len(problems) > 0 {
			t.Fatal(err, problems)
		}
		return listing
	case strings.HasPrefix(format, "lsof -F"):
		return parse(t, ParseFields, raw).trusted(t).Listing
	}
	return parse(t, ParseTable, raw).trusted(t).Listing
}

// TestPublicExcerptsMeetTheirExpectedCount asks for the numeric descriptors among the
// rows of all sorts.
func TestPublicExcerptsMeetTheirExpectedCount(t *testing.T) {
	corpus.Path(t, "descriptors", "realworld")
	root, read := corpus.Path(t), 0
	for path, cells := range expected(t, root, "descriptors/realworld") {
		if !strings.HasPrefix(cells[1], "lsof") && !strings.HasPrefix(cells[1], "ls ") {
			continue // busybox lsof
		}
		read++
		raw, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			t.Fatal(err)
		}
		listing := parseAs(t, cells[1], raw)
		if got, want := fmt.Sprint(listing.Descriptors, " of ", listing.Visited), wantOfExcerpt(t, root, cells); got != want {
			t.Errorf("%s: got %s rows as descriptors, want %s", path, got, want)
		}
	}
	if read != 15 {
		t.Errorf("%d of 15 excerpts were read", read)
	}
}

// wantOfExcerpt are the descriptors and the rows of a public excerpt: the former from
// EXPECTED.tsv, the latter from the list beside the excerpts.
//
//	01-mina-lsof-noheader.txt  ->  "7 of 13"
func wantOfExcerpt(t *testing.T, root string, cells []string) string {
	t.Helper()
	name := filepath.Base(cells[0])
	list, err := os.ReadFile(filepath.Join(root, "descriptors", "realworld", "MANIFEST.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	_, after, ok := strings.Cut(string(list), "\n"+name+"\t")
	if !ok {
		t.Fatalf("MANIFEST.tsv lacks %s", name)
	}
	descriptors, rows := cells[4], strings.Split(after, "\t")[1]
	switch {
	case strings.HasPrefix(name, "03-"):
		rows = "1" // four threads repeat one row
	case strings.HasPrefix(name, "11-"):
		descriptors = "4" // EXPECTED.tsv counts all ten rows; six of them are cwd and txt
	}
	return descriptors + " of " + rows
}

func TestSeriesOfTheCorpusGiveTheExpectedDescriptors(t *testing.T) {
	root := filepath.Join(corpus.Path(t), "series")
	// "%s" stands for the snapshot.
	for _, tt := range []struct{ truth, file string }{
		{"socket-leak/expected.json", "socket-leak/%s/sock/lsof.txt"},
		{"socket-leak/expected.json", "socket-leak/%s/sock/lsof.F0"},
		{"socket-leak/expected.json", "socket-leak/%s/sock/fd.txt"},
		{"inotify-leak/expected.json", "inotify-leak/%s/leaker/lsof.txt"},
		{"inotify-leak/expected.json", "inotify-leak/%s/leaker/fd.txt"},
		{"okhttp-leak/expected.json", "okhttp-leak/%s/java/lsof-nP.txt"},
		{"okhttp-leak/expected.json", "okhttp-leak/%s/java/proc-fd.txt"},
		{"clientgo-informer-recreate/expected.json", "clientgo-informer-recreate/%s/informer/fd.txt"},
		{"kubelet-probe-leak/expected.kubelet.json", "kubelet-probe-leak/%s/kubelet/fd.txt"},
		{"kubelet-probe-leak/expected.containerd.json", "kubelet-probe-leak/%s/containerd/fd.txt"},
		{"prometheus-hanging-targets/expected.json", "prometheus-hanging-targets/%s/prometheus/fd.txt"},
	} {
		raw, err := os.ReadFile(filepath.Join(root, tt.truth))
		if err != nil {
			t.Fatal(err)
		}
		var truth struct {
			Snapshots []string
			Totals    struct{ Descriptors []int }
		}
		if err := json.Unmarshal(raw, &truth); err != nil {
			t.Fatal(err)
		}
		var got []int
		for _, snapshot := range truth.Snapshots {
			raw, err := os.ReadFile(filepath.Join(root, fmt.Sprintf(tt.file, snapshot)))
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, parseAs(t, formatOf(tt.file), raw).Descriptors)
		}
		if diff := cmp.Diff(truth.Totals.Descriptors, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.file, diff)
		}
	}
}

// TestListingsOfOneInstantDifferByAFew: the expected totals of this series are those
// of fdinfo; the figures of each file were counted with grep.
func TestListingsOfOneInstantDifferByAFew(t *testing.T) {
	root := filepath.Join(corpus.Path(t), "series", "node-agent-leak")
	for file, want := range map[string][]int{
		"ls-l-proc-fd.txt": {104, 199, 297, 403, 508, 617},
		"lsof-p.txt":       {102, 197, 295, 402, 506, 614},
		"lsof-nP-p.txt":    {103, 198, 296, 402, 507, 616},
		"lsof-F.txt":       {103, 198, 296, 403, 508, 617},
	} {
		var got []int
		for i := range want {
			raw, err := os.ReadFile(filepath.Join(root, fmt.Sprintf("t%d", i), "node", file))
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, parseAs(t, formatOf(file), raw).Descriptors)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", file, diff)
		}
	}
}

func formatOf(path string) string {
	switch base := filepath.Base(path); {
	case strings.Contains(base, "F"):
		return "lsof -F"
	case strings.HasPrefix(base, "lsof"):
		return "lsof table"
	}
	return "ls -l"
}

func TestConnectionsGrowInTheSocketLeak(t *testing.T) {
	root := filepath.Join(corpus.Path(t), "series", "socket-leak")
	got := map[string][]int{}
	for _, snapshot := range []string{"t0", "t1", "t2", "t3"} {
		raw, err := os.ReadFile(filepath.Join(root, snapshot, "sock", "lsof.txt"))
		if err != nil {
			t.Fatal(err)
		}
		states := map[string]int{}
		for _, d := range parse(t, ParseTable, raw).clean(t).byFD() {
			states[d.Type+" "+d.State]++
		}
		for _, k := range []string{"tcp ESTABLISHED", "tcp CLOSE_WAIT"} {
			got[k] = append(got[k], states[k])
		}
	}
	if diff := cmp.Diff(map[string][]int{"tcp ESTABLISHED": {4, 16, 36, 80}, "tcp CLOSE_WAIT": {2, 4, 10, 20}}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestAListingOfAllProcessesBehindWarnings reads the lsof of a whole host out of
// its report.
func TestAListingOfAllProcessesBehindWarnings(t *testing.T) {
	files, err := filepath.Glob(corpus.Path(t, "bundles", "sosreport-*.tar.xz"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	packed, err := os.Open(files[0])
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = packed.Close() }()
	unpacked, err := xz.NewReader(packed, 0)
	if err != nil {
		t.Fatal(err)
	}
	archive := tar.NewReader(unpacked)
	for {
		h, err := archive.Next()
		if err != nil {
			t.Fatal("no listing in the report: ", err)
		}
		if !strings.Contains(h.Name, "/process/lsof_") {
			continue
		}
		pids := map[string]int{}
		_, _, err = ParseTable(archive, h.Name, func(_ int, row *Row) error {
			if row.IsDescriptor {
				pids[row.Command+" "+strconv.Itoa(row.PID)]++
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]int{"prometheu 29190": 213, "container 4382": 22, "kubelet 18194": 23, "zoo 21633": 33, "zoo (a 21630": 82}
		if diff := cmp.Diff(want, pids); diff != "" {
			keys := make([]string, 0, len(pids))
			for k := range pids {
				keys = append(keys, k)
			}
			sort.Strings(keys)
			t.Errorf("%v (-want +got):\n%s", keys, diff)
		}
		return
	}
}

// TestALoopOfDateAndLsofGivesARoundForEachDate: the dates are no rows, and open no
// listing of their own.
func TestALoopOfDateAndLsofGivesARoundForEachDate(t *testing.T) {
	table := "COMMAND  PID USER   FD   TYPE DEVICE SIZE/OFF NODE NAME\nkubelet 1437 root    3r   CHR    1,3      0t0    4 /dev/null\n"
	fields := "p1437\nckubelet\nf3\nar\ntCHR\nn/dev/null\n"
	json := `{"lsof_version":"4.99.7","processes":[{"pid":1437,"files":[{"fd":"3","type":"CHR","name":"/dev/null"}]}]}` + "\n"
	for name, c := range map[string]struct {
		parse parser
		one   string
	}{"table": {ParseTable, table}, "fields": {ParseFields, fields}, "JSON": {ParseJSON, json}} {
		for _, date := range []string{"Sat Nov 21 03:0%d:00 UTC 2026\n", "=== 2026-11-21T03:0%d:00+00:00 ===\n", "====03:0%d:00====\n", "==> 2026-11-21T03:0%d:00Z <==\n", "2026-11-21 03:0%d:00+01:00\n"} {
			if name != "table" && !strings.HasPrefix(date, "===") {
				continue // nothing else parts these
			}
			got := parse(t, c.parse, []byte(fmt.Sprintf(date, 0)+c.one+fmt.Sprintf(date, 5)+c.one))
			if got.Rows != 2 || len(got.rows) != 2 || got.Descriptors != 1 || len(got.problems) > 0 {
				t.Errorf("%s, %s got %+v, %v", name, date, got.Listing, got.problems)
			}
			if name != "JSON" && got.Parts != 2 { // the end of an object parts JSON as well
				t.Errorf("%s, %s got %d parts", name, date, got.Parts)
			}
		}
	}
}
