package ingest

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"testing"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/read/bundle"
	"leakdiff/samples/corpus"
)

func TestHandlesWithoutANumberAreFollowedByTheirAddress(t *testing.T) {
	number := regexp.MustCompile(`(?m)^ *"fd": \d+,?\n`)
	var inputs []bundle.Input
	for _, at := range []string{"t0", "t1"} {
		data, err := os.ReadFile(corpus.Path(t, "series", "node-agent-leak", at, "node", "node-report.json"))
		if err != nil {
			t.Fatal(err)
		}
		text := number.ReplaceAll(data, nil)
		if len(text) == len(data) {
			t.Fatal("the report has no numbers")
		}
		inputs = append(inputs, given(at+"/node/node-report.json", text))
	}
	result, err := Run(t.Context(), Config{Bundle: bundle.Config{TempDir: t.TempDir()}}, inputs)
	if err != nil || len(result.Snapshots) != 2 {
		t.Fatalf("%d snapshots, %v", len(result.Snapshots), err)
	}
	var seen [2]map[analysis.Identity]bool
	for i := range result.Snapshots {
		seen[i] = map[analysis.Identity]bool{}
		for _, g := range result.Snapshots[i].Groups {
			for id := range g.Members.Identities() {
				seen[i][id] = true
			}
		}
	}
	stayed := 0
	for id := range seen[0] {
		if id.ID != -1 {
			t.Errorf("a handle has the number %d", id.ID)
		}
		if seen[1][id] {
			stayed++
		}
	}
	if len(seen[0]) != 86 || len(seen[1]) != 184 || stayed < 80 {
		t.Errorf("%d handles, then %d, of which %d are the same; want 86, 184 and at least 80", len(seen[0]), len(seen[1]), stayed)
	}
}

// TestANumberThatIsUsedAgainIsAnotherSocket: descriptors have the lowest free number, so a
// pool that is replaced keeps its numbers.
func TestANumberThatIsUsedAgainIsAnotherSocket(t *testing.T) {
	report := func(port int, address string) string {
		return fmt.Sprintf(`{"header":{"processId":7,"dumpEventTimeStamp":"1793527200000","commandLine":["node","a.js"]},"javascriptStack":{},"libuv":[
{"type":"tcp","is_active":true,"is_referenced":true,"address":"0x10","localEndpoint":{"ip4":"10.0.0.5","port":%d},"remoteEndpoint":{"ip4":"10.0.0.7","port":5432},"fd":22,"readable":true,"writable":true},
{"type":"fs_event","is_active":true,"is_referenced":true,"address":"%s","filename":"/srv/a.json"},
{"type":"fs_event","is_active":true,"is_referenced":true,"address":"0x30","filename":"/srv/b.json"}]}`, port, address)
	}
	result, err := Run(t.Context(), Config{Bundle: bundle.Config{TempDir: t.TempDir()}}, []bundle.Input{
		given("t0/report.json", []byte(report(30000, "0x20"))), given("t1/report.json", []byte(report(30001, "0x21"))), given("t2/report.json", []byte(report(30001, "0x21")))})
	if err != nil || len(result.Snapshots) != 3 {
		t.Fatalf("%d snapshots, %v", len(result.Snapshots), err)
	}
	members := func(at int, kind analysis.Kind) []analysis.Identity {
		var out []analysis.Identity
		for _, g := range result.Snapshots[at].Groups {
			if g.Family.Kind == kind {
				out = append(out, slices.Collect(g.Members.Identities())...)
			}
		}
		return out
	}
	if a, b, c := members(0, analysis.KindDescriptor), members(1, analysis.KindDescriptor), members(2, analysis.KindDescriptor); len(a) != 1 || slices.Equal(a, b) || !slices.Equal(b, c) {
		t.Errorf("sockets %v, %v, %v: want another at t1, and the same at t2", a, b, c)
	}
	a, b, c := members(0, analysis.KindWatch), members(1, analysis.KindWatch), members(2, analysis.KindWatch)
	if len(a) != 2 || len(b) != 2 || a[0] == b[0] || a[1] != b[1] || !slices.Equal(b, c) {
		t.Errorf("watches %v, %v, %v: want one of two to be another at t1", a, b, c)
	}
	if n := result.Snapshots[0].Totals.Watches; n == nil || *n != 2 {
		t.Errorf("%v watches, want 2", n)
	}
}

// TestAReportOfNodeHasTheListingOfItsMoment: the name of a report has its time, that of lsof a number.
func TestAReportOfNodeHasTheListingOfItsMoment(t *testing.T) {
	at := time.Date(2026, 11, 1, 10, 0, 0, 0, time.UTC) // 1793527200
	report := func(pid int) []byte {
		return fmt.Appendf(nil, `{"header":{"processId":%d,"host":"vm","dumpEventTimeStamp":"1793527200000","commandLine":["node","/srv/watch.js"]},"javascriptStack":{},"libuv":[
{"type":"fs_event","is_active":true,"is_referenced":true,"address":"0x30","filename":"/srv/b.json"}]}`, pid)
	}
	lsof := []byte("COMMAND PID USER FD TYPE DEVICE SIZE/OFF NODE NAME\nnode 7 root 0r CHR 1,3 0t0 3 /dev/null\nnode 7 root 1w FIFO 0,15 0t0 934018 pipe\nnode 7 root 2w FIFO 0,15 0t0 934019 pipe\n")
	for name, tt := range map[string]struct {
		pid       int
		taken     time.Time
		snapshots int
		files     int
	}{
		"the same process and moment": {7, at.Add(400 * time.Millisecond), 1, 3},
		"another process":             {8, at.Add(400 * time.Millisecond), 2, 0},
		"a minute later":              {7, at.Add(time.Minute), 2, 0},
	} {
		t.Run(name, func(t *testing.T) {
			listing := given("cap/lsof-1.txt", lsof)
			listing.ModTime = tt.taken
			result, err := Run(t.Context(), Config{Bundle: bundle.Config{TempDir: t.TempDir()}}, []bundle.Input{given("cap/report.20261101.100000.7.0.001.json", report(tt.pid)), listing})
			if err != nil || len(result.Snapshots) != tt.snapshots {
				t.Fatalf("%d snapshots, want %d; %v", len(result.Snapshots), tt.snapshots, err)
			}
			if s := &result.Snapshots[0]; tt.snapshots == 1 && (s.Process.Name.Value != "watch.js" || *s.Totals.Descriptors != tt.files || *s.Totals.Watches != 1) {
				t.Errorf("%s with %d descriptors and %d watches, want watch.js with %d and 1", s.Process.Name.Value, *s.Totals.Descriptors, *s.Totals.Watches, tt.files)
			}
		})
	}
}

// A report that was copied while it was written lacks handles: their count is a lower bound.
func TestACutReportOfNodeCountsAtLeast(t *testing.T) {
	whole, err := os.ReadFile(corpus.Path(t, "series", "node-agent-leak", "t1", "node", "node-report.json"))
	if err != nil {
		t.Fatal(err)
	}
	cut := slices.Clone(whole[:len(whole)*2/3])
	for name, tt := range map[string]struct {
		report []byte
		want   analysis.Exactness
	}{"whole": {whole, analysis.Exact}, "cut": {cut, analysis.AtLeast}} {
		result, err := Run(t.Context(), Config{Bundle: bundle.Config{TempDir: t.TempDir()}}, []bundle.Input{given("t1/node-report.json", tt.report)})
		if err != nil || len(result.Snapshots) != 1 {
			t.Fatalf("%s: %d snapshots, %v", name, len(result.Snapshots), err)
		}
		if s := &result.Snapshots[0]; s.Totals.Descriptors == nil || *s.Totals.Descriptors == 0 || s.Totals.Handles == nil || *s.Totals.Handles != *s.Totals.Descriptors || s.Exactness(analysis.KindDescriptor) != tt.want {
			t.Errorf("%s: descriptors %v, handles %v, %v", name, s.Totals.Descriptors, s.Totals.Handles, s.Exactness(analysis.KindDescriptor))
		}
	}
}
