package goroutine

import (
	"bytes"
	"strconv"
	"strings"

	"leakdiff/analysis"
)

// ParseLabels reads the label set of a header, Goroutine.Labels. What is damaged of it and
// what follows is left out.
func ParseLabels(printed string) map[string]string {
	labels, _ := parseLabels([]byte(printed))
	return labels
}

// parseLabels reads a label set as a header or runtime/pprof.labelMap prints it, and reports
// whether it was understood to its end.
//
//	`{"svc": "x,y", "na me": "quo\"te]:, x"}`, `{svc: db, tenant: "a b"}`, `{"svc":"db"}`
func parseLabels(b []byte) (map[string]string, bool) {
	rest, ok := bytes.CutPrefix(b, []byte("{"))
	labels := map[string]string{}
	for ok {
		if string(rest) == "}" {
			return labels, true
		}
		var key, value string
		if key, rest, ok = labelToken(rest); !ok {
			break
		}
		if rest, ok = bytes.CutPrefix(rest, []byte(":")); !ok {
			break
		}
		if value, rest, ok = labelToken(bytes.TrimPrefix(rest, []byte(" "))); !ok {
			break
		}
		labels[key] = value
		rest = bytes.TrimPrefix(rest, []byte(", "))
	}
	if len(labels) == 0 {
		return nil, false
	}
	return labels, false
}

// labelToken takes a Go string literal or a bare word off b.
func labelToken(b []byte) (token string, rest []byte, ok bool) {
	if !bytes.HasPrefix(b, []byte(`"`)) {
		end := bytes.IndexAny(b, `:,} "`)
		if end <= 0 {
			return "", nil, false
		}
		return validText(b[:end]), b[end:], true
	}
	literal, err := strconv.QuotedPrefix(string(b))
	if err != nil {
		return "", nil, false
	}
	token, err = strconv.Unquote(literal)
	return validText([]byte(token)), b[len(literal):], err == nil
}

// printed is a label set as a header prints it, "" for none.
func printed(labels []analysis.Label) string {
	if len(labels) == 0 {
		return ""
	}
	words := make([]string, len(labels))
	for i, l := range labels {
		words[i] = strconv.Quote(l.Key) + ": " + strconv.Quote(l.Value)
	}
	return "{" + strings.Join(words, ", ") + "}"
}
