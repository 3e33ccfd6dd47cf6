package detect

import (
	"strings"

	"leakdiff/analysis/expression"
)

var (
	hostnameFile = expression.Lazy(`^hostname(_-f)?(\.txt)?$`)
	hostnameText = expression.Lazy(`^[A-Za-z0-9][A-Za-z0-9._-]{0,252}$`)
	dateFile     = expression.Lazy(`^date(_--utc)?(\.txt)?$`)
	dateText     = expression.Lazy(`^([A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d |[A-Z][a-z]{2} \d\d? [A-Z][a-z]{2} \d{4} |\d{4}-\d\d-\d\d[T ]\d\d:\d\d)`)
	hostJSON     = expression.Lazy(`^(agent-)?host\.json$`)
	hostKey      = expression.Lazy(`"[Hh]ostname"\s*:\s*"[^"]+"`)
	hostVariable = expression.Lazy(`(?m)^HOSTNAME=\S+$`)
	schema       = expression.Lazy(`^\s*\{\s*"schema"\s*:\s*"leakdiff\.(capture|watches)/\d+"`)
	hostLine     = expression.Lazy(`(?mi)^\s*(hostname|host name)\s*:\s*\S+\s*$`)
)

// manifest finds the small files in which collectors record where and when they ran.
// Their names alone prove nothing; their content must fit.
func (v *view) manifest() (Result, bool) {
	switch found := schema.FindSubmatch(v.text); {
	case found == nil:
	case string(found[1]) == "capture":
		return high(Capture, "its first key is the schema of a manifest of leakdiff collect")
	default:
		return high(WatchTargets, "each line begins with the schema of a watched file handle")
	}
	one := strings.TrimSpace(v.first())
	switch {
	case !v.Whole:
		return no()
	case hostnameFile.MatchString(v.base) && len(v.lines) == 1 && hostnameText.MatchString(one):
		return high(Manifest, "one word in a file named "+v.base+": the name of the host")
	case dateFile.MatchString(v.base) && len(v.lines) == 1 && dateText.MatchString(one):
		return high(Manifest, "one date in a file named "+v.base+": when the collector ran")
	case hostJSON.MatchString(v.base) && hostKey.Match(v.text):
		return high(Manifest, "JSON in a file named "+v.base+" that names the host")
	case strings.HasSuffix(v.base, "environment.txt") && hostVariable.Match(v.text):
		return high(Manifest, "an environment, of which only the name of the host is read")
	case (strings.HasPrefix(v.base, "diagnostics.y") || v.base == "system.yaml") && hostLine.Match(v.text):
		return high(Manifest, "YAML in a file named "+v.base+" that names the host")
	}
	return no()
}
