package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/knowledge"
	"leakdiff/analysis/judge/trend"
	"leakdiff/analysis/say/evidence"
	"leakdiff/analysis/say/wording"
)

// mostFindings is how many findings of a series are shown. The rest is counted.
const mostFindings = 20

// mostNeutral is how many findings that accuse nobody are shown of a series. The table
// has all of them.
const mostNeutral = 5

// rising reports a verdict that accuses or explains a growth.
func rising(v analysis.Verdict) bool {
	return v == analysis.Leaking || v == analysis.Suspicious || v == analysis.Scaling
}

// findings are numbered paragraphs in the order of trend.Explain: what grows, what may
// hold it, what follows, what the capture adds. Findings of single snapshots and limits
// that are nearly reached follow.
func (j *JudgedSeries) findings(families []Family, objects []Object) []Finding {
	byPrint := map[string]*Family{}
	for i := range families {
		byPrint[families[i].Fingerprint] = &families[i]
	}
	out := []Finding{}
	rest, neutral := 0, 0
	points := j.accused(j.Trend.Explain())
	told := slices.ContainsFunc(points, func(p trend.Point) bool {
		return p.Section != trend.Neutral && (p.Section != trend.Observed || accusing(p.Verdict))
	})
	for i := 0; i < len(points); i++ {
		p := points[i]
		if len(out) == mostFindings {
			rest += len(p.Families)
			continue
		}
		if p.Section == trend.Neutral && !j.retained(p) {
			// Beside an accusation the table suffices for what accuses nobody.
			if neutral == mostNeutral || told {
				continue
			}
			neutral++
		}
		if p.Section == trend.MayHold {
			// All possible holders of one thing are one finding.
			same := []trend.Point{p}
			for i+1 < len(points) && points[i+1].Section == trend.MayHold && points[i+1].Of == p.Of {
				i++
				same = append(same, points[i])
			}
			out = append(out, j.holders(same, byPrint))
			continue
		}
		if p.Section == setAside {
			out = append(out, j.noLeak(p, byPrint))
			continue
		}
		if p.Section == trend.Observed {
			out = append(out, j.observer(p, byPrint))
			continue
		}
		for _, thing := range j.things(p, objects, byPrint) {
			out = append(out, j.point(thing, byPrint))
		}
	}
	if rest > 0 {
		last := &out[len(out)-1]
		last.Text += " " + wording.Plural(rest, "more group that grew stands in the table.", "more groups that grew stand in the table.")
	}
	out = j.ofObjects(j.withKeys(out, byPrint), objects, byPrint)
	out = j.forgotten(out, objects, byPrint)
	out = j.remainders(out, objects)
	out = append(out, j.above(families, out)...)
	for i := range out {
		j.learn(&out[i], byPrint)
	}
	out = append(append(out, j.facts()...), j.progressing()...)
	out = append(append(out, j.logged()...), j.listed()...)
	out = append(out, j.dead(out, byPrint)...)
	out = append(out, j.near()...)
	out = append(out, j.saturations(families)...)
	for i := range out {
		out[i].Rank = i + 1
		j.locate(&out[i])
	}
	return out
}

// point makes the finding of a unit or a family. Its title and its proof are worded when the
// report is joined, see entitle.
func (j *JudgedSeries) point(p trend.Point, byPrint map[string]*Family) Finding {
	kinds := map[trend.Section]string{trend.Follows: FollowFinding}
	f := Finding{Kind: kinds[p.Section], Verdict: j.weighedVerdict(p), Unit: p.Unit, Families: j.endedFirst(lead(p.Families, byPrint), byPrint)}
	first := byPrint[f.Families[0]]
	f.Next = j.next(first)
	var members []*Family
	for _, print := range f.Families {
		members = append(members, byPrint[print])
	}
	if p.Unit != "" {
		j.unit(&f, p.Unit, byPrint)
		f.Text += j.remains(members)
		return f
	}
	f.Counts, f.Evidence = first.Counts, first.Evidence
	if p.Section == trend.Neutral {
		// What would decide is the next step. It appears only there.
		f.Evidence, f.Next = withoutDeciding(first.Evidence)
	}
	if len(p.Why) > 0 && p.Section != trend.WhatGrows && p.Section != trend.LoadFollows {
		f.Text += " " + sentence(strings.Join(j.Reasons(p.Why), "; "))
	}
	if len(j.Snapshots) == 1 {
		f.Text += j.births(first.Fingerprint)
	}
	f.Text = strings.TrimSpace(f.Text + j.remains(members))
	return f
}

// retained reports a point that stays although the families that rose with it went
// away.
func (j *JudgedSeries) retained(p trend.Point) bool {
	return slices.ContainsFunc(p.Families, func(print string) bool { return hasRule(j.Judged[print], "retained") })
}

// withoutDeciding removes from the evidence what would decide a verdict.
func withoutDeciding(all []Evidence) (rest []Evidence, decides string) {
	for _, e := range all {
		if e.Rule == "decides" {
			decides = sentence(e.Text)
			continue
		}
		rest = append(rest, e)
	}
	return rest, decides
}

// weighedVerdict is the verdict of a point, or the catalogue's if it weighed all of its
// families.
func (j *JudgedSeries) weighedVerdict(p trend.Point) analysis.Verdict {
	worst := analysis.TooFewPoints
	for _, print := range p.Families {
		if !j.weighed[print] {
			return p.Verdict
		}
		if v := j.Judged[print].Verdict; v.Rank() < worst.Rank() {
			worst = v
		}
	}
	return worst
}

// noLeak makes the finding of a growth that is known to be no leak: the verdict by
// figures, and the entry that sets it aside.
func (j *JudgedSeries) noLeak(p trend.Point, byPrint map[string]*Family) Finding {
	f := Finding{Kind: NoLeakFinding, Verdict: analysis.Stable, Unit: p.Unit, Families: lead(p.Families, byPrint)}
	if first := byPrint[f.Families[0]]; p.Unit != "" {
		j.unit(&f, p.Unit, byPrint)
	} else {
		f.Counts, f.Evidence = first.Counts, first.Evidence
	}
	f.Next = "The entry below says why this is no leak, and what would make it one."
	if e := j.catalogue.Entry(j.aside[f.Families[0]].by); e != nil && e.Status == knowledge.BoundedBacklog {
		f.Next = fmt.Sprintf("Take one more capture after %d minutes: what is older than that is no such queue.", e.BoundMinutes)
	}
	return f
}

// births words how many members came in each hour, by their ages. This is the rate that
// one snapshot alone shows.
func (j *JudgedSeries) births(fingerprint string) string {
	born := j.Trend.Births(fingerprint, len(j.Snapshots)-1)
	if len(born) < 3 {
		return ""
	}
	const most = 12
	cut := max(0, len(born)-most)
	words := make([]string, 0, most)
	for _, b := range born[cut:] {
		words = append(words, strconv.Itoa(b.Born))
	}
	return fmt.Sprintf(" Started in each hour from %s on, by their ages: %s.", wording.Minute(born[cut].Hour), strings.Join(words, " "))
}

// lead moves the family that describes the cause best to the front: code before the
// things it holds.
func lead(prints []string, byPrint map[string]*Family) []string {
	out := slices.Clone(prints)
	rank := func(print string) int {
		f := byPrint[print]
		if f.Title == "/" {
			return len(analysis.Kinds()) // the root of a file system names nothing
		}
		if f.isChildProcess() && !slices.ContainsFunc(prints, func(other string) bool { return other != print && !f.keepsPipe(byPrint[other]) }) {
			return -1 // all others are its pipes
		}
		return slices.Index(analysis.Kinds(), f.Kind)
	}
	slices.SortStableFunc(out, func(a, b string) int { return rank(a) - rank(b) })
	return out
}

// endedFirst moves, of families on both ends of connections of a process to itself, the one that has
// a general remedy before one that has none.
func (j *JudgedSeries) endedFirst(prints []string, byPrint map[string]*Family) []string {
	if !bothEnds(prints, byPrint) {
		return prints
	}
	nouns, _ := NounsOf(j.catalogue)
	remedied := func(print string) bool {
		f := byPrint[print]
		n := nounOf(nouns, f, f.Title)
		return f.Kind == byPrint[prints[0]].Kind && n != nil && n.Remedy != ""
	}
	at := slices.IndexFunc(prints, remedied)
	if n := nounOf(nouns, byPrint[prints[0]], ""); at < 0 || n == nil {
		return prints
	}
	return slices.Concat(prints[at:at+1], prints[:at], prints[at+1:])
}

// bothEnds reports families of connections that show both ends of them.
func bothEnds(prints []string, byPrint map[string]*Family) bool {
	return slices.ContainsFunc(prints, func(client string) bool {
		address := byPrint[client].Attributes["remote"]
		return address != "" && byPrint[client].Attributes["role"] == "client" && slices.ContainsFunc(prints, func(server string) bool {
			return byPrint[server].Attributes["role"] == "server" && byPrint[server].Attributes["local"] == address
		})
	})
}

// ofFirst begins the evidence that is about the first of several families alone.
const ofFirst = "of the first group: "

// unit describes families that rise together as one cause: by the figures of the first of
// them where these prove as much as those of all, which would add up different kinds.
func (j *JudgedSeries) unit(f *Finding, id string, byPrint map[string]*Family) {
	for _, u := range j.Trend.Units() {
		if u.ID != id {
			continue
		}
		first := byPrint[f.Families[0]]
		f.Counts = u.Counts
		f.Evidence = []Evidence{saidHere("unit", j.words().Unit(u))}
		alone := first.Verdict == u.Verdict && !slices.ContainsFunc(first.Evidence, func(e Evidence) bool {
			return e.Rule == "unit" && e.Form == "added_up"
		})
		if !alone {
			f.Evidence = append(f.Evidence, j.worded(u.Evidence, "piece", kindsOf(&u, byPrint))...)
		}
		for _, e := range first.Evidence {
			switch {
			case e.Rule == "unit":
			case alone:
				f.Evidence = append(f.Evidence, e)
			case ofLead[e.Rule]:
				e.Text, e.OfFirst = ofFirst+e.Text, true
				f.Evidence = append(f.Evidence, e)
			}
		}
		return
	}
}

// kindsOf names what the families of a unit are, "goroutines and watches".
func kindsOf(u *trend.Unit, byPrint map[string]*Family) string {
	var words []string
	for _, share := range u.Families {
		f := byPrint[share.Fingerprint]
		if kind := wording.Kinds(f.Kind.Worded(f.Attributes)); !slices.Contains(words, kind) {
			words = append(words, kind)
		}
	}
	return wording.List(words, len(words))
}

// ofLead are the rules of the first family's own evidence that add to that of its unit.
var ofLead = map[string]bool{"leaked_mark": true, "load": true, "ages": true, "window": true, "objects": true, "recovery": true, "decides": true, knowledge.RuleNormal: true, knowledge.RuleKnown: true, knowledge.RuleAside: true}

// holders describes the possible holders of what a growing family waits for.
func (j *JudgedSeries) holders(points []trend.Point, byPrint map[string]*Family) Finding {
	waiting := byPrint[points[0].Of]
	f := Finding{Kind: HolderFinding, Title: "Possible holder of what " + waiting.Title + " waits for: " + byPrint[points[0].Families[0]].Title}
	if n := len(points) - 1; n > 0 {
		f.Title += fmt.Sprintf(", or %s", wording.Plural(n, "other group", "other groups"))
	}
	var words []string
	for _, p := range points {
		held := byPrint[p.Families[0]]
		f.Families = append(f.Families, p.Families[0])
		words = append(words, fmt.Sprintf("%s (%s) %s", held.Title, j.inWords(held.Counts, held.Kind), strings.Join(j.Reasons(p.Why), "; ")))
	}
	f.Text = strings.Join(words, ". ") + "."
	f.Next = "See what the first of them waits for itself; report that one, not those that wait for it."
	return f
}

// facts are findings that single snapshots prove, such as deadlocks. A statement of
// several snapshots appears once, in the words of the last.
func (j *JudgedSeries) facts() []Finding {
	var out []Finding
	at := map[string]int{}
	var seen [][]string
	saturated := map[string]bool{}
	for _, p := range j.workPools() {
		saturated[p.Name] = saturated[p.Name] || p.Saturated
	}
	for _, s := range j.Snapshots {
		for _, f := range s.Statements {
			if j.ownersListed(f.Key) || f.Pool != "" && saturated[f.Pool] {
				continue
			}
			i, ok := at[f.Key]
			if !ok {
				if len(out) == mostFindings {
					continue
				}
				i, at[f.Key] = len(out), len(out)
				out, seen = append(out, Finding{}), append(seen, nil)
			}
			out[i] = Finding{Kind: FactFinding, Title: f.Title, Text: f.Text, Stated: f.Key, Threads: f.Threads, Families: []string{}, Classes: j.stated(f.Key)}
			seen[i] = append(seen[i], s.Label)
		}
	}
	for i := range out {
		if len(j.Snapshots) > 1 {
			out[i].Text += " Seen in " + strings.Join(seen[i], ", ") + "."
		}
	}
	return out
}

// leastUsed is the share of a limit below which a rate over some seconds cannot predict
// when it will be full.
const leastUsed = 0.05

// near are limits that are nearly used up, or will be within a day.
func (j *JudgedSeries) near() []Finding {
	var out []Finding
	all := j.bounds()
	slices.SortStableFunc(all, func(a, b Bound) int { return cmp.Compare(a.left(), b.left()) })
	for i := range all {
		if b := &all[i]; b.presses() {
			out = append(out, b.finding())
		}
	}
	return out
}

// left is the time until a bound is full in hours, infinite where that is not known.
func (b *Bound) left() float64 {
	if b.HoursLeft == nil {
		return math.Inf(1)
	}
	return b.HoursLeft[0]
}

// presses reports a bound that is nearly used up, or will be within a day.
func (b *Bound) presses() bool {
	return b.Used >= 0.8*b.Bound || b.left() <= 24 && b.Used >= 0.8*b.Peak && b.Used >= leastUsed*b.Bound
}

func (b *Bound) finding() Finding {
	return Finding{Kind: LimitFinding, Limit: b.What, Title: fmt.Sprintf("%s: %s of %s used", b.What, wording.Ratio(b.Used), wording.Ratio(b.Bound)), Text: sentence(b.Text), Families: []string{},
		Next: raise(b.What) + " to gain time only."}
}

// allOpenFiles is the limit of the open files of a machine.
const allOpenFiles = "open files of all processes"

// raise words how a limit is raised.
func raise(what string) string {
	switch what {
	case "open files":
		return "Raise the soft limit (prlimit --nofile, LimitNOFILE of the unit)"
	case allOpenFiles:
		return "Raise fs.file-max (sysctl -w)"
	case "threads":
		return "Raise the number of tasks (ulimit -u, TasksMax of the unit)"
	case "inotify instances":
		return "Raise fs.inotify.max_user_instances (sysctl -w, all processes of the user share it)"
	case "inotify watches":
		return "Raise fs.inotify.max_user_watches (sysctl -w, all processes of the user share it)"
	}
	return "Raise the limit"
}

func (j *JudgedSeries) units() []Unit {
	out := []Unit{}
	for _, u := range j.Trend.Units() {
		unit := Unit{ID: u.ID, Ratio: map[string]float64{}, Verdict: u.Verdict, Each: evidence.Each(u), Text: j.words().Unit(u), Evidence: j.worded(u.Evidence, "member", "members"), Counts: make(analysis.Counts, len(u.Instances)), Members: u.Counts}
		if o, ok := j.Trend.UnitOnset(u.ID); ok {
			unit.Onset = j.onset(o)
		}
		for _, share := range u.Families {
			unit.Ratio[share.Fingerprint] = math.Round(share.Ratio*10) / 10
		}
		for i, n := range u.Instances {
			if n != nil {
				whole := int(math.Round(*n))
				unit.Counts[i] = analysis.Counted(whole)
			}
		}
		out = append(out, unit)
	}
	return out
}

func (j *JudgedSeries) bounds() []Bound {
	out := []Bound{}
	for _, b := range j.Trend.Limits() {
		bound := Bound{What: b.What, Bound: b.Bound, Used: b.Used, Text: evidence.Limit(b), Counts: b.Counts, Peak: b.Peak, Scope: b.Scope, Bytes: b.Bytes, AtLeast: b.AtLeast, Level: b.Known && math.IsInf(b.Hours, 0)}
		if b.Known && !math.IsInf(b.Hours, 0) {
			bound.PerHour = &[3]float64{b.Rate, b.RateLow, b.RateHigh}
			if !math.IsInf(b.HoursHigh, 0) {
				bound.HoursLeft = &[3]float64{b.Hours, b.HoursLow, b.HoursHigh}
			}
		}
		out = append(out, bound)
	}
	return out
}

func (j *JudgedSeries) familyOnset(fingerprint string) *Onset {
	o, ok := j.Trend.Onset(fingerprint)
	if !ok {
		return nil
	}
	return j.onset(o)
}

func (j *JudgedSeries) onset(o trend.Onset) *Onset {
	out := &Onset{Text: j.words().Onset(o), Before: o.Before, Windows: []Window{}}
	if !o.From.IsZero() {
		out.From = &o.From
	}
	if !o.To.IsZero() {
		out.To = &o.To
	}
	for _, w := range o.Windows {
		window := Window{From: j.Snapshots[w.From].ID, To: j.Snapshots[w.To].ID, Share: math.Round(w.Mass*1000) / 1000}
		for _, e := range w.Events {
			window.Events = append(window.Events, j.words().Event(e))
		}
		out.Windows = append(out.Windows, window)
	}
	return out
}

// limiting reports evidence that names what a verdict leaves open.
func limiting(e Evidence) bool { return e.Rule == "missing" || e.Rule == "span" }

// limits are what the verdicts of all findings leave open, each once, most frequent first.
func limits(families []Family, findings []Finding) []string {
	found := map[string]bool{}
	for _, f := range findings {
		if f.Kind != "" {
			continue
		}
		for _, print := range f.Families {
			found[print] = true
		}
	}
	times := map[string]int{}
	var order []string
	for _, f := range families {
		if !found[f.Fingerprint] {
			continue
		}
		for _, e := range f.Evidence {
			if text := sentence(e.Text); limiting(e) {
				if times[text] == 0 {
					order = append(order, text)
				}
				times[text]++
			}
		}
	}
	sort.SliceStable(order, func(i, j int) bool { return times[order[i]] > times[order[j]] })
	return order[:min(len(order), 4)]
}

// label is the label of a snapshot id.
func (j *JudgedSeries) label(id string) string {
	for i := range j.Snapshots {
		if j.Snapshots[i].ID == id {
			return j.Snapshots[i].Label
		}
	}
	return id
}

func (j *JudgedSeries) labels() string {
	first, last := j.Snapshots[0], j.Snapshots[len(j.Snapshots)-1]
	if first == last {
		return first.Label
	}
	return first.Label + " to " + last.Label
}

// startedEach is what to do about threads with names of one form: those of an executor, or threads that
// the program starts itself.
func (f *Family) startedEach() string {
	pool := f.Attributes["pool"]
	executor := slices.ContainsFunc(f.Frames, func(function string) bool {
		return strings.HasPrefix(function, "java.util.concurrent.ThreadPoolExecutor") || strings.HasPrefix(function, "java.util.concurrent.ForkJoinWorkerThread")
	})
	switch {
	case pool == "":
		return ""
	case executor:
		return "Find who makes a pool “" + pool + "” per call; share one, or shut each down."
	case pool == "Thread": // the name that the JVM gives
		return "Find who makes a new Thread per call: end what each runs when its work is done, or hand the work to one shared pool."
	}
	return "Find who starts a thread “" + pool + "”, or a pool of them, per call: end what each runs when its work is done, or share one pool."
}

// next is what to do about a family, "" where nothing is known that is about it alone.
func (j *JudgedSeries) next(f *Family) string {
	if f.Verdict.Rose() && !rising(f.Verdict) {
		return "" // what would decide is the next step
	}
	if f.Verdict == analysis.Scaling {
		return "Nothing to mend: less load, fewer " + wording.Kinds(f.Kind) + "."
	}
	if f.isTotal() {
		return "" // a capture that names them is the next step
	}
	switch f.Kind {
	case analysis.KindGoroutine:
		if f.RecoveredAt != nil {
			return "Something released them shortly before " + j.label(*f.RecoveredAt) + ": check what restarted or was deleted."
		}
	case analysis.KindThread:
		return f.startedEach()
	case analysis.KindDescriptor:
		if f.OpenedAt != nil {
			return f.closeOpened()
		}
		if f.Attributes["state"] == "CLOSE_WAIT" {
			return closeEach
		}
		if f.unnamed() {
			return "fdinfo has no names: take ls -l /proc/PID/fd as well, then find the code that opens the files of those names."
		}
		if f.Attributes["role"] == "server" {
			return "Look at who connects to " + f.Attributes["local"] + ", and whether this side closes what it has accepted."
		}
		if n := f.States[analysis.Unread]; f.Attributes["remote"] != "" && n > 0 && 2*n >= f.Counts.Last() {
			return fmt.Sprintf("%d of %d are not read: consume or destroy each response of %s, also where its status is no success.", n, f.Counts.Last(), f.Attributes["remote"])
		}
		if f.Attributes["remote"] != "" {
			return "Look for a client of " + f.Attributes["remote"] + " that is made per call and never closed."
		}
		if title, deleted := strings.CutSuffix(f.Title, " (deleted)"); deleted {
			return "Find the code that opens “" + title + "”, and close each before the file is removed or rotated away."
		}
		return "Find the code that opens " + f.opens() + ", and close each there when it is done with it."
	case analysis.KindWatch:
		return "Find who adds these watches, and remove each with what it watches."
	}
	return ""
}
