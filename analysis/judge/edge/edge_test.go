package edge_test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/edge"
)

// link reads "local remote state", with "*" for no end; a foreign listener begins with "!".
func link(text string) analysis.Connection {
	text, foreign := strings.CutPrefix(text, "!")
	f := strings.Fields(text)
	end := func(text string) netip.AddrPort {
		if port, any := strings.CutPrefix(text, "*:"); any {
			return netip.AddrPortFrom(netip.Addr{}, netip.MustParseAddrPort("0.0.0.0:"+port).Port())
		}
		e := netip.MustParseAddrPort(text)
		return netip.AddrPortFrom(e.Addr().Unmap(), e.Port())
	}
	if f[0] == "pipe" {
		return analysis.Connection{Protocol: "pipe", Inode: uint64(len(f[1]))}
	}
	c := analysis.Connection{Protocol: "tcp", Local: end(f[0]), State: f[2], Foreign: foreign}
	if f[1] != "*" {
		c.Remote = end(f[1])
	}
	return c
}

// process has one snapshot a minute with these connections; "-" is one without evidence.
func process(host string, snapshots ...[]string) edge.Process {
	p := edge.Process{Host: host}
	var all []*analysis.Snapshot
	for i, links := range snapshots {
		at := time.Date(2026, 11, 21, 3, i, 0, 0, time.UTC)
		p.Moments = append(p.Moments, edge.Moment{At: &at, Label: fmt.Sprintf("t%d", i)})
		var rows []analysis.Connection
		for _, text := range links {
			rows = append(rows, link(text))
		}
		all = append(all, &analysis.Snapshot{Sockets: analysis.NewSockets(rows)})
	}
	p.Course = edge.Follow(all)
	return p
}

// in is a process in a network namespace.
func in(namespace uint64, p edge.Process) edge.Process {
	for i := range p.Moments {
		p.Moments[i].Namespace = namespace
	}
	return p
}

func words(edges []edge.Edge, names []string) (out []string) {
	for _, e := range edges {
		to := "outside " + e.Address
		if e.To != edge.Outside {
			to = names[e.To]
		}
		text := fmt.Sprintf("%s %s %s %s %s", names[e.From], e.Direction, to, e.Protocol, e.State)
		for i, n := range e.N {
			if !n.Known() {
				text += " -"
				continue
			}
			text += fmt.Sprintf(" %d/%d", n.N, e.Matched[i].N)
		}
		out = append(out, text)
	}
	slices.Sort(out)
	return out
}

func TestConnectionsAreJoinedByTheirEnds(t *testing.T) {
	for _, tt := range []struct {
		name      string
		processes []edge.Process
		want      []string
	}{
		{"who listens has accepted", []edge.Process{
			process("a", []string{"127.0.0.1:40000 127.0.0.1:80 ESTABLISHED"}),
			process("a", []string{"127.0.0.1:80 * LISTEN", "127.0.0.1:80 127.0.0.1:40000 ESTABLISHED"}),
		}, []string{"p0 dialled p1 tcp ESTABLISHED 1/1"}},
		{"an address of IPv4 in that of IPv6", []edge.Process{
			process("a", []string{"[::ffff:10.0.0.1]:40000 [::ffff:10.0.0.2]:80 ESTABLISHED"}),
			process("b", []string{"*:80 * LISTEN", "10.0.0.2:80 10.0.0.1:40000 ESTABLISHED"}),
		}, []string{"p0 dialled p1 tcp ESTABLISHED 1/1"}},
		{"nobody is seen to listen", []edge.Process{
			process("a", []string{"127.0.0.1:40000 127.0.0.1:80 ESTABLISHED"}),
			process("a", []string{"127.0.0.1:80 127.0.0.1:40000 ESTABLISHED"}),
		}, []string{"p0 unknown p1 tcp ESTABLISHED 1/1"}},
		{"loopback of another host", []edge.Process{
			process("a", []string{"127.0.0.1:40000 127.0.0.1:80 ESTABLISHED"}),
			process("b", []string{"127.0.0.1:80 * LISTEN", "127.0.0.1:80 127.0.0.1:40000 ESTABLISHED"}),
		}, []string{"p0 unknown outside 127.0.0.1:80 tcp ESTABLISHED 1/0", "p1 accepted outside 127.0.0.1 tcp ESTABLISHED 1/0"}},
		{"link-local of another host", []edge.Process{
			process("a", []string{"[fe80::1]:40000 [fe80::2]:80 ESTABLISHED"}),
			process("b", []string{"[fe80::2]:80 [fe80::1]:40000 ESTABLISHED"}),
		}, []string{"p0 unknown outside [fe80::2]:80 tcp ESTABLISHED 1/0", "p1 unknown outside [fe80::1]:40000 tcp ESTABLISHED 1/0"}},
		{"loopback of another network namespace", []edge.Process{
			in(1, process("a", []string{"127.0.0.1:40000 127.0.0.1:80 ESTABLISHED"})),
			in(2, process("a", []string{"127.0.0.1:80 * LISTEN", "127.0.0.1:80 127.0.0.1:40000 ESTABLISHED"})),
		}, []string{"p0 unknown outside 127.0.0.1:80 tcp ESTABLISHED 1/0", "p1 accepted outside 127.0.0.1 tcp ESTABLISHED 1/0"}},
		{"the address of another network namespace, which has it too", []edge.Process{
			in(1, process("a", []string{"10.0.0.1:40000 10.0.0.1:80 ESTABLISHED"})),
			in(2, process("a", []string{"*:80 * LISTEN", "10.0.0.1:80 10.0.0.1:40000 ESTABLISHED"})),
		}, []string{"p0 unknown outside 10.0.0.1:80 tcp ESTABLISHED 1/0", "p1 accepted outside 10.0.0.1 tcp ESTABLISHED 1/0"}},
		{"addresses of two network namespaces", []edge.Process{
			in(1, process("a", []string{"10.0.0.1:40000 10.0.0.2:80 ESTABLISHED"})),
			in(2, process("a", []string{"10.0.0.2:80 * LISTEN", "10.0.0.2:80 10.0.0.1:40000 ESTABLISHED"})),
		}, []string{"p0 dialled p1 tcp ESTABLISHED 1/1"}},
		{"loopback of one network namespace", []edge.Process{
			in(1, process("a", []string{"127.0.0.1:40000 127.0.0.1:80 ESTABLISHED"})),
			in(1, process("a", []string{"127.0.0.1:80 * LISTEN", "127.0.0.1:80 127.0.0.1:40000 ESTABLISHED"})),
		}, []string{"p0 dialled p1 tcp ESTABLISHED 1/1"}},
		{"loopback where one side does not know its network namespace", []edge.Process{
			in(1, process("a", []string{"127.0.0.1:40000 127.0.0.1:80 ESTABLISHED"})),
			process("a", []string{"127.0.0.1:80 * LISTEN", "127.0.0.1:80 127.0.0.1:40000 ESTABLISHED"}),
		}, []string{"p0 dialled p1 tcp ESTABLISHED 1/1"}},
		{"a pipe between two network namespaces", []edge.Process{
			in(1, process("a", []string{"pipe 1"})), in(2, process("a", []string{"pipe 1"})),
		}, []string{"p0 unknown p1 pipe  1/1"}},
		{"two processes hold one end", []edge.Process{
			process("a", []string{"127.0.0.1:40000 127.0.0.1:80 ESTABLISHED"}),
			process("a", []string{"127.0.0.1:80 127.0.0.1:40000 ESTABLISHED"}),
			process("a", []string{"127.0.0.1:80 127.0.0.1:40000 ESTABLISHED"}),
		}, []string{"p0 unknown outside 127.0.0.1:80 tcp ESTABLISHED 1/0", "p1 unknown outside 127.0.0.1:40000 tcp ESTABLISHED 1/0", "p2 unknown outside 127.0.0.1:40000 tcp ESTABLISHED 1/0"}},
		{"the peer has closed, and was seen before", []edge.Process{
			process("a", []string{"127.0.0.1:40000 127.0.0.1:80 ESTABLISHED"}, []string{"127.0.0.1:41000 127.0.0.1:9 ESTABLISHED"}),
			process("a", []string{"127.0.0.1:80 * LISTEN", "127.0.0.1:80 127.0.0.1:40000 ESTABLISHED"}, []string{"127.0.0.1:80 * LISTEN", "127.0.0.1:80 127.0.0.1:40000 CLOSE_WAIT"}),
		}, []string{"p0 dialled p1 tcp ESTABLISHED 1/1 0/0", "p0 unknown outside 127.0.0.1:9 tcp ESTABLISHED 0/0 1/0", "p1 accepted p0 tcp CLOSE_WAIT 0/0 1/0"}},
		{"somebody of the namespace listens", []edge.Process{
			process("", []string{"127.0.0.1:40000 127.0.0.1:80 ESTABLISHED", "!*:80 * LISTEN"}),
		}, []string{"p0 dialled outside 127.0.0.1:80 tcp ESTABLISHED 1/0"}},
		{"a port that another address listens at", []edge.Process{
			process("", []string{"10.0.0.1:40000 10.0.0.2:80 ESTABLISHED", "!10.0.0.1:80 * LISTEN"}),
		}, []string{"p0 unknown outside 10.0.0.2:80 tcp ESTABLISHED 1/0"}},
		{"both ends in one process", []edge.Process{
			process("", []string{"127.0.0.1:80 * LISTEN", "127.0.0.1:80 127.0.0.1:40000 ESTABLISHED", "127.0.0.1:40000 127.0.0.1:80 ESTABLISHED"}),
		}, []string{"p0 dialled p0 tcp ESTABLISHED 1/1"}},
		{"a pipe in two processes and one in three", []edge.Process{
			process("a", []string{"pipe 1", "pipe 22"}), process("a", []string{"pipe 1", "pipe 22"}), process("a", []string{"pipe 22"}),
		}, []string{"p0 unknown p1 pipe  1/1"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			want := slices.Clone(tt.want)
			names := make([]string, len(tt.processes))
			for i := range names {
				names[i] = fmt.Sprintf("p%d", i)
			}
			if got := words(edge.Join(tt.processes).Edges(), names); !slices.Equal(got, want) {
				t.Errorf("got  %q\nwant %q", got, want)
			}
		})
	}
}

// grown are counts, with "-" where there is none.
func grown(text string) (out analysis.Counts) {
	for word := range strings.FieldsSeq(text) {
		n := 0
		if _, err := fmt.Sscan(word, &n); err != nil {
			out = append(out, analysis.Count{})
			continue
		}
		out = append(out, analysis.Counted(n))
	}
	return out
}

// dialling are a client with so many connections in each snapshot and a server that has the
// other ends, in these states. A count of -1 is a process that is gone.
func dialling(counts []int, clientState, serverState string) (client, server edge.Process) {
	var a, b [][]string
	for _, n := range counts {
		near, far := []string{"127.0.0.1:9 * LISTEN"}, []string{"127.0.0.1:80 * LISTEN"}
		for k := range max(n, 0) {
			if clientState != "" {
				near = append(near, fmt.Sprintf("127.0.0.1:%d 127.0.0.1:80 %s", 40000+k, clientState))
			}
			far = append(far, fmt.Sprintf("127.0.0.1:80 127.0.0.1:%d %s", 40000+k, serverState))
		}
		if n >= 0 {
			a = append(a, near)
		}
		b = append(b, far)
	}
	return process("a", a...), process("a", b...)
}

// without is a process of which nobody took snapshot i.
func without(p edge.Process, i int) edge.Process {
	p.Moments = slices.Delete(slices.Clone(p.Moments), i, i+1)
	rows := slices.Clone(p.Course.Rows)
	for k := range rows {
		rows[k].Spans = slices.Clone(rows[k].Spans)
		for s := range rows[k].Spans {
			span := &rows[k].Spans[s]
			if span.First > i {
				span.First--
			}
			if span.Last >= i {
				span.Last--
			}
		}
	}
	p.Course = &edge.Course{Rows: rows}
	return p
}

// connections are the first n of a process of dialling, which come after what it listens at.
func connections(n int) (out []int) {
	for k := range n {
		out = append(out, 1+k)
	}
	return out
}

func TestTheOrderOfTwoGrowths(t *testing.T) {
	const up = "10 20 30 40 50 60"
	steady := []int{10, 20, 30, 40, 50, 60}
	alive, aliveServer := dialling(steady, "ESTABLISHED", "ESTABLISHED")
	gone, goneServer := dialling([]int{10, 20, 30, 40, 50, -1}, "ESTABLISHED", "ESTABLISHED")
	closed, closedServer := dialling([]int{10, 20, 30, 40, 50, 0}, "ESTABLISHED", "ESTABLISHED")
	missing := without(alive, 2)
	left, leftServer := leftOpen(steady)
	restarted := alive
	restarted.Moments = slices.Clone(alive.Moments)
	restarted.Moments[5].Epoch = 1
	none := process("a", nil, nil, nil, nil, nil, nil)
	for _, tt := range []struct {
		name           string
		client, server edge.Process
		a, b           edge.Growth
		want           string
	}{
		{"the opener ends", gone, goneServer,
			edge.Growth{Counts: grown("10 20 30 40 50")}, edge.Growth{Counts: grown("10 20 30 40 50 0"), Wait: edge.WaitsToRead}, "client first: end, end, 50 at 5"},
		{"the opener starts anew", restarted, aliveServer,
			edge.Growth{Counts: grown("10 20 30 40 50 3"), Calling: true}, edge.Growth{Counts: grown("10 20 30 40 50 3"), Serving: true}, "client first: end, end, 47 at 5"},
		{"the opener starts anew and its objects stay", restarted, aliveServer,
			edge.Growth{Counts: grown("10 20 30 40 50 60"), Calling: true}, edge.Growth{Counts: grown("10 20 30 40 50 60"), Serving: true}, "server first: stays, end, 60 at 5"},
		{"the opener is only missing and its objects stay", gone, goneServer,
			edge.Growth{Counts: grown("10 20 30 40 50")}, edge.Growth{Counts: grown("10 20 30 40 50 50")}, "unknown: endpoint"},
		{"the opener is only missing and its connections stay", gone, aliveServer,
			edge.Growth{Counts: grown("10 20 30 40 50")}, edge.Growth{Counts: grown("10 20 30 40 50 50")}, "unknown: endpoint"},
		{"the opener is missing once and back with all its connections", missing, aliveServer,
			edge.Growth{Counts: grown("10 20 40 50 60")}, edge.Growth{Counts: grown(up)}, "unknown: endpoint"},
		{"the opener lives, has closed its connections, and its objects stay", closed, closedServer,
			edge.Growth{Counts: grown("10 20 30 40 50 0")}, edge.Growth{Counts: grown("10 20 30 40 50 50")}, "server first: stays, end, 50 at 5"},
		{"the opener lives", alive, aliveServer,
			edge.Growth{Counts: grown(up)}, edge.Growth{Counts: grown(up), Wait: edge.WaitsToRead}, "client first: opener, endpoint, 60 at -1"},
		{"the opener lives, and the server reads from as many connections", alive, aliveServer,
			edge.Growth{Counts: grown(up)}, edge.Growth{Counts: grown(up), Wait: edge.ReadsAny}, "client first: opener, endpoint, 60 at -1"},
		{"the opener lives and nobody says what the server waits for", alive, aliveServer,
			edge.Growth{Counts: grown(up)}, edge.Growth{Counts: grown(up)}, "unknown: endpoint"},
		{"a blocked call", alive, aliveServer,
			edge.Growth{Counts: grown(up), Calling: true, Unary: true}, edge.Growth{Counts: grown(up), Serving: true, Wait: edge.WaitsElsewhere}, "server first: callee, endpoint, 60 at -1"},
		{"a call whose server reads its request", alive, aliveServer,
			edge.Growth{Counts: grown(up), Calling: true, Unary: true}, edge.Growth{Counts: grown(up), Serving: true, Wait: edge.WaitsToRead}, "unknown: endpoint"},
		{"a blocked call whose caller ends: two rules contradict", gone, goneServer,
			edge.Growth{Counts: grown("10 20 30 40 50"), Calling: true, Unary: true}, edge.Growth{Counts: grown("10 20 30 40 50 0"), Serving: true, Wait: edge.WaitsElsewhere}, "unknown: endpoint"},
		{"CLOSE_WAIT", left, leftServer,
			edge.Growth{Counts: grown(up)}, edge.Growth{Counts: grown(up)}, "server first: close_wait, kernel state, 60 at -1"},
		{"equal numbers of a caller and a server", none, none,
			edge.Growth{Counts: grown(up), Calling: true, Unary: true}, edge.Growth{Counts: grown(up), Serving: true, Wait: edge.WaitsElsewhere}, "unknown: step"},
		{"equal numbers alone", none, none, edge.Growth{Counts: grown(up)}, edge.Growth{Counts: grown(up), Wait: edge.WaitsToRead}, "not together"},
		{"goroutines of both wait for the same connections, in another rhythm", alive, aliveServer,
			edge.Growth{Counts: grown(up), Connections: connections(60)}, edge.Growth{Counts: grown("10 60 61 62 63 64"), Wait: edge.ReadsAny, Connections: connections(60)}, "client first: opener, descriptor, 60 at -1"},
		{"a blocked call, with the descriptors of both", alive, aliveServer,
			edge.Growth{Counts: grown(up), Unary: true, Connections: connections(60)}, edge.Growth{Counts: grown("10 60 61 62 63 64"), Wait: edge.WaitsElsewhere, Connections: connections(60)}, "server first: callee, descriptor, 60 at -1"},
		{"the same connections and nobody says what the server waits for", alive, aliveServer,
			edge.Growth{Counts: grown(up), Connections: connections(60)}, edge.Growth{Counts: grown("10 60 61 62 63 64"), Connections: connections(60)}, "unknown: descriptor"},
		{"the descriptors of one side alone", alive, aliveServer,
			edge.Growth{Counts: grown(up), Connections: connections(60)}, edge.Growth{Counts: grown("10 60 61 62 63 64"), Wait: edge.WaitsToRead}, "not together"},
		{"a few of the connections", alive, aliveServer,
			edge.Growth{Counts: grown(up), Connections: connections(5)}, edge.Growth{Counts: grown("10 60 61 62 63 64"), Wait: edge.WaitsToRead, Connections: connections(60)}, "not together"},
		{"connections and another rhythm", alive, aliveServer,
			edge.Growth{Counts: grown(up)}, edge.Growth{Counts: grown("10 60 61 62 63 64"), Wait: edge.WaitsToRead}, "not together"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			names := []string{"client", "server"}
			for _, turned := range []bool{false, true} {
				a, b := tt.a, tt.b
				a.Alive, b.Alive = a.Counts, b.Counts
				all := []edge.Process{tt.client, tt.server}
				a.Process, b.Process = 0, 1
				if turned {
					all, names = []edge.Process{tt.server, tt.client}, []string{"server", "client"}
					a.Process, b.Process = 1, 0
					a, b = b, a
				}
				order, known, level := edge.Join(all).Between(a, b)
				got := "not together"
				switch {
				case known:
					got = fmt.Sprintf("%s first: %s, %s, %d at %d", names[order.First], order.Rule, order.Level, order.N, order.Snapshot)
				case level != "":
					got = "unknown: " + string(level)
				}
				if got != tt.want {
					t.Errorf("turned %v: got %q, want %q", turned, got, tt.want)
				}
			}
		})
	}
}

// leftOpen are a client that has closed each of its connections one snapshot later and a
// server that has not.
func leftOpen(counts []int) (client, server edge.Process) {
	var a, b [][]string
	before := 0
	for _, n := range counts {
		near, far := []string{"127.0.0.1:9 * LISTEN"}, []string{"127.0.0.1:80 * LISTEN"}
		for k := range n {
			far = append(far, fmt.Sprintf("127.0.0.1:80 127.0.0.1:%d CLOSE_WAIT", 40000+k))
			if k >= before { // closed at one end since
				near = append(near, fmt.Sprintf("127.0.0.1:%d 127.0.0.1:80 FIN_WAIT2", 40000+k))
			}
		}
		a, b, before = append(a, near), append(b, far), n
	}
	return process("a", a...), process("a", b...)
}

func TestTheOrderOfProcessesChangesNothing(t *testing.T) {
	client, server := dialling([]int{10, 20, 30, 40}, "ESTABLISHED", "ESTABLISHED")
	left, leftServer := leftOpen([]int{5, 6, 7})
	for i := range leftServer.Course.Rows {
		leftServer.Course.Rows[i].Inode = uint64(i) // other connections than the first ones
	}
	all := []edge.Process{client, server, left, leftServer, process("b", []string{"10.0.0.1:40000 10.0.0.2:80 ESTABLISHED"}), process("c", []string{"*:80 * LISTEN", "10.0.0.2:80 10.0.0.1:40000 ESTABLISHED"})}
	names := []string{"client", "server", "left", "left server", "b", "c"}
	want := words(edge.Join(all).Edges(), names)
	for seed := range uint64(20) {
		mixed, mixedNames := slices.Clone(all), slices.Clone(names)
		rand.New(rand.NewPCG(seed, 1)).Shuffle(len(mixed), func(i, k int) {
			mixed[i], mixed[k] = mixed[k], mixed[i]
			mixedNames[i], mixedNames[k] = mixedNames[k], mixedNames[i]
		})
		if got := words(edge.Join(mixed).Edges(), mixedNames); !slices.Equal(got, want) {
			t.Fatalf("seed %d: got  %q\nwant %q", seed, got, want)
		}
	}
}

func TestConnectionsArePackedAsTheyAre(t *testing.T) {
	for _, n := range []int{0, 1, 2, 3} {
		var snapshots []*analysis.Snapshot
		for i := range n {
			rows := []analysis.Connection{link("127.0.0.1:80 * LISTEN"), link("127.0.0.1:40000 127.0.0.1:80 ESTABLISHED")}
			if i > 0 {
				rows[1].State = "CLOSE_WAIT"
			}
			snapshots = append(snapshots, &analysis.Snapshot{Sockets: analysis.NewSockets(rows)})
		}
		want, packed := edge.Follow(snapshots), edge.Pack(snapshots)
		got, err := packed.Unpack(n)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%d snapshots: %+v, %v, want %+v", n, got, err, want)
		}
		if n < 2 {
			continue
		}
		if _, err := packed.Unpack(n - 1); err == nil && n > 2 {
			t.Errorf("%d snapshots: one too few is not noticed", n)
		}
		for cut := range packed.Spans {
			short := packed
			short.Spans = packed.Spans[:cut]
			if _, err := short.Unpack(n); err == nil {
				t.Errorf("%d of %d bytes of spans are read", cut, len(packed.Spans))
			}
		}
		for cut := range packed.Rows {
			short := packed
			short.Rows = packed.Rows[:cut]
			if _, err := short.Unpack(n); err == nil {
				t.Errorf("%d of %d bytes of rows are read", cut, len(packed.Rows))
			}
		}
	}
}
