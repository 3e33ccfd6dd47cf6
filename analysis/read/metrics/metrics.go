// Package metrics reads a page of metrics in the Prometheus text exposition format or
// OpenMetrics, as programs serve it at /metrics, and the JSON that HashiCorp's agents
// write. It takes a reader and hands every sample, or every interval, to a visitor with
// the place it was read at; a broken line is a problem and costs itself only. It does
// not know what the metrics mean, except for the few figures about the process that
// every client library names equally, and the demand that package demand lists.
package metrics

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/demand"
	"leakdiff/analysis/read/line"
)

// sample is one line of a page.
type sample struct {
	Name string
	// Labels is nil if the sample has none.
	Labels map[string]string
	// Gauge reports that a comment above says so.
	Gauge bool
	// Value may be NaN or infinite.
	Value        float64
	Line, Offset int64
}

// pageSummary sums up what was read.
type pageSummary struct {
	Samples int
	// Malformed is the number of lines that are neither sample nor comment.
	Malformed int
	Bytes     int64
	// Truncated is true if the page ends inside a line. The format demands a line feed
	// after the last one, so a value without it may have lost digits.
	Truncated bool
}

// parsePage reads a page (prometheus.io, Exposition formats; OpenMetrics 1.0 with its
// exemplars and # EOF; quoted UTF-8 names). Time stamps and exemplars are checked
// and dropped. begins, if it is not nil, is told the offset of the first line of each page: a page
// ends where its first comment stands again, as where pages are appended to one file. The error is
// that of visit or of r; what was read until then is returned with it.
func parsePage(r io.Reader, path string, begins func(offset int64), visit func(s sample) error) (pageSummary, []analysis.Problem, error) {
	probs := &line.Problems{Path: path}
	in := line.NewReader(r)
	var page pageSummary
	var first, gauge string
	var err error
	var borders border
	for l := range in.All() {
		text := strings.Trim(l.Text, " \t\ufeff")
		switch {
		case text == "":
			continue
		case text[0] == '#', line.IsDate(text):
			if begins != nil && borders.begins(text) {
				begins(l.Offset)
			}
			if name, typed := strings.CutPrefix(text, "# TYPE "); typed {
				if name, typed = strings.CutSuffix(name, " gauge"); typed {
					gauge = strings.Clone(name)
				}
			}
			continue
		case !l.Ended:
			page.Truncated = true
			probs.Add(analysis.Warning, l, "the page is cut off", "it ends inside "+line.Quote(text),
				"the last sample is left out; take the page again")
			continue
		}
		s, bad := parseSample(text)
		if bad != nil {
			page.Malformed++
			if first == "" {
				first = text
			}
			probs.Add(analysis.Warning, l, "a line is no sample", bad.Error(), "nothing: the other lines were read")
			continue
		}
		s.Line, s.Offset, s.Gauge = l.Number, l.Offset, s.Name == gauge
		page.Samples++
		borders.sampled = true
		if err = visit(s); err != nil {
			break
		}
	}
	page.Bytes = in.Offset()
	if err == nil {
		err = in.Failure(path)
		page.Truncated = page.Truncated || err != nil
	}
	if page.Samples == 0 && page.Malformed > 0 {
		probs.Add(analysis.Error, line.Line{}, "this is no page of metrics", "it begins with "+line.Quote(first)+" and has no sample",
			"check the address that was asked for metrics")
	}
	return page, probs.All(), err
}

// border finds where a page begins: at a date, and at its first comment where others stood between.
type border struct {
	// first is the first comment of the page, metric what it is about.
	first, metric string
	others        bool
	// sampled is set once the page has a sample: its first comment may stand below some.
	sampled bool
}

// begins reports whether a comment or date is the first of a page. A page that repeats the comments
// of one metric for each of its samples is one page.
func (b *border) begins(text string) bool {
	if _, scraped := strings.CutPrefix(text, "# scraped "); scraped || text[0] != '#' {
		*b = border{}
		return true
	}
	what, rest, _ := strings.Cut(strings.TrimLeft(text, "# "), " ")
	metric, _, _ := strings.Cut(rest, " ")
	switch {
	case what != "HELP" && what != "TYPE" || metric == "":
		return false
	case b.first == "" && b.sampled:
		b.first, b.metric = strings.Clone(text), strings.Clone(metric)
		return false
	case b.first == "":
	case text != b.first:
		b.others = b.others || metric != b.metric
		return false
	case !b.others:
		return false
	}
	*b = border{first: strings.Clone(text), metric: strings.Clone(metric)}
	return true
}

// parseSample reads one line.
//
//	`go_info{version="go1.26.8"} 1`        go_info, {version: go1.26.8}, 1
//	`{"my.metric",le="0.5"} 3 1520879607`  my.metric, {le: 0.5}, 3
func parseSample(text string) (sample, error) {
	var s sample
	name := text[:nameLength(text)]
	rest := strings.TrimLeft(text[len(name):], " \t")
	s.Name = strings.Clone(name)
	if strings.HasPrefix(rest, "{") {
		var err error
		if rest, err = s.labels(rest[1:]); err != nil {
			return sample{}, err
		}
	} else if len(rest) == len(text)-len(name) {
		return sample{}, errors.New(line.Quote(text) + " does not begin with a name and a value")
	}
	if s.Name == "" {
		return sample{}, errors.New(line.Quote(text) + " does not begin with a name")
	}
	return s, s.numbers(rest)
}

// nameLength is the length of the metric or label name at the beginning.
//
//	"go_info{"   7
func nameLength(text string) int {
	for i, c := range []byte(text) {
		letter := c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' || c == ':'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return i
		}
	}
	return len(text)
}

// labels reads up to the closing brace and returns what follows.
//
//	`le="0.5",code="200"} 3`   ` 3`
func (s *sample) labels(text string) (rest string, err error) {
	for {
		text = strings.TrimLeft(text, " \t")
		if after, ok := strings.CutPrefix(text, "}"); ok {
			return after, nil
		}
		if text, err = s.label(text); err != nil {
			return "", err
		}
		text = strings.TrimLeft(text, " \t")
		switch {
		case strings.HasPrefix(text, ","):
			text = text[1:]
		case !strings.HasPrefix(text, "}"):
			return "", errors.New("its labels are not closed at " + line.Quote(text))
		}
	}
}

// label reads one label; a quoted name without a value is the metric's own.
//
//	`le="0.5",code="200"}`   Labels[le] = 0.5, rest `,code="200"}`
func (s *sample) label(text string) (rest string, err error) {
	name := text[:nameLength(text)]
	rest = text[len(name):]
	isQuoted := strings.HasPrefix(text, `"`)
	if isQuoted {
		if name, rest, err = quoted(text); err != nil {
			return "", err
		}
	}
	rest = strings.TrimLeft(rest, " \t")
	if isQuoted && !strings.HasPrefix(rest, "=") && s.Name == "" {
		s.Name = name
		return rest, nil
	}
	after, ok := strings.CutPrefix(rest, "=")
	if !ok || name == "" {
		return "", errors.New(line.Quote(text) + " is no label")
	}
	value, rest, err := quoted(strings.TrimLeft(after, " \t"))
	if err != nil {
		return "", err
	}
	if _, twice := s.Labels[name]; twice {
		return "", errors.New("the label " + line.Quote(name) + " stands there twice")
	}
	if s.Labels == nil {
		s.Labels = map[string]string{}
	}
	s.Labels[strings.Clone(name)] = value
	return rest, nil
}

// quoted reads a quoted string with the format's three escapes.
//
//	`"a\"b\\c\n"} 1`   `a"b\c` and a line feed, rest `} 1`
func quoted(text string) (value, rest string, err error) {
	if !strings.HasPrefix(text, `"`) {
		return "", "", errors.New("no quote begins at " + line.Quote(text))
	}
	var out strings.Builder
	for i := 1; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			return out.String(), text[i+1:], nil
		case c == '\\' && i+1 < len(text):
			i++
			switch text[i] {
			case 'n':
				out.WriteByte('\n')
			case '"', '\\':
				out.WriteByte(text[i])
			default: // the format knows no other: both are meant
				out.WriteByte('\\')
				out.WriteByte(text[i])
			}
		default:
			out.WriteByte(c)
		}
	}
	return "", "", errors.New("no quote ends " + line.Quote(text))
}

// numbers reads value, time stamp and exemplar.
//
//	"17 1520879607.789 # {trace_id=\"ab\"} 0.67"   Value 17
func (s *sample) numbers(text string) error {
	text, _, _ = strings.Cut(text, " # {")
	fields := strings.Fields(text)
	if len(fields) == 0 || len(fields) > 2 {
		return errors.New(line.Quote(text) + " is not a value with at most a time stamp")
	}
	for i, f := range fields {
		v, err := number(f)
		if err != nil {
			return err
		}
		if i == 0 {
			s.Value = v
		}
	}
	return nil
}

// number reads a value as Go's ParseFloat does, without hex and underscores.
//
//	"1.8446744073709552e+19" "+Inf" "NaN"
func number(s string) (float64, error) {
	v, err := strconv.ParseFloat(s, 64)
	if (err != nil && !errors.Is(err, strconv.ErrRange)) || strings.ContainsAny(s, "xX_pP") {
		return 0, errors.New(line.Quote(s) + " is no number")
	}
	return v, nil
}

// Build is the version in a *_build_info metric.
type Build struct{ Metric, Version string }

// Info identifies the program of a page.
type Info struct {
	// Time is when the metrics were taken, zero if the page does not state it, as pages
	// in text never do.
	Time time.Time
	// Program and Host are those of a HashiCorp agent ("nomad", "vm"), empty if
	// the page does not name them.
	Program, Host string
	// GoVersion is that of go_info ("go1.26.8"), empty for other languages.
	GoVersion string
	// Builds are sorted by metric, bounded in number.
	Builds []Build
	// Counters is how many of the figures are counters of demand, or kept for signals.
	Counters int
}

// Version is the program's version, if the page has exactly one.
func (i Info) Version() string {
	if len(i.Builds) != 1 {
		return ""
	}
	return i.Builds[0].Version
}

// isFigure reports whether a metric is about the process itself. Client libraries
// agree on these names (prometheus.io, Writing client libraries, process metrics).
func isFigure(name string) bool {
	switch name {
	case "process_start_time_seconds", "process_open_fds", "process_max_fds", "process_resident_memory_bytes",
		"go_goroutines", "go_threads", "os_threads":
		return true
	}
	return false
}

// isDemand reports whether a metric counts what others ask of the process. Its
// samples, one for each configuration or state, are added up.
func isDemand(name string) bool {
	return demand.IsGauge(name) || name == "nomad_client_allocations_running" || name == "nomad_nomad_job_status_running"
}

// maxCounters bounds the kept counters of demand. Programs have one to five. maxGauges bounds the
// kept gauges that may be a load.
const (
	maxCounters = 16
	maxGauges   = 32
)

// mayBeLoad reports whether a sample is of a gauge of the program that may be a load, and kept.
func (c *collector) mayBeLoad(s *sample) bool {
	if !s.Gauge || s.Value < 0 || s.Value != math.Trunc(s.Value) || math.IsInf(s.Value, 0) || !demand.MayBe(s.Name) {
		return false
	}
	if _, known := c.figures[demand.FigureOf(s.Name)]; !known {
		if c.gauges >= maxGauges {
			return false
		}
		c.gauges++
	}
	return true
}

// counts reports whether a sample belongs to a counter of demand that is kept. Samples of one
// metric follow each other, so that few names are looked up.
func (c *collector) counts(name string) bool {
	if name != c.lastName {
		_, counter := demand.AsCounter(name)
		_, known := c.figures[name]
		if counter && !known {
			if counter = c.counters < maxCounters; counter {
				c.counters++
			}
		}
		c.lastName, c.lastCounts = name, counter
	}
	return c.lastCounts
}

// byObserver reports whether a sample counts requests of whoever looks: scrapes, profiles and
// probes of health, which come at their own pace.
func (s *sample) byObserver() bool {
	for _, name := range []string{"handler", "path", "route", "uri", "url", "endpoint", "http_route"} {
		switch value := s.Labels[name]; value {
		case "/metrics", "/healthz", "/livez", "/readyz", "/health", "/actuator/prometheus", "/actuator/health":
			return true
		default:
			if strings.HasPrefix(value, "/debug/pprof") {
				return true
			}
		}
	}
	return s.Labels["grpc_service"] == "grpc.health.v1.Health"
}

// Page is what a page of metrics says of its process.
type Page struct {
	Figures map[string]float64
	Info    Info
	// Begins is the offset of its first comment, 0 without one.
	Begins int64
}

// mostPages bounds the pages of one file: of more, one in two is kept, again and again.
const mostPages = 500

// Pages reads the metrics about the process itself from each page of a file:
// process_start_time_seconds (Unix time), process_open_fds, process_max_fds,
// process_resident_memory_bytes, go_goroutines, go_threads, and the demand on it
// (isDemand) with its counters (package demand). Missing metrics are left out. A figure that comes for several processes
// (a federation page) or is not finite is left out, with a problem. The error is that
// of r only.
func Pages(r io.Reader, path string) (pages []Page, problems []analysis.Problem, err error) {
	c, at, every, number := newCollector(), int64(0), 1, 0
	var told []analysis.Problem
	end := func() {
		if made, unclear := c.page(path, at); number%every == 0 {
			if pages = append(pages, made); len(pages) == 1 {
				told = unclear
			}
		}
		if number++; len(pages) > mostPages {
			every *= 2
			kept := pages[:0]
			for i := 0; i < len(pages); i += 2 {
				kept = append(kept, pages[i])
			}
			pages = kept
		}
	}
	begin := func(offset int64) {
		if c.samples > 0 {
			end()
			c = newCollector()
		}
		at = offset
	}
	_, problems, err = parsePage(r, path, begin, func(s sample) error { return c.take(s) })
	end()
	if every > 1 {
		problems = append(problems, analysis.Problem{Path: path, Offset: -1, Severity: analysis.Note, What: fmt.Sprintf("of %d pages of metrics one of %d is taken", number, every),
			Why: fmt.Sprintf("at most %d pages of one file are compared", mostPages), Hint: "nothing: the course stays the same"})
	}
	return pages, append(problems, told...), err
}

// page ends a page.
func (c *collector) page(path string, at int64) (Page, []analysis.Problem) {
	var problems []analysis.Problem
	for _, name := range c.unclear() {
		problems = append(problems, analysis.Problem{
			Path: path, Offset: -1, Severity: analysis.Warning,
			What: name + " stands there more than once, or is no finite number",
			Why:  fmt.Sprintf("the page with its %d samples seems to be about several processes", c.samples),
			Hint: "save the page of the process itself",
		})
	}
	for _, metric := range slices.Sorted(maps.Keys(c.builds)) {
		c.info.Builds = append(c.info.Builds, Build{metric, c.builds[metric]})
	}
	for name := range c.figures {
		if _, counter := demand.AsCounter(name); counter || c.signals[name] {
			c.info.Counters++
		}
	}
	return Page{c.figures, c.info, at}, problems
}

// maxBuilds bounds the kept build infos.
const maxBuilds = 32

type collector struct {
	figures map[string]float64
	several map[string]bool
	// signals are the names of figures that are kept for signals alone.
	signals map[string]bool
	builds  map[string]string
	info    Info
	samples int
	// counters is how many counters of demand are kept, gauges how many gauges. lastName was the last name that was
	// looked up, lastCounts what became of it.
	counters   int
	gauges     int
	lastName   string
	lastCounts bool
}

func newCollector() *collector {
	return &collector{figures: map[string]float64{}, several: map[string]bool{}, signals: map[string]bool{}, builds: map[string]string{}}
}

// unclear takes out and names the figures that came more than once.
func (c *collector) unclear() []string {
	names := slices.Sorted(maps.Keys(c.several))
	for _, name := range names {
		delete(c.figures, name)
	}
	return names
}

// otherNames are names of Micrometer (Spring Boot) and of Java's client for figures that have a
// usual one.
var otherNames = map[string]string{
	"process_files_open_files": "process_open_fds", "process_files_open": "process_open_fds", "process_files_max_files": "process_max_fds", "process_files_max": "process_max_fds",
	"jvm_threads_live_threads": "os_threads", "jvm_threads_live": "os_threads", "jvm_threads_current": "os_threads",
}

// take keeps the samples that Pages is after.
//
//	kubernetes_build_info{git_version="v1.34.4",..} 1   builds[kubernetes_build_info] = v1.34.4
func (c *collector) take(s sample) error {
	c.samples++
	s.Name = cmp.Or(otherNames[s.Name], s.Name)
	switch {
	case c.keep(&s):
	case isFigure(s.Name):
		c.figure(s.Name, s.Value)
	case isDemand(s.Name) && s.Value >= 0 && !math.IsInf(s.Value, 0):
		c.figures[s.Name] += s.Value
	case c.counts(s.Name):
		if s.Value >= 0 && !math.IsInf(s.Value, 0) && !s.byObserver() {
			c.figures[s.Name] += s.Value
		}
	case c.mayBeLoad(&s):
		c.figures[demand.FigureOf(s.Name)] += s.Value
	case s.Name == "go_info":
		c.info.GoVersion = s.Labels["version"]
	case strings.HasSuffix(strings.TrimSuffix(s.Name, "_total"), "_build_info") && len(c.builds) < maxBuilds:
		// Kubernetes has git_version, up to 1.17 gitVersion.
		if version := cmp.Or(s.Labels["version"], s.Labels["git_version"], s.Labels["gitVersion"]); version != "" {
			c.builds[s.Name] = version
		}
	case s.Name == "etcd_server_version" && len(c.builds) < maxBuilds:
		if version := s.Labels["server_version"]; version != "" {
			c.builds[s.Name] = version
		}
	}
	return nil
}

// figure keeps a figure of the process, which has one value only.
func (c *collector) figure(name string, value float64) {
	if _, twice := c.figures[name]; twice || math.IsNaN(value) || math.IsInf(value, 0) {
		c.several[name] = true
	}
	c.figures[name] = value
}
