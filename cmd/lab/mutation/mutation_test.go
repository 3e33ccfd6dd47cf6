package main

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestAChangeThatNoTestNoticesSurvives(t *testing.T) {
	alive, all, err := run("testdata/rule", []string{"high"}, "", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range alive {
		got = append(got, c.String())
	}
	want := []string{"rule.go:8: the number 0.5 down", "rule.go:8: the number 0.5 up"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("survivors (-want +got):\n%s", diff)
	}
	if all != 8 {
		t.Errorf("%d changes, want 8: three numbers up and down, two operands", all)
	}
}

func TestEditsNest(t *testing.T) {
	edits := []edit{{0, 5, "A(", false}, {5, 5, ")A", true}, {0, 2, "B(", false}, {2, 2, ")B", true}, {4, 1, "C(", false}, {5, 1, ")C", true}}
	slices.Reverse(edits)
	if got, want := apply("xy + z"[:2]+"++z", edits), "A(B(xy)B++C(z)C)A"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
