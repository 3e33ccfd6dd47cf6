package report_test

import (
	"slices"
	"testing"

	"leakdiff/analysis/say/report"
	"leakdiff/samples/corpus"
)

// The capture is jcmd Thread.dump_to_file -format=json of JDK 25: 136 virtual threads, 120 of them
// in one executor. "loader" sleeps while a class is initialised, which pins it to carrier 18.
// request-5 to request-11 are blocked by the monitor that request-0 owns.
func TestADumpOfVirtualThreadsNamesThePinnedTheirContainerAndWhoHoldsALock(t *testing.T) {
	r := reportOf(t, "testdata/virtual")
	s := &r.Series[0]
	var facts []string
	for _, f := range s.Findings {
		if f.Kind == report.FactFinding {
			facts = append(facts, f.Title)
		}
	}
	for _, want := range []string{"1 virtual thread holds its carrier while it waits", "120 of 136 virtual threads are in one ThreadPerTaskExecutor", "7 threads wait for one lock, a java.lang.Object"} {
		if !slices.Contains(facts, want) {
			t.Errorf("%q is not among %q", want, facts)
		}
	}
	if s.Called != "Small" {
		t.Errorf("called %q", s.Called)
	}
	at := slices.IndexFunc(s.Locks.List, func(l report.Lock) bool { return l.Waiters == 7 })
	if at < 0 || len(s.Locks.List[at].Holders) != 1 || s.Locks.List[at].Holders[0].Name != "request-0" {
		t.Errorf("locks: %+v", s.Locks.List)
	}
}

// Of JDK 26: Deadlock-lock-1, #24, waits for what #25 owns, and the other way round. No thread
// prints that it holds one of the two.
func TestTheOwnerOfAParkedThreadIsTheHolderOfItsLock(t *testing.T) {
	r := reportOf(t, corpus.Path(t, "threads", "jdk-matrix", "jdk26", "dump_to_file.json"))
	holders := map[string]string{}
	for _, l := range r.Series[0].Locks.List {
		if len(l.Waiting) == 1 && len(l.Holders) == 1 {
			holders[l.Waiting[0]] = l.Holders[0].Name
		}
	}
	if holders["Deadlock-lock-1"] != "Deadlock-lock-2" || holders["Deadlock-lock-2"] != "Deadlock-lock-1" {
		t.Errorf("got %v", holders)
	}
}
