package trend

import (
	"math"

	"leakdiff/analysis"
)

// Limit is a bound that the system sets for a process, how much of it is used, and how
// long it lasts at the present rate.
type Limit struct {
	// What names the resource: "open files", "inotify watches". Bytes reports that it is
	// counted in bytes.
	What  string
	Bytes bool
	// Bound and Used are from the last snapshot that has both. At is its index.
	Bound, Used float64
	At          int
	// Peak is the highest use and PeakAt its index: after a restart or a recovery the last
	// use says nothing about how near the limit was.
	Peak   float64
	PeakAt int
	// Counts are the uses, one per snapshot, nil if unknown.
	Counts []*float64
	// Rate is per hour, RateLow and RateHigh are its 95 % interval. Hours is the time
	// left at that rate, HoursLow at the upper and HoursHigh at the lower end of the
	// interval. They are infinite if the use does not rise. Known is false if the
	// snapshots show no rate.
	Rate, RateLow, RateHigh    float64
	Hours, HoursLow, HoursHigh float64
	Known                      bool
	// AtLeast reports that Used and Peak are lower bounds: the evidence of the snapshots shows a
	// part of what the bound counts.
	AtLeast bool
	// Scope is whose use the kernel counts. The time left of a bound that is not of the
	// process alone is an upper bound.
	Scope Scope
}

// Scope is whose use a bound counts: that of a process, of all processes of a user, or of
// all of a host.
type Scope string

// The scopes, as inotify(7), getrlimit(2) (RLIMIT_NPROC) and proc(5) define them.
const (
	OfProcess Scope = "process"
	OfUser    Scope = "user"
	OfHost    Scope = "host"
)

// bound is a limit that snapshots may have, and how its use is found.
type bound struct {
	figure, what string
	used         func(*Series, int) (float64, bool)
	scope        Scope
	bytes        bool
}

// machineFiles is the bound of the open files of a machine, of which a process is told from
// leastOfMachine on: it is millions where nobody lowered it.
const (
	openFiles      = "open files"
	machineFiles   = "fs.file-nr.max"
	leastOfMachine = 0.1
)

func bounds() []bound {
	total := func(kind analysis.Kind) func(*Series, int) (float64, bool) {
		return func(s *Series, i int) (float64, bool) {
			n := s.Snapshots[i].Totals.Of(kind)
			if n == nil {
				return 0, false
			}
			return float64(*n), true
		}
	}
	figure := func(name string) func(*Series, int) (float64, bool) {
		return func(s *Series, i int) (float64, bool) {
			v, ok := s.Snapshots[i].Figures[name]
			return v, ok
		}
	}
	files := func(s *Series, i int) (float64, bool) {
		n, ok := total(analysis.KindDescriptor)(s, i)
		if stated, known := figure("process_open_fds")(s, i); known && (!ok || s.partial(i)) {
			return stated, true
		}
		return n, ok
	}
	threads := func(s *Series, i int) (float64, bool) {
		if n, ok := figure("os_threads")(s, i); ok {
			return n, true
		}
		return total(analysis.KindThread)(s, i)
	}
	return []bound{
		{"limit_open_files", openFiles, files, OfProcess, false},
		{"process_max_fds", openFiles, files, OfProcess, false},
		{"inotify_max_user_watches", "inotify watches", total(analysis.KindWatch), OfUser, false},
		{"fs.inotify.max_user_watches", "inotify watches", total(analysis.KindWatch), OfUser, false},
		{"inotify_max_user_instances", "inotify instances", (*Series).instances, OfUser, false},
		{"fs.inotify.max_user_instances", "inotify instances", (*Series).instances, OfUser, false},
		{"limit_processes", "threads", threads, OfUser, false},
		{"pids_max", "threads", threads, OfHost, false},
		{"kernel.threads-max", "threads", threads, OfHost, false},
		{machineFiles, "open files of all processes", figure("fs.file-nr.allocated"), OfHost, false},
		{"limit_memory_bytes", "memory (bytes)", figure("resident_memory_bytes"), OfProcess, true},
		{"memory_max_bytes", "memory (bytes)", figure("resident_memory_bytes"), OfProcess, true},
	}
}

// partial reports a snapshot that lists a part of the descriptors of its process: the sockets of
// a table, the handles of an event loop, or those of a listing that was cut.
func (s *Series) partial(i int) bool {
	const kind = analysis.KindDescriptor
	snap := s.Snapshots[i]
	return snap.Totals.Of(kind) != nil && (snap.Totals.Counted(kind) != kind || snap.Bounded(kind) || snap.Forms[kind] == analysis.FormInstances)
}

// instances counts the inotify instances: the descriptors of families that the parser
// calls inotify.
func (s *Series) instances(i int) (float64, bool) {
	if !s.captured(i, analysis.KindDescriptor) {
		return 0, false
	}
	n := 0
	for g := range s.Snapshots[i].Groups {
		group := &s.Snapshots[i].Groups[g]
		f := group.Family
		if f.Kind == analysis.KindDescriptor && (f.Attributes["type"] == "inotify" || f.Attributes["name"] == "inotify" || f.Attributes["path"] == "anon_inode:inotify") {
			n += group.Count
		}
	}
	return float64(n), true
}

// Limits returns the bounds that some snapshot has together with their use, in a fixed
// order. Rates are those of the last epoch, because a restart frees everything. A bound
// known from two figures is returned once.
func (s *Series) Limits() []Limit {
	var out []Limit
	told := make(map[string]bool)
	for _, b := range bounds() {
		if l, ok := s.limit(b); ok && !told[b.what] && (b.figure != machineFiles || l.Peak >= leastOfMachine*l.Bound) {
			told[b.what] = true
			out = append(out, l)
		}
	}
	return out
}

func (s *Series) limit(b bound) (Limit, bool) {
	l := Limit{What: b.what, At: -1, Counts: make([]*float64, len(s.Snapshots)), Scope: b.scope, Bytes: b.bytes}
	for i, snap := range s.Snapshots {
		used, ok := b.used(s, i)
		if !ok {
			continue
		}
		l.Counts[i] = &used
		if bound := snap.Figures[b.figure]; bound > 0 && !math.IsInf(bound, 0) && bound < 1e18 {
			l.Bound, l.Used, l.At = bound, used, i
		}
		l.AtLeast = l.AtLeast || b.what == openFiles && s.partial(i) && snap.Figures["process_open_fds"] == 0
		if used > l.Peak {
			l.Peak, l.PeakAt = used, i
		}
	}
	if l.At < 0 {
		return Limit{}, false
	}
	l.forecast(s)
	return l, true
}

// forecast extends the slope of the last epoch to the bound.
func (l *Limit) forecast(s *Series) {
	var run []point
	start := -1.0
	for i := 0; i <= l.At; i++ {
		at := s.Snapshots[i].CapturedAt
		if s.Epochs[i] != s.Epochs[l.At] || l.Counts[i] == nil || at.IsZero() {
			continue
		}
		hours := float64(at.UnixNano()) / 3.6e12
		if start < 0 {
			start = hours
		}
		run = append(run, point{index: i, count: int(*l.Counts[i]), at: hours - start, timed: true})
	}
	if spanOf(run) == 0 {
		return
	}
	buf := new(buffers)
	fit := fitCounts([][]point{run}, buf)
	fit.fill([][]point{run}, buf)
	l.Rate, l.RateLow, l.RateHigh, l.Known = fit.slope, fit.low, fit.high, true
	left := func(rate float64) float64 {
		if rate <= 0 {
			return math.Inf(1)
		}
		return max(0, l.Bound-l.Used) / rate
	}
	l.Hours, l.HoursLow, l.HoursHigh = left(l.Rate), left(l.RateHigh), left(l.RateLow)
}
