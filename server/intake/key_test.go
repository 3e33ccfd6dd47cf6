package intake

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// keyStorage keeps the keys of a server.
type keyStorage struct {
	Store

	mu    sync.Mutex
	until time.Time
	away  bool
}

func (s *keyStorage) BeginAnswer(ctx context.Context, key string) (bool, error) {
	return true, s.RenewAnswer(ctx, key)
}

func (s *keyStorage) RenewAnswer(context.Context, string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.away {
		return errors.New("the database does not answer")
	}
	s.until = time.Now().Add(20 * time.Second)
	return nil
}

func (s *keyStorage) EndAnswer(context.Context, string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.until = time.Time{}
	return nil
}

func (s *keyStorage) reserved() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Now().Before(s.until)
}

func TestAServerKeepsAKeyForAsLongAsItsRequestTakesAndNoLonger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, said := &keyStorage{}, &strings.Builder{}
		s := &Service{store: st, log: slog.New(slog.NewTextHandler(said, nil))}
		done, err := s.ownKey(t.Context(), "k")
		if err != nil {
			t.Fatal(err)
		}
		for range 600 {
			time.Sleep(time.Second)
			if !st.reserved() {
				t.Fatal("the key is free while its request is answered")
			}
		}
		st.mu.Lock()
		st.away = true
		st.mu.Unlock()
		time.Sleep(2 * renewKeyEvery)
		synctest.Wait()
		st.mu.Lock()
		st.away = false
		st.mu.Unlock()
		if !strings.Contains(said.String(), "could not be renewed") {
			t.Errorf("the log is %s", said)
		}
		done()
		for range 60 {
			time.Sleep(time.Second)
			if st.reserved() {
				t.Fatal("the key is renewed after its request was answered")
			}
		}
	})
}
