// Package access decides who may change a case: its owner by a key, or the users of the
// machine that the server runs on. It stores nothing and shows nothing.
package access

import (
	"context"
	"net"
	"net/http"
	"strings"

	"leakdiff/server/response"
)

// Owners checks the keys of case owners.
type Owners interface {
	CheckOwner(ctx context.Context, caseID, key string) bool
}

// Config describes who can reach the server.
type Config struct {
	Owners Owners
	// Listen is the address of the server.
	Listen string
	// Open is true if others than the users of this machine reach the server, whatever
	// Listen is.
	Open bool
}

type Access struct {
	owners Owners
	cfg    Config
}

func New(cfg Config) *Access { return &Access{owners: cfg.Owners, cfg: cfg} }

// By returns log fields that name the request and the role that allowed it. The owner's
// key is never logged.
func By(r *http.Request, role string) []any {
	allowed := "owner key"
	if role != ownerRole {
		allowed = "loopback, no key"
	}
	return []any{"request", response.RequestID(r), "method", r.Method, "route", response.RouteOf(r), "remote", r.RemoteAddr, "allowed_by", allowed}
}

// The roles of those who edit a case.
const (
	ownerRole  = "owner"
	uploadRole = "upload"
)

// Edit returns the role of a request that changes a case: the owner, by the key in the
// header or the form, or any uploader if only this machine can reach the server.
func (a *Access) Edit(r *http.Request, caseID, formKey string) (role string, err error) {
	key, given := Bearer(r)
	if !given && formKey != "" {
		key, given = formKey, true
	}
	if !given && a.Local() {
		return uploadRole, nil
	}
	if !a.owners.CheckOwner(r.Context(), caseID, key) {
		why := "no key was sent"
		if given {
			why = "the key is wrong"
		}
		return "", response.Refuse("forbidden", "changing this case needs its owner key", "key", why, "it is the owner_key of the answer that created the case; scripts send it as Authorization: Bearer")
	}
	return ownerRole, nil
}

// Local reports whether only this machine can reach the server.
func (a *Access) Local() bool { return !a.cfg.Open && Loopback(a.cfg.Listen) }

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

// Bearer returns the key that a script sends.
func Bearer(r *http.Request) (string, bool) {
	return strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
}
