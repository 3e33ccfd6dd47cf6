package report

import (
	"fmt"
	"slices"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/say/wording"
)

// Benign reports a family that a person called benign. Its verdict stays, but it is no
// accusation and no headline counts it.
func (f *Family) Benign() bool {
	return f.Triage != nil && f.Triage.State == analysis.Benign
}

// setAside returns the families that grow by the figures and that a person called
// benign. open reports whether any other grows.
func (s *Series) setAside() (aside []*Family, open bool) {
	for i := range s.Families {
		switch f := &s.Families[i]; {
		case !f.Verdict.Rose():
		case f.Benign():
			aside = append(aside, f)
		default:
			open = true
		}
	}
	return aside, open
}

// said is a person's decision about a family of the series, or nil.
func (j *JudgedSeries) said(fingerprint string) *analysis.Triage {
	mark, ok := j.triage[fingerprint]
	if !ok {
		return nil
	}
	return &mark
}

// mostReasons bounds the listed reasons of what was set aside.
const mostReasons = 3

// asideWords words what grows and was set aside, and why: "2 families grow and were set
// aside as benign by a person: “one per pod”."
func asideWords(aside []*Family, single bool) string {
	text := wording.Plural(len(aside), "family grows and was", "families grow and were")
	if single {
		text = wording.Plural(len(aside), "family looks like a leak by the ages of its members and was", "families look like leaks by the ages of their members and were")
	}
	text += " marked benign by a person"
	var reasons []string
	for _, f := range aside {
		if reason := "“" + f.Triage.Note + "”"; f.Triage.Note != "" && !slices.Contains(reasons, reason) {
			reasons = append(reasons, reason)
		}
	}
	if more := len(reasons) - mostReasons; more > 0 {
		reasons = append(reasons[:mostReasons], wording.Plural(more, "more reason", "more reasons"))
	}
	if len(reasons) > 0 {
		text += ": " + strings.Join(reasons, ", ")
	}
	return text + "."
}

// accused is the verdict that headlines and lists use.
func (f *Family) accused() analysis.Verdict {
	if f.Benign() {
		return analysis.Stable
	}
	return f.Verdict
}

// Sorted names a family of a process in Options.Triage.
type Sorted struct{ Process, Fingerprint string }

// triage copies people's decisions to the families. It sets findings aside whose
// families are all benign, and adds findings on families that a person suspects
// although no rule does.
func triage(s *Series, judged *SeriesJudgement, said map[Sorted]analysis.Triage) {
	byPrint := map[string]*Family{}
	for i := range s.Families {
		f := &s.Families[i]
		byPrint[f.Fingerprint] = f
		if mark, ok := said[Sorted{s.Process, f.Fingerprint}]; ok && !mark.Empty() {
			f.Triage = &mark
		}
	}
	told := map[string]bool{}
	kept := s.Findings[:0:0]
	for _, f := range s.Findings {
		if benign(f, byPrint) {
			f.Rank = 0
			s.SetAside = append(s.SetAside, f)
			continue
		}
		for _, print := range f.Families {
			told[print] = true
		}
		kept = append(kept, f)
	}
	at := slices.IndexFunc(kept, func(f Finding) bool { return f.Kind != "" })
	if at < 0 {
		at = len(kept)
	}
	var suspected []Finding
	for i := range s.Families {
		if f := &s.Families[i]; f.Triage != nil && f.Triage.State == analysis.MarkedSuspect && !told[f.Fingerprint] {
			suspected = append(suspected, judged.Suspected[f.Fingerprint])
		}
	}
	s.Findings = append([]Finding{}, slices.Insert(kept, at, suspected...)...)
	for i := range s.Findings {
		s.Findings[i].Rank = i + 1
	}
	if aside, open := s.setAside(); len(aside) > 0 && !open {
		s.Quiet = asideWords(aside, len(s.Snapshots) == 1) + " " + judged.NothingElse
	}
}

// benign reports a finding with only benign families.
func benign(f Finding, byPrint map[string]*Family) bool {
	return len(f.Families) > 0 && !slices.ContainsFunc(f.Families, func(print string) bool {
		family := byPrint[print]
		return family == nil || !family.Benign()
	})
}

func suspicion(f *Family) Finding {
	text := fmt.Sprintf("A person marked this group as suspicious; by the figures it is %s.", strings.ReplaceAll(string(f.Verdict), "_", " "))
	if f.Triage.Note != "" {
		text += " Their note: " + sentence(f.Triage.Note)
	}
	return Finding{
		Kind: SuspectFinding, Verdict: f.Verdict, Families: []string{f.Fingerprint}, Counts: f.Counts, Evidence: f.Evidence,
		Title: fmt.Sprintf("%s: %s %s", f.Title, Rises(f.Counts, nil), wording.Kinds(f.Kind)), Text: text,
		Next: "Take further snapshots, or say on its page what it turned out to be.",
	}
}
