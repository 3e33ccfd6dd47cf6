package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"

	"leakdiff/analysis/read/bundle"
	"leakdiff/analysis/read/ingest"
	"leakdiff/server"
	"leakdiff/store"
)

// writeProfiles leaves files for `go tool pprof`: the processor time of parsing and
// grouping in memory (parse.cpu), of one upload from its bytes to the database
// (ingest.cpu) and of the page that compares two snapshots (diff.cpu), and what is in
// use when all of the upload has been read (ingest-read.heap) and when its families
// have been formed (ingest-grouped.heap).
func writeProfiles(s *suite, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	text, err := printed(dumpConfig{Goroutines: s.size.parsed, Stacks: fewStacks, Seed: 1})
	if err != nil {
		return err
	}
	err = profiled(filepath.Join(dir, "parse.cpu"), func() error {
		for range 4 * s.size.rounds {
			if _, err := ours(bytes.NewReader(text)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	if err := profileIngest(s, dir, work); err != nil {
		return err
	}
	return profileDiff(s, dir, work)
}

func profiled(path string, work func() error) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := pprof.StartCPUProfile(f); err != nil {
		return err
	}
	defer pprof.StopCPUProfile()
	return work()
}

// profileIngest takes the way of the server without its HTTP: blob, job, ingest,
// database.
func profileIngest(s *suite, dir, work string) error {
	ctx := context.Background()
	runtime.MemProfileRate = 16 << 10
	path := filepath.Join(work, "dump.txt")
	if _, err := printFile(path, dumpConfig{Goroutines: s.size.uploaded, Stacks: fewStacks, Seed: 1}); err != nil {
		return err
	}
	st, err := store.Open(ctx, store.Config{Dir: filepath.Join(work, "data")})
	if err != nil {
		return err
	}
	defer st.Close()
	heap := func(name string) error {
		runtime.GC()
		f, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		defer f.Close()
		return pprof.Lookup("heap").WriteTo(f, 0)
	}
	return profiled(filepath.Join(dir, "ingest.cpu"), func() error {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		ref, err := st.Blobs().Put(ctx, f, 0)
		if err != nil {
			return err
		}
		_, b, _, err := st.OpenCase(ctx, "profile", "", "dump.txt", []store.File{{Name: "dump.txt", SHA256: ref.SHA256, Size: ref.Size}})
		if err != nil {
			return err
		}
		job, claimed, err := st.ClaimJob(ctx)
		if err != nil || !claimed || job.BundleID != b.ID {
			return fmt.Errorf("claiming the job: %v, %v", claimed, err)
		}
		var failed error
		progress := func(p ingest.Progress) {
			if p.Stage == "grouping" && failed == nil {
				failed = heap("ingest-read.heap")
			}
		}
		input := bundle.Input{Name: "dump.txt", Size: ref.Size, Open: func() (io.ReadCloser, error) { return st.Blobs().Open(ctx, ref.SHA256) }}
		result, err := ingest.Run(ctx, ingest.Config{Progress: progress, Packed: true, SHA256: func() string { return ref.SHA256 }}, []bundle.Input{input})
		if err != nil || failed != nil {
			return fmt.Errorf("ingest: %v, %v", err, failed)
		}
		if err := heap("ingest-grouped.heap"); err != nil {
			return err
		}
		return st.FinishJob(ctx, job, store.Result{
			Artifacts: result.Artifacts, Problems: result.Problems, Snapshots: result.Snapshots, Unpacked: result.Unpacked, Engine: ingest.Engine,
		})
	})
}

// profileDiff serves the page in this process, since the program has no profiler of
// its own.
func profileDiff(s *suite, dir, work string) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	st, err := store.Open(ctx, store.Config{Dir: filepath.Join(work, "pages")})
	if err != nil {
		return err
	}
	defer st.Close()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	address := listener.Addr().String()
	app := server.New(server.Config{Store: st, Blobs: st.Blobs(), Log: slog.New(slog.DiscardHandler), Listen: address, TempDir: work, UploadLimit: 1 << 30})
	app.Start(ctx)
	web := &http.Server{Handler: app.Handler()}
	go web.Serve(listener)
	srv := &serving{url: "http://" + address}
	page, err := twoSnapshots(srv)
	if err == nil {
		err = profiled(filepath.Join(dir, "diff.cpu"), func() error {
			_, _, err := askAnew(srv, page, s.size.requests)
			return err
		})
	}
	web.Close()
	cancel()
	app.Wait()
	return err
}
