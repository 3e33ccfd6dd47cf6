package access

import (
	"context"
	"net/http"
	"strings"

	"leakdiff/web"
)

// Role is what somebody may do. Each role includes those before it.
type Role int

const (
	// Nobody is not admitted.
	Nobody Role = iota
	// Reader reads everything.
	Reader
	// Uploader adds cases, shares, and changes the cases that it owns.
	Uploader
	// Admin changes and deletes everything.
	Admin
)

var roleNames = [...]string{Nobody: "", Reader: "read", Uploader: "upload", Admin: "admin"}

func (r Role) String() string { return roleNames[r] }

// RoleNamed returns the role with a name: read, upload or admin.
func RoleNamed(name string) (Role, bool) {
	for r := Reader; r <= Admin; r++ {
		if roleNames[r] == name {
			return r, true
		}
	}
	return Nobody, false
}

// Identity is who sends a request.
type Identity struct {
	// Account is "user alice" or "token ci", "" for those who are admitted without a name.
	Account string
	Role    Role
	// Session is true if the browser signed in with a password, and may sign out.
	Session bool
}

// The kinds of accounts, before their names.
const (
	userKind  = "user "
	tokenKind = "token "
)

// Name is the account for people: "alice", "token ci".
func (i Identity) Name() string { return strings.TrimPrefix(i.Account, userKind) }

type identityKey struct{}

// As sets who sends a request, for handlers and for pages.
func As(r *http.Request, who Identity) *http.Request {
	ctx := context.WithValue(r.Context(), identityKey{}, who)
	return r.WithContext(web.For(ctx, web.Account{
		Name: who.Name(), Role: who.Role.String(), SignsOut: who.Session,
		ReadOnly: who.Role < Uploader,
	}))
}

// Of returns who sends a request.
func Of(ctx context.Context) Identity {
	who, _ := ctx.Value(identityKey{}).(Identity)
	return who
}
