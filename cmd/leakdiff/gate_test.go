package main

import (
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"

	"leakdiff/analysis"
	"leakdiff/analysis/say/report"
	"leakdiff/samples/corpus"
)

// goroutines is a dump of so many goroutines of each function, which began long before.
// Their ids are the same in every dump.
func goroutines(counts map[string]int) string {
	var b strings.Builder
	fmt.Fprint(&b, "goroutine 1 [running]:\nmain.main()\n\t/src/shop/main.go:5 +0x1\n\n")
	first := 10
	for _, of := range []string{"watch", "serve", "poll", "cache"} {
		for i := range counts[of] {
			fmt.Fprintf(&b, "goroutine %d [select, 2 minutes]:\nexample.com/shop/store.(*Cart).%s(0xc0000%05x)\n\t/src/shop/store/cart.go:%d +0x1\ncreated by main.main in goroutine 1\n\t/src/shop/main.go:9 +0x1\n\n", first+i, of, first+i, 40+len(of))
		}
		first += 10_000
	}
	return b.String()
}

// pipeline is a directory of captures: NAME.txt for each dump.
func pipeline(t *testing.T, dumps map[string]map[string]int) string {
	t.Helper()
	dir := t.TempDir()
	for name, counts := range dumps {
		put(t, filepath.Join(dir, name), goroutines(counts))
	}
	return dir
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// series are four dumps a minute apart in which a family rises by so many each time.
func series(name string, watch, step int) map[string]map[string]int {
	out := map[string]map[string]int{}
	for i := range 4 {
		out[fmt.Sprintf("%s/2026-11-26T10-0%d-00Z/goroutine.txt", name, i)] = map[string]int{"watch": watch + i*step, "serve": 30}
	}
	return out
}

func TestABaselineLeavesWhatIsNewOrGrew(t *testing.T) {
	dir := pipeline(t, series("then", 20, 10))
	for name, counts := range series("same", 20, 10) {
		put(t, filepath.Join(dir, name), goroutines(counts))
	}
	for name, counts := range series("more", 20, 30) {
		put(t, filepath.Join(dir, name), goroutines(counts))
	}
	for name, counts := range map[string]map[string]int{
		"one/then.txt": {"watch": 20, "serve": 30}, "one/new.txt": {"watch": 20, "serve": 30, "poll": 3}, "one/few.txt": {"watch": 24, "serve": 30, "poll": 2},
		"one/grew.txt": {"watch": 60, "serve": 30}, "one/fewer.txt": {"serve": 10},
	} {
		put(t, filepath.Join(dir, name), goroutines(counts))
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	written := execute(t, nil, "report", "--format", "json", at("then"))
	put(t, at("then.json"), written.stdout)
	put(t, at("benign.json"), strings.Replace(written.stdout, `"recovered_at": null`, `"triage": {"state": "benign", "at": "2026-11-26T10:00:00Z"}, "recovered_at": null`, 1))
	put(t, at("listed/goroutine.txt"), goroutines(map[string]int{"watch": 20, "serve": 30}))
	put(t, at("listed/lsof.txt"), "COMMAND PID USER FD TYPE DEVICE SIZE/OFF NODE NAME\n"+strings.Repeat("shop 7 u 5u REG 8,1 0 77 /var/shop/data\n", 1)+"shop 7 u 6u REG 8,1 0 78 /var/shop/data2\nshop 7 u 7u REG 8,1 0 79 /var/shop/data3\nshop 7 u 8u REG 8,1 0 80 /var/shop/data4\n")
	put(t, at("later.json"), strings.Replace(written.stdout, "leakdiff.report/1", "leakdiff.report/9", 1))
	put(t, at("two.json"), written.stdout+"{}")
	put(t, at("filtered.json"), execute(t, nil, "report", "--format", "json", "--filter", "func:serve", at("then")).stdout)
	for _, c := range []struct {
		name           string
		baseline, path string
		failOn         string
		status         int
		want           []string
		not            []string
	}{
		{"the same growth is set aside", "then", "same", "grew", exitDone, []string{"Nothing is new or more than in the baseline; 1 growth is set aside.", "50 in the baseline, 50 now", "LEAKING"}, nil},
		{"a report serves as the captures do", "then.json", "same", "grew", exitDone, []string{"Nothing is new or more than in the baseline; 1 growth is set aside."}, nil},
		{"more of the same growth counts", "then.json", "more", "leaking", exitVerdict, []string{"1 growth is new or more than in the baseline.", "50 in the baseline, 110 now"}, []string{"set aside"}},
		{"what was set aside once stays aside, however it grew", "benign.json", "more", "leaking", exitDone, []string{"1 growth is set aside", "marked benign"}, nil},
		{"three that were not there are new", "one/then.txt", "one/new.txt", "grew", exitVerdict, []string{"new", "3 goroutines that the baseline does not have", "cart.go"}, nil},
		{"new ones are no leak", "one/then.txt", "one/new.txt", "leaking", exitDone, []string{"3 goroutines that the baseline does not have"}, nil},
		{"a few more or new ones are what comes and goes", "one/then.txt", "one/few.txt", "grew", exitDone, []string{"Nothing is new or more than in the baseline.\n"}, nil},
		{"three times as many grew", "one/then.txt", "one/grew.txt", "grew", exitVerdict, []string{"20 goroutines in the baseline, 60 now"}, []string{"serve"}},
		{"without --fail-on, what is new or grew fails", "one/then.txt", "one/new.txt", "auto", exitVerdict, []string{"3 goroutines that the baseline does not have"}, nil},
		{"never fails nothing", "one/then.txt", "one/new.txt", "never", exitDone, []string{"3 goroutines that the baseline does not have"}, nil},
		{"what the baseline did not capture is not compared", "one/then.txt", "listed", "grew", exitDone, []string{"The baseline has no descriptors of", "Nothing is new or more"}, nil},
		{"a later schema is refused", "later.json", "same", "grew", exitError, []string{"the baseline is of another version"}, nil},
		{"something behind the report is refused", "two.json", "same", "grew", exitError, []string{"something stands behind the report"}, nil},
		{"fewer are fine", "one/then.txt", "one/fewer.txt", "grew", exitDone, []string{"Nothing is new or more"}, nil},
		{"a report of some families is refused", "filtered.json", "same", "grew", exitError, []string{"the baseline lists only some families", "--filter func:serve"}, nil},
		{"no baseline at all is refused", "nothing.json", "same", "grew", exitError, []string{"nothing.json", "there is no such file"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := execute(t, nil, "report", "--baseline", at(c.baseline), "--fail-on", c.failOn, at(c.path))
			said := got.stdout + got.stderr
			if got.status != c.status {
				t.Errorf("status %d, want %d", got.status, c.status)
			}
			for _, want := range c.want {
				if !strings.Contains(said, want) {
					t.Errorf("%q is missing", want)
				}
			}
			top, _, _ := strings.Cut(said, "\n\n")
			for _, not := range c.not {
				if strings.Contains(top, not) {
					t.Errorf("%q is there", not)
				}
			}
			if t.Failed() {
				t.Log(said)
			}
		})
	}
}

func TestABaselineOfAnotherProgramComparesNothing(t *testing.T) {
	dir := t.TempDir()
	then := report.Report{Schema: report.Schema, Series: []report.Series{{Process: "a"}, {Process: "b"}}}
	text, err := json.Marshal(then)
	if err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, "then.json"), string(text))
	put(t, filepath.Join(dir, "now.txt"), goroutines(map[string]int{"watch": 90}))
	got := execute(t, nil, "report", "--baseline", filepath.Join(dir, "then.json"), "--fail-on", "grew", filepath.Join(dir, "now.txt"))
	if got.status != exitError || !strings.Contains(got.stdout, "The baseline does not have") || !strings.Contains(got.stdout, "the baseline has b, which was not captured now") {
		t.Errorf("status %d\n%s%s", got.status, got.stdout, got.stderr)
	}
}

func TestWhatTheBaselineHasAndNothingCapturedNowPassesNothing(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	lsof := "COMMAND PID USER FD TYPE DEVICE SIZE/OFF NODE NAME\n" + "shop 7 u 5u REG 8,1 0 77 /var/shop/data\n"
	few := goroutines(map[string]int{"watch": 20})
	put(t, at("full/lsof.txt"), lsof)
	put(t, at("full/goroutine.txt"), few)
	put(t, at("files/lsof.txt"), lsof)
	more := lsof
	for fd := range 90 {
		more += fmt.Sprintf("shop 7 u %du sock 0,8 0t0 9 protocol: TCP\n", 6+fd)
	}
	put(t, at("leak/lsof.txt"), more)
	put(t, at("both/lsof.txt"), lsof+"till 8 u 5u REG 8,1 0 77 /var/shop/data\n")
	put(t, at("full.json"), execute(t, nil, "report", "--format", "json", at("full")).stdout)
	const kinds, process = "the baseline has goroutines of shop, which were not captured now", "the baseline has till, which was not captured now"
	for _, c := range []struct {
		name, baseline, path, failOn string
		status                       int
		want                         string
	}{
		{"goroutines of the process", "full", "files", "grew", exitError, kinds},
		{"by a report too", "full.json", "files", "leaking", exitError, kinds},
		{"never fails nothing and says it", "full", "files", "never", exitDone, kinds},
		{"what else grew fails as before", "full", "leak", "grew", exitVerdict, kinds},
		{"a process of several", "both", "files", "grew", exitError, process},
		{"all is there", "both", "both", "grew", exitDone, "Nothing is new or more than in the baseline.\n"},
	} {
		for _, format := range []string{"text", "md", "jira", "ticket", "json", "junit", "sarif"} {
			t.Run(c.name+" in "+format, func(t *testing.T) {
				got := execute(t, nil, "report", "--baseline", at(c.baseline), "--fail-on", c.failOn, "--format", format, at(c.path))
				if want := strings.TrimSuffix(c.want, "\n"); got.status != c.status || c.status != exitDone && !strings.Contains(got.stdout, want) {
					t.Errorf("status %d, want %d with %q\n%s", got.status, c.status, c.want, got.stdout+got.stderr)
				}
				if said := strings.Contains(got.stderr, c.want); said != (c.status == exitError) {
					t.Errorf("on standard error:\n%s", got.stderr)
				}
				if format == "text" && strings.HasPrefix(got.stdout, "Nothing is new") != (c.path == "both") {
					t.Errorf("it says:\n%s", got.stdout)
				}
				if format == "sarif" {
					log, err := sarif.FromString(got.stdout)
					if err != nil {
						t.Fatal(err)
					}
					run := log.Runs[0]
					run.Language, run.Tool.Driver.Language, run.NewlineSequences = "en-US", "en-US", []string{"\n"}
					if err := log.Validate(); err != nil {
						t.Errorf("the schema of SARIF: %v", err)
					}
				}
				if format == "junit" {
					var tests suites
					if err := xml.Unmarshal([]byte(got.stdout), &tests); err != nil || (tests.Errors == 1) != (c.path != "both") {
						t.Errorf("%d errors, %v\n%s", tests.Errors, err, got.stdout)
					}
				}
			})
		}
	}
}

// spawned is a dump of goroutines that main.spawn started: so many in each of so many functions.
func spawned(functions, each int) string {
	var b strings.Builder
	fmt.Fprint(&b, "goroutine 1 [running]:\nmain.main()\n\t/src/shop/main.go:5 +0x1\n\n")
	for i := range functions * each {
		fmt.Fprintf(&b, "goroutine %d [select]:\nmain.work%d(0xc0000%05x)\n\t/src/shop/main.go:12 +0x1\ncreated by main.spawn in goroutine 1\n\t/src/shop/main.go:9 +0x1\n\n", 10+i, i%functions, 10+i)
	}
	return b.String()
}

// without is a dump of spawned without the first goroutines of it.
func without(dump string, n int) string {
	all := strings.Split(dump, "\n\n")
	return strings.Join(slices.Delete(all, 1, 1+n), "\n\n")
}

// startedAnew is a dump of another process: it has none of the goroutines.
func startedAnew(dump string) string {
	return strings.NewReplacer("goroutine ", "goroutine 90", "in goroutine ", "in goroutine 90").Replace(dump)
}

func TestABaselineComparesByTheRulesForTwoDumps(t *testing.T) {
	for _, c := range []struct {
		name, then, now string
		// status is that with captures as the baseline, counted that with their report, which
		// knows no members.
		status, counted int
		want            string
	}{
		{"many families of one creator, none of which grew by itself", spawned(2, 2), spawned(150, 2), exitVerdict, exitVerdict, "Goroutines of main.spawn: 4 goroutines in the baseline, 300 now"},
		{"as many of one creator in another process", startedAnew(spawned(2, 2)), spawned(150, 2), exitVerdict, exitVerdict, "Goroutines of main.spawn: 4 goroutines in the baseline, 300 now"},
		{"a creator of many families that was not there", spawned(0, 0), spawned(20, 2), exitVerdict, exitVerdict, "oroutines"},
		{"many families that grew by less than counts for each", spawned(100, 1), spawned(100, 9), exitVerdict, exitVerdict, "100 goroutines in the baseline, 900 now"},
		{"eleven of which none was there", spawned(1, 1), spawned(1, 12), exitVerdict, exitDone, "1 goroutine in the baseline, 12 now"},
		{"eleven beside three that stay", spawned(1, 3), spawned(1, 14), exitVerdict, exitDone, "3 goroutines in the baseline, 14 now"},
		{"fifteen beside five that stay", spawned(1, 5), spawned(1, 20), exitVerdict, exitDone, "5 goroutines in the baseline, 20 now"},
		{"nine more in each of four that all stay", spawned(4, 100), spawned(4, 109), exitVerdict, exitDone, "400 goroutines in the baseline, 436 now"},
		{"twelve beside many that all stay", spawned(1, 400), spawned(1, 412), exitVerdict, exitDone, "400 goroutines in the baseline, 412 now"},
		{"twelve beside many of which some ended", spawned(1, 400), without(spawned(1, 432), 20), exitDone, exitDone, "Nothing is new"},
		{"a few more come and go", spawned(1, 20), spawned(1, 28), exitDone, exitDone, "Nothing is new"},
		{"one more of each of eight", spawned(8, 20), spawned(8, 21), exitDone, exitDone, "Nothing is new"},
		{"other families of the same creator", spawned(30, 1), strings.ReplaceAll(spawned(30, 1), "main.work", "main.job"), exitDone, exitDone, "Nothing is new"},
		{"fewer of the creator", spawned(150, 2), spawned(2, 2), exitDone, exitDone, "Nothing is new"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			then, now := filepath.Join(dir, "then.txt"), filepath.Join(dir, "now.txt")
			put(t, then, c.then)
			put(t, now, c.now)
			put(t, filepath.Join(dir, "then.json"), execute(t, nil, "report", "--format", "json", then).stdout)
			for baseline, status := range map[string]int{then: c.status, filepath.Join(dir, "then.json"): c.counted} {
				got := execute(t, nil, "report", "--baseline", baseline, now)
				if got.status != status || status == c.status && !strings.Contains(got.stdout, c.want) {
					t.Errorf("%s: status %d, want %d with %q\n%s%s", filepath.Base(baseline), got.status, status, c.want, got.stdout, got.stderr)
				}
			}
		})
	}
}

func TestWhatFollowsALoadSinceTheBaselineIsNoGrowth(t *testing.T) {
	dir := t.TempDir()
	for i, n := range []int{20, 48, 31, 60, 75, 52, 90, 110} {
		side := "then"
		if i > 6 {
			side = "now"
		}
		at := filepath.Join(dir, side, fmt.Sprintf("2026-11-26T10-0%d-00Z", i))
		put(t, filepath.Join(at, "goroutine.txt"), goroutines(map[string]int{"watch": n, "serve": 5}))
		put(t, filepath.Join(at, "metrics.txt"), fmt.Sprintf("# TYPE prometheus_sd_discovered_targets gauge\nprometheus_sd_discovered_targets %d\n", n))
		put(t, filepath.Join(dir, "plain", side, fmt.Sprintf("2026-11-26T10-0%d-00Z", i), "goroutine.txt"), goroutines(map[string]int{"watch": n, "serve": 5}))
	}
	if got := execute(t, nil, "report", "--baseline", filepath.Join(dir, "then"), filepath.Join(dir, "now")); got.status != exitDone {
		t.Errorf("status %d\n%s", got.status, got.stdout)
	}
	if got := execute(t, nil, "report", "--baseline", filepath.Join(dir, "plain", "then"), filepath.Join(dir, "plain", "now")); got.status != exitVerdict {
		t.Errorf("without a load: status %d\n%s", got.status, got.stdout)
	}
}

func TestACutDumpIsNotComparedWithABaseline(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	whole := goroutines(map[string]int{"watch": 40, "serve": 12})
	put(t, at("whole.txt"), whole)
	put(t, at("cut.txt"), whole[:strings.Index(whole, "Cart).serve")-150])
	put(t, at("more.txt"), goroutines(map[string]int{"watch": 90, "serve": 12}))
	moreCut := goroutines(map[string]int{"watch": 90, "serve": 12})
	put(t, at("morecut.txt"), moreCut[:strings.Index(moreCut, "Cart).serve")+300])
	put(t, at("both/2026-11-26T10-00-00Z/goroutine.txt"), whole)
	put(t, at("both/2026-11-26T10-01-00Z/goroutine.txt"), whole[:len(whole)/2])
	const now, then = "the last capture of shop is cut", "the dumps of shop in the baseline are cut. Whether"
	for _, c := range []struct {
		name, baseline, path string
		status               int
		want, not            string
	}{
		{"now cut and nothing found", "whole", "cut.txt", exitError, now, "Nothing is new"},
		{"now cut and growth found", "whole", "morecut.txt", exitVerdict, "40 goroutines in the baseline, 90 now", ""},
		{"the baseline cut, and what is behind the cut", "cut", "whole.txt", exitError, then + " store.(*Cart).serve", "does not have"},
		{"the baseline cut, and more than in it", "cut", "more.txt", exitError, then, "40 goroutines in the baseline"},
		{"no more than in a baseline that is cut", "whole", "whole.txt", exitDone, "Nothing is new", ""},
		{"a baseline of which one dump is whole", "both", "whole.txt", exitDone, "Nothing is new", ""},
		{"more than in the whole dump of a baseline", "both", "more.txt", exitVerdict, "40 goroutines in the baseline, 90 now", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			baseline := at(c.baseline)
			if c.baseline != "both" {
				baseline += ".txt"
			}
			put(t, at("then.json"), execute(t, nil, "report", "--format", "json", baseline).stdout)
			for _, baseline := range []string{baseline, at("then.json")} {
				got := execute(t, nil, "report", "--baseline", baseline, at(c.path))
				top, _, _ := strings.Cut(got.stdout, "\n\n")
				if got.status != c.status || !strings.Contains(top, c.want) || c.not != "" && strings.Contains(top, c.not) {
					t.Errorf("%s: status %d, want %d with %q and without %q\n%s%s", baseline, got.status, c.status, c.want, c.not, got.stdout, got.stderr)
				}
			}
		})
	}
}

func TestABaselineIsCalmAboutRealProgramsThatDidNotGrow(t *testing.T) {
	series, err := filepath.Glob(corpus.Path(t, "series", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, then, now string
		status          int
	}{
		{"a kubelet after its leak", "kubelet-probe-leak/t0", "kubelet-probe-leak/t8-shims-resumed", exitDone},
		{"a program that leaks 13 goroutines", "restart/t1", "restart/t6", exitVerdict},
	} {
		if got := execute(t, nil, "report", "--baseline", corpus.Path(t, "series", c.then), corpus.Path(t, "series", c.now)); got.status != c.status {
			t.Errorf("%s: status %d, want %d\n%s", c.name, got.status, c.status, got.stdout)
		}
	}
	for _, dir := range series {
		written := filepath.Join(t.TempDir(), "then.json")
		put(t, written, execute(t, nil, "report", "--format", "json", dir).stdout)
		for _, baseline := range []string{dir, written} {
			if got := execute(t, nil, "report", "--baseline", baseline, dir); got.status != exitDone {
				t.Errorf("%s against itself by %s: status %d\n%s", filepath.Base(dir), filepath.Base(baseline), got.status, got.stdout)
			}
		}
	}
}

func TestNothingIsSaidOfGrowthWhereNothingWasRead(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "then.txt"), goroutines(map[string]int{"watch": 4}))
	put(t, filepath.Join(dir, "then.json"), `{"schema": "`+report.Schema+`", "series": []}`)
	put(t, filepath.Join(dir, "leakdiff.budget"), "4 func:watch")
	now := filepath.Join(dir, "now")
	if err := os.Mkdir(now, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"--baseline", filepath.Join(dir, "then.txt")}, {"--baseline", filepath.Join(dir, "then.json")}, {"--budget", filepath.Join(dir, "leakdiff.budget")}} {
		for _, format := range []string{"text", "md", "ticket", "junit", "sarif", "json"} {
			got := execute(t, nil, append([]string{"report", "--format", format, now}, args...)...)
			if got.status != exitError || strings.Contains(got.stdout, "Nothing is new") || strings.Contains(got.stdout, "The budget holds") || !strings.Contains(got.stderr, "no dump was found") {
				t.Errorf("%v, %s: status %d\n%s%s", args, format, got.status, got.stdout, got.stderr)
			}
		}
	}
}

func TestOneOfTwentyProcessesThatIsGoneIsTold(t *testing.T) {
	dir := t.TempDir()
	listing := func(name string, without int) string {
		text := "COMMAND PID USER FD TYPE DEVICE SIZE/OFF NODE NAME\n"
		for pid := 101; pid <= 120; pid++ {
			if pid != without {
				text += fmt.Sprintf("shop %d u 5u REG 8,1 0 77 /var/shop/data\n", pid)
			}
		}
		put(t, filepath.Join(dir, name, "lsof.txt"), text)
		return filepath.Join(dir, name)
	}
	all := listing("all", 0)
	got := execute(t, nil, "report", "--baseline", all, listing("fewer", 113))
	if want := "the baseline has shop, pid 113, which was not captured now"; got.status != exitError || strings.Count(got.stdout, "Not compared") != 1 || !strings.Contains(got.stdout, want) {
		t.Errorf("status %d, want %q\n%s%s", got.status, want, got.stdout, got.stderr)
	}
	if got := execute(t, nil, "report", "--baseline", all, listing("same", 0)); got.status != exitDone || strings.Contains(got.stdout, "Not compared") {
		t.Errorf("all twenty: status %d\n%s%s", got.status, got.stdout, got.stderr)
	}
}

func TestABudgetBoundsFamiliesPerUnitOfLoad(t *testing.T) {
	dir := pipeline(t, map[string]map[string]int{"now.txt": {"watch": 40, "serve": 12, "poll": 3}})
	now, still, cut := filepath.Join(dir, "now.txt"), filepath.Join(dir, "still"), filepath.Join(dir, "cut.txt")
	for name, counts := range series("still", 40, 0) {
		put(t, filepath.Join(dir, name), goroutines(counts))
	}
	whole := goroutines(map[string]int{"watch": 40})
	put(t, cut, whole[:len(whole)-150])
	for _, c := range []struct {
		name, budget string
		more         []string
		status       int
		want         string
	}{
		{"a family within its budget passes", "40 func:watch", nil, exitDone, "The budget holds.\n"},
		{"a byte order mark is no part of the budget", "\ufeff40 func:watch", nil, exitDone, "The budget holds.\n"},
		{"one more than allowed is over it", "39 func:watch", nil, exitVerdict, "1 line of the budget is exceeded.\n  over budget store.(*Cart).watch"},
		{"so much for each unit of a load is allowed", "2 per carts func:watch # a watch and its timer", []string{"--load", "carts=20"}, exitDone, "The budget holds."},
		{"with less load less is allowed", "2 per carts func:watch", []string{"--load", "carts=19"}, exitVerdict, "40 now; the budget allows 38, 2 per carts at 19"},
		{"a load that nobody knows passes nothing", "2 per carts func:watch", nil, exitError, "nobody knows the load carts"},
		{"a family counts for the first line that it passes", "40 func:watch\n15 kind:goroutine", nil, exitDone, "The budget holds."},
		{"several families of a line count together", "14 func:serve|poll", nil, exitVerdict, "15 now; the budget allows 14"},
		{"objects are counted by their type", "39 object *store.Cart", nil, exitVerdict, "over budget object *store.Cart: "},
		{"a type has blanks nowhere and stars anywhere", "60 object *.Cart", nil, exitDone, "The budget holds."},
		{"objects that stand still in a series are counted too", "39 object *store.Cart", []string{still}, exitVerdict, "70 now; the budget allows 39"},
		{"a type that nothing is of is told of, with those there are", "3 object *no.Such", nil, exitDone, "Line 1 of the budget counts nothing: nothing is object *no.Such; there are objects of *store.Cart."},
		{"a filter that nothing passes is told of", "3 func:typo", nil, exitDone, "Line 1 of the budget counts nothing: nothing is func:typo."},
		{"none of what must not be there is fine", "0 func:typo", nil, exitDone, "The budget holds.\n\n"},
		{"a kind that nobody captured passes nothing", "0 kind:descriptor", nil, exitError, "the budget cannot be checked: nothing that was read has descriptors"},
		{"a dump that is cut passes nothing", "90 func:watch", []string{cut}, exitError, "is cut"},
		{"nor where the family may be behind the cut", "0 func:poll", []string{cut}, exitError, "is cut"},
		{"nor where its load is not known either", "2 per carts func:poll", []string{cut}, exitError, "is cut"},
		{"what a cut dump exceeds all the same fails", "20 func:watch", []string{cut}, exitVerdict, "the budget allows 20"},
		{"a second load is refused", "5 per carts per shops kind:goroutine", nil, exitError, "it names two loads"},
		{"no load is without end", "2 per carts func:watch", []string{"--load", "carts=Inf"}, exitError, "this is no load"},
		{"no load is below nothing", "2 per carts func:watch", []string{"--load", "carts=-5"}, exitError, "this is no load"},
		{"what is no number is refused with its line", "# carts\nmany func:watch", nil, exitError, `leakdiff.budget, line 2`},
		{"a filter that is not understood is refused with its line", "3 kind:bread", nil, exitError, "line 1"},
		{"a line without a filter is refused", "3 per carts", nil, exitError, "it does not say of what"},
		{"a budget without lines is refused", "# nothing yet", nil, exitError, "the budget is empty"},
	} {
		t.Run(c.name, func(t *testing.T) {
			budget := filepath.Join(t.TempDir(), "leakdiff.budget")
			put(t, budget, c.budget)
			of := now
			if len(c.more) == 1 {
				of, c.more = c.more[0], nil
			}
			got := execute(t, nil, append([]string{"report", "--budget", budget, of}, c.more...)...)
			if said := got.stdout + got.stderr; got.status != c.status || !strings.Contains(said, c.want) {
				t.Errorf("status %d, want %d with %q\n%s", got.status, c.status, c.want, said)
			}
		})
	}
}

func TestEachLineOfABudgetIsATest(t *testing.T) {
	dir := pipeline(t, map[string]map[string]int{"now.txt": {"watch": 40, "serve": 12}})
	budget := filepath.Join(dir, "leakdiff.budget")
	put(t, budget, "3 per carts func:watch # all\n\n11 func:serve\n0 func:leak\n9 kind:descriptor\n")
	got := execute(t, nil, "report", "--format", "junit", "--budget", budget, filepath.Join(dir, "now.txt"))
	var tests suites
	if err := xml.Unmarshal([]byte(got.stdout), &tests); err != nil || got.status != exitVerdict || len(tests.Suites) != 2 || tests.Suites[1].Name != "budget" || tests.Failures != 1 || tests.Errors != 2 {
		t.Fatalf("status %d, %v\n%s", got.status, err, got.stdout)
	}
	want := []struct{ name, failure, problem string }{
		{"3 per carts func:watch", "", "nobody knows the load carts"}, {"11 func:serve", "12 now; the budget allows 11.", ""}, {"0 func:leak", "", ""},
		{"9 kind:descriptor", "", "nothing that was read has descriptors"},
	}
	for i, c := range tests.Suites[1].Cases {
		w := want[i]
		if c.Name != w.name || (c.Failure.Message == "") != (w.failure == "") || !strings.Contains(c.Failure.Message, w.failure) || (c.Error.Message == "") != (w.problem == "") || !strings.Contains(c.Error.Message, w.problem) {
			t.Errorf("%+v, want %+v", c, w)
		}
	}
	if n := len(tests.Suites[1].Cases); n != len(want) {
		t.Errorf("%d tests, want %d", n, len(want))
	}
}

func TestABudgetHoldsForNoProcessWhoseKindWasNotCaptured(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "lsof.txt"), "COMMAND PID USER FD TYPE DEVICE SIZE/OFF NODE NAME\ntill 8 u 5u REG 8,1 0 77 /var/till/data\n")
	put(t, filepath.Join(dir, "shop", "goroutine.txt"), goroutines(map[string]int{"watch": 4}))
	for _, c := range []struct {
		name, budget string
		status       int
		want         string
	}{
		{"goroutines of one process alone", "0 func:leakOne", exitError, "nothing that was read has goroutines of till, pid 8"},
		{"although they are counted in another one", "9 func:watch", exitError, "nothing that was read has goroutines of till, pid 8"},
		{"descriptors of one process alone", "9 kind:descriptor", exitError, "nothing that was read has descriptors of shop"},
		{"the line is of another process", "0 process=shop func:leakOne", exitDone, "The budget holds."},
		{"the line is of this process", "0 process=till func:leakOne", exitError, "goroutines of till"},
		{"any kind will do", "9 path:/var", exitDone, "The budget holds."},
		{"what is exceeded fails", "3 func:watch", exitVerdict, "goroutines of till"},
	} {
		t.Run(c.name, func(t *testing.T) {
			budget := filepath.Join(t.TempDir(), "leakdiff.budget")
			put(t, budget, c.budget)
			got := execute(t, nil, "report", "--budget", budget, dir)
			if got.status != c.status || !strings.Contains(got.stdout, c.want) {
				t.Errorf("status %d, want %d with %q\n%s%s", got.status, c.status, c.want, got.stdout, got.stderr)
			}
		})
	}
}

func TestAPipelineReadsTheReport(t *testing.T) {
	dir := pipeline(t, series("then", 20, 10))
	for name, counts := range series("now", 20, 30) {
		counts["poll"] = 5
		put(t, filepath.Join(dir, name), goroutines(counts))
	}
	then, now := filepath.Join(dir, "then"), filepath.Join(dir, "now")
	budget := filepath.Join(dir, "leakdiff.budget")
	put(t, budget, "4 func:poll")
	put(t, filepath.Join(dir, "checkout", "store", "cart.go"), "package store\n")
	in := func(args ...string) ended {
		return executeIn(t, filepath.Join(dir, "checkout"), append([]string{"report", "--baseline", then, "--budget", budget}, append(args, now)...)...)
	}

	got := in("--format", "sarif")
	if got.status != exitVerdict {
		t.Errorf("over the budget: status %d, %s", got.status, got.stderr)
	}
	log, err := sarif.FromString(got.stdout)
	if err != nil {
		t.Fatal(err)
	}
	// What a log leaves out has defaults, which the reader does not set.
	run := log.Runs[0]
	run.Language, run.Tool.Driver.Language, run.NewlineSequences = "en-US", "en-US", []string{"\n"}
	if err := log.Validate(); err != nil {
		t.Errorf("the schema of SARIF: %v", err)
	}
	type result struct{ rule, level, state, file, base string }
	var results []result
	for _, r := range run.Results {
		at := r.Locations[0].PhysicalLocation.ArtifactLocation
		x := result{rule: *r.RuleID, level: r.Level, file: *at.URI}
		if r.BaselineState != nil {
			x.state = *r.BaselineState
		}
		if at.URIBaseID != nil {
			x.base = *at.URIBaseID
		}
		results = append(results, x)
	}
	want := []result{
		{"leaking", "error", "updated", "store/cart.go", "%SRCROOT%"},
		{"new", "error", "new", "store/cart.go", "%SRCROOT%"},
		{"over_budget", "error", "", "store/cart.go", "%SRCROOT%"},
	}
	if !slices.Equal(results, want) {
		t.Errorf("%+v, want %+v", results, want)
	}

	got = in("--format", "junit", "--fail-on", "never")
	var tests suites
	if err := xml.Unmarshal([]byte(got.stdout), &tests); err != nil {
		t.Fatal(err)
	}
	if tests.Failures != 2 || len(tests.Suites) != 2 || tests.Suites[0].Cases[0].Failure.Type != string(analysis.Leaking) || !strings.Contains(tests.Suites[0].Cases[0].Failure.Text, "cart.go:45") {
		t.Errorf("%+v\n%s", tests, got.stdout)
	}

	got = execute(t, nil, "report", "--format", "junit", then+"/2026-11-26T10-00-00Z")
	if err := xml.Unmarshal([]byte(got.stdout), &tests); err != nil || got.status != exitDone {
		t.Fatal(err, got.status)
	}
	if !strings.Contains(got.stdout, `name="nothing grows"`) || strings.Contains(got.stdout, "<failure") {
		t.Errorf("a single dump that is fine:\n%s", got.stdout)
	}

	var all report.Report
	if err := json.Unmarshal([]byte(in("--format", "json").stdout), &all); err != nil {
		t.Fatal(err)
	}
	if g := all.Gate; g == nil || !g.Baseline || !g.Budget || len(g.Items) < 2 || *g.Items[0].Before != 50 || *g.Items[0].Now != 110 {
		t.Errorf("%+v", all.Gate)
	}
	if hidden := in("--format", "sarif", "--redact").stdout; strings.Contains(hidden, dir) || !strings.Contains(hidden, "(*Cart).watch") {
		t.Errorf("redacted:\n%s", hidden)
	}
	for format, want := range map[string]string{"ticket": "- Over budget: ", "md": "- Leaking: ", "jira": "* Leaking: ", "text": "over budget "} {
		if got := in("--format", format); !strings.Contains(got.stdout, want) {
			t.Errorf("%s without %q:\n%s", format, want, got.stdout)
		}
	}
}

type suites struct {
	Failures int `xml:"failures,attr"`
	Errors   int `xml:"errors,attr"`
	Suites   []struct {
		Name  string `xml:"name,attr"`
		Cases []struct {
			Name    string `xml:"name,attr"`
			Failure struct {
				Type    string `xml:"type,attr"`
				Message string `xml:"message,attr"`
				Text    string `xml:",chardata"`
			} `xml:"failure"`
			Error struct {
				Message string `xml:"message,attr"`
			} `xml:"error"`
		} `xml:"testcase"`
	} `xml:"testsuite"`
}

// 301 goroutines (and main) throughout four captures do not grow by themselves; the baseline has 5.
func TestAGateThatFailsSaysWhatFailedAndNotThatNoLeakWasSeen(t *testing.T) {
	dir := t.TempDir()
	for i := range 4 {
		put(t, filepath.Join(dir, "then", fmt.Sprintf("shop-t%d.txt", i)), goroutines(map[string]int{"watch": 5}))
		put(t, filepath.Join(dir, "now", fmt.Sprintf("shop-t%d.txt", i)), goroutines(map[string]int{"watch": 301}))
	}
	for format, own := range map[string]string{"text": "shop: 302 goroutines throughout; more than in the baseline.", "md": "# shop: 302 goroutines", "ticket": "**shop: 302 goroutines", "jira": "shop: 302", "ticket-jira": "*shop: 302"} {
		got := execute(t, nil, "report", "--baseline", filepath.Join(dir, "then"), "--format", format, filepath.Join(dir, "now"))
		first, _, _ := strings.Cut(got.stdout, "\n")
		if got.status != exitVerdict || !strings.HasPrefix(first, "Fails: goroutines in ") || !strings.HasSuffix(first, " of shop grew from 5 to 301 since the baseline.") {
			t.Errorf("%s: status %d, first line %q", format, got.status, first)
		}
		if strings.Contains(strings.ToLower(got.stdout), "no leak seen") || !strings.Contains(got.stdout, own) || !strings.Contains(got.stdout, "created by main.main") {
			t.Errorf("%s: no leak seen, or no course, or no stack:\n%s", format, got.stdout)
		}
	}
	got := execute(t, nil, "report", "--baseline", filepath.Join(dir, "then"), "--format", "sarif", filepath.Join(dir, "now"))
	if !strings.Contains(got.stdout, `"level": "error"`) || strings.Contains(got.stdout, `"level": "note"`) {
		t.Errorf("the level of what fails:\n%s", got.stdout)
	}
	if got = execute(t, nil, "report", "--baseline", filepath.Join(dir, "then"), "--format", "html", filepath.Join(dir, "now")); !strings.Contains(got.stdout, "<p>Fails: goroutines in ") {
		t.Errorf("a page does not say what fails:\n%s", got.stdout)
	}
	got = execute(t, nil, "report", "--baseline", filepath.Join(dir, "then"), "--format", "csv", filepath.Join(dir, "now"))
	if row, err := csv.NewReader(strings.NewReader(got.stdout)).ReadAll(); err != nil || row[0][15] != "gate" || row[1][15] != "grew" {
		t.Errorf("the column of a sheet: %v\n%s", err, got.stdout)
	}
	got = execute(t, nil, "report", "--baseline", filepath.Join(dir, "then"), "--fail-on", "leaking", "--format", "sarif", filepath.Join(dir, "now"))
	if !strings.Contains(got.stdout, `"level": "note"`) || got.status != exitDone {
		t.Errorf("the level of what does not fail:\n%s", got.stdout)
	}
	got = execute(t, nil, "report", "--baseline", filepath.Join(dir, "now"), filepath.Join(dir, "now"))
	if got.status != exitDone || strings.Contains(got.stdout, "Fails") || !strings.Contains(got.stdout, "No leak seen in shop: no goroutines grew in 4 captures.") {
		t.Errorf("the same as the baseline: status %d\n%s", got.status, got.stdout)
	}
}
