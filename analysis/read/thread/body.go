package thread

import (
	"math"
	"strconv"
	"strings"

	"leakdiff/analysis"
)

// parseFrame reads a frame without "at ", as any form prints it. HotSpot puts the
// module before the file, others put it before the class. It always goes before the
// file, so that a frame is the same in all forms. The loader of applications is no
// information and goes, as do the types of parameters and of the result, which old JVMs of SAP print.
//
//	java.lang.Object.wait(java.base@11.0.24/Native Method)  -> java.lang.Object.wait, java.base@11.0.24/Native Method
//	java.base@17.0.15/java.lang.Thread.run(Thread.java:840) -> java.lang.Thread.run, java.base@17.0.15/Thread.java, 840
//	app//Scenario$2.run(Scenario.java:9)                    -> Scenario$2.run, Scenario.java, 9
//	com.sap.FCA.accept(I)Lcom/sap/Connection;(FCA.java:114) -> com.sap.FCA.accept, FCA.java, 114
func parseFrame(s string) (analysis.Frame, bool) {
	closing := strings.LastIndexByte(s, ')')
	if closing < 0 {
		closing = len(s) // cut when it was copied
	}
	open := strings.LastIndexByte(s[:closing], '(')
	if open <= 0 {
		return analysis.Frame{}, false
	}
	name := s[:open]
	if types := strings.IndexByte(name, '('); types > 0 {
		name = name[:types]
	}
	module, function := cutModule(name)
	if strings.IndexByte(function, '.') <= 0 {
		return analysis.Frame{}, false
	}
	file, number := cutLine(s[open+1 : closing])
	return analysis.Frame{Func: function, File: module + file, Line: number}, true
}

// cutModule takes loader and module off a class. The slash of a hidden class is
// followed by its address, of old lambdas by a number.
//
//	"java.base@17.0.15/java.lang.Object.wait"              -> "java.base@17.0.15/", "java.lang.Object.wait"
//	"okhttp3.ConnectionPool$$Lambda$33/0x00007f335c00ebf8.run" -> "", all of it
func cutModule(s string) (module, function string) {
	cut := 0
	for {
		slash := strings.IndexByte(s[cut:], '/')
		if slash < 0 {
			break
		}
		after := s[cut+slash+1:]
		if after == "" || after[0] >= '0' && after[0] <= '9' || strings.Contains(s[cut:cut+slash], "$$") {
			break
		}
		cut += slash + 1
	}
	module = s[:cut]
	module = strings.TrimPrefix(module, "app/")
	if module == "/" {
		module = ""
	}
	return module, s[cut:]
}

// cutLine splits a file from its line, which is 0 if it is unknown.
//
//	"Thread.java:840" -> "Thread.java", 840
func cutLine(s string) (file string, line int) {
	colon := strings.LastIndexByte(s, ':')
	if colon < 0 || !isDigits(s[colon+1:]) {
		return s, 0
	}
	return s[:colon], int(min(number(s[colon+1:]), math.MaxInt32))
}

// parseJRockitFrame reads a frame with the VM's own spelling of names.
//
//	java/lang/Object.wait(J)V(Native Method) -> java.lang.Object.wait, Native Method
func parseJRockitFrame(s string) (analysis.Frame, bool) {
	f, ok := parseFrame(strings.ReplaceAll(s, "/", "."))
	if !ok {
		return f, false
	}
	f.Func, _, _ = strings.Cut(f.Func, "(")
	return f, strings.IndexByte(f.Func, '.') > 0
}

// parseNativeFrame reads a frame of jstack -F without the dash.
//
//	java.lang.Object.wait(long) @bci=0, line=226 (Compiled frame) -> java.lang.Object.wait, 226
func parseNativeFrame(s string) (analysis.Frame, bool) {
	function, rest, ok := strings.Cut(s, " @bci=")
	if !ok {
		return analysis.Frame{}, false
	}
	function, _, _ = strings.Cut(function, "(")
	if strings.IndexByte(function, '.') <= 0 {
		return analysis.Frame{}, false
	}
	f := analysis.Frame{Func: function}
	if _, after, found := strings.Cut(rest, "line="); found {
		digits := after[:len(after)-len(strings.TrimLeft(after, "0123456789"))]
		if n, err := strconv.ParseInt(digits, 10, 32); err == nil {
			f.Line = int(n)
		}
	}
	return f, true
}

// lockWords are the words before an object, with those that analysis.Lock uses.
// JDK 25 spells an eliminated lock out.
var lockWords = [...]struct{ printed, how string }{
	{"locked ", "locked"},
	{"Locked ", "locked"}, // the actuator's text
	{"waiting to lock ", "waiting to lock"},
	{"waiting to re-lock in wait() ", "waiting to lock"},
	{"waiting on ", "waiting on"},
	{"parking to wait for ", "parking to wait for"},
	{"blocked on ", "waiting to lock"},
	{"eliminated ", "eliminated"},
	{"lock is eliminated ", "eliminated"},
}

const classMonitor = "the Class initialization monitor for "

// parseLock reads a line about an object without its dash; owned is true inside the
// list of ownable synchronizers.
//
//	waiting on <0x00000000f803cbc0> (a java.lang.ref.ReferenceQueue$Lock)
//	waiting on <no object reference available>
//	blocked on java.lang.Object@e2144e4
//	locked <java.io.BufferedInputStream@35d1741c>
func parseLock(s string, owned bool) (analysis.Lock, bool) {
	for _, w := range lockWords {
		rest, ok := strings.CutPrefix(s, w.printed)
		if !ok {
			continue
		}
		l, ok := object(strings.TrimLeft(rest, " "))
		l.How = w.how
		if owned && l.How == "locked" {
			l.How = "owns"
		}
		return l, ok
	}
	if !owned {
		return analysis.Lock{}, false
	}
	l, ok := object(s)
	l.How = "owns"
	return l, ok
}

// object reads the object of a lock line.
//
//	<0x00000000f8000280> (a java.lang.Object)
//	java.util.TaskQueue@7311acb7 owned by "y" t@3
func object(s string) (analysis.Lock, bool) {
	s, owner, _ := strings.Cut(s, " owned by ")
	l := analysis.Lock{Owner: ownerName(owner)}
	if class, ok := strings.CutPrefix(s, classMonitor); ok {
		l.Class = text(class)
		return l, class != ""
	}
	if s == "" || s[0] != '<' {
		if !strings.Contains(s, "@") || strings.Contains(s, " ") {
			return l, false
		}
		l.Class, l.Object = cutObject(s)
		return l, true
	}
	inside, rest, ok := strings.Cut(s[1:], ">")
	if !ok {
		return l, false
	}
	switch {
	case strings.Contains(inside, "@"):
		l.Class, l.Object = cutObject(inside)
	case !strings.Contains(inside, " "):
		l.Object = text(inside)
	}
	if _, class, found := strings.Cut(rest, "(a "); found {
		l.Class = text(strings.TrimSuffix(class, ")"))
	}
	return l, true
}

// cutObject splits Object.toString.
//
//	"java.lang.Object@e2144e4" -> "java.lang.Object", "e2144e4"
func cutObject(s string) (class, hash string) {
	at := strings.LastIndexByte(s, '@')
	if at < 0 {
		return text(s), ""
	}
	return text(s[:at]), text(s[at+1:])
}

// ownerName reads the name of an owner; what follows it holds no quotes.
//
//	`"y" t@3`             -> y
//	`"a "b"" id=15 (0xf)` -> a "b"
func ownerName(s string) string {
	open, end := strings.IndexByte(s, '"'), strings.LastIndexByte(s, '"')
	if open < 0 || end <= open {
		return ""
	}
	return text(s[open+1 : end])
}

// ownerID reads the id after the name of an owner, -1 if none is printed.
//
//	`"y" id=15 (0xf)` -> 15
//	`"y" t@3`         -> 3
func ownerID(s string) int64 {
	rest := s[strings.LastIndexByte(s, '"')+1:]
	at := strings.IndexAny(rest, "=@")
	if at < 0 {
		return -1
	}
	rest = rest[at+1:]
	digits := rest[:len(rest)-len(strings.TrimLeft(rest, "0123456789"))]
	if digits == "" {
		return -1
	}
	return number(digits)
}
