package procfs

import (
	"io"
	"strconv"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/read/line"
)

// Status is the part of /proc/PID/status that names the process and sizes it. Values
// missing from the file are 0; UID is then -1.
type Status struct {
	// Name is the comm, at most 15 bytes for programs, with escapes undone.
	Name      string
	PID, PPID int
	// UID is the real user id, the one that inotify's limits count for.
	UID int
	// FDSize is the size of the descriptor table, NOT the number of descriptors.
	FDSize  int
	Threads int
	// VmRSSBytes is 0 for kernel threads and zombies, which have no such line.
	VmRSSBytes int64
	// NSpid is the pid in every pid namespace, outermost first.
	NSpid []int
}

// ParseStatus reads /proc/PID/status (proc_pid_status(5)). Keys that it does not
// need are passed over. The error is that of r only.
func ParseStatus(r io.Reader, path string) (Status, []analysis.Problem, error) {
	probs := &line.Problems{Path: path}
	in := line.NewReader(r)
	status := Status{UID: -1}
	known := 0
	for l := range in.All() {
		key, value, ok := keyValue(l.Text)
		if !ok {
			continue
		}
		found, good := status.set(key, value)
		if found {
			known++
		}
		if !good {
			probs.Add(analysis.Warning, l, "the value of "+key+" is not understood", line.Quote(value)+" is no number",
				"nothing: the other values were read")
		}
	}
	if known == 0 && in.Offset() > 0 {
		probs.Add(analysis.Warning, line.Line{}, "this is no status of a process", "it has none of Name, Pid, PPid, Uid, Threads",
			"check which file was captured")
	}
	return status, probs.All(), in.Failure(path)
}

// set takes one "Key: value" of the file; found is true if the key is one of ours, good
// if its value was understood.
//
//	"VmRSS", "2904 kB"          VmRSSBytes = 2973696
//	"Uid", "65001 0 0 0"        UID = 65001
func (s *Status) set(key, value string) (found, good bool) {
	var err error
	switch key {
	case "Name":
		s.Name = clip(unescapeName(value))
	case "Pid":
		s.PID, err = strconv.Atoi(value)
	case "PPid":
		s.PPID, err = strconv.Atoi(value)
	case "Uid":
		err = atoiFirst(value, &s.UID)
	case "FDSize":
		s.FDSize, err = strconv.Atoi(value)
	case "Threads":
		s.Threads, err = strconv.Atoi(value)
	case "VmRSS":
		kib, unit, _ := strings.Cut(value, " ")
		s.VmRSSBytes, err = strconv.ParseInt(kib, 10, 64)
		if unit == "kB" && s.VmRSSBytes <= 1<<53 {
			s.VmRSSBytes <<= 10
		}
	case "NSpid":
		s.NSpid, err = atois(value)
	default:
		return false, true
	}
	return true, err == nil
}

// atoiFirst reads the first of several numbers, and leaves to unchanged if
// that fails.
func atoiFirst(value string, to *int) error {
	first, _, _ := strings.Cut(strings.ReplaceAll(value, "\t", " "), " ")
	v, err := strconv.Atoi(first)
	if err == nil {
		*to = v
	}
	return err
}

// atois reads blank-separated numbers, at most as many as pid namespaces nest.
//
//	"2706 1"   [2706 1]
func atois(value string) ([]int, error) {
	const nesting = 33
	var out []int
	for f := range strings.FieldsSeq(value) {
		v, err := strconv.Atoi(f)
		if err != nil {
			return out, err
		}
		if len(out) == nesting {
			break
		}
		out = append(out, v)
	}
	return out, nil
}

// unescapeName undoes the escapes that proc_task_name writes.
//
//	`a\nb\\c`   "a", line feed, `b\c`
func unescapeName(s string) string {
	return strings.NewReplacer(`\n`, "\n", `\\`, `\`).Replace(s)
}
