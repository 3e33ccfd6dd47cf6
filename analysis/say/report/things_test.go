package report

import (
	"slices"
	"testing"

	"leakdiff/analysis"
	"leakdiff/analysis/say/noun"
)

func TestAFamilyWithoutAReportIsNamedAsFindingsNameIt(t *testing.T) {
	for want, f := range map[string]analysis.Family{
		"probe workers":                            {Kind: analysis.KindGoroutine, Title: "prober.(*worker).run <- prober.(*manager).AddPod", Loose: []string{"k8s.io/kubernetes/pkg/kubelet/prober.(*worker).run"}, LooseCreator: "k8s.io/kubernetes/pkg/kubelet/prober.(*manager).AddPod"},
		"goroutines in main.(*worker).wait":        {Kind: analysis.KindGoroutine, Title: "main.(*worker).wait <- main.start", Loose: []string{"main.(*worker).wait"}, LooseCreator: "main.start"},
		"inotify instances":                        {Kind: analysis.KindDescriptor, Title: "inotify instance with no watch", Attributes: map[string]string{"type": "anon_inode", "name": "inotify"}},
		"connections to 10.0.0.1:443":              {Kind: analysis.KindDescriptor, Title: "tcp client to 10.0.0.1:443", Attributes: map[string]string{"protocol": "tcp", "role": "client", "remote": "10.0.0.1:443"}},
		"descriptors “FIFO /run/x/log”":            {Kind: analysis.KindDescriptor, Title: "FIFO /run/x/log", Attributes: map[string]string{"type": "FIFO"}},
		"informer factories":                       {Kind: analysis.KindObject, Title: "*informers.sharedInformerFactory", Attributes: map[string]string{"type": "k8s.io/client-go/informers.(*sharedInformerFactory)"}},
		"pool.Session objects":                     {Kind: analysis.KindObject, Title: "*pool.Session", Attributes: map[string]string{"type": "example.org/pool.(*Session)"}},
		"inotify watches inside cgroup2 /sys/fs/x": {Kind: analysis.KindWatch, Title: "inotify watch inside cgroup2 /sys/fs/x, IN_CREATE", Attributes: map[string]string{"fstype": "cgroup2", "mount": "/sys/fs/x", "inode": "other", "status": "mounted"}},
	} {
		if got, _ := Things(noun.Builtin(), &f); got != want {
			t.Errorf("%s is called %q, want %q", f.Title, got, want)
		}
	}
}

func TestAWordOfANounStandsForItsFunctions(t *testing.T) {
	if got := AliasesOf(noun.Builtin(), "probe"); !slices.Contains(got, "k8s.io/kubernetes/pkg/kubelet/prober.(*worker)") {
		t.Errorf("got %q", got)
	}
	if got := AliasesOf(noun.Builtin(), "no such noun"); len(got) > 0 {
		t.Errorf("got %q", got)
	}
}
