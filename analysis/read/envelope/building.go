package envelope

import (
	"bytes"
)

// enoughHeaders is how many goroutines make a dump by their number.
const enoughHeaders = 3

// building is a dump being written.
type building struct {
	Section
	w     bufferWriter
	inner inner
	ids   map[int64]struct{} // up to maxIDs of those that came
	// sure is true if even one goroutine makes a dump: a signal or a BEGIN marker
	// announced it, or a function that dumps all is on a stack.
	sure bool
	// crash is true if other running goroutines may follow the first one, signal if
	// they do so in spite of foreign lines between them, relay if threads repeat
	// goroutines.
	crash, signal, relay bool
	dashes               bool // the line before was "-----"
	blank                bool // the line before was blank
	// parted is true if a line was left out after a blank one: the block before it has
	// ended, and lines of a stack that come now are none of its own.
	parted    bool
	strays    int
	evidence  evidence // while the goroutines are too few
	excerpt   bool     // what made them enough
	foreign   int
	profile   bool // a profile in text form, not a dump
	wraps     bool // the line of a profile before ends without the number of its line
	after     bool // the end of a thread dump was seen
	deadlocks bool
	full      bool // no more is kept
}

// strip takes the logger's prefix off a line of the dump being written.
func (o *building) strip(b, t []byte) (line, trimmed []byte, matched bool) {
	rest, ok := o.inner.cut(b)
	if o.inner.mode == innerUndecided {
		o.inner.mode = innerFirst
		if ok {
			o.inner.mode = innerEach
		}
	}
	if !ok || o.inner.mode != innerEach {
		return b, t, false
	}
	return rest, trim(rest), true
}

func (o *Section) at(m moment) {
	o.Time, o.Zoneless, o.Yearless, o.Dayless = m.time, m.zoneless, m.yearless, m.dayless
}

func (o *Section) moment() moment { return moment{o.Time, o.Zoneless, o.Yearless, o.Dayless} }

func (o *building) header(h header, b []byte, at place, newline bool) {
	if h.id != 0 && len(o.ids) < maxIDs {
		o.ids[h.id] = struct{}{}
	}
	if o.w.spent() {
		o.full = true
	}
	o.Headers++
	o.mark(at)
	o.write(b, newline)
	o.foreign, o.parted = 0, false
}

// mark notes where in the artifact the next line stands.
func (o *building) mark(at place) {
	if !o.full {
		o.w.charge(o.marks.add(mark{o.w.size, at.line, at.off}))
	}
}

// goroutineLine takes a line of a goroutine dump, known by its look, or one that
// cut in.
func (o *building) goroutineLine(b, t []byte, known, newline bool) {
	switch {
	case known:
		if o.parted {
			// The parser would have seen the end of the block in the line that was left
			// out.
			o.parted = false
			o.write([]byte("-----"), true)
		}
		if o.lone() {
			o.evidence.see(b, t)
			o.excerpt = o.evidence.enough()
			o.sure = o.excerpt || bytes.Contains(t, []byte("pprof.writeGoroutineStacks("))
		}
		o.strays, o.foreign = 0, 0
	case isLogLine(t), isTestLine(t), o.blank, o.strays >= maxStrays:
		o.parted = o.parted || o.blank
		o.foreign++
		return
	default:
		o.strays++
	}
	dashes := bytes.HasPrefix(t, []byte("-----"))
	o.write(b, newline)
	o.dashes = dashes
}

// interrupt leaves out a line that is none of the dump: the fence of a code block.
// What follows belongs to no block of it unless a header comes.
func (o *building) interrupt() {
	o.blank, o.wraps = true, false
	if o.Kind == KindGoroutine {
		o.parted = true
	}
	o.foreign++
}

// profileLine takes a line of a profile: a record, a frame or its labels, or what was wrapped
// off the line before.
func (o *building) profileLine(b, t []byte, newline bool) {
	count, _, record := bytes.Cut(t, []byte(" @ 0x"))
	wrapped := o.wraps && len(bytes.Fields(t)) <= 2
	if t[0] != '#' && !(record && len(bytes.Trim(count, "0123456789")) == 0) && !wrapped {
		o.foreign++
		return
	}
	o.wraps = !isPlace(t, true)
	o.sure = o.sure || record
	o.foreign = 0
	o.write(b, newline)
}

// afterThreads are how lines begin that follow the last thread of a dump.
var afterThreads = [...]string{" ", "\t", `"`, "Heap", "Found ", "===", "Java stack information", "JNI "}

// threadLine takes a line of a thread dump, or one that cut in.
func (o *building) threadLine(b, t []byte, at place, newline bool) {
	known := false
	for _, word := range afterThreads {
		known = known || bytes.HasPrefix(b, []byte(word))
	}
	switch {
	case !known && (isLogLine(t) || o.after):
		o.foreign++
		return
	case !known:
		o.foreign++ // a name of several lines, or the text of another program
	default:
		o.foreign = 0
	}
	o.after = o.after || bytes.HasPrefix(b, []byte("JNI global ref"))
	o.deadlocks = o.deadlocks || bytes.HasPrefix(b, []byte("Found "))
	if b[0] == '"' && !o.deadlocks {
		if o.w.spent() {
			o.full = true
		}
		o.Headers++
		o.mark(at)
	}
	o.write(b, newline)
}

func (o *building) blankLine() {
	if !o.full {
		o.w.add([]byte{'\n'})
	}
	o.blank, o.wraps = true, false
}

func (o *building) write(b []byte, newline bool) {
	o.blank, o.dashes = false, false
	o.full = o.full || o.w.over()
	o.w.accepted = !o.lone()
	switch {
	case o.full:
	case newline:
		o.w.addLine(b)
	default:
		o.w.add(b)
	}
}

// lone reports whether this is one or two goroutines, which make no dump unless
// something announced it or is evidence of a leak.
func (o *building) lone() bool {
	return o.Kind == KindGoroutine && o.Headers < enoughHeaders && !o.sure
}
