package report

import (
	"fmt"
	"strings"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/say/evidence"
	"leakdiff/analysis/say/wording"
)

// bounds reports that a snapshot of a subject shows a lower bound: there may be more.
func (d *diagnosing) bounds(l answer) bool {
	s := &d.r.Series[l.series]
	kind := s.kindOf(l.finding)
	for i, n := range l.subject.counts {
		if n.Known() && d.snapshot(s, i).Bounded(kind) {
			return true
		}
	}
	return false
}

// perHour is the pace of counts from their last low to their peak, 0 where it has no time. Of
// what only grew it is that of the whole span that the sentence names.
func (d *diagnosing) perHour(s *Series, counts analysis.Counts, whole bool) float64 {
	first, top := counts.FirstAt(), counts.HighestAt()
	if first < 0 || top <= first {
		return 0
	}
	for first < top && d.epoch(s, first) != d.epoch(s, top) {
		first++
	}
	if !counts[first].Known() {
		return 0
	}
	for i := first + 1; i < top && !whole; i++ { // the growth begins at the last low
		if counts[i].Known() && counts[i].N <= counts[first].N {
			first = i
		}
	}
	a, b := d.snapshot(s, first).CapturedAt, d.snapshot(s, top).CapturedAt
	rise := float64(counts[top].N - counts[first].N)
	if a == nil || b == nil || !b.After(*a) || rise <= 0 {
		return 0
	}
	return rise * float64(time.Hour) / float64(b.Sub(*a))
}

// rate is how fast the subject grows: "+15 a second".
func (d *diagnosing) rate(l answer) string {
	if l.claims.PerHour > 0 {
		figure, unit := wording.Pace(l.claims.PerHour)
		return "+" + figure + " " + unit
	}
	first, top := l.subject.counts.FirstAt(), l.subject.counts.HighestAt()
	if first < 0 || top <= first || d.r.Series[l.series].lost(l.finding, &l.subject) || l.claims.standing(&l) {
		return ""
	}
	return fmt.Sprintf("+%d in %s without times", l.subject.counts[top].N-l.subject.counts[first].N, wording.Plural(top-first, "interval", "intervals"))
}

// proof is the line that proves it: what it begins with, and the whole line, with what a trace
// saw and the label that those who came have and the others have not.
func (d *diagnosing) proof(l answer) (proved, text string) {
	proved, text = d.proofOfStay(l)
	for _, rule := range []string{"window", "labels"} {
		if said := l.finding.said(rule); said != "" {
			text = strings.TrimSpace(text + " " + capital(said) + ".")
		}
	}
	return proved, text
}

// said is the first sentence of a rule of evidence, "" without one.
func (f *Finding) said(rule string) string {
	for _, e := range f.Evidence {
		if e.Rule == rule {
			return e.Text
		}
	}
	return ""
}

// proofOfStay is the proof by those who stayed, "n of n" where identities are known.
func (d *diagnosing) proofOfStay(l answer) (proved, text string) {
	s, x, c := &d.r.Series[l.series], &l.subject, &l.claims
	if c.First < 0 {
		return "", ""
	}
	first, last := c.First, c.Last
	if c.EndedAt > 0 {
		last = c.EndedAt - 1
	}
	if c.RestartedAt > 0 {
		last = c.RestartedAt - 1
	}
	switch { // later captures may count them and not show which they are
	case c.Followed && x.followed:
		last = max(first, min(last, x.until))
	case l.life != nil && l.life.Followed > 0:
		last = max(first, min(last, l.life.End))
	}
	if s.lost(l.finding, x) {
		return "", "None of them is new."
	}
	for i := last; i > first; i-- {
		if d.epoch(s, i) != d.epoch(s, i-1) {
			first = i
		}
	}
	from, at := d.label(s, first), d.label(s, last)
	switch {
	case len(s.Snapshots) == 1:
		for _, e := range l.finding.Evidence {
			if e.Rule == "leaked_mark" || e.Rule == "ages" {
				return "", capital(e.Text) + "."
			}
		}
		return "", ""
	case l.finding.Marked():
		return "", "The runtime marked them as leaked: nothing that can still run can wake them."
	case !c.Followed && l.life != nil && l.life.Followed > 0:
		return d.followed(s, l.life, last)
	case !c.Followed:
		return "", fmt.Sprintf("The counts alone: %s. Who came and who left is not known.", Rises(x.counts, nil))
	case l.level() && l.finding.said("plateau") != "":
		return "", capital(l.finding.said("plateau")) + "."
	case c.State == Replaced:
		return "", fmt.Sprintf("None of those of %s is there at %s.", d.label(s, *l.life.RenewedAt), at)
	case c.State == Grew || c.State == IsNew:
		return d.proofOfGrowth(l, from, at)
	case c.Came == 0:
		return nOfN(max(0, c.From-c.Ended), c.From, "of "+from+" are still there at "+at)
	}
	still := "are"
	if c.EndedAt > 0 || c.RestartedAt > 0 || c.gone() {
		still = "were"
	}
	rest := fmt.Sprintf("%s since %s %s still there at %s", x.began, from, still, at)
	came := c.Came
	switch {
	case c.moved():
		rest = fmt.Sprintf("that came since %s %s still there at %s, %d of them then in %s", from, still, at, c.Moved, s.elsewhere(l.finding))
	case c.Moved > 0:
		came -= c.Moved
		rest += fmt.Sprintf("; %d more came from %s", c.Moved, s.elsewhere(l.finding))
	}
	if c.Away > 0 {
		rest += fmt.Sprintf(", %d in %s", c.Away, s.elsewhere(l.finding))
	}
	switch {
	case c.RestartedAt > 0:
		rest += ", before the restart"
	case c.Ended == 0:
	case l.life != nil && l.life.Followed > 0 && l.finding.Object == "":
		return d.followed(s, l.life, last)
	default:
		stay, known := l.stay()
		if !known {
			return "", fmt.Sprintf("%d %s since %s; %d ended, of these or of the %d that were there.", came, x.began, from, c.Ended, c.From)
		}
		return nOfN(max(0, stay-c.Moved), came, rest+fmt.Sprintf(", %d ended", c.Ended))
	}
	return nOfN(max(0, came-c.Ended), came, rest)
}

// stay counts those that came and are still there, and reports whether that is known: those that ended
// may have been there at first.
func (l *answer) stay() (n int, known bool) {
	c := &l.claims
	if c.Ended == 0 || c.From == 0 {
		return c.Came - c.Ended, true
	}
	if l.finding.Object != "" || l.finding.Key != nil || l.life == nil || l.life.Had != c.From {
		return 0, false
	}
	return c.Came - max(0, c.Ended-(l.life.Had-l.life.Kept)), true
}

// followed says how many of those that could be followed are there at the last capture that
// shows identities, which may be an earlier one than the last.
func (d *diagnosing) followed(s *Series, life *analysis.Life, last int) (proved, text string) {
	still := "are"
	if last < len(s.Snapshots)-1 {
		still = "were"
	}
	who := "seen in two dumps or more"
	if life.FromFirst {
		who = "of the first dump"
	}
	return nOfN(life.Stayed, life.Followed, fmt.Sprintf("%s %s still there at %s", who, still, d.label(s, last)))
}

// nOfN is "58 of 58", and the line that it begins.
func nOfN(n, of int, rest string) (proved, text string) {
	proved = fmt.Sprintf("%d of %d", n, of)
	return proved, proved + " " + rest + "."
}

// proofOfGrowth says of a growth that is no accusation who of the first capture is still there.
// Who ended may have come later: only identities tell.
func (d *diagnosing) proofOfGrowth(l answer, from, at string) (proved, text string) {
	c, news := &l.claims, "are new"
	if c.Moved > 0 {
		news = "came"
	}
	was := l.subject.counts[c.First].N
	switch {
	case was == 0:
		return "", fmt.Sprintf("None was there at %s; %d came until %s.", from, c.Came, at)
	case c.Ended == 0:
		return nOfN(was, was, fmt.Sprintf("that were there at %s still are at %s; %d %s", from, at, c.Came, news))
	case l.life == nil || l.life.Had != was:
		return "", fmt.Sprintf("%d came since %s, %d ended until %s.", c.Came, from, c.Ended, at)
	}
	return nOfN(l.life.Kept, was, fmt.Sprintf("that were there at %s still are at %s; %d %s", from, at, max(0, c.Left-l.life.Kept), news))
}

// life is what identities show of a finding, of all families of its key or of its first one.
func (s *Series) life(f *Finding) *analysis.Life {
	if f.Key != nil {
		return f.Key.Life
	}
	if lead := s.lead(f); lead != nil {
		return lead.Life
	}
	return nil
}

// since is when it began, and when it ended.
func (d *diagnosing) since(l answer) (since, until string) {
	s, c := &d.r.Series[l.series], &l.claims
	if c.EndedAt > 0 {
		until = d.dated(s, c.EndedAt)
	}
	if c.gone() {
		until = d.dated(&d.r.Series[c.Serves.Series], c.Serves.At)
	}
	if text := d.deadlockSince(s); text != "" && l.tied(s) {
		return text, until
	}
	switch {
	case c.Since < 0 && c.From > 0 && l.queue != nil: // so many waited already
		return "before the first dump, " + d.dated(s, 0), until
	case c.Since < 0 && len(s.Snapshots) == 2 && c.From > 0:
		return "between " + d.label(s, 0) + " and " + d.label(s, 1) + ", or before", until
	case c.Since < 0 && len(s.Snapshots) == 2:
		return "between " + d.label(s, 0) + " and " + d.label(s, 1), until
	case c.Since < 0:
		return "", until
	case c.Before:
		return "before the first dump, " + d.dated(s, 0), until
	}
	at := d.snapshot(s, c.Since).CapturedAt
	if onset := d.onset(s, l.finding); onset != nil && !onset.Before && onset.From != nil && onset.To != nil && !(c.Since > c.First && d.reaches(s, c.Since+1, *onset.To)) {
		return fmt.Sprintf("%s, at most %s earlier", wording.Clock(*onset.To), wording.Duration(onset.To.Sub(*onset.From))), until
	}
	if c.Since == 0 || at == nil || d.snapshot(s, c.Since-1).CapturedAt == nil {
		return d.dated(s, c.Since) + ", or since the capture before it", until
	}
	return fmt.Sprintf("%s, at most %s earlier", wording.Clock(*at), wording.Duration(at.Sub(*d.snapshot(s, c.Since-1).CapturedAt))), until
}

// reaches reports a time at or behind that of snapshot i, if there is one.
func (d *diagnosing) reaches(s *Series, i int, at time.Time) bool {
	if i >= len(s.Snapshots) {
		return false
	}
	taken := d.snapshot(s, i).CapturedAt
	return taken != nil && !at.Before(*taken)
}

// clock is the time of a capture, its label where that is not known.
func (d *diagnosing) clock(s *Series, i int) string {
	if at := d.snapshot(s, i).CapturedAt; at != nil {
		return wording.Clock(*at)
	}
	return d.label(s, i)
}

// dated is the label of a capture with its time: "t8, 03:07:16".
func (d *diagnosing) dated(s *Series, i int) string {
	if at := d.snapshot(s, i).CapturedAt; at != nil {
		return d.label(s, i) + ", " + wording.Clock(*at)
	}
	return d.label(s, i)
}

func (d *diagnosing) onset(s *Series, f *Finding) *Onset {
	for i := range s.Units {
		if s.Units[i].ID == f.Unit && f.Unit != "" && s.Units[i].Onset != nil {
			return s.Units[i].Onset
		}
	}
	if x := s.lead(f); x != nil {
		return x.Onset
	}
	return nil
}

// perLoad is how many there are for each unit of the load that the finding follows, after a
// colon, "" where no load is told that way.
//
//	": 3 goroutines for each request per second (http_requests_total)"
func (s *Series) perLoad(f *Finding) string {
	words := evidence.Words{One: string(analysis.KindGoroutine), Many: wording.Kinds(analysis.KindGoroutine)}
	if lead := s.lead(f); lead != nil {
		words.One, words.Many = string(lead.Kind), wording.Kinds(lead.Kind)
	}
	for _, e := range f.Evidence {
		if text := words.PerLoad(e.Evidence); text != "" {
			return ": " + text
		}
	}
	return ""
}

// within is the interval before a snapshot, "between 03:06:33 and 03:07:16".
func (d *diagnosing) within(s *Series, at int) string {
	from, to := d.snapshot(s, at-1).CapturedAt, d.snapshot(s, at).CapturedAt
	if from == nil || to == nil {
		return fmt.Sprintf("between %s and %s", d.label(s, at-1), d.label(s, at))
	}
	return fmt.Sprintf("between %s and %s", wording.Clock(*from), wording.Clock(*to))
}

// elsewhere is where members were before that came to a group and were there already.
func (s *Series) elsewhere(f *Finding) string {
	if lead := s.lead(f); lead != nil && lead.Kind != analysis.KindGoroutine && lead.Kind != analysis.KindThread {
		return "another group" // a file has another name when it is deleted
	}
	return "another state"
}
