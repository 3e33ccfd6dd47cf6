package bundle_test

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"leakdiff/analysis/read/bundle"
)

// pieces cuts content into n inputs with these names.
func pieces(content []byte, names ...string) []bundle.Input {
	var out []bundle.Input
	size := (len(content) + len(names) - 1) / len(names)
	for i, name := range names {
		out = append(out, memory(name, content[min(i*size, len(content)):min((i+1)*size, len(content))]))
	}
	return out
}

// dumps is a .tar.gz of two dumps that pack badly, so that a cut falls into both.
func dumps(t testing.TB) (upload, a, b []byte) {
	a, b = noise(40_000), bytes.ToUpper(noise(40_000))
	return gzipped(t, bytes.NewReader(tarred(t, entry{"t0/a.txt", string(a)}, entry{"t1/b.txt", string(b)}))), a, b
}

func TestPartsOfASplitFileAreReadAsThatFile(t *testing.T) {
	upload, a, b := dumps(t)
	archive := zipped(t, entry{"t0/a.txt", string(a)}, entry{"t1/b.txt", string(b)})
	for name, c := range map[string]struct {
		content []byte
		names   []string
	}{
		"split -d":                    {upload, []string{"x.tar.gz-00", "x.tar.gz-01", "x.tar.gz-02"}},
		"split -d without a mark":     {upload, []string{"x.tar.gz00", "x.tar.gz01"}},
		"split from one":              {upload, []string{"x.tar.gz-01", "x.tar.gz-02"}},
		"split in letters":            {upload, []string{"x.tar.gzaa", "x.tar.gzab", "x.tar.gzac"}},
		"split into partaa":           {upload, []string{"up/must-gather.partaa", "up/must-gather.partab"}},
		"7-Zip":                       {archive, []string{"x.zip.001", "x.zip.002", "x.zip.003"}},
		"parts numbered by hand":      {upload, []string{"x.tar.part1", "x.tar.part2"}},
		"parts in any order":          {upload, []string{"x.tgz.part-1", "x.tgz.part-2", "x.tgz.part-3"}},
		"ten parts and more":          {upload, []string{"x.tgz.1", "x.tgz.2", "x.tgz.3", "x.tgz.4", "x.tgz.5", "x.tgz.6", "x.tgz.7", "x.tgz.8", "x.tgz.9", "x.tgz.10"}},
		"one part only":               {upload, []string{"x.tar.gz-00"}},
		"capitals":                    {upload, []string{"X.TAR.GZ-00", "X.TAR.GZ-01"}},
		"a zip archive of many disks": {spanned(t, archive), []string{"x.z01", "x.z02", "x.zip"}},
		"disks in capitals":           {spanned(t, archive), []string{"X.Z01", "X.Z02", "X.ZIP"}},
	} {
		t.Run(name, func(t *testing.T) {
			inputs := pieces(c.content, c.names...)
			slices.Reverse(inputs)
			w := walk(t, testConfig(t), inputs...)
			if len(w.problems) > 0 || w.err != nil {
				t.Fatalf("err %v, problems %v", w.err, w.listing())
			}
			if diff := cmp.Diff([]string{"t0/a.txt", "t1/b.txt"}, w.paths()); diff != "" {
				t.Fatalf("(-want +got):\n%s", diff)
			}
			if !bytes.Equal(w.files[0].content, a) || !bytes.Equal(w.files[1].content, b) {
				t.Error("the contents differ")
			}
			rc, err := bundle.Open(context.Background(), testConfig(t), inputs, "t1/b.txt")
			if err != nil {
				t.Fatal(err)
			}
			defer rc.Close()
			if again, err := io.ReadAll(rc); err != nil || !bytes.Equal(again, b) {
				t.Errorf("opened again: %d bytes, err %v", len(again), err)
			}
		})
	}
}

// spanned makes an archive in several files of a whole one, as "zip -s" does: a
// mark before the first entry, sizes before the data, and a directory that counts
// from parts. (zip's own parts have 64 KiB at least.)
func spanned(t testing.TB, archive []byte) []byte {
	t.Helper()
	zr, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	zw := zip.NewWriter(&out)
	for _, f := range zr.File {
		h := f.FileHeader
		h.Flags &^= 8
		raw, err := f.OpenRaw()
		if err != nil {
			t.Fatal(err)
		}
		w, err := zw.CreateRaw(&h)
		if err != nil {
			t.Fatal(err)
		}
		io.Copy(w, raw)
	}
	if err := zw.Close(); err != nil {
		t.Fatal(err)
	}
	whole := append([]byte("PK\x07\x08"), out.Bytes()...)
	binary.LittleEndian.PutUint16(whole[len(whole)-18:], 2) // this is the third
	return whole
}

func TestAnArchiveOfManyFilesThatHoldsLessThanItListsIsAProblem(t *testing.T) {
	files := spanned(t, zipped(t, entry{"t0/a.txt", "a"}, entry{"t1/b.txt", "b"}))
	second := bytes.LastIndex(files, []byte("PK\x03\x04"))
	directory := bytes.Index(files, []byte("PK\x01\x02"))
	piped := bytes.Clone(files)
	copy(piped[second+6:], "\x08\x00\x00\x00") // its sizes follow the data,
	copy(piped[second+18:], make([]byte, 8))   // which is stored
	for name, c := range map[string]struct {
		archive []byte
		paths   []string
		problem string
	}{
		"an entry lost":       {slices.Concat(files[:second], files[directory:]), []string{"t0/a.txt"}, "lists 2; 1 entry was found"},
		"directories alone":   {spanned(t, zipped(t, entry{"t0/", ""}, entry{"t1/", ""})), nil, "the archive is empty"},
		"nothing":             {slices.Concat(files[:4], files[len(files)-22:]), nil, "the archive is empty"},
		"an end nobody tells": {piped, []string{"t0/a.txt"}, "does not say where it ends"},
	} {
		t.Run(name, func(t *testing.T) {
			w := walk(t, testConfig(t), pieces(c.archive, "x.z01", "x.z02", "x.zip")...)
			if w.err != nil || !slices.Equal(w.paths(), c.paths) || !w.says(c.problem) {
				t.Errorf("err %v, files %q, problems %v", w.err, w.paths(), w.listing())
			}
		})
	}
}

func TestAPartBesideOtherUploadsKeepsTheFilesName(t *testing.T) {
	upload, _, _ := dumps(t)
	inputs := append([]bundle.Input{memory("notes.txt", []byte("n"))}, pieces(upload, "up/x.tar.gz-00", "up/x.tar.gz-01")...)
	w := walk(t, testConfig(t), inputs...)
	want := []string{"notes.txt", "up/x.tar.gz!/t0/a.txt", "up/x.tar.gz!/t1/b.txt"}
	if diff := cmp.Diff(want, w.paths()); diff != "" || len(w.problems) > 0 {
		t.Errorf("problems %v (-want +got):\n%s", w.listing(), diff)
	}
}

func TestAMissingPartIsAskedForByName(t *testing.T) {
	upload, a, _ := dumps(t)
	archive := zipped(t, entry{"t0/a.txt", string(a)}, entry{"t1/b.txt", string(a)})
	disks := spanned(t, archive)
	for name, c := range map[string]struct {
		inputs []bundle.Input
		asked  []string
		// read says that the beginning was.
		read bool
	}{
		"a gap":                    {without(pieces(upload, "x.tar.gz-00", "x.tar.gz-01", "x.tar.gz-02"), 1), []string{"a part of this split file is missing", "x.tar.gz-01 was not uploaded", "up to x.tar.gz-02"}, true},
		"no beginning":             {without(pieces(upload, "x.tar.gz-00", "x.tar.gz-01", "x.tar.gz-02"), 0), []string{"x.tar.gz-00 was not uploaded"}, false},
		"no beginning, of 7-Zip":   {without(pieces(archive, "x.zip.001", "x.zip.002", "x.zip.003"), 0), []string{"x.zip.001 was not uploaded"}, false},
		"no beginning, in letters": {without(pieces(upload, "x.tar.gzaa", "x.tar.gzab"), 0), []string{"x.tar.gzaa was not uploaded"}, false},
		"a late part alone":        {pieces(upload, "x.part1", "x.part2", "x.part3")[2:], []string{"x.part1 was not uploaded"}, false},
		"no end":                   {pieces(upload, "x.tar.gz-00", "x.tar.gz-01", "x.tar.gz-02")[:2], []string{"last part", "seems to be missing", "x.tar.gz-02"}, true},
		"the first part alone":     {pieces(upload, "x.tar.gz-00", "x.tar.gz-01")[:1], []string{"seems to be missing", "x.tar.gz-01"}, true},
		"no last disk":             {pieces(disks, "x.z01", "x.z02", "x.zip")[:2], []string{"x.zip was not uploaded", "the directory"}, true},
		"the last disk alone":      {pieces(disks, "x.z01", "x.z02", "x.zip")[2:], []string{"other parts of this zip archive are missing", "last of 3 parts"}, false},
		"no second disk":           {without(pieces(disks, "x.z01", "x.z02", "x.zip"), 1), []string{"a part of this split file is missing", "has 3 parts and 2 were uploaded"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := walk(t, testConfig(t), c.inputs...)
			if w.err != nil || !w.says(c.asked...) {
				t.Fatalf("err %v, problems %v; want %q", w.err, w.listing(), c.asked)
			}
			got := 0
			for _, f := range w.files {
				if strings.HasSuffix(f.Path, "t0/a.txt") {
					got = len(f.content)
					if !bytes.HasPrefix(a, f.content) && name != "no second disk" {
						t.Error("the content is not the file's")
					}
				}
			}
			if (got > 0) != c.read {
				t.Errorf("%d bytes of the first member were read, files %q", got, w.paths())
			}
		})
	}
}

func without(inputs []bundle.Input, i int) []bundle.Input { return slices.Delete(inputs, i, i+1) }

func TestNamesThatOnlyLookLikePartsAreReadAlone(t *testing.T) {
	_, a, _ := dumps(t)
	packed := string(gzipped(t, bytes.NewReader(a)))
	for name, files := range map[string][]entry{
		"a rotation":           {{"backup.log.gz.1", packed}, {"backup.log.gz.2", packed}},
		"a year":               {{"sos.tar.gz-2026", packed}},
		"a signature":          {{"x.tar.gz", packed}, {"x.tar.gz.asc", "-----BEGIN"}},
		"packed in two ways":   {{"x.tar.gz", packed}, {"x.tar.zst", packed}, {"x.tar.xz", packed}},
		"captures of a series": {{"p1-t4.txt", "a"}, {"p1-t5.txt", "b"}, {"goroutine-00", "a"}, {"goroutine-01", "b"}},
		"a half download":      {{"x.tar.gz.partial", packed}},
		"an ordinary zip":      {{"x.zip", string(zipped(t, entry{"a", "b"}))}, {"x.z", "no disk"}},
	} {
		var inputs []bundle.Input
		for _, f := range files {
			inputs = append(inputs, memory(f.name, []byte(f.body)))
		}
		w := walk(t, testConfig(t), inputs...)
		if len(w.files) != len(files) || len(w.problems) > 0 || w.err != nil {
			t.Errorf("%s: files %q, problems %v, err %v", name, w.paths(), w.listing(), w.err)
		}
	}
}

func TestTheSamePartTwiceIsReadOnceAndListed(t *testing.T) {
	upload, a, _ := dumps(t)
	inputs := pieces(upload, "x.tar.gz-00", "x.tar.gz-01")
	w := walk(t, testConfig(t), append(inputs, inputs[1])...)
	if !bytes.Equal(w.file(t, "x.tar.gz!/t0/a.txt").content, a) || len(w.files) != 3 {
		t.Errorf("files %q, problems %v", w.paths(), w.listing())
	}
}

func TestAPartThatCannotBeOpenedCostsWhatFollows(t *testing.T) {
	upload, a, _ := dumps(t)
	inputs := pieces(upload, "x.tar.gz-00", "x.tar.gz-01")
	inputs[1].Open = func() (io.ReadCloser, error) { return nil, os.ErrPermission }
	w := walk(t, testConfig(t), inputs...)
	if f := w.files[0]; !bytes.HasPrefix(a, f.content) || len(f.content) == 0 || len(w.problems) == 0 || w.err != nil {
		t.Errorf("%d bytes, err %v, problems %v", len(f.content), w.err, w.listing())
	}
}

// TestCuttingAnUploadAnywhereChangesNothing splits an upload at any places.
func TestCuttingAnUploadAnywhereChangesNothing(t *testing.T) {
	upload, _, _ := dumps(t)
	want := walk(t, testConfig(t), memory("x.tar.gz", upload))
	rapid.Check(t, func(rt *rapid.T) {
		cuts := rapid.SliceOfNDistinct(rapid.IntRange(1, len(upload)-1), 1, 12, rapid.ID).Draw(rt, "cuts")
		slices.Sort(cuts)
		var inputs []bundle.Input
		from := 0
		for i, to := range append(cuts, len(upload)) {
			if i == 0 && to < 4 {
				continue // without a magic a beginning is none
			}
			inputs = append(inputs, memory(fmt.Sprintf("x.tar.gz-%02d", len(inputs)), upload[from:to]))
			from = to
		}
		inputs = rapid.Permutation(inputs).Draw(rt, "order")
		got := walk(t, testConfig(t), inputs...)
		if len(inputs) == 1 {
			return
		}
		if diff := cmp.Diff(want.paths(), got.paths()); diff != "" || len(got.problems) > 0 || !bytes.Equal(want.files[1].content, got.files[1].content) {
			rt.Fatalf("problems %v (-want +got):\n%s", got.listing(), diff)
		}
	})
}

// TestContainersMadeByTheirOwnToolsAreRead reads archives of one dump with two
// goroutines, made with GNU tar, gzip, bzip2, xz, zstd, lz4 (-l for the legacy
// frame) and zip: -fz forces zip64, "zip -" writes data descriptors, and
// "... | zip -fz x.zip -" an entry that has the type of a pipe.
func TestContainersMadeByTheirOwnToolsAreRead(t *testing.T) {
	for name, want := range map[string]string{
		"dump.tar.gz": "t0/goroutines.txt", "dump.tar.bz2": "t0/goroutines.txt", "dump.tar.xz": "t0/goroutines.txt",
		"dump.tar.zst": "t0/goroutines.txt", "dump.tar.lz4": "t0/goroutines.txt", "dump.legacy.tar.lz4": "t0/goroutines.txt",
		"forced64.zip": "t0/goroutines.txt", "streamed.zip": "t0/goroutines.txt", "streamed64.zip": "-",
	} {
		content, err := os.ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		nested := content
		for level := range 3 {
			nested = zipped(t, entry{fmt.Sprintf("level%d.tar", level), string(tarred(t, entry{"in", string(nested)}))})
			if level == 0 {
				w := walk(t, testConfig(t), memory("up.gz", gzipped(t, bytes.NewReader(nested))))
				if len(w.files) != 1 || w.files[0].Path != "level0.tar!/in!/"+want || headers(w.files[0].content) != 2 {
					t.Errorf("%s in a tar in a zip in gzip: %q, problems %v", name, w.paths(), w.listing())
				}
			}
		}
		w := walk(t, testConfig(t), memory("deep.zip", nested))
		if len(w.files) != 1 || !w.says("more than 4 archives lie inside each other") {
			t.Errorf("%s seven archives deep: %q, problems %v", name, w.paths(), w.listing())
		}
		for how, in := range map[string]bundle.Input{"in place": onDisk("testdata/" + name), "as a stream": streamed("testdata/" + name)} {
			w := walk(t, testConfig(t), in)
			if len(w.problems) > 0 || len(w.files) != 1 || w.files[0].Path != want || headers(w.files[0].content) != 2 || len(w.files[0].content) != 185 {
				t.Errorf("%s %s: %q, problems %v", name, how, w.paths(), w.listing())
			}
		}
	}
}
