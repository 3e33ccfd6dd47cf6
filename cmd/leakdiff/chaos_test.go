package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"leakdiff/internal/test/cluster"
	"leakdiff/internal/test/gateway"
	"leakdiff/samples/corpus"
)

// chaosUploads is how many uploads the chaos test sends. A number beyond the usual one also
// pauses servers for longer than their leases, which takes real time.
const (
	chaosVariable = "LEAKDIFF_CHAOS"
	usualChaos    = 30
)

// fleet are servers on one database and one bucket.
type fleet struct {
	t        *testing.T
	database *cluster.Cluster
	buckets  *gateway.Server
	args     []string
	dirs     []string

	mu      sync.Mutex
	servers []*serving
	// acknowledged are the hashes of the uploads that a server has confirmed.
	acknowledged map[string]bool
	// after has the number of those whenever it grows.
	after chan int
}

// url is the address of one of the servers.
func (f *fleet) url() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.servers[rand.IntN(len(f.servers))].url
}

func (f *fleet) start(n int) {
	s := serve(f.t, f.dirs[n], f.args...)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.servers[n] = s
}

// patience is how long a client waits for a server before it asks another one.
const patience = 5 * time.Second

// send sends an upload to one server after the other until one confirms it.
func (f *fleet) send(ctx context.Context, path, key string, body []byte) (upload, error) {
	for ctx.Err() == nil {
		up, err := f.sendOnce(ctx, path, key, body)
		if err == nil {
			return up, nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	return upload{}, ctx.Err()
}

func (f *fleet) sendOnce(ctx context.Context, path, key string, body []byte) (upload, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, f.url()+path, bytes.NewReader(body))
	if err != nil {
		return upload{}, err
	}
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return upload{}, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return upload{}, err
	}
	if res.StatusCode != http.StatusCreated && res.StatusCode != http.StatusOK {
		if res.StatusCode < 500 {
			f.t.Errorf("status %d: %s", res.StatusCode, text)
		}
		return upload{}, fmt.Errorf("status %d", res.StatusCode)
	}
	return decode[upload](f.t, string(text)), nil
}

// dumpNumber is a dump that differs from the others by a function; some take long to read.
func dumpNumber(n int) []byte {
	var b strings.Builder
	for i := range 200 << (n % 5 * 2) {
		fmt.Fprintf(&b, "goroutine %d [select]:\nmain.wait%d()\n\t/src/main.go:%d +0x1d\ncreated by main.f%d\n\t/src/main.go:9 +0x2\n\n", i+1, i%40, 10+i%40, n)
	}
	return []byte(b.String())
}

func TestServersOnOneDatabaseLoseNoUploadWhateverHappensToThem(t *testing.T) {
	corpus.Heavy(t)
	uploads := usualChaos
	if text := os.Getenv(chaosVariable); text != "" {
		var err error
		if uploads, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("directly", func(t *testing.T) {
		database := cluster.Start(t)
		disturbedServers(t, database, database.Address, uploads)
	})
	if uploads > usualChaos {
		t.Run("behind pgbouncer", func(t *testing.T) {
			database := cluster.Start(t)
			disturbedServers(t, database, database.Pooled(t), uploads)
		})
	}
}

// disturbedServers sends uploads to three servers on the database at the address.
func disturbedServers(t *testing.T, database *cluster.Cluster, address string, uploads int) {
	const servers, cases = 3, 3
	f := &fleet{t: t, database: database, buckets: gateway.Start(t), servers: make([]*serving, servers), acknowledged: map[string]bool{}, after: make(chan int, uploads)}
	f.args = []string{"--no-samples", "--database", address, "--blobs", f.buckets.Bucket(t)}
	for n := range servers {
		f.dirs = append(f.dirs, t.TempDir())
		f.start(n)
	}
	var open []upload
	for n := range cases {
		up, err := f.send(t.Context(), "/api/v1/bundles/first.txt", "", dumpNumber(-5*(n+1)))
		if err != nil {
			t.Fatal(err)
		}
		f.acknowledged[hashOf(dumpNumber(-5*(n+1)))] = true
		open = append(open, up)
	}
	var next atomic.Int64
	var all sync.WaitGroup
	for range cases {
		all.Go(func() {
			for {
				n := int(next.Add(1))
				if n > uploads {
					return
				}
				of := open[n%cases]
				if _, err := f.send(t.Context(), fmt.Sprintf("/api/v1/bundles/dump%d.txt?case=%s", n, of.Case), of.OwnerKey, dumpNumber(n)); err != nil {
					t.Error(err)
					return
				}
				f.mu.Lock()
				f.acknowledged[hashOf(dumpNumber(n))] = true
				f.after <- len(f.acknowledged) - cases
				f.mu.Unlock()
			}
		})
	}
	go func() {
		all.Wait()
		close(f.after)
	}()
	f.disturb(address, uploads, uploads > usualChaos)
	f.wantEachOnce(database.Address)
}

func hashOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// disturb kills, pauses, restarts and refuses in turn, once for every few uploads that are
// confirmed.
func (f *fleet) disturb(address string, uploads int, patiently bool) {
	const every = 5
	kills, pauses, restarts, refusals := 0, 0, 0, 0
	paused := -1
	resume := func() {
		if paused >= 0 {
			f.signal(paused, syscall.SIGCONT)
			paused = -1
		}
	}
	defer resume()
	for confirmed := range f.after {
		if confirmed%every != 0 || confirmed == uploads {
			continue
		}
		n := confirmed / every % len(f.servers)
		switch confirmed / every % 5 {
		case 1, 3:
			if n == paused {
				resume()
			}
			f.servers[n].kill()
			kills++
			f.start(n)
		case 2:
			resume()
			f.signal(n, syscall.SIGSTOP)
			paused = n
			pauses++
			if patiently {
				time.Sleep(25 * time.Second) // its leases end
			}
		case 0:
			resume()
			f.database.Stop(f.t)
			f.database.Run(f.t)
			f.wantAnswer(address) // a server does not start without its database
			restarts++
		case 4:
			f.buckets.Refuse()
			time.Sleep(time.Second)
			f.buckets.Pass()
			refusals++
		}
	}
	f.t.Logf("%d uploads, %d kills, %d pauses, %d restarts of the database, %d refusals of the bucket", uploads, kills, pauses, restarts, refusals)
}

// wantAnswer waits until the database answers at the address, which may be that of a pooler.
func (f *fleet) wantAnswer(address string) {
	db, err := sql.Open("pgx", address)
	if err != nil {
		f.t.Fatal(err)
	}
	defer db.Close()
	waitFor(f.t, "the database to answer", func() bool { return db.PingContext(f.t.Context()) == nil })
}

func (f *fleet) signal(n int, signal syscall.Signal) {
	if err := f.servers[n].cmd.Process.Signal(signal); err != nil {
		f.t.Error(err)
	}
}

// wantEachOnce waits until all bundles are read, and compares them with what was confirmed.
func (f *fleet) wantEachOnce(address string) {
	t := f.t
	db, err := sql.Open("pgx", address)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	waitFor(t, "every bundle to be read", func() bool {
		return ask[int](t, db, `SELECT count(*) FROM job WHERE status IN ('queued', 'running')`) == 0
	})
	rows, err := db.QueryContext(t.Context(), `
		SELECT f.sha256, b.status, b.fault, count(*) OVER (PARTITION BY f.sha256) FROM bundle b JOIN bundle_file f ON f.bundle_seq = b.seq`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	read := map[string]bool{}
	for rows.Next() {
		var hash, status, why string
		var times int
		if err := rows.Scan(&hash, &status, &why, &times); err != nil {
			t.Fatal(err)
		}
		if status != "done" || times != 1 {
			t.Errorf("an upload is there %d times and %s: %s", times, status, why)
		}
		read[hash] = true
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(f.acknowledged, read); diff != "" {
		t.Errorf("what was read is not what was confirmed (-confirmed +read)\n%s", diff)
	}
	if n := ask[int](t, db, `SELECT count(*) FROM snapshot s JOIN bundle b ON b.seq = s.bundle_seq WHERE b.generation <> s.generation`); n != 0 {
		t.Errorf("%d snapshots are left that nobody sees", n)
	}
	if t.Failed() {
		for n, s := range f.servers {
			t.Logf("server %d:\n%s", n, s.stderr)
		}
	}
}
