package report

import (
	"slices"
	"testing"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/knowledge"
)

func TestOfBothEndsOfConnectionsTheOneWithARemedyLeads(t *testing.T) {
	const address = "127.0.0.1:80"
	goroutines := func(print, creator, function string) *Family {
		return &Family{Fingerprint: print, Kind: analysis.KindGoroutine, Title: function, CreatedBy: creator, Frames: []string{function}}
	}
	socket := func(print, role, local, remote string) *Family {
		return &Family{Fingerprint: print, Kind: analysis.KindDescriptor, Attributes: map[string]string{"protocol": "TCP", "role": role, "local": local, "remote": remote}}
	}
	serves := goroutines("serve", "net/http.(*Server).Serve", "net/http.(*conn).serve")
	dials := goroutines("dial", "net/http.(*Transport).dialConn", "net/http.(*persistConn).readLoop")
	own := goroutines("own", "main.main", "main.work")
	server, client := socket("server", "server", address, "127.0.0.1"), socket("client", "client", "", address)
	elsewhere := socket("elsewhere", "client", "", "127.0.0.1:81")
	for _, test := range []struct {
		name     string
		families []*Family
		first    string
	}{
		{"the server first", []*Family{serves, dials, server, client}, "dial"},
		{"the client first", []*Family{dials, serves, server, client}, "dial"},
		{"the client dials another process", []*Family{serves, dials, server, elsewhere}, "serve"},
		{"no sockets are known", []*Family{serves, dials}, "serve"},
		{"nobody dials", []*Family{serves, server, client}, "serve"},
		{"own code leads", []*Family{own, dials, server, client}, "own"},
	} {
		byPrint, prints := map[string]*Family{}, []string{}
		for _, f := range test.families {
			byPrint[f.Fingerprint], prints = f, append(prints, f.Fingerprint)
		}
		j := &JudgedSeries{catalogue: knowledge.Builtin()}
		got := j.endedFirst(prints, byPrint)
		if got[0] != test.first || len(got) != len(prints) || slices.ContainsFunc(prints, func(p string) bool { return !slices.Contains(got, p) }) {
			t.Errorf("%s: %v, want %s first", test.name, got, test.first)
		}
	}
}
