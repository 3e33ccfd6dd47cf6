package capture

import "time"

// Schema names the shape of a Manifest. It is the first key of the file, so that
// a reader knows it by its first bytes.
const Schema = "leakdiff.capture/1"

// Manifest says what one round captured of one process: it lies as manifest.json
// in the directory that holds the evidence, and is written last.
type Manifest struct {
	Schema string `json:"schema"`
	// Tool is the program that captured, with its version.
	Tool   string `json:"tool"`
	Host   string `json:"host"`
	Kernel string `json:"kernel,omitempty"`
	BootID string `json:"boot_id,omitempty"`
	// Round counts from 0; Rounds is how many were asked for.
	Round   int     `json:"round"`
	Rounds  int     `json:"rounds"`
	Every   float64 `json:"every_seconds"`
	Started Time    `json:"started"`
	Ended   Time    `json:"ended"`
	// Late is how much later than Every wants it the round began: those before it took
	// longer. It is 0 below two seconds and a tenth of Every.
	Late float64 `json:"late_seconds,omitempty"`
	// Interrupted says that the capture was ended during this round.
	Interrupted bool     `json:"interrupted,omitempty"`
	Process     Identity `json:"process"`
	Load        Load     `json:"load"`
	// Pods are those that the host names, also some that are gone: the names of the
	// directories below /var/log/pods.
	Pods  []Pod  `json:"pods,omitempty"`
	Steps []Step `json:"steps"`
}

// Identity is the process that was captured. Nothing of its environment is in it.
type Identity struct {
	// Name is the kernel's name of the program, completed where it was cut to 15 bytes.
	Name string `json:"name"`
	PID  int    `json:"pid,omitempty"`
	// StartTicks is field 22 of stat; Started the same as a time.
	StartTicks uint64 `json:"start_ticks,omitempty"`
	Started    *Time  `json:"started,omitempty"`
	// InnerPID is the pid inside the process' own pid namespace, where that is another.
	InnerPID   int    `json:"inner_pid,omitempty"`
	Executable string `json:"executable,omitempty"`
	// Version is of the main module or the virtual machine, Go the toolchain's.
	Version   string `json:"version,omitempty"`
	Go        string `json:"go,omitempty"`
	Container string `json:"container,omitempty"`
	PodUID    string `json:"pod_uid,omitempty"`
	// Pod is "namespace/name".
	Pod            string `json:"pod,omitempty"`
	MountNamespace string `json:"mount_namespace,omitempty"`
}

// Load says what the capture cost the process, and which limits it kept.
type Load struct {
	// Goroutines is the total that debug=1 gave, -1 where it gave none.
	Goroutines int `json:"goroutines"`
	// StopMS is about how long one dump of all of them stops the world, by
	// MicrosecondsPerGoroutine.
	StopMS float64 `json:"stop_ms_estimate"`
	// MaxGoroutines is the number above which debug=2 was not asked for.
	MaxGoroutines int     `json:"max_goroutines"`
	StepSeconds   float64 `json:"step_seconds"`
}

// Pod is a pod that the host names.
type Pod struct {
	UID       string `json:"uid"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// What became of a step.
const (
	// Done steps have their file whole.
	Done = "done"
	// Partial steps have a file that ends early.
	Partial = "partial"
	// Failed steps lost evidence, Skipped steps were not tried and say why.
	Failed  = "failed"
	Skipped = "skipped"
)

// Step is one kind of evidence.
type Step struct {
	Name   string `json:"step"`
	Status string `json:"status"`
	// File is relative to the manifest; it ends with a slash for a directory.
	File string `json:"file,omitempty"`
	// At is when the step began, each has its own: a slow one puts time between them.
	At    Time  `json:"at"`
	MS    int64 `json:"ms"`
	Bytes int64 `json:"bytes,omitempty"`
	// Files is the number of files of a directory.
	Files int `json:"files,omitempty"`
	// SHA256 is of the file's bytes; of a directory it is over the lines "NAME HASH\n"
	// of its files, or "NAME TARGET\n" of its links, in the order of their bytes.
	SHA256 string `json:"sha256,omitempty"`
	// Error says what went wrong, why the step was skipped, or how a process ended that
	// was asked to.
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

// What a file handle led to.
const (
	// Linked targets have the path given; Deleted ones are held open without one.
	Linked  = "linked"
	Deleted = "deleted"
	// Stale handles lead to nothing any more: the file or cgroup is gone.
	Stale = "stale"
	// Unmounted ones are on a file system that no mount namespace of the host shows.
	Unmounted = "unmounted"
	// Unknown says that the file system cannot be asked, or that the collector may not.
	Unknown = "unknown"
)

// WatchTarget is what one watched file handle leads to: a line of watches.jsonl.
// Device, Inode and Type are hexadecimal as in fdinfo.
type WatchTarget struct {
	Schema string `json:"schema"`
	Device string `json:"sdev"`
	Inode  string `json:"ino"`
	Type   string `json:"fhandle_type"`
	Handle string `json:"f_handle"`
	State  string `json:"state"`
	// Path is as the process sees it, except where Elsewhere is set.
	Path   string `json:"path,omitempty"`
	Mount  string `json:"mount,omitempty"`
	FSType string `json:"fstype,omitempty"`
	// Elsewhere names the process in whose mount namespace the file system is still
	// mounted, where that of the watching process does not show it.
	Elsewhere string `json:"elsewhere,omitempty"`
	Error     string `json:"error,omitempty"`
}
