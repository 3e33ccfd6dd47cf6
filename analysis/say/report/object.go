package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/object"
	"leakdiff/analysis/judge/trend"
	"leakdiff/analysis/say/wording"
)

// Object is one kind of objects of a series: things of the program with all their
// goroutines, proven by identity.
type Object struct {
	// ID is "o1" for the kind that grew most.
	ID string `json:"id"`
	// Name is the type without its import path, Type with it.
	Name string `json:"name"`
	Type string `json:"type"`
	// Counts, Born and Ended have an entry for each snapshot, nil without evidence.
	Counts analysis.Counts `json:"counts"`
	Born   analysis.Counts `json:"born"`
	Ended  analysis.Counts `json:"ended"`
	// PartsLost counts the objects that went on with fewer goroutines, PartsReplaced those
	// that have other goroutines than before.
	PartsLost     int              `json:"parts_lost,omitempty"`
	PartsReplaced int              `json:"parts_replaced,omitempty"`
	Verdict       analysis.Verdict `json:"verdict"`
	// Level is how the parts are known to belong together.
	Level analysis.ObjectLevel `json:"level"`
	Each  []ObjectParts        `json:"each"`
	// Rest reports objects that lost at least half of their goroutines.
	Rest bool `json:"rest,omitempty"`
	// Orphaned reports descriptors for which no goroutine waits and that no known object
	// holds.
	Orphaned bool       `json:"orphaned,omitempty"`
	InStep   []InStep   `json:"in_step,omitempty"`
	Holders  []HolderOf `json:"holders,omitempty"`
	// Families are the fingerprints of its goroutines.
	Families []string   `json:"families"`
	Evidence []Evidence `json:"evidence,omitempty"`
}

// ObjectParts are the parts of one kind that each object has.
type ObjectParts struct {
	Kind  analysis.Kind `json:"kind"`
	N     int           `json:"n"`
	Roles []ObjectRole  `json:"roles"`
	// Waits reports threads of a JVM that wait on the object, of which none holds it.
	Waits bool `json:"waits,omitempty"`
}

// ObjectRole is what N parts of an object do.
type ObjectRole struct {
	Role  string               `json:"role"`
	N     int                  `json:"n"`
	Level analysis.ObjectLevel `json:"level"`
}

// InStep is a family that rises with a kind of objects, by equal numbers alone.
type InStep struct {
	Fingerprint string        `json:"fingerprint"`
	Kind        analysis.Kind `json:"kind"`
	Ratio       float64       `json:"ratio"`
}

// HolderOf is one thing that N objects of a kind hang on.
type HolderOf struct {
	Type string `json:"type"`
	Role string `json:"role"`
	N    int    `json:"n"`
}

// mostObjects is how many kinds of objects of a series are listed.
const mostObjects = 200

// objects lists the kinds of objects, those that rose most first.
func (j *JudgedSeries) objects() []Object {
	kinds := slices.DeleteFunc(slices.Clone(j.kinds), func(k object.Kind) bool {
		return len(j.Snapshots) > 1 && k.Parts == 1 && !k.Moved() // a family says as much
	})
	var out []Object
	for i := range kinds {
		k := &kinds[i]
		o := Object{
			Name: k.Name, Type: k.Type, Counts: k.Counts, Born: k.Born, Ended: k.Ended, Verdict: k.Judgement.Verdict,
			Level: k.Level, Rest: k.Rest, Families: append([]string{}, k.Families...), Evidence: j.worded(k.Judgement.Evidence, "object", "objects"),
		}
		o.Each = []ObjectParts{j.partsOf(k)}
		if k.Descriptors > 0 {
			o.Each = append(o.Each, ObjectParts{Kind: analysis.KindDescriptor, N: k.Descriptors, Roles: []ObjectRole{{Role: "waited for", N: k.Descriptors, Level: analysis.ByDescriptor}}})
		}
		for n := range k.PartsLost {
			o.PartsLost += k.PartsLost[n]
			o.PartsReplaced += k.PartsReplaced[n]
		}
		for _, h := range k.Holders {
			o.Holders = append(o.Holders, HolderOf(h))
		}
		if !o.Verdict.Rose() {
			o.Evidence = nil
		}
		if k.Threads {
			o.Each[0].Waits = strings.HasSuffix(k.Each[0].Role, analysis.WaitsOnIt)
			j.judgeMonitors(&o)
		}
		j.weighObject(&o)
		j.inStep(&o, k.DescriptorFamilies)
		out = append(out, o)
	}
	out = j.withOrphans(append(out, j.resources(out)...))
	slices.SortStableFunc(out, func(a, b Object) int { return cmp.Compare(b.grown(), a.grown()) })
	out = out[:min(len(out), mostObjects)]
	for i := range out {
		out[i].ID = fmt.Sprintf("o%d", i+1)
	}
	return out
}

// partsOf are the parts of one object that the dumps prove.
func (j *JudgedSeries) partsOf(k *object.Kind) ObjectParts {
	parts := ObjectParts{Kind: analysis.KindGoroutine, N: k.Parts}
	if k.Threads {
		parts.Kind = analysis.KindThread
	}
	for _, r := range k.Each {
		if k.Threads {
			r.Role = cmp.Or(j.Titles[strings.TrimSuffix(r.Role, analysis.WaitsOnIt)], k.Name)
		}
		parts.Roles = append(parts.Roles, ObjectRole(r))
	}
	return parts
}

// grown is by how many parts the objects grew from the first snapshot to the last.
func (o *Object) grown() int {
	n := 0
	for _, p := range o.Each {
		n += p.N
	}
	return n * o.rise()
}

// weighObject gives objects whose families were all weighed by the catalogue the worst
// verdict that it left them.
func (j *JudgedSeries) weighObject(o *Object) {
	worst := analysis.TooFewPoints
	for _, print := range o.Families {
		if !j.weighed[print] {
			return
		}
		if v := j.Judged[print].Verdict; v.Rank() < worst.Rank() {
			worst = v
		}
	}
	if len(o.Families) > 0 && o.Verdict.Rank() < worst.Rank() {
		o.Verdict, o.Evidence = worst, nil
	}
}

// inStep adds the families that rise in lockstep with those of the objects and are no part
// of them.
func (j *JudgedSeries) inStep(o *Object, paired []string) {
	for _, u := range j.Trend.Units() {
		if !slices.ContainsFunc(u.Families, func(s trend.Share) bool { return slices.Contains(o.Families, s.Fingerprint) }) {
			continue
		}
		for _, s := range u.Families {
			rise := o.Counts.Rise()
			if slices.Contains(o.Families, s.Fingerprint) || slices.Contains(paired, s.Fingerprint) || rise <= 0 {
				continue
			}
			counts := j.Trend.Counts(s.Fingerprint)
			if r := math.Round(float64(counts.Rise()) / float64(rise)); r > 0 && stepsWith(counts, o.Counts, int(r)) && j.keptBy(o, s, counts) {
				o.InStep = append(o.InStep, InStep{Fingerprint: s.Fingerprint, Kind: s.Kind, Ratio: r})
			}
		}
		return
	}
}

// keptBy reports goroutines and threads, and what more than an equal pace ties to the objects.
func (j *JudgedSeries) keptBy(o *Object, share trend.Share, counts analysis.Counts) bool {
	if share.Kind == analysis.KindGoroutine || share.Kind == analysis.KindThread {
		return true
	}
	held := Family{Counts: counts}
	var frames []string
	for _, f := range j.Trend.Families {
		switch {
		case f.Fingerprint == share.Fingerprint:
			held.Attributes = f.Attributes
		case slices.Contains(o.Families, f.Fingerprint):
			frames = append(frames, f.Loose...)
		}
	}
	return tied(frames, o.Counts, &held, j.hours())
}

// stepsWith reports counts that change by ratio times as much as those of the objects in
// every interval, but for one in twenty. One in eight may be missing as well: the files of one
// instant are read one after another.
func stepsWith(counts, objects analysis.Counts, ratio int) bool {
	last := -1
	for i := range counts {
		if !counts[i].Known() || !objects[i].Known() {
			continue
		}
		if last >= 0 {
			want, got := ratio*(objects[i].N-objects[last].N), counts[i].N-counts[last].N
			if off, step := max(got-want, want-got), max(want, -want); 20*off > step && (off > 1 || step < 8) {
				return false
			}
		}
		last = i
	}
	return last >= 0
}

// rise is the last count minus the first.
func (o *Object) rise() int {
	return o.Counts.Last() - o.Counts.First()
}

// ofObjects makes findings on families that are parts of objects findings on the objects:
// several of one kind become one. A kind that did not rise explains nothing.
func (j *JudgedSeries) ofObjects(findings []Finding, objects []Object, byPrint map[string]*Family) []Finding {
	taken := map[string]int{} // by object, the index of its finding in out
	out := findings[:0:0]
	for _, f := range findings {
		o := j.explains(&f, objects, byPrint)
		if o == nil {
			out = append(out, f)
			continue
		}
		if at, ok := taken[o.ID]; ok {
			for _, print := range f.Families {
				if !slices.Contains(out[at].Families, print) {
					out[at].Families = append(out[at].Families, print)
				}
			}
			continue
		}
		f.Object = o.ID
		f.livesOfObjects(o)
		f.Text = strings.TrimSpace(o.text() + " " + f.Text)
		taken[o.ID] = len(out)
		out = append(out, f)
	}
	for i := range objects {
		at, ok := taken[objects[i].ID]
		if !ok {
			continue
		}
		f := &out[at]
		if k := j.kindOf(&objects[i]); k != nil && slices.Contains(f.Families, k.RootFamily) {
			// Its stack says what one object is.
			f.Families = append([]string{k.RootFamily}, slices.DeleteFunc(slices.Clone(f.Families), func(print string) bool { return print == k.RootFamily })...)
		}
	}
	return out
}

// explains finds the kind of objects that most goroutine families of a finding are parts
// of; its first family must be one.
func (j *JudgedSeries) explains(f *Finding, objects []Object, byPrint map[string]*Family) *Object {
	if f.Kind != "" || len(f.Families) == 0 {
		return nil
	}
	for i := range objects {
		o := &objects[i]
		if !o.Verdict.Rose() || o.Parts() == 0 && !o.Threads() || o.Level == analysis.ByGoroutine || !slices.Contains(o.Families, f.Families[0]) || !o.covers(byPrint[f.Families[0]]) {
			continue
		}
		inside, all := 0, 0
		for _, print := range f.Families {
			if byPrint[print].Kind == o.Each[0].Kind {
				all++
				if slices.Contains(o.Families, print) {
					inside++
				}
			}
		}
		if 2*inside >= all {
			return o
		}
	}
	return nil
}

// covers reports objects that are counted wherever a family is. A debug=1 text or a profile shows
// the goroutines and not on which objects they are, and so does a heap of few objects far apart.
func (o *Object) covers(f *Family) bool {
	first := f.Counts.FirstAt()
	return o.Counts.LastAt() >= f.Counts.LastAt() && (first < 0 || !f.Counts[first].Any() || o.Counts[first].Any())
}

// Parts is how many goroutines an object has.
func (o *Object) Parts() int {
	for _, p := range o.Each {
		if p.Kind == analysis.KindGoroutine {
			return p.N
		}
	}
	return 0
}

// BornTotal and EndedTotal are how many came and ended in all since they are followed.
func (o *Object) BornTotal() (n int, known bool)  { return o.Born.Sum() }
func (o *Object) EndedTotal() (n int, known bool) { return o.Ended.Sum() }

// Title names the objects with their figures. epochs are those of the snapshots, nil for
// one epoch.
func (o *Object) Title(epochs []int) string {
	text := fmt.Sprintf("%s: %s objects, each %s", o.Name, Rises(o.Counts, epochs), o.Shape())
	if n, known := o.EndedTotal(); known {
		switch {
		case n > 0:
			return text + fmt.Sprintf(", %d ended", n)
		case o.Counts.Rise() == o.rise():
			return text + ", none ended"
		}
	}
	return text
}

// Shape words the parts of one object: those that identity proves, then those in step.
func (o *Object) Shape() string {
	if o.Threads() {
		return o.threadShape()
	}
	var words []string
	for _, p := range o.Each {
		words = append(words, wording.Plural(p.N, string(p.Kind), wording.Kinds(p.Kind)))
	}
	inStep := map[analysis.Kind]int{}
	for _, s := range o.InStep {
		if s.Ratio == math.Trunc(s.Ratio) {
			inStep[s.Kind] += int(s.Ratio)
		}
	}
	for _, k := range analysis.Kinds() {
		if n := inStep[k]; n > 0 && k != analysis.KindGoroutine {
			words = append(words, wording.Members(k, n))
		}
	}
	return strings.Join(words, " + ")
}

// levels are how parts are known to belong together, in words.
var levels = map[analysis.ObjectLevel]string{
	analysis.ByAddress: "they show the same address",
	analysis.ByParent:  "they show the same address, or one started the other",
}

// roleLevels are how a part is known to belong to its object, in words.
var roleLevels = map[analysis.ObjectLevel]string{
	analysis.ByAddress:   "it shows the same address",
	analysis.ByParent:    "it started another part, or was started by one",
	analysis.ByGoroutine: "it is the object",
	analysis.ByStep:      "equal numbers",
}

// Proof says how the part is known to belong to its object.
func (r *ObjectRole) Proof() string { return cmp.Or(roleLevels[r.Level], "identity") }

// Short is the role without import paths; that of threads is a family, which has none. Tail
// is its last function, which tells the parts of one wrapper apart.
func (r *ObjectRole) Short() string {
	if strings.Contains(r.Role, " · ") {
		return r.Role
	}
	return shortRole(r.Role)
}

func (r *ObjectRole) Tail() string {
	names := strings.Split(r.Short(), " < ")
	return names[len(names)-1]
}

// mostRoles is how many roles of an object are named.
const mostRoles = 6

// text says what each object is made of, and what holds it.
func (o *Object) text() string {
	if o.Threads() {
		return o.threadText()
	}
	var b strings.Builder
	if o.Parts() == 1 {
		fmt.Fprintf(&b, "Each goroutine in %s is one %s.", shortRole(o.Each[0].Roles[0].Role), o.Name)
	} else {
		var roles []string
		for _, p := range o.Each[:1] {
			for i, r := range p.Roles {
				if i == mostRoles {
					roles = append(roles, fmt.Sprintf("%d more", len(p.Roles)-i))
					break
				}
				roles = append(roles, fmt.Sprintf("%d × %s", r.N, shortRole(r.Role)))
			}
		}
		fmt.Fprintf(&b, "Each keeps %s: %s; %s.", wording.Plural(o.Parts(), "goroutine", "goroutines"), strings.Join(roles, ", "), o.Proof())
	}
	if o.PartsLost > 0 {
		fmt.Fprintf(&b, " %s went on with fewer goroutines.", wording.Plural(o.PartsLost, "object", "objects"))
	}
	if len(o.Holders) > 0 {
		n := o.Holders[0].N
		if o.Holders[0].Role == analysis.CreatedBy {
			n = o.startedBy(o.Holders[0].Type)
		}
		fmt.Fprintf(&b, " %d of them %s.", n, o.Holders[0].words("were started by"))
	}
	return b.String()
}

// startedBy is how many of the objects a function started, over all goroutines that ran it.
func (o *Object) startedBy(function string) int {
	n := 0
	for _, h := range o.Holders {
		if h.Role == analysis.CreatedBy && h.Type == function {
			n += h.N
		}
	}
	return n
}

// words says what the objects have to do with the holder; started is the verb of those that
// it created.
func (h *HolderOf) words(started string) string {
	if h.Role == analysis.CreatedBy {
		return started + " " + shortRole(h.Type)
	}
	return "hang on one " + shortRole(h.Type)
}

// Text is the holder with the number of its objects: "60 started by cache.Start".
func (h *HolderOf) Text() string {
	return wording.Number(int64(h.N)) + " " + h.words("started by")
}

// Proof says how the parts of the objects are known to belong together.
func (o *Object) Proof() string {
	if o.Threads() {
		return "its threads show one address in the dump"
	}
	if o.Parts() == 1 {
		return "each is one goroutine"
	}
	return cmp.Or(levels[o.Level], "proven by identity")
}

// shortRole leaves the import paths out of a role.
func shortRole(role string) string {
	names := strings.Split(role, " < ")
	for i, name := range names {
		if at := strings.LastIndexByte(name, '/'); at >= 0 {
			names[i] = name[at+1:]
		}
	}
	return strings.Join(names, " < ")
}

// Matters reports objects that rose, that have several goroutines each, or that no dump of
// goroutines shows, such as connections. Any other kind says no more than its family.
func (o *Object) Matters() bool {
	return o.Verdict.Rose() && o.Verdict != analysis.New || o.Parts() != 1
}
