package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"leakdiff/analysis"
)

// factsVersion is the migration that drops the table snapshot_family. Older databases have a
// row there for each family of each snapshot.
const factsVersion = 16

// repack converts the rows of snapshot_family into facts and members, one batch per
// transaction. After a crash it resumes with the next batch. It logs its progress at an
// interval.
func repack(ctx context.Context, db *sql.DB, log *slog.Logger, every time.Duration) error {
	begun := time.Now()
	said, done, total := begun, 0, 0
	if err := db.QueryRowContext(ctx, unpackedSnapshotsSQL).Scan(&total); err != nil {
		return err
	}
	for {
		n, err := repackBatch(ctx, db, log)
		if err != nil {
			return err
		}
		if n == 0 {
			break
		}
		if done += n; time.Since(said) >= every {
			said = time.Now()
			log.InfoContext(ctx, "snapshots of an older database are packed before the server starts", "done", done, "of", total)
		}
	}
	if took := time.Since(begun); took >= every {
		log.InfoContext(ctx, "snapshots of an older database were packed", "snapshots", done, "took", took.Round(time.Second))
	}
	return nil
}

const unpackedSnapshotsSQL = `
SELECT count(*) FROM snapshot
WHERE seq > coalesce((SELECT CAST(value AS INTEGER) FROM setting WHERE name = 'packed_snapshots'), 0)`

// sayEvery is the interval of progress lines in the log.
const sayEvery = 3 * time.Second

// repackRows is the approximate number of rows in one transaction.
const repackRows = 2000

// repackBatch packs the next snapshots and returns their number, 0 after the last one. The
// setting packed_snapshots is the last packed snapshot.
func repackBatch(ctx context.Context, db *sql.DB, log *slog.Logger) (n int, err error) {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return 0, err
	}
	defer tx.Rollback()
	next, err := collect(ctx, tx, func(rows *sql.Rows) (s oldSnapshot, err error) {
		return s, rows.Scan(&s.seq, &s.caseSeq, &s.id, &s.process, &s.host, &s.captured, &s.visible, &s.head, &s.groups)
	}, oldSnapshotsSQL)
	if err != nil || len(next) == 0 {
		return 0, err
	}
	var p packer
	defer p.close()
	sums := seenSums{}
	rows := 0
	for _, s := range next {
		if rows += s.groups; rows > repackRows && n > 0 {
			break
		}
		if err := s.pack(ctx, tx, &p, sums, log); err != nil {
			return 0, fmt.Errorf("snapshot %s: %w", s.id, err)
		}
		n++
	}
	if err := sums.write(ctx, tx); err != nil {
		return 0, err
	}
	if _, err := tx.ExecContext(ctx, setSettingSQL, "packed_snapshots", strconv.FormatInt(next[n-1].seq, 10)); err != nil {
		return 0, err
	}
	return n, tx.Commit()
}

const oldSnapshotsSQL = `
SELECT s.seq, b.case_seq, s.id, s.process, s.host, s.captured_at, s.generation = b.generation, s.head,
       (SELECT count(*) FROM snapshot_family sf WHERE sf.snapshot_seq = s.seq)
FROM snapshot s
JOIN bundle b ON b.seq = s.bundle_seq
WHERE s.seq > coalesce((SELECT CAST(value AS INTEGER) FROM setting WHERE name = 'packed_snapshots'), 0)
ORDER BY s.seq
LIMIT 64`

// An oldSnapshot has groups in snapshot_family and a JSON head.
type oldSnapshot struct {
	seq, caseSeq      int64
	id, process, host string
	captured          sql.NullInt64
	visible           bool
	head              []byte
	groups            int
}

// pack writes facts and members of a snapshot and deletes its old rows. A damaged snapshot
// keeps its old head and gets no facts, so that only its own case reports an error. Its
// upload can be analysed again.
func (s *oldSnapshot) pack(ctx context.Context, tx *sql.Tx, p *packer, sums seenSums, log *slog.Logger) error {
	series, err := seriesRow(ctx, tx, s.caseSeq, s.process, s.host)
	if err != nil {
		return err
	}
	packed, err := s.packed(ctx, tx, p)
	var damaged *damagedError
	if errors.As(err, &damaged) {
		log.ErrorContext(ctx, "a snapshot is damaged: have its upload read again", "snapshot", s.id, "error", err)
		packed = packedSnapshot{head: s.head, facts: []byte{}}
	} else if err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, packedSQL, packed.head, packed.facts, series, s.seq); err != nil {
		return err
	}
	if len(packed.members) > 0 {
		if _, err := tx.ExecContext(ctx, insertMembersSQL, s.seq, packed.members); err != nil {
			return err
		}
	}
	if s.visible && damaged == nil {
		if err := sums.addFacts(p, series, s.captured, packed.facts); err != nil {
			return err
		}
	} else if _, err := tx.ExecContext(ctx, noteOldFamiliesSQL, s.seq); err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, deleteOldGroupsSQL, s.seq)
	return err
}

const packedSQL = `
UPDATE snapshot SET head = ?, facts = ?, series_seq = ? WHERE seq = ?`

// The families of an invisible snapshot may be unused.
const noteOldFamiliesSQL = `
INSERT OR IGNORE INTO family_to_forget
SELECT family_seq FROM snapshot_family WHERE snapshot_seq = ?`

const deleteOldGroupsSQL = `
DELETE FROM snapshot_family WHERE snapshot_seq = ?`

// damagedError means damaged content of a row, not a failing database.
type damagedError struct{ err error }

func (e *damagedError) Error() string { return e.err.Error() }
func (e *damagedError) Unwrap() error { return e.err }

type packedSnapshot struct{ head, facts, members []byte }

func (s *oldSnapshot) packed(ctx context.Context, tx *sql.Tx, p *packer) (out packedSnapshot, err error) {
	head, err := unpackOldHead(p, s.head)
	if err != nil {
		return out, &damagedError{err}
	}
	if out.head, err = packHead(p, head); err != nil {
		return out, err
	}
	old := oldGroups{p: p, set: memberSetWriter{p: p}}
	if _, err := collect(ctx, tx, old.scan, oldGroupsSQL, s.seq); err != nil {
		return out, err
	}
	if err := old.set.flush(); err != nil {
		return out, err
	}
	out.members = old.set.out
	out.facts, err = packFacts(p, old.groups, old.words, old.members)
	return out, err
}

// unpackOldHead reads a head in packed JSON.
func unpackOldHead(p *packer, blob []byte) (*analysis.Snapshot, error) {
	var head oldHead
	if err := p.unpackJSON(blob, &head); err != nil {
		return nil, err
	}
	if len(head.Figures) > 0 {
		head.Snapshot.Figures = map[string]float64{}
		for name, v := range head.Figures {
			head.Snapshot.Figures[name] = float64(v)
		}
	}
	return &head.Snapshot, nil
}

// oldHead is a snapshot without groups, in JSON that can represent every figure.
type oldHead struct {
	analysis.Snapshot
	Figures map[string]oldFigure `json:"figures,omitempty"`
}

// oldFigure is a number as text, because metrics may be NaN and limits infinite.
type oldFigure float64

func (f *oldFigure) UnmarshalText(text []byte) error {
	v, err := strconv.ParseFloat(string(text), 64)
	*f = oldFigure(v)
	return err
}

// oldGroups collects the rows of one snapshot.
type oldGroups struct {
	p       *packer
	groups  []analysis.Group
	words   []groupWords
	members []int
	set     memberSetWriter
}

const oldGroupsSQL = `
SELECT place, family_seq, count, states, waits, oldest, leaked, variants, member_count, members
FROM snapshot_family
WHERE snapshot_seq = ?
ORDER BY place`

func (o *oldGroups) scan(rows *sql.Rows) (none struct{}, err error) {
	var g analysis.Group
	var w groupWords
	var states, waits, variants, members sql.RawBytes
	var place, count int
	err = rows.Scan(&place, &w.family, &g.Count, &states, &waits, &g.OldestWait, &g.Leaked, &variants, &count, &members)
	if err != nil {
		return none, err
	}
	if err := o.add(place, g, w, count, states, waits, variants, members); err != nil {
		return none, &damagedError{err}
	}
	return none, nil
}

func (o *oldGroups) add(place int, g analysis.Group, w groupWords, count int, states, waits, variants, members []byte) error {
	if place != len(o.groups) {
		return fmt.Errorf("family %d has the place %d", len(o.groups), place)
	}
	if err := errors.Join(json.Unmarshal(states, &g.States), json.Unmarshal(waits, &g.Waits)); err != nil {
		return err
	}
	list, err := readSeqs(variants)
	if err != nil {
		return err
	}
	if len(list) == 0 || int64(len(list)-1) != 2*list[0] {
		return errors.New("list of variants is damaged")
	}
	w.variants = list[1:]
	// A large family is copied unchanged; its reader detects damage.
	if count > streamFrom {
		o.set.part(isLarge, members)
	} else {
		m, err := openMembers(o.p, members, count)
		if err != nil {
			return err
		}
		if err := o.set.add(&m); err != nil {
			return err
		}
	}
	o.groups, o.words, o.members = append(o.groups, g), append(o.words, w), append(o.members, count)
	return nil
}
