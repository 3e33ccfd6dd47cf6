package tracer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"leakdiff/analysis"
)

// The fields are those that the gadget documents; its kernel facility is needed to take real ones.
const events = `{"error":"","fd":3,"flags":"O_RDONLY","fname":"/srv/a","fpath":"","mode":"----------","proc":{"comm":"confd","creds":{"uid":0},"pid":50,"tid":52},"timestamp":"2026-11-28T15:07:52.000000000+00:00","ustack":{"addresses":"[0]0x01; [1]0x02; [2]0x03; ","symbols":"[0]syscall.openat; [1]main.leak; [2][unknown]; "}}
{"error":"ENOENT","fd":0,"fname":"/none","proc":{"comm":"confd","pid":50,"tid":50},"timestamp":"2026-11-28T15:07:53.000000000+00:00"}
{"error":"","fd":3,"fname":"b","fpath":"/srv/b","proc":{"comm":"confd","pid":50,"tid":52},"timestamp":"2026-11-28T15:07:54.000000000+00:00","ustack":{"symbols":"[0]syscall.openat; [1]main.leak; [2][unknown]; "}}
{"error":"","fd":0,"fname":"/srv/c","proc":{"comm":"sh","pid":60,"tid":60},"timestamp":"2026-11-28T15:07:55.500000000+00:00"}
`

func TestEventsOfTraceOpen(t *testing.T) {
	all, problems, err := ParseEvents(strings.NewReader(events), "e")
	if err != nil || len(problems) != 0 {
		t.Fatal(problems, err)
	}
	if d := cmp.Diff([]string{"50: 3 /srv/b", "60: 0 /srv/c"}, leftOf(all)); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]analysis.Stack{{Frames: []analysis.Frame{{Func: "syscall.openat"}, {Func: "main.leak"}}, Elided: 1}}, all.Stacks); d != "" {
		t.Error(d)
	}
	first := all.Processes[0]
	if first.Program != "confd" || first.Opened != 2 || first.Left[0].Stack != 0 || first.Left[0].At != 2*time.Second || all.Processes[1].Left[0].Stack != -1 {
		t.Errorf("%+v", all.Processes)
	}
	if !all.ClosesUnknown || all.Span != 3500*time.Millisecond || all.Calls != 4 || all.Begin.Format(time.RFC3339) != "2026-11-28T15:07:52Z" {
		t.Errorf("%+v", all)
	}
}

func TestEventsInEachFormOfJSON(t *testing.T) {
	rows := strings.Split(strings.TrimSpace(events), "\n")
	var pretty bytes.Buffer
	for _, row := range rows {
		if err := json.Indent(&pretty, []byte(row), "", "  "); err != nil {
			t.Fatal(err)
		}
		pretty.WriteByte('\n')
	}
	for name, text := range map[string]string{
		"an array in one line":                   "[" + strings.Join(rows, ",") + "]",
		"an array over lines":                    "[\n" + strings.Join(rows, ",\n") + "\n]\n",
		"objects over several lines":             pretty.String(),
		"a warning between two events":           rows[0] + "\nWARN lost 3 samples\n" + strings.Join(rows[1:], "\n"),
		"an event that breaks off at the end":    events + `{"fd":7,"fname":"/x","proc":{"pi`,
		"a line that broke while it was written": rows[0] + "\n" + rows[1][:40] + "}\n" + strings.Join(rows[1:], "\n"),
	} {
		t.Run(name, func(t *testing.T) {
			all, problems, err := ParseEvents(strings.NewReader(text), "e")
			if d := cmp.Diff([]string{"50: 3 /srv/b", "60: 0 /srv/c"}, leftOf(all)); d != "" || err != nil {
				t.Error(d, err)
			}
			if broken := strings.Contains(name, "warning") || strings.Contains(name, "br"); (len(problems) == 1) != broken {
				t.Errorf("%v", problems)
			}
		})
	}
}

func TestProcessesOfFewFilesAreLeftOutBesideOthers(t *testing.T) {
	event := func(pid, fd int) string {
		return fmt.Sprintf(`{"fd":%d,"fname":"/a","proc":{"pid":%d},"ustack":{"symbols":"[0]f; "}}`+"\n", fd, pid)
	}
	many := event(50, 3) + event(50, 4) + event(50, 5)
	for _, c := range []struct {
		name, text string
		processes  int
	}{
		{"two files beside three", many + event(60, 3) + event(60, 4), 1},
		{"three beside three", many + event(60, 3) + event(60, 4) + event(60, 5), 2},
		{"all of two", event(50, 3) + event(50, 4) + event(60, 3) + event(60, 4), 2},
	} {
		all, problems, _ := ParseEvents(strings.NewReader(c.text), "e")
		if said := len(problems) == 1 && strings.HasPrefix(problems[0].What, "1 of 2 processes"); len(all.Processes) != c.processes || said != (c.processes == 1) {
			t.Errorf("%s: %d processes, %v", c.name, len(all.Processes), problems)
		}
	}
}

func TestEventsThatAreNotUnderstood(t *testing.T) {
	for text, want := range map[string]string{
		"{\"fd\":3}\n": "an event is not understood",
		"{\"fd\":\n":   "the events break off",
		`{"fd":3,"fname":"/a","proc":{"pid":50}}` + "\n": "no stack says what opened the descriptors",
	} {
		_, problems, _ := ParseEvents(strings.NewReader(text), "e")
		if len(problems) != 1 || problems[0].What != want {
			t.Errorf("%q: %v, want %q", text, problems, want)
		}
	}
}

func FuzzEvents(f *testing.F) {
	f.Add([]byte(events))
	f.Add([]byte("[{\"fd\":3,\"fname\":\"/a\",\n\"proc\": {\"pid\":50}}, {}]\nWARN\n{"))
	f.Add([]byte(`{"fd":-1,"proc":{"pid":-5},"ustack":{"symbols":"]; ]a; ["}}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		all, problems, err := ParseEvents(bytes.NewReader(in), "f")
		checkTrace(t, in, all, problems, err)
	})
}
