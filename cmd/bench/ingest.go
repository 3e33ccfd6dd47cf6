package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"leakdiff/store/blob"
)

const mebi = 1 << 20

// measureIngest uploads one large dump as raw text, .gz and .zst, each to a server
// of its own, from the first byte sent to the answer that names the snapshot.
func measureIngest(s *suite) error {
	dir, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	binary, err := program(dir)
	if err != nil {
		return err
	}
	raw := filepath.Join(dir, "dump.txt")
	size, err := printFile(raw, dumpConfig{Goroutines: s.size.uploaded, Stacks: fewStacks, Seed: 1})
	if err != nil {
		return err
	}
	empty, err := emptyDatabase(binary, dir)
	if err != nil {
		return err
	}
	s.note("The dump of %d goroutines has %.0f MB.", s.size.uploaded, float64(size)/1e6)
	want, err := peersOf(raw)
	if err != nil {
		return err
	}
	for _, form := range []string{"raw", ".gz", ".zst"} {
		path := raw
		if form != "raw" {
			if path, err = packed(raw, form); err != nil {
				return err
			}
		}
		var all uploads
		for range uploadRounds {
			run, err := ingest1(binary, filepath.Join(dir, "data"), path, want, empty)
			if err != nil {
				return fmt.Errorf("%s: %w", form, err)
			}
			all = append(all, run)
		}
		all.report(s, form)
		if form == "raw" {
			grown := all[0].grown(size)
			s.add(row2(fmt.Sprintf("database growth, %d goroutines", s.size.uploaded), fmt.Sprintf("%.3f %% of raw", grown), grown, below(1, " %")))
		}
	}
	return realGrowth(s, binary, dir, empty)
}

// uploadRounds is how often a dump is uploaded and its bound measured, in turns.
const uploadRounds = 3

// uploads are those of one file.
type uploads []ingestRun

// ingestRun is one upload.
type ingestRun struct {
	wall, busy time.Duration
	peak       int64
	database   int64 // growth in bytes
	bound      bound
}

func (r ingestRun) grown(raw int64) float64 { return 100 * float64(r.database) / float64(raw) }

// report adds the rows of one file: medians of the times, the largest of the peaks.
func (u uploads) report(s *suite, form string) {
	var walls, bounds, reads, writes, keeps series
	busy, peak := time.Duration(0), int64(0)
	for _, r := range u {
		walls, bounds = append(walls, r.wall), append(bounds, r.bound.sum())
		reads, writes, keeps = append(reads, r.bound.read), append(writes, r.bound.write), append(keeps, r.bound.keep)
		busy, peak = busy+r.busy, max(peak, r.peak)
	}
	target := 2.0
	if form == "raw" {
		target = 3 // nothing is unpacked here, so that packing for the store weighs more
	}
	what := fmt.Sprintf("upload to queryable, %d goroutines, %s", s.size.uploaded, form)
	s.add(row{
		what: what, ours: fmt.Sprintf("%s, %.1f cores", rounded(walls.median()), busy.Seconds()/walls.sum().Seconds()),
		bound: rounded(bounds.median()),
	}.judged(ratio(walls, bounds), atMost(target)))
	mib := float64(peak) / mebi
	s.add(row2("  peak memory of the server without its program's file", fmt.Sprintf("%.1f MiB", mib), mib, below(96, " MiB")))
	s.note("The bound of %s is decompression and SHA-256 %s, write and fsync of the stored %.1f MB %s; keeping it as the store does takes %s.",
		form, rounded(reads.median()), float64(u[0].bound.stored)/1e6, rounded(writes.median()), rounded(keeps.median()))
}

// ingest1 uploads a file to a fresh server and then measures the bound on the same
// file. The answer and the families that are then served must be those wanted.
func ingest1(binary, data, path string, want families, empty int64) (run ingestRun, err error) {
	srv, err := serve(binary, data)
	if err != nil {
		return run, err
	}
	began := time.Now()
	up, err := srv.putFile(path)
	run.wall = time.Since(began)
	if err != nil {
		srv.stop()
		return run, err
	}
	if run.busy, err = srv.busy(); err == nil {
		run.peak, err = srv.peak()
	}
	if err == nil {
		err = srv.serves(up, want)
	}
	if stopped := srv.stop(); err == nil {
		err = stopped
	}
	if err != nil {
		return run, err
	}
	if run.database, err = databaseSize(data); err != nil {
		return run, err
	}
	run.database -= empty
	run.bound, err = measureBound(data, path)
	return run, errors.Join(err, os.RemoveAll(data))
}

// peersOf are the families of a dump in a file by the peer.
func peersOf(path string) (families, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return peers(f)
}

// bound is what no server that keeps the upload can do without.
type bound struct {
	// read is decompressing the upload and hashing what comes out, write is one
	// write with fsync of what the server stored.
	read, write time.Duration
	stored      int64
	// keep is what the store takes for an upload, which it hashes as it comes, packs
	// where it is raw text, and writes; it is not part of the bound.
	keep time.Duration
}

func (b bound) sum() time.Duration { return b.read + b.write }

func measureBound(data, path string) (b bound, err error) {
	began := time.Now()
	if err := eachByte(path, sha256.New()); err != nil {
		return b, err
	}
	b.read = time.Since(began)
	blob, err := largestBlob(filepath.Join(data, "blobs"))
	if err != nil {
		return b, err
	}
	stored, err := os.ReadFile(blob)
	if err != nil {
		return b, err
	}
	b.stored = int64(len(stored))
	began = time.Now()
	f, err := os.Create(filepath.Join(data, "written"))
	if err != nil {
		return b, err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	if _, err := f.Write(stored); err != nil {
		return b, err
	}
	if err := f.Sync(); err != nil {
		return b, err
	}
	b.write = time.Since(began)
	b.keep, err = keepAgain(filepath.Join(data, "again"), path)
	return b, err
}

// keepAgain is the time in which the store keeps a file.
func keepAgain(dir, path string) (time.Duration, error) {
	st, err := blob.OpenDirectory(blob.Config{Dir: dir, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return 0, err
	}
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	began := time.Now()
	_, err = st.Put(context.Background(), f, 0)
	return time.Since(began), err
}

// eachByte decompresses a file into w, with the libraries of the product on one
// core.
func eachByte(path string, w io.Writer) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	var r io.Reader = f
	switch filepath.Ext(path) {
	case ".gz":
		if r, err = gzip.NewReader(f); err != nil {
			return err
		}
	case ".zst":
		z, err := zstd.NewReader(f, zstd.WithDecoderConcurrency(1))
		if err != nil {
			return err
		}
		defer z.Close()
		r = z
	}
	_, err = io.CopyBuffer(struct{ io.Writer }{w}, struct{ io.Reader }{r}, make([]byte, 128<<10))
	return err
}

// packed compresses a file beside it, as gzip and zstd do by default.
func packed(path, ext string) (string, error) {
	in, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer in.Close()
	out, err := os.Create(path + ext)
	if err != nil {
		return "", err
	}
	defer out.Close()
	var w io.WriteCloser
	switch ext {
	case ".gz":
		w = gzip.NewWriter(out)
	case ".zst":
		if w, err = zstd.NewWriter(out, zstd.WithEncoderLevel(zstd.SpeedDefault)); err != nil {
			return "", err
		}
	}
	if _, err := io.Copy(w, in); err != nil {
		return "", err
	}
	return out.Name(), w.Close()
}

// printFile writes a dump to a file and returns its size.
func printFile(path string, c dumpConfig) (int64, error) {
	d, err := newDump(c)
	if err != nil {
		return 0, err
	}
	f, err := os.Create(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	return io.CopyBuffer(struct{ io.Writer }{f}, d, make([]byte, 1<<20))
}

// emptyDatabase is the size of a database in which nothing is.
func emptyDatabase(binary, dir string) (int64, error) {
	data := filepath.Join(dir, "empty")
	srv, err := serve(binary, data)
	if err != nil {
		return 0, err
	}
	if err := srv.stop(); err != nil {
		return 0, err
	}
	return databaseSize(data)
}

func databaseSize(data string) (size int64, err error) {
	files, err := filepath.Glob(filepath.Join(data, "leakdiff.db*"))
	if err != nil || len(files) == 0 {
		return 0, fmt.Errorf("no database in %s: %v", data, err)
	}
	for _, f := range files {
		info, err := os.Stat(f)
		if err != nil {
			return 0, err
		}
		size += info.Size()
	}
	return size, nil
}

func largestBlob(dir string) (largest string, err error) {
	size := int64(-1)
	err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err == nil && info.Size() > size {
			largest, size = path, info.Size()
		}
		return err
	})
	if err == nil && largest == "" {
		err = fmt.Errorf("no blob in %s", dir)
	}
	return largest, err
}

// realGrowth is the growth of the database by a real dump of over 100 MB, where
// the corpus is present.
func realGrowth(s *suite, binary, dir string, empty int64) error {
	const what = "database growth, real SIGQUIT dump of 100,305 goroutines"
	path := filepath.Join(os.Getenv("LEAKDIFF_CORPUS"), "large", "grpc-100k-SIGQUIT.log.gz")
	if os.Getenv("LEAKDIFF_CORPUS") == "" {
		path = filepath.Join("..", "..", "..", "..", "shared", "corpus", "large", "grpc-100k-SIGQUIT.log.gz")
	}
	if _, err := os.Stat(path); err != nil {
		s.note("%s was not measured: the corpus is not present (LEAKDIFF_CORPUS).", what)
		return nil
	}
	size := new(counting)
	if err := eachByte(path, size); err != nil {
		return err
	}
	srv, err := serve(binary, filepath.Join(dir, "real"))
	if err != nil {
		return err
	}
	_, err = srv.putFile(path)
	if stopped := srv.stop(); err == nil {
		err = stopped
	}
	if err != nil {
		return err
	}
	database, err := databaseSize(filepath.Join(dir, "real"))
	if err != nil {
		return err
	}
	grown := 100 * float64(database-empty) / float64(size.n)
	s.add(row2(what, fmt.Sprintf("%.3f %% of raw", grown), grown, below(0.1, " %")))
	return nil
}

// counting counts what is written to it.
type counting struct{ n int64 }

func (c *counting) Write(p []byte) (int, error) {
	c.n += int64(len(p))
	return len(p), nil
}
