// Package evidence makes the sentences of what analysis/judge measured. It takes evidence as
// figures, the labels of the snapshots and the words for what is counted, and returns
// sentences without a capital and without a full stop. It computes nothing.
package evidence

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/knowledge"
	"leakdiff/analysis/judge/trend"
	"leakdiff/analysis/say/wording"
)

// Words are what a sentence needs beside the figures.
type Words struct {
	// Labels are those of the snapshots of the series.
	Labels []string
	// One and Many name what is counted: goroutine and goroutines.
	One, Many string
}

// Text is the sentence of one piece of evidence. It is "" for a rule that has no sentence
// here.
func (w Words) Text(e analysis.Evidence) string {
	switch e.Rule {
	case "leaked_mark":
		return fmt.Sprintf("the runtime marked %s as leaked at %s: nothing that can still run can wake them", w.counted(e.N), w.label(e.At))
	case "memory":
		return fmt.Sprintf("was leaking at %s; %d of the %d %s that proved it are still there", w.label(e.At), e.N, e.Of, w.Many)
	case "turnover":
		return w.turnover(e)
	case "stopped":
		return w.stopped(e)
	case "series":
		return w.series(e)
	case "load":
		return w.load(e)
	case "rose_once":
		return w.roseOnce(e)
	case "ages":
		return w.ages(e)
	case "cohort":
		return w.cohort(e)
	case "passing":
		if e.Form == "none_left" { // three expected, and none seen, has a chance of 5 %
			return fmt.Sprintf("of %d that came by %s none is there; a leak of 1 in %d would have been seen", e.Of, w.label(e.At), e.Of/3)
		}
		return fmt.Sprintf("more at a time, but none stays: %d of %d that came were there at the next snapshot; load or latency, no leak", e.N, e.Of)
	case "emptied":
		return fmt.Sprintf("something ended nearly all of them before: %s; not above that level again", w.fall(e))
	case "returned":
		return fmt.Sprintf("back at %d after the restart; %d stood before it", e.N, e.Of)
	case "batches":
		return fmt.Sprintf("came in %s: a pool that is resized looks the same", wording.Plural(e.N, "batch", "batches"))
	case "survivors":
		return w.survivors(e)
	case "window":
		return window(e)
	case "labels":
		return w.labelled(e)
	case "plateau":
		return w.plateau(e)
	case "objects":
		return w.objects(e)
	case "presence":
		return w.presence(e)
	case "retained":
		return fmt.Sprintf("keeps what it gained: %d more than at %s are there at %s, although what rose with it went away at %s", e.N, w.label(e.From), w.label(e.To), w.label(e.At))
	case "unit":
		return inStep(e)
	case "recovery":
		return w.recovery(e)
	case "missing":
		return w.missing(e)
	case "span":
		return shortSpan(e)
	case "decides":
		return w.decides(e)
	case trend.RuleSuspect:
		return w.suspect(e)
	case knowledge.RuleNormal:
		return normal(e)
	case knowledge.RuleKnown:
		return known(e)
	case knowledge.RuleAside:
		return setAside(e)
	}
	return ""
}

// label names a snapshot: its own label, else "#3" for the third.
func (w Words) label(at *int) string {
	if at == nil {
		return ""
	}
	return w.labelOf(*at)
}

func (w Words) labelOf(at int) string {
	if at < len(w.Labels) && w.Labels[at] != "" {
		return w.Labels[at]
	}
	return "#" + strconv.Itoa(at+1)
}

// labels lists the snapshots of the points, and counts the others of all.
func (w Words) labels(points []analysis.Point, all int) string {
	words := make([]string, len(points))
	for i, p := range points {
		words[i] = w.labelOf(p.At)
	}
	return andMore(words, all)
}

// andMore lists words, and counts those of all that are not among them: "t1, t2 and 3 more".
func andMore(words []string, all int) string {
	text := strings.Join(words, ", ")
	if more := all - len(words); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

func (w Words) counted(n int) string { return wording.Plural(n, w.One, w.Many) }

func (w Words) turnover(e analysis.Evidence) string {
	if e.Form == "counts" {
		return fmt.Sprintf("%d more by the counts; without identities it is not known who came and who left", e.N)
	}
	text := fmt.Sprintf("%s new, %s gone", whole(e, "new"), whole(e, "gone"))
	if e.Of > 0 {
		text += fmt.Sprintf(", %d of %d still there", e.N, e.Of)
	}
	for i, p := range e.Points {
		if i == 0 {
			text += fmt.Sprintf("; %d came until %s", p.N, w.labelOf(p.At))
			continue
		}
		text += fmt.Sprintf(", %d until %s", p.N, w.labelOf(p.At))
	}
	if _, turns := e.Figures["passed"]; turns {
		text += fmt.Sprintf("; %s more came and ended in between", whole(e, "passed"))
	}
	return text
}

// window is what a trace saw of a family.
//
//	"in 5 s of trace 42 started and none ended"
//	"in 5 s of trace 42 started; 37 others ended of which it does not show what they were"
func window(e analysis.Evidence) string {
	text := fmt.Sprintf("in %s of trace %d started", wording.Duration(hours(e.Figures["hours"])), e.N)
	ended, untold := int(e.Figures["ended"]), int(e.Figures["untold"])
	switch {
	case ended > 0:
		text += fmt.Sprintf(" and %d ended", ended)
	case untold == 0:
		text += " and none ended"
	}
	if untold > 0 {
		text += fmt.Sprintf("; %s ended of which it does not show what %s", wording.Plural(untold, "other", "others"), wording.Fit(untold, "it was", "they were"))
	}
	return text
}

func (w Words) stopped(e analysis.Evidence) string {
	text := fmt.Sprintf("grew by %d until %s", e.N, w.label(e.At))
	switch e.Form {
	case "slowed", "slows":
		text += fmt.Sprintf(" and by %s since", whole(e, "after"))
	case "paused":
		return text + "; " + w.Pause(e)
	case "level":
		return text + fmt.Sprintf(", stays at %d since, and others take the place of those that end; its own pace would have shown %s more", e.Of, whole(e, "expected"))
	default:
		text += ", stands since"
	}
	if _, followed := e.Figures["stayed"]; followed {
		text += fmt.Sprintf("; the %s are still there", whole(e, "stayed"))
	}
	return text + fmt.Sprintf("; its own pace would have shown %s more", whole(e, "expected"))
}

// Pause is why the time since the last ones came shows no end: "none came in the 40 min since t6, and
// one came every 24 min before: too short to tell that it has stopped". It is "" for other evidence.
func (w Words) Pause(e analysis.Evidence) string {
	gap, dated := e.Figures["gap"]
	switch {
	case e.Rule != "stopped" || e.Form != "paused":
		return ""
	case !dated:
		return fmt.Sprintf("none came since %s, in too few captures to tell that it has stopped", w.label(e.At))
	}
	return fmt.Sprintf("none came in the %s since %s, and one came every %s before: too short to tell that it has stopped",
		wording.Duration(hours(e.Figures["quiet"])), w.label(e.At), wording.Duration(hours(gap)))
}

// roseOnce words a single movement; a fall counts below 0.
func (w Words) roseOnce(e analysis.Evidence) string {
	text, n, of := "rose", e.N, e.Of
	if of < 0 {
		text, n, of = "fell", -n, -of
	}
	text += fmt.Sprintf(" by %d", n)
	switch e.Form {
	case "flat_since":
		return text + fmt.Sprintf(" between %s and %s, flat since", w.label(e.From), w.label(e.To))
	case "mostly":
		return text + fmt.Sprintf(" between %s and %s, %d of %d in all", w.label(e.From), w.label(e.To), n, of)
	}
	return text + fmt.Sprintf(" until %s, hardly at all in the last two intervals", w.label(e.To))
}

func (w Words) ages(e analysis.Evidence) string {
	why := map[analysis.Form]string{
		"all_along":   "born all along, and old ones are still there",
		"at_once":     "most came at once",
		"few_old":     "the old ones are few, as in churn",
		"none_lately": "no births lately",
		"too_young":   "too young for a judgement by age",
	}[e.Form]
	return fmt.Sprintf("at %s %d of %d %s are older than %s and younger than the process (%s): oldest %s, half older than %s, %s of 12 age classes used, the fullest with %s: %s",
		w.label(e.At), e.N, e.Of, w.Many, lasting(e, "least"), lasting(e, "uptime"), lasting(e, "oldest"), lasting(e, "middle"), whole(e, "classes"), wording.Share(e.Figures["largest"]), why)
}

func (w Words) cohort(e analysis.Evidence) string {
	if e.Form == "none_born" {
		return fmt.Sprintf("no %s was born from %s to %s", w.One, w.label(e.From), w.label(e.To))
	}
	births := make([]string, len(e.Points))
	for i, p := range e.Points {
		births[i] = fmt.Sprintf("%s %d", w.labelOf(p.At), p.N)
	}
	came := fmt.Sprintf("%s came after %s (%s)", w.counted(int(e.Figures["born"])), w.label(e.From), andMore(births, int(e.Figures["births"])))
	if e.Form == "none_stayed" {
		return came + "; none of them was there at the next snapshot"
	}
	who := "that could be followed"
	if _, older := e.Figures["older"]; older {
		who = "older than " + lasting(e, "older")
	}
	text := fmt.Sprintf("%d of %d %s are still there at %s; %s", e.N, e.Of, who, w.label(e.To), came)
	if e.N > 0 {
		text += fmt.Sprintf(", in %s, at most %s of them in one", wording.Plural(int(e.Figures["intervals"]), "interval", "intervals"), wording.Share(e.Figures["largest"]))
	}
	return text
}

func (w Words) survivors(e analysis.Evidence) string {
	born := ""
	if n := int(e.Figures["new"]); n > 0 {
		born = fmt.Sprintf(", %d are new", n)
	}
	switch e.Form {
	case "none_before":
		return fmt.Sprintf("no %s of %s was there at %s", w.One, w.label(e.To), w.label(e.From)) + born
	case "from_elsewhere":
		if byState(e) {
			return fmt.Sprintf("%d of %d %s of %s were in another state at %s", e.N, e.Of, w.Many, w.label(e.To), w.label(e.From)) + born
		}
		return fmt.Sprintf("%d of %d %s of %s watched something that still existed at %s", e.N, e.Of, w.Many, w.label(e.To), w.label(e.From)) + born
	}
	text := fmt.Sprintf("%d of %d %s of %s are still there at %s", e.N, e.Of, w.Many, w.label(e.From), w.label(e.To))
	went, came := ", %d in another group, since what they watched is gone", ", %d watched something that still existed then"
	if byState(e) {
		went, came = ", %d in another state", ", %d were in another state then"
	}
	if n := int(e.Figures["went_elsewhere"]); n > 0 {
		text += fmt.Sprintf(went, n)
	}
	if n := int(e.Figures["from_elsewhere"]); n > 0 {
		text += fmt.Sprintf(came, n)
	}
	return text + born
}

// byState reports evidence of members whose family has their state or stack: of all others that
// change their family, the watches, the target changed.
func byState(e analysis.Evidence) bool {
	switch e.Identity {
	case analysis.Inode, analysis.Ends, analysis.GoroutineID, analysis.ThreadNumber:
		return true
	}
	return false
}

func (w Words) plateau(e analysis.Evidence) string {
	level := whole(e, "low")
	if e.Figures["low"] != e.Figures["high"] {
		level += " to " + whole(e, "high")
	}
	text := fmt.Sprintf("plateau at %s: %s %s replaced at a level count", level, w.counted(e.N), wording.Fit(e.N, "was", "were"))
	if rate, ok := e.Figures["rate"]; ok {
		text += fmt.Sprintf(", about %s/h new", wording.Decimal(rate))
	}
	return text + ", and the old ones leave"
}

func (w Words) objects(e analysis.Evidence) string {
	if e.Form == "one_each" {
		return fmt.Sprintf("at %s the %d %s wait for %d different locks, one each: as many objects, no queue", w.label(e.At), e.N, w.Many, e.Of)
	}
	text := fmt.Sprintf("at %s %d goroutines wait for one lock", w.label(e.At), e.N)
	switch e.Form {
	case "no_receiver":
		text += "; they entered it in functions without a receiver, so nobody can be named as its holder"
	case "many_holders":
		text += fmt.Sprintf("; more than %s goroutines of %s may hold it", whole(e, "most"), wording.Plural(int(e.Figures["groups"]), "group", "groups"))
	case "no_holder":
		text += "; which goroutine holds it is not known from this dump"
	}
	for _, h := range e.Holders {
		text += "; possible holder: " + holder(h)
	}
	return text
}

func holder(h analysis.LockHolder) string {
	text := fmt.Sprintf("goroutine %d in %s", h.Goroutine, h.In)
	if h.In != h.Of {
		text += ", called by " + h.Of
	}
	if h.State != "" {
		text += ", itself in " + h.State
	}
	if h.Children > 0 {
		text += fmt.Sprintf(", with %s", wording.Plural(h.Children, "child", "children"))
	}
	if h.Waits {
		text += ", which waits for another lock in turn"
	}
	return text
}

func (w Words) presence(e analysis.Evidence) string {
	switch e.Form {
	case "after_restart":
		return fmt.Sprintf("since the restart at %s there is one snapshot: %s", w.label(e.At), w.counted(e.N))
	case "new_in_version":
		return fmt.Sprintf("absent in version %s, there in version %s", name(e, 0), name(e, 1))
	case "gone_in_version":
		return fmt.Sprintf("there in version %s, absent in version %s", name(e, 0), name(e, 1))
	case "new_elsewhere", "gone_elsewhere":
		if byState(e) {
			since, then := "not there before", "were in another state at "+w.label(e.From)
			if e.Form == "gone_elsewhere" {
				since, then = "gone since", "are in another state now"
			}
			return fmt.Sprintf("%s %s; %d of its %s %s", since, w.label(e.At), e.N, w.counted(e.Of), then)
		}
		if e.Form == "gone_elsewhere" {
			return fmt.Sprintf("gone since %s; %d of its %s at %s are in another group now: the watch is still there, and what it watched is not", w.label(e.At), e.N, w.counted(e.Of), w.label(e.From))
		}
		return fmt.Sprintf("not there before %s; %d of its %s then watched something that still existed at %s, so that the watch is older", w.label(e.At), e.N, w.counted(e.Of), w.label(e.From))
	case "new":
		return "not there before " + w.label(e.At)
	}
	return "gone since " + w.label(e.At)
}

// inStep words a family that rises together with others.
func inStep(e analysis.Evidence) string {
	text := fmt.Sprintf("grows by the same steps as %s (%s)", wording.Plural(e.N, "other group", "other groups"), name(e, 0))
	if ratio, ok := e.Figures["ratio"]; ok {
		text += fmt.Sprintf(", %s for each", wording.Decimal(ratio))
	}
	if e.Form == "added_up" {
		text += fmt.Sprintf("; alone it would be %s: added up they grew by %s, and %s that came in %s intervals stayed",
			verdict(e.Verdict), whole(e, "rise"), whole(e, "stayed"), whole(e, "intervals"))
	}
	return text
}

func (w Words) recovery(e analysis.Evidence) string {
	text := w.fall(e)
	switch stays := e.Figures["above_start"]; {
	case stays > 0:
		text += fmt.Sprintf(", %s more than at the start", whole(e, "above_start"))
	case stays == 0:
		text += ", as many as at the start"
	}
	if e.Form == "followed" && len(e.Points) > 0 {
		text += fmt.Sprintf("; %d of the %d %s of %s had ended", e.N, e.Of, w.Many, w.labelOf(e.Points[0].At))
	}
	return text
}

// fall words the two points of a fall: "fell from 40 (t6) to 2 at t7".
func (w Words) fall(e analysis.Evidence) string {
	if len(e.Points) < 2 {
		return ""
	}
	before, after := e.Points[0], e.Points[1]
	return fmt.Sprintf("fell from %d (%s) to %d at %s", before.N, w.labelOf(before.At), after.N, w.labelOf(after.At))
}

func (w Words) missing(e analysis.Evidence) string {
	switch e.Form {
	case "not_captured":
		return fmt.Sprintf("no %s were captured at %s", wording.Kinds(e.Kind), w.labels(e.Points, e.N))
	case "not_shown":
		return "left out, because several functions start this stack and not every snapshot names them: " + w.labels(e.Points, e.N)
	case "cut":
		return "left out, because the dump is cut and its counts are lower bounds: " + w.labels(e.Points, e.N)
	case "no_count":
		return "no snapshot gives a usable count"
	case "one_count":
		return "one usable snapshot: growth needs two"
	case "only_restarts":
		return wording.Plural(e.N, "snapshot", "snapshots") + ", each of another process start: nothing can be compared"
	case "few_counts":
		return fmt.Sprintf("%s: too few for a trend or for cohorts (all pairs of %d rise by chance with %s)", wording.Plural(e.N, "snapshot", "snapshots"), e.N, chance(e.Figures["p"]))
	case "no_identities":
		return "no identities: whether the " + w.Many + " stayed cannot be said"
	case "respawns":
		return "each is started by one that has ended: the " + w.Many + " of one chain have no id in common, by which it could be followed"
	case "no_cohorts":
		return "no epoch has four snapshots with identities: no cohorts"
	case "no_times":
		return "no capture times: rates are per snapshot"
	case "undated":
		return "without a time, left out of the slope: " + w.labels(e.Points, e.N)
	case "load_at":
		return fmt.Sprintf("%s is not known at %s: enter it on the page of files and processes to compare", name(e, 0), w.labels(e.Points, e.N))
	}
	return "the load is not known: enter sessions or targets on the page of files and processes to compare"
}

// shortSpan words what a short series cannot exclude.
func shortSpan(e analysis.Evidence) string {
	span := lasting(e, "span")
	switch e.Form {
	case "worked_off":
		return "it grew for " + span + " and went away, as a queue does that was worked off"
	case "leak_or_queue":
		return span + " is too short to tell a leak from a queue"
	case "end_or_pause":
		return span + " is too short to tell an end from a pause"
	}
	return span + " is too short to show a slow growth"
}

func (w Words) decides(e analysis.Evidence) string {
	switch e.Form {
	case "if_again":
		return "if it grows again after that, its cause is still there"
	case "marked":
		return "nothing changes this: a mark of the runtime is a proof"
	case "if_those_gone":
		return w.refuted(fmt.Sprintf("those %d %s", e.N, w.Many))
	case "if_old_gone":
		return w.refuted(fmt.Sprintf("the %d old %s", e.N, w.Many))
	case "if_last_gone":
		return w.refuted(fmt.Sprintf("the %s counted last", w.Many))
	case "if_load_stands":
		return fmt.Sprintf("it is a leak if it goes on rising while %s stands still", loadOf(e))
	case "identities":
		return fmt.Sprintf("a dump that names its %s (debug=2 for goroutines)%s would tell whether they stay", w.Many, later(e))
	case "more_snapshots":
		return fmt.Sprintf("%d more snapshots%s would decide: births in two of them that stay are a leak", e.N, later(e))
	case "goes_on":
		return fmt.Sprintf("a count that goes on rising at the next snapshot%s would speak for a leak", later(e))
	case "born_and_stay":
		return fmt.Sprintf("one more snapshot%s would tell more: %s born since that stay speak for a leak", later(e), w.Many)
	case "adds_others":
		return fmt.Sprintf("one more snapshot%s would tell more: a leak keeps the %s born so far and adds others, a plateau is flat", later(e), w.Many)
	case "if_more":
		return fmt.Sprintf("it would be growing again if a snapshot%s had more than %d", later(e), e.N)
	case "one_more":
		return fmt.Sprintf("one more snapshot%s would tell: more %s by then are a growth, the same ones a step", later(e), w.Many)
	case "if_back":
		return fmt.Sprintf("%s that come back at the next snapshot%s would change this", w.Many, later(e))
	case "if_rise":
		return fmt.Sprintf("a rise to %d or more at a later snapshot would change this", e.N)
	case "one_then_three":
		return fmt.Sprintf("one more snapshot of the same process%s would show whether it grows; three more, whether its %s stay", later(e), w.Many)
	}
	return "a complete dump would tell"
}

func (w Words) refuted(who string) string {
	return "this answer is wrong if most of " + who + " are gone in a later capture, or if a load grew by as much"
}

// later is when the next snapshot is best taken: " in 30 minutes", "" if no time is known.
func later(e analysis.Evidence) string {
	switch wait := e.Figures["wait"]; wait {
	case 0:
		return ""
	case 0.5:
		return " in 30 minutes"
	default:
		return " in " + wording.Duration(hours(wait))
	}
}

func name(e analysis.Evidence, i int) string {
	if i < len(e.Names) {
		return e.Names[i]
	}
	return ""
}

// whole is a figure that counts.
func whole(e analysis.Evidence, f analysis.Figure) string { return strconv.Itoa(int(e.Figures[f])) }

// lasting is a figure that is a length of time, in intervals between snapshots without times.
func lasting(e analysis.Evidence, f analysis.Figure) string { return length(e.Figures[f], e.Unit) }

func length(n float64, unit analysis.TimeUnit) string {
	if unit == analysis.PerSnapshot {
		return wording.Plural(int(n+0.5), "interval", "intervals")
	}
	return wording.Duration(hours(n))
}

// hours is a length in whole microseconds: a fraction of an hour is no exact number.
func hours(n float64) time.Duration {
	return time.Duration(n * float64(time.Hour)).Round(time.Microsecond)
}

// rate writes a slope with its unit: "+330/h", "+2.5 per snapshot".
func rate(slope float64, unit analysis.TimeUnit) string {
	text := wording.Decimal(slope)
	if slope > 0 {
		text = "+" + text
	}
	if unit == analysis.PerSnapshot {
		return text + " per snapshot"
	}
	return text + "/h"
}

// chance writes a p: "p = 0.042", "p < 0.0001".
func chance(p float64) string {
	if p < 0.0001 {
		return "p < 0.0001"
	}
	return "p = " + strconv.FormatFloat(p, 'g', 2, 64)
}

func verdict(v analysis.Verdict) string { return strings.ReplaceAll(string(v), "_", " ") }
