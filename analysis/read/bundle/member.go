package bundle

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"time"

	"leakdiff/analysis"
)

// Type is the type of an entry.
type Type string

// The types of members. Directories are not visited.
const (
	Regular  Type = "regular"
	Symlink  Type = "symlink"
	Hardlink Type = "hardlink"
	// Device stands for character and block devices, pipes and sockets.
	Device Type = "device"
)

// PeekLimit is the most that Member.Peek returns.
const PeekLimit = 1 << 20

// maxLink is how much of a link's target is kept; Linux allows 4095 bytes.
const maxLink = 4096

// Member is one file or link of the bundle. It and everything it returns are valid only
// during the visit.
type Member struct {
	// Path is the display path: slashes, never absolute, never "..", "!/" after
	// the name of an archive. No two members of a walk have the same.
	Path string
	Type Type
	// Link is the target of a link, as data: "socket:[60463]", "/etc/passwd".
	// The target of a hard link is an earlier member's name as the archive has it.
	Link string
	// Size is what the archive or input declares, -1 if unknown, as below a
	// packing.
	Size int64
	// ModTime is the time inside the archive, or that of the Input; zero if it is not
	// known or implausible: before 2000 or more than a day ahead.
	ModTime time.Time
	// Loose is a file outside archives.
	Loose bool
	// Compressed names the packings removed around the content, outermost first.
	Compressed []string
	// Encoding is "utf-16le", "utf-16be" or "utf-8-bom" if Body was transcoded
	// to plain UTF-8 from it, else empty.
	Encoding string
	// Head is the first 64 KiB of Body, less only if Body is shorter.
	Head []byte
	// Body is the whole content, Head included. It also ends with io.EOF where the
	// content is cut or a budget is used up; Truncated then returns true. Only the end
	// of the whole walk returns another error. Bytes left unread are skipped.
	Body io.Reader

	w     *walk
	br    *bufio.Reader
	whole bool
	err   error
	// small is what is unread of a member that lies in a buffer as a whole; br is nil
	// then.
	small []byte
}

// Whole reports whether Head is all of the content.
func (m *Member) Whole() bool { return m.whole }

// Peek returns up to n bytes from the beginning of Body, at most PeekLimit,
// without consuming them. It must be called before Body is read; the result is
// valid until then.
func (m *Member) Peek(n int) []byte {
	if m.br == nil {
		return m.small[:min(max(n, 0), len(m.small))]
	}
	n = min(n, PeekLimit)
	if n > m.br.Size() {
		if m.w.peeker == nil {
			m.w.peeker = bufio.NewReaderSize(nil, PeekLimit)
		}
		m.w.peeker.Reset(m.br)
		m.br = m.w.peeker
	}
	head, _ := m.br.Peek(n)
	return head
}

// Parsing lifts the budgets but those of bytes and time until the visit ends: the
// content is being read as a dump.
func (m *Member) Parsing() { m.w.parsing = true }

// Truncated reports that Body ended before the content did.
func (m *Member) Truncated() bool {
	return m.err != nil && explain(m.err).cut
}

// Stop returns the error that ends the walk, or nil if err concerns this member only.
func (m *Member) Stop(err error) error {
	if err == nil {
		return nil
	}
	return m.w.err
}

// body reads a member and turns every end but the walk's into io.EOF.
type body struct{ m *Member }

func (b body) Read(p []byte) (int, error) {
	m := b.m
	if m.br == nil {
		n := copy(p, m.small)
		m.small = m.small[n:]
		m.w.stats.BytesOut += int64(n)
		if len(m.small) == 0 {
			return n, io.EOF
		}
		return n, nil
	}
	n, err := m.br.Read(p)
	m.w.stats.BytesOut += int64(n)
	if err == nil || err == io.EOF {
		return n, err
	}
	if m.w.err != nil {
		return n, m.w.err
	}
	m.err = err
	return n, io.EOF
}

var firstPlausible = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// plausible drops times that are no evidence for the time of the capture: promtool and
// InfluxDB write 1970, zip writers without a time 1979 or 1980.
func (w *walk) plausible(t time.Time) time.Time {
	if t.Before(firstPlausible) || t.After(w.now().Add(24*time.Hour)) {
		return time.Time{}
	}
	return t.UTC()
}

// leaf has the stream's content visited as it is.
func (w *walk) leaf(s stream, l *countedReader, packings []string) {
	if w.over() || w.want != "" && w.want != s.path {
		return
	}
	m := &Member{
		Path: s.path, Type: Regular, Size: s.size, ModTime: w.plausible(s.modified), Loose: s.depth == 0,
		Compressed: packings, w: w, br: l.br,
	}
	head, _ := l.br.Peek(headSize)
	if encoding, r := transcode(head, l.br); encoding != "" {
		text := w.counted(r)
		defer text.close()
		m.Encoding, m.br = encoding, text.br
		m.Size = -1
	}
	if len(packings) > 0 {
		m.Size = -1
	}
	w.deliver(m)
}

// smallLeaf has an entry visited that lies in a buffer as a whole, without a reader for
// it; false, and nothing done, where it is not a plain file.
func (w *walk) smallLeaf(s stream, content []byte) bool {
	if w.over() || w.want != "" || identify(content, true) != formatNone || refused(content, s.path) != nil || w.maybeZip(s, content) {
		return false
	}
	if encoding, _ := encodingOf(content); encoding != "" {
		return false
	}
	w.stats.Files++
	w.small = Member{
		Path: s.path, Type: Regular, Size: s.size, ModTime: w.plausible(s.modified),
		Head: content, w: w, whole: true, small: content,
	}
	w.small.Body = body{&w.small}
	w.visited(&w.small)
	w.small.small = nil
	return true
}

func (w *walk) deliver(m *Member) {
	head, err := m.br.Peek(headSize)
	w.head = append(w.head[:0], head...)
	m.Head, m.whole = w.head, err != nil
	m.Body = body{m}
	if w.check() != nil {
		return
	}
	w.stats.Files++
	w.visited(m)
	if w.err == nil && m.err != nil && !errors.Is(m.err, errStopped) && !errors.Is(m.err, errReported) {
		b := explain(m.err)
		w.broken(analysis.Warning, m.Path, b)
	}
	m.br = nil
}

// link has a link visited.
func (w *walk) link(s stream, t Type, target string) {
	if w.over() || w.want != "" && w.want != s.path {
		return
	}
	if len(target) > maxLink {
		target = target[:maxLink]
	}
	w.visited(&Member{
		Path: s.path, Type: t, Link: target, ModTime: w.plausible(s.modified), Loose: s.depth == 0,
		whole: true, w: w, Body: strings.NewReader(""),
	})
}

func (w *walk) visited(m *Member) {
	w.parsing = w.want != ""
	err := w.visit(m)
	w.parsing = false
	if err != nil && w.err == nil {
		w.err = err
	}
}
