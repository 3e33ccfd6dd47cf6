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
	"testing/iotest"

	"github.com/klauspost/compress/zstd"
	"pgregory.net/rapid"
)

// followed puts content with a follower that read reads.
func followed(t testing.TB, s *Store, content io.Reader, limit int64, read func(f *Follower) error) (ref Ref, failed, left error) {
	t.Helper()
	f := NewFollower()
	end := make(chan error)
	go func() {
		defer f.Close()
		end <- read(f)
	}()
	ref, failed = s.PutFollowed(context.Background(), content, limit, f)
	return ref, failed, <-end
}

func TestAFollowerReadsWhatIsStoredAndItsHash(t *testing.T) {
	s := open(t)
	rapid.Check(t, func(r *rapid.T) {
		content := bytes.Repeat(rapid.SliceOfN(rapid.Byte(), 1, 3000).Draw(r, "content"), rapid.IntRange(1, 1500).Draw(r, "times"))
		content = append([]byte("g"), content...)
		size := rapid.IntRange(1, 1<<20).Draw(r, "read at once")
		var got bytes.Buffer
		var sha string
		ref, err, left := followed(t, s, bytes.NewReader(content), 0, func(f *Follower) error {
			_, err := io.CopyBuffer(struct{ io.Writer }{&got}, struct{ io.Reader }{f}, make([]byte, size))
			sha = f.SHA256()
			return err
		})
		if err != nil || left != nil {
			t.Fatalf("stored: %v, followed: %v", err, left)
		}
		if !bytes.Equal(got.Bytes(), content) || sha != hashHex(content) || ref.SHA256 != sha {
			t.Fatalf("%d bytes with hash %s were followed, %d stored with %s", got.Len(), sha, len(content), ref.SHA256)
		}
		if !bytes.Equal(get(t, s, ref.SHA256), content) {
			t.Fatal("other bytes are stored")
		}
	})
}

func TestAFollowerIsToldThatTheContentDoesNotGoOn(t *testing.T) {
	text := strings.Repeat("goroutine 1 [running]:\n", 100_000)
	for name, tc := range map[string]struct {
		content io.Reader
		limit   int64
		stored  bool
	}{
		"when the content is stored as it came": {strings.NewReader("PK\x03\x04" + text), 0, true},
		"when the sender breaks off":            {io.MultiReader(strings.NewReader(text), iotest.ErrReader(errors.New("reset"))), 0, false},
		"when the limit is passed":              {strings.NewReader(text), 1 << 20, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			var sha string
			_, err, left := followed(t, s, tc.content, tc.limit, func(f *Follower) error {
				_, err := io.Copy(io.Discard, f)
				sha = f.SHA256()
				return err
			})
			if (err == nil) != tc.stored {
				t.Errorf("storing gave %v", err)
			}
			if !errors.Is(left, ErrLeft) || sha != "" {
				t.Errorf("the follower got %v and the hash %q", left, sha)
			}
		})
	}
}

func TestStoringFailsForAFollowerThatCannotBeginAtAll(t *testing.T) {
	s := open(t)
	s.create = func(string) (*os.File, error) { return nil, os.ErrPermission }
	_, err, left := followed(t, s, strings.NewReader("x"), 0, func(f *Follower) error {
		_, err := io.Copy(io.Discard, f)
		return err
	})
	if !errors.Is(err, os.ErrPermission) || !errors.Is(left, ErrLeft) {
		t.Errorf("stored: %v, followed: %v", err, left)
	}
}

func TestStoringGoesOnWithoutAFollower(t *testing.T) {
	content := bytes.Repeat([]byte("goroutine 1 [running]:\n"), 400_000) // more than all pieces hold
	for name, read := range map[string]func(f *Follower) error{
		"that never reads":          func(f *Follower) error { f.Leave(); return nil },
		"that leaves in the middle": func(f *Follower) error { io.CopyN(io.Discard, f, 1<<20); return f.Close() },
		"that is told to by others": func(f *Follower) error {
			io.CopyN(io.Discard, f, 1<<20)
			f.Leave()
			_, err := io.Copy(io.Discard, f)
			return err
		},
		"that is closed twice":          func(f *Follower) error { f.Close(); return f.Close() },
		"that reads a byte and no more": func(f *Follower) error { f.Read(make([]byte, 1)); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			ref, err, _ := followed(t, s, bytes.NewReader(content), 0, read)
			if err != nil || !bytes.Equal(get(t, s, ref.SHA256), content) {
				t.Errorf("storing gave %v", err)
			}
		})
	}
}

func TestAFollowerThatHangsIsLeftBehind(t *testing.T) {
	s := open(t)
	content := bytes.Repeat([]byte("goroutine 1 [running]:\n"), 400_000)
	stored := make(chan struct{})
	f := NewFollower()
	var ref Ref
	var err error
	go func() {
		defer close(stored)
		ref, err = s.PutFollowed(context.Background(), bytes.NewReader(content), 0, f)
	}()
	f.Read(make([]byte, 1)) // and then nothing, until all is stored
	<-stored
	if err != nil || !bytes.Equal(get(t, s, ref.SHA256), content) {
		t.Fatalf("storing gave %v", err)
	}
	if _, left := io.Copy(io.Discard, f); !errors.Is(left, ErrLeft) || f.SHA256() != "" {
		t.Errorf("the follower got %v and the hash %q", left, f.SHA256())
	}
}

// Whoever closes and reads on has missed something.
func TestAFollowerThatWasClosedGivesNothingMore(t *testing.T) {
	content := bytes.Repeat([]byte("goroutine 1 [running]:\n"), 75_000) // 1.7 MB: four pieces
	for name, read := range map[string]int64{"before it read": 0, "after it read some": 4096, "after a piece": followedSize + 1} {
		t.Run(name, func(t *testing.T) {
			s, f := open(t), NewFollower()
			if _, err := s.PutFollowed(t.Context(), bytes.NewReader(content), 0, f); err != nil {
				t.Fatal(err)
			}
			if f.Given() != hashHex(content) || f.SHA256() != "" {
				t.Errorf("before the end was read the hash is %q, given %q", f.SHA256(), f.Given())
			}
			if n, err := io.CopyN(io.Discard, f, read); n != read || err != nil {
				t.Fatal(n, err)
			}
			f.Close()
			if n, err := io.Copy(io.Discard, f); n > 0 || !errors.Is(err, ErrLeft) || f.SHA256() != "" {
				t.Errorf("it gave %d bytes more, %v, and the hash %q", n, err, f.SHA256())
			}
		})
	}
}

// Blobs were zstd once.
func TestBlobsOfOlderVersionsAreReadListedAndDeleted(t *testing.T) {
	s := open(t)
	content := bytes.Repeat([]byte("goroutine 1 [running]:\n"), 50_000)
	enc, err := zstd.NewWriter(nil, zstd.WithWindowSize(512<<10)) // as they were written
	if err != nil {
		t.Fatal(err)
	}
	sha := hashHex(content)
	path := filepath.Join(s.dir, sha[:2], sha+".zst")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, enc.EncodeAll(content, nil), 0o600); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(get(t, s, sha), content) {
		t.Error("other bytes came back")
	}
	if ref := put(t, s, content); ref.SHA256 != sha || len(files(t, s)) != 1 {
		t.Errorf("the same bytes are stored twice: %v", files(t, s))
	}
	if list, err := s.List(); err != nil || len(list) != 1 || list[0].SHA256 != sha {
		t.Errorf("listed: %v, %v", list, err)
	}
	// A version that does not know .zst, or .mz, keeps the same content once more.
	if err := os.WriteFile(s.path(sha, packed), []byte("twin"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Delete(sha); err != nil || s.Has(sha) || len(files(t, s)) > 0 {
		t.Errorf("after its deletion there is %v (%v)", files(t, s), err)
	}
}
