package report

import (
	"slices"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/expression"
)

var memberWord = expression.Lazy(`\bmembers?\b`)

// counting is evidence in words of what was counted, in place of members.
func counting(evidence []analysis.Evidence, one, many string) []analysis.Evidence {
	out := slices.Clone(evidence)
	for i := range out {
		out[i].Text = memberWord.ReplaceAllStringFunc(out[i].Text, func(word string) string {
			if word == "member" {
				return one
			}
			return many
		})
	}
	return out
}

// aboutLives are the rules that follow members by identity.
var aboutLives = []string{"cohort", "survivors", "plateau", "recovery", "decides"}

// livesOfObjects says of a finding on objects which of these came and stayed, in place of the
// members of its families.
func (f *Finding) livesOfObjects(o *Object) {
	f.Evidence = slices.Clone(f.Evidence)
	for i := range f.Evidence {
		e := &f.Evidence[i]
		at := slices.IndexFunc(o.Evidence, func(x analysis.Evidence) bool { return x.Rule == e.Rule })
		if at < 0 || !slices.Contains(aboutLives, e.Rule) || strings.HasPrefix(e.Text, ofFirst) {
			continue
		}
		e.Text = o.Evidence[at].Text
	}
}

// evidenceInWords is the evidence of a finding as sentences, without what stands in its text
// and what is open.
func (f *Finding) evidenceInWords() string {
	var words []string
	for _, e := range f.Evidence {
		if !limiting(e) && e.Rule != "order" && e.Rule != "across_processes" {
			words = append(words, sentence(e.Text))
		}
	}
	return strings.Join(words, " ")
}
