package detect

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strconv"
	"strings"

	"leakdiff/analysis/expression"
	"leakdiff/analysis/read/envelope"
	"leakdiff/analysis/read/line"
	"leakdiff/analysis/say/wording"
)

// trace finds execution traces, which are often named .prof
// (internal/trace/version: "go 1.26 trace\0\0\0").
func (v *view) trace() (Result, bool) {
	rest, ok := bytes.CutPrefix(v.text, []byte("go 1."))
	if !ok {
		return no()
	}
	version, _, ok := bytes.Cut(rest[:min(len(rest), 16)], []byte(" trace\x00"))
	if !ok || !isNumber(string(version)) {
		return no()
	}
	return high(ExecutionTrace, "it begins with \"go 1."+string(version)+" trace\": an execution trace, not a profile")
}

var debug1Line = expression.Lazy(`^(goroutine|goroutineleak) profile: total (\d+)`)

// otherDebug1 are the first lines of the other profiles in debug=1 text
// (runtime/pprof).
var otherDebug1 = expression.Lazy(`^(heap profile: \d|threadcreate profile: total |--- contention:|--- mutex:|--- heapz )`)

// laterDebug1 begins a goroutine profile after another one in a file.
var laterDebug1 = expression.Lazy(`(?m)^goroutine(leak)? profile: total \d+`)

func (v *view) debug1() (Result, bool) {
	for i, l := range v.lines[:min(len(v.lines), 20)] {
		if l = strings.TrimSpace(l); i == 0 && v.Below && line.IsPrompt(l) {
			continue
		}
		if m := debug1Line.FindStringSubmatch(l); m != nil {
			return high(GoroutineDebug1, "it begins with \""+m[0]+"\"")
		}
		if otherDebug1.MatchString(l) {
			if m := laterDebug1.Find(v.text); m != nil {
				return high(GoroutineDebug1, "it begins with another profile and has \""+string(m)+"\" behind it")
			}
			if !v.Whole && len(v.Bytes) < SniffLimit {
				r, ok := low(OtherProfile, "it begins with "+quote(l)+", and what follows was not seen yet")
				r.NeedMore = true
				return r, ok
			}
			if l == "--- mutex:" || l == "--- contention:" {
				return high(ContentionText, "it begins with "+quote(l)+": a profile of waits for locks and channels")
			}
			if strings.HasPrefix(l, "heap profile: ") {
				return high(HeapText, "it begins with "+quote(l)+": a profile of the heap")
			}
			return high(OtherProfile, "it begins with "+quote(l)+": a profile of something else than goroutines")
		}
		// Only the response headers of curl -i may come before.
		if !httpHeader(l) {
			break
		}
	}
	return no()
}

// records are what counts goroutines by their stack without a line of the total: the record
// of debug=1, and what leak checkers of tests print, each with the line that follows it.
var records = []struct {
	record, next *expression.Expression
	what         string
}{
	{expression.Lazy(`^[\s>]*\d+ @( 0x[0-9a-f]+)+\s*$`), expression.Lazy(`^[\s>]*#(\s+0x[0-9a-f]+\s|\s+labels: )`), "records of debug=1 without the line that declares their total"},
	{expression.Lazy(`^[\s>]*(?:\S.*: )?\d+ instances? of:\s*$`), expression.Lazy(`^[\s>]*\S+\(.*\)\s*$`), "stacks with their numbers, as leak checkers of tests print them"},
}

// pprofText are lines of the text that pprof prints of a profile.
var (
	pprofType   = expression.Lazy(`^Type: goroutine(leak)?\s*$`)
	pprofTitles = expression.Lazy(`^\s*flat\s+flat%\s+sum%\s+cum\s+cum%`)
	pprofRule   = expression.Lazy(`^-{8,}\+-{8,}$`)
)

func (v *view) records() (Result, bool) {
	if v.count(pprofType.MatchString) > 0 {
		switch {
		case v.count(pprofRule.MatchString) > 0:
			return high(GoroutinePprof, "stacks of a goroutine profile with their counts, as pprof -traces prints them")
		case v.count(pprofTitles.MatchString) > 0:
			return high(GoroutinePprof, "functions of a goroutine profile with their counts, as pprof -top prints them")
		}
	}
	for i := range v.lines[:max(len(v.lines)-1, 0)] {
		for _, f := range records {
			if f.record.MatchString(v.lines[i]) && f.next.MatchString(v.lines[i+1]) {
				return high(GoroutineDebug1, f.what+": "+quote(v.lines[i]))
			}
		}
	}
	return no()
}

var httpHeaderLine = expression.Lazy(`^(HTTP/\d|[A-Za-z][A-Za-z0-9-]*: )`)

func httpHeader(line string) bool { return httpHeaderLine.MatchString(line) }

// headers is what was found of goroutine headers and crash marks.
type headers struct {
	n int
	// first is true if the first line that is no HTTP header is a goroutine header.
	first bool
	// inside counts headers that have other text before them on their line.
	inside int
	// escaped counts headers after a backslash and an n.
	escaped int
	// behind is true if a header with other text before it on its line begins the block
	// before the first header without such text; prefixed is where that header begins.
	behind   bool
	prefixed int
	// tagged is true if a header has a tag of HTML before it.
	tagged bool
	// crash is the line with the program's cause of death, before the first header: a
	// program may also die after it has written its dump.
	crash string
	// system is true if goroutine 0 or a g's address was printed: only crashes print
	// them.
	system bool
}

const headerWord = "goroutine "

// goroutines finds debug=2, runtime.Stack and crash text. A dump has three headers or
// begins with one; a single one after "panic:" is a crash.
func (v *view) goroutines() (Result, bool) {
	h := v.headers()
	if h.n == 0 || h.n < 3 && !h.first && h.crash == "" {
		return no()
	}
	if h.n >= 3 && v.amidLog(h) {
		if r, ok := v.wrapped(); ok {
			return r, true
		}
	}
	if h.crash != "" {
		return high(GoroutineCrash, quote(h.crash)+" comes before "+v.more(h.n)+" goroutine "+wording.Fit(h.n, "header", "headers"))
	}
	if h.system {
		return high(GoroutineCrash, v.more(h.n)+" goroutine "+wording.Fit(h.n, "header", "headers")+", with addresses or goroutine 0 as only a signal or crash prints them")
	}
	if h.first {
		return high(GoroutineDebug2, "the first line is a goroutine header; "+v.more(h.n-1)+" more follow")
	}
	return high(GoroutineDebug2, v.more(h.n)+" lines are goroutine headers")
}

// amidLog reports whether a page or a log surrounds the headers, or a prefix stands
// before the first one: their dumps are unwrapped first. What a crash prints is read
// with the log lines before it.
func (v *view) amidLog(h headers) bool {
	if h.first || h.crash != "" {
		return false
	}
	if h.tagged {
		return true
	}
	// A logger puts its prefix before the first line of a text alone.
	if h.behind && v.unwraps() {
		return true
	}
	if strings.HasPrefix(v.first(), "<") {
		return htmlTag.MatchString(v.first())
	}
	for _, line := range v.lines {
		if strings.Contains(line, headerWord) {
			return false
		}
		// A loop of date and curl makes no log.
		if logLine.MatchString(line) && !envelope.IsDate([]byte(line)) {
			return true
		}
	}
	return false
}

// lastTag is what a page puts right before the first line of a block.
var lastTag = expression.Lazy(`<[A-Za-z][^<>]*>$`)

var htmlTag = expression.Lazy(`(?i)^<(!doctype|html|head|body|pre|div|p|code)\b`)

// wrapped finds dumps whose lines are prefixed or escaped, or that stand between
// the lines of a log, by unwrapping what was seen of the file.
func (v *view) wrapped() (Result, bool) {
	if !envelope.Promises(v.text) || v.has(`"threadDump"`) || v.has(`"threadName"`) {
		return no()
	}
	sections, _, _, _ := envelope.Unwrap(bytes.NewReader(v.text), envelope.Config{})
	for i := range sections {
		s := &sections[i]
		if s.Kind == envelope.KindGoroutine || !plainForm(s.Form) {
			return high(Wrapped, v.wrapping(sections, s))
		}
	}
	h := v.headers()
	switch {
	case h.escaped >= 3 && h.escaped > h.inside:
		return high(Wrapped, v.more(h.escaped)+" goroutine headers stand behind escaped line ends, as in a log field or a JSON string")
	case h.inside >= 3:
		return high(Wrapped, v.more(h.inside)+" goroutine headers stand behind a prefix on their line")
	case h.escaped+h.inside == 1 && v.has("=== BEGIN goroutine stack dump ==="):
		return high(Wrapped, "a log line says that a goroutine dump begins")
	}
	return no()
}

// unwraps reports whether the first dump has to be unwrapped to be read.
func (v *view) unwraps() bool {
	sections, _, _, _ := envelope.Unwrap(bytes.NewReader(v.text), envelope.Config{})
	return len(sections) > 0 && !plainForm(sections[0].Form)
}

// plainForm is what a dump looks like that needs no unwrapping.
func plainForm(form string) bool { return form == "lines without a prefix" || form == "indented" }

// wrapping describes how the first of some dumps is wrapped, and how much they hold.
//
//	"journald lines of kubelet[1234] with 41 goroutine headers"
//	"a text escaped in a log field, with at least 12 goroutine headers"
func (v *view) wrapping(sections []envelope.Section, s *envelope.Section) string {
	n := 0
	for i := range sections {
		if sections[i].Kind == s.Kind {
			n += sections[i].Headers
		}
	}
	form := s.Form + " lines"
	switch {
	case plainForm(s.Form) && s.Excerpt:
		form = "a text around a part of a dump"
	case plainForm(s.Form):
		form = "log lines around a dump"
	case strings.HasPrefix(s.Form, "code block"):
		form = "a " + s.Form
	case strings.Contains(s.Form, "escaped"):
		form = "a text " + s.Form + ","
		if before, how, ok := strings.Cut(s.Form, ", "); ok {
			form = before + " lines with a text " + how + ","
		}
	case s.Form == "HTML":
		form = "a page of HTML"
	}
	who := s.Source.Program
	if who == "" {
		who = s.Source.Container
	}
	if who != "" && s.Source.PID > 0 {
		who += "[" + strconv.Itoa(s.Source.PID) + "]"
	}
	if who != "" {
		form = strings.TrimSuffix(form, ",") + " of " + printable(who)
	}
	return form + " with " + v.more(n) + " " + s.Kind + " " + wording.Fit(n, "header", "headers")
}

func (v *view) headers() headers {
	if v.found != nil {
		return *v.found
	}
	v.found = &headers{}
	for from := 0; ; {
		i := bytes.Index(v.text[from:], []byte(headerWord))
		if i < 0 {
			return *v.found
		}
		v.header(v.found, from+i)
		from += i + len(headerWord)
	}
}

// header files the place where "goroutine " stands.
func (v *view) header(h *headers, at int) {
	length := headerLength(v.text[at:])
	if length == 0 {
		return
	}
	begin := bytes.LastIndexByte(v.text[:at], '\n') + 1
	before := bytes.TrimLeft(v.text[begin:at], " \t")
	switch {
	case bytes.HasSuffix(before, []byte(`\n`)):
		h.escaped++
	case len(before) > 0:
		h.inside++
		h.prefixed = at
		h.tagged = h.tagged || lastTag.Match(before[max(0, len(before)-200):])
	case !endsLine(v.text[at+length:]):
	default:
		if h.n == 0 {
			h.first = onlyHTTP(v.text[:begin])
			h.behind = h.inside == 1 && h.escaped == 0 && v.beginsBlock(h.prefixed, begin)
			h.crash = crashMark(v.text[:begin])
		}
		h.n++
		header := v.text[at : at+length]
		h.system = h.system || bytes.HasPrefix(header, []byte("goroutine 0 ")) || bytes.Contains(header, []byte(" gp=0x"))
	}
}

// beginsBlock reports whether the goroutine that writes a dump begins it: the header at
// a place ends its line, only its stack follows up to another place, and it does not
// come again. A header quoted in a sentence above a dump begins none.
func (v *view) beginsBlock(at, end int) bool {
	header := v.text[at : at+headerLength(v.text[at:])]
	id, _, _ := bytes.Cut(header, []byte("]"))
	if !bytes.HasSuffix(id, []byte(" [running")) || !endsLine(v.text[at+len(header):]) || bytes.Contains(v.text[end:], id) {
		return false
	}
	_, block, _ := bytes.Cut(v.text[at:end], []byte("\n"))
	lines := 0
	for line := range bytes.Lines(block) {
		line = bytes.TrimSpace(line)
		switch {
		case len(line) == 0:
		case line[len(line)-1] == ')', bytes.HasPrefix(line, []byte("created by ")), placeLine.Match(line):
			lines++
		default:
			return false
		}
	}
	return lines > 0
}

// placeLine is a file with its line, as below a call.
var placeLine = expression.Lazy(`\.[A-Za-z]+:\d+( \+0x|$)`)

// headerLength returns the length of a goroutine header, 0 if t does not begin with
// one. Labels may hold brackets and colons, so the end is not looked at closely.
//
//	"goroutine 5 [select, 6 minutes]:"                      all of it
//	"goroutine 1 gp=0xc0 m=nil [select]:\nmain.main()"      up to the colon
//	"goroutine 69 [chan receive] {controller: x}:"          all of it
//	"goroutine profile: total 81"                           0
func headerLength(b []byte) int {
	line, _, _ := bytes.Cut(b[:min(len(b), 4096)], []byte("\n"))
	i := len(headerWord)
	digits := i
	for i < len(line) && line[i] >= '0' && line[i] <= '9' {
		i++
	}
	if i == digits || !bytes.HasPrefix(line[i:], []byte(" [")) && !bytes.HasPrefix(line[i:], []byte(" gp=")) {
		return 0
	}
	if j := bytes.Index(line[i:], []byte("]:")); j >= 0 {
		// A label may hold "]:" too: on a line of its own the header ends it.
		if end := bytes.TrimRight(line, "\r \t"); bytes.HasSuffix(end, []byte(":")) {
			return len(end)
		}
		return i + j + 2
	}
	if j := bytes.Index(line[i:], []byte("] {")); j >= 0 {
		if k := bytes.Index(line[i+j:], []byte("}:")); k >= 0 {
			return i + j + k + 2
		}
	}
	return 0
}

// endsLine reports whether only blanks come before the end of the line.
func endsLine(b []byte) bool {
	line, _, _ := bytes.Cut(b, []byte("\n"))
	return len(bytes.TrimSpace(line)) == 0
}

// onlyHTTP reports whether nothing but blank lines and response headers stand
// there, the output of curl -i.
func onlyHTTP(b []byte) bool {
	if len(b) > 1<<14 {
		return false
	}
	b = bytes.TrimSpace(b)
	if len(b) > 0 && !bytes.HasPrefix(b, []byte("HTTP/")) {
		return false
	}
	for line := range bytes.Lines(b) {
		if line := strings.TrimSpace(string(line)); line != "" && !httpHeader(line) {
			return false
		}
	}
	return true
}

// crashLine is what the runtime prints when a program dies (runtime/panic.go,
// runtime/signal_unix.go), and its compiler (cmd/compile/internal/base/print.go).
var crashLine = expression.Lazy(`(?m)^[ \t]*(\S+: internal compiler error: .*|panic: .*|fatal error: .*|SIG[A-Z0-9]+: .*|runtime: goroutine stack exceeds .*|unexpected fault address .*|\[signal .*)`)

// crashMark returns the line with the program's cause of death, empty if the program
// lives.
func crashMark(text []byte) string {
	if m := crashLine.Find(text); m != nil {
		return strings.TrimSpace(string(m[:min(len(m), 200)]))
	}
	return ""
}

// race finds reports of the race detector, whose "Goroutine 7 (running) created
// at:" is another grammar.
func (v *view) race() (Result, bool) {
	if n := bytes.Count(v.text, []byte("WARNING: DATA RACE")); n > 0 {
		return high(RaceReport, wording.Plural(n, "report", "reports")+" of the race detector, which lists two goroutines, not all")
	}
	return no()
}

// proto finds uncompressed profiles. They begin with the sample type (0x0a) or, as the
// runtime writes goroutine and cpu profiles, the period type (0x5a) or the time (0x48).
// The names of their sample types are in the string table after the samples
// (github.com/google/pprof/proto/profile.proto).
func (v *view) proto() (Result, bool) {
	p := readProfile(v.text)
	if !p.valid {
		return no()
	}
	if len(p.names) == 0 {
		return v.unnamedProfile()
	}
	what := strings.Join(p.names, ", ")
	for _, name := range p.names {
		if name == "goroutine" || name == "goroutineleak" {
			return high(GoroutineProto, "a profile whose sample type is "+name)
		}
	}
	if slices.Equal(p.names, []string{"contentions", "delay"}) {
		return high(ContentionProto, "a profile whose sample types are "+what+", of mutexes or blocking")
	}
	if slices.Contains(p.names, "inuse_space") {
		return high(HeapProto, "a profile whose sample types are "+what+", of the heap")
	}
	return high(OtherProfile, "a profile whose sample types are "+what)
}

// unnamedProfile guesses by name if the string table lies further down.
func (v *view) unnamedProfile() (Result, bool) {
	reason := "a profile whose sample types are named further down than was looked"
	name := strings.ToLower(v.base)
	for _, other := range []string{"cpu", "threadcreate"} {
		if strings.Contains(name, other) {
			return low(OtherProfile, reason+"; its name says "+other)
		}
	}
	r, ok := low(GoroutineProto, reason)
	for _, x := range []struct {
		word string
		kind Kind
	}{{"block", ContentionProto}, {"mutex", ContentionProto}, {"heap", HeapProto}, {"allocs", HeapProto}, {"inuse_space", HeapProto}} {
		if strings.Contains(name, x.word) {
			r, ok = low(x.kind, reason+"; its name says "+x.word)
			break
		}
	}
	r.NeedMore = !v.Whole && len(v.Bytes) < SniffLimit
	return r, ok
}

// profile is the sample types, from the beginning of a profile.
type profile struct {
	valid bool
	names []string
}

// readProfile walks the top-level fields; strings begin with index 0.
func readProfile(b []byte) profile {
	var types []uint64
	found := map[uint64]string{}
	next := uint64(0)
	for len(b) > 0 {
		field, body, rest, ok := protoField(b)
		if !ok {
			break
		}
		b = rest
		switch {
		case field == 0 || field > 15:
			return profile{}
		case field == 1:
			index, ok := sampleType(body)
			if !ok {
				return profile{}
			}
			types = append(types, index)
		case field == 6:
			found[next] = string(body[:min(len(body), 64)])
			next++
		}
		if next > 64 {
			break
		}
	}
	p := profile{valid: len(types) > 0 && len(types) < 64}
	for _, t := range types {
		if name, ok := found[t]; ok && name != "" {
			p.names = append(p.names, name)
		}
	}
	return p
}

// sampleType reads {type, unit}, two varint fields.
func sampleType(b []byte) (index uint64, ok bool) {
	for len(b) > 0 {
		field, _, rest, whole := protoField(b)
		if !whole || field != 1 && field != 2 || b[0]&7 != 0 {
			return 0, false
		}
		if field == 1 {
			index, _ = uvarint(b[1:])
			ok = true
		}
		b = rest
	}
	return index, ok
}

// otlp finds messages of OTLP profiles with their length before them in four bytes
// (exporter/fileexporter, opentelemetry-proto profiles/v1development: field 1 are the
// resources, field 2 is the dictionary that only profiles have).
func (v *view) otlp() (Result, bool) {
	if len(v.Bytes) < 6 || v.Bytes[0] > 1 || v.Bytes[4] != 0x0a {
		return no()
	}
	length := int64(binary.BigEndian.Uint32(v.Bytes))
	if v.Size >= 0 && length > v.Size-4 {
		return no()
	}
	if length > int64(len(v.Bytes)-4) {
		if !v.Whole && len(v.Bytes) < SniffLimit {
			r, ok := low(OTLPProfiles, "a length as OTLP profiles have it, and what follows was not seen yet")
			r.NeedMore = true
			return r, ok
		}
		return no()
	}
	dictionary := false
	for rest := v.Bytes[4 : 4+length]; len(rest) > 0; {
		field, body, after, ok := protoField(rest)
		if !ok || field != 1 && field != 2 || len(body) == 0 {
			return no()
		}
		dictionary = dictionary || field == 2
		rest = after
	}
	if !dictionary {
		return no()
	}
	return high(OTLPProfiles, "messages with their length before them, the first of OTLP profiles, as the file exporter of the OpenTelemetry collector writes them")
}

// protoField splits off one field; body is empty for numbers. ok is false if
// the field is not whole or not allowed in a profile.
func protoField(b []byte) (field uint64, body, rest []byte, ok bool) {
	tag, n := uvarint(b)
	if n == 0 {
		return 0, nil, nil, false
	}
	b = b[n:]
	value, n := uvarint(b)
	if n == 0 {
		return 0, nil, nil, false
	}
	b = b[n:]
	switch tag & 7 {
	case 0:
		return tag >> 3, nil, b, true
	case 2:
		if value > uint64(len(b)) {
			return 0, nil, nil, false
		}
		return tag >> 3, b[:value], b[value:], true
	}
	return 0, nil, nil, false
}

func uvarint(b []byte) (uint64, int) {
	var v uint64
	for i := range min(len(b), 10) {
		v |= uint64(b[i]&0x7f) << (7 * i)
		if b[i] < 0x80 {
			return v, i + 1
		}
	}
	return 0, 0
}
