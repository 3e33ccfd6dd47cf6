package family

import (
	"net"
	"net/netip"
	"strconv"
	"strings"

	"leakdiff/analysis"
)

// The range of local ports on Linux (net.ipv4.ip_local_port_range).
const firstEphemeral, lastEphemeral = 32768, 60999

// endpoint is one end of an Internet socket in the form that every listing
// agrees on.
type endpoint struct {
	// host is an address, "*" for all of them, or a name as printed.
	host string
	// port is a number or a service name as printed; "" if there is none.
	port string
}

// parseEndpoint reads host and port.
//
//	"[::ffff:10.0.0.1]:443" = 10.0.0.1, 443
//	"0.0.0.0:80", "*:http"  = *, 80 and *, http
func parseEndpoint(text string) endpoint {
	text = strings.TrimSpace(text)
	at := strings.LastIndexByte(text, ':')
	if at < 0 {
		return endpoint{host: canonicalHost(text)}
	}
	e := endpoint{host: canonicalHost(text[:at]), port: text[at+1:]}
	if e.port == "*" || e.port == "0" {
		e.port = ""
	}
	return e
}

// canonicalHost is the host that every listing agrees on. ss prints the interface
// that an IPv4 socket is bound to, which no other does.
//
//	"[::ffff:10.0.0.1]" = "10.0.0.1"   "127.0.0.53%lo" = "127.0.0.53"   "[::]" = "*"
func canonicalHost(host string) string {
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if address, _, zone := strings.Cut(host, "%"); zone && !strings.Contains(address, ":") {
		host = address
	}
	switch host {
	case "localhost", "localhost.localdomain":
		// lsof without -n, beside another listing with it.
		return "127.0.0.1"
	case "ip6-localhost", "localhost6":
		return "::1"
	}
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return host
	}
	addr = addr.Unmap()
	if addr.IsUnspecified() {
		return "*"
	}
	return addr.String()
}

func (e endpoint) String() string {
	if e.port == "" {
		return e.host
	}
	return net.JoinHostPort(e.host, e.port)
}

// known reports whether the other end of a connection was named.
func (e endpoint) known() bool { return e.port != "" || e.host != "" && e.host != "*" }

// number is the port, 0 if it was printed as a service name: services have
// small ports.
func (e endpoint) number() int {
	n, err := strconv.Atoi(e.port)
	if err != nil {
		return 0
	}
	return n
}

func (e endpoint) ephemeral() bool {
	n := e.number()
	return n >= firstEphemeral && n <= lastEphemeral
}

// connection is an Internet socket.
type connection struct {
	protocol      string
	local, remote endpoint
	state         string
}

// connectionOf reads the Internet socket of a descriptor; it returns false for other
// descriptors and for sockets whose ends were not listed. Descriptor.Idle is no part of
// it: whether a pool waits for a socket differs from one moment to the next.
func connectionOf(d analysis.Descriptor) (connection, bool) {
	protocol := internetProtocol(d)
	if protocol == "" || !hasEnds(&d) {
		return connection{}, false
	}
	c := connection{protocol: protocol, local: parseEndpoint(d.Local), state: socketState(d.State)}
	if d.Remote != "" {
		c.remote = parseEndpoint(d.Remote)
	}
	if protocol == "UDP" || protocol == "UDPLITE" {
		c.state = "" // lsof prints none
	}
	return c, true
}

func hasEnds(d *analysis.Descriptor) bool { return d.Local != "" || d.Remote != "" }

// internetProtocol is TCP, UDP, ... or empty; IPv6 makes no other family, since
// one listener serves both.
func internetProtocol(d analysis.Descriptor) string {
	protocol := strings.ToUpper(d.Protocol)
	if protocol == "" {
		protocol = strings.ToUpper(d.Type)
	}
	protocol = strings.TrimSuffix(strings.TrimSuffix(protocol, "V6"), "6")
	switch protocol {
	case "TCP", "UDP", "UDPLITE", "SCTP", "DCCP", "MPTCP":
		return protocol
	case "IPV4", "IP":
		// A field listing without protocols knows the ends all the same.
		return "IP"
	}
	return ""
}

// socketState returns the canonical name of a socket state of lsof, ss, netstat or
// /proc/net. UDP's "unconnected" is no state.
//
//	"CLOSE-WAIT" = "CLOSE_WAIT", "ESTAB" = "ESTABLISHED", "UNCONN" = ""
func socketState(raw string) string {
	state := strings.ToUpper(strings.Trim(raw, " ()"))
	state = strings.ReplaceAll(state, "-", "_")
	switch state {
	case "ESTAB":
		return "ESTABLISHED"
	case "FIN_WAIT_1", "FIN_WAIT_2":
		return strings.Replace(state, "WAIT_", "WAIT", 1)
	case "SYN_RCVD", "SYN_RECEIVED":
		return "SYN_RECV"
	case "CLOSED":
		return "CLOSE"
	case "UNCONN", "UNCONNECTED":
		return ""
	}
	return state
}

// Sockets relates the sockets of one snapshot: which local ports are in LISTEN, and
// which ends many connections share.
type Sockets struct {
	// ports holds "TCP 443" for every local port in LISTEN, ends the same with
	// the address; a listener on all addresses has the host "*".
	ports, ends map[string]bool
	// near and far count the sockets that have an end as their local or remote
	// one.
	near, far map[string]int
	known     *Known
}

// NewSockets indexes the descriptors of one snapshot; others than sockets do no
// harm.
func NewSockets(all []analysis.Descriptor) *Sockets {
	s := &Sockets{ports: map[string]bool{}, ends: map[string]bool{}, near: map[string]int{}, far: map[string]int{}}
	for i := range all {
		s.Add(&all[i])
	}
	return s
}

// Add indexes one more descriptor of the snapshot.
func (s *Sockets) Add(d *analysis.Descriptor) {
	if !hasEnds(d) {
		return
	}
	c, ok := connectionOf(*d)
	if !ok {
		return
	}
	if c.state == "LISTEN" {
		s.ports[c.protocol+" "+c.local.port] = true
		s.ends[c.protocol+" "+c.local.String()] = true
	}
	if c.remote.known() {
		s.near[c.protocol+" "+c.local.String()]++
		s.far[c.protocol+" "+c.remote.String()]++
	}
}

// The roles of a socket.
const (
	roleListen = "listen"
	roleClient = "client"
	roleServer = "server"
	// A socket that names no other end and does not listen: bound TCP sockets,
	// most UDP ones.
	roleBound = "bound"
)

// role returns which side of a connection its service is. If ports alone would decide
// between two of one range, an end that several connections share is the service:
// clients never share theirs.
func (s *Sockets) role(c connection) string {
	switch {
	case c.state == "LISTEN":
		return roleListen
	case !c.remote.known():
		return roleBound
	case s.ports[c.protocol+" "+c.local.port]:
		return roleServer
	case s.listens(c.protocol, c.remote, c.local):
		return roleClient
	case c.local.ephemeral() && !c.remote.ephemeral():
		return roleClient
	}
	near, far := s.near[c.protocol+" "+c.local.String()], s.far[c.protocol+" "+c.remote.String()]
	if near > far || near == far && c.local.number() < c.remote.number() {
		return roleServer
	}
	return roleClient
}

// listens reports whether a remote end is a listener of this snapshot: one at the same
// address, or one at the same port on all addresses if both ends are on one host.
func (s *Sockets) listens(protocol string, remote, local endpoint) bool {
	if s.ends[protocol+" "+remote.String()] {
		return true
	}
	addr, err := netip.ParseAddr(remote.host)
	here := remote.host == local.host || err == nil && addr.IsLoopback()
	return here && s.ends[protocol+" "+endpoint{host: "*", port: remote.port}.String()]
}

// ofConnection keys an Internet socket by its role: what differs between the
// connections of one service, the ephemeral port, is left out.
func (s *Sockets) ofConnection(c connection) *analysis.Family {
	role := s.role(c)
	var local, remote string
	switch role {
	case roleListen:
		local = c.local.String()
	case roleBound:
		if c.local.ephemeral() {
			c.local.port = ""
		}
		local = c.local.String()
	case roleClient:
		remote = c.remote.String()
	default:
		local, remote = c.local.String(), c.remote.host
	}
	return s.known.connection([5]string{c.protocol, role, local, remote, c.state}, func() *analysis.Family {
		return connectionFamily(c.protocol, role, local, remote, c.state)
	})
}

func connectionFamily(protocol, role, local, remote, state string) *analysis.Family {
	a := map[string]string{"type": strings.ToLower(protocol), "protocol": protocol, "role": role}
	var title string
	switch role {
	case roleListen:
		a["type"] = listener
		title = protocol + " listener on " + local
	case roleBound:
		title = protocol + " socket bound to " + local
	case roleClient:
		title = protocol + " client to " + remote
	default:
		title = protocol + " server on " + local + " for " + remote
	}
	f := &analysis.Family{
		Fingerprint: digest("d", key("d", "socket", protocol, role, local, remote, state)),
		Kind:        analysis.KindDescriptor, Title: title, Entry: title, Attributes: a,
	}
	for name, value := range map[string]string{"local": local, "remote": remote, "state": state} {
		if value != "" {
			a[name] = value
		}
	}
	if state != "" && role != roleListen {
		f.Title += ", " + state
	}
	return f
}
