package evidence

import (
	"fmt"
	"strings"

	"leakdiff/analysis/judge/trend"
	"leakdiff/analysis/say/wording"
)

// Bisection is the answer in a sentence: which version brought a growth, and which ended it.
func Bisection(b trend.Bisection) string {
	var text string
	switch {
	case b.FirstBad != "":
		text = "first bad version: " + b.FirstBad
		if b.LastGood != "" {
			text += "; last good: " + b.LastGood
		}
	case b.EarliestBad == "":
		return "no version is known to be bad"
	case b.Unordered:
		return unordered(b)
	case b.EarliestBad == trend.Before && b.Fixed == trend.After:
		return "bad before the change, good after it"
	case b.EarliestBad == trend.Before:
		return "bad before the change" + replaced(b)
	case b.LastGood == "":
		text = "bad from " + b.EarliestBad + " at the latest; no older version is known to be good"
	default:
		text = fmt.Sprintf("it began between %s (good) and %s (bad)", b.LastGood, b.EarliestBad)
	}
	if b.Fixed != "" {
		text += "; fixed in " + b.Fixed
	}
	if len(b.Set) > 1 {
		text += "; 95 % of the probability: " + wording.Commas(b.Set, 6)
	}
	if b.Next != "" {
		text += fmt.Sprintf("; next to test: %s, at least %s with a snapshot every %s, under the same load", b.Next,
			wording.AtLeast(b.NextHours), wording.AtLeast(b.NextHours/5))
	}
	text += replaced(b)
	if len(b.Confounds) > 0 {
		text += "; also different: " + strings.Join(b.Confounds, ", ")
	}
	return text
}

// replaced names what leaks in versions that lack the family.
func replaced(b trend.Bisection) string {
	text, said := "", 0
	for _, r := range b.Rows {
		if r.Instead == nil {
			continue
		}
		if said++; said > 2 {
			return text + "; and more versions alike"
		}
		text += fmt.Sprintf("; not in %s, where %s, perhaps the same by another name", r.Version, Instead(r.Instead))
	}
	return text
}

// Instead names a family that leaks where the one that is compared does not, and its pace.
func Instead(i *trend.Instead) string {
	if i.Rate <= 0 {
		return i.Title + " leaks"
	}
	figure, unit := wording.Pace(i.Rate)
	return i.Title + " leaks at " + figure + " " + unit
}

// unordered is the answer about commits: which are bad and which good.
func unordered(b trend.Bisection) string {
	var parts []string
	for _, verdict := range []trend.VersionVerdict{trend.Bad, trend.Good, trend.Unknown} {
		var list []string
		for _, r := range b.Rows {
			if r.Verdict == verdict {
				list = append(list, r.Version)
			}
		}
		if len(list) > 0 {
			parts = append(parts, string(verdict)+": "+wording.Commas(list, 6))
		}
	}
	return strings.Join(parts, "; ") + replaced(b) + "; the order of commits is not known"
}
