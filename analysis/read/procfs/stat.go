package procfs

import (
	"io"
	"strconv"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/read/line"
)

// Stat is the part of /proc/PID/stat that identifies the process.
type Stat struct {
	PID  int
	Comm string
	PPID int
	// StartTicks is field 22, clock ticks since boot. Host, PID and StartTicks
	// together are one process: a changed value is a restart.
	StartTicks uint64
	Threads    int
}

// ParseStat reads /proc/PID/stat (proc_pid_stat(5)). The comm may hold blanks,
// parentheses and line feeds: it ends at the last ")". The error is that of r only.
func ParseStat(r io.Reader, path string) (Stat, []analysis.Problem, error) {
	probs := &line.Problems{Path: path}
	in := line.NewReader(r)
	text := ""
	const most = 16 // a comm is at most 64 bytes, so that few line feeds fit
	for range most {
		l, ok := in.Next()
		if !ok {
			break
		}
		text += l.Text
		if stat, ok := statLine(text); ok {
			return stat, probs.All(), nil
		}
		text += "\n"
	}
	if strings.TrimSpace(text) != "" {
		probs.Add(analysis.Warning, line.Line{Number: 1}, "this is no stat of a process",
			line.Quote(text)+" is not \"pid (comm) state ...\" with 22 fields",
			"the start time is unknown, so that a restart shows only in other evidence")
	}
	return Stat{}, probs.All(), in.Failure(path)
}

// statLine reads the one line of the file; fields after the comm count from 3.
//
//	"7 (a) b) S 1 7 7 0 -1 4194560 .. 11 0 169797 .."
//	PID 7, Comm "a) b", PPID 1, Threads 11, StartTicks 169797
func statLine(text string) (Stat, bool) {
	open, end := strings.IndexByte(text, '('), strings.LastIndexByte(text, ')')
	if open < 0 || end < open {
		return Stat{}, false
	}
	const ppid, threads, start = 4 - 3, 20 - 3, 22 - 3
	fields := strings.Fields(text[end+1:])
	if len(fields) <= start {
		return Stat{}, false
	}
	s := Stat{Comm: clip(text[open+1 : end])}
	var err [4]error
	s.PID, err[0] = strconv.Atoi(strings.TrimSpace(text[:open]))
	s.PPID, err[1] = strconv.Atoi(fields[ppid])
	s.Threads, err[2] = strconv.Atoi(fields[threads])
	s.StartTicks, err[3] = strconv.ParseUint(fields[start], 10, 64)
	for _, e := range err {
		if e != nil {
			return Stat{}, false
		}
	}
	return s, true
}
