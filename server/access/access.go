// Package access decides who may use the server, and who may change a case. It knows four
// modes: only this machine (loopback), accounts with passwords, accounts of a trusted proxy,
// and everybody (open). API tokens work in each. It shows nothing.
package access

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"leakdiff/server/response"
	"leakdiff/store"
)

// Owners checks the keys of case owners.
type Owners interface {
	CheckOwner(ctx context.Context, caseID, key string) (owns bool, err error)
}

// Accounts stores tokens, sessions, the accounts that made cases, and the audit log.
type Accounts interface {
	Token(ctx context.Context, secret string) (t store.Token, known bool, err error)
	Session(ctx context.Context, secret string) (account string, stamp []byte, known bool, err error)
	AddSession(ctx context.Context, account string, stamp []byte, until time.Time) (secret string, err error)
	EndSession(ctx context.Context, secret string) error
	CaseAccount(ctx context.Context, caseID string) (account string, err error)
	SetCaseAccount(ctx context.Context, caseID, account string) error
	Audit(ctx context.Context, e store.AuditEntry) error
}

// Mode is how people are admitted.
type Mode string

const (
	// OnLoopback admits every user of this machine, with every right.
	OnLoopback Mode = "loopback"
	// ByPassword admits the accounts of a password file.
	ByPassword Mode = "password"
	// ByProxy admits whom a trusted proxy names.
	ByProxy Mode = "proxy"
	// Open admits everybody. Changing a case needs its owner key.
	Open Mode = "open"
)

// Policy is what the operator decided. The zero value admits the users of this machine if
// the server listens on loopback, else it is open.
type Policy struct {
	Mode Mode
	// Passwords are the accounts of the mode ByPassword, and Proxy whom to believe in the
	// mode ByProxy.
	Passwords *Passwords
	Proxy     Proxy
	// Trusted are the proxies that may say from where a request comes, and in the mode
	// ByProxy from whom.
	Trusted []netip.Prefix
	// Secure says that browsers reach the server by https alone.
	Secure bool
}

// Config describes who can reach the server.
type Config struct {
	Policy
	Owners   Owners
	Accounts Accounts
	// Listen is the address of the server.
	Listen string
	Now    func() time.Time
	Log    *slog.Logger
}

type Access struct {
	cfg      Config
	owners   Owners
	accounts Accounts
	now      func() time.Time
	log      *slog.Logger
	refused  budget
}

func New(cfg Config) *Access {
	if cfg.Mode == "" {
		cfg.Mode = Open
		if Loopback(cfg.Listen) {
			cfg.Mode = OnLoopback
		}
	}
	return &Access{cfg: cfg, owners: cfg.Owners, accounts: cfg.Accounts, now: cfg.Now, log: cfg.Log}
}

// Mode returns how people are admitted.
func (a *Access) Mode() Mode { return a.cfg.Mode }

// Controlled reports whether people need an account.
func (a *Access) Controlled() bool { return a.cfg.Mode == ByPassword || a.cfg.Mode == ByProxy }

// Identify returns who sends a request, Nobody for a request without proof. The error is a
// fault "unauthorized" if the proof is not valid.
func (a *Access) Identify(r *http.Request) (Identity, error) {
	if secret, given := apiToken(r); given {
		return a.byToken(r, secret)
	}
	switch a.cfg.Mode {
	case OnLoopback:
		if header := forwardedBy(r); header != "" {
			return Identity{}, response.Refuse("unauthorized", "this server is for its own machine, and a proxy passed the request on", header, "everybody whom the proxy lets in would be admin", "start it with --access proxy, --access password or --access open")
		}
		return Identity{Role: Admin}, nil
	case Open:
		return Identity{Role: Uploader}, nil
	case ByProxy:
		return a.byProxy(r)
	}
	return a.bySession(r)
}

func (a *Access) byToken(r *http.Request, secret string) (Identity, error) {
	t, known, err := a.accounts.Token(r.Context(), secret)
	if err != nil {
		return Identity{}, err
	}
	role, _ := RoleNamed(t.Role)
	if known && t.Valid(a.now()) {
		return Identity{Account: tokenKind + t.Name, Role: role}, nil
	}
	why := "no token has this secret"
	switch {
	case known && !t.Revoked.IsZero():
		why = "it was revoked"
	case known:
		why = "it expired on " + t.Expires.Format(time.DateOnly)
	}
	if known {
		Name(r, tokenKind+t.Name)
	}
	return Identity{}, response.Refuse("unauthorized", "the API token is not valid", "Authorization", why, "ask the operator for another: leakdiff token create makes one")
}

// The roles of those who edit a case, for logs.
const (
	OwnerRole   = "owner"
	uploadRole  = "upload"
	accountRole = "account"
	AdminRole   = "admin"
)

// allowances explain the roles.
var allowances = map[string]string{OwnerRole: "owner key", uploadRole: "loopback, no key", accountRole: "account that made the case", AdminRole: "role admin"}

// By returns log fields that name the request and what allowed it; role is "" if everybody
// who sees the page may do it. The owner's key is never logged.
func (a *Access) By(r *http.Request, role string) []any {
	out := []any{"request", response.RequestID(r), "method", r.Method, "route", response.RouteOf(r), "remote", r.RemoteAddr}
	if allowed := allowances[role]; allowed != "" {
		out = append(out, "allowed_by", allowed)
	}
	if sender := a.Sender(r); !strings.HasPrefix(r.RemoteAddr, sender) {
		out = append(out, "sender", sender)
	}
	if account := Of(r.Context()).Account; account != "" {
		out = append(out, "account", account)
	}
	return out
}

// Edit returns the role of a request that changes a case: the owner, by the key in the
// header or the form or by the account that made the case, or an admin. If only this
// machine can reach the server, everybody is one.
func (a *Access) Edit(r *http.Request, caseID, formKey string) (role string, err error) {
	About(r, "case", caseID)
	key, given := OwnerKey(r)
	if !given && formKey != "" {
		key, given = formKey, true
	}
	if !given {
		if role, err := a.withoutKey(r.Context(), caseID); role != "" || err != nil {
			return role, err
		}
	}
	owns, err := a.owners.CheckOwner(r.Context(), caseID, key)
	if err != nil {
		return "", err
	}
	if !owns {
		why := "no key was sent"
		if given {
			why = "the key is wrong"
		}
		return "", response.Refuse("forbidden", "changing this case needs its owner key", "key", why, "it is the owner_key of the answer that created the case; scripts send it as "+a.keyHeader())
	}
	byOwner(r)
	return OwnerRole, nil
}

// keyHeader names the header of an owner key.
func (a *Access) keyHeader() string {
	if a.Controlled() {
		return "X-Owner-Key, beside the API token"
	}
	return "Authorization: Bearer"
}

// withoutKey returns the role of a request that may change a case without its key, "" for
// none.
func (a *Access) withoutKey(ctx context.Context, caseID string) (role string, err error) {
	who := Of(ctx)
	switch {
	case who.Role == Admin && who.Account == "":
		return uploadRole, nil
	case who.Role == Admin:
		return AdminRole, nil
	case who.Account == "" || caseID == "":
		return "", nil
	}
	made, err := a.accounts.CaseAccount(ctx, caseID)
	if err == nil && made == who.Account {
		role = accountRole
	}
	return role, err
}

// NeedsKey reports whether the sender needs the owner key to change a case. Without a case
// only admins need none.
func (a *Access) NeedsKey(ctx context.Context, caseID string) bool {
	role, err := a.withoutKey(ctx, caseID)
	return role == "" || err != nil
}

// Administers reports whether an account is admin. The users of this machine have no
// account.
func Administers(r *http.Request) bool {
	who := Of(r.Context())
	return who.Role == Admin && who.Account != ""
}

// Own makes the account of the sender the owner of a case that it just made.
func (a *Access) Own(r *http.Request, caseID string) {
	About(r, "case", caseID)
	account := Of(r.Context()).Account
	if account == "" {
		return
	}
	if err := a.accounts.SetCaseAccount(context.WithoutCancel(r.Context()), caseID, account); err != nil {
		a.log.Error("recording who made a case failed", "case", caseID, "error", err)
	}
}

// Loopback reports whether an address such as "127.0.0.1:8080" is reachable only from its
// own machine.
func Loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = address
	}
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// ownerHeader carries the owner key beside an API token.
const ownerHeader = "X-Owner-Key"

// OwnerKey returns the owner key that a script sends, in X-Owner-Key or as Authorization:
// Bearer.
func OwnerKey(r *http.Request) (string, bool) {
	if key := r.Header.Get(ownerHeader); key != "" {
		return key, true
	}
	key, given := bearer(r)
	return key, given && !strings.HasPrefix(key, store.TokenPrefix)
}

// apiToken returns the API token that a script sends.
func apiToken(r *http.Request) (string, bool) {
	secret, given := bearer(r)
	return secret, given && strings.HasPrefix(secret, store.TokenPrefix)
}

func bearer(r *http.Request) (string, bool) {
	return strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
}
