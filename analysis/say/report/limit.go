package report

import (
	"fmt"
	"math"

	"leakdiff/analysis/judge/trend"
	"leakdiff/analysis/say/wording"
)

// LimitState is how near a limit is.
type LimitState string

// A limit is reached from 90 % of its bound on, soon if it will be full within a week, half
// from 50 % on, alone if the kernel counts the use of processes that were not captured beside
// this one, unknown if the captures show a part of the use, and else far.
const (
	LimitReached LimitState = "reached"
	LimitSoon    LimitState = "soon"
	LimitHalf    LimitState = "half"
	LimitAlone   LimitState = "alone"
	LimitUnknown LimitState = "unknown"
	LimitFar     LimitState = "far"
)

// The shares of a bound from which on it is reached or half used, and the time within which
// it will soon be full (answer.md 3).
const (
	reachedShare = 0.9
	halfShare    = 0.5
	soonHours    = 7 * 24
)

// LimitClaim is the limit that an answer names, at its highest use.
type LimitClaim struct {
	State LimitState `json:"state"`
	What  string     `json:"what"`
	Bytes bool       `json:"bytes,omitempty"`
	Used  float64    `json:"used"`
	Bound float64    `json:"bound"`
	// AtLeast reports that Used is a lower bound.
	AtLeast bool `json:"at_least,omitempty"`
	// Peak reports that the use was highest before the last capture.
	Peak bool `json:"at_peak,omitempty"`
	// HoursLeft is the time until it is full, 0 where that is not known.
	HoursLeft float64 `json:"hours_left,omitempty"`
	// Captures reports that it will be full at the next capture, where no times are known.
	NextCapture bool        `json:"full_at_next_capture,omitempty"`
	Scope       trend.Scope `json:"scope,omitempty"`
	// Processes are how many share the use.
	Processes int `json:"processes,omitempty"`
}

// state is how near the bound is. A forecast counts only while the use is near its peak.
func (b *Bound) state() LimitState {
	switch {
	case b.Peak >= reachedShare*b.Bound:
		return LimitReached
	case b.nextCapture() || b.left() <= soonHours && b.Used >= leastUsed*b.Bound:
		return LimitSoon
	case b.Peak > halfShare*b.Bound:
		return LimitHalf
	case b.Scope == trend.OfUser && len(b.Shares) == 0:
		return LimitAlone
	case b.AtLeast:
		return LimitUnknown
	}
	return LimitFar
}

// nextCapture reports, where no times are known, a use that passes the bound at the next
// capture if it rises as much as between the last two.
func (b *Bound) nextCapture() bool {
	if b.PerHour != nil || len(b.Counts) < 2 {
		return false
	}
	last, before := b.Counts[len(b.Counts)-1], b.Counts[len(b.Counts)-2]
	return last != nil && before != nil && *last > *before && *last+(*last-*before) >= b.Bound
}

// nearest is the limit that an answer names: the one that is nearest. It is nil where the
// evidence has none.
func (s *Series) nearest() *LimitClaim {
	var found *Bound
	rank := map[LimitState]int{LimitReached: 0, LimitSoon: 1, LimitHalf: 2, LimitAlone: 3, LimitUnknown: 3, LimitFar: 3}
	for i := range s.Bounds {
		b := &s.Bounds[i]
		if b.Bound <= 0 {
			continue
		}
		nearer := found == nil || rank[b.state()] < rank[found.state()]
		if !nearer && rank[b.state()] == rank[found.state()] {
			nearer = b.Peak/b.Bound > found.Peak/found.Bound
			if b.state() == LimitSoon {
				nearer = b.left() < found.left()
			}
		}
		if nearer {
			found = b
		}
	}
	if found == nil {
		return nil
	}
	out := &LimitClaim{State: found.state(), What: found.What, Bytes: found.Bytes, AtLeast: found.AtLeast, Used: found.Peak, Bound: found.Bound, Peak: found.Peak > found.Used, NextCapture: found.nextCapture(), Scope: found.Scope, Processes: len(found.Shares)}
	if h := found.left(); !math.IsInf(h, 0) {
		out.HoursLeft = h
	}
	if out.State == LimitSoon {
		out.Used, out.Peak = found.Used, false
	}
	return out
}

// noLimit is said where the evidence has no limit.
const noLimit = "none is known from these files"

// text words the limit of an answer in a line.
//
//	reached  at its limit: 61 of 60 open files
//	soon     open files full in 27 s: 618 of 1024
//	half     open files: 640 of 1024 (63 %)
//	unknown  at least 3 of 20 000 open files: not all are listed, take lsof too
//	far      none near: 19 of 20 000 open files
func (l *LimitClaim) text() string {
	if l == nil {
		return noLimit
	}
	text := ""
	switch l.State {
	case LimitReached:
		text = "at its limit: " + l.use()
	case LimitSoon:
		text = l.Chip() + ": " + l.figures()
	case LimitHalf:
		text = fmt.Sprintf("%s: %s (%s)", l.What, l.figures(), wording.Share(l.Used/l.Bound))
	case LimitAlone:
		return l.use() + " by this process alone: the limit counts all processes of its user"
	case LimitUnknown:
		return l.use() + ": not all are listed, take lsof too"
	default:
		text = "none near: " + l.use()
	}
	if l.Processes > 1 {
		whose := "of its user"
		if l.Scope == trend.OfHost {
			whose = "of the host"
		}
		text += fmt.Sprintf(", by %d processes %s", l.Processes, whose)
	}
	if l.Peak {
		text += ", at the peak"
	}
	return text
}

// limitOf words the limit beside growth: when what is far from full now will be full, and that
// inotify instances have a limit which files of one process do not hold.
func (d *diagnosing) limitOf(l answer, claim *LimitClaim) string {
	s := &d.r.Series[l.series]
	lead := s.lead(l.finding)
	switch {
	case !accusing(l.finding.Verdict):
	case (claim == nil || claim.State == LimitFar) && lead != nil && lead.Attributes["name"] == "inotify" && s.bound("inotify instances") == nil:
		return "not captured: often 128 inotify instances for each user"
	case claim != nil && claim.State == LimitFar && !claim.Peak && claim.HoursLeft > 0 && claim.HoursLeft <= soonHours:
		return claim.use() + ", full in " + wording.Span(claim.HoursLeft) + " if that goes on"
	}
	return claim.text()
}

// Chip is the limit in a few words: "open files full in 27 s", "at its limit: open files".
func (l *LimitClaim) Chip() string {
	switch {
	case l.State == LimitSoon && l.NextCapture:
		return l.What + " full at the next capture"
	case l.State == LimitSoon:
		return l.What + " full in " + wording.Span(l.HoursLeft)
	}
	return "at its limit: " + l.What
}

// figures are "618 of 1024", use adds what is used, "618 of 1024 open files".
func (l *LimitClaim) figures() string {
	if l.Bytes {
		return wording.Bytes(int64(l.Used)) + " of " + wording.Bytes(int64(l.Bound))
	}
	text := wording.Number(int64(l.Used)) + " of " + wording.Number(int64(l.Bound))
	if l.AtLeast {
		return "at least " + text
	}
	return text
}

func (l *LimitClaim) use() string {
	if l.Bytes {
		return l.figures() + " of memory"
	}
	return l.figures() + " " + l.What
}
