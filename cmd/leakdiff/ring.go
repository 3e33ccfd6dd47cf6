package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/read/bundle"
	"leakdiff/analysis/read/ingest"
	"leakdiff/analysis/say/report"
	"leakdiff/cmd/leakdiff/capture"
)

// ring is a directory of captures, each a part of one archive (capture.JoinParts), in the
// order of their times. Nothing of them is in memory: a report reads all of them.
type ring struct {
	dir      string
	captures []captured
}

// captured is one round on disk.
type captured struct {
	name string
	at   time.Time
	size int64
}

// capturedName is the name of a capture as a layout of time.
const capturedName = "20060102T150405.000Z.tar.gz"

// openRing makes the directory, or lists the captures in it. What a killed program had begun
// is removed.
func openRing(dir string) (*ring, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	r := &ring{dir: dir}
	for _, e := range entries {
		name, begun := strings.CutSuffix(e.Name(), ".partial")
		at, err := time.Parse(capturedName, name)
		if err != nil {
			continue
		}
		if begun {
			if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
				return nil, err
			}
			continue
		}
		info, err := e.Info()
		if err != nil {
			return nil, err
		}
		r.captures = append(r.captures, captured{e.Name(), at, info.Size()})
	}
	return r, nil
}

// add captures a round. A round without any process leaves no file.
func (r *ring) add(ctx context.Context, s *capture.Session, at time.Time) (capture.Summary, error) {
	at = at.UTC().Truncate(time.Millisecond)
	if n := len(r.captures); n > 0 && !at.After(r.captures[n-1].at) { // the clock was set back
		at = r.captures[n-1].at.Add(time.Millisecond)
	}
	name := at.Format(capturedName)
	part, err := capture.NewPart(filepath.Join(r.dir, name))
	if err != nil {
		return capture.Summary{}, err
	}
	sum, err := s.Round(ctx, part)
	if err != nil || sum.Rounds == 0 {
		part.Discard()
		return sum, err
	}
	if err := part.Close(); err != nil {
		part.Discard()
		return sum, err
	}
	r.captures = append(r.captures, captured{name, at, part.Size()})
	return sum, nil
}

// size is how many bytes the captures take.
func (r *ring) size() int64 {
	var n int64
	for _, c := range r.captures {
		n += c.size
	}
	return n
}

func (r *ring) path(c captured) string { return filepath.Join(r.dir, c.name) }

// remove drops the capture at a place.
func (r *ring) remove(i int) error {
	err := os.Remove(r.path(r.captures[i]))
	r.captures = slices.Delete(r.captures, i, i+1)
	return err
}

// thin drops captures until the others are within both bounds. The first and the last stay,
// and of the others those whose neighbours are furthest apart.
func (r *ring) thin(most int, bytes int64) (dropped int, err error) {
	for len(r.captures) > 2 && (len(r.captures) > most || r.size() > bytes) {
		drop, gap := 0, time.Duration(0)
		for i := 1; i < len(r.captures)-1; i++ {
			if g := r.captures[i+1].at.Sub(r.captures[i-1].at); drop == 0 || g < gap {
				drop, gap = i, g
			}
		}
		if err := r.remove(drop); err != nil {
			return dropped, err
		}
		dropped++
	}
	return dropped, nil
}

// evict drops the oldest captures until the others are within both bounds. The last one stays,
// and so do those that are pinned.
func (r *ring) evict(most int, bytes int64, pinned func(captured) bool) error {
	for len(r.captures) > most || r.size() > bytes {
		oldest := slices.IndexFunc(r.captures, func(c captured) bool { return !pinned(c) })
		if oldest < 0 || oldest == len(r.captures)-1 {
			return nil
		}
		if err := r.remove(oldest); err != nil {
			return err
		}
	}
	return nil
}

// input is the captures as one archive with a name.
func (r *ring) input(name string) bundle.Input {
	captures := slices.Clone(r.captures)
	return bundle.Input{Name: name, Size: -1, Open: func() (io.ReadCloser, error) {
		files := &openFiles{}
		parts := make([]io.Reader, 0, len(captures))
		for _, c := range captures {
			f, err := os.Open(r.path(c))
			if err != nil {
				return nil, errors.Join(err, files.Close())
			}
			files.files = append(files.files, f)
			part, err := capture.PartOf(f)
			if err != nil {
				return nil, errors.Join(err, files.Close())
			}
			parts = append(parts, part)
		}
		files.Reader = capture.JoinParts(parts...)
		return files, nil
	}}
}

type openFiles struct {
	io.Reader
	files []*os.File
}

func (o *openFiles) Close() error {
	var err error
	for _, f := range o.files {
		err = errors.Join(err, f.Close())
	}
	return err
}

// report is what `leakdiff report` says of the captures.
func (r *ring) report(ctx context.Context, name string) (report.Case, error) {
	result, err := ingest.Run(ctx, ingest.Config{Bundle: bundle.Config{TempDir: os.TempDir()}, Packed: true, Objects: true}, []bundle.Input{r.input(name)})
	if err != nil {
		return report.Case{}, err
	}
	nameUpload(result.Snapshots, []string{name})
	return report.Build(result.Snapshots, result.Problems, report.Options{Version: version}), nil
}

// write writes the captures as one archive to w and removes them.
func (r *ring) write(w io.Writer) error {
	for len(r.captures) > 0 {
		f, err := os.Open(r.path(r.captures[0]))
		if err != nil {
			return err
		}
		part, err := capture.PartOf(f)
		if err == nil {
			_, err = io.Copy(w, part)
		}
		f.Close()
		if err == nil {
			// At most one capture stands on the disk twice.
			err = r.remove(0)
		}
		if err != nil {
			return err
		}
	}
	_, err := io.Copy(w, capture.JoinParts())
	return err
}

// save writes the captures as one archive under a name and removes the directory. While it
// writes, the file is NAME.partial.
func (r *ring) save(name string) (size int64, err error) {
	f, err := os.OpenFile(name+".partial", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, err
	}
	err = r.write(f)
	if info, e := f.Stat(); e == nil {
		size = info.Size()
	}
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return 0, fmt.Errorf("%s.partial and %s: %w", name, r.dir, err)
	}
	return size, errors.Join(os.Rename(name+".partial", name), os.Remove(r.dir))
}

// diskFault is an error of a file that a capture writes.
func diskFault(where string, err error) error {
	return &analysis.Fault{Code: "disk_full", What: "the captures could not be written", Where: where, Why: err.Error(), Hint: "name a directory on a disk with room, that you may write to; what was written stays there", Err: err}
}
