// Package demand knows the names of metrics that count what others ask of a process. Its
// list is data: demand.txt.
package demand

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
)

//go:embed demand.txt
var list string

// entry is one line of the list.
type entry struct {
	name string
	// unit is one of what a counter counts, "" for a gauge.
	unit string
}

type table struct {
	gauges   []string
	counters []entry
	not      []string
	held     []string
}

var parsed = sync.OnceValue(func() table { return parse(list) })

func parse(list string) table {
	var t table
	for line := range strings.Lines(list) {
		line, _, _ = strings.Cut(line, "#")
		switch words := strings.Fields(line); {
		case len(words) == 2 && words[0] == "gauge":
			t.gauges = append(t.gauges, words[1])
		case len(words) == 3 && words[0] == "rate":
			t.counters = append(t.counters, entry{words[1], words[2]})
		case len(words) == 2 && words[0] == "not":
			t.not = append(t.not, words[1])
		case len(words) == 2 && words[0] == "held":
			t.held = append(t.held, words[1])
		case len(words) > 0:
			panic("demand.txt: " + line)
		}
	}
	return t
}

// Gauges are the metrics whose value is a load, in the order of the list.
func Gauges() []string { return slices.Clone(parsed().gauges) }

// IsGauge reports whether the value of a metric is a load.
func IsGauge(name string) bool { return slices.Contains(parsed().gauges, name) }

// Counter is a counter whose increase is a load.
type Counter struct {
	Name string
	// Unit is one of what it counts: "request".
	Unit string
	// rank is its place in the list.
	rank int
}

// AsCounter finds a counter by its whole name or by its end.
//
//	AsCounter("shop_http_requests_total") = request
//	AsCounter("shop_client_http_requests_total"): none
func AsCounter(name string) (Counter, bool) {
	t := parsed()
	at := slices.IndexFunc(t.counters, func(e entry) bool { return e.name == name })
	if at < 0 && !slices.ContainsFunc(t.not, func(word string) bool { return hasWord(name, word) }) {
		at = slices.IndexFunc(t.counters, func(e entry) bool {
			before, ends := strings.CutSuffix(name, e.name)
			return ends && strings.HasSuffix(before, "_")
		})
	}
	if at < 0 {
		return Counter{}, false
	}
	return Counter{name, t.counters[at].unit, at}, true
}

// MayBe reports a gauge of the program that may be a load, such as how many tenants it has: one
// that neither counts what the process holds nor is about its runtime.
//
//	MayBe("app_tenants"), not MayBe("app_sessions_open")
func MayBe(gauge string) bool {
	return !IsGauge(gauge) && !slices.ContainsFunc(parsed().held, func(word string) bool { return hasWord(gauge, word) })
}

// ofProgram marks the figures that are gauges of the program among those of the readers.
const ofProgram = "gauge "

// FigureOf is the name under which a snapshot keeps a gauge that may be a load.
func FigureOf(gauge string) string { return ofProgram + gauge }

// GaugeOf is the gauge that a figure is of, ok if it may be a load.
func GaugeOf(figure string) (gauge string, ok bool) { return strings.CutPrefix(figure, ofProgram) }

// Captured is what the figures of a snapshot say of a metric.
func Captured(figures map[string]float64, metric string) (value float64, ok bool) {
	if value, ok = figures[metric]; !ok {
		value, ok = figures[FigureOf(metric)]
	}
	return value, ok
}

// hasWord reports whether a word stands in a name between underscores.
func hasWord(name, word string) bool {
	return strings.Contains("_"+name+"_", "_"+word+"_")
}

// Counters are the counters among names, in the order of the list.
func Counters(names []string) []Counter {
	var out []Counter
	for _, name := range names {
		if c, ok := AsCounter(name); ok {
			out = append(out, c)
		}
	}
	slices.SortFunc(out, func(a, b Counter) int {
		if a.rank != b.rank {
			return a.rank - b.rank
		}
		return strings.Compare(a.Name, b.Name)
	})
	return slices.Compact(out)
}
