package store

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"leakdiff/analysis"
	"leakdiff/migrations"
)

// TokenPrefix begins every API token, and no owner key.
const TokenPrefix = "ld_"

// secretBytes is the length of tokens and of secrets of sessions: 256 random bits.
const secretBytes = 32

// Token is an API token without its secret.
type Token struct {
	Name, Role string
	Created    time.Time
	// Expires and Revoked are zero for never.
	Expires, Revoked time.Time
}

// Valid reports whether the token admits anybody at a time.
func (t Token) Valid(now time.Time) bool {
	return t.Revoked.IsZero() && (t.Expires.IsZero() || t.Expires.After(now))
}

// Accounts stores tokens, sessions and the audit log. A second program may write them while
// a server has the data directory: its transactions are short.
type Accounts struct {
	now    func() time.Time
	random io.Reader
	reader *sql.DB
	writer *sql.DB
}

// Accounts are those of the data directory.
func (s *Store) Accounts() *Accounts {
	return &Accounts{now: s.now, random: s.random, reader: s.reader, writer: s.writer}
}

// OpenAccounts opens tokens and the audit log of an existing data directory, also while a
// server has it. The error is an *analysis.Fault with Code "no_database" if no server has
// made the database yet, "older_database" or "newer_database" if this program cannot read it,
// and "unfinished_move" if a move has not completed it.
func OpenAccounts(ctx context.Context, dir string) (*Accounts, error) {
	file, err := filepath.Abs(filepath.Join(dir, databaseFile))
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(file); err != nil {
		return nil, &analysis.Fault{
			Code: "no_database", What: "this is no data directory of leakdiff", Where: dir, Why: "it has no " + databaseFile,
			Hint: "Name the directory of the server with --data, and start leakdiff serve on it once: it makes the database.", Err: err,
		}
	}
	if err := refuseOlder(dir); err != nil {
		return nil, err
	}
	if err := refuseDamagedLog(dir); err != nil {
		return nil, err
	}
	db, err := connect(file, 1, ofWriter)
	if err != nil {
		return nil, err
	}
	err = knownFile(ctx, db)
	if err == nil {
		err = wholeDatabase(ctx, db)
	}
	if err != nil {
		return nil, errors.Join(fault("opening the database", err), db.Close())
	}
	return &Accounts{now: time.Now, random: rand.Reader, reader: db, writer: db}, nil
}

// OpenAccountsOf is OpenAccounts for the PostgreSQL database of a server.
func OpenAccountsOf(ctx context.Context, database string) (*Accounts, error) {
	db, err := connectPostgres(database, 1, alongside, tokenProgram, slog.Default())
	if err != nil {
		return nil, err
	}
	empty, err := isEmpty(ctx, db)
	if err == nil && empty {
		err = noDatabaseThere()
	}
	if err == nil {
		err = knownPostgres(ctx, db)
	}
	if err == nil {
		err = wholeDatabase(ctx, db)
	}
	if err != nil {
		return nil, errors.Join(fault("opening the database", refusedConnection(database, err)), db.Close())
	}
	return &Accounts{now: time.Now, random: rand.Reader, reader: db, writer: db}, nil
}

func noDatabaseThere() error {
	return &analysis.Fault{
		Code: "no_database", What: "this is no database of leakdiff", Why: "it has no tables of it",
		Hint: "Name the database of the server with --database, and start leakdiff serve on it once: it makes the tables.",
	}
}

func knownFile(ctx context.Context, db *sql.DB) error {
	all, err := migrations.All()
	if err != nil {
		return err
	}
	var version int
	if err := db.QueryRowContext(ctx, `PRAGMA user_version`).Scan(&version); err != nil {
		return err
	}
	return knownVersion(version, all)
}

func knownPostgres(ctx context.Context, db *sql.DB) error {
	all, err := migrations.Postgres()
	if err != nil {
		return err
	}
	version, err := versionOf(ctx, db)
	if err != nil {
		return err
	}
	return knownVersion(version, all)
}

// wholeDatabase refuses a database that a move has not completed, as a server does.
func wholeDatabase(ctx context.Context, db *sql.DB) error {
	return (&Store{reader: db}).mayServe(ctx)
}

// Close releases the database of OpenAccounts.
func (a *Accounts) Close() error { return a.writer.Close() }

func (a *Accounts) time() time.Time { return a.now().UTC().Truncate(time.Microsecond) }

// write runs f in one durable transaction.
func (a *Accounts) write(ctx context.Context, what string, f func(*sql.Tx) error) error {
	tx, err := a.writer.BeginTx(ctx, nil)
	if err != nil {
		return fault(what, err)
	}
	defer tx.Rollback()
	if err := f(tx); err != nil {
		return fault(what, err)
	}
	return fault(what, tx.Commit())
}

// secret draws 256 random bits in the alphabet of URLs, 43 characters.
func (a *Accounts) secret() (string, error) {
	raw := make([]byte, secretBytes)
	if _, err := io.ReadFull(a.random, raw); err != nil {
		return "", fmt.Errorf("drawing a secret: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(raw), nil
}

// secretHash is what is stored of a secret. The lookup by hash takes no time that depends
// on the secrets of others.
func secretHash(secret string) []byte {
	sum := sha256.Sum256([]byte(secret))
	return sum[:]
}

// AddToken makes a token, whose secret only this call returns. The zero time means that it
// does not expire. The error is *analysis.Fault "conflict" if a valid token has the name.
func (a *Accounts) AddToken(ctx context.Context, name, role string, expires time.Time) (secret string, err error) {
	if secret, err = a.secret(); err != nil {
		return "", err
	}
	secret = TokenPrefix + secret
	now := a.time()
	return secret, a.write(ctx, "making a token", func(tx *sql.Tx) error {
		var taken bool
		if err := tx.QueryRowContext(ctx, validTokenSQL, name, now.UnixMicro()).Scan(&taken); err != nil {
			return err
		}
		if taken {
			return &analysis.Fault{Code: "conflict", What: "there is a token of this name", Where: name, Hint: "Revoke it first, or choose another name."}
		}
		// An expired token gives its name to the new one.
		if _, err := tx.ExecContext(ctx, revokeTokenSQL, now.UnixMicro(), name); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, addTokenSQL, name, secretHash(secret), role, now.UnixMicro(), microsOrNull(expires))
		return err
	})
}

const validTokenSQL = `
SELECT EXISTS (SELECT 1 FROM token WHERE name = ? AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?))`

const addTokenSQL = `
INSERT INTO token (name, hash, role, created_at, expires_at)
VALUES (?, ?, ?, ?, ?)`

const revokeTokenSQL = `
UPDATE token SET revoked_at = ? WHERE name = ? AND revoked_at IS NULL`

// RevokeToken ends a token at once. The error is *analysis.Fault "not_found" if no token
// that is not revoked has the name.
func (a *Accounts) RevokeToken(ctx context.Context, name string) error {
	return a.write(ctx, "revoking a token", func(tx *sql.Tx) error {
		result, err := tx.ExecContext(ctx, revokeTokenSQL, a.time().UnixMicro(), name)
		return affected(result, err, &analysis.Fault{Code: "not_found", What: "there is no such token", Where: name, Why: "none has the name, or it is revoked already", Hint: "leakdiff token list shows the names."})
	})
}

// Tokens lists the tokens, revoked ones too, the oldest first.
func (a *Accounts) Tokens(ctx context.Context) ([]Token, error) {
	rows, err := a.reader.QueryContext(ctx, tokensSQL)
	if err != nil {
		return nil, fault("listing the tokens", err)
	}
	defer rows.Close()
	var out []Token
	for rows.Next() {
		t, err := scanToken(rows.Scan)
		if err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	return out, fault("listing the tokens", rows.Err())
}

const tokenColumns = `SELECT name, role, created_at, expires_at, revoked_at FROM token `

const tokensSQL = tokenColumns + `ORDER BY seq`

func scanToken(scan func(...any) error) (t Token, err error) {
	var created int64
	var expires, revoked sql.NullInt64
	err = scan(&t.Name, &t.Role, &created, &expires, &revoked)
	t.Created, t.Expires, t.Revoked = fromMicros(created), timeOrZero(expires), timeOrZero(revoked)
	return t, err
}

// Token returns the token with a secret, also one that is not valid any more.
func (a *Accounts) Token(ctx context.Context, secret string) (t Token, known bool, err error) {
	t, err = scanToken(a.reader.QueryRowContext(ctx, tokenSQL, secretHash(secret)).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return Token{}, false, nil
	}
	return t, err == nil, fault("looking for a token", err)
}

const tokenSQL = tokenColumns + `WHERE hash = ?`

// AddSession signs an account in until a time, and returns the secret of its cookie. It
// removes expired sessions.
func (a *Accounts) AddSession(ctx context.Context, account string, stamp []byte, until time.Time) (secret string, err error) {
	if secret, err = a.secret(); err != nil {
		return "", err
	}
	return secret, a.write(ctx, "signing in", func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, expireSessionsSQL, a.time().UnixMicro()); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, addSessionSQL, secretHash(secret), account, stamp, until.UnixMicro())
		return err
	})
}

const addSessionSQL = `
INSERT INTO session (hash, account, stamp, expires_at) VALUES (?, ?, ?, ?)`

const expireSessionsSQL = `
DELETE FROM session WHERE expires_at <= ?`

// Session returns the account of a session, and the stamp of AddSession. known is false
// for an ended one.
func (a *Accounts) Session(ctx context.Context, secret string) (account string, stamp []byte, known bool, err error) {
	err = a.reader.QueryRowContext(ctx, sessionSQL, secretHash(secret), a.time().UnixMicro()).Scan(&account, &stamp)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil, false, nil
	}
	return account, stamp, err == nil, fault("looking for a session", err)
}

const sessionSQL = `
SELECT account, stamp FROM session WHERE hash = ? AND expires_at > ?`

// EndSession signs a browser out.
func (a *Accounts) EndSession(ctx context.Context, secret string) error {
	return a.write(ctx, "signing out", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, endSessionSQL, secretHash(secret))
		return err
	})
}

const endSessionSQL = `
DELETE FROM session WHERE hash = ?`

// CaseAccount is the account that made a case, "" for none.
func (a *Accounts) CaseAccount(ctx context.Context, caseID string) (account string, err error) {
	err = a.reader.QueryRowContext(ctx, caseAccountSQL, caseID).Scan(&account)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return account, fault("looking for the account of a case", err)
}

const caseAccountSQL = `
SELECT account FROM cases WHERE id = ?`

// SetCaseAccount records the account that made a case.
func (a *Accounts) SetCaseAccount(ctx context.Context, caseID, account string) error {
	return a.write(ctx, "recording the account of a case", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, setCaseAccountSQL, account, caseID)
		return err
	})
}

const setCaseAccountSQL = `
UPDATE cases SET account = ? WHERE id = ?`
