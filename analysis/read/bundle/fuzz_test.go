package bundle_test

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"leakdiff/analysis/read/bundle"
)

// seeds are small uploads of every form, and of every form cut in its middle.
func seeds(t testing.TB) [][]byte {
	text := []byte("goroutine 1 [running]:\nmain.main()\n\t/srv/main.go:3 +0x7f\n")
	whole := [][]byte{
		text,
		tarred(t, entry{"a/fdinfo/1", "pos:\t0\nflags:\t02\n"}, entry{"a.gz", string(gzipped(t, bytes.NewReader(text)))}),
		zipped(t, entry{"a.txt", string(text)}, entry{"b.zip", string(zipped(t, entry{"c", "d"}))}),
		append([]byte("HTTP/1.1 200 OK\n\n"), zipped(t, entry{"a.txt", string(text)})...),
		append(gzipped(t, bytes.NewReader(text)), "junk"...),
		append([]byte("\xff\xfe"), "g\x00o\x00\n\x00\xd8\x34"...),
		[]byte("\xfd7zXZ\x00\x00\x04\xe6\xd6\xb4\x46\x02\x00\x21\x01\x1c"),
		[]byte("BZh91AY&SY\x00\x00"),
		[]byte("7z\xbc\xaf\x27\x1c"),
		make([]byte, 1024),
	}
	for _, pack := range packers(t) {
		whole = append(whole, pack(text))
	}
	var out [][]byte
	for _, w := range whole {
		out = append(out, w, w[:len(w)/2])
	}
	return out
}

// FuzzWalk wants a walk to end within its budget whatever it is given, under
// safe paths, and to give the same again.
func FuzzWalk(f *testing.F) {
	for _, s := range seeds(f) {
		f.Add("upload", s)
	}
	f.Add("x.zip", []byte("no zip"))
	f.Fuzz(func(t *testing.T, name string, content []byte) {
		cfg := bundle.Config{
			TempDir: t.TempDir(),
			Budget:  bundle.Budget{Bytes: 4 << 20, RatioFloor: 1 << 20, Entries: 100, Archives: 10, Depth: 3, Duration: 5 * time.Second, Problems: 20},
		}
		inputs := []bundle.Input{memory(name, content)}
		sizes := map[string]int64{}
		stats, problems, err := bundle.Walk(context.Background(), cfg, inputs, func(m *bundle.Member) error {
			if _, twice := sizes[m.Path]; twice || m.Path == "" || strings.Contains("/"+m.Path+"/", "/../") {
				t.Errorf("path %q is unsafe or double", m.Path)
			}
			n, err := io.Copy(io.Discard, m.Body)
			sizes[m.Path] = n
			if m.Type != bundle.Regular {
				sizes[m.Path] = int64(len(m.Link))
			}
			return err
		})
		if err != nil || len(problems) > 21 || stats.BytesOut > 5<<20 {
			t.Fatalf("err %v, %d problems, %d bytes", err, len(problems), stats.BytesOut)
		}
		if stats.Stopped != "" {
			return
		}
		for path, want := range sizes {
			rc, err := bundle.Open(context.Background(), cfg, inputs, path)
			if err != nil {
				t.Fatalf("%q: %v", path, err)
			}
			got, err := io.Copy(io.Discard, rc)
			rc.Close()
			// Open lifts the ratio limit, as parsing does.
			if err != nil || got < want {
				t.Fatalf("%q: %d bytes again, err %v; want %d", path, got, err, want)
			}
		}
	})
}

// FuzzSplit wants inputs of any names to be joined or listed without loss: what is
// read never exceeds what was given, and each path occurs once.
func FuzzSplit(f *testing.F) {
	packed := gzipped(f, strings.NewReader("goroutine 1 [running]:\n"))
	for _, names := range []string{
		"x.tar.gz-00 x.tar.gz-01", "x.z01 x.z02 x.zip", "x.zip.001 x.zip.003", "x.partaa x.partab", "X.ZIP x.z01",
		"x.gz.1 x.gz.1", "x.tar.gzzz", "x.z00 x.zip x.z99", "x.part9999 x.part0",
	} {
		f.Add(names, packed)
		f.Add(names, zipped(f, entry{"a", "b"}))
		f.Add(names, spanned(f, zipped(f, entry{"a", "b"}, entry{"c/", ""})))
	}
	f.Fuzz(func(t *testing.T, list string, content []byte) {
		names := strings.Fields(list)
		if len(names) == 0 || len(names) > 20 {
			return
		}
		cfg := bundle.Config{
			TempDir: t.TempDir(),
			Budget:  bundle.Budget{Bytes: 4 << 20, RatioFloor: 1 << 20, Entries: 100, Archives: 10, Depth: 3, Duration: 5 * time.Second, Problems: 20},
		}
		seen := map[string]bool{}
		_, problems, err := bundle.Walk(context.Background(), cfg, pieces(content, names...), func(m *bundle.Member) error {
			if seen[m.Path] || m.Path == "" {
				t.Errorf("path %q is double or empty", m.Path)
			}
			seen[m.Path] = true
			_, err := io.Copy(io.Discard, m.Body)
			return err
		})
		if err != nil || len(problems) > 21 || len(seen) == 0 && len(problems) == 0 {
			t.Fatalf("err %v, %d problems, %d files", err, len(problems), len(seen))
		}
		for _, p := range problems {
			if p.What == "" || p.Why == "" || p.Hint == "" {
				t.Fatalf("%+v", p)
			}
		}
	})
}
