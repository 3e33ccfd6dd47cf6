package ingest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// pasted are threads without a heading, by name and address.
func pasted(threads ...string) string {
	var b strings.Builder
	for i, t := range threads {
		name, address, _ := strings.Cut(t, "@")
		fmt.Fprintf(&b, "%q #%d prio=5 os_prio=0 cpu=1.00ms elapsed=5.00s tid=0x%s nid=0x1 runnable  [0x1]\n   java.lang.Thread.State: RUNNABLE\n\tat com.acme.Worker.run(Worker.java:%d)\n\n", name, i+1, address, i+1)
	}
	return b.String()
}

func TestPiecesThatShareNoThreadAreOfOtherProcesses(t *testing.T) {
	const (
		heading = "2026-11-21 03:00:00\nFull thread dump OpenJDK 64-Bit Server VM (17.0.15+6 mixed mode, sharing):\n\n"
		end     = "JNI global refs: 5, weak refs: 0\n\n"
	)
	first := heading + pasted("main@a1", "worker@a2") + end
	for name, tt := range map[string]struct {
		text string
		want []string
		told string
	}{
		"a piece of the same process":             {first + pasted("main@a1"), []string{" 2", " 1"}, ""},
		"a piece with one thread of it":           {first + pasted("main@a1", "worker@b2", "other@b3"), []string{" 2", " 3"}, ""},
		"a piece with none of its threads":        {first + pasted("main@b1"), []string{" 2", "excerpt at line 14 of file 1 1"}, "1 piece of a dump has no heading and shares no thread with what stands above"},
		"another thread at the same address":      {first + pasted("main@a2"), []string{" 2", "excerpt at line 14 of file 1 1"}, "1 piece of a dump has no heading"},
		"two pieces of one other process":         {first + pasted("main@b1", "worker@b2") + end + pasted("main@b1"), []string{" 2", "excerpt at line 14 of file 1 2", "excerpt at line 14 of file 1 1"}, "1 piece of a dump has no heading"},
		"pieces of two other processes":           {first + pasted("main@b1") + end + pasted("main@c1"), []string{" 2", "excerpt at line 14 of file 1 1", "excerpt at line 20 of file 1 1"}, "2 pieces of dumps have no heading and share no thread"},
		"a heading tells a dump of a later start": {first + heading + pasted("main@b1", "worker@b2") + end, []string{" 2", " 2"}, ""},
		"pieces alone, of two processes":          {pasted("main@a1", "worker@a2") + end + pasted("main@b1"), []string{" 2", "excerpt at line 11 of file 1 1"}, "1 piece of a dump has no heading"},
		"one piece alone":                         {pasted("main@a1", "worker@a2"), []string{" 2"}, ""},
	} {
		r := run(t, map[string]string{"threads.txt": tt.text})
		var got []string
		for _, s := range r.Snapshots {
			got = append(got, fmt.Sprintf("%s %d", s.Process.Name.Value, *s.Totals.Threads))
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
		told := ""
		for _, p := range r.Problems {
			if strings.Contains(p.What, "heading") {
				told = p.What
			}
		}
		if !strings.HasPrefix(told, tt.told) || (told == "") != (tt.told == "") {
			t.Errorf("%s: told %q, want %q", name, told, tt.told)
		}
	}
}
