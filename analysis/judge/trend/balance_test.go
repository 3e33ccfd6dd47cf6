package trend

import (
	"strings"
	"testing"

	"leakdiff/analysis"
)

func TestTwoOrThreeDumpsSayWhoCameAndWhoLeft(t *testing.T) {
	tests := []struct {
		name     string
		in       scenario
		want     analysis.Verdict
		rule     string
		evidence string
	}{
		{"40 came and none of 212 left", only("1-212 1-252"), analysis.Grew, ruleTurnover, "followed 212/212 gone=0 new=40"},
		{"three new ones are enough where nobody left", only("1-20 1-23"), analysis.Grew, ruleTurnover, "followed 20/20 gone=0 new=3"},
		{"two are not", only("1-20 1-22"), analysis.Stable, "", ""},
		{"20 become 40", only("1-20 1-40"), analysis.Grew, ruleTurnover, "followed 20/20 gone=0 new=20"},
		{"three dumps tell both intervals", only("1-200 1-220 1-240"), analysis.Grew, ruleTurnover, "followed 200/200 gone=0 new=40 [t1:20 t2:20]"},
		{"half as many again in turns is chance", only("1-10 11-23"), analysis.Stable, "", ""},
		{"many more in turns is not", only("1-10 11-40"), analysis.Grew, ruleTurnover, "followed 0/10 gone=10 new=30"},
		{"counts below the gate are no growth", only("#100 #109"), analysis.Stable, "", ""},
		{"counts that double below the noise of counts are no growth, and not called noise", only("#20 #40"), analysis.Stable, "", ""},
		{"counts beyond it are suspicious as before", only("#4 #40"), analysis.Suspicious, ruleTurnover, "counts 36"},
		{"more in the second of three dumps has stopped", only("1-6 1-27 1-27"), analysis.Stopped, ruleStopped, "stands 21 at=t1 expected=21 stayed=21"},
		{"more in the third of three dumps grew", only("1-27 1-31 1-40"), analysis.Grew, ruleTurnover, "followed 27/27 gone=0 new=13 [t1:4 t2:9]"},
		{"a restart in between is no birth", scenario{families: map[string]string{onlyFamily: "1-20 1-23 101-103 101-104"}, pids: "1 1 2 2"}, analysis.Grew, ruleTurnover, "followed 23/23 gone=0 new=4"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			judged := tc.in.series(t).JudgeAll()[onlyFamily]
			if judged.Verdict != tc.want {
				t.Errorf("verdict %s, want %s: %v", judged.Verdict, tc.want, judged.Evidence)
			}
			if tc.rule != "" {
				wantEvidence(t, judged, tc.rule, tc.evidence)
				return
			}
			for _, e := range judged.Evidence {
				if e.Rule == ruleTurnover || e.Rule == ruleStopped {
					t.Errorf("evidence %v of a family that did not grow", e)
				}
			}
		})
	}
}

func TestAGrowthThatHasEndedIsStopped(t *testing.T) {
	tests := []struct {
		name     string
		in       scenario
		want     analysis.Verdict
		evidence string
	}{
		{"60 came until t6 and stand since", only(piling("0 9 19 28 41 55 60 60 60 60")), analysis.Stopped, "stands 60 at=t6 expected=30 stayed=60"},
		{"one came since", only(piling("0 9 19 28 41 55 60 60 60 61")), analysis.Stopped, "slowed 60 at=t6 after=1 expected=30 stayed=60"},
		{"counts alone stop as well", only("#0 #9 #19 #28 #41 #55 #60 #60 #60 #60"), analysis.Stopped, "stands 60 at=t6 expected=30"},
		{"a cache that is full replaces its members", only("1-9 1-41 14-61 35-82 55-102"), analysis.Stopped, "level 39/48 at=t2 expected=39"},
		{"the same count twice may be chance", only("1-9 1-41 14-61 35-82"), analysis.Grew, ""},
		{"one more at the end is no level", only("1-9 1-41 14-61 35-82 55-103"), analysis.Grew, ""},
		{"two quiet intervals after pauses of one are a pause", only(piling("0 20 20 40 40 60 60 60")), analysis.Suspicious, ""},
		{"the last interval alone says nothing of a slow growth", only(piling("0 1 2 3 4 5 6 7 8 9 10 11 12 12")), analysis.Leaking, ""},
		{"what fell after its peak has not stood still", only("1-10 1-40 1-70 1-100 1-130 1-60"), analysis.Grew, ""},
		{"what goes on has not stopped", only(piling("0 9 19 28 41 55 60 65 70 75")), analysis.Leaking, ""},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			judged := tc.in.series(t).JudgeAll()[onlyFamily]
			if judged.Verdict != tc.want {
				t.Fatalf("verdict %s, want %s: %v", judged.Verdict, tc.want, judged.Evidence)
			}
			if tc.evidence != "" {
				wantEvidence(t, judged, ruleStopped, tc.evidence)
			}
		})
	}
}

// A watch whose mount goes away is in another family from then on. It did not end in
// the first one and was not born in the other.
func TestAWatchThatOnlyChangedItsFamilyIsNoBirth(t *testing.T) {
	in := scenario{kind: analysis.KindWatch, families: map[string]string{
		"w1:mounted": "1-20 1-8", "w1:gone": "31-40 31-40,9-20",
	}}
	for fingerprint, judged := range in.series(t).JudgeAll() {
		if judged.Verdict == analysis.Grew || judged.Verdict == analysis.New {
			t.Errorf("%s: %s: %v", fingerprint, judged.Verdict, judged.Evidence)
		}
	}
}

func TestGrowersAreToldBeforeWhatFell(t *testing.T) {
	in := scenario{families: map[string]string{
		"g1:fell": "1-90 1-12", "g1:grew": "101-200 101-240", "g1:leaks": "#4 #90", "g1:same": "301-310 301-310",
	}}
	var told []string
	for _, p := range in.series(t).Explain() {
		told = append(told, string(p.Verdict)+" "+strings.Join(p.Families, " "))
	}
	if got, want := strings.Join(told, ", "), "suspicious g1:leaks, grew g1:grew"; got != want {
		t.Errorf("told %q, want %q", got, want)
	}
}

func TestATotalThatDoublesIsNeverDenied(t *testing.T) {
	for _, tt := range []struct {
		name string
		in   scenario
		want bool
	}{
		{"two counts without identities beyond the gate", only("#20 #40"), true},
		{"below the gate", only("#100 #105"), false},
		{"one new member in each of many families", scenario{families: map[string]string{"g1:a": "1 1-2", "g1:b": "11 11-12", "g1:c": "21 21-22"}}, true},
		{"members that take turns", scenario{families: map[string]string{"g1:a": "1-50 101-160"}}, false},
		{"requests of many families, none of which was there at both ends", requests(), false},
		{"a level at which all are replaced", scenario{families: map[string]string{"g1:a": churning("20 40 41 40 42 41"), "g1:b": "90001 90001 90001 90001 90001 90001"}}, false},
		{"a level at which all are replaced, and two more elsewhere", scenario{families: map[string]string{"g1:a": churning("20 40 41 40 42 41"), "g1:b": "90001 90001 90001 90001 90001 90001-90003"}}, false},
		{"a level at which all are replaced, and three more elsewhere", scenario{families: map[string]string{"g1:a": churning("20 40 41 40 42 41"), "g1:b": "90001 90001 90001 90001 90001 90001-90004"}}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			risen := false
			for _, total := range tt.in.series(t).Totals() {
				risen = risen || total.Risen
			}
			if risen != tt.want {
				t.Errorf("risen %v, want %v", risen, tt.want)
			}
		})
	}
}

// requests has 18 members that stay, and in three families four requests at two of the captures between
// the ends and five at the last one.
func requests() scenario {
	return scenario{families: map[string]string{
		"g1:pool": "1-18 1-18 1-18 1-18 1-18",
		"g1:read": ". 101-102 201-202 . 301-302", "g1:resize": ". 103 203 . 303-304", "g1:write": ". 104 204 . 305",
	}}
}

// Who is compared with the first capture alone seems to have stayed, though others came and left in between.
func TestRequestsBetweenTheEndsAreSeenToEnd(t *testing.T) {
	snaps := requests().snapshots(t)
	for _, snap := range snaps {
		for g := range snap.Groups {
			snap.Groups[g].Family.LooseCreator = "main.main"
		}
	}
	if keys := seriesOf(snaps).Keys(); len(keys) > 0 {
		t.Errorf("%s grew by %d", keys[0].Name, keys[0].Judgement.Rise)
	}
	life := only("1-18 1-18,101-104 1-18,201-204 1-18 1-18,301-305").series(t).JudgeAll()[onlyFamily].Life
	if life == nil || life.Born != 13 || life.Gone != 8 {
		t.Errorf("%+v, want 13 that came and 8 that ended", life)
	}
}

// One end of many is no turnover: only where those that came after an earlier capture were all
// replaced too, members are replaced all the time.
func TestMembersAreRenewedOnlyWhereAllAreReplacedTwice(t *testing.T) {
	for _, tt := range []struct {
		name, counts string
		want         int // the snapshot, -1 for none
	}{
		{"replaced each time", churning("20 40 41 40 42 41"), 4},
		{"replaced after two snapshots each", "1-20 1-20 101-140 101-140 201-241 201-241", 3},
		{"replaced once", "1-20 1-20 1-20 101-140 101-140 101-140", -1},
		{"the oldest end once", "1-10 1-20 1-30 1-40 19-40", -1},
		{"a sawtooth", "1-4 1-34 1-64 101-104 101-134 101-164 201-204 201-234 201-264", 5},
		{"five at the end", churning("10 10 10 5"), 2},
		{"four at the end", churning("10 10 10 4"), -1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := -1
			if at := only(tt.counts).series(t).parts[onlyFamily].renewedAt(); at != nil {
				got = *at
			}
			if got != tt.want {
				t.Errorf("renewed at %d, want %d", got, tt.want)
			}
		})
	}
}

func TestWhatWasReplacedStandsFromTheTwoIntervalsOnInWhichNobodyMoved(t *testing.T) {
	for _, tt := range []struct {
		name, counts string
		want         int // the snapshot, -1 for none
	}{
		{"replaced, then the same for two intervals", churning("20 20 20") + " 901-940 901-940 901-940", 3},
		{"one interval is too short", churning("20 20 20 20") + " 901-940 901-940", -1},
		{"one more comes at the end", churning("20 20 20") + " 901-940 901-940 901-941", -1},
		{"one is replaced at the end", churning("20 20 20") + " 901-940 901-940 902-941", -1},
		{"they never moved", "1-20 1-20 1-20 1-20", -1},
		{"they only came before", "1-5 1-10 1-20 1-20 1-20", -1},
		{"some left in half of the intervals before", "1-20 5-20 5-24 5-24 5-24", 2},
		{"some left in fewer", "1-20 5-20 5-24 5-28 5-28 5-28", -1},
		{"five stand", churning("9 9 9") + " 901-905 901-905 901-905", 3},
		{"four are too few", churning("9 9 9") + " 901-904 901-904 901-904", -1},
	} {
		got := -1
		if at := only(tt.counts).series(t).parts[onlyFamily].standsSince(); at != nil {
			got = *at
		}
		if got != tt.want {
			t.Errorf("%s: stands since %d, want %d", tt.name, got, tt.want)
		}
	}
}
