package report_test

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

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
