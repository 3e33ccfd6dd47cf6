package view

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"leakdiff/analysis"
	"leakdiff/analysis/say/report"
)

func TestNamesThatLookAlikeAreToldApart(t *testing.T) {
	const gather = "github.com/prometheus/client_golang/prometheus.(*Registry).Gather"
	goroutine := func(title string, frames []string, creator string) FamilyName {
		return newFamilyName(title, analysis.KindGoroutine, frames, creator, nil)
	}
	watch := func(mask string) FamilyName {
		return newFamilyName("inotify watch on /etc/cni, "+mask, analysis.KindWatch, nil, "", map[string]string{"mask": mask})
	}
	for name, tc := range map[string]struct {
		names []FamilyName
		want  []string
	}{
		"by who started them": {
			[]FamilyName{goroutine("prometheus.(*Registry).Gather <- net/http.(*Server).Serve", []string{gather}, "net/http.(*Server).Serve"), goroutine("prometheus.(*Registry).Gather", []string{gather}, "")},
			[]string{"prometheus.(*Registry).Gather ← net/http.(*Server).Serve", "prometheus.(*Registry).Gather "},
		},
		"by digits behind the creator": {
			[]FamilyName{goroutine("a.b <- a.c #123456", []string{"x/a.b"}, "x/a.c"), goroutine("a.b <- a.c #abcdef", []string{"x/a.b"}, "x/a.c")},
			[]string{"a.b ← a.c #123456", "a.b ← a.c #abcdef"},
		},
		"by the mask": {
			[]FamilyName{watch("IN_CREATE"), watch("IN_DELETE")},
			[]string{"inotify watch on /etc/cni IN_CREATE", "inotify watch on /etc/cni IN_DELETE"},
		},
		"by the package": {
			[]FamilyName{goroutine("a.b", []string{"x/a.b"}, ""), goroutine("a.b", []string{"y/a.b"}, "")},
			[]string{"a.b in x/a", "a.b in y/a"},
		},
		"by the fingerprint": {
			[]FamilyName{goroutine("a.b", []string{"x/a.b"}, ""), goroutine("a.b", []string{"x/a.b"}, "")},
			[]string{"a.b #00aabb", "a.b #11aabb"},
		},
		"not where they differ": {
			[]FamilyName{goroutine("a.b <- a.d", []string{"x/a.b"}, "x/a.d"), goroutine("a.c <- a.d", []string{"x/a.c"}, "x/a.d")},
			[]string{"a.b ", "a.c "},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var all together
			for i := range tc.names {
				all.add(&tc.names[i], []string{"g1:00aabbcc", "g1:11aabbcc"}[i])
			}
			all.tellApart()
			var got []string
			for i := range tc.names {
				got = append(got, tc.names[i].seen())
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestAWaitThatTellsNoAgeIsATimer(t *testing.T) {
	tick := report.Family{Title: "manager.(*containerData).housekeepingTick <- manager.(*containerData).Start", Classes: []string{"housekeeping"}}
	for name, tc := range map[string]struct {
		leaf  string
		state string
		known *report.Family
		want  string
	}{
		"of what the catalogue knows to tick":       {"github.com/google/cadvisor/manager.(*containerData).housekeepingTick", "select", &tick, "timer"},
		"not of its kin that wait for somebody":     {"google.golang.org/grpc.(*ClientConn).Invoke", "select", &tick, "<\u00a01\u00a0min"},
		"of sleepers":                               {"time.Sleep", "sleep", nil, "timer"},
		"not of those of which nothing is known":    {"main.work", "select", nil, "<\u00a01\u00a0min"},
		"not of those that the catalogue says less": {"main.work", "select", &report.Family{Title: "main.work", Classes: []string{"grpc"}}, "<\u00a01\u00a0min"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := shortWait(&analysis.Family{Loose: []string{tc.leaf}}, map[string]int{tc.state: 1}, tc.known); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
