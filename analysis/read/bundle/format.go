package bundle

import (
	"bytes"
	"strconv"
	"strings"
)

// format is a container or packing, recognised by the first bytes.
type format string

const (
	formatGzip  format = "gzip"
	formatZstd  format = "zstd"
	formatXZ    format = "xz"
	formatBzip2 format = "bzip2"
	formatLZ4   format = "lz4"
	formatZip   format = "zip"
	formatTar   format = "tar"
	formatNone  format = ""
)

// packing reports whether the format wraps one stream rather than many files.
func (f format) packing() bool {
	switch f {
	case formatGzip, formatZstd, formatXZ, formatBzip2, formatLZ4:
		return true
	}
	return false
}

// identify names the container that begins with head. whole is true if the content ends
// with head.
func identify(head []byte, whole bool) format {
	switch {
	case bytes.HasPrefix(head, []byte("\x1f\x8b\x08")):
		return formatGzip
	case bytes.HasPrefix(head, []byte("PK\x03\x04")), bytes.HasPrefix(head, []byte("PK\x05\x06")),
		bytes.HasPrefix(head, []byte(zipSpanned+"PK\x03\x04")):
		return formatZip
	case isZstd(head):
		return formatZstd
	case bytes.HasPrefix(head, []byte("\xfd7zXZ\x00")):
		return formatXZ
	case isBzip2(head):
		return formatBzip2
	case bytes.HasPrefix(head, []byte("\x04\x22\x4d\x18")), bytes.HasPrefix(head, []byte("\x02\x21\x4c\x18")):
		return formatLZ4
	case isTar(head), whole && isEmptyTar(head):
		return formatTar
	}
	return formatNone
}

// isZstd accepts a frame or a skippable frame before it (RFC 8878 section 3.1),
// with which parallel and seekable writers begin.
func isZstd(head []byte) bool {
	if bytes.HasPrefix(head, []byte("\x28\xb5\x2f\xfd")) {
		return true
	}
	if len(head) < 12 || head[0]&0xf0 != 0x50 || string(head[1:4]) != "\x2a\x4d\x18" {
		return false
	}
	size := int(head[4]) | int(head[5])<<8 | int(head[6])<<16
	return head[7] == 0 && len(head) >= 12+size && bytes.HasPrefix(head[8+size:], []byte("\x28\xb5\x2f\xfd"))
}

// isBzip2 wants the magic of the first block, or of the end of an empty file, after
// "BZh1" to "BZh9".
func isBzip2(head []byte) bool {
	if len(head) < 10 || string(head[:3]) != "BZh" || head[3] < '1' || head[3] > '9' {
		return false
	}
	block := string(head[4:10])
	return block == "1AY&SY" || block == "\x17\x72\x45\x38\x50\x90"
}

// isTar accepts "ustar" at 257 (POSIX, GNU) or, for older writers, a header
// whose checksum at 148 is right.
func isTar(head []byte) bool {
	if len(head) < 512 {
		return false
	}
	if string(head[257:262]) == "ustar" {
		return true
	}
	stated, ok := octal(bytes.TrimLeft(head[148:156], " \x00"))
	return ok && head[0] != 0 && stated == checksum(head)
}

// isEmptyTar recognises an archive without members: zero blocks, at least two.
func isEmptyTar(head []byte) bool {
	return len(head) >= 1024 && len(head)%512 == 0 && allZero(head)
}

func allZero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}

// A refusal is a container that is recognised and cannot be opened.
type refusal struct{ what, why, hint string }

const (
	sendPlain   = "unpack it where it was made and upload the files, or a .tar.gz of them"
	sendDecoded = "decrypt it where the key is and upload the decrypted archive"
)

// refusals are what is known and not read, by its first bytes.
var refusals = []struct{ magic, what, hint string }{
	{"7z\xbc\xaf\x27\x1c", "a 7-Zip archive is not supported", sendPlain},
	{"Rar!\x1a\x07", "a RAR archive is not supported", sendPlain},
	{"LZIP", "an lzip file is not supported", sendPlain},
	{"\x1f\x9d", "a file of the old compress program (.Z) is not supported", sendPlain},
	{"MSCF\x00\x00\x00\x00", "a cabinet archive is not supported", sendPlain},
	{"070701", "a cpio archive is not supported", sendPlain},
	{"!<arch>\n", "an ar archive or Debian package is not supported", sendPlain},
	{"\xed\xab\xee\xdb", "an RPM package is not supported", sendPlain},
	{"D1ag", "a TiDB diag archive is encrypted", "upload the directory from which diag packed it (perf/goroutine.txt and its neighbours)"},
	{"age-encryption.org/", "a file encrypted with age cannot be read", sendDecoded},
	{"-----BEGIN AGE ENCRYPTED FILE-----", "a file encrypted with age cannot be read", sendDecoded},
	{"-----BEGIN PGP MESSAGE-----", "a file encrypted with gpg cannot be read", sendDecoded},
	{"Salted__", "a file encrypted with openssl cannot be read", sendDecoded},
}

// refused names containers that cannot be opened, nil for all else.
func refused(head []byte, path string) *refusal {
	for _, r := range refusals {
		if len(head) > 0 && head[0] == r.magic[0] && bytes.HasPrefix(head, []byte(r.magic)) {
			return &refusal{r.what, "its content begins with " + strconv.QuoteToASCII(r.magic), r.hint}
		}
	}
	if len(head) == 0 || head[0]&0x80 == 0 && !bytes.ContainsRune(head, 0) {
		return nil
	}
	switch lower := strings.ToLower(path); {
	case strings.HasSuffix(lower, ".gpg"), strings.HasSuffix(lower, ".pgp"):
		return &refusal{"a file encrypted with gpg cannot be read", "its content is binary and its name says so", sendDecoded}
	case strings.HasSuffix(lower, ".enc"):
		return &refusal{"an encrypted file cannot be read", "its content is binary and its name ends with .enc", sendDecoded}
	}
	return nil
}
