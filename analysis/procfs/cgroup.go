package procfs

import (
	"io"
	"strconv"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/line"
)

// maxCgroups bounds the lines of one cgroup file; the kernel has about a dozen
// hierarchies.
const maxCgroups = 1 << 10

// Cgroup is one line of /proc/PID/cgroup (cgroups(7)). Hierarchy 0 without
// controllers is cgroup v2.
type Cgroup struct {
	Hierarchy   int
	Controllers []string
	Path        string
}

// ParseCgroup reads /proc/PID/cgroup. The error is that of r only.
func ParseCgroup(r io.Reader, path string) ([]Cgroup, []analysis.Problem, error) {
	probs := &line.Problems{Path: path}
	in := line.NewReader(r)
	var groups []Cgroup
	for len(groups) < maxCgroups {
		l, ok := in.Next()
		if !ok {
			break
		}
		if strings.TrimSpace(l.Text) == "" {
			continue
		}
		g, ok := cgroupLine(l.Text)
		if !ok {
			probs.Add(analysis.Warning, l, "a cgroup line is not understood",
				line.Quote(l.Text)+" is not hierarchy:controllers:path", "nothing: the other lines were read")
			continue
		}
		groups = append(groups, g)
	}
	return groups, probs.All(), in.Failure(path)
}

// cgroupLine reads one line; the path may hold colons.
//
//	"2:cpu,cpuacct:/kubepods"   {2, [cpu cpuacct], "/kubepods"}
//	"0::/"                      {0, nil, "/"}
func cgroupLine(text string) (Cgroup, bool) {
	parts := strings.SplitN(strings.TrimSpace(text), ":", 3)
	if len(parts) != 3 {
		return Cgroup{}, false
	}
	n, err := strconv.Atoi(parts[0])
	if err != nil || n < 0 {
		return Cgroup{}, false
	}
	g := Cgroup{Hierarchy: n, Path: clip(parts[2])}
	if parts[1] != "" {
		g.Controllers = strings.Split(clip(parts[1]), ",")
	}
	return g, true
}
