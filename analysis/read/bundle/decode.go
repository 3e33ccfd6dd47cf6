package bundle

import (
	"bufio"
	"bytes"
	"compress/bzip2"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/mikelolasagasti/xz"
	"github.com/pierrec/lz4/v4"

	"leakdiff/analysis"
	"leakdiff/analysis/say/wording"
)

// Largest windows that are granted: "zstd --long=27" and "xz -9" are legal.
// Every further decoder around the same content gets half as much, so that a
// tower of them stays below twice that.
const (
	zstdWindow = 128 << 20
	xzWindow   = 64 << 20
)

// A decoder unpacks one stream; close releases what it holds.
type decoder struct {
	io.Reader
	close func()
}

// decoder starts unpacking what br begins with. path is where problems of the
// stream's end are reported.
func (w *walk) decoder(f format, br *bufio.Reader, path string) (decoder, error) {
	done := func() {}
	var r io.Reader
	switch f {
	case formatGzip:
		g, err := w.gunzip(br, path)
		if err != nil {
			return decoder{}, err
		}
		return decoder{g, done}, nil
	case formatBzip2:
		r = bzip2.NewReader(br)
	case formatLZ4:
		r = lz4.NewReader(br)
	case formatXZ:
		limit := xzWindow >> w.windows
		x, err := xz.NewReader(br, uint32(limit))
		if err != nil {
			return decoder{}, packingError(f, err, limit)
		}
		w.windows++
		return decoder{&ending{w: w, r: x, format: f, path: path, limit: limit}, func() { w.windows-- }}, nil
	case formatZstd:
		limit := zstdWindow >> w.windows
		z, err := zstd.NewReader(br, zstd.WithDecoderMaxWindow(uint64(limit)), zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true))
		if err != nil {
			return decoder{}, packingError(f, err, limit)
		}
		w.windows++
		return decoder{&ending{w: w, r: z, format: f, path: path, limit: limit}, func() { w.windows--; z.Close() }}, nil
	}
	return decoder{&ending{w: w, r: r, format: f, path: path}, done}, nil
}

// ending reads a decoder whose library reads concatenated streams by itself. It turns
// an error in the bytes after the last good stream into a warning.
type ending struct {
	w      *walk
	r      io.Reader
	format format
	path   string
	limit  int
	out    int64
	done   bool
}

func (e *ending) Read(p []byte) (int, error) {
	if e.done {
		return 0, io.EOF
	}
	n, err := e.r.Read(p)
	e.out += int64(n)
	if err == nil || err == io.EOF {
		return n, err
	}
	if e.out > 0 && isTail(err) {
		e.w.tail(e.path, e.format)
		e.done = true
		return n, io.EOF
	}
	return n, packingError(e.format, err, e.limit)
}

// isTail reports whether a decoder stopped because no new stream begins after
// the end of one.
func isTail(err error) bool {
	var structure bzip2.StructuralError
	if errors.As(err, &structure) {
		return strings.Contains(string(structure), "continuation")
	}
	return errors.Is(err, zstd.ErrMagicMismatch) || errors.Is(err, xz.ErrFormat) || errors.Is(err, lz4.ErrInvalidFrame)
}

func (w *walk) tail(path string, f format) {
	w.problem(analysis.Warning, path, "bytes after the end of the "+string(f)+" data were ignored",
		"they are no further "+string(f)+" stream", "if the end of the file is missing, pack it again")
}

// packingError puts a library's error into words.
func packingError(f format, err error, limit int) error {
	switch {
	case errors.Is(err, errStopped):
		return err
	case errors.Is(err, xz.ErrMemlimit):
		return &broken{what: "the xz file was refused", cut: true, err: err,
			why: "it asks for a dictionary of more than " + wording.Size(int64(limit)), hint: "pack it with xz -9 or less, or upload it as .tar.gz"}
	case errors.Is(err, zstd.ErrWindowSizeExceeded), errors.Is(err, zstd.ErrDecoderSizeExceeded):
		return &broken{what: "the zstd file was refused", cut: true, err: err,
			why: "it asks for a window of more than " + wording.Size(int64(limit)), hint: "pack it with --long=27 or less, or upload it as .tar.gz"}
	case errors.Is(err, zstd.ErrUnknownDictionary):
		return &broken{what: "the zstd file was refused", cut: true, err: err,
			why: "it was packed with a dictionary of its own", hint: "pack it without a dictionary"}
	case errors.Is(err, gzip.ErrChecksum), errors.Is(err, zstd.ErrCRCMismatch):
		return &broken{what: "is damaged", err: err, why: "the " + string(f) + " checksum does not match the content", hint: reupload}
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF), errors.Is(err, xz.ErrBuf):
		return &broken{what: "stops before its end", code: analysis.CutFile, cut: true, err: io.ErrUnexpectedEOF, why: "the " + string(f) + " data ends in the middle", hint: reupload}
	}
	var b *broken
	if errors.As(err, &b) {
		return err
	}
	return &broken{what: "is damaged", cut: true, err: err, why: fmt.Sprintf("the %s data is wrong: %v", f, err), hint: reupload}
}

// gunzip reads the members of a gzip file one by one, because it must see what follows
// the last one: more members are normal, zeros are padding (tape blocks), anything else
// is worth a warning.
type gunzip struct {
	w    *walk
	br   *bufio.Reader
	z    *gzip.Reader
	path string
	// err is what every later read returns.
	err error
}

func (w *walk) gunzip(br *bufio.Reader, path string) (*gunzip, error) {
	z, err := gzip.NewReader(br)
	if err != nil {
		return nil, packingError(formatGzip, err, 0)
	}
	z.Multistream(false)
	return &gunzip{w: w, br: br, z: z, path: path}, nil
}

func (g *gunzip) Read(p []byte) (int, error) {
	for g.err == nil {
		n, err := g.z.Read(p)
		switch {
		case err == io.EOF && n > 0:
			return n, nil
		case err == io.EOF:
			g.err = g.next()
		case err != nil:
			return n, packingError(formatGzip, err, 0)
		case n > 0:
			return n, nil
		}
	}
	return 0, g.err
}

// next begins the next member; it returns io.EOF after the last one.
func (g *gunzip) next() error {
	rest, err := g.br.Peek(headSize)
	switch {
	case len(rest) == 0:
		return err
	case bytes.HasPrefix(rest, []byte("\x1f\x8b")):
		if err := g.z.Reset(g.br); err != nil {
			return packingError(formatGzip, err, 0)
		}
		g.z.Multistream(false)
		return nil
	case allZero(rest):
		g.w.problem(analysis.Note, g.path, "zero bytes after the end of the gzip data were ignored",
			"tapes and some tools fill the last block with them", "nothing is missing")
		return io.EOF
	}
	g.w.tail(g.path, formatGzip)
	return io.EOF
}

// flateReader is what zip entries are inflated with; it is used again for the
// next entry, because a new one costs 40 KiB.
type flateReader interface {
	io.ReadCloser
	flate.Resetter
}

func (w *walk) inflate(br *bufio.Reader) decoder {
	var z flateReader
	if last := len(w.flates) - 1; last >= 0 {
		z = w.flates[last]
		w.flates = w.flates[:last]
		if z.Reset(br, nil) != nil {
			z = nil
		}
	}
	if z == nil {
		z = flate.NewReader(br).(flateReader)
	}
	return decoder{deflated{z}, func() { w.flates = append(w.flates, z) }}
}

type deflated struct{ r io.Reader }

func (d deflated) Read(p []byte) (int, error) {
	n, err := d.r.Read(p)
	if err != nil && err != io.EOF {
		err = packingError("deflate", err, 0)
	}
	return n, err
}
