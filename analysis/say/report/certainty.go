package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/edge"
	"leakdiff/analysis/judge/knowledge"
	"leakdiff/analysis/read/family"
	"leakdiff/analysis/say/evidence"
	"leakdiff/analysis/say/wording"
)

// Certainty is how sure something is, with the reason.
type Certainty struct {
	// Word is certain, likely, possible, open, ended, or unknown where the captures cannot show it.
	Word   string `json:"word"`
	Reason string `json:"reason"`
}

// The words of Certainty.
const (
	certain  = "certain"
	likely   = "likely"
	possible = "possible"
	open     = "open"
	unknown  = "unknown"
	ended    = "ended"
)

// fewDumps is up to how many dumps are too few to tell a leak from a queue by themselves.
const fewDumps = 3

// growth is how sure the growth is, by the rule that decided, and that captures lie close together.
func (d *diagnosing) growth(l answer) *Certainty {
	out := d.decided(l)
	if out.Word != ended {
		out.Reason += d.clustered(&d.r.Series[l.series])
	}
	return out
}

func (d *diagnosing) decided(l answer) *Certainty {
	s, x, c := &d.r.Series[l.series], &l.subject, &l.claims
	switch {
	case l.finding.Marked():
		return &Certainty{certain, "marked by the runtime"}
	case c.State == Leaks && c.Followed:
		word, reason := x.sure()
		return &Certainty{word, reason + d.young(l)}
	case c.State == Leaks && l.life != nil && l.life.Followed > 0:
		return &Certainty{likely, "by those that could be followed"}
	case c.State == Leaks:
		return &Certainty{likely, "by counts alone"}
	case c.State == NoLeak && c.EndedAt > 0:
		return &Certainty{certain, "it rises and falls with the load" + s.perLoad(l.finding)}
	case c.State == NoLeak:
		return &Certainty{certain, "it rises with the load" + s.perLoad(l.finding)}
	case l.level():
		return &Certainty{ended, fmt.Sprintf("it stays at %d, and others take the place of those that end", c.Left)}
	case c.State == GrewOnce && c.Followed:
		_, reason := x.sure()
		return &Certainty{ended, "no more came, " + reason}
	case c.State == Fixed:
		return &Certainty{ended, fmt.Sprintf("it grew in %s and does not in %s", l.finding.fix().Before, l.finding.fix().After)}
	case c.State == MayLeak:
		return &Certainty{possible, d.undecided(l)}
	case c.State == Replaced:
		return &Certainty{open, d.older(s, l.life, c.Last) + ": load, or slower answers"}
	case d.pause(l) != "":
		return &Certainty{open, d.pause(l)}
	case c.fell():
		return &Certainty{open, fmt.Sprintf("it grew, and fell from %d to %d since %s", c.N, c.Left, d.label(s, c.Top))}
	case c.quiet(&l):
		return &Certainty{open, "no more came since " + d.label(s, l.stoodSince()) + ": too short to tell that it has stopped"}
	case l.finding.unsettled() || l.finding.slowed():
		return &Certainty{open, "fewer come than before, and no rule proves that it has stopped"}
	case len(s.Snapshots) > 2 && c.Followed:
		return &Certainty{open, "it grew, and no rule proves that it goes on"}
	case c.Followed:
		return &Certainty{open, "two ends show that it grew, not that it goes on"}
	case len(s.Snapshots) > fewDumps:
		return &Certainty{open, "by counts alone"}
	}
	return &Certainty{open, "by counts alone, and over too few captures"}
}

// pause is why it is not told to have stopped though none came for a while, "" where that is not so.
func (d *diagnosing) pause(l answer) string {
	words := evidence.Words{Labels: make([]string, len(d.r.Series[l.series].Snapshots))}
	for i := range words.Labels {
		words.Labels[i] = d.label(&d.r.Series[l.series], i)
	}
	for _, e := range l.finding.Evidence {
		if text := words.Pause(e.Evidence); text != "" && l.claims.quiet(&l) {
			return text
		}
	}
	return ""
}

// deadPeer is how long the kernel sends again what a peer does not acknowledge, with the usual 15 of
// net.ipv4.tcp_retries2: 924.6 s (tcp(7), ip-sysctl of the kernel). A call without a deadline to a
// peer that is gone ends then. shortWindow is up to how long nothing may end and yet be no leak.
const (
	deadPeer    = 15*time.Minute + 24*time.Second
	shortWindow = time.Hour
)

// young says of a leak that nobody has lived long enough to tell it from calls that end by
// themselves (statistics.md, R18), "" where somebody has or where no times are known.
func (d *diagnosing) young(l answer) string {
	s, c := &d.r.Series[l.series], &l.claims
	if c.Ended > 0 || c.EndedAt > 0 || c.RestartedAt > 0 || c.gone() || c.First < 0 || c.Since < 0 || c.Before {
		return ""
	}
	from, since, last := d.snapshot(s, c.First).CapturedAt, d.snapshot(s, c.Since).CapturedAt, d.snapshot(s, c.Last).CapturedAt
	if from == nil || since == nil || last == nil {
		return ""
	}
	window, lead := last.Sub(*from), s.lead(l.finding)
	if c.Since > 0 {
		if at := d.snapshot(s, c.Since-1).CapturedAt; at != nil {
			from = at // nobody who came is older
		}
	}
	switch oldest := last.Sub(*from); {
	case lead != nil && lead.Kind == analysis.KindGoroutine && 2*lead.States["IO wait"] > lead.Counts.Last() && oldest < deadPeer:
		return fmt.Sprintf(", and none that came is older than %s: a call to a dead peer ends after 15 min 24 s (tcp_retries2), so one capture at %s decides",
			wording.Duration(oldest), wording.Clock(since.Add(deadPeer+time.Minute).Truncate(time.Minute)))
	case window < shortWindow && (lead == nil || lead.OldestWait == nil || time.Duration(*lead.OldestWait)*time.Minute <= window):
		return ", and nothing ended so far"
	}
	return ""
}

// clustered says that three quarters of at least 4 captures lie within a tenth of their time, "" where
// they do not: they look at one moment, and show little of what goes on.
func (d *diagnosing) clustered(s *Series) string {
	var times []time.Time
	for i := range s.Snapshots {
		if at := d.snapshot(s, i).CapturedAt; at != nil {
			times = append(times, *at)
		}
	}
	n := len(times)
	if n < 4 || n < len(s.Snapshots) {
		return ""
	}
	slices.SortFunc(times, time.Time.Compare)
	for k := n - 1; 4*k >= 3*n; k-- {
		for i := 0; i+k <= n; i++ {
			if within := times[i+k-1].Sub(times[i]); 10*within <= times[n-1].Sub(times[0]) {
				return fmt.Sprintf(", and %d of %d captures lie within %s", k, n, wording.Duration(within))
			}
		}
	}
	return ""
}

// gaugeOf is the gauge of the program that may be the load of what grew, "" without one.
func gaugeOf(f *Finding) string {
	for _, e := range f.Evidence {
		if e.Rule == "load" && e.Form == "follows" && len(e.Names) == 1 {
			return e.Names[0]
		}
	}
	return ""
}

// undecided is why a suspicion is no more: a known queue, too few dumps, or a short time.
func (d *diagnosing) undecided(l answer) string {
	s, f := &d.r.Series[l.series], l.finding
	for _, e := range f.Evidence {
		if e.Rule == knowledge.RuleKnown || e.Rule == "load" && e.Form == "follows" {
			return e.Text
		}
	}
	if b := s.nearest(); b != nil && b.State == LimitReached && !b.Peak && bounded[b.What] == s.kindOf(f) {
		return "no more can come: it is at its limit"
	}
	if text := d.pause(l); text != "" {
		return text
	}
	if n := len(s.Snapshots); n <= fewDumps {
		return wording.Plural(n, "dump is", "dumps are") + " too few to tell"
	}
	for _, e := range f.Evidence {
		if e.Rule == "span" {
			return "the time is too short to tell a leak from a queue"
		}
	}
	return "one more capture decides"
}

// holder names what started most of the objects, or the process that holds them.
func (d *diagnosing) holder(l answer) string {
	s := &d.r.Series[l.series]
	if l.queue != nil {
		h := &l.queue.Holders[0]
		return wording.Lower(strings.TrimSpace(h.Name + " " + shortRole(h.At)))
	}
	if l.pool != nil {
		return l.pool.called()
	}
	if a := l.finding.Ahead; a != nil {
		return shortRole(a.At)
	}
	if l.children != nil {
		return "zombies"
	}
	if f, x := d.stoppedBefore(l); f != nil {
		return x.all()
	}
	if l.finding.Key.scattered() {
		return ""
	}
	if o := s.objectOf(l.finding, s.lead(l.finding)); o != nil {
		for _, h := range o.Holders {
			if name := strings.TrimPrefix(h.Type, "*"); !family.OfStandardLibrary(name) {
				return shortRole(h.Type)
			}
		}
		if len(o.Holders) > 0 {
			return ""
		}
	}
	if x := s.lead(l.finding); x != nil && x.CreatedBy != "" && !family.OfStandardLibrary(x.CreatedBy) {
		return shortRole(x.CreatedBy)
	}
	return ""
}

// started reports that what holds the objects of an answer created them.
func (d *diagnosing) started(l answer, holder string) bool {
	s := &d.r.Series[l.series]
	o := s.objectOf(l.finding, s.lead(l.finding))
	return o != nil && slices.ContainsFunc(o.Holders, func(h HolderOf) bool { return h.Role == analysis.CreatedBy && shortRole(h.Type) == holder })
}

// cause is how sure the cause is. Who started the members is where they began, and the cause only
// where more than that points to it.
func (d *diagnosing) cause(l answer) *Certainty {
	s := &d.r.Series[l.series]
	if l.queue != nil {
		word := likely
		if l.queue.Holders[0].Certainty == Proven {
			word = certain
		}
		if why := l.queue.Holders[0].Why; why != "" {
			return &Certainty{word, why}
		}
		return &Certainty{word, "the holder is inside the locked object"}
	}
	if o, _ := d.r.orderOf(l.series, l.finding); o != nil {
		word := certain
		if o.Level == edge.ByEndpoint || o.Level == edge.ByStreams || o.shared() {
			word = likely
		}
		if o.Rule == edge.ByEnd && o.shared() {
			return &Certainty{word, fmt.Sprintf("%d in %s ended in the interval in which %s ended", o.N, wording.Ands(o.Held), d.processOf(l.series))}
		}
		return &Certainty{word, d.processOf(l.series) + " holds what grew in " + wording.Ands(o.Held)}
	}
	if p := l.claims.Opener; p != nil {
		return &Certainty{likely, fmt.Sprintf("%s, with %s to %s, ended in the interval in which they ended", p.Process, wording.Plural(p.Connections, "connection", "connections"), s.self())}
	}
	if l.pool != nil && l.pool.Open > 0 {
		return &Certainty{likely, l.pool.open() + " and keep a connection each"}
	}
	if l.pool != nil {
		return &Certainty{open, "they wait at the " + l.pool.called() + "; who keeps these is not shown"}
	}
	if d.r.Series[l.series].bodiesOpen(l.finding) {
		return &Certainty{likely, "each waits until somebody reads its response to the end or closes it"}
	}
	if a := l.finding.Ahead; a != nil {
		return &Certainty{likely, fmt.Sprintf("%s further on in %s", wording.Plural(a.Count, "goroutine stays", "goroutines stay"), shortRole(a.Function))}
	}
	if l.children != nil {
		return &Certainty{likely, "zombies, ended children that nobody waited for, grow in step"}
	}
	out := d.origin(l)
	if f, x := d.stoppedBefore(l); f != nil {
		return &Certainty{likely, fmt.Sprintf("%s stand since %s, and then this began", x.words(f.Counts.Last()), d.label(s, *f.Life.StandsSince))}
	}
	if out.Word == open && likeness(l.finding) != nil {
		out.Word, out.Reason = likely, out.Reason+", and a known leak has this stack and growth"
	}
	return out
}

// startedBy says what started the members: the likely cause where ancestors show for whom.
func (s *Series) startedBy(creator string, f *Finding) *Certainty {
	word, whom := open, s.forWhom(f)
	if whom != "" {
		word = likely
	} else if lead := s.lead(f); lead != nil && lead.StartedIn != nil && lead.StartedIn.Function != "main.main" && !family.OfStandardLibrary(lead.StartedIn.Function) {
		whom = ", called in " + shortRole(lead.StartedIn.Function)
		if n := lead.StartedIn; n.Count < n.Of {
			whom += fmt.Sprintf(" (%d of %d)", n.Count, n.Of)
		}
	}
	return &Certainty{word, "started by " + shortRole(creator) + whom}
}

// stoppedBefore is the largest family whose members stand since the interval in which an answer began
// whose goroutines wait for each other, and were replaced before (statistics.md, R19). It is nil
// without one. Its name stands beside it.
func (d *diagnosing) stoppedBefore(l answer) (*Family, *subject) {
	s, lead := &d.r.Series[l.series], d.r.Series[l.series].lead(l.finding)
	if lead == nil || l.claims.Since < 0 || l.claims.Before || !waitsForOthers(lead) {
		return nil, nil
	}
	var out *Family
	for i := range s.Families {
		f := &s.Families[i]
		if f.Kind != lead.Kind || f.Life == nil || f.Life.StandsSince == nil || slices.Contains(l.finding.Families, f.Fingerprint) {
			continue
		}
		if apart := *f.Life.StandsSince - l.claims.Since; apart >= -1 && apart <= 1 && (out == nil || f.Counts.Last() > out.Counts.Last()) {
			out = f
		}
	}
	if out == nil {
		return nil, nil
	}
	x := s.nameOf(d.nouns, out, &Finding{Families: []string{out.Fingerprint}})
	return out, &x
}

// waitsForOthers reports goroutines of which most wait for a lock, a channel or a group.
func waitsForOthers(f *Family) bool {
	n := 0
	for state, count := range f.States {
		if strings.HasPrefix(state, "chan ") || strings.HasPrefix(state, "sync.") || strings.HasPrefix(state, "semacquire") || state == "select" {
			n += count
		}
	}
	return 2*n > f.Counts.Last()
}

// origin is where the members began, which the captures may not show.
func (d *diagnosing) origin(l answer) *Certainty {
	s := &d.r.Series[l.series]
	if l.finding.Key.scattered() {
		if s.lead(l.finding) == nil || !hasStack(s.lead(l.finding)) {
			return &Certainty{unknown, "the listing shows no code"}
		}
		return &Certainty{open, "many functions started them"}
	}
	if o := s.objectOf(l.finding, s.lead(l.finding)); o != nil {
		for _, h := range o.Holders {
			if h.Role == analysis.CreatedBy && h.N > 0 && !family.OfStandardLibrary(h.Type) {
				lead := s.lead(l.finding) // a group has one creator; of the holders the small ones are left out
				if n, all := o.startedBy(h.Type), o.Counts.Last(); all > n && 2*n >= all && (lead == nil || lead.CreatedBy != h.Type) {
					return &Certainty{open, fmt.Sprintf("%d of %d were started by %s", n, all, shortRole(h.Type))}
				}
				return s.startedBy(h.Type, l.finding)
			}
		}
	}
	if s.lead(l.finding).isTotal() {
		return &Certainty{unknown, "a count names nobody"}
	}
	if opened := s.lead(l.finding).openedText(); opened != "" {
		return &Certainty{likely, opened}
	}
	if len(l.finding.Stack) == 0 {
		return &Certainty{unknown, "the listing shows no code"}
	}
	if last := l.finding.Stack[len(l.finding.Stack)-1]; last.CreatedBy && !family.OfStandardLibrary(last.Function) {
		return s.startedBy(last.Function, l.finding)
	}
	if lead := s.lead(l.finding); lead != nil && lead.StartedIn != nil {
		return &Certainty{open, "started by " + lead.StartedIn.Text}
	}
	return &Certainty{open, "the stack shows where they wait, not who should end them"}
}
