package server

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"leakdiff/analysis/say/report"
	"leakdiff/samples"
	"leakdiff/server/share"
	"leakdiff/store"
)

var keep = flag.String("keep", "", "make testdata/kept/NAME.tar.zst, a data directory as this version writes it, which later versions must read")

// kept is what a later version must say of a kept data directory.
type kept struct {
	// Frozen are the bodies of frozen results, by address. They stay as they are for ever.
	Frozen map[string]string
	// Cases are the counts of families in live cases, by case, process and fingerprint. Words
	// and verdicts may become better; what was counted may not change.
	Cases map[string]map[string][]int
	// Live are addresses of live pages, which open.
	Live []string
}

// TestStoredDataSaysTheSameForEver opens data directories of this version and of those before it.
func TestStoredDataSaysTheSameForEver(t *testing.T) {
	if *keep != "" {
		keepData(t, filepath.Join("testdata", "kept", *keep+".tar.zst"))
	}
	archives, err := filepath.Glob(filepath.Join("testdata", "kept", "*.tar.zst"))
	if err != nil || len(archives) == 0 {
		t.Fatalf("there is no kept data directory: %v", err)
	}
	for _, archive := range archives {
		t.Run(filepath.Base(archive), func(t *testing.T) {
			dir := t.TempDir()
			want := unpackKept(t, archive, dir)
			st, err := store.Open(t.Context(), store.Config{Dir: dir})
			if err != nil {
				t.Fatal(err)
			}
			s := startSite(t, st, Config{})
			for address, body := range want.Frozen {
				if got := s.frozen(t, address); got != body {
					t.Errorf("%s has changed (-kept +now):\n%s", address, cmp.Diff(strings.Split(body, "\n"), strings.Split(got, "\n")))
				}
			}
			for id, counts := range want.Cases {
				if diff := cmp.Diff(counts, s.counted(t, id)); diff != "" {
					t.Errorf("case %s (-kept +now):\n%s", id, diff)
				}
			}
			for _, address := range want.Live {
				if r := s.get(address); r.status != http.StatusOK {
					t.Errorf("%s gives %d: %.300s", address, r.status, r.body)
				}
			}
		})
	}
}

// words are those of a page's body: looks may change.
var words = regexp.MustCompile(`(?s)<main.*</main>`)

// frozen returns the body at an address of a frozen result; of a page only its words.
func (s *site) frozen(t *testing.T, address string) string {
	t.Helper()
	r := s.get(address)
	if r.status != http.StatusOK {
		t.Fatalf("%s gives %d: %.300s", address, r.status, r.body)
	}
	body := strings.ReplaceAll(r.body, s.url, "http://server")
	if !strings.HasPrefix(r.header.Get("Content-Type"), "text/html") {
		return body
	}
	return strings.Join(strings.Fields(plainWords(words.FindString(body))), " ")
}

var markup = regexp.MustCompile(`(?s)<(script|svg).*?</(script|svg)>|<[^>]*>`)

func plainWords(html string) string { return markup.ReplaceAllString(html, " ") }

// counted returns the counts of the families of a live case.
func (s *site) counted(t *testing.T, id string) map[string][]int {
	t.Helper()
	out := map[string][]int{}
	for _, series := range decode[report.Report](t, s.get("/cases/"+id+".json").body).Series {
		for _, f := range series.Families {
			for _, n := range f.Counts {
				out[series.Process+" "+f.Fingerprint] = append(out[series.Process+" "+f.Fingerprint], n.N)
			}
		}
	}
	return out
}

// keepData makes a data directory with a frozen page of each kind, redacted and not, and what is
// said of it.
func keepData(t *testing.T, archive string) {
	dir := t.TempDir()
	st, err := store.Open(t.Context(), store.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	want := kept{Frozen: map[string]string{}, Cases: map[string]map[string][]int{}}
	t.Run("make", func(t *testing.T) {
		s := startSite(t, st, Config{})
		for name, upload := range keptUploads(t) {
			up := s.put(name+".tar.gz", upload)
			want.Cases[up.Case] = s.counted(t, up.Case)
			live := s.addresses(t, up.Case)
			want.Live = append(want.Live, append(live, "/bundles/"+up.ID)...)
			for i, view := range live {
				body := fmt.Sprintf(`{"case":%q,"view":%q,"redact":%v,"keep":"keep"}`, up.Case, view, i%2 == 0)
				r := s.do("POST", "/api/v1/permalinks", strings.NewReader(body), "Content-Type", jsonKind)
				if r.status != http.StatusCreated {
					t.Fatalf("freezing %s gave %d: %s", view, r.status, r.body)
				}
				link := decode[share.Result](t, r.body).Link
				for _, suffix := range []string{"", ".json", ".txt", ".md", ".jira", ".csv"} {
					want.Frozen[link+suffix] = s.frozen(t, link+suffix)
				}
			}
		}
	})
	packKept(t, archive, dir, want)
}

// addresses returns an address of each kind of page of a case.
func (s *site) addresses(t *testing.T, id string) []string {
	t.Helper()
	r := decode[report.Report](t, s.get("/cases/"+id+".json").body)
	series, of := r.Series[0], "?case="+id
	var snaps []string
	for _, snap := range r.Snapshots {
		if snap.Process == r.Snapshots[0].Process {
			snaps = append(snaps, snap.ID)
		}
	}
	first, last := snaps[0], snaps[len(snaps)-1]
	out := []string{"/cases/" + id, "/families/" + series.Families[0].Fingerprint + of, "/snapshots/" + last + of, "/diff/" + first + ".." + last + of}
	if len(series.Families[0].Frames) > 0 {
		out = append(out, "/snapshots/"+last+"/flame"+of, "/diff/"+first+".."+last+"/flame"+of)
	}
	if len(snaps) > 2 {
		out = append(out, "/compare"+of+"&s="+strings.Join(snaps, "&s="))
	}
	if series.Families[0].Kind == "goroutine" {
		out = append(out, "/members/goroutine:1"+of)
	}
	if len(series.Objects) > 0 {
		out = append(out, "/objects/"+series.Objects[0].ID+of)
	}
	return out
}

// keptUploads are two samples and three captures of a third one.
func keptUploads(t *testing.T) map[string][]byte {
	t.Helper()
	all, err := samples.All()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]byte{}
	for _, s := range all {
		out[s.Name] = s.Archive
	}
	few := regexp.MustCompile(`/t[036]/(captured_at|kubelet/goroutine-debug2.txt)$`)
	files := map[string]string{}
	plain, err := gzip.NewReader(bytes.NewReader(out["kubelet-probe-leak"]))
	if err != nil {
		t.Fatal(err)
	}
	for tr := tar.NewReader(plain); ; {
		h, err := tr.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if few.MatchString(h.Name) {
			body, err := io.ReadAll(tr)
			if err != nil {
				t.Fatal(err)
			}
			files[h.Name] = string(body)
		}
	}
	out["kubelet-probe-leak"] = tgz(t, files)
	return out
}

// answersFile stands in the archive beside the files of the directory.
const answersFile = "answers.json"

func packKept(t *testing.T, archive, dir string, want kept) {
	t.Helper()
	slices.Sort(want.Live)
	answers, err := json.MarshalIndent(want, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	z, err := zstd.NewWriter(&packed, zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithWindowSize(8<<20))
	if err != nil {
		t.Fatal(err)
	}
	// The reserve is room on the disk for hard times, and empty.
	if err := os.Remove(filepath.Join(dir, "leakdiff.reserve")); err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	tw := tar.NewWriter(z)
	err = tw.WriteHeader(&tar.Header{Name: answersFile, Mode: 0o644, Size: int64(len(answers))})
	_, more := tw.Write(answers)
	if err = errors.Join(err, more, tw.AddFS(os.DirFS(dir)), tw.Close(), z.Close(), os.MkdirAll(filepath.Dir(archive), 0o755), os.WriteFile(archive, packed.Bytes(), 0o644)); err != nil {
		t.Fatal(err)
	}
}

func unpackKept(t *testing.T, archive, dir string) (want kept) {
	t.Helper()
	f, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := zstd.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	for tr := tar.NewReader(z); ; {
		h, err := tr.Next()
		if err == io.EOF {
			return want
		}
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(tr)
		path := filepath.Join(dir, filepath.FromSlash(h.Name))
		switch {
		case h.Name == answersFile:
			err = errors.Join(err, json.Unmarshal(body, &want))
		case h.FileInfo().IsDir():
			err = errors.Join(err, os.MkdirAll(path, 0o755))
		default:
			err = errors.Join(err, os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, body, 0o600))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
