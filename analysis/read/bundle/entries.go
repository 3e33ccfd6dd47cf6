package bundle

import (
	"archive/tar"
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
	"time"
)

// entries reads the entries of a tar archive. Captures have tens of thousands of
// entries with a plain header of one block; those are read here. Any other block is
// left to a tar.Reader that begins at it and ends with its entry. Headers, contents and
// errors are those of tar.Reader.
type entries struct {
	br *bufio.Reader
	// slow reads the present entry, nil if header does.
	slow   *tar.Reader
	header tar.Header
	// left counts the unread bytes of the content, pad the zeros after it.
	left, pad int64
	// marked is true if the zeros that end an archive were met, or if nobody looked for
	// them.
	marked bool
}

const tarBlock = 512

// next returns the next header, which is valid until the next call.
func (e *entries) next() (*tar.Header, error) {
	if e.slow != nil {
		if !e.ended() {
			e.marked = true
			return e.slowly()
		}
		if _, err := io.Copy(io.Discard, e.slow); err != nil {
			return nil, err
		}
		e.slow = nil
	}
	for e.left > 0 {
		n, err := e.br.Discard(int(min(e.left, 1<<30)))
		if e.left -= int64(n); err != nil {
			return nil, unexpected(err)
		}
	}
	if _, err := e.br.Discard(int(e.pad)); err != nil {
		return nil, err
	}
	e.left, e.pad = 0, 0
	block, err := e.br.Peek(tarBlock)
	e.marked = len(block) == tarBlock && allZero(block)
	if err != nil || !e.plain(block) {
		e.slow = tar.NewReader(e.br)
		return e.slowly()
	}
	_, err = e.br.Discard(tarBlock)
	e.left, e.pad = e.header.Size, padding(e.header.Size)
	return &e.header, err
}

// slowly has the tar.Reader read a header. The end of its content is known unless it
// is sparse or a global header.
func (e *entries) slowly() (*tar.Header, error) {
	h, err := e.slow.Next()
	if h == nil {
		return nil, err
	}
	e.header = tar.Header{Typeflag: h.Typeflag, PAXRecords: h.PAXRecords}
	e.pad = 0
	if h.Typeflag == tar.TypeReg {
		e.pad = padding(h.Size)
	}
	return h, err
}

// ended reports whether the end of the present entry is known.
func (e *entries) ended() bool {
	switch e.header.Typeflag {
	case tar.TypeReg:
		return !sparse(&e.header)
	case tar.TypeDir, tar.TypeSymlink, tar.TypeLink:
		return true
	}
	return false
}

// padding is what fills the last block of a content.
func padding(size int64) int64 { return -size & (tarBlock - 1) }

// unexpected turns the end of a stream into an unexpected one.
func unexpected(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// Read reads the content of the present entry.
func (e *entries) Read(p []byte) (n int, err error) {
	if e.slow != nil {
		return e.slow.Read(p)
	}
	p = p[:min(int64(len(p)), e.left)]
	if len(p) > 0 {
		n, err = e.br.Read(p)
		e.left -= int64(n)
	}
	switch {
	case err == io.EOF && e.left > 0:
		return n, io.ErrUnexpectedEOF
	case err == nil && e.left == 0:
		return n, io.EOF
	}
	return n, err
}

// small is the content of the present entry if all of it fits into a head; it is
// valid until the next read.
func (e *entries) small() []byte {
	if e.slow != nil || e.left == 0 || e.left >= headSize {
		return nil
	}
	content, err := e.br.Peek(int(e.left))
	if err != nil {
		return nil
	}
	return content
}

// plain reads the header of a file, directory or symbolic link that is complete in one
// block, in the ustar form or that of GNU. It returns false for a header that needs
// tar.Reader. Fields and their places are those of POSIX.1-1988 (tar.h).
func (e *entries) plain(b []byte) bool {
	kind, gnu := b[156], string(b[257:265]) == "ustar  \x00"
	switch {
	case kind != tar.TypeReg && kind != tar.TypeDir && kind != tar.TypeSymlink:
		return false
	case !gnu && string(b[257:265]) != "ustar\x0000", gnu && !allZero(b[345:]), !allZero(b[500:]):
		return false
	}
	sum, ok := octal(b[148:156])
	if !ok || sum != checksum(b) {
		return false
	}
	for _, field := range [][]byte{b[100:108], b[108:116], b[116:124], b[329:337], b[337:345]} { // mode, ids, device
		if _, ok := octal(field); !ok {
			return false
		}
	}
	size, sized := octal(b[124:136])
	seconds, timed := octal(b[136:148])
	name, prefix := untilNUL(b[:100]), untilNUL(b[345:500])
	if !sized || !timed || len(name) == 0 || name[len(name)-1] == '/' && kind == tar.TypeReg || kind != tar.TypeReg && size != 0 {
		return false
	}
	e.header = tar.Header{Typeflag: kind, Name: string(name), Size: size, ModTime: time.Unix(seconds, 0)}
	if len(prefix) > 0 {
		e.header.Name = string(prefix) + "/" + e.header.Name
	}
	e.header.Linkname = string(untilNUL(b[157:257]))
	return true
}

func untilNUL(field []byte) []byte {
	if i := bytes.IndexByte(field, 0); i >= 0 {
		return field[:i]
	}
	return field
}

// octal reads digits and the blanks or NULs after them. It refuses leading blanks,
// numbers in base 256 and all other text.
//
//	"0000644\x00" = 420   "\x00\x00..." = 0
func octal(field []byte) (v int64, ok bool) {
	i := 0
	for i < len(field) && field[i] >= '0' && field[i] <= '7' {
		v = v<<3 | int64(field[i]-'0')
		i++
	}
	for _, c := range field[i:] {
		if c != 0 && c != ' ' {
			return 0, false
		}
	}
	return v, true
}

// checksum adds the bytes of a header, the checksum itself counted as blanks. Every
// second byte of eight is added at once, in lanes of 16 bits: 128 bytes fit into each.
func checksum(b []byte) int64 {
	const every2nd = 0x00ff00ff00ff00ff
	var lanes uint64
	for i := 0; i < tarBlock; i += 8 {
		v := binary.LittleEndian.Uint64(b[i : i+8])
		lanes += v&every2nd + v>>8&every2nd
	}
	sum := 8 * int64(' ')
	for ; lanes > 0; lanes >>= 16 {
		sum += int64(lanes & 0xffff)
	}
	for _, c := range b[148:156] {
		sum -= int64(c)
	}
	return sum
}
