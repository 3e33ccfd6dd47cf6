package ingest

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/pprof/profile"
	"pgregory.net/rapid"

	"leakdiff/analysis"
)

// proto is a goroutine profile of n goroutines taken at the given second of an
// hour, unpacked or packed as collectors leave it.
func proto(t *testing.T, n, second int, executable string, packed bool) string {
	t.Helper()
	f := &profile.Function{ID: 1, Name: "main.leak"}
	l := &profile.Location{ID: 1, Address: 0x401000, Line: []profile.Line{{Function: f, Line: 20}}}
	p := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "goroutine", Unit: "count"}}, PeriodType: &profile.ValueType{Type: "goroutine", Unit: "count"},
		Sample: []*profile.Sample{{Location: []*profile.Location{l}, Value: []int64{int64(n)}}}, Location: []*profile.Location{l}, Function: []*profile.Function{f},
	}
	if second >= 0 {
		p.TimeNanos = time.Date(2026, 11, 21, 3, 0, second, 0, time.UTC).UnixNano()
	}
	if executable != "" {
		p.Mapping = []*profile.Mapping{{ID: 1, File: executable}}
		l.Mapping = p.Mapping[0]
	}
	var b bytes.Buffer
	write := p.WriteUncompressed
	if packed {
		write = p.Write
	}
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func packed(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Write([]byte(text))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

const debug1 = "goroutine profile: total 3\n3 @ 0x1\n#\t0x1\tmain.leak+0x1\t/src/main.go:20\n\n"

// whose is a snapshot in one line: "host/process pid 3g at 03:00:05".
func whose(s analysis.Snapshot) string {
	out := s.Process.Host.Value + "/" + s.Process.Name.Value
	if s.Process.PID.Value != "" {
		out += " " + s.Process.PID.Value
	}
	out += fmt.Sprintf(" %dg", *s.Totals.Goroutines)
	if !s.CapturedAt.IsZero() {
		out += " at " + s.CapturedAt.Format("2006-01-02 15:04:05")
	}
	return out
}

// The layouts are those of each product, filled with dumps of our own.
func TestBundlesOfProductsNameHostProcessAndTime(t *testing.T) {
	// Nothing in the text says which program it was.
	anonymous := func(ids ...int) string {
		return strings.ReplaceAll(dump(ids...), "/src/prober/main.go", "/src/main.go")
	}
	for _, tc := range []struct {
		name  string
		files map[string]string
		want  []string
	}{
		{"nomad, three encodings of two rounds", map[string]string{
			"nomad-debug-2026-11-21-025540Z/server/lab1.global/goroutine-debug2_0000.txt": anonymous(5, 6),
			"nomad-debug-2026-11-21-025540Z/server/lab1.global/goroutine-debug1_0000.txt": debug1,
			"nomad-debug-2026-11-21-025540Z/server/lab1.global/goroutine_0000.prof":       proto(t, 3, 0, "", true),
			"nomad-debug-2026-11-21-025540Z/server/lab1.global/goroutine-debug2_0001.txt": anonymous(5, 6, 7),
			"nomad-debug-2026-11-21-025540Z/server/lab1.global/goroutine_0001.prof":       proto(t, 4, 30, "", true),
			"nomad-debug-2026-11-21-025540Z/interval/0000/jobs.json":                      "",
		}, []string{"lab1/nomad 3g at 2026-11-21 03:00:00", "lab1/nomad 4g at 2026-11-21 03:00:30"}},
		{"consul, a directory for each round", map[string]string{
			"consul-debug-2026-11-21T03-00-00Z/2026-11-21T03-00-00Z/goroutine.prof": proto(t, 3, -1, "", true),
			"consul-debug-2026-11-21T03-00-00Z/2026-11-21T03-00-30Z/goroutine.prof": proto(t, 5, -1, "", true),
			"consul-debug-2026-11-21T03-00-00Z/host.json":                           `{"Host":{"hostname":"consul-7","uptime":1}}`,
		}, []string{"consul-7/consul 3g at 2026-11-21 03:00:00", "consul-7/consul 5g at 2026-11-21 03:00:30"}},
		{"vault with the zone in the name", map[string]string{"vault-debug-2026-11-21T04-00-00Z/2026-11-21T04-00-00+0100/goroutine.prof": proto(t, 3, -1, "", true)},
			[]string{"/vault 3g at 2026-11-21 03:00:00"}},
		{"CockroachDB, dumps with their time and the stacks of two nodes", map[string]string{
			"debug/nodes/1/goroutines/goroutine_dump.2026-11-21T03_00_05.123.double_since_last_dump.000000003.txt.gz": packed(t, anonymous(5, 6)),
			"debug/nodes/1/goroutines/goroutine_dump.2026-11-21T03_10_05.123.on_demand.000000004.txt.gz":              packed(t, anonymous(5, 6, 7)),
			"debug/nodes/2/stacks.txt": anonymous(9), "debug/nodes/2/stacks_with_labels.txt": strings.ReplaceAll(debug1, "3", "2"),
		}, []string{"1/cockroach 3g at 2026-11-21 03:00:05", "1/cockroach 4g at 2026-11-21 03:10:05", "2/cockroach 2g"}},
		{"MinIO before and after, in two encodings", map[string]string{
			"profile-10.0.0.1:9000-goroutines-before,debug=2.txt": anonymous(5), "profile-10.0.0.1:9000-goroutines-before.txt": strings.ReplaceAll(debug1, "3", "2"),
			"profile-10.0.0.1:9000-goroutines,debug=2.txt": anonymous(5, 6), "profile-10.0.0.1:9000-goroutines.txt": debug1,
		}, []string{"10.0.0.1:9000/minio 2g", "10.0.0.1:9000/minio 3g"}},
		{"promtool, whose proto is not packed", map[string]string{"goroutine.pb": proto(t, 28, 5, "/bin/prometheus", false)},
			[]string{"/prometheus 28g at 2026-11-21 03:00:05"}},
		{"Teleport", map[string]string{"goroutine.pprof": proto(t, 3, 5, "/usr/local/bin/teleport", true)},
			[]string{"/teleport 3g at 2026-11-21 03:00:05"}},
		{"Grafana Alloy with its environment", map[string]string{
			"alloy-support-bundle/pprof/goroutine.pprof": proto(t, 3, 5, "", true), "alloy-support-bundle/alloy-environment.txt": "PATH=/bin\nHOSTNAME=alloy-0\nTOKEN=s3cr3t\n",
		}, []string{"alloy-0/alloy 3g at 2026-11-21 03:00:05"}},
		{"InfluxDB 1 and 2", map[string]string{"goroutine.txt": debug1, "profiles/goroutine.pb.gz": proto(t, 3, 5, "/usr/bin/influxd", true)},
			[]string{"/influxd 3g at 2026-11-21 03:00:05", "/ 3g"}},
		{"Elastic Agent, a process for each component", map[string]string{
			"elastic-agent-diagnostics-2026-11-21T03-00-00Z-00/goroutine.pprof.gz":                               proto(t, 3, 5, "", true),
			"elastic-agent-diagnostics-2026-11-21T03-00-00Z-00/components/filestream-default/goroutine.pprof.gz": proto(t, 4, 5, "", true),
		}, []string{"/elastic-agent 3g at 2026-11-21 03:00:05", "/filestream-default 4g at 2026-11-21 03:00:05"}},
		{"Datadog", map[string]string{"web-3/go-routine-dump.log": anonymous(5)}, []string{"web-3/datadog-agent 2g"}},
		{"Mattermost with its diagnostics", map[string]string{"mm-0/goroutines": anonymous(5), "mm-0/diagnostics.yaml": "server:\n  hostname: mm-0.example\n  pid: 7\n"},
			[]string{"mm-0.example/mattermost 7 2g"}},
		{"CRI-O and dockerd name the time", map[string]string{"crio-goroutine-stacks-2026-11-21T030005Z.log": anonymous(5), "goroutine-stacks-2026-11-21T030105Z.log": anonymous(5, 6)},
			[]string{"/crio 2g at 2026-11-21 03:00:05", "/dockerd 3g at 2026-11-21 03:01:05"}},
		{"containerd names the pid", map[string]string{"containerd.4711.stacks.log": anonymous(5)}, []string{"/containerd 4711 2g"}},
		{"EKS", map[string]string{"docker/docker-trace.txt": anonymous(5)}, []string{"/dockerd 2g"}},
		{"must-gather", map[string]string{"quay-io-x/etcd_info/ceo_pprof_goroutine_dump.txt": anonymous(5)}, []string{"/cluster-etcd-operator 2g"}},
		{"Troubleshoot's logs and its HTTP collector", map[string]string{
			"support-bundle-2026-11-21T03_00_05/logs/default/web-0/app-stdout.txt": anonymous(5),
			"support-bundle-2026-11-21T03_00_05/pprof/result.json":                 `{"response":{"status":200,"body":` + quoteJSON(anonymous(5, 6)) + `,"headers":{}}}`,
		}, []string{"default/web-0/app 2g at 2026-11-21 03:00:05", "default/web-0/ 3g at 2026-11-21 03:00:05"}},
		{"Rancher's profile collector", map[string]string{"rancher-6d8f-goroutine-2026-11-21T03_00_05": proto(t, 3, -1, "/usr/bin/rancher", true)},
			[]string{"rancher-6d8f/rancher 3g at 2026-11-21 03:00:05"}},
		{"Cilium", map[string]string{"gops-cilium-x7k2p-cilium-agent-20261121-030005-stack.txt": anonymous(5)},
			[]string{"cilium-x7k2p/cilium-agent 2g at 2026-11-21 03:00:05"}},
		{"Antrea and NetBird", map[string]string{"agent/goroutinestacks": anonymous(5)}, []string{"/ 2g"}},
		{"kube-burner, one of whose files is an error page", map[string]string{
			"kubelet-heap-worker-1-1795230005.pprof": "<html><body>401 Unauthorized</body></html>", "kubelet-worker-1-1795230005.pprof": proto(t, 3, -1, "", true),
		}, []string{"worker-1/kubelet 3g at 2026-11-21 03:00:05"}},
		{"TiDB", map[string]string{"10.0.0.2/tikv-20160/perf/goroutine.txt": debug1}, []string{"10.0.0.2/tikv 3g"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var got []string
			for _, s := range run(t, tc.files).Snapshots {
				got = append(got, whose(s))
			}
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func quoteJSON(s string) string {
	return `"` + strings.NewReplacer("\\", `\\`, "\"", `\"`, "\n", `\n`, "\t", `\t`).Replace(s) + `"`
}

func TestPathsThatMatchHaveTheNeededText(t *testing.T) {
	for _, rule := range products {
		rapid.Check(t, func(t *rapid.T) {
			path := rapid.StringMatching(rule.path.String()).Draw(t, "path")
			if rule.path.MatchString(path) && rule.path.find(path) == nil {
				t.Errorf("%q matches %s and is not found", path, rule.path)
			}
		})
	}
	if got, want := neededBy(`(?:^|/)nodes/(\d+)/stacks\.txt$`), "/stacks.txt"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
