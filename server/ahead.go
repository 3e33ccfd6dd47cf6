package server

import (
	"context"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"leakdiff/analysis/read/bundle"
	"leakdiff/analysis/read/ingest"
	"leakdiff/store"
	"leakdiff/store/blob"
)

// aheadLimit is how long an upload may take to arrive and be recorded that is read at
// the same time. One that takes longer gains little, and is read when it is there.
const aheadLimit = time.Minute

// ahead reads an upload of one file while it is stored. Nothing depends on it: the job
// of the upload takes its result over, or reads the stored bytes where there is none.
type ahead struct {
	name     string
	follower *blob.Follower
	cancel   context.CancelFunc
	// taken says that the job waits for the result, and for progress.
	taken atomic.Bool
	// done is closed when result and err are there.
	done   chan struct{}
	result ingest.Result
	err    error
}

// readAhead begins to read an upload of one file, which the follower follows. It is nil
// where another bundle is being read: only one at a time is.
func (w *worker) readAhead(name string) *blob.Follower {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ctx == nil || w.ctx.Err() != nil || w.running != "" || w.ahead != nil {
		return nil
	}
	limit := aheadLimit
	if d := w.s.cfg.Budget.Duration; d > 0 {
		limit = min(limit, d/2) // or the time it takes to arrive would count as reading
	}
	ctx, cancel := context.WithTimeout(w.ctx, limit)
	a := &ahead{name: name, follower: blob.NewFollower(), cancel: cancel, done: make(chan struct{})}
	w.ahead = a
	context.AfterFunc(ctx, func() { w.forget(a) })
	w.s.pending.Go(func() {
		defer close(a.done)
		if a.err = a.read(ctx, w); a.err != nil {
			w.forget(a)
		}
	})
	return a.follower
}

func (a *ahead) read(ctx context.Context, w *worker) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("reading %s ahead panicked: %v", a.name, v)
		}
	}()
	defer a.follower.Close()
	cfg := w.s.ingestConfig()
	cfg.SHA256, cfg.Ahead = a.follower.SHA256, true
	cfg.Progress = func(p ingest.Progress) {
		if a.taken.Load() {
			w.report(p)
		}
	}
	// How many bytes will come is not always known, and nothing depends on it.
	input := bundle.Input{Name: a.name, Size: 0, ModTime: time.Now()}
	opened := false
	input.Open = func() (io.ReadCloser, error) {
		if opened {
			return nil, blob.ErrLeft // the beginning is gone: what is a part of a file is looked at twice
		}
		opened = true
		return a.follower, nil
	}
	a.result, err = ingest.Run(ctx, cfg, []bundle.Input{input})
	if err == nil && a.follower.SHA256() == "" {
		err = blob.ErrLeft // it was not read to its end
	}
	return err
}

// unfollow gives up what is read of an upload that no job was recorded for.
func (w *worker) unfollow(f *blob.Follower) {
	w.mu.Lock()
	a := w.ahead
	w.mu.Unlock()
	if a != nil && a.follower == f {
		w.forget(a)
	}
}

// forget gives up what is read ahead.
func (w *worker) forget(a *ahead) {
	w.mu.Lock()
	if w.ahead == a {
		w.ahead = nil
	}
	w.mu.Unlock()
	a.follower.Leave()
	a.cancel()
}

// takeAhead gives what was read ahead of the file, if it was. Whatever else is being
// read ahead is given up: a recorded job comes first.
func (w *worker) takeAhead(ctx context.Context, f store.File) (result ingest.Result, found bool) {
	w.mu.Lock()
	a := w.ahead
	w.ahead = nil
	w.mu.Unlock()
	if a == nil {
		return result, false
	}
	defer a.cancel()
	if a.name != f.Name || a.follower.Given() != f.SHA256 {
		w.forget(a)
		<-a.done
		return result, false
	}
	a.taken.Store(true)
	select {
	case <-a.done:
	case <-ctx.Done():
		w.forget(a)
		<-a.done
	}
	return a.result, a.err == nil
}
