package bundle

import (
	"bytes"
	"fmt"
	"io"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/say/wording"
)

// A stream is content on its way to be named: an input or an archive's entry.
type stream struct {
	// path is the display path. If named is true and the stream is an archive, its
	// members' paths begin with path and "!/".
	path     string
	named    bool
	size     int64
	modified time.Time
	// depth is how many archives lie around it; parts, how many inputs were joined
	// to it, 0 for a whole one.
	depth, parts int
	// random is the same content for random access, nil if the input has none.
	random *random
}

// member is the stream of an entry of the archive s; ok is false if Open
// looks for something else.
func (s stream) member(w *walk, name string) (child stream, ok bool) {
	path := cleanPath(name)
	if s.named {
		path = s.path + "!/" + path
	}
	child = stream{path: w.names.take(path), named: true, size: -1, depth: s.depth + 1}
	w.at = child.path
	return child, w.wanted(child)
}

// content removes one packing after the other from r, then opens the archive or
// has the file visited that was inside.
func (w *walk) content(s stream, r io.Reader) {
	l := w.counted(r)
	var packings []string
	var opened []func()
	defer func() {
		l.close()
		for i := len(opened) - 1; i >= 0; i-- {
			opened[i]()
		}
	}()
	for !w.over() {
		head, err := l.br.Peek(headSize)
		f := identify(head, err != nil)
		if !f.packing() {
			w.inside(s, f, l, packings)
			return
		}
		if len(packings) == w.budget.Depth {
			w.problem(analysis.Warning, s.path, "was not unpacked further",
				fmt.Sprintf("%d packings lie around each other", len(packings)), sendPlain)
			w.leaf(s, l, packings)
			return
		}
		inner, release, problem := w.unpack(f, l, s.path)
		outer := l
		opened = append(opened, outer.close)
		l = inner
		if problem != nil {
			w.broken(analysis.Error, s.path, problem)
			w.leaf(s, l, packings)
			return
		}
		opened = append(opened, release)
		packings = append(packings, string(f))
		s.random = nil
	}
}

// unpack starts the decoder of f. If the decoder yields nothing, the reader returns the
// packed bytes again, so that the file can at least be listed, and problem is the
// reason.
func (w *walk) unpack(f format, l *countedReader, path string) (inner *countedReader, release func(), problem *broken) {
	head, _ := l.br.Peek(headSize)
	head = bytes.Clone(head)
	d, err := w.decoder(f, l.br, path)
	if err == nil {
		inner = w.counted(&meter{w: w, r: d, in: l.consumed})
		var first []byte
		if first, err = inner.br.Peek(1); len(first) > 0 || err == io.EOF {
			return inner, d.close, nil
		}
		inner.close()
		d.close()
	}
	used := l.consumed()
	again := io.MultiReader(bytes.NewReader(head), ended{errReported})
	if used <= int64(len(head)) {
		again = io.MultiReader(bytes.NewReader(head[:used]), l.br)
	}
	return w.counted(again), nil, explain(err)
}

// inside takes what lay inside all packings.
func (w *walk) inside(s stream, f format, l *countedReader, packings []string) {
	if w.over() {
		return
	}
	if w.want == s.path && s.named {
		w.leaf(s, l, packings)
		return
	}
	head, _ := l.br.Peek(headSize)
	if f == formatNone && s.depth < w.budget.Depth && w.maybeZip(s, head) {
		f = formatZip
	}
	if f == formatNone {
		if r := refused(head, s.path); r != nil {
			w.problem(analysis.Error, s.path, r.what, r.why, r.hint)
		}
		w.leaf(s, l, packings)
		return
	}
	if !w.archive(s) {
		w.leaf(s, l, packings)
		return
	}
	if f == formatTar {
		w.stats.Archives++
		w.tar(s, l)
		return
	}
	w.zipped(s, l, packings)
}

// archive takes one archive from the budgets; false means that it stays packed.
func (w *walk) archive(s stream) bool {
	if s.depth == 0 {
		return true
	}
	w.nested++
	switch {
	case w.nested == w.budget.Archives+1:
		w.problem(analysis.Error, s.path, "from here on no archive inside an archive was opened",
			fmt.Sprintf("the upload holds more than %d of them", w.budget.Archives), "upload the archives that hold dumps by themselves")
		return false
	case w.nested > w.budget.Archives:
		return false
	case s.depth >= w.budget.Depth:
		w.deep.add(s.path)
		return false
	}
	return true
}

// tooDeep names the archives that were left packed for their depth, once.
func (w *walk) tooDeep() {
	if w.deep.n == 0 {
		return
	}
	w.problem(analysis.Warning, w.deep.first, wording.Plural(w.deep.n, "archive was", "archives were")+" not opened",
		fmt.Sprintf("more than %d archives lie inside each other", w.budget.Depth), sendPlain)
}
