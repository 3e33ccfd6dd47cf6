package gauge

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/expression"
	"leakdiff/analysis/read/line"
)

// Node is what a listing of pods or containers counts on one node, by the names of figures:
// pods_on_node, pods_terminating, pod_restarts; containers_running, containers_exited and other
// states of containers.
type Node struct {
	// Name is empty where the listing has no nodes.
	Name    string
	Figures map[string]float64
	// Namespaces are those of its pods, "" where the listing does not tell them.
	Namespaces map[string]bool
	// Point numbers the listings of the text, Begins is the offset of its first line.
	Point  int
	Begins int64
}

// The figures of a node.
const (
	Pods        = "pods_on_node"
	Terminating = "pods_terminating"
	Restarts    = "pod_restarts"
	containers  = "containers_"
	sandboxes   = "sandboxes_"
)

// podHead is the head of kubectl get pods, crictl ps and crictl pods. Its columns begin where
// their names do, or are separated by two blanks or a tabulator.
var podHead = expression.Lazy(`^(?:NAMESPACE\s+)?NAME\s+READY\s+STATUS\s+RESTARTS\s+AGE\b|^CONTAINER(?: ID)?\s+IMAGE\s+CREATED\s+STATE\s+NAME\b|^POD ID\s+CREATED\s+STATE\s+NAME\b`)

// IsPods reports whether a line is the head of a listing that ParsePods reads.
func IsPods(text string) bool { return podHead.MatchString(text) }

// IsPodsJSON reports whether a JSON text is a list of pods of kubectl get pods -o json.
func IsPodsJSON(text []byte) bool { return podsJSON.Match(text) }

var podsJSON = expression.Lazy(`(?s)^\s*\{\s*(?:"apiVersion":\s*"v1",\s*)?(?:"kind":\s*"PodList".{0,1000}?"items":\s*\[\s*\{|"items":\s*\[\s*\{\s*"apiVersion":\s*"v1",\s*"kind":\s*"Pod"[,\s])`)

// mostNodes bounds the nodes of a listing.
const mostNodes = 5000

type nodes struct {
	all  []*Node
	left int
	// point is the listing that is read, begins where it does. now are its nodes by name.
	point  int
	begins int64
	now    map[string]*Node
}

// next begins another listing: what stands in several is never added up.
func (n *nodes) next(offset int64) {
	if n.begins = offset; len(n.now) > 0 {
		n.point++
		clear(n.now)
	}
}

func (n *nodes) of(name string) *Node {
	if x := n.now[name]; x != nil {
		return x
	}
	if len(n.all) >= mostNodes {
		n.left++
		return &Node{Figures: map[string]float64{}, Namespaces: map[string]bool{}}
	}
	made := &Node{Name: name, Figures: map[string]float64{}, Namespaces: map[string]bool{}, Point: n.point, Begins: n.begins}
	n.all = append(n.all, made)
	if n.now == nil {
		n.now = map[string]*Node{}
	}
	n.now[name] = made
	return made
}

// pod counts a pod. A pod that has ended is on no node any more.
func (n *nodes) pod(node, namespace, status string, restarts float64) {
	x := n.of(node)
	x.Namespaces[namespace] = true
	switch status {
	case "Succeeded", "Failed", "Completed", "Evicted", "Error", "OOMKilled":
		x.Figures[Pods] += 0
	default:
		x.Figures[Pods]++
	}
	terminating := 0.0
	if status == "Terminating" {
		terminating = 1
	}
	x.Figures[Terminating] += terminating
	x.Figures[Restarts] += restarts
}

// ParsePods reads the table of kubectl get pods, crictl ps or crictl pods, with the number of its
// rows. The error is that of r.
func ParsePods(r io.Reader, name string) (out []*Node, rows int, problems []analysis.Problem, err error) {
	found := &line.Problems{Path: name}
	in := line.NewReader(r)
	var n nodes
	var head []string
	refused := 0
	for l := range in.All() {
		text := strings.TrimSpace(l.Text)
		if podHead.MatchString(text) {
			head = cells(text)
			n.next(l.Offset)
			continue
		}
		if _, command := line.ReadCommand(text); text == "" || command || line.IsDate(text) {
			continue
		}
		row := cells(restartAge.ReplaceAllString(text, "$1 "))
		cell := func(column string) string {
			if at := slices.Index(head, column); at >= 0 && at < len(row) {
				return row[at]
			}
			return ""
		}
		restarts, failed := strconv.ParseFloat(cell("RESTARTS"), 64)
		switch state := cell("STATE"); {
		case state != "" && len(row) >= len(head)-2:
			kind := containers
			if head[0] == "POD ID" {
				kind = sandboxes
			}
			n.of("").Figures[kind+strings.ToLower(strings.TrimPrefix(state, "CONTAINER_"))]++
		case cell("STATUS") != "" && failed == nil:
			node := cell("NODE")
			if node == "<none>" {
				node = ""
			}
			n.pod(node, cell("NAMESPACE"), cell("STATUS"), restarts)
		default:
			if refused++; refused == 1 {
				found.Add(analysis.Note, l, "a line is no row of the table", line.Quote(text)+" does not have its columns", "nothing: the other rows were read")
			}
			continue
		}
		rows++
	}
	n.tell(found)
	return n.all, rows, found.All(), in.Failure(name)
}

func (n *nodes) tell(found *line.Problems) {
	if n.left > 0 {
		found.Add(analysis.Warning, line.Line{}, fmt.Sprintf("%d rows were left out", n.left), fmt.Sprintf("they are of more than %d nodes", mostNodes), "list the pods of the node in question")
	}
}

// restartAge is when a container was last restarted, behind their number: "14 (2m ago)".
var restartAge = expression.Lazy(`(\s\d+) \(\S+ ago\)`)

// cells are the columns of a row. Names of columns may have one blank ("POD ID"), values of ages
// too ("2 minutes ago").
func cells(text string) []string {
	return strings.Split(columnGap.ReplaceAllString(strings.TrimSpace(text), "\t"), "\t")
}

var columnGap = expression.Lazy(`\s{2,}|\t\s*`)

// ParsePodsJSON is ParsePods for the JSON of kubectl get pods.
func ParsePodsJSON(r io.Reader, name string) (out []*Node, rows int, problems []analysis.Problem, err error) {
	var list struct {
		Items []struct {
			Metadata struct {
				Namespace         string `json:"namespace"`
				DeletionTimestamp string `json:"deletionTimestamp"`
			} `json:"metadata"`
			Spec struct {
				NodeName string `json:"nodeName"`
			} `json:"spec"`
			Status struct {
				Phase      string `json:"phase"`
				Containers []struct {
					Restarts float64 `json:"restartCount"`
				} `json:"containerStatuses"`
			} `json:"status"`
		} `json:"items"`
	}
	found := &line.Problems{Path: name}
	if err := json.NewDecoder(r).Decode(&list); err != nil {
		found.Add(analysis.Error, line.Line{}, "the list of pods is not whole", err.Error(), "save the whole output of kubectl get pods -o json")
		return nil, 0, found.All(), nil
	}
	var n nodes
	for i := range list.Items {
		pod := &list.Items[i]
		restarts := 0.0
		for _, c := range pod.Status.Containers {
			restarts += c.Restarts
		}
		status := pod.Status.Phase
		if pod.Metadata.DeletionTimestamp != "" {
			status = "Terminating"
		}
		n.pod(pod.Spec.NodeName, pod.Metadata.Namespace, status, restarts)
	}
	n.tell(found)
	return n.all, len(list.Items), found.All(), nil
}
