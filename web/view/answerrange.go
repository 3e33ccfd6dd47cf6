package view

import (
	"slices"
	"strings"

	"leakdiff/analysis/say/document"
	"leakdiff/analysis/say/report"
	"leakdiff/analysis/say/wording"
	"leakdiff/web/chart"
)

// AnswerStack is where the things of one lane stand: their states and their stack.
type AnswerStack struct {
	Title  string
	States *chart.StatesData
	// Count and Waiting are the states in words: "24", "waiting for a mutex, none runnable".
	Count, Waiting string
	Stack          *document.Stack
	// Lane is the look of what belongs to its lane.
	Lane document.Look `json:",omitempty"`
}

// AnswerRange is the part of the time that a reader chose, all of it without a choice.
type AnswerRange struct {
	// From and To are labels of the axis, Labels all of them.
	From, To string
	Labels   []string
	// Came and Totals say what happened between them, empty without a choice.
	Came, Totals string
	// Case, Compare and Flame are addresses, empty on kept pages and where nothing can be compared.
	Case, Compare, Flame string
	// FlameTo is the label to which the flame graph goes: without a choice that of the stack that is
	// shown, since what ended later is not in the last one.
	FlameTo string
}

// ranged reads the range that the address asks for: columns of the axis, and whether it asks.
func (m *caseMaker) ranged(x *laneAxis) (from, to int, asked bool) {
	from, to = slices.Index(x.labels, m.in.Query.Get("from")), slices.Index(x.labels, m.in.Query.Get("to"))
	if from < 0 || to < 0 || from == to || m.in.Frozen {
		return 0, len(x.labels) - 1, false
	}
	return min(from, to), max(from, to), true
}

// tellRange adds the range of an answer; series is the one to compare.
func (m *caseMaker) tellRange(a *Answer, series int, x *laneAxis) {
	if len(x.labels) < 2 {
		return
	}
	from, to, asked := m.ranged(x)
	r := &AnswerRange{From: x.labels[from], To: x.labels[to], Labels: x.labels, Case: m.live(caseURL(m.in.ID))}
	if asked {
		r.Came, r.Totals = came(a.Lanes, from, to), m.risen(a, from, to)
		if a.Lanes != nil {
			a.Lanes.From, a.Lanes.To = r.From, r.To
		}
	}
	s := &m.in.Report.Series[series]
	first, last := x.at(s, from, 1), x.at(s, to, -1)
	if first >= 0 && first < last && !m.in.Frozen {
		r.Compare = diffURL(s.Snapshots[first], s.Snapshots[last], m.in.ID, "")
		if slices.ContainsFunc(s.Families, func(f report.Family) bool { return len(f.Frames) > 0 }) {
			peak := last
			if of := leadStack(s); !asked && of != nil {
				if at := slices.Index(s.Snapshots, of.Snapshot); at > first {
					peak = at
				}
			}
			r.Flame = strings.Replace(diffURL(s.Snapshots[first], s.Snapshots[peak], m.in.ID, ""), "?", "/flame?", 1)
			r.FlameTo = r.To
			if at, ok := x.place[s.Snapshots[peak]]; ok && peak != last {
				r.FlameTo = x.labels[at]
			}
		}
	}
	a.Range = r
}

// leadStack is that of the first finding of a process that has one, nil without any.
func leadStack(s *report.Series) *report.StackOf {
	for i := range s.Findings {
		if of := s.Findings[i].StackOf; of != nil {
			return of
		}
	}
	return nil
}

// at is the first snapshot of a series at a column or beyond it in the direction of step, -1 for none.
func (x *laneAxis) at(s *report.Series, column, step int) int {
	for k := column; k >= 0 && k < len(x.labels); k += step {
		if i := slices.IndexFunc(s.Snapshots, func(id string) bool { at, ok := x.place[id]; return ok && at == k }); i >= 0 {
			return i
		}
	}
	return -1
}

// came says how many of the thing were first seen after one column, up to another, and how many that
// were there ended in between.
func came(d *chart.LanesData, from, to int) string {
	if d == nil {
		return ""
	}
	for i := range d.Lanes {
		l := &d.Lanes[i]
		if len(l.Runs) == 0 {
			continue
		}
		born, ended := 0, 0
		for _, r := range l.Runs {
			if r.First > from && r.First <= to {
				born += r.N
			}
			if r.Last >= from && r.Last < to {
				ended += r.N
			}
		}
		return wording.Came(l.Noun, born, ended)
	}
	return ""
}

// risen lists the totals of the drawing with what was added between two columns.
func (m *caseMaker) risen(a *Answer, from, to int) string {
	if a.Lanes == nil {
		return ""
	}
	var out []string
	for _, t := range a.Lanes.Totals {
		if x, y := t.Values[from], t.Values[to]; x.Known() && y.Known() {
			name, memory := strings.CutSuffix(t.Name, ", MiB")
			text := wording.Lower(name) + " " + wording.Signed(y.N-x.N)
			if memory {
				text += " MiB"
			}
			out = append(out, text)
		}
	}
	return strings.Join(out, ", ")
}

// stacks adds the states and the stack of each lane whose finding has one: of the range that was
// asked for, else where the stack was read.
func (m *caseMaker) stacks(a *Answer, d *report.Diagnosis, x *laneAxis) {
	from, to, asked := m.ranged(x)
	links := append([]report.Link{{Series: *d.Series, Finding: d.Finding}}, d.Chain...)
	told := map[placedRank]bool{}
	var traces report.Traces
	for _, l := range links {
		s, at := &m.in.Report.Series[l.Series], placedRank{l.Series, l.Finding}
		i := slices.IndexFunc(s.Findings, func(f report.Finding) bool { return f.Rank == l.Finding })
		if i < 0 || told[at] {
			continue
		}
		told[at] = true
		t := traces.Of(&s.Findings[i], m.labelOf)
		if t == nil {
			continue
		}
		of := s.Findings[i].StackOf
		counts := m.statesAt(s, l.Series, of.Family, slices.Index(s.Snapshots, of.Snapshot))
		if asked {
			first, last := x.at(s, from, -1), x.at(s, to, -1)
			counts = m.statesAt(s, l.Series, of.Family, last)
			if in := m.rangeStack(s, of.Family, first, last); in != nil {
				t, counts = in.Trace(x.labels[from], x.labels[to], m.labelOf(in.Of.Snapshot)), in.States
			}
		}
		out := AnswerStack{Title: m.stackTitle(d, l.Series), Stack: newStack(t.Short(answerFrames), nil)}
		out.Lane = a.laneLook(at)
		out.state(counts, len(a.Opened))
		a.Opened = append(a.Opened, out)
	}
}

// rangeStack is the stack of a family in the range from one snapshot to another. A series that
// begins later has the range from its first.
func (m *caseMaker) rangeStack(s *report.Series, fingerprint string, first, last int) *report.RangeStack {
	if m.in.RangeStack == nil || last < 0 {
		return nil
	}
	return m.in.RangeStack(fingerprint, s.Snapshots[max(first, 0)], s.Snapshots[last])
}

// stackTitle names the stack of a lane by its process, or by whose it is in a case of one.
func (m *caseMaker) stackTitle(d *report.Diagnosis, series int) string {
	if len(m.in.Report.Series) == 1 {
		return "Stack"
	}
	if c := d.Claims; c != nil && c.Opener != nil && c.Opener.Series == series && series != *d.Series {
		return "opened in " + named(&m.in.Report.Series[series])
	}
	return "held in " + named(&m.in.Report.Series[series])
}

// statesAt are the states of a family at a snapshot of its series: of all where the drawings are
// stored, else those of the last.
func (m *caseMaker) statesAt(s *report.Series, series int, fingerprint string, at int) map[string]int {
	if over := m.more(series).States[fingerprint]; at >= 0 && at < len(over) {
		return over[at]
	}
	if i := slices.IndexFunc(s.Families, func(f report.Family) bool { return f.Fingerprint == fingerprint }); i >= 0 && at == len(s.Snapshots)-1 {
		return s.Families[i].States
	}
	return nil
}

// state adds states as a bar and in words.
func (s *AnswerStack) state(counts map[string]int, number int) {
	if words := wording.States(counts); words != "" {
		_, s.States = states("answer-states-"+itoa(int64(number)), counts)
		s.States.Width = 240
		s.Count, s.Waiting, _ = strings.Cut(Visible(words), " ")
	}
}

// stackBlocks are the range and the stacks of an answer.
func (a *Answer) stackBlocks() document.Blocks {
	out := document.Group{ID: "range", Blocks: a.Range.blocks()}
	if len(a.Opened) < 2 {
		for i := range a.Opened {
			out.Add(document.Group{Look: a.Opened[i].Lane, Blocks: a.Opened[i].blocks()})
		}
		out.Add(a.Range.flame()...)
		return append(document.Blocks{out}, stackBlocks(a.Stack)...)
	}
	tabs := document.Group{Look: "folds inrow tabbed"}
	for i := range a.Opened {
		tabs.Add(document.Fold{
			Look: "part", SummaryLook: a.Opened[i].Lane, Name: "opened", Open: i == 0, Summary: document.Text{document.Marked(document.Strong, a.Opened[i].Title)}, Rest: true,
			Blocks: document.Blocks{document.Group{Look: document.Look(strings.TrimSpace("in " + string(a.Opened[i].Lane))), Blocks: a.Opened[i].blocks()}},
		})
	}
	tabs.Add(a.Range.flame()...)
	out.Add(tabs)
	return document.Blocks{out}
}

// blocks are the states in a bar and in words, above the stack.
func (s *AnswerStack) blocks() document.Blocks {
	var out document.Blocks
	if s.States != nil {
		out.Add(document.Group{Look: "statebar", Blocks: document.Blocks{
			document.PageOnly{Blocks: document.Blocks{document.Drawing{Chart: *s.States}}},
			document.Paragraph{Text: document.Text{document.Marked(document.Strong, s.Count), document.Plain(" " + s.Waiting)}},
		}})
	}
	return append(out, stackBlocks(s.Stack)...)
}

// blocks say what came in the range; without scripts a form chooses it.
func (r *AnswerRange) blocks() document.Blocks {
	if r == nil || r.Case == "" || len(r.Labels) < 3 {
		return nil
	}
	line := document.Paragraph{Look: "note ranged"}
	if r.Came+r.Totals != "" {
		line.Text = document.Text{
			document.Marked(document.Strong, r.From+" to "+r.To+": "+strings.Join(nonEmpty(r.Came, r.Totals), "; ")), document.Plain(" "),
			document.LinkTo(r.Compare, "Compare"), document.Plain(" "), document.LinkTo(r.Case, "All"),
		}
	}
	out := document.PageOnly{}
	if len(line.Text) > 0 {
		out.Add(line)
	}
	if len(r.Labels) > largeColumns {
		return document.Blocks{out} // the timeline chooses among so many
	}
	choice := make([]document.Choice, len(r.Labels))
	for i, l := range r.Labels {
		choice[i] = document.Choice{Value: l, Text: l}
	}
	pick := func(name, words, value string) document.Blocks {
		id := document.ID("range-" + name)
		return document.Blocks{label(id, words), document.Select{ID: id, Name: name, Value: value, Groups: []document.Choices{{List: choice}}}}
	}
	form := document.Form{Look: "act no-js", Action: r.Case}
	form.Add(pick("from", "From", r.From)...)
	form.Add(pick("to", "to", r.To)...)
	form.Add(document.Press{Look: "btn", Type: "submit", Text: "Show this range"})
	out.Add(form)
	return document.Blocks{out}
}

// flame leads to the flame graph of what changed in the range.
func (r *AnswerRange) flame() document.Blocks {
	if r == nil || r.Flame == "" {
		return nil
	}
	return document.Blocks{document.PageOnly{Blocks: document.Blocks{document.Paragraph{Look: "note noprint", Text: document.Text{document.LinkTo(r.Flame, "Flame of "+r.From+" to "+r.FlameTo)}}}}}
}
