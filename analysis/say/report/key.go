package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/trend"
	"leakdiff/analysis/read/family"
	"leakdiff/analysis/say/noun"
	"leakdiff/analysis/say/wording"
)

// mostKeyed is how many families of a key a finding lists.
const mostKeyed = 40

// withKeys adds the findings on keys that grow: a leak that makes a new family each time. They
// stand among the findings of their verdict; the families that they tell have none of their
// own.
func (j *JudgedSeries) withKeys(findings []Finding, byPrint map[string]*Family) []Finding {
	accused := slices.ContainsFunc(findings, func(f Finding) bool { return f.Kind == "" && rising(f.Verdict) })
	var totals []TotalRise
	for _, k := range j.Trend.Keys() {
		if accused && !rising(k.Judgement.Verdict) {
			continue // beside an accusation the table suffices
		}
		f := Finding{
			Verdict: k.Judgement.Verdict, Counts: k.Counts, Evidence: j.worded(k.Judgement.Evidence, string(k.Kind), wording.Kinds(k.Kind)),
			Key: &FindingKey{By: k.By, Kind: k.Kind, Name: k.Name, Families: k.Of, Life: k.Judgement.Life, DecidesIn: k.Judgement.DecidesIn, Moving: k.Moving},
		}
		for _, print := range k.Families[:min(len(k.Families), mostKeyed)] {
			if byPrint[print] != nil {
				f.Families = append(f.Families, print)
			}
		}
		if len(f.Families) == 0 {
			continue
		}
		if f.Key.one() {
			whole := f.Key.whole(byPrint[f.Families[0]])
			whole.Verdict = f.Verdict
			f.Next = j.next(&whole)
		}
		f.Text = fmt.Sprintf("They are in %s, none of which grows by itself.", wording.Plural(k.Of, "stack group", "stack groups"))
		if k.Moving {
			f.Text = fmt.Sprintf("They move between %s and are counted as one.", wording.Plural(k.Of, "stack group", "stack groups"))
		}
		if k.By == trend.ByPath {
			f.Text = fmt.Sprintf("They are of %s, which differ in one name.", wording.Plural(k.Of, "path", "paths"))
		}
		if k.By == trend.ByTotal {
			if totals == nil {
				totals = j.totalsRisen()
			}
			for _, t := range totals {
				if t.Kind == k.Kind {
					f.Text += t.most()
				}
			}
		}
		findings = slices.DeleteFunc(findings, func(x Finding) bool {
			return x.Kind == "" && (k.Moving || k.By == trend.ByPath || !rising(x.Verdict)) && !slices.ContainsFunc(x.Families, func(print string) bool { return !slices.Contains(k.Families, print) })
		})
		at := 0
		for at < len(findings) && findings[at].Kind == "" && findings[at].Verdict.Rank() <= f.Verdict.Rank() {
			at++
		}
		findings = slices.Insert(findings, at, f)
	}
	return findings
}

// scattered reports families that are different things: one of them explains none of the others. Those
// of a creator, of a population and of a path are one.
func (k *FindingKey) scattered() bool {
	return k != nil && k.By != trend.ByCreator && !k.one()
}

// one reports families that are one thing in several states or places.
func (k *FindingKey) one() bool { return k.By == trend.ByPopulation || k.By == trend.ByPath }

// whole is a family without what tells it from other states of its population: the stack of threads
// and what their names tell of it, the state of sockets, the name in a path.
func (k *FindingKey) whole(f *Family) Family {
	out := *f
	out.Attributes = maps.Clone(f.Attributes)
	if name := f.Attributes["name"]; f.Kind == analysis.KindThread && name != "" {
		out.Title, out.Name = name, ""
		if f.Attributes["pool"] != k.Name {
			out.Title, out.Attributes["pool"] = k.Name, k.Name
		}
	}
	if k.By == trend.ByPath {
		out.Title = k.Name
	}
	delete(out.Attributes, "state")
	return out
}

// subjectOfPopulation names what moves between states, after the largest of them without its state.
func (s *Series) subjectOfPopulation(nouns noun.List, f *Finding, lead *Family) subject {
	whole := f.Key.whole(lead)
	out := s.nameOf(nouns, &whole, f)
	out.counts = f.Counts
	out.lives(f.Key.Life)
	out.follow(lead.Kind, f.Evidence)
	return out
}

// entryOf is the own function that all members of a finding began with, "" where they began with several.
func (s *Series) entryOf(f *Finding) (entry string) {
	for _, print := range f.Families {
		x := s.family(print)
		switch {
		case x == nil || x.entry() == "" || family.OfStandardLibrary(x.entry()) || ofInit(x.entry()):
			return ""
		case entry != "" && entry != x.entry():
			return ""
		}
		entry = x.entry()
	}
	return entry
}

// subjectOfKey names what shares a key: "goroutines started by tenant.Open".
func (s *Series) subjectOfKey(nouns noun.List, f *Finding) subject {
	if lead := s.lead(f); f.Key.one() && lead != nil {
		return s.subjectOfPopulation(nouns, f, lead)
	}
	kind := cmp.Or(f.Key.Kind, analysis.KindGoroutine)
	worded := kind
	file := func(print string) bool { x := s.family(print); return x == nil || x.Attributes["protocol"] == "" }
	if kind == analysis.KindDescriptor && !slices.ContainsFunc(f.Families, file) {
		worded = analysis.KindSocket
	}
	out := subject{one: string(worded), many: wording.Kinds(worded), began: "started", ended: "ended", counts: f.Counts}
	out.follow(kind, f.Evidence)
	switch f.Key.By {
	case trend.ByCreator:
		out.place = s.placeOfCreator(f)
	case trend.ByPackage:
		out.place = " in package " + f.Key.Name
	}
	if kind == analysis.KindDescriptor {
		out.began, out.ended = "opened", "closed"
	}
	out.lives(f.Key.Life)
	return out
}

// placeOfCreator says where goroutines are that move between stacks: in the own function with which
// all of them began, else who started them, as the dumps print it where all were started by one: of
// a closure the key has only the function around it, "main.init".
func (s *Series) placeOfCreator(f *Finding) string {
	if entry := s.entryOf(f); f.Key.Moving && entry != "" {
		return " in " + shortRole(entry)
	}
	starter := ""
	for k, print := range f.Families {
		switch x := s.family(print); {
		case x == nil:
		case k == 0:
			starter = x.Starter
		case x.Starter != starter:
			starter = ""
		}
	}
	return " of " + shortRole(cmp.Or(starter, f.Key.Name))
}
