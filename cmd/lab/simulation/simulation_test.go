package simulation

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
)

func TestEveryClassHasADefinitionAndABound(t *testing.T) {
	seen := map[string]bool{}
	leaking, innocent := 0, 0
	for _, c := range Classes() {
		switch {
		case seen[c.Name]:
			t.Errorf("two classes are named %s", c.Name)
		case !strings.HasSuffix(c.Definition, ".") || !unicode.IsUpper(rune(c.Definition[0])) && !unicode.IsDigit(rune(c.Definition[0])):
			t.Errorf("%s: the definition is no sentence: %q", c.Name, c.Definition)
		case len(c.regimes) == 0:
			t.Errorf("%s has no regime", c.Name)
		}
		if _, known := bounds[c.Name]; !known {
			t.Errorf("%s has no bound", c.Name)
		}
		seen[c.Name] = true
		if c.Leak {
			leaking++
		} else {
			innocent++
		}
	}
	if leaking+innocent < 35 || innocent < leaking {
		t.Errorf("%d leaks and %d benign classes; want 35 in all and half of them benign", leaking, innocent)
	}
	for name := range bounds {
		if !seen[name] {
			t.Errorf("a bound is kept for %s, which is no class", name)
		}
	}
}

func TestEqualSeedsGiveEqualBundles(t *testing.T) {
	pack := func(seed uint64) []byte {
		var b bytes.Buffer
		if err := Classes()[0].Series(seed, 0, 5).Pack(&b, 5); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	if !bytes.Equal(pack(3), pack(3)) {
		t.Error("one seed gives two bundles")
	}
	if bytes.Equal(pack(3), pack(4)) {
		t.Error("two seeds give one bundle")
	}
}

func TestLeaksGrowAndKeepTheirMembers(t *testing.T) {
	for _, c := range slices.Concat(leaks(), hiddenLeaks()) {
		grown := 0
		for run := range 5 {
			s := c.Series(1, run, 10)
			if s.Counts[9] > s.Counts[0] {
				grown++
			}
		}
		if grown < 4 && !c.mortal {
			t.Errorf("%s: %d of 5 series have more at the end", c.Name, grown)
		}
	}
}

func TestAnAnswerIsWhatTheReportSaysOfTheSubject(t *testing.T) {
	family := func(print, function, verdict string) string {
		return `{"fingerprint": "` + print + `", "frames": ["` + function + `"], "verdict": "` + verdict + `"}`
	}
	tests := []struct {
		name, series string
		level        Level
		accused      int
	}{
		{"nothing", ``, Silent, 0},
		{"a stable subject", `"families": [` + family("a", "x.leak", "stable") + `]`, Silent, 0},
		{"a subject that grew", `"families": [` + family("a", "x.leak", "grew") + `]`, Named, 0},
		{"a subject that leaks", `"families": [` + family("a", "x.leak", "leaking") + `]`, Leaking, 0},
		{"another family leaks", `"families": [` + family("b", "x.other", "leaking") + `]`, Silent, 1},
		{"its object leaks", `"families": [` + family("a", "x.leak", "stable") + `], "objects": [{"verdict": "leaking", "families": ["a"]}]`, Leaking, 0},
		{"its unit is suspicious", `"families": [` + family("a", "x.leak", "grew") + `], "units": [{"verdict": "suspicious", "ratio": {"a": 1}}]`, Suspicious, 0},
		{"a finding names its families", `"families": [` + family("a", "x.leak", "grew") + `], "findings": [{"verdict": "leaking", "families": ["a"]}]`, Leaking, 0},
		{"a finding names its creator", `"findings": [{"verdict": "leaking", "families": [], "title": "started by x.leak"}]`, Leaking, 0},
		{"a finding of another family", `"families": [` + family("b", "x.other", "grew") + `], "findings": [{"verdict": "leaking", "families": ["b"]}]`, Silent, 1},
		{"a total that rose", `"totals_risen": [{"creators": [{"name": "x.leak"}]}]`, Named, 0},
		{"a total that others raised", `"totals_risen": [{"creators": [{"name": "x.other"}]}]`, Silent, 0},
	}
	for _, tc := range tests {
		var d document
		if err := json.Unmarshal([]byte(`{"series": [{`+tc.series+`}]}`), &d); err != nil {
			t.Fatal(err)
		}
		a := d.about([]string{"x.leak"}, []string{"x.leak"})
		if a.Level != tc.level || len(a.Accused) != tc.accused {
			t.Errorf("%s: level %d, %d accused; want %d, %d", tc.name, a.Level, len(a.Accused), tc.level, tc.accused)
		}
	}
}

func TestTheNaiveRules(t *testing.T) {
	for _, tc := range []struct {
		counts []int
		want   [naiveRules]bool
	}{
		{[]int{10, 11, 12}, [naiveRules]bool{true, true, true}},
		{[]int{10, 12, 11}, [naiveRules]bool{true, false, false}},
		{[]int{10, 10, 10}, [naiveRules]bool{}},
		{[]int{0, 3, 2}, [naiveRules]bool{true, false, true}},
	} {
		if got := naive(tc.counts); got != tc.want {
			t.Errorf("%v: %v, want %v", tc.counts, got, tc.want)
		}
	}
}

func TestABoundIsBrokenOutsideTheScatterOfTheRuns(t *testing.T) {
	name := benign()[0].Name
	kept := bounds[name]
	defer func() { bounds[name] = kept }()
	bounds[name] = bound{leaking: [3]float64{0, 0.1, 0}, suspicious: [3]float64{0, 0.1, 0}}
	score := func(n, leaking int) Score {
		s := Score{Class: Class{Name: name}, Captures: n, Runs: 40}
		s.Levels[Leaking], s.Levels[Silent] = leaking, 40-leaking
		return s
	}
	for _, tc := range []struct{ n, leaking, want int }{{10, 7, 0}, {10, 8, 2}, {5, 1, 0}, {5, 3, 2}, {7, 40, 0}} {
		if got := score(tc.n, tc.leaking).Broken(); len(got) != tc.want {
			t.Errorf("%d of 40 at %d captures: %v, want %d", tc.leaking, tc.n, got, tc.want)
		}
	}
	if s := (Score{Class: Class{Name: "unheard of"}, Captures: 5}); len(s.Broken()) != 1 {
		t.Error("a class without a bound keeps it")
	}
}

func TestMeansCountEveryClassAlike(t *testing.T) {
	score := func(leak bool, leaking, suspicious int) Score {
		s := Score{Class: Class{Leak: leak}, Captures: 5, Runs: 10, Rising: 10, RisingNamed: leaking + suspicious}
		s.Levels[Leaking], s.Levels[Suspicious], s.Levels[Silent] = leaking, suspicious, 10-leaking-suspicious
		return s
	}
	got := Summarise([]Score{score(true, 10, 0), score(true, 4, 4), score(false, 0, 1), score(false, 2, 2)})
	want := [...]float64{0.7, 0.1, 0.9, 0.25, 0.9, 0.2}
	if diff := cmp.Diff(want, [...]float64{got.Recall, got.False, got.Seen, got.Alarm, got.Named, got.Worst}, cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) < 1e-9 })); diff != "" {
		t.Errorf("recall, false, seen, alarm, named, worst (-want +got):\n%s", diff)
	}
}

func TestAVerdictIsWorthTheShareOfLeaksAmongItsSubjects(t *testing.T) {
	score := func(leak bool, leaking, runs int) Score {
		return Score{Class: Class{Leak: leak}, Runs: runs, Words: map[string]int{"leaking": leaking, "": runs - leaking}}
	}
	scores := []Score{score(true, 10, 10), score(true, 4, 10), score(false, 0, 10), score(false, 4, 20)} // leaking: .7 of the leaks, .1 of the benign
	for word, want := range map[string][2]float64{"leaking": {0.875, 0.4}, "": {0.25, 0.6}} {
		if worth, given := Worth(scores, word); math.Abs(worth-want[0]) > 1e-9 || math.Abs(given-want[1]) > 1e-9 {
			t.Errorf("%q: worth %v, given to %v, want %v", word, worth, given, want)
		}
	}
}

func TestTurnsCountWhatTakesAProofBack(t *testing.T) {
	s := &Series{Counts: []int{0, 5, 10, 15, 20, 25}, Marks: []string{"x"}, world: &world{times: []float64{0, 1, 2, 3, 4, 5}}}
	answers := func(list ...Answer) func(int) (Answer, error) {
		return func(k int) (Answer, error) { return list[k-2], nil }
	}
	leaking, suspicious, grew := Answer{Level: Leaking}, Answer{Level: Suspicious}, Answer{Level: Named, Verdict: "grew"}
	for _, tc := range []struct {
		name                             string
		answers                          []Answer
		back, softer, flips, later, told int
	}{
		{"stays", []Answer{grew, suspicious, leaking, leaking, leaking}, 0, 0, 0, 2, 1},
		{"grew again", []Answer{grew, leaking, leaking, grew, leaking}, 1, 0, 1, 3, 1},
		{"stable again", []Answer{grew, leaking, leaking, leaking, {}}, 1, 0, 1, 3, 1},
		{"suspicious again", []Answer{grew, leaking, leaking, leaking, suspicious}, 0, 1, 1, 3, 1},
		{"suspicious, and says that it leaked", []Answer{grew, leaking, leaking, leaking, {Level: Suspicious, WasLeaking: true}}, 0, 0, 1, 3, 1},
		{"never stands", []Answer{grew, leaking, grew, leaking, grew}, 1, 0, 2, 3, 0},
		{"stopped", []Answer{grew, leaking, leaking, leaking, {Level: Named, Verdict: "stopped"}}, 0, 0, 0, 3, 1},
	} {
		var turns Turns
		if err := turns.add(s, answers(tc.answers...)); err != nil {
			t.Fatal(err)
		}
		if turns.Back != tc.back || turns.Softer != tc.softer || turns.Flips != tc.flips || turns.Later != tc.later || turns.Ever != 1 || turns.Told != tc.told || turns.PairsNamed != 1 || turns.Prefixes != 3 {
			t.Errorf("%s: %+v", tc.name, turns)
		}
	}
}

// TestCapturesStandWithinTheWindow: nothing is born after it, so that a leak would end there.
func TestCapturesStandWithinTheWindow(t *testing.T) {
	for _, n := range []int{2, 5, 20, 100, 300, 1000} {
		for seed := range uint64(20) {
			times := moments(rand.New(rand.NewPCG(seed, uint64(n))), n, 10)
			for i := 1; i < n; i++ {
				if times[i] <= times[i-1] {
					t.Fatalf("capture %d of %d is not after the one before", i, n)
				}
			}
			if late := times[n-1] - 10; late > 0.1*10/float64(n-1)+0.1 { // of an interval, or a few gaps
				t.Errorf("the last of %d captures is %.2f after a window of 10", n, late)
			}
		}
	}
}
