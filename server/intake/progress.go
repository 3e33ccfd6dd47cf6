package intake

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync/atomic"

	"leakdiff/analysis/read/bundle"
	"leakdiff/analysis/read/ingest"
	"leakdiff/analysis/say/wording"
	"leakdiff/store"
	"leakdiff/store/blob"
)

// Progress returns how far the reading of a bundle is: in words, and in bytes of the upload.
func (q *Queue) Progress(ctx context.Context, b store.Bundle) (text string, taken int64) {
	p, taken, reading := q.progress(ctx, b)
	switch {
	case reading:
		return progressText(p, taken, b.Size), taken
	case b.Status != store.Queued:
		return "", 0
	case b.Error != nil && b.Error.Code == "disk_full":
		return "was read; waits for room on the disk of this server, then it is read again and saved", 0
	case b.Error != nil && b.Error.Code == blob.Unreachable:
		return "waits until the place of the uploads answers, then it is read", 0
	}
	return "received, waiting for its turn", 0
}

// progress returns how far this server or another one has read a bundle, and whether one does.
func (q *Queue) progress(ctx context.Context, b store.Bundle) (p ingest.Progress, taken int64, reading bool) {
	r, p, _ := q.state(b.ID)
	switch {
	case r != nil:
		taken = r.taken.Load()
	case b.Status != store.Running:
		return p, 0, false
	default:
		said, err := q.elsewhere.Progress(ctx, b.ID)
		var other saidProgress
		if err != nil || json.Unmarshal([]byte(said), &other) != nil {
			return p, 0, false
		}
		p, taken = other.Progress, other.Taken
	}
	return p, min(taken, b.Size), true
}

// saidProgress is the progress that a server stores for the others.
type saidProgress struct {
	ingest.Progress
	Taken int64
}

// said is the stored progress of a reading.
func (r *reading) said() string {
	text, err := json.Marshal(saidProgress{r.progress, r.taken.Load()})
	if err != nil {
		return "" // numbers and a word always marshal
	}
	return string(text)
}

// progressText words a progress. Before the files are known it counts bytes: a file may be an
// archive of many.
func progressText(p ingest.Progress, taken, size int64) string {
	switch p.Stage {
	case "grouping", "saving", "done":
		return p.Text()
	}
	text := ""
	if size > 0 && taken > 0 {
		text = fmt.Sprintf("%d %% of %s read: ", taken*100/size, wording.Bytes(size))
	}
	return text + p.Text()
}

// counted counts the bytes that are read of the inputs.
func (r *reading) counted(inputs []bundle.Input) {
	for i := range inputs {
		open := inputs[i].Open
		inputs[i].Open = func() (io.ReadCloser, error) {
			in, err := open()
			if err != nil {
				r.note(err)
				return nil, err
			}
			if placed, ok := in.(placedReader); ok {
				return &countingPlaced{placed, &r.taken}, nil
			}
			return &counting{in, r}, nil
		}
	}
}

// note keeps an error that says that bytes cannot be reached for now. Parsers take it for the
// end of a file.
func (r *reading) note(err error) {
	if store.IsUnreachable(err) || isBusy(err) {
		r.unreachable.Store(&err)
	}
}

type counting struct {
	io.ReadCloser
	reading *reading
}

func (c *counting) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.reading.taken.Add(int64(n))
	c.reading.note(err)
	return n, err
}

// placedReader is an input in which a zip archive is read in place.
type placedReader interface {
	io.ReadCloser
	io.ReaderAt
	io.Seeker
}

type countingPlaced struct {
	placedReader
	taken *atomic.Int64
}

func (c *countingPlaced) Read(p []byte) (int, error) {
	n, err := c.placedReader.Read(p)
	c.taken.Add(int64(n))
	return n, err
}

func (c *countingPlaced) ReadAt(p []byte, off int64) (int, error) {
	n, err := c.placedReader.ReadAt(p, off)
	c.taken.Add(int64(n))
	return n, err
}
