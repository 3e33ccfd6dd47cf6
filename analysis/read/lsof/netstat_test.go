package lsof

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"leakdiff/analysis"
)

// macOS26 has the sections and widths of netstat -anv of macOS (protopr in inet.c,
// print_socket_stats_format in main.c, systm.c and vsock.c of netstat.tproj in
// apple-oss-distributions/network_cmds): 6 Internet, 2 unix, 1 vsock, 2 kernel control
// and 1 kernel event sockets. The modules are no sockets. One row is in TIME_WAIT.
const macOS26 = `Active Internet connections (including servers)
Proto Recv-Q Send-Q  Local Address          Foreign Address        (state)          rxbytes      txbytes  rhiwat  shiwat          process:pid    state  options           gencnt    flags   flags1 usecnt rtncnt fltrs
tcp4       0      0  127.0.0.1.9443         127.0.0.1.64000        ESTABLISHED         4606      3816077  406208  146988           agentd:611    00102 0000000c 000000001b0838b0 00000080 01000800      2      0 000000
tcp4       0      0  127.0.0.1.64000        127.0.0.1.9443         CLOSE_WAIT       8237954         2199  513160  146988 Sample Client He:712    00102 00000008 000000001b0838b1 00000080 01000800      2      0 000000
tcp4       0      0  127.0.0.1.64001        127.0.0.1.9443         TIME_WAIT              0            0  513160  146988 Sample Client He:712    00102 00000008 000000001b0838b2 00000080 01000800      2      0 000000
tcp6       0      0  fd00:1700:5610:3.50624 fd00:1900:4110:8.80    SYN_SENT               0            0  131072  131072                 :611    00104 00000008 000000001b0838b3 00000080 01000800      2      0 000000
udp4       0      0  *.5353                 *.*                                           0            0  786896    9216           agentd:611    00100 00000000 0000000000001319 00000000 00000800      1      0 000000
icm4       0      0  *.*                    *.*                                           0            0    8192    8192                 :0      00180 00000000 000000000000131a 00000000 00000800      1      0 000000
Active Multipath Internet connections
Proto/ID  Flags      Local Address          Foreign Address        (state)    
mptcp/00  00000000/00000000                                        MPTCPS_ESTABLISHED 
Active LOCAL (UNIX) domain sockets
Address          Type   Recv-Q Send-Q            Inode             Conn             Refs          Nextref Addr
7fb03cb94a630001 stream      0      0                0 7fb03cb94a630002                0                0 /var/run/agentd.sock
7fb03cb94a630002 dgram       0      0                0                0                0                0
Active VSock sockets
Proto  Type   Recv-Q Send-Q Local Address      Foreign Address    (state)     
vsock  stream      0      0 2:1024             *:*                LISTEN     
Registered kernel control modules
id       flags    pcbcount rcvbuf   sndbuf   name 
       1        9        0   131072   131072 com.example.flow 
       2        5        2    65536    65536 com.example.stats 
Active kernel event sockets
Proto Recv-Q Send-Q vendor  class  subcl
kevt       0      0      1      1     11
Active kernel control sockets
Proto Recv-Q Send-Q   unit     id name
kctl       0      0      1      2 com.example.stats
kctl       0      0      2      2 com.example.stats
`

func TestNetstatOfMacOS(t *testing.T) {
	sum, rows := cleanTable(t, []byte(macOS26))
	want := map[string]int{"tcp": 3, "tcp6": 1, "udp": 1, "raw": 1, "unix": 2, "vsock": 1, "kctl": 2, "kevt": 1}
	if diff := cmp.Diff(want, sum.Protocols); diff != "" || sum.Rows != 12 || sum.NoDescriptor != 1 {
		t.Errorf("%d rows, %d without a descriptor (-want +got):\n%s", sum.Rows, sum.NoDescriptor, diff)
	}
	owned := OwnedDescriptors(rows)
	var names []string
	for _, pid := range []int{611, 712} {
		for _, d := range owned[pid] {
			names = append(names, d.Name)
		}
	}
	ends := []string{
		"127.0.0.1:9443->127.0.0.1:64000 (ESTABLISHED)", "[fd00:1700:5610:3]:50624->[fd00:1900:4110:8]:80 (SYN_SENT)", "*:5353",
		"127.0.0.1:64000->127.0.0.1:9443 (CLOSE_WAIT)",
	}
	if diff := cmp.Diff(ends, names); diff != "" || len(owned) != 2 {
		t.Errorf("%d processes (-want +got):\n%s", len(owned), diff)
	}
	if o := rows[1].Owners; len(o) != 1 || o[0] != (analysis.Owner{Program: "Sample Client He", PID: 712, FD: -1}) {
		t.Errorf("got %+v", o)
	}
}

// TestNetstatOfBSD in the layouts of netstat -an and -Aan of FreeBSD 12 and -Abn of
// macOS 10.14, as in tests/fixtures/freebsd12/netstat-an.out, netstat-AanP.out and
// tests/fixtures/osx-10.14.6/netstat-Abn.out of kellyjonbrazil/jc.
func TestNetstatOfBSD(t *testing.T) {
	for name, tt := range map[string]struct {
		in   string
		want map[string]int
		last analysis.Socket
	}{
		"FreeBSD -an": {`Active Internet connections (including servers)
Proto Recv-Q Send-Q Local Address          Foreign Address        (state)    
tcp4       0      0 192.0.2.3.22           192.0.2.1.64330        ESTABLISHED
tcp6       0      0 *.22                   *.*                    LISTEN     
udp4       0      0 *.514                  *.*                    
Active UNIX domain sockets
Address          Type   Recv-Q Send-Q            Inode             Conn             Refs          Nextref Addr
fffff80003ab6200 stream      0      0                0 fffff80003ab6100                0                0
fffff80003ab6e00 seqpac      0      0 fffff80003c58000                0                0                0 /var/run/agentd.pipe
`, map[string]int{"tcp": 1, "tcp6": 1, "udp": 1, "unix": 2}, analysis.Socket{Protocol: "unix", State: "UNCONNECTED", Local: "/var/run/agentd.pipe", Inode: 0xfffff80003ab6e00}},
		"FreeBSD -Aan": {`Active Internet connections (including servers)
Tcpcb            Proto Recv-Q Send-Q Local Address      Foreign Address    (state)     
fffff80003df43d0 tcp4       0      0 192.0.2.3.22       192.0.2.1.64330    CLOSE_WAIT 
`, map[string]int{"tcp": 1}, analysis.Socket{Protocol: "tcp", State: "CLOSE_WAIT", Local: "192.0.2.3:22", Remote: "192.0.2.1:64330"}},
		"macOS -Abn": {`Active Internet connections
Socket           Flowhash Proto Recv-Q Send-Q  Local Address      Foreign Address    (state)        rxbytes    txbytes
7fb03cb94d505aed cedd0cbf tcp4       0      0  192.0.2.221.5486   198.51.100.26.443  ESTABLISHED       4958       3996
7fb03cb95fad8165  6a3d6e4 tcp4      31      0  192.0.2.221.5450   198.51.100.26.80   CLOSE_WAIT        1910       2803
`, map[string]int{"tcp": 2}, analysis.Socket{Protocol: "tcp", State: "CLOSE_WAIT", Local: "192.0.2.221:5450", Remote: "198.51.100.26:80"}},
	} {
		sum, rows := cleanTable(t, []byte(tt.in))
		if diff := cmp.Diff(tt.want, sum.Protocols); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
			continue
		}
		if diff := cmp.Diff(tt.last, rows[len(rows)-1]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestNetstatRowsOfRawAndLiteSocketsHaveTheirOwners(t *testing.T) {
	sum, rows := cleanTable(t, []byte(`Active Internet connections (only servers)
Proto Recv-Q Send-Q Local Address           Foreign Address         State       PID/Program name
tcp        0      0 0.0.0.0:22              0.0.0.0:*               LISTEN      865/pinger
raw        0      0 0.0.0.0:1               0.0.0.0:*               7           865/pinger
raw6       0      0 :::58                   :::*                    7           865/pinger
udpl       0      0 0.0.0.0:7000            0.0.0.0:*                           865/pinger
udpl6      0      0 :::7000                 :::*                                865/pinger
`))
	if diff := cmp.Diff(map[string]int{"tcp": 1, "raw": 2, "udplite": 2}, sum.Protocols); diff != "" {
		t.Errorf("protocols (-want +got):\n%s", diff)
	}
	if got := len(OwnedDescriptors(rows)[865]); got != 5 || sum.Unowned != 0 {
		t.Errorf("%d sockets of the process and %d of nobody, want 5 and 0", got, sum.Unowned)
	}
}
