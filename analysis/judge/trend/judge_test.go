package trend

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"leakdiff/analysis"
)

// Times of the series of the corpus, in seconds since t0.
const (
	kubeletTimes    = "0 25.5 315.4 352.7 390 427.6 465.3 502.8 545.1"
	prometheusTimes = "0 20.3 40.6 60.8 81 101.3 121.9 152.2"
	informerTimes   = "0 20.2 40.4 60.8 81.3 101.5 121.7"
)

// Each verdict is that of the prefix ending at t0, t1, ...: L leaking, S suspicious, |
// stopped, + grew, N new, G gone, = stable, ? too few points, . not there yet.
func TestVerdictAtEveryPrefix(t *testing.T) {
	tests := []struct {
		name      string
		in        scenario
		verdicts  string
		recovered int
	}{
		{"kubelet probe workers pile up and recover", only(piling("0 8 15 23 31 36 42 48 0")).at(kubeletTimes), ".NSLLLLLL", 8},
		{"housekeeping from a floor of 4", only(piling("4 16 24 32 40 48 56 64 4")).at(kubeletTimes), "?+SLLLLLL", 8},
		{"pod workers start two snapshots late", only(piling("0 0 4 8 12 16 20 24 0")).at(kubeletTimes), "..NNLLLLL", 8},
		{"inotify watches of the kubelet", only(piling("44 116 164 211 259 307 355 403 43")).at(kubeletTimes), "?SSLLLLLL", 8},
		{"blocked probes rise once", only(piling("0 8 8 8 8 8 8 8 0")).at(kubeletTimes), ".NN|||||G", -1},
		{"stuck terminations rise once", only(piling("0 4 4 4 4 4 4 4 0")).at(kubeletTimes), ".NN|||||G", -1},
		{"opened pipes rise once", only(piling("0 16 16 16 16 16 16 16 0")).at(kubeletTimes), ".SN|||||G", -1},
		{"blocked collectors come one snapshot late", only(piling("0 0 8 8 8 8 8 8 0")).at(kubeletTimes), "..NN+++|G", -1},
		{"a few lost members of CLOSE_WAIT are no recovery", only(piling("0 1 2 3 3 2 3 3")).at("0 25.5 315.4 352.7 390 427.6 465.3 502.8"), ".==++=++", -1},
		{"constant survivors", only(piling("20 20 20 20 20 20")), "?=====", -1},
		{"churn without a survivor", only(churning("20 10 10 10 10 10")).at("0 20 40 60 80 88"), "?=====", -1},
		{"churn that varies", only(churning("12 30 9 25 14 28 11 26")), "?+======", -1},
		{"informer factories in lockstep", only(piling("2 12 21 31 41 50 60")).at(informerTimes), "?+SLLLL", -1},
		{"inotify instances", only(piling("14 30 60 100")).at("0 13 25 38"), "?+SL", -1},
		{"sockets in CLOSE_WAIT, three quarters of them born in one interval", only(piling("2 4 10 20")).at("0 2 5 7"), "?=+L", -1},
		{"established sockets double", only(piling("4 16 36 80")).at("0 2 5 7"), "?+SL", -1},
		{"accelerating threads", only(piling("3 8 20 45 90")).at("0 4 10 15 21"), "?+SLL", -1},
		{"a dispatcher that saturates", only(piling("0 6 27 33 39")).at("0 0.94 1.94 2.9 3.98"), ".NSSL", -1},
		{"counts without identities need four in a row", only(unidentified("3 42 82 122 162")).at("0 20 40 60 80"), "?SSLL", -1},
		{"counts recover without identities", only(unidentified("3 42 82 122 162 4")).at("0 20 40 60 80 100"), "?SSLLL", 5},
		{"a rise that churn explains grew, and leaks nothing", only(churning("0 20 40 60 80 100")), ".SS+++", -1},
		{"a cache that is emptied does not recover", only(". 1-30 1-60 101-102 101-130 101-160 201-202 201-230"), ".SS=++=+", -1},
		{"members leave one after another", only(piling("90 70 50 30 12")), "?=vvv", -1},
		{"members that came at once and stayed", only(piling("0 0 0 0 0 0 0 38")).at(prometheusTimes), ".......N", -1},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			snaps := tc.in.snapshots(t)
			var got strings.Builder
			recovered := -2
			for k := 1; k <= len(snaps); k++ {
				judged, seen := prefix(snaps, k).JudgeAll()[onlyFamily]
				if !seen {
					got.WriteString(".")
					continue
				}
				got.WriteString(letter(judged.Verdict))
				recovered = judged.RecoveredAt
			}
			if diff := cmp.Diff(tc.verdicts, got.String()); diff != "" {
				t.Errorf("verdicts (-want +got):\n%s", diff)
			}
			if recovered != tc.recovered {
				t.Errorf("recovered at %d, want %d", recovered, tc.recovered)
			}
		})
	}
}

func letter(v analysis.Verdict) string {
	return map[analysis.Verdict]string{
		analysis.Leaking: "L", analysis.Suspicious: "S", analysis.Scaling: "x", analysis.New: "N", analysis.Shrinking: "v",
		analysis.Gone: "G", analysis.Stable: "=", analysis.TooFewPoints: "?", analysis.Grew: "+", analysis.Stopped: "|",
	}[v]
}

func TestHangingTargetsWithoutALoadReadAsALeakThatNamesTheOtherExplanation(t *testing.T) {
	// corpus/series/prometheus-hanging-targets is scaling. Its loops stay, one per
	// target: only the number of targets can explain them. Its connections are opened
	// anew for every scrape.
	loops := only(piling("0 40 80 120 160 200 240 0")).at(prometheusTimes).series(t).JudgeAll()[onlyFamily]
	if loops.Verdict != analysis.Leaking || loops.RecoveredAt != 7 {
		t.Errorf("loops: %s, recovered at %d; want leaking, 7", loops.Verdict, loops.RecoveredAt)
	}
	wantEvidence(t, loops, ruleMissing, "no_load")

	connections := only(churning("0 40 80 120 160 200 240")).at(strings.TrimSuffix(prometheusTimes, " 152.2")).series(t).JudgeAll()[onlyFamily]
	if connections.Verdict != analysis.Grew {
		t.Errorf("connections: %s, want grew", connections.Verdict)
	}
}

func TestTheRestartSeriesIsJudgedInsideItsFirstProcess(t *testing.T) {
	sc := scenario{
		families: map[string]string{
			onlyFamily:  "1-3 1-42 1-82 1-122 1-162 1-16",
			"g1:steady": "1001-1020 1001-1020 1001-1020 1001-1020 1001-1020 1001-1020",
			"g1:churn":  "2001-2020 2101-2110 2201-2210 2301-2310 2401-2410 101-110",
		},
		newest: "2072 2514 2957 3400 3847 1218",
	}.at("0 20 40.1 60.1 80.2 88.2")
	s := sc.series(t)
	if diff := cmp.Diff([]int{0, 0, 0, 0, 0, 1}, s.Epochs); diff != "" {
		t.Fatalf("epochs (-want +got):\n%s", diff)
	}
	leak := s.JudgeAll()[onlyFamily]
	if leak.Verdict != analysis.Leaking || leak.RecoveredAt != -1 || leak.Survivors != 42 || leak.Rise != 159 {
		t.Errorf("%+v; want leaking, no recovery, 42 survivors, rise 159", leak)
	}
	wantEvidence(t, leak, rulePresence, "after_restart 16 at=t5")
	for _, fingerprint := range []string{"g1:steady", "g1:churn"} {
		if got := s.JudgeAll()[fingerprint].Verdict; got != analysis.Stable {
			t.Errorf("%s: %s, want stable", fingerprint, got)
		}
	}
}

func TestMarksOfTheRuntimeOverrideEverything(t *testing.T) {
	snaps := only(piling("3 3")).snapshots(t)
	mark := func(snap *analysis.Snapshot) {
		for g := range snap.Groups {
			if snap.Groups[g].Family.Fingerprint == onlyFamily {
				snap.Groups[g].Leaked = 2
			}
		}
	}
	mark(snaps[1])
	judged := seriesOf(snaps).JudgeAll()[onlyFamily]
	if judged.Verdict != analysis.Leaking {
		t.Errorf("verdict %s, want leaking", judged.Verdict)
	}
	wantEvidence(t, judged, ruleLeakedMark, "2 at=t1")
	if got := prefix(snaps, 1).JudgeAll()[onlyFamily].Verdict; got != analysis.TooFewPoints {
		t.Errorf("before the mark: %s, want too few points", got)
	}
	snaps[1].Truncated, snaps[1].LowerBound = true, true
	if got := seriesOf(snaps).JudgeAll()[onlyFamily].Verdict; got != analysis.Leaking {
		t.Errorf("marks of a cut dump: %s, want leaking", got)
	}
}

func TestACutDumpIsLeftOutAndNamed(t *testing.T) {
	snaps := only(piling("50 60 3 80 90")).snapshots(t)
	snaps[2].Truncated, snaps[2].LowerBound = true, true
	judged := seriesOf(snaps).JudgeAll()[onlyFamily]
	if judged.Verdict != analysis.Leaking {
		t.Errorf("verdict %s, want leaking: %v", judged.Verdict, judged.Evidence)
	}
	wantEvidence(t, judged, ruleMissing, "cut 1 [t2:0]")
}

func TestACutDumpWithACompleteTwinCountsAndIsNotFollowed(t *testing.T) {
	snaps := only(piling("10 20 30 40 50")).snapshots(t)
	snaps[2].Truncated = true
	for g := range snaps[2].Groups {
		group := &snaps[2].Groups[g]
		group.Members.Fill().ID = group.Members.Fill().ID[:1]
	}
	judged := seriesOf(snaps).JudgeAll()[onlyFamily]
	if judged.Verdict != analysis.Leaking {
		t.Errorf("verdict %s, want leaking", judged.Verdict)
	}
	wantEvidence(t, judged, ruleCohort, "followed 30/30 from=t0 to=t4 hour births=3 born=40 intervals=2 largest=0.6667 [t1:10 t3:20 t4:10]")
}

func TestNewAndGone(t *testing.T) {
	version := func(values ...string) func([]*analysis.Snapshot) {
		return func(snaps []*analysis.Snapshot) {
			for i, v := range values {
				snaps[i].Process.Version.Value = v
			}
		}
	}
	tests := []struct {
		name     string
		in       scenario
		change   func([]*analysis.Snapshot)
		want     analysis.Verdict
		evidence string
	}{
		{"three members that were not there are new", only(piling("0 0 3")), nil, analysis.New, "new from=t1 at=t2"},
		{"two are not", only(piling("0 0 2")), nil, analysis.Stable, "new from=t1 at=t2"},
		{"new ends after two intervals and has stopped", only(piling("0 5 5 5")), nil, analysis.Stopped, "new from=t0 at=t1"},
		{"another version brings its own families", only(piling("0 5")), version("1.1", "1.2"), analysis.Stable, "new_in_version from=t0 at=t1 (1.1, 1.2)"},
		{"three members that left are gone", only(piling("4 4 0")), nil, analysis.Gone, "gone from=t1 at=t2"},
		{"gone ends after two intervals", only(piling("4 0 0 0")), nil, analysis.Stable, "gone from=t0 at=t1"},
		{"a family that left with its version is not gone", only(piling("4 0")), version("1.1", "1.2"), analysis.Stable, "gone_in_version from=t0 at=t1 (1.1, 1.2)"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			snaps := tc.in.snapshots(t)
			if tc.change != nil {
				tc.change(snaps)
			}
			judged := seriesOf(snaps).JudgeAll()[onlyFamily]
			if judged.Verdict != tc.want {
				t.Errorf("verdict %s, want %s", judged.Verdict, tc.want)
			}
			wantEvidence(t, judged, rulePresence, tc.evidence)
		})
	}
}

func TestWhatWasNotCapturedIsNamed(t *testing.T) {
	watches := scenario{families: map[string]string{onlyFamily: "1-9 - 1-9"}, kind: analysis.KindWatch}.series(t).JudgeAll()[onlyFamily]
	wantEvidence(t, watches, ruleMissing, "not_captured watch 1 [t1:0]")
}

func TestTooFewPoints(t *testing.T) {
	tests := []struct {
		name     string
		in       scenario
		evidence string
	}{
		{"one snapshot", only("1-900"), "one_count"},
		{"the kind was captured once", scenario{families: map[string]string{onlyFamily: "1-9 -"}}, "one_count"},
		{"every snapshot is another process", scenario{families: map[string]string{onlyFamily: "1-9 1-90 1-900"}, pids: "1 2 3"}, "only_restarts 3"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			judged := tc.in.series(t).JudgeAll()[onlyFamily]
			if judged.Verdict != analysis.TooFewPoints || judged.RecoveredAt != -1 || judged.Survivors != -1 {
				t.Errorf("%+v, want too few points", judged)
			}
			wantEvidence(t, judged, ruleMissing, tc.evidence)
		})
	}
}

func TestEvidenceIsFigures(t *testing.T) {
	tests := []struct {
		name string
		in   scenario
		want []string
	}{
		{
			name: "two snapshots grew and nobody says that they grow",
			in:   only(piling("4 40")).at("0 20"),
			want: []string{
				"turnover followed 4/4 gone=0 new=36",
				"series few 2 hour span=0.005556 {t0:4 t1:40}", // 20 s
				"missing few_counts 2 p=0.5",
				"missing no_load",
				"span leak_or_queue hour span=0.005556",
				"decides more_snapshots 2 hour wait=0.5",
			},
		},
		{
			name: "a leak of hours",
			in:   only(piling("40 60 80 100 120")).at("0 3600 7200 10800 14400"),
			want: []string{
				"series trend 5 hour high=20 low=20 p=0.01374 slope=20 span=4 {t0:40 t4:120}",
				"cohort followed 60/60 from=t0 to=t4 hour births=4 born=80 intervals=3 largest=0.3333 [t1:20 t2:20 t3:20 t4:20]",
				"survivors stayed 60/60 from=t1 to=t4 new=60",
				"missing no_load",
				"decides if_those_gone 60",
			},
		},
		{
			name: "a rise that happened once",
			in:   only(piling("10 40 40 41")).at("0 600 1200 1800"),
			want: []string{
				"turnover followed 10/10 gone=0 new=31",
				"stopped slowed 30 at=t1 after=1 expected=60 stayed=30",
				"series one_step 4 hour high=180 low=0 overall=62 p=0.08712 slope=34 span=0.5 {t0:10 t3:41}",
				"rose_once mostly 30/31 from=t0 to=t1",
				"cohort followed 30/30 from=t0 to=t3 hour births=2 born=31 intervals=1 largest=1 [t1:30 t3:1]",
				"decides if_more 41 hour wait=0.5",
			},
		},
		{
			name: "no times and no identities",
			in:   only(unidentified("5 5 6 5")).at("- - - -"),
			want: []string{
				"series noise 4 snapshot span=3 {t0:5 t3:5} within 5 to 6",
				"missing no_identities",
				"missing no_times",
				"decides if_rise 23",
			},
		},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			var got []string
			for _, e := range tc.in.series(t).JudgeAll()[onlyFamily].Evidence {
				got = append(got, e.Rule+" "+figuresOf(e))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("evidence (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEvidenceNamesWhatItsMembersAreFollowedBy(t *testing.T) {
	for kind, want := range map[analysis.Kind]analysis.IdentityKind{
		analysis.KindGoroutine: analysis.GoroutineID, analysis.KindThread: analysis.ThreadNumber,
		analysis.KindDescriptor: analysis.Number, analysis.KindWatch: analysis.WatchNumber,
	} {
		for _, e := range (scenario{families: map[string]string{onlyFamily: "1-20 1-40"}, kind: kind}).series(t).JudgeAll()[onlyFamily].Evidence {
			if e.Rule == ruleTurnover && e.Identity != want {
				t.Errorf("%s are followed by %q, want %s", kind, e.Identity, want)
			}
			if e.Rule == ruleSeries && e.Identity != "" {
				t.Errorf("counts of %s are followed by %q", kind, e.Identity)
			}
		}
	}
}

func TestSlopesWithoutTimesArePerSnapshot(t *testing.T) {
	judged := only(unidentified("0 20 40 60 80")).at("- - - - -").series(t).JudgeAll()[onlyFamily]
	if judged.Slope != 20 || judged.SlopeUnit != "per snapshot" {
		t.Errorf("slope %v %s, want 20 per snapshot", judged.Slope, judged.SlopeUnit)
	}
	mixed := only(unidentified("0 20 999 60 80")).at("0 3600 - 10800 14400").series(t).JudgeAll()[onlyFamily]
	if mixed.Slope != 20 || mixed.SlopeUnit != "per hour" {
		t.Errorf("with one time missing: slope %v %s, want 20 per hour", mixed.Slope, mixed.SlopeUnit)
	}
	wantEvidence(t, mixed, ruleMissing, "undated 1 [t2:0]")
}

func TestCohorts(t *testing.T) {
	tests := []struct {
		name string
		in   scenario
		want bool
	}{
		{"members born in several intervals stay", only(piling("0 4 8 12 16")), true},
		{"seven established members are not enough", only(piling("0 3 7 7 30")), false},
		{"one interval is a burst", only(piling("0 20 20 20 20")), false},
		{"nine tenths in one interval are a burst", only(piling("0 2 50 52 54")), false},
		{"members that are replaced are churn", only(churning("9 9 9 9 9 9")), false},
		{"a quarter of the established has left", only("1 1-13 1-25 11-37 11-49"), false},
		{"a fifth of the established has left", only("1 1-21 1-41 1-41,50 10-41,60"), true},
		{"eight snapshots need births in three intervals", only(piling("0 10 20 20 20 20 20 20")), false},
		{"members of the first snapshot are never new", only(piling("50 50 50 50 50")), false},
		{"requests seen twice within the spacing are not established", only("1 1,2-9 2-9,10 1,11-18 11-18,19 1,21-28 21-28,29 1").
			at("0 600 600.3 1200 1200.3 1800 1800.3 2400"), false},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			s := tc.in.series(t)
			p := s.parts[onlyFamily]
			c, _ := p.bestCohort()
			if c.holds != tc.want {
				t.Errorf("holds = %v, want %v: born %v, established %v, alive %v", c.holds, tc.want, c.born, c.established, c.alive)
			}
		})
	}
}

func TestTheNextSnapshotIsNamedWhenEnoughCanHaveBeenBorn(t *testing.T) {
	// 24 members in 24 hours are one an hour: 12 births take twelve.
	snap := aged(48, every(60, 1440, 60)...)
	got := seriesOf([]*analysis.Snapshot{snap}).JudgeAll()[onlyFamily]
	wantEvidence(t, got, ruleDecides, "more_snapshots 3 hour wait=12")
}

func TestWhatIsAccusedIsNotCalledNoiseToo(t *testing.T) {
	// Two of each interval stay. Eight in all are below the gate of the counts.
	s := only(piling("0 2 2 4 4 6 6 8 8")).at("0 4 8 12 16 20 24 28 32").series(t)
	j := s.JudgeAll()[onlyFamily]
	if j.Verdict != analysis.Leaking && j.Verdict != analysis.Suspicious {
		t.Fatalf("%s: %v", j.Verdict, j.Evidence)
	}
	for _, e := range j.Evidence {
		if e.Form == "noise" || e.Form == "below_gate" {
			t.Errorf("%s, and %s", j.Verdict, figuresOf(e))
		}
	}
}
