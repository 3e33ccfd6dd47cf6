package bundle

import (
	"archive/tar"
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/gzip"
	"pgregory.net/rapid"

	"leakdiff/samples/corpus"
)

// tarWalker is what entries and tar.Reader have in common.
type tarWalker struct {
	next func() (*tar.Header, error)
	read io.Reader
}

// listTar walks an archive, reading as much of each content as reads allows, and
// returns everything that a walk looks at.
func listTar(w tarWalker, reads []int64) (out []string) {
	for i := 0; ; i++ {
		h, err := w.next()
		if err != nil {
			return append(out, err.Error())
		}
		if h.Typeflag == tar.TypeXGlobalHeader {
			out = append(out, "global")
			continue
		}
		content, err := io.ReadAll(io.LimitReader(w.read, reads[i%len(reads)]))
		out = append(out, fmt.Sprintf("%q %c %d %v %q %t %x %v", h.Name, h.Typeflag, h.Size, h.ModTime.Unix(), h.Linkname, sparse(h), content, err))
	}
}

func checkEntries(t interface {
	Fatalf(string, ...any)
	Helper()
}, archive []byte, reads ...int64,
) {
	t.Helper()
	slow := tar.NewReader(bufio.NewReader(bytes.NewReader(archive)))
	fast := &entries{br: bufio.NewReaderSize(bytes.NewReader(archive), 4<<10)}
	want, got := listTar(tarWalker{slow.Next, slow}, reads), listTar(tarWalker{fast.next, fast}, reads)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("(-tar.Reader +entries):\n%.3000s", diff)
	}
}

// TestEntriesAreThoseOfTarReader compares both over archives of every form, damaged ones and
// such that are cut: each alone, and after an entry with a plain header, because in a short run
// none of the 20 archives that are drawn may begin with one.
func TestEntriesAreThoseOfTarReader(t *testing.T) {
	first := plainEntry(t, tar.FormatUSTAR)
	rapid.Check(t, func(t *rapid.T) {
		var out bytes.Buffer
		w := tar.NewWriter(&out)
		for range rapid.IntRange(1, 6).Draw(t, "entries") {
			h := &tar.Header{
				Name: rapid.OneOf(rapid.StringMatching(`[a-c]{1,9}`), rapid.StringMatching(`[a-c]/[0-9]{1,9}`), rapid.StringMatching(`[a-c/.]{1,12}`), rapid.StringMatching(`(long/){25,30}x`), rapid.StringMatching(`[aé]{1,4}`)).Draw(t, "name"),
				Mode: 0o644, Uid: rapid.SampledFrom([]int{0, 0, 1000, 1000, 1 << 30}).Draw(t, "uid"),
				Typeflag: rapid.SampledFrom([]byte{tar.TypeReg, tar.TypeReg, tar.TypeReg, tar.TypeDir, tar.TypeSymlink, tar.TypeLink, tar.TypeChar, tar.TypeXGlobalHeader}).Draw(t, "type"),
				ModTime:  time.Unix(rapid.SampledFrom([]int64{0, 1_700_000_000, 1_700_000_000, 1_600_000_000, -5, 1 << 40}).Draw(t, "time"), 0),
				Format:   rapid.SampledFrom([]tar.Format{tar.FormatUnknown, tar.FormatUSTAR, tar.FormatGNU, tar.FormatPAX}).Draw(t, "format"),
			}
			content := []byte(nil)
			switch h.Typeflag {
			case tar.TypeReg:
				content = bytes.Repeat([]byte("x"), rapid.SampledFrom([]int{0, 1, 180, 511, 512, 513, 9000}).Draw(t, "size"))
				h.Size = int64(len(content))
			case tar.TypeSymlink, tar.TypeLink:
				h.Linkname = rapid.StringMatching(`(socket:\[1\]|(a/){60})`).Draw(t, "link")
			case tar.TypeXGlobalHeader:
				*h = tar.Header{Typeflag: tar.TypeXGlobalHeader, Name: "pax_global_header", PAXRecords: map[string]string{"comment": "abc"}}
			}
			if w.WriteHeader(h) == nil { // some formats cannot say some headers
				w.Write(content)
			}
		}
		if rapid.Bool().Draw(t, "closed") {
			w.Close()
		} else {
			w.Flush()
		}
		archive := out.Bytes()
		if rapid.IntRange(0, 2).Draw(t, "cut") == 0 && len(archive) > 0 {
			archive = archive[:rapid.IntRange(0, len(archive)).Draw(t, "at")]
		}
		for range rapid.IntRange(0, 2).Draw(t, "damages") {
			if len(archive) > 0 {
				archive[rapid.IntRange(0, len(archive)-1).Draw(t, "where")] = rapid.Byte().Draw(t, "byte")
			}
		}
		reads := rapid.SliceOfN(rapid.Int64Range(0, 10_000), 1, 3).Draw(t, "reads")
		checkEntries(t, archive, reads...)
		checkEntries(t, slices.Concat(first, archive), reads...)
	})
}

// plainEntry is a file of three bytes with a plain header, without the blocks that end an archive.
func plainEntry(t *testing.T, format tar.Format) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	h := &tar.Header{Name: "capture/fdinfo/7", Typeflag: tar.TypeReg, Mode: 0o400, Size: 3, ModTime: time.Unix(1_700_000_000, 0), Format: format}
	if err := w.WriteHeader(h); err != nil {
		t.Fatal(err)
	}
	io.WriteString(w, "abc")
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if e := (&entries{}); !e.plain(out.Bytes()[:tarBlock]) {
		t.Fatalf("format %v: the header is not plain", format)
	}
	return out.Bytes()
}

// TestPlainHeadersAreReadLikeTarReader changes single bytes of good headers, with the
// checksum made right again.
func TestPlainHeadersAreReadLikeTarReader(t *testing.T) {
	for _, format := range []tar.Format{tar.FormatUSTAR, tar.FormatGNU} {
		whole := append(plainEntry(t, format), make([]byte, 2*tarBlock)...)
		for i := range tarBlock {
			for _, c := range []byte("\x00 07/8x\x80\xff") {
				archive := bytes.Clone(whole)
				archive[i] = c
				if i < 148 || i >= 156 {
					copy(archive[148:156], fmt.Sprintf("%06o\x00 ", checksum(archive)))
				}
				checkEntries(t, archive, 100)
			}
		}
	}
}

func TestEntriesOfTheCorpusAreThoseOfTarReader(t *testing.T) {
	compared := 0
	err := filepath.WalkDir(corpus.Path(t), func(path string, d os.DirEntry, err error) error {
		packed := strings.HasSuffix(path, ".tar.gz") || strings.HasSuffix(path, ".tgz")
		if err != nil || !packed && !strings.HasSuffix(path, ".tar") {
			return err
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if packed {
			z, err := gzip.NewReader(bytes.NewReader(raw))
			if err != nil {
				return nil // named so, and no archive
			}
			raw, _ = io.ReadAll(io.LimitReader(z, 64<<20)) // as far as it goes
		}
		compared++
		checkEntries(t, raw, 1<<20)
		checkEntries(t, raw[:len(raw)*2/3], 100)
		return nil
	})
	if err != nil || compared == 0 {
		t.Errorf("%d archives, %v", compared, err)
	}
}
