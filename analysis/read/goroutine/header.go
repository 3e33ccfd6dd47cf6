package goroutine

import (
	"bytes"
	"encoding/binary"
	"math"
)

const (
	headerWord  = "goroutine "
	labelsWord  = " labels:{"
	minutesWord = " minutes"

	// maxNames bounds the table of states and label sets. Real dumps have some
	// dozens; beyond it, strings are made anew for each goroutine.
	maxNames = 4096

	stateBits = 6
)

// headerReader reads header lines as runtime.goroutineheader prints them
// (runtime/traceback.go) and interns their strings.
type headerReader struct {
	states  [1 << stateBits]string // that plainStatus saw last
	recent  [64]string             // in front of names
	names   map[string]string
	scratch []byte
}

// parse reads the header line t, free of surrounding space, into g. It reports whether
// t is a header, and whether it has the gp= field of crash texts. The bracket of a line
// that was cut for its length need not end.
//
//	goroutine 5 [select, 6 minutes, locked to thread]:
//	goroutine 41 [chan send (leaked)]:
//	goroutine 1 gp=0x359e6f70c1e0 m=nil [select, 2 minutes]:
//	goroutine 69 [chan receive labels:{"na me": "quo\"te]:, x"}]:
//	goroutine 69 [chan receive] {controller: "node-lifecycle", k: v1}:
func (h *headerReader) parse(t []byte, cut bool, g *Goroutine) (ok, crash bool) {
	if !isHeaderLike(t) {
		return false, false
	}
	id, rest, ok := cutNumber(t[len(headerWord):])
	if !ok || len(rest) < 2 || rest[0] != ' ' {
		return false, false
	}
	rest = rest[1:]
	if rest[0] != '[' {
		bracket := bytes.IndexByte(rest, '[')
		if bracket < 0 || !registers(rest[:bracket]) {
			return false, false
		}
		rest, crash = rest[bracket:], true
	}
	*g = Goroutine{ID: id, Wait: -1}
	if h.plainStatus(rest[1:], g) {
		return true, crash
	}
	status, labels, ok := cutBracket(rest[1:])
	if !ok {
		if !cut {
			return false, false
		}
		status, labels = rest[1:], nil
	}
	if i := bytes.Index(status, []byte(labelsWord)); i >= 0 {
		status, labels = status[:i], status[i+len(labelsWord)-1:]
	}
	if len(labels) > 0 {
		g.Labels = h.name(labels)
	}
	h.status(status, g)
	return true, crash
}

// isHeaderLike is the cheap test before parse.
func isHeaderLike(t []byte) bool {
	return len(t) > len(headerWord) && string(t[:len(headerWord)]) == headerWord
}

// registers reports whether b is the address part that GOTRACEBACK=system adds.
//
//	"gp=0xa6e0e0 m=0 mp=0xa6f2c0 " -> true
func registers(b []byte) bool {
	for field := range bytes.FieldsSeq(b) {
		if bytes.IndexByte(field, '=') <= 0 {
			return false
		}
	}
	return len(b) > 0
}

// plainStatus reads the text after the opening bracket of nearly all headers: a state
// without flags, with or without minutes.
//
//	"select, 6 minutes]:"
func (h *headerReader) plainStatus(b []byte, g *Goroutine) bool {
	if len(b) < 8 {
		return false
	}
	// The first eight bytes distinguish most of the few states of a dump.
	state := &h.states[binary.LittleEndian.Uint64(b)*0x9e3779b97f4a7c15>>(64-stateBits)]
	n := len(*state)
	if n == 0 || n >= len(b) || b[n] != ']' && b[n] != ',' || string(b[:n]) != *state {
		for n = 0; n < len(b) && (b[n]|0x20-'a' < 26 || b[n] == ' ' || b[n] == '.'); {
			n++
		}
		*state = h.name(b[:n])
	}
	rest, wait := b[n:], int64(-1)
	if len(rest) > 2 && rest[0] == ',' && rest[1] == ' ' {
		n, behind, ok := cutNumber(rest[2:])
		if !ok || !bytes.HasPrefix(behind, []byte(minutesWord)) {
			return false
		}
		wait, rest = n, behind[len(minutesWord):]
	}
	if string(rest) != "]:" {
		return false
	}
	g.State, g.Wait = *state, int(max(-1, min(wait, math.MaxInt32)))
	return true
}

// cutBracket splits what follows the opening bracket. Quoted label values may
// hold brackets, so quotes are minded.
//
//	`select, 6 minutes]:`                     -> `select, 6 minutes`, ``
//	`chan receive labels:{"a": "]:"}]:`       -> `chan receive labels:{"a": "]:"}`, ``
//	`chan receive] {k: v1, "na me": "te]:"}:` -> `chan receive`, `{k: v1, "na me": "te]:"}`
func cutBracket(b []byte) (status, labels []byte, ok bool) {
	end := endOf(b, ']')
	if end < 0 {
		return nil, nil, false
	}
	status, rest := b[:end], b[end+1:]
	if len(rest) > 3 && rest[0] == ' ' && rest[1] == '{' {
		end := endOf(rest[2:], '}')
		if end < 0 {
			return nil, nil, false
		}
		labels, rest = rest[1:end+3], rest[end+3:]
	}
	return status, labels, len(rest) == 1 && rest[0] == ':'
}

// endOf is the index of the first c outside quotes, -1 if no c is there.
func endOf(b []byte, c byte) int {
	end := bytes.IndexByte(b, c)
	if end < 0 || bytes.IndexByte(b[:end], '"') < 0 {
		return end
	}
	quoted := false
	for i := 0; i < len(b); i++ {
		switch {
		case b[i] == '\\' && quoted:
			i++
		case b[i] == '"':
			quoted = !quoted
		case b[i] == c && !quoted:
			return i
		}
	}
	return -1
}

// status reads the text between the brackets, without labels.
//
//	"chan receive (leaked), 12 minutes, locked to thread, synctest bubble 3"
func (h *headerReader) status(b []byte, g *Goroutine) {
	word := b
	comma := bytes.IndexByte(b, ',')
	if comma >= 0 {
		word = b[:comma]
	}
	word = cutFlags(word, g)
	if comma >= 0 {
		word = h.parts(word, b[comma:], g)
	}
	g.State = h.name(word)
}

// cutFlags takes the flags off a status. "(idle)", "(nil chan)" and their like
// belong to the name and stay.
func cutFlags(word []byte, g *Goroutine) []byte {
	for len(word) > 0 && word[len(word)-1] == ')' {
		open := bytes.LastIndexByte(word, '(')
		if open < 1 || word[open-1] != ' ' {
			break
		}
		switch string(word[open:]) {
		case "(leaked)":
			g.Leaked = true
		case "(scan)":
			g.Scan = true
		case "(durable)":
			g.Durable = true
		default:
			return word
		}
		word = word[:open-1]
	}
	return word
}

// parts reads ", 12 minutes, locked to thread" and returns the word. Parts that no
// known release prints are added to the word unchanged.
func (h *headerReader) parts(word, rest []byte, g *Goroutine) []byte {
	for len(rest) > 0 {
		part := rest[1:]
		rest = nil
		if i := bytes.IndexByte(part, ','); i >= 0 {
			part, rest = part[:i], part[i:]
		}
		if !knownPart(bytes.TrimPrefix(part, []byte(" ")), g) {
			h.scratch = append(append(append(h.scratch[:0], word...), ','), part...)
			word = h.scratch
		}
	}
	return word
}

func knownPart(part []byte, g *Goroutine) bool {
	if string(part) == "locked to thread" {
		g.Locked = true
		return true
	}
	if number, ok := bytes.CutSuffix(part, []byte(minutesWord)); ok {
		n, rest, ok := cutNumber(number)
		if !ok || len(rest) > 0 {
			return false
		}
		g.Wait = int(max(-1, min(n, math.MaxInt32)))
		return true
	}
	// Go 1.24 printed "group", 1.25 prints "bubble".
	for _, word := range []string{"synctest bubble ", "synctest group "} {
		if !bytes.HasPrefix(part, []byte(word)) {
			continue
		}
		n, rest, ok := cutNumber(part[len(word):])
		if !ok || len(rest) > 0 {
			return false
		}
		g.Bubble = int(min(n, math.MaxInt32))
		return true
	}
	return false
}

// name returns b as a string, the same one for equal bytes until the table is full.
func (h *headerReader) name(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	recent := &h.recent[(len(b)+int(b[0])+int(b[len(b)-1]))%len(h.recent)]
	if *recent == string(b) {
		return *recent
	}
	*recent = h.intern(b)
	return *recent
}

func (h *headerReader) intern(b []byte) string {
	if s, ok := h.names[string(b)]; ok {
		return s
	}
	s := validText(b)
	if len(h.names) < maxNames && len(b) <= 1<<10 {
		if h.names == nil {
			h.names = map[string]string{}
		}
		h.names[string(b)] = s
	}
	return s
}

// HugeID replaces a goroutine id that does not fit into an int64.
const HugeID = math.MaxInt64

// safeDigits is how many digits always fit into an int64.
const safeDigits = 18

// cutNumber reads a decimal number, which may be negative, and saturates at the
// limits of int64.
//
//	"17 [sleep]:" -> 17, " [sleep]:", true
func cutNumber(b []byte) (n int64, rest []byte, ok bool) {
	negative := len(b) > 0 && b[0] == '-'
	if negative {
		b = b[1:]
	}
	i := 0
	for ; i < len(b) && b[i]-'0' < 10; i++ {
		if i >= safeDigits && n > (math.MaxInt64-9)/10 {
			n = math.MaxInt64
			continue
		}
		n = n*10 + int64(b[i]-'0')
	}
	if negative {
		n = -n
	}
	return n, b[i:], i > 0
}
