package knowledge

import "testing"

func TestTheNextReleaseWithTheFixIsNamed(t *testing.T) {
	ranges := Versions{Fixed: []string{"1.7.35", "2.0.12", "2.3.5"}, Affected: []Range{{Fixed: "1.7.35"}, {Introduced: "2.0.0", Fixed: "2.0.12"}, {Introduced: "2.3.0", Fixed: "2.3.5"}}}
	for _, test := range []struct {
		name, seen string
		verdict    VersionVerdict
		fix        string
	}{
		{"older than every line", "1.6.20", VersionAffected, "1.7.35"},
		{"in a line", "2.0.3", VersionAffected, "2.0.12"},
		{"the last one without it", "2.0.11", VersionAffected, "2.0.12"},
		{"the first one with it", "2.0.12", VersionFixed, ""},
		{"a pre-release of the first of a line", "2.3.0-rc.1", VersionAffected, "2.3.5"},
		{"a pre-release that is older than the line", "2.0.0-beta.2", VersionAffected, "2.0.12"},
		{"newer than every line", "2.4.0", VersionFixed, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			r, ok := newRelease(test.seen)
			if !ok {
				t.Fatal("it is no release")
			}
			fix := ""
			verdict := ranges.verdict(r)
			if verdict == VersionAffected {
				fix = ranges.nearest(r)
			}
			if verdict != test.verdict || fix != test.fix {
				t.Errorf("%s, %q; want %s, %q", verdict, fix, test.verdict, test.fix)
			}
		})
	}
}

func TestCapitalsOfModuleCachesAreRead(t *testing.T) {
	const file = "/go/pkg/mod/github.com/!click!house/clickhouse-go/v2@v2.40.0/clickhouse.go"
	r, ok := Module{Path: "github.com/ClickHouse/clickhouse-go/v2"}.in(file)
	if !ok || r.numbers != [3]int{2, 40, 0} {
		t.Errorf("%+v of %s", r, file)
	}
	if got := unescaped("a/!b!/c!D"); got != "a/B!/c!D" {
		t.Errorf("%q", got)
	}
	r, ok = Module{Path: "k8s.io/client-go", Major: 1}.in("/go/pkg/mod/k8s.io/client-go@v0.29.3/rest/request.go")
	if got := (Versions{Fixed: []string{"1.14.8", "1.36.0"}}).nearest(r); !ok || got != "1.36.0" {
		t.Errorf("the next release after v0.29.3 of client-go is %q, want 1.36.0", got)
	}
}

func TestALeadIsWhatNothingCanMatch(t *testing.T) {
	c := Builtin()
	for id, want := range map[string]bool{
		"k8s-115192":      true,  // a title and a trigger
		"agentfield-153":  true,  // its versions are in no list that is read
		"containerd-9668": false, // frames
		"undici-5462":     false, // npm lists the package
		"jenkins-889":     false, // Jenkins lists the plugin
	} {
		if e := c.Entry(id); e == nil || c.IsLead(e) != want {
			t.Errorf("%s: want a lead: %v", id, want)
		}
	}
}
