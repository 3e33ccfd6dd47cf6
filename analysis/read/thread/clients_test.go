package thread_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"leakdiff/analysis/read/thread"
)

const clientText = `Active K8s Clients
----------
(io.fabric8.kubernetes.client.DefaultKubernetesClient@5b444398)
* STATE 
  * validity -7
* RUNNING 2
  * Request{method=GET, url=http://10.0.0.1/api/v1/namespaces/ci/pods/maven-00064/exec?command=secret&container=maven, tags={}}
  * Request{method=GET, url=http://10.0.0.1/api/v1/namespaces/ci/pods/maven-00065/exec?command=other, tags={}}
* QUEUED 1
  * Request{method=POST, url=https://u:pass@10.0.0.1/api/v1/namespaces/ci/pods, tags={}}
* SETTINGS 
  * Connect Timeout (ms): 5000
  * Retry on failure true
  * Max Concurrent Requests: 2
  * Max Concurrent Requests per Host: 5
* CONNECTION POOL 
  * Active Connection 3
  * Idle Connection 1

(io.fabric8.kubernetes.client.DefaultKubernetesClient@1b)
* RUNNING 0
* QUEUED 0


K8s Clients Summary
----------
* 2 active clients
* 9 running calls (from plugin)
* 2 running calls
* 1 queued calls
`

func clients(t *testing.T, text string) (thread.Clients, []string) {
	t.Helper()
	c, problems, err := thread.ParseClients(strings.NewReader(text), "x")
	if err != nil {
		t.Fatal(err)
	}
	var what []string
	for _, p := range problems {
		what = append(what, p.What)
	}
	return c, what
}

func TestAClientSummaryIsReadWhole(t *testing.T) {
	c, problems := clients(t, clientText)
	want := thread.Clients{Active: 2, Running: 2, Queued: 1, Clients: []thread.Client{
		{Name: "io.fabric8.kubernetes.client.DefaultKubernetesClient", Identity: "5b444398", Validity: -7, Valid: true, Running: 2, Queued: 1, MaxRequests: 2, MaxPerHost: 5,
			ActiveConnections: 3, IdleConnections: 1, Line: 3, Offset: 30,
			Requests: map[string]int{"GET http://10.0.0.1/api/v1/namespaces/ci/pods/<pod>/exec": 2, "POST https://10.0.0.1/api/v1/namespaces/ci/pods": 1},
			Calls:    map[string]int{"exec of pods": 2},
			Settings: []string{"Connect Timeout (ms): 5000", "Retry on failure true", "Max Concurrent Requests: 2", "Max Concurrent Requests per Host: 5"}},
		{Name: "io.fabric8.kubernetes.client.DefaultKubernetesClient", Identity: "1b", MaxRequests: -1, MaxPerHost: -1, ActiveConnections: -1, IdleConnections: -1,
			Requests: map[string]int{}, Calls: map[string]int{}, Line: 20, Offset: int64(strings.Index(clientText, "(io.fabric8.kubernetes.client.DefaultKubernetesClient@1b"))},
	}}
	if diff := cmp.Diff(want, c); diff != "" || len(problems) > 0 {
		t.Errorf("problems %q (-want +got):\n%s", problems, diff)
	}
	figures := map[string]float64{"k8s_clients": 2, "k8s_running_calls": 2, "k8s_queued_calls": 1, "k8s_max_concurrent_requests": 2,
		"k8s_clients_saturated": 1, "k8s_clients_idle": 1, "k8s_connections": 3, "k8s_idle_connections": 1,
		"k8s_call{exec of pods}": 2, "k8s_client_running{5b444398}": 2, "k8s_client_queued{5b444398}": 1, "k8s_client_limit{5b444398}": 2,
		"k8s_client_running{1b}": 0, "k8s_client_queued{1b}": 0}
	if diff := cmp.Diff(figures, c.Figures()); diff != "" {
		t.Errorf("figures (-want +got):\n%s", diff)
	}
}

func TestSaturationIsNoLeak(t *testing.T) {
	c, _ := clients(t, clientText)
	findings := append(c.Saturated(), c.Quiet())
	if len(findings) != 2 || !strings.Contains(findings[0], "@5b444398 runs 2 calls, its limit is 2, and 1 more wait") || !strings.Contains(findings[0], "no leak") ||
		!strings.Contains(findings[1], "1 of 2 clients run at most one call") {
		t.Errorf("%q", findings)
	}
	calm, _ := clients(t, strings.NewReplacer("QUEUED 1", "QUEUED 0", "(io.fabric8.kubernetes.client.DefaultKubernetesClient@1b)", "x").Replace(clientText))
	if f := calm.Saturated(); len(f) != 0 || calm.Quiet() != "" {
		t.Errorf("a client at its limit with an empty queue: %q, %q", f, calm.Quiet())
	}
}

func TestASummaryWithDefectsSaysThem(t *testing.T) {
	cut := clientText[:strings.Index(clientText, "K8s Clients Summary")]
	for _, test := range []struct{ name, text, problem string }{
		{"cut", cut, "the client summary has no end"},
		{"requests are missing", strings.Replace(clientText, "RUNNING 2", "RUNNING 3", 1), "a client says RUNNING 3 and lists 2 requests"},
		{"clients are missing", strings.Replace(clientText, "* 2 active", "* 4 active", 1), "the summary counts 4 clients and the text shows 2"},
		{"two runs in one file", clientText + clientText, "the file holds more than one summary of clients"},
		{"something else", "hello\n", "no client summary was found"},
	} {
		c, problems := clients(t, test.text)
		if len(problems) != 1 || problems[0] != test.problem {
			t.Errorf("%s: problems %q, want %q", test.name, problems, test.problem)
		}
		if test.name == "two runs in one file" && len(c.Clients) != 2 {
			t.Errorf("two runs: %d clients, want those of the last", len(c.Clients))
		}
	}
	if c, _ := clients(t, clientText[strings.Index(clientText, "K8s Clients Summary"):]); c.Figures()["k8s_clients"] != 2 || c.Figures()["k8s_running_calls"] != 2 {
		t.Errorf("only the summary: %v", c.Figures())
	}
}

func TestSecretsOfRequestsAreNotKept(t *testing.T) {
	c, _ := clients(t, clientText)
	for _, client := range c.Clients {
		for request := range client.Requests {
			for _, secret := range []string{"secret", "command", "pass", "maven-00064"} {
				if strings.Contains(request, secret) {
					t.Errorf("%q holds %q", request, secret)
				}
			}
		}
	}
}

func TestTargetsWithLimitsOfSupportCore(t *testing.T) {
	text := "core file size          (blocks, -c) 0\nopen files                      (-n) 1024\nmax user processes              (-u) unlimited\n\nOpen File Descriptor Count: 6\n\nAll open files\n==============\n" +
		"/dev/null\nsocket:[340613]\npipe:[1]\nanon_inode:[eventpoll]\n/tmp/x (deleted)\nnet:[4026531840]\n"
	got, problems, err := thread.ParseTargets(strings.NewReader(text), "x")
	if err != nil || got.Count != 6 || len(problems) != 1 {
		t.Errorf("%+v %+v %v", got, problems, err)
	}
	if diff := cmp.Diff(map[string]string{"core file size": "0", "open files": "1024", "max user processes": "unlimited"}, got.Limits); diff != "" {
		t.Errorf("limits (-want +got):\n%s", diff)
	}
	var types []string
	for _, d := range got.Descriptors {
		types = append(types, d.Type)
		if d.FD != -1 || d.Place.Line < 9 || d.Deleted != (d.Name == "/tmp/x (deleted)") {
			t.Errorf("%+v", d)
		}
	}
	if diff := cmp.Diff([]string{"char", "socket", "pipe", "anon", "regular", "namespace"}, types); diff != "" {
		t.Errorf("types (-want +got):\n%s", diff)
	}
}

func TestForeignFormsAreKnownByTheirLines(t *testing.T) {
	for text, want := range map[string]string{
		"jdk.ThreadDump {\n":                     "flight recorder",
		"All thread stacktraces\n---\n":          "GoCD",
		"\"main\" #1 prio=5 tid=0x1 nid=0x2 x\n": "",
	} {
		p, ok := thread.Foreign(strings.NewReader(text), "x")
		if ok != (want != "") || !strings.Contains(p.What, want) {
			t.Errorf("%q: %v %+v", text, ok, p)
		}
	}
}

func TestACallIsNamedWithoutNames(t *testing.T) {
	for _, test := range []struct{ name, method, address, want string }{
		{"a subresource of a pod", "GET", "https://10.0.0.1/api/v1/namespaces/ci/pods/agent-0/exec?command=cat", "exec of pods"},
		{"a pod", "GET", "https://10.0.0.1/api/v1/namespaces/ci/pods/agent-0", "GET of pods"},
		{"all pods of a namespace", "GET", "http://k8s/api/v1/namespaces/ci/pods?watch=true", "GET of pods"},
		{"another group, of no namespace", "PATCH", "https://k8s/apis/apps/v1/deployments/web", "PATCH of deployments"},
		{"another address", "GET", "https://registry.example/v2/", "other calls"},
	} {
		t.Run(test.name, func(t *testing.T) {
			text := "Active K8s Clients\n(a.B@1)\n* RUNNING 1\n  * Request{method=" + test.method + ", url=" + test.address + "}\n* QUEUED 1\n  * Request{method=PUT, url=https://k8s/api/v1/nodes}\n"
			if c, _ := clients(t, text); len(c.Clients) != 1 || !cmp.Equal(c.Clients[0].Calls, map[string]int{test.want: 1}) {
				t.Errorf("%+v, want one %s", c.Clients, test.want)
			}
		})
	}
}
