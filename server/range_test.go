package server

import (
	"fmt"
	"strings"
	"testing"

	"leakdiff/server/intake"
)

// workersWithoutIDs is the dump of workers as counts of stacks, without ids.
func workersWithoutIDs(lines ...int) string {
	of := map[int]int{}
	for _, line := range lines {
		of[line]++
	}
	b := fmt.Sprintf("goroutine profile: total %d\n1 @ 0x10\n#\t0xf\tmain.main+0x1d\t/src/main.go:10\n\n", 1+len(lines))
	for _, line := range []int{30, 31} {
		if of[line] > 0 {
			b += fmt.Sprintf("%d @ 0x%d0\n#\t0x%df\tmain.work+0x1d\t/src/work.go:%d\n\n", of[line], line, line, line)
		}
	}
	return b
}

// workers is a dump of goroutines that wait in main.work, one at each line.
func workers(lines ...int) string {
	var b strings.Builder
	b.WriteString("goroutine 1 [running]:\nmain.main()\n\t/src/main.go:10 +0x1d\n\n")
	for i, line := range lines {
		fmt.Fprintf(&b, "goroutine %d [%s]:\nmain.work(0xc000010000)\n\t/src/work.go:%d +0x1d\ncreated by main.start in goroutine 1\n\t/src/main.go:9 +0x1d\n\n", 5+i, map[bool]string{true: "select", false: "chan send"}[line == 30], line)
	}
	return b.String()
}

// At t3, 35 goroutines stand in line 30 and 5 in line 31, which came from t2 to t3.
func TestTheStackOfARangeIsThatOfTheMembersThatCameInIt(t *testing.T) {
	repeat := func(n, line int) (out []int) {
		for range n {
			out = append(out, line)
		}
		return out
	}
	at := [][]int{repeat(5, 30), repeat(20, 30), repeat(35, 30), append(repeat(35, 30), repeat(5, 31)...)}
	for _, tt := range []struct {
		name        string
		dump        func(lines ...int) string
		query       string
		want, never []string
	}{
		{"without a range it is that of the last dump", workers, "", []string{"Stack of 35 of 40 goroutines at t3", ">work.go:30<"}, []string{">work.go:31<"}},
		{"what came in the range has a line of its own", workers, "?from=t2&to=t3", []string{"Stack of all 5 goroutines that came from t2 to t3", ">work.go:31<", "<b>5</b> blocked in channel send"}, []string{">work.go:30<"}},
		{"of what came in a longer range most have the other", workers, "?from=t1&to=t3", []string{"Stack of 15 of 20 goroutines that came from t1 to t3", ">work.go:30<"}, nil},
		{"without ids it is that of the dump at the end of the range", workersWithoutIDs, "?from=t1&to=t2", []string{"Stack of all 35 goroutines at t2", ">work.go:30<"}, []string{"that came from"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			files := map[string]string{}
			for i, lines := range at {
				files[fmt.Sprintf("t%d.txt", i)] = tt.dump(lines...)
			}
			s := newSite(t)
			body, kind := form(t, files, nil)
			up := decode[intake.Uploaded](t, s.do("POST", "/api/v1/bundles?wait=1", body, "Content-Type", kind).body)
			_, page, found := strings.Cut(s.get(up.Link+tt.query).body, `id="range"`)
			if !found {
				t.Fatal("the page has no range")
			}
			page, _, _ = strings.Cut(page, `<div class="side">`)
			for _, want := range tt.want {
				if !strings.Contains(page, want) {
					t.Errorf("%q is missing: %s", want, page)
				}
			}
			for _, never := range tt.never {
				if strings.Contains(page, never) {
					t.Errorf("%q is there", never)
				}
			}
		})
	}
}
