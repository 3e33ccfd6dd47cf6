package store

import (
	"context"
	"database/sql"
	"strings"
)

// sqliteEngine is one file, with one writer at a time.
type sqliteEngine struct{}

func (sqliteEngine) reading() *sql.TxOptions { return &sql.TxOptions{ReadOnly: true} }

func (sqliteEngine) writing() *sql.TxOptions { return nil }

func (sqliteEngine) again(error) bool { return false }

func (sqliteEngine) ownsFile() bool { return true }

func (sqliteEngine) skipLocked() string { return "" }

func (sqliteEngine) lastInQueue() string { return `(SELECT max(seq) + 1 FROM job)` }

func (sqliteEngine) words() string { return matchedFamiliesSQL }

func (sqliteEngine) pattern(word string) string { return trigrams(word) }

func (sqliteEngine) lower(text string) string { return strings.ToLower(text) }

func (sqliteEngine) lastWords() string { return lastWordsSQL }

func (sqliteEngine) indexWords(ctx context.Context, tx *sql.Tx, lastFunction, lastFamily int64) error {
	if _, err := tx.ExecContext(ctx, indexFunctionsSQL, lastFunction); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, indexFamiliesSQL, lastFamily)
	return err
}

// A row gets the number after the highest as it is.
func (sqliteEngine) continueNumbers(context.Context, *sql.Tx, string) error { return nil }

// There is one writer at a time.
func (sqliteEngine) turn(context.Context, *sql.Tx) error { return nil }

func (sqliteEngine) barrier(context.Context, *sql.Tx) (barrier, error) { return 0, nil }

func (sqliteEngine) settled(context.Context, *sql.Tx, barrier) (bool, error) { return true, nil }

func (sqliteEngine) holdLog(ctx context.Context, tx *sql.Tx) error {
	_, err := tx.ExecContext(ctx, noCheckpointSQL)
	return err
}

func (sqliteEngine) release(ctx context.Context, db *sql.DB) {
	_, _ = db.ExecContext(ctx, checkpointsSQL)
}
