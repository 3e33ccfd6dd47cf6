package capture

import "time"

// Schema names the format of a Manifest. It is the first key of the file, so that the
// first bytes identify it.
const Schema = "leakdiff.capture/1"

// Manifest describes the capture of one process in one round. It is manifest.json in the
// directory of the evidence, and is written last.
type Manifest struct {
	Schema string `json:"schema"`
	// Tool is the program that captured, with its version.
	Tool   string `json:"tool"`
	Host   string `json:"host"`
	Kernel string `json:"kernel,omitempty"`
	BootID string `json:"boot_id,omitempty"`
	// Round counts from 0. Rounds is how many were asked for, and Every the time between
	// them; both are 0 where the rounds end by what they show.
	Round   int     `json:"round"`
	Rounds  int     `json:"rounds"`
	Every   float64 `json:"every_seconds"`
	Started Time    `json:"started"`
	Ended   Time    `json:"ended"`
	// Late is the delay of the round against Every, because earlier rounds took too long.
	// It is 0 below two seconds and a tenth of Every.
	Late float64 `json:"late_seconds,omitempty"`
	// Interrupted is true if the capture was ended during this round.
	Interrupted bool     `json:"interrupted,omitempty"`
	Process     Identity `json:"process"`
	Load        Load     `json:"load"`
	// Pods are those that the host names by the directories below /var/log/pods. Some may
	// be gone.
	Pods  []Pod  `json:"pods,omitempty"`
	Steps []Step `json:"steps"`
}

// Identity is the captured process. It holds nothing of the environment.
type Identity struct {
	// Name is the kernel's name of the program, completed if it was cut to 15 bytes.
	Name string `json:"name"`
	PID  int    `json:"pid,omitempty"`
	// StartTicks is field 22 of stat. Started is the same as a time.
	StartTicks uint64 `json:"start_ticks,omitempty"`
	Started    *Time  `json:"started,omitempty"`
	// InnerPID is the pid inside the process' own pid namespace, if it has one.
	InnerPID   int    `json:"inner_pid,omitempty"`
	Executable string `json:"executable,omitempty"`
	// Version is that of the main module or the virtual machine, Go that of the toolchain.
	Version   string `json:"version,omitempty"`
	Go        string `json:"go,omitempty"`
	Container string `json:"container,omitempty"`
	PodUID    string `json:"pod_uid,omitempty"`
	// Pod is "namespace/name".
	Pod            string `json:"pod,omitempty"`
	MountNamespace string `json:"mount_namespace,omitempty"`
	// NetworkNamespace is "net:[4026531840]". Addresses of processes in different ones are
	// not those of one host.
	NetworkNamespace string `json:"network_namespace,omitempty"`
}

// Load is the cost of the capture for the process, and the limits that were set.
type Load struct {
	// Goroutines is the total of debug=1, -1 if it is unknown.
	Goroutines int `json:"goroutines"`
	// StopMS estimates how long one dump of all goroutines stops the world, by
	// MicrosecondsPerGoroutine.
	StopMS float64 `json:"stop_ms_estimate"`
	// MaxGoroutines is the number above which debug=2 was not requested.
	MaxGoroutines int     `json:"max_goroutines"`
	StepSeconds   float64 `json:"step_seconds"`
}

// Pod is a pod that the host names.
type Pod struct {
	UID       string `json:"uid"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// States of a step.
const (
	// Done steps have a complete file.
	Done = "done"
	// Partial steps have a file that ends early.
	Partial = "partial"
	// Failed steps lost evidence. Skipped steps were not tried.
	Failed  = "failed"
	Skipped = "skipped"
)

// Step is one kind of evidence.
type Step struct {
	Name   string `json:"step"`
	Status string `json:"status"`
	// File is relative to the manifest. That of a directory ends with a slash.
	File string `json:"file,omitempty"`
	// At is when the step began. Steps differ: a slow one puts time between them.
	At    Time  `json:"at"`
	MS    int64 `json:"ms"`
	Bytes int64 `json:"bytes,omitempty"`
	// Files is the number of files of a directory.
	Files int `json:"files,omitempty"`
	// SHA256 is the hash of the file. For a directory it is over the lines "NAME HASH\n"
	// of its files, or "NAME TARGET\n" of its links, in the order of their bytes.
	SHA256 string `json:"sha256,omitempty"`
	// Error explains a failed or skipped step, or the end of a process that was asked to
	// end.
	Error string `json:"error,omitempty"`
}

// Time is written in UTC to the millisecond.
type Time struct{ time.Time }

// MarshalJSON writes "2026-11-21T03:04:05.678Z".
func (t Time) MarshalJSON() ([]byte, error) {
	return []byte(t.UTC().Format(`"2006-01-02T15:04:05.000Z"`)), nil
}

// targetsSchema is the first key of every line of watches.jsonl.
const targetsSchema = "leakdiff.watches/1"

// States of a file handle.
const (
	// Linked targets have the path given. Deleted targets are open and have no path.
	Linked  = "linked"
	Deleted = "deleted"
	// Stale handles lead to nothing any more: the file or cgroup is gone.
	Stale = "stale"
	// Unmounted targets are on a file system that no mount namespace of the host shows.
	Unmounted = "unmounted"
	// Unknown targets are on a file system that cannot be asked, or the collector may not
	// ask it.
	Unknown = "unknown"
)

// WatchTarget is what one watched file handle leads to: a line of watches.jsonl. Device,
// Inode and Type are hexadecimal as in fdinfo.
type WatchTarget struct {
	Schema string `json:"schema"`
	Device string `json:"sdev"`
	Inode  string `json:"ino"`
	Type   string `json:"fhandle_type"`
	Handle string `json:"f_handle"`
	State  string `json:"state"`
	// Path is as the process sees it, unless Elsewhere is set.
	Path   string `json:"path,omitempty"`
	Mount  string `json:"mount,omitempty"`
	FSType string `json:"fstype,omitempty"`
	// Elsewhere names a process in whose mount namespace the file system is mounted, if
	// that of the watching process lacks it.
	Elsewhere string `json:"elsewhere,omitempty"`
	Error     string `json:"error,omitempty"`
}
