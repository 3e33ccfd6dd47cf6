package expert

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"
)

func TestMountsAreFewAndSmall(t *testing.T) {
	now := time.Now()
	m := newMounts(slog.New(slog.DiscardHandler), func() time.Time { return now })
	var tokens []string
	for i := range maxMounts + 3 {
		token, err := m.open(strings.Repeat("k", i+1), smallProfile)
		if err != nil {
			t.Fatal(err)
		}
		tokens = append(tokens, token)
	}
	for i, token := range tokens {
		if got, want := m.handler(token, "top") != nil, i >= 3; got != want {
			t.Errorf("mount %d is there: %v, want %v", i, got, want)
		}
	}
	if m.size <= 0 {
		t.Error("mounts weigh nothing")
	}
	now = now.Add(MountedFor)
	if m.handler(tokens[len(tokens)-1], "top") != nil || m.size != 0 {
		t.Errorf("after their time mounts weigh %d", m.size)
	}
}

func smallProfile() *pprof.Profile {
	f := &pprof.Function{ID: 1, Name: "main.main", Filename: "/etc/passwd"}
	l := &pprof.Location{ID: 1, Line: []pprof.Line{{Function: f, Line: 1}}}
	return &pprof.Profile{
		SampleType: []*pprof.ValueType{{Type: "goroutine", Unit: "count"}}, PeriodType: &pprof.ValueType{},
		Sample: []*pprof.Sample{{Location: []*pprof.Location{l}, Value: []int64{3}}}, Location: []*pprof.Location{l}, Function: []*pprof.Function{f},
	}
}
