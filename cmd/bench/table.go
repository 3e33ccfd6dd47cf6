package main

import (
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"time"
)

// row is one line of the table.
type row struct {
	what, ours, peer, bound string
	ratio, target           string
	met                     string
}

// target is what a ratio or figure shall be.
type target struct {
	limit float64
	least bool
	// unit stands behind the figure: " MiB", "×".
	unit string
}

func atLeast(limit float64) target { return target{limit, true, "×"} }
func atMost(limit float64) target  { return target{limit, false, "×"} }
func below(limit float64, unit string) target {
	return target{limit, false, unit}
}

func (t target) String() string {
	sign := "≤"
	if t.least {
		sign = "≥"
	}
	return sign + " " + trimmed(t.limit) + t.unit
}

func (t target) met(v float64) bool {
	if t.least {
		return v >= t.limit
	}
	return v <= t.limit
}

// judged is the row with a figure and whether it meets its target. Without a
// limit there is nothing to meet.
func (r row) judged(v float64, t target) row {
	r.ratio = trimmed(v) + t.unit
	if t.limit == 0 {
		return r
	}
	r.target, r.met = t.String(), "no"
	if t.met(v) {
		r.met = "yes"
	}
	return r
}

// row2 is a row of our own figure alone.
func row2(what, figure string, v float64, t target) row {
	r := row{what: what, ours: figure}.judged(v, t)
	if t.unit != "×" {
		r.ratio = ""
	}
	if t.unit == "×" && t.limit > 0 {
		r.ratio, r.target = "", strings.TrimSuffix(t.String(), "×")
	}
	return r
}

// trimmed prints three significant digits.
func trimmed(v float64) string {
	switch {
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return strings.TrimSuffix(fmt.Sprintf("%.1f", v), ".0")
	}
	return fmt.Sprintf("%.3g", v)
}

// suite gathers rows.
type suite struct {
	size size
	// rowsOf chooses dumps by a part of their name.
	rowsOf string
	rows   []row
	// notes are what could not be measured here, and parts of composed figures.
	notes []string
	out   io.Writer
	began time.Time
}

// add keeps a row and prints it, so that a long run shows how far it is.
func (s *suite) add(r row) {
	s.rows = append(s.rows, r)
	fmt.Fprintf(s.out, "%6.1fs  %s: %s %s %s %s\n", time.Since(s.began).Seconds(), r.what, r.ours, r.ratio, r.target, r.met)
}

func (s *suite) note(format string, args ...any) {
	s.notes = append(s.notes, fmt.Sprintf(format, args...))
}

// markdown prints the table.
func (s *suite) markdown(w io.Writer) {
	fmt.Fprintf(w, "Measured with %s, %d cores, %s mode. Parsers and their peers had one core. Ratios compare sides that ran in turns in the same run; absolute figures depend on the machine and on what else it did.\n\n", runtime.Version(), runtime.NumCPU(), s.size.name)
	head := row{what: "what", ours: "ours", peer: "peer", bound: "bound", ratio: "ratio", target: "target", met: "met"}
	lines := append([]row{head, {}}, s.rows...)
	var widths [7]int
	for _, r := range lines {
		for i, c := range r.cells() {
			widths[i] = max(widths[i], len([]rune(c)))
		}
	}
	for n, r := range lines {
		for i, c := range r.cells() {
			pad := strings.Repeat(" ", widths[i]-len([]rune(c)))
			if n == 1 {
				pad = strings.Repeat("-", widths[i])
			}
			fmt.Fprintf(w, "| %s%s ", c, pad)
		}
		fmt.Fprintln(w, "|")
	}
	if len(s.notes) > 0 {
		fmt.Fprintln(w)
	}
	for _, n := range s.notes {
		fmt.Fprintln(w, "- "+n)
	}
}

func (r row) cells() [7]string {
	return [7]string{r.what, r.ours, r.peer, r.bound, r.ratio, r.target, r.met}
}

// series are the times of one side over the rounds.
type series []time.Duration

// time runs f once, after the garbage of what ran before was collected.
func (t *series) time(f func()) {
	runtime.GC()
	began := time.Now()
	f()
	*t = append(*t, time.Since(began))
}

// onOneCore leaves one core to the sides that run in this process until the function
// that it returns is called: who allocates must not have its garbage collected on
// another one.
func onOneCore() (restore func()) {
	before := runtime.GOMAXPROCS(1)
	return func() { runtime.GOMAXPROCS(before) }
}

func (t series) sum() (all time.Duration) {
	for _, d := range t {
		all += d
	}
	return all
}

func (t series) median() time.Duration { return t.quantile(0.5) }

// quantile is the smallest time that the share q of all does not exceed.
func (t series) quantile(q float64) time.Duration {
	sorted := slices.Sorted(slices.Values(t))
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}

// ratio is the median over the rounds of a/b.
func ratio(a, b series) float64 {
	var all []float64
	for i := range a {
		all = append(all, float64(a[i])/float64(b[i]))
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// rate is "1.2 GB/s" of the median time.
func rate(t series, bytes int) string {
	perSecond := float64(bytes) / t.median().Seconds()
	if perSecond >= 1e9 {
		return fmt.Sprintf("%.2f GB/s", perSecond/1e9)
	}
	return fmt.Sprintf("%.0f MB/s", perSecond/1e6)
}

func mallocs() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Mallocs
}

func rounded(d time.Duration) string {
	switch {
	case d >= time.Second:
		return fmt.Sprintf("%.2f s", d.Seconds())
	case d >= time.Millisecond:
		return fmt.Sprintf("%.1f ms", d.Seconds()*1e3)
	}
	return fmt.Sprintf("%.0f µs", d.Seconds()*1e6)
}
