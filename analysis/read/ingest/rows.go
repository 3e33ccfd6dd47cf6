package ingest

import (
	"encoding/binary"
	"iter"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/read/envelope"
)

// rows are the descriptors of one process between a listing and its families. They are
// packed, since the listing of a node has hundreds of thousands: repeated texts are
// kept once for all of the file, and numbers as their distance from the row before.
type rows struct {
	words *rowWords
	n     int
	data  []byte
	last  numbers
}

// numbers are those of a row that the next one is near to.
type numbers struct {
	fd, inode, line, end, length, artifact int64
}

// rowWords are what the rows of one file repeat.
type rowWords struct {
	kinds  []rowKind
	kindOf map[rowKind]uint64
	names  []string
	nameOf map[string]uint64
}

// rowKind is a row without its numbers and names.
type rowKind struct {
	kind, access, device, protocol, state string
	deleted, idle                         bool
}

// Names up to maxName bytes are kept once, as many as maxNames of a file.
const (
	maxNames = 1 << 14
	maxName  = 256
)

func newRowWords() *rowWords {
	return &rowWords{kindOf: map[rowKind]uint64{}, nameOf: map[string]uint64{}}
}

// of numbers a kind; what is kept of it shares no memory with the row.
func (w *rowWords) of(s rowKind) uint64 {
	n, known := w.kindOf[s]
	if !known {
		for _, text := range []*string{&s.kind, &s.access, &s.device, &s.protocol, &s.state} {
			*text = strings.Clone(*text)
		}
		n = uint64(len(w.kinds))
		w.kinds = append(w.kinds, s)
		w.kindOf[s] = n
	}
	return n
}

// name numbers a name from 1; 0 is one that is not kept here.
func (w *rowWords) name(name string) uint64 {
	n, known := w.nameOf[name]
	if !known && len(name) <= maxName && len(w.names) < maxNames {
		name = strings.Clone(name)
		w.names = append(w.names, name)
		n = uint64(len(w.names))
		w.nameOf[name] = n
	}
	return n
}

// add keeps a descriptor and nothing of the memory that its strings lie in.
func (r *rows) add(d *analysis.Descriptor) {
	r.n++
	data, last := r.data, &r.last
	data = binary.AppendUvarint(data, r.words.of(rowKind{d.Type, d.Access, d.Device, d.Protocol, d.State, d.Deleted, d.Idle}))
	for _, step := range [...]int64{
		int64(d.FD) - last.fd, int64(d.Inode) - last.inode, d.Place.Line - last.line, d.Place.Offset - last.end,
		d.Place.Length - last.length, int64(d.Place.Artifact) - last.artifact,
	} {
		data = binary.AppendVarint(data, step)
	}
	*last = numbers{int64(d.FD), int64(d.Inode), d.Place.Line, d.Place.Offset + d.Place.Length, d.Place.Length, int64(d.Place.Artifact)}
	name := uint64(0)
	if d.Local == "" && d.Remote == "" { // one connection is not like another
		name = r.words.name(d.Name)
	}
	data = binary.AppendUvarint(data, name)
	if name == 0 {
		data = appendText(data, d.Name)
		data = appendPart(data, d.Name, d.Local)
		data = appendPart(data, d.Name, d.Remote)
	}
	r.data = data
}

func appendText(data []byte, text string) []byte {
	return append(binary.AppendUvarint(data, uint64(len(text))), text...)
}

// appendPart appends a text that is mostly a part of another: the index where it begins
// there, counted from 1, and its length; or 0 and the text.
func appendPart(data []byte, whole, part string) []byte {
	if at := strings.Index(whole, part); at >= 0 {
		data = binary.AppendUvarint(data, uint64(at)+1)
		return binary.AppendUvarint(data, uint64(len(part)))
	}
	return appendText(append(data, 0), part)
}

// all yields the descriptors in their order; each is valid until the next.
func (r *rows) all() iter.Seq[*analysis.Descriptor] {
	return func(yield func(*analysis.Descriptor) bool) {
		if r == nil || r.data == nil {
			return
		}
		in := unpacking{words: r.words, data: string(r.data)}
		var d analysis.Descriptor
		for range r.n {
			in.next(&d)
			if !yield(&d) {
				return
			}
		}
	}
}

// relocated are the descriptors with their places in the file around their text.
func (r *rows) relocated(places *envelope.Places) *rows {
	out := &rows{words: r.words}
	for d := range r.all() {
		d.Place.Line, d.Place.Offset = places.Locate(d.Place.Offset)
		out.add(d)
	}
	return out
}

// release frees the descriptors once their families are formed; their number stays.
func (r *rows) release() { r.data = nil }

func (r *rows) len() int {
	if r == nil {
		return 0
	}
	return r.n
}

// unpacking undoes add. Names are cut out of one copy of the data.
type unpacking struct {
	words *rowWords
	data  string
	last  numbers
}

func (u *unpacking) next(d *analysis.Descriptor) {
	s := u.words.kinds[u.uvarint()]
	last := &u.last
	last.fd += u.varint()
	last.inode += u.varint()
	last.line += u.varint()
	offset := last.end + u.varint()
	last.length += u.varint()
	last.artifact += u.varint()
	last.end = offset + last.length
	*d = analysis.Descriptor{
		FD: int(last.fd), Inode: uint64(last.inode), Type: s.kind, Access: s.access, Device: s.device,
		Protocol: s.protocol, State: s.state, Deleted: s.deleted, Idle: s.idle,
		Place: analysis.Place{Artifact: int(last.artifact), Line: last.line, Offset: offset, Length: last.length},
	}
	if name := u.uvarint(); name > 0 {
		d.Name = u.words.names[name-1]
		return
	}
	d.Name = u.text()
	d.Local = u.part(d.Name)
	d.Remote = u.part(d.Name)
}

func (u *unpacking) text() string {
	n := u.uvarint()
	text := u.data[:n]
	u.data = u.data[n:]
	return text
}

func (u *unpacking) part(whole string) string {
	at := u.uvarint()
	if at == 0 {
		return u.text()
	}
	return whole[at-1:][:u.uvarint()]
}

func (u *unpacking) varint() int64 {
	zigzag := u.uvarint()
	return int64(zigzag>>1) ^ -int64(zigzag&1)
}

func (u *unpacking) uvarint() uint64 {
	v := uint64(0)
	for i := 0; ; i++ {
		c := u.data[i]
		v |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			u.data = u.data[i+1:]
			return v
		}
	}
}

// list are descriptors of one source, packed or not.
type list struct {
	packed *rows
	plain  []analysis.Descriptor
}

func (l list) len() int { return l.packed.len() + len(l.plain) }

// all yields them in their order; each is valid until the next.
func (l list) all() iter.Seq[*analysis.Descriptor] {
	if l.packed != nil {
		return l.packed.all()
	}
	return func(yield func(*analysis.Descriptor) bool) {
		for i := range l.plain {
			if !yield(&l.plain[i]) {
				return
			}
		}
	}
}

// unpacked are copies, which may be changed.
func (l list) unpacked() []analysis.Descriptor {
	out := make([]analysis.Descriptor, 0, l.len())
	for d := range l.all() {
		out = append(out, *d)
	}
	return out
}
