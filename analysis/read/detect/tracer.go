package detect

import (
	"strings"

	"leakdiff/analysis/expression"
	"leakdiff/analysis/say/wording"
)

// tracedCall is a line of strace: a call to the kernel with its result, or what begins one.
var tracedCall = expression.Lazy(`^(strace: Process \d+ attached|(\[pid +\d+(<[^>]*>)?\] +|\d+(<[^>]*>)? +)?([\d:]{8}(\.\d+)? |\d+\.\d{6} +)?[a-z_0-9]{2,20}\(.*(\) += (-?\d|0x|\?)| <unfinished \.\.\.>))`)

// madeDescriptor is such a call that opened or closed a descriptor.
var madeDescriptor = expression.Lazy(`^(\[pid +\d+(<[^>]*>)?\] +|\d+(<[^>]*>)? +)?([\d:]{8}(\.\d+)? |\d+\.\d{6} +)?(open|openat|openat2|creat|socket|socketpair|accept|accept4|pipe|pipe2|dup|dup2|dup3|epoll_create1?|eventfd2?|timerfd_create|inotify_init1?|memfd_create|close)\(.*\) += \d`)

// strace finds the calls of processes to the kernel, if any of them opened or closed a
// descriptor.
func (v *view) strace() (Result, bool) {
	log := logLine.MatchString(v.first()) && !tracedCall.MatchString(v.first()) // -t begins a line with a time too
	if n := v.count(tracedCall.MatchString); n >= 2 && v.count(madeDescriptor.MatchString) > 0 && !log {
		return high(Strace, wording.Plural(n, "call", "calls")+" to the kernel (strace), such as "+quote(printable(v.first())))
	}
	return no()
}

// openEvents finds events of Inspektor Gadget's trace_open, an object in each line.
func (v *view) openEvents() (Result, bool) {
	if !strings.HasPrefix(v.first(), "{") {
		return no()
	}
	if n := v.half(isOpenEvent); n > 0 {
		return high(OpenEvents, wording.Plural(n, "event", "events")+" of files that were opened (trace_open of Inspektor Gadget)")
	}
	return no()
}

func isOpenEvent(l string) bool {
	return strings.HasPrefix(l, "{") && strings.Contains(l, `"fname":`) && strings.Contains(l, `"fd":`) && strings.Contains(l, `"proc":{`)
}
