package server

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"
)

func TestAnErrorStandsOnceInTheLogForEachOutage(t *testing.T) {
	var out strings.Builder
	h := NewOutages(slog.NewTextHandler(&out, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
	began := time.Date(2026, 11, 27, 3, 0, 0, 0, time.UTC)
	log := func(after time.Duration, level slog.Level, message string, attrs ...any) {
		r := slog.NewRecord(began.Add(after), level, message, 0)
		r.Add(attrs...)
		if err := h.WithAttrs(nil).Handle(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	away, full := errors.New("away"), errors.New("full")
	log(0, slog.LevelError, "claiming failed", "error", away)
	log(time.Second, slog.LevelError, "claiming failed", "error", away)
	log(4*time.Minute, slog.LevelError, "claiming failed", "error", away)
	log(4*time.Minute, slog.LevelError, "claiming failed", "error", full)
	log(4*time.Minute, slog.LevelError, "an upload is damaged", "sha256", "aa")
	log(4*time.Minute, slog.LevelError, "an upload is damaged", "sha256", "bb")
	log(4*time.Minute, slog.LevelWarn, "slow", "error", away)
	log(4*time.Minute, slog.LevelWarn, "slow", "error", away)
	log(4*time.Minute, slog.LevelError, "request failed", "id", "e1", "error", away)
	log(4*time.Minute, slog.LevelError, "request failed", "id", "e2", "error", away)
	log(9*time.Minute-time.Nanosecond, slog.LevelError, "claiming failed", "error", away)
	log(14*time.Minute, slog.LevelError, "claiming failed", "error", away)
	log(19*time.Minute, slog.LevelError, "claiming failed", "error", away)
	want := `level=ERROR msg="claiming failed" error=away
level=ERROR msg="claiming failed" error=full
level=ERROR msg="an upload is damaged" sha256=aa
level=ERROR msg="an upload is damaged" sha256=bb
level=WARN msg=slow error=away
level=WARN msg=slow error=away
level=ERROR msg="request failed" id=e1 error=away
level=ERROR msg="request failed" id=e2 error=away
level=ERROR msg="claiming failed" error=away left_out_before=3
level=ERROR msg="claiming failed" error=away
`
	if out.String() != want {
		t.Errorf("the log is\n%swant\n%s", out.String(), want)
	}
}
