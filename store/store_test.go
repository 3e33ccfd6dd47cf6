package store

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"

	"leakdiff/analysis"
	"leakdiff/internal/test/cluster"
	"leakdiff/internal/test/gateway"
	"leakdiff/migrations"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(childVariable); dir != "" {
		childMain(dir, os.Getenv(childRoleVariable))
		return
	}
	goleak.VerifyTestMain(m)
}

// clock is a time that tests move.
type clock struct{ now time.Time }

func newClock() *clock { return &clock{time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)} }

func (c *clock) Now() time.Time { return c.now }

func (c *clock) advance(d time.Duration) { c.now = c.now.Add(d) }

// fixture is an open store with its clock.
type fixture struct {
	*Store
	t     testing.TB
	ctx   context.Context
	dir   string
	clock *clock
	// database is the address of a PostgreSQL database, "" for a file.
	database string
	// shared is set for one of several servers.
	shared bool
	// bucket is the address of the bucket of the uploads, "" for the data directory.
	bucket string
	// log is nil for silence.
	log *slog.Logger
}

func open(t testing.TB) *fixture {
	t.Helper()
	return openAt(t, databaseOf(t), givenBucket(t))
}

// openDirectory opens a store for a test of the directory of uploads.
func openDirectory(t testing.TB) *fixture {
	t.Helper()
	return openOn(t, databaseOf(t))
}

// openFile opens a store for a test of the file of SQLite, its log or its plans.
func openFile(t testing.TB) *fixture {
	t.Helper()
	return openOn(t, "")
}

func openOn(t testing.TB, database string) *fixture {
	t.Helper()
	return openAt(t, database, "")
}

func openAt(t testing.TB, database, bucket string) *fixture {
	t.Helper()
	f := &fixture{t: t, ctx: t.Context(), dir: t.TempDir(), clock: newClock()}
	f.database, f.bucket = database, bucket
	f.reopen()
	t.Cleanup(func() {
		if f.Store != nil {
			f.close()
		}
	})
	return f
}

func (f *fixture) reopen() {
	f.t.Helper()
	s, err := Open(f.ctx, Config{Dir: f.dir, Now: f.clock.Now, Log: f.log, Database: f.database, Blobs: f.bucket, shared: f.shared})
	if err != nil {
		f.t.Fatal(err)
	}
	f.Store = s
}

// serverVariable is the address of the PostgreSQL server of the tests.
const serverVariable = "LEAKDIFF_POSTGRES"

// databaseOf creates a database of its own on the server that tests are given, "" without
// one.
func databaseOf(t testing.TB) string {
	t.Helper()
	server := os.Getenv(serverVariable)
	if server == "" {
		return ""
	}
	return cluster.Create(t, server, fmt.Sprintf("t%d_%d", os.Getpid(), time.Now().UnixNano()))
}

// gatewayVariable is the server of buckets of the tests, see gateway.Create.
const gatewayVariable = "LEAKDIFF_GATEWAY"

// givenBucket creates a bucket of its own on the server that tests are given, "" without one.
func givenBucket(t testing.TB) string {
	t.Helper()
	server := os.Getenv(gatewayVariable)
	if server == "" {
		return ""
	}
	return gateway.Create(t, server)
}

func (f *fixture) close() {
	f.t.Helper()
	if err := f.Close(); err != nil {
		f.t.Error(err)
	}
	f.Store = nil
}

// crash lets go of the directory as a killed process does: nothing is tidied up. Its leases
// end before the next start.
func (f *fixture) crash() {
	f.t.Helper()
	if !f.alone {
		f.endLeases()
	}
	if err := f.release(); err != nil {
		f.t.Fatal(err)
	}
	f.reopen()
}

func must[T any](t testing.TB) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func (f *fixture) ok(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

// newCase makes a case without an upload.
func (f *fixture) newCase(title string) Case {
	f.t.Helper()
	c, _, hash, err := f.Store.newCase(title, "")
	f.ok(err)
	_, err = f.writer.ExecContext(f.ctx, createCaseSQL, c.ID, title, "", hash, c.Created.UnixMicro())
	f.ok(err)
	f.clock.advance(time.Second)
	return c
}

// addSnapshot writes one snapshot of a running job, as FinishJob writes the first of many.
func (f *fixture) addSnapshot(jobID string, snap analysis.Snapshot) error {
	var p packer
	defer p.close()
	return f.write(f.ctx, "writing a snapshot", func(tx *sql.Tx) error {
		t, err := f.own(f.ctx, tx, f.claimed(jobID))
		if err != nil {
			return err
		}
		return f.insertSnapshots(f.ctx, tx, &p, t, newJobSums(), []*analysis.Snapshot{&snap}, encodings{})
	})
}

// endLeases lets the time of all leases and duties pass.
func (f *fixture) endLeases() {
	f.t.Helper()
	for _, query := range []string{`UPDATE job SET leased_until = 0 WHERE status = 'running'`, `UPDATE duty SET until = 0`} {
		_, err := f.writer.ExecContext(f.ctx, query)
		f.ok(err)
	}
}

// claimed is a job as its present owner has claimed it.
func (f *fixture) claimed(jobID string) Job {
	job, err := f.Job(f.ctx, jobID)
	if err != nil {
		return Job{ID: jobID}
	}
	return job
}

func (f *fixture) FinishJob(ctx context.Context, jobID string, r Result) error {
	return f.Store.FinishJob(ctx, f.claimed(jobID), r)
}

func (f *fixture) FailJob(ctx context.Context, jobID string, why *analysis.Fault) error {
	return f.Store.FailJob(ctx, f.claimed(jobID), why)
}

func (f *fixture) CancelJob(ctx context.Context, jobID string) error {
	return f.Store.CancelJob(ctx, f.claimed(jobID))
}

func (f *fixture) PostponeJob(ctx context.Context, jobID string, why *analysis.Fault) error {
	return f.Store.PostponeJob(ctx, f.claimed(jobID), why)
}

// SetCaseSummary sets the summary of a case as it is.
func (f *fixture) SetCaseSummary(ctx context.Context, id string, sum Summary) error {
	c, _ := f.Case(ctx, id)
	return f.Store.SetCaseSummary(ctx, id, c.Revision, sum)
}

// full returns the snapshots of a case with their members unpacked.
// SnapshotsPacked returns the snapshots of a case with packed members, as of one moment.
func (f *fixture) SnapshotsPacked(ctx context.Context, caseID string) (out []analysis.Snapshot, err error) {
	err = f.read(ctx, "reading snapshots", func(tx *sql.Tx) error {
		found, err := snapshotRows(ctx, tx, caseID)
		rows := make([]*snapshotRow, len(found))
		for i, r := range found {
			rows[i] = &snapshotRow{seq: r.seq, id: r.ID}
		}
		l := newLoader(tx)
		defer l.p.close()
		if err == nil {
			err = l.heads(ctx, rows)
		}
		if err == nil {
			err = l.fill(ctx, rows, true)
		}
		for _, r := range rows {
			if err == nil {
				out = append(out, *r.head)
			}
		}
		return err
	})
	return out, err
}

// Snapshots returns the snapshots of a case without what is read of members.
func (f *fixture) Snapshots(ctx context.Context, caseID string) ([]analysis.Snapshot, error) {
	packed, err := f.SnapshotsPacked(ctx, caseID)
	for i := range packed {
		packed[i].Objects, packed[i].Thinned = nil, time.Time{}
	}
	return withoutMembersOf(packed), err
}

func (f *fixture) full(caseID string) ([]analysis.Snapshot, error) {
	snaps, err := f.SnapshotsPacked(f.ctx, caseID)
	for i := range snaps {
		for g := range snaps[i].Groups {
			snaps[i].Groups[g].Members.Unpack()
		}
	}
	return snaps, err
}

func (f *fixture) file(name, content string) File {
	f.t.Helper()
	ref, err := f.Blobs().Put(f.ctx, strings.NewReader(content), 0)
	f.ok(err)
	return File{Name: name, SHA256: ref.SHA256, Object: ref.Object, Size: ref.Size}
}

// stored counts the uploads that are stored.
func (f *fixture) stored() int {
	f.t.Helper()
	if f.bucket != "" {
		return f.rows("blob")
	}
	list, err := f.uploads.directory.List()
	f.ok(err)
	return len(list)
}

// holds reports whether the bytes of an upload are stored.
func (f *fixture) holds(sha string) bool {
	f.t.Helper()
	return f.Blobs().Look(f.ctx, sha) == nil
}

// upload adds a bundle of one file.
func (f *fixture) upload(caseID, content string) (Bundle, Job) {
	f.t.Helper()
	b, job, err := f.AddBundle(f.ctx, caseID, "bundle.tar.gz", []File{f.file("bundle.tar.gz", content)})
	f.ok(err)
	return b, job
}

// ingest takes the next job and finishes it.
func (f *fixture) ingest(r Result) Job {
	f.t.Helper()
	job, claimed, err := f.ClaimJob(f.ctx)
	f.ok(err)
	if !claimed {
		f.t.Fatal("no job to claim")
	}
	f.ok(f.FinishJob(f.ctx, job.ID, r))
	return job
}

// filled is a bundle with a result in a case.
func (f *fixture) filled(caseID, content string, r Result) Bundle {
	f.t.Helper()
	b, _ := f.upload(caseID, content)
	f.ingest(r)
	return must[Bundle](f.t)(f.Bundle(f.ctx, b.ID))
}

func code(err error) string {
	var fault *analysis.Fault
	if errors.As(err, &fault) {
		return fault.Code
	}
	return ""
}

func wantCode(t testing.TB, err error, want string) {
	t.Helper()
	if got := code(err); got != want {
		t.Errorf("got %v (code %q), want code %q", err, got, want)
	}
}

// rows counts the rows of a table.
func (f *fixture) rows(table string) (n int) {
	f.t.Helper()
	f.ok(f.reader.QueryRowContext(f.ctx, "SELECT count(*) FROM "+table).Scan(&n))
	return n
}

// wantEmpty fails for tables that hold anything.
func (f *fixture) wantEmpty(tables ...string) {
	f.t.Helper()
	for _, table := range tables {
		if n := f.rows(table); n != 0 {
			f.t.Errorf("%d rows are left in %s", n, table)
		}
	}
}

func (f *fixture) wantSound() {
	f.t.Helper()
	if f.database == "" {
		f.wantSoundFile()
	}
	var apart int
	f.ok(f.writer.QueryRowContext(f.ctx, `
		SELECT count(*) FROM function_family WHERE family_seq NOT IN (SELECT seq FROM family)`).Scan(&apart))
	if apart > 0 {
		f.t.Errorf("%d functions are linked with families that are gone", apart)
	}
	f.ok(f.writer.QueryRowContext(f.ctx, `
		SELECT count(*) FROM (SELECT 1 FROM frame GROUP BY function_seq, file, line HAVING count(*) > 1) twice`).Scan(&apart))
	if apart > 0 {
		f.t.Errorf("%d frames are kept twice", apart)
	}
	f.wantSums()
}

// wantSoundFile asks SQLite about its file.
func (f *fixture) wantSoundFile() {
	f.t.Helper()
	var verdict string
	// Not on a reader: FTS5 checks with the structure that an earlier search of
	// the same connection left in its cache, and finds corruption where none is.
	f.ok(f.writer.QueryRowContext(f.ctx, `PRAGMA integrity_check`).Scan(&verdict))
	if verdict != "ok" {
		f.t.Errorf("integrity check: %s", verdict)
	}
	rows := must[*sql.Rows](f.t)(f.reader.QueryContext(f.ctx, `PRAGMA foreign_key_check`))
	defer rows.Close()
	if rows.Next() {
		f.t.Error("a foreign key points nowhere")
	}
	f.ok(rows.Err())
	for _, index := range []string{"function_text", "family_text"} {
		_, err := f.writer.ExecContext(f.ctx, fmt.Sprintf(`INSERT INTO %[1]s (%[1]s, rank) VALUES ('integrity-check', 1)`, index))
		f.ok(err)
	}
}

// equal ignores the difference between nil and empty, which storage does not keep.
func wantEqual(t testing.TB, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.EquateNaNs(), cmpopts.IgnoreFields(File{}, "Object")); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// proberFamily is a goroutine family with two exact variants.
func proberGroup(n int) analysis.Group {
	family := &analysis.Family{
		Fingerprint: "g1:" + strings.Repeat("a", 32), Kind: analysis.KindGoroutine,
		Title:        "prober.(*worker).run",
		Loose:        []string{"net/http.(*Transport).RoundTrip", "k8s.io/kubernetes/pkg/kubelet/prober.(*worker).run"},
		LooseCreator: "k8s.io/kubernetes/pkg/kubelet/prober.(*manager).AddPod", Entry: "prober.AddPod > prober.run",
	}
	stack := func(line int) *analysis.Stack {
		return &analysis.Stack{
			Frames: []analysis.Frame{
				{Func: "net/http.(*Transport).RoundTrip", File: "/usr/local/go/src/net/http/transport.go", Line: 600},
				{Func: "k8s.io/kubernetes/pkg/kubelet/prober.(*worker).run", File: "/build/pkg/kubelet/prober/worker.go", Line: line},
			},
			CreatedBy: analysis.Frame{Func: "k8s.io/kubernetes/pkg/kubelet/prober.(*manager).AddPod", File: "/build/pkg/kubelet/prober/prober_manager.go", Line: 201},
			Elided:    3,
		}
	}
	return analysis.Group{
		Family: family, Count: n, States: map[string]int{"select": n - 1, "IO wait": 1},
		Waits: [9]int{1, 0, 0, n - 1}, OldestWait: 9, Leaked: 2,
		Variants: []analysis.Variant{
			{Fingerprint: "e1:" + strings.Repeat("1", 32), Stack: stack(167), Count: n - 1},
			{Fingerprint: "e1:" + strings.Repeat("2", 32), Stack: stack(181), Count: 1},
		},
		Members: leakedMembers(n),
	}
}

func socketGroup(n int) analysis.Group {
	g := analysis.Group{
		Family: &analysis.Family{
			Fingerprint: "d1:" + strings.Repeat("b", 32), Kind: analysis.KindDescriptor, Title: "TCP to 10.96.0.1:443",
			Attributes: map[string]string{"protocol": "tcp", "remote": "10.96.0.1:443", "state": "ESTABLISHED"},
		},
		Count: n, OldestWait: -1,
	}
	for i := range n {
		g.Members.Fill().ID = append(g.Members.Fill().ID, int64(10+i))
		g.Members.Fill().Sub = append(g.Members.Fill().Sub, int64(5000+7*i))
		g.Members.Fill().Detail = append(g.Members.Fill().Detail, fmt.Sprintf("%du TCP 10.0.0.%d:4%04d->10.96.0.1:443", 10+i, i, i))
	}
	return g
}

// unprinted has a variant whose stack the runtime did not print.
func unprintedGroup() analysis.Group {
	return analysis.Group{
		Family: &analysis.Family{Fingerprint: "g1:" + strings.Repeat("c", 32), Kind: analysis.KindGoroutine, Title: "running elsewhere"},
		Count:  2, OldestWait: -1,
		Variants: []analysis.Variant{
			{Fingerprint: "e1:" + strings.Repeat("3", 32), Count: 1},
			{Fingerprint: "e1:" + strings.Repeat("4", 32), Stack: &analysis.Stack{Unavailable: "stack unavailable", Elided: -1}, Count: 1},
		},
		Members: analysis.Members{Columns: &analysis.Columns{Offset: []int64{10, 99}, Line: []int64{1, 4}}},
	}
}

// snapshotID makes an id as analysis does, from anything.
func snapshotID(seed string) string {
	return "s" + strings.Repeat("a", 26-len(seed)) + seed
}

func kubelet(seed string, captured time.Time, n int) analysis.Snapshot {
	total := n + 12
	return analysis.Snapshot{
		ID: snapshotID(seed), Label: "t" + seed,
		Process: analysis.Process{
			Host: analysis.Fact{Value: "node-a", Source: "manifest", Confidence: analysis.Medium},
			Name: analysis.Fact{Value: "kubelet", Source: "status", Confidence: analysis.High},
			PID:  analysis.Fact{Value: "4242"},
		},
		CapturedAt: captured, TimeFact: analysis.Fact{Value: "captured_at", Source: "collector", Confidence: analysis.High},
		Times: map[analysis.Kind]time.Time{analysis.KindDescriptor: captured.Add(90 * time.Second)},
		Order: 3, Truncated: true, LowerBound: true,
		Totals:         analysis.Totals{Goroutines: &total, Descriptors: new(int)},
		Artifacts:      []analysis.Artifact{{Path: "t0/kubelet/goroutines.txt", Kind: "goroutine-debug2", Status: analysis.Read, Size: 12345, Files: 1, Members: n, Modified: captured}},
		Groups:         []analysis.Group{proberGroup(n), socketGroup(3), unprintedGroup()},
		MaxGoroutineID: 99887,
		Figures:        map[string]float64{"process_open_fds": 31, "limit_open_files": math.Inf(1), "go_gc": math.NaN()},
		Problems:       []analysis.Problem{{Path: "t0/kubelet/goroutines.txt", Line: 7, Offset: 99, Severity: analysis.Warning, What: "cut", Why: "64 MiB", Hint: "debug=1"}},
	}
}

var instant = time.Date(2026, 11, 21, 8, 30, 0, 123456789, time.UTC)

func kubeletResult(seeds ...string) Result {
	r := Result{
		Artifacts: []analysis.Artifact{{Path: "t0/", Kind: "fdinfo", Status: analysis.Read, Files: 31, Members: 31}, {Path: "notes.txt", Kind: "other", Status: analysis.Ignored, Files: 1}},
		Problems:  []analysis.Problem{{Path: "t0/", Offset: -1, Severity: analysis.Note, What: "w", Why: "y", Hint: "h"}},
		Unpacked:  1 << 20, Engine: 1,
	}
	for i, seed := range seeds {
		r.Snapshots = append(r.Snapshots, kubelet(seed, instant.Add(time.Duration(i)*time.Minute), 5+10*i))
	}
	return r
}

// withoutMembersOf is what Snapshots returns of them.
func withoutMembersOf(snaps []analysis.Snapshot) []analysis.Snapshot {
	out := append([]analysis.Snapshot(nil), snaps...)
	for i := range out {
		out[i].Groups = append([]analysis.Group(nil), out[i].Groups...)
		for j := range out[i].Groups {
			out[i].Groups[j].Members = analysis.Members{}
		}
	}
	return out
}

func TestASecondOpenIsRefusedAndNamesTheHolder(t *testing.T) {
	f := open(t)
	_, err := Open(f.ctx, Config{Dir: f.dir})
	wantCode(t, err, "locked")
	if want := fmt.Sprintf("process %d ", os.Getpid()); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v does not name %q", err, want)
	}
	f.close()
	f.reopen()
}

func TestOpenCreatesTheDirectoryWhateverItsName(t *testing.T) {
	for _, name := range []string{"plain", "with space", "a?b=c&d", "100%", "a#b", "ünïcode", "a;b"} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), name, "data")
			s, err := Open(t.Context(), Config{Dir: dir})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if err := s.Ping(t.Context()); err != nil {
				t.Error(err)
			}
			if _, err := os.Stat(filepath.Join(dir, databaseFile)); err != nil {
				t.Errorf("the database is elsewhere: %v", err)
			}
		})
	}
}

func TestConnectionsAreConfiguredAsDesigned(t *testing.T) {
	f := openFile(t)
	for name, db := range map[string]*sql.DB{"writer": f.writer, "reader": f.reader} {
		for pragma, want := range map[string]string{
			"journal_mode": "wal", "synchronous": "2", "foreign_keys": "1", "busy_timeout": "5000",
			"cache_size": "-1024", "secure_delete": "1", "auto_vacuum": "2",
		} {
			var got string
			f.ok(db.QueryRowContext(f.ctx, "PRAGMA "+pragma).Scan(&got))
			if got != want {
				t.Errorf("%s: %s is %s, want %s", name, pragma, got, want)
			}
		}
	}
	if _, err := f.reader.ExecContext(f.ctx, setSettingSQL, "a", "b"); err == nil {
		t.Error("a reader connection may write")
	}
}

func TestAReaderThatOpensWaitsForNoTransaction(t *testing.T) {
	f := openFile(t)
	tx, err := f.writer.BeginTx(f.ctx, nil)
	f.ok(err)
	defer tx.Rollback()
	_, err = tx.ExecContext(f.ctx, setSettingSQL, "a", "b")
	f.ok(err)
	// Who would wait for the transaction fails at once instead.
	impatient, err := connect(filepath.Join(f.dir, databaseFile), readers, ofReader+"&_pragma=busy_timeout(0)")
	f.ok(err)
	defer impatient.Close()
	for range readers {
		c, err := impatient.Conn(f.ctx)
		f.ok(err)
		defer c.Close()
		var n int
		f.ok(c.QueryRowContext(f.ctx, `SELECT count(*) FROM cases`).Scan(&n))
	}
}

func TestADatabaseOfANewerProgramIsRefused(t *testing.T) {
	f := openFile(t)
	_, err := f.writer.ExecContext(f.ctx, `PRAGMA user_version = 999`)
	f.ok(err)
	f.close()
	_, err = Open(f.ctx, Config{Dir: f.dir})
	wantCode(t, err, "newer_database")
	if err == nil || !strings.Contains(err.Error(), "999") {
		t.Errorf("%v does not name the version", err)
	}
}

func TestAFileThatIsNoDatabaseIsRefused(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, databaseFile), bytes.Repeat([]byte("no database "), 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Open(t.Context(), Config{Dir: dir})
	wantCode(t, err, "damaged")
	// The refusal let go of the lock.
	if err := os.Remove(filepath.Join(dir, databaseFile)); err != nil {
		t.Fatal(err)
	}
	s, err := Open(t.Context(), Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
}

func TestAFailedMigrationChangesNothingAndCanBeRepeated(t *testing.T) {
	f := openFile(t)
	f.ok(f.SetSetting(f.ctx, "kept", "yes"))
	all := must[[]migrations.Migration](t)(migrations.All())
	bad := append(all[:len(all):len(all)], migrations.Migration{Version: all[len(all)-1].Version + 1, Name: "half good", SQL: `
CREATE TABLE extra (a INTEGER) STRICT;
INSERT INTO missing VALUES (1);`})
	if err := migrate(f.ctx, f.writer, bad, ""); err == nil || !strings.Contains(err.Error(), "half good") {
		t.Fatalf("got %v, want an error that names the migration", err)
	}
	var version int
	f.ok(f.reader.QueryRowContext(f.ctx, `PRAGMA user_version`).Scan(&version))
	if want := all[len(all)-1].Version; version != want {
		t.Errorf("version is %d, want %d", version, want)
	}
	good := append(all[:len(all):len(all)], migrations.Migration{Version: all[len(all)-1].Version + 1, Name: "good", SQL: `
CREATE TABLE extra (a INTEGER) STRICT;
INSERT INTO extra VALUES (1);`})
	for range 2 {
		f.ok(migrate(f.ctx, f.writer, good, ""))
	}
	if n := f.rows("extra"); n != 1 {
		t.Errorf("the migration ran %d times", n)
	}
	if v, _, err := f.Setting(f.ctx, "kept"); v != "yes" || err != nil {
		t.Errorf("got %q, %v", v, err)
	}
}

func TestIDsAreLongLowerCaseAndDifferent(t *testing.T) {
	f := open(t)
	c, _, key, err := f.OpenCase(f.ctx, "a", "", "bundle.tar.gz", []File{f.file("bundle.tar.gz", "1")})
	f.ok(err)
	b, job := f.upload(c.ID, "x")
	p, _, err := f.CreatePermalink(f.ctx, Permalink{Record: []byte(`{}`)})
	f.ok(err)
	for _, tc := range []struct{ text, pattern string }{
		{c.ID, `^c[a-z2-7]{26}$`}, {b.ID, `^b[a-z2-7]{26}$`}, {job.ID, `^j[a-z2-7]{26}$`},
		{key, `^[a-z2-7]{32}$`}, {p.ID, `^[a-z2-7]{32}$`},
	} {
		if !regexp.MustCompile(tc.pattern).MatchString(tc.text) {
			t.Errorf("%q does not look like %s", tc.text, tc.pattern)
		}
	}
	seen := map[string]bool{}
	for range 1000 {
		id, err := f.newID("c")
		f.ok(err)
		if seen[id] {
			t.Fatal("an id twice")
		}
		seen[id] = true
	}
}

func TestRandomnessThatFailsCreatesNothing(t *testing.T) {
	f := open(t)
	f.random = strings.NewReader("too short")
	if _, _, _, err := f.OpenCase(f.ctx, "a", "", "bundle.tar.gz", []File{f.file("bundle.tar.gz", "1")}); err == nil {
		t.Error("no error")
	}
	f.wantEmpty("cases")
}

func TestSettingsAreRemembered(t *testing.T) {
	f := open(t)
	if v, set, err := f.Setting(f.ctx, "samples"); v != "" || set || err != nil {
		t.Errorf("got %q, %v, %v", v, set, err)
	}
	f.ok(f.SetSetting(f.ctx, "samples", "1"))
	f.ok(f.SetSetting(f.ctx, "samples", "2"))
	f.close()
	f.reopen()
	if v, set, err := f.Setting(f.ctx, "samples"); v != "2" || !set || err != nil {
		t.Errorf("got %q, %v, %v", v, set, err)
	}
}

func TestAnAnswerIsRepeatedForADay(t *testing.T) {
	f := open(t)
	first := Answer{RequestHash: "abc", Status: 201, Body: []byte(`{"owner_key":"top-secret"}`)}
	f.ok(f.Remember(f.ctx, "key-1", first))
	f.ok(f.Remember(f.ctx, "key-1", Answer{RequestHash: "other", Status: 500}))
	got, known, err := f.Recall(f.ctx, "key-1")
	f.ok(err)
	if !known {
		t.Fatal("forgotten at once")
	}
	wantEqual(t, first, got)
	if _, known, err := f.Recall(f.ctx, "key-2"); known || err != nil {
		t.Errorf("another key: got %v, %v", known, err)
	}
	f.clock.advance(24*time.Hour - time.Second)
	if _, known, _ := f.Recall(f.ctx, "key-1"); !known {
		t.Error("forgotten within the day")
	}
	f.clock.advance(time.Second)
	if _, known, _ := f.Recall(f.ctx, "key-1"); known {
		t.Error("repeated after a day")
	}
	second := Answer{RequestHash: "new", Status: 200, Body: []byte("b")}
	f.ok(f.Remember(f.ctx, "key-1", second))
	if got, _, err := f.Recall(f.ctx, "key-1"); err != nil || got.RequestHash != "new" {
		t.Errorf("an expired answer was not replaced: %+v, %v", got, err)
	}
	f.clock.advance(25 * time.Hour)
	f.ok(f.Sweep(f.ctx))
	f.wantEmpty("answer")
}

// grep looks for a text in every file of the data directory.
func grep(t testing.TB, dir, text string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if bytes.Contains(content, []byte(text)) {
			files = append(files, filepath.Base(path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestOwnerKeysAreNowhereStoredInTheClear(t *testing.T) {
	f := openFile(t)
	c, _, key, err := f.OpenCase(f.ctx, "a title to be found", "", "bundle.tar.gz", []File{f.file("bundle.tar.gz", "1")})
	f.ok(err)
	_, linkKey, err := f.CreatePermalink(f.ctx, Permalink{CaseID: c.ID, Record: []byte(`{}`)})
	f.ok(err)
	f.ok(f.Remember(f.ctx, "idempotency-key", Answer{Body: []byte(key)}))
	if len(grep(t, f.dir, "a title to be found")) == 0 {
		t.Fatal("the search in the files finds nothing at all")
	}
	for _, secret := range []string{key, linkKey, "idempotency-key"} {
		if files := grep(t, f.dir, secret); len(files) > 0 {
			t.Errorf("%q stands in %v", secret, files)
		}
	}
}

func TestAContextThatEndedIsSaidAsSuch(t *testing.T) {
	f := open(t)
	ctx, cancel := context.WithCancel(f.ctx)
	cancel()
	if _, _, _, err := f.OpenCase(ctx, "a", "", "bundle.tar.gz", []File{f.file("bundle.tar.gz", "1")}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if _, _, err := f.Cases(ctx, CaseQuery{Limit: 1}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// BenchmarkOpen opens an existing database, which is what a user waits for after
// `leakdiff serve`.
func BenchmarkOpen(b *testing.B) {
	f := open(b)
	for i := range 20 {
		c := f.newCase(strconv.Itoa(i))
		f.filled(c.ID, strconv.Itoa(i), kubeletResult("2", "3", "4"))
	}
	for b.Loop() {
		f.close()
		f.reopen()
	}
}

func childCommand(t testing.TB, dir, role string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childVariable+"="+dir, childRoleVariable+"="+role)
	cmd.Stderr = os.Stderr
	return cmd
}

func TestWhatNoServerMadeIsNotMadeByWhoWantsItThere(t *testing.T) {
	dir := t.TempDir()
	_, err := Open(t.Context(), Config{Dir: dir, Existing: true})
	wantCode(t, err, "not_found")
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("it made %v, %v", left, err)
	}
	database := cluster.Start(t).Database(t)
	for range 2 { // the first one makes no tables
		_, err := Open(t.Context(), Config{Dir: t.TempDir(), Database: database, Existing: true})
		wantCode(t, err, "no_database")
	}
}
