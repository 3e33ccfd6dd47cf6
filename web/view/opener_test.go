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

func TestADumpShowsTheStackOfItsLargestGroup(t *testing.T) {
	in := singleDump()
	in.More = []CaseMore{{Largest: &report.Trace{Caption: "Stack of all 60 goroutines at t0", Rows: []report.TraceRow{{Function: "main.serve", Own: true}}}}}
	a := NewCase(in).Answer
	if a.Stack == nil || a.Stack.Caption != "Stack of all 60 goroutines at t0" || a.Stack.Frames[0].Function != "main.serve" {
		t.Errorf("%+v", a.Stack)
	}
}

func TestWhatTheHeapHoldsIsTheAnswerWhereNothingElseWasCaptured(t *testing.T) {
	for name, goroutines := range map[string]bool{"a heap alone": false, "a heap and goroutines": true} {
		in := singleDump()
		in.Report.Series[0].Heap = &report.Heap{By: "stack", Rows: []report.HeapRow{{Name: "main.put", Bytes: 3 << 20}}}
		if !goroutines {
			in.Report.Series[0].Families = nil
		}
		c := NewCase(in)
		if answers, folded := len(c.Answer.Heaps) == 1, len(c.Heaps) == 1; answers == goroutines || folded != goroutines {
			t.Errorf("%s: among the answer %t, folded %t", name, answers, folded)
		}
	}
}
