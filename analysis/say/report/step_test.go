package report

import (
	"fmt"
	"strings"
	"testing"

	"leakdiff/analysis"
)

// grown are captures of a program in which goroutines of one function come and stay.
func grown(program, function string) []analysis.Snapshot {
	var out []analysis.Snapshot
	for i := range 5 {
		x := snapshot(program, fmt.Sprintf("t%d", i), i*10, map[string][]int64{function: upTo(int64(20 * (i + 1)))})
		for k := range x.Groups {
			x.Groups[k].OldestWait = 10*i + 1 // they wait since they came
		}
		out = append(out, x)
	}
	return out
}

func TestWhoRunsAProgramIsToldWhatToCheckAndWhoWritesItWhatToChange(t *testing.T) {
	const worker, mount, own = "k8s.io/kubernetes/pkg/kubelet/prober.(*worker).run", "k8s.io/mount-utils.(*Mounter).Mount", "k8s.io/kubernetes/pkg/kubelet.(*Kubelet).other"
	for _, test := range []struct {
		name, program, function string
		first                   string
		steps                   int
		ours                    bool
	}{
		{"a class of the catalogue in its program", "kubelet", worker, "Check first: How many probes do the pods", 3, false},
		{"another class", "kubelet", mount, "Check first: Which volumes do the pods", 3, false},
		{"no class in a program of the catalogue", "kubelet", own, "Compare it with the load of kubelet: where that did not grow, upgrade", 1, false},
		{"the program of the reader", "shop", own, "No case of the select at x.go:7 comes", 1, false},
		{"a program of the catalogue that is said to be the reader's", "kubelet", own, "No case of the select at x.go:7 comes", 1, true},
		{"the program of the reader with a class", "shop", mount, "", 1, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			in := grown(test.program, test.function)
			for i := range in {
				in[i].Process.Ours = test.ours
			}
			d := Build(in, nil, Options{}).Report.Diagnosis
			if len(d.Steps) != test.steps || !strings.HasPrefix(d.Steps[0].Text, test.first) || *d.Next != d.Steps[0] {
				t.Errorf("%+v, want %d that begin with %q", d.Steps, test.steps, test.first)
			}
			if strings.HasPrefix(d.Steps[0].Text, "Check first") && test.program == "shop" {
				t.Errorf("who writes it is told to check: %q", d.Steps[0].Text)
			}
		})
	}
}

func TestStepsOfAKnownLeak(t *testing.T) {
	for _, test := range []struct {
		name string
		leak KnownLeak
		want string
	}{
		{"the release of the line that runs", KnownLeak{ID: "x-1", Component: "containerd", Seen: "1.6.20", Fix: "1.6.36", Advisories: []string{"CVE-2026-1"}, Workaround: "reduce exec probes"},
			"Upgrade containerd to 1.6.36 (CVE-2026-1); you run 1.6.20. | Until then reduce exec probes."},
		{"without a workaround", KnownLeak{ID: "x-1", Component: "containerd", Seen: "1.6.20", Fix: "1.7.35"}, "Upgrade containerd to 1.7.35 (x-1); you run 1.6.20."},
		{"a module names itself before its version", KnownLeak{ID: "x-1", Component: "mcp-go", Seen: "github.com/mark3labs/mcp-go v0.43.2", Fix: "0.44.0"}, "Upgrade github.com/mark3labs/mcp-go to 0.44.0 (x-1); you run v0.43.2."},
		{"no release was seen", KnownLeak{ID: "x-1", Title: "a leak", Component: "etcd", Releases: []string{"3.5.33", "3.6.14"}, Remedy: "upgrade"}, "Upgrade etcd where it is older than 3.5.33, 3.6.14: this looks like x-1, a leak."},
		{"the release that runs has the fix", KnownLeak{ID: "x-1", Title: "a leak", Component: "etcd", Seen: "3.7.0", Releases: []string{"3.5.33"}, Verdict: "fixed", Remedy: "close each watcher"}, ""},
		{"no release has it", KnownLeak{ID: "x-1", Title: "a leak", Remedy: "close each watcher"}, ""},
		{"nothing helps", KnownLeak{ID: "x-1", Title: "a leak"}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			for _, step := range test.leak.mend() {
				got = append(got, step.Text)
			}
			if said := strings.Join(got, " | "); said != test.want {
				t.Errorf("%q, want %q", said, test.want)
			}
		})
	}
}
