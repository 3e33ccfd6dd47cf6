package access

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"leakdiff/analysis/expression"
	"leakdiff/server/response"
	"leakdiff/store"
)

// Actions returns what the audit log records.
func Actions() []string {
	return []string{Upload, Edit, Share, Extend, Withdraw, Delete, Login, Logout, Refuse, MakeToken, RevokeToken}
}

// The actions of the audit log.
const (
	Upload      = "upload"
	Edit        = "edit"
	Share       = "share"
	Extend      = "extend"
	Withdraw    = "withdraw"
	Delete      = "delete"
	Login       = "login"
	Logout      = "logout"
	Refuse      = "refuse"
	MakeToken   = "make token"
	RevokeToken = "revoke token"
)

// deed is what a request does, for the audit log. Handlers add to it.
type deed struct {
	account  string
	owner    bool
	subjects []string
}

type deedKey struct{}

// Watched lets handlers say what a request does.
func Watched(r *http.Request) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), deedKey{}, new(deed)))
}

func deedOf(r *http.Request) *deed {
	if d, ok := r.Context().Value(deedKey{}).(*deed); ok {
		return d
	}
	return new(deed)
}

// harmless is what an id may look like. Anything else was made up by the sender.
var harmless = expression.Lazy(`^[a-zA-Z0-9:_.-]{1,80}$`)

// About adds what a request is about: "case", "c123".
func About(r *http.Request, kind, id string) {
	d := deedOf(r)
	if subject := kind + " " + id; harmless.MatchString(id) && !slices.Contains(d.subjects, subject) {
		d.subjects = append(d.subjects, subject)
	}
}

// shownOfResult is how much of the id of a frozen result is logged. Whoever knows the whole
// id may read it.
const shownOfResult = 8

// ResultName returns the part of the id of a frozen result that logs may show, or "".
func ResultName(id string) string {
	if len(id) <= shownOfResult || !harmless.MatchString(id) {
		return ""
	}
	return id[:shownOfResult]
}

// AboutResult adds the frozen result that a request is about.
func AboutResult(r *http.Request, id string) {
	if name := ResultName(id); name != "" {
		About(r, "result", name)
	}
}

// Name says whose proof a request shows, whatever becomes of it.
func Name(r *http.Request, account string) { deedOf(r).account = account }

// byOwner says that the owner key allowed a request.
func byOwner(r *http.Request) { deedOf(r).owner = true }

// Audit records what a request did and the status of its answer. Refused requests are
// recorded as long as there are few.
func (a *Access) Audit(r *http.Request, action, route string, status int) {
	sender := a.Sender(r)
	if status >= 400 && !a.refused.take(sender, a.now()) {
		return
	}
	d, who := deedOf(r), Of(r.Context())
	e := store.AuditEntry{
		Account: cmp.Or(who.Account, d.account, a.unnamed(who)), Role: who.Role.String(), Action: action, Subject: strings.Join(d.subjects, ", "),
		Route: route, Status: status, Sender: sender, Request: response.RequestID(r),
	}
	if d.owner {
		e.Role = OwnerRole
	}
	if err := a.accounts.Audit(context.WithoutCancel(r.Context()), e); err != nil {
		a.log.Error("the audit log was not written", "action", action, "request", e.Request, "error", err)
	}
}

// unnamed returns how somebody without an account was admitted.
func (a *Access) unnamed(who Identity) string {
	if who.Role == Nobody {
		return "nobody"
	}
	return string(a.cfg.Mode)
}

// Bounds of refusals in the audit log in one minute, for one sender and for all: whoever
// fills it must not push out what was done.
const (
	refusalsOfOne = 10
	refusalsOfAll = 60
)

// budget counts refusals of one minute.
type budget struct {
	mu     sync.Mutex
	minute time.Time
	all    int
	of     map[string]int
}

func (b *budget) take(sender string, now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if minute := now.Truncate(time.Minute); !minute.Equal(b.minute) {
		b.minute, b.all, b.of = minute, 0, map[string]int{}
	}
	if b.all >= refusalsOfAll || b.of[sender] >= refusalsOfOne {
		return false
	}
	b.all++
	b.of[sender]++
	return true
}
