package view

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/trend"
	"leakdiff/analysis/say/evidence"
	"leakdiff/analysis/say/filter"
	"leakdiff/analysis/say/report"
	"leakdiff/analysis/say/wording"
	"leakdiff/web/chart"
)

// CaseMore is what the report leaves out of one series and a page draws.
type CaseMore struct {
	Events []trend.Event
	// Points are the explanation of the series; holders are among them.
	Points []trend.Point
	// Facts are what is known of a family, for filters; nil where only the report is
	// there.
	Facts func(*report.Family) *filter.Facts
	// Drawn is what the further charts are made from, nil where they are not drawn.
	Drawn *report.Drawn
	// Largest is the stack of the largest group of one snapshot, nil without one.
	Largest *report.Trace
	// Lives are the members of families that rose, by fingerprint; nil in large cases.
	Lives map[string][]report.Lives
	// States count the members of the families with a stack that rose, by state and snapshot.
	States map[string][]map[string]int
}

// CaseShare is a family of a finding: what one instance of the unit holds of it,
// or why it may hold what others wait for.
type CaseShare struct {
	Name   FamilyName
	Facts  string
	Reason string
}

// CaseUnit is the rows of one unit in the table of families: a sum, and the
// families that it unfolds to.
type CaseUnit struct {
	Anchor, ID, Process, Each string
	Counts                    []string
	// Triage is what a person decided about all of its families alike.
	Rise, Verdict, Triage string
	Families              []CaseFamily
}

// CaseLimit is one limit of a process.
type CaseLimit struct {
	Process, What, Used, Bound, Share string
	// Rate and Left are with their 95 % intervals.
	Rate, Left string
	Chart      chart.SmallData
	Note       string
}

// LegendItem says what a mark of the timeline means; Class draws the mark, none where
// the text begins with it.
type LegendItem struct{ Class, Text string }

// most small charts that stand open, and that are drawn at all.
const (
	maxMinis     = 8
	maxMoreMinis = 24
	maxLimits    = 12
)

func (m *caseMaker) more(series int) CaseMore {
	if series < len(m.in.More) {
		return m.in.More[series]
	}
	return CaseMore{}
}

// unitOf finds a unit of a series, nil where there is none.
func unitOf(s *report.Series, id string) *report.Unit {
	for i := range s.Units {
		if s.Units[i].ID == id {
			return &s.Units[i]
		}
	}
	return nil
}

// each is one instance of a unit by kind: "1 goroutine, 6 watches each time"; "" where
// instances cannot be counted.
func each(u *report.Unit) string {
	if u.Each == "" {
		return ""
	}
	return Visible(u.Each) + " each time"
}

// lockstep is a unit in a sentence: "7 families rise in lockstep: one instance is 1
// goroutine, 6 watches."
func lockstep(u *report.Unit) string {
	text := capital(wording.PagePlural(int64(len(u.Ratio)), "group", "groups")) + " grow by the same steps"
	if u.Each != "" {
		text += ": each time " + Visible(u.Each)
	}
	return text + "."
}

// told are the counts to show of a unit: its instances, or its members where those
// cannot be counted.
func told(u *report.Unit) (counts analysis.Counts, noun, nouns string) {
	if u.Each == "" {
		return u.Members, "member", "members"
	}
	return u.Counts, "instance", "instances"
}

// ratio writes members per instance: "1", "4.3".
func ratio(v float64) string { return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64) }

// course is a count from first to last with its peak between: "4 → 64 → 4". What
// fell at a restart is no way back and is said: "3 → 162, restarted with 16".
func course(counts analysis.Counts, epochs []int) string {
	start := -1
	var runs [][]int
	for i, v := range counts {
		if slices.Contains(epochs, i) {
			start = -1
		}
		if !v.Known() {
			continue
		}
		if start < 0 {
			start, runs = i, append(runs, nil)
		}
		runs[len(runs)-1] = append(runs[len(runs)-1], v.N)
	}
	if len(runs) == 0 {
		return "not captured"
	}
	told := 0
	for i, run := range runs {
		if slices.Max(run)-run[0] > slices.Max(runs[told])-runs[told][0] {
			told = i
		}
	}
	run := runs[told]
	first, top, last := run[0], slices.Max(run), run[len(run)-1]
	text := wording.Number(int64(first))
	if top > first && top > last {
		text += " → " + wording.Number(int64(top))
	}
	text += " → " + wording.Number(int64(last))
	if end := len(runs) - 1; end > told {
		text += ", restarted with " + wording.Number(int64(runs[end][0]))
	}
	return text
}

// restarts are the snapshots of a series that begin a new process start.
func (m *caseMaker) restarts(s *report.Series) []int { return m.known(s).restarts }

// shares lists the families of a finding; holders come with their reasons.
func (m *caseMaker) shares(out *CaseFinding, s *report.Series, series int, f *report.Finding, byPrint map[string]*report.Family) {
	if len(f.Families) < 2 && f.Kind != report.HolderFinding {
		return
	}
	u := unitOf(s, f.Unit)
	reasons := m.reasons(series, f)
	for _, fp := range f.Families {
		family := byPrint[fp]
		if family == nil {
			continue
		}
		share := CaseShare{Name: m.name(s, family), Facts: kindWord(family.Kind.Worded(family.Attributes), 2) + " " + course(whole(family.Counts, m.lower(s, family.Kind)), m.restarts(s)), Reason: Visible(arrow(reasons[fp]))}
		share.Facts += createdBy(share.Name)
		if u != nil {
			if u.Each != "" {
				share.Facts = ratio(u.Ratio[fp]) + " each time, " + share.Facts
			}
		}
		out.Shares = append(out.Shares, share)
	}
	switch {
	case f.Kind == report.HolderFinding:
		out.ShareHead = wording.PagePlural(int64(len(out.Shares)), "possible holder", "possible holders") + ", and why"
		if len(reasons) > 0 {
			out.Text = "Possible, not proven: they do not grow, were there before, or wait inside what the others wait for."
		}
	case u != nil:
		out.ShareHead = wording.PagePlural(int64(len(out.Shares)), "family", "families") + " of unit " + Visible(u.ID)
	default:
		out.ShareHead = wording.PagePlural(int64(len(out.Shares)), "family", "families")
	}
}

// createdBy returns what tells families of one name apart.
func createdBy(n FamilyName) string {
	if n.Creator == nil {
		return ""
	}
	return ", created by " + n.Creator.Path + n.Creator.Name
}

// reasons returns why families may hold what others wait for, by fingerprint.
func (m *caseMaker) reasons(series int, f *report.Finding) map[string]string {
	if f.Kind != report.HolderFinding || len(f.Families) == 0 {
		return nil
	}
	points := m.more(series).Points
	words := evidence.Words{Labels: m.known(&m.in.Report.Series[series]).labels}
	of := ""
	for _, p := range points {
		if p.Section == trend.MayHold && len(p.Families) > 0 && p.Families[0] == f.Families[0] {
			of = p.Of
			break
		}
	}
	out := map[string]string{}
	for _, p := range points {
		if p.Section == trend.MayHold && p.Of == of && len(p.Families) > 0 {
			out[p.Families[0]] = capital(strings.Join(words.Reasons(p.Why), "; ")) + "."
		}
	}
	return out
}

// spanOf turns windows of snapshots into the columns of a chart; column gives
// the column of a snapshot's id, -1 for none.
func spanOf(o *report.Onset, column func(id string) int) *chart.Span {
	if o == nil || len(o.Windows) == 0 {
		return nil
	}
	s := &chart.Span{From: column(o.Windows[0].From), To: column(o.Windows[len(o.Windows)-1].To)}
	if s.From < 0 || s.To <= s.From {
		return nil
	}
	return s
}

// eventMarks places events between timed columns. A restart that the epochs show
// themselves is drawn with them.
func eventMarks(events []trend.Event, times []time.Time) []chart.Event {
	var out []chart.Event
	for _, e := range events {
		if e.Shown != nil && e.Shown.Is == "" {
			continue
		}
		if mark, ok := placed(e, times); ok {
			out = append(out, mark)
		}
	}
	return out
}

// columnEvents places events between the columns of a case. One at the very time of a
// snapshot of its series is at its column, which may be of a moment before.
func (m *caseMaker) columnEvents(s *report.Series, events []trend.Event, times []time.Time) []chart.Event {
	own := slices.Clone(events)
	for i := range own {
		for k, at := range m.times(s) {
			if !at.IsZero() && at.Equal(own[i].At) {
				if c := m.column(s.Snapshots[k]); c >= 0 {
					own[i].At = times[c]
				}
			}
		}
	}
	return eventMarks(own, times)
}

func placed(e trend.Event, times []time.Time) (chart.Event, bool) {
	mark := chart.Event{At: -1, Text: Visible(strings.TrimSpace(evidence.Words{}.Event(e)))}
	for i, t := range times {
		if t.IsZero() || t.After(e.At) {
			continue
		}
		mark.At, mark.Part = i, 0
		if i+1 < len(times) && times[i+1].After(t) {
			mark.Part = e.At.Sub(t).Seconds() / times[i+1].Sub(t).Seconds()
		}
	}
	return mark, mark.At >= 0 && mark.Part <= 1
}

func (m *caseMaker) times(s *report.Series) []time.Time {
	out := make([]time.Time, len(s.Snapshots))
	for i, snap := range m.known(s).snapshots {
		if snap != nil {
			out[i] = timeOf(snap)
		}
	}
	return out
}

// taken are the times of all captures of a series where not all are judged, nil otherwise.
func (m *caseMaker) taken(s *report.Series) []time.Time {
	if s.Captures == nil {
		return nil
	}
	return m.times(m.allCaptures(s))
}

// minis are the small charts: every unit, then every family that grows.
func (m *caseMaker) minis(c *Case) {
	type ranked struct {
		draw func() CaseMini
		rank int
		unit bool
		rise int
	}
	var list []ranked
	for _, i := range m.page {
		s := &m.in.Report.Series[i]
		if len(s.Snapshots) < 2 {
			continue
		}
		for k := range s.Units {
			if u := &s.Units[k]; grows(u.Verdict) {
				counts, _, _ := told(u)
				top := whole(counts, m.unitLower(s, u)).HighestAt()
				if top >= 0 {
					list = append(list, ranked{func() CaseMini { return m.unitMini(s, i, u) }, u.Verdict.Rank(), true, counts[top].N})
				}
			}
		}
		for k := range s.Families {
			if f := &s.Families[k]; grows(f.Verdict) {
				list = append(list, ranked{func() CaseMini { return m.mini(s, i, f) }, f.Verdict.Rank(), false, f.Rise})
			}
		}
	}
	slices.SortStableFunc(list, func(a, b ranked) int {
		if a.unit != b.unit {
			if a.unit {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(b.rise, a.rise))
	})
	top := 1
	for i, r := range list[:min(len(list), maxMinis+maxMoreMinis)] {
		mini := r.draw()
		mini.Chart.ID = fmt.Sprintf("mini-%d", i)
		if i < maxMinis {
			c.Minis = append(c.Minis, mini)
		} else {
			c.MoreMinis = append(c.MoreMinis, mini)
		}
		top = max(top, mini.Chart.Top())
	}
	for _, minis := range [][]CaseMini{c.Minis, c.MoreMinis} {
		for i := range minis {
			minis[i].Chart.Max = top
		}
	}
	c.MiniMax = wording.Number(int64(top))
	c.MiniNote = fmt.Sprintf("Common scale, 0 to %s", c.MiniMax)
	if slices.ContainsFunc(list, func(r ranked) bool { return r.unit }) {
		c.MiniNote = "Units are counted in instances where their members come at whole ratios, all else in members. " + c.MiniNote
	}
	c.MiniNote += m.miniMarks(append(slices.Clone(c.Minis), c.MoreMinis...))
}

// miniMarks explains the marks that at least one small chart has.
func (m *caseMaker) miniMarks(minis []CaseMini) string {
	has := func(f func(chart.SmallData) bool) bool {
		return slices.ContainsFunc(minis, func(c CaseMini) bool { return f(c.Chart) })
	}
	text := "."
	for _, mark := range []struct {
		words string
		shown bool
	}{
		{"orange band: the growth began there", has(func(d chart.SmallData) bool { return d.Onset != nil })},
		{"△: a cut dump, at least as many", has(func(d chart.SmallData) bool { return slices.Contains(d.Lower, true) })},
		{"blue band: recovery", has(func(d chart.SmallData) bool { return d.RecoveredAt >= 0 })},
		{"dashed vertical: restart", has(func(d chart.SmallData) bool { return len(d.Epochs) > 0 })},
		{"dotted vertical: an event", has(func(d chart.SmallData) bool { return len(d.Events) > 0 })},
		{"hatched: no evidence", has(func(d chart.SmallData) bool { return len(chart.Gaps(d.Times, d.Taken)) > 0 })},
	} {
		if mark.shown {
			text = strings.Replace(text, ".", "; "+mark.words+".", 1)
		}
	}
	return text
}

// small is a chart over the snapshots of one series.
func (m *caseMaker) small(s *report.Series, series int, title string, values analysis.Counts) chart.SmallData {
	d := chart.SmallData{Title: title, Labels: m.labels(s), Times: m.times(s), Taken: m.taken(s), Values: values, RecoveredAt: -1, Epochs: m.restarts(s)}
	d.Events = eventMarks(m.more(series).Events, d.Times)
	return d
}

func (m *caseMaker) mini(s *report.Series, series int, f *report.Family) CaseMini {
	name := m.name(s, f)
	out := CaseMini{Process: named(s), Verdict: string(f.Verdict), Triage: markOf(f.Triage), Name: name, Chart: m.small(s, series, name.Text(), f.Counts), Note: kindWord(f.Kind.Worded(f.Attributes), 2)}
	out.Chart.Lower = m.lower(s, f.Kind)
	out.Chart.Onset = spanOf(f.Onset, func(id string) int { return slices.Index(s.Snapshots, id) })
	if f.RecoveredAt != nil {
		out.Chart.RecoveredAt = slices.Index(s.Snapshots, *f.RecoveredAt)
	}
	if f.Unit != nil {
		out.Note += ", unit " + Visible(*f.Unit)
	}
	out.Note += m.beganWords(s, out.Chart.Onset)
	return out
}

func (m *caseMaker) beganWords(s *report.Series, onset *chart.Span) string {
	if onset == nil {
		return ""
	}
	return ", began " + m.label(s, onset.From) + " to " + m.label(s, onset.To)
}

func (m *caseMaker) unitMini(s *report.Series, series int, u *report.Unit) CaseMini {
	out := CaseMini{Process: named(s), Verdict: string(u.Verdict), Triage: unitMark(s, u), Unit: ", unit " + Visible(u.ID), Note: each(u)}
	counts, _, nouns := told(u)
	if u.Each == "" {
		out.Note = "members of " + wording.PagePlural(int64(len(u.Ratio)), "family", "families")
	}
	out.Chart = m.small(s, series, named(s)+", unit "+Visible(u.ID)+", "+nouns, counts)
	for i := range s.Findings {
		f := &s.Findings[i]
		if f.Unit != u.ID || len(f.Families) == 0 {
			continue
		}
		for k := range s.Families {
			if s.Families[k].Fingerprint == f.Families[0] {
				out.Name = m.name(s, &s.Families[k])
				out.Unit += fmt.Sprintf(", %d families, led by", len(u.Ratio))
				if at := s.Families[k].RecoveredAt; at != nil {
					out.Chart.RecoveredAt = slices.Index(s.Snapshots, *at)
				}
			}
		}
	}
	out.Chart.Lower = m.unitLower(s, u)
	out.Chart.Onset = spanOf(u.Onset, func(id string) int { return slices.Index(s.Snapshots, id) })
	out.Note += m.beganWords(s, out.Chart.Onset)
	return out
}

// limits are what the system bounds, nearest first within a series.
func (m *caseMaker) limits(c *Case) {
	for _, i := range m.page {
		s := &m.in.Report.Series[i]
		for k := range s.Bounds {
			if b := &s.Bounds[k]; b.Bound > 0 && len(c.Limits) < maxLimits {
				limit := m.limit(s, i, b)
				limit.Chart.ID = fmt.Sprintf("limit-%d", len(c.Limits))
				c.Limits = append(c.Limits, limit)
			}
		}
	}
}

func (m *caseMaker) limit(s *report.Series, series int, b *report.Bound) CaseLimit {
	out := CaseLimit{
		Process: named(s), What: capital(Visible(b.What)), Used: wording.Number(int64(b.Used)), Bound: wording.Number(int64(b.Bound)),
		Share: wording.PageShare(b.Used, b.Bound, 0),
	}
	if b.AtLeast {
		out.Used, out.Share = "at least "+out.Used, "at least "+out.Share
	}
	out.Rate, out.Left = rateAndLeft(b)
	if b.Bytes {
		out.What, out.Used, out.Bound = "Memory", wording.Bytes(int64(b.Used)), wording.Bytes(int64(b.Bound))
		if b.PerHour != nil {
			p := *b.PerHour
			out.Rate = fmt.Sprintf("%s (%s to %s)", wording.Bytes(int64(p[0])), wording.Bytes(int64(p[1])), wording.Bytes(int64(p[2])))
		}
	}
	if b.Scope != trend.OfProcess && b.PerHour != nil && b.Used < b.Bound {
		out.Left += ", sooner where others of the same user use it too"
	}
	whole := make(analysis.Counts, len(b.Counts))
	for i, v := range b.Counts {
		if v != nil {
			n := int(math.Round(*v))
			whole[i] = analysis.Counted(n)
		}
	}
	out.Chart = m.small(s, series, out.Process+", "+out.What+" in use, limit "+out.Bound, whole)
	out.Chart.Limit = int(math.Round(b.Bound))
	top := whole.HighestAt()
	out.Chart.Max = max(out.Chart.Top(), 1)
	out.Note = out.Used + " of " + out.Bound + " used"
	if top >= 0 && out.Chart.Max < out.Chart.Limit && whole[top].N > 0 {
		out.Note = fmt.Sprintf("the limit of %s lies %s times above this chart", out.Bound, wording.Number(int64(b.Bound/float64(whole[top].N))))
	} else if top >= 0 {
		out.Note += "; dashed: the limit"
	}
	if last := whole.LastAt(); top >= 0 && 5*whole[last].N < 4*whole[top].N {
		out.Left += "; its use has gone back since"
	}
	return out
}

// rateAndLeft writes rate and time left with the ends of their intervals.
func rateAndLeft(b *report.Bound) (rate, left string) {
	if b.PerHour == nil {
		switch {
		case !b.Level:
			return "n/a", "the snapshots tell no rate"
		case b.Used >= b.Bound:
			return "n/a", "full"
		}
		return "n/a", "does not rise"
	}
	p := *b.PerHour
	rate = fmt.Sprintf("%s (%s to %s)", perHour(p[0]), perHour(p[1]), perHour(p[2]))
	if b.HoursLeft != nil {
		h := *b.HoursLeft
		return rate, fmt.Sprintf("%s (%s to %s)", hours(h[0]), hours(h[1]), hours(h[2]))
	}
	if p[0] <= 0 || b.Used >= b.Bound {
		return rate, "does not rise"
	}
	return rate, fmt.Sprintf("%s (%s at the earliest)", hours((b.Bound-b.Used)/p[0]), hours((b.Bound-b.Used)/p[2]))
}

// perHour writes a rate with its sign: "+1140", "−0.4".
func perHour(v float64) string {
	switch {
	case math.Abs(v) >= 100:
		return wording.Signed(int(math.Round(v)))
	case v < 0:
		return minus + strconv.FormatFloat(-v, 'g', 3, 64)
	}
	return "+" + strconv.FormatFloat(v, 'g', 3, 64)
}

func hours(h float64) string {
	if h > 24*365*100 {
		return "more than 100 years"
	}
	d := time.Duration(h * float64(time.Hour))
	for _, u := range []struct{ from, to time.Duration }{{24 * time.Hour, time.Hour}, {time.Hour, time.Minute}} {
		if d >= u.from {
			d = d.Round(u.to)
			break
		}
	}
	return wording.PageDuration(d)
}

// unitRows groups the families of units for the table; alone are the others.
func (m *caseMaker) unitRow(s *report.Series, u *report.Unit, n int) CaseUnit {
	row := CaseUnit{Anchor: fmt.Sprintf("unit-%d", n), ID: Visible(u.ID), Process: named(s), Each: each(u), Verdict: string(u.Verdict), Triage: unitMark(s, u)}
	counts, _, _ := told(u)
	lower := m.unitLower(s, u)
	row.Counts = m.shownCells(s, counts, lower)
	counts = whole(counts, lower)
	if first, top := counts.FirstAt(), counts.HighestAt(); top >= 0 {
		row.Rise = wording.Signed(counts[top].N - counts[first].N)
	}
	return row
}
