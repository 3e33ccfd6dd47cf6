package ingest

import (
	"cmp"
	"fmt"
	"slices"

	"leakdiff/analysis"
	"leakdiff/analysis/read/thread"
	"leakdiff/analysis/say/wording"
)

// fragments tell which dumps without a heading below another one of their file are of its process: those
// that share a thread with it, by address and name. People paste threads of many processes below each
// other; of which process such a piece is nobody says.
type fragments struct {
	// processes are the threads that were seen, with the name of the process that has them: "" for that
	// of the dumps with a heading and of the first one.
	processes map[uint64]string
	// strangers counts the pieces that share nothing with what stands above them, first is the line of
	// the first one.
	strangers int
	first     int64
}

// headless reports a dump of a form that prints addresses, without the line that announces it.
func headless(d *thread.Dump) bool {
	return (d.Form == thread.FormHotSpot || d.Form == thread.FormHPUX) && d.Version == "" && d.PID == 0
}

// excerptName names the process of a piece by its place. That of another file at the same line is of
// another process.
func (r *reader) excerptName(line int64) string {
	return fmt.Sprintf("excerpt at line %d of file %d", line, len(r.artifacts)+1)
}

// process names the process of the next dump, "" for that of the file.
func (f *fragments) process(r *reader, d *thread.Dump, t *threadDump) string {
	name := ""
	if headless(d) && len(f.processes) > 0 && len(t.addresses.hashes) > 0 {
		at := slices.IndexFunc(t.addresses.hashes, func(x uint64) bool { _, seen := f.processes[x]; return seen })
		if at >= 0 {
			name = f.processes[t.addresses.hashes[at]]
		} else {
			name = r.excerptName(d.Line)
			f.strangers++
			f.first = cmp.Or(f.first, d.Line)
		}
	}
	if f.processes == nil {
		f.processes = map[uint64]string{}
	}
	for _, x := range t.addresses.hashes {
		if _, seen := f.processes[x]; !seen {
			f.processes[x] = name
		}
	}
	return name
}

// problem says that pieces of other processes stand in a file, nil without any.
func (f *fragments) problem(path string) []analysis.Problem {
	if f.strangers == 0 {
		return nil
	}
	return []analysis.Problem{{Path: path, Offset: -1, Line: f.first, Severity: analysis.Warning,
		What: wording.Plural(f.strangers, "piece of a dump has no heading and shares", "pieces of dumps have no heading and share") + " no thread with what stands above",
		Why:  "no two of them are known to be of one process, so that nothing is compared",
		Hint: "each is shown alone; upload whole dumps of one process, taken with jcmd PID Thread.print -l > FILE"}}
}
