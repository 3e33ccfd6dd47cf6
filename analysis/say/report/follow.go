package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/wait"
	"leakdiff/analysis/read/family"
	"leakdiff/analysis/say/wording"
)

// Wanted is whom to follow through the captures: a kind with a number. Kind is "" where the number is
// that of a goroutine or of a thread, whichever the captures have.
type Wanted struct {
	Kind analysis.Kind
	// Inode reports that Number is the inode of a descriptor, else it is the id of a goroutine, the #N of
	// a thread, or the number of a descriptor. Watch is the number of a watch of that descriptor.
	Inode  bool
	Number int64
	Watch  int64
}

// ParseWanted reads what somebody wants to follow.
//
//	42, goroutine:42, thread:31, fd:12, inode:90112, watch:5.3 (watch 3 of descriptor 5)
func ParseWanted(text string) (Wanted, error) {
	kind, rest, named := strings.Cut(text, ":")
	if !named {
		kind, rest = "", text
	}
	kinds := map[string]analysis.Kind{"": "", "goroutine": analysis.KindGoroutine, "thread": analysis.KindThread, "fd": analysis.KindDescriptor, "inode": analysis.KindDescriptor, "watch": analysis.KindWatch}
	of, known := kinds[kind]
	w := Wanted{Kind: of, Inode: kind == "inode"}
	var err, errWatch error
	if kind == "watch" {
		fd, number, _ := strings.Cut(rest, ".")
		rest = fd
		w.Watch, errWatch = strconv.ParseInt(number, 10, 64)
	}
	w.Number, err = strconv.ParseInt(strings.TrimPrefix(rest, "#"), 10, 64)
	if !known || err != nil || errWatch != nil || w.Number < 0 {
		return w, &analysis.Fault{Code: "usage", What: fmt.Sprintf("%q names nobody to follow", text), Hint: "write the id of a goroutine (42), or goroutine:42, thread:31, fd:12, inode:90112, watch:5.3"}
	}
	return w, nil
}

// NameOf is the text of which ParseWanted makes a member of a kind, "" for one without a number.
func NameOf(kind analysis.Kind, id analysis.Identity) string {
	switch {
	case id == (analysis.Identity{}) || id.ID < 0:
		return ""
	case kind == analysis.KindDescriptor:
		return fmt.Sprintf("fd:%d", id.ID)
	case kind == analysis.KindWatch:
		return fmt.Sprintf("watch:%d.%d", id.ID, id.Sub)
	}
	return fmt.Sprintf("%s:%d", kind, id.ID)
}

// is reports whether a member of a kind is the one that is wanted.
func (w *Wanted) is(kind analysis.Kind, id analysis.Identity) bool {
	switch {
	case w.Kind == "":
		return (kind == analysis.KindGoroutine || kind == analysis.KindThread) && id.ID == w.Number
	case w.Kind != kind:
		return false
	case w.Inode:
		return id.Sub == w.Number
	case kind == analysis.KindWatch:
		return id.ID == w.Number && id.Sub == w.Watch
	}
	return id.ID == w.Number
}

// Track is one member of a process through its captures. Equal numbers in two runs of the process are
// two members.
type Track struct {
	Process string        `json:"process"`
	Host    *string       `json:"host,omitempty"`
	Kind    analysis.Kind `json:"kind"`
	// Number names it: "42", "#31", "fd 12", "fd 5, wd 3".
	Number string  `json:"number"`
	Places []Place `json:"places"`
	// StartedAt is the statement that started it, nil where it is not known.
	StartedAt *StackFrame `json:"started_at,omitempty"`
	// StartedFor is the code for which most of its family were started, OpenedAt the code that opened
	// most descriptors of its family; nil where that is not known.
	StartedFor *Origin `json:"started_for,omitempty"`
	OpenedAt   *Origin `json:"opened_at,omitempty"`
	// Parents are who started it, and who started that one, the nearest first. Started are those that
	// it started and that a capture shows, the first of StartedTotal.
	Parents      []Relative `json:"parents,omitempty"`
	Started      []Relative `json:"started,omitempty"`
	StartedTotal int        `json:"started_total,omitempty"`
}

// Relative is a goroutine that started another one, or was started by it.
type Relative struct {
	ID int64 `json:"id"`
	// Family is the title of its family in Snapshot; all are empty for one that no capture shows.
	Family      string `json:"family,omitempty"`
	Fingerprint string `json:"fingerprint,omitempty"`
	Snapshot    string `json:"snapshot,omitempty"`
}

// Following is leakdiff.follow/1: a member of the processes of a case through its captures.
type Following struct {
	Schema string  `json:"schema"`
	Tracks []Track `json:"tracks"`
}

// Place is where it was in a capture.
type Place struct {
	// Snapshot is its label.
	Snapshot   string     `json:"snapshot"`
	SnapshotID string     `json:"snapshot_id"`
	At         *time.Time `json:"at"`
	// There is false before it came and after it ended.
	There bool `json:"there"`
	// Family is the title of its family, Fingerprint that one's. Frame is the first own frame of its
	// stack, else the first one outside the standard library.
	Family      string           `json:"family,omitempty"`
	Fingerprint string           `json:"fingerprint,omitempty"`
	Frame       *StackFrame      `json:"frame,omitempty"`
	State       string           `json:"state,omitempty"`
	Wait        *int             `json:"wait_minutes,omitempty"`
	Labels      []analysis.Label `json:"labels,omitempty"`
	Detail      string           `json:"detail,omitempty"`
	// WaitsFor is the lock that it waits for, with its holder; Holds are those that it holds.
	WaitsFor string   `json:"waits_for,omitempty"`
	Holds    []string `json:"holds,omitempty"`
}

// Follow finds a member in all captures of the chosen series, which are those of the report if there
// are none. The error is an *analysis.Fault if the name is none, or if no capture has the member.
func (c *Case) Follow(name string, chosen ...int) (Following, error) {
	out := Following{Schema: "leakdiff.follow/1"}
	w, err := ParseWanted(name)
	if err != nil {
		return out, err
	}
	for i := range c.Series {
		if len(chosen) == 0 || slices.Contains(chosen, i) {
			out.Tracks = append(out.Tracks, c.Series[i].follow(w, &c.Report.Series[i])...)
		}
	}
	if len(out.Tracks) == 0 {
		return out, &analysis.Fault{Code: "not_found", What: "no capture has " + name, Hint: "ids stand in `leakdiff report --format json` and on the page of a family; dumps of debug=2 have them, counts do not"}
	}
	return out, nil
}

// follow is one track for each run of the process that has the member.
func (j *JudgedSeries) follow(w Wanted, s *Series) []Track {
	var out []Track
	runs := map[int]int{} // the track of an epoch
	for at, snap := range j.Snapshots {
		m, g := w.in(snap)
		epoch := j.Trend.Epochs[at]
		k, known := runs[epoch]
		if !known {
			if m == nil {
				continue
			}
			k = len(out)
			runs[epoch] = k
			out = append(out, Track{Process: s.Process, Host: s.Host, Kind: g.Family.Kind, Number: NumberOf(g.Family.Kind, m.Identity)})
			for before := range j.Snapshots[:at] {
				if j.Trend.Epochs[before] == epoch && captured(j.Snapshots[before], g.Family.Kind) {
					out[k].Places = append(out[k].Places, j.absent(before))
				}
			}
		}
		switch {
		case m != nil:
			place, stack := j.place(at, m, g)
			out[k].Places = append(out[k].Places, place)
			if i := slices.IndexFunc(stack, func(f StackFrame) bool { return f.CreatedBy }); i >= 0 && out[k].StartedAt == nil {
				out[k].StartedAt = &stack[i]
			}
			out[k].origins(s.family(g.Family.Fingerprint))
		case captured(snap, out[k].Kind):
			out[k].Places = append(out[k].Places, j.absent(at))
		}
	}
	for epoch, k := range runs {
		if out[k].Kind == analysis.KindGoroutine {
			j.kin(&out[k], epoch, w.Number)
		}
	}
	return out
}

// origins notes who started or opened the family of a member.
func (t *Track) origins(f *Family) {
	if f != nil {
		t.StartedFor, t.OpenedAt = cmp.Or(f.StartedFor, t.StartedFor), cmp.Or(f.OpenedAt, t.OpenedAt)
	}
}

// ofMember says an origin of a member: of some of its group, it may be another one's.
//
//	"opened at main.leak (leak.go:21)", "31 of 41 of its group were opened at main.leak (leak.go:21)"
func (o *Origin) ofMember(what string) string {
	text := what + " " + wording.Printable(o.Text)
	if o.Count < o.Members {
		return fmt.Sprintf("%d of %d of its group %s %s", o.Count, o.Members, wording.Fit(o.Count, "was", "were"), text)
	}
	return text
}

const (
	mostParents = 8
	mostStarted = 50
)

// kin adds who started a goroutine and whom it started, as far as the captures of a run show them.
func (j *JudgedSeries) kin(t *Track, epoch int, id int64) {
	var shown []int // the captures that have it
	started := map[int64]bool{}
	for at, snap := range j.Snapshots {
		if j.Trend.Epochs[at] != epoch {
			continue
		}
		for i := range snap.Groups {
			g := &snap.Groups[i]
			if g.Family.Kind != analysis.KindGoroutine || !g.Members.Identified() {
				continue
			}
			for m := range g.Members.All() {
				if m.Identity.ID == id {
					shown = append(shown, at)
				}
				if m.Parent != id || m.Identity.ID == 0 || started[m.Identity.ID] {
					continue
				}
				started[m.Identity.ID] = true
				if len(t.Started) < mostStarted {
					t.Started = append(t.Started, j.relative(m.Identity.ID, g, at))
				}
			}
		}
	}
	t.StartedTotal = len(started)
	seen := map[int64]bool{id: true}
	for parent := j.parentIn(shown, id); parent > 0 && !seen[parent] && len(t.Parents) < mostParents; {
		seen[parent] = true
		found, next := Relative{ID: parent}, int64(0)
		w := Wanted{Kind: analysis.KindGoroutine, Number: parent}
		for _, at := range shown {
			if m, g := w.in(j.Snapshots[at]); m != nil {
				found, next = j.relative(parent, g, at), m.Parent
				break
			}
		}
		t.Parents = append(t.Parents, found)
		parent = next
	}
}

// parentIn is who started a goroutine, 0 where that is not known.
func (j *JudgedSeries) parentIn(shown []int, id int64) int64 {
	w := Wanted{Kind: analysis.KindGoroutine, Number: id}
	for _, at := range shown {
		if m, _ := w.in(j.Snapshots[at]); m != nil && m.Parent > 0 {
			return m.Parent
		}
	}
	return 0
}

func (j *JudgedSeries) relative(id int64, g *analysis.Group, at int) Relative {
	return Relative{ID: id, Family: j.Titles[g.Family.Fingerprint], Fingerprint: g.Family.Fingerprint, Snapshot: j.Snapshots[at].Label}
}

// captured reports whether a capture shows a kind at all.
func captured(snap *analysis.Snapshot, kind analysis.Kind) bool {
	return snap.Totals.Of(kind) != nil
}

// in is the member of a snapshot with its group, nil where it is not there.
func (w *Wanted) in(snap *analysis.Snapshot) (*analysis.Member, *analysis.Group) {
	for i := range snap.Groups {
		g := &snap.Groups[i]
		if w.Kind != "" && g.Family.Kind != w.Kind || !g.Members.Identified() {
			continue
		}
		for m := range g.Members.All() {
			if w.is(g.Family.Kind, m.Identity) {
				return &m, g
			}
		}
	}
	return nil, nil
}

func (j *JudgedSeries) absent(at int) Place {
	out := Place{Snapshot: j.Snapshots[at].Label, SnapshotID: j.Snapshots[at].ID}
	if t := j.Snapshots[at].CapturedAt; !t.IsZero() {
		out.At = &t
	}
	return out
}

// place is where a member was in a capture, with its stack there.
func (j *JudgedSeries) place(at int, m *analysis.Member, g *analysis.Group) (Place, []StackFrame) {
	out := j.absent(at)
	out.There, out.Family, out.Fingerprint = true, j.Titles[g.Family.Fingerprint], g.Family.Fingerprint
	out.State, out.Labels, out.Detail = m.State, m.Labels.List(), m.Detail
	if m.Wait >= 0 {
		out.Wait = new(m.Wait)
	}
	own := *g
	if m.Variant >= 0 && m.Variant < len(g.Variants) {
		own.Variants = g.Variants[m.Variant : m.Variant+1]
	}
	if j.own == nil {
		j.own = family.OwnOf(j.stacks)
	}
	j.locksOf(&out, at, m, &own)
	var stack []StackFrame
	if l := j.located(j.own, &own, at); l != nil && len(l.Stack) > 0 {
		stack = l.Stack
		first := slices.IndexFunc(l.Stack, func(f StackFrame) bool { return f.Own && !f.CreatedBy })
		if first < 0 {
			first = slices.IndexFunc(l.Stack, func(f StackFrame) bool { return !f.CreatedBy && !family.OfStandardLibrary(f.Function) })
		}
		out.Frame = &l.Stack[max(0, first)]
	}
	return out, stack
}

// NumberOf names a member: "42" for a goroutine, "fd 5, wd 3" for a watch, "pid 7" for a child process,
// "handle" for a watch of Node.js.
func NumberOf(kind analysis.Kind, id analysis.Identity) string {
	switch kind {
	case analysis.KindDescriptor:
		return fmt.Sprintf("fd %d", id.ID)
	case analysis.KindWatch:
		switch {
		case id.ID >= 0:
			return fmt.Sprintf("fd %d, wd %d", id.ID, id.Sub)
		case id.Sub > 0:
			return fmt.Sprintf("pid %d", id.Sub)
		}
		return "handle"
	case analysis.KindThread:
		return fmt.Sprintf("#%d", id.ID)
	}
	return strconv.FormatInt(id.ID, 10)
}

// Title names a track, "goroutine 42 of app", and Course says where it was: "there in 2 of 3 captures".
func (t *Track) Title() string {
	out := string(t.Kind) + " " + t.Number
	if t.Process != "" {
		out += " of " + wording.Printable(t.Process)
	}
	return out
}

// Course says in how many captures it was, and whether it went away.
func (t *Track) Course() string {
	there := 0
	for i := range t.Places {
		if t.Places[i].There {
			there++
		}
	}
	out := fmt.Sprintf("there in %d of %s", there, wording.Plural(len(t.Places), "capture", "captures"))
	if last := len(t.Places) - 1; !t.Places[last].There {
		for !t.Places[last].There {
			last--
		}
		out += ", the last one " + wording.Printable(t.Places[last].Snapshot)
	}
	return out
}

// Text is a track for a terminal: a line for each capture, and what did not change is not repeated.
//
//	goroutine 42 of app: there in 2 of 3 captures
//	t0  03:00:00  not there
//	t1  03:05:00  limit.(*Sem).Acquire limit.go:19  chan send
//	t2  03:10:00  the same, 5 minutes
//	started at app.serve serve.go:9
//	started by goroutine 7 (app.serve)
//	that one by goroutine 1 (main.main)
func (t *Track) Text() string {
	width := 0
	for i := range t.Places {
		width = max(width, len(t.Places[i].Snapshot))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", t.Title(), t.Course())
	last := ""
	for i := range t.Places {
		p := &t.Places[i]
		clock := ""
		if p.At != nil {
			clock = wording.Clock(*p.At)
		}
		what := "not there"
		if p.There {
			what = p.Where()
			for _, more := range p.more() {
				what += ", " + more
			}
			what = wording.Printable(what)
			if what == last {
				what = "the same"
			} else {
				last = what
			}
			if p.Wait != nil {
				what += ", " + wording.Plural(*p.Wait, "minute", "minutes")
			}
		}
		fmt.Fprintf(&b, "%-*s  %s  %s\n", width, wording.Printable(p.Snapshot), clock, what)
	}
	if start := t.Statement(); start != "" {
		fmt.Fprintf(&b, "started at %s\n", start)
	}
	if t.StartedFor != nil {
		fmt.Fprintln(&b, t.StartedFor.ofMember("started for"))
	}
	if t.OpenedAt != nil {
		fmt.Fprintln(&b, t.OpenedAt.ofMember("opened at"))
	}
	for i := range t.Parents {
		fmt.Fprintf(&b, "%s by %s\n", []string{"started", "that one"}[min(i, 1)], t.Parents[i].text())
	}
	if t.StartedTotal > 0 {
		var ids []string
		for _, r := range t.Started[:min(len(t.Started), 10)] {
			ids = append(ids, strconv.FormatInt(r.ID, 10))
		}
		if n := t.StartedTotal - len(ids); n > 0 {
			ids = append(ids, fmt.Sprintf("%d more", n))
		}
		fmt.Fprintf(&b, "started %s: %s\n", wording.Plural(t.StartedTotal, "goroutine", "goroutines"), strings.Join(ids, ", "))
	}
	return b.String()
}

// Statement is what started it, "main.start job.go:22", "" where that is not known.
func (t *Track) Statement() string {
	if t.StartedAt == nil {
		return ""
	}
	return wording.Printable(strings.TrimSpace(shortRole(t.StartedAt.Function) + " " + t.StartedAt.place()))
}

// text is "goroutine 7 (app.serve)", or "goroutine 7, which no capture shows".
func (r *Relative) text() string {
	if r.Fingerprint == "" {
		return fmt.Sprintf("goroutine %d, which no capture shows with it", r.ID)
	}
	return fmt.Sprintf("goroutine %d (%s)", r.ID, wording.Printable(r.Family))
}

// Where is the place in the code, "limit.(*Sem).Acquire limit.go:19", else what the listing says.
func (p *Place) Where() string {
	switch {
	case p.Frame != nil:
		return strings.TrimSpace(shortRole(p.Frame.Function) + " " + p.Frame.place())
	case p.Detail != "":
		return p.Detail // which says what the title says
	}
	return p.Family
}

// more is the state, what else the dump prints, and for whom it works.
func (p *Place) more() []string {
	var out []string
	if p.State != "" {
		out = append(out, p.State)
	}
	if p.Frame != nil && p.Detail != "" {
		out = append(out, p.Detail)
	}
	for _, l := range p.Labels {
		out = append(out, l.Key+"="+l.Value)
	}
	if p.WaitsFor != "" {
		out = append(out, p.WaitsFor)
	}
	return append(out, p.Holds...)
}

// locksOf adds the lock that a member waits for and those that it holds, as far as the dump shows
// them: of the locks for which somebody waits in its function, if there is one alone.
func (j *JudgedSeries) locksOf(p *Place, at int, m *analysis.Member, g *analysis.Group) {
	locks := j.LocksAt(at)
	if locks == nil || locks.Kind != g.Family.Kind {
		return
	}
	var waits *Lock
	for i := range locks.List {
		l := &locks.List[i]
		for k := range l.Holders {
			if h := &l.Holders[k]; h.Certainty != wait.Possible && (h.ID != 0 && h.ID == m.Identity.ID || h.ID == 0 && h.Name != "" && h.Name == m.Detail) {
				p.Holds = append(p.Holds, h.holds(l, locks.Kind))
			}
		}
		switch {
		case locks.Kind == analysis.KindThread && slices.Contains(l.Waiting, m.Detail):
			p.WaitsFor = l.awaited(locks.Kind)
			return
		case waitsForLock(m.State) && j.enters(l, g):
			if waits != nil {
				return // one of two: the dump does not say which
			}
			waits = l
		}
	}
	if waits != nil {
		p.WaitsFor = waits.awaited(locks.Kind)
	}
}

// waitsForLock reports the state of a goroutine or of a thread that waits for a lock.
func waitsForLock(state string) bool {
	return state == "BLOCKED" || strings.HasPrefix(state, "sync.") || strings.HasPrefix(state, "semacquire")
}

// enters reports that those who wait for a lock do so in the function of a group.
func (j *JudgedSeries) enters(l *Lock, g *analysis.Group) bool {
	return slices.ContainsFunc(g.Variants, func(v analysis.Variant) bool {
		return v.Stack != nil && slices.ContainsFunc(l.In, func(s LockSite) bool { return s.Function != "" && s.Function == wait.EntryOf(v.Stack) })
	})
}

// CSV writes a row for each capture of each track.
func (f *Following) CSV(w io.Writer) error {
	var rows [][]string
	for i := range f.Tracks {
		t := &f.Tracks[i]
		for k := range t.Places {
			p := &t.Places[k]
			at, wait := "", ""
			if p.At != nil {
				at = p.At.UTC().Format(time.RFC3339)
			}
			if p.Wait != nil {
				wait = strconv.Itoa(*p.Wait)
			}
			where := ""
			if p.There {
				where = p.Where()
			}
			rows = append(rows, []string{t.Process, string(t.Kind), t.Number, p.Snapshot, at, strconv.FormatBool(p.There), where, p.Family, p.State, wait})
		}
	}
	return TableCSV(w, []string{"process", "kind", "number", "snapshot", "at", "there", "where", "family", "state", "wait_minutes"}, rows)
}
