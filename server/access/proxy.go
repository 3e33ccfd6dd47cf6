package access

import (
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-chi/httprate"

	"leakdiff/server/response"
)

// Proxy says whom a trusted proxy names.
type Proxy struct {
	// Header names the user, Groups their groups, separated by commas; "" for none.
	Header, Groups string
	// Roles are those of users, and of groups as "group:NAME". The highest counts.
	Roles map[string]Role
	// Default is the role of everybody else.
	Default Role
}

// GroupPrefix begins a group among the roles of a proxy.
const GroupPrefix = "group:"

// longestUser bounds the name of a user in bytes.
const longestUser = 200

// byProxy returns whom the proxy names. The header of anybody else counts for nothing.
func (a *Access) byProxy(r *http.Request) (Identity, error) {
	names := r.Header.Values(a.cfg.Proxy.Header)
	peer, ok := peerOf(r)
	switch {
	case len(names) == 0 || names[0] == "":
		return Identity{}, nil
	case !ok || !a.trusts(peer):
		return Identity{}, response.Refuse("unauthorized", "this sender may not say who a user is", a.cfg.Proxy.Header, "the request does not come from a trusted proxy", "open the address of the proxy; the operator names proxies with --trusted-proxy")
	case len(names) > 1:
		return Identity{}, response.Refuse("unauthorized", "the request names several users", a.cfg.Proxy.Header, fmt.Sprintf("the header came %d times", len(names)), "let the proxy remove the header of its clients")
	case !plainName(names[0]):
		return Identity{}, response.Refuse("unauthorized", "the name of the user is not valid", a.cfg.Proxy.Header, fmt.Sprintf("it has more than %d bytes, or characters that cannot be printed", longestUser), "let the proxy send another header")
	}
	return Identity{Account: userKind + names[0], Role: a.roleOf(names[0], r)}, nil
}

func (a *Access) roleOf(user string, r *http.Request) Role {
	role, named := a.cfg.Proxy.Roles[user]
	if !named || strings.HasPrefix(user, GroupPrefix) { // a user may have any name
		role = a.cfg.Proxy.Default
	}
	if a.cfg.Proxy.Groups == "" {
		return role
	}
	for _, list := range r.Header.Values(a.cfg.Proxy.Groups) {
		for group := range strings.SplitSeq(list, ",") {
			role = max(role, a.cfg.Proxy.Roles[GroupPrefix+strings.TrimSpace(group)])
		}
	}
	return role
}

func plainName(name string) bool {
	return len(name) <= longestUser && utf8.ValidString(name) && !strings.ContainsFunc(name, func(c rune) bool { return !unicode.IsPrint(c) })
}

// Sender is the address that a request comes from: that of the connection, or behind
// trusted proxies the last one in X-Forwarded-For that is none of them.
func (a *Access) Sender(r *http.Request) string {
	sender, ok := peerOf(r)
	if !ok {
		return r.RemoteAddr
	}
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for _, hop := range slices.Backward(hops) {
		if !a.trusts(sender) {
			break
		}
		next, err := netip.ParseAddr(strings.TrimSpace(hop))
		if err != nil {
			break
		}
		sender = next.Unmap().WithZone("")
	}
	return sender.String()
}

func (a *Access) trusts(peer netip.Addr) bool {
	return slices.ContainsFunc(a.cfg.Trusted, func(p netip.Prefix) bool { return p.Contains(peer) })
}

func peerOf(r *http.Request) (netip.Addr, bool) {
	at, err := netip.ParseAddrPort(r.RemoteAddr)
	return at.Addr().Unmap().WithZone(""), err == nil
}

// forwardedBy is the header by which a request shows that a proxy passed it on, "" for none.
func forwardedBy(r *http.Request) string {
	for _, name := range []string{"X-Forwarded-For", "Forwarded", "X-Real-Ip", "Via"} {
		if r.Header.Get(name) != "" {
			return name
		}
	}
	return ""
}

// Party returns who counts as one sender where senders get equal shares: an account, else the
// address.
func (a *Access) Party(r *http.Request) string {
	if account := Of(r.Context()).Account; account != "" {
		return account
	}
	return httprate.CanonicalizeIP(a.Sender(r))
}

// SenderKey is the sender for a limit of requests: a whole network of 64 bits in IPv6.
func (a *Access) SenderKey(r *http.Request) (string, error) {
	return httprate.CanonicalizeIP(a.Sender(r)), nil
}
