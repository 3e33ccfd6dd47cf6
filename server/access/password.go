package access

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/argon2"

	"leakdiff/analysis"
)

// The cost of a new hash. Memory is in KiB.
const (
	hashMemory  = 19 << 10
	hashTime    = 2
	hashThreads = 1
	hashSalt    = 16
	hashLength  = 32
)

// Bounds of a hash in a password file. One is computed at a time.
const (
	mostMemory  = 64 << 10
	mostTime    = 16
	mostThreads = 16
)

// longestPassword is in bytes.
const longestPassword = 1024

// phc is an argon2id hash with its parameters: $argon2id$v=19$m=19456,t=2,p=1$SALT$HASH.
type phc struct {
	memory, time uint32
	threads      uint8
	salt, hash   []byte
}

func parsePHC(text string) (h phc, ok bool) {
	parts := strings.Split(text, "$")
	if len(parts) != 6 || parts[0] != "" || parts[1] != "argon2id" || parts[2] != fmt.Sprintf("v=%d", argon2.Version) {
		return h, false
	}
	if n, err := fmt.Sscanf(parts[3]+"|", "m=%d,t=%d,p=%d|", &h.memory, &h.time, &h.threads); n != 3 || err != nil {
		return h, false
	}
	var saltErr, hashErr error
	h.salt, saltErr = base64.RawStdEncoding.DecodeString(parts[4])
	h.hash, hashErr = base64.RawStdEncoding.DecodeString(parts[5])
	bounded := h.time >= 1 && h.time <= mostTime && h.threads >= 1 && h.threads <= mostThreads && h.memory >= 8*uint32(h.threads) && h.memory <= mostMemory
	return h, saltErr == nil && hashErr == nil && bounded && len(h.salt) >= 8 && len(h.hash) >= 16 && len(h.hash) <= 64
}

func (h phc) fits(password string) bool {
	got := argon2.IDKey([]byte(password), h.salt, h.time, h.memory, h.threads, uint32(len(h.hash)))
	return subtle.ConstantTimeCompare(got, h.hash) == 1
}

// HashPassword returns the argon2id hash of a password as a password file has it.
func HashPassword(password string) string {
	salt := make([]byte, hashSalt)
	rand.Read(salt)
	hash := argon2.IDKey([]byte(password), salt, hashTime, hashMemory, hashThreads, hashLength)
	encode := base64.RawStdEncoding.EncodeToString
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, hashMemory, hashTime, hashThreads, encode(salt), encode(hash))
}

// PasswordLine is a line of a password file. The error is an *analysis.Fault "invalid" for a
// name or a password that a file cannot have.
func PasswordLine(user string, role Role, password string) (string, error) {
	if !userName(user) {
		return "", &analysis.Fault{Code: "invalid", What: "the name of the user is not valid", Where: user, Why: fmt.Sprintf("it is empty, has more than %d bytes, a colon, or characters that cannot be printed", longestUser), Hint: "use a short name such as alice"}
	}
	if len(password) < 8 || len(password) > longestPassword {
		return "", &analysis.Fault{Code: "invalid", What: "the password is too short or too long", Why: fmt.Sprintf("a password has 8 to %d bytes", longestPassword), Hint: "choose another"}
	}
	return user + ":" + role.String() + ":" + HashPassword(password), nil
}

func userName(name string) bool {
	return name != "" && !strings.ContainsAny(name, ":#") && strings.TrimSpace(name) == name && plainName(name)
}

// user is one line of a password file.
type user struct {
	role Role
	hash phc
	// stamp changes with the line's hash.
	stamp []byte
}

// Passwords are the accounts of a password file, which has lines user:role:hash. A changed
// file counts at once.
type Passwords struct {
	path string
	log  *slog.Logger

	mu    sync.Mutex
	state os.FileInfo
	users map[string]user
	// broken is why the file could not be read last, "" if it could.
	broken string
	// decoy is compared for unknown users, so that they take the time of known ones.
	decoy phc
	// hashing admits one hash at a time: each takes up to 64 MiB.
	hashing chan struct{}
}

// ReadPasswords reads a password file. The error is an *analysis.Fault that names the line.
func ReadPasswords(path string, log *slog.Logger) (*Passwords, error) {
	p := &Passwords{path: path, log: log, hashing: make(chan struct{}, 1)}
	return p, p.read()
}

func (p *Passwords) read() error {
	state, err := os.Stat(p.path)
	if err == nil && p.state != nil && state.ModTime().Equal(p.state.ModTime()) && state.Size() == p.state.Size() {
		return nil
	}
	var text []byte
	if err == nil {
		text, err = os.ReadFile(p.path)
	}
	if err != nil {
		return &analysis.Fault{Code: "unreadable", What: "the password file cannot be read", Where: p.path, Why: err.Error(), Hint: "leakdiff password makes its lines", Err: err}
	}
	users, decoy, err := parseUsers(text)
	if err != nil {
		err.(*analysis.Fault).Where = p.path + ", " + err.(*analysis.Fault).Where
		return err
	}
	p.users, p.decoy, p.state = users, decoy, state
	return nil
}

func parseUsers(text []byte) (users map[string]user, decoy phc, err error) {
	users = map[string]user{}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		refuse := func(why string) (map[string]user, phc, error) {
			return nil, decoy, &analysis.Fault{Code: "invalid", What: "a line of the password file was not understood", Where: fmt.Sprintf("line %d", n), Why: why, Hint: "a line is user:role:hash; leakdiff password makes one"}
		}
		parts := strings.SplitN(line, ":", 3)
		if len(parts) != 3 || !userName(parts[0]) {
			return refuse("it has no user, role and hash, separated by colons")
		}
		role, known := RoleNamed(parts[1])
		if !known {
			return refuse("the role is none of read, upload and admin")
		}
		hash, ok := parsePHC(parts[2])
		if !ok {
			return refuse(fmt.Sprintf("the hash is none of argon2id in PHC format with at most m=%d, t=%d, p=%d", mostMemory, mostTime, mostThreads))
		}
		if _, twice := users[parts[0]]; twice {
			return refuse("the user has a line above")
		}
		stamp := sha256.Sum256([]byte(parts[2]))
		users[parts[0]] = user{role, hash, stamp[:]}
		decoy = hash
	}
	if err := lines.Err(); err != nil {
		return nil, decoy, &analysis.Fault{Code: "invalid", What: "the password file was not understood", Where: "its end", Why: err.Error(), Hint: "a line is user:role:hash"}
	}
	if len(users) == 0 {
		return nil, decoy, &analysis.Fault{Code: "invalid", What: "the password file has no user", Where: "no line", Why: "nobody could sign in", Hint: "leakdiff password makes a line"}
	}
	return users, decoy, nil
}

// user returns a line of the file as it is now. A file that became unreadable counts as it
// was.
func (p *Passwords) user(name string) (u user, decoy phc, known bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch err := p.read(); {
	case err == nil:
		p.broken = ""
	case err.Error() != p.broken:
		p.broken = err.Error()
		p.log.Error("the password file counts as it was before", "error", err)
	}
	u, known = p.users[name]
	return u, p.decoy, known
}

// check returns the stamp of a user whose password fits.
func (p *Passwords) check(ctx context.Context, name, password string) (stamp []byte, ok bool) {
	u, decoy, known := p.user(name)
	hash := decoy
	if known {
		hash = u.hash
	}
	select {
	case p.hashing <- struct{}{}:
		defer func() { <-p.hashing }()
	case <-ctx.Done():
		return nil, false
	}
	if len(password) > longestPassword || !hash.fits(password) || !known {
		return nil, false
	}
	return u.stamp, true
}

// sessionTime is how long a browser stays signed in.
const sessionTime = 7 * 24 * time.Hour
