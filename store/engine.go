package store

import (
	"context"
	"database/sql"
)

// engine is what differs between databases. Statements of this package are written once, in
// the SQL that both engines know; see postgres.translate for the rest.
type engine interface {
	// reading and writing are the options of transactions. One that reads sees a single state.
	reading() *sql.TxOptions
	writing() *sql.TxOptions
	// turn waits until no other server writes. It comes first in a transaction that writes.
	turn(ctx context.Context, tx *sql.Tx) error
	// again reports whether a transaction failed only because of others that ran beside it.
	again(err error) bool
	// ownsFile reports whether this package gives space back and overwrites deleted content.
	ownsFile() bool
	// skipLocked ends a query that locks the rows which no other transaction has locked.
	skipLocked() string
	// lastInQueue is the expression of a number for a job behind all others.
	lastInQueue() string
	// words finds the families that have all words of a query, as of indexedWords. It is the
	// beginning of a statement that goes on with the table matched (family_seq).
	words() string
	// pattern is what a word is looked up by, "" for a word that is too short for the index.
	pattern(word string) string
	// lower is unicode_lower of a text, for what is compared with that.
	lower(text string) string
	// lastWords is a query for the highest numbers of functions and of families so far: what a
	// transaction adds has higher ones.
	lastWords() string
	// indexWords adds functions and families after these numbers to the full text.
	indexWords(ctx context.Context, tx *sql.Tx, lastFunction, lastFamily int64) error
	// continueNumbers lets the next row of a table have the number after the highest.
	continueNumbers(ctx context.Context, tx *sql.Tx, table string) error
	// barrier stands behind all transactions that have written by now; settled reports whether
	// they have ended.
	barrier(ctx context.Context, tx *sql.Tx) (barrier, error)
	settled(ctx context.Context, tx *sql.Tx, b barrier) (bool, error)
	// holdLog puts the work off that a commit would do for the caller. It ends with release.
	holdLog(ctx context.Context, tx *sql.Tx) error
	// release ends holdLog.
	release(ctx context.Context, db *sql.DB)
}

// barrier is a point in the order in which transactions begin to write.
type barrier int64
