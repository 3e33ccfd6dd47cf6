package report

import (
	"cmp"
	"slices"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/object"
	"leakdiff/analysis/read/family"
	"leakdiff/analysis/read/join"
)

// ObjectMembership is a kind of objects with those of one snapshot, and with the stacks of
// their goroutines there.
type ObjectMembership struct {
	Object
	Process string `json:"process"`
	// Snapshots are the labels of the snapshots that Counts are of.
	Snapshots []string `json:"snapshots"`
	// At is the label of the snapshot. MembersTotal is the number of its objects, of which
	// Members may be fewer: those first that were seen first.
	At           string         `json:"at"`
	MembersTotal int            `json:"members_total"`
	Members      []ObjectMember `json:"members"`
	// Stacks are the most frequent exact stack of each role.
	Stacks []RoleStack `json:"stacks"`
	// Lifelines are the objects of all snapshots, by their first sighting; one that lost
	// half of its goroutines, which makes it one of another kind, is here as well.
	// LifelinesTotal counts those that are left out as well.
	LifelinesTotal int              `json:"lifelines_total"`
	Lifelines      []ObjectLifeline `json:"lifelines"`

	recoveredAt int
}

// RecoveredAt is the index of the snapshot at which the cause of the growth was gone, -1
// for none.
func (m *ObjectMembership) RecoveredAt() int {
	if m.recoveredAt < 1 {
		return -1
	}
	return m.recoveredAt
}

// ObjectLifeline is one object from its first to its last sighting.
type ObjectLifeline struct {
	// Root is the goroutine that it was first known by.
	Root int64 `json:"root"`
	// FirstSeen and LastSeen are labels of snapshots, First and Last their indexes.
	FirstSeen string `json:"first_seen"`
	LastSeen  string `json:"last_seen"`
	First     int    `json:"first"`
	Last      int    `json:"last"`
	// Goroutines is how many it had last.
	Goroutines int `json:"goroutines"`
}

// ObjectMember is one object with its goroutines in the snapshot.
type ObjectMember struct {
	ObjectLifeline
	Parts []ObjectPart `json:"parts"`
}

// ObjectPart is a goroutine of an object, with its place in the dump.
type ObjectPart struct {
	ID     int64  `json:"id"`
	Family string `json:"family"`
	Role   string `json:"role"`
	State  string `json:"state,omitempty"`
	Wait   *int   `json:"wait_minutes"`
	// Labels are its pprof labels.
	Labels []analysis.Label `json:"labels,omitempty"`
	Path   string           `json:"path,omitempty"`
	Line   int64            `json:"line,omitempty"`
	Offset int64            `json:"offset"`

	place analysis.Place
}

// Place is where the goroutine stands in the snapshot's artifacts.
func (p *ObjectPart) Place() analysis.Place { return p.place }

// RoleStack is the most frequent exact stack of the goroutines of one role.
type RoleStack struct {
	ObjectRole
	// Family is that of the goroutines. Members is the number of goroutines with exactly
	// this stack, Of that of all goroutines of the role in the snapshot.
	Family  string `json:"family"`
	Variant string `json:"variant"`
	Members int    `json:"members"`
	Of      int    `json:"of"`
	// Stack is leaf first, what started the goroutine last. Own code is marked.
	Stack []StackFrame `json:"stack"`
}

// FirstStack is the stack of the role that shows most: of the first with own code, else of
// the first that what holds the objects started, else of the first with more than the
// standard library. It is nil without a stack.
func (m *ObjectMembership) FirstStack() *RoleStack {
	var best *RoleStack
	most := -1
	for i := range m.Stacks {
		if worth := m.worth(m.Stacks[i].Stack); worth > most {
			best, most = &m.Stacks[i], worth
		}
	}
	return best
}

// worth orders the stacks of roles for FirstStack.
func (m *ObjectMembership) worth(stack []StackFrame) int {
	creator := Creator(stack)
	switch {
	case slices.ContainsFunc(stack, func(f StackFrame) bool { return f.Own }):
		return 3
	case creator != nil && slices.ContainsFunc(m.Holders, func(h HolderOf) bool { return h.Role == analysis.CreatedBy && h.Type == creator.Function }):
		return 2
	case slices.ContainsFunc(stack, func(f StackFrame) bool { return !family.OfStandardLibrary(f.Function) }):
		return 1
	}
	return 0
}

// Located is the stack as that of a family is located.
func (s *RoleStack) Located(kind analysis.Kind, snapshot string) *LocatedStack {
	return &LocatedStack{Stack: s.Stack, Of: StackOf{Family: s.Family, Kind: kind, Snapshot: snapshot, Members: s.Members, Of: s.Of}}
}

const (
	mostLifelines = 2000
	// mostParts is how many goroutines of an object are listed.
	mostParts = 64
)

// ObjectSnapshot is the index of the snapshot in which a kind of objects is worth a look:
// the last one before the cause of its growth went away, else the last one that shows any.
func (j *JudgedSeries) ObjectSnapshot(o Object) int {
	shows := func(i int) bool { return i >= 0 && o.Counts[i].Any() }
	if k := j.kindOf(&o); k != nil && shows(k.Judgement.RecoveredAt-1) {
		return k.Judgement.RecoveredAt - 1
	}
	for i := len(o.Counts) - 1; i > 0; i-- {
		if shows(i) {
			return i
		}
	}
	return 0
}

// kindOf is the kind of a listed object: type, shape and rest tell kinds apart. It is nil
// where no dump of goroutines shows the objects.
func (j *JudgedSeries) kindOf(o *Object) *object.Kind {
	for i := range j.kinds {
		k := &j.kinds[i]
		if k.Threads && k.Type == o.Type && o.Threads() {
			return k
		}
		if k.Type == o.Type && k.Rest == o.Rest && len(o.Each) > 0 && slices.EqualFunc(k.Each, o.Each[0].Roles, func(a analysis.ObjectRole, b ObjectRole) bool { return ObjectRole(a) == b }) {
			return k
		}
	}
	return nil
}

// ObjectMembership lists at most limit objects of a kind in snapshot at of the series.
// The object is one of the contract of this series.
func (j *JudgedSeries) ObjectMembership(o Object, at, limit int) ObjectMembership {
	snap := j.Snapshots[at]
	out := ObjectMembership{
		Object: o, Process: j.Snapshots[0].Process.Name.Value, At: snap.Label,
		Members: []ObjectMember{}, Stacks: []RoleStack{}, Lifelines: []ObjectLifeline{},
	}
	for _, s := range j.Snapshots {
		out.Snapshots = append(out.Snapshots, s.Label)
	}
	if o.Counts[at].Known() {
		out.MembersTotal = o.Counts[at].N
	}
	kind := j.kindOf(&o)
	if kind == nil {
		return out
	}
	out.recoveredAt = kind.Judgement.RecoveredAt
	lives := j.livesOf(kind)
	out.LifelinesTotal = len(lives)
	for _, l := range lives[:min(len(lives), mostLifelines)] {
		out.Lifelines = append(out.Lifelines, j.lifeline(l))
	}
	if snap.Joined != nil {
		j.fillMembers(&out, kind, lives, at, limit)
	}
	return out
}

func (j *JudgedSeries) lifeline(l object.Lifeline) ObjectLifeline {
	return ObjectLifeline{Root: l.Root, First: l.First, Last: l.Last, FirstSeen: j.Snapshots[l.First].Label, LastSeen: j.Snapshots[l.Last].Label, Goroutines: l.Parts}
}

// livesOf are the objects of a kind, with those that are of another one since they lost half
// of their goroutines.
func (j *JudgedSeries) livesOf(kind *object.Kind) []object.Lifeline {
	lives := slices.Clone(kind.Objects)
	if kind.Rest {
		return lives
	}
	for i := range j.kinds {
		if rest := &j.kinds[i]; rest.Rest && rest.Type == kind.Type {
			lives = append(lives, rest.Objects...)
		}
	}
	slices.SortStableFunc(lives, func(a, b object.Lifeline) int { return cmp.Compare(a.First, b.First) })
	return lives
}

// fillMembers adds the objects of one snapshot and the stacks of their roles. Objects that
// lost goroutines before are left out.
func (j *JudgedSeries) fillMembers(out *ObjectMembership, kind *object.Kind, lives []object.Lifeline, at, limit int) {
	snap := j.Snapshots[at]
	alive := map[int64]object.Lifeline{}
	for _, l := range lives {
		if l.First <= at && at <= l.Last && j.Trend.Epochs[l.First] == j.Trend.Epochs[at] {
			alive[l.Root] = l
		}
	}
	var parts []int64
	for i := range snap.Joined.Kinds {
		k := &snap.Joined.Kinds[i]
		if k.Type != kind.Type {
			continue
		}
		for row := range k.Rows() {
			if kind.Threads { // the pages of their families list them
				parts = append(parts, row.Parts...)
				continue
			}
			l, ok := lifelineOf(row, alive)
			if !ok || !kind.Rest && 2*len(row.Parts) <= kind.Parts {
				continue
			}
			delete(alive, l.Root)
			parts = append(parts, row.Parts...)
			member := ObjectMember{ObjectLifeline: j.lifeline(l), Parts: []ObjectPart{}}
			for _, id := range row.Parts[:min(len(row.Parts), mostParts)] {
				member.Parts = append(member.Parts, ObjectPart{ID: id})
			}
			member.Goroutines = len(row.Parts)
			out.Members = append(out.Members, member)
		}
	}
	slices.SortStableFunc(out.Members, func(a, b ObjectMember) int {
		return cmp.Or(cmp.Compare(a.First, b.First), cmp.Compare(a.Root, b.Root))
	})
	out.Members = out.Members[:min(len(out.Members), limit)]
	slices.Sort(parts)
	j.fillParts(out, snap, parts)
}

// lifelineOf finds the object that a row of a dump continues: the one known by its root, or
// by another goroutine of it.
func lifelineOf(row analysis.ObjectRow, alive map[int64]object.Lifeline) (object.Lifeline, bool) {
	if l, ok := alive[row.Root]; ok {
		return l, true
	}
	for _, id := range row.Parts {
		if l, ok := alive[id]; ok {
			return l, true
		}
	}
	return object.Lifeline{}, false
}

// roleVariant is an exact stack in a role.
type roleVariant struct {
	group   *analysis.Group
	variant int
	count   int
}

// fillParts sets what the dump shows of the goroutines, and the stacks of the roles. parts
// are the goroutines of all objects, in ascending order.
func (j *JudgedSeries) fillParts(out *ObjectMembership, snap *analysis.Snapshot, parts []int64) {
	listed := map[int64]*ObjectPart{}
	for i := range out.Members {
		for k := range out.Members[i].Parts {
			p := &out.Members[i].Parts[k]
			listed[p.ID] = p
		}
	}
	best, of := map[string]roleVariant{}, map[string]int{}
	for i := range snap.Groups {
		g := &snap.Groups[i]
		if g.Family.Kind != out.Each[0].Kind || !out.Threads() && !g.Members.Numbered() {
			continue
		}
		counts := make([]int, len(g.Variants))
		for m := range g.Members.All() {
			if _, ok := slices.BinarySearch(parts, m.Identity.ID); !ok || m.Variant < 0 || m.Variant >= len(counts) {
				continue
			}
			counts[m.Variant]++
			if p := listed[m.Identity.ID]; p != nil {
				p.fill(m, g, snap)
				p.Role = j.partRole(g, m.Variant)
			}
		}
		for v, n := range counts {
			role := j.partRole(g, v)
			if n == 0 || role == "" {
				continue
			}
			of[role] += n
			if n > best[role].count {
				best[role] = roleVariant{g, v, n}
			}
		}
	}
	own := j.OwnCode()
	for _, e := range out.Each {
		for _, r := range e.Roles {
			b, ok := best[r.Role]
			if !ok {
				continue
			}
			v := b.group.Variants[b.variant]
			stack := RoleStack{ObjectRole: r, Family: b.group.Family.Fingerprint, Variant: v.Fingerprint, Members: b.count, Of: of[r.Role], Stack: markedFrames(own, v.Stack, marksOf(own, b.group.Family.Kind, v.Stack))}
			out.Stacks = append(out.Stacks, stack)
		}
	}
}

func (p *ObjectPart) fill(m analysis.Member, g *analysis.Group, snap *analysis.Snapshot) {
	p.Family, p.State, p.Line, p.Offset, p.place = g.Family.Fingerprint, m.State, m.Place.Line, m.Place.Offset, m.Place
	p.Labels = m.Labels.List()
	if m.Wait >= 0 {
		wait := m.Wait
		p.Wait = &wait
	}
	if m.Place.Artifact >= 0 && m.Place.Artifact < len(snap.Artifacts) {
		p.Path = snap.Artifacts[m.Place.Artifact].Path
	}
}

// partRole is the role of the members of a family with an exact stack: that of threads is
// their family.
func (j *JudgedSeries) partRole(g *analysis.Group, variant int) string {
	if g.Family.Kind == analysis.KindThread {
		return j.Titles[g.Family.Fingerprint]
	}
	return variantRole(&g.Variants[variant])
}

// variantRole is the role of goroutines with an exact stack, "" without frames.
func variantRole(v *analysis.Variant) string {
	if v.Stack == nil || len(v.Stack.Frames) == 0 {
		return ""
	}
	return join.RoleOf(v.Stack)
}
