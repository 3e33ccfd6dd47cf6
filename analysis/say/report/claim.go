package report

import (
	"slices"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/wait"
)

// Claims are what an answer says of one thing, in figures. Its sentence and the lines beside
// it are made from them, after the rules of forbidden have replaced each claim that the
// figures of the report rule out.
type Claims struct {
	// One and Many name the thing, with where it is.
	One  string `json:"one,omitempty"`
	Many string `json:"many,omitempty"`
	// From is its first count, N the highest, Left the last one; First, Top and Last index
	// their captures. They are -1 without a count.
	From  int `json:"from"`
	N     int `json:"n"`
	Left  int `json:"left"`
	First int `json:"first"`
	Top   int `json:"top"`
	Last  int `json:"last"`
	// State is what became of it.
	State State `json:"state"`
	// Followed reports that its members are followed by identity: Came since the first
	// capture, and Ended. Moved of those that came were there before, in another state: they
	// did not start, they came to be here. Away are still there, in another state.
	Followed bool `json:"followed"`
	Came     int  `json:"came"`
	Moved    int  `json:"moved,omitempty"`
	Ended    int  `json:"ended"`
	Away     int  `json:"away,omitempty"`
	// PerHour is its pace from the last low to the peak, 0 where that has no times.
	PerHour float64 `json:"per_hour,omitempty"`
	// Closed reports that its own Close, Stop or Shutdown started the members: what waits
	// was closed.
	Closed bool `json:"closed,omitempty"`
	// Again reports that the process was restarted before First: the growth is that of the new
	// process.
	Again bool `json:"again,omitempty"`
	// Since is the capture with the first of those that came; Before reports that they came
	// before it. It is -1 where that is not known.
	Since  int  `json:"since"`
	Before bool `json:"before,omitempty"`
	// EndedAt and RestartedAt are the captures at which those that grew were gone, or the
	// process was another one. They are -1 without such an end.
	EndedAt     int `json:"ended_at"`
	RestartedAt int `json:"restarted_at"`
	// Serves is the process that serves what this one opened, Opener the one that dialled
	// connections of this one and ended when the members did. Both are nil where no edge
	// joins the processes.
	Serves *Peer `json:"serves,omitempty"`
	Opener *Peer `json:"opener,omitempty"`
	// Released reports that those that grew are gone and that what released them is not known.
	Released bool `json:"released,omitempty"`
	// Replaced are the names of the rules that replaced a claim.
	Replaced []string `json:"replaced,omitempty"`
}

// State is what became of a thing, as a person says it.
type State string

// The states of a thing that rose.
const (
	Leaks    State = "leaking"
	MayLeak  State = "may leak"
	NoLeak   State = "no leak"
	Grew     State = "grew"
	GrewOnce State = "grew and stopped"
	IsNew    State = "new"
	// Replaced is a level at which nobody stays.
	Replaced State = "replaced"
	// Fixed is a leak of an earlier version, which a later one was long enough without.
	Fixed State = "fixed"
)

// stateOf are the states of verdicts that rose.
var stateOf = map[analysis.Verdict]State{
	analysis.Leaking: Leaks, analysis.Suspicious: MayLeak, analysis.Scaling: NoLeak,
	analysis.Grew: Grew, analysis.Stopped: GrewOnce, analysis.New: IsNew,
}

// claim makes the claims of a finding from its verdict and counts, and has them checked.
func (d *diagnosing) claim(l *answer) Claims {
	s, x := &d.r.Series[l.series], &l.subject
	c := Claims{
		One: x.one + x.place, Many: x.all(), State: stateOf[l.finding.Verdict], Followed: x.followed, Came: x.came, Moved: min(x.moved, x.came), Ended: x.went, Away: x.away,
		Closed: s.startedByClose(l.finding), Since: -1, EndedAt: s.recoveredAt(l.finding), RestartedAt: d.restartedAt(s, x.counts), Last: x.counts.LastAt(),
	}
	if c.First, c.Top = x.counts.FirstAt(), x.counts.HighestAt(); c.First < 0 {
		return c
	}
	for c.First < c.Top && (d.epoch(s, c.First) != d.epoch(s, c.Top) || !x.counts[c.First].Known()) {
		c.First++
	}
	c.Again = c.First < c.Top && d.epoch(s, x.counts.FirstAt()) != d.epoch(s, c.Top)
	if c.First == c.Top {
		c.First = x.counts.FirstAt()
	}
	whole := d.whole(s, s.kindOf(l.finding), x.counts)
	c.PerHour = d.perHour(s, whole, c.State == Grew || c.State == IsNew)
	c.From, c.N = x.counts[c.First].N, x.counts[c.Top].N
	if s.lost(l.finding, x) { // the group is new, its members are not
		c.State, c.PerHour = Grew, 0
	}
	if at := whole.LastAt(); at >= 0 {
		c.Last = at // what a later capture lacks that is cut has not ended
	}
	if c.Left = x.counts[c.Last].N; c.Top > c.Last {
		c.Left = c.N
	}
	if o := s.objectOf(l.finding, s.lead(l.finding)); o != nil && l.queue == nil && c.EndedAt > 0 && c.Followed {
		c.Ended, _ = o.Ended[:c.EndedAt].Sum() // until the cause went away
	}
	if onset := d.onset(s, l.finding); onset != nil {
		c.Since, c.Before = c.First, onset.Before || onset.From == nil || onset.To == nil
		if c.Followed && c.Ended == 0 && !c.Before { // the first that came stays
			c.Since = slices.IndexFunc(x.counts, func(n analysis.Count) bool { return n.N > c.From })
		}
	}
	c.Serves, c.Released = d.served(l.series, l.finding), c.EndedAt > 0
	for _, r := range forbidden() {
		if r.forbids(l, &c) {
			r.instead(l, &c)
			c.Replaced = append(c.Replaced, r.name)
		}
	}
	return c
}

// rule is a row of what forbids a claim (answer.md 3): the figures beside which it may not be
// made, and what is claimed instead.
type rule struct {
	name    string
	forbids func(l *answer, c *Claims) bool
	instead func(l *answer, c *Claims)
}

// forbidden are the rules on what is claimed of one thing, in the order in which they are
// applied. What one of them replaces may be forbidden by a later one, never by an earlier one.
func forbidden() []rule {
	return []rule{
		{
			name:    "stopped at the last capture",
			forbids: func(_ *answer, c *Claims) bool { return c.State == GrewOnce && c.Top >= c.Last },
			instead: func(_ *answer, c *Claims) { c.State = Grew },
		},
		{
			name:    "stopped and later captures cannot show it",
			forbids: func(l *answer, c *Claims) bool { return c.State == GrewOnce && l.subject.counts.Hidden(c.Last) },
			instead: func(_ *answer, c *Claims) { c.State = Grew },
		},
		{
			name:    "stopped and the time since is short against the gaps before",
			forbids: func(l *answer, c *Claims) bool { return c.State == GrewOnce && c.steady() && l.finding.unsettled() },
			instead: func(_ *answer, c *Claims) { c.State = Grew },
		},
		{
			name:    "none ended and fewer are left",
			forbids: func(_ *answer, c *Claims) bool { return c.Followed && c.Ended+c.Away < c.missing() },
			instead: func(_ *answer, c *Claims) { c.Came, c.Ended = max(c.Came, c.missing()), c.missing()-c.Away },
		},
		{
			name:    "more came than are there",
			forbids: func(_ *answer, c *Claims) bool { return c.Followed && c.steady() && c.Came-c.Ended-c.Away > c.Left },
			instead: func(_ *answer, c *Claims) { c.Came = c.Left + c.Ended + c.Away },
		},
		{
			name:    "followed and more rose than came",
			forbids: func(_ *answer, c *Claims) bool { return c.Followed && c.N-c.From > c.Came },
			instead: func(_ *answer, c *Claims) { c.Followed = false },
		},
		{
			name:    "grew and all were replaced",
			forbids: func(l *answer, c *Claims) bool { return (c.State == Grew || c.State == MayLeak) && l.renewed() },
			instead: func(_ *answer, c *Claims) { c.State = Replaced },
		},
		{
			name: "leaks or may leak beside the proof that it was fixed",
			forbids: func(l *answer, c *Claims) bool {
				return (c.State == Leaks || c.State == MayLeak || c.State == GrewOnce) && c.RestartedAt > 0 && l.finding.fix() != nil
			},
			instead: func(_ *answer, c *Claims) { c.State = Fixed },
		},
		{
			name:    "a pace beside counts that do not rise any more",
			forbids: func(l *answer, c *Claims) bool { return c.PerHour > 0 && c.standing(l) },
			instead: func(_ *answer, c *Claims) { c.PerHour = 0 },
		},
		{
			name:    "since before a capture that has none",
			forbids: func(_ *answer, c *Claims) bool { return c.Before && c.From == 0 },
			instead: func(l *answer, c *Claims) { c.Before, c.Since = false, l.subject.counts.FirstWithAny() },
		},
		{
			name:    "opened here and ended with a peer",
			forbids: func(l *answer, c *Claims) bool { return l.finding.EndedWith != nil && c.EndedAt > 0 && c.Opener == nil },
			instead: func(l *answer, c *Claims) { c.Opener = l.finding.EndedWith },
		},
		{
			name:    "released by something and an opener ended",
			forbids: func(_ *answer, c *Claims) bool { return c.Released && c.Opener != nil },
			instead: func(_ *answer, c *Claims) { c.Released = false },
		},
		{
			name:    "released by something and calls were answered",
			forbids: func(l *answer, c *Claims) bool { return c.Released && l.awaits() },
			instead: func(_ *answer, c *Claims) { c.Released = false },
		},
	}
}

// moved reports members of which more than a tenth was there before, in another state: what is
// said of them is that they came here.
func (c *Claims) moved() bool { return 10*c.Moved > c.Came }

// began is how many of those that came were not there before.
func (c *Claims) began() int { return c.Came - c.Moved }

// standing reports a growth that is not proved to go on and whose counts do not rise any more.
func (c *Claims) standing(l *answer) bool {
	switch c.State {
	case Grew, IsNew, GrewOnce, Replaced:
		return c.steady() && c.Top < c.Last
	case MayLeak:
		return c.quiet(l)
	}
	return false
}

// fell reports that fewer are left than there were, which no recovery and no restart explains.
func (c *Claims) fell() bool { return c.steady() && c.Top < c.Last && c.Left < c.N }

// quiet reports that none came since Top: none of the captures since has another number, and none ended.
func (c *Claims) quiet(l *answer) bool {
	if !c.steady() || c.Top >= c.Last || c.Followed && c.Ended+c.Away > 0 || c.Last >= len(l.subject.counts) {
		return false
	}
	return !slices.ContainsFunc(l.subject.counts[c.Top:c.Last+1], func(n analysis.Count) bool { return n.Known() && n.N != c.N })
}

// stoodSince is the capture since which none came. Of members that are followed the rule that saw them
// stop knows it; their count may reach its peak later, where some of them were in another state.
func (l *answer) stoodSince() int {
	for _, e := range l.finding.Evidence {
		if l.claims.Followed && e.Rule == "stopped" && (e.Form == "stands" || e.Form == "paused") && e.At != nil && *e.At >= l.claims.First && *e.At < l.claims.Top {
			return *e.At
		}
	}
	return l.claims.Top
}

// level reports a count that stays the same since, while others take the place of those that end.
func (l *answer) level() bool {
	return l.claims.State == GrewOnce && slices.ContainsFunc(l.finding.Evidence, func(e Evidence) bool { return e.Rule == "stopped" && e.Form == "level" })
}

// unsettled reports a finding of which none or few came for a while that is too short to tell an end.
func (f *Finding) unsettled() bool {
	remembered := false
	for _, e := range f.Evidence {
		switch {
		case e.Rule == "stopped":
			return e.Form == "paused" || e.Form == "slows"
		case e.Rule == "memory":
			remembered = true // the judge has seen no end
		}
	}
	return remembered
}

// slowed reports a finding of which some still came after most had come.
func (f *Finding) slowed() bool {
	return slices.ContainsFunc(f.Evidence, func(e Evidence) bool { return e.Rule == "stopped" && e.Form == "slowed" })
}

// awaits reports a queue whose holder waits for calls that it made itself: their answers end it.
func (l *answer) awaits() bool {
	if l.queue == nil {
		return false
	}
	h := &l.queue.Holders[0]
	return h.WaitsFor == wait.ForWaitGroup && len(h.Children) > 0
}

// gone reports that the process which opened the things is gone, and was not started again.
func (c *Claims) gone() bool { return c.Serves != nil && c.Serves.At > 0 && c.RestartedAt <= 0 }

// until is the last capture before the end of what leaks, -1 where it goes on or is no leak.
func (c *Claims) until() int {
	switch {
	case c.State == NoLeak || c.State == Fixed:
		return -1
	case c.gone():
		return c.Last
	}
	return max(-1, c.EndedAt-1)
}

// missing is how many of those that were there at the peak are gone at the last capture, where
// no recovery and no restart explains it.
func (c *Claims) missing() int {
	if !c.steady() {
		return 0
	}
	return max(0, c.N-c.Left)
}

// steady reports that neither a recovery nor a restart explains who is gone.
func (c *Claims) steady() bool { return c.EndedAt <= 0 && c.RestartedAt <= 0 }

// renewed reports a thing of whose members none stays: none of the first half of the captures
// is left.
func (l *answer) renewed() bool {
	return l.life != nil && l.life.RenewedAt != nil && 2**l.life.RenewedAt >= l.subject.counts.LastAt()-1
}

// closers are the methods that end a thing. What they start waits for its end.
var closers = []string{"Close", "Stop", "Shutdown", "close", "stop", "shutdown", "ShutDown", "CloseIdleConnections"}

// startedByClose reports a finding whose members were started by a method that ends them.
//
//	github.com/moby/spdystream.(*Connection).Close     and its closures, .func1
func (s *Series) startedByClose(f *Finding) bool {
	x := s.lead(f)
	if x == nil || x.CreatedBy == "" {
		return false
	}
	name := x.CreatedBy[strings.LastIndexByte(x.CreatedBy, '/')+1:]
	return slices.ContainsFunc(strings.FieldsFunc(name, func(r rune) bool { return r == '.' || r == '-' }), func(word string) bool { return slices.Contains(closers, word) })
}
