package report_test

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"leakdiff/analysis"
	"leakdiff/analysis/read/bundle"
	"leakdiff/analysis/read/ingest"
	"leakdiff/analysis/say/redact"
	"leakdiff/analysis/say/report"
)

// side is one of two processes in each moment of a case.
type side struct {
	name string
	// stack are the functions of what grows, leaf first.
	stack []string
	// counts are its goroutines in each moment. -1 is a process that is not captured.
	counts []int
	// rows are the rows of lsof without those columns that are always alike, for so many
	// goroutines.
	rows func(n, moment int) []string
}

// captured are the files of a capture of processes: a dump and a listing in each moment.
func captured(sides ...side) []bundle.Input {
	var out []bundle.Input
	file := func(name, text string) {
		out = append(out, bundle.Input{Name: name, Size: int64(len(text)), Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }})
	}
	for p, s := range sides {
		for i, n := range s.counts {
			if n < 0 {
				continue
			}
			dir := fmt.Sprintf("t%d/%s/", i, s.name)
			at := time.Date(2026, 11, 21, 3, i, 0, 0, time.UTC)
			file(dir+"captured_at", at.Format(time.RFC3339)+"\n")
			var dump, listing strings.Builder
			fmt.Fprintf(&dump, "goroutine 1 [chan receive]:\nmain.main()\n\t/src/main.go:7 +0x1\n\ngoroutine %d [running]:\nmain.tick()\n\t/src/main.go:9 +0x1\n\n", 1000+i)
			for k := range n {
				fmt.Fprintf(&dump, "goroutine %d [select]:\n", 10+k)
				for _, function := range s.stack {
					fmt.Fprintf(&dump, "%s()\n\t/src/x.go:9 +0x1\n", function)
				}
				dump.WriteString("\n")
			}
			file(dir+"goroutine-debug2.txt", dump.String())
			pid := 1000 + p
			listing.WriteString("COMMAND   PID USER   FD      TYPE DEVICE SIZE/OFF     NODE NAME\n")
			fmt.Fprintf(&listing, "%-7s  %d root  cwd       DIR  254,0     4096  9978228 /\n", s.name, pid)
			if s.rows != nil {
				for k, row := range s.rows(n, i) {
					fmt.Fprintf(&listing, "%-7s  %d root   %3du     IPv4 %d       0t0      TCP %s\n", s.name, pid, 3+k, 1_000_000*(p+1)+k, row)
				}
			}
			file(dir+"lsof.txt", listing.String())
		}
	}
	return out
}

func listens(row string) func(n, moment int) []string {
	return func(int, int) []string { return []string{row} }
}

// dials has a connection for each goroutine, accepts the other ends.
func dials(n, _ int) (rows []string) {
	rows = append(rows, "127.0.0.1:9 (LISTEN)")
	for k := range n {
		rows = append(rows, fmt.Sprintf("127.0.0.1:%d->127.0.0.1:80 (ESTABLISHED)", 40000+k))
	}
	return rows
}

func accepts(n, _ int) (rows []string) {
	rows = append(rows, "127.0.0.1:80 (LISTEN)")
	for k := range n {
		rows = append(rows, fmt.Sprintf("127.0.0.1:80->127.0.0.1:%d (ESTABLISHED)", 40000+k))
	}
	return rows
}

// acceptsUntil has no connection from a moment on.
func acceptsUntil(end int) func(n, moment int) []string {
	return func(n, moment int) []string {
		if moment >= end {
			n = 0
		}
		return accepts(n, moment)
	}
}

func keeps(n, _ int) (rows []string) {
	for _, row := range accepts(n, 0) {
		rows = append(rows, strings.Replace(row, "ESTABLISHED", "CLOSE_WAIT", 1))
	}
	return rows
}

// closes has the newest of its connections alone, and has closed them.
func closes(n, _ int) (rows []string) {
	for k, row := range dials(n, 0) {
		if k == 0 || k > n-10 {
			rows = append(rows, strings.Replace(row, "ESTABLISHED", "FIN_WAIT2", 1))
		}
	}
	return rows
}

// The stacks of a client and a server of streams, and of calls.
var (
	watching = []string{"google.golang.org/grpc/internal/transport.(*recvBufferReader).readClient", "google.golang.org/grpc.(*clientStream).RecvMsg", "main.watch"}
	streams  = []string{"main.(*server).Watch", "google.golang.org/grpc.(*Server).processStreamingRPC", "google.golang.org/grpc.(*Server).handleStream"}
	calls    = []string{"google.golang.org/grpc/internal/transport.(*recvBufferReader).readClient", "google.golang.org/grpc.(*ClientConn).Invoke", "main.call"}
	locked   = []string{"sync.runtime_SemacquireMutex", "sync.(*Mutex).lockSlow", "main.(*server).List", "google.golang.org/grpc.(*Server).processUnaryRPC", "google.golang.org/grpc.(*Server).handleStream"}
)

var (
	rising = []int{10, 20, 30, 40, 50, 60, 70}
	falls  = []int{10, 20, 30, 40, 50, 60, 0}
	gone   = []int{10, 20, 30, 40, 50, 60, -1}
)

func built(t *testing.T, inputs []bundle.Input) report.Case {
	t.Helper()
	result := read(t, inputs)
	return report.Build(result.Snapshots, result.Problems, report.Options{})
}

func read(t *testing.T, inputs []bundle.Input) ingest.Result {
	t.Helper()
	result, err := ingest.Run(t.Context(), ingest.Config{Bundle: bundle.Config{TempDir: t.TempDir()}, Objects: true}, inputs)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// joined is the report made of stored judgements.
func joined(t *testing.T, inputs []bundle.Input) report.Report {
	t.Helper()
	result := read(t, inputs)
	groups := report.Group(result.Snapshots)
	o := report.Options{Versions: report.Versions(groups)}
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
	return report.Join(judged, result.Problems, o).Report
}

func TestTheOrderOfGrowthsIsSaidWhereSomethingProvesIt(t *testing.T) {
	const notKnown = "which of them is the cause is open."
	for _, tt := range []struct {
		name           string
		client, server side
		// text ends the findings of both; behind is the process that is held.
		text, behind, rule string
	}{
		{"the opener ends", side{"client", watching, gone, dials}, side{"server", streams, falls, accepts},
			"client first (end): 60 goroutines of server ended when it ended.", "server", "end"},
		{"the opener lives", side{"client", watching, rising, dials}, side{"server", streams, rising, accepts},
			"by client (endpoint): it opened 70 connections to server, which are open at both ends, and server waits for what comes over them.", "server", "opener"},
		{"a blocked call", side{"client", calls, rising, dials}, side{"server", locked, rising, accepts},
			"probably server first (endpoint): client waits for answers over 70 connections, and server works on these calls and waits for something else.", "client", "callee"},
		{"connections that one side has not closed", side{"client", watching, rising, closes}, side{"server", streams, rising, keeps},
			"server first (kernel state): client closed 70 connections that server still holds in CLOSE_WAIT.", "client", "close_wait"},
		{"equal numbers alone", side{"client", watching, rising, listens("127.0.0.1:9 (LISTEN)")}, side{"server", streams, rising, listens("127.0.0.1:80 (LISTEN)")},
			notKnown, "", ""},
		{"a snapshot of the opener is missing and its connections are not known", side{"client", watching, gone, listens("127.0.0.1:9 (LISTEN)")}, side{"server", streams, falls, listens("127.0.0.1:80 (LISTEN)")},
			notKnown, "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inputs := captured(tt.client, tt.server)
			r := built(t, inputs).Report
			said := 0
			for _, s := range r.Series {
				for i, f := range s.Findings {
					if !strings.Contains(f.Text, "t grew with ") && !strings.Contains(f.Text, "Grew at the same time") {
						continue
					}
					said++
					if !strings.Contains(strings.ToLower(f.Text), strings.ToLower(strings.TrimSuffix(tt.text, "."))) {
						t.Errorf("%s %d: %s\nwant %s", s.Process, i+1, f.Text, tt.text)
					}
					if f.Behind != (s.Process == tt.behind) {
						t.Errorf("%s %d: behind %v", s.Process, i+1, f.Behind)
					}
				}
			}
			if said < 2 {
				t.Errorf("%d findings name another process", said)
			}
			switch {
			case tt.rule == "" && len(r.Order) > 0:
				t.Errorf("order %+v", r.Order)
			case tt.rule != "" && (len(r.Order) != 1 || string(r.Order[0].Rule) != tt.rule || r.Order[0].Held[0] != tt.behind || r.Order[0].Text+"." != tt.text):
				t.Errorf("order %+v, want one by %s", r.Order, tt.rule)
			}
			heads := map[string]string{"end": "client", "close_wait": "server"}
			if head := heads[tt.rule]; head != "" && r.Series[*r.Diagnosis.Series].Process != head {
				t.Errorf("the sentence is not about %s: %s", head, r.Diagnosis.Sentence)
			}
			for range 3 {
				rand.Shuffle(len(inputs), func(i, k int) { inputs[i], inputs[k] = inputs[k], inputs[i] })
				var before, after bytes.Buffer
				again := joined(t, inputs)
				for _, x := range []*report.Report{&r, &again} {
					for i := range x.Snapshots {
						x.Snapshots[i].Artifacts = nil // in the order of the files
					}
				}
				if err := report.JSON(&before, r); err != nil {
					t.Fatal(err)
				}
				if err := report.JSON(&after, again); err != nil || before.String() != after.String() {
					t.Fatalf("%v, shuffled files say something else: %s", err, cmp.Diff(before.String(), after.String()))
				}
			}
		})
	}
}

func TestEndsOutsideTheCaseAreHiddenInRedactedReports(t *testing.T) {
	rows := func(n, _ int) (rows []string) {
		for k := range n {
			rows = append(rows, fmt.Sprintf("10.1.2.3:%d->10.9.8.7:443 (ESTABLISHED)", 40000+k), fmt.Sprintf("[2001:db8::5]:%d->[2001:db8::6]:443 (ESTABLISHED)", 40000+k))
		}
		return rows
	}
	c := built(t, captured(side{"client", watching, rising, rows}))
	if len(c.Report.Edges) != 2 {
		t.Fatalf("edges %+v", c.Report.Edges)
	}
	var snapshots []*analysis.Snapshot
	for _, s := range c.Series {
		snapshots = append(snapshots, s.Snapshots...)
	}
	hidden, err := c.Redacted(redact.New(redact.Case{Series: [][]*analysis.Snapshot{snapshots}}))
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := report.JSON(&text, hidden.Report); err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"10.1.2.3", "10.9.8.7", "2001:db8"} {
		if strings.Contains(text.String(), secret) {
			t.Errorf("the report shows %s", secret)
		}
	}
	for _, e := range hidden.Report.Edges {
		if !strings.HasPrefix(strings.TrimPrefix(e.Outside, "["), "ip-") || e.Direction != "unknown" || e.State != "ESTABLISHED" || e.From != "client" {
			t.Errorf("edge %+v", e)
		}
	}
}

// pairs are the files that say which goroutine of a side waits for which of its connections.
func pairs(s side) (out []bundle.Input) {
	for i, n := range s.counts {
		var text strings.Builder
		for k := range n {
			fmt.Fprintf(&text, "%d %d\n", 10+k, 4+k) // descriptor 3 listens
		}
		lines := text.String()
		out = append(out, bundle.Input{
			Name: fmt.Sprintf("t%d/%s/goroutine-fds.txt", i, s.name), Size: int64(len(lines)),
			Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(lines)), nil },
		})
	}
	return out
}

func TestGoroutinesThatWaitForTheSameConnectionsCoupleTwoProcesses(t *testing.T) {
	reading := []string{"net.(*conn).Read", "main.read"}
	client, server := side{"client", watching, rising, dials}, side{"server", reading, rising, accepts}
	inputs := captured(client, server)
	level := func(r report.Report) string {
		if len(r.Order) != 1 {
			return fmt.Sprintf("%d orders", len(r.Order))
		}
		return string(r.Order[0].Level) + ": " + r.Order[0].Text
	}
	const text = "it opened 70 connections to server, which are open at both ends, and server waits for what comes over them"
	if got, want := level(built(t, inputs).Report), "endpoint: by client (endpoint): "+text; got != want {
		t.Errorf("without pairs: %s", got)
	}
	inputs = append(append(inputs, pairs(client)...), pairs(server)...)
	want := "descriptor: by client (descriptor): " + text
	if got := level(built(t, inputs).Report); got != want {
		t.Errorf("got %s", got)
	}
	if got := level(joined(t, inputs)); got != want {
		t.Errorf("of what is stored: %s", got)
	}
}

func TestWhatStaysAfterTheOtherSideClosedItsConnectionsIsHeldByWhoHasIt(t *testing.T) {
	kept := []int{10, 20, 30, 40, 50, 60, 66}
	r := built(t, captured(side{"client", watching, falls, dials}, side{"server", []string{"main.keep"}, kept, acceptsUntil(6)})).Report
	if len(r.Order) != 1 || r.Order[0].Text != "server first (end): 66 goroutines of server stay after client closed its connections" || r.Order[0].Snapshot != "t6" {
		t.Errorf("order %+v", r.Order)
	}
}

func TestAFindingThatAnotherProcessHoldsIsToldBelowThatOne(t *testing.T) {
	inputs := captured(side{"client", watching, rising, dials}, side{"server", streams, rising, accepts})
	c := built(t, inputs)
	stored := joined(t, inputs)
	for _, r := range []*report.Report{&c.Report, &stored} {
		held := 0
		for _, s := range r.Series {
			for _, f := range s.Findings {
				if f.Behind != (f.BehindOf != nil) {
					t.Errorf("%s: behind %v, of %+v", f.Title, f.Behind, f.BehindOf)
				}
				if f.BehindOf == nil {
					continue
				}
				held++
				if first := r.Series[f.BehindOf.Series]; first.Process != "client" || f.BehindOf.Process != "client" || first.Findings[f.BehindOf.Rank-1].Behind {
					t.Errorf("%s stands behind %+v", f.Title, f.BehindOf)
				}
			}
		}
		if held == 0 {
			t.Error("no finding stands behind another one")
		}
	}
	text := pageText(c)
	lead, behind := strings.Index(text, " 1. What the answer rests on"), strings.Index(text, "1 finding stands behind it 1.1. ")
	if lead < 0 || behind < lead || !strings.Contains(text[behind:], "leaking, server, ") {
		t.Errorf("what it holds does not stand below it:\n%s", text)
	}
}
