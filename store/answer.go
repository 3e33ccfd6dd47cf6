package store

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"time"

	"leakdiff/analysis"
)

// answerLife is how long an Idempotency-Key repeats its answer.
const answerLife = 24 * time.Hour

// Answer is the answer to the first request with an Idempotency-Key.
type Answer struct {
	// RequestHash identifies the request: another hash means another request.
	RequestHash string
	Status      int
	Body        []byte
}

// Receipt has an upload answered in the transaction that records it, so that a repetition of the
// request finds the answer also after a crash.
type Receipt struct {
	// Key is the Idempotency-Key.
	Key string
	// Answer makes the answer. ownerKey is "" unless the upload opened a case.
	Answer func(b Bundle, ownerKey string) (Answer, error)
}

// Answered is the Code of the fault about an upload that another server recorded meanwhile.
const Answered = "answered"

// issue stores the answer of a receipt. The error is "answered" if there is one already.
func (s *Store) issue(ctx context.Context, tx *sql.Tx, r Receipt, b Bundle, ownerKey string) error {
	a, err := r.Answer(b, ownerKey)
	if err != nil {
		return err
	}
	body, err := s.seal(r.Key, a.Body)
	if err != nil {
		return err
	}
	now := s.time()
	result, err := tx.ExecContext(ctx, rememberSQL, lookupHash(r.Key), a.RequestHash, a.Status, body, now.Add(answerLife).UnixMicro(), now.UnixMicro())
	return affected(result, err, &analysis.Fault{Code: Answered, What: "the same upload was recorded just now", Hint: "Send it again with the same Idempotency-Key, which repeats the answer."})
}

// Reword replaces the answer that the same request was given.
func (s *Store) Reword(ctx context.Context, key string, a Answer) error {
	body, err := s.seal(key, a.Body)
	if err != nil {
		return err
	}
	_, err = s.writer.ExecContext(ctx, rewordSQL, a.Status, body, lookupHash(key), a.RequestHash)
	return fault("rewording an answer", err)
}

const rewordSQL = `
UPDATE answer SET status = ?, body = ? WHERE key_hash = ? AND request_hash = ?`

// Remember stores an answer for 24 hours. It ignores a second answer for the same key. The
// body is encrypted with the key, because it may contain an owner key, which is never stored
// in plain text.
func (s *Store) Remember(ctx context.Context, key string, a Answer) error {
	body, err := s.seal(key, a.Body)
	if err != nil {
		return err
	}
	now := s.time()
	_, err = s.writer.ExecContext(ctx, rememberSQL, lookupHash(key), a.RequestHash, a.Status, body,
		now.Add(answerLife).UnixMicro(), now.UnixMicro())
	return fault("remembering an answer", err)
}

const rememberSQL = `
INSERT INTO answer (key_hash, request_hash, status, body, expires_at)
VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT (key_hash) DO UPDATE
SET request_hash = excluded.request_hash,
    status = excluded.status,
    body = excluded.body,
    expires_at = excluded.expires_at
WHERE answer.expires_at <= ?6`

// Recall returns the stored answer and whether it exists.
func (s *Store) Recall(ctx context.Context, key string) (a Answer, known bool, err error) {
	var sealed []byte
	err = s.reader.QueryRowContext(ctx, recallSQL, lookupHash(key), s.time().UnixMicro()).
		Scan(&a.RequestHash, &a.Status, &sealed)
	if errors.Is(err, sql.ErrNoRows) {
		return Answer{}, false, nil
	}
	if err != nil {
		return Answer{}, false, fault("recalling an answer", err)
	}
	if a.Body, err = unseal(key, sealed); err != nil {
		return Answer{}, false, err
	}
	return a, true, nil
}

const recallSQL = `
SELECT request_hash, status, body
FROM answer
WHERE key_hash = ? AND expires_at > ?`

// BeginAnswer reserves a key for this server until EndAnswer, for 20 s without another sign, and
// reports whether it could: another server may be about to remember the answer.
func (s *Store) BeginAnswer(ctx context.Context, key string) (mine bool, err error) {
	return s.takeDuty(ctx, "reserving an Idempotency-Key", answering(key), leaseTime)
}

// RenewAnswer is a sign that the server which reserved a key still makes its answer.
func (s *Store) RenewAnswer(ctx context.Context, key string) error {
	if !s.Shared() {
		return nil
	}
	_, err := s.beats.ExecContext(ctx, renewDutySQL, leaseTime.Microseconds(), answering(key), s.self)
	return fault("renewing an Idempotency-Key", err)
}

const renewDutySQL = `
UPDATE duty SET until = clock_micros() + ? WHERE name = ? AND owner = ?`

// EndAnswer undoes BeginAnswer.
func (s *Store) EndAnswer(ctx context.Context, key string) error {
	return s.endDuty(ctx, "giving an Idempotency-Key back", answering(key))
}

func answering(key string) string { return "answering " + hex.EncodeToString(lookupHash(key)) }

const forgetAnswersSQL = `
DELETE FROM answer WHERE expires_at <= ?`

func lookupHash(key string) []byte {
	sum := sha256.Sum256([]byte("lookup\x00" + key))
	return sum[:]
}

func sealer(key string) (cipher.AEAD, error) {
	sum := sha256.Sum256([]byte("body\x00" + key))
	block, err := aes.NewCipher(sum[:])
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

func (s *Store) seal(key string, body []byte) ([]byte, error) {
	aead, err := sealer(key)
	if err != nil {
		return nil, err
	}
	nonce := make([]byte, aead.NonceSize())
	if _, err := io.ReadFull(s.random, nonce); err != nil {
		return nil, fmt.Errorf("drawing a nonce: %w", err)
	}
	return aead.Seal(nonce, nonce, body, nil), nil
}

func unseal(key string, sealed []byte) ([]byte, error) {
	aead, err := sealer(key)
	if err != nil {
		return nil, err
	}
	if len(sealed) < aead.NonceSize() {
		return nil, errors.New("remembered answer is damaged")
	}
	nonce, rest := sealed[:aead.NonceSize()], sealed[aead.NonceSize():]
	body, err := aead.Open(nil, nonce, rest, nil)
	if err != nil {
		return nil, fmt.Errorf("remembered answer is damaged: %w", err)
	}
	return body, nil
}
