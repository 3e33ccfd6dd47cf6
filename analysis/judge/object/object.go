// Package object follows the objects of goroutine dumps through the snapshots of a series:
// which came, which ended, which live, and whether they grow. It reads no file and joins no
// goroutines: the dump that a snapshot was made of says what belongs together.
package object

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"leakdiff/analysis"
)

// Kind is one kind of objects over a series: one name, and shapes that are alike.
type Kind struct {
	// Name is the type without its import path, Type with it.
	Name, Type string
	// Threads reports that the parts are threads of a JVM, which the roles name by their
	// family. The objects cannot be followed: Born, Ended and Objects are nil.
	Threads bool
	// Each is the shape that most objects have, Parts its goroutines.
	Each  []analysis.ObjectRole
	Parts int
	Level analysis.ObjectLevel
	// Holders are those of the last dump with most objects of one shape.
	Holders []analysis.ObjectHolder
	// Counts, Born and Ended have an entry for each snapshot, nil where no dump shows
	// objects. Born and Ended are also nil where nothing came before in the epoch.
	Counts, Born, Ended analysis.Counts
	// PartsLost and PartsReplaced count the objects that have fewer parts than before in
	// each snapshot, and those with other ones.
	PartsLost, PartsReplaced []int
	// Rest reports that the objects had at least as many parts more, which have ended.
	Rest bool
	// Descriptors is the number of descriptors that each object has, by goroutines that wait for them,
	// 0 where the capture has no pairs or the objects differ. DescriptorFamilies are theirs.
	Descriptors        int
	DescriptorFamilies []string
	// Families are the families of goroutines of which nearly all are parts of these
	// objects, by fingerprint.
	Families []string
	// RootFamily is the family of most of the goroutines that started an object, or that it is
	// named for.
	RootFamily string
	// Objects are those that were seen, by their first sighting.
	Objects []Lifeline
	// Judgement is the verdict on the number of objects, with evidence.
	Judgement analysis.Judgement

	key kindKey
	// held is the number of objects of the dump of Holders.
	held int
	// family stands for the kind where it is judged.
	family *analysis.Family
	// roots are those of the objects of each snapshot.
	roots [][]int64
	// best is the last snapshot with most objects, parts their goroutines in it.
	best  int
	parts []int64
}

// Lifeline is one object from its first to its last sighting in one epoch.
type Lifeline struct {
	// Root is the goroutine that it was first known by.
	Root int64
	// First and Last are indexes of snapshots. Parts are the goroutines that it had last.
	First, Last, Parts int
}

// single gives the kinds of one dump, in which nothing is followed and nothing can grow.
func (f *follower) single(s *analysis.Snapshot) (out []Kind) {
	var kept []*Kind
	parts := &finder{in: s, most: partBatch}
	for i := range s.Joined.Kinds {
		dumped := &s.Joined.Kinds[i]
		kind := f.kindOf(dumped)
		kind.hold(dumped)
		kind.Counts.Add(0, dumped.Count)
	}
	for _, k := range f.order {
		if k.Counts.Highest() < 2 {
			continue
		}
		for i := range s.Joined.Kinds {
			if dumped := &s.Joined.Kinds[i]; f.kindOf(dumped) == k {
				// A dump may have a hundred thousand: growing by and by would take five times as much.
				k.parts, k.roots[0] = slices.Grow(k.parts, dumped.Count*dumped.Parts), slices.Grow(k.roots[0], dumped.Count)
				for row := range dumped.Rows() {
					k.parts = append(k.parts, row.Parts...)
					k.roots[0] = append(k.roots[0], row.Root)
				}
			}
		}
		slices.Sort(k.parts)
		slices.Sort(k.roots[0])
		parts.add(k)
		kept = append(kept, k)
	}
	parts.find()
	for _, k := range kept {
		out = append(out, *k)
	}
	return out
}

// order puts those first that have most objects at the end, then at their highest.
func order(kinds []Kind) {
	slices.SortStableFunc(kinds, func(a, b Kind) int {
		return cmp.Or(cmp.Compare(b.Counts.Last(), a.Counts.Last()), cmp.Compare(b.Counts.Highest(), a.Counts.Highest()), strings.Compare(a.Type, b.Type), strings.Compare(a.key.roles, b.key.roles))
	})
}

// Follow follows the objects of snapshots in time order. epochs are those of trend.Series.
// Kinds that never have two objects are left out. It returns those first that have most
// objects at the end, then at their highest.
func Follow(snapshots []*analysis.Snapshot, epochs []int) []Kind {
	out := append(follow(snapshots, epochs), countMonitors(snapshots)...)
	judge(out, snapshots, epochs)
	order(out)
	return out
}

func follow(snapshots []*analysis.Snapshot, epochs []int) []Kind {
	f := &follower{epochs: epochs, kinds: map[kindKey]*Kind{}, n: len(snapshots), shown: make([]bool, len(snapshots)), cut: make([]bool, len(snapshots))}
	for i, s := range snapshots {
		f.cut[i] = s.Bounded(analysis.KindGoroutine) || s.Bounded(analysis.KindThread)
	}
	objects := objectsOf(snapshots)
	f.chooseShapes(objects)
	if len(snapshots) == 1 && objects[0] != nil {
		return f.single(snapshots[0])
	}
	for i, o := range objects {
		if o != nil {
			f.snapshot(i, o)
		}
	}
	f.end()
	var out []Kind
	for _, k := range f.order {
		if k.Counts.Highest() >= 2 && !k.absorbed(epochs) {
			out = append(out, *k)
		}
	}
	finders := map[int]*finder{} // by snapshot
	for i := range out {
		k := &out[i]
		if finders[k.best] == nil {
			finders[k.best] = &finder{in: snapshots[k.best], most: partBatch}
		}
		slices.Sort(k.roots[k.best])
		finders[k.best].add(k)
	}
	for _, f := range finders {
		f.find()
	}
	return out
}

// absorbed reports a kind that went away in an epoch although none of its objects ended: they
// are parts of others now, and are counted there.
func (k *Kind) absorbed(epochs []int) bool {
	last := -1 // the last snapshot that shows one
	for i, n := range k.Counts {
		switch {
		case !n.Known():
		case n.N > 0:
			last = i
		case k.Ended[i].Any():
			return false
		case last >= 0 && epochs[i] != epochs[last]:
			return false // a restart
		}
	}
	return last >= 0 && k.Counts.Last() == 0 && !slices.ContainsFunc(k.Ended, analysis.Count.Any)
}

type follower struct {
	n      int
	epochs []int
	// shapes are the usual shapes of the kinds of each type, by role.
	shapes map[string]map[string]*shape
	kinds  map[kindKey]*Kind
	order  []*Kind
	all    []object
	// present are the goroutines of the objects of the last dump of this epoch, in order.
	// gone are the objects that left, by root.
	present []part
	gone    map[int64]int32
	epoch   int
	// began is set once a dump of the epoch was seen.
	began bool
	// shown are the snapshots with a dump that shows objects, or that there are none.
	shown []bool
	// cut are the snapshots whose dump may lack some.
	cut   []bool
	spare []part
	found []seen
	votes []vote
}

// part is a goroutine of an object.
type part struct {
	id     int64
	object int32
}

type object struct {
	root        int64
	kind        *Kind
	first, last int
	parts       int
	// rest reports that it lost half of its parts, claimed that a row of the dump that is
	// followed now continues it.
	rest, claimed bool
	// full is the number of parts that it had before it lost any.
	full int
	// kept, lost and moved count its parts: see compare.
	kept, lost, moved int
	// ended is the snapshot after the last sighting that shows it to be gone, -1 for none.
	ended int
}

// kindOf is the kind over time of objects of a dump.
func (f *follower) kindOf(k *analysis.ObjectKind) *Kind {
	return f.kind(kindKey{k.Type, f.shapes[k.Type][k.Each[0].Role].roles}, *f.shapes[k.Type][k.Each[0].Role])
}

// kind is the kind of a key, made with the given shape where it is new.
func (f *follower) kind(key kindKey, usual shape) *Kind {
	kind := f.kinds[key]
	if kind == nil {
		kind = &Kind{
			Name: usual.name, Type: key.typ, Each: usual.each, Parts: usual.parts, Level: usual.level, key: key,
			Counts: make(analysis.Counts, f.n), Born: make(analysis.Counts, f.n), Ended: make(analysis.Counts, f.n), PartsLost: make([]int, f.n), PartsReplaced: make([]int, f.n), roots: make([][]int64, f.n),
		}
		hash := sha256.Sum256([]byte(key.typ + "\n" + key.roles))
		kind.family = &analysis.Family{Fingerprint: "o1:" + hex.EncodeToString(hash[:16]), Kind: analysis.KindGoroutine, Title: kind.Name}
		f.kinds[key] = kind
		f.order = append(f.order, kind)
	}
	return kind
}

// seen is an object of the dump that is followed now.
type seen struct {
	number int32
	kind   *Kind
	shape  *analysis.ObjectKind
	parts  int
}

// snapshot follows the objects of one dump.
func (f *follower) snapshot(i int, o *analysis.Objects) {
	if f.epochs[i] != f.epoch || !f.began {
		f.startEpoch(i)
	}
	first := !f.began
	f.began = true
	now, found := f.spare[:0], f.found[:0]
	for at := range o.Kinds {
		dumped := &o.Kinds[at]
		kind := f.kindOf(dumped)
		kind.hold(dumped)
		for row := range dumped.Rows() {
			number, known := f.known(row)
			if number < 0 {
				number = int32(len(f.all))
				f.all = append(f.all, object{root: row.Root, kind: kind, first: i, ended: -1})
				if !first && !known {
					kind.Born.Add(i, 1)
				}
			}
			f.all[number].claimed = true
			found = append(found, seen{number, kind, dumped, len(row.Parts)})
			for _, id := range row.Parts {
				now = append(now, part{id, number})
			}
		}
	}
	slices.SortFunc(now, func(a, b part) int { return cmp.Compare(a.id, b.id) })
	f.compare(now)
	for _, s := range found {
		o := &f.all[s.number]
		kind := s.kind
		if o.first < i {
			if o.lost > 0 && s.parts < o.parts {
				kind.PartsLost[i]++
				o.full = max(o.full, o.parts)
				o.rest = o.rest || 2*o.lost >= o.parts
			} else if o.kept < o.parts && s.parts >= o.parts {
				kind.PartsReplaced[i]++
			}
		}
		if 2*s.parts > o.full {
			o.rest = false // it has others in place of them
		}
		if o.rest {
			roles := rolesOf(s.shape.Each)
			kind = f.kind(kindKey{s.shape.Type, roles + "\n" + rest}, shape{each: s.shape.Each, parts: s.shape.Parts, level: s.shape.Level, name: s.shape.Name})
			kind.Rest = true
		}
		o.kind, o.last, o.parts, o.ended = kind, i, s.parts, -1
		kind.roots[i] = append(kind.roots[i], o.root)
		kind.Counts.Add(i, 1)
	}
	f.keepParts(i, now)
	f.leave(i)
	for _, s := range found {
		f.all[s.number].claimed = false
	}
	f.present, f.spare, f.found = now, f.present, found
	f.shown[i] = true
}

// rest marks the kind of objects that lost half of their parts: they are not what the others
// of their type are.
const rest = "rest"

// compare counts, for each object of the last dump, the goroutines that it kept, that have
// ended, and that are in another object now.
func (f *follower) compare(now []part) {
	for _, p := range f.present {
		o := &f.all[p.object]
		o.kept, o.lost, o.moved = 0, 0, 0
	}
	at := 0
	for _, p := range f.present {
		for at < len(now) && now[at].id < p.id {
			at++
		}
		o := &f.all[p.object]
		switch {
		case at == len(now) || now[at].id != p.id:
			o.lost++
		case now[at].object == p.object:
			o.kept++
		default:
			o.moved++
		}
	}
}

func (f *follower) startEpoch(i int) {
	f.present, f.gone, f.epoch, f.began = f.present[:0], map[int64]int32{}, f.epochs[i], false
}

// known finds the object of the last dump that has most goroutines of a row, or one that was
// away; -1 if no object has any, or if another row continues it. known reports that an
// earlier object had one of them.
func (f *follower) known(row analysis.ObjectRow) (number int32, known bool) {
	f.votes = f.votes[:0]
	for _, id := range row.Parts {
		at, ok := slices.BinarySearchFunc(f.present, id, func(p part, id int64) int { return cmp.Compare(p.id, id) })
		if !ok {
			continue
		}
		object := f.present[at].object
		k := slices.IndexFunc(f.votes, func(v vote) bool { return v.object == object })
		if k < 0 {
			k = len(f.votes)
			f.votes = append(f.votes, vote{object: object})
		}
		f.votes[k].parts++
	}
	number, most := int32(-1), 0
	for _, v := range f.votes {
		if !f.all[v.object].claimed && (v.parts > most || v.parts == most && v.object < number) {
			number, most = v.object, v.parts
		}
	}
	if number < 0 && len(f.votes) == 0 {
		if at, ok := f.gone[row.Root]; ok && !f.all[at].claimed {
			return at, true
		}
	}
	return number, len(f.votes) > 0
}

// vote is how many parts of a row an earlier object had.
type vote struct {
	object int32
	parts  int
}

// leave notes the objects of the last dump that have ended: of the goroutines of others that
// this dump does not show, some are in another object now.
func (f *follower) leave(i int) {
	for _, p := range f.present {
		o := &f.all[p.object]
		if !o.claimed && o.moved == 0 && o.ended < 0 {
			o.ended = i
			f.gone[o.root] = p.object
		}
	}
}

// end counts what ended, and completes the figures of each kind.
func (f *follower) end() {
	for i := range f.all {
		o := &f.all[i]
		if at := f.proven(o.ended); at >= 0 {
			o.kind.Ended.Add(at, 1)
		}
		o.kind.Objects = append(o.kind.Objects, Lifeline{Root: o.root, First: o.first, Last: o.last, Parts: o.parts})
	}
	f.completeFigures()
}

// proven is the first whole dump from one on that does not show an object, -1 without one: what
// a cut dump lacks has not ended.
func (f *follower) proven(ended int) int {
	for i := ended; i >= 0 && i < f.n && f.epochs[i] == f.epochs[ended]; i++ {
		if f.shown[i] && !f.cut[i] {
			return i
		}
	}
	return -1
}

// completeFigures turns what is not counted to 0 where a dump shows objects.
func (f *follower) completeFigures() {
	for _, k := range f.order {
		before := -1
		for i := range f.shown {
			if !f.shown[i] {
				continue
			}
			k.Counts.Add(i, 0)
			if before >= 0 && f.epochs[before] == f.epochs[i] {
				k.Born.Add(i, 0)
				k.Ended.Add(i, 0)
			}
			before = i
		}
	}
}

// hold takes the holders of a dump that shows no fewer objects than others.
func (k *Kind) hold(dumped *analysis.ObjectKind) {
	if len(dumped.Holders) > 0 && dumped.Count >= k.held {
		k.Holders, k.held = dumped.Holders, dumped.Count
	}
}
