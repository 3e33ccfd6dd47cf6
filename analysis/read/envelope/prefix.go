package envelope

import (
	"bytes"
	"strconv"
	"strings"
	"time"
)

// A layer is the text that one collector puts around each line. The layers of a file
// are learned from a line with a marker, because there the end of the prefix is
// certain.
type layer struct {
	kind layerKind
	// key is the member of a JSON object that holds the line.
	key string
	// words is the number of words that come before a line of stern.
	words int
	// newlines is true if the values of key end with the newline of their line, and
	// those without go on in the next record: docker's json-file driver splits lines at
	// 16 KiB.
	newlines bool
}

type layerKind int

const (
	layerSyslog layerKind = iota + 1
	layerSyslog5424
	layerCRI
	layerKubectl
	layerCompose
	layerStern
	layerJSON
	layerVerbose
	layerExport
	layerDocument
)

// cut is a line without one layer.
type cut struct {
	text []byte
	// stamp is the text of the line's time, who identifies its source among those
	// of one file. Both are parts of the line.
	stamp, who []byte
	// partial is true if the rest of the line follows in another one.
	partial bool
}

// cut takes the layer off a line, false if the line does not have it.
func (l *layer) cut(b []byte) (cut, bool) {
	switch l.kind {
	case layerSyslog:
		return cutSyslog(b)
	case layerSyslog5424:
		return cutSyslog5424(b)
	case layerCRI:
		return cutCRI(b)
	case layerKubectl:
		return cutKubectl(b)
	case layerCompose:
		return cutCompose(b)
	case layerStern:
		return cutWords(b, l.words)
	}
	return cut{}, false
}

// cutPriority takes "<165>" off.
func cutPriority(b []byte) []byte {
	if len(b) < 3 || b[0] != '<' {
		return b
	}
	end := bytes.IndexByte(b[:min(len(b), 5)], '>')
	if end < 2 || !digits(b[1:end]) {
		return b
	}
	return b[end+1:]
}

// cutSyslog reads the lines of journalctl -o short, short-precise, short-iso,
// short-full, short-unix, short-monotonic and with-unit, and of syslog files
// (RFC 3164 and rsyslog's ISO form).
//
//	"Nov 21 03:05:00 node-1 kubelet[1234]: text"                       who "node-1 kubelet[1234]"
//	"Sat 2026-11-21 03:05:00 UTC node-1 kubelet.service[1234]: text"   who "node-1 kubelet.service[1234]"
func cutSyslog(b []byte) (cut, bool) {
	rest := cutPriority(b)
	n := cutStamp(rest)
	if n == 0 || n+2 >= len(rest) || rest[n] != ' ' {
		return cut{}, false
	}
	c := cut{stamp: rest[:n]}
	rest = rest[n+1:]
	host := bytes.IndexByte(rest, ' ')
	if host <= 0 || bytes.IndexByte(rest[:host], ':') >= 0 && bytes.Count(rest[:host], []byte(":")) < 2 || isLevel(rest[:host]) {
		return cut{}, false
	}
	end := bytes.IndexByte(rest[host+1:], ':')
	if end <= 0 {
		return cut{}, false
	}
	end += host + 1
	tag := rest[host+1 : end]
	if bytes.IndexByte(tag, ' ') >= 0 || tag[0] == '[' {
		return cut{}, false
	}
	c.who = rest[:end]
	c.text = rest[end+1:]
	if len(c.text) > 0 {
		if c.text[0] != ' ' {
			return cut{}, false
		}
		c.text = c.text[1:]
	}
	return c, tag[len(tag)-1] == ']' || len(rest) > end+1
}

// isLevel separates the level of a program's own log line from a host.
func isLevel(b []byte) bool {
	switch string(bytes.ToUpper(bytes.Trim(b, "[]"))) {
	case "TRACE", "DEBUG", "INFO", "NOTICE", "WARN", "WARNING", "ERROR", "ERR", "FATAL", "PANIC", "CRITICAL":
		return true
	}
	return false
}

// cutSyslog5424 reads RFC 5424.
//
//	"<165>1 2026-11-21T02:58:36.003Z node-1 kubelet 1234 - - text"   who "node-1 kubelet 1234"
func cutSyslog5424(b []byte) (cut, bool) {
	rest := cutPriority(b)
	if len(rest) == len(b) || !bytes.HasPrefix(rest, []byte("1 ")) {
		return cut{}, false
	}
	rest = rest[2:]
	n := cutStamp(rest)
	if n == 0 && bytes.HasPrefix(rest, []byte("- ")) {
		n = 1
	}
	if n == 0 || n >= len(rest) || rest[n] != ' ' {
		return cut{}, false
	}
	c := cut{stamp: rest[:n]}
	rest = rest[n+1:]
	end := 0
	for range 3 {
		i := bytes.IndexByte(rest[end:], ' ')
		if i <= 0 { // RFC 5424 writes "-" for a word that is not known
			return cut{}, false
		}
		end += i + 1
	}
	c.who, rest = rest[:end-1], rest[end:]
	if i := bytes.IndexByte(rest, ' '); i >= 0 { // the message's id
		rest = rest[i+1:]
	} else {
		return cut{}, false
	}
	c.text = bytes.TrimPrefix(cutStructured(rest), []byte("\xef\xbb\xbf"))
	return c, true
}

// cutStructured takes RFC 5424's structured data off.
//
//	`[a@1 k="]"][b] text` -> "text"
//	"- text"              -> "text"
func cutStructured(b []byte) []byte {
	if len(b) > 0 && b[0] == '-' {
		return bytes.TrimPrefix(b[1:], []byte(" "))
	}
	for len(b) > 0 && b[0] == '[' {
		quoted, i := false, 1
		for ; i < len(b) && (quoted || b[i] != ']'); i++ {
			switch {
			case b[i] == '\\' && quoted:
				i++
			case b[i] == '"':
				quoted = !quoted
			}
		}
		b = b[min(len(b), i+1):]
	}
	return bytes.TrimPrefix(b, []byte(" "))
}

// cutCRI reads the lines of a container's log file (kubernetes/cri-api,
// containerd's and CRI-O's logging: stamp, stream, tags, text).
//
//	"2026-11-21T02:58:36.123456789Z stderr F text"   who "stderr"
//	"2026-11-21T02:58:36.123456789Z stderr P text"   the line goes on
func cutCRI(b []byte) (cut, bool) {
	n := cutDate(b)
	if n == 0 || len(b) < n+len(" stderr F") || b[n] != ' ' {
		return cut{}, false
	}
	c := cut{stamp: b[:n], who: b[n+1 : n+7]}
	if string(c.who) != "stderr" && string(c.who) != "stdout" || b[n+7] != ' ' {
		return cut{}, false
	}
	rest := b[n+8:]
	c.partial = rest[0] == 'P'
	if !c.partial && rest[0] != 'F' {
		return cut{}, false
	}
	if len(rest) > 1 && rest[1] == ':' { // more tags
		if i := bytes.IndexByte(rest, ' '); i > 0 {
			rest = rest[i-1:]
		} else {
			rest = rest[:1]
		}
	}
	switch {
	case len(rest) == 1:
	case rest[1] == ' ':
		c.text = rest[2:]
	default:
		return cut{}, false
	}
	return c, true
}

// cutKubectl reads kubectl logs --prefix.
//
//	"[pod/web-0/app] text"   who "pod/web-0/app"
func cutKubectl(b []byte) (cut, bool) {
	if !bytes.HasPrefix(b, []byte("[pod/")) {
		return cut{}, false
	}
	end := bytes.IndexByte(b, ']')
	if end < 0 || end > 600 || bytes.Count(b[:end], []byte("/")) < 2 || bytes.IndexByte(b[:end], ' ') >= 0 {
		return cut{}, false
	}
	return cut{who: b[1:end], text: bytes.TrimPrefix(b[end+1:], []byte(" "))}, true
}

// cutCompose reads docker compose logs and docker service logs.
//
//	"api-1  | text"                 who "api-1"
//	"web.1.x1y2z3@node-1    | text" who "web.1.x1y2z3@node-1"
func cutCompose(b []byte) (cut, bool) {
	name := composeName(b)
	i := len(name)
	for i < len(b) && b[i] == ' ' {
		i++
	}
	if len(name) == 0 || i == len(name) || i >= len(b) || b[i] != '|' {
		return cut{}, false
	}
	return cut{who: name, text: bytes.TrimPrefix(b[i+1:], []byte(" "))}, true
}

// composeName is the name of a container that a line begins with.
func composeName(b []byte) []byte {
	i := 0
	for i < len(b) && i < 256 && (nameByte(b[i]) || b[i] == '_' || b[i] == '@' || b[i] >= 'A' && b[i] <= 'Z') {
		i++
	}
	return b[:i]
}

// nameByte is what names of Kubernetes objects are made of.
func nameByte(c byte) bool {
	return 'a' <= c && c <= 'z' || c-'0' < 10 || c == '-' || c == '.'
}

// cutWords reads stern's default output.
//
//	"web-0 app text"       2 words, who "web-0 app"
//	"shop web-0 app text"  3 words, who "shop web-0 app"
func cutWords(b []byte, words int) (cut, bool) {
	i := 0
	for n := range words {
		begin := i
		for i < len(b) && nameByte(b[i]) {
			i++
		}
		if i == begin || n < words-1 && (i == len(b) || b[i] != ' ') {
			return cut{}, false
		}
		if n < words-1 {
			i++
		}
	}
	if i < len(b) && b[i] != ' ' {
		return cut{}, false
	}
	return cut{who: b[:i], text: bytes.TrimPrefix(b[i:], []byte(" "))}, true
}

// name is the layer in words for a reason.
func (l layer) name() string {
	switch l.kind {
	case layerSyslog:
		return "journald"
	case layerSyslog5424:
		return "syslog"
	case layerCRI:
		return "CRI"
	case layerKubectl:
		return "kubectl --prefix"
	case layerCompose:
		return "docker compose"
	case layerStern:
		return "stern"
	case layerVerbose:
		return "journald verbose"
	case layerExport:
		return "journald export"
	case layerDocument:
		return l.key
	}
	switch l.key {
	case "log":
		return "docker JSON"
	case "MESSAGE":
		return "journald JSON"
	}
	return "JSON lines"
}

// source adds the writer that the layer's who names.
func (l layer) source(who string, s *Source) {
	// A prefix is cut at spaces alone, so a tab or a no-break space inside a word of
	// it parts nothing here either.
	words := strings.Split(who, " ")
	switch l.kind {
	case layerSyslog:
		s.Host = words[0]
		s.program(words[len(words)-1])
	case layerSyslog5424:
		s.Host, s.Program = known(words[0]), known(words[1])
		s.PID, _ = strconv.Atoi(words[2])
	case layerKubectl:
		parts := strings.Split(who, "/")
		s.Pod, s.Container = parts[1], parts[len(parts)-1]
	case layerCompose:
		s.Container = who
		if service, node, ok := strings.Cut(who, "@"); ok {
			s.Container, s.Host = service, node
		}
	case layerStern:
		if len(words) == 3 {
			s.Namespace, words = words[0], words[1:]
		}
		s.Pod, s.Container = words[0], words[1]
	}
}

func known(word string) string {
	if word == "-" {
		return ""
	}
	return word
}

// program reads a syslog tag, or the unit of -o with-unit, whose stem is taken for
// the program.
//
//	"kubelet[1234]"         program kubelet, pid 1234
//	"kubelet.service[1234]" unit kubelet.service, program kubelet, pid 1234
func (s *Source) program(tag string) {
	if name, pid, ok := strings.Cut(tag, "["); ok {
		tag = name
		s.PID, _ = strconv.Atoi(strings.TrimSuffix(pid, "]"))
	}
	s.Program = tag
	for _, suffix := range []string{".service", ".scope", ".slice"} {
		if stem, ok := strings.CutSuffix(tag, suffix); ok {
			s.Unit, s.Program = tag, stem[strings.LastIndexByte(stem, '/')+1:]
		}
	}
}

// record gathers the line, its source and its time from JSON objects and journald's
// records.
type record struct {
	source Source
	before Source // of the record before
	stream []byte
	moment moment
	// stamp is a time of the record that was not read yet: most are never asked for.
	stamp []byte
	text  []byte
	found bool // there was a text
}

// reset begins a new record.
func (r *record) reset() {
	*r = record{before: r.source, stream: r.stream[:0], stamp: r.stamp[:0], text: r.text[:0]}
}

// readStamp reads the time that was left for later.
func (r *record) readStamp(now time.Time) {
	if len(r.stamp) == 0 {
		return
	}
	if m := readTime(r.stamp, now); m.better(r.moment) {
		r.moment = m
	}
	r.stamp = r.stamp[:0]
}

// reuse returns a value as text, without a copy if it equals that of the record before.
func reuse(before string, value []byte) string {
	if before == string(value) {
		return before
	}
	return string(value)
}

// set takes one field of a record, by its name in journald, docker, fluentd,
// stern -o json and the usual loggers.
func (r *record) set(key, value []byte, now time.Time) {
	switch string(key) {
	case "_HOSTNAME", "hostname", "host", "nodeName":
		r.source.Host = reuse(r.before.Host, value)
	case "SYSLOG_IDENTIFIER":
		r.source.Program = reuse(r.before.Program, value)
	case "_COMM":
		if r.source.Program == "" {
			r.source.Program = reuse(r.before.Program, value)
		}
	case "_SYSTEMD_UNIT":
		r.source.Unit = reuse(r.before.Unit, value)
	case "_PID", "SYSLOG_PID":
		if n, err := strconv.Atoi(string(value)); err == nil && (r.source.PID == 0 || string(key) == "_PID") {
			r.source.PID = n
		}
	case "CONTAINER_NAME", "containerName":
		r.source.Container = reuse(r.before.Container, value)
	case "podName":
		r.source.Pod = reuse(r.before.Pod, value)
	case "namespace":
		r.source.Namespace = reuse(r.before.Namespace, value)
	case "stream":
		r.stream = append(r.stream[:0], value...)
	case "_SOURCE_REALTIME_TIMESTAMP", "__REALTIME_TIMESTAMP":
		if n, err := strconv.ParseInt(string(value), 10, 64); err == nil && n > 0 {
			r.moment, r.stamp = moment{time: time.UnixMicro(n).UTC()}, r.stamp[:0]
		}
	case "time", "ts", "timestamp", "@timestamp", "TimeGenerated", "timeUnixNano":
		r.readStamp(now)
		r.stamp = append(r.stamp, value...)
	}
}

// label takes a member of an object of labels, which may stand below another one:
// {"pod":{"name":"web-0"}} is {"pod_name":"web-0"}.
func (r *record) label(parent, key, value []byte) {
	var scratch [64]byte
	name := key
	switch string(parent) {
	case "pod", "node", "container", "namespace", "host":
		name = append(append(append(scratch[:0], parent...), '_'), key...)
	}
	switch string(name) {
	case "pod", "pod_name":
		r.source.Pod = reuse(r.before.Pod, value)
	case "container", "container_name":
		r.source.Container = reuse(r.before.Container, value)
	case "namespace", "namespace_name":
		r.source.Namespace = reuse(r.before.Namespace, value)
	case "host", "hostname", "host_name", "node", "node_name", "nodename", "compute.googleapis.com/resource_name", "k8s.node.name":
		r.source.Host = reuse(r.before.Host, value)
	case "unit", "systemd_unit":
		r.source.program(string(value))
	}
}

// readTime reads a stamp or seconds, milliseconds, micro- or nanoseconds since
// 1970.
func readTime(value []byte, now time.Time) moment {
	if n := cutStamp(value); n > 0 && n != 17 {
		return readStamp(string(value[:n]), now)
	}
	if n, err := strconv.ParseInt(string(value), 10, 64); err == nil && n > 1e17 {
		return moment{time: time.Unix(0, n).UTC()} // a float would be too coarse
	}
	seconds, err := strconv.ParseFloat(string(value), 64)
	if err != nil || seconds < 1e8 || seconds > 1e19 {
		return moment{}
	}
	for seconds > 1e11 {
		seconds /= 1000
	}
	return moment{time: time.UnixMicro(int64(seconds * 1e6)).UTC()}
}
