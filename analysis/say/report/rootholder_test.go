package report_test

import (
	"fmt"
	"strings"
	"testing"

	"leakdiff/analysis/say/report"
)

// chained is a dump of a JVM in which threads wait for lock a, whose holder waits for lock b: its holder
// runs. Some lines of a name make it long.
func chained(name string) string {
	var b strings.Builder
	b.WriteString("2026-11-21 09:15:00\nFull thread dump OpenJDK 64-Bit Server VM (25.20-b23 mixed mode):\n\n")
	thread := func(id int, name, state, frames string) {
		fmt.Fprintf(&b, "\"%s\" #%d prio=5 os_prio=0 tid=0x00007f%04d nid=0x%d waiting for monitor entry [0x00007f1]\n   java.lang.Thread.State: %s\n%s\n", name, id, id, 100+id, state, frames)
	}
	const waits, holds = "\t- waiting to lock <0x00000000000000%s> (a java.lang.Object)\n", "\t- locked <0x00000000000000%s> (a java.lang.Object)\n"
	at := func(function string) string { return "\tat com.acme." + function + "(Loader.java:8)\n" }
	for i := range 12 {
		thread(10+i, fmt.Sprintf("http-%d", i), "BLOCKED (on object monitor)", at("Loader.load")+fmt.Sprintf(waits, "aa")+at("Api.get"))
	}
	thread(40, "http-40", "BLOCKED (on object monitor)", at("Index.find")+fmt.Sprintf(waits, "bb")+at("Loader.load")+fmt.Sprintf(holds, "aa"))
	for i := range 4 {
		thread(50+i, fmt.Sprintf("index-%d", i), "BLOCKED (on object monitor)", at([]string{"Index.find", "Index.drop"}[i%2]+name)+fmt.Sprintf(waits, "bb")+at("Api.get"))
	}
	thread(60, "rebuild-60", "RUNNABLE", at("Index.rebuild")+fmt.Sprintf(holds, "bb"))
	return b.String() + "\"VM Thread\" os_prio=0 tid=0x00007f8 nid=0x9 runnable\n\nJNI global references: 15\n\n"
}

func TestWhoHoldsTheLockAtTheEndOfAChainIsNamed(t *testing.T) {
	r := one(t, "app-jstack.txt", chained(""))
	if want := "One dump: 19 threads, 12 of them wait for one lock; its holder waits for another lock, which \"rebuild-60\" holds in Index.rebuild."; r.Diagnosis.Sentence != want {
		t.Errorf("%s\nwant %s", r.Diagnosis.Sentence, want)
	}
}

// Dumps of which each lacks a thread cannot be compared, and who waits for whom in the last one is seen.
func TestALockIsToldWhereDumpsCannotBeCompared(t *testing.T) {
	var captures []map[string]string
	for range 4 {
		captures = append(captures, map[string]string{"app/jstack.txt": strings.Replace(chained(""), "\"VM Thread\"", "\"odd\" #5 tid=0x00007f5 cut here\n\n\"VM Thread\"", 1)})
	}
	d := every(t, captures).Diagnosis
	if want := "app: at the last of 4 dumps at least 19 threads, 12 of them wait for one lock; its holder waits for another lock, which \"rebuild-60\" holds in Index.rebuild."; d.State != "cannot be compared" || d.Sentence != want {
		t.Errorf("%s: %s\nwant %s", d.State, d.Sentence, want)
	}
	for i := range captures {
		captures[i]["app/jstack.txt"] = strings.ReplaceAll(captures[i]["app/jstack.txt"], "- waiting to lock", "- locked")
	}
	if d, want := every(t, captures).Diagnosis, "app: at least 19 threads in each of 4 dumps; "; !strings.HasPrefix(d.Sentence, want) {
		t.Errorf("%s: %s\nwant %s", d.State, d.Sentence, want)
	}
}

// Of a lock that does not fit its lines the places of those who wait are left out, not its holder.
func TestTheHolderOfALockStandsOnTheScreen(t *testing.T) {
	for _, name := range []string{"", strings.Repeat("AndSearchAgain", 4)} {
		screen := strings.Join(strings.Fields(printed(t, report.Case{Report: one(t, "app-jstack.txt", chained(name))}, report.Terminal{})), " ")
		if !strings.Contains(screen, "thread \"rebuild-60\" in Index.rebuild, which runs.") || strings.Contains(screen, "2 in Index.find"+name) != (name == "") && name != "" {
			t.Errorf("%q: %s", name, screen)
		}
	}
}

// Groups of one library that are equally large in one dump are parts of one thing.
func TestGroupsOfOneLibraryAndOneSizeAreOneThing(t *testing.T) {
	const grpc = "google.golang.org/grpc."
	for _, test := range []struct {
		name     string
		n, other int
		pkg      string
		want     string
	}{
		{"as many of each", 20, 20, "google.golang.org/grpc/internal/transport", "One dump: 61 goroutines, 40 of them of 20 gRPC client connections, 2 each by their equal numbers."},
		{"not as many", 20, 19, "google.golang.org/grpc/internal/transport", "One dump: 60 goroutines, 20 of them gRPC client connections."},
		{"of another library", 20, 20, "example.com/pool", "One dump: 61 goroutines, 20 of them in pool.(*http2Client).reader."},
		{"so few that it may be chance", 9, 9, "google.golang.org/grpc", "One dump: 28 goroutines, 9 of them gRPC client connections."},
	} {
		text := fmt.Sprintf("goroutine profile: total %d\n", 2*test.n+test.other+1)
		for i, x := range []struct {
			n        int
			function string
		}{{test.n, grpc + "(*ccBalancerWrapper).watcher"}, {test.other, test.pkg + ".(*http2Client).reader"}, {1, "main.main"}} {
			text += fmt.Sprintf("%d @ 0x4386%d0 0x44879%d\n#\t0x44879%d\t%s+0x1d\t/src/x.go:10\n\n", x.n, i, i, i, x.function)
		}
		for i := range test.n {
			text += fmt.Sprintf("1 @ 0x5386%02d 0x5487%02d\n#\t0x5487%02d\tmain.step%d+0x1d\t/src/main.go:%d\n\n", i, i, i, i, 10+i)
		}
		if d := one(t, "app-goroutine.txt", text).Diagnosis; d.Sentence != test.want {
			t.Errorf("%s: %s\nwant %s", test.name, d.Sentence, test.want)
		}
	}
}

// TestWhatWasCapturedByItsAddressIsNamedByIt: the collector had no process.
func TestWhatWasCapturedByItsAddressIsNamedByIt(t *testing.T) {
	for dir, want := range map[string][2]string{
		"endpoint-http_10.0.0.7_6060": {"10.0.0.7:6060", "leakdiff collect --pprof http://10.0.0.7:6060 --every 9m --count 5 -o captures.tar.gz"},
		"billing":                     {"billing", "leakdiff collect --pprof http://HOST:PORT --every 9m --count 5 -o billing.tar.gz"},
	} {
		var captures []map[string]string
		for k := range 3 {
			text := "goroutine 1 [running]:\nmain.main()\n\t/src/main.go:9 +0x1d\n"
			for i := range 4 + 20*k {
				text += fmt.Sprintf("\ngoroutine %d [select]:\nmain.renew()\n\t/src/main.go:52 +0x1d\ncreated by main.grant in goroutine 1\n\t/src/main.go:61 +0x5a\n", 100+i)
			}
			captures = append(captures, map[string]string{dir + "/goroutine.txt": text})
		}
		d := every(t, captures).Diagnosis
		if c := d.Capture(); !strings.HasPrefix(d.Sentence, want[0]+" started 40") || c == nil || c.Command != want[1] {
			t.Errorf("%s: %s %+v", dir, d.Sentence, c)
		}
	}
}
