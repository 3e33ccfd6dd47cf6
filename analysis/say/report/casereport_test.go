package report_test

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"leakdiff/analysis"
	"leakdiff/analysis/read/bundle"
	"leakdiff/analysis/read/ingest"
	"leakdiff/analysis/say/report"
	"leakdiff/samples"
)

func everySample(t *testing.T, do func(t *testing.T, built report.Case)) {
	all, err := samples.All()
	if err != nil {
		t.Fatal(err)
	}
	inputs := map[string]func() (io.ReadCloser, error){}
	for _, s := range all {
		inputs[s.Name+".tar.gz"] = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(s.Archive)), nil }
	}
	for name, open := range inputs {
		t.Run(name, func(t *testing.T) {
			result, err := ingest.Run(t.Context(), ingest.Config{Bundle: bundle.Config{TempDir: t.TempDir()}}, []bundle.Input{{Name: name, Size: -1, Open: open}})
			if err != nil {
				t.Fatal(err)
			}
			do(t, report.Build(result.Snapshots, result.Problems, report.Options{Version: "test"}))
		})
	}
}

func TestAStoredReportSaysTheSame(t *testing.T) {
	everySample(t, func(t *testing.T, built report.Case) {
		said := built.Said()
		text, err := said.Encode()
		if err != nil {
			t.Fatal(err)
		}
		again, err := report.DecodeCase(text)
		if err != nil {
			t.Fatal(err)
		}
		all := cmp.Exporter(func(reflect.Type) bool { return true })
		if d := cmp.Diff(said, again, all, cmpopts.EquateEmpty()); d != "" {
			t.Error(d)
		}
		var before, after bytes.Buffer
		if err := errors.Join(report.JSON(&before, said.Report), report.JSON(&after, again.Report)); err != nil || before.String() != after.String() {
			t.Errorf("as JSON: %v, %s", err, cmp.Diff(before.String(), after.String()))
		}
	})
}

func TestAReportJoinedFromStoredJudgementsSaysTheSame(t *testing.T) {
	everySample(t, func(t *testing.T, built report.Case) {
		for name, marked := range map[string]analysis.TriageState{"": "", "benign": analysis.Benign, "suspect": analysis.MarkedSuspect} {
			o := report.Options{Version: "test", Triage: map[report.Sorted]analysis.Triage{}}
			for _, s := range built.Report.Series {
				for i := 0; i < len(s.Families) && marked != ""; i += 2 {
					o.Triage[report.Sorted{Process: s.Process, Fingerprint: s.Families[i].Fingerprint}] = analysis.Triage{State: marked, Note: "as designed"}
				}
			}
			var snapshots []analysis.Snapshot
			for _, s := range built.Series {
				for _, snap := range s.Snapshots {
					snapshots = append(snapshots, *snap)
				}
			}
			whole := report.Build(snapshots, built.Report.Problems, o)
			groups := report.Group(snapshots)
			o.Versions = report.Versions(groups)
			var judged []report.SeriesJudgement
			for i := range groups {
				text, err := report.JudgeSeries(&groups[i], o).Encode()
				if err != nil {
					t.Fatal(err)
				}
				again, err := report.DecodeJudgement(text)
				if err != nil {
					t.Fatal(err)
				}
				judged = append(judged, *again)
			}
			all := cmp.Exporter(func(reflect.Type) bool { return true })
			if d := cmp.Diff(whole.Said(), report.Join(judged, built.Report.Problems, o), all, cmpopts.EquateEmpty()); d != "" {
				t.Errorf("%s: %s", name, d)
			}
		}
	})
}

func TestColumnsOfCountsAreStoredAsTheyAre(t *testing.T) {
	columns := []analysis.Counts{nil, {}, {analysis.Count{}}, {analysis.Counted(7), {State: analysis.NotShown}, analysis.Counted(8)}, analysis.CountsOf(0), {analysis.Counted(5), analysis.Count{}, analysis.Counted(-3), analysis.Counted(1 << 40)}}
	said := report.CaseReport{Report: report.Report{Series: []report.Series{{}}}, Series: make([]report.SeriesReport, 1)}
	for _, c := range columns {
		said.Report.Series[0].Families = append(said.Report.Series[0].Families, report.Family{Counts: c})
	}
	text, err := said.Encode()
	if err != nil {
		t.Fatal(err)
	}
	again, err := report.DecodeCase(text)
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range again.Report.Series[0].Families {
		if d := cmp.Diff(columns[i], f.Counts); d != "" {
			t.Errorf("column %d: %s", i, d)
		}
	}
	if said.Report.Series[0].Families[5].Counts == nil {
		t.Error("encoding changes the report")
	}
	for wrong := range 5 {
		damaged := bytes.Replace(text, []byte(`"counts":"A`), []byte(`"counts":"`+strings.Repeat("/", 4*wrong)+"A"), 1)
		if _, err := report.DecodeCase(damaged); err == nil && wrong > 0 {
			t.Errorf("%d wrong bytes are read", 3*wrong)
		}
	}
}
