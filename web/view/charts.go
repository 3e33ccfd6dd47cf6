package view

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/trend"
	"leakdiff/analysis/say/report"
	"leakdiff/analysis/say/wording"
	"leakdiff/web/chart"
)

// CaseCharts are the charts of a case that stand folded, or behind a link where they
// would cost too much on every view.
type CaseCharts struct {
	Note string
	// Open says that the reader asked for them.
	Open      bool
	Processes []ProcessCharts
	Links     []Link
	More      string
}

// ProcessCharts are those of one series.
type ProcessCharts struct {
	Process string
	Stacks  []CaseStack
	// BirthTitle says per what births are counted.
	BirthTitle, BirthNote string
	Births                []CaseRate
}

// CaseStack is a whole and its parts over time.
type CaseStack struct {
	Title, Note string
	Chart       chart.StackData
}

// CaseRate is the births of one family over time.
type CaseRate struct {
	Name  FamilyName
	Chart chart.RatesData
	Note  string
}

const (
	maxLayers     = 7
	maxBirths     = 8
	maxChartLinks = 40
	// maxLargeDrawn is of how many processes a large page draws further charts.
	maxLargeDrawn = 1
)

// charts adds the charts of the series that were drawn, and links to the others.
func (m *caseMaker) charts(c *Case) {
	out := CaseCharts{Open: m.in.Charts != ""}
	var left []Link
	for i := range m.in.Report.Series {
		s := &m.in.Report.Series[i]
		if len(s.Snapshots) < 2 {
			continue
		}
		if m.more(i).Drawn != nil && (!m.large() || len(out.Processes) < maxLargeDrawn) {
			p := m.process(s, i)
			p.number(len(out.Processes))
			out.Processes = append(out.Processes, p)
			continue
		}
		if m.order == nil || slices.Contains(m.page, i) || m.more(i).Drawn != nil {
			left = append(left, Link{Text: m.processName(s), URL: m.chartsURL(seriesKeyOf(s))})
		}
	}
	switch {
	case len(out.Processes) == 0 && len(left) == 0:
		return
	case m.in.Frozen:
		left = nil
		if len(out.Processes) == 0 {
			return
		}
	case len(out.Processes) == 0:
		out.Note = "Families stacked, states and births over time, for each process."
		left = append([]Link{{Text: "Draw the first ones", URL: m.chartsURL("1")}}, left...)
	}
	if n := len(out.Processes); n > 0 && len(left) > 0 {
		out.Note = fmt.Sprintf("%d of %s %s drawn; the others by their link.", n, wording.PagePlural(int64(n+len(left)), "process", "processes"), plainPlural(n, "is", "are"))
	}
	if more := len(left) - maxChartLinks; more > 0 {
		left, out.More = left[:maxChartLinks], fmt.Sprintf("and %d more, at ?charts= with host/program", more)
	}
	out.Links = left
	c.Further = &out
	if m.large() && len(out.Processes) > 0 {
		c.MoreMinis = nil // the page has no room for both
	}
}

func (m *caseMaker) chartsURL(which string) string {
	q := url.Values{"charts": {which}}
	if m.number > 1 {
		q.Set("page", strconv.Itoa(m.number))
	}
	return m.live(caseURL(m.in.ID) + "?" + q.Encode() + "#charts")
}

// seriesKeyOf names a series in addresses.
func seriesKeyOf(s *report.Series) string {
	host := ""
	if s.Host != nil {
		host = *s.Host
	}
	return SeriesKey(host, s.Process)
}

// processName is the program, with its host where the case has it on several.
func (m *caseMaker) processName(s *report.Series) string {
	for i := range m.in.Report.Series {
		if o := &m.in.Report.Series[i]; o != s && o.Process == s.Process && s.Host != nil && *s.Host != "" {
			return named(s) + " on " + Visible(*s.Host)
		}
	}
	return named(s)
}

// number gives the drawings of a process ids of their own in the page.
func (p *ProcessCharts) number(n int) {
	for i := range p.Stacks {
		p.Stacks[i].Chart.ID = fmt.Sprintf("stack-%d-%d", n, i)
	}
	for i := range p.Births {
		p.Births[i].Chart.ID = fmt.Sprintf("rate-%d-%d", n, i)
	}
}

func (m *caseMaker) process(s *report.Series, series int) ProcessCharts {
	out := ProcessCharts{Process: m.processName(s)}
	for _, k := range m.stackedKinds(s) {
		out.Stacks = append(out.Stacks, m.byFamily(s, k))
	}
	for _, k := range []analysis.Kind{analysis.KindGoroutine, analysis.KindThread} {
		if st, ok := m.statesOver(s, k, m.more(series).Drawn.States[k]); ok {
			out.Stacks = append(out.Stacks, st)
		}
	}
	m.births(&out, s, m.more(series).Drawn.Cohorts)
	return out
}

// stackedKinds are the kinds with a growing family, or the first that was captured.
func (m *caseMaker) stackedKinds(s *report.Series) []analysis.Kind {
	var captured, growing []analysis.Kind
	for _, k := range analysis.Kinds() {
		if first := m.totals(s, k).FirstAt(); first < 0 {
			continue
		}
		captured = append(captured, k)
		for i := range s.Families {
			if f := &s.Families[i]; f.Kind == k && grows(f.Verdict) {
				growing = append(growing, k)
				break
			}
		}
	}
	if len(growing) > 0 {
		return growing
	}
	return captured[:min(len(captured), 1)]
}

// swing returns how much a family rose inside one epoch, and its highest count.
func swing(counts analysis.Counts, epochs []int) (rise, top int) {
	first := -1
	for i, v := range counts {
		if slices.Contains(epochs, i) {
			first = -1
		}
		if !v.Known() {
			continue
		}
		if first < 0 {
			first = v.N
		}
		rise, top = max(rise, v.N-first), max(top, v.N)
	}
	return rise, top
}

// byFamily stacks the families of a kind that rose most, and all others together.
func (m *caseMaker) byFamily(s *report.Series, k analysis.Kind) CaseStack {
	lower, epochs, totals := m.lower(s, k), m.restarts(s), m.totals(s, k)
	type ranked struct {
		f         *report.Family
		rise, top int
	}
	var all []ranked
	for i := range s.Families {
		if f := &s.Families[i]; f.Kind == k {
			rise, top := swing(whole(f.Counts, lower), epochs)
			all = append(all, ranked{f, rise, top})
		}
	}
	slices.SortStableFunc(all, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(b.rise, a.rise), cmp.Compare(b.top, a.top), strings.Compare(a.f.Fingerprint, b.f.Fingerprint))
	})
	shown := min(len(all), maxLayers)
	_, highest := swing(whole(totals, lower), epochs)
	for shown > 1 && all[shown-1].rise == 0 && all[shown-1].top*20 < highest {
		shown-- // neither grows nor is large: it stands with the others
	}
	d := chart.StackData{Title: named(s) + ": " + kindWord(k, 2) + " by family", Unit: kindWord(k, 2), Labels: m.labels(s), Times: m.times(s), Taken: m.taken(s), Totals: totals, Epochs: epochs, Lower: lower}
	var layers []chart.Layer
	sum := make(analysis.Counts, len(s.Snapshots))
	for i := range sum {
		if i < len(totals) && totals[i].Known() {
			sum[i] = analysis.Counted(0)
		}
	}
	for _, r := range all[:shown] {
		name := m.name(s, r.f)
		short := strings.TrimSpace(name.Title.Path + name.Title.Name + " " + name.Aside)
		layers = append(layers, chart.Layer{Name: short, Full: name.Text(), Course: course(whole(r.f.Counts, lower), epochs), Values: r.f.Counts, Grows: r.rise > 0 && grows(r.f.Verdict)})
		add(sum, r.f.Counts)
	}
	rest, others := remainder(totals, sum)
	if n := len(all) - shown; others || n > 0 {
		name := "others, " + wording.PagePlural(int64(n), "family", "families")
		if n == 0 {
			name = "in no family"
		}
		layers = append([]chart.Layer{{Name: name, Full: name, Course: course(whole(rest, lower), epochs), Values: rest, Rest: true}}, layers...)
	}
	d.Layers = layers
	return CaseStack{Title: kindTitle(k) + " by family", Note: stackNote(d, "The "+kindWord(k, 2)+" of the families that rose most, the others below them."), Chart: d}
}

// add adds counts up where all of them are known.
func add(sum, counts analysis.Counts) {
	for i := range sum {
		switch {
		case !sum[i].Known():
		case i >= len(counts) || !counts[i].Known():
			sum[i] = analysis.Count{}
		default:
			n := sum[i].N + counts[i].N
			sum[i] = analysis.Counted(n)
		}
	}
}

// remainder returns what the parts leave of the whole, and whether that is ever more
// than nothing.
func remainder(totals, sum analysis.Counts) (rest analysis.Counts, some bool) {
	rest = make(analysis.Counts, len(sum))
	for i := range sum {
		if sum[i].Known() && i < len(totals) && totals[i].Known() {
			n := max(totals[i].N-sum[i].N, 0)
			rest[i], some = analysis.Counted(n), some || n > 0
		}
	}
	return rest, some
}

// stackNote explains the marks that a chart has.
func stackNote(d chart.StackData, text string) string {
	for _, mark := range []struct {
		words string
		shown bool
	}{
		{"Hatched: no snapshot.", len(chart.Gaps(d.Times, d.Taken)) > 0},
		{"Dashed: restart.", len(d.Epochs) > 0},
		{"△: a cut dump, at least as many.", slices.Contains(d.Lower, true)},
	} {
		if mark.shown {
			text += " " + mark.words
		}
	}
	return text
}

// statesOver stacks the states of a kind's members.
func (m *caseMaker) statesOver(s *report.Series, k analysis.Kind, states []map[string]int) (CaseStack, bool) {
	d := chart.StackData{Title: named(s) + ": states of its " + kindWord(k, 2), Unit: kindWord(k, 2), Labels: m.labels(s), Times: m.times(s), Taken: m.taken(s), Totals: m.totals(s, k), Epochs: m.restarts(s), Lower: m.lower(s, k)}
	if !stackStates(&d, states) {
		return CaseStack{}, false
	}
	return CaseStack{Title: "States of its " + kindWord(k, 2), Note: stackNote(d, statesWords), Chart: d}, true
}

const statesWords = "What they wait in, the most frequent at the bottom."

// stackStates makes the layers of a chart of the states in each column: nil where
// none was printed. It reports whether there are two states to compare.
func stackStates(d *chart.StackData, states []map[string]int) bool {
	tops := map[string]int{}
	for _, in := range states {
		for name, n := range in {
			tops[name] = max(tops[name], n)
		}
	}
	if len(tops) < 2 {
		return false
	}
	names := slices.SortedFunc(maps.Keys(tops), func(a, b string) int {
		return cmp.Or(cmp.Compare(tops[b], tops[a]), strings.Compare(a, b))
	})
	sum := make(analysis.Counts, len(d.Labels))
	for i := range sum {
		// A column without members has no states, and that is known of it.
		if i < len(d.Totals) && d.Totals[i].Known() && (d.Totals[i].N == 0 || i < len(states) && len(states[i]) > 0) {
			sum[i] = analysis.Counted(0)
		}
	}
	for _, name := range names[:min(len(names), maxLayers)] {
		values := make(analysis.Counts, len(d.Labels))
		for i := range values {
			if !sum[i].Known() {
				continue
			}
			n := 0
			if i < len(states) {
				n = states[i][name]
			}
			values[i] = analysis.Counted(n)
		}
		shown := Visible(name)
		if shown == "" {
			shown = "no state"
		}
		d.Layers = append(d.Layers, chart.Layer{Name: shown, Full: shown, Course: course(whole(values, d.Lower), d.Epochs), Values: values})
		add(sum, values)
	}
	if rest, others := remainder(d.Totals, sum); others {
		name := "without a printed state"
		if n := len(names) - maxLayers; n > 0 {
			name = "others, " + wording.PagePlural(int64(n), "state", "states")
		}
		d.Layers = append(d.Layers, chart.Layer{Name: name, Full: name, Course: course(whole(rest, d.Lower), d.Epochs), Values: rest, Rest: true})
	}
	return true
}

// births draws how many of each growing family were born per hour.
func (m *caseMaker) births(out *ProcessCharts, s *report.Series, cohorts map[string][]trend.Cohort) {
	var list []*report.Family
	for i := range s.Families {
		if f := &s.Families[i]; grows(f.Verdict) && len(cohorts[f.Fingerprint]) > 0 {
			list = append(list, f)
		}
	}
	slices.SortStableFunc(list, func(a, b *report.Family) int {
		return cmp.Or(cmp.Compare(a.Verdict.Rank(), b.Verdict.Rank()), cmp.Compare(b.Rise, a.Rise))
	})
	times, unit := m.times(s), "per hour"
	if !timed(times) {
		unit = "per snapshot"
	}
	out.BirthTitle = "Births " + unit
	top := 0.0
	for _, f := range list[:min(len(list), maxBirths)] {
		name := m.name(s, f)
		d := chart.RatesData{Title: name.Text() + ": births", Unit: unit, Labels: m.labels(s), Times: times, Epochs: m.restarts(s)}
		born := 0
		for _, c := range cohorts[f.Fingerprint] {
			bar := chart.Rate{From: c.From, To: c.To, Born: c.Born, Each: float64(c.Born)}
			if unit == "per hour" {
				bar.Each /= times[c.To].Sub(times[c.From]).Hours()
			}
			top, born = max(top, bar.Each), born+c.Born
			d.Bars = append(d.Bars, bar)
		}
		out.Births = append(out.Births, CaseRate{Name: name, Chart: d, Note: wording.Number(int64(born)) + " born in " + wording.PagePlural(int64(len(d.Bars)), "interval", "intervals")})
	}
	for i := range out.Births {
		out.Births[i].Chart.Max = top
	}
	switch {
	case len(list) == 0:
		out.BirthNote = "Nothing that grows can be followed by its identity over two complete snapshots."
	case len(list) > maxBirths:
		out.BirthNote = fmt.Sprintf("%d of %s, the worst first. ", maxBirths, wording.PagePlural(int64(len(list)), "growing family", "growing families"))
	}
	if len(list) > 0 {
		out.BirthNote += "Counted by identity: not in any snapshot before. One scale for all."
		if unit == "per hour" {
			out.BirthNote += " A bar is as wide as its interval, so that its area is how many were born."
		}
	}
}

// timed reports whether all snapshots have a time, each after the one before.
func timed(times []time.Time) bool {
	for i, t := range times {
		if t.IsZero() || i > 0 && !t.After(times[i-1]) {
			return false
		}
	}
	return len(times) > 0
}
