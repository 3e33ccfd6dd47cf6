package loader

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/say/report"
)

// What the evidence of a snapshot takes at most while it is judged: a group of a family without
// members, and a member that is followed.
const (
	snapshotBytes, familyBytes, memberBytes = 4_000, 700, 24
)

// bytes estimates what the judged captures of the open series, and those of shown, take in
// memory when their groups are read.
func (in *evidence) bytes(groups []report.JudgedSeries, open []int, shown ...string) int64 {
	rows, bytes := in.rowsByID(), int64(0)
	for _, i := range open {
		for _, snap := range groups[i].Snapshots {
			bytes += bytesOf(snap, rows[snap.ID].Families)
		}
	}
	for i := range in.said.Snapshots {
		if snap := &in.said.Snapshots[i]; slices.Contains(shown, snap.ID) {
			bytes += bytesOf(snap, rows[snap.ID].Families)
		}
	}
	return bytes
}

func bytesOf(snap *analysis.Snapshot, families int) int64 {
	members := 0
	for _, kind := range analysis.Kinds() {
		if n := snap.Totals.Of(kind); n != nil {
			members += *n
		}
	}
	return snapshotBytes + int64(families)*familyBytes + int64(members)*memberBytes
}

// mostHeld is how long a request stays inside the gate at most. One whose answer is read slowly
// must not keep others out.
const mostHeld = 10 * time.Second

// visit is what a request holds of the gate.
type visit struct {
	mu    sync.Mutex
	leave []func()
}

type visitKey struct{}

// inside reports whether the request of a context holds something of the gate.
func inside(ctx context.Context) bool {
	v, ok := ctx.Value(visitKey{}).(*visit)
	if !ok {
		return false
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	return len(v.leave) > 0
}

// admit enters the gate for as many bytes. Who is inside by an earlier call of the same request
// does not wait.
func (s *Loader) admit(ctx context.Context, bytes int64) (leave func(), err error) {
	if inside(ctx) {
		leave, _ := s.gate.EnterAlso(bytes)
		return leave, nil
	}
	return s.gate.Enter(ctx, bytes)
}

// untilAnswered calls leave when the request of a context is answered, or at once without one:
// an answer is made of the evidence that was read for it.
func untilAnswered(ctx context.Context, leave func()) {
	v, ok := ctx.Value(visitKey{}).(*visit)
	if !ok {
		leave()
		return
	}
	leave = sync.OnceFunc(leave)
	time.AfterFunc(mostHeld, leave)
	v.mu.Lock()
	defer v.mu.Unlock()
	v.leave = append(v.leave, leave)
}

func (v *visit) end() {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, leave := range v.leave {
		leave()
	}
}

// PerRequest lets a request hold what it loads until it is answered, and adds RequestCases to
// the context of every request that changes nothing.
func PerRequest(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		held := &visit{}
		defer held.end()
		ctx := context.WithValue(r.Context(), visitKey{}, held)
		if r.Method == http.MethodGet || r.Method == http.MethodHead {
			ctx, _ = WithCases(ctx)
		}
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}
