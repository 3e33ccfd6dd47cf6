package detect

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"leakdiff/analysis"
	"leakdiff/analysis/expression"
	"leakdiff/analysis/read/envelope"
	"leakdiff/analysis/read/gauge"
	"leakdiff/analysis/say/wording"
)

// binary is what holds NULs, or more control bytes than any text does. UTF-16 is
// named, for the unpacking turns it into UTF-8 when it can.
func (v *view) binary() (Result, bool) {
	if bytes.HasPrefix(v.text, []byte("__CURSOR=")) {
		// journalctl -o export prints values that are no text with their length.
		return no()
	}
	sample := v.text[:min(len(v.text), 1<<16)]
	if bytes.HasPrefix(v.Bytes, []byte("\xff\xfe")) || bytes.HasPrefix(v.Bytes, []byte("\xfe\xff")) {
		return medium(Text, "it begins with the byte order mark of UTF-16")
	}
	nuls, others := bytes.Count(sample, []byte{0}), controls(sample)
	switch {
	case nuls == 0 && others*50 <= len(sample):
		return no()
	case nuls == 0:
		return medium(Binary, fmt.Sprintf("%d of its first %d bytes are control bytes", others, len(sample)))
	case nuls == len(sample):
		return high(Binary, "nothing but NUL bytes")
	case nuls*1000 < len(sample) && others*50 <= len(sample):
		// A log with a few NULs in it (a crash in the middle of a write) is text.
		return no()
	}
	return high(Binary, fmt.Sprintf("%d of its first %d bytes are NUL", nuls, len(sample)))
}

// controls counts control bytes that no text holds; NUL is counted apart, ESC
// colours logs.
func controls(b []byte) int {
	n := 0
	for _, c := range b {
		if c != 0 && c < ' ' && strings.IndexByte("\t\n\v\f\r\b\x1b", c) < 0 || c == 0x7f {
			n++
		}
	}
	return n
}

// truthName is the truth beside recorded test data.
var truthName = expression.Lazy(`(?i)^expected([._-].*)?\.json$`)

func (v *view) json() (Result, bool) {
	trimmed := bytes.TrimLeft(afterResponse(v.text), " \t\r\n")
	if len(trimmed) == 0 || trimmed[0] != '{' && trimmed[0] != '[' || !looksJSON(trimmed) {
		return no()
	}
	keys := func(all ...string) bool {
		for _, key := range all {
			if !bytes.Contains(trimmed, []byte(`"`+key+`"`)) {
				return false
			}
		}
		return true
	}
	switch {
	case truthName.MatchString(v.base):
		return high(Truth, "a file named "+v.base+" says what must be found, and is no evidence")
	case bytes.HasPrefix(trimmed, []byte(`{"resourceProfiles":`)):
		return high(OTLPProfiles, "JSON with resourceProfiles, as the file exporter of the OpenTelemetry collector writes profiles")
	case keys("header", "reportVersion", "nodejsVersion"), keys("header", "libuv"):
		return high(NodeReport, "JSON with the header of a Node.js diagnostic report")
	case keys("Gauges", "Counters"):
		return high(MetricsJSON, "JSON with Gauges and Counters, the metrics of a HashiCorp agent")
	case gauge.IsPackageJSON(v.Path, trimmed):
		return high(PackageJSON, "packages of npm with their versions")
	case gauge.IsJolokia(trimmed):
		return high(Jolokia, "JSON of Jolokia, with the bean that was asked for")
	case gauge.IsPodsJSON(trimmed):
		return high(PodJSON, "JSON of kubectl get pods")
	case keys("threadDump"):
		return high(ThreadJSON, "JSON of Thread.dump_to_file")
	case keys("threads", "threadName"):
		return high(ThreadJSON, "JSON of the Spring Boot actuator's thread dump")
	case keys("lsof_version"):
		return high(LsofJSON, "JSON of lsof -J")
	case keys("lsfd"):
		return high(Lsfd, "JSON of lsfd")
	case jsonLines(v.lines):
		return v.wide(high(Log, "one JSON object on each line"))
	}
	r, _ := high(JSON, "JSON without anything that is known here")
	if known, ok := v.refused(); ok {
		r.Reason, r.Help = known.Reason, known.Help
	}
	return v.wide(r, true)
}

// afterResponse is a text without the head of an HTTP response, as curl -i prints it.
func afterResponse(b []byte) []byte {
	for bytes.HasPrefix(b, []byte("HTTP/")) {
		_, body, ok := bytes.Cut(b, []byte("\r\n\r\n"))
		if head, after, plain := bytes.Cut(b, []byte("\n\n")); plain && (!ok || len(head) < len(b)-len(body)) {
			body, ok = after, true
		}
		if !ok {
			return b
		}
		b = body
	}
	return b
}

// looksJSON separates "{" and "[" of JSON from those of logs ("[INFO] ...",
// "[2006-05-03 12:00]") by the first tokens. The head may end inside them.
func looksJSON(b []byte) bool {
	d := json.NewDecoder(bytes.NewReader(b))
	for range 20 {
		if _, err := d.Token(); err != nil {
			return d.InputOffset() > 1 && (errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF))
		}
	}
	return true
}

// jsonLines reports whether every line is an object of its own.
func jsonLines(lines []string) bool {
	for _, l := range lines {
		if !strings.HasPrefix(l, "{") {
			return false
		}
	}
	return len(lines) > 1
}

// wide asks for more of what may still turn out to hold a dump.
func (v *view) wide(r Result, ok bool) (Result, bool) {
	r.NeedMore = !v.Whole && len(v.Bytes) < SniffLimit
	return r, ok
}

// logLine begins with a time, or carries a level.
var logLine = expression.Lazy(`^(<\d+>)?[\[(]?(\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d|\d\d:\d\d:\d\d[ .,]|(Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) [ \d]\d \d\d:\d\d:\d\d|[IWEF]\d{4} \d\d:\d\d:\d\d|time="?\d{4}|ts=\d{4}|level=\w+ |\[?(TRACE|DEBUG|INFO|WARN|WARNING|ERROR|FATAL)\]?[: ])`)

// plain names what is left: HTML, logs, other text.
// source finds source code of Go and Java, whose first line below the comments names the
// package. What it holds of dumps are strings.
func (v *view) source() (Result, bool) {
	for _, l := range v.lines {
		l = strings.TrimSpace(l)
		if envelope.IsPackage([]byte(l)) {
			return medium(Text, "source code: "+quote(l))
		}
		if !strings.HasPrefix(l, "//") && !strings.HasPrefix(l, "/*") && !strings.HasPrefix(l, "*") {
			break
		}
	}
	return no()
}

func (v *view) plain() Result {
	r, _ := v.wide(v.plainText())
	if r.Kind == Binary {
		r.NeedMore = false
	}
	return r
}

func (v *view) plainText() (Result, bool) {
	first := v.first()
	start := strings.ToLower(strings.TrimSpace(first))
	for _, tag := range []string{"<!doctype html", "<html", "<head", "<body", "<pre"} {
		if strings.HasPrefix(start, tag) {
			r, _ := high(HTML, "it begins with "+quote(first))
			if known, ok := v.refused(); ok {
				r.Reason, r.Help = known.Reason, known.Help
			}
			return r, true
		}
	}
	if r, ok := v.refused(); ok {
		if n := v.count(logLine.MatchString); n > 0 && 3*n >= len(v.lines) {
			r.Kind = Log
		}
		return r, true
	}
	if n := v.logFacts(); n > 0 {
		return medium(LimitLog, wording.Plural(n, "line says", "lines say")+" that a limit was reached or that something was not closed")
	}
	if n := v.count(logLine.MatchString); n > 0 && 3*n >= len(v.lines) {
		return medium(Log, v.share(n)+" begin with a time or a level"+v.loneHeader())
	}
	if !utf8.Valid(v.text) && !validBut(v.text) {
		return medium(Text, "text in another encoding than UTF-8"+v.loneHeader())
	}
	if v.count(func(l string) bool { return isNumber(strings.TrimSpace(l)) }) == len(v.lines) && len(v.lines) > 0 {
		return medium(Text, "nothing but "+wording.Plural(len(v.lines), "number", "numbers"))
	}
	if strings.HasSuffix(strings.ToLower(v.base), ".log") {
		return low(Log, "text; its name says that it is a log"+v.loneHeader())
	}
	if len(v.lines) == 0 {
		return low(Text, "nothing but blanks")
	}
	return Result{Kind: Text, Reason: "text that is no known form: " + quote(printable(first)) + v.loneHeader(), Confidence: analysis.Low}, true
}

// logFacts counts the lines that say what logs are read for. A page about such lines is no log.
func (v *view) logFacts() (n int) {
	if strings.HasSuffix(strings.ToLower(v.base), ".md") || strings.HasPrefix(strings.ToUpper(v.base), "CHANGELOG") {
		return 0
	}
	for l := range bytes.Lines(v.text) {
		if gauge.IsFact(string(bytes.TrimRight(l, "\r\n"))) {
			n++
		}
	}
	return n
}

func (v *view) share(n int) string {
	return fmt.Sprintf("%d of the first %d lines", n, len(v.lines))
}

// loneHeader explains why a text with a header or two is not enough.
func (v *view) loneHeader() string {
	h := v.headers()
	if n := h.n + h.inside + h.escaped; n > 0 {
		return fmt.Sprintf("; %s in it %s no dump", wording.Plural(n, "goroutine header", "goroutine headers"), wording.Fit(n, "makes", "make"))
	}
	for _, f := range unread {
		if !v.has(f.word) {
			continue
		}
		if n := len(f.line.FindAllIndex(v.text, -1)); n > 0 {
			return "; " + v.more(n) + " " + wording.Fit(n, "line ", "lines ") + f.what
		}
	}
	return ""
}

// unread are lists of goroutines that a ticket may show and that are not read, since
// they have no stacks or no ids.
var unread = []struct {
	// word is in every such line.
	word string
	line *expression.Expression
	what string
}{
	{"Goroutine ", expression.Lazy(`(?m)^[ *]*Goroutine \d+ - (User|Runtime|Go|Start): `), "of a list by Delve, which has no stacks"},
	{"goroutine ", expression.Lazy(`(?m)^[ \t>]*goroutine [A-Za-z]+ \[[a-zA-Z .]+(, \d+ minutes)?\]:`), "with a goroutine header whose id somebody replaced"},
}

// validBut reports whether only the last character is cut, at the end of a head.
func validBut(b []byte) bool {
	for cut := 1; cut < utf8.UTFMax && cut <= len(b); cut++ {
		if utf8.Valid(b[:len(b)-cut]) {
			return true
		}
	}
	return false
}

func printable(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
