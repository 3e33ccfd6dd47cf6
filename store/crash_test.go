package store

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"leakdiff/analysis"
)

// The test binary starts itself with these set to be the process that dies.
const (
	childVariable     = "LEAKDIFF_STORE_TEST_CHILD"
	childRoleVariable = "LEAKDIFF_STORE_TEST_ROLE"
)

func childMain(dir, role string) {
	if err := child(context.Background(), dir, role); err != nil {
		fmt.Fprintln(os.Stderr, "child:", err)
		os.Exit(1)
	}
}

func child(ctx context.Context, dir, role string) error {
	s, err := Open(ctx, Config{Dir: dir})
	if err != nil {
		return err
	}
	if role == "claim" {
		job, claimed, err := s.ClaimJob(ctx)
		fmt.Println("claimed", claimed, job.Attempts)
		if err != nil {
			return err
		}
		select {}
	}
	caseID, _, err := s.Setting(ctx, "case")
	if err != nil {
		return err
	}
	if role == "edit" {
		return editForever(ctx, s, caseID)
	}
	for seed := time.Now().UnixNano(); ; seed++ {
		if err := childRound(ctx, s, caseID, seed); err != nil {
			return err
		}
	}
}

// childRound uploads, reads and reads again, and says what was acknowledged.
func childRound(ctx context.Context, s *Store, caseID string, seed int64) error {
	name := strconv.FormatInt(seed, 10)
	ref, err := s.Blobs().Put(ctx, strings.NewReader(name), 0)
	if err != nil {
		return err
	}
	b, _, err := s.AddBundle(ctx, caseID, name, []File{{Name: name, SHA256: ref.SHA256, Size: ref.Size}})
	if err != nil {
		return err
	}
	fmt.Println("added", b.ID)
	for engine := 1; engine <= 2; engine++ {
		job, _, err := s.ClaimJob(ctx)
		if err != nil {
			return err
		}
		fmt.Println("finishing", b.ID)
		if err := s.FinishJob(ctx, job, crashResult(name, engine)); err != nil {
			return err
		}
		fmt.Println("finished", b.ID)
		if engine == 1 {
			if _, err := s.Requeue(ctx, b.ID); err != nil {
				return err
			}
		}
	}
	return nil
}

// crashResult follows from a bundle's name and the engine alone.
func crashResult(name string, engine int) Result {
	r := Result{Engine: engine, Unpacked: int64(engine), Artifacts: []analysis.Artifact{{Path: name, Files: engine}}}
	tail := name[max(0, len(name)-12):]
	for i := range 4 {
		snap := kubelet("2", instant, 5)
		snap.ID = fmt.Sprintf("s%026s", fmt.Sprintf("%s-%d", tail, i))
		snap.Label = fmt.Sprintf("t%d of engine %d", i, engine)
		for k := range 10 {
			g := socketGroup(2 + engine)
			g.Family.Fingerprint = fmt.Sprintf("d1:%s-%d-%d", tail, k, engine)
			snap.Groups = append(snap.Groups, g)
		}
		r.Snapshots = append(r.Snapshots, snap)
	}
	return r
}

func TestNothingHalfWrittenIsSeenAndNothingAcknowledgedIsLostWhenTheProcessIsKilled(t *testing.T) {
	const rounds = 10
	f := openFile(t)
	c := f.newCase("crash")
	f.ok(f.SetSetting(f.ctx, "case", c.ID))
	added, finished, interrupted := map[string]bool{}, map[string]int{}, 0
	for round := range rounds {
		f.close()
		killWhileFinishing(t, f.dir, round, added, finished)
		interrupted += f.unfinished()
		f.reopen()
		f.verifyAfterCrash(c.ID, added, finished)
	}
	t.Logf("%d kills, %d of them while a job was being finished, %d bundles acknowledged", rounds, interrupted, len(added))
	if interrupted == 0 {
		t.Error("no kill ever hit a running job: the test proves nothing")
	}
}

// killWhileFinishing lets a child work, kills it at another moment each round, and
// notes what it had acknowledged.
func killWhileFinishing(t *testing.T, dir string, round int, added map[string]bool, finished map[string]int) {
	cmd := childCommand(t, dir, "work")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var kill *time.Timer
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		what, id, _ := strings.Cut(lines.Text(), " ")
		switch what {
		case "added":
			added[id] = true
		case "finished":
			finished[id]++
		case "finishing":
			if kill == nil {
				kill = time.AfterFunc(time.Duration(1+round*7)*time.Millisecond, func() { cmd.Process.Kill() })
			}
		}
	}
	if kill == nil {
		t.Error("the child died before it was killed")
		cmd.Process.Kill()
	}
	if err := cmd.Wait(); err == nil {
		t.Error("the child ended by itself")
	}
}

// unfinished counts running jobs in a closed database, before anything repairs it.
func (f *fixture) unfinished() (n int) {
	f.t.Helper()
	db, err := connect(filepath.Join(f.dir, databaseFile), 1, ofReader)
	f.ok(err)
	defer db.Close()
	f.ok(db.QueryRowContext(f.ctx, `SELECT count(*) FROM job WHERE status = 'running'`).Scan(&n))
	return n
}

func (f *fixture) verifyAfterCrash(caseID string, added map[string]bool, finished map[string]int) {
	f.t.Helper()
	f.wantSound()
	if n := f.rows("snapshot") - f.rows("visible_snapshot"); n != 0 {
		f.t.Errorf("%d rows of unfinished jobs are left", n)
	}
	bundles, err := f.Bundles(f.ctx, caseID)
	f.ok(err)
	known := map[string]Bundle{}
	for _, b := range bundles {
		known[b.ID] = b
		if !f.holds(b.Files[0].SHA256) {
			f.t.Errorf("bundle %s without its blob", b.ID)
		}
		if b.Status == Running {
			f.t.Errorf("bundle %s is running although nobody runs it", b.ID)
		}
	}
	for id := range added {
		if b, ok := known[id]; !ok || b.Engine < finished[id] {
			f.t.Errorf("bundle %s was acknowledged with %d results, found %+v", id, finished[id], b)
		}
	}
	f.verifyResults(caseID, known)
	// The jobs that were interrupted are repeated, and give what they would have.
	for {
		job, claimed, err := f.ClaimJob(f.ctx)
		f.ok(err)
		if !claimed {
			break
		}
		b := known[job.BundleID]
		f.ok(f.FinishJob(f.ctx, job.ID, crashResult(b.Name, b.Engine+1)))
		if known[b.ID], err = f.Bundle(f.ctx, b.ID); err != nil {
			f.t.Fatal(err)
		}
	}
	f.verifyResults(caseID, known)
}

// verifyResults checks that each bundle shows all of one result.
func (f *fixture) verifyResults(caseID string, bundles map[string]Bundle) {
	f.t.Helper()
	snaps, err := f.Snapshots(f.ctx, caseID)
	f.ok(err)
	got := map[string]analysis.Snapshot{}
	for _, snap := range snaps {
		got[snap.ID] = snap
	}
	want := map[string]analysis.Snapshot{}
	for _, b := range bundles {
		if b.Engine == 0 {
			continue
		}
		for _, snap := range withoutMembersOf(crashResult(b.Name, b.Engine).Snapshots) {
			want[snap.ID] = snap
		}
	}
	wantEqual(f.t, want, got)
}

func TestAJobThatKillsTheProcessThreeTimesIsGivenUp(t *testing.T) {
	f := openFile(t)
	c := f.newCase("a")
	b, job := f.upload(c.ID, "x")
	for attempt := 1; attempt <= maxAttempts; attempt++ {
		f.close()
		cmd := childCommand(t, f.dir, "claim")
		out, err := cmd.StdoutPipe()
		f.ok(err)
		f.ok(cmd.Start())
		line, err := bufio.NewReader(out).ReadString('\n')
		f.ok(err)
		f.ok(cmd.Process.Kill())
		if err := cmd.Wait(); err == nil {
			t.Error("the child ended by itself")
		}
		if want := fmt.Sprintf("claimed true %d\n", attempt); line != want {
			t.Fatalf("got %q, want %q", line, want)
		}
		f.reopen()
	}
	got, err := f.Bundle(f.ctx, b.ID)
	f.ok(err)
	if got.Status != Failed || got.Error == nil || got.Error.Code != "crashed" || !strings.Contains(got.Error.Why, "3 times") {
		t.Errorf("got %+v, %v", got, got.Error)
	}
	if j, err := f.Job(f.ctx, job.ID); err != nil || j.Status != Failed {
		t.Errorf("got %+v, %v", j, err)
	}
	if _, claimed, err := f.ClaimJob(f.ctx); claimed || err != nil {
		t.Errorf("claimed %v, %v", claimed, err)
	}
}
