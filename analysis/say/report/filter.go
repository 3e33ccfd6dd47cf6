package report

import (
	"fmt"

	"leakdiff/analysis"
	"leakdiff/analysis/say/filter"
)

// Filtered reports that a report lists only some families. Its verdicts, findings and
// sums are of all.
type Filtered struct {
	// Text is the filter as it was understood.
	Text string `json:"text"`
	// Families is the number of listed families, of Of.
	Families int `json:"families"`
	Of       int `json:"of"`
}

// NewFiltered is the result of a filter with that text. It is nil for an empty text.
func NewFiltered(text string, families, of int) *Filtered {
	f, err := filter.Parse(text)
	if err != nil || f.Empty() {
		return nil
	}
	return &Filtered{Text: f.String(), Families: families, Of: of}
}

// Members returns those of a family in the last snapshot of a series that shows it, nil
// if none does.
func (c *Case) Members(series int, fingerprint string) *analysis.Members {
	if g := c.Series[series].last(fingerprint); g != nil {
		return &g.Members
	}
	return nil
}

// FactsOf returns what a report alone knows of a family. Its count is the largest of
// all snapshots.
func FactsOf(f *Family) *filter.Facts {
	facts := &filter.Facts{
		Title: f.Title, Kind: f.Kind, Frames: f.Frames, Creator: f.CreatedBy, Attributes: f.Attributes, States: f.States,
		Verdict: f.Verdict, Rules: rulesOf(f.Evidence), Classes: f.Classes, Delta: filter.Known(float64(f.Rise)), Triage: f.Triage,
	}
	facts.Mark(f.Labels)
	if facts.Triage == nil {
		facts.Triage = &analysis.Triage{} // without a decision it is unreviewed
	}
	for _, v := range f.Variants {
		facts.Frames = append(facts.Frames[:len(facts.Frames):len(facts.Frames)], v.Frames...)
	}
	if f.Unit != nil {
		facts.Unit = *f.Unit
	}
	if f.OldestWait != nil {
		facts.Wait = filter.Known(float64(*f.OldestWait))
	}
	if f.Counts.FirstAt() >= 0 {
		facts.Count = filter.Known(float64(f.Counts.Highest()))
	}
	return facts
}

// Listing is the case whose tables and JSON hold only the families that pass a filter.
// Headline, findings and units still cover all.
func (c Case) Listing(f filter.Filter) Case {
	said, all := Filtered{Text: f.String()}, c.Said()
	c.listed = c.Report
	c.listed.Series = make([]Series, len(c.Report.Series))
	for i, s := range c.Report.Series {
		families, facts := s.Families, all.Facts(i)
		s.Families = []Family{}
		for k := range families {
			known := facts(&families[k])
			known.Members = c.Members(i, families[k].Fingerprint)
			if f.Match(known) {
				s.Families = append(s.Families, families[k])
			}
		}
		said.Of, said.Families = said.Of+len(families), said.Families+len(s.Families)
		c.listed.Series[i] = s
	}
	c.listed.Filter = &said
	return c
}

// Listed is the report as its tables and JSON show it.
func (c *Case) Listed() *Report {
	if c.listed.Filter == nil {
		return &c.Report
	}
	return &c.listed
}

// said words the filter: "Filter func:prober: 3 of 77 families are listed; verdicts and
// findings are of all."
func (f *Filtered) said() string {
	if f.Families == 0 {
		return fmt.Sprintf("Filter %s: none of %d families passes; verdicts and findings are of all.", f.Text, f.Of)
	}
	return fmt.Sprintf("Filter %s: %d of %d families listed; verdicts and findings are of all.", f.Text, f.Families, f.Of)
}

// rulesOf are the rules of evidence.
func rulesOf(all []Evidence) (rules []string) {
	for _, e := range all {
		rules = append(rules, e.Rule)
	}
	return rules
}
