package envelope

import (
	"bytes"
	"io"

	"github.com/klauspost/compress/zstd"
)

// compressWindow is small, for the decoder of every opened section needs as much; the
// lines of a dump repeat within a few KiB.
const compressWindow = 1 << 20

// blockSize is how much plain text is collected before it is compressed or streamed, and
// how long the compressed chunks are. Only tests change it, so that streams begin
// early.
var blockSize = 64 << 10

// buffer is text held compressed.
type buffer struct{ chunks [][]byte }

func (s *buffer) open() (io.ReadCloser, error) {
	readers := make([]io.Reader, len(s.chunks))
	for i, c := range s.chunks {
		readers[i] = bytes.NewReader(c)
	}
	d, err := zstd.NewReader(io.MultiReader(readers...),
		zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(compressWindow))
	if err != nil {
		return nil, err
	}
	return d.IOReadCloser(), nil
}

// encoders keeps zstd encoders, which are costly to make, for the buffers of one Unwrap.
type encoders struct{ free []*zstd.Encoder }

func (e *encoders) get(w io.Writer) *zstd.Encoder {
	if n := len(e.free); n > 0 {
		enc := e.free[n-1]
		e.free = e.free[:n-1]
		enc.Reset(w)
		return enc
	}
	enc, err := zstd.NewWriter(w, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
		zstd.WithWindowSize(compressWindow), zstd.WithLowerEncoderMem(true), zstd.WithEncoderCRC(false))
	if err != nil {
		panic("envelope: the options of the encoder are constant: " + err.Error())
	}
	return enc
}

func (e *encoders) put(enc *zstd.Encoder) { e.free = append(e.free, enc) }

// bufferWriter fills a buffer. The first block stays uncompressed until it is full
// or the section is accepted: most candidates are crash traces and are dropped.
type bufferWriter struct {
	encoders *encoders
	// to receives the text instead of the buffer, if the dump is accepted when the
	// first block is full or the text ends, and no other dump is being read; streamed
	// is the number of the dump there.
	to       *stream
	accepted bool
	streamed int

	kept  *int64 // compressed bytes of all sections
	enc   *zstd.Encoder
	plain []byte
	out   buffer
	size  int64 // plain bytes written
	own   int64 // compressed bytes of this buffer
	max   int64 // of kept
}

// spent reports whether nothing more may be kept. What waits to be compressed is
// taken to shrink to a quarter.
func (w *bufferWriter) spent() bool { return *w.kept+int64(len(w.plain)/4) >= w.max }

// over reports whether more than spent was kept, by what one block may bring.
func (w *bufferWriter) over() bool { return *w.kept > w.max+4*int64(blockSize) }

// charge counts bytes that are held beside the text.
func (w *bufferWriter) charge(n int) {
	w.own += int64(n)
	*w.kept += int64(n)
}

// Write takes compressed bytes from the encoder.
func (w *bufferWriter) Write(b []byte) (int, error) {
	for rest := b; len(rest) > 0; {
		last := len(w.out.chunks) - 1
		if last < 0 || len(w.out.chunks[last]) == cap(w.out.chunks[last]) {
			// Chunks grow with what there is, so that small sections cost little.
			w.out.chunks = append(w.out.chunks, make([]byte, 0, min(blockSize, max(512, len(rest), int(w.own)))))
			last++
		}
		c := w.out.chunks[last]
		n := min(len(rest), cap(c)-len(c))
		w.out.chunks[last] = append(c, rest[:n]...)
		rest = rest[n:]
		w.charge(n)
	}
	return len(b), nil
}

func (w *bufferWriter) add(b []byte) {
	w.size += int64(len(b))
	for len(b) > 0 {
		n := min(len(b), blockSize-len(w.plain))
		w.plain = append(w.plain, b[:n]...)
		b = b[n:]
		if len(w.plain) == blockSize {
			w.flush()
		}
	}
}

// addLine adds a line and its newline.
func (w *bufferWriter) addLine(b []byte) {
	if len(w.plain)+len(b) >= blockSize-1 {
		w.add(b)
		w.add([]byte{'\n'})
		return
	}
	w.size += int64(len(b) + 1)
	w.plain = append(append(w.plain, b...), '\n')
}

func (w *bufferWriter) flush() {
	if w.streamed == 0 && w.enc == nil && w.accepted && w.to.read != nil && w.to.to == nil {
		w.to.begin()
		w.streamed = w.to.given
	}
	if w.streamed > 0 {
		w.to.to.Write(w.plain) // fails if the reader has returned, which wants no more
		w.plain = w.plain[:0]
		return
	}
	if w.enc == nil {
		w.enc = w.encoders.get(w)
	}
	w.enc.Write(w.plain) // Write of this type never fails
	w.plain = w.plain[:0]
}

// close returns what was written.
func (w *bufferWriter) close() buffer {
	w.flush()
	if w.streamed > 0 {
		w.to.end()
		w.plain = nil
		return buffer{}
	}
	w.enc.Close()
	w.encoders.put(w.enc)
	w.enc, w.plain = nil, nil
	return w.out
}

// drop forgets what was written.
func (w *bufferWriter) drop() {
	if w.streamed > 0 {
		w.to.end()
	}
	if w.enc != nil {
		w.enc.Reset(io.Discard)
		w.encoders.put(w.enc)
	}
	*w.kept -= w.own
	w.enc, w.plain, w.out = nil, nil, buffer{}
}
