package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"golang.org/x/text/cases"
	"golang.org/x/text/language"

	"leakdiff/analysis"
	"leakdiff/analysis/expression"
	"leakdiff/migrations"
)

// postgresEngine is a PostgreSQL database.
// Transactions that write are serializable, so they see what they would see alone, and are
// repeated if they did not.
type postgresEngine struct{}

func (postgresEngine) reading() *sql.TxOptions {
	return &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true}
}

func (postgresEngine) writing() *sql.TxOptions {
	return &sql.TxOptions{Isolation: sql.LevelSerializable}
}

// turn locks a small table that is seldom written. The servers of a database so write one after
// the other, as the readers of one server do: serializable transactions that meet would be
// repeated with all their work. A lock of a table comes before what the transaction sees
// (PostgreSQL, LOCK), which an advisory lock does not. A server that gives no sign loses it
// with its transaction.
func (postgresEngine) turn(ctx context.Context, tx *sql.Tx) error {
	if _, err := tx.ExecContext(ctx, `SET LOCAL lock_timeout = '2s'`); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, `LOCK TABLE setting IN EXCLUSIVE MODE`)
	return err
}

// again recognises serialization failures, deadlocks, and locks that were waited for in vain.
func (postgresEngine) again(err error) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && slices.Contains([]string{"40001", "40P01", "55P03"}, e.Code)
}

func (postgresEngine) ownsFile() bool { return false }

func (postgresEngine) skipLocked() string { return ` FOR UPDATE SKIP LOCKED` }

// The sequence also gives the number of the next upload.
func (postgresEngine) lastInQueue() string { return `nextval(pg_get_serial_sequence('job', 'seq'))` }

func (postgresEngine) words() string { return matchedFamiliesPostgresSQL }

// pattern is a part of a name for LIKE.
func (postgresEngine) pattern(word string) string {
	if len([]rune(word)) < 3 {
		return ""
	}
	return "%" + strings.NewReplacer(`\`, `\\`, "%", `\%`, "_", `\_`).Replace(word) + "%"
}

// ICU lowers some letters to several, and a sigma by its place in the word. PostgreSQL refuses what
// is not UTF-8, which strings.ToLower replaces too.
func (postgresEngine) lower(text string) string {
	return cases.Lower(language.Und).String(strings.ToValidUTF8(text, "\uFFFD"))
}

// Transactions that read the last rows would disturb each other with every new word.
func (postgresEngine) lastWords() string {
	return `SELECT (SELECT last_value FROM function_seq_seq), (SELECT last_value FROM family_seq_seq)`
}

// The indexes of the tables hold the words.
func (postgresEngine) indexWords(context.Context, *sql.Tx, int64, int64) error { return nil }

func (postgresEngine) continueNumbers(ctx context.Context, tx *sql.Tx, table string) error {
	_, err := tx.ExecContext(ctx, `SELECT setval(pg_get_serial_sequence('`+table+`', 'seq'), coalesce(max(seq), 0) + 1, false) FROM `+table)
	return err
}

// A transaction has a number from its first write on.
func (postgresEngine) barrier(ctx context.Context, tx *sql.Tx) (b barrier, err error) {
	return b, tx.QueryRowContext(ctx, `SELECT pg_current_xact_id()::text::bigint`).Scan(&b)
}

func (postgresEngine) settled(ctx context.Context, tx *sql.Tx, b barrier) (settled bool, err error) {
	return settled, tx.QueryRowContext(ctx, `SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint >= ?`, b).Scan(&settled)
}

func (postgresEngine) holdLog(context.Context, *sql.Tx) error { return nil }

func (postgresEngine) release(context.Context, *sql.DB) {}

// Connections that write lock a database of which one server keeps the uploads, until they
// end. A server that lost its connection thereby cannot write once another one has taken its
// place.
const (
	alongside   = false
	exclusively = true
)

// Keys of advisory locks: of the only server, and of one that migrates.
const (
	lockKey      = 7311225
	migrationKey = 7311226
)

// The names of programs to PostgreSQL: of servers, and of commands beside them.
const (
	usualProgram = "leakdiff"
	moveProgram  = "leakdiff migrate"
	tokenProgram = "leakdiff token"
)

// connectPostgres opens a pool of n connections, of which exclusive ones lock the database.
func connectPostgres(address string, n int, exclusive bool, program string, log *slog.Logger) (*sql.DB, error) {
	config, err := pgx.ParseConfig(address)
	if err != nil {
		return nil, &analysis.Fault{
			Code: "usage", What: "the address of the database is not understood", Where: "--database", Why: err.Error(),
			Hint: "Write postgres://user@host:5432/name?sslmode=verify-full. The password can stand in PGPASSWORD or in ~/.pgpass.",
		}
	}
	config.RuntimeParams["application_name"] = program
	// The locks of a server that was paused within a transaction end before its leases do.
	config.RuntimeParams["idle_in_transaction_session_timeout"] = strconv.FormatInt((leaseTime / 2).Milliseconds(), 10)
	dial := config.DialFunc
	config.DialFunc = func(ctx context.Context, kind, address string) (net.Conn, error) {
		conn, err := dial(ctx, kind, address)
		if err != nil {
			return nil, err
		}
		return network{conn}, nil
	}
	db := sql.OpenDB(postgresConnector{stdlib.GetConnector(*config), exclusive, new(translations), log})
	db.SetMaxOpenConns(n)
	db.SetMaxIdleConns(n)
	return db, nil
}

type postgresConnector struct {
	driver.Connector
	exclusive    bool
	translations *translations
	log          *slog.Logger
}

func (c postgresConnector) Connect(ctx context.Context) (driver.Conn, error) {
	opened, err := c.Connector.Connect(ctx)
	if err != nil {
		// Whoever asks a page is not told where the database is.
		if ctx.Err() == nil {
			c.log.WarnContext(ctx, "no connection to the database", "error", err)
		}
		return nil, err
	}
	conn := postgresConn{opened.(*stdlib.Conn), c.translations}
	if !c.exclusive {
		return conn, nil
	}
	if err := own(ctx, conn.Conn.Conn()); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// ownWait is how long a server waits for the lock of a database: the session of one that ended holds
// it until PostgreSQL has noticed.
const ownWait = 5 * time.Second

// own takes the lock of a server that has the database for itself.
func own(ctx context.Context, conn *pgx.Conn) error {
	for begun := time.Now(); ; {
		var mine bool
		err := conn.QueryRow(ctx, `SELECT pg_try_advisory_lock($1)`, lockKey).Scan(&mine)
		switch {
		case err != nil || mine:
			return err
		case time.Since(begun) > ownWait:
			return lockedDatabase()
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// idleInTransaction is the code of the error after a pause within a transaction.
const idleInTransaction = "25P03"

func lockedDatabase() error {
	return &analysis.Fault{
		Code: "locked", What: "the database is in use", Why: "another leakdiff server has it open, with uploads in its data directory",
		Hint: "Stop that server, or give this one another database with --database. Servers that keep uploads in a bucket (--blobs) share one.",
	}
}

// besideNone fails beside a server that has the database for itself. It keeps no lock.
func (s *Store) besideNone(ctx context.Context) error {
	var free bool
	err := s.writer.QueryRowContext(ctx, `SELECT pg_try_advisory_xact_lock_shared(?)`, lockKey).Scan(&free)
	if err == nil && !free {
		err = lockedDatabase()
	}
	return err
}

// faultOfPostgres describes an error of the server, or returns nil for others.
func faultOfPostgres(what string, err error) *analysis.Fault {
	out := &analysis.Fault{Code: "database", What: what + " failed", Err: err}
	var connecting *pgconn.ConnectError
	var server *pgconn.PgError
	switch {
	case errors.As(err, &connecting):
		out.Code, out.Why = "busy", "the database does not answer; the log of the server says more"
		out.Hint = "Start the database, or mend the address of --database, and try again."
	case errors.As(err, &server):
		out.Why = server.Message
		switch {
		case server.Code == "53100":
			out.Code, out.Why = diskFull, "the volume of the database is full"
			out.Hint = "Delete cases that are no longer needed or give the database more space."
		case strings.HasPrefix(server.Code, "08"), strings.HasPrefix(server.Code, "53"), strings.HasPrefix(server.Code, "57P"), strings.HasPrefix(server.Code, "40"), server.Code == idleInTransaction:
			out.Code, out.Hint = "busy", "Try again in a moment."
		case strings.HasPrefix(server.Code, "42501"):
			out.Hint = "Let the user of --database own the database: leakdiff makes its own tables in it."
		}
	case errors.Is(err, driver.ErrBadConn), pgconn.SafeToRetry(err), isNetwork(err):
		out.Code, out.Why = "busy", "the connection to the database ended"
		out.Hint = "Try again in a moment."
	default:
		return nil
	}
	return out
}

// refusedConnection explains an error of opening a database that PostgreSQL refuses, and returns
// others as they are. It is for who starts a program: pages are not told of roles and databases.
func refusedConnection(address string, err error) error {
	var server *pgconn.PgError
	config, failed := pgx.ParseConfig(address)
	if failed != nil || !errors.As(err, &server) {
		return err
	}
	out := &analysis.Fault{Code: "usage", What: "PostgreSQL refused the connection", Why: server.Message, Err: err}
	switch server.Code {
	case "3D000": // invalid_catalog_name
		out.Hint = "Create it in PostgreSQL (CREATE DATABASE " + pgx.Identifier{config.Database}.Sanitize() + " OWNER " + pgx.Identifier{config.User}.Sanitize() + "), or mend its name in the address."
	case "28P01": // invalid_password
		out.Hint = "Mend the password in PGPASSWORD, in ~/.pgpass or in the address, or give the role this one in PostgreSQL (ALTER ROLE)."
	case "28000": // invalid_authorization_specification: no such role, or no line of pg_hba.conf for it
		out.Hint = "Create the role in PostgreSQL (CREATE ROLE ... LOGIN) and let its pg_hba.conf admit it, or mend the user in the address."
	default:
		return err
	}
	return out
}

func isNetwork(err error) bool {
	var network *net.OpError
	return errors.As(err, &network)
}

// network is a connection whose end is an error of the network. A pooler closes connections
// without a word when it loses its own, and io.EOF alone could be the end of anything.
type network struct{ net.Conn }

func (c network) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if errors.Is(err, io.EOF) {
		err = &net.OpError{Op: "read", Net: c.RemoteAddr().Network(), Addr: c.RemoteAddr(), Err: io.ErrUnexpectedEOF}
	}
	return n, err
}

// postgresConn translates statements and arguments.
type postgresConn struct {
	*stdlib.Conn
	translations *translations
}

func (c postgresConn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	return c.Conn.PrepareContext(ctx, c.translations.of(query))
}

func (c postgresConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	return c.Conn.ExecContext(ctx, c.translations.of(query), args)
}

func (c postgresConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	return c.Conn.QueryContext(ctx, c.translations.of(query), args)
}

// CheckNamedValue stores a bool as a number, as columns have it. Text loses what the server
// does not take: NUL and bytes that are no UTF-8.
func (c postgresConn) CheckNamedValue(v *driver.NamedValue) error {
	value, err := driver.DefaultParameterConverter.ConvertValue(v.Value)
	if err != nil {
		return err
	}
	switch x := value.(type) {
	case bool:
		value = int64(0)
		if x {
			value = int64(1)
		}
	case string:
		value = textOfPostgres(x)
	}
	v.Value = value
	return nil
}

// textOfPostgres is a text as the server takes it.
func textOfPostgres(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
}

// translations are those of the statements of the package, by their text: a few hundred.
type translations struct{ known sync.Map }

func (t *translations) of(query string) string {
	if known, ok := t.known.Load(query); ok {
		return known.(string)
	}
	text := translate(query)
	t.known.Store(query, text)
	return text
}

var (
	parameter = expression.Lazy(`\?(\d*)`)
	numbers   = expression.Lazy(`CAST\(value AS BIGINT\) FROM json_each\((\$\d+)\)`)
	texts     = expression.Lazy(`SELECT value FROM json_each\((\$\d+)\)`)
	lists     = expression.Lazy(`json_each\((\$\d+)\) list\b`)
	words     = expression.Lazy(`json_each\((\$\d+)\) word\b`)
	inOrder   = expression.Lazy(`CROSS JOIN (\w+(?: \w+)?) ON`)
)

// translate turns a statement into one of PostgreSQL: parameters, lists that come as JSON, and
// joins that SQLite makes in the order of the text.
//
//	"seq IN (SELECT CAST(value AS BIGINT) FROM json_each(?))" -> "seq IN (SELECT CAST(value AS BIGINT) FROM jsonb_array_elements_text($1::jsonb))"
//	"a = ?2"                                                  -> "a = $2"
func translate(query string) string {
	n := 0
	query = parameter.ReplaceAllStringFunc(query, func(p string) string {
		if len(p) > 1 {
			return "$" + p[1:]
		}
		n++
		return "$" + strconv.Itoa(n)
	})
	query = numbers.ReplaceAllString(query, `CAST(value AS BIGINT) FROM jsonb_array_elements_text($1::jsonb)`)
	query = texts.ReplaceAllString(query, `SELECT value FROM jsonb_array_elements_text($1::jsonb)`)
	query = lists.ReplaceAllString(query, `jsonb_array_elements($1::jsonb) AS list(value)`)
	query = words.ReplaceAllString(query, `jsonb_array_elements_text($1::jsonb) AS word(value)`)
	return inOrder.ReplaceAllString(query, `JOIN $1 ON`)
}

// matchedFamiliesPostgresSQL is matchedFamiliesSQL with the trigram indexes of PostgreSQL.
const matchedFamiliesPostgresSQL = `
WITH word (w, pattern, name, file, line) AS MATERIALIZED (
    SELECT list.value ->> 0, list.value ->> 1, list.value ->> 2, list.value ->> 3, CAST(list.value ->> 4 AS BIGINT)
    FROM json_each(?1) list
),
hit (w, family_seq) AS (
    SELECT word.w, ff.family_seq
    FROM word
    JOIN function t ON unicode_lower(t.name) LIKE word.pattern
    JOIN function_family ff ON ff.function_seq = t.seq
    WHERE word.pattern <> ''
    UNION
    SELECT word.w, t.seq
    FROM word
    JOIN family t ON unicode_lower(t.words) LIKE word.pattern
    WHERE word.pattern <> ''
    UNION
    SELECT word.w, ff.family_seq
    FROM word
    JOIN function t ON instr(unicode_lower(t.name), word.name) > 0
    JOIN function_family ff ON ff.function_seq = t.seq
    WHERE word.pattern = ''
    UNION
    SELECT word.w, t.seq
    FROM word
    JOIN family t ON instr(unicode_lower(t.words), word.name) > 0
    WHERE word.pattern = ''
    UNION
    SELECT word.w, t.seq
    FROM word
    JOIN family t ON t.fingerprint >= word.w AND t.fingerprint < word.w || '~'
    WHERE word.w ~ '^[gtdwo][0-9].*:'
    UNION
    SELECT word.w, t.seq
    FROM word
    JOIN family t ON substr(t.fingerprint, strpos(t.fingerprint, ':') + 1, length(word.w)) = word.w
    WHERE word.w ~ '^[0-9a-f]{8,}$'
    UNION
    SELECT word.w, ff.family_seq
    FROM word
    JOIN frame ON instr(lower(frame.file), word.w) > 0
    JOIN function_family ff ON ff.function_seq = frame.function_seq
    WHERE word.w ~ '\.(go|[sc]|java|kt|scala|groovy|[jt]s|[cm]js)$'
    UNION
    SELECT word.w, ff.family_seq
    FROM word
    JOIN frame ON frame.line = word.line AND right('/' || lower(frame.file), length(word.file) + 1) = '/' || word.file
    JOIN function_family ff ON ff.function_seq = frame.function_seq
    WHERE word.file <> ''
),
matched (family_seq) AS MATERIALIZED (
    SELECT family_seq
    FROM hit
    GROUP BY family_seq
    HAVING count(*) = (SELECT count(DISTINCT w) FROM word)
)`

// isEmpty reports whether a database has no schema yet.
func isEmpty(ctx context.Context, db *sql.DB) (empty bool, err error) {
	err = db.QueryRowContext(ctx, `SELECT to_regclass('schema_version') IS NULL`).Scan(&empty)
	return empty, err
}

// versionOf is the version of the schema, 0 before the first.
func versionOf(ctx context.Context, db interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}) (version int, err error) {
	err = db.QueryRowContext(ctx, `SELECT coalesce(max(version), 0) FROM schema_version`).Scan(&version)
	return version, err
}

// migratePostgres brings the schema up to date, or creates it with the mark of a move.
func migratePostgres(ctx context.Context, db *sql.DB, mark string) error {
	all, err := migrations.Postgres()
	if err != nil {
		return err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	// Several servers may start at once.
	if _, err := tx.ExecContext(ctx, `SELECT pg_advisory_xact_lock(?)`, migrationKey); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS schema_version (version BIGINT NOT NULL)`); err != nil {
		return err
	}
	version, err := versionOf(ctx, tx)
	if err != nil {
		return err
	}
	if err := knownVersion(version, all); err != nil {
		return err
	}
	for _, m := range after(version, all) {
		if _, err := tx.ExecContext(ctx, m.SQL); err != nil {
			return fmt.Errorf("migration %d, %s: %w", m.Version, m.Name, err)
		}
		if _, err := tx.ExecContext(ctx, `INSERT INTO schema_version VALUES (?)`, m.Version); err != nil {
			return err
		}
	}
	if version > 0 {
		mark = ""
	}
	if err := markMove(ctx, tx, mark); err != nil {
		return err
	}
	return tx.Commit()
}
