package trend

import (
	_ "embed"
	"math"
	"slices"
	"strings"
	"sync"
)

//go:embed pool.txt
var poolText string

// Pool is a pool or dispatcher of a series, one value for each snapshot, NaN where it is not
// known.
type Pool struct {
	// Name is that of its row in pool.txt, Label tells it from others of the name.
	Name, Label string
	// Limit is the largest Running where Stated is false.
	Running, Queued, Limit []float64
	Stated                 bool
	// Full is the first of the last snapshots in which it is full, Queues the first of them in
	// which others wait. Both are -1 where it is not saturated.
	Full, Queues int
}

type poolRule struct{ name, running, queued, limit string }

var poolRules = sync.OnceValue(func() (out []poolRule) {
	for row := range strings.Lines(poolText) {
		if words := strings.Fields(row); len(words) == 4 && words[0] != "#" {
			out = append(out, poolRule{words[0], words[1], words[2], words[3]})
		}
	}
	return out
})

// PoolNames are the names of pools, each once.
func PoolNames() (out []string) {
	for _, rule := range poolRules() {
		if !slices.Contains(out, rule.name) {
			out = append(out, rule.name)
		}
	}
	return out
}

// Pools returns the pools that the figures of the snapshots tell, in the order of pool.txt.
func (s *Series) Pools() []Pool {
	var out []Pool
	for _, rule := range poolRules() {
		for _, label := range s.labels(rule.running) {
			p := Pool{Name: rule.name, Label: label, Stated: true, Full: -1, Queues: -1,
				Running: s.figure(rule.running, label), Queued: s.figure(rule.queued, label), Limit: s.figure(rule.limit, label)}
			if !slices.ContainsFunc(p.Limit, isKnown) {
				p.estimate()
			}
			p.saturate(s.Epochs)
			out = append(out, p)
		}
	}
	return out
}

func isKnown(v float64) bool { return !math.IsNaN(v) }

// labels are what stands in the braces of a figure that ends with "{}", and "" for one without,
// if a snapshot has it.
func (s *Series) labels(figure string) (out []string) {
	prefix, several := strings.CutSuffix(figure, "{}")
	for _, snap := range s.Snapshots {
		for name := range snap.Figures {
			label, found := "", name == figure
			if several {
				label, found = strings.CutPrefix(name, prefix+"{")
			}
			if label = strings.TrimSuffix(label, "}"); found && !slices.Contains(out, label) {
				out = append(out, label)
			}
		}
	}
	slices.Sort(out)
	return out
}

// figure is a figure in each snapshot.
func (s *Series) figure(name, label string) []float64 {
	if prefix, several := strings.CutSuffix(name, "{}"); several {
		name = prefix + "{" + label + "}"
	}
	out := unknown(len(s.Snapshots))
	for i, snap := range s.Snapshots {
		if v, known := snap.Figures[name]; known {
			out[i] = v
		}
	}
	return out
}

// estimate takes the most that ran at once for the limit.
func (p *Pool) estimate() {
	p.Stated = false
	most := 0.0
	for _, v := range p.Running {
		if isKnown(v) {
			most = max(most, v)
		}
	}
	for i, v := range p.Running {
		if isKnown(v) {
			p.Limit[i] = most
		}
	}
}

// fewestFull is how many snapshots must show a pool full (gauges.md 3).
const fewestFull = 2

// saturate looks for a pool that is full in the last snapshots of a process, at least fewestFull of
// them, while its queue grows, or stays and never empties. Of a limit that nobody stated it must
// grow.
func (p *Pool) saturate(epochs []int) {
	full, queues, count, last := -1, -1, 0, -1
	never := true // the queue never empties
	for i := len(p.Running) - 1; i >= 0; i-- {
		if !isKnown(p.Running[i]) || !isKnown(p.Queued[i]) || !isKnown(p.Limit[i]) {
			continue
		}
		if p.Limit[i] <= 0 || p.Running[i] < p.Limit[i] || last >= 0 && epochs[i] != epochs[last] {
			break // it had a free place, or was that of another process
		}
		if last < 0 {
			last = i
		}
		full = i
		count++
		if p.Queued[i] > 0 {
			queues = i
		} else {
			never = false
		}
	}
	if count < fewestFull {
		return
	}
	if was, is := p.Queued[full], p.Queued[last]; is > was || p.Stated && never && is == was {
		p.Full, p.Queues = full, queues
	}
}
