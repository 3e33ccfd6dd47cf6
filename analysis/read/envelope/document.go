package envelope

import (
	"bytes"
	"slices"

	"leakdiff/analysis"
)

const (
	// maxLevels is how deep the records of a document lie at most; what is deeper is
	// passed over.
	maxLevels = 24
	// maxHeld is how much of a document is held until the order of its records is
	// known: the servers of logs return the newest first unless asked otherwise.
	maxHeld = 16 << 20
	// heldCost is what a held record takes beside its text.
	heldCost = 256
	// sureOrder is after how many more steps to one side than to the other the order
	// is taken for known.
	sureOrder = 3
	// documentHead is how much of a file is searched for signs of a document.
	documentHead = 64 << 10
)

// documents are the JSON texts whose records are nested or cover several lines. Each is
// recognised by words near its beginning.
var documents = [...]struct {
	name  string
	words []string
	// nested is true if the line is not among the members of its record, which may have
	// a line of its own then.
	nested bool
}{
	{"journald JSON", []string{`"MESSAGE"`, `"__REALTIME_TIMESTAMP"`}, false},      // journalctl -o json-pretty
	{"Loki JSON", []string{`"values"`, `"stream"`}, true},                          // /loki/api/v1/query_range
	{"logcli JSON", []string{`"labels"`, `"line"`, `"timestamp"`}, true},           // logcli -o jsonl
	{"Google Cloud Logging JSON", []string{`"textPayload"`, `"timestamp"`}, false}, // gcloud logging read --format=json
	{"Google Cloud Logging JSON", []string{`"jsonPayload"`, `"timestamp"`}, true},  // the same of structured logs
	{"CloudWatch JSON", []string{`"events"`, `"timestamp"`, `"message"`}, false},   // aws logs get-log-events, filter-log-events
	{"Elasticsearch JSON", []string{`"_source"`, `"message"`}, true},               // _search, and exports of it
	{"Grafana JSON", []string{`"line"`, `"timestamp"`, `"fields"`}, false},         // Explore, download as JSON
	{"stern JSON", []string{`"message"`, `"podName"`, `"containerName"`}, false},   // stern -o ppjson
	{"JSON records", []string{`"@timestamp"`, `"message"`}, false},                 // shippers
	{"docker JSON", []string{`"log"`, `"stream"`, `"time"`}, false},                // json-file records in a list
}

// documentName names the form of a JSON text with records, "" if it is none, or
// has one on each line.
func documentName(head []byte) string {
	head = head[:min(len(head), documentHead)]
	t := bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")), " \t\r\n\x1e")
	if isLogcli(t) {
		return logcliName
	}
	if len(t) == 0 || t[0] != '{' && t[0] != '[' {
		return ""
	}
	inside := bytes.TrimLeft(t[1:], " \t\r\n")
	if len(inside) > 0 && inside[0] != '"' && inside[0] != '{' && inside[0] != '[' {
		return ""
	}
	lines := oneOnEachLine(t)
	for _, d := range documents {
		if lines && !d.nested {
			continue
		}
		if !slices.ContainsFunc(d.words, func(word string) bool { return !bytes.Contains(t, []byte(word)) }) {
			return d.name
		}
	}
	return ""
}

// oneOnEachLine reports whether the first line is a whole object, and the next
// begins one.
func oneOnEachLine(t []byte) bool {
	line, rest, more := bytes.Cut(t, []byte("\n"))
	rest = bytes.TrimLeft(rest, " \t\r\n\x1e")
	return more && len(rest) > 0 && rest[0] == '{' && eachMember(line, func(_, _ []byte) {})
}

// isText knows the members that hold a line of the log.
func isText(key []byte) bool {
	switch string(key) {
	case "MESSAGE", "textPayload", "message", "log", "line", "msg":
		return true
	}
	return false
}

// role is what an object or list of a document is for.
type role int

const (
	roleOther  role = iota
	roleRecord      // an object that may hold a line
	rolePart        // an object whose members are those of its record
	roleLabels      // the same, and they name the origin of the line
	roleValues      // a list of entries: time and line
	roleEntry
	roleBytes // a line as journald spells what is no text
)

// level is one of the objects and lists around the place that is being read.
type level struct {
	role  role
	list  bool
	index int    // of the value to come, in a list
	name  []byte // under which it stands in its parent
	// outer is the record that a record inside it interrupts.
	outer record
	text  rawText
}

// rawText is a string as it stands in the artifact, or what a list of bytes spells.
type rawText struct {
	raw   []byte
	at    place
	plain bool
	found bool
	// unmarked is that of the scanner.
	unmarked bool
}

// document reads the records of a JSON text, byte by byte and without a tree. It
// bears anything: what is no record is passed over.
type document struct {
	to     *scanner
	levels []level
	deeper int // levels below maxLevels

	line   int64
	key    []byte
	keyed  bool // the next string or value belongs to key
	quoted bool // inside a string
	slash  bool
	long   bool // the string is longer than is kept
	raw    []byte
	at     place
	scalar []byte

	text  rawText
	spare []byte // buffer for the text of the next record
	run   escapeRun
	entry moment

	order     int // votes for rising times
	known     bool
	last      record
	held      []held
	heldBytes int
	reported  bool
}

// held is a record that waits.
type held struct {
	record record
	text   rawText
}

// document reads the whole input as one.
func (s *scanner) document(name string) {
	s.layers = []layer{{kind: layerDocument, key: name}}
	d := &document{to: s, line: 1}
	for w := s.in; w.pos < w.end || w.err == nil; w.fill() {
		d.feed(w.buf[w.pos:w.end], w.offset())
		w.pass(w.end)
	}
	d.end()
}

func (d *document) feed(b []byte, off int64) {
	for i := 0; i < len(b); {
		if d.quoted {
			i += d.inside(b[i:])
			continue
		}
		c := b[i]
		i++
		switch c {
		case '"':
			d.quoted, d.slash, d.long, d.raw = true, false, false, d.raw[:0]
			d.at = place{line: d.line, off: off + int64(i), text: off + int64(i), exact: true}
		case '{', '[':
			d.open(c == '[')
		case '}', ']':
			d.endScalar()
			d.close()
		case ',':
			d.endScalar()
			d.keyed = false
			if l := d.top(); l != nil {
				l.index++
			}
		case '\n':
			d.line++
			d.endScalar()
		case ':', ' ', '\t', '\r', 0x1e:
			d.endScalar()
		default:
			if len(d.scalar) < 64 {
				d.scalar = append(d.scalar, c)
			}
		}
	}
}

// inside takes bytes of a string and returns how many. A newline ends a string that
// was cut, for none may stand in it.
func (d *document) inside(b []byte) int {
	for i := 0; i < len(b); {
		if d.slash {
			d.slash = false
			d.keep(b[i : i+1])
			i++
			continue
		}
		n := bytes.IndexAny(b[i:], "\"\\\n")
		if n < 0 {
			d.keep(b[i:])
			return len(b)
		}
		d.keep(b[i : i+n])
		i += n
		switch b[i] {
		case '\\':
			d.slash = true
			d.keep(b[i : i+1])
			i++
		case '\n':
			d.quoted, d.keyed = false, false
			return i
		default:
			d.endString()
			return i + 1
		}
	}
	return len(b)
}

func (d *document) keep(b []byte) {
	free := maxLine - len(d.raw)
	d.long = d.long || len(b) > free
	d.raw = append(d.raw, b[:min(len(b), free)]...)
}

func (d *document) top() *level {
	if len(d.levels) == 0 || d.deeper > 0 {
		return nil
	}
	return &d.levels[len(d.levels)-1]
}

// endString takes a whole string: a key, or a value.
func (d *document) endString() {
	d.quoted = false
	l := d.top()
	switch {
	case l == nil:
	case !l.list && !d.keyed:
		d.key, d.keyed = appendUnquoted(d.key[:0], d.raw[:min(len(d.raw), 256)]), true
	case l.list:
		d.item(l, d.raw, true)
	default:
		d.member(l, d.raw, true)
		d.keyed = false
	}
}

func (d *document) endScalar() {
	if len(d.scalar) == 0 {
		return
	}
	switch l := d.top(); {
	case l == nil:
	case l.list:
		d.item(l, d.scalar, false)
	case d.keyed:
		d.member(l, d.scalar, false)
		d.keyed = false
	}
	d.scalar = d.scalar[:0]
}

// member takes a member of an object.
func (d *document) member(l *level, value []byte, quoted bool) {
	if l.role != roleRecord && l.role != rolePart && l.role != roleLabels {
		return
	}
	if quoted && isText(d.key) && l.role != roleLabels {
		if !d.text.found {
			d.text = rawText{raw: append(d.text.raw[:0], value...), at: d.at, found: true}
		}
		return
	}
	if len(value) >= 256 {
		return
	}
	var scratch [256]byte
	plain := value
	if quoted {
		plain = appendUnquoted(scratch[:0], value)
	}
	if l.role == roleLabels {
		d.to.record.label(l.name, d.key, plain)
		return
	}
	d.to.record.set(d.key, plain, d.to.cfg.Now)
}

// item takes a value in a list: the time or the line of an entry, or a byte.
func (d *document) item(l *level, value []byte, quoted bool) {
	switch {
	case l.role == roleBytes && !quoted && len(d.text.raw) < maxLine:
		if n, ok := smallNumber(value); ok {
			d.text.raw = append(d.text.raw, n)
		}
	case l.role == roleEntry && l.index == 0:
		d.entry = readTime(value, d.to.cfg.Now)
	case l.role == roleEntry && l.index == 1 && quoted:
		d.text = rawText{raw: append(d.text.raw[:0], value...), at: d.at, found: true}
	}
}

// smallNumber reads what fits a byte.
func smallNumber(b []byte) (byte, bool) {
	n := 0
	for _, c := range b {
		if c-'0' >= 10 {
			return 0, false
		}
		if n = n*10 + int(c-'0'); n > 255 {
			return 0, false
		}
	}
	return byte(n), len(b) > 0
}

// open begins an object or a list.
func (d *document) open(list bool) {
	d.endScalar()
	if len(d.levels) == maxLevels {
		d.deeper++
		return
	}
	next := level{list: list, role: d.roleOf(list)}
	switch next.role {
	case roleLabels:
		next.name = bytes.Clone(d.key)
	case roleRecord:
		next.outer, next.text = d.to.record, d.text
		d.to.record, d.text, d.spare = record{}, rawText{raw: d.spare[:0]}, nil
	case roleBytes:
		d.text = rawText{raw: d.text.raw[:0], at: place{line: d.line, off: d.at.off, text: d.at.text}, plain: true, found: true}
	}
	d.levels = append(d.levels, next)
	d.keyed = false
}

// roleOf identifies an object or list by its parent and its name.
func (d *document) roleOf(list bool) role {
	l := d.top()
	switch {
	case l == nil || l.list && l.role == roleOther:
		if list {
			return roleOther
		}
		return roleRecord
	case list && l.role == roleValues:
		return roleEntry
	case l.list:
		return roleOther
	case list && l.role == roleRecord && string(d.key) == "values":
		return roleValues
	case list && l.role == roleRecord && isText(d.key) && !d.text.found:
		return roleBytes
	case list || l.role == roleOther:
		return roleOther
	case l.role == roleLabels:
		return roleLabels
	case isLabels(d.key):
		return roleLabels
	case string(d.key) == "jsonPayload", string(d.key) == "_source":
		return rolePart
	}
	return roleOther
}

// isLabels recognises the objects with the origin of a line, in the answers of Loki,
// Google Cloud Logging, fluentd, Grafana and logcli -o jsonl.
func isLabels(key []byte) bool {
	switch string(key) {
	case "stream", "metric", "labels", "resource", "kubernetes", "fields":
		return true
	}
	return false
}

// close ends an object or a list.
func (d *document) close() {
	d.keyed = false
	if d.deeper > 0 {
		d.deeper--
		return
	}
	n := len(d.levels) - 1
	if n < 0 {
		return
	}
	l := d.levels[n]
	d.levels = d.levels[:n]
	switch l.role {
	case roleRecord:
		if d.text.found {
			d.emit(d.to.record)
		}
		d.to.record, d.text, d.spare = l.outer, l.text, d.text.raw
	case roleEntry:
		if d.text.found {
			r := d.to.record
			r.moment, r.stamp = d.entry, nil
			d.emit(r)
		}
		d.entry, d.text = moment{}, rawText{raw: d.text.raw[:0]}
	}
}

// end takes what the end of the input left open.
func (d *document) end() {
	for len(d.levels) > 0 {
		d.deeper = 0
		d.close()
	}
	d.to.record = record{}
	if !d.known && (d.order < 0 || d.order == 0 && upsideDown(d.held)) {
		d.order = -1
	}
	d.release()
}

// emit passes on the line of a record, once the order of the records is known.
func (d *document) emit(r record) {
	if d.known && d.order >= 0 {
		d.deliver(&r, &d.text)
		return
	}
	r.readStamp(d.to.cfg.Now)
	text := d.text
	text.raw = bytes.Clone(text.raw)
	d.held = append(d.held, held{r, text})
	d.heldBytes += len(text.raw) + heldCost
	if !d.known {
		d.vote(&r)
	}
	switch {
	case d.known && d.order >= 0:
		d.release()
	case d.heldBytes > maxHeld:
		if d.order < 0 && !d.reported {
			d.reported = true
			d.to.problem(analysis.Problem{
				Line: text.at.line, Offset: text.at.off, Severity: analysis.Warning,
				What: "the log stands with its newest lines first, and is too long to be turned round at once",
				Why:  "it is turned in parts of 16 MiB; a dump that lies across two of them is torn",
				Hint: "ask for the oldest lines first: --order=asc of gcloud, direction=forward of Loki, --forward of logcli",
			})
		}
		d.known = true
		d.release()
	}
}

// vote compares a record with the one before it.
func (d *document) vote(r *record) {
	if before := d.last.moment.time; !before.IsZero() && !r.moment.time.IsZero() && d.last.source == r.source {
		d.order += r.moment.time.Compare(before)
	}
	d.last = *r
	d.known = d.order >= sureOrder || d.order <= -sureOrder
}

// release passes on what was held.
func (d *document) release() {
	if d.order < 0 {
		d.to.newestFirst = true
		slices.Reverse(d.held)
	}
	for i := range d.held {
		d.deliver(&d.held[i].record, &d.held[i].text)
	}
	d.held, d.heldBytes = nil, 0
}

// upsideDown reports whether the lines of a dump come last line first: a header is
// followed by a function, not by the last file of the goroutine before it.
func upsideDown(lines []held) bool {
	down := 0
	for i := range lines[:max(0, len(lines)-1)] {
		if !bytes.HasPrefix(lines[i].text.raw, []byte(headerWord)) {
			continue
		}
		next := lines[i+1].text.raw
		if len(next) == 0 || next[0] == '\t' || bytes.HasPrefix(next, []byte(`\t`)) || bytes.HasPrefix(next, []byte("    ")) {
			down++
		} else {
			down--
		}
	}
	return down > 0
}

// deliver passes the lines of a record to its source.
func (d *document) deliver(r *record, text *rawText) {
	s := d.to
	s.lines++
	src := s.recordSource(r)
	s.unmarked = text.unmarked
	if text.plain {
		for line := range bytes.SplitSeq(bytes.TrimSuffix(text.raw, []byte("\n")), []byte("\n")) {
			src.feed(line, false, text.at)
		}
	} else {
		d.decoded(src, text)
	}
	if s.lines%lookEvery == 0 {
		s.busy()
	}
}

func (d *document) decoded(src *source, text *rawText) {
	if len(text.raw) == 0 {
		src.feed(nil, false, text.at)
		return
	}
	d.run.start(1, '"')
	d.run.feed(text.raw, text.at, func(line []byte, at place) { src.feed(line, false, at) })
	if len(d.run.line) > 0 {
		src.feed(d.run.line, false, d.run.place)
	}
}
