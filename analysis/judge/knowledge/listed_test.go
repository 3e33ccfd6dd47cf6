package knowledge

import (
	"slices"
	"strings"
	"testing"

	"leakdiff/analysis"
	"leakdiff/analysis/read/gauge"
)

func TestVersionsOfEveryComponentAreKept(t *testing.T) {
	for _, c := range Builtin().doc.Components {
		names := slices.Clone(c.Packages)
		for _, m := range c.Modules {
			names = append(names, "go:"+m.Path)
		}
		for _, p := range c.Programs {
			if !strings.Contains(p, "*") {
				names = append(names, "deb:"+p)
			}
		}
		for _, name := range names {
			if !gauge.Wanted(name) {
				t.Errorf("%s: %s is not in read/gauge/package.txt", c.Name, name)
			}
		}
	}
}

func TestAListedVersionTellsWhatIsInIt(t *testing.T) {
	known := func(version string) (out []string) {
		for _, e := range Builtin().Affected(&analysis.Package{Name: "jenkins:kubernetes", Version: version}) {
			out = append(out, e.ID)
		}
		return out
	}
	for version, want := range map[string][]string{
		"1.26.4": {"jenkins-889", "jenkins-861", "jenkins-826"}, "1.27.2": {"jenkins-889", "jenkins-861"}, "1.27.3": {"jenkins-889"}, "1.28.1": nil, "4423.vb_59f230b_ce53": nil,
	} {
		if got := known(version); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", version, got, want)
		}
	}
	list := []analysis.Package{{Name: "deb:containerd", Version: "1.6.20~ds1-1+b1", Path: "t0/dpkg-l.txt"}, {Name: "go:k8s.io/client-go", Version: "v0.27.9", Path: "mod.txt"}}
	for _, test := range []struct{ name, program, release, want string }{
		{"containerd", "containerd", "", "1.6.20~ds1-1+b1 in dpkg-l.txt"},
		{"containerd", "containerd", "v1.7.2", "v1.7.2 in "}, // what the program says of itself counts
		{"containerd", "kubelet", "", ""},
		{"kubernetes", "agent", "", "k8s.io/client-go v0.27.9 in mod.txt"},
	} {
		at := slices.IndexFunc(Builtin().doc.Components, func(c Component) bool { return c.Name == test.name })
		got := ""
		if r, source, ok := Builtin().doc.Components[at].find(SeenVersions{Program: test.program, Release: test.release, Listed: list}); ok {
			got = r.printed + " in " + source
		}
		if got != test.want {
			t.Errorf("%s of %s %s: %q, want %q", test.name, test.program, test.release, got, test.want)
		}
	}
}
