package ingest

import (
	"fmt"
	"path"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/expression"
	"leakdiff/analysis/read/line"
)

// A product describes the paths in one collector's bundles. Rules are tried after the
// content has been recognised: they name the process of a file, never its kind.
type product struct {
	// name is quoted as the source of what the rule found.
	name string
	// path matches the whole display path or its end. Its groups named host, namespace
	// (before host), process, pid, time and unix are taken; "capture" is the directory that holds
	// one capture, if it is not the file's own; "written" is a file that is written when
	// it is captured, whatever files of earlier captures are written beside it;
	// "anywhere" is a file of a process that may run on any host of a cluster.
	path pathPattern
	// process is the program if the path does not name it.
	process string
}

// products, most special first.
var products = []product{
	{"nomad operator debug", pattern(`nomad-debug-[^/]+/server/(?P<host>[^/.]+)[^/]*/`), "nomad"},
	{"nomad operator debug", pattern(`nomad-debug-[^/]+/client/(?P<host>[^/]+)/`), "nomad"},
	{"consul debug", pattern(`consul-debug-[^/]+/(?P<time>\d{4}-\d\d-\d\dT[^/]+)/`), "consul"},
	{"consul debug", pattern(`consul-debug-[^/]+/`), "consul"},
	{"vault debug", pattern(`vault-debug-[^/]+/(?P<time>\d{4}-\d\d-\d\dT[^/]+)/`), "vault"},
	{"CockroachDB debug zip", pattern(`(?:^|/)nodes/(?P<host>\d+)/goroutines/goroutine_dump\.(?P<time>\d{4}-\d\d-\d\dT\d\d_\d\d_\d\d(?:\.\d+)?)\.`), "cockroach"},
	{"CockroachDB debug zip", pattern(`(?:^|/)cluster/(?P<host>[^/]+/nodes/\d+)/(?P<written>stacks|stacks_with_labels)\.txt$`), "cockroach"},
	{"CockroachDB debug zip", pattern(`(?:^|/)nodes/(?P<host>\d+)/(?P<written>stacks|stacks_with_labels)\.txt$`), "cockroach"},
	{"CockroachDB goroutine dumper", pattern(`(?:(?:^|/)nodes/(?P<host>\d+)/goroutines/)?goroutine_dump\.(?:[a-z_]+\.)?(?P<time>\d{4}-\d\d-\d\dT\d\d_\d\d_\d\d(?:\.\d+)?)\.`), "cockroach"},
	{"MinIO profile", pattern(`(?:^|/)profile-(?P<host>[^/]+?)-goroutines(?:-before)?(?:,debug=\d)?\.txt$`), "minio"},
	{"Grafana Alloy support bundle", pattern(`alloy-support-bundle[^/]*/`), "alloy"},
	{"Elastic Agent diagnostics", pattern(`(?:elastic-agent|edot)-diagnostics-[^/]*/components/(?P<process>[^/]+)/`), ""},
	{"Elastic Agent diagnostics", pattern(`(?:elastic-agent|edot)-diagnostics-[^/]*/`), "elastic-agent"},
	{"Datadog flare", pattern(`(?:^|[/!])(?P<host>[^/!]+)/go-routine-dump\.log$`), "datadog-agent"},
	{"Mattermost support packet", pattern(`(?:^|[/!])(?P<host>[^/!]+)/goroutines$`), "mattermost"},
	{"CRI-O on SIGUSR1", pattern(`crio-goroutine-stacks-(?P<time>[^/]+?)\.log$`), "crio"},
	{"dockerd on SIGUSR1", pattern(`(?:^|/)goroutine-stacks-(?P<time>[^/]+?)\.log$`), "dockerd"},
	{"containerd on SIGUSR1", pattern(`containerd\.(?P<pid>\d+)\.stacks\.log$`), "containerd"},
	{"EKS log collector", pattern(`docker/docker-trace\.txt$`), "dockerd"},
	{"pod", pattern(`(?:^|/)(?P<namespace>[a-z][a-z0-9-]*)_(?P<host>[a-z0-9-]+-[a-z0-9]{8,10}-[a-z0-9]{5})_(?P<process>[a-z][a-z0-9-]*)(?:/|[^/a-z0-9-][^/]*$)`), ""},
	{"pod", pattern(`(?:^|/)pods/(?P<namespace>[a-z0-9-]+)_(?P<host>[a-z0-9.-]+)_[0-9a-f]{8}-[0-9a-f-]{27}/(?P<process>[a-z0-9.-]+)/`), ""},
	{"must-gather", pattern(`etcd_info/(?P<anywhere>ceo_pprof_goroutine_dump)\.txt$`), "cluster-etcd-operator"},
	{"must-gather", pattern(`(?:^|/)namespaces/(?P<namespace>[^/]+)/pods/(?P<host>[^/]+)/(?P<process>[^/]+)/[^/]+/(?:logs/|metrics\.json$)`), ""},
	{"pod", pattern(`(?:^|/)namespaces/(?P<namespace>[^/]+)/pods/(?P<host>[^/]+)/`), ""},
	{"node", pattern(`(?:^|/)nodes/(?P<host>[a-z][a-z0-9.-]*)/(?P<process>kubelet|containerd|crio|dockerd|kube-proxy)/`), ""},
	{"kubectl cluster-info dump", pattern(`(?:^|/)cluster-info[^/]*/(?P<namespace>[^/]+)/(?P<host>[^/]+)/logs\.txt$`), ""},
	{"ipfs diag profile", pattern(`(?:^|/)ipfs-profile-(?P<time>[^/!]+?)(?:\.zip!)?/goroutines\.(?:stacks|pprof)$`), "ipfs"},
	{"GitLabSOS report", pattern(`(?:^|/)gitlabsos\.(?P<host>[^/]+)_\d{14}/var/log/gitlab/(?P<process>[^/]+)/`), ""},
	{"GitLabSOS report", pattern(`(?:^|/)gitlabsos\.(?P<host>[^/]+)_(?P<time>\d{14})/[^/]+$`), ""},
	{"Antrea support bundle", pattern(`(?:^|/)(?P<anywhere>controller)(?:\.tar\.gz!)?/goroutinestacks$`), "antrea-controller"},
	{"Antrea support bundle", pattern(`(?:^|/)agent_(?P<host>[^/!]+?)(?:\.tar\.gz!)?/goroutinestacks$`), "antrea-agent"},
	{"Antrea support bundle", pattern(`(?:^|/)(?P<host>[a-z0-9.-]+)_[a-z0-9.-]+\.tar\.gz!/goroutinestacks$`), "antrea-agent"},
	{"CrowdSec support dump", pattern(`(?:^|/)crowdsec-support[^/]*/pprof/goroutine\.pprof$`), "crowdsec"},
	{"Crash Diagnostics", pattern(`(?:^|/)kubecapture/core_v1/[^/]+/(?:pods/)?(?P<host>[^/]+)/(?P<process>[^/]+)/[^/]+\.log$`), ""},
	{"Crash Diagnostics", pattern(`(?:^|/)crashd/(?P<host>[A-Za-z0-9_]+)/[^/]+\.txt$`), ""},
	{"Cilium sysdump", pattern(`gops-(?P<host>[a-z0-9-]+?)-(?P<process>cilium-[a-z-]+|clustermesh-[a-z-]+|hubble-[a-z-]+)-(?P<time>\d{8}-\d{6})-stack\.txt$`), ""},
	{"Cilium sysdump", pattern(`gops-(?P<host>cilium-[a-z0-9]+)-(?P<time>\d{8}-\d{6})-stack\.txt$`), "cilium-agent"},
	{"kube-burner", pattern(`(?:^|/)(?P<process>[a-z][a-z-]*?)-(?P<host>[a-z0-9.-]+)-(?P<unix>1[5-9]\d{8})\.pprof$`), ""},
	{"Rancher profile collector", pattern(`(?:^|/)(?P<host>(?:rancher|cattle|fleet)[a-z0-9-]*)-goroutine-(?P<time>\d{4}-\d\d-\d\d[T_-][^/]+)$`), ""},
	{"Rancher logs collector", pattern(`(?:^|/)(?P<host>[^/]+)-\d{4}-\d\d-\d\d_\d\d_\d\d_\d\d/networking/`), ""},
	{"TiDB diag", pattern(`(?:^|/)(?P<host>[^/]+)/(?P<process>tidb|tikv|pd|ticdc|tiflash)[^/]*/perf/goroutine\.txt$`), ""},
	{"Jenkins support bundle", pattern(`(?P<capture>.*?)nodes/(?P<host>master)/`), "jenkins"},
	{"Jenkins support bundle", pattern(`(?P<capture>.*?)nodes/slave/(?P<host>[^/]+)/`), "jenkins-agent"},
	{"Jenkins support bundle", pattern(`(?:slow-request-threaddumps|high-load/cpu|deadlocks)/(?:DeadlockDetected-)?(?P<time>\d{8}-\d{6})[^/]*$`), "jenkins"},
	{"file named by its pid", pattern(`(?:^|[/!]|\dZ?[._-])(?:jstack|jcmd|threads?|thread-?dump|tdump|javacore)[._-](?P<pid>\d{2,7})[._-][^/]*$`), ""},
	{"file named by its pid", pattern(`(?:^|[/!._-])pid[._-]?(?P<pid>\d{1,7})(?:[._-][^/]*)?$`), ""},
	{"Logstash diagnostics", pattern(`(?:^|/)logstash-(?:local|remote)-diagnostics[^/]*/syscalls/jstack\.txt$`), "logstash"},
	{"Elasticsearch diagnostics", pattern(`(?:^|/)syscalls/jstack\.txt$`), "elasticsearch"},
	{"thread dump script", pattern(`_threads\.(?P<unix>1[5-9]\d{8})\.txt$`), ""},
	{"Troubleshoot bundle", pattern(`support-bundle-[^/]+/[^/]+/(?P<namespace>[^/]+)/(?P<host>[^/]+)/(?P<process>[^/]+)-std(?:out|err)\.txt$`), ""},
	{"sos report", pattern(`(?P<capture>(?:^|.*[/!])sosreport-(?P<host>[^/]+?)(?:-\d{3,})?-\d{4}-\d\d-\d\d-[a-z]+)/`), ""},
	{"sos report", pattern(`(?P<capture>(?:^|.*[/!])sosreport-(?P<host>[^/.]+?)(?:\.[^/]+)?-\d{14})/`), ""},
	{"sos report", pattern(`(?P<capture>(?:^|.*[/!]))sos_commands/`), ""},
}

// pathPattern matches paths. A bundle has tens of thousands of them, and most match none of
// the patterns, so a path is first looked through for a text that all matches contain.
type pathPattern struct {
	*expression.Expression
	needed func() string
}

func pattern(expr string) pathPattern {
	return pathPattern{expression.Lazy(expr), sync.OnceValue(func() string { return neededBy(expr) })}
}

// neededBy is the longest text that stands outside of groups and alternatives.
//
//	neededBy(`(?:^|/)nodes/(\d+)/stacks\.txt$`) = "/stacks.txt"
func neededBy(expr string) string {
	parsed, err := syntax.Parse(expr, syntax.Perl)
	if err != nil || parsed.Op != syntax.OpConcat {
		return ""
	}
	longest := ""
	for _, part := range parsed.Sub {
		if text := string(part.Rune); part.Op == syntax.OpLiteral && part.Flags&syntax.FoldCase == 0 && len(text) > len(longest) {
			longest = text
		}
	}
	return longest
}

// find is FindStringSubmatch.
func (p pathPattern) find(path string) []string {
	if !strings.Contains(path, p.needed()) {
		return nil
	}
	return p.FindStringSubmatch(path)
}

// A placing is what a product's rule reads out of a path.
type placing struct {
	product, host, process string
	// namespace is that of the pod that host is.
	namespace string
	// capture is the directory of one capture; captured is true if the rule found it,
	// since it may be empty.
	capture  string
	captured bool
	// written is true if the time of the file is that of its capture.
	written bool
	// anywhere is true if the hosts of other files say nothing about this one's.
	anywhere bool
	pid      int
	at       time.Time
}

// placingOf applies the first rule that matches a path.
func placingOf(p string) placing {
	for _, rule := range products {
		found := rule.path.find(p)
		if found == nil {
			continue
		}
		out := placing{product: rule.name, process: rule.process}
		for i, name := range rule.path.SubexpNames() {
			out.take(name, found[i])
		}
		if out.pid != 0 && !slices.Contains(digits.FindAllString(withoutTime(path.Base(p)), -1), strconv.Itoa(out.pid)) {
			continue // the year of "jstack-2026-11-01.txt", the day of "jstack-31.12.2025_23h58.txt"
		}
		return out
	}
	return placing{}
}

// Telling is how many of the last elements of a file's path say of which process it is.
func Telling(elements []string) int {
	told := func(n int) placing {
		p := placingOf(strings.Join(elements[len(elements)-n:], "/"))
		p.capture = ""
		return p
	}
	n := 1
	for n < len(elements) && told(n) != told(len(elements)) {
		n++
	}
	return n
}

func (p *placing) take(name, value string) {
	switch name {
	case "capture":
		p.capture, p.captured = strings.TrimRight(value, "/"), true
	case "process":
		p.process = value
	case "written":
		p.written = true
	case "anywhere":
		p.anywhere = true
	case "namespace":
		p.namespace = value
	}
	if value == "" {
		return
	}
	switch name {
	case "host":
		p.host = podHost(p.namespace, value)
	case "pid":
		p.pid, _ = strconv.Atoi(value)
	case "time":
		p.at, _ = timeInName(value)
	case "unix":
		if seconds, err := strconv.ParseInt(value, 10, 64); err == nil {
			p.at = time.Unix(seconds, 0).UTC()
		}
	}
}

// place puts a part into its capture directory and adds what the paths of known
// collectors prove.
func place(p *part) {
	where := p.where()
	p.dir, p.stem = captureDir(where), stemOf(path.Base(strings.TrimSuffix(where, "/")))
	p.placing = placingOf(where)
	if p.placing.captured && p.sharesCapture() {
		p.dir = p.placing.capture
	}
	if p.placing.pid > 0 && p.namesClock(p.placing.pid) {
		p.placing.pid, p.placing.product = 0, ""
	}
	if p.pid == 0 {
		p.pid = p.placing.pid
	}
	if p.pid == 0 && len(p.sockets) == 0 { // those of a table are of its network namespace
		p.pid = line.PathPID(where)
		if p.pid == 0 && p.listing == nil && !p.dumps() {
			p.pid = pidBelow(strings.Split(p.dir, "/"))
		}
	}
}

// namesClock reports a number that is the time at which the dump says that it was taken: "jstack-160629.txt".
func (p *part) namesClock(number int) bool {
	const most = 2 * time.Minute // between the name and the dump
	if p.inner.IsZero() {
		return false
	}
	clock, err := time.Parse("150405", fmt.Sprintf("%06d", number))
	if err != nil {
		return false
	}
	h, m, s := p.inner.Clock()
	apart := clock.Sub(time.Date(clock.Year(), clock.Month(), clock.Day(), h, m, s, 0, time.UTC)).Abs()
	return apart <= most
}

// where is the path of the part's own text.
func (p *part) where() string {
	if p.within == "" {
		return p.path
	}
	return directoryOf(p.path) + strings.TrimLeft(p.within, "./")
}

// podHost is the host of a pod, whose name is unique in its namespace alone.
//
//	podHost("prod", "web-1") = "prod/web-1"
func podHost(namespace, pod string) string {
	return strings.TrimPrefix(namespace+"/"+pod, "/")
}

// sharesCapture reports whether the part belongs to the collector's one capture:
// dumps and listings do, while what lies below proc/PID describes that process.
func (p *part) sharesCapture() bool {
	return p.threads != nil || p.listing != nil || p.links != nil || p.clients != nil
}

// fact is a value that the rule of a product found.
func (p placing) fact(value string) analysis.Fact {
	return analysis.Fact{Value: value, Source: "path of a " + p.product, Confidence: analysis.High}
}
