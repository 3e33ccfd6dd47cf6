package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/knowledge"
	"leakdiff/analysis/judge/trend"
	"leakdiff/analysis/say/evidence"
	"leakdiff/analysis/say/wording"
)

// Knowledge is the part of the catalogue that the findings of a report name.
type Knowledge struct {
	// Catalogue is its version. Any change of the catalogue is another version.
	Catalogue string  `json:"catalogue"`
	Classes   []Class `json:"classes"`
}

// Class is a class with the catalogue's corrections of common advice.
type Class struct {
	knowledge.Class
	Corrections []knowledge.Correction `json:"corrections,omitempty"`
}

// KnownLeak is an entry of the catalogue beside a family or finding.
type KnownLeak struct {
	ID     string           `json:"id"`
	Title  string           `json:"title"`
	Status knowledge.Status `json:"status"`
	// Basis is growth, "above expected" or "waits" if more than the signature matches.
	// It is "one of several possible" for a growing listing, which shows no stack, and
	// "looks alike" otherwise.
	Basis knowledge.Basis `json:"basis"`
	Text  string          `json:"text"`
	// RuledOut reports that stack, state and growth match the entry and only the seen
	// version contradicts it.
	RuledOut bool `json:"ruled_out,omitempty"`
	// Affected and Fixed are quoted from the report. VerifiedBy describes how the fix
	// was verified.
	Affected   string `json:"affected,omitempty"`
	Fixed      string `json:"fixed,omitempty"`
	VerifiedBy string `json:"fixed_verified_by,omitempty"`
	// Seen is the version in the evidence, Compare its relation to the entry.
	Seen    string                   `json:"seen,omitempty"`
	Verdict knowledge.VersionVerdict `json:"version_verdict,omitempty"`
	Compare string                   `json:"compare,omitempty"`
	// Advisories are the CVE, GHSA and GO ids of the entry.
	Advisories []string `json:"advisories,omitempty"`
	Trigger    string   `json:"trigger,omitempty"`
	Remedy     string   `json:"remedy,omitempty"`
	// Workaround is what helps until an upgrade.
	Workaround string `json:"workaround,omitempty"`
	// Reference is the address of the report.
	Reference string `json:"reference,omitempty"`
	// Component is what has the versions, Releases are those with the fix where none was seen.
	Component string   `json:"component,omitempty"`
	Releases  []string `json:"releases,omitempty"`
	// Fix is the next release after the seen one that has the fix, "" where that is not affected.
	Fix string `json:"fix,omitempty"`
	// Origin is the overlay file that the entry came from.
	Origin string `json:"origin,omitempty"`
}

// ClassNote is what the evidence adds to a class: another name of the cause, if only
// some of its forms were seen, and its upgrades compared with the seen version.
type ClassNote struct {
	Cause    string   `json:"cause,omitempty"`
	Upgrades []string `json:"upgrades,omitempty"`
	// Rest reports that its members are at rest. They belong to the class, but the
	// class does not make them grow.
	Rest bool `json:"rest,omitempty"`
}

// noted adds what a family shows of its class. The class keeps its own name if one of
// the families has a form without another.
func noted(notes map[string]ClassNote, hit knowledge.ClassHit) map[string]ClassNote {
	key := hit.Class.Key
	note, have := notes[key]
	switch {
	case !have:
		note = ClassNote{Cause: cmp.Or(hit.Cause, hit.Class.Cause), Upgrades: evidence.Upgrades(hit.Class, hit.Upgrades), Rest: hit.Rest}
	case hit.Cause == "":
		note.Cause = hit.Class.Cause
	}
	if notes == nil {
		notes = map[string]ClassNote{}
	}
	notes[key] = note
	return notes
}

// SetAside reports that an entry of the catalogue knows a growth to be no leak.
type SetAside struct {
	// ByFigures is the verdict by figures alone.
	ByFigures analysis.Verdict `json:"by_figures"`
	Entry     string           `json:"entry"`
}

// Normal is the normal stack of a family.
type Normal struct {
	ID       string `json:"id"`
	Library  string `json:"library"`
	Reason   string `json:"reason"`
	Expected string `json:"expected"`
	// Allowed is the number that the evidence allows, null if its unit was not counted.
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

// consult consults the catalogue on every family of a series and combines the verdicts
// with its results.
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
				judgement.Evidence = append([]analysis.Evidence{rank.Evidence}, judgement.Evidence...) // it explains the verdict, the others contradict it
			} else {
				judgement.Evidence = beforeDeciding(judgement.Evidence, rank.Evidence)
			}
			if rank.Changed {
				j.weighed[f.Fingerprint] = true
				judgement.Verdict, judgement.RecoveredAt = rank.Verdict, -1
				// What would decide the verdict by figures decides nothing now.
				judgement.Evidence = slices.DeleteFunc(judgement.Evidence, func(e analysis.Evidence) bool { return e.Rule == "decides" })
			}
			j.Judged[f.Fingerprint] = judgement
		}
	}
	j.withUnits()
}

// aside is an accusation that an entry of the catalogue sets aside: the verdict by
// figures, and the entry.
type aside struct {
	figures analysis.Verdict
	by      string
}

// beforeDeciding inserts evidence before what would change the verdict.
func beforeDeciding(have []analysis.Evidence, e analysis.Evidence) []analysis.Evidence {
	at := slices.IndexFunc(have, func(x analysis.Evidence) bool { return x.Rule == "decides" })
	if at < 0 {
		at = len(have)
	}
	return slices.Insert(slices.Clone(have), at, e)
}

// withUnits adds the classes that families have only together with others of their
// unit: the connections of an informer.
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

// explain copies the catalogue's result into a family of the contract.
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
		out.Normal = &Normal{ID: h.Normal.ID, Library: h.Normal.Library, Reason: sentence(evidence.Normal(h.Reason)), Expected: h.Normal.Expected.Text, Note: h.Normal.Note}
		if h.Known {
			allowed := h.Expected
			out.Normal.Allowed = &allowed
		}
	}
}

func knownLeak(m knowledge.Match) KnownLeak {
	e := m.Entry
	releases := e.Versions.Fixed
	if m.Versions.Seen != "" || m.Basis != knowledge.Growth && m.Basis != knowledge.Looks {
		releases = nil // the seen one is compared with them, or nothing is said of them
	}
	return KnownLeak{
		ID: e.ID, Title: e.Title, Status: e.Status, Basis: m.Basis, Text: evidence.Meaning(m), RuledOut: m.RuledOut, Affected: e.Affected, Fixed: e.FixedIn, VerifiedBy: e.VerifiedBy,
		Seen: m.Versions.Seen, Verdict: m.Versions.Verdict, Compare: evidence.Releases(e, m.Versions), Advisories: e.Advisories, Trigger: e.Trigger, Remedy: e.Remedy, Workaround: e.Workaround, Reference: e.URL, Component: m.Versions.Component, Fix: m.Versions.Fix, Releases: releases, Origin: e.Origin,
	}
}

// accused returns the points without the families that the catalogue cleared.
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
			p.Section = setAside // it is shown and accuses nobody
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

// setAside is the section of growth that is known to be no leak.
const setAside trend.Section = "no_leak"

// above returns findings on families above their expected count, for which trend alone
// has no finding.
func (j *JudgedSeries) above(families []Family, found []Finding) []Finding {
	var out []Finding
	for i := range families {
		f := &families[i]
		if !j.weighed[f.Fingerprint] || !rising(f.Verdict) || slices.ContainsFunc(found, func(x Finding) bool { return x.Kind == "" && slices.Contains(x.Families, f.Fingerprint) }) {
			continue
		}
		out = append(out, Finding{Verdict: f.Verdict, Families: []string{f.Fingerprint}, Counts: f.Counts, Evidence: f.Evidence, Next: j.next(f),
			Title: fmt.Sprintf("%s: %s, more than expected", f.Title, wording.Members(f.Kind, f.Counts.Last()))})
	}
	return out
}

// mostKnown is how many known leaks a finding shows.
const mostKnown = 12

// learn adds to a finding the classes, signs and known leaks of its families. The
// capture's own families and possible holders are not accused.
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
			classes = nil // nothing is wrong, so there is no cause
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
					place[key] = slices.IndexFunc(hit.Class.Patterns, func(p knowledge.ClassPattern) bool { return p.Sign == hit.Sign }) // the gravest first
				}
				signs[key] += family.Counts.Highest()
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
	f.Advisories = advisories(f.Known)
	f.Similar = f.Similar[:min(len(f.Similar), mostKnown)]
}

// advisories are the ids of the known leaks that a finding names, without those that are
// only possible.
func advisories(known []KnownLeak) []string {
	var out []string
	for _, k := range known {
		for _, id := range k.Advisories {
			if k.Basis != knowledge.Possible && !slices.Contains(out, id) {
				out = append(out, id)
			}
		}
	}
	return out
}

// sign is a form of a class, in words with what it counts.
type sign struct{ class, text string }

func signOf(k analysis.Kind, hit knowledge.ClassHit) sign {
	return sign{hit.Class.Key, kindOrSign(k, hit.Sign)}
}

// allOf counts the members of all families of the series with a sign, including those
// that do not grow.
func (j *JudgedSeries) allOf(s sign, byPrint map[string]*Family) int {
	all := 0
	for print, r := range j.known {
		if f := byPrint[print]; f != nil && slices.ContainsFunc(r.Classes, func(hit knowledge.ClassHit) bool { return hit.Sign != "" && signOf(f.Kind, hit) == s }) {
			all += f.Counts.Highest()
		}
	}
	return all
}

// kindOrSign is a sign with the counted members in front, if it does not name them
// itself.
func kindOrSign(k analysis.Kind, sign string) string {
	if strings.HasPrefix(sign, "on ") || strings.HasPrefix(sign, "inside ") {
		return wording.Kinds(k) + " " + sign
	}
	return sign
}

// stated returns the classes of a snapshot's own statement.
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

// used returns the classes that findings and growing families name.
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

// ClassOf returns a class of the report, or nil if no finding names it.
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

// Told is a class as a finding or family shows it: under the name of its form, with
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

// SignsOfClass returns the signs of one class. Signs of findings stored without their
// classes belong to the first class.
func (f *Finding) SignsOfClass(key string) []string {
	var out []string
	for i, sign := range f.Signs {
		if i < len(f.SignsOf) && f.SignsOf[i] == key || len(f.SignsOf) == 0 && len(f.Classes) > 0 && f.Classes[0] == key {
			out = append(out, sign)
		}
	}
	return out
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
		out.Text = fmt.Sprintf("%d of %s at %s are in normal stacks.", out.Members, wording.Members(analysis.KindGoroutine, out.Of), s.Label)
		return out
	}
	return nil
}
