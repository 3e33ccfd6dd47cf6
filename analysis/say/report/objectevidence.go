package report

import (
	"regexp"
	"slices"
	"strings"

	"leakdiff/analysis"
)

var memberWord = regexp.MustCompile(`\bmembers?\b`)

// counting is evidence that was found on objects in place of members, in words of these.
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
		if at < 0 || !slices.Contains(aboutLives, e.Rule) || strings.HasPrefix(e.Text, "in the first family: ") {
			continue
		}
		f.Text = strings.Replace(f.Text, sentence(e.Text), sentence(o.Evidence[at].Text), 1)
		e.Text = o.Evidence[at].Text
	}
}
