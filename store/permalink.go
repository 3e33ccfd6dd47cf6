package store

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"time"

	"leakdiff/analysis"
)

// Permalink is a frozen, shareable result.
type Permalink struct {
	// ID is 32 base32 characters, 160 random bits.
	ID string
	// CaseID is empty if the case was deleted and the permalink stayed.
	CaseID string
	// View is the frozen path and query.
	View, Title string
	Created     time.Time
	// Expires is zero for a link without an end.
	Expires time.Time
	// Withdrawn is the time of withdrawal, zero for a readable link.
	Withdrawn time.Time
	// Engine and Fingerprint are the versions of the rules behind the result.
	Engine, Fingerprint int
	// Record is the self-contained result, JSON. Raw are its raw lines, nil if none were frozen
	// or the case was deleted.
	Record, Raw json.RawMessage
	// Preview is full, counts or none. Counts is the text for previews and ended links.
	Preview, Counts string
	Redacted        bool
	// Audience is ForLink or ForAccount.
	Audience string
}

// Audiences of a permalink.
const (
	// ForLink is readable for whoever has the address.
	ForLink = "link"
	// ForAccount is readable for whoever may read the server.
	ForAccount = "account"
)

// Gone describes an ended permalink. It unwraps to an *analysis.Fault with Code "gone".
type Gone struct {
	Title, Counts  string
	Created, Ended time.Time
	// Withdrawn is false for an expired link.
	Withdrawn bool
	// Audience is who could read it.
	Audience string
}

func (g *Gone) Error() string { return g.fault().Error() }

func (g *Gone) Unwrap() error { return g.fault() }

func (g *Gone) fault() *analysis.Fault {
	why := "it expired on " + g.Ended.Format(time.DateOnly)
	if g.Withdrawn {
		why = "it was withdrawn on " + g.Ended.Format(time.DateOnly)
	}
	return &analysis.Fault{
		Code: "gone",
		What: "this result is no longer available",
		Why:  why,
		Hint: "Ask whoever sent you the link to share the result again.",
	}
}

// CreatePermalink freezes a result and sets ID, Created and Withdrawn of p. The owner key
// extends or withdraws the link; only this call returns it, and only its hash is stored. A
// missing case is *analysis.Fault "not_found".
func (s *Store) CreatePermalink(ctx context.Context, p Permalink) (out Permalink, ownerKey string, err error) {
	if p.ID, err = s.randomText(keyLength); err != nil {
		return Permalink{}, "", err
	}
	ownerKey, hash, err := s.newKey()
	if err != nil {
		return Permalink{}, "", err
	}
	var pk packer
	defer pk.close()
	record, err := pk.seal(p.Record)
	if err != nil {
		return Permalink{}, "", err
	}
	var raw []byte
	if p.Raw != nil {
		if raw, err = pk.seal(p.Raw); err != nil {
			return Permalink{}, "", err
		}
	}
	p.Created, p.Withdrawn = s.time(), time.Time{}
	p.Expires = p.Expires.UTC().Truncate(time.Microsecond)
	p.Audience = cmp.Or(p.Audience, ForLink)
	err = s.write(ctx, "creating a permalink", func(tx *sql.Tx) error {
		caseSeq, err := optionalCase(ctx, tx, p.CaseID)
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, createPermalinkSQL, p.ID, caseSeq, hash, p.View, p.Title, p.Counts, p.Preview,
			p.Redacted, p.Engine, p.Fingerprint, p.Created.UnixMicro(), microsOrNull(p.Expires), record, raw, p.Audience)
		return err
	})
	if err != nil {
		return Permalink{}, "", err
	}
	return p, ownerKey, nil
}

func optionalCase(ctx context.Context, tx *sql.Tx, id string) (seq sql.NullInt64, err error) {
	if id == "" {
		return seq, nil
	}
	err = tx.QueryRowContext(ctx, caseSeqSQL, id).Scan(&seq)
	return seq, orNotFound(err, "case", id)
}

const caseSeqSQL = `
SELECT seq FROM cases WHERE id = ?`

const createPermalinkSQL = `
INSERT INTO permalink (id, case_seq, owner_hash, view, title, counts, preview, redacted,
                       engine, fingerprint, created_at, expires_at, record, raw, audience)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

// Permalink returns a frozen result, *analysis.Fault "not_found" for an unknown id, or *Gone
// for a withdrawn or expired link.
func (s *Store) Permalink(ctx context.Context, id string) (p Permalink, err error) {
	var created int64
	var expires, withdrawn sql.NullInt64
	var record, raw []byte
	err = s.reader.QueryRowContext(ctx, permalinkSQL, id).Scan(&p.ID, &p.CaseID, &p.View, &p.Title, &p.Counts, &p.Preview,
		&p.Redacted, &p.Engine, &p.Fingerprint, &created, &expires, &withdrawn, &record, &p.Audience, &raw)
	if err != nil {
		return Permalink{}, fault("reading a permalink", orNotFound(err, "permalink", id))
	}
	p.Created, p.Expires, p.Withdrawn = fromMicros(created), timeOrZero(expires), timeOrZero(withdrawn)
	if gone := p.gone(s.time()); gone != nil {
		return Permalink{}, gone
	}
	if record == nil {
		// A sweep with a clock that was ahead dropped it.
		return Permalink{}, &Gone{Title: p.Title, Counts: p.Counts, Created: p.Created, Audience: p.Audience, Ended: s.time()}
	}
	var pk packer
	defer pk.close()
	if p.Record, err = pk.unseal(record, nil); err != nil {
		return Permalink{}, err
	}
	if raw != nil {
		if p.Raw, err = pk.unseal(raw, nil); err != nil {
			return Permalink{}, err
		}
	}
	return p, nil
}

const permalinkSQL = `
SELECT p.id, CASE WHEN c.deleting = '' THEN c.id ELSE '' END, p.view, p.title, p.counts, p.preview, p.redacted, p.engine, p.fingerprint,
       p.created_at, p.expires_at, p.withdrawn_at, p.record, p.audience,
       CASE WHEN coalesce(c.deleting, '') = '' THEN p.raw END
FROM permalink p
LEFT JOIN cases c ON c.seq = p.case_seq
WHERE p.id = ?`

func (p *Permalink) gone(now time.Time) *Gone {
	g := &Gone{Title: p.Title, Counts: p.Counts, Created: p.Created, Audience: p.Audience}
	switch {
	case !p.Withdrawn.IsZero():
		g.Ended, g.Withdrawn = p.Withdrawn, true
	case !p.Expires.IsZero() && !p.Expires.After(now):
		g.Ended = p.Expires
	default:
		return nil
	}
	return g
}

// OwnsPermalink reports whether the key is the one that CreatePermalink returned. It is
// false for a missing link.
func (s *Store) OwnsPermalink(ctx context.Context, id, key string) bool {
	var hash []byte
	if err := s.reader.QueryRowContext(ctx, permalinkOwnerSQL, id).Scan(&hash); err != nil {
		return false
	}
	return fits(key, hash)
}

const permalinkOwnerSQL = `
SELECT owner_hash FROM permalink WHERE id = ?`

// ExtendPermalink sets when a link expires; the zero time removes the expiry. The error is
// *Gone for an ended link, *analysis.Fault "forbidden" for a wrong key, "invalid" for a time
// in the past.
func (s *Store) ExtendPermalink(ctx context.Context, id, key string, until time.Time) error {
	return s.extendPermalink(ctx, id, until, keyFits(key))
}

// ExtendAnyPermalink is ExtendPermalink without its key.
func (s *Store) ExtendAnyPermalink(ctx context.Context, id string, until time.Time) error {
	return s.extendPermalink(ctx, id, until, anyKey)
}

func (s *Store) extendPermalink(ctx context.Context, id string, until time.Time, mine func(hash []byte) bool) error {
	if !until.IsZero() && !until.After(s.now()) {
		return &analysis.Fault{Code: "invalid", What: "the link cannot be kept until then", Why: "the time is past"}
	}
	return s.changePermalink(ctx, id, mine, extendPermalinkSQL, microsOrNull(until))
}

const extendPermalinkSQL = `
UPDATE permalink SET expires_at = ?1 WHERE id = ?2`

// WithdrawPermalink deletes the record of a link, which answers "gone" from now on. Errors
// are those of ExtendPermalink.
func (s *Store) WithdrawPermalink(ctx context.Context, id, key string) error {
	return s.withdrawPermalink(ctx, id, keyFits(key))
}

// WithdrawAnyPermalink is WithdrawPermalink without its key.
func (s *Store) WithdrawAnyPermalink(ctx context.Context, id string) error {
	return s.withdrawPermalink(ctx, id, anyKey)
}

func (s *Store) withdrawPermalink(ctx context.Context, id string, mine func(hash []byte) bool) error {
	err := s.changePermalink(ctx, id, mine, withdrawPermalinkSQL, s.time().UnixMicro())
	if err != nil {
		return err
	}
	return s.reclaim(context.WithoutCancel(ctx))
}

const withdrawPermalinkSQL = `
UPDATE permalink SET withdrawn_at = ?1, record = NULL, raw = NULL WHERE id = ?2`

func keyFits(key string) func(hash []byte) bool {
	return func(hash []byte) bool { return fits(key, hash) }
}

func anyKey([]byte) bool { return true }

func (s *Store) changePermalink(ctx context.Context, id string, mine func(hash []byte) bool, query string, value any) error {
	return s.writeReserved(ctx, "changing a permalink", func(tx *sql.Tx) error {
		var p Permalink
		var hash []byte
		var created int64
		var expires, withdrawn sql.NullInt64
		err := tx.QueryRowContext(ctx, permalinkStateSQL, id).Scan(&hash, &p.Title, &p.Counts, &created, &expires, &withdrawn)
		if err != nil {
			return orNotFound(err, "permalink", id)
		}
		if !mine(hash) {
			return &analysis.Fault{
				Code: "forbidden", What: "the link is not yours to change", Why: "the owner key is not the one that was given when it was created",
			}
		}
		p.Created, p.Expires, p.Withdrawn = fromMicros(created), timeOrZero(expires), timeOrZero(withdrawn)
		if gone := p.gone(s.time()); gone != nil {
			return gone
		}
		_, err = tx.ExecContext(ctx, query, value, id)
		return err
	})
}

const permalinkStateSQL = `
SELECT owner_hash, title, counts, created_at, expires_at, withdrawn_at
FROM permalink
WHERE id = ?`

const expirePermalinksSQL = `
UPDATE permalink SET record = NULL, raw = NULL
WHERE expires_at <= ? AND record IS NOT NULL`
