// Package detect names the kind of a file. It takes the first bytes of the file, which
// decide, and its path, which is a hint for files whose content is not enough, such as
// an empty fdinfo file. It returns a kind with the reason for it, a sentence about the
// content. It does not know how any kind is parsed. A file may fit several tests: the
// order of the tests decides.
package detect

import (
	"bytes"
	"fmt"
	"path"
	"strconv"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/read/line"
)

// Kind is what a file is, as shown on pages and in reports.
type Kind = string

// The kinds. What is recognised and named but not read is marked.
const (
	GoroutineDebug2 Kind = "goroutine-debug2" // debug=2 and runtime.Stack text
	GoroutineCrash  Kind = "goroutine-crash"  // SIGQUIT, panic, fatal error
	GoroutineDebug1 Kind = "goroutine-debug1"
	GoroutineProto  Kind = "goroutine-proto"   // uncompressed profile.proto
	GoroutineDebug3 Kind = "goroutine-debug3"  // the same with a sample for each goroutine
	GoroutinePprof  Kind = "goroutine-pprof"   // text of pprof -traces and -top
	OTLPProfiles    Kind = "otlp-profiles"     // of the collector's file exporter
	Wrapped         Kind = "wrapped-dump"      // after log prefixes or escaped
	ListingBlocks   Kind = "wrapped-listing"   // lsof, ss or netstat in code blocks of a ticket
	CommandOutput   Kind = "command-output"    // listings and dumps below the prompts or headings of several commands
	ContentionText  Kind = "contention-debug1" // mutex and block profiles
	ContentionProto Kind = "contention-proto"
	HeapText        Kind = "heap-debug1" // heap and allocs profiles
	HeapProto       Kind = "heap-proto"
	ClassHistogram  Kind = "class-histogram" // of a JVM
	OtherProfile    Kind = "profile"         // cpu, ...; named only
	ExecutionTrace  Kind = "execution-trace" // of runtime/trace
	RaceReport      Kind = "race-report"     // named only
	FDInfo          Kind = "fdinfo"          // one file, or several joined below headings
	FDInfoGrep      Kind = "fdinfo-grep"
	EmptyFDInfo     Kind = "fdinfo-empty"
	FDLink          Kind = "fd-link"
	FDListing       Kind = "fd-listing" // ls -l, find or stat over /proc/PID/fd
	Mountinfo       Kind = "mountinfo"
	Limits          Kind = "limits"
	Status          Kind = "status"
	Stat            Kind = "stat"
	Cmdline         Kind = "cmdline"
	Cgroup          Kind = "cgroup"
	Sysctls         Kind = "sysctls"
	LsofTable       Kind = "lsof"
	LsofFields      Kind = "lsof-fields"  // lsof -F and -F0
	LsofJSON        Kind = "lsof-json"    // lsof -J
	Lsfd            Kind = "lsfd"         // util-linux
	SocketTable     Kind = "socket-table" // ss and netstat
	NetTable        Kind = "net-table"    // /proc/PID/net/{tcp,tcp6,udp,unix,...}
	SocketSummary   Kind = "socket-summary"
	Strace          Kind = "strace"        // calls of processes to the kernel, with the stacks of -k
	OpenEvents      Kind = "trace_open"    // files opened, by the gadget of that name
	FDTargets       Kind = "fd-targets"    // link targets without numbers
	InodeList       Kind = "inode-list"    // find -printf '%i %p', debugfs ncheck
	InotifyTable    Kind = "inotify-table" // what the one-liners print
	ThreadTable     Kind = "thread-table"  // threads by process, of ps
	Metrics         Kind = "metrics"       // Prometheus text
	MetricsJSON     Kind = "metrics-json"  // HashiCorp
	Counts          Kind = "counts"        // numbers over time, of wc, grep and logs
	Jolokia         Kind = "jolokia"       // numbers of beans by the HTTP bridge of JMX
	LimitLog        Kind = "limit-log"     // a log in which a limit was met or something was not closed
	VersionList     Kind = "versions"      // of dpkg, rpm, npm ls, Jenkins plugins, go version -m
	PackageJSON     Kind = "package-json"  // package.json and the lock file of npm
	PodTable        Kind = "pods"          // pods or containers of a node, by kubectl and crictl
	PodJSON         Kind = "pods-json"     // pods by kubectl get pods -o json
	ProcessTable    Kind = "processes"     // of ps and top
	CapturedAt      Kind = "captured-at"
	Manifest        Kind = "manifest"       // a collector's hostname, date, host.json
	Capture         Kind = "capture"        // the manifest of leakdiff collect
	WatchTargets    Kind = "watch-targets"  // what its watched file handles led to
	GoroutineFDs    Kind = "goroutine-fds"  // which goroutine waits for which descriptor
	ThreadDump      Kind = "thread-dump"    // JVM, every text form
	ThreadJSON      Kind = "thread-json"    // dump_to_file and actuator
	Javacore        Kind = "javacore"       // IBM's JVM, OpenJ9
	HotThreads      Kind = "hot-threads"    // Elasticsearch, OpenSearch
	ThreadForeign   Kind = "thread-foreign" // GoCD and flight recorder events; named only
	ClientSummary   Kind = "client-summary" // Kubernetes clients of Jenkins
	NodeReport      Kind = "node-report"
	Truth           Kind = "truth" // expected*.json beside test data
	JSON            Kind = "json"
	HTML            Kind = "html"
	Log             Kind = "log"
	Text            Kind = "text"
	Image           Kind = "image"
	Binary          Kind = "binary"
	Empty           Kind = "empty"
	Link            Kind = "link"
)

// Head is what is known of a file before it is read.
type Head struct {
	// Bytes is its beginning: 64 KiB are enough for nearly all, see NeedMore.
	Bytes []byte
	// Whole is true if Bytes is the whole file.
	Whole bool
	// Path is its display path.
	Path string
	// Size is in bytes, -1 if unknown.
	Size int64
	// Link is the target of a symbolic link, empty for files.
	Link string
	// Block is true for a block of a ticket: no others are looked for in it.
	Block bool
	// Below is true for the output of one command of a session.
	Below bool
}

// Result is a kind with its reason.
type Result struct {
	Kind Kind
	// Reason is a sentence about the content without a full stop: "the first line
	// is a goroutine header; 43 more follow".
	Reason     string
	Confidence analysis.Confidence
	// Help is what to capture instead of a file that is recognised and not read, a clause
	// without a full stop; empty where the kind is read, or nothing better is known.
	Help string
	// Unread names stacks of a language that is not read: "a crash dump of Erlang". It is empty where
	// the file holds none.
	Unread string
	// NeedMore asks for up to SniffLimit bytes: what was seen is plain text in which a
	// dump or listing may still begin.
	NeedMore bool
}

// SniffLimit is the most that Sniff asks for.
const SniffLimit = 1 << 20

// Sniff names the kind of a file. It never fails: what nothing else fits is
// Text or Binary.
func Sniff(h Head) Result {
	if r, ok := usualFDInfo(h); ok {
		return r
	}
	return sniff(h)
}

func sniff(h Head) Result {
	v := newView(h)
	if h.Link != "" {
		return v.link()
	}
	for _, test := range []func(*view) (Result, bool){
		(*view).empty,
		(*view).source,
		(*view).magic,
		(*view).trace,
		(*view).proto,
		(*view).otlp,
		(*view).dumpCommands,
		(*view).debug1,
		(*view).goroutines,
		(*view).byName,
		(*view).pairs,
		(*view).manifest,
		(*view).fields,
		(*view).binary,
		(*view).strace,
		(*view).openEvents,
		(*view).wrapped,
		(*view).records,
		(*view).lsofJSON,
		(*view).json,
		(*view).threads,
		(*view).histogram,
		(*view).race,
		(*view).commands,
		(*view).fdinfo,
		(*view).fdListing,
		(*view).enclosed,
		(*view).lsof,
		(*view).procfs,
		(*view).sockets,
		(*view).quoted,
		(*view).metrics,
		(*view).pods,
		(*view).processes,
		(*view).versions,
		(*view).counts,
	} {
		if r, ok := test(v); ok {
			return r
		}
	}
	return v.plain()
}

// view is a head prepared for the tests.
type view struct {
	Head
	// text is Bytes without a byte order mark.
	text []byte
	// lines are the first lines that are not blank, without the line end, each
	// cut to maxLine; the last line of an incomplete head is left out.
	lines []string
	// base is the last part of the path, dir the part before it.
	base, dir string
	// found are the goroutine headers, counted once.
	found *headers
}

const (
	maxLines = 200
	maxLine  = 1024
)

func newView(h Head) *view {
	v := &view{Head: h, text: bytes.TrimPrefix(h.Bytes, []byte("\xef\xbb\xbf"))}
	v.base = path.Base(h.Path)
	v.dir = path.Base(path.Dir(h.Path))
	rest := v.text
	for len(rest) > 0 && len(v.lines) < maxLines {
		text, after, ended := bytes.Cut(rest, []byte("\n"))
		if !ended && !h.Whole && len(v.lines) > 0 {
			break
		}
		rest = after
		text = bytes.TrimRight(text[:min(len(text), maxLine)], "\r")
		if len(bytes.TrimSpace(text)) > 0 {
			v.lines = append(v.lines, string(text))
		}
		if next, _, _ := bytes.Cut(bytes.TrimSpace(rest), []byte("\n")); len(v.lines) == 1 && len(next) > 0 && line.IsDate(v.lines[0]) && !line.IsDate(string(bytes.TrimSpace(next))) {
			// What follows the time above says what the file is. Several are a list with times.
			v.lines, v.text = v.lines[:0], rest
		}
	}
	return v
}

// first is the first line that is not blank.
func (v *view) first() string {
	if len(v.lines) == 0 {
		return ""
	}
	return v.lines[0]
}

// count counts the lines that a test accepts.
func (v *view) count(test func(string) bool) int {
	n := 0
	for _, l := range v.lines {
		if test(l) {
			n++
		}
	}
	return n
}

// most reports whether at least half of the lines, and at least n, are accepted.
func (v *view) most(n int, test func(string) bool) bool { return v.half(test) >= max(n, 1) }

// half counts the lines that a test accepts, 0 if they are fewer than half: most files are
// not what is asked for, and half of their lines say so. The output of one command may have
// one row below its command and its title.
func (v *view) half(test func(string) bool) int {
	if v.Below {
		return v.count(test)
	}
	n := 0
	for i, l := range v.lines {
		if test(l) {
			n++
		} else if 2*(i+1-n) > len(v.lines) {
			return 0
		}
	}
	return n
}

func (v *view) has(s string) bool { return bytes.Contains(v.text, []byte(s)) }

// more counts for a reason: "3", or "at least 3" if only the beginning of the
// file was seen.
func (v *view) more(n int) string {
	if v.Whole {
		return strconv.Itoa(n)
	}
	return fmt.Sprintf("at least %d", n)
}

func high(kind Kind, reason string) (Result, bool) {
	return Result{Kind: kind, Reason: reason, Confidence: analysis.High}, true
}

func medium(kind Kind, reason string) (Result, bool) {
	return Result{Kind: kind, Reason: reason, Confidence: analysis.Medium}, true
}

func low(kind Kind, reason string) (Result, bool) {
	return Result{Kind: kind, Reason: reason, Confidence: analysis.Low}, true
}

func no() (Result, bool) { return Result{}, false }

// link names a symbolic link: a descriptor if its name is a number.
func (v *view) link() Result {
	kind, reason := Link, "a symbolic link, which is not followed"
	if isNumber(v.base) {
		kind, reason = FDLink, "a symbolic link whose name is a descriptor number"
	}
	return Result{Kind: kind, Reason: reason, Confidence: analysis.High}
}

func (v *view) empty() (Result, bool) {
	if len(v.Bytes) > 0 || !v.Whole {
		return no()
	}
	if isNumber(v.base) && fdDirectory(v.dir, "fdinfo") {
		return high(EmptyFDInfo, "the file has no content; no fdinfo file of a live descriptor is empty")
	}
	return high(Empty, "the file has no content")
}

// fdDirectory reports whether a directory holds a copy of /proc/PID/fdinfo:
// "fdinfo", "cpr_fdinfo", "fdinfo.copy".
func fdDirectory(dir, word string) bool {
	before, after, ok := strings.Cut(strings.ToLower(dir), word)
	separated := func(c byte) bool { return strings.IndexByte("._-", c) >= 0 }
	return ok && (before == "" || separated(before[len(before)-1])) && (after == "" || separated(after[0]))
}

func isNumber(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// quote shows the beginning of a line in a reason.
func quote(s string) string {
	s = strings.TrimSpace(s)
	if len(s) > 40 {
		s = strings.ToValidUTF8(s[:40], "") + "…"
	}
	return strconv.Quote(s)
}
