package trend

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"leakdiff/analysis"
	"leakdiff/samples/corpus"
)

// lockstep is a series of families with counts, all of which survive.
func lockstep(counts map[string]string) scenario {
	sc := scenario{families: map[string]string{}}
	n, k := 0, int64(1)
	for _, name := range sortedKeys(counts) {
		words := strings.Fields(counts[name])
		n = len(words)
		for i, word := range words {
			count, _ := strconv.Atoi(word)
			words[i] = "."
			if count > 0 {
				words[i] = fmt.Sprintf("%d-%d", k*100_000+1, k*100_000+int64(count))
			}
		}
		k++
		sc.families[name] = strings.Join(words, " ")
	}
	sc.families["g1:main"] = strings.TrimSpace(strings.Repeat("1 ", n))
	newest := make([]string, n)
	for i := range newest {
		newest[i] = strconv.Itoa(100_000_000 + i)
	}
	sc.newest = strings.Join(newest, " ")
	return sc
}

func sortedKeys(m map[string]string) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// shapes are the units in short: "a:2 b:1 | c:1 d:1".
func shapes(units []Unit) string {
	var out []string
	for _, u := range units {
		var words []string
		for _, f := range u.Families {
			words = append(words, fmt.Sprintf("%s:%.2g", f.Fingerprint, f.Ratio))
		}
		out = append(out, strings.Join(words, " "))
	}
	return strings.Join(out, " | ")
}

func TestUnits(t *testing.T) {
	tests := []struct {
		name   string
		counts map[string]string
		want   string
	}{
		{"constant ratios rise together", map[string]string{"a": "4 24 42 62 82", "b": "2 12 21 31 41"}, "a:2 b:1"},
		{"ratios of 2 to 3 are written in whole numbers", map[string]string{"a": "0 9 30 60", "b": "0 6 20 40"}, "a:3 b:2"},
		{"ratios of no small whole numbers keep a decimal", map[string]string{"a": "0 16 32 48 64", "b": "0 4 8 11 15", "c": "0 8 16 24 32"}, "a:4.3 c:2.1 b:1"},
		{"another rhythm is another unit", map[string]string{"a": "0 10 20 30 40", "b": "0 5 10 15 20", "c": "0 2 25 27 40", "d": "0 2 25 27 40"}, "a:2 b:1 | c:1 d:1"},
		{"one step is no rhythm", map[string]string{"a": "0 10 20 30 40", "b": "0 16 16 16 16"}, ""},
		{"a few lost members of CLOSE_WAIT stay outside", map[string]string{"a": "0 10 20 30 40 50 60 70", "b": "0 1 2 3 3 2 3 3"}, ""},
		{"four members that rise each time and never fall", map[string]string{"a": "0 10 20 30 40", "b": "0 1 2 3 4"}, "a:10 b:1"},
		{"four members in two steps do not", map[string]string{"a": "0 10 20 30 40", "b": "0 0 2 2 4"}, ""},
		{"two snapshots have no rhythm", map[string]string{"a": "0 10", "b": "0 10"}, ""},
		{"a unit is formed on what came before its recovery", map[string]string{"a": "0 10 20 30 40 0", "b": "0 5 10 15 20 0"}, "a:2 b:1"},
		{"a family too small for a recovery of its own goes with the others", map[string]string{"a": "0 10 20 30 40 50 60 0", "b": "0 1 2 3 4 5 6 0"}, "a:10 b:1"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, shapes(lockstep(tc.counts).series(t).Units())); diff != "" {
				t.Errorf("units (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAFamilyOfSixIsProvenByItsUnit(t *testing.T) {
	sc := lockstep(map[string]string{"a": "0 8 16 24 32 40 48 0", "b": "0 1 2 3 4 5 6 0"})
	s := sc.series(t)
	small := s.JudgeAll()["b"]
	if small.Verdict != analysis.Leaking || small.RecoveredAt != 7 {
		t.Errorf("%s, recovered at %d; want leaking, 7: %v", small.Verdict, small.RecoveredAt, small.Evidence)
	}
	if s.UnitOf("b") != "u1" || s.UnitOf("g1:main") != "" {
		t.Errorf("units %q and %q, want u1 and none", s.UnitOf("b"), s.UnitOf("g1:main"))
	}
	delete(sc.families, "a")
	if got := sc.series(t).JudgeAll()["b"].Verdict; got == analysis.Leaking || got == analysis.Suspicious {
		t.Errorf("alone it is %s", got)
	}
	u := s.Units()[0]
	if u.Verdict != analysis.Leaking || u.RecoveredAt != 7 || u.Counts[6].N != 54 || *u.Instances[6] != 6 {
		t.Errorf("unit %+v; want leaking, recovered at 7, 54 members, 6 instances", u)
	}
}

func TestMembersOfAScalingUnitScale(t *testing.T) {
	snaps := lockstep(map[string]string{"a": "10 20 30 40 50 60", "b": "9 20 30 38 50 60"}).snapshots(t)
	for i, snap := range snaps {
		snap.Figures = map[string]float64{"prometheus_sd_discovered_targets": float64(10 * (i + 1))}
	}
	for _, f := range []string{"a", "b"} {
		if got := seriesOf(snaps).JudgeAll()[f].Verdict; got != analysis.Scaling {
			t.Errorf("%s: %s, want scaling", f, got)
		}
	}
}

// TestUnitsOfTheCorpus checks the counts of the truth files against the units that they
// must form.
func TestUnitsOfTheCorpus(t *testing.T) {
	root := corpus.Path(t, "series")
	tests := []struct {
		file   string
		ratios []string
	}{
		{"clientgo-informer-recreate/expected.json", []string{"2:1:1:1:1:1:1:1:1:1:1:1"}},
		{"okhttp-leak/expected.json", []string{"3:3:3:2:2:1"}},
		{"okhttp-leak-supportcore/expected.json", []string{"3:2:2:1"}},
		{"prometheus-hanging-targets/expected.json", []string{"1:1:1:1"}},
	}
	for _, tc := range tests {
		t.Run(tc.file, func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join(root, tc.file))
			if err != nil {
				t.Fatal(err)
			}
			var tr truth
			if err := json.Unmarshal(data, &tr); err != nil {
				t.Fatal(err)
			}
			counts := map[string]string{}
			for k, row := range tr.Growing {
				if words, ok := row.words(); ok {
					counts[fmt.Sprintf("f%02d", k)] = words
				}
			}
			sc := lockstep(counts)
			var at []string
			for _, time := range tr.Times {
				at = append(at, strconv.FormatFloat(time.Sub(tr.Times[0]).Seconds(), 'f', 3, 64))
			}
			var got []string
			for _, u := range sc.at(strings.Join(at, " ")).series(t).Units() {
				var ratios []string
				for _, f := range u.Families {
					ratios = append(ratios, fmt.Sprintf("%.2g", f.Ratio))
				}
				got = append(got, strings.Join(ratios, ":"))
			}
			if diff := cmp.Diff(tc.ratios, got); diff != "" {
				t.Errorf("ratios (-want +got):\n%s", diff)
			}
		})
	}
}

func TestALoadClearsWhatFollowsItAndNothingElse(t *testing.T) {
	tests := []struct {
		name   string
		counts string
		load   []float64
		want   analysis.Verdict
	}{
		{"three members for each target", "30 60 90 120 150 180", []float64{10, 20, 30, 40, 50, 60}, analysis.Scaling},
		{"a load that stands still clears nobody", "30 60 90 120 150 180", []float64{10, 10, 10, 10, 10, 10}, analysis.Leaking},
		{"growing faster than its load is a leak", "30 70 120 180 250 330", []float64{10, 20, 30, 40, 50, 60}, analysis.Leaking},
		{"a small load must match closely", "100 103 106 110 114 118", []float64{100, 103, 106, 110, 114, 118}, analysis.Scaling},
		{"a small load does not clear a larger growth", "100 106 112 119 126 133", []float64{100, 102, 104, 107, 109, 112}, analysis.Leaking},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			snaps := only(piling(tc.counts)).snapshots(t)
			s := NewSeries(Input{Snapshots: snaps, Loads: map[string][]float64{"targets": tc.load}})
			judged := s.JudgeAll()[onlyFamily]
			if judged.Verdict != tc.want {
				t.Errorf("verdict %s, want %s: %v", judged.Verdict, tc.want, judged.Evidence)
			}
		})
	}
}

func TestCountsPerLoadAreToldBesideTheRawOnes(t *testing.T) {
	snaps := only(piling("30 70 120 180 250 330")).snapshots(t)
	s := NewSeries(Input{Snapshots: snaps, Loads: map[string][]float64{"targets": {10, 20, 30, 40, 50, 60}}})
	// Per target 3, 3.5, 4, 4.5, 5, 5.5: at 35 targets, the typical load, 105 to 193
	// in five minutes.
	wantEvidence(t, s.JudgeAll()[onlyFamily], ruleLoad, "other_and_grows hour first=10 last=60 slope=1050 (targets)")
}

func TestAChurningPlateauIsToldAsOne(t *testing.T) {
	// corpus/series/node-agent-leak with other sockets each time: level, all new.
	judged := only(churning("80 82 79 80 81 80")).at("0 600 1200 1800 2400 3000").series(t).JudgeAll()[onlyFamily]
	if judged.Verdict != analysis.Stable {
		t.Errorf("verdict %s, want stable", judged.Verdict)
	}
	// 402 new ones in 50 minutes.
	wantEvidence(t, judged, rulePlateau, "402 hour high=82 low=79 rate=482.4")
	standing := only(piling("80 80 80 80")).series(t).JudgeAll()[onlyFamily]
	for _, e := range standing.Evidence {
		if e.Rule == rulePlateau {
			t.Errorf("a standing population is no plateau of churn: %s", figuresOf(e))
		}
	}
}

func TestSessionsThatTakeTurnsAreNoLeakWhateverRises(t *testing.T) {
	// Members are born in every interval and most of the first ones have left.
	judged := only("1-40 11-60 21-80 31-100 41-130 51-160").at("0 7200 14400 21600 28800 36000").series(t).JudgeAll()[onlyFamily]
	if judged.Verdict == analysis.Leaking {
		t.Errorf("verdict leaking: %v", judged.Evidence)
	}
}

func TestAPoolThatFilledAfterTheStartHoldsNoCohorts(t *testing.T) {
	s := only(piling("10 30 45 55 57 57 57 57")).at("0 3600 7200 10800 14400 18000 21600 25200").series(t)
	if c, _ := s.parts[onlyFamily].bestCohort(); c.holds {
		t.Errorf("cohorts hold: %v", c.alive)
	}
}

func hour(n float64) time.Time { return testEpoch.Add(hoursLong(n)) }

func TestALoadThatSomeSnapshotsLackIsAskedFor(t *testing.T) {
	snaps := only(piling("10 20 30 40 50 60")).snapshots(t)
	s := NewSeries(Input{Snapshots: snaps, Loads: map[string][]float64{"targets": {10, 20, 30, 40, 50, math.NaN()}}})
	all := everyEvidence(s.JudgeAll()[onlyFamily], ruleMissing)
	if !slices.Contains(all, "load_at 1 [t5:0] (targets)") || slices.Contains(all, "no_load") {
		t.Errorf("evidence: %q", all)
	}
}

// A server keeps two goroutines and one descriptor of each ended client.
func TestWhatStaysAfterARecoveryIsAFindingOfItsOwn(t *testing.T) {
	s := lockstep(map[string]string{
		"g1:conn": "0 4 8 12 16 20 0 0", "g1:handler": "0 4 8 12 16 20 0 0", "g1:writer": "0 8 16 24 32 40 0 0",
		"g1:kept": "0 8 16 24 32 40 40 40", "g1:held": "0 4 8 12 16 20 20 20",
	}).series(t)
	if diff := cmp.Diff("g1:writer:2 g1:conn:1 g1:handler:1 | g1:kept:2 g1:held:1", shapes(s.Units())); diff != "" {
		t.Fatalf("units (-want +got):\n%s", diff)
	}
	left, kept := s.Units()[0], s.Units()[1]
	if left.RecoveredAt != 6 || left.Verdict != analysis.Leaking || left.KeptAt != -1 {
		t.Errorf("what left: %s, recovered at %d, kept at %d", left.Verdict, left.RecoveredAt, left.KeptAt)
	}
	if kept.RecoveredAt != -1 || kept.Verdict != analysis.Stopped || kept.KeptAt != 6 {
		t.Errorf("what stayed: %s, recovered at %d, kept at %d", kept.Verdict, kept.RecoveredAt, kept.KeptAt)
	}
	for f, want := range map[string]string{"g1:kept": "40 from=t0 to=t7 at=t6"} {
		judged := s.JudgeAll()[f]
		wantEvidence(t, judged, ruleRetained, want)
		if judged.RecoveredAt != -1 {
			t.Errorf("%s recovered at %d", f, judged.RecoveredAt)
		}
	}
}

func TestASingleFamilyThatStaysStandsAlone(t *testing.T) {
	s := lockstep(map[string]string{"g1:conn": "0 4 8 12 16 20 0", "g1:handler": "0 4 8 12 16 20 0", "g1:held": "0 4 8 12 16 20 20"}).series(t)
	if diff := cmp.Diff("g1:conn:1 g1:handler:1", shapes(s.Units())); diff != "" {
		t.Fatalf("units (-want +got):\n%s", diff)
	}
	held := s.JudgeAll()["g1:held"]
	if held.RecoveredAt != -1 || !held.Verdict.Rose() {
		t.Errorf("%+v", held)
	}
	wantEvidence(t, held, ruleRetained, "20 from=t0 to=t6 at=t6")
}

func TestASawIsNoLeakThatRecovered(t *testing.T) {
	judged := only(". 1-20 1-40 41-42 41-60 41-80 81-82").series(t).JudgeAll()[onlyFamily]
	if judged.RecoveredAt != -1 || judged.Verdict == analysis.Leaking {
		t.Errorf("%s, recovered at %d", judged.Verdict, judged.RecoveredAt)
	}
}
