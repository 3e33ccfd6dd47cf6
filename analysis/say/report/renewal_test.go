package report_test

import (
	"slices"
	"testing"
)

// newEach are captures of so many connections, of which none was there in the capture before.
func newEach(counts ...int) (out [][]connection) {
	for i, n := range counts {
		out = append(out, connections(n, 40000+100*i, "CLOSE_WAIT"))
	}
	return out
}

// TestALevelAtWhichAllAreReplacedIsNoGrowth holds a level that is reached with everything
// replaced: neither the group nor the total of its kind grew.
func TestALevelAtWhichAllAreReplacedIsNoGrowth(t *testing.T) {
	for _, form := range socketForms {
		if !form.owned {
			continue
		}
		t.Run(form.name, func(t *testing.T) {
			r := hourly(t, form.files, newEach(20, 40, 41, 40, 42, 41)...)
			want := "No leak seen: 41 connections to 10.0.0.2:80 in CLOSE_WAIT of app at a time, all of them replaced, none is older than 1 h."
			if d := &r.Diagnosis; d.State != "replaced" || d.Sentence != want {
				t.Errorf("%s: %s\nwant replaced: %s", d.State, d.Sentence, want)
			}
			if n := len(r.Series[0].TotalsRisen); n > 0 {
				t.Errorf("%d totals rose", n)
			}
		})
	}
}

// TestOneEndOfManyReplacesNone holds who is still there after a fall: those of the first capture
// where the newest ended, and none of them where the oldest did.
func TestOneEndOfManyReplacesNone(t *testing.T) {
	lsof := socketForms[0].files
	of := func(n int) []connection { return connections(n, 40000, "ESTABLISHED") }
	for name, tt := range map[string]struct {
		captures             [][]connection
		state, proved, proof string
	}{
		"the newest end":                {[][]connection{of(10), of(20), of(30), of(40), of(22)}, "grew", "10 of 10", "10 of 10 that were there at t0 still are at t4; 12 are new."},
		"half end, and none after that": {[][]connection{of(10), of(30), of(50), of(21), of(21), of(21)}, "grew", "10 of 10", "10 of 10 that were there at t0 still are at t5; 11 are new."},
		"all but the newest 30 end":     {[][]connection{of(4), of(24), of(44), of(64), of(84), of(84)[54:]}, "grew", "0 of 4", "0 of 4 that were there at t0 still are at t5; 30 are new."},
	} {
		t.Run(name, func(t *testing.T) {
			d := hourly(t, lsof, tt.captures...).Diagnosis
			if d.State != tt.state || d.Proved != tt.proved || d.Proof != tt.proof {
				t.Errorf("%s: %s\n%s: %s\nwant %s, %s", d.State, d.Sentence, d.Proved, d.Proof, tt.state, tt.proof)
			}
		})
	}
	if d := hourly(t, lsof, of(10), of(20), of(30), of(40), of(40)[18:]).Diagnosis; d.State == "replaced" {
		t.Errorf("the oldest end: %s", d.Sentence)
	}
}

// TestWhatIsReplacedSaysHowOldItIsAtMost holds a sawtooth: each is there for two intervals.
func TestWhatIsReplacedSaysHowOldItIsAtMost(t *testing.T) {
	var captures [][]connection
	for i := range 3 {
		for _, n := range []int{4, 34, 64} {
			captures = append(captures, connections(n, 40000+100*i, "ESTABLISHED"))
		}
	}
	d := hourly(t, socketForms[0].files, captures...).Diagnosis
	want := "Connections to 10.0.0.2:80 of app grew from 4 to 64 in 2 h, and none is older than 3 h."
	if d.State != "replaced" || d.Sentence != want || d.Growth == nil || d.Growth.Reason != "none is older than 3 h: load, or slower answers" {
		t.Errorf("%s: %s\n%+v\nwant replaced: %s", d.State, d.Sentence, d.Growth, want)
	}
}

// TestACacheThatIsFullHasStopped holds a growth to a level at which the oldest make room for others.
func TestACacheThatIsFullHasStopped(t *testing.T) {
	of := connections(102, 40000, "ESTABLISHED")
	full := slices.Clone(of[:48])
	replace := func(first, n int) []connection { // from one slot on
		copy(full[first:], of[48+first-1:48+first-1+n])
		return slices.Clone(full)
	}
	d := hourly(t, socketForms[0].files, of[:9], of[:41], of[:48], replace(1, 20), replace(21, 21)).Diagnosis
	want := "Connections to 10.0.0.2:80 of app grew from 9 to 48, and stayed at 48 since t2: 80 came, 41 ended."
	proof := "Plateau at 48: 41 descriptors were replaced at a level count, about 20.5/h new, and the old ones leave."
	if d.State != "grew and stopped" || d.Sentence != want || d.Proof != proof || d.Growth.Reason != "it stays at 48, and others take the place of those that end" {
		t.Errorf("%s: %s\n%s\n%+v", d.State, d.Sentence, d.Proof, d.Growth)
	}
}
