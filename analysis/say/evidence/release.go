package evidence

import (
	"strings"

	"leakdiff/analysis/judge/knowledge"
	"leakdiff/analysis/say/wording"
)

// Releases says how the seen version stands to the releases with the fix of an entry:
//
//	seen v1.6.20 (metrics.txt), fixed in 1.6.36, 1.7.21: affected
//	CVE-2022-23471 (GHSA-2qjp-425j-52j9), fixed in 1.6.12; the version of containerd was not seen
func Releases(e *knowledge.Entry, c knowledge.Comparison) string {
	fix := "no release with a fix is known here"
	switch {
	case c.Seen != "" && len(e.Versions.Fixed) > 0, len(e.Advisories) > 0 && c.Component != "":
		fix = "fixed in " + strings.Join(e.Versions.Fixed, ", ")
	case e.FixedIn != "":
		fix = "fix as reported: " + e.FixedIn
	}
	listed := len(e.Advisories) > 0
	switch {
	case c.Component == "":
		return fix
	case c.Seen == "" && listed:
		return advisories(e) + ", " + fix + "; the version of " + c.Component + " was not seen"
	case c.Seen == "":
		return "the version of " + c.Component + " was not seen; " + fix
	case listed:
		return advisories(e) + ", " + fix + ", you run " + seen(c) + means[c.Verdict]
	}
	return "seen " + seen(c) + ", " + fix + means[c.Verdict]
}

// means are the verdicts on a version in words.
var means = map[knowledge.VersionVerdict]string{
	knowledge.VersionAffected: ": affected",
	knowledge.VersionFixed:    ": the fix is in it, so that this growth has another cause or the fix does not hold",
	knowledge.VersionBefore:   ": older than the release that brought it",
	knowledge.VersionUnclear:  ": whether it is in this line of releases is not known",
}

func seen(c knowledge.Comparison) string {
	if c.Source == "" {
		return c.Seen
	}
	return c.Seen + " (" + c.Source + ")"
}

// advisories are the ids of a leak, the first one in front:
//
//	CVE-2022-23471 (GHSA-2qjp-425j-52j9, GO-2022-1147)
func advisories(e *knowledge.Entry) string {
	if len(e.Advisories) == 1 {
		return e.Advisories[0]
	}
	return e.Advisories[0] + " (" + strings.Join(e.Advisories[1:], ", ") + ")"
}

// Upgrades are the steps of a class whose versions were compared, each with a note if the seen
// version has it already.
func Upgrades(class *knowledge.Class, compared []knowledge.Comparison) (out []string) {
	for i, c := range compared {
		step := class.Upgrades[i].Text
		if c.Verdict == knowledge.VersionFixed {
			step = "No upgrade of " + c.Component + " is needed for what " + wording.Ands(class.Upgrades[i].Fixed) + " mended: seen " + seen(c) + ", the fix is in it."
		}
		out = append(out, step)
	}
	return out
}
