package view

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"leakdiff/analysis"
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
