package main

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"leakdiff/internal/test/cluster"
	"leakdiff/samples"
	"leakdiff/samples/corpus"
)

func TestAMovedServerSaysTheSameUnderTheSameLinks(t *testing.T) {
	corpus.Heavy(t)
	database, dir, uploads := cluster.Start(t).Database(t), t.TempDir(), t.TempDir()
	s := serve(t, dir, "--no-samples")
	all, err := samples.All()
	if err != nil {
		t.Fatal(err)
	}
	up := s.put("sample.tar.gz", bytes.NewReader(all[0].Archive))
	a, err := s.request(http.MethodPost, "/api/v1/permalinks", strings.NewReader(`{"case":"`+up.Case+`"}`), "Authorization", "Bearer "+up.OwnerKey, "Content-Type", "application/json")
	if err != nil || a.status != http.StatusCreated {
		t.Fatalf("sharing: %v, %+v", err, a)
	}
	frozen := decode[struct{ URL string }](t, a.body).URL
	frozen = frozen[strings.Index(frozen, "/p/"):]
	paths := []string{up.Link + ".json", frozen + ".json", "/api/v1/fleet"}
	said := map[string]string{}
	for _, path := range paths {
		said[path] = strings.ReplaceAll(s.get(path), s.url, "")
	}
	refused := execute(t, nil, "migrate", "--from", dir, "--to", database, "--to-data", uploads)
	if refused.status != exitError || !strings.Contains(refused.stderr, "in use") {
		t.Errorf("beside a server: %+v", refused)
	}
	if status := s.stop(); status != exitDone {
		t.Fatalf("status %d: %s", status, s.stderr)
	}
	const own, entered = `{"knowledge": []}`, `{"knowledge":  []}`
	if err := os.MkdirAll(filepath.Join(dir, "knowledge"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"own.json": own, "remembered.json": entered} {
		if err := os.WriteFile(filepath.Join(dir, "knowledge", name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	moved := execute(t, nil, "migrate", "--from", dir, "--to", database, "--to-data", uploads)
	if moved.status != exitDone || !strings.HasPrefix(moved.stdout, "Moved and verified: ") || !strings.Contains(moved.stdout, "1 upload of") {
		t.Fatalf("%+v", moved)
	}
	if again := execute(t, nil, "migrate", "--from", dir, "--to", database, "--to-data", uploads); again.status != exitDone || !strings.Contains(again.stdout, "complete before") {
		t.Errorf("a move that was complete: %+v", again)
	}
	if got, err := os.ReadFile(filepath.Join(uploads, "knowledge", "own.json")); err != nil || string(got) != own {
		t.Errorf("the own knowledge: %q, %v", got, err)
	}
	if err := os.Remove(filepath.Join(uploads, "knowledge", "own.json")); err != nil {
		t.Fatal(err)
	}
	other := serve(t, uploads, "--no-samples", "--database", database)
	for _, path := range paths {
		if diff := cmp.Diff(said[path], strings.ReplaceAll(other.get(path), other.url, "")); diff != "" {
			t.Errorf("%s differs (-before +after)\n%s", path, diff)
		}
	}
	a, err = other.request(http.MethodDelete, "/api/v1/cases/"+up.Case, nil, "Authorization", "Bearer "+up.OwnerKey)
	if err != nil || a.status/100 != 2 {
		t.Errorf("the owner key: %v, %+v", err, a)
	}
	if status := other.stop(); status != exitDone {
		t.Fatalf("status %d: %s", status, other.stderr)
	}
	// What was entered on pages is a setting there, and a file again when it comes back.
	if _, err := os.Stat(filepath.Join(uploads, "knowledge", "remembered.json")); !os.IsNotExist(err) {
		t.Errorf("what was entered on pages is a file there: %v", err)
	}
	again := filepath.Join(t.TempDir(), "again")
	if back := execute(t, nil, "migrate", "--from", database, "--from-data", uploads, "--to", again); back.status != exitDone {
		t.Fatalf("%+v", back)
	}
	if got, err := os.ReadFile(filepath.Join(again, "knowledge", "remembered.json")); err != nil || string(got) != entered {
		t.Errorf("what was entered on pages: %q, %v", got, err)
	}
}

func TestAMoveFromOrToNowhereIsRefused(t *testing.T) {
	dir := t.TempDir()
	if status := serve(t, dir, "--no-samples").stop(); status != exitDone {
		t.Fatal(status)
	}
	full := t.TempDir()
	if status := serve(t, full, "--no-samples").stop(); status != exitDone {
		t.Fatal(status)
	}
	if got := execute(t, nil, "token", "create", "--data", full, "--name", "ci", "--role", "read", "--expires", "30d"); got.status != exitDone {
		t.Fatalf("%+v", got)
	}
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"no such directory":       {[]string{"--from", filepath.Join(dir, "none"), "--to", filepath.Join(dir, "new")}, "it has no leakdiff.db"},
		"an empty source":         {[]string{"--from", dir, "--to", filepath.Join(dir, "new")}, "it has no case, no permalink and no token"},
		"a database alone":        {[]string{"--from", dir, "--to", "postgres://127.0.0.1:1/x"}, "Give --blobs their bucket, or --to-data"},
		"a database in words":     {[]string{"--from", dir, "--to", "host=127.0.0.1 password=secret dbname=x"}, "Give --blobs their bucket, or --to-data"},
		"a mistyped address":      {[]string{"--from", dir, "--to", "postgresl://u:secret@127.0.0.1/x"}, "it is neither a directory nor postgres://"},
		"no uploads":              {[]string{"--from", "postgres://127.0.0.1:1/x", "--from-data", filepath.Join(dir, "none"), "--to", filepath.Join(dir, "new")}, "it has no blobs"},
		"a directory twice":       {[]string{"--from", dir, "--from-data", dir, "--to", filepath.Join(dir, "new")}, "Leave --from-data out"},
		"a database that is away": {[]string{"--from", full, "--to", "postgres://127.0.0.1:1/x", "--to-data", filepath.Join(dir, "new")}, "does not answer"},
	} {
		t.Run(name, func(t *testing.T) {
			got := execute(t, nil, append([]string{"migrate"}, c.args...)...)
			if got.status != exitError || !strings.Contains(got.stderr, c.want) || strings.Contains(got.stderr, "secret") {
				t.Errorf("%+v, want %q", got, c.want)
			}
		})
	}
}
