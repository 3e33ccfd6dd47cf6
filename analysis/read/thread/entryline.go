package thread

import (
	"strings"

	"leakdiff/analysis"
)

// stateWord begins the line of a thread's state in HotSpot's dumps.
const stateWord = "java.lang.Thread.State: "

// body reads a line below a header.
func (p *textParser) body(s string) bool {
	switch {
	case strings.HasPrefix(s, "at "):
		return p.frame(s[3:])
	case strings.HasPrefix(s, "- "):
		return p.dash(strings.TrimLeft(s[2:], " "))
	case strings.HasPrefix(s, stateWord):
		p.threadState(s[len(stateWord):])
	case strings.HasPrefix(s, "Carrying virtual thread #"):
		p.h.thread.Carrying = number(s[len("Carrying virtual thread #"):])
	case s == "Locked ownable synchronizers:", strings.HasPrefix(s, "Locked synchronizers: count = "), strings.HasPrefix(s, "Number of locked synchronizers = "):
		p.owned = true
	case s == "...":
		p.h.thread.Capped = true
	case strings.HasPrefix(s, "owned by "):
		p.owner(s)
	case strings.HasPrefix(s, "on ") && p.stated && len(p.frames) == 0:
		p.stateObject(s)
	case s == "(in native)", s == "(running in native)":
	case strings.HasPrefix(s, "-- "), strings.HasPrefix(s, "^-- "):
		return p.jrockitLock(s)
	case p.bare():
		return p.frame(s)
	default:
		return false
	}
	return true
}

// bare reports whether the dump's form prints frames without "at".
func (p *textParser) bare() bool {
	return p.h.form == FormDumpToFile || p.h.form == FormJConsole || p.h.form == FormJavaMelody
}

// frame adds a frame. After foreign text and a blank line it is that of an exception in
// a log.
func (p *textParser) frame(s string) bool {
	if p.foreign.exception || p.foreign.line && p.foreign.blank {
		return false
	}
	parse := parseFrame
	if p.h.form == FormJRockit {
		parse = parseJRockitFrame
	}
	f, ok := parse(s)
	if !ok {
		return false
	}
	p.addFrame(f)
	return true
}

func (p *textParser) addFrame(f analysis.Frame) {
	if len(p.frames) >= maxFrames {
		p.more++
		return
	}
	p.frames = append(p.frames, f)
}

// dash reads a line that begins with a dash: an object, or a frame of jstack -F.
func (p *textParser) dash(s string) bool {
	if s == "None" {
		return true
	}
	if f, ok := parseNativeFrame(s); ok {
		p.addFrame(f)
		return true
	}
	if l, ok := parseLock(s, p.owned); ok {
		l.Frame = max(len(p.frames)-1, 0)
		if p.owned {
			l.Frame = -1
		}
		if _, id, named := strings.Cut(s, ">, owner #"); named {
			p.h.ownerID = number(id) // JDK 26
		} else if l.Owner != "" {
			p.h.ownerID = ownerID(s)
		}
		p.addLock(l)
		return true
	}
	return false
}

// addLock adds the object of a line, except for the monitor that Object.wait released
// and the object of the header.
func (p *textParser) addLock(l analysis.Lock) {
	if p.learned != nil {
		p.learned.locks = append(p.learned.locks, l)
	}
	switch l.How {
	case "waiting on":
		if l.Object != "" && p.released == "" {
			p.released = l.Object
		}
	case "locked":
		if p.released == "" && p.monitorWait {
			p.released = l.Object
			p.waitsOn(l)
		}
		if l.Object != "" && sameObject(l.Object, p.released) {
			return
		}
	}
	if len(p.locks) > 0 && l.How != "owns" && l.How != "locked" {
		first := &p.locks[0]
		if first.How == l.How && l.Object != "" && sameObject(first.Object, l.Object) {
			return
		}
	}
	if len(p.locks) < maxLocks {
		p.locks = append(p.locks, l)
	}
}

// waitsOn completes the line of Object.wait whose frame has lost its object: what it waits
// on is the monitor that it released.
//
//	waiting on <no object reference available>
//	locked <0x00000000f03c43c0> (a okhttp3.ConnectionPool)
func (p *textParser) waitsOn(released analysis.Lock) {
	for i := range p.locks {
		if l := &p.locks[i]; l.How == "waiting on" && l.Object == "" {
			l.Object, l.Class = released.Object, released.Class
			return
		}
	}
}

// sameObject compares an address or a hash, which support-core pads and others do
// not.
//
//	"0x0e2144e4", "e2144e4" -> true
func sameObject(a, b string) bool { return objectKey(a) == objectKey(b) }

func objectKey(s string) string {
	return strings.TrimLeft(strings.TrimPrefix(s, "0x"), "0")
}

// owner reads the line below a lock that names its owner.
//
//	owned by "Deadlock-lock-2" id=15 (0xf)
func (p *textParser) owner(s string) {
	if len(p.locks) == 0 {
		return
	}
	p.locks[len(p.locks)-1].Owner = ownerName(s)
	p.h.ownerID = ownerID(s)
}

// threadState reads the state line of HotSpot and VisualVM.
//
//	WAITING (on object monitor)
//	TIMED_WAITING on java.util.TaskQueue@7311acb7
func (p *textParser) threadState(s string) {
	word, rest, _ := strings.Cut(s, " ")
	p.h.thread.State, p.stated = text(word), true
	p.monitorWait = p.monitorWait || waitsOnMonitor(word, rest)
	p.stateObject(rest)
}

// waitsOnMonitor reports whether a state is that of Object.wait.
//
//	"TIMED_WAITING", "(on object monitor)" -> true
func waitsOnMonitor(word, rest string) bool {
	return strings.Contains(word, "WAITING") && strings.Contains(rest, "(on object monitor)")
}

// stateObject reads the object in a state line, or in the line below it.
//
//	on java.util.concurrent.SynchronousQueue$TransferStack@2b1 owned by "x" t@3
func (p *textParser) stateObject(s string) {
	s, ok := strings.CutPrefix(s, "on ")
	if !ok {
		return
	}
	object, owner, _ := strings.Cut(s, " owned by ")
	object, _, _ = strings.Cut(object, " ")
	p.h.waits(object)
	if owner != "" {
		p.h.lock.Owner, p.h.ownerID = ownerName(owner), ownerID(owner)
	}
	if p.h.lock.How != "" {
		p.addLock(p.h.lock)
	}
}

// jrockitWords are the words before an object in JRockit's dumps.
var jrockitWords = [...]struct{ printed, how string }{
	{"Waiting for notification on: ", "waiting on"},
	{"Parking to wait for: ", "parking to wait for"},
	{"Blocked trying to get lock: ", "waiting to lock"},
	{"Holding lock: ", "locked"},
	// Not held, and named by the line above the frames.
	{"Lock released while waiting: ", ""},
	{"end of trace", ""},
}

// jrockitLock reads a line about a lock in JRockit's dumps.
//
//	-- Waiting for notification on: java/lang/UNIXProcess@0x6f28838[fat lock]
func (p *textParser) jrockitLock(s string) bool {
	s = strings.TrimLeft(s, "^- ")
	for _, w := range jrockitWords {
		rest, ok := strings.CutPrefix(s, w.printed)
		if !ok {
			continue
		}
		if w.how == "" {
			return true
		}
		rest, _, _ = strings.Cut(rest, "[")
		class, hash := cutObject(strings.ReplaceAll(rest, "/", "."))
		p.addLock(analysis.Lock{How: w.how, Class: class, Object: hash, Frame: max(len(p.frames)-1, 0)})
		return true
	}
	return false
}
