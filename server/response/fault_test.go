package response

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
)

func TestARequestWhoseSenderLeftIsNoErrorOfTheServer(t *testing.T) {
	for _, c := range []struct {
		name   string
		err    error
		status int
		logged bool
	}{
		{"the sender left", fmt.Errorf("recording the upload: %w", context.Canceled), http.StatusBadRequest, false},
		{"anything else", errors.New("the database is damaged"), http.StatusInternalServerError, true},
	} {
		var log bytes.Buffer
		s := New(Config{Log: slog.New(slog.NewTextHandler(&log, nil))})
		f, status := s.Fault(c.err)
		if status != c.status || f.What == "" || strings.Contains(log.String(), "level=ERROR") != c.logged {
			t.Errorf("%s: %d, %v, log %q", c.name, status, f, log.String())
		}
	}
}
