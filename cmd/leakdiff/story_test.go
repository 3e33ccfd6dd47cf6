package main

import (
	"os"
	"os/exec"
	"testing"

	"leakdiff/internal/test/cluster"
	"leakdiff/internal/test/gateway"
	"leakdiff/samples/corpus"
)

// TestTheStoriesOfBrowsersAreTheSameOnPostgreSQLAndABucket runs the tests of web/browsertest with
// programs that have a database and a bucket each.
func TestTheStoriesOfBrowsersAreTheSameOnPostgreSQLAndABucket(t *testing.T) {
	if os.Getenv("LEAKDIFF_ENGINES") == "" {
		corpus.LeaveOut(t, "the stories of browsers on PostgreSQL and a bucket take minutes: make long runs them")
	}
	database, buckets := cluster.Start(t), gateway.Start(t)
	for name, address := range map[string]string{"directly": database.Address, "behind pgbouncer": database.Pooled(t)} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command("go", "test", "-count=1", "-timeout=30m", "./...")
			cmd.Dir = "../../web/browsertest"
			cmd.Env = append(os.Environ(), "LEAKDIFF_BINARY="+binary(t), "LEAKDIFF_SERVERS="+address+" "+buckets.Given())
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
