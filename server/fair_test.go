package server

import (
	"context"
	"strings"
	"testing"

	"leakdiff/server/intake"
	"leakdiff/store"
)

// heldStore holds up the saving of large bundles until the test lets them go on, and counts
// those that it holds.
type heldStore struct {
	Storage
	held chan string
	free chan struct{}
}

func (s *heldStore) FinishJob(ctx context.Context, job store.Job, r store.Result) error {
	if r.Unpacked > 1<<20 {
		s.held <- job.BundleID
		<-s.free
	}
	return s.Storage.FinishJob(ctx, job, r)
}

// TestASmallUploadIsReadWhileLargeOnesAreReadAndQueued has twenty large bundles of one
// sender before a tiny dump of the same one.
func TestASmallUploadIsReadWhileLargeOnesAreReadAndQueued(t *testing.T) {
	st := openStore(t)
	held := &heldStore{Storage: st, held: make(chan string, 20), free: make(chan struct{})}
	s := startSite(t, st, Config{Store: held, Readers: 2})
	large := strings.Repeat("a line of a log\n", 1<<17)
	var ids []string
	for range 20 {
		up := decode[intake.Uploaded](t, s.do("PUT", "/api/v1/bundles/large.txt", strings.NewReader(large+tinyDump)).body)
		ids = append(ids, up.ID)
	}
	first := <-held.held
	<-held.held // both readers are at work
	up := s.put("small.txt", []byte(tinyDump))
	if len(up.Snapshots) != 1 {
		t.Fatalf("the small one has %d snapshots", len(up.Snapshots))
	}
	state := func(id string) string {
		return decode[intake.BundleState](t, s.get("/bundles/"+id+".json").body).Status
	}
	if got := state(first); got != "running" {
		t.Errorf("a large one is %s", got)
	}
	if got := state(ids[19]); got != "queued" {
		t.Errorf("the last large one is %s", got)
	}
	close(held.free)
	for _, id := range ids {
		if b := s.settled(id); b.Status != "done" || b.Snapshots != 1 {
			t.Errorf("a large one is %s with %d snapshots", b.Status, b.Snapshots)
		}
	}
}

// fullStore says that the queue is full.
type fullStore struct{ *store.Store }

func (s fullStore) Queued(context.Context) (int, error) { return 4000, nil }

func TestAnUploadIsRefusedWhileTooManyWaitToBeRead(t *testing.T) {
	st := openStore(t)
	s := startSite(t, st, Config{Store: fullStore{st}})
	r := s.do("PUT", "/api/v1/bundles/x.txt", strings.NewReader(tinyDump))
	if r.status != 503 || r.header.Get("Retry-After") == "" || !strings.Contains(r.body, "too many uploads wait to be read") {
		t.Errorf("%d %v %s", r.status, r.header, r.body)
	}
}
