package report_test

import (
	"encoding/csv"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"leakdiff/analysis/read/bundle"
	"leakdiff/analysis/read/ingest"
	"leakdiff/analysis/say/report"
	"leakdiff/samples/corpus"
)

// claimed is what the answer of a case must claim and must not, from the truth of the
// collection (ANSWERS.tsv). Words are examples of meanings: says are patterns of which each must
// be found in what the answer says.
type claimed struct {
	// of are the paths that are read together.
	of    []string
	state string
	says  []string
	never []string
	// holds are the snapshots of the report, each as "name pid host time descriptors watches".
	holds []string
	// open names what is not done yet, and the issue that brings it.
	open string
}

var answers = map[string]claimed{
	"series/clientgo-informer-recreate": {state: "leaking", says: []string{`58 informer factories`, `12 goroutines and 1 connection`, `stopped none`, `58 of 58`, `[Oo]ne informer factory per process`, `goroutine tracked by id`},
		never: []string{`propagateCancel`, `persistConn`}},
	"series/clientgo-informer-recreate t2,t3": {of: []string{"series/clientgo-informer-recreate/t2", "series/clientgo-informer-recreate/t3"}, state: "grew", says: []string{`21 to 31`, `10 new`, `none ended`, `between t2 and t3`, `leakdiff collect`},
		never: []string{`leaking`, `othing grew`}},
	"series/groovy-k8s-clients": {state: "leaking", says: []string{`39`, `32`, `one client per cluster`}, never: []string{`12 OkHttp calls`, `othing grew`}, open: "a saturated dispatcher and the counts of a script: counts and circumstances"},
	"series/inotify-leak": {state: "leaking", says: []string{`leaker opened 86 inotify instances`, `closed none`, `inode`, `03:00:10`, `100 of 128`, `full in 12 s`, `[Cc]lose each watcher, or share one`},
		never: []string{`none near`}},
	"series/kubelet-probe-leak": {state: "leaking until t7", says: []string{`24 pod starts in containerd`, `8 shim calls`, `v1.\(\*Collector\).Collect`, `likely`, `03:03:32`, `none near.*at the peak`, `t8`, `kubelet: cAdvisor containers`, `probe workers`, `Look at the shims: 8 shim calls`},
		never: []string{`kubelet grew too`, `19 of 20`, `in the logs`, `Something released`}},
	"series/kubelet-probe-leak t3": {of: []string{"series/kubelet-probe-leak/t3"}, state: "one dump each", says: []string{`9 of them wait for one lock`, `containerd`, `likely holder waits for 8 shim calls`, `none near`, `leakdiff collect`}, never: []string{`grew`}},
	"series/kubelet-probe-leak t7 containerd": {of: []string{"series/kubelet-probe-leak/t7/containerd"}, state: "one dump", says: []string{`29 of them wait for one lock`, `8 shim calls`},
		never: []string{`grew`, `normal`}},
	"series/node-agent-leak":         {state: "leaking", says: []string{`15 connections a second to 127.0.0.1:42635`, `593 are open`, `closes none`, `inode`, `open files full in`, `unknown|open`}, never: []string{`none near`, `cause certain`}},
	"series/okhttp-leak":             {state: "leaking", says: []string{`87 OkHttp clients`, `5 threads and 3 connections`, `closed none`, `thread`, `OkHttpClient`}, never: []string{`8 threads`}},
	"series/okhttp-leak-supportcore": {state: "leaking", says: []string{`58 OkHttp clients`, `closed none`, `5 threads`}},
	"series/prometheus-hanging-targets": {state: "no leak", says: []string{`240 scrape loops`, `3 goroutines and 1 connection`, `t7`, `[Nn]othing to mend`},
		never: []string{`leaking`, `closes none`}},
	"series/restart":     {state: "leaking", says: []string{`159 goroutines in main.prober`, `none ended`, `restarted after t5`, `16 again`, `main.prober|main.main`}, never: []string{`stable`, `recovered`}},
	"series/socket-leak": {state: "leaking", says: []string{`40 are open`, `to itself \(127.0.0.1:38847\)`, `closes none`, `inode`, `CLOSE_WAIT`}},
	"../../samples/two-dumps": {of: []string{"samples/two-dumps"}, state: "grew", says: []string{`main.\(\*worker\).wait`, `212 to 253`, `41 new`, `212 of 212`, `main.startWorkers`, `between t0 and t1, or before`, `leakdiff collect`},
		never: []string{`leaking`, `othing grew`}},
	"large (100,305 goroutines, any form)": {of: []string{"large"}, state: "one dump", says: []string{`100000 of them`, `gRPC calls in health.\(\*Server\).Watch`}, never: []string{`at least`}},

	"inputs3/01.txt": {state: "one dump each", says: []string{`pid 60: 3 descriptors`}, holds: []string{"50 - - 2 -", "60 - - 3 -"}, never: []string{`grew`}},
	"inputs3/02.txt": {state: "one dump each", says: []string{`pid 60: 30 descriptors`}, holds: []string{"50 - - 2 -", "60 - - 30 -"}, never: []string{`grew`, `replaced`}},
	"inputs3/03.txt": {state: "one dump each", says: []string{`pid 50: 1 descriptor`}, holds: []string{"50 - - 1 -", "60 - - 1 -"}, never: []string{`9423`, `grew`}},
	"inputs3/04.txt": {state: "one dump each", says: []string{`pid 60: 1 descriptor, 800 watches`}, holds: []string{"50 - - 1 12", "60 - - 1 800"}, never: []string{`\b0 watches`}},
	"inputs3/05.txt": {state: "one dump each", says: []string{`pid 50: 1 descriptor, 1 watch`}, holds: []string{"50 - - 1 1", "60 - - 1 1"}, never: []string{`2 descriptors`}},
	"inputs3/06.txt": {state: "one dump each", says: []string{`java: 90 threads`}, holds: []string{"dockerd 60 - - - -", "java 50 - - - -"}, never: []string{`descriptor`, `inotify`}},
	"inputs3/07.txt": {state: "one dump each", says: []string{`pid 60: 3 descriptors`}, holds: []string{"50 - - 2 -", "60 - - 3 -"}, never: []string{`grew`}},
	"inputs3/08": {state: "leaking", says: []string{`200 goroutines in main.\(\*C\).Collect`, `none ended`, `holds? its own lock|waits? for itself`},
		never: []string{`othing grew`}},
	"inputs3/09":     {state: "leaking", says: []string{`12`, `3 to 15|12 of 12`}, never: []string{`othing grew`}},
	"inputs3/10":     {state: "may leak", says: []string{`900 of 1024`}, never: []string{`none near`, `nothing can be counted`}, open: "counts of a metrics page: counts and circumstances"},
	"inputs3/11":     {state: "leaking", says: []string{`24 threads`, `24 of 24`, `5 dumps`}, never: []string{`pid 2025`, `pid 2026`, `restarted`}},
	"inputs3/12.txt": {state: "one dump", says: []string{`40 goroutines, all of them in subscriptions.\(\*Dispatcher\).await`}},
	"inputs3/13.txt": {state: "one dump", says: []string{`811 goroutines of one record, of an unknown total`}, never: []string{`at least`}},
	"inputs3/14.txt": {state: "one dump", says: []string{`2 threads`}},
	"inputs3/15.txt": {state: "one dump", says: []string{`12\D?407 goroutines declared, no stack`}, never: []string{`at least`, `stacks of 0`}},
	"inputs3/16.txt": {state: "one dump", says: []string{`3 goroutines, all of them in main.work`}, never: []string{`unknown total`}},
	"inputs3/17.txt": {state: "one dump", says: []string{`15 connections .*to 10.0.0.1:80`, `CLOSE_WAIT, owner not known`, `[Pp]eers have closed, the process has not`, `ss -tunap`}, never: []string{`an unnamed process`, `--pid PID`}},
	"inputs3/18.txt": {state: "one dump", says: []string{`dockerd: 2 sockets`}, holds: []string{"dockerd 50 - - - -"}, never: []string{`owner not known`}},
	"inputs3/19":     {state: "leaking", says: []string{`of kubelet grew from 20 to 195`}, never: []string{`kubelet-`, `on kubelet`}},
	"inputs3/20":     {state: "one dump each", says: []string{`3 replicas of srv`, `web-0 40, web-1 45, web-2 50 goroutines in main.worker`}, never: []string{`grew`, `may leak`, `stay`}},

	"gauges/groovy-saturated": {open: "counts and circumstances"},
	"gauges/metrics-series":   {open: "counts and circumstances"},
	"gauges/open-fds.log":     {open: "counts and circumstances"},
	"gauges/status-series":    {open: "counts and circumstances"},

	"why/near-limit": {state: "at its limit", says: []string{`1008 of 1024 open files`, `all of them connections`}, never: []string{`none near`}},
	"why/inotify-per-user": {state: "leaking", says: []string{`3 processes of one user hold 114 of 128`, `3 processes of its user`, `full at the next capture`, `[Cc]lose each watcher`},
		never: []string{`38 of 128`, `opened 18`, `svc10. .*\(.*svc10`}},
	"why/debug3":       {state: "leaking", says: []string{`80 goroutines in app.\(\*W\).loop`, `none ended`, `tracked by id`}, never: []string{`counts alone`}},
	"why/ancestors":    {state: "leaking", says: []string{`lib.\(\*Conn\).read`, `started by lib.Dial for app.customerSync sync.go:77`}},
	"why/labels":       {state: "leaking", says: []string{`60 goroutines in app.\(\*W\).loop`}, never: []string{`tenant`}},
	"why/labels-split": {state: "leaking", says: []string{`60 of 60 new goroutines have tenant=a; 0 of the 20 others`}},
}

// said is everything that the answer of a report says.
func said(r *report.Report) string {
	d := &r.Diagnosis
	text := []string{d.State, d.Sentence, d.Holder, d.Proof, "since " + d.Since, "until " + d.Until, d.Rate, d.Limit}
	for _, c := range []*report.Certainty{d.Growth, d.Cause} {
		if c != nil {
			text = append(text, c.Word+", "+c.Reason)
		}
	}
	for _, l := range d.Chain {
		text = append(text, fmt.Sprintf("%s %s %s (%s)", l.Figure, l.Noun, l.Process, l.Text))
	}
	if d.Next != nil {
		text = append(text, d.Next.Text, d.Next.Command)
	}
	for _, step := range d.Steps {
		text = append(text, step.Text, step.Command)
	}
	text = append(text, d.Also...)
	for _, f := range report.NewTicket(r).Facts {
		text = append(text, f.Name+": "+f.Text)
	}
	return strings.Join(text, "\n")
}

func TestAnswersClaimWhatTheCollectionKnows(t *testing.T) {
	table, err := os.Open(corpus.Path(t, "ANSWERS.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	defer table.Close()
	rows := csv.NewReader(table)
	rows.Comma, rows.LazyQuotes = '\t', true
	all, err := rows.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var open []string
	for _, row := range all[1:] {
		want, ok := answers[row[0]]
		if !ok {
			t.Errorf("%q has no expectation", row[0])
			continue
		}
		if want.open != "" {
			open = append(open, row[0]+" ("+want.open+")")
			continue
		}
		t.Run(row[0], func(t *testing.T) {
			paths := want.of
			if paths == nil {
				paths = []string{row[0]}
			}
			if root, _ := corpus.Root(t); strings.HasPrefix(row[0], "large") {
				if _, err := os.Stat(filepath.Join(root, "large")); err != nil {
					corpus.LeaveOut(t, "the large captures are not in the checkout")
				}
				corpus.Heavy(t)
			}
			for i, path := range paths {
				if path == "samples/two-dumps" {
					paths[i] = "../../../" + path
				} else {
					paths[i] = corpus.Path(t, path)
				}
			}
			r := reportOfAll(t, paths)
			if want.state != r.Diagnosis.State && want.state+" each" != r.Diagnosis.State {
				t.Errorf("state %q, want %q", r.Diagnosis.State, want.state)
			}
			text := said(&r)
			for _, pattern := range want.says {
				if !regexp.MustCompile(pattern).MatchString(text) {
					t.Errorf("lacks %q", pattern)
				}
			}
			if diff := cmp.Diff(want.holds, shown(&r)); want.holds != nil && diff != "" {
				t.Errorf("snapshots (-want +got):\n%s", diff)
			}
			for _, pattern := range want.never {
				if found := regexp.MustCompile(pattern).FindString(text); found != "" {
					t.Errorf("says %q", found)
				}
			}
			if t.Failed() {
				t.Log(text)
			}
		})
	}
	if len(all)-1 != len(answers) {
		t.Errorf("%d expectations for %d rows", len(answers), len(all)-1)
	}
	slices.Sort(open)
	t.Logf("%d of %d rows are open:\n%s", len(open), len(all)-1, strings.Join(open, "\n"))
}

// reportOfAll reads several files or directories as one case.
func reportOfAll(t *testing.T, paths []string) report.Report {
	t.Helper()
	var inputs []bundle.Input
	for _, root := range paths {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			info, err := d.Info()
			in := bundle.Input{Name: filepath.ToSlash(strings.TrimPrefix(path, filepath.Dir(root)+"/")), Size: info.Size(), Open: func() (io.ReadCloser, error) { return os.Open(path) }}
			if path != root || len(paths) > 1 { // as the command line does
				in.ModTime = info.ModTime()
			}
			inputs = append(inputs, in)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	result, err := ingest.Run(t.Context(), ingest.Config{Bundle: bundle.Config{TempDir: t.TempDir()}, Objects: true}, inputs)
	if err != nil {
		t.Fatal(err)
	}
	return report.Build(result.Snapshots, result.Problems, report.Options{Version: "test"}).Report
}
