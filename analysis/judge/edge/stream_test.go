package edge_test

import (
	"fmt"
	"slices"
	"testing"

	"leakdiff/analysis/judge/edge"
)

// sharing is a case of nine moments: clients with the same connections to a server in each, up
// to the moment from which they are gone, and the server. A client that lives is gone at 9.
func sharing(clients ...sharer) []edge.Process {
	near := make([][][]string, len(clients))
	var far [][]string
	for i := range 9 {
		rows := []string{"127.0.0.1:80 * LISTEN"}
		for p, c := range clients {
			if i >= c.gone {
				continue
			}
			own := []string{fmt.Sprintf("127.0.0.1:%d * LISTEN", 9+p)}
			for k := range c.connections {
				port := 40000 + 1000*p + k
				own = append(own, fmt.Sprintf("127.0.0.1:%d 127.0.0.1:80 ESTABLISHED", port))
				rows = append(rows, fmt.Sprintf("127.0.0.1:80 127.0.0.1:%d ESTABLISHED", port))
			}
			if c.calledBack {
				own = append(own, fmt.Sprintf("127.0.0.1:%d 127.0.0.1:50000 ESTABLISHED", 9+p))
				rows = append(rows, fmt.Sprintf("127.0.0.1:50000 127.0.0.1:%d ESTABLISHED", 9+p))
			}
			near[p] = append(near[p], own)
		}
		far = append(far, rows)
	}
	out := []edge.Process{process("a", far...)}
	for _, rows := range near {
		out = append(out, process("a", rows...))
	}
	return out
}

type sharer struct {
	connections, gone int
	// calledBack reports a connection that the server dialled.
	calledBack bool
}

const lives = 9

// again is a case whose first client has another start at the last moment.
func again(all []edge.Process) []edge.Process {
	all[1].Moments[8].Epoch = 1
	return all
}

func TestStreamsOverSharedConnectionsJoinTwoGrowths(t *testing.T) {
	const up, down = "0 40 80 120 160 200 240 280", "0 40 80 120 160 200 240 280 0"
	client := sharer{56, 8, false}
	for _, tt := range []struct {
		name           string
		processes      []edge.Process
		client, server edge.Growth
		want           string
	}{
		{"the client ends, and no stack shows streams", sharing(client),
			edge.Growth{Counts: grown(up)}, edge.Growth{Counts: grown(down)}, "client first: end, streams, 280 at 8, 56 shared"},
		{"half of them end with the client", sharing(client),
			edge.Growth{Counts: grown(up)}, edge.Growth{Counts: grown("0 40 80 120 160 200 240 280 140")}, "client first: end, streams, 140 at 8, 56 shared"},
		{"fewer than half end with the client", sharing(client),
			edge.Growth{Counts: grown(up)}, edge.Growth{Counts: grown("0 40 80 120 160 200 240 280 141")}, "not together"},
		{"the client is gone one interval before they end", sharing(sharer{56, 7, false}),
			edge.Growth{Counts: grown("0 40 80 120 160 200 240")}, edge.Growth{Counts: grown("0 40 80 120 160 200 240 240 0")}, "not together"},
		{"no connection", sharing(sharer{0, 8, false}),
			edge.Growth{Counts: grown(up), Streams: true}, edge.Growth{Counts: grown(down), Streams: true}, "not together"},
		{"no connection, inside calls and serving them", sharing(sharer{0, 8, false}),
			edge.Growth{Counts: grown(up), Streams: true, Calling: true}, edge.Growth{Counts: grown(down), Streams: true, Serving: true}, "unknown: step"},
		{"no connection, inside calls and serving them, and the client starts anew", again(sharing(sharer{0, lives, false})),
			edge.Growth{Counts: grown(up + " 0"), Streams: true, Calling: true}, edge.Growth{Counts: grown(down), Streams: true, Serving: true}, "unknown: step"},
		{"one connection", sharing(sharer{1, 8, false}),
			edge.Growth{Counts: grown(up)}, edge.Growth{Counts: grown(down)}, "client first: end, streams, 280 at 8, 1 shared"},
		{"two members for each connection", sharing(sharer{140, 8, false}),
			edge.Growth{Counts: grown(up)}, edge.Growth{Counts: grown(down)}, "client first: end, streams, 280 at 8, 140 shared"},
		{"fewer than two members for each connection", sharing(sharer{141, 8, false}),
			edge.Growth{Counts: grown(up)}, edge.Growth{Counts: grown(down)}, "client first: end, streams, 280 at 8, 0 shared"},
		{"the server dialled a connection too", sharing(sharer{56, 8, true}),
			edge.Growth{Counts: grown(up)}, edge.Growth{Counts: grown(down)}, "not together"},
		{"in another rhythm", sharing(client),
			edge.Growth{Counts: grown("0 200 210 220 230 240 250 280")}, edge.Growth{Counts: grown(down)}, "not together"},

		{"the client lives, and no stack shows streams", sharing(sharer{56, lives, false}),
			edge.Growth{Counts: grown(up + " 320")}, edge.Growth{Counts: grown(up + " 320")}, "not together"},
		{"the client lives, with streams of the client", sharing(sharer{56, lives, false}),
			edge.Growth{Counts: grown(up + " 320"), Streams: true, Calling: true}, edge.Growth{Counts: grown(up + " 320")}, "client first: opener, streams, 56 at -1, 56 shared"},
		{"the client lives, with streams of the server", sharing(sharer{56, lives, false}),
			edge.Growth{Counts: grown(up + " 320")}, edge.Growth{Counts: grown(up + " 320"), Streams: true, Wait: edge.ServesStream}, "client first: opener, streams, 56 at -1, 56 shared"},
		{"the client lives, with streams that either side may have opened", sharing(sharer{56, lives, false}),
			edge.Growth{Counts: grown(up + " 320"), Streams: true}, edge.Growth{Counts: grown(up + " 320"), Streams: true}, "unknown: streams"},
		{"the client lives, and the server waits for something else", sharing(sharer{56, lives, false}),
			edge.Growth{Counts: grown(up + " 320"), Streams: true, Calling: true}, edge.Growth{Counts: grown(up + " 320"), Streams: true, Wait: edge.WaitsElsewhere}, "unknown: streams"},
		{"the client lives and waits for answers, and the server for something else", sharing(sharer{56, lives, false}),
			edge.Growth{Counts: grown(up + " 320"), Streams: true, Calling: true, Unary: true}, edge.Growth{Counts: grown(up + " 320"), Streams: true, Wait: edge.WaitsElsewhere}, "server first: callee, streams, 56 at -1, 56 shared"},

		{"two clients, and the counts are those of one", sharing(sharer{56, lives, false}, sharer{1, lives, false}),
			edge.Growth{Counts: grown(up + " 280")}, edge.Growth{Counts: grown(up + " 294"), Streams: true, Wait: edge.ServesStream}, "client first: opener, streams, 56 at -1, 56 shared"},
		{"two clients, and the counts are more than 5 % apart", sharing(sharer{56, lives, false}, sharer{1, lives, false}),
			edge.Growth{Counts: grown(up + " 280")}, edge.Growth{Counts: grown(up + " 295"), Streams: true, Wait: edge.ServesStream}, "not together"},
		{"two clients, and two are missing of few", sharing(sharer{5, lives, false}, sharer{1, lives, false}),
			edge.Growth{Counts: grown("0 3 6 9 12 15 18 18 18")}, edge.Growth{Counts: grown("0 3 6 9 12 15 18 19 20"), Streams: true, Wait: edge.ServesStream}, "client first: opener, streams, 5 at -1, 5 shared"},
		{"two clients, and three are missing of few", sharing(sharer{5, lives, false}, sharer{1, lives, false}),
			edge.Growth{Counts: grown("0 3 6 9 12 15 18 17 17")}, edge.Growth{Counts: grown("0 3 6 9 12 15 18 20 21"), Streams: true, Wait: edge.ServesStream}, "not together"},
		{"two clients, each with half of the streams", sharing(sharer{56, 8, false}, sharer{56, lives, false}),
			edge.Growth{Counts: grown("0 20 40 60 80 100 120 140")}, edge.Growth{Counts: grown("0 40 80 120 160 200 240 280 140"), Streams: true}, "not together"},
		{"two clients, and nine tenths end with one", sharing(sharer{56, 8, false}, sharer{1, lives, false}),
			edge.Growth{Counts: grown("0 20 40 60 80 100 120 140")}, edge.Growth{Counts: grown("0 40 80 120 160 200 240 280 28")}, "client first: end, streams, 252 at 8, 56 shared"},
		{"two clients, and fewer than nine tenths end with one", sharing(sharer{56, 8, false}, sharer{1, lives, false}),
			edge.Growth{Counts: grown("0 20 40 60 80 100 120 140")}, edge.Growth{Counts: grown("0 40 80 120 160 200 240 280 29")}, "not together"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, turned := range []bool{false, true} {
				all, names := slices.Clone(tt.processes), []string{"server", "client", "other"}
				a, b := tt.client, tt.server
				a.Alive, b.Alive = a.Counts, b.Counts
				a.Process, b.Process = 1, 0
				if turned {
					all[0], all[1], names[0], names[1] = all[1], all[0], names[1], names[0]
					a.Process, b.Process = 0, 1
					a, b = b, a
				}
				order, known, level := edge.Join(all).Between(a, b)
				got := "not together"
				switch {
				case known:
					got = fmt.Sprintf("%s first: %s, %s, %d at %d, %d shared", names[order.First], order.Rule, order.Coupled, order.N, order.Snapshot, order.Connections)
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

func TestTheProcessThatEndsWithAGrowthIsKnownByItsConnections(t *testing.T) {
	const down = "33 73 113 153 193 233 273 313 33"
	for _, tt := range []struct {
		name      string
		processes []edge.Process
		counts    string
		want      string
	}{
		{"the only client ends", sharing(sharer{56, 8, false}), down, "1 with 56"},
		{"the only client starts anew", again(sharing(sharer{56, lives, false})), down, "1 with 56, restarted"},
		{"the only client ended one interval before", sharing(sharer{56, 7, false}), down, "nobody"},
		{"the only client lives", sharing(sharer{56, lives, false}), down, "nobody"},
		{"a process without connections ends", sharing(sharer{0, 8, false}), down, "nobody"},
		{"a process that the server dialled ends", sharing(sharer{0, 8, true}), down, "nobody"},
		{"two clients end", sharing(sharer{56, 8, false}, sharer{1, 8, false}), down, "nobody"},
		{"another client lives, and nine tenths end", sharing(sharer{56, 8, false}, sharer{1, lives, false}), "33 73 113 153 193 233 273 313 61", "1 with 56"},
		{"another client lives, and fewer end", sharing(sharer{56, 8, false}, sharer{1, lives, false}), "33 73 113 153 193 233 273 313 62", "nobody"},
		{"another client lives, and what is left is not known", sharing(sharer{56, 8, false}, sharer{1, lives, false}), "33 73 113 153 193 233 273 313 -", "nobody"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := "nobody"
			if e, ok := edge.Join(tt.processes).EndedAt(0, 8, grown(tt.counts)); ok {
				if got = fmt.Sprintf("%d with %d", e.Process, e.N); e.Restarted {
					got += ", restarted"
				}
			}
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
