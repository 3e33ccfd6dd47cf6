package identity

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/say/wording"
)

// enteredSource begins the source of every value that a person entered.
const enteredSource = "entered by a person"

// Resolve applies the edits that are not undone, in order, and returns the effect of
// each. It does not change its arguments.
func Resolve(snapshots []analysis.Snapshot, edits []Edit) Outcome {
	w := newWork(snapshots)
	inForce := slices.DeleteFunc(slices.Clone(edits), func(e Edit) bool { return e.Undone })
	slices.SortStableFunc(inForce, func(a, b Edit) int { return int(a.ID - b.ID) })
	w.zone(inForce)
	for _, e := range inForce {
		if e.Kind != Zone && e.Kind != Happened && e.Kind != Load {
			w.apply(e)
		}
	}
	w.arrange()
	out := w.outcome()
	out.Events, out.Loads = w.events(inForce), w.loads(inForce)
	out.Problems = problems(inForce, w.effects)
	return out
}

// work is a case while its edits are applied.
type work struct {
	found []analysis.Snapshot
	now   []analysis.Snapshot
	marks []mark
	left  []bool
	// moves are the moves of snapshots by index, in their order.
	moves []move
	// reordered are the snapshots whose time or series was edited.
	reordered []bool
	effects   map[int64]Effect
	location  *time.Location
}

// move puts a snapshot before or after another one of its series.
type move struct {
	edit     int64
	at, next int
	after    bool
}

func newWork(snapshots []analysis.Snapshot) *work {
	w := &work{
		found: snapshots, now: make([]analysis.Snapshot, len(snapshots)), marks: marksOf(snapshots),
		left: make([]bool, len(snapshots)), reordered: make([]bool, len(snapshots)),
		effects: map[int64]Effect{}, location: time.UTC,
	}
	// Report labels are written into these copies.
	copy(w.now, snapshots)
	NameVersions(w.now)
	w.found = slices.Clone(w.now)
	return w
}

// zone shifts the times that were read without a zone. It comes first, because an
// entered time is never shifted. The last zone applies.
func (w *work) zone(edits []Edit) {
	decided := false
	for i := len(edits) - 1; i >= 0; i-- {
		e := edits[i]
		if e.Kind != Zone {
			continue
		}
		location, err := parseZone(e.Value)
		if err != nil {
			w.effects[e.ID] = Effect{Why: err.Error()}
			continue
		}
		if decided {
			w.effects[e.ID] = Effect{Why: "a later edit gives another zone", Harmless: true}
			continue
		}
		decided, w.location = true, location
		w.effects[e.ID] = w.shift(location)
	}
}

func (w *work) shift(location *time.Location) Effect {
	effect := Effect{Was: "UTC"}
	for i := range w.now {
		s := &w.now[i]
		if !s.Zoneless || s.CapturedAt.IsZero() {
			continue
		}
		was := s.CapturedAt
		s.CapturedAt = inZone(was, location)
		s.TimeFact.Value = s.CapturedAt.Format(time.RFC3339Nano)
		s.TimeFact.Source += fmt.Sprintf(", in the zone %s %s (was: %s, taken as UTC)", location, enteredSource, wording.Time(was))
		if len(s.Times) > 0 {
			s.Times = maps.Clone(s.Times)
			for kind, t := range s.Times {
				s.Times[kind] = inZone(t, location)
			}
		}
		w.reordered[i] = true
		effect.Snapshots = append(effect.Snapshots, s.ID)
	}
	if len(effect.Snapshots) == 0 {
		effect.Why, effect.Harmless = "every time of this case came with its zone", true
	}
	return effect
}

// inZone reads the clock of a time that was taken as UTC in another zone.
func inZone(t time.Time, location *time.Location) time.Time {
	t = t.UTC()
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), location).UTC()
}

// apply applies one edit to the snapshots that its target currently names.
func (w *work) apply(e Edit) {
	meant, why := w.meant(e.Target)
	if why == "" {
		why = w.change(e, meant)
	}
	if why != "" {
		w.effects[e.ID] = Effect{Why: why}
	}
}

// meant returns the indexes of the snapshots that a target names.
func (w *work) meant(target string) (list []int, why string) {
	const gone = "its evidence is no longer in the case"
	ref, err := parseReference(target)
	if err != nil || ref.scope == "into" || ref.scope == "before" || ref.scope == "after" {
		return nil, "its target is not understood"
	}
	at, ok := find(w.marks, ref.mark)
	if !ok && ref.scope != "series" {
		return nil, gone
	}
	if ref.scope == "" {
		return []int{at}, ""
	}
	keys := SeriesKeys(w.now)
	if ok {
		list = w.sequence(keys, keys[at])
	} else {
		key := ref.host + "\x00" + ref.name
		list = append(w.sequence(keys, key), w.sequence(keys, key+"\x00"+ref.mark.pid)...)
	}
	if ref.scope == "from" {
		list = list[slices.Index(list, at):]
	}
	if len(list) == 0 {
		return nil, gone
	}
	return list, ""
}

// change applies an edit, or returns the reason why it cannot be applied.
func (w *work) change(e Edit, meant []int) (why string) {
	switch e.Kind {
	case Host, Process, PID, Version:
		w.set(e, meant, e.Value)
		return ""
	case Series:
		return w.join(e, meant)
	case Time:
		return w.retime(e, meant)
	case LeaveOut, Keep:
		w.note(e, meant, "")
		for _, i := range meant {
			w.left[i] = e.Kind == LeaveOut
		}
		return ""
	case Order:
		return w.reorder(e, meant)
	case Counts:
		return w.count(e, meant)
	case Ours:
		w.note(e, meant, "")
		for _, i := range meant {
			w.now[i].Process.Ours = true
		}
		return ""
	}
	return "its kind is not known to this version of leakdiff"
}

func (w *work) note(e Edit, meant []int, was string) {
	effect := Effect{Was: was}
	for _, i := range meant {
		effect.Snapshots = append(effect.Snapshots, w.now[i].ID)
	}
	w.effects[e.ID] = effect
}

// set changes one fact of the processes.
func (w *work) set(e Edit, meant []int, value string) {
	w.note(e, meant, fact(&w.now[meant[0]].Process, e.Kind).Value)
	for _, i := range meant {
		*fact(&w.now[i].Process, e.Kind) = entered(value, *fact(&w.found[i].Process, e.Kind))
		w.reordered[i] = w.reordered[i] || e.Kind == Host || e.Kind == Process
	}
}

func fact(p *analysis.Process, k Kind) *analysis.Fact {
	switch k {
	case Host:
		return &p.Host
	case PID:
		return &p.PID
	case Version:
		return &p.Version
	}
	return &p.Name
}

// entered is a fact that a person entered, with the value that had been found.
func entered(value string, found analysis.Fact) analysis.Fact {
	was := "not known"
	if found.Known() {
		was = strings.TrimSuffix(found.Value+", "+found.Source, ", ")
	}
	return analysis.Fact{Value: value, Source: enteredSource + " (was: " + was + ")", Confidence: analysis.High}
}

// Countable are what numbers of which nothing says what they count can be of.
func Countable() []string { return []string{"descriptors", "goroutines", "threads", "watches"} }

// count says what the numbers of snapshots are of.
func (w *work) count(e Edit, meant []int) (why string) {
	meant = slices.DeleteFunc(meant, func(i int) bool { return w.found[i].Totals.Numbers == nil })
	if len(meant) == 0 {
		return "what was counted is known of all of it"
	}
	w.note(e, meant, "")
	for _, i := range meant {
		totals := w.found[i].Totals
		switch e.Value {
		case "descriptors":
			totals.Descriptors = totals.Numbers
		case "goroutines":
			totals.Goroutines = totals.Numbers
		case "threads":
			totals.Threads = totals.Numbers
		case "watches":
			totals.Watches = totals.Numbers
		}
		totals.Numbers = nil
		w.now[i].Totals = totals
	}
	return ""
}

// join moves snapshots into another series.
func (w *work) join(e Edit, meant []int) (why string) {
	host, name, why := w.destination(e.Value)
	if why != "" {
		return why
	}
	was := w.now[meant[0]].Process
	w.note(e, meant, strings.TrimPrefix(was.Host.Value+"/"+was.Name.Value, "/"))
	for _, i := range meant {
		p := &w.now[i].Process
		if p.Host.Value != host {
			p.Host = entered(host, w.found[i].Process.Host)
		}
		if p.Name.Value != name {
			p.Name = entered(name, w.found[i].Process.Name)
		}
		w.reordered[i] = true
	}
	return ""
}

func (w *work) destination(value string) (host, name, why string) {
	if !strings.HasPrefix(value, "into:") {
		host, name, _ = strings.Cut(value, "/")
		return host, name, ""
	}
	ref, err := parseReference(value)
	if err != nil {
		return "", "", "the series that it names is not understood"
	}
	if at, ok := find(w.marks, ref.mark); ok {
		p := w.now[at].Process
		return p.Host.Value, p.Name.Value, ""
	}
	return ref.host, ref.name, ""
}

// retime sets or removes the time of a snapshot, for all of its evidence.
func (w *work) retime(e Edit, meant []int) (why string) {
	if len(meant) != 1 {
		return "a time is that of one snapshot"
	}
	i := meant[0]
	at := time.Time{}
	if e.Value != "" {
		var err error
		if at, err = time.Parse(time.RFC3339Nano, e.Value); err != nil {
			return "its time is not understood"
		}
	}
	s := &w.now[i]
	was := ""
	if !s.CapturedAt.IsZero() {
		was = s.CapturedAt.Format(time.RFC3339Nano)
	}
	w.note(e, meant, was)
	found := w.found[i].TimeFact
	if t := w.found[i].CapturedAt; !t.IsZero() {
		found.Value = wording.Time(t)
	}
	s.CapturedAt, s.Zoneless, s.Times = at.UTC(), false, nil
	s.TimeFact = entered("", found)
	if at.IsZero() {
		s.CapturedAt = time.Time{}
	} else {
		s.TimeFact.Value = s.CapturedAt.Format(time.RFC3339Nano)
	}
	w.reordered[i] = true
	return ""
}

// reorder records a move. A second move of the same snapshot replaces the first.
func (w *work) reorder(e Edit, meant []int) (why string) {
	ref, err := parseReference(e.Value)
	if err != nil || ref.scope != "before" && ref.scope != "after" {
		return "its place is not understood"
	}
	if len(meant) != 1 {
		return "only one snapshot is moved at a time"
	}
	next, ok := find(w.marks, ref.mark)
	if !ok {
		return "the snapshot beside which it was put is no longer in the case"
	}
	w.note(e, meant, "")
	for _, m := range w.moves {
		if m.at == meant[0] {
			w.effects[m.edit] = Effect{Why: "a later edit moves the same snapshot", Harmless: true}
		}
	}
	w.moves = slices.DeleteFunc(w.moves, func(m move) bool { return m.at == meant[0] })
	w.moves = append(w.moves, move{e.ID, meant[0], next, ref.scope == "after"})
	return ""
}

// sequence returns the snapshots of a series in order: by time, and those without one
// at the position set by their bundle or a person.
func (w *work) sequence(keys []string, key string) []int {
	var list []int
	for i := range w.now {
		if keys[i] == key {
			list = append(list, i)
		}
	}
	out := inOrder(w.now, list)
	for _, m := range w.moves {
		out, _ = m.in(out, w.now)
	}
	return out
}

// inOrder sorts snapshots of a series by time. Those without one keep the position
// given by their Order.
func inOrder(snapshots []analysis.Snapshot, list []int) []int {
	var timed, untimed []int
	for _, i := range list {
		if snapshots[i].CapturedAt.IsZero() {
			untimed = append(untimed, i)
		} else {
			timed = append(timed, i)
		}
	}
	slices.SortStableFunc(timed, func(a, b int) int {
		if c := snapshots[a].CapturedAt.Compare(snapshots[b].CapturedAt); c != 0 {
			return c
		}
		return snapshots[a].Order - snapshots[b].Order
	})
	out := timed
	for _, u := range untimed {
		at := slices.IndexFunc(out, func(x int) bool { return snapshots[x].Order > snapshots[u].Order })
		if at < 0 {
			at = len(out)
		}
		out = slices.Insert(out, at, u)
	}
	return out
}

const timeHolds = "the snapshot has a time, which gives its place"

// in returns the list after the move, or why nothing was moved.
func (m move) in(list []int, now []analysis.Snapshot) ([]int, string) {
	from, to := slices.Index(list, m.at), slices.Index(list, m.next)
	switch {
	case from < 0 || m.at == m.next:
		return list, ""
	case !now[m.at].CapturedAt.IsZero():
		return list, timeHolds
	case to < 0:
		return list, "the snapshot beside which it was put is in another series"
	}
	list = slices.Delete(list, from, from+1)
	to = slices.Index(list, m.next)
	if m.after {
		to++
	}
	return slices.Insert(list, to, m.at), ""
}

// arrange sorts the snapshots of every edited series among the positions that they
// occupy in the whole list, by Order if a person has moved one.
func (w *work) arrange() {
	keys := SeriesKeys(w.now)
	touched := map[string]bool{}
	for i := range w.now {
		if w.reordered[i] {
			touched[keys[i]] = true
		}
	}
	moved := map[string]bool{}
	for _, m := range w.moves {
		key := keys[m.at]
		if _, why := m.in(w.sequence(keys, key), w.now); why != "" {
			w.effects[m.edit] = Effect{Why: why, Harmless: why == timeHolds}
			continue
		}
		touched[key], moved[key] = true, true
	}
	order := make([]int, len(w.now))
	for i := range order {
		order[i] = i
	}
	for _, key := range slices.Sorted(maps.Keys(touched)) {
		list := w.sequence(keys, key)
		places := slices.Sorted(slices.Values(list))
		for n, i := range list {
			order[places[n]] = i
			if moved[key] {
				w.now[i].Order = n
			}
		}
	}
	w.permute(order)
}

func (w *work) permute(order []int) {
	now, left, marks := make([]analysis.Snapshot, len(order)), make([]bool, len(order)), make([]mark, len(order))
	for n, i := range order {
		now[n], left[n], marks[n] = w.now[i], w.left[i], w.marks[i]
	}
	w.now, w.left, w.marks = now, left, marks
}

func (w *work) outcome() Outcome {
	out := Outcome{Effects: w.effects, Keys: map[string]string{}, Hosts: w.hosts(), Zone: w.location}
	for i, s := range w.now {
		out.Keys[s.ID] = w.marks[i].String()
		if w.left[i] {
			s.Groups = nil
			out.LeftOut = append(out.LeftOut, s)
			continue
		}
		out.Snapshots = append(out.Snapshots, s)
	}
	return out
}

// problems reports the edits that change nothing and should.
func problems(edits []Edit, effects map[int64]Effect) []analysis.Problem {
	var out []analysis.Problem
	for _, e := range edits {
		if effect := effects[e.ID]; effect.Why != "" && !effect.Harmless {
			out = append(out, analysis.Problem{
				Path: fmt.Sprintf("edit %d", e.ID), Offset: -1, Severity: analysis.Warning, What: fmt.Sprintf("edit %d (%s) changes nothing", e.ID, e.Kind.Words()), Why: effect.Why,
				Hint: "undo it on the page of files and processes, or say there again what holds now",
			})
		}
	}
	return out
}

// hosts returns all host names, so that a shared result can also hide names that a
// person replaced.
func (w *work) hosts() []string {
	var out []string
	for i := range w.now {
		for _, h := range []string{w.found[i].Process.Host.Value, w.now[i].Process.Host.Value} {
			if h != "" && !slices.Contains(out, h) {
				out = append(out, h)
			}
		}
	}
	slices.Sort(out)
	return out
}

// Words is the kind in words.
func (k Kind) Words() string {
	switch k {
	case Process:
		return "program"
	case Zone:
		return "time zone"
	case LeaveOut:
		return "leave out"
	case Keep:
		return "take back in"
	case Ours:
		return "own program"
	}
	return string(k)
}
