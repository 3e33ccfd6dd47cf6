package evidence

import (
	"slices"
	"testing"

	"leakdiff/analysis/judge/knowledge"
)

func TestReleasesAreComparedInWords(t *testing.T) {
	fixed := &knowledge.Entry{Versions: knowledge.Versions{Component: "containerd", Fixed: []string{"1.6.36", "1.7.21"}}}
	listed := &knowledge.Entry{Versions: fixed.Versions, Advisories: []string{"CVE-2025-64329", "GHSA-m6hq-p25p-ffr2", "GO-2025-4108"}}
	reported, none := &knowledge.Entry{FixedIn: "the release of May"}, &knowledge.Entry{}
	run := func(verdict knowledge.VersionVerdict) knowledge.Comparison {
		return knowledge.Comparison{Component: "containerd", Seen: "1.6.20", Source: "metrics.txt", Verdict: verdict}
	}
	unseen := knowledge.Comparison{Component: "containerd"}
	for _, test := range []struct {
		name  string
		entry *knowledge.Entry
		of    knowledge.Comparison
		want  string
	}{
		{"an affected release", fixed, run(knowledge.VersionAffected), "seen 1.6.20 (metrics.txt), fixed in 1.6.36, 1.7.21: affected"},
		{"one with the fix", fixed, run(knowledge.VersionFixed), "seen 1.6.20 (metrics.txt), fixed in 1.6.36, 1.7.21: the fix is in it, so that this growth has another cause or the fix does not hold"},
		{"one before the leak came", fixed, run(knowledge.VersionBefore), "seen 1.6.20 (metrics.txt), fixed in 1.6.36, 1.7.21: older than the release that brought it"},
		{"one of which that is not known", fixed, run(knowledge.VersionUnclear), "seen 1.6.20 (metrics.txt), fixed in 1.6.36, 1.7.21: whether it is in this line of releases is not known"},
		{"no release was seen", fixed, unseen, "the version of containerd was not seen; no release with a fix is known here"},
		{"an advisory names the releases", listed, run(knowledge.VersionAffected), "CVE-2025-64329 (GHSA-m6hq-p25p-ffr2, GO-2025-4108), fixed in 1.6.36, 1.7.21, you run 1.6.20 (metrics.txt): affected"},
		{"an advisory, and no release was seen", listed, unseen, "CVE-2025-64329 (GHSA-m6hq-p25p-ffr2, GO-2025-4108), fixed in 1.6.36, 1.7.21; the version of containerd was not seen"},
		{"a fix in words cannot be compared", reported, knowledge.Comparison{}, "fix as reported: the release of May"},
		{"no fix is known", none, knowledge.Comparison{}, "no release with a fix is known here"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := Releases(test.entry, test.of); got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

func TestAnUpgradeThatIsInTheSeenReleaseIsNotAdvised(t *testing.T) {
	class := &knowledge.Class{Upgrades: []knowledge.Upgrade{{Text: "Upgrade it.", Component: "cadvisor", Fixed: []string{"0.44.0"}}}}
	for verdict, want := range map[knowledge.VersionVerdict]string{
		knowledge.VersionAffected: "Upgrade it.",
		knowledge.VersionFixed:    "No upgrade of cadvisor is needed for what 0.44.0 mended: seen v0.52.1, the fix is in it.",
	} {
		of := []knowledge.Comparison{{Component: "cadvisor", Seen: "v0.52.1", Verdict: verdict}}
		if got := Upgrades(class, of); !slices.Equal(got, []string{want}) {
			t.Errorf("%s: %q, want %q", verdict, got, want)
		}
	}
	if got := Upgrades(class, nil); got != nil {
		t.Errorf("versions that nobody compared: %q", got)
	}
}
