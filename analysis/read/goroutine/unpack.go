package goroutine

import (
	"bufio"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/google/pprof/profile"

	"leakdiff/analysis"
)

// decodedFactor is how many times MaxProtoBytes the decoded form may take. Small
// messages grow fortyfold when they become Go values.
const decodedFactor = 8

// unpack reads all of r, through gzip if its first bytes are gzip's, up to limit bytes
// of output.
func unpack(r io.Reader, limit int64) ([]byte, error) {
	source := &errorReader{r: r}
	in := bufio.NewReader(source)
	magic, _ := in.Peek(2)
	var out io.Reader = in
	if string(magic) == "\x1f\x8b" {
		unzipped, err := gzip.NewReader(in)
		if source.err != nil {
			return nil, source.err
		}
		if err != nil {
			return nil, unreadable("its gzip header is damaged", err)
		}
		out = unzipped
	}
	data, err := io.ReadAll(io.LimitReader(out, limit+1))
	switch {
	case source.err != nil:
		return nil, source.err
	case err != nil:
		return nil, unreadable("its gzip stream is damaged or cut", err)
	case int64(len(data)) > limit:
		return nil, tooLarge(fmt.Sprintf("it is longer than %d bytes unpacked", limit))
	}
	return data, nil
}

// errorReader remembers an error of r, to separate it from one of gzip.
type errorReader struct {
	r   io.Reader
	err error
}

func (e *errorReader) Read(b []byte) (int, error) {
	n, err := e.r.Read(b)
	if err != nil && err != io.EOF {
		e.err = err
	}
	return n, err
}

// decode makes a profile of unpacked bytes. The decoder is foreign code that
// sees hostile input, so a panic in it is an unreadable profile.
func decode(data []byte, limit int64) (decoded *profile.Profile, err error) {
	defer func() {
		if r := recover(); r != nil {
			decoded, err = nil, unreadable(fmt.Sprint("the decoder gave up: ", r), nil)
		}
	}()
	if len(data) == 0 {
		return nil, unreadable("it is empty", nil)
	}
	if cost := decodedSize(data); cost > decodedFactor*limit {
		return nil, tooLarge(fmt.Sprintf("decoding it would take about %d MiB", cost>>20))
	}
	decoded, err = profile.ParseUncompressed(data)
	if err == nil {
		err = decoded.CheckValid()
	}
	if err != nil {
		return nil, unreadable(err.Error(), err)
	}
	return decoded, nil
}

// decodedSize estimates from above what a profile takes once decoded. The field
// numbers are those of profile.proto.
func decodedSize(data []byte) (size int64) {
	const message, perByte = 160, 24
	eachField(data, func(field uint64, body []byte) {
		length := int64(len(body))
		switch field {
		case 2, 4: // samples with labels (3), locations with lines (4)
			size += message
			eachField(body, func(inner uint64, body []byte) {
				size += message
				if inner < 3 {
					size += perByte * int64(len(body))
				}
			})
		case 6: // strings
			size += perByte + length
		default:
			size += message + perByte*length
		}
	})
	return size
}

// eachField calls f for the fields of a protobuf message until one is damaged.
// The body of a number is empty.
func eachField(data []byte, f func(field uint64, body []byte)) {
	for len(data) > 0 {
		tag, n := binary.Uvarint(data)
		if n <= 0 {
			return
		}
		data = data[n:]
		skip := uint64(0)
		var body []byte
		switch tag & 7 {
		case 0:
			if _, n = binary.Uvarint(data); n <= 0 {
				return
			}
			skip = uint64(n)
		case 1:
			skip = 8
		case 2:
			length, n := binary.Uvarint(data)
			if n <= 0 || length > uint64(len(data)-n) {
				return
			}
			data = data[n:]
			skip, body = length, data[:length]
		case 5:
			skip = 4
		default:
			return
		}
		if skip > uint64(len(data)) {
			return
		}
		f(tag>>3, body)
		data = data[skip:]
	}
}

func unreadable(why string, err error) error {
	return &analysis.Fault{
		Code: "unreadable",
		What: "the profile cannot be read",
		Why:  why,
		Hint: "fetch it again and do not copy it through a text channel",
		Err:  err,
	}
}

func tooLarge(why string) error {
	return &analysis.Fault{
		Code: "too_large",
		What: "the profile is too large",
		Why:  why,
		Hint: "the profile of 100,000 goroutines has a few kilobytes; this may be another file",
	}
}
