package casepage

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"leakdiff/analysis"
	"leakdiff/analysis/say/report"
	"leakdiff/store"
)

func TestTypesOfObjectsEndAsTheWorstOfTheirKinds(t *testing.T) {
	benign := report.Family{Fingerprint: "g1:benign", Triage: &analysis.Triage{State: analysis.Benign}}
	object := func(typ string, v analysis.Verdict, families ...string) report.Object {
		return report.Object{Type: typ, Verdict: v, Families: families}
	}
	series := report.Series{
		Snapshots: []string{"a", "b"}, Families: []report.Family{benign, {Fingerprint: "g1:other"}, {Fingerprint: "g1:back", RecoveredAt: new("b")}},
		Objects: []report.Object{
			object("two kinds", analysis.Suspicious), object("two kinds", analysis.Leaking), object("two kinds", analysis.Stable),
			object("benign", analysis.Leaking, "g1:benign"), object("partly benign", analysis.Leaking, "g1:benign", "g1:other"),
			object("recovered", analysis.Leaking, "g1:back"), object("one lasts", analysis.Leaking, "g1:back"), object("one lasts", analysis.Leaking, "g1:other"),
			object("partly", analysis.Leaking, "g1:back", "g1:other"), object("still", analysis.Stable), object("seen once", analysis.TooFewPoints),
		},
	}
	judged := &report.CaseReport{Report: report.Report{Series: []report.Series{series}}, Series: []report.SeriesReport{{}}}
	for _, typ := range []string{"two kinds", "benign", "partly benign", "recovered", "one lasts", "partly", "still", "seen once", "not listed"} {
		judged.Series[0].Objects = append(judged.Series[0].Objects, report.ObjectSights{Type: typ, First: 0, Last: 1, FirstCount: 2, LastCount: 3})
	}
	want := map[string]string{"two kinds": "leaking", "benign": "", "partly benign": "leaking", "recovered": "leaking", "one lasts": "leaking", "partly": "leaking", "still": "", "seen once": "", "not listed": ""}
	got := map[string]string{}
	for _, c := range objectCounts(judged) {
		got[c.Type] = c.Verdict
		if c.Recovered != (c.Type == "recovered") {
			t.Errorf("%s recovered: %v", c.Type, c.Recovered)
		}
		if c.First != (store.ObjectSight{Snapshot: "a", Count: 2}) || c.Last != (store.ObjectSight{Snapshot: "b", Count: 3}) {
			t.Errorf("%s was seen in %+v and %+v", c.Type, c.First, c.Last)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
