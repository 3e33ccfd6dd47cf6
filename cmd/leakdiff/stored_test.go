package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"flag"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
)

// updateStored writes the answers that are judged on request. Answers of frozen pages are
// never written again: a permalink never changes.
var updateStored = flag.Bool("update-stored", false, "write testdata/stored/live.tar.zst anew")

// The data directory in testdata/stored was made by the program of November 2026 (schema
// 14). It has four cases: a kubelet in two uploads, two dumps, inotify watches, an archive
// that cannot be read. They have title, ticket, modules, archived, triage, edits of host,
// process and event, a baseline and an own entry in the catalogue. There is each kind of
// permalink, one of them withdrawn.
const (
	storedCase   = "cnrekhtbmidqdec3cb7criag7vb"
	storedTwo    = "ckwsilypxsry6xxhhblhmo6yavo"
	storedWatch  = "caruuq6f4bdk5fsje7mihiwndp5"
	storedBroken = "c6ur34xpmcun2ni2kkptpp6oq3h"
	storedFirst  = "sqcllzdjswsiog5ikx7olmrnydg"
	storedLast   = "sc7b65ddgfynnjj2iucbmgdq5a5"
	storedFamily = "g1:8a5b9da649c9c6995771bb74105de800"
)

var storedPermalinks = []string{
	"rp2xomlnwl7lzitqzmbmhfuddntubbq3", // a case
	"ccjaz6l43ebed3ghb4njzgzf3ljw65bm", // a case with its names
	"keyxqqmqmsbhomzz3lvo4u5aertjzcfo", // a filtered case
	"kuppmsyl2u37omvq2eletfpuxnguqhqv", // a case of watches
	"n7yftxgwy75sov2dqufeadnhxuik2azp", // a case of two dumps with their names
	"6qw6k5ehkhuqbmw6hrp3les3tpxhzd4p", // a comparison of two snapshots
	"hea6376gmrpmupcn7eavz7mqedld66n6", // a comparison of several, of two cases
	"hc7gtow5nrzk24jypbemwg4fy3mxn6oz", // a family
	"6phu4gun2b6c4xm5r4dnpamqs5mo3fgc", // a snapshot
	"ac77zh3cn455iqx5myqe7hlowtsc7sxm", // a flame graph
	"22rxwfw6f7cckymkpnhm4v43uflh5lgl", // a flame graph of a comparison
	"543sbkw2fpnfnev4aabapk2foa2qcgwl", // withdrawn
}

// storedFrozenCases of the permalinks are cases.
const storedFrozenCases = 5

// frozenPaths are all permalinks and their twins.
func frozenPaths() (paths []string) {
	for _, id := range storedPermalinks {
		for _, suffix := range []string{"", ".json", ".md", ".txt", ".jira", ".csv", ".svg"} {
			paths = append(paths, "/p/"+id+suffix)
		}
	}
	return paths
}

// livePaths are pages and twins that are judged on request.
func livePaths() (paths []string) {
	for _, id := range []string{storedCase, storedTwo, storedWatch, storedBroken} {
		for _, suffix := range []string{"", ".json", ".md", ".txt", ".jira", ".csv", ".svg"} {
			paths = append(paths, "/cases/"+id+suffix)
		}
		paths = append(paths, "/api/v1/cases/"+id+"/bundles", "/api/v1/cases/"+id+"/triage", "/api/v1/cases/"+id+"/edits", "/cases/"+id+"/identity")
	}
	inCase := "?case=" + storedCase
	for _, suffix := range []string{"", ".json", ".md", ".csv"} {
		paths = append(paths,
			"/snapshots/"+storedLast+suffix+inCase,
			"/diff/"+storedFirst+".."+storedLast+suffix+inCase,
			"/families/"+storedFamily+suffix+inCase,
			"/compare"+suffix+inCase+"&s="+storedFirst+"&s="+storedLast)
	}
	return append(paths, "/?archived=all", "/knowledge?q=housekeeping", "/api/v1/cases", "/api/v1/search?q=housekeeping", "/search?q=housekeeping",
		"/api/v1/families/"+storedFamily, "/snapshots/"+storedLast+"/flame"+inCase, "/snapshots/"+storedLast+".folded"+inCase)
}

func TestADataDirectoryOfNovember2026SaysTheSame(t *testing.T) {
	dir := t.TempDir()
	unpackStored(t, "data.tar.zst", func(name string, content []byte) {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, content, 0o600)); err != nil {
			t.Fatal(err)
		}
	})
	s := serve(t, filepath.Join(dir, "data"), "--no-samples")
	for _, of := range []struct {
		name, file string
		paths      []string
	}{
		{"frozen pages", "frozen.tar.zst", frozenPaths()},
		{"live pages", "live.tar.zst", livePaths()},
	} {
		t.Run(of.name, func(t *testing.T) {
			got := map[string]string{}
			for _, path := range of.paths {
				got[path] = storedAnswer(t, s, dir, path)
			}
			if _, err := os.Stat(filepath.Join("testdata", "stored", of.file)); errors.Is(err, os.ErrNotExist) || *updateStored && of.file == "live.tar.zst" {
				packStored(t, of.file, of.paths, got)
			}
			want := map[string]string{}
			unpackStored(t, of.file, func(name string, content []byte) { want[name] = string(content) })
			for _, path := range of.paths {
				if strings.HasSuffix(path, ".svg") {
					want[path], got[path] = ownStyle.ReplaceAllString(want[path], ""), ownStyle.ReplaceAllString(got[path], "")
				}
				if diff := cmp.Diff(strings.Split(alike(want[path]), "\n"), strings.Split(alike(got[path]), "\n")); diff != "" {
					t.Errorf("GET %s says something else (-before +now):\n%.4000s", path, diff)
				}
			}
		})
	}
	t.Run("frozen cases have their figures as Parquet", func(t *testing.T) {
		for _, id := range storedPermalinks[:storedFrozenCases] {
			parquetEqualsJSON(t, s, "/p/"+id)
		}
	})
}

// The comparison covers the text of a page without its markup, a drawing without its style
// (web/style_test.go tests the style), and each byte of data except what depends on the
// build, the address and the day.
var (
	notText   = regexp.MustCompile(`(?s)<(style|script|noscript)\b.*?</(style|script|noscript)>|<!--.*?-->`)
	markup    = regexp.MustCompile(`(?s)<[^>]*>`)
	ownStyle  = regexp.MustCompile(`<style>[^<]*</style>`)
	blanks    = regexp.MustCompile(`[ \t]*\n\s*`)
	ago       = regexp.MustCompile(`\b\d+ (second|minute|hour|day|month|year)s? ago|just now|yesterday`)
	requestID = regexp.MustCompile(`("request_id": |Request )"?[a-z0-9-]{8,}"?`)
	freeSpace = regexp.MustCompile(`[\d.]+ .?B free on this server`)
	builtBy   = regexp.MustCompile(`("version": )"[^"]*"`)
)

// alike removes what differs between machines, and makes all blanks equal.
func alike(text string) string {
	return freeSpace.ReplaceAllString(strings.ReplaceAll(text, "\u00a0", " "), "FREE")
}

func storedAnswer(t *testing.T, s *serving, dir, path string) string {
	a, err := s.request(http.MethodGet, path, nil)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.NewReplacer(s.url, "URL", dir, "DIR").Replace(a.body)
	if strings.HasPrefix(strings.TrimSpace(text), "<!") {
		text = blanks.ReplaceAllString(markup.ReplaceAllString(notText.ReplaceAllString(text, ""), "\n"), "\n")
	}
	text = builtBy.ReplaceAllString(requestID.ReplaceAllString(ago.ReplaceAllString(text, "AGO"), "${1}ID"), "${1}VERSION")
	return http.StatusText(a.status) + "\n" + text
}

func unpackStored(t *testing.T, file string, each func(name string, content []byte)) {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", "stored", file))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := zstd.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	for archive := tar.NewReader(z); ; {
		header, err := archive.Next()
		if err == io.EOF {
			return
		} else if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		if header.Typeflag == tar.TypeReg {
			each(header.Name, content)
		}
	}
}

func packStored(t *testing.T, file string, paths []string, answers map[string]string) {
	t.Helper()
	var packed bytes.Buffer
	z, err := zstd.NewWriter(&packed, zstd.WithEncoderLevel(zstd.SpeedBestCompression))
	if err != nil {
		t.Fatal(err)
	}
	archive := tar.NewWriter(z)
	for _, path := range slices.Compact(paths) {
		body := answers[path]
		err := archive.WriteHeader(&tar.Header{Name: path, Mode: 0o644, Size: int64(len(body)), ModTime: time.Unix(0, 0)})
		if _, e := io.WriteString(archive, body); err != nil || e != nil {
			t.Fatal(err, e)
		}
	}
	if err := errors.Join(archive.Close(), z.Close(), os.WriteFile(filepath.Join("testdata", "stored", file), packed.Bytes(), 0o644)); err != nil {
		t.Fatal(err)
	}
}
