package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/say/wording"
)

// Pool is a pool or dispatcher of the process that runs so many at once and lets others wait.
type Pool struct {
	// Name is that of the kind of pool, Label tells it from others of the process.
	Name  string `json:"name"`
	Label string `json:"label,omitempty"`
	// Running, Queued and Limit are one for each snapshot, null where not known. Without
	// LimitStated the limit is the most that ran at once.
	Running     []*float64 `json:"running"`
	Queued      []*float64 `json:"queued"`
	Limit       []*float64 `json:"limit"`
	LimitStated bool       `json:"limit_stated"`
	// Saturated reports that it is full at the end, since the snapshot Full, and others wait
	// since Queues.
	Saturated bool `json:"saturated"`
	Full      *int `json:"full,omitempty"`
	Queues    *int `json:"queues,omitempty"`
	// Held is what most of the running ones are for at the end, HeldBy how many of them: "exec of
	// pods". It is "" where the captures do not tell.
	Held   string `json:"held,omitempty"`
	HeldBy int    `json:"held_by,omitempty"`
}

// poolWord is how a pool of a name is told.
type poolWord struct {
	// many is the pool as the subject of "runs", one and them what it runs.
	name, one, them string
	// remedy is what to do.
	remedy string
}

// poolWords tell the pools of judge/trend/pool.txt.
var poolWords = map[string]poolWord{
	"kubernetes_client": {"Kubernetes client", "call", "calls", "Raise the cloud's Max connections to Kubernetes API gradually, and use fewer sh steps in container blocks: each holds a call while it runs."},
	"hikari":            {"connection pool", "connection", "connections", "Find what keeps the connections: leakDetectionThreshold prints who took one and did not return it. A larger pool gains time only."},
	"executor":          {"executor", "task", "tasks", "Find what the running tasks wait for in a thread dump. More threads gain time only."},
	"jetty":             {"Jetty's thread pool", "request", "requests", "Find what the running requests wait for in a thread dump. More threads gain time only."},
}

func (j *JudgedSeries) workPools() (out []Pool) {
	all := j.Trend.Pools()
	for _, x := range all {
		if x.Name == analysis.KubernetesClient && len(all) == 1 {
			x.Label = "" // there is no other to tell it from
		}
		p := Pool{Name: x.Name, Label: x.Label, LimitStated: x.Stated, Running: nullable(x.Running), Queued: nullable(x.Queued), Limit: nullable(x.Limit)}
		if x.Full >= 0 {
			p.Saturated, p.Full, p.Queues = true, &x.Full, &x.Queues
			if x.Name == analysis.KubernetesClient && len(all) == 1 { // calls are counted of all clients
				p.Held, p.HeldBy = j.heldCalls()
			}
		}
		out = append(out, p)
	}
	return out
}

// heldCalls is what at least half of the calls ask for that run at the end.
func (j *JudgedSeries) heldCalls() (what string, n int) {
	figures := j.Snapshots[len(j.Snapshots)-1].Figures
	all := 0.0
	for name, v := range figures {
		call, ok := strings.CutPrefix(name, "k8s_call{")
		if !ok {
			continue
		}
		if all += v; int(v) > n || int(v) == n && call < what {
			what, n = call, int(v)
		}
	}
	if 2*n < int(all) {
		return "", 0
	}
	return strings.TrimSuffix(what, "}"), n
}

// nullable are values with null for NaN.
func nullable(values []float64) []*float64 {
	out := make([]*float64, len(values))
	for i, v := range values {
		if !math.IsNaN(v) {
			out[i] = &v
		}
	}
	return out
}

// named is a pool as the subject of a sentence: "Kubernetes client", "connection pool HikariPool-1".
func (p *Pool) named() string {
	return strings.TrimSpace(poolWords[p.Name].name + " " + p.Label)
}

// lastOf is the last known value.
func lastOf(values []*float64) float64 {
	for _, v := range slices.Backward(values) {
		if v != nil {
			return *v
		}
	}
	return 0
}

// use says how many run and wait at the end: "runs 32 of 32 calls and 48 wait".
func (p *Pool) use() string {
	w := poolWords[p.Name]
	running, limit, queued := lastOf(p.Running), lastOf(p.Limit), lastOf(p.Queued)
	text := fmt.Sprintf("runs %s of %s %s", wording.Ratio(running), wording.Ratio(limit), wording.Fit(int(limit), w.one, w.them))
	if !p.LimitStated {
		text = fmt.Sprintf("runs %s %s, as many as at any time,", wording.Ratio(running), wording.Fit(int(running), w.one, w.them))
	}
	return text + " and " + wording.Ratio(queued) + " " + wording.Fit(int(queued), "waits", "wait")
}

// title is that of the finding on a pool.
func (p *Pool) title() string { return wording.Capital(p.named()) + " " + p.use() }

// courseOf lists the known values: "0, 0, 9, 26, 48".
func courseOfValues(values []*float64) string {
	var words []string
	for _, v := range values {
		if v != nil {
			words = append(words, wording.Ratio(*v))
		}
	}
	if n := len(words); n > mostCourse {
		words = append(append(slices.Clone(words[:mostCourse-1]), "…"), words[n-1])
	}
	return strings.Join(words, ", ")
}

// mostCourse is how many values of a course are listed.
const mostCourse = 8

// saturatedPool is the pool of a series for which most wait, nil without a saturated one.
func (s *Series) saturatedPool() *Pool {
	var out *Pool
	for i := range s.Pools {
		if p := &s.Pools[i]; p.Saturated && (out == nil || lastOf(p.Queued) > lastOf(out.Queued)) {
			out = p
		}
	}
	return out
}

// The limit of the Kubernetes client at which releases of the plugin that have this known fault
// stand, whatever is configured.
const (
	stuckLimit = 64
	stuckEntry = "jenkins-861"
)

// unclog says what to do about a saturated pool.
func (s *Series) unclog(p *Pool) string {
	if p == nil {
		return s.PoolWait.remedyAmong(s.Families)
	}
	remedy := poolWords[p.Name].remedy
	if p.Name != analysis.KubernetesClient || lastOf(p.Limit) != stuckLimit {
		return remedy
	}
	for _, x := range s.Packages {
		if slices.Contains(x.Known, stuckEntry) {
			return fmt.Sprintf("Upgrade the plugin to 1.27.3 or later: 64 calls with %s are JENKINS-58463, whatever is configured. %s", packageWord(x.Name, x.Version), remedy)
		}
	}
	return remedy
}

// saturated is the first series with a saturated pool, -1 without one.
func (d *diagnosing) saturated() int {
	for _, i := range d.r.seriesInOrder() {
		if s := &d.r.Series[i]; s.saturatedPool() != nil || s.PoolWait != nil {
			return i
		}
	}
	return -1
}

// ofPool are the classes of what captures state of a pool.
func (j *JudgedSeries) ofPool(name string) (out []string) {
	for _, s := range j.Snapshots {
		for i := range s.Statements {
			if s.Statements[i].Pool != name {
				continue
			}
			for _, class := range j.stated(s.Statements[i].Key) {
				if !slices.Contains(out, class) {
					out = append(out, class)
				}
			}
		}
	}
	return out
}

// text is how many ran and waited in each capture.
func (p *Pool) text() string {
	limit, held := "and no limit is stated", ""
	if p.LimitStated {
		limit = "of at most " + wording.Ratio(lastOf(p.Limit))
	}
	if p.Held != "" {
		held = fmt.Sprintf("; %d of the last %s are %s", p.HeldBy, poolWords[p.Name].them, p.Held)
	}
	return fmt.Sprintf("It ran %s, %s, while %s waited%s.", courseOfValues(p.Running), limit, courseOfValues(p.Queued), held)
}

// saturations are the findings on the saturated pools.
func (j *JudgedSeries) saturations(families []Family) (out []Finding) {
	if w := j.poolWait(families); w != nil {
		out = append(out, Finding{Kind: SaturatedFinding, Verdict: analysis.Saturated, Families: []string{}, Title: wording.Capital(w.text()), Text: w.proof(), Next: w.remedyAmong(families)})
	}
	for _, p := range j.workPools() {
		if !p.Saturated {
			continue
		}
		out = append(out, Finding{Kind: SaturatedFinding, Verdict: analysis.Saturated, Families: []string{}, Classes: j.ofPool(p.Name),
			Title: p.title(), Text: p.text() + " That is no leak.", Next: poolWords[p.Name].remedy})
	}
	return out
}
