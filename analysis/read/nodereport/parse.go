package nodereport

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/read/json"
)

// Bounds of what is kept of one report.
const (
	// maxText is how much of a string is kept.
	maxText  = 4 << 10
	maxWords = 256
	maxTypes = 64
	// maxSpaces is how many spaces of the heap are kept; V8 has about ten.
	maxSpaces = 32
	// maxNesting is how deep reports of workers are read inside each other.
	maxNesting = 4
)

// limits: an environment variable of Linux has 128 KiB at most, and a report with
// workers nests 8 deep.
var limits = json.Limits{Value: 1 << 20, Depth: 200}

// Parse reads one report of any version (doc/api/report.md of Node.js; verified with
// 20.20 and 22.23), pretty or compact, and visits its descriptors in the order of the
// file: tcp, udp, pipe, tty and poll handles. A handle that has neither descriptor nor
// address has no socket yet and is counted only. Watches of files are visited too: fs_event
// (fs.watch) and fs_poll (fs.watchFile) with the file in Local; they hold no descriptor of
// their own, those of one loop share one. So are child processes (process), whose Name is "pid 4711".
//
// FD is -1 if the report leaves it out, and Inode is always 0. Local and Remote are
// numeric addresses, or paths for pipes. Name is the path of a pipe, else the handle's
// address ("handle 0x2e0"), which identifies it in the next report; it is empty for tty
// and poll, whose family is known by name. Place is the handle's JSON object. A tcp
// handle with a remote end is ESTABLISHED, and Idle if nothing in the program waits for
// it, Unread if it is readable and not active: libuv reads of one that it waits for. One that is active and neither readable nor writable is in LISTEN.
//
// A cut report returns the handles before the cut, and a problem. The error is that of
// visit or of r.
func Parse(r io.Reader, path string, visit func(*analysis.Descriptor) error) (Report, []analysis.Problem, error) {
	p := &parser{
		Reader: json.NewReader(r, limits), path: path, visit: visit,
		report: Report{Handles: map[string]int{}},
	}
	p.finish(p.thread(0))
	return p.report, p.problems, p.err
}

type parser struct {
	*json.Reader
	path     string
	visit    func(*analysis.Descriptor) error
	report   Report
	problems []analysis.Problem
	// stamp is dumpEventTimeStamp, clock dumpEventTime.
	stamp int64
	clock string
	// seen is true if a header or handles were found.
	seen bool
	// err is visit's or the reader's.
	err error
}

// finish turns the end of the document into the report's.
func (p *parser) finish(end error) {
	p.report.Program = ProgramOf(p.report.CommandLine)
	p.report.Time = eventTime(p.stamp, p.clock)
	var syntax *json.SyntaxError
	var limit *json.LimitError
	switch {
	case p.err != nil: // visit's
	case p.Failure() != nil:
		p.report.Truncated = true
		p.err = fmt.Errorf("reading %s: %w", p.path, p.Failure())
	case end == nil:
		p.tail()
	case errors.As(end, &syntax), errors.As(end, &limit):
		p.report.Truncated = true
		p.problem(p.Place(), analysis.Error, "the report is no JSON from here on", end.Error(),
			"write it again with process.report.writeReport(); what stands before was read")
	default:
		p.report.Truncated = true
		p.problem(p.Place(), analysis.Warning, "the report is cut off", "it ends in the middle of its JSON",
			"wait until the file stops growing before you copy it; the handles before the cut were read")
	}
	if p.err == nil && !p.seen && !p.report.Truncated {
		p.problem(analysis.Place{Line: 1}, analysis.Error, "this is no diagnostic report of Node.js", "it has neither a header nor libuv handles",
			"write one with process.report.writeReport(), or kill -USR2 with --report-on-signal")
	}
}

// tail reports bytes after a whole report.
func (p *parser) tail() {
	at := p.Place()
	if _, err := p.Next(); err == io.EOF {
		return
	}
	p.problem(at, analysis.Note, "bytes after the end of the report were ignored", "a report is one JSON object",
		"if several reports were joined, upload each as a file of its own")
}

func (p *parser) problem(at analysis.Place, severity analysis.Severity, what, why, hint string) {
	p.problems = append(p.problems, analysis.Problem{
		Path: p.path, Line: at.Line, Offset: at.Offset, Severity: severity, What: what, Why: why, Hint: hint,
	})
}

// eventTime prefers the stamp, in milliseconds since 1970, to the clock, which
// shows local time as if it were UTC.
func eventTime(stamp int64, clock string) time.Time {
	if stamp > 0 && stamp < 1<<48 {
		return time.UnixMilli(stamp).UTC()
	}
	at, err := time.Parse(time.RFC3339, clock)
	if err != nil {
		return time.Time{}
	}
	return at.UTC()
}

// thread reads the report of one thread: the main one at nesting 0, its workers
// below.
func (p *parser) thread(nesting int) error {
	return p.Object(func(key string) error {
		switch {
		case key == "libuv":
			p.seen = true
			return p.Array(p.handle)
		case key == "workers" && nesting < maxNesting:
			return p.Array(func() error {
				p.report.Workers++
				return p.thread(nesting + 1)
			})
		case key == "environmentVariables":
			return p.Object(func(string) error {
				p.report.Secrets = true
				return p.Skip()
			})
		case nesting > 0: // all else comes once, for the process
			return p.Skip()
		}
		return p.process(key)
	})
}

// process reads the parts that are about the process.
func (p *parser) process(key string) error {
	switch key {
	case "header":
		p.seen = true
		return p.Object(p.header)
	case "javascriptHeap":
		return p.heap()
	case "resourceUsage":
		return p.numbers(map[string]*int64{"rss": &p.report.RSS})
	case "userLimits":
		return p.Object(func(key string) error {
			if key != "open_files" {
				return p.Skip()
			}
			return p.numbers(map[string]*int64{"soft": &p.report.SoftOpenFiles})
		})
	}
	return p.Skip()
}

// heap reads the numbers of the heap, and of its spaces what they use.
func (p *parser) heap() error {
	named := map[string]*int64{"usedMemory": &p.report.HeapUsed, "memoryLimit": &p.report.HeapLimit, "externalMemory": &p.report.External}
	return p.Object(func(key string) error {
		switch {
		case key == "heapSpaces":
			return p.Object(func(name string) error {
				var used int64
				err := p.numbers(map[string]*int64{"used": &used})
				if len(p.report.HeapSpaces) < maxSpaces && used >= 0 && strings.HasSuffix(name, "_space") && len(name) <= 64 {
					p.report.HeapSpaces = append(p.report.HeapSpaces, HeapSpace{strings.Clone(name), used})
				}
				return err
			})
		case named[key] != nil:
			return p.number(named[key])
		}
		return p.Skip()
	})
}

// numbers reads the named numbers of an object.
func (p *parser) numbers(into map[string]*int64) error {
	return p.Object(func(key string) error {
		if n, ok := into[key]; ok {
			return p.number(n)
		}
		return p.Skip()
	})
}

func (p *parser) header(key string) error {
	switch key {
	case "dumpEventTimeStamp":
		return p.number(&p.stamp)
	case "dumpEventTime":
		return p.text(&p.clock)
	case "host":
		return p.text(&p.report.Host)
	case "nodejsVersion":
		return p.text(&p.report.NodeVersion)
	case "processId":
		return p.small(&p.report.PID)
	case "commandLine":
		return p.Array(func() error {
			var word string
			if err := p.text(&word); err != nil {
				return err
			}
			if len(p.report.CommandLine) < maxWords {
				p.report.CommandLine = append(p.report.CommandLine, word)
			}
			return nil
		})
	}
	return p.Skip()
}

// text reads a string, bounded; other values become "".
func (p *parser) text(into *string) error {
	text, err := p.Text()
	if len(text) > maxText {
		text = text[:maxText] + "…"
	}
	*into = text
	return err
}

// number reads a number, written as one or as a string ("1795229838391"), or
// "unlimited"; other values leave into as it is.
func (p *parser) number(into *int64) error {
	if kind := p.Peek(); kind != '0' && kind != '"' {
		return p.Skip()
	}
	t, err := p.Next()
	if err != nil {
		return err
	}
	text := t.String()
	if text == "unlimited" {
		*into = Unlimited
	} else if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		*into = n
	}
	return nil
}

// flag reads a boolean; other values leave into as it is.
func (p *parser) flag(into *bool) error {
	if kind := p.Peek(); kind == 't' || kind == 'f' {
		*into = kind == 't'
	}
	return p.Skip()
}

// small reads a number that is an id or a version: never negative, 32 bits.
func (p *parser) small(into *int) error {
	var n int64
	err := p.number(&n)
	if n > 0 && n < 1<<31 {
		*into = int(n)
	}
	return err
}

// handle is one entry of libuv.
type handle struct {
	kind, address string
	local, remote end
	// file is what a fs_event or fs_poll handle looks at.
	file               string
	fd                 int64
	pid                int
	active, referenced bool
	// open is true if data may be read or written.
	open, readable bool
}

// end is one end of a connection.
type end struct {
	// at is host:port, or the path of a pipe.
	at string
	v6 bool
}

// handle reads one entry and visits the descriptor that it holds.
func (p *parser) handle() error {
	if p.Peek() != '{' {
		return p.Skip()
	}
	place := p.Place()
	h := handle{fd: -1, active: true, referenced: true}
	if err := p.Object(func(key string) error { return p.entry(&h, key) }); err != nil {
		return err
	}
	place.Length = p.End().Offset - place.Offset
	p.count(h)
	d := h.descriptor()
	if d == nil {
		return nil
	}
	d.Place = place
	if h.watches() {
		p.report.Watches++
	} else {
		p.report.Descriptors++
	}
	p.err = p.visit(d)
	return p.err
}

func (p *parser) entry(h *handle, key string) error {
	switch key {
	case "type":
		return p.text(&h.kind)
	case "address":
		return p.text(&h.address)
	case "filename":
		return p.text(&h.file)
	case "fd":
		return p.number(&h.fd)
	case "pid":
		return p.small(&h.pid)
	case "is_active":
		return p.flag(&h.active)
	case "is_referenced":
		return p.flag(&h.referenced)
	case "readable", "writable":
		var open bool
		err := p.flag(&open)
		h.open, h.readable = h.open || open, h.readable || open && key == "readable"
		return err
	case "localEndpoint":
		return p.end(&h.local)
	case "remoteEndpoint":
		return p.end(&h.remote)
	}
	return p.Skip()
}

// end reads one end: null, the path of a pipe, or an address. The host's name is
// the last choice, since one address may have many.
//
//	{"host": "localhost", "ip4": "127.0.0.1", "port": 42635}   127.0.0.1:42635
//	{"ip6": "::1", "port": 80}                                  [::1]:80
func (p *parser) end(into *end) error {
	if p.Peek() == '"' {
		return p.text(&into.at)
	}
	var name, ip4, ip6 string
	var port int64
	err := p.Object(func(key string) error {
		switch key {
		case "host":
			return p.text(&name)
		case "ip4":
			return p.text(&ip4)
		case "ip6":
			return p.text(&ip6)
		case "port":
			return p.number(&port)
		}
		return p.Skip()
	})
	for _, host := range []string{ip4, ip6, name} {
		if host != "" {
			into.at, into.v6 = net.JoinHostPort(host, strconv.FormatInt(port, 10)), ip4 == "" && ip6 != ""
			break
		}
	}
	return err
}

// count files a handle under its type.
func (p *parser) count(h handle) {
	kind := h.kind
	if kind == "loop" { // the event loop itself, the last entry
		return
	}
	if _, known := p.report.Handles[kind]; !known && len(p.report.Handles) >= maxTypes || kind == "" {
		kind = "unknown"
	}
	p.report.Handles[kind]++
	switch {
	case kind == "tcp" && h.referenced:
		p.report.ReferencedTCP++
	case kind == "tcp":
		p.report.UnreferencedTCP++
	}
}

// watches reports a handle that looks at a file, or at a child process.
func (h handle) watches() bool {
	return h.kind == "fs_event" || h.kind == "fs_poll" || h.kind == "process" && h.pid > 0
}

// descriptor is that of the handle, or its watch, nil for timers and the like, and for sockets that
// do not exist yet.
func (h handle) descriptor() *analysis.Descriptor {
	switch {
	case h.pid > 0 && h.watches():
		return &analysis.Descriptor{FD: -1, Type: h.kind, Name: "pid " + strconv.Itoa(h.pid)}
	case h.watches():
		return &analysis.Descriptor{FD: -1, Type: h.kind, Name: "handle " + h.address, Local: h.file}
	}
	switch h.kind {
	case "tcp", "udp", "pipe", "tty", "poll":
	default:
		return nil
	}
	if h.fd < 0 && h.local.at == "" && h.remote.at == "" {
		return nil
	}
	d := &analysis.Descriptor{FD: -1, Type: h.kind, Local: h.local.at, Remote: h.remote.at, State: h.state()}
	if h.fd >= 0 && h.fd < 1<<31 {
		d.FD = int(h.fd)
	}
	switch h.kind {
	case "tcp", "udp":
		d.Protocol = map[string]string{"tcp": "TCP", "udp": "UDP"}[h.kind]
		if h.local.v6 || h.remote.v6 {
			d.Type += "6"
		}
		d.Idle = h.kind == "tcp" && h.remote.at != "" && !h.referenced
		d.Unread = h.kind == "tcp" && h.remote.at != "" && h.readable && !h.active
	case "pipe":
		// Only a socket has a path: getsockname knows none of real pipes.
		if path := cmp.Or(h.local.at, h.remote.at); path != "" {
			d.Type, d.Name = "unix", path
		}
	}
	if d.Name == "" && h.address != "" && h.kind != "tty" && h.kind != "poll" {
		d.Name = "handle " + h.address
	}
	return d
}

// state separates listeners from connections. A handle that was bound without listening
// is not active; one that still connects looks like a listener.
func (h handle) state() string {
	switch {
	case h.kind != "tcp" && h.kind != "pipe":
		return ""
	case h.kind == "tcp" && h.remote.at != "":
		return "ESTABLISHED"
	case h.local.at != "" && h.remote.at == "" && h.active && !h.open:
		return "LISTEN"
	}
	return ""
}
