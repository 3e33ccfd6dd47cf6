package gauge_test

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"leakdiff/analysis/read/gauge"
)

func TestAnswersOfJolokiaAreCounts(t *testing.T) {
	const threads = `{"request":{"mbean":"java.lang:type=Threading","attribute":"ThreadCount","type":"read"},"value":%d,"timestamp":%d,"status":200}`
	for _, test := range []struct {
		name, text string
		want       []string
	}{
		{"one after another, with their times", fmt.Sprintf(threads+"\n"+threads, 214, 1793527200, 260, 1793530800), []string{"0 10:00 os_threads 214", "1 11:00 os_threads 260"}},
		{"a list", "[" + fmt.Sprintf(threads, 214, 1793527200) + `,{"value":{"OpenFileDescriptorCount":90,"MaxFileDescriptorCount":1024,"Name":"Linux"},"request":{"mbean":"java.lang:type=OperatingSystem","type":"read"},"timestamp":1793527200}]`,
			[]string{"0 10:00 os_threads 214", "0 10:00 process_max_fds 1024", "0 10:00 process_open_fds 90"}},
		{"a metric of Jenkins, named by its bean", `{"request":{"mbean":"metrics:name=kubernetes-client.connections.running,type=gauges","attribute":"Number"},"value":32}`, []string{"0 00:00 kubernetes_client_connections_running 32"}},
		{"an answer that says that it failed", `{"request":{"mbean":"java.lang:type=Threading","attribute":"ThreadCount"},"value":77,"status":404}`, []string{"answers of Jolokia were not read"}},
		{"two processes behind a proxy", `[{"request":{"mbean":"java.lang:type=Threading","attribute":"ThreadCount","target":{"url":"service:jmx:rmi://app1/jndi/x"}},"value":200},{"request":{"mbean":"java.lang:type=Threading","attribute":"ThreadCount","target":{"url":"service:jmx:rmi://app2/jndi/x"}},"value":900}]`,
			[]string{"0 00:00 os_threads 200 app1", "0 00:00 os_threads 900 app2"}},
		{"an attribute that the table does not know", `{"request":{"mbean":"a:type=B","attribute":"C"},"value":1}`, []string{"answers of Jolokia were not read"}},
		{"an answer that is cut", fmt.Sprintf(threads, 214, 1793527200) + `{"request":{"mb`, []string{"0 10:00 os_threads 214", "an answer of Jolokia is not whole"}},
		{"more points than are kept", fmt.Sprintf(threads+threads+threads, 1, 1793527200, 2, 1793530800, 3, 1793534400), []string{"0 10:00 os_threads 1", "1 11:00 os_threads 2", "answers of Jolokia were left out"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if !gauge.IsJolokia([]byte(test.text)) {
				t.Error("it is not recognised")
			}
			found, problems, err := gauge.ParseJolokia(strings.NewReader(test.text), "x.json", time.Time{}, 2)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, s := range found.All {
				got = append(got, strings.TrimSpace(fmt.Sprintf("%d %s %s %.0f %s", s.Point, s.Stamp.Time.Format("15:04"), s.Figure, s.Value, s.Owner.Host)))
			}
			for _, p := range problems {
				got = append(got, p.What)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

func TestAReaderThatFailsIsNoAnswerThatIsCut(t *testing.T) {
	failing := io.MultiReader(strings.NewReader(`{"request":{"mbean":"a"`), iotest.ErrReader(io.ErrClosedPipe))
	if _, _, err := gauge.ParseJolokia(failing, "x.json", time.Time{}, 2); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("%v, want the error of the reader", err)
	}
}

func TestPagesOfAssignmentsAreCounts(t *testing.T) {
	const info = "agent:\n\tcheck_monitors = 0\n\tchecks = 3\nbuild:\n\tversion = 1.17.0\nruntime:\n\tarch = amd64\n\tcpu_count = 4\n\tgoroutines = 152\n\tos = linux\n"
	for _, test := range []struct {
		name, text string
		want       bool
	}{
		{"consul info", info, true},
		{"without a number that the table knows", strings.ReplaceAll(info, "goroutines", "gomaxprocs"), false},
		{"among other lines", info + "a line\nand another\n", false},
		{"a few", "runtime:\n\tgoroutines = 152\n", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := gauge.IsAssignments(strings.Split(strings.TrimSpace(test.text), "\n")); got != test.want {
				t.Errorf("%v, want %v", got, test.want)
			}
		})
	}
}

func FuzzParseJolokia(f *testing.F) {
	f.Add(`[{"request":{"mbean":"java.lang:type=Threading","attribute":"ThreadCount"},"value":{"ThreadCount":3},"timestamp":1}]`)
	f.Fuzz(func(t *testing.T, text string) {
		found, _, err := gauge.ParseJolokia(strings.NewReader(text), "x", time.Time{}, 3)
		if err != nil || found.Points > 3 || len(found.Begins) != found.Points {
			t.Errorf("%d points, %d begins: %v", found.Points, len(found.Begins), err)
		}
	})
}
