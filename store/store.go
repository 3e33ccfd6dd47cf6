// Package store persists cases, bundles, snapshots, families and permalinks in one SQLite
// file, with the raw uploads as blobs beside it. It takes and returns the domain types of
// analysis and contains all SQL. Acknowledged writes survive a crash, and readers never see
// half a result. The package does not know how results are computed, judged or shown.
package store

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"log/slog"
	"math"
	mathrand "math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/cespare/xxhash/v2"
	"modernc.org/sqlite"

	"leakdiff/migrations"
	"leakdiff/store/blob"
)

// The files of a data directory.
const (
	databaseFile = "leakdiff.db"
	lockFile     = "leakdiff.lock"
	blobDir      = "blobs"
)

// readers is the number of connections that read concurrently.
const readers = 4

// Config locates the data. Only Dir is required.
type Config struct {
	// Dir is created if it does not exist.
	Dir string
	// Now and Random default to time.Now and crypto/rand.
	Now    func() time.Time
	random io.Reader
	// Log receives repairs at start and damaged or unknown uploads. The default discards them.
	Log *slog.Logger
	// NewDatabase allows an empty database beside uploads whose database is missing.
	NewDatabase bool
	// Blobs is the address of a bucket for the uploads (s3://…), empty for a directory in Dir.
	Blobs string
	// Database is the address of a PostgreSQL database (postgres://…), empty for a file in Dir.
	// Several servers may have it open if the uploads are in a bucket, each with a Dir of its
	// own; else one at a time.
	Database string
	// Existing refuses what no server has made yet, and makes nothing.
	Existing bool
	// moving opens a database that a move or a restore is writing.
	moving bool
	// mark says in a new schema that a move has begun to write it, "" for no move. A crash never
	// leaves one without the other.
	mark string
	// pastDamage opens a database whose log is damaged, and ends the log there.
	pastDamage bool
	// version is the version of a database to create, 0 for the last one.
	version int
	// program names the program to PostgreSQL, usualProgram for "".
	program string
	// shared lets several servers have a PostgreSQL database open although Blobs is empty.
	shared bool
	// Files are those of the uploads; nil is the operating system. Tests replace them.
	Files blob.Files
}

// Store is an open data directory. Its methods are safe for concurrent use; writes are
// serialized.
type Store struct {
	now    func() time.Time
	random io.Reader
	log    *slog.Logger

	// self names this server in the rows of its jobs and duties; each start has another name.
	self string
	// alone means that no other server has the database open.
	alone bool

	lock   *os.File
	engine engine
	writer *sql.DB
	reader *sql.DB
	// beats renews leases while the writer is busy; nil for a file.
	beats   *sql.DB
	uploads *Uploads
	// owner identifies the database in the bucket of the uploads.
	owner string
	// reserve is disk space for ends of jobs and deletions on a full volume.
	reserve *reserve

	// referring serializes inserting rows that refer to blobs and removing unreferenced blobs.
	referring sync.Mutex

	reaper reaper
}

// Open opens the data directory, creates or migrates its database, and repairs it after a
// crash: it queues unfinished jobs again and removes their rows. The error is an
// *analysis.Fault with Code "locked" if another process has the directory open,
// "newer_database" if a newer leakdiff wrote it, "older_database" if it is from before the
// first release, "damaged" if the file is no database, "damaged_log" if transactions in its
// log would be lost, "no_database" if uploads exist without a database. All files become accessible to their
// owner alone.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	s := &Store{now: cfg.Now, random: cfg.random, log: cfg.Log, reaper: reaper{wanted: make(chan struct{}, 1)}}
	if s.now == nil {
		s.now = time.Now
	}
	if s.random == nil {
		s.random = rand.Reader
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if err := s.open(ctx, cfg); err != nil {
		what := "opening the data directory"
		if cfg.Database != "" {
			what, err = "opening the database", refusedConnection(cfg.Database, err)
		}
		err = fault(what, err)
		if s.uploads != nil {
			err = s.orFull(err)
		}
		return nil, errors.Join(hinting(err, startHint), s.release())
	}
	return s, nil
}

// roomToStart is the space that a start may need.
const roomToStart = 2 << 20

func (s *Store) open(ctx context.Context, cfg Config) (err error) {
	if s.self, err = s.newID("o"); err != nil {
		return err
	}
	dir := cfg.Dir
	if cfg.Existing && cfg.Database == "" {
		if err := isDataDir(dir); err != nil {
			return err
		}
	}
	if err := refuseOlder(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if s.lock, err = lock(filepath.Join(dir, lockFile)); err != nil {
		return err
	}
	directory, err := blob.OpenDirectory(blob.Config{Dir: filepath.Join(dir, blobDir), Log: s.log, Files: cfg.Files})
	if err != nil {
		return err
	}
	s.uploads = &Uploads{directory: directory}
	s.reserve = openReserve(filepath.Join(dir, reserveFile))
	// A start writes too; without the reserve, a server on a full volume could not start to
	// delete anything.
	for free, err := directory.Free(); err == nil && free < roomToStart && s.reserve.give(roomToStart); {
		free, err = directory.Free()
	}
	s.tighten(ctx, dir)
	if cfg.Database != "" {
		err = s.openPostgres(ctx, cfg)
	} else {
		err = s.openSQLite(ctx, cfg)
	}
	if err != nil {
		return err
	}
	s.uploads.reader = s.reader
	if err := s.openBucket(ctx, cfg.Blobs); err != nil {
		return err
	}
	if cfg.moving {
		return nil // what is copied is as it is there
	}
	if err := s.mayServe(ctx); err != nil {
		return err
	}
	if err := s.repair(ctx); err != nil {
		return err
	}
	if err := s.sweep(ctx); err != nil {
		return err
	}
	// A crash may have left deleted content in the log.
	s.reaper.tidy = true
	return s.compare(ctx, dir)
}

func (s *Store) openSQLite(ctx context.Context, cfg Config) error {
	s.engine, s.alone = sqliteEngine{}, true
	dir := cfg.Dir
	file, err := filepath.Abs(filepath.Join(dir, databaseFile))
	if err != nil {
		return err
	}
	if err := s.mayBegin(ctx, cfg, file); err != nil {
		return err
	}
	if err := makePrivate(file); err != nil {
		return err
	}
	if s.writer, err = connect(file, 1, ofWriter); err != nil {
		return err
	}
	all, err := migrations.All()
	if err != nil {
		return err
	}
	if cfg.version > 0 {
		all = all[:cfg.version-migrations.Base]
	}
	if err := migrate(ctx, s.writer, all, cfg.mark); err != nil {
		return err
	}
	s.reader, err = connect(file, readers, ofReader)
	return err
}

func (s *Store) openPostgres(ctx context.Context, cfg Config) (err error) {
	s.engine = postgresEngine{}
	// Uploads in a directory are those of one server.
	s.alone = !cfg.shared && cfg.Blobs == ""
	program := cmp.Or(cfg.program, usualProgram)
	if s.writer, err = connectPostgres(cfg.Database, 1, s.alone, program, s.log); err != nil {
		return err
	}
	if !s.alone {
		if err := s.besideNone(ctx); err != nil {
			return err
		}
	}
	empty, err := isEmpty(ctx, s.writer)
	if err != nil {
		return err
	}
	if empty && cfg.Existing {
		return noDatabaseThere()
	}
	if empty {
		if err := s.mayBeginBeside(cfg, "the database of --database"); err != nil {
			return err
		}
	}
	if err := migratePostgres(ctx, s.writer, cfg.mark); err != nil {
		return err
	}
	if s.beats, err = connectPostgres(cfg.Database, 1, alongside, program, s.log); err != nil {
		return err
	}
	s.reader, err = connectPostgres(cfg.Database, readers, alongside, program, s.log)
	return err
}

// makePrivate creates the database file if it does not exist. SQLite would make it readable
// for all, and copies its mode to the files beside it.
func makePrivate(file string) error {
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// Settings of connections. Busy timeout comes first, because switching to WAL may have to
// wait. Deleted content is overwritten, and the file shrinks after deletions. Only the
// writer has the settings that write to the file, even if they change nothing: a reader
// would wait for a running transaction when it opens.
const (
	ofAll = "?_busy_timeout=5000&_pragma=synchronous(FULL)&_pragma=foreign_keys(ON)" +
		"&_pragma=cache_size(-1024)&_pragma=temp_store(MEMORY)&_pragma=secure_delete(ON)&"
	ofWriter = "_txlock=immediate&_auto_vacuum=incremental&_pragma=journal_mode(WAL)&_pragma=journal_size_limit(8388608)"
	ofReader = "_query_only=on"
)

// connect opens a pool of n connections.
func connect(file string, n int, settings string) (*sql.DB, error) {
	dsn := "file:" + (&url.URL{Path: file}).EscapedPath() + ofAll + settings
	d := &sqlite.Driver{}
	if err := d.RegisterDeterministicScalarFunction("unicode_lower", 1, unicodeLower); err != nil {
		return nil, err
	}
	if err := d.RegisterScalarFunction("clock_micros", 0, clockMicros); err != nil {
		return nil, err
	}
	db := sql.OpenDB(connector{d, dsn})
	db.SetMaxOpenConns(n)
	db.SetMaxIdleConns(n)
	return db, nil
}

// connector opens connections and registers functions on them.
type connector struct {
	driver *sqlite.Driver
	dsn    string
}

func (c connector) Connect(context.Context) (driver.Conn, error) { return c.driver.Open(c.dsn) }

func (c connector) Driver() driver.Driver { return c.driver }

// unicodeLower is strings.ToLower for queries, because SQLite's lower handles only ASCII and
// would not match the words of a query. It returns other types unchanged.
func unicodeLower(_ *sqlite.FunctionContext, args []driver.Value) (driver.Value, error) {
	switch text := args[0].(type) {
	case string:
		return strings.ToLower(text), nil
	case []byte:
		return bytes.ToLower(text), nil
	}
	return args[0], nil
}

// clockMicros is the clock of leases and duties, in microseconds since 1970.
func clockMicros(*sqlite.FunctionContext, []driver.Value) (driver.Value, error) {
	return time.Now().UnixMicro(), nil
}

// textHash is a short hash of a text that indexes contain in its place. It must never change,
// because rows contain it.
func textHash(text string) int64 { return int64(xxhash.Sum64String(text) & math.MaxInt32) }

// Close queues the running jobs of this server again and releases the directory. Workers must
// have stopped.
func (s *Store) Close() error {
	return errors.Join(s.giveBack(context.Background()), s.release())
}

func (s *Store) release() error {
	var errs []error
	for _, db := range []*sql.DB{s.reader, s.beats, s.writer} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	if s.uploads != nil && s.uploads.bucket != nil {
		s.uploads.bucket.Close()
	}
	if s.lock != nil {
		errs = append(errs, s.lock.Close())
	}
	return errors.Join(errs...)
}

// Blobs are the raw uploads.
func (s *Store) Blobs() *Uploads { return s.uploads }

// Ping reports whether the database answers.
func (s *Store) Ping(ctx context.Context) error {
	var one int
	return fault("asking the database", s.reader.QueryRowContext(ctx, `SELECT 1`).Scan(&one))
}

// read runs f in one read transaction.
func (s *Store) read(ctx context.Context, what string, f func(*sql.Tx) error) error {
	tx, err := s.reader.BeginTx(ctx, s.engine.reading())
	if err != nil {
		return fault(what, err)
	}
	defer tx.Rollback()
	return fault(what, f(tx))
}

// write runs f in one durable transaction and rolls back on an error.
func (s *Store) write(ctx context.Context, what string, f func(*sql.Tx) error) error {
	err := s.attempt(ctx, f)
	for n := 1; err != nil && s.engine.again(err) && n < mostAttempts; n++ {
		select {
		case <-ctx.Done():
			return fault(what, ctx.Err())
		case <-time.After(time.Duration(mathrand.Int64N(int64(n) * int64(disturbed)))):
		}
		err = s.attempt(ctx, f)
	}
	return s.orFull(fault(what, err))
}

// A transaction that others disturbed is repeated after a random part of disturbed, which
// grows with each attempt, so f may run several times.
const (
	mostAttempts = 20
	disturbed    = 20 * time.Millisecond
)

func (s *Store) attempt(ctx context.Context, f func(*sql.Tx) error) error {
	tx, err := s.writer.BeginTx(ctx, s.engine.writing())
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if err := s.engine.turn(ctx, tx); err != nil {
		return err
	}
	if err := f(tx); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return &commitError{err}
	}
	return nil
}

// commitError is that of a commit, which may have been done all the same: the answer of the
// database may have been lost with the connection.
type commitError struct{ error }

func (e *commitError) Unwrap() error { return e.error }

// writeReserved is write for changes that must succeed on a full volume: ends of jobs, which
// are small, and deletions, which free space. It shrinks the reserve until f has room, so f
// may run several times.
func (s *Store) writeReserved(ctx context.Context, what string, f func(*sql.Tx) error) error {
	for size := int64(firstGiven); ; size *= 2 {
		err := s.write(ctx, what, f)
		if IsFull(err) && s.reserve.give(size) {
			continue
		}
		return hinting(err, emptyHint)
	}
}

// time returns the current time in the precision of the database.
func (s *Store) time() time.Time { return s.now().UTC().Truncate(time.Microsecond) }

func fromMicros(us int64) time.Time { return time.UnixMicro(us).UTC() }

// microsOrNull stores the zero time as NULL.
func microsOrNull(t time.Time) sql.NullInt64 {
	return sql.NullInt64{Int64: t.UnixMicro(), Valid: !t.IsZero()}
}

func timeOrZero(us sql.NullInt64) time.Time {
	if !us.Valid {
		return time.Time{}
	}
	return fromMicros(us.Int64)
}

// collect reads all rows of a query.
func collect[T any](ctx context.Context, tx *sql.Tx, scan func(*sql.Rows) (T, error), query string, args ...any) ([]T, error) {
	rows, err := tx.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []T
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, rows.Err()
}

// scanOne scans rows of one column.
func scanOne[T any](rows *sql.Rows) (v T, err error) {
	return v, rows.Scan(&v)
}

// affected returns none if an update changed no row.
func affected(result sql.Result, err error, none error) error {
	if err != nil {
		return err
	}
	n, err := result.RowsAffected()
	if err != nil {
		return err
	}
	if n == 0 {
		return none
	}
	return nil
}

// rowsOf is affected without the error for no row.
func rowsOf(result sql.Result, err error) (int64, error) {
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}
