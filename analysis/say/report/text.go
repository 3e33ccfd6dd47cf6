package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"

	"leakdiff/analysis"
	"leakdiff/analysis/say/source"
	"leakdiff/analysis/say/wording"
)

// JSON writes the report as the public contract leakdiff.report/1, without spaces: over the wire
// indentation is a sixth of it.
func JSON(w io.Writer, r Report) error { return writeJSON(w, r) }

// IndentedJSON is JSON for a terminal.
func IndentedJSON(w io.Writer, r Report) error { return writeJSON(w, r, jsontext.WithIndent(" ")) }

func writeJSON(w io.Writer, r Report, more ...jsonv2.Options) error {
	// The options of version 1 keep every byte of the contract; it is written in one pass.
	if err := jsonv2.MarshalWrite(w, r, append(more, jsonv1.DefaultOptionsV1(), jsontext.EscapeForHTML(false))...); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// Width is the layout of text output.
type Width int

// Narrow fits 80 columns. Wide leaves more space for functions.
const (
	Narrow Width = 80
	Wide   Width = 120
)

// Text writes the report for a terminal: the answer on one screen and, if t says so, the
// evidence: the totals, the findings with their proof, the families that move, and what was
// not understood. Control and bidi characters of the input are shown as \xNN.
func Text(w io.Writer, c Case, t Terminal) error {
	p := &printer{w: w, width: int(t.EvidenceWidth), top: t.Top, said: &c.Report.Diagnosis, source: t.Source, shown: map[string]bool{}}
	if p.width == 0 {
		p.width = columns
	}
	begun := false
	blocks, whole := screenOf(&c.Report, t)
	p.whole = whole
	for _, block := range blocks {
		if len(block) == 0 {
			continue
		}
		if begun {
			p.line("")
		}
		begun = true
		for _, line := range block {
			p.raw(line)
		}
	}
	filtered := c.Listed().Filter
	if filtered != nil {
		p.line("")
		p.wrap("", filtered.said())
	}
	switch {
	case t.Verbose:
		for i := range c.Report.Series {
			p.series(&c, i)
		}
		p.problems(c.Report.Problems)
	case len(c.Report.Series) == 0:
		p.width = columns
		p.problems(c.Report.Problems)
	case filtered != nil:
		for i := range c.listed.Series {
			p.passing(&c.listed.Series[i])
		}
	}
	return p.err
}

// leadingKind is the kind that represents a series best: goroutines, else the first
// that was captured.
func leadingKind(j JudgedSeries) (analysis.Kind, analysis.Counts) {
	for _, k := range analysis.Kinds() {
		counts := make(analysis.Counts, len(j.Snapshots))
		for i, s := range j.Snapshots {
			counts[i] = analysis.CountOf(s.Totals.Of(k))
		}
		if known := len(counts.Known()); known*2 >= len(j.Snapshots) && known > 0 {
			return k, counts
		}
	}
	return "", nil
}

type printer struct {
	w     io.Writer
	width int
	// top bounds the findings of a process, nil for all.
	top *int
	// said is what the screen above tells, whole the finding of which it shows each frame.
	said   *Diagnosis
	whole  *Finding
	traces Traces
	// source has go statements, shown are those that stand above.
	source *source.Tree
	shown  map[string]bool
	err    error
}

// raw prints a line that is printable already. Hard spaces are for pages.
func (p *printer) raw(line string) {
	if p.err == nil {
		_, p.err = io.WriteString(p.w, strings.NewReplacer("\u00a0", " ", "\u202f", " ").Replace(line)+"\n")
	}
}

func (p *printer) line(format string, args ...any) {
	if p.err != nil {
		return
	}
	text := format
	if len(args) > 0 {
		text = fmt.Sprintf(format, args...)
	}
	_, p.err = io.WriteString(p.w, strings.TrimRight(wording.Printable(text), " ")+"\n")
}

// wrap prints words within the width, indented.
func (p *printer) wrap(indent, text string) {
	line := indent
	for _, word := range strings.Fields(text) {
		if utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > p.width && strings.TrimSpace(line) != "" {
			p.line("%s", line)
			line = indent
		}
		if strings.TrimSpace(line) != "" {
			line += " "
		}
		line += word
	}
	if strings.TrimSpace(line) != "" {
		p.line("%s", line)
	}
}

func (p *printer) series(c *Case, i int) {
	s, j := &c.Report.Series[i], &c.Series[i]
	title := plainProcess(j)
	if s.Host != nil {
		title += " on " + *s.Host
	}
	p.line("")
	p.line("%s", title)
	p.line("%s", strings.Repeat("=", utf8.RuneCountInString(title)))
	p.totals(j)
	if s.Quiet != "" {
		p.line("")
		p.wrap("", s.Quiet)
	}
	for k := range s.Findings {
		f := &s.Findings[k]
		p.line("")
		if p.top != nil && k == *p.top {
			p.line("%s.", wording.Plural(len(s.Findings)-k, "more finding", "more findings"))
			break
		}
		if f.BehindOf != nil {
			p.wrap("", c.Report.behindLine(f))
			continue
		}
		p.wrap("", fmt.Sprintf("%d. [%s] %s", f.Rank, f.Mark(), f.Title))
		p.finding(c, s, j, f, "   ")
		for _, held := range c.Report.Behind(i, f.Rank) {
			other := &c.Series[held.Series]
			p.line("")
			p.wrap("   ", fmt.Sprintf("Behind it in %s: [%s] %s", plainProcess(other), held.Mark(), held.Title))
			p.finding(c, &c.Report.Series[held.Series], other, held.Finding, "      ")
		}
	}
	for _, f := range s.SetAside {
		p.line("")
		p.wrap("", "Marked benign: "+f.Title)
	}
	if len(s.Limits) > 0 {
		p.line("")
		p.wrap("", "Open: "+strings.Join(s.Limits, " "))
	}
	p.context(s)
	p.locks(s)
	p.contention(j)
	if c.listed.Filter != nil {
		p.passing(&c.listed.Series[i])
		return
	}
	if len(j.Snapshots) == 1 {
		p.objects(s)
	} else {
		p.courses(s, j)
	}
	_, compared := j.Trend.SmallestVisible()
	p.families(s, compared)
}

// locks lists who waits for whom in the last snapshot.
func (p *printer) locks(s *Series) {
	if s.Locks == nil {
		return
	}
	p.line("")
	if head := "Who waits for whom"; len(s.Snapshots) > 1 {
		p.line("%s at %s", head, s.Locks.Label)
	} else {
		p.line("%s", head)
	}
	for _, l := range s.Locks.Lines() {
		p.wrap("  ", l.Sentence())
	}
}

// finding prints what stands below the title of a finding.
func (p *printer) finding(c *Case, s *Series, j *JudgedSeries, f *Finding, indent string) {
	p.wrap(indent, f.Text)
	p.wrap(indent, s.shares(f))
	if f.Versions != nil {
		for _, line := range f.Versions.table(len(f.Versions.Rows)) {
			p.line("%s  %s", indent, line)
		}
	}
	p.stack(j, f, indent)
	if words := f.evidenceInWords(); words != "" {
		p.wrap(indent, "Evidence: "+words)
	}
	for _, a := range c.Report.Advice(f) {
		if !a.More && (p.said.Next == nil || a.Text != p.said.Next.Text) {
			p.wrap(indent, a.Label+": "+a.Text)
		}
	}
}

// stack prints the stack of the members of a finding.
func (p *printer) stack(j *JudgedSeries, f *Finding, indent string) {
	t := p.traces.Of(f, j.label)
	if t == nil {
		return
	}
	if f != p.whole {
		p.wrap(indent, t.Head())
		for _, line := range t.Lines(p.width - len(indent) - 2) {
			p.line("%s  %s", indent, line)
		}
	}
	p.wrap(indent, t.Note)
	p.start(f, indent)
}

// start prints the statement that started the members of a finding, once in a report.
func (p *printer) start(f *Finding, indent string) {
	creator := Creator(f.Stack)
	if creator == nil {
		return
	}
	e, missing := p.source.Start(creator.Frame())
	if e == nil {
		if !p.shown[missing] {
			p.wrap(indent, missing)
		}
		p.shown[missing] = true
		return
	}
	where := fmt.Sprintf("%s:%d", e.Path, e.Line)
	if p.shown[where] {
		p.wrap(indent, "Started at "+where+", shown above.")
		return
	}
	p.shown[where] = true
	p.wrap(indent, "Started at "+where+":")
	for i, text := range e.Lines {
		mark := " "
		if e.First+i == e.Line {
			mark = ">"
		}
		p.line("%s  %s %5d  %s", indent, mark, e.First+i, strings.ReplaceAll(text, "\t", "    "))
	}
}

// context prints what belongs beside the proof: thresholds that circulate, and what is
// normal.
func (p *printer) context(s *Series) {
	if text := thresholdText(s.Thresholds); text != "" {
		p.line("")
		p.wrap("", text)
	}
	if s.Healthy != nil {
		p.line("")
		p.wrap("", s.Healthy.Text)
	}
}

// passing lists the families that pass a filter, including those that do not move,
// because the reader asked for them.
func (p *printer) passing(s *Series) {
	p.line("")
	if len(s.Families) == 0 {
		p.line("no group passes the filter")
		return
	}
	p.line("%-14s %-10s %8s %7s  %-5s %s", "verdict", "kind", "most", "rise", "", "group")
	for _, f := range s.Families {
		p.line("%-14s %-10s %8d %+7d  %-5s %s", strings.ReplaceAll(string(f.Verdict), "_", " "), f.Kind, f.Counts.Highest(), f.Rise, f.Handle, cut(f.Title, max(20, p.width-50)))
	}
}

// totals prints the table with one column for each snapshot. Long series show the
// first, the last and evenly spaced ones between.
func (p *printer) totals(j *JudgedSeries) {
	cols := pick(len(j.Snapshots), max(3, (p.width-14)/9))
	head, taken := fmt.Sprintf("%-12s", "snapshot"), fmt.Sprintf("%-12s", "taken, UTC")
	timed, clock := false, wording.Clock
	if first, last := j.Snapshots[0].CapturedAt, j.Snapshots[len(j.Snapshots)-1].CapturedAt; first.UTC().YearDay() != last.UTC().YearDay() && !first.IsZero() {
		taken, clock = fmt.Sprintf("%-12s", "day, UTC"), wording.DayClock
	}
	for k, i := range cols {
		s := j.Snapshots[i]
		label := s.Label
		if k > 0 && j.Trend.Epochs[i] != j.Trend.Epochs[cols[k-1]] {
			label = "| " + label
		}
		head += fmt.Sprintf("%9s", cut(label, 8))
		at := "?"
		if !s.CapturedAt.IsZero() {
			at, timed = clock(s.CapturedAt), true
		}
		taken += fmt.Sprintf("%9s", at)
	}
	p.line("%s", head)
	if timed {
		p.line("%s", taken)
	}
	for _, k := range analysis.Kinds() {
		row, counted := "", analysis.Kind("")
		for _, s := range j.Snapshots {
			if s.Totals.Of(k) != nil && counted != k {
				counted = s.Totals.Counted(k)
			}
		}
		for _, i := range cols {
			cell := "–"
			if t := j.Snapshots[i].Totals; t.Of(k) != nil && t.Counted(k) == counted {
				cell = strconv.Itoa(*t.Of(k))
				if j.Snapshots[i].Bounded(k) {
					cell += "+"
				}
			}
			row += fmt.Sprintf("%9s", cell)
		}
		if counted != "" {
			p.line("%-12s%s", wording.Kinds(counted), row)
		}
	}
	if len(cols) < len(j.Snapshots) {
		p.line("%d of %d snapshots are shown", len(cols), len(j.Snapshots))
	}
	if j.Trend.Epochs[len(j.Snapshots)-1] > 0 {
		p.line("| marks a restart: nothing is followed across it")
	}
}

// pick chooses at most n of total columns, including the first and the last.
func pick(total, n int) []int {
	if total <= n {
		out := make([]int, total)
		for i := range out {
			out[i] = i
		}
		return out
	}
	out := make([]int, n)
	for i := range out {
		out[i] = i * (total - 1) / (n - 1)
	}
	return out
}

// families prints every family that moved, worst first. Families that came and went
// between the first snapshot and the last are only counted: they explain nothing that
// is present.
func (p *printer) families(s *Series, compared bool) {
	var moved []*Family
	still, level, passed := 0, 0, 0
	for i := range s.Families {
		switch f := &s.Families[i]; {
		case f.Verdict == analysis.Stable || f.Verdict == analysis.TooFewPoints:
			still++
			if slices.ContainsFunc(f.Evidence, levelled) {
				level++
			}
		case f.Verdict == analysis.Gone && f.Rise == 0:
			passed++
		default:
			moved = append(moved, f)
		}
	}
	if len(moved) > 0 {
		p.line("")
		p.line("%-10s %-10s %7s  %-5s %s", "verdict", "kind", "rise", "", "group")
		for _, f := range moved {
			p.line("%-10s %-10s %+7d  %-5s %s", f.Verdict, f.Kind, f.Rise, f.Handle, cut(f.Title, max(20, p.width-38)))
		}
	}
	if still+passed == 0 {
		return
	}
	p.line("")
	if len(moved) == 0 && len(s.Snapshots) == 1 {
		p.largest(s)
		return
	}
	var words []string
	if still > 0 {
		text := wording.Plural(still, "other group did not grow", "other groups did not grow")
		if level > 0 {
			text += fmt.Sprintf(" or no longer do (%d rose once)", level)
		}
		if !compared {
			text = wording.Plural(still, "more group", "more groups")
		}
		words = append(words, text)
	}
	if passed > 0 {
		words = append(words, wording.Plural(passed, "group came and went", "groups came and went"))
	}
	p.line("%s.", strings.Join(words, "; "))
}

// levelled reports evidence of a rise that does not go on.
func levelled(e Evidence) bool {
	switch e.Rule {
	case "rose_once":
		return e.N > 0
	case "series":
		return e.Form == "levelled" && slices.ContainsFunc(e.Courses, func(c analysis.Course) bool { return c.Last > c.First && c.Counts > 2 })
	}
	return false
}

// largest lists the largest families of one snapshot.
func (p *printer) largest(s *Series) {
	p.line("%-10s %8s  %s", "kind", "count", "largest groups")
	shown := 0
	for _, f := range sortedByCount(s.Families) {
		if shown == 15 {
			p.line("%d more groups", len(s.Families)-shown)
			return
		}
		shown++
		p.line("%-10s %8d  %s", f.Kind, f.Counts.Last(), cut(f.Title, max(20, p.width-21)))
	}
}

func sortedByCount(families []Family) []Family {
	out := slices.Clone(families)
	slices.SortStableFunc(out, func(a, b Family) int { return b.Counts.Last() - a.Counts.Last() })
	return out
}

// cut shortens to n runes with an ellipsis.
func cut(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	r := []rune(s)
	return string(r[:n-1]) + "…"
}

// CaseSummary is a case in one line of a list.
type CaseSummary struct {
	Headline string
	Verdict  analysis.Verdict
	// Process and Host name those of the case, that of the diagnosis first: "containerd,
	// kubelet" and "node-1".
	Process, Host string
	// Course is that of the first series.
	Course
	// Aside is how many families grow and were called benign. It is set only if no
	// other grows.
	Aside int
}

// mostAbout is how many processes or hosts a list names of a case.
const mostAbout = 2

// about names the processes and hosts of a case, that of the diagnosis first.
func (r *Report) about() (process, host string) {
	var processes, hosts []string
	add := func(list *[]string, name string) {
		if name != "" && !slices.Contains(*list, name) {
			*list = append(*list, name)
		}
	}
	order := r.seriesInOrder()
	if r.Diagnosis.Series != nil {
		order = slices.Concat([]int{*r.Diagnosis.Series}, order)
	}
	for _, i := range order {
		s := &r.Series[i]
		add(&processes, cmp.Or(s.Called, s.Process))
		if s.Host != nil {
			add(&hosts, *s.Host)
		}
	}
	return wording.Commas(processes, mostAbout), wording.Commas(hosts, mostAbout)
}

// Summary summarises a case for a list.
func (c *Case) Summary() CaseSummary {
	var first Course
	if len(c.Series) > 0 {
		first = c.Series[0].course()
	}
	return c.Report.summary(first)
}

// summary takes the course of the first series.
func (r *Report) summary(first Course) CaseSummary {
	s := CaseSummary{Headline: r.Diagnosis.Sentence, Verdict: r.Diagnosis.Verdict, Course: first}
	s.Process, s.Host = r.about()
	for i := range r.Series {
		aside, _ := r.Series[i].setAside()
		s.Aside += len(aside)
	}
	if s.Verdict.Rose() {
		s.Aside = 0
	}
	// Gone families are common. A list is about what grows.
	if !s.Verdict.Rose() && s.Verdict != analysis.TooFewPoints {
		s.Verdict = analysis.Stable
	}
	return s
}
