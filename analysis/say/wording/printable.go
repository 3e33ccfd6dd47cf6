package wording

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Printable writes C0 and C1 controls, bidirectional and invisible characters and bytes
// that are not UTF-8 as \xNN per byte. Tabs become spaces up to the next stop of eight.
// It is for text from an uploaded file.
//
//	"a\x1b[31mb" → `a\x1b[31mb`
func Printable(s string) string {
	if ascii(s) || plain(s) {
		return s
	}
	var b strings.Builder
	column := 0
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			column += hexByte(&b, s[i])
		case r == '\t':
			spaces := 8 - column%8
			b.WriteString(strings.Repeat(" ", spaces))
			column += spaces
		case r < 0x20 || r >= 0x7f && r < 0xa0:
			column += hexByte(&b, byte(r))
		case hidden(r):
			for _, c := range []byte(s[i : i+n]) {
				column += hexByte(&b, c)
			}
		default:
			b.WriteRune(r)
			column++
		}
		i += n
	}
	return b.String()
}

func hexByte(b *strings.Builder, c byte) int {
	const digits = "0123456789abcdef"
	b.WriteString(`\x`)
	b.WriteByte(digits[c>>4])
	b.WriteByte(digits[c&15])
	return 4
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] < 0x20 || s[i] >= 0x7f {
			return false
		}
	}
	return true
}

// plain reports text in which nothing needs to be written otherwise, such as most text
// with letters beyond ASCII.
func plain(s string) bool {
	for _, r := range s {
		if r < 0x20 || r >= 0x7f && (r < 0xa0 || r == utf8.RuneError || hidden(r)) {
			return false
		}
	}
	return true
}

// hidden reports whether r changes the order of the text around it or shows
// nothing: bidirectional controls, zero-width characters, line separators.
func hidden(r rune) bool {
	return unicode.Is(unicode.Bidi_Control, r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029'
}
