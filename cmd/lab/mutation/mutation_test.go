package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestAChangeThatNoTestNoticesSurvives(t *testing.T) {
	alive, all, err := question{dir: "testdata/rule", conditions: []string{"high"}, limit: time.Minute}.run()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range alive {
		got = append(got, c.String(), c.name)
	}
	want := []string{
		"rule.go:8: the number 0.5 down", "rule.go low: 0.5 in n < 0.5 down",
		"rule.go:8: the number 0.5 up", "rule.go low: 0.5 in n < 0.5 up",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("survivors (-want +got):\n%s", diff)
	}
	if all != 8 {
		t.Errorf("%d changes, want 8: three numbers up and down, two operands", all)
	}
}

func TestAListOfSurvivorsMayOnlyShrink(t *testing.T) {
	alive := []change{{name: "a up"}, {name: "b up"}}
	more, fewer := compare(alive, map[string]bool{"a up": true, "c up": true})
	if len(more) != 1 || more[0].name != "b up" || !slices.Equal(fewer, []string{"c up"}) {
		t.Errorf("more %v, fewer %v; want b and c", more, fewer)
	}
	for text, want := range map[string]string{
		"# a reason\na up\n\n# another\nb up\n": "",
		"a up\n":                                "no reason above",
		"# a reason\na up\n\nb up\n":            "no reason above",
		"# a reason\na up\na up\n":              "twice",
	} {
		file := filepath.Join(t.TempDir(), "list")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := allowed(file)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestEditsNest(t *testing.T) {
	edits := []edit{{0, 5, "A(", false}, {5, 5, ")A", true}, {0, 2, "B(", false}, {2, 2, ")B", true}, {4, 1, "C(", false}, {5, 1, ")C", true}}
	slices.Reverse(edits)
	if got, want := apply("xy + z"[:2]+"++z", edits), "A(B(xy)B++C(z)C)A"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
