package evidence

import (
	"fmt"
	"math"
	"strings"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/trend"
	"leakdiff/analysis/say/wording"
)

// Each words one instance of a unit by kind: "12 goroutines, 5 descriptors". It is "" if
// instances cannot be counted.
func Each(u trend.Unit) string {
	if !u.Countable() {
		return ""
	}
	var words []string
	for _, kind := range append(analysis.Kinds(), analysis.KindChild) {
		ratio := 0.0
		for _, f := range u.Families {
			if f.Kind == kind {
				ratio += f.Ratio
			}
		}
		switch {
		case ratio == 1:
			words = append(words, "1 "+string(kind))
		case ratio > 0:
			words = append(words, wording.Decimal(ratio)+" "+wording.Kinds(kind))
		}
	}
	return strings.Join(words, ", ")
}

// ratios writes the shares in the order of the families: "2:1:1".
func ratios(u trend.Unit) string {
	words := make([]string, len(u.Families))
	for i, f := range u.Families {
		words[i] = wording.Decimal(f.Ratio)
	}
	return strings.Join(words, ":")
}

// Unit words a unit: "3 groups grow by the same steps, 1:1:2; +24: 3 goroutines, 1 watch
// each", or "3 groups grow by the same steps, in the ratio 4.3:2.1:1".
func (w Words) Unit(u trend.Unit) string {
	together := fmt.Sprintf("%d groups grow by the same steps", len(u.Families))
	if u.KeptAt >= 0 {
		together = fmt.Sprintf("%d groups keep what they gained, although what grew with them ended at %s", len(u.Families), w.labelOf(u.KeptAt))
	}
	if !u.Countable() {
		return together + ", in the ratio " + ratios(u)
	}
	text := together + ", " + ratios(u)
	for i := len(u.Instances) - 1; i >= 0; i-- {
		if n := u.Instances[i]; n != nil && (u.RecoveredAt < 0 || i < u.RecoveredAt) {
			return text + fmt.Sprintf("; +%s: each time %s", wording.Decimal(math.Round(*n)), Each(u))
		}
	}
	return text
}

// Onset words when a growth began, and the events in that time: "began between t1 and t3; in
// that time: deploy 1.4 at 2026-11-21 03:12:00Z".
func (w Words) Onset(o trend.Onset) string {
	var windows, events []string
	for _, x := range o.Joined() {
		windows = append(windows, fmt.Sprintf("between %s and %s", w.labelOf(x.From), w.labelOf(x.To)))
		for _, e := range x.Events {
			events = append(events, w.Event(e)+" at "+wording.EventTime(e.At))
		}
	}
	text := w.began(o, windows)
	if !o.Oldest.IsZero() {
		text += "; the oldest member that stayed is from " + wording.Minute(o.Oldest)
	}
	if len(events) > 0 {
		text += "; in that time: " + wording.Commas(events, 5)
	}
	return text
}

func (w Words) began(o trend.Onset, windows []string) string {
	if len(o.Windows) == 0 {
		return "began before the first snapshot"
	}
	first, last := o.Windows[0], o.Windows[len(o.Windows)-1]
	switch {
	case o.Before && o.Evenly && len(o.Windows) > 2:
		return "began before " + w.labelOf(first.To) + ", perhaps before " + w.labelOf(first.From) + ": as many came in the first interval as later"
	case o.Whole:
		return "cannot be dated by its counts: it may have begun anywhere between " + w.labelOf(first.From) + " and " + w.labelOf(last.To)
	case o.Before:
		return "began before " + w.labelOf(last.To) + ", perhaps before " + w.labelOf(first.From) + ": it was as fast in the first interval as later"
	case len(o.Windows) == 1:
		return "began " + windows[0]
	}
	return "began " + wording.Commas(windows, 4) + " (95 % of the probability)"
}

// Event words an event: "deploy build 7", "restart before t2", "version 1.3 to 1.4".
func (w Words) Event(e trend.Event) string {
	switch {
	case e.Shown == nil:
		return e.Kind + " " + e.Text
	case e.Shown.Is == "":
		return e.Kind + " before " + w.labelOf(e.Shown.Before)
	}
	return e.Kind + " " + e.Shown.Was + " to " + e.Shown.Is
}

// Limit words a limit: "open files: 812 of 1024 (79 %); at +40/h (95 % interval +31/h to
// +52/h) full in 5 h 18 min (4 h 5 min to 6 h 50 min)".
func Limit(l trend.Limit) string {
	atLeast := ""
	if l.AtLeast {
		atLeast = "at least "
	}
	text := fmt.Sprintf("%s: %s%s of %s (%s)", l.What, atLeast, wording.Decimal(l.Used), wording.Decimal(l.Bound), wording.Share(l.Used/l.Bound))
	switch {
	case !l.Known:
		return text + "; the snapshots tell no rate"
	case l.Used >= l.Bound:
		return text + ": full"
	case math.IsInf(l.Hours, 1):
		return text + "; does not rise"
	}
	text += fmt.Sprintf("; at +%s/h (95 %% interval %s/h to %s/h) full in %s", wording.Decimal(l.Rate), signed(l.RateLow), signed(l.RateHigh), timeLeft(l.Hours))
	if math.IsInf(l.HoursHigh, 1) {
		text += fmt.Sprintf(" (%s at the earliest)", timeLeft(l.HoursLow))
	} else {
		text += fmt.Sprintf(" (%s to %s)", timeLeft(l.HoursLow), timeLeft(l.HoursHigh))
	}
	if l.Scope == trend.OfUser || l.Scope == trend.OfHost {
		text += ", sooner where others of the same user use them too"
	}
	return text
}

func signed(v float64) string {
	if v > 0 {
		return "+" + wording.Decimal(v)
	}
	return wording.Decimal(v)
}

// timeLeft words hours. More than ten years is no forecast.
func timeLeft(h float64) string {
	if h > 10*365*24 {
		return "more than 10 years"
	}
	return wording.Duration(time.Duration(h * float64(time.Hour)))
}

// Reasons words why a family may hold what another waits for.
func (w Words) Reasons(why []analysis.Evidence) []string {
	out := make([]string, len(why))
	for i, e := range why {
		out[i] = w.suspect(e)
	}
	return out
}

func (w Words) suspect(e analysis.Evidence) string {
	holder := analysis.LockHolder{}
	if len(e.Holders) > 0 {
		holder = e.Holders[0]
	}
	switch e.Form {
	case "in_object":
		text := fmt.Sprintf("goroutine %d is in %s, a method of the object whose lock %d goroutines wait for", holder.Goroutine, holder.Of, e.N)
		if holder.Children > 0 {
			text += ", and has " + wording.Plural(holder.Children, "child", "children")
		}
		return text
	case "child":
		return fmt.Sprintf("%d of them may have been started by goroutine %d", e.N, holder.Goroutine)
	case "several_in_object":
		return fmt.Sprintf("several are inside an object whose lock %d goroutines wait for", e.N)
	case "same_type":
		return "is in methods of " + andMore(e.Names, e.N) + " as well"
	case "same_creator":
		return "was started by " + name(e, 0) + " as well"
	}
	return "does not grow, was not there before " + w.label(e.At)
}
