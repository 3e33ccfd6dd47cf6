package server

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"leakdiff/analysis"
	"leakdiff/server/intake"
	"leakdiff/server/share"
	"leakdiff/store"
	"leakdiff/store/blob"
)

// siteIn is a site with a known data directory.
func siteIn(t *testing.T, cfg Config) (s *site, dir string) {
	t.Helper()
	dir = t.TempDir()
	st, err := store.Open(t.Context(), store.Config{Dir: dir, Log: cfg.Log})
	if err != nil {
		t.Fatal(err)
	}
	return startSite(t, st, cfg), dir
}

// storedFile is the stored file of the only upload.
func storedFile(t *testing.T, dir string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "blobs", "??", "*"))
	if err != nil || len(found) != 1 {
		t.Fatalf("%v, %v, want one upload", found, err)
	}
	return found[0]
}

func gzipped(t *testing.T, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// damages are ways to damage a stored file.
var damages = map[string]func(path string) error{
	"cut to nothing": func(path string) error { return os.Truncate(path, 0) },
	"cut short": func(path string) error {
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		return os.Truncate(path, info.Size()/2)
	},
	"changed": func(path string) error {
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		content[len(content)*2/3] ^= 1
		return os.WriteFile(path, content, 0o600)
	},
	"removed": os.Remove,
}

// readAgain has a bundle read again and waits for the end.
func (s *site) readAgain(id string) intake.BundleState {
	s.t.Helper()
	if r := s.do("POST", "/bundles/"+id+"/read", strings.NewReader(""), "Content-Type", formType); r.status != 303 {
		s.t.Fatalf("reading again gave %d: %s", r.status, r.body)
	}
	return s.settled(id)
}

func (s *site) settled(id string) intake.BundleState {
	s.t.Helper()
	for {
		b := decode[intake.BundleState](s.t, s.get("/bundles/"+id+".json").body)
		if b.Status != "queued" && b.Status != "running" {
			return b
		}
		select {
		case <-s.t.Context().Done():
			s.t.Fatal("it never ends")
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func TestADamagedUploadIsNeverShownAndNeverReplacesAResult(t *testing.T) {
	dump := stacks(228)
	for name, upload := range map[string][]byte{"dump.txt": []byte(dump), "dump.txt.gz": gzipped(t, dump)} {
		for damage, do := range damages {
			t.Run(name+" "+damage, func(t *testing.T) {
				s, dir := siteIn(t, Config{})
				up := s.put(name, upload)
				file := storedFile(t, dir)
				sha := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(file), ".mz"), ".raw")
				before := s.get(up.Link + ".json").body
				raw := []string{"/bundles/" + up.ID + "/files/" + sha, "/raw/" + up.ID + "/download?path=" + name, "/raw/" + up.ID + "?path=" + name + "&offset=0&length=9"}
				for _, path := range raw {
					if r := s.get(path); r.status != 200 {
						t.Fatalf("%s gave %d before the damage", path, r.status)
					}
				}
				if err := do(file); err != nil {
					t.Fatal(err)
				}

				for _, path := range raw {
					for _, header := range [][]string{{"Accept", "application/json"}, {"Accept", "text/html"}, {"Accept", "application/json", "Range", "bytes=0-10"}} {
						r := s.do("GET", path, nil, header...)
						if r.status != 500 {
							t.Errorf("%s gave %d", path, r.status)
						}
						for _, want := range []string{name, sha[:12], "stored bytes of this file are", "pload the same file again"} {
							if !strings.Contains(r.body, want) {
								t.Errorf("%s does not say %q: %.900s", path, want, r.body)
							}
						}
						if strings.Contains(r.body, "goroutine ") || strings.Contains(r.body, dir) {
							t.Errorf("%s shows bytes, or a directory of the machine", path)
						}
					}
				}
				page := s.get("/bundles/" + up.ID).body
				if !strings.Contains(page, name+" is damaged on the disk of this server") {
					t.Error("the page of the bundle does not name it")
				}

				b := s.readAgain(up.ID)
				if b.Status != "done" || !strings.Contains(b.Error, name) || !strings.Contains(b.Error, "stored bytes of this file are") {
					t.Errorf("read again it is %s: %s", b.Status, b.Error)
				}
				if after := s.get(up.Link + ".json").body; after != before {
					t.Errorf("the result was replaced: %.600s", after)
				}
				if page := s.get("/bundles/" + up.ID).body; !strings.Contains(page, "the earlier result stays") {
					t.Error("the page does not say what became of the reading")
				}

				// The same upload into the case restores the file and has it read.
				r := s.do("PUT", "/api/v1/bundles/"+name+"?wait=1&case="+up.Case, bytes.NewReader(upload))
				if again := decode[intake.Uploaded](t, r.body); r.status != 200 || again.ID != up.ID || again.Status != "done" || again.Error != "" {
					t.Errorf("the same upload gave %d %s %s", r.status, again.Status, again.Error)
				}
				if r := s.get(raw[0]); r.status != 200 || r.body != string(upload) || r.header.Get("Content-Length") != fmt.Sprint(len(upload)) {
					t.Errorf("then the download gives %d with %d bytes", r.status, len(r.body))
				}
				if b := s.readAgain(up.ID); b.Status != "done" || b.Error != "" {
					t.Errorf("then reading again ends %s: %s", b.Status, b.Error)
				}
				if page := s.get("/bundles/" + up.ID).body; strings.Contains(page, "damaged") || !strings.Contains(page, "Kept byte for byte.") {
					t.Error("the page still calls it damaged")
				}
				kept, err := filepath.Glob(filepath.Join(dir, "blobs", "damaged", sha+"*"))
				if want := map[bool]int{true: 0, false: 1}[damage == "removed"]; err != nil || len(kept) != want {
					t.Errorf("%d damaged files were kept, want %d, %v", len(kept), want, err)
				}
			})
		}
	}
}

func TestTheSameUploadAsANewCasePutsADamagedOneBack(t *testing.T) {
	for damage, do := range damages {
		t.Run(damage, func(t *testing.T) {
			dir := t.TempDir()
			st, err := store.Open(t.Context(), store.Config{Dir: dir})
			if err != nil {
				t.Fatal(err)
			}
			ends := &endStorage{Storage: st}
			s := startSite(t, st, Config{Store: ends})
			up := s.put("dump.txt", []byte(tinyDump))
			ends.finish = func(string) error {
				return &analysis.Fault{Code: blob.Damaged, What: "the stored bytes of this file are damaged"}
			}
			fresh := s.put("dump.txt", []byte(tinyDump))
			ends.finish = nil
			file := storedFile(t, dir)
			if err := do(file); err != nil {
				t.Fatal(err)
			}
			// One has an older result, the other never had one.
			for id, status := range map[string]string{up.ID: "done", fresh.ID: "failed"} {
				if b := s.readAgain(id); b.Status != status || b.Error == "" {
					t.Fatalf("damaged it is %s: %s", b.Status, b.Error)
				}
			}
			other := s.put("dump.txt", []byte(tinyDump))
			for _, id := range []string{up.ID, fresh.ID} {
				if b := s.settled(id); b.Status != "done" || b.Error != "" {
					t.Errorf("what failed for the damage is then %s: %s", b.Status, b.Error)
				}
			}
			if other.Case == up.Case {
				t.Fatal("it is no new case")
			}
			for _, id := range []string{up.ID, other.ID} {
				if r := s.get("/bundles/" + id + "/files/" + strings.TrimSuffix(filepath.Base(file), ".mz")); r.status != 200 || r.body != tinyDump {
					t.Errorf("%d: %q", r.status, r.body)
				}
			}
		})
	}
}

// A first reading of damaged bytes stores no result.
func TestAnUploadThatWasDamagedBeforeItWasReadFails(t *testing.T) {
	dir := t.TempDir()
	st, err := store.Open(t.Context(), store.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	good, err := st.Blobs().Put(t.Context(), strings.NewReader(stacks(9)), 0)
	if err != nil {
		t.Fatal(err)
	}
	bad, err := st.Blobs().Put(t.Context(), strings.NewReader(stacks(228)), 0)
	if err != nil {
		t.Fatal(err)
	}
	_, b, _, err := st.OpenCase(t.Context(), "two", "", "two", []store.File{{Name: "good.txt", SHA256: good.SHA256, Size: good.Size}, {Name: "bad.txt", SHA256: bad.SHA256, Size: bad.Size}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(dir, "blobs", bad.SHA256[:2], bad.SHA256+".mz"), 10); err != nil {
		t.Fatal(err)
	}
	s := startSite(t, st, Config{})
	if got := s.settled(b.ID); got.Status != "failed" || !strings.Contains(got.Error, "bad.txt") || strings.Contains(got.Error, "good.txt") {
		t.Errorf("%s: %s", got.Status, got.Error)
	}
	if r := s.get("/raw/" + b.ID + "/download?path=good.txt"); r.status != 200 || r.body != stacks(9) {
		t.Errorf("the good file beside it: %d", r.status)
	}
}

func TestARefusedUploadLeavesNothingOnTheDisk(t *testing.T) {
	s, dir := siteIn(t, Config{Listen: "192.0.2.1:8080"})
	up := s.put("dump.txt", []byte(tinyDump))
	many := map[string]string{}
	for i := range 3 {
		many[fmt.Sprintf("t%d.txt", i)] = dumpOf(i + 2)
	}
	body, kind := form(t, many, map[string]string{"key": "wrong"})
	foreign, _ := form(t, map[string]string{"t.txt": tinyDump}, nil)
	s.run(t, []scenario{
		{name: "a form for another's case", method: "POST", path: "/upload?case=" + up.Case, body: body.String(), header: []string{"Content-Type", kind}, status: 403},
		{name: "a form that breaks off", method: "POST", path: "/api/v1/bundles", body: foreign.String()[:foreign.Len()/2] + strings.Repeat("x", 9), header: []string{"Content-Type", kind}, status: 400},
		{name: "an empty body", method: "PUT", path: "/api/v1/bundles/x.txt", status: 400},
	})
	storedFile(t, dir) // the file of the first upload, and no other
	if left, err := os.ReadDir(filepath.Join(dir, "blobs", "tmp")); err != nil || len(left) != 0 {
		t.Errorf("%v, %v", left, err)
	}
}

// fullStorage is a store whose volume is full at times.
type fullStorage struct {
	Storage
	full, failing atomic.Bool
}

var diskFull = &analysis.Fault{Code: "disk_full", What: "writing a result failed", Why: "the volume of the data directory is full", Hint: "Delete cases."}

func (s *fullStorage) FinishJob(ctx context.Context, job store.Job, r store.Result) error {
	if s.full.Load() {
		return diskFull
	}
	return s.Storage.FinishJob(ctx, job, r)
}

func (s *fullStorage) PostponeJob(ctx context.Context, job store.Job, why *analysis.Fault) error {
	if s.failing.Swap(false) {
		return diskFull
	}
	return s.Storage.PostponeJob(ctx, job, why)
}

func TestAResultThatFindsTheVolumeFullIsSavedWhenThereIsRoom(t *testing.T) {
	st := openStore(t)
	full := &fullStorage{Storage: st}
	s := startSite(t, st, Config{Store: full})
	for _, name := range []string{"by itself", "after a deletion", "when even the note of it had no room"} {
		t.Run(name, func(t *testing.T) {
			s := &site{t: t, s: s.s, url: s.url}
			gone := s.put("other.txt", []byte(dumpOf(3)))
			full.full.Store(true)
			full.failing.Store(strings.HasPrefix(name, "when even"))
			body := stacks(50 + len(name))
			up := decode[intake.Uploaded](t, s.do("PUT", "/api/v1/bundles/dump.txt", strings.NewReader(body)).body)
			// Each reader tries the job once before all of them wait.
			for {
				b := decode[intake.BundleState](t, s.get("/bundles/"+up.ID+".json").body)
				page := s.get("/bundles/" + up.ID).body
				if b.Status == "queued" && strings.Contains(b.Text, "waits for room") && strings.Contains(b.Error, "full") &&
					strings.Contains(page, "waits for room") && strings.Contains(page, "volume of the data directory is full") {
					break
				}
				if b.Status != "queued" && b.Status != "running" {
					t.Fatalf("it ended %s: %s", b.Status, b.Error)
				}
				select {
				case <-t.Context().Done():
					t.Fatalf("it never waits: %+v", b)
				case <-time.After(5 * time.Millisecond):
				}
			}
			full.full.Store(false)
			if name == "after a deletion" {
				if r := s.do("DELETE", "/api/v1/cases/"+gone.Case, nil); r.status != 204 {
					t.Errorf("deleting gave %d", r.status)
				}
			}
			if b := s.settled(up.ID); b.Status != "done" || b.Error != "" || b.Snapshots != 1 {
				t.Errorf("it ended %s with %d snapshots: %s", b.Status, b.Snapshots, b.Error)
			}
		})
	}
}

// lines is a log that several goroutines write and a test reads.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) find(t *testing.T, what string) string {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.text.String()) {
		if strings.Contains(line, what) {
			return line
		}
	}
	t.Fatalf("no line says %q: %s", what, l.text.String())
	return ""
}

func TestTheLogSaysWhichCaseWasDeletedByWhichRequest(t *testing.T) {
	for listen, allowed := range map[string]string{"127.0.0.1:8080": "loopback, no key", "192.0.2.1:8080": "owner key"} {
		t.Run(listen, func(t *testing.T) {
			text := &lines{}
			s, _ := siteIn(t, Config{Listen: listen, Log: slog.New(slog.NewTextHandler(text, nil))})
			up := s.put("dump.txt", []byte(tinyDump))
			var header []string
			if allowed == "owner key" {
				header = []string{"Authorization", "Bearer " + up.OwnerKey}
			}
			r := s.do("DELETE", "/api/v1/cases/"+up.Case, nil, header...)
			id := r.header.Get("X-Request-Id")
			if r.status != 204 || len(id) < 8 {
				t.Fatalf("%d, request %q", r.status, id)
			}
			line := text.find(t, "case deleted")
			for _, want := range []string{"case=" + up.Case, "request=" + id, "method=DELETE", "remote=127.0.0.1:", `allowed_by="` + allowed + `"`} {
				if !strings.Contains(line, want) {
					t.Errorf("%q is missing in %s", want, line)
				}
			}
			if strings.Contains(text.text.String(), up.OwnerKey) {
				t.Error("the log holds the key")
			}
			other := s.put("dump.txt", []byte(tinyDump))
			if allowed == "owner key" {
				header = []string{"Authorization", "Bearer " + other.OwnerKey}
			}
			s.do("DELETE", "/api/v1/bundles/"+other.ID, nil, header...)
			if line := text.find(t, "bundle removed"); !strings.Contains(line, "bundle="+other.ID) || !strings.Contains(line, "case="+other.Case) {
				t.Errorf("of a bundle: %s", line)
			}
		})
	}
}

func TestTheLogSaysWhoSharedExtendedAndWithdrewAResult(t *testing.T) {
	text := &lines{}
	s, _ := siteIn(t, Config{Listen: "192.0.2.1:8080", Log: slog.New(slog.NewTextHandler(text, nil))})
	up := s.put("dump.txt", []byte(tinyDump))
	made := decode[share.Result](t, s.do("POST", "/api/v1/permalinks", strings.NewReader(`{"view":"/cases/`+up.Case+`"}`), "Content-Type", "application/json").body)
	own := "/api/v1/permalinks/" + made.ID
	key := []string{"Authorization", "Bearer " + made.OwnerKey, "Content-Type", "application/json"}
	if r := s.do("DELETE", own, nil, "Authorization", "Bearer wrong"); r.status < 400 || strings.Contains(text.text.String(), "result withdrawn") {
		t.Fatalf("with a wrong key: %d, %s", r.status, text.text.String())
	}
	if r := s.do("PATCH", own, strings.NewReader(`{"keep":"30d"}`), key...); r.status != 204 {
		t.Fatalf("extending: %d %s", r.status, r.body)
	}
	if r := s.do("DELETE", own, nil, key...); r.status != 204 {
		t.Fatalf("withdrawing: %d %s", r.status, r.body)
	}
	for what, fields := range map[string][]string{
		"result shared":    {"method=POST", "case=" + up.Case, "redacted=true", "audience=link", "expires="},
		"result extended":  {"method=PATCH", `allowed_by="owner key"`, "expires="},
		"result withdrawn": {"method=DELETE", `allowed_by="owner key"`},
	} {
		line := text.find(t, what)
		for _, want := range append(fields, "result="+made.ID[:8], "request=", "remote=127.0.0.1:") {
			if !strings.Contains(line, want) {
				t.Errorf("%q is missing in %s", want, line)
			}
		}
	}
	for _, never := range []string{made.ID, made.OwnerKey, up.OwnerKey} {
		if strings.Contains(text.text.String(), never) {
			t.Errorf("the log holds %s", never)
		}
	}
}

func TestTheSameUploadIsReadAgainWhereItStoppedTheServerTooOften(t *testing.T) {
	st := openStore(t)
	ends := &endStorage{Storage: st, finish: func(string) error { return &analysis.Fault{Code: "unreadable", What: "no"} }}
	s := startSite(t, st, Config{Store: ends})
	up := s.put("dump.txt", []byte(tinyDump))
	send := func() intake.Uploaded {
		return decode[intake.Uploaded](t, s.do("PUT", "/api/v1/bundles/dump.txt?wait=1&case="+up.Case, strings.NewReader(tinyDump)).body)
	}
	ends.finish = nil
	if again := send(); again.ID != up.ID || again.Status != "failed" {
		t.Errorf("what cannot be read is read again: %s %s", again.ID, again.Status)
	}
	ends.finish = func(string) error { return &analysis.Fault{Code: "unreadable", What: "no"} }
	ends.fail = &analysis.Fault{Code: store.Crashed, What: "the bundle was not read"}
	s.readAgain(up.ID)
	ends.finish = nil
	if again := send(); again.ID != up.ID || again.Status != "done" {
		t.Errorf("%s %s, want %s to be done", again.ID, again.Status, up.ID)
	}
}

func TestADirectoryOfUploadsThatCannotBeUsedIsNamedAndEndsNothing(t *testing.T) {
	s, dir := siteIn(t, Config{})
	up := s.put("d.txt", []byte(tinyDump))
	blobs := filepath.Join(dir, "blobs")
	if err := errors.Join(os.Rename(blobs, blobs+".away"), os.WriteFile(blobs, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	s.run(t, []scenario{
		{name: "the server is not ready", path: "/readyz", status: 503, want: []string{`"status": "not ready"`, "the directory of the uploads cannot be used"}, never: []string{dir}},
		{name: "an upload is refused", method: "PUT", path: "/api/v1/bundles/e.txt", body: "hello", status: 503, want: []string{`"code": "uploads_unreachable"`, "What was acknowledged is not lost."}, never: []string{dir}},
		{name: "raw lines are not there now", path: "/raw/" + up.ID + "?path=d.txt", status: 503, want: []string{"uploads can neither be kept nor read at the moment"}, never: []string{dir}},
		{name: "the answer is", path: up.Link, status: 200},
	})
	if err := errors.Join(os.Remove(blobs), os.Rename(blobs+".away", blobs)); err != nil {
		t.Fatal(err)
	}
	s.run(t, []scenario{
		{name: "back, the server is ready", path: "/readyz", status: 200, want: []string{`"status": "ready"`}},
		{name: "and raw lines are there", path: "/raw/" + up.ID + "?path=d.txt", status: 200},
	})
}
