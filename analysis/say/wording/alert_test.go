package wording

import "testing"

func TestLeaksNamesTheProcessAndTheHostThatAreKnown(t *testing.T) {
	for _, c := range []struct {
		process, host string
		families      int
		want          string
	}{
		{"kubelet", "node-a", 2, "2 families leak in kubelet on node-a."},
		{"kubelet", "", 1, "1 family leaks in kubelet."},
		{"", "node-a", 1, "1 family leaks on node-a."},
		{"", "", 3, "3 families leak."},
	} {
		if got := Leaks(c.process, c.host, c.families); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
