package analysis_test

import (
	"maps"
	"strconv"
	"strings"
	"testing"

	"leakdiff/analysis"
)

func TestLabelsAreOrderedAndBounded(t *testing.T) {
	many := map[string]string{}
	for i := range 17 {
		many["k"+strconv.Itoa(10+i)] = "v"
	}
	for name, c := range map[string]struct {
		in   map[string]string
		list int
		text string
	}{
		"none":                           {nil, 0, ""},
		"one":                            {map[string]string{"tenant": "a"}, 1, "tenant=a"},
		"two in the order of their keys": {map[string]string{"tenant": "a}]b", "svc": "x,y"}, 2, "svc=x,y tenant=a}]b"},
		"16 of 17":                       {many, 16, ""},
		"a text of 200 bytes stays":      {map[string]string{"k": strings.Repeat("x", 200)}, 1, "k=" + strings.Repeat("x", 200)},
		"a text of 201 bytes is cut":     {map[string]string{"k": strings.Repeat("x", 201)}, 1, "k=" + strings.Repeat("x", 200) + "…"},
	} {
		t.Run(name, func(t *testing.T) {
			got := analysis.LabelsOf(maps.Clone(c.in))
			if len(got.List()) != c.list || c.text != "" && got.String() != c.text {
				t.Errorf("got %d, %q", len(got.List()), got.String())
			}
			if state, labels := analysis.CutLabels(analysis.Labelled("select", got)); state != "select" || labels != got {
				t.Errorf("got %q with %q back", state, labels)
			}
		})
	}
}
