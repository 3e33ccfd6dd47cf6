package redact

import (
	"encoding/binary"
	"errors"
	"strings"
	"unicode/utf8"

	"leakdiff/analysis/expression"
)

// Raw replaces names in the files of captures themselves, so that they can be read again. Its rules
// are those of New, and each pseudonym has the form of what it stands for. All texts must be learned
// before the first is replaced.
type Raw struct {
	r *Redactor
	// paths are those of the files, before the first text is replaced.
	paths []string
}

// NewRaw makes a redactor of the files that these cases were read from.
func NewRaw(cases ...Case) *Raw {
	return &Raw{r: learned(newForms(), cases)}
}

// mostPieces bounds the pieces of lines that are remembered.
const mostPieces = 1 << 16

// figure is a part of a line that names nothing and must not be taken apart: an address of memory,
// an end of a socket in hex, a field of fdinfo in hex, ranges of memory, an escape, a control.
var figure = expression.Lazy(`\b0x[0-9a-fA-F]{1,16}\b|\b0t\d+\b|\d+\.\d+(?:e[+-]?\d+)?|\d+e[+-]\d+` +
	`|\b(?:[0-9A-F]{32}|[0-9A-F]{8}):[0-9A-F]{4}\b` +
	`|\b(?:ino|sdev|mask|ignored_mask|f_handle|fhandle-bytes|fhandle-type|data|events|tfd|sk|sigmask|flags|mnt_id|pos|wd):\s*[0-9a-f]+\b` +
	`|\b(?:Sig|Shd|Cap)[A-Z][A-Za-z]*:\s*[0-9a-f]{16}\b` +
	`|\b[0-9a-f]{6,16}-[0-9a-f]{6,16} [r-][w-][x-][ps]|^[0-9a-f]{16}: [0-9A-F]{8} [0-9A-F]{8} [0-9A-F]{8}` +
	`|(?:^|\s)[dlcbps-](?:[r-][w-][xsStT-]){3}\b|^(?:\d[A-Z]{2,}[A-Z0-9]+|NULL)\s` +
	`|\\u[0-9a-fA-F]{4}|\\[nrtbf]` +
	`|\x1b\[[0-9;]*[A-Za-z]|[\x00-\x08\x0b-\x1f\x7f]`)

// pieces calls piece with the parts of a line that may name something, and figure with those between.
func pieces(line string, piece, between func(string)) {
	at := 0
	for _, f := range figure.FindAllStringIndex(line, -1) {
		if c := line[f[0]]; isDigit(c) && (inNumber(byteAt(line, f[0]-1)) || f[1] < len(line) && inNumber(line[f[1]])) && !strings.HasPrefix(line[f[0]:], "0x") && line[f[1]-1] != ':' && !strings.ContainsAny(line[f[0]:f[1]], ": ") {
			continue // a part of an address or a version
		}
		if at < f[0] {
			piece(line[at:f[0]])
		}
		between(line[f[0]:f[1]])
		at = f[1]
	}
	if at < len(line) {
		piece(line[at:])
	}
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func inNumber(c byte) bool {
	return alphanumeric(rune(c)) || c == '.' || c == '-' || c == '_' || c == '/'
}

// Learn takes a line of a file.
func (x *Raw) Learn(line string) {
	r := x.r
	pieces(line, func(s string) {
		if r.forms.seen[s] {
			return
		}
		if len(r.forms.seen) < mostPieces {
			r.forms.seen[s] = true
		}
		if strings.Contains(s, "198.1") {
			for _, m := range ipv4.FindAllString(s, -1) {
				r.real[m] = true
			}
		}
		r.learnLine(s)
		r.allow(listings, s)
		if len(r.pending) > mostPieces {
			r.settle()
		}
	}, func(string) {})
}

// LearnPath takes the path of a file.
func (x *Raw) LearnPath(path string) {
	x.r.allow(free, path)
	x.paths = append(x.paths, path)
}

// order gives the words of paths their pseudonyms in the order of the files: it is that of captures
// without times.
func (x *Raw) order() {
	x.r.forms.prefix = words[Files]
	for _, path := range x.paths {
		for _, part := range strings.Split(path, "/") {
			x.r.Text(part)
		}
	}
	x.paths, x.r.forms.prefix = nil, ""
}

// Line is a line of a file without names.
func (x *Raw) Line(line string) string {
	r := x.r
	if x.paths != nil {
		x.order()
	}
	var b strings.Builder
	pieces(line, func(s string) {
		out, ok := r.forms.done[s]
		if !ok {
			out = r.Text(s)
			if len(r.forms.done) < mostPieces {
				r.forms.done[strings.Clone(s)] = out
			}
		}
		b.WriteString(out)
	}, func(f string) {
		switch {
		case strings.HasPrefix(f, "0x"):
			f = r.forms.pointer(f)
		case len(f) > 8 && f[len(f)-5] == ':' && strings.Trim(f, "0123456789ABCDEF:") == "":
			f = r.hexEnd(f)
		}
		b.WriteString(f)
	})
	return b.String()
}

// Receipt counts what was replaced.
func (x *Raw) Receipt() []Receipt { return x.r.Receipt() }

// strings of a profile are in the sixth field of its message, bytes of a length.
const stringTable = 6<<3 | 2

var errProfile = errors.New("its fields cannot be read")

// LearnProfile takes the strings of a profile in its binary form (profile.proto), unpacked.
func (x *Raw) LearnProfile(profile []byte) error {
	_, err := rewrite(profile, func(s string) string { x.Learn(s); return s })
	return err
}

// Profile is a profile in its binary form without names. What is no string stays.
func (x *Raw) Profile(profile []byte) ([]byte, error) { return rewrite(profile, x.Line) }

func rewrite(profile []byte, text func(string) string) ([]byte, error) {
	var out []byte
	for len(profile) > 0 {
		tag, n := binary.Uvarint(profile)
		if n <= 0 {
			return nil, errProfile
		}
		length, m := binary.Uvarint(profile[n:])
		switch {
		case m <= 0:
			return nil, errProfile
		case tag&7 == 0:
			out, profile = append(out, profile[:n+m]...), profile[n+m:]
			continue
		case tag&7 != 2 || length > uint64(len(profile)-n-m):
			return nil, errProfile
		}
		body := profile[n+m:][:length]
		if tag == stringTable {
			if !utf8.Valid(body) {
				return nil, errProfile
			}
			body = []byte(text(string(body)))
		}
		out = binary.AppendUvarint(append(out, profile[:n]...), uint64(len(body)))
		out, profile = append(out, body...), profile[n+m+int(length):]
	}
	return out, nil
}
