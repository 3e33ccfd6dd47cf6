package store

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base32"
	"fmt"
	"io"
)

const (
	// idLength and keyLength count base32 characters: 130 and 160 random bits.
	idLength  = 26
	keyLength = 32
)

// newID returns the prefix and 26 random base32 characters.
func (s *Store) newID(prefix string) (string, error) {
	id, err := s.randomText(idLength)
	return prefix + id, err
}

// newKey returns an owner key and its hash for the database.
func (s *Store) newKey() (key string, hash []byte, err error) {
	key, err = s.randomText(keyLength)
	return key, hashKey(key), err
}

// randomText returns n lower-case base32 characters.
func (s *Store) randomText(n int) (string, error) {
	raw := make([]byte, (n*5+7)/8)
	if _, err := io.ReadFull(s.random, raw); err != nil {
		return "", fmt.Errorf("drawing an id: %w", err)
	}
	alphabet := base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)
	return alphabet.EncodeToString(raw)[:n], nil
}

// hashKey returns the stored hash of an owner key. A plain hash is enough, because 160
// random bits cannot be guessed.
func hashKey(key string) []byte {
	sum := sha256.Sum256([]byte(key))
	return sum[:]
}

// fits compares in constant time. No key fits an empty hash.
func fits(key string, hash []byte) bool {
	return subtle.ConstantTimeCompare(hashKey(key), hash) == 1
}
