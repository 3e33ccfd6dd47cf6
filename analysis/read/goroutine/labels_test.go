package goroutine

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLabelsOfHeadersAreRead(t *testing.T) {
	for in, want := range map[string]map[string]string{
		`{"svc": "x,y", "tenant": "a}]b"}`:      {"svc": "x,y", "tenant": "a}]b"},
		`{controller: "node-lifecycle", k: v1}`: {"controller": "node-lifecycle", "k": "v1"},
		`{"na me": "quo\"te]:, x"}`:             {"na me": `quo"te]:, x`},
		`{tenant: ""}`:                          {"tenant": ""},
		`{tenant: a, broken`:                    {"tenant": "a"},
		`{"tenant": "a`:                         {},
		``:                                      {},
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
		want := map[string]string{string(validText([]byte(k1))): string(validText([]byte(v1))), string(validText([]byte(k2))): string(validText([]byte(v2)))}
		if d := cmp.Diff(want, ParseLabels(printed(want))); d != "" {
			t.Error(d)
		}
		ParseLabels(k1 + v1) // ends
	})
}
