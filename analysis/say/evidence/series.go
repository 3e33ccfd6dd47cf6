package evidence

import (
	"fmt"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/trend"
	"leakdiff/analysis/say/wording"
)

// series words the course of the counts and their statistics: "9 snapshots over 9 min 5 s:
// rose by 48, from 0 (t0) to 48 (t8); typical rate +310/h".
func (w Words) series(e analysis.Evidence) string {
	where, epochs := "", int(e.Figures["epochs"])
	if epochs > 0 {
		where = fmt.Sprintf(" in %d epochs", epochs)
	}
	text := fmt.Sprintf("%s%s over %s: ", wording.Plural(e.N, "snapshot", "snapshots"), where, lasting(e, "span"))
	for i, c := range e.Courses {
		if i > 0 {
			text += "; "
		}
		text += w.course(c)
	}
	if more := epochs - len(e.Courses); more > 0 {
		text += fmt.Sprintf(" and %d more epochs", more)
	}
	return text + significance(e)
}

// course words one epoch: "grew by 40, from 0 (t0) to 40 (t1)".
func (w Words) course(c analysis.Course) string {
	ends := fmt.Sprintf("from %d (%s) to %d (%s)", c.First, w.labelOf(c.From), c.Last, w.labelOf(c.To))
	switch rise := c.Last - c.First; {
	case rise > 0 && c.Counts == 2:
		return fmt.Sprintf("grew by %d, %s", rise, ends)
	case rise > 0:
		return fmt.Sprintf("rose by %d, %s", rise, ends)
	case rise < 0:
		return fmt.Sprintf("fell by %d, %s", -rise, ends)
	case c.Lowest == c.Highest:
		return fmt.Sprintf("%d in all", c.First)
	}
	return fmt.Sprintf("%d at both ends (%s and %s), between %d and %d", c.First, w.labelOf(c.From), w.labelOf(c.To), c.Lowest, c.Highest)
}

// significance words the statistics of the counts.
func significance(e analysis.Evidence) string {
	slope, p := rate(e.Figures["slope"], e.Unit), chance(e.Figures["p"])
	gate := wording.Decimal(e.Figures["gate"])
	switch e.Form {
	case "perhaps_noise":
		return "; not distinguishable from noise"
	case "noise":
		return "; within noise"
	case "noise_alone":
		return "; the counts alone would be within noise"
	case "below_gate", "below_gate_alone":
		text := "; within noise"
		if e.Form == "below_gate_alone" {
			text = "; the counts alone would be within noise"
		}
		return text + fmt.Sprintf(": the typical rate %s would make %s in %s, and a change counts from %s on", slope,
			wording.Decimal(e.Figures["growth"]), lasting(e, "growth_span"), gate)
	case "trend":
		return fmt.Sprintf("; %s, %s", rates(e), p)
	case "one_step":
		return fmt.Sprintf("; %s, %s; it rose in one step", rates(e), p)
	case "unsteady":
		return fmt.Sprintf("; no steady growth: between most snapshots it is %s, and a change counts from %s on", slope, gate)
	case "levelled":
		return fmt.Sprintf("; typical rate %s, %s, but the newer half hardly moves", slope, p)
	case "unproven":
		return fmt.Sprintf("; typical rate %s, not distinguishable from noise (%s)", slope, p)
	}
	return ""
}

// rates words the typical rate between two snapshots and, if the change was uneven, that of
// the whole change over the whole span.
func rates(e analysis.Evidence) string {
	typical := fmt.Sprintf("%s (95 %% interval %s to %s)", rate(e.Figures["slope"], e.Unit), rate(e.Figures["low"], e.Unit), rate(e.Figures["high"], e.Unit))
	if overall, uneven := e.Figures["overall"]; uneven {
		return fmt.Sprintf("%s on the whole, but unevenly: %s between most snapshots", rate(overall, e.Unit), typical)
	}
	return "typical rate " + typical
}

// load words how a count stands to a load.
func (w Words) load(e analysis.Evidence) string {
	first, last := wording.Decimal(e.Figures["first"]), wording.Decimal(e.Figures["last"])
	if len(e.Names) > 1 {
		return w.loadRate(e, fmt.Sprintf("from %s to %s per second", first, last))
	}
	if e.Form == "follows" {
		return follows(e)
	}
	if e.Form == "explains" {
		return fmt.Sprintf("%s for each unit of %s, which went from %s to %s: within 15 %% of that in every snapshot", wording.Decimal(e.Figures["factor"]), name(e, 0), first, last)
	}
	text := fmt.Sprintf("%s went from %s to %s and does not explain it", name(e, 0), first, last)
	if first == last {
		text = fmt.Sprintf("%s is %s at both ends and does not explain it", name(e, 0), first)
	}
	growth := map[analysis.Form]string{
		"other_but_level": "no growth beyond noise",
		"other_may_grow":  "perhaps a growth of its own",
		"other_and_grows": "a growth of its own",
	}[e.Form]
	if growth != "" {
		text += fmt.Sprintf("; per unit of it, at the typical load, the typical rate is %s: %s", rate(e.Figures["slope"], e.Unit), growth)
	}
	return text
}

// follows words a gauge of the program that may be the load of what is in proportion to it.
//
//	follows app_tenants 1:1 in 10 of 10: if there are that many tenants, it is load
func follows(e analysis.Evidence) string {
	gauge, proportion := name(e, 0), wording.Decimal(e.Figures["factor"])+":1"
	what := ""
	if last := gauge[strings.LastIndexByte(gauge, '_')+1:]; len(last) > 2 && strings.HasSuffix(last, "s") {
		what = " " + last
	}
	return fmt.Sprintf("follows %s %s in %d of %d: if there are that many%s, it is load", gauge, proportion, e.N, e.N, what)
}

// loadRate words how a count stands to the rate of a counter.
func (w Words) loadRate(e analysis.Evidence, went string) string {
	unit := name(e, 1)
	if e.Form == "explains" {
		return fmt.Sprintf("%s, which went %s: within chance of that in every snapshot with a known rate", w.PerLoad(e), went)
	}
	text := fmt.Sprintf("the %ss (%s) went %s and do not explain it", unit, name(e, 0), went)
	if e.Form == "other_and_stay" {
		text += fmt.Sprintf(": a %s that has ended leaves nothing behind, and these stay", unit)
	}
	return text
}

// PerLoad words how many there are for the rate of a counter that explains them, so that the
// figure is at least 1. It is "" for other evidence.
//
//	3 goroutines for each request per second (http_requests_total)
//	1 goroutine for every 25 requests per second (http_requests_total)
func (w Words) PerLoad(e analysis.Evidence) string {
	if e.Rule != "load" || e.Form != "explains" || len(e.Names) < 2 {
		return ""
	}
	factor, counter, unit := e.Figures["factor"], name(e, 0), name(e, 1)
	if factor > 0 && factor < 1 {
		return fmt.Sprintf("1 %s for every %s %ss per second (%s)", w.One, wording.Decimal(1/factor), unit, counter)
	}
	noun := w.Many
	if factor == 1 {
		noun = w.One
	}
	return fmt.Sprintf("%s %s for each %s per second (%s)", wording.Decimal(factor), noun, unit, counter)
}

// loadOf names the load of evidence in a sentence.
func loadOf(e analysis.Evidence) string {
	switch len(e.Names) {
	case 0:
		return "the load of its unit"
	case 1:
		return name(e, 0)
	}
	return fmt.Sprintf("the rate of %ss (%s)", name(e, 1), name(e, 0))
}

// Visible is the sentence for a series without growth: "In 12 snapshots, 3 h, a rise of 4 an hour
// would have been seen".
func Visible(v trend.Visible) string {
	pace := func(slope float64) string {
		if v.Unit == analysis.PerSnapshot {
			return wording.Decimal(slope) + " per snapshot"
		}
		figure, unit := wording.PaceAs(slope, v.Slope)
		return figure + " " + unit
	}
	text := fmt.Sprintf("In %s, %s, a rise of %s would have been seen", wording.Plural(v.Snapshots, "snapshot", "snapshots"), length(v.Span, v.Unit), pace(v.Slope))
	if v.LargestSlope > 1.2*v.Slope {
		text += fmt.Sprintf(", in the largest group, of %d, one of %s", v.Largest, pace(v.LargestSlope))
	}
	return text
}
