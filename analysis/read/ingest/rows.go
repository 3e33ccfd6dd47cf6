package ingest

import (
	"iter"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/column"
	"leakdiff/analysis/read/envelope"
)

// rows are the descriptors of one process between a listing and its families. They are
// packed, since the listing of a node has hundreds of thousands: repeated texts are
// kept once for all of the file, and numbers as their distance from the row before.
type rows struct {
	words  *rowWords
	n      int
	packed column.Codec
	last   numbers
}

// numbers are those of a row that the next one is near to.
type numbers struct {
	fd, inode, line, end, length, artifact int64
}

// rowWords are what the rows of one file repeat.
type rowWords struct {
	kinds numbered[rowKind]
	names numbered[string]
}

// rowKind is a row without its numbers and names.
type rowKind struct {
	kind, access, device, protocol, state string
	deleted, idle, unread                 bool
}

// Names up to maxName bytes are kept once, as many as maxNames of a file.
const (
	maxNames = 1 << 14
	maxName  = 256
)

func newRowWords() *rowWords { return &rowWords{} }

// add keeps a descriptor and nothing of the memory that its strings lie in.
func (r *rows) add(d *analysis.Descriptor) {
	r.n++
	row := *d
	r.words.code(&r.packed, &r.last, &row)
}

// all yields the descriptors in their order; each is valid until the next.
func (r *rows) all() iter.Seq[*analysis.Descriptor] {
	return func(yield func(*analysis.Descriptor) bool) {
		if r == nil {
			return
		}
		c := column.Reader(r.packed.Data())
		var last numbers
		for len(c.Data()) > 0 {
			var d analysis.Descriptor
			if r.words.code(c, &last, &d); !yield(&d) {
				return
			}
		}
	}
}

// code writes or reads a descriptor after the one with the last numbers.
func (w *rowWords) code(c *column.Codec, last *numbers, d *analysis.Descriptor) {
	w.kind(c, d)
	fd, inode, artifact := int64(d.FD), int64(d.Inode), int64(d.Place.Artifact)
	c.Step(&fd, &last.fd)
	c.Step(&inode, &last.inode)
	c.Step(&artifact, &last.artifact)
	c.Step(&d.Place.Line, &last.line)
	c.Step(&d.Place.Offset, &last.end)
	c.Step(&d.Place.Length, &last.length)
	last.end += d.Place.Length
	d.FD, d.Inode, d.Place.Artifact = int(fd), uint64(inode), int(artifact)
	if w.name(c, d) {
		return
	}
	c.Text(&d.Name)
	codePart(c, d.Name, &d.Local)
	codePart(c, d.Name, &d.Remote)
}

// kind writes or reads the number of a kind; what is kept of it shares no memory with the row.
func (w *rowWords) kind(c *column.Codec, d *analysis.Descriptor) {
	var at uint64
	if !c.Reading() {
		k := rowKind{d.Type, d.Access, d.Device, d.Protocol, d.State, d.Deleted, d.Idle, d.Unread}
		if _, known := w.kinds.at[k]; !known {
			for _, text := range []*string{&k.kind, &k.access, &k.device, &k.protocol, &k.state} {
				*text = strings.Clone(*text)
			}
		}
		at = w.kinds.number(k)
	}
	if c.Uint(&at); c.Reading() {
		k := w.kinds.all[at]
		d.Type, d.Access, d.Device, d.Protocol, d.State, d.Deleted, d.Idle, d.Unread = k.kind, k.access, k.device, k.protocol, k.state, k.deleted, k.idle, k.unread
	}
}

// name writes or reads the number of a name, counted from 1. It writes 0 and returns false for
// a name that is not kept here.
func (w *rowWords) name(c *column.Codec, d *analysis.Descriptor) bool {
	var at uint64
	if !c.Reading() && d.Local == "" && d.Remote == "" { // one connection is not like another
		known, ok := w.names.at[d.Name]
		switch {
		case ok:
			at = 1 + uint64(known)
		case len(d.Name) <= maxName && len(w.names.all) < maxNames:
			at = 1 + w.names.number(strings.Clone(d.Name))
		}
	}
	if c.Uint(&at); at > 0 && c.Reading() {
		d.Name = w.names.all[at-1]
	}
	return at > 0
}

// codePart writes or reads a text that is mostly a part of another: the index where it begins
// there, counted from 1, and its length; or 0 and the text.
func codePart(c *column.Codec, whole string, part *string) {
	at, n := uint64(strings.Index(whole, *part)+1), uint64(len(*part))
	if c.Uint(&at); at == 0 {
		c.Text(part)
		return
	}
	if c.Uint(&n); c.Reading() {
		*part = whole[at-1:][:n]
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
func (r *rows) release() { r.packed = column.Codec{} }

func (r *rows) len() int {
	if r == nil {
		return 0
	}
	return r.n
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
