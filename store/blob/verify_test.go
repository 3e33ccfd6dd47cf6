package blob

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"leakdiff/analysis"
)

// damages are what happens to a stored file. The state that was trusted is gone after each,
// whatever times it has.
var damages = map[string]func(t *testing.T, path string){
	"cut to nothing":     func(t *testing.T, path string) { check(t, os.Truncate(path, 0)) },
	"cut in its middle":  func(t *testing.T, path string) { check(t, os.Truncate(path, sizeOf(t, path)/2)) },
	"cut by its last 3":  func(t *testing.T, path string) { check(t, os.Truncate(path, sizeOf(t, path)-3)) },
	"with a flipped bit": func(t *testing.T, path string) { flip(t, path, sizeOf(t, path)/2) },
	"with a flipped bit at its end": func(t *testing.T, path string) {
		flip(t, path, sizeOf(t, path)-1)
	},
	"zeroed at its length": func(t *testing.T, path string) {
		size := sizeOf(t, path)
		check(t, os.Truncate(path, 0))
		check(t, os.Truncate(path, size))
	},
	"replaced by other good content": func(t *testing.T, path string) {
		other := open(t)
		ref := put(t, other, append([]byte("\x1f\x8b"), noise(1000)...))
		if filepath.Ext(path) == packed {
			ref = put(t, other, bytes.Repeat([]byte("other "), 1000))
		}
		from, _, err := other.find(ref.SHA256)
		check(t, err)
		content, err := os.ReadFile(from)
		check(t, err)
		check(t, os.WriteFile(path, content, 0o600))
	},
	"changed at its old time": func(t *testing.T, path string) {
		info, err := os.Stat(path)
		check(t, err)
		flip(t, path, sizeOf(t, path)/2)
		check(t, os.Chtimes(path, info.ModTime(), info.ModTime()))
	},
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func sizeOf(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	check(t, err)
	return info.Size()
}

func flip(t *testing.T, path string, at int64) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	check(t, err)
	defer f.Close()
	var b [1]byte
	_, err = f.ReadAt(b[:], at)
	check(t, err)
	b[0] ^= 0x10
	_, err = f.WriteAt(b[:], at)
	check(t, err)
}

// contents are one of each way to store.
func contents() map[string][]byte {
	return map[string][]byte{
		"text":       bytes.Repeat([]byte("goroutine 1 [running]:\nmain.main()\n"), 3000),
		"an archive": append([]byte("\x1f\x8b"), noise(100_000)...),
		"a short":    []byte("goroutine"),
	}
}

func pathOf(t *testing.T, s *Directory, sha string) string {
	t.Helper()
	path, _, err := s.find(sha)
	check(t, err)
	return path
}

func TestADamagedBlobIsNamedSetAsideAndPutBackByTheSameUpload(t *testing.T) {
	for content, bytesOf := range contents() {
		for damage, do := range damages {
			t.Run(content+" "+damage, func(t *testing.T) {
				s := open(t)
				ref := put(t, s, bytesOf)
				path := pathOf(t, s, ref.SHA256)
				do(t, path)
				bad, err := os.ReadFile(path)
				check(t, err)

				var fault *analysis.Fault
				if err := s.Verify(t.Context(), ref.Name); !errors.As(err, &fault) || fault.Code != Damaged {
					t.Fatalf("Verify: %v", err)
				}
				for _, said := range []string{fault.What, fault.Where, fault.Why, fault.Hint} {
					if said == "" {
						t.Errorf("the fault leaves something out: %+v", fault)
					}
				}
				if !strings.Contains(fault.Where, ref.SHA256[:12]) || strings.Contains(fault.Error(), filepath.Dir(s.dir)) {
					t.Errorf("the fault does not name the blob, or names a directory of the machine: %v", fault)
				}
				kept := s.setAsideOf(ref.SHA256)
				if len(kept) != 1 || !strings.Contains(fault.Why, filepath.Base(kept[0])) {
					t.Fatalf("kept as %v, said: %s", kept, fault.Why)
				}
				if got, err := os.ReadFile(kept[0]); err != nil || !bytes.Equal(got, bad) {
					t.Errorf("what was set aside is not what was there: %v", err)
				}
				// It stays named until it is put back.
				if _, err := s.Open(t.Context(), ref.Name); code(err) != Damaged {
					t.Errorf("then Open gives %v", err)
				}
				if list, err := s.List(); err != nil || len(list) != 0 {
					t.Errorf("it is still listed: %v, %v", list, err)
				}

				again := put(t, s, bytesOf)
				if again.SHA256 != ref.SHA256 || !bytes.Equal(get(t, s, ref.SHA256), bytesOf) {
					t.Error("the same upload did not put it back")
				}
				if len(s.setAsideOf(ref.SHA256)) != 1 {
					t.Error("what was set aside is gone")
				}
			})
		}
	}
}

func TestTheSameUploadPutsBackWhatNobodyReadSinceItWasDamaged(t *testing.T) {
	for content, bytesOf := range contents() {
		for damage, do := range damages {
			t.Run(content+" "+damage, func(t *testing.T) {
				s := open(t)
				ref := put(t, s, bytesOf)
				do(t, pathOf(t, s, ref.SHA256))
				put(t, s, bytesOf)
				if !bytes.Equal(get(t, s, ref.SHA256), bytesOf) || len(s.setAsideOf(ref.SHA256)) != 1 {
					t.Error("the file was believed")
				}
			})
		}
		t.Run(content+" removed", func(t *testing.T) {
			s := open(t)
			ref := put(t, s, bytesOf)
			check(t, os.Remove(pathOf(t, s, ref.SHA256)))
			if err := s.Verify(t.Context(), ref.Name); code(err) != "not_found" {
				t.Errorf("Verify: %v", err)
			}
			put(t, s, bytesOf)
			if !bytes.Equal(get(t, s, ref.SHA256), bytesOf) {
				t.Error("other bytes")
			}
		})
	}
}

func TestReadingADamagedBlobToItsEndIsAnErrorAndNoEnd(t *testing.T) {
	for content, bytesOf := range contents() {
		for damage, do := range damages {
			t.Run(content+" "+damage, func(t *testing.T) {
				s := open(t)
				ref := put(t, s, bytesOf)
				do(t, pathOf(t, s, ref.SHA256))
				r, err := s.Open(t.Context(), ref.Name)
				check(t, err)
				defer r.Close()
				if _, err := io.ReadAll(r); code(err) != Damaged {
					t.Errorf("got %v", err)
				}
				if _, err := r.Read(make([]byte, 1)); code(err) != Damaged {
					t.Errorf("once more: %v", err)
				}
			})
		}
	}
}

// A zip archive is read where it lies, out of order, so that only Verify can tell.
func TestWhatIsReadOutOfOrderIsNotTrusted(t *testing.T) {
	s := open(t)
	content := append([]byte("PK\x03\x04"), noise(10_000)...)
	ref := put(t, s, content)
	s.trusts = map[string]trust{}
	r, err := s.Open(t.Context(), ref.Name)
	check(t, err)
	at := r.(interface {
		io.ReaderAt
		io.ReadSeeker
	})
	for _, offset := range []int64{5000, 0} {
		if _, err := at.Seek(offset, io.SeekStart); err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(at); err != nil || !bytes.Equal(got, content[offset:]) {
			t.Errorf("from %d: %d bytes, %v", offset, len(got), err)
		}
	}
	if got, err := io.ReadAll(io.NewSectionReader(at, 77, 100)); err != nil || !bytes.Equal(got, content[77:177]) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	check(t, r.Close())
	if len(s.trusts) != 0 {
		t.Error("it is trusted though nobody hashed it")
	}
	flip(t, pathOf(t, s, ref.SHA256), 9000)
	if err := s.Verify(t.Context(), ref.Name); code(err) != Damaged {
		t.Errorf("got %v", err)
	}
}

func TestAVerifiedFileIsTrustedForAWhile(t *testing.T) {
	s := open(t)
	now := time.Now()
	s.now = func() time.Time { return now }
	ref := put(t, s, []byte("stored just now"))
	hashes := func() bool {
		r, err := s.open(ref.SHA256)
		check(t, err)
		defer r.Close()
		return r.sum != nil
	}
	if hashes() {
		t.Error("what was stored just now is hashed again")
	}
	now = now.Add(trustTime)
	if !hashes() {
		t.Error("it is trusted without end")
	}
	check(t, s.Verify(t.Context(), ref.Name))
	if hashes() {
		t.Error("what was verified just now is hashed again")
	}
	for range mostTrusted + 1 {
		s.setTrusted(string(noise(8))+now.String(), fileState{})
		now = now.Add(1)
	}
	if len(s.trusts) > mostTrusted {
		t.Errorf("%d verifications are remembered", len(s.trusts))
	}
}

func TestAFileThatIsWrittenToWhileItIsReadIsNotSetAside(t *testing.T) {
	s := open(t)
	ref := put(t, s, append([]byte("\x1f\x8b"), noise(10_000)...))
	path := pathOf(t, s, ref.SHA256)
	s.trusts = map[string]trust{}
	r, err := s.Open(t.Context(), ref.Name)
	check(t, err)
	defer r.Close()
	if _, err := io.ReadFull(r, make([]byte, 100)); err != nil {
		t.Fatal(err)
	}
	flip(t, path, 5000)
	if _, err := io.ReadAll(r); code(err) != Damaged {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(path); err != nil || len(s.setAsideOf(ref.SHA256)) != 0 {
		t.Errorf("somebody restores it and it was taken away: %v", err)
	}
}

func TestVerifyEndsWithItsContext(t *testing.T) {
	s := open(t)
	ref := put(t, s, noise(1<<20))
	s.trusts = map[string]trust{}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Verify(ctx, ref.Name); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if err := s.Verify(t.Context(), ref.Name); err != nil {
		t.Error(err)
	}
}

func TestWhatWasDeletedLeavesNothingSetAside(t *testing.T) {
	s := open(t)
	content := []byte("a secret of somebody")
	ref := put(t, s, content)
	for range 3 {
		check(t, os.Truncate(pathOf(t, s, ref.SHA256), 1))
		put(t, s, content)
	}
	if n := len(s.setAsideOf(ref.SHA256)); n != 3 {
		t.Fatalf("%d damaged files were kept, want 3", n)
	}
	check(t, s.Delete(t.Context(), ref.Name))
	if left := files(t, s); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

func TestReleaseRemovesOnlyWhatItsPutBrought(t *testing.T) {
	for name, tc := range map[string]struct {
		before func(t *testing.T, s *Directory, sha string)
		want   bool
	}{
		"a refused upload":                         {func(*testing.T, *Directory, string) {}, false},
		"two uploads, one of them refused":         {func(t *testing.T, s *Directory, _ string) { put(t, s, []byte("x")) }, true},
		"an upload that was recorded":              {func(_ *testing.T, s *Directory, sha string) { s.Claim(sha) }, true},
		"bytes that were there before the process": {func(_ *testing.T, s *Directory, _ string) { clear(s.unclaimed) }, true},
		"what was put back": {func(t *testing.T, s *Directory, sha string) {
			s.Claim(sha)
			check(t, os.Truncate(pathOf(t, s, sha), 0))
			put(t, s, []byte("x"))
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			ref := put(t, s, []byte("x"))
			tc.before(t, s, ref.SHA256)
			check(t, s.Release(ref.SHA256))
			if got := s.Has(ref.SHA256); got != tc.want {
				t.Errorf("it is kept: %v, want %v", got, tc.want)
			}
		})
	}
}
