package report_test

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"leakdiff/analysis"
	"leakdiff/analysis/read/bundle"
	"leakdiff/analysis/say/report"
)

// TestALeakGoesOnInEncodingsWithoutCreators has a program that opens 30 feeds an hour, 10 for
// orders and 20 for refunds, and ends none: two dumps with creators, then a debug=1 text and a
// profile, in which the feeds of both have one stack. main.main is the other goroutine of its package.
func TestALeakGoesOnInEncodingsWithoutCreators(t *testing.T) {
	var inputs []bundle.Input
	root := filepath.Join("testdata", "mixed")
	if err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			inputs = append(inputs, bundle.Input{Name: filepath.ToSlash(path), Size: -1, Open: func() (io.ReadCloser, error) { return os.Open(path) }})
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	c := built(t, inputs)
	text, err := c.Said().Encode()
	if err != nil {
		t.Fatal(err)
	}
	stored, err := report.DecodeCase(text)
	if err != nil {
		t.Fatal(err)
	}
	for name, r := range map[string]*report.Report{"built": &c.Report, "stored": &stored.Report} {
		got := map[string]string{}
		for _, f := range r.Series[0].Families {
			if f.Counts.Highest() < 3 {
				continue
			}
			for _, n := range f.Counts {
				got[f.CreatedBy] += [...]string{" not captured", " not shown", fmt.Sprint(" ", n.N)}[n.State]
			}
			if f.Verdict == analysis.Gone || f.Verdict == analysis.Stopped {
				t.Errorf("%s: %s is %s", name, f.Title, f.Verdict)
			}
		}
		for creator, want := range map[string]string{
			"main.openForOrder":  " 10 20 not shown not shown",
			"main.openForRefund": " 20 40 not shown not shown",
			"":                   " not shown not shown 90 120",
		} {
			if got[creator] != want {
				t.Errorf("%s: by %q%s, want%s", name, creator, got[creator], want)
			}
		}
		if d := r.Diagnosis; d.Sentence != "Goroutines in package main of orders grew from 31 to 121." {
			t.Errorf("%s: the answer is %q", name, d.Sentence)
		}
	}
}
