package server

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"leakdiff/server/intake"
	"leakdiff/store"
)

// dying is a store whose data directory is copied at one moment between the judgement of a
// case and its row in the list of cases. The copy is what a killed process leaves.
type dying struct {
	*store.Store
	dir, copied string
	// at is the moment, "" for none.
	at   atomic.Value
	done chan error
}

func (d *dying) pass(moment string) {
	if d.at.CompareAndSwap(moment, "") {
		d.done <- copyData(d.copied, d.dir)
	}
}

func (d *dying) KeepCaseReport(ctx context.Context, caseID string, revision int64, madeWith string, report []byte, series store.StoredJudgements) error {
	d.pass("judged, nothing stored")
	err := d.Store.KeepCaseReport(ctx, caseID, revision, madeWith, report, series)
	d.pass("judgements and report stored")
	return err
}

func (d *dying) SetCaseSummary(ctx context.Context, id string, revision int64, sum store.Summary) error {
	d.pass("not yet in the list")
	err := d.Store.SetCaseSummary(ctx, id, revision, sum)
	d.pass("in the list")
	return err
}

func TestAKillBetweenJudgingAndSayingLosesNoAnswer(t *testing.T) {
	for _, moment := range []string{"judged, nothing stored", "judgements and report stored", "not yet in the list", "in the list"} {
		t.Run(moment, func(t *testing.T) {
			dir := t.TempDir()
			st, err := store.Open(t.Context(), store.Config{Dir: dir})
			if err != nil {
				t.Fatal(err)
			}
			d := &dying{Store: st, dir: dir, copied: filepath.Join(t.TempDir(), "data"), done: make(chan error, 1)}
			s := startSite(t, st, Config{Store: d})
			up := s.untimed(t, 3, 13, 23)
			s.beside(t, up.Case)
			// rest: the worker has nothing to do that might write meanwhile
			s.waitForReport(up.Case)
			d.at.Store(moment)
			r := s.do("PUT", "/api/v1/bundles/t3.txt?wait=1&case="+up.Case, strings.NewReader(dumpOf(37)))
			decode[intake.Uploaded](t, r.body)
			select {
			case err := <-d.done:
				if err != nil {
					t.Fatal(err)
				}
			case <-time.After(time.Minute):
				t.Fatal("the case was not judged")
			}
			s.waitForReport(up.Case)
			again, err := store.Open(t.Context(), store.Config{Dir: d.copied})
			if err != nil {
				t.Fatal(err)
			}
			after := startSite(t, again, Config{})
			after.waitForReport(up.Case)
			for _, path := range []string{up.Link + ".json", "/api/v1/cases/?sort=title"} {
				eventually(t, func() bool { return after.get(path).body == s.get(path).body }, path)
			}
		})
	}
}

// copyData copies a data directory, its log before its database: what moves from the one to
// the other meanwhile is then in both.
func copyData(to, from string) error {
	if err := os.MkdirAll(to, 0o700); err != nil {
		return err
	}
	logs, err := filepath.Glob(filepath.Join(from, "*-wal"))
	for _, name := range logs {
		text, failed := os.ReadFile(name)
		err = errors.Join(err, failed, os.WriteFile(filepath.Join(to, filepath.Base(name)), text, 0o600))
	}
	return errors.Join(err, filepath.WalkDir(from, func(name string, e os.DirEntry, err error) error {
		rest, _ := filepath.Rel(from, name)
		switch {
		case err != nil || slices.Contains(logs, name):
			return err
		case e.IsDir():
			return os.MkdirAll(filepath.Join(to, rest), 0o700)
		}
		text, err := os.ReadFile(name)
		return errors.Join(err, os.WriteFile(filepath.Join(to, rest), text, 0o600))
	}))
}

// eventually waits for what a worker does after it starts.
func eventually(t *testing.T, holds func() bool, what string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s is not what it is without the kill", what)
		}
	}
}
