package report

import (
	"slices"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/say/wording"
)

// Gauge is a quantity of the process, or of its host, beside what was captured of it.
type Gauge struct {
	// Name is that of the figure, Unit "MiB" or "" for a number of things.
	Name string `json:"name"`
	Unit string `json:"unit,omitempty"`
	// Values are one for each snapshot, null where not known.
	Values []*float64 `json:"values"`
}

// gaugeWord is how a gauge is told.
type gaugeWord struct {
	figure, one, many string
	// bytes are told in MiB.
	bytes bool
}

const (
	processMemory = "process_resident_memory_bytes"
	endedChildren = "ended_children"
	heapInUse     = "MiB in use in the heap"
	// externalMemory is that of Node.js.
	externalMemory = "MiB in buffers outside of the heap"
)

// gaugeWords are the figures that are gauges, in the order in which they are told. What a
// capture counts itself, such as its descriptors, is told there.
var gaugeWords = []gaugeWord{
	{figure: "pods_on_node", one: "pod", many: "pods"},
	{figure: "pods_terminating", one: "terminating pod", many: "terminating pods"},
	{figure: "pod_restarts", one: "restart", many: "restarts"},
	{figure: "containers_running", one: "running container", many: "running containers"},
	{figure: "containers_exited", one: "exited container", many: "exited containers"},
	{figure: "sandboxes_ready", one: "ready pod sandbox", many: "ready pod sandboxes"},
	{figure: "sandboxes_notready", one: "pod sandbox that is not ready", many: "pod sandboxes that are not ready"},
	{figure: "kubelet_running_pods", one: "running pod", many: "running pods"},
	{figure: "resident_memory_bytes", one: "MiB of memory", many: "MiB of memory", bytes: true},
	{figure: processMemory, one: "MiB of memory", many: "MiB of memory", bytes: true},
	{figure: analysis.HeapBytes, one: heapInUse, many: heapInUse, bytes: true},
	{figure: analysis.ExternalBytes, one: externalMemory, many: externalMemory, bytes: true},
	{figure: "os_threads", one: "OS thread", many: "OS threads"},
	{figure: endedChildren, one: "ended child that nobody waited for", many: "ended children that nobody waited for"},
	{figure: "k8s_clients", one: "Kubernetes client", many: "Kubernetes clients"},
	{figure: "k8s_running_calls", one: "running call", many: "running calls"},
	{figure: "k8s_queued_calls", one: "queued call", many: "queued calls"},
	{figure: "fs.file-nr.allocated", one: "open file of all processes", many: "open files of all processes"},
}

// Word is the gauge as the name of a row: "Pods", "Memory, MiB".
func (g *Gauge) Word() string {
	switch w := g.words(); {
	case !w.bytes:
		return capital(w.many)
	case g.Name == analysis.HeapBytes:
		return "Heap in use, MiB"
	case g.Name == analysis.ExternalBytes:
		return "Buffers, MiB"
	}
	return "Memory, MiB"
}

func (g *Gauge) words() gaugeWord { return wordsOfGauge(g.Name) }

func wordsOfGauge(figure string) gaugeWord {
	at := slices.IndexFunc(gaugeWords, func(w gaugeWord) bool { return w.figure == figure })
	return gaugeWords[at]
}

// lastOfGauge is the last value of a gauge, 0 without one.
func (s *Series) lastOfGauge(figure string) float64 {
	_, last := s.courseOfGauge(figure)
	return float64(last)
}

// courseOfGauge is the first and the last value of a gauge, 0 without one.
func (s *Series) courseOfGauge(figure string) (first, last int) {
	for i := range s.Gauges {
		if counts := s.Gauges[i].Counts(); s.Gauges[i].Name == figure {
			return counts[counts.FirstAt()].N, counts[counts.LastAt()].N
		}
	}
	return 0, 0
}

const mebibyte = 1 << 20

func (j *JudgedSeries) gauges() (out []Gauge) {
	for _, w := range gaugeWords {
		if len(out) > 0 && out[len(out)-1].words().many == w.many {
			continue // another name of the same
		}
		g := Gauge{Name: w.figure, Values: make([]*float64, len(j.Snapshots))}
		known := false
		for i, s := range j.Snapshots {
			if v, ok := s.Figures[w.figure]; ok && v >= 0 {
				if w.bytes {
					v /= mebibyte
				}
				g.Values[i], known = &v, true
			}
		}
		if w.bytes {
			g.Unit = "MiB"
		}
		if known {
			out = append(out, g)
		}
	}
	return out
}

// Counts are the values as whole numbers.
func (g *Gauge) Counts() analysis.Counts {
	out := make(analysis.Counts, len(g.Values))
	for i, v := range g.Values {
		if v != nil {
			out.Add(i, int(*v+0.5))
		}
	}
	return out
}

// mostGaugesTold is how many gauges a sentence tells.
const mostGaugesTold = 3

// gaugesText tells the gauges of a process of which nothing else was counted: "11 to 26 pods,
// 1 terminating pod, 14 restarts". It is "" without gauges.
func (s *Series) gaugesText() string {
	var words []string
	for i := range s.Gauges {
		counts, w := s.Gauges[i].Counts(), s.Gauges[i].words()
		first, last := counts[counts.FirstAt()].N, counts[counts.LastAt()].N
		if first == 0 && last == 0 {
			continue
		}
		text := wording.Plural(last, w.one, w.many)
		if first != last {
			text = wording.Number(int64(first)) + " to " + text
		}
		if words = append(words, text); len(words) == mostGaugesTold {
			break
		}
	}
	return strings.Join(words, ", ")
}
