package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/edge"
	"leakdiff/analysis/say/wording"
)

// Peer is a process at the other end of connections.
type Peer struct {
	Process string `json:"process"`
	// Series is the index of its series.
	Series int `json:"series"`
	// Connections are the most that both share, 0 where that is not counted.
	Connections int `json:"connections,omitempty"`
	// At is the first snapshot without the process that dialled, by its index in the series of
	// the other one. It is -1 while both live.
	At int `json:"at"`
	// Left is what the process that serves has left then. Healthy reports that nothing else
	// grew in it.
	Left    int  `json:"left,omitempty"`
	Healthy bool `json:"healthy,omitempty"`
	// Restarted reports that the process which ended has another start since.
	Restarted bool `json:"restarted,omitempty"`
}

// endings names in each finding whose members ended the one process that ended with them. What
// another finding holds names it already.
func endings(all []SeriesJudgement, names []string, joined *edge.Case) {
	for i := range all {
		s := &all[i].Series
		for k := range s.Findings {
			f := &s.Findings[k]
			at := s.recoveredAt(f)
			if at < 1 || f.Behind || !f.rises() {
				continue
			}
			if e, ok := joined.EndedAt(i, at, s.lead(f).Counts); ok {
				f.endsWith(Peer{Process: names[e.Process], Series: e.Process, Connections: e.N, At: at, Restarted: e.Restarted}, s.Process)
			}
		}
	}
}

// endsWith says which process ended in the interval in which the members of a finding did.
func (f *Finding) endsWith(p Peer, self string) {
	f.EndedWith = &p
	text := fmt.Sprintf("%s, which had dialled %s to %s, ended in the interval in which they ended", p.Process, wording.Plural(p.Connections, "connection", "connections"), self)
	f.Text += " " + sentence(text)
	f.tell(text, analysis.Evidence{Rule: "peer_ended", N: p.Connections, At: &p.At, Names: []string{p.Process}})
	f.Next = fmt.Sprintf("Look at what %s opens: they ended with it.", p.Process)
}

// left words the end of a process: "ordersync was gone".
func (p *Peer) left() string {
	if p.Restarted {
		return p.Process + " was restarted"
	}
	return p.Process + " was gone"
}

// orderOf is why another finding, held, stands behind one. Without any it is why others stand
// behind its process, nil for none.
func (r *Report) orderOf(series int, f *Finding) (order *Order, held Held) {
	first := slices.IndexFunc(r.Order, func(o Order) bool { return o.FirstSeries == series })
	if first < 0 {
		return nil, Held{}
	}
	for _, x := range r.Behind(series, f.Rank) {
		for i := range r.Order {
			if o := &r.Order[i]; o.FirstSeries == series && slices.Contains(o.HeldSeries, x.Series) && slices.Contains(o.Families, x.Families[0]) {
				return o, x
			}
		}
	}
	return &r.Order[first], Held{}
}

// served is the process that serves what the members of a finding opened, nil without one.
func (d *diagnosing) served(series int, f *Finding) *Peer {
	o, held := d.r.orderOf(series, f)
	if held.Finding == nil || o.Rule != edge.ByEnd && o.Rule != edge.ByOpener {
		return nil
	}
	p := &Peer{Process: d.processOf(held.Series), Series: held.Series, Connections: o.Connections, At: -1}
	if s := &d.r.Series[held.Series]; o.Rule == edge.ByEnd {
		p.At = slices.IndexFunc(s.Snapshots, func(id string) bool { return d.snapshots[id].Label == o.Snapshot })
		if counts := s.lead(held.Finding).Counts; p.At >= 0 && counts[p.At].Known() {
			p.Left = counts[p.At].N
			p.Healthy = !slices.ContainsFunc(s.Findings, func(f Finding) bool { return f.Kind == "" && f.Verdict.Rose() && !f.Behind })
		}
	}
	return p
}

// doThere says what to do in the process that opened what another one serves, and that the other
// one is not at fault where it lost all with it.
func (d *diagnosing) doThere(l answer, next *Action) *Action {
	s, p := &d.r.Series[l.series], l.claims.Serves
	if p == nil || s.Process == "" || next != nil && next.Captures {
		return next
	}
	if next == nil {
		next = &Action{Text: "End each of them."}
	}
	next.Text = fmt.Sprintf("In %s, %s", s.Named(), wording.Lower(next.Text))
	if p.Healthy {
		next.Text += fmt.Sprintf(" %s itself is healthy: back at %d at %s.", p.Process, p.Left, d.label(&d.r.Series[p.Series], p.At))
	}
	return next
}

// callStreams names the things of an answer streams where their own type is called so and
// another process serves them: "feed streams" for feed.(*Stream). Other names are left.
func (d *diagnosing) callStreams(l *answer) {
	s, x := &d.r.Series[l.series], &l.subject
	lead := s.lead(l.finding)
	if l.claims.Serves == nil || lead == nil || nounOf(d.nouns, lead, cmp.Or(lead.Name, lead.Title)) != nil {
		return
	}
	name := lead.entry()
	if o := s.objectOf(l.finding, lead); o != nil && o.Level != analysis.ByGoroutine {
		name = o.Type
	}
	name = shortRole(name)
	pkg, method, _ := strings.Cut(strings.TrimPrefix(name, "*"), ".")
	if kind, _, _ := strings.Cut(method, "."); kind != "(*Stream)" && kind != "Stream" {
		return
	}
	x.one, x.many, x.place, x.began, x.ended = pkg+" stream", pkg+" streams", "", "opened", "closed"
	l.claims.One, l.claims.Many = x.one, x.many
}
