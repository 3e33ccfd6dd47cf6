package bundle

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/say/wording"
)

// tar walks a tar archive: v7, ustar, GNU and PAX, sparse members included.
func (w *walk) tar(s stream, l *countedReader) {
	tr := &entries{br: l.br}
	found, folders, others, damaged := 0, 0, &tally{}, false
	for !w.over() {
		w.at = s.path
		h, err := tr.next()
		if err == io.EOF {
			if !tr.marked {
				w.problem(analysis.Warning, s.path, "the tar archive has no end",
					"the zeros behind its last entry are missing, so entries may be missing, too; the "+wording.Plural(found, "entry before is kept", "entries before are kept"), reupload)
			}
			break
		}
		if err != nil && !errors.Is(err, tar.ErrInsecurePath) {
			w.tarDamage(s, err, found)
			damaged = true
			break
		}
		if h.Typeflag == tar.TypeXGlobalHeader {
			continue
		}
		found++
		if !w.entry() {
			break
		}
		if h.Typeflag == tar.TypeDir {
			folders++
			continue
		}
		w.tarEntry(s, h, tr, l, others)
	}
	others.report(w, s.path)
	if found == folders && !damaged && !w.over() {
		w.empty(s)
	}
}

// empty reports that an archive held no files, or only directories: worth a warning for
// an upload, usual for the archives inside support bundles.
func (w *walk) empty(s stream) {
	severity := analysis.Warning
	if s.depth > 0 {
		severity = analysis.Note
	}
	w.problem(severity, s.path, "the archive is empty", "it holds no files", reupload)
}

func (w *walk) tarDamage(s stream, err error, found int) {
	if w.over() {
		return
	}
	b := explain(err)
	what, code := "the tar archive is damaged here", analysis.ProblemCode("")
	why := b.why
	switch {
	case errors.Is(err, tar.ErrHeader), errors.Is(err, tar.ErrFieldTooLong):
		why = "bad header: " + strings.TrimPrefix(err.Error(), "archive/tar: ")
	case errors.Is(err, io.ErrUnexpectedEOF):
		what, code = "the tar archive stops before its end", analysis.CutFile
	}
	w.coded(code, analysis.Error, s.path, what, why+"; the "+wording.Plural(found, "entry before it is kept", "entries before it are kept"), b.hint)
}

func (w *walk) tarEntry(s stream, h *tar.Header, tr *entries, l *countedReader, others *tally) {
	child, ok := s.member(w, h.Name)
	if !ok {
		return
	}
	child.modified, child.size = h.ModTime, h.Size
	switch h.Typeflag {
	case tar.TypeReg, tar.TypeCont, tar.TypeGNUSparse:
	case tar.TypeSymlink:
		w.link(child, Symlink, h.Linkname)
		return
	case tar.TypeLink:
		w.link(child, Hardlink, h.Linkname)
		return
	default:
		others.add(child.path)
		w.link(child, Device, "")
		return
	}
	if !sparse(h) {
		if small := tr.small(); small == nil || !w.smallLeaf(child, small) {
			w.content(child, tr)
		}
		return
	}
	if h.Size > w.budget.Bytes-w.spent {
		w.problem(analysis.Error, child.path, "this sparse file was not read",
			fmt.Sprintf("it claims %s, more than the upload may unpack to", wording.Size(h.Size)), "upload the files it was made from")
		return
	}
	// A sparse file yields zeros that no decoder wrote; they are metered as if one had.
	start := l.consumed()
	w.content(child, &meter{w: w, r: tr, in: func() int64 { return l.consumed() - start }})
}

// sparse reports whether the entry has holes; in the PAX form it looks like an
// ordinary file but for its records.
func sparse(h *tar.Header) bool {
	if h.Typeflag == tar.TypeGNUSparse {
		return true
	}
	for key := range h.PAXRecords {
		if strings.HasPrefix(key, "GNU.sparse.") {
			return true
		}
	}
	return false
}

// tally counts entries that need one message, not one each.
type tally struct {
	n     int
	first string
}

func (t *tally) add(path string) {
	if t.n == 0 {
		t.first = path
	}
	t.n++
}

func (t *tally) report(w *walk, archive string) {
	if t.n == 0 {
		return
	}
	w.problem(analysis.Note, archive, wording.Plural(t.n, "device, pipe or socket was", "devices, pipes or sockets were")+" not read",
		"the first is "+t.first+"; they have no content", "nothing is missing")
}
