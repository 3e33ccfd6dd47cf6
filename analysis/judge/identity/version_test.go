package identity

import (
	"testing"

	"leakdiff/analysis"
)

func TestANameMayStateTheVersionOfTheProgram(t *testing.T) {
	tests := []struct{ name, want string }{
		{"v1.5.2", "v1.5.2"},
		{"app-v1.5.2-t0.tgz", "v1.5.2"},
		{"app-1.5.2.tar.gz", "1.5.2"},
		{"shop_v1.10.0-rc2", "v1.10.0-rc2"},
		{"v1.10.0-rc.2.zip", "v1.10.0-rc.2"},
		{"v1.5", "v1.5"},
		{"app-1.5", "1.5"},
		{"1.5.2", "1.5.2"},
		{"good-3f2a1bc", "3f2a1bc"},
		{"3f2a1bc4d5e6f708192a3b4c5d6e7f8091a2b3c4", "3f2a1bc4d5e6f708192a3b4c5d6e7f8091a2b3c4"},
		{"shop-3f2a1bc.tgz", "3f2a1bc"},
		{"shop-3f2a1bc-t0.txt", "3f2a1bc"},

		{"t0", ""},
		{"t1.5", ""},
		{"round-2", ""},
		{"2026-11-21T03-04-05Z", ""},
		{"2026.11.21", ""},
		{"20261121", ""},
		{"dump-03.15.22.txt", ""},
		{"dump-12.15.22.txt", ""},
		{"21.11.2026", ""},
		{"1.34.10", "1.34.10"},
		{"v1.34.10", "v1.34.10"},
		{"jdk-17.0.1", ""},
		{"jdk-17", ""},
		{"go1.26.1", ""},
		{"node-20.1.0", ""},
		{"10.0.0.1", ""},
		{"ip-10.0.0.1", ""},
		{"linux-6.1.0", ""},
		{"node-1", ""},
		{"worker-3f2a1bc", ""},
		{"cart-7d9f8b6c5d-x2x4z", ""},
		{"3f2a1bc0-1234-5678-9abc-def012345678", ""},
		{"1234567", ""},
		{"defaced", ""},
		{"goroutine-debug2.txt", ""},
		{"proc", ""},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			if got := versionIn(tc.name, "shop"); got.value != tc.want {
				t.Errorf("version %q, want %q", got.value, tc.want)
			}
		})
	}
}

// of is a snapshot of the program shop with evidence at a path.
func of(path, version string) analysis.Snapshot {
	return analysis.Snapshot{
		Process:   analysis.Process{Name: analysis.Fact{Value: "shop"}, Version: analysis.Fact{Value: version, Source: "metrics.txt"}},
		Artifacts: []analysis.Artifact{{Path: path, Members: 3}},
	}
}

func TestVersionsOfACaseFromItsNames(t *testing.T) {
	tests := []struct {
		name  string
		paths []string
		given []string
		want  []string
	}{
		{"a plain version counts alone", []string{"v1.5.2/t0/g.txt", "v1.5.2/t1/g.txt"}, nil, []string{"v1.5.2", "v1.5.2"}},
		{"two numbers alone are no version", []string{"app-1.5/t0/g.txt", "app-1.5/t1/g.txt"}, nil, []string{"", ""}},
		{"two numbers count where they differ", []string{"app-1.5/t0/g.txt", "app-1.5/t1/g.txt", "app-1.6/t1/g.txt"}, nil, []string{"1.5", "1.5", "1.6"}},
		{"numbers that differ in each name number the dumps", []string{"dump-1.5.1.txt", "dump-1.5.2.txt", "dump-1.5.3.txt"}, nil, []string{"", "", ""}},
		{"hashes that differ in each name name the dumps", []string{"3f2a1bc.txt", "9e8d7c6.txt"}, nil, []string{"", ""}},
		{"with a v one dump each is enough", []string{"v1.5.2.txt", "v1.5.3.txt"}, nil, []string{"v1.5.2", "v1.5.3"}},
		{"one hash alone is no version", []string{"good-3f2a1bc/t0/g.txt"}, nil, []string{""}},
		{"hashes count where they differ", []string{"good-3f2a1bc/t0/g.txt", "good-3f2a1bc/t1/g.txt", "bad-9e8d7c6/t0/g.txt"}, nil, []string{"3f2a1bc", "3f2a1bc", "9e8d7c6"}},
		{"what all share is not what differs", []string{"sos-v4.5.1/good-3f2a1bc/t0/g.txt", "sos-v4.5.1/good-3f2a1bc/t1/g.txt", "sos-v4.5.1/bad-9e8d7c6/t0/g.txt"}, nil, []string{"3f2a1bc", "3f2a1bc", "9e8d7c6"}},
		{"archives", []string{"shop-v1.5.2.tgz!/t0/g.txt", "shop-v1.5.3.tgz!/t0/g.txt"}, nil, []string{"v1.5.2", "v1.5.3"}},
		{"the contents decide", []string{"v1.5.2/t0/g.txt", "v1.5.3/t0/g.txt"}, []string{"1.5.9, go1.26.1", ""}, []string{"1.5.9, go1.26.1", "v1.5.3"}},
		{"a runtime in the contents is kept", []string{"v1.5.2/t0/g.txt"}, []string{"go1.26.1"}, []string{"v1.5.2, go1.26.1"}},
		{"an unstamped build says nothing", []string{"v1.5.2/t0/g.txt"}, []string{"(devel), go1.26.1"}, []string{"v1.5.2, go1.26.1"}},
		{"another snapshot of the same name states it", []string{"v1.5.2/t0/g.txt", "v1.5.2/t1/g.txt"}, []string{"1.5.2-hotfix", ""}, []string{"1.5.2-hotfix", ""}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			var all []analysis.Snapshot
			for i, p := range tc.paths {
				given := ""
				if i < len(tc.given) {
					given = tc.given[i]
				}
				all = append(all, of(p, given))
			}
			NameVersions(all)
			for i := range all {
				if got := all[i].Process.Version.Value; got != tc.want[i] {
					t.Errorf("version of %s is %q, want %q", tc.paths[i], got, tc.want[i])
				}
			}
			NameVersions(all)
			for i := range all {
				if got := all[i].Process.Version.Value; got != tc.want[i] {
					t.Errorf("a second time the version of %s is %q, want %q", tc.paths[i], got, tc.want[i])
				}
			}
		})
	}
}

func TestTheVersionOfANameHasItsSource(t *testing.T) {
	all := []analysis.Snapshot{of("x/v1.5.2/t0/g.txt", "go1.26.1")}
	NameVersions(all)
	if got := all[0].Process.Version; got.Source != "the name v1.5.2; go1.26.1: metrics.txt" || got.Confidence != analysis.Low {
		t.Errorf("%+v", got)
	}
}

func TestVersionsThatTakeTurnsAreSeriesOfTheirOwn(t *testing.T) {
	tests := []struct {
		name  string
		paths []string
		want  int
	}{
		{"one after the other", []string{"v1.5.2/t0/g", "v1.5.2/t1/g", "v1.5.3/t0/g", "v1.5.3/t1/g"}, 1},
		{"side by side", []string{"v1.5.2/t0/g", "v1.5.3/t0/g", "v1.5.2/t1/g", "v1.5.3/t1/g"}, 2},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			var all []analysis.Snapshot
			for i, p := range tc.paths {
				all = append(all, of(p, ""))
				all[i].Order = i
			}
			NameVersions(all)
			keys := map[string]bool{}
			for _, k := range SeriesKeys(all) {
				keys[k] = true
			}
			if len(keys) != tc.want {
				t.Errorf("%d series, want %d: %v", len(keys), tc.want, keys)
			}
		})
	}
}

func TestTheNameOfAnUploadMayStateTheVersion(t *testing.T) {
	all := []analysis.Snapshot{of("t0/g.txt", ""), of("t1/g.txt", "")}
	all[0].Upload, all[1].Upload = "shop-v1.5.2.tgz", "shop-v1.5.3.tgz"
	NameVersions(all)
	if a, b := all[0].Process.Version, all[1].Process.Version; a.Value != "v1.5.2" || b.Value != "v1.5.3" || a.Source != "the name shop-v1.5.2.tgz" {
		t.Errorf("%+v and %+v", a, b)
	}
}

func TestADirectoryThatStatesAVersionIsNoHost(t *testing.T) {
	tests := []struct {
		name  string
		hosts []string
		want  []string
	}{
		{"alone", []string{"app-v1.5.2", "app-v1.5.3"}, []string{"", ""}},
		{"in a directory of the case", []string{"case/app-v1.5.2", "case/app-v1.5.3"}, []string{"", ""}},
		{"beside hosts", []string{"app-v1.5.2/a", "app-v1.5.3/b"}, []string{"a", "b"}},
		{"a host is none of its parts", []string{"a", "b"}, []string{"a", "b"}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			all := []analysis.Snapshot{of("app-v1.5.2/t0/g", ""), of("app-v1.5.3/t0/g", "")}
			for i, host := range tc.hosts {
				all[i].Process.Host = analysis.Fact{Value: host, Source: byDirectory, Confidence: analysis.Low}
			}
			NameVersions(all)
			for i, want := range tc.want {
				if p := all[i].Process; p.Host.Value != want || p.Host.Known() != (want != "") || !p.Version.Known() {
					t.Errorf("%+v, want the host %q", p, want)
				}
			}
		})
	}
	stated := of("v1.5.2/t0/g", "")
	stated.Process.Host = analysis.Fact{Value: "v1.5.2", Source: "the collector", Confidence: analysis.High}
	all := []analysis.Snapshot{stated}
	if NameVersions(all); all[0].Process.Host != stated.Process.Host || all[0].Process.Version.Known() {
		t.Errorf("%+v, want the host that the contents state", all[0].Process)
	}
}
