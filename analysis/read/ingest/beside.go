package ingest

import (
	"bytes"
	"io"

	"leakdiff/analysis/read/detect"
	"leakdiff/analysis/read/gauge"
)

// besideDumps are kinds of text in which lines of a log may stand beside dumps.
var besideDumps = map[string]bool{
	detect.ThreadDump: true, detect.GoroutineDebug2: true, detect.GoroutineCrash: true, detect.Wrapped: true, detect.Log: true, detect.Text: true,
}

// logLines finds what a log says while the dumps in it are read: a Writer that gets the text.
type logLines struct {
	found  *gauge.LogReader
	number int64
	// open is the begin of a line that is not whole yet.
	open []byte
}

// mostLogLine bounds the line of a log; the rest of a longer one is not looked at.
const mostLogLine = 8 << 10

// factsBeside is what looks for facts in a text of a kind, nil for kinds without.
func (r *reader) factsBeside(kind string, p *part) *logLines {
	if !besideDumps[kind] {
		return nil
	}
	return &logLines{found: gauge.NewLogReader(p.path, r.written(p))}
}

func (l *logLines) tee(body io.Reader) io.Reader {
	if l == nil {
		return body
	}
	return io.TeeReader(body, l)
}

func (l *logLines) Write(text []byte) (int, error) {
	n := len(text)
	for len(text) > 0 {
		line, rest, ended := bytes.Cut(text, []byte("\n"))
		if len(l.open) > 0 || !ended {
			l.open = append(l.open, line[:min(len(line), mostLogLine-len(l.open))]...)
			line = l.open
		}
		if ended {
			l.line(line)
			l.open = l.open[:0]
		}
		text = rest
	}
	return n, nil
}

// line reads a line that is not one of a stack, which most are.
func (l *logLines) line(text []byte) {
	l.number++
	if len(text) > 0 && !ofDump(text) {
		l.found.Line(string(text[:min(len(text), mostLogLine)]), l.number)
	}
}

// ofDump reports the lines of goroutines and threads: they are indented, head one, or call a
// function.
//
//	main.(*Pool).get(0xc000010000)
//	created by main.main in goroutine 1
func ofDump(text []byte) bool {
	switch text[0] {
	case ' ', '\t', '"', '\r':
		return true
	}
	for _, head := range []string{"goroutine ", "created by "} {
		if bytes.HasPrefix(text, []byte(head)) {
			return true
		}
	}
	open := bytes.IndexByte(text, '(')
	return text[len(text)-1] == ')' && open > 0 && bytes.IndexByte(text[:open], ' ') < 0
}

// beside keeps what a log says beside its dumps as a part of its own.
func (r *reader) beside(l *logLines, p *part) {
	if l == nil || r.newParts() == len(r.parts) && !p.says() {
		return
	}
	if len(l.open) > 0 {
		l.line(l.open)
	}
	found := l.found.Log()
	if len(found.Facts) == 0 {
		return
	}
	q := p.another(0)
	q.form, q.logged, q.pid, q.inner = detect.LimitLog, found.Facts, found.PID, found.Facts[0].At
	r.parts = append(r.parts, q)
}
