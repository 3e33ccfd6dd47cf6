package report_test

import (
	"strconv"
	"strings"
	"testing"
)

func TestOneOfSeveralReplicasThatLeaksIsNamed(t *testing.T) {
	dump := func(first, n int) string {
		text := goroutineText(1, "select", "", "main.main()")
		for i := range n {
			text += goroutineText(first+i, "chan send", "main.serve", "main.price(0x1)")
		}
		return text
	}
	for name, tt := range map[string]struct {
		// grow are how many more goroutines each replica has in each dump.
		grow []int
		want string
	}{
		"one of three":   {[]int{0, 20, 0}, ", on node1 alone of 3 replicas."},
		"two of three":   {[]int{20, 20, 0}, "; the same on 1 more host."},
		"the only one":   {[]int{20}, " and none ended."},
		"both of two":    {[]int{20, 20}, "; the same on 1 more host."},
		"neither of two": {[]int{0, 0}, "No leak seen in app: no goroutines grew in 3 h; 1 more process was read."},
	} {
		var captures []map[string]string
		for c := range 4 {
			files := map[string]string{}
			for i, grow := range tt.grow {
				files["node"+strconv.Itoa(i)+"/app/goroutine.txt"] = dump(1000*(i+1), 10+grow*c)
			}
			captures = append(captures, files)
		}
		if got := every(t, captures).Diagnosis.Sentence; !strings.HasSuffix(got, tt.want) {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}
