package report_test

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

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
		if said := fmt.Sprint(got.Cause, got.Chain); !strings.Contains(said, "manager.(*containerData).Start") {
			t.Errorf("%s: it does not name who starts them: %s", later, said)
		}
		if got.Next == nil || !strings.HasPrefix(got.Next.Text, "Check first: Count the cgroups") {
			t.Errorf("%s: what to do is not for those who run a kubelet: %v", later, got.Next)
		}
	}
}

// encoded are captures of one process of feeds, ten minutes apart, each in one encoding: "text" is
// debug=2, "counts" is debug=1. Each has 8 feeds more than the one before, the first has 4.
func encoded(forms ...string) (out []bundle.Input) {
	for i, form := range forms {
		n := 4 + 8*i
		var b strings.Builder
		if form == "counts" {
			fmt.Fprintf(&b, "goroutine profile: total %d\n1 @ 0x1\n#\t0x1\tmain.main+0x1\t/orders/main.go:9\n\n%d @ 0x2\n#\t0x2\tmain.(*Feed).run+0x1\t/orders/feed.go:21\n\n", n+1, n)
		} else {
			b.WriteString("goroutine 1 [select, 90 minutes]:\nmain.main()\n\t/orders/main.go:9 +0x1\n\n")
			for k := range n {
				fmt.Fprintf(&b, "goroutine %d [select, 1 minutes]:\nmain.(*Feed).run(0xc000%03x000)\n\t/orders/feed.go:21 +0x1\ncreated by main.openFeed in goroutine 1\n\t/orders/feed.go:9 +0x1\n\n", 100+7*k, k)
			}
		}
		out = append(out, textInput(fmt.Sprintf("app-2026-11-01T10-%d0-00.txt", i), b.String()))
	}
	return out
}

func textInput(name, text string) bundle.Input {
	return bundle.Input{Name: name, Size: int64(len(text)), Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }}
}

func TestEncodingsOfOneProcessSideBySideAreComparedAsFarAsEachShows(t *testing.T) {
	for _, tc := range []struct {
		name, counts, sentence, proof, do string
		forms                             []string
	}{
		{"texts, then counts", "4 12 20 28", "Goroutines in main.(*Feed).run of orders grew from 4 to 28.", "The counts alone: 4 to 28. Who came and who left is not known.", "main.openFeed", []string{"text", "text", "counts", "counts"}},
		{"texts and counts in turn: the last text shows who of the first is there", "4 12 20 28 36", "orders created 32 main.Feed objects and none ended so far.", "32 of 32 created since 2026-11-01t10-00-00 are still there at 2026-11-01t10-40-00.", "feed.go:21", []string{"text", "counts", "text", "counts", "text"}},
		{"texts, then one of counts: who is there is known until the last text", "4 12 20 28 36", "Goroutines in main.(*Feed).run of orders grew from 4 to 36.", "16 of 16 seen in two dumps or more were still there at 2026-11-01t10-30-00.", "main.openFeed", []string{"text", "text", "text", "text", "counts"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := built(t, encoded(tc.forms...)).Report
			if len(r.Series) != 1 {
				t.Fatalf("%d series", len(r.Series))
			}
			for _, f := range r.Series[0].Families {
				if f.CreatedBy == "main.openFeed" && strings.Join(strings.Fields(fmt.Sprint(f.Counts.Known())), " ") != "["+tc.counts+"]" {
					t.Errorf("%s: %v", f.Title, f.Counts)
				}
			}
			d := r.Diagnosis
			if d.Proof != tc.proof || d.Sentence != tc.sentence {
				t.Errorf("%s\n%s", d.Sentence, d.Proof)
			}
			if d.Next == nil || !strings.Contains(d.Next.Text, tc.do) {
				t.Errorf("%+v, want %s", d.Next, tc.do)
			}
		})
	}
}

// tabled are captures of the connections of sync to a server, ten minutes apart, 10 more in each
// than in the one before, the first has 3: "lsof", "netstat -p", or "netstat" without owners.
func tabled(forms ...string) (out []bundle.Input) {
	for i, form := range forms {
		head, owner := "Active Internet connections (w/o servers)\nProto Recv-Q Send-Q Local Address Foreign Address State PID/Program name\n", "77/sync"
		switch form {
		case "lsof":
			head = "COMMAND PID USER FD TYPE DEVICE SIZE/OFF NODE NAME\nsync 77 app txt REG 254,0 9000000 777 /usr/bin/sync\nsync 77 app 1w REG 254,0 100 900 /var/log/app.log\n"
		case "netstat":
			head, owner = strings.Replace(head, " PID/Program name", "", 1), ""
		}
		for k := range 3 + 10*i {
			if form == "lsof" {
				head += fmt.Sprintf("sync 77 app %du IPv4 %d 0t0 TCP 10.0.0.5:%d->10.0.0.7:6379 (ESTABLISHED)\n", 10+k, 5000+k, 40000+k)
			} else {
				head += fmt.Sprintf("tcp 0 0 10.0.0.5:%d 10.0.0.7:6379 ESTABLISHED %s\n", 40000+k, owner)
			}
		}
		out = append(out, textInput(fmt.Sprintf("app-2026-11-01T10-%d0-00.txt", i), head))
	}
	return out
}

func TestListingsAndTablesOfOneProcessSideBySideAreCompared(t *testing.T) {
	for _, tc := range []struct {
		name, sentence, proof, file string
		problems                    int
		forms                       []string
	}{
		{"in turn: each counts, no file is missing in a table", "Connections to 10.0.0.7:6379 of sync grew from 3 to 33.", "The counts alone: 3 to 33. Who came and who left is not known.", "1 - 1 -", 0, []string{"lsof", "netstat -p", "lsof", "netstat -p"}},
		{"a table without owners is left out, and that is said", "sync opens 1 connection a minute to 10.0.0.7:6379 and closes none: 33 are open.", "30 of 30 opened since 2026-11-01t10-00-00 are still there at 2026-11-01t10-30-00.", "1 1 1", 1, []string{"lsof", "netstat", "lsof", "lsof"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := built(t, tabled(tc.forms...)).Report
			if r.Diagnosis.Sentence != tc.sentence || r.Diagnosis.Proof != tc.proof {
				t.Errorf("%s\n%s", r.Diagnosis.Sentence, r.Diagnosis.Proof)
			}
			if len(r.Problems) != tc.problems {
				t.Errorf("problems %+v", r.Problems)
			}
			for _, f := range r.Series[0].Families {
				got := ""
				for _, n := range f.Counts {
					got += [...]string{" -", " -", fmt.Sprint(" ", n.N)}[n.State]
				}
				if f.Attributes["path"] != "" && got != " "+tc.file {
					t.Errorf("%s:%s, want %s", f.Title, got, tc.file)
				}
			}
		})
	}
}

func TestReplicasInTwoEncodingsAreNotComparedByGroupsThatOneCannotShow(t *testing.T) {
	var files []bundle.Input
	for i, in := range encoded("text", "text", "counts") {
		in.Name, in.ModTime = []string{"", "web-alpha.txt", "web-beta.txt"}[i], time.Date(2026, 11, 1, 10, i, 0, 0, time.UTC)
		files = append(files, in)
	}
	d := built(t, files[1:]).Report.Diagnosis
	if want := "2 replicas of orders with one dump each: web-alpha 13, web-beta 21 goroutines; none stands out."; d.Sentence != want {
		t.Errorf("%s\nwant %s", d.Sentence, want)
	}
}
