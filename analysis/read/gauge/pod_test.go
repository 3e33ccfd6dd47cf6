package gauge_test

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"leakdiff/analysis"
	"leakdiff/analysis/read/gauge"
)

const podTable = `NAMESPACE   NAME     READY   STATUS        RESTARTS      AGE   IP          NODE     NOMINATED NODE   READINESS GATES
shop        web-0    1/1     Running       0             1h    10.1.0.1    node1    <none>           <none>
shop        web-1    0/1     Terminating   14 (2m ago)   9h    10.1.0.99   node1    <none>           <none>
shop        job-1    0/1     Completed     1             9h    10.1.0.98   node2    <none>           <none>
shop        new-1    0/1     Pending       0             1s    <none>      <none>   <none>           <none>
`

func TestPodsAreCountedByNode(t *testing.T) {
	for _, test := range []struct {
		name, text string
		parse      func(io.Reader, string) ([]*gauge.Node, int, []analysis.Problem, error)
		want       []string
	}{
		{"kubectl get pods -A -o wide", podTable, gauge.ParsePods, []string{": pod_restarts 0, pods_on_node 1, pods_terminating 0", "node1: pod_restarts 14, pods_on_node 2, pods_terminating 1", "node2: pod_restarts 1, pods_on_node 0, pods_terminating 0", "4 rows"}},
		{"kubectl get pods of one namespace, below its command", "$ kubectl get pods\nNAME    READY   STATUS    RESTARTS   AGE\nweb-1   1/1     Running   0          5m\nno row\n", gauge.ParsePods, []string{": pod_restarts 0, pods_on_node 1, pods_terminating 0", "1 rows", "a line is no row of the table"}},
		{"two listings of one text, which are not added up", "Wed Mar  4 00:00:01 UTC 2026\nNAME    READY   STATUS    RESTARTS   AGE\nweb-1   1/1     Running   0          5m\nWed Mar  4 01:00:01 UTC 2026\nNAME    READY   STATUS    RESTARTS   AGE\nweb-1   1/1     Running   0          65m\nweb-2   1/1     Running   3          5m\n", gauge.ParsePods, []string{"1: pod_restarts 3, pods_on_node 2, pods_terminating 0", ": pod_restarts 0, pods_on_node 1, pods_terminating 0", "3 rows"}},
		{"crictl ps", "CONTAINER       IMAGE      CREATED         STATE     NAME     ATTEMPT   POD ID   POD\n0a   sha256:1   1 minutes ago   Running   worker   0   1   web\n0b   sha256:1   2 minutes ago   Exited    worker   0   1   web\n0c   sha256:1   2 minutes ago   Running   worker   0   1   web\n", gauge.ParsePods, []string{": containers_exited 1, containers_running 2", "3 rows"}},
		{"crictl pods", "POD ID   CREATED   STATE   NAME   NAMESPACE   ATTEMPT   RUNTIME\n0a   1 hour ago   Ready   web   shop   0   (default)\n0b   1 hour ago   NotReady   old   shop   0   (default)\n", gauge.ParsePods, []string{": sandboxes_notready 1, sandboxes_ready 1", "2 rows"}},
		{"kubectl get pods -o json", `{"apiVersion":"v1","items":[{"apiVersion":"v1","kind":"Pod","metadata":{"deletionTimestamp":"2026-03-04T00:00:00Z"},"spec":{"nodeName":"node1"},"status":{"phase":"Running","containerStatuses":[{"restartCount":3},{"restartCount":4}]}},{"spec":{"nodeName":"node1"},"status":{"phase":"Failed"}}]}`, gauge.ParsePodsJSON, []string{"node1: pod_restarts 7, pods_on_node 1, pods_terminating 1", "2 rows"}},
		{"JSON that is cut", `{"apiVersion":"v1","items":[{"apiVersion":"v1","kind":"Pod"`, gauge.ParsePodsJSON, []string{"0 rows", "the list of pods is not whole"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			nodes, rows, problems, err := test.parse(strings.NewReader(test.text), "pods.txt")
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, n := range nodes {
				var words []string
				for _, name := range slices.Sorted(maps.Keys(n.Figures)) {
					words = append(words, fmt.Sprintf("%s %g", name, n.Figures[name]))
				}
				name := n.Name
				if n.Point > 0 {
					name = fmt.Sprint(n.Point, name)
				}
				got = append(got, name+": "+strings.Join(words, ", "))
			}
			slices.Sort(got)
			got = append(got, fmt.Sprint(rows, " rows"))
			for _, p := range problems {
				got = append(got, p.What)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
		})
	}
}

func FuzzPods(f *testing.F) {
	f.Add([]byte(podTable))
	f.Add([]byte("POD ID   CREATED   STATE   NAME\na\tb\tReady\tc\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		nodes, rows, _, err := gauge.ParsePods(strings.NewReader(string(text)), "pods.txt")
		if err != nil || rows > strings.Count(string(text), "\n")+1 || len(nodes) > rows {
			t.Errorf("%d nodes of %d rows: %v", len(nodes), rows, err)
		}
	})
}
