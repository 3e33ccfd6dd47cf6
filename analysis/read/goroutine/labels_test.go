package goroutine

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"leakdiff/analysis"
)

func TestLabelsOfHeadersAreRead(t *testing.T) {
	for in, want := range map[string]map[string]string{
		`{"svc": "x,y", "tenant": "a}]b"}`:      {"svc": "x,y", "tenant": "a}]b"},
		`{controller: "node-lifecycle", k: v1}`: {"controller": "node-lifecycle", "k": "v1"},
		`{"na me": "quo\"te]:, x"}`:             {"na me": `quo"te]:, x`},
		`{tenant: ""}`:                          {"tenant": ""},
		`{tenant: a, broken`:                    {"tenant": "a"},
		`{"tenant": "a`:                         nil,
		``:                                      nil,
		`{}`:                                    {},
		`{a: b, a: c}`:                          {"a": "c"},
	} {
		if d := cmp.Diff(want, ParseLabels(in)); d != "" {
			t.Errorf("%s: %s", in, d)
		}
	}
}

func FuzzLabels(f *testing.F) {
	f.Add("tenant", "a}]b", "svc", "x,y\"")
	f.Fuzz(func(t *testing.T, k1, v1, k2, v2 string) {
		set := analysis.LabelsOf(map[string]string{validText([]byte(k1)): validText([]byte(v1)), validText([]byte(k2)): validText([]byte(v2))})
		if again := analysis.LabelsOf(ParseLabels(printed(set.List()))); again != set {
			t.Errorf("%s is read as %s", set, again)
		}
		ParseLabels(k1 + v1) // ends
	})
}
