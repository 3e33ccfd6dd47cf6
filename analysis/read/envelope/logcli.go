package envelope

import "bytes"

const (
	// logcliName is the form of logcli's default output.
	logcliName = "logcli"
	// logcliHead is among how many of the first lines two must have the form: what
	// logcli prints on standard error may come before.
	logcliHead = 12
)

// cutLogcli reads a line of logcli's default output; the labels that all lines
// share are left out of it.
//
//	`2026-11-21T03:00:00Z {pod="web-0", stream="stderr"} text` who `pod="web-0", stream="stderr"`
//	`2026-11-21T03:00:00+01:00 {}                text`         who ""
func cutLogcli(b []byte) (cut, bool) {
	n := cutDate(b)
	if n == 0 || n+2 >= len(b) || b[n] != ' ' || b[n+1] != '{' {
		return cut{}, false
	}
	end := labelsLength(b[n+1:])
	if end == 0 {
		return cut{}, false
	}
	c := cut{stamp: b[:n], who: b[n+2 : n+end], text: b[n+1+end:]}
	if len(c.text) > 0 && c.text[0] != ' ' {
		return cut{}, false
	}
	// Shorter labels are filled up with blanks.
	c.text = bytes.TrimLeft(c.text, " ")
	return c, true
}

// labelsLength measures `{a="b", c="d}"}`, 0 if it is none.
func labelsLength(b []byte) int {
	quoted := false
	for i := 1; i < len(b) && i < maxTag; i++ {
		switch {
		case b[i] == '\\' && quoted:
			i++
		case b[i] == '"':
			quoted = !quoted
		case b[i] == '}' && !quoted:
			return i + 1
		}
	}
	return 0
}

// eachLabel yields the labels of a stream as Loki and Prometheus write them.
//
//	`pod="web-0", path="/a\"b"`
func eachLabel(b []byte, visit func(name, value []byte)) {
	for {
		b = bytes.TrimLeft(b, ", ")
		name, rest, ok := bytes.Cut(b, []byte("="))
		if !ok || len(rest) == 0 || rest[0] != '"' {
			return
		}
		n := stringLength(rest)
		if n == 0 {
			return
		}
		visit(name, appendUnquoted(nil, rest[1:n-1]))
		b = rest[n:]
	}
}

// isLogcli reports whether a text is the output of logcli.
func isLogcli(head []byte) bool {
	found, lines := 0, 0
	for line := range bytes.Lines(head) {
		if lines++; lines > logcliHead {
			break
		}
		if _, ok := cutLogcli(trim(line)); ok {
			found++
		}
	}
	return found >= 2
}

// logcli reads the whole input as the output of logcli, which prints the newest lines
// first unless --forward is set.
func (s *scanner) logcli() {
	s.layers = []layer{{kind: layerDocument, key: logcliName}}
	d := &document{to: s}
	var r, common record
	var labels []byte
	for {
		p, ok := s.in.next()
		if !ok {
			break
		}
		line := bytes.TrimSuffix(p.text, []byte("\r"))
		c, begins := cutLogcli(line)
		if !begins || !p.first {
			if _, labels, ok := bytes.Cut(line, []byte("Common labels: {")); ok && !d.text.found {
				eachLabel(bytes.TrimSuffix(labels, []byte("}")), func(name, value []byte) { common.label(nil, name, value) })
			}
			d.goOn(line, p.first)
			continue
		}
		if d.text.found {
			d.emit(r)
		}
		r.moment, r.stamp = moment{}, append(r.stamp[:0], c.stamp...)
		if r.source == (Source{}) || !bytes.Equal(labels, c.who) {
			labels = append(labels[:0], c.who...)
			r.source = common.source
			eachLabel(labels, func(name, value []byte) { r.label(nil, name, value) })
		}
		d.text = rawText{raw: append(d.text.raw[:0], c.text...), at: place{line: p.line, off: p.off, text: p.off}, plain: true, found: true, unmarked: !s.in.marked(s.special, p)}
	}
	if d.text.found {
		d.emit(r)
	}
	d.text.found = false
	d.end()
}

// goOn adds to an entry of several lines, or the rest of a long one.
func (d *document) goOn(line []byte, begins bool) {
	if !d.text.found || len(d.text.raw) >= maxLine {
		return
	}
	if begins {
		d.text.raw = append(d.text.raw, '\n')
	}
	d.text.unmarked = false
	d.text.raw = append(d.text.raw, line...)
}
