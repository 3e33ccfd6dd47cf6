package blob

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"unsafe"
)

// fakeFile takes what is written past the cache only as the system does, for a while.
type fakeFile struct {
	bytes.Buffer
	bypassing bool
	// takes is how many bytes are taken past the cache, refuses whether that cannot be
	// begun, full how many there is room for.
	takes   int
	refuses bool
	full    int
}

func (f *fakeFile) bypass(yes bool) error {
	if yes && f.refuses {
		return syscall.EINVAL
	}
	f.bypassing = yes
	return nil
}

func (f *fakeFile) Write(p []byte) (int, error) {
	if f.bypassing && len(p) > 0 {
		if len(p)%directAlign != 0 || uintptr(unsafe.Pointer(&p[0]))%directAlign != 0 || f.Len()%directAlign != 0 {
			return 0, &os.PathError{Op: "write", Err: syscall.EINVAL}
		}
		if left := f.takes - f.Len(); left < len(p) {
			n, _ := f.Buffer.Write(p[:max(left, 0)])
			return n, &os.PathError{Op: "write", Err: syscall.EINVAL}
		}
	}
	if f.full > 0 && f.Len()+len(p) > f.full {
		n, _ := f.Buffer.Write(p[:f.full-f.Len()])
		return n, &os.PathError{Op: "write", Err: syscall.ENOSPC}
	}
	return f.Buffer.Write(p)
}

func noise(n int) []byte {
	b := make([]byte, n)
	rand.NewChaCha8([32]byte{7}).Read(b)
	return b
}

func TestWhatIsWrittenPastTheCacheIsWhole(t *testing.T) {
	const always = 1 << 30
	for _, c := range []struct {
		name string
		file fakeFile
	}{
		{"a file that takes all", fakeFile{takes: always}},
		{"a file system without", fakeFile{refuses: true}},
		{"one that refuses each write", fakeFile{}},
		{"one that refuses a write after the first", fakeFile{takes: directSize}},
		{"one that takes a part of a write", fakeFile{takes: directSize + 3*directAlign}},
		{"one that takes an odd part of a write", fakeFile{takes: 1000}},
	} {
		for _, size := range []int{0, 1, directAlign, directSize - 1, directSize, directSize + 1, 3*directSize + 5*directAlign, 5*directSize + 77} {
			for _, step := range []int{4093, 700_000, 3 << 20} {
				file := c.file
				d := newDirect(&file)
				want := noise(size)
				for rest := want; len(rest) > 0; {
					n := min(step, len(rest))
					if m, err := d.Write(rest[:n]); m != n || err != nil {
						t.Fatalf("%s, %d bytes: %d of %d, %v", c.name, size, m, n, err)
					}
					rest = rest[n:]
				}
				if err := errors.Join(d.Close(), d.Close()); err != nil || !bytes.Equal(file.Bytes(), want) {
					t.Errorf("%s, %d bytes in steps of %d: %d bytes arrive, %v", c.name, size, step, file.Len(), err)
				}
			}
		}
	}
}

func TestAFullVolumeIsToldSoonWhereTheCacheIsPassed(t *testing.T) {
	file := fakeFile{takes: 1 << 30, full: 3 * directSize}
	d := newDirect(&file)
	var err error
	written := 0
	for err == nil && written < 64<<20 {
		var n int
		n, err = d.Write(make([]byte, 64<<10))
		written += n
	}
	if !errors.Is(err, syscall.ENOSPC) || written > 8<<20 {
		t.Errorf("after %d bytes: %v", written, err)
	}
	if err := d.Close(); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("at the end: %v", err)
	}
}

// TestLargeFollowedContentIsStoredWhole has content that does not get shorter, on the file
// systems that there are.
func TestLargeFollowedContentIsStoredWhole(t *testing.T) {
	dirs := []string{t.TempDir()}
	if shm, err := os.MkdirTemp("/dev/shm", "blob"); err == nil {
		defer os.RemoveAll(shm)
		dirs = append(dirs, shm)
	}
	for _, dir := range dirs {
		s, err := Open(filepath.Join(dir, "blobs"), quiet)
		if err != nil {
			t.Fatal(err)
		}
		for _, size := range []int{1, followedSize - 1, followedSize, followedSize + 1, 2*directSize + 123, 9 << 20} {
			t.Run(fmt.Sprintf("%s, %d bytes", dir, size), func(t *testing.T) {
				want := noise(size)
				f := NewFollower()
				read := make(chan []byte, 1)
				go func() {
					b, _ := io.ReadAll(f)
					f.Close()
					read <- b
				}()
				ref, err := s.PutFollowed(context.Background(), bytes.NewReader(want), 0, f)
				if err != nil {
					t.Fatal(err)
				}
				if sum := sha256.Sum256(want); ref.SHA256 != hex.EncodeToString(sum[:]) || ref.Size != int64(size) {
					t.Errorf("%+v", ref)
				}
				if !bytes.Equal(<-read, want) {
					t.Error("the follower read other bytes")
				}
				r, err := s.Open(ref.SHA256)
				if err != nil {
					t.Fatal(err)
				}
				defer r.Close()
				if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, want) {
					t.Errorf("%d bytes are kept, %v", len(got), err)
				}
			})
		}
	}
}
