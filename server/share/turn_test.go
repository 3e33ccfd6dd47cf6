package share

import (
	"context"
	"errors"
	"testing"
)

func TestOnePageIsRedactedAtATime(t *testing.T) {
	s := New(Config{})
	done, err := s.turn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.turn(gone); !errors.Is(err, context.Canceled) {
		t.Errorf("who left while another page was redacted got %v", err)
	}
	done()
	if done, err = s.turn(t.Context()); err != nil {
		t.Fatalf("afterwards: %v", err)
	}
	done()
}
