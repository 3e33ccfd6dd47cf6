package analysis

import (
	"net/netip"
	"slices"
	"testing"
)

func TestConnectionsArePackedAsTheyAre(t *testing.T) {
	want := []Connection{
		{Protocol: "tcp", Local: netip.MustParseAddrPort("10.0.0.1:40000"), Remote: netip.MustParseAddrPort("10.0.0.2:443"), State: "CLOSE_WAIT", Inode: 1 << 40},
		{Protocol: "tcp", Local: netip.AddrPortFrom(netip.Addr{}, 80), State: "LISTEN", Inode: 7, Foreign: true},
		{Protocol: "udp", Local: netip.MustParseAddrPort("[2001:db8::1]:53"), Remote: netip.MustParseAddrPort("10.0.0.2:53")},
		{Protocol: "pipe", Inode: 314757},
	}
	s := NewSockets(want)
	var again Sockets
	again.SetData(s.Len(), s.Data())
	if got := slices.Collect(again.All()); !slices.Equal(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
	mapped := netip.MustParseAddrPort("[::ffff:10.0.0.1]:1")
	if got := slices.Collect(NewSockets([]Connection{{Protocol: "tcp", Local: mapped}}).All())[0].Local.String(); got != "10.0.0.1:1" {
		t.Errorf("the mapped address is %s", got)
	}
	for cut := range s.Data() {
		var short Sockets
		short.SetData(s.Len(), s.Data()[:cut])
		if n := len(slices.Collect(short.All())); n > len(want) {
			t.Errorf("%d rows of %d bytes", n, cut)
		}
	}
}
