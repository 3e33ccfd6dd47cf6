package procfs

import (
	"io"
	"math"
	"strconv"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/read/line"
)

// maxLimits bounds the rows of one limits file; kernels print 16.
const maxLimits = 256

// unlimited is the value of a limit that is none.
const unlimited = -1

// Limit is one row of /proc/PID/limits, in Units ("files", "bytes", "us", or ""
// for the priorities). It is -1 for "unlimited".
type Limit struct {
	Soft, Hard int64
	Units      string
}

// Limits are the rows of /proc/PID/limits by name ("Max open files").
type Limits map[string]Limit

// OpenFiles returns the soft limit on open descriptors, the one that counts;
// -1 if there is no limit, false if the row is missing.
func (l Limits) OpenFiles() (soft int64, ok bool) {
	row, ok := l["Max open files"]
	return row.Soft, ok
}

// ParseLimits reads /proc/PID/limits (fs/proc/base.c, proc_pid_limits), also after the
// file name that grep puts before each line, and the table of prlimit(1), whose NOFILE
// is "Max open files". The error is that of r only.
func ParseLimits(r io.Reader, path string) (Limits, []analysis.Problem, error) {
	probs := &line.Problems{Path: path}
	in := line.NewReader(r)
	limits := Limits{}
	for l := range in.All() {
		text := strings.TrimSpace(l.Text)
		if file, rest, ok := strings.Cut(text, "limits:"); ok && strings.HasSuffix(file, "/") { // grep -H
			text = rest
		}
		if text == "" || strings.HasPrefix(text, "Limit ") || strings.HasPrefix(text, "RESOURCE ") {
			continue
		}
		name, row, ok := limitRow(text)
		if !ok || !l.Ended && row.Units == "" {
			probs.Add(analysis.Warning, l, "a limit is not understood",
				line.Quote(l.Text)+" is not a name with a soft and a hard value", "nothing: the other limits were read")
			continue
		}
		if len(limits) < maxLimits {
			limits[name] = row
		}
	}
	return limits, probs.All(), in.Failure(path)
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
		return limitName(fields[:i]), Limit{Soft: soft, Hard: hard, Units: strings.Join(fields[i+2:], " ")}, true
	}
	return "", Limit{}, false
}

// limitName is the name of a row as the kernel has it.
//
//	"NOFILE" "max number of open files" = "Max open files"
func limitName(words []string) string {
	if words[0] == "NOFILE" {
		return "Max open files"
	}
	return strings.Join(words, " ")
}

// limitValue reads one value; what exceeds int64 becomes its maximum.
//
//	"unlimited"   -1, true
func limitValue(s string) (int64, bool) {
	if s == "unlimited" {
		return unlimited, true
	}
	v, err := strconv.ParseUint(s, 10, 64)
	return int64(min(v, math.MaxInt64)), err == nil
}
