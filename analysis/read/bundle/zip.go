package bundle

import (
	"archive/zip"
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"io/fs"
	"math"
	"path"
	"slices"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/say/wording"
)

// zipSpanned begins the first part of an archive in several files (APPNOTE.TXT
// section 8.5.4).
const zipSpanned = "PK\x07\x08"

// localMark begins the header before an entry's data.
const localMark = "PK\x03\x04"

// zipTail is where an end-of-central-directory record may begin: 22 bytes and a
// comment of at most 65,535 before the end.
const zipTail = 22 + 65535

// maybeZip reports whether a stream without a magic may be a zip archive with
// something before it: a self-extracting program, the headers of curl -i.
func (w *walk) maybeZip(s stream, head []byte) bool {
	if bytes.Contains(head, []byte(localMark)) || strings.HasSuffix(strings.ToLower(s.path), ".zip") {
		return true
	}
	if s.random == nil || bytes.IndexByte(head, 0) < 0 {
		return false
	}
	_, ok := directoryEnd(s.random, s.random.size)
	return ok
}

// zipped reads a zip archive, or what only looks like one.
func (w *walk) zipped(s stream, l *countedReader, packings []string) {
	r := s.random
	var cut error
	if r != nil {
		w.stats.BytesIn += max(0, r.size-l.n)
	} else {
		copied, err := w.spool(l.br)
		if err != nil {
			w.problem(analysis.Error, s.path, "this archive could not be read", "no temporary copy could be made: "+err.Error(), "free space for temporary files and try again")
			return
		}
		defer copied.close()
		r, cut = &copied.random, copied.cut
	}
	if w.over() {
		return
	}
	var head [4]byte
	r.ReadAt(head[:], 0)
	entries, unread, whole := countDirectory(r)
	d, _ := directoryEnd(r, r.size)
	switch {
	case string(head[:]) == zipSpanned:
		w.stats.Archives++
		if d.disk+1 > s.parts && d.disk > 0 {
			w.problem(analysis.Error, s.path, "a part of this split file is missing",
				fmt.Sprintf("the archive has %d parts and %d were uploaded", d.disk+1, s.parts), "upload all parts (.z01, .z02, ..., .zip) together in one upload")
		}
		w.salvage(s, r, d.disk > 0, entries)
		return
	case d.disk > 0:
		w.problem(analysis.Error, s.path, "the other parts of this zip archive are missing",
			fmt.Sprintf("it is the last of %d parts (.z01, .z02, ..., .zip)", d.disk+1),
			"upload all parts together in one upload, or join them first: zip -s 0 x.zip --out whole.zip")
	case whole && entries == 0:
		w.stats.Archives++
		w.empty(s)
		return
	case whole && entries <= w.budget.Entries-w.entries:
		zr, err := zip.NewReader(r, r.size)
		if zr != nil {
			w.stats.Archives++
			w.zip(s, zr)
			// The reader stops at the first bad header, without an error if the
			// archive's end counts as few as it read.
			if len(zr.File) < entries || unread > 0 {
				w.unlistedIn(s, r, zr)
			}
			return
		}
		w.problem(analysis.Warning, s.path, "the directory of the zip archive is damaged", err.Error(), reupload)
	case whole:
		// Reading the directory would take hundreds of bytes for each of these entries;
		// the local headers hold the same, one by one.
	}
	if string(head[:]) == localMark {
		w.stats.Archives++
		w.salvage(s, r, whole, entries)
		return
	}
	plain := w.counted(io.MultiReader(io.NewSectionReader(r, 0, r.size), ended{cut}))
	defer plain.close()
	w.leaf(s, plain, packings)
}

// ended is the end of a copied stream: the error that cut it, or io.EOF.
type ended struct{ err error }

func (e ended) Read([]byte) (int, error) {
	if e.err != nil {
		return 0, e.err
	}
	return 0, io.EOF
}

// zip walks the entries that the central directory lists.
func (w *walk) zip(s stream, zr *zip.Reader) {
	shared := overlapping(zr.File)
	others, locked := &tally{}, &encrypted{}
	refusedEntries, folders := 0, 0
	for i, f := range zr.File {
		if !w.entry() {
			break
		}
		if strings.HasSuffix(f.Name, "/") || f.Mode().IsDir() && f.UncompressedSize64 == 0 {
			folders++
			continue
		}
		child, ok := s.member(w, f.Name)
		if !ok {
			continue
		}
		if shared[i] {
			refusedEntries++
			continue
		}
		child.modified = f.Modified
		child.size = int64(min(f.UncompressedSize64, 1<<62))
		w.zipEntry(child, f, others, locked)
	}
	others.report(w, s.path)
	locked.report(w, s.path)
	if folders > 0 && folders == len(zr.File) {
		w.empty(s)
	}
	if refusedEntries > 0 {
		w.problem(analysis.Error, s.path, wording.Plural(refusedEntries, "entry of the zip archive was refused", "entries of the zip archive were refused"),
			"its data is that of another entry as well, as in archives that are made to unpack endlessly", reupload)
	}
}

func (w *walk) zipEntry(s stream, f *zip.File, others *tally, locked *encrypted) {
	if isEncrypted(f.Method, f.Flags) {
		locked.add(f.Name, f.Method)
		return
	}
	if r := zipRefusal(f.Method); r != nil {
		w.problem(analysis.Error, s.path, r.what, r.why, r.hint)
		return
	}
	mode := f.Mode()
	// "dump | zip x.zip -" stores what came through the pipe as the pipe's content.
	piped := mode&fs.ModeNamedPipe != 0 && f.UncompressedSize64 > 0
	if mode&(fs.ModeDevice|fs.ModeNamedPipe|fs.ModeSocket|fs.ModeCharDevice) != 0 && !piped {
		others.add(s.path)
		w.link(s, Device, "")
		return
	}
	raw, err := f.OpenRaw()
	if err != nil {
		w.problem(analysis.Error, s.path, "is damaged", "its local header is not where the directory says", reupload)
		return
	}
	l := w.counted(raw)
	defer l.close()
	d, err := w.zipMethod(f.Method, l.br, s.path)
	if err != nil {
		b := explain(err)
		w.broken(analysis.Error, s.path, b)
		return
	}
	defer d.close()
	r := &sized{r: &meter{w: w, r: d, in: l.consumed}, size: f.UncompressedSize64, crc: f.CRC32, hash: crc32.NewIEEE()}
	if mode&fs.ModeSymlink != 0 {
		target, _ := io.ReadAll(io.LimitReader(r, maxLink))
		w.link(s, Symlink, string(target))
		return
	}
	w.content(s, r)
}

// The methods that are read (APPNOTE.TXT section 4.4.5).
const (
	methodStore   = 0
	methodDeflate = 8
	methodBzip2   = 12
	methodZstd    = 93
)

func (w *walk) zipMethod(method uint16, br *bufio.Reader, path string) (decoder, error) {
	switch method {
	case methodDeflate:
		return w.inflate(br), nil
	case methodBzip2:
		return w.decoder(formatBzip2, br, path)
	case methodZstd:
		return w.decoder(formatZstd, br, path)
	}
	return decoder{br, func() {}}, nil
}

// zipRefusal names what cannot be read, before any byte of it is.
func zipRefusal(method uint16) *refusal {
	switch method {
	case methodStore, methodDeflate, methodBzip2, methodZstd:
		return nil
	}
	name := map[uint16]string{
		1: "Shrink", 6: "Implode", 9: "Deflate64", 14: "LZMA", 18: "IBM TERSE", 19: "IBM LZ77", 20: "an old Zstandard",
		94: "MP3", 95: "XZ", 96: "JPEG", 97: "WavPack", 98: "PPMd",
	}[method]
	if name == "" {
		name = "unknown"
	}
	hint := "make the archive again with the method Deflate, or as .tar.gz"
	if method == 9 {
		hint += "; Windows Explorer takes Deflate64 above 2 GB"
	}
	return &refusal{"the packing method of this entry is not supported", fmt.Sprintf("it is %s (method %d)", name, method), hint}
}

// methodAES stands for the encryption of WinZip; an extra field holds the packing
// inside it.
const methodAES = 99

func isEncrypted(method, flags uint16) bool { return flags&1 != 0 || method == methodAES }

// encrypted counts the entries of an archive that need its password.
type encrypted struct {
	n     int
	first string
	aes   bool
}

func (e *encrypted) add(name string, method uint16) {
	if e.n == 0 {
		e.first = cleanPath(name)
	}
	e.n++
	e.aes = e.aes || method == methodAES
}

// report names the archive, the first entry, and what opens it: unzip of Info-ZIP
// knows no AES.
func (e *encrypted) report(w *walk, archive string) {
	if e.n == 0 {
		return
	}
	what := e.first + " in it is encrypted"
	if e.n > 1 {
		what = fmt.Sprintf("%s and %s in it are encrypted", e.first, wording.Plural(e.n-1, "other file", "other files"))
	}
	name := path.Base(archive)
	open := "unzip -P PASSWORD " + name + " or 7z x " + name
	if e.aes {
		open = "7z x " + name
	}
	w.problem(analysis.Error, archive, what, "the zip archive was made with a password",
		"unpack it where the password is known ("+open+") and upload the files, or an archive of them without a password")
}

// overlapping finds entries whose packed data lies inside another entry's; the
// first in the file is kept.
func overlapping(files []*zip.File) map[int]bool {
	type span struct {
		from, to int64
		index    int
	}
	var spans []span
	for i, f := range files {
		from, err := f.DataOffset()
		if err == nil && f.CompressedSize64 > 0 {
			spans = append(spans, span{from, from + int64(min(f.CompressedSize64, 1<<62)), i})
		}
	}
	slices.SortStableFunc(spans, func(a, b span) int {
		switch {
		case a.from < b.from:
			return -1
		case a.from > b.from:
			return 1
		}
		return 0
	})
	out := map[int]bool{}
	var end int64
	for _, s := range spans {
		if s.from < end {
			out[s.index] = true
			continue
		}
		end = s.to
	}
	return out
}

// sized holds an entry to the size and checksum that its header declares.
type sized struct {
	r    io.Reader
	size uint64
	crc  uint32
	hash hash.Hash32
	n    uint64
}

func (z *sized) Read(p []byte) (int, error) {
	n, err := z.r.Read(p)
	if left := z.size - z.n; uint64(n) > left {
		n = int(left)
		err = &broken{what: "is damaged", cut: true, hint: reupload,
			why: fmt.Sprintf("it declares %d bytes and holds more", z.size)}
	}
	z.n += uint64(n)
	z.hash.Write(p[:n])
	if err != io.EOF {
		return n, err
	}
	if z.n < z.size {
		return n, &broken{what: "stops before its end", code: analysis.CutFile, cut: true, hint: reupload, err: io.ErrUnexpectedEOF,
			why: fmt.Sprintf("it declares %d bytes and holds %d", z.size, z.n)}
	}
	if z.crc != 0 && z.hash.Sum32() != z.crc {
		return n, &broken{what: "is damaged", hint: reupload, err: zip.ErrChecksum,
			why: "its checksum does not match its content"}
	}
	return n, io.EOF
}

// directory is the place of the central directory, and the part that holds it, counted
// from 0, in an archive of several files.
type directory struct {
	end, size, offset int64
	disk              int
}

// directoryEnd finds the end-of-central-directory record, in its zip64 form
// if there is one.
func directoryEnd(r io.ReaderAt, size int64) (directory, bool) {
	tail := make([]byte, min(size, zipTail))
	if n, err := r.ReadAt(tail, size-int64(len(tail))); n < len(tail) && err != nil {
		return directory{}, false
	}
	at := bytes.LastIndex(tail, []byte("PK\x05\x06"))
	if at < 0 || len(tail)-at < 22 {
		return directory{}, false
	}
	record := tail[at:]
	d := directory{
		end:  size - int64(len(tail)) + int64(at),
		size: int64(binary.LittleEndian.Uint32(record[12:])), offset: int64(binary.LittleEndian.Uint32(record[16:])),
		disk: int(binary.LittleEndian.Uint16(record[4:])),
	}
	if d.disk == math.MaxUint16 { // the zip64 record has it
		d.disk = 0
	}
	if at < 20 || string(tail[at-20:at-16]) != "PK\x06\x07" {
		return d, true
	}
	// The zip64 record lies right before its locator, whatever place the locator names.
	var wide [56]byte
	if _, err := r.ReadAt(wide[:], d.end-20-56); err != nil || string(wide[:4]) != "PK\x06\x06" {
		return d, true
	}
	d.end -= 20 + 56
	d.size, d.offset = int64(binary.LittleEndian.Uint64(wide[40:])), int64(binary.LittleEndian.Uint64(wide[48:]))
	return d, true
}

// countDirectory counts the entries of the central directory without keeping them, and
// the bytes of it that are none of them; whole is false if there is no directory.
func countDirectory(r *random) (entries int, unread int64, whole bool) {
	d, ok := directoryEnd(r, r.size)
	if !ok {
		return 0, 0, false
	}
	for _, start := range []int64{d.offset, d.end - d.size} {
		if start < 0 || start > r.size {
			continue
		}
		n, length := countFrom(bufio.NewReaderSize(io.NewSectionReader(r, start, r.size-start), 16<<10))
		if n > entries {
			entries, unread = n, max(0, d.size-length)
		}
	}
	return entries, unread, entries > 0 || d.size == 0
}

// countFrom counts headers that follow one another, and their bytes including a digital
// signature after them (APPNOTE.TXT section 4.3.13).
func countFrom(br *bufio.Reader) (n int, length int64) {
	for {
		h, err := br.Peek(46)
		if err != nil || string(h[:4]) != "PK\x01\x02" {
			break
		}
		size := 46 + int(binary.LittleEndian.Uint16(h[28:])) + int(binary.LittleEndian.Uint16(h[30:])) + int(binary.LittleEndian.Uint16(h[32:]))
		if _, err := br.Discard(size); err != nil {
			return n, length
		}
		n++
		length += int64(size)
	}
	if h, err := br.Peek(6); err == nil && string(h[:4]) == "PK\x05\x05" {
		length += 6 + int64(binary.LittleEndian.Uint16(h[4:]))
	}
	return n, length
}
