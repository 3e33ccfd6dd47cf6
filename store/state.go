package store

import (
	"context"
	"database/sql"
	"time"
)

// State is what waits in a store.
type State struct {
	Queued, Running int
	// OldestQueued is when the oldest queued job was queued, zero without one.
	OldestQueued time.Time
	// OutdatedSince is when the first case changed whose report is not made again yet, zero
	// without one.
	OutdatedSince time.Time
	// OldestDelivery is when the oldest alert was queued that is not delivered yet, zero
	// without one.
	OldestDelivery time.Time
}

// State returns what waits. It costs what waits, not what is stored.
func (s *Store) State(ctx context.Context) (out State, err error) {
	var queued, outdated, undelivered sql.NullInt64
	err = s.reader.QueryRowContext(ctx, stateSQL).Scan(&out.Queued, &out.Running, &queued, &outdated, &undelivered)
	if err != nil {
		return State{}, fault("counting jobs", err)
	}
	out.OldestQueued, out.OutdatedSince, out.OldestDelivery = timeOrZero(queued), timeOrZero(outdated), timeOrZero(undelivered)
	return out, nil
}

const stateSQL = `
SELECT (SELECT count(*) FROM job WHERE status = 'queued'),
       (SELECT count(*) FROM job WHERE status = 'running'),
       (SELECT min(created_at) FROM job WHERE status = 'queued'),
       (SELECT min(updated_at) FROM cases WHERE summarised = 0 AND deleting = ''),
       (SELECT min(created_at) FROM alert_delivery)`
