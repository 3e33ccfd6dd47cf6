package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"leakdiff/analysis"
)

// Case is a named set of bundles, usually one ticket.
type Case struct {
	ID    string
	Title string
	// Sample is the name of the sample in the case, empty for uploads.
	Sample           string
	Created, Updated time.Time
	// Revision changes whenever a bundle of the case is added, removed or read, or loses members.
	// A value never repeats.
	Revision int64
	// Ticket and Archived are fields that users edit.
	Ticket   string
	Archived bool
	Summary
}

// CountedCase is a case in a list. To count grows with the case, and reading a Case does not.
type CountedCase struct {
	Case
	// Bundles counts all bundles, Snapshots the distinct snapshots in finished ones.
	Bundles, Snapshots int
}

// Summary is the last analysis of a case as the list of cases shows it. The store caches it
// without interpreting it.
type Summary struct {
	Headline, Verdict string
	// State is what became of the case in a word or two.
	State string
	// Process and Host name those of the case.
	Process, Host   string
	Lowest, Highest int
	Spark           []int
	// Lower marks the entries of Spark that are lower bounds; empty if none is.
	Lower []bool
	// Aside counts the growing families marked benign, if no other family grows.
	Aside int
	// Endings are the non-stable outcomes of families; reading a Case leaves them empty.
	Endings []Ending
	// Objects are the types of objects of each series; reading a Case leaves them empty.
	Objects []ObjectCount
	// Knowledge is the version of the catalogue behind the summary.
	Knowledge string
}

// Ending is the outcome of a family in a case.
type Ending struct {
	Process, Fingerprint, Verdict string
	// Recovered means that the cause went away within the series.
	Recovered bool
	// Rise is by how much the report says that the family rose, 0 if it recovered. Reading an
	// ending leaves it empty.
	Rise int
	// Snapshot is the id of the last one of its series. It finds the host; reading an ending
	// leaves it empty.
	Snapshot string
}

// ObjectCount is a type of objects in a series.
type ObjectCount struct {
	Name, Type  string
	First, Last ObjectSight
	// Version is that of the program at the last sight, or empty.
	Version string
	// Verdict is their non-stable outcome, or empty. Recovered is as of an Ending.
	Verdict   string
	Recovered bool
}

// ObjectSight is a snapshot, by its id, with a number of objects.
type ObjectSight struct {
	Snapshot string
	Count    int
}

// newCase generates the id and the owner key of a case, and the key's hash.
func (s *Store) newCase(title, sample string) (c Case, ownerKey string, hash []byte, err error) {
	id, err := s.newID("c")
	if err != nil {
		return Case{}, "", nil, err
	}
	ownerKey, hash, err = s.newKey()
	now := s.time()
	return Case{ID: id, Title: title, Sample: sample, Created: now, Updated: now}, ownerKey, hash, err
}

const createCaseSQL = `
INSERT INTO cases (id, title, sample, owner_hash, created_at, updated_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?5)`

// Case returns a case, or *analysis.Fault with Code "not_found".
func (s *Store) Case(ctx context.Context, id string) (c Case, err error) {
	err = s.read(ctx, "reading a case", func(tx *sql.Tx) error {
		found, err := collect(ctx, tx, scanCase, caseSQL, id)
		if err == nil && len(found) == 0 {
			return notFound("case", id)
		}
		if err == nil {
			c = found[0]
		}
		return err
	})
	return c, err
}

const caseColumns = `
SELECT c.id, c.title, c.sample, c.created_at, c.updated_at, c.revision,
       c.headline, c.verdict, c.state, c.process, c.host, c.lowest, c.highest, c.spark, c.lower, c.aside,
       coalesce((SELECT f.value FROM case_field f WHERE f.case_seq = c.seq AND f.field = 'ticket'), ''),
       EXISTS (SELECT 1 FROM case_field f WHERE f.case_seq = c.seq AND f.field = 'archived' AND f.value <> '')`

const caseSQL = caseColumns + `
FROM cases c
WHERE c.id = ?`

func scanCase(rows *sql.Rows) (c Case, err error) { return scanCaseAnd(rows) }

// scanCaseAnd scans the columns of a case and those that follow.
func scanCaseAnd(rows *sql.Rows, more ...any) (c Case, err error) {
	var created, updated int64
	var spark, lower string
	err = rows.Scan(append([]any{&c.ID, &c.Title, &c.Sample, &created, &updated, &c.Revision,
		&c.Headline, &c.Verdict, &c.State, &c.Process, &c.Host, &c.Lowest, &c.Highest, &spark, &lower, &c.Aside, &c.Ticket, &c.Archived}, more...)...)
	if err != nil {
		return c, err
	}
	c.Created, c.Updated = fromMicros(created), fromMicros(updated)
	return c, errors.Join(json.Unmarshal([]byte(spark), &c.Spark), json.Unmarshal([]byte(lower), &c.Lower))
}

// CaseQuery filters cases; the zero value selects all that are not archived. Words match
// anywhere and ignore case.
type CaseQuery struct {
	// Text matches title and ticket, Process and Host match the captured process.
	Text, Process, Host string
	Verdict             string
	// Since and Until bound the time of upload; zero is unbounded.
	Since, Until time.Time
	// Archived selects archived cases, Everything all cases.
	Archived, Everything bool
	// Find matches what a list shows: title, ticket, sentence, process and host.
	Find string
	// Order is that of the cases, the newest first if it is zero.
	Order         Order
	Limit, Offset int
}

// Order is an order of cases.
type Order int

const (
	Newest Order = iota
	ByName
	// ByVerdict puts the worst verdict first.
	ByVerdict
	// ByActivity puts the case first that was changed last.
	ByActivity
)

// orders are the terms of each order, before the newest first.
var orders = map[Order]string{
	Newest: "", ByName: "unicode_lower(c.process), unicode_lower(c.host), unicode_lower(c.title), ",
	ByVerdict: verdictRankSQL() + ", ", ByActivity: "c.updated_at DESC, ",
}

func verdictRankSQL() string {
	var b strings.Builder
	b.WriteString("CASE c.verdict")
	for i, v := range analysis.Verdicts() {
		fmt.Fprintf(&b, " WHEN '%s' THEN %d", v, i)
	}
	return b.String() + " ELSE 99 END"
}

// Cases returns the selected cases in the order of the query, and the total number.
func (s *Store) Cases(ctx context.Context, q CaseQuery) (out []CountedCase, total int, err error) {
	lower := s.engine.lower
	args := []any{lower(q.Text), lower(q.Process), lower(q.Host), q.Verdict,
		microsOrNull(q.Since), microsOrNull(q.Until), q.Archived, q.Everything, lower(q.Find)}
	err = s.read(ctx, "listing cases", func(tx *sql.Tx) error {
		if err := tx.QueryRowContext(ctx, countCasesSQL, args...).Scan(&total); err != nil {
			return err
		}
		out, err = collect(ctx, tx, scanCountedCase, casesSQL(q.Order), append(args, max(q.Limit, 0), q.Offset)...)
		return err
	})
	return out, total, err
}

const chosenCasesSQL = `
WHERE c.deleting = '' AND (?1 = '' OR instr(unicode_lower(c.title), ?1) > 0 OR EXISTS (
        SELECT 1 FROM case_field f WHERE f.case_seq = c.seq AND f.field = 'ticket' AND instr(unicode_lower(f.value), ?1) > 0))
  AND (?2 = '' AND ?3 = '' OR EXISTS (
        SELECT 1 FROM series r
        WHERE r.case_seq = c.seq AND instr(unicode_lower(r.process), ?2) > 0 AND instr(unicode_lower(r.host), ?3) > 0
          AND EXISTS (
            SELECT 1 FROM snapshot s JOIN bundle b ON b.seq = s.bundle_seq AND b.generation = s.generation
            WHERE s.series_seq = r.seq)))
  AND (?4 = '' OR c.verdict = ?4)
  AND (CAST(?5 AS BIGINT) IS NULL OR c.created_at >= ?5) AND (CAST(?6 AS BIGINT) IS NULL OR c.created_at < ?6)
  AND (CAST(?8 AS BIGINT) = 1 OR CAST(?7 AS BIGINT) = CASE WHEN EXISTS (
        SELECT 1 FROM case_field f WHERE f.case_seq = c.seq AND f.field = 'archived' AND f.value <> '') THEN 1 ELSE 0 END)
  AND (?9 = '' OR instr(unicode_lower(c.title || '
' || c.headline || '
' || c.process || '
' || c.host), ?9) > 0 OR EXISTS (
        SELECT 1 FROM case_field f WHERE f.case_seq = c.seq AND f.field = 'ticket' AND instr(unicode_lower(f.value), ?9) > 0))`

const countedColumns = caseColumns + `,
       (SELECT count(*) FROM bundle b WHERE b.case_seq = c.seq),
       (SELECT count(DISTINCT v.id) FROM visible_snapshot v WHERE v.case_seq = c.seq)
FROM cases c`

func scanCountedCase(rows *sql.Rows) (c CountedCase, err error) {
	c.Case, err = scanCaseAnd(rows, &c.Bundles, &c.Snapshots)
	return c, err
}

func casesSQL(by Order) string {
	return countedColumns + chosenCasesSQL + `
ORDER BY ` + orders[by] + `c.created_at DESC, c.seq DESC
LIMIT ?10 OFFSET ?11`
}

const countCasesSQL = `
SELECT count(*) FROM cases c` + chosenCasesSQL

// RenameCase changes the title of a case.
func (s *Store) RenameCase(ctx context.Context, id, title string) error {
	result, err := s.writer.ExecContext(ctx, renameCaseSQL, title, s.time().UnixMicro(), id)
	return fault("renaming a case", affected(result, err, notFound("case", id)))
}

const renameCaseSQL = `
UPDATE cases SET title = ?, updated_at = ? WHERE id = ?`

// SetCaseSummary caches the summary of a case. It does not count as an update of the case.
// revision is that of which it was made: another one than the present does not replace a
// summary of that, and leaves the case to be summarised.
func (s *Store) SetCaseSummary(ctx context.Context, id string, revision int64, sum Summary) error {
	spark, err := json.Marshal(append([]int{}, sum.Spark...))
	lower, lowerErr := json.Marshal(append([]bool{}, sum.Lower...))
	if err = errors.Join(err, lowerErr); err != nil {
		return err
	}
	return s.write(ctx, "keeping a case's summary", func(tx *sql.Tx) error {
		result, err := tx.ExecContext(ctx, setCaseSummarySQL,
			sum.Headline, sum.Verdict, sum.Process, sum.Host, sum.Lowest, sum.Highest, string(spark), string(lower), sum.Aside, sum.Knowledge, revision, id, sum.State)
		if n, err := rowsOf(result, err); err != nil || n == 0 {
			var is bool
			if err == nil {
				err = tx.QueryRowContext(ctx, isCaseSQL, id).Scan(&is)
			}
			if err == nil && !is {
				err = notFound("case", id)
			}
			return err
		}
		for _, query := range []string{forgetEndingsSQL, forgetSeriesEndingsSQL, forgetRisesSQL} {
			if _, err := tx.ExecContext(ctx, query, id); err != nil {
				return err
			}
		}
		for _, e := range sum.Endings {
			if _, err := tx.ExecContext(ctx, addEndingSQL, id, e.Fingerprint, e.Process, e.Verdict, e.Recovered); err != nil {
				return err
			}
			if _, err := tx.ExecContext(ctx, addSeriesEndingSQL, id, e.Snapshot, e.Fingerprint, e.Verdict, e.Recovered); err != nil {
				return err
			}
			if e.Rise > 0 {
				if _, err := tx.ExecContext(ctx, addRiseSQL, id, e.Snapshot, e.Fingerprint, e.Rise); err != nil {
					return err
				}
			}
		}
		return s.countObjects(ctx, tx, id, sum.Objects)
	})
}

const forgetEndingsSQL = `
DELETE FROM ending WHERE case_seq = (SELECT seq FROM cases WHERE id = ?)`

const forgetSeriesEndingsSQL = `
DELETE FROM series_ending
WHERE series_seq IN (SELECT r.seq FROM series r JOIN cases c ON c.seq = r.case_seq WHERE c.id = ?)`

// Several processes of one name on a host are one series here. One that leaks counts, first one
// that did not recover.
const addSeriesEndingSQL = `
INSERT INTO series_ending (fingerprint, series_seq, verdict, recovered)
SELECT ?3, s.series_seq, ?4, ?5
FROM snapshot s
JOIN bundle b ON b.seq = s.bundle_seq AND b.generation = s.generation
JOIN cases c ON c.seq = b.case_seq
WHERE s.id = ?2 AND c.id = ?1
LIMIT 1
ON CONFLICT (fingerprint, series_seq) DO UPDATE SET verdict = excluded.verdict, recovered = excluded.recovered
WHERE series_ending.verdict <> 'leaking' OR series_ending.recovered = 1 AND excluded.verdict = 'leaking'`

const forgetRisesSQL = `
UPDATE family_span SET rise = 0
WHERE rise <> 0 AND series_seq IN (SELECT r.seq FROM series r JOIN cases c ON c.seq = r.case_seq WHERE c.id = ?)`

// Rises of several processes of one series add up, as their counts do.
const addRiseSQL = `
UPDATE family_span SET rise = rise + ?4
WHERE fingerprint = ?3 AND (host, series_seq) IN (
    SELECT r.host, r.seq
    FROM snapshot s
    JOIN bundle b ON b.seq = s.bundle_seq AND b.generation = s.generation
    JOIN cases c ON c.seq = b.case_seq
    JOIN series r ON r.seq = s.series_seq
    WHERE s.id = ?2 AND c.id = ?1)`

const addEndingSQL = `
INSERT INTO ending (case_seq, fingerprint, process, verdict, recovered)
SELECT seq, ?2, ?3, ?4, ?5 FROM cases WHERE id = ?1
ON CONFLICT (case_seq, fingerprint, process) DO UPDATE SET verdict = excluded.verdict, recovered = excluded.recovered`

// CaseEnding is the outcome of a family in a case.
type CaseEnding struct {
	CaseID string
	Ending
}

// mostEndings bounds the number of rows that EndingsOf reads.
const mostEndings = 10_000

// EndingsOf returns the non-stable outcomes of a family in these cases, newest cases first,
// at most ten thousand.
func (s *Store) EndingsOf(ctx context.Context, fingerprint string, caseIDs []string) (out []CaseEnding, err error) {
	ids, err := json.Marshal(append([]string{}, caseIDs...))
	if err != nil {
		return nil, err
	}
	err = s.read(ctx, "reading how a family ended", func(tx *sql.Tx) error {
		out, err = collect(ctx, tx, func(rows *sql.Rows) (e CaseEnding, err error) {
			err = rows.Scan(&e.CaseID, &e.Process, &e.Fingerprint, &e.Verdict, &e.Recovered)
			return e, err
		}, endingsOfSQL, fingerprint, string(ids), mostEndings)
		return err
	})
	return out, err
}

const endingsOfSQL = `
SELECT c.id, e.process, e.fingerprint, e.verdict, e.recovered
FROM cases c
JOIN ending e ON e.case_seq = c.seq
WHERE e.fingerprint = ?1 AND c.id IN (SELECT value FROM json_each(?2))
ORDER BY c.created_at DESC, c.seq DESC, e.process
LIMIT ?3`

const setCaseSummarySQL = `
UPDATE cases
SET headline = ?1, verdict = ?2, process = ?3, host = ?4, lowest = ?5, highest = ?6, spark = ?7, lower = ?8, aside = ?9, knowledge = ?10, state = ?13,
    summarised = CASE WHEN revision = ?11 THEN 1 ELSE 0 END
WHERE id = ?12 AND (revision = ?11 OR summarised = 0)`

const isCaseSQL = `
SELECT EXISTS (SELECT 1 FROM cases WHERE id = ?)`

// CasesToSummarise returns the cases whose results or edits are newer than their summary,
// because its writer is not done or crashed, and those whose summary has another version of
// the catalogue.
func (s *Store) CasesToSummarise(ctx context.Context, knowledge string) (ids []string, err error) {
	err = s.read(ctx, "looking for cases without a summary", func(tx *sql.Tx) error {
		ids, err = collect(ctx, tx, scanOne[string], casesToSummariseSQL, knowledge)
		return err
	})
	return ids, err
}

const casesToSummariseSQL = `
SELECT c.id FROM cases c
WHERE c.deleting = '' AND (c.summarised = 0 OR c.knowledge <> ?)
  AND EXISTS (SELECT 1 FROM bundle b WHERE b.case_seq = c.seq AND b.status = 'done')
ORDER BY c.seq`

// CheckOwner reports whether the key is the one that CreateCase returned. It is false for a
// missing case.
func (s *Store) CheckOwner(ctx context.Context, caseID, key string) (owns bool, err error) {
	var hash []byte
	err = s.reader.QueryRowContext(ctx, caseOwnerSQL, caseID).Scan(&hash)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil && fits(key, hash), fault("checking an owner key", err)
}

const caseOwnerSQL = `
SELECT owner_hash FROM cases WHERE id = ?`
