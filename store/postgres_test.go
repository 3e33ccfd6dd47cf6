package store

import (
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"leakdiff/analysis"
	"leakdiff/internal/test/cluster"
	"leakdiff/internal/test/gateway"
	"leakdiff/samples/corpus"
)

// everyStatement is set where all tests of this package run on PostgreSQL too.
const everyStatement = "LEAKDIFF_ENGINES"

// shortForm are the tests that always run on PostgreSQL: one of each kind of statement.
var shortForm = []string{
	"TestCasesAreListedNewestFirstInPages", "TestTheListOfCasesIsChosenByWhatTheyHold", "TestDeletingACaseRemovesEveryTraceOfIt",
	"TestAReanalysisReplacesTheResultOnlyWhenItIsComplete", "TestNobodySeesASnapshotBeforeTheJobIsFinished", "TestLettersOfEveryScriptAreFoundWithoutRegardToCase",
	"TestTheFleetIsChosenAndSorted", "TestAWordFindsWhatPeopleCallSo", "TestSearchFindsFamiliesThatHoldEveryWord", "TestSearchFindsCasesAndProcesses", "TestTypesOfObjectsAreCountedOverAllHosts", "TestWhatIsSeenOfFamiliesFollowsEveryChange", "TestWordsThatAreNoLongerRememberedAreKeptOnce",
	"TestAHostLeaksAsItsLatestSeriesSays", "TestASampleNeitherBeginsAnAlertNorEndsOne", "TestLeaksAreThoseOfProcessesOfCases", "TestALeakThatRecoveredWithinItsCapturesIsChosenOnlyOnRequest", "TestADeliveryIsRepeatedUntilItIsDoneOrADayOld",
	"TestMembersAreDroppedAfterSomeDaysAndNothingElse", "TestUploadsAreDroppedAfterSomeDaysAndTheirHashesStay",
	"TestTheCasesOfAHostAreFoundTheNewestCapturesFirst", "TestAnEventOfAnAlertIsAddedOnce", "TestTheNewestEventsOfAlertsStayAndTakeNobodysRoom",
}

// TestTheTestsPassOnPostgreSQL runs this program again with a server, on which each test has
// a database of its own.
func TestTheTestsPassOnPostgreSQL(t *testing.T) {
	if os.Getenv(serverVariable) != "" {
		return // it is that run
	}
	corpus.Heavy(t)
	server := cluster.Start(t)
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	chosen := "^(" + strings.Join(shortForm, "|") + ")$"
	if os.Getenv(everyStatement) != "" {
		chosen = "."
	}
	cmd := exec.Command(program, "-test.run", chosen, "-test.count", "1", "-test.v")
	cmd.Env = append(os.Environ(), serverVariable+"="+server.Address)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	passed := len(regexp.MustCompile(`(?m)^--- PASS`).FindAll(out, -1))
	if t.Logf("%d tests passed", passed); passed < len(shortForm) {
		t.Errorf("%d tests passed, %d are chosen", passed, len(shortForm))
	}
}

func TestADatabaseOfPostgreSQL(t *testing.T) {
	corpus.Heavy(t)
	server := cluster.Start(t)
	for _, c := range []struct {
		name  string
		proof func(*testing.T, *cluster.Cluster)
	}{
		{"has the tables, columns, keys and indexes of a file", bothEnginesHaveTheSameTables},
		{"beside uploads needs leave to be new", aNewDatabaseBesideUploadsNeedsLeave},
		{"that there is not, or not for this role, is told from one that is away", aMissingDatabaseIsToldFromOneThatIsAway},
		{"repeats a transaction that others disturb as a whole", aTransactionThatOthersDisturbIsRepeated},
		{"that loses its connection at a commit is asked what became of it", aCommitOfUnknownOutcomeIsAskedFor},
		{"whose connection ends without a word is busy", aConnectionThatEndsWithoutAWordIsBusy},
		{"serves one server at a time", aDatabaseServesOneServerAtATime},
	} {
		t.Run(c.name, func(t *testing.T) { c.proof(t, server) })
	}
}

// tableColumn is what both engines know of a column.
type tableColumn struct {
	Type     string
	Required bool
}

func bothEnginesHaveTheSameTables(t *testing.T, server *cluster.Cluster) {
	file, other := openFile(t), openOn(t, server.Database(t))
	wantEqual(t, columnsOf(file, columnsOfSQLite), columnsOf(other, columnsOfPostgres))
	wantEqual(t, keysOf(file, keysOfSQLite), keysOf(other, keysOfPostgres))
	wantEqual(t, keysOf(file, indexesOfSQLite), keysOf(other, indexesOfPostgres))
}

func columnsOf(f *fixture, query string) map[string]tableColumn {
	f.t.Helper()
	out := map[string]tableColumn{}
	rows, err := f.reader.QueryContext(f.ctx, query)
	f.ok(err)
	defer rows.Close()
	for rows.Next() {
		var name string
		var c tableColumn
		f.ok(rows.Scan(&name, &c.Type, &c.Required))
		out[name] = c
	}
	f.ok(rows.Err())
	if len(out) < 100 {
		f.t.Fatalf("%d columns", len(out))
	}
	return out
}

// The key of a table is required, whether SQLite is told so or not. The full text is that of
// SQLite alone, the version that of PostgreSQL.
const columnsOfSQLite = `
SELECT m.name || '.' || c.name, CASE c.type WHEN 'INTEGER' THEN 'bigint' WHEN 'TEXT' THEN 'text' WHEN 'BLOB' THEN 'bytea' ELSE c.type END,
       c."notnull" = 1 OR c.pk > 0
FROM sqlite_schema m JOIN pragma_table_info(m.name) c
WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%' AND m.name NOT LIKE '%!_text%' ESCAPE '!'`

const columnsOfPostgres = `
SELECT table_name || '.' || column_name, data_type, is_nullable = 'NO'
FROM information_schema.columns
WHERE table_schema = 'public' AND table_name NOT IN ('schema_version', 'visible_snapshot')`

func keysOf(f *fixture, query string) []string {
	f.t.Helper()
	rows, err := f.reader.QueryContext(f.ctx, query)
	f.ok(err)
	defer rows.Close()
	out := map[string]bool{}
	for rows.Next() {
		var key string
		f.ok(rows.Scan(&key))
		out[key] = true
	}
	f.ok(rows.Err())
	if len(out) == 0 {
		f.t.Fatal("no keys")
	}
	return slices.Sorted(maps.Keys(out))
}

const keysOfSQLite = `
SELECT m.name || '.' || k."from" || ' -> ' || k."table" || ', ' || k.on_delete
FROM sqlite_schema m JOIN pragma_foreign_key_list(m.name) k
WHERE m.type = 'table'`

const keysOfPostgres = `
SELECT c.conrelid::regclass || '.' || a.attname || ' -> ' || c.confrelid::regclass || ', ' ||
       CASE c.confdeltype WHEN 'c' THEN 'CASCADE' WHEN 'n' THEN 'SET NULL' WHEN 'a' THEN 'NO ACTION' ELSE c.confdeltype::text END
FROM pg_constraint c JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = c.conkey[1]
WHERE c.contype = 'f'`

// An index is its table, its columns, and whether it is unique. A row number of SQLite is no
// index.
const indexesOfSQLite = `
SELECT m.name || ' (' || (SELECT group_concat(name, ', ') FROM (SELECT name FROM pragma_index_info(i.name) ORDER BY seqno)) || ')' ||
       CASE i."unique" WHEN 1 THEN ' unique' ELSE '' END || CASE i.partial WHEN 1 THEN ' partial' ELSE '' END
FROM sqlite_schema m JOIN pragma_index_list(m.name) i
WHERE m.type = 'table' AND m.name NOT LIKE '%!_text%' ESCAPE '!'
UNION
SELECT m.name || ' (' || c.name || ') unique'
FROM sqlite_schema m JOIN pragma_table_info(m.name) c
WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%' AND m.name NOT LIKE '%!_text%' ESCAPE '!' AND c.pk = 1 AND c.type = 'INTEGER'
  AND (SELECT count(*) FROM pragma_table_info(m.name) WHERE pk > 0) = 1`

const indexesOfPostgres = `
SELECT i.indrelid::regclass || ' (' || string_agg(a.attname, ', ' ORDER BY k.at) || ')' ||
       CASE WHEN i.indisunique THEN ' unique' ELSE '' END || CASE WHEN i.indpred IS NOT NULL THEN ' partial' ELSE '' END
FROM pg_index i
CROSS JOIN unnest(i.indkey::int[]) WITH ORDINALITY k (number, at)
JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.number
JOIN pg_class t ON t.oid = i.indrelid
WHERE t.relnamespace = 'public'::regnamespace AND t.relname <> 'schema_version'
GROUP BY i.indexrelid, i.indrelid, i.indisunique, i.indpred`

func aDatabaseServesOneServerAtATime(t *testing.T, server *cluster.Cluster) {
	address := server.Database(t)
	first := openOn(t, address)
	c := first.newCase("before")
	_, err := Open(t.Context(), Config{Dir: t.TempDir(), Database: address})
	wantCode(t, err, "locked")

	server.Stop(t)
	wantCode(t, first.write(t.Context(), "writing", func(*sql.Tx) error { return nil }), "busy")
	server.Run(t)
	second := openOn(t, address)
	if _, err := second.Case(t.Context(), c.ID); err != nil {
		t.Errorf("the case of the first server: %v", err)
	}
	wantCode(t, first.RenameCase(t.Context(), c.ID, "late"), "locked")
	second.close()
	// PostgreSQL takes a moment to see that the connections of the other server ended.
	err = first.RenameCase(t.Context(), c.ID, "in time")
	for ; code(err) == "locked"; err = first.RenameCase(t.Context(), c.ID, "in time") {
		time.Sleep(10 * time.Millisecond)
	}
	if err != nil {
		t.Errorf("after the other server ended: %v", err)
	}
}

func aNewDatabaseBesideUploadsNeedsLeave(t *testing.T, server *cluster.Cluster) {
	f := openOn(t, server.Database(t))
	f.upload(f.newCase("a").ID, "x")
	f.close()
	cfg := Config{Dir: f.dir, Database: server.Database(t)}
	_, err := Open(t.Context(), cfg)
	wantCode(t, err, "no_database")
	cfg.NewDatabase = true
	again, err := Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}

func TestAddressesThatCannotBeOpenedAreExplained(t *testing.T) {
	for address, want := range map[string]string{
		"postgres://u:secret@127.0.0.1:1/none":            "busy",
		"postgres://u:secret@127.0.0.1:nonsense/x":        "usage",
		"postgres://u:secret@127.0.0.1/x?sslmode=perhaps": "usage",
	} {
		_, err := Open(t.Context(), Config{Dir: t.TempDir(), Database: address})
		wantCode(t, err, want)
		if said := fmt.Sprint(err); strings.Contains(said, "secret") || want == "busy" && strings.Contains(said, "127.0.0.1") {
			t.Errorf("the password or the address is in %v", err)
		}
	}
}

func aMissingDatabaseIsToldFromOneThatIsAway(t *testing.T, server *cluster.Cluster) {
	missing, stranger := must[*url.URL](t)(url.Parse(server.Address)), must[*url.URL](t)(url.Parse(server.Address))
	missing.Path, stranger.User = "/no such one", url.User("nobody")
	for address, want := range map[*url.URL][]string{
		missing:  {`database "no such one" does not exist`, `CREATE DATABASE "no such one" OWNER "postgres"`},
		stranger: {`role "nobody" does not exist`, "Create the role"},
	} {
		_, err := Open(t.Context(), Config{Dir: t.TempDir(), Database: address.String()})
		_, beside := OpenAccountsOf(t.Context(), address.String())
		for _, err := range []error{err, beside} {
			wantCode(t, err, "usage")
			for _, words := range append(want, "PostgreSQL refused the connection") {
				if said := fmt.Sprint(err); !strings.Contains(said, words) || strings.Contains(said, "does not answer") {
					t.Errorf("%q is missing in %v", words, err)
				}
			}
		}
	}
}

func TestAWrongPasswordIsToldFromADatabaseThatIsAway(t *testing.T) {
	const address = "postgres://leakdiff@db/leakdiff"
	wrong := fmt.Errorf("connecting: %w", &pgconn.PgError{Code: "28P01", Message: `password authentication failed for user "leakdiff"`})
	if said := fmt.Sprint(refusedConnection(address, wrong)); !strings.Contains(said, `failed for user "leakdiff"`) || !strings.Contains(said, "PGPASSWORD") {
		t.Error(said)
	}
	for _, other := range []error{&pgconn.PgError{Code: "57P03"}, errors.New("no route")} {
		if got := refusedConnection(address, other); got != other {
			t.Errorf("%v became %v", other, got)
		}
	}
}

func aCommitOfUnknownOutcomeIsAskedFor(t *testing.T, server *cluster.Cluster) {
	address := must[*url.URL](t)(url.Parse(server.Database(t)))
	proxy := gateway.NewProxy(t, address.Host)
	address.Host = proxy.Address()
	f := openOn(t, address.String())
	c := f.newCase("c")
	file := f.file("x", "content")
	proxy.LoseAnswer("commit")
	b, _, err := f.AddBundle(f.ctx, c.ID, "x", []File{file})
	proxy.Pass()
	f.ok(err)
	if got := must[[]Bundle](t)(f.Bundles(f.ctx, c.ID)); len(got) != 1 || got[0].ID != b.ID {
		t.Errorf("the case has %+v, acknowledged was %s", got, b.ID)
	}
	// What the database did not take is not acknowledged.
	_, _, err = f.AddBundle(f.ctx, "c0", "x", []File{file})
	wantCode(t, err, "not_found")
}

// A pooler that loses the server closes the connections of its clients so.
func aConnectionThatEndsWithoutAWordIsBusy(t *testing.T, server *cluster.Cluster) {
	address := must[*url.URL](t)(url.Parse(server.Database(t)))
	proxy := gateway.NewProxy(t, address.Host)
	address.Host = proxy.Address()
	f := openOn(t, address.String())
	c := f.newCase("c")
	proxy.LoseAnswer("headline")
	_, err := f.Case(f.ctx, c.ID)
	proxy.Pass()
	wantCode(t, err, "busy")
	if _, err := f.Case(f.ctx, c.ID); err != nil {
		t.Error(err)
	}
}

func aTransactionThatOthersDisturbIsRepeated(t *testing.T, server *cluster.Cluster) {
	f := openOn(t, server.Database(t))
	c := f.newCase("disturbed")
	f.upload(c.ID, "one")
	claimed, _, err := f.ClaimJob(f.ctx)
	f.ok(err)
	other, err := sql.Open("pgx", f.database)
	f.ok(err)
	defer other.Close()
	r, want := kubeletResult("2"), kubeletResult("2")
	var p packer
	defer p.close()
	attempts, done := 0, encodings{}
	f.ok(f.write(f.ctx, "writing", func(tx *sql.Tx) error {
		attempts++
		target, err := f.own(f.ctx, tx, claimed)
		if err != nil {
			return err
		}
		if attempts == 1 {
			_, err := other.ExecContext(f.ctx, `UPDATE bundle SET name = 'renamed'`)
			f.ok(err)
		}
		sums := newJobSums()
		if err := f.insertSnapshots(f.ctx, tx, &p, target, sums, []*analysis.Snapshot{&r.Snapshots[0]}, done); err != nil {
			return err
		}
		return f.publish(f.ctx, tx, &p, target, sums, r)
	}))
	if attempts < 2 {
		t.Errorf("%d attempts", attempts)
	}
	wantEqual(t, want.Snapshots, must[[]analysis.Snapshot](t)(f.full(c.ID)))
	f.wantSound()
}
