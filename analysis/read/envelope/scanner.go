package envelope

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	"leakdiff/analysis"
)

const (
	// maxSources bounds the sources that are followed at once; a new one replaces the one
	// that was silent longest.
	maxSources = 16
	// maxSilence is after how many lines of others a source that is silent has
	// ended its dump.
	maxSilence = 20_000
	// rewindLines is how many lines before a marker are read again: the beginning
	// of a crash, the fields of a record before its message.
	rewindLines = 128
	// lookEvery is after how many lines it is asked whether they still matter.
	lookEvery = 64
)

// scanner reads a file. It seeks the next marker of a dump, goes back some lines,
// and reads line by line as long as a dump is open.
type scanner struct {
	cfg   Config
	in    *window
	marks *markers
	// special is what lines are looked at closely for.
	special *markers

	layers  []layer
	html    bool
	sources map[string]*source
	last    *source // of the line before
	indent  int     // length of the prefix of the line before
	key     []byte
	colours []byte
	// unmarked is true if the line being read has no marker, no end of a dump, and no
	// escape sequence that hides one or colours the line.
	unmarked bool
	scanned  int64 // offset up to which lines were taken
	lines    int64 // taken
	record   record
	fields   fields
	// fieldless is up to where no time of journalctl -o export was found.
	fieldless int64

	// newestFirst is true if the records of the input come in falling order of time.
	newestFirst bool

	encoders encoders
	stream   stream
	kept     int64
	sections []Section
	left     int // dumps that were not kept
	info     Info
	problems []analysis.Problem
	omitted  int
}

func newScanner(r io.Reader, cfg Config) *scanner {
	return &scanner{cfg: cfg, in: newWindow(r), sources: map[string]*source{}, stream: stream{read: cfg.Stream}}
}

func (s *scanner) run() {
	for s.in.end < documentHead && s.in.err == nil {
		s.in.fill()
	}
	head := s.in.buf[:s.in.end]
	arrays := bytes.Contains(head, []byte(`"MESSAGE"`))
	s.marks, s.special = newMarkers(arrays), newMarkers(arrays, endWord, "\x1b", `\u`)
	if name := documentName(head); name != "" {
		if name == logcliName {
			s.logcli()
		} else {
			s.document(name)
		}
		for _, src := range s.sources {
			src.end()
		}
		return
	}
	s.html = bytes.HasPrefix(trim(head[:min(len(head), 512)]), []byte("<")) && startsHTML(trim(head))
	if s.cfg.Blocks || s.cfg.Commands {
		s.scan()
	}
	for s.in.seek(s.marks) {
		s.approach()
		s.rewind()
		s.scan()
	}
	s.endRecord()
	for _, src := range s.sources {
		src.end()
	}
}

// startsHTML separates a page from a syslog line that begins with its priority.
func startsHTML(b []byte) bool {
	if bytes.HasPrefix(b, []byte("<!")) {
		return true
	}
	n, _ := tag(string(b[:min(len(b), 512)]))
	return n > 0
}

func (s *scanner) result() ([]Section, Info, []analysis.Problem, error) {
	slices.SortStableFunc(s.sections, func(a, b Section) int { return int(min(max(a.Offset-b.Offset, -1), 1)) })
	if s.newestFirst {
		slices.Reverse(s.sections)
	}
	s.days()
	s.info.Sections, s.info.Bytes, s.info.Kept = int64(len(s.sections)), s.in.offset(), s.kept
	s.info.Lines = s.in.line
	if s.in.end > 0 && s.in.buf[s.in.end-1] != '\n' {
		s.info.Lines++
	}
	for _, o := range s.sections {
		s.info.Headers += o.Headers
		switch s.info.Form {
		case "":
			s.info.Form = o.Form
		case o.Form:
		default:
			if !bytes.HasSuffix([]byte(s.info.Form), []byte(" and others")) {
				s.info.Form += " and others"
			}
		}
	}
	if s.left > 0 {
		s.problems = append(s.problems, analysis.Problem{
			Path: s.cfg.Path, Offset: -1, Severity: analysis.Warning,
			What: fmt.Sprintf("%d dumps inside other text were not kept", s.left),
			Why:  fmt.Sprintf("the first %d, or %d MiB of them compressed, are kept of one file", s.cfg.MaxSections, s.cfg.MaxKept>>20),
			Hint: "split the file and upload the parts",
		})
	}
	if s.omitted > 0 {
		s.problems = append(s.problems, analysis.Problem{
			Path: s.cfg.Path, Offset: -1, Severity: analysis.Note,
			What: fmt.Sprintf("%d more problems are not listed", s.omitted),
			Why:  fmt.Sprintf("only the first %d are kept", s.cfg.MaxProblems),
			Hint: "look at the first ones; the rest is mostly of the same kind",
		})
	}
	err := s.in.err
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return s.sections, s.info, s.problems, err
}

// days finds the days of clocks without a date: none is after the dump that follows it.
func (s *scanner) days() {
	for i := len(s.sections) - 2; i >= 0; i-- {
		o, next := &s.sections[i], &s.sections[i+1]
		if o.Dayless && !o.Time.IsZero() && !next.Time.IsZero() && o.Source == next.Source {
			o.Time = notAfter(o.Time, next.Time)
		}
	}
}

func (s *scanner) problem(p analysis.Problem) {
	if len(s.problems) >= s.cfg.MaxProblems {
		s.omitted++
		return
	}
	p.Path = s.cfg.Path
	s.problems = append(s.problems, p)
}

// approach learns from the line with a marker how to read those before it.
func (s *scanner) approach() {
	w := s.in
	behind := 0
	for bytes.IndexByte(w.buf[w.pos+behind:w.end], '\n') < 0 && w.err == nil && w.end-w.pos < maxLine {
		behind = w.end - w.pos
		w.fill()
	}
	low := max(0, w.pos-lookBack, int(s.scanned-w.base))
	begin := bytes.LastIndexByte(w.buf[low:w.pos], '\n') + 1 + low
	end := bytes.IndexByte(w.buf[w.pos:w.end], '\n')
	if end < 0 {
		end = w.end - w.pos
	}
	line := w.buf[begin : w.pos+end]
	if len(s.layers) == 0 && s.indented(begin) {
		s.layers = []layer{{kind: layerSyslog}}
		return
	}
	if bytes.IndexByte(line, 0x1b) >= 0 {
		line = dropColours(nil, line)
	}
	if m := markerIn(line); m >= 0 {
		s.learn(line, m)
	}
}

// indented reports whether the line at an index continues a message of journald:
// it is indented by the length of the prefix of a line before it.
func (s *scanner) indented(begin int) bool {
	b := s.in.buf
	indent := run(b[begin:s.in.end], func(c byte) bool { return c == ' ' })
	for end := begin; end > 0 && begin-end < lookBack && indent >= 16; {
		from := bytes.LastIndexByte(b[:end-1], '\n') + 1
		if line := b[from : end-1]; len(line) > 0 && line[0] != ' ' {
			c, ok := cutSyslog(line)
			return ok && len(line)-len(c.text) <= indent
		}
		end = from
	}
	return false
}

// rewind goes back from a marker to some lines before it, but not to what was taken
// already. In a line that began long before it goes back a little.
func (s *scanner) rewind() {
	w := s.in
	low := max(0, w.pos-lookBack, int(s.scanned-w.base))
	begin := bytes.LastIndexByte(w.buf[low:w.pos], '\n') + 1 + low
	if begin == low && w.base+int64(low) != s.scanned {
		w.goBack(max(low, w.pos-stringSpan))
		w.inLine = true
		s.last = s.source(nil, nil)
		s.last.stamp, s.last.moment = nil, moment{}
		return
	}
	for range rewindLines {
		if begin == low {
			break
		}
		at := bytes.LastIndexByte(w.buf[low:begin-1], '\n')
		if at < 0 {
			if w.base+int64(low) == s.scanned {
				begin = low
			}
			break
		}
		begin = low + at + 1
	}
	w.goBack(begin)
	w.inLine = false
}

// scan takes lines until nothing is open any more.
func (s *scanner) scan() {
	for n := 1; ; n++ {
		p, ok := s.in.next()
		if !ok {
			break
		}
		s.lines++
		s.take(p)
		s.scanned = s.in.offset()
		// A marker may lie up to rewindLines ahead.
		if n > 2*rewindLines && n%lookEvery == 0 && p.last && !s.busy() && !s.cfg.Blocks && !s.cfg.Commands {
			break
		}
	}
	s.scanned = s.in.offset()
}

// busy reports whether any dump is open, and ends those of sources that are
// silent.
func (s *scanner) busy() bool {
	busy := false
	for _, src := range s.sources {
		if src.busy() && src.used < s.lines-maxSilence {
			src.end()
		}
		busy = busy || src.busy()
	}
	return busy
}

// take takes a line, or a piece of a long one.
func (s *scanner) take(p *piece) {
	b := p.text
	at := place{line: p.line, off: p.off, text: p.off, exact: true}
	s.unmarked = p.first && p.last && !s.html && !s.in.marked(s.special, p)
	if p.last {
		b = bytes.TrimSuffix(b, []byte("\r"))
	}
	switch {
	case !p.first:
		if s.last != nil {
			s.last.used = s.lines
			s.last.feed(b, !p.last, at)
		}
	case !p.last:
		src, rest, _ := s.peel(b)
		if src == nil {
			src, rest = s.source(nil, nil), b
			src.stamp, src.moment = nil, moment{}
		}
		s.last = src
		src.feed(rest, true, at.skip(len(b)-len(rest)))
	default:
		if p.off == 0 {
			trimmed := bytes.TrimPrefix(b, []byte("\xef\xbb\xbf"))
			at, b = at.skip(len(b)-len(trimmed)), trimmed
		}
		if !s.unmarked {
			if bytes.IndexByte(b, 0x1b) >= 0 {
				s.colours = dropColours(s.colours[:0], b)
				b, at.exact = s.colours, false
			}
			if m := markerIn(b); m >= 0 && !s.cfg.Blocks && !s.cfg.Commands {
				s.learn(b, m)
			}
		}
		s.whole(b, at)
	}
}

// whole takes a line that is in memory as a whole.
func (s *scanner) whole(b []byte, at place) {
	if s.cfg.Blocks {
		s.source(nil, nil).enclosed(b, at)
		return
	}
	if s.cfg.Commands {
		s.source(nil, nil).printed(b, at)
		return
	}
	if len(s.layers) > 0 {
		switch l := &s.layers[0]; l.kind {
		case layerJSON:
			s.object(b, l, at)
			return
		case layerVerbose, layerExport:
			s.unmarked = false // what is given is the record before
			s.field(b, l, at)
			return
		}
	}
	src, rest, partial := s.peel(b)
	if src == nil {
		return
	}
	s.last = src
	src.feed(rest, partial, at.skip(len(b)-len(rest)))
}

// markerIn is where a marker begins in a line, those of journald's arrays of bytes
// included.
func markerIn(b []byte) int {
	if i := nextMarker(b); i >= 0 {
		return i
	}
	if bare := bareObject(b); len(bare) > 0 && (bare[0] == '{' || bare[0] == '[') {
		if i := bytes.Index(b, []byte("103,111,114,111,117,116,105,110,101,32,")); i >= 0 {
			return i
		}
		return bytes.Index(b, []byte("103, 111, 114, 111, 117, 116, 105, 110, 101, 32,"))
	}
	return -1
}

// learn finds the layers around a line with a marker, unless the known ones already
// lead to it.
func (s *scanner) learn(b []byte, marker int) {
	// Pages are saved in parts, too, and pasted below a text.
	s.html = s.html || endsWithTag(b[:marker])
	if s.known(b, marker) {
		return
	}
	if len(bytes.TrimLeft(b[:marker], " \t")) == 0 {
		s.layers = nil
		return
	}
	var found []layer
	for rest := b; len(found) < 3; {
		l, c, ok := s.guess(rest)
		if !ok || markerIn(c.text) < 0 && l.kind < layerJSON {
			break
		}
		found = append(found, l)
		if l.kind >= layerJSON || bytes.Equal(c.text, rest) {
			break
		}
		rest = c.text
	}
	s.layers = found
}

// known reports whether a line with a marker has the layers that are known.
func (s *scanner) known(b []byte, marker int) bool {
	if len(s.layers) == 0 {
		return false
	}
	switch s.layers[0].kind {
	case layerJSON:
		found := false
		whole := eachMember(b, func(key, value []byte) {
			found = found || string(key) == s.layers[0].key && markerIn(value) >= 0
		})
		// The last record of a file may be cut.
		return found || !whole && bytes.Contains(b, []byte(`"`+s.layers[0].key+`"`))
	case layerExport:
		return bytes.HasPrefix(b, []byte("MESSAGE=")) || s.binaryMessage()
	case layerVerbose:
		return bytes.HasPrefix(b, []byte("    ")) && (s.fields.message || bytes.HasPrefix(b[4:], []byte("MESSAGE=")))
	case layerSyslog:
		if s.last != nil && s.indent > 0 && marker >= s.indent && len(bytes.TrimLeft(b[:s.indent], " ")) == 0 {
			return true
		}
	}
	for _, l := range s.layers {
		c, ok := l.cut(b)
		if !ok {
			return false
		}
		b = c.text
	}
	return true
}

// guess finds the outermost layer of a line with a marker.
func (s *scanner) guess(b []byte) (layer, cut, bool) {
	if l, ok := s.guessRecord(b); ok {
		return l, cut{}, true
	}
	for _, kind := range []layerKind{layerSyslog5424, layerCRI, layerKubectl, layerSyslog, layerCompose} {
		l := layer{kind: kind}
		if c, ok := l.cut(b); ok {
			return l, c, true
		}
	}
	return guessWords(b)
}

// guessWords is guess for stern.
func guessWords(b []byte) (layer, cut, bool) {
	for words := 2; words <= 3; words++ {
		l := layer{kind: layerStern, words: words}
		c, ok := l.cut(b)
		if !ok || !bytes.ContainsAny(c.who, "-0123456789") {
			continue
		}
		rest := c.text
		if n := cutStamp(rest); n > 0 {
			rest = bytes.TrimLeft(rest[n:], " ")
		}
		if i := nextMarker(rest); i == 0 || i > 0 && isLogLine(rest) {
			return l, c, true
		}
	}
	return layer{}, cut{}, false
}

// peel takes the layers off a line and finds its source, nil if the line is
// none of the file's form.
func (s *scanner) peel(b []byte) (src *source, rest []byte, partial bool) {
	s.key = s.key[:0]
	if len(s.layers) == 0 {
		src = s.source(nil, nil)
		src.stamp, src.moment = src.stamp[:0], moment{}
		return src, b, false
	}
	rest = b
	var stamp []byte
	var whos [3][]byte
	for i := range s.layers {
		c, ok := s.layers[i].cut(rest)
		if !ok && i == 0 {
			return s.unprefixed(b)
		}
		if !ok {
			break
		}
		if len(stamp) == 0 {
			stamp = c.stamp
		}
		partial = partial || c.partial
		whos[i] = c.who
		s.key = append(append(s.key, c.who...), 0)
		rest = c.text
	}
	s.indent = len(b) - len(rest)
	src = s.source(s.key, whos[:len(s.layers)])
	src.stamp, src.moment = append(src.stamp[:0], stamp...), moment{}
	return src, rest, partial
}

// unprefixed takes a line without the first layer: journalctl indents the lines of one
// message by the length of its prefix, and notes restarts of the machine.
func (s *scanner) unprefixed(b []byte) (*source, []byte, bool) {
	if s.layers[0].kind != layerSyslog || s.last == nil {
		return nil, nil, false
	}
	if bytes.HasPrefix(b, []byte("-- ")) && (bytes.Contains(b, []byte("Boot ")) || bytes.Contains(b, []byte("Reboot"))) {
		for _, src := range s.sources {
			src.end()
		}
		return nil, nil, false
	}
	if n := min(s.indent, len(b)); n > 0 && len(bytes.TrimLeft(b[:n], " ")) == 0 {
		return s.last, b[n:], false
	}
	return nil, nil, false
}

// source finds or makes the source with a key.
func (s *scanner) source(key []byte, whos [][]byte) *source {
	src := s.last
	if src == nil || src.key != string(key) {
		src = s.sources[string(key)]
	}
	if src != nil {
		src.used = s.lines
		return src
	}
	src = s.newSource(string(key))
	for i, who := range whos {
		if len(who) > 0 {
			s.layers[i].source(string(who), &src.id)
		}
	}
	return src
}

func (s *scanner) newSource(key string) *source {
	if len(s.sources) >= maxSources {
		oldest := ""
		for k, src := range s.sources {
			if o := s.sources[oldest]; o == nil || src.used < o.used {
				oldest = k
			}
		}
		s.sources[oldest].end()
		delete(s.sources, oldest)
	}
	src := &source{to: s, key: key, used: s.lines}
	for i, l := range s.layers {
		if i > 0 {
			src.layers += ", "
		}
		src.layers += l.name()
	}
	s.sources[key] = src
	return src
}
