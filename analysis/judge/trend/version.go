package trend

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// Before and After are the versions of captures that people call so.
const (
	Before = "before"
	After  = "after"
)

func order(version string) int {
	if version == Before {
		return 0
	}
	return 1
}

// compareVersions compares numbers as numbers: v1.9 is before v1.10, and a pre-release
// before its release.
func compareVersions(a, b string) int {
	if a == Before || b == Before {
		return cmp.Compare(order(a), order(b))
	}
	x, y := versionParts(a), versionParts(b)
	for k := 0; k < len(x) && k < len(y); k++ {
		if c := comparePart(x[k], y[k]); c != 0 {
			return c
		}
	}
	switch {
	case len(x) < len(y):
		return -prerelease(y[len(x)])
	case len(x) > len(y):
		return prerelease(x[len(y)])
	}
	return strings.Compare(a, b)
}

// prerelease is -1 for a word after the numbers ("rc"), because it makes a version
// older. It is 1 for one more number.
func prerelease(part string) int {
	if part[0] < '0' || part[0] > '9' {
		return -1
	}
	return 1
}

// versionParts splits into runs of digits and of letters: "v1.10-rc1" is 1 10 rc 1.
func versionParts(v string) []string {
	var parts []string
	class := func(c byte) int {
		switch {
		case c >= '0' && c <= '9':
			return 1
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z':
			return 2
		}
		return 0
	}
	v = strings.TrimPrefix(v, "v")
	for i := 0; i < len(v); {
		c, j := class(v[i]), i
		for j < len(v) && class(v[j]) == c {
			j++
		}
		if c != 0 {
			parts = append(parts, v[i:j])
		}
		i = j
	}
	return parts
}

func comparePart(a, b string) int {
	numberA, numberB := a[0] >= '0' && a[0] <= '9', b[0] >= '0' && b[0] <= '9'
	switch {
	case numberA && numberB:
		a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
		return cmp.Or(len(a)-len(b), strings.Compare(a, b))
	case numberA:
		return 1
	case numberB:
		return -1
	}
	return strings.Compare(a, b)
}

// commit reports the hash of a commit.
func commit(version string) bool {
	return len(version) >= 7 && strings.Trim(version, "0123456789abcdef") == "" && strings.ContainsAny(version, "abcdef")
}

// halfway is a version between two: in the middle where their numbers differ by more than one, and
// the first of its line where the newer one is a later release of the next line. It is "" for
// neighbours and for versions that are no numbers.
//
//	v1.5.2, v1.5.5 = v1.5.3; v1.29.4, v1.30.6 = v1.30.0; v1.30.0, v1.31.0 = ""
func halfway(good, bad string) string {
	a, b := versionParts(good), versionParts(bad)
	if len(a) != len(b) {
		return ""
	}
	for k := range a {
		low, err := strconv.Atoi(a[k])
		high, errHigh := strconv.Atoi(b[k])
		switch {
		case err != nil || errHigh != nil, len(a[k]) > 4:
			return ""
		case low == high:
			continue
		case high < low, high-low == 1 && strings.Trim(strings.Join(b[k+1:], ""), "0") == "":
			return ""
		}
		out := slices.Clone(a[:k])
		out = append(out, strconv.Itoa(low+max(1, (high-low)/2)))
		for range a[k+1:] {
			out = append(out, "0")
		}
		text := strings.Join(out, ".")
		if strings.HasPrefix(good, "v") {
			text = "v" + text
		}
		return text
	}
	return ""
}

// Older reports whether one version comes before another.
func Older(version, other string) bool {
	return !commit(version) && !commit(other) && version != other && compareVersions(version, other) < 0
}
