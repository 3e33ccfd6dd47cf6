package ingest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"leakdiff/analysis"
	"leakdiff/analysis/read/bundle"
)

// second is a moment on the day of the captures.
func second(n int) time.Time {
	return time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC).Add(time.Duration(n) * time.Second)
}

// at returns a file of one of these tests.
func at(n int, name, content string) capturedFile {
	return capturedFile{name, []byte(content), second(n)}
}

// captured is a capture of three files, each with its own time.
func captured(label string, dumped, listed, opened int) []capturedFile {
	return []capturedFile{
		at(dumped, label+"/prober/goroutine.txt", dump(5)), at(listed, label+"/prober/lsof.txt", strings.SplitAfter(lsofTable, "(ESTABLISHED)\n")[0]),
		at(opened, label+"/prober/fdinfo/3", fdinfo),
	}
}

// when are the snapshots' labels with their seconds.
func when(snapshots []analysis.Snapshot) string {
	var out []string
	for _, s := range snapshots {
		seconds := "?"
		if !s.CapturedAt.IsZero() {
			seconds = fmt.Sprint(int(s.CapturedAt.Sub(second(0)).Seconds()))
		}
		out = append(out, s.Label+" "+seconds)
	}
	return strings.Join(out, ", ")
}

func TestFileTimesDateCapturesAndNeverContradictTheirTokens(t *testing.T) {
	series := func(captures ...[]capturedFile) []capturedFile { return slices.Concat(captures...) }
	regular := func(label string, n int) []capturedFile { return captured(label, n, n, n+1) }
	for _, tc := range []struct {
		name  string
		files []capturedFile
		want  string
	}{
		{"the latest file dates a capture", series(captured("t0", 0, 1, 4), captured("t1", 20, 23, 21)), "t0 4, t1 23"},
		{"a copy with an older time puts no capture before others", series(regular("t0", 0), regular("t1", 20), regular("t2", 40), captured("t3", -500, 60, -500)), "t0 1, t1 21, t2 41, t3 60"},
		{"a copy with one and the same older time in each capture dates none", series(captured("t0", -90, 0, 0), captured("t1", -90, 20, 20), captured("t2", -90, 40, 40)), "t0 0, t1 20, t2 40"},
		{"a file that was touched later gives way to the others of its capture", series(captured("t0", 0, 1, 300), regular("t1", 20), regular("t2", 40)), "t0 1, t1 21, t2 41"},
		{"files that were all touched at once date none", series(captured("t0", 0, 1, 900), captured("t1", 20, 21, 900), captured("t2", 40, 41, 900)), "t0 1, t1 21, t2 41"},
		{"a capture of which all files contradict the order has no time and keeps its place", series(regular("t0", 0), captured("t1", 900, 900, 901), regular("t2", 40), regular("t10", 60)), "t0 1, t1 ?, t2 41, t10 61"},
		{"of two that contradict each other the later stays", series(regular("t0", 50), regular("t1", 20)), "t0 51, t1 ?"},
		{"a dump of the second in which another says that it was taken is no unpacking", []capturedFile{at(30, "p1-t0.txt", dump(5)), at(30, "p1-t1.txt", "2026-11-21 03:00:30\nFull thread dump OpenJDK 64-Bit Server VM (21.0.2+13 mixed mode):\n\n\"main\" #1 prio=5 os_prio=0 tid=0x1 nid=0x1 runnable\n")}, "p1-t0 30, p1-t1 30"},
		{"an unpacking dates nothing", series(captured("t0", 0, 0, 0), captured("t1", 0, 1, 1), captured("t2", 1, 1, 1)), "t0 ?, t1 ?, t2 ?"},
		{"a capture of many files beside one of few is no unpacking", series([]capturedFile{at(0, "t0/prober/goroutine.txt", dump(5))}, append(captured("t1", 20, 20, 20), at(20, "t1/prober/goroutine-debug1.txt", profileOf(2)), at(20, "t1/prober/lsof-2.txt", strings.SplitAfter(lsofTable, "(ESTABLISHED)\n")[0]))),
			"t0 0, t1 20"},
		{"without tokens the times say the order", []capturedFile{at(40, "monday/dump.txt", dump(5)), at(20, "tuesday/dump.txt", dump(5, 6))}, "#2 20, #1 40"},
		{"tokens in the names of files are an order as well", []capturedFile{at(0, "p1-t0.txt", dump(5)), at(20, "p1-t1.txt", dump(5, 6)), at(-9, "p1-t2.txt", dump(5, 6, 7)), at(60, "p1-t10.txt", dump(5, 6, 7, 8))}, "p1-t0 0, p1-t1 20, p1-t2 ?, p1-t10 60"},
		{"bare numbers are pids as well, and no order", []capturedFile{at(40, "dump-2620.txt", dump(5)), at(20, "dump-4711.txt", dump(5, 6))}, "4711 20, 2620 40"},
		{"a collector's word is above the files' times, and bounds them", series(regular("t0", 70), []capturedFile{at(0, "t1/captured_at.txt", "2026-11-21T03:00:30Z\n")}, regular("t1", 0), regular("t2", 60), regular("t3", 20)), "t0 ?, t1 30, t2 61, t3 ?"},
		{"the time of a file with three captures is that of the last", []capturedFile{at(40, "count.txt", "open FDs: 30\nopen FDs: 33\nopen FDs: 36\n")}, "#1 ?, #2 ?, #3 40"},
		{"the newest of the links of a process dates them", []capturedFile{at(0, "t0/prober/goroutine.txt", dump(5)), at(-60, "t0/prober/fdinfo/3", fdinfo), at(2, "t0/prober/fdinfo/4", fdinfo), at(-60, "t1/prober/fdinfo/3", fdinfo), at(22, "t1/prober/fdinfo/4", fdinfo)}, "t0 2, t1 22"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, in := range []struct {
				container string
				input     bundle.Input
			}{{"tar", given("lab.tar", tarOf(t, "", tc.files))}, {"packed tar", given("lab.tar.gz", gzipOf(t, tarOf(t, "lab", tc.files)))}, {"zip", given("lab.zip", zipOf(t, "", tc.files))}} {
				if got := when(ran(t, in.input).Snapshots); got != tc.want {
					t.Errorf("%s: %s, want %s", in.container, got, tc.want)
				}
			}
			slices.Reverse(tc.files)
			if got := when(ran(t, given("lab.tar", tarOf(t, "", tc.files))).Snapshots); got != tc.want {
				t.Errorf("packed from the last to the first: %s, want %s", got, tc.want)
			}
			if got := when(ran(t, inDirectory(tc.files)...).Snapshots); got != tc.want {
				t.Errorf("as a directory: %s, want %s", got, tc.want)
			}
		})
	}
}

// profileOf is a debug=1 text of n goroutines.
func profileOf(n int) string {
	return fmt.Sprintf("goroutine profile: total %d\n%d @ 0x1\n#\t0x1\tmain.leak+0x1\t/src/prober/main.go:20\n\n", n, n)
}

func ran(t testing.TB, inputs ...bundle.Input) Result {
	t.Helper()
	r, err := Run(t.Context(), Config{Bundle: bundle.Config{TempDir: t.TempDir()}}, inputs)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestLooseFilesCountWithTheirTimes(t *testing.T) {
	for _, tc := range []struct {
		name string
		gap  time.Duration
		want string
	}{
		{"twenty seconds apart", 20 * time.Second, "#1 0, #2 20"},
		{"of one checkout", time.Second, "#1 ?, #2 ?"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a, b := given("a.txt", []byte(dump(5))), given("b.txt", []byte(dump(5, 6)))
			a.ModTime, b.ModTime = second(0), second(0).Add(tc.gap)
			if got := when(ran(t, a, b).Snapshots); got != tc.want {
				t.Errorf("as files: %s, want %s", got, tc.want)
			}
			packed := given("upload.tar", tarOf(t, "", []capturedFile{{"a.txt", []byte(dump(5)), a.ModTime}, {"b.txt", []byte(dump(5, 6)), b.ModTime}}))
			if got := when(ran(t, packed).Snapshots); got != tc.want {
				t.Errorf("as push packs them: %s, want %s", got, tc.want)
			}
		})
	}
}

func TestTimesOfFilesRiseWithTheTokensWhateverTheyAre(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		times := rapid.SliceOfN(rapid.SliceOfN(rapid.IntRange(0, 12), 0, 4), 1, 8).Draw(t, "times")
		in := make([][]time.Time, len(times))
		for i := range times {
			slices.Sort(times[i])
			for _, n := range slices.Compact(times[i]) {
				in[i] = append(in[i], second(n))
			}
		}
		got := longestRise(in)
		for i, r := range got {
			if !slices.ContainsFunc(in[r.capture], r.at.Equal) {
				t.Fatalf("capture %d has no file of %s", r.capture, r.at)
			}
			if i > 0 && (r.capture <= got[i-1].capture || !r.at.After(got[i-1].at)) {
				t.Fatalf("%v does not rise", got)
			}
		}
		if most := mostRising(in, -1); len(got) != most {
			t.Fatalf("%d captures are dated, %d could be", len(got), most)
		}
	})
}

// mostRising is the length of the longest rise, by trying all.
func mostRising(times [][]time.Time, after int) int {
	if len(times) == 0 {
		return 0
	}
	most := mostRising(times[1:], after)
	for _, at := range times[0] {
		if n := int(at.Sub(second(0)).Seconds()); n > after {
			most = max(most, 1+mostRising(times[1:], n))
		}
	}
	return most
}

func TestEncodingsUnderSeveralNamesAreOneMomentOnlyWithinTwoSeconds(t *testing.T) {
	for gap, want := range map[int]int{1: 1, 600: 2} {
		a, b := given("alpha.txt", []byte(dump(5, 6))), given("beta.txt", []byte(profileOf(2)))
		a.ModTime, b.ModTime = second(0), second(gap)
		if got := ran(t, a, b).Snapshots; len(got) != want {
			t.Errorf("%d s apart: %d snapshots, want %d", gap, len(got), want)
		}
	}
}
