package trend

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"leakdiff/analysis"
)

// created are families by name, all of one creator.
func created(t *testing.T, families map[string]string) *Series {
	sc := scenario{families: map[string]string{}}
	for name, line := range families {
		sc.families[name] = line
		sc.newest = strings.TrimSpace(strings.Repeat("10000 ", len(strings.Fields(line))))
	}
	snaps := sc.snapshots(t)
	for _, snap := range snaps {
		for k := range snap.Groups {
			snap.Groups[k].Family.LooseCreator = "app.Open"
		}
	}
	return seriesOf(snaps)
}

func TestFamiliesOfOneCreatorAreOnePopulationIfTwoMembersMove(t *testing.T) {
	tests := []struct {
		name     string
		families map[string]string
		want     []string
	}{
		{"two move", map[string]string{"g1:a": "1-4 3-4", "g1:b": "9 1-2,9"}, []string{"g1:a", "g1:b"}},
		{"one moves", map[string]string{"g1:a": "1-4 2-4", "g1:b": "9 1,9"}, nil},
		{"over a third", map[string]string{"g1:a": "1-4 9 9", "g1:b": "5 1-2 5", "g1:c": "7 3-4 7"}, []string{"g1:a", "g1:b", "g1:c"}},
		{"a third that is left alone", map[string]string{"g1:a": "1-4 3-4", "g1:b": "9 1-2,9", "g1:c": "20 20"}, []string{"g1:a", "g1:b"}},
	}
	for _, tc := range tests {
		var got []string
		for _, m := range created(t, tc.families).populations() {
			for _, p := range m.parts {
				got = append(got, p.family.Fingerprint)
			}
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: %v, want %v", tc.name, got, tc.want)
		}
	}
}

func TestAPopulationThatLeaksInTurningStatesIsOneFinding(t *testing.T) {
	// Ten come each time and all stay; each is found in the one family and then in the other.
	var here, there []string
	for i := range 10 {
		var words [2][]string
		for k := range i + 1 {
			words[(i+k)%2] = append(words[(i+k)%2], fmt.Sprintf("%d-%d", 1+10*k, 10*k+10))
		}
		here, there = append(here, strings.Join(append(words[0], "5000"), ",")), append(there, strings.Join(append(words[1], "5001"), ","))
	}
	s := created(t, map[string]string{"g1:a": strings.Join(here, " "), "g1:b": strings.Join(there, " ")})
	keys := s.Keys()
	if len(keys) != 1 || !keys[0].Moving || keys[0].Judgement.Verdict != analysis.Leaking || keys[0].Judgement.Rise != 90 || len(keys[0].Families) != 2 {
		t.Fatalf("%+v; want one leaking population of 90 more", keys)
	}
	for print, v := range s.Verdicts() {
		if v == analysis.Leaking {
			t.Errorf("%s is leaking by itself", print)
		}
	}
	steady := created(t, map[string]string{"g1:a": "1-20 21-40 1-20 21-40 1-20", "g1:b": "21-40 1-20 21-40 1-20 21-40"})
	if keys := steady.Keys(); len(keys) > 0 {
		t.Errorf("%+v; want no finding on members that only move", keys)
	}
}

// TestStatesOfThreadsSocketsAndWatchesAreOnePopulation: ten come each time and all stay; each is in
// the one family and then in the other. Families of two names are two things.
func TestStatesOfThreadsSocketsAndWatchesAreOnePopulation(t *testing.T) {
	var here, there []string
	for i := range 10 {
		var words [2][]string
		for k := range i + 1 {
			words[(i+k)%2] = append(words[(i+k)%2], fmt.Sprintf("%d-%d", 1+10*k, 10*k+10))
		}
		here, there = append(here, strings.Join(append(words[0], "5000"), ",")), append(there, strings.Join(append(words[1], "5001"), ","))
	}
	for _, tc := range []struct {
		name       string
		kind       analysis.Kind
		attributes map[string]string
		apart      string // the attribute by which two names differ
		population string
	}{
		{"threads of one pool", analysis.KindThread, map[string]string{"pool": "http-N"}, "pool", "http-N"},
		{"sockets with the same ends", analysis.KindDescriptor, map[string]string{"protocol": "TCP", "state": "ESTABLISHED", "remote": "10.0.0.9:80"}, "remote", "10.0.0.9:80"},
		{"watches on one mount", analysis.KindWatch, map[string]string{"mount": "/var"}, "mount", "/var"},
	} {
		keys := func(other string, numbered bool) []Key {
			snaps := scenario{kind: tc.kind, families: map[string]string{"g1:a": strings.Join(here, " "), "g1:b": strings.Join(there, " ")}}.snapshots(t)
			for _, snap := range snaps {
				for k := range snap.Groups {
					f := snap.Groups[k].Family
					if c := snap.Groups[k].Members.Fill(); numbered {
						c.Sub = slices.Clone(c.ID) // the inode beside the number
					}
					f.Attributes = maps.Clone(tc.attributes)
					if f.Fingerprint == "g1:b" && other != "" {
						f.Attributes[tc.apart] = other
					}
				}
			}
			return seriesOf(snaps).Keys()
		}
		if got := keys("", true); len(got) != 1 || got[0].By != ByPopulation || got[0].Name != tc.population || got[0].Kind != tc.kind || got[0].Judgement.Verdict != analysis.Leaking || got[0].Judgement.Rise != 90 {
			t.Errorf("%s: %+v; want one leaking population of 90 more", tc.name, got)
		}
		if got := keys("another", true); slices.ContainsFunc(got, func(k Key) bool { return k.Moving }) {
			t.Errorf("%s, of two names: %+v", tc.name, got)
		}
		if got := keys("", false); tc.kind == analysis.KindDescriptor && len(got) > 0 {
			t.Errorf("%s: a number alone is followed, which another may have next: %+v", tc.name, got)
		}
	}
}
