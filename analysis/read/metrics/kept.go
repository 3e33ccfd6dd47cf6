package metrics

import (
	"cmp"
	_ "embed"
	"math"
	"strings"
	"sync"
)

//go:embed kept.txt
var keptText string

// kept is how samples of a metric are added up, by its name.
var kept = sync.OnceValue(func() map[string]string {
	out := map[string]string{}
	for row := range strings.Lines(keptText) {
		if words := strings.Fields(row); len(words) == 2 && words[0] != "#" {
			if words[0] == "buckets" {
				words[1] += "_bucket"
			}
			out[words[1]] = words[0]
		}
	}
	return out
})

// maxLabel bounds the name of a pool.
const maxLabel = 80

// maxBuckets bounds the kept buckets of all histograms of a page.
const maxBuckets = 128

// figureOf is the figure that a sample is added to, "" for none.
func (s *sample) figureOf() string {
	switch kept()[s.Name] {
	case "sum":
		return s.Name
	case "class":
		if code := s.Labels["code"]; len(code) == 3 && (code[0] == '4' || code[0] == '5') {
			return s.Name + `{code="` + code[:1] + `xx"}`
		}
	case "each":
		if label := cmp.Or(s.Labels["pool"], s.Labels["name"], s.Labels["id"]); label != "" && len(label) <= maxLabel {
			return s.Name + "{" + label + "}"
		}
	case "buckets":
		if le := s.Labels["le"]; le != "" {
			return s.Name + `{le="` + le + `"}`
		}
	}
	return ""
}

// keep adds a sample to the figure of a signal. It reports whether the sample is of one.
func (c *collector) keep(s *sample) bool {
	figure := s.figureOf()
	if figure == "" || s.Value < 0 || math.IsInf(s.Value, 0) || math.IsNaN(s.Value) {
		return false
	}
	if _, known := c.figures[figure]; !known {
		if len(c.signals) >= maxBuckets {
			return true
		}
		c.signals[figure] = true
	}
	c.figures[figure] += s.Value
	return true
}
