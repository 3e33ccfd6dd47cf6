package server

import (
	"bytes"
	"database/sql"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/minio/minlz"

	"leakdiff/analysis/say/report"
	"leakdiff/samples/corpus"
	"leakdiff/server/share"
	"leakdiff/store"
)

// plantedBytes counts the markers of carriers and the secrets in all files below a
// directory, in any case of letters, and in what the store packs and compresses.
func plantedBytes(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	look := func(where string, text []byte) {
		for secret := range found(string(text), "") {
			out[secret] = where
		}
	}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		look(path, append(text, unpacked(text)...))
		look("the name of a file", []byte(path))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// unpacked is what the streams of Zstandard and MinLZ in some bytes hold.
func unpacked(b []byte) (out []byte) {
	for at := range b {
		switch rest := b[at:]; {
		case bytes.HasPrefix(rest, []byte{0x28, 0xb5, 0x2f, 0xfd}):
			if dec, err := zstd.NewReader(bytes.NewReader(rest), zstd.WithDecoderConcurrency(1)); err == nil {
				plain, _ := io.ReadAll(dec)
				out = append(append(out, ' '), plain...)
				dec.Close()
			}
		case bytes.HasPrefix(rest, []byte("\xff\x06\x00\x00MinLz")):
			plain, _ := io.ReadAll(minlz.NewReader(bytes.NewReader(rest)))
			out = append(append(out, ' '), plain...)
		}
	}
	return out
}

// openedValues are all values of all tables, unpacked where the store packs them.
func openedValues(t *testing.T, dir string) (out []byte) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "leakdiff.db")+"?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	names := query(t, db, `SELECT name FROM sqlite_master WHERE type = 'table'`)
	for _, name := range names {
		for _, value := range query(t, db, fmt.Sprintf(`SELECT * FROM %q`, name[0])) {
			for _, v := range value {
				out = append(append(append(out, ' '), v...), unpacked(v)...)
			}
		}
	}
	return out
}

func query(t *testing.T, db *sql.DB, text string) (out [][][]byte) {
	t.Helper()
	rows, err := db.Query(text)
	if err != nil {
		t.Fatal(text, err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		values := make([]sql.RawBytes, len(columns))
		into := make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		row := make([][]byte, len(columns))
		for i, v := range values {
			row[i] = bytes.Clone(v)
		}
		out = append(out, row)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// reaped waits until the data directory contains nothing of what was deleted.
func (s *site) reaped() {
	s.t.Helper()
	figure := func(text, name string) string {
		return regexp.MustCompile(`(?m)^` + name + ` (\S+)$`).FindStringSubmatch(text)[1]
	}
	for {
		text := s.get("/metrics").body
		if n := figure(text, "leakdiff_deletions_reaped_total"); n != "0" && n == figure(text, "leakdiff_deletions_total") {
			return
		}
	}
}

func TestADeletedCaseLeavesNoByte(t *testing.T) {
	corpus.Heavy(t)
	for _, links := range []string{"withdraw", "keep"} {
		t.Run("permalinks: "+links, func(t *testing.T) {
			dir := t.TempDir()
			st, err := store.Open(t.Context(), store.Config{Dir: dir})
			if err != nil {
				t.Fatal(err)
			}
			s := startSite(t, st, Config{})
			other := s.put("other.txt", []byte("goroutine 1 [running]:\nmain.main()\n\t/src/main.go:3 +0x1\n"))
			files := map[string]string{}
			for round := range 2 {
				maps.Copy(files, plantedRound(round))
			}
			up := s.put(carrier("name of the bundle").marked()+".tar.gz", tgz(t, files))
			s.write(t, up.Case)
			doc := decode[report.Report](t, s.get("/api/v1/cases/"+up.Case).body)
			for _, address := range []string{"/cases/" + up.Case, "/families/" + url.PathEscape(doc.Series[0].Families[0].Fingerprint) + "?case=" + up.Case} {
				s.get(address)
				r := s.do("POST", "/api/v1/permalinks", strings.NewReader(fmt.Sprintf(`{"view":%q,"redact":%t,"title":"of Wolpertinger"}`, address, links == "keep")))
				if r.status != 201 {
					t.Fatalf("freezing gave %d: %.300s", r.status, r.body)
				}
				_ = decode[share.Result](t, r.body)
			}
			planted := plantedBytes(t, dir)
			for secret := range found(string(openedValues(t, dir)), "") {
				planted[secret] = "a value"
			}
			if len(planted) < 80 {
				t.Fatalf("only %d secrets are in the data directory: the test proves nothing", len(planted))
			}

			r := s.do("DELETE", "/api/v1/cases/"+up.Case+"?permalinks="+links, nil)
			if r.status != 204 {
				t.Fatalf("deleting gave %d: %.300s", r.status, r.body)
			}
			if r := s.get("/cases/" + up.Case); r.status != 404 {
				t.Errorf("a deleted case is answered %d", r.status)
			}
			s.reaped()
			for secret, where := range plantedBytes(t, dir) {
				t.Errorf("%s is still in %s", secret, where)
			}
			text := string(openedValues(t, dir))
			for secret, where := range found(text, "") {
				t.Errorf("%s is still in a value: %s", secret, where)
			}
			if r := s.get("/cases/" + other.Case); r.status != 200 {
				t.Errorf("the other case is answered %d", r.status)
			}
		})
	}
}
