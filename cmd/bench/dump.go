package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"
)

//go:embed testdata/stacks.txt
var realStacks []byte

// form is how a dump is printed.
type form int

const (
	plain   form = iota // debug=2
	labels              // debug=2 of Go 1.26 and later with a label set in each header
	sigquit             // a crash text: gp=, m= in headers, fp=, sp=, pc= behind files
	crlf                // debug=2 with Windows line ends

	// debug=2 as programs log it, a prefix on each line.
	cri        // a container runtime
	docker     // docker's json-file driver
	journal    // journalctl -o short
	klog       // the program itself, line by line
	timestamps // kubectl logs --timestamps
	stern      // stern
	logcli     // logcli
	journaled  // journalctl -o json
	logrusText // one entry of logrus
	logrusJSON // the same in JSON
	compose    // docker compose logs
)

// dumpConfig says which dump to print. Equal configs give equal bytes.
type dumpConfig struct {
	Goroutines int
	// Stacks is how many distinct stacks the dump has; each has one goroutine at
	// least. Beyond the real stacks they are those with one function renamed.
	Stacks int
	Form   form
	Seed   uint64
}

// dump prints goroutines one after another. It holds a few KiB and a counter for
// each distinct stack, whatever the number of goroutines: of a dump in which no
// stack occurs twice it holds none.
type dump struct {
	cfg       dumpConfig
	templates []template
	// left are the goroutines of each stack that are still to come; nil where
	// every stack has one.
	left    *lottery
	r       *rand.Rand
	written int
	stack   int       // of the goroutine printed last
	id      int64     // of the youngest goroutine so far in a slot of its own
	at      time.Time // stamp of the last line, for cri
	block   []byte
	out     []byte // printed and not yet read
	next    int    // first unread byte of out
}

// counts are how many goroutines each stack of the config gets: log-normal, as
// in real dumps, where a few stacks have nearly everything.
func (c dumpConfig) counts() []int {
	counts := make([]int, c.Stacks)
	if c.Stacks == c.Goroutines {
		for i := range counts {
			counts[i] = 1
		}
		return counts
	}
	const sigma = 2
	r := rand.New(rand.NewPCG(c.Seed, 1))
	weights, sum := make([]float64, c.Stacks), 0.0
	for i := range weights {
		weights[i] = math.Exp(sigma * r.NormFloat64())
		sum += weights[i]
	}
	rest, largest := c.Goroutines, 0
	for i, w := range weights {
		counts[i] = 1 + int(w/sum*float64(c.Goroutines-c.Stacks))
		rest -= counts[i]
		if counts[i] > counts[largest] {
			largest = i
		}
	}
	counts[largest] += rest // what rounding left over
	return counts
}

// newDump begins a dump. Stacks must be at least 1 and at most Goroutines.
func newDump(c dumpConfig) (*dump, error) {
	if c.Stacks < 1 || c.Stacks > c.Goroutines {
		return nil, fmt.Errorf("%d stacks in a dump of %d goroutines", c.Stacks, c.Goroutines)
	}
	templates, err := realTemplates()
	if err != nil {
		return nil, err
	}
	d := &dump{cfg: c, templates: templates, r: rand.New(rand.NewPCG(c.Seed, 2)), at: time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)}
	if c.Stacks < c.Goroutines {
		d.left = newLottery(c.counts())
	}
	if c.Form == sigquit {
		d.out = append(d.out, "SIGQUIT: quit\nPC=0x491de1 m=0 sigcode=0\n\n"...)
	}
	switch c.Form {
	case logrusText:
		d.out = append(d.out, `time="2026-11-21T10:00:00Z" level=info msg="`...)
	case logrusJSON:
		d.out = append(d.out, `{"level":"info","time":"2026-11-21T10:00:00Z","msg":"`...)
	}
	return d, nil
}

// Read prints as much as fits into p.
func (d *dump) Read(p []byte) (int, error) {
	n := 0
	for {
		m := copy(p[n:], d.out[d.next:])
		n, d.next = n+m, d.next+m
		if n == len(p) {
			return n, nil
		}
		if d.written == d.cfg.Goroutines {
			if n == 0 {
				return 0, io.EOF
			}
			return n, nil
		}
		d.out, d.next = d.out[:0], 0
		d.goroutine()
	}
}

func (d *dump) goroutine() {
	d.choose()
	id := d.identity()
	t := &d.templates[d.stack%len(d.templates)]
	b := d.header(d.block[:0], t, id)
	b = t.print(b, d.r, d.cfg.Form == sigquit, d.stack/len(d.templates), d.creator(id))
	if d.written < d.cfg.Goroutines {
		b = append(b, '\n')
	}
	d.block = b
	d.wrap(b)
}

// choose draws the stack of the next goroutine. Programs start goroutines in
// bursts: every other one has the stack of the one before.
func (d *dump) choose() {
	switch {
	case d.left == nil:
		d.stack = d.written
	case d.written > 0 && d.r.IntN(2) == 0 && d.left.take(d.stack):
	default:
		d.stack = d.left.draw(d.r)
	}
	d.written++
}

// identity is the id of the next goroutine. The runtime prints goroutines by their
// slots, and reuses the slots of those that ended: nine of ten ids ascend with
// gaps, the others are younger and in no order.
func (d *dump) identity() int64 {
	const slots = 1 << 24
	if d.r.IntN(10) == 0 {
		return 32*int64(d.cfg.Goroutines) + int64(d.written)*7919%slots
	}
	d.id += 1 + d.r.Int64N(24)
	return d.id
}

// creator is the id of the goroutine that started the next one: of every
// fourth stack a neighbour of its own, as a connection's reader has, else the one
// loop that starts all of a stack.
func (d *dump) creator(id int64) int64 {
	if d.stack%4 == 0 {
		return max(1, id-1-d.r.Int64N(40))
	}
	return 1 + int64(d.stack*37%1000)
}

// minutes is how long the next goroutine has waited, 0 where none are printed. Of
// three stacks one is blocked since it was started, one works, one is called now
// and then.
func (d *dump) minutes() int64 {
	const uptime = 3000
	age := uptime * int64(d.cfg.Goroutines-d.written) / int64(d.cfg.Goroutines)
	switch d.stack % 3 {
	case 0:
		return age
	case 1:
		return 0
	}
	return min(age, int64(math.Exp(2*d.r.NormFloat64())))
}

// header prints a header line.
//
//	goroutine 4711 [select, 8 minutes]:
//	goroutine 4711 [select, 8 minutes labels:{"request": "8f31"}]:
//	goroutine 4711 gp=0xc000012340 m=nil [select, 8 minutes]:
func (d *dump) header(b []byte, t *template, id int64) []byte {
	b = append(b, "goroutine "...)
	b = strconv.AppendInt(b, id, 10)
	if d.cfg.Form == sigquit {
		b = append(b, " gp=0xc0"...)
		b = appendHex(b, d.r.Uint64(), 8)
		b = append(b, " m=nil"...)
	}
	b = append(append(b, " ["...), t.state...)
	if minutes := d.minutes(); minutes > 0 {
		b = append(b, ", "...)
		b = strconv.AppendInt(b, minutes, 10)
		b = append(b, " minutes"...)
	}
	if d.cfg.Form == labels {
		// Label sets repeat: a program has some hundred endpoints, not one per request.
		b = append(b, ` labels:{"endpoint": "/api/v1/objects/`...)
		b = strconv.AppendInt(b, d.r.Int64N(300), 10)
		b = append(b, `", "verb": "GET"}`...)
	}
	return append(b, "]:\n"...)
}

// wrap puts a block into out as the form has it.
func (d *dump) wrap(block []byte) {
	switch d.cfg.Form {
	case crlf:
		d.out = append(d.out, bytes.ReplaceAll(block, []byte("\n"), []byte("\r\n"))...)
	case plain, labels, sigquit:
		d.out = append(d.out, block...)
	case logrusText, logrusJSON:
		quoted := strconv.AppendQuote(nil, string(block))
		d.out = append(d.out, quoted[1:len(quoted)-1]...)
		if d.written == d.cfg.Goroutines {
			d.out = append(d.out, map[form]string{logrusText: "\"\n", logrusJSON: "\"}\n"}[d.cfg.Form]...)
		}
	default:
		for line := range bytes.Lines(block) {
			d.at = d.at.Add(time.Duration(1000 + d.r.IntN(100_000)))
			d.logged(line[:len(line)-1])
		}
	}
}

// logged prints a line as a log has it.
func (d *dump) logged(line []byte) {
	stamp := func(layout string) { d.out = d.at.AppendFormat(d.out, layout) }
	word := func(text string) { d.out = append(d.out, text...) }
	switch d.cfg.Form {
	case cri:
		stamp("2006-01-02T15:04:05.000000000Z07:00")
		word(" stderr F ")
	case docker:
		word(`{"log":"`)
		d.out = append(d.out, bytes.ReplaceAll(line, []byte("\t"), []byte(`\t`))...)
		word(`\n","stream":"stderr","time":"`)
		stamp(time.RFC3339Nano)
		word("\"}\n")
		return
	case journaled:
		word(`{"__REALTIME_TIMESTAMP":"`)
		d.out = strconv.AppendInt(d.out, d.at.UnixMicro(), 10)
		word(`","_HOSTNAME":"node-1","SYSLOG_IDENTIFIER":"kubelet","_PID":"1234","MESSAGE":`)
		d.out = strconv.AppendQuote(d.out, string(line))
		word("}\n")
		return
	case logcli:
		stamp(time.RFC3339Nano)
		word(` {container="app", pod="web-0"} `)
	case journal:
		stamp(time.Stamp)
		word(" node-1 kubelet[1234]: ")
	case klog:
		stamp("E0102 15:04:05.000000")
		word("    1234 panic.go:12] ")
	case timestamps:
		stamp("2006-01-02T15:04:05.000000000Z07:00")
		word(" ")
	case stern:
		word("web-7d4b9-x1 app ")
	case compose:
		word("api-1  | ")
	}
	d.out = append(append(d.out, line...), '\n')
}

// template is one real goroutine, cut where others of its stack differ.
type template struct {
	state  string
	pieces []piece
	// named is how many frames may get another name.
	named int
}

// piece is text, and what follows it.
type piece struct {
	text []byte
	then slot
	// n is the number of digits of an address, the index of a named frame.
	n int
}

type slot int

const (
	end     slot = iota
	address      // the lower digits of a pointer into the heap
	number       // the id of the creator
	name         // the end of a function's name, where a variant has a suffix
	place        // the end of a line with file and offset
)

// pointerDigits is from how many digits on a number among the arguments is an
// address of the heap: those differ from goroutine to goroutine, others are
// lengths, constants and types. Allocations of one moment share the upper digits.
const (
	pointerDigits = 10
	randomDigits  = 7
)

// realTemplates are read once: the case with thousands of small dumps needs them
// for each.
var realTemplates = sync.OnceValues(func() ([]template, error) { return templatesOf(realStacks) })

func templatesOf(text []byte) ([]template, error) {
	var all []template
	for _, block := range bytes.Split(bytes.TrimSpace(text), []byte("\n\n")) {
		t, err := templateOf(block)
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	return all, nil
}

func templateOf(block []byte) (template, error) {
	header, body, _ := bytes.Cut(block, []byte("\n"))
	_, state, ok := bytes.Cut(bytes.TrimSuffix(header, []byte("]:")), []byte(" ["))
	if !ok {
		return template{}, fmt.Errorf("no header: %q", header)
	}
	state, _, _ = bytes.Cut(state, []byte(", "))
	t := template{state: string(state)}
	var text []byte
	cut := func(then slot, n int) {
		t.pieces = append(t.pieces, piece{bytes.Clone(text), then, n})
		text = text[:0]
	}
	for line := range bytes.Lines(body) {
		line = bytes.TrimRight(line, "\n")
		switch {
		case line[0] == '\t':
			text = append(text, line...)
			cut(place, 0)
		case bytes.HasPrefix(line, []byte("created by ")):
			creator, _, known := bytes.Cut(line, []byte(" in goroutine "))
			text = append(text, creator...)
			if known {
				text = append(text, " in goroutine "...)
				cut(number, 0)
			}
		default:
			function, args := splitCall(line)
			text = append(text, function...)
			// What the runtime's functions are called says what a goroutine is.
			if !bytes.HasPrefix(function, []byte("runtime.")) {
				cut(name, t.named)
				t.named++
			}
			for len(args) > 0 {
				from, digits := nextPointer(args)
				text = append(text, args[:from]...)
				if digits > 0 {
					cut(address, digits)
				}
				args = args[from+digits:]
			}
		}
		text = append(text, '\n')
	}
	if t.named == 0 {
		return template{}, fmt.Errorf("no frames of a program below %q", header)
	}
	if text[len(text)-1] != '\n' {
		text = append(text, '\n')
	}
	cut(end, 0)
	return t, nil
}

// splitCall splits a call before its arguments.
//
//	"main.(*Pool).run(0xc000010000)" -> "main.(*Pool).run", "(0xc000010000)"
func splitCall(line []byte) (function, args []byte) {
	for i, c := range line {
		if c == '(' && i > 0 && line[i-1] != '.' {
			return line[:i], line[i:]
		}
	}
	return line, nil
}

// nextPointer finds the digits of the next address that differs between
// goroutines: where they begin, and how many; none gives len(args), 0.
//
//	"({0x8, 0xc000010000})" -> 14, 7
func nextPointer(args []byte) (from, digits int) {
	for at := 0; ; {
		i := bytes.Index(args[at:], []byte("0x"))
		if i < 0 {
			return len(args), 0
		}
		at += i + 2
		stop := at
		for stop < len(args) && isHex(args[stop]) {
			stop++
		}
		if stop-at >= pointerDigits {
			return stop - randomDigits, randomDigits
		}
		at = stop
	}
}

func isHex(c byte) bool { return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' }

// print appends the body of one goroutine. Of variants after the first one
// function has another name.
func (t *template) print(b []byte, r *rand.Rand, crash bool, variant int, creator int64) []byte {
	if crash {
		b = appendPlace(append(b, "runtime.gopark(0x0?, 0x0?, 0x0?, 0x0?, 0x0?)\n\t/usr/local/go/src/runtime/proc.go:462 +0xce"...), r)
		b = append(b, '\n')
	}
	goexit := crash
	for i := range t.pieces {
		p := &t.pieces[i]
		if goexit && bytes.Contains(p.text, []byte("\ncreated by ")) {
			// A crash shows the outermost frame of the runtime before the creator.
			goexit = false
			b = appendPlace(append(b, "\nruntime.goexit({})\n\t/usr/local/go/src/runtime/asm_amd64.s:1771 +0x1"...), r)
		}
		b = append(b, p.text...)
		switch p.then {
		case address:
			b = appendHex(b, r.Uint64()&^0xf, p.n)
		case number:
			b = strconv.AppendInt(b, creator, 10)
		case name:
			if variant > 0 && p.n == variant%t.named {
				b = append(b, "Variant"...)
				b = appendLetters(b, variant)
			}
		case place:
			if crash {
				b = appendPlace(b, r)
			}
		}
	}
	return b
}

// appendPlace adds what crashes print behind a file. Frames that were inlined have
// neither an offset nor these.
//
//	"main.go:42 +0x1d" -> "main.go:42 +0x1d fp=0xc000047790 sp=0xc000047718 pc=0x40841c"
func appendPlace(b []byte, r *rand.Rand) []byte {
	from := bytes.LastIndexByte(b, '\t')
	if from < 0 || !bytes.Contains(b[from:], []byte(" +0x")) {
		return b
	}
	pc := uint64(0x400000) // of one line the same in every goroutine
	for _, c := range b[from:] {
		pc = pc*31 + uint64(c)
	}
	sp := r.Uint64() &^ 7
	b = appendHex(append(b, " fp=0xc0"...), sp+0x78, 8)
	b = appendHex(append(b, " sp=0xc0"...), sp, 8)
	return appendHex(append(b, " pc=0x"...), pc, 6)
}

// appendHex appends the lowest digits of v.
func appendHex(b []byte, v uint64, digits int) []byte {
	for i := digits - 1; i >= 0; i-- {
		b = append(b, "0123456789abcdef"[v>>(4*i)&15])
	}
	return b
}

// appendLetters appends n as letters: suffixes of digits are how compilers number
// closures, and families leave such numbers out.
func appendLetters(b []byte, n int) []byte {
	for ; n > 0; n /= 26 {
		b = append(b, byte('a'+n%26))
	}
	return b
}

// lottery draws from urns without putting back, in steps of the logarithm of
// their number (a Fenwick tree).
type lottery struct {
	tree []int
	left int
}

func newLottery(counts []int) *lottery {
	l := &lottery{tree: make([]int, len(counts)+1)}
	for i, n := range counts {
		l.left += n
		l.add(i, n)
	}
	return l
}

func (l *lottery) add(urn, n int) {
	for i := urn + 1; i < len(l.tree); i += i & -i {
		l.tree[i] += n
	}
}

// take takes one ball of an urn, if one is left in it.
func (l *lottery) take(urn int) bool {
	count := 0
	for i := urn + 1; i > 0; i -= i & -i {
		count += l.tree[i]
	}
	for i := urn; i > 0; i -= i & -i {
		count -= l.tree[i]
	}
	if count == 0 {
		return false
	}
	l.left--
	l.add(urn, -1)
	return true
}

// draw takes one ball and returns the index of its urn.
func (l *lottery) draw(r *rand.Rand) int {
	ball := r.IntN(l.left)
	at, step := 0, 1
	for step*2 < len(l.tree) {
		step *= 2
	}
	for ; step > 0; step /= 2 {
		if next := at + step; next < len(l.tree) && l.tree[next] <= ball {
			at, ball = next, ball-l.tree[next]
		}
	}
	l.left--
	l.add(at, -1)
	return at
}
