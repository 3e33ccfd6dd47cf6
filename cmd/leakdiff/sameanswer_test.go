package main

import (
	"bytes"
	"encoding/json"
	"io"
	"mime/multipart"
	"os"
	"path"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"leakdiff/analysis/read/bundle"
	"leakdiff/analysis/read/ingest"
	"leakdiff/analysis/say/report"
	"leakdiff/samples/corpus"
)

// handedOver is what is said of captures, and when each was taken.
type handedOver struct {
	Diagnosis struct{ Sentence, State, Since, Rate string }
	Snapshots []struct {
		Label      string
		CapturedAt *time.Time `json:"captured_at"`
	}
}

func TestTheSameFilesGetOneAnswerHoweverTheyAreHandedOver(t *testing.T) {
	corpus.Heavy(t)
	all, err := filepath.Glob(corpus.Path(t, "series", "*"))
	if err != nil || len(all) == 0 {
		t.Fatalf("%d series, %v", len(all), err)
	}
	s := serve(t, t.TempDir(), "--no-samples")
	for _, dir := range all {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			whole, want := readAs(t, dir)
			if len(want.Snapshots) < 2 || want.Diagnosis.Sentence == "" {
				t.Fatalf("the directory: %+v", want)
			}
			entries, err := filepath.Glob(filepath.Join(dir, "*"))
			if err != nil {
				t.Fatal(err)
			}
			_, parts := readAs(t, entries...)
			archive := filepath.Join(t.TempDir(), "upload.tar")
			var packed bytes.Buffer
			if err := pack(&packed, whole); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(archive, packed.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
			_, unpacked := readAs(t, archive)
			// A browser knows milliseconds.
			up := s.post(browserForm(t, filepath.Base(dir), whole))
			for way, got := range map[string]handedOver{
				"what is in it, named one by one": parts, "the archive": unpacked,
				"the browser": decode[handedOver](t, s.get("/cases/"+up.Case+".json")),
			} {
				if diff := cmp.Diff(want, got, cmp.Comparer(sameMillisecond)); diff != "" {
					t.Errorf("%s differs (-as a directory +so)\n%s", way, diff)
				}
			}
		})
	}
}

func sameMillisecond(a, b *time.Time) bool {
	return a == b || a != nil && b != nil && a.Sub(*b).Abs() < time.Millisecond
}

func readAs(t *testing.T, paths ...string) ([]bundle.Input, handedOver) {
	t.Helper()
	inputs, err := inputsOf(nil, paths)
	if err != nil {
		t.Fatal(err)
	}
	result, err := ingest.Run(t.Context(), ingest.Config{Bundle: bundle.Config{TempDir: t.TempDir()}, Objects: true}, inputs)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(report.Build(result.Snapshots, result.Problems, report.Options{Version: "test"}).Report)
	if err != nil {
		t.Fatal(err)
	}
	return inputs, decode[handedOver](t, string(text))
}

// browserForm sends a dropped folder as upload.js does.
func browserForm(t *testing.T, folder string, files []bundle.Input) body {
	t.Helper()
	var b bytes.Buffer
	form := multipart.NewWriter(&b)
	for _, f := range files {
		content, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		if err := form.WriteField("modified", f.ModTime.UTC().Format("2006-01-02T15:04:05.000Z")); err != nil {
			t.Fatal(err)
		}
		part, err := form.CreateFormFile("file", path.Join(folder, f.Name))
		if err == nil {
			_, err = io.Copy(part, content)
		}
		if err != nil {
			t.Fatal(err)
		}
		content.Close()
	}
	if err := form.Close(); err != nil {
		t.Fatal(err)
	}
	return body{kind: form.FormDataContentType(), open: &b}
}
