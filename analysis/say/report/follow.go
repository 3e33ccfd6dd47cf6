package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"leakdiff/analysis"
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
//	42, goroutine:42, thread:31, fd:12, inode:90112, watch:5/3 (watch 3 of descriptor 5)
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
		fd, number, _ := strings.Cut(rest, "/")
		rest = fd
		w.Watch, errWatch = strconv.ParseInt(number, 10, 64)
	}
	w.Number, err = strconv.ParseInt(strings.TrimPrefix(rest, "#"), 10, 64)
	if !known || err != nil || errWatch != nil || w.Number < 0 {
		return w, &analysis.Fault{Code: "usage", What: fmt.Sprintf("%q names nobody to follow", text), Hint: "write the id of a goroutine (42), or goroutine:42, thread:31, fd:12, inode:90112, watch:5/3"}
	}
	return w, nil
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
}

// Place is where it was in a capture.
type Place struct {
	Snapshot string     `json:"snapshot"`
	At       *time.Time `json:"at"`
	// There is false before it came and after it ended.
	There bool `json:"there"`
	// Family is the title of its family, Fingerprint that one's. Frame is the first own frame of its
	// stack, else the first one outside the standard library.
	Family      string      `json:"family,omitempty"`
	Fingerprint string      `json:"fingerprint,omitempty"`
	Frame       *StackFrame `json:"frame,omitempty"`
	State       string      `json:"state,omitempty"`
	Wait        *int        `json:"wait_minutes,omitempty"`
	// Parent is the goroutine that started it, 0 where that is not known.
	Parent int64            `json:"parent,omitempty"`
	Labels []analysis.Label `json:"labels,omitempty"`
	Detail string           `json:"detail,omitempty"`
}

// Follow finds a member in all captures of each series.
func (c *Case) Follow(w Wanted) []Track {
	var out []Track
	for i := range c.Series {
		out = append(out, c.Series[i].follow(w, &c.Report.Series[i])...)
	}
	return out
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
			out = append(out, Track{Process: s.Process, Host: s.Host, Kind: g.Family.Kind, Number: numberOf(g.Family.Kind, m.Identity)})
			for before := range j.Snapshots[:at] {
				if j.Trend.Epochs[before] == epoch && captured(j.Snapshots[before], g.Family.Kind) {
					out[k].Places = append(out[k].Places, j.absent(before))
				}
			}
		}
		switch {
		case m != nil:
			out[k].Places = append(out[k].Places, j.place(at, m, g))
		case captured(snap, out[k].Kind):
			out[k].Places = append(out[k].Places, j.absent(at))
		}
	}
	return out
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
	out := Place{Snapshot: j.Snapshots[at].Label}
	if t := j.Snapshots[at].CapturedAt; !t.IsZero() {
		out.At = &t
	}
	return out
}

func (j *JudgedSeries) place(at int, m *analysis.Member, g *analysis.Group) Place {
	out := j.absent(at)
	out.There, out.Family, out.Fingerprint = true, j.Titles[g.Family.Fingerprint], g.Family.Fingerprint
	out.State, out.Parent, out.Labels, out.Detail = m.State, m.Parent, m.Labels.List(), m.Detail
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
	if l := j.located(j.own, &own, at); l != nil && len(l.Stack) > 0 {
		first := slices.IndexFunc(l.Stack, func(f StackFrame) bool { return f.Own && !f.CreatedBy })
		if first < 0 {
			first = slices.IndexFunc(l.Stack, func(f StackFrame) bool { return !f.CreatedBy && !family.OfStandardLibrary(f.Function) })
		}
		out.Frame = &l.Stack[max(0, first)]
	}
	return out
}

// numberOf names a member: "42" for a goroutine, "fd 5, wd 3" for a watch.
func numberOf(kind analysis.Kind, id analysis.Identity) string {
	switch kind {
	case analysis.KindDescriptor:
		return fmt.Sprintf("fd %d", id.ID)
	case analysis.KindWatch:
		return fmt.Sprintf("fd %d, wd %d", id.ID, id.Sub)
	case analysis.KindThread:
		return fmt.Sprintf("#%d", id.ID)
	}
	return strconv.FormatInt(id.ID, 10)
}

// Text is a track for a terminal: a line for each capture, and what did not change is not repeated.
//
//	goroutine 42 of app: there in 2 of 3 dumps
//	t0  03:00:00  not there
//	t1  03:05:00  limit.(*Sem).Acquire limit.go:19  chan send, started by goroutine 7
//	t2  03:10:00  the same, 5 minutes
func (t *Track) Text() string {
	there, width := 0, 0
	for i := range t.Places {
		width = max(width, len(t.Places[i].Snapshot))
		if t.Places[i].There {
			there++
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s", t.Kind, t.Number)
	if t.Process != "" {
		fmt.Fprintf(&b, " of %s", wording.Printable(t.Process))
	}
	fmt.Fprintf(&b, ": there in %d of %s\n", there, wording.Plural(len(t.Places), "capture", "captures"))
	last := ""
	for i := range t.Places {
		p := &t.Places[i]
		clock := ""
		if p.At != nil {
			clock = wording.Clock(*p.At)
		}
		what := "not there"
		if p.There {
			what = p.where()
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
	return b.String()
}

// where is the frame, the state, who started it and for whom it works.
func (p *Place) where() string {
	out, details := p.Family, []string{p.State, p.Detail}
	switch {
	case p.Frame == nil && p.Detail != "":
		out, details = p.Detail, nil // which says what the title says
	case p.Frame != nil:
		out = strings.TrimSpace(shortRole(p.Frame.Function) + " " + p.Frame.place())
	}
	for _, more := range details {
		if more != "" {
			out += ", " + more
		}
	}
	if p.Parent > 0 {
		out += fmt.Sprintf(", started by goroutine %d", p.Parent)
	}
	for _, l := range p.Labels {
		out += ", " + l.Key + "=" + l.Value
	}
	return wording.Printable(out)
}
