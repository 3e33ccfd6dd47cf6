package evidence

import (
	"math"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/trend"
)

func TestAUnitInWords(t *testing.T) {
	six, twenty := 6.0, 20.0
	share := func(kind analysis.Kind, ratio float64) trend.Share {
		return trend.Share{Kind: kind, Ratio: ratio, Rise: int(20 * ratio)}
	}
	for _, tt := range []struct {
		u    trend.Unit
		want string
	}{
		{trend.Unit{RecoveredAt: 7, KeptAt: -1, Families: []trend.Share{share(analysis.KindGoroutine, 8), share(analysis.KindGoroutine, 1)}, Instances: []*float64{nil, nil, nil, nil, nil, nil, &six, &twenty}},
			"2 groups grow by the same steps, 8:1; +6: each time 9 goroutines"},
		{trend.Unit{RecoveredAt: -1, KeptAt: 6, Families: []trend.Share{share(analysis.KindGoroutine, 2), share(analysis.KindWatch, 1)}, Instances: []*float64{&six, &twenty}},
			"2 groups keep what they gained, although what grew with them ended at t6, 2:1; +20: each time 2 goroutines, 1 watch"},
		{trend.Unit{RecoveredAt: -1, KeptAt: -1, Families: []trend.Share{share(analysis.KindGoroutine, 4.3), share(analysis.KindGoroutine, 1)}},
			"2 groups grow by the same steps, in the ratio 4.3:1"},
	} {
		if got := goroutines.Unit(tt.u); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}

func TestAnOnsetInWords(t *testing.T) {
	windows := func(pairs ...int) (out []trend.Window) {
		for i := 0; i < len(pairs); i += 2 {
			out = append(out, trend.Window{From: pairs[i], To: pairs[i+1]})
		}
		return out
	}
	at := time.Date(2026, 11, 21, 6, 30, 0, 0, time.UTC)
	seven := windows(1, 2)
	for k := range 7 {
		seven[0].Events = append(seven[0].Events, trend.Event{At: time.Date(2026, 11, 21, 3+k, 0, 0, 0, time.UTC), Kind: "deploy", Text: "1." + strconv.Itoa(k)})
	}
	events := windows(3, 4)
	events[0].Events = []trend.Event{
		{At: at, Kind: "deploy", Text: "1.4"},
		{At: at, Kind: "restart", Shown: &trend.Change{Before: 4}},
		{At: at, Kind: "version", Shown: &trend.Change{Before: 4, Was: "1.3", Is: "1.4"}},
	}
	for _, tt := range []struct {
		o    trend.Onset
		want string
	}{
		{trend.Onset{}, "began before the first snapshot"},
		{trend.Onset{Windows: windows(1, 2)}, "began between t1 and t2"},
		{trend.Onset{Windows: windows(1, 2, 2, 3)}, "began between t1 and t3 (95 % of the probability)"},
		{trend.Onset{Windows: windows(1, 2, 4, 5)}, "began between t1 and t2, between t4 and t5 (95 % of the probability)"},
		{trend.Onset{Windows: windows(0, 1, 2, 3, 4, 5, 6, 7, 8, 9)}, "began between t0 and t1, between t2 and t3, between t4 and t5, between t6 and t7 and 1 more (95 % of the probability)"},
		{trend.Onset{Windows: windows(0, 1, 1, 2), Before: true, Evenly: true}, "began before t2, perhaps before t0: it was as fast in the first interval as later"},
		{trend.Onset{Windows: seven}, "began between t1 and t2; in that time: deploy 1.0 at 2026-11-21 03:00:00Z, deploy 1.1 at 2026-11-21 04:00:00Z, deploy 1.2 at 2026-11-21 05:00:00Z, deploy 1.3 at 2026-11-21 06:00:00Z, deploy 1.4 at 2026-11-21 07:00:00Z and 2 more"},
		{trend.Onset{Windows: windows(0, 1), Before: true}, "began before t1, perhaps before t0: it was as fast in the first interval as later"},
		{trend.Onset{Windows: windows(0, 1, 1, 2, 2, 3), Before: true, Evenly: true, Whole: true}, "began before t1, perhaps before t0: as many came in the first interval as later"},
		{trend.Onset{Windows: windows(0, 1, 1, 2, 2, 3), Before: true, Whole: true}, "cannot be dated by its counts: it may have begun anywhere between t0 and t3"},
		{trend.Onset{Oldest: at}, "began before the first snapshot; the oldest member that stayed is from 2026-11-21 06:30Z"},
		{trend.Onset{Windows: events}, "began between t3 and t4; in that time: deploy 1.4 at 2026-11-21 06:30:00Z, restart before t4 at 2026-11-21 06:30:00Z, version 1.3 to 1.4 at 2026-11-21 06:30:00Z"},
	} {
		if got := goroutines.Onset(tt.o); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}

func TestALimitInWords(t *testing.T) {
	rising := trend.Limit{What: "open files", Used: 220, Bound: 1020, Known: true, Rate: 40, RateLow: 40, RateHigh: 40, Hours: 20, HoursLow: 20, HoursHigh: 20}
	perhaps, shared, long := rising, rising, rising
	perhaps.RateLow, perhaps.HoursHigh = -1, math.Inf(1)
	shared.Scope = trend.OfUser
	long.Hours, long.HoursHigh = 11*365*24, 12*365*24
	for _, tt := range []struct {
		l    trend.Limit
		want string
	}{
		{rising, "open files: 220 of 1020 (22 %); at +40/h (95 % interval +40/h to +40/h) full in 20 h (20 h to 20 h)"},
		{perhaps, "open files: 220 of 1020 (22 %); at +40/h (95 % interval -1/h to +40/h) full in 20 h (20 h at the earliest)"},
		{shared, "open files: 220 of 1020 (22 %); at +40/h (95 % interval +40/h to +40/h) full in 20 h (20 h to 20 h), sooner where others of the same user use them too"},
		{long, "open files: 220 of 1020 (22 %); at +40/h (95 % interval +40/h to +40/h) full in more than 10 years (20 h to more than 10 years)"},
		{trend.Limit{What: "inotify watches", Used: 50, Bound: 8192, Known: true, Hours: math.Inf(1)}, "inotify watches: 50 of 8192 (1 %); does not rise"},
		{trend.Limit{What: "inotify watches", Used: 50, Bound: 8192}, "inotify watches: 50 of 8192 (1 %); the snapshots tell no rate"},
		{trend.Limit{What: "threads", Used: 61, Bound: 60, Known: true}, "threads: 61 of 60 (102 %): full"},
	} {
		if got := Limit(tt.l); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}

func TestReasonsForASuspectInWords(t *testing.T) {
	at := 2
	holder := []analysis.LockHolder{{Goroutine: 7, In: "syscall.Read", Of: "main.(*Pool).Put", Children: 2}}
	got := goroutines.Reasons([]analysis.Evidence{
		{Form: "in_object", N: 40, Holders: holder},
		{Form: "child", N: 2, Holders: holder},
		{Form: "several_in_object", N: 40},
		{Form: "same_type", N: 3, Names: []string{"app.Pool", "app.Line"}},
		{Form: "same_creator", N: 1, Names: []string{"main.serve"}},
		{Form: "came_before", At: &at},
	})
	want := []string{
		"goroutine 7 is in main.(*Pool).Put, a method of the object whose lock 40 goroutines wait for, and has 2 children",
		"2 of them may have been started by goroutine 7",
		"several are inside an object whose lock 40 goroutines wait for",
		"is in methods of app.Pool, app.Line and 1 more as well",
		"was started by main.serve as well",
		"does not grow, was not there before t2",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("reasons (-want +got):\n%s", diff)
	}
}
