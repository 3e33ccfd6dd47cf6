package report_test

import (
	"strings"
	"testing"

	"leakdiff/analysis/say/report"
)

func TestADeadlockTellsSinceWhichCaptureItStands(t *testing.T) {
	const head, tail = "2026-11-29 07:35:05\nFull thread dump OpenJDK 64-Bit Server VM (17.0.15+6 mixed mode, sharing):\n\n", "JNI global refs: 16, weak refs: 0\n"
	const a, b = "<0x00000000fc086008> (a Shelf)", "<0x00000000fc085ff8> (a Shelf)"
	works := head + javaThread(11, "RUNNABLE", "at Stock.move(Stock.java:6)", "- locked "+b) + javaThread(12, "RUNNABLE", "at Stock.move(Stock.java:6)") + tail
	move := func(id int, wants, has string) string {
		return javaThread(id, "BLOCKED (on object monitor)", "at Stock.move(Stock.java:6)", "- waiting to lock "+wants, "- locked "+has)
	}
	locked := head + move(11, a, b) + move(12, b, a) + tail
	others := head + move(13, a, b) + move(14, b, a) + tail
	cut := head + javaThread(11, "RUNNABLE", "at Stock.move(Stock.java:6)") + "\"worker-12\" #12 prio=5 os_pr"
	add := func(id int, wants, has string) string {
		return goroutineText(id, "sync.Mutex.Lock", "main.move", atLock(wants+"8", "main.(*Account).Add("+wants+"0)", "main.(*Account).Move("+has+"0)")...)
	}
	runs := goroutineText(7, "runnable", "main.move", "main.(*Account).Move(0xc000010000)") + goroutineText(8, "runnable", "main.move", "main.(*Account).Move(0xc000020000)")
	ring := add(7, "0xc00002000", "0xc00001000") + add(8, "0xc00001000", "0xc00002000")
	for name, tt := range map[string]struct {
		file  string
		dumps []string
		want  string
	}{
		"it begins midway":                              {"threads.txt", []string{works, works, locked, locked, locked}, "t2, 02:00:00, at most 1 h earlier"},
		"it begins with the last capture":               {"threads.txt", []string{works, works, locked}, "t2, 02:00:00, at most 1 h earlier"},
		"it stands in all":                              {"threads.txt", []string{locked, locked, locked}, "before the first dump, t0, 00:00:00"},
		"another deadlock stood before":                 {"threads.txt", []string{others, others, locked}, "t2, 02:00:00, at most 1 h earlier"},
		"a capture between is cut":                      {"threads.txt", []string{works, locked, cut, locked}, "t1, 01:00:00, at most 1 h earlier"},
		"one dump tells no begin":                       {"threads.txt", []string{locked}, ""},
		"one that is only possible begins midway":       {"goroutine.txt", []string{runs, runs, ring, ring}, "t2, 02:00:00, the first dump that shows it"},
		"one that is only possible stands in all of it": {"goroutine.txt", []string{ring, ring, ring, ring}, "before the first dump, t0, 00:00:00"},
	} {
		t.Run(name, func(t *testing.T) {
			var captures []map[string]string
			for _, text := range tt.dumps {
				captures = append(captures, map[string]string{tt.file: text})
			}
			if d := every(t, captures).Diagnosis; d.State != "deadlock" || d.Since != tt.want {
				t.Errorf("%s since %q: %s\nwant %q", d.State, d.Since, d.Sentence, tt.want)
			}
		})
	}
}

func TestTheScreenTellsALockOnce(t *testing.T) {
	const head, tail = "2026-11-29 07:35:05\nFull thread dump OpenJDK 64-Bit Server VM (17.0.15+6 mixed mode, sharing):\n\n", "JNI global refs: 16, weak refs: 0\n"
	waits := func(id int) string {
		return javaThread(id, "BLOCKED (on object monitor)", "at Tariff.load(Tariff.java:7)", "- waiting to lock <0x00000000fc086008> (a Shelf)")
	}
	queue := head + javaThread(11, "RUNNABLE", "at Tariff.read(Tariff.java:8)", "- locked <0x00000000fc086008> (a Shelf)") + waits(12) + waits(13) + waits(14) + tail
	idle := head + javaThread(11, "RUNNABLE", "at Tariff.read(Tariff.java:8)") + tail
	for name, tt := range map[string]struct {
		dumps []string
		found bool
	}{
		"the rows of locks of one dump tell it": {[]string{queue}, false},
		"the last of two dumps has no lock":     {[]string{queue, idle}, true},
	} {
		var captures []map[string]string
		for _, text := range tt.dumps {
			captures = append(captures, map[string]string{"threads.txt": text})
		}
		text := printed(t, report.Case{Report: every(t, captures)}, report.Terminal{})
		if strings.Contains(text, "3 threads wait for one lock, a Shelf") != tt.found {
			t.Errorf("%s:\n%s", name, text)
		}
	}
}

func TestADeadlockInAProductIsNotForItsUserToReorder(t *testing.T) {
	dump := func(in string) string {
		thread := func(id int, held, wanted string) string {
			return javaThread(id, "BLOCKED (on object monitor)", "at "+in+".Queue.take(Queue.java:7)", "- waiting to lock <"+wanted+"> (a java.lang.Object)", "- locked <"+held+"> (a java.lang.Object)", "at java.lang.Thread.run(java.base@17.0.15/Thread.java:840)")
		}
		return "2026-11-29 07:35:05\nFull thread dump OpenJDK 64-Bit Server VM (17.0.15+6 mixed mode, sharing):\n\n" + thread(11, "0x00000000fc0ab320", "0x00000000fc0ab330") + thread(12, "0x00000000fc0ab330", "0x00000000fc0ab320") + "JNI global refs: 16, weak refs: 0\n"
	}
	for in, want := range map[string]string{
		"hudson.model": "Restart it: a deadlock does not end by itself. Then update Jenkins; if it comes back with the newest release, report it with these stacks.",
		"com.acme":     "Take these locks in the same order in com.acme.Queue.take. Only a restart ends this deadlock.",
	} {
		d := every(t, []map[string]string{{"threads.txt": dump(in)}}).Diagnosis
		if d.State != string(report.Deadlock) || d.Next == nil || d.Next.Text != want {
			t.Errorf("%s: %s %s\n%+v", in, d.State, d.Sentence, d.Next)
		}
	}
}
