// Package trend decides which families of a series grow, and on what evidence. It takes
// the snapshots of one program on one host in time order. It returns epochs, counts,
// survivors, lifelines and a judgement on every family, each with its evidence in figures. It also returns the units of families that rise together, the onset of a
// growth, its possible holders, the limit that it reaches and the version that brought
// it. Comparisons stay inside one epoch, and identities outrank counts. The package is
// pure: it uses no file, clock, store or randomness. It does not know the name of a
// family or what is normal for it.
package trend

import (
	"slices"
	"strings"
	"sync"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/wait"
)

// Input is the input of a series. Snapshots are in time order. Everything else is
// optional.
type Input struct {
	Snapshots []*analysis.Snapshot
	// Epochs has the epoch of each snapshot. Without it they are found.
	Epochs []int
	// Loads are demands from outside that people entered, by name: one value per
	// snapshot, NaN if unknown. They win over Snapshot.Figures of the same name.
	Loads map[string][]float64
	// LoadMetrics are metrics of which people said that they are such demands.
	LoadMetrics []string
	// Events are what people or bundles report: deploys, restarts, outages.
	Events []Event
	// Objects are the addresses that frames name, by snapshot and fingerprint. They are
	// nil if the parser kept no arguments.
	Objects []map[string][]Object
	// Elapsed are the ages of members in hours, by snapshot and fingerprint, in the
	// order of Group.Members, if a dump prints them (a JVM's elapsed=). A negative
	// value means none. Without Elapsed the header minutes are the ages.
	Elapsed []map[string][]float64
	// NotShown has the snapshots whose encoding cannot show a family, by fingerprint. The
	// family is absent there, and its absence is not 0.
	NotShown map[string][]bool
	// Observer names the families that exist because of an observer (metrics handlers
	// of a hung page, the dumping request), by fingerprint.
	Observer map[string]bool
}

// notShown reports that the encoding of snapshot i cannot show a family.
func (in *Input) notShown(fingerprint string, i int) bool {
	hidden := in.NotShown[fingerprint]
	return hidden != nil && hidden[i]
}

// Series is one program on one host over time. It does not change after
// NewSeries and may be read from several goroutines.
type Series struct {
	// Snapshots are in time order.
	Snapshots []*analysis.Snapshot
	// Epochs holds the epoch of each snapshot. See the function Epochs.
	Epochs []int
	// Families is the union over all snapshots, ordered by fingerprint; of too many those
	// that rise most. LeftOut counts the others.
	Families []*analysis.Family
	LeftOut  int

	in Input
	// groups holds one entry per snapshot, nil if the family is absent.
	groups map[string][]*analysis.Group
	// listed reports which kinds have families in a snapshot, by index.
	listed []map[analysis.Kind]bool
	// parts holds the counts and members of each family, not yet judged.
	parts map[string]*part
	// ordered are the parts in the order of Families.
	ordered []*part
	loads   []load
	// followable are gauges of the program that may be loads.
	followable []load
	// rates are the loads that counters give.
	rates []load
	// oldest is the longest wait of a goroutine in hours and starts the first snapshot
	// of the epoch, for each snapshot.
	oldest []float64
	starts []int

	// listings follows watches and sockets through all their families. It is computed on first use.
	listings func() map[epochIdentity]listing

	// events are those of Events.
	events func() []Event

	// held are the locks of each snapshot with their possible holders, computed on
	// first use.
	held []func() map[uint64]*wait.Lock
	// recentFamilies are the recent families of each snapshot, computed on first use.
	recentFamilies []func() []recentFamily

	// populations and moving are those of findPopulations and findMoving, computed on first use.
	populations func() []sharing
	moving      func() map[string]bool

	once   sync.Once
	judged *judgements

	keysOnce sync.Once
	keys     []Key
}

// NewSeries builds a series. Snapshots must be in time order. It numbers every member,
// so that later steps need no identities.
func NewSeries(in Input) *Series {
	s := &Series{
		Snapshots: in.Snapshots,
		Epochs:    in.Epochs,
		in:        in,
		groups:    make(map[string][]*analysis.Group),
		listed:    make([]map[analysis.Kind]bool, len(in.Snapshots)),
		parts:     make(map[string]*part),
	}
	if s.Epochs == nil {
		s.Epochs = Epochs(in.Snapshots)
	}
	s.listings = sync.OnceValue(s.newListings)
	s.events = sync.OnceValue(s.newEvents)
	s.populations, s.moving = sync.OnceValue(s.findPopulations), sync.OnceValue(s.findMoving)
	for i := range in.Snapshots {
		s.held = append(s.held, sync.OnceValue(func() map[uint64]*wait.Lock { return wait.Search(s.Snapshots[i].Groups, s.objectsAt(i)) }))
		s.recentFamilies = append(s.recentFamilies, sync.OnceValue(func() []recentFamily { return s.findRecentFamilies(i) }))
	}
	rows := make(map[*analysis.Family][]*analysis.Group) // snapshots share their families
	left := s.tooMany()
	for i, snap := range in.Snapshots {
		s.listed[i] = make(map[analysis.Kind]bool)
		kind := analysis.Kind("")
		for j := range snap.Groups {
			group := &snap.Groups[j]
			row := rows[group.Family]
			if row == nil {
				if left[group.Family.Fingerprint] {
					s.listed[i][group.Family.Kind] = true
					continue
				}
				row = s.rowOf(group.Family)
				rows[group.Family] = row
			}
			row[i] = group
			if kind != group.Family.Kind {
				kind = group.Family.Kind
				s.listed[i][kind] = true
			}
		}
	}
	slices.SortFunc(s.Families, func(a, b *analysis.Family) int {
		return strings.Compare(a.Fingerprint, b.Fingerprint)
	})
	kinds := make(map[analysis.Kind]*grid)
	grids := make([]*grid, len(s.Families))
	for k, family := range s.Families {
		kind := s.kindOf(s.groups[family.Fingerprint])
		if kinds[kind] == nil {
			kinds[kind] = s.newGrid(kind)
		}
		grids[k] = kinds[kind]
	}
	s.ordered = make([]*part, len(s.Families))
	s.eachFamily(func() func(k int) {
		return func(k int) { s.ordered[k] = s.newPart(s.Families[k], grids[k]) }
	})
	for _, p := range s.ordered {
		s.parts[p.family.Fingerprint] = p
	}
	s.loads, s.rates = s.newLoads(), s.newRates()
	s.followable = s.newFollowable()
	s.oldest, s.starts = s.oldestWaits()
	return s
}

// rowOf is the row of a family in groups, added where the family is new.
func (s *Series) rowOf(family *analysis.Family) []*analysis.Group {
	row := s.groups[family.Fingerprint]
	if row == nil {
		row = make([]*analysis.Group, len(s.Snapshots))
		s.groups[family.Fingerprint] = row
		s.Families = append(s.Families, family)
	}
	return row
}

// Counts returns the members of a family in every snapshot: not captured if its
// kind was not, 0 if it was and the family is absent, not shown if what was captured does
// not prove its absence. It returns nil for an unknown family.
func (s *Series) Counts(fingerprint string) analysis.Counts {
	row := s.groups[fingerprint]
	if row == nil {
		return nil
	}
	kind := s.kindOf(row)
	counts := make(analysis.Counts, len(row))
	for i, group := range row {
		switch {
		case group != nil:
			counts[i] = analysis.Counted(group.Count)
		case s.captured(i, kind) && !s.in.notShown(fingerprint, i):
			counts[i] = analysis.Counted(0)
		case s.Snapshots[i].Totals.Of(kind) != nil:
			counts[i].State = analysis.NotShown
		}
	}
	return counts
}

// Groups returns a family in every snapshot, nil if it is absent. It returns nil for an
// unknown family.
func (s *Series) Groups(fingerprint string) []*analysis.Group { return s.groups[fingerprint] }

// usable reports whether the counts of a kind in snapshot i may enter a test. The kind
// must be captured, and the figures must not be the lower bound of a cut dump without a
// complete twin.
func (s *Series) usable(i int, kind analysis.Kind) bool {
	if !s.captured(i, kind) {
		return false
	}
	return !s.Snapshots[i].Bounded(kind)
}

// captured reports whether a family's absence in snapshot i means 0. A total without
// any family (31 files in fdinfo, but no listing that names them) counts the kind and
// shows nothing about its families. The dumping goroutine counts in the total and
// belongs to no family.
func (s *Series) captured(i int, kind analysis.Kind) bool {
	total := s.Snapshots[i].Totals.Of(kind)
	if total == nil || s.Snapshots[i].Inexact[kind] != analysis.Exact {
		return false
	}
	familyless := 0
	if kind == analysis.KindGoroutine {
		familyless = 1
	}
	return *total <= familyless || s.listed[i][kind]
}

func (s *Series) kindOf(row []*analysis.Group) analysis.Kind {
	for _, group := range row {
		if group != nil {
			return group.Family.Kind
		}
	}
	return ""
}

// EpochStart is the first snapshot of the epoch of snapshot i. Figures "since" a
// snapshot never reach back beyond it.
func (s *Series) EpochStart(i int) int { return s.starts[i] }

// takenAt is when the evidence of a kind was taken, zero if only an order is known.
func (s *Series) takenAt(i int, kind analysis.Kind) time.Time {
	if at, ok := s.Snapshots[i].Times[kind]; ok && !at.IsZero() {
		return at
	}
	return s.Snapshots[i].CapturedAt
}
