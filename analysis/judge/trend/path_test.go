package trend

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"leakdiff/analysis"
)

func TestADirectoryIsOneOfManyAboveWhatDiffers(t *testing.T) {
	for _, tt := range []struct {
		path string
		want map[string]string
	}{
		{"/data/acme/<uid>/segment.log", map[string]string{"/data/*/<uid>/segment.log": "acme"}},
		{"/data/eu/acme/<uid>/segment.log", map[string]string{"/data/*/acme/<uid>/segment.log": "eu", "/data/eu/*/<uid>/segment.log": "acme"}},
		{"/data/acme/segment-<n>.log", map[string]string{"/data/*/segment-<n>.log": "acme"}},
		{"/data/acme/segment.log", nil},
		{"/acme/<uid>/segment.log", nil},
		{"/var/log/<n>.log", nil},
		{"/var/lib/app/<n>.log", map[string]string{"/var/lib/*/<n>.log": "app"}},
		{"/usr/share/<n>/x", nil},
		{"/sys/fs/cgroup/cpu/<id>/tasks", nil},
		{"/proc/<n>/task/x/<n>", nil},
		{"memfd/a/<n>", nil},
		{"", nil},
	} {
		if got := directoriesOf(tt.path); !maps.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", tt.path, got, tt.want)
		}
	}
}

func TestAFileIsOneOfManyBesideItByOneWordOfItsName(t *testing.T) {
	for _, tt := range []struct {
		path string
		want map[string]string
	}{
		{"/app/logs/audit-acme.log", map[string]string{"/app/logs/audit-*.log": "acme", "/app/logs/*-acme.log": "audit"}},
		{"/app/logs/acme.log", map[string]string{"/app/logs/*.log": "acme"}},
		{"/app/logs/audit_acme", map[string]string{"/app/logs/audit_*": "acme", "/app/logs/*_acme": "audit"}},
		{"/app/logs/acme", nil},
		{"/app/logs/audit-<n>.log", map[string]string{"/app/logs/*-<n>.log": "audit"}},
		{"/proc/<n>/net.tcp", nil},
		{"memfd-a.x", nil},
		{"/", nil},
		{"", nil},
	} {
		if got := namesOf(tt.path); !maps.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", tt.path, got, tt.want)
		}
	}
}

// tenantFiles are files below one directory for each tenant, by their lines.
func tenantFiles(t *testing.T, kind string, lines map[string]string) *Series {
	snaps := scenario{kind: analysis.KindDescriptor, families: lines}.snapshots(t)
	for _, snap := range snaps {
		for k := range snap.Groups {
			g := &snap.Groups[k]
			c := g.Members.Fill()
			c.Sub = slices.Clone(c.ID) // the inode beside the number
			g.Family.Attributes = map[string]string{"type": kind, "path": g.Family.Fingerprint}
		}
	}
	return seriesOf(snaps)
}

// TestFilesOfManyTenantsLeakAsOne: nine come each time, a third of them of each tenant, and all but one of
// these are gone at the next capture: no tenant has enough that stay.
func TestFilesOfManyTenantsLeakAsOne(t *testing.T) {
	lines := func(path string, names ...string) map[string]string {
		out := map[string]string{}
		for at, name := range names {
			var words []string
			for k := range 10 {
				var ids []string
				for earlier := range k {
					ids = append(ids, fmt.Sprint(1000*at+10*earlier+1))
				}
				words = append(words, strings.Join(append(ids, fmt.Sprintf("%d-%d", 1000*at+10*k+1, 1000*at+10*k+3)), ","))
			}
			out[fmt.Sprintf(path, name)] = strings.Join(words, " ")
		}
		return out
	}
	for _, tt := range []struct {
		name, kind string
		lines      map[string]string
		want       string
	}{
		{"of three", "file", lines("/data/%s/<uid>/segment.log", "acme", "globex", "hooli"), "/data/*/<uid>/segment.log"},
		{"of two", "file", lines("/data/%s/<uid>/segment.log", "acme", "globex"), ""},
		{"of three directories of the system", "file", lines("/var/%s/<uid>/segment.log", "log", "lib", "cache"), ""},
		{"beside each other", "file", lines("/data/logs/audit-%s.log", "acme", "globex", "hooli"), "/data/logs/audit-*.log"},
		{"of two beside each other", "file", lines("/data/logs/audit-%s.log", "acme", "globex"), ""},
		{"of sockets", "unix", lines("/data/%s/<uid>/segment.log", "acme", "globex", "hooli"), ""},
	} {
		var got []string
		for _, k := range tenantFiles(t, tt.kind, tt.lines).Keys() {
			if k.By == ByPath {
				got = append(got, k.Name)
				if k.Judgement.Verdict != analysis.Leaking || len(k.Families) != 3 || k.Of != 3 {
					t.Errorf("%s: %+v; want one leak of three families", tt.name, k)
				}
			}
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s: %v, want %q", tt.name, got, tt.want)
		}
	}
}

// TestFilesThatAreOpenedOnceAreNoneOfMany: two of each come and stay, or one of each.
func TestFilesThatAreOpenedOnceAreNoneOfMany(t *testing.T) {
	for _, tt := range []struct {
		last  string
		lines map[string]string
		want  int
	}{
		{"twice", map[string]string{"/app/lib/a.jar": "1 1-2 1-3", "/app/lib/b.jar": "11 11-12 11-13", "/app/lib/c.jar": "21 21-22 21-23"}, 1},
		{"once", map[string]string{"/app/lib/a.jar": "1 1-2 1-2", "/app/lib/b.jar": "11 11-12 11-12", "/app/lib/c.jar": "21 21-22 21-22"}, 0},
	} {
		if got := tenantFiles(t, "file", tt.lines).pathsApart(); len(got) != tt.want {
			t.Errorf("%s again: %+v", tt.last, got)
		}
	}
}

// TestATenantThatHasMostOfTheRiseIsNamed: it leaks by itself, and the others stay as they are.
func TestATenantThatHasMostOfTheRiseIsNamed(t *testing.T) {
	s := tenantFiles(t, "file", map[string]string{
		"/data/acme/<uid>/segment.log":   "1-5 1-15 1-25 1-35 1-45 1-55",
		"/data/globex/<uid>/segment.log": "501 501 501 501 501 501",
		"/data/hooli/<uid>/segment.log":  "601 601 601 601 601 601-602",
	})
	if keys := s.Keys(); len(keys) != 0 || s.Verdicts()["/data/acme/<uid>/segment.log"] != analysis.Leaking {
		t.Errorf("%+v, beside %v; want the one tenant alone", keys, s.Verdicts())
	}
}
