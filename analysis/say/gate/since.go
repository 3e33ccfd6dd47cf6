package gate

import (
	"slices"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/trend"
	"leakdiff/analysis/say/report"
	"leakdiff/analysis/say/wording"
)

// since finds what is more than in the baseline although the report by itself accuses it of
// nothing.
type since struct {
	*gated
	// told are the families that something was said of, and totals the kinds.
	told   map[string]bool
	totals map[analysis.Kind]bool
	// families are those of the report, by fingerprint.
	families map[string]*report.Family
	// both are the captures of the baseline and of now, judged together, nil where they are not
	// of one start of the process or the baseline is a report.
	both *report.Since
	// unclear are titles of what is more than in a baseline that is cut, and may have been there.
	unclear []string
}

func (s *since) growths() {
	if s.partner != nil {
		if earlier, ok := s.options.Captures[s.partner.number]; ok {
			s.both = s.of.Since(s.number, earlier)
		}
	}
	if s.both != nil {
		s.pairedFamilies()
		s.pairedKeys()
		s.pairedTotals()
	}
	for i := range s.Families {
		f := &s.Families[i]
		before, now := s.then.families[f.Fingerprint].highest, f.Counts.Last()
		if verdict := trend.Compared(before, now); verdict != analysis.Stable && s.open(f) && !s.paired(f.Kind) {
			s.add(f, verdict, before, now)
		}
	}
	s.together()
	if len(s.unclear) > 0 {
		s.leave(wording.BaselineCut(s.Process, s.unclear))
	}
	if g := s.gated; g.cut(analysis.KindGoroutine, analysis.KindThread) && (s.then.kinds[analysis.KindGoroutine] || s.then.kinds[analysis.KindThread]) {
		s.leave(wording.LastCut(s.Process))
	}
}

// leave says what could not be compared.
func (s *since) leave(text string) {
	s.result.Unchecked = append(s.result.Unchecked, report.GateUnchecked{Process: s.Process, Host: s.Host, Text: text})
}

// open reports a family whose growth nothing explains, and of which nothing was said.
func (s *since) open(f *report.Family) bool {
	if s.told[f.Fingerprint] || !s.then.kinds[f.Kind] || f.Verdict == analysis.Scaling || f.RecoveredAt != nil || f.Role == string(trend.ObserverEffect) {
		return false
	}
	if s.both != nil && s.both.Scaling[f.Fingerprint] {
		return false
	}
	known := s.families[f.Fingerprint]
	return known == nil || known == f || s.open(known)
}

// paired reports that the pair shows whether a kind grew: both have whole evidence of it.
func (s *since) paired(kind analysis.Kind) bool {
	if s.both == nil {
		return false
	}
	for _, x := range s.both.Pair.Snapshots {
		if x.Totals.Of(kind) == nil || x.Bounded(kind) {
			return false
		}
	}
	return true
}

// add tells a family.
func (s *since) add(f *report.Family, verdict analysis.Verdict, before, now int) {
	why := ""
	if s.then.families[f.Fingerprint].benign || f.Benign() || f.SetAside != nil {
		why = wording.MarkedBenign
	}
	s.tell(verdict, f.Title, f.Kind, []string{f.Fingerprint}, before, now, why)
}

func (s *since) tell(verdict analysis.Verdict, title string, kind analysis.Kind, families []string, before, now int, why string) {
	for _, print := range families {
		s.told[print] = true
	}
	if why == "" && s.then.bounded(kind) {
		s.unclear = append(s.unclear, title)
		return
	}
	item := s.item(string(verdict), title, wording.SinceBaseline(before, now, kind), families)
	item.Before, item.Now = &before, &now
	item.Sentence = s.sentence(&item, kind)
	s.put(item, why)
}

// sentence says how a thing grew: "goroutines in cart.(*Cart).watch of shop grew from 5 to 301
// since the baseline".
func (s *since) sentence(item *report.GateItem, kind analysis.Kind) string {
	thing := item.Title
	if len(item.Families) == 1 {
		item.Stack = s.of.StackOf(s.number, item.Families)
		if f := ownFrame(item.Stack); f != nil {
			thing = wording.Kinds(kind) + " in " + report.ShortFunction(kind, f.Function)
		}
	}
	return wording.GrewSinceBaseline(thing, s.Process, *item.Before, *item.Now)
}

// pairedFamilies adds the families that grew by the rules for two dumps, which know members by
// identity. Those that grew by less than the bound for what comes and goes count together.
func (s *since) pairedFamilies() {
	small := map[analysis.Kind][]*report.Family{}
	for i := range s.both.Said.Families {
		f := &s.both.Said.Families[i]
		if !f.Verdict.Rose() || !s.open(f) {
			continue
		}
		before, now := max(s.then.families[f.Fingerprint].highest, f.Counts.First()), f.Counts.Last()
		switch {
		case before == 0:
			s.add(f, analysis.New, before, now)
		case beyond(before, now, f.Life):
			s.add(f, analysis.Grew, before, now)
		case now > before:
			small[f.Kind] = append(small[f.Kind], f)
		}
	}
	for _, kind := range analysis.Kinds() {
		var prints []string
		before, now, life := 0, 0, &analysis.Life{}
		for _, f := range small[kind] {
			prints = append(prints, f.Fingerprint)
			before, now = before+f.Counts.First(), now+f.Counts.Last()
			if f.Life == nil || f.Life.Gone > 0 {
				life = nil
			}
		}
		if whole := s.both.Pair.Snapshots[1].Totals.Of(kind); whole != nil && len(prints) >= leastSmall && beyond(before, now, life) && *whole-s.most(kind, "", true) >= now-before {
			s.tell(analysis.Grew, small[kind][0].Title+" and "+wording.Plural(len(prints)-1, "more family", "more families"), kind, prints, before, now, "")
		}
	}
}

// leastSmall is how many families that grew by little count together.
const leastSmall = 3

// pairedKeys adds what grew by its creator, its package or its kind, in families of which none
// grew by itself.
func (s *since) pairedKeys() {
	for _, k := range s.both.Pair.Trend.Keys() {
		before, now := k.Counts.First(), k.Counts.Last()
		title := "All " + wording.Kinds(k.Kind)
		switch k.By {
		case trend.ByCreator:
			title = "Goroutines of " + k.Name
			before = max(before, s.most(k.Kind, k.Name, true))
		case trend.ByPackage:
			title = "Goroutines in package " + k.Name
		case trend.ByPopulation, trend.ByPath:
			title = wording.Capital(wording.Kinds(k.Kind)) + " of " + k.Name
		default:
			before = max(before, s.most(k.Kind, "", true))
		}
		said := slices.ContainsFunc(k.Families, func(print string) bool { return s.told[print] })
		if !said && s.then.kinds[k.Kind] && beyond(before, now, k.Judgement.Life) {
			s.tell(grewFrom(before), title, k.Kind, k.Families, before, now, "")
		}
	}
}

// pairedTotals adds the kinds of which more are there, where no family says why.
func (s *since) pairedTotals() {
	for _, t := range s.both.Pair.Trend.Totals() {
		before := max(t.From, s.most(t.Kind, "", true))
		if t.Risen && !s.totals[t.Kind] && s.then.kinds[t.Kind] && !s.explained(t.Kind) && beyond(before, t.To, &analysis.Life{Gone: t.Gone}) {
			s.totals[t.Kind] = true
			s.tell(analysis.Grew, "All "+wording.Kinds(t.Kind), t.Kind, []string{}, before, t.To, "")
		}
	}
}

// explained reports that a family of a kind was told, or rises for a reason.
func (s *since) explained(kind analysis.Kind) bool {
	of := func(f report.Family) bool { return f.Kind == kind && f.Verdict.Rose() && !s.open(&f) }
	told := func(f report.Family) bool { return f.Kind == kind && s.told[f.Fingerprint] }
	return slices.ContainsFunc(s.both.Said.Families, of) || slices.ContainsFunc(s.Families, told)
}

// together compares the counts of all families of which nothing was said, by who created their
// goroutines and by kind: a leak that makes a new family each time grows by no family.
func (s *since) together() {
	var creators []string
	for i := range s.Families {
		if by := s.Families[i].CreatedBy; by != "" && !slices.Contains(creators, by) {
			creators = append(creators, by)
		}
	}
	slices.Sort(creators)
	if s.then.creators { // a dump with debug=1 names none
		for _, by := range creators {
			s.sum(analysis.KindGoroutine, by, "Goroutines of "+by)
		}
	}
	for _, kind := range []analysis.Kind{analysis.KindGoroutine, analysis.KindThread, analysis.KindDescriptor} {
		if !s.totals[kind] {
			s.sum(kind, "", "All other "+wording.Kinds(kind))
		}
	}
}

// sum tells the open families of a kind, and of a creator if one is given, if together they grew
// by their counts.
func (s *since) sum(kind analysis.Kind, creator, title string) {
	var risen []string
	now := 0
	for i := range s.Families {
		f := &s.Families[i]
		if f.Kind != kind || creator != "" && f.CreatedBy != creator || !s.open(f) {
			continue
		}
		n := f.Counts.Last()
		if now += n; n > s.then.families[f.Fingerprint].highest {
			risen = append(risen, f.Fingerprint)
		}
	}
	before := s.most(kind, creator, false)
	if trend.Beyond(before, now) && trend.Compared(before, now) != analysis.Stable {
		s.tell(grewFrom(before), title, kind, risen, before, now, "")
	}
}

// most is the highest count in a capture of the baseline of all families of a kind, and of a
// creator if one is given: of all, or of those that are open now.
func (s *since) most(kind analysis.Kind, creator string, all bool) (most int) {
	for _, then := range s.then.series {
		sums := make([]int, len(then.Snapshots))
		for i := range then.Families {
			f := &then.Families[i]
			if f.Kind != kind || creator != "" && f.CreatedBy != creator {
				continue
			}
			if known := s.families[f.Fingerprint]; !all && known != nil && !s.open(known) {
				continue
			}
			for k, n := range f.Counts {
				if k < len(sums) {
					sums[k] += n.N
				}
			}
		}
		for _, n := range sums {
			most = max(most, n)
		}
	}
	return most
}

// beyond is trend.Beyond, for which ten suffice where none of those that were there ended.
func beyond(before, now int, life *analysis.Life) bool {
	return trend.Beyond(before, now) || life != nil && life.Gone == 0 && trend.Beyond(0, now-before)
}

// grewFrom is the verdict on something that was so often in the baseline.
func grewFrom(before int) analysis.Verdict {
	if before == 0 {
		return analysis.New
	}
	return analysis.Grew
}
