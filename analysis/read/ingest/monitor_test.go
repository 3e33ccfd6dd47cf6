package ingest

import (
	"strconv"
	"testing"

	"leakdiff/analysis"
)

func TestOwnedObjectsAreBoundedAndKnownOnesStillCount(t *testing.T) {
	var m monitors
	wait := func(family string, object int) {
		m.add(&analysis.Thread{Locks: []analysis.Lock{{How: "parking to wait for", Object: strconv.Itoa(object), Class: "a.Pool"}}}, family)
	}
	const more = 1000
	for i := range mostMonitors + more {
		wait("f"+strconv.Itoa(i%3), i)
	}
	wait("f0", 0) // a second thread that waits for the first object
	objects, waiting := 0, 0
	for family, all := range m.distinct {
		objects += len(all)
		waiting += m.waiting[family]
	}
	if objects != mostMonitors || waiting != mostMonitors+1 {
		t.Errorf("%d objects for which %d threads wait, want %d and %d", objects, waiting, mostMonitors, mostMonitors+1)
	}
	if len(m.distinct["f0"]) == m.waiting["f0"] {
		t.Error("the second thread of an object does not count")
	}
}
