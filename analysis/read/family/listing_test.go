package family_test

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"leakdiff/analysis"
	"leakdiff/analysis/read/family"
	"leakdiff/analysis/read/lsof"
	"leakdiff/analysis/read/procfs"
	"leakdiff/samples/corpus"
)

// What follows reads one process through every tool that listed it: the listings
// are real, and none of them is derived from another.

type rowParser func(io.Reader, string, func(int, *lsof.Row) error) (lsof.Listing, []analysis.Problem, error)

func rowsOf(t *testing.T, p rowParser, name string) []analysis.Descriptor {
	t.Helper()
	var out []analysis.Descriptor
	_, problems, err := p(open(t, name), name, func(_ int, r *lsof.Row) error {
		if r.IsDescriptor {
			out = append(out, r.Descriptor)
		}
		return nil
	})
	if err != nil || len(problems) > 0 {
		t.Fatal(err, problems)
	}
	return out
}

func linksOf(t *testing.T, name string) []analysis.Descriptor {
	t.Helper()
	var out []analysis.Descriptor
	_, _, err := lsof.ParseListing(open(t, name), name, func(_, _ int, d *analysis.Descriptor) error {
		out = append(out, *d)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func socketsOf(t *testing.T, names ...string) []analysis.Socket {
	t.Helper()
	var out []analysis.Socket
	keep := func(_ int, s *analysis.Socket) error {
		out = append(out, *s)
		return nil
	}
	for _, name := range names {
		var err error
		if base := filepath.Base(name); strings.HasPrefix(base, "ss") || strings.HasPrefix(base, "netstat") {
			_, _, err = lsof.ParseSockets(open(t, name), name, keep)
		} else {
			_, _, err = procfs.ParseNet(open(t, name), name, keep)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func joined(t *testing.T, rows []analysis.Descriptor, sockets []analysis.Socket, pid int) []analysis.Descriptor {
	t.Helper()
	rows = slices.Clone(rows)
	if lsof.JoinSockets(rows, sockets, pid) == 0 {
		t.Error("not one socket was found in the tables")
	}
	return rows
}

// families counts the families of sockets of a protocol, by fingerprint and title.
func families(rows []analysis.Descriptor, protocol string) map[string]int {
	sockets := family.NewSockets(rows)
	out := map[string]int{}
	for _, d := range rows {
		f := sockets.OfDescriptor(d, -1)
		if f.Attributes["protocol"] == protocol && f.Attributes["role"] != "" {
			out[f.Fingerprint+" "+f.Title]++
		}
	}
	return out
}

func TestEveryToolGivesTheSameFamiliesOfSockets(t *testing.T) {
	dir := corpus.Path(t, "descriptors", "lsof")
	file := func(name string) string { return filepath.Join(dir, name) }
	const pid = 14406
	tables := socketsOf(t, file("proc_net_tcp.txt"), file("proc_net_tcp6.txt"), file("proc_net_udp.txt"), file("proc_net_unix.txt"), file("proc_net_netlink.txt"), file("proc_net_packet.txt"))
	ss, netstat := socketsOf(t, file("ss_anp.txt")), socketsOf(t, file("netstat_anp.txt"))
	links, lsfd := linksOf(t, file("ls_l_fd.txt")), rowsOf(t, lsof.ParseLsfd, file("lsfd.txt"))
	want := rowsOf(t, lsof.ParseTable, file("nP.txt"))
	// 9 TCP sockets with ends (5 of IPv4, 4 of IPv6) and 1
	// of UDP: counted in nP.txt with grep.
	n := 0
	for _, count := range families(want, "TCP") {
		n += count
	}
	if n != 9 {
		t.Errorf("lsof shows %d TCP sockets with ends, want 9", n)
	}
	for name, rows := range map[string][]analysis.Descriptor{
		"lsof -F":                          rowsOf(t, lsof.ParseFields, file("F.txt")),
		"fd links and net tables":          joined(t, links, tables, pid),
		"fd links and ss by descriptor":    joined(t, links, ss, pid),
		"fd links and ss -e by inode":      append(joined(t, links, socketsOf(t, file("ss_tanpioe.txt")), 0), udpOf(ss)...),
		"lsfd and net tables":              joined(t, lsfd, tables, 0),
		"lsfd JSON and net tables":         joined(t, rowsOf(t, lsof.ParseLsfd, file("lsfd.json")), tables, 0),
		"ss alone":                         lsof.OwnedDescriptors(ss)[pid],
		"netstat alone":                    lsof.OwnedDescriptors(netstat)[pid],
		"lsof's own listing, joined again": append(slices.Clone(want), analysis.Descriptor{}),
	} {
		for _, protocol := range []string{"TCP", "UDP"} {
			if diff := cmp.Diff(families(want, protocol), families(rows, protocol)); diff != "" {
				t.Errorf("%s, %s (-lsof +got):\n%s", name, protocol, diff)
			}
		}
	}
	t.Run("sockets in no table are the same to lsof and lsfd", func(t *testing.T) {
		outside := func(rows []analysis.Descriptor) map[string]int {
			all := map[string]int{}
			for _, d := range rows {
				f := family.NewSockets(rows).OfDescriptor(d, -1)
				if f.Attributes["type"] == "socket" && strings.HasPrefix(f.Attributes["protocol"], "TCP") {
					all[f.Fingerprint+" "+f.Title]++
				}
			}
			return all
		}
		if diff := cmp.Diff(outside(want), outside(joined(t, lsfd, tables, 0))); diff != "" || len(outside(want)) == 0 {
			t.Errorf("(-lsof +lsfd):\n%s", diff)
		}
		if alone := outside(lsfd); len(alone) != 0 {
			t.Errorf("without tables nothing is outside of them: got %v", alone)
		}
	})
	t.Run("unix sockets are the same to lsof, links and lsfd", func(t *testing.T) {
		unix := func(rows []analysis.Descriptor) map[string]int {
			all := map[string]int{}
			for _, d := range rows {
				if f := family.NewSockets(rows).OfDescriptor(d, -1); d.Type == "unix" {
					all[f.Fingerprint+" "+f.Title]++
				}
			}
			return all
		}
		for name, rows := range map[string][]analysis.Descriptor{"links": joined(t, links, tables, 0), "lsfd": joined(t, lsfd, tables, 0), "ss": lsof.OwnedDescriptors(ss)[pid]} {
			if diff := cmp.Diff(unix(want), unix(rows)); diff != "" || len(unix(want)) != 3 {
				t.Errorf("%s (-lsof +got):\n%s", name, diff)
			}
		}
	})
}

// udpOf is what a table of TCP alone lacks.
func udpOf(sockets []analysis.Socket) []analysis.Descriptor {
	var out []analysis.Descriptor
	for _, d := range lsof.OwnedDescriptors(sockets)[14406] {
		if d.Type == "udp" {
			out = append(out, d)
		}
	}
	return out
}

// TestEverySourceFollowsTheNodeAgent: lsof with and without names of hosts, links
// with net tables, links with ss.
func TestEverySourceFollowsTheNodeAgent(t *testing.T) {
	const pid = 28156
	want := []int{81, 176, 274, 380, 485, 594} // rows of lsof
	got := map[string][]int{}
	prints := map[string]bool{}
	for i := range 6 {
		dir := corpus.Path(t, "series", "node-agent-leak", fmt.Sprintf("t%d", i), "node")
		file := func(name string) string { return filepath.Join(dir, name) }
		if _, err := os.Stat(dir); err != nil {
			t.Fatal(err)
		}
		links := linksOf(t, file("ls-l-proc-fd.txt"))
		net := socketsOf(t, file("proc-net-tcp.txt"), file("proc-net-tcp6.txt"))
		for name, rows := range map[string][]analysis.Descriptor{
			"lsof -nP":             rowsOf(t, lsof.ParseTable, file("lsof-nP-p.txt")),
			"links and net tables": joined(t, links, net, 0),
			"links and ss":         joined(t, links, socketsOf(t, file("ss-tnap.txt")), pid),
		} {
			n := 0
			for title, count := range families(rows, "TCP") {
				if strings.HasSuffix(title, " TCP client to 127.0.0.1:42635, ESTABLISHED") {
					n += count
					prints[title] = true
				}
			}
			got[name] = append(got[name], n)
		}
	}
	if len(prints) != 1 {
		t.Errorf("%d families, want 1: %v", len(prints), prints)
	}
	if diff := cmp.Diff(want, got["links and net tables"]); diff != "" {
		t.Errorf("links and net tables (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, got["links and ss"]); diff != "" {
		t.Errorf("links and ss (-want +got):\n%s", diff)
	}
	// lsof was taken at another moment and has one less at each step (expected.json).
	if diff := cmp.Diff([]int{80, 175, 273, 379, 484, 593}, got["lsof -nP"]); diff != "" {
		t.Errorf("lsof (-want +got):\n%s", diff)
	}
}

func TestFormsOfOneSocketAreOneFamily(t *testing.T) {
	print := func(d analysis.Descriptor) string { return family.NewSockets(nil).OfDescriptor(d, -1).Fingerprint }
	for what, group := range map[string][]analysis.Descriptor{
		"a listener on all addresses": {
			{Type: "tcp", Protocol: "TCP", Local: "*:80", State: "LISTEN"}, {Type: "tcp", Local: "0.0.0.0:80", Remote: "0.0.0.0:*", State: "LISTEN"},
			{Type: "tcp6", Local: "[::]:80", State: "LISTEN"}, {Type: "tcp6", Local: ":::80", Remote: ":::*", State: "LISTEN"},
		},
		"a client, with an idle pool of Node around it": {
			tcp("10.0.0.9:41234", "10.0.0.1:443", "ESTABLISHED"), tcp("10.0.0.9:41234", "10.0.0.1:443", "ESTAB"),
			{Type: "tcp6", Local: "[::ffff:10.0.0.9]:41234", Remote: "::ffff:10.0.0.1:443", State: "ESTABLISHED"},
			{Type: "tcp", Local: "10.0.0.9:41234", Remote: "10.0.0.1:443", State: "ESTABLISHED", Idle: true},
			{Type: "tcp", Local: "10.0.0.9:41234", Remote: "10.0.0.1:443", State: "ESTABLISHED"},
		},
		"a UDP socket, connected or not said to be": {
			{Type: "udp", Local: "10.0.0.9:41234", Remote: "10.0.0.1:53"}, {Type: "udp", Local: "10.0.0.9:41234", Remote: "10.0.0.1:53", State: "ESTABLISHED"},
		},
		"a UDP service bound to an interface": {
			{Type: "udp", Local: "127.0.0.53:53"}, {Type: "udp", Local: "127.0.0.53%lo:53", Remote: "0.0.0.0:*", State: "UNCONN"},
		},
		"sockets whose ends nobody looked up": {
			{Type: "tcp", Protocol: "TCP", Inode: 5, Name: "TCP:[5]"}, {Type: "tcp6", Protocol: "TCP", Inode: 6, Name: "TCPv6:[6]"}, {Type: "tcp", Protocol: "TCP", Inode: 7, Name: "socket:[7]"},
		},
		"a unix listener": {
			{Type: "unix", Protocol: "unix", Name: "/run/x.sock", State: "LISTEN"}, {Type: "unix", Protocol: "unix", Name: "socket:[5]", Local: "/run/x.sock", State: "LISTEN"},
			{Type: "unix", Protocol: "unix", Name: "UNIX-STREAM:[5]", Local: "/run/x.sock", State: "LISTEN"},
		},
	} {
		for _, d := range group[1:] {
			if print(d) != print(group[0]) {
				t.Errorf("%s: %+v is of another family than %+v", what, d, group[0])
			}
		}
	}
	if print(tcp("10.0.0.9:41234", "10.0.0.1:443", "ESTABLISHED")) == print(tcp("10.0.0.9:41234", "10.0.0.1:443", "CLOSE_WAIT")) {
		t.Error("states make families")
	}
	listed := family.NewSockets(nil).OfDescriptor(analysis.Descriptor{Type: "tcp", Protocol: "TCP", Inode: 5, Name: "TCP:[5]"}, -1)
	if listed.Title != "TCP socket whose ends were not listed" {
		t.Errorf("got %q", listed.Title)
	}
	if lost := (analysis.Descriptor{Type: "tcp", Protocol: "TCP", Inode: 5, Local: "a:50000", Remote: "b:443"}); print(lost) == print(tcp("a:50000", "b:443", "ESTABLISHED")) {
		t.Error("a row of a listing without a state says nothing of its state")
	}
}

func TestWatchesAreNamedAndJudged(t *testing.T) {
	mounts := family.NewMounts([]analysis.Mount{
		{Major: 254, Root: "/", Point: "/", FSType: "ext4"},
		{Major: 0, Minor: 29, Root: "/", Point: "/sys/fs/cgroup/cpu", FSType: "cgroup"},
		{Major: 0, Minor: 30, Root: "/", Point: "/sys/fs/cgroup/memory", FSType: "cgroup"},
		{Major: 0, Minor: 31, Root: "/../..", Point: "/sys/fs/cgroup/unified", FSType: "cgroup2"},
	})
	list := func(partial bool, entries ...any) family.InodeList {
		return family.InodeList{Partial: partial, Entries: func(yield func(uint64, string) bool) {
			for i := 0; i < len(entries); i += 2 {
				if !yield(uint64(entries[i].(int)), entries[i+1].(string)) {
					return
				}
			}
		}}
	}
	// The inode 77 is there in both hierarchies: a path belongs to its own mount.
	trees := list(false, 1, "/sys/fs/cgroup/cpu", 77, "/sys/fs/cgroup/cpu/kubepods", 1, "/sys/fs/cgroup/memory", 77, "/sys/fs/cgroup/memory/system.slice", 1, "/sys/fs/cgroup/unified", 5, "/etc/hosts")
	const dir, modify = 0x3c0, 0x2
	cpu, memory, unified, disk, gone := uint32(29), uint32(30), uint32(31), uint32(254<<20), uint32(97)
	for what, c := range map[string]struct {
		watch  analysis.Watch
		lists  []family.InodeList
		mounts *family.Mounts
		path   string
		status string
		strong bool
	}{
		"a cgroup that is there":                   {analysis.Watch{Device: cpu, Inode: 77, Mask: dir}, []family.InodeList{trees}, mounts, "/sys/fs/cgroup/cpu/kubepods", "mounted", false},
		"its twin in another hierarchy":            {analysis.Watch{Device: memory, Inode: 77, Mask: dir}, []family.InodeList{trees}, mounts, "/sys/fs/cgroup/memory/system.slice", "mounted", false},
		"a cgroup that is not in its listed tree":  {analysis.Watch{Device: cpu, Inode: 78, Mask: dir}, []family.InodeList{trees}, mounts, "", "removed cgroup", true},
		"a file, where directories were listed":    {analysis.Watch{Device: cpu, Inode: 78, Mask: modify}, []family.InodeList{trees}, mounts, "", "mounted", false},
		"a file, where files were listed":          {analysis.Watch{Device: cpu, Inode: 78, Mask: modify}, []family.InodeList{trees, list(false, 9, "/sys/fs/cgroup/cpu/cgroup.procs")}, mounts, "", "removed cgroup", true},
		"a cgroup mount that shows a part":         {analysis.Watch{Device: unified, Inode: 78, Mask: dir}, []family.InodeList{trees}, mounts, "", "mounted", false},
		"a list that was cut":                      {analysis.Watch{Device: cpu, Inode: 78, Mask: dir}, []family.InodeList{list(true, 1, "/sys/fs/cgroup/cpu")}, mounts, "", "mounted", false},
		"a file of a disk":                         {analysis.Watch{Device: disk, Inode: 5, Mask: dir}, []family.InodeList{trees}, mounts, "/etc/hosts", "mounted", false},
		"a file of a disk that is not in the list": {analysis.Watch{Device: disk, Inode: 6, Mask: dir}, []family.InodeList{trees}, mounts, "", "mounted", false},
		"a device that is mounted nowhere":         {analysis.Watch{Device: gone, Inode: 1, Mask: dir}, []family.InodeList{trees}, mounts, "", "not in mountinfo", true},
		"nothing is known without a mountinfo":     {analysis.Watch{Device: cpu, Inode: 77, Mask: dir}, []family.InodeList{trees}, nil, "", "unknown", false},
		"without a list a cgroup is not decidable": {analysis.Watch{Device: cpu, Inode: 78, Mask: dir}, nil, mounts, "", "mounted", false},
	} {
		got := family.Scene{Mounts: c.mounts, Lists: c.lists}.Name([]analysis.Watch{c.watch})[0]
		if got.Path != c.path || got.Status != c.status || got.Strong() != c.strong || c.strong && got.Why == "" {
			t.Errorf("%s: got %+v", what, got)
		}
		f := family.OfTarget(c.watch, got)
		if f.Attributes["status"] != c.status {
			t.Errorf("%s: got %+v", what, f)
		}
		if plain := c.mounts.OfWatch(c.watch); c.status != "removed cgroup" && plain.Fingerprint != f.Fingerprint {
			t.Errorf("%s: a name makes another family", what)
		}
	}
	removed := family.Scene{Mounts: mounts, Lists: []family.InodeList{trees}}.Name([]analysis.Watch{{Device: cpu, Inode: 78, Mask: dir}})[0]
	if f := family.OfTarget(analysis.Watch{Device: cpu, Inode: 78, Mask: dir}, removed); f.Title != "inotify watch on a removed cgroup of cgroup /sys/fs/cgroup/cpu, IN_MOVED_FROM|IN_MOVED_TO|IN_CREATE|IN_DELETE" {
		t.Errorf("got %q", f.Title)
	}
}
