package envelope

import (
	"bytes"
	"encoding/binary"
	"strconv"
)

// dockerPart is where docker's json-file driver splits lines
// (daemon/logger/copier.go, defaultBufSize).
const dockerPart = 16 << 10

// realtime begins the line of a time in journalctl -o export.
const realtime = "__REALTIME_TIMESTAMP="

// fields collects a record of several lines until it ends.
type fields struct {
	at      place // of the message
	message bool  // the value is that of MESSAGE, and lines may follow
}

// guessRecord knows lines that are records, or parts of one: JSON objects, and
// the fields of journalctl -o export and -o verbose.
func (s *scanner) guessRecord(b []byte) (layer, bool) {
	t := bytes.TrimLeft(b, " \t")
	switch bare := bareObject(b); {
	case len(bare) > 0 && bare[0] == '{':
		return guessObject(bare)
	case bytes.HasPrefix(b, []byte("MESSAGE=")) && s.nearby(realtime), s.binaryMessage():
		return layer{kind: layerExport}, true
	case len(t) < len(b) && bytes.HasPrefix(t, []byte("MESSAGE=")) && s.nearby(" [s="):
		return layer{kind: layerVerbose}, true
	}
	return layer{}, false
}

// nearby reports whether a text stands shortly before the line being read.
func (s *scanner) nearby(text string) bool {
	w := s.in
	return bytes.Contains(w.buf[max(0, w.pos-lookBack):w.pos], []byte(text))
}

// binaryMessage reports whether the line before is the name of a field whose
// value follows with its length.
func (s *scanner) binaryMessage() bool {
	w := s.in
	low := max(0, w.pos-(8<<10))
	if !bytes.Contains(w.buf[min(max(low, int(s.fieldless-w.base)), w.pos):w.pos], []byte(realtime)) {
		s.fieldless = w.offset() - int64(len(realtime))
		return false
	}
	return bytes.Contains(w.buf[low:w.pos], []byte("\nMESSAGE\n"))
}

// guessObject finds the member of an object that holds the line with the marker. A
// member that holds many lines is a string to be decoded in place, unless its name is
// that of a line.
func guessObject(b []byte) (l layer, ok bool) {
	whole := eachMember(b, func(key, value []byte) {
		if ok || len(value) == 0 || value[0] != '"' && value[0] != '[' || markerIn(value) < 0 && value[0] == '"' {
			return
		}
		text := appendValue(nil, value)
		if nextMarker(text) < 0 {
			return
		}
		line := string(key) == "log" || string(key) == "MESSAGE"
		if !line && bytes.IndexByte(bytes.TrimRight(text, "\n"), '\n') >= 0 {
			return
		}
		if _, _, escaped := escapedMarker(text, 0); escaped && !line {
			return
		}
		l, ok = layer{kind: layerJSON, key: string(key)}, true
		// A header that does not end goes on in the next record.
		_, complete := readHeader(trim(text))
		l.newlines = string(key) == "log" && (text[len(text)-1] == '\n' || len(text) >= dockerPart || bytes.HasPrefix(text, []byte(headerWord)) && !complete)
	})
	return l, ok && whole
}

// object takes a line that is a JSON object.
func (s *scanner) object(b []byte, l *layer, at place) {
	r := &s.record
	if !s.readObject(b, l) || !r.found {
		return
	}
	at.exact = false
	partial := l.newlines && (len(r.text) == 0 || r.text[len(r.text)-1] != '\n')
	s.emit(r, partial, at)
	r.found = false
}

// readObject reads the record that a line is, false if it is no whole object.
func (s *scanner) readObject(b []byte, l *layer) bool {
	r := &s.record
	r.reset()
	var scratch [64]byte
	return eachMember(b, func(key, value []byte) {
		if string(key) == l.key {
			r.text, r.found = appendValue(r.text[:0], value), true
			s.unmarked = s.unmarked && value[0] == '"'
			return
		}
		switch {
		case value[0] == '{' && isLabels(key):
			r.labels(key, value)
		case len(value) < 256 && value[0] != '{' && value[0] != '[':
			r.set(key, appendValue(scratch[:0], value), s.cfg.Now)
		}
	})
}

// labels takes an object of labels, and those inside it.
func (r *record) labels(name, value []byte) {
	var scratch [64]byte
	eachMember(value, func(key, value []byte) {
		switch {
		case value[0] == '{' && len(value) < headerSpan:
			r.labels(key, value)
		case value[0] == '"' && len(value) < 256:
			r.label(name, key, appendValue(scratch[:0], value))
		}
	})
}

// emit passes the text of a record to its source.
func (s *scanner) emit(r *record, partial bool, at place) {
	src := s.recordSource(r)
	text := r.text
	if !partial {
		text = bytes.TrimSuffix(text, []byte("\n"))
	}
	for {
		line, rest, more := bytes.Cut(text, []byte("\n"))
		src.feed(line, partial && !more, at)
		if !more {
			return
		}
		text = rest
	}
}

// recordSource finds the source that a record names.
func (s *scanner) recordSource(r *record) *source {
	id := &r.source
	src := s.last
	if src == nil || !src.record || src.id != *id || src.stream != string(r.stream) {
		s.key = append(s.key[:0], r.stream...)
		for _, word := range []string{id.Host, id.Namespace, id.Pod, id.Container, id.Program, id.Unit} {
			s.key = append(append(s.key, 0), word...)
		}
		s.key = strconv.AppendInt(append(s.key, 0), int64(id.PID), 10)
		src = s.source(s.key, nil)
		src.id, src.record, src.stream = *id, true, string(r.stream)
	}
	src.used, s.last = s.lines, src
	src.stamp, src.moment = append(src.stamp[:0], r.stamp...), r.moment
	return src
}

// field takes a line of a record of several lines.
func (s *scanner) field(b []byte, l *layer, at place) {
	f, r := &s.fields, &s.record
	if l.kind == layerVerbose {
		s.verbose(b, at)
		return
	}
	if len(b) == 0 {
		s.endRecord()
		return
	}
	name, value, ok := bytes.Cut(b, []byte("="))
	if !ok {
		// Reading on makes b invalid.
		message := string(b) == "MESSAGE"
		if value, at = s.binary(); !message {
			return
		}
		name = []byte("MESSAGE")
	}
	if string(name) == "__CURSOR" {
		s.endRecord()
	}
	if string(name) == "MESSAGE" {
		r.text, r.found, f.at = append(r.text[:0], value...), true, at
		f.at.exact = false
		return
	}
	r.set(name, value, s.cfg.Now)
}

// binary reads a value that is given with its length: eight bytes, little endian
// (systemd.io/JOURNAL_EXPORT_FORMATS).
func (s *scanner) binary() ([]byte, place) {
	head := s.in.take(8)
	at := place{line: s.in.line + 1, off: s.in.offset(), text: s.in.offset()}
	if len(head) < 8 {
		return nil, at
	}
	size := binary.LittleEndian.Uint64(head)
	if size > maxLine {
		return nil, at // no length: the file is damaged, or this is no export
	}
	value := bytes.Clone(s.in.take(int(size)))
	s.in.take(1)
	return value, at
}

// verbose takes a line of journalctl -o verbose.
//
//	Sat 2026-11-21 03:05:00.123456 UTC [s=ab;i=1;...]
//	    _HOSTNAME=node-1
//	    MESSAGE=goroutine 1 [running]:
//	            second line of the message
func (s *scanner) verbose(b []byte, at place) {
	f, r := &s.fields, &s.record
	t := bytes.TrimLeft(b, " ")
	if len(t) == len(b) {
		s.endRecord()
		if n := cutStamp(b); n > 0 {
			r.moment = readStamp(string(b[:n]), s.cfg.Now)
		}
		return
	}
	const indent = len("    MESSAGE=")
	if f.message && len(b)-len(t) >= indent {
		r.text = append(append(r.text, '\n'), b[indent:]...)
		return
	}
	name, value, ok := bytes.Cut(t, []byte("="))
	f.message = ok && string(name) == "MESSAGE"
	if f.message {
		r.text, r.found, f.at = append(r.text[:0], value...), true, at
		f.at.exact = false
		return
	}
	r.set(name, value, s.cfg.Now)
}

// endRecord passes the record that ends here to its source.
func (s *scanner) endRecord() {
	r := &s.record
	if r.found {
		s.emit(r, false, s.fields.at)
	}
	r.reset()
	s.fields.message = false
}
