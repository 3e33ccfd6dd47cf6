package blob_test

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
	"strings"
	"testing"
	"time"

	"leakdiff/analysis"
	"leakdiff/internal/test/gateway"
	"leakdiff/store/blob"
)

var quiet = slog.New(slog.DiscardHandler)

// place is a Store with what a test needs of the place behind it.
type place struct {
	blob.Store
	// again is the same place for a process that knows nothing of it yet.
	again func() blob.Store
	// file is the file that has stored content.
	file func(name blob.Name) string
}

func directoryAt(t *testing.T) place {
	dir := filepath.Join(t.TempDir(), "blobs")
	open := func() blob.Store {
		d, err := blob.OpenDirectory(blob.Config{Dir: dir, Log: quiet})
		ok(t, err)
		return d
	}
	return place{open(), open, func(name blob.Name) string {
		found, _ := filepath.Glob(filepath.Join(dir, name.SHA256[:2], name.SHA256+".*"))
		return found[0]
	}}
}

func bucketAt(t *testing.T, server *gateway.Server) place {
	address := server.Bucket(t)
	open := func() blob.Store { return openBucket(t, address) }
	return place{open(), open, func(name blob.Name) string { return server.Files(t, address)[name.Object] }}
}

func openBucket(t *testing.T, address string) *blob.Bucket {
	t.Helper()
	b, err := blob.OpenBucket(t.Context(), blob.BucketConfig{Address: address, Log: quiet, Owner: "tests"})
	ok(t, err)
	t.Cleanup(b.Close)
	return b
}

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func put(t *testing.T, s blob.Store, content []byte) blob.Ref {
	t.Helper()
	ref, err := s.Put(t.Context(), bytes.NewReader(content), 0)
	ok(t, err)
	return ref
}

func get(t *testing.T, s blob.Store, name blob.Name) ([]byte, error) {
	t.Helper()
	r, err := s.Open(t.Context(), name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r)
}

func code(err error) string {
	var fault *analysis.Fault
	if errors.As(err, &fault) {
		return fault.Code
	}
	return ""
}

func hashOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// noise cannot be compressed.
func noise(n int) []byte {
	out := make([]byte, n)
	rand.NewChaCha8([32]byte{9}).Read(out)
	return out
}

func zipped(content []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	w.Write(content)
	w.Close()
	return out.Bytes()
}

func TestAStoreKeepsContents(t *testing.T) {
	server := gateway.Start(t)
	for name, open := range map[string]func(t *testing.T) place{
		"in a directory": directoryAt,
		"in a bucket":    func(t *testing.T) place { return bucketAt(t, server) },
	} {
		t.Run(name, func(t *testing.T) {
			for said, proof := range map[string]func(*testing.T, place){
				"and gives back what it took":      givesBackWhatItTook,
				"and nothing of a refused upload":  keepsNothingOfARefusedUpload,
				"and finds damage":                 findsDamage,
				"until they are deleted":           keepsThemUntilTheyAreDeleted,
				"and says what it does not have":   saysWhatItDoesNotHave,
				"and reads until its context ends": readsUntilItsContextEnds,
			} {
				t.Run(said, func(t *testing.T) { proof(t, open(t)) })
			}
		})
	}
}

func givesBackWhatItTook(t *testing.T, s place) {
	dump := []byte(strings.Repeat("goroutine 1 [running]:\nmain.main()\n", 5000))
	for name, content := range map[string][]byte{
		"an empty upload":         {},
		"one byte":                {'x'},
		"a dump":                  dump,
		"an archive":              zipped(dump),
		"a part":                  noise(5 << 20),
		"several parts":           noise(11<<20 + 1),
		"an archive in two parts": zipped(noise(6 << 20)),
	} {
		ref := put(t, s, content)
		if ref.SHA256 != hashOf(content) || ref.Size != int64(len(content)) {
			t.Errorf("%s: it was stored as %+v", name, ref)
		}
		info, err := os.Stat(s.file(ref.Name))
		ok(t, err)
		if info.Size() != ref.Stored || name == "a dump" && ref.Stored > ref.Size/20 {
			t.Errorf("%s: %d of %d bytes are said to be stored, it is %d", name, ref.Stored, ref.Size, info.Size())
		}
		for _, from := range []blob.Store{s, s.again()} {
			got, err := get(t, from, ref.Name)
			if err != nil || !bytes.Equal(got, content) {
				t.Errorf("%s: got %d other bytes than the %d put (%v)", name, len(got), len(content), err)
			}
			ok(t, from.Look(t.Context(), ref.Name))
			ok(t, from.Verify(t.Context(), ref.Name))
		}
	}
}

func keepsNothingOfARefusedUpload(t *testing.T, s place) {
	boom := errors.New("the sender left")
	for _, size := range []int{10, 7 << 20} {
		_, err := s.Put(t.Context(), io.MultiReader(bytes.NewReader(noise(size)), &failing{boom}), 0)
		if !errors.Is(err, boom) {
			t.Errorf("got %v, want the error of the reader", err)
		}
		if _, err := s.Put(t.Context(), bytes.NewReader(noise(size)), int64(size)-1); code(err) != "too_large" {
			t.Errorf("got %v for an upload over the limit", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		_, err = s.Put(ctx, io.MultiReader(bytes.NewReader(noise(size)), calling(cancel), strings.NewReader("more")), 0)
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want the error of the context", err)
		}
	}
}

type failing struct{ err error }

func (f *failing) Read([]byte) (int, error) { return 0, f.err }

// calling is an empty reader that calls a function.
type calling func()

func (c calling) Read([]byte) (int, error) {
	c()
	return 0, io.EOF
}

func findsDamage(t *testing.T, s place) {
	dump := []byte(strings.Repeat("goroutine 1 [running]:\nmain.main()\n", 5000))
	for name, content := range map[string][]byte{"a dump": dump, "an archive": zipped(dump)} {
		for how, damage := range map[string]func(path string){
			"cut": func(path string) { ok(t, os.Truncate(path, 20)) },
			"written to": func(path string) {
				old, err := os.ReadFile(path)
				ok(t, err)
				old[len(old)-3] ^= 1
				ok(t, os.WriteFile(path, old, 0o600))
			},
		} {
			ref := put(t, s, content)
			damage(s.file(ref.Name))
			fresh := s.again()
			if _, err := get(t, fresh, ref.Name); code(err) != blob.Damaged {
				t.Errorf("%s, %s: reading it gave %v", name, how, err)
			}
			if err := fresh.Verify(t.Context(), ref.Name); code(err) != blob.Damaged {
				t.Errorf("%s, %s: verifying it gave %v", name, how, err)
			}
			again := put(t, s.again(), content)
			if got, err := get(t, s.again(), again.Name); err != nil || !bytes.Equal(got, content) {
				t.Errorf("%s, %s: the same upload did not put it back: %v", name, how, err)
			}
			ok(t, s.Delete(t.Context(), ref.Name))
		}
	}
}

func keepsThemUntilTheyAreDeleted(t *testing.T, s place) {
	kept, gone := put(t, s, []byte("kept")), put(t, s, []byte("gone"))
	for range 2 {
		ok(t, s.Delete(t.Context(), gone.Name))
	}
	if _, err := get(t, s, gone.Name); code(err) != "not_found" {
		t.Errorf("reading what was deleted gave %v", err)
	}
	ok(t, s.Verify(t.Context(), kept.Name))
}

func saysWhatItDoesNotHave(t *testing.T, s place) {
	for _, name := range []blob.Name{
		{SHA256: hashOf([]byte("never")), Object: "00/00000000000000000000000000000000.raw"},
		{SHA256: hashOf([]byte("never"))},
		{SHA256: "../../etc/passwd"},
		{},
	} {
		_, err := get(t, s, name)
		for what, err := range map[string]error{"opening": err, "verifying": s.Verify(t.Context(), name), "looking for": s.Look(t.Context(), name)} {
			if code(err) != "not_found" {
				t.Errorf("%s %+v gave %v", what, name, err)
			}
		}
	}
}

func readsUntilItsContextEnds(t *testing.T, s place) {
	ref := put(t, s, noise(6<<20))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.again().Verify(ctx, ref.Name); !errors.Is(err, context.Canceled) {
		t.Errorf("verifying gave %v", err)
	}
	ok(t, s.again().Verify(t.Context(), ref.Name))
}

func TestABucketBehindABadNetwork(t *testing.T) {
	server := gateway.Start(t)
	address := server.Bucket(t)
	b := openBucket(t, address)
	content := noise(6 << 20)
	ref := put(t, b, content)
	small := put(t, b, []byte("small"))
	fresh := func() *blob.Bucket { return openBucket(t, address) }

	t.Run("goes on reading where a connection was cut", func(t *testing.T) {
		b := fresh()
		server.Cut(4 << 20)
		defer server.Pass()
		got, err := get(t, b, ref.Name)
		if err != nil || !bytes.Equal(got, content) {
			t.Errorf("got %d bytes of %d, %v", len(got), len(content), err)
		}
	})
	t.Run("says so where it cannot be reached", func(t *testing.T) {
		b := fresh()
		server.Refuse()
		defer server.Pass()
		_, reading := get(t, b, ref.Name)
		_, storing := b.Put(t.Context(), bytes.NewReader(content), 0)
		for what, err := range map[string]error{
			"reading": reading, "storing": storing, "verifying": b.Verify(t.Context(), ref.Name), "looking": b.Look(t.Context(), ref.Name),
			"deleting": b.Delete(t.Context(), small.Name), "asking": b.Ping(t.Context()),
		} {
			if code(err) != blob.Unreachable || strings.Contains(err.Error(), server.Address()) {
				t.Errorf("%s gave %v", what, err)
			}
		}
	})
	t.Run("takes nothing for damage that is none", func(t *testing.T) {
		b := fresh()
		for range 12 {
			server.Cut(rand.Int64N(7 << 20))
			if _, err := get(t, b, ref.Name); err != nil && code(err) != blob.Unreachable {
				t.Errorf("reading gave %v", err)
			}
			stored, err := b.Put(t.Context(), bytes.NewReader(content), 0)
			server.Pass()
			if err != nil && code(err) != blob.Unreachable {
				t.Errorf("storing gave %v", err)
			}
			if err == nil {
				ok(t, fresh().Verify(t.Context(), stored.Name))
			}
		}
		if n := b.Damaged(); n > 0 {
			t.Errorf("%d objects are said to be damaged", n)
		}
		ok(t, b.Verify(t.Context(), ref.Name))
		ok(t, b.Ping(t.Context()))
	})
}

func TestABucketListsWhatItsServersWrote(t *testing.T) {
	server := gateway.Start(t)
	address := server.Bucket(t)
	b := openBucket(t, address)
	want := map[string]bool{}
	for _, content := range []string{"one", "two", "three"} {
		want[put(t, b, []byte(content)).Object] = true
	}
	// A server that dies in the middle of an upload leaves its parts.
	dying, die := context.WithCancelCause(t.Context())
	_, err := b.Put(dying, io.MultiReader(bytes.NewReader(zipped(noise(6<<20))), calling(func() {
		server.Refuse()
		die(errors.New("killed"))
	}), strings.NewReader("more")), 0)
	server.Pass()
	if err == nil {
		t.Fatal("the upload was stored")
	}
	list := func(owner string, before time.Time) map[string]bool {
		t.Helper()
		found := map[string]bool{}
		err := b.Objects(t.Context(), owner, before, func(objects []string) error {
			for _, object := range objects {
				found[object] = true
			}
			return nil
		})
		if owner == "another" {
			if code(err) != "foreign_bucket" {
				t.Errorf("listing those of another database gave %v", err)
			}
			return found
		}
		ok(t, err)
		return found
	}
	later, earlier := time.Now().Add(time.Hour), time.Now().Add(-time.Hour)
	if found := list("tests", later); len(found) != len(want) {
		t.Errorf("listed are %v, want %v", found, want)
	}
	if found := list("tests", earlier); len(found) > 0 {
		t.Errorf("older than an hour are %v", found)
	}
	if found := list("another", later); len(found) > 0 {
		t.Errorf("another database is told of %v", found)
	}
	for _, c := range []struct {
		before time.Time
		want   int
	}{{earlier, 0}, {later, 1}, {later, 0}} {
		n, err := b.AbortUploads(t.Context(), c.before)
		if ok(t, err); n != c.want {
			t.Errorf("%d unfinished uploads were ended, want %d", n, c.want)
		}
	}
}

func TestABucketThatCannotBeUsedSaysWhatToDo(t *testing.T) {
	server := gateway.Start(t)
	good := server.Bucket(t)
	openBucket(t, good)
	for name, c := range map[string]struct{ address, owner, secret, code, says string }{
		"no such bucket":               {strings.Replace(good, "s3://made", "s3://none", 1), "tests", "", blob.Unreachable, "Create the bucket"},
		"nobody there":                 {strings.Replace(good, server.Address(), "127.0.0.1:1", 1), "tests", "", blob.Unreachable, "reached"},
		"a wrong password":             {good, "tests", "wrong", blob.Unreachable, "AWS_SECRET_ACCESS_KEY"},
		"the uploads of another":       {good, "another", "", "foreign_bucket", "another prefix"},
		"a password in the address":    {"s3://key:hidden@bucket/p", "tests", "", "bad_request", "environment"},
		"another scheme":               {"https://bucket/p", "tests", "", "bad_request", "s3://bucket/prefix"},
		"no bucket":                    {"s3:///p", "tests", "", "bad_request", "s3://bucket/prefix"},
		"a word that means nothing":    {"s3://bucket/p?tls=no", "tests", "", "bad_request", "endpoint, region and style"},
		"a style that means nothing":   {"s3://bucket/p?style=new", "tests", "", "bad_request", "path nor host"},
		"an endpoint with a directory": {"s3://bucket/p?endpoint=http://host/x", "tests", "", "bad_request", "endpoint"},
	} {
		t.Run(name, func(t *testing.T) {
			if c.secret != "" {
				t.Setenv("AWS_SECRET_ACCESS_KEY", c.secret)
			}
			_, err := blob.OpenBucket(t.Context(), blob.BucketConfig{Address: c.address, Log: quiet, Owner: c.owner})
			var fault *analysis.Fault
			if !errors.As(err, &fault) || fault.Code != c.code || fault.What == "" || fault.Where == "" || fault.Why == "" || !strings.Contains(fault.Error(), c.says) {
				t.Errorf("got %v", err)
			}
			if err != nil && strings.Contains(err.Error(), "hidden") {
				t.Errorf("it repeats the password: %v", err)
			}
		})
	}
	t.Run("no credentials", func(t *testing.T) {
		for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"} {
			t.Setenv(name, "")
		}
		t.Setenv("HOME", t.TempDir())
		t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
		_, err := blob.OpenBucket(t.Context(), blob.BucketConfig{Address: good, Log: quiet, Owner: "tests"})
		if code(err) != "no_credentials" {
			t.Errorf("got %v", err)
		}
	})
}
