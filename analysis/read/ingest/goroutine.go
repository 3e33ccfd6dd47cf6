package ingest

import (
	"fmt"
	"path"
	"slices"
	"sort"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/read/detect"
	"leakdiff/analysis/read/family"
	"leakdiff/analysis/read/goroutine"
	"leakdiff/analysis/read/join"
	"leakdiff/analysis/say/wording"
)

// orderVariants puts the largest variants first, and has the members index them
// there.
func orderVariants(g *analysis.Group) {
	if len(g.Variants) < 2 {
		return
	}
	order := make([]int, len(g.Variants))
	for i := range order {
		order[i] = i
	}
	sort.SliceStable(order, func(i, j int) bool { return g.Variants[order[i]].Count > g.Variants[order[j]].Count })
	sorted := make([]analysis.Variant, len(order))
	place := make([]int32, len(order))
	for to, from := range order {
		sorted[to], place[from] = g.Variants[from], int32(to)
	}
	g.Variants = sorted
	if c := g.Members.Columns; c != nil {
		for i, v := range c.Variant {
			if v >= 0 {
				c.Variant[i] = place[v]
			}
		}
	}
	for i := range g.Members.Packed {
		p := &g.Members.Packed[i]
		p.Variant = place[p.Variant]
	}
}

// group finds or makes the family of this snapshot.
func (b *builder) group(f *analysis.Family) *analysis.Group {
	g := b.byPrint[f.Fingerprint]
	if g == nil && len(b.byPrint) >= mostCounted && f.Kind != analysis.KindGoroutine {
		f = b.r.bounds.others(f.Kind)
		g = b.byPrint[f.Fingerprint]
	}
	if g == nil {
		g = &analysis.Group{Family: f, OldestWait: -1, States: map[string]int{}}
		b.byPrint[f.Fingerprint] = g
	}
	return g
}

// variant finds or makes an exact stack within a family.
func (b *builder) variant(g *analysis.Group, s *analysis.Stack) int {
	return variantAs(g, b.byExact, b.r.stacks.Exact(s), s)
}

// goroutines fills totals and families from the text and its twins, which are
// encodings of one instant and never added up.
func (b *builder) goroutines() {
	text := b.g.form(detect.GoroutineDebug2, detect.GoroutineCrash, detect.GoroutineDebug3)
	twin, leaked := b.g.profiles(false), b.g.profiles(true)
	if text == nil && twin == nil {
		text = b.g.form(detect.ExecutionTrace)
	}
	if text == nil && twin == nil {
		twin = leaked // it lists the leaked ones alone
	}
	if text == nil && twin == nil {
		return
	}
	if leaked != nil {
		defer b.markLeaked(leaked)
	}
	if text == nil {
		b.countTwin(twin)
		total := twin.profile.profile.Sum
		b.s.Totals.Goroutines = &total
		b.s.Truncated, b.s.Refused = twin.profile.profile.Truncated, twin.profile.profile.Refused
		b.s.LowerBound = !twin.profile.profile.Whole()
		b.declared(twin, total)
		b.functions(twin)
		return
	}
	dump := text.text.dump
	b.died(text)
	b.s.Signal = text.text.signal
	if (text.form == detect.GoroutineCrash || text.text.crash) && dump.Headers+dump.Refused < 3 {
		// One goroutine under a panic does not show how many there were.
		b.r.problem(analysis.Problem{Path: text.path, Offset: -1, Severity: analysis.Note, Code: analysis.CrashOnly,
			What: "a crash that shows " + wording.Plural(dump.Headers, "goroutine", "goroutines") + ", not a dump of all",
			Why:  "Go prints the failing goroutine alone unless GOTRACEBACK=all is set",
			Hint: "take a dump with /debug/pprof/goroutine?debug=2, or set GOTRACEBACK=all before the next crash"})
		return
	}
	total := dump.Goroutines
	b.s.MaxGoroutineID, b.s.Listener = dump.MaxID, text.text.listener
	b.s.Truncated = dump.Truncated
	partial := dump.Truncated || dump.Refused > 0
	if text.window != nil && text.window.partial {
		b.inexact(analysis.KindGoroutine, analysis.AtLeast) // those without a stack are in no family
	}
	complete := twin != nil && twin.profile.profile.Whole()
	b.s.Objects, b.s.Passed, b.s.Joined = text.text.objects, text.text.given, text.text.joined
	b.noObjects(text)
	b.countText(text)
	switch {
	case partial && complete:
		b.completeFromTwin(twin)
		total = max(total, twin.profile.profile.Sum)
		// The parser, which knows no twin, has asked for one.
		b.r.problems.list = slices.DeleteFunc(b.r.problems.list, func(p analysis.Problem) bool {
			return p.Path == text.path && p.Code == analysis.CutDump
		})
		damage := "damaged"
		if dump.Truncated {
			damage = "cut"
		}
		b.r.problem(analysis.Problem{Path: text.path, Offset: -1, Severity: analysis.Warning,
			What: fmt.Sprintf("%d of at least %d goroutines were read from the %s dump", dump.Goroutines, total, damage),
			Why:  "the totals and the size of each family come from " + path.Base(twin.path) + ", which is whole; ids, states and waits are of those that were read",
			Hint: "take the next capture with debug=1 as well, as here; it is small and never cut"})
	case partial:
		b.s.LowerBound, b.s.Refused = true, dump.Refused
		b.declared(twin, total)
	case complete:
		b.compareTwin(text, twin, total)
	}
	if complete && len(b.s.Labels) == 0 { // a dump prints them from Go 1.26 on, a profile always
		b.s.Labels = b.profileLabels(twin)
	}
	b.s.Totals.Goroutines = &total
}

// declared keeps the number of goroutines that an incomplete profile declares.
func (b *builder) declared(twin *part, total int) {
	if twin == nil {
		return
	}
	if f := &twin.profile.profile; f.Undeclared {
		b.figure(analysis.UndeclaredRecords, float64(f.Records))
	}
	if twin.profile.profile.Total <= total {
		return
	}
	b.figure(analysis.DeclaredGoroutines, float64(twin.profile.profile.Total))
}

// functions states which function that is not of the standard library most goroutines have on
// their stack, from a profile that shows no stacks.
func (b *builder) functions(p *part) {
	var most *goroutine.FunctionCount
	for i := range p.profile.functions {
		f := &p.profile.functions[i]
		if !family.OfStandardLibrary(f.Func) && (most == nil || f.Count > most.Count) {
			most = f
		}
	}
	if most == nil {
		return
	}
	b.s.Statements = append(b.s.Statements, analysis.Statement{Key: "functions", Path: p.path,
		Title: fmt.Sprintf("%d of %d goroutines have %s on their stack", most.Count, p.profile.profile.Total, most.Func),
		Text:  "pprof -top counts functions and shows no stack. Upload the profile itself, or a dump with debug=2."})
}

// noObjects reports that a dump has none because it has too many addresses.
func (b *builder) noObjects(text *part) {
	if b.s.Joined == nil || b.s.Joined.LeftOut == "" {
		return
	}
	b.r.problem(analysis.Problem{Path: text.path, Offset: -1, Severity: analysis.Note,
		What: "the goroutines of this dump are not joined to objects",
		Why:  b.s.Joined.LeftOut + ", which would take too much memory",
		Hint: "families count the same goroutines; a dump taken earlier is smaller"})
}

// compareTwin names a twin that counts otherwise by more than a tenth.
func (b *builder) compareTwin(text, twin *part, total int) {
	other := twin.profile.profile.Sum
	if d := max(other-total, total-other); d*10 <= max(total, other) {
		return
	}
	b.r.problem(analysis.Problem{Path: twin.path, Offset: -1, Severity: analysis.Warning,
		What: fmt.Sprintf("counts %d goroutines where %s has %d", other, path.Base(text.path), total),
		Why:  "the two were not taken at one instant, or one of them is not whole",
		Hint: "the text's figures are used; take both within a second of each other"})
}

// countText takes the families of a dump as the first of the snapshot.
func (b *builder) countText(p *part) {
	at := int32(b.addArtifact(p))
	b.s.Labels, b.s.Ancestries = p.text.labels, p.text.ancestries
	groups := b.r.table.unpack(p.text.groups)
	for i := range groups {
		g := &groups[i]
		for j := range g.Members.Packed {
			g.Members.Packed[j].Artifact = at
		}
		b.byPrint[g.Family.Fingerprint] = g
	}
}

// join finds the objects of a dump that was read.
func (r *reader) join(t *textDump) {
	if r.cfg.Objects && t.joined == nil && t.dump.Form != goroutine.FormTrace { // which has no arguments
		t.joined = join.Objects(&t.tokens)
		t.tokens = join.Tokens{}
		r.shareShapes(t.joined)
	}
}

// shareShapes lets kinds of objects share texts and shapes with those of earlier dumps: a
// bundle may hold thousands of dumps of one program.
func (r *reader) shareShapes(o *analysis.Objects) {
	if r.shapes == nil {
		r.shapes = map[string]*analysis.ObjectKind{}
	}
	o.Kinds = slices.Clip(o.Kinds)
	var key []byte
	for i := range o.Kinds {
		k := &o.Kinds[i]
		key = append(append(append(key[:0], k.Name...), 0), k.Type...)
		for _, role := range k.Each {
			key = append(append(append(key, 0), role.Role...), byte(role.N), byte(role.N>>8))
			key = append(key, role.Level...)
		}
		if shared := r.shapes[string(key)]; shared != nil {
			k.Name, k.Type, k.Each = shared.Name, shared.Type, shared.Each
		} else {
			r.shapes[string(key)] = &analysis.ObjectKind{Name: k.Name, Type: k.Type, Each: k.Each}
		}
		k.SetData(k.Count, slices.Clone(k.Data()))
	}
}

// form makes the families of a dump that was read, and keeps them alone.
func (r *reader) form(t *textDump) {
	if t == nil || t.order == nil {
		return
	}
	r.join(t)
	b := &builder{r: r, byPrint: map[string]*analysis.Group{}, byExact: map[string]map[string]int{}}
	t.program = programOf(t.order)
	t.failure.locate(t.order)
	t.objects = b.objects(t)
	t.given = b.passed(t)
	for _, stack := range t.order {
		c := t.stacks[stack]
		if c.Len() == 0 {
			continue // all of them are in no family
		}
		g := b.group(b.familyOf(t, stack))
		v := b.variant(g, stack)
		g.Variants[v].Count += c.Len()
		g.Leaked += c.leaked
		c.sum(g, t.states)
		g.Members.States = t.states
		g.Members.Packed = append(g.Members.Packed, analysis.Packing{Packed: c.Packed, Variant: int32(v)})
	}
	t.countLabels()
	t.countAncestries()
	groups := make([]analysis.Group, 0, len(b.byPrint))
	for _, g := range b.byPrint {
		groups = append(groups, *g)
	}
	t.groups = r.table.pack(groups)
	r.notes = t.notes.spare()
	t.release()
}

// familyOf is the family of a stack of a dump.
func (b *builder) familyOf(t *textDump, stack *analysis.Stack) *analysis.Family {
	c := t.stacks[stack]
	if c.family == nil {
		c.family = b.r.stacks.OfStack(stack)
	}
	return c.family
}

// sum adds the goroutines to the figures of their family.
func (c *goroutines) sum(g *analysis.Group, states []string) {
	for i, n := range c.waits {
		g.Waits[i] += n
	}
	g.OldestWait = max(g.OldestWait, c.oldest)
	for i, state := range c.States() {
		word, _ := analysis.CutLabels(states[state])
		g.States[word] += c.counts[i]
	}
	g.Count += c.Len()
}

func stateIndex(m *analysis.Members, state string) uint16 {
	for i, s := range m.States {
		if s == state {
			return uint16(i)
		}
	}
	m.States = append(m.States, state)
	return uint16(len(m.States) - 1)
}

func waitBucket(minutes int) int {
	for i := len(analysis.WaitBuckets) - 1; i >= 0; i-- {
		if minutes >= analysis.WaitBuckets[i] {
			return i
		}
	}
	return 0
}

// countTwin makes families of a debug=1 text or proto alone: no identities.
func (b *builder) countTwin(p *part) {
	at := int32(b.addArtifact(p))
	for i, stack := range p.profile.stacks {
		if dumping(stack) {
			continue
		}
		g := b.group(b.r.stacks.OfStack(stack))
		v := b.variant(g, stack)
		g.Variants[v].Count += p.profile.counts[i]
		g.Count += p.profile.counts[i]
		rec := p.profile.offsets[i]
		c := g.Members.Fill()
		c.Offset, c.Line = append(c.Offset, rec.Offset), append(c.Line, rec.Line)
		c.Length = append(c.Length, int32(min(rec.Length, 1<<31-1)))
		c.Artifact, c.Variant = append(c.Artifact, at), append(c.Variant, int32(v))
	}
	b.s.Labels = b.profileLabels(p)
}

// profileLabels counts the labels of a profile by family, nil without any.
func (b *builder) profileLabels(p *part) map[string][]analysis.LabelCount {
	if len(p.profile.labels) == 0 {
		return nil
	}
	labels, adopters := labelSets{}, family.Adopters(b.families())
	for i, stack := range p.profile.stacks {
		set, labelled := p.profile.labels[i]
		if !labelled || dumping(stack) {
			continue
		}
		f := b.r.stacks.OfStack(stack)
		if adopted := b.byPrint[adopters[f.Fingerprint]]; adopted != nil {
			f = adopted.Family
		}
		labels.add(f, set, p.profile.counts[i])
	}
	return labels.counts()
}

// dumping recognises the goroutine that wrote the profile; it belongs to no
// family, as in debug=2.
func dumping(s *analysis.Stack) bool {
	for i, f := range s.Frames {
		if i > 6 {
			break
		}
		if strings.HasPrefix(f.Func, "runtime/pprof.writeGoroutine") || strings.HasPrefix(f.Func, "runtime/pprof.writeRuntimeProfile") || strings.HasPrefix(f.Func, "runtime/pprof.runtime_goroutineProfile") {
			return true
		}
	}
	return false
}

// markLeaked marks the members of families that a profile of the leaked goroutines alone
// counts (/debug/pprof/goroutineleak), as the text of debug=2 does.
func (b *builder) markLeaked(p *part) {
	adopters := family.Adopters(b.families())
	counts := map[string]int{}
	for i, stack := range p.profile.stacks {
		print := b.r.stacks.OfStack(stack).Fingerprint
		if b.byPrint[print] == nil {
			print = adopters[print]
		}
		counts[print] += p.profile.counts[i]
	}
	for print, n := range counts {
		if g := b.byPrint[print]; g != nil {
			g.Leaked = max(g.Leaked, min(n, g.Count))
		}
	}
}

// completeFromTwin sets the counts of a cut text's families to those of its complete
// twin. Members, states and ids stay as they were read.
func (b *builder) completeFromTwin(p *part) {
	at := int32(b.addArtifact(p))
	counts := map[string]int{}
	families := map[string]*analysis.Family{}
	first := map[string]int{}
	adopters := family.Adopters(b.families())
	for i, stack := range p.profile.stacks {
		if dumping(stack) {
			continue
		}
		f := b.r.stacks.OfStack(stack)
		if adopted := b.byPrint[adopters[f.Fingerprint]]; adopted != nil {
			f = adopted.Family
		}
		if _, ok := families[f.Fingerprint]; !ok {
			families[f.Fingerprint], first[f.Fingerprint] = f, i
		}
		counts[f.Fingerprint] += p.profile.counts[i]
	}
	for print, f := range families {
		g := b.group(f)
		if len(g.Variants) == 0 {
			stack := p.profile.stacks[first[print]]
			v := b.variant(g, stack)
			g.Variants[v].Count = counts[print]
			rec := p.profile.offsets[first[print]]
			g.Members = analysis.Members{Columns: &analysis.Columns{Offset: []int64{rec.Offset}, Line: []int64{rec.Line}, Length: []int32{int32(min(rec.Length, 1<<31-1))}, Artifact: []int32{at}, Variant: []int32{int32(v)}}}
		}
		g.Count = max(g.Count, counts[print])
	}
}
