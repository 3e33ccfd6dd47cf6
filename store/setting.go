package store

import (
	"context"
	"database/sql"
	"errors"
)

// Setting returns a stored setting and whether it is set.
func (s *Store) Setting(ctx context.Context, name string) (value string, set bool, err error) {
	err = s.reader.QueryRowContext(ctx, settingSQL, name).Scan(&value)
	if errors.Is(err, sql.ErrNoRows) {
		return "", false, nil
	}
	return value, err == nil, fault("reading a setting", err)
}

const settingSQL = `
SELECT value FROM setting WHERE name = ?`

// SetSetting stores a setting of the installation ("samples loaded").
func (s *Store) SetSetting(ctx context.Context, name, value string) error {
	_, err := s.writer.ExecContext(ctx, setSettingSQL, name, value)
	return fault("keeping a setting", err)
}

// ChangeSetting sets a setting to what change makes of it, "" if it is not set. Nothing changes
// between: change may be called several times.
func (s *Store) ChangeSetting(ctx context.Context, name string, change func(value string) (string, error)) error {
	return s.write(ctx, "keeping a setting", func(tx *sql.Tx) error {
		var value string
		if err := tx.QueryRowContext(ctx, settingSQL, name).Scan(&value); err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		value, err := change(value)
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, setSettingSQL, name, value)
		return err
	})
}

const setSettingSQL = `
INSERT INTO setting (name, value) VALUES (?, ?)
ON CONFLICT (name) DO UPDATE SET value = excluded.value`
