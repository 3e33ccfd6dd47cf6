package procfs

import (
	"io"
	"math"
	"strconv"
	"strings"

	"leakdiff/analysis"
)

// maxLimits bounds the rows of one limits file; kernels print 16.
const maxLimits = 256

// Unlimited is the value of a limit that is none.
const Unlimited = -1

// Limit is one row of /proc/PID/limits, in Units ("files", "bytes", "us", or ""
// for the priorities). Unlimited stands for "unlimited".
type Limit struct {
	Soft, Hard int64
	Units      string
}

// Limits are the rows of /proc/PID/limits by name ("Max open files").
type Limits map[string]Limit

// OpenFiles returns the soft limit on open descriptors, the one that counts;
// Unlimited where it is none, false where the row is missing.
func (l Limits) OpenFiles() (soft int64, ok bool) {
	row, ok := l["Max open files"]
	return row.Soft, ok
}

// ParseLimits reads /proc/PID/limits (fs/proc/base.c, proc_pid_limits). The error
// is that of r only.
func ParseLimits(r io.Reader, path string) (Limits, []analysis.Problem, error) {
	probs := &problems{path: path}
	in := newLineReader(r)
	limits := Limits{}
	for {
		l, ok := in.next()
		if !ok {
			break
		}
		if text := strings.TrimSpace(l.text); text == "" || strings.HasPrefix(text, "Limit ") {
			continue
		}
		name, row, ok := limitRow(l.text)
		if !ok || !l.ended && row.Units == "" {
			probs.add(analysis.Warning, l, "a limit is not understood",
				quote(l.text)+" is not a name with a soft and a hard value", "nothing: the other limits were read")
			continue
		}
		if len(limits) < maxLimits {
			limits[name] = row
		}
	}
	return limits, probs.all(), in.failure(path)
}

// limitRow reads one row. The name ends where the first value stands, so that
// blanks lost or added by copying do no harm.
//
//	"Max open files            20000                unlimited            files     "
//	"Max open files", {20000, -1, "files"}
func limitRow(text string) (string, Limit, bool) {
	fields := strings.Fields(text)
	for i := 1; i+1 < len(fields); i++ {
		soft, ok1 := limitValue(fields[i])
		hard, ok2 := limitValue(fields[i+1])
		if !ok1 || !ok2 {
			continue
		}
		return strings.Join(fields[:i], " "), Limit{Soft: soft, Hard: hard, Units: strings.Join(fields[i+2:], " ")}, true
	}
	return "", Limit{}, false
}

// limitValue reads one value; what exceeds int64 becomes its maximum.
//
//	"unlimited"   -1, true
func limitValue(s string) (int64, bool) {
	if s == "unlimited" {
		return Unlimited, true
	}
	v, err := strconv.ParseUint(s, 10, 64)
	return int64(min(v, math.MaxInt64)), err == nil
}
