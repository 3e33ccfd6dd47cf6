package bundle

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"iter"
	"math"
	"strings"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/say/wording"
)

// salvage walks the local headers of a zip archive from its beginning. It reads
// archives without a usable central directory: cut uploads, directories too long to be
// kept, and archives joined from several files, whose directory counts from the
// beginning of each. whole is true if there is a directory, listed counts its entries.
func (w *walk) salvage(s stream, r *random, whole bool, listed int) {
	l := w.counted(io.NewSectionReader(r, 0, r.size))
	defer l.close()
	if mark, _ := l.br.Peek(len(zipSpanned)); string(mark) == zipSpanned {
		l.br.Discard(len(zipSpanned))
	}
	found, folders, locked := 0, 0, &encrypted{}
	defer locked.report(w, s.path)
	for h := range w.locals(s, l) {
		found++
		if h.folder() {
			folders++
		}
		if !w.entry() || !w.salvageEntry(s, l, h, locked) {
			break
		}
	}
	byHeader := wording.Plural(found, "entry was found by its own header", "entries were found by their own headers")
	switch {
	case w.over():
	case !whole:
		w.coded(analysis.CutFile, analysis.Error, s.path, "this is not a complete zip archive", "the directory at its end is missing; "+byHeader, reupload)
	case found < listed:
		w.problem(analysis.Error, s.path, "entries of the zip archive are missing or damaged",
			fmt.Sprintf("its directory lists %d; %s", listed, byHeader), reupload)
	case found == folders:
		w.empty(s)
	}
}

// unlistedIn walks the local headers for entries that a damaged directory does not
// list. It passes over those that the directory lists, by their place or by their name.
// An entry with a listed name at another place was replaced.
func (w *walk) unlistedIn(s stream, r *random, zr *zip.Reader) {
	start := firstLocal(r)
	type data struct {
		name string
		at   int64
	}
	names, places, packed := map[string]bool{}, map[int64]bool{}, map[data]uint64{}
	for _, f := range zr.File {
		names[f.Name] = true
		if at, err := f.DataOffset(); err == nil {
			places[at-start] = true
			packed[data{f.Name, at - start}] = f.CompressedSize64
		}
	}
	l := w.counted(io.NewSectionReader(r, start, r.size-start))
	defer l.close()
	found, again, locked := 0, 0, &encrypted{}
	for h := range w.locals(s, l) {
		place := l.consumed()
		if size, known := packed[data{h.name, place}]; known && h.sizesUndefined {
			h.packed, h.sizesUndefined = size, false
		}
		if h.listed = places[place] || names[h.name]; !h.listed && !w.entry() || !w.salvageEntry(s, l, h, locked) {
			break
		}
		switch {
		case !h.listed:
			found++
		case !places[place]:
			again++
		}
	}
	locked.report(w, s.path)
	if w.over() {
		return
	}
	severity, hint := analysis.Note, "nothing is missing; make the archive again if others are to read it"
	why := wording.Plural(len(zr.File), "entry is", "entries are") + " read from it, and " + wording.Plural(found, "more was found by its own header", "more were found by their own headers")
	if again > 0 {
		severity, hint = analysis.Warning, reupload
		why += "; " + wording.Plural(again, "that has the name of another was", "that have the names of others were") + " passed, as replaced"
	}
	if mark, _ := l.br.Peek(2 * len(localMark)); !bytes.HasPrefix(mark, []byte("PK")) || bytes.HasPrefix(mark, []byte(localMark)) {
		severity, hint = analysis.Error, reupload
		why += fmt.Sprintf("; what lies behind byte %d could not be read", start+l.consumed())
	}
	w.problem(severity, s.path, "the directory of the zip archive is damaged", why, hint)
}

// firstLocal returns where the first local header seems to lie: at the place from the
// directory, or at the first bytes that look like a header.
func firstLocal(r *random) int64 {
	var mark [len(localMark)]byte
	if d, ok := directoryEnd(r, r.size); ok && d.end-d.size-d.offset >= 0 {
		base := d.end - d.size - d.offset
		if r.ReadAt(mark[:], base); string(mark[:]) == localMark {
			return base
		}
	}
	head := make([]byte, min(headSize, r.size))
	r.ReadAt(head, 0)
	return int64(max(0, bytes.Index(head, []byte(localMark))))
}

// local is the header before an entry's data (APPNOTE.TXT section 4.3.7).
type local struct {
	name           string
	modified       time.Time
	flags, method  uint16
	crc            uint32
	packed, size   uint64
	descriptor     bool
	sizesUndefined bool
	// listed is true for an entry that the directory lists; it is passed over.
	listed bool
}

func (h *local) folder() bool { return strings.HasSuffix(h.name, "/") }

// locals yields the local headers of an archive one after the other. The loop over them
// must move the reader to the end of each entry.
func (w *walk) locals(s stream, l *countedReader) iter.Seq[local] {
	return func(yield func(local) bool) {
		for !w.over() {
			w.at = s.path
			if h, ok := readLocal(l); !ok || !yield(h) {
				return
			}
		}
	}
}

func readLocal(l *countedReader) (local, bool) {
	b, err := l.br.Peek(30)
	if err != nil || string(b[:4]) != localMark {
		return local{}, false
	}
	h := local{
		flags: binary.LittleEndian.Uint16(b[6:]), method: binary.LittleEndian.Uint16(b[8:]),
		modified: dosTime(binary.LittleEndian.Uint16(b[12:]), binary.LittleEndian.Uint16(b[10:])),
		crc:      binary.LittleEndian.Uint32(b[14:]),
		packed:   uint64(binary.LittleEndian.Uint32(b[18:])), size: uint64(binary.LittleEndian.Uint32(b[22:])),
	}
	nameLength, extraLength := int(binary.LittleEndian.Uint16(b[26:])), int(binary.LittleEndian.Uint16(b[28:]))
	h.descriptor = h.flags&8 != 0
	l.br.Discard(30)
	rest := make([]byte, nameLength+extraLength)
	if _, err := io.ReadFull(l.br, rest); err != nil {
		return local{}, false
	}
	h.name = string(rest[:nameLength])
	h.extend(rest[nameLength:])
	h.sizesUndefined = h.descriptor && h.packed == 0
	return h, true
}

// dosTime is a time in the form of MS-DOS, which knows no zone: UTC is supposed, as
// archive/zip does.
func dosTime(date, clock uint16) time.Time {
	return time.Date(int(date>>9)+1980, time.Month(date>>5&0xf), int(date&0x1f), int(clock>>11), int(clock>>5&0x3f), int(clock&0x1f)*2, 0, time.UTC)
}

// extend takes 64-bit sizes and the time in seconds since 1970 from the extra fields.
func (h *local) extend(extra []byte) {
	for len(extra) >= 4 {
		id, n := binary.LittleEndian.Uint16(extra), int(binary.LittleEndian.Uint16(extra[2:]))
		extra = extra[4:]
		if n > len(extra) {
			return
		}
		if id == 1 && n >= 16 && h.packed == math.MaxUint32 {
			h.size, h.packed = binary.LittleEndian.Uint64(extra), binary.LittleEndian.Uint64(extra[8:])
		}
		if id == extendedTime && n >= 5 && extra[0]&1 != 0 {
			h.modified = time.Unix(int64(int32(binary.LittleEndian.Uint32(extra[1:]))), 0)
		}
		extra = extra[n:]
	}
}

// salvageEntry reads one entry and stops at the next header; it returns false if it
// cannot find that.
func (w *walk) salvageEntry(s stream, l *countedReader, h local, locked *encrypted) bool {
	unreadable, secret := zipRefusal(h.method), isEncrypted(h.method, h.flags)
	if secret && !h.listed {
		locked.add(h.name, h.method)
	}
	if h.sizesUndefined && (unreadable != nil || secret || h.method != methodDeflate) {
		// Only deflate marks its own end.
		if !secret && !h.listed {
			w.unending(s, h, unreadable)
		}
		return false
	}
	data := io.Reader(l.br)
	if !h.sizesUndefined {
		data = io.LimitReader(l.br, int64(min(h.packed, math.MaxInt64)))
	}
	child, ok := stream{}, false
	if !h.folder() && !h.listed {
		child, ok = s.member(w, h.name)
		child.modified = h.modified
	}
	switch {
	case secret, h.listed && !h.sizesUndefined:
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

// extendedTime is the extra field with times of Unix (Info-ZIP, proginfo/extrafld.txt).
const extendedTime = 0x5455

// unending reports that an entry was not read, nor anything after it.
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

func (w *walk) salvageContent(s stream, wanted bool, l *countedReader, data io.Reader, h local) {
	packed := l
	if !h.sizesUndefined {
		packed = w.counted(data)
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
func skipDescriptor(l *countedReader) {
	for _, n := range []int{16, 12, 24, 20} {
		b, _ := l.br.Peek(n + 2)
		if len(b) == n || len(b) == n+2 && string(b[n:]) == "PK" {
			l.br.Discard(n)
			return
		}
	}
}
