package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"
	"github.com/klauspost/compress/zstd"
)

// A sealed blob:
//
//	byte     form: sealedPlain or sealedZstd
//	4 bytes  CRC-32C of the rest of the blob, little-endian
//	values   as they are or as one zstd frame
const (
	sealedPlain = 2
	sealedZstd  = 3

	sealedHeader = 1 + 4
	// zstdWorth is the size below which the overhead of a frame exceeds the gain.
	zstdWorth = 96
	// unsealLimit bounds the memory that a damaged blob can allocate.
	unsealLimit = 1 << 30
	// mostRoom bounds the buffer that is reused.
	mostRoom = 1 << 20
)

// packer seals and unseals the blobs of one operation. It is not safe for concurrent use; the
// zero value is ready, and close releases it.
type packer struct {
	enc *zstd.Encoder
	dec *zstd.Decoder
	// room is the buffer of unsealBriefly.
	room []byte
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

func (p *packer) decoder() (*zstd.Decoder, error) {
	if p.dec != nil {
		return p.dec, nil
	}
	dec, err := zstd.NewReader(nil,
		zstd.WithDecoderConcurrency(1),
		zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxMemory(unsealLimit))
	p.dec = dec
	return dec, err
}

func (p *packer) close() {
	if p.enc != nil {
		p.enc.Close()
	}
	if p.dec != nil {
		p.dec.Close()
	}
}

func checksum(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }

// seal compresses values if that saves an eighth of them: to a reader, opening a frame costs
// as much as decoding some hundred values.
func (p *packer) seal(values []byte) ([]byte, error) {
	out := append(make([]byte, 0, sealedHeader+len(values)), sealedZstd, 0, 0, 0, 0)
	if len(values) >= zstdWorth {
		enc, err := p.encoder()
		if err != nil {
			return nil, err
		}
		out = enc.EncodeAll(values, out)
	}
	if packed := len(out) - sealedHeader; packed == 0 || packed > len(values)-len(values)/8 {
		out = append(out[:sealedHeader], values...)
		out[0] = sealedPlain
	}
	binary.LittleEndian.PutUint32(out[1:], checksum(out[sealedHeader:]))
	return out, nil
}

// unseal undoes seal. It decompresses into room if room is large enough; otherwise the
// values are new, or a part of an uncompressed blob.
func (p *packer) unseal(blob, room []byte) ([]byte, error) {
	if len(blob) < sealedHeader {
		return nil, fmt.Errorf("%d bytes are too few", len(blob))
	}
	body := blob[sealedHeader:]
	if checksum(body) != binary.LittleEndian.Uint32(blob[1:]) {
		return nil, errors.New("the checksum does not fit")
	}
	switch blob[0] {
	case sealedPlain:
		return body, nil
	case sealedZstd:
		dec, err := p.decoder()
		if err != nil {
			return nil, err
		}
		return dec.DecodeAll(body, room[:0])
	}
	return nil, fmt.Errorf("unknown form %d", blob[0])
}

// unsealBriefly is unseal for values that are read before the next call.
func (p *packer) unsealBriefly(blob []byte) ([]byte, error) {
	values, err := p.unseal(blob, p.room)
	if err == nil && blob[0] == sealedZstd && cap(values) <= mostRoom {
		p.room = values
	}
	return values, err
}

// sealJSON seals a value as JSON. A byte that is not UTF-8 becomes U+FFFD.
func (p *packer) sealJSON(value any) ([]byte, error) {
	text, err := json.Marshal(value, sealedJSON)
	if err != nil {
		return nil, err
	}
	return p.seal(text)
}

// unsealJSON undoes sealJSON.
func (p *packer) unsealJSON(blob []byte, value any) error {
	text, err := p.unsealBriefly(blob)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, value, sealedJSON)
}

// sealedJSON leaves out what is zero, and writes times that JSON lacks as the zero time.
var sealedJSON = json.JoinOptions(
	json.Deterministic(true), json.OmitZeroStructFields(true), json.FormatNilSliceAsNull(true), json.FormatNilMapAsNull(true),
	jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true), jsonv1.FormatDurationAsNano(true),
	json.WithMarshalers(json.MarshalToFunc(func(e *jsontext.Encoder, t time.Time) error {
		return e.WriteToken(jsontext.String(utc(t).Format(time.RFC3339Nano)))
	})),
)

// utc drops times that JSON cannot represent: RFC 3339 ends with the year 9999.
func utc(t time.Time) time.Time {
	if t.IsZero() || t.Year() < 1 || t.Year() > 9999 {
		return time.Time{}
	}
	return t.UTC()
}

func validText(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return string([]rune(s))
}
