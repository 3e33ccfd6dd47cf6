package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/knowledge"
	"leakdiff/analysis/judge/trend"
	"leakdiff/analysis/say/wording"
)

// Knowledge is the part of the catalogue that the findings of a report name.
type Knowledge struct {
	// Catalogue is its version; any change of the catalogue is another one.
	Catalogue string  `json:"catalogue"`
	Classes   []Class `json:"classes"`
}

// Class is a class with what the catalogue corrects of common advice on it.
type Class struct {
	knowledge.Class
	Corrections []knowledge.Correction `json:"corrections,omitempty"`
}

// KnownLeak is an entry of the catalogue beside a family or finding.
type KnownLeak struct {
	ID     string           `json:"id"`
	Title  string           `json:"title"`
	Status knowledge.Status `json:"status"`
	// Basis is growth, "above expected" or "waits" where more than the signature
	// speaks, "one of several possible" where a listing grows that shows no stack, "looks
	// alike" otherwise.
	Basis knowledge.Basis `json:"basis"`
	Text  string          `json:"text"`
	// RuledOut says that stack, state and growth are those of the entry, and that only the
	// version that was seen speaks against it.
	RuledOut bool `json:"ruled_out,omitempty"`
	// Affected and Fixed are as the report said, VerifiedBy says how the fix is known.
	Affected   string `json:"affected,omitempty"`
	Fixed      string `json:"fixed,omitempty"`
	VerifiedBy string `json:"fixed_verified_by,omitempty"`
	// Seen is the version in the evidence, Compare how it stands to the entry.
	Seen    string                   `json:"seen,omitempty"`
	Verdict knowledge.VersionVerdict `json:"version_verdict,omitempty"`
	Compare string                   `json:"compare,omitempty"`
	Trigger string                   `json:"trigger,omitempty"`
	Remedy  string                   `json:"remedy,omitempty"`
	// Reference is the address of the report.
	Reference string `json:"reference,omitempty"`
	// Origin is the overlay file that the entry came from.
	Origin string `json:"origin,omitempty"`
}

// ClassNote is what the evidence makes of a class: another name of the cause, where only
// some of its forms were seen, and its upgrades compared with the version that was seen.
type ClassNote struct {
	Cause    string   `json:"cause,omitempty"`
	Upgrades []string `json:"upgrades,omitempty"`
	// Rest says that its members are at rest: the class is what they belong to and not
	// what makes them grow.
	Rest bool `json:"rest,omitempty"`
}

// noted adds what a family says of its class. The class keeps its own name where one of
// the families has a form without another.
func noted(notes map[string]ClassNote, hit knowledge.ClassHit) map[string]ClassNote {
	key := hit.Class.Key
	note, have := notes[key]
	switch {
	case !have:
		note = ClassNote{Cause: cmp.Or(hit.Cause, hit.Class.Cause), Upgrades: hit.Upgrades, Rest: hit.Rest}
	case hit.Cause == "":
		note.Cause = hit.Class.Cause
	}
	if notes == nil {
		notes = map[string]ClassNote{}
	}
	notes[key] = note
	return notes
}

// SetAside says that an entry of the catalogue knows a growth to be no leak.
type SetAside struct {
	// ByFigures is the verdict that the figures alone would give.
	ByFigures analysis.Verdict `json:"by_figures"`
	Entry     string           `json:"entry"`
}

// Normal is the normal stack that a family is one of.
type Normal struct {
	ID       string `json:"id"`
	Library  string `json:"library"`
	Reason   string `json:"reason"`
	Expected string `json:"expected"`
	// Allowed is the number that the evidence allows, null where its unit was not
	// counted.
	Allowed *int   `json:"allowed"`
	Note    string `json:"note,omitempty"`
}

// Healthy counts the goroutines of one snapshot that are in normal stacks.
type Healthy struct {
	Snapshot string `json:"snapshot"`
	Members  int    `json:"members"`
	Of       int    `json:"of"`
	Families int    `json:"families"`
	Text     string `json:"text"`
}

// Threshold is a figure that circulates, beside what the series shows of it.
type Threshold struct {
	Name string `json:"name"`
	Text string `json:"text"`
	Seen string `json:"seen,omitempty"`
	// Passed says that the series is above it; a hint, never a verdict.
	Passed bool `json:"passed,omitempty"`
}

// consult asks the catalogue about every family of a series and sets the verdicts
// against its answers.
func (j *JudgedSeries) consult(c *knowledge.Catalogue, m *knowledge.Matcher) {
	j.catalogue, j.known, j.weighed = c, make(map[string]knowledge.Result, len(j.Trend.Families)), map[string]bool{}
	j.aside = map[string]aside{}
	last := j.lastOf()
	units := make([]knowledge.Units, len(j.Snapshots))
	for _, f := range j.Trend.Families {
		at, ok := last[f.Fingerprint]
		if !ok {
			continue
		}
		at = j.judgedAt(f, at)
		if units[at.snapshot] == nil {
			units[at.snapshot] = unitsOf(j.Snapshots[at.snapshot])
		}
		seen := j.seen(f, at)
		seen.Units = units[at.snapshot]
		result := m.Match(seen)
		j.known[f.Fingerprint] = result
		if rank, ok := result.Weigh(seen); ok {
			judgement := j.Judged[f.Fingerprint]
			if rank.By != "" {
				j.aside[f.Fingerprint] = aside{judgement.Verdict, rank.By}
				judgement.Evidence = append([]analysis.Evidence{rank.Evidence}, judgement.Evidence...) // it explains the verdict, the others speak against it
			} else {
				judgement.Evidence = beforeDeciding(judgement.Evidence, rank.Evidence)
			}
			if rank.Changed {
				j.weighed[f.Fingerprint] = true
				judgement.Verdict, judgement.RecoveredAt = rank.Verdict, -1
				// What would decide the verdict of the figures decides nothing any more.
				judgement.Evidence = slices.DeleteFunc(judgement.Evidence, func(e analysis.Evidence) bool { return e.Rule == "decides" })
			}
			j.Judged[f.Fingerprint] = judgement
		}
	}
	j.withUnits()
}

// aside is an accusation that an entry of the catalogue sets aside: what the figures
// alone would say, and the entry.
type aside struct {
	figures analysis.Verdict
	by      string
}

// sighting is a family in one snapshot.
type sighting struct {
	snapshot int
	group    *analysis.Group
}

// lastOf is the last snapshot that holds each family.
func (j *JudgedSeries) lastOf() map[string]sighting {
	out := make(map[string]sighting, len(j.Trend.Families))
	for i := len(j.Snapshots) - 1; i >= 0; i-- {
		for k := range j.Snapshots[i].Groups {
			g := &j.Snapshots[i].Groups[k]
			if _, ok := out[g.Family.Fingerprint]; !ok {
				out[g.Family.Fingerprint] = sighting{i, g}
			}
		}
		if len(out) == len(j.Trend.Families) {
			break
		}
	}
	return out
}

// judgedAt is the last snapshot that holds a family, or where its cause went away, the
// one just before.
func (j *JudgedSeries) judgedAt(f *analysis.Family, last sighting) sighting {
	at := j.Judged[f.Fingerprint].RecoveredAt - 1
	if at < 0 {
		return last
	}
	if before := GroupOf(j.Snapshots[at], f.Fingerprint); before != nil {
		return sighting{at, before}
	}
	return last
}

// seen is what the catalogue is told of a family.
func (j *JudgedSeries) seen(f *analysis.Family, at sighting) knowledge.Seen {
	judgement, g, s := j.Judged[f.Fingerprint], at.group, j.Snapshots[at.snapshot]
	return knowledge.Seen{
		Family: f, Program: s.Process.Name.Value, States: g.States, Count: g.Count, OldestWait: g.OldestWait,
		Timed:   f.Kind == analysis.KindGoroutine && len(g.States) > 0,
		Verdict: judgement.Verdict, Proven: j.proven(f.Fingerprint, judgement), Marked: hasRule(judgement, "leaked_mark"),
		Stayed: sync.OnceValue(func() int { return j.stayed(f.Fingerprint, at) }), Span: j.minutes(j.Trend.EpochStart(at.snapshot), at.snapshot),
		Rise:     func() knowledge.Rise { return j.riseOf(f.Fingerprint, at) },
		Versions: j.versionsOf(g, at.snapshot),
	}
}

func hasRule(judgement analysis.Judgement, rule string) bool {
	return slices.ContainsFunc(judgement.Evidence, func(e analysis.Evidence) bool { return e.Rule == rule })
}

// minutes lie between two snapshots, 0 where one has no time.
func (j *JudgedSeries) minutes(from, to int) int {
	a, b := j.Snapshots[from].CapturedAt, j.Snapshots[to].CapturedAt
	if a.IsZero() || b.IsZero() {
		return 0
	}
	return int(b.Sub(a).Minutes())
}

// stayed is for how many minutes the oldest member of a snapshot has been seen in
// snapshots of the same run, -1 where members or times are not known.
func (j *JudgedSeries) stayed(fingerprint string, at sighting) int {
	if !at.group.Members.Identified() || j.Snapshots[at.snapshot].CapturedAt.IsZero() {
		return -1
	}
	there := make(map[analysis.Identity]bool, at.group.Members.Len())
	for id := range at.group.Members.Identities() {
		there[id] = true
	}
	for i := j.Trend.EpochStart(at.snapshot); i < at.snapshot; i++ {
		g := GroupOf(j.Snapshots[i], fingerprint)
		if g == nil || j.Snapshots[i].CapturedAt.IsZero() || !g.Members.Identified() {
			continue
		}
		for id := range g.Members.Identities() {
			if there[id] {
				return j.minutes(i, at.snapshot)
			}
		}
	}
	return 0
}

// riseOf is how a family rose in the run of the process that a sighting is of.
func (j *JudgedSeries) riseOf(fingerprint string, at sighting) knowledge.Rise {
	out := knowledge.Rise{Present: -1}
	counts, start := j.Trend.Counts(fingerprint), j.Trend.EpochStart(at.snapshot)
	count := func(i int) int {
		if counts[i] == nil {
			return 0
		}
		return *counts[i]
	}
	first, began := -1, -1
	for i := start; i <= at.snapshot; i++ {
		if first < 0 && count(i) > 0 {
			first = i
		}
		if began < 0 && count(i) > count(start) {
			began = i
		}
	}
	taken := j.Snapshots[at.snapshot].CapturedAt
	if began >= 0 {
		out.Began, first = j.Snapshots[began].CapturedAt, began
	}
	if first >= 0 && !taken.IsZero() && !j.Snapshots[first].CapturedAt.IsZero() {
		out.Present = j.minutes(first, at.snapshot)
	}
	born := 0
	for _, c := range j.Trend.Cohorts(fingerprint) {
		if c.From >= start && c.To <= at.snapshot {
			born += c.Born
		}
	}
	if span := taken.Sub(j.Snapshots[start].CapturedAt).Minutes(); span > 0 && !j.Snapshots[start].CapturedAt.IsZero() {
		out.PerMinute = float64(born) / span
	}
	out.Level = j.Trend.Levelled(fingerprint)
	return out
}

// proven reports a growth that identities or a unit prove.
func (j *JudgedSeries) proven(fingerprint string, judgement analysis.Judgement) bool {
	if j.Trend.UnitOf(fingerprint) != "" {
		return true
	}
	return judgement.Verdict == analysis.Leaking && (judgement.Survivors >= 0 || hasRule(judgement, "leaked_mark") || hasRule(judgement, "ages"))
}

// versionsOf is what a snapshot says of versions, or the nearest one before it: a
// page of metrics that hangs tells nothing.
func (j *JudgedSeries) versionsOf(g *analysis.Group, at int) knowledge.SeenVersions {
	out := knowledge.SeenVersions{Program: j.Snapshots[at].Process.Name.Value}
	for i := at; i >= j.Trend.EpochStart(at); i-- {
		if v := j.Snapshots[i].Process.Version; v.Known() {
			out.Text, out.Source = v.Value, v.Source
			break
		}
	}
	out.Files = func() []string { return append(modules(g), j.modulesOf(j.Trend.Epochs[at])...) }
	return out
}

// modules are the file names of a group's first stack that hold a module's version.
func modules(g *analysis.Group) []string {
	if len(g.Variants) == 0 || g.Variants[0].Stack == nil {
		return nil
	}
	var out []string
	for _, f := range g.Variants[0].Stack.Frames {
		if strings.Contains(f.File, "@v") {
			out = append(out, f.File)
		}
	}
	return out
}

// modulesOf are such file names of all stacks of one run of the process, by its last
// snapshot with goroutines.
func (j *JudgedSeries) modulesOf(epoch int) []string {
	if files, ok := j.files[epoch]; ok {
		return files
	}
	var out []string
	seen := map[string]bool{}
	for i := len(j.Snapshots) - 1; i >= 0 && out == nil; i-- {
		if j.Trend.Epochs[i] != epoch {
			continue
		}
		for k := range j.Snapshots[i].Groups {
			for _, file := range modules(&j.Snapshots[i].Groups[k]) {
				at := strings.Index(file, "@v")
				if end := strings.IndexByte(file[at:], '/'); end > 0 {
					file = file[:at+end+1]
				}
				if !seen[file] {
					seen[file] = true
					out = append(out, file)
				}
			}
		}
	}
	if j.files == nil {
		j.files = map[int][]string{}
	}
	j.files[epoch] = out
	return out
}

// unitsOf counts what healthy goroutines belong to.
func unitsOf(s *analysis.Snapshot) knowledge.Units {
	u := knowledge.Units{}
	pods, known := 0.0, false
	for _, name := range []string{"kubelet_running_pods", "kubelet_desired_pods"} {
		if v, ok := s.Figures[name]; ok && !math.IsNaN(v) {
			pods, known = max(pods, v), true
		}
	}
	if known {
		u["pod"] = int(pods)
	}
	listeners, connections, ended := 0, 0, false
	for i := range s.Groups {
		a := s.Groups[i].Family.Attributes
		switch {
		case s.Groups[i].Family.Kind != analysis.KindDescriptor:
		case a["role"] == "listen":
			listeners, ended = listeners+s.Groups[i].Count, true
		case a["type"] == "tcp" || a["type"] == "tcp6" || a["type"] == "unix":
			connections, ended = connections+s.Groups[i].Count, true
		}
	}
	if ended && !s.Bounded(analysis.KindDescriptor) {
		u["listener"], u["connection"] = listeners, connections
	}
	return u
}

// beforeDeciding puts evidence in front of what would change the verdict.
func beforeDeciding(have []analysis.Evidence, e analysis.Evidence) []analysis.Evidence {
	at := slices.IndexFunc(have, func(x analysis.Evidence) bool { return x.Rule == "decides" })
	if at < 0 {
		at = len(have)
	}
	return slices.Insert(slices.Clone(have), at, e)
}

// withUnits gives families the classes that they have only together with others of
// their unit: the connections of an informer.
func (j *JudgedSeries) withUnits() {
	for _, u := range j.Trend.Units() {
		own := map[*knowledge.Class]bool{}
		for _, share := range u.Families {
			for _, hit := range j.known[share.Fingerprint].Classes {
				own[hit.Class] = true
			}
		}
		for _, share := range u.Families {
			r := j.known[share.Fingerprint]
			for _, hit := range r.Follows {
				if own[hit.Class] && !slices.ContainsFunc(r.Classes, func(h knowledge.ClassHit) bool { return h.Class == hit.Class }) {
					r.Classes = append(r.Classes, hit)
				}
			}
			j.known[share.Fingerprint] = r
		}
	}
}

// explain writes what the catalogue says into a family of the contract.
func (j *JudgedSeries) explain(out *Family) {
	r := j.known[out.Fingerprint]
	if a, ok := j.aside[out.Fingerprint]; ok {
		out.SetAside = &SetAside{ByFigures: a.figures, Entry: a.by}
	}
	for _, hit := range r.Classes {
		out.Classes = append(out.Classes, hit.Class.Key)
		out.ClassNotes = noted(out.ClassNotes, hit)
	}
	for _, m := range r.Known {
		if m.Speaks() {
			out.Known = append(out.Known, m.Entry.ID)
		}
		out.KnownLeaks = append(out.KnownLeaks, knownLeak(m))
	}
	if h := r.Healthy; h != nil {
		out.Normal = &Normal{ID: h.Normal.ID, Library: h.Normal.Library, Reason: sentence(h.Text), Expected: h.Normal.Expected.Text, Note: h.Normal.Note}
		if h.Known {
			allowed := h.Expected
			out.Normal.Allowed = &allowed
		}
	}
}

func knownLeak(m knowledge.Match) KnownLeak {
	e := m.Entry
	return KnownLeak{
		ID: e.ID, Title: e.Title, Status: e.Status, Basis: m.Basis, Text: m.Text, RuledOut: m.RuledOut, Affected: e.Affected, Fixed: e.FixedIn, VerifiedBy: e.VerifiedBy,
		Seen: m.Versions.Seen, Verdict: m.Versions.Verdict, Compare: m.Versions.Text, Trigger: e.Trigger, Remedy: e.Remedy, Reference: e.URL, Origin: e.Origin,
	}
}

// accused are the points without the families that the catalogue cleared.
func (j *JudgedSeries) accused(points []trend.Point) []trend.Point {
	if len(j.weighed) == 0 {
		return points
	}
	var aside []trend.Point
	cleared := func(print string) bool { return j.weighed[print] && !rising(j.Judged[print].Verdict) }
	var out []trend.Point
	for _, p := range points {
		if p.Section != trend.Observed && p.Section != trend.MayHold && len(p.Families) > 0 && !slices.ContainsFunc(p.Families, func(print string) bool { return !cleared(print) }) &&
			slices.ContainsFunc(p.Families, func(print string) bool { return j.aside[print].by != "" }) {
			p.Section = setAside // it is told, and accuses nobody
			aside = append(aside, p)
			continue
		}
		if cleared(p.Of) || !slices.ContainsFunc(p.Families, func(print string) bool { return !cleared(print) }) {
			continue
		}
		out = append(out, p)
	}
	return append(out, aside...)
}

// setAside is the section of what grows and is known to be no leak.
const setAside trend.Section = "no_leak"

// above are findings on families that are more than expected, where trend alone says
// nothing.
func (j *JudgedSeries) above(families []Family) []Finding {
	var out []Finding
	for i := range families {
		f := &families[i]
		if !j.weighed[f.Fingerprint] || !rising(f.Verdict) {
			continue
		}
		out = append(out, Finding{Verdict: f.Verdict, Families: []string{f.Fingerprint}, Counts: f.Counts, Evidence: f.Evidence, Next: j.next(f),
			Title: fmt.Sprintf("%s: %s, more than expected", f.Title, wording.Members(f.Kind, lastCount(f.Counts))),
			Text:  j.paragraph(j.inWords(f.Counts, f.Kind), f.Evidence)})
	}
	return out
}

// mostKnown is how many known leaks a finding shows.
const mostKnown = 12

// learn gives a finding the classes, signs and known leaks of its families. The
// capture's own families and those that may hold something are not accused.
func (j *JudgedSeries) learn(f *Finding, byPrint map[string]*Family) {
	if f.Kind == ObserverFinding || f.Kind == HolderFinding {
		return
	}
	seen := map[string]bool{}
	signs, place := map[sign]int{}, map[sign]int{}
	var order []sign
	for _, print := range f.Families {
		family := byPrint[print]
		if family == nil {
			continue
		}
		r := j.known[print]
		classes := r.Classes
		if f.Kind == NoLeakFinding || f.Verdict.Rose() && !accusing(f.Verdict) {
			classes = nil // nothing is wrong that would have a cause
		}
		for _, hit := range classes {
			if hit.Rest {
				continue
			}
			if !slices.Contains(f.Classes, hit.Class.Key) {
				f.Classes = append(f.Classes, hit.Class.Key)
			}
			f.ClassNotes = noted(f.ClassNotes, hit)
			if hit.Sign != "" {
				key := signOf(family.Kind, hit)
				if signs[key] == 0 {
					order = append(order, key)
					place[key] = signPlace(hit)
				}
				signs[key] += peak(family.Counts)
			}
		}
		for _, m := range r.Known {
			if (m.Speaks() || m.Basis == knowledge.Possible) && !seen[m.Entry.ID] {
				seen[m.Entry.ID] = true
				f.Known = append(f.Known, knownLeak(m))
			}
			if m.Similar && !seen[m.Entry.ID] {
				seen[m.Entry.ID] = true
				f.Similar = append(f.Similar, m.Entry.ID)
			}
			if m.RuledOut && !seen[m.Entry.ID] {
				seen[m.Entry.ID] = true
				f.RuledOut = append(f.RuledOut, knownLeak(m))
			}
		}
	}
	slices.SortStableFunc(order, func(a, b sign) int { return place[a] - place[b] })
	for _, key := range order {
		count := strconv.Itoa(signs[key])
		if all := j.allOf(key, byPrint); all > signs[key] {
			count += fmt.Sprintf(" of %d", all)
		}
		f.Signs = append(f.Signs, count+" "+key.text)
		f.SignsOf = append(f.SignsOf, key.class)
	}
	f.Known, f.RuledOut = f.Known[:min(len(f.Known), mostKnown)], f.RuledOut[:min(len(f.RuledOut), mostKnown)]
	f.Similar = f.Similar[:min(len(f.Similar), mostKnown)]
}

// sign is a form of a class, in words with what it counts.
type sign struct{ class, text string }

func signOf(k analysis.Kind, hit knowledge.ClassHit) sign {
	return sign{hit.Class.Key, kindOrSign(k, hit.Sign)}
}

// allOf counts the members of all families of the series that have a sign, those that do
// not grow too.
func (j *JudgedSeries) allOf(s sign, byPrint map[string]*Family) int {
	all := 0
	for print, r := range j.known {
		if f := byPrint[print]; f != nil && slices.ContainsFunc(r.Classes, func(hit knowledge.ClassHit) bool { return hit.Sign != "" && signOf(f.Kind, hit) == s }) {
			all += peak(f.Counts)
		}
	}
	return all
}

// signPlace orders the signs of a class as the catalogue does: the gravest first.
func signPlace(hit knowledge.ClassHit) int {
	return slices.IndexFunc(hit.Class.Patterns, func(p knowledge.ClassPattern) bool { return p.Sign == hit.Sign })
}

// kindOrSign is a sign with the members it counts in front, where it does not name
// them itself.
func kindOrSign(k analysis.Kind, sign string) string {
	if strings.HasPrefix(sign, "on ") || strings.HasPrefix(sign, "inside ") {
		return wording.Kinds(k) + " " + sign
	}
	return sign
}

func peak(counts []*int) int {
	most := 0
	for _, c := range counts {
		if c != nil {
			most = max(most, *c)
		}
	}
	return most
}

// stated are the classes of what a snapshot states itself.
func (j *JudgedSeries) stated(key string) []string {
	var out []string
	for _, hit := range j.catalogue.OfStatement(key) {
		if !hit.WithGrowth || j.accuses(hit.Class) {
			out = append(out, hit.Class.Key)
		}
	}
	return out
}

// accuses reports whether a family of a class is accused.
func (j *JudgedSeries) accuses(class *knowledge.Class) bool {
	for print, r := range j.known {
		if accusing(j.Judged[print].Verdict) && slices.ContainsFunc(r.Classes, func(hit knowledge.ClassHit) bool { return hit.Class == class && !hit.Rest }) {
			return true
		}
	}
	return false
}

// accusing reports a verdict that accuses.
func accusing(v analysis.Verdict) bool { return v == analysis.Leaking || v == analysis.Suspicious }

// used are the classes that findings and growing families name.
func used(c *knowledge.Catalogue, series []Series) *Knowledge {
	out := &Knowledge{Catalogue: c.Version(), Classes: []Class{}}
	named := map[string]bool{}
	for _, s := range series {
		for _, f := range s.Findings {
			for _, key := range f.Classes {
				named[key] = true
			}
		}
		for _, f := range s.Families {
			if accusing(f.Verdict) {
				for _, key := range f.Classes {
					named[key] = true
				}
			}
		}
	}
	for _, class := range c.Classes() {
		if named[class.Key] {
			out.Classes = append(out.Classes, Class{Class: class, Corrections: c.Corrections(class.Key)})
		}
	}
	return out
}

// ClassOf finds a class in the report, nil where no finding names it.
func (r *Report) ClassOf(key string) *Class {
	if r.Knowledge == nil {
		return nil
	}
	for i := range r.Knowledge.Classes {
		if r.Knowledge.Classes[i].Key == key {
			return &r.Knowledge.Classes[i]
		}
	}
	return nil
}

// Told is a class as a finding or family shows it: under the name that its form has, with
// upgrades compared.
func (n ClassNote) Told(class knowledge.Class) knowledge.Class {
	class.Cause = cmp.Or(n.Cause, class.Cause)
	upgrades := n.Upgrades
	if upgrades == nil {
		for _, u := range class.Upgrades {
			upgrades = append(upgrades, u.Text)
		}
	}
	class.Remedy = slices.Concat(class.Remedy, upgrades)
	return class
}

// SignsOfClass are the signs of one class; those of findings that were kept without their
// classes belong to the first.
func (f *Finding) SignsOfClass(key string) []string {
	var out []string
	for i, sign := range f.Signs {
		if i < len(f.SignsOf) && f.SignsOf[i] == key || len(f.SignsOf) == 0 && len(f.Classes) > 0 && f.Classes[0] == key {
			out = append(out, sign)
		}
	}
	return out
}

// thresholds are those that circulate for a process and for the classes of its findings,
// beside what this series shows.
func (j *JudgedSeries) thresholds(findings []Finding) []Threshold {
	var classes []string
	for _, f := range findings {
		classes = append(classes, f.Classes...)
	}
	var out []Threshold
	for _, t := range j.catalogue.Thresholds(j.Snapshots[0].Process.Name.Value, classes) {
		shown := Threshold{Name: t.Name, Text: t.Text}
		if t.Figure != "" {
			if shown.Seen, shown.Passed = j.against(t); shown.Seen == "" && len(t.Classes) == 0 {
				continue // nothing of this process can be compared with it
			}
		}
		out = append(out, shown)
	}
	return out
}

// against sets the totals of goroutines against a threshold: the first complete one is
// the baseline, the highest of its epoch what is compared.
func (j *JudgedSeries) against(t knowledge.Threshold) (string, bool) {
	first, top, end := -1, -1, -1
	for i, s := range j.Snapshots {
		n := s.Totals.Goroutines
		if n == nil || s.Bounded(analysis.KindGoroutine) {
			continue
		}
		if first < 0 {
			first = i
		}
		if j.Trend.Epochs[i] != j.Trend.Epochs[first] {
			continue
		}
		end = i
		if top < 0 || *n > *j.Snapshots[top].Totals.Goroutines {
			top = i
		}
	}
	if first < 0 {
		return "", false
	}
	from, to, last := *j.Snapshots[first].Totals.Goroutines, *j.Snapshots[top].Totals.Goroutines, *j.Snapshots[end].Totals.Goroutines
	label := func(i int) string { return j.Snapshots[i].Label }
	switch t.Figure {
	case "total":
		if top == first {
			return fmt.Sprintf("%d at %s", from, label(first)), float64(to) > t.To
		}
		return fmt.Sprintf("%d at %s, %d at %s", from, label(first), to, label(top)), float64(to) > t.To
	case "rise":
		switch {
		case end == first:
			return "", false
		case top == first: // never above where it began
			return fmt.Sprintf("%+d from %s to %s", last-from, label(first), label(end)), false
		}
		text := fmt.Sprintf("+%d from %s to %s", to-from, label(first), label(top))
		if float64(to-from) > t.To && float64(last-from) <= t.To {
			return text + fmt.Sprintf(", back at %d at %s: they did not stay", last, label(end)), false
		}
		return text, float64(last-from) > t.To
	case "day_share":
		hours := j.Snapshots[end].CapturedAt.Sub(j.Snapshots[first].CapturedAt).Hours()
		if from == 0 || hours <= 0 || j.Snapshots[first].CapturedAt.IsZero() {
			return "", false
		}
		share := float64(last-from) / float64(from) / hours * 24
		if hours < 6 {
			return fmt.Sprintf("the snapshots span %s, which says nothing about a day", spanWords(hours)), false
		}
		return fmt.Sprintf("%+.0f %% per day", 100*share), share > t.To
	}
	return "", false
}

func spanWords(hours float64) string {
	switch seconds := math.Round(hours * 3600); {
	case seconds < 60:
		return fmt.Sprintf("%.0f s", seconds)
	case seconds < 3600:
		return fmt.Sprintf("%.0f min", math.Ceil(seconds/60))
	}
	return fmt.Sprintf("%.1f h", hours)
}

// healthy counts the normal stacks of the last snapshot with goroutines.
func (j *JudgedSeries) healthy() *Healthy {
	for i := len(j.Snapshots) - 1; i >= 0; i-- {
		s := j.Snapshots[i]
		if s.Totals.Goroutines == nil {
			continue
		}
		out := &Healthy{Snapshot: s.ID, Of: *s.Totals.Goroutines}
		for k := range s.Groups {
			g := &s.Groups[k]
			h := j.known[g.Family.Fingerprint].Healthy
			if h == nil || !h.Within || rising(j.Judged[g.Family.Fingerprint].Verdict) && j.Judged[g.Family.Fingerprint].RecoveredAt < 0 {
				continue
			}
			out.Members, out.Families = out.Members+g.Count, out.Families+1
		}
		if out.Families == 0 {
			return nil
		}
		out.Text = fmt.Sprintf("%d of %s at %s are in %s of normal stacks, within what is expected as far as it can be counted.", out.Members, wording.Members(analysis.KindGoroutine, out.Of), s.Label,
			wording.Plural(out.Families, "family", "families"))
		return out
	}
	return nil
}
