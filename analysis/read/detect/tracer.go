package detect

import (
	"bytes"
	"encoding/json"

	"leakdiff/analysis/expression"
	"leakdiff/analysis/say/wording"
)

// tracedCall is a line of strace: a call to the kernel with its result, or what begins one.
var tracedCall = expression.Lazy(`^strace: Process \d+ attached|` + begins + `[a-z_0-9]{2,20}\(.*(\) += (-?\d|0x|\?)| <unfinished \.\.\.>)`)

// begins is how a line of such a call begins, up to its name.
const begins = `^(\[pid +\d+(<[^>]*>)?\] +|\d+(<[^>]*>)? +)?([\d:]{8}(\.\d+)? |\d+\.\d{6} +)?`

const descriptorCalls = `(open|openat|openat2|creat|socket|socketpair|accept|accept4|pipe|pipe2|dup|dup2|dup3|epoll_create1?|eventfd2?|timerfd_create|inotify_init1?|memfd_create|close)`

// madeDescriptor is such a call that opened or closed a descriptor, whole or the end of one that
// was interrupted.
var madeDescriptor = expression.Lazy(begins + `(<\.\.\. ` + descriptorCalls + ` resumed>|` + descriptorCalls + `\().*\) += \d`)

// strace finds the calls of processes to the kernel, if any of them opened or closed a
// descriptor.
func (v *view) strace() (Result, bool) {
	log := logLine.MatchString(v.first()) && !tracedCall.MatchString(v.first()) // -t begins a line with a time too
	if n := v.count(tracedCall.MatchString); n >= 2 && v.count(madeDescriptor.MatchString) > 0 && !log {
		return high(Strace, wording.Plural(n, "call", "calls")+" to the kernel (strace), such as "+quote(printable(v.first())))
	}
	return no()
}

// openEvents finds events of Inspektor Gadget's trace_open: an object in each line, over several
// lines, or in an array. The first ones must be such.
func (v *view) openEvents() (Result, bool) {
	text := bytes.TrimLeft(v.text, " \t\r\n")
	if len(text) == 0 || text[0] != '{' && text[0] != '[' {
		return no()
	}
	d := json.NewDecoder(bytes.NewReader(bytes.TrimLeft(text, "[ \t\r\n")))
	var e struct {
		FName *string `json:"fname"`
		FD    *int    `json:"fd"`
		Proc  *struct {
			PID *int `json:"pid"`
		} `json:"proc"`
	}
	if err := d.Decode(&e); err != nil || e.FName == nil || e.FD == nil || e.Proc == nil || e.Proc.PID == nil {
		return no()
	}
	return high(OpenEvents, "events of files that were opened (trace_open of Inspektor Gadget)")
}
