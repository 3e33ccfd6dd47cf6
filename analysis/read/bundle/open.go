package bundle

import (
	"context"
	"errors"
	"io"
	"strings"

	"leakdiff/analysis"
)

// errFound ends a walk that has given what Open was asked for.
var errFound = errors.New("found")

// Open returns the content of the member with that display path once more, as the
// walk's Body did: unpacked, transcoded, ending at a cut. The content of a link is its
// target. The inputs and the budget must be those of the walk, because equal names are
// numbered in their order. The error is ctx's, or a Fault with the code "not_found" or
// "unreadable".
func Open(ctx context.Context, cfg Config, inputs []Input, path string) (io.ReadCloser, error) {
	missing := &analysis.Fault{
		Code: "not_found", What: "there is no such file in the bundle", Where: path,
		Hint: "take the path from the bundle's list of files",
	}
	if path == "" {
		return nil, missing
	}
	ctx, cancel := context.WithCancel(ctx)
	pr, pw := io.Pipe()
	found := make(chan struct{})
	done := make(chan error, 1)
	w := newWalk(ctx, cfg, func(m *Member) error {
		close(found)
		content := m.Body
		if m.Type != Regular {
			content = strings.NewReader(m.Link)
		}
		_, err := io.Copy(pw, content)
		if err != nil {
			pw.CloseWithError(err)
			return err
		}
		pw.Close()
		return errFound
	})
	w.want = path
	go func() { done <- w.run(inputs) }()
	select {
	case <-found:
		return &reopened{PipeReader: pr, cancel: cancel, done: done}, nil
	case err := <-done:
		select {
		case <-found:
			// The walk ended before anyone read: the pipe holds its outcome.
			done <- err
			return &reopened{PipeReader: pr, cancel: cancel, done: done}, nil
		default:
		}
		cancel()
		if err != nil {
			return nil, err
		}
		return nil, missing
	}
}

// reopened ends its walk when it is closed.
type reopened struct {
	*io.PipeReader
	cancel context.CancelFunc
	done   <-chan error
}

func (r *reopened) Close() error {
	r.PipeReader.Close()
	r.cancel()
	<-r.done
	return nil
}
