package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"leakdiff/analysis"
)

// AlertRule says when a family leaks on too many hosts.
type AlertRule struct {
	// Hosts is the number that more hosts begin an alert. It ends at half of it or less: a
	// host that comes and goes must not begin and end one each time.
	Hosts int
	// Since leaves out series that showed the family earlier for the last time.
	Since time.Time
}

// ends is the number of hosts at which an alert ends.
func (r AlertRule) ends() int { return r.Hosts / 2 }

// Alert is the begin or the end of a leak on many hosts.
type Alert struct {
	// ID is that of the delivery.
	ID          string
	Started     bool
	Fingerprint string
	// Title and Kind are empty if no capture shows the family any more.
	Title string
	Kind  analysis.Kind
	// Hosts counts the hosts on which the family leaks. Named are those of the largest
	// growth, at most ten.
	Hosts int
	Named []string
	// At is now, Since when the alert began.
	At, Since time.Time
}

const mostNamedHosts = 10

// JudgeAlerts begins and ends alerts, and queues a delivery with the body of each in the
// same transaction. It returns their number. A host counts if captures of a program there were
// judged to leak, still at the last one. It counts no more if a later series of enough captures
// has the program without the family, or with a verdict that ends a leak: a case that has just
// begun decides nothing.
func (s *Store) JudgeAlerts(ctx context.Context, rule AlertRule, body func(Alert) ([]byte, error)) (changed int, err error) {
	found, err := s.changedAlerts(ctx, rule)
	if err != nil || len(found) == 0 {
		return 0, err
	}
	bodies := make([]string, len(found))
	for i := range found {
		if found[i].ID, err = s.newID("d"); err != nil {
			return 0, err
		}
		text, err := body(found[i])
		if err != nil {
			return 0, err
		}
		bodies[i] = string(text)
	}
	err = s.write(ctx, "queueing alerts", func(tx *sql.Tx) error {
		changed = 0
		for i, a := range found {
			query, args := beginAlertSQL, []any{a.Fingerprint, a.At.UnixMicro()}
			if !a.Started {
				query, args = endAlertSQL, args[:1]
			}
			n, err := rowsOf(tx.ExecContext(ctx, query, args...))
			if err != nil {
				return err
			}
			if n == 0 {
				continue // another server was faster
			}
			if _, err := tx.ExecContext(ctx, queueDeliverySQL, a.ID, a.Fingerprint, bodies[i], a.At.UnixMicro()); err != nil {
				return err
			}
			changed++
		}
		return nil
	})
	return changed, err
}

// changedAlerts returns the alerts that begin or end now, by fingerprint.
func (s *Store) changedAlerts(ctx context.Context, rule AlertRule) (out []Alert, err error) {
	now, since := s.time(), rule.Since.UnixMicro()
	err = s.read(ctx, "counting hosts with a leak", func(tx *sql.Tx) error {
		out, err = collect(ctx, tx, func(rows *sql.Rows) (a Alert, err error) {
			var began sql.NullInt64
			err = rows.Scan(&a.Fingerprint, &a.Hosts, &began)
			a.Started, a.At, a.Since = !began.Valid, now, now
			if began.Valid {
				a.Since = fromMicros(began.Int64)
			}
			return a, err
		}, changedAlertsSQL, since, decisiveCaptures-1, rule.Hosts, rule.ends())
		if err != nil {
			return err
		}
		for i := range out {
			a := &out[i]
			if a.Named, err = collect(ctx, tx, scanOne[string], alertHostsSQL, since, decisiveCaptures-1, a.Fingerprint, mostNamedHosts); err != nil {
				return err
			}
			err := tx.QueryRowContext(ctx, alertFamilySQL, a.Fingerprint).Scan(&a.Title, &a.Kind)
			if err != nil && !errors.Is(err, sql.ErrNoRows) {
				return err
			}
		}
		return nil
	})
	return out, err
}

// leakingSQL is the table leaking (fingerprint, host, growth), a row for each program of a host
// in which a family leaks since ?1 by its last series that decides: unless the leak ended within
// the captures of that, or a later one that is summed up and has more than ?2 captures shows no
// growth. A family that a person called benign accuses nobody. Samples are of nobody's hosts.
// The leaking series of a program are first made one, as each case of a day may have one.
func leakingSQL(condition string) string {
	return `
WITH leak AS MATERIALIZED (
    SELECT e.fingerprint, r.host, r.process, max(p.last) AS last, max(` + growthSQL + `) AS growth
    FROM series_ending e
    CROSS JOIN series r ON r.seq = e.series_seq
    CROSS JOIN cases c ON c.seq = r.case_seq
    CROSS JOIN family_span p ON p.fingerprint = e.fingerprint AND p.host = r.host AND p.series_seq = r.seq
    WHERE e.verdict = 'leaking' AND e.recovered = 0 AND c.deleting = '' AND c.sample = '' AND p.last >= ?1 AND r.host <> ''` + condition + `
      AND NOT EXISTS (SELECT 1 FROM benign b WHERE b.process = r.process AND b.fingerprint = e.fingerprint)
    GROUP BY e.fingerprint, r.host, r.process
),
leaking AS (
    SELECT fingerprint, host, growth
    FROM leak
    WHERE NOT EXISTS (
        SELECT 1
        FROM series y
        CROSS JOIN cases d ON d.seq = y.case_seq
        WHERE y.process = leak.process AND y.host = leak.host AND d.deleting = '' AND d.sample = '' AND d.summarised = 1
          AND EXISTS (
              SELECT 1 FROM snapshot s JOIN bundle b ON b.seq = s.bundle_seq AND b.generation = s.generation
              WHERE s.series_seq = y.seq AND s.captured_at > leak.last)
          AND EXISTS (
              SELECT 1 FROM snapshot s JOIN bundle b ON b.seq = s.bundle_seq AND b.generation = s.generation
              WHERE s.series_seq = y.seq LIMIT 1 OFFSET ?2)
          AND NOT EXISTS (
              SELECT 1 FROM series_ending z
              WHERE z.fingerprint = leak.fingerprint AND z.series_seq = y.seq AND z.recovered = 0 AND z.verdict IN ('leaking', 'suspicious', 'grew', 'new'))
    )
)`
}

var changedAlertsSQL = leakingSQL("") + `,
counted AS (
    SELECT fingerprint, count(DISTINCT host) AS hosts FROM leaking GROUP BY fingerprint
)
SELECT n.fingerprint, n.hosts, a.began_at
FROM counted n
LEFT JOIN alert a ON a.fingerprint = n.fingerprint
WHERE a.began_at IS NULL AND n.hosts > ?3
UNION ALL
SELECT a.fingerprint, coalesce(n.hosts, 0), a.began_at
FROM alert a
LEFT JOIN counted n ON n.fingerprint = a.fingerprint
WHERE coalesce(n.hosts, 0) <= ?4
ORDER BY 1`

var alertHostsSQL = leakingSQL(` AND e.fingerprint = ?3`) + `
SELECT host FROM leaking GROUP BY host ORDER BY max(coalesce(growth, 0)) DESC, host LIMIT ?4`

const alertFamilySQL = `
SELECT title, kind FROM family WHERE fingerprint = ? ORDER BY seq DESC LIMIT 1`

const beginAlertSQL = `
INSERT INTO alert (fingerprint, began_at) VALUES (?, ?) ON CONFLICT DO NOTHING`

const endAlertSQL = `
DELETE FROM alert WHERE fingerprint = ?`

const queueDeliverySQL = `
INSERT INTO alert_delivery (id, fingerprint, body, created_at, attempts, due_at)
VALUES (?1, ?2, ?3, ?4, 0, ?4)`

// Delivery is what is to be told of an alert.
type Delivery struct {
	ID   string
	Body []byte
	// Attempt counts from 1.
	Attempt int
}

// ClaimDelivery returns the oldest delivery that is due, if any, and makes it due again after
// delay(attempt), so that it is tried again unless Delivered is called. Those of one family
// keep their order. wait is how long no further one is due, at most an hour.
func (s *Store) ClaimDelivery(ctx context.Context, delay func(attempt int) time.Duration) (d Delivery, claimed bool, wait time.Duration, err error) {
	err = s.write(ctx, "claiming a delivery", func(tx *sql.Tx) error {
		now := s.time()
		d, claimed, wait = Delivery{}, false, time.Hour
		var seq, due int64
		var body string
		err := tx.QueryRowContext(ctx, nextDeliverySQL).Scan(&seq, &d.ID, &body, &d.Attempt, &due)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		if left := fromMicros(due).Sub(now); left > 0 {
			wait = min(wait, left)
			return nil
		}
		d.Attempt++
		d.Body, claimed, wait = []byte(body), true, 0
		_, err = tx.ExecContext(ctx, claimDeliverySQL, d.Attempt, now.Add(delay(d.Attempt)).UnixMicro(), seq)
		return err
	})
	return d, claimed, wait, err
}

const nextDeliverySQL = `
SELECT d.seq, d.id, d.body, d.attempts, d.due_at
FROM alert_delivery d
WHERE NOT EXISTS (SELECT 1 FROM alert_delivery e WHERE e.fingerprint = d.fingerprint AND e.seq < d.seq)
ORDER BY d.due_at, d.seq
LIMIT 1`

const claimDeliverySQL = `
UPDATE alert_delivery SET attempts = ?, due_at = ? WHERE seq = ?`

// Delivered forgets a delivery.
func (s *Store) Delivered(ctx context.Context, id string) error {
	return s.write(ctx, "recording a delivery", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, deliveredSQL, id)
		return err
	})
}

const deliveredSQL = `
DELETE FROM alert_delivery WHERE id = ?`

// deliveryTime is how long a delivery is tried. It names hosts, which must not stay for ever
// where nobody delivers.
const deliveryTime = 24 * time.Hour

// giveUpDeliveries forgets the deliveries that are a day old.
func giveUpDeliveries(ctx context.Context, tx *sql.Tx, now time.Time) (n int64, err error) {
	return rowsOf(tx.ExecContext(ctx, giveUpDeliveriesSQL, now.Add(-deliveryTime).UnixMicro()))
}

const giveUpDeliveriesSQL = `
DELETE FROM alert_delivery WHERE created_at < ?`
