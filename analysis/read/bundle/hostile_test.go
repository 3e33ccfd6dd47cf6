package bundle_test

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"leakdiff/samples/corpus"
)

// TestEveryRowOfTheHostileTableIsMet holds the walk to hostile/EXPECTED.tsv, each
// file once read in place and once as a stream.
func TestEveryRowOfTheHostileTableIsMet(t *testing.T) {
	table := corpus.Path(t, "bundles/hostile/EXPECTED.tsv")
	for _, name := range rows(t, table) {
		check, ok := hostile[name]
		if !ok {
			t.Errorf("%s: no check for this row", name)
			continue
		}
		path := filepath.Join(filepath.Dir(table), name)
		t.Run(name+" in place", func(t *testing.T) { check(t, walk(t, testConfig(t), onDisk(path))) })
		t.Run(name+" as a stream", func(t *testing.T) { check(t, walk(t, testConfig(t), streamed(path))) })
	}
}

func rows(t *testing.T, table string) []string {
	f, err := os.Open(table)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []string
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if name, _, _ := strings.Cut(lines.Text(), "\t"); name != "file" {
			out = append(out, name)
		}
	}
	return out
}

type outcome func(t *testing.T, w walked)

// holds wants one file with so many bytes and goroutine headers, whole, and no
// problem.
func holds(size, goroutines int) outcome {
	return func(t *testing.T, w walked) {
		one(t, w, size, goroutines)
		if len(w.problems) != 0 {
			t.Errorf("problems %v, want none", w.listing())
		}
	}
}

func one(t *testing.T, w walked, size, goroutines int) file {
	t.Helper()
	if w.err != nil || len(w.files) != 1 {
		t.Fatalf("err %v, files %q, problems %v; want one file", w.err, w.paths(), w.listing())
	}
	f := w.files[0]
	if len(f.content) != size || headers(f.content) != goroutines || f.truncated {
		t.Errorf("%d bytes, %d goroutines, truncated %v; want %d, %d, false", len(f.content), headers(f.content), f.truncated, size, goroutines)
	}
	return f
}

// holdsAnd is holds with one problem, of these words.
func holdsAnd(size, goroutines int, words ...string) outcome {
	return func(t *testing.T, w walked) {
		one(t, w, size, goroutines)
		if !w.says(words...) || len(w.problems) != 1 {
			t.Errorf("problems %v do not say %q, once", w.listing(), words)
		}
	}
}

// refuses wants a problem of these words and no goroutine.
func refuses(words ...string) outcome {
	return func(t *testing.T, w walked) {
		if w.err != nil {
			t.Fatal(w.err)
		}
		if !w.says(words...) {
			t.Errorf("problems %v do not say %q", w.listing(), words)
		}
		for _, f := range w.files {
			if headers(f.content) > 0 {
				t.Errorf("%s gave goroutines although it was refused", f.Path)
			}
		}
	}
}

const (
	plainSize  = 212895
	crlfSize   = 218010
	goroutines = 228
)

var hostile = map[string]outcome{
	"d.txt":          holds(plainSize, goroutines),
	"crlf.txt":       holds(crlfSize, goroutines),
	"d.legacy.lz4":   holds(plainSize, goroutines),
	"d.txt.bz2":      holds(plainSize, goroutines),
	"d.txt.gz":       holds(plainSize, goroutines),
	"d.txt.lz4":      holds(plainSize, goroutines),
	"d.txt.xz":       holds(plainSize, goroutines),
	"d.txt.zst":      holds(plainSize, goroutines),
	"multi.bz2":      holds(2*plainSize, 2*goroutines),
	"multi.gz":       holds(2*plainSize, 2*goroutines),
	"multi.lz4":      holds(2*plainSize, 2*goroutines),
	"multi.xz":       holds(2*plainSize, 2*goroutines),
	"multi.zst":      holds(2*plainSize, 2*goroutines),
	"plain.zip":      holds(plainSize, goroutines),
	"prefixed.zip":   holds(plainSize, goroutines),
	"suffixed.zip":   holds(plainSize, goroutines),
	"utf16be.txt":    holds(plainSize, goroutines),
	"utf16le.txt":    holds(plainSize, goroutines),
	"utf8bom.txt":    holds(plainSize, goroutines),
	"win31.zst":      holds(plainSize, goroutines),
	"zbz2.zip":       holds(plainSize, goroutines),
	"garbage.gz":     holdsAnd(plainSize, goroutines, "after the end of the gzip data"),
	"zeropad.gz":     holdsAnd(plainSize, goroutines, "zero bytes after the end"),
	"aes.zip":        refuses("aes.zip: d.txt in it is encrypted", "7z x aes.zip", "without a password"),
	"zipcrypto.zip":  refuses("zipcrypto.zip: d.txt in it is encrypted", "unzip -P PASSWORD zipcrypto.zip or 7z x zipcrypto.zip", "without a password"),
	"deflate64.zip":  refuses("not supported", "Deflate64", "method 9"),
	"zlzma.zip":      refuses("not supported", "LZMA", "method 14"),
	"x.7z":           refuses("7-Zip", "not supported", "upload"),
	"dict1g.xz":      refuses("xz file was refused", "dictionary", "64 MiB"),
	"zwin31.zst":     refuses("zstd file was refused", "window", "128 MiB"),
	"negsize.tar":    refuses("tar archive is damaged", "bad header"),
	"oldv7.tar":      refuses("archive is empty"),
	"sparse-gnu.tar": refuses("sparse", "1 TiB"),
	"sparse-pax.tar": refuses("sparse", "1 TiB"),
	"nested8.zip": func(t *testing.T, w walked) {
		refuses("more than 500")(t, w)
		// Of the 500 that are counted, those on the fifth level stay packed.
		if w.stats.Archives > 501 || len(w.files) > 4000 || len(w.problems) > 10 {
			t.Errorf("%d archives, %d files, %d problems; want at most 501, 4000, 10", w.stats.Archives, len(w.files), len(w.problems))
		}
	},
	"overlap.zip": func(t *testing.T, w walked) {
		refuses("249 entries", "data is that of another entry")(t, w)
		if len(w.files) != 1 || w.stats.BytesOut > 60<<20 {
			t.Errorf("%d files of %d bytes were read, want the first one of 50 MB", len(w.files), w.stats.BytesOut)
		}
	},
	"sizelie-small.zip": func(t *testing.T, w walked) {
		refuses("declares 100 bytes and holds more")(t, w)
		if f := w.files[0]; len(f.content) != 100 || !f.truncated {
			t.Errorf("%d bytes, truncated %v; want the declared 100, truncated", len(f.content), f.truncated)
		}
	},
	"sizelie-big.zip": func(t *testing.T, w walked) {
		refuses("declares 4000000000 bytes and holds 52428800")(t, w)
		if f := w.files[0]; len(f.content) != 52428800 || !f.truncated {
			t.Errorf("%d bytes, truncated %v; want 52428800, truncated", len(f.content), f.truncated)
		}
	},
	"sizelie.tar": func(t *testing.T, w walked) {
		refuses("stops before its end")(t, w)
		if f := w.file(t, "big"); len(f.content) != 3 || !f.truncated || f.Size != 8<<30 {
			t.Errorf("%d bytes, truncated %v, declared %d; want 3, true, 8 GiB", len(f.content), f.truncated, f.Size)
		}
	},
	"trunc.gz": func(t *testing.T, w walked) {
		f := w.files[0]
		if len(f.content) != 106965 || headers(f.content) != 121 || !f.truncated {
			t.Errorf("%d bytes, %d goroutines, truncated %v; want 106965, 121, true", len(f.content), headers(f.content), f.truncated)
		}
		if !w.says("stops before its end", "gzip") {
			t.Errorf("problems %v do not say that it is cut", w.listing())
		}
	},
	"trunc.zip": func(t *testing.T, w walked) {
		f := w.file(t, "d.txt")
		if len(f.content) != 124382 || headers(f.content) != 138 || !f.truncated {
			t.Errorf("%d bytes, %d goroutines, truncated %v; want 124382, 138, true", len(f.content), headers(f.content), f.truncated)
		}
		if !w.says("not a complete zip archive") {
			t.Errorf("problems %v do not say what is wrong", w.listing())
		}
	},
	"zwin27.zst": func(t *testing.T, w walked) {
		if !w.says("more than 200 times its packed size") {
			t.Errorf("problems %v do not name the ratio", w.listing())
		}
		if f := w.files[0]; !f.truncated || len(f.content) < 64<<20 || len(f.content) > 66<<20 {
			t.Errorf("%d bytes, truncated %v; want little more than 64 MiB, truncated", len(f.content), f.truncated)
		}
	},
	"paths.tar": func(t *testing.T, w walked) {
		safePaths(t, w)
		for path, link := range map[string]string{"fd/7": "socket:[60463]", "link": "../../../etc/passwd", "hard": "/etc/shadow"} {
			if f := w.file(t, path); f.Link != link || len(f.content) != 0 {
				t.Errorf("%s: link %q with %d bytes, want %q as data", path, f.Link, len(f.content), link)
			}
		}
		for _, path := range []string{"etc/cron.d/x", "up.txt", "a/b", "ok.txt", "a/b.txt", "C/x", "dup.txt", "dup.txt (2)", "DUP.txt", "dup.txt/child", "link/x"} {
			if f := w.file(t, path); len(f.content) != 49 {
				t.Errorf("%s has %d bytes, want 49", path, len(f.content))
			}
		}
		if len(w.files) != 18 {
			t.Errorf("%d entries, want 18: %q", len(w.files), w.paths())
		}
		if !w.says("2 devices, pipes or sockets") {
			t.Errorf("problems %v do not name the device and the pipe", w.listing())
		}
	},
	"paths.zip": func(t *testing.T, w walked) {
		safePaths(t, w)
		for _, path := range []string{"abs", "up", "a/b.txt", "dup", "dup (2)", "C/x", "nul\uFFFDname"} {
			if !strings.HasPrefix(w.file(t, path).Path, path) {
				t.Errorf("no %s", path)
			}
		}
		if f := w.file(t, "ln"); f.Link == "" || len(f.Link) != 16 {
			t.Errorf("ln has the target %q, want its 16 bytes", f.Link)
		}
	},
}

func safePaths(t *testing.T, w walked) {
	t.Helper()
	seen := map[string]bool{}
	for _, p := range w.paths() {
		if strings.HasPrefix(p, "/") || strings.Contains("/"+p+"/", "/../") || strings.ContainsAny(p, "\\\x00") || seen[p] {
			t.Errorf("path %q is unsafe or double", p)
		}
		seen[p] = true
	}
}
