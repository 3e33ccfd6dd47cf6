package catalogue

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"leakdiff/analysis/judge/knowledge"
	"leakdiff/web/view"
)

// rows are settings that servers share.
type rows struct {
	values map[string]string
	away   bool
}

func (r *rows) Setting(_ context.Context, name string) (string, bool, error) {
	if r.away {
		return "", false, errors.New("the database does not answer")
	}
	value, set := r.values[name]
	return value, set, nil
}

func (r *rows) ChangeSetting(_ context.Context, name string, change func(string) (string, error)) error {
	value, err := change(r.values[name])
	if err == nil {
		r.values[name] = value
	}
	return err
}

func TestWhatIsEnteredOnOneServerIsKnownOnAllOfThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared := &rows{values: map[string]string{}}
		one, other := New(Config{Log: slog.New(slog.DiscardHandler), Rows: shared}), New(Config{Log: slog.New(slog.DiscardHandler), Rows: shared})
		before := other.Version()
		const fingerprint = "g1:8a5b9d8a5b9d8a5b9d8a5b9d8a5b9d8a"
		id := one.NewID("workers wait", fingerprint)
		entry := knowledge.Entry{ID: id, Signature: knowledge.Signature{Fingerprints: []string{fingerprint}}}
		if err := one.Remember(entry, view.Entry{Title: "workers wait", Status: string(knowledge.Leak)}); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if _, err := one.Entry(id); err != nil {
				t.Errorf("the server that has it entered: %v", err)
			}
			time.Sleep(askEvery)
			if _, err := other.Entry(id); err != nil || other.Version() == before || other.Version() != one.Version() {
				t.Errorf("another server: %v", err)
			}
			shared.away = true // what is known stays
		}
		shared.away = false
		if err := other.Remember(entry, view.Entry{}); err == nil {
			t.Error("an entry without a title was taken")
		}
		if err := other.Forget(id); err != nil {
			t.Fatal(err)
		}
		if _, err := other.Entry(id); err == nil {
			t.Error("the server that forgot it knows it")
		}
		time.Sleep(askEvery)
		if one.Version() != before {
			t.Error("another server knows it")
		}
	})
}
