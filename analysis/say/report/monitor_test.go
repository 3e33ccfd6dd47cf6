package report_test

import (
	"slices"
	"strings"
	"testing"

	"leakdiff/analysis"
	"leakdiff/analysis/say/report"
	"leakdiff/samples/corpus"
)

func TestClientsThatMonitorsProveAreSaidOnce(t *testing.T) {
	s := &reportOf(t, corpus.Path(t, "series", "okhttp-leak")).Series[0]
	at := slices.IndexFunc(s.Objects, func(o report.Object) bool { return o.Name == "okhttp3.ConnectionPool" })
	if at < 0 {
		t.Fatal("no pools")
	}
	o := &s.Objects[at]
	if o.Verdict != analysis.Leaking || o.Level != analysis.ByAddress || !o.Threads() || o.Each[0].N != 1 || !o.Each[0].Waits {
		t.Errorf("got %s by %s, each %+v", o.Verdict, o.Level, o.Each)
	}
	if _, known := o.BornTotal(); known {
		t.Error("objects that a JVM moves are followed")
	}
	if len(o.Each) != 2 || o.Each[1].N != 4 || o.Each[1].Roles[0].Level != analysis.ByStep {
		t.Errorf("the other threads of a client are %+v", o.Each[1:])
	}
	for _, other := range s.Objects {
		if other.Name == "OkHttp" {
			t.Error("the pools in step are listed as well")
		}
	}
	if want := "OkHttpLeak created 87 OkHttp clients and closed none: each keeps 5 threads and 3 connections"; s.Findings[0].Title != want || s.Findings[0].Object != o.ID {
		t.Errorf("got %q on %s", s.Findings[0].Title, s.Findings[0].Object)
	}
}

func TestOneThreadDumpListsItsObjects(t *testing.T) {
	s := &reportOf(t, corpus.Path(t, "series", "okhttp-leak", "t4")).Series[0]
	if len(s.Objects) != 1 || s.Objects[0].Shape() != "1 thread waits on it" || s.Objects[0].Counts[0].N != 90 {
		t.Fatalf("got %+v", s.Objects)
	}
	for _, f := range s.Findings {
		if strings.Contains(f.Text, "okhttp3.ConnectionPool") {
			t.Errorf("said again: %s", f.Title)
		}
	}
}
