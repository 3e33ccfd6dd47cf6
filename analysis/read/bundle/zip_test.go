package bundle_test

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"slices"
	"strings"
	"testing"
	"time"

	"leakdiff/analysis"
)

// hourly makes an archive of four dumps, an hour apart, with their sizes after their
// data.
func hourly(t *testing.T, method uint16) []byte {
	t.Helper()
	var out bytes.Buffer
	zw := zip.NewWriter(&out)
	for i, name := range []string{"d0.txt", "d1.txt", "d2.txt", "d3.txt"} {
		w, err := zw.CreateHeader(&zip.FileHeader{Name: name, Method: method, Modified: hour(i)})
		if err != nil {
			t.Fatal(err)
		}
		w.Write([]byte("content of " + name))
	}
	if err := zw.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// sized is an archive like hourly of stored entries with their sizes before their data.
func sized(t *testing.T, names ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	zw := zip.NewWriter(&out)
	for i, name := range names {
		content := []byte("content of " + name)
		w, err := zw.CreateRaw(&zip.FileHeader{Name: name, Modified: hour(i), CRC32: crc32.ChecksumIEEE(content), CompressedSize64: uint64(len(content)), UncompressedSize64: uint64(len(content))})
		if err != nil {
			t.Fatal(err)
		}
		w.Write(content)
	}
	if err := zw.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func hour(i int) time.Time { return time.Date(2026, 11, 1, i, 0, 0, 0, time.UTC) }

// directoryHeaders are where the headers of the directory begin.
func directoryHeaders(archive []byte) (at []int) {
	for i := bytes.Index(archive, []byte("PK\x01\x02")); i < len(archive); {
		at = append(at, i)
		next := bytes.Index(archive[i+4:], []byte("PK\x01\x02"))
		if next < 0 {
			break
		}
		i += 4 + next
	}
	return at
}

// counting has the end of an archive count n entries.
func counting(archive []byte, n byte) []byte {
	archive[len(archive)-14], archive[len(archive)-12] = n, n
	return archive
}

// wide sets the packed size of an entry in the directory to one of 64 bits, which is
// nowhere.
func wide(archive []byte, entry int) []byte {
	copy(archive[directoryHeaders(archive)[entry]+20:], "\xff\xff\xff\xff")
	return archive
}

func TestWhatADamagedDirectoryDoesNotGiveIsFoundByItsOwnHeader(t *testing.T) {
	all := []string{"d0.txt", "d1.txt", "d2.txt", "d3.txt"}
	for name, c := range map[string]struct {
		archive func() []byte
		paths   []string
		says    string
	}{
		"a last header that cannot be read": {func() []byte { return counting(wide(hourly(t, zip.Deflate), 3), 3) }, all, "3 entries are read from it, and 1 more was found by its own header"},
		"no header that can":                {func() []byte { return counting(wide(hourly(t, zip.Deflate), 0), 0) }, all, "0 entries are read from it, and 4 more were found by their own headers"},
		"a header without its mark": {func() []byte {
			archive := hourly(t, zip.Deflate)
			copy(archive[directoryHeaders(archive)[2]:], "XXXX")
			return counting(archive, 2)
		}, all, "2 entries are read from it, and 2 more"},
		"stored entries, which do not say where they end": {func() []byte { return counting(wide(hourly(t, zip.Store), 3), 3) }, all[:3], "d3.txt: was not read, nor what follows it"},
		"something before it": {func() []byte {
			return append([]byte("HTTP/1.1 200 OK\r\nA: b\r\n\r\n"), counting(wide(hourly(t, zip.Deflate), 3), 3)...)
		}, all, "3 entries are read from it, and 1 more"},
		"something before it, and no header that can be read": {func() []byte {
			return append([]byte("HTTP/1.1 200 OK\r\nA: b\r\n\r\n"), counting(wide(hourly(t, zip.Deflate), 0), 0)...)
		}, all, "0 entries are read from it, and 4 more"},
		"a program before it": {func() []byte {
			return append(bytes.Repeat([]byte("\x7fELF\x00"), 40_000), counting(wide(hourly(t, zip.Deflate), 3), 3)...)
		}, all, "3 entries are read from it, and 1 more"},
	} {
		t.Run(name, func(t *testing.T) {
			w := walk(t, testConfig(t), memory("x.zip", c.archive()))
			if w.err != nil || !slices.Equal(w.paths(), c.paths) || !w.says(c.says) || !w.says("x.zip: the directory of the zip archive is damaged") {
				t.Fatalf("err %v, files %q, problems %v", w.err, w.paths(), w.listing())
			}
			for i, f := range w.files {
				if string(f.content) != "content of "+f.Path || !f.ModTime.Equal(hour(i)) {
					t.Errorf("%s of %v holds %q", f.Path, f.ModTime, f.content)
				}
			}
		})
	}
}

func TestADamagedDirectoryDoesNotMisleadWhatWalksTheLocalHeaders(t *testing.T) {
	names := []string{"d0.txt", "d1.txt", "d2.txt", "d3.txt"}
	for name, c := range map[string]struct {
		archive func() []byte
		paths   []string
		says    []string
	}{
		"a packed size that is wrong": {func() []byte {
			archive := counting(wide(sized(t, names...), 2), 2)
			copy(archive[directoryHeaders(archive)[1]+20:], "\x00\x00\x00\x00")
			return archive
		}, names, []string{"2 entries are read from it, and 2 more"}},
		"a header that points at another entry": {func() []byte {
			archive := counting(wide(sized(t, names...), 3), 3)
			at := directoryHeaders(archive)[2]
			copy(archive[at+20:], "\x00\x00\x00\x00\x00\x00\x00\x00")
			copy(archive[at+42:], "\x00\x00\x00\x00d9")
			return archive
		}, []string{"d0.txt", "d1.txt", "d9.txt", "d2.txt", "d3.txt"}, []string{"3 entries are read from it, and 2 more"}},
		"a name that is damaged": {func() []byte {
			archive := counting(wide(sized(t, names...), 3), 3)
			archive[directoryHeaders(archive)[1]+46] = 'D'
			return archive
		}, []string{"d0.txt", "D1.txt", "d2.txt", "d3.txt"}, []string{"3 entries are read from it, and 1 more", "note"}},
		"a name that comes twice": {func() []byte {
			return counting(wide(sized(t, "d0.txt", "d0.txt", "d1.txt"), 1), 1)
		}, []string{"d0.txt", "d1.txt"}, []string{"1 entry is read from it, and 1 more", "1 that has the name of another was passed, as replaced", "warning"}},
		"bytes between entries": {func() []byte {
			archive := sized(t, names...)
			second := bytes.LastIndex(archive, []byte("PK\x03\x04"))
			archive = slices.Insert(archive, second, []byte("gap")...)
			end := archive[len(archive)-22+16:]
			binary.LittleEndian.PutUint32(end, binary.LittleEndian.Uint32(end)+3)
			return counting(wide(archive, 2), 2)
		}, []string{"d0.txt", "d1.txt", "d2.txt"}, []string{"error", "what lies behind byte", "could not be read"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := walk(t, testConfig(t), memory("x.zip", c.archive()))
			if w.err != nil || !slices.Equal(w.paths(), c.paths) {
				t.Errorf("err %v, files %q, problems %v", w.err, w.paths(), w.listing())
			}
			for _, says := range c.says {
				if !w.says(says) && !slices.ContainsFunc(w.problems, func(p analysis.Problem) bool { return string(p.Severity) == says }) {
					t.Errorf("nothing says %q: %v", says, w.listing())
				}
			}
		})
	}
}

func TestAReplacedEntryIsNotReadBesideTheOneThatReplacesIt(t *testing.T) {
	archive := counting(wide(hourly(t, zip.Deflate), 3), 3)
	// The first entry's name is d1's now: what was d0 is listed nowhere.
	first := directoryHeaders(archive)[0]
	archive = slices.Delete(archive, first, directoryHeaders(archive)[1])
	copy(archive[bytes.Index(archive, []byte("d0.txt")):], "d1.txt")
	end := archive[len(archive)-22:]
	counting(archive, 2)
	binary.LittleEndian.PutUint32(end[12:], uint32(len(archive)-22-first))
	w := walk(t, testConfig(t), memory("x.zip", archive))
	if want := []string{"d1.txt", "d2.txt", "d3.txt"}; w.err != nil || !slices.Equal(w.paths(), want) || string(w.files[0].content) != "content of d1.txt" {
		t.Errorf("err %v, files %q, problems %v", w.err, w.paths(), w.listing())
	}
}

func TestASoundArchiveIsNotCalledDamaged(t *testing.T) {
	signed := hourly(t, zip.Deflate)
	signature := "PK\x05\x05\x04\x00sign"
	end := len(signed) - 22
	signed = slices.Insert(signed, end, []byte(signature)...)
	size := signed[len(signed)-22+12:]
	binary.LittleEndian.PutUint32(size, binary.LittleEndian.Uint32(size)+uint32(len(signature)))
	commented := hourly(t, zip.Store)
	commented[len(commented)-2] = 8
	commented = append(commented, "PK\x01\x02abcd"...)
	for name, archive := range map[string][]byte{
		"with a signature of its directory": signed,
		"with a comment like a header":      commented,
		"behind headers of HTTP":            append([]byte("HTTP/1.1 200 OK\r\n\r\n"), hourly(t, zip.Deflate)...),
	} {
		t.Run(name, func(t *testing.T) {
			w := walk(t, testConfig(t), memory("x.zip", archive))
			if w.err != nil || len(w.problems) > 0 || len(w.files) != 4 {
				t.Errorf("err %v, files %q, problems %v", w.err, w.paths(), w.listing())
			}
		})
	}
}

func TestEntriesOfACutArchiveKeepTheirTimes(t *testing.T) {
	archive := hourly(t, zip.Deflate)
	w := walk(t, testConfig(t), memory("x.zip", archive[:directoryHeaders(archive)[0]]))
	if len(w.files) != 4 || !w.says("not a complete zip archive") {
		t.Fatalf("files %q, problems %v", w.paths(), w.listing())
	}
	for i, f := range w.files {
		if !f.ModTime.Equal(hour(i)) {
			t.Errorf("%s is of %v", f.Path, f.ModTime)
		}
	}
	// Without the extra field there is the time of MS-DOS.
	bare := []byte(strings.ReplaceAll(string(archive), "UT\x05\x00", "ZZ\x05\x00"))
	if w := walk(t, testConfig(t), memory("x.zip", bare[:directoryHeaders(bare)[0]])); len(w.files) != 4 || !w.files[3].ModTime.Equal(hour(3)) {
		t.Errorf("files %q, of %v", w.paths(), w.files[3].ModTime)
	}
}
