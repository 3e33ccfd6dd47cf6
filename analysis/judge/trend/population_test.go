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

func TestThePoolOfThreadsWhoseNamesTellTheirStateIsOne(t *testing.T) {
	for pool, want := range map[string]string{
		"poller-N [waiting for broker N]": "poller",
		"poller-N [idle]":                 "poller",
		"poller":                          "poller",
		"pool-N-thread-N (idle)":          "pool-N",
		"pool-N":                          "pool-N",
		"Worker #N running":               "Worker",
		"[ACTIVE] ExecuteThread: 'N' for queue: 'kernel'":  "ExecuteThread: 'N' for queue: 'kernel'",
		"[STANDBY] ExecuteThread: 'N' for queue: 'kernel'": "ExecuteThread: 'N' for queue: 'kernel'",
		"[no end":   "[no end",
		"MAIN loop": "MAIN loop",
		"N beats":   "N beats",
		"OkHttp WebSocket http://localhost:N/...":               "OkHttp WebSocket http://localhost:N/...",
		"qtpN-N-acceptor-N@<hex>-ServerConnector@<hex>{<addr>}": "qtpN-N-acceptor-N@<hex>-ServerConnector@<hex>{<addr>}",
		"": "",
	} {
		if got := withoutState(pool); got != want {
			t.Errorf("%q: %q, want %q", pool, got, want)
		}
	}
}

// TestOneThatMovesMakesGoroutinesOfOneFunctionOne: a goroutine keeps the function that it began with.
func TestOneThatMovesMakesGoroutinesOfOneFunctionOne(t *testing.T) {
	for _, tt := range []struct {
		name         string
		entry, other string
		want         int
	}{
		{"of one function", "app.forward", "app.forward", 2},
		{"of two functions", "app.forward", "app.poll", 0},
		{"of functions that nobody knows", "", "", 0},
	} {
		snaps := scenario{families: map[string]string{"g1:a": "1-4 2-4", "g1:b": "9 1,9"}, newest: "100 100"}.snapshots(t)
		for _, snap := range snaps {
			for k := range snap.Groups {
				f := snap.Groups[k].Family
				if f.LooseCreator = "app.Open"; tt.entry != "" {
					f.Loose = []string{"time.Sleep", map[string]string{"g1:a": tt.entry, "g1:b": tt.other}[f.Fingerprint]}
				}
			}
		}
		got := 0
		for _, m := range seriesOf(snaps).populations() {
			got += len(m.parts)
		}
		if got != tt.want {
			t.Errorf("%s: %d families in populations, want %d", tt.name, got, tt.want)
		}
	}
}

// TestAFamilyThatShowsAsEndedWhoMovedIsToldByItsPopulation: ten come each time and all stay; at the end
// one of the first is elsewhere.
func TestAFamilyThatShowsAsEndedWhoMovedIsToldByItsPopulation(t *testing.T) {
	for _, tt := range []struct {
		name, here, there string
		keys              int
	}{
		{"some moved away", "1-10 1-20 1-30 1-40 1-50 3-10,13-60", "900 900 900 900 900 900,1-2,11-12", 1},
		{"some moved there before", "3-10 1-20 1-30 1-40 1-50 1-60", "900,1-2 900 900 900 900 900", 0},
	} {
		s := created(t, map[string]string{"g1:a": tt.here, "g1:b": tt.there})
		keys := slices.DeleteFunc(s.Keys(), func(k Key) bool { return !k.Moving })
		if len(keys) != tt.keys || s.Verdicts()["g1:a"] != analysis.Leaking {
			t.Errorf("%s: %d populations, want %d, beside a family that is %s", tt.name, len(keys), tt.keys, s.Verdicts()["g1:a"])
		}
		for _, k := range keys {
			if l := k.Judgement.Life; l == nil || l.Gone != 0 || l.Born != 50 {
				t.Errorf("%s: %+v; want 50 that came and none that ended", tt.name, l)
			}
		}
	}
}

// TestAStateThatGoroutinesEnterIsNeitherNewNorGrown: twenty are there all the time, some of them in a state
// that was not seen before.
func TestAStateThatGoroutinesEnterIsNeitherNewNorGrown(t *testing.T) {
	for _, tt := range []struct {
		name, here, there string
		want              analysis.Verdict
	}{
		{"all moved there", "1-20 1-20 1-20 1-15", "900 900 900 16-20,900", analysis.Stable},
		{"all moved there", "1-20 1-20 1-20 1-15", ". . . 16-20", analysis.Stable},
		{"all were started there", "1-20 1-20 1-20 1-20", ". . . 21-25", analysis.New},
		{"two moved and three were started there", "1-20 1-20 1-20 1-18", ". . . 19-23", analysis.New},
	} {
		if got := created(t, map[string]string{"g1:a": tt.here, "g1:b": tt.there}).Verdicts()["g1:b"]; got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}
