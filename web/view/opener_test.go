package view

import (
	"testing"

	"leakdiff/analysis"
	"leakdiff/analysis/say/document"
	"leakdiff/analysis/say/report"
)

func TestTheStacksOfAFamilySayWhetherTheyStartedOrOpenedIt(t *testing.T) {
	for kind, want := range map[analysis.Kind]string{analysis.KindDescriptor: "Opened at", analysis.KindGoroutine: "Ancestors at t2"} {
		for stacks, heading := range []string{"", want} {
			in := restarted()
			in.Family.Kind, in.Ancestries = kind, make([]report.Trace, stacks)
			f := NewFamily(in)
			got := ""
			for _, b := range f.ancestries() {
				got += b.(document.Section).Title.String()
			}
			if got != heading {
				t.Errorf("%s with %d stacks: %q, want %q", kind, stacks, got, heading)
			}
		}
	}
}
