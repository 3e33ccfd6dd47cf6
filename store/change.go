package store

import (
	"context"
)

// Changes is a number that stays the same as long as nothing is committed, by
// whatever connection: SQLite's data_version, asked on a connection of its own,
// which never writes. It says nothing about what changed.
func (s *Store) Changes(ctx context.Context) (n int64, err error) {
	s.watch.Lock()
	defer s.watch.Unlock()
	if s.watcher == nil {
		// It outlives the request that happened to ask first.
		if s.watcher, err = s.reader.Conn(context.WithoutCancel(ctx)); err != nil {
			return 0, fault("watching the database", err)
		}
	}
	err = s.watcher.QueryRowContext(ctx, `PRAGMA data_version`).Scan(&n)
	return n, fault("watching the database", err)
}
