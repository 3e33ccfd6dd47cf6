package goroutine

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// ParseLabels reads the label set of a header, Goroutine.Labels. What is damaged of it and
// what follows is left out.
//
//	`{"svc": "x,y", "na me": "quo\"te]:, x"}`, `{svc: db, tenant: "a b"}`
func ParseLabels(printed string) map[string]string {
	rest := strings.TrimPrefix(printed, "{")
	labels := map[string]string{}
	for len(rest) > 0 && rest[0] != '}' {
		key, after, ok := labelToken(rest)
		if !ok || !strings.HasPrefix(after, ": ") {
			break
		}
		value, after, ok := labelToken(after[len(": "):])
		if !ok {
			break
		}
		labels[key] = value
		rest = strings.TrimPrefix(after, ", ")
	}
	return labels
}

// labelToken cuts a quoted text or a bare word.
func labelToken(b string) (token, rest string, ok bool) {
	if strings.HasPrefix(b, `"`) {
		quoted, err := strconv.QuotedPrefix(b)
		if err != nil {
			return "", "", false
		}
		token, err = strconv.Unquote(quoted)
		return token, b[len(quoted):], err == nil
	}
	end := strings.IndexAny(b, ":,}")
	if end < 0 {
		return "", "", false
	}
	return b[:end], b[end:], true
}

// printed is a label set as a header prints it, "" for none.
func printed(labels map[string]string) string {
	if len(labels) == 0 {
		return ""
	}
	var b strings.Builder
	for i, key := range slices.Sorted(maps.Keys(labels)) {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(strconv.Quote(key) + ": " + strconv.Quote(labels[key]))
	}
	return "{" + b.String() + "}"
}
