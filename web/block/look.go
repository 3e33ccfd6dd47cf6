package block

import "strings"

// VerdictLook is how a verdict is drawn: class, glyph and word.
type VerdictLook struct{ Class, Glyph, Word string }

// Look draws every verdict and role of the domain; a word it does not know is
// printed plainly. "too_few_points" gives "few", "…", "too few points".
func Look(verdict string) VerdictLook {
	verdict = strings.ReplaceAll(verdict, " ", "_")
	switch verdict {
	case "leaking":
		return VerdictLook{"leaking", "▲", verdict}
	case "saturated":
		return VerdictLook{"limit", "▮", verdict}
	case "suspicious":
		return VerdictLook{"suspicious", "△", verdict}
	case "scaling":
		return VerdictLook{"scaling", "∝", "scales with load"}
	case "stopped":
		return VerdictLook{"neutral", "▪", verdict}
	case "grew":
		return VerdictLook{"neutral", "↑", verdict}
	case "new":
		return VerdictLook{"new", "+", verdict}
	case "shrinking":
		return VerdictLook{"shrinking", "▼", verdict}
	case "gone":
		return VerdictLook{"gone", "×", verdict}
	case "stable":
		return VerdictLook{"stable", "=", verdict}
	case "too_few_points":
		return VerdictLook{"few", "…", "too few points"}
	case "one_dump":
		return VerdictLook{"few", "…", "one dump"}
	case "possible_culprit":
		return VerdictLook{"culprit", "◆", "possible culprit"}
	case "victim":
		return VerdictLook{"victim", "◇", verdict}
	case "fact":
		return VerdictLook{"scaling", "●", verdict}
	case "observer_effect":
		return VerdictLook{"few", "○", "observer effect"}
	case "follows":
		return VerdictLook{"scaling", "↳", verdict}
	case "ended":
		return VerdictLook{"shrinking", "×", verdict}
	case "limit":
		return VerdictLook{"limit", "▮", verdict}
	}
	return VerdictLook{"few", "", strings.ReplaceAll(verdict, "_", " ")}
}

// marks are the signs and words of what people decide about families.
var marks = map[string][2]string{"reviewed": {"✓", "reviewed"}, "benign": {"○", "benign"}, "suspicious": {"△", "marked suspicious"}}
