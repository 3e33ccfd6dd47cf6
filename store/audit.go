package store

import (
	"context"
	"database/sql"
	"time"
)

// AuditEntry is one row of the audit log: who did what, when, from where. It holds ids,
// routes and names of accounts, and no evidence.
type AuditEntry struct {
	// Number rises and is never given twice.
	Number int64
	At     time.Time
	// Account is "user alice", "token ci" or how somebody without a name was admitted.
	Account, Role string
	// Action is one word; Subject are the ids that it was done to.
	Action, Subject string
	// Route is the method with the pattern of the address, "" for the command line. Status
	// is that of the answer.
	Route  string
	Status int
	// Sender is an address, Request the id of the request in the log.
	Sender, Request string
}

// Bounds of the audit log. Older rows are deleted.
const (
	auditRows = 100_000
	auditTime = 365 * 24 * time.Hour
	// auditBatch is how many rows one transaction deletes.
	auditBatch = 1000
)

// Audit appends to the audit log. Number and At are set here.
func (a *Accounts) Audit(ctx context.Context, e AuditEntry) error {
	return a.write(ctx, "writing the audit log", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, addAuditSQL, a.time().UnixMicro(), e.Account, e.Role, e.Action, e.Subject, e.Route, e.Status, e.Sender, e.Request)
		return err
	})
}

const addAuditSQL = `
INSERT INTO audit (at, account, role, action, subject, route, status, sender, request)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`

// AuditQuery chooses rows of the audit log. Zero fields choose all.
type AuditQuery struct {
	// Before and After bound the numbers, without themselves.
	Before, After int64
	// Oldest puts the oldest first, else the newest come first.
	Oldest bool
	// Action is a word, Text a part of the account, the subject or the sender.
	Action, Text string
	Limit        int
}

// AuditLog reads the audit log.
func (a *Accounts) AuditLog(ctx context.Context, q AuditQuery) ([]AuditEntry, error) {
	order := newestAuditSQL
	if q.Oldest {
		order = oldestAuditSQL
	}
	rows, err := a.reader.QueryContext(ctx, auditSQL+order, q.Before, q.After, q.Action, q.Text, q.Limit)
	if err != nil {
		return nil, fault("reading the audit log", err)
	}
	defer rows.Close()
	var out []AuditEntry
	for rows.Next() {
		var e AuditEntry
		var at int64
		if err := rows.Scan(&e.Number, &at, &e.Account, &e.Role, &e.Action, &e.Subject, &e.Route, &e.Status, &e.Sender, &e.Request); err != nil {
			return nil, fault("reading the audit log", err)
		}
		e.At = fromMicros(at)
		out = append(out, e)
	}
	return out, fault("reading the audit log", rows.Err())
}

const auditSQL = `
SELECT seq, at, account, role, action, subject, route, status, sender, request
FROM audit
WHERE (?1 = 0 OR seq < ?1) AND seq > ?2 AND (?3 = '' OR action = ?3)
  AND (?4 = '' OR instr(account, ?4) > 0 OR instr(subject, ?4) > 0 OR instr(sender, ?4) > 0)
`

const (
	newestAuditSQL = `ORDER BY seq DESC LIMIT ?5`
	oldestAuditSQL = `ORDER BY seq LIMIT ?5`
)

// TrimAudit deletes rows of the audit log that are older than a year or beyond 100,000, in
// batches.
func (a *Accounts) TrimAudit(ctx context.Context) error {
	for {
		var n int64
		err := a.write(ctx, "trimming the audit log", func(tx *sql.Tx) (err error) {
			n, err = rowsOf(tx.ExecContext(ctx, trimAuditSQL, a.time().Add(-auditTime).UnixMicro(), auditRows, auditBatch))
			return err
		})
		if err != nil || n < auditBatch {
			return err
		}
	}
}

// Rows have consecutive numbers, apart from those that a rollback left out.
const trimAuditSQL = `
DELETE FROM audit WHERE seq IN (
    SELECT seq FROM audit
    WHERE at < ?1 OR seq <= (SELECT max(seq) FROM audit) - ?2
    ORDER BY seq LIMIT ?3)`
