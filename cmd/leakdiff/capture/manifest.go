package capture

import "time"

// Schema names the format of a Manifest. It is the first key of the file, so that the
// first bytes identify the format.
const Schema = "leakdiff.capture/1"

// Manifest describes what one round captured of one process. It is manifest.json in the
// directory of the evidence and is written last.
type Manifest struct {
	Schema string `json:"schema"`
	// Tool is the program that captured, with its version.
	Tool   string `json:"tool"`
	Host   string `json:"host"`
	Kernel string `json:"kernel,omitempty"`
	BootID string `json:"boot_id,omitempty"`
	// Round counts from 0. Rounds is the requested number.
	Round   int     `json:"round"`
	Rounds  int     `json:"rounds"`
	Every   float64 `json:"every_seconds"`
	Started Time    `json:"started"`
	Ended   Time    `json:"ended"`
	// Late is the delay of the round, because earlier rounds took longer than Every. It
	// is 0 below two seconds and a tenth of Every.
	Late float64 `json:"late_seconds,omitempty"`
	// Interrupted reports that the capture was ended during this round.
	Interrupted bool     `json:"interrupted,omitempty"`
	Process     Identity `json:"process"`
	Load        Load     `json:"load"`
	// Pods are the pods that the host names in the directories below /var/log/pods.
	// Some may be gone.
	Pods  []Pod  `json:"pods,omitempty"`
	Steps []Step `json:"steps"`
}

// Identity is the process that was captured, without its environment.
type Identity struct {
	// Name is the kernel's name of the program, completed if it was cut to 15 bytes.
	Name string `json:"name"`
	PID  int    `json:"pid,omitempty"`
	// StartTicks is field 22 of stat. Started is the same as a time.
	StartTicks uint64 `json:"start_ticks,omitempty"`
	Started    *Time  `json:"started,omitempty"`
	// InnerPID is the pid in the pid namespace of the process, if that is another one.
	InnerPID   int    `json:"inner_pid,omitempty"`
	Executable string `json:"executable,omitempty"`
	// Version is that of the main module or the virtual machine, Go that of the
	// toolchain.
	Version   string `json:"version,omitempty"`
	Go        string `json:"go,omitempty"`
	Container string `json:"container,omitempty"`
	PodUID    string `json:"pod_uid,omitempty"`
	// Pod is "namespace/name".
	Pod            string `json:"pod,omitempty"`
	MountNamespace string `json:"mount_namespace,omitempty"`
}

// Load is what the capture cost the process, with the limits that it kept.
type Load struct {
	// Goroutines is the total of debug=1, -1 without one.
	Goroutines int `json:"goroutines"`
	// StopMS is roughly how long one dump of all goroutines stops the world, by
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

// The outcomes of a step.
const (
	// Done steps have a whole file.
	Done = "done"
	// Partial steps have a file that ends early.
	Partial = "partial"
	// Failed steps lost evidence. Skipped steps were not tried and have a reason.
	Failed  = "failed"
	Skipped = "skipped"
)

// Step is one kind of evidence.
type Step struct {
	Name   string `json:"step"`
	Status string `json:"status"`
	// File is relative to the manifest. It ends with a slash for a directory.
	File string `json:"file,omitempty"`
	// At is when the step began. Each step has its own, because a slow step delays
	// those after it.
	At    Time  `json:"at"`
	MS    int64 `json:"ms"`
	Bytes int64 `json:"bytes,omitempty"`
	// Files is the number of files of a directory.
	Files int `json:"files,omitempty"`
	// SHA256 is that of the file's bytes. For a directory it is that of the sorted
	// lines "NAME HASH\n" of its files, or "NAME TARGET\n" of its links.
	SHA256 string `json:"sha256,omitempty"`
	// Error is what went wrong, why the step was skipped, or how a process ended that
	// was asked to end.
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

// What a file handle leads to.
const (
	// Linked targets have the given path. Deleted targets are held open without a path.
	Linked  = "linked"
	Deleted = "deleted"
	// Stale handles lead to nothing: the file or cgroup is gone.
	Stale = "stale"
	// Unmounted targets are on a file system that no mount namespace of the host shows.
	Unmounted = "unmounted"
	// Unknown targets are on a file system that cannot open handles, or the collector
	// has no permission.
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
	// Elsewhere names another process in whose mount namespace the file system is still
	// mounted. It is set if that of the watching process does not show it.
	Elsewhere string `json:"elsewhere,omitempty"`
	Error     string `json:"error,omitempty"`
}
