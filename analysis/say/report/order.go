package report

import (
	"fmt"
	"slices"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/edge"
	"leakdiff/analysis/say/wording"
)

// Edge is the connections of one direction and state between two processes, or within one.
type Edge struct {
	From string `json:"from"`
	// To is empty for an end outside the case, whose address Outside is.
	To      string `json:"to,omitempty"`
	Outside string `json:"outside,omitempty"`
	// Protocol is tcp, udp or pipe.
	Protocol string `json:"protocol"`
	// Direction is dialled, accepted or unknown, as From sees it. State is that of the end
	// of From.
	Direction edge.Direction `json:"direction"`
	State     edge.State     `json:"state,omitempty"`
	// N are the connections in each snapshot of From, Matched those of which the other end
	// was seen. Entries are null without evidence, of Born and Ended also where nothing came
	// before in the epoch.
	N       analysis.Counts `json:"n"`
	Matched analysis.Counts `json:"matched"`
	Born    analysis.Counts `json:"born"`
	Ended   analysis.Counts `json:"ended"`
}

// Order says that growths of one process hold those of others.
type Order struct {
	First string   `json:"first"`
	Held  []string `json:"held"`
	// FirstSeries and HeldSeries are the indexes of their series: two processes may have one
	// name.
	FirstSeries int   `json:"first_series"`
	HeldSeries  []int `json:"held_series"`
	// Objects are the ids of the objects that are held, in the series of Held. Families are
	// the first families of the findings.
	Objects  []string `json:"objects,omitempty"`
	Families []string `json:"families"`
	// Rule is close_wait, stays, end, opener or callee. Level is kernel state, end,
	// descriptor, endpoint or streams: how it is known.
	Rule  edge.Rule  `json:"rule"`
	Level edge.Level `json:"level"`
	// Edge is how the growths are joined, and Connections are those between both where each
	// carries several members. N are the members or connections that the rule is about.
	Edge        edge.Level `json:"edge"`
	Connections int        `json:"connections,omitempty"`
	N           int        `json:"n"`
	// Snapshot is the label of the one in which the end was seen.
	Snapshot string `json:"snapshot,omitempty"`
	Text     string `json:"text"`
}

// shared reports growths whose members do not have a connection each.
func (o *Order) shared() bool { return o.Connections > 0 || o.Edge == edge.Step }

// mostEdges bounds the edges of a report.
const mostEdges = 1000

func edgesOf(joined *edge.Case, names []string) (out []Edge) {
	for _, e := range joined.Edges() {
		made := Edge{
			From: names[e.From], Outside: e.Address, Protocol: e.Protocol, Direction: e.Direction, State: e.State,
			N: e.N, Matched: e.Matched, Born: e.Born, Ended: e.Ended,
		}
		if e.To != edge.Outside {
			made.To = names[e.To]
		}
		if out = append(out, made); len(out) == mostEdges {
			break
		}
	}
	return out
}

// processNames names the process of each of n series: with its host where two have one name.
func processNames(n int, series func(i int) *Series) []string {
	out := make([]string, n)
	count := map[string]int{}
	for i := range out {
		out[i] = series(i).Named()
		count[out[i]]++
	}
	for i := range out {
		if host := series(i).Host; count[out[i]] > 1 && host != nil {
			out[i] += " on " + *host
		}
	}
	return out
}

// seriesInOrder are the indexes of the series, one that was seen to hold another before it.
func (r *Report) seriesInOrder() []int {
	out := make([]int, len(r.Series))
	for i := range out {
		out[i] = i
	}
	for _, o := range r.Order {
		first, held := slices.Index(out, o.FirstSeries), slices.IndexFunc(out, func(i int) bool { return slices.Contains(o.HeldSeries, i) })
		if !o.Level.Joined() && held >= 0 && first > held {
			moved := out[first]
			out = slices.Insert(slices.Delete(out, first, first+1), held, moved)
		}
	}
	slices.SortStableFunc(out, func(a, b int) int { return r.Series[a].turn() - r.Series[b].turn() })
	return out
}

// turn is -1 for a process in a proven deadlock, which is told before all else, and 1 for the lister of
// descriptors that lists itself, so that it comes last.
func (s *Series) turn() int {
	switch {
	case s.Locks != nil && len(s.Locks.Cycles) > 0 && s.Locks.Cycles[0].Certainty == Proven && s.Died == nil:
		return -1
	case s.Process == "lsof":
		return 1
	}
	return 0
}

// pairOfGrowths is finding i of series a beside finding k of series b.
type pairOfGrowths struct {
	all        []SeriesJudgement
	names      []string
	a, b, i, k int
}

func (p pairOfGrowths) growth(series, finding int) (*Finding, edge.Growth) {
	s := &p.all[series].Series
	f, g := &s.Findings[finding], p.all[series].Growths[finding]
	out := edge.Growth{Process: series, Counts: f.Counts, Alive: f.Counts, Calling: g.Calling, Serving: g.Serving, Unary: g.Unary, Streams: g.Streams, Wait: g.Wait, Connections: g.Connections}
	if o := s.object(f.Object); o != nil {
		out.Alive, out.Ended, out.Descriptors = o.Counts, o.Ended, o.Orphaned
	} else if lead := s.lead(f); lead != nil {
		out.Alive, out.Descriptors = lead.Counts, lead.Kind == analysis.KindDescriptor
	}
	return f, out
}

func (s *Series) object(id string) *Object {
	for i := range s.Objects {
		if id != "" && s.Objects[i].ID == id {
			return &s.Objects[i]
		}
	}
	return nil
}

// lead is the first family of a finding.
func (s *Series) lead(f *Finding) *Family {
	for i := range s.Families {
		if len(f.Families) > 0 && s.Families[i].Fingerprint == f.Families[0] {
			return &s.Families[i]
		}
	}
	return nil
}

// compare says in both findings what holds what, or adds each to those that rise together
// with the other where that is not known.
func (p pairOfGrowths) compare(joined *edge.Case, together map[*Finding][]string) (Order, bool) {
	f, x := p.growth(p.a, p.i)
	other, y := p.growth(p.b, p.k)
	if !f.rises() || !other.rises() {
		return Order{}, false
	}
	ordered := x.Calling && y.Serving
	if !ordered && (y.Calling && x.Serving || p.b < p.a) { // compared the other way round
		return Order{}, false
	}
	order, known, level := joined.Between(x, y)
	switch {
	case level == "":
		return Order{}, false
	case !known:
		if ordered || level.Joined() {
			together[f] = append(together[f], leadTitle(&p.all[p.b].Series, other)+" in "+p.all[p.b].Series.Process)
			together[other] = append(together[other], leadTitle(&p.all[p.a].Series, f)+" in "+p.all[p.a].Series.Process)
		}
		return Order{}, false
	case y.Calling && x.Serving && p.b < p.a: // said the other way round
		return Order{}, false
	}
	if order.First == p.b {
		p.a, p.b, p.i, p.k = p.b, p.a, p.k, p.i
		f, other = other, f
	}
	return p.say(order, f, other), true
}

// say puts an order into the findings: first holds held.
func (p pairOfGrowths) say(order edge.Order, first, held *Finding) Order {
	a, b := &p.all[p.a], &p.all[p.b]
	out := Order{
		First: p.names[p.a], Held: []string{p.names[p.b]}, FirstSeries: p.a, HeldSeries: []int{p.b}, Families: []string{held.Families[0]},
		Rule: order.Rule, Level: order.Level, Edge: order.Coupled, Connections: order.Connections, N: order.N, Text: p.words(order, first, held),
	}
	if held.Object != "" {
		out.Objects = []string{held.Object}
	}
	switch {
	case order.Snapshot < 0:
	case order.Rule == edge.ByStay:
		out.Snapshot = a.Snapshots[order.Snapshot].Label
	default:
		out.Snapshot = b.Snapshots[order.Snapshot].Label
	}
	held.Behind = true
	kind := a.Growths[p.i].Kind
	if own := b.Growths[p.k].Kind; held.holder == nil || held.holder.kind != own && kind == own { // streams of one before connections of the other
		held.holder = &holderRef{series: p.a, title: first.Title, families: first.Families, kind: kind}
	}
	first.ordered(leadTitle(&b.Series, held)+" in "+out.Held[0], &out)
	held.ordered(leadTitle(&a.Series, first)+" in "+out.First, &out)
	return out
}

// words say which process is first, how that is known, and by what.
func (p pairOfGrowths) words(order edge.Order, first, held *Finding) string {
	a, b := p.names[p.a], p.names[p.b]
	connections := wording.Plural(order.N, "connection", "connections")
	switch order.Rule {
	case edge.ByCloseWait:
		return fmt.Sprintf("%s first (%s): %s closed %s that %s still holds in CLOSE_WAIT", a, order.Level, b, connections, a)
	case edge.ByStay:
		after := b + " ended"
		if order.HeldLives {
			after = b + " closed its connections"
		}
		return fmt.Sprintf("%s first (%s): %s stay after %s", a, order.Level, p.members(order.N, p.a, first), after)
	case edge.ByEnd:
		over := ""
		if order.Connections > 0 {
			over = " over " + wording.Plural(order.Connections, "connection", "connections")
		}
		return fmt.Sprintf("%s first (%s): %s%s ended when it ended", a, order.Level, p.members(order.N, p.b, held), over)
	case edge.ByOpener:
		return fmt.Sprintf("by %s (%s): it opened %s to %s, which are open at both ends, and %s waits for what comes over them", a, order.Level, connections, b, b)
	}
	return fmt.Sprintf("probably %s first (%s): %s waits for answers over %s, and %s works on these calls and waits for something else", a, order.Level, b, connections, a)
}

// members words so many members of a finding: its objects, or the members of its first
// family.
func (p pairOfGrowths) members(n, series int, f *Finding) string {
	s := &p.all[series].Series
	if o := s.object(f.Object); o != nil {
		return fmt.Sprintf("%d %s of %s", n, strings.TrimPrefix(o.Name, "*"), p.names[series])
	}
	if lead := s.lead(f); lead != nil {
		return fmt.Sprintf("%s of %s", wording.Plural(n, string(lead.Kind), wording.Kinds(lead.Kind)), p.names[series])
	}
	return fmt.Sprintf("%d of %s", n, p.names[series])
}

// ordered adds to a finding one that rises together with it, and which of them is first. Of
// many the first ones are said.
func (f *Finding) ordered(other string, o *Order) {
	said := 0
	for _, e := range f.Evidence {
		if e.Rule == "order" {
			said++
		}
	}
	if said >= mostTogether {
		return
	}
	text := o.Text + "; it grew with " + other
	f.Text += " " + sentence(text)
	f.tell(text, analysis.Evidence{Rule: "order", Form: analysis.Form(o.Rule), N: o.N, Names: []string{o.First, o.Held[0]},
		Figures: map[analysis.Figure]float64{"connections": float64(o.Connections)}})
}

// merged makes one of orders that say the same of several findings.
func merged(orders []Order) (out []Order) {
	for _, o := range orders {
		at := slices.IndexFunc(out, func(x Order) bool {
			return x.FirstSeries == o.FirstSeries && slices.Equal(x.HeldSeries, o.HeldSeries) && x.Rule == o.Rule && x.Level == o.Level && x.Snapshot == o.Snapshot && x.Text == o.Text
		})
		if at < 0 {
			out = append(out, o)
			continue
		}
		for _, id := range o.Objects {
			if !slices.Contains(out[at].Objects, id) {
				out[at].Objects = append(out[at].Objects, id)
			}
		}
		for _, print := range o.Families {
			if !slices.Contains(out[at].Families, print) {
				out[at].Families = append(out[at].Families, print)
			}
		}
	}
	return out
}

// holdersFirst puts findings that another process holds behind the others of their verdict.
func holdersFirst(findings []Finding) {
	for from := 0; from < len(findings); {
		to := from + 1
		for to < len(findings) && findings[to].Kind == findings[from].Kind && findings[to].Verdict == findings[from].Verdict {
			to++
		}
		slices.SortStableFunc(findings[from:to], func(a, b Finding) int {
			switch {
			case a.Behind == b.Behind:
				return 0
			case b.Behind:
				return -1
			}
			return 1
		})
		from = to
	}
	for i := range findings {
		findings[i].Rank = i + 1
	}
}
