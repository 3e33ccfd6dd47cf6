package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"leakdiff/analysis"
	"leakdiff/analysis/say/report"
	"leakdiff/samples/corpus"
	"leakdiff/store"
)

// upload is an answer of the upload API.
type upload struct {
	ID        string            `json:"id"`
	Link      string            `json:"link"`
	Case      string            `json:"case"`
	Status    string            `json:"status"`
	Snapshots []report.Snapshot `json:"snapshots"`
	Problems  int               `json:"problems"`
	Error     string            `json:"error"`
	OwnerKey  string            `json:"owner_key"`
}

func decode[T any](t testing.TB, text string) T {
	t.Helper()
	var v T
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v in %.300s", err, text)
	}
	return v
}

// generatedDump writes a goroutine dump as debug=2 prints it, with n goroutines and main,
// ids from first on. One in eight handles a stream, the others wait in a worker. args
// makes stacks wide, as generated code does.
func generatedDump(w io.Writer, first, n, args int) error {
	out := &strings.Builder{}
	fmt.Fprintf(out, "goroutine 1 [select, 12 minutes]:\nmain.main()\n\t/src/app/main.go:40 +0x1a5\n\n")
	wide := strings.Repeat("0xc000123456, ", args)
	for i := range n {
		id := first + i
		if i%8 == 0 {
			fmt.Fprintf(out, "goroutine %d [IO wait, %d minutes]:\ninternal/poll.runtime_pollWait(0x7f0a1c%06x, 0x72)\n\t/usr/local/go/src/runtime/netpoll.go:351 +0x85\n"+
				"example.com/app/stream.(*Handler).Recv(0xc%09x, {%s0x%x})\n\t/src/app/stream/handler.go:88 +0x17b\n"+
				"created by example.com/app/stream.(*Server).Serve in goroutine 1\n\t/src/app/stream/server.go:41 +0x9e\n\n", id, i%9, id, id, wide, id)
		} else {
			fmt.Fprintf(out, "goroutine %d [chan receive, %d minutes]:\nexample.com/app/pool.(*Worker).next(...)\n\t/src/app/pool/worker.go:61\n"+
				"example.com/app/pool.(*Worker).run(0xc%09x, {%s0x%x})\n\t/src/app/pool/worker.go:33 +0x6f\n"+
				"created by example.com/app/pool.New in goroutine 1\n\t/src/app/pool/pool.go:27 +0x5c\n\n", id, i%9, id, wide, id)
		}
		if out.Len() > 1<<16 {
			if _, err := io.WriteString(w, out.String()); err != nil {
				return err
			}
			out.Reset()
		}
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// generatedBundle is a tar.gz of growing dumps of one process, about a megabyte each.
func generatedBundle(t testing.TB, snapshots int) []byte {
	t.Helper()
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	archive := tar.NewWriter(z)
	for i := range snapshots {
		var dump bytes.Buffer
		if err := generatedDump(&dump, 100, 2500+300*i, 4); err != nil {
			t.Fatal(err)
		}
		at := time.Date(2026, 11, 21, 3, i, 0, 0, time.UTC)
		for name, body := range map[string][]byte{"goroutine-debug2.txt": dump.Bytes(), "captured_at.txt": []byte(at.Format(time.RFC3339) + "\n")} {
			if err := archive.WriteHeader(&tar.Header{Name: fmt.Sprintf("t%d/app/%s", i, name), Mode: 0o644, Size: int64(len(body)), ModTime: at}); err != nil {
				t.Fatal(err)
			}
			if _, err := archive.Write(body); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return packed.Bytes()
}

// crashBundles are the uploads of the rounds, by the titles of their cases.
func crashBundles(t testing.TB) map[string][]byte {
	t.Helper()
	var dump bytes.Buffer
	if err := generatedDump(&dump, 7, 9000, 6); err != nil {
		t.Fatal(err)
	}
	return map[string][]byte{
		"inotify.tar.gz": sampleArchive(t, "inotify-leak"),
		"kubelet.tar.gz": sampleArchive(t, "kubelet-probe-leak"),
		"grown.tar.gz":   generatedBundle(t, 4),
		"plain.txt":      dump.Bytes(),
	}
}

// outcome is the report of a case, which a crash must not change.
type outcome struct {
	Snapshots []report.Snapshot
	// Families are the counts by series and fingerprint.
	Families map[string]string
	Problems int
}

func outcomeOf(t testing.TB, body string) outcome {
	t.Helper()
	r := decode[report.Report](t, body)
	out := outcome{Snapshots: r.Snapshots, Families: map[string]string{}, Problems: len(r.Problems)}
	for _, s := range r.Series {
		for _, f := range s.Families {
			out.Families[s.Process+" "+f.Fingerprint] = fmt.Sprint(countsOf(f.Counts), " ", f.Verdict)
		}
	}
	return out
}

// countsOf makes counts printable and comparable: -1 for "not captured".
func countsOf(counts analysis.Counts) []int {
	out := make([]int, len(counts))
	for i, c := range counts {
		out[i] = -1
		if c.Known() {
			out[i] = c.N
		}
	}
	return out
}

// undisturbed returns the outcomes without a crash.
func undisturbed(t *testing.T, bundles map[string][]byte) map[string]outcome {
	t.Helper()
	s := serve(t, t.TempDir(), "--no-samples")
	want := map[string]outcome{}
	for name, body := range bundles {
		up := s.put(name, bytes.NewReader(body))
		want[titleOf(name)] = outcomeOf(t, s.get(up.Link+".json"))
	}
	for title, o := range want {
		if len(o.Snapshots) == 0 || len(o.Families) == 0 {
			t.Fatalf("%s gives nothing to compare with", title)
		}
	}
	return want
}

// titleOf is the title of the case of an upload.
func titleOf(name string) string {
	title, _, _ := strings.Cut(name, ".")
	return title
}

// ledger is what a client knows after the server died: uploads by case.
type ledger struct {
	acknowledged map[string]string
	// started counts the uploads that were sent, by title, answered or not.
	started map[string]int
}

// TestKilledServerKeepsWhatItAcknowledged kills the server while it receives, reads or
// saves, by seeds, and demands that a restart hides the crash.
func TestKilledServerKeepsWhatItAcknowledged(t *testing.T) {
	corpus.Heavy(t)
	bundles := crashBundles(t)
	want := undisturbed(t, bundles)
	interrupted := 0
	for seed := range uint64(14) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			interrupted += crashRound(t, seed, bundles, want)
		})
	}
	t.Logf("%d jobs were cut short", interrupted)
	if interrupted == 0 && !t.Failed() {
		t.Error("no kill hit a job: the moments are too late to prove anything")
	}
}

// crashRound uploads, kills, restarts and compares. It returns how many jobs were
// unfinished at the kill.
func crashRound(t *testing.T, seed uint64, bundles map[string][]byte, want map[string]outcome) int {
	random := rand.New(rand.NewPCG(seed, 20261121))
	dir := t.TempDir()
	s := serve(t, dir, "--no-samples")
	half := halfUpload(t, s)
	defer half.Close()
	names := []string{"grown.tar.gz", "plain.txt", "inotify.tar.gz", "grown.tar.gz"}
	if seed%4 == 0 {
		names = append(names, "kubelet.tar.gz")
	}
	random.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	// The first rounds kill while uploads arrive, the others while the jobs run.
	var moment time.Duration
	if seed < 4 {
		moment = time.Duration(random.IntN(60)) * time.Millisecond
		timer := time.AfterFunc(moment, s.kill)
		defer timer.Stop()
	}
	known := sendAll(s, names, bundles)
	if seed >= 4 {
		moment = time.Duration(random.IntN(400)) * time.Millisecond
		<-time.After(moment)
	}
	s.kill()
	left := unfinished(t, dir)
	t.Logf("killed after %s: %d of %d uploads acknowledged, %d jobs unfinished", moment, len(known.acknowledged), len(names), left)
	afterCrash(t, dir, known, want)
	return left
}

// sendAll uploads until the server is gone.
func sendAll(s *serving, names []string, bundles map[string][]byte) ledger {
	known := ledger{acknowledged: map[string]string{}, started: map[string]int{}}
	for _, name := range names {
		known.started[titleOf(name)]++
		a, err := s.request(http.MethodPut, "/api/v1/bundles/"+name, bytes.NewReader(bundles[name]))
		if err != nil {
			return known
		}
		if a.status != http.StatusCreated && a.status != http.StatusAccepted {
			s.t.Errorf("uploading %s gave %d: %s", name, a.status, a.body)
			continue
		}
		known.acknowledged[decode[upload](s.t, a.body).Case] = titleOf(name)
	}
	return known
}

// halfUpload sends the header and half of the body of an upload that is never completed.
// The server has begun to store it when halfUpload returns.
func halfUpload(t *testing.T, s *serving) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	body := bytes.Repeat([]byte("goroutine 9 [select]:\nmain.half()\n\t/src/half.go:1 +0x1\n\n"), 8000)
	// The server sends 100-continue when the handler first reads the body.
	fmt.Fprintf(conn, "PUT /api/v1/bundles/half.txt HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\nExpect: 100-continue\r\n\r\n", len(body))
	if err := conn.SetReadDeadline(time.Now().Add(startLimit)); err != nil {
		t.Fatal(err)
	}
	answer := make([]byte, len("HTTP/1.1 100 Continue"))
	if _, err := io.ReadFull(conn, answer); err != nil || !strings.HasSuffix(string(answer), "100 Continue") {
		t.Fatalf("%q, %v", answer, err)
	}
	if _, err := conn.Write(body[:len(body)/2]); err != nil {
		t.Fatal(err)
	}
	return conn
}

// afterCrash restarts the server, lets it work and checks every promise.
func afterCrash(t *testing.T, dir string, known ledger, want map[string]outcome) {
	t.Helper()
	s := serve(t, dir, "--no-samples")
	drain(t, s)
	for _, place := range []string{filepath.Join("blobs", "tmp"), "spool"} {
		left, err := os.ReadDir(filepath.Join(dir, place))
		if err != nil || len(left) > 0 {
			t.Errorf("%s holds %d temporary files when everything is done, %v", place, len(left), err)
		}
	}
	for id, title := range known.acknowledged {
		same(t, s, id, title, want[title])
	}
	if status := s.stop(); status != exitDone {
		t.Errorf("status %d after the restart: %s", status, s.stderr)
	}
	for id, title := range casesIn(t, dir, known) {
		if _, expected := want[title]; !expected {
			t.Errorf("there is a case %q, which nobody completed", title)
		} else if _, acknowledged := known.acknowledged[id]; !acknowledged {
			s := serve(t, dir, "--no-samples")
			same(t, s, id, title, want[title])
			s.stop()
		}
	}
	intact(t, dir)
}

// drain waits until every upload that was acknowledged before has been read. Small uploads
// overtake large ones, so the end of a new one says nothing of the others.
func drain(t *testing.T, s *serving) {
	t.Helper()
	waitFor(t, "the queue to be empty", func() bool {
		metrics := s.get("/metrics")
		return strings.Contains(metrics, "\nleakdiff_jobs{state=\"queued\"} 0\n") && strings.Contains(metrics, "\nleakdiff_jobs{state=\"running\"} 0\n")
	})
}

// same demands that a case holds one complete result, equal to the undisturbed one.
func same(t *testing.T, s *serving, id, title string, want outcome) {
	t.Helper()
	a, err := s.request(http.MethodGet, "/api/v1/cases/"+id, nil)
	if err != nil || a.status != http.StatusOK {
		t.Errorf("acknowledged case %s (%s) is lost: %v, status %d", id, title, err, a.status)
		return
	}
	if diff := cmp.Diff(want, outcomeOf(t, a.body)); diff != "" {
		t.Errorf("case %s (%s) differs from an undisturbed one (-undisturbed +after the crash):\n%s", id, title, diff)
	}
}

// casesIn lists the cases of a stopped server by id with their titles, and demands that
// every bundle is done.
func casesIn(t *testing.T, dir string, known ledger) map[string]string {
	t.Helper()
	st, err := store.Open(t.Context(), store.Config{Dir: dir})
	if err != nil {
		t.Fatalf("the store refuses its directory: %v", err)
	}
	defer st.Close()
	all, _, err := st.Cases(t.Context(), store.CaseQuery{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	seen := map[string]int{}
	for _, c := range all {
		bundles, err := st.Bundles(t.Context(), c.ID)
		if err != nil {
			t.Fatal(err)
		}
		if len(bundles) == 0 && c.Title != "last" {
			// The case was recorded and its bundle was not: nothing was acknowledged.
			t.Errorf("case %q is empty: an upload that was not completed left a case", c.Title)
		}
		for _, b := range bundles {
			if b.Status != store.Done {
				t.Errorf("bundle %s of %q is %s", b.ID, c.Title, b.Status)
			}
			blobsOf(t, st, b)
		}
		if c.Title == "last" {
			continue
		}
		seen[c.Title]++
		out[c.ID] = c.Title
	}
	for title, n := range seen {
		if n > known.started[title] {
			t.Errorf("%d cases %q of %d uploads", n, title, known.started[title])
		}
	}
	for id, title := range known.acknowledged {
		if out[id] != title {
			t.Errorf("acknowledged case %s (%s) is not listed", id, title)
		}
	}
	return out
}

// blobsOf reads every file of a bundle to its end.
func blobsOf(t *testing.T, st *store.Store, b store.Bundle) {
	t.Helper()
	for _, f := range b.Files {
		r, err := st.Blobs().Open(t.Context(), f.SHA256)
		if err != nil {
			t.Errorf("%s of %s: %v", f.Name, b.ID, err)
			continue
		}
		n, err := io.Copy(io.Discard, r)
		r.Close()
		if err != nil || n != f.Size {
			t.Errorf("%s of %s: %d of %d bytes, %v", f.Name, b.ID, n, f.Size, err)
		}
	}
}

// unfinished counts the jobs that were running or queued at the kill. It reads a copy of
// the database, so that the restart finds what the crash left.
func unfinished(t *testing.T, dir string) int {
	t.Helper()
	copied := t.TempDir()
	for _, name := range []string{"leakdiff.db", "leakdiff.db-wal"} {
		content, err := os.ReadFile(filepath.Join(dir, name))
		if os.IsNotExist(err) {
			continue
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(copied, name), content, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	db := database(t, copied)
	return ask[int](t, db, `SELECT count(*) FROM job WHERE status IN ('queued', 'running')`)
}

// intact checks the database, and that no rows of unfinished results are left.
func intact(t *testing.T, dir string) {
	t.Helper()
	db := database(t, dir)
	if got := ask[string](t, db, `PRAGMA integrity_check`); got != "ok" {
		t.Errorf("the database is damaged: %s", got)
	}
	if n := ask[int](t, db, `SELECT count(*) FROM pragma_foreign_key_check`); n != 0 {
		t.Errorf("%d rows refer to rows that are gone", n)
	}
	if n := ask[int](t, db, `SELECT count(*) FROM snapshot s JOIN bundle b ON b.seq = s.bundle_seq WHERE b.generation <> s.generation`); n != 0 {
		t.Errorf("%d snapshots of an interrupted ingest remained", n)
	}
}

func database(t *testing.T, dir string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(dir, "leakdiff.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func ask[T any](t *testing.T, db *sql.DB, query string) (v T) {
	t.Helper()
	if err := db.QueryRowContext(t.Context(), query).Scan(&v); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return v
}

func TestKillWithinAnUploadLeavesNothing(t *testing.T) {
	corpus.Heavy(t)
	dir := t.TempDir()
	s := serve(t, dir, "--no-samples")
	conn := halfUpload(t, s)
	defer conn.Close()
	scratch := filepath.Join(dir, "blobs", "tmp")
	waitFor(t, "the half upload to reach the volume", func() bool {
		files, err := os.ReadDir(scratch)
		return err == nil && len(files) == 1
	})
	s.kill()
	if files, err := os.ReadDir(scratch); err != nil || len(files) != 1 {
		t.Fatalf("the kill left %d temporary files, %v; want the half upload", len(files), err)
	}
	afterCrash(t, dir, ledger{}, nil)
	if files, err := os.ReadDir(scratch); err != nil || len(files) != 0 {
		t.Errorf("%d temporary files remain, %v", len(files), err)
	}
}

// TestStopWithinAnIngestRunsItAgain is the same with an orderly stop.
func TestStopWithinAnIngestRunsItAgain(t *testing.T) {
	corpus.Heavy(t)
	bundles := crashBundles(t)
	want := undisturbed(t, map[string][]byte{"grown.tar.gz": bundles["grown.tar.gz"]})
	dir := t.TempDir()
	s := serve(t, dir, "--no-samples")
	known := sendAll(s, []string{"grown.tar.gz", "grown.tar.gz", "grown.tar.gz", "grown.tar.gz"}, bundles)
	if len(known.acknowledged) != 4 {
		t.Fatalf("%d of 4 uploads acknowledged", len(known.acknowledged))
	}
	if status := s.stop(); status != exitDone {
		t.Errorf("status %d: %s", status, s.stderr)
	}
	if unfinished(t, dir) == 0 {
		t.Error("every job was done before the stop: nothing was interrupted")
	}
	afterCrash(t, dir, known, want)
}

// waitFor polls until holds is true.
func waitFor(t *testing.T, what string, holds func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), startLimit)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// TestKillAmongSmallUploadsLeavesNoHalfCase kills while several clients upload as fast as
// they can, so that the kill falls between the steps of an upload. No case may be without
// its bundle.
func TestKillAmongSmallUploadsLeavesNoHalfCase(t *testing.T) {
	corpus.Heavy(t)
	const clients = 3
	for seed := range uint64(4) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 7))
			dir := t.TempDir()
			s := serve(t, dir, "--no-samples")
			moment := time.Duration(40+random.IntN(160)) * time.Millisecond
			timer := time.AfterFunc(moment, s.kill)
			defer timer.Stop()
			acknowledged := uploadTiny(s, clients)
			s.kill()
			t.Logf("killed after %s: %d uploads acknowledged", moment, len(acknowledged))

			s = serve(t, dir, "--no-samples")
			drain(t, s)
			if status := s.stop(); status != exitDone {
				t.Errorf("status %d after the restart: %s", status, s.stderr)
			}
			noHalfCase(t, dir, acknowledged, clients)
			intact(t, dir)
		})
	}
}

// uploadTiny uploads from several clients until the server is gone, and returns the
// acknowledged cases.
func uploadTiny(s *serving, clients int) map[string]bool {
	var mu sync.Mutex
	acknowledged := map[string]bool{}
	var all sync.WaitGroup
	for client := range clients {
		all.Go(func() {
			for i := 0; ; i++ {
				dump := fmt.Sprintf("goroutine 1 [running]:\nmain.from%d()\n\t/src/main.go:%d +0x1\n", client, i)
				a, err := s.request(http.MethodPut, fmt.Sprintf("/api/v1/bundles/tiny-%d-%d.txt", client, i), strings.NewReader(dump))
				if err != nil {
					return
				}
				if a.status != http.StatusCreated {
					s.t.Errorf("uploading gave %d: %s", a.status, a.body)
					return
				}
				mu.Lock()
				acknowledged[decode[upload](s.t, a.body).Case] = true
				mu.Unlock()
			}
		})
	}
	all.Wait()
	return acknowledged
}

// noHalfCase demands that every acknowledged case exists, that every case has one bundle,
// done with one snapshot, and that at most one upload of each client is stored without
// being acknowledged.
func noHalfCase(t *testing.T, dir string, acknowledged map[string]bool, clients int) {
	t.Helper()
	st, err := store.Open(t.Context(), store.Config{Dir: dir})
	if err != nil {
		t.Fatalf("the store refuses its directory: %v", err)
	}
	defer st.Close()
	cases, _, err := st.Cases(t.Context(), store.CaseQuery{Limit: 100_000})
	if err != nil {
		t.Fatal(err)
	}
	empty, unasked := 0, 0
	for _, c := range cases {
		bundles, err := st.Bundles(t.Context(), c.ID)
		if err != nil {
			t.Fatal(err)
		}
		if len(bundles) == 0 {
			empty++
			continue
		}
		if b := bundles[0]; len(bundles) != 1 || b.Status != store.Done || b.Snapshots != 1 {
			t.Errorf("case %q: %d bundles, the first is %s with %d snapshots", c.Title, len(bundles), b.Status, b.Snapshots)
		}
		if !acknowledged[c.ID] && c.Title != "last" {
			unasked++
		}
		delete(acknowledged, c.ID)
	}
	if empty > 0 {
		t.Errorf("%d cases have no bundle: the kill fell between making a case and recording its upload", empty)
	}
	if len(acknowledged) > 0 {
		t.Errorf("%d acknowledged cases are lost", len(acknowledged))
	}
	if unasked > clients {
		t.Errorf("%d uploads came in without an answer, of %d clients", unasked, clients)
	}
}
