package ingest

import (
	"strings"
	"testing"

	"leakdiff/analysis"
)

func TestTheListenerOfADump(t *testing.T) {
	one := listening("0x7f346f0d2000")
	for name, tt := range map[string]struct {
		text string
		want analysis.Listener
	}{
		"one that accepts": {textOf(7) + one, analysis.Listener{Goroutine: 3, Address: 0x7f346f0d2000}},
		"the one with the smallest id of several": {
			strings.Replace(listening("0x7f346f0d3000"), "goroutine 3 ", "goroutine 9 ", 1) + one + strings.Replace(listening("0x7f346f0d4000"), "goroutine 3 ", "goroutine 5 ", 1),
			analysis.Listener{Goroutine: 3, Address: 0x7f346f0d2000},
		},
		"an address that may be stale":      {strings.Replace(one, "0x7f346f0d2000", "0x7f346f0d2000?", 1), analysis.Listener{}},
		"a connection that reads":           {strings.Replace(one, "(*FD).Accept", "(*FD).Read", 1), analysis.Listener{}},
		"a dump that prints no arguments":   {strings.Replace(one, "(0x7f346f0d2000, 0x72)", "(...)", 1), analysis.Listener{}},
		"a goroutine that was asked to run": {strings.Replace(one, "runtime_pollWait", "runtime_pollReset", 1), analysis.Listener{}},
	} {
		if got := run(t, map[string]string{"dump.txt": tt.text}).Snapshots[0].Listener; got != tt.want {
			t.Errorf("%s: %+v, want %+v", name, got, tt.want)
		}
	}
}
