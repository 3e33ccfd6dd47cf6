package report_test

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"leakdiff/analysis"
	"leakdiff/analysis/read/bundle"
	"leakdiff/analysis/say/report"
	"leakdiff/samples/corpus"
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

// TestWhatLastShowedIdentitiesAndCreatorsIsSaid reads the kubelet's dumps: texts to t3, then an
// encoding without ids and creators. 12 of its containers came by t1 and 8 by t2, all seen at t3.
func TestWhatLastShowedIdentitiesAndCreatorsIsSaid(t *testing.T) {
	for _, later := range []string{"goroutine-debug1.txt", "goroutine-debug0.pb.gz"} {
		var inputs []bundle.Input
		for at := range 8 {
			capture := fmt.Sprintf("t%d", at)
			dump := "goroutine-debug2.txt"
			if at > 3 {
				dump = later
			}
			for name, path := range map[string]string{"captured_at": "captured_at", "kubelet/" + dump: "kubelet/" + dump} {
				file := corpus.Path(t, "series", "kubelet-probe-leak", capture, path)
				inputs = append(inputs, bundle.Input{Name: capture + "/" + name, Size: -1, Open: func() (io.ReadCloser, error) { return os.Open(file) }})
			}
		}
		got := built(t, inputs).Report.Diagnosis
		if want := "20 of 20 seen in two dumps or more were still there at t3."; got.Proof != want {
			t.Errorf("%s: %q, want %q", later, got.Proof, want)
		}
		if got.Next == nil || !strings.Contains(got.Next.Text, "manager.(*containerData).Start") {
			t.Errorf("%s: what to do does not name who starts them: %v", later, got.Next)
		}
	}
}
