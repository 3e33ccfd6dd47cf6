package store

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
	"github.com/minio/minlz"
)

// The first byte of a packed blob.
const (
	asIs      = 0
	withZstd  = 1
	packWorth = 256
	// unpackLimit bounds the memory that a damaged blob can allocate.
	unpackLimit = 256 << 20
	// mostText bounds the buffer that is reused for heads.
	mostText = 1 << 20
)

// packer compresses and decompresses the blobs of one operation. It is not safe for
// concurrent use; the zero value is ready, and close releases it.
type packer struct {
	enc *zstd.Encoder
	dec *zstd.Decoder
	// quickEnc and quickDec are for MinLZ.
	quickEnc *minlz.Writer
	out      *bufio.Writer
	quickDec *minlz.Reader
	// text is a reused buffer for heads.
	text []byte
}

func (p *packer) encoder() (*zstd.Encoder, error) {
	if p.enc != nil {
		return p.enc, nil
	}
	enc, err := zstd.NewWriter(nil,
		zstd.WithEncoderLevel(zstd.SpeedDefault),
		zstd.WithEncoderConcurrency(1),
		zstd.WithLowerEncoderMem(true),
		zstd.WithWindowSize(1<<20))
	p.enc = enc
	return enc, err
}

// buffered returns a buffer before w for small writes.
func (p *packer) buffered(w io.Writer) *bufio.Writer {
	if p.out == nil {
		p.out = bufio.NewWriterSize(nil, 4096)
	}
	p.out.Reset(w)
	return p.out
}

func (p *packer) decoder() (*zstd.Decoder, error) {
	if p.dec != nil {
		return p.dec, nil
	}
	dec, err := zstd.NewReader(nil,
		zstd.WithDecoderConcurrency(1),
		zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxMemory(unpackLimit))
	p.dec = dec
	return dec, err
}

// quickBlock is the block size of MinLZ, in bytes.
const quickBlock = 64 << 10

// quickly returns a MinLZ writer to w.
func (p *packer) quickly(w io.Writer) *minlz.Writer {
	if p.quickEnc == nil {
		p.quickEnc = minlz.NewWriter(nil, minlz.WriterLevel(minlz.LevelBalanced), minlz.WriterConcurrency(1),
			minlz.WriterBlockSize(quickBlock), minlz.WriterCreateIndex(false))
	}
	p.quickEnc.Reset(w)
	return p.quickEnc
}

// quick undoes quickly.
func (p *packer) quick(r io.Reader) io.Reader {
	if p.quickDec == nil {
		p.quickDec = minlz.NewReader(nil, minlz.ReaderMaxBlockSize(quickBlock))
	}
	p.quickDec.Reset(r)
	return p.quickDec
}

func (p *packer) close() {
	if p.enc != nil {
		p.enc.Close()
	}
	if p.dec != nil {
		p.dec.Close()
	}
}

// pack compresses content if that makes it shorter.
func (p *packer) pack(content []byte) ([]byte, error) {
	if len(content) >= packWorth {
		enc, err := p.encoder()
		if err != nil {
			return nil, err
		}
		out := enc.EncodeAll(content, []byte{withZstd})
		if len(out) <= len(content) {
			return out, nil
		}
	}
	return append([]byte{asIs}, content...), nil
}

// unpack undoes pack. It decompresses into room if room is large enough.
func (p *packer) unpack(blob, room []byte) ([]byte, error) {
	if len(blob) == 0 {
		return nil, errors.New("packed blob is empty")
	}
	switch blob[0] {
	case asIs:
		return blob[1:], nil
	case withZstd:
		dec, err := p.decoder()
		if err != nil {
			return nil, err
		}
		content, err := dec.DecodeAll(blob[1:], room[:0])
		if err != nil {
			return nil, fmt.Errorf("packed blob: %w", err)
		}
		return content, nil
	}
	return nil, fmt.Errorf("packed blob: unknown form %d", blob[0])
}

// keepRoom keeps the buffer of content for reuse.
func (p *packer) keepRoom(content []byte) {
	if cap(content) > cap(p.text) && cap(content) <= mostText {
		p.text = content
	}
}
