package report

import (
	"cmp"
	"fmt"
	"maps"
	"strings"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/read/family"
	"leakdiff/analysis/say/wording"
)

// leastNamed is the share of a dump in percent from which its largest group is named.
const leastNamed = 10

// mostInExcerpt is up to how many members a dump is a part of one, as a ticket shows
// it. What is said of them is how long one has waited.
const mostInExcerpt = 2

// longestWait words the longest wait of the only dump of a process, empty if it shows
// none: "5774 minutes in chan receive".
func (s *Series) longestWait(kind analysis.Kind) string {
	var longest *Family
	for i := range s.Families {
		f := &s.Families[i]
		if f.Kind == kind && f.OldestWait != nil && *f.OldestWait > 0 && len(f.States) == 1 && (longest == nil || *f.OldestWait > *longest.OldestWait) {
			longest = f
		}
	}
	if longest == nil {
		return ""
	}
	for state := range longest.States {
		return wording.Plural(*longest.OldestWait, "minute", "minutes") + " in " + state
	}
	return ""
}

// alone words the only dump of a process, the fullest wording first: what is in it, and most of
// what.
func (d *diagnosing) alone(s *Series) []string {
	if f := d.closeWait(s); f != nil {
		return []string{s.leftOpen(f)}
	}
	if gone := d.onWhatIsGone(s); gone != "" {
		return []string{gone}
	}
	if unclosed := d.leftUnclosed(s); unclosed != "" {
		return []string{unclosed}
	}
	text := fmt.Sprintf("One dump%s: %s", s.place("of"), d.inventory(s, 0))
	kind, totals := d.leading(s)
	if kind == "" && d.crash(s) != nil {
		return []string{s.actor() + " crashed, and the file shows the goroutine that failed, not all of them"}
	}
	if kind == "" || totals[0].N == 0 {
		return []string{text}
	}
	whole := []string{text}
	// What is named is of one kind: the others would stand between it and its number.
	text = fmt.Sprintf("One dump%s: %s", s.place("of"), wording.Members(d.worded(s, kind), totals[0].N))
	if snap := d.snapshot(s, 0); snap.declared() != "" && kind == analysis.KindGoroutine {
		text = fmt.Sprintf("One dump%s: %s", s.place("of"), snap.declared())
	} else if snap.Bounded(kind) {
		text = fmt.Sprintf("One dump%s: at least %s", s.place("of"), wording.Members(kind, totals[0].N))
	}
	if queue := d.queued(s); queue != "" {
		return s.withRoot(text + queue)
	}
	if pool := d.atPoolAlone(s); pool != "" {
		return []string{text + pool, text}
	}
	if totals[0].N <= mostInExcerpt {
		if wait := s.longestWait(kind); wait != "" {
			if totals[0].N > 1 {
				wait = "one " + wait
			}
			return []string{text + ", " + wait}
		}
	}
	for i := range s.Objects {
		o := &s.Objects[i]
		parts := o.Parts()
		if n := o.Counts.Highest(); kind == analysis.KindGoroutine && parts > 1 && 100*parts*n >= leastNamed*totals[0].N {
			x := s.subjectOfObject(d.nouns, &Finding{}, o, nil)
			return []string{fmt.Sprintf("%s, of these %s with %s each", text, x.words(n), x.each)}
		}
	}
	var most *Family
	for i := range s.Families {
		f := &s.Families[i]
		if f.Kind == analysis.KindThread && len(f.Frames) == 0 || analysis.IsWhole(f.Attributes) {
			continue // the virtual machine's own, or a number alone
		}
		if f.Kind == kind && f.Counts[0].Known() && (most == nil || f.Counts[0].N > most.Counts[0].N) {
			most = f
		}
	}
	if most == nil || 100*most.Counts[0].N < leastNamed*totals[0].N || most.Counts[0].N < 2 {
		return whole
	}
	if most.Title == "unknown" {
		return whole // it would name nothing
	}
	x := s.nameOf(d.nouns, most, nil)
	if of, alike := d.alike(s, most); alike > 1 {
		n := most.Counts[0].N
		x := s.nameOf(d.nouns, of, nil)
		text = fmt.Sprintf("%s, %d of them of %s", text, alike*n, x.words(n))
		return []string{fmt.Sprintf("%s, %d each by their equal numbers", text, alike), text}
	}
	place := strings.TrimSpace(x.place)
	if x.many != wording.Kinds(kind) || place == "" {
		place = strings.TrimSpace(x.all())
	}
	some := fmt.Sprintf("%d of them", most.Counts[0].N)
	if most.Counts[0].N == totals[0].N {
		some = "all of them"
	}
	if opened := most.openedText(); opened != "" {
		place += ", " + opened
	}
	return withState(text+", "+some+" "+place, most)
}

// fewestEqual is from how many goroutines on groups of equal size in one library are no chance.
const fewestEqual = 10

// alike is how many groups of one dump have as many goroutines as one has and are of its package or of one
// below or above it: what has a goroutine of one group has one of each. of is the one of the highest
// package that has a noun, n is 0 without one.
func (d *diagnosing) alike(s *Series, most *Family) (of *Family, n int) {
	in := family.Package(most.entry())
	if most.Kind != analysis.KindGoroutine || most.Counts[0].N < fewestEqual || in == "" || in == "main" {
		return nil, 0
	}
	highest := ""
	for i := range s.Families {
		f := &s.Families[i]
		pkg := family.Package(f.entry())
		if f.Kind != most.Kind || f.Counts[0] != most.Counts[0] || pkg == "" || !strings.HasPrefix(pkg+"/", in+"/") && !strings.HasPrefix(in+"/", pkg+"/") {
			continue
		}
		if n++; nounOf(d.nouns, f, cmp.Or(f.Name, f.Title)) != nil && (of == nil || len(pkg) < len(highest)) {
			of, highest = f, pkg
		}
	}
	if of == nil {
		return nil, 0
	}
	return of, n
}

// leastSame is the share of a group in percent from which one state is that of the group.
const leastSame = 90

// withState adds to a text about a group what its members wait for, and for how long.
func withState(text string, f *Family) []string {
	if f.Kind == analysis.KindThread && !f.ofMachine() && f.Attributes["sort"] != "" && f.works() <= threadConnects {
		return []string{text + ", " + threadWords[f.works()], text}
	}
	n := 0
	for _, k := range f.States {
		n += k
	}
	for state, k := range f.States {
		words := wording.Blocked(state)
		if words == "" || 100*k < leastSame*n {
			continue
		}
		words = text + ", " + words
		if f.OldestWait == nil || *f.OldestWait == 0 {
			return []string{words, text}
		}
		return []string{words + ", the oldest for " + wording.Duration(time.Duration(*f.OldestWait)*time.Minute), words, text}
	}
	return []string{text}
}

// declared words a profile that declares more goroutines than its records hold, or records
// that no number is declared for; empty for others.
//
//	"90 412 goroutines declared, stacks of 31 007"
//	"811 goroutines of one record, of an unknown total"
func (s *Snapshot) declared() string {
	if s.Records > 0 {
		of := "one record"
		if s.Records > 1 {
			of = wording.Plural(s.Records, "record", "records")
		}
		return wording.Members(analysis.KindGoroutine, *s.Totals.Goroutines) + " of " + of + ", of an unknown total"
	}
	if s.Declared == 0 {
		return ""
	}
	if *s.Totals.Goroutines == 0 {
		return wording.Number(int64(s.Declared)) + " goroutines declared, no stack"
	}
	return fmt.Sprintf("%s goroutines declared, stacks of %s", wording.Number(int64(s.Declared)), wording.Number(int64(*s.Totals.Goroutines)))
}

// The least connections in CLOSE_WAIT that lead an answer, and their least share in percent of
// the connections with the same remote end.
const (
	leastLeftOpen      = 3
	leastLeftOpenShare = 90
)

// closeEach is what to do about connections in CLOSE_WAIT.
const closeEach = "Close each connection when its peer has closed."

// closeWait is a family like those connections to one end that the peer has closed and the
// process has not, with their number in its counts; nil unless they are the largest thing of
// the last dump and nearly all of their kind.
func (d *diagnosing) closeWait(s *Series) *Family {
	left, all := map[[3]string]int{}, map[[3]string]int{}
	var found *Family
	largest, other := 0, 0
	for i := range s.Families {
		f := &s.Families[i]
		n := f.Counts.Last()
		state := f.Attributes["state"]
		if f.Kind != analysis.KindDescriptor || state == "" || state == "LISTEN" {
			other = max(other, n)
			continue
		}
		e := endOf(f)
		if all[e] += n; state != "CLOSE_WAIT" {
			other = max(other, n)
			continue
		}
		if left[e] += n; left[e] > largest {
			largest, found = left[e], f
		}
	}
	if largest < leastLeftOpen || largest < other || 100*largest < leastLeftOpenShare*all[endOf(found)] {
		return nil
	}
	if found.Life != nil && (found.Life.RenewedAt != nil || 2*found.Life.Kept < found.Life.Had) {
		return nil // each is closed in the end, and others come
	}
	out := *found
	out.Counts, out.Attributes = analysis.CountsOf(largest), maps.Clone(found.Attributes)
	delete(out.Attributes, "state")
	peers, n := 0, 0
	for e, k := range left {
		same := e[0] == found.Attributes["role"] && (e[0] == "client" || e[1] == found.Attributes["local"])
		if same && 100*k >= leastLeftOpenShare*all[e] {
			peers, n = peers+1, n+k
		}
	}
	if peers > 1 { // the process does the same to each of them
		out.Counts, out.Attributes["remote"] = analysis.CountsOf(n), wording.Plural(peers, "peer", "peers")
	}
	return &out
}

// onWhatIsGone words inotify watches of the last dump of which most are on mounts or cgroups that
// are gone: a proof by itself, without any growth. It is "" for others, and where many wait for a
// lock, which is worse.
func (d *diagnosing) onWhatIsGone(s *Series) string {
	gone, all := 0, 0
	for i := range s.Families {
		if f := &s.Families[i]; f.Kind == analysis.KindWatch {
			if all += f.Counts.Last(); f.onWhatIsGone() {
				gone += f.Counts.Last()
			}
		}
	}
	if gone < leastLeftOpen || 2*gone <= all || d.queued(s) != "" {
		return ""
	}
	return fmt.Sprintf("%d of %s%s on mounts or cgroups that are gone", gone, wording.Plural(all, "inotify watch", "inotify watches")+s.place("of"), wording.Fit(all, " is", " are"))
}

// endOf is what connections have in common whatever their state: role, local and remote end.
func endOf(f *Family) [3]string {
	return [3]string{f.Attributes["role"], f.Attributes["local"], f.Attributes["remote"]}
}

// leftOpen words connections that only the peers have closed: "6 connections to 10.0.0.9:443 are
// in CLOSE_WAIT: the peers have closed, app has not".
func (s *Series) leftOpen(f *Family) string {
	x := connections(f, false)
	if s.Unowned {
		return x.words(f.Counts.Last()) + " are in CLOSE_WAIT"
	}
	return x.words(f.Counts.Last()) + " are in CLOSE_WAIT: the peers have closed, " + s.self() + " has not"
}
