package main

import (
	"log/slog"
	"testing"

	"leakdiff/store"
)

// closer is a log that closes what it is given at the first line.
type closer struct{ close func() error }

func (c closer) Write(line []byte) (int, error) { return len(line), c.close() }

func TestAServerWaitsForADataDirectoryThatACommandHas(t *testing.T) {
	dir := t.TempDir()
	holder, err := store.Open(t.Context(), store.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.NewTextHandler(closer{holder.Close}, nil))
	st, err := openPatiently(t.Context(), log, store.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if err := st.Close(); err != nil {
		t.Error(err)
	}
}
