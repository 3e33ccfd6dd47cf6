package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"leakdiff/analysis/judge/trend"
	"leakdiff/analysis/say/wording"
)

// The kernel counts inotify instances, watches and tasks for each user, and some limits for
// the whole host. What one process uses of such a bound says nothing: three processes with 38
// of 128 instances each have used 114.

// sameMoment is how far apart the captures of two processes may lie that count as one.
const sameMoment = 2 * time.Minute

// shareBounds adds up what the processes of one user or host use of a bound that the kernel
// counts together. Where the user of a process is not known its use stands alone.
func shareBounds(series []SeriesJudgement, names []string) {
	together := map[[4]string][]int{}
	var order [][4]string
	for i := range series {
		for k := range series[i].Series.Bounds {
			key, ok := series[i].sharing(&series[i].Series.Bounds[k])
			if !ok {
				continue
			}
			if together[key] == nil {
				order = append(order, key)
			}
			together[key] = append(together[key], i)
		}
	}
	for _, key := range order {
		if of := together[key]; len(of) > 1 {
			addUp(series, names, of, key[0])
		}
	}
}

// sharing names the group of processes that a bound counts together: by its resource, its
// height, the host and the user.
func (s *SeriesJudgement) sharing(b *Bound) (key [4]string, ok bool) {
	host := ""
	if s.Series.Host != nil {
		host = *s.Series.Host
	}
	key = [4]string{b.What, fmt.Sprint(b.Bound), host}
	switch b.Scope {
	case trend.OfHost:
		return key, true
	case trend.OfUser:
		key[3] = s.Owner
		return key, s.Owner != ""
	}
	return key, false
}

// addUp gives the bound of each process of a group the use of all of them, and the finding on
// it to the one that uses most.
func addUp(series []SeriesJudgement, names []string, of []int, what string) {
	own := make([]Bound, len(of))
	shares := make([]BoundShare, len(of))
	for n, i := range of {
		own[n] = *series[i].Series.bound(what)
		shares[n] = BoundShare{Process: names[i], Series: i, Used: own[n].Used}
	}
	slices.SortStableFunc(shares, func(a, b BoundShare) int { return cmp.Compare(b.Used, a.Used) })
	for n, i := range of {
		b := series[i].Series.bound(what)
		b.Shares, b.Counts, b.Used, b.Peak = shares, slices.Clone(b.Counts), 0, 0
		for at, count := range own[n].Counts {
			if count == nil {
				continue
			}
			sum := 0.0
			for m, k := range of {
				sum += usedAt(&series[k], &own[m], series[i].Snapshots, at)
			}
			b.Counts[at], b.Used, b.Peak = &sum, sum, max(b.Peak, sum)
		}
	}
	for _, i := range of {
		b := series[i].Series.bound(what)
		for _, k := range of {
			if rest := series[k].Snapshots; series[i].goneBy(rest[:len(rest)-1]) {
				b.Used = series[k].Series.bound(what).Used // what those use that are left
			}
		}
		b.PerHour, b.HoursLeft = jointPace(own, b.Bound-b.Used)
		b.Text = b.sharedText()
		findings := &series[i].Series.Findings
		*findings = slices.DeleteFunc(*findings, func(f Finding) bool { return f.Limit == what })
		series[i].Growths = series[i].Growths[:min(len(series[i].Growths), len(*findings))]
		if i == shares[0].Series && b.presses() {
			f := b.finding()
			f.Rank, f.Stack = len(*findings)+1, []StackFrame{}
			*findings, series[i].Growths = append(*findings, f), append(series[i].Growths, Growth{})
		}
	}
}

// bound is the one of a resource, nil without it.
func (s *Series) bound(what string) *Bound {
	for i := range s.Bounds {
		if s.Bounds[i].What == what {
			return &s.Bounds[i]
		}
	}
	return nil
}

// goneBy reports that the last capture of a process is among captures of another one, each of
// which has a later one: there the process was looked for and is no more.
func (s *SeriesJudgement) goneBy(before []Snapshot) bool {
	last := s.Snapshots[len(s.Snapshots)-1].Label
	return slices.ContainsFunc(before, func(x Snapshot) bool { return x.Label == last })
}

// usedAt is what a process used at the moment of snapshot at of another one: in the snapshot of
// the same name, else in the last one before it, 0 where none was. A process that stood in
// captures of the other one and stands in no later ones is gone, and uses nothing.
func usedAt(s *SeriesJudgement, b *Bound, others []Snapshot, at int) float64 {
	used, moment := 0.0, &others[at]
	if s.goneBy(others[:at]) {
		return 0
	}
	for i := range s.Snapshots {
		if b.Counts[i] == nil {
			continue
		}
		x := &s.Snapshots[i]
		if x.ID == moment.ID || x.Label == moment.Label {
			return *b.Counts[i]
		}
		if x.CapturedAt != nil && moment.CapturedAt != nil && !x.CapturedAt.After(moment.CapturedAt.Add(sameMoment)) {
			used = *b.Counts[i]
		}
	}
	return used
}

// jointPace adds up the rates of several processes, and divides by them what is left. Both are nil
// where a rate is missing or nothing rises.
func jointPace(of []Bound, left float64) (perHour, hoursLeft *[3]float64) {
	var sum [3]float64
	for i := range of {
		if of[i].PerHour == nil {
			return nil, nil
		}
		for k, v := range of[i].PerHour {
			sum[k] += v
		}
	}
	if sum[1] <= 0 {
		return &sum, nil
	}
	left = max(0, left)
	return &sum, &[3]float64{left / sum[0], left / sum[2], left / sum[1]}
}

// whose says whose processes share a bound.
func (b *Bound) whose() string {
	if b.Scope == trend.OfHost {
		return "of this host"
	}
	return "of one user"
}

// sharedText words the use of a bound that several processes share.
func (b *Bound) sharedText() string {
	text := fmt.Sprintf("%s: %s of %s (%s), by %s %s", b.What, wording.Decimal(b.Used), wording.Decimal(b.Bound), wording.Share(b.Used/b.Bound), wording.Plural(len(b.Shares), "process", "processes"), b.whose())
	if b.HoursLeft != nil && !math.IsInf(b.HoursLeft[0], 0) {
		text += "; full in " + wording.Span(b.HoursLeft[0])
	}
	return text
}
