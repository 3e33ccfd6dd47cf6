package metrics

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/read/json"
	"leakdiff/analysis/read/line"
)

// limits keep memory flat whatever JSON is uploaded.
var limits = json.Limits{Value: 1 << 20, Depth: 100}

// maxName is how much of a name is kept.
const maxName = 1 << 10

// interval is one object of HashiCorp's metrics: what an agent measured in ten
// seconds.
type interval struct {
	Info
	// Figures are named as those of Pages, with go_memstats_alloc_bytes,
	// go_memstats_sys_bytes and go_memstats_heap_objects beside them.
	Figures map[string]float64
	// Gauges is how many the object holds.
	Gauges int
	// Unclear names figures that were left out, because they have several values.
	Unclear []string
	// Line, Offset and Length are the object's place.
	Line, Offset, Length int64
}

// parseJSON reads the metrics of nomad, consul and vault (go-metrics,
// InmemSink.DisplayMetrics: /v1/metrics, /v1/agent/metrics, /v1/sys/metrics) and visits
// every whole object. A file holds one object or several one after the other, as consul
// debug writes them. Info.Time is the object's Timestamp, at which its interval began,
// so gauges may be up to ten seconds younger. Only gauges are read. The last object of
// a cut file is left out, with a problem. The error is that of visit or of r.
func parseJSON(r io.Reader, path string, visit func(interval) error) ([]analysis.Problem, error) {
	p := &jsonPage{Reader: json.NewReader(r, limits), problems: line.Problems{Path: path}}
	return p.run(visit)
}

// PagesJSON is Pages for HashiCorp's JSON (parseJSON). Of several objects in one
// file the last whole one counts: it is closest in time to the end of the capture.
func PagesJSON(r io.Reader, path string) ([]Page, []analysis.Problem, error) {
	var last interval
	problems, err := parseJSON(r, path, func(i interval) error {
		last = i
		return nil
	})
	for _, name := range last.Unclear {
		problems = append(problems, analysis.Problem{
			Path: path, Line: last.Line, Offset: last.Offset, Severity: analysis.Warning,
			What: name + " stands there more than once, or is no finite number",
			Why:  fmt.Sprintf("the object with its %d gauges seems to be about several processes", last.Gauges),
			Hint: "save the metrics of the agent itself",
		})
	}
	if last.Figures == nil {
		last.Figures = map[string]float64{}
	}
	return []Page{{Figures: last.Figures, Info: last.Info}}, problems, err
}

// jsonPage is a file of HashiCorp's metrics while it is read.
type jsonPage struct {
	*json.Reader
	problems line.Problems
	now      struct {
		interval
		collector *collector
		stamp     string
		known     bool
	}
}

func (p *jsonPage) run(visit func(interval) error) ([]analysis.Problem, error) {
	whole := 0
	for {
		err := p.interval()
		switch {
		case err == io.EOF && whole > 0:
			return p.problems.All(), nil
		case err != nil:
			return p.failed(err, whole)
		case !p.now.known:
			p.report(analysis.Error, "this is no page of HashiCorp metrics", "it has neither Timestamp nor Gauges",
				"save /v1/metrics (nomad), /v1/agent/metrics (consul) or /v1/sys/metrics (vault) of the agent")
			return p.problems.All(), nil
		}
		whole++
		if err := visit(p.now.interval); err != nil {
			return p.problems.All(), err
		}
	}
}

// failed explains why no whole object follows.
func (p *jsonPage) failed(err error, whole int) ([]analysis.Problem, error) {
	p.begin()
	var syntax *json.SyntaxError
	var limit *json.LimitError
	const broken, hint = "the metrics are no JSON from here on", "save them again; %d intervals before this place were read"
	switch {
	case p.Failure() != nil:
		return p.problems.All(), fmt.Errorf("reading %s: %w", p.problems.Path, p.Failure())
	case errors.As(err, &syntax):
		p.report(analysis.Error, broken, syntax.Why, fmt.Sprintf(hint, whole))
	case errors.As(err, &limit):
		p.report(analysis.Error, broken, "it exceeds what metrics may be: "+limit.Why, fmt.Sprintf(hint, whole))
	default:
		p.report(analysis.Warning, "the metrics are cut off", "they end in the middle of their JSON",
			"wait until the capture has ended; "+fmt.Sprintf("%d intervals before the cut were read", whole))
	}
	return p.problems.All(), nil
}

func (p *jsonPage) report(severity analysis.Severity, what, why, hint string) {
	p.problems.Add(severity, line.Line{Number: p.now.Line, Offset: p.now.Offset}, what, why, hint)
}

// begin notes where the next token begins.
func (p *jsonPage) begin() {
	at := p.Place()
	p.now.Line, p.now.Offset = at.Line, at.Offset
}

// interval reads the next object.
func (p *jsonPage) interval() error {
	p.now.interval, p.now.collector, p.now.stamp, p.now.known = interval{}, newCollector(), "", false
	p.begin()
	if err := p.Object(p.member); err != nil {
		return err
	}
	p.now.Length = p.End().Offset - p.now.Offset
	if p.now.known {
		p.now.Time = p.time()
	}
	p.now.Unclear = p.now.collector.unclear()
	p.now.Figures = p.now.collector.figures
	return nil
}

func (p *jsonPage) member(key string) error {
	switch key {
	case "Timestamp":
		p.now.known = true
		return p.text(&p.now.stamp)
	case "Gauges":
		p.now.known = true
		return p.Array(p.gauge)
	}
	return p.Skip()
}

// time reads the stamp, which Go printed (time.Time.String); an unreadable one is a
// problem.
//
//	"2026-11-21 02:55:50 +0000 UTC"
func (p *jsonPage) time() time.Time {
	stamp, _, _ := strings.Cut(p.now.stamp, " m=")
	at, err := time.Parse("2006-01-02 15:04:05 -0700 MST", stamp)
	if err != nil {
		p.report(analysis.Warning, "the metrics have no time", line.Quote(stamp)+" is not like 2026-11-21 02:55:50 +0000 UTC",
			"nothing: their time is taken from the files beside them")
		return time.Time{}
	}
	return at.UTC()
}

// gauge reads one gauge.
//
//	{"Name":"nomad.runtime.num_goroutines","Value":459,"Labels":{"host":"vm"}}   go_goroutines = 459
func (p *jsonPage) gauge() error {
	if p.Peek() != '{' {
		return p.Skip()
	}
	var name, host string
	value, numeric := 0.0, false
	err := p.Object(func(key string) error {
		switch key {
		case "Name":
			return p.text(&name)
		case "Value":
			if p.Peek() != '0' {
				return p.Skip()
			}
			t, err := p.Next()
			if err != nil {
				return err
			}
			value, err = number(t.String())
			numeric = err == nil
			return nil
		case "Labels":
			return p.labels(&host)
		}
		return p.Skip()
	})
	if err != nil {
		return err
	}
	p.now.Gauges++
	if numeric {
		p.keep(name, host, value)
	}
	return nil
}

func (p *jsonPage) labels(host *string) error {
	return p.Object(func(key string) error {
		if key == "host" {
			return p.text(host)
		}
		return p.Skip()
	})
}

// text reads a string, bounded; other values become "".
func (p *jsonPage) text(into *string) error {
	text, err := p.Text()
	*into = text[:min(len(text), maxName)]
	return err
}

// keep files a gauge under the name that other evidence uses for the same.
func (p *jsonPage) keep(name, host string, value float64) {
	program, between, last, ok := runtimeGauge(name)
	if !ok {
		flat := strings.ReplaceAll(name, ".", "_")
		if isDemand(flat) {
			p.now.collector.take(sample{Name: flat, Value: value})
		}
		return
	}
	figure := map[string]string{
		"num_goroutines": "go_goroutines", "alloc_bytes": "go_memstats_alloc_bytes",
		"sys_bytes": "go_memstats_sys_bytes", "heap_objects": "go_memstats_heap_objects",
	}[last]
	if figure == "" {
		return
	}
	p.now.collector.figure(figure, value)
	p.now.Program = program
	if host == "" {
		host = between
	}
	p.now.Host = host
}

// runtimeGauge takes apart the name of a gauge about the Go runtime: the service,
// its host unless disable_hostname is set (go-metrics, Config.EnableHostname), and
// what is measured.
//
//	"nomad.runtime.num_goroutines"            nomad, "", num_goroutines
//	"consul.web-1.dc1.runtime.alloc_bytes"    consul, web-1.dc1, alloc_bytes
func runtimeGauge(name string) (program, host, last string, ok bool) {
	before, last, ok := cutLast(name, ".runtime.")
	if !ok || before == "" || strings.Contains(last, ".") {
		return "", "", "", false
	}
	program, host, _ = strings.Cut(before, ".")
	return program, host, last, true
}

func cutLast(text, sep string) (before, after string, found bool) {
	i := strings.LastIndex(text, sep)
	if i < 0 {
		return text, "", false
	}
	return text[:i], text[i+len(sep):], true
}
