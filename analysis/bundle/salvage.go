package bundle

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"strings"

	"leakdiff/analysis"
)

// salvage walks the local headers of a zip archive from its beginning, for
// archives without a usable central directory: cut uploads, directories too long to
// be kept, and archives joined from several files, whose directory counts from the
// beginning of each. whole says that there is a directory, listed how many entries
// it lists.
func (w *walk) salvage(s stream, r *random, whole bool, listed int) {
	l := w.lane(io.NewSectionReader(r, 0, r.size))
	defer l.close()
	if mark, _ := l.br.Peek(len(zipSpanned)); string(mark) == zipSpanned {
		l.br.Discard(len(zipSpanned))
	}
	found, folders, locked := 0, 0, &encrypted{}
	defer locked.report(w, s.path)
	for !w.over() {
		w.at = s.path
		h, ok := readLocal(l)
		if !ok {
			break
		}
		found++
		if strings.HasSuffix(h.name, "/") {
			folders++
		}
		if !w.entry() || !w.salvageEntry(s, l, h, locked) {
			break
		}
	}
	byHeader := plural(found, "entry was found by its own header", "entries were found by their own headers")
	switch {
	case w.over():
	case !whole:
		w.problem(analysis.Error, s.path, "this is not a complete zip archive", "the directory at its end is missing; "+byHeader, reupload)
	case found < listed:
		w.problem(analysis.Error, s.path, "entries of the zip archive are missing or damaged",
			fmt.Sprintf("its directory lists %d; %s", listed, byHeader), reupload)
	case found == folders:
		w.empty(s)
	}
}

// local is the header before an entry's data (APPNOTE.TXT section 4.3.7).
type local struct {
	name           string
	flags, method  uint16
	crc            uint32
	packed, size   uint64
	descriptor     bool
	sizesUndefined bool
}

func readLocal(l *lane) (local, bool) {
	b, err := l.br.Peek(30)
	if err != nil || string(b[:4]) != "PK\x03\x04" {
		return local{}, false
	}
	h := local{
		flags: binary.LittleEndian.Uint16(b[6:]), method: binary.LittleEndian.Uint16(b[8:]),
		crc:    binary.LittleEndian.Uint32(b[14:]),
		packed: uint64(binary.LittleEndian.Uint32(b[18:])), size: uint64(binary.LittleEndian.Uint32(b[22:])),
	}
	nameLength, extraLength := int(binary.LittleEndian.Uint16(b[26:])), int(binary.LittleEndian.Uint16(b[28:]))
	h.descriptor = h.flags&8 != 0
	l.br.Discard(30)
	rest := make([]byte, nameLength+extraLength)
	if _, err := io.ReadFull(l.br, rest); err != nil {
		return local{}, false
	}
	h.name = string(rest[:nameLength])
	h.widen(rest[nameLength:])
	h.sizesUndefined = h.descriptor && h.packed == 0
	return h, true
}

// widen takes the 64-bit sizes from the zip64 extra field.
func (h *local) widen(extra []byte) {
	for len(extra) >= 4 {
		id, n := binary.LittleEndian.Uint16(extra), int(binary.LittleEndian.Uint16(extra[2:]))
		extra = extra[4:]
		if n > len(extra) {
			return
		}
		if id == 1 && n >= 16 && h.packed == math.MaxUint32 {
			h.size, h.packed = binary.LittleEndian.Uint64(extra), binary.LittleEndian.Uint64(extra[8:])
		}
		extra = extra[n:]
	}
}

// salvageEntry reads one entry and stands at the next header afterwards; false
// where that cannot be found.
func (w *walk) salvageEntry(s stream, l *lane, h local, locked *encrypted) bool {
	unreadable, secret := zipRefusal(h.method), isEncrypted(h.method, h.flags)
	if secret {
		locked.add(h.name, h.method)
	}
	if h.sizesUndefined && (unreadable != nil || secret || h.method != methodDeflate) {
		// Only deflate says by itself where it ends.
		if !secret {
			w.unending(s, h, unreadable)
		}
		return false
	}
	data := io.Reader(l.br)
	if !h.sizesUndefined {
		data = io.LimitReader(l.br, int64(min(h.packed, math.MaxInt64)))
	}
	child, ok := stream{}, false
	if !strings.HasSuffix(h.name, "/") {
		child, ok = s.member(w, h.name)
	}
	switch {
	case secret:
	case ok && unreadable != nil:
		w.problem(analysis.Error, child.path, unreadable.what, unreadable.why, unreadable.hint)
	case ok || h.sizesUndefined:
		w.salvageContent(child, ok, l, data, h)
	}
	if !h.sizesUndefined {
		io.Copy(io.Discard, data)
	}
	if h.descriptor {
		skipDescriptor(l)
	}
	return !w.over()
}

// unending says that an entry was not read, nor what lies behind it.
func (w *walk) unending(s stream, h local, unreadable *refusal) {
	child, ok := s.member(w, h.name)
	switch {
	case !ok:
	case unreadable != nil:
		w.problem(analysis.Error, child.path, unreadable.what, unreadable.why, unreadable.hint)
	default:
		w.problem(analysis.Error, child.path, "was not read, nor what follows it in the archive",
			"its header does not say where it ends, as in archives written into a pipe, and no usable directory does", reupload)
	}
}

func (w *walk) salvageContent(s stream, wanted bool, l *lane, data io.Reader, h local) {
	packed := l
	if !h.sizesUndefined {
		packed = w.lane(data)
		defer packed.close()
	}
	d, err := w.zipMethod(h.method, packed.br, s.path)
	if err != nil {
		return
	}
	defer d.close()
	start := packed.consumed()
	var r io.Reader = &meter{w: w, r: d, in: func() int64 { return packed.consumed() - start }}
	if !h.sizesUndefined {
		s.size = int64(min(h.size, math.MaxInt64))
		r = &sized{r: r, size: h.size, crc: h.crc, hash: crc32.NewIEEE()}
	}
	if wanted {
		w.content(s, r)
	}
	io.Copy(io.Discard, r)
}

// skipDescriptor passes the sizes that follow an entry's data: with or without
// a signature, with 32 or 64 bits, followed by the next header.
func skipDescriptor(l *lane) {
	for _, n := range []int{16, 12, 24, 20} {
		b, _ := l.br.Peek(n + 2)
		if len(b) == n || len(b) == n+2 && string(b[n:]) == "PK" {
			l.br.Discard(n)
			return
		}
	}
}
