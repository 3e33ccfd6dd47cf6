package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"leakdiff/analysis"
)

// Functions in the stack of a goroutine that waits for another process, and of one that
// works for another process.
var (
	calling = []string{
		"google.golang.org/grpc.(*ClientConn).Invoke", "google.golang.org/grpc.(*clientStream).", "google.golang.org/grpc.newClientStream",
		"github.com/containerd/ttrpc.(*Client).Call", "github.com/containerd/ttrpc.(*Client).dispatch",
		"net/http.(*Client).do", "net/http.(*persistConn).roundTrip", "net/http.(*Transport).roundTrip", "net/rpc.(*Client).Call",
	}
	serving = []string{
		"google.golang.org/grpc.(*Server).", "github.com/containerd/ttrpc.(*serverConn).", "net/http.(*conn).serve", "net/http.(*Server).Serve",
		"net/rpc.(*Server).",
	}
)

// sameRound is how far apart the snapshots of two processes may be to show one moment,
// if their labels do not decide.
const sameRound = 30 * time.Second

// between joins growths of two processes: both rise in lockstep (the rule of
// trend.Unit), one side is inside outgoing calls, and the other serves calls. Counts
// alone would join any two steady growths, so stacks are required. It names no cause:
// the process that opened a stream and never ended it holds the one that serves it, and
// counts do not show which.
func between(all []SeriesJudgement) {
	together := map[*Finding][]string{}
	for a := range all {
		for b := range all {
			if a == b || !all[a].calls() || !all[b].serves() || !sameHost(&all[a], &all[b]) {
				continue
			}
			x, y := &all[a].Series, &all[b].Series
			rounds := roundsOf(all[a].Snapshots, all[b].Snapshots)
			for i := range x.Findings {
				if !all[a].Growths[i].Calling {
					continue
				}
				caller := &x.Findings[i]
				for k := range y.Findings {
					server := &y.Findings[k]
					if all[b].Growths[k].Serving && inStep(caller.Counts, server.Counts, rounds) {
						together[caller] = append(together[caller], leadTitle(y, server)+" in "+y.Process)
						together[server] = append(together[server], leadTitle(x, caller)+" in "+x.Process)
					}
				}
			}
		}
	}
	for f, others := range together {
		f.risesWith(others)
	}
}

func (s *SeriesJudgement) calls() bool {
	return slices.ContainsFunc(s.Growths, func(g Growth) bool { return g.Calling })
}

func (s *SeriesJudgement) serves() bool {
	return slices.ContainsFunc(s.Growths, func(g Growth) bool { return g.Serving })
}

// mostTogether is how many findings of other processes a finding names.
const mostTogether = 3

// risesWith adds the findings of other processes that rise together with this one.
func (f *Finding) risesWith(others []string) {
	held := "the other"
	if len(others) > 1 {
		held = "the others"
	}
	if more := len(others) - mostTogether; more > 0 {
		others = append(others[:mostTogether:mostTogether], fmt.Sprintf("%d more", more))
	}
	text := "rises together with " + strings.Join(others, ", ") + "; which of them holds " + held + " is not known from these captures"
	f.Text += " " + sentence(text)
	// It comes first: it names another process, which no figure does.
	f.Evidence = append([]analysis.Evidence{{Rule: "across_processes", Text: text}}, f.Evidence...)
}

func leadTitle(s *Series, f *Finding) string {
	for i := range s.Families {
		if s.Families[i].Fingerprint == f.Families[0] {
			return s.Families[i].Title
		}
	}
	return f.Title
}

func (f *Finding) rises() bool {
	return (f.Kind == "" || f.Kind == FollowFinding) && rising(f.Verdict) && len(f.Families) > 0 && len(f.Counts) > 0
}

func sameHost(a, b *SeriesJudgement) bool {
	return a.Series.Host == nil || b.Series.Host == nil || *a.Series.Host == *b.Series.Host
}

// roundsOf pairs the snapshots of two series that show one moment.
func roundsOf(a, b []Snapshot) (out [][2]int) {
	from := 0
	for i, x := range a {
		for k := from; k < len(b); k++ {
			y := b[k]
			timed := x.CapturedAt != nil && y.CapturedAt != nil
			apart := time.Duration(0)
			if timed {
				apart = x.CapturedAt.Sub(*y.CapturedAt).Abs()
			}
			if timed && apart <= sameRound || x.Label != "" && x.Label == y.Label && (!timed || apart <= 10*time.Minute) {
				out, from = append(out, [2]int{i, k}), k+1
				break
			}
		}
	}
	return out
}

// inside reports a finding with a family whose members are all within one of the
// functions, or were started by it.
func (j *JudgedSeries) inside(f *Finding, functions []string) bool {
	known := func(name string) bool {
		return slices.ContainsFunc(functions, func(known string) bool { return strings.HasPrefix(name, known) })
	}
	for _, print := range f.Families {
		g := j.largest(print)
		if g == nil || len(g.Variants) == 0 {
			continue
		}
		all := true
		for _, v := range g.Variants {
			all = all && v.Stack != nil && (known(v.Stack.CreatedBy.Func) || slices.ContainsFunc(v.Stack.Frames, func(f analysis.Frame) bool { return known(f.Func) }))
		}
		if all {
			return true
		}
	}
	return false
}

// largest is the group of a family in the snapshot with its most members.
func (j *JudgedSeries) largest(print string) (out *analysis.Group) {
	for _, g := range j.Trend.Groups(print) {
		if g != nil && (out == nil || g.Count > out.Count) {
			out = g
		}
	}
	return out
}

// inStep reports two counts that rise together at a constant ratio, over at least four
// moments up to the first fall of one of them.
func inStep(a, b []*int, rounds [][2]int) bool {
	var x, y []float64
	for _, r := range rounds {
		m, n := a[r[0]], b[r[1]]
		if m == nil || n == nil {
			continue
		}
		if k := len(x) - 1; k >= 0 && (float64(*m) < x[k]/2 || float64(*n) < y[k]/2) {
			break // the cause went away, or a restart
		}
		x, y = append(x, float64(*m)), append(y, float64(*n))
	}
	if len(x) < 4 {
		return false
	}
	last := len(x) - 1
	riseX, riseY := x[last]-x[0], y[last]-y[0]
	if riseX < 8 || riseY < 8 {
		return false
	}
	allowed := max(2, 0.05*riseY)
	for k := range x {
		if math.Abs((y[k]-y[0])-riseY/riseX*(x[k]-x[0])) > allowed {
			return false
		}
	}
	return true
}
