package bundle

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
	"unicode/utf16"
	"unicode/utf8"
)

// Encodings that are transcoded.
const (
	marked  = "utf-8-bom"
	utf16LE = "utf-16le"
	utf16BE = "utf-16be"
)

// encodingOf names the encoding of text that is not plain UTF-8, and how long its
// mark is; the encoding is empty for all else.
func encodingOf(head []byte) (encoding string, mark int) {
	switch {
	case bytes.HasPrefix(head, []byte("\xef\xbb\xbf")):
		return marked, 3
	case bytes.HasPrefix(head, []byte("\xff\xfe")) && len(head)%2 == 0:
		return utf16LE, 2
	case bytes.HasPrefix(head, []byte("\xfe\xff")) && len(head)%2 == 0:
		return utf16BE, 2
	case looksUTF16(head, 1):
		return utf16LE, 0
	case looksUTF16(head, 0):
		return utf16BE, 0
	}
	return "", 0
}

// transcode returns a reader of the same text in plain UTF-8.
func transcode(head []byte, br *bufio.Reader) (encoding string, r io.Reader) {
	encoding, mark := encodingOf(head)
	br.Discard(mark)
	switch encoding {
	case marked:
		return encoding, br
	case utf16LE:
		return encoding, &utf16Reader{r: br, order: binary.LittleEndian}
	case utf16BE:
		return encoding, &utf16Reader{r: br, order: binary.BigEndian}
	}
	return encoding, nil
}

// looksUTF16 recognises UTF-16 without a byte order mark, as PowerShell's ">"
// may leave it: a NUL at every second byte, printable ASCII at the others. high
// is the index of the NUL in a pair. Fewer than 16 characters are not judged:
// the arguments in a cmdline may be that short.
func looksUTF16(head []byte, high int) bool {
	head = head[:min(len(head), 4096)&^1]
	pairs := len(head) / 2
	if pairs < 16 || bytes.IndexByte(head, 0) < 0 {
		return false
	}
	ascii := 0
	for i := 0; i < len(head); i += 2 {
		c := head[i+1-high]
		if head[i+high] == 0 && (c >= ' ' && c < 0x7f || c == '\n' || c == '\r' || c == '\t') {
			ascii++
		}
	}
	return ascii*10 >= pairs*9
}

// utf16Reader turns UTF-16 into UTF-8. Lone surrogates and a lone last byte
// become U+FFFD.
type utf16Reader struct {
	r     io.Reader
	order binary.ByteOrder
	in    [4096]byte
	kept  int
	high  rune
	out   []byte
	next  int
	err   error
}

func (u *utf16Reader) Read(p []byte) (int, error) {
	for u.next == len(u.out) {
		if u.err != nil {
			return 0, u.err
		}
		u.fill()
	}
	n := copy(p, u.out[u.next:])
	u.next += n
	return n, nil
}

func (u *utf16Reader) fill() {
	u.out, u.next = u.out[:0], 0
	n, err := u.r.Read(u.in[u.kept:])
	n += u.kept
	for i := 0; i+1 < n; i += 2 {
		u.put(rune(u.order.Uint16(u.in[i:])))
	}
	u.kept = n & 1
	if u.kept == 1 {
		u.in[0] = u.in[n-1]
	}
	if err == nil {
		return
	}
	if u.high != 0 || u.kept == 1 {
		u.out = utf8.AppendRune(u.out, utf8.RuneError)
	}
	u.err = err
}

// put appends a code unit, pairing surrogates.
func (u *utf16Reader) put(r rune) {
	if u.high != 0 {
		pair := utf16.DecodeRune(u.high, r)
		u.high = 0
		u.out = utf8.AppendRune(u.out, pair)
		if pair != utf8.RuneError {
			return
		}
	}
	if r >= 0xd800 && r < 0xdc00 {
		u.high = r
		return
	}
	u.out = utf8.AppendRune(u.out, r)
}
