package ingest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"leakdiff/analysis"
)

// unnamed is a dump of which nothing says which program it was.
func unnamed(ids ...int) string {
	return strings.ReplaceAll(dump(ids...), "/src/prober/main.go", "/src/main.go")
}

// stamped puts a time before each line of a text, a second later in each dump.
func stamped(layout string, second int, text string) string {
	at := time.Date(2026, 11, 21, 3, 0, second, 0, time.UTC).Format(layout)
	var out strings.Builder
	for line := range strings.Lines(text) {
		out.WriteString(at + " " + line)
	}
	return out.String()
}

// zipped and tarball pack files as a collector does. Most of them write no file times.
func zipped(t *testing.T, files map[string]string) string {
	t.Helper()
	return string(zipOf(t, "", untimed(files)))
}

// zippedAt packs files at one second of an hour, which is the time of each.
func zippedAt(t *testing.T, second int, files map[string]string) string {
	t.Helper()
	all := untimed(files)
	for i := range all {
		all[i].modified = time.Date(2026, 11, 21, 3, 0, second, 0, time.UTC)
	}
	return string(zipOf(t, "", all))
}

func tarball(t *testing.T, files map[string]string) string {
	t.Helper()
	return string(gzipOf(t, tarOf(t, "", untimed(files))))
}

func untimed(files map[string]string) []capturedFile {
	var out []capturedFile
	for _, name := range sortedNames(files) {
		out = append(out, capturedFile{name: name, content: []byte(files[name])})
	}
	return out
}

// measuredOf is a snapshot in one line: "host/process 4711 2g 3d 1t at 2026-11-21 03:00:05".
func measuredOf(s analysis.Snapshot) string {
	out := s.Process.Host.Value + "/" + s.Process.Name.Value
	if s.Process.PID.Known() {
		out += " " + s.Process.PID.Value
	}
	for _, k := range []struct {
		kind analysis.Kind
		mark string
	}{{analysis.KindGoroutine, "g"}, {analysis.KindThread, "t"}, {analysis.KindDescriptor, "d"}} {
		if n := s.Totals.Of(k.kind); n != nil {
			out += fmt.Sprintf(" %d%s", *n, k.mark)
		}
	}
	if !s.CapturedAt.IsZero() {
		out += " at " + s.CapturedAt.Format(time.DateTime)
	}
	return out
}

const threadText = "2026-11-21 03:00:05\nFull thread dump OpenJDK 64-Bit Server VM (17.0.15+6 mixed mode, sharing):\n\n" +
	"\"main\" #1 prio=5 os_prio=0 cpu=1.00ms elapsed=9.00s tid=0x00007f0000000010 nid=0x11 waiting on condition  [0x00007f0000001000]\n" +
	"   java.lang.Thread.State: TIMED_WAITING (sleeping)\n\tat java.lang.Thread.sleep(java.base@17.0.15/Native Method)\n\tat shop.Main.main(Main.java:9)\n\n" +
	"\"VM Thread\" os_prio=0 cpu=1.00ms elapsed=9.00s tid=0x00007f0000000020 nid=0x12 runnable  \n\n"

const hotText = "::: {es-1}{a}{b}{10.0.0.1}{10.0.0.1:9300}\n   Hot threads at 2026-11-21T03:00:04.304Z, interval=500ms, busiestThreads=10000, ignoreIdleThreads=true:\n\n" +
	"   44.0% (220.2ms out of 500ms) cpu usage by thread 'elasticsearch[es-1][search][T#2]'\n     10/10 snapshots sharing following 1 elements\n       java.base@17.0.4/java.lang.Thread.run(Thread.java:833)\n\n"

// socketsOfSS is what ss -paxioe prints of a process with three sockets.
const socketsOfSS = "Netid State  Recv-Q Send-Q       Local Address:Port    Peer Address:Port   Process                                                        \n" +
	"u_str ESTAB  0      0                        * 9907508            * 9907509 users:((\"gitaly\",pid=815,fd=4)) <->                         \n" +
	"u_str ESTAB  0      0      /var/opt/gitlab/gitaly/gitaly.socket 9907509            * 9907508 users:((\"gitaly\",pid=815,fd=5)) <-> ino:10168317 dev:0/65024\n" +
	"u_str LISTEN 0      128    /var/opt/gitlab/gitaly/gitaly.socket 9907507            * 0       users:((\"gitaly\",pid=815,fd=3)) <-> ino:10168317 dev:0/65024 peers:\n"

// Each layout is that of a collector's public source, which the comment names; the
// content is our own.
func TestSupportBundlesAsTheirCollectorsPackThem(t *testing.T) {
	const nano, tailed = "2006-01-02T15:04:05.000000000Z", "2006-01-02_15:04:05.00000"
	for _, tc := range []struct {
		name  string
		files map[string]string
		want  []string
	}{
		// cockroachdb/cockroach: pkg/cli/zip_per_node.go, pkg/cli/testdata/zip/testzip*,
		// pkg/server/goroutinedumper/goroutinedumper.go (txt.gz, from 2026 pb.gz).
		{"CockroachDB with a virtual cluster, whose node has the number of another", map[string]string{"debug.zip": zippedAt(t, 1200, map[string]string{
			"debug/nodes/1/stacks.txt":             unnamed(5, 6),
			"debug/nodes/1/stacks_with_labels.txt": debug1,
			"debug/nodes/1/status.json":            `{"desc":{"nodeId":1}}`,
			"debug/nodes/1/goroutines/goroutine_dump.2026-11-21T03_00_05.123.double_since_last_dump.000000004.txt.gz": packed(t, unnamed(5, 6, 7)),
			"debug/nodes/1/goroutines/goroutine_dump.2026-11-21T03_10_05.123.on_demand.000000005.pb.gz":               proto(t, 5, -1, "", true),
			"debug/nodes/2.skipped":                        "skipping excluded node 2\n",
			"debug/cluster/app/nodes/1/stacks.txt":         unnamed(5),
			"debug/cluster/app/nodes/1/goroutines.err.txt": "rpc error: not available\n",
			"debug/cluster/app/nodes/1/heapprof.err.txt":   "rpc error: not available\n",
		})}, []string{"1/cockroach 4g at 2026-11-21 03:00:05", "1/cockroach 5g at 2026-11-21 03:10:05", "app/nodes/1/cockroach 2g at 2026-11-21 03:20:00", "1/cockroach 3g at 2026-11-21 03:20:00"}},
		// pkg/cli/zip_helpers_test.go has the names of old releases.
		{"the dumps of CockroachDB alone, as old and new releases name them", map[string]string{
			"goroutine_dump/goroutine_dump.2026-11-21T03_00_05.123.double_since_last_dump.000000003.txt.gz": packed(t, unnamed(5, 6)),
			"goroutine_dump.double_since_last_dump.2026-11-21T02_00_05.123":                                 unnamed(5),
		}, []string{"/cockroach 2g at 2026-11-21 02:00:05", "/cockroach 3g at 2026-11-21 03:00:05"}},
		// ipfs/kubo: profile/profile.go, core/commands/profile.go.
		{"ipfs diag profile", map[string]string{"ipfs-profile-2026-11-21T04_00_35+01_00.zip": zipped(t, map[string]string{
			"goroutines.stacks": unnamed(5, 6), "goroutines.pprof": proto(t, 3, 5, "/usr/local/bin/ipfs", true), "version.json": `{"Version":"0.30.0"}`,
		})}, []string{"/ipfs 3g at 2026-11-21 03:00:05"}},
		{"two of ipfs diag profile, their stacks alone, with the zone in the name", map[string]string{
			"ipfs-profile-2026-11-21T04_00_35+01_00.zip": zipped(t, map[string]string{"goroutines.stacks": unnamed(5)}),
			"ipfs-profile-2026-11-21T03_10_35Z.zip":      zipped(t, map[string]string{"goroutines.stacks": unnamed(5, 6)}),
		}, []string{"/ipfs 2g at 2026-11-21 03:00:35", "/ipfs 3g at 2026-11-21 03:10:35"}},
		// openshift/must-gather: collection-scripts/gather_etcd_more; openshift/oc:
		// pkg/cli/admin/inspect/pod.go, whose logs have time stamps.
		{"must-gather", map[string]string{"must-gather.tar.gz": tarball(t, map[string]string{
			"must-gather.local.51/quay-io-x-sha256-ab/etcd_info/ceo_pprof_goroutine_dump.txt":                             unnamed(5),
			"must-gather.local.51/quay-io-x-sha256-ab/namespaces/openshift-etcd/pods/etcd-m0/etcd/etcd/logs/previous.log": stamped(nano, 5, unnamed(5, 6)),
			"must-gather.local.51/quay-io-x-sha256-ab/namespaces/openshift-etcd/pods/etcd-m1/etcd/etcd/logs/previous.log": stamped(nano, 7, unnamed(5, 6, 7)),
			"must-gather.local.51/quay-io-x-sha256-ab/namespaces/openshift-etcd/pods/etcd-m1/etcd/etcd/logs/current.log":  "2026-11-21T03:00:09.000000000Z starting\n",
			"must-gather.local.51/quay-io-x-sha256-ab/version":                                                            "openshift/must-gather\n4.20.0\n",
		})}, []string{"openshift-etcd/etcd-m0/etcd 3g at 2026-11-21 03:00:05", "openshift-etcd/etcd-m1/etcd 4g at 2026-11-21 03:00:07", "/cluster-etcd-operator 2g"}},
		// sosreport/sos 4.11.0: sos/report/plugins/process.py, containerd.py, crio.py, host.py,
		// date.py; sos/policies/__init__.py for both names.
		{"sos 4.11", map[string]string{"sosreport-web-3-2026-11-21-abcdefg.tar.gz": tarball(t, map[string]string{
			"sosreport-web-3-2026-11-21-abcdefg/sos_commands/process/lsof_M_-n_-l_-c":             lsofTable,
			"sosreport-web-3-2026-11-21-abcdefg/sos_commands/process/lsof_M_-n_-l":                lsofTable,
			"sosreport-web-3-2026-11-21-abcdefg/sos_commands/date/date":                           "Sat Nov 21 03:00:05 UTC 2026\n",
			"sosreport-web-3-2026-11-21-abcdefg/sos_commands/host/hostname":                       "web-3\n",
			"sosreport-web-3-2026-11-21-abcdefg/tmp/containerd.4382.stacks.log":                   unnamed(5),
			"sosreport-web-3-2026-11-21-abcdefg/tmp/crio-goroutine-stacks-2026-11-21T030007Z.log": unnamed(5, 6),
		})}, []string{"web-3/containerd 4382 2d at 2026-11-21 03:00:05", "web-3/prometheu 9999 1d at 2026-11-21 03:00:05", "web-3/containerd 4382 2g at 2026-11-21 03:00:05", "web-3/crio 3g at 2026-11-21 03:00:07"}},
		{"sos with the name of other distributions", map[string]string{"sosreport-tux.4711-20261121030009.tar.gz": tarball(t, map[string]string{
			"sosreport-tux.4711-20261121030009/sos_commands/process/lsof_M_-n_-l_-c": lsofTable,
			"sosreport-tux.4711-20261121030009/sos_commands/date/date":               "Sat Nov 21 03:00:05 UTC 2026\n",
		})}, []string{"tux/container 4382 2d at 2026-11-21 03:00:09", "tux/prometheu 9999 1d at 2026-11-21 03:00:09"}},
		// gitlab.com, gitlab-com/support/toolbox/gitlabsos: gitlabsos.rb; svlogd -tt writes the
		// logs of a service (omnibus-gitlab: spec/chef/cookbooks/gitlab-kas/recipes/gitlab-kas_spec.rb).
		{"GitLabSOS", map[string]string{"gitlabsos.git-1_20261121030030.tar.gz": tarball(t, map[string]string{
			"gitlabsos.git-1_20261121030030/hostname":                      "git-1.example\n",
			"gitlabsos.git-1_20261121030030/var/log/gitlab/gitaly/current": `{"level":"info","msg":"started"}` + "\n" + stamped(tailed, 5, crash),
			"gitlabsos.git-1_20261121030030/sockstat":                      socketsOfSS,
		})}, []string{"git-1.example/gitaly 3g at 2026-11-21 03:00:05", "git-1.example/gitaly 815 3d at 2026-11-21 03:00:30"}},
		// elastic/support-diagnostics: src/main/resources/diags.yml, elastic-rest.yml, in
		// src/main/java/co/elastic/support: util/ArchiveUtils.java, diagnostics/DiagnosticService.java.
		// Hot threads are an excerpt, and no snapshot of the process that jstack shows whole.
		{"Elasticsearch", map[string]string{"local-diagnostics-20261121-030009.zip": zipped(t, map[string]string{
			"local-diagnostics-20261121-030009/nodes_hot_threads.txt": hotText,
			"local-diagnostics-20261121-030009/syscalls/jstack.txt":   threadText,
			"local-diagnostics-20261121-030009/manifest.json":         `{"diagVersion":"9.3.2"}`,
		})}, []string{"es-1/ 1t at 2026-11-21 03:00:04", "es-1/elasticsearch 2t at 2026-11-21 03:00:05"}},
		{"Logstash", map[string]string{"logstash-local-diagnostics-20261121-030009.zip": zipped(t, map[string]string{
			"logstash-local-diagnostics-20261121-030009/syscalls/jstack.txt": threadText,
		})}, []string{"/logstash 2t at 2026-11-21 03:00:05"}},
		// grafana/alloy: internal/service/http/supportbundle.go.
		{"Grafana Alloy", map[string]string{"alloy-support-bundle.zip": zipped(t, map[string]string{
			"alloy-support-bundle/alloy-environment.txt":          "GOGC=\nHOSTNAME=alloy-0\nNO_PROXY=\n",
			"alloy-support-bundle/alloy-metrics-sample-start.txt": "# TYPE go_goroutines gauge\ngo_goroutines 2\n# TYPE process_start_time_seconds gauge\nprocess_start_time_seconds 1.7952e+09\n",
			"alloy-support-bundle/alloy-metrics-sample-end.txt":   "# TYPE go_goroutines gauge\ngo_goroutines 3\n# TYPE process_start_time_seconds gauge\nprocess_start_time_seconds 1.7952e+09\n",
			"alloy-support-bundle/alloy-logs.txt":                 "ts=2026-11-21T03:00:01Z level=info msg=x\n",
			"alloy-support-bundle/pprof/goroutine.pprof":          proto(t, 3, 5, "/bin/alloy", true),
		})}, []string{"alloy-0/alloy", "alloy-0/alloy", "alloy-0/alloy 3g at 2026-11-21 03:00:05"}},
		// antrea-io/antrea: pkg/antctl/raw/supportbundle/command.go, pkg/support/dump.go,
		// pkg/agent/supportbundlecollection/support_bundle_controller.go.
		{"antctl supportbundle", map[string]string{
			"support-bundles_20261121T030005Z/controller.tar.gz":   tarball(t, map[string]string{"goroutinestacks": unnamed(5), "controllerinfo": "name: antrea-controller\n"}),
			"support-bundles_20261121T030005Z/agent_node-1.tar.gz": tarball(t, map[string]string{"goroutinestacks": unnamed(5, 6), "agentinfo": "name: node-1\n"}),
			"support-bundles_20261121T030005Z/agent_node-2.tar.gz": tarball(t, map[string]string{"goroutinestacks": unnamed(5, 6, 7), "agentinfo": "name: node-2\n"}),
		}, []string{"node-1/antrea-agent 3g at 2026-11-21 03:00:05", "node-2/antrea-agent 4g at 2026-11-21 03:00:05", "/antrea-controller 2g at 2026-11-21 03:00:05"}},
		{"Antrea with one agent, whose node need not be that of the controller", map[string]string{
			"support-bundles_20261121T030005Z/agent_node-1.tar.gz": tarball(t, map[string]string{"goroutinestacks": unnamed(5, 6)}),
			"support-bundles_20261121T030005Z/controller.tar.gz":   tarball(t, map[string]string{"goroutinestacks": unnamed(5)}),
		}, []string{"node-1/antrea-agent 3g at 2026-11-21 03:00:05", "/antrea-controller 2g at 2026-11-21 03:00:05"}},
		{"must-gather with the log of one pod, in which the operator does not run", map[string]string{"must-gather.tar.gz": tarball(t, map[string]string{
			"must-gather.local.51/quay-io-x-sha256-ab/etcd_info/ceo_pprof_goroutine_dump.txt":                             unnamed(5),
			"must-gather.local.51/quay-io-x-sha256-ab/namespaces/openshift-etcd/pods/etcd-m0/etcd/etcd/logs/previous.log": stamped(nano, 5, unnamed(5, 6)),
		})}, []string{"openshift-etcd/etcd-m0/etcd 3g at 2026-11-21 03:00:05", "/cluster-etcd-operator 2g"}},
		{"a SupportBundleCollection of Antrea", map[string]string{
			"node-1.example_slow-42.tar.gz": tarball(t, map[string]string{"goroutinestacks": unnamed(5)}),
			"node-2.example_slow-42.tar.gz": tarball(t, map[string]string{"goroutinestacks": unnamed(5, 6)}),
		}, []string{"node-1.example/antrea-agent 2g", "node-2.example/antrea-agent 3g"}},
		// rancherlabs/support-tools: collection/rancher/v2.x/profile-collector/continuous_profiling.sh.
		{"two rounds of Rancher's profile collector", map[string]string{"profiles-2026-11-21_03_00.tar": string(tarOf(t, "", untimed(map[string]string{
			"tmp/rancher-profiles-2026-11-21_03_00.tar.xz": tarball(t, map[string]string{
				"./rancher-6d8f-a-goroutine-2026-11-21T03_00_05": proto(t, 3, 5, "/usr/bin/rancher", true), "./rancher-6d8f-b-goroutine-2026-11-21T03_00_06": proto(t, 4, 6, "/usr/bin/rancher", true),
				"./rancher-6d8f-a-metrics.txt": "# TYPE go_goroutines gauge\ngo_goroutines 3\n", "./timestamps.txt": "Start: 2026-11-21T03:00:00+00:00\n",
			}),
			"tmp/rancher-profiles-2026-11-21_03_02.tar.xz": tarball(t, map[string]string{
				"./rancher-6d8f-a-goroutine-2026-11-21T03_02_05": proto(t, 5, 125, "/usr/bin/rancher", true), "./rancher-6d8f-b-goroutine-2026-11-21T03_02_06": proto(t, 6, 126, "/usr/bin/rancher", true),
				"./rancher-6d8f-a-metrics.txt": "# TYPE go_goroutines gauge\ngo_goroutines 5\n", "./timestamps.txt": "Start: 2026-11-21T03:02:00+00:00\n",
			}),
		})))}, []string{
			"rancher-6d8f-a/rancher 3g at 2026-11-21 03:00:05", "rancher-6d8f-b/rancher 4g at 2026-11-21 03:00:06",
			"rancher-6d8f-a/rancher 5g at 2026-11-21 03:02:05", "rancher-6d8f-b/rancher 6g at 2026-11-21 03:02:06",
		}},
		// rancherlabs/support-tools: collection/rancher/v2.x/logs-collector/rancher2_logs_collector.sh.
		{"Rancher's logs collector", map[string]string{"rke-1-2026-11-21_03_00_05.tar.gz": tarball(t, map[string]string{
			"rke-1-2026-11-21_03_00_05/systeminfo/lsof":     lsofTable,
			"rke-1-2026-11-21_03_00_05/systeminfo/hostname": "rke-1\n",
			"rke-1-2026-11-21_03_00_05/systeminfo/date":     "Sat Nov 21 03:00:05 UTC 2026\n",
			"rke-1-2026-11-21_03_00_05/systeminfo/ps":       "USER PID\nroot 1\n",
		})}, []string{"rke-1/container 4382 2d at 2026-11-21 03:00:05", "rke-1/prometheu 9999 1d at 2026-11-21 03:00:05"}},
		{"Rancher's logs collector on two nodes", map[string]string{
			"rke-1-2026-11-21_03_00_05.tar.gz": tarball(t, map[string]string{"rke-1-2026-11-21_03_00_05/networking/ssxapn": socketsOfSS}),
			"rke-2-2026-11-21_03_00_15.tar.gz": tarball(t, map[string]string{"rke-2-2026-11-21_03_00_15/networking/ssxapn": socketsOfSS}),
		}, []string{"rke-1/gitaly 815 3d at 2026-11-21 03:00:05", "rke-2/gitaly 815 3d at 2026-11-21 03:00:15"}},
		// crowdsecurity/crowdsec: cmd/crowdsec-cli/clisupport/support.go.
		{"cscli support dump", map[string]string{"crowdsec-support.zip": zipped(t, map[string]string{
			"pprof/goroutine.pprof": proto(t, 3, 5, "/usr/local/bin/crowdsec", true),
			"system.yaml":           "timestamp: 2026-11-21T03:00:04Z\ngoroutines: 9\nhost:\n    hostname: fw-1\n    uptime: 5\n",
			"version.txt":           "version: v1.7.0\n",
		})}, []string{"fw-1/crowdsec 3g at 2026-11-21 03:00:05"}},
		{"cscli support dump of a system without /proc", map[string]string{"a/crowdsec-support.zip": zipped(t, map[string]string{"pprof/goroutine.pprof": proto(t, 3, 5, "", true)}), "a/note.txt": "hello\n"},
			[]string{"/crowdsec 3g at 2026-11-21 03:00:05"}},
		// vmware-tanzu/crash-diagnostics: starlark/capture.go, starlark/support.go,
		// k8s/result_writer.go, k8s/container_logger.go.
		{"crashd of Tanzu", map[string]string{"diagnostics.tar.gz": tarball(t, map[string]string{
			"tmp/crashd/10_0_0_1/sudo_lsof__nP.txt":                                             strings.ReplaceAll(lsofTable, "4382", "4391"),
			"tmp/crashd/10_0_0_2/sudo_lsof__nP.txt":                                             lsofTable,
			"tmp/crashd/kubecapture/core_v1/kube-system/antrea-x/antrea-agent/antrea-agent.log": "I1121 03:00:01.000000       1 main.go:7] hello\n" + unnamed(5, 6),
		})}, []string{"10_0_0_1/container 4391 2d", "10_0_0_1/prometheu 9999 1d", "10_0_0_2/container 4382 2d", "10_0_0_2/prometheu 9999 1d", "antrea-x/antrea-agent 3g"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var got []string
			for _, s := range run(t, tc.files).Snapshots {
				got = append(got, measuredOf(s))
			}
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}
