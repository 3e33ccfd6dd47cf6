package report

import (
	"slices"

	"leakdiff/analysis"
	"leakdiff/analysis/say/evidence"
	"leakdiff/analysis/say/wording"
)

// Evidence is one reason for a verdict: a sentence, and the figures that it is made of.
type Evidence struct {
	Text string `json:"text"`
	// OfFirst reports evidence that is about the first of several families alone.
	OfFirst bool `json:"of_first,omitempty"`
	// Told reports that the text of its finding has the sentence.
	Told bool `json:"told,omitempty"`
	analysis.Evidence
}

// worded is evidence with its sentences, in words of what was counted.
func (j *JudgedSeries) worded(all []analysis.Evidence, one, many string) []Evidence {
	words := j.words()
	words.One, words.Many = one, many
	out := make([]Evidence, 0, len(all))
	for _, e := range all {
		out = append(out, Evidence{Text: words.Text(e), Evidence: e})
	}
	return out
}

// words name the snapshots of the series in sentences.
func (j *JudgedSeries) words() evidence.Words { return evidence.Words{Labels: j.snapshotLabels} }

// Reasons are why a family may hold what another waits for.
func (j *JudgedSeries) Reasons(why []analysis.Evidence) []string { return j.words().Reasons(why) }

// Evidence is that of the verdict on a family.
func (j *JudgedSeries) Evidence(f *analysis.Family) []Evidence {
	kind := f.Kind.Worded(f.Attributes)
	return j.worded(j.Judged[f.Fingerprint].Evidence, string(kind), wording.Kinds(kind))
}

// saidHere is evidence that the report itself found.
func saidHere(rule, text string) Evidence {
	return Evidence{Text: text, Evidence: analysis.Evidence{Rule: rule}}
}

// tell puts a reason that stands in the text of the finding before the others.
func (f *Finding) tell(text string, e analysis.Evidence) {
	f.Evidence = append([]Evidence{{Text: text, Told: true, Evidence: e}}, f.Evidence...)
}

// aboutLives are the rules that follow members by identity.
var aboutLives = []string{"turnover", "cohort", "survivors", "plateau", "recovery", "decides"}

// livesOfObjects says of a finding on objects which of these came and stayed, in place of the
// members of its families.
func (f *Finding) livesOfObjects(o *Object) {
	f.Evidence = slices.Clone(f.Evidence)
	for i := range f.Evidence {
		e := &f.Evidence[i]
		at := slices.IndexFunc(o.Evidence, func(x Evidence) bool { return x.Rule == e.Rule })
		if at < 0 || !slices.Contains(aboutLives, e.Rule) || e.OfFirst {
			continue
		}
		*e = o.Evidence[at]
	}
}
