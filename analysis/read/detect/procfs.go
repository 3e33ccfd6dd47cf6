package detect

import (
	"strings"

	"leakdiff/analysis/expression"
	"leakdiff/analysis/read/gauge"
)

var (
	// cmdlineName and capturedName match the names of files whose content alone is not
	// enough.
	cmdlineName  = expression.Lazy(`(?i)^(.*[._-])?cmdline(\.txt)?$`)
	environName  = expression.Lazy(`(?i)^(.*[._-])?environ(\.txt)?$`)
	capturedName = expression.Lazy(`(?i)^captured[._-]at(\.txt)?$`)
	pairsName    = expression.Lazy(`(?i)^(.*[._-])?goroutine[._-]fds(\.txt)?$`)
	pairLine     = expression.Lazy(`^\d{1,19} \d{1,10}$`)
	rfc3339      = expression.Lazy(`^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d`)
)

// byName takes the small files of /proc and of collectors that only their name
// explains, unless their content contradicts it.
func (v *view) byName() (Result, bool) {
	switch {
	case !v.Whole || len(v.Bytes) > 1<<16:
		return no()
	case capturedName.MatchString(v.base) && len(v.lines) == 1:
		if rfc3339.MatchString(strings.TrimSpace(v.first())) {
			return high(CapturedAt, "one time in a file named "+v.base+": a collector's manifest")
		}
		return low(CapturedAt, "its name is "+v.base+", but it holds no RFC 3339 time")
	case cmdlineName.MatchString(v.base) && len(v.lines) <= 2 && controls(v.text) == 0:
		return medium(Cmdline, "its name is "+v.base+" and it holds arguments")
	case environName.MatchString(v.base) && v.has("=") && v.has("\x00"):
		return medium(Text, "an environment, which may hold secrets: not read")
	}
	return no()
}

// pairs finds goroutine ids with descriptors. Two numbers on a line can be anything, so the
// name counts as well.
func (v *view) pairs() (Result, bool) {
	if !pairsName.MatchString(v.base) || !v.most(1, pairLine.MatchString) {
		return no()
	}
	return high(GoroutineFDs, "lines \"goroutine descriptor\" in a file named "+v.base)
}

var (
	mountLine  = expression.Lazy(`^\d+ \d+ \d+:\d+ \S+ \S+ \S+ .*- \S+ \S*`)
	statLine   = expression.Lazy(`^\d+ \(.*\) [RSDZTtWXxKPI] -?\d+ `)
	cgroupLine = expression.Lazy(`^\d+:[^:/]*:/`)
	sysctlLine = expression.Lazy(`^([a-z][a-z0-9_-]*[./][\w./:-]+ = |/proc/sys/\S+: ?\d)`)
	fileNR     = expression.Lazy(`^\d+\s+\d+\s+\d+$`)
)

func (v *view) procfs() (Result, bool) {
	first := v.first()
	switch {
	case strings.HasPrefix(first, "Limit ") && strings.Contains(first, "Soft Limit") && strings.Contains(first, "Hard Limit"):
		return high(Limits, "the header of /proc/PID/limits")
	case strings.HasPrefix(first, "Name:\t") && v.count(func(l string) bool { return strings.HasPrefix(l, "Pid:\t") || strings.HasPrefix(l, "Tgid:\t") }) > 0:
		return high(Status, "it begins with Name and names a Pid, as /proc/PID/status does")
	case len(v.lines) <= 2 && statLine.MatchString(first):
		return high(Stat, "one line \"pid (name) state ...\" of /proc/PID/stat")
	case v.most(1, mountLine.MatchString):
		return high(Mountinfo, "lines of mountinfo: ids, device, root, mount point, \"-\", type")
	case v.most(1, cgroupLine.MatchString):
		return high(Cgroup, "lines \"number:controllers:/path\" of /proc/PID/cgroup")
	case v.most(1, sysctlLine.MatchString):
		return high(Sysctls, "kernel settings: "+quote(first))
	case len(v.lines) == 1 && strings.HasPrefix(v.base, "file-nr") && fileNR.MatchString(strings.TrimSpace(first)):
		return medium(Sysctls, "three numbers in a file named "+v.base)
	case len(v.lines) == 1 && isNumber(strings.TrimSpace(first)) && strings.Contains("/"+v.Path, "/sys/fs/inotify/"):
		return medium(Sysctls, "one number below sys/fs/inotify")
	}
	return no()
}

var (
	metricType = expression.Lazy(`^# (TYPE|HELP) [a-zA-Z_:][\w:]* `)
	metricLine = expression.Lazy(`^[a-zA-Z_:][\w:]*(\{.*\})? ([-+]?[\d.]+([eE][-+]?\d+)?|NaN|[-+]?Inf)( \d+)?$`)
)

// pods is a table of kubectl get pods, crictl ps or crictl pods.
func (v *view) pods() (Result, bool) {
	for _, l := range v.lines[:min(len(v.lines), beginning)] {
		if gauge.IsPods(strings.TrimSpace(l)) {
			return high(PodTable, "the head of a table of pods or containers: "+quote(l))
		}
	}
	return no()
}

// processes is a listing of ps or top.
func (v *view) processes() (Result, bool) {
	for _, l := range v.lines[:min(len(v.lines), beginning)] {
		if gauge.IsProcesses(l) {
			return high(ProcessTable, "the head of a table of processes by ps or top: "+quote(l))
		}
	}
	return no()
}

// versions is a list of packages with their versions.
func (v *view) versions() (Result, bool) {
	if !gauge.IsVersions(v.lines) {
		return no()
	}
	return medium(VersionList, "packages with their versions: "+quote(v.lines[0]))
}

// counts are numbers with known names, or below dates and prompts, in most lines.
func (v *view) counts() (Result, bool) {
	if gauge.IsAssignments(v.lines) {
		return medium(Counts, "numbers of a page of \"key = value\"")
	}
	samples, others := gauge.Tell(v.lines, v.Path)
	named := v.count(func(l string) bool { return !isNumber(strings.TrimSpace(l)) })
	if samples < 2 || others > samples || named == 0 && gauge.IsUnnamed(v.Path) {
		return no()
	}
	return medium(Counts, v.more(samples)+" numbers with a name, or below dates and commands")
}

func (v *view) metrics() (Result, bool) {
	types, samples := v.count(metricType.MatchString), v.count(metricLine.MatchString)
	switch {
	case types > 0 && 2*(types+samples) >= len(v.lines):
		return high(Metrics, "a \"# TYPE\" or \"# HELP\" line of the Prometheus text format")
	case samples >= 5 && 10*samples >= 9*len(v.lines):
		return medium(Metrics, v.more(samples)+" samples of the Prometheus text format")
	}
	return no()
}
