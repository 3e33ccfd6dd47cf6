package evidence

import (
	"strings"
	"testing"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/trend"
)

var goroutines = Words{Labels: []string{"t0", "t1", "t2", "t3", "t4", "t5", "t6", "t7"}, One: "goroutine", Many: "goroutines"}

type figures = map[analysis.Figure]float64

func TestEvidenceInWords(t *testing.T) {
	at := func(i int) *int { return &i }
	points := func(pairs ...int) (out []analysis.Point) {
		for i := 0; i < len(pairs); i += 2 {
			out = append(out, analysis.Point{At: pairs[i], N: pairs[i+1]})
		}
		return out
	}
	first5 := points(2, 0, 3, 0, 4, 0, 5, 0, 6, 0)
	counter := []string{"shop_http_requests_total", "request"}
	for _, tt := range []struct {
		e    analysis.Evidence
		want string
	}{
		{analysis.Evidence{Rule: "leaked_mark", N: 2, At: at(1)}, "the runtime marked 2 goroutines as leaked at t1: nothing that can still run can wake them"},
		{analysis.Evidence{Rule: "leaked_mark", N: 1, At: at(1)}, "the runtime marked 1 goroutine as leaked at t1: nothing that can still run can wake them"},
		{analysis.Evidence{Rule: "memory", At: at(4), N: 30, Of: 40}, "was leaking at t4; 30 of the 40 goroutines that proved it are still there"},

		{analysis.Evidence{Rule: "turnover", Form: "counts", N: 36}, "36 more by the counts; without identities it is not known who came and who left"},
		{analysis.Evidence{Rule: "turnover", Form: "followed", N: 4, Of: 4, Figures: figures{"new": 36, "gone": 0}}, "36 new, 0 gone, 4 of 4 still there"},
		{analysis.Evidence{Rule: "turnover", Form: "followed", N: 1, Of: 9, Figures: figures{"new": 47, "gone": 8, "passed": 51}}, "47 new, 8 gone, 1 of 9 still there; 51 more came and ended in between"},
		{analysis.Evidence{Rule: "turnover", Form: "followed", Figures: figures{"new": 36, "gone": 0}}, "36 new, 0 gone"},
		{analysis.Evidence{Rule: "turnover", Form: "followed", N: 20, Of: 20, Figures: figures{"new": 35, "gone": 0}, Points: points(1, 20, 2, 20)}, "35 new, 0 gone, 20 of 20 still there; 20 came until t1, 20 until t2"},

		{analysis.Evidence{Rule: "window", N: 42, At: at(1), Figures: figures{"ended": 0, "hours": 5.0 / 3600}}, "in 5 s of trace 42 started and none ended"},
		{analysis.Evidence{Rule: "window", N: 42, At: at(1), Figures: figures{"ended": 3, "hours": 2.0 / 60}}, "in 2 min of trace 42 started and 3 ended"},
		{analysis.Evidence{Rule: "window", N: 42, At: at(1), Figures: figures{"ended": 0, "untold": 37, "hours": 5.0 / 3600}}, "in 5 s of trace 42 started; 37 others ended of which it does not show what they were"},
		{analysis.Evidence{Rule: "window", N: 42, At: at(1), Figures: figures{"ended": 3, "untold": 1, "hours": 5.0 / 3600}}, "in 5 s of trace 42 started and 3 ended; 1 other ended of which it does not show what it was"},

		{analysis.Evidence{Rule: "stopped", Form: "stands", N: 60, At: at(6), Figures: figures{"expected": 30, "stayed": 60}}, "grew by 60 until t6, stands since; the 60 are still there; its own pace would have shown 30 more"},
		{analysis.Evidence{Rule: "stopped", Form: "stands", N: 60, At: at(6), Figures: figures{"expected": 30}}, "grew by 60 until t6, stands since; its own pace would have shown 30 more"},
		{analysis.Evidence{Rule: "stopped", Form: "slowed", N: 30, At: at(1), Figures: figures{"after": 1, "expected": 60, "stayed": 30}}, "grew by 30 until t1 and by 1 since; the 30 are still there; its own pace would have shown 60 more"},
		{analysis.Evidence{Rule: "stopped", Form: "slows", N: 30, At: at(1), Figures: figures{"after": 3, "expected": 60}}, "grew by 30 until t1 and by 3 since; its own pace would have shown 60 more"},
		{analysis.Evidence{Rule: "stopped", Form: "paused", N: 37, At: at(6), Figures: figures{"expected": 6, "gap": 0.4, "quiet": 0.65, "stayed": 37}}, "grew by 37 until t6; none came in the 39 min since t6, and one came every 24 min before: too short to tell that it has stopped"},
		{analysis.Evidence{Rule: "stopped", Form: "paused", N: 37, At: at(6), Figures: figures{"expected": 6}}, "grew by 37 until t6; none came since t6, in too few captures to tell that it has stopped"},

		{analysis.Evidence{Rule: "rose_once", Form: "mostly", N: 80, Of: 92, From: at(0), To: at(1)}, "rose by 80 between t0 and t1, 80 of 92 in all"},
		{analysis.Evidence{Rule: "rose_once", Form: "flat_since", N: -30, Of: -30, From: at(0), To: at(1)}, "fell by 30 between t0 and t1, flat since"},
		{analysis.Evidence{Rule: "rose_once", Form: "slowed", N: 191, Of: 200, To: at(2)}, "rose by 191 until t2, hardly at all in the last two intervals"},

		{analysis.Evidence{Rule: "cohort", Form: "followed", N: 30, Of: 30, From: at(0), To: at(4), Unit: analysis.PerHour, Points: points(1, 10, 3, 20, 4, 10), Figures: figures{"born": 40, "births": 3, "intervals": 2, "largest": 2. / 3}},
			"30 of 30 that could be followed are still there at t4; 40 goroutines came after t0 (t1 10, t3 20, t4 10), in 2 intervals, at most 67 % of them in one"},
		{analysis.Evidence{Rule: "cohort", Form: "followed", N: 0, Of: 9, From: at(0), To: at(4), Unit: analysis.PerHour, Points: points(1, 12), Figures: figures{"born": 14, "births": 2, "older": 0.5}},
			"0 of 9 older than 30 min are still there at t4; 14 goroutines came after t0 (t1 12 and 1 more)"},
		{analysis.Evidence{Rule: "cohort", Form: "none_stayed", From: at(0), To: at(4), Points: points(1, 1), Figures: figures{"born": 1, "births": 1}}, "1 goroutine came after t0 (t1 1); none of them was there at the next snapshot"},
		{analysis.Evidence{Rule: "cohort", Form: "none_born", From: at(0), To: at(4)}, "no goroutine was born from t0 to t4"},

		{analysis.Evidence{Rule: "load", Form: "follows", Names: []string{"app_tenants"}, N: 10, Figures: figures{"factor": 1}}, "follows app_tenants 1:1 in 10 of 10: if there are that many tenants, it is load"},
		{analysis.Evidence{Rule: "load", Form: "follows", Names: []string{"registry"}, N: 4, Figures: figures{"factor": 2.5}}, "follows registry 2.5:1 in 4 of 4: if there are that many, it is load"},
		{analysis.Evidence{Rule: "returned", N: 86, Of: 84, At: at(4)}, "back at 86 after the restart; 84 stood before it"},
		{analysis.Evidence{Rule: "passing", Form: "none_left", Of: 118, At: at(6)}, "of 118 that came by t6 none is there; a leak of 1 in 39 would have been seen"},
		{analysis.Evidence{Rule: "passing", N: 2, Of: 30}, "more at a time, but none stays: 2 of 30 that came were there at the next snapshot; load or latency, no leak"},
		{analysis.Evidence{Rule: "emptied", Points: points(3, 90, 4, 2)}, "something ended nearly all of them before: fell from 90 (t3) to 2 at t4; not above that level again"},
		{analysis.Evidence{Rule: "batches", N: 1}, "came in 1 batch: a pool that is resized looks the same"},
		{analysis.Evidence{Rule: "batches", N: 3}, "came in 3 batches: a pool that is resized looks the same"},

		{analysis.Evidence{Rule: "survivors", Form: "stayed", N: 60, Of: 60, From: at(1), To: at(4), Figures: figures{"new": 60}}, "60 of 60 goroutines of t1 are still there at t4, 60 are new"},
		{analysis.Evidence{Rule: "survivors", Form: "stayed", N: 20, Of: 20, From: at(0), To: at(1)}, "20 of 20 goroutines of t0 are still there at t1"},
		{analysis.Evidence{Rule: "survivors", Form: "stayed", N: 0, Of: 6, From: at(0), To: at(2), Figures: figures{"went_elsewhere": 6}}, "0 of 6 goroutines of t0 are still there at t2, 6 in another group, since what they watched is gone"},
		{analysis.Evidence{Rule: "survivors", Form: "stayed", N: 2, Of: 6, From: at(0), To: at(2), Figures: figures{"from_elsewhere": 3, "new": 1}}, "2 of 6 goroutines of t0 are still there at t2, 3 watched something that still existed then, 1 are new"},
		{analysis.Evidence{Rule: "survivors", Form: "stayed", N: 2, Of: 6, From: at(0), To: at(2), Identity: analysis.Ends, Figures: figures{"went_elsewhere": 4, "from_elsewhere": 3, "new": 1}}, "2 of 6 goroutines of t0 are still there at t2, 4 in another state, 3 were in another state then, 1 are new"},
		{analysis.Evidence{Rule: "survivors", Form: "from_elsewhere", N: 6, Of: 6, From: at(1), To: at(2), Identity: analysis.Inode, Figures: figures{"new": 0}}, "6 of 6 goroutines of t2 were in another state at t1"},
		{analysis.Evidence{Rule: "survivors", Form: "from_elsewhere", N: 6, Of: 6, From: at(1), To: at(2), Figures: figures{"new": 0}}, "6 of 6 goroutines of t2 watched something that still existed at t1"},
		{analysis.Evidence{Rule: "survivors", Form: "none_before", Of: 5, From: at(1), To: at(2), Figures: figures{"new": 5}}, "no goroutine of t2 was there at t1, 5 are new"},

		{analysis.Evidence{Rule: "stopped", Form: "level", N: 39, Of: 48, At: new(2), Figures: figures{"expected": 40}}, "grew by 39 until t2, stays at 48 since, and others take the place of those that end; its own pace would have shown 40 more"},
		{analysis.Evidence{Rule: "plateau", N: 402, Unit: analysis.PerHour, Figures: figures{"low": 79, "high": 82, "rate": 482.4}}, "plateau at 79 to 82: 402 goroutines were replaced at a level count, about 482/h new, and the old ones leave"},
		{analysis.Evidence{Rule: "plateau", N: 1, Figures: figures{"low": 2, "high": 2}}, "plateau at 2: 1 goroutine was replaced at a level count, and the old ones leave"},

		{analysis.Evidence{Rule: "objects", Form: "one_each", N: 3, Of: 3, At: at(0)}, "at t0 the 3 goroutines wait for 3 different locks, one each: as many objects, no queue"},
		{analysis.Evidence{Rule: "objects", Form: "no_receiver", N: 3, At: at(0)}, "at t0 3 goroutines wait for one lock; they entered it in functions without a receiver, so nobody can be named as its holder"},
		{analysis.Evidence{Rule: "objects", Form: "many_holders", N: 3, At: at(0), Figures: figures{"most": 5, "groups": 1}}, "at t0 3 goroutines wait for one lock; more than 5 goroutines of 1 group may hold it"},
		{analysis.Evidence{Rule: "objects", Form: "no_holder", N: 3, At: at(0)}, "at t0 3 goroutines wait for one lock; which goroutine holds it is not known from this dump"},
		{analysis.Evidence{Rule: "objects", Form: "holders", N: 3, At: at(0), Holders: []analysis.LockHolder{{Goroutine: 7, In: "syscall.Read", Of: "main.(*Pool).Put"}}}, "at t0 3 goroutines wait for one lock; possible holder: goroutine 7 in syscall.Read, called by main.(*Pool).Put"},
		{analysis.Evidence{Rule: "objects", Form: "holders", N: 3, At: at(0), Holders: []analysis.LockHolder{{Goroutine: 7, In: "main.a", Of: "main.a", State: "select", Children: 2, Waits: true}, {Goroutine: 8, In: "main.b", Of: "main.b", Children: 1}}},
			"at t0 3 goroutines wait for one lock; possible holder: goroutine 7 in main.a, itself in select, with 2 children, which waits for another lock in turn; possible holder: goroutine 8 in main.b, with 1 child"},

		{analysis.Evidence{Rule: "presence", Form: "after_restart", N: 16, At: at(5)}, "since the restart at t5 there is one snapshot: 16 goroutines"},
		{analysis.Evidence{Rule: "presence", Form: "new", At: at(2)}, "not there before t2"},
		{analysis.Evidence{Rule: "presence", Form: "gone", At: at(2)}, "gone since t2"},
		{analysis.Evidence{Rule: "presence", Form: "new_in_version", Names: []string{"1.1", "1.2"}}, "absent in version 1.1, there in version 1.2"},
		{analysis.Evidence{Rule: "presence", Form: "gone_in_version", Names: []string{"1.1", "1.2"}}, "there in version 1.1, absent in version 1.2"},
		{analysis.Evidence{Rule: "presence", Form: "new_elsewhere", N: 2, Of: 3, From: at(1), At: at(2), Identity: analysis.Ends}, "not there before t2; 2 of its 3 goroutines were in another state at t1"},
		{analysis.Evidence{Rule: "presence", Form: "gone_elsewhere", N: 2, Of: 3, From: at(1), At: at(2), Identity: analysis.Ends}, "gone since t2; 2 of its 3 goroutines are in another state now"},
		{analysis.Evidence{Rule: "presence", Form: "new_elsewhere", N: 2, Of: 3, From: at(1), At: at(2)}, "not there before t2; 2 of its 3 goroutines then watched something that still existed at t1, so that the watch is older"},
		{analysis.Evidence{Rule: "presence", Form: "gone_elsewhere", N: 2, Of: 3, From: at(1), At: at(2)}, "gone since t2; 2 of its 3 goroutines at t1 are in another group now: the watch is still there, and what it watched is not"},

		{analysis.Evidence{Rule: "retained", N: 20, From: at(0), To: at(6), At: at(6)}, "keeps what it gained: 20 more than at t0 are there at t6, although what rose with it went away at t6"},
		{analysis.Evidence{Rule: "unit", Form: "in_step", N: 1, Names: []string{"u1"}}, "grows by the same steps as 1 other group (u1)"},
		{analysis.Evidence{Rule: "unit", Form: "added_up", N: 2, Names: []string{"u1"}, Verdict: analysis.TooFewPoints, Figures: figures{"ratio": 2, "rise": 40, "stayed": 30, "intervals": 4}},
			"grows by the same steps as 2 other groups (u1), 2 for each; alone it would be too few points: added up they grew by 40, and 30 that came in 4 intervals stayed"},

		{analysis.Evidence{Rule: "recovery", Form: "counts", Points: points(6, 64, 7, 4), Figures: figures{"above_start": 0}}, "fell from 64 (t6) to 4 at t7, as many as at the start"},
		{analysis.Evidence{Rule: "recovery", Form: "counts", Points: points(6, 64, 7, 3), Figures: figures{"above_start": -1}}, "fell from 64 (t6) to 3 at t7"},
		{analysis.Evidence{Rule: "recovery", Form: "followed", N: 62, Of: 64, Points: points(6, 64, 7, 6), Figures: figures{"above_start": 2}}, "fell from 64 (t6) to 6 at t7, 2 more than at the start; 62 of the 64 goroutines of t6 had ended"},

		{analysis.Evidence{Rule: "missing", Form: "not_captured", Kind: analysis.KindWatch, N: 7, Points: first5}, "no watches were captured at t2, t3, t4, t5, t6 and 2 more"},
		{analysis.Evidence{Rule: "missing", Form: "not_shown", N: 2, Points: first5[:2]}, "left out, because several functions start this stack and not every snapshot names them: t2, t3"},
		{analysis.Evidence{Rule: "missing", Form: "cut", N: 1, Points: first5[:1]}, "left out, because the dump is cut and its counts are lower bounds: t2"},
		{analysis.Evidence{Rule: "missing", Form: "no_count"}, "no snapshot gives a usable count"},
		{analysis.Evidence{Rule: "missing", Form: "one_count"}, "one usable snapshot: growth needs two"},
		{analysis.Evidence{Rule: "missing", Form: "only_restarts", N: 3}, "3 snapshots, each of another process start: nothing can be compared"},
		{analysis.Evidence{Rule: "missing", Form: "few_counts", N: 3, Figures: figures{"p": 1. / 6}}, "3 snapshots: too few for a trend or for cohorts (all pairs of 3 rise by chance with p = 0.17)"},
		{analysis.Evidence{Rule: "missing", Form: "no_identities"}, "no identities: whether the goroutines stayed cannot be said"},
		{analysis.Evidence{Rule: "missing", Form: "respawns"}, "each is started by one that has ended: the goroutines of one chain have no id in common, by which it could be followed"},
		{analysis.Evidence{Rule: "missing", Form: "no_cohorts"}, "no epoch has four snapshots with identities: no cohorts"},
		{analysis.Evidence{Rule: "missing", Form: "no_times"}, "no capture times: rates are per snapshot"},
		{analysis.Evidence{Rule: "missing", Form: "undated", N: 7, Points: first5}, "without a time, left out of the slope: t2, t3, t4, t5, t6 and 2 more"},
		{analysis.Evidence{Rule: "missing", Form: "load_at", N: 7, Points: first5, Names: []string{"targets"}}, "targets is not known at t2, t3, t4, t5, t6 and 2 more: enter it on the page of files and processes to compare"},
		{analysis.Evidence{Rule: "missing", Form: "no_load"}, "the load is not known: enter sessions or targets on the page of files and processes to compare"},

		{analysis.Evidence{Rule: "span", Form: "leak_or_queue", Figures: figures{"span": 20. / 3600}}, "20 s is too short to tell a leak from a queue"},
		{analysis.Evidence{Rule: "span", Form: "end_or_pause", Figures: figures{"span": 20. / 3600}}, "20 s is too short to tell an end from a pause"},
		{analysis.Evidence{Rule: "span", Form: "slow_growth", Figures: figures{"span": 545. / 3600}}, "9 min 5 s is too short to show a slow growth"},
		{analysis.Evidence{Rule: "span", Form: "worked_off", Figures: figures{"span": 20. / 3600}}, "it grew for 20 s and went away, as a queue does that was worked off"},

		{analysis.Evidence{Rule: "load", Form: "explains", Names: []string{"targets"}, Figures: figures{"factor": 3, "first": 10, "last": 60}}, "3 for each unit of targets, which went from 10 to 60: within 15 % of that in every snapshot"},
		{analysis.Evidence{Rule: "load", Form: "other", Names: []string{"targets"}, Figures: figures{"first": 10, "last": 60}}, "targets went from 10 to 60 and does not explain it"},
		{analysis.Evidence{Rule: "load", Form: "other_and_grows", Unit: analysis.PerHour, Names: []string{"targets"}, Figures: figures{"first": 10, "last": 60, "slope": 1050}},
			"targets went from 10 to 60 and does not explain it; per unit of it, at the typical load, the typical rate is +1050/h: a growth of its own"},
		{analysis.Evidence{Rule: "load", Form: "other_may_grow", Unit: analysis.PerSnapshot, Names: []string{"targets"}, Figures: figures{"first": 10, "last": 60, "slope": 2.5}},
			"targets went from 10 to 60 and does not explain it; per unit of it, at the typical load, the typical rate is +2.5 per snapshot: perhaps a growth of its own"},
		{analysis.Evidence{Rule: "load", Form: "other_but_level", Unit: analysis.PerHour, Names: []string{"targets"}, Figures: figures{"first": 10, "last": 60, "slope": 0}},
			"targets went from 10 to 60 and does not explain it; per unit of it, at the typical load, the typical rate is 0/h: no growth beyond noise"},
		{analysis.Evidence{Rule: "load", Form: "explains", Names: counter, Figures: figures{"factor": 285. / 123, "first": 11, "last": 28}},
			"2.3 goroutines for each request per second (shop_http_requests_total), which went from 11 to 28 per second: within chance of that in every snapshot with a known rate"},
		{analysis.Evidence{Rule: "load", Form: "explains", Names: counter, Figures: figures{"factor": 1, "first": 11, "last": 28}},
			"1 goroutine for each request per second (shop_http_requests_total), which went from 11 to 28 per second: within chance of that in every snapshot with a known rate"},
		{analysis.Evidence{Rule: "load", Form: "explains", Names: counter, Figures: figures{"factor": 2.85 / 123, "first": 1100, "last": 2800}},
			"1 goroutine for every 43.2 requests per second (shop_http_requests_total), which went from 1100 to 2800 per second: within chance of that in every snapshot with a known rate"},
		{analysis.Evidence{Rule: "load", Form: "other", Names: counter, Figures: figures{"first": 12.5, "last": 60}}, "the requests (shop_http_requests_total) went from 12.5 to 60 per second and do not explain it"},
		{analysis.Evidence{Rule: "load", Form: "other_and_stay", Names: counter, Figures: figures{"first": 12.5, "last": 60}},
			"the requests (shop_http_requests_total) went from 12.5 to 60 per second and do not explain it: a request that has ended leaves nothing behind, and these stay"},

		{analysis.Evidence{Rule: "decides", Form: "if_again"}, "if it grows again after that, its cause is still there"},
		{analysis.Evidence{Rule: "decides", Form: "marked"}, "nothing changes this: a mark of the runtime is a proof"},
		{analysis.Evidence{Rule: "decides", Form: "if_those_gone", N: 60}, "this answer is wrong if most of those 60 goroutines are gone in a later capture, or if a load grew by as much"},
		{analysis.Evidence{Rule: "decides", Form: "if_old_gone", N: 24}, "this answer is wrong if most of the 24 old goroutines are gone in a later capture, or if a load grew by as much"},
		{analysis.Evidence{Rule: "decides", Form: "if_last_gone"}, "this answer is wrong if most of the goroutines counted last are gone in a later capture, or if a load grew by as much"},
		{analysis.Evidence{Rule: "decides", Form: "if_load_stands"}, "it is a leak if it goes on rising while the load of its unit stands still"},
		{analysis.Evidence{Rule: "decides", Form: "if_load_stands", Names: []string{"targets"}}, "it is a leak if it goes on rising while targets stands still"},
		{analysis.Evidence{Rule: "decides", Form: "if_load_stands", Names: counter}, "it is a leak if it goes on rising while the rate of requests (shop_http_requests_total) stands still"},
		{analysis.Evidence{Rule: "decides", Form: "identities", Figures: figures{"wait": 0.5}}, "a dump that names its goroutines (debug=2 for goroutines) in 30 minutes would tell whether they stay"},
		{analysis.Evidence{Rule: "decides", Form: "more_snapshots", N: 2, Figures: figures{"wait": 0.5}}, "2 more snapshots in 30 minutes would decide: births in two of them that stay are a leak"},
		{analysis.Evidence{Rule: "decides", Form: "more_snapshots", N: 3, Figures: figures{"wait": 35. / 60}}, "3 more snapshots in 35 min would decide: births in two of them that stay are a leak"},
		{analysis.Evidence{Rule: "decides", Form: "more_snapshots", N: 3, Figures: figures{"wait": 12}}, "3 more snapshots in 12 h would decide: births in two of them that stay are a leak"},
		{analysis.Evidence{Rule: "decides", Form: "goes_on"}, "a count that goes on rising at the next snapshot would speak for a leak"},
		{analysis.Evidence{Rule: "decides", Form: "born_and_stay"}, "one more snapshot would tell more: goroutines born since that stay speak for a leak"},
		{analysis.Evidence{Rule: "decides", Form: "adds_others"}, "one more snapshot would tell more: a leak keeps the goroutines born so far and adds others, a plateau is flat"},
		{analysis.Evidence{Rule: "decides", Form: "if_more", N: 41, Figures: figures{"wait": 0.5}}, "it would be growing again if a snapshot in 30 minutes had more than 41"},
		{analysis.Evidence{Rule: "decides", Form: "one_more"}, "one more snapshot would tell: more goroutines by then are a growth, the same ones a step"},
		{analysis.Evidence{Rule: "decides", Form: "if_back", Figures: figures{"wait": 35. / 60}}, "goroutines that come back at the next snapshot in 35 min would change this"},
		{analysis.Evidence{Rule: "decides", Form: "if_rise", N: 23}, "a rise to 23 or more at a later snapshot would change this"},
		{analysis.Evidence{Rule: "decides", Form: "one_then_three"}, "one more snapshot of the same process would show whether it grows; three more, whether its goroutines stay"},
		{analysis.Evidence{Rule: "decides", Form: "complete_dump"}, "a complete dump would tell"},
	} {
		if got := strings.ReplaceAll(goroutines.Text(tt.e), "\u00a0", " "); got != tt.want {
			t.Errorf("%s %s:\n%s, want\n%s", tt.e.Rule, tt.e.Form, got, tt.want)
		}
	}
}

func TestCountsInWords(t *testing.T) {
	rose := []analysis.Course{{From: 0, To: 4, Counts: 5, First: 40, Last: 120, Lowest: 40, Highest: 120}}
	for _, tt := range []struct {
		e    analysis.Evidence
		want string
	}{
		{analysis.Evidence{Form: "few", N: 2, Figures: figures{"span": 20. / 3600}, Courses: []analysis.Course{{From: 0, To: 1, Counts: 2, First: 4, Last: 40, Lowest: 4, Highest: 40}}},
			"2 snapshots over 20 s: grew by 36, from 4 (t0) to 40 (t1)"},
		{analysis.Evidence{Form: "trend", N: 5, Figures: figures{"span": 4, "slope": 20, "low": 20, "high": 20, "p": 0.01374}, Courses: rose},
			"5 snapshots over 4 h: rose by 80, from 40 (t0) to 120 (t4); typical rate +20/h (95 % interval +20/h to +20/h), p = 0.014"},
		{analysis.Evidence{Form: "one_step", N: 4, Figures: figures{"span": 0.5, "slope": 34, "low": 0, "high": 180, "overall": 62, "p": 0.08712}, Courses: []analysis.Course{{From: 0, To: 3, Counts: 4, First: 10, Last: 41, Lowest: 10, Highest: 41}}},
			"4 snapshots over 30 min: rose by 31, from 10 (t0) to 41 (t3); +62/h on the whole, but unevenly: +34/h (95 % interval 0/h to +180/h) between most snapshots, p = 0.087; it rose in one step"},
		{analysis.Evidence{Form: "noise", N: 4, Unit: analysis.PerSnapshot, Figures: figures{"span": 3}, Courses: []analysis.Course{{From: 0, To: 3, Counts: 4, First: 5, Last: 5, Lowest: 5, Highest: 6}}},
			"4 snapshots over 3 intervals: 5 at both ends (t0 and t3), between 5 and 6; within noise"},
		{analysis.Evidence{Form: "noise_alone", N: 4, Figures: figures{"span": 3}, Courses: []analysis.Course{{From: 0, To: 3, Counts: 4, First: 5, Last: 5, Lowest: 5, Highest: 5}}},
			"4 snapshots over 3 h: 5 in all; the counts alone would be within noise"},
		{analysis.Evidence{Form: "below_gate", N: 4, Figures: figures{"span": 0.05, "slope": 180, "growth": 9, "growth_span": 0.05, "gate": 10}, Courses: rose},
			"4 snapshots over 3 min: rose by 80, from 40 (t0) to 120 (t4); within noise: the typical rate +180/h would make 9 in 3 min, and a change counts from 10 on"},
		{analysis.Evidence{Form: "below_gate_alone", N: 4, Figures: figures{"span": 0.05, "slope": 180, "growth": 9, "growth_span": 0.05, "gate": 10}, Courses: rose},
			"4 snapshots over 3 min: rose by 80, from 40 (t0) to 120 (t4); the counts alone would be within noise: the typical rate +180/h would make 9 in 3 min, and a change counts from 10 on"},
		{analysis.Evidence{Form: "perhaps_noise", N: 3, Figures: figures{"span": 1}, Courses: rose}, "3 snapshots over 1 h: rose by 80, from 40 (t0) to 120 (t4); not distinguishable from noise"},
		{analysis.Evidence{Form: "unsteady", N: 5, Figures: figures{"span": 1, "slope": 0, "gate": 10}, Courses: rose},
			"5 snapshots over 1 h: rose by 80, from 40 (t0) to 120 (t4); no steady growth: between most snapshots it is 0/h, and a change counts from 10 on"},
		{analysis.Evidence{Form: "levelled", N: 6, Figures: figures{"span": 1, "slope": 30, "p": 0.042}, Courses: rose},
			"6 snapshots over 1 h: rose by 80, from 40 (t0) to 120 (t4); typical rate +30/h, p = 0.042, but the newer half hardly moves"},
		{analysis.Evidence{Form: "unproven", N: 5, Figures: figures{"span": 1, "slope": -2.5, "p": 0.00009}, Unit: analysis.PerSnapshot, Courses: []analysis.Course{{From: 0, To: 4, Counts: 5, First: 9, Last: 2, Lowest: 2, Highest: 9}}},
			"5 snapshots over 1 interval: fell by 7, from 9 (t0) to 2 (t4); typical rate -2.5 per snapshot, not distinguishable from noise (p < 0.0001)"},
		{analysis.Evidence{Form: "few", N: 12, Figures: figures{"span": 1, "epochs": 6}, Courses: append(append([]analysis.Course{}, rose...), rose...)},
			"12 snapshots in 6 epochs over 1 h: rose by 80, from 40 (t0) to 120 (t4); rose by 80, from 40 (t0) to 120 (t4) and 4 more epochs"},
	} {
		tt.e.Rule = "series"
		if got := strings.ReplaceAll(goroutines.Text(tt.e), "\u00a0", " "); got != tt.want {
			t.Errorf("%s:\n%s, want\n%s", tt.e.Form, got, tt.want)
		}
	}
}

func TestAgesInWords(t *testing.T) {
	at := 0
	e := analysis.Evidence{Rule: "ages", At: &at, N: 24, Of: 30, Figures: figures{"least": 0.5, "uptime": 48, "oldest": 24, "middle": 12.5, "classes": 12, "largest": 1. / 12}}
	for form, why := range map[analysis.Form]string{
		"all_along": "born all along, and old ones are still there", "at_once": "most came at once", "few_old": "the old ones are few, as in churn",
		"none_lately": "no births lately", "too_young": "too young for a judgement by age",
	} {
		e.Form = form
		want := "at t0 24 of 30 goroutines are older than 30 min and younger than the process (2 d): oldest 1 d, half older than 12 h 30 min, 12 of 12 age classes used, the fullest with 8 %: " + why
		if got := strings.ReplaceAll(goroutines.Text(e), "\u00a0", " "); got != want {
			t.Errorf("%s:\n%s, want\n%s", form, got, want)
		}
	}
}

func TestWhatTheCatalogueSaysInWords(t *testing.T) {
	normal := []string{"client-go", "1 per pod", "pod"}
	at := time.Date(2026, 11, 21, 3, 15, 0, 0, time.UTC)
	for _, tt := range []struct {
		e    analysis.Evidence
		want string
	}{
		{analysis.Evidence{Rule: "normal_stack", Form: "within", Names: normal, Figures: figures{"expected": 58}}, "it grows, but within what is normal: a normal stack of client-go: 1 per pod, that is 58 by the number of pods in the same snapshot"},
		{analysis.Evidence{Rule: "normal_stack", Form: "own_evidence", Names: normal, N: 90, Figures: figures{"expected": 58}},
			"a normal stack of client-go: 1 per pod, that is 58 by the number of pods in the same snapshot; 90 are above that; the growth is judged by its own evidence"},
		{analysis.Evidence{Rule: "normal_stack", Form: "proven", Names: normal}, "a normal stack of client-go: 1 per pod, their number is not known; here its growth is proven"},
		{analysis.Evidence{Rule: "normal_stack", Form: "proven_by_id", Names: normal[:2], Figures: figures{"expected": 1}}, "a normal stack of client-go: 1 per pod; here each one was followed by its id"},
		{analysis.Evidence{Rule: "known_leak", Form: "excess", N: 500, Of: 20, Names: []string{"own-1", "1 per pod"}}, "500 where 20 are expected (1 per pod), with the signature of own-1"},
		{analysis.Evidence{Rule: "known_leak", Form: "backlog_open", Names: []string{"k8s-105830", "bounded-backlog", ""}, Figures: figures{"bound_minutes": 10, "per_minute": 75, "level": 750, "decides_unix": float64(at.Unix())}},
			"may be the bounded backlog k8s-105830, which drains within 10 minutes: at 75 a minute it would level at about 750; a capture after 03:15Z decides"},
		{analysis.Evidence{Rule: "known_leak", Form: "backlog_open", Names: []string{"k8s-105830", "bounded-backlog", ""}, Figures: figures{"bound_minutes": 10}},
			"may be the bounded backlog k8s-105830, which drains within 10 minutes; a capture 15 minutes after the growth began decides"},
		{analysis.Evidence{Rule: "known_leak", Form: "unless_it_levels", Names: []string{"k8s-126711", "stuck-not-leak", ""}},
			"may be k8s-126711 (stuck not leak): blocked on what this report names; that it grows as well is not claimed; a count that levels off would show it"},
		{analysis.Evidence{Rule: "set_aside", Form: "by_status", Verdict: analysis.Leaking, Names: []string{"cilium-5902", "false-alarm", ""}},
			"by its figures alone it is leaking; cilium-5902 sets that aside (false alarm): looks like this report, which was judged legitimate upstream"},
		{analysis.Evidence{Rule: "set_aside", Form: "by_status", Verdict: analysis.Suspicious, Names: []string{"own", "false-alarm", "own.json"}},
			"by its figures alone it is suspicious; own sets that aside (false alarm): looks like this report, which was judged legitimate by who wrote the entry"},
		{analysis.Evidence{Rule: "set_aside", Form: "backlog_waits", Verdict: analysis.Leaking, Names: []string{"k8s-105830", "bounded-backlog", ""}, Figures: figures{"bound_minutes": 10, "oldest_minutes": 8}},
			"by its figures alone it is leaking; k8s-105830 sets that aside (bounded backlog): a queue that is worked off within 10 minutes; its oldest waits at least 8"},
		{analysis.Evidence{Rule: "set_aside", Form: "backlog_levels", Verdict: analysis.Leaking, N: 40, Names: []string{"k8s-105830", "bounded-backlog", ""}, Figures: figures{"bound_minutes": 10, "per_minute": 4}},
			"by its figures alone it is leaking; k8s-105830 sets that aside (bounded backlog): a backlog that drains by itself within 10 minutes; it levels at 40, which 4 births a minute explain"},
	} {
		if got := goroutines.Text(tt.e); got != tt.want {
			t.Errorf("%s %s:\n%s, want\n%s", tt.e.Rule, tt.e.Form, got, tt.want)
		}
	}
}

func TestASnapshotWithoutALabelIsNamedByItsPlace(t *testing.T) {
	at := 2
	if got, want := (Words{Labels: []string{"t0", "t1", ""}}).Text(analysis.Evidence{Rule: "presence", Form: "gone", At: &at}), "gone since #3"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestTheLargestGroupIsToldWhereItsRateIsAnother(t *testing.T) {
	visible := trend.Visible{Snapshots: 8, Span: 3, Slope: 10, Unit: analysis.PerHour, Largest: 90}
	for slope, want := range map[float64]string{
		12: "In 8 snapshots, 3 h, a rise of 10 an hour would have been seen",
		13: "In 8 snapshots, 3 h, a rise of 10 an hour would have been seen, in the largest group, of 90, one of 13 an hour",
	} {
		visible.LargestSlope = slope
		if got := Visible(visible); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	visible.Unit, visible.LargestSlope = analysis.PerSnapshot, 13
	fast := visible
	fast.Unit, fast.Slope, fast.LargestSlope = analysis.PerHour, 3120, 4680
	if got, want := Visible(fast), "In 8 snapshots, 3 h, a rise of 52 a minute would have been seen, in the largest group, of 90, one of 78 a minute"; got != want {
		t.Errorf("two rates: %q, want %q", got, want)
	}
	if got, want := Visible(visible), "In 8 snapshots, 3 intervals, a rise of 10 per snapshot would have been seen, in the largest group, of 90, one of 13 per snapshot"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
