package envelope

import (
	"bytes"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// eachMember yields the members of the JSON object in a line, values as they are
// written. It returns false if the line is no whole object.
func eachMember(b []byte, visit func(key, value []byte)) bool {
	b = bareObject(b)
	if len(b) == 0 || b[0] != '{' {
		return false
	}
	b = skipBlank(b[1:])
	for len(b) > 0 && b[0] == '"' {
		n := stringLength(b)
		if n == 0 {
			return false
		}
		key := b[1 : n-1]
		b = skipBlank(b[n:])
		if len(b) == 0 || b[0] != ':' {
			return false
		}
		b = skipBlank(b[1:])
		n = valueLength(b)
		if n == 0 {
			return false
		}
		visit(key, b[:n])
		b = skipBlank(b[n:])
		if len(b) == 0 || b[0] != ',' {
			break
		}
		b = skipBlank(b[1:])
	}
	return len(b) > 0 && b[0] == '}'
}

// bareObject takes off what stands before a record that has its own line: the field
// name of server-sent events, and the record separator of RFC 7464.
//
//	`data: {"MESSAGE":"x"}` -> `{"MESSAGE":"x"}`
//	"\x1e{\"MESSAGE\":1}"    -> `{"MESSAGE":1}`
func bareObject(b []byte) []byte {
	if len(b) > 0 && b[0] == '{' {
		return b
	}
	b = bytes.TrimLeft(b, " \t\x1e")
	if rest, ok := bytes.CutPrefix(b, []byte("data:")); ok {
		b = bytes.TrimLeft(rest, " ")
	}
	return b
}

func skipBlank(b []byte) []byte {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\t' || b[0] == '\r') {
		b = b[1:]
	}
	return b
}

// stringLength measures a string with its quotes, 0 if it does not end.
func stringLength(b []byte) int {
	for i := 1; i < len(b); i++ {
		j := bytes.IndexByte(b[i:], '"')
		if j < 0 {
			return 0
		}
		i += j
		slashes := 0
		for b[i-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return i + 1
		}
	}
	return 0
}

// valueLength measures any value. Brackets are counted, not matched.
func valueLength(b []byte) int {
	if len(b) == 0 {
		return 0
	}
	if b[0] == '"' {
		return stringLength(b)
	}
	if b[0] != '{' && b[0] != '[' {
		n := bytes.IndexAny(b, ",} \t\r")
		return max(n, 0)
	}
	depth := 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		case '"':
			n := stringLength(b[i:])
			if n == 0 {
				return 0
			}
			i += n - 1
		}
	}
	return 0
}

// appendValue adds the text of a value: what a string holds, or what journald's
// array of bytes spells; anything else as it stands there.
//
//	`"a\tb"`         -> a, a tab, b
//	`[103,111]`      -> "go"
//	`12`             -> "12"
func appendValue(dst, value []byte) []byte {
	switch {
	case len(value) >= 2 && value[0] == '"':
		return appendUnquoted(dst, value[1:len(value)-1])
	case len(value) >= 2 && value[0] == '[':
		return appendBytes(dst, value[1:len(value)-1])
	}
	return append(dst, value...)
}

func appendBytes(dst, list []byte) []byte {
	for len(list) > 0 {
		number, rest, _ := bytes.Cut(list, []byte(","))
		n, err := strconv.ParseUint(string(bytes.TrimSpace(number)), 10, 8)
		if err != nil {
			return dst
		}
		dst, list = append(dst, byte(n)), rest
	}
	return dst
}

func appendUnquoted(dst, b []byte) []byte {
	for {
		i := bytes.IndexByte(b, '\\')
		if i < 0 || i+1 >= len(b) {
			return append(dst, b...)
		}
		dst = append(dst, b[:i]...)
		c := b[i+1]
		b = b[i+2:]
		if c != 'u' {
			dst = append(dst, unescaped(c)...)
			continue
		}
		r, ok := hexRune(b)
		if !ok {
			dst = append(dst, `\u`...)
			continue
		}
		b = b[4:]
		if utf16.IsSurrogate(r) && len(b) >= 6 && b[0] == '\\' && b[1] == 'u' {
			if low, ok := hexRune(b[2:]); ok {
				r = utf16.DecodeRune(r, low)
				b = b[6:]
			}
		}
		dst = utf8.AppendRune(dst, r)
	}
}

func hexRune(b []byte) (rune, bool) {
	if len(b) < 4 {
		return 0, false
	}
	n, err := strconv.ParseUint(string(b[:4]), 16, 32)
	return rune(n), err == nil
}

// unescaped is the character that a backslash and a letter stand for; an unknown pair
// stays as it is.
func unescaped(c byte) string {
	switch c {
	case 'n':
		return "\n"
	case 't':
		return "\t"
	case 'r':
		return "\r"
	case 'b':
		return "\b"
	case 'f':
		return "\f"
	case 'v':
		return "\v"
	case 'a':
		return "\a"
	case '"', '\'', '\\', '/', '`':
		return string(rune(c))
	}
	return string([]byte{'\\', c})
}
