package ingest

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"leakdiff/analysis"
	"leakdiff/analysis/read/bundle"
)

func TestTheConnectionsOfAProcessAreThoseThatItOwns(t *testing.T) {
	const (
		header  = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
		listing = "COMMAND  PID USER   FD   TYPE DEVICE SIZE/OFF NODE NAME\n"
	)
	row := func(local, remote, state string, inode int) string {
		return fmt.Sprintf("   0: %s %s %s 00000000:00000000 00:00000000 00000000     0        0 %d 2 00000000a72a08ce 100 0 0 10 0\n", local, remote, state, inode)
	}
	const loopback, web, db = "0100007F", "0100007F:0050", "0100007F:1538"
	table := header + row("00000000:0050", "00000000:0000", "0A", 11) + row(db, "00000000:0000", "0A", 99) + // somebody else's
		row(web, loopback+":9C40", "01", 12) + row(loopback+":9C41", db, "08", 13) + row(loopback+":9C42", db, "01", 98)
	links := "3 -> socket:[11]\n4 -> socket:[12]\n5 -> socket:[13]\n6 -> socket:[13]\n7 -> pipe:[314]\n8 -> /tmp/fifo\n"
	lsof := func(names ...string) string {
		out := listing
		for i, name := range names {
			out += fmt.Sprintf("app      100 root  %3du  IPv4  %d      0t0  TCP %s\n", 3+i, 11+i, name)
		}
		return out
	}
	for _, tt := range []struct {
		name  string
		files map[string]string
		want  []string
	}{
		{"links and tables", map[string]string{"fd.txt": links, "net_tcp": table},
			[]string{"tcp :80> LISTEN 11", "tcp 127.0.0.1:80>127.0.0.1:40000 ESTABLISHED 12", "tcp 127.0.0.1:40001>127.0.0.1:5432 CLOSE_WAIT 13", "pipe > 314", "foreign tcp 127.0.0.1:5432> LISTEN 99"}},
		{"a listing alone", map[string]string{"lsof.txt": lsof("*:80 (LISTEN)", "[::ffff:10.0.0.1]:80->[::ffff:10.0.0.2]:40000 (ESTABLISHED)", "app:80->db:5432 (ESTABLISHED)")},
			[]string{"tcp :80> LISTEN 11", "tcp 10.0.0.1:80>10.0.0.2:40000 ESTABLISHED 12"}},
		{"a connection that only the links show", map[string]string{"fd.txt": links, "net_tcp": table, "lsof.txt": lsof("*:80 (LISTEN)", "127.0.0.1:80->127.0.0.1:40000 (ESTABLISHED)")},
			[]string{"tcp :80> LISTEN 11", "tcp 127.0.0.1:80>127.0.0.1:40000 ESTABLISHED 12", "foreign tcp 127.0.0.1:5432> LISTEN 99"}},
		{"an excerpt of a listing", map[string]string{"fd.txt": links, "net_tcp": table, "lsof.txt": lsof("*:80 (LISTEN)")},
			[]string{"tcp :80> LISTEN 11", "tcp 127.0.0.1:80>127.0.0.1:40000 ESTABLISHED 12", "tcp 127.0.0.1:40001>127.0.0.1:5432 CLOSE_WAIT 13", "foreign tcp 127.0.0.1:5432> LISTEN 99"}},
		{"tables of another namespace", map[string]string{"fd.txt": links, "net_tcp": header + row(db, "00000000:0000", "0A", 99), "lsof.txt": lsof("*:80 (LISTEN)")},
			[]string{"tcp :80> LISTEN 11", "foreign tcp 127.0.0.1:5432> LISTEN 99"}},
		{"links without tables", map[string]string{"fd.txt": "3 -> socket:[11]\n4 -> socket:[12]\n"}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var inputs []bundle.Input
			for name, text := range tt.files {
				inputs = append(inputs, bundle.Input{Name: "t0/app/" + name, Size: int64(len(text)), Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }})
			}
			result, err := Run(t.Context(), Config{Bundle: bundle.Config{TempDir: t.TempDir()}}, inputs)
			if err != nil || len(result.Snapshots) != 1 {
				t.Fatalf("%d snapshots, %v", len(result.Snapshots), err)
			}
			var got []string
			for c := range result.Snapshots[0].Sockets.All() {
				got = append(got, wordsOf(c))
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
}

// wordsOf writes a connection: an end without an address as its port.
func wordsOf(c analysis.Connection) string {
	end := func(text string) string {
		return strings.TrimPrefix(strings.TrimPrefix(text, "invalid AddrPort"), "invalid IP")
	}
	local, remote := end(c.Local.String()), end(c.Remote.String())
	if !c.Local.Addr().IsValid() && c.Local.Port() > 0 {
		local = fmt.Sprintf(":%d", c.Local.Port())
	}
	words := fmt.Sprintf("%s %s>%s %s %d", c.Protocol, local, remote, c.State, c.Inode)
	if c.Foreign {
		words = "foreign " + words
	}
	return strings.ReplaceAll(words, "  ", " ")
}
