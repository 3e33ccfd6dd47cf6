package profile

import (
	"cmp"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/google/pprof/profile"

	"leakdiff/analysis"
)

// Write writes a gzip-compressed profile proto that `go tool pprof` reads: sample type
// goroutine/count or thread/count, no period, the time of the evidence. Each sample has
// the label state and the numeric label wait in minutes, if known.
func Write(w io.Writer, s *analysis.Snapshot, kind analysis.Kind) error {
	return New(s, kind).Write(w)
}

// WritePair writes the profile of B minus the samples of A, which is what `pprof -base
// A B` shows. Stacks that left have negative counts. Stacks with equal numbers in both
// are missing. States and waits are left out, because a waiting member would otherwise
// be gone and new.
func WritePair(w io.Writer, a, b *analysis.Snapshot, kind analysis.Kind) error {
	return NewPair(a, b, kind).Write(w)
}

// New is the profile of a snapshot.
func New(s *analysis.Snapshot, kind analysis.Kind) *profile.Profile {
	m := newMaker(s, kind)
	m.p.Comments = []string{"snapshot " + s.ID + ", written by leakdiff"}
	all := membersOf(s, kind)
	slices.SortFunc(all, func(a, b sample) int {
		order := cmp.Or(cmp.Compare(fold(a.frames), fold(b.frames)), cmp.Compare(a.state, b.state), cmp.Compare(a.wait, b.wait))
		if order == 0 { // other lines of the same functions
			order = cmp.Compare(exact(a.frames), exact(b.frames))
		}
		return order
	})
	for _, x := range all {
		made := m.sample(x.frames, x.count)
		if x.state != "" {
			made.Label = map[string][]string{"state": {valid(x.state)}}
		}
		if x.wait >= 0 {
			made.NumLabel = map[string][]int64{"wait": {int64(x.wait)}}
			made.NumUnit = map[string][]string{"wait": {"minutes"}}
		}
	}
	return m.p
}

// NewPair is the profile of B minus that of A.
func NewPair(a, b *analysis.Snapshot, kind analysis.Kind) *profile.Profile {
	type net struct {
		frames []frame
		count  int
	}
	stacks := map[string]*net{}
	add := func(s *analysis.Snapshot, sign int) {
		for _, x := range membersOf(s, kind) {
			key := exact(x.frames)
			if stacks[key] == nil {
				stacks[key] = &net{frames: x.frames}
			}
			stacks[key].count += sign * x.count
		}
	}
	add(b, 1)
	add(a, -1)
	m := newMaker(b, kind)
	m.p.Comments = []string{"snapshot " + b.ID + " less snapshot " + a.ID + ", written by leakdiff"}
	keys := make([]string, 0, len(stacks))
	for key, x := range stacks {
		if x.count != 0 {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	for _, key := range keys {
		m.sample(stacks[key].frames, stacks[key].count)
	}
	return m.p
}

// exact distinguishes stacks as pprof does: by function, file and line.
func exact(frames []frame) string {
	var b strings.Builder
	for _, f := range frames {
		b.WriteString(f.name + "\x00" + f.file + "\x00" + strconv.Itoa(f.line) + "\x01")
	}
	return b.String()
}

// maker numbers functions and locations.
type maker struct {
	p         *profile.Profile
	functions map[[2]string]*profile.Function
	locations map[frame]*profile.Location
}

func newMaker(s *analysis.Snapshot, kind analysis.Kind) *maker {
	// pprof asks for symbols unless a mapping declares that it has them.
	mapping := &profile.Mapping{ID: 1, HasFunctions: true, HasFilenames: true, HasLineNumbers: true, HasInlineFrames: true}
	if name := s.Process.Name.Value; name != "" {
		mapping.File = valid(path.Base(name))
	}
	at := s.CapturedAt
	if own, ok := s.Times[kind]; ok {
		at = own
	}
	// Merge cannot compare profiles without a period's type. An empty one declares
	// none.
	p := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: string(kind), Unit: "count"}}, PeriodType: &profile.ValueType{}, Mapping: []*profile.Mapping{mapping},
	}
	if !at.IsZero() {
		p.TimeNanos = at.UnixNano()
	}
	return &maker{p: p, functions: map[[2]string]*profile.Function{}, locations: map[frame]*profile.Location{}}
}

func (m *maker) sample(frames []frame, count int) *profile.Sample {
	out := &profile.Sample{Value: []int64{int64(count)}, Location: make([]*profile.Location, len(frames))}
	for i, f := range frames {
		out.Location[i] = m.location(f)
	}
	m.p.Sample = append(m.p.Sample, out)
	return out
}

func (m *maker) location(f frame) *profile.Location {
	if found := m.locations[f]; found != nil {
		return found
	}
	key := [2]string{f.name, f.file}
	function := m.functions[key]
	if function == nil {
		name := valid(f.name)
		function = &profile.Function{ID: uint64(len(m.p.Function) + 1), Name: name, SystemName: name, Filename: valid(f.file)}
		m.functions[key] = function
		m.p.Function = append(m.p.Function, function)
	}
	made := &profile.Location{ID: uint64(len(m.p.Location) + 1), Mapping: m.p.Mapping[0], Line: []profile.Line{{Function: function, Line: int64(f.line)}}}
	m.locations[f] = made
	m.p.Location = append(m.p.Location, made)
	return made
}

// valid is text that a proto may contain.
func valid(s string) string { return strings.ToValidUTF8(s, "\ufffd") }
