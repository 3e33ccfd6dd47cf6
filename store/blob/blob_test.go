package blob

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"leakdiff/analysis"

	"leakdiff/samples/corpus"
)

var quiet = slog.New(slog.DiscardHandler)

func open(t testing.TB) *Directory {
	t.Helper()
	s, err := OpenDirectory(Config{Dir: filepath.Join(t.TempDir(), "blobs"), Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func put(t testing.TB, s *Directory, content []byte) Ref {
	t.Helper()
	ref, err := s.Put(t.Context(), bytes.NewReader(content), 0)
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

func get(t testing.TB, s *Directory, sha string) []byte {
	t.Helper()
	r, err := s.Open(t.Context(), Name{SHA256: sha})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	content, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// files lists every file below the store's directory, temporary ones included.
func files(t testing.TB, s *Directory) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(s.dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			out = append(out, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func code(err error) string {
	var fault *analysis.Fault
	if errors.As(err, &fault) {
		return fault.Code
	}
	return ""
}

func hashHex(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

func gzipped(content []byte) []byte {
	var buf bytes.Buffer
	w := gzip.NewWriter(&buf)
	w.Write(content)
	w.Close()
	return buf.Bytes()
}

// noise cannot be compressed.
func noise(n int) []byte {
	b := make([]byte, n)
	rand.NewChaCha8([32]byte{7}).Read(b)
	return b
}

func TestPutGivesBackWhatItTook(t *testing.T) {
	dump := []byte(strings.Repeat("goroutine 1 [running]:\nmain.main()\n", 5000))
	for name, content := range map[string][]byte{
		"an empty upload":       {},
		"one byte":              {'x'},
		"a dump":                dump,
		"a gzip file":           gzipped(dump),
		"a zip magic":           []byte("PK\x03\x04rest"),
		"a zstd magic alone":    []byte("\x28\xb5\x2f\xfd"),
		"an xz magic":           []byte("\xfd7zXZ\x00....."),
		"more than the window":  bytes.Repeat(dump, 20),
		"half of a gzip magic ": {0x1f},
		"nearly a block":        noise(blockSize - 1),
		"a block":               noise(blockSize),
		"a byte more":           noise(blockSize + 1),
		"many blocks":           noise(9<<20 + 123),
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			ref := put(t, s, content)
			want := Ref{Name: Name{SHA256: hashHex(content)}, Size: int64(len(content)), Stored: ref.Stored}
			if diff := cmp.Diff(want, ref); diff != "" {
				t.Error(diff)
			}
			if got := get(t, s, ref.SHA256); !bytes.Equal(got, content) {
				t.Errorf("got %d other bytes than the %d put", len(got), len(content))
			}
			if !s.Has(ref.SHA256) {
				t.Error("Has says no")
			}
			if info, err := os.Stat(files(t, s)[0]); err != nil || info.Size() != ref.Stored {
				t.Errorf("Stored is %d, the file has %v (%v)", ref.Stored, info.Size(), err)
			}
		})
	}
}

func TestPutCompressesTextAndLeavesArchivesAlone(t *testing.T) {
	s := open(t)
	dump := []byte(strings.Repeat("goroutine 1 [running]:\nmain.main()\n", 5000))
	if ref := put(t, s, dump); ref.Stored > ref.Size/20 {
		t.Errorf("%d repetitive bytes are stored in %d", ref.Size, ref.Stored)
	}
	if ref := put(t, s, gzipped(dump)); ref.Stored != ref.Size {
		t.Errorf("gzip of %d bytes is stored in %d", ref.Size, ref.Stored)
	}
}

func TestTheSameBytesAreStoredOnce(t *testing.T) {
	s := open(t)
	first := put(t, s, []byte("same"))
	second := put(t, s, []byte("same"))
	if diff := cmp.Diff(first, second); diff != "" {
		t.Error(diff)
	}
	list, err := s.List()
	if err != nil || len(list) != 1 {
		t.Fatalf("got %d blobs (%v), want 1", len(list), err)
	}
	if got := len(files(t, s)); got != 1 {
		t.Errorf("%d files remain, want 1", got)
	}
}

func TestManyWritersOfTheSameBytesAgree(t *testing.T) {
	s := open(t)
	content := bytes.Repeat([]byte("goroutine\n"), 1000)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if _, err := s.Put(context.Background(), bytes.NewReader(content), 0); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got := get(t, s, hashHex(content)); !bytes.Equal(got, content) {
		t.Error("the content changed")
	}
	if got := len(files(t, s)); got != 1 {
		t.Errorf("%d files remain, want 1", got)
	}
}

func TestAFailedPutLeavesNothingBehind(t *testing.T) {
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	boom := errors.New("connection reset")
	big := strings.Repeat("x", 1<<20)
	for name, tc := range map[string]struct {
		ctx      context.Context
		r        io.Reader
		limit    int64
		wantCode string
		wantErr  error
	}{
		"when the limit is passed":            {context.Background(), strings.NewReader(big), 1 << 19, "too_large", nil},
		"when the limit is passed by a byte":  {context.Background(), strings.NewReader("12345"), 4, "too_large", nil},
		"when an archive passes the limit":    {context.Background(), strings.NewReader("PK\x03\x04" + big), 1 << 19, "too_large", nil},
		"when the context has ended":          {cancelled, strings.NewReader(big), 0, "", context.Canceled},
		"when the reader fails at once":       {context.Background(), iotest.ErrReader(boom), 0, "", boom},
		"when the reader fails in the middle": {context.Background(), io.MultiReader(strings.NewReader(big), iotest.ErrReader(boom)), 0, "", boom},
		"when an archive breaks off":          {context.Background(), io.MultiReader(strings.NewReader("PK\x03\x04"), iotest.ErrReader(boom)), 0, "", boom},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			_, err := s.Put(tc.ctx, tc.r, tc.limit)
			if err == nil {
				t.Fatal("no error")
			}
			if code(err) != tc.wantCode {
				t.Errorf("got code %q (%v), want %q", code(err), err, tc.wantCode)
			}
			if tc.wantErr != nil && !errors.Is(err, tc.wantErr) {
				t.Errorf("got %v, want %v", err, tc.wantErr)
			}
			if left := files(t, s); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

func TestPutAcceptsExactlyTheLimit(t *testing.T) {
	if _, err := open(t).Put(t.Context(), strings.NewReader("1234"), 4); err != nil {
		t.Error(err)
	}
}

// creator makes other temporary files.
type creator struct {
	Files
	create func(dir string) (File, error)
}

func (c creator) Create(dir string) (File, error) { return c.create(dir) }

// /dev/full answers every write with ENOSPC.
func TestPutSaysThatTheDiskIsFull(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		corpus.LeaveOut(t, "this system has no /dev/full to write to")
	}
	for name, content := range map[string]string{"text": "goroutine 1", "an archive": "PK\x03\x04"} {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			s.files = creator{s.files, func(dir string) (File, error) {
				link := filepath.Join(dir, "put-full")
				if err := os.Symlink("/dev/full", link); err != nil {
					return nil, err
				}
				return os.OpenFile(link, os.O_WRONLY, 0)
			}}
			_, err := s.Put(t.Context(), strings.NewReader(content), 0)
			var fault *analysis.Fault
			if !errors.As(err, &fault) || fault.Code != "disk_full" || fault.Hint == "" {
				t.Errorf("got %v, want a disk_full fault with a hint", err)
			}
			if left := files(t, s); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

func TestOpenRemovesWhatACrashLeft(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "blobs")
	s, err := OpenDirectory(Config{Dir: dir, Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	ref := put(t, s, []byte("kept"))
	if err := os.WriteFile(filepath.Join(dir, scratch, "put-123"), []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err = OpenDirectory(Config{Dir: dir, Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	if got := len(files(t, s)); got != 1 {
		t.Errorf("%d files remain, want only the blob", got)
	}
	if got := string(get(t, s, ref.SHA256)); got != "kept" {
		t.Errorf("got %q", got)
	}
}

func TestDeleteForgetsAContentAndNoOther(t *testing.T) {
	s := open(t)
	gone, kept := put(t, s, []byte("gone")), put(t, s, []byte("kept"))
	for range 2 {
		if err := s.Delete(t.Context(), gone.Name); err != nil {
			t.Fatal(err)
		}
	}
	if s.Has(gone.SHA256) {
		t.Error("Has still says yes")
	}
	if _, err := s.Open(t.Context(), gone.Name); code(err) != "not_found" {
		t.Errorf("got %v, want not_found", err)
	}
	list, err := s.List()
	if err != nil {
		t.Fatal(err)
	}
	if len(list) != 1 || list[0].SHA256 != kept.SHA256 || list[0].Stored != kept.Stored {
		t.Errorf("got %+v, want only %+v", list, kept)
	}
}

func TestHashesThatAreNoneNeverReachTheDisk(t *testing.T) {
	s := open(t)
	secret := filepath.Join(filepath.Dir(s.dir), "secret.raw")
	if err := os.WriteFile(secret, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, sha := range []string{"", "..", "../../secret", strings.Repeat("A", 64), strings.Repeat("0", 63), "../../secret" + strings.Repeat("/", 52)} {
		if s.Has(sha) {
			t.Errorf("Has(%q) is true", sha)
		}
		if _, err := s.Open(t.Context(), Name{SHA256: sha}); code(err) != "not_found" {
			t.Errorf("Open(%q): got %v, want not_found", sha, err)
		}
		if err := s.Delete(t.Context(), Name{SHA256: sha}); err != nil {
			t.Errorf("Delete(%q): %v", sha, err)
		}
	}
	if _, err := os.Stat(secret); err != nil {
		t.Error(err)
	}
}

func TestListSkipsForeignFiles(t *testing.T) {
	s := open(t)
	ref := put(t, s, []byte("x"))
	if err := os.WriteFile(filepath.Join(s.dir, ref.SHA256[:2], "notes.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	list, err := s.List()
	if err != nil || len(list) != 1 {
		t.Errorf("got %+v, %v", list, err)
	}
}

func TestFreeIsPlausible(t *testing.T) {
	free, err := open(t).Free()
	if errors.Is(err, errors.ErrUnsupported) {
		corpus.LeaveOut(t, "free space is not known on this system")
	}
	if err != nil || free <= 0 {
		t.Errorf("got %d, %v", free, err)
	}
}

func TestAnyContentInAnyPiecesIsHashedAndKept(t *testing.T) {
	s := open(t)
	rapid.Check(t, func(t *rapid.T) {
		head := rapid.SampledFrom([]string{"", "\x1f\x8b", "PK\x03\x04", "goroutine "}).Draw(t, "head")
		content := append([]byte(head), rapid.SliceOfN(rapid.Byte(), 0, 3000).Draw(t, "content")...)
		ref, err := s.Put(context.Background(), iotest.OneByteReader(bytes.NewReader(content)), int64(len(content)))
		if err != nil {
			t.Fatal(err)
		}
		if ref.SHA256 != hashHex(content) || ref.Size != int64(len(content)) {
			t.Fatalf("got %+v", ref)
		}
		r, err := s.Open(t.Context(), ref.Name)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		got, err := io.ReadAll(r)
		if err != nil || !bytes.Equal(got, content) {
			t.Fatalf("other bytes came back (%v)", err)
		}
	})
}

// repeated gives lines as a network would, in large pieces, and holds one only.
type repeated struct{ left int }

func (r *repeated) Read(p []byte) (int, error) {
	if r.left <= 0 {
		return 0, io.EOF
	}
	p = p[:min(len(p), r.left)]
	for n := 0; n < len(p); {
		var line [64]byte
		text := append(strconv.AppendInt(append(line[:0], "goroutine "...), int64(r.left-n), 10), " [select, 3 minutes]:\n"...)
		n += copy(p[n:], text)
	}
	r.left -= len(p)
	return len(p), nil
}

// weighed measures the heap that is alive while it is read, every 4 MiB.
type weighed struct {
	repeated
	next int
	peak uint64
}

func (w *weighed) Read(p []byte) (int, error) {
	if w.left <= w.next {
		w.next = w.left - 4<<20
		var now runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&now)
		w.peak = max(w.peak, now.HeapAlloc)
	}
	return w.repeated.Read(p)
}

// The heap must not grow with the upload. What is alive counts: under the race detector
// a sync.Pool throws away what it is given.
func TestPutKeepsMemoryFlat(t *testing.T) {
	s := open(t)
	var before runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	w := &weighed{repeated: repeated{left: 64 << 20}, next: 64 << 20}
	if _, err := s.Put(t.Context(), w, 0); err != nil {
		t.Fatal(err)
	}
	if w.peak == 0 {
		t.Fatal("nothing was measured")
	}
	if grown := int64(w.peak) - int64(before.HeapAlloc); grown > 6<<20 {
		t.Errorf("%d KiB are alive while 64 MiB are stored", grown>>10)
	}
}

func BenchmarkPut(b *testing.B) {
	s := open(b)
	const size = 16 << 20
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Put(b.Context(), &repeated{left: size}, 0); err != nil {
			b.Fatal(err)
		}
	}
}

func TestRoomIsMissingOnAFullVolumeAndWhereAQuotaIsUsedUp(t *testing.T) {
	for name, tc := range map[string]struct {
		end  error
		full bool
	}{
		"there is room":            {nil, false},
		"the volume is full":       {syscall.ENOSPC, true},
		"the quota is used up":     {syscall.EDQUOT, true},
		"the volume cannot be had": {syscall.EIO, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			if tc.end != nil {
				s.files = creator{s.files, func(dir string) (File, error) {
					return nil, &os.PathError{Op: "open", Path: dir, Err: tc.end}
				}}
			}
			err := s.Room(256 << 10)
			var fault *analysis.Fault
			if full := errors.As(err, &fault) && fault.Code == "disk_full"; full != tc.full || (err == nil) != (tc.end == nil) {
				t.Errorf("got %v", err)
			}
			if left := files(t, s); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}
