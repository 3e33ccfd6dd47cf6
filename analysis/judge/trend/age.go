package trend

import (
	"slices"
	"strings"
	"time"

	"leakdiff/analysis"
)

// ages are the ages of the members in the last dump. Uniform ages suggest a leak, one
// full bin a burst, exponential ages churn.
type ages struct {
	// at is the snapshot. known reports whether it shows ages at all.
	at    int
	known bool
	// members is the count. kept are the members that are old enough and did not come
	// with the start of the process.
	members, kept int
	// In hours. least is the age from which members are kept.
	uptime, least, oldest, middle float64
	// largest is the share of the fullest of twelve bins. filled is the number of bins
	// in use. younger is the share of members younger than half of the oldest.
	largest, younger float64
	filled           int
	holds            bool
}

// The least ages that count, in hours. The shares of uptime apply to kinds whose ages
// are known to the second.
const (
	leastAge      = 0.5
	leastOldest   = 2
	leastAgeShare = 0.02
)

// The thresholds of ages. The fullest of ageBins bins may hold fullestBin of them, and
// leastBins must be in use. Half of the members must be older than leastMiddle of the
// oldest, and leastYounger younger than half of it.
const (
	ageBins      = 12
	fullestBin   = 0.5
	leastBins    = 4
	leastMiddle  = 0.30
	leastYounger = 0.2
)

// measureAges measures the ages at the last point of the part.
func (p *part) measureAges(buf *buffers) ages {
	run := p.lastRun()
	if len(run) == 0 {
		return ages{}
	}
	last := run[len(run)-1]
	hours, exact := p.agesAt(last.index, buf.ages[:0])
	buf.ages = hours
	a := ages{at: last.index, known: len(hours) > 0, members: last.count}
	if !a.known {
		return a
	}
	if a.uptime = p.series.uptime(last.index, p.family.Kind, hours); a.uptime <= 0 {
		return a
	}
	floor, oldest := leastAge, max(leastOldest, 0.25*a.uptime)
	if exact {
		floor, oldest = leastAgeShare*a.uptime, 0.25*a.uptime
	}
	a.least = floor
	kept := hours[:0]
	for _, h := range hours {
		if h >= floor && h <= 0.95*a.uptime {
			kept = append(kept, h)
		}
	}
	a.judge(kept, floor, oldest)
	return a
}

// judge spreads the kept ages over twelve equal bins, from the floor to the oldest.
func (a *ages) judge(kept []float64, floor, leastOldest float64) {
	a.kept = len(kept)
	if a.kept < 10 || 20*a.kept < a.members {
		return
	}
	a.oldest = slices.Max(kept)
	a.middle = median(kept)
	var bins [ageBins]int
	young := 0
	for _, h := range kept {
		bin := 0
		if a.oldest > floor {
			bin = min(ageBins-1, int((h-floor)/(a.oldest-floor)*ageBins))
		}
		bins[bin]++
		if 2*h < a.oldest {
			young++
		}
	}
	for _, n := range bins {
		if n > 0 {
			a.filled++
		}
		a.largest = max(a.largest, float64(n)/float64(a.kept))
	}
	a.younger = float64(young) / float64(a.kept)
	a.holds = a.oldest >= leastOldest && a.largest <= fullestBin && a.filled >= leastBins && a.middle >= leastMiddle*a.oldest && a.younger >= leastYounger
}

// agesAt appends the ages of the members of snapshot i in hours. It appends none if the
// kind shows no ages or if the family wakes on timers. exact reports that the ages are
// finer than whole minutes.
func (p *part) agesAt(i int, hours []float64) (out []float64, exact bool) {
	group := p.series.groups[p.family.Fingerprint][i]
	if group == nil {
		return hours, false
	}
	if i < len(p.series.in.Elapsed) {
		for _, h := range p.series.in.Elapsed[i][p.family.Fingerprint] {
			if h >= 0 {
				hours = append(hours, h)
			}
		}
		if len(hours) > 0 {
			return hours, true
		}
	}
	if p.family.Kind != analysis.KindGoroutine || wakesOnTimers(group) {
		return hours, false
	}
	hours = slices.Grow(hours, group.Members.Len())
	for minutes := range group.Members.Waits() {
		// Below one minute nothing is printed.
		hours = append(hours, float64(max(0, minutes))/60)
	}
	return hours, false
}

// wakesOnTimers reports a family whose waits restart at every tick.
func wakesOnTimers(group *analysis.Group) bool {
	if group.States["sleep"] > 0 {
		return true
	}
	loose := group.Family.Loose
	return len(loose) > 0 && strings.HasSuffix(loose[0], "time.Sleep")
}

// uptime is the age of the process at snapshot i in hours. For goroutines it comes from
// the metrics or the start time, else from the oldest goroutine or the first snapshot
// of the epoch. For other kinds it comes from the oldest member.
func (s *Series) uptime(i int, kind analysis.Kind, hours []float64) float64 {
	at := s.takenAt(i, kind)
	if !at.IsZero() {
		if began, ok := s.began(i); ok && at.After(began) {
			return at.Sub(began).Hours()
		}
	}
	oldest := s.oldest[i]
	for _, h := range hours {
		oldest = max(oldest, h)
	}
	if first := s.takenAt(s.starts[i], kind); !first.IsZero() && !at.IsZero() {
		oldest = max(oldest, at.Sub(first).Hours())
	}
	return oldest
}

// oldestWaits returns, for each snapshot, the longest wait of a goroutine in hours and
// the first snapshot of its epoch.
func (s *Series) oldestWaits() (oldest []float64, starts []int) {
	oldest, starts = make([]float64, len(s.Snapshots)), make([]int, len(s.Snapshots))
	for i, snap := range s.Snapshots {
		starts[i] = i
		if i > 0 && s.Epochs[i] == s.Epochs[i-1] {
			starts[i] = starts[i-1]
		}
		for g := range snap.Groups {
			if group := &snap.Groups[g]; group.Family.Kind == analysis.KindGoroutine {
				oldest[i] = max(oldest[i], float64(group.OldestWait)/60)
			}
		}
	}
	return oldest, starts
}

// began is the time at which the process of snapshot i started. ok is false if the
// snapshot has no date for it.
func (s *Series) began(i int) (time.Time, bool) {
	snap := s.Snapshots[i]
	if seconds := snap.Figures[startFigure]; seconds > 0 {
		return time.UnixMilli(int64(seconds * 1000)).UTC(), true
	}
	at, err := time.Parse(time.RFC3339, snap.Process.Start.Value)
	return at, err == nil
}

func ageEvidence(p *part, s *signals) []analysis.Evidence {
	a := s.ages
	if !a.known || a.oldest == 0 || s.fit.n > 0 && a.oldest < leastAge {
		return nil
	}
	return one(analysis.Evidence{
		Rule: ruleAges, Form: a.form(), At: new(a.at), N: a.kept, Of: a.members, Unit: analysis.PerHour,
		Figures: map[analysis.Figure]float64{
			"least": a.least, "uptime": a.uptime, "oldest": a.oldest, "middle": a.middle, "classes": float64(a.filled), "largest": a.largest,
		},
	})
}

// form names the rule of ages that does not hold.
func (a ages) form() analysis.Form {
	switch {
	case a.holds:
		return "all_along"
	case a.largest > fullestBin || a.filled < leastBins:
		return "at_once"
	case a.middle < leastMiddle*a.oldest:
		return "few_old"
	case a.younger < leastYounger:
		return "none_lately"
	default:
		return "too_young"
	}
}

func hoursLong(h float64) time.Duration { return time.Duration(h * float64(time.Hour)) }
