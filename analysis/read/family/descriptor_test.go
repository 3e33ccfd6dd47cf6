package family_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"leakdiff/analysis"
	"leakdiff/analysis/read/family"
)

func tcp(local, remote, state string) analysis.Descriptor {
	return analysis.Descriptor{Type: "tcp", Protocol: "TCP", Local: local, Remote: remote, State: state, Name: local + "->" + remote}
}

func TestDescriptorFamilies(t *testing.T) {
	for _, c := range []struct {
		what       string
		descriptor analysis.Descriptor
		watches    int
		title      string
		attributes map[string]string
	}{
		{
			"a connection from an ephemeral port is a client's",
			tcp("10.0.0.9:41234", "10.0.0.1:443", "ESTABLISHED"), -1,
			"TCP client to 10.0.0.1:443, ESTABLISHED",
			map[string]string{"type": "tcp", "protocol": "TCP", "role": "client", "remote": "10.0.0.1:443", "state": "ESTABLISHED"},
		},
		{
			"a connection to a port in LISTEN is a server's",
			tcp("127.0.0.1:38847", "127.0.0.1:58290", "CLOSE_WAIT"), -1,
			"TCP server on 127.0.0.1:38847 for 127.0.0.1, CLOSE_WAIT",
			map[string]string{"type": "tcp", "protocol": "TCP", "role": "server", "local": "127.0.0.1:38847", "remote": "127.0.0.1", "state": "CLOSE_WAIT"},
		},
		{
			"a connection whose ports are both small belongs to the smaller one",
			tcp("10.0.0.9:2379", "10.0.0.1:12000", "ESTABLISHED"), -1,
			"TCP server on 10.0.0.9:2379 for 10.0.0.1, ESTABLISHED",
			map[string]string{"type": "tcp", "protocol": "TCP", "role": "server", "local": "10.0.0.9:2379", "remote": "10.0.0.1", "state": "ESTABLISHED"},
		},
		{
			"a service name is a small port",
			tcp("10.132.0.1:34014", "10.132.0.66:http", "CLOSE_WAIT"), -1,
			"TCP client to 10.132.0.66:http, CLOSE_WAIT",
			map[string]string{"type": "tcp", "protocol": "TCP", "role": "client", "remote": "10.132.0.66:http", "state": "CLOSE_WAIT"},
		},
		{
			"a listener keeps its port",
			tcp("[::]:8080", "", "LISTEN"), -1,
			"TCP listener on *:8080",
			map[string]string{"type": "listener", "protocol": "TCP", "role": "listen", "local": "*:8080", "state": "LISTEN"},
		},
		{
			"an IPv4 connection of an IPv6 socket is an IPv4 connection",
			analysis.Descriptor{Type: "tcp6", Protocol: "TCP", Local: "[::ffff:10.0.0.9]:41234", Remote: "[::ffff:10.0.0.1]:443", State: "ESTAB"}, -1,
			"TCP client to 10.0.0.1:443, ESTABLISHED",
			map[string]string{"type": "tcp", "protocol": "TCP", "role": "client", "remote": "10.0.0.1:443", "state": "ESTABLISHED"},
		},
		{
			"an IPv6 address keeps its brackets",
			analysis.Descriptor{Type: "tcp6", Local: "[fe80::1%eth0]:41234", Remote: "[::1]:443", State: "SYN-SENT"}, -1,
			"TCP client to [::1]:443, SYN_SENT",
			map[string]string{"type": "tcp", "protocol": "TCP", "role": "client", "remote": "[::1]:443", "state": "SYN_SENT"},
		},
		{
			"a UDP socket without a peer loses its ephemeral port",
			analysis.Descriptor{Type: "udp", Protocol: "UDP", Local: "127.0.0.1:36140"}, -1,
			"UDP socket bound to 127.0.0.1",
			map[string]string{"type": "udp", "protocol": "UDP", "role": "bound", "local": "127.0.0.1"},
		},
		{
			"a UDP service keeps its port",
			analysis.Descriptor{Type: "udp", Protocol: "UDP", Local: "0.0.0.0:53", Remote: "0.0.0.0:*", State: "UNCONN"}, -1,
			"UDP socket bound to *:53",
			map[string]string{"type": "udp", "protocol": "UDP", "role": "bound", "local": "*:53"},
		},
		{
			"a socket that lsof could not look up has an unknown protocol",
			analysis.Descriptor{Type: "socket", Protocol: "TCP", Name: "protocol: TCP"}, -1,
			"TCP socket outside the net tables",
			map[string]string{"type": "socket", "protocol": "TCP"},
		},
		{
			"a socket of which only the link is known has an unknown protocol",
			analysis.Descriptor{Type: "socket", Name: "socket:[60463]", Inode: 60463}, -1,
			"socket whose ends are not known",
			map[string]string{"type": "socket"},
		},
		{
			"a socket that can't be identified has an unknown protocol",
			analysis.Descriptor{Type: "sock", Name: "can't identify protocol"}, -1,
			"socket whose ends are not known",
			map[string]string{"type": "socket"},
		},
		{
			"a unix socket is known by its path",
			analysis.Descriptor{Type: "unix", Protocol: "unix", Name: "/run/containerd/c.sock", State: "CONNECTED"}, -1,
			"unix socket at /run/containerd/c.sock, CONNECTED",
			map[string]string{"type": "unix", "path": "/run/containerd/c.sock", "state": "CONNECTED"},
		},
		{
			"a unix socket as lsof prints it",
			analysis.Descriptor{Type: "unix", Name: "type=STREAM ->INO=314879 14406,zoo (a b),43u (CONNECTED)"}, -1,
			"unix stream socket to zoo (a b), CONNECTED",
			map[string]string{"type": "unix", "protocol": "stream", "peer": "zoo (a b)", "state": "CONNECTED"},
		},
		{
			"a unix socket as ss prints it",
			analysis.Descriptor{Type: "unix", Protocol: "u_str", Name: "*", State: "ESTAB"}, -1,
			"unix stream socket without a path, CONNECTED",
			map[string]string{"type": "unix", "protocol": "stream", "state": "CONNECTED"},
		},
		{
			"a unix listener is no connection",
			analysis.Descriptor{Type: "unix", Protocol: "unix", Name: "/var/lib/kubelet/pod-resources/3958562592", State: "LISTEN"}, -1,
			"listener at /var/lib/kubelet/pod-resources/<n>",
			map[string]string{"type": "listener", "role": "listen", "path": "/var/lib/kubelet/pod-resources/<n>", "state": "LISTEN"},
		},
		{
			"an eventpoll is its bare type",
			analysis.Descriptor{Type: "anon", Name: "[eventpoll:16,17,24...]"}, -1,
			"eventpoll descriptor", map[string]string{"type": "anon_inode", "name": "eventpoll"},
		},
		{
			"an eventfd of a link is its bare type",
			analysis.Descriptor{Type: "anon", Name: "anon_inode:[eventfd]"}, -1,
			"eventfd descriptor", map[string]string{"type": "anon_inode", "name": "eventfd"},
		},
		{
			"an inotify instance whose watches nobody counted",
			analysis.Descriptor{Type: "anon", Name: "anon_inode:inotify"}, -1,
			"inotify instance", map[string]string{"type": "anon_inode", "name": "inotify"},
		},
		{
			"an inotify instance without watches",
			analysis.Descriptor{Type: "anon", Name: "anon_inode:inotify"}, 0,
			"inotify instance with no watch", map[string]string{"type": "anon_inode", "name": "inotify", "watches": "no watch"},
		},
		{
			"an inotify instance with one watch",
			analysis.Descriptor{Type: "a_inode", Name: "inotify"}, 1,
			"inotify instance with one watch", map[string]string{"type": "anon_inode", "name": "inotify", "watches": "one watch"},
		},
		{
			"an inotify instance with two watches",
			analysis.Descriptor{Type: "anon", Name: "anon_inode:[inotify]"}, 2,
			"inotify instance with several watches", map[string]string{"type": "anon_inode", "name": "inotify", "watches": "many watches"},
		},
		{
			"a pidfd of a process that lives, or that nobody waited for",
			analysis.Descriptor{Type: "anon", Name: "[pidfd:14409]"}, -1,
			"pidfd", map[string]string{"type": "anon_inode", "name": "pidfd"},
		},
		{
			"a pidfd of a dead process",
			analysis.Descriptor{Type: "anon", Name: "anon_inode:[pidfd]", State: "dead"}, -1,
			"pidfd of a process that is dead", map[string]string{"type": "anon_inode", "name": "pidfd", "status": "dead"},
		},
		{
			"a FIFO by its path",
			analysis.Descriptor{Type: "fifo", Name: "/run/io.containerd.runtime.v2.task/k8s.io/f275be63d41ed87417d8f5c205a4f95ff7a603555213be6727b9af215eb455fb/log"}, -1,
			"FIFO /run/io.containerd.runtime.v2.task/k8s.io/<id>/log",
			map[string]string{"type": "FIFO", "path": "/run/io.containerd.runtime.v2.task/k8s.io/<id>/log"},
		},
		{
			"a FIFO with the peers that lsof -E appends",
			analysis.Descriptor{Type: "fifo", Name: "/srv/named.fifo 14409,zoo,18u"}, -1,
			"FIFO /srv/named.fifo", map[string]string{"type": "FIFO", "path": "/srv/named.fifo"},
		},
		{
			"a pipe of a listing", analysis.Descriptor{Type: "fifo", Name: "pipe"}, -1,
			"pipe", map[string]string{"type": "pipe"},
		},
		{
			"a pipe of a link", analysis.Descriptor{Type: "pipe", Name: "pipe:[314757]"}, -1,
			"pipe", map[string]string{"type": "pipe"},
		},
		{
			"a pipe with its peers",
			analysis.Descriptor{Type: "pipe", Name: "pipe 14406,zoo (a b),16r 14409,bash,16r 14409,bash,17w"}, -1,
			"pipe with bash zoo (a b)", map[string]string{"type": "pipe", "peer": "bash zoo (a b)"},
		},
		{
			"a file by its pattern",
			analysis.Descriptor{Type: "regular", Name: "/var/log/pods/default_web-7d4b9c6f8-x2x9z_5c3b6279-0177-caef-1f22-230719c1760e/app/0.log"}, -1,
			"/var/log/pods/default_<pod>_<uid>/app/<n>.log",
			map[string]string{"type": "file", "path": "/var/log/pods/default_<pod>_<uid>/app/<n>.log"},
		},
		{
			"a deleted file", analysis.Descriptor{Type: "regular", Name: "/tmp/#9977945 (deleted)", Deleted: true}, -1,
			"/tmp/#<n> (deleted)", map[string]string{"type": "file", "path": "/tmp/#<n>", "status": "deleted"},
		},
		{
			"a device", analysis.Descriptor{Type: "char", Name: "/dev/null"}, -1,
			"/dev/null", map[string]string{"type": "file", "path": "/dev/null"},
		},
		{
			"a memfd", analysis.Descriptor{Type: "memfd", Name: "/memfd:my memfd (deleted)"}, -1,
			"memfd my memfd", map[string]string{"type": "memfd", "name": "my memfd"},
		},
		{
			"a namespace", analysis.Descriptor{Type: "namespace", Name: "net:[4026531833]"}, -1,
			"net namespace", map[string]string{"type": "namespace", "name": "net"},
		},
		{
			"a netlink socket", analysis.Descriptor{Type: "netlink", Protocol: "NETLINK", Name: "ROUTE"}, -1,
			"netlink socket", map[string]string{"type": "netlink"},
		},
		{
			"a raw socket", analysis.Descriptor{Type: "raw", Name: "00000000:0001->00000000:0000 st=07"}, -1,
			"raw socket", map[string]string{"type": "raw"},
		},
		{
			"a kqueue", analysis.Descriptor{Type: "kqueue", Name: "count=0, state=0xa"}, -1,
			"kqueue", map[string]string{"type": "kqueue"},
		},
		{
			"what nobody knows keeps its type", analysis.Descriptor{Type: "psxshm", Name: "apple.shm.notification_center"}, -1,
			"psxshm apple.shm.notification_center", map[string]string{"type": "psxshm", "name": "apple.shm.notification_center"},
		},
		{
			"nothing at all is unknown", analysis.Descriptor{}, -1,
			"unknown", map[string]string{"type": "unknown"},
		},
		{
			"fdinfo alone says what it was opened for", analysis.Descriptor{Type: "unknown", Access: "w"}, -1,
			"descriptor open for writing", map[string]string{"type": "unknown", "access": "w"},
		},
		{
			"a name says more than that", analysis.Descriptor{Type: "unknown", Access: "w", Name: "x"}, -1,
			"unknown x", map[string]string{"type": "unknown", "name": "x"},
		},
	} {
		t.Run(c.what, func(t *testing.T) {
			sockets := family.NewSockets([]analysis.Descriptor{tcp("127.0.0.1:38847", "", "LISTEN")})
			f := sockets.OfDescriptor(c.descriptor, c.watches)
			if !regexp.MustCompile(`^d1:[0-9a-f]{32}$`).MatchString(f.Fingerprint) || f.Kind != analysis.KindDescriptor || f.Entry == "" {
				t.Errorf("family %+v", f)
			}
			if diff := cmp.Diff(c.title, f.Title); diff != "" {
				t.Errorf("title (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.attributes, f.Attributes); diff != "" {
				t.Errorf("attributes (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSocketRoles(t *testing.T) {
	for _, c := range []struct {
		what string
		all  []analysis.Descriptor
		of   analysis.Descriptor
		role string
	}{
		{
			"both ends in one process: the client's end",
			[]analysis.Descriptor{tcp("127.0.0.1:38847", "", "LISTEN"), tcp("127.0.0.1:33000", "127.0.0.1:38847", "ESTABLISHED")},
			tcp("127.0.0.1:33000", "127.0.0.1:38847", "ESTABLISHED"), "client",
		},
		{
			"both ends in one process: the server's end",
			[]analysis.Descriptor{tcp("127.0.0.1:38847", "", "LISTEN"), tcp("127.0.0.1:38847", "127.0.0.1:33000", "ESTABLISHED")},
			tcp("127.0.0.1:38847", "127.0.0.1:33000", "ESTABLISHED"), "server",
		},
		{
			"a listener on all addresses serves the loopback",
			[]analysis.Descriptor{tcp("*:38847", "", "LISTEN")},
			tcp("127.0.0.1:33000", "127.0.0.1:38847", "ESTABLISHED"), "client",
		},
		{
			"a listener here says nothing of the same port elsewhere",
			[]analysis.Descriptor{tcp("*:12000", "", "LISTEN")},
			tcp("10.0.0.1:9000", "10.0.0.2:12000", "ESTABLISHED"), "server",
		},
		{
			"an end that many connections share is the service",
			[]analysis.Descriptor{
				tcp("127.0.0.1:42228", "127.0.0.1:42635", "ESTABLISHED"), tcp("127.0.0.1:42244", "127.0.0.1:42635", "ESTABLISHED"),
				tcp("127.0.0.1:43482", "127.0.0.1:42635", "ESTABLISHED"),
			},
			tcp("127.0.0.1:42228", "127.0.0.1:42635", "ESTABLISHED"), "client",
		},
		{
			"an end that many connections share is the service, seen from there",
			[]analysis.Descriptor{
				tcp("127.0.0.1:42635", "127.0.0.1:42228", "ESTABLISHED"), tcp("127.0.0.1:42635", "127.0.0.1:42244", "ESTABLISHED"),
			},
			tcp("127.0.0.1:42635", "127.0.0.1:42228", "ESTABLISHED"), "server",
		},
		{"of two ephemeral ports alone the smaller one is the service", nil, tcp("127.0.0.1:40000", "127.0.0.1:50000", "ESTABLISHED"), "server"},
		{"a port of TCP in LISTEN says nothing of UDP", []analysis.Descriptor{tcp("*:40000", "", "LISTEN")},
			analysis.Descriptor{Type: "udp", Protocol: "UDP", Local: "10.0.0.1:40000", Remote: "10.0.0.2:53"}, "client"},
	} {
		t.Run(c.what, func(t *testing.T) {
			got := family.NewSockets(c.all).OfDescriptor(c.of, -1).Attributes["role"]
			if got != c.role {
				t.Errorf("role %q, want %q", got, c.role)
			}
		})
	}
}

func TestEphemeralPortsMakeNoFamilies(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sockets := family.NewSockets([]analysis.Descriptor{tcp("10.0.0.9:8443", "", "LISTEN")})
		port := func(label string) string { return rapid.StringMatching(`[45][0-9]{4}`).Draw(t, label) }
		a := sockets.OfDescriptor(tcp("10.0.0.9:"+port("a"), "10.0.0.1:443", "ESTABLISHED"), -1)
		b := sockets.OfDescriptor(tcp("10.0.0.9:"+port("b"), "10.0.0.1:443", "ESTABLISHED"), -1)
		if diff := cmp.Diff(a, b); diff != "" {
			t.Fatalf("two clients:\n%s", diff)
		}
		a = sockets.OfDescriptor(tcp("10.0.0.9:8443", "10.0.0.1:"+port("c"), "ESTABLISHED"), -1)
		b = sockets.OfDescriptor(tcp("10.0.0.9:8443", "10.0.0.1:"+port("d"), "ESTABLISHED"), -1)
		if diff := cmp.Diff(a, b); diff != "" {
			t.Fatalf("two connections of a server:\n%s", diff)
		}
	})
}

// Equal fingerprints must mean equal families: stores keep one of them.
func TestDescriptorFamiliesFollowFromTheirFingerprint(t *testing.T) {
	draw := rapid.Custom(func(t *rapid.T) analysis.Descriptor {
		pick := func(label string, of ...string) string { return rapid.SampledFrom(of).Draw(t, label) }
		return analysis.Descriptor{
			Type:     pick("type", "", "regular", "directory", "fifo", "pipe", "socket", "unix", "tcp", "tcp6", "udp", "anon", "memfd", "namespace", "netlink", "odd"),
			Protocol: pick("protocol", "", "TCP", "UDP", "unix", "MPTCP"),
			Local:    pick("local", "", "127.0.0.1:80", "*:443", "[::1]:40000", "nonsense"),
			Remote:   pick("remote", "", "127.0.0.1:80", "10.0.0.1:41000", "*:*"),
			State:    pick("state", "", "LISTEN", "ESTAB", "CLOSE-WAIT", "CONNECTED", "dead"),
			Name:     pick("name", "", "/x", "/x/1 (deleted)", "pipe", "pipe 1,a,2r", "[eventfd:1]", "[pidfd:9]", "inotify", "net:[1]", "socket:[2]", "protocol: TCP", "a type=STREAM (LISTEN)", "[", "->", "@abstract"),
			Deleted:  rapid.Bool().Draw(t, "deleted"),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOfN(draw, 1, 12).Draw(t, "descriptors")
		sockets := family.NewSockets(all)
		seen := map[string]*analysis.Family{}
		for _, d := range all {
			f := sockets.OfDescriptor(d, rapid.IntRange(-1, 3).Draw(t, "watches"))
			if other, ok := seen[f.Fingerprint]; ok {
				if diff := cmp.Diff(other, f); diff != "" {
					t.Fatalf("one fingerprint, two families:\n%s", diff)
				}
			}
			seen[f.Fingerprint] = f
		}
	})
}

func TestPathPattern(t *testing.T) {
	id := "f275be63d41ed87417d8f5c205a4f95ff7a603555213be6727b9af215eb455fb"
	for _, c := range []struct{ what, path, want string }{
		{"a pod's UID with dashes", "/var/lib/kubelet/pods/5c3b6279-0177-caef-1f22-230719c1760e/etc-hosts", "/var/lib/kubelet/pods/<uid>/etc-hosts"},
		{"a pod's UID with underscores", "/sys/fs/cgroup/kubepods-burstable-pod5c3b6279_0177_caef_1f22_230719c1760e.slice", "/sys/fs/cgroup/kubepods-burstable-pod<uid>.slice"},
		{"a static pod's UID", "/var/lib/kubelet/pods/4670ba6f98a6d2f5b6d90fbebdcad732/containers", "/var/lib/kubelet/pods/<uid>/containers"},
		{"a static pod's cgroup", "/sys/fs/cgroup/kubepods/pod4670ba6f98a6d2f5b6d90fbebdcad732", "/sys/fs/cgroup/kubepods/pod<uid>"},
		{"a token volume", "/v/kubernetes.io~projected/kube-api-access-5c3b6", "/v/kubernetes.io~projected/kube-api-access-<x>"},
		{"a token volume of digits", "/v/kube-api-access-55555/token", "/v/kube-api-access-<x>/token"},
		{"an old token secret", "/v/kubernetes.io~secret/default-token-x2x9z", "/v/kubernetes.io~secret/default-token-<x>"},
		{"a volume with a name of its own", "/v/kubernetes.io~configmap/settings", "/v/kubernetes.io~configmap/settings"},
		{"a container's id", "/run/io.containerd.runtime.v2.task/k8s.io/" + id + "/log", "/run/io.containerd.runtime.v2.task/k8s.io/<id>/log"},
		{"a container's output", "/run/containers/" + id + "/io/510126497/" + id + "-stdout", "/run/containers/<id>/io/<n>/<id>-stdout"},
		{"a container's scope", "/sys/fs/cgroup/cri-containerd-" + id + ".scope", "/sys/fs/cgroup/cri-containerd-<id>.scope"},
		{"a pod's log directory", "/podlogs/default_gen1-4-realnode1_4670ba6f98a6d2f5b6d90fbebdcad732/app/0.log", "/podlogs/default_<pod>_<uid>/app/<n>.log"},
		{"a pod's log link", "/var/log/containers/web-7d4b9c6f8-x2x9z_shop_app-" + id + ".log", "/var/log/containers/<pod>_shop_app-<id>.log"},
		{"a process", "/proc/14406/status", "/proc/<n>/status"},
		{"a counter behind a word", "/spool/message000123.eml", "/spool/message<n>.eml"},
		{"a temporary file", "/tmp/tmp.PyUQbUUer7", "/tmp/tmp.<x>"},
		{"telling words with numbers", "/usr/lib/x86_64-linux-gnu/k8s.io/v2/sha256/ipv6/sda1", "/usr/lib/x86_64-linux-gnu/k8s.io/v2/sha256/ipv6/sda1"},
		{"a path without numbers", "/dev/null", "/dev/null"},
		{"nothing", "", ""},
	} {
		t.Run(c.what, func(t *testing.T) {
			if diff := cmp.Diff(c.want, family.PathPattern(c.path)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestPathPatternIsItsOwnPattern(t *testing.T) {
	piece := rapid.SampledFrom([]string{
		"/", "_", "-", ".", "pod", "default", "5c3b6279-0177-caef-1f22-230719c1760e", "4670ba6f98a6d2f5b6d90fbebdcad732", "kube-api-access-", "-token-", "x2x9z",
		"12", "1234", "v2", "x86_64", "tmp.PyUQbUUer7", "<n>", "abcdef012345", ".log", "é",
	})
	rapid.Check(t, func(t *rapid.T) {
		path := strings.Join(rapid.SliceOfN(piece, 0, 12).Draw(t, "pieces"), "")
		once := family.PathPattern(path)
		if twice := family.PathPattern(once); twice != once {
			t.Fatalf("pattern of %q is %q, whose pattern is %q", path, once, twice)
		}
	})
}

func FuzzPathPattern(f *testing.F) {
	f.Add("/var/lib/kubelet/pods/5c3b6279-0177-caef-1f22-230719c1760e/volumes/kubernetes.io~projected/kube-api-access-5c3b6")
	f.Add("/podlogs/default_gen1-4-realnode1_4670ba6f98a6d2f5b6d90fbebdcad732/app/0.log")
	f.Add("/usr/lib/x86_64-linux-gnu/libc.so.6")
	f.Fuzz(func(t *testing.T, path string) {
		once := family.PathPattern(path)
		if twice := family.PathPattern(once); twice != once {
			t.Fatalf("pattern of %q is %q, whose pattern is %q", path, once, twice)
		}
	})
}

func TestWatchFamilies(t *testing.T) {
	mounts := family.NewMounts([]analysis.Mount{
		{Major: 254, Minor: 0, Point: "/proc/sys/kernel/panic", FSType: "ext4"},
		{Major: 254, Minor: 0, Point: "/", FSType: "ext4"},
		{Major: 0, Minor: 29, Point: "/sys/fs/cgroup/cpu", FSType: "cgroup"},
		{Major: 0, Minor: 300, Point: "/pods/5c3b6279-0177-caef-1f22-230719c1760e/volumes/kubernetes.io~projected/kube-api-access-5c3b6", FSType: "tmpfs"},
		{Major: 0, Minor: 31, Point: "/data", FSType: "btrfs"},
		{Major: 8, Minor: 1, Point: "/xfs", FSType: "xfs"},
	})
	for _, c := range []struct {
		what   string
		mounts *family.Mounts
		watch  analysis.Watch
		title  string
		want   map[string]string
	}{
		{
			"a watch in a cgroup hierarchy", mounts, analysis.Watch{Device: 0x1d, Inode: 0x77, Mask: 0x3c0},
			"inotify watch inside cgroup /sys/fs/cgroup/cpu, IN_MOVED_FROM|IN_MOVED_TO|IN_CREATE|IN_DELETE",
			map[string]string{"fstype": "cgroup", "mount": "/sys/fs/cgroup/cpu", "inode": "other", "status": "mounted", "mask": "IN_MOVED_FROM|IN_MOVED_TO|IN_CREATE|IN_DELETE (0x3c0)"},
		},
		{
			"the root of a pod's volume, above device number 255", mounts, analysis.Watch{Device: 0x12c, Inode: 1, Mask: 0x800afff&^0xfff | 0x2},
			"inotify watch on the root of tmpfs /pods/<uid>/volumes/kubernetes.io~projected/kube-api-access-<x>, IN_MODIFY",
			map[string]string{"fstype": "tmpfs", "mount": "/pods/<uid>/volumes/kubernetes.io~projected/kube-api-access-<x>", "inode": "root", "status": "mounted", "mask": "IN_MODIFY (0x2)"},
		},
		{
			"a disk is shown by its shortest mount", mounts, analysis.Watch{Device: 0xfe00000, Inode: 2, Mask: 0x20},
			"inotify watch on the root of ext4 /, IN_OPEN",
			map[string]string{"fstype": "ext4", "mount": "/", "inode": "root", "status": "mounted", "mask": "IN_OPEN (0x20)"},
		},
		{
			"inode 1 of a disk is no root", mounts, analysis.Watch{Device: 0xfe00000, Inode: 1, Mask: 0x20},
			"inotify watch inside ext4 /, IN_OPEN",
			map[string]string{"fstype": "ext4", "mount": "/", "inode": "other", "status": "mounted", "mask": "IN_OPEN (0x20)"},
		},
		{
			"the root of btrfs", mounts, analysis.Watch{Device: 31, Inode: 256, Mask: 0x1},
			"inotify watch on the root of btrfs /data, IN_ACCESS",
			map[string]string{"fstype": "btrfs", "mount": "/data", "inode": "root", "status": "mounted", "mask": "IN_ACCESS (0x1)"},
		},
		{
			"the root of xfs", mounts, analysis.Watch{Device: 0x800001, Inode: 128},
			"inotify watch on the root of xfs /xfs, no events",
			map[string]string{"fstype": "xfs", "mount": "/xfs", "inode": "root", "status": "mounted", "mask": "no events (0x0)"},
		},
		{
			"a device that is mounted nowhere", mounts, analysis.Watch{Device: 0x61, Inode: 1, Mask: 0xfc6},
			"inotify watch on the root of a file system not in mountinfo, IN_MODIFY|IN_ATTRIB|IN_MOVED_FROM|IN_MOVED_TO|IN_CREATE|IN_DELETE|IN_DELETE_SELF|IN_MOVE_SELF",
			map[string]string{"fstype": "unknown", "inode": "root", "status": "not in mountinfo", "mask": "IN_MODIFY|IN_ATTRIB|IN_MOVED_FROM|IN_MOVED_TO|IN_CREATE|IN_DELETE|IN_DELETE_SELF|IN_MOVE_SELF (0xfc6)"},
		},
		{
			"nothing is known without a mountinfo", family.NewMounts(nil), analysis.Watch{Device: 0x61, Inode: 7, Mask: 0x4},
			"inotify watch inside an unknown file system, IN_ATTRIB",
			map[string]string{"fstype": "unknown", "inode": "other", "status": "unknown", "mask": "IN_ATTRIB (0x4)"},
		},
		{
			"an empty mountinfo is an unreadable one", family.NewMounts([]analysis.Mount{}), analysis.Watch{Device: 0x61, Inode: 7, Mask: 0x4},
			"inotify watch inside an unknown file system, IN_ATTRIB",
			map[string]string{"fstype": "unknown", "inode": "other", "status": "unknown", "mask": "IN_ATTRIB (0x4)"},
		},
	} {
		t.Run(c.what, func(t *testing.T) {
			f := c.mounts.OfWatch(c.watch)
			if !regexp.MustCompile(`^w1:[0-9a-f]{32}$`).MatchString(f.Fingerprint) || f.Kind != analysis.KindWatch {
				t.Errorf("family %+v", f)
			}
			if diff := cmp.Diff(c.title, f.Title); diff != "" {
				t.Errorf("title (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.want, f.Attributes); diff != "" {
				t.Errorf("attributes (-want +got):\n%s", diff)
			}
		})
	}
}

func TestInternalMaskBitsMakeNoFamilies(t *testing.T) {
	var none *family.Mounts
	if a, b := none.OfWatch(analysis.Watch{Mask: 0x2c4}), none.OfWatch(analysis.Watch{Mask: 0x80002c4}); a.Fingerprint != b.Fingerprint {
		t.Error("a bit that old kernels leak made another family")
	}
}
