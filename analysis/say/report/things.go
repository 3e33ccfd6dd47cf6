package report

import (
	"cmp"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/read/family"
	"leakdiff/analysis/say/noun"
)

// Nouns are what people call things.
type Nouns = noun.List

// Things names the members of a family that is known without a report, as findings do: "probe
// workers", "goroutines in main.(*worker).wait", "connections to 10.0.0.1:443". called reports that
// people call them so.
func Things(nouns Nouns, f *analysis.Family) (things string, called bool) {
	if of := f.ObjectType(); of != "" {
		if n := nouns.Of(of); n != nil {
			return n.Many, true
		}
		return strings.TrimPrefix(f.Title, "*") + " objects", false
	}
	name := family.NameOf(f, func(string) []*analysis.Stack { return nil })
	seen := Family{Kind: f.Kind, Title: f.Title, Name: name.Function, Starter: name.Creator, Frames: f.Loose, CreatedBy: f.LooseCreator, Attributes: f.Attributes}
	named := (&Series{}).nameOf(nouns, &seen, nil)
	return named.all(), nounOf(nouns, &seen, cmp.Or(name.Function, f.Title)) != nil
}

// ThingsFirst is Things for the beginning of a sentence.
func ThingsFirst(nouns Nouns, f *analysis.Family) (things string, called bool) {
	things, called = Things(nouns, f)
	return capital(things), called
}

// AliasesOf returns the functions and types that people call by words with a word in it: of
// "probe" prober.(*worker).
func AliasesOf(nouns Nouns, word string) []string {
	var out []string
	for i := range nouns {
		if n := &nouns[i]; strings.Contains(strings.ToLower(n.One+" "+n.Many), word) {
			out = append(out, n.Match...)
		}
	}
	return out
}
