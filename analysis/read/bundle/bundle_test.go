package bundle_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"pgregory.net/rapid"

	"leakdiff/analysis"
	"leakdiff/analysis/read/bundle"
	"leakdiff/samples/corpus"
)

// tally counts what a walk found.
type tally struct{ files, empty, links, problems int }

func count(w walked) tally {
	var out tally
	for _, p := range w.problems {
		if p.Severity != analysis.Note {
			out.problems++
		}
	}
	for _, f := range w.files {
		switch {
		case f.Type == bundle.Symlink:
			out.links++
		case len(f.content) == 0:
			out.empty++
		default:
			out.files++
		}
	}
	return out
}

// The figures are those of corpus/EXPECTED.tsv, or of "tar tv".
func TestRealBundlesAreWalkedWhole(t *testing.T) {
	for path, want := range map[string]tally{
		"bundles/nomad/nomad-debug-2026-11-21-025540Z.tar.gz":        {files: 51, empty: 30},
		"bundles/promtool/t0/debug.tar.gz":                           {files: 8},
		"bundles/promtool/t1/debug.tar.gz":                           {files: 8},
		"bundles/promtool/t2/debug.tar.gz":                           {files: 8},
		"descriptors/zoo/cp-then-tar.tar":                            {files: 82, links: 82},
		"descriptors/zoo/fd-symlinks-gnutar.tar":                     {links: 82},
		"descriptors/zoo/fdinfo-direct-bsdtar-EMPTY.tar":             {empty: 82},
		"descriptors/zoo/fdinfo-direct-busybox-EMPTY.tar":            {empty: 82},
		"descriptors/zoo/fdinfo-direct-gnutar-EMPTY.tar":             {empty: 82},
		"descriptors/zoo/fdinfo-direct-zip-OK.zip":                   {files: 82},
		"descriptors/zoo/fdinfo-kubectlcp-style-EMPTY.tgz":           {empty: 82},
		"series/inotify-leak/t0/leaker/direct-tar-empty.tar":         {empty: 22},
		"series/inotify-leak/t3/leaker/direct-tar-empty.tar":         {empty: 111},
		"bundles/public/hotsos-kubernetes-sos-subset.tar.xz":         {files: -1},
		"bundles/public/troubleshoot-baseline.tar.gz":                {files: -1},
		"bundles/public/troubleshoot-missing-version.tar.gz":         {files: -1},
		"bundles/public/troubleshoot-testdata-support-bundle.tar.gz": {files: -1},
		"bundles/sosreport-vm-2026-11-21-yhywofr.tar.xz":             {files: -1},
	} {
		t.Run(filepath.Base(path), func(t *testing.T) {
			w := walk(t, testConfig(t), onDisk(corpus.Path(t, path)))
			if w.err != nil {
				t.Fatal(w.err)
			}
			got := count(w)
			if want.files < 0 {
				// No count is stated for these: they must be read without loss.
				if got.files == 0 || got.problems != 0 {
					t.Errorf("%+v, problems %v; want files and only notes", got, w.listing())
				}
				return
			}
			if got != want {
				t.Errorf("got %+v, want %+v; problems %v", got, want, w.listing())
			}
		})
	}
}

func TestANestedArchivesMembersCarryItsName(t *testing.T) {
	inner := tarred(t, entry{"./proc/7/status", "Name:\tx\n"})
	upload := tarred(t, entry{"node/archive.tar", string(inner)}, entry{"node/logs.zip", string(zipped(t, entry{"a.log", "l"}))}, entry{"top.txt", "t"})
	one := memory("up/support.tar.gz", gzipped(t, bytes.NewReader(upload)))
	want := []string{"node/archive.tar!/proc/7/status", "node/logs.zip!/a.log", "top.txt"}
	w := walk(t, testConfig(t), one)
	if diff := cmp.Diff(want, w.paths()); diff != "" || w.stats.Archives != 3 {
		t.Errorf("a single archive, %d opened: (-want +got)\n%s", w.stats.Archives, diff)
	}
	for i := range want {
		want[i] = "up/support.tar.gz!/" + want[i]
	}
	want = append(want, "notes.txt")
	w = walk(t, testConfig(t), one, memory("notes.txt", []byte("n")))
	if diff := cmp.Diff(want, w.paths()); diff != "" {
		t.Errorf("beside another input: (-want +got)\n%s", diff)
	}
}

func TestNamesAreMadeSafeAndKeptApart(t *testing.T) {
	for _, c := range []struct{ name, want string }{
		{"/etc/passwd", "etc/passwd"},
		{"../../up", "up"},
		{"a/../../b", "a/b"},
		{"./x//y/.", "x/y"},
		{`C:\logs\a.txt`, "C/logs/a.txt"},
		{`\\host\share\f`, "host/share/f"},
		{"profile-10.0.0.1:9000-goroutines,debug=2.txt", "profile-10.0.0.1:9000-goroutines,debug=2.txt"},
		{"x.zip!/fake", "x.zip_/fake"},
		{"bell\aname", "bell\uFFFDname"},
		{"evil\u202etxt.exe", "evil\uFFFDtxt.exe"},
		{"..", "unnamed"},
		{strings.Repeat("é", 300), strings.Repeat("é", 300)},
	} {
		w := walk(t, testConfig(t), memory(c.name, []byte("x")))
		if got := w.files[0].Path; got != c.want {
			t.Errorf("%q is shown as %q, want %q", c.name, got, c.want)
		}
	}
	w := walk(t, testConfig(t), memory("a.tar", tarred(t, entry{"d", "1"}, entry{"d (2)", "2"}, entry{"./d", "3"}, entry{"../d", "4"})))
	if diff := cmp.Diff([]string{"d", "d (2)", "d (3)", "d (4)"}, w.paths()); diff != "" {
		t.Errorf("members of one name: (-want +got)\n%s", diff)
	}
}

func TestDisplayPathsAreAlwaysSafeAndUnique(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		part := rapid.OneOf(rapid.SampledFrom([]string{"..", ".", "", "a", "a!", "C:", "b (2)", "\x00", "\xff"}), rapid.String())
		var inputs []bundle.Input
		for range rapid.IntRange(1, 8).Draw(t, "inputs") {
			name := strings.Join(rapid.SliceOfN(part, 1, 4).Draw(t, "parts"), rapid.SampledFrom([]string{"/", `\`}).Draw(t, "separator"))
			inputs = append(inputs, memory(name, []byte("x")))
		}
		seen := map[string]bool{}
		bundle.Walk(context.Background(), bundle.Config{}, inputs, func(m *bundle.Member) error {
			p := m.Path
			if seen[p] || p == "" || p[0] == '/' || strings.Contains("/"+p+"/", "/../") || strings.Contains(p, "!/") || strings.ContainsAny(p, "\\\x00") || p != strings.ToValidUTF8(p, "") {
				t.Fatalf("path %q is unsafe or double", p)
			}
			seen[p] = true
			return nil
		})
		if len(seen) != len(inputs) {
			t.Fatalf("%d of %d inputs were visited", len(seen), len(inputs))
		}
	})
}

func TestMemberTimesCountOnlyInsideArchivesAndWherePlausible(t *testing.T) {
	upload := func(at time.Time) []byte {
		var out bytes.Buffer
		tw := tar.NewWriter(&out)
		tw.WriteHeader(&tar.Header{Name: "f", ModTime: at})
		tw.Close()
		return out.Bytes()
	}
	for at, want := range map[time.Time]time.Time{
		testNow.Add(-time.Hour):                        testNow.Add(-time.Hour),
		testNow.Add(23 * time.Hour):                    testNow.Add(23 * time.Hour),
		testNow.Add(25 * time.Hour):                    {},
		time.Unix(0, 0):                                {},
		time.Date(1999, 12, 31, 23, 0, 0, 0, time.UTC): {},
	} {
		if got := walk(t, testConfig(t), memory("a.tar", upload(at))).files[0].ModTime; !got.Equal(want) {
			t.Errorf("a member of %v has the time %v, want %v", at, got, want)
		}
	}
	loose := memory("loose.txt", []byte("x"))
	loose.ModTime = testNow.Add(-time.Hour)
	if f := walk(t, testConfig(t), loose).files[0]; !f.ModTime.Equal(loose.ModTime) || !f.Loose {
		t.Errorf("a loose file has the time %v, loose %v", f.ModTime, f.Loose)
	}
}

func packers(t testing.TB) map[string]func([]byte) []byte {
	pack := func(open func(io.Writer) (io.WriteCloser, error)) func([]byte) []byte {
		return func(content []byte) []byte {
			var out bytes.Buffer
			w, err := open(&out)
			if err != nil {
				t.Fatal(err)
			}
			w.Write(content)
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			return out.Bytes()
		}
	}
	return map[string]func([]byte) []byte{
		"gzip": pack(func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriter(w), nil }),
		"zstd": pack(func(w io.Writer) (io.WriteCloser, error) { return zstd.NewWriter(w) }),
		"lz4": pack(func(w io.Writer) (io.WriteCloser, error) {
			z := lz4.NewWriter(w)
			return z, z.Apply(lz4.BlockSizeOption(lz4.Block64Kb))
		}),
	}
}

// noise is text that does not pack to almost nothing.
func noise(n int) []byte {
	out := make([]byte, n)
	x := uint32(1)
	for i := range out {
		x = x*1664525 + 1013904223
		out[i] = "0123456789abcdef\n"[x>>16%17]
	}
	return out
}

func TestACutStreamGivesAPrefixAndSaysSo(t *testing.T) {
	corpus.Heavy(t)
	content := noise(3 << 20)
	for name, pack := range packers(t) {
		packed := pack(content)
		for _, keep := range []int{len(packed) / 3, len(packed) - 6} {
			w := walk(t, testConfig(t), memory("d."+name, packed[:keep]))
			if len(w.files) != 1 {
				t.Errorf("%s cut at %d: files %q", name, keep, w.paths())
				continue
			}
			f := w.files[0]
			if !f.truncated || !bytes.HasPrefix(content, f.content) || len(f.content) == 0 || !w.says("stops before its end") {
				t.Errorf("%s cut at %d of %d: %d bytes, truncated %v, prefix %v, problems %v",
					name, keep, len(packed), len(f.content), f.truncated, bytes.HasPrefix(content, f.content), w.listing())
			}
		}
	}
	for _, path := range []string{"bundles/hostile/d.txt.xz", "bundles/hostile/d.txt.bz2"} {
		packed, err := os.ReadFile(corpus.Path(t, path))
		if err != nil {
			t.Fatal(err)
		}
		w := walk(t, testConfig(t), memory(filepath.Base(path), packed[:len(packed)-10]))
		if f := w.files[0]; !f.truncated && !w.says("stops before its end") {
			t.Errorf("%s cut: truncated %v, problems %v", path, f.truncated, w.listing())
		}
	}
}

func TestJunkBehindAPackedFileIsAWarningOnly(t *testing.T) {
	content := noise(1 << 20)
	for name, pack := range packers(t) {
		w := walk(t, testConfig(t), memory("d."+name, append(pack(content), "junk junk junk junk"...)))
		if f := w.files[0]; !bytes.Equal(f.content, content) || f.truncated || len(w.problems) != 1 || !w.says("after the end of the "+name+" data were ignored") {
			t.Errorf("%s: %d bytes, truncated %v, problems %v", name, len(f.content), f.truncated, w.listing())
		}
	}
}

func TestACutTarKeepsItsBeginning(t *testing.T) {
	upload := gzipped(t, bytes.NewReader(tarred(t, entry{"a.txt", "whole"}, entry{"b.txt", string(noise(1 << 20))}, entry{"c.txt", "lost"})))
	w := walk(t, testConfig(t), memory("cut.tar.gz", upload[:len(upload)/2]))
	if string(w.file(t, "a.txt").content) != "whole" || !w.file(t, "b.txt").truncated || len(w.files) != 2 {
		t.Errorf("files %q; want a.txt whole and b.txt cut", w.paths())
	}
	if !w.says("tar archive stops before its end", "2 entries") {
		t.Errorf("problems %v do not name the cut", w.listing())
	}
}

// A tar archive can be cut between two entries, and in the zeros after one, so that
// everything left is whole.
func TestATarCutBetweenEntriesIsNotTakenForWhole(t *testing.T) {
	whole := tarred(t, entry{"a.txt", "first"}, entry{"b.txt", "second"}, entry{"c.txt", "third"})
	for name, cut := range map[string]int{"behind an entry": 4 * 512, "in the zeros behind a content": 3*512 + 100, "at the end mark": 6 * 512} {
		w := walk(t, testConfig(t), memory("cut.tar", whole[:cut]))
		if len(w.problems) != 1 || !w.says("the tar archive has no end") {
			t.Errorf("%s: files %q, problems %v", name, w.paths(), w.listing())
		}
	}
	for name, end := range map[string]int{"with its end": len(whole), "with half of its end": 7 * 512} {
		if w := walk(t, testConfig(t), memory("whole.tar", whole[:end])); len(w.files) != 3 || len(w.problems) != 0 {
			t.Errorf("%s: files %q, problems %v", name, w.paths(), w.listing())
		}
	}
}

func TestADamagedMemberLeavesItsNeighboursAlone(t *testing.T) {
	bad := gzipped(t, strings.NewReader("some text that is long enough"))
	bad[len(bad)-6] ^= 0xff
	w := walk(t, testConfig(t), memory("a.tar", tarred(t, entry{"bad.gz", string(bad)}, entry{"no.gz", "\x1f\x8b\x08 nothing of the kind"}, entry{"good.txt", "g"})))
	if f := w.file(t, "bad.gz"); string(f.content) != "some text that is long enough" || f.truncated || f.err == nil || !w.says("checksum") {
		t.Errorf("bad.gz: %q, truncated %v, err %v; want the text with a wrong checksum", f.content, f.truncated, f.err)
	}
	if f := w.file(t, "no.gz"); string(f.content) != "\x1f\x8b\x08 nothing of the kind" || len(f.Compressed) != 0 {
		t.Errorf("no.gz gave %q, want its packed bytes", f.content)
	}
	if string(w.file(t, "good.txt").content) != "g" {
		t.Error("good.txt was not read")
	}
}

func TestUTF16IsReadWithAndWithoutAMark(t *testing.T) {
	text := "goroutine 1 [running]:\nmain.main()\n\t/srv/µ/日本/𝄞.go:1 +0x1d\n" + strings.Repeat("goroutine 7 [select]:\n", 500)
	units := utf16.Encode([]rune(text))
	var little, big []byte
	for _, u := range units {
		little = append(little, byte(u), byte(u>>8))
		big = append(big, byte(u>>8), byte(u))
	}
	for name, c := range map[string]struct {
		content  []byte
		encoding string
	}{
		"little endian with a mark":    {append([]byte("\xff\xfe"), little...), "utf-16le"},
		"big endian with a mark":       {append([]byte("\xfe\xff"), big...), "utf-16be"},
		"little endian without a mark": {little, "utf-16le"},
		"big endian without a mark":    {big, "utf-16be"},
		"UTF-8 with a mark":            {append([]byte("\xef\xbb\xbf"), text...), "utf-8-bom"},
		"plain UTF-8":                  {[]byte(text), ""},
	} {
		w := walk(t, testConfig(t), memory("d.txt", c.content))
		if f := w.files[0]; string(f.content) != text || f.Encoding != c.encoding || !strings.HasPrefix(text, string(f.Head)) {
			t.Errorf("%s: %d bytes as %q, want %d as %q", name, len(f.content), f.Encoding, len(text), c.encoding)
		}
	}
	arguments := []byte("a\x00b\x00c\x00d\x00")
	if f := walk(t, testConfig(t), memory("cmdline", arguments)).files[0]; !bytes.Equal(f.content, arguments) {
		t.Errorf("the arguments of a command line became %q", f.content)
	}
}

func TestAUTF16PrefixOfAnythingIsAPrefixOfItsText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		raw := []byte("\xff\xfe")
		for _, u := range utf16.Encode([]rune(text)) {
			raw = append(raw, byte(u), byte(u>>8))
		}
		keep := rapid.IntRange(2, len(raw)).Draw(t, "keep") &^ 1
		var got []byte
		bundle.Walk(context.Background(), bundle.Config{}, []bundle.Input{memory("t", raw[:keep])}, func(m *bundle.Member) error {
			got, _ = io.ReadAll(m.Body)
			return nil
		})
		got = bytes.TrimSuffix(got, []byte("\uFFFD"))
		if !strings.HasPrefix(strings.ToValidUTF8(text, "\uFFFD"), string(got)) {
			t.Fatalf("%q is no prefix of %q", got, text)
		}
	})
}

func TestPeekSeesAMegabyteAndConsumesNothing(t *testing.T) {
	corpus.Heavy(t)
	content := noise(3 << 20)
	inputs := []bundle.Input{memory("a.tar.gz", gzipped(t, bytes.NewReader(tarred(t, entry{"big", string(content)}, entry{"small", "s"}))))}
	_, _, err := bundle.Walk(context.Background(), testConfig(t), inputs, func(m *bundle.Member) error {
		want := content
		if m.Path == "small" {
			want = []byte("s")
		}
		if m.Whole() != (m.Path == "small") || len(m.Head) != min(len(want), 64<<10) {
			t.Errorf("%s: %d bytes of head, whole %v", m.Path, len(m.Head), m.Whole())
		}
		if got := m.Peek(8 << 20); !bytes.Equal(got, want[:min(len(want), bundle.PeekLimit)]) {
			t.Errorf("%s: %d bytes were peeked", m.Path, len(got))
		}
		if got, err := io.ReadAll(m.Body); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %d bytes after the peek, err %v; want %d", m.Path, len(got), err, len(want))
		}
		if !bytes.HasPrefix(want, m.Head) {
			t.Errorf("%s: the head changed while the body was read", m.Path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestWhatAVisitLeavesUnreadIsSkipped(t *testing.T) {
	content := string(noise(1 << 20))
	upload := tarred(t, entry{"a", content}, entry{"b", content}, entry{"c", "end"})
	var last string
	_, problems, err := bundle.Walk(context.Background(), testConfig(t), []bundle.Input{memory("a.tar", upload)}, func(m *bundle.Member) error {
		part, err := io.ReadAll(io.LimitReader(m.Body, 100))
		last = string(part)
		return err
	})
	if err != nil || len(problems) != 0 || last != "end" {
		t.Errorf("last %q, problems %v, err %v", last, problems, err)
	}
}

func TestRefusedFormatsAreNamedWithWhatToUploadInstead(t *testing.T) {
	for name, c := range map[string]struct {
		content string
		words   []string
	}{
		"x.7z":           {"7z\xbc\xaf\x27\x1c\x00\x04rest", []string{"7-Zip", "not supported", ".tar.gz"}},
		"x.rar":          {"Rar!\x1a\x07\x01\x00rest", []string{"RAR", "not supported"}},
		"cluster.diag":   {"D1ag\x01\x02\x03", []string{"TiDB", "encrypted", "perf/goroutine.txt"}},
		"b.age":          {"age-encryption.org/v1\n-> X25519", []string{"age", "decrypt"}},
		"b.asc":          {"-----BEGIN PGP MESSAGE-----\n", []string{"gpg", "decrypt"}},
		"sos.tar.xz.gpg": {"\x85\x01\x0c\x03binary\x00", []string{"gpg", "decrypt"}},
		"b.tar.enc":      {"Salted__12345678", []string{"openssl", "decrypt"}},
		"inspect.enc":    {"\x93\x00\x01binary\x00", []string{"encrypted", ".enc"}},
	} {
		w := walk(t, testConfig(t), memory(name, []byte(c.content)))
		if len(w.files) != 1 || string(w.files[0].content) != c.content || !w.says(c.words...) {
			t.Errorf("%s: files %q, problems %v; want it listed as it is and refused with %q", name, w.paths(), w.listing(), c.words)
		}
	}
}

func TestReopeningAMemberGivesTheSameBytes(t *testing.T) {
	inner := tarred(t, entry{"d", "1"}, entry{"d", "2"}, entry{"empty", ""})
	inputs := []bundle.Input{
		memory("a.tar.gz", gzipped(t, bytes.NewReader(tarred(t, entry{"x/inner.tar", string(inner)}, entry{"x.gz", string(gzipped(t, bytes.NewReader(noise(200_000))))}, entry{"u.txt", "\xef\xbb\xbftext"})))),
		memory("b.zip", zipped(t, entry{"d", "zip"}, entry{"inner.zip", string(zipped(t, entry{"d", "deep"}))})),
		memory("b.zip", []byte("the same name again")),
		memory("cut.gz", gzipped(t, bytes.NewReader(noise(100_000)))[:30_000]),
		memory("no.gz", []byte("\x1f\x8b\x08 nothing of the kind")),
		{Name: "fd/7", Size: -1, Link: "socket:[1]"},
	}
	for _, set := range [][]bundle.Input{inputs, inputs[:1], inputs[1:2], inputs[3:4]} {
		for _, f := range walk(t, testConfig(t), set...).files {
			want := f.content
			if f.Type != bundle.Regular {
				want = []byte(f.Link)
			}
			rc, err := bundle.Open(context.Background(), testConfig(t), set, f.Path)
			if err != nil {
				t.Errorf("%s: %v", f.Path, err)
				continue
			}
			got, err := io.ReadAll(rc)
			rc.Close()
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s: %d bytes, err %v; want %d", f.Path, len(got), err, len(want))
			}
		}
	}
}

func TestReopeningWhatIsNotThereIsNotFound(t *testing.T) {
	inputs := []bundle.Input{memory("a.tar", tarred(t, entry{"d", "1"}))}
	for _, path := range []string{"e", "a.tar", "a.tar!/d", "d!/x", ""} {
		_, err := bundle.Open(context.Background(), testConfig(t), inputs, path)
		var fault *analysis.Fault
		if !errors.As(err, &fault) || fault.Code != "not_found" || fault.Where != path {
			t.Errorf("%q: err %v, want a Fault not_found", path, err)
		}
	}
}

func TestReopeningEndsWithItsContext(t *testing.T) {
	corpus.Heavy(t)
	ctx, cancel := context.WithCancel(context.Background())
	inputs := []bundle.Input{memory("a.gz", gzipped(t, bytes.NewReader(noise(4<<20))))}
	rc, err := bundle.Open(ctx, testConfig(t), inputs, "a.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer rc.Close()
	cancel()
	if _, err := io.Copy(io.Discard, rc); !errors.Is(err, context.Canceled) {
		t.Errorf("err %v, want the context's", err)
	}
	if _, err := bundle.Open(ctx, testConfig(t), inputs, "a.gz"); !errors.Is(err, context.Canceled) {
		t.Errorf("err %v, want the context's", err)
	}
}

func TestAReopenedMemberMayBeClosedEarly(t *testing.T) {
	inputs := []bundle.Input{memory("a.gz", gzipped(t, bytes.NewReader(noise(4<<20))))}
	rc, err := bundle.Open(context.Background(), testConfig(t), inputs, "a.gz")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(rc, make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	if err := rc.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestADirectoryIsListedInNaturalOrderWithLinksUnfollowed(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"t10/p/limits", "t2/p/limits", "t2/p/fdinfo/10", "t2/p/fdinfo/9", "t2/notes.txt", "a.txt"} {
		full := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("socket:[1]", filepath.Join(root, "t2/p/7")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(root, filepath.Join(root, "loop")); err != nil {
		t.Fatal(err)
	}
	inputs, err := bundle.FromFS(os.DirFS(root), "case")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, in := range inputs {
		names = append(names, in.Name+">"+in.Link)
	}
	want := []string{
		"case/a.txt>", "case/loop>" + root, "case/t2/notes.txt>", "case/t2/p/7>socket:[1]", "case/t2/p/fdinfo/9>",
		"case/t2/p/fdinfo/10>", "case/t2/p/limits>", "case/t10/p/limits>",
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Fatalf("(-want +got)\n%s", diff)
	}
	w := walk(t, testConfig(t), inputs...)
	if f := w.file(t, "case/t2/p/7"); f.Link != "socket:[1]" || f.Type != bundle.Symlink {
		t.Errorf("the link is %q of type %q", f.Link, f.Type)
	}
	if got := string(w.file(t, "case/t10/p/limits").content); got != "t10/p/limits" {
		t.Errorf("limits holds %q", got)
	}
	if _, err := bundle.FromFS(os.DirFS(filepath.Join(root, "missing")), ""); err == nil {
		t.Error("a missing directory was listed")
	}
}

func TestADirectoryWithoutLinksMayBeAnyFileSystem(t *testing.T) {
	inputs, err := bundle.FromFS(fstest.MapFS{"b/x": {Data: []byte("1")}, "a": {Data: []byte("2")}}, "")
	if err != nil || len(inputs) != 2 || inputs[0].Name != "a" || inputs[1].Name != "b/x" {
		t.Errorf("inputs %v, err %v", inputs, err)
	}
}

func TestNaturalOrderIsAnOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[at0-9]{0,3}(/[at0-9]{1,3}){0,2}`)
		fsys := fstest.MapFS{}
		for _, n := range rapid.SliceOfN(name, 1, 12).Draw(t, "names") {
			if n = strings.Trim(n, "/"); n != "" {
				fsys[n+"/f"] = &fstest.MapFile{}
			}
		}
		inputs, err := bundle.FromFS(fsys, "")
		if err != nil || len(inputs) != len(fsys) {
			t.Fatalf("%d of %d files, err %v", len(inputs), len(fsys), err)
		}
		var names []string
		for _, in := range inputs {
			names = append(names, in.Name)
		}
		slices.Reverse(names)
		again, _ := bundle.FromFS(fsys, "")
		for i, in := range again {
			if names[len(names)-1-i] != in.Name {
				t.Fatalf("the order changes: %v", names)
			}
		}
	})
}

// sparseTar is a PAX sparse member (format 1.0) of that size with one "x" at
// offset 100. archive/tar does not write these, so its records are renamed.
func sparseTar(t *testing.T, size int64) []byte {
	var out bytes.Buffer
	tw := tar.NewWriter(&out)
	body := "1\n100\n1\n"
	body += strings.Repeat("\x00", 512-len(body)) + "x"
	records := map[string]string{"PAX.sparse.major": "1", "PAX.sparse.minor": "0", "PAX.sparse.name": "s", "PAX.sparse.realsize": strconv.FormatInt(size, 10)}
	if err := tw.WriteHeader(&tar.Header{Name: "GNUSparseFile.0/s", Size: int64(len(body)), Format: tar.FormatPAX, PAXRecords: records}); err != nil {
		t.Fatal(err)
	}
	io.WriteString(tw, body)
	tw.WriteHeader(&tar.Header{Name: "next"})
	tw.Close()
	return bytes.ReplaceAll(out.Bytes(), []byte("PAX.sparse"), []byte("GNU.sparse"))
}

func TestHolesOfSparseFilesAreReadWithinTheBudgets(t *testing.T) {
	corpus.Heavy(t)
	want := make([]byte, 1000)
	want[100] = 'x'
	w := walk(t, testConfig(t), memory("s.tar", sparseTar(t, 1000)))
	if f := w.file(t, "s"); !bytes.Equal(f.content, want) || f.truncated || len(w.problems) != 0 {
		t.Errorf("%d bytes, truncated %v, problems %v; want 1000", len(f.content), f.truncated, w.listing())
	}
	w = walk(t, testConfig(t), memory("s.tar", sparseTar(t, 1<<30)))
	if f := w.file(t, "s"); !f.truncated || len(f.content) > 66<<20 || !w.says("more than 200 times") {
		t.Errorf("%d bytes, truncated %v, problems %v; want a stop at the ratio", len(f.content), f.truncated, w.listing())
	}
	w.file(t, "next")
}

// locked marks the entries of a zip archive as encrypted, in both headers.
func locked(t testing.TB, data []byte, aes bool) []byte {
	t.Helper()
	out := bytes.Clone(data)
	for signature, flags := range map[string]int{"PK\x03\x04": 6, "PK\x01\x02": 8} {
		for at := 0; ; at++ {
			i := bytes.Index(out[at:], []byte(signature))
			if i < 0 {
				break
			}
			at += i
			out[at+flags] |= 1
			if aes {
				out[at+flags+2] = 99
			}
		}
	}
	return out
}

func TestEncryptedFilesNameTheirArchiveAndWhatOpensIt(t *testing.T) {
	text := strings.Repeat("x", 100)
	plain := zipped(t, entry{name: "logs/a.txt", body: text}, entry{name: "b.txt", body: text}, entry{name: "c.txt", body: text})
	inner := zipped(t, entry{name: "a.txt", body: text})
	for name, c := range map[string]struct {
		file string
		data []byte
		want []string
	}{
		"some files":        {"case 7.zip", locked(t, plain, false), []string{"case 7.zip: logs/a.txt and 2 other files in it are encrypted", "unzip -P PASSWORD case 7.zip or 7z x case 7.zip"}},
		"one file":          {"x.zip", locked(t, inner, false), []string{"x.zip: a.txt in it is encrypted", "made with a password"}},
		"AES":               {"x.zip", locked(t, inner, true), []string{"x.zip: a.txt in it is encrypted", "(7z x x.zip)"}},
		"a zip in a gzip":   {"x.zip.gz", gzipped(t, bytes.NewReader(locked(t, inner, false))), []string{"x.zip.gz: a.txt in it is encrypted"}},
		"without directory": {"x.zip", locked(t, inner, false)[:60], []string{"x.zip: a.txt in it is encrypted"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := walk(t, testConfig(t), memory(c.file, c.data))
			if !w.says(c.want...) {
				t.Errorf("problems %v do not say %q", w.listing(), c.want)
			}
			if n := strings.Count(strings.Join(w.listing(), "\n"), "encrypted"); n != 1 {
				t.Errorf("%d problems tell of it, want 1: %v", n, w.listing())
			}
		})
	}
}
