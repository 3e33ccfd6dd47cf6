package report

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"leakdiff/analysis"
	"leakdiff/analysis/say/noun"
	"leakdiff/analysis/say/wording"
)

// Terminal is how Text prints a report.
type Terminal struct {
	// Top bounds the further findings, nil for 10.
	Top *int
	// Color uses escape sequences for colours.
	Color bool
}

// The screen has columns of text, and lines at most.
const (
	columns   = 80
	mostLines = 30
	// labelWidth is the column of labels, mostFurther how many findings stand below the
	// screen unless a person says how many.
	labelWidth  = 8
	mostFurther = 10
)

// style is the parameter of an escape sequence for colours.
type style string

const (
	bold   style = "1"
	dim    style = "2"
	orange style = "38;5;166"
	blue   style = "38;5;32"
)

// screen prints a diagnosis. It makes no sentence of its own.
type screen struct {
	*diagnosing
	*Diagnosis
	Terminal
	// lead is the finding that the diagnosis is about, nil where nothing grew.
	lead *Finding
	// told are the findings that stand in the chain.
	told map[FindingRef]bool
}

func newScreen(r *Report, t Terminal) *screen {
	s := &screen{diagnosing: r.diagnosing(noun.Builtin()), Diagnosis: &r.Diagnosis, Terminal: t, told: map[FindingRef]bool{}}
	if s.lead = r.lead(); s.lead != nil {
		s.told[FindingRef{Series: *s.Series, Rank: s.Finding}] = true
	}
	return s
}

// screenOf returns the screen of a report as blocks of lines, which empty lines separate.
func screenOf(r *Report, t Terminal) [][]string {
	s := newScreen(r, t)
	blocks := [][]string{{s.head()}, s.painted(bold, wrapped(s.Sentence, columns, 3))}
	var figures, chain, stack, versions []string
	if s.lead == nil {
		if figures, stack = s.inventory(), s.stuck(mostScreenFrames-1); len(stack) == 0 {
			stack = s.top(mostScreenFrames)
		}
	} else {
		figures, chain = s.figures(), s.links()
		stack = s.stack(mostScreenFrames)
		if s.State == string(Deadlock) {
			stack = s.stuck(mostScreenFrames - 1)
		}
		versions = s.versions()
	}
	last := slices.Concat(s.actions(), s.known(), s.problems())
	lines := func() (n int) {
		for _, b := range append(blocks, figures, versions, chain, stack, last) {
			n += len(b) + min(len(b), 1)
		}
		return n - 1
	}
	for most := mostScreenFrames - 2; most > 0 && s.State == string(Deadlock) && len(stack) > 0 && lines() > mostLines; most-- {
		stack = s.stuck(most)
	}
	if over := lines() - mostLines; over > 0 && len(stack) > 0 && s.State != string(Deadlock) {
		switch most := max(fewestScreenFrames, mostScreenFrames-over); {
		case s.lead != nil:
			stack = s.stack(most)
		case State(s.State) == OneDump:
			stack = s.top(most)
		}
	}
	var list []string
	if len(r.Series) > 0 {
		most := mostFurther
		if t.Top != nil {
			most = *t.Top
		}
		list = append(s.further(most), s.labelled("more", "--verbose for the evidence, --format ticket for a ticket", 1)...)
	}
	return append(blocks, figures, versions, chain, stack, last, list)
}

// mostScreenVersions is how many versions the screen tells.
const mostScreenVersions = 8

// versions are the rows of the versions, those around the first bad one and the last where
// there are many, with the answer below them.
func (s *screen) versions() []string {
	v := s.lead.Versions
	if v == nil {
		return nil
	}
	lines := v.table(mostScreenVersions)
	lines[0] = strings.Replace(lines[0], "version", "       ", 1) // the label says it
	label := "version"
	for i, line := range lines {
		lines[i] = s.label(label) + cut(line, columns-labelWidth)
		label = ""
	}
	lines = append(lines, s.labelled("", wording.Capital(wording.Printable(v.Text))+".", 4)...)
	if v.Fix != nil {
		lines = append(lines, s.labelled("fix", wording.Printable(v.Fix.Text)+".", 4)...)
	}
	return lines
}

// finding is the one of a rank, or nil.
func (s *Series) finding(rank int) *Finding {
	for i := range s.Findings {
		if s.Findings[i].Rank == rank {
			return &s.Findings[i]
		}
	}
	return nil
}

func (s *screen) paint(st style, text string) string {
	if !s.Color || text == "" {
		return text
	}
	return "\x1b[" + string(st) + "m" + text + "\x1b[0m"
}

func (s *screen) painted(st style, lines []string) []string {
	for i := range lines {
		lines[i] = s.paint(st, lines[i])
	}
	return lines
}

// marks are the glyphs of verdicts and kinds of findings, as pages show them.
var marks = map[string]string{
	"leaking": "▲", "saturated": "▮", "suspicious": "△", "scaling": "∝", "stopped": "▪", "grew": "↑", "new": "+", "stable": "=", "too_few_points": "…",
	FactFinding: "●", HolderFinding: "◆", FollowFinding: "↳", ObserverFinding: "○", LimitFinding: "▮",
}

// head is the state, whose dumps they are, and how many.
func (s *screen) head() string {
	state, until := State(s.State), ""
	if s.lead != nil && s.Claims != nil && state != Deadlock {
		state = s.Claims.State
		if at := s.Claims.until(); at >= 0 {
			until = " until " + wording.Printable(s.diagnosing.label(&s.r.Series[*s.Series], at))
		}
	}
	word := strings.ToUpper(wording.Printable(string(state)))
	mark := marks[string(s.Verdict)]
	if s.lead == nil && mark == "" || s.lead == nil && s.Verdict != analysis.Grew && len(s.r.Series) > 0 {
		mark = "="
	}
	accused := s.Verdict == analysis.Leaking || s.Verdict == analysis.Suspicious
	if state == Saturated {
		mark, accused = marks["saturated"], true
	}
	if state == Deadlock || state == Crashed {
		mark, accused = marks["leaking"], true
	}
	if state == Grew {
		mark = marks["grew"]
	}
	if state == Fixed {
		mark, accused = marks["stable"], false
	}
	if state.ofOneDump() || state == NotCompared || state == CannotTell || len(s.r.Series) == 0 {
		mark = "…"
	}
	when := s.when()
	room := columns - utf8.RuneCountInString(mark+" "+word+until+"   "+"   "+when)
	first := s.paint(bold, mark+" "+word)
	if accused {
		first = s.paint(orange, mark+" "+word)
	}
	first += s.paint(blue, until)
	if where := s.where(room); where != "" {
		first += "   " + where
	}
	if when != "" {
		first += "   " + s.paint(dim, when)
	}
	return first
}

// where names the processes and their host, that of the lead first.
func (s *screen) where(room int) string {
	names, hosts := s.r.about((*Series).Named)
	on := ""
	switch {
	case len(hosts) == 1:
		on = " on " + wording.Printable(hosts[0])
	case len(hosts) > 1:
		on = fmt.Sprintf(" on %s and %s", wording.Printable(hosts[0]), wording.Plural(len(hosts)-1, "more host", "more hosts"))
	}
	if len(s.r.Series) == 1 {
		x := &s.r.Series[0]
		if p := s.snapshot(x, len(x.Snapshots)-1).PID; p != nil && x.PID == nil && !strings.HasSuffix(names[0], fmt.Sprintf(" %d", *p)) {
			if text := fmt.Sprintf("%s%s, pid %d", wording.Printable(names[0]), on, *p); utf8.RuneCountInString(text) <= room {
				return text
			}
		}
	}
	for n := len(names); n > 0; n-- {
		text := wording.Printable(strings.Join(names[:n], ", "))
		if n < len(names) {
			text += fmt.Sprintf(" and %d more", len(names)-n)
		}
		for _, text := range []string{text + on, text} {
			if utf8.RuneCountInString(text) <= room {
				return text
			}
		}
	}
	if room < labelWidth || len(names) == 0 {
		return ""
	}
	return cut(wording.Printable(names[0]), room)
}

// when is how many dumps the process of the answer has, and over which time.
func (s *screen) when() string {
	if len(s.r.Series) == 0 {
		return ""
	}
	x := &s.r.Series[s.r.seriesInOrder()[0]]
	if s.lead != nil {
		x = &s.r.Series[*s.Series]
	}
	n := len(x.Snapshots)
	text := wording.Plural(max(n, len(x.Captures)), "dump", "dumps")
	first, last := s.snapshot(x, 0).CapturedAt, s.snapshot(x, n-1).CapturedAt
	switch {
	case n == 1 && s.snapshot(x, 0).TimeUnsure: // a copy of a file has the time of the copy
	case n == 1 && first != nil:
		text += ", " + wording.Minute(*first)
	case first != nil && last != nil && last.After(*first):
		text += " in " + wording.Duration(last.Sub(*first))
	}
	if x.Captures != nil {
		text += ", " + wording.Judged(n)
	}
	return text
}

// labelled is text behind a label, in at most so many lines.
func (s *screen) labelled(label, text string, most int) []string {
	lines := wrapped(text, columns-labelWidth, most)
	for i := range lines {
		lines[i] = s.label(label) + lines[i]
		label = ""
	}
	return lines
}

func (s *screen) label(text string) string {
	return s.paint(dim, text) + strings.Repeat(" ", max(0, labelWidth-utf8.RuneCountInString(text)))
}

// figures are the lines about the growth, those that are known.
func (s *screen) figures() []string {
	var out, sure []string
	for _, f := range s.r.Facts() {
		label := strings.ToLower(f.Name)
		switch f.Name {
		case proofFact:
			out = append(out, s.labelled(label, f.Text, 2)...)
		case sinceFact, untilFact, paceFact:
			out = append(out, s.labelled(label, f.Text, 1)...)
		case besideFact:
			out = append(out, s.labelled(label, f.Text, 3)...)
		case limitFact:
			if f.Text != noLimit {
				out = append(out, s.labelled(label, f.Text, 1)...)
			}
		case growingFact, causeFact:
			sure = append(sure, label+" "+f.Text)
		}
	}
	return append(out, s.labelled("sure", strings.Join(sure, "; "), 3)...)
}

// links are the cells of the chain, each with the course of its counts. Without a chain the
// counts of the finding have a line.
func (s *screen) links() []string {
	if len(s.Chain) == 0 {
		if course := s.counted(*s.Series, s.lead); course != "" {
			return []string{s.label("count") + course}
		}
		return nil
	}
	heads, tails, column := make([]string, len(s.Chain)), make([]string, len(s.Chain)), 0
	for i, link := range s.Chain {
		tree := " ◆ "
		if i > 0 {
			tree = strings.Repeat("  ", i) + "└ "
		}
		heads[i] = cut(tree+wording.Printable(link.Figure+" "+link.Noun), columns/2+4)
		tails[i] = wording.Printable(link.Text)
		if link.Process != "" {
			tails[i] = wording.Printable("in " + link.Process + ", " + link.Text)
		}
		if link.Series >= len(s.r.Series) {
			continue
		}
		x := &s.r.Series[link.Series]
		f := x.finding(link.Finding)
		if f == nil {
			continue
		}
		s.told[FindingRef{Series: link.Series, Rank: link.Finding}] = true
		if link.Course != nil {
			tails[i] = s.counted(link.Series, f)
			if link.Process != "" {
				tails[i] = wording.Printable("in "+link.Process) + "  " + tails[i]
			}
		}
		column = max(column, utf8.RuneCountInString(heads[i]))
	}
	out := make([]string, len(heads))
	for i, head := range heads {
		gap := 0
		if tails[i] != "" {
			gap = max(0, column-utf8.RuneCountInString(head)) + 3
		}
		tail := s.uncolored(tails[i])
		if over := utf8.RuneCountInString(head) + gap + utf8.RuneCountInString(tail) - columns; over > 0 {
			gap = max(1, gap-over)
			if room := columns - utf8.RuneCountInString(head) - gap; utf8.RuneCountInString(tail) > room {
				tails[i] = cut(tail, room)
			}
		}
		out[i] = strings.TrimRight(head+strings.Repeat(" ", gap)+tails[i], " ")
	}
	return out
}

// uncolored is a text without the escape sequences of paint.
func (s *screen) uncolored(text string) string {
	if !s.Color {
		return text
	}
	for _, st := range []style{bold, dim, orange, blue} {
		text = strings.ReplaceAll(text, "\x1b["+string(st)+"m", "")
	}
	return strings.ReplaceAll(text, "\x1b[0m", "")
}

// counted is the counts of a finding as a sparkline between its ends, "" for a single count.
//
//	4 ▁▂▃▄▅▆▇█▁ 4  peak 64
func (s *screen) counted(series int, f *Finding) string {
	x := &s.r.Series[series]
	subject := s.answerOf(series, f).subject
	counts := subject.counts
	if s.lead == f && len(s.Together) > 0 {
		all := Gauge{Values: x.bound(subject.many).Counts}
		counts = all.Counts()
	}
	return s.drawn(counts, s.epochs(x))
}

func (s *screen) epochs(x *Series) []int {
	epochs := make([]int, len(x.Snapshots))
	for i := range epochs {
		epochs[i] = s.epoch(x, i)
	}
	return epochs
}

// drawn is the sparkline of counts with its figures.
func (s *screen) drawn(counts analysis.Counts, epochs []int) string {
	known := counts.Known()
	if len(known) == 0 {
		return ""
	}
	first, last, top := known[0], known[len(known)-1], counts.Highest()
	if len(known) == 1 {
		return wording.Number(int64(first))
	}
	line := sparkline(counts, epochs)
	if s.lead != nil {
		line = s.paint(orange, line)
	}
	text := wording.Number(int64(first)) + " " + line + " " + wording.Number(int64(last))
	if top > first && top > last {
		text += "  peak " + wording.Number(int64(top))
	}
	return text
}

// actions are what to do, each with its command.
func (s *screen) actions() (out []string) {
	label := "do"
	for i, step := range s.Steps {
		if step.Text != "" {
			out, label = append(out, s.labelled(label, s.numbered(i), 4)...), ""
		}
		for _, line := range commandLines(wording.Printable(step.Command), columns-labelWidth) {
			out, label = append(out, s.label(label)+s.paint(bold, line)), ""
		}
	}
	return out
}

// commandLines breaks a command between its words as a shell reads it on.
func commandLines(command string, width int) []string {
	var out []string
	for len(command) > width {
		at := strings.LastIndexByte(command[:width-1], ' ')
		if at <= 2 {
			break
		}
		out = append(out, command[:at]+" \\")
		command = "  " + command[at+1:]
	}
	if command != "" {
		out = append(out, cut(command, width))
	}
	return out
}

// known are the published leaks that the finding looks like, in one line, and the
// advisory of the first one.
func (s *screen) known() []string {
	if s.lead == nil || len(s.lead.Known) == 0 {
		return nil
	}
	k := &s.lead.Known[0]
	text := wording.Printable("looks like " + k.ID + ": " + k.Title)
	more := ""
	if n := len(s.lead.Known) - 1; n > 0 {
		more = fmt.Sprintf(", %d more", n)
	}
	out := s.labelled("known", cut(text, columns-labelWidth-len(more))+more, 1)
	if len(k.Advisories) > 0 && k.Compare != "" {
		out = append(out, s.labelled("", wording.Printable(k.Compare), 3)...)
	}
	return out
}

// further lists findings in one line each that neither the answer nor the chain tells.
func (s *screen) further(most int) []string {
	type line struct{ mark, text string }
	var all []line
	add := func(series int, f *Finding, text string) {
		ref := FindingRef{Series: series, Rank: f.Rank}
		if s.told[ref] {
			return
		}
		mark := marks[f.Kind]
		if f.Kind == "" {
			mark = marks[string(f.Verdict)]
		}
		mark = strings.TrimSpace(mark + " " + f.Mark())
		all = append(all, line{mark, text})
		s.told[ref] = true
	}
	told := s.told
	s.told = map[FindingRef]bool{}
	for ref := range told {
		s.told[ref] = true
	}
	leads := s.leads()
	for _, o := range leads {
		add(o.series, o.finding, s.alsoText(o, &leads[0]))
	}
	for _, i := range s.r.seriesInOrder() {
		x := &s.r.Series[i]
		for k := range x.Findings {
			text := x.Findings[k].Title
			if claim := s.LimitClaim; claim != nil && x.Findings[k].Limit == claim.What && (s.lead == nil || i == *s.Series) {
				continue // its line stands above
			}
			pool := x.saturatedPool()
			full := s.State == string(Saturated) && pool != nil && text == pool.title()
			if full || s.lead == nil && strings.Contains(strings.ToLower(s.Sentence), strings.ToLower(text)) || s.State == string(Deadlock) && x.Findings[k].tellsOf(x.Locks) || s.tellsQueue(i, &x.Findings[k]) || x.Findings[k].ownersOf(s.lead) {
				continue // the answer says it
			}
			if len(s.r.Series) > 1 {
				text = s.processOf(i) + ": " + text
			}
			add(i, &x.Findings[k], text)
		}
	}
	s.told = told
	if most = max(most, 0); len(all) == 0 {
		return nil
	}
	label := "also"
	if s.lead == nil {
		label = "found"
	}
	var out []string
	shown := min(len(all), most)
	wide := 0 // of the verdicts; the longer names of kinds are not aligned
	for _, x := range all[:shown] {
		if n := utf8.RuneCountInString(x.mark); n <= len("? leaking") {
			wide = max(wide, n)
		}
	}
	for _, x := range all[:shown] {
		text := x.mark + strings.Repeat(" ", max(0, wide-utf8.RuneCountInString(x.mark))) + "  " + wording.Printable(x.text)
		out = append(out, s.label(label)+cut(text, columns-labelWidth))
		label = ""
	}
	if rest := len(all) - shown; rest > 0 {
		out = append(out, s.label(label)+wording.Plural(rest, "more finding", "more findings"))
	}
	return out
}

// wrapped breaks text into at most so many lines of a width. Words that are longer are broken.
func wrapped(text string, width, most int) []string {
	var out []string
	line := ""
	end := func() {
		if line != "" {
			out = append(out, line)
		}
		line = ""
	}
	// A hard space is within a figure.
	blank := func(r rune) bool { return unicode.IsSpace(r) && r != '\u00a0' && r != '\u202f' }
	words := strings.FieldsFunc(wording.Printable(text), blank)
	for i, word := range words {
		switch { // a number stays with its unit
		case i > 0 && wording.OfFigure(words[i-1], word):
			continue
		case i+1 < len(words) && wording.OfFigure(word, words[i+1]):
			word += " " + words[i+1]
		}
		if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
			end()
		}
		if line != "" {
			line += " "
		}
		line += word
		for utf8.RuneCountInString(line) > width {
			r := []rune(line)
			out, line = append(out, string(r[:width])), string(r[width:])
		}
	}
	end()
	if len(out) > most {
		out = out[:most]
		out[most-1] = cut(out[most-1]+" …", width)
	}
	return out
}
